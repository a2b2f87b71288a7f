/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters and queue pairs: what a sender may believe, and when.
 *
 * For each connection the watch knows every request posted with its PSNs, and which packets have reached the other end
 * (it sees them arrive).  So: nothing is acknowledged or completed that has not arrived; requests complete once, in
 * order; what was sent in order on a flow arrives in order; windows and pauses hold; notifications keep their
 * distance.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "packet/opcode.h"
#include "swarm.h"
#include "verbs.h"

#define FIRST_QPN 0x11

void __real_nic_rx(struct nic *nic, pkt_t id, ps_t now, struct nic_io *io);
void __wrap_nic_rx(struct nic *nic, pkt_t id, ps_t now, struct nic_io *io);
pkt_t __real_nic_tx(struct nic *nic, ps_t now, struct nic_io *io);
pkt_t __wrap_nic_tx(struct nic *nic, ps_t now, struct nic_io *io);
void __real_nic_pause(struct nic *nic, uint8_t enable, const uint16_t quanta[8], ps_t now, struct nic_io *io);
void __wrap_nic_pause(struct nic *nic, uint8_t enable, const uint16_t quanta[8], ps_t now, struct nic_io *io);
int __real_nic_post_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, ps_t now, struct nic_io *io);
int __wrap_nic_post_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, ps_t now, struct nic_io *io);
void __real_workload_sent(struct workload *workload, uint32_t host, uint32_t connection, uint32_t tag, bool good,
                          ps_t now, struct app_out *out);
void __wrap_workload_sent(struct workload *workload, uint32_t host, uint32_t connection, uint32_t tag, bool good,
                          ps_t now, struct app_out *out);
void __real_workload_received(struct workload *workload, uint32_t host, uint32_t connection, uint32_t imm, ps_t now,
                              struct app_out *out);
void __wrap_workload_received(struct workload *workload, uint32_t host, uint32_t connection, uint32_t imm, ps_t now,
                              struct app_out *out);

void __real_nic_tick(struct nic *nic, ps_t now, struct nic_io *io);
void __wrap_nic_tick(struct nic *nic, ps_t now, struct nic_io *io);

/* The connection of a queue pair; *ret_receives: it is the end that requests go to. */
uint32_t connection_of(const struct watch *watch, uint32_t endpoint, uint32_t qpn, bool *ret_receives)
{
    uint32_t first = watch->first_pair[endpoint], entry = watch->pair_at[first + qpn - FIRST_QPN];

    HOLDS(qpn >= FIRST_QPN && first + qpn - FIRST_QPN < watch->first_pair[endpoint + 1], "packets are for queue pairs",
          "endpoint %u has no %u", endpoint, qpn);
    *ret_receives = entry & 1;
    return entry >> 1;
}

int __wrap_nic_post_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *from, ps_t now, struct nic_io *io)
{
    struct nic_wr wr = *from;

    verbs_rewrite(&wr);
    if (watching) {
        software_posts(watching, (uint32_t)(wr.wr_id >> 32), (uint32_t)wr.wr_id, now);
        struct pair_watch *pair = &watching->pair[wr.wr_id >> 32];
        uint32_t packets = wr.length && wr.verb < NIC_CAS ? (uint32_t)((wr.length + qp->mtu - 1) / qp->mtu) : 1;
        if (pair->posted == pair->room) {
            pair->room = pair->room ? 2 * pair->room : 8;
            pair->request = realloc(pair->request, pair->room * sizeof(*pair->request));
            CHECK(pair->request);
        }
        const struct request *last = pair->posted ? &pair->request[pair->posted - 1] : NULL;
        pair->request[pair->posted++] = (struct request){.first = pair->psns,
                                                         .packets = packets,
                                                         .bytes = wr.length,
                                                         .stream = last ? last->stream + last->bytes : 0,
                                                         .tag = (uint32_t)wr.wr_id,
                                                         .verb = wr.verb,
                                                         .fenced = wr.flags & NIC_FENCE};
        pair->psns += packets;
        work_posted(watching, (uint32_t)(wr.wr_id >> 32));
        if (pair->psns > pair->there_room) {
            uint32_t room = 2 * pair->psns + 64;
            pair->there = realloc(pair->there, room);
            CHECK(pair->there);
            memset(pair->there + pair->there_room, 0, room - pair->there_room);
            pair->there_room = room;
        }
    }
    return __real_nic_post_send(nic, qp, &wr, now, io);
}

