/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue, put together from the machines' lists and catalogue.def.
 */
#include "observe/catalogue.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "nic/counters.h"
#include "observe/sample.h"
#include "switch/counters.h"
#include "tcp/counters.h"
#include "uet/counters.h"

/* Counters of machines that have a name in JSON's series. */
static const struct {
    enum observe_object object;
    const char *counter, *series;
} series_names[] = {
    {OBSERVE_OBJECT_NIC, "rx_payload_bytes", "rx_payload"},
    {OBSERVE_OBJECT_NIC, "tx_payload_bytes", "tx_payload"},
    {OBSERVE_OBJECT_NIC, "np_cnp_sent", "cnps_sent"},
    {OBSERVE_OBJECT_NIC, "rp_cnp_handled", "cnps_handled"},
    {OBSERVE_OBJECT_NIC, "retransmitted_packets", "retransmitted"},
    {OBSERVE_OBJECT_NIC, "local_ack_timeout_err", "timeouts"},
    {OBSERVE_OBJECT_NIC_PRIO, "rx_pause_ps", "paused"},
    {OBSERVE_OBJECT_PORT_COUNTERS, "rx_pause_ps", "paused"},
    {OBSERVE_OBJECT_PORT_COUNTERS, "tx_pause_ps", "pausing"},
    {OBSERVE_OBJECT_PORT_COUNTERS, "ecn_marked", "marks"},
    {OBSERVE_OBJECT_PORT_COUNTERS, "drops", "drops"},
};

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static struct observe_metric *add_metric(struct observe_catalogue *into, enum observe_object object,
                                         const char *counter, const char *help, size_t offset)
{
    CHECK(into->count < OBSERVE_METRICS_MAX);
    struct observe_metric *metric = &into->metric[into->count++];

    *metric = (struct observe_metric){.help = help, .object = object, .offset = offset};
    if (ends_in(counter, "_bytes")) metric->unit = OBSERVE_BYTES;
    for (size_t i = 0; i < sizeof series_names / sizeof series_names[0]; i++)
        if (series_names[i].object == object && strcmp(series_names[i].counter, counter) == 0)
            metric->series = series_names[i].series;
    return metric;
}

static void name_drop(struct observe_metric *metric, const char *family, const char *counter)
{
    snprintf(metric->name, sizeof metric->name, "%s", family);
    metric->label = "reason";
    metric->word = counter + strlen("drop_");
}

static void add_nic(struct observe_catalogue *into)
{
    for (const struct nic_counter *counter = nic_counter_list; counter->name; counter++) {
        bool mark = ends_in(counter->name, "_max_bytes");
        struct observe_metric *metric =
            add_metric(into, OBSERVE_OBJECT_NIC, counter->name, counter->help, counter->offset);
        if (mark) metric->kind = OBSERVE_GAUGE;
        if (strncmp(counter->name, "drop_", 5) == 0)
            name_drop(metric, "rdma_drops_total", counter->name);
        else
            snprintf(metric->name, sizeof metric->name, "rdma_%s%s", counter->name, mark ? "" : "_total");
    }
}

/* Pauses as rdma_exporter calls them; `rx`: the peer paused this NIC. */
static const struct {
    const char *counter, *name, *help;
    enum observe_unit unit;
} pause_names[] = {
    {"pause", "rdma_roce_pfc_pause_frames_total", "PFC frames that pause; rx: the peer paused this NIC", OBSERVE_NONE},
    {"resume", "rdma_roce_pfc_resume_frames_total", "PFC frames that end a pause", OBSERVE_NONE},
    {"pause_ps", "rdma_roce_pfc_pause_duration_total", "microseconds for which the priority was paused",
     OBSERVE_MICROSECONDS},
    {"pause_transition", "rdma_roce_pfc_pause_transitions_total", "times the priority went from sending to paused",
     OBSERVE_NONE},
};

static void add_nic_priority(struct observe_catalogue *into, const struct nic_counter *counter)
{
    struct observe_metric *metric =
        add_metric(into, OBSERVE_OBJECT_NIC_PRIO, counter->name, counter->help, counter->offset);

    metric->label = "direction";
    metric->word = counter->name[0] == 'r' ? "rx" : "tx";
    snprintf(metric->name, sizeof metric->name, "rdma_netdev_prio_%s_total", counter->name + 3);
    for (size_t i = 0; i < sizeof pause_names / sizeof pause_names[0]; i++) {
        if (strcmp(pause_names[i].counter, counter->name + 3) != 0) continue;
        snprintf(metric->name, sizeof metric->name, "%s", pause_names[i].name);
        metric->help = pause_names[i].help;
        metric->unit = pause_names[i].unit;
    }
}

/* rx and tx of one kind are one name: those of the second kind follow where the first is. */
static void add_nic_priorities(struct observe_catalogue *into)
{
    const struct nic_counter *const list = nic_prio_counter_list;

    for (const struct nic_counter *counter = list; counter->name; counter++) {
        bool seen = false;
        for (const struct nic_counter *other = list; other < counter; other++)
            seen |= strcmp(other->name + 3, counter->name + 3) == 0;
        for (const struct nic_counter *other = counter; !seen && other->name; other++)
            if (strcmp(other->name + 3, counter->name + 3) == 0) add_nic_priority(into, other);
    }
}

static void add_switch_ports(struct observe_catalogue *into)
{
    for (const struct sw_counter *counter = sw_port_counter_list; counter->name; counter++) {
        struct observe_metric *metric =
            add_metric(into, OBSERVE_OBJECT_PORT, counter->name, counter->help, counter->offset);
        if (strncmp(counter->name, "drop_", 5) == 0)
            name_drop(metric, "rocelab_switch_port_drops_total", counter->name);
        else
            snprintf(metric->name, sizeof metric->name, "rocelab_switch_port_%s_total", counter->name);
    }
}

