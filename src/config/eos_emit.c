/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric as an EOS configuration: global maps, qos profiles, the watchdog, interfaces.
 *
 * Ports that differ in trust, PFC or queues get profiles of their own; the first is the one of most.  What EOS cannot
 * say is left out: DSCP and CoS maps are of the whole switch (those of most ports are written); strict queues lie above
 * sharing ones; a queue group is its traffic class; thresholds and headroom of PFC are the platform's; shares and
 * probabilities are whole percent; timers have two digits after the point, the polling interval three.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "config/eos_int.h"

#define PROFILES 64u

struct eos_out {
    const struct config_emit *emit;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    FILE *to;
    uint8_t used; /* traffic classes */
    uint32_t port[PROFILES], profiles;
    uint32_t usual; /* the port whose maps most ports have */
};

static const struct fabric_settings *settings_of(const struct eos_out *out, uint32_t port)
{
    return &out->emit->fabric->settings[out->emit->fabric->port[port].settings];
}

static uint8_t paused(const struct fabric_settings *settings)
{
    return settings->pfc_rx | settings->pfc_tx;
}

static bool same_profile(const struct fabric_settings *a, const struct fabric_settings *b)
{
    if (a->trust != b->trust || paused(a) != paused(b) || a->lossless != b->lossless) return false;
    for (int q = 0; q < FABRIC_PRIOS; q++) {
        const struct fabric_queue *x = &a->queue[q], *y = &b->queue[q];
        if (x->strict != y->strict || x->share_ppm != y->share_ppm || x->ecn.on != y->ecn.on) return false;
        if (x->ecn.on && (x->ecn.min_bytes != y->ecn.min_bytes || x->ecn.max_bytes != y->ecn.max_bytes ||
                          x->ecn.probability_ppm != y->ecn.probability_ppm))
            return false;
    }
    return true;
}

static bool same_maps(const struct fabric_settings *a, const struct fabric_settings *b)
{
    return memcmp(a->dscp_to_tc, b->dscp_to_tc, sizeof(a->dscp_to_tc)) == 0 &&
           memcmp(a->pcp_to_tc, b->pcp_to_tc, sizeof(a->pcp_to_tc)) == 0 &&
           memcmp(a->tc_to_queue, b->tc_to_queue, sizeof(a->tc_to_queue)) == 0;
}

static uint32_t profile_of(const struct eos_out *out, uint32_t port)
{
    uint32_t v = 0;

    while (v < out->profiles && !same_profile(settings_of(out, out->port[v]), settings_of(out, port)))
        v++;
    return v;
}

/* Profiles, the most frequent first; and the maps of most ports. */
static int survey(struct eos_out *out)
{
    uint32_t first = out->node->first_port, count[PROFILES] = {0}, most = 0, map[PROFILES] = {0}, maps = 0,
             mapped[PROFILES];

    for (uint32_t p = first; p < first + out->node->ports; p++) {
        uint32_t v = profile_of(out, p), m = 0;
        if (v == PROFILES) return -E2BIG;
        if (v == out->profiles) out->port[out->profiles++] = p;
        count[v]++;
        while (m < maps && !same_maps(settings_of(out, mapped[m]), settings_of(out, p)))
            m++;
        if (m == PROFILES) continue;
        if (m == maps) mapped[maps++] = p;
        map[m]++;
    }
    for (uint32_t v = 1; v < out->profiles; v++)
        if (count[v] > count[most]) most = v;
    uint32_t usual = out->port[most];
    out->port[most] = out->port[0];
    out->port[0] = usual;
    most = 0;
    for (uint32_t m = 1; m < maps; m++)
        if (map[m] > map[most]) most = m;
    out->usual = maps ? mapped[most] : first;
    for (uint32_t c = 0; c < out->emit->fabric->class_count; c++)
        out->used |= (uint8_t)(1u << out->emit->fabric->classes[c].priority);
    return 0;
}

