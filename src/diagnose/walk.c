/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over every cable; see walk.h. */
#include "diagnose/walk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/nics_int.h"
#include "fabric/fabric.h"

#define MEMORY (512u << 20)
#define TEXT 300

const char *const walk_kind_names[WALK_KINDS] = {
    [WALK_DOWN] = "down",     [WALK_FLAPS] = "flaps", [WALK_RATE] = "rate",           [WALK_ERRORS] = "errors",
    [WALK_PAUSES] = "pauses", [WALK_LOST] = "lost",   [WALK_CREDITS] = "credits",     [WALK_DISCARDS] = "discards",
    [WALK_MTU] = "mtu",       [WALK_PFC] = "pfc",     [WALK_NEIGHBOUR] = "neighbour",
};

static const struct diagnose_limits limits = {
#define LIMIT(name, value, rules, of) .name = value,
#include "diagnose/limits.def"
#undef LIMIT
};

static const char *called(const struct walk *walk, uint32_t object)
{
    return walk->evidence->object[object].name;
}

/* Room for one more of `count`; false: memory ran out. */
static bool more(struct walk *walk, void *array, uint32_t count, size_t size)
{
    void **at = array, *grown;

    if (count & (count - 1)) return true; /* grown at 0, 1, 2, 4, ... */
    grown = arena_alloc(&walk->arena, count ? 2 * (size_t)count : 1, size, 16);
    if (!grown) {
        walk->full = true;
        return false;
    }
    if (count) memcpy(grown, *at, count * size);
    *at = grown;
    return true;
}

/* A problem of the link that is walked, which is the last; `from`: the counter that says it, or NULL. */
__attribute__((format(printf, 4, 5))) static void problem(struct walk *walk, enum walk_kind kind,
                                                          const struct evidence_value *from, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = arena_strndup(&walk->arena, text, sizeof text);
    walk->full |= !kept;
    if (!kept || !more(walk, &walk->problem, walk->problems, sizeof walk->problem[0])) return;
    walk->problem[walk->problems++] = (struct walk_problem){
        .link = walk->links - 1,
        .kind = (uint8_t)kind,
        .what = kept,
        .file = from ? from->file : EVIDENCE_NONE,
        .line = from ? from->line : 0,
    };
    walk->link[walk->links - 1].problems++;
}

/* --- the line --- */

static void state_of(struct walk *walk, struct walk_link *link)
{
    const struct evidence *evidence = walk->evidence;

    link->up = -1;
    for (unsigned e = 0; e < 2; e++) {
        const struct evidence_value *up = port_find(evidence, link->end[e], EVIDENCE_LINK_UP);
        const struct evidence_value *downs = port_find(evidence, link->end[e], EVIDENCE_LINK_DOWN);
        if (up && link->up != 0) link->up = up->last != 0;
        if (up && !up->last) problem(walk, WALK_DOWN, up, "%s is down", called(walk, link->end[e]));
        if (downs && downs->grown && (downs->looks > 1 || evidence->exact))
            problem(walk, WALK_FLAPS, downs, "%s went down %" PRIu64 " time%s", called(walk, link->end[e]),
                    downs->grown, downs->grown == 1 ? "" : "s");
    }
}

/* "400G", "62.5G". */
static const char *rate_text(uint64_t bps, char *text, size_t size)
{
    snprintf(text, size, "%gG", (double)bps / 1e9);
    return text;
}

/* What the port should have: as the input says, or as the plan has it; 0: not known. */
static uint64_t full_rate(const struct evidence *evidence, uint32_t port)
{
    const struct evidence_object *object = &evidence->object[port];
    uint64_t full = port_get(evidence, port, EVIDENCE_FULL_RATE);

    if (!full && evidence->fabric && object->fabric != EVIDENCE_NONE)
        full = evidence->fabric->port[object->fabric].rate_bps;
    return full;
}

