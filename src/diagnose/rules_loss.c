/* SPDX-License-Identifier: Apache-2.0 */
/* Lines: wrong bits, links that come and go; and frames that are larger than an MTU. */
#include <inttypes.h>

#include "diagnose/nics_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define RESET_LISTED 4 /* links of a switch that was reset */

/* --- D13: wrong bits --- */

/* Packets that one end sent and the other did not get, where NICs were told of gaps: of a stream that goes on.
 * Where all that is sent is lost timers run out, and the path is (D14). */
static bool loses_some(const struct diagnose *diagnose)
{
    return diagnose->total[EVIDENCE_SEQUENCE_NAKS] || diagnose->total[EVIDENCE_OUT_OF_SEQUENCE];
}

/* Of what the other end sent, frames that never arrived: the line says so (a simulation's), or both ends count.  What
 * is under way when a link goes down is lost, and no fault of the line. */
static uint64_t lost_frames(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;

    if (peer == EVIDENCE_NONE || port_get(evidence, port, EVIDENCE_LINK_DOWN) ||
        port_get(evidence, peer, EVIDENCE_LINK_DOWN))
        return 0;
    uint64_t lost = port_get(evidence, peer, EVIDENCE_LINE_LOST);
    return lost || !loses_some(diagnose) ? lost : cable_lost(diagnose, port);
}

/* Frames that arrived wrong.  FEC's codewords and the frames in them are two views of the same. */
static uint64_t spoilt_frames(const struct evidence *evidence, uint32_t port)
{
    uint64_t crc = port_get(evidence, port, EVIDENCE_CRC_ERRORS);
    uint64_t fec = port_get(evidence, port, EVIDENCE_FEC_UNCORRECTED);

    return crc > fec ? crc : fec;
}

/* Those, and those that never arrived. */
static uint64_t wrong_frames(const struct diagnose *diagnose, uint32_t port)
{
    uint64_t spoilt = spoilt_frames(diagnose->evidence, port), lost = lost_frames(diagnose, port);

    return spoilt > lost ? spoilt : lost;
}

/* Frames that arrived, by this end or by what the other sent; 0: nobody says it. */
static uint64_t frames_received(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    uint64_t frames = port_get(evidence, port, EVIDENCE_PORT_RX_PACKETS);

    if (!frames) frames = port_sum(evidence, port, EVIDENCE_RX_PACKETS);
    if (!frames && peer != EVIDENCE_NONE) frames = port_get(evidence, peer, EVIDENCE_PORT_TX_PACKETS);
    return frames;
}

/* The end of the cable that receives worse. */
static uint32_t worse_end(const struct diagnose *diagnose, uint32_t port)
{
    uint32_t peer = diagnose->evidence->object[port].peer;

    return peer != EVIDENCE_NONE && wrong_frames(diagnose, peer) > wrong_frames(diagnose, port) ? peer : port;
}

static double bits_wrong(const struct evidence *evidence, uint32_t port)
{
    const struct evidence_value *ber = port_find(evidence, port, EVIDENCE_PRE_FEC_BER);

    return ber ? ber->real : 0;
}

/* What says that frames from one port to another were lost: the line, or both ends' counts. */
static unsigned add_lost(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t from, uint32_t to)
{
    const struct evidence_value *line = port_find(diagnose->evidence, from, EVIDENCE_LINE_LOST);
    const struct evidence_value *sent = port_find(diagnose->evidence, from, EVIDENCE_PORT_TX_PACKETS);

    if (line) {
        finding_counter(diagnose, finding, line, 0);
        return 1;
    }
    finding_counter(diagnose, finding, sent, 0);
    finding_counter(diagnose, finding, port_find(diagnose->evidence, to, EVIDENCE_PORT_RX_PACKETS),
                    (double)sent->grown);
    return 2;
}

