/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence that is empty before each test and gone after it.  Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_EVIDENCE_FIXTURE_H
#define ROCELAB_TESTS_EVIDENCE_FIXTURE_H

#include <stdlib.h>

#include "evidence/evidence.h"

static inline int begin(void **state)
{
    struct evidence *evidence = calloc(1, sizeof *evidence);

    assert_non_null(evidence);
    evidence_init(evidence);
    *state = evidence;
    return 0;
}

static inline int end(void **state)
{
    evidence_release(*state);
    free(*state);
    return 0;
}

#endif
