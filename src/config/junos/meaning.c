/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Junos configuration means, said by the paths of the fabric file: per port its maps, pauses, queues and frames;
 * of the device the watchdog and the thresholds that follow the free buffer.
 *
 * A port without a classifier has the system's own: DSCP 48 and 56 are network control, all others best effort.  A port
 * without a scheduler map marks nothing.  Marking in per cent of a queue becomes bytes of what it may hold (buffer.c).
 */
#include <string.h>

#include "config/junos/junos_int.h"

struct port { /* that is said, and the things that it names */
    struct junos *in;
    const struct junos_port *as;
    uint32_t id;
    const struct junos_classifier *classifier;
    const struct junos_pauses *pauses;
    const struct junos_map *map;
    int8_t class[64]; /* of DSCPs, or of the eight priorities */
    uint32_t at[64];
    bool ieee;
};

static uint32_t or_line(uint32_t line, uint32_t other)
{
    return line ? line : other;
}

static const struct junos_classifier *find_classifier(struct junos *in, const char *name, bool ieee, uint32_t line)
{
    for (uint32_t n = 0; n < in->classifiers; n++) {
        if (in->classifier[n].ieee != ieee || strcmp(in->classifier[n].name, name) != 0) continue;
        in->classifier[n].used = true;
        return &in->classifier[n];
    }
    if (strcmp(name, "default") != 0) junos_undefined(in, line, "classifier", name);
    return NULL;
}

static void find_things(struct port *port)
{
    struct junos *in = port->in;
    const struct junos_binding *cos = &port->as->cos;

    port->ieee = !cos->dscp && cos->ieee;
    if (cos->dscp) port->classifier = find_classifier(in, cos->dscp, false, cos->dscp_line);
    if (port->ieee) port->classifier = find_classifier(in, cos->ieee, true, cos->ieee_line);
    if (cos->pauses) port->pauses = JUNOS_USE(in->pauses, in->pauseses, cos->pauses);
    if (cos->map) port->map = JUNOS_USE(in->map, in->maps, cos->map);
    if (cos->pauses && !port->pauses)
        junos_undefined(in, cos->pauses_line, "congestion-notification-profile", cos->pauses);
    if (cos->map && !port->map) {
        junos_undefined(in, cos->map_line, "scheduler-map", cos->map);
        UNJUDGED(in, cos->map_line, "ECN SCH MAP005 MAP008 SIB001", port->id, "its scheduler-map is not defined");
    }
}

/* The class of each value of the field that is trusted. */
static void classify(struct port *port)
{
    struct junos *in = port->in;
    const struct junos_binding *cos = &port->as->cos;
    int best = junos_class_find(in, "best-effort", 0), control = junos_class_find(in, "network-control", 0);
    int fixed = cos->fixed ? junos_class_find(in, cos->fixed, cos->fixed_line) : -1;
    uint32_t here = or_line(port->ieee ? cos->ieee_line : cos->dscp_line, or_line(cos->line, port->as->line));

    for (unsigned v = 0; v < 64; v++) {
        int class = port->classifier ? port->classifier->class[v] : (v == 48 || v == 56) && !cos->dscp ? control : -1;
        if (fixed >= 0 && !port->classifier) class = fixed;
        port->class[v] = (int8_t)(class < 0 || in->class[class].tc < 0 ? best : class);
        port->at[v] = port->classifier && port->classifier->at[v] ? port->classifier->at[v]
                      : port->classifier                          ? port->classifier->line
                                                                  : here;
    }
}

static unsigned tc_of(const struct junos *in, int class)
{
    return class >= 0 && in->class[class].tc >= 0 ? (unsigned)in->class[class].tc : 0;
}

/* A number that no class has goes into a queue that no class is in, its own where it can. */
static void spare_queues(const struct junos *in, unsigned queue[JUNOS_PRIOS])
{
    unsigned taken = 0, rest = 0;

    for (uint32_t c = 0; c < in->classes; c++) {
        if (in->class[c].tc < 0) continue;
        taken |= 1u << in->class[c].queue;
        if (!in->class[c].no_loss) rest = (unsigned)in->class[c].queue;
    }
    unsigned any = taken & 0xff;
    any = any == 0xff ? rest : (unsigned)__builtin_ctz(~any);
    for (unsigned tc = 0; tc < JUNOS_PRIOS; tc++)
        queue[tc] = taken >> tc & 1 ? any : tc;
}

