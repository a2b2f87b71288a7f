/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the three answers it is: a cause, clear, or not enough.
 *
 * A cause is a finding that harms.  "Clear" needs more than that there is none: a text without any counter that would
 * have shown a fault says nothing.  See is_clear().
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/answer/standing.h"
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"

#define TEXT 400

const char *const diagnose_answer_names[DIAGNOSE_ANSWERS] = {"clear", "cause", "not-enough"};

/* What was looked at: families of answer/standing.def, a bit each, by device. */
struct looked {
    uint8_t families, twice; /* read; read at two times */
    bool carried;            /* packets are counted, and there were some */
    bool fresh;              /* counters were cleared just before they were read */
};

static struct looked *look(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct looked *looked = DIAGNOSE_NEW(diagnose, struct looked, evidence->objects + 1u);

    for (uint32_t i = 0; looked && i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        uint8_t scope = evidence->object[value->object].scope;
        if (scope != EVIDENCE_DEVICE && scope != EVIDENCE_PORT) continue;
        struct looked *of = &looked[evidence_device_of(evidence, value->object)];
        unsigned family = standing_info[value->counter].family;
        of->families |= (uint8_t)(1u << family);
        if (value->looks > 1) of->twice |= (uint8_t)(1u << family);
        of->fresh |= value->counter == EVIDENCE_CLEARED_S && (double)value->last < diagnose->limits.cleared_least;
        if (value->counter == EVIDENCE_PORT_TX_PACKETS || value->counter == EVIDENCE_PORT_RX_PACKETS)
            of->carried |= value->last > 0;
    }
    return looked;
}

#define BIT(family) (1u << STANDING_##family)

/* Loss would have been seen: by drops, by what NICs count of it; of a device that carried nothing, by wrong bits. */
static bool would_show(const struct looked *looked, unsigned families)
{
    if (families & (BIT(DROPS) | BIT(LOSS))) return true;
    return families & BIT(LINE) && !looked->carried;
}

__attribute__((format(printf, 2, 3))) static void because(struct diagnose *diagnose, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = diagnose_keep(diagnose, text);
    if (kept) diagnose->because = kept;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The worst of what stands out. */
static void because_of(struct diagnose *diagnose, const struct diagnose_standing *standing, uint32_t more)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t object = standing->event ? standing->event->object : standing->value->object;
    char at[TEXT / 2] = "", others[64] = "";

    if (object != EVIDENCE_NONE) snprintf(at, sizeof at, "%s: ", evidence->object[object].name);
    if (more) snprintf(others, sizeof others, ", and %" PRIu32 " more stand%s out", more, more == 1 ? "s" : "");
    if (standing->event)
        because(diagnose, "%s%s%s", at, standing->means, others);
    else if (evidence_counters[standing->value->counter].kind != EVIDENCE_COUNT)
        because(diagnose, "%s%s%s", at, standing->means, others);
    else
        because(diagnose, "%s%s of %" PRIu64 " should be 0%s%s", at, evidence_counters[standing->value->counter].name,
                standing->count, others, standing->grew ? "" : "; one look does not say when it grew");
}

/* A counter that no reader knows: it grew, or was read once. */
static const struct evidence_suspect *find_suspect(const struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->suspects; i++)
        if (evidence->suspect[i].looks < 2 || evidence->suspect[i].now > evidence->suspect[i].before)
            return &evidence->suspect[i];
    return NULL;
}

/* Something keeps the answer from being "clear", whatever else was read: it is said. */
static bool is_spoilt(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_suspect *suspect = find_suspect(evidence);
    uint32_t stands = 0, unknown = evidence->unknowns + evidence->unknowns_left_out;

    for (uint32_t i = 0; i < diagnose->standings; i++)
        stands += standing_counts(&diagnose->standing[i]);
    if (diagnose->full || !evidence_is_whole(evidence))
        because(diagnose, "not everything could be read");
    else if (stands) /* what counts stands first */
        because_of(diagnose, &diagnose->standing[0], stands - 1);
    else if (suspect)
        because(diagnose,
                "%s: %s of %" PRIu64 " (%s:%" PRIu32 ") is a counter that nobody here knows, by its name of a fault",
                evidence->object[suspect->device].name, suspect->name, suspect->now, evidence->file[suspect->file],
                suspect->line);
    else if (unknown)
        because(diagnose, "lines in %" PRIu32 " place%s were not understood", unknown, plural(unknown));
    else
        return false;
    return true;
}

/* The highest rate of a host's links, bytes a second; 0: nobody says it. */
static double host_rate(const struct evidence *evidence, uint32_t host)
{
    double most = 0;

    if (host == EVIDENCE_NONE) return 0;
    EVIDENCE_EACH_PORT(evidence, evidence_device_of(evidence, host), port)
    {
        double rate = (double)port_get(evidence, port, EVIDENCE_RATE) / 8;
        if (rate > most) most = rate;
    }
    return most;
}

/* perftest between two hosts fills the line, as the host's own text says of it.  Of nccl-tests it would say nothing:
 * many adapters have a part in it. */
static bool fills_its_line(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    double least = 2;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        const struct evidence_value *speed = port_find(evidence, job, EVIDENCE_BUSBW);
        const char *program = evidence->object[job].program;
        double rate = host_rate(evidence, evidence->object[job].host);
        if (!speed || rate <= 0 || !program || strncmp(program, "ib_", 3) != 0) return false;
        if (speed->real / rate < least) least = speed->real / rate;
    }
    if (least > 1 || least < diagnose->limits.line_share) return false;
    because(diagnose, "%.0f%% of the line's rate is reached", least * 100);
    return true;
}

