/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics that are more than a value of an object: who is cabled to whom, classes, drops by reason, rates.
 *
 * A stretched simulation has a stretched clock, and rates that are not exported: what the line carried over the time
 * that it was busy is the rate by that clock.
 */
#include <stdlib.h>
#include <string.h>

#include "evidence/read/metrics/metrics.h"

static struct metrics_port *port_of(struct metrics *metrics, uint32_t port)
{
    if (port == EVIDENCE_NONE) return NULL;
    if (port >= metrics->ports) {
        uint32_t more = port < UINT32_MAX / 2 ? 2 * port + 64 : port + 1;
        struct metrics_port *grown = realloc(metrics->port, more * sizeof grown[0]);
        if (!grown) return NULL;
        memset(grown + metrics->ports, 0, (more - metrics->ports) * sizeof grown[0]);
        metrics->port = grown;
        metrics->ports = more;
    }
    return &metrics->port[port];
}

/* --- cables and classes --- */

static void set_role(struct metrics *metrics, uint32_t port, const char *role)
{
    static const char *const name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
        FABRIC_ROLE_LIST(X)
#undef X
    };

    for (unsigned r = 0; r < FABRIC_ROLES; r++)
        if (!strcmp(role, name[r])) metrics->evidence->object[metrics->evidence->object[port].parent].role = (uint8_t)r;
}

static void link_info(struct metrics *metrics, const struct sample *sample)
{
    uint32_t port = metrics_port_named(metrics, sample_label(sample, "port"));
    uint32_t peer = metrics_port_named(metrics, sample_label(sample, "peer"));

    if (port == EVIDENCE_NONE || peer == EVIDENCE_NONE) return;
    evidence_tie(metrics->evidence, port, peer);
    metrics->evidence->tied = true;
    set_role(metrics, port, sample_label(sample, "from"));
    set_role(metrics, peer, sample_label(sample, "to"));
}

static void class_lossless(struct metrics *metrics, const struct sample *sample)
{
    struct text_field text = field_of(sample_label(sample, "priority"));
    uint64_t priority;

    if (sample->real > 0 && field_number(&text, &priority) && priority < EVIDENCE_PRIORITIES)
        metrics->lossless |= (uint8_t)(1u << priority);
}

static void sonic_neighbour(struct metrics *metrics, const struct sample *sample)
{
    const char *name = sample_label(sample, "local_interface"), *device = sample_label(sample, "remote_system_name"),
               *port = sample_label(sample, "remote_port_id");
    uint32_t on = metrics->in->device != EVIDENCE_NONE ? metrics->in->device : metrics_host(metrics, sample);

    if (!*name || !*device || !*port) return;
    evidence_add_neighbour(metrics->evidence, evidence_port(metrics->evidence, on, name, strlen(name)), device, port,
                           &metrics->in->source);
}

/* --- by port, for the end --- */

/* Whether it is the first look at this port. */
static bool first_look(struct metrics *metrics, struct metrics_port *port)
{
    double at_s = metrics->in->source.at_s;
    bool begins = !port->drops || at_s <= port->first_s;

    if (begins) port->first_s = at_s;
    if (!port->drops || at_s > port->last_s) port->last_s = at_s;
    port->drops = true;
    return begins;
}

static uint64_t whole(const struct sample *sample)
{
    return sample->whole ? sample->number : sample->real < 1.8e19 ? (uint64_t)sample->real : 0;
}

static void drops_by_reason(struct metrics *metrics, const struct sample *sample)
{
    struct metrics_port *port = port_of(metrics, metrics_port_named(metrics, sample_label(sample, "port")));
    const char *reason = sample_label(sample, "reason");
    unsigned number = drops_reason(reason, strlen(reason));

    if (!port || number == DROPS_REASONS) return;
    if (first_look(metrics, port)) port->first.by[number] = whole(sample);
    port->last.by[number] = whole(sample);
}

static void drops_by_priority(struct metrics *metrics, const struct sample *sample)
{
    unsigned priority;
    uint32_t object = metrics_object(metrics, sample, METRIC_SWITCH, &priority);
    struct metrics_port *port = port_of(metrics, object);

    if (!port || priority == EVIDENCE_NO_PRIORITY) return;
    if (first_look(metrics, port)) port->first.of[priority] = whole(sample);
    port->last.of[priority] = whole(sample);
}

static void line_bytes(struct metrics *metrics, const struct sample *sample)
{
    struct metrics_port *port = port_of(metrics, metrics_port_named(metrics, sample_label(sample, "port")));

    if (port) port->line_bytes = whole(sample);
}

static void line_busy(struct metrics *metrics, const struct sample *sample)
{
    struct metrics_port *port = port_of(metrics, metrics_port_named(metrics, sample_label(sample, "port")));

    if (port) port->busy_s = sample->real;
}

