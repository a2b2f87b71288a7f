/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headroom in whole numbers.
 *
 * After a switch decides to pause a priority, bytes of it go on arriving: a frame that the switch
 * itself had begun stands before the pause frame, the pause frame takes its time on the line, both
 * directions of the cable are full, the sender may take the response time of IEEE 802.3 31B.3.7 and
 * then has a frame under way (IEEE 802.1Qbb, annex O names the same parts).  What arrives is stored in
 * cells, so small frames take more buffer than line.
 *
 * Besides the general form: the model in SONiC for Spectrum, and the mlx5 driver's for an adapter,
 * each as those programs compute it, so that their tables can be checked.
 */
#include "fabric/qos/headroom.h"

#include <string.h>

#include "base/check.h"
#include "base/wide.h"

#define TAG_AND_HEADER 18u   /* of a frame, and not of what SONiC calls mtu */
#define SPECTRUM1_PEER 3892u /* 3.8 KiB */

static uint64_t div_up(u128 num, u128 den)
{
    CHECK(den > 0);
    u128 got = (num + den - 1) / den;
    return got > UINT64_MAX ? UINT64_MAX : (uint64_t)got;
}

uint32_t headroom_quanta(uint64_t rate_bps)
{
    static const struct {
        uint64_t gbps;
        uint32_t quanta;
    } step[] = {{10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}, {800, 1810}};

    for (unsigned i = 0; i < sizeof(step) / sizeof(step[0]); i++)
        if (rate_bps <= step[i].gbps * 1000000000ull) return step[i].quanta;
    /* Beyond the standard's rates the response time stays that of 800G. */
    u128 quanta = (u128)rate_bps * 1810 / 800000000000ull;
    return quanta > UINT32_MAX ? UINT32_MAX : (uint32_t)quanta;
}

ps_t headroom_response_ps(uint64_t rate_bps)
{
    CHECK(rate_bps > 0);
    return div_up((u128)headroom_quanta(rate_bps) * 512 * PS_S, rate_bps);
}

void headroom_fill(uint32_t cell_bytes, uint32_t *ret_num, uint32_t *ret_den)
{
    uint32_t cell = cell_bytes ? cell_bytes : 1;
    uint32_t stored = (64 + cell - 1) / cell * cell;
    /* The smallest frame, and the one that is a byte too long for the cells of the smallest. */
    uint64_t next_stored = (uint64_t)stored + cell, next_line = (uint64_t)stored + 1 + 20;

    *ret_num = stored;
    *ret_den = HEADROOM_PFC_BYTES;
    if (next_stored * *ret_den > *ret_num * next_line) {
        *ret_num = (uint32_t)next_stored;
        *ret_den = (uint32_t)next_line;
    }
    if (*ret_num < *ret_den) *ret_num = *ret_den;
}

ps_t headroom_local_ps(uint64_t rate_bps)
{
    return rate_bps > 100000000000ull ? 1020 * PS_NS : 340 * PS_NS;
}

uint64_t headroom_general(const struct headroom *in)
{
    uint64_t speed_mps = in->speed_mps ? in->speed_mps : HEADROOM_SPEED_MPS;
    uint64_t quanta = in->quanta ? in->quanta : headroom_quanta(in->rate_bps);
    uint64_t flight = div_up((u128)2 * in->cable_mm * in->rate_bps, (u128)8000 * speed_mps);
    uint64_t local = div_up((u128)in->local_ps * in->rate_bps, (u128)8 * PS_S);
    u128 wire = (u128)in->mtu_any_bytes + in->mtu_ll_bytes + HEADROOM_PFC_BYTES + flight + 64 * quanta + local;

    if (in->fill_num == 0 || in->fill_den == 0) return div_up(wire, 1);
    return div_up(wire * in->fill_num, in->fill_den);
}

