/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab capture` says about one file, as text for people and as JSON.  Prints what
 * capture/capture.h found and nothing else; the only arithmetic is adding the two directions
 * of a connection.
 */
#ifndef ROCELAB_REPORT_CAPTURE_REPORT_H
#define ROCELAB_REPORT_CAPTURE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/capture.h"
#include "report/json_out.h"
#include "report/text.h"

struct capture_report {
    const char *file;
    const char *error;             /* why reading ended early, a sentence; NULL: it did not */
    const struct capture *capture; /* finished */
};

struct capture_text_options {
    struct text_style style;
    uint32_t connections; /* rows of the table; 0: all */
    uint32_t details;     /* of those, shown in detail */
    bool verdict_only;
};

void capture_text(FILE *out, const struct capture_report *report, const struct capture_text_options *options);
/* One object: a member of "files". */
void capture_json(struct jout *jout, const struct capture_report *report);

/* Both directions together. */
struct report_sums {
    uint64_t packets, bytes, payload_bytes, goodput_bytes;
    uint64_t first_ns, last_ns;
    uint64_t retransmitted, filled, reordered, gaps, missing, naks, rnr_naks, duplicate_acks;
    uint64_t cnps, ecn_capable, ecn_marked, psn_wraps, icrc_errors;
};
struct report_sums report_sums(const struct capture_connection *connection);
uint64_t report_naks(const struct capture_direction *direction); /* all kinds; no RNR */
const char *report_transport(uint8_t transport);                 /* "RC" */

/* "frame.number in {12, 15}"; empty when there is no evidence.  Returns buf. */
#define REPORT_FILTER 256
const char *report_filter(const struct capture_evidence *evidence, char buf[REPORT_FILTER]);

/* The details of the first `count` connections of `order` (capture_text.c's own order). */
void capture_text_details(FILE *out, const struct capture_report *report, const struct text_style *style,
                          const uint32_t *order, size_t count);

#endif
