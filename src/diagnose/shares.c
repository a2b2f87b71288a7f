/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of time: what counters of pauses and bytes are worth.
 *
 * Pause frames are no measure of time.  One XOFF lasts at most 65535 times 512 bit times; so many of them are at
 * most so much of the interval, and no more is known.  A pause is seen on two counters of one cable: where one end
 * does not count, the other's is taken.
 */
#include "diagnose/graph_int.h"

#include "fabric/fabric.h"

#define LINE_OVERHEAD 24.0 /* FCS, preamble and gap of a frame, which counters of queues leave out */

uint64_t line_rate(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_object *object = &evidence->object[port];
    uint64_t rate = evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE);

    if (!rate) rate = evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_FULL_RATE);
    if (!rate && evidence->fabric && object->fabric != EVIDENCE_NONE)
        rate = evidence->fabric->port[object->fabric].rate_bps;
    if (!rate && object->peer != EVIDENCE_NONE)
        rate = evidence_get(evidence, object->peer, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE);
    return rate;
}

double span_s(const struct diagnose *diagnose)
{
    return evidence_seconds(diagnose->evidence);
}

static double at_most(double share)
{
    return share > 1 ? 1 : share;
}

/* What a counter grew by a second, in units of `one`: 1 is all the time. */
static struct share of_time(const struct evidence_value *value, double one, double most)
{
    struct share share = {.known = true, .from = value};
    double span = evidence_span_s(value), last = evidence_lately_s(value);

    share.since_boot = value->looks < 2 || value->untimed; /* which queue more than which, and no more */
    if (share.since_boot)
        share.value = most > 0 ? (double)value->grown / most : 0;
    else if (span > 0)
        share.value = at_most((double)value->grown * one / span);
    share.lately = share.value;
    if (value->looks > 2 && last > 0) share.lately = at_most((double)(value->grown - value->grown_before) * one / last);
    if (share.since_boot) share.lately = 0;
    return share;
}

static struct share by_time(const struct diagnose *diagnose, const struct evidence_value *time)
{
    return of_time(time, 1e-9, diagnose->graph->most_ns);
}

static struct share by_frames(const struct diagnose *diagnose, const struct evidence_value *frames)
{
    uint64_t rate = line_rate(diagnose, frames->object);
    struct share share = of_time(frames, rate ? GRAPH_QUANTA_BITS / (double)rate : 0, diagnose->graph->most_frames);

    share.bound = true;
    return share;
}

static double larger(uint64_t a, uint64_t b)
{
    return (double)(a > b ? a : b);
}

void shares_prepare(struct diagnose *diagnose)
{
    const struct diagnose_counter *of = diagnose->counters;

    diagnose->graph->most_ns = larger(of[EVIDENCE_RX_PAUSE_NS].most, of[EVIDENCE_TX_PAUSE_NS].most);
    diagnose->graph->most_frames = larger(of[EVIDENCE_RX_PAUSE_FRAMES].most, of[EVIDENCE_TX_PAUSE_FRAMES].most);
}

/* Frames of a system that does not say of which priority: they are of the one that is lossless, if it is one. */
static struct share port_share(const struct diagnose *diagnose, uint32_t port, unsigned priority, bool received)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;
    const struct evidence_value *value;

    if (priority >= EVIDENCE_PRIORITIES || !diagnose->graph || diagnose->graph->lossless != 1u << priority)
        return (struct share){0};
    value = evidence_find(evidence, port, EVIDENCE_NO_PRIORITY,
                          received ? EVIDENCE_PORT_RX_PAUSE_FRAMES : EVIDENCE_PORT_TX_PAUSE_FRAMES);
    if (!value && peer != EVIDENCE_NONE)
        value = evidence_find(evidence, peer, EVIDENCE_NO_PRIORITY,
                              received ? EVIDENCE_PORT_TX_PAUSE_FRAMES : EVIDENCE_PORT_RX_PAUSE_FRAMES);
    return value ? by_frames(diagnose, value) : (struct share){0};
}

/* Of this end, then of the other one; durations before frames. */
static struct share pause_share(const struct diagnose *diagnose, uint32_t port, unsigned priority, bool received)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;
    const struct evidence_value *value;

    if ((value = evidence_find(evidence, port, priority, received ? EVIDENCE_RX_PAUSE_NS : EVIDENCE_TX_PAUSE_NS)))
        return by_time(diagnose, value);
    if (peer != EVIDENCE_NONE &&
        (value = evidence_find(evidence, peer, priority, received ? EVIDENCE_TX_PAUSE_NS : EVIDENCE_RX_PAUSE_NS)))
        return by_time(diagnose, value);
    if ((value =
             evidence_find(evidence, port, priority, received ? EVIDENCE_RX_PAUSE_FRAMES : EVIDENCE_TX_PAUSE_FRAMES)))
        return by_frames(diagnose, value);
    if (peer != EVIDENCE_NONE &&
        (value =
             evidence_find(evidence, peer, priority, received ? EVIDENCE_TX_PAUSE_FRAMES : EVIDENCE_RX_PAUSE_FRAMES)))
        return by_frames(diagnose, value);
    return port_share(diagnose, port, priority, received);
}

struct share share_paused(const struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    return pause_share(diagnose, port, priority, true);
}

struct share share_pausing(const struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    return pause_share(diagnose, port, priority, false);
}

/* Bytes, of one counter or of several, as a share of the line. */
struct sent {
    const struct evidence_value *from; /* the one that grew most */
    double grown, lately;
};

static void add_sent(struct sent *sent, const struct evidence_value *bytes, const struct evidence_value *packets)
{
    double line = packets ? LINE_OVERHEAD : 0;

    if (!bytes) return;
    if (!sent->from || bytes->grown > sent->from->grown) sent->from = bytes;
    sent->grown += (double)bytes->grown + (packets ? line * (double)packets->grown : 0);
    sent->lately += (double)(bytes->grown - bytes->grown_before) +
                    (packets ? line * (double)(packets->grown - packets->grown_before) : 0);
}

/* What a port sent: by its own counter, by that of the other end, by those of its priorities. */
static struct sent sent_by(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    struct sent sent = {0};

    add_sent(&sent, evidence_find(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_BYTES), NULL);
    if (!sent.from && peer != EVIDENCE_NONE)
        add_sent(&sent, evidence_find(evidence, peer, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_BYTES), NULL);
    if (sent.from) return sent;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        add_sent(&sent, evidence_find(evidence, port, p, EVIDENCE_TX_BYTES),
                 evidence_find(evidence, port, p, EVIDENCE_TX_PACKETS));
    return sent;
}

struct share share_busy(const struct diagnose *diagnose, uint32_t port)
{
    struct sent sent = sent_by(diagnose->evidence, port);
    uint64_t rate = line_rate(diagnose, port);
    struct share share = {0};

    if (!sent.from || !rate || evidence_span_s(sent.from) <= 0) return share;
    share.known = true;
    share.from = sent.from;
    share.value = at_most(sent.grown * 8 / (double)rate / evidence_span_s(sent.from));
    share.lately = share.value;
    if (sent.from->looks > 2 && evidence_lately_s(sent.from) > 0)
        share.lately = at_most(sent.lately * 8 / (double)rate / evidence_lately_s(sent.from));
    return share;
}

bool is_lossless(const struct diagnose *diagnose, unsigned priority)
{
    return priority < EVIDENCE_PRIORITIES && diagnose->graph->lossless >> priority & 1;
}
