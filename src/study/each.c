/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run without a failure, then one with each, a thread a run on all processors.  A run sees a copy of the fabric
 * that shares everything but the list of faults, which has one more; so the file is read once, and every run gets
 * the file's own faults too.  Results are put in their places by number: the table does not depend on who was first.
 *
 * What a failure may cost is computed, not fitted: the time without it, times the share of capacity that is gone
 * where it is scarcest, plus the time for which routes were wrong or a host was cut off.  A failure degrades
 * predictably when the jobs complete and take at most EACH_MARGIN times that.
 */
#include "study/each.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/wide.h"
#include "report/text.h"

#define SAMPLES 256             /* of the time without a failure: how finely recovery is looked at */
#define LONGEST_PS (100 * PS_S) /* a run that neither ends nor fails */
#define THREADS_MAX 256
#define WINDOWS (1u << 16)

const char *const each_names[] = {"", "link", "leaf", "spine", "core", "switch"};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What the jobs lose while a link is down: rates towards higher tiers of the switch that has least of them left. */
static bool above(const struct fabric *fabric, const struct fabric_port *port)
{
    if (port->peer == FABRIC_NONE || !port->up) return false;
    return fabric->node[fabric->port[port->peer].node].role > fabric->node[port->node].role;
}

static bool fails(const struct fabric *fabric, const struct each_one *one, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer;

    if (one->port != FABRIC_NONE) return port == one->port || peer == one->port;
    return fabric->port[port].node == one->node || (peer != FABRIC_NONE && fabric->port[peer].node == one->node);
}

/* Sets whether an endpoint is cut off, and the capacity that is gone: num / den of the time it took. */
static void find_loss(const struct fabric *fabric, struct each_one *one, uint64_t *ret_num, uint64_t *ret_den)
{
    *ret_num = *ret_den = 1;
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        uint64_t all = 0, left = 0;
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            if (!above(fabric, &fabric->port[p])) continue;
            all += fabric->port[p].rate_bps / 1000;
            if (!fails(fabric, one, p)) left += fabric->port[p].rate_bps / 1000;
            if (n < fabric->hosts && fails(fabric, one, p)) one->cut_off = true;
        }
        if (n < fabric->hosts || all == left || (one->port == FABRIC_NONE && n == one->node)) continue;
        if (left == 0) {
            one->cut_off = true;
        } else if ((u128)all * *ret_den > (u128)*ret_num * left) {
            *ret_num = all;
            *ret_den = left;
        }
    }
}

static void predict(const struct each *each, struct each_one *one)
{
    const struct fabric_converge *converge = &each->converge;
    ps_t base = each->one[0].time_ps, lasts = each->options->lasts_ps;
    uint64_t num, den;

    find_loss(each->fabric, one, &num, &den);
    one->predicted_ps = PS_NEVER;
    /* Jobs that complete though an adapter is cut off for good do not need it, or were done before. */
    bool for_good = one->cut_off && lasts == PS_NEVER;
    if (base == PS_NEVER || (for_good && !one->completed)) return;
    ps_t outage = ps_add(converge->detect_ps, ps_add(2 * converge->step_ps, 2 * converge->step_ps));
    if (one->cut_off && !for_good) outage = ps_add(outage, lasts);
    one->predicted_ps = ps_add((ps_t)((u128)base * num / den), outage);
}

static void name_one(const struct fabric *fabric, struct each_one *one)
{
    if (one->port == FABRIC_NONE)
        snprintf(one->name, sizeof(one->name), "%s", fabric->node[one->node].name);
    else
        fabric_port_name(fabric, one->port, one->name);
}

/* Every target, in the fabric's order; false after an error: there is none, or no memory. */
static bool find_targets(struct each *each)
{
    static const uint8_t roles[] = {
        [EACH_LEAF] = FABRIC_ROLE_LEAF, [EACH_SPINE] = FABRIC_ROLE_SPINE, [EACH_CORE] = FABRIC_ROLE_CORE};
    const struct fabric *fabric = each->fabric;
    bool links = each->options->what == EACH_LINK, any = each->options->what == EACH_SWITCH;

    each->one = calloc((links ? fabric->ports : fabric->nodes) + 1u, sizeof(*each->one));
    if (each->one == NULL) return study_fail(each->error, "not enough memory");
    each->one[each->count++] = (struct each_one){.node = FABRIC_NONE, .port = FABRIC_NONE, .name = "(none)"};
    for (uint32_t p = 0; links && p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        if (port->peer == FABRIC_NONE || port->peer < p || !port->up || !fabric->port[port->peer].up) continue;
        each->one[each->count++] = (struct each_one){.node = port->node, .port = p};
    }
    for (uint32_t n = fabric->hosts; !links && n < fabric->nodes; n++)
        if (any || fabric->node[n].role == roles[each->options->what])
            each->one[each->count++] = (struct each_one){.node = n, .port = FABRIC_NONE};
    for (uint32_t i = 1; i < each->count; i++)
        name_one(fabric, &each->one[i]);
    if (each->count > 1) return true;
    return study_fail(each->error, "--each %s: the fabric has none", each_names[each->options->what]);
}

