/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run without a failure, then one with each, with every seed.  A run sees a copy of the fabric that shares
 * everything but the list of faults, which has one more; so the file is read once, and every run gets the file's own
 * faults too.  A run with a failure is held against the one without that has the same seed.
 *
 * What a failure may cost is computed, not fitted: the time without it, times the share of capacity that is gone
 * where it is scarcest, plus the time for which routes were wrong or a host was cut off; nothing where the run without
 * it sent no packet over that capacity.  A failure degrades predictably when the jobs complete and take at most
 * EACH_MARGIN_NUM / EACH_MARGIN_DEN times that.
 */
#include "study/each.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "study/pool.h"

#define SAMPLES 256             /* of the time without a failure: how finely recovery is looked at */
#define LONGEST_PS (100 * PS_S) /* a run that neither ends nor fails */
#define WINDOWS (1u << 16)

const char *const each_names[] = {"", "link", "leaf", "spine", "core", "switch"};

/* What the jobs lose while a link is down: rates towards higher tiers of the switch that has least of them left. */
static bool above(const struct fabric *fabric, const struct fabric_port *port)
{
    if (port->peer == FABRIC_NONE || !port->up) return false;
    return fabric->node[fabric->port[port->peer].node].role > fabric->node[port->node].role;
}

static bool fails(const struct fabric *fabric, uint32_t node, uint32_t failed, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer;

    if (failed != FABRIC_NONE) return port == failed || peer == failed;
    return fabric->port[port].node == node || (peer != FABRIC_NONE && fabric->port[peer].node == node);
}

bool each_loss(const struct fabric *fabric, uint32_t failed_node, uint32_t failed_port, uint64_t *ret_num,
               uint64_t *ret_den)
{
    bool cut_off = false;

    *ret_num = *ret_den = 1;
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        uint64_t all = 0, left = 0;
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            if (!above(fabric, &fabric->port[p])) continue;
            all += fabric->port[p].rate_bps / 1000;
            if (!fails(fabric, failed_node, failed_port, p)) left += fabric->port[p].rate_bps / 1000;
            if (n < fabric->hosts && fails(fabric, failed_node, failed_port, p)) cut_off = true;
        }
        if (n < fabric->hosts || all == left || (failed_port == FABRIC_NONE && n == failed_node)) continue;
        if (left == 0) {
            cut_off = true;
        } else if ((u128)all * *ret_den > (u128)*ret_num * left) {
            *ret_num = all;
            *ret_den = left;
        }
    }
    return cut_off;
}

/* The run without a failure that has the same seed. */
static const struct each_one *base_of(const struct each *each, const struct each_one *one)
{
    return &each->one[one->seed - each->options->sim.seed];
}

/* When a run's failure begins. */
static ps_t failure_at(const struct each *each, const struct each_one *one)
{
    return each->options->at != PS_NEVER ? each->options->at : base_of(each, one)->time_ps / 4;
}

static size_t used_bytes(const struct fabric *fabric)
{
    return fabric->ports / 8 + 1u;
}

/* Did the link carry packets, either way? */
static bool carried(const struct fabric *fabric, const uint8_t *used, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer;

    return (used[port / 8] >> port % 8 & 1) || (peer != FABRIC_NONE && (used[peer / 8] >> peer % 8 & 1));
}

/* Without the failure no packet used what fails, nor the other links to higher tiers of a switch that loses one: over
 * those, flows would be shared out anew. */
static bool touches_nothing(const struct each *each, const struct each_one *one)
{
    const struct fabric *fabric = each->fabric;
    const uint8_t *used = each->used + (one->seed - each->options->sim.seed) * used_bytes(fabric);

    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        bool loses = false, busy = false;
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            bool fail = fails(fabric, one->node, one->port, p);
            loses |= fail;
            busy |= (fail || (n >= fabric->hosts && above(fabric, &fabric->port[p]))) && carried(fabric, used, p);
        }
        if (loses && busy) return false;
    }
    return true;
}