/* The request that a PSN belongs to; NULL: none. */
const struct request *request_of(const struct pair_watch *pair, uint32_t psn)
{
    for (uint32_t i = pair->posted; i-- > 0;)
        if (psn >= pair->request[i].first)
            return psn < pair->request[i].first + pair->request[i].packets ? &pair->request[i] : NULL;
    return NULL;
}

static uint32_t requests_before(const struct pair_watch *pair, uint32_t psn)
{
    uint32_t count = pair->posted;

    while (count && pair->request[count - 1].first + pair->request[count - 1].packets > psn)
        count--;
    return count;
}

static void request_arrived(struct pair_watch *pair, const struct pkt *pkt, uint32_t psn)
{
    const struct request *request = request_of(pair, psn);

    HOLDS(request, "only PSNs that were posted are sent", "PSN %u", psn);
    uint32_t end = request->verb == NIC_READ ? request->first + request->packets : psn + 1;
    for (uint32_t i = psn; i < end; i++)
        pair->there[i] |= THERE_REQUEST;
    if (end > pair->top) pair->top = end;
    while (pair->prefix < pair->psns && pair->there[pair->prefix] & THERE_REQUEST)
        pair->prefix++;
    uint64_t left = request->bytes - (uint64_t)(psn - request->first) * pair->mtu;
    if (request->verb < NIC_READ)
        HOLDS(pkt->payload_bytes == (left < pair->mtu ? left : pair->mtu), "a packet has its part of the message",
              "PSN %u has %u bytes", psn, pkt->payload_bytes);
}

/*
 * A gap among packets that may change places is asked for when one has come that is too far ahead of it, and not
 * before by any packet; later by the clock.
 */
static void check_distance(struct watch *watch, uint32_t index, const struct seen *seen)
{
    const struct pair_watch *pair = &watch->pair[index];
    uint32_t window = watch->fabric->nic[0].reorder_packets;
    bool far = pair->top - pair->prefix > window;

    if (!watch->plan->sprays) return;
    watch->outrun[seen->pkt->src_node] += far;
    HOLDS(far || seen->after->tx_nak_sequence == seen->before->tx_nak_sequence || seen->after->tx_nak_rnr,
          "a gap is left alone until it is far behind", "connection %u: PSN %u of %u", index, pair->prefix, pair->top);
}

/* A READ or atomic up to this PSN is not answered: a NAK for it tells first of all that a response was lost. */
static bool past_read(const struct pair_watch *pair, uint32_t psn)
{
    for (uint32_t i = pair->completed; i < pair->posted && pair->request[i].first <= psn; i++)
        if (pair->request[i].verb >= NIC_READ) return true;
    return false;
}

