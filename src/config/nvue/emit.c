/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as NVUE: the same facts as YAML (`nv config patch`) or as commands.
 *
 * Where every port is what `qos roce` makes of it, that is written, with the cables' length.  Else everything is
 * written out in profiles of our own: the defaults of `qos roce` (marking from 150000 to 1500000 bytes, DSCP / 8)
 * would hold wherever a fabric says otherwise.  Ports that are alike in what a kind of profile is about share one.
 *
 * A switch priority is the fabric's traffic class, NVUE's traffic class its queue.  A pause threshold that follows the
 * free buffer is the system's own way: its alpha is written where all lossless groups have one, and the cable's length,
 * from which headroom is computed; a fixed one is `xoff-threshold`, with `port-buffer` its headroom on top.  Not
 * written: reserves, limits of queues, groups other than the priority's own, sets of priorities that differ in what is
 * obeyed and what is sent otherwise than by being empty; the head names them (nvue.c has the table).  A watchdog's
 * detection time becomes whole polls.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/nvue/nvue_int.h"
#include "config/unsupported.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

/* Kinds of profiles; a switch has so many of each as its ports differ in what the kind is about. */
enum kind { MAPPING, QUEUES, SCHEDULER, MARKING, PFC, KINDS };

struct printer {
    const struct config_emit *emit;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    bool commands;
    bool roce;        /* `qos roce` says all of it */
    char before[512]; /* the path above, in YAML */
    char path[160];   /* of words() */
    struct arena arena;
    struct config_alike kind[KINDS];
};

static void comment(const struct printer *to, const char *text)
{
    if (to->commands)
        config_comment(to->emit, &config_nvue, "%s", text);
    else
        config_comment_inside(to->emit, &config_nvue, text);
}

static bool number(const char *word)
{
    return word[0] && word[strspn(word, "0123456789")] == 0;
}

