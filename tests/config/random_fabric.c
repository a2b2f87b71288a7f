/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random fabric files: a small leaf-spine, random classes, random layers.
 *
 * Only what the limits allow is drawn, so that what comes back must be equal and not almost equal.
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

#include "base/rng.h"

#define CROWDED "trident4-8t"
#define CAGES 20u /* of it */

const struct random_limits random_all = {
    .alpha = true,
    .static_xoff = true,
    .limit = true,
    .reserved = true,
    .headroom = true,
    .xon = true,
    .pfc = true,
    .port_lossless = true,
    .pfc_asym = true,
    .pcp = true,
    .port_maps = true,
    .port_ecn = true,
    .port_mtu = true,
    .port_pfc = true,
    .queue_map = true,
    .group_map = true,
    .headroom_pool = true,
    .buffer = true,
    .watchdog = true,
    .watchdog_times = true,
    .watchdog_action = true,
    .cable = true,
    .rate = true,
    .lossy_ecn = true,
    .fec = true,
    .up = true,
    .pfc_auto = true,
    .pause_all = true,
    .quanta = true,
    .watched = true,
    .watched_some = true,
    .shutdown = true,
    .polls = true,
    .fractions = true,
    .odd_links = true,
    .headroom_for = true,
    .model = true,
    .hash = true,
    .mtu_most = 12000,
    .lossless_most = 3,
    .balances = 3,
};

struct draw {
    struct rng rng;
    const struct random_limits *limits;
    FILE *to;
    unsigned priority[8], count; /* classes in the order they are written */
    unsigned lossless;           /* bits of priorities */
};

static unsigned below(struct draw *draw, unsigned bound)
{
    return (unsigned)rng_below(&draw->rng, bound);
}
static bool chance(struct draw *draw, unsigned percent)
{
    return below(draw, 100) < percent;
}

static void draw_ecn(struct draw *draw)
{
    unsigned long long step = draw->limits->ecn_step_bytes ? draw->limits->ecn_step_bytes : 1;
    unsigned long long min = (1 + below(draw, 800000) / step) * step, max = min + below(draw, 3000000) / step * step;

    fprintf(draw->to, "{min: %lluB, max: %lluB, probability: %u%s%%}", min, max, 1 + below(draw, 99),
            draw->limits->fractions && chance(draw, 30) ? ".5" : "");
}

/* What a class does, beside name, priority, DSCP and share; a layer's or a definition's. */
static void draw_class(struct draw *draw, unsigned priority, bool layer)
{
    const struct random_limits *limits = draw->limits;
    bool lossless = draw->lossless >> priority & 1;

    if (limits->alpha && chance(draw, 50)) {
        unsigned th = below(draw, 7);
        if (limits->fractions && chance(draw, 30))
            fputs(", alpha: 3/5", draw->to);
        else
            fprintf(draw->to, ", alpha: %s%u", chance(draw, 50) ? "1/" : "", 1u << th);
    } else if (lossless && limits->static_xoff && chance(draw, 30)) {
        fprintf(draw->to, ", xoff: %uB", 50000 + below(draw, 500000));
        if (limits->static_headroom)
            fprintf(draw->to, ", headroom: %uB, xon: %uB", 60000 + below(draw, 200000), below(draw, 30000));
    }
    if (lossless && limits->headroom && chance(draw, 40))
        fprintf(draw->to, ", headroom: %uB", 60000 + below(draw, 200000));
    if (limits->reserved && chance(draw, 40)) fprintf(draw->to, ", reserved: %uB", below(draw, 20000));
    if (lossless && limits->xon && chance(draw, 40)) fprintf(draw->to, ", xon: %uB", 1000 + below(draw, 30000));
    if (limits->limit && chance(draw, 20)) fprintf(draw->to, ", limit: %uB", 100000 + below(draw, 4000000));
    if ((lossless || limits->lossy_ecn) && (!layer || limits->port_ecn) && chance(draw, lossless ? 70 : 20)) {
        fputs(", ecn: ", draw->to);
        draw_ecn(draw);
    }
}

