/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of this machine: perftest and UCX, unchanged, on the adapter in user space, over the loopback interface.
 *
 * Both ends are `rocelab run`, this very program, with a capture; what the capture holds is asked of `rocelab capture`.
 * So a row judges what a user would see.  Nothing here depends on the fabric file but the criteria.
 *
 * A row counts packets; times of this machine are told, not judged, but for live-spread.  On a machine that is busy a
 * timer may run out though nothing is lost: a row that finds packets sent again while others used the processors is run
 * again, and skipped with that share where it stays so.  With --fault it is judged at once.
 */
#include "validate/live/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "study/clock.h"
#include "json/json_in.h"

#define RUNS 3u
#define WORDS 32
/* A timeout of UCX's own would be a second for each packet lost that nothing follows. */
#define UCX                                                                                                            \
    "env", "UCX_TLS=rc_v,self", "UCX_NET_DEVICES=rocelab0:1", "UCX_LOG_LEVEL=error", "UCX_RC_VERBS_TIMEOUT=5ms",       \
        "ucx_perftest"

struct program {
    const char *name, *package; /* of Debian */
    const char *path;
    const char *word[16];
    double bytes; /* that arrive, each once; 0: as many as it likes */
    int figure;   /* of its output that is told, as machine_figure() counts; 0: none */
    const char *unit;
};

static const struct program write_bw = {.name = "ib_write_bw of 500 times 64 KiB",
                                        .package = "perftest",
                                        .path = "/usr/bin/ib_write_bw",
                                        .word = {"ib_write_bw", "-F", "--report_gbits", "-s", "65536", "-n", "500"},
                                        .bytes = 500 * 65536.0};
static const struct program latencies[] = {
    {.name = "ib_write_lat of 100 times 8 B",
     .package = "perftest",
     .path = "/usr/bin/ib_write_lat",
     .word = {"ib_write_lat", "-F", "-s", "8", "-n", "100"},
     .figure = 4,
     .unit = "us"},
    {.name = "ib_send_lat of 100 times 8 B",
     .package = "perftest",
     .path = "/usr/bin/ib_send_lat",
     .word = {"ib_send_lat", "-F", "-s", "8", "-n", "100"},
     .figure = 4,
     .unit = "us"},
};
static const struct program ucx[] = {
    {.name = "ucx_perftest -t tag_lat of 200 times 8 B",
     .package = "ucx-utils",
     .path = "/usr/bin/ucx_perftest",
     .word = {UCX, "-t", "tag_lat", "-s", "8", "-n", "200", "-w", "10"}},
    {.name = "ucx_perftest -t tag_bw of 200 times 64 KiB",
     .package = "ucx-utils",
     .path = "/usr/bin/ucx_perftest",
     .word = {UCX, "-t", "tag_bw", "-s", "65536", "-n", "200", "-w", "10"}},
};

struct bench { /* one pair */
    const struct program *program;
    const char *fault; /* on their wire; NULL: none */
    bool capture;
    double figure, bps;
    double events;  /* retransmissions, NAKs, wrong ICRCs, marks, packets out of order, in the captures of both ends */
    double goodput; /* bytes, each once */
    double others;  /* share of the processors that others used meanwhile */
    char why[128];  /* it did not come to that; "": it did */
};

static const char *const left[] = {"server.pcap", "client.pcap", "server.out", "client.out", "capture.json", NULL};

double machine_figure(const char *folder, const char *output, int which)
{
    double figure = 0;
    size_t length;
    char *text = machine_output(folder, output, &length), *row = text ? strstr(text, "#bytes") : NULL;

    row = row ? strchr(row, '\n') : NULL;
    if (row && *++row) { /* a script's programs have their host before each line */
        char *end = strchr(row, '\n'), *colon = strchr(row, ':');
        if (colon && (!end || colon < end)) row = colon + 1;
    }
    for (int field = 0; row && *row && field <= which; field++)
        figure = strtod(row, &row);
    free(text);
    return figure;
}

static double member(const struct json *file, const char *name)
{
    double value = 0;

    return json_real(json_get(file, name), &value) ? value : NAN;
}

static void read_capture(const char *folder, struct bench *ret)
{
    static const char *const events[] = {"retransmitted", "naks", "icrc_errors", "ecn_marked", "reordered", "gaps"};
    struct arena arena;
    const char *why = NULL;
    uint32_t line = 0;
    size_t length;
    char *text = machine_output(folder, "capture.json", &length);

    arena_init(&arena, 0);
    const struct json *document = text ? json_parse(&arena, text, length, 1, &why, &line) : NULL;
    const struct json *files = json_get(document, "files"), *file = files ? files->child : NULL;
    ret->goodput = member(file, "goodput_bytes");
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        ret->events += member(file, events[i]);
    if (isnan(ret->events) || isnan(ret->goodput)) snprintf(ret->why, sizeof ret->why, "the capture cannot be read");
    arena_release(&arena);
    free(text);
}