static void rates(struct walk *walk, struct walk_link *link)
{
    const struct evidence *evidence = walk->evidence;
    char one[24], other[24];

    for (unsigned e = 0; e < 2; e++) {
        const struct evidence_value *rate = port_find(evidence, link->end[e], EVIDENCE_RATE);
        uint64_t full = full_rate(evidence, link->end[e]);
        link->rate_bps[e] = rate ? rate->last : 0;
        if (rate && rate->last && full && rate->last < full)
            problem(walk, WALK_RATE, rate, "%s runs at %s instead of %s", called(walk, link->end[e]),
                    rate_text(rate->last, one, sizeof one), rate_text(full, other, sizeof other));
    }
    if (link->rate_bps[0] && link->rate_bps[1] && link->rate_bps[0] != link->rate_bps[1])
        problem(walk, WALK_RATE, port_find(evidence, link->end[0], EVIDENCE_RATE), "%s runs at %s and %s at %s",
                called(walk, link->end[0]), rate_text(link->rate_bps[0], one, sizeof one), called(walk, link->end[1]),
                rate_text(link->rate_bps[1], other, sizeof other));
}

static void errors(struct walk *walk, struct walk_link *link)
{
    static const enum evidence_counter kinds[] = {EVIDENCE_CRC_ERRORS, EVIDENCE_FEC_UNCORRECTED};
    const struct evidence *evidence = walk->evidence;

    for (unsigned e = 0; e < 2; e++) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            const struct evidence_value *value = port_find(evidence, link->end[e], kinds[i]);
            if (!value || !value->grown) continue;
            if (value->grown > link->errors[e]) link->errors[e] = value->grown;
            problem(walk, WALK_ERRORS, value, "%s counts %" PRIu64 " %s%s", called(walk, link->end[e]), value->grown,
                    evidence_counters[kinds[i]].name, value->looks < 2 && !evidence->exact ? " since boot" : "");
        }
        const struct evidence_value *ber = port_find(evidence, link->end[e], EVIDENCE_PRE_FEC_BER);
        if (ber && ber->real > limits.fec_ber)
            problem(walk, WALK_ERRORS, ber, "%s: %.1e of bits are wrong before FEC, which puts %.1e right",
                    called(walk, link->end[e]), ber->real, limits.fec_ber);
    }
}

/* --- counters of both ends --- */

/* Two counters of one thing, between the same looks, that are further apart than this share and this number. */
static bool disagree(const struct evidence_value *sent, const struct evidence_value *came, double share, double least)
{
    if (!sent || !came || sent->looks < 2 || came->looks < 2 || sent->reset || came->reset) return false;
    double more = (double)(sent->grown > came->grown ? sent->grown : came->grown);
    double apart = more - (double)(sent->grown > came->grown ? came->grown : sent->grown);
    return apart > least && apart > share * more;
}

static void pause_frames(struct walk *walk, uint32_t from, uint32_t to)
{
    const struct evidence *evidence = walk->evidence;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *sent = evidence_find(evidence, from, p, EVIDENCE_TX_PAUSE_FRAMES);
        const struct evidence_value *came = evidence_find(evidence, to, p, EVIDENCE_RX_PAUSE_FRAMES);
        if (disagree(sent, came, limits.walk_share, limits.walk_pauses))
            problem(walk, WALK_PAUSES, came, "%s sent %" PRIu64 " pause frames of priority %u and %s counts %" PRIu64,
                    called(walk, from), sent->grown, p, called(walk, to), came->grown);
        sent = evidence_find(evidence, from, p, EVIDENCE_TX_PAUSE_NS);
        came = evidence_find(evidence, to, p, EVIDENCE_RX_PAUSE_NS);
        if (sent && came && sent->looks > 1 &&
            (double)sent->grown > limits.paused_share * 1e9 * evidence_span_s(sent) &&
            (double)came->grown < limits.obeyed_share * (double)sent->grown)
            problem(walk, WALK_PAUSES, came, "%s paused priority %u for %" PRIu64 " us and %s stood still for %" PRIu64,
                    called(walk, from), p, sent->grown / 1000, called(walk, to), came->grown / 1000);
    }
    const struct evidence_value *sent = port_find(evidence, from, EVIDENCE_PORT_TX_PAUSE_FRAMES);
    const struct evidence_value *came = port_find(evidence, to, EVIDENCE_PORT_RX_PAUSE_FRAMES);
    if (disagree(sent, came, limits.walk_share, limits.walk_pauses))
        problem(walk, WALK_PAUSES, came, "%s sent %" PRIu64 " pause frames and %s counts %" PRIu64, called(walk, from),
                sent->grown, called(walk, to), came->grown);
}

