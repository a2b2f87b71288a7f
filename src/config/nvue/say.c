/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each port of a Cumulus switch says, by the profiles it names; and the watchdog.
 *
 * The watchdog is a port's here and a switch's in a fabric: on where a port has it, and not watched where a port pauses
 * without.
 */
#include <string.h>

#include "base/units.h"
#include "config/nvue/read.h"

static const struct profile *profile_for(struct nvue *in, const struct port *port, enum kind kind)
{
    if (!port->profile[kind]) return nvue_profile(in, kind, "default-global", 0);
    const struct profile *as = nvue_profile(in, kind, port->profile[kind], 0);
    if (!as)
        config_note(in->set, nvue_at(in, port->line[kind]), "MAP007", in->device, CONFIG_NONE,
                    "%s profile '%.60s' is not defined", nvue_kinds[kind], port->profile[kind]);
    return as;
}

static uint32_t or_line(uint32_t line, uint32_t other)
{
    return line ? line : other;
}

static void say_pfc(struct nvue *in, uint32_t p, const struct profile *as)
{
    struct port *port = &in->port[p];
    unsigned bits = as ? as->priorities : 0;
    struct origin at = nvue_at(in, as ? or_line(as->pfc_line, as->line) : or_line(port->line[PFC], 1));

    port->pfc = as && (as->rx || as->tx) ? bits : 0;
    config_say_bits(in->set, at, in->device, p, "pfc.rx", as && as->rx ? bits : 0);
    config_say_bits(in->set, at, in->device, p, "pfc.tx", as && as->tx ? bits : 0);
    /* room that is given in bytes was chosen for no cable in particular, unless that is given too */
    if (port->pfc && as->cable != 0 && (as->cable_line || as->buffer < 0))
        config_say(in->set, nvue_at(in, or_line(as->cable_line, as->line)), in->device, p, "headroom-cable", "%lldm",
                   as->cable > 0 ? (long long)as->cable : (long long)NVUE_CABLE_DEFAULT_M);
}

static void say_group(struct nvue *in, uint32_t p, unsigned tc, const struct profile *as)
{
    bool lossless = in->port[p].pfc >> tc & 1;
    struct origin at = nvue_at(in, as ? or_line(as->pfc_line, as->line) : 1);

    config_say_class(in->set, at, in->device, p, tc, "lossless", lossless ? "true" : "false");
    if (!lossless || as->xoff < 0) return;
    at = nvue_at(in, or_line(as->xoff_line, as->line));
    config_say_class(in->set, at, in->device, p, tc, "reserved", "0B"); /* the threshold is of all of it */
    config_say_class(in->set, at, in->device, p, tc, "xoff", "%lldB", (long long)as->xoff);
    if (as->xon >= 0)
        config_say_class(in->set, nvue_at(in, or_line(as->xon_line, as->line)), in->device, p, tc, "xon", "%lldB",
                         (long long)as->xon);
    at = nvue_at(in, or_line(as->buffer_line, as->line));
    if (as->buffer >= as->xoff)
        config_say_class(in->set, at, in->device, p, tc, "headroom", "%lldB", (long long)(as->buffer - as->xoff));
    else if (as->buffer >= 0)
        config_note(in->set, at, "HR005", in->device, CONFIG_NONE,
                    "pfc %.60s: port-buffer %lld is less than xoff-threshold %lld: no headroom is left", as->name,
                    (long long)as->buffer, (long long)as->xoff);
}

static void say_curve(struct nvue *in, uint32_t p, unsigned tc, const struct profile *as, unsigned q)
{
    const struct curve *curve = as ? &as->curve[q] : NULL;
    struct origin at = nvue_at(in, curve ? curve->line : 1);
    bool bad = curve && curve->on && (curve->max == 0 || curve->min > curve->max || curve->probability == 0);

    if (bad)
        config_note(in->set, at, "ECN002", in->device, CONFIG_NONE,
                    "congestion-control %.60s: %lld to %lld bytes at %lld %% are no marking curve", as->name,
                    (long long)curve->min, (long long)curve->max, (long long)curve->probability);
    if (!curve || !curve->on || bad) {
        config_say_class(in->set, at, in->device, p, tc, "ecn", "false");
        return;
    }
    config_say_class(in->set, nvue_at(in, or_line(curve->min_line, curve->line)), in->device, p, tc, "ecn.min", "%lldB",
                     (long long)curve->min);
    config_say_class(in->set, nvue_at(in, or_line(curve->max_line, curve->line)), in->device, p, tc, "ecn.max", "%lldB",
                     (long long)curve->max);
    config_say_class(in->set, at, in->device, p, tc, "ecn.probability", "%lld%%", (long long)curve->probability);
}

