/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sent and is not acknowledged, as runs of bytes of the same fate, in order: sent, arrived after a gap, lost,
 * sent again.
 *
 * Windows are thousands of segments, but the runs are few: without loss there is one. The list is bounded. A report of
 * what arrived that finds no room is forgotten, which costs a segment sent twice; a few places are kept for what is
 * sent again, and should those be used up too, everything counts as lost. Bytes that arrived after a gap stay so:
 * receivers here keep what they have reported.
 */
#include "tcp/tcp_int.h"

static uint64_t start_of(const struct tcp_conn *conn, uint32_t i)
{
    return i ? conn->run[i - 1].end : conn->una;
}

static void count(struct tcp_conn *conn, enum run_state state, uint64_t bytes, bool add)
{
    uint64_t *sum = state == RUN_SACKED ? &conn->sacked : state == RUN_LOST ? &conn->lost : NULL;

    if (sum) *sum = add ? *sum + bytes : *sum - bytes;
}

/* Neighbours of one state become one run; those sent again have the time of the later. */
static void merge(struct tcp_conn *conn)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < conn->runs; i++) {
        if (kept && conn->run[kept - 1].state == conn->run[i].state) {
            struct run *before = &conn->run[kept - 1];
            before->end = conn->run[i].end;
            if ((int32_t)(conn->run[i].stamp - before->stamp) > 0) before->stamp = conn->run[i].stamp;
        } else {
            conn->run[kept++] = conn->run[i];
        }
    }
    conn->runs = kept;
}

static uint32_t find(const struct tcp_conn *conn, uint64_t at)
{
    uint32_t i = 0;

    while (conn->run[i].end <= at)
        i++;
    return i;
}

/* Bytes [start, end), which are between una and nxt, have this state from now on; false: no room. */
static bool set(struct tcp_conn *conn, uint64_t start, uint64_t end, struct run with, uint32_t room)
{
    uint32_t first = find(conn, start), last = first, parts = 0;
    struct run part[3];

    while (conn->run[last].end < end)
        last++;
    if (start_of(conn, first) < start) {
        part[parts] = conn->run[first];
        part[parts++].end = start;
    }
    with.end = end;
    part[parts++] = with;
    if (conn->run[last].end > end) part[parts++] = conn->run[last];
    uint32_t taken = last - first + 1, after = conn->runs - last - 1;
    if (conn->runs - taken + parts > room) return false;
    for (uint32_t i = first; i <= last; i++) {
        uint64_t from = most(start_of(conn, i), start), to = least(conn->run[i].end, end);
        count(conn, conn->run[i].state, to - from, false);
    }
    count(conn, with.state, end - start, true);
    __builtin_memmove(&conn->run[first + parts], &conn->run[last + 1], after * sizeof(struct run));
    __builtin_memcpy(&conn->run[first], part, parts * sizeof(struct run));
    conn->runs = conn->runs - taken + parts;
    merge(conn);
    return true;
}

/* No room is left: all counts as lost, whatever arrived. */
static void forget(struct tcp *tcp, struct tcp_conn *conn)
{
    tcp->counters.sacks_forgotten++;
    conn->run[0] = (struct run){.end = conn->nxt, .state = RUN_LOST};
    conn->runs = 1;
    conn->sacked = 0;
    conn->lost = conn->nxt - conn->una;
}

void board_sent(struct tcp *tcp, struct tcp_conn *conn, uint64_t end)
{
    if (conn->runs && conn->run[conn->runs - 1].state == RUN_SENT) {
        conn->run[conn->runs - 1].end = end;
    } else {
        if (conn->runs == tcp->config.runs) forget(tcp, conn);
        conn->run[conn->runs++] = (struct run){.end = end, .state = RUN_SENT};
    }
    conn->nxt = end;
}

void board_resent(struct tcp *tcp, struct tcp_conn *conn, uint64_t start, uint64_t end, uint32_t stamp)
{
    struct run resent = {.stamp = stamp, .state = RUN_RESENT};

    /* one place stays for new data */
    if (set(conn, start, end, resent, tcp->config.runs - 1u)) return;
    forget(tcp, conn);
    CHECK(set(conn, start, end, resent, tcp->config.runs - 1u));
}

/* What was never sent again and comes after something that was sent later: segments change places. */
static void note_reorder(struct tcp *tcp, struct tcp_conn *conn)
{
    tcp->counters.reorders++;
    conn->reorders = true;
}

void board_acked(struct tcp *tcp, struct tcp_conn *conn, uint64_t to, uint64_t *ret_fresh, bool *ret_resent)
{
    uint32_t gone = 0;

    *ret_fresh = 0;
    *ret_resent = false;
    for (uint32_t i = 0; i < conn->runs && start_of(conn, i) < to; i++) {
        const struct run *run = &conn->run[i];
        uint64_t bytes = least(run->end, to) - start_of(conn, i);
        count(conn, run->state, bytes, false);
        if (run->state != RUN_SACKED) *ret_fresh += bytes;
        if (run->state == RUN_RESENT) *ret_resent = true;
        bool early = run->state == RUN_SENT && i + 1 < conn->runs && conn->run[i + 1].state == RUN_SACKED;
        if (early || run->state == RUN_LOST) note_reorder(tcp, conn);
        if (run->end <= to) gone++;
    }
    conn->runs -= gone;
    if (gone) __builtin_memmove(conn->run, &conn->run[gone], conn->runs * sizeof(struct run));
    conn->una = to;
}