static void draw_classes(struct draw *draw)
{
    const struct random_limits *limits = draw->limits;
    unsigned order[8] = {0, 1, 2, 3, 4, 5, 6, 7}, rest = 100, weighted = 0;
    bool strict[8] = {false};

    for (unsigned i = 7; i > 0; i--) {
        unsigned j = below(draw, i + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    draw->count = 2 + below(draw, 6);
    for (unsigned i = 0; i < draw->count; i++)
        draw->priority[i] = order[i];
    unsigned lossless = 1 + below(draw, limits->lossless_most);
    for (unsigned i = 0; i < draw->count && i < lossless; i++)
        draw->lossless |= 1u << draw->priority[i];
    for (unsigned i = 1; i < draw->count; i++)
        strict[i] = chance(draw, 20) && !limits->strict_none;
    for (unsigned i = 0; limits->strict_top && i < draw->count; i++)
        for (unsigned j = 0; j < draw->count; j++)
            if (draw->priority[j] > draw->priority[i] && (!strict[j] || j == 0)) strict[i] = false;
    for (unsigned i = 0; i < draw->count; i++)
        weighted += !strict[i];
    fputs("classes:\n", draw->to);
    for (unsigned i = 0; i < draw->count; i++) {
        unsigned priority = draw->priority[i];
        fprintf(draw->to, "  - {name: %s%u, priority: %u", draw->lossless >> priority & 1 ? "ll" : "c", priority,
                priority);
        if (chance(draw, 80)) fprintf(draw->to, ", dscp: [%u, %u]", i * 8 + below(draw, 4), i * 8 + 4 + below(draw, 4));
        if (draw->lossless >> priority & 1) fputs(", lossless: true", draw->to);
        if (strict[i]) {
            fputs(", strict: true", draw->to);
        } else {
            unsigned share = --weighted ? 1 + below(draw, rest - weighted) : rest;
            bool half = limits->fractions && chance(draw, 30) && share > 1;
            rest -= share;
            fprintf(draw->to, ", share: %u%s%%", share - half, half ? ".4" : "");
        }
        draw_class(draw, priority, false);
        fputs("}\n", draw->to);
    }
}

/* Lossy classes may share queues and groups; a lossless class keeps its own. */
static void draw_tc_map(struct draw *draw, const char *name)
{
    bool first = true;

    for (unsigned i = 0; i < draw->count; i++) {
        unsigned from = draw->priority[i], to = draw->priority[below(draw, draw->count)];
        if ((draw->lossless >> from & 1) || (draw->lossless >> to & 1) || !chance(draw, 40)) continue;
        fprintf(draw->to, "%s%s%u: %u", first ? ", " : ", ", first ? name : "", from, to);
        if (first) first = false;
    }
    if (!first) fputc('}', draw->to);
}

static void draw_pauses(struct draw *draw, bool port)
{
    const struct random_limits *limits = draw->limits;

    if (port && limits->pause_all && chance(draw, 10)) {
        fputs(", pfc: false, pause: 802.3x", draw->to);
    } else if (limits->pfc && (!port || limits->port_pfc) && chance(draw, 30)) {
        if (chance(draw, 40))
            fputs(", pfc: false", draw->to);
        else if (limits->pfc_asym && chance(draw, 40))
            fprintf(draw->to, ", pfc: {rx: [0, 1, 2, 3, 4, 5, 6, 7], tx: [%u]}", draw->priority[0]);
        else
            fprintf(draw->to, ", pfc: [%u]", draw->priority[0]);
    }
    if (limits->pfc_auto && chance(draw, 15)) fputs(", pfc-mode: auto", draw->to);
    if (limits->watched && port && chance(draw, 20)) {
        if (limits->watched_some && chance(draw, 50))
            fprintf(draw->to, ", watched: [%u]", draw->priority[below(draw, draw->count)]);
        else
            fputs(", watched: false", draw->to);
    }
}

static void draw_port(struct draw *draw, unsigned number)
{
    static const char *const fecs[] = {"none", "fc", "rs"};
    const struct random_limits *limits = draw->limits;

    if (limits->fec && chance(draw, 30)) fprintf(draw->to, ", fec: %s", fecs[below(draw, 3)]);
    if (limits->headroom_for && chance(draw, 20))
        fprintf(draw->to, ", headroom-cable: %um, headroom-mtu: %u", 1 + below(draw, 400), 1518 + below(draw, 7000));
    if (limits->up && chance(draw, 10)) fputs(", up: false", draw->to);
    if (limits->port_name && chance(draw, 50)) {
        char name[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof(name), limits->port_name, 100 + number);
#pragma GCC diagnostic pop
        fprintf(draw->to, ", name: %s", name);
    }
}

static void draw_layer(struct draw *draw, bool port)
{
    const struct random_limits *limits = draw->limits;
    unsigned c = draw->priority[below(draw, draw->count)];

    /* a harmless key first, so that all others begin with a comma */
    fprintf(draw->to, "pause-quanta: %u", limits->quanta && chance(draw, 20) ? 1 + below(draw, 65535) : 65535);
    if ((!port || limits->port_maps) && limits->pcp && chance(draw, 25)) {
        fprintf(draw->to, ", trust: pcp, pcp-map: {%u: %u}", below(draw, 8), below(draw, 8));
    } else if ((!port || limits->port_maps) && chance(draw, 50)) {
        fprintf(draw->to, ", dscp-map: {%u: %u, %u: %u}", 2 * below(draw, 32), below(draw, 8), 2 * below(draw, 32) + 1,
                below(draw, 8));
    }
    if (limits->queue_map && (!port || (limits->port_maps && !limits->queue_map_one)) && chance(draw, 30))
        draw_tc_map(draw, "queue-map: {");
    if (limits->group_map && (!port || limits->port_maps) && chance(draw, 30)) draw_tc_map(draw, "group-map: {");
    draw_pauses(draw, port);
    if ((!port || limits->port_mtu) && chance(draw, 40))
        fprintf(draw->to, ", mtu: %u", 1518 + below(draw, (limits->mtu_most ? limits->mtu_most : 9216) - 1517));
    if (!port || limits->port_ecn) {
        bool lossless = draw->lossless >> c & 1;
        bool said = lossless && !(port && limits->port_lossless && chance(draw, 30));
        fprintf(draw->to, ", classes: {%s%u: {lossless: %s", lossless ? "ll" : "c", c, said ? "true" : "false");
        draw_class(draw, c, port);
        fputs("}}", draw->to);
    }
    if (port && limits->cable && chance(draw, 50)) fprintf(draw->to, ", cable: %um", 1 + below(draw, 500));
}

/* An adapter's layer: only what a host's tools set. */
static void draw_nic(struct draw *draw)
{
    static const unsigned mtus[] = {256, 512, 1024, 2048, 4096};
    static const char *const truths[] = {"true", "false"}, *const modes[] = {"ieee", "cee", "off"};

    fprintf(draw->to, "mtu: %u", mtus[below(draw, 5)]);
    if (chance(draw, 30))
        fputs(", trust: pcp", draw->to);
    else if (chance(draw, 60))
        fprintf(draw->to, ", dscp-map: {%u: %u, %u: %u}", 2 * below(draw, 32), below(draw, 8), 2 * below(draw, 32) + 1,
                below(draw, 8));
    if (chance(draw, 50)) fprintf(draw->to, ", cnp-dscp: %u", below(draw, 64));
    if (chance(draw, 50)) {
        unsigned c = draw->priority[below(draw, draw->count)];
        fprintf(draw->to, ", cnp-class: %s%u", draw->lossless >> c & 1 ? "ll" : "c", c);
    }
    if (chance(draw, 50))
        fprintf(draw->to, ", dcqcn: {rp: %s, np: %s}", truths[below(draw, 2)], truths[below(draw, 2)]);
    if (chance(draw, 50))
        fprintf(draw->to, ", dcbx: {willing: %s, mode: %s}", truths[below(draw, 2)], modes[below(draw, 3)]);
    if (chance(draw, 50)) fprintf(draw->to, ", cable-length: %um", 1 + below(draw, 200));
    if (chance(draw, 50))
        fprintf(draw->to, ", congestion: {use: dcqcn/connectx, rpg_ai_rate: %uM, rpg_time_reset: %uus}",
                1 + below(draw, 100), 1 + below(draw, 500));
}

static void draw_hosts(struct draw *draw, unsigned hosts, unsigned ports)
{
    fputs("nics: {", draw->to);
    draw_nic(draw);
    if (chance(draw, 50))
        fprintf(draw->to, ", nccl: {NCCL_IB_TC: %u, NCCL_IB_TIMEOUT: %u}", below(draw, 256), below(draw, 24));
    fputs("}\ndevices:\n", draw->to);
    for (unsigned h = 0; h < hosts; h++) {
        fprintf(draw->to, "  h%u:\n    ports:\n      0: {pause: pfc}\n", h);
        for (unsigned p = 1; p < ports; p++) {
            fprintf(draw->to, "      %u: {", p);
            draw_nic(draw);
            fputs("}\n", draw->to);
        }
    }
}

static void draw_watchdog(struct draw *draw)
{
    static const char *const actions[] = {"drop", "forward", "shutdown"};
    unsigned step = draw->limits->time_step_ms ? draw->limits->time_step_ms : 1;
    unsigned most = draw->limits->detect_most_ms ? draw->limits->detect_most_ms : 3200;
    unsigned detect = (200 / step + below(draw, (most - 200) / step)) * step;

    if (!draw->limits->watchdog || chance(draw, 30)) {
        fputs(", watchdog: false", draw->to);
        return;
    }
    if (!draw->limits->watchdog_times) {
        fputs(", watchdog: true", draw->to);
        return;
    }
    unsigned poll = draw->limits->polls ? 100 + below(draw, 100) : (100 / step) * step;
    fprintf(draw->to, ", watchdog: {poll: %ums, detect: %ums, restore: %ums", poll, detect,
            detect + below(draw, 3000 / step) * step);
    if (draw->limits->watchdog_action)
        fprintf(draw->to, ", action: %s", actions[below(draw, draw->limits->shutdown ? 3 : 2)]);
    fputc('}', draw->to);
}

char *random_fabric(uint64_t seed, const struct random_limits *limits)
{
    static const unsigned rates[] = {25, 100, 200, 400, 800};
    static const char *const models[] = {"tomahawk5", "jericho3", "spectrum5", "generic"};
    struct draw draw = {.limits = limits};
    char *text = NULL;
    size_t length = 0;

    rng_init(&draw.rng, seed, 6);
    draw.to = open_memstream(&text, &length);
    assert_non_null(draw.to);
    unsigned leaves = 1 + below(&draw, 3), spines = 1 + below(&draw, 2), hosts = 1 + below(&draw, 4);
    unsigned gpus = limits->host ? 1 + below(&draw, 3) : 1;
    unsigned rate = rates[below(&draw, limits->crowded ? 2 : 5)];
    if (limits->crowded) hosts += CAGES - 2 + below(&draw, CAGES); /* parts of some, all ports of others */
    fprintf(draw.to, "rocelab: 1\nfabric: random%llu\n", (unsigned long long)seed);
    fprintf(draw.to, "topology: {leaf-spine: {leaves: %u, spines: %u, hosts: %u, gpus: %u}}\n", leaves, spines, hosts,
            gpus);
    fprintf(draw.to, "links: {host: {rate: %u%sG, cable: %u%sm}, fabric: {rate: %uG, cable: %um}}\n", rate,
            limits->odd_links && chance(&draw, 10) ? ".5" : "", 1 + below(&draw, 30),
            limits->odd_links && chance(&draw, 10) ? ".5" : "", rates[below(&draw, 5)], 1 + below(&draw, 300));
    draw_classes(&draw);
    if (limits->host) {
        draw_hosts(&draw, leaves * hosts, gpus);
        fclose(draw.to);
        return text;
    }
    fputs("switches: {", draw.to);
    draw_layer(&draw, false);
    if (limits->model) fprintf(draw.to, ", model: %s", limits->crowded ? CROWDED : models[below(&draw, 4)]);
    fprintf(draw.to, ", buffer: %uB", 60000000 + below(&draw, 40000000));
    if (limits->headroom_pool && chance(&draw, 40))
        fprintf(draw.to, ", headroom-pool: %uB", 1000000 + below(&draw, 4000000));
    draw_watchdog(&draw);
    if (limits->balances && chance(&draw, 40)) {
        static const char *const kinds[] = {"{use: flowlet, gap: 70us}", "spray", "adaptive"};
        fprintf(draw.to, ", balance: %s", kinds[below(&draw, limits->balances)]);
    }
    if (limits->hash && chance(&draw, 30)) fputs(", ecmp: {hash: [src, dst]}", draw.to);
    fputs("}\ndevices:\n", draw.to);
    for (unsigned d = 0; d < leaves + spines; d++) {
        bool leaf = d < leaves;
        unsigned ports = leaf ? hosts * gpus + spines : leaves;
        fprintf(draw.to, "  %s%u:\n    pause: pfc\n    ports:\n", leaf ? "leaf" : "spine", leaf ? d : d - leaves);
        fputs("      0: {pause: pfc}\n", draw.to);
        for (unsigned p = 1; p < ports; p++) {
            if (!chance(&draw, 50)) continue;
            fprintf(draw.to, "      %u: {", p);
            draw_layer(&draw, true);
            draw_port(&draw, p);
            fputs("}\n", draw.to);
        }
    }
    fclose(draw.to);
    return text;
}
