/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --each link|leaf|spine|core|switch: what every single failure costs.
 *
 * One run without a failure, then one with each, a thread a run on all processors.  A run sees a copy of the fabric
 * that shares everything but the list of faults, which has one more; so the file is read once, and every run gets
 * the file's own faults too.  Results are put in their places by number: the table does not depend on who was first.
 *
 * What a failure may cost is computed, not fitted: the time without it, times the share of capacity that is gone
 * where it is scarcest, plus the time for which routes were wrong or a host was cut off.  A failure degrades
 * predictably when the jobs complete and take at most MARGIN times that.
 */
#include "cli/sim_each.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/wide.h"
#include "cli/cli.h"
#include "report/sim_report.h"
#include "report/table.h"

#define MARGIN_NUM 3 /* half as much again */
#define MARGIN_DEN 2
#define SAMPLES 256             /* of the time without a failure: how finely recovery is looked at */
#define LONGEST_PS (100 * PS_S) /* a run that neither ends nor fails */
#define THREADS_MAX 256
#define WINDOWS (1u << 16)

struct each_one {
    uint32_t node, port;    /* what fails; FABRIC_NONE, FABRIC_NONE: nothing */
    char name[FABRIC_NAME]; /* of it; of a link one of its ports */
    bool ran, failed_to_run, completed, predictable, cut_off;
    enum sim_state state;
    ps_t time_ps, predicted_ps, recover_ps; /* PS_NEVER: never */
    uint64_t lost_packets, lost_bytes, again_packets, again_bytes, timeouts, delivered_bytes;
    uint64_t digest;
    char why[SIM_REASON];
};

struct each {
    const struct each_options *options;
    const struct fabric *fabric;
    struct fabric_converge converge;
    struct each_one *one; /* [0] is without a failure */
    uint32_t count, next, done;
    ps_t at;
    uint64_t begun_ns, drawn_ns;
    pthread_mutex_t lock; /* next, done, drawn_ns, errors */
    struct fabric_errors errors;
};

static const char *const each_names[] = {"", "link", "leaf", "spine", "core", "switch"};

bool each_parse(const char *text, struct each_options *ret)
{
    for (int i = EACH_LINK; i <= EACH_SWITCH; i++) {
        if (strcmp(text, each_names[i]) != 0) continue;
        ret->what = (enum each_what)i;
        return true;
    }
    cli_error("--each '%s': link, leaf, spine, core or switch", text);
    return false;
}

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

/* Every target, in the fabric's order; false: there is none, or no memory. */
static bool find_targets(struct each *each)
{
    static const uint8_t roles[] = {
        [EACH_LEAF] = FABRIC_ROLE_LEAF, [EACH_SPINE] = FABRIC_ROLE_SPINE, [EACH_CORE] = FABRIC_ROLE_CORE};
    const struct fabric *fabric = each->fabric;
    bool links = each->options->what == EACH_LINK, any = each->options->what == EACH_SWITCH;

    each->one = calloc((links ? fabric->ports : fabric->nodes) + 1u, sizeof(*each->one));
    if (each->one == NULL) {
        cli_error("not enough memory");
        return false;
    }
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
    cli_error("--each %s: the fabric has none", each_names[each->options->what]);
    return false;
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
    while (!cli_stopped) {
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
                       (u128)one->time_ps * MARGIN_DEN <= (u128)one->predicted_ps * MARGIN_NUM;
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
        if (each->errors.count == 0) each->errors = errors;
        pthread_mutex_unlock(&each->lock);
    }
    one->ran = !cli_stopped;
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
        uint32_t index = each->next < each->count && !cli_stopped ? each->next++ : UINT32_MAX;
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

static const char *ratio(ps_t part, ps_t whole, char buf[TEXT_COUNT])
{
    if (part == PS_NEVER || whole == PS_NEVER || whole == 0) return "-";
    return text_fixed(part, whole, 2, buf);
}

static void print_row(struct table *table, const struct each *each, const struct each_one *one)
{
    char time[TEXT_COUNT], slow[TEXT_COUNT], most[TEXT_COUNT], lost[TEXT_COUNT], again[TEXT_COUNT], back[TEXT_COUNT];
    const struct each_one *base = &each->one[0];
    bool first = one == base;
    const char *cell[] = {one->name,
                          one->time_ps == PS_NEVER ? "never" : text_ps(one->time_ps, time),
                          first ? "1.00" : ratio(one->time_ps, base->time_ps, slow),
                          first ? "" : ratio(one->predicted_ps, base->time_ps, most),
                          one->lost_bytes ? text_bytes(one->lost_bytes, lost) : "0",
                          one->again_bytes ? text_bytes(one->again_bytes, again) : "0",
                          first            ? ""
                          : one->completed ? text_ps(one->recover_ps, back)
                                           : "-",
                          first              ? ""
                          : one->predictable ? "yes"
                                             : "no",
                          one->why};
    table_row(table, cell);
}

static void print_text(const struct each *each, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "down"},
        {.title = "took", .right = true},
        {.title = "slowdown", .right = true},
        {.title = "explained", .right = true},
        {.title = "lost", .right = true},
        {.title = "again", .right = true},
        {.title = "recovered", .right = true},
        {.title = "ok"},
        {.title = "why"}}; /* the last, and what the table is read for: never cut */
    char at[TEXT_COUNT], lasts[TEXT_COUNT], detect[TEXT_COUNT], step[TEXT_COUNT];
    struct table table;
    struct text_style style = cli_style();
    uint32_t good = 0, ended = 0;

    fprintf(out, "each %s down at %s, %s%s; routes follow after %s, and %s a hop%s\n", each_names[each->options->what],
            text_ps(each->at, at), each->options->lasts_ps == PS_NEVER ? "to the end" : "for ",
            each->options->lasts_ps == PS_NEVER ? "" : text_ps(each->options->lasts_ps, lasts),
            text_ps(each->converge.detect_ps, detect), text_ps(each->converge.step_ps, step),
            each->fabric->converge.on ? "" : " (the file has no 'converge')");
    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < each->count; i++) {
        print_row(&table, each, &each->one[i]);
        good += each->one[i].predictable;
        ended += i > 0 && each->one[i].completed;
    }
    table_print(&table, out, &style, 0);
    table_release(&table);
    fprintf(out, "%u failures: %u degrade predictably, %u do not, %u of those do not complete\n", each->count - 1, good,
            each->count - 1 - good, each->count - 1 - ended);
}

