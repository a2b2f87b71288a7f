/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of torture.c: draws operations, knows what each must leave behind in both memories, and holds every
 * completion against it.
 */
#include "torture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#undef QP_IDLE /* the system's, which nobody here needs, and the adapter's */
#include "nic/nic_int.h"

struct end end[2];
struct pair pair[QPS];
uint64_t seed, operations, finished, added[2];
uint64_t verbs[NIC_VERBS], datagrams, datagrams_came;

void wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "torture: seed %llu: ", (unsigned long long)seed);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    for (int e = 0; e < 2 && end[e].live; e++) {
        const struct nic_counters *counters = live_counters(end[e].live);
        for (const struct nic_counter *c = nic_counter_list; c->name; c++) {
            uint64_t value;
            memcpy(&value, (const char *)counters + c->offset, sizeof value);
            if (value) fprintf(stderr, "end %d: %s %llu\n", e, c->name, (unsigned long long)value);
        }
        const struct wire_counters *wire = live_wire_counters(end[e].live);
#define X(name)                                                                                                        \
    if (wire->name) fprintf(stderr, "end %d: wire %s %llu\n", e, #name, (unsigned long long)wire->name);
        WIRE_COUNTER_LIST(X)
#undef X
#define X(name, help) fprintf(stderr, "end %d: own %s %llu\n", e, #name, (unsigned long long)end[e].live->own.name);
        LIVE_COUNTER_LIST(X)
#undef X
    }
    _exit(1);
}

/* --- bytes --- */

static uint64_t word_of(uint64_t number, uint64_t i)
{
    uint64_t x = (number + 1) * 0x9e3779b97f4a7c15u + i * 0xd6e8feb86659fd93u;
    return x ^ x >> 29;
}

