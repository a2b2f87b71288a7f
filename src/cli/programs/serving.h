/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --serve of `sim` and `up`: what runs, over HTTP, while it runs.
 *
 * The thread that runs it makes the documents, between windows and only when somebody wants one (serve/serve.h); making
 * them takes a twentieth of the time at most.  Nothing that is shown depends on who looks.
 */
#ifndef ROCELAB_CLI_SERVING_H
#define ROCELAB_CLI_SERVING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/sim_report.h"
#include "serve/serve.h"
#include "sim/sim.h"

struct cli_serving {
    bool wanted;     /* --serve */
    bool until_done; /* --serve-until-done */
    bool quiet;
    const char *listen; /* --listen; NULL: as usual */
    struct serve *serve;
    uint64_t not_before_ns; /* of the next document */
};

/* Writes a document; false: there is none now. */
typedef bool cli_serving_writer(void *context, enum serve_document which, FILE *out);

/* The value of --listen; false after a message. */
bool cli_serving_listen(void *serving, const char *argument);
/* Listens from now on, and says where; false after a message.  Where --serve was not given all of these do nothing. */
bool cli_serving_begin(struct cli_serving *serving, const char *verb);
/* Between windows: what is wanted now. */
void cli_serving_look(struct cli_serving *serving, cli_serving_writer *write, void *context);
/* The run has ended: its last state stays until somebody interrupts, or not at all with --serve-until-done. */
void cli_serving_end(struct cli_serving *serving, cli_serving_writer *write, void *context);
void cli_serving_release(struct cli_serving *serving);

/* A document of a run, as a page has it. */
bool cli_serving_write(struct sim *sim, const struct sim_report *report, enum serve_document which, FILE *out);
/* Makes the documents of these bits. */
void cli_serving_make(struct serve *serve, uint32_t documents, cli_serving_writer *write, void *context);

#endif