static void say_maps(struct port *port)
{
    struct junos *in = port->in;
    const struct junos_binding *cos = &port->as->cos;
    uint32_t here = or_line(port->ieee ? cos->ieee_line : cos->dscp_line, or_line(cos->line, port->as->line));
    unsigned queue[JUNOS_PRIOS];
    uint32_t line[JUNOS_PRIOS] = {0};

    spare_queues(in, queue);
    SAY(in, here, port->id, "trust", port->ieee ? "pcp" : "dscp");
    for (unsigned v = 0; v < (port->ieee ? 8u : 64u); v++)
        SAY_MAP(in, port->at[v], port->id, port->ieee ? "pcp-map" : "dscp-map", v, tc_of(in, port->class[v]));
    for (uint32_t c = 0; c < in->classes; c++) {
        if (in->class[c].tc < 0) continue;
        queue[in->class[c].tc] = (unsigned)in->class[c].queue;
        line[in->class[c].tc] = or_line(in->class[c].queue_line, in->class[c].line);
    }
    for (unsigned tc = 0; tc < JUNOS_PRIOS; tc++)
        SAY_MAP(in, or_line(line[tc], here), port->id, "queue-map", tc, queue[tc]);
}

/* --- pauses --- */

static bool lossless(const struct junos *in, unsigned tc)
{
    for (uint32_t c = 0; c < in->classes; c++)
        if (in->class[c].tc == (int)tc && in->class[c].no_loss) return true;
    return false;
}

/* Priorities of pauses that are sent, and the line that asks for them. */
static unsigned sent(const struct port *port, uint32_t *ret_line)
{
    const struct junos *in = port->in;
    const struct junos_pauses *as = port->pauses;
    unsigned bits = 0;

    for (unsigned d = 0; d < 64 && !port->ieee; d++) {
        if (!(as->dscps >> d & 1) || !in->class[port->class[d]].no_loss) continue;
        bits |= 1u << tc_of(in, port->class[d]);
        *ret_line = as->dscp_line[d];
    }
    for (unsigned p = 0; p < JUNOS_PRIOS; p++) {
        if (!(as->prios >> p & 1)) continue;
        bits |= 1u << p;
        *ret_line = as->prio_line[p];
    }
    return bits;
}

/* Those that are obeyed.  Without `output` queues 3 and 4 obey the priorities 3 and 4. */
static unsigned obeyed(const struct port *port, unsigned tx, uint32_t *ret_line)
{
    const struct junos *in = port->in;
    const struct junos_pauses *as = port->pauses;
    unsigned bits = 0;

    for (uint32_t c = 0; c < in->classes && !as->output; c++)
        if (in->class[c].tc == in->class[c].queue && (in->class[c].queue == 3 || in->class[c].queue == 4) &&
            (tx >> in->class[c].queue & 1))
            bits |= 1u << in->class[c].queue;
    for (unsigned p = 0; p < JUNOS_PRIOS && as->output; p++) {
        if (!as->queues[p]) continue;
        *ret_line = as->queue_line[p];
        /* one that stops another queue than its class's is told as that (judge.c), and not a second time */
        bits |= 1u << p;
    }
    return bits;
}

static bool led_to(const struct port *port, unsigned tc)
{
    for (unsigned v = 0; v < (port->ieee ? 8u : 64u); v++)
        if (tc_of(port->in, port->class[v]) == tc) return true;
    return false;
}

/* What a fabric has no words for, for who compares: the priority that a class pauses with, where it is not the class's
 * number, and the queue that a pause stops, where it is not that of the class. */
