/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a fabric file, and where: the answer of everything that reads one, and the call of who reads
 * what fabric leaves as text.
 */
#ifndef ROCELAB_FABRIC_ERRORS_H
#define ROCELAB_FABRIC_ERRORS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/words.h"

#define FABRIC_ERRORS_MAX 20
struct fabric_error {
    struct fabric_at at;
    char text[300];
};
struct fabric_errors { /* a zeroed struct is empty */
    const char *path;
    bool takes_overfull; /* in: buffers that do not hold their headroom are no error, but counted */
    uint32_t overfull;
    uint32_t count; /* kept, in order of the file */
    uint32_t more;  /* found besides */
    struct fabric_error error[FABRIC_ERRORS_MAX];
};
void fabric_errors_print(const struct fabric_errors *errors, FILE *to); /* `file:line:col: error: …` a line */
__attribute__((format(printf, 3, 4))) void fabric_errors_add(struct fabric_errors *errors, struct fabric_at at,
                                                             const char *format, ...);

struct fabric_nic;
/* Judges a NIC's congestion control, whose names belong to src/nic: called for each layer of NICs that is read. */
typedef void fabric_nic_judge(const struct fabric_nic *nic, struct fabric_errors *errors);

#endif
