/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong in a run: deadlocks with their circle, the first failure, the watchdog's doings, and who paused whom.
 *
 * Pauses are shown as a forest.  A root is a queue that was full without being paused, or a host that pauses; below
 * it stand the ports it paused, below those the ports that were paused in turn because of them.  A port may stand below
 * several: its shares of time are those of each cause.  JSON has all of the edges, text the largest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"
#include "report/table.h"

#define DEPTH_MAX 8
#define WAITS_SHOWN 16

struct tree_walk {
    FILE *out;
    const struct sim_report *report;
    uint32_t left;            /* rows that may still be printed */
    uint32_t path[DEPTH_MAX]; /* ports, from the root on */
};

/* Time that (port, priority) is the cause of: where it began itself, or passed on. */
static ps_t blamed_ps(const struct sim_pause *pause, bool root)
{
    return pause->cause == UINT32_MAX ? pause->time_ps
           : root                     ? pause->time_ps - pause->passed_on_ps
                                      : pause->passed_on_ps;
}

struct branch {
    const struct sim_pause *pause;
    ps_t time_ps;
};

static int compare_branches(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;

    if (x->time_ps != y->time_ps) return x->time_ps > y->time_ps ? -1 : 1;
    return x->pause->port < y->pause->port ? -1 : x->pause->port > y->pause->port;
}

/* The pauses that a queue caused, the longest first; NULL: none, or no memory. */
static struct branch *branches_of(const struct sim_result *result, uint32_t cause, uint8_t priority, bool root,
                                  uint32_t *ret_count)
{
    struct branch *branch = calloc(result->pauses + 1u, sizeof(*branch));
    uint32_t count = 0;

    for (uint32_t i = 0; branch && i < result->pauses; i++) {
        const struct sim_pause *pause = &result->pause[i];
        if (pause->cause != cause || pause->priority != priority || blamed_ps(pause, root) == 0) continue;
        branch[count++] = (struct branch){pause, blamed_ps(pause, root)};
    }
    if (branch) qsort(branch, count, sizeof(*branch), compare_branches);
    *ret_count = count;
    return branch;
}

static void print_branches(struct tree_walk *walk, uint32_t port, uint8_t priority, uint32_t depth);

static void print_branch(struct tree_walk *walk, const struct branch *branch, uint32_t depth)
{
    const struct fabric *fabric = walk->report->fabric;
    uint32_t victim = fabric->port[branch->pause->port].peer;
    char name[FABRIC_NAME], share[TEXT_COUNT], count[TEXT_COUNT];

    if (walk->left == 0) return;
    walk->left--;
    fprintf(walk->out, "  %*spaused %s for %s of the time (%s times)\n", (int)(2 * depth), "",
            fabric_port_name(fabric, victim, name),
            text_share(branch->time_ps, walk->report->result->virtual_ps, share),
            text_count(branch->pause->count, count));
    for (uint32_t i = 0; i < depth; i++)
        if (walk->path[i] == victim) return; /* a circle of pauses */
    if (depth + 1 < DEPTH_MAX && fabric->node[fabric->port[victim].node].kind == FABRIC_SWITCH)
        print_branches(walk, victim, branch->pause->priority, depth);
}

/* What the queue of `port`, paused itself, made its switch pause. */
static void print_branches(struct tree_walk *walk, uint32_t port, uint8_t priority, uint32_t depth)
{
    uint32_t count;
    struct branch *branch = branches_of(walk->report->result, port, priority, false, &count);

    walk->path[depth] = port;
    for (uint32_t i = 0; branch && i < count && walk->left; i++)
        print_branch(walk, &branch[i], depth + 1);
    free(branch);
}

/* Roots: queues by the time they began pauses of, hosts by the time they paused. */
static uint32_t find_roots(const struct sim_result *result, struct branch *root)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < result->pauses; i++) {
        const struct sim_pause *pause = &result->pause[i];
        ps_t time_ps = blamed_ps(pause, true);
        uint32_t at = 0;
        if (time_ps == 0) continue;
        while (at < count && (pause->cause == UINT32_MAX || root[at].pause->cause != pause->cause ||
                              root[at].pause->priority != pause->priority))
            at++;
        if (at == count) root[count++] = (struct branch){pause, 0};
        root[at].time_ps += time_ps;
    }
    qsort(root, count, sizeof(*root), compare_branches);
    return count;
}

static void print_root(struct tree_walk *walk, const struct branch *root)
{
    const struct fabric *fabric = walk->report->fabric;
    const struct sim_pause *pause = root->pause;
    char name[FABRIC_NAME];
    uint32_t count = 0;

    if (walk->left == 0) return;
    walk->left--;
    if (pause->cause == UINT32_MAX) {
        fprintf(walk->out, "  %s, a host, paused priority %u\n", fabric_port_name(fabric, pause->port, name),
                pause->priority);
        struct branch branch = {pause, pause->time_ps};
        walk->path[0] = pause->port;
        print_branch(walk, &branch, 1);
        return;
    }
    fprintf(walk->out, "  queue of %s was full, priority %u\n", fabric_port_name(fabric, pause->cause, name),
            pause->priority);
    struct branch *branch = branches_of(walk->report->result, pause->cause, pause->priority, true, &count);
    walk->path[0] = pause->cause;
    for (uint32_t i = 0; branch && i < count; i++)
        print_branch(walk, &branch[i], 1);
    free(branch);
}

