/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of this machine: perftest, unchanged, on the adapter in user space, over the loopback interface.
 *
 * Both ends are `rocelab run`, this very program, with a capture; what the capture holds is asked of `rocelab capture`.
 * So a row judges what a user would see.  Programs are ended when they take too long; files are in a folder of their
 * own that is removed.  Nothing here depends on the fabric file but the criteria.
 */
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "study/clock.h"
#include "validate/case.h"
#include "json/json_in.h"

#define PATIENCE_NS (UINT64_C(30) * 1000000000)
#define PAUSE_NS 50000000
#define PATH 256
#define OUTPUT_BYTES (1u << 20)
#define RUNS 3u
#define BUSY_MOST 0.2

extern char **environ;

struct bench {      /* one pair of perftest */
    double bps;     /* average of the client */
    double events;  /* retransmissions, NAKs, wrong ICRCs, marks, packets out of order, in the captures of both ends */
    double goodput; /* bytes, each once */
    char why[128];  /* it did not come to that; "": it did */
};

static const char *const left[] = {"server.pcap", "client.pcap", "server.out", "client.out", "capture.json"};

static void pause_short(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    nanosleep(&pause, NULL);
}

/* Output into a file of the folder; -1: it cannot be started. */
static pid_t start(const char *folder, const char *output, const char *const *argument)
{
    posix_spawn_file_actions_t actions;
    char path[PATH], program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1); /* libraries lie beside it */
    pid_t pid = -1;

    snprintf(path, sizeof path, "%s/%s", folder, output);
    if (length < 0 || posix_spawn_file_actions_init(&actions) != 0) return -1;
    program[length] = '\0';
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (posix_spawn(&pid, program, &actions, NULL, (char *const *)(uintptr_t)argument, environ) != 0) pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Its exit status; -1: it was ended, by a signal or because the time was over. */
static int finish(pid_t pid, uint64_t until_ns)
{
    int status = 0;

    if (pid < 0) return -1;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_now_ns() < until_ns) {
            pause_short();
            continue;
        }
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *read_output(const char *folder, const char *name, size_t *ret_length)
{
    char path[PATH], *text = malloc(OUTPUT_BYTES);

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = text ? fopen(path, "r") : NULL;
    *ret_length = file ? fread(text, 1, OUTPUT_BYTES - 1, file) : 0;
    if (file) fclose(file);
    if (text) text[*ret_length] = '\0';
    return text;
}

/* perftest's last row: bytes, iterations, peak, average, messages; the average is in Gb/s, as it was asked to. */
static double read_average(const char *folder)
{
    double average = 0;
    size_t length;
    char *text = read_output(folder, "client.out", &length), *row = text ? strstr(text, "#bytes") : NULL;

    row = row ? strchr(row, '\n') : NULL;
    for (int field = 0; row && field < 4; field++)
        average = strtod(row, &row);
    free(text);
    return average * 1e9;
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
    char *text = read_output(folder, "capture.json", &length);

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
        pause_short();
        status = finish(start(folder, "client.out", client), until);
    } while (status != 0 && status != -1 && waitpid(server, NULL, WNOHANG) == 0 && clock_now_ns() < until);
    return status;
}

#define WORDS 24
/* The words of one end; `to`: the client's. */
static void write_words(const struct validate_case *of, const char *count, const char *pcap, const char *port,
                        const char *to, const char *word[WORDS])
{
    const char *const program[] = {"--", "ib_write_bw", "-F", "--report_gbits", "-s", "65536", "-n", count, "-p", port};
    uint32_t used = 0;

    word[used++] = "rocelab";
    word[used++] = "run";
    word[used++] = "--device";
    word[used++] = "lo";
    if (pcap) {
        word[used++] = "--pcap";
        word[used++] = pcap;
    }
    if (of->plan->live_fault) {
        word[used++] = "--fault";
        word[used++] = of->plan->live_fault;
    }
    for (size_t i = 0; i < sizeof program / sizeof program[0]; i++)
        word[used++] = program[i];
    word[used++] = to;
    word[used] = NULL;
}

static void run_pair(const struct validate_case *of, const char *folder, const char *count, bool capture,
                     struct bench *ret)
{
    const char *server[WORDS], *client[WORDS];
    char port[16], pcap[2][PATH];
    uint64_t until = clock_now_ns() + PATIENCE_NS;

    snprintf(port, sizeof port, "%d", 20000 + (int)(getpid() % 20000));
    for (int i = 0; i < 2; i++)
        snprintf(pcap[i], PATH, "%s/%s", folder, left[i]);
    write_words(of, count, capture ? pcap[0] : NULL, port, NULL, server);
    write_words(of, count, capture ? pcap[1] : NULL, port, "127.0.0.1", client);
    pid_t listening = start(folder, "server.out", server);
    int status = run_client(folder, client, listening, until);
    if (status != 0 && listening > 0) kill(listening, SIGKILL);
    finish(listening, until);
    if (status != 0) {
        snprintf(ret->why, sizeof ret->why, "ib_write_bw %s",
                 status < 0 ? "did not end in 30 s" : "ended with an error");
        return;
    }
    ret->bps = read_average(folder);
    for (int i = 0; i < 2 && capture; i++) { /* a mark is seen where it arrives, what is sent again where it is sent */
        const char *const words[] = {"rocelab", "capture", "--json", pcap[i], NULL};
        finish(start(folder, "capture.json", words), clock_now_ns() + PATIENCE_NS);
        read_capture(folder, ret);
    }
}

