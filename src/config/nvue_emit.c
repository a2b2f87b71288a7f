/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as NVUE: the same facts as YAML (`nv config patch`) or as commands.
 *
 * Everything is written out in profiles of our own, and `qos roce` is not used: its defaults (100 m of cable, marking
 * from 150000 to 1500000 bytes) would hold wherever a fabric says otherwise by saying nothing.  Ports alike in settings
 * and cable share a profile of each kind.
 *
 * A switch priority is the fabric's traffic class, NVUE's traffic class its queue.  A pause threshold that follows the
 * free buffer is the system's own way and is not written: then the cable's length is, from which headroom is computed;
 * a fixed one is `xoff-threshold`, with `port-buffer` its headroom on top.  Not written: alpha, reserves, limits of
 * queues, groups other than the priority's own, sets of priorities that differ in what is obeyed and what is sent
 * otherwise than by being empty.  A watchdog's detection time becomes whole polls.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/nvue_int.h"

struct printer {
    const struct config_emit *emit;
    bool commands;
    char before[512]; /* the path above, in YAML */
    bool any;
};

static void comment(struct printer *to, const char *text)
{
    if (to->emit->comments) fprintf(to->emit->to, "%s# %s\n", to->commands ? "" : "    ", text);
}

static bool number(const char *word)
{
    return word[0] && word[strspn(word, "0123456789")] == 0;
}

/* `path` is words; `value` NULL: the last word is an object without anything in it. */
__attribute__((format(printf, 3, 4))) static void fact(struct printer *to, const char *path, const char *format, ...)
{
    char value[64] = "";
    va_list args;

    if (format) {
        va_start(args, format);
        vsnprintf(value, sizeof(value), format, args);
        va_end(args);
    }
    if (to->commands) {
        fprintf(to->emit->to, "nv set %s%s%s\n", path, format ? " " : "", value);
        return;
    }
    const char *old = to->before;
    bool same = true;
    int depth = 2;
    for (const char *at = path; *at; depth++) {
        size_t length = strcspn(at, " ");
        size_t past = (size_t)(at - path) + length;
        same = same && strncmp(old, path, past) == 0 && (old[past] == ' ' || old[past] == 0);
        if (!same || !at[length]) {
            char key[128];
            snprintf(key, sizeof(key), "%.*s", (int)length, at);
            const char *quote = number(key) ? "'" : "";
            fprintf(to->emit->to, "%*s%s%s%s:", depth * 2, "", quote, key, quote);
            if (at[length])
                fputc('\n', to->emit->to);
            else
                fprintf(to->emit->to, format ? " %s\n" : " {}%s\n", value);
        }
        at += length + (at[length] == ' ');
    }
    /* Only objects can have something below them. */
    const char *last = strrchr(path, ' ');
    snprintf(to->before, sizeof(to->before), "%.*s", last ? (int)(last - path) : 0, path);
}

__attribute__((format(printf, 2, 3))) static const char *words(char buf[160], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(buf, 160, format, args);
    va_end(args);
    return buf;
}

struct profile {
    uint32_t settings;
    uint64_t metres;
};

static uint64_t metres_of(const struct fabric *fabric, const struct fabric_port *port)
{
    const struct fabric_settings *settings = &fabric->settings[port->settings];
    uint64_t mm = settings->headroom_cable_mm ? settings->headroom_cable_mm : port->cable_mm;
    return (mm + 999) / 1000;
}

static uint32_t profile_of(const struct fabric *fabric, const struct fabric_port *port, struct profile *list,
                           uint32_t *count)
{
    struct profile as = {port->settings, metres_of(fabric, port)};

    for (uint32_t i = 0; i < *count; i++)
        if (list[i].settings == as.settings && list[i].metres == as.metres) return i;
    list[*count] = as;
    return (*count)++;
}

static void emit_mapping(struct printer *to, uint32_t i, const struct fabric_settings *settings)
{
    char path[160];
    bool pcp = settings->trust == FABRIC_TRUST_PCP;

    comment(to, "MAP001, MAP003: the field that names the class, the same on every hop");
    fact(to, words(path, "qos mapping roce%u trust", i), pcp ? "l2" : "l3");
    for (unsigned f = 0; f < (pcp ? 8u : 64u); f++)
        fact(to, words(path, "qos mapping roce%u %s %u switch-priority", i, pcp ? "pcp" : "dscp", f), "%u",
             pcp ? settings->pcp_to_tc[f] : settings->dscp_to_tc[f]);
}

