/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would decide: at most five commands to type, the deciding one first.
 *
 * What would make a weak cause sure, then what stands out: once more, where it was looked at once; what tells its
 * reasons apart; the other end of its cable.  Where nothing stands out: counters of whoever was read and showed none
 * that could have failed, and what a job's own text lacks.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/answer/standing.h"
#include "diagnose/nics_int.h"

#define ASKS_MOST 5
#define TEXT 256

const char *const diagnose_needs[DIAGNOSE_NEEDS] = {
#define NEED(id, what) what,
#include "diagnose/answer/asks.def"
};
const struct diagnose_ask_row diagnose_ask_rows[] = {
#define ASK(need, system, command, kind) {DIAGNOSE_NEED_##need, system, command, kind},
#include "diagnose/answer/asks.def"
};
const uint32_t diagnose_ask_row_count = sizeof diagnose_ask_rows / sizeof diagnose_ask_rows[0];

/* --- making one --- */

/* The system's own command, with the port's name in it; NULL: there is none. */
static const char *command_of(struct diagnose *diagnose, enum diagnose_need need, const char *system, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    const char *name = "PORT";
    char text[TEXT];

    if (port != EVIDENCE_NONE && evidence->object[port].scope == EVIDENCE_PORT)
        name = evidence->object[port].local_name ? evidence->object[port].local_name : evidence->object[port].name;
    for (uint32_t i = 0; system && i < diagnose_ask_row_count; i++) {
        const struct diagnose_ask_row *row = &diagnose_ask_rows[i];
        if (row->need != need || strcmp(row->system, system) != 0) continue;
        const char *hash = strchr(row->command, '#');
        if (!hash) return row->command;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(hash - row->command), row->command, name, hash + 1);
        return diagnose_keep(diagnose, text);
    }
    return NULL;
}

static const char *system_of(const struct evidence *evidence, uint32_t device)
{
    const char *system = evidence->object[device].system;
    return system ? system : device_is_host(evidence, device) ? "host" : NULL;
}

static bool is_asked(const struct diagnose *diagnose, const char *device, const char *command, enum diagnose_need need)
{
    for (uint32_t i = 0; i < diagnose->asks; i++) {
        const struct diagnose_ask *ask = &diagnose->ask[i];
        if (strcmp(ask->device ? ask->device : "", device ? device : "") != 0) continue;
        if (command && ask->command ? !strcmp(ask->command, command) : ask->need == need) return true;
    }
    return false;
}

/* `port`: of the device, or the device itself; EVIDENCE_NONE: a job's.  `device`: its name, where it is no object. */
__attribute__((format(printf, 6, 7))) static void ask(struct diagnose *diagnose, const char *device, const char *system,
                                                      uint32_t port, enum diagnose_need need, const char *why, ...)
{
    char text[TEXT];
    va_list arguments;

    if (diagnose->asks >= ASKS_MOST) return;
    const char *command = command_of(diagnose, need, system, port);
    if (is_asked(diagnose, device, command, need)) return;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    const char *kept = diagnose_keep(diagnose, text);
    if (!kept || !MORE(diagnose, diagnose->ask, diagnose->asks)) return;
    diagnose->ask[diagnose->asks++] =
        (struct diagnose_ask){.device = device, .command = command, .need = (uint8_t)need, .why = kept};
}

#define ASK_OBJECT(diagnose, object_id, need, ...)                                                                     \
    do {                                                                                                               \
        uint32_t device_ = evidence_device_of((diagnose)->evidence, object_id);                                        \
        ask(diagnose, (diagnose)->evidence->object[device_].name, system_of((diagnose)->evidence, device_), object_id, \
            need, __VA_ARGS__);                                                                                        \
    } while (0)

/* --- what stands out --- */

/* The output that shows the counter itself. */
static enum diagnose_need shown_by(const struct diagnose *diagnose, const struct evidence_value *value)
{
    const struct standing_info *info = &standing_info[value->counter];

    if (value->counter == EVIDENCE_WATCHDOG_DETECTED || value->counter == EVIDENCE_WATCHDOG_DROPS ||
        value->counter == EVIDENCE_WATCHDOG_ON)
        return DIAGNOSE_NEED_WATCHDOG;
    if (value->counter == EVIDENCE_PORT_RX_DROPS || value->counter == EVIDENCE_PORT_TX_DROPS ||
        value->counter == EVIDENCE_PORT_DROPS) /* where errors of the interface are */
        return device_is_host(diagnose->evidence, evidence_device_of(diagnose->evidence, value->object))
                   ? DIAGNOSE_NEED_DROPS
                   : DIAGNOSE_NEED_ERRORS;
    switch (info->family) {
    case STANDING_PAUSES:
        return DIAGNOSE_NEED_PAUSES;
    case STANDING_LOSS:
        return value->counter == EVIDENCE_RX_DISCARDS ? DIAGNOSE_NEED_DROPS : DIAGNOSE_NEED_NIC;
    case STANDING_LINE:
        return DIAGNOSE_NEED_ERRORS;
    case STANDING_ASIDE:
        if (value->counter == EVIDENCE_MTU_DROPS || value->counter == EVIDENCE_ROUTE_DROPS) return DIAGNOSE_NEED_ERRORS;
        return (enum diagnose_need)info->ask;
    default:
        return DIAGNOSE_NEED_QUEUES;
    }
}

