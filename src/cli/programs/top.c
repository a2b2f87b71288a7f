/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of counters --watch; see top.h.
 */
#include "cli/programs/top.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cli/screen.h"
#include "study/clock.h"

#define EVERY_MS 1000
#define NAME_LEAST 12

static const struct {
    const char *name;
    char key;
} sorts[TOP_SORTS] = {[TOP_PAUSED] = {"paused", 'p'},
                      [TOP_RATE] = {"rate", 'r'},
                      [TOP_MARKS] = {"marks", 'm'},
                      [TOP_DROPS] = {"drops", 'd'},
                      [TOP_QUEUE] = {"queue", 'b'}};

struct shown { /* a row of the table: what was between two samples */
    const char *name;
    uint64_t of[TOP_SORTS]; /* paused in ps, bytes sent, marks, drops; bytes queued now */
};

struct top {
    struct top_sample now, last;
    struct shown *shown;
    enum top_sort sort;
};

bool top_add(struct top_sample *sample, const struct top_row *row)
{
    GROW(sample->row, sample->rows, sample->room);
    struct top_row *to = &sample->row[sample->rows++];
    *to = *row;
    for (char *c = to->name; *c; c++) /* a program may call itself anything */
        if (*c < ' ' || *c > '~') *c = '?';
    return true;
}

