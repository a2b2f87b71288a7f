/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab capture FILE...: reads captures, prints what capture/capture.h finds in them.
 *
 * Nothing read is lost: a damaged file's report covers what came before the damage, the other files
 * are still read, and an interrupt (Ctrl-C, the usual end of a live capture) ends the reading, not
 * the program.
 *
 * Signals are caught without SA_RESTART, so that a read that waits for a pipe returns.  A signal
 * that comes between the look at cli_stopped and the read would go unseen until the next packet; the
 * timer that runs while a pipe is read bounds that to its period.
 */
#include "cli/option.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/check.h"
#include "base/time.h"
#include "capture/capture.h"
#include "cli/html.h"
#include "cli/watch.h"
#include "packet/capfile/capfile.h"
#include "report/capture_report.h"
#include "study/clock.h"

#define PROGRAM_BYTES (32ull << 20) /* all but the analysis: the reader's 17 MiB at most, libraries, report, output */
#define LOOK_EVERY 4096             /* records of a regular file between two looks at the clock: some 100 us */

struct settings {
    struct cli_common common;
    struct capture_options analysis;
    uint32_t connections, details;
    uint64_t interval_ns;
    struct cli_html html;
};

static void on_alarm(int number)
{
    (void)number; /* all it has to do is end a read */
}

static void catch_signals(void)
{
    struct sigaction wake = {.sa_handler = on_alarm};

    cli_catch_stop(2); /* once to stop, once not to wait for the rest of a pipe */
    sigemptyset(&wake.sa_mask);
    sigaction(SIGALRM, &wake, NULL);
}

/* Wakes a waiting read once per interval, at least once a second and at most every 10 ms. */
static void set_alarm(bool on, uint64_t interval_ns)
{
    uint64_t us = interval_ns == 0 || interval_ns > 1000000000 ? 1000000 : interval_ns / 1000 + 1;
    if (us < 10000) us = 10000;
    struct timeval period = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};
    struct itimerval timer = {.it_interval = period, .it_value = period};

    if (!on) timer = (struct itimerval){0};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static const struct cli_option options[] = {
#include "cli/judge/capture_options.def"
};

static void more_help(FILE *out)
{
    const struct text_style style = cli_style();
    const struct capture_options analysis = {0};
    char text[512], bytes[TEXT_COUNT];

    snprintf(text, sizeof text,
             "Memory: at most %s with the default of %d connections, however long the capture is. Files and pipes are "
             "both read through one buffer of bounded size.",
             text_bytes(capture_memory_bytes(&analysis) + PROGRAM_BYTES, bytes), CAPTURE_MAX_CONNECTIONS);
    text_wrap(out, &style, 0, 0, text);
    fputs("\nExamples:\n"
          "  rocelab capture trace.pcapng\n"
          "  tcpdump -i eth0 -U -w - 'udp port 4791' | rocelab capture -\n"
          "  rocelab capture --json trace.pcap | jq '.files[0].verdict'\n"
          "\nExit status: 0 no errors, 1 errors (with --strict warnings too), 2 wrong use or unreadable input.\n",
          out);
}

static const struct cli_command command = {
    .verb = "capture",
    .operands = "FILE...",
    .about = "Explains RoCE captures: what is wrong in them, with packet numbers to look at in Wireshark; then each "
             "connection, pauses, and connections set up through CM. FILE is pcap or pcapng; '-' is standard input, "
             "which is followed while it lasts.",
    CLI_OWN(options),
    .more_by = more_help,
};

struct reading {
    const struct settings *settings;
    FILE *out;
    struct capfile *file;
    struct capture *capture;
    struct watch watch;
    bool pipe;
    uint64_t last_look_ns; /* a stopped pipe is read until then; 0: not stopped yet */
    char error[CAPFILE_ERROR];
};

/* Ctrl-C reaches the whole pipeline, and tcpdump answers it by writing what it still holds: a pipe is read on to
 * its end, for a second at most or until asked again. */
static bool stop_now(struct reading *reading)
{
    if (!reading->pipe || cli_stopped > 1) return true;
    if (reading->last_look_ns == 0) {
        reading->last_look_ns = clock_now_ns() + 1000000000;
        set_alarm(true, 100000000);
    }
    return clock_now_ns() >= reading->last_look_ns;
}

/* 0: to the end, or until stopped; otherwise the sentence is in error. */
static int read_records(struct reading *reading)
{
    const struct capture_totals *totals = capture_totals(reading->capture);
    struct capfile_record record;
    unsigned count = 0;

    for (;;) {
        int answer;

        if (cli_stopped && stop_now(reading)) return 0;
        if (reading->pipe ? !capfile_ready(reading->file) : ++count % LOOK_EVERY == 0) {
            watch_look(&reading->watch, reading->file, totals);
            if (cli_output_failed(reading->out)) return 0;
        }
        answer = capfile_next(reading->file, &record, reading->error);
        if (answer == 1)
            capture_record(reading->capture, &record);
        else if (answer != -EINTR)
            return answer;
    }
}

static int read_file(struct reading *reading)
{
    const struct settings *settings = reading->settings;
    bool silent = settings->common.json || settings->common.quiet;
    uint64_t done, size;
    int answer;

    capfile_progress(reading->file, &done, &size);
    reading->pipe = size == 0;
    watch_begin(&reading->watch,
                reading->pipe ? (silent ? WATCH_NOTHING : WATCH_STATUS)
                              : (settings->common.quiet ? WATCH_NOTHING : WATCH_PROGRESS),
                reading->out, settings->interval_ns, reading->file);
    if (reading->pipe) set_alarm(true, settings->interval_ns);
    answer = read_records(reading);
    if (reading->pipe) set_alarm(false, 0);
    watch_end(&reading->watch);
    if (answer == 0 && cli_stopped && !reading->pipe) {
        snprintf(reading->error, sizeof reading->error, "interrupted: the rest was not read");
        answer = -EINTR;
    }
    return answer;
}