/* A client that comes before its server is listening says so and ends: it is started again. */
static int run_client(const char *folder, const char *const *client, pid_t server, uint64_t until)
{
    int status;

    do {
        machine_pause();
        status = machine_finish(machine_start(folder, "client.out", NULL, client), until);
    } while (status != 0 && status != -1 && waitpid(server, NULL, WNOHANG) == 0 && clock_now_ns() < until);
    return status;
}

/* The words of one end; `to`: the client's. */
static void write_words(const struct bench *bench, const char *pcap, const char *port, const char *to,
                        const char *word[WORDS])
{
    uint32_t used = 0;

    word[used++] = "rocelab";
    word[used++] = "run";
    word[used++] = "--device";
    word[used++] = "lo";
    if (bench->capture) {
        word[used++] = "--pcap";
        word[used++] = pcap;
    }
    if (bench->fault) {
        word[used++] = "--fault";
        word[used++] = bench->fault;
    }
    word[used++] = "--";
    for (size_t i = 0; bench->program->word[i]; i++)
        word[used++] = bench->program->word[i];
    word[used++] = "-p";
    word[used++] = port;
    word[used++] = to;
    word[used] = NULL;
}

static void run_pair(const char *folder, struct bench *bench)
{
    const char *server[WORDS], *client[WORDS];
    char port[16], pcap[2][LIVE_PATH];
    uint64_t until = clock_now_ns() + LIVE_PATIENCE_NS;
    struct machine_watch watch;

    snprintf(port, sizeof port, "%d", 20000 + (int)(getpid() % 20000));
    for (int i = 0; i < 2; i++)
        snprintf(pcap[i], LIVE_PATH, "%.200s/%s", folder, left[i]);
    write_words(bench, pcap[0], port, NULL, server);
    write_words(bench, pcap[1], port, "127.0.0.1", client);
    machine_watch(&watch);
    pid_t listening = machine_start(folder, "server.out", NULL, server);
    int status = run_client(folder, client, listening, until);
    if (status != 0 && listening > 0) kill(listening, SIGKILL);
    machine_finish(listening, until);
    bench->others = machine_others(&watch);
    if (status != 0) {
        snprintf(bench->why, sizeof bench->why, "%s", status < 0 ? "it did not end in 30 s" : "it ended with an error");
        return;
    }
    if (bench->program->figure) bench->figure = machine_figure(folder, "client.out", bench->program->figure);
    bench->bps = machine_figure(folder, "client.out", 3) * 1e9; /* of ib_write_bw, which was asked for Gb/s */
    for (int i = 0; i < 2 && bench->capture;
         i++) { /* a mark is seen where it arrives, what is sent again at its sender */
        const char *const words[] = {"rocelab", "capture", "--json", pcap[i], NULL};
        machine_finish(machine_start(folder, "capture.json", NULL, words), clock_now_ns() + LIVE_PATIENCE_NS);
        read_capture(folder, bench);
    }
}

/* False after a row that says what is wrong, or that it is not installed. */
static bool run_bench(struct validate_case *of, struct bench *bench)
{
    const struct program *program = bench->program;
    char folder[LIVE_PATH];

    if (access(program->path, X_OK) != 0) {
        validate_skip(of, program->name, "%s is not installed (Debian: %s)", program->path, program->package);
        return false;
    }
    if (!machine_open(folder)) {
        validate_tell(of, VALIDATE_FAIL, program->name, "it can be run", "no folder can be made in /tmp");
        return false;
    }
    run_pair(folder, bench);
    machine_close(folder, left);
    if (bench->why[0]) validate_tell(of, VALIDATE_FAIL, program->name, "it completes", "%s", bench->why);
    return bench->why[0] == '\0';
}

static bool skip_busy(struct validate_case *of, const char *subject, double others, const char *what)
{
    if (others <= LIVE_BUSY_MOST) return false;
    validate_skip(of, subject, "the machine is busy: others used %.0f %% of its processors meanwhile; %s", others * 100,
                  what);
    return true;
}