static void emit_queue_mapping(struct printer *to, uint32_t i, const struct fabric_settings *settings)
{
    char path[160];

    comment(to, "MAP001: class to queue");
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        fact(to, words(path, "qos egress-queue-mapping roce%u switch-priority %u traffic-class", i, tc), "%u",
             settings->tc_to_queue[tc]);
}

static void emit_scheduler(struct printer *to, uint32_t i, const struct fabric_settings *settings)
{
    const struct fabric *fabric = to->emit->fabric;
    char path[160];
    unsigned seen = 0;

    comment(to, "SCH001, MAP005: shares; CNPs are strict");
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        unsigned q = settings->tc_to_queue[fabric->classes[c].priority];
        const struct fabric_queue *queue = &settings->queue[q];
        if (seen >> q & 1) continue;
        seen |= 1u << q;
        uint32_t percent = (queue->share_ppm + 5000) / 10000;
        fact(to, words(path, "qos egress-scheduler roce%u traffic-class %u mode", i, q),
             queue->strict ? "strict" : "dwrr");
        if (!queue->strict)
            fact(to, words(path, "qos egress-scheduler roce%u traffic-class %u bw-percent", i, q), "%u",
                 percent ? percent : 1);
    }
}

static void emit_marking(struct printer *to, uint32_t i, const struct fabric_settings *settings)
{
    char path[160];

    comment(to, "ECN001, ECN002: marks before it pauses");
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        const struct fabric_ecn *ecn = &settings->queue[q].ecn;
        uint32_t percent = (ecn->probability_ppm + 5000) / 10000;
        if (!ecn->on) continue;
        fact(to, words(path, "qos congestion-control roce%u traffic-class %u ecn", i, q), "enable");
        fact(to, words(path, "qos congestion-control roce%u traffic-class %u min-threshold", i, q), "%llu",
             (unsigned long long)ecn->min_bytes);
        fact(to, words(path, "qos congestion-control roce%u traffic-class %u max-threshold", i, q), "%llu",
             (unsigned long long)ecn->max_bytes);
        fact(to, words(path, "qos congestion-control roce%u traffic-class %u probability", i, q), "%u",
             percent ? percent : 1);
    }
}

static void emit_pfc(struct printer *to, uint32_t i, const struct fabric_settings *settings, uint64_t metres)
{
    unsigned priorities = settings->pfc_rx | settings->pfc_tx;
    char path[160];

    if (!priorities) return;
    comment(to, "PFC001, HR001, HR002: the priorities that pause, and headroom for this cable");
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (priorities >> tc & 1) fact(to, words(path, "qos pfc roce%u switch-priority %u", i, tc), NULL);
    fact(to, words(path, "qos pfc roce%u rx", i), settings->pfc_rx ? "enable" : "disable");
    fact(to, words(path, "qos pfc roce%u tx", i), settings->pfc_tx ? "enable" : "disable");
    fact(to, words(path, "qos pfc roce%u cable-length", i), "%llu", (unsigned long long)metres);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[__builtin_ctz(priorities)]];
    if (!pg->lossless || pg->dynamic || pg->static_bytes == FABRIC_UNLIMITED) return;
    fact(to, words(path, "qos pfc roce%u xoff-threshold", i), "%llu", (unsigned long long)pg->static_bytes);
    fact(to, words(path, "qos pfc roce%u xon-threshold", i), "%llu", (unsigned long long)pg->xon_offset_bytes);
    fact(to, words(path, "qos pfc roce%u port-buffer", i), "%llu",
         (unsigned long long)(pg->static_bytes + pg->headroom_bytes));
}