/* Volume 1, table 45. */
static const uint32_t rnr_us[32] = {655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
                                    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
                                    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

/* A receiver that was not ready names a time: nothing is sent before.  An RNR NAK past a READ means something else. */
static void not_ready(struct pair_watch *pair, const struct pkt *pkt, uint32_t psn, ps_t now)
{
    if (psn < pair->acked || (now < pair->rnr_until && psn <= pair->refused) || past_read(pair, psn)) return;
    pair->refused = psn;
    pair->rnr_until = now + rnr_us[pkt->ack.syndrome & 0x1f] * PS_US;
}

/* A NAK for a gap: what it names, or something before it, is sent next, unless more has turned out to be there. */
static void gap_told(struct pair_watch *pair, const struct pkt *pkt, uint32_t psn)
{
    if (aeth_kind(pkt->ack.syndrome) != AETH_NAK || (pkt->ack.syndrome & 0x1f) != NAK_PSN_SEQUENCE) return;
    if (psn < pair->acked || psn >= pair->high || past_read(pair, psn)) return;
    pair->rewinds = true;
    pair->rewind = psn;
}

static void answer_arrived(struct pair_watch *pair, const struct pkt *pkt, uint32_t psn, ps_t now)
{
    uint32_t acked = pair->acked;

    if (pkt->opcode == OPCODE_RC_ACK) {
        pair->was_told |= aeth_kind(pkt->ack.syndrome) != AETH_ACK;
        if (aeth_kind(pkt->ack.syndrome) != AETH_ACK) pair->since_ask = 0; /* it goes back, and counts anew */
        gap_told(pair, pkt, psn);
        if (aeth_kind(pkt->ack.syndrome) == AETH_RNR_NAK) not_ready(pair, pkt, psn, now);
        bool ack = aeth_kind(pkt->ack.syndrome) == AETH_ACK;
        if (psn + ack <= pair->psns && psn + ack > pair->acked) pair->acked = psn + ack;
        if (pair->acked != acked) pair_moved(pair, now);
        return;
    }
    pair->since_ask = 0;
    if (psn >= pair->psns) return;
    pair->there[psn] |= THERE_RESPONSE;
    if (psn + 1 > pair->acked) pair->acked = psn + 1;
}

/* At the adapter's door. */
static void arrived(struct watch *watch, uint32_t endpoint, const struct pkt *pkt, pkt_t id)
{
    bool receives;
    HOLDS(pkt->dst_node == endpoint, "packets reach whom they are for", "endpoint %u gets one for %u", endpoint,
          pkt->dst_node);
    uint32_t index = connection_of(watch, endpoint, pkt->dest_qp, &receives);
    uint64_t *last = &watch->flow[index].arrived[!receives][pkt->pcp & 7];

    HOLDS(watch->packet[id].order > *last || watch->plan->sprays || watch->plan->routes_move,
          "a flow's packets arrive in order", "connection %u: %lu after %lu", index,
          (unsigned long)watch->packet[id].order, (unsigned long)*last);
    *last = watch->packet[id].order;
    uint32_t hops = fabric_hops(watch->fabric, pkt->src_node, endpoint);
    HOLDS(watch->plan->v1 || pkt->ttl + hops == 65 || (watch->plan->routes_move && pkt->ttl + hops < 65),
          "packets take a shortest path", "connection %u: TTL %u, %u links", index, pkt->ttl, hops);
}

/*
 * What becomes of an unreliable packet: a datagram needs a receive and no more; of a UC message everything is taken
 * until something is missing, from then on nothing.  What is not taken is counted, and nothing else is lost.
 */
static void check_unreliable(struct watch *watch, struct pair_watch *pair, const struct pkt *pkt,
                             const struct nic_counters *before, const struct nic_counters *after)
{
    uint32_t psn = (pkt->psn - pair->base) & PSN_MASK;
    const struct request *request = request_of(pair, psn);
    bool lost = after->drop[NIC_DROP_unreliable] != before->drop[NIC_DROP_unreliable];
    bool starved = after->out_of_buffer != before->out_of_buffer, uc = pair->transport == NIC_UC;
    bool whole = !uc || psn == request->first || (pair->whole && psn == pair->next);
    bool takes =
        request->verb != NIC_WRITE &&
        (psn == request->first ? request->verb != NIC_WRITE_IMM || request->packets == 1
                               : request->verb == NIC_WRITE_IMM && psn + 1 == request->first + request->packets);

    HOLDS(lost == (!whole || starved), "an unreliable packet is lost for a reason", "%s PSN %u %s", uc ? "UC" : "UD",
          psn, lost ? "is" : "is not");
    HOLDS(!starved || (takes && whole), "a receive is taken where one is due", "PSN %u", psn);
    HOLDS(after->rx_payload_bytes - before->rx_payload_bytes == (lost ? 0 : pkt->payload_bytes),
          "a packet is placed or dropped", "PSN %u", psn);
    pair->whole = whole && !lost;
    pair->next = psn + 1;
    watch->uc_packets += uc;
    watch->ud_packets += !uc;
    watch->unreliable_lost += lost;
}

/* Inside: a slow receiver may have had no room for it. */
static void taken(struct watch *watch, uint32_t endpoint, const struct seen *seen)
{
    bool receives;
    const struct pkt *pkt = seen->pkt;
    uint32_t index = connection_of(watch, endpoint, pkt->dest_qp, &receives);
    struct pair_watch *pair = &watch->pair[index];
    uint32_t psn = (pkt->psn - pair->base) & PSN_MASK;

    pair_notified(watch, index, receives, seen);
    pair_rate(watch, seen->nic, index, receives);
    if (seen->after->drop[NIC_DROP_rx_buffer] != seen->before->drop[NIC_DROP_rx_buffer]) {
        receiver_took(watch, seen->nic, 0, seen->now);
        return;
    }
    if (seen->after->drop[NIC_DROP_qp_state] == seen->before->drop[NIC_DROP_qp_state])
        receiver_took(watch, seen->nic, pkt->frame_bytes, seen->now);
    if (pkt->opcode == OPCODE_CNP) return;
    if (receives) {
        request_arrived(pair, pkt, psn);
        check_distance(watch, index, seen);
        if (pair->transport == NIC_RC) pair_request_came(watch, index, psn, seen);
    } else {
        answer_arrived(pair, pkt, psn, seen->now);
    }
    if (receives && pair->transport != NIC_RC) check_unreliable(watch, pair, pkt, seen->before, seen->after);
}

static void notified(struct watch *watch, const struct nic *nic, const struct pkt *pkt, ps_t now)
{
    uint32_t endpoint = nic->config.endpoint;
    bool receives;
    struct pair_watch *pair = &watch->pair[connection_of(watch, endpoint, pkt->dest_qp, &receives)];

    HOLDS((pkt->tos & PKT_ECN_MASK) == PKT_ECN_CE, "only a marked packet makes a CNP", "endpoint %u", endpoint);
    HOLDS(!pair->has_cnp[receives] || now - pair->last_cnp[receives] >= nic->config.cnp_min_gap_ps,
          "CNPs keep their distance", "endpoint %u: %lu ps after the last", endpoint,
          (unsigned long)(now - pair->last_cnp[receives]));
    pair->last_cnp[receives] = now;
    pair->has_cnp[receives] = true;
}

void __wrap_nic_rx(struct nic *nic, pkt_t id, ps_t now, struct nic_io *io)
{
    struct watch *watch = watching;
    uint32_t endpoint = nic->config.endpoint;
    struct pkt before = io->pool->hot[id];
    struct nic_counters counters = nic->counters;

    verbs_release(nic, now, io);
    struct seen seen = {.nic = nic, .pkt = &before, .before = &counters, .after = &nic->counters, .now = now};
    if (watch) {
        const struct nic_qp *qp = nic_qp_find(nic, before.dest_qp);
        seen.rate_before = qp ? qp->cc.rate_bps : 0;
        line_arrive(watch, line_of_nic(watch, endpoint), id, now);
        arrived(watch, endpoint, &before, id);
        watch->packet[id].where = AT_ADAPTER;
    }
    __real_nic_rx(nic, id, now, io);
    if (watch) taken(watch, endpoint, &seen);
    if (io->atomic.verb) {
        nic_atomic_done(nic, io->atomic.qpn, io->atomic.slot, now);
        bool receives;
        if (watch) watch->pair[connection_of(watch, endpoint, io->atomic.qpn, &receives)].atomics_done++;
    }
    if (watch && nic->counters.np_cnp_sent != counters.np_cnp_sent) notified(watch, nic, &before, now);
}

/* What a responder says: nothing that has not arrived. */
static void check_answer(const struct watch *watch, uint32_t index, const struct pkt *pkt, uint32_t psn)
{
    const struct pair_watch *pair = &watch->pair[index];
    enum aeth_kind kind = aeth_kind(pkt->ack.syndrome);

    HOLDS(pair->transport == NIC_RC, "nobody answers what is unreliable", "connection %u PSN %u", index, psn);
    if (pkt->opcode != OPCODE_RC_ACK) {
        HOLDS(psn < pair->psns && pair->there[psn] & THERE_REQUEST, "only what was asked is answered",
              "connection %u PSN %u", index, psn);
        return;
    }
    if (pkt->mark == NIC_MARK_GAP) return;                     /* acknowledges nothing */
    if (pkt->mark == NIC_MARK_ALSO && psn == 0xffffff) return; /* nothing is in order yet */
    if (!watch->selective && !watch->plan->go_back_0 && !pair->untracked)
        HOLDS(psn + (kind == AETH_ACK) <= pair->expected, "nothing is acknowledged that was not taken",
              "connection %u: PSN %u of %u", index, psn, pair->expected);
    if (kind == AETH_ACK)
        HOLDS(psn < pair->prefix, "nothing is acknowledged that has not arrived", "connection %u: PSN %u of %u", index,
              psn, pair->prefix);
    else
        HOLDS(psn <= pair->prefix, "nothing is acknowledged that has not arrived", "connection %u: NAK %u of %u", index,
              psn, pair->prefix);
    if (pkt->mark) { /* selective repeat: where the MSN is it names a packet that came out of order */
        uint32_t named = (pkt->ack.msn - pair->base) & PSN_MASK;
        HOLDS(named < pair->psns && pair->there[named] & THERE_REQUEST, "what is said to have come has come",
              "connection %u: PSN %u", index, named);
    } else if (!watch->plan->verbs) {
        uint32_t count = requests_before(pair, psn + (kind == AETH_ACK));
        HOLDS(pkt->ack.msn == (count & PSN_MASK), "the MSN counts messages", "connection %u: %u, should be %u", index,
              pkt->ack.msn, count);
    }
}

static void check_request(struct watch *watch, uint32_t index, uint32_t psn, ps_t now)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct request *request = request_of(pair, psn);

    HOLDS(request, "only PSNs that were posted are sent", "connection %u PSN %u", index, psn);
    HOLDS(now >= pair->rnr_until, "a receiver that is not ready is given its time", "connection %u: PSN %u at %lu ps",
          index, psn, (unsigned long)now);
    HOLDS(psn <= pair->high, "PSNs are sent in order the first time", "connection %u: %u after %u", index, psn,
          pair->high);
    HOLDS(psn == pair->high || pair->transport == NIC_RC, "an unreliable packet is sent once", "connection %u: PSN %u",
          index, psn);
    if (pair->rewinds && pair->acked <= pair->rewind && !watch->selective) {
        HOLDS(psn <= pair->rewind, "what a NAK asks for is sent next", "connection %u: PSN %u, asked for %u", index,
              psn, pair->rewind);
        watch->rewinds_checked++;
    }
    pair->rewinds = false;
    pair_request_goes(watch, index, psn, now);
    pair_begins(watch, index, request, psn);
    if (psn < pair->high) watch->repeated[workload_connection(watch->sim->workload, index)->src]++;
    uint32_t end = request->verb == NIC_READ ? request->first + request->packets : psn + 1;
    if (end > pair->high) pair->high = end;
    if (psn < pair->acked) return;
    if (watch->plan->verbs) return;
    if (watch->window_packets[index]) {
        HOLDS(psn - pair->acked < watch->window_packets[index], "no more is under way than the window allows",
              "connection %u: PSN %u, acknowledged %u", index, psn, pair->acked);
        watch->windows_checked++;
    }
}

