/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the two ends of a connection speak: a plain model of responder and requester beside the real ones.
 *
 * The responder: what is next in order is taken, the first packet after a gap is answered by a NAK and the others are
 * not, until something in order came; an ACK is due when asked for and after so many packets, and not else.  The
 * requester: the timer is waited for, and a packet is tried as often as configured before its request fails.  Both: a
 * queue pair sends no faster than its rate, with all that a frame takes on the line.
 */
#include "fabric/fabric.h"
#include "packet/opcode.h"
#include "swarm.h"

#define LINE_OVERHEAD_BYTES 24u
#define GREW(seen, counter) ((seen)->after->counter - (seen)->before->counter)

/* First PSN of the message that the responder is in the middle of, or PSN_NONE. */
#define PSN_NONE UINT32_MAX
static uint32_t message_begun(const struct pair_watch *pair)
{
    const struct request *request = request_of(pair, pair->expected);

    return request && request->verb < NIC_READ && pair->expected > request->first ? request->first : PSN_NONE;
}

static void acknowledges(struct watch *watch, uint32_t index, uint32_t psn, const struct seen *seen)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct nic_qp *qp = watch->sim->connection[index].to.handle;
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    uint32_t every = watch->fabric->nic[watch->fabric->endpoint[from->dst].nic].ack_every;
    bool asks = seen->pkt->flags & PKT_ACK_REQUEST, due = asks || ++pair->unacked == every;
    bool answered = GREW(seen, tx_ack_packets) || qp->ack_id != PKT_NONE || qp->trail || responder_has_work(qp);

    if (asks || (due && !pair->unsure))
        HOLDS(answered || GREW(seen, drop[NIC_DROP_no_packet]), "what asks for an acknowledgement gets one",
              "connection %u PSN %u", index, psn);
    if (!due && !pair->unsure)
        HOLDS(GREW(seen, tx_ack_packets) == 0, "acknowledgements are as many as configured", "connection %u PSN %u",
              index, psn);
    watch->acks_due += due;
    if (pair->unsure ? !asks && !GREW(seen, tx_ack_packets) : !due) return;
    pair->unacked = 0;
    pair->unsure = qp->trail; /* it is sent behind a response, and the count begins then */
}

static void after_gap(struct watch *watch, uint32_t index, uint32_t psn, const struct seen *seen)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    ps_t repeat = watch->fabric->nic[watch->fabric->endpoint[from->dst].nic].nak_repeat_ps;
    bool due = !pair->asked || (repeat && !pair->silent && seen->now >= pair->ask_again);
    uint32_t begun = message_begun(pair);

    HOLDS(GREW(seen, out_of_sequence) == 1, "a packet after a gap is counted as such", "connection %u PSN %u", index,
          psn);
    HOLDS(GREW(seen, tx_nak_sequence) == due, "the first packet after a gap is answered by a NAK, and no other",
          "connection %u PSN %u, expected %u", index, psn, pair->expected);
    if (!due) return;
    if (watch->plan->go_back_0 && begun != PSN_NONE) pair->expected = begun;
    pair->asked = true;
    pair->silent = false;
    pair->ask_again = seen->now + repeat;
    pair->unacked = 0;
    watch->naks_due++;
}

void pair_request_came(struct watch *watch, uint32_t index, uint32_t psn, const struct seen *seen)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct request *request = request_of(pair, psn);
    uint32_t begun = message_begun(pair);
    bool restart = watch->plan->go_back_0 && begun != PSN_NONE && psn == begun;

    pair->untracked |= watch->selective || GREW(seen, tx_nak_fatal) || GREW(seen, drop[NIC_DROP_qp_state]);
    if (pair->untracked) return;
    pair->unsure |= ((const struct nic_qp *)watch->sim->connection[index].to.handle)->trail;
    if (psn > pair->expected) {
        after_gap(watch, index, psn, seen);
        return;
    }
    HOLDS(GREW(seen, tx_nak_sequence) == 0, "a NAK is for a gap", "connection %u PSN %u", index, psn);
    if (psn < pair->expected && !restart) {
        HOLDS(GREW(seen, duplicate_request) == 1, "a repeated packet is counted as such", "connection %u PSN %u", index,
              psn);
        pair->unsure = true;
        return;
    }
    if (GREW(seen, tx_nak_rnr)) {
        if (restart || (watch->plan->go_back_0 && begun != PSN_NONE)) pair->expected = begun;
        pair->asked = pair->silent = true;
        pair->unacked = 0;
        return;
    }
    HOLDS(GREW(seen, duplicate_request) == 0 && GREW(seen, out_of_sequence) == 0, "what is next in order is taken",
          "connection %u PSN %u", index, psn);
    pair->expected = request->verb == NIC_READ ? request->first + request->packets : psn + 1;
    pair->asked = pair->silent = false;
    if (request->verb < NIC_READ) {
        HOLDS(GREW(seen, rx_payload_bytes) == seen->pkt->payload_bytes, "what is next in order is taken",
              "connection %u PSN %u: %u bytes", index, psn, seen->pkt->payload_bytes);
        acknowledges(watch, index, psn, seen);
        return;
    }
    pair->unacked = 0;
    pair->unsure = false;
}