static enum cli_exit judge(const struct settings *settings, const struct capture *capture)
{
    enum capture_severity least = settings->common.strict ? CAPTURE_WARNING : CAPTURE_ERROR;

    for (size_t i = 0; i < capture_findings(capture); i++) {
        if (capture_finding(capture, i)->severity >= least) return CLI_PROBLEMS;
    }
    return CLI_DONE;
}

/* JSON, of the one document that all files are in. */
struct documents {
    struct jout *print, *page; /* NULL: not wanted */
};

/* JSON has an entry for each file asked for, with its error; text has nothing to say of an unread one. */
static void print_report(const struct reading *reading, const char *path, const char *error, const struct documents *to)
{
    const struct settings *settings = reading->settings;
    const struct capture_text_options text = {.style = cli_style(),
                                              .connections = settings->connections,
                                              .details = settings->details,
                                              .verdict_only = settings->common.quiet};
    const struct capture_report report = {.file = path, .error = error, .capture = reading->capture};

    if (to->page) capture_json(to->page, &report);
    if (to->print)
        capture_json(to->print, &report);
    else if (reading->file)
        capture_text(reading->out, &report, &text);
}

/* Opens the file, unless a file before it was interrupted.  A signal before a pipe's first byte gets the same second as
 * later ones. */
static int open_file(struct reading *reading, const char *path, bool skip)
{
    int answer = -EINTR;

    if (!skip) answer = capfile_open(path, &reading->file, reading->error);
    if (!skip && answer == -EINTR && cli_stopped == 1) {
        set_alarm(true, 1000000000);
        answer = capfile_open(path, &reading->file, reading->error);
        set_alarm(false, 0);
    }
    if (answer == -EINTR) snprintf(reading->error, sizeof reading->error, "not read: interrupted");
    return answer;
}

/* A file of which nothing could be read is unreadable input, whatever its format. */
static int all_unread(struct reading *reading)
{
    const struct capture_totals *totals = capture_totals(reading->capture);

    if (totals->packets == 0 || totals->unread < totals->packets) return 0;
    snprintf(reading->error, sizeof reading->error, "nothing in it can be read: link type %u (%s) holds no Ethernet",
             totals->unread_type[0].link_type, capfile_link_name(totals->unread_type[0].link_type));
    return -ENOTSUP;
}

/* Answers an enum cli_exit. */
static int explain(const struct settings *settings, const char *path, bool skip, FILE *out,
                   const struct documents *documents)
{
    const char *name = strcmp(path, "-") == 0 && !settings->common.json ? "standard input" : path;
    struct reading reading = {.settings = settings, .out = out};
    int opened, answer, status;

    reading.capture = capture_new(&settings->analysis);
    if (reading.capture == NULL) {
        char bytes[TEXT_COUNT];
        return cli_wrong("%s: not enough memory: the analysis can need %s; lower it with --max-connections", name,
                         text_bytes(capture_memory_bytes(&settings->analysis), bytes));
    }
    opened = open_file(&reading, path, skip);
    answer = opened == 0 ? read_file(&reading) : opened;
    if (opened == 0) capture_finish(reading.capture); /* what was never opened is not judged */
    if (answer == 0) answer = all_unread(&reading);
    print_report(&reading, name, answer < 0 ? reading.error : NULL, documents);
    status = judge(settings, reading.capture);
    if (answer < 0) {
        fflush(out);
        cli_error("%s: %s", name, reading.error);
        status = CLI_WRONG;
    }
    if (opened == 0) capfile_close(reading.file);
    capture_free(reading.capture);
    return status;
}

static struct jout *document_begin(FILE *out)
{
    struct jout *jout = out ? jout_begin(out, "capture") : NULL;

    if (jout) jout_open(jout, "files", '[');
    return jout;
}

static void document_end(struct jout *jout)
{
    if (jout == NULL) return;
    jout_close(jout);
    jout_end(jout);
}

/* Answers an enum cli_exit. */
static int explain_all(const struct settings *settings, int files, char **file, FILE *out,
                       const struct documents *documents)
{
    int status = CLI_DONE;

    for (int i = 0; i < files; i++) {
        if (cli_output_failed(out)) return CLI_WRONG;
        if (i > 0 && documents->print == NULL && !cli_stopped) fputc('\n', out);
        int one = explain(settings, file[i], i > 0 && cli_stopped, out, documents);
        if (documents->print) jout_flush(documents->print);
        if (one > status) status = one;
    }
    return status;
}

int verb_capture(int argc, char **argv, FILE *out)
{
    struct settings settings = {.connections = 20, .details = 3, .interval_ns = 1000000000};
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (first == argc) return cli_wrong("capture: which file? '-' reads standard input; see 'rocelab help capture'");
    if (!cli_html_begin(&settings.html, argc, argv)) return CLI_WRONG;
    catch_signals();
    FILE *html = settings.html.path ? cli_html_open(&settings.html) : NULL;
    struct documents documents = {document_begin(settings.common.json ? out : NULL), document_begin(html)};
    int status = explain_all(&settings, argc - first, argv + first, out, &documents);
    document_end(documents.print);
    document_end(documents.page);
    if (settings.html.path && (html == NULL || !cli_html_close(&settings.html))) status = CLI_WRONG;
    cli_html_release(&settings.html);
    return status;
}
