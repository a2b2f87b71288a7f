/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long pause frames kept their receiver silent: priority flow control (IEEE 802.1Qbb) for each
 * sender and priority, 802.3x PAUSE (802.3 annex 31B) for each sender.
 *
 * A quantum is 512 bit times of the link that the frame travels.  A frame replaces what is left of
 * the one before it, and one of 0 quanta ends the pause; so the time paused is the union of the
 * intervals, not the sum of the quanta.  What is still running when the capture ends is counted up to
 * there.  Times are picoseconds since the capture began: one quantum at 400 Gb/s is 1.28 ns.
 *
 * This is what the frames ask for, as seen where the capture was made; how long the receiver really
 * stood still also depends on its reaction time and on what it had to send.
 */
#include "capture/capture_int.h"

#include "base/check.h"
#include "base/time.h"

#define DEFAULT_BPS 100000000000ULL

static uint64_t since_begin_ps(const struct capture *capture, uint64_t time_ns)
{
    uint64_t since = time_ns > capture->totals.first_ns ? time_ns - capture->totals.first_ns : 0;
    return since < UINT64_MAX / PS_NS / 2 ? since * PS_NS : UINT64_MAX / 2;
}

static uint64_t quanta_ps(uint16_t quanta, uint64_t bps)
{
    uint64_t ps = pause_quanta_ps(quanta, bps);
    return ps < UINT64_MAX / 4 ? ps : UINT64_MAX / 4; /* times are added to it */
}

static void stretch_end(struct pause_state *state, uint64_t at_ps)
{
    uint64_t stretch = at_ps - state->stretch_ps;
    if (stretch > state->longest_ps) state->longest_ps = stretch;
    state->active = false;
}

/* Counts the pause that runs up to `now_ps` and ends it if it ran out before. */
static void stretch_settle(struct pause_state *state, uint64_t now_ps)
{
    if (!state->active) return;
    uint64_t to = now_ps < state->until_ps ? now_ps : state->until_ps;
    if (to > state->from_ps) {
        state->paused_ps += to - state->from_ps;
        state->from_ps = to;
    }
    if (state->until_ps < now_ps) stretch_end(state, state->until_ps);
}

static void pause_quanta(struct capture *capture, struct pause_sender *sender, unsigned kind, uint16_t quanta,
                         uint64_t bps)
{
    struct pause_state *state = &sender->kind[kind];
    if (state->view.xoff == 0 && state->view.xon == 0) {
        memcpy(state->view.smac, sender->smac, 6);
        state->view.global = kind == PAUSE_KINDS - 1;
        state->view.priority = (uint8_t)(state->view.global ? 0 : kind);
    }
    uint64_t now_ps = since_begin_ps(capture, capture->now_ns);
    stretch_settle(state, now_ps);
    if (state->view.evidence.kept < CAPTURE_EVIDENCE)
        state->view.evidence.packet[state->view.evidence.kept++] = capture->number;
    if (quanta == 0) {
        state->view.xon++;
        if (state->active) stretch_end(state, now_ps > state->from_ps ? now_ps : state->from_ps);
        return;
    }
    state->view.xoff++;
    if (!state->active) {
        state->active = true;
        state->stretch_ps = state->from_ps = now_ps;
    }
    state->until_ps = now_ps + quanta_ps(quanta, bps);
    if (state->until_ps < state->from_ps) state->until_ps = state->from_ps; /* time went backwards */
}

/* Senders are few (the ports of one switch); a full table is scanned for the one silent longest. */
static struct pause_sender *sender_find(struct capture *capture, const uint8_t smac[6])
{
    struct pause_sender *oldest = &capture->pause[0];
    for (uint32_t i = 0; i < capture->pauses; i++) {
        struct pause_sender *sender = &capture->pause[i];
        if (memcmp(sender->smac, smac, 6) == 0) return sender;
        if (sender->last_packet < oldest->last_packet) oldest = sender;
    }
    if (capture->pauses < PAUSE_SENDERS) {
        oldest = &capture->pause[capture->pauses++];
    } else {
        capture->totals.pause_evicted++;
        memset(oldest, 0, sizeof *oldest);
    }
    memcpy(oldest->smac, smac, 6);
    return oldest;
}

void cap_pause_packet(struct capture *capture, const struct pkt *pkt, const struct pkt_cold *cold, uint64_t link_bps)
{
    uint64_t bps = link_bps ? link_bps : capture->options.link_bps ? capture->options.link_bps : DEFAULT_BPS;
    struct pause_sender *sender = sender_find(capture, cold->smac);
    sender->last_packet = capture->number;
    if (pkt->kind == PKT_PAUSE) {
        capture->totals.pause_frames++;
        evidence_add(capture, EVIDENCE_PAUSE);
        pause_quanta(capture, sender, PAUSE_KINDS - 1, pkt->quanta[0], bps);
        return;
    }
    capture->totals.pfc_frames++;
    evidence_add(capture, EVIDENCE_PFC);
    for (unsigned priority = 0; priority < 8; priority++)
        if (pkt->pfc_enable & 1u << priority) pause_quanta(capture, sender, priority, pkt->quanta[priority], bps);
}

void cap_pause_finish(struct capture *capture)
{
    uint64_t end_ps = since_begin_ps(capture, capture->totals.last_ns);
    for (uint32_t i = 0; i < capture->pauses; i++)
        for (unsigned kind = 0; kind < PAUSE_KINDS; kind++) {
            struct pause_state *state = &capture->pause[i].kind[kind];
            if (state->view.xoff == 0 && state->view.xon == 0) continue;
            stretch_settle(state, end_ps);
            if (state->active) stretch_end(state, state->from_ps);
            state->view.paused_ns = state->paused_ps / PS_NS;
            state->view.longest_ns = state->longest_ps / PS_NS;
            CHECK(capture->pause_order_count < PAUSE_SENDERS * PAUSE_KINDS);
            capture->pause_order[capture->pause_order_count++] = &state->view;
        }
}
