/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that is watched; see observe.h.
 */
#include "cli/simulate/observe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"

/* Where --series does not say: steps begin short and are doubled when there are so many.  A look takes some 3 us a
 * port, so a large fabric is looked at less often. */
#define STEP_FIRST (200 * PS_NS)
#define STEP_FIRST_PORTS 512 /* longer by itself for each so many ports */
#define STEPS_MOST 1000
#define STEPS_MOST_LARGE 256
#define PORTS_LARGE 4096
#define EVENTS_MOST (1000 * 1000u) /* 32 MB */
#define EVENTS_FILE_MOST (10 * EVENTS_MOST)

bool cli_observe_events(void *to, const char *argument)
{
    struct cli_observe *observe = to;

    observe->events_path = argument;
    if (argument[0] != '\0' && strcmp(argument, "-") != 0) return true;
    return cli_fail("--events '%s': a file to write, as in events.csv", argument);
}

static bool on(const struct cli_observe *observe)
{
    return observe->step || observe->wanted;
}

bool cli_observe_options(struct cli_observe *observe, struct sim_options *options)
{
    if (!on(observe) && observe->events_path == NULL) return true;
    observe->log.most = observe->events_path ? EVENTS_FILE_MOST : EVENTS_MOST;
    options->events = &observe->log;
    options->event_kinds = observe->events_path ? UINT32_MAX : RECORD_RARE;
    if (on(observe)) options->rtt = true;
    if (observe->events_path == NULL) return true;
    return cli_file_open(&observe->events, "--events", observe->events_path);
}

/* A quarter of the machine's memory may be columns. */
static uint64_t most_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
}

bool cli_observe_begin(struct cli_observe *observe, struct sim *sim)
{
    ps_t first = STEP_FIRST * (1 + observe->ports / STEP_FIRST_PORTS);
    uint32_t most = observe->ports > PORTS_LARGE ? STEPS_MOST_LARGE : STEPS_MOST;
    const struct sim_series_options options = {.step = observe->step ? observe->step : first,
                                               .steps_most = observe->step ? 0 : most,
                                               .most_bytes = most_bytes(),
                                               .connections = observe->qps};

    if (!on(observe)) return true;
    if (sim_series_create(sim, &options, &observe->series) != 0) return cli_fail("not enough memory for the series");
    uint32_t connections = series_objects(observe->series, OBSERVE_OBJECT_CONNECTION);
    observe->connection = calloc(connections + 1u, sizeof(*observe->connection));
    for (uint32_t i = 0; i < connections; i++)
        sim_sample_connection(sim, i, &observe->connection[i]);
    sim_watch(sim, observe->series);
    return true;
}

static bool write_events(struct cli_observe *observe, const struct fabric *fabric)
{
    if (observe->events.to == NULL) return true;
    sim_csv_events(observe->events.to, fabric, &observe->log);
    bool written = cli_file_close(&observe->events);
    if (observe->log.lost == 0) return written;
    char count[TEXT_COUNT];
    return cli_fail("--events: %s more events than a file has room for were left out",
                    text_count(observe->log.lost, count));
}

void cli_observe_show(const struct cli_observe *observe, struct sim_report *report)
{
    report->events = observe->series ? &observe->log : NULL;
    report->series = observe->series;
    report->series_connection = observe->connection;
}

static bool report_series(struct cli_observe *observe, struct sim_report *report)
{
    cli_observe_show(observe, report);
    if (observe->series == NULL || !series_full(observe->series)) return true;
    char at[TEXT_COUNT], bytes[UNIT_TEXT];
    unit_format_short(UNIT_SIZE, series_bytes(observe->series), 3, bytes);
    return cli_fail(
        "--series: %s by %s of virtual time, and no more steps are kept; say longer ones", bytes,
        text_ps(series_first(observe->series) + series_steps(observe->series) * series_step(observe->series), at));
}

bool cli_observe_report(struct cli_observe *observe, struct sim_report *report)
{
    bool written = write_events(observe, report->fabric);

    return report_series(observe, report) && written;
}

void cli_observe_release(struct cli_observe *observe)
{
    cli_file_drop(&observe->events);
    series_free(observe->series);
    record_log_free(&observe->log);
    free(observe->connection);
    observe->series = NULL;
    observe->connection = NULL;
}
