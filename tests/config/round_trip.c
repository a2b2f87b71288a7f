/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric through a system's configurations and back, compared port by port.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/random_fabric.h"
#include "config/testing.h"
#include "config/unsupported.h"
#include "fabric/switches.h"
#include "load/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Losses that excuse a difference, one bit each. */
#define OF(loss) (UINT64_C(1) << CONFIG_UNSUPPORTED_##loss)
#define OF_PFC (OF(PFC_SET) | OF(PFC_WAYS) | OF(PORT_LOSSLESS) | OF(PAUSE_ALL))
#define OF_QUEUE (OF(QUEUE_MAP) | OF(PORT_MAPS) | OF(PORT_QUEUES))
#define OF_GROUP (OF(GROUP_MAP) | OF(PORT_LOSSLESS) | OF(PFC_SET))
#define OF_THRESHOLD (OF_GROUP | OF(ALPHA) | OF(XOFF) | OF(XOFF_CLASSES) | OF(HEADROOM))
_Static_assert(CONFIG_UNSUPPORTED_COUNT <= 64, "a loss is a bit");

struct trip {
    uint64_t seed;
    uint64_t named; /* losses of the device that is compared; what is lost without a name fails */
    const struct config_format *format;
    bool losses, comments, watchdog; /* differences are excused by losses; of the device that is compared */
    const char *device;
    unsigned port;
    const char *yaml; /* what was imported */
};

static void differ(const struct trip *trip, uint64_t excuse, const char *what, unsigned index, unsigned long long was,
                   unsigned long long is)
{
    if (was == is || (trip->named & excuse)) return;
    if (getenv("ROUND_TRIP_SHOW")) print_message("%s\n", trip->yaml);
    fail_msg("seed %llu, %s, %s:%u: %s[%u] was %llu and is %llu", (unsigned long long)trip->seed, trip->format->name,
             trip->device, trip->port, what, index, was, is);
}

/* moved: losses that may have put other classes into the queue. */
static void compare_queue(const struct trip *trip, const struct random_limits *limits, unsigned tc, uint64_t moved,
                          const struct fabric_queue *a, const struct fabric_queue *b)
{
    if (!limits->host && limits->lossy_ecn) { /* adapters mark nothing */
        differ(trip, moved, "ecn", tc, a->ecn.on, b->ecn.on);
        differ(trip, moved | OF(ECN_PERCENT), "ecn min", tc, a->ecn.min_bytes, b->ecn.min_bytes);
        differ(trip, moved | OF(ECN_PERCENT), "ecn max", tc, a->ecn.max_bytes, b->ecn.max_bytes);
        differ(trip, moved | OF(PROBABILITY), "ecn probability", tc, a->ecn.probability_ppm, b->ecn.probability_ppm);
    }
    differ(trip, moved | OF(STRICT), "strict", tc, a->strict, b->strict);
    if (limits->limit) differ(trip, moved | OF(LIMIT), "limit", tc, a->limit_bytes, b->limit_bytes);
    if (limits->alpha && a->limit_bytes == FABRIC_UNLIMITED)
        differ(trip, moved | OF(LIMIT) | OF(ALPHA_ROUNDED) | OF(PFC_SET) | OF(PORT_LOSSLESS), "queue alpha", tc,
               (unsigned long long)a->alpha_num * b->alpha_den, (unsigned long long)b->alpha_num * a->alpha_den);
}

static void compare_pg(const struct trip *trip, const struct random_limits *limits, unsigned tc,
                       const struct fabric_pg *a, const struct fabric_pg *b)
{
    bool fixed = limits->static_headroom && !a->dynamic;

    differ(trip, OF_GROUP, "group lossless", tc, a->lossless, b->lossless);
    if (limits->reserved) differ(trip, OF_GROUP | OF(RESERVED), "reserved", tc, a->reserved_bytes, b->reserved_bytes);
    if (!a->lossless) return;
    if (limits->headroom || fixed) differ(trip, OF_THRESHOLD, "headroom", tc, a->headroom_bytes, b->headroom_bytes);
    if (limits->xon || fixed) differ(trip, OF_THRESHOLD, "xon", tc, a->xon_offset_bytes, b->xon_offset_bytes);
    if (limits->static_xoff) differ(trip, OF_THRESHOLD, "dynamic", tc, a->dynamic, b->dynamic);
    if (limits->static_xoff && !a->dynamic) differ(trip, OF_THRESHOLD, "xoff", tc, a->static_bytes, b->static_bytes);
    if (limits->alpha && a->dynamic)
        differ(trip, OF_THRESHOLD | OF(ALPHA_ROUNDED), "alpha", tc, (unsigned long long)a->alpha_num * b->alpha_den,
               (unsigned long long)b->alpha_num * a->alpha_den);
}

