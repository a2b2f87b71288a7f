/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that counters of switches and hosts answer: whether the cluster is as the file has it, what an idle fabric
 * counts, what a load leaves in lossless queues, headroom and pauses.
 */
#include <string.h>

#include "validate/measured/measured.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define IDLE_SHARE 0.01              /* of the busiest line: nobody works */
#define PAUSE_BITS (65535.0 * 512.0) /* that one frame can pause for */

/* --- as the file has it --- */

static void judge_devices(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    uint32_t devices = 0, missing = 0, strangers = 0;
    const char *first = "", *stranger = "";

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct evidence_object *one = &evidence->object[device];
        if (one->fabric == EVIDENCE_NONE) {
            if (one->looked_at && !strangers++) stranger = one->name;
            continue;
        }
        devices++;
        if (!one->looked_at && !missing++) first = one->name;
    }
    if (strangers)
        validate_tell(of, VALIDATE_WARN, "devices that the fabric file does not have",
                      "every output is of a device of the file", "%u: %.100s%s", strangers, stranger,
                      strangers > 1 ? " and others" : "");
    if (missing)
        validate_skip(of, "devices that nothing was read of", "%u of %u: %.100s%s; rows below judge the others",
                      missing, devices, first, missing > 1 ? " and others" : "");
    else
        validate_tell(of, VALIDATE_PASS, "devices that nothing was read of", "an output of every device of the file",
                      "%u of %u", 0u, devices);
}

/* Of what a walk over the cables finds, what is set or plugged otherwise than the file says. */
static void judge_links(struct validate_case *of)
{
    static const char subject[] = "cables and ports that are not as the file has them";
    const struct walk *walk = &of->plan->measured->walk;
    const char *why = "", *source = "";
    uint32_t wrong = 0;

    for (uint32_t i = 0; i < walk->problems; i++) {
        const struct walk_problem *problem = &walk->problem[i];
        if (problem->kind != WALK_DOWN && problem->kind != WALK_RATE && problem->kind != WALK_MTU &&
            problem->kind != WALK_PFC && problem->kind != WALK_NEIGHBOUR)
            continue;
        if (wrong++) continue;
        why = case_text(of, "%s: %.250s", walk_kind_names[problem->kind], problem->what);
        source = measured_at(of, problem->file, problem->line);
    }
    const struct evidence_value *seen = MEASURED_ANY(of, false, EVIDENCE_RATE, EVIDENCE_LINK_UP);
    if (!wrong && seen) source = measured_at(of, seen->file, seen->line);
    if (!wrong && !seen)
        validate_skip(of, subject, "no output says state and rate of ports: show interfaces status, ethtool DEV");
    else
        JUDGE(of, .subject = subject, .criterion = CRITERION_DIFFERENCES, .value = wrong, .why = why, .source = source);
}

void measured_inputs(struct validate_case *of)
{
    inputs_judge_file(of);
    judge_devices(of);
    measured_versions(of);
    judge_links(of);
    measured_rules(of, "ports whose rate or MTU is too small for what is sent", "D06 D16", CRITERION_DIFFERENCES,
                   MEASURED_ANY(of, true, EVIDENCE_PORT_TX_BYTES, EVIDENCE_TX_BYTES),
                   "no two looks at the bytes of ports: show interfaces counters");
}

/* --- without load --- */

static double line_of(const struct validate_case *of, uint32_t port)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    uint32_t p = evidence->object[port].fabric;

    return p < of->fabric->ports ? (double)of->fabric->port[p].rate_bps : 0;
}

/* Of the busiest line, between the first and the last look; below 0: not known. */
static double busiest(const struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    double most = -1;

    for (uint32_t i = 0; i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        if (value->counter != EVIDENCE_PORT_TX_BYTES || value->looks < 2 || evidence_span_s(value) <= 0) continue;
        double rate = line_of(of, value->object);
        double share = rate > 0 ? (double)value->grown * 8 / evidence_span_s(value) / rate : 0;
        if (share > most) most = share;
    }
    return most;
}