static void print_pauses(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    struct tree_walk walk = {.out = out, .report = report, .left = options->rows ? options->rows : UINT32_MAX};
    struct branch *root = calloc(result->pauses + 1u, sizeof(*root));
    uint32_t roots = root ? find_roots(result, root) : 0;

    if (roots) text_heading(out, &options->style, "PAUSES (where they began and which ports they stopped)");
    for (uint32_t i = 0; i < roots; i++)
        print_root(&walk, &root[i]);
    if (roots && walk.left == 0) fputs("  and more\n", out);
    free(root);
}

static void print_deadlocks(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    char closed[TEXT_COUNT], ended[TEXT_COUNT], name[FABRIC_NAME];

    if (result->deadlocks) text_heading(out, &options->style, "DEADLOCKS");
    for (uint32_t i = 0; i < result->deadlocks; i++) {
        const struct sim_deadlock *deadlock = &result->deadlock[i];
        fprintf(out, "  closed at %s (%" PRIu64 " ps), ", text_ps(deadlock->closed, closed), deadlock->closed);
        if (deadlock->ended == PS_NEVER)
            fputs("held to the end", out);
        else
            fprintf(out, "broken by %s", text_ps(deadlock->ended, ended));
        fprintf(out, "; %u queues wait for each other in a circle, %u can never send\n   ", deadlock->waits,
                deadlock->stuck);
        for (uint32_t w = 0; w < deadlock->waits && w < WAITS_SHOWN; w++)
            fprintf(out, " %s (priority %u) waits for", fabric_port_name(report->fabric, deadlock->wait[w].port, name),
                    deadlock->wait[w].priority);
        fprintf(out, "%s %s\n", deadlock->waits > WAITS_SHOWN ? " ..." : "",
                fabric_port_name(report->fabric, deadlock->wait[0].port, name));
    }
}

/* Of a run that is stuck: whose requests nobody will complete. */
static void stall_reason(const struct sim_report *report, char buf[SIM_REASON])
{
    const struct sim_stall *stall = &report->result->stall;
    const struct fabric *fabric = report->fabric;
    char src[FABRIC_NAME], dst[FABRIC_NAME];
    size_t used;

    fabric_port_name(fabric, fabric->endpoint[stall->src].port, src);
    fabric_port_name(fabric, fabric->endpoint[stall->dst].port, dst);
    used = (size_t)snprintf(buf, SIM_REASON, "%s %s: %u request%s to %s on QP %u", src,
                            stall->down     ? "waits, and its link is down"
                            : stall->paused ? "is paused and waits"
                                            : "waits for an answer that will never come",
                            stall->requests, stall->requests == 1 ? "" : "s", dst, stall->qpn);
    if (stall->pairs > 1)
        snprintf(buf + used, SIM_REASON - used, ", and %u more QP%s", stall->pairs - 1, stall->pairs == 2 ? "" : "s");
}

void sim_failure_reason(const struct sim_report *report, char buf[SIM_REASON])
{
    const struct sim_failure *failure = &report->result->failure;
    const struct fabric *fabric = report->fabric;
    char src[FABRIC_NAME], dst[FABRIC_NAME], at[TEXT_COUNT], done[TEXT_COUNT], what[64] = "the peer refused a request";

    buf[0] = '\0';
    if (failure->at == PS_NEVER) {
        if (report->result->stall.pairs) stall_reason(report, buf);
        return;
    }
    fabric_port_name(fabric, fabric->endpoint[failure->src].port, src);
    fabric_port_name(fabric, fabric->endpoint[failure->dst].port, dst);
    text_ps(failure->at, at);
    text_bytes(failure->acked_bytes, done);
    if (failure->retries)
        snprintf(what, sizeof(what), "%u retr%s exceeded", failure->retry, failure->retry == 1 ? "y" : "ies");
    if (failure->retries && (failure->src_down || failure->dst_down))
        snprintf(buf, SIM_REASON, "the link of %s is down: %s on QP %u, %s to %s, at %s, after %s",
                 failure->src_down ? src : dst, what, failure->qpn, src, dst, at, done);
    else if (failure->retries && !failure->reachable)
        snprintf(buf, SIM_REASON, "%s unreachable from %s: %s on QP %u at %s, after %s", dst, src, what, failure->qpn,
                 at, done);
    else
        snprintf(buf, SIM_REASON, "%s on QP %u, %s to %s, at %s, after %s", what, failure->qpn, src, dst, at, done);
}