static void predict(const struct each *each, struct each_one *one)
{
    const struct fabric_converge *converge = &each->converge;
    ps_t base = base_of(each, one)->time_ps, lasts = each->options->lasts_ps;
    uint64_t num, den;

    one->cut_off = each_loss(each->fabric, one->node, one->port, &num, &den);
    one->predicted_ps = PS_NEVER;
    /* Jobs that complete though an adapter is cut off for good do not need it, or were done before. */
    bool for_good = one->cut_off && lasts == PS_NEVER;
    if (base == PS_NEVER || (for_good && !one->completed)) return;
    if (touches_nothing(each, one)) {
        one->predicted_ps = base;
        return;
    }
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

/* A target with every seed. */
static void add_target(struct each *each, uint32_t node, uint32_t port)
{
    struct each_one *one = &each->one[each->count++ * each->seeds];

    *one = (struct each_one){.node = node, .port = port, .seed = each->options->sim.seed, .name = "(none)"};
    if (node != FABRIC_NONE) name_one(each->fabric, one);
    for (uint32_t k = 1; k < each->seeds; k++) {
        one[k] = one[0];
        one[k].seed += k;
    }
}

uint32_t each_kind(const struct fabric *fabric, uint32_t node, uint32_t port)
{
    uint32_t peer = port == FABRIC_NONE ? FABRIC_NONE : fabric->port[port].peer;
    uint32_t other = peer == FABRIC_NONE ? FABRIC_ROLES : fabric->node[fabric->port[peer].node].role;

    return other * FABRIC_ROLES + fabric->node[node].role;
}

bool each_is_link(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];

    return as->peer != FABRIC_NONE && as->peer >= port && as->up && fabric->port[as->peer].up;
}

/* Leaves so many of each kind, spread evenly over those that there are. */
static void take_sample(struct each *each)
{
    uint32_t of[EACH_KINDS] = {0}, met[EACH_KINDS] = {0}, kept = 1, sample = each->options->sample;

    for (uint32_t t = 1; t < each->count; t++)
        of[each_kind(each->fabric, each->one[t * each->seeds].node, each->one[t * each->seeds].port)]++;
    for (uint32_t t = 1; t < each->count; t++) {
        struct each_one *one = &each->one[t * each->seeds];
        uint32_t kind = each_kind(each->fabric, one->node, one->port), nth = met[kind]++;
        uint64_t share = of[kind] > sample ? sample : of[kind];
        if ((nth + 1) * share / of[kind] == nth * share / of[kind]) continue;
        memmove(&each->one[kept++ * each->seeds], one, each->seeds * sizeof(*one));
    }
    each->count = kept;
}

/* Those that cut an endpoint off are left out where only the others are asked for. */
static void try_target(struct each *each, uint32_t node, uint32_t port)
{
    uint64_t num, den;

    if (!each->options->with_path || !each_loss(each->fabric, node, port, &num, &den)) add_target(each, node, port);
}

/* Every target, in the fabric's order; false after an error: there is none, or no memory. */
static bool find_targets(struct each *each)
{
    static const uint8_t roles[] = {
        [EACH_LEAF] = FABRIC_ROLE_LEAF, [EACH_SPINE] = FABRIC_ROLE_SPINE, [EACH_CORE] = FABRIC_ROLE_CORE};
    const struct fabric *fabric = each->fabric;
    bool links = each->options->what == EACH_LINK, any = each->options->what == EACH_SWITCH;

    each->one = calloc((links ? fabric->ports : fabric->nodes) + 1u, sizeof(*each->one) * each->seeds);
    add_target(each, FABRIC_NONE, FABRIC_NONE);
    for (uint32_t p = 0; links && p < fabric->ports; p++) {
        if (each_is_link(fabric, p)) try_target(each, fabric->port[p].node, p);
    }
    for (uint32_t n = fabric->hosts; !links && n < fabric->nodes; n++)
        if (any || fabric->node[n].role == roles[each->options->what]) try_target(each, n, FABRIC_NONE);
    if (each->options->sample && each->count > 1) take_sample(each);
    if (each->count > 1) return true;
    return study_fail(each->error, "--each %s: the fabric has none", each_names[each->options->what]);
}

