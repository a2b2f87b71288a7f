/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim FILE: runs a fabric file in virtual time and prints what came of it.
 *
 * It reads a clock, which src/sim does not: for setup_s and wall_s, for how many windows are run at a time, and for the
 * progress line, which is drawn on standard error when that is a terminal; --serve shows the run between windows.  None
 * of it changes a result.
 * An interrupt ends the run, not the program: the report covers what was run until then.
 */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/expect.h"
#include "cli/html.h"
#include "cli/metrics.h"
#include "cli/missed.h"
#include "cli/outputs.h"
#include "cli/programs/serving.h"
#include "cli/simulate/dump.h"
#include "cli/simulate/observe.h"
#include "cli/simulate/pcap.h"
#include "cli/simulate/sim_each.h"
#include "cli/simulate/sim_seeds.h"
#include "cli/simulate/study.h"
#include "cli/source.h"
#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "study/clock.h"

#define NS 1000000000ULL
#define FIRST_WINDOWS 16
#define MOST_WINDOWS (1ull << 32) /* dumps at many times may make it double often */
#define LOOK_EVERY_NS (NS / 10)   /* the number of windows run at a time is chosen for about this */
#define PROGRESS_EVERY_NS (NS / 5)

struct settings {
    struct cli_common common;
    struct sim_options sim;
    bool seed_given;
    uint32_t seeds;  /* 0: one run, with a report of its own */
    const char *out; /* NULL: nothing is kept */
    bool force;
    uint32_t rows;
    const char *csv;
    struct cli_expect expect;
    struct cli_observe observe; /* --series */
    bool qps;                   /* was said */
    struct cli_metrics metrics; /* --counters, --stretch */
    struct cli_pcaps pcaps;
    struct cli_html html;
    struct cli_dump dump; /* --dump, --dump-at */
    struct cli_serving serving;
    struct each_options each; /* --each, --at, --for */
};

static const struct cli_option options[] = {
#include "cli/simulate/sim_options.def"
};

static const struct cli_command command = {
    .verb = "sim",
    .operands = "FILE",
    .about = "Runs a fabric file in virtual time: its jobs, on its switches and adapters. Prints what the jobs took, "
             "completion times of flows, and what ports and adapters counted. The result depends on the file and "
             "the seed alone.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab sim pod64.yaml\n"
            "  rocelab sim --json --seed 7 pod64.yaml | jq '.jobs'\n"
            "  rocelab sim --html pod64.html pod64.yaml\n"
            "  rocelab sim --csv out --series 10us pod64.yaml\n"
            "  rocelab sim --pcap leaf0:3=leaf0.pcap pod64.yaml && rocelab capture leaf0.pcap\n"
            "  rocelab sim --counters prometheus pod64.yaml | grep pause\n"
            "  rocelab sim --counters openmetrics=pod64.om --series 10us pod64.yaml\n"
            "  rocelab sim --dump dumps pod64.yaml\n"
            "  rocelab sim --each link pod64.yaml\n"
            "  rocelab sim --seeds 10 --out runs pod64.yaml\n"
            "\nExit status: 0 every job ended, or the stop time was reached; 1 a job failed, the run is stuck or\n"
            "deadlocked, work requests failed, (--strict) the verdict has a warning, or (--each) a failure costs\n"
            "more than the lost capacity explains; 2 wrong use, unreadable input, or interrupted.\n",
};

static void draw_progress(const struct sim *sim, uint64_t spent_ns)
{
    struct sim_progress progress = sim_progress(sim);
    char time[TEXT_COUNT], hops[TEXT_COUNT], speed[TEXT_COUNT];

    fprintf(stderr, "\r%s of virtual time, %s packet-hops, %s/s, %u of %u jobs done\033[K", text_ps(progress.now, time),
            text_count_short(progress.packet_hops, hops),
            text_count_short(progress.packet_hops / (spent_ns / 1000000 + 1) * 1000, speed), progress.jobs_done,
            progress.jobs);
}

/* What is served: the run as it is now. */
struct shown {
    const struct fabric *fabric;
    struct sim *sim;
    struct sim_report report;
};

static bool write_shown(void *context, enum serve_document which, FILE *out)
{
    struct shown *shown = context;
    struct sim_result result;

    if (sim_result(shown->sim, &result) != 0) return false;
    bool good = sim_imbalance(shown->sim, &result) == 0;
    shown->report.result = &result;
    if (good) good = cli_serving_write(shown->sim, &shown->report, which, out);
    sim_result_free(&result);
    return good;
}

