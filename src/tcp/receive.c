/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving end: data in, acknowledgements out.
 *
 * What comes after a gap is kept as pieces of the stream, and reported: two pieces an acknowledgement, the one that
 * the last segment went into and one of the others in turn; frames are as long as three would make them (RFC 2018).
 * What has come twice is reported once (RFC 2883).
 *
 * An acknowledgement goes at once for what is out of order or fills a gap, at a message's end (Linux: the reader has
 * taken pushed data), when the CE state changes (RFC 8257, 3.2), and for the first segments after a silence; else when
 * enough full segments have come, at the end of a burst where bursts are merged (GRO), or after the delay.  It is made
 * when the port takes it, of what is known then.
 */
#include "tcp/tcp_int.h"

static void piece_remove(struct tcp_conn *conn, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        conn->held -= conn->piece[i].end - conn->piece[i].start;
    conn->pieces -= count;
    __builtin_memmove(&conn->piece[first], &conn->piece[first + count], (conn->pieces - first) * sizeof(struct piece));
}

static void deliver(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io)
{
    while (conn->head != conn->tail && conn->message[conn->head & conn->mask].end <= conn->rcv_nxt) {
        const struct tcp_message *message = &conn->message[conn->head++ & conn->mask];
        tcp->counters.in_messages++;
        if (conn->notifies)
            conn_complete(
                tcp, (struct tcp_completion){.app = conn->app, .word = message->imm, .receive = true, .good = true},
                io);
    }
}

/* A message's end arrived: noted in order of the stream.  False: no room, which no peer of ours makes happen. */
static bool note_end(struct tcp_conn *conn, uint64_t end, uint32_t imm)
{
    uint32_t at = conn->tail;

    for (uint32_t i = conn->head; i != conn->tail; i++)
        if (conn->message[i & conn->mask].end == end) return true;
    if (conn->tail - conn->head > conn->mask) return false;
    for (; at != conn->head && conn->message[(at - 1) & conn->mask].end > end; at--)
        conn->message[at & conn->mask] = conn->message[(at - 1) & conn->mask];
    conn->message[at & conn->mask] = (struct tcp_message){.end = end, .imm = imm};
    conn->tail++;
    return true;
}

static void advance(struct tcp *tcp, struct tcp_conn *conn, uint64_t end)
{
    uint32_t filled = 0;
    uint64_t from = conn->rcv_nxt, held = conn->held;

    conn->rcv_nxt = end;
    while (filled < conn->pieces && conn->piece[filled].start <= conn->rcv_nxt)
        conn->rcv_nxt = most(conn->rcv_nxt, conn->piece[filled++].end);
    if (filled) piece_remove(conn, 0, filled);
    tcp->counters.in_payload += conn->rcv_nxt - from - (held - conn->held);
}

/* Joins [start, end), which is after a gap, to the pieces; false: no room. */
static bool keep(struct tcp *tcp, struct tcp_conn *conn, uint64_t start, uint64_t end)
{
    uint32_t first = 0, last;
    uint64_t before = conn->held;

    while (first < conn->pieces && conn->piece[first].end < start)
        first++;
    last = first;
    while (last < conn->pieces && conn->piece[last].start <= end)
        last++;
    if (last == first) {
        if (conn->pieces == tcp->config.runs / 2u) return false;
        __builtin_memmove(&conn->piece[first + 1], &conn->piece[first], (conn->pieces - first) * sizeof(struct piece));
        conn->pieces++;
        conn->piece[first] = (struct piece){start, end};
        conn->held += end - start;
    } else {
        start = least(start, conn->piece[first].start);
        end = most(end, conn->piece[last - 1].end);
        if (last - first > 1) piece_remove(conn, first + 1, last - first - 1);
        conn->held += end - start - (conn->piece[first].end - conn->piece[first].start);
        conn->piece[first] = (struct piece){start, end};
    }
    conn->newest = first;
    tcp->counters.in_payload += conn->held - before;
    if (conn->held > tcp->counters.ooo_bytes_max) tcp->counters.ooo_bytes_max = conn->held;
    return true;
}

static bool seen(const struct tcp_conn *conn, uint64_t start, uint64_t end)
{
    if (end <= conn->rcv_nxt) return true;
    for (uint32_t i = 0; i < conn->pieces; i++)
        if (conn->piece[i].start <= start && end <= conn->piece[i].end) return true;
    return false;
}

static void ack_now(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io)
{
    conn->ack_due = true;
    conn->ack_at = PS_NEVER;
    ack_push(tcp, conn, io);
}

void receive_delay_over(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io)
{
    tcp->counters.delayed_acks++;
    ack_now(tcp, conn, io);
}

/* RFC 8257, 3.2: what came before the change is acknowledged with the state it had. */
static bool mark_changed(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, struct tcp_io *io)
{
    bool marked = (p->tos & PKT_ECN_MASK) == PKT_ECN_CE;

    tcp->counters.in_ce += marked;
    if (marked == conn->ece) return false;
    if (conn->segments) {
        conn->prior_due = true;
        conn->prior_ece = conn->ece;
        conn->prior_ack = conn->rcv_nxt;
        conn->segments = 0;
        ack_push(tcp, conn, io);
    }
    conn->ece = marked;
    return true;
}

/* In order, and no gap is left. */
static void ack_in_order(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, bool at_once, ps_t now,
                         struct tcp_io *io)
{
    bool merges = tcp->config.burst_bytes != 0;
    bool burst_goes_on =
        merges && !(p->flags & PKT_TCP_BURST_END) && (uint64_t)conn->segments * tcp->payload < tcp->config.burst_bytes;
    uint32_t enough = conn->quick ? 1 : tcp->config.ack_every;

