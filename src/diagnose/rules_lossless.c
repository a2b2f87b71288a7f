/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D08: loss in a lossless class.
 *
 * A lossless group drops because the peer went on sending.  Either the peer was never told, or did not obey: PFC is off
 * at one end, or on for another priority.  Or it obeyed, and what was still under way was more than the headroom; or
 * the memory that headroom and groups share was used up.  Counters of the pauses at both ends tell them apart.
 */
#include <inttypes.h>

#include "diagnose/nics_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

enum why { HEADROOM_USED, PEER_DEAF, OWN_OFF, NEVER_PAUSED, POOL, PAUSED, FULL, NOT_KNOWN };

struct drop {
    uint32_t port;
    unsigned priority; /* EVIDENCE_NO_PRIORITY: of the port */
    uint64_t count;
    const struct evidence_value *from;
};

/* --- PFC at a port --- */

/* 1 on, 0 off, -1 not known; *from: the counter that says it, or NULL where the fabric file does. */
static int pfc_at(const struct evidence *evidence, uint32_t port, unsigned priority, const struct evidence_value **from)
{
    const struct evidence_object *object = &evidence->object[port];

    *from = evidence_find(evidence, port, priority, EVIDENCE_PFC_ON);
    if (!*from) *from = port_find(evidence, port, EVIDENCE_PFC_ON);
    if (*from) return (*from)->last != 0;
    if (priority >= EVIDENCE_PRIORITIES || !evidence->fabric || object->fabric == EVIDENCE_NONE) return -1;
    if (evidence_is_host(evidence, object->parent)) return -1;
    const struct fabric_settings *settings =
        &evidence->fabric->settings[evidence->fabric->port[object->fabric].settings];
    return settings->pfc_rx >> priority & 1;
}

/* Pause frames, of a system that counts them by priority or by port. */
static const struct evidence_value *frames_at(const struct evidence *evidence, uint32_t port, unsigned priority,
                                              bool tx)
{
    const struct evidence_value *value = NULL;

    if (priority < EVIDENCE_PRIORITIES)
        value = evidence_find(evidence, port, priority, tx ? EVIDENCE_TX_PAUSE_FRAMES : EVIDENCE_RX_PAUSE_FRAMES);
    return value ? value
                 : port_find(evidence, port, tx ? EVIDENCE_PORT_TX_PAUSE_FRAMES : EVIDENCE_PORT_RX_PAUSE_FRAMES);
}

/* The peer was told to pause and stood still for next to no time, or never had a queue. */
static bool peer_went_on(const struct diagnose *diagnose, const struct drop *drop, const struct evidence_value **from)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[drop->port].peer;
    const struct evidence_value *told, *stood, *queue, *room;

    *from = NULL;
    if (peer == EVIDENCE_NONE || drop->priority >= EVIDENCE_PRIORITIES) return false;
    told = evidence_find(evidence, drop->port, drop->priority, EVIDENCE_TX_PAUSE_NS);
    stood = evidence_find(evidence, peer, drop->priority, EVIDENCE_RX_PAUSE_NS);
    if (told && stood && told->grown) {
        *from = stood;
        return (double)stood->grown < diagnose->limits.obeyed_share * (double)told->grown;
    }
    told = frames_at(evidence, drop->port, drop->priority, true);
    stood = frames_at(evidence, peer, drop->priority, false);
    if (told && stood && told->grown && !stood->grown) {
        *from = stood;
        return true;
    }
    if (!told || !told->grown) return false;
    if (evidence_find(evidence, peer, drop->priority, EVIDENCE_RX_PAUSE_NS)) {
        *from = evidence_find(evidence, peer, drop->priority, EVIDENCE_RX_PAUSE_NS);
        return (*from)->grown == 0;
    }
    queue = evidence_find(evidence, peer, drop->priority, EVIDENCE_QUEUE_PEAK);
    room = evidence_find(evidence, drop->port, drop->priority, EVIDENCE_HEADROOM_PEAK);
    if (!queue || !room) return false;
    *from = queue;
    return queue->last < room->last / 2; /* less ever waited there than came after the pause */
}

/* --- why --- */

static enum why by_headroom(const struct diagnose *diagnose, const struct drop *drop)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_object *object = &evidence->object[drop->port];
    const struct evidence_value *peak = evidence_find(evidence, drop->port, drop->priority, EVIDENCE_HEADROOM_PEAK);
    uint64_t limit = evidence_get(evidence, drop->port, drop->priority, EVIDENCE_HEADROOM_LIMIT);

    if (!limit && drop->priority < EVIDENCE_PRIORITIES && evidence->fabric && object->fabric != EVIDENCE_NONE)
        limit = evidence->fabric->settings[evidence->fabric->port[object->fabric].settings]
                    .pg[drop->priority]
                    .headroom_bytes;
    if (!peak) return NOT_KNOWN;
    if (!limit) return peak->last ? HEADROOM_USED : NOT_KNOWN;
    return (double)peak->last >= diagnose->limits.headroom_share * (double)limit ? HEADROOM_USED : POOL;
}

