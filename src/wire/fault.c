/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault wire: loses, duplicates, reorders, corrupts, marks and delays what is sent through it, from a seed.
 *
 * Faults are put in on the way out, so each side of a connection has its own, and both directions suffer when both have
 * one.  The n-th packet's fate is drawn from the n-th stream of the seed: the same packets meet the same faults
 * however they were cut into bursts.  Packets that cannot go straight through (delayed, reordered, duplicated)
 * are copied to a bounded store; when it is full they are lost instead, and counted so.  A reordered packet goes
 * after the next three that are sent, or after 100 us if none follow; a duplicate goes after its original.
 *
 * Faults may be for the first packets only.  A program that ends as soon as it has what it waits for leaves its peer
 * without an answer if its last acknowledgement is the one that is lost, with hardware too; whoever wants to see
 * such programs end well lets their last packets through.
 *
 * This wire takes no runs: a run with a hole has other IP identifications than its ICRCs were computed for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "wire/wire_int.h"

#define STORE 512u
#define REORDER_BY 3u
#define NEVER UINT32_MAX
#define REORDER_PS (100 * PS_US)

struct stored {
    struct wire_packet packet;
    bool used;
    ps_t due;
    uint32_t after; /* goes earlier, when so many more were sent; NEVER: not earlier */
    uint8_t data[WIRE_PACKET_MAX];
};

struct fault_wire {
    struct wrap wrap;
    struct wire_fault fault;
    uint64_t number; /* packets taken */
    unsigned stored;
    struct stored *store;
    uint8_t scratch[WIRE_PACKET_MAX];
};

static struct fault_wire *fault_of(struct wire *wire)
{
    return (struct fault_wire *)wire;
}

static bool keep(struct fault_wire *wire, const struct wire_packet *packet, ps_t due, uint32_t after)
{
    if (wire->stored == STORE || packet->bytes > WIRE_PACKET_MAX) return false;
    for (unsigned i = 0; i < STORE; i++) {
        struct stored *stored = &wire->store[i];
        if (stored->used) continue;
        stored->packet = *packet;
        stored->packet.data = stored->data;
        memcpy(stored->data, packet->data, packet->bytes);
        stored->used = true;
        stored->due = due;
        stored->after = after;
        wire->stored++;
        return true;
    }
    return false;
}

/* Sends what is due.  What the wire has no room for stays. */
static int release(struct fault_wire *wire, ps_t now)
{
    for (unsigned i = 0; i < STORE && wire->stored; i++) {
        struct stored *stored = &wire->store[i];
        if (!stored->used || (stored->due > now && stored->after > 0)) continue;
        int rc = wire_tx(wire->wrap.inner, &stored->packet, 1, now);
        if (rc < 0) return rc;
        if (rc == 0) return 0;
        stored->used = false;
        wire->stored--;
    }
    return 0;
}

static void count_down(struct fault_wire *wire, unsigned sent)
{
    for (unsigned i = 0; i < STORE && wire->stored; i++) {
        struct stored *stored = &wire->store[i];
        if (stored->used && stored->after != NEVER) stored->after -= stored->after < sent ? stored->after : sent;
    }
}

/* What befalls one packet. */
struct fate {
    bool lost, twice, late, corrupt, delayed, marked;
    uint32_t bit; /* corrupt: any number */
};

static struct fate draw(const struct fault_wire *wire, uint64_t number)
{
    struct rng rng;
    struct fate fate = {.lost = false};
    if (wire->fault.packets && number >= wire->fault.packets) return fate;
    rng_init(&rng, wire->fault.seed, number);
    fate.lost = rng_chance(&rng, wire->fault.loss);
    fate.twice = rng_chance(&rng, wire->fault.duplicate);
    fate.late = rng_chance(&rng, wire->fault.reorder);
    fate.corrupt = rng_chance(&rng, wire->fault.corrupt);
    fate.delayed = rng_chance(&rng, wire->fault.delay_ppm);
    fate.bit = rng_u32(&rng);
    fate.marked = rng_chance(&rng, wire->fault.mark);
    return fate;
}

