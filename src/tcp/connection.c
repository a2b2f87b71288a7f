/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint and connections: memory, making, messages posted and completed, what can be asked, the audit.
 */
#include <errno.h>

#include "base/bits.h"
#include "tcp/tcp_int.h"

/* Where streams begin: the 32 bits of packets wrap soon, and nothing is before the start of 64. */
#define STREAM_START 0x1fffff000ULL

const struct tcp_counter tcp_counter_list[] = {
#define COUNTER(field, text, about) {.name = text, .help = about, .offset = offsetof(struct tcp_counters, field)},
#include "tcp/counters.def"
    {.name = NULL},
};

struct tcp_config tcp_config_default(uint32_t endpoint, uint16_t mtu)
{
    return (struct tcp_config){.endpoint = endpoint,
                               .ends = 1,
                               .first_number = 1,
                               .header_bytes = 66,
                               .mss = (uint16_t)(mtu - 52),
                               .net = PKT_NET_IPV4,
                               .ttl = 64,
                               .cc = TCP_CUBIC,
                               .initial_window = 10,
                               .window_bytes = 64ULL << 20,
                               .rto_first = PS_S,
                               .rto_min = 200 * PS_MS,
                               .rto_max = 120 * PS_S,
                               .retries = 15,
                               .ack_every = 2,
                               .ack_delay = 40 * PS_MS,
                               .burst_bytes = 65536,
                               .probes = true,
                               .runs = 256};
}

size_t tcp_memory_bytes(const struct tcp_config *config)
{
    return lines_up(sizeof(struct tcp)) + lines_up(config->ends * sizeof(struct tcp_conn)) +
           lines_up(config->ends * sizeof(struct timer));
}

struct tcp *tcp_init(void *memory, const struct tcp_config *config)
{
    struct tcp *tcp = memory;

    CHECK(config->ends >= 1 && config->runs >= 4 * TCP_RUNS_SPARE && config->retries < 64);
    tcp->config = *config;
    tcp->payload = mpa_payload(&config->mpa, config->mss);
    CHECK(tcp->payload > 0);
    tcp->conn = (void *)((uint8_t *)memory + lines_up(sizeof(struct tcp)));
    tcp->timer = (void *)((uint8_t *)tcp->conn + lines_up(config->ends * sizeof(struct tcp_conn)));
    tcp->acks.head = CONN_NONE;
    tcp->rx_head = PKT_NONE;
    tcp->rx_at = tcp->pause_next = tcp->idle_since = PS_NEVER;
    rng_init(&tcp->rng, config->seed, config->endpoint);
    if (config->host_bps) tcp->host_tx = tcp->host_rx = rate_of(config->host_bps);
    return tcp;
}

size_t tcp_conn_bytes(const struct tcp_config *config, bool sends, uint32_t depth)
{
    size_t board = sends ? config->runs * sizeof(struct run) : config->runs / 2u * sizeof(struct piece);

    return lines_up(board) + lines_up(depth * sizeof(struct tcp_message));
}

int tcp_conn_create(struct tcp *tcp, uint32_t number, const struct tcp_conn_config *config, struct tcp_conn **ret)
{
    uint32_t index = number - tcp->config.first_number;

    if (index >= tcp->config.ends || tcp->conn[index].number) return -EINVAL;
    if (number == 0 || !is_power_of_two(config->depth) || config->depth > TCP_DEPTH_MAX || config->prio >= TCP_PRIOS)
        return -EINVAL;
    struct tcp_conn *conn = &tcp->conn[index];
    size_t board = config->sends ? tcp->config.runs * sizeof(struct run) : tcp->config.runs / 2u * sizeof(struct piece);

    *conn = (struct tcp_conn){.index = index,
                              .number = number,
                              .remote = config->remote,
                              .remote_number = config->remote_number,
                              .app = config->app,
                              .sport = config->sport,
                              .tos = config->tos,
                              .prio = config->prio,
                              .cc = tcp->config.cc,
                              .state = config->sends && tcp->config.handshake ? CONN_CLOSED : CONN_OPEN,
                              .sends = config->sends,
                              .notifies = config->notifies,
                              .mask = config->depth - 1,
                              .una = STREAM_START,
                              .nxt = STREAM_START,
                              .posted = STREAM_START,
                              .rcv_nxt = STREAM_START,
                              .ssthresh = UINT64_MAX,
                              .cwnd = (uint64_t)tcp->config.initial_window * tcp->payload,
                              .min_rtt = PS_NEVER,
                              .rto = rto_start(tcp),
                              .rto_at = PS_NEVER,
                              .probe_at = PS_NEVER,
                              .hole_at = PS_NEVER,
                              .ack_at = PS_NEVER,
                              .quick = TCP_QUICK_ACKS};
    if (config->sends)
        conn->run = config->memory;
    else
        conn->piece = config->memory;
    conn->message = (void *)((uint8_t *)config->memory + lines_up(board));
    if (tcp->config.cpu_bps) conn->cpu = rate_of(tcp->config.cpu_bps);
    control_init(tcp, conn);
    *ret = conn;
    return 0;
}

