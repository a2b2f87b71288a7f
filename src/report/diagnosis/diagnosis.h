/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A diagnosis as text for people and as JSON.  What was found is src/diagnose's; here it is only written down.
 */
#ifndef ROCELAB_REPORT_DIAGNOSIS_DIAGNOSIS_H
#define ROCELAB_REPORT_DIAGNOSIS_DIAGNOSIS_H

#include <stdio.h>

#include "diagnose/diagnose.h"
#include "diagnose/walk.h"
#include "report/json_out.h"
#include "report/text.h"

struct diagnose_report {
    const struct diagnose *diagnose;
    char *const *input; /* as the command line has them */
    int inputs;
};

/* `quiet`: the findings alone, a line each. */
void diagnose_text(FILE *out, const struct diagnose_report *report, const struct text_style *style, bool quiet);
/* Notes on what was not understood and what lacks: the text above has them too. */
void diagnose_text_remarks(FILE *out, const struct evidence *evidence, const struct text_style *style);
void diagnose_json_remarks(struct jout *jout, const struct evidence *evidence);
void diagnose_json_unknowns(struct jout *jout, const struct evidence *evidence);      /* lines that no reader took */
void diagnose_json(FILE *out, const struct diagnose_report *report, const char *run); /* run: its input, or NULL */
/* --explain and --list.  `only`: one rule; DIAGNOSE_RULES: all. */
void diagnose_text_rule(FILE *out, const struct text_style *style, uint32_t rule);
void diagnose_text_rules(FILE *out, const struct text_style *style);
void diagnose_json_rules(struct jout *jout, uint32_t only); /* members of the document */

/* A walk over cables.  `quiet`: the problems alone, a line each. */
void walk_text(FILE *out, const struct walk *walk, const struct text_style *style, bool quiet);
void walk_json(FILE *out, const struct walk *walk);

/* What was looked at. */
struct diagnose_seen {
    uint32_t devices, hosts, ports, jobs;
    double seconds;
};
struct diagnose_seen diagnose_seen(const struct evidence *evidence);

#endif