/* As sim_advance() to the end, with a dump at each time that is asked for. */
static enum sim_state advance(struct settings *settings, const struct shown *shown, uint64_t windows)
{
    ps_t until = cli_dump_next(&settings->dump);
    enum sim_state state = sim_advance(shown->sim, windows, until);

    if (state != SIM_UNTIL || sim_progress(shown->sim).now < until) return state;
    cli_dump_look(&settings->dump, shown->fabric, shown->sim);
    return SIM_RUNNING;
}

/* Runs to the end; answers the nanoseconds it took. */
static uint64_t run(struct settings *settings, struct shown *shown)
{
    struct sim *sim = shown->sim;
    bool progress = !settings->common.quiet && isatty(STDERR_FILENO);
    uint64_t begun = clock_now_ns(), last = begun, drawn = begun, windows = FIRST_WINDOWS;
    bool any = false;

    while (!cli_stopped && advance(settings, shown, windows) == SIM_RUNNING) {
        uint64_t now = clock_now_ns();
        if (now - last < LOOK_EVERY_NS / 2 && windows < MOST_WINDOWS) windows *= 2;
        if (now - last > LOOK_EVERY_NS * 2 && windows > 1) windows /= 2;
        last = now;
        shown->report.wall_us = (now - begun) / 1000;
        cli_serving_look(&settings->serving, write_shown, shown);
        if (progress && now - drawn > PROGRESS_EVERY_NS) {
            draw_progress(sim, now - begun);
            drawn = now;
            any = true;
        }
    }
    if (any) fputs("\r\033[K", stderr);
    return clock_now_ns() - begun;
}

#define CSV_SERIES "series.csv"
#define CSV_PATH 4096

static const char *csv_name(int which)
{
    return which < SIM_CSVS ? sim_csv_names[which] : CSV_SERIES;
}

static bool write_csv(struct cli_file *file, const struct sim_report *report, int which)
{
    if (which < SIM_CSVS)
        sim_csv(file->to, report, (enum sim_csv)which);
    else
        sim_csv_series(file->to, report);
    return cli_file_finish(file);
}

/* All of them, or none: their rows are of one run. */
static bool write_csvs(const struct settings *settings, const struct sim_report *report)
{
    char path[SIM_CSVS + 1][CSV_PATH];
    struct cli_file file[SIM_CSVS + 1] = {0};
    int files = settings->csv == NULL ? 0 : SIM_CSVS + (settings->observe.step != 0);
    bool good = true;

    for (int i = 0; good && i < files; i++) {
        good = snprintf(path[i], CSV_PATH, "%s/%s", settings->csv, csv_name(i)) < CSV_PATH;
        if (!good) cli_error("%s: the name is too long", settings->csv);
        good = good && cli_file_open(&file[i], NULL, path[i]) && write_csv(&file[i], report, i);
    }
    for (int i = 0; good && i < files; i++)
        good = cli_file_close(&file[i]);
    for (int i = 0; i < files; i++)
        cli_file_drop(&file[i]);
    return good;
}

static int print_run(const struct settings *settings, const struct sim_report *report, FILE *out)
{
    if (settings->pcaps.to_stdout || cli_metrics_to_stdout(&settings->metrics)) {
        return CLI_DONE;
    } else if (settings->common.json) {
        if (sim_json_write(out, report)) return CLI_DONE;
        if (!ferror(out)) cli_error("not enough memory for the report"); /* else its end says why */
        return CLI_WRONG;
    } else {
        const struct sim_text_options text = {
            .style = cli_style(), .rows = settings->rows, .quiet = settings->common.quiet};
        sim_text(out, report, &text);
    }
    return CLI_DONE;
}

static bool deadlocked(const struct sim_result *result)
{
    return result->deadlocks && result->deadlock[result->deadlocks - 1].ended == PS_NEVER;
}

/* Warns of faults of the file that had not begun; one that repeats stands there once for each time. */
static bool faults_missed(const struct fabric *fabric, ps_t ended)
{
    const struct fabric_fault *before = NULL;
    bool missed = false;

    for (uint32_t f = 0; f < fabric->faults; f++) {
        const struct fabric_fault *fault = &fabric->fault[f];
        bool again = before && before->where.line == fault->where.line && before->where.column == fault->where.column;
        before = fault;
        if (again || !fault->where.line || fault->at <= ended) continue;
        cli_fault_missed(fabric->path, fault->where.line, fault->where.column, fault->at, fault->text, ended);
        missed = true;
    }
    return missed;
}

