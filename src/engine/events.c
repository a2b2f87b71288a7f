/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting the arrivals of a node and window in order.
 *
 * What comes off the links is one ascending run a port.  Merging the runs costs a mispredicted branch or two an
 * arrival; spreading them over buckets by time costs none: a window's arrivals are spread evenly, for they were
 * sent at line rates.  With half as many buckets as arrivals, or all, the last pass, an insertion sort, finds the
 * list nearly sorted.  Few arrivals go to the insertion sort at once.  A key is never twice in a list (a port's
 * arrivals differ in time), so the order does not depend on the method.
 */
#include <string.h>

#include "engine/engine_int.h"

#define FEW 20
#define BUCKETS_MAX 1024

static void insertion_sort(struct event *list, uint32_t count)
{
    uint64_t before = list[0].key;

    for (uint32_t i = 1; i < count; i++) {
        uint64_t key = list[i].key;
        if (key >= before) { /* nearly always, after the buckets */
            before = key;
            continue;
        }
        struct event moving = list[i];
        uint32_t at = i;
        do {
            list[at] = list[at - 1];
            at--;
        } while (at > 0 && list[at - 1].key > moving.key);
        list[at] = moving;
    }
}

struct event *events_sort(struct event *list, struct event *other, uint32_t count, uint64_t low, uint64_t high)
{
    uint32_t start[BUCKETS_MAX + 1];

    if (count <= FEW) {
        insertion_sort(list, count);
        return list;
    }
    uint32_t bits = 31 - (uint32_t)__builtin_clz(count);
    if (1u << bits > BUCKETS_MAX) bits = 10;
    uint32_t buckets = 1u << bits;
    uint32_t range_bits = 64 - (uint32_t)__builtin_clzll((high - low) | 1);
    uint32_t shift = range_bits > bits ? range_bits - bits : 0;

    memset(start, 0, (buckets + 1) * sizeof(start[0]));
    for (uint32_t i = 0; i < count; i++)
        start[((list[i].key - low) >> shift) + 1]++;
    for (uint32_t i = 1; i < buckets; i++)
        start[i] += start[i - 1];
    for (uint32_t i = 0; i < count; i++)
        other[start[(list[i].key - low) >> shift]++] = list[i];
    insertion_sort(other, count);
    return other;
}