static bool is_port(const struct evidence *evidence, uint32_t object)
{
    return evidence->object[object].scope == EVIDENCE_PORT;
}

/* Whoever is at the other end: read, known by name alone, or not known. */
static void other_end(struct diagnose *diagnose, const struct evidence_value *value)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t port = value->object;

    if (!is_port(evidence, port)) return;
    uint32_t peer = evidence->object[port].peer;
    if (peer != EVIDENCE_NONE) {
        uint32_t device = evidence_device_of(evidence, peer);
        if (!evidence->object[device].looked_at)
            ASK_OBJECT(diagnose, peer, shown_by(diagnose, value), "the other end of %s", evidence->object[port].name);
        return;
    }
    uint32_t said =
        evidence->object[port].neighbour[0] ? evidence->object[port].neighbour[0] : evidence->object[port].neighbour[1];
    if (said) {
        const struct evidence_neighbour *neighbour = &evidence->neighbour[said - 1];
        ask(diagnose, neighbour->device, NULL, EVIDENCE_NONE, shown_by(diagnose, value), "the other end of %s",
            evidence->object[port].name);
    } else {
        ASK_OBJECT(diagnose, port, DIAGNOSE_NEED_NEIGHBOURS, "who is behind %s", evidence->object[port].name);
    }
}

static void about_standing(struct diagnose *diagnose, const struct diagnose_standing *standing)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *value = standing->value;
    const char *counter = evidence_counters[value->counter].name;
    bool level = evidence_counters[value->counter].kind != EVIDENCE_COUNT;
    enum diagnose_need decides = (enum diagnose_need)standing_info[value->counter].ask,
                       shows = shown_by(diagnose, value);

    if (!standing_counts(standing)) return;
    if (value->looks < 2 && !standing_is_logged(diagnose, value))
        ASK_OBJECT(diagnose, value->object, shows, "a second time, ten seconds later: whether %s %s", counter,
                   level ? "is still so" : "grows");
    if (decides != shows || value->looks > 1 || standing_is_logged(diagnose, value))
        ASK_OBJECT(diagnose, value->object, decides, "%s: why %s counts", diagnose_needs[decides], counter);
    if (is_port(evidence, value->object)) other_end(diagnose, value);
}

/* --- what logs say --- */

static void about_event(struct diagnose *diagnose, const struct evidence_event *event)
{
    bool on_device =
        event->object != EVIDENCE_NONE && evidence_device_of(diagnose->evidence, event->object) != EVIDENCE_NONE;

    switch (event->kind) {
    case EVIDENCE_EVENT_COLLECTIVE_TIMEOUT:
    case EVIDENCE_EVENT_RANK_MISSING:
    case EVIDENCE_EVENT_RANK_BEHIND:
    case EVIDENCE_EVENT_RANKS_DIFFER:
        ask(diagnose, NULL, "job", EVIDENCE_NONE, DIAGNOSE_NEED_RECORDER, "%s: who has not come",
            diagnose_needs[DIAGNOSE_NEED_RECORDER]);
        ask(diagnose, NULL, "job", EVIDENCE_NONE, DIAGNOSE_NEED_RANKS, "%s", diagnose_needs[DIAGNOSE_NEED_RANKS]);
        return;
    case EVIDENCE_EVENT_RETRY_EXHAUSTED:
    case EVIDENCE_EVENT_UNREACHABLE:
    case EVIDENCE_EVENT_GID_WRONG:
    case EVIDENCE_EVENT_RNR_EXHAUSTED:
        if (on_device)
            ASK_OBJECT(diagnose, event->object, DIAGNOSE_NEED_NIC, "%s, also of the peer",
                       diagnose_needs[DIAGNOSE_NEED_NIC]);
        ask(diagnose, NULL, "job", EVIDENCE_NONE, DIAGNOSE_NEED_PATH, "%s", diagnose_needs[DIAGNOSE_NEED_PATH]);
        return;
    case EVIDENCE_EVENT_FLUSHED:
    case EVIDENCE_EVENT_DISCONNECTED:
        ask(diagnose, NULL, "job", EVIDENCE_NONE, DIAGNOSE_NEED_JOB_LOG, "%s: what came first",
            diagnose_needs[DIAGNOSE_NEED_JOB_LOG]);
        return;
    case EVIDENCE_EVENT_LINK_WENT_DOWN:
    case EVIDENCE_EVENT_LINE_FAULT:
    case EVIDENCE_EVENT_OPTIC_ALARM:
        if (on_device)
            ASK_OBJECT(diagnose, event->object, DIAGNOSE_NEED_ERRORS, "%s, twice",
                       diagnose_needs[DIAGNOSE_NEED_ERRORS]);
        return;
    case EVIDENCE_EVENT_STORM_BEGAN:
        if (on_device)
            ASK_OBJECT(diagnose, event->object, DIAGNOSE_NEED_PAUSES, "%s: whether it goes on",
                       diagnose_needs[DIAGNOSE_NEED_PAUSES]);
        return;
    default:
        if (on_device)
            ASK_OBJECT(diagnose, event->object, DIAGNOSE_NEED_LOG, "%s besides", diagnose_needs[DIAGNOSE_NEED_LOG]);
    }
}

