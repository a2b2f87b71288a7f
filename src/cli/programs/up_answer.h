/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fabric that is up answers to questions (up/control.h).
 */
#ifndef ROCELAB_CLI_UP_ANSWER_H
#define ROCELAB_CLI_UP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "report/sim_report.h"
#include "serve/serve.h"

struct up_answer {
    struct up *up;
    struct sim *sim;
    struct fabric *fabric;  /* the simulation's */
    struct sim_report base; /* of its reports: what does not change */
    bool real;              /* the clock */
    const char *clock;      /* the same, as it was given */
    time_t since;           /* it is up */
    bool ended;             /* the run has ... */
    enum sim_state state;   /* ... so */
};

/* `fault WORDS`: done now; answers its fabric time in ps, and says on standard error what a script would have.
 * `about`, for up --list; `counters text|brief|json [NAME]`; `top [NAME]`, for counters --watch; `state` and `metrics`,
 * as `rocelab serve` shows them.  A control_answer. */
bool up_answer(void *context, const char *words, FILE *out);
/* The fabric as it is now.  A cli_serving_writer. */
bool up_answer_document(void *context, enum serve_document which, FILE *out);

#endif