/* Shares are ratios between the queues that share; two may differ by what is rounded off. */
static void compare_shares(const struct trip *trip, unsigned queues, uint64_t moved, const struct fabric_settings *a,
                           const struct fabric_settings *b)
{
    uint64_t sum_a = 0, sum_b = 0;

    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(queues >> q & 1) || a->queue[q].strict) continue;
        sum_a += a->queue[q].share_ppm;
        sum_b += b->queue[q].share_ppm;
    }
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(queues >> q & 1) || a->queue[q].strict) continue;
        uint64_t was = a->queue[q].share_ppm * 1000000ull / sum_a;
        uint64_t is = sum_b ? b->queue[q].share_ppm * 1000000ull / sum_b : 0;
        if (was > is + 4 || is > was + 4) differ(trip, moved | OF(SHARES) | OF(STRICT), "share", q, was, is);
    }
}

static void compare_port_settings(const struct trip *trip, const struct random_limits *limits,
                                  const struct fabric_settings *a, const struct fabric_settings *b)
{
    uint8_t paused = a->pfc_rx | a->pfc_tx;

    differ(trip, 0, "trust", 0, a->trust, b->trust);
    for (unsigned d = 0; d < 64 && a->trust == SW_TRUST_DSCP; d++)
        differ(trip, OF(PORT_MAPS), "dscp", d, a->dscp_to_tc[d], b->dscp_to_tc[d]);
    for (unsigned d = 0; d < 8 && a->trust == SW_TRUST_PCP; d++)
        differ(trip, OF(PORT_MAPS), "pcp", d, a->pcp_to_tc[d], b->pcp_to_tc[d]);
    differ(trip, OF_PFC, "pfc rx", 0, a->pfc_rx, b->pfc_rx);
    differ(trip, OF_PFC, "pfc tx", 0, a->pfc_tx, b->pfc_tx);
    differ(trip, OF(MTU), "mtu", 0, a->mtu_bytes, b->mtu_bytes);
    differ(trip, OF(QUANTA), "pause quanta", 0, a->pause_quanta, b->pause_quanta);
    if (limits->fec) differ(trip, 0, "fec", 0, a->fec, b->fec);
    if (limits->pause_all) differ(trip, OF(PAUSE_ALL), "802.3x", 0, a->pause_all, b->pause_all);
    if (limits->pfc_auto && paused) differ(trip, OF(PFC_AUTO) | OF_PFC, "pfc auto", 0, a->pfc_auto, b->pfc_auto);
    if (limits->watched && trip->watchdog)
        differ(trip, OF(WATCHED) | OF_PFC, "watched", 0, a->watched & paused, b->watched & paused);
}

static void compare_settings(const struct trip *trip, const struct random_limits *limits, const struct fabric *fabric,
                             const struct fabric_settings *a, const struct fabric_settings *b)
{
    unsigned queues = 0;
    uint64_t moved = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++) {
        unsigned tc = fabric->classes[c].priority;
        if (a->tc_to_queue[tc] != b->tc_to_queue[tc]) moved = OF_QUEUE;
    }
    compare_port_settings(trip, limits, a, b);
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        unsigned tc = fabric->classes[c].priority, q = a->tc_to_queue[tc], g = a->tc_to_pg[tc];
        bool lossless = a->lossless >> tc & 1;

        differ(trip, OF(PORT_LOSSLESS) | OF(PFC_SET) | OF(GROUP_MAP), "lossless", tc, lossless, b->lossless >> tc & 1);
        differ(trip, OF_QUEUE, "queue of class", tc, q, b->tc_to_queue[tc]);
        differ(trip, OF(GROUP_MAP), "group of class", tc, g, b->tc_to_pg[tc]);
        compare_queue(trip, limits, tc, moved, &a->queue[q], &b->queue[b->tc_to_queue[tc]]);
        compare_pg(trip, limits, tc, &a->pg[g], &b->pg[b->tc_to_pg[tc]]);
        queues |= 1u << q;
    }
    compare_shares(trip, queues, moved, a, b);
}

