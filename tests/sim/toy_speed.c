/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the engine is with toy machines: toy_speed K PACKETS [THREADS [TILING]].
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "toy.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    uint32_t arg[4] = {8, 1000, 1, 0};

    for (int i = 1; i < argc && i <= 4; i++)
        arg[i - 1] = (uint32_t)strtoul(argv[i], NULL, 10);
    struct toy_config config = {.k = arg[0],
                                .packets = arg[1],
                                .window = 300,
                                .payload = 1000,
                                .pause_at = 200,
                                .rate_bps = 100000000000ULL,
                                .host_link = PS_US,
                                .fabric_link = PS_US,
                                .core_link = PS_US,
                                .threads = arg[2],
                                .tiling = arg[3],
                                .seed = 1};
    config.latency = 300 * PS_NS;
    double a = seconds();
    struct toy *toy = toy_create(&config);
    double b = seconds();
    enum engine_state state = toy_run(toy, UINT64_MAX, PS_NEVER);
    double c = seconds();
    struct engine_totals totals = toy_totals(toy);
    printf("hosts %u setup %.3f run %.3f hops %llu %.2f M/s now %.1f us windows %llu digest %016llx state %d live %llu "
           "peak %llu pauses %llu delivered %llu\n",
           toy_hosts(toy), b - a, c - b, (unsigned long long)totals.hops, (double)totals.hops / (c - b) / 1e6,
           (double)totals.now / 1e6, (unsigned long long)totals.windows, (unsigned long long)totals.digest, (int)state,
           (unsigned long long)totals.packets_live, (unsigned long long)totals.packets_peak,
           (unsigned long long)toy_pauses(toy), (unsigned long long)toy_delivered(toy));
    toy_free(toy);
    return 0;
}
