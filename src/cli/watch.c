/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status lines and progress.
 *
 * Rates in status lines are by the capture's own time stamps, not by the clock here: a pipe may
 * deliver in bursts what was sent smoothly.  The clock only decides when a line is due.
 */
#include "cli/watch.h"

#include <unistd.h>

#include "report/text.h"
#include "study/clock.h"

#define NS 1000000000ULL
#define PROGRESS_LEAST_BYTES (64ULL << 20) /* below that a file is read before a line could be read */
#define PROGRESS_FIRST_NS (NS / 2)
#define PROGRESS_EVERY_NS (NS / 5)
#define HEADER_EVERY 20

void watch_begin(struct watch *watch, enum watch_kind kind, FILE *out, uint64_t interval_ns, const struct capfile *file)
{
    uint64_t done, size;

    capfile_progress(file, &done, &size);
    if (kind == WATCH_PROGRESS && (size < PROGRESS_LEAST_BYTES || !isatty(STDERR_FILENO))) kind = WATCH_NOTHING;
    *watch = (struct watch){.kind = kind, .out = out, .interval_ns = interval_ns};
    if (kind == WATCH_NOTHING) return;
    watch->begun_ns = clock_now_ns();
    watch->due_ns = watch->begun_ns + (kind == WATCH_STATUS ? interval_ns : PROGRESS_FIRST_NS);
}

static void status_line(struct watch *watch, const struct capture_totals *totals)
{
    char time[TEXT_COUNT], packets[TEXT_COUNT], rate[TEXT_COUNT], connections[TEXT_COUNT], again[TEXT_COUNT],
        naks[TEXT_COUNT], rnr[TEXT_COUNT], cnps[TEXT_COUNT], marked[TEXT_COUNT], pauses[TEXT_COUNT];
    uint64_t since_ns = watch->lines == 0 ? totals->first_ns : watch->last_ns;
    uint64_t span_ns = totals->last_ns > since_ns ? totals->last_ns - since_ns : 0;

    if (watch->lines++ % HEADER_EVERY == 0)
        fprintf(watch->out, "%8s %10s %8s %6s %8s %6s %6s %8s %8s %8s\n", "time", "packets", "RoCE", "conns", "retrans",
                "NAK", "RNR", "CNP", "CE", "pauses");
    fprintf(watch->out, "%8s %10s %8s %6s %8s %6s %6s %8s %8s %8s\n", text_ns(totals->last_ns - totals->first_ns, time),
            text_count_short(totals->packets, packets),
            text_rate(totals->roce_bytes - watch->roce_bytes, span_ns, rate),
            text_count_short(totals->connections, connections), text_count_short(totals->retransmitted, again),
            text_count_short(totals->naks, naks), text_count_short(totals->rnr_naks, rnr),
            text_count_short(totals->cnps, cnps), text_count_short(totals->ecn_marked, marked),
            text_count_short(totals->pfc_frames + totals->pause_frames, pauses));
    fflush(watch->out);
    watch->packets = totals->packets;
    watch->roce_bytes = totals->roce_bytes;
    watch->last_ns = totals->last_ns;
}

static void progress_line(struct watch *watch, const struct capfile *file, const struct capture_totals *totals,
                          uint64_t now)
{
    uint64_t done, size, spent_us = (now - watch->begun_ns) / 1000 + 1, left_s;
    char packets[TEXT_COUNT], speed[TEXT_COUNT];

    capfile_progress(file, &done, &size);
    if (done == 0 || done > size) return;
    /* In mebibytes: products of bytes and microseconds overflow on large files. */
    left_s = ((size - done) >> 20) * spent_us / ((done >> 20) + 1) / 1000000;
    fprintf(stderr, "\r%u%%, %s packets, %s/s, %llu s left\033[K", (unsigned)((done >> 10) * 100 / ((size >> 10) + 1)),
            text_count(totals->packets, packets), text_count(totals->packets / (spent_us / 1000 + 1) * 1000, speed),
            (unsigned long long)left_s);
    watch->drawn = true;
}

void watch_look(struct watch *watch, const struct capfile *file, const struct capture_totals *totals)
{
    uint64_t now;

    if (watch->kind == WATCH_NOTHING || totals->packets == watch->packets) return;
    now = clock_now_ns();
    if (now < watch->due_ns) return;
    if (watch->kind == WATCH_STATUS) {
        status_line(watch, totals);
        watch->due_ns = now + watch->interval_ns;
    } else {
        progress_line(watch, file, totals, now);
        watch->due_ns = now + PROGRESS_EVERY_NS;
    }
}

void watch_end(struct watch *watch)
{
    if (watch->drawn) fputs("\r\033[K", stderr);
    if (watch->kind == WATCH_STATUS && watch->lines > 0) fputc('\n', watch->out);
}