/* Packets where both count them, else bytes: systems differ in whether these include the FCS. */
static void lost_on_cable(struct walk *walk, uint32_t from, uint32_t to)
{
    const struct evidence *evidence = walk->evidence;
    const struct evidence_value *sent = port_find(evidence, from, EVIDENCE_PORT_TX_PACKETS);
    const struct evidence_value *came = port_find(evidence, to, EVIDENCE_PORT_RX_PACKETS);
    const char *unit = "packets";

    if (!sent || !came) {
        sent = port_find(evidence, from, EVIDENCE_PORT_TX_BYTES);
        came = port_find(evidence, to, EVIDENCE_PORT_RX_BYTES);
        unit = "bytes";
    }
    if (!disagree(sent, came, limits.walk_share, *unit == 'p' ? limits.vanished_least : limits.vanished_least * 1500))
        return;
    problem(walk, WALK_LOST, came, "%s sent %" PRIu64 " %s and %" PRIu64 " came to %s", called(walk, from), sent->grown,
            unit, came->grown, called(walk, to));
}

/* InfiniBand: an end that waited for credits, and what was dropped at it.  A tick of waiting is a word of 4 bytes. */
static void infiniband(struct walk *walk, struct walk_link *link, unsigned e)
{
    static const enum evidence_counter kinds[] = {EVIDENCE_XMIT_DISCARDS, EVIDENCE_BUFFER_OVERRUNS,
                                                  EVIDENCE_VL15_DROPPED};
    const struct evidence *evidence = walk->evidence;
    const struct evidence_value *waits = port_find(evidence, link->end[e], EVIDENCE_XMIT_WAIT);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct evidence_value *value = port_find(evidence, link->end[e], kinds[i]);
        if (value && value->grown)
            problem(walk, WALK_DISCARDS, value, "%s: %s %" PRIu64, called(walk, link->end[e]),
                    evidence_counters[kinds[i]].name, value->grown);
    }
    if (!waits || !waits->grown) return;
    link->waits[e] = waits->grown;
    double sent = (double)port_get(evidence, link->end[e], EVIDENCE_PORT_TX_BYTES) / 4;
    double share = (double)waits->grown / ((double)waits->grown + sent);
    if (share > limits.credit_share)
        problem(walk, WALK_CREDITS, waits,
                "%s: PortXmitWait %" PRIu64 ", %.0f %% of the time that it had something to "
                "send: %s gave too few credits",
                called(walk, link->end[e]), waits->grown, share * 100, called(walk, link->end[!e]));
}

static void both_ends(struct walk *walk, struct walk_link *link)
{
    const struct evidence *evidence = walk->evidence;

    for (unsigned e = 0; e < 2; e++) {
        uint32_t port = link->end[e];
        link->bytes[e] = port_get(evidence, port, EVIDENCE_PORT_TX_BYTES);
        link->paused_frames[e] = port_sum(evidence, port, EVIDENCE_RX_PAUSE_FRAMES);
        if (!link->paused_frames[e]) link->paused_frames[e] = port_get(evidence, port, EVIDENCE_PORT_RX_PAUSE_FRAMES);
        pause_frames(walk, port, link->end[!e]);
        lost_on_cable(walk, port, link->end[!e]);
        infiniband(walk, link, e);
    }
}

/* --- settings --- */

static void settings(struct walk *walk, const struct walk_link *link)
{
    const struct evidence *evidence = walk->evidence;
    const struct evidence_value *mtu[2];
    bool host[2];

    for (unsigned e = 0; e < 2; e++) {
        mtu[e] = port_find(evidence, link->end[e], EVIDENCE_MTU);
        host[e] = device_is_host(evidence, evidence->object[link->end[e]].parent);
    }
    if (mtu[0] && mtu[1] && mtu[0]->last != mtu[1]->last) {
        unsigned small = mtu[1]->last < mtu[0]->last;
        if (!host[small]) /* a NIC may send less than its switch takes */
            problem(walk, WALK_MTU, mtu[small], "MTU %" PRIu64 " at %s and %" PRIu64 " at %s", mtu[small]->last,
                    called(walk, link->end[small]), mtu[!small]->last, called(walk, link->end[!small]));
    }
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *a = evidence_find(evidence, link->end[0], p, EVIDENCE_PFC_ON);
        const struct evidence_value *b = evidence_find(evidence, link->end[1], p, EVIDENCE_PFC_ON);
        if (a && b && !a->last != !b->last)
            problem(walk, WALK_PFC, a->last ? b : a, "PFC of priority %u is on at %s and off at %s", p,
                    called(walk, link->end[!a->last]), called(walk, link->end[!!a->last]));
    }
}

