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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trip {
    uint64_t seed;
    const char *format, *device;
    unsigned port;
    const char *yaml; /* what was imported */
};

static void differ(const struct trip *trip, const char *what, unsigned index, unsigned long long was,
                   unsigned long long is)
{
    if (was == is) return;
    if (getenv("ROUND_TRIP_SHOW")) print_message("%s\n", trip->yaml);
    fail_msg("seed %llu, %s, %s:%u: %s[%u] was %llu and is %llu", (unsigned long long)trip->seed, trip->format,
             trip->device, trip->port, what, index, was, is);
}

static void compare_queue(const struct trip *trip, const struct random_limits *limits, unsigned q, bool lossless,
                          const struct fabric_queue *a, const struct fabric_queue *b)
{
    if (!limits->host && (lossless || limits->lossy_ecn)) { /* adapters mark nothing */
        differ(trip, "ecn", q, a->ecn.on, b->ecn.on);
        differ(trip, "ecn min", q, a->ecn.min_bytes, b->ecn.min_bytes);
        differ(trip, "ecn max", q, a->ecn.max_bytes, b->ecn.max_bytes);
        differ(trip, "ecn probability", q, a->ecn.probability_ppm, b->ecn.probability_ppm);
    }
    differ(trip, "strict", q, a->strict, b->strict);
    if (limits->limit) differ(trip, "limit", q, a->limit_bytes, b->limit_bytes);
    if (limits->alpha && a->limit_bytes == FABRIC_UNLIMITED)
        differ(trip, "queue alpha", q, (unsigned long long)a->alpha_num * b->alpha_den,
               (unsigned long long)b->alpha_num * a->alpha_den);
}

static void compare_pg(const struct trip *trip, const struct random_limits *limits, unsigned g,
                       const struct fabric_pg *a, const struct fabric_pg *b)
{
    differ(trip, "group lossless", g, a->lossless, b->lossless);
    if (limits->reserved) differ(trip, "reserved", g, a->reserved_bytes, b->reserved_bytes);
    if (!a->lossless) return;
    if (limits->headroom || (limits->static_headroom && !a->dynamic))
        differ(trip, "headroom", g, a->headroom_bytes, b->headroom_bytes);
    if (limits->xon || (limits->static_headroom && !a->dynamic))
        differ(trip, "xon", g, a->xon_offset_bytes, b->xon_offset_bytes);
    if (limits->static_xoff) differ(trip, "dynamic", g, a->dynamic, b->dynamic);
    if (limits->static_xoff && !a->dynamic) differ(trip, "xoff", g, a->static_bytes, b->static_bytes);
    if (limits->alpha && a->dynamic)
        differ(trip, "alpha", g, (unsigned long long)a->alpha_num * b->alpha_den,
               (unsigned long long)b->alpha_num * a->alpha_den);
}

/* Shares are ratios between the queues that share; two may differ by what is rounded off. */
static void compare_shares(const struct trip *trip, unsigned queues, const struct fabric_settings *a,
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
        uint64_t was = a->queue[q].share_ppm * 1000000ull / sum_a, is = b->queue[q].share_ppm * 1000000ull / sum_b;
        if (was > is + 4 || is > was + 4) differ(trip, "share", q, was, is);
    }
}

static void compare_settings(const struct trip *trip, const struct random_limits *limits, const struct fabric *fabric,
                             const struct fabric_settings *a, const struct fabric_settings *b)
{
    unsigned queues = 0, groups = 0;

    differ(trip, "trust", 0, a->trust, b->trust);
    for (unsigned d = 0; d < 64 && a->trust == FABRIC_TRUST_DSCP; d++)
        differ(trip, "dscp", d, a->dscp_to_tc[d], b->dscp_to_tc[d]);
    for (unsigned d = 0; d < 8 && a->trust == FABRIC_TRUST_PCP; d++)
        differ(trip, "pcp", d, a->pcp_to_tc[d], b->pcp_to_tc[d]);
    differ(trip, "pfc rx", 0, a->pfc_rx, b->pfc_rx);
    differ(trip, "pfc tx", 0, a->pfc_tx, b->pfc_tx);
    differ(trip, "mtu", 0, a->mtu_bytes, b->mtu_bytes);
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        unsigned tc = fabric->classes[c].priority, q = a->tc_to_queue[tc], g = a->tc_to_pg[tc];
        bool lossless = a->lossless >> tc & 1;

        differ(trip, "lossless", tc, lossless, b->lossless >> tc & 1);
        differ(trip, "queue of class", tc, q, b->tc_to_queue[tc]);
        differ(trip, "group of class", tc, g, b->tc_to_pg[tc]);
        if (!(queues >> q & 1)) compare_queue(trip, limits, q, lossless, &a->queue[q], &b->queue[q]);
        if (!(groups >> g & 1)) compare_pg(trip, limits, g, &a->pg[g], &b->pg[g]);
        queues |= 1u << q;
        groups |= 1u << g;
    }
    compare_shares(trip, queues, a, b);
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
    differ(trip, "mtu of the adapter", 0, x->mtu_bytes, y->mtu_bytes);
    if (x->cnp_dscp != FABRIC_UNSAID) differ(trip, "cnp dscp", 0, x->cnp_dscp, y->cnp_dscp);
    if (x->cnp_class != FABRIC_NONE) {
        assert_int_not_equal(y->cnp_class, FABRIC_NONE);
        differ(trip, "cnp priority", 0, a->classes[x->cnp_class].priority, b->classes[y->cnp_class].priority);
    }
    if (x->dcqcn_rp != FABRIC_UNSAID) differ(trip, "dcqcn rp", 0, x->dcqcn_rp, y->dcqcn_rp);
    if (x->dcqcn_np != FABRIC_UNSAID) differ(trip, "dcqcn np", 0, x->dcqcn_np, y->dcqcn_np);
    if (x->dcbx_willing != FABRIC_UNSAID) differ(trip, "willing", 0, x->dcbx_willing, y->dcbx_willing);
    if (x->dcbx_mode != FABRIC_UNSAID) differ(trip, "dcbx mode", 0, x->dcbx_mode, y->dcbx_mode);
    differ(trip, "cable length", 0, x->cable_mm, y->cable_mm);
    for (uint32_t i = 0; i < x->nccls; i++)
        assert_string_equal(x->nccl[i].value, value_of(y->nccl, y->nccls, x->nccl[i].name));
    for (uint32_t i = 0; i < x->params; i++)
        assert_string_equal(x->param[i].value, value_of(y->param, y->params, x->param[i].name));
}