static bool fate_is_plain(struct fate fate)
{
    return !(fate.lost || fate.twice || fate.late || fate.corrupt || fate.delayed || fate.marked);
}

/* 1: the packet is dealt with; 0: no room now; -errno. */
static int suffer(struct fault_wire *wire, const struct wire_packet *packet, struct fate fate, ps_t now)
{
    struct wire_counters *counters = &wire->wrap.own;
    if (fate.lost) {
        counters->fault_lost++;
        return 1;
    }
    struct wire_packet copy = *packet;
    if (fate.corrupt) {
        uint32_t bit = fate.bit % (packet->bytes * 8);
        CHECK(packet->bytes <= WIRE_PACKET_MAX);
        memcpy(wire->scratch, packet->data, packet->bytes);
        wire->scratch[bit / 8] ^= (uint8_t)(1u << bit % 8);
        copy.data = wire->scratch;
    }
    /* only what says that it understands (RFC 3168); the ICRC does not cover it */
    bool capable = (copy.tos & PKT_ECN_MASK) == PKT_ECN_ECT0 || (copy.tos & PKT_ECN_MASK) == PKT_ECN_ECT1;
    if (fate.marked && capable) copy.tos |= PKT_ECN_CE;
    if (fate.late || fate.delayed) {
        ps_t due = now + (fate.delayed ? wire->fault.delay_ps : REORDER_PS);
        if (!keep(wire, &copy, due, fate.delayed ? NEVER : REORDER_BY))
            counters->fault_lost++;
        else if (fate.delayed)
            counters->fault_delayed++;
        else
            counters->fault_reordered++;
    } else {
        int rc = wire_tx(wire->wrap.inner, &copy, 1, now);
        if (rc <= 0) return rc;
    }
    if (fate.corrupt) counters->fault_corrupted++;
    if (fate.marked && capable) counters->fault_marked++;
    if (fate.twice && keep(wire, &copy, now, 0)) counters->fault_duplicated++;
    return 1;
}

static ps_t earliest(const struct fault_wire *wire)
{
    ps_t due = PS_NEVER;
    for (unsigned i = 0; i < STORE && wire->stored; i++)
        if (wire->store[i].used && wire->store[i].due < due) due = wire->store[i].due;
    return due;
}

/* After each call: counters, and when the next is wanted. */
static int conclude(struct fault_wire *wire, int rc)
{
    wrap_count(&wire->wrap, rc);
    if (wire->stored == 0) return rc;
    ps_t due = earliest(wire), inner = wire->wrap.wire.due;
    wire->wrap.wire.due = inner && inner < due ? inner : due;
    return rc;
}

static int fault_tx(struct wire *base, const struct wire_packet *packet, unsigned count, ps_t now)
{
    struct fault_wire *wire = fault_of(base);
    unsigned taken = 0;
    if (packet->pause) return conclude(wire, wire_tx(wire->wrap.inner, packet, count, now));
    int rc = release(wire, now);
    while (rc >= 0 && taken < count) {
        unsigned plain = 0;
        struct fate fate = {0};
        while (taken + plain < count && fate_is_plain(fate = draw(wire, wire->number + plain)))
            plain++;
        if (plain > 0) {
            rc = wire_tx(wire->wrap.inner, packet + taken, plain, now);
        } else {
            rc = suffer(wire, &packet[taken], fate, now);
            plain = 1;
        }
        if (rc <= 0) break;
        taken += (unsigned)rc;
        wire->number += (unsigned)rc;
        count_down(wire, (unsigned)rc);
        bool full = (unsigned)rc < plain;
        rc = release(wire, now);
        if (full) break;
    }
    if (rc == -EAGAIN) rc = 0;
    return conclude(wire, rc < 0 && taken == 0 ? rc : (int)taken);
}

static int fault_rx(struct wire *base, struct wire_packet *ret, unsigned max, ps_t now)
{
    struct fault_wire *wire = fault_of(base);
    if (wire->stored) release(wire, now);
    return conclude(wire, wire_rx(wire->wrap.inner, ret, max, now));
}

