/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates: bytes to picoseconds and back, exactly.
 *
 * n bytes at bps take n * 8e12 / bps picoseconds.  Three ways, cheapest first: where bps divides 8e12
 * (every Ethernet rate that is a divisor: 10G, 25G, 40G, 50G, 100G, 200G, 400G, 800G, 1.6T) it is the one
 * multiplication inlined in the header; where n * 8e12 fits 64 bits (n up to 2.3 MB, so any packet)
 * a 64-bit division; else a 128-bit one.  All three give the same answer and the same carry.
 *
 * No clock is read here: time is always an argument.
 */
#include "base/time.h"

#include "base/check.h"
#include "base/wide.h"

#define PS_BITS_PER_BYTE (8 * PS_S)

static uint64_t ps_per_byte(uint64_t bps)
{
    return bps && PS_BITS_PER_BYTE % bps == 0 ? PS_BITS_PER_BYTE / bps : 0;
}

struct rate rate_of(uint64_t bps)
{
    return (struct rate){.bps = bps, .ps_per_byte = ps_per_byte(bps)};
}

void rate_set(struct rate *rate, uint64_t bps)
{
    uint64_t carry = 0;

    if (rate->bps == bps) return;
    if (rate->bps && rate->carry) carry = (uint64_t)((u128)rate->carry * bps / rate->bps);
    *rate = rate_of(bps);
    rate->carry = carry;
    CHECK(carry < bps || carry == 0);
}

ps_t rate_take_divided(struct rate *rate, uint64_t bytes)
{
    uint64_t bps = rate->bps;
    uint64_t part;

    CHECK(bps > 0);
    CHECK(rate->carry < bps);
    if (!__builtin_mul_overflow(bytes, PS_BITS_PER_BYTE, &part) && !__builtin_add_overflow(part, rate->carry, &part)) {
        uint64_t span = part / bps;
        rate->carry = part - span * bps;
        return span;
    }
    u128 wide = (u128)bytes * PS_BITS_PER_BYTE + rate->carry;
    u128 span = wide / bps;
    if (span >= PS_NEVER) return PS_NEVER;
    rate->carry = (uint64_t)(wide - span * bps);
    return (ps_t)span;
}

/* a * b / c, rounded down, UINT64_MAX where it does not fit. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t product;

    if (!__builtin_mul_overflow(a, b, &product)) return product / c;
    u128 wide = (u128)a * b / c;
    return wide > UINT64_MAX ? UINT64_MAX : (uint64_t)wide;
}

ps_t pause_quanta_ps(uint32_t quanta, uint64_t bps)
{
    CHECK(bps > 0);
    u128 span = (u128)quanta * 512 * PS_S / bps;
    return span < PS_NEVER ? (ps_t)span : PS_NEVER;
}

uint64_t rate_bytes_in(uint64_t bps, ps_t span)
{
    return scale(bps, span, PS_BITS_PER_BYTE);
}

uint64_t rate_measure(uint64_t bytes, ps_t span)
{
    return span ? scale(bytes, PS_BITS_PER_BYTE, span) : 0;
}
