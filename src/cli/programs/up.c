/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab up FABRIC: a fabric that real programs attach to; with --script one that starts them, too.
 *
 * What a program of the script wrote is printed when it has ended, or with the run, the host's name before each line;
 * then comes the report of `rocelab sim`.  The first interrupt ends the run and not the program: the report covers what
 * was run.
 */
#include "cli/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/expect.h"
#include "cli/html.h"
#include "cli/memory.h"
#include "cli/missed.h"
#include "cli/outputs.h"
#include "cli/programs/serving.h"
#include "cli/programs/up_answer.h"
#include "cli/programs/up_list.h"
#include "cli/programs/up_report.h"
#include "cli/programs/up_script.h"
#include "cli/simulate/observe.h"
#include "cli/simulate/pcap.h"
#include "cli/source.h"
#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "study/clock.h"
#include "up/up.h"

#define PATIENCE_MS 100
#define TURN_LIMIT_S 5

struct settings {
    struct cli_common common;
    struct up_options up;
    bool seed_given, list;
    const char *clock;
    uint32_t rows;
    const char *script_path;
    const char *record_path; /* NULL: nothing is recorded */
    struct cli_pcaps pcaps;
    struct cli_html html;
    struct cli_expect expect;
    struct cli_observe observe; /* --series, --events, --html, --serve */
    struct up_port_option port[UP_REPORT_PORTS];
    struct cli_serving serving;
    struct up_answer answer;
    struct up_script script;
    FILE *out;
    uint32_t printed; /* programs whose output was */
};

static bool set_clock(void *to, const char *argument)
{
    struct settings *settings = to;
    uint64_t slower = 1;

    settings->up.real = strncmp(argument, "real", 4) == 0;
    bool known = strcmp(argument, "virtual") == 0 || strcmp(argument, "real") == 0;
    if (!known && settings->up.real && argument[4] == '/')
        known = cli_quantity(UNIT_COUNT, "clock", argument + 5, &slower);
    settings->up.dilation = (uint32_t)slower;
    settings->clock = argument;
    if (known && slower > 0 && slower <= 1000000) return true;
    return cli_fail("--clock '%s': virtual, real, or real/N for N times slower, as in real/40", argument);
}

static bool add_port(void *to, const char *argument)
{
    struct settings *settings = to;
    const char *equals = strchr(argument, '=');
    struct up_port_option *port = &settings->port[settings->up.ports];

    if (equals == NULL || equals == argument || equals[1] == '\0' || equals - argument >= FABRIC_NAME)
        return cli_fail("--port '%s': a host and an interface, as in h7=veth7", argument);
    if (settings->up.ports == UP_REPORT_PORTS) return cli_fail("--port: at most %d", UP_REPORT_PORTS);
    snprintf(port->port, sizeof port->port, "%.*s", (int)(equals - argument), argument);
    port->interface = equals + 1;
    settings->up.ports++;
    return true;
}

static const struct cli_option options[] = {
#include "cli/programs/up_options.def"
};

static const struct cli_command command = {
    .verb = "up",
    .operands = "FABRIC",
    .about = "Runs a fabric file with real programs on its hosts: they attach with 'rocelab run --fabric', or are "
             "started by a script. Their clocks, sleeps and polls follow the fabric's time, so what they measure "
             "is exact and repeats from the seed.",
    CLI_OWN(options),
    .more =
        "Examples:\n"
        "  rocelab up rail.yaml --script pair.up\n"
        "  rocelab up rail.yaml --programs 2 &\n"
        "  rocelab run --fabric rail --host h0 -- ib_write_bw &  rocelab run --fabric rail --host h1 -- ib_write_bw "
        "h0\n"
        "  sudo rocelab up rail.yaml --clock real --port h7=veth7\n"
        "\nExit status: 0 every program and job ended well; 1 a program or a job failed, or all wait for each other;\n"
        "2 wrong use, unreadable input, or interrupted.\n",
};

static void say(const char *text)
{
    cli_error("%s", text);
}

/* --- what programs wrote --- */

