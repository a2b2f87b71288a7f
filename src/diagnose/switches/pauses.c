/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look of a switch: a watchdog that acted (D02), PFC that is off and a lossless queue that lost nearly all (D08),
 * ports without a lossless priority (D15), two texts that do not agree.  When that is enough is in look_int.h.
 */
#include <inttypes.h>
#include <string.h>

#include "diagnose/graph_int.h"
#include "diagnose/switches/look_int.h"

#define LISTED 4u /* ports that are told in a sentence */

static const struct evidence_event *event_of(const struct evidence *evidence, uint32_t object,
                                             enum evidence_event_kind kind)
{
    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == kind && evidence->event[i].object == object) return &evidence->event[i];
    return NULL;
}

/* --- D02: a watchdog that acted --- */

struct storm {
    uint32_t port;
    unsigned priority;
    bool on; /* cut off now */
    uint64_t times, ended, drops;
    const struct evidence_value *state, *detected;
};

static bool storm_at(const struct evidence *evidence, uint32_t port, unsigned priority, struct storm *storm)
{
    const struct evidence_value *ended = evidence_find(evidence, port, priority, EVIDENCE_WATCHDOG_RESTORED);

    *storm = (struct storm){.port = port, .priority = priority};
    storm->state = evidence_find(evidence, port, priority, EVIDENCE_WATCHDOG_ON);
    storm->detected = evidence_find(evidence, port, priority, EVIDENCE_WATCHDOG_DETECTED);
    storm->on = storm->state && storm->state->last;
    /* As many as were counted: a first look that shows storms shows that they were. */
    storm->times = storm->detected ? storm->detected->last : 0;
    storm->ended = ended ? ended->last : 0;
    storm->drops = evidence_get(evidence, port, priority, EVIDENCE_WATCHDOG_DROPS);
    bool before = storm->detected && storm->detected->looks > 1 && !storm->detected->grown;
    return storm->on || (storm->times && !before);
}

/* A switch that was cut off itself passes on what somebody behind it does. */
static bool passes_on(const struct evidence *evidence, uint32_t device)
{
    struct storm storm;

    if (evidence_is_host(evidence, device)) return false;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            if (storm_at(evidence, port, p, &storm)) return true;
    }
    return false;
}

/* Whether time of pauses is known between two looks, or the pauser's own side: other rules judge by it. */
static bool is_judged_elsewhere(const struct diagnose *diagnose, const struct storm *storm)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[storm->port].peer;
    struct share paused = share_paused(diagnose, storm->port, storm->priority);

    if (evidence->exact || (paused.known && !paused.since_boot)) return true;
    if (peer == EVIDENCE_NONE) return false;
    return passes_on(evidence, evidence_device_of(evidence, peer));
}

static void storm_told(struct diagnose *diagnose, const struct storm *storm)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[storm->port].peer;
    uint32_t culprit = peer != EVIDENCE_NONE ? peer : storm->port;
    bool over = !storm->on && storm->ended >= storm->times;
    char who[160], times[80] = "", drops[64] = "";

    if (storm->times)
        snprintf(times, sizeof times, ", %" PRIu64 " storm%s%s", storm->times, storm->times == 1 ? "" : "s",
                 over ? ", over by now" : "");
    if (storm->drops) snprintf(drops, sizeof drops, "; %" PRIu64 " packets were dropped for it", storm->drops);
    char sentence[256];
    if (peer != EVIDENCE_NONE)
        snprintf(sentence, sizeof sentence, "%.100s pause%s %.100s", name_of(diagnose, peer), storm->on ? "s" : "d",
                 name_of(diagnose, storm->port));
    else
        snprintf(sentence, sizeof sentence, "the device behind %.100s%.120s pause%s it", name_of(diagnose, storm->port),
                 look_behind(evidence, storm->port, who, sizeof who), storm->on ? "s" : "d");
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D02, culprit, storm->priority, "%s without end: the watchdog %s it off%s%s",
                    sentence, storm->on ? "has cut" : "cut", times, drops);
    finding_counter(diagnose, finding, storm->on ? storm->state : NULL, 0);
    finding_counter(diagnose, finding, storm->times ? storm->detected : NULL, 0);
    if (storm->drops)
        finding_counter(diagnose, finding,
                        evidence_find(evidence, storm->port, storm->priority, EVIDENCE_WATCHDOG_DROPS), 0);
    const struct evidence_value *frames =
        evidence_find(evidence, storm->port, storm->priority, EVIDENCE_RX_PAUSE_FRAMES);
    if (frames && frames->last) finding_counter(diagnose, finding, frames, 0);
    look_is_enough(finding);
    if (finding && over) finding->severity = DIAGNOSE_WARNING;
}

void storms_seen(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct storm storm;

    if (diagnose->found[DIAGNOSE_D01] || diagnose->found[DIAGNOSE_D02]) return;
    for (int past = 0; past < 2; past++) { /* what is cut off now is told first */
        EACH_PORT(evidence, device, port)
        {
            for (unsigned p = 0; p < EVIDENCE_PRIORITIES && !evidence_is_host(evidence, device); p++)
                if (storm_at(evidence, port, p, &storm) && storm.on == !past && !is_judged_elsewhere(diagnose, &storm))
                    storm_told(diagnose, &storm);
        }
    }
}

/* --- D08: PFC that is off --- */

