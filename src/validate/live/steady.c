/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the machine itself is steady: a yardstick beside the programs that are measured.
 *
 * A virtual machine whose host is shared is idle by its own count, and gets a third more or less of a processor from
 * one moment to the next: on such a one ib_write_bw was seen between 13 and 115 Gb/s in two dozen runs, while copies
 * in memory on both processors were between 130 and 330.  No median of a program's runs tells that from a slow program.
 * So the same copies are timed between the runs, and where these deviate a figure that is too low is no verdict.
 */
#include "validate/live/machine.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/clock.h"

#define LOOK_NS 20000000u
#define BLOCK_BYTES 65536u
#define BLOCKS 8u
#define BETWEEN_CLOCKS 16u /* copies */

/* Bytes a second, as a double; 0: no memory. */
static void *copy(void *ret)
{
    char *from = malloc((size_t)BLOCK_BYTES * BLOCKS), *to = malloc((size_t)BLOCK_BYTES * BLOCKS);
    uint64_t begun, now, copies = 0;

    *(double *)ret = 0;
    if (from && to) {
        memset(from, 1, (size_t)BLOCK_BYTES * BLOCKS);
        memset(to, 2, (size_t)BLOCK_BYTES * BLOCKS);
        begun = now = clock_now_ns();
        while (now - begun < LOOK_NS) {
            for (uint32_t i = 0; i < BETWEEN_CLOCKS; i++, copies++)
                memcpy(to + copies % BLOCKS * BLOCK_BYTES, from + copies * 3 % BLOCKS * BLOCK_BYTES, BLOCK_BYTES);
            __asm__ volatile("" ::: "memory"); /* nobody reads the copies */
            now = clock_now_ns();
        }
        *(double *)ret = (double)(copies * BLOCK_BYTES) * 1e9 / (double)(now - begun);
    }
    free(from);
    free(to);
    return NULL;
}

void machine_steady_look(struct machine_steady *steady)
{
    double one = 0, other = 0;
    pthread_t thread;

    if (sysconf(_SC_NPROCESSORS_ONLN) > 1 && pthread_create(&thread, NULL, copy, &other) == 0) {
        copy(&one);
        pthread_join(thread, NULL);
        one = fmin(one, other);
    } else {
        copy(&one);
    }
    if (one <= 0) return;
    steady->sum += one;
    steady->squares += one * one;
    steady->looks++;
}

double machine_deviation(const struct machine_steady *steady)
{
    if (steady->looks < 2) return 0;
    double mean = steady->sum / steady->looks, variance = steady->squares / steady->looks - mean * mean;
    return sqrt(variance > 0 ? variance : 0) / mean;
}
