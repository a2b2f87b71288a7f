/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fabric that is up answers to questions (up/control.h).
 */
#ifndef ROCELAB_CLI_UP_ANSWER_H
#define ROCELAB_CLI_UP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fabric;
struct sim;

struct up_answer {
    struct sim *sim;
    struct fabric *fabric; /* the simulation's */
    uint64_t seed;
};

/* `fault WORDS`: done now; answers its fabric time in ps, and says on standard error what a script would have.
 * `counters text|brief|json [NAME]`.  A control_answer. */
bool up_answer(void *context, const char *words, FILE *out);

#endif