static void print_lines(FILE *out, const char *host, int fd)
{
    struct stat is;

    if (fd < 0 || fstat(fd, &is) != 0 || is.st_size <= 0) return;
    size_t bytes = (size_t)is.st_size;
    char *text = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (text == MAP_FAILED) return;
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - text) - at : bytes - at;
        fprintf(out, "%s: ", host);
        fwrite(text + at, 1, length, out);
        fputc('\n', out);
        at += length + 1;
    }
    munmap(text, bytes);
    fflush(out);
}

static int by_end(const void *a, const void *b)
{
    const struct up_program *one = a, *two = b;

    return one->end < two->end ? -1 : one->end > two->end;
}

static void print_outputs(const struct settings *settings, const struct up_program *program)
{
    print_lines(settings->common.json ? stderr : settings->out, program->host, program->output[0]);
    print_lines(stderr, program->host, program->output[1]);
}

/* Of those that have ended since, in the order of their ends; at the end of the run (`rest`) of the others, too. */
static void print_programs(struct settings *settings, const struct up *up, bool rest)
{
    uint32_t count = up_programs(up, NULL, 0);
    struct up_program *program = calloc(count + 1u, sizeof *program);

    if (program == NULL) return;
    up_programs(up, program, count);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((rest || program[i].end != PS_NEVER) && program[i].output[0] >= 0) program[shown++] = program[i];
    if (shown > settings->printed) {
        qsort(program, shown, sizeof *program, by_end);
        for (uint32_t i = settings->printed; i < shown; i++)
            print_outputs(settings, &program[i]);
        settings->printed = shown;
    }
    free(program);
}

static enum sim_state run(struct settings *settings, struct up *up)
{
    enum sim_state state = SIM_RUNNING;

    while (!cli_stopped && state == SIM_RUNNING) {
        cli_memory_may_fail(true); /* what a program asks for and there is no memory for, it is told */
        state = up_advance(up, PATIENCE_MS);
        cli_memory_may_fail(false);
        print_programs(settings, up, false);
        cli_serving_look(&settings->serving, up_answer_document, &settings->answer);
    }
    print_programs(settings, up, true);
    return cli_stopped ? SIM_RUNNING : state;
}

/* --- the report --- */

static bool print_report(const struct settings *settings, const struct sim_report *report)
{
    if (!settings->common.json) {
        const struct sim_text_options text = {
            .style = cli_style(), .rows = settings->rows, .quiet = settings->common.quiet};
        sim_text(settings->out, report, &text);
        return true;
    }
    if (sim_json_write(settings->out, report)) return true;
    if (!ferror(settings->out)) cli_error("not enough memory for the report");
    return false;
}

/* Hosts are outside, and nothing else is waited for: a signal is how it ends. */
static bool endless(const struct settings *settings, struct up *up)
{
    struct sim_progress jobs = sim_progress(up_sim(up));

    return settings->up.ports && settings->up.script == NULL && settings->up.programs == 0 &&
           jobs.jobs_done == jobs.jobs;
}

static int judge(const struct sim_report *report, const struct cli_expect *expect, bool may_stop)
{
    const struct sim_result *result = report->result;
    int status = CLI_DONE;

    for (uint32_t i = 0; i < report->programs; i++) {
        const struct up_program *program = &report->program[i];
        if (program->exit <= 0 && (program->exit == 0 || program->end != PS_NEVER)) continue;
        if (program->exit > 0 && cli_expect_says_exit(expect, report, i)) continue;
        status = CLI_PROBLEMS;
        if (program->start == PS_NEVER)
            cli_error("%s: '%s' was not started: the run ended before", program->host, program->command);
        else if (program->end == PS_NEVER)
            cli_error("%s: '%s' had not ended%s", program->host, program->command,
                      program->output[0] >= 0 ? "; above is what it wrote until then" : "");
        else if (program->signal)
            cli_error("%s: '%s' was ended by signal %d", program->host, program->command, program->signal);
        else
            cli_error("%s: '%s' ended with status %d", program->host, program->command, program->exit);
    }
    if (result->state == SIM_RUNNING && !may_stop) {
        char now[TEXT_COUNT];
        return cli_wrong("interrupted at %s of fabric time; the report covers what was run until then",
                         text_ps(result->virtual_ps, now));
    }
    if (cli_expect_says_state(expect)) return status;
    if (result->state == SIM_STUCK || result->state == SIM_FAILED || result->state == SIM_DEADLOCK)
        status = CLI_PROBLEMS;
    return status;
}