static bool is_event(unsigned counter)
{
    switch (counter) {
    case EVIDENCE_RX_PAUSE_FRAMES:
    case EVIDENCE_PORT_RX_PAUSE_FRAMES:
    case EVIDENCE_MARKED:
    case EVIDENCE_QUEUE_DROPS:
    case EVIDENCE_GROUP_DROPS:
    case EVIDENCE_WRED_DROPS:
    case EVIDENCE_RETRANSMITTED:
    case EVIDENCE_ACK_TIMEOUTS:
        return true;
    default:
        return false;
    }
}

void measured_idle(struct validate_case *of)
{
    static const char subject[] = "between two looks without load: pauses, marks, drops, packets sent again";
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *why = "", *source = "";
    double share = busiest(of);
    uint64_t events = 0, worst = 0;

    if (validate_skip_if(of, share < 0, subject,
                         "no two looks at the bytes of ports: dumps DIR/TIME/DEVICE, ten seconds apart, without jobs"))
        return;
    if (validate_skip_if(of, share > IDLE_SHARE, subject,
                         "the busiest line carried %.1f %% of its rate: dumps without jobs would answer it",
                         100 * share))
        return;
    for (uint32_t i = 0; i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        if (!is_event(value->counter) || value->looks < 2) continue;
        events += value->grown;
        if (value->grown <= worst) continue;
        worst = value->grown;
        why = case_text(of, "%.100s: %s %llu", evidence->object[value->object].name,
                        evidence_counters[value->counter].name, (unsigned long long)value->grown);
        source = measured_at(of, value->file, value->line);
    }
    JUDGE(of, .subject = subject, .criterion = CRITERION_IDLE_EVENTS, .value = (double)events, .why = why,
          .source = source);
}

/* --- under load --- */

struct worst { /* of what is looked at */
    double value;
    bool known, bound; /* bound: at most this much */
    const struct evidence_value *from;
    const char *name, *source;
};

static void keep_worst(const struct validate_case *of, struct worst *worst, double value, bool bound,
                       const struct evidence_value *from, uint32_t port)
{
    const struct evidence *evidence = &of->plan->measured->evidence;

    if (worst->known && value <= worst->value) return;
    worst->known = true;
    worst->value = value;
    worst->bound = bound;
    worst->from = from;
    worst->name = case_text(of, "%.90s priority %u", evidence->object[port].name, from->priority & 7u);
    worst->source = measured_at(of, from->file, from->line);
}

#define EACH_LOSSLESS(of, evidence, port, prio) /* of ports of switches, with their lossless priorities */             \
    for (uint32_t port = 0; port < (evidence)->objects; port++)                                                        \
        if (is_switch_port(of, port))                                                                                  \
            for (unsigned prio = 0; prio < FABRIC_PRIOS; prio++)                                                       \
                if (settings_of(of, port)->lossless >> prio & 1)

static bool is_switch_port(const struct validate_case *of, uint32_t object)
{
    const struct evidence_object *port = &of->plan->measured->evidence.object[object];

    return port->scope == EVIDENCE_PORT && port->same_as == EVIDENCE_NONE && port->fabric < of->fabric->ports &&
           of->fabric->port[port->fabric].node >= of->fabric->hosts;
}

static const struct fabric_settings *settings_of(const struct validate_case *of, uint32_t object)
{
    return &of->fabric->settings[of->fabric->port[of->plan->measured->evidence.object[object].fabric].settings];
}

static void judge_drops(struct validate_case *of)
{
    static const enum evidence_counter drops[] = {EVIDENCE_QUEUE_DROPS, EVIDENCE_GROUP_DROPS, EVIDENCE_WRED_DROPS};
    const struct evidence *evidence = &of->plan->measured->evidence;
    static const char subject[] = "packets of lossless classes dropped by switches, whatever load ran";
    struct worst worst = {.value = -1};
    double sum = 0;

    EACH_LOSSLESS(of, evidence, port, prio)
    for (size_t d = 0; d < sizeof drops / sizeof drops[0]; d++) {
        const struct evidence_value *value = evidence_find(evidence, port, prio, drops[d]);
        if (!value) continue;
        sum += (double)value->grown;
        keep_worst(of, &worst, (double)value->grown, false, value, port);
    }
    if (!worst.known || sum <= 0) { /* systems that do not count drops by queue say it otherwise */
        measured_rules(of, subject, "D08", CRITERION_DROPS, worst.from,
                       "no output counts drops by queue: show queue counters, show priority-group drop counters, show "
                       "interfaces counters queue detail, show queuing interface");
        return;
    }
    const char *why = case_text(of, "most at %.100s: %.0f", worst.name, worst.value);
    JUDGE(of, .subject = subject, .criterion = CRITERION_DROPS, .value = sum, .why = why, .source = worst.source);
}