/* Nothing is sent again, marked or out of order, and every byte arrives. */
static void judge_program(struct validate_case *of, const struct program *program)
{
    char subject[VALIDATE_TEXT], figure[64] = "";
    struct bench bench;

    for (uint32_t i = 0; i < RUNS; i++) {
        bench = (struct bench){.program = program, .fault = of->plan->live_fault, .capture = true};
        if (!run_bench(of, &bench)) return;
        if (bench.events == 0 || of->plan->live_fault || bench.others <= LIVE_BUSY_MOST) break;
    }
    if (program->figure) snprintf(figure, sizeof figure, ", typically %.2f %s here", bench.figure, program->unit);
    snprintf(subject, sizeof subject, "%s%s: packets sent again, refused, marked or out of order", program->name,
             figure);
    if (bench.events > 0 && !of->plan->live_fault &&
        skip_busy(of, subject, bench.others, "a timer may run out though nothing is lost"))
        return;
    validate_judge(of, &(struct validate_finding){.subject = subject,
                                                  .criterion = CRITERION_IDLE_EVENTS,
                                                  .value = bench.events,
                                                  .why = "a pair that is alone loses or reorders packets"});
    if (program->bytes > 0)
        validate_judge(of, &(struct validate_finding){.subject = "bytes that arrived, each once, over those sent",
                                                      .criterion = CRITERION_LIVE_BYTES,
                                                      .unit = VALIDATE_RATIO,
                                                      .value = bench.goodput / program->bytes,
                                                      .why = "bytes are missing"});
}

void test_live_reproducible(struct validate_case *of)
{
    static const struct program longer = {
        .name = "ib_write_bw of 20000 times 64 KiB",
        .package = "perftest",
        .path = "/usr/bin/ib_write_bw",
        .word = {"ib_write_bw", "-F", "--report_gbits", "-s", "65536", "-n", "20000"}};
    char subject[VALIDATE_TEXT];
    double sum = 0, squares = 0, others = 0;

    snprintf(subject, sizeof subject, "%s, %u times: deviation of its bandwidth over the mean", longer.name, RUNS);
    for (uint32_t i = 0; i < RUNS; i++) {
        struct bench bench = {.program = &longer, .fault = of->plan->live_fault};
        if (!run_bench(of, &bench)) return;
        sum += bench.bps;
        squares += bench.bps * bench.bps;
        others = fmax(others, bench.others);
    }
    if (skip_busy(of, subject, others, "bandwidth would say nothing")) return;
    double mean = sum / RUNS, variance = squares / RUNS - mean * mean;
    validate_judge(of,
                   &(struct validate_finding){.subject = subject,
                                              .criterion = CRITERION_LIVE_SPREAD,
                                              .unit = VALIDATE_RATIO,
                                              .value = mean > 0 ? sqrt(variance > 0 ? variance : 0) / mean : INFINITY,
                                              .why = "packets are lost, or processors change their speed"});
}

void test_live_point(struct validate_case *of)
{
    judge_program(of, &write_bw);
}

void test_live_latency(struct validate_case *of)
{
    for (size_t i = 0; i < sizeof latencies / sizeof latencies[0]; i++)
        judge_program(of, &latencies[i]);
}

void test_live_ucx(struct validate_case *of)
{
    for (size_t i = 0; i < sizeof ucx / sizeof ucx[0]; i++)
        judge_program(of, &ucx[i]);
}

/* Under faults programs complete, and what they wrote arrives once. */
void test_live_faults(struct validate_case *of)
{
    static const char *const faults[] = {"loss=1%", "reorder=1%", "corrupt=1%", "mark=5%"};
    char subject[VALIDATE_TEXT];

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct bench bench = {.program = &write_bw, .fault = faults[i], .capture = true};
        struct bench other = {.program = &ucx[1], .fault = faults[i]};
        if (!run_bench(of, &bench)) return;
        snprintf(subject, sizeof subject, "%s with %s: bytes that arrived, each once, over those sent", write_bw.name,
                 faults[i]);
        validate_judge(of, &(struct validate_finding){.subject = subject,
                                                      .criterion = CRITERION_LIVE_BYTES,
                                                      .unit = VALIDATE_RATIO,
                                                      .value = bench.goodput / write_bw.bytes,
                                                      .why = "bytes are missing"});
        if (!run_bench(of, &other)) continue;
        snprintf(subject, sizeof subject, "%s with %s", ucx[1].name, faults[i]);
        validate_tell(of, VALIDATE_PASS, subject, "every request completes, exit status 0", "%s", "");
    }
}

void test_live_collectives(struct validate_case *of)
{
    validate_skip(of, "nccl-tests",
                  access("/dev/nvidia0", F_OK) == 0
                      ? "run them with their output in a folder: validate --measured DIR judges it"
                      : "there is no GPU in this machine; validate --measured DIR judges outputs of another");
}