/* Warns of faults whose time was after the end of the run: a test would test nothing. */
static bool faults_missed(const char *path, const struct up_script *script, const struct fabric *fabric, ps_t end)
{
    bool missed = false;

    for (uint32_t i = 0; i < script->faults; i++) {
        const struct up_fault *fault = &script->fault[i];
        ps_t first = fabric->fault[fault->first].at;
        if (first <= end) continue;
        missed = true;
        cli_fault_missed(path, fault->line, 1, first, fault->text, end);
    }
    return missed;
}

static int run_and_report(struct settings *settings, struct up *up)
{
    struct up_report now;

    uint64_t begun = clock_now_ns();
    enum sim_state state = run(settings, up);
    settings->answer.base.wall_us = (clock_now_ns() - begun) / 1000;
    if (!up_report_take(up, &settings->answer.base, settings->up.real, &now))
        return cli_wrong("not enough memory for the results");
    struct sim_verdict *verdict = NULL;
    now.result.state = state;
    now.report.verdict = &verdict;
    bool seen = cli_observe_report(&settings->observe, &now.report);
    int status = print_report(settings, &now.report) && seen ? CLI_DONE : CLI_WRONG;
    fflush(settings->out);
    if (!cli_html_run(&settings->html, &now.report)) status = CLI_WRONG;
    if (status == CLI_DONE) status = judge(&now.report, &settings->expect, endless(settings, up));
    bool warns = state != SIM_RUNNING &&
                 faults_missed(settings->script_path, &settings->script, now.report.fabric, now.result.virtual_ps);
    if (status == CLI_DONE && settings->common.strict && (warns || sim_verdict_warns(&now.report)))
        status = CLI_PROBLEMS;
    status = cli_expect_end(&settings->expect, &now.report, settings->common.quiet, status);
    sim_verdict_free(verdict);
    up_report_free(&now);
    settings->answer.ended = true;
    settings->answer.state = state;
    cli_serving_end(&settings->serving, up_answer_document, &settings->answer);
    return status;
}

static bool write_record(const char *path, const struct up *up)
{
    struct cli_file file = {0};

    if (!cli_file_open(&file, "--record", path)) return false;
    if (up_record(up, file.to)) return cli_file_close(&file);
    cli_error("not enough memory for what was recorded");
    cli_file_drop(&file);
    return false;
}

/* Without a script: what is waited for, and what to type. */
static void say_up(const struct settings *settings, const struct fabric *fabric)
{
    uint32_t wanted = settings->up.programs ? settings->up.programs : 1;

    fprintf(stderr, "fabric '%s' is up: rocelab run --fabric %s --host %s -- PROGRAM\n", settings->up.name,
            settings->up.name, fabric->hosts ? fabric->node[0].name : "HOST");
    if (settings->up.programs || settings->up.ports == 0)
        fprintf(stderr,
                "its time begins when %" PRIu32 " program%s %s attached (--programs); --script starts programs\n",
                wanted, wanted == 1 ? "" : "s", wanted == 1 ? "has" : "have");
}

