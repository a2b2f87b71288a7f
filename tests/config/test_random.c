/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random fabrics of the round trips draw every field of a switch that a configuration could be about: a field that
 * never varies is one that no round trip tries.  And every loss is met by some of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "config/random_fabric.h"
#include "config/unsupported.h"
#include "fabric/switches.h"
#include "load/load.h"

#define FABRICS 300

struct view { /* a port of a switch, and a class on it */
    const struct fabric *fabric;
    const struct fabric_switch *sw;
    const struct fabric_port *port;
    const struct fabric_settings *settings;
    const struct fabric_queue *queue;
    const struct fabric_pg *pg;
    unsigned tc;
};

static uint64_t sum_of(const uint8_t *bytes, size_t count)
{
    uint64_t hash = 14695981039346656037ull;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 1099511628211ull;
    return hash;
}

/* Left out: what follows from others (weight_bytes, propagation, sums), and what no configuration of QoS is about. */
#define FIELDS(X)                                                                                                      \
    X(model, sum_of((const uint8_t *)v->sw->model, strlen(v->sw->model)))                                              \
    X(buffer, v->sw->buffer_bytes)                                                                                     \
    X(headroom_pool, v->sw->headroom_pool_bytes)                                                                       \
    X(watchdog, v->sw->watchdog.on)                                                                                    \
    X(watchdog_drop, v->sw->watchdog.drop)                                                                             \
    X(watchdog_shutdown, v->sw->watchdog.shutdown)                                                                     \
    X(watchdog_detect, v->sw->watchdog.detect_ps)                                                                      \
    X(watchdog_restore, v->sw->watchdog.restore_ps)                                                                    \
    X(watchdog_poll, v->sw->watchdog.poll_ps)                                                                          \
    X(rate, v->port->rate_bps)                                                                                         \
    X(cable, v->port->cable_mm)                                                                                        \
    X(up, v->port->up)                                                                                                 \
    X(trust, v->settings->trust)                                                                                       \
    X(dscp_map, sum_of(v->settings->dscp_to_tc, 64))                                                                   \
    X(pcp_map, sum_of(v->settings->pcp_to_tc, 8))                                                                      \
    X(queue_map, sum_of(v->settings->tc_to_queue, 8))                                                                  \
    X(group_map, sum_of(v->settings->tc_to_pg, 8))                                                                     \
    X(lossless, v->settings->lossless)                                                                                 \
    X(pfc_rx, v->settings->pfc_rx)                                                                                     \
    X(pfc_tx, v->settings->pfc_tx)                                                                                     \
    X(pfc_ways, v->settings->pfc_rx ^ v->settings->pfc_tx)                                                             \
    X(pfc_auto, v->settings->pfc_auto)                                                                                 \
    X(pause_all, v->settings->pause_all)                                                                               \
    X(pause_quanta, v->settings->pause_quanta)                                                                         \
    X(watched, v->settings->watched)                                                                                   \
    X(watched_some, v->settings->watched != 0 && v->settings->watched != (v->settings->pfc_rx | v->settings->pfc_tx))  \
    X(fec, v->settings->fec)                                                                                           \
    X(mtu, v->settings->mtu_bytes)                                                                                     \
    X(headroom_cable, v->settings->headroom_cable_mm)                                                                  \
    X(headroom_frame, v->settings->headroom_frame_bytes)                                                               \
    X(ecn, v->queue->ecn.on)                                                                                           \
    X(ecn_min, v->queue->ecn.min_bytes)                                                                                \
    X(ecn_max, v->queue->ecn.max_bytes)                                                                                \
    X(ecn_probability, v->queue->ecn.probability_ppm)                                                                  \
    X(ecn_fraction, v->queue->ecn.probability_ppm % 10000)                                                             \
    X(strict, v->queue->strict)                                                                                        \
    X(share, v->queue->share_ppm)                                                                                      \
    X(share_fraction, v->queue->share_ppm % 10000)                                                                     \
    X(limit, v->queue->limit_bytes)                                                                                    \
    X(queue_alpha, (uint64_t)v->queue->alpha_num << 32 | v->queue->alpha_den)                                          \
    X(group_lossless, v->pg->lossless)                                                                                 \
    X(dynamic, v->pg->dynamic)                                                                                         \
    X(alpha, (uint64_t)v->pg->alpha_num << 32 | v->pg->alpha_den)                                                      \
    X(reserved, v->pg->reserved_bytes)                                                                                 \
    X(xoff, v->pg->static_bytes)                                                                                       \
    X(xon, v->pg->xon_offset_bytes)                                                                                    \
    X(headroom, v->pg->headroom_bytes)                                                                                 \
    X(headroom_given, v->pg->headroom_given)

#define X(id, expression)                                                                                              \
    static uint64_t get_##id(const struct view *v)                                                                     \
    {                                                                                                                  \
        return (uint64_t)(expression);                                                                                 \
    }
FIELDS(X)
#undef X

static struct field {
    const char *name;
    uint64_t (*get)(const struct view *v);
    uint64_t first;
    bool met, varies;
} fields[] = {
#define X(id, expression) {.name = #id, .get = get_##id},
    FIELDS(X)
#undef X
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static void look(const struct view *view)
{
    for (size_t f = 0; f < FIELD_COUNT; f++) {
        uint64_t value = fields[f].get(view);
        fields[f].varies = fields[f].varies || (fields[f].met && value != fields[f].first);
        fields[f].first = value;
        fields[f].met = true;
    }
}

static void look_at_fabric(const struct fabric *fabric)
{
    for (uint32_t p = 0; p < fabric->ports; p++) {
        struct view view = {.fabric = fabric, .port = &fabric->port[p]};
        if (view.port->node < fabric->hosts) continue;
        view.sw = &fabric->sw[view.port->node - fabric->hosts];
        view.settings = &fabric->settings[view.port->settings];
        for (uint32_t c = 0; c < fabric->class_count; c++) {
            view.tc = fabric->classes[c].priority;
            view.queue = &view.settings->queue[view.settings->tc_to_queue[view.tc]];
            view.pg = &view.settings->pg[view.settings->tc_to_pg[view.tc]];
            look(&view);
        }
    }
}

static const struct config_format *const systems[] = {&config_nxos, &config_eos, &config_sonic, &config_nvue,
                                                      &config_junos};
static uint32_t devices_with[CONFIG_UNSUPPORTED_COUNT]; /* of all systems */

static void look_for_losses(const struct fabric *fabric)
{
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
            struct config_unsupported_list losses;
            config_unsupported_list(systems[i], fabric, n, &losses);
            for (unsigned loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++)
                devices_with[loss] += losses.ports[loss] != 0;
        }
    }
}

static void test_every_field_is_drawn(void **state)
{
    unsigned missing = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= FABRICS; seed++) {
        char *file = random_fabric(seed, &random_all);
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;

        if (fabric_load("random", file, &fabric, &errors) != 0) {
            fabric_errors_print(&errors, stderr);
            fail_msg("seed %llu does not load", (unsigned long long)seed);
        }
        look_at_fabric(fabric);
        look_for_losses(fabric);
        fabric_free(fabric);
        free(file);
    }
    for (size_t f = 0; f < FIELD_COUNT; f++) {
        if (fields[f].varies) continue;
        print_message("never drawn: %s\n", fields[f].name);
        missing++;
    }
    for (int loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++) {
        if (devices_with[loss] || loss == CONFIG_UNSUPPORTED_PARAMS || loss == CONFIG_UNSUPPORTED_CONGESTION)
            continue; /* of hosts */
        print_message("never lost: %s\n", config_losses[loss].what);
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_field_is_drawn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