static void fill(uint8_t *at, uint32_t bytes, uint64_t number)
{
    for (uint32_t i = 0; i < bytes; i += 8) {
        uint64_t word = word_of(number, i);
        memcpy(at + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static bool filled(const uint8_t *at, uint32_t bytes, uint64_t number)
{
    for (uint32_t i = 0; i < bytes; i += 8) {
        uint64_t word = word_of(number, i);
        if (memcmp(at + i, &word, bytes - i < 8 ? bytes - i : 8) != 0) return false;
    }
    return true;
}

static void guard(uint8_t *at, uint32_t bytes)
{
    memset(at - GUARD, 0xa5, GUARD);
    memset(at + bytes, 0x5a, GUARD);
}

static bool guarded(const uint8_t *at, uint32_t bytes)
{
    for (uint32_t i = 0; i < GUARD; i++)
        if (at[(int)i - (int)GUARD] != 0xa5 || at[bytes + i] != 0x5a) return false;
    return true;
}

uint8_t *take_memory(struct end *e, size_t bytes)
{
    uint8_t *at = e->memory + e->used;
    e->used += (bytes + 63) & ~(size_t)63;
    REQUIRE(e->used <= MEMORY_BYTES);
    return at;
}

static uint8_t *slot(uint8_t *base, uint64_t sequence)
{
    return base + sequence % DEPTH * SLOT_BYTES + GUARD;
}

static uint64_t number_of(const struct pair *p, int s, uint64_t sequence)
{
    return sequence * 2 * QPS + (uint64_t)(p - pair) * 2 + (uint64_t)s;
}

static uint32_t draw_bytes(struct rng *rng, const struct pair *p)
{
    static const uint32_t most[] = {0, 64, 64, 64, 64, 1024, 1024, 1024, 8192, 8192};
    uint32_t at = (uint32_t)rng_below(rng, 100);
    uint32_t limit = at < 2 ? SIZE_MAX_BYTES : at < 8 ? 32768 : most[at % 10];

    if (p->mtu <= 512 && limit > 32768) limit = 32768;
    if (p->model == MODEL_UC && limit > UC_BYTES) limit = UC_BYTES;
    if (p->model == MODEL_UD && limit > DATAGRAM_BYTES) limit = DATAGRAM_BYTES;
    return (uint32_t)rng_below(rng, limit + 1);
}

/* --- posting --- */

/* The bytes in one to four pieces. */
static unsigned pieces(struct rng *rng, struct device_sge sge[4], uint8_t *at, uint32_t bytes, uint32_t key)
{
    unsigned count = rng_chance(rng, 700000) ? 1 : 1 + (unsigned)rng_below(rng, 4);

    if (bytes == 0 && rng_chance(rng, 500000)) return 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t part = i + 1 == count ? bytes : (uint32_t)rng_below(rng, bytes + 1);
        sge[i] = (struct device_sge){.addr = (uintptr_t)at, .length = part, .key = key};
        at += part;
        bytes -= part;
    }
    return count;
}

/* The receive of an operation that wants one. */
static void post_receive(struct rng *rng, struct pair *p, int s, uint64_t sequence)
{
    struct side *side = &p->side[s];
    struct op *op = &side->op[sequence % DEPTH];
    struct device_sge sge[4];
    uint32_t room = op->verb == NIC_WRITE_IMM ? 0 : op->bytes;

    op->posted = true;
    if (p->model == MODEL_SRQ) return;
    struct device_recv recv = {.wr_id = sequence, .sge = sge};
    recv.sges = pieces(rng, sge, slot(side->target, sequence) + op->at, room, device_mr_key(end[!s].mr));
    if (op->verb == NIC_WRITE_IMM) recv.sges = 0;
    REQUIRE(device_post_recv(p->side[!s].qp, &recv) == 0);
}

void post_srq(int e, uint64_t index)
{
    struct device_sge sge = {.addr = (uintptr_t)end[e].srq_memory + index * (SRQ_BYTES + 2 * GUARD) + GUARD,
                             .length = SRQ_BYTES,
                             .key = device_mr_key(end[e].mr)};
    struct device_recv recv = {.wr_id = index, .sge = &sge, .sges = 1};

    guard((uint8_t *)(uintptr_t)sge.addr, SRQ_BYTES);
    REQUIRE(device_post_srq(end[e].srq, &recv) == 0);
}

void post_datagram_recv(struct pair *p, int s, uint64_t index)
{
    uint32_t room = UC_BYTES + 2 * GUARD;
    struct device_sge sge = {.addr = (uintptr_t)p->side[s].recv + index * (room + 2 * GUARD) + GUARD,
                             .length = room,
                             .key = device_mr_key(end[!s].mr)};
    struct device_recv recv = {.wr_id = index, .sge = &sge, .sges = 1};

    REQUIRE(device_post_recv(p->side[!s].qp, &recv) == 0);
}

static void prepare_atomic(struct rng *rng, struct side *side, int s, struct op *op, struct device_send *send,
                           struct device_sge *sge)
{
    uint32_t w = (uint32_t)rng_below(rng, WORDS);

    *sge = (struct device_sge){
        .addr = (uintptr_t)&side->result[op - side->op], .length = 8, .key = device_mr_key(end[s].mr)};
    send->sges = 1;
    send->wr.remote_va = (uintptr_t)&side->word[w];
    op->expect = side->model[w];
    if (op->verb == NIC_CAS) {
        bool fits = rng_chance(rng, 500000);
        send->wr.compare = fits ? op->expect : op->expect + 1;
        send->wr.swap = rng_u64(rng);
        if (fits) side->model[w] = send->wr.swap;
        return;
    }
    send->wr.swap = rng_u64(rng);
    if (rng_chance(rng, 200000)) { /* the common word: its order is not known, its sum is */
        send->wr.remote_va = (uintptr_t)end[!s].shared;
        op->imm = 1;
        __atomic_fetch_add(&added[s], send->wr.swap, __ATOMIC_RELAXED);
    } else {
        side->model[w] += send->wr.swap;
    }
}

/* What lies where before the work request is posted. */
static void prepare(struct rng *rng, struct pair *p, int s, struct op *op, struct device_send *send,
                    struct device_sge sge[4])
{
    struct side *side = &p->side[s];
    uint8_t *source = slot(side->source, op->number / (2 * QPS)) + op->at;
    uint8_t *target = slot(side->target, op->number / (2 * QPS)) + op->at;
    bool reads = op->verb == NIC_READ;

    send->wr.rkey = device_mr_key(end[!s].mr);
    send->wr.remote_va = (uintptr_t)target;
    /* not READs: a copy of its request that the network keeps back may come when the window is closed again */
    if (side->window == BOUND && !reads && rng_chance(rng, 500000)) send->wr.rkey = side->mw_key;
    if (op->verb == NIC_CAS || op->verb == NIC_FETCH_ADD) {
        prepare_atomic(rng, side, s, op, send, sge);
        return;
    }
    fill(reads ? target : source, op->bytes, op->number);
    guard(reads ? source : target, op->bytes);
    send->copy = op->verb <= NIC_WRITE_IMM && op->bytes <= 256 && rng_chance(rng, 300000);
    send->sges = pieces(rng, sge, source, op->bytes, device_mr_key(end[s].mr));
}

static uint8_t draw_verb(struct rng *rng, struct pair *p, int s)
{
    static const uint8_t list[] = {NIC_SEND,      NIC_SEND_IMM, NIC_SEND_INV, NIC_WRITE, NIC_WRITE,     NIC_WRITE,
                                   NIC_WRITE_IMM, NIC_READ,     NIC_READ,     NIC_CAS,   NIC_FETCH_ADD, NIC_FETCH_ADD};
    struct side *side = &p->side[s], *back = &p->side[!s];
    uint8_t verb = list[rng_below(rng, sizeof list)];

    if (verb != NIC_SEND_INV) return verb;
    if (side->window == BOUND) return verb;
    /* none to invalidate: bind the one that the other direction uses and we hold */
    return back->window == UNBOUND ? KIND_BIND : NIC_SEND;
}

static void post_bind(struct pair *p, int s, struct device_send *send)
{
    struct side *back = &p->side[!s];

    send->mw = back->mw;
    send->mr = end[s].mr;
    send->mw_addr = (uintptr_t)end[s].memory;
    send->mw_bytes = MEMORY_BYTES;
    send->mw_access = NIC_REMOTE_ALL;
    back->mw_key = (device_mw_key(back->mw) & ~255u) | ((device_mw_key(back->mw) + 1) & 255u);
    send->mw_key = back->mw_key;
    back->window = BINDING;
}

static bool wants_receive(uint8_t verb)
{
    return verb <= NIC_SEND_INV || verb == NIC_WRITE_IMM;
}

static void post_rc(struct rng *rng, struct pair *p, int s, bool tell)
{
    struct side *side = &p->side[s];
    uint64_t sequence = side->posted;
    struct op *op = &side->op[sequence % DEPTH];
    struct device_sge sge[4];

    *op = (struct op){.busy = true, .number = number_of(p, s, sequence), .imm = (uint32_t)sequence};
    op->verb = draw_verb(rng, p, s);
    op->at = (uint32_t)rng_below(rng, GUARD);
    op->bytes = draw_bytes(rng, p);
    if (p->model == MODEL_SRQ && wants_receive(op->verb) && op->bytes > SRQ_BYTES) op->bytes = SRQ_BYTES;
    op->signaled = tell || side->op[(sequence + 1) % DEPTH].busy || rng_chance(rng, 700000);
    op->received = !wants_receive(op->verb);
    struct device_send send = {.wr = {.wr_id = sequence, .verb = op->verb, .imm = op->imm}, .sge = sge};
    if (op->signaled) send.wr.flags |= NIC_SIGNALED;
    if (rng_chance(rng, 50000)) send.wr.flags |= NIC_FENCE;
    if (op->verb == NIC_CAS || op->verb == NIC_FETCH_ADD) op->imm = 0;
    if (op->verb == KIND_BIND) {
        op->signaled = true;
        send.wr.flags |= NIC_SIGNALED;
        post_bind(p, s, &send);
    } else {
        prepare(rng, p, s, op, &send, sge);
    }
    if (op->verb == NIC_SEND_INV) {
        send.wr.imm = op->imm = side->mw_key;
        send.wr.flags |= NIC_FENCE; /* READs through the window may have to be asked for again */
        side->window = LEAVING;
    }
    side->posted++;
    __atomic_fetch_add(&verbs[op->verb], 1, __ATOMIC_RELAXED);
    bool late = wants_receive(op->verb) && rng_chance(rng, 100000);
    if (wants_receive(op->verb) && !late) post_receive(rng, p, s, sequence);
    REQUIRE(device_post_send(side->qp, &send, rng_chance(rng, 100000)) == 0);
    if (late) post_receive(rng, p, s, sequence);
}

static void post_unreliable(struct rng *rng, struct pair *p, int s, bool tell)
{
    struct side *side = &p->side[s];
    uint64_t sequence = side->posted++;
    struct op *op = &side->op[sequence % DEPTH];
    struct rng own; /* the receiver draws the same */

    rng_init(&own, seed, 1000000 + number_of(p, s, sequence));
    *op = (struct op){.busy = true, .received = true, .number = number_of(p, s, sequence), .verb = NIC_SEND_IMM};
    op->bytes = draw_bytes(&own, p);
    op->signaled = tell || side->op[(sequence + 1) % DEPTH].busy || rng_chance(rng, 700000);
    fill(slot(side->source, sequence), op->bytes, op->number);
    struct device_sge sge = {
        .addr = (uintptr_t)slot(side->source, sequence), .length = op->bytes, .key = device_mr_key(end[s].mr)};
    struct device_send send = {
        .wr = {.wr_id = sequence, .verb = op->verb, .imm = (uint32_t)sequence}, .sge = &sge, .sges = 1};
    if (op->signaled) send.wr.flags |= NIC_SIGNALED;
    send.wr.dest = end[s].path;
    send.wr.dest_qp = device_qp_number(p->side[!s].qp);
    send.wr.qkey = 0x11111111;
    __atomic_fetch_add(&datagrams, 1, __ATOMIC_RELAXED);
    REQUIRE(device_post_send(side->qp, &send, false) == 0);
}

/* --- completions --- */

static void release(struct op *op)
{
    if (!op->sent || !op->received) return;
    op->busy = false;
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELAXED);
}

/* The work request is complete: its bytes are where they should be. */
static void check_sent(struct pair *p, int s, uint64_t sequence)
{
    struct side *side = &p->side[s];
    struct op *op = &side->op[sequence % DEPTH];
    const uint8_t *source = slot(side->source, sequence) + op->at, *target = slot(side->target, sequence) + op->at;

    REQUIRE(op->busy && !op->sent);
    op->sent = true;
    switch (op->verb) {
    case NIC_WRITE:
    case NIC_WRITE_IMM:
        if (!filled(target, op->bytes, op->number) || !guarded(target, op->bytes))
            wrong("qp %d side %d operation %llu: a WRITE of %u bytes is not there", (int)(p - pair), s,
                  (unsigned long long)sequence, op->bytes);
        break;
    case NIC_READ:
        if (!filled(source, op->bytes, op->number) || !guarded(source, op->bytes))
            wrong("qp %d side %d operation %llu: a READ of %u bytes is wrong", (int)(p - pair), s,
                  (unsigned long long)sequence, op->bytes);
        break;
    case NIC_CAS:
    case NIC_FETCH_ADD:
        if (op->imm == 0 && side->result[sequence % DEPTH] != op->expect)
            wrong("qp %d side %d operation %llu: an atomic answered %llx, not %llx", (int)(p - pair), s,
                  (unsigned long long)sequence, (unsigned long long)side->result[sequence % DEPTH],
                  (unsigned long long)op->expect);
        break;
    case KIND_BIND:
        REQUIRE(p->side[!s].window == BINDING);
        p->side[!s].window = BOUND;
        break;
    default:
        break;
    }
    release(op);
}

/* Where both ends of a queue pair stand. */
static void show(const struct pair *p)
{
    for (int s = 0; s < 2; s++) {
        const struct nic_qp *q = p->side[s].qp->nic;
        fprintf(stderr,
                "end %d: state %d una %x nxt %x high %x sq %u/%u/%u reads %u retry %u rnr %d; epsn %x nak %d trail %d "
                "resources %u/%u of %u failing %d\n",
                s, (int)q->state, q->una, q->nxt, q->high, q->sq_head, q->sq_cur, q->sq_tail, (unsigned)q->reads_out,
                (unsigned)q->retry_left, q->rnr_wait, q->epsn, q->nak_sent, q->trail, q->resource_next,
                q->resource_tail, q->resource_size, (int)q->failing);
    }
}

static void on_sent(struct pair *p, int s, const struct nic_cqe *cqe)
{
    struct side *side = &p->side[s];

    if (cqe->status != NIC_SUCCESS) show(p);
    if (cqe->status != NIC_SUCCESS)
        wrong("qp %d side %d operation %llu (verb %u, %u bytes): %s", (int)(p - pair), s,
              (unsigned long long)cqe->wr_id, side->op[cqe->wr_id % DEPTH].verb, side->op[cqe->wr_id % DEPTH].bytes,
              nic_status_name(cqe->status));
    REQUIRE(cqe->wr_id >= side->done && cqe->wr_id < side->posted); /* once, and in order */
    while (side->done <= cqe->wr_id) {
        bool last = side->done == cqe->wr_id;
        REQUIRE(side->op[side->done % DEPTH].signaled == last); /* none was skipped */
        check_sent(p, s, side->done++);
    }
}

static void on_received(struct pair *p, int s, const struct nic_cqe *cqe)
{
    struct side *side = &p->side[s];

    REQUIRE(cqe->status == NIC_SUCCESS);
    /* those that want none; their slots may have been used again */
    while (side->received < side->posted &&
           (side->op[side->received % DEPTH].number != number_of(p, s, side->received) ||
            !wants_receive(side->op[side->received % DEPTH].verb)))
        side->received++;
    REQUIRE(side->received < side->posted);
    uint64_t sequence = side->received++;
    struct op *op = &side->op[sequence % DEPTH];
    const uint8_t *target = slot(side->target, sequence) + op->at;
    REQUIRE(op->busy && !op->received && op->verb == cqe->verb);
    if (p->model == MODEL_SRQ) {
        const uint8_t *at = end[!s].srq_memory + cqe->wr_id * (SRQ_BYTES + 2 * GUARD) + GUARD;
        REQUIRE(guarded(at, SRQ_BYTES));
        if (op->verb != NIC_WRITE_IMM) REQUIRE(filled(at, op->bytes, op->number));
        post_srq(!s, cqe->wr_id);
    } else {
        REQUIRE(cqe->wr_id == sequence);
    }
    if (cqe->bytes != op->bytes || (p->model == MODEL_RC && !filled(target, op->bytes, op->number)) ||
        !guarded(target, op->bytes))
        wrong("qp %d side %d operation %llu: a receive of %u bytes is wrong (%llu came)", (int)(p - pair), s,
              (unsigned long long)sequence, op->bytes, (unsigned long long)cqe->bytes);
    REQUIRE(cqe->has_imm == (op->verb == NIC_SEND_IMM || op->verb == NIC_WRITE_IMM));
    REQUIRE(!cqe->has_imm || cqe->imm == op->imm);
    REQUIRE(cqe->invalidated == (op->verb == NIC_SEND_INV));
    if (cqe->invalidated) {
        REQUIRE(cqe->imm == side->mw_key && side->window == LEAVING);
        side->window = UNBOUND;
    }
    op->received = true;
    release(op);
}

static void on_datagram(struct pair *p, int s, const struct nic_cqe *cqe)
{
    struct side *side = &p->side[s];
    uint32_t grh = p->model == MODEL_UD ? 40 : 0;
    const uint8_t *at = side->recv + cqe->wr_id * (UC_BYTES + 4 * GUARD) + GUARD;
    struct rng own;

    REQUIRE(cqe->status == NIC_SUCCESS && cqe->has_imm);
    uint64_t sequence = cqe->imm;
    REQUIRE(sequence < side->posted); /* it may come twice, or after its successor: the network may do that */
    rng_init(&own, seed, 1000000 + number_of(p, s, sequence));
    uint32_t bytes = draw_bytes(&own, p);
    REQUIRE(cqe->bytes == bytes + grh);
    REQUIRE(filled(at + grh, bytes, number_of(p, s, sequence)));
    __atomic_fetch_add(&datagrams_came, 1, __ATOMIC_RELAXED);
    post_datagram_recv(p, s, cqe->wr_id);
}

struct pair *pair_of(int e, uint32_t qpn, unsigned group)
{
    for (unsigned q = group; q < QPS; q += GROUPS)
        if (device_qp_number(pair[q].side[e].qp) == qpn) return &pair[q];
    wrong("a completion of queue pair %x, which is none of this queue", qpn);
}

static unsigned drain(int e, unsigned group)
{
    struct nic_cqe cqe[16];
    int count = device_poll(end[e].cq[group], cqe, 16);

    REQUIRE(count >= 0);
    for (int i = 0; i < count; i++) {
        struct pair *p = pair_of(e, cqe[i].qpn, group);
        if (!cqe[i].receive)
            on_sent(p, e, &cqe[i]);
        else if (p->model <= MODEL_SRQ)
            on_received(p, !e, &cqe[i]);
        else
            on_datagram(p, !e, &cqe[i]);
    }
    return (unsigned)count;
}

/* --- the run --- */

static bool all_done(unsigned thread)
{
    for (unsigned q = 0; q < QPS; q++) {
        if (q % GROUPS % THREADS != thread) continue;
        for (int s = 0; s < 2; s++)
            for (unsigned i = 0; i < DEPTH; i++) {
                struct op *op = &pair[q].side[s].op[i];
                if (op->busy) return false;
            }
    }
    return true;
}

static void report_stall(unsigned thread)
{
    for (unsigned q = 0; q < QPS; q++)
        for (int s = 0; s < 2 && q % GROUPS % THREADS == thread; s++) {
            struct side *side = &pair[q].side[s];
            for (unsigned i = 0; i < DEPTH; i++)
                if (side->op[i].busy)
                    fprintf(stderr, "qp %u side %d model %d: verb %u bytes %u sent %d received %d, state %d\n", q, s,
                            pair[q].model, side->op[i].verb, side->op[i].bytes, side->op[i].sent, side->op[i].received,
                            (int)device_qp_state(side->qp));
        }
    wrong("nothing has completed for %d seconds", STALL_S);
}

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void post(struct rng *rng, struct pair *p, int s, bool tell)
{
    if (p->model <= MODEL_SRQ)
        post_rc(rng, p, s, tell);
    else
        post_unreliable(rng, p, s, tell);
}

/* Work requests at the end that are not signaled: one more tells. */
static void finish(struct rng *rng, unsigned thread)
{
    for (unsigned q = 0; q < QPS; q++)
        for (int s = 0; s < 2 && q % GROUPS % THREADS == thread; s++) {
            struct side *side = &pair[q].side[s];
            if (side->done < side->posted && !side->op[(side->posted - 1) % DEPTH].signaled &&
                !side->op[side->posted % DEPTH].busy)
                post(rng, &pair[q], s, true);
        }
}

void *run(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    struct rng rng;
    uint64_t left = operations / THREADS;
    double moved = seconds();

    rng_init(&rng, seed, thread);
    while (left || !all_done(thread)) {
        unsigned done = 0;
        for (unsigned i = 0; i < 16 && left; i++) {
            unsigned q = (unsigned)rng_below(&rng, QPS / THREADS) * THREADS + thread;
            int s = (int)rng_below(&rng, 2);
            if (pair[q].side[s].op[pair[q].side[s].posted % DEPTH].busy) continue;
            left--;
            done++;
            post(&rng, &pair[q], s, false);
        }
        if (left == 0) finish(&rng, thread);
        for (unsigned group = thread; group < GROUPS; group += THREADS)
            for (int e = 0; e < 2; e++)
                done += drain(e, group);
        if (done)
            moved = seconds();
        else if (seconds() > moved + STALL_S)
            report_stall(thread);
    }
    return NULL;
}
