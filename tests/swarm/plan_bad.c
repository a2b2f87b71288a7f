/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad days: of a quarter of the plans one to three things go wrong besides what their character says, drawn from a
 * stream of their own, so that the other plans stay what they were.
 *
 * Each draw sets what the watch must allow for and no more: a link that goes down excuses losses, not a byte that is
 * delivered twice.  Some switches do what the watch does not follow (floods, wrong routes, virtual output queues,
 * pauses of all classes): those plans run unwatched, and are judged by what is left at the end.  Names are those the
 * builders give: hosts first on leaf0, then its uplinks.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"

#define BAD_STREAM 79
#define BAD_PERCENT 25
#define UNWATCHED_PERCENT 40 /* of bad days */

struct draw {
    struct plan *plan;
    struct bad_day *day;
    struct rng rng;
    bool moves; /* something happens that routes may follow */
};

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;

    va_start(list, format);
    int wrote = vsnprintf(text + used, size - used, format, list);
    va_end(list);
    CHECK(wrote >= 0 && used + (size_t)wrote < size);
}
#define FAULT(draw, ...) add((draw)->day->faults, sizeof((draw)->day->faults), "  - {" __VA_ARGS__)

static uint32_t at_us(struct draw *draw)
{
    return (uint32_t)pick(&draw->rng, 0, 60);
}

/* A link between switches where there is one, or a host's. */
static void some_link(struct draw *draw, char ret[32])
{
    struct plan *plan = draw->plan;

    if (plan->uplinks && chance(&draw->rng, 70))
        snprintf(ret, 32, "\"leaf0:%u\"", (unsigned)(plan->leaf_hosts + rng_below(&draw->rng, plan->uplinks)));
    else
        snprintf(ret, 32, "\"h%u:0\"", (unsigned)rng_below(&draw->rng, plan->hosts));
}

static void some_switch(struct draw *draw, char ret[32])
{
    if (draw->plan->spines && chance(&draw->rng, 60))
        snprintf(ret, 32, "spine%u", (unsigned)rng_below(&draw->rng, draw->plan->spines));
    else
        snprintf(ret, 32, "leaf0");
}

static void flap(struct draw *draw)
{
    unsigned down = (unsigned)pick(&draw->rng, 5, 40);
    char link[32];

    some_link(draw, link);
    unsigned times = (unsigned)pick(&draw->rng, 2, 5), every = down + (unsigned)pick(&draw->rng, 5, 60);
    FAULT(draw, "flap: %s, at: %uus, every: %uus, down: %uus, times: %u}\n", link, at_us(draw), every, down, times);
    draw->plan->goes_down = draw->moves = true;
}

static void goes_for_good(struct draw *draw)
{
    char link[32];

    some_link(draw, link);
    FAULT(draw, "down: %s, at: %uus}\n", link, at_us(draw));
    draw->plan->goes_down = draw->moves = true;
}

static void lanes(struct draw *draw)
{
    char link[32];

    some_link(draw, link);
    unsigned at = at_us(draw), lost = (unsigned)pick(&draw->rng, 1, 3);
    FAULT(draw, "lanes: %s, lost: %u, at: %uus", link, lost, at);
    add(draw->day->faults, sizeof(draw->day->faults), chance(&draw->rng, 50) ? ", for: 100us}\n" : "}\n");
    draw->plan->slow_line = true;
}

static void bit_errors(struct draw *draw)
{
    char link[32];

    some_link(draw, link);
    FAULT(draw, "corrupt: %s, ber: %s%s}\n", link, ONE_OF(&draw->rng, "1e-7", "1e-6", "4e-6"),
          more_way(draw->plan->seed));
    draw->plan->loses = true;
}

static void reset(struct draw *draw)
{
    char name[32];

    some_switch(draw, name);
    unsigned lasts = (unsigned)pick(&draw->rng, 5, 200);
    FAULT(draw, "reset: %s, at: %uus, for: %uus}\n", name, at_us(draw), lasts);
    draw->plan->goes_down = draw->moves = true;
}

static void withdraw(struct draw *draw)
{
    char what[32];

    if (!draw->plan->uplinks || chance(&draw->rng, 50))
        some_switch(draw, what);
    else
        some_link(draw, what);
    FAULT(draw, "withdraw: %s, at: %uus", what, at_us(draw));
    if (chance(&draw->rng, 60))
        add(draw->day->faults, sizeof(draw->day->faults), ", for: %uus", (unsigned)pick(&draw->rng, 5, 200));
    add(draw->day->faults, sizeof(draw->day->faults), "}\n");
    draw->plan->routes_move = true;
}

static void drain(struct draw *draw)
{
    char name[32];

    some_switch(draw, name);
    unsigned lasts = (unsigned)pick(&draw->rng, 5, 200), ahead = (unsigned)pick(&draw->rng, 0, 40);
    FAULT(draw, "drain: %s, at: %uus, ahead: %uus, for: %uus}\n", name, at_us(draw), ahead, lasts);
    draw->plan->goes_down = draw->plan->routes_move = true;
}

static void pause(struct draw *draw)
{
    unsigned at = at_us(draw), priority = chance(&draw->rng, 80) ? 3 : 4;
    unsigned host = (unsigned)rng_below(&draw->rng, draw->plan->hosts);

    FAULT(draw, "pause: h%u, priority: %u, at: %uus}\n", host, priority, at);
    draw->plan->endless = true;
}

