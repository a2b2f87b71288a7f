/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What emitters share: names of ports and classes, ports put together by what they have alike, whole percents, and
 * the comments around a configuration.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "config/config.h"
#include "config/unsupported.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define COMMENT_MOST 1024 /* a longer one is cut: systems bound their lines */

const struct fabric_settings *config_settings(const struct fabric *fabric, uint32_t port)
{
    return &fabric->settings[fabric->port[port].settings];
}

uint8_t config_paused(const struct fabric_settings *settings)
{
    return settings->pfc_rx | settings->pfc_tx;
}

uint64_t config_headroom_metres(const struct fabric *fabric, uint32_t port)
{
    uint32_t mm = config_settings(fabric, port)->headroom_cable_mm;

    return config_metres(mm ? mm : fabric->port[port].cable_mm);
}

const char *config_numbered(const char *name, uint32_t kind, char buf[CONFIG_NUMBERED])
{
    int length = snprintf(buf, CONFIG_NUMBERED, "%s", name);

    if (kind) snprintf(buf + length, CONFIG_NUMBERED - (size_t)length, "-%u", kind + 1);
    return buf;
}

uint32_t config_within_ms(uint64_t time_ps, uint32_t least, uint32_t most)
{
    uint64_t ms = (time_ps + PS_MS / 2) / PS_MS;

    return ms < least ? least : ms > most ? most : (uint32_t)ms;
}

void config_port_label(const struct config_emit *emit, const struct config_format *format, uint32_t port, char *buf,
                       size_t size)
{
    const char *const *names = emit->fabric->operations.port_name;

    if (names && names[port])
        snprintf(buf, size, "%s", names[port]);
    else
        format->port_name(emit->fabric, port, buf, size);
}

bool config_peer_label(const struct config_emit *emit, const struct config_format *format, uint32_t port, char *buf,
                       size_t size)
{
    const struct fabric *fabric = emit->fabric;
    uint32_t peer = fabric->port[port].peer;
    char label[FABRIC_NAME];

    if (peer == FABRIC_NONE || fabric_node_unknown(fabric, fabric->port[peer].node)) return false;
    uint32_t node = fabric->port[peer].node;
    uint8_t own = node < fabric->hosts ? FABRIC_NOS_UNSAID : fabric->sw[node - fabric->hosts].nos;
    if (node < fabric->hosts) format = &config_host;
    if (emit->mixed && own != FABRIC_NOS_UNSAID) format = config_format_find(fabric_nos_names[own]);
    config_port_label(emit, format, peer, label, sizeof(label));
    int length = snprintf(buf, size, "%s:%s", fabric->node[node].name, label);
    if (fabric->port[port].cable_known && length > 0 && (size_t)length < size)
        snprintf(buf + length, size - (size_t)length, ",%llum",
                 (unsigned long long)config_metres(fabric->port[port].cable_mm));
    return true;
}

const struct fabric_class *config_class_of(const struct fabric *fabric, unsigned tc)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].priority == tc) return &fabric->classes[c];
    return NULL;
}

uint8_t config_queues(const struct fabric *fabric, const struct fabric_settings *settings)
{
    uint8_t queues = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        queues |= (uint8_t)(1u << settings->tc_to_queue[fabric->classes[c].priority]);
    return queues;
}

void config_alike(const struct config_emit *emit, struct arena *arena, config_same *same, struct config_alike *ret)
{
    const struct fabric_node *node = &emit->fabric->node[emit->node];
    uint32_t *of = ARENA_NEW(arena, uint32_t, node->ports), *port = ARENA_NEW(arena, uint32_t, node->ports);
    uint32_t *count = ARENA_NEW(arena, uint32_t, node->ports), kinds = 0, most = 0;

    for (uint32_t p = 0; p < node->ports; p++) {
        uint32_t kind = 0;
        while (kind < kinds && !same(emit->fabric, port[kind], node->first_port + p))
            kind++;
        if (kind == kinds) {
            port[kind] = node->first_port + p;
            count[kind] = 0;
            kinds++;
        }
        count[kind]++;
        of[p] = kind;
    }
    for (uint32_t kind = 1; kind < kinds; kind++)
        if (count[kind] > count[most]) most = kind;
    if (most) { /* the first and the most frequent change places */
        uint32_t first = port[0];
        port[0] = port[most];
        port[most] = first;
        for (uint32_t p = 0; p < node->ports; p++)
            of[p] = of[p] == most ? 0 : of[p] == 0 ? most : of[p];
    }
    *ret = (struct config_alike){of, port, kinds};
}

bool config_same_trusted(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *one = config_settings(fabric, a), *two = config_settings(fabric, b);

    if (one->trust != two->trust) return false;
    if (one->trust == SW_TRUST_PCP) return memcmp(one->pcp_to_tc, two->pcp_to_tc, sizeof(one->pcp_to_tc)) == 0;
    return memcmp(one->dscp_to_tc, two->dscp_to_tc, sizeof(one->dscp_to_tc)) == 0;
}

bool config_same_queue_map(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *one = config_settings(fabric, a), *two = config_settings(fabric, b);

    return memcmp(one->tc_to_queue, two->tc_to_queue, sizeof(one->tc_to_queue)) == 0;
}

