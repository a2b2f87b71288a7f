/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a queue of a QFX switch may hold, of which fill levels are per cent, for reading and writing alike.
 *
 * Juniper's reference calls a fill level the fullness of the queue, and a queue may hold its dedicated buffer and, of
 * the partition of the shared buffer that its class uses, what its dynamic threshold leaves it: alpha / (1 + alpha) of
 * the partition where no other queue is congested (Juniper, "QFX5K-Series Switches Packet Buffer Architecture", 2025).
 * Of a chip's buffer only a part is shared, and partitions are per cent of that part; shares and the partitions that
 * hold where nothing is said are of the table of that document.  Dedicated buffer (1 to 2 per cent of what a lossless
 * queue may hold) and the division of the buffer between two traffic managers are left out.
 *
 * Of a chip that is not in the table nobody knows it: JUNOS_QUEUE_BYTES are taken then, both ways.
 */
#include <stdio.h>
#include <string.h>

#include "config/junos/junos_int.h"

#include "fabric/switches.h"

#define LOSSLESS_OF 66u /* parts of what headroom leaves of the shared buffer: lossless ... */
#define LOSSY_OF 10u    /* ... and lossy */
#define HEADROOM_LEAST 5u
#define HEADROOM_MOST 60u
#define FILL_MOST 99u      /* of the last fill level: the whole queue is not allowed */
#define ALPHA_LOSSLESS 10u /* of egress, where nothing is said */
#define ALPHA_LOSSY 7u

/* KB of all buffer, and of what is shared; per cent of that for lossless and lossy queues as the switch comes. */
static const struct known {
    const char *model;
    uint32_t total, shared;
    uint8_t lossless, lossy;
} chips[] = {
    {"tomahawk1", 16640, 11232, 50, 31},  /* QFX5200 */
    {"tomahawk2", 43264, 28080, 50, 31},  /* QFX5210 */
    {"tomahawk3", 65536, 44420, 20, 70},  /* QFX5220 */
    {"tomahawk4", 116386, 74743, 20, 70}, /* QFX5230 */
    {"tomahawk5", 169207, 84206, 20, 70}, /* QFX5240 */
    {"trident3", 32256, 27396, 50, 31},   /* QFX5120 */
    {"trident4", 134792, 111263, 20, 70}, /* QFX5130 */
};

static const struct known *find(const char *model)
{
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
        if (strcmp(chips[i].model, model) == 0) return &chips[i];
    return NULL;
}

static uint64_t shared_of(const struct known *chip)
{
    return chip->shared * UINT64_C(1000);
}

/* What one queue may hold of a partition of so many per cent, if it is the only one that is congested. */
static uint64_t held(const struct known *chip, unsigned percent, unsigned alpha)
{
    uint64_t partition = shared_of(chip) / 100 * percent;

    if (alpha < JUNOS_ALPHA_ONE) return partition / ((1u << (JUNOS_ALPHA_ONE - alpha)) + 1);
    uint64_t times = UINT64_C(1) << (alpha - JUNOS_ALPHA_ONE);
    return partition * times / (times + 1);
}

struct junos_parts junos_parts_of(const struct fabric_switch *sw)
{
    const struct known *chip = find(sw->model);
    uint64_t whole = chip ? shared_of(chip) : sw->buffer_bytes;
    uint64_t need = whole ? (sw->headroom_sum_bytes * 100 + whole - 1) / whole : 0;
    struct junos_parts parts;

    parts.headroom = need < HEADROOM_LEAST ? HEADROOM_LEAST : need > HEADROOM_MOST ? HEADROOM_MOST : (unsigned)need;
    parts.lossy = ((100 - parts.headroom) * LOSSY_OF + (LOSSLESS_OF + LOSSY_OF) / 2) / (LOSSLESS_OF + LOSSY_OF);
    parts.lossless = 100 - parts.headroom - parts.lossy;
    return parts;
}

uint64_t junos_queue_written(const struct fabric_switch *sw, bool lossless)
{
    const struct known *chip = find(sw->model);
    struct junos_parts parts = junos_parts_of(sw);

    if (!chip) return JUNOS_QUEUE_BYTES;
    return held(chip, lossless ? parts.lossless : parts.lossy, lossless ? ALPHA_LOSSLESS : ALPHA_LOSSY);
}

uint64_t junos_queue_read(const struct junos *in, bool lossless, const struct junos_scheduler *by)
{
    const char *model = config_said(in->set, in->device, CONFIG_NONE, "model");
    const struct known *chip = model ? find(model) : NULL;
    unsigned percent = in->egress_percent[lossless], alpha = lossless ? ALPHA_LOSSLESS : ALPHA_LOSSY;

    if (!chip) return 0;
    if (!in->egress_said[lossless]) percent = lossless ? chip->lossless : chip->lossy;
    if (in->egress_alpha[lossless] >= 0) alpha = (unsigned)in->egress_alpha[lossless];
    if (by && by->alpha >= 0) alpha = (unsigned)by->alpha;
    return held(chip, percent, alpha);
}

uint64_t junos_fill_bytes(uint64_t queue, unsigned percent)
{
    return (queue * percent + 50) / 100;
}

void junos_fill(uint64_t queue, const struct sw_ecn *ecn, unsigned ret[2])
{
    const uint64_t bytes[2] = {ecn->min_bytes, ecn->max_bytes};

    for (unsigned i = 0; i < 2; i++)
        ret[i] = bytes[i] >= queue ? FILL_MOST : (unsigned)((bytes[i] * 100 + queue / 2) / queue);
    if (ret[0] == 0 && ecn->min_bytes) ret[0] = 1; /* not from an empty queue on */
    if (ret[0] >= FILL_MOST) ret[0] = FILL_MOST - 1;
    if (ret[1] > FILL_MOST) ret[1] = FILL_MOST;
    if (ret[1] <= ret[0]) ret[1] = ret[0] + 1;
}

bool junos_same_marking(const struct fabric_switch *sw, bool lossless, const char *own, const struct sw_ecn *approved,
                        struct sw_ecn *io_running)
{
    unsigned fill[2], is[2];
    unsigned long long queue;

    if (sscanf(own, "%u %u %llu", &is[0], &is[1], &queue) != 3) return false;
    if (!queue) queue = junos_queue_written(sw, lossless);
    junos_fill(queue, approved, fill);
    io_running->min_bytes = junos_fill_bytes(queue, is[0]);
    io_running->max_bytes = junos_fill_bytes(queue, is[1]);
    return fill[0] == is[0] && fill[1] == is[1];
}