__attribute__((format(printf, 2, 3))) static void comment(const struct eos_out *out, const char *format, ...)
{
    va_list list;

    if (!out->emit->comments) return;
    fputs("! ", out->to);
    va_start(list, format);
    vfprintf(out->to, format, list);
    va_end(list);
    fputc('\n', out->to);
}

static void emit_map(const struct eos_out *out, const char *from, const uint8_t *map, unsigned count, const char *to)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!memchr(map, (int)tc, count)) continue;
        fprintf(out->to, "qos map %s", from);
        for (unsigned i = 0; i < count; i++)
            if (map[i] == tc) fprintf(out->to, " %u", i);
        fprintf(out->to, " to %s %u\n", to, tc);
    }
}

static const char *profile_name(uint32_t variant, char buf[32])
{
    if (variant == 0)
        snprintf(buf, 32, "ROCELAB");
    else
        snprintf(buf, 32, "ROCELAB-%u", variant + 1);
    return buf;
}

static unsigned percent(uint32_t ppm)
{
    unsigned whole = (ppm + 5000) / 10000;
    return whole ? whole : 1;
}

static void emit_bytes(FILE *to, uint64_t bytes)
{
    if (bytes % EOS_KBYTE == 0 && bytes)
        fprintf(to, "%llu kbytes", (unsigned long long)(bytes / EOS_KBYTE));
    else
        fprintf(to, "%llu bytes", (unsigned long long)bytes);
}

static void emit_queue(const struct eos_out *out, const struct fabric_settings *settings, unsigned q, bool lossless)
{
    const struct fabric_queue *queue = &settings->queue[q];

    fprintf(out->to, "   !\n   uc-tx-queue %u\n", q);
    if (queue->strict)
        fputs("      priority strict\n", out->to);
    else
        fprintf(out->to, "      no priority\n      bandwidth percent %u\n", percent(queue->share_ppm));
    if (lossless && out->sw->watchdog.on) fputs("      bandwidth guaranteed percent 1\n", out->to);
    if (!queue->ecn.on) return;
    fputs("      random-detect ecn minimum-threshold ", out->to);
    emit_bytes(out->to, queue->ecn.min_bytes);
    fputs(" maximum-threshold ", out->to);
    emit_bytes(out->to, queue->ecn.max_bytes);
    fprintf(out->to, " max-mark-probability %u weight 0\n      random-detect ecn count\n",
            percent(queue->ecn.probability_ppm));
}

static void emit_profile(const struct eos_out *out, uint32_t variant)
{
    const struct fabric_settings *settings = settings_of(out, out->port[variant]);
    uint8_t queues = 0, lossless = 0;
    char name[32];

    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (out->used >> tc & 1) queues |= (uint8_t)(1u << settings->tc_to_queue[tc]);
        if (paused(settings) >> tc & 1) lossless |= (uint8_t)(1u << settings->tc_to_queue[tc]);
    }
    fprintf(out->to, "!\nqos profile %s\n", profile_name(variant, name));
    fprintf(out->to, "   qos trust %s\n", settings->trust == FABRIC_TRUST_PCP ? "cos" : "dscp");
    if (paused(settings)) fputs("   priority-flow-control on\n", out->to);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        if ((paused(settings) | settings->lossless) >> p & 1)
            fprintf(out->to, "   priority-flow-control priority %u no-drop\n", p);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        if (queues >> q & 1) emit_queue(out, settings, q, lossless >> q & 1);
}

static void emit_time(const struct eos_out *out, const char *what, ps_t time_ps, unsigned digits)
{
    uint64_t unit = digits == 2 ? 10 * PS_MS : PS_MS, count = (time_ps + unit / 2) / unit;
    uint64_t whole = digits == 2 ? count / 100 : count / 1000, rest = digits == 2 ? count % 100 : count % 1000;

    fprintf(out->to, "priority-flow-control pause watchdog default %s %llu.%0*llu\n", what, (unsigned long long)whole,
            (int)digits, (unsigned long long)rest);
}

