/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as a number.
 *
 * Each link has a digest of its own, which takes what is delivered one after another: with the prime p = 2^61 - 1
 * and the delivery's value x it becomes digest * r + x modulo p, a polynomial in r whose coefficients are the
 * deliveries.  The run's digest is the sum modulo 2^64 over all links of what link and digest are mixed to.  So
 * drivers, threads and tiles, which see links in another order, cannot be seen in it; every link, order, time and
 * packet can.
 *
 * x is linear in the time, the PSN and the MSN, and all else is mixed as it is.  So what a link delivers again and
 * again, each time a constant later and with numbers a constant higher, has a sum in closed form: where n
 * deliveries make s of a digest of 0, and d more with each turn, k turns make, with R = r^n,
 *     digest * R^k + s * (1 + R + ... + R^(k-1)) + d * (R^(k-2) + 2 R^(k-3) + ... + k-1)
 * tests/node/test_digest.c holds the code to that.
 *
 * Odds, for constants at random: two different rows of at most n deliveries have one digest with a probability
 * below n / 2^56, since a polynomial has no more roots than its degree; two different deliveries have one value
 * with 2^-56, but 2^-31 where they differ in what fills the upper halves of words alone (mark and port, the
 * receiving node) and in at least two of these.  Mixing the links adds 2^-64 for each pair of runs.  The constants
 * are not secret: this finds what goes wrong, not who forges.
 *
 * The build option `sum_digest` brings back what was before, for comparison: the sum of a hash of each delivery.
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

/* What a delivery is of a frame: opcode, ToS, the BTH's bits and the tag, lengths, port, network, mark, queue pair,
 * PSN, both endpoints, and of extended headers the AETH, or the key and length of an RETH.  What is in no header is
 * left out. */
struct digest_words {
    uint32_t first;    /* opcode, pad, ToS, BTH's bits and the tag */
    uint64_t whose;    /* queue pair, PSN */
    uint64_t size;     /* payload, frame, port, network, mark */
    uint64_t path;     /* both endpoints */
    uint64_t extended; /* MSN, syndrome */
};
_Static_assert(offsetof(struct pkt, opcode) == 1 && offsetof(struct pkt, flags) == 4, "read as one");
_Static_assert(offsetof(struct pkt, psn) == offsetof(struct pkt, dest_qp) + 4, "read as one");
_Static_assert(offsetof(struct pkt, mark) == offsetof(struct pkt, payload_bytes) + 7, "read as one");
_Static_assert(offsetof(struct pkt, dst_node) == offsetof(struct pkt, src_node) + 4, "read as one");
_Static_assert(offsetof(struct pkt, ack.msn) == 56 && sizeof(struct pkt) == 64, "read as one");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the digest reads fields in memory order");

static inline __attribute__((always_inline)) struct digest_words digest_words(const struct pkt *pkt)
{
    struct digest_words words;

    memcpy(&words.first, &pkt->opcode, sizeof words.first); /* to the lower half of the flags, which headers say */
    memcpy(&words.whose, &pkt->dest_qp, sizeof words.whose);
    memcpy(&words.size, &pkt->payload_bytes, sizeof words.size);
    memcpy(&words.path, &pkt->src_node, sizeof words.path);
    memcpy(&words.extended, &pkt->ack.msn, sizeof words.extended);
    return words;
}

/* Of a control word: priorities, quanta; of credits and retries all of it. */
static inline uint32_t digest_control(uint32_t word)
{
    return word & (CREDIT_WORD | LLR_WORD) ? word : word & 0xffffff;
}

#ifndef ROCELAB_SUM_DIGEST

/* From the square roots of 3, 7, 13 and 5, odd; the first three below 2^57, so that the sum of three products with 64
 * bits is below 2^123, and what is above its 61st bit below 2^62. */
#define DIGEST_PRIME ((UINT64_C(1) << 61) - 1)
#define DIGEST_R UINT64_C(0x0176cf5d0b09954f)
#define DIGEST_NUMBERS UINT64_C(0x014a9fea74be3a6d)
#define DIGEST_EXTENDED UINT64_C(0x01360ad118567cd9)
#define DIGEST_REST UINT64_C(0x3c6ef372fe94f82b)

/* Congruent modulo p, below 2^64. */
static inline __attribute__((always_inline)) uint64_t digest_fold(u128 sum)
{
    return ((uint64_t)sum & DIGEST_PRIME) + (uint64_t)(sum >> 61);
}

static inline __attribute__((always_inline)) void digest_frame(uint64_t *digest, uint32_t link, ps_t at,
                                                               const struct pkt *pkt)
{
    struct digest_words words = digest_words(pkt);

    (void)link;
    uint64_t rest = ((words.first * DIGEST_REST + words.path) * DIGEST_REST + words.size) * DIGEST_REST;
    u128 sum = (u128)*digest * DIGEST_R + (u128)words.whose * DIGEST_NUMBERS + (u128)words.extended * DIGEST_EXTENDED;
    *digest = digest_fold(sum) + (rest >> 2) + at;
}

static inline void digest_word(uint64_t *digest, uint32_t link, ps_t at, uint32_t word)
{
    (void)link;
    *digest = digest_fold((u128)*digest * DIGEST_R + (u128)(digest_control(word) + 1ULL) * DIGEST_NUMBERS) + at;
}

/* A link's part of the run's digest. */
static inline uint64_t digest_link(uint32_t link, uint64_t frames, uint64_t words)
{
    uint64_t data = frames % DIGEST_PRIME, control = words % DIGEST_PRIME;

    if ((frames | words) == 0) return 0;
    return fold(data ^ 0x4b33a62ed433d4a3ULL,
                ((uint64_t)link << 32 ^ 0x9e3779b97f4a7c15ULL) + control * 0xd1342543de82ef95ULL);
}

#else

static inline void digest_frame(uint64_t *digest, uint32_t link, ps_t at, const struct pkt *pkt)
{
    struct digest_words words = digest_words(pkt);
    uint64_t first = (uint64_t)words.first << 8 & 0x3fff00ff00;
    uint64_t one = ((uint64_t)link << 40 ^ first) + at * 0x2d358dccaa6c78a5ULL;
    uint64_t other = (words.whose + words.size) * 0x8bb84b93962eacc9ULL + (words.path ^ words.extended);

    *digest += fold(one ^ 0x4b33a62ed433d4a3ULL, other ^ 0x9e3779b97f4a7c15ULL);
}

static inline void digest_word(uint64_t *digest, uint32_t link, ps_t at, uint32_t word)
{
    *digest += fold(((uint64_t)link << 32 | digest_control(word)) ^ 0x9e3779b97f4a7c15ULL, at ^ 0xd1342543de82ef95ULL);
}

static inline uint64_t digest_link(uint32_t link, uint64_t frames, uint64_t words)
{
    (void)link;
    return frames + words;
}

#endif

#endif