static enum why why_dropped(const struct diagnose *diagnose, const struct drop *drop,
                            const struct evidence_value **from)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[drop->port].peer;
    const struct evidence_value *told = frames_at(evidence, drop->port, drop->priority, true);
    bool out = drop->from && drop->from->counter == EVIDENCE_QUEUE_DROPS;
    struct share paused = share_paused(diagnose, drop->port, drop->priority);

    if (out && paused.value > diagnose->limits.standing_share) {
        *from = paused.from;
        return PAUSED;
    }
    if (pfc_at(evidence, drop->port, drop->priority, from) == 0) return OWN_OFF;
    if (peer != EVIDENCE_NONE && pfc_at(evidence, peer, drop->priority, from) == 0) return PEER_DEAF;
    if (peer_went_on(diagnose, drop, from)) return PEER_DEAF;
    if (out && drop->from->looks < 2) { /* what was sent out has no pauses to its own peer */
        *from = evidence_find(evidence, drop->port, drop->priority, EVIDENCE_MARKED);
        return FULL;
    }
    *from = told;
    if (told && !told->grown && !evidence_get(evidence, drop->port, drop->priority, EVIDENCE_TX_PAUSE_NS))
        return NEVER_PAUSED;
    *from = NULL;
    return by_headroom(diagnose, drop);
}

static struct diagnose_finding *say(struct diagnose *diagnose, const struct drop *drop, enum why why)
{
    static const char *const reason[] = {
        [HEADROOM_USED] = "its headroom was used up: it is too small for cable, MTU and rate",
        [PEER_DEAF] = "the other end of its cable went on sending: PFC is off there, or on for another priority",
        [OWN_OFF] = "PFC is off on it",
        [NEVER_PAUSED] = "it never paused its peer: PFC is off on it, or on for another priority",
        [POOL] = "headroom was left: the memory that groups share was used up, or is too small",
        [PAUSED] = "its queue stood still because its peer paused it: it is full, or a watchdog cut it off",
        [FULL] =
            "its queue was full: more was sent to it than its line carries, and nobody stopped the senders in time",
        [NOT_KNOWN] = "it paused its peer: headroom or shared memory was used up, or PFC is off at the other end",
    };
    uint32_t culprit = why == PEER_DEAF ? diagnose->evidence->object[drop->port].peer : drop->port;

    if (drop->priority < EVIDENCE_PRIORITIES)
        return finding_new(diagnose, DIAGNOSE_D08, culprit, drop->priority,
                           "%s dropped %" PRIu64 " packets of lossless priority %u, and %s",
                           name_of(diagnose, drop->port), drop->count, drop->priority, reason[why]);
    return finding_new(diagnose, DIAGNOSE_D08, culprit, EVIDENCE_NO_PRIORITY,
                       "%s%s dropped %" PRIu64 " packets, and %s", name_of(diagnose, drop->port),
                       why == NEVER_PAUSED ? "" : ", which pauses,", drop->count, reason[why]);
}

/* The port says itself that it asked for PFC and was not answered. */
static bool not_agreed_event(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; finding && i < evidence->events; i++) {
        if (evidence->event[i].kind != EVIDENCE_EVENT_PFC_NOT_AGREED || evidence->event[i].object != port) continue;
        finding_event(diagnose, finding, &evidence->event[i]);
        return true;
    }
    return false;
}

static void report(struct diagnose *diagnose, const struct drop *drop)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *from, *peak, *limit, *told;
    enum why why = why_dropped(diagnose, drop, &from);
    struct diagnose_finding *finding = say(diagnose, drop, why);

    finding_counter(diagnose, finding, drop->from, 0);
    finding_counter(diagnose, finding, from, 0);
    peak = evidence_find(evidence, drop->port, drop->priority, EVIDENCE_HEADROOM_PEAK);
    limit = evidence_find(evidence, drop->port, drop->priority, EVIDENCE_HEADROOM_LIMIT);
    if (peak) finding_counter(diagnose, finding, peak, limit ? (double)limit->last : 0);
    told = frames_at(evidence, drop->port, drop->priority, true);
    if (told && told != from && told->grown) finding_counter(diagnose, finding, told, 0);
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    bool guess =
        why == NOT_KNOWN || (why == NEVER_PAUSED && drop->from && drop->from->counter == EVIDENCE_PORT_RX_DROPS);
    finding_weak_unless(finding, finding && finding->evidences > 1 && !guess);
    if (why == OWN_OFF && not_agreed_event(diagnose, finding, drop->port)) finding->now = true;
    /* Memory fills where queues stand still: what made them stand is the cause. */
    struct share pausing = share_pausing(diagnose, drop->port, drop->priority);
    bool stands = pausing.value > diagnose->limits.standing_share && !(pausing.bound && finding && finding->victims);
    if (finding && (why == PAUSED || (stands && (why == POOL || why == NOT_KNOWN))))
        finding->severity = DIAGNOSE_WARNING;
    if (why == NOT_KNOWN)
        missing_add(diagnose, "headroom of %s (watermark and size), and PFC of both ends of its cable",
                    name_of(diagnose, drop->port));
}

