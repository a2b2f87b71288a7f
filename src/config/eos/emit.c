/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric as an EOS configuration: global maps, qos profiles, the watchdog, interfaces.
 *
 * Ports that differ in trust, PFC or queues get profiles of their own; the first is the one of most.  What EOS cannot
 * say is left out, and named at the head (eos.c has the table): DSCP and CoS maps are of the whole switch (most ports'
 * are written); strict queues lie above sharing ones; a queue group is its traffic class; thresholds and headroom
 * of PFC are the platform's; timers have two digits after the point, the polling interval three.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/eos/eos_int.h"
#include "fabric/fabric.h"
#include "fabric/qos/models.h"
#include "fabric/switches.h"

#define CONTROL 7u /* traffic class that is in the queue of its number whatever is said */
#define NONE UINT_MAX
#define CAGE_LANES 8u /* of a port at the chip's own rate */

struct eos_out {
    const struct config_emit *emit;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    FILE *to;
    struct arena arena;
    const char *queue; /* what the platform calls a queue of unicast */
    unsigned lane_gbps;
    struct config_alike profiles, maps;
};

static bool same_profile(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *x = config_settings(fabric, a), *y = config_settings(fabric, b);

    return x->trust == y->trust && config_paused(x) == config_paused(y) && x->lossless == y->lossless &&
           config_same_queues(fabric, a, b);
}

/* Without `own`, which needs no line. */
static void emit_map(const struct eos_out *out, const char *from, const uint8_t *map, unsigned count, const char *to,
                     unsigned own)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned listed = 0;
        for (unsigned i = 0; i < count; i++) {
            if (map[i] != tc || i == own) continue;
            if (!listed++) fprintf(out->to, "qos map %s", from);
            fprintf(out->to, " %u", i);
        }
        if (!listed) continue;
        fprintf(out->to, " to %s %u\n", to, tc);
    }
}

static void emit_queue(const struct eos_out *out, unsigned q, const struct fabric_queue *queue, unsigned percent,
                       bool lossless)
{
    fprintf(out->to, "   !\n   %s %u\n", out->queue, q);
    if (queue->strict)
        fputs("      priority strict\n", out->to);
    else
        fprintf(out->to, "      no priority\n      bandwidth percent %u\n", percent);
    if (lossless && out->sw->watchdog.on) fputs("      bandwidth guaranteed percent 1\n", out->to);
    if (!queue->ecn.on) return;
    fputs("      random-detect ecn minimum-threshold ", out->to);
    config_kbytes(out->to, queue->ecn.min_bytes);
    fputs(" maximum-threshold ", out->to);
    config_kbytes(out->to, queue->ecn.max_bytes);
    fprintf(out->to, " max-mark-probability %u weight 0\n", config_percent(queue->ecn.probability_ppm));
}

static void emit_profile(const struct eos_out *out, uint32_t variant)
{
    const struct fabric_settings *settings = config_settings(out->emit->fabric, out->profiles.port[variant]);
    uint8_t queues = config_queues(out->emit->fabric, settings), lossless = 0;
    unsigned percent[FABRIC_PRIOS];
    char name[CONFIG_NUMBERED];

    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (config_paused(settings) >> tc & 1) lossless |= (uint8_t)(1u << settings->tc_to_queue[tc]);
    config_percents(settings, queues, false, percent);
    fprintf(out->to, "!\nqos profile %s\n", config_numbered("ROCELAB", variant, name));
    fprintf(out->to, "   qos trust %s\n", settings->trust == SW_TRUST_PCP ? "cos" : "dscp");
    if (config_paused(settings)) fputs("   priority-flow-control on\n", out->to);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        if ((config_paused(settings) | settings->lossless) >> p & 1)
            fprintf(out->to, "   priority-flow-control priority %u no-drop\n", p);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        if (queues >> q & 1) emit_queue(out, q, &settings->queue[q], percent[q], lossless >> q & 1);
}

/* Seconds with two digits after the point, polls with three. */
static void emit_time(const struct eos_out *out, const char *what, uint64_t ms, unsigned digits)
{
    uint64_t unit = digits == 2 ? 10 : 1, count = (ms + unit / 2) / unit, second = 1000 / unit;

    fprintf(out->to, "priority-flow-control pause watchdog default %s %llu.%0*llu\n", what,
            (unsigned long long)(count / second), (int)digits, (unsigned long long)(count % second));
}

