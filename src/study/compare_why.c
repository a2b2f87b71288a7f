/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a system is where it is, in one sentence, out of what its run counted.
 *
 * Each cause is given the share of the run's time that it can explain at most: bytes of the line that are no payload,
 * the time that a host's port stood still, what the fullest of parallel links carries above the mean.  Causes that set
 * the system apart from the fastest one come first, and the three largest are told, each with its number and the
 * fastest system's.  Nothing is guessed: where no cause is large enough, the sentence says that.
 *
 * No rule of src/diagnose says this: it asks what is wrong with one run, and here every run may be well and one system
 * slower than another for what it is.  What counts as more than another's is its limit.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/limits.h"
#include "report/text.h"
#include "study/compare.h"

#define CAUSES 10u
#define TOLD 3u
#define LEAST 0.002 /* of the time: less explains nothing */
#define CAUSE_TEXT 160
#define MTU 4096.0 /* of a packet that is sent again, where its size is not counted */

struct cause {
    double share;
    char text[CAUSE_TEXT];
};

struct causes {
    const struct compared *own, *fastest; /* the same for the fastest itself */
    uint32_t endpoints, count;
    struct cause cause[CAUSES];
};

static bool has(const struct compared *system, enum measure measure)
{
    return system->value[measure] != MEASURE_NOTHING;
}

static double of(const struct compared *system, enum measure measure)
{
    return has(system, measure) ? (double)system->value[measure] : 0;
}

__attribute__((format(printf, 3, 4))) static void add(struct causes *causes, double share, const char *format, ...)
{
    va_list arguments;

    if (causes->count == CAUSES || !(share >= LEAST)) return;
    struct cause *cause = &causes->cause[causes->count++];
    cause->share = share;
    va_start(arguments, format);
    vsnprintf(cause->text, sizeof cause->text, format, arguments);
    va_end(arguments);
}

/* " (VALUE under FASTEST)"; nothing of the fastest itself. */
static const char *beside(const struct causes *causes, const char *value, char buf[CAUSE_TEXT])
{
    buf[0] = '\0';
    if (causes->own != causes->fastest) snprintf(buf, CAUSE_TEXT, " (%s under %s)", value, causes->fastest->system);
    return buf;
}

/* More than the fastest has; all of it for the fastest itself. */
static double more(const struct causes *causes, enum measure measure)
{
    double own = of(causes->own, measure);
    return causes->own == causes->fastest ? own : own - of(causes->fastest, measure);
}

static void add_overhead(struct causes *causes)
{
    char own[TEXT_COUNT], other[TEXT_COUNT], words[CAUSE_TEXT];

    if (!has(causes->own, MEASURE_OVERHEAD) || !has(causes->fastest, MEASURE_OVERHEAD)) return;
    text_share(causes->own->value[MEASURE_OVERHEAD], 1000000, own);
    text_share(causes->fastest->value[MEASURE_OVERHEAD], 1000000, other);
    add(causes, more(causes, MEASURE_OVERHEAD) / 1e6,
        "%s of the hosts' bytes are headers, acknowledgements and retransmissions%s", own,
        beside(causes, other, words));
}

/* Time that ports stood still, as a share of the run on each host's. */
static void add_standing(struct causes *causes, double own, double other, const char *what)
{
    double all = of(causes->own, MEASURE_TIME) * causes->endpoints;
    char own_text[TEXT_COUNT], other_text[TEXT_COUNT], words[CAUSE_TEXT];

    if (all <= 0) return;
    text_ps((uint64_t)own, own_text);
    text_ps((uint64_t)other, other_text);
    add(causes, (causes->own == causes->fastest ? own : own - other) / all, "%s for %s, total of all ports%s", what,
        own_text, beside(causes, other_text, words));
}

static void add_standing_of(struct causes *causes, enum measure measure, const char *what)
{
    add_standing(causes, of(causes->own, measure), of(causes->fastest, measure), what);
}

/* One host that cannot take what all others send is the limit of them all, so its own time counts. */
static void add_receiver(struct causes *causes)
{
    char own[TEXT_COUNT], other[TEXT_COUNT], words[CAUSE_TEXT];
    double time = of(causes->own, MEASURE_TIME);

    if (time <= 0) return;
    text_ps((uint64_t)of(causes->own, MEASURE_CPU_RX), own);
    text_ps((uint64_t)of(causes->fastest, MEASURE_CPU_RX), other);
    add(causes, more(causes, MEASURE_CPU_RX) / time, "received data waited for CPU cores of the host for %s%s", own,
        beside(causes, other, words));
}