static void say_own_pauses(struct port *port)
{
    struct junos *in = port->in;
    const struct junos_pauses *as = port->pauses;
    unsigned queue[JUNOS_PRIOS];
    char path[32];

    for (unsigned p = 0; p < JUNOS_PRIOS; p++)
        queue[p] = p;
    for (uint32_t c = 0; c < in->classes; c++) {
        const struct junos_class *class = &in->class[c];
        if (class->tc < 0) continue;
        queue[class->tc] = (unsigned)class->queue;
        snprintf(path, sizeof(path), "own.pfc-priority.%d", class->tc);
        if (class->no_loss && class->priority >= 0 && class->priority != class->tc)
            SAY(in, or_line(class->priority_line, class->line), port->id, path, "%d", class->priority);
    }
    for (unsigned p = 0; p < JUNOS_PRIOS && as->output; p++) {
        snprintf(path, sizeof(path), "own.pfc-queue.%u", p);
        if (as->queues[p] && !(as->queues[p] >> queue[p] & 1))
            SAY(in, as->queue_line[p], port->id, path, "%d", __builtin_ctz(as->queues[p]));
        else if (!as->queues[p] && lossless(in, p))
            SAY(in, as->line, port->id, path, "none");
    }
}

static unsigned say_pauses(struct port *port)
{
    struct junos *in = port->in;
    uint32_t none = or_line(port->as->cos.line, port->as->line), tx_line, rx_line;
    unsigned tx = 0, rx = 0;

    tx_line = rx_line = port->pauses ? port->pauses->line : none;
    if (port->pauses) {
        tx = sent(port, &tx_line);
        rx = obeyed(port, tx, &rx_line);
        bool told = false; /* of another priority or queue than the class's: judge.c says so */
        for (unsigned p = 0; p < JUNOS_PRIOS; p++)
            told = told || ((rx >> p & 1) && !lossless(in, p));
        if (told && tx) rx = tx;
        for (unsigned p = 0; p < JUNOS_PRIOS; p++) /* nothing leads to it, so there is nothing to pause for */
            if ((rx >> p & 1) && lossless(in, p) && !led_to(port, p)) tx |= 1u << p;
        if (!tx && port->pauses->dscps) tx = rx;
    }
    SAY_BITS(in, rx_line, port->id, "pfc.rx", rx);
    SAY_BITS(in, tx_line, port->id, "pfc.tx", tx);
    if (!(tx | rx)) return 0;
    say_own_pauses(port);
    SAY(in, or_line(port->pauses->cable_line, or_line(port->pauses->input_line, tx_line)), port->id, "headroom-cable",
        "%um", port->pauses->cable_m ? port->pauses->cable_m : JUNOS_CABLE_DEFAULT_M);
    if (port->pauses->mru) SAY(in, port->pauses->mru_line, port->id, "headroom-mtu", "%u", port->pauses->mru);
    return tx | rx;
}

/* --- queues --- */

static void say_marking(struct port *port, unsigned tc, bool lossless, const struct junos_scheduler *as, uint32_t none)
{
    struct junos *in = port->in;
    const struct junos_profile *drop = as ? as->drop : NULL;
    uint32_t min = 0, max = 100, chance = 100, line;
    uint64_t queue, known = junos_queue_read(in, lossless, as);
    char own[32];

    if (!as || !as->ecn) {
        SAY_CLASS(in, none, port->id, tc, "ecn", "false");
        return;
    }
    line = or_line(drop ? drop->fill_line : 0, as->ecn_line);
    if (drop && drop->fills > 1 && drop->fill[drop->fills - 1] > drop->fill[0]) {
        min = drop->fill[0];
        max = drop->fill[drop->fills - 1];
    }
    if (drop && drop->chances && drop->chance[drop->chances - 1]) chance = drop->chance[drop->chances - 1];
    SAY_CLASS(in, line, port->id, tc, "ecn.probability", "%u%%", chance);
    queue = known ? known : JUNOS_QUEUE_BYTES;
    SAY_CLASS(in, line, port->id, tc, "ecn.min", "%lluB", (unsigned long long)junos_fill_bytes(queue, min));
    SAY_CLASS(in, line, port->id, tc, "ecn.max", "%lluB", (unsigned long long)junos_fill_bytes(queue, max));
    snprintf(own, sizeof(own), "own.ecn-fill.%u", tc); /* for who compares: the levels, and of what, 0: not known */
    SAY(in, line, port->id, own, "%u %u %llu", min, max, (unsigned long long)known);
    if (in->unsized) return;
    in->unsized = true;
    /* these rest on bytes; curves are compared all the same */
    UNJUDGED(in, line, "ECN003 ECN005", CONFIG_NONE,
             known ? "fill levels are per cent of what a queue may hold, which the others leave it: at most %llu "
                     "KB on this chip"
                   : "fill levels are per cent of what a queue may hold, which is not known of this chip: %llu KB "
                     "are taken",
             (unsigned long long)(queue / 1000));
}

