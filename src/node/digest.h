/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as a number: the sum, modulo 2^64, over all that was delivered on every link.
 *
 * A sum does not depend on the order, so drivers, threads and tiles cannot be seen in it; every link, time and packet
 * can.
 */
#ifndef ROCELAB_NODE_DIGEST_H
#define ROCELAB_NODE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/credit.h"
#include "base/time.h"
#include "base/wide.h"
#include "node/llr.h"
#include "packet/pkt.h"

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * A frame: covers link, time, opcode, ToS, the BTH's bits and the tag, lengths, port, network, mark, queue pair, PSN,
 * both endpoints, and of extended headers the AETH, or the key and length of an RETH.  What is in no header is left
 * out.
 */
static inline uint64_t delivery_mix(uint32_t link, ps_t at, const struct pkt *pkt)
{
    uint64_t first, whose, size, path, extended;

    memcpy(&first, &pkt->kind, sizeof(first));          /* kind, opcode, pad, ToS, flags, PCP, TTL */
    memcpy(&whose, &pkt->dest_qp, sizeof(whose));       /* queue pair, PSN */
    memcpy(&size, &pkt->payload_bytes, sizeof(size));   /* payload, frame, port, network, mark */
    memcpy(&path, &pkt->src_node, sizeof(path));        /* both endpoints */
    memcpy(&extended, &pkt->ack.msn, sizeof(extended)); /* MSN, syndrome */
    first &= 0x3fff00ff00;                              /* no TTL; of the flags what a header says */
    uint64_t one = ((uint64_t)link << 40 ^ first) + at * 0x2d358dccaa6c78a5ULL;
    uint64_t other = (whose + size) * 0x8bb84b93962eacc9ULL + (path ^ extended);
    return fold(one ^ 0x4b33a62ed433d4a3ULL, other ^ 0x9e3779b97f4a7c15ULL);
}
_Static_assert(offsetof(struct pkt, tos) == 3 && offsetof(struct pkt, flags) == 4, "read as one");
_Static_assert(offsetof(struct pkt, psn) == offsetof(struct pkt, dest_qp) + 4, "read as one");
_Static_assert(offsetof(struct pkt, mark) == offsetof(struct pkt, payload_bytes) + 7, "read as one");
_Static_assert(offsetof(struct pkt, dst_node) == offsetof(struct pkt, src_node) + 4, "read as one");
_Static_assert(offsetof(struct pkt, ack.msn) == 56 && sizeof(struct pkt) == 64, "read as one");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the digest reads fields in memory order");

/* A control word: priorities, quanta; of credits and retries all of it. */
static inline uint64_t control_mix(uint32_t link, ps_t at, uint32_t word)
{
    uint32_t what = word & (CREDIT_WORD | LLR_WORD) ? word : word & 0xffffff;

    return fold(((uint64_t)link << 32 | what) ^ 0x9e3779b97f4a7c15ULL, at ^ 0xd1342543de82ef95ULL);
}

#endif
