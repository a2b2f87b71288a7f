/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog of a SONiC switch.
 *
 * It is a port's in SONiC and a switch's in a fabric: the row that most ports have speaks for the switch; ports that
 * pause without one, or with another, are notes, and say `own.watchdog` for who compares.  Ports that are down have no
 * say.
 *
 * orchagent refuses a row without `detection_time`, and one with a time out of range; without `restoration_time` a
 * queue that was cut off stays so.
 */
#include <string.h>

#include "config/sonic/sonic_int.h"

#define POLL_USUAL_MS 200

static const char *const names[] = {"action", "detection_time", "restoration_time"};

static int64_t watchdog_time(struct sonic *in, const struct sonic_row *row, const char *name, int64_t low, int64_t high,
                             int64_t usual)
{
    uint32_t line = 0;
    const char *text = sonic_field(row, name, &line);
    int64_t got = usual;

    if (!text) return usual;
    if (sonic_number(text, low, high, &got)) return got;
    NOTE(in, line, "WD002", CONFIG_NONE, "PFC_WD %.60s: %s '%.20s' is not of %lld to %lld ms", row->key, name, text,
         (long long)low, (long long)high);
    if (!sonic_number(text, 1, 10000000, &got)) return usual;
    return got < low ? low : high;
}

static int64_t detection(struct sonic *in, const struct sonic_row *row)
{
    return watchdog_time(in, row, names[1], SONIC_DETECT_MIN_MS, SONIC_DETECT_MAX_MS, POLL_USUAL_MS);
}

static int64_t restoration(struct sonic *in, const struct sonic_row *row, int64_t usual)
{
    return watchdog_time(in, row, names[2], SONIC_RESTORE_MIN_MS, SONIC_RESTORE_MAX_MS, usual);
}

/* The rule looks at what a watchdog does; this is for a file in which none is on yet. */
static void note_watched(struct sonic *in)
{
    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_row *row = in->port[p].qos;
        const char *watched = sonic_field(row, "pfcwd_sw_enable", NULL);
        if (!watched || in->port[p].down || sonic_bits(in, row, "pfcwd_sw_enable") == in->port[p].pfc) continue;
        bool left_out = in->port[p].pfc & ~sonic_bits(in, row, "pfcwd_sw_enable");
        const char *pauses = sonic_field(row, "pfc_enable", NULL);
        FINDING(in, sonic_line(row, "pfcwd_sw_enable"), "WD004", left_out ? CONFIG_ERROR : CONFIG_INFO, p,
                "PFC is on for priority %.20s, and the watchdog is to look at %.20s", pauses ? pauses : "none",
                watched[0] ? watched : "none");
    }
}

static bool same_field(const struct sonic_row *a, const struct sonic_row *b, const char *name)
{
    const char *x = sonic_field(a, name, NULL), *y = sonic_field(b, name, NULL);

    return strcmp(x ? x : "", y ? y : "") == 0;
}

static bool same_row(const struct sonic_row *a, const struct sonic_row *b)
{
    return same_field(a, b, names[0]) && same_field(a, b, names[1]) && same_field(a, b, names[2]);
}

/* Of ports that are up, or of those that are down: the row that more than half of the rows are like, where there is
 * one; else one of them. */
static const struct sonic_row *usual_row(const struct sonic *in, bool down)
{
    const struct sonic_row *held = NULL;
    uint32_t votes = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_row *row = in->port[p].watchdog;
        if (!row || in->port[p].down != down) continue;
        if (!votes) held = row;
        votes = same_row(held, row) ? votes + 1 : votes - 1;
    }
    for (uint32_t p = 0; held && p < in->ports; p++) { /* the first of its kind */
        const struct sonic_row *row = in->port[p].watchdog;
        if (row && in->port[p].down == down && same_row(held, row)) return row;
    }
    return held;
}

/* A time out of range is told as that alone. */
static void note_unlike(struct sonic *in, uint32_t p, const struct sonic_row *usual)
{
    const struct sonic_row *row = in->port[p].watchdog;

    for (int i = 0; i < 3; i++) {
        const char *a = sonic_field(usual, names[i], NULL), *b = sonic_field(row, names[i], NULL);
        int64_t got = 0;
        if (same_field(usual, row, names[i]) || (!b && i)) continue; /* a time that is missing is told below */
        if (i && !sonic_number(b, SONIC_DETECT_MIN_MS, i == 1 ? SONIC_DETECT_MAX_MS : SONIC_RESTORE_MAX_MS, &got))
            continue;
        NOTE(in, sonic_line(row, names[i]), "WD003", p, "%s is '%.20s' here and '%.20s' on %.60s", names[i],
             b ? b : "not said", a ? a : "not said", usual->key);
    }
    int64_t detect = detection(in, row);
    restoration(in, row, 2 * detect);
}