/* The line that gives a class without loss the scheduler of one with loss; 0: its scheduler is its own. */
static uint32_t shared_scheduler(const struct port *port, uint32_t c)
{
    const struct junos *in = port->in;

    for (uint32_t o = 0; o < in->classes && port->map && in->class[c].no_loss; o++)
        if (o != c && !in->class[o].no_loss && port->map->scheduler[c] &&
            port->map->scheduler[o] == port->map->scheduler[c])
            return port->map->at[c];
    return 0;
}

static void say_queues(struct port *port)
{
    struct junos *in = port->in;
    uint32_t none = port->map ? port->map->line : or_line(port->as->cos.line, port->as->line), sum = 0, most = 0;
    uint32_t largest = none;
    unsigned said = 0;

    for (uint32_t c = 0; c < in->classes && port->map; c++) {
        const struct junos_scheduler *as = port->map->scheduler[c];
        if (!as || as->strict || in->class[c].tc < 0 || (said >> in->class[c].queue & 1)) continue;
        said |= 1u << in->class[c].queue;
        sum += as->percent;
        if (as->percent > most) most = as->percent, largest = as->rate_line;
    }
    if (sum > 100)
        NOTE(in, largest, "SCH001", CONFIG_NONE,
             "scheduler-map %.60s: the transmit rates of its queues add up to %u %%", port->map->name, sum);
    said = 0;
    for (uint32_t c = 0; c < in->classes; c++) {
        const struct junos_class *class = &in->class[c];
        const struct junos_scheduler *as = port->map ? port->map->scheduler[c] : NULL;
        if (class->tc < 0) continue;
        unsigned tc = (unsigned)class->tc;
        if (as) {
            SAY_CLASS(in, or_line(as->strict_line, as->line), port->id, tc, "strict", as->strict ? "true" : "false");
            if (!as->strict && as->percent && sum <= 100 && !(said >> class->queue & 1))
                SAY_CLASS(in, as->rate_line, port->id, tc, "share", "%u%%", as->percent);
            said |= 1u << class->queue;
        }
        if (as || class->no_loss)
            say_marking(port, tc, class->no_loss, as, or_line(shared_scheduler(port, c), as ? as->line : none));
    }
}

/* --- the rest of a port, and the device --- */

static void say_frames(struct port *port)
{
    struct junos *in = port->in;
    const struct junos_port *as = port->as;
    uint32_t mtu = as->mtu ? as->mtu : JUNOS_MTU_DEFAULT, line = or_line(as->mtu_line, as->line);

    if (as->inet_mtu && as->inet_mtu + JUNOS_INET_OVER < mtu && as->inet_mtu + JUNOS_INET_OVER < 4178) {
        mtu = as->inet_mtu + JUNOS_INET_OVER; /* packets of RDMA are stopped by the smaller of the two */
        line = as->inet_line;
    }
    if (as->unwritten) return;
    if (as->ghost_line)
        UNJUDGED(in, as->ghost_line, "MAP PFC ECN SIB001 LAG001 WD SCH", port->id,
                 "class-of-service interfaces names an interface that is not there, and may mean this one");
    SAY(in, line, port->id, "mtu", "%u", mtu);
    if (as->rate_gbps) SAY(in, as->rate_line, port->id, "rate", "%uG", as->rate_gbps);
    if (as->fec) SAY(in, as->fec_line, port->id, "fec", "%s", as->fec);
    if (as->down) SAY(in, as->down_line, port->id, "up", "false");
    if (!as->down && !as->in_use) config_idle(in->set, in->device, port->id);
    if (as->lag) config_lag(in->set, CONFIG_AT(in->text, as->lag_line), in->device, port->id, as->lag);
    for (uint32_t i = 0; i < as->addresses; i++)
        config_address(in->set, CONFIG_AT(in->text, as->address[i]->line), in->device, port->id, as->address[i]->word);
    if (as->described)
        config_described(in->set, CONFIG_AT(in->text, as->described_line), in->device, port->id, as->described);
}