static void bad_cable(struct diagnose *diagnose, uint32_t port, uint64_t wrong, uint64_t frames)
{
    static const enum evidence_counter listed[] = {EVIDENCE_CRC_ERRORS, EVIDENCE_FEC_UNCORRECTED,
                                                   EVIDENCE_SYMBOL_ERRORS};
    const struct evidence *evidence = diagnose->evidence;
    const struct diagnose_limits *limits = &diagnose->limits;
    struct diagnose_finding *finding;

    if (!wrong)
        finding = finding_new(diagnose, DIAGNOSE_D13, port, EVIDENCE_NO_PRIORITY,
                              "%.1e of the bits that arrive at %s are wrong before FEC, which puts %.1e right",
                              bits_wrong(evidence, port), name_of(diagnose, port), limits->fec_ber);
    else if (wrong > spoilt_frames(evidence, port))
        finding = finding_new(diagnose, DIAGNOSE_D13, port, EVIDENCE_NO_PRIORITY,
                              "%" PRIu64 " of %" PRIu64 " frames that were sent to %s did not arrive", wrong,
                              frames + wrong, name_of(diagnose, port));
    else if (frames)
        finding = finding_new(diagnose, DIAGNOSE_D13, port, EVIDENCE_NO_PRIORITY,
                              "%" PRIu64 " of %" PRIu64 " frames that arrived at %s had wrong bits", wrong,
                              frames + wrong, name_of(diagnose, port));
    else
        finding = finding_new(diagnose, DIAGNOSE_D13, port, EVIDENCE_NO_PRIORITY,
                              "%" PRIu64 " frames that arrived at %s had wrong bits", wrong, name_of(diagnose, port));
    uint32_t end[2] = {port, evidence->object[port].peer};
    unsigned seen = 0;
    for (size_t e = 0; e < 2 && end[e] != EVIDENCE_NONE; e++) {
        bool lost = end[!e] != EVIDENCE_NONE && lost_frames(diagnose, end[!e]) > spoilt_frames(evidence, end[!e]);
        for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
            if (!port_get(evidence, end[e], listed[i])) continue;
            finding_counter(diagnose, finding, port_find(evidence, end[e], listed[i]), 0);
            seen++;
        }
        if (lost) seen += add_lost(diagnose, finding, end[e], end[!e]);
        if (bits_wrong(evidence, end[e]) > limits->fec_ber) {
            finding_counter(diagnose, finding, port_find(evidence, end[e], EVIDENCE_PRE_FEC_BER), limits->fec_ber);
            seen++;
        }
        if ((double)port_get(evidence, end[e], EVIDENCE_TEMPERATURE) > limits->optic_hot)
            finding_counter(diagnose, finding, port_find(evidence, end[e], EVIDENCE_TEMPERATURE), limits->optic_hot);
    }
    if (wrong) finding_resenders(diagnose, finding, port);
    finding_weak_unless(finding, seen > 1 || (finding && finding->victims));
}

/* InfiniBand's counter of wrong symbols has 16 bits and stays at its end: how many more, and when, nobody knows. */
static void symbols_at_their_end(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *symbols = port_find(evidence, port, EVIDENCE_SYMBOL_ERRORS);
        if (!symbols || symbols->last != UINT16_MAX) continue;
        if (port_find(evidence, port, EVIDENCE_FEC_CORRECTED) || rule_found(diagnose, DIAGNOSE_D13, port)) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D13, port, EVIDENCE_NO_PRIORITY,
                        "symbols with wrong bits arrived at %s until their counter stood at its end (%u)",
                        name_of(diagnose, port), (unsigned)UINT16_MAX);
        finding_counter(diagnose, finding, symbols, 0);
        finding_weak_unless(finding, false);
        if (finding) finding->now = true; /* one look is enough to see it */
    }
}

void rule_D13(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EACH_PORT(evidence, device, port)
    {
        /* A link that goes down ends with errors: that is D14's, or D19's. */
        if (!port_speaks(evidence, port) || link_is_down(evidence, port)) continue;
        uint32_t peer = evidence->object[port].peer, worse = worse_end(diagnose, port);
        uint64_t wrong = wrong_frames(diagnose, worse), frames = frames_received(evidence, worse);
        double ber = bits_wrong(evidence, port);
        if (peer != EVIDENCE_NONE && bits_wrong(evidence, peer) > ber) {
            ber = bits_wrong(evidence, peer);
            if (!wrong) worse = peer;
        }
        bool many = wrong && (double)wrong >= diagnose->limits.line_errors * (double)(frames + wrong);
        if (many || ber > diagnose->limits.fec_ber) bad_cable(diagnose, worse, wrong, frames);
    }
    rule_said(diagnose, DIAGNOSE_D13);
    optics_seen(diagnose);
    symbols_at_their_end(diagnose);
}

/* --- D19: links that come and go --- */

/* Times the link went down while it was watched, at the end that counted more. */
static const struct evidence_value *downs(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    const struct evidence_value *here = port_find(evidence, port, EVIDENCE_LINK_DOWN);
    const struct evidence_value *there = peer == EVIDENCE_NONE ? NULL : port_find(evidence, peer, EVIDENCE_LINK_DOWN);

    if (!here || (there && there->grown > here->grown)) return there;
    return here;
}

/* Every link of a switch went down while it was watched, and is up again: their number; 0: not so, or it has one. */
static uint32_t all_went_down(const struct evidence *evidence, uint32_t device)
{
    uint32_t links = 0;

    if (device_is_host(evidence, device)) return 0;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (evidence->object[port].peer == EVIDENCE_NONE) continue;
        const struct evidence_value *down = downs(evidence, port);
        if (!down || !down->grown || link_is_down(evidence, port)) return 0;
        if (down->looks < 2 && !evidence->exact) return 0;
        links++;
    }
    return links > 1 ? links : 0;
}