/* --- what was read and shows nothing --- */

static void about_device(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t port = evidence->object[device].next == EVIDENCE_NONE ? device : evidence->object[device].next;
    bool host = evidence_is_host(evidence, device) || device_is_host(evidence, device);

    if (host) ASK_OBJECT(diagnose, port, DIAGNOSE_NEED_NIC, "%s", diagnose_needs[DIAGNOSE_NEED_NIC]);
    ASK_OBJECT(diagnose, port, DIAGNOSE_NEED_QUEUES, "%s", diagnose_needs[DIAGNOSE_NEED_QUEUES]);
    ASK_OBJECT(diagnose, port, DIAGNOSE_NEED_ERRORS, "%s", diagnose_needs[DIAGNOSE_NEED_ERRORS]);
}

static void about_jobs(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        uint32_t host = evidence->object[job].host;
        if (host != EVIDENCE_NONE)
            ask(diagnose, evidence->object[evidence_device_of(evidence, host)].name, "host", host, DIAGNOSE_NEED_RATE,
                "%s: what %s could reach", diagnose_needs[DIAGNOSE_NEED_RATE], evidence->object[job].name);
    }
    if (evidence->first[EVIDENCE_JOB] == EVIDENCE_NONE) return;
    ask(diagnose, NULL, "job", EVIDENCE_NONE, DIAGNOSE_NEED_PATH, "%s", diagnose_needs[DIAGNOSE_NEED_PATH]);
}

/* --- a cause that is weak --- */

/* What would make it sure: counters of whom it blames, twice, and of the other end; of a log's words the pair's. */
static void about_finding(struct diagnose *diagnose, const struct diagnose_finding *finding)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t at = finding->culprit;

    if (finding->severity == DIAGNOSE_INFO || finding->consequence_of != EVIDENCE_NONE || at == EVIDENCE_NONE) return;
    if (evidence->object[at].scope != EVIDENCE_PORT && evidence->object[at].scope != EVIDENCE_DEVICE) {
        ask(diagnose, NULL, "job", EVIDENCE_NONE, DIAGNOSE_NEED_RECORDER, "%s", diagnose_needs[DIAGNOSE_NEED_RECORDER]);
        return;
    }
    for (uint32_t e = 0; e < finding->evidences; e++) {
        const struct diagnose_evidence *row = &finding->evidence[e];
        if (row->event) about_event(diagnose, &evidence->event[row->event - 1]);
        for (unsigned c = 0; !row->event && c < EVIDENCE_COUNTERS; c++) {
            const struct evidence_value *value =
                row->counter != evidence_counters[c].name
                    ? NULL
                    : evidence_find(evidence, row->object, row->priority, (enum evidence_counter)c);
            struct diagnose_standing standing = {.value = value};
            if (value && standing_info[c].family != STANDING_NOT && value->last) about_standing(diagnose, &standing);
        }
    }
}

void asks_choose(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < diagnose->findings && diagnose->asks < ASKS_MOST; i++)
        about_finding(diagnose, &diagnose->finding[i]);
    for (uint32_t i = 0; i < diagnose->standings && diagnose->asks < ASKS_MOST; i++) {
        const struct diagnose_standing *standing = &diagnose->standing[i];
        if (standing->event)
            about_event(diagnose, standing->event);
        else
            about_standing(diagnose, standing);
    }
    if (diagnose->answer == DIAGNOSE_CAUSE || (diagnose->standings && standing_counts(&diagnose->standing[0]))) return;
    for (int looked_at = 0; looked_at < 2; looked_at++)
        EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
        {
            const struct evidence_object *object = &evidence->object[device];
            bool expected = object->looked_at || (evidence->fabric && object->fabric != EVIDENCE_NONE);
            if (diagnose->asks < ASKS_MOST && expected && object->looked_at == looked_at)
                about_device(diagnose, device);
        }
    about_jobs(diagnose);
}