/* Times that are missing: once where all rows lack them. */
static void note_missing_time(struct sonic *in, const struct sonic_row *usual, int which)
{
    bool all = !sonic_field(usual, names[which], NULL);

    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_row *row = in->port[p].watchdog;
        if (!row || in->port[p].down || sonic_field(row, names[which], NULL)) continue;
        if (all && row != usual) continue;
        NOTE(in, row->line, which == 1 ? "WD001" : "WD003", all ? CONFIG_NONE : p, "PFC_WD %.60s has no %s: %s%s",
             row->key, names[which],
             which == 1 ? "the switch refuses the row, and nothing is watched"
                        : "a queue that was cut off is never restored",
             all ? " (as on most ports)" : "");
    }
}

/* What a port's row says, which is unlike that of most. */
static void say_own(struct sonic *in, uint32_t p)
{
    static const char *const paths[] = {"own.watchdog.action", "own.watchdog.detect", "own.watchdog.restore"};
    const struct sonic_row *row = in->port[p].watchdog;

    for (int i = 0; i < 3; i++) {
        const char *text = sonic_field(row, names[i], NULL);
        uint32_t at = sonic_line(row, names[i]);
        int64_t got = 0;
        if (i == 0)
            SAY(in, at, p, paths[i], "%s", !text || strcmp(text, "drop") == 0 ? "drop" : "forward");
        else if (text && sonic_number(text, 1, 10000000, &got))
            SAY(in, at, p, paths[i], "%lldms", (long long)got);
    }
}

static void compare_watchdogs(struct sonic *in, const struct sonic_row *usual)
{
    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_row *row = in->port[p].watchdog;
        if (in->port[p].down) continue;
        if (!row && in->port[p].pfc && !sonic_partial(in, "PFC_WD")) {
            uint32_t at = in->port[p].qos ? in->port[p].qos->line : 1;
            NOTE(in, at, "WD001", p, "pauses and has no watchdog");
            SAY(in, at, p, "own.watchdog", "false");
        }
        if (!row || same_row(row, usual)) continue;
        note_unlike(in, p, usual);
        say_own(in, p);
    }
    note_missing_time(in, usual, 1);
    note_missing_time(in, usual, 2);
}

static void say_times(struct sonic *in, uint32_t at, const char *action, int64_t detect, int64_t restore, int64_t poll)
{
    SAY(in, at, CONFIG_NONE, "watchdog.action", "%s", action);
    SAY(in, at, CONFIG_NONE, "watchdog.detect", "%lldms", (long long)detect);
    SAY(in, at, CONFIG_NONE, "watchdog.restore", "%lldms", (long long)restore);
    SAY(in, at, CONFIG_NONE, "watchdog.poll", "%lldms", (long long)poll);
}

/* No port has a row. */
static void say_none(struct sonic *in)
{
    const struct sonic_row *metadata = sonic_row_find(&in->rows, "DEVICE_METADATA", "localhost");
    const char *always = sonic_field(metadata, "default_pfcwd_status", NULL);
    bool pauses = false;

    for (uint32_t p = 0; p < in->ports; p++)
        pauses = pauses || (in->port[p].pfc && !in->port[p].down);
    /* Started by itself: 200 ms for each 32 ports. */
    int64_t usual = POLL_USUAL_MS * (int64_t)((in->ports + 31) / 32);
    if (always && strcmp(always, "enable") == 0) {
        say_times(in, sonic_line(metadata, "default_pfcwd_status"), "drop", usual, usual,
                  usual > SONIC_POLL_MAX_MS ? SONIC_POLL_MAX_MS : usual);
        return;
    }
    if (pauses && !sonic_partial(in, "PFC_WD"))
        SAY(in, always ? sonic_line(metadata, "default_pfcwd_status") : (0), CONFIG_NONE, "watchdog", "false");
    note_watched(in);
}

void sonic_say_watchdog(struct sonic *in)
{
    const struct sonic_row *usual = usual_row(in, false);

    if (!usual) usual = usual_row(in, true);
    if (!usual) {
        say_none(in);
        return;
    }
    const char *action = sonic_field(usual, "action", NULL);
    int64_t detect = detection(in, usual), restore = restoration(in, usual, 2 * detect);
    int64_t poll =
        watchdog_time(in, in->watchdog, "POLL_INTERVAL", SONIC_POLL_MIN_MS, SONIC_POLL_MAX_MS, POLL_USUAL_MS);
    bool slow = poll > POLL_USUAL_MS && detect >= POLL_USUAL_MS; /* what is odd of the two, where they do not fit */
    if (action && strcmp(action, "alert") == 0)
        NOTE(in, sonic_line(usual, "action"), "WD005", CONFIG_NONE,
             "the watchdog only alerts: a queue that is stormed stays stopped");
    say_times(in, usual->line, !action || strcmp(action, "drop") == 0 ? "drop" : "forward", detect, restore, poll);
    SAY(in,
        sonic_line(slow && detect < poll ? in->watchdog : usual, slow && detect < poll ? "POLL_INTERVAL" : names[1]),
        CONFIG_NONE, "watchdog.detect", "%lldms", (long long)detect);
    SAY(in, sonic_line(usual, names[2]), CONFIG_NONE, "watchdog.restore", "%lldms", (long long)restore);
    if (in->watchdog)
        SAY(in, sonic_line(in->watchdog, "POLL_INTERVAL"), CONFIG_NONE, "watchdog.poll", "%lldms", (long long)poll);
    compare_watchdogs(in, usual);
}