static void compare_switch(struct trip *trip, const struct random_limits *limits, const struct fabric_switch *a,
                           const struct fabric_switch *b, bool pauses)
{
    if (limits->buffer) differ(trip, "buffer", 0, a->buffer_bytes, b->buffer_bytes);
    if (limits->headroom_pool) differ(trip, "headroom pool", 0, a->headroom_pool_bytes, b->headroom_pool_bytes);
    if (!limits->watchdog || !pauses) return;
    differ(trip, "watchdog", 0, a->watchdog.on, b->watchdog.on);
    if (!a->watchdog.on || !limits->watchdog_times) return;
    differ(trip, "watchdog poll", 0, a->watchdog.poll_ps, b->watchdog.poll_ps);
    differ(trip, "watchdog detect", 0, a->watchdog.detect_ps, b->watchdog.detect_ps);
    differ(trip, "watchdog restore", 0, a->watchdog.restore_ps, b->watchdog.restore_ps);
    if (limits->watchdog_action) differ(trip, "watchdog drop", 0, a->watchdog.drop, b->watchdog.drop);
}

static void compare(struct trip *trip, const struct random_limits *limits, bool host, const struct fabric *a,
                    const struct fabric *b)
{
    uint32_t compared = 0;

    for (uint32_t n = host ? 0 : a->hosts; n < (host ? a->hosts : a->nodes); n++) {
        const struct fabric_node *node = &a->node[n];
        uint32_t other = fabric_find_node(b, node->name);
        bool pauses = false;

        trip->device = node->name;
        trip->port = 0;
        if (other == FABRIC_NONE) fail_msg("seed %llu: %s is lost", (unsigned long long)trip->seed, node->name);
        const struct fabric_node *back = &b->node[other];
        differ(trip, "ports", 0, node->ports, back->ports);
        for (uint32_t p = 0; p < node->ports; p++) {
            const struct fabric_port *x = &a->port[node->first_port + p], *y = &b->port[back->first_port + p];
            trip->port = p;
            if (limits->rate) differ(trip, "rate", 0, x->rate_bps, y->rate_bps);
            if (limits->cable) differ(trip, "cable", 0, x->cable_mm, y->cable_mm);
            compare_settings(trip, limits, a, &a->settings[x->settings], &b->settings[y->settings]);
            pauses = pauses || a->settings[x->settings].pfc_tx;
            if (host)
                compare_nic(trip, a, &a->nic[a->endpoint[node->first_port + p].nic], b,
                            &b->nic[b->endpoint[back->first_port + p].nic]);
            compared++;
        }
        if (!host) compare_switch(trip, limits, &a->sw[n - a->hosts], &b->sw[other - b->hosts], pauses);
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
    struct config_emit emit = {fabric, node, open_memstream(&text, &length), comments};

    assert_non_null(emit.to);
    assert_int_equal(format->emit(&emit), 0);
    fclose(emit.to);
    snprintf(path, sizeof(path), "%s.%s", fabric->node[node].name, format->suffix);
    if (getenv("ROUND_TRIP_SHOW")) print_message("=== %s\n%s\n", path, text);
    const struct config_format *guessed = config_format_guess(text, length);
    if (!guessed || guessed->import != format->import)
        fail_msg("seed %llu: %s is not recognized", (unsigned long long)seed, path);
    if (config_read(set, format, path, text, length, NULL, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("seed %llu: %s is not read back", (unsigned long long)seed, path);
    }
    free(text);
}

void round_trip(const struct config_format *format, uint64_t seed, const struct random_limits *limits, bool comments)
{
    const char *base = getenv("ROCELAB_SEED"); /* the soak's */
    if (base) seed += strtoull(base, NULL, 10) * 100000;
    char *file = random_fabric(seed, limits);
    struct fabric *before = NULL, *after = NULL;
    struct config_set set;
    struct origin_map map;
    const char *text = NULL;

    if (getenv("ROUND_TRIP_SHOW")) print_message("%s\n", file);
    load(seed, "the random fabric", file, &before);
    config_set_init(&set);
    for (uint32_t n = format->host ? 0 : before->hosts; n < (format->host ? before->hosts : before->nodes); n++)
        emit_import(format, before, n, comments, seed, &set);
    for (uint32_t i = 0; i < set.notes; i++)
        if (!set.note[i].rule)
            fail_msg("seed %llu: its own output is not understood: %s", (unsigned long long)seed, set.note[i].message);
    assert_int_equal(config_write(&set, "back", &text, &map), 0);
    load(seed, "the imported fabric", text, &after);
    struct trip trip = {.seed = seed, .format = format->name, .yaml = text};
    compare(&trip, limits, format->host, before, after);
    fabric_free(after);
    fabric_free(before);
    config_set_release(&set);
    free(file);
}
