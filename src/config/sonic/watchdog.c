/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog of a SONiC switch.
 *
 * It is a port's in SONiC and a switch's in a fabric: the first port that has one speaks for the switch, ports that
 * pause without one, or with another, are notes.
 */
#include <string.h>

#include "config/sonic/sonic.h"
#include "config/sonic/sonic_int.h"

static int64_t watchdog_time(struct sonic *in, const struct sonic_row *row, const char *name, int64_t low, int64_t high,
                             int64_t usual)
{
    uint32_t line = 0;
    const char *text = sonic_field(row, name, &line);
    int64_t got = usual;

    if (!text) return usual;
    if (!sonic_number(text, 1, 10000000, &got) || got < low || got > high)
        config_note(in->set, CONFIG_AT(in->text, line), "WD002", in->device, CONFIG_NONE,
                    "PFC_WD %.60s: %s '%.20s' is not of %lld to %lld ms", row->key, name, text, (long long)low,
                    (long long)high);
    return got;
}

/* The rule looks at what a watchdog does; this is for a file in which none is on yet. */
static void note_watched(struct sonic *in)
{
    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_row *row = in->port[p].qos;
        const char *watched = sonic_field(row, "pfcwd_sw_enable", NULL);
        if (!watched || sonic_bits(in, row, "pfcwd_sw_enable") == in->port[p].pfc) continue;
        config_note(in->set, sonic_at(in, row, "pfcwd_sw_enable"), "WD004", in->device, p,
                    "PFC is on for priority %.20s, and the watchdog is to look at %.20s",
                    sonic_field(row, "pfc_enable", NULL) ? sonic_field(row, "pfc_enable", NULL) : "none",
                    watched[0] ? watched : "none");
    }
}

static void say_times(struct sonic *in, struct origin at, const char *action, int64_t detect, int64_t restore,
                      int64_t poll)
{
    config_say(in->set, at, in->device, CONFIG_NONE, "watchdog.action", "%s", action);
    config_say(in->set, at, in->device, CONFIG_NONE, "watchdog.detect", "%lldms", (long long)detect);
    config_say(in->set, at, in->device, CONFIG_NONE, "watchdog.restore", "%lldms", (long long)restore);
    config_say(in->set, at, in->device, CONFIG_NONE, "watchdog.poll", "%lldms", (long long)poll);
}

static void compare_watchdogs(struct sonic *in, const struct sonic_row *first)
{
    static const char *const names[] = {"action", "detection_time", "restoration_time"};

    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_row *row = in->port[p].watchdog;
        if (!row && in->port[p].pfc)
            config_note(in->set, CONFIG_AT(in->text, in->port[p].qos ? in->port[p].qos->line : 1), "WD001", in->device,
                        p, "pauses and has no watchdog");
        for (int i = 0; row && row != first && i < 3; i++) {
            const char *a = sonic_field(first, names[i], NULL), *b = sonic_field(row, names[i], NULL);
            if (strcmp(a ? a : "", b ? b : "") != 0)
                config_note(in->set, sonic_at(in, row, names[i]), "WD003", in->device, p,
                            "%s is '%.20s' here and '%.20s' on %.60s", names[i], b ? b : "not said", a ? a : "not said",
                            first->key);
        }
    }
}

void sonic_say_watchdog(struct sonic *in)
{
    const struct sonic_row *first = NULL, *metadata = sonic_row_find(&in->rows, "DEVICE_METADATA", "localhost");
    const char *always = sonic_field(metadata, "default_pfcwd_status", NULL);
    bool pauses = false;

    for (uint32_t p = 0; p < in->ports; p++) {
        pauses = pauses || in->port[p].pfc;
        if (in->port[p].watchdog && (!first || (in->port[p].pfc && first->order > in->port[p].watchdog->order)))
            first = in->port[p].watchdog;
    }
    if (!first) {
        /* Started by itself: 200 ms for each 32 ports. */
        int64_t usual = 200 * (int64_t)((in->ports + 31) / 32);
        if (always && strcmp(always, "enable") == 0)
            say_times(in, sonic_at(in, metadata, "default_pfcwd_status"), "drop", usual, usual,
                      usual > SONIC_POLL_MAX_MS ? SONIC_POLL_MAX_MS : usual);
        else if (pauses)
            config_say(in->set, always ? sonic_at(in, metadata, "default_pfcwd_status") : CONFIG_AT(in->text, 0),
                       in->device, CONFIG_NONE, "watchdog", "false");
        if (!always || strcmp(always, "enable") != 0) note_watched(in);
        return;
    }
    const char *action = sonic_field(first, "action", NULL);
    int64_t detect = watchdog_time(in, first, "detection_time", SONIC_DETECT_MIN_MS, SONIC_DETECT_MAX_MS, 200);
    int64_t restore =
        watchdog_time(in, first, "restoration_time", SONIC_RESTORE_MIN_MS, SONIC_RESTORE_MAX_MS, 2 * detect);
    int64_t poll = watchdog_time(in, in->watchdog, "POLL_INTERVAL", SONIC_POLL_MIN_MS, SONIC_POLL_MAX_MS, 200);
    if (action && strcmp(action, "alert") == 0)
        config_assume(in->set, sonic_at(in, first, "action"), in->device, CONFIG_NONE,
                      "the watchdog only alerts; taken as forward");
    say_times(in, CONFIG_AT(in->text, first->line), !action || strcmp(action, "drop") == 0 ? "drop" : "forward", detect,
              restore, poll);
    compare_watchdogs(in, first);
}