static void say_turns(struct nvue *in, uint32_t p, const struct profile *as, const uint8_t *queue, unsigned classes)
{
    int64_t sum = 0;
    unsigned shared = 0, counted = 0;
    char buf[UNIT_TEXT];

    if (!as) return;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = queue[tc];
        if (!(classes >> tc & 1) || (counted >> q & 1) || !as->scheduled[q] || as->strict[q]) continue;
        counted |= 1u << q;
        sum += as->weight[q];
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = queue[tc];
        if (!(classes >> tc & 1) || !as->scheduled[q]) continue;
        config_say_class(in->set, nvue_at(in, or_line(as->scheduled_line[q], as->line)), in->device, p, tc, "strict",
                         as->strict[q] ? "true" : "false");
        if (as->strict[q] || (shared >> q & 1) || !sum || !as->weight[q]) continue;
        shared |= 1u << q; /* a queue's share is said for the lowest of its classes */
        uint64_t ppm = (uint64_t)(as->weight[q] * 1000000 / sum);
        config_say_class(in->set, nvue_at(in, or_line(as->weight_line[q], as->line)), in->device, p, tc, "share", "%s",
                         unit_format(UNIT_SHARE, ppm ? ppm : 1, buf));
    }
}

void nvue_say_port(struct nvue *in, uint32_t p)
{
    const struct profile *mapping = profile_for(in, &in->port[p], MAPPING);
    const struct profile *queues = profile_for(in, &in->port[p], QUEUES);
    const struct profile *pfc = profile_for(in, &in->port[p], PFC), *marking = profile_for(in, &in->port[p], MARKING);
    struct origin at = nvue_at(in, mapping ? mapping->line : 1);
    uint8_t queue[FABRIC_PRIOS] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned classes = 0;

    /* Without any map a port trusts PCP, as the system does by itself. */
    bool pcp = !mapping || mapping->pcp;
    config_say(in->set, at, in->device, p, "trust", pcp ? "pcp" : "dscp");
    for (unsigned f = 0; f < (pcp ? 8u : 64u); f++) {
        unsigned to = pcp ? (mapping ? mapping->pcp_to[f] : f) : mapping->dscp[f];
        struct origin here = pcp ? at : nvue_at(in, mapping->dscp_line[f]);
        config_say_map(in->set, here, in->device, p, pcp ? "pcp-map" : "dscp-map", f, to);
        classes |= 1u << to;
    }
    if (queues) memcpy(queue, queues->queue, sizeof(queue));
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        config_say_map(in->set, nvue_at(in, queues ? queues->line : 1), in->device, p, "queue-map", tc, queue[tc]);
    if (!config_said(in->set, in->device, p, "mtu"))
        config_say(in->set, at, in->device, p, "mtu", "%u", NVUE_MTU_DEFAULT + NVUE_MTU_OVER);
    say_pfc(in, p, pfc);
    classes |= in->port[p].pfc;
    const struct profile *turns = profile_for(in, &in->port[p], SCHEDULER);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (turns && turns->scheduled[queue[tc]]) classes |= 1u << tc;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(classes >> tc & 1)) continue;
        say_group(in, p, tc, pfc);
        say_curve(in, p, tc, marking, queue[tc]);
    }
    say_turns(in, p, turns, queue, classes);
}

void nvue_say_watchdog(struct nvue *in)
{
    bool any = false, pauses = false;

    for (uint32_t p = 0; p < in->ports; p++) {
        any = any || in->port[p].watchdog;
        pauses = pauses || in->port[p].pfc;
    }
    if (!any) {
        if (pauses) config_say(in->set, nvue_at(in, 0), in->device, CONFIG_NONE, "watchdog", "false");
        return;
    }
    long long detect = (long long)(in->poll * in->robustness);
    uint32_t poll_line = or_line(in->poll_line, 1), detect_line = or_line(in->robustness_line, poll_line);
    config_say(in->set, nvue_at(in, poll_line), in->device, CONFIG_NONE, "watchdog.poll", "%lldms",
               (long long)in->poll);
    config_say(in->set, nvue_at(in, detect_line), in->device, CONFIG_NONE, "watchdog.detect", "%lldms", detect);
    config_say(in->set, nvue_at(in, detect_line), in->device, CONFIG_NONE, "watchdog.restore", "%lldms", detect);
    for (uint32_t p = 0; p < in->ports; p++)
        if (in->port[p].pfc && !in->port[p].watchdog)
            config_say(in->set, nvue_at(in, in->port[p].line[PFC] ? in->port[p].line[PFC] : 1), in->device, p,
                       "watched", "false");
}