/* False after a row that says what is wrong. */
static bool run_bench(struct validate_case *of, const char *subject, const char *count, bool capture, struct bench *ret)
{
    char folder[] = "/tmp/rocelab-live-XXXXXX", path[PATH];

    *ret = (struct bench){0};
    if (mkdtemp(folder) == NULL) {
        validate_tell(of, VALIDATE_FAIL, subject, "it can be run", "no folder can be made in /tmp");
        return false;
    }
    run_pair(of, folder, count, capture, ret);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, left[i]);
        unlink(path);
    }
    rmdir(folder);
    if (ret->why[0]) validate_tell(of, VALIDATE_FAIL, subject, "it completes", "%s", ret->why);
    return ret->why[0] == '\0';
}

static bool installed(struct validate_case *of)
{
    if (access("/usr/bin/ib_write_bw", X_OK) == 0) return true;
    validate_skip(of, "", "ib_write_bw is not installed (Debian: perftest)");
    return false;
}

/* Processor time that was used, and all there was, since the machine started. */
static bool read_busy(double *ret_used, double *ret_all)
{
    unsigned long long part[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    int got = file ? fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &part[0], &part[1], &part[2], &part[3],
                            &part[4], &part[5], &part[6], &part[7])
                   : 0;

    if (file) fclose(file);
    *ret_all = *ret_used = 0;
    for (int i = 0; i < 8; i++) {
        *ret_all += (double)part[i];
        if (i != 3 && i != 4) *ret_used += (double)part[i]; /* idle, and waiting for disks */
    }
    return got == 8;
}

/* Share of the processors that others use now; bandwidth says nothing on a machine that is busy. */
static double busy_share(void)
{
    double used[2], all[2];

    if (!read_busy(&used[0], &all[0])) return 0;
    for (int i = 0; i < 10; i++)
        pause_short();
    if (!read_busy(&used[1], &all[1]) || all[1] <= all[0]) return 0;
    return (used[1] - used[0]) / (all[1] - all[0]);
}

void test_live_reproducible(struct validate_case *of)
{
    char subject[VALIDATE_TEXT];
    double sum = 0, squares = 0;

    if (!installed(of)) return;
    double busy = busy_share();
    if (busy > BUSY_MOST) {
        validate_skip(of, "", "others use %.0f %% of this machine's processors: bandwidth would say nothing",
                      busy * 100);
        return;
    }
    snprintf(subject, sizeof subject, "ib_write_bw of 64 KiB, %u times: deviation of its bandwidth over the mean",
             RUNS);
    for (uint32_t i = 0; i < RUNS; i++) {
        struct bench bench;
        if (!run_bench(of, subject, "5000", false, &bench)) return;
        sum += bench.bps;
        squares += bench.bps * bench.bps;
    }
    double mean = sum / RUNS, variance = squares / RUNS - mean * mean;
    validate_judge(of,
                   &(struct validate_finding){.subject = subject,
                                              .criterion = CRITERION_LIVE_SPREAD,
                                              .unit = VALIDATE_RATIO,
                                              .value = mean > 0 ? sqrt(variance > 0 ? variance : 0) / mean : INFINITY,
                                              .why = "the machine does something else beside, or packets are lost"});
}

void test_live_point(struct validate_case *of)
{
    static const char subject[] =
        "ib_write_bw of 500 times 64 KiB: packets sent again, refused, marked or out of order";
    struct bench bench;

    if (!installed(of) || !run_bench(of, subject, "500", true, &bench)) return;
    validate_judge(of, &(struct validate_finding){.subject = subject,
                                                  .criterion = CRITERION_IDLE_EVENTS,
                                                  .value = bench.events,
                                                  .why = "a pair that is alone loses or reorders packets"});
    validate_judge(of, &(struct validate_finding){.subject = "bytes that arrived, each once, over those sent",
                                                  .criterion = CRITERION_LIVE_BYTES,
                                                  .unit = VALIDATE_RATIO,
                                                  .value = bench.goodput / (500 * 65536.0),
                                                  .why = "bytes are missing"});
}

void test_live_collectives(struct validate_case *of)
{
    validate_skip(of, "nccl-tests",
                  access("/dev/nvidia0", F_OK) == 0
                      ? "run them with their output in a folder: validate --measured DIR judges it"
                      : "there is no GPU in this machine; validate --measured DIR judges outputs of another");
}