void conn_complete(struct tcp *tcp, struct tcp_completion done, struct tcp_io *io)
{
    CHECK(tcp->completion_tail - tcp->completion_head < TCP_COMPLETIONS);
    tcp->completion[tcp->completion_tail++ % TCP_COMPLETIONS] = done;
    tcp->counters.errors += !done.good;
    io->completed = true;
}

void tcp_post(struct tcp *tcp, struct tcp_conn *conn, uint64_t bytes, uint32_t tag, uint32_t imm, ps_t now,
              struct tcp_io *io)
{
    CHECK(conn->sends && conn->tail - conn->head <= conn->mask);
    if (conn->state == CONN_FAILED) {
        conn_complete(tcp, (struct tcp_completion){.app = conn->app, .word = tag}, io);
    } else {
        /* RFC 5681, 4.1: after an idle time of an RTO the window says nothing of the path any more. */
        uint64_t first = (uint64_t)tcp->config.initial_window * tcp->payload;
        if (!tcp->config.ns3 && conn->una == conn->nxt && now - conn->last_tx > conn->rto)
            conn->cwnd = least(conn->cwnd, first);
        conn->posted += bytes ? bytes : 1;
        conn->message[conn->tail++ & conn->mask] = (struct tcp_message){.end = conn->posted, .tag = tag, .imm = imm};
        if (conn->state == CONN_CLOSED) {
            conn->state = CONN_SYN_SENT;
            conn->syn_due = true;
            ack_push(tcp, conn, io);
        }
        conn_wake(tcp, conn, now, io);
    }
    io->deadline = tcp_deadline(tcp);
}

void conn_acknowledged(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io)
{
    while (conn->head != conn->tail && conn->message[conn->head & conn->mask].end <= conn->una) {
        const struct tcp_message *message = &conn->message[conn->head++ & conn->mask];
        conn_complete(tcp, (struct tcp_completion){.app = conn->app, .word = message->tag, .good = true}, io);
    }
}

void conn_fail(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io)
{
    tcp->counters.aborts++;
    if (conn->sched == SCHED_READY) turn_remove(tcp, conn);
    if (conn->sched == SCHED_CPU) tcp->on_core--;
    conn->sched = SCHED_IDLE;
    conn->state = CONN_FAILED;
    conn->rto_at = conn->probe_at = conn->hole_at = PS_NEVER;
    conn->syn_due = conn->probe_due = false;
    conn->runs = 0;
    conn->sacked = conn->lost = 0;
    conn->nxt = conn->posted = conn->una;
    while (conn->head != conn->tail) {
        const struct tcp_message *message = &conn->message[conn->head++ & conn->mask];
        conn_complete(tcp, (struct tcp_completion){.app = conn->app, .word = message->tag}, io);
    }
    conn->cur = conn->head;
}

uint64_t message_end(const struct tcp_conn *conn, uint64_t at, uint32_t *ret_imm)
{
    for (uint32_t i = conn->head; i != conn->tail; i++) {
        const struct tcp_message *message = &conn->message[i & conn->mask];
        if (message->end <= at) continue;
        *ret_imm = message->imm;
        return message->end;
    }
    CHECK(false); /* a byte of no message */
    return 0;
}

