/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of ends that logs name, and what they have in common.
 *
 * A request that failed says who sent it and to whom, and nothing of the way between.  So one pair is a pair; of
 * several it is the end that all share that is looked at: an adapter, a host, a rail, or none.  The log of one host
 * names its own end in each of them: that this is shared says nothing.
 */
#include "diagnose/jobs/pairs_int.h"

#include <stdio.h>
#include <string.h>

#include "diagnose/nics_int.h"

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : !a && !b;
}

/* The far host: by the address at which its process is called, else the end itself. */
static const char *far_host(const struct evidence_event *event)
{
    return event->detail && !strncmp(event->detail, "peer ", 5) ? event->detail + 5 : event->to;
}

static const char *local_name(const struct evidence *evidence, uint32_t object)
{
    const struct evidence_object *of = object == EVIDENCE_NONE ? NULL : &evidence->object[object];

    return of && of->scope == EVIDENCE_PORT ? of->local_name : NULL;
}

static uint32_t near_host(const struct evidence *evidence, uint32_t object)
{
    if (object == EVIDENCE_NONE || evidence->object[object].scope > EVIDENCE_PORT) return object;
    return evidence_device_of(evidence, object);
}

void pairs_of(struct pairs *pairs, const struct evidence *evidence, unsigned kind)
{
    *pairs = (struct pairs){.adapter = true, .host = true, .rail = true, .to = true, .peer = true};
    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i], *first = pairs->first;
        if (event->kind != kind) continue;
        pairs->pairs++;
        pairs->count += event->count;
        if (!first) {
            pairs->first = event;
            pairs->rail = local_name(evidence, event->object) != NULL;
            pairs->adapter = pairs->rail;
            continue;
        }
        pairs->adapter &= event->object == first->object;
        pairs->host &= near_host(evidence, event->object) == near_host(evidence, first->object);
        pairs->rail &= same(local_name(evidence, event->object), local_name(evidence, first->object));
        pairs->to &= event->to && same(event->to, first->to);
        pairs->peer &= far_host(event) && same(far_host(event), far_host(first));
    }
}

/* "::ffff:10.0.0.1 (h0:mlx5_1)": what the pair's own end is called. */
static void near_end(const struct diagnose *diagnose, const struct evidence_event *event, char *text, size_t size)
{
    const char *name = event->object == EVIDENCE_NONE ? NULL : name_of(diagnose, event->object);

    if (event->from && name)
        snprintf(text, size, "%s (%s)", event->from, name);
    else
        snprintf(text, size, "%s", event->from ? event->from : name ? name : "the program");
}

static void far_end(const struct evidence_event *event, char *text, size_t size)
{
    const char *peer = far_host(event);

    if (!event->to)
        snprintf(text, size, "its peer, which the line does not name");
    else if (peer != event->to)
        snprintf(text, size, "%s (of the peer %s)", event->to, peer);
    else
        snprintf(text, size, "%s", event->to);
}

void pair_ends(const struct diagnose *diagnose, const struct evidence_event *event, char near[PAIR_END],
               char far[PAIR_END])
{
    near_end(diagnose, event, near, PAIR_END);
    far_end(event, far, PAIR_END);
}

void pairs_common(const struct diagnose *diagnose, const struct pairs *pairs, char *text, size_t size)
{
    const struct evidence_event *first = pairs->first;
    const char *peer = far_host(first), *name = first->object == EVIDENCE_NONE ? "?" : name_of(diagnose, first->object);
    const char *rail = local_name(diagnose->evidence, first->object);

    *text = 0;
    if (pairs->pairs < 2) return;
    if (pairs->to && pairs->adapter)
        snprintf(text, size, "; it is one pair, said in %u ways", pairs->pairs);
    else if (pairs->to)
        snprintf(text, size, "; all %u pairs have that far end: its adapter or its link", pairs->pairs);
    else if (pairs->peer && pairs->host)
        snprintf(text, size,
                 "; all %u pairs are of these two hosts, over several adapters: a host, or the switch of one, rather "
                 "than one cable",
                 pairs->pairs);
    else if (pairs->peer)
        snprintf(text, size, "; all %u pairs have the host %s in common", pairs->pairs, peer);
    else if (pairs->adapter)
        snprintf(text, size, "; all %u pairs have %s in common: that adapter, or its link", pairs->pairs, name);
    else if (pairs->rail && !pairs->host)
        snprintf(text, size, "; all %u pairs are of %s of several hosts: that rail's switch", pairs->pairs, rail);
    else if (pairs->host)
        snprintf(text, size,
                 "; of %u pairs this host is one end, and the log is its own: logs of the peers say whether "
                 "they lose others too",
                 pairs->pairs);
    else
        snprintf(text, size, "; %u pairs have no end in common: something between them, or a setting of all",
                 pairs->pairs);
}

/* Of one pair its ends; of several between two hosts these. */
static void name_ends(struct diagnose *diagnose, struct diagnose_finding *finding, const struct pairs *pairs)
{
    const struct evidence_event *first = pairs->first;
    const char *name = first->object == EVIDENCE_NONE ? NULL : name_of(diagnose, first->object);
    const char *near = first->from ? first->from : name, *far = first->to;
    char between[2 * PAIR_END];

    if (pairs->pairs > 1 && !(pairs->to && pairs->adapter)) {
        uint32_t host = near_host(diagnose->evidence, first->object);
        near = pairs->host && pairs->peer && host != EVIDENCE_NONE ? name_of(diagnose, host) : NULL;
        far = far_host(first);
    }
    if (!near || !far) return;
    snprintf(between, sizeof between, "%.150s and %.150s", near, far);
    finding->between = diagnose_keep(diagnose, between);
}

void finding_pairs(struct diagnose *diagnose, struct diagnose_finding *finding, const struct pairs *pairs)
{
    const struct evidence *evidence = diagnose->evidence;

    if (!finding) return;
    name_ends(diagnose, finding, pairs);
    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == pairs->first->kind) finding_event(diagnose, finding, &evidence->event[i]);
}

bool event_before(const struct evidence_event *a, const struct evidence_event *b)
{
    if (a->first_s < b->first_s) return true;
    if (a->first_s > b->first_s) return false;
    return a->file == b->file && a->line < b->line;
}

const struct evidence_event *event_first(const struct evidence *evidence, unsigned kind)
{
    const struct evidence_event *first = NULL;

    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == kind && (!first || event_before(&evidence->event[i], first)))
            first = &evidence->event[i];
    return first;
}