static void judge_headroom(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *subject = "headroom used, over what the port has";
    struct worst worst = {0};

    EACH_LOSSLESS(of, evidence, port, prio)
    {
        const struct evidence_value *peak = evidence_find(evidence, port, prio, EVIDENCE_HEADROOM_PEAK);
        uint64_t room = evidence_get(evidence, port, prio, EVIDENCE_HEADROOM_LIMIT);
        if (!room) room = settings_of(of, port)->pg[prio].headroom_bytes;
        if (peak && room) keep_worst(of, &worst, (double)peak->last / (double)room, false, peak, port);
    }
    if (validate_skip_if(of, !worst.known, subject, "no output has it: show priority-group watermark headroom")) return;
    subject = case_text(of, "headroom used, over what the port has, most at %.100s", worst.name);
    JUDGE(of, .subject = subject, .criterion = CRITERION_HEADROOM, .unit = VALIDATE_RATIO, .value = worst.value,
          .why = "the headroom is too small for this cable and MTU, or the peer does not obey", .source = worst.source);
}

/* Share of the time that the other end paused it: by durations of either end, else at most what frames allow. */
static void take_pauses(const struct validate_case *of, uint32_t port, unsigned prio, struct worst *worst)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const struct evidence_value *value = evidence_find(evidence, port, prio, EVIDENCE_RX_PAUSE_NS);
    uint32_t peer = evidence->object[port].peer;
    double rate = line_of(of, port);

    if (!value && peer != EVIDENCE_NONE) value = evidence_find(evidence, peer, prio, EVIDENCE_TX_PAUSE_NS);
    if (value && value->looks > 1 && evidence_span_s(value) > 0) {
        keep_worst(of, worst, (double)value->grown / 1e9 / evidence_span_s(value), false, value, port);
        return;
    }
    value = evidence_find(evidence, port, prio, EVIDENCE_RX_PAUSE_FRAMES);
    if (!value) value = evidence_find(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PAUSE_FRAMES);
    if (!value || value->looks < 2 || evidence_span_s(value) <= 0 || rate <= 0) return;
    double share = (double)value->grown * PAUSE_BITS / rate / evidence_span_s(value);
    keep_worst(of, worst, share < 1 ? share : 1, true, value, port);
}

static bool is_between_switches(const struct validate_case *of, uint32_t object)
{
    uint32_t peer = of->fabric->port[of->plan->measured->evidence.object[object].fabric].peer;

    return peer != FABRIC_NONE && of->fabric->port[peer].node >= of->fabric->hosts;
}

static void judge_spread(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *subject = "share of the time that a link between switches is paused";
    double limit = (double)of->fabric->operations.criteria.value[CRITERION_PAUSE_SPREAD] / 1e6;
    struct worst worst = {0};

    EACH_LOSSLESS(of, evidence, port, prio)
    if (is_between_switches(of, port)) take_pauses(of, port, prio, &worst);
    if (validate_skip_if(of, !worst.known, subject,
                         "no two looks at pauses: show pfc counters (--history), show interface priority-flow-control"))
        return;
    subject = case_text(of, "share of the time that a link between switches is paused, most at %.100s", worst.name);
    if (validate_skip_if(of, worst.bound && worst.value > limit, subject,
                         "this system counts frames, not time: they allow at most %.3f; SONiC's show pfc counters "
                         "--history, Cumulus' nv show ... counters qos and ethtool -S have the time",
                         worst.value))
        return;
    JUDGE(of, .subject = subject, .criterion = CRITERION_PAUSE_SPREAD, .unit = VALIDATE_RATIO, .value = worst.value,
          .why = "pauses spread beyond the leaf of who caused them", .source = worst.source);
}

void measured_load(struct validate_case *of)
{
    judge_drops(of);
    judge_headroom(of);
    judge_spread(of);
    measured_rules(of, "ports that too many send to", "D04", CRITERION_DIAGNOSIS, NULL,
                   "no port was full and paused its senders: two dumps around an incast would answer it");
}