/* `path` is words; `value` NULL: the last word is an object without anything in it. */
__attribute__((format(printf, 3, 4))) static void fact(struct printer *to, const char *path, const char *format, ...)
{
    char value[CONFIG_PEER] = "";
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

__attribute__((format(printf, 2, 3))) static const char *words(struct printer *to, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(to->path, sizeof(to->path), format, args);
    va_end(args);
    return to->path;
}

/* Which queues are written depends on the map. */
static bool same_queues(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    return config_same_queue_map(fabric, a, b) && config_same_queues(fabric, a, b);
}

/* The threshold that a profile has room for: that of its lowest priority.  NULL: the switch's own. */
static const struct fabric_pg *fixed(const struct fabric_settings *settings)
{
    unsigned priorities = config_paused(settings);
    const struct fabric_pg *pg = priorities ? &settings->pg[settings->tc_to_pg[__builtin_ctz(priorities)]] : NULL;

    return pg && pg->lossless && !pg->dynamic && pg->static_bytes != FABRIC_UNLIMITED ? pg : NULL;
}

static bool same_pfc(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *x = config_settings(fabric, a), *y = config_settings(fabric, b);
    const struct fabric_pg *g = fixed(x), *h = fixed(y);

    if (x->pfc_rx != y->pfc_rx || x->pfc_tx != y->pfc_tx || !g != !h) return false;
    if (config_headroom_metres(fabric, a) != config_headroom_metres(fabric, b)) return false;
    return !g || (g->static_bytes == h->static_bytes && g->headroom_bytes == h->headroom_bytes &&
                  g->xon_offset_bytes == h->xon_offset_bytes);
}

static bool roce_curve(const struct sw_ecn *ecn)
{
    return ecn->on && ecn->min_bytes == NVUE_ROCE_MIN && ecn->max_bytes == NVUE_ROCE_MAX &&
           ecn->probability_ppm == 1000000;
}

/* What the lossless mode of `qos roce` is documented to make of a port. */
static bool roce_port(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_settings *settings = config_settings(fabric, port);
    const struct fabric_queue *queue = settings->queue;

    if (settings->trust != SW_TRUST_DSCP || config_queues(fabric, settings) != (1u << 0 | 1u << 3 | 1u << 6))
        return false;
    for (unsigned d = 0; d < 64; d++)
        if (settings->dscp_to_tc[d] != d / 8) return false;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (settings->tc_to_queue[tc] != (tc == 3 || tc == 6 ? tc : 0)) return false;
    if (queue[0].strict || queue[3].strict || !queue[6].strict || queue[0].share_ppm != queue[3].share_ppm)
        return false;
    if (!roce_curve(&queue[0].ecn) || !roce_curve(&queue[3].ecn) || queue[6].ecn.on) return false;
    return settings->pfc_rx == 1u << 3 && settings->pfc_tx == 1u << 3 && !fixed(settings);
}

static bool roce_switch(const struct printer *to)
{
    uint32_t first = to->node->first_port;

    for (uint32_t p = first; p < first + to->node->ports; p++)
        if (!roce_port(to->emit->fabric, p) ||
            config_headroom_metres(to->emit->fabric, p) != config_headroom_metres(to->emit->fabric, first))
            return false;
    return true;
}

static void emit_mapping(struct printer *to, uint32_t i, uint32_t port)
{
    const struct fabric_settings *settings = config_settings(to->emit->fabric, port);
    bool pcp = settings->trust == SW_TRUST_PCP;

    fact(to, words(to, "qos mapping roce%u trust", i), pcp ? "l2" : "l3");
    for (unsigned f = 0; f < (pcp ? 8u : 64u); f++)
        fact(to, words(to, "qos mapping roce%u %s %u switch-priority", i, pcp ? "pcp" : "dscp", f), "%u",
             pcp ? settings->pcp_to_tc[f] : settings->dscp_to_tc[f]);
}

static void emit_queue_mapping(struct printer *to, uint32_t i, uint32_t port)
{
    if (i) return; /* no interface can choose a profile of this kind: the first is that of most ports */
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        fact(to, words(to, "qos egress-queue-mapping default-global switch-priority %u traffic-class", tc), "%u",
             config_settings(to->emit->fabric, port)->tc_to_queue[tc]);
}

static void emit_scheduler(struct printer *to, uint32_t i, uint32_t port)
{
    const struct fabric_settings *settings = config_settings(to->emit->fabric, port);
    uint8_t queues = config_queues(to->emit->fabric, settings);
    unsigned percent[FABRIC_PRIOS];

    config_percents(settings, queues, false, percent);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(queues >> q & 1)) continue;
        fact(to, words(to, "qos egress-scheduler roce%u traffic-class %u mode", i, q),
             settings->queue[q].strict ? "strict" : "dwrr");
        if (!settings->queue[q].strict)
            fact(to, words(to, "qos egress-scheduler roce%u traffic-class %u bw-percent", i, q), "%u", percent[q]);
    }
}

static bool marks(const struct fabric_settings *settings)
{
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        if (settings->queue[q].ecn.on) return true;
    return false;
}

static void emit_marking(struct printer *to, uint32_t i, uint32_t port)
{
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        const struct sw_ecn *ecn = &config_settings(to->emit->fabric, port)->queue[q].ecn;
        if (!ecn->on) continue;
        fact(to, words(to, "qos congestion-control roce%u traffic-class %u ecn", i, q), "enable");
        fact(to, words(to, "qos congestion-control roce%u traffic-class %u min-threshold", i, q), "%llu",
             (unsigned long long)ecn->min_bytes);
        fact(to, words(to, "qos congestion-control roce%u traffic-class %u max-threshold", i, q), "%llu",
             (unsigned long long)ecn->max_bytes);
        fact(to, words(to, "qos congestion-control roce%u traffic-class %u probability", i, q), "%u",
             config_percent(ecn->probability_ppm));
    }
}

