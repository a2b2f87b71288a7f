/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that say that a peer does not answer: requests of which the retries were used up (part of D14), and peers that
 * were not reached before the first packet (D34).
 *
 * A log names the pair and not the way between: all of it is weak.  A link of a host that went down before is the
 * reason where there is one; flushes are what follows, and nobody asks for them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/jobs/pairs_int.h"
#include "diagnose/nics_int.h"

#define DETAILS 3 /* different reasons that a sentence has */

/* --- D14 --- */

static bool is_host_itself(const struct evidence *evidence, const struct evidence_event *event)
{
    return event->kind == EVIDENCE_EVENT_LINK_WENT_DOWN && event->object != EVIDENCE_NONE &&
           evidence->object[event->object].scope == EVIDENCE_DEVICE && device_is_host(evidence, event->object);
}

bool peers_were_lost(const struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == EVIDENCE_EVENT_RETRY_EXHAUSTED || is_host_itself(evidence, &evidence->event[i]))
            return true;
    return false;
}

/* A link of a host, where the log does not say of which adapter: those it names are D19's. */
static void link_of_host(struct diagnose *diagnose, const struct evidence_event *down)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_event *up = NULL;
    char times[48] = "";

    if (rule_found(diagnose, DIAGNOSE_D19, down->object)) return;
    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == EVIDENCE_EVENT_LINK_CAME_UP && evidence->event[i].object == down->object)
            up = &evidence->event[i];
    if (down->count > 1) snprintf(times, sizeof times, ", which its log says %" PRIu32 " times", down->count);
    struct diagnose_finding *finding = finding_new(
        diagnose, up ? DIAGNOSE_D19 : DIAGNOSE_D14, down->object, EVIDENCE_NO_PRIORITY, "a link of %s went down%s%s",
        name_of(diagnose, down->object), times, up ? ", and came up again" : "");
    finding_event(diagnose, finding, down);
    finding_event(diagnose, finding, up);
    finding_weak_unless(finding, false);
}

static void requests_failed(struct diagnose *diagnose)
{
    char near[PAIR_END], far[PAIR_END], common[240];
    struct pairs pairs;

    pairs_of(&pairs, diagnose->evidence, EVIDENCE_EVENT_RETRY_EXHAUSTED);
    if (!pairs.first) return;
    pair_ends(diagnose, pairs.first, near, far);
    pairs_common(diagnose, &pairs, common, sizeof common);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D14, pairs.first->object, EVIDENCE_NO_PRIORITY,
                    "requests got no answer, retries were used up %" PRIu64 " time%s: %s%s to %s%s", pairs.count,
                    pairs.count == 1 ? "" : "s", pairs.pairs > 1 ? "first " : "", near, far, common);
    finding_pairs(diagnose, finding, &pairs);
    finding_weak_unless(finding, false);
    if (finding) finding->severity = DIAGNOSE_WARNING;
    missing_add(diagnose,
                "counters of the adapters at both ends (ethtool -S DEV, rdma statistic show) and of the switch ports "
                "between them, before and after a failure; ib_write_bw between the two says whether it is the path");
}

void peers_lost_said(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->events; i++)
        if (is_host_itself(evidence, &evidence->event[i])) link_of_host(diagnose, &evidence->event[i]);
    requests_failed(diagnose);
}

/* --- D34 --- */

/* What was said of them, each once: "queue pair to RTR: No route to host; a socket of the test". */
static void reasons_of(const struct evidence *evidence, unsigned kind, char *text, size_t size)
{
    const char *said[DETAILS];
    unsigned count = 0;

    *text = 0;
    for (uint32_t i = 0; i < evidence->events && count < DETAILS; i++) {
        const struct evidence_event *event = &evidence->event[i];
        bool again = event->kind != kind || !event->detail || !strncmp(event->detail, "peer ", 5);
        for (unsigned k = 0; k < count; k++)
            again |= !again && !strcmp(said[k], event->detail);
        if (again) continue;
        said[count] = event->detail;
        text_add(text, size, "%s%.120s", count++ ? "; " : "", event->detail);
    }
}

