/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is: connections that may send, those that owe an acknowledgement, timers, pauses, the host's cores.
 *
 * Acknowledgements go first: they are small, and the peer waits for them.  Then a connection sends a burst, what TSO
 * would cut, and goes behind the others of its priority; a higher priority goes first.  A connection whose core is busy
 * with its last burst waits for it, one timer each.  Packets that arrive wait for the host's side of reception where
 * that takes time, all in one queue.
 *
 * The timer of a connection is the earliest of all it waits for.  It is only ever moved earlier, and set again when it
 * was too early: an acknowledgement does not touch the heap.
 */
#include "tcp/tcp_int.h"

#define LINE_BYTES 24u /* of a frame's time on the line: FCS, preamble and gap */

static bool before(struct timer a, struct timer b)
{
    return a.at != b.at ? a.at < b.at : a.conn < b.conn;
}

static void put(struct tcp *tcp, uint32_t at, struct timer timer)
{
    tcp->timer[at] = timer;
    tcp->conn[timer.conn].timer_slot = at + 1;
}

static void settle(struct tcp *tcp, uint32_t at, struct timer timer)
{
    while (at > 0 && before(timer, tcp->timer[(at - 1) / 2])) {
        put(tcp, at, tcp->timer[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (uint32_t child; (child = 2 * at + 1) < tcp->timers; at = child) {
        if (child + 1 < tcp->timers && before(tcp->timer[child + 1], tcp->timer[child])) child++;
        if (!before(tcp->timer[child], timer)) break;
        put(tcp, at, tcp->timer[child]);
    }
    put(tcp, at, timer);
}

void conn_timer(struct tcp *tcp, struct tcp_conn *conn, ps_t at)
{
    uint32_t slot = conn->timer_slot;

    if (at == PS_NEVER || (slot && tcp->timer[slot - 1].at <= at)) return;
    if (slot == 0) slot = ++tcp->timers;
    settle(tcp, slot - 1, (struct timer){.at = at, .conn = conn->index});
}

static struct tcp_conn *timer_pop(struct tcp *tcp)
{
    struct tcp_conn *conn = &tcp->conn[tcp->timer[0].conn];
    struct timer last = tcp->timer[--tcp->timers];

    conn->timer_slot = 0;
    if (tcp->timers) settle(tcp, 0, last);
    return conn;
}

static ps_t hole_timer(const struct tcp_conn *conn)
{
    return conn->hole_at == PS_NEVER ? PS_NEVER : conn->hole_at + TCP_TIMEOUT_MIN;
}

static ps_t next_timer(const struct tcp_conn *conn)
{
    ps_t at = least(least(conn->rto_at, conn->probe_at), least(conn->ack_at, hole_timer(conn)));

    return conn->sched == SCHED_CPU ? least(at, conn->cpu_at) : at;
}

/* With data and window, and not stopped by the other end of the line.  ns-3 delays what it sends, and nobody waits. */
static bool waits_for_core(const struct tcp *tcp, ps_t now)
{
    if (tcp->config.ns3) return false;
    return (tcp->on_core && !tcp->paused) || (tcp->host_tx_at > now && tcp->ready_mask & (uint32_t)~tcp->paused);
}

void tcp_line_taken(struct tcp *tcp, ps_t now)
{
    if (tcp->idle_since < now) tcp->counters.cpu_idle_ps += now - tcp->idle_since;
    tcp->idle_since = PS_NEVER;
}

/* After something happened while the line was idle: nobody may wait for a core any more. */
static void line_idle(struct tcp *tcp, ps_t now)
{
    if (tcp->idle_since != PS_NEVER && !waits_for_core(tcp, now)) tcp_line_taken(tcp, now);
}

static void timer_fire(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    if (conn->sched == SCHED_CPU && conn->cpu_at <= now) {
        conn->sched = SCHED_IDLE;
        tcp->on_core--;
    }
    if (conn->ack_at <= now) receive_delay_over(tcp, conn, io);
    if (hole_timer(conn) <= now) recovery_hole_due(tcp, conn, now);
    if (conn->rto_at <= now || conn->probe_at <= now) rto_due(tcp, conn, now, io);
    conn_wake(tcp, conn, now, io);
    conn_timer(tcp, conn, next_timer(conn));
}

static void ready_push(struct tcp *tcp, struct tcp_conn *conn)
{
    struct conn_list *list = &tcp->ready[conn->prio];

    conn->sched = SCHED_READY;
    conn->ready_next = CONN_NONE;
    conn->burst_left = tcp->config.burst_bytes;
    if (tcp->ready_mask >> conn->prio & 1)
        tcp->conn[list->tail].ready_next = conn->index;
    else
        list->head = conn->index;
    list->tail = conn->index;
    tcp->ready_mask |= (uint16_t)(1u << conn->prio);
}

static void ready_pop(struct tcp *tcp, struct tcp_conn *conn)
{
    struct conn_list *list = &tcp->ready[conn->prio];

    CHECK(list->head == conn->index);
    list->head = conn->ready_next;
    if (list->head == CONN_NONE) tcp->ready_mask &= (uint16_t) ~(1u << conn->prio);
    conn->sched = SCHED_IDLE;
}

void turn_remove(struct tcp *tcp, struct tcp_conn *conn)
{
    struct conn_list *list = &tcp->ready[conn->prio];
    uint32_t at = list->head;

    if (at == conn->index) {
        ready_pop(tcp, conn);
        return;
    }
    while (tcp->conn[at].ready_next != conn->index)
        at = tcp->conn[at].ready_next;
    tcp->conn[at].ready_next = conn->ready_next;
    if (list->tail == conn->index) list->tail = at;
    conn->sched = SCHED_IDLE;
}

void conn_wake(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    if (conn->sched != SCHED_IDLE || !conn->sends || !conn_may_send(tcp, conn)) return;
    if (tcp->config.cpu_bps && conn->cpu_at > now) {
        conn->sched = SCHED_CPU;
        tcp->on_core++;
        if (!tcp->config.ns3) tcp->counters.cpu_wait_ps += conn->cpu_at - now;
        conn_timer(tcp, conn, conn->cpu_at);
        return;
    }
    ready_push(tcp, conn);
    io->kick = true;
}

void ack_push(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io)
{
    io->kick = true;
    if (conn->in_acks) return;
    conn->in_acks = true;
    conn->ack_next = CONN_NONE;
    if (tcp->acks.head == CONN_NONE)
        tcp->acks.head = conn->index;
    else
        tcp->conn[tcp->acks.tail].ack_next = conn->index;
    tcp->acks.tail = conn->index;
}

static bool owes(const struct tcp_conn *conn)
{
    return conn->ack_due || conn->prior_due || conn->syn_due || conn->syn_ack_due;
}

static void ack_unlink(struct tcp *tcp, struct tcp_conn *conn, uint32_t prior)
{
    conn->in_acks = false;
    if (prior == CONN_NONE)
        tcp->acks.head = conn->ack_next;
    else
        tcp->conn[prior].ack_next = conn->ack_next;
    if (tcp->acks.tail == conn->index) tcp->acks.tail = prior;
}

/* The first that owes an acknowledgement and is not paused; it leaves the list when it owes nothing more. */
static pkt_t tx_ack(struct tcp *tcp, ps_t now, struct tcp_io *io)
{
    uint32_t prior = CONN_NONE, at = tcp->acks.head;

    while (at != CONN_NONE) {
        struct tcp_conn *conn = &tcp->conn[at];
        uint32_t next = conn->ack_next;
        if (tcp->paused >> conn->prio & 1) {
            prior = at;
        } else {
            pkt_t id = owes(conn) ? ack_make(tcp, conn, now, io) : PKT_NONE;
            if (owes(conn)) return id; /* one more, or there was no packet to be had */
            ack_unlink(tcp, conn, prior);
            if (id != PKT_NONE) return id;
        }
        at = next;
    }
    return PKT_NONE;
}

/* After a segment of the one whose turn it is. */
static void turn_over(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    bool more = conn_may_send(tcp, conn);

    if (more && conn->burst_left >= tcp->payload) return;
    ready_pop(tcp, conn);
    if (more) conn_wake(tcp, conn, now, io);
}

/* Somebody has data and window, and all cores are busy until host_tx_at: counted once, however often it is asked. */
static void cores_wait(struct tcp *tcp, ps_t now)
{
    ps_t from = most(now, tcp->waited_until);

    if (from < tcp->host_tx_at) tcp->counters.cpu_wait_ps += tcp->host_tx_at - from;
    tcp->waited_until = most(tcp->waited_until, tcp->host_tx_at);
}

static pkt_t tx_data(struct tcp *tcp, ps_t now, struct tcp_io *io)
{
    for (;;) {
        uint32_t mask = tcp->ready_mask & (uint32_t)~tcp->paused;
        if (mask == 0) return PKT_NONE;
        if (tcp->host_tx_at > now) {
            cores_wait(tcp, now);
            return PKT_NONE;
        }
        struct tcp_conn *conn = &tcp->conn[tcp->ready[31 - __builtin_clz(mask)].head];
        if (!conn_may_send(tcp, conn)) {
            ready_pop(tcp, conn);
            continue;
        }
        pkt_t id = conn_send(tcp, conn, now, io);
        if (id != PKT_NONE) turn_over(tcp, conn, now, io);
        return id;
    }
}

static void pauses_expire(struct tcp *tcp, ps_t now)
{
    tcp->pause_next = PS_NEVER;
    for (unsigned p = 0; p < TCP_PRIOS; p++) {
        if (!(tcp->paused >> p & 1)) continue;
        if (tcp->paused_until[p] > now) {
            tcp->pause_next = least(tcp->pause_next, tcp->paused_until[p]);
            continue;
        }
        tcp->paused &= (uint16_t) ~(1u << p);
        tcp->counters.paused_ps += tcp->paused_until[p] - tcp->paused_since[p];
    }
}

pkt_t tcp_tx(struct tcp *tcp, ps_t now, struct tcp_io *io)
{
    if (tcp->pause_next <= now) pauses_expire(tcp, now);
    if (tcp->idle_since != PS_NEVER) tcp_line_taken(tcp, now);
    pkt_t id = tcp->acks.head != CONN_NONE ? tx_ack(tcp, now, io) : PKT_NONE;

    if (id == PKT_NONE) id = tx_data(tcp, now, io);
    if (id != PKT_NONE)
        tcp->counters.out_bytes += io->pool->hot[id].frame_bytes;
    else if (waits_for_core(tcp, now))
        tcp->idle_since = now;
    io->deadline = tcp_deadline(tcp);
    return id;
}

ps_t tcp_deadline(const struct tcp *tcp)
{
    ps_t at = least(tcp->timers ? tcp->timer[0].at : PS_NEVER, least(tcp->pause_next, tcp->rx_at));

    /* the cores sleep until then, if somebody waits for them */
    return tcp->host_tx_at && tcp->ready_mask ? least(at, tcp->host_tx_at) : at;
}

static void handle(struct tcp *tcp, pkt_t id, ps_t now, struct tcp_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    uint32_t index = p->dest_qp - tcp->config.first_number;
    struct tcp_conn *conn = index < tcp->config.ends ? &tcp->conn[index] : NULL;
    bool good = conn && conn->number && p->kind == PKT_TCP && conn->remote == p->src_node && !(p->flags & PKT_STRAY);

    if (good && conn->sends == (p->opcode == PKT_TCP_ACK || p->opcode == PKT_TCP_SYN_ACK)) {
        if (conn->sends)
            receive_ack(tcp, conn, p, now, io);
        else
            receive_data(tcp, conn, p, now, io);
    } else {
        tcp->counters.strays++;
    }
    pktpool_put(io->pool, id);
}

/* A segment is `ready` for cores that are busy until rx_free with those before it: counted once, however many wait. */
static void cores_wait_rx(struct tcp *tcp, ps_t ready)
{
    ps_t from = most(ready, tcp->rx_waited_until);

    if (ready > tcp->rx_waited_until) tcp->rx_wait_from = ready;
    if (from < tcp->rx_free) tcp->counters.cpu_receive_wait_ps += tcp->rx_free - from;
    tcp->rx_waited_until = most(tcp->rx_waited_until, tcp->rx_free);
}

/* Nothing arrived between the last frame and `until`, and some of what had waited for cores then. */
static void line_idle_rx(struct tcp *tcp, ps_t until)
{
    ps_t from = most(tcp->rx_seen, tcp->rx_wait_from), to = least(until, tcp->rx_waited_until);

    if (from < to) tcp->counters.cpu_receive_idle_ps += to - from;
    tcp->rx_seen = most(tcp->rx_seen, until);
}

/* What the host's side of reception takes: a time each, and its cores' for the payload.  The time when a packet is
 * handled is kept in its owner's word, rounded up. */
static void queue(struct tcp *tcp, pkt_t id, ps_t now, struct tcp_io *io)
{
    struct pkt *p = &io->pool->hot[id];
    ps_t at = now + tcp->config.receive_ps;

    if (tcp->config.jitter_ps) at += rng_below(&tcp->rng, tcp->config.jitter_ps);
    if (tcp->host_rx.bps) {
        ps_t takes = ((ps_t)p->frame_bytes + LINE_BYTES) * 8 * PS_S / tcp->config.line_bps;
        line_idle_rx(tcp, now > takes ? now - takes : 0);
        tcp->rx_seen = now;
        cores_wait_rx(tcp, at);
        at = most(at, ps_add(most(now, tcp->rx_free), rate_take(&tcp->host_rx, p->payload_bytes)));
    }
    at = tcp->rx_free = most(at, tcp->rx_free); /* none overtakes another */
    p->answers = (uint32_t)((at + PKT_TCP_TICK_PS - 1) / PKT_TCP_TICK_PS);
    p->next = PKT_NONE;
    if (tcp->rx_head == PKT_NONE) {
        tcp->rx_head = id;
        tcp->rx_at = wide(p->answers, now / PKT_TCP_TICK_PS) * PKT_TCP_TICK_PS;
    } else {
        io->pool->hot[tcp->rx_tail].next = id;
    }
    tcp->rx_tail = id;
}

static void dequeue(struct tcp *tcp, ps_t now, struct tcp_io *io)
{
    while (tcp->rx_at <= now) {
        pkt_t id = tcp->rx_head;
        tcp->rx_head = io->pool->hot[id].next;
        tcp->rx_at = tcp->rx_head == PKT_NONE
                         ? PS_NEVER
                         : wide(io->pool->hot[tcp->rx_head].answers, now / PKT_TCP_TICK_PS) * PKT_TCP_TICK_PS;
        handle(tcp, id, now, io);
    }
}

void tcp_expect(const struct tcp *tcp, const struct pkt *p)
{
    uint32_t index = p->dest_qp - tcp->config.first_number;
    const char *conn = (const char *)&tcp->conn[index];

    if (index >= tcp->config.ends) return;
    for (size_t at = 0; at < sizeof(struct tcp_conn); at += 64)
        __builtin_prefetch(conn + at);
}

void tcp_rx(struct tcp *tcp, pkt_t id, ps_t now, struct tcp_io *io)
{
    const struct pkt *p = &io->pool->hot[id];

    tcp->counters.in_segs++;
    tcp->counters.in_bytes += p->frame_bytes;
    if (tcp->config.receive_ps || tcp->config.jitter_ps || tcp->host_rx.bps || tcp->rx_head != PKT_NONE)
        queue(tcp, id, now, io);
    else
        handle(tcp, id, now, io);
    line_idle(tcp, now);
    io->deadline = tcp_deadline(tcp);
}

void tcp_tick(struct tcp *tcp, ps_t now, struct tcp_io *io)
{
    if (tcp->pause_next <= now) {
        pauses_expire(tcp, now);
        io->kick = true;
    }
    if (tcp->host_tx_at && tcp->host_tx_at <= now) {
        tcp->host_tx_at = 0;
        io->kick = true;
    }
    if (tcp->rx_at <= now) dequeue(tcp, now, io);
    while (tcp->timers && tcp->timer[0].at <= now)
        timer_fire(tcp, timer_pop(tcp), now, io);
    line_idle(tcp, now);
    io->deadline = tcp_deadline(tcp);
}

void tcp_pause(struct tcp *tcp, uint8_t enable, uint16_t quanta, ps_t now, struct tcp_io *io)
{
    ps_t span = pause_quanta_ps(quanta, tcp->config.line_bps);

    if (tcp->pause_next <= now) pauses_expire(tcp, now);
    for (unsigned p = 0; p < TCP_PRIOS; p++) {
        if (!(enable >> p & 1)) continue;
        if (!(tcp->paused >> p & 1)) tcp->paused_since[p] = now;
        tcp->paused |= (uint16_t)(1u << p);
        tcp->paused_until[p] = ps_add(now, span);
    }
    pauses_expire(tcp, now);
    io->kick = true;
    io->deadline = tcp_deadline(tcp);
}

uint16_t tcp_paused(const struct tcp *tcp)
{
    return tcp->paused;
}

void tcp_settle(struct tcp *tcp, ps_t now)
{
    for (unsigned p = 0; p < TCP_PRIOS; p++) {
        ps_t until = least(now, tcp->paused_until[p]);
        if (!(tcp->paused >> p & 1) || until <= tcp->paused_since[p]) continue;
        tcp->counters.paused_ps += until - tcp->paused_since[p];
        tcp->paused_since[p] = until;
    }
    if (tcp->idle_since != PS_NEVER) {
        tcp_line_taken(tcp, now);
        tcp->idle_since = now;
    }
    line_idle_rx(tcp, now);
}

void tcp_link(struct tcp *tcp, bool up, ps_t now, struct tcp_io *io)
{
    for (unsigned p = 0; p < TCP_PRIOS; p++)
        if (tcp->paused >> p & 1) tcp->paused_until[p] = least(tcp->paused_until[p], now);
    pauses_expire(tcp, now);
    io->kick = up;
    io->deadline = tcp_deadline(tcp);
}

void tcp_receive_rate(struct tcp *tcp, uint64_t bps, ps_t now, struct tcp_io *io)
{
    uint64_t to = bps ? bps : tcp->config.host_bps;

    (void)now;
    tcp->host_rx = to ? rate_of(to) : (struct rate){0};
    io->deadline = tcp_deadline(tcp);
}
