/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a set of flows can have of a fabric's links.
 */
#ifndef ROCELAB_VALIDATE_EXPECTED_H
#define ROCELAB_VALIDATE_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;

struct expected_flow {
    uint32_t src, dst; /* endpoints */
};

struct expected {
    double bps;     /* of all flows together, on the line */
    uint32_t draws; /* of ways */
    bool hashed;    /* ways were drawn: nineteen of twenty draws give that much */
};

void expected_rates(const struct fabric *fabric, const struct expected_flow *flow, uint32_t flows, uint64_t seed,
                    struct expected *ret);

#endif
