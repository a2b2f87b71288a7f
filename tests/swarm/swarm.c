/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm: one random fabric after another, each run under watch.
 *
 * usage: swarm [--seconds S] [--least N] [--first N] [--count N] [--seed N] [--show] [--quiet] [--once]
 *        swarm --plans DIGEST [--first N] --count N
 *
 * --plans runs nothing: it fails unless the texts of these seeds' plans have that digest, with every compiler.
 * --seed N repeats one run (--show prints its fabric first).  Without --count it goes on until the seconds are over
 * (60) and at least so many seeds are done.  At the end it prints what was covered, and fails if something on the
 * list never was (not with a --count below 5000, --seed or --quiet).
 * Every tenth seed and every fourth bad day run again with three threads, every tenth seed without tiles: the digest
 * must be the same.  Not with --once: on a loaded machine threads wait for each other most of the time.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../node/loop.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "swarm.h"
#include "verbs.h"

#define WINDOWS_A_TIME 200
#define HOPS_MAX 150000ull     /* of a run that need not end */
#define LOOP_HOPS_MAX 60000ull /* of one that the plain loop runs too: it is slow */
#define ATTEMPTS 24
#define SEED_S 60 /* of processor time: a seed takes milliseconds, sanitized some hundred */

static struct plan plan;
static bool once;

void swarm_fail(const char *invariant, const char *format, ...)
{
    va_list list;

    fflush(stdout);
    fprintf(stderr, "swarm: seed %lu: broken: %s: ", (unsigned long)plan.seed, invariant);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\nrepeat with --seed %lu; the fabric:\n%s", (unsigned long)plan.seed, plan.text);
    fflush(stderr);
    _exit(1);
}

static void on_signal(int number)
{
    char text[160];
    int length = snprintf(text, sizeof(text), "swarm: seed %lu: broken: %s\nrepeat with --seed %lu; the fabric:\n",
                          (unsigned long)plan.seed,
                          number == SIGABRT     ? "a CHECK"
                          : number == SIGVTALRM ? "a run that does not end"
                                                : "a crash",
                          (unsigned long)plan.seed);

    if (write(2, text, (size_t)length) < 0 || write(2, plan.text, plan.used) < 0) _exit(2);
    _exit(1);
}

/* The loader counts bytes, a switch whole cells: what is set aside may round up to all there is. */
static bool has_room(const struct fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->switches; i++) {
        const struct fabric_switch *sw = &fabric->sw[i];
        uint64_t headroom = sw->headroom_pool_bytes ? sw->headroom_pool_bytes : sw->headroom_sum_bytes;
        uint64_t rounding = 16ull * fabric->node[fabric->hosts + i].ports * sw->cell_bytes;
        if (sw->reserved_sum_bytes + headroom + rounding >= sw->buffer_bytes) return false;
    }
    return true;
}

static struct fabric *load(uint64_t seed)
{
    struct fabric *fabric = NULL;
    struct fabric_errors errors;

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        errors = (struct fabric_errors){0};
        plan_make(&plan, seed, attempt);
        if (fabric_load("swarm.yaml", plan.text, &fabric, &errors) != 0) continue;
        if (has_room(fabric)) return fabric;
        fabric_free(fabric);
    }
    fabric_errors_print(&errors, stderr);
    swarm_fail("a plan can be loaded", "it cannot");
}

struct outcome {
    uint64_t digest, hops;
    ps_t virtual_ps;
    enum sim_state state;
};

static struct outcome run(const struct fabric *fabric, uint32_t threads, bool no_tiles, bool watched)
{
    struct sim_options options = {
        .seed = plan.seed, .threads = threads, .until = plan.until, .no_tiles = no_tiles, .packets_max = SWARM_PACKETS};
    struct fabric_errors errors = {0};
    struct sim *sim = NULL;
    struct sim_result result;
    struct watch watch;

