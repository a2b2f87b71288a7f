/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torture.c (makes everything, ends it, counts what is left) and torture_model.c (posts, and holds completions
 * against the model) share.
 */
#ifndef ROCELAB_TESTS_LIVE_TORTURE_H
#define ROCELAB_TESTS_LIVE_TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/live_int.h"

#define QPS 64u
#define GROUPS 4u /* completion queues of an adapter; group g has the queue pairs q with q % GROUPS == g */
#define THREADS 2u
#define DEPTH 4u /* operations of a queue pair and direction at a time */
#define GUARD 64u
#define SIZE_MAX_BYTES 110000u
#define SLOT_BYTES (SIZE_MAX_BYTES + 4 * GUARD)
#define SRQ_ENTRIES 32u
#define SRQ_BYTES 16384u
#define DATAGRAM_BYTES 4096u
#define UC_BYTES 8192u
#define RECVS 16u /* of UC and UD */
#define WORDS 4u
#define STALL_S 60

enum model { MODEL_RC, MODEL_SRQ, MODEL_UC, MODEL_UD };
enum { KIND_BIND = NIC_BIND_MW };

struct op {
    bool busy, sent, received; /* sent: the work request is complete; received: so is the receive, or there is none */
    bool signaled, posted;     /* posted: its receive */
    uint8_t verb;
    uint32_t bytes, at, imm; /* at: offset in the slot */
    uint64_t number, expect; /* expect: atomics */
};

struct side { /* one direction of a queue pair: the requester is end `e`, the responder the other */
    struct device_qp *qp;
    uint8_t *source, *target; /* DEPTH slots: source in the requester's memory, target in the responder's */
    uint64_t *word, *result;  /* WORDS in the responder's, DEPTH in the requester's */
    uint64_t model[WORDS];
    struct op op[DEPTH];
    uint64_t posted, done, received; /* operations: sequence numbers */
    struct device_mw *mw;            /* at the responder */
    uint32_t mw_key;
    enum { UNBOUND, BINDING, BOUND, LEAVING } window;
    uint8_t *recv; /* UC, UD: RECVS buffers in the responder's memory */
};

struct pair {
    enum model model;
    uint16_t mtu;
    struct side side[2];
};

struct end {
    struct device *live;
    struct device_mr *mr;
    uint8_t *memory;
    size_t used;
    struct device_cq *cq[GROUPS];
    struct device_srq *srq;
    uint8_t *srq_memory;
    uint64_t *shared; /* a word that all queue pairs of the other side add to */
    uint32_t path;
};

extern struct end end[2];
extern struct pair pair[QPS];
extern uint64_t seed, operations, finished, added[2];
extern uint64_t verbs[NIC_VERBS], datagrams, datagrams_came;
#define MEMORY_BYTES ((size_t)256 << 20)

/* Says what is wrong, with the seed and all counters, and ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) void wrong(const char *format, ...);
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) wrong("%s:%d: %s", __FILE__, __LINE__, #condition);                                          \
    } while (0)

uint8_t *take_memory(struct end *e, size_t bytes);
void post_srq(int e, uint64_t index);
void post_datagram_recv(struct pair *p, int s, uint64_t index);
struct pair *pair_of(int e, uint32_t qpn, unsigned group);
double seconds(void);
void *run(void *argument); /* a thread: its number */

#endif