static void emit_pfc(struct printer *to, uint32_t i, uint32_t port)
{
    const struct fabric_settings *settings = config_settings(to->emit->fabric, port);
    unsigned priorities = config_paused(settings);
    const struct fabric_pg *pg = fixed(settings);

    if (!priorities) return;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (priorities >> tc & 1) fact(to, words(to, "qos pfc roce%u switch-priority %u", i, tc), NULL);
    fact(to, words(to, "qos pfc roce%u rx", i), settings->pfc_rx ? "enable" : "disable");
    fact(to, words(to, "qos pfc roce%u tx", i), settings->pfc_tx ? "enable" : "disable");
    uint64_t metres = config_headroom_metres(to->emit->fabric, port);
    if (metres) fact(to, words(to, "qos pfc roce%u cable-length", i), "%llu", (unsigned long long)metres);
    if (!pg) return;
    fact(to, words(to, "qos pfc roce%u xoff-threshold", i), "%llu", (unsigned long long)pg->static_bytes);
    fact(to, words(to, "qos pfc roce%u xon-threshold", i), "%llu", (unsigned long long)pg->xon_offset_bytes);
    fact(to, words(to, "qos pfc roce%u port-buffer", i), "%llu",
         (unsigned long long)(pg->static_bytes + pg->headroom_bytes));
}

/* Without a lossless pool there is no room for what PFC protects: the switch gives all of its buffer to the lossy one.
 * A fabric has one buffer for all; what its queues are of the line, their pools are of the memory. */
static void emit_pools(struct printer *to)
{
    unsigned lossless = 0;

    for (uint32_t p = 0; p < to->node->ports && !lossless; p++) {
        const struct fabric_settings *settings = config_settings(to->emit->fabric, to->node->first_port + p);
        unsigned percent[FABRIC_PRIOS], queues = 0;
        if (!config_paused(settings)) continue;
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
            if (config_paused(settings) >> tc & 1) queues |= 1u << settings->tc_to_queue[tc];
        config_percents(settings, config_queues(to->emit->fabric, settings), true, percent);
        for (unsigned q = 0; q < FABRIC_PRIOS; q++)
            if (queues >> q & 1) lossless += percent[q];
        lossless = lossless < NVUE_POOL_LEAST ? NVUE_POOL_LEAST : lossless;
    }
    if (!lossless) return;
    if (lossless > 100 - NVUE_POOL_LEAST) lossless = 100 - NVUE_POOL_LEAST;
    comment(to, "HR003: memory for what is not to be lost");
    fact(to,
         to->roce ? "qos traffic-pool roce-lossless memory-percent"
                  : "qos traffic-pool default-lossless memory-percent",
         "%u", lossless);
    fact(to, "qos traffic-pool default-lossy memory-percent", "%u", 100 - lossless);
}

#define ALPHA_USUAL (CONFIG_ALPHA_ONE - 3) /* 1/8, which a fabric has unless it says another */

/* One for all lossless groups, where they have one.  Beside `qos roce` the system's own holds, unless the fabric means
 * another. */
static void emit_alpha(struct printer *to)
{
    static const char path[] = "qos advance-buffer-config default-global ingress-lossless-buffer shared-alpha";
    int alpha = config_one_alpha(to->emit->fabric, to->node);

    if (alpha < 0 || (to->roce && alpha == ALPHA_USUAL)) return;
    comment(to, "BUF001: how much of the free buffer a group may take before it pauses");
    if (alpha < CONFIG_ALPHA_ONE)
        fact(to, path, "alpha_1_%u", 1u << (CONFIG_ALPHA_ONE - alpha));
    else
        fact(to, path, "alpha_%u", 1u << (alpha - CONFIG_ALPHA_ONE));
}

static void emit_port_profiles(struct printer *to, uint32_t p, const char *name, const struct fabric_settings *settings)
{
    fact(to, words(to, "interface %s qos mapping profile", name), "roce%u", to->kind[MAPPING].of[p]);
    fact(to, words(to, "interface %s qos egress-scheduler profile", name), "roce%u", to->kind[SCHEDULER].of[p]);
    if (marks(settings))
        fact(to, words(to, "interface %s qos congestion-control profile", name), "roce%u", to->kind[MARKING].of[p]);
    if (config_paused(settings))
        fact(to, words(to, "interface %s qos pfc profile", name), "roce%u", to->kind[PFC].of[p]);
}

/* The cage of a port that is a part of one, swp5s2: 5, and `ret_part` 2; 0: it is none. */
static unsigned cage_of(const struct printer *to, uint32_t p, unsigned *ret_part)
{
    char name[FABRIC_NAME];
    unsigned cage = 0;
    int end = 0;

    config_port_label(to->emit, &config_nvue, to->node->first_port + p, name, sizeof(name));
    if (sscanf(name, "swp%3us%1u%n", &cage, ret_part, &end) < 2 || name[end] || *ret_part > 7) return 0;
    return cage;
}