/* A switch that was reset is one finding, and not one for each of its cables. */
static void switch_was_reset(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t links = all_went_down(evidence, device), listed = 0;

    if (!links) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D19, device, EVIDENCE_NO_PRIORITY,
                    "all %u links of %s went down and are up again: it was reset, or had no power", links,
                    name_of(diagnose, device));
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (evidence->object[port].peer != EVIDENCE_NONE && listed++ < RESET_LISTED)
            finding_counter(diagnose, finding, downs(evidence, port), 0);
    }
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
}

void rule_D19(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device) switch_was_reset(diagnose, device);
    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *down = port_speaks(evidence, port) ? downs(evidence, port) : NULL;
        if (!down || !down->grown || link_is_down(evidence, port)) continue;
        if (rule_found(diagnose, DIAGNOSE_D19, port)) continue; /* with its switch */
        bool watched = down->looks > 1 || evidence->exact;
        /* Since boot a few are maintenance. */
        if (!watched && (double)down->grown < diagnose->limits.flaps_day) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D19, down->object, EVIDENCE_NO_PRIORITY,
                        "the link at %s went down %" PRIu64 " time%s%s%s", name_of(diagnose, down->object), down->grown,
                        down->grown == 1 ? "" : "s", watched ? "" : " since boot",
                        port_find(evidence, port, EVIDENCE_LINK_UP) ? " and is up again" : "");
        finding_counter(diagnose, finding, down, watched ? 0 : diagnose->limits.flaps_day);
        uint32_t peer = evidence->object[down->object].peer;
        bool both = peer != EVIDENCE_NONE && port_get(evidence, peer, EVIDENCE_LINK_DOWN);
        if (both) finding_counter(diagnose, finding, port_find(evidence, peer, EVIDENCE_LINK_DOWN), 0);
        if (watched) finding_resenders(diagnose, finding, down->object);
        finding_weak_unless(finding, both || (finding && finding->victims));
    }
    links_said(diagnose);
}

/* --- D16: MTU --- */

/* MTU of a port, as counters say it, or as the file has it; 0: not known. */
static uint64_t mtu_of(const struct evidence *evidence, uint32_t port)
{
    const struct evidence_object *object = &evidence->object[port];
    uint64_t mtu = port_get(evidence, port, EVIDENCE_MTU);

    if (!mtu && evidence->fabric && object->fabric != EVIDENCE_NONE)
        mtu = evidence->fabric->settings[evidence->fabric->port[object->fabric].settings].mtu_bytes;
    return mtu;
}

/* Of a device that drops by MTU: the port with the smallest MTU, where they differ; else the one that drops most. */
static uint32_t small_port(const struct evidence *evidence, uint32_t device)
{
    uint32_t least = EVIDENCE_NONE, most = EVIDENCE_NONE;
    uint64_t smallest = UINT64_MAX, largest = 0, drops = 0;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint64_t mtu = mtu_of(evidence, port), dropped = port_get(evidence, port, EVIDENCE_MTU_DROPS);
        if (mtu && mtu < smallest) smallest = mtu, least = port;
        if (mtu > largest) largest = mtu;
        if (dropped > drops) drops = dropped, most = port;
    }
    return least != EVIDENCE_NONE && smallest < largest ? least : most;
}

static void too_large(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t port = small_port(evidence, device);
    uint64_t drops = 0, mtu;

    EVIDENCE_EACH_PORT(evidence, device, other) drops += port_get(evidence, other, EVIDENCE_MTU_DROPS);
    if (!drops || port == EVIDENCE_NONE) return;
    mtu = mtu_of(evidence, port);
    struct diagnose_finding *finding;
    if (mtu)
        finding = finding_new(diagnose, DIAGNOSE_D16, port, EVIDENCE_NO_PRIORITY,
                              "%s dropped %" PRIu64 " frames that are too large; the MTU of %s is %" PRIu64,
                              name_of(diagnose, device), drops, name_of(diagnose, port), mtu);
    else
        finding = finding_new(diagnose, DIAGNOSE_D16, port, EVIDENCE_NO_PRIORITY,
                              "%s dropped %" PRIu64 " frames that are too large", name_of(diagnose, device), drops);
    EVIDENCE_EACH_PORT(evidence, device, other)
    {
        if (port_get(evidence, other, EVIDENCE_MTU_DROPS))
            finding_counter(diagnose, finding, port_find(evidence, other, EVIDENCE_MTU_DROPS), 0);
    }
    uint32_t peer = evidence->object[port].peer;
    uint64_t other_end = peer == EVIDENCE_NONE ? 0 : mtu_of(evidence, peer);
    if (mtu)
        finding_number(diagnose, finding, port, EVIDENCE_NO_PRIORITY, "mtu", "bytes", (double)mtu, (double)other_end,
                       port_find(evidence, port, EVIDENCE_MTU));
    else
        missing_add(diagnose, "the MTU of the ports of %s: which of them is too small is not certain",
                    name_of(diagnose, device));
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    finding_weak_unless(finding, mtu || (finding && finding->victims));
}

void rule_D16(struct diagnose *diagnose)
{
    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_DEVICE, device) too_large(diagnose, device);
}
