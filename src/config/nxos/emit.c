/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric as an NX-OS configuration (Nexus 9000, eight queues).
 *
 * The chain is written in the order in which it is read: class-maps of type qos, the policy that sets qos-groups, the
 * network-qos policy that makes them lossless, queuing out, queuing in, then `system qos` and the interfaces.  Ports
 * that differ get policies of their own, with a number at the end of the name; the first is the one of most.
 *
 * What NX-OS cannot say is left out, and named at the head (nxos.c has the table): traffic class, queue and group have
 * one number; network-qos is of the whole switch; a pause threshold is a number of bytes (dynamic thresholds and their
 * headroom are the platform's); PFC pauses all lossless priorities of a port or none; times of the watchdog are
 * multiples of its interval.
 * Interfaces are routed unless the fabric says that the switch bridges: layer 2 ports have no MTU of their own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/nxos/nxos_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

struct nxos_out {
    const struct config_emit *emit;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    FILE *to;
    struct arena arena;
    uint8_t lossless, used; /* of all ports; queues of classes */
    uint32_t mtu_bytes;     /* of the largest frame */
    struct config_alike qos, queuing, ingress;
};

static uint32_t mtu_of(const struct fabric_settings *settings)
{
    uint32_t mtu = settings->mtu_bytes;
    return mtu < NXOS_MTU_LEAST ? NXOS_MTU_LEAST : mtu > NXOS_MTU_MOST ? NXOS_MTU_MOST : mtu;
}

static bool carved(const struct fabric_pg *pg)
{
    return pg->lossless && !pg->dynamic && pg->static_bytes != FABRIC_UNLIMITED;
}

static bool same_ingress(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_pg *one = config_settings(fabric, a)->pg, *two = config_settings(fabric, b)->pg;

    for (int g = 0; g < FABRIC_PRIOS; g++) {
        const struct fabric_pg *x = &one[g], *y = &two[g];
        if (carved(x) != carved(y)) return false;
        if (carved(x) && (x->static_bytes != y->static_bytes || x->headroom_bytes != y->headroom_bytes ||
                          x->xon_offset_bytes != y->xon_offset_bytes))
            return false;
    }
    return true;
}

static void class_label(const struct nxos_out *out, unsigned tc, uint32_t variant, char buf[64])
{
    const struct fabric_class *class = config_class_of(out->emit->fabric, tc);
    char name[48];
    size_t n = 0;

    for (; class && class->name[n] && n < 30; n++) {
        char c = class->name[n];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        name[n] = good ? c : '-';
    }
    name[n] = 0;
    if (n == 0) snprintf(name, sizeof(name), "tc%u", tc);
    config_numbered(name, variant, buf);
}

/* The qos-group of everything that is not matched: where most values lead. */
static unsigned rest_of(const uint8_t *map, unsigned count)
{
    unsigned many[FABRIC_PRIOS] = {0}, best = 0;

    for (unsigned i = 0; i < count; i++)
        many[map[i]]++;
    for (unsigned tc = 1; tc < FABRIC_PRIOS; tc++)
        if (many[tc] > many[best]) best = tc;
    return best;
}

static void emit_values(const struct nxos_out *out, const uint8_t *map, unsigned count, unsigned tc)
{
    const char *between = "";

    for (unsigned first = 0; first < count; first++) {
        unsigned last = first;
        if (map[first] != tc) continue;
        while (last + 1 < count && map[last + 1] == tc)
            last++;
        fprintf(out->to, "%s%u", between, first);
        if (last > first) fprintf(out->to, "-%u", last);
        between = ",";
        first = last;
    }
}

static void emit_qos(const struct nxos_out *out, uint32_t variant)
{
    const struct fabric_settings *settings = config_settings(out->emit->fabric, out->qos.port[variant]);
    bool pcp = settings->trust == SW_TRUST_PCP;
    const uint8_t *map = pcp ? settings->pcp_to_tc : settings->dscp_to_tc;
    unsigned count = pcp ? 8 : 64, rest = rest_of(map, count);
    char name[64];

    if (variant == 0)
        config_comment(out->emit, &config_nxos,
                       "MAP001, MAP005, PFC004: what belongs to which class, CNPs apart from the data");
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (tc == rest || !memchr(map, (int)tc, count)) continue;
        class_label(out, tc, variant, name);
        fprintf(out->to, "class-map type qos match-any %s\n  match %s ", name, pcp ? "cos" : "dscp");
        emit_values(out, map, count, tc);
        fputc('\n', out->to);
    }
    fprintf(out->to, "policy-map type qos %s\n", config_numbered("ROCELAB-QOS", variant, name));
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (tc == rest || !memchr(map, (int)tc, count)) continue;
        class_label(out, tc, variant, name);
        fprintf(out->to, "  class %s\n    set qos-group %u\n", name, tc);
    }
    fprintf(out->to, "  class class-default\n    set qos-group %u\n", rest);
}