/* Of all ports but the hosts'. */
static double switches_paused(const struct compared *system)
{
    return fmax(of(system, MEASURE_PAUSED) - of(system, MEASURE_HELD), 0);
}

/* What it held senders back is not counted: no more than what is missing to the fastest. */
static void add_congestion(struct causes *causes)
{
    double cnps = more(causes, MEASURE_CNPS), time = of(causes->own, MEASURE_TIME);
    char own[TEXT_COUNT], other[TEXT_COUNT], words[CAUSE_TEXT];

    if (cnps <= 0 || time <= 0 || causes->own == causes->fastest) return;
    text_count_short(causes->own->value[MEASURE_CNPS], own);
    text_count_short((uint64_t)of(causes->fastest, MEASURE_CNPS), other);
    add(causes, 1 - of(causes->fastest, MEASURE_TIME) / time, "%s CNPs made senders slow down%s", own,
        beside(causes, other, words));
}

static void add_imbalance(struct causes *causes)
{
    char own[TEXT_COUNT], other[TEXT_COUNT], words[CAUSE_TEXT];
    double extra = of(causes->own, MEASURE_IMBALANCE) / 1000 - 1;

    if (!has(causes->own, MEASURE_IMBALANCE)) return;
    if (causes->own != causes->fastest && has(causes->fastest, MEASURE_IMBALANCE))
        extra = more(causes, MEASURE_IMBALANCE) / 1000;
    text_fixed(causes->own->value[MEASURE_IMBALANCE], 1000, 2, own);
    text_fixed(has(causes->fastest, MEASURE_IMBALANCE) ? causes->fastest->value[MEASURE_IMBALANCE] : 1000, 1000, 2,
               other);
    add(causes, extra < diagnose_said.slow_ratio - 1 ? 0 : extra,
        "the fullest of parallel links carried %s times the mean%s", own, beside(causes, other, words));
}

static void add_losses(struct causes *causes)
{
    double again = fmax(of(causes->own, MEASURE_AGAIN) - of(causes->own, MEASURE_TRIMMED), 0);
    double payload = of(causes->own, MEASURE_PAYLOAD);
    double timeouts = of(causes->own, MEASURE_TIMEOUTS),
           lost = of(causes->own, MEASURE_DROPS) + of(causes->own, MEASURE_LOST);
    char count[3][TEXT_COUNT];
    const char *was_lost = lost == 1 ? "packet was lost" : "packets were lost";

    if (again + timeouts + lost <= 0) return;
    double share = payload > 0 ? again * MTU / payload : 0;
    if (timeouts > 0) share += 1; /* a timer takes longer than anything else here */
    text_count_short((uint64_t)again, count[0]);
    if (lost + timeouts <= 0) {
        add(causes, fmax(share, 2 * LEAST), "%s late packet%s taken for lost and retransmitted", count[0],
            again == 1 ? "" : "s");
        return;
    }
    add(causes, fmax(share, 2 * LEAST), "%s %s, %s retransmitted, %s timeout%s",
        text_count_short((uint64_t)lost, count[1]), was_lost, count[0], text_count_short((uint64_t)timeouts, count[2]),
        timeouts == 1 ? "" : "s");
}

static void add_trims(struct causes *causes)
{
    double payload = of(causes->own, MEASURE_PAYLOAD), trimmed = of(causes->own, MEASURE_TRIMMED);
    char count[TEXT_COUNT];

    if (payload <= 0 || trimmed <= 0) return;
    add(causes, trimmed * MTU / payload, "%s packet%s trimmed by switches and retransmitted",
        text_count_short((uint64_t)trimmed, count), trimmed == 1 ? "" : "s");
}

/*
 * How often a job waits for a message that somebody waited to send is not counted.  It is no more often than a port got
 * messages, and explains no more than what is missing to the fastest and no other cause explains.
 */
static double latency_share(const struct causes *causes)
{
    double time = of(causes->own, MEASURE_TIME), waits = of(causes->own, MEASURE_MESSAGES);
    double left = time > 0 ? 1 - of(causes->fastest, MEASURE_TIME) / time : 0;

    if (time <= 0) return 0;
    for (uint32_t i = 0; i < causes->count; i++)
        left -= causes->cause[i].share;
    return fmin(left, waits * more(causes, MEASURE_SMALL) / time);
}