/* The value of a parameter, "" where it is not there. */
static const char *value_of(const struct fabric_param *param, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(param[i].name, name) == 0) return param[i].value;
    return "";
}

static void compare_nic(const struct trip *trip, const struct fabric *a, const struct fabric_nic *x,
                        const struct fabric *b, const struct fabric_nic *y)
{
    differ(trip, 0, "mtu of the adapter", 0, x->mtu_bytes, y->mtu_bytes);
    if (x->cnp_dscp != FABRIC_UNSAID) differ(trip, 0, "cnp dscp", 0, x->cnp_dscp, y->cnp_dscp);
    if (x->cnp_class != FABRIC_NONE) {
        assert_int_not_equal(y->cnp_class, FABRIC_NONE);
        differ(trip, 0, "cnp priority", 0, a->classes[x->cnp_class].priority, b->classes[y->cnp_class].priority);
    }
    if (x->dcqcn_rp != FABRIC_UNSAID) differ(trip, 0, "dcqcn rp", 0, x->dcqcn_rp, y->dcqcn_rp);
    if (x->dcqcn_np != FABRIC_UNSAID) differ(trip, 0, "dcqcn np", 0, x->dcqcn_np, y->dcqcn_np);
    if (x->dcbx_willing != FABRIC_UNSAID) differ(trip, 0, "willing", 0, x->dcbx_willing, y->dcbx_willing);
    if (x->dcbx_mode != FABRIC_UNSAID) differ(trip, 0, "dcbx mode", 0, x->dcbx_mode, y->dcbx_mode);
    differ(trip, 0, "cable length", 0, x->cable_mm, y->cable_mm);
    for (uint32_t i = 0; i < x->nccls; i++)
        assert_string_equal(x->nccl[i].value, value_of(y->nccl, y->nccls, x->nccl[i].name));
    for (uint32_t i = 0; i < x->params; i++)
        assert_string_equal(x->param[i].value, value_of(y->param, y->params, x->param[i].name));
}

static void compare_switch(struct trip *trip, const struct random_limits *limits, const struct fabric_switch *a,
                           const struct fabric_switch *b, bool watched)
{
    uint64_t times = OF(TIMES_ROUNDED);

    /* what the model has is told by a comment */
    if (limits->buffer && (trip->comments || trip->format->can->buffer))
        differ(trip, OF(BUFFER), "buffer", 0, a->buffer_bytes, b->buffer_bytes);
    if (limits->headroom_pool)
        differ(trip, OF(POOL), "headroom pool", 0, a->headroom_pool_bytes, b->headroom_pool_bytes);
    if (limits->model && trip->comments && strcmp(a->model, b->model) != 0)
        fail_msg("seed %llu: %s is of model %s", (unsigned long long)trip->seed, trip->device, b->model);
    differ(trip, OF(HASH), "fields of the hash", 0, a->hash_fields, b->hash_fields);
    differ(trip, OF(BALANCE), "balance", 0, a->balance.kind, b->balance.kind);
    if (a->balance.kind == SW_FLOWLET && b->balance.kind == SW_FLOWLET)
        differ(trip, OF(BALANCE), "gap of flowlets", 0, a->balance.gap_ps, b->balance.gap_ps);
    if (!limits->watchdog || !watched) return;
    differ(trip, OF_PFC | OF(WATCHED), "watchdog", 0, a->watchdog.on, b->watchdog.on);
    if (!a->watchdog.on || !b->watchdog.on || !limits->watchdog_times) return; /* lost, and named above */
    differ(trip, times, "watchdog poll", 0, a->watchdog.poll_ps, b->watchdog.poll_ps);
    differ(trip, times, "watchdog detect", 0, a->watchdog.detect_ps, b->watchdog.detect_ps);
    differ(trip, times | OF(RESTORE), "watchdog restore", 0, a->watchdog.restore_ps, b->watchdog.restore_ps);
    if (!limits->watchdog_action) return;
    differ(trip, OF(ACTION), "watchdog drop", 0, a->watchdog.drop, b->watchdog.drop);
    differ(trip, OF(ACTION), "watchdog shutdown", 0, a->watchdog.shutdown, b->watchdog.shutdown);
}