static void json_time(struct jout *jout, const char *key, ps_t at)
{
    if (at == PS_NEVER)
        jout_null(jout, key);
    else
        jout_u64(jout, key, at);
}

static void json_one(struct jout *jout, const struct each_one *one, bool base)
{
    jout_open_line(jout, base ? "base" : NULL, '{');
    if (!base) jout_text(jout, "down", one->name);
    jout_bool(jout, "completed", one->completed);
    json_time(jout, "time_ps", one->time_ps);
    jout_u64(jout, "lost_packets", one->lost_packets);
    jout_u64(jout, "lost_bytes", one->lost_bytes);
    jout_u64(jout, "retransmitted_packets", one->again_packets);
    jout_u64(jout, "retransmitted_bytes", one->again_bytes);
    jout_u64(jout, "timeouts", one->timeouts);
    jout_u64(jout, "delivered_bytes", one->delivered_bytes);
    if (!base) {
        json_time(jout, "explained_ps", one->predicted_ps);
        json_time(jout, "recovered_ps", one->completed ? one->recover_ps : PS_NEVER);
        jout_bool(jout, "cut_off", one->cut_off);
        jout_bool(jout, "predictable", one->predictable);
        jout_text(jout, "why", one->why[0] ? one->why : NULL);
    }
    jout_close(jout);
}

static bool print_json(const struct each *each, FILE *out)
{
    struct jout *jout = malloc(sizeof(*jout));

    if (jout == NULL) {
        cli_error("not enough memory for the report");
        return false;
    }
    jout_init(jout, out);
    jout_open(jout, NULL, '{');
    jout_u64(jout, "version", 1);
    jout_text(jout, "kind", "sim-each");
    jout_text(jout, "fabric", each->fabric->name);
    jout_text(jout, "each", each_names[each->options->what]);
    jout_u64(jout, "at_ps", each->at);
    json_time(jout, "for_ps", each->options->lasts_ps);
    jout_u64(jout, "detect_ps", each->converge.detect_ps);
    jout_u64(jout, "step_ps", each->converge.step_ps);
    jout_fixed(jout, "margin", MARGIN_NUM * 10 / MARGIN_DEN, 1);
    json_one(jout, &each->one[0], true);
    jout_open(jout, "runs", '[');
    for (uint32_t i = 1; i < each->count; i++)
        json_one(jout, &each->one[i], false);
    jout_close(jout);
    jout_close(jout);
    free(jout);
    return true;
}

static int report(const struct each *each, FILE *out)
{
    bool good = true;

    for (uint32_t i = 0; i < each->count; i++) {
        if (!each->one[i].ran || each->one[i].failed_to_run) {
            if (each->errors.count) fabric_errors_print(&each->errors, stderr);
            cli_error(cli_stopped ? "interrupted: %u of %u runs were done" : "a run could not be made: %u of %u were",
                      each->done, each->count);
            return CLI_WRONG;
        }
        good &= i == 0 || each->one[i].predictable;
    }
    if (each->options->json && !print_json(each, out)) return CLI_WRONG;
    if (!each->options->json) print_text(each, out);
    return good ? CLI_DONE : CLI_PROBLEMS;
}

int each_run(const struct each_options *options, const struct fabric *fabric, FILE *out)
{
    static const struct fabric_converge usual = FABRIC_CONVERGE_USUAL;
    struct each each = {.options = options,
                        .fabric = fabric,
                        .converge = fabric->converge.on ? fabric->converge : usual,
                        .begun_ns = now_ns(),
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    int status = CLI_WRONG;

    if (find_targets(&each)) {
        each.next = 1;
        simulate_one(&each, &each.one[0]);
        each.done = 1;
        const struct each_one *base = &each.one[0];
        if (base->failed_to_run) {
            fabric_errors_print(&each.errors, stderr);
        } else if (!base->completed) {
            cli_error("--each: the jobs do not complete without a failure: %s", base->why);
            status = CLI_PROBLEMS;
        } else {
            each.at = options->at != PS_NEVER ? options->at : base->time_ps / 4;
            run_all(&each);
            status = report(&each, out);
        }
    }
    free(each.one);
    return status;
}
