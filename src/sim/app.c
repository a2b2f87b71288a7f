/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload as the application of a host: straight, or behind what a host's software adds (software.c).
 *
 * With delays, posts of the workload and completions of the adapter wait in queues in order of time; what is due is
 * done when the host's deadline comes.
 */
#include "base/check.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"

static ps_t straight_next(const void *app, uint32_t number)
{
    const struct sim_host *host = app;
    return workload_next(host->sim->workload, number);
}

static void straight_timer(void *app, uint32_t number, ps_t now, struct app_out *out)
{
    struct sim_host *host = app;
    workload_timer(host->sim->workload, number, now, out);
}

static void straight_sent(void *app, uint32_t number, uint32_t connection, uint32_t tag, bool good, ps_t now,
                          struct app_out *out)
{
    struct sim_host *host = app;
    workload_sent(host->sim->workload, number, connection, tag, good, now, out);
}

static void straight_received(void *app, uint32_t number, uint32_t connection, uint32_t imm, ps_t now,
                              struct app_out *out)
{
    struct sim_host *host = app;
    workload_received(host->sim->workload, number, connection, imm, now, out);
}

static ps_t delayed_next(const void *app, uint32_t number)
{
    const struct sim_host *host = app;
    ps_t work = workload_next(host->sim->workload, number), waits = software_next(host);

    return work < waits ? work : waits;
}

/* Posts that the software takes its time for leave `out`. */
static void delay_posts(struct sim_host *host, ps_t now, struct app_out *out)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < out->posts; i++) {
        struct software *of = &host->software[host->sim->connection[out->post[i].connection].adapter];
        if (of->post.delay_ps)
            software_push(of, &of->post, (struct software_item){.post = out->post[i]}, now);
        else
            out->post[kept++] = out->post[i];
    }
    out->posts = kept;
}

static void tell(struct sim_host *host, const struct software_item *item, ps_t now, struct app_out *out)
{
    struct workload *workload = host->sim->workload;
    uint32_t number = host->node.number;

    if (item->receive)
        workload_received(workload, number, item->post.connection, item->post.tag, now, out);
    else
        workload_sent(workload, number, item->post.connection, item->post.tag, item->good, now, out);
    delay_posts(host, now, out);
}

/* A completion of an adapter: seen now, or when the software polls. */
static void completed(struct sim_host *host, uint32_t adapter, struct software_item item, ps_t now, struct app_out *out)
{
    struct software *of = &host->software[adapter];

    if (of->poll.delay_ps)
        software_push(of, &of->poll, item, now);
    else
        tell(host, &item, now, out);
}

static void delayed_sent(void *app, uint32_t number, uint32_t connection, uint32_t tag, bool good, ps_t now,
                         struct app_out *out)
{
    struct sim_host *host = app;

    (void)number;
    completed(host, host->sim->connection[connection].adapter,
              (struct software_item){.post = {.connection = connection, .tag = tag}, .good = good}, now, out);
}

static void delayed_received(void *app, uint32_t number, uint32_t connection, uint32_t imm, ps_t now,
                             struct app_out *out)
{
    struct sim_host *host = app;
    uint32_t endpoint = workload_connection(host->sim->workload, connection)->dst;

    (void)number;
    completed(host, host->sim->fabric->endpoint[endpoint].index,
              (struct software_item){.post = {.connection = connection, .tag = imm}, .receive = true, .good = true},
              now, out);
}

/* What was delayed and is due; false: `out` is to be posted first. */
static bool run_due(struct sim_host *host, ps_t now, struct app_out *out)
{
    struct software_item item;

    for (uint32_t i = 0; i < host->node.adapters; i++) {
        struct software *of = &host->software[i];
        if (out->posts) return false; /* those have waited */
        while (software_pop(of, &of->poll, now, &item)) {
            tell(host, &item, now, out);
            if (out->posts || out->more) return false;
        }
        while (software_pop(of, &of->post, now, &item)) {
            out->post[out->posts++] = item.post;
            if (out->posts == APP_POSTS) return false;
        }
    }
    return out->posts == 0;
}

static void delayed_timer(void *app, uint32_t number, ps_t now, struct app_out *out)
{
    struct sim_host *host = app;

    workload_timer(host->sim->workload, number, now, out);
    delay_posts(host, now, out);
    if (out->posts || out->more || !run_due(host, now, out)) out->more = true;
}

const struct app_ops sim_app_straight = {straight_next, straight_timer, straight_sent, straight_received};
const struct app_ops sim_app_delayed = {delayed_next, delayed_timer, delayed_sent, delayed_received};
