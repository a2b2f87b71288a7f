/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program and its peer: both ends are `rocelab run`, this very program; with a capture, what that holds is asked of
 * `rocelab capture`.  So a row judges what a user would see.
 */
#include "validate/live/pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "study/clock.h"
#include "json/json_in.h"

#define WORDS 32

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

/* "Final:  200  3.168  3.2  3.2  218.08  218.08  3489  3489": iterations, then figures; the one asked for, from 0. */
static double ucx_figure(const char *folder, int which)
{
    double figure = 0;
    size_t length;
    char *text = machine_output(folder, "client.out", &length), *row = text ? strstr(text, "Final:") : NULL;

    if (row) row += strlen("Final:");
    for (int field = 0; row && field <= which; field++)
        figure = strtod(row, &row);
    free(text);
    return figure;
}

static double read_figure(const char *folder, enum live_figure figure)
{
    switch (figure) {
    case LIVE_PERFTEST_GBPS:
        return machine_figure(folder, "client.out", 3) * 1e9;
    case LIVE_PERFTEST_US:
        return machine_figure(folder, "client.out", 4) * (double)PS_US;
    case LIVE_UCX_MIBPS:
        return ucx_figure(folder, 5) * 8 * 1048576;
    case LIVE_UCX_US:
        return ucx_figure(folder, 1) * (double)PS_US;
    }
    CHECK(false);
}

static double member(const struct json *file, const char *name)
{
    double value = 0;

    return json_real(json_get(file, name), &value) ? value : NAN;
}

/* `arrived`: of the end that is written to.  False: it is none. */
static bool read_capture(const char *folder, struct live_pair *pair, bool arrived)
{
    static const char *const events[] = {"retransmitted", "naks", "icrc_errors", "ecn_marked", "reordered", "gaps"};
    double sent = (double)pair->program->bytes * strtod(pair->program->few, NULL);
    struct arena arena;
    const char *why = NULL;
    uint32_t line = 0;
    size_t length;
    char *text = machine_output(folder, "capture.json", &length);

    arena_init(&arena, 0);
    const struct json *document = text ? json_parse(&arena, text, length, 1, &why, &line) : NULL;
    const struct json *files = json_get(document, "files"), *file = files ? files->child : NULL;
    if (arrived) pair->goodput = member(file, "goodput_bytes") / sent;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        pair->events += member(file, events[i]);
    arena_release(&arena);
    free(text);
    return !isnan(pair->events) && !isnan(pair->goodput);
}

/* A client that comes before its server is listening says so and ends: it is started again.  A server that has ended is
 * -1 from then on. */
static int run_client(const char *folder, const char *const *client, pid_t *server, uint64_t until)
{
    int status;

    do {
        machine_pause();
        status = machine_finish(machine_start(folder, "client.out", NULL, client), until);
        if (status > 0 && *server > 0 && waitpid(*server, NULL, WNOHANG) != 0) *server = -1;
    } while (status > 0 && *server > 0 && clock_now_ns() < until);
    return status;
}

/* The words of one end; `to`: the client's. */
static void write_words(const struct live_pair *pair, const char *pcap, const char *port, const char *to,
                        const char *word[WORDS])
{
    const struct live_program *program = pair->program;
    uint32_t used = 0;

    word[used++] = "rocelab";
    word[used++] = "run";
    word[used++] = "--device";
    word[used++] = "lo";
    if (pair->capture) {
        word[used++] = "--pcap";
        word[used++] = pcap;
    }
    if (pair->fault) {
        word[used++] = "--quiet"; /* what faults did is said last, where the figure is looked for */
        word[used++] = "--fault";
        word[used++] = pair->fault;
    }
    word[used++] = "--";
    for (size_t i = 0; program->word[i]; i++)
        word[used++] = program->word[i];
    word[used++] = "-n";
    word[used++] = pair->capture ? program->few : program->many;
    word[used++] = "-p";
    word[used++] = port;
    word[used++] = to;
    word[used] = NULL;
}

/* NULL, or why it did not come to figures. */
static const char *run_both(const char *folder, struct live_pair *pair)
{
    const char *server[WORDS], *client[WORDS];
    char port[16], pcap[2][LIVE_PATH];
    uint64_t until = clock_now_ns() + LIVE_PATIENCE_NS;
    struct machine_watch watch;

    snprintf(port, sizeof port, "%d", 20000 + (int)(getpid() % 20000));
    for (int i = 0; i < 2; i++)
        snprintf(pcap[i], LIVE_PATH, "%.200s/%s", folder, left[i]);
    write_words(pair, pcap[0], port, NULL, server);
    write_words(pair, pcap[1], port, "127.0.0.1", client);
    machine_watch(&watch);
    pid_t listening = machine_start(folder, "server.out", NULL, server);
    int status = run_client(folder, client, &listening, until);
    if (status != 0 && listening > 0) kill(listening, SIGKILL);
    if (listening > 0) machine_finish(listening, until);
    pair->others = machine_others(&watch);
    if (status != 0) return status < 0 ? "it was ended by a signal, or after 30 s" : "it ended with an error";
    pair->figure = read_figure(folder, pair->program->figure);
    if (!(pair->figure > 0)) return "its output has no figure";
    for (int i = 0; i < 2 && pair->capture;
         i++) { /* a mark is seen where it arrives, what is sent again at its sender */
        const char *const words[] = {"rocelab", "capture", "--json", pcap[i], NULL};
        machine_finish(machine_start(folder, "capture.json", NULL, words), clock_now_ns() + LIVE_PATIENCE_NS);
        if (!read_capture(folder, pair, i == 0)) return "the capture cannot be read";
    }
    return NULL;
}

const char *live_pair_name(const struct validate_case *of, const struct live_program *program, const char *times)
{
    bool kilo = program->bytes % 1024 == 0;

    return case_text(of, "%s of %s times %llu %s", program->name, times,
                     (unsigned long long)(kilo ? program->bytes / 1024 : program->bytes), kilo ? "KiB" : "B");
}

bool live_pair_installed(struct validate_case *of, const struct live_program *program)
{
    if (access(program->path, X_OK) == 0) return true;
    validate_skip(of, program->name, "%s is not installed (Debian: %s)", program->path, program->package);
    return false;
}

const char *live_pair_try(struct live_pair *pair)
{
    char folder[LIVE_PATH];

    if (!machine_open(folder)) return "no folder can be made in /tmp";
    const char *why = run_both(folder, pair);
    machine_close(folder, left);
    return why;
}

bool live_pair_run(struct validate_case *of, struct live_pair *pair)
{
    if (!live_pair_installed(of, pair->program)) return false;
    const char *why = live_pair_try(pair);
    if (why) validate_tell(of, VALIDATE_FAIL, pair->program->name, "it completes", "%s", why);
    return why == NULL;
}