bool config_same_queues(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *one = config_settings(fabric, a), *two = config_settings(fabric, b);

    for (int q = 0; q < FABRIC_PRIOS; q++) {
        const struct fabric_queue *x = &one->queue[q], *y = &two->queue[q];
        if (x->strict != y->strict || x->share_ppm != y->share_ppm || x->ecn.on != y->ecn.on) return false;
        if (x->ecn.on && (x->ecn.min_bytes != y->ecn.min_bytes || x->ecn.max_bytes != y->ecn.max_bytes ||
                          x->ecn.probability_ppm != y->ecn.probability_ppm))
            return false;
    }
    return true;
}

bool config_same_maps(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *one = config_settings(fabric, a), *two = config_settings(fabric, b);

    return memcmp(one->dscp_to_tc, two->dscp_to_tc, sizeof(one->dscp_to_tc)) == 0 &&
           memcmp(one->pcp_to_tc, two->pcp_to_tc, sizeof(one->pcp_to_tc)) == 0 &&
           memcmp(one->tc_to_queue, two->tc_to_queue, sizeof(one->tc_to_queue)) == 0;
}

unsigned config_percent(uint32_t ppm)
{
    unsigned whole = (ppm + 5000) / 10000;
    return whole < 1 ? 1 : whole > 100 ? 100 : whole;
}

uint64_t config_metres(uint64_t mm)
{
    return (mm + 999) / 1000;
}

void config_kbytes(FILE *to, uint64_t bytes)
{
    if (bytes % 1000 == 0 && bytes)
        fprintf(to, "%llu kbytes", (unsigned long long)(bytes / 1000));
    else
        fprintf(to, "%llu bytes", (unsigned long long)bytes);
}

void config_percents(const struct fabric_settings *settings, uint8_t queues, bool fill, unsigned ret[FABRIC_PRIOS])
{
    uint64_t sum = 0, rest[FABRIC_PRIOS] = {0};
    unsigned given = 0, due;

    memset(ret, 0, FABRIC_PRIOS * sizeof(ret[0]));
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (settings->queue[q].strict) queues &= (uint8_t) ~(1u << q);
        if (queues >> q & 1) sum += settings->queue[q].share_ppm;
    }
    if (!sum) return;
    uint64_t whole = fill || sum > 1000000 ? sum : 1000000; /* shares of more than everything are ratios */
    due = (unsigned)((sum * 100 + whole / 2) / whole);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        uint64_t part = settings->queue[q].share_ppm * 100ull;
        if (!(queues >> q & 1)) continue;
        ret[q] = (unsigned)(part / whole);
        rest[q] = part % whole;
        if (ret[q] == 0) { /* systems know no share of nothing */
            ret[q] = 1;
            rest[q] = 0;
        }
        given += ret[q];
    }
    while (given != due) { /* what rounding left goes to those that lost most by it, and comes from the largest */
        unsigned best = FABRIC_PRIOS;
        for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
            if (!(queues >> q & 1)) continue;
            if (best == FABRIC_PRIOS || (given < due ? rest[q] > rest[best] : ret[q] > ret[best])) best = q;
        }
        if (given > due && ret[best] == 1) break;
        ret[best] += given < due ? 1 : -1u;
        rest[best] = 0;
        given += given < due ? 1 : -1u;
    }
}

void config_comment(const struct config_emit *emit, const struct config_format *format, const char *text, ...)
{
    char line[COMMENT_MOST];
    va_list args;

    if (!emit->comments) return;
    va_start(args, text);
    vsnprintf(line, sizeof(line), text, args);
    va_end(args);
    fprintf(emit->to, "%s %s\n", format->comment, utf8_clean(line, true));
}

void config_comment_inside(const struct config_emit *emit, const struct config_format *format, const char *text)
{
    if (emit->comments) fputs("    ", emit->to);
    config_comment(emit, format, "%s", text);
}

void config_head(const struct config_emit *emit, const struct config_format *format)
{
    const struct fabric *fabric = emit->fabric;
    const struct fabric_node *node = &fabric->node[emit->node];
    struct config_unsupported_list losses;
    bool any = false;

    if (!emit->comments) return;
    if (format->host)
        config_comment(emit, format, "device: %s; written by rocelab from the fabric '%s'", node->name, fabric->name);
    else
        config_comment(emit, format, "device: %s (%s); written by rocelab from the fabric '%s'", node->name,
                       fabric->sw[emit->node - fabric->hosts].model, fabric->name);
    config_unsupported_list(format, fabric, emit->node, &losses);
    for (int loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++) {
        if (!losses.ports[loss]) continue;
        if (!any) config_comment(emit, format, "Not written for this system:");
        any = true;
        config_comment(emit, format, "  %s (%u of %u ports): %s", config_losses[loss].what, losses.ports[loss],
                       node->ports, config_losses[loss].instead);
    }
}

void config_tail(const struct config_emit *emit, const struct config_format *format)
{
    if (!format->shows) return;
    config_comment(emit, format, "To see what is set and what happens:");
    for (const char *show = format->shows; *show; show += strcspn(show, "|"), show += *show == '|')
        config_comment(emit, format, "  %.*s", (int)strcspn(show, "|"), show);
}