pkt_t __wrap_nic_tx(struct nic *nic, ps_t now, struct nic_io *io)
{
    struct watch *watch = watching;
    uint16_t control = nic->control_mask;
    pkt_t id = __real_nic_tx(nic, now, io);
    uint32_t endpoint = nic->config.endpoint;

    if (watch && id == PKT_NONE && io->pool->free_count) {
        for (unsigned p = 0; p < NIC_PRIOS; p++)
            HOLDS(!((nic->control_mask | nic->ready_mask) >> p & 1) ||
                      watch->line[line_of_nic(watch, endpoint)].paused_until[p] >= now,
                  "a free port sends what it may", "endpoint %u priority %u waits at %lu ps", endpoint, p,
                  (unsigned long)now);
    }
    if (!watch || id == PKT_NONE) return id;
    const struct pkt *pkt = &io->pool->hot[id];
    uint32_t line = line_of_nic(watch, endpoint);
    HOLDS(watch->line[line].paused_until[pkt->pcp & 7] <= now, "a paused priority sends nothing",
          "endpoint %u priority %u at %lu ps", endpoint, pkt->pcp, (unsigned long)now);
    HOLDS(pkt->src_node == endpoint, "adapters send as themselves", "endpoint %u", endpoint);
    bool data = pkt->opcode != OPCODE_CNP && pkt->opcode != OPCODE_RC_ACK;
    for (unsigned p = 0; p < NIC_PRIOS; p++)
        HOLDS(!(control >> p & 1) || watch->line[line].paused_until[p] >= now || (!data && pkt->pcp >= p),
              "answers go before data, higher priorities first", "endpoint %u: %x before priority %u", endpoint,
              pkt->opcode, p);
    watch->payload[endpoint] += data ? pkt->payload_bytes : 0;
    bool to_receiver;
    uint32_t index = connection_of(watch, pkt->dst_node, pkt->dest_qp, &to_receiver);
    const struct pair_watch *pair = &watch->pair[index];
    watch->packet[id].order = ++watch->flow[index].sent[!to_receiver][pkt->pcp & 7];
    if (pkt->opcode != OPCODE_CNP) {
        uint32_t psn = (pkt->psn - pair->base) & PSN_MASK;
        if (to_receiver)
            check_request(watch, index, psn, now);
        else
            check_answer(watch, index, pkt, psn);
    }
    check_form(watch, index, to_receiver, pkt);
    if (data) pair_paced(watch, nic, index, !to_receiver, pkt, now);
    line_send(watch, line, pkt, id, now);
    return id;
}