static int report_run(struct settings *settings, const struct sim_report *report, FILE *out)
{
    int status = print_run(settings, report, out);

    if (!write_csvs(settings, report)) status = CLI_WRONG;
    if (!cli_html_run(&settings->html, report)) status = CLI_WRONG;
    if (report->result->state == SIM_RUNNING) {
        char now[TEXT_COUNT];
        fflush(out);
        cli_error("interrupted at %s of virtual time; the report covers what was run until then",
                  text_ps(report->result->virtual_ps, now));
        status = CLI_WRONG;
    }
    if (status == CLI_DONE && (report->result->state == SIM_STUCK || report->result->state == SIM_FAILED ||
                               deadlocked(report->result) || report->result->work_failed))
        status = CLI_PROBLEMS;
    if (cli_expect_says_state(&settings->expect) && status == CLI_PROBLEMS) status = CLI_DONE;
    fflush(out);
    bool cut = report->result->state == SIM_RUNNING || report->result->state == SIM_UNTIL; /* by whoever runs it */
    bool missed = !cut && faults_missed(report->fabric, report->result->virtual_ps);
    if (status == CLI_DONE && settings->common.strict && (missed || sim_verdict_warns(report))) status = CLI_PROBLEMS;
    return cli_expect_end(&settings->expect, report, settings->common.quiet, status);
}

