/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators, collectives and operations under way; see recorder.h.
 *
 * A place is free where its number of use is even.  Who takes it makes the number odd, who gives it back makes it even,
 * so a handle with a number of its own is never mistaken for a later one.  A collective is held by its operations and
 * kernels (`open`); who takes it out closes it with the same word, so it cannot be held and taken at once.  The word
 * has the number of use in it: who held an earlier one, and was not waited for, lets nothing go of a later one.
 */
#include "nccl/recorder.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of recorder_coll.open: the use in the upper half, then closed or not, then how many hold it. */
#define CLOSED (1u << 31)
#define HOLDERS (CLOSED - 1)

enum kind { KIND_COMM = 1, KIND_COLL, KIND_KERNEL, KIND_OP, KIND_STEP };

struct handle { /* of 64 bits: use 32, kind 3, slot 3, comm 10, index 16 */
    enum kind kind;
    uint32_t use, slot, comm, index;
};
_Static_assert(RECORDER_COMMS <= 1u << 10 && RECORDER_COLLS <= 1u << 16 && RECORDER_OPS <= 1u << 16, "fits a handle");
_Static_assert(sizeof(void *) == sizeof(uint64_t), "so does an address");

static struct recorder_comm *comms[RECORDER_COMMS];

static uint64_t handle_pack(struct handle h)
{
    return (uint64_t)h.use << 32 | (uint64_t)h.kind << 29 | (uint64_t)h.slot << 26 | (uint64_t)h.comm << 16 | h.index;
}

static struct handle handle_parse(uint64_t word)
{
    return (struct handle){.kind = word >> 29 & 7,
                           .use = (uint32_t)(word >> 32),
                           .slot = word >> 26 & 7,
                           .comm = word >> 16 & 1023,
                           .index = word & 65535};
}

static void *handle_out(struct handle h)
{
    return (void *)(uintptr_t)handle_pack(h); /* NOLINT: a number that NCCL keeps for us */
}

static uint32_t use_now(const uint32_t *use)
{
    return __atomic_load_n(use, __ATOMIC_SEQ_CST);
}

/* NULL: not open, and never was. */
static struct recorder_comm *comm_at(uint32_t index)
{
    return index < RECORDER_COMMS ? __atomic_load_n(&comms[index], __ATOMIC_ACQUIRE) : NULL;
}

struct recorder_comm *recorder_comm(unsigned index)
{
    struct recorder_comm *comm = comm_at(index);

    return comm && use_now(&comm->use) & 1 ? comm : NULL;
}

static void word_copy(char *to, size_t bytes, const char *from)
{
    size_t length = from ? strnlen(from, bytes - 1) : 0;

    if (length) memcpy(to, from, length);
    to[length] = 0;
}

struct recorder_comm *recorder_open(const struct recorder_about *about, void **ret_context)
{
    uint32_t index = 0;

    while (index < RECORDER_COMMS && recorder_comm(index))
        index++;
    if (index == RECORDER_COMMS) return NULL;
    struct recorder_comm *comm = comms[index] ? comms[index] : calloc(1, sizeof *comm);
    if (comm == NULL) return NULL;
    comm->index = index;
    comm->id = about->id;
    comm->nodes = about->nodes;
    comm->ranks = about->ranks;
    comm->rank = about->rank;
    word_copy(comm->name, sizeof comm->name, about->name);
    comm->next_coll = comm->sends = comm->receives = 0;
    memset(&comm->totals, 0, sizeof comm->totals);
    __atomic_store_n(&comms[index], comm, __ATOMIC_RELEASE);
    uint32_t use = __atomic_add_fetch(&comm->use, 1, __ATOMIC_SEQ_CST);
    *ret_context = handle_out((struct handle){.kind = KIND_COMM, .use = use, .comm = index});
    return comm;
}

struct recorder_comm *recorder_find(void *context)
{
    struct handle h = handle_parse((uintptr_t)context);
    struct recorder_comm *comm = h.kind == KIND_COMM ? recorder_comm(h.comm) : NULL;

    return comm && use_now(&comm->use) == h.use ? comm : NULL;
}

static void give_back(uint32_t *use)
{
    if (use_now(use) & 1) __atomic_fetch_add(use, 1, __ATOMIC_SEQ_CST);
}

void recorder_close(struct recorder_comm *comm)
{
    struct recorder_coll left;

    give_back(&comm->use);
    for (unsigned i = 0; i < RECORDER_COLLS; i++)
        recorder_take(&comm->coll[i], true, &left);
    for (unsigned i = 0; i < RECORDER_OPS; i++)
        give_back(&comm->op[i].use);
}