static int bring_up(struct settings *settings, struct fabric *fabric, uint64_t begun)
{
    struct fabric_errors errors = {.path = fabric->path};
    struct up *up = NULL;
    char self[4096], name[128];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    self[length > 0 ? length : 0] = '\0';
    settings->up.runner = self;
    settings->up.say = say;
    settings->up.stop = &cli_stopped;
    /* A script's programs know where they belong: several such runs of one file do not meet. */
    if (settings->script_path)
        snprintf(name, sizeof name, "%s-%d", fabric->name, (int)getpid());
    else
        snprintf(name, sizeof name, "%s", fabric->name);
    if (settings->up.name == NULL) settings->up.name = name;
    if (!settings->seed_given) settings->up.sim.seed = fabric->seed;
    settings->answer =
        (struct up_answer){.fabric = fabric, .real = settings->up.real, .clock = settings->clock, .since = time(NULL)};
    settings->up.answer = up_answer;
    settings->up.answer_context = &settings->answer;
    settings->observe.wanted = settings->html.path != NULL || settings->serving.wanted;
    settings->observe.ports = fabric->ports;
    if (!cli_observe_options(&settings->observe, &settings->up.sim)) return CLI_WRONG;
    if (up_create(fabric, &settings->up, &up, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        if (errors.count == 0) cli_error("not enough memory");
        return CLI_WRONG;
    }
    /* Who reads where it is served can find the fabric by its name too. */
    if (!cli_serving_begin(&settings->serving, "up")) {
        up_free(up);
        return CLI_WRONG;
    }
    settings->answer.up = up;
    settings->answer.sim = up_sim(up);
    settings->answer.base = (struct sim_report){.fabric = fabric,
                                                .seed = settings->up.sim.seed,
                                                .threads = settings->up.sim.threads ? settings->up.sim.threads : 1,
                                                .setup_us = (clock_now_ns() - begun) / 1000};
    if (!settings->common.quiet && settings->script_path == NULL) say_up(settings, fabric);
    int status = CLI_WRONG;
    if (cli_pcaps_begin(&settings->pcaps, fabric, up_sim(up)) && cli_observe_begin(&settings->observe, up_sim(up))) {
        cli_observe_show(&settings->observe, &settings->answer.base);
        status = run_and_report(settings, up);
        if (!cli_pcaps_end(&settings->pcaps, up_sim(up))) status = CLI_WRONG;
        if (settings->record_path && !write_record(settings->record_path, up)) status = CLI_WRONG;
    }
    up_free(up);
    return status;
}

static bool files_apart(const struct settings *settings, const char *fabric)
{
    struct cli_outputs outputs = {.count = 0};

    cli_outputs_read(&outputs, "the fabric", fabric);
    cli_outputs_read(&outputs, "--script", settings->script_path);
    cli_outputs_read(&outputs, "--expect", settings->expect.path);
    cli_outputs_write(&outputs, "--write-expect", settings->expect.write_path);
    cli_outputs_write(&outputs, "--events", settings->observe.events_path);
    cli_outputs_write(&outputs, "--html", settings->html.path);
    cli_outputs_write(&outputs, "--record", settings->record_path);
    cli_outputs_pcaps(&outputs, &settings->pcaps);
    return !outputs.clash;
}

int verb_up(int argc, char **argv, FILE *out)
{
    struct settings settings = {
        .clock = "virtual",
        .up = {.sim = {.until = PS_NEVER}, .dilation = 1, .spin_proof = true, .turn_limit_s = TURN_LIMIT_S},
        .rows = 20,
        .out = out};
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (settings.list && first == argc) return up_list(settings.common.json, out);
    if (settings.list) return cli_wrong("up: --list is of the fabrics that are up, and takes no file");
    if (first + 1 != argc)
        return cli_wrong("up: %s; see 'rocelab help up'", first == argc ? "which fabric?" : "one fabric at a time");
    if (settings.observe.step && !settings.common.json && !settings.html.path)
        return cli_wrong("up: --series says how often to look; say where it goes: --json or --html FILE");
    if (settings.up.ports && !settings.up.real)
        return cli_wrong("--port: what is behind an interface knows real time alone; say --clock real");
    settings.up.port = settings.port;
    if (settings.up.real && (settings.expect.path || settings.expect.write_path))
        return cli_wrong("up: --expect is of the virtual clock; times of the real one are this machine's");
    if (!cli_readable(argv[first]) || !files_apart(&settings, argv[first])) return CLI_WRONG;
    uint64_t begun = clock_now_ns();
    int status = CLI_WRONG;
    bool good =
        cli_fabric_load(argv[first], NULL, NULL, 0, &fabric, &errors) == 0 && cli_expect_begin(&settings.expect);
    if (!good) fabric_errors_print(&errors, stderr);
    if (settings.script_path) {
        good &= cli_script_read(settings.script_path, fabric, &settings.script);
        settings.up.script = &settings.script;
    }
    if (good && files_apart(&settings, argv[first])) {
        cli_catch_stop(1);
        settings.serving.quiet = settings.common.quiet;
        if (cli_html_begin(&settings.html, argc, argv)) status = bring_up(&settings, fabric, begun);
        cli_serving_release(&settings.serving);
        cli_observe_release(&settings.observe);
        cli_html_release(&settings.html);
    }
    cli_expect_release(&settings.expect);
    fabric_free(fabric);
    up_script_free(&settings.script);
    return status;
}