static void receive(struct draw *draw)
{
    unsigned at = at_us(draw);
    const char *rate = ONE_OF(&draw->rng, "1G", "4G", "8G");
    unsigned host = (unsigned)rng_below(&draw->rng, draw->plan->hosts);

    FAULT(draw, "receive: h%u, rate: %s, at: %uus", host, rate, at);
    if (chance(&draw->rng, 70))
        add(draw->day->faults, sizeof(draw->day->faults), ", for: %uus", (unsigned)pick(&draw->rng, 5, 300));
    add(draw->day->faults, sizeof(draw->day->faults), "}\n");
    draw->plan->drains_slowly = true;
}

/* One device's settings: there is one entry for leaf0, whatever is drawn. */
static void wrong_ecn(struct draw *draw)
{
    if (draw->day->devices[0]) return;
    add(draw->day->devices, sizeof(draw->day->devices), "  leaf0: {classes: {rdma: {ecn: %s}}}\n",
        ONE_OF(&draw->rng, "false", "{min: 200KB, max: 400KB, probability: 1%}",
               "{min: 1KB, max: 2KB, probability: 100%}"));
    draw->plan->ecn_differs = true;
}

static void no_pfc(struct draw *draw)
{
    const struct plan *plan = draw->plan;

    if (draw->day->devices[0]) return;
    const char *pfc = ONE_OF(&draw->rng, "false", "{tx: false}", "{rx: false}");
    unsigned port = (unsigned)rng_below(&draw->rng, plan->leaf_hosts + plan->uplinks);
    add(draw->day->devices, sizeof(draw->day->devices), "  leaf0: {ports: {%u: {pfc: %s}}}\n", port, pfc);
    draw->plan->pfc_missing = true;
}

static void flood(struct draw *draw)
{
    unsigned at = at_us(draw), host = (unsigned)rng_below(&draw->rng, draw->plan->hosts);

    FAULT(draw, "flood: h%u, at: %uus", host, at);
    if (chance(&draw->rng, 70))
        add(draw->day->faults, sizeof(draw->day->faults), ", for: %uus", (unsigned)pick(&draw->rng, 5, 200));
    add(draw->day->faults, sizeof(draw->day->faults), "}\n");
    draw->plan->floods = true;
}

static void misroute(struct draw *draw)
{
    if (!draw->plan->uplinks) return;
    unsigned lasts = (unsigned)pick(&draw->rng, 5, 100), at = at_us(draw);
    unsigned to = (unsigned)rng_below(&draw->rng, draw->plan->hosts);
    unsigned port = draw->plan->leaf_hosts + (unsigned)rng_below(&draw->rng, draw->plan->uplinks);
    FAULT(draw, "misroute: \"leaf0:%u\", to: h%u, at: %uus, for: %uus}\n", port, to, at, lasts);
    draw->plan->misrouted = true;
}

/* What the watch does not follow: switches of another kind, and now and then what else goes wrong with them. */
static void draw_unwatched(struct draw *draw)
{
    struct bad_day *day = draw->day;
    unsigned rate, chip;

    draw->plan->unwatched = true;
    switch (rng_below(&draw->rng, 6)) {
    case 0:
        add(day->switches, sizeof(day->switches), ", architecture: voq");
        break;
    case 1:
        add(day->switches, sizeof(day->switches), ", architecture: {use: voq, credit: 2KB, xoff: %uKB}",
            (unsigned)pick(&draw->rng, 10, 60));
        break;
    case 2:
        rate = (unsigned)pick(&draw->rng, 5, 200);
        chip = (unsigned)pick(&draw->rng, 1, 60);
        add(day->switches, sizeof(day->switches), ", architecture: {use: voq, on-chip: %uKB, deep-rate: %uG}", chip,
            rate);
        break;
    case 3:
        add(day->switches, sizeof(day->switches), ", pause: 802.3x");
        break;
    case 4:
        misroute(draw);
        break;
    default:
        flood(draw);
        if (chance(&draw->rng, 30)) add(day->switches, sizeof(day->switches), ", drop-unknown-lossless: true");
        break;
    }
}

void bad_day_draw(struct plan *plan, struct bad_day *day)
{
    static void (*const kinds[])(struct draw *) = {flap,  goes_for_good, lanes,   bit_errors, reset, withdraw,
                                                   drain, pause,         receive, wrong_ecn,  no_pfc};
    struct draw draw = {.plan = plan, .day = day};

    *day = (struct bad_day){0};
    rng_init(&draw.rng, plan->seed, BAD_STREAM);
    if (plan->bare || plan->storm || !chance(&draw.rng, BAD_PERCENT)) return;
    plan->bad_day = true;
    bool unwatched = chance(&draw.rng, UNWATCHED_PERCENT) && !plan->verbs;
    if (unwatched) draw_unwatched(&draw);
    for (uint64_t count = pick(&draw.rng, unwatched ? 0 : 1, unwatched ? 1 : 3); count > 0; count--)
        kinds[rng_below(&draw.rng, sizeof(kinds) / sizeof(kinds[0]))](&draw);
    if (draw.moves && chance(&draw.rng, 60)) plan->routes_move = true;
    if (!plan->routes_move) return;
    unsigned pace = chance(&draw.rng, 20) ? 0 : (unsigned)pick(&draw.rng, 1, 20);
    unsigned detect = chance(&draw.rng, 20) ? 0 : (unsigned)pick(&draw.rng, 1, 60);
    add(day->converge, sizeof(day->converge), "converge: {detect: %uus, step: %uus}\n", detect, pace);
}
