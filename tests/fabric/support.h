/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of fabric share: loading a text that must be right, and what holds for every fabric.
 * Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_FABRIC_SUPPORT_H
#define ROCELAB_TESTS_FABRIC_SUPPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "load/load.h"

/* ROCELAB_SEED runs the properties on other values. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("ROCELAB_SEED");
    return text ? strtoull(text, NULL, 0) : 20240229;
}

static inline struct fabric *must_load(const char *path, const char *text)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    if (fabric_load(path, text, &fabric, &errors) < 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("%s does not load:\n%s", path, text ? text : "");
    }
    assert_int_equal(errors.count, 0);
    return fabric;
}

/* CHECKs, with the step of a property: the arrays agree with each other, and routes are all shortest paths. */
void check_arrays(const struct fabric *fabric, uint64_t step);
void check_routes(const struct fabric *fabric, uint64_t step);
/* No path goes down and up again, nor between switches of a tier more than once. */
void check_valleys(const struct fabric *fabric, uint64_t step);
/* Shortest paths between two endpoints. */
uint64_t count_paths(const struct fabric *fabric, uint32_t src, uint32_t dst);

#define EXPECT(cond, step)                                                                                             \
    do {                                                                                                               \
        if (!(cond))                                                                                                   \
            fail_msg("%s (seed %llu, step %llu)", #cond, (unsigned long long)test_seed(), (unsigned long long)(step)); \
    } while (0)

#endif