static const char *queue_class(const char *start, unsigned q, char buf[32])
{
    if (q == 0)
        snprintf(buf, 32, "%s-default", start);
    else
        snprintf(buf, 32, "%s%u", start, q);
    return buf;
}

static void emit_network(const struct nxos_out *out)
{
    char name[32];

    config_comment(out->emit, &config_nxos, "PFC001, PFC007: qos-group and paused priority are the same number");
    fputs("policy-map type network-qos ROCELAB-NETWORK\n", out->to);
    for (unsigned q = FABRIC_PRIOS; q-- > 0;) {
        /* a class that is not here has frames of 1500 bytes */
        if (!((out->lossless | out->used) >> q & 1) && q != 0) continue;
        fprintf(out->to, "  class type network-qos %s\n", queue_class("c-8q-nq", q, name));
        if (out->lossless >> q & 1) fprintf(out->to, "    pause pfc-cos %u\n", q);
        fprintf(out->to, "    mtu %u\n", out->mtu_bytes);
    }
}

/* Strict queues are the highest and lie beside each other, as Cisco wants them: one that is unused and lies above is
 * strict too, and nothing is ever in it. */
static uint8_t strict_of(const struct nxos_out *out, const struct fabric_settings *settings)
{
    uint8_t strict = 0;
    bool below = false;

    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        bool used = out->used >> q & 1;
        below = used ? settings->queue[q].strict : below;
        if (below) strict |= (uint8_t)(1u << q);
    }
    return strict;
}

static void emit_queuing(const struct nxos_out *out, uint32_t variant)
{
    const struct fabric_settings *settings = config_settings(out->emit->fabric, out->queuing.port[variant]);
    unsigned level = 1, percent[FABRIC_PRIOS];
    uint8_t strict = strict_of(out, settings);
    char name[64];

    config_percents(settings, out->used, false, percent);
    if (variant == 0)
        config_comment(out->emit, &config_nxos,
                       "ECN001, ECN002, ECN006, ECN008: marked, not dropped, by the queue as it is; SCH001");
    fprintf(out->to, "policy-map type queuing %s\n", config_numbered("ROCELAB-OUT", variant, name));
    for (unsigned q = FABRIC_PRIOS; q-- > 0;) {
        const struct fabric_queue *queue = &settings->queue[q];
        char class[32];
        fprintf(out->to, "  class type queuing %s\n", queue_class("c-out-8q-q", q, class));
        if (strict >> q & 1)
            fprintf(out->to, "    priority level %u\n", level++);
        else
            fprintf(out->to, "    bandwidth remaining percent %u\n", percent[q]);
        if (!queue->ecn.on) continue;
        fputs("    random-detect minimum-threshold ", out->to);
        config_kbytes(out->to, queue->ecn.min_bytes);
        fputs(" maximum-threshold ", out->to);
        config_kbytes(out->to, queue->ecn.max_bytes);
        fprintf(out->to, " drop-probability %u weight 0 ecn\n", config_percent(queue->ecn.probability_ppm));
    }
}

static bool any_carved(const struct fabric_settings *settings)
{
    for (int g = 0; g < FABRIC_PRIOS; g++)
        if (carved(&settings->pg[g])) return true;
    return false;
}

static void emit_ingress(const struct nxos_out *out, uint32_t variant)
{
    const struct fabric_settings *settings = config_settings(out->emit->fabric, out->ingress.port[variant]);
    char name[64], class[32];

    if (!any_carved(settings)) return;
    config_comment(out->emit, &config_nxos, "HR001, HR006: headroom is buffer-size less pause-threshold");
    fprintf(out->to, "policy-map type queuing %s\n", config_numbered("ROCELAB-IN", variant, name));
    for (unsigned g = 0; g < FABRIC_PRIOS; g++) {
        const struct fabric_pg *pg = &settings->pg[g];
        if (!carved(pg)) continue;
        uint64_t resume = pg->static_bytes > pg->xon_offset_bytes ? pg->static_bytes - pg->xon_offset_bytes : 0;
        fprintf(out->to,
                "  class type queuing %s\n    pause buffer-size %llu pause-threshold %llu resume-threshold %llu\n",
                queue_class("c-in-q", g, class), (unsigned long long)(pg->static_bytes + pg->headroom_bytes),
                (unsigned long long)pg->static_bytes, (unsigned long long)resume);
    }
}

