/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab serve` shows of live programs.
 */
#ifndef ROCELAB_CLI_SERVE_H
#define ROCELAB_CLI_SERVE_H

#include <stdbool.h>
#include <stdio.h>

#include "live/counters.h"
#include "nccl/page.h"

struct live_programs { /* all that programs of this user show now */
    struct device_counter_set *set;
    struct nccl_page *nccl;
    unsigned sets, nccls;
};
int live_programs_read(struct live_programs *ret); /* -ENOMEM */
void live_programs_release(struct live_programs *programs);

/* In Prometheus' text format: the catalogue's names (observe/catalogue.h), then what only live adapters have. */
void serve_programs_prometheus(const struct live_programs *programs, FILE *out);

/* One label with its value, and the head of a metric, in that format. */
void serve_label(FILE *out, const char *key, const char *value);
void serve_head(FILE *out, const char *name, bool gauge, const char *help);

/* counters.c: the document of `rocelab counters --json`. */
void counters_document(const struct live_programs *programs, FILE *out);

#endif