/* To the end; the last time something was lost or sent again is when it had recovered. */
static void run_one(const struct each *each, struct each_one *one, struct sim *sim)
{
    bool base = one->node == FABRIC_NONE;
    ps_t end = each->options->sim.until != PS_NEVER ? each->options->sim.until : each->fabric->stop;
    ps_t at = base ? 0 : failure_at(each, one);
    ps_t step = base ? PS_NEVER : base_of(each, one)->time_ps / SAMPLES + 1, next = base ? PS_NEVER : at;
    uint64_t losses = 0;
    ps_t last = PS_NEVER;

    if (end == PS_NEVER) end = LONGEST_PS;
    for (;;) {
        ps_t stop = next < end ? next : end;
        enum sim_state state = sim_advance(sim, WINDOWS, stop);
        if (state != SIM_RUNNING && (state != SIM_UNTIL || stop == end)) break;
        if (state == SIM_RUNNING) continue;
        uint64_t now = sim_losses(sim);
        if (now != losses && next > at) last = next;
        losses = now;
        next = ps_add(next, step > (next - at) / 64 ? step : (next - at) / 64);
    }
    if (!base && sim_losses(sim) != losses) last = sim_progress(sim).now;
    one->recover_ps = base || last == PS_NEVER ? 0 : last - at;
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
        one->again_packets += result->nic[i].common.retransmitted_packets;
        one->again_bytes += result->nic[i].common.retransmitted_bytes;
        one->timeouts += result->nic[i].common.timeouts;
        one->delivered_bytes += result->nic[i].common.rx_payload_bytes;
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
        snprintf(one->why, sizeof(one->why), "the time to stop was reached");
}

/* Ports that sent something else than pauses and credits. */
static void note_used(const struct sim_result *result, uint8_t *used)
{
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        if (port->frames > port->pauses_sent + port->credits_sent)
            used[port->port / 8] |= (uint8_t)(1u << port->port % 8);
    }
}

/* Creates, runs and reads one, and of a run without a failure which ports it used; false with errors, or without for
 * want of memory. */
static bool simulate(const struct each *each, struct each_one *one, struct fabric *fabric, uint8_t *used,
                     struct fabric_errors *errors)
{
    struct sim_options options = each->options->sim;
    struct sim *sim = NULL;
    struct sim_result result;
    bool good = false;

    options.seed = one->seed;
    options.threads = 1;
    if (sim_create(fabric, &options, &sim, errors) != 0) return false;
    run_one(each, one, sim);
    if (sim_result(sim, &result) == 0) {
        struct sim_report report = {.fabric = fabric, .result = &result};
        sum_up(one, &report);
        if (used) note_used(&result, used);
        judge(each, one);
        explain(one, &report);
        good = true;
        sim_result_free(&result);
    }
    sim_free(sim);
    return good;
}

struct making { /* of a row, in a process of its own */
    const struct each *each;
    struct each_one one;
};

/* The row is the struct as it is, and behind it, for a run that was refused, the errors, for one without a failure the
 * ports it used: it is read by this very program, which the cache sees to. */
static bool make_row(const void *context, FILE *to)
{
    const struct making *making = context;
    const struct each *each = making->each;
    struct each_one one = making->one;
    struct fabric fabric = *each->fabric;
    struct fabric_fault *fault = calloc(fabric.faults + 1u, sizeof(*fault));
    struct fabric_errors errors = {.path = fabric.path};
    uint8_t *used = one.node == FABRIC_NONE ? calloc(1, used_bytes(&fabric)) : NULL;

    CHECK(fault && (used || one.node != FABRIC_NONE));
    if (fabric.faults) memcpy(fault, fabric.fault, fabric.faults * sizeof(*fault));
    fabric.fault = fault;
    if (one.node != FABRIC_NONE) {
        fault[fabric.faults++] = (struct fabric_fault){.kind = FABRIC_FAULT_DOWN,
                                                       .at = failure_at(each, &one),
                                                       .lasts_ps = each->options->lasts_ps,
                                                       .node = one.node,
                                                       .port = one.port,
                                                       .word = "down"};
    }
    fabric.converge = each->converge;
    one.ran = simulate(each, &one, &fabric, used, &errors);
    fwrite(&one, sizeof(one), 1, to);
    if (!one.ran) fwrite(&errors, sizeof(errors), 1, to);
    if (one.ran && used) fwrite(used, used_bytes(&fabric), 1, to);
    free(used);
    free(fault);
    return one.ran;
}