/* A cage that is split is said before the first of its parts, with the lanes of each where they are known: the system's
 * own number is not the same on all transceivers.  A part that has no other is only a name. */
static void emit_breakout(struct printer *to, uint32_t p)
{
    unsigned part = 0, own = cage_of(to, p, &part), most = 0, count = 0;
    struct config_cage cage;

    for (uint32_t q = 0; own && q < to->node->ports; q++) {
        if (cage_of(to, q, &part) != own) continue;
        if (q < p) return;
        count++;
        if (part > most) most = part;
    }
    bool known = own && config_cage(to->emit->fabric, to->node->first_port + p, &cage);
    if (count < 2 && !(known && own == cage.cage && cage.parts > 1)) return;
    unsigned parts = most > 3 ? 8 : most > 1 ? 4 : 2;
    if (known && own == cage.cage && cage.parts > parts) parts = cage.parts;
    if (known && cage.lanes >= parts)
        fact(to, words(to, "interface swp%u link breakout %ux lanes-per-port", own, parts), "%u", cage.lanes / parts);
    else
        fact(to, words(to, "interface swp%u link breakout %ux", own, parts), NULL);
}

static void emit_interface(struct printer *to, uint32_t p)
{
    static const char *const fecs[] = {NULL, "off", "baser", "rs"};
    const struct fabric_port *as = &to->emit->fabric->port[to->node->first_port + p];
    const struct fabric_settings *settings = config_settings(to->emit->fabric, to->node->first_port + p);
    uint32_t mtu = settings->mtu_bytes > NVUE_MTU_OVER ? settings->mtu_bytes - NVUE_MTU_OVER : 0;
    unsigned paused = config_paused(settings);
    char name[FABRIC_NAME], peer[CONFIG_PEER];

    config_port_label(to->emit, &config_nvue, to->node->first_port + p, name, sizeof(name));
    if (config_peer_label(to->emit, &config_nvue, to->node->first_port + p, peer, sizeof(peer)))
        fact(to, words(to, "interface %s description", name), "%s", peer);
    mtu = mtu < NVUE_MTU_MIN ? NVUE_MTU_MIN : mtu > NVUE_MTU_MAX ? NVUE_MTU_MAX : mtu;
    fact(to, words(to, "interface %s link mtu", name), "%u", mtu);
    if (as->rate_bps >= NVUE_RATE_STEP && as->peer != FABRIC_NONE)
        fact(to, words(to, "interface %s link speed", name), "%lluG",
             (unsigned long long)(as->rate_bps / NVUE_RATE_STEP));
    if (fecs[settings->fec]) fact(to, words(to, "interface %s link fec", name), "%s", fecs[settings->fec]);
    if (!as->up) fact(to, words(to, "interface %s link state down", name), NULL);
    if (!to->roce) emit_port_profiles(to, p, name, settings);
    if (paused && to->sw->watchdog.on && (settings->watched & paused))
        fact(to, words(to, "interface %s qos pfc-watchdog state", name), "enable");
    if (to->sw->balance.kind == SW_ADAPTIVE && as->peer != FABRIC_NONE && as->peer >= to->emit->fabric->endpoints)
        fact(to, words(to, "interface %s router adaptive-routing state", name), "enabled");
    fact(to, words(to, "interface %s type", name), "swp");
}

static void emit_watchdog(struct printer *to)
{
    const struct fabric_watchdog *as = &to->sw->watchdog;
    uint32_t poll = config_within_ms(as->poll_ps, NVUE_POLL_MIN_MS, NVUE_POLL_MAX_MS);

    if (!as->on) {
        comment(to, "the fabric has no watchdog, which WD001 wants");
        return;
    }
    uint64_t times = (as->detect_ps / PS_MS + poll - 1) / poll;
    comment(to, "WD001, WD002: detection is so many polls");
    fact(to, "qos pfc-watchdog polling-interval", "%u", poll);
    fact(to, "qos pfc-watchdog robustness", "%llu",
         (unsigned long long)(times < 1                     ? 1
                              : times > NVUE_ROBUSTNESS_MAX ? NVUE_ROBUSTNESS_MAX
                                                            : times));
}