/* Only where nothing but ACKs, sequence NAKs and the timer move the requester. */
static bool simple(const struct watch *watch, const struct pair_watch *pair)
{
    return !watch->plan->verbs && !watch->selective && !watch->plan->go_back_0 && pair->transport == NIC_RC;
}

void pair_moved(struct pair_watch *pair, ps_t now)
{
    pair->moved_at = now;
    pair->was_told = true; /* it may have gone back before, and not sent yet */
    pair->tries = pair->high > pair->acked;
    pair->in_row = 0;
}

static const struct fabric_nic *requester_nic(const struct watch *watch, uint32_t index)
{
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    return &watch->fabric->nic[watch->fabric->endpoint[from->src].nic];
}

/* What the timer says after so many timeouts in a row: adaptive retransmission begins short, and doubles. */
static ps_t timeout_after(const struct fabric_nic *nic, uint32_t in_row)
{
    ps_t full = 4096 * PS_NS << nic->timeout, now = nic->adaptive_ps;

    if (!now || now >= full) return full;
    for (uint32_t i = nic->adaptive_each; i <= in_row && now < full; i += nic->adaptive_each)
        now *= 2;
    return now < full ? now : full;
}

/* How many timeouts in a row there are before a request fails; the last is not answered by a repetition. */
static uint32_t timeouts_most(const struct fabric_nic *nic)
{
    ps_t full = 4096 * PS_NS << nic->timeout, waited = 0;
    uint32_t count = 0;

    if (!nic->timeout || !nic->adaptive_ps || nic->adaptive_ps >= full) return nic->retry + 1;
    while (waited < full * (nic->retry ? nic->retry : 1))
        waited += timeout_after(nic, count++);
    return count;
}

void pair_request_goes(struct watch *watch, uint32_t index, uint32_t psn, ps_t now)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct fabric_nic *nic = requester_nic(watch, index);

    if (!simple(watch, pair) || psn != pair->acked) return;
    if (psn < pair->high && psn <= pair->last_psn && !pair->was_told) {
        ps_t since = pair->tried_at > pair->moved_at ? pair->tried_at : pair->moved_at;
        HOLDS(nic->timeout && now - since >= timeout_after(nic, pair->in_row),
              "the acknowledgement timer is waited for", "connection %u PSN %u: %lu ps", index, psn,
              (unsigned long)(now - since));
        watch->timeouts++;
        pair->in_row++;
    }
    pair->was_told = false;
    pair->tried_at = now;
    pair->tries++;
    /* Once more than the retries, and once for a NAK that moved it; by time alone where that is what counts, and NAKs
     * take their retries besides. */
    uint32_t naks = watch->plan->early ? nic->retry : 0;
    HOLDS(pair->tries <= timeouts_most(nic) + 1u + naks, "a request fails when its retries are used up",
          "connection %u: %u times", index, pair->tries);
}

/* Tried as often as it should be; where it could not be sent the timer took retries too, and NAKs may have before. */
void pair_failed(struct watch *watch, uint32_t index, ps_t now)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct fabric_nic *nic = requester_nic(watch, index);
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    const struct line *line = &watch->line[line_of_nic(watch, from->src)];
    uint64_t tries = pair->tries;

    if (pair->failed || !simple(watch, pair)) return;
    watch->failures++;
    bool held = line->was_down;
    for (int p = 0; p < 8; p++)
        held |= line->paused_until[p] >= pair->moved_at;
    if (held && nic->timeout) tries += (now - pair->moved_at) / timeout_after(nic, 0);
    uint32_t least = timeouts_most(nic) <= nic->retry ? timeouts_most(nic) : nic->retry + 1u;
    HOLDS(tries >= least, "a request is tried as often as configured", "connection %u failed after %u times, %lu ps",
          index, pair->tries, (unsigned long)(now - pair->moved_at));
}

