/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What logs and states say in words: links that come and go (part of D19), optics that warn (part of D13), adapters
 * that failed (D32), and what failed inside of a host (D33).
 *
 * A log is of one machine and has times: what it says happened, but whether it is why a job is slow it does not say, so
 * that nearly all of this is weak.  A port that came up once booted; one that came up four times in a minute did not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/hosts/hosts_int.h"

#define OFTEN_S 3600.0 /* between two times that a link went down, the mean: it is not maintenance */
#define LISTED 3u      /* events of a kind that are told in a sentence */

/* Events of some kinds about an object and, of a device, its ports. */
struct said {
    const struct evidence_event *first;
    uint32_t times, kinds; /* kinds: events that differ */
    double first_s, last_s;
};

static void add(struct said *said, const struct evidence_event *event)
{
    if (!said->first) *said = (struct said){event, 0, 0, NAN, NAN};
    said->times += event->count;
    said->kinds++;
    if (!(said->first_s <= event->first_s)) said->first_s = event->first_s;
    if (!(said->last_s >= event->last_s)) said->last_s = event->last_s;
}

static struct said said_of(const struct evidence *evidence, uint32_t object, enum evidence_event_kind kind)
{
    struct said said = {.first = NULL};

    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == kind && evidence->event[i].object == object) add(&said, &evidence->event[i]);
    return said;
}

/* Names of events begin with another word in sentences: "42 s", "3 min". */
static const char *span_text(double seconds, char buf[32])
{
    if (seconds < 120)
        snprintf(buf, 32, "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(buf, 32, "%.0f minutes", seconds / 60);
    else if (seconds < 172800)
        snprintf(buf, 32, "%.0f hours", seconds / 3600);
    else
        snprintf(buf, 32, "%.0f days", seconds / 86400);
    return buf;
}

/* --- D19 --- */

/* The sentence of a link that a log speaks of; false: nothing is wrong with it. */
static bool link_told(char *text, size_t size, const char *name, const struct said *down, const struct said *up)
{
    const struct said *more = up->times > down->times ? up : down;
    double first = fmin(down->first_s, up->first_s), last = fmax(down->last_s, up->last_s);
    bool timed = !isnan(first) && last > first, back = up->last_s >= down->last_s;
    double gap = more->times > 1 ? (more->last_s - more->first_s) / (more->times - 1) : NAN;
    char span[32];

    if (more->times < 2 && !down->times) return false;
    if (!down->times && !(gap <= OFTEN_S)) return false; /* it booted now and then */
    if (more->times == 1 && !up->times)
        snprintf(text, size, "the link at %s went down, and nothing says that it came up again", name);
    else if (more->times == 1 && back && timed)
        snprintf(text, size, "the link at %s went down and came up again after %s", name,
                 span_text(last - first, span));
    else if (!down->times)
        snprintf(text, size, "the link at %s came up %u times%s%s, so that it went down in between", name, up->times,
                 timed ? " within " : "", timed ? span_text(last - first, span) : "");
    else
        snprintf(text, size, "the link at %s went down %u time%s and came up %u time%s%s%s%s", name, down->times,
                 down->times == 1 ? "" : "s", up->times, up->times == 1 ? "" : "s", timed ? " within " : "",
                 timed ? span_text(last - first, span) : "",
                 timed && !back && down->times ? ", the last time without coming up again" : "");
    return true;
}

/* A switch's port that is not of the fabric: eth0 of SONiC and Cumulus, ma1, mgmt0, em0, me0, fxp0. */
static bool is_management(const struct evidence *evidence, uint32_t port)
{
    static const char *const names[] = {"eth", "ma", "mgmt", "em", "me", "fxp", "vme", "Management", NULL};
    const char *name = evidence->object[port].local_name;
    size_t letters = strcspn(name, "0123456789");

    if (evidence_is_host(evidence, evidence_device_of(evidence, port)) ||
        name[letters + strspn(name + letters, "0123456789/")])
        return false;
    for (size_t i = 0; names[i]; i++)
        if (strlen(names[i]) == letters && !strncmp(name, names[i], letters)) return true;
    return false;
}

static bool is_down(const struct evidence *evidence, uint32_t port)
{
    const struct evidence_value *up = evidence_find(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP);

    return up && !up->last;
}

/* " (Local Fault; CABLE_WAS_UNPLUGGED)": what is said of the line, else of its module or the modules of its device. */
static const struct evidence_event *link_why(const struct evidence *evidence, uint32_t port, char *buf, size_t size)
{
    static const uint8_t kinds[] = {EVIDENCE_EVENT_LINE_FAULT, EVIDENCE_EVENT_OPTIC_ALARM, EVIDENCE_EVENT_OPTIC_ALARM};
    const struct evidence_event *first = NULL;
    unsigned told = 0;

    *buf = 0;
    for (size_t k = 0; k < sizeof kinds && !first; k++) {
        uint32_t object = k < 2 ? port : evidence_device_of(evidence, port);
        for (uint32_t i = 0; i < evidence->events && told < LISTED; i++) {
            const struct evidence_event *event = &evidence->event[i];
            if (event->kind != kinds[k] || event->object != object) continue;
            if (!first) first = event;
            text_add(buf, size, "%s%.120s", told++ ? "; " : " (",
                     event->detail ? event->detail : "a fault of the line");
        }
    }
    if (told) text_add(buf, size, ")");
    return first;
}

static void link_said(struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    struct said down = said_of(evidence, port, EVIDENCE_EVENT_LINK_WENT_DOWN);
    struct said up = said_of(evidence, port, EVIDENCE_EVENT_LINK_CAME_UP);
    struct said shut = said_of(evidence, port, EVIDENCE_EVENT_PORT_SHUT);
    char text[512], why[420];

    if (rule_found(diagnose, DIAGNOSE_D19, port) || (shut.times && shut.times >= down.times)) return;
    if (!down.times) down.first_s = down.last_s = NAN;
    if (!up.times) up.first_s = up.last_s = NAN;
    if (!down.times && !up.times)
        snprintf(text, sizeof text, "the link at %s is down", name_of(diagnose, port));
    else if (!link_told(text, sizeof text, name_of(diagnose, port), &down, &up))
        return;
    const struct evidence_event *fault = link_why(evidence, port, why, sizeof why);
    bool management = is_management(evidence, port);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D19, port, EVIDENCE_NO_PRIORITY, "%s%s%s", text, why,
                    management ? "; it is the management port, which carries no RDMA" : "");
    finding_event(diagnose, finding, down.first);
    finding_event(diagnose, finding, up.first);
    finding_event(diagnose, finding, fault);
    if (finding && management) finding->severity = DIAGNOSE_INFO;
    finding_weak_unless(finding, false);
}