/* What a run may use where --memory does not say. */
static uint64_t machine_memory(void)
{
    static const char *const container[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    for (size_t i = 0; i < sizeof container / sizeof container[0]; i++) {
        FILE *file = fopen(container[i], "r");
        unsigned long long most;
        if (file && fscanf(file, "%llu", &most) == 1 && most < bytes) bytes = most;
        if (file) fclose(file);
    }
    return bytes;
}

/* It will run; but not to its end if it comes to the worst. */
static void warn_of_memory(const struct settings *settings, const struct sim *sim)
{
    uint64_t most = sim_memory_most_bytes(sim);
    char need[UNIT_TEXT], have[UNIT_TEXT];

    if (settings->common.quiet || most <= settings->sim.memory_max_bytes) return;
    unit_format_short(UNIT_SIZE, most, 3, need);
    unit_format_short(UNIT_SIZE, settings->sim.memory_max_bytes, 3, have);
    cli_error("note: with every buffer full this run takes about %s of memory; %s may be used", need, have);
}

static int run_and_report(struct settings *settings, const struct fabric *fabric, struct sim *sim,
                          struct sim_report *report, FILE *out)
{
    struct sim_result result;
    int status;

    if (!cli_pcaps_begin(&settings->pcaps, fabric, sim) || !cli_observe_begin(&settings->observe, sim))
        return CLI_WRONG;
    if (!cli_dump_begin(&settings->dump, fabric, sim, settings->sim.seed)) return CLI_WRONG;
    struct shown shown = {.fabric = fabric, .sim = sim, .report = *report};
    cli_observe_show(&settings->observe, &shown.report);
    report->wall_us = run(settings, &shown) / 1000;
    bool captured = cli_pcaps_end(&settings->pcaps, sim), dumped = cli_dump_end(&settings->dump, fabric, sim);
    if (sim_result(sim, &result) != 0 || sim_imbalance(sim, &result) != 0)
        return cli_wrong("not enough memory for the results");
    struct sim_verdict *verdict = NULL;
    report->result = &result;
    report->verdict = &verdict;
    bool seen = cli_observe_report(&settings->observe, report);
    status = report_run(settings, report, out);
    if (!cli_metrics_write(&settings->metrics, sim, report, settings->observe.series, out)) status = CLI_WRONG;
    fflush(out);
    sim_verdict_free(verdict);
    sim_result_free(&result);
    shown.report.wall_us = report->wall_us;
    cli_serving_end(&settings->serving, write_shown, &shown);
    return captured && dumped && seen ? status : CLI_WRONG;
}

static int simulate(struct settings *settings, const struct fabric *fabric, uint64_t begun, FILE *out)
{
    struct fabric_errors errors = {.path = fabric->path};
    struct sim *sim = NULL;
    int status = CLI_WRONG;

    if (!settings->seed_given) settings->sim.seed = fabric->seed;
    if (settings->sim.memory_max_bytes == 0) settings->sim.memory_max_bytes = machine_memory();
    if (settings->csv && !cli_folder("csv", settings->csv)) return CLI_WRONG;
    if (!cli_metrics_begin(&settings->metrics, settings->observe.step)) return CLI_WRONG;
    settings->observe.wanted = settings->html.path != NULL || settings->serving.wanted;
    settings->observe.ports = fabric->ports;
    if (!cli_observe_options(&settings->observe, &settings->sim)) return CLI_WRONG;
    if (sim_create(fabric, &settings->sim, &sim, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        if (errors.count == 0) cli_error("not enough memory");
    } else {
        struct sim_report report = {.fabric = fabric,
                                    .seed = settings->sim.seed,
                                    .threads = settings->sim.threads ? settings->sim.threads : 1,
                                    .setup_us = (clock_now_ns() - begun) / 1000};
        warn_of_memory(settings, sim);
        status = run_and_report(settings, fabric, sim, &report, out);
        sim_free(sim);
    }
    cli_dump_release(&settings->dump);
    cli_observe_release(&settings->observe);
    cli_metrics_release(&settings->metrics);
    return status;
}

static bool one_for_stdout(const struct settings *settings)
{
    bool counters = cli_metrics_to_stdout(&settings->metrics);

    if (counters && settings->common.json)
        cli_error("sim: --json and --counters both want standard output; say --counters %s=FILE",
                  settings->metrics.form == CLI_METRICS_PROMETHEUS ? "prometheus" : "openmetrics");
    else if (settings->pcaps.to_stdout && (counters || settings->common.json))
        cli_error("sim: --pcap PORT=- and --%s both want standard output", counters ? "counters" : "json");
    else
        return true;
    return false;
}

static bool files_apart(const struct settings *settings, const char *fabric)
{
    struct cli_outputs outputs = {.count = 0};

    cli_outputs_read(&outputs, "the fabric", fabric);
    cli_outputs_read(&outputs, "--expect", settings->expect.path);
    cli_outputs_write(&outputs, "--write-expect", settings->expect.write_path);
    cli_outputs_write(&outputs, "--events", settings->observe.events_path);
    cli_outputs_write(&outputs, "--html", settings->html.path);
    cli_outputs_write(&outputs, "--counters", settings->metrics.path);
    cli_outputs_pcaps(&outputs, &settings->pcaps);
    for (int i = 0; i <= SIM_CSVS; i++)
        cli_outputs_in(&outputs, "--csv", settings->csv, csv_name(i));
    return !outputs.clash;
}

static bool many_runs_fit(const struct settings *settings)
{
    if (settings->observe.step && !settings->csv && !settings->common.json && !settings->html.path &&
        settings->metrics.form != CLI_METRICS_OPENMETRICS && !settings->serving.wanted)
        cli_error("sim: --series says how often to look; say where it goes: --json, --html FILE, --csv DIR or "
                  "--counters openmetrics");
    else if (settings->qps && !settings->observe.step && !settings->html.path && !settings->serving.wanted)
        cli_error("sim: --qps says how many queue pairs to look at; say --series TIME, --html FILE or --serve too");
    else if (settings->out && !settings->seeds && !settings->each.what)
        cli_error("sim: --out keeps results of many runs, and goes with --seeds or --each; --csv DIR is for one run");
    else if (settings->force && !settings->out)
        cli_error("sim: --force runs again what --out DIR has kept; say where");
    else if (settings->serving.wanted && (settings->seeds || settings->each.what))
        cli_error("sim: --serve shows one run; --%s makes several", settings->seeds ? "seeds" : "each");
    else if (settings->seeds &&
             (settings->observe.step || settings->observe.events_path || settings->pcaps.count || settings->html.path))
        cli_error("sim: --series, --events, --pcap and --html are for one run; --seeds makes several");
    else if ((settings->expect.path || settings->expect.write_path) && (settings->seeds || settings->each.what))
        cli_error("sim: --expect is of one run; --%s makes several", settings->seeds ? "seeds" : "each");
    else if (settings->dump.folder && (settings->seeds || settings->each.what))
        cli_error("sim: --dump is of one run; --%s makes several", settings->seeds ? "seeds" : "each");
    else if (settings->seeds && settings->metrics.form == CLI_METRICS_OPENMETRICS)
        cli_error("sim: --counters openmetrics is of one run; --seeds makes several");
    else
        return true;
    return false;
}

static int with_seeds(struct settings *settings, const char *path, FILE *out)
{
    if (settings->sim.memory_max_bytes == 0) settings->sim.memory_max_bytes = machine_memory();
    const struct sim_seeds seeds = {.path = path,
                                    .seeds = settings->seeds,
                                    .sim = settings->sim,
                                    .own_seed = settings->seed_given,
                                    .out = settings->out,
                                    .csv = settings->csv,
                                    .force = settings->force,
                                    .json = settings->common.json,
                                    .quiet = settings->common.quiet,
                                    .counters = settings->metrics.form != CLI_METRICS_NONE,
                                    .counters_file = settings->metrics.path};

    return sim_seeds(&seeds, out);
}

static int each(struct settings *settings, const struct fabric *fabric, FILE *out)
{
    if (settings->csv || settings->observe.step || settings->observe.events_path || settings->pcaps.count ||
        settings->metrics.form || settings->html.path) {
        return cli_wrong(
            "sim: --each has a report of its own: --csv, --series, --events, --pcap, --html and --counters are for "
            "one run");
    }
    if (!settings->seed_given) settings->sim.seed = fabric->seed;
    settings->each.sim = settings->sim;
    settings->each.quiet = settings->common.quiet;
    settings->each.stopped = &cli_stopped;
    const struct each_settings all = {.run = settings->each,
                                      .seeds = settings->seeds,
                                      .out = settings->out,
                                      .force = settings->force,
                                      .json = settings->common.json};
    return each_report(&all, fabric, out);
}

#define VERBS_MTU 4096 /* the largest of ibv_mtu */

/* What is simulated as it is written, and hardly meant. */
static void say_notes(const struct fabric *fabric)
{
    uint32_t largest = 0;

    for (uint32_t i = 0; i < fabric->nics; i++)
        if (fabric->nic[i].mtu_bytes > largest) largest = fabric->nic[i].mtu_bytes;
    if (fabric_system(fabric)->endpoint == FABRIC_ENDPOINT_NIC && largest > VERBS_MTU)
        cli_error("note: NICs have an mtu of %u; the largest that verbs have is %d, in frames of up to 9216", largest,
                  VERBS_MTU);
    if (fabric->jobs == 0)
        cli_error("note: %s has no jobs, and nothing is sent; write some, as in jobs: [{incast: 3, size: 1MB}]",
                  fabric->path);
}

int verb_sim(int argc, char **argv, FILE *out)
{
    struct settings settings = {
        .sim = {.until = PS_NEVER}, .rows = 20, .observe = {.qps = 8}, .each = {.at = PS_NEVER, .lasts_ps = PS_NEVER}};
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (first + 1 != argc)
        return cli_wrong("sim: %s; see 'rocelab help sim'", first == argc ? "which file?" : "one file at a time");
    if (!settings.each.what && (settings.each.at != PS_NEVER || settings.each.lasts_ps != PS_NEVER))
        return cli_wrong("sim: --at and --for say when something fails, and go with --each");
    if (!one_for_stdout(&settings) || !many_runs_fit(&settings) || !cli_dump_fits(&settings.dump)) return CLI_WRONG;
    if (!cli_readable(argv[first])) return CLI_WRONG;
    if (settings.seeds && !settings.each.what)
        return files_apart(&settings, argv[first]) ? with_seeds(&settings, argv[first], out) : CLI_WRONG;
    uint64_t begun = clock_now_ns();
    if (cli_fabric_load(argv[first], NULL, NULL, 0, &fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        return CLI_WRONG;
    }
    settings.serving.quiet = settings.common.quiet;
    if (!settings.common.quiet) say_notes(fabric);
    cli_catch_stop(1);
    int status = CLI_WRONG;
    if (!files_apart(&settings, argv[first]))
        status = CLI_WRONG;
    else if (settings.each.what)
        status = each(&settings, fabric, out);
    else if (cli_expect_begin(&settings.expect) && cli_html_begin(&settings.html, argc, argv) &&
             cli_serving_begin(&settings.serving, "sim"))
        status = simulate(&settings, fabric, begun, out);
    cli_serving_release(&settings.serving);
    cli_html_release(&settings.html);
    cli_expect_release(&settings.expect);
    fabric_free(fabric);
    return status;
}