/* A job that is not slow by a good run of its own, one that fills its line, or one that is slow for reasons inside of
 * hosts, is clear without any counter of the network. */
static bool work_is_clear(struct diagnose *diagnose)
{
    uint32_t good = 0;

    if (diagnose->acquitted) {
        because(diagnose, "a job is slow, and it is not the network");
        return true;
    }
    if (fills_its_line(diagnose)) return true;
    for (uint32_t i = 0; i < diagnose->trainings; i++) {
        const struct diagnose_training *training = &diagnose->training[i];
        if (training->slow != DIAGNOSE_NO || training->base_is_ideal) return false;
        good++;
    }
    if (good) because(diagnose, "%" PRIu32 " job%s as fast as the baseline", good, good == 1 ? " is" : "s are");
    return good;
}

static bool a_slow_job_is_unexplained(const struct diagnose *diagnose)
{
    for (uint32_t i = 0; i < diagnose->findings; i++)
        if (diagnose->finding[i].rule == DIAGNOSE_D20) return true;
    return false;
}

/* A switch of the fabric file of which nothing was read; EVIDENCE_NONE: there is none. */
static uint32_t unread_switch(const struct evidence *evidence)
{
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct evidence_object *object = &evidence->object[device];
        if (evidence->fabric && object->fabric != EVIDENCE_NONE && !object->looked_at && object->role < FABRIC_ROLES &&
            object->role != FABRIC_ROLE_HOST)
            return device;
    }
    return EVIDENCE_NONE;
}

/*
 * When "clear" is right.  Nothing that harms was found, nothing is left unread or not understood, nothing that a log
 * says and no counter that should be 0 stands out, and one of these:
 *
 * - every device that was read has counters that would have shown loss: its drops, what its NIC counts as lost, or,
 *   where it carried no packet or none are counted, its wrong bits.  Two looks: none of them grew.  One: they are 0
 *   since they were cleared.  Pauses alone are none: 0 is what a port counts on which PFC is off;
 * - a job is as fast as its baseline, fills a line whose rate is known, or is slow for reasons inside of hosts.
 *
 * Not: a rate of a job without a baseline, settings, neighbours, times.  That a counter is not there acquits nobody.
 */
static bool is_clear(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t devices = 0, twice = 0;
    bool packets = false;

    if (is_spoilt(diagnose)) return false;
    if (a_slow_job_is_unexplained(diagnose)) {
        because(diagnose, "a job is slow, and no counter that was read explains it");
        return false;
    }
    uint32_t unread = unread_switch(evidence);
    if (unread != EVIDENCE_NONE) {
        because(diagnose, "nothing was read of %s", evidence->object[unread].name);
        return false;
    }
    struct looked *looked = look(diagnose);
    if (!looked) return false;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct looked *of = &looked[device];
        if (!of->families && !of->carried) continue;
        if (!would_show(of, of->families)) {
            because(diagnose, "no counter of %s was read that would show loss%s", evidence->object[device].name,
                    of->carried ? ", though it carried packets" : "");
            return work_is_clear(diagnose);
        }
        if (of->fresh && !would_show(of, of->twice)) {
            because(diagnose, "counters of %s were cleared just before they were read", evidence->object[device].name);
            return work_is_clear(diagnose);
        }
        devices++;
        twice += would_show(of, of->twice);
        packets |= of->families & (BIT(DROPS) | BIT(LOSS));
    }
    if (!devices) {
        because(diagnose, "no counter was read that would show a fault");
        return work_is_clear(diagnose);
    }
    because(diagnose, "of %" PRIu32 " device%s no %s %s", devices, plural(devices), packets ? "loss" : "bit error",
            twice == devices ? "was counted between the looks" : "is counted, since the counters were cleared");
    return true;
}

/* Nothing has to be asked: it is clear, or some cause is more than weak. */
static bool is_sure(const struct diagnose *diagnose)
{
    for (uint32_t i = 0; i < diagnose->findings; i++)
        if (diagnose->finding[i].severity > DIAGNOSE_INFO && diagnose->finding[i].confidence > DIAGNOSE_WEAK)
            return true;
    return diagnose->answer == DIAGNOSE_CLEAR;
}

void answer_choose(struct diagnose *diagnose)
{
    diagnose->because = "";
    if (diagnose_worst(diagnose) > DIAGNOSE_INFO) {
        diagnose->answer = DIAGNOSE_CAUSE;
    } else if (diagnose->evidence->exact && !diagnose->full && evidence_is_whole(diagnose->evidence)) {
        diagnose->answer = DIAGNOSE_CLEAR; /* all that there is, from the simulator itself */
        because(diagnose, "nothing that harms in all of the run's counters");
    } else {
        diagnose->answer = is_clear(diagnose) ? DIAGNOSE_CLEAR : DIAGNOSE_NOT_ENOUGH;
    }
    if (!diagnose->evidence->exact && !is_sure(diagnose)) asks_choose(diagnose);
}

bool diagnose_not_network(const struct diagnose *diagnose)
{
    bool some = false;

    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->severity == DIAGNOSE_INFO || finding->consequence_of != EVIDENCE_NONE) continue;
        if (finding_is_network(finding)) return false;
        some = true;
    }
    return some;
}