/* Fields of the hash that a fabric knows of; the queue pair is seen by none but in the source port. */
static void emit_hash(struct printer *to)
{
    uint8_t fields = to->sw->hash_fields;
    bool ports = fields & (SW_HASH_SPORT | SW_HASH_QP);

    comment(to, "TOP004: the UDP source port tells flows apart");
    fact(to, "system forwarding ecmp-hash source-ip", fields & SW_HASH_SRC ? "enabled" : "disabled");
    fact(to, "system forwarding ecmp-hash destination-ip", fields & SW_HASH_DST || !fields ? "enabled" : "disabled");
    fact(to, "system forwarding ecmp-hash source-port", ports ? "enabled" : "disabled");
    fact(to, "system forwarding ecmp-hash destination-port", ports ? "enabled" : "disabled");
}

/* Of the switch, and below of each port towards another: eligible are routed ports. */
static void emit_balance(struct printer *to)
{
    if (to->sw->balance.kind != SW_ADAPTIVE) return;
    comment(to, "HOST006: each packet goes by the link that has room");
    fact(to, "router adaptive-routing state", "enabled");
}

static void emit_switch(struct printer *to)
{
    /* One kind of profile after the other: in YAML a key is written once. */
    static const struct {
        void (*emit)(struct printer *, uint32_t profile, uint32_t port);
        const char *why;
    } each[KINDS] = {
        [MAPPING] = {emit_mapping, "MAP001, MAP003: the field that names the class, the same on every hop"},
        [QUEUES] = {emit_queue_mapping, "MAP001: class to queue"},
        [SCHEDULER] = {emit_scheduler, "SCH001, MAP005: shares; CNPs are strict"},
        [MARKING] = {emit_marking, "ECN001, ECN002: marks before it pauses"},
        [PFC] = {emit_pfc, "PFC001, HR001, HR002: the priorities that pause, and headroom for this cable"},
    };

    config_head(to->emit, &config_nvue);
    if (!to->commands) fputs("- set:\n", to->emit->to);
    fact(to, "system hostname", "%s", to->node->name);
    emit_hash(to);
    emit_balance(to);
    if (to->roce) {
        comment(to, "MAP001, MAP005, ECN001, PFC001, HR002: all of them by the system's own profile");
        fact(to, "qos roce mode", "lossless");
        uint64_t metres = config_headroom_metres(to->emit->fabric, to->node->first_port);
        if (metres) fact(to, "qos roce cable-length", "%llu", (unsigned long long)metres);
    }
    for (unsigned k = 0; k < KINDS && !to->roce; k++) {
        comment(to, each[k].why);
        for (uint32_t i = 0; i < to->kind[k].kinds; i++)
            each[k].emit(to, i, to->kind[k].port[i]);
    }
    emit_pools(to);
    emit_alpha(to);
    emit_watchdog(to);
    comment(to, "MTU001, ECN001, WD001: each port and its profiles");
    for (uint32_t p = 0; p < to->node->ports; p++) {
        emit_breakout(to, p);
        emit_interface(to, p);
    }
    config_tail(to->emit, &config_nvue);
}

static int emit_all(const struct config_emit *emit, bool commands)
{
    static config_same *const same[KINDS] = {[MAPPING] = config_same_trusted,
                                             [QUEUES] = config_same_queue_map,
                                             [SCHEDULER] = same_queues,
                                             [MARKING] = config_same_queues,
                                             [PFC] = same_pfc};
    const struct fabric *fabric = emit->fabric;
    struct printer to = {.emit = emit,
                         .node = &fabric->node[emit->node],
                         .sw = &fabric->sw[emit->node - fabric->hosts],
                         .commands = commands};

    if (!to.node->ports) return -EINVAL;
    arena_init_or_end(&to.arena, (size_t)1 << 24);
    for (unsigned k = 0; k < KINDS; k++)
        config_alike(emit, &to.arena, same[k], &to.kind[k]);
    to.roce = roce_switch(&to);
    emit_switch(&to);
    arena_release(&to.arena);
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
