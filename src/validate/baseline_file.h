/* SPDX-License-Identifier: Apache-2.0 */
/* A baseline as a text, for `validate` and `diagnose`. */
#ifndef ROCELAB_VALIDATE_BASELINE_FILE_H
#define ROCELAB_VALIDATE_BASELINE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "diagnose/baseline.h"
#include "study/error.h"

#define BASELINE_NAME 100 /* bytes of who signs, at most */

struct baseline_text {
    const char *path; /* for messages */
    const char *text;
    size_t length;
    struct arena *arena; /* of what is read */
    struct study_error *error;
};

/* False after an error.  fabric: whose it has to be; NULL: anybody's. */
bool baseline_parse(const struct baseline_text *in, const struct fabric *fabric, struct diagnose_baseline *ret);
/* How many figures are in it: with none it is no baseline. */
uint32_t baseline_print(FILE *out, const struct diagnose_baseline *baseline);

#endif
