/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric as an NX-OS configuration (Nexus 9000, eight queues).
 *
 * The chain is written in the order in which it is read: class-maps of type qos, the policy that sets qos-groups, the
 * network-qos policy that makes them lossless, queuing out, queuing in, then `system qos` and the interfaces.  Ports
 * that differ get policies of their own, with a number at the end of the name; the first is the one of most.
 *
 * What NX-OS cannot say is left out: traffic class, queue and group have one number; network-qos is of the whole
 * switch; a pause threshold is a number of bytes (dynamic thresholds and their headroom are the platform's); PFC pauses
 * all lossless priorities of a port or none; shares and probabilities are whole percent; the watchdog is on or off.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "config/nxos_int.h"

#define VARIANTS 64u

struct variants { /* of ports: those alike in one respect share a policy */
    uint32_t port[VARIANTS];
    uint32_t count;
};

struct nxos_out {
    const struct config_emit *emit;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    FILE *to;
    uint8_t lossless, used; /* of all ports; queues of classes */
    struct variants qos, queuing, ingress;
};

static const struct fabric_settings *settings_of(const struct nxos_out *out, uint32_t port)
{
    return &out->emit->fabric->settings[out->emit->fabric->port[port].settings];
}

static bool same_qos(const struct fabric_settings *a, const struct fabric_settings *b)
{
    if (a->trust != b->trust) return false;
    if (a->trust == FABRIC_TRUST_PCP) return memcmp(a->pcp_to_tc, b->pcp_to_tc, sizeof(a->pcp_to_tc)) == 0;
    return memcmp(a->dscp_to_tc, b->dscp_to_tc, sizeof(a->dscp_to_tc)) == 0;
}

static bool same_queuing(const struct fabric_settings *a, const struct fabric_settings *b)
{
    for (int q = 0; q < FABRIC_PRIOS; q++) {
        const struct fabric_queue *x = &a->queue[q], *y = &b->queue[q];
        if (x->strict != y->strict || x->share_ppm != y->share_ppm || x->ecn.on != y->ecn.on) return false;
        if (x->ecn.on && (x->ecn.min_bytes != y->ecn.min_bytes || x->ecn.max_bytes != y->ecn.max_bytes ||
                          x->ecn.probability_ppm != y->ecn.probability_ppm))
            return false;
    }
    return true;
}

static bool carved(const struct fabric_pg *pg)
{
    return pg->lossless && !pg->dynamic && pg->static_bytes != FABRIC_UNLIMITED;
}

static bool same_ingress(const struct fabric_settings *a, const struct fabric_settings *b)
{
    for (int g = 0; g < FABRIC_PRIOS; g++) {
        const struct fabric_pg *x = &a->pg[g], *y = &b->pg[g];
        if (carved(x) != carved(y)) return false;
        if (carved(x) && (x->static_bytes != y->static_bytes || x->headroom_bytes != y->headroom_bytes ||
                          x->xon_offset_bytes != y->xon_offset_bytes))
            return false;
    }
    return true;
}

typedef bool same_fn(const struct fabric_settings *a, const struct fabric_settings *b);

static uint32_t variant_of(const struct nxos_out *out, const struct variants *variants, same_fn *same, uint32_t port)
{
    for (uint32_t v = 0; v < variants->count; v++)
        if (same(settings_of(out, variants->port[v]), settings_of(out, port))) return v;
    return variants->count;
}

static int find_variants(struct nxos_out *out, struct variants *variants, same_fn *same)
{
    uint32_t first = out->node->first_port, ports[VARIANTS] = {0}, most = 0;

    for (uint32_t p = first; p < first + out->node->ports; p++) {
        uint32_t v = variant_of(out, variants, same, p);
        if (v == VARIANTS) return -E2BIG;
        if (v == variants->count) variants->port[variants->count++] = p;
        ports[v]++;
    }
    for (uint32_t v = 1; v < variants->count; v++)
        if (ports[v] > ports[most]) most = v;
    uint32_t usual = variants->port[most];
    variants->port[most] = variants->port[0];
    variants->port[0] = usual;
    return 0;
}

static const char *numbered(const char *name, uint32_t variant, char buf[64])
{
    if (variant == 0)
        snprintf(buf, 64, "%s", name);
    else
        snprintf(buf, 64, "%s-%u", name, variant + 1);
    return buf;
}

__attribute__((format(printf, 2, 3))) static void comment(const struct nxos_out *out, const char *format, ...)
{
    va_list list;

    if (!out->emit->comments) return;
    fputs("! ", out->to);
    va_start(list, format);
    vfprintf(out->to, format, list);
    va_end(list);
    fputc('\n', out->to);
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
    numbered(name, variant, buf);
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
    const struct fabric_settings *settings = settings_of(out, out->qos.port[variant]);
    bool pcp = settings->trust == FABRIC_TRUST_PCP;
    const uint8_t *map = pcp ? settings->pcp_to_tc : settings->dscp_to_tc;
    unsigned count = pcp ? 8 : 64, rest = rest_of(map, count);
    char name[64];

    if (variant == 0) comment(out, "MAP001, MAP005, PFC004: what belongs to which class, CNPs apart from the data");
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (tc == rest || !memchr(map, (int)tc, count)) continue;
        class_label(out, tc, variant, name);
        fprintf(out->to, "class-map type qos match-any %s\n  match %s ", name, pcp ? "cos" : "dscp");
        emit_values(out, map, count, tc);
        fputc('\n', out->to);
    }
    fprintf(out->to, "policy-map type qos %s\n", numbered("ROCELAB-QOS", variant, name));
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

static void emit_network(const struct nxos_out *out, uint32_t mtu)
{
    char name[32];

    comment(out, "PFC001, PFC007: qos-group and paused priority are the same number");
    fputs("policy-map type network-qos ROCELAB-NETWORK\n", out->to);
    for (unsigned q = FABRIC_PRIOS; q-- > 0;) {
        bool lossless = out->lossless >> q & 1;
        if (!lossless && q != 0) continue;
        fprintf(out->to, "  class type network-qos %s\n", queue_class("c-8q-nq", q, name));
        if (lossless) fprintf(out->to, "    pause pfc-cos %u\n", q);
        fprintf(out->to, "    mtu %u\n", mtu);
    }
}

static void emit_bytes(FILE *to, uint64_t bytes)
{
    if (bytes % NXOS_KBYTE == 0 && bytes)
        fprintf(to, "%llu kbytes", (unsigned long long)(bytes / NXOS_KBYTE));
    else
        fprintf(to, "%llu bytes", (unsigned long long)bytes);
}

static unsigned percent(uint32_t ppm)
{
    unsigned whole = (ppm + 5000) / 10000;
    return whole ? whole : 1;
}

static void emit_queuing(const struct nxos_out *out, uint32_t variant)
{
    const struct fabric_settings *settings = settings_of(out, out->queuing.port[variant]);
    unsigned level = 1;
    char name[64];

    if (variant == 0)
        comment(out, "ECN001, ECN002, ECN006, ECN008: marked, not dropped, by the queue as it is; SCH001");
    fprintf(out->to, "policy-map type queuing %s\n", numbered("ROCELAB-OUT", variant, name));
    for (unsigned q = FABRIC_PRIOS; q-- > 0;) {
        const struct fabric_queue *queue = &settings->queue[q];
        char class[32];
        fprintf(out->to, "  class type queuing %s\n", queue_class("c-out-8q-q", q, class));
        if (!(out->used >> q & 1))
            fputs("    bandwidth remaining percent 0\n", out->to);
        else if (queue->strict)
            fprintf(out->to, "    priority level %u\n", level++);
        else
            fprintf(out->to, "    bandwidth remaining percent %u\n", percent(queue->share_ppm));
        if (!queue->ecn.on) continue;
        fputs("    random-detect minimum-threshold ", out->to);
        emit_bytes(out->to, queue->ecn.min_bytes);
        fputs(" maximum-threshold ", out->to);
        emit_bytes(out->to, queue->ecn.max_bytes);
        fprintf(out->to, " drop-probability %u weight 0 ecn\n", percent(queue->ecn.probability_ppm));
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
    const struct fabric_settings *settings = settings_of(out, out->ingress.port[variant]);
    char name[64], class[32];

    if (!any_carved(settings)) return;
    comment(out, "HR001, HR006: headroom is buffer-size less pause-threshold");
    fprintf(out->to, "policy-map type queuing %s\n", numbered("ROCELAB-IN", variant, name));
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

static void emit_port(const struct nxos_out *out, uint32_t port)
{
    const struct fabric_settings *settings = settings_of(out, port);
    const struct fabric_port *as = &out->emit->fabric->port[port];
    uint8_t paused = settings->pfc_rx | settings->pfc_tx;
    uint32_t mtu = settings->mtu_bytes < 9216 ? settings->mtu_bytes : 9216;
    uint32_t v = variant_of(out, &out->ingress, same_ingress, port);
    char label[128], name[64];

    config_port_label(out->emit, &config_nxos, port, label, sizeof(label));
    fprintf(out->to, "interface %s\n", label);
    if (as->rate_bps >= 100000000 && as->peer != FABRIC_NONE)
        fprintf(out->to, "  speed %llu\n", (unsigned long long)(as->rate_bps / 1000000));
    fprintf(out->to, "  mtu %u\n", mtu);
    if (settings->pause_all && !paused) fputs("  flowcontrol receive on\n  flowcontrol send on\n", out->to);
    fprintf(out->to, "  priority-flow-control mode %s\n", !paused ? "off" : settings->pfc_auto ? "auto" : "on");
    if (out->sw->watchdog.on && paused)
        fprintf(out->to, "  priority-flow-control watch-dog-interval %s\n", settings->watched & paused ? "on" : "off");
    fprintf(out->to, "  service-policy type qos input %s\n",
            numbered("ROCELAB-QOS", variant_of(out, &out->qos, same_qos, port), name));
    uint32_t queuing = variant_of(out, &out->queuing, same_queuing, port);
    if (queuing) fprintf(out->to, "  service-policy type queuing output %s\n", numbered("ROCELAB-OUT", queuing, name));
    if (any_carved(settings))
        fprintf(out->to, "  service-policy type queuing input %s\n", numbered("ROCELAB-IN", v, name));
    fprintf(out->to, "  %sshutdown\n", as->up ? "no " : "");
}

static uint32_t survey(struct nxos_out *out)
{
    const struct fabric *fabric = out->emit->fabric;
    uint32_t mtu = 1500;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        out->used |= (uint8_t)(1u << fabric->classes[c].priority);
    for (uint32_t p = out->node->first_port; p < out->node->first_port + out->node->ports; p++) {
        const struct fabric_settings *settings = settings_of(out, p);
        out->lossless |= settings->lossless;
        if (settings->mtu_bytes > mtu) mtu = settings->mtu_bytes;
    }
    return mtu < 9216 ? mtu : 9216;
}

int nxos_emit(const struct config_emit *emit)
{
    const struct fabric *fabric = emit->fabric;
    struct nxos_out out = {.emit = emit, .node = &fabric->node[emit->node], .to = emit->to};
    out.sw = &fabric->sw[emit->node - fabric->hosts];
    uint32_t mtu = survey(&out), end = out.node->first_port + out.node->ports;

    if (find_variants(&out, &out.qos, same_qos) != 0 || find_variants(&out, &out.queuing, same_queuing) != 0 ||
        find_variants(&out, &out.ingress, same_ingress) != 0)
        return -E2BIG;
    comment(&out, "%s, written by rocelab from the fabric '%s'", out.node->name, fabric->name);
    fprintf(out.to, "hostname %s\n", out.node->name);
    for (uint32_t v = 0; v < out.qos.count; v++)
        emit_qos(&out, v);
    emit_network(&out, mtu);
    for (uint32_t v = 0; v < out.queuing.count; v++)
        emit_queuing(&out, v);
    for (uint32_t v = 0; v < out.ingress.count; v++)
        emit_ingress(&out, v);
    comment(&out, "MAP007: defined and applied");
    fputs("system qos\n  service-policy type network-qos ROCELAB-NETWORK\n", out.to);
    if (out.queuing.count) fputs("  service-policy type queuing output ROCELAB-OUT\n", out.to);
    comment(&out, "WD001: the watchdog needs this line and one on each interface");
    fprintf(out.to, "priority-flow-control watch-dog-interval %s\n", out.sw->watchdog.on ? "on" : "off");
    comment(&out, "PFC002, PFC006: forced on, not negotiated; MTU001");
    for (uint32_t p = out.node->first_port; p < end; p++)
        emit_port(&out, p);
    return ferror(out.to) ? -EIO : 0;
}