/* The first three numbers of two IPv4 addresses differ. */
static bool in_other_subnets(const char *a, const char *b)
{
    const char *end[2] = {a ? strrchr(a, '.') : NULL, b ? strrchr(b, '.') : NULL};

    if (!end[0] || !end[1] || strchr(a, ':') || strchr(b, ':')) return false;
    return end[0] - a != end[1] - b || strncmp(a, b, (size_t)(end[0] - a)) != 0;
}

static const struct evidence_event *wrong_gid(const struct evidence *evidence)
{
    const struct evidence_event *retry = event_first(evidence, EVIDENCE_EVENT_RETRY_EXHAUSTED);
    const struct evidence_event *reach = event_first(evidence, EVIDENCE_EVENT_UNREACHABLE);

    return retry || reach ? event_first(evidence, EVIDENCE_EVENT_GID_WRONG) : NULL; /* on one link they work */
}

static void ask_for_addresses(struct diagnose *diagnose)
{
    missing_add(diagnose,
                "the addresses of both ends (show_gids or `rdma link`, `ip addr`, `ip route get` to the other "
                "end's address), and ping from address to address");
}

static void gid_is_wrong(struct diagnose *diagnose, const struct evidence_event *gid)
{
    char near[PAIR_END], far[PAIR_END];

    pair_ends(diagnose, gid, near, far);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D34, gid->object, EVIDENCE_NO_PRIORITY,
                    "%s talks %s%s%swith a GID that does not reach it over a routed fabric: %s", near,
                    gid->to ? "to " : "", gid->to ? far : "", gid->to ? " " : "",
                    gid->detail && strncmp(gid->detail, "peer ", 5) != 0 ? gid->detail : "link-local, or none");
    finding_event(diagnose, finding, gid);
    finding_event(diagnose, finding, event_first(diagnose->evidence, EVIDENCE_EVENT_UNREACHABLE));
    finding_weak_unless(finding, false);
    ask_for_addresses(diagnose);
}

/* Addresses that changed while the job ran, before requests got no answer. */
static bool gids_changed(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_event *changed = event_first(evidence, EVIDENCE_EVENT_GID_CHANGED);
    const struct evidence_event *retry = event_first(evidence, EVIDENCE_EVENT_RETRY_EXHAUSTED);

    if (!changed || !retry || !event_before(changed, retry)) return false;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D34, changed->object, EVIDENCE_NO_PRIORITY,
        "the table of GIDs at %s changed while the job ran, and then requests got no answer: an address was "
        "taken away or given anew (DHCP, a container's network, an interface that went down)",
        changed->object == EVIDENCE_NONE ? "this host" : name_of(diagnose, changed->object));
    finding_event(diagnose, finding, changed);
    finding_weak_unless(finding, false);
    ask_for_addresses(diagnose);
    return true;
}

void rule_D34(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_event *gid = wrong_gid(evidence);
    char near[PAIR_END], far[PAIR_END], common[240], reasons[400];
    struct pairs pairs;

    if (gids_changed(diagnose)) return;
    if (gid) {
        gid_is_wrong(diagnose, gid);
        return;
    }
    pairs_of(&pairs, evidence, EVIDENCE_EVENT_UNREACHABLE);
    if (!pairs.first) return;
    pair_ends(diagnose, pairs.first, near, far);
    pairs_common(diagnose, &pairs, common, sizeof common);
    reasons_of(evidence, EVIDENCE_EVENT_UNREACHABLE, reasons, sizeof reasons);
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D34, pairs.first->object, EVIDENCE_NO_PRIORITY, "%s did not reach %s%s%s%s%s", near, far,
        *reasons ? " (" : "", reasons, *reasons ? ")" : "",
        in_other_subnets(pairs.first->from, pairs.first->to) ? "; the two addresses are of different subnets" : "");
    finding_pairs(diagnose, finding, &pairs);
    finding_weak_unless(finding, false);
    ask_for_addresses(diagnose);
}