/* The port says of some priority whether PFC is on, and of none that it is; NULL: else. */
static const struct evidence_value *all_off(const struct evidence *evidence, uint32_t port)
{
    const struct evidence_value *off = NULL;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *one = evidence_find(evidence, port, p, EVIDENCE_PFC_ON);
        if (one && one->last) return NULL;
        if (one) off = one;
    }
    return off;
}

/* Every port of every switch that says it has PFC off, where it was asked for or could be: nothing is lossless. */
static void off_everywhere(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_event *asked[LISTED];
    uint32_t ports = 0, refused = 0;
    char names[200] = "";

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        const struct evidence_event *event = event_of(evidence, port, EVIDENCE_EVENT_PFC_NOT_AGREED);
        if (!all_off(evidence, port)) continue;
        ports++;
        if (!event || refused++ >= LISTED) continue;
        asked[refused - 1] = event;
        text_add(names, sizeof names, "%s%.40s", refused > 1 ? ", " : "", evidence->object[port].local_name);
    }
    if (!refused || rule_found(diagnose, DIAGNOSE_D08, asked[0]->object)) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D08, asked[0]->object, EVIDENCE_NO_PRIORITY,
                    "PFC is off on all %" PRIu32 " ports of %s that say it (%s%s: %s): no class of it is lossless",
                    ports, name_of(diagnose, device), names, refused > LISTED ? " and more" : "",
                    asked[0]->detail ? asked[0]->detail : "not agreed with the other end");
    for (uint32_t i = 0; i < refused && i < LISTED; i++) {
        if (i) finding_also(diagnose, finding, asked[i]->object);
        finding_event(diagnose, finding, asked[i]);
    }
    EACH_PORT(evidence, host, port)
    {
        if (evidence_is_host(evidence, host)) finding_counter(diagnose, finding, all_off(evidence, port), 1);
    }
    look_is_enough(finding);
    if (finding) finding->severity = DIAGNOSE_WARNING;
}

/* --- D08: a queue that lost what went through it --- */

/* What SONiC calls lossless where nobody says otherwise. */
static bool is_by_default(const struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    const struct evidence *evidence = diagnose->evidence;
    const char *system = evidence->object[evidence->object[port].parent].system;

    return system && !strcmp(system, "sonic") && (priority == 3 || priority == 4) && !diagnose->graph->lossless;
}

static void standing_queue(struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *drops = evidence_find(evidence, port, priority, EVIDENCE_QUEUE_DROPS);
    const struct evidence_value *sent = evidence_find(evidence, port, priority, EVIDENCE_TX_PACKETS);

    if (!drops || !sent || drops->looks > 1 || drops->last < LOOK_PACKETS_LEAST) return;
    double share = (double)drops->last / ((double)drops->last + (double)sent->last);
    if (share < diagnose->limits.dropped_share || rule_found(diagnose, DIAGNOSE_D08, port)) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D08, port, priority,
        "%s dropped %.4g%% of the packets of priority %u (%" PRIu64 ", and sent %" PRIu64
        "), which SONiC makes lossless: its queue stands still, cut off by a watchdog or paused without end",
        name_of(diagnose, port), 100 * share, priority, drops->last, sent->last);
    finding_counter(diagnose, finding, drops, 0);
    finding_counter(diagnose, finding, sent, 0);
    look_is_enough(finding);
    missing_add(diagnose, "the watchdog's statistics and the pauses of %s (show pfcwd stats; show pfc counters)",
                name_of(diagnose, port));
}

/* --- D15: no lossless class at all --- */

void classes_seen(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind != EVIDENCE_EVENT_CLASS_MISSING || event->object == EVIDENCE_NONE) continue;
        if (rule_found(diagnose, DIAGNOSE_D15, event->object)) continue;
        const struct evidence_event *idle = event_of(evidence, event->object, EVIDENCE_EVENT_WATCHDOG_OFF);
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D15, event->object, EVIDENCE_NO_PRIORITY,
                        "%s has no lossless priority: RDMA that comes this way is in a class like any other%s",
                        name_of(diagnose, event->object), idle ? ", and the pause watchdog does not run on it" : "");
        finding_event(diagnose, finding, event);
        finding_event(diagnose, finding, idle);
        look_is_enough(finding);
    }
}

/* --- two texts of one switch that do not agree --- */

/* A chip's own counters ("0x10500") say pauses of a priority, and all of the tool's say none. */
static void disagreement(struct diagnose *diagnose, uint32_t device, unsigned priority)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *chip = NULL, *tool = NULL;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *value = evidence_find(evidence, port, priority, EVIDENCE_RX_PAUSE_FRAMES);
        bool own = !strncmp(evidence->object[port].local_name, "0x", 2);
        if (!value) continue;
        if (own && value->last) chip = value;
        if (!own && value->last) return;
        if (!own) tool = value;
    }
    if (chip && tool)
        missing_add(diagnose,
                    "why two texts of %s disagree: the chip counts %" PRIu64
                    " pause frames of priority %u at %s, and the tool 0 at every port: neither acquits it",
                    name_of(diagnose, device), chip->last, priority, evidence->object[chip->object].local_name);
}

void lossless_seen(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool on = diagnose->counters[EVIDENCE_PFC_ON].positive;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (device_is_host(evidence, device)) continue;
        if (!on && evidence->events) off_everywhere(diagnose, device);
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
            disagreement(diagnose, device, p);
            EVIDENCE_EACH_PORT(evidence, device, port)
            {
                bool lossless = is_lossless(diagnose, p) || is_by_default(diagnose, port, p);
                if (lossless && !diagnose->found[DIAGNOSE_D02]) standing_queue(diagnose, port, p);
            }
        }
    }
}