/* The cage of a port that has no name of its own and shares it. */
static bool split(const struct nxos_out *out, uint32_t port, struct config_cage *ret)
{
    const char *const *names = out->emit->fabric->operations.port_name;

    return !(names && names[port]) && config_cage(out->emit->fabric, port, ret) && ret->parts > 1;
}

static void emit_port(const struct nxos_out *out, uint32_t port)
{
    static const char *const fecs[] = {NULL, "off", "fc-fec", "rs-fec"};
    const struct fabric_settings *settings = config_settings(out->emit->fabric, port);
    const struct fabric_port *as = &out->emit->fabric->port[port];
    uint8_t paused = config_paused(settings);
    uint32_t number = port - out->node->first_port, queuing = out->queuing.of[number];
    char label[128], name[64], peer[CONFIG_PEER];
    struct config_cage cage;

    config_port_label(out->emit, &config_nxos, port, label, sizeof(label));
    fprintf(out->to, "interface %s\n", label);
    if (config_peer_label(out->emit, &config_nxos, port, peer, sizeof(peer)))
        fprintf(out->to, "  description %s\n", peer);
    if (!out->sw->bridged) fputs("  no switchport\n", out->to); /* first: it takes back what stood before */
    bool by_cage = split(out, port, &cage) && as->rate_bps == cage.rate_gbps / cage.parts * UINT64_C(1000000000);
    if (as->rate_bps >= NXOS_RATE_LEAST && as->peer != FABRIC_NONE && !by_cage)
        fprintf(out->to, "  speed %llu\n", (unsigned long long)(as->rate_bps / 1000000));
    if (fecs[settings->fec]) fprintf(out->to, "  fec %s\n", fecs[settings->fec]);
    fprintf(out->to, "  mtu %u\n", mtu_of(settings));
    if (settings->pause_all && !paused) fputs("  flowcontrol receive on\n  flowcontrol send on\n", out->to);
    fprintf(out->to, "  priority-flow-control mode %s\n", !paused ? "off" : settings->pfc_auto ? "auto" : "on");
    if (out->sw->watchdog.on && paused)
        fprintf(out->to, "  priority-flow-control watch-dog-interval %s\n", settings->watched & paused ? "on" : "off");
    fprintf(out->to, "  service-policy type qos input %s\n", config_numbered("ROCELAB-QOS", out->qos.of[number], name));
    if (queuing)
        fprintf(out->to, "  service-policy type queuing output %s\n", config_numbered("ROCELAB-OUT", queuing, name));
    if (any_carved(settings))
        fprintf(out->to, "  service-policy type queuing input %s\n",
                config_numbered("ROCELAB-IN", out->ingress.of[number], name));
    fprintf(out->to, "  %sshutdown\n", as->up ? "no " : "");
}

static void survey(struct nxos_out *out)
{
    const struct fabric *fabric = out->emit->fabric;

    out->mtu_bytes = 1500;
    for (uint32_t c = 0; c < fabric->class_count; c++)
        out->used |= (uint8_t)(1u << fabric->classes[c].priority);
    for (uint32_t p = out->node->first_port; p < out->node->first_port + out->node->ports; p++) {
        const struct fabric_settings *settings = config_settings(out->emit->fabric, p);
        out->lossless |= settings->lossless;
        if (mtu_of(settings) > out->mtu_bytes) out->mtu_bytes = mtu_of(settings);
    }
    config_alike(out->emit, &out->arena, config_same_trusted, &out->qos);
    config_alike(out->emit, &out->arena, config_same_queues, &out->queuing);
    config_alike(out->emit, &out->arena, same_ingress, &out->ingress);
}

static unsigned of_polls(ps_t time, uint64_t poll_ms, unsigned most)
{
    uint64_t polls = (time + poll_ms * PS_MS / 2) / (poll_ms * PS_MS);
    return polls < 1 ? 1 : polls > most ? most : (unsigned)polls;
}

/* The times are multiples of the interval.  A queue that is never restored is what a multiplier of 0 would say. */
static void emit_watchdog(const struct nxos_out *out)
{
    const struct fabric_watchdog *watchdog = &out->sw->watchdog;
    uint32_t poll = config_within_ms(watchdog->poll_ps, NXOS_POLL_LEAST_MS, NXOS_POLL_MOST_MS);

    config_comment(out->emit, &config_nxos,
                   watchdog->on ? "WD001, WD002, WD003: the watchdog needs this line and one on each interface"
                                : "the fabric has no watchdog, which WD001 wants");
    fprintf(out->to, "priority-flow-control watch-dog-interval %s\n", watchdog->on ? "on" : "off");
    if (!watchdog->on) return;
    fprintf(out->to, "priority-flow-control watch-dog interval %u\n", poll);
    fprintf(out->to, "priority-flow-control watch-dog shutdown-multiplier %u\n",
            of_polls(watchdog->detect_ps, poll, NXOS_SHUTDOWNS_MOST));
    fprintf(out->to, "priority-flow-control auto-restore multiplier %u\n",
            of_polls(watchdog->restore_ps, poll, NXOS_RESTORES_MOST));
}