    verbs_begin(&plan, fabric);
    if (sim_create(fabric, &options, &sim, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        swarm_fail("a fabric that loads can be simulated", "it cannot");
    }
    verbs_made();
    if (watched) watch_begin(&watch, sim, &plan);
    while (sim_advance(sim, WINDOWS_A_TIME, PS_NEVER) == SIM_RUNNING) {
        if (watched) watch_audit(&watch);
        if (plan.unwatched) sim_audit(sim);
        if (sim_progress(sim).packet_hops > (plan_must_end(&plan) ? 20 : 1) * HOPS_MAX) break;
    }
    CHECK(sim_result(sim, &result) == 0);
    struct outcome outcome = {result.digest, result.packet_hops, result.virtual_ps, result.state};
    if (watched) {
        watch_end(&watch, &result);
        cover_add(sim, &result, &plan, &watch);
        watch_free(&watch);
    }
    if (plan.unwatched) {
        unwatched_check(sim, &result, &plan);
        cover_unwatched(sim, &result, &plan);
    }
    sim_result_free(&result);
    sim_free(sim);
    verbs_end();
    return outcome;
}

static void same(const struct outcome *a, const struct outcome *b, const char *how)
{
    HOLDS(a->digest == b->digest && a->hops == b->hops && a->virtual_ps == b->virtual_ps && a->state == b->state,
          "the result depends on the fabric and the seed alone", "%s: digest %lx, %lx; hops %lu, %lu", how,
          (unsigned long)a->digest, (unsigned long)b->digest, (unsigned long)a->hops, (unsigned long)b->hops);
}

/* The same by the other driver, over real bytes (tests/node/loop.h); no digest where headers do not tell all. */
static bool run_by_loop(const struct fabric *fabric, struct outcome *ret)
{
    struct sim_options options = {.seed = plan.seed, .threads = 1, .until = plan.until, .packets_max = SWARM_PACKETS};
    struct fabric_errors errors = {0};
    struct sim *sim = NULL;
    const char *why;

    verbs_begin(&plan, fabric);
    CHECK(sim_create(fabric, &options, &sim, &errors) == 0);
    verbs_made();
    struct loop *loop = loop_create(sim, &why);
    bool done = loop != NULL && loop_run(loop);
    if (done) {
        struct loop_totals totals = loop_totals(loop);
        HOLDS(totals.wrong == 0, "bytes arrive as they were sent", "%lu frames did not", (unsigned long)totals.wrong);
        *ret = (struct outcome){.digest = totals.digest, .hops = totals.hops};
    }
    loop_free(loop);
    sim_free(sim);
    verbs_end();
    return done;
}

static void same_by_loop(const struct fabric *fabric, const struct outcome *first)
{
    struct outcome again;

    if (!run_by_loop(fabric, &again)) return;
    HOLDS(first->digest == again.digest && first->hops == again.hops, "a plain loop over bytes gives the same run",
          "digest %lx, %lx; hops %lu, %lu", (unsigned long)first->digest, (unsigned long)again.digest,
          (unsigned long)first->hops, (unsigned long)again.hops);
    cover_loop();
}

static struct outcome one(uint64_t seed)
{
    const struct itimerval patience = {.it_value.tv_sec = SEED_S};
    setitimer(ITIMER_VIRTUAL, &patience, NULL);
    struct fabric *fabric = load(seed);

    routes_check(fabric, seed);
    if (plan.only_routes) {
        cover_routes();
        fabric_free(fabric);
        return (struct outcome){.state = SIM_DONE};
    }
    struct outcome first = run(fabric, 1, false, !plan.unwatched);