/* Limits on what is under way: READs and atomics, whatever stands behind a fence, bytes. */
void pair_begins(struct watch *watch, uint32_t index, const struct request *request, uint32_t psn)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct fabric_nic *nic = requester_nic(watch, index);
    const struct request *oldest = request_of(pair, pair->acked);
    uint32_t reads = 0;

    for (const struct request *r = &pair->request[pair->completed]; r < request; r++)
        reads += r->verb >= NIC_READ;
    if (request->verb >= NIC_READ && pair->transport == NIC_RC) {
        HOLDS(reads < nic->max_read, "no more READs are under way than agreed", "connection %u PSN %u: %u", index, psn,
              reads + 1);
        watch->reads_limited++;
    }
    if (request->fenced && psn == request->first) {
        HOLDS(reads == 0, "a fence waits for READs", "connection %u PSN %u", index, psn);
        watch->fences++;
    }
    if (watch->plan->sprays) return; /* what came early is not under way */
    if (!nic->window_bytes || watch->plan->verbs || watch->plan->go_back_0 || !oldest || psn < pair->acked) return;
    uint64_t done = oldest->stream + (uint64_t)(pair->acked - oldest->first) * pair->mtu;
    uint64_t sent = request->stream + (uint64_t)(psn - request->first) * pair->mtu;
    HOLDS(sent - done < nic->window_bytes, "no more is under way than the window allows", "connection %u: %lu bytes",
          index, (unsigned long)(sent - done));
}

static const struct nic_qp *qp_of(const struct watch *watch, uint32_t index, bool receives)
{
    return receives ? watch->sim->connection[index].to.handle : watch->sim->connection[index].from.handle;
}

void pair_paced(struct watch *watch, const struct nic *nic, uint32_t index, bool receives, const struct pkt *pkt,
                ps_t now)
{
    struct end_watch *end = &watch->pair[index].end[receives];
    bool bare = watch->plan->bare;

    if (end->sent && end->rate_bps < nic->config.line_bps) {
        ps_t span = line_time(end->rate_bps, end->bytes), slack = bare ? PS_NS : 2;
        HOLDS(now + slack >= end->start + span, "a queue pair sends no faster than its rate",
              "connection %u at %lu ps: %u bytes at %lu bit/s since %lu", index, (unsigned long)now, end->bytes,
              (unsigned long)end->rate_bps, (unsigned long)end->start);
        watch->paced++;
    }
    *end = (struct end_watch){.sent = true,
                              .start = now,
                              .bytes = pkt->frame_bytes + (bare ? 0 : LINE_OVERHEAD_BYTES),
                              .rate_bps = qp_of(watch, index, receives)->cc.rate_bps};
}

void pair_rate(struct watch *watch, const struct nic *nic, uint32_t index, bool receives)
{
    struct end_watch *end = &watch->pair[index].end[receives];
    const struct cc *cc = &qp_of(watch, index, receives)->cc;
    uint64_t least = cc->config->kind == CC_DCQCN ? cc->config->rpg_min_rate : 1;

    if (least > nic->config.line_bps) least = nic->config.line_bps;
    HOLDS(cc->rate_bps >= least && cc->rate_bps <= nic->config.line_bps && cc->window_bytes > 0,
          "a rate stays within its bounds", "connection %u: %lu bit/s, %lu bytes", index, (unsigned long)cc->rate_bps,
          (unsigned long)cc->window_bytes);
    if (cc->config->kind == CC_DCQCN)
        HOLDS(cc->dcqcn.target_bps >= cc->rate_bps || cc->rate_bps == least, "a rate rises towards its target",
              "connection %u: %lu bit/s, target %lu", index, (unsigned long)cc->rate_bps,
              (unsigned long)cc->dcqcn.target_bps);
    if (cc->rate_bps > end->rate_bps) end->rate_bps = cc->rate_bps;
}

/* Marks and CNPs, of a packet that the adapter did not turn away. */
void pair_notified(struct watch *watch, uint32_t index, bool receives, const struct seen *seen)
{
    const struct pair_watch *pair = &watch->pair[index];
    const struct nic_config *config = &seen->nic->config;
    const struct nic_qp *qp = qp_of(watch, index, receives);

    if (GREW(seen, drop[NIC_DROP_qp_state]) || GREW(seen, drop[NIC_DROP_rx_buffer])) return;
    if (seen->pkt->opcode == OPCODE_CNP) {
        bool reacts = qp->cc.config->kind == CC_DCQCN;
        HOLDS(GREW(seen, rp_cnp_handled) == reacts && GREW(seen, rp_cnp_ignored) == !reacts,
              "a CNP is handled or ignored", "connection %u", index);
        HOLDS(qp->cc.rate_bps <= seen->rate_before, "a CNP does not make anybody faster", "connection %u", index);
        return;
    }
    bool marked = (seen->pkt->tos & PKT_ECN_MASK) == PKT_ECN_CE;
    HOLDS(GREW(seen, np_ecn_marked_roce_packets) == marked, "marked packets are counted", "connection %u", index);
    if (!marked || config->cnp_off || config->cnp_remember || config->cnp_per_nic) return;
    if (pair->has_cnp[receives] && seen->now - pair->last_cnp[receives] < config->cnp_min_gap_ps) return;
    HOLDS(GREW(seen, np_cnp_sent) || GREW(seen, drop[NIC_DROP_no_packet]), "a marked packet makes a CNP",
          "connection %u at %lu ps", index, (unsigned long)seen->now);
    watch->cnps_due++;
}
