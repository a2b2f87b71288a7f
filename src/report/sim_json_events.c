/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a run that was watched: the rare ones as JSON with pauses put together of them, all as a table.  What was
 * done to the fabric, as JSON: faults that have begun, and switches that have changed their routes.
 *
 * A pause is told by the port that stood still; who caused it is known of the last XOFF that its peer sent before.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "record/event.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"

#define LISTED_MOST 50000u /* events, and pauses, in a document */
#define PRIORITIES 8u
#define NO_PORT UINT32_MAX

/* The fabric's number of the port; NO_PORT: the event is of a node, or of a job. */
static uint32_t port_of(const struct fabric *fabric, const struct record_event *event)
{
    if (event->node >= fabric->nodes || event->port >= fabric->node[event->node].ports) return NO_PORT;
    return fabric->node[event->node].first_port + event->port;
}

static const char *object_of(const struct fabric *fabric, const struct record_event *event, char buf[FABRIC_NAME])
{
    uint32_t port = port_of(fabric, event);

    if (port != NO_PORT) return fabric_port_name(fabric, port, buf);
    return event->node < fabric->nodes ? fabric->node[event->node].name : fabric->job[event->a].name;
}

/* The port of the same switch whose queue was the cause; NO_PORT: it is not known. */
static uint32_t cause_of(const struct fabric *fabric, const struct record_event *xoff)
{
    const struct fabric_node *node = &fabric->node[xoff->node];

    return xoff->a < node->ports ? node->first_port + (uint32_t)xoff->a : NO_PORT;
}

static void json_port_or_null(struct jout *jout, const char *key, const struct fabric *fabric, uint32_t port)
{
    char name[FABRIC_NAME];

    jout_text(jout, key, port == NO_PORT ? NULL : fabric_port_name(fabric, port, name));
}

static void json_event(struct jout *jout, const struct fabric *fabric, const struct record_event *event)
{
    const struct record_event_name *about = &record_event_names[event->kind];
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
#include "report/rows/event.def"
    if (event->kind == RECORD_XOFF)
        json_port_or_null(jout, about->a, fabric, cause_of(fabric, event));
    else if (about->a)
        jout_u64(jout, about->a, event->a);
    if (event->kind == RECORD_XOFF)
        jout_bool(jout, about->b, event->b != 0);
    else if (event->kind == RECORD_FAILED)
        jout_text(jout, about->b, sim_status_name(event->b));
    else if (about->b)
        jout_u64(jout, about->b, event->b);
    jout_close(jout);
}

static bool listed(const struct record_event *event)
{
    return RECORD_RARE & RECORD_KIND(event->kind);
}

/* Of each PAUSED, when the port went on: [events], read from the end. */
static ps_t *find_ends(const struct fabric *fabric, const struct record_log *log)
{
    ps_t *end = calloc(log->count + 1, sizeof(*end));
    ps_t *next = calloc((size_t)fabric->ports * PRIORITIES + 1, sizeof(*next));

    CHECK(end != NULL && next != NULL);
    for (uint64_t i = 0; i < (uint64_t)fabric->ports * PRIORITIES; i++)
        next[i] = PS_NEVER;
    for (uint64_t i = log->count; i-- > 0;) {
        const struct record_event *event = &log->event[i];
        if (event->kind != RECORD_PAUSED && event->kind != RECORD_RESUMED) continue;
        ps_t *at = &next[(uint64_t)port_of(fabric, event) * PRIORITIES + event->priority];
        end[i] = *at;
        *at = event->kind == RECORD_RESUMED ? event->at : PS_NEVER;
    }
    free(next);
    return end;
}

static void json_pause(struct jout *jout, const struct fabric *fabric, const struct record_event *paused, ps_t end,
                       uint32_t cause)
{
    uint32_t port = port_of(fabric, paused);

    jout_open_line(jout, NULL, '{');
#include "report/rows/pause_interval.def"
    jout_close(jout);
}

static void json_pauses(struct jout *jout, const struct fabric *fabric, const struct record_log *log)
{
    ps_t *end = find_ends(fabric, log);
    uint32_t *cause = calloc((size_t)fabric->ports * PRIORITIES + 1, sizeof(*cause)); /* + 1: 0 is none */
    uint64_t count = 0;

    CHECK(cause != NULL);
    jout_open(jout, "pause_intervals", '[');
    for (uint64_t i = 0; i < log->count; i++) {
        const struct record_event *event = &log->event[i];
        uint32_t port = port_of(fabric, event);
        if (event->kind == RECORD_XOFF) {
            cause[(uint64_t)port * PRIORITIES + event->priority] = cause_of(fabric, event) + 1;
        } else if (event->kind == RECORD_PAUSED && count++ < LISTED_MOST) {
            uint32_t peer = fabric->port[port].peer;
            json_pause(jout, fabric, event, end[i], cause[(uint64_t)peer * PRIORITIES + event->priority] - 1);
        }
    }
    jout_close(jout);
    jout_u64(jout, "pause_intervals_left_out", count > LISTED_MOST ? count - LISTED_MOST : 0);
    free(end);
    free(cause);
}

void sim_json_events(struct jout *jout, const struct sim_report *report)
{
    const struct record_log *log = report->events;
    uint64_t count = 0;

    if (log == NULL) return;
    jout_open(jout, "events", '[');
    for (uint64_t i = 0; i < log->count; i++)
        if (listed(&log->event[i]) && count++ < LISTED_MOST) json_event(jout, report->fabric, &log->event[i]);
    jout_close(jout);
    jout_u64(jout, "events_lost", log->lost + (count > LISTED_MOST ? count - LISTED_MOST : 0));
    json_pauses(jout, report->fabric, log);
}

void sim_csv_events(FILE *out, const struct fabric *fabric, const struct record_log *log)
{
    char name[FABRIC_NAME];

    fputs("at_ps,kind,object,priority,a,b\n", out);
    for (uint64_t i = 0; i < log->count; i++) {
        const struct record_event *event = &log->event[i];
        const struct record_event_name *about = &record_event_names[event->kind];
        fprintf(out, "%" PRIu64 ",%s,", event->at, about->name);
        sim_csv_text(out, object_of(fabric, event, name));
        fputc(',', out);
        if (event->priority != RECORD_NO_PRIORITY) fprintf(out, "%u", event->priority);
        fputc(',', out);
        bool known = event->kind != RECORD_XOFF || cause_of(fabric, event) != NO_PORT;
        if (about->a && known) fprintf(out, "%" PRIu64, event->a);
        fputc(',', out);
        if (event->kind == RECORD_DROP)
            fputs(sw_drop_name[event->b], out);
        else if (event->kind == RECORD_FAILED)
            fputs(sim_status_name(event->b), out);
        else if (about->b)
            fprintf(out, "%" PRIu32, event->b);
        fputc('\n', out);
    }
}

static void json_fault(struct jout *jout, const struct fabric *fabric, const struct sim_fault_seen *fault)
{
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
#include "report/rows/fault.def"
    jout_close(jout);
}

static void json_route(struct jout *jout, const struct fabric *fabric, const struct sim_route_change *route)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/route.def"
    jout_close(jout);
}

void sim_json_faults(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;

#include "report/rows/sim_faults.def"
}