/* NVUE says the length that headroom is for, where there is PFC; others the cable's. */
static void compare_cable(const struct trip *trip, const struct fabric *a, const struct fabric_port *x,
                          const struct fabric *b, const struct fabric_port *y)
{
    const struct fabric_settings *from = &a->settings[x->settings], *to = &b->settings[y->settings];
    uint64_t was = x->cable_mm, is = y->cable_mm;

    if (!y->cable_known && to->headroom_cable_mm) {
        was = from->headroom_cable_mm ? from->headroom_cable_mm : x->cable_mm;
        is = to->headroom_cable_mm;
    } else if (!y->cable_known && !(from->pfc_rx | from->pfc_tx)) {
        return;
    }
    differ(trip, OF(CABLE_ROUNDED) | OF_PFC, "cable", 0, was, is);
}

static uint64_t named_losses(const struct config_format *format, const struct fabric *fabric, uint32_t node)
{
    struct config_unsupported_list losses;
    uint64_t named = 0;

    config_unsupported_list(format, fabric, node, &losses);
    for (unsigned loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++)
        if (losses.ports[loss]) named |= UINT64_C(1) << loss;
    return named;
}

/* A cable between two switches is the same cable: each configuration names the other end. */
static void compare_link(const struct trip *trip, const struct fabric *a, const struct fabric_port *x,
                         const struct fabric *b, const struct fabric_port *y)
{
    if (x->peer == FABRIC_NONE || a->port[x->peer].node < a->hosts) return;
    const struct fabric_port *was = &a->port[x->peer], *is = y->peer == FABRIC_NONE ? NULL : &b->port[y->peer];
    if (!is || strcmp(a->node[was->node].name, b->node[is->node].name) != 0)
        fail_msg("seed %llu, %s, %s:%u: its link goes to %s and not to %s", (unsigned long long)trip->seed,
                 trip->format->name, trip->device, trip->port, is ? b->node[is->node].name : "nothing",
                 a->node[was->node].name);
    differ(trip, 0, "port at the other end", 0, was->index, is->index);
}

static void compare(struct trip *trip, const struct random_limits *limits, bool host, const struct fabric *a,
                    const struct fabric *b)
{
    uint32_t compared = 0;

    for (uint32_t n = host ? 0 : a->hosts; n < (host ? a->hosts : a->nodes); n++) {
        const struct fabric_node *node = &a->node[n];
        uint32_t other = fabric_find_node(b, node->name);
        bool watched = false;

        trip->device = node->name;
        trip->port = 0;
        trip->watchdog = !host && a->sw[n - a->hosts].watchdog.on;
        trip->named = trip->losses ? named_losses(trip->format, a, n) : 0;
        if (other == FABRIC_NONE) fail_msg("seed %llu: %s is lost", (unsigned long long)trip->seed, node->name);
        const struct fabric_node *back = &b->node[other];
        differ(trip, 0, "ports", 0, node->ports, back->ports);
        for (uint32_t p = 0; p < node->ports; p++) {
            const struct fabric_port *x = &a->port[node->first_port + p], *y = &b->port[back->first_port + p];
            trip->port = p;
            if (limits->rate) differ(trip, OF(RATE), "rate", 0, x->rate_bps, y->rate_bps);
            if (limits->cable) compare_cable(trip, a, x, b, y);
            if (!host) compare_link(trip, a, x, b, y);
            if (limits->up) differ(trip, 0, "up", 0, x->up, y->up);
            compare_settings(trip, limits, a, &a->settings[x->settings], &b->settings[y->settings]);
            /* a watchdog that looks at no queue is none */
            watched = watched || (a->settings[x->settings].pfc_tx & a->settings[x->settings].watched);
            if (host)
                compare_nic(trip, a, &a->nic[a->endpoint[node->first_port + p].nic], b,
                            &b->nic[b->endpoint[back->first_port + p].nic]);
            compared++;
        }
        if (!host) compare_switch(trip, limits, &a->sw[n - a->hosts], &b->sw[other - b->hosts], watched);
    }
    assert_true(compared > 0);
}