static void add_switch_priorities(struct observe_catalogue *into)
{
    for (const struct sw_counter *counter = sw_prio_counter_list; counter->name; counter++) {
        bool is_time = ends_in(counter->name, "_ps"), mark = counter->kind == SW_COUNTER_MAX;
        int kept = (int)strlen(counter->name) - (is_time ? 3 : 0);
        struct observe_metric *metric =
            add_metric(into, OBSERVE_OBJECT_PORT_COUNTERS, counter->name, counter->help, counter->offset);
        if (is_time) metric->unit = OBSERVE_SECONDS;
        if (mark) metric->kind = OBSERVE_GAUGE;
        snprintf(metric->name, sizeof metric->name, "rocelab_switch_%.*s%s%s", kept, counter->name,
                 is_time ? "_seconds" : "", mark ? "" : "_total");
    }
}

static void add_infiniband_counter(struct observe_catalogue *into, const char *name, const char *help, size_t offset)
{
    struct observe_metric *metric = add_metric(into, OBSERVE_OBJECT_INFINIBAND, name, help, offset);

    if (ends_in(name, "_bytes_total")) metric->unit = OBSERVE_BYTES;
    snprintf(metric->name, sizeof metric->name, "%s", name);
}

static void add_infiniband(struct observe_catalogue *into)
{
#define IB(field, word, metric, per, help)                                                                             \
    add_infiniband_counter(into, metric, word ": " help, offsetof(struct observe_infiniband, field));
#include "observe/infiniband.def"
#undef IB
}

/* "rocelab_uet_timeouts_total", "rocelab_tcp_cpu_wait_seconds_total" */
static struct observe_metric *add_own(struct observe_catalogue *into, enum observe_object object, const char *prefix,
                                      const char *field, const char *help, size_t offset)
{
    bool is_time = ends_in(field, "_ps");
    struct observe_metric *metric = add_metric(into, object, field, help, offset);

    if (is_time) metric->unit = OBSERVE_SECONDS;
    snprintf(metric->name, sizeof metric->name, "%s_%.*s%s_total", prefix, (int)strlen(field) - (is_time ? 3 : 0),
             field, is_time ? "_seconds" : "");
    return metric;
}

/* "TcpExtTCPTimeouts" of nstat is node_netstat_TcpExt_TCPTimeouts of node_exporter, which gives it no type. */
static void add_tcp_counter(struct observe_catalogue *into, const char *field, const char *name, const char *help,
                            size_t offset)
{
    static const char *const groups[] = {"TcpExt", "IpExt", "Tcp"};
    struct observe_metric *metric = add_own(into, OBSERVE_OBJECT_TCP, "rocelab_tcp", field, help, offset);

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        size_t length = strlen(groups[i]);
        if (strncmp(name, groups[i], length) != 0) continue;
        snprintf(metric->name, sizeof metric->name, "node_netstat_%s_%s", groups[i], name + length);
        metric->kind = OBSERVE_GAUGE;
        return;
    }
}

static void add_transports(struct observe_catalogue *into)
{
#define COUNTER(field, help)                                                                                           \
    add_own(into, OBSERVE_OBJECT_UET, "rocelab_uet", #field, help, offsetof(struct uet_counters, field));
#include "uet/counters.def"
#undef COUNTER
#define COUNTER(field, name, help) add_tcp_counter(into, #field, name, help, offsetof(struct tcp_counters, field));
#include "tcp/counters.def"
#undef COUNTER
}

static const struct observe_metric others[] = {
#define LABELLED(object_, struct_, field_, kind_, unit_, name_, series_, label_, word_, help_)                         \
    {.name = name_,                                                                                                    \
     .series = (series_),                                                                                              \
     .label = (label_),                                                                                                \
     .word = (word_),                                                                                                  \
     .help = (help_),                                                                                                  \
     .object = OBSERVE_OBJECT_##object_,                                                                               \
     .kind = OBSERVE_##kind_,                                                                                          \
     .unit = OBSERVE_##unit_,                                                                                          \
     .offset = offsetof(struct struct_, field_)},
#define METRIC(object_, struct_, field_, kind_, unit_, name_, series_, help_)                                          \
    LABELLED(object_, struct_, field_, kind_, unit_, name_, series_, NULL, NULL, help_)
#include "observe/catalogue.def"
#undef METRIC
#undef LABELLED
};

void observe_catalogue(struct observe_catalogue *ret)
{
    ret->count = 0;
    add_nic(ret);
    add_nic_priorities(ret);
    add_switch_ports(ret);
    add_switch_priorities(ret);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(ret->count < OBSERVE_METRICS_MAX);
        ret->metric[ret->count++] = others[i];
    }
    add_infiniband(ret);
    add_transports(ret);
}

uint32_t observe_priorities(enum observe_object object)
{
    return object == OBSERVE_OBJECT_NIC_PRIO || object == OBSERVE_OBJECT_PORT_COUNTERS ||
                   object == OBSERVE_OBJECT_PORT_PRIO || object == OBSERVE_OBJECT_LIMITS
               ? OBSERVE_PRIORITIES
               : 1;
}

const char *observe_unit_name(enum observe_unit unit)
{
    static const char *const name[] = {
        [OBSERVE_NONE] = "",           [OBSERVE_BYTES] = "bytes",      [OBSERVE_SECONDS] = "ps",
        [OBSERVE_MICROSECONDS] = "ps", [OBSERVE_RATIO] = "ppm",        [OBSERVE_PER_SECOND] = "per second",
        [OBSERVE_CELSIUS] = "celsius", [OBSERVE_BIT_ERRORS] = "1e-18", [OBSERVE_NANOSECONDS] = "ns"};
    return name[unit];
}