/* To the end; the last time something was lost or sent again is when it had recovered. */
static void run_one(const struct each *each, struct each_one *one, struct sim *sim)
{
    bool base = one->node == FABRIC_NONE;
    ps_t end = each->options->sim.until != PS_NEVER ? each->options->sim.until : each->fabric->stop;
    ps_t step = base ? PS_NEVER : each->one[0].time_ps / SAMPLES + 1, next = base ? PS_NEVER : each->at;
    uint64_t losses = 0;
    ps_t last = PS_NEVER;

    if (end == PS_NEVER) end = LONGEST_PS;
    while (!*each->options->stopped) {
        ps_t stop = next < end ? next : end;
        enum sim_state state = sim_advance(sim, WINDOWS, stop);
        if (state != SIM_RUNNING && (state != SIM_UNTIL || stop == end)) break;
        if (state == SIM_RUNNING) continue;
        uint64_t now = sim_losses(sim);
        if (now != losses && next > each->at) last = next;
        losses = now;
        next = ps_add(next, step > (next - each->at) / 64 ? step : (next - each->at) / 64);
    }
    if (!base && sim_losses(sim) != losses) last = sim_progress(sim).now;
    one->recover_ps = base || last == PS_NEVER ? 0 : last - each->at;
}

static void sum_up(struct each_one *one, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    ps_t start = PS_NEVER;

    for (uint32_t i = 0; i < result->jobs; i++)
        if (result->job[i].start < start) start = result->job[i].start;
    one->state = result->state;
    one->completed = result->state == SIM_DONE && result->work_failed == 0;
    one->time_ps = one->completed && start != PS_NEVER ? result->virtual_ps - start : PS_NEVER;
    one->digest = result->digest;
    for (uint32_t i = 0; i < result->ports; i++) {
        one->lost_packets += result->port[i].lost + (result->port[i].sw ? result->port[i].drops : 0);
        one->lost_bytes += result->port[i].lost_bytes + (result->port[i].sw ? result->port[i].sw->dropped_bytes : 0);
    }
    for (uint32_t i = 0; i < result->nics; i++) {
        one->again_packets += result->nic[i].counters->retransmitted_packets;
        one->again_bytes += result->nic[i].counters->retransmitted_bytes;
        one->timeouts += result->nic[i].counters->local_ack_timeout_err;
        one->delivered_bytes += result->nic[i].counters->rx_payload_bytes;
    }
}

static void judge(const struct each *each, struct each_one *one)
{
    if (one->node == FABRIC_NONE) return;
    predict(each, one);
    one->predictable = one->completed && one->predicted_ps != PS_NEVER &&
                       (u128)one->time_ps * EACH_MARGIN_DEN <= (u128)one->predicted_ps * EACH_MARGIN_NUM;
}

static void explain(struct each_one *one, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    char name[FABRIC_NAME];

    sim_failure_reason(report, one->why);
    if (one->completed && one->node != FABRIC_NONE && !one->predictable) {
        if (one->timeouts)
            snprintf(one->why, sizeof(one->why), "%llu timeout%s", (unsigned long long)one->timeouts,
                     one->timeouts == 1 ? "" : "s");
        else
            snprintf(one->why, sizeof(one->why), "slower than explained");
    }
    if (result->state == SIM_DEADLOCK)
        snprintf(one->why, sizeof(one->why), "deadlock of %u queues from %s on", result->deadlock[0].waits,
                 fabric_port_name(report->fabric, result->deadlock[0].wait[0].port, name));
    else if (one->why[0] == '\0' && result->state == SIM_STUCK)
        snprintf(one->why, sizeof(one->why), "stuck: nothing happens");
    else if (one->why[0] == '\0' && !one->completed)
        snprintf(one->why, sizeof(one->why), "%s",
                 result->state == SIM_UNTIL ? "the time to stop was reached" : "interrupted");
}