    /* A run that was cut off for its length ends where the windows happen to be. */
    bool repeats = first.state != SIM_RUNNING && first.hops < HOPS_MAX && !once;
    if (repeats && (seed % 10 == 1 || (plan.bad_day && seed % 4 == 0))) {
        struct outcome again = run(fabric, 3, false, false);
        same(&first, &again, "3 threads");
        cover_run(true, false);
    }
    if (repeats && seed % 10 == 6) {
        struct outcome again = run(fabric, 1, true, false);
        same(&first, &again, "no tiles");
        cover_run(false, true);
    }
    bool ended = first.state == SIM_DONE || first.state == SIM_FAILED;
    if (repeats && ended && seed % 10 == 3 && first.hops < LOOP_HOPS_MAX) same_by_loop(fabric, &first);
    fabric_free(fabric);
    return first;
}

struct arguments {
    const char *plans; /* a digest; NULL: run */
    uint64_t first, count, seconds, least;
    bool single, show, quiet;
};

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 0);

    if (*text == 0 || *end != 0) {
        fprintf(stderr, "swarm: '%s' is not a number\n", text);
        exit(2);
    }
    return value;
}

/* FNV-1a over the texts of all plans. */
static int compare_plans(const struct arguments *a)
{
    uint64_t digest = 0xcbf29ce484222325u;

    for (uint64_t seed = a->first; seed < a->first + a->count; seed++) {
        plan_make(&plan, seed, 0);
        for (size_t i = 0; i < plan.used; i++)
            digest = (digest ^ (uint8_t)plan.text[i]) * 0x100000001b3u;
    }
    printf("swarm: the plans of seeds %lu to %lu have digest %016lx\n", (unsigned long)a->first,
           (unsigned long)(a->first + a->count - 1), (unsigned long)digest);
    if (digest == strtoull(a->plans, NULL, 16)) return 0;
    fprintf(stderr,
            "swarm: expected %s: either plan.c or plan_bad.c was meant to change (then tests/swarm/meson.build changes "
            "too), or two draws stand in one expression, whose order the compiler chooses\n",
            a->plans);
    return 1;
}

static struct arguments read_arguments(int argc, char **argv)
{
    struct arguments a = {.first = 1, .seconds = 60};

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--once")) {
            once = true;
            continue;
        }
        if (!strcmp(argv[i], "--show") || !strcmp(argv[i], "--quiet")) {
            *(argv[i][2] == 's' ? &a.show : &a.quiet) = true;
            continue;
        }
        if (!strcmp(argv[i], "--seed")) {
            a.first = number(value);
            a.count = 1;
            a.single = true;
        } else if (!strcmp(argv[i], "--seconds")) {
            a.seconds = number(value);
        } else if (!strcmp(argv[i], "--least")) {
            a.least = number(value);
        } else if (!strcmp(argv[i], "--plans")) {
            a.plans = value;
        } else if (!strcmp(argv[i], "--first")) {
            a.first = number(value);
        } else if (!strcmp(argv[i], "--count")) {
            a.count = number(value);
        } else {
            fprintf(stderr,
                    "usage: swarm [--seconds S] [--least N] [--first N] [--count N] [--seed N] [--show] [--quiet] "
                    "[--once]\n       swarm --plans DIGEST [--first N] --count N\n");
            exit(2);
        }
        i++;
    }
    return a;
}

int main(int argc, char **argv)
{
    struct arguments a = read_arguments(argc, argv);
    time_t end = time(NULL) + (time_t)a.seconds;
    uint64_t seed = a.first;

    if (a.plans) return compare_plans(&a);
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};
    for (unsigned i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], on_signal);
    for (; a.count ? seed < a.first + a.count : seed < a.first + a.least || time(NULL) < end; seed++) {
        if (a.show) {
            fabric_free(load(seed));
            printf("%s", plan.text);
        }
        struct outcome outcome = one(seed);
        if (a.single || a.show)
            printf("seed %lu: state %d, %lu hops, %lu ps, digest %016lx\n", (unsigned long)seed, (int)outcome.state,
                   (unsigned long)outcome.hops, (unsigned long)outcome.virtual_ps, (unsigned long)outcome.digest);
    }
    routes_shares();
    printf("swarm: seeds %lu to %lu, no invariant broken\n", (unsigned long)a.first, (unsigned long)(seed - 1));
    if (a.quiet) return 0;
    unsigned missing = cover_print();
    return (a.count == 0 || a.count >= 5000) && missing ? 1 : 0;
}