static void line_speed(struct metrics *metrics, const struct sample *sample)
{
    struct metrics_port *port = port_of(metrics, metrics_port_named(metrics, sample_label(sample, "port")));

    if (port) port->speed = sample->real;
}

static void paused_now(struct metrics *metrics, const struct sample *sample)
{
    uint32_t port = metrics_port_named(metrics, sample_label(sample, "port"));
    uint64_t bits = whole(sample);

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if ((bits >> p & 1) || evidence_find(metrics->evidence, port, p, EVIDENCE_RX_PAUSED_NOW))
            evidence_set(metrics->evidence, port, p, EVIDENCE_RX_PAUSED_NOW, bits >> p & 1, &metrics->in->source);
}

/* 4: ACTIVE. */
static void port_state(struct metrics *metrics, const struct sample *sample)
{
    unsigned priority;
    uint32_t port = metrics_object(metrics, sample, METRIC_NIC, &priority);

    evidence_set(metrics->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, whole(sample) == 4,
                 &metrics->in->source);
}

bool metrics_special(struct metrics *metrics, const struct sample *sample)
{
    static const struct {
        const char *name;
        void (*take)(struct metrics *metrics, const struct sample *sample);
    } special[] = {
        {"rocelab_link_info", link_info},
        {"rocelab_class_lossless", class_lossless},
        {"rocelab_switch_port_drops_total", drops_by_reason},
        {"rocelab_switch_drops_total", drops_by_priority},
        {"rocelab_link_tx_line_bytes_total", line_bytes},
        {"rocelab_link_busy_seconds_total", line_busy},
        {"rocelab_link_speed_ratio", line_speed},
        {"rocelab_link_paused_priorities", paused_now},
        {"node_infiniband_state_id", port_state},
        {"sonic_lldp_neighbor_info", sonic_neighbour},
    };

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (!field_is(&sample->name, special[i].name)) continue;
        special[i].take(metrics, sample);
        return true;
    }
    return false;
}

/* --- the end --- */

struct drops_end {
    struct metrics *metrics;
    const struct metrics_port *port;
};

static void put_drops(void *context, uint32_t port, unsigned priority, enum evidence_counter counter, uint64_t value)
{
    const struct drops_end *end = context;
    struct evidence *evidence = end->metrics->evidence;
    struct evidence_source source = end->metrics->in->source;

    source.at_s = end->metrics->since_begin ? 0 : end->port->first_s;
    if (source.at_s < end->port->last_s) evidence_set(evidence, port, priority, counter, 0, &source);
    source.at_s = end->port->last_s;
    evidence_set(evidence, port, priority, counter, value, &source);
}

static uint64_t grown(const struct metrics_port *port, uint64_t first, uint64_t last)
{
    if (port->first_s >= port->last_s) return last; /* one look */
    return last > first ? last - first : 0;
}

/* What drops grew by between the first look and the last; of one look all of them. */
static void finish_drops(struct metrics *metrics, uint32_t object, const struct metrics_port *port)
{
    struct drops_end end = {metrics, port};
    struct drops drops = {0};

    for (unsigned r = 0; r < DROPS_REASONS; r++)
        drops.by[drops_kind(r)] += grown(port, port->first.by[r], port->last.by[r]);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        drops.of[p] = grown(port, port->first.of[p], port->last.of[p]);
    drops_share(&drops, metrics->lossless, object, put_drops, &end);
}

static void finish_rate(struct metrics *metrics, uint32_t object, const struct metrics_port *port)
{
    struct evidence *evidence = metrics->evidence;

    if (!(port->busy_s > 0) || !port->line_bytes) return;
    double rate = (double)port->line_bytes * 8 / port->busy_s;
    evidence_set_real(evidence, object, EVIDENCE_NO_PRIORITY, EVIDENCE_FULL_RATE, rate, &metrics->in->source);
    evidence_set_real(evidence, object, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, rate * (port->speed > 0 ? port->speed : 1),
                      &metrics->in->source);
}

void metrics_finish(struct metrics *metrics)
{
    for (uint32_t id = 0; id < metrics->ports && id < metrics->evidence->objects; id++) {
        if (metrics->port[id].drops) finish_drops(metrics, id, &metrics->port[id]);
        finish_rate(metrics, id, &metrics->port[id]);
    }
    for (uint32_t id = 0; metrics->lossless && id < metrics->evidence->objects; id++)
        for (unsigned p = 0; metrics->evidence->object[id].scope == EVIDENCE_PORT && p < EVIDENCE_PRIORITIES; p++)
            if (metrics->lossless >> p & 1)
                evidence_set(metrics->evidence, id, p, EVIDENCE_LOSSLESS, 1, &metrics->in->source);
}