static void print_failure(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    char reason[SIM_REASON], at[TEXT_COUNT];

    sim_failure_reason(report, reason);
    if (reason[0] == '\0') return;
    text_heading(out, &options->style, result->failure.at == PS_NEVER ? "STILL WAITING" : "FIRST FAILURE");
    fprintf(out, "  %s\n", reason);
    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (job->failed_at == PS_NEVER || (job->start == PS_NEVER && i > 0 && result->job[i - 1].job == job->job))
            continue;
        fprintf(out, "  %s %s %s\n", job->name,
                job->start == PS_NEVER ? "did not start: a job that it waits for failed at" : "failed at",
                text_ps(job->failed_at, at));
    }
}

static void watchdog_row(struct table *table, const struct sim_report *report, const struct sim_port *port,
                         uint8_t prio)
{
    const struct sw_prio_counters *count = &port->sw->prio[prio];
    char name[FABRIC_NAME], queue[8], acted[TEXT_COUNT], restored[TEXT_COUNT], last[TEXT_COUNT], back[TEXT_COUNT],
        cut[TEXT_COUNT], drops[TEXT_COUNT];

    snprintf(queue, sizeof(queue), "%u", prio);
    TABLE_ROW(table, fabric_port_name(report->fabric, port->port, name), queue,
              text_count(count->watchdog_detected, acted), text_ps(count->watchdog_acted_at_ps, last),
              text_count(count->watchdog_restored, restored),
              count->watchdog_restored ? text_ps(count->watchdog_restored_at_ps, back) : "-",
              text_ps(count->watchdog_ps, cut), text_count(port->sw->drop[SW_DROP_watchdog], drops));
}

static void print_watchdog(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    struct table table;
    bool any = false;

    TABLE_BEGIN(&table, LEFT("port", .min_width = 8), RIGHT("queue"), RIGHT("acted"), RIGHT("last at"),
                RIGHT("restored"), RIGHT("last at"), RIGHT("cut off for"), RIGHT("dropped at port"));
    for (uint32_t i = 0; i < result->ports; i++) {
        for (uint8_t p = 0; result->port[i].sw && p < FABRIC_PRIOS; p++) {
            if (result->port[i].sw->prio[p].watchdog_detected == 0) continue;
            watchdog_row(&table, report, &result->port[i], p);
            any = true;
        }
    }
    if (any) text_heading(out, &options->style, "WATCHDOG");
    if (any) table_print(&table, out, &options->style, 2);
    table_release(&table);
}

void sim_text_trouble(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    print_deadlocks(out, report, options);
    print_failure(out, report, options);
    if (options->quiet) return;
    print_watchdog(out, report, options);
    print_pauses(out, report, options);
}

static void json_port(struct jout *jout, const char *key, const struct fabric *fabric, uint32_t port)
{
    char name[FABRIC_NAME];

    jout_text(jout, key, port == UINT32_MAX ? NULL : fabric_port_name(fabric, port, name));
}

static void json_wait(struct jout *jout, const struct fabric *fabric, uint32_t port, uint8_t priority)
{
    jout_open_line(jout, NULL, '{');
    json_port(jout, "port", fabric, port);
    jout_u64(jout, "priority", priority);
    jout_close(jout);
}

static void json_deadlock(struct jout *jout, const struct fabric *fabric, const struct sim_deadlock *deadlock)
{
    jout_open(jout, NULL, '{');
#include "report/rows/deadlock.def"
    jout_close(jout);
}

static void json_failure(struct jout *jout, const struct sim_report *report)
{
    const struct sim_failure *failure = &report->result->failure;
    const struct fabric *fabric = report->fabric;

    if (failure->at == PS_NEVER) {
        jout_null(jout, "failure");
        return;
    }
    jout_open_line(jout, "failure", '{');
#include "report/rows/failure.def"
    jout_close(jout);
}

static void json_stall(struct jout *jout, const struct sim_report *report)
{
    const struct sim_stall *stall = &report->result->stall;
    const struct fabric *fabric = report->fabric;

    if (stall->pairs == 0) {
        jout_null(jout, "waits");
        return;
    }
    jout_open_line(jout, "waits", '{');
#include "report/rows/stall.def"
    jout_close(jout);
}

static void json_watchdog(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;

    jout_open(jout, "watchdog", '[');
    for (uint32_t i = 0; i < result->ports; i++) {
        for (uint8_t p = 0; result->port[i].sw && p < FABRIC_PRIOS; p++) {
            const struct sw_prio_counters *count = &result->port[i].sw->prio[p];
            if (count->watchdog_detected == 0) continue;
            jout_open_line(jout, NULL, '{');
#include "report/rows/watchdog.def"
            jout_close(jout);
        }
    }
    jout_close(jout);
}

static void json_pause(struct jout *jout, const struct fabric *fabric, const struct sim_pause *pause)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/pause.def"
    jout_close(jout);
}

void sim_json_trouble(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;

#include "report/rows/sim_trouble.def"
}
