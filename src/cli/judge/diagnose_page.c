/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of a diagnosis; see diagnose_page.h.
 *
 * Where the one input is a simulation's own document, the page has it too, so that findings can be chosen in its
 * charts.  It is written as text: the page reads it by itself, and what is wrong in somebody's file costs the
 * findings nothing.  That of ten thousand GPUs would make a page of many megabytes: above a limit it is left out,
 * and the page says so.
 */
#include "cli/judge/diagnose_page.h"

#include <stdlib.h>
#include <sys/stat.h>

#define RUN_BYTES_MOST (16u << 20)
#define TOO_LARGE                                                                                                      \
    "The charts of the run are not here: its document is larger than 16 MB. `rocelab sim --html` draws them."

struct document {
    const struct diagnose_report *report;
    const char *run; /* NULL: none */
};

/* The document of the run; NULL: there is none, it cannot be read again, or it is too large. */
static char *read_run(const struct diagnose_report *report, const char **ret_left_out)
{
    struct stat about;
    char *text = NULL;

    if (report->inputs != 1 || !report->diagnose->evidence->exact) return NULL;
    if (stat(report->input[0], &about) != 0 || !S_ISREG(about.st_mode)) return NULL;
    if (about.st_size > (off_t)RUN_BYTES_MOST) {
        *ret_left_out = TOO_LARGE;
        return NULL;
    }
    FILE *file = fopen(report->input[0], "re");
    if (file) text = malloc((size_t)about.st_size + 1);
    if (text) text[fread(text, 1, (size_t)about.st_size, file)] = '\0';
    if (file) fclose(file);
    return text;
}

static bool write_document(const void *context, FILE *out)
{
    const struct document *document = context;

    diagnose_json(out, document->report, document->run);
    return true;
}

bool diagnose_page(struct cli_html *html, const struct diagnose_report *report)
{
    if (!html->path) return true;
    char *run = read_run(report, &html->left_out);
    const struct document document = {.report = report, .run = run};
    bool good = cli_html_end(html, write_document, &document);

    free(run);
    return good;
}
