/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric of a run for Prometheus; see metrics.h.
 */
#include "cli/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define STRETCH_USUAL 1e6 /* a microsecond becomes a second */

bool cli_metrics_set(void *to, const char *argument)
{
    struct cli_metrics *metrics = to;
    static const char *const forms[] = {
        [CLI_METRICS_PROMETHEUS] = "prometheus", [CLI_METRICS_OPENMETRICS] = "openmetrics"};

    for (int i = CLI_METRICS_PROMETHEUS; i <= CLI_METRICS_OPENMETRICS; i++) {
        size_t length = strlen(forms[i]);
        if (strncmp(argument, forms[i], length) != 0 || (argument[length] != '\0' && argument[length] != '=')) continue;
        if (argument[length] == '=' && argument[length + 1] == '\0') break;
        metrics->form = (enum cli_metrics_form)i;
        metrics->path = argument[length] == '=' ? argument + length + 1 : NULL;
        return true;
    }
    return cli_fail("--counters '%s': 'prometheus', or 'prometheus=FILE'; 'openmetrics', or 'openmetrics=FILE'",
                    argument);
}

bool cli_metrics_stretch(void *to, const char *argument)
{
    struct cli_metrics *metrics = to;
    char *end;

    metrics->stretch = strtod(argument, &end);
    if (end != argument && *end == '\0' && metrics->stretch >= 1 && metrics->stretch <= 1e12) return true;
    return cli_fail("--stretch '%s': how many times as long a second is to take, 1 to 1e12, as in 1e6", argument);
}

/* Prometheus counts milliseconds: two steps must not fall into one. */
static bool stretch_fits(const struct cli_metrics *metrics, ps_t series)
{
    double least = (double)PS_MS / (double)series;

    if (metrics->stretch >= least) return true;
    return cli_fail("--stretch: steps would be shorter than a millisecond, which is Prometheus' clock; say %g or more",
                    least);
}

bool cli_metrics_begin(struct cli_metrics *metrics, ps_t series)
{
    if (metrics->stretch > 0 && metrics->form != CLI_METRICS_OPENMETRICS)
        return cli_fail("--stretch is of the clock of --counters openmetrics");
    if (metrics->stretch == 0) metrics->stretch = STRETCH_USUAL;
    if (metrics->form == CLI_METRICS_OPENMETRICS && series == 0)
        return cli_fail("--counters openmetrics is over time: say --series TIME too, as in --series 10us");
    if (metrics->form == CLI_METRICS_OPENMETRICS && !stretch_fits(metrics, series)) return false;
    if (metrics->form == CLI_METRICS_NONE || metrics->path == NULL) return true;
    return cli_file_open(&metrics->file, NULL, metrics->path);
}

/* A series of one step. */
bool cli_metrics_now(struct sim *sim, const struct sim_report *report, FILE *out)
{
    const struct sim_series_options options = {.step = PS_S, .most_bytes = UINT64_MAX};
    struct series *last = NULL;

    bool good = sim_series_create(sim, &options, &last) == 0 && sim_observe(sim, last) == 0;
    if (good) {
        sim_observe_tiers(report->result, last);
        good = sim_prometheus(out, report->fabric, last);
    }
    series_free(last);
    return good;
}

bool cli_metrics_write(struct cli_metrics *metrics, struct sim *sim, const struct sim_report *report,
                       struct series *seen, FILE *out)
{
    FILE *to = metrics->file.to ? metrics->file.to : out;
    bool good = true;

    if (metrics->form == CLI_METRICS_PROMETHEUS) good = cli_metrics_now(sim, report, to);
    if (metrics->form == CLI_METRICS_OPENMETRICS) {
        sim_observe_tiers(report->result, seen);
        good = sim_openmetrics(to, report->fabric, seen, metrics->stretch);
    }
    if (!good) cli_error("not enough memory for the metrics");
    if (metrics->file.to == NULL || !good) return good;
    return cli_file_close(&metrics->file);
}

void cli_metrics_release(struct cli_metrics *metrics)
{
    cli_file_drop(&metrics->file);
}