static void emit_watchdog(const struct eos_out *out)
{
    const struct fabric_watchdog *watchdog = &out->sw->watchdog;

    fputs("!\n", out->to);
    if (!watchdog->on) {
        config_comment(out->emit, &config_eos, "the fabric has no watchdog, which WD001 wants");
        return;
    }
    uint64_t detect = config_within_ms(watchdog->detect_ps, EOS_TIMER_LEAST_MS, EOS_TIMER_MOST_MS),
             restore = config_within_ms(watchdog->restore_ps, EOS_TIMER_LEAST_MS, EOS_TIMER_MOST_MS);
    uint64_t poll = config_within_ms(watchdog->poll_ps, EOS_POLL_LEAST_MS, EOS_POLL_MOST_MS),
             least = (detect < restore ? detect : restore) / 2;
    config_comment(out->emit, &config_eos, "WD001, WD002, %sWD006: seconds; lossless queues have guaranteed bandwidth",
                   watchdog->drop && !watchdog->shutdown ? "WD005, " : "");
    emit_time(out, "timeout", detect, 2);
    emit_time(out, "recovery-time", restore, 2);
    emit_time(out, "polling-interval", poll < least ? poll : least, 3); /* EOS wants two polls in either time */
    /* without the line, ports are shut down: that action has no word */
    if (!watchdog->shutdown)
        fprintf(out->to, "priority-flow-control pause watchdog action %s\n", watchdog->drop ? "drop" : "no-drop");
}

/* `400g-8`: lanes as the chip has them. */
static void emit_speed(const struct eos_out *out, uint64_t rate_bps)
{
    unsigned long long gbps = rate_bps / 1000000000;
    unsigned lane = out->lane_gbps ? out->lane_gbps : gbps >= 800 ? 100 : gbps >= 200 ? 50 : 25;
    unsigned long long lanes = (gbps + lane - 1) / lane;

    if (gbps < 40)
        fprintf(out->to, "   speed %llug\n", gbps);
    else
        fprintf(out->to, "   speed %llug-%llu\n", gbps, lanes);
}

static void emit_port(const struct eos_out *out, uint32_t port)
{
    const struct fabric_settings *settings = config_settings(out->emit->fabric, port);
    const struct fabric_port *as = &out->emit->fabric->port[port];
    uint32_t mtu = settings->mtu_bytes < EOS_MTU_MOST ? settings->mtu_bytes : EOS_MTU_MOST;
    uint32_t profile = out->profiles.of[port - out->node->first_port];
    char label[128], name[CONFIG_NUMBERED], peer[CONFIG_PEER];

    config_port_label(out->emit, &config_eos, port, label, sizeof(label));
    fprintf(out->to, "!\ninterface %s\n", label);
    if (config_peer_label(out->emit, &config_eos, port, peer, sizeof(peer)))
        fprintf(out->to, "   description %s\n", peer);
    if (!as->up) fputs("   shutdown\n", out->to);
    if (!out->sw->bridged || mtu != EOS_MTU_MOST) /* of bridged ports it is the most already */
        fprintf(out->to, "   mtu %u\n", mtu < EOS_MTU_LEAST ? EOS_MTU_LEAST : mtu);
    if (as->peer != FABRIC_NONE && as->rate_bps >= EOS_RATE_STEP) emit_speed(out, as->rate_bps);
    if (settings->fec == FABRIC_FEC_NONE) fputs("   no error-correction encoding\n", out->to);
    if (settings->fec > FABRIC_FEC_NONE)
        fprintf(out->to, "   error-correction encoding %s\n",
                settings->fec == FABRIC_FEC_RS ? "reed-solomon" : "fire-code");
    if (!out->sw->bridged) fputs("   no switchport\n", out->to);
    if (config_paused(settings) && as->peer != FABRIC_NONE &&
        out->emit->fabric->port[as->peer].node < out->emit->fabric->hosts)
        fputs("   dcbx mode ieee\n", out->to); /* hosts are told what the switch has set */
    fprintf(out->to, "   service-profile %s\n", config_numbered("ROCELAB", profile, name));
    if (settings->pause_all && !config_paused(settings))
        fputs("   flowcontrol send on\n   flowcontrol receive on\n", out->to);
    if (out->sw->watchdog.on && config_paused(settings) && !(settings->watched & config_paused(settings)))
        fputs("   no priority-flow-control pause watchdog\n", out->to);
    uint8_t queues = config_queues(out->emit->fabric, settings);
    for (unsigned q = 0; q < FABRIC_PRIOS;
         q++) /* counters are a port's: not every platform takes the line in a profile */
        if ((queues >> q & 1) && settings->queue[q].ecn.on)
            fprintf(out->to, "   !\n   %s %u\n      random-detect ecn count\n", out->queue, q);
}