static void load(uint64_t seed, const char *what, const char *text, struct fabric **ret)
{
    struct fabric_errors errors = {0};

    if (fabric_load(what, text, ret, &errors) == 0) return;
    fabric_errors_print(&errors, stderr);
    if (getenv("ROUND_TRIP_SHOW")) print_message("%s\n", text);
    fail_msg("seed %llu: %s does not load", (unsigned long long)seed, what);
}

static void emit_import(const struct config_format *format, const struct fabric *fabric, uint32_t node, bool comments,
                        uint64_t seed, struct config_set *set)
{
    struct fabric_errors errors = {0};
    char *text = NULL, path[64];
    size_t length = 0;
    struct config_emit emit = {
        .fabric = fabric, .node = node, .to = open_memstream(&text, &length), .comments = comments};

    assert_non_null(emit.to);
    assert_int_equal(format->emit(&emit), 0);
    fclose(emit.to);
    snprintf(path, sizeof(path), "%s.%s", fabric->node[node].name, format->suffix);
    if (getenv("ROUND_TRIP_SHOW")) print_message("=== %s\n%s\n", path, text);
    if (format->host && seed % 3 == 0) { /* then dcb's commands are read too, and are the last to speak */
        char *at = text;
        while ((at = strstr(at, "if command -v mlnx_qos")))
            at[strlen("if command -v ")] = 'M';
    }
    const struct config_format *guessed = config_format_guess(text, length);
    if (!guessed || guessed->import != format->import)
        fail_msg("seed %llu: %s is not recognized", (unsigned long long)seed, path);
    if (config_read(set, format, path, text, length, NULL, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("seed %llu: %s is not read back", (unsigned long long)seed, path);
    }
    free(text);
}

static void run(struct trip *trip, const struct random_limits *limits)
{
    const struct config_format *format = trip->format;
    const char *base = getenv("ROCELAB_SEED"); /* the soak's */
    if (base) trip->seed += strtoull(base, NULL, 10) * 100000;
    char *file = random_fabric(trip->seed, limits);
    struct fabric *before = NULL, *after = NULL;
    struct config_set set;
    struct origin_map map;

    if (getenv("ROUND_TRIP_SHOW")) print_message("%s\n", file);
    load(trip->seed, "the random fabric", file, &before);
    config_set_init(&set);
    for (uint32_t n = format->host ? 0 : before->hosts; n < (format->host ? before->hosts : before->nodes); n++)
        emit_import(format, before, n, trip->comments, trip->seed, &set);
    for (uint32_t i = 0; i < set.notes; i++)
        if (!set.note[i].rule && !set.note[i].assumed)
            fail_msg("seed %llu: its own output is not understood: %s", (unsigned long long)trip->seed,
                     set.note[i].message);
    config_write(&set, "back", &trip->yaml, &map);
    config_audit(&set);
    load(trip->seed, "the imported fabric", trip->yaml, &after);
    compare(trip, limits, format->host, before, after);
    fabric_free(after);
    fabric_free(before);
    config_set_release(&set);
    free(file);
}

void round_trip(const struct config_format *format, uint64_t seed, const struct random_limits *limits, bool comments)
{
    struct trip trip = {.format = format, .seed = seed, .comments = comments};
    run(&trip, limits);
}

void round_trip_losses(const struct config_format *format, uint64_t seed)
{
    struct trip trip = {.format = format, .seed = seed, .comments = seed % 2, .losses = true};
    run(&trip, &random_all);
}

void round_trips(const struct config_format *format, const struct random_limits *limits)
{
    uint64_t count = trips();

    for (uint64_t seed = 1; seed <= count; seed++) {
        round_trip(format, seed, limits, seed % 2);
        round_trip_losses(format, seed);
    }
}