uint64_t board_highest(const struct tcp_conn *conn)
{
    for (uint32_t i = conn->runs; i-- > 0;)
        if (conn->run[i].state == RUN_SACKED) return conn->run[i].end;
    return conn->una;
}

uint64_t board_sacked(struct tcp *tcp, struct tcp_conn *conn, uint64_t start, uint64_t end)
{
    uint64_t fresh = 0, highest = board_highest(conn);
    bool early = false;

    start = most(start, conn->una);
    end = least(end, conn->nxt);
    if (start >= end) return 0;
    for (uint32_t i = find(conn, start); i < conn->runs && start_of(conn, i) < end; i++) {
        const struct run *run = &conn->run[i];
        if (run->state == RUN_SACKED) continue;
        fresh += least(run->end, end) - most(start_of(conn, i), start);
        early = early || ((run->state == RUN_SENT || run->state == RUN_LOST) && run->end <= highest);
    }
    if (fresh == 0) return 0;
    if (!set(conn, start, end, (struct run){.state = RUN_SACKED}, tcp->config.runs - TCP_RUNS_SPARE)) {
        tcp->counters.sacks_forgotten++;
        return 0;
    }
    if (early) note_reorder(tcp, conn);
    return fresh;
}

static void lose(struct tcp_conn *conn, uint32_t i)
{
    conn->run[i].state = RUN_LOST;
    count(conn, RUN_LOST, conn->run[i].end - start_of(conn, i), true);
}

/* RFC 6675, IsLost(): three pieces, or more than two segments' bytes, have arrived that are after it. */
bool board_lose(struct tcp_conn *conn, uint32_t mss)
{
    uint64_t bytes = 0;
    uint32_t pieces = 0;
    bool any = false;

    for (uint32_t i = conn->runs; i-- > 0;) {
        if (conn->run[i].state == RUN_SACKED) {
            bytes += conn->run[i].end - start_of(conn, i);
            pieces++;
        } else if (conn->run[i].state == RUN_SENT &&
                   (pieces >= TCP_DUP_THRESH || bytes > (TCP_DUP_THRESH - 1) * (uint64_t)mss)) {
            lose(conn, i);
            any = true;
        }
    }
    if (any) merge(conn);
    return any;
}

bool board_lose_below(struct tcp_conn *conn, uint64_t below)
{
    bool any = false;

    for (uint32_t i = 0; i < conn->runs && conn->run[i].end <= below; i++) {
        if (conn->run[i].state != RUN_SENT) continue;
        lose(conn, i);
        any = true;
    }
    if (any) merge(conn);
    return any;
}

bool board_lose_resent(struct tcp *tcp, struct tcp_conn *conn, uint32_t stamp, ps_t by)
{
    bool any = false;

    for (uint32_t i = 0; i < conn->runs; i++) {
        if (conn->run[i].state != RUN_RESENT || !stamp_after(stamp, conn->run[i].stamp, by)) continue;
        tcp->counters.lost_retransmit++;
        lose(conn, i);
        any = true;
    }
    if (any) merge(conn);
    return any;
}

void board_lose_all(struct tcp_conn *conn)
{
    for (uint32_t i = 0; i < conn->runs; i++)
        if (conn->run[i].state == RUN_SENT || conn->run[i].state == RUN_RESENT) lose(conn, i);
    merge(conn);
}

bool board_next(const struct tcp_conn *conn, enum run_state state, uint64_t *ret_start, uint64_t *ret_end)
{
    for (uint32_t i = 0; i < conn->runs; i++) {
        if (conn->run[i].state != state) continue;
        *ret_start = start_of(conn, i);
        *ret_end = conn->run[i].end;
        return true;
    }
    return false;
}

bool board_first_waits(const struct tcp_conn *conn)
{
    return conn->runs && conn->run[0].state != RUN_RESENT;
}

void board_audit(const struct tcp *tcp, const struct tcp_conn *conn)
{
    uint64_t at = conn->una, sacked = 0, lost = 0;

    CHECK(conn->runs <= tcp->config.runs);
    for (uint32_t i = 0; i < conn->runs; i++) {
        const struct run *run = &conn->run[i];
        CHECK(run->end > at);
        CHECK(i == 0 || run->state != conn->run[i - 1].state);
        if (run->state == RUN_SACKED) sacked += run->end - at;
        if (run->state == RUN_LOST) lost += run->end - at;
        at = run->end;
    }
    CHECK(at == conn->nxt && sacked == conn->sacked && lost == conn->lost);
}