/* The seed is of 32 bits there, and 0 is not taken. */
static void emit_hash(const struct nxos_out *out)
{
    uint32_t seed = (uint32_t)(out->sw->hash_seed ^ out->sw->hash_seed >> 32);

    config_comment(out->emit, &config_nxos,
                   "TOP004: the UDP source port tells flows apart; every switch hashes otherwise");
    fprintf(out->to, "ip load-sharing address %s%s universal-id %u\n",
            out->sw->hash_fields & SW_HASH_SRC ? "source-destination" : "destination",
            out->sw->hash_fields & (SW_HASH_SPORT | SW_HASH_QP) ? " port source-destination"
            : out->sw->hash_fields & SW_HASH_SRC                ? ""
                                                                : " port destination",
            seed ? seed : 1);
}

/* Cages that are split alike and lie beside each other are one line. */
static void emit_breakouts(const struct nxos_out *out)
{
    struct config_cage cage;
    uint32_t first = 0, last = 0, parts = 0, rate = 0;

    for (uint32_t p = 0; p <= out->node->ports; p++) {
        bool is = p < out->node->ports && split(out, out->node->first_port + p, &cage);
        if (is && parts == cage.parts && cage.cage <= last + 1) {
            last = cage.cage;
            continue;
        }
        if (parts) {
            fprintf(out->to, "interface breakout module 1 port %u", first);
            if (last > first) fprintf(out->to, "-%u", last);
            fprintf(out->to, " map %ug-%ux\n", rate, parts);
        }
        if (!is && p < out->node->ports) {
            parts = 0;
            continue;
        }
        if (!is) break;
        first = last = cage.cage;
        parts = cage.parts;
        rate = cage.rate_gbps / cage.parts;
    }
}

/* Dynamic load balancing, of Cloud Scale and Silicon One: by flowlets, or by packets. */
static void emit_balance(const struct nxos_out *out)
{
    const struct fabric_balance *balance = &out->sw->balance;
    uint64_t gap_us = (balance->gap_ps + PS_US / 2) / PS_US;

    if (balance->kind != SW_FLOWLET && balance->kind != SW_SPRAY) return;
    fprintf(out->to, "hardware profile dlb\n  mode %s\n  dlb-interface all\n",
            balance->kind == SW_SPRAY ? "per-packet" : "flowlet");
    if (balance->kind == SW_FLOWLET)
        fprintf(out->to, "  flowlet-aging %llu\n", (unsigned long long)(gap_us ? gap_us : 1));
}

static void emit_switch(const struct nxos_out *out)
{
    config_head(out->emit, &config_nxos);
    fprintf(out->to, "hostname %s\n", out->node->name);
    config_comment(out->emit, &config_nxos, "LLDP tells the cabling, and by DCBX hosts what the switch has set");
    fputs("feature lldp\nlldp tlv-select dcbxp egress-queuing\n", out->to);
    emit_hash(out);
    emit_balance(out);
    for (uint32_t v = 0; v < out->qos.kinds; v++)
        emit_qos(out, v);
    emit_network(out);
    for (uint32_t v = 0; v < out->queuing.kinds; v++)
        emit_queuing(out, v);
    for (uint32_t v = 0; v < out->ingress.kinds; v++)
        emit_ingress(out, v);
    config_comment(out->emit, &config_nxos, "MAP007: defined and applied");
    fputs("system qos\n  service-policy type network-qos ROCELAB-NETWORK\n", out->to);
    fputs("  service-policy type queuing output ROCELAB-OUT\n", out->to);
    emit_watchdog(out);
    emit_breakouts(out);
    config_comment(out->emit, &config_nxos, "PFC002, PFC006: forced on unless the fabric says auto; MTU001");
    for (uint32_t p = 0; p < out->node->ports; p++)
        emit_port(out, out->node->first_port + p);
    config_tail(out->emit, &config_nxos);
}

int nxos_emit(const struct config_emit *emit)
{
    const struct fabric *fabric = emit->fabric;
    struct nxos_out out = {.emit = emit, .node = &fabric->node[emit->node], .to = emit->to};

    out.sw = &fabric->sw[emit->node - fabric->hosts];
    if (!out.node->ports) return -EINVAL;
    arena_init_or_end(&out.arena, (size_t)1 << 24);
    survey(&out);
    emit_switch(&out);
    arena_release(&out.arena);
    return ferror(out.to) ? -EIO : 0;
}
