/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs, over HTTP; see serving.h.
 */
#include "cli/programs/serving.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/metrics.h"
#include "report/page/select.h"
#include "study/clock.h"

#define REST_TIMES 20 /* a document that took a second is followed by twenty of running */
#define LOOK_MS 200   /* an interrupt is seen so soon */

bool cli_serving_listen(void *to, const char *argument)
{
    struct cli_serving *serving = to;
    char why[SERVE_TEXT];

    serving->listen = argument;
    if (serve_listen_valid(argument, why)) return true;
    return cli_fail("--listen '%s': %s", argument, why);
}

bool cli_serving_begin(struct cli_serving *serving, const char *verb)
{
    char why[SERVE_TEXT];

    if (!serving->wanted) {
        if (serving->listen) cli_error("%s: --listen says where to serve, and goes with --serve", verb);
        return serving->listen == NULL;
    }
    int error = serve_create(serving->listen, &serving->serve, why);
    if (error == -EINVAL || error == -ENOSYS || error == -ENOMEM)
        cli_error("%s: %s", verb, why);
    else if (error)
        cli_error("%s: --listen: %s", verb, why);
    if (error) return false;
    if (!serving->quiet) fprintf(stderr, "serving at %s\n", serve_address(serving->serve));
    return true;
}

bool cli_serving_write(struct sim *sim, const struct sim_report *report, enum serve_document which, FILE *out)
{
    struct page_selection selection = {0};
    struct sim_report chosen = *report;

    if (which == SERVE_METRICS) return cli_metrics_now(sim, report, out);
    if (page_select(report, &selection) != 0) return false;
    chosen.series_port = selection.port;
    chosen.flow_chosen = selection.flow;
    bool good = sim_json_write(out, &chosen);
    page_selection_release(&selection);
    return good;
}

void cli_serving_make(struct serve *serve, uint32_t documents, cli_serving_writer *write, void *context)
{
    for (int i = 0; i < SERVE_DOCUMENTS; i++) {
        char *text = NULL;
        size_t bytes = 0;
        if (!(documents >> i & 1)) continue;
        FILE *out = open_memstream(&text, &bytes);
        bool good = out && write(context, (enum serve_document)i, out);
        if (out && fclose(out) != 0) good = false;
        if (!good) {
            free(text);
            text = NULL;
        }
        serve_put(serve, (enum serve_document)i, text, bytes);
    }
}

void cli_serving_look(struct cli_serving *serving, cli_serving_writer *write, void *context)
{
    if (serving->serve == NULL) return;
    uint64_t begun = clock_now_ns();
    if (begun < serving->not_before_ns) return;
    uint32_t documents = serve_due(serving->serve);
    if (documents == 0) return;
    cli_serving_make(serving->serve, documents, write, context);
    uint64_t now = clock_now_ns();
    serving->not_before_ns = now + (now - begun) * REST_TIMES;
}

void cli_serving_end(struct cli_serving *serving, cli_serving_writer *write, void *context)
{
    if (serving->serve == NULL || serving->until_done || cli_stopped) return;
    cli_serving_make(serving->serve, (1u << SERVE_DOCUMENTS) - 1, write, context);
    serve_last(serving->serve);
    if (!serving->quiet)
        fprintf(stderr, "the run has ended; its last state is at %s until you interrupt\n",
                serve_address(serving->serve));
    while (!cli_stopped)
        serve_wait(serving->serve, LOOK_MS);
}

void cli_serving_release(struct cli_serving *serving)
{
    serve_free(serving->serve);
    serving->serve = NULL;
}