/* Rows keep their places from one sample to the next, unless somebody came or went. */
static const struct top_row *row_before(const struct top *top, uint32_t index)
{
    static const struct top_row none;
    const char *name = top->now.row[index].name;

    if (index < top->last.rows && strcmp(top->last.row[index].name, name) == 0) return &top->last.row[index];
    for (uint32_t i = 0; i < top->last.rows; i++)
        if (strcmp(top->last.row[i].name, name) == 0) return &top->last.row[i];
    return top->last.row ? &top->now.row[index] : &none; /* new: since it came, nothing */
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static int by_value(const void *a, const void *b, void *context)
{
    const struct shown *one = a, *two = b;
    const enum top_sort *sort = context;
    uint64_t left = one->of[*sort], right = two->of[*sort];

    if (left == right) { /* what is as bad is told apart by what it sends */
        left = one->of[TOP_RATE];
        right = two->of[TOP_RATE];
    }
    return left > right ? -1 : left < right ? 1 : strcmp(one->name, two->name);
}

static void compare(struct top *top)
{
    struct shown *shown = realloc(top->shown, (top->now.rows + 1u) * sizeof *shown);

    top->shown = shown;
    for (uint32_t i = 0; i < top->now.rows; i++) {
        const struct top_row *now = &top->now.row[i], *last = row_before(top, i);
        shown[i] = (struct shown){.name = now->name,
                                  .of = {[TOP_PAUSED] = more(now->paused_ps, last->paused_ps),
                                         [TOP_RATE] = more(now->tx_bytes, last->tx_bytes),
                                         [TOP_MARKS] = more(now->marks, last->marks),
                                         [TOP_DROPS] = more(now->drops, last->drops),
                                         [TOP_QUEUE] = now->queue_bytes}};
    }
    qsort_r(shown, top->now.rows, sizeof *shown, by_value, &top->sort);
}

static void print_row(const struct shown *shown, ps_t span, int name_width, const char *begin, FILE *out)
{
    char paused[TEXT_COUNT], rate[TEXT_COUNT], marks[TEXT_COUNT], drops[TEXT_COUNT], queue[TEXT_COUNT];

    fprintf(out, "%s%-*.*s %8s %8s %9s %9s %9s\n", begin, name_width, name_width, shown->name,
            text_share(shown->of[TOP_PAUSED], span, paused), text_rate(shown->of[TOP_RATE], span / PS_NS, rate),
            text_count_short(shown->of[TOP_MARKS], marks), text_count_short(shown->of[TOP_DROPS], drops),
            text_bytes(shown->of[TOP_QUEUE], queue));
}

static void print_table(const struct top *top, unsigned columns, uint32_t most, const char *begin, FILE *out)
{
    ps_t span = more(top->now.at_ps, top->last.at_ps);
    unsigned numbers = 48, widest = NAME_LEAST;

    for (uint32_t i = 0; i < top->now.rows; i++)
        if (strlen(top->now.row[i].name) > widest) widest = (unsigned)strlen(top->now.row[i].name);
    if (widest + numbers > columns) widest = columns > numbers + NAME_LEAST ? columns - numbers : NAME_LEAST;
    fprintf(out, "%s%-*s %8s %8s %9s %9s %9s\n", begin, (int)widest, "", "paused", "rate", "marks", "drops", "queue");
    for (uint32_t i = 0; i < top->now.rows && i < most; i++)
        print_row(&top->shown[i], span, (int)widest, begin, out);
}

static void draw(const struct top *top, FILE *out)
{
    unsigned columns, rows;
    char line[256];

    screen_size(&columns, &rows);
    fputs("\033[H", out);
    snprintf(line, sizeof line, "%s, by %s", top->now.title, sorts[top->sort].name);
    fprintf(out, "\033[K%.*s\n", (int)columns, line);
    snprintf(line, sizeof line, "p paused  r rate  m marks  d drops  b bytes queued  q quit");
    fprintf(out, "\033[K%.*s\n", (int)columns, line);
    /* A line that is too long would wrap: the terminal cuts it instead. */
    fputs("\033[?7l", out);
    if (rows > 4) print_table(top, columns, rows - 4, "\033[K", out);
    fputs("\033[J\033[?7h", out);
    fflush(out);
}

static bool sample_source(struct top *top, top_source *source, void *context, int *ret_status)
{
    const bool wide = cli_style().utf8;
    struct top_sample old = top->last;

    top->last = top->now;
    top->now = (struct top_sample){.row = NULL};
    free(old.row);
    *ret_status = source(context, &top->now);
    utf8_clean(top->now.title, wide); /* programs and fabrics call themselves what they like */
    for (uint32_t i = 0; i < top->now.rows; i++)
        utf8_clean(top->now.row[i].name, wide);
    if (*ret_status != CLI_GO) return false;
    *ret_status = CLI_DONE;
    compare(top);
    return true;
}

/* False: to end. */
static bool keys(struct top *top, FILE *out)
{
    uint64_t until = clock_now_ns() + EVERY_MS * 1000000ull;

    for (uint64_t now = clock_now_ns(); now < until && !cli_stopped; now = clock_now_ns()) {
        char key = screen_key((int)((until - now) / 1000000) + 1);
        if (key == 'q') return false;
        for (int i = 0; i < TOP_SORTS; i++)
            if (key == sorts[i].key) top->sort = (enum top_sort)i;
        qsort_r(top->shown, top->now.rows, sizeof *top->shown, by_value, &top->sort);
        draw(top, out);
    }
    return !cli_stopped;
}

/* False: to end. */
static bool print_plain(const struct top *top, FILE *out)
{
    fprintf(out, "%s, by %s\n", top->now.title, sorts[top->sort].name);
    print_table(top, cli_style().width, UINT32_MAX, "", out);
    fputc('\n', out);
    if (fflush(out) != 0 || cli_output_failed(out)) return false;
    sleep(EVERY_MS / 1000); /* an interrupt ends it */
    return !cli_stopped;
}

int top_run(top_source *source, void *context, enum top_sort sort, FILE *out)
{
    struct top top = {.sort = sort};
    int status = CLI_DONE;

    bool good = sample_source(&top, source, context, &status);
    bool screen = good && screen_enter();
    while (good) {
        if (screen) draw(&top, out);
        good = (screen ? keys(&top, out) : print_plain(&top, out)) && sample_source(&top, source, context, &status);
    }
    screen_leave();
    free(top.now.row);
    free(top.last.row);
    free(top.shown);
    return status;
}