static void say_port(struct junos *in, struct junos_port *as)
{
    struct port port = {
        .in = in, .as = as, .id = config_port(in->set, CONFIG_AT(in->text, as->line), in->device, as->name)};

    if (port.id == CONFIG_NONE) return;
    as->id = port.id;
    find_things(&port);
    classify(&port);
    say_frames(&port);
    say_maps(&port);
    unsigned paused = say_pauses(&port);
    say_queues(&port);
    if (paused && !port.pauses->watch) SAY(in, port.pauses->line, port.id, "watched", "false");
    if (as->pause_line && paused)
        NOTE(in, as->pause_line, "PFC005", port.id,
             "flow-control and a congestion-notification-profile exclude each other");
    else if (as->pause_line)
        SAY(in, as->pause_line, port.id, "pause", "802.3x");
}

static void say_watchdog(struct junos *in)
{
    const struct junos_pauses *first = NULL, *without = NULL;

    for (uint32_t n = 0; n < in->pauseses; n++) {
        const struct junos_pauses *as = &in->pauses[n];
        if (!as->used) continue;
        if (!as->watch && !without) without = as;
        if (!as->watch) continue;
        if (!first) first = as;
        if (as->poll_ms * as->polls != first->poll_ms * first->polls || as->recovery_ms != first->recovery_ms)
            NOTE(in, as->watch_line, "WD003", CONFIG_NONE,
                 "%.60s detects in %u ms and restores in %u ms, %.60s in %u ms and %u ms", as->name,
                 as->poll_ms * as->polls, as->recovery_ms, first->name, first->poll_ms * first->polls,
                 first->recovery_ms);
    }
    if (!first) {
        if (without) SAY(in, without->line, CONFIG_NONE, "watchdog", "false");
        return;
    }
    uint32_t line = first->watch_line;
    SAY(in, or_line(first->poll_line, line), CONFIG_NONE, "watchdog.poll", "%ums", first->poll_ms);
    SAY(in, or_line(first->polls_line, line), CONFIG_NONE, "watchdog.detect", "%llums",
        (unsigned long long)first->poll_ms * first->polls);
    SAY(in, or_line(first->recovery_line, line), CONFIG_NONE, "watchdog.restore", "%ums", first->recovery_ms);
    SAY(in, or_line(first->action_line, line), CONFIG_NONE, "watchdog.action", first->forward ? "forward" : "drop");
}

static void say_lossless(struct junos *in)
{
    for (uint32_t c = 0; c < in->classes; c++) {
        const struct junos_class *class = &in->class[c];
        if (class->tc < 0 || !class->no_loss) continue;
        SAY_CLASS(in, class->line, CONFIG_NONE, (unsigned)class->tc, "lossless", "true");
        if (in->alpha < 0) continue;
        bool whole = in->alpha >= (int)JUNOS_ALPHA_ONE;
        unsigned power = 1u << (whole ? in->alpha - (int)JUNOS_ALPHA_ONE : (int)JUNOS_ALPHA_ONE - in->alpha);
        SAY_CLASS(in, in->alpha_line, CONFIG_NONE, (unsigned)class->tc, "alpha", whole ? "%u" : "1/%u", power);
    }
}

void junos_say(struct junos *in)
{
    say_lossless(in);
    for (uint32_t p = 0; p < in->ports; p++)
        if (!in->port[p].channels && strncmp(in->port[p].name, "ae", 2) != 0) say_port(in, &in->port[p]);
    say_watchdog(in);
}