/* --- what was dropped --- */

static bool port_went_down(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;

    return port_get(evidence, port, EVIDENCE_LINK_DOWN) ||
           (peer != EVIDENCE_NONE && port_get(evidence, peer, EVIDENCE_LINK_DOWN));
}

/* Drops of a lossless group or queue that nothing else at the port explains. */
static struct drop by_priority(const struct evidence *evidence, uint32_t port, unsigned priority)
{
    struct drop drop = {port, priority, 0, NULL};
    const struct evidence_value *group = evidence_find(evidence, port, priority, EVIDENCE_GROUP_DROPS);
    const struct evidence_value *queue = evidence_find(evidence, port, priority, EVIDENCE_QUEUE_DROPS);
    uint64_t other = port_get(evidence, port, EVIDENCE_MTU_DROPS) + port_get(evidence, port, EVIDENCE_ROUTE_DROPS) +
                     evidence_get(evidence, port, priority, EVIDENCE_WATCHDOG_DROPS);

    /* What waits for a port that goes down is dropped at its queue. */
    if (port_went_down(evidence, port)) queue = NULL;
    drop.from = group && group->grown ? group : queue;
    drop.count = (group ? group->grown : 0) + (queue ? queue->grown : 0);
    drop.count = drop.count > other ? drop.count - other : 0;
    return drop;
}

/* It paused nobody and dropped much of what arrived, NICs sent again, and other ports do pause.  Not where routes or
 * links may have changed: such drops are others. */
static bool never_paused(const struct diagnose *diagnose, uint32_t port, const struct evidence_value *drops)
{
    const struct evidence *evidence = diagnose->evidence;
    const uint64_t *total = diagnose->total;
    const struct evidence_value *told = port_find(evidence, port, EVIDENCE_PORT_TX_PAUSE_FRAMES);
    uint64_t packets = port_get(evidence, port, EVIDENCE_PORT_RX_PACKETS);
    uint32_t peer = evidence->object[port].peer;
    bool host = peer != EVIDENCE_NONE && device_is_host(evidence, evidence->object[peer].parent);

    for (unsigned p = 0; !told && p < EVIDENCE_PRIORITIES; p++)
        told = evidence_find(evidence, port, p, EVIDENCE_TX_PAUSE_FRAMES);
    if (!told || !drops || drops->looks < 2 || total[EVIDENCE_LINK_DOWN] || total[EVIDENCE_ROUTE_DROPS]) return false;
    if (!total[EVIDENCE_PORT_TX_PAUSE_FRAMES] && !total[EVIDENCE_TX_PAUSE_FRAMES]) return false;
    if (host ? !nic_resent(evidence, peer) : !nics_resend(diagnose)) return false;
    EACH_PORT(evidence, device, other)
    {
        if (link_was_lost(evidence, other)) return false;
    }
    return packets && (double)drops->grown >= diagnose->limits.no_pfc_share * (double)packets;
}

/* Drops that the port does not give to a priority, where it pauses its peer, or should have. */
static struct drop by_port(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *all = port_find(evidence, port, EVIDENCE_PORT_DROPS);
    const struct evidence_value *in = port_find(evidence, port, EVIDENCE_PORT_RX_DROPS);
    struct drop drop = {port, EVIDENCE_NO_PRIORITY, 0, in && in->grown ? in : all};
    uint64_t known = port_sum(evidence, port, EVIDENCE_QUEUE_DROPS) + port_sum(evidence, port, EVIDENCE_GROUP_DROPS) +
                     port_sum(evidence, port, EVIDENCE_WATCHDOG_DROPS) + port_get(evidence, port, EVIDENCE_MTU_DROPS) +
                     port_get(evidence, port, EVIDENCE_ROUTE_DROPS);
    uint64_t pauses = port_get(evidence, port, EVIDENCE_PORT_TX_PAUSE_FRAMES) +
                      port_sum(evidence, port, EVIDENCE_TX_PAUSE_FRAMES) +
                      port_sum(evidence, port, EVIDENCE_TX_PAUSE_NS);

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (evidence_find(evidence, port, p, EVIDENCE_GROUP_DROPS)) return drop; /* groups are counted: it was none */
    if (!drop.from || drop.from->grown <= known) return drop;
    if (pauses || (in && in->grown && never_paused(diagnose, port, in))) drop.count = drop.from->grown - known;
    return drop;
}