/* Links that came or went, and those that are down now and whose line says why. */
void links_said(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool *seen = evidence->events ? DIAGNOSE_NEW(diagnose, bool, evidence->objects + 1u) : NULL;

    if (!seen) return;
    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        bool link = event->kind == EVIDENCE_EVENT_LINK_WENT_DOWN || event->kind == EVIDENCE_EVENT_LINK_CAME_UP;
        bool fault = event->kind == EVIDENCE_EVENT_LINE_FAULT;
        if ((!link && !fault) || event->object == EVIDENCE_NONE || seen[event->object]) continue;
        if (evidence->object[event->object].scope != EVIDENCE_PORT) continue;
        if (!link && !is_down(evidence, event->object)) continue;
        seen[event->object] = true;
        link_said(diagnose, event->object);
    }
}

/* --- one finding of an object and some kinds of events --- */

struct sort {
    enum diagnose_rule_id rule;
    enum diagnose_severity severity;
    const char *before, *after; /* of the object's name */
    uint8_t events[3];          /* kinds; ends with 0, which is a link's */
};
static const struct sort sorts[] = {
    {DIAGNOSE_D32,
     DIAGNOSE_CRITICAL,
     "an adapter of ",
     " failed",
     {EVIDENCE_EVENT_ADAPTER_FAILED, EVIDENCE_EVENT_DRIVER_FAILED}},
    {DIAGNOSE_D33, DIAGNOSE_CRITICAL, "a GPU of ", ", or a link between its GPUs, failed", {EVIDENCE_EVENT_GPU_FAILED}},
    {DIAGNOSE_D33, DIAGNOSE_CRITICAL, "a processor or memory of ", " failed", {EVIDENCE_EVENT_HOST_FAULT}},
    {DIAGNOSE_D33, DIAGNOSE_WARNING, "the system of ", " ended a process", {EVIDENCE_EVENT_KILLED}},
    {DIAGNOSE_D33, DIAGNOSE_WARNING, "a disk or file system of ", " failed", {EVIDENCE_EVENT_STORAGE_ERROR}},
    {DIAGNOSE_D23, DIAGNOSE_WARNING, "PCIe of ", " has errors or less than it could", {EVIDENCE_EVENT_BUS_ERROR}},
    {DIAGNOSE_D13, DIAGNOSE_WARNING, "an optic or cable of ", " warns", {EVIDENCE_EVENT_OPTIC_ALARM}},
};
_Static_assert(EVIDENCE_EVENT_LINK_WENT_DOWN == 0, "ends a list of kinds");