    if (at_once || (conn->segments >= enough && !burst_goes_on)) {
        if (conn->quick) conn->quick--;
        ack_now(tcp, conn, io);
    } else if (conn->ack_at == PS_NEVER) {
        conn->ack_at = now + tcp->config.ack_delay;
        conn_timer(tcp, conn, conn->ack_at);
    }
}

static void receive_syn(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, struct tcp_io *io)
{
    conn->stamp = p->tcp.stamp;
    conn->syn_ack_due = true;
    ack_push(tcp, conn, io);
}

static void duplicate(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, uint64_t start, struct tcp_io *io)
{
    tcp->counters.in_duplicate++;
    conn->dsack = (struct piece){start, start + p->payload_bytes};
    conn->dsack_due = true;
    conn->stamp = p->tcp.stamp;
    ack_now(tcp, conn, io);
}

void receive_data(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, ps_t now, struct tcp_io *io)
{
    uint64_t start = wide(p->psn, conn->rcv_nxt), end = start + p->payload_bytes;

    if (p->opcode == PKT_TCP_SYN) {
        receive_syn(tcp, conn, p, io);
        return;
    }
    if (p->payload_bytes == 0 || seen(conn, start, end)) {
        duplicate(tcp, conn, p, start, io);
        return;
    }
    bool after_gap = start > conn->rcv_nxt;
    uint64_t limit = tcp->config.held_bytes;
    bool room = !after_gap || limit == 0 || conn->held + p->payload_bytes <= limit;
    if (!room || (p->flags & PKT_TCP_END && !note_end(conn, end, p->imm)) ||
        (after_gap && !keep(tcp, conn, start, end))) {
        tcp->counters.ooo_dropped++;
        ack_now(tcp, conn, io);
        return;
    }
    bool at_once = tcp->config.cc == TCP_DCTCP && mark_changed(tcp, conn, p, io);
    if (now - conn->last_rx > tcp->config.rto_min) conn->quick = TCP_QUICK_ACKS;
    conn->last_rx = now;
    bool gap = conn->pieces != 0;
    if (after_gap) {
        tcp->counters.ooo_queued++;
    } else {
        if (conn->segments++ == 0 || gap) conn->stamp = p->tcp.stamp;
        advance(tcp, conn, end);
        deliver(tcp, conn, io);
    }
    if (after_gap || gap) {
        if (after_gap) conn->stamp = p->tcp.stamp;
        ack_now(tcp, conn, io);
    } else {
        ack_in_order(tcp, conn, p, at_once || p->flags & PKT_TCP_END, now, io);
    }
}

static void add_block(struct pkt *p, const struct piece *piece)
{
    if (!(p->flags & PKT_TCP_SACK)) {
        p->flags |= PKT_TCP_SACK;
        p->tcp.block = (uint32_t)piece->start;
        p->imm = (uint32_t)piece->end;
    } else {
        p->flags |= PKT_TCP_SACK2;
        p->tcp.second = (uint32_t)piece->start;
        p->tcp.second_end = (uint32_t)piece->end;
    }
}

static void add_blocks(struct tcp_conn *conn, struct pkt *p)
{
    uint32_t blocks = conn->pieces + conn->dsack_due;

    if (blocks == 0) return;
    if (conn->dsack_due) {
        p->flags |= PKT_TCP_DSACK;
        add_block(p, &conn->dsack);
    }
    uint32_t newest = conn->newest < conn->pieces ? conn->newest : 0;
    if (conn->pieces) add_block(p, &conn->piece[newest]);
    if (conn->pieces > 1 && !conn->dsack_due) {
        conn->rotate = (conn->rotate + 1) % conn->pieces;
        if (conn->rotate == newest) conn->rotate = (conn->rotate + 1) % conn->pieces;
        add_block(p, &conn->piece[conn->rotate]);
    }
    conn->dsack_due = false;
    p->frame_bytes = (uint16_t)(p->frame_bytes + 4 + 8 * least(blocks, 3));
}

/* A SYN of the sending end, or what the receiving end owes. */
pkt_t ack_make(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    enum pkt_tcp_type type = conn->syn_due ? PKT_TCP_SYN : conn->syn_ack_due ? PKT_TCP_SYN_ACK : PKT_TCP_ACK;
    pkt_t id = segment_make(tcp, conn, type, now, io);

    if (id == PKT_NONE) return id;
    struct pkt *p = &io->pool->hot[id];
    tcp->counters.out_segs++;
    if (type == PKT_TCP_SYN) {
        conn->syn_due = false;
        conn->last_tx = now;
        rto_ensure(tcp, conn, now);
        return id;
    }
    p->tcp.stamp = conn->stamp;
    if (type == PKT_TCP_SYN_ACK) {
        conn->syn_ack_due = false;
        return id;
    }
    tcp->counters.out_acks++;
    bool prior = conn->prior_due;
    p->psn = (uint32_t)(prior ? conn->prior_ack : conn->rcv_nxt);
    if (prior ? conn->prior_ece : conn->ece) p->flags |= PKT_TCP_ECE;
    conn->prior_due = false;
    if (prior) return id;
    tcp->counters.dsacks_sent += conn->dsack_due;
    add_blocks(conn, p);
    conn->ack_due = false;
    conn->segments = 0;
    return id;
}
