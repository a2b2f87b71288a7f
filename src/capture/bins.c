/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goodput over time: CAPTURE_BINS bins of one width for all, from the first record on.
 *
 * Nobody knows beforehand how long a capture is (a pipe may never end), so the width doubles, and
 * neighbours are added, whenever time leaves the last bin.  A direction does that for itself when it
 * next has something to add: each carries the shift its bins are in.  What falls into the current bin
 * is first added up beside the hot state and reaches the bins when the bin changes: one cache line
 * less for each packet.
 */
#include "capture/capture_int.h"

#define FIRST_WIDTH_NS 1000

static void bins_halve(uint64_t bin[CAPTURE_BINS])
{
    for (unsigned i = 0; i < CAPTURE_BINS / 2; i++)
        bin[i] = bin[2 * i] + bin[2 * i + 1];
    memset(&bin[CAPTURE_BINS / 2], 0, sizeof bin[0] * (CAPTURE_BINS / 2));
}

void cap_bins_begin(struct capture *capture)
{
    capture->bin_base_ns = capture->options.bin_ns ? capture->options.bin_ns : FIRST_WIDTH_NS;
    capture->totals.bin_ns = capture->bin_base_ns;
    capture->bin_from_ns = capture->totals.first_ns;
    capture->bin_to_ns = capture->bin_from_ns + capture->bin_base_ns;
}

void cap_bins_turn(struct capture *capture)
{
    /* A record older than the first one belongs to the first bin. */
    uint64_t since = capture->now_ns > capture->totals.first_ns ? capture->now_ns - capture->totals.first_ns : 0;
    while (since / capture->totals.bin_ns >= CAPTURE_BINS && capture->totals.bin_ns <= UINT64_MAX / 2) {
        capture->totals.bin_ns *= 2;
        capture->bin_shift++;
        bins_halve(capture->totals.bin);
    }
    uint64_t bin = since / capture->totals.bin_ns;
    if (bin >= CAPTURE_BINS) bin = CAPTURE_BINS - 1;
    capture->bin = (uint8_t)bin;
    capture->bin_from_ns = capture->totals.first_ns + bin * capture->totals.bin_ns;
    capture->bin_to_ns = capture->bin_from_ns + capture->totals.bin_ns;
    if (since == 0) capture->bin_from_ns = 0;
}

void cap_bins_flush(struct capture *capture, struct direction *direction)
{
    direction->view.bin[direction->bin] += direction->bin_bytes;
    direction->bin_bytes = 0;
    for (; direction->bin_shift < capture->bin_shift; direction->bin_shift++)
        bins_halve(direction->view.bin);
    direction->bin = capture->bin;
}