bool tcp_waits(const struct tcp *tcp)
{
    return tcp->completion_head != tcp->completion_tail;
}

bool tcp_completion(struct tcp *tcp, struct tcp_completion *ret)
{
    if (!tcp_waits(tcp)) return false;
    *ret = tcp->completion[tcp->completion_head++ % TCP_COMPLETIONS];
    return true;
}

struct tcp_counters *tcp_counters(struct tcp *tcp)
{
    return &tcp->counters;
}

uint64_t tcp_conn_acked_bytes(const struct tcp_conn *conn)
{
    return conn->una - STREAM_START;
}

uint64_t tcp_conn_resent_segments(const struct tcp_conn *conn)
{
    return conn->resent_segments;
}

uint64_t tcp_conn_window(const struct tcp_conn *conn)
{
    return conn->cwnd;
}

uint64_t tcp_conn_rate(const struct tcp_conn *conn)
{
    return rate_measure(conn->cwnd, conn->srtt);
}

uint32_t tcp_conn_queued(const struct tcp_conn *conn)
{
    return conn->tail - conn->head;
}

static void audit_sender(const struct tcp *tcp, const struct tcp_conn *conn)
{
    CHECK(conn->una <= conn->nxt && conn->nxt <= conn->posted);
    CHECK(conn->tail - conn->head <= conn->mask + 1 && conn->cur - conn->head <= conn->tail - conn->head);
    CHECK(conn->cwnd > 0 && conn->ssthresh > 0);
    CHECK((conn->head == conn->tail) == (conn->una == conn->posted));
    board_audit(tcp, conn);
    /* whoever has sent and hears nothing has a timer */
    if (conn->state == CONN_OPEN && conn->una != conn->nxt) CHECK(conn->rto_at != PS_NEVER && conn->timer_slot);
    if (conn->state == CONN_OPEN && conn->sched == SCHED_IDLE) CHECK(!conn_may_send(tcp, conn));
}

static void audit_receiver(const struct tcp *tcp, const struct tcp_conn *conn)
{
    uint64_t at = conn->rcv_nxt, held = 0;

    CHECK(conn->pieces <= tcp->config.runs / 2u);
    for (uint32_t i = 0; i < conn->pieces; i++) {
        CHECK(conn->piece[i].start > at && conn->piece[i].end > conn->piece[i].start);
        at = conn->piece[i].end;
        held += conn->piece[i].end - conn->piece[i].start;
    }
    CHECK(held == conn->held);
    for (uint32_t i = conn->head; i != conn->tail; i++)
        CHECK(conn->message[i & conn->mask].end > conn->rcv_nxt);
}

void tcp_audit(const struct tcp *tcp)
{
    uint32_t ready = 0, listed = 0, timers = 0;

    for (uint32_t i = 0; i < tcp->config.ends; i++) {
        const struct tcp_conn *conn = &tcp->conn[i];
        if (conn->number == 0) continue;
        ready += conn->sched == SCHED_READY;
        timers += conn->timer_slot != 0;
        if (conn->timer_slot) CHECK(tcp->timer[conn->timer_slot - 1].conn == i);
        if (conn->sends && conn->state != CONN_FAILED)
            audit_sender(tcp, conn);
        else if (!conn->sends)
            audit_receiver(tcp, conn);
    }
    CHECK(timers == tcp->timers);
    for (uint32_t i = 1; i < tcp->timers; i++)
        CHECK(tcp->timer[(i - 1) / 2].at <= tcp->timer[i].at);
    for (uint32_t p = 0; p < TCP_PRIOS; p++) {
        if (!(tcp->ready_mask >> p & 1)) continue;
        for (uint32_t at = tcp->ready[p].head; at != CONN_NONE; at = tcp->conn[at].ready_next) {
            CHECK(tcp->conn[at].sched == SCHED_READY && tcp->conn[at].prio == p);
            CHECK(++listed <= ready);
        }
    }
    CHECK(listed == ready);
}