/* Rates change by themselves, too. */
void __wrap_nic_tick(struct nic *nic, ps_t now, struct nic_io *io)
{
    struct watch *watch = watching;

    __real_nic_tick(nic, now, io);
    if (!watch || !watch->plan->controlled) return;
    uint32_t first = watch->first_pair[nic->config.endpoint], end = watch->first_pair[nic->config.endpoint + 1];
    for (uint32_t i = first; i < end; i++)
        pair_rate(watch, nic, watch->pair_at[i] >> 1, watch->pair_at[i] & 1);
}

void __wrap_nic_pause(struct nic *nic, uint8_t enable, const uint16_t quanta[8], ps_t now, struct nic_io *io)
{
    if (watching) {
        uint32_t line = line_of_nic(watching, nic->config.endpoint);
        line_pause_arrives(watching, line, enable, quanta[0], now);
        line_paused(watching, line, enable, quanta[0], now);
    }
    __real_nic_pause(nic, enable, quanta, now, io);
}

void request_completed(struct watch *watch, uint32_t connection, uint32_t tag, bool good, ps_t now)
{
    struct pair_watch *pair = &watch->pair[connection];

    HOLDS(pair->completed < pair->posted, "a request completes once", "connection %u: %u of %u", connection,
          pair->completed + 1, pair->posted);
    const struct request *request = &pair->request[pair->completed++];
    HOLDS(request->tag == tag, "requests complete in order", "connection %u: %lu before %lu", connection,
          (unsigned long)tag, (unsigned long)request->tag);
    if (!good) pair_failed(watch, connection, now);
    pair->failed |= !good;
    if (pair->transport != NIC_RC)
        HOLDS(good && pair->high >= request->first + request->packets, "what is unreliable completes when sent",
              "connection %u: request %u", connection, pair->completed - 1);
    else if (good && request->verb < NIC_READ)
        HOLDS(pair->prefix >= request->first + request->packets, "nothing completes that has not arrived",
              "connection %u: request %u", connection, pair->completed - 1);
    for (uint32_t i = 0; good && request->verb >= NIC_READ && i < request->packets; i++)
        HOLDS(pair->there[request->first + i] & THERE_RESPONSE, "no READ completes before its data is there",
              "connection %u: request %u packet %u", connection, pair->completed - 1, i);
}

void __wrap_workload_sent(struct workload *workload, uint32_t host, uint32_t connection, uint32_t tag, bool good,
                          ps_t now, struct app_out *out)
{
    if (watching && !software_sent(watching, connection, tag, now))
        request_completed(watching, connection, tag, good, now);
    __real_workload_sent(workload, host, connection, tag, good, now, out);
}

void __wrap_workload_received(struct workload *workload, uint32_t host, uint32_t connection, uint32_t imm, ps_t now,
                              struct app_out *out)
{
    if (watching) software_came(watching, connection, imm, now);
    if (watching && watching->plan->shared && !workload_connection(workload, connection)->notifies) {
        watching->shared_received[workload_connection(workload, connection)->dst]++;
        watching->shared_taken++;
    } else if (watching) {
        struct pair_watch *pair = &watching->pair[connection];
        HOLDS(++pair->received <= pair->posted, "a message is received once", "connection %u", connection);
    }
    if (workload_connection(workload, connection)->notifies)
        __real_workload_received(workload, host, connection, imm, now, out);
}
