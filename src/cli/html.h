/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --html FILE: the page of a verb, beside what the verb prints.
 *
 * cli_html_begin() before the run, then cli_html_end() or, for a document that grows while it is made, cli_html_open()
 * and cli_html_close(); cli_html_release() at last, whatever happened.  Without --html all do nothing.
 */
#ifndef ROCELAB_CLI_HTML_H
#define ROCELAB_CLI_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "report/sim_report.h"

#define CLI_HTML_WORDS 64

struct cli_html {
    const char *path; /* NULL: no page is wanted */
    struct cli_file file;
    FILE *document;
    const char *word[CLI_HTML_WORDS]; /* the command */
    uint32_t words;
    const char *left_out; /* a sentence for the page, or NULL */
};

/* The value of --html; false after a message. */
bool cli_html_set(void *html, const char *argument);
/* Begins the file, so that one that cannot be written is known before the run; what is there stays until there is
 * another page.  argv as the verb has it.  False after a message. */
bool cli_html_begin(struct cli_html *html, int argc, char **argv);
/* The stream that takes the document; NULL after a message. */
FILE *cli_html_open(struct cli_html *html);
bool cli_html_close(struct cli_html *html); /* false after a message */
/* All of it: the page with the document that `write` writes.  False after a message. */
bool cli_html_end(struct cli_html *html, cli_writer *write, const void *context);
/* Likewise for a run, with what of a large one is worth its bytes. */
bool cli_html_run(struct cli_html *html, const struct sim_report *report);
/* What is there stays where there is no whole page. */
void cli_html_release(struct cli_html *html);

#endif