/* After all others. */
static void add_latency(struct causes *causes)
{
    double own = of(causes->own, MEASURE_SMALL), other = of(causes->fastest, MEASURE_SMALL);
    char text[TEXT_COUNT], beside_text[TEXT_COUNT], words[CAUSE_TEXT];
    bool is_fastest = causes->own == causes->fastest;

    if (own <= 0 || other <= 0) return;
    text_ps(causes->own->value[MEASURE_SMALL], text);
    text_ps(causes->fastest->value[MEASURE_SMALL], beside_text);
    /* told where it is more, if only last */
    double share = is_fastest ? 0 : latency_share(causes);
    add(causes, own > other * diagnose_said.slow_ratio || is_fastest ? fmax(share, 1.5 * LEAST) : 0,
        "a small message takes %s%s", text, beside(causes, beside_text, words));
}

static void tell(struct causes *causes, char *to, size_t room)
{
    size_t used = strlen(to);

    for (uint32_t told = 0; told < TOLD; told++) {
        struct cause *best = NULL;
        for (uint32_t i = 0; i < causes->count; i++)
            if (causes->cause[i].share > 0 && (!best || causes->cause[i].share > best->share)) best = &causes->cause[i];
        if (best == NULL) {
            if (told == 0) snprintf(to + used, room - used, "%s", "no counter explains the difference");
            return;
        }
        used += (size_t)snprintf(to + used, room - used, "%s%s", told ? "; " : "", best->text);
        if (used >= room) return;
        best->share = 0;
    }
}

static const struct compared *find_fastest(const struct comparison *comparison)
{
    const struct compared *best = NULL;

    for (uint32_t s = 0; s < comparison->systems; s++) {
        const struct compared *system = &comparison->system[s];
        if (!system->ended || !has(system, MEASURE_TIME)) continue;
        if (best == NULL || system->value[MEASURE_TIME] < best->value[MEASURE_TIME]) best = system;
    }
    return best;
}

static void explain(struct compared *own, const struct compared *fastest, uint32_t endpoints)
{
    struct causes causes = {.own = own, .fastest = fastest, .endpoints = endpoints};
    char times[TEXT_COUNT];

    if (own == fastest) {
        snprintf(own->why, sizeof own->why, "the fastest: ");
    } else if (has(own, MEASURE_TIME) && own->ended) {
        uint64_t milli = (uint64_t)(of(own, MEASURE_TIME) * 1000 / fmax(of(fastest, MEASURE_TIME), 1) + 0.5);
        if (milli <= 1001)
            snprintf(own->why, sizeof own->why, "as fast as %s: ", fastest->system);
        else
            snprintf(own->why, sizeof own->why,
                     "%s times the time of %s: ", text_fixed(milli, 1000, milli < 10000 ? 2 : 1, times),
                     fastest->system);
    } else {
        snprintf(own->why, sizeof own->why, "its jobs did not end: ");
    }
    add_losses(&causes);
    add_standing_of(&causes, MEASURE_CPU, "connections waited for a CPU core of their host");
    add_receiver(&causes);
    add_standing_of(&causes, MEASURE_HELD, "hosts were stopped by pauses or missing credits");
    add_standing(&causes, switches_paused(own), switches_paused(fastest), "switches were stopped in the same way");
    add_congestion(&causes);
    add_trims(&causes);
    add_imbalance(&causes);
    add_overhead(&causes);
    add_latency(&causes);
    tell(&causes, own->why, sizeof own->why);
    if (!has(own, MEASURE_SHARP)) return;
    size_t used = strlen(own->why);
    snprintf(own->why + used, sizeof own->why - used,
             "; with SHARP an allreduce would take %s (calculated, not simulated)",
             text_ps(own->value[MEASURE_SHARP], times));
}

void compare_explain(struct comparison *comparison, uint32_t endpoints)
{
    const struct compared *fastest = find_fastest(comparison);

    for (uint32_t s = 0; s < comparison->systems; s++) {
        struct compared *own = &comparison->system[s];
        if (own->error)
            snprintf(own->why, sizeof own->why, "cannot run this file: %.500s", own->error);
        else if (fastest == NULL)
            snprintf(own->why, sizeof own->why, "no system has a time to compare it with");
        else
            explain(own, fastest, endpoints);
    }
}