void recorder_release(void)
{
    for (unsigned i = 0; i < RECORDER_COMMS; i++) {
        free(comms[i]);
        comms[i] = NULL;
    }
}

static uint64_t add(uint64_t *to, uint64_t value)
{
    return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

/* Several threads may see the same thing last, or first: 0 is nothing yet. */
static void keep(uint64_t *to, uint64_t value, bool latest)
{
    uint64_t old = __atomic_load_n(to, __ATOMIC_RELAXED);

    while ((old == 0 || (latest ? value > old : value < old)) &&
           !__atomic_compare_exchange_n(to, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* --- collectives --- */

/* "ncclBfloat16", "ncclFloat8e4m3": the first number is bits. */
static uint64_t element_bytes(const char *datatype)
{
    uint64_t bits = 0;

    datatype += strcspn(datatype, "0123456789");
    for (; *datatype >= '0' && *datatype <= '9' && bits < 1024; datatype++)
        bits = bits * 10 + (uint64_t)(*datatype - '0');
    return bits / 8;
}

/* As nccl-tests counts the size of a message: where each rank has its own part, all parts. */
static uint64_t message_bytes(const struct recorder_coll *coll, int ranks)
{
    bool parts = strcmp(coll->func, "AllGather") == 0 || strcmp(coll->func, "ReduceScatter") == 0;
    uint64_t bytes;

    if (__builtin_mul_overflow(coll->count, element_bytes(coll->datatype), &bytes) ||
        __builtin_mul_overflow(bytes, parts && ranks > 0 ? (uint64_t)ranks : 1, &bytes))
        return UINT64_MAX;
    return bytes;
}

static void describe(struct recorder_comm *comm, struct recorder_coll *coll, bool p2p, const struct nccl_event *event)
{
    word_copy(coll->func, sizeof coll->func, p2p ? event->p2p.func : event->coll.func);
    word_copy(coll->algo, sizeof coll->algo, p2p ? "" : event->coll.algo);
    word_copy(coll->proto, sizeof coll->proto, p2p ? "" : event->coll.proto);
    word_copy(coll->datatype, sizeof coll->datatype, p2p ? event->p2p.datatype : event->coll.datatype);
    coll->count = p2p ? event->p2p.count : event->coll.count;
    coll->root = p2p ? -1 : event->coll.root;
    coll->peer = p2p ? event->p2p.peer : -1;
    coll->channels = p2p ? 0 : event->coll.channels;
    coll->seq = !p2p                              ? event->coll.seq
                : strcmp(coll->func, "Recv") == 0 ? add(&comm->receives, 1)
                                                  : add(&comm->sends, 1);
    coll->bytes = message_bytes(coll, comm->ranks);
}

static void *coll_start(void *context, bool p2p, const struct nccl_event *event, uint64_t now)
{
    struct recorder_comm *comm = recorder_find(context);

    if (comm == NULL) return NULL;
    uint64_t number = add(&comm->next_coll, 1);
    struct recorder_coll *coll = &comm->coll[number % RECORDER_COLLS];
    uint32_t use = use_now(&coll->use);
    struct recorder_coll fresh = {.number = number, .begun_ns = now, .last_ns = now};
    describe(comm, &fresh, p2p, event);
    add(&comm->totals.collectives, 1);
    add(&comm->totals.bytes, fresh.bytes);
    if (use & 1) {
        add(&comm->totals.lost_collectives, 1);
        return NULL;
    }
    memcpy(&coll->kernels, &fresh.kernels, sizeof fresh - offsetof(struct recorder_coll, kernels));
    __atomic_store_n(&coll->open, (uint64_t)(use + 1) << 32, __ATOMIC_SEQ_CST);
    __atomic_store_n(&coll->use, use + 1, __ATOMIC_SEQ_CST);
    return handle_out((struct handle){.kind = KIND_COLL,
                                      .use = use + 1,
                                      .comm = handle_parse((uintptr_t)context).comm,
                                      .index = (uint32_t)(number % RECORDER_COLLS)});
}

/* One holder more (1) or less (-1) of this use of a place.  False: it is another use, closed, or nobody held it. */
static bool hold_change(struct recorder_coll *coll, uint32_t use, int by)
{
    uint64_t open = __atomic_load_n(&coll->open, __ATOMIC_SEQ_CST);

    do {
        if (open >> 32 != use || (by > 0 && open & CLOSED) || (by < 0 && !(open & HOLDERS))) return false;
    } while (!__atomic_compare_exchange_n(&coll->open, &open, by > 0 ? open + 1 : open - 1, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return true;
}

/* NULL: it is not there any more. */
static struct recorder_coll *coll_hold(struct handle h)
{
    struct recorder_comm *comm = comm_at(h.comm);

    if (comm == NULL || h.index >= RECORDER_COLLS) return NULL;
    struct recorder_coll *coll = &comm->coll[h.index];
    return hold_change(coll, h.use, 1) ? coll : NULL;
}

/* Of one that is held. */
static struct recorder_coll *coll_at(struct handle h)
{
    struct recorder_comm *comm = comm_at(h.comm);
    bool there = comm && h.index < RECORDER_COLLS && use_now(&comm->coll[h.index].use) == h.use;

    return there ? &comm->coll[h.index] : NULL;
}

static void coll_let_go(struct recorder_coll *coll, uint32_t use, uint64_t now)
{
    keep(&coll->last_ns, now, true);
    hold_change(coll, use, -1);
}

bool recorder_take(struct recorder_coll *coll, bool force, struct recorder_coll *ret)
{
    uint32_t use = use_now(&coll->use);
    uint64_t nobody = (uint64_t)use << 32;

    if (!(use & 1)) return false;
    if (force)
        __atomic_fetch_or(&coll->open, CLOSED, __ATOMIC_SEQ_CST);
    else if (!__atomic_compare_exchange_n(&coll->open, &nobody, nobody | CLOSED, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST))
        return false;
    *ret = *coll;
    give_back(&coll->use);
    return true;
}

/* --- kernels, operations, steps --- */

static void *kernel_start(const struct nccl_event *event, uint64_t now)
{
    struct handle h = handle_parse((uintptr_t)event->parent);
    struct recorder_coll *coll = h.kind == KIND_COLL ? coll_hold(h) : NULL;

    if (coll == NULL) return NULL;
    keep(&coll->last_ns, now, true);
    if (event->kernel.gpu_ns) keep(&coll->gpu_first, event->kernel.gpu_ns, false);
    h.kind = KIND_KERNEL;
    return handle_out(h);
}

static struct recorder_op *op_take(struct recorder_comm *comm, uint32_t *ret_index)
{
    uint32_t from = __atomic_load_n(&comm->next_op, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < RECORDER_OPS; i++) {
        uint32_t index = (from + i) % RECORDER_OPS;
        struct recorder_op *op = &comm->op[index];
        uint32_t use = use_now(&op->use);
        if (use & 1 || !__atomic_compare_exchange_n(&op->use, &use, use + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            continue;
        __atomic_store_n(&comm->next_op, index + 1, __ATOMIC_RELAXED);
        *ret_index = index;
        return op;
    }
    return NULL;
}

/* What a proxy does for another process has that one's handles, which mean nothing here. */
static void *op_start(void *context, const struct nccl_event *event)
{
    bool ours = event->op.pid == getpid();
    struct recorder_comm *comm = ours ? recorder_find(context) : NULL;
    uint32_t index;

    if (comm == NULL) {
        for (unsigned i = 0; !ours && i < RECORDER_COMMS; i++) {
            if ((comm = recorder_comm(i)) == NULL) continue;
            add(&comm->totals.foreign_ops, 1);
            break;
        }
        return NULL;
    }
    struct recorder_op *op = op_take(comm, &index);
    if (op == NULL) {
        add(&comm->totals.lost_ops, 1);
        return NULL;
    }
    struct handle parent = handle_parse((uintptr_t)event->parent);
    uint64_t coll = parent.kind == KIND_COLL && coll_hold(parent) ? (uintptr_t)event->parent : 0;
    __atomic_store_n(&op->coll, coll, __ATOMIC_RELEASE);
    op->begun_ns = 0;
    waits_init(&op->waits, event->op.is_send != 0);
    return handle_out((struct handle){
        .kind = KIND_OP, .use = use_now(&op->use), .comm = handle_parse((uintptr_t)context).comm, .index = index});
}

static struct recorder_op *op_at(struct handle h)
{
    struct recorder_comm *comm = comm_at(h.comm);
    bool there = comm && h.index < RECORDER_OPS && use_now(&comm->op[h.index].use) == h.use;

    return there ? &comm->op[h.index] : NULL;
}

static void *step_start(const struct nccl_event *event, uint64_t now)
{
    struct handle h = handle_parse((uintptr_t)event->parent);
    struct recorder_op *op = h.kind == KIND_OP ? op_at(h) : NULL;

    if (op == NULL || !waits_step(&op->waits, (uint32_t)event->step.step, now, &h.slot)) return NULL;
    if (op->begun_ns == 0) op->begun_ns = now;
    h.kind = KIND_STEP;
    return handle_out(h);
}

/* It is taken out of what goes on before it is added to what is over: whoever looks at both sees it once at most. */
static void op_stop(struct handle h, uint64_t now)
{
    struct recorder_op *op = op_at(h);
    struct recorder_comm *comm = comm_at(h.comm);
    struct wait_times times = {0};

    if (op == NULL) return;
    struct recorder_coll *coll = op->coll ? coll_at(handle_parse(op->coll)) : NULL;
    bool send = op->waits.send;
    uint64_t ended_ns = op->waits.mark_ns;
    waits_sum(&op->waits, &times);
    waits_init(&op->waits, send);
    wait_times_add(&comm->totals.times[send], &times);
    if (coll) {
        wait_times_add(&coll->times[send], &times);
        if (op->begun_ns) keep(&coll->proxy_first, op->begun_ns, false);
        if (ended_ns) keep(&coll->proxy_last, ended_ns, true);
        __atomic_fetch_add(&coll->ops, 1, __ATOMIC_RELAXED);
        coll_let_go(coll, handle_parse(op->coll).use, now);
    }
    give_back(&op->use);
}

void *recorder_start(void *context, uint64_t type, const struct nccl_event *event, uint64_t now)
{
    switch (type) {
    case NCCL_COLLECTIVE:
    case NCCL_P2P:
        return coll_start(context, type == NCCL_P2P, event, now);
    case NCCL_PROXY_OP:
        return op_start(context, event);
    case NCCL_PROXY_STEP:
        return step_start(event, now);
    case NCCL_KERNEL_CHANNEL:
        return kernel_start(event, now);
    default:
        return NULL;
    }
}

void recorder_state(void *handle, int state, const union nccl_state_args *args, uint64_t now)
{
    struct handle h = handle_parse((uintptr_t)handle);
    struct recorder_op *op = h.kind == KIND_OP || h.kind == KIND_STEP ? op_at(h) : NULL;
    struct recorder_coll *coll = h.kind == KIND_KERNEL ? coll_at(h) : NULL;

    if (op && h.kind == KIND_STEP) {
        waits_state(&op->waits, h.slot, state, args ? args->step_bytes : 0, now);
    } else if (op && state == NCCL_OP_IN_PROGRESS && op->begun_ns == 0) {
        op->begun_ns = now;
        waits_begin(&op->waits, now);
    } else if (coll && state == NCCL_KERNEL_STOP && args && args->gpu_ns) {
        keep(&coll->gpu_last, args->gpu_ns, true);
    }
}

void recorder_stop(void *handle, uint64_t now)
{
    struct handle h = handle_parse((uintptr_t)handle);
    struct recorder_coll *coll = h.kind == KIND_COLL || h.kind == KIND_KERNEL ? coll_at(h) : NULL;
    struct recorder_op *op = h.kind == KIND_STEP ? op_at(h) : NULL;

    if (h.kind == KIND_OP) op_stop(h, now);
    if (op) waits_stop(&op->waits, h.slot, now);
    if (coll && h.kind == KIND_COLL) {
        keep(&coll->last_ns, now, true);
        __atomic_store_n(&coll->stopped, true, __ATOMIC_RELEASE);
    } else if (coll) {
        __atomic_fetch_add(&coll->kernels, 1, __ATOMIC_RELAXED);
        coll_let_go(coll, h.use, now);
    }
}

/* Others may write the words meanwhile. */
static void copy_words(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] = __atomic_load_n(&((const uint64_t *)from)[i], __ATOMIC_ACQUIRE);
}
_Static_assert(sizeof(struct recorder_coll) % sizeof(uint64_t) == 0, "words throughout");

bool recorder_look(struct recorder_comm *comm, uint32_t index, uint64_t now, struct recorder_coll *ret)
{
    if (!(use_now(&comm->coll[index].use) & 1)) return false; /* else it stays until the caller takes it */
    copy_words(ret, &comm->coll[index], sizeof *ret);
    ret->open &= HOLDERS;
    for (unsigned i = 0; ret->open && i < RECORDER_OPS; i++) {
        const struct recorder_op *op = &comm->op[i];
        struct handle h = handle_parse(__atomic_load_n(&op->coll, __ATOMIC_ACQUIRE));
        if (use_now(&op->use) & 1 && h.index == index && h.use == ret->use) waits_peek(&op->waits, now, ret->times);
    }
    return true;
}

void recorder_totals(struct recorder_comm *comm, uint64_t now, struct recorder_totals *ret)
{
    copy_words(ret, &comm->totals, sizeof *ret);
    for (unsigned i = 0; i < RECORDER_OPS; i++)
        if (use_now(&comm->op[i].use) & 1) waits_peek(&comm->op[i].waits, now, ret->times);
}