/* --- neighbours --- */

/* What LLDP says is behind the port is not what the plan, or the other neighbours, say. */
static void neighbour(struct walk *walk, const struct evidence_neighbour *said)
{
    const struct evidence *evidence = walk->evidence;
    uint32_t peer = evidence->object[said->port].peer, seen = evidence_neighbour_port(evidence, said);
    const struct evidence_value at = {.file = said->file, .line = said->line};

    if (peer == EVIDENCE_NONE || seen == peer) return;
    if (seen != EVIDENCE_NONE)
        problem(walk, WALK_NEIGHBOUR, &at, "%s sees %s, and should see %s", called(walk, said->port),
                called(walk, seen), called(walk, peer));
    else
        problem(walk, WALK_NEIGHBOUR, &at, "%s sees %s port %s, and should see %s", called(walk, said->port),
                said->device, said->port_name, called(walk, peer));
}

/* At another look, or by another command. */
static bool said_again(const struct evidence *evidence, uint32_t index, const uint32_t *next)
{
    const struct evidence_neighbour *said = &evidence->neighbour[index - 1];

    for (uint32_t i = next[index - 1]; i; i = next[i - 1]) {
        const struct evidence_neighbour *other = &evidence->neighbour[i - 1];
        if (!strcmp(said->device, other->device) && !strcmp(said->port_name, other->port_name)) return true;
    }
    return false;
}

/* --- the walk --- */

static void walk_link(struct walk *walk, uint32_t port, const uint32_t *first, const uint32_t *next)
{
    const struct evidence *evidence = walk->evidence;

    if (!more(walk, &walk->link, walk->links, sizeof walk->link[0])) return;
    struct walk_link *link = &walk->link[walk->links++];
    *link = (struct walk_link){.end = {port, evidence->object[port].peer}};
    state_of(walk, link);
    rates(walk, link);
    errors(walk, link);
    both_ends(walk, link);
    settings(walk, link);
    for (unsigned e = 0; e < 2; e++)
        for (uint32_t i = first[link->end[e]]; i; i = next[i - 1])
            if (!said_again(evidence, i, next)) neighbour(walk, &evidence->neighbour[i - 1]);
}

void walk_run(struct walk *walk, const struct evidence *evidence)
{
    *walk = (struct walk){.evidence = evidence};
    arena_init(&walk->arena, MEMORY);
    /* What LLDP says, by port: lists of indices, from 1. */
    uint32_t *first = ARENA_NEW(&walk->arena, uint32_t, evidence->objects ? evidence->objects : 1);
    uint32_t *next = ARENA_NEW(&walk->arena, uint32_t, evidence->neighbours ? evidence->neighbours : 1);
    if (!first || !next) {
        walk->full = true;
        return;
    }
    for (uint32_t i = evidence->neighbours; i-- > 0;) {
        const struct evidence_neighbour *said = &evidence->neighbour[i];
        if (said->described || said->port >= evidence->objects) continue;
        next[i] = first[said->port];
        first[said->port] = i + 1;
    }
    EACH_PORT(evidence, device, port)
    {
        bool read = evidence->object[device].looked_at;
        uint32_t peer = evidence->object[port].peer;
        if (peer == EVIDENCE_NONE || !port_speaks(evidence, port)) continue;
        if (read || evidence->object[evidence->object[peer].parent].looked_at) walk_link(walk, port, first, next);
    }
}

void walk_release(struct walk *walk)
{
    arena_release(&walk->arena);
    *walk = (struct walk){0};
}