static void emit_watchdog(const struct eos_out *out)
{
    const struct fabric_watchdog *watchdog = &out->sw->watchdog;

    fputs("!\n", out->to);
    if (!watchdog->on) return;
    comment(out, "WD001, WD002, WD005, WD006: seconds; lossless queues have guaranteed bandwidth");
    emit_time(out, "timeout", watchdog->detect_ps, 2);
    emit_time(out, "recovery-time", watchdog->restore_ps, 2);
    emit_time(out, "polling-interval", watchdog->poll_ps, 3);
    fprintf(out->to, "priority-flow-control pause watchdog action %s\n",
            watchdog->shutdown ? "errdisable"
            : watchdog->drop   ? "drop"
                               : "no-drop");
}

static void emit_port(const struct eos_out *out, uint32_t port)
{
    const struct fabric_settings *settings = settings_of(out, port);
    const struct fabric_port *as = &out->emit->fabric->port[port];
    uint32_t mtu = settings->mtu_bytes < EOS_MTU_MOST ? settings->mtu_bytes : EOS_MTU_MOST;
    char label[128], name[32];

    config_port_label(out->emit, &config_eos, port, label, sizeof(label));
    fprintf(out->to, "!\ninterface %s\n   mtu %u\n", label, mtu);
    if (as->peer != FABRIC_NONE && as->rate_bps >= 1000000000)
        fprintf(out->to, "   speed %lluG\n", (unsigned long long)(as->rate_bps / 1000000000));
    if (settings->fec == FABRIC_FEC_NONE) fputs("   no error-correction encoding\n", out->to);
    if (settings->fec > FABRIC_FEC_NONE)
        fprintf(out->to, "   error-correction encoding %s\n",
                settings->fec == FABRIC_FEC_RS ? "reed-solomon" : "fire-code");
    fprintf(out->to, "   no switchport\n   service-profile %s\n", profile_name(profile_of(out, port), name));
    if (settings->pause_all && !paused(settings)) fputs("   flowcontrol send on\n   flowcontrol receive on\n", out->to);
    if (out->sw->watchdog.on && paused(settings) && !(settings->watched & paused(settings)))
        fputs("   no priority-flow-control pause watchdog\n", out->to);
    if (!as->up) fputs("   shutdown\n", out->to);
}

int eos_emit(const struct config_emit *emit)
{
    const struct fabric *fabric = emit->fabric;
    struct eos_out out = {.emit = emit, .node = &fabric->node[emit->node], .to = emit->to};
    out.sw = &fabric->sw[emit->node - fabric->hosts];
    int result = out.node->ports ? survey(&out) : -EINVAL;

    if (result != 0) return result;
    const struct fabric_settings *maps = settings_of(&out, out.usual);
    comment(&out, "%s, written by rocelab from the fabric '%s'", out.node->name, fabric->name);
    fprintf(out.to, "hostname %s\n!\n", out.node->name);
    comment(&out, "MAP001, MAP005, PFC004: what belongs to which class, CNPs apart from the data");
    emit_map(&out, "dscp", maps->dscp_to_tc, 64, "traffic-class");
    emit_map(&out, "cos", maps->pcp_to_tc, 8, "traffic-class");
    emit_map(&out, "traffic-class", maps->tc_to_queue, FABRIC_PRIOS, "tx-queue");
    comment(&out, "PFC001, PFC002, MAP003: PFC and trust; ECN001, ECN002, ECN008, ECN009: marked and counted; SCH001");
    for (uint32_t v = 0; v < out.profiles; v++)
        emit_profile(&out, v);
    emit_watchdog(&out);
    comment(&out, "MTU001: 9214 here is what other systems call 9216; MAP007: profiles are applied");
    for (uint32_t p = out.node->first_port; p < out.node->first_port + out.node->ports; p++)
        emit_port(&out, p);
    fputs("!\nend\n", out.to);
    return ferror(out.to) ? -EIO : 0;
}