static ps_t fault_deadline(struct wire *base)
{
    struct fault_wire *wire = fault_of(base);
    ps_t inner = wrap_deadline(base), own = earliest(wire);
    return own < inner ? own : inner;
}

static void fault_close(struct wire *base)
{
    struct fault_wire *wire = fault_of(base);
    wire_close(wire->wrap.inner);
    free(wire->store);
    free(wire);
}

static const struct wire_ops fault_ops = {
    .rx = fault_rx,
    .tx = fault_tx,
    .fd = wrap_fd,
    .deadline = fault_deadline,
    .add_address = wrap_add_address,
    .remove_address = wrap_remove_address,
    .close = fault_close,
};

int wire_fault_open(struct wire *inner, const struct wire_fault *fault, struct wire **ret)
{
    struct fault_wire *wire = calloc(1, sizeof *wire);
    struct stored *store = calloc(STORE, sizeof *store);
    if (!wire || !store) {
        free(wire);
        free(store);
        return -ENOMEM;
    }
    wrap_init(&wire->wrap, &fault_ops, inner);
    wire->wrap.wire.run_max = 1;
    wire->wrap.wire.no_icrc = false; /* what is damaged here must be found out there */
    wire->fault = *fault;
    wire->store = store;
    *ret = &wire->wrap.wire;
    return 0;
}

/* --- the text --- */

static int parse_delay(char *value, struct wire_fault *fault, const char **why)
{
    uint64_t time, share = 1000000;
    char *at = strchr(value, '@');
    if (at) *at = '\0';
    if (unit_parse(UNIT_TIME, value, &time, why) < 0) return -EINVAL;
    if (at && unit_parse(UNIT_SHARE, at + 1, &share, why) < 0) return -EINVAL;
    if (share > 1000000) {
        *why = "more than 100%";
        return -EINVAL;
    }
    fault->delay_ps = time;
    fault->delay_ppm = (uint32_t)share;
    return 0;
}

static int parse_item(const char *name, char *value, struct wire_fault *fault, const char **why)
{
    const struct {
        const char *name;
        uint32_t *ppm;
    } shares[] = {{"loss", &fault->loss},
                  {"duplicate", &fault->duplicate},
                  {"reorder", &fault->reorder},
                  {"corrupt", &fault->corrupt},
                  {"mark", &fault->mark}};
    if (strcmp(name, "delay") == 0) return parse_delay(value, fault, why);
    if (strcmp(name, "seed") == 0) {
        fault->seeded = true;
        return unit_parse(UNIT_COUNT, value, &fault->seed, why);
    }
    if (strcmp(name, "packets") == 0) {
        *why = "a number of at least 1 is due";
        uint64_t packets;
        if (unit_parse(UNIT_COUNT, value, &packets, why) < 0 || packets == 0) return -EINVAL;
        fault->packets = packets;
        return 0;
    }
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        uint64_t share;
        if (strcmp(name, shares[i].name) != 0) continue;
        if (unit_parse(UNIT_SHARE, value, &share, why) < 0) return -EINVAL;
        *why = "more than 100%";
        if (share > 1000000) return -EINVAL;
        *shares[i].ppm = (uint32_t)share;
        return 0;
    }
    *why = "no such fault: loss, duplicate, reorder, corrupt, mark (a share, 1%), delay (10us@5%), seed, packets (a "
           "number)";
    return -EINVAL;
}

int wire_fault_parse(const char *text, struct wire_fault *ret, char *why, size_t why_bytes)
{
    struct wire_fault fault = {.seed = 1};
    while (*text) {
        char item[64];
        const char *reason = "NAME=VALUE is expected";
        size_t length = strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), text);
        char *equal = strchr(item, '=');
        if (equal) *equal = '\0';
        if (!equal || length >= sizeof item || parse_item(item, equal + 1, &fault, &reason) < 0) {
            if (why_bytes) snprintf(why, why_bytes, "%.*s: %s", (int)length, text, reason);
            return -EINVAL;
        }
        text += length;
        if (*text == ',') text++;
    }
    *ret = fault;
    return 0;
}
