/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench of the workload's tests: see bench.h.
 */
#include "bench.h"
#include "fabric/fabric.h"
#include "load/load.h"

#include <stdio.h>
#include <stdlib.h>

struct bench bench_of(const char *text, uint64_t seed)
{
    struct workload_options options = {.seed = seed, .sync_latency = SYNC};

    return bench_with(text, &options);
}

struct bench bench_with(const char *text, const struct workload_options *options)
{
    struct fabric_errors errors = {0};
    struct bench bench = {.capacity = 1 << 20};

    if (fabric_load("test.yaml", text, &bench.fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the fabric does not load");
    }
    if (workload_create(bench.fabric, options, &bench.workload, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the workload cannot be made");
    }
    bench.item = calloc(bench.capacity, sizeof(*bench.item));
    bench.post = calloc(bench.capacity, sizeof(*bench.post));
    bench.sent_to = calloc((size_t)bench.fabric->endpoints * bench.fabric->endpoints, sizeof(*bench.sent_to));
    bench.under_way = calloc(bench.fabric->endpoints, sizeof(*bench.under_way));
    assert_true(bench.item && bench.post && bench.sent_to && bench.under_way);
    heap_init(&bench.heap, bench.item, (uint32_t)bench.capacity);
    return bench;
}

void bench_free(struct bench *bench)
{
    workload_free(bench->workload);
    fabric_free(bench->fabric);
    free(bench->item);
    free(bench->post);
    free(bench->sent_to);
    free(bench->under_way);
}

static void take_posts(struct bench *bench, uint32_t host, struct app_out *out)
{
    for (;;) {
        for (uint32_t i = 0; i < out->posts; i++) {
            const struct workload_connection *c = workload_connection(bench->workload, out->post[i].connection);
            assert_int_equal(bench->fabric->endpoint[c->src].host, host);
            assert_true(out->post[i].bytes > 0);
            assert_true(c->posted - c->done <= WORKLOAD_DEPTH);
            if (c->kind == WORKLOAD_CLEARS) {
                bench->clears++;
            } else {
                bench->sent_to[c->src * bench->fabric->endpoints + c->dst] += out->post[i].bytes;
                if (++bench->under_way[c->dst] > bench->most_under_way)
                    bench->most_under_way = bench->under_way[c->dst];
            }
            bench->post[bench->posts] = out->post[i];
            assert_true(heap_push(&bench->heap, bench->now + DELAY, bench->posts++));
            assert_true(bench->posts < bench->capacity);
        }
        out->posts = 0;
        if (!out->more) return;
        workload_timer(bench->workload, host, bench->now, out);
    }
}

static ps_t earliest_host(const struct bench *bench, uint32_t *ret_host)
{
    ps_t least = PS_NEVER;

    for (uint32_t h = 0; h < bench->fabric->hosts; h++) {
        ps_t at = workload_next(bench->workload, h);
        if (at < least) {
            least = at;
            *ret_host = h;
        }
    }
    return least;
}

bool bench_run(struct bench *bench)
{
    struct app_out out = {0};
    uint32_t wake[64], host = 0;
    struct heap_item item;

    for (;;) {
        while (workload_coordinate(bench->workload, bench->now, wake, 64)) {
        }
        ps_t at = earliest_host(bench, &host);
        if (at == PS_NEVER && heap_next(&bench->heap) == PS_NEVER) return workload_finished(bench->workload);
        if (at <= heap_next(&bench->heap)) {
            assert_true(at >= bench->now);
            bench->now = at;
            workload_timer(bench->workload, host, bench->now, &out);
            take_posts(bench, host, &out);
            continue;
        }
        heap_pop(&bench->heap, &item);
        bench->now = item.at;
        const struct app_post *post = &bench->post[item.id];
        const struct workload_connection *c = workload_connection(bench->workload, post->connection);
        uint32_t src = bench->fabric->endpoint[c->src].host, dst = bench->fabric->endpoint[c->dst].host;
        if (c->kind != WORKLOAD_CLEARS) bench->under_way[c->dst]--;
        if (c->notifies) {
            workload_received(bench->workload, dst, post->connection, post->imm, bench->now, &out);
            take_posts(bench, dst, &out);
        }
        workload_sent(bench->workload, src, post->connection, post->tag, true, bench->now, &out);
        take_posts(bench, src, &out);
    }
}

uint64_t bench_sent(const struct bench *bench, uint32_t src, uint32_t dst)
{
    return bench->sent_to[src * bench->fabric->endpoints + dst];
}

uint64_t bench_total(const struct bench *bench)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < bench->fabric->endpoints * bench->fabric->endpoints; i++)
        sum += bench->sent_to[i];
    return sum;
}
