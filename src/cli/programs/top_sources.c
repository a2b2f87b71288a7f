/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples for counters --watch; see top_sources.h.
 *
 * A fabric answers `top` with lines: its name, its time in ps, then for each port name, bytes, pauses, marks, drops,
 * queue, tabs between.  Programs' counters are read from shared memory; their clock is the wall's, and there is no
 * queue that could be seen.
 */
#include "cli/programs/top_sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "cli/screen.h"
#include "study/clock.h"
#include "up/control.h"
#include "up/up.h"

/* What is said on the whole screen goes with it. */
__attribute__((format(printf, 2, 3))) static int end(int status, const char *format, ...)
{
    char text[256];
    va_list list;

    screen_leave();
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cli_error("counters: %s", text);
    return status;
}

_Static_assert(TOP_NAME == FABRIC_NAME && TOP_NAME == 96, "as the format of a row has it");

static int parse(char *text, struct top_sample *ret)
{
    char *rest = text, *line = strsep(&rest, "\n");
    char time[TEXT_COUNT];

    const char *tab = strchr(line, '\t');
    if (tab == NULL) return -EPROTO;
    ret->at_ps = strtoull(tab + 1, NULL, 10);
    snprintf(ret->title, sizeof ret->title, "%.*s at %s of fabric time", (int)(tab - line < 64 ? tab - line : 64), line,
             text_ps(ret->at_ps, time));
    while (rest && *rest && (line = strsep(&rest, "\n"))) {
        struct top_row row = {.name = ""};
        if (sscanf(line, "%95[^\t]\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64, row.name,
                   &row.tx_bytes, &row.paused_ps, &row.marks, &row.drops, &row.queue_bytes) != 6)
            return -EPROTO;
        if (!top_add(ret, &row)) return -ENOMEM;
    }
    return 0;
}

int top_of_fabric(void *context, struct top_sample *ret)
{
    struct top_from *from = context;
    char path[UP_PATH], words[256], why[CONTROL_TEXT], *text = NULL;
    size_t bytes = 0;

    int error = up_find(from->fabric, path);
    if (error && from->any) return end(CLI_DONE, "the fabric '%s' has ended", from->fabric);
    if (error == -ENOENT) return end(CLI_WRONG, "no fabric '%s' is up; start it with 'rocelab up'", from->fabric);
    if (error) return end(CLI_WRONG, "%s", strerror(-error));
    FILE *out = open_memstream(&text, &bytes);
    snprintf(words, sizeof words, "top %s", from->which ? from->which : "");
    int answer = control_ask(path, words, CONTROL_PATIENCE_MS, out);
    if (fclose(out) != 0) answer = -ENOMEM;
    error = answer == 0 ? parse(text, ret) : answer;
    free(text);
    if (cli_stopped) return CLI_DONE;
    if (answer == 1) return end(CLI_PROBLEMS, "the fabric has no port or node '%s'", from->which ? from->which : "");
    if (answer == -ECONNABORTED || answer == -ETIMEDOUT) return end(CLI_WRONG, "%s", control_error(path, answer, why));
    if (error && from->any && error != -ENOMEM) return end(CLI_DONE, "the fabric '%s' has ended", from->fabric);
    if (error) return end(CLI_WRONG, "%s", strerror(-error));
    from->any = true;
    return CLI_GO;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static struct top_row row_of(const struct device_counter_set *set)
{
    struct top_row row = {.name = ""};

    snprintf(row.name, sizeof row.name, "%.20s[%u] %.24s", set->program, set->pid, set->device);
    for (unsigned i = 0; i < set->counters; i++) {
        const struct device_counter *counter = &set->counter[i];
        size_t length = strlen(counter->name);
        if (strcmp(counter->name, "tx_payload_bytes") == 0) row.tx_bytes = counter->value;
        if (strcmp(counter->name, "np_ecn_marked_roce_packets") == 0) row.marks = counter->value;
        if (begins(counter->name, "drop_")) row.drops += counter->value;
        if (begins(counter->name, "rx_prio") && length > 9 && strcmp(counter->name + length - 9, "_pause_ps") == 0)
            row.paused_ps += counter->value;
    }
    return row;
}

int top_of_programs(void *context, struct top_sample *ret)
{
    struct top_from *from = context;
    struct device_counter_set *set;
    unsigned count;

    int error = live_counters_read(&set, &count);
    if (error < 0) return end(CLI_WRONG, "%s", strerror(-error));
    uint64_t now = clock_now_ns();
    if (from->begun_ns == 0) from->begun_ns = now;
    ret->at_ps = (now - from->begun_ns) * PS_NS;
    for (unsigned i = 0; i < count; i++) {
        struct top_row row = row_of(&set[i]);
        if (from->wanted(&set[i], from->which) && !top_add(ret, &row)) error = -ENOMEM;
    }
    free(set);
    if (error) return end(CLI_WRONG, "%s", strerror(-error));
    if (ret->rows == 0 && from->which)
        return end(CLI_PROBLEMS, "no process or device '%s' runs under 'rocelab run'", from->which);
    snprintf(ret->title, sizeof ret->title, "%u adapter%s of programs under 'rocelab run'", ret->rows,
             text_plural(ret->rows));
    return CLI_GO;
}