/* Creates, runs and reads one; false after the error was noted. */
static void simulate_one(struct each *each, struct each_one *one)
{
    struct fabric fabric = *each->fabric;
    struct fabric_fault *fault = calloc(fabric.faults + 1u, sizeof(*fault));
    struct sim_options options = each->options->sim;
    struct fabric_errors errors = {.path = fabric.path};
    struct sim *sim = NULL;
    struct sim_result result;

    one->failed_to_run = true;
    if (fault == NULL) return;
    if (fabric.faults) memcpy(fault, fabric.fault, fabric.faults * sizeof(*fault));
    fabric.fault = fault;
    if (one->node != FABRIC_NONE) {
        fault[fabric.faults++] = (struct fabric_fault){.kind = FABRIC_FAULT_DOWN,
                                                       .at = each->at,
                                                       .lasts_ps = each->options->lasts_ps,
                                                       .node = one->node,
                                                       .port = one->port,
                                                       .word = "down"};
    }
    fabric.converge = each->converge;
    options.threads = 1;
    if (sim_create(&fabric, &options, &sim, &errors) == 0) {
        run_one(each, one, sim);
        if (sim_result(sim, &result) == 0) {
            struct sim_report report = {.fabric = &fabric, .result = &result};
            sum_up(one, &report);
            judge(each, one);
            explain(one, &report);
            one->failed_to_run = false;
            sim_result_free(&result);
        }
        sim_free(sim);
    } else {
        pthread_mutex_lock(&each->lock);
        if (each->error->loader.count == 0) each->error->loader = errors;
        pthread_mutex_unlock(&each->lock);
    }
    one->ran = !*each->options->stopped;
    free(fault);
}

static void draw(struct each *each)
{
    uint64_t now = now_ns(), left;
    char text[TEXT_COUNT];

    if (each->options->quiet || !isatty(STDERR_FILENO) || now - each->drawn_ns < 200000000u || each->done == 0) return;
    each->drawn_ns = now;
    left = (now - each->begun_ns) / each->done * (each->count - each->done);
    fprintf(stderr, "\r%u of %u runs, about %s left\033[K", each->done, each->count, text_ns(left, text));
}

static void *worker(void *context)
{
    struct each *each = context;

    for (;;) {
        pthread_mutex_lock(&each->lock);
        uint32_t index = each->next < each->count && !*each->options->stopped ? each->next++ : UINT32_MAX;
        pthread_mutex_unlock(&each->lock);
        if (index == UINT32_MAX) return NULL;
        simulate_one(each, &each->one[index]);
        pthread_mutex_lock(&each->lock);
        each->done++;
        draw(each);
        pthread_mutex_unlock(&each->lock);
    }
}

static void run_all(struct each *each)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t threads = each->options->sim.threads ? each->options->sim.threads
                       : processors > 0           ? (uint32_t)processors
                                                  : 1;
    pthread_t thread[THREADS_MAX];
    uint32_t started = 0;

    if (threads > THREADS_MAX) threads = THREADS_MAX;
    while (started + 1 < threads && started + 2 < each->count &&
           pthread_create(&thread[started], NULL, worker, each) == 0)
        started++;
    worker(each);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (!each->options->quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

/* All of them were made? */
static bool all_ran(const struct each *each)
{
    for (uint32_t i = 0; i < each->count; i++)
        if (!each->one[i].ran || each->one[i].failed_to_run)
            return study_fail(each->error,
                              *each->options->stopped ? "interrupted: %u of %u runs were done"
                                                      : "a run could not be made: %u of %u were",
                              each->done, each->count);
    return true;
}

bool each_run(struct each *each)
{
    static const struct fabric_converge usual = FABRIC_CONVERGE_USUAL;

    each->converge = each->fabric->converge.on ? each->fabric->converge : usual;
    each->begun_ns = now_ns();
    if (!find_targets(each)) return false;
    each->next = 1;
    simulate_one(each, &each->one[0]);
    each->done = 1;
    const struct each_one *base = &each->one[0];
    if (base->failed_to_run) return each->error->loader.count ? false : study_fail(each->error, "not enough memory");
    if (!base->completed) return false;
    each->at = each->options->at != PS_NEVER ? each->options->at : base->time_ps / 4;
    run_all(each);
    return all_ran(each);
}

void each_release(struct each *each)
{
    free(each->one);
    each->one = NULL;
}