/* A watchdog that acts drops, and says so: the storm is the cause. */
static bool watchdog_acted(const struct evidence *evidence, uint32_t device)
{
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (port_sum(evidence, port, EVIDENCE_WATCHDOG_DETECTED)) return true;
    }
    return false;
}

static void look_at(struct diagnose *diagnose, uint32_t port, const bool lossless[EVIDENCE_PRIORITIES])
{
    const struct evidence *evidence = diagnose->evidence;
    bool found = false;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        struct drop drop = lossless[p] ? by_priority(evidence, port, p) : (struct drop){0};
        if (!drop.count) continue;
        report(diagnose, &drop);
        found = true;
    }
    struct drop drop = by_port(diagnose, port);
    if (!found && drop.count) {
        /* The only lossless priority there is, is the one. */
        unsigned only = EVIDENCE_NO_PRIORITY, many = 0;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            if (lossless[p]) only = p, many++;
        if (many == 1) drop.priority = only;
        report(diagnose, &drop);
    }
}

/* --- PFC that was not agreed on, without a drop that anybody counted --- */

/* A counter of pause frames of a port, or of a priority of it, that says its PFC is off; *off: where. */
static const struct evidence_value *frames_while_off(const struct diagnose *diagnose, uint32_t port,
                                                     const struct evidence_value **off)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *frames;
    bool some_on = false;

    *off = port_find(evidence, port, EVIDENCE_PFC_ON);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *one = evidence_find(evidence, port, p, EVIDENCE_PFC_ON);
        if (!one) continue;
        some_on |= one->last != 0;
        if (one->last) continue;
        if (!*off || diagnose->counters[EVIDENCE_PFC_ON].priorities >> p & 1)
            *off = one; /* rather one that is on elsewhere */
        for (int tx = 0; tx < 2; tx++) {
            frames = evidence_find(evidence, port, p, tx ? EVIDENCE_TX_PAUSE_FRAMES : EVIDENCE_RX_PAUSE_FRAMES);
            if (!frames || !frames->grown) continue;
            *off = one;
            return frames;
        }
    }
    if (!*off || (*off)->last || some_on) return NULL; /* whose priority frames of the port are of is not known */
    frames = port_find(evidence, port, EVIDENCE_PORT_TX_PAUSE_FRAMES);
    if (!frames || !frames->grown) frames = port_find(evidence, port, EVIDENCE_PORT_RX_PAUSE_FRAMES);
    return frames && frames->grown ? frames : NULL;
}

static void not_agreed(struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *off, *frames = frames_while_off(diagnose, port, &off);

    if (!frames || rule_found(diagnose, DIAGNOSE_D08, port) || device_is_host(evidence, evidence->object[port].parent))
        return;
    struct diagnose_finding *finding = finding_new(diagnose, DIAGNOSE_D08, port, frames->priority,
                                                   "PFC is off on %s, which counts %" PRIu64
                                                   " pause frames: the ends of its cable did not agree on it",
                                                   name_of(diagnose, port), frames->grown);
    finding_counter(diagnose, finding, off, 1);
    finding_counter(diagnose, finding, frames, 0);
    finding_resenders(diagnose, finding, port);
    finding_weak_unless(finding, false);
    if (!finding) return;
    if (!finding->victims) finding->severity = DIAGNOSE_WARNING;
    if (not_agreed_event(diagnose, finding, port)) finding->now = true;
}

static bool something_dropped(const struct diagnose *diagnose)
{
    static const enum evidence_counter drops[] = {EVIDENCE_GROUP_DROPS, EVIDENCE_QUEUE_DROPS, EVIDENCE_PORT_DROPS,
                                                  EVIDENCE_PORT_RX_DROPS};

    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++)
        if (diagnose->total[drops[i]]) return true;
    return false;
}

void rule_D08(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool lossless[EVIDENCE_PRIORITIES];

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        lossless[p] = is_lossless(diagnose, p);
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!something_dropped(diagnose)) break;
        if (device_is_host(evidence, device) || watchdog_acted(evidence, device)) continue;
        EVIDENCE_EACH_PORT(evidence, device, port)
        {
            if (!link_is_down(evidence, port)) look_at(diagnose, port, lossless);
        }
    }
    static const enum evidence_counter frames[] = {EVIDENCE_TX_PAUSE_FRAMES, EVIDENCE_RX_PAUSE_FRAMES,
                                                   EVIDENCE_PORT_TX_PAUSE_FRAMES, EVIDENCE_PORT_RX_PAUSE_FRAMES};
    bool paused = false;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++)
        paused |= diagnose->total[frames[i]] != 0;
    if (paused) EACH_PORT(evidence, device, port) not_agreed(diagnose, port);
    lossless_seen(diagnose);
}