static struct each_one *one_at(const struct each *each, uint32_t point)
{
    return &each->one[each->first + point];
}

static void run_point(const void *context, uint32_t point, FILE *to)
{
    const struct each *each = context;
    const struct making making = {each, *one_at(each, point)};
    const struct each_one *one = &making.one;
    bool base = one->node == FABRIC_NONE;
    const uint64_t parts[] = {one->node,
                              one->port,
                              base ? 0 : failure_at(each, one),
                              base ? 0 : base_of(each, one)->time_ps,
                              each->options->lasts_ps,
                              each->options->sim.until,
                              each->options->sim.keep_going};
    const struct cache_key key = {.fabric = each->fabric->source_hash,
                                  .seed = one->seed,
                                  .options = hash_bytes(hash_bytes(HASH_BEGIN, "each", 5), parts, sizeof parts)};

    cache_row(each->cache, &key, make_row, &making, to);
}

static bool take_row(void *context, uint32_t point, const struct pool_row *got)
{
    struct each *each = context;
    struct each_one *one = one_at(each, point);
    const char *row = got->bytes;
    size_t length = got->length;
    enum cache_origin origin = got->why ? CACHE_MADE : cache_origin(&row, &length);
    struct fabric_errors errors = {0};

    each->rows.of[origin]++;
    if (got->why == NULL && length >= sizeof(*one)) memcpy(one, row, sizeof(*one));
    if (got->why == NULL && !one->ran && length == sizeof(*one) + sizeof(errors))
        memcpy(&errors, row + sizeof(*one), sizeof(errors));
    if (one->ran && one->node == FABRIC_NONE && length == sizeof(*one) + used_bytes(each->fabric))
        memcpy(each->used + point * used_bytes(each->fabric), row + sizeof(*one), used_bytes(each->fabric));
    if (one->ran) return origin == CACHE_FOUND;
    one->time_ps = one->predicted_ps = PS_NEVER;
    snprintf(one->why, sizeof(one->why), "%s",
             got->why       ? got->why
             : errors.count ? errors.error[0].text
                            : "not enough memory");
    if (one->node == FABRIC_NONE && errors.count) each->error->loader = errors;
    return false;
}

/* So many runs from the first on; false after an error, or when *stopped. */
static bool run_some(struct each *each, uint32_t first, uint32_t points)
{
    const struct pool_work work = {.points = points,
                                   .at_once = each->options->sim.threads,
                                   .noun = "runs",
                                   .quiet = each->options->quiet,
                                   .stopped = each->options->stopped,
                                   .context = each,
                                   .run = run_point,
                                   .take = take_row,
                                   .error = each->error};
    struct pool_done done;

    each->first = first;
    bool good = pool_run(&work, &done);
    each->done += done.done;
    return good;
}

bool each_run(struct each *each)
{
    static const struct fabric_converge usual = FABRIC_CONVERGE_USUAL;

    CHECK(each->seeds > 0);
    each->converge = each->fabric->converge.on ? each->fabric->converge : usual;
    each->used = malloc(each->seeds * used_bytes(each->fabric));
    memset(each->used, 0xff, each->seeds * used_bytes(each->fabric));
    if (!find_targets(each) || !run_some(each, 0, each->seeds)) return false;
    for (uint32_t k = 0; k < each->seeds; k++) {
        const struct each_one *base = &each->one[k];
        if (!base->ran && each->error->loader.count == 0) study_fail(each->error, "%s", base->why);
        if (!base->ran || !base->completed) return false;
    }
    return run_some(each, each->seeds, (each->count - 1) * each->seeds);
}

void each_release(struct each *each)
{
    free(each->one);
    free(each->used);
    each->one = NULL;
    each->used = NULL;
}