static void emit_interface(struct printer *to, uint32_t port, uint32_t i)
{
    static const char *const fecs[] = {NULL, "off", "baser", "rs"};
    const struct fabric *fabric = to->emit->fabric;
    const struct fabric_port *as = &fabric->port[port];
    const struct fabric_settings *settings = &fabric->settings[as->settings];
    const struct fabric_switch *sw = &fabric->sw[to->emit->node - fabric->hosts];
    uint32_t mtu = settings->mtu_bytes > NVUE_MTU_OVER ? settings->mtu_bytes - NVUE_MTU_OVER : 0;
    char name[FABRIC_NAME], path[160];
    unsigned marking = 0;

    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        marking |= settings->queue[q].ecn.on;
    config_port_label(to->emit, &config_nvue, port, name, sizeof(name));
    mtu = mtu < NVUE_MTU_MIN ? NVUE_MTU_MIN : mtu > NVUE_MTU_MAX ? NVUE_MTU_MAX : mtu;
    fact(to, words(path, "interface %s link mtu", name), "%u", mtu);
    if (as->rate_bps)
        fact(to, words(path, "interface %s link speed", name), "%lluG",
             (unsigned long long)(as->rate_bps / 1000000000));
    if (fecs[settings->fec]) fact(to, words(path, "interface %s link fec", name), "%s", fecs[settings->fec]);
    if (!as->up) fact(to, words(path, "interface %s link state down", name), NULL);
    fact(to, words(path, "interface %s qos mapping profile", name), "roce%u", i);
    fact(to, words(path, "interface %s qos egress-queue-mapping profile", name), "roce%u", i);
    fact(to, words(path, "interface %s qos egress-scheduler profile", name), "roce%u", i);
    if (marking) fact(to, words(path, "interface %s qos congestion-control profile", name), "roce%u", i);
    if (!(settings->pfc_rx | settings->pfc_tx)) return;
    fact(to, words(path, "interface %s qos pfc profile", name), "roce%u", i);
    if (sw->watchdog.on) fact(to, words(path, "interface %s qos pfc-watchdog state", name), "enable");
}

static void emit_watchdog(struct printer *to, const struct fabric_watchdog *as)
{
    uint64_t poll = (as->poll_ps + PS_MS / 2) / PS_MS;

    if (!as->on) return;
    if (poll == 0) poll = 1;
    uint64_t times = (as->detect_ps / PS_MS + poll - 1) / poll;
    comment(to, "WD001, WD002: detection is so many polls");
    fact(to, "qos pfc-watchdog polling-interval", "%llu", (unsigned long long)poll);
    fact(to, "qos pfc-watchdog robustness", "%llu", (unsigned long long)(times ? times : 1));
}

static int emit_all(const struct config_emit *emit, bool commands)
{
    const struct fabric *fabric = emit->fabric;
    const struct fabric_node *node = &fabric->node[emit->node];
    /* One kind of profile after the other: in YAML a key is written once. */
    static void (*const each[])(struct printer *, uint32_t, const struct fabric_settings *) = {
        emit_mapping, emit_queue_mapping, emit_scheduler, emit_marking};
    struct printer to = {.emit = emit, .commands = commands};
    struct arena arena;
    uint32_t count = 0;

    arena_init(&arena, (size_t)1 << 28);
    struct profile *list = ARENA_NEW(&arena, struct profile, node->ports);
    uint32_t *of = ARENA_NEW(&arena, uint32_t, node->ports);
    if (!list || !of) {
        arena_release(&arena);
        return -ENOMEM;
    }
    if (!commands) fputs("- set:\n", emit->to);
    fact(&to, "system hostname", "%s", node->name);
    for (uint32_t p = 0; p < node->ports; p++)
        of[p] = profile_of(fabric, &fabric->port[node->first_port + p], list, &count);
    for (unsigned e = 0; e < sizeof(each) / sizeof(each[0]); e++)
        for (uint32_t i = 0; i < count; i++)
            each[e](&to, i, &fabric->settings[list[i].settings]);
    for (uint32_t i = 0; i < count; i++)
        emit_pfc(&to, i, &fabric->settings[list[i].settings], list[i].metres);
    emit_watchdog(&to, &fabric->sw[emit->node - fabric->hosts].watchdog);
    comment(&to, "MTU001, ECN001, WD001: each port and its profiles");
    for (uint32_t p = 0; p < node->ports; p++)
        emit_interface(&to, node->first_port + p, of[p]);
    arena_release(&arena);
    return ferror(emit->to) ? -EIO : 0;
}

int nvue_emit_yaml(const struct config_emit *emit)
{
    return emit_all(emit, false);
}
int nvue_emit_commands(const struct config_emit *emit)
{
    return emit_all(emit, true);
}
