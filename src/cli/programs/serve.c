/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab serve: what `rocelab counters` reads, for browsers and for Prometheus.
 *
 * Two sources: programs under `rocelab run`, whose counters lie in shared memory, and a fabric that is up, which is
 * asked through its socket.  Both are read when somebody asks, and disturb nothing.
 */
#include "cli/programs/serve.h"

#include <errno.h>
#include <string.h>

#include "cli/option.h"
#include "cli/programs/serving.h"
#include "up/control.h"
#include "up/up.h"

#define LOOK_MS 200

struct settings {
    bool of_fabric;
    const char *fabric;
    char path[UP_PATH]; /* of the fabric's socket */
    bool gone;          /* it does not answer any more */
    struct cli_serving serving;
};

static const struct cli_option options[] = {
#include "cli/programs/serve_options.def"
};

static const struct cli_command command = {
    .verb = "serve",
    .operands = "[--fabric NAME]",
    .about =
        "Serves the counters of programs that run under `rocelab run`, or a fabric that is up, over HTTP: as a page "
        "that follows them, as JSON, and for Prometheus to scrape. Read only, and on loopback unless asked.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab serve &  rocelab run -- ib_write_bw &  curl -s localhost:9791/metrics | grep rdma_\n"
            "  rocelab serve --fabric pod --listen 127.0.0.1:0\n"
            "\nThere are /, /metrics, /api/state.json, /api/events and /healthz: docs/serve.md. 'sim --serve' and\n"
            "'up --serve' show a run from within.\n"
            "\nExit status: 0 interrupted, or the fabric has ended; 2 wrong use, no such fabric, or it cannot listen "
            "there.\n",
};

static bool write_programs(void *context, enum serve_document which, FILE *out)
{
    struct live_programs programs;

    (void)context;
    if (live_programs_read(&programs) < 0) return false;
    if (which == SERVE_METRICS)
        serve_programs_prometheus(&programs, out);
    else
        counters_document(&programs, out);
    live_programs_release(&programs);
    return true;
}

static bool write_fabric(void *context, enum serve_document which, FILE *out)
{
    struct settings *settings = context;
    char why[CONTROL_TEXT];
    int answer = control_ask(settings->path, which == SERVE_METRICS ? "metrics" : "state", CONTROL_PATIENCE_MS, out);

    if (answer == -ECONNABORTED || answer == -ETIMEDOUT)
        cli_error("serve: %s: %s", settings->path, control_error(settings->path, answer, why));
    else if (answer < 0)
        settings->gone = true;
    return answer == 0;
}

static bool find_fabric(struct settings *settings)
{
    int error = up_find(settings->fabric, settings->path);

    if (error == -ENOENT)
        cli_error("serve: no fabric '%s' is up; start it with 'rocelab up'", settings->fabric);
    else if (error)
        cli_error("serve: %s: %s", settings->fabric, strerror(-error));
    return error == 0;
}

static void serve_on(struct settings *settings)
{
    cli_serving_writer *write = settings->of_fabric ? write_fabric : write_programs;
    char found[UP_PATH];

    while (!cli_stopped && !settings->gone) {
        uint32_t documents = serve_wait(settings->serving.serve, LOOK_MS);
        if (documents) cli_serving_make(settings->serving.serve, documents, write, settings);
        if (settings->of_fabric && up_find(settings->fabric, found) == -ENOENT) settings->gone = true;
    }
    if (settings->gone && !cli_stopped && !settings->serving.quiet) cli_error("serve: the fabric has ended");
}

int verb_serve(int argc, char **argv, FILE *out)
{
    struct settings settings = {.serving.wanted = true};
    struct cli_common common;
    int first, answer = cli_options(&command, argc, argv, out, &common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (first < argc) return cli_wrong("serve: '%s' is too much; see 'rocelab help serve'", argv[first]);
    settings.serving.quiet = common.quiet;
    if (settings.of_fabric && !find_fabric(&settings)) return CLI_WRONG;
    cli_catch_stop(1);
    if (!cli_serving_begin(&settings.serving, "serve")) return CLI_WRONG;
    serve_on(&settings);
    cli_serving_release(&settings.serving);
    return CLI_DONE;
}