/* Chips of the Trident and Tomahawk line are told the fields of the hash, in the order of EOS's own default. */
static void emit_hash(const struct eos_out *out)
{
    uint8_t fields = out->sw->hash_fields;
    bool ports = fields & (SW_HASH_SPORT | SW_HASH_QP);

    if (!eos_hashes(out->sw)) return;
    config_comment(out->emit, &config_eos, "TOP004: the UDP source port tells flows apart");
    fprintf(out->to, "ip load-sharing trident fields ip%s%s%s%s\n!\n", fields & SW_HASH_SRC ? " source-ip" : "",
            ports ? " source-port" : "", fields & SW_HASH_DST || !fields ? " destination-ip" : "",
            ports ? " destination-port" : "");
}

static bool trusted(const struct eos_out *out, enum sw_trust field)
{
    for (uint32_t v = 0; v < out->profiles.kinds; v++)
        if (config_settings(out->emit->fabric, out->profiles.port[v])->trust == field) return true;
    return false;
}

static void emit_switch(const struct eos_out *out)
{
    const struct fabric_settings *maps = config_settings(out->emit->fabric, out->maps.port[0]);

    config_head(out->emit, &config_eos);
    fprintf(out->to, "hostname %s\n!\n", out->node->name);
    emit_hash(out);
    config_comment(out->emit, &config_eos,
                   "MAP001, MAP005, PFC004: what belongs to which class, CNPs apart from the data");
    /* a field that no port trusts names no class: its map would only speak of classes that are none */
    if (trusted(out, SW_TRUST_DSCP)) emit_map(out, "dscp", maps->dscp_to_tc, 64, "traffic-class", NONE);
    if (trusted(out, SW_TRUST_PCP)) emit_map(out, "cos", maps->pcp_to_tc, 8, "traffic-class", NONE);
    emit_map(out, "traffic-class", maps->tc_to_queue, FABRIC_PRIOS, "tx-queue",
             maps->tc_to_queue[CONTROL] == CONTROL ? CONTROL : NONE);
    config_comment(out->emit, &config_eos,
                   "PFC001, PFC002, MAP003: PFC and trust; ECN001, ECN002, ECN008: marking; SCH001");
    for (uint32_t v = 0; v < out->profiles.kinds; v++)
        emit_profile(out, v);
    emit_watchdog(out);
    config_comment(
        out->emit, &config_eos,
        "MTU001: 9214 here is what other systems call 9216; MAP007: profiles are applied; ECN009: marks are counted");
    for (uint32_t p = 0; p < out->node->ports; p++)
        emit_port(out, out->node->first_port + p);
    fputs("!\n", out->to);
    config_tail(out->emit, &config_eos);
    fputs("end\n", out->to);
}

int eos_emit(const struct config_emit *emit)
{
    const struct fabric *fabric = emit->fabric;
    struct eos_out out = {.emit = emit, .node = &fabric->node[emit->node], .to = emit->to};

    out.sw = &fabric->sw[emit->node - fabric->hosts];
    const struct switch_model *model = switch_model_find(out.sw->model);
    out.queue = strncmp(out.sw->model, "jericho", 7) == 0 ? "tx-queue" : "uc-tx-queue";
    out.lane_gbps = model ? model->rate_gbps / CAGE_LANES : 0;
    if (!out.node->ports) return -EINVAL;
    arena_init_or_end(&out.arena, (size_t)1 << 24);
    config_alike(emit, &out.arena, same_profile, &out.profiles);
    config_alike(emit, &out.arena, config_same_maps, &out.maps);
    emit_switch(&out);
    arena_release(&out.arena);
    return ferror(out.to) ? -EIO : 0;
}
