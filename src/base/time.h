/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time in picoseconds and the clock of a transmitter.
 *
 * One bit at 800 Gb/s is 1.25 ps, one byte is 10 ps: picoseconds make the usual
 * Ethernet rates exact.  Where they do not (25.78125G, a DCQCN rate of
 * 37,482,113 b/s), the remainder of each division is carried to the next, so
 * that N packets take exactly as long as their bits, however they were cut.
 * 2^64 ps are 213 days.
 */
#ifndef ROCELAB_BASE_TIME_H
#define ROCELAB_BASE_TIME_H

#include <stdint.h>

typedef uint64_t ps_t;

#define PS_NS 1000ULL
#define PS_US 1000000ULL
#define PS_MS 1000000000ULL
#define PS_S 1000000000000ULL
#define PS_NEVER UINT64_MAX

/* a + b; what lies past the end of time is PS_NEVER. */
static inline ps_t ps_add(ps_t a, ps_t b)
{
    return a > PS_NEVER - b ? PS_NEVER : a + b;
}

/*
 * A transmitter's rate; `carry` is the part of a picosecond not yet given out, in units of 1/bps ps,
 * and always below bps.  `ps_per_byte` is not 0 where a byte takes a whole number of picoseconds.
 * Made by rate_of(), changed by rate_set() alone.
 */
struct rate {
    uint64_t bps;
    uint64_t carry;
    uint64_t ps_per_byte;
};

struct rate rate_of(uint64_t bps);
/*
 * Another rate from here on.  The carry keeps its length in time: it is rescaled to the new unit and
 * rounded down, which loses less than 1/bps ps of the new rate (dropping it would lose up to a whole
 * picosecond at each change, always in the sender's favour).  To or from 0 the carry is dropped: a
 * transmitter without a rate has no clock.
 */
void rate_set(struct rate *rate, uint64_t bps);

ps_t rate_take_divided(struct rate *rate, uint64_t bytes);

/* How long `bytes` occupy the line; changes only the carry.  CHECKs bps > 0.
 * PS_NEVER (and no change) when that is 2^64 ps or more. */
static inline ps_t rate_take(struct rate *rate, uint64_t bytes)
{
    ps_t span;
    /* The carry stays as it is: whole picoseconds leave the fraction alone. */
    if (rate->ps_per_byte && !__builtin_mul_overflow(bytes, rate->ps_per_byte, &span)) return span;
    return rate_take_divided(rate, bytes);
}

/* How long pause quanta last on a line of that rate: 512 bit times each (IEEE 802.3, annex 31B), rounded down. */
ps_t pause_quanta_ps(uint32_t quanta, uint64_t bps);
/* Bytes that fit wholly into `span` at bps; no carry; saturates. */
uint64_t rate_bytes_in(uint64_t bps, ps_t span);
/* bytes over span as bits a second, rounded down; 0 when span is 0; saturates. */
uint64_t rate_measure(uint64_t bytes, ps_t span);

#endif