uint64_t headroom_port(uint64_t rate_bps, uint64_t cable_mm, uint32_t mtu_bytes, uint32_t cell_bytes)
{
    struct headroom in = {
        .rate_bps = rate_bps,
        .cable_mm = cable_mm,
        .mtu_any_bytes = mtu_bytes,
        .mtu_ll_bytes = mtu_bytes,
        .local_ps = headroom_local_ps(rate_bps),
    };

    headroom_fill(cell_bytes, &in.fill_num, &in.fill_den);
    uint64_t need = headroom_general(&in);
    uint64_t cell = cell_bytes ? cell_bytes : 1;
    return need > UINT64_MAX - cell ? need : (need + cell - 1) / cell * cell;
}

uint64_t headroom_sonic_fill(uint32_t cell_bytes)
{
    return cell_bytes > 128 ? (cell_bytes + 63) / 64 : (2 * cell_bytes + cell_bytes) / (1 + cell_bytes);
}

uint64_t headroom_sonic_peer_bytes(const struct headroom_sonic *in)
{
    uint32_t quanta = headroom_quanta(in->rate_bps) < 905 ? headroom_quanta(in->rate_bps) : 905; /* 800G as 400G */

    return in->peer_bytes ? in->peer_bytes : 64ull * quanta;
}

uint64_t headroom_sonic(const struct headroom_sonic *in)
{
    /* Micro-bytes: mac and PHY take 819.2, the cable a fraction. */
    const u128 micro = 1000000;
    uint64_t worst = headroom_sonic_fill(in->cell_bytes);
    u128 prop = (u128)in->port_mtu_bytes * micro;

    prop += div_up((u128)2 * in->cable_mm * in->rate_bps * micro, (u128)8000 * HEADROOM_SONIC_SPEED_MPS);
    prop += (u128)2 * in->gearbox_bytes * micro + 819200000 + (u128)headroom_sonic_peer_bytes(in) * micro;
    if (in->tiles) prop += (u128)in->rate_bps * 120 * micro / 8000000000ull;
    /* The buffer a byte of the line takes: the share of small frames, which fill `worst` times their size. */
    u128 mean = (u128)in->small_percent * 64 + (u128)(100 - in->small_percent) * in->mtu_ll_bytes;
    const u128 small = 6400;
    u128 total = (u128)in->mtu_ll_bytes * micro + (prop * (mean + small * (worst - 1)) + mean - 1) / mean;
    return div_up(total, 1024 * micro) * 1024;
}

bool headroom_spectrum(const char *model, uint64_t rate_bps, uint64_t cable_mm, uint32_t frame_bytes,
                       uint32_t cell_bytes, struct headroom_sonic *ret)
{
    static const char spectrum[] = "spectrum";

    if (strncmp(model, spectrum, sizeof(spectrum) - 1) != 0) return false;
    char generation = model[sizeof(spectrum) - 1];
    *ret = (struct headroom_sonic){
        .rate_bps = rate_bps,
        .cable_mm = cable_mm,
        .port_mtu_bytes = frame_bytes > TAG_AND_HEADER ? frame_bytes - TAG_AND_HEADER : 0,
        .mtu_ll_bytes = 1024,
        .cell_bytes = cell_bytes,
        .small_percent = 100,
        .peer_bytes = generation == '1' ? SPECTRUM1_PEER : 0,
        .tiles = generation >= '4',
    };
    return true;
}

uint64_t headroom_model(const char *model, uint64_t rate_bps, uint64_t cable_mm, uint32_t frame_bytes,
                        uint32_t cell_bytes)
{
    struct headroom_sonic spectrum;

    if (headroom_spectrum(model, rate_bps, cable_mm, frame_bytes, cell_bytes, &spectrum))
        return headroom_sonic(&spectrum);
    return headroom_port(rate_bps, cable_mm, frame_bytes, cell_bytes);
}

uint64_t headroom_mlx5(uint64_t rate_bps, uint64_t cable_mm, uint32_t mtu_bytes)
{
    uint64_t gbps = rate_bps / 1000000000ull < 40 ? 40 : rate_bps / 1000000000ull;
    uint64_t metres = (cable_mm + 999) / 1000;

    return (301 + 216 * metres / 100) * gbps + 272ull * mtu_bytes / 100;
}