static bool is_of(const struct sort *sort, const struct evidence_event *event)
{
    for (size_t i = 0; i < sizeof sort->events && sort->events[i]; i++)
        if (sort->events[i] == event->kind) return true;
    return false;
}

static void sort_said(struct diagnose *diagnose, const struct sort *sort, uint32_t object)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_event *listed[LISTED];
    uint32_t count = 0;
    char text[640];
    size_t size = sizeof text;

    snprintf(text, size, "%s%s%s", sort->before, name_of(diagnose, object), sort->after);
    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->object != object || !is_of(sort, event)) continue;
        if (count < LISTED) {
            listed[count] = event;
            text_add(text, size, "%s%.120s", count ? "; " : ": ",
                     event->detail ? event->detail : evidence_events[event->kind].what);
        }
        count++;
    }
    if (!count) return;
    if (count > LISTED) text_add(text, size, "; and %u more", count - LISTED);
    struct diagnose_finding *finding = finding_new(diagnose, sort->rule, object, EVIDENCE_NO_PRIORITY, "%s", text);
    for (uint32_t i = 0; i < count && i < LISTED; i++)
        finding_event(diagnose, finding, listed[i]);
    if (finding && finding->severity > sort->severity) finding->severity = (uint8_t)sort->severity;
    finding_weak_unless(finding, false);
}

/* Objects in the order in which they were spoken of, each once. */
void rule_said(struct diagnose *diagnose, enum diagnose_rule_id rule)
{
    const struct evidence *evidence = diagnose->evidence;

    for (size_t s = 0; evidence->events && s < sizeof sorts / sizeof sorts[0]; s++) {
        if (sorts[s].rule != rule) continue;
        bool *seen = DIAGNOSE_NEW(diagnose, bool, evidence->objects + 1u);
        for (uint32_t i = 0; seen && i < evidence->events; i++) {
            uint32_t object = evidence->event[i].object;
            if (!is_of(&sorts[s], &evidence->event[i]) || object == EVIDENCE_NONE || seen[object]) continue;
            seen[object] = true;
            sort_said(diagnose, &sorts[s], object);
        }
    }
}

/* A watchdog cut a queue off: who is at the other end of the cable paused it without end. */
void storms_said(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind != EVIDENCE_EVENT_STORM_BEGAN || event->object == EVIDENCE_NONE) continue;
        if (evidence->object[event->object].scope != EVIDENCE_PORT) continue;
        if (diagnose->found[DIAGNOSE_D01] || rule_found(diagnose, DIAGNOSE_D02, event->object)) continue;
        uint32_t peer = evidence->object[event->object].peer;
        struct said ended = said_of(evidence, event->object, EVIDENCE_EVENT_STORM_ENDED);
        struct diagnose_finding *finding = finding_new(
            diagnose, DIAGNOSE_D02, peer != EVIDENCE_NONE ? peer : event->object, event->priority,
            "the pause watchdog cut a queue of %s off %u time%s and gave it back %u time%s: what is at the other end "
            "of its cable paused it without end",
            name_of(diagnose, event->object), event->count, event->count == 1 ? "" : "s", ended.times,
            ended.times == 1 ? "" : "s");
        finding_event(diagnose, finding, event);
        finding_event(diagnose, finding, ended.first);
        finding_weak_unless(finding, false);
    }
}

/* That a queue of it stood still says that it was paused, or that it failed: the pauses decide. */
static void stuck_said(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind == EVIDENCE_EVENT_TRANSMIT_STUCK && event->object != EVIDENCE_NONE)
            missing_add(diagnose, "pauses of %s (ethtool -S DEV | grep pause): a queue of it sent nothing for seconds",
                        name_of(diagnose, event->object));
    }
}

void rule_D32(struct diagnose *diagnose)
{
    rule_said(diagnose, DIAGNOSE_D32);
    stuck_said(diagnose);
}

void rule_D33(struct diagnose *diagnose)
{
    rule_said(diagnose, DIAGNOSE_D33);
    storms_said(diagnose);
    hosts_look(diagnose); /* after the rules that it has parts of */
}
