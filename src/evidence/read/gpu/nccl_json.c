/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiler plugins of NCCL write, a JSON object for each collective: NCCL Inspector, and rocelab's own plugin
 * (docs/nccl.md).  A file is of one process, and grows for as long as it runs: it is read object by object.
 */
#include <string.h>

#include "evidence/read/gpu/gpu.h"

#define LOOKED_AT 16384

static void begin_line(struct reading *in, const struct json *object)
{
    in->source.line = object->line;
}

/* --- Inspector --- */

static void inspector_object(struct collective_sums *collectives, const struct json *root)
{
    struct reading *in = collectives->in;
    const struct json *perf = json_get(root, "coll_perf");
    struct text_field comm = member_text(root, "header/id"), host = member_text(root, "metadata/hostname");
    uint64_t rank, ranks = member_u64(root, "header/n_ranks");
    struct collective one = {.seq = member_u64(perf, "coll_sn"),
                             .bytes = member_u64(perf, "coll_msg_size_bytes"),
                             .exec_ns = member_real(perf, "coll_exec_time_us") * 1e3,
                             .bus_bytes_s = member_real(perf, "coll_busbw_gbs") * 1e9};

    if (!perf || !json_u64(json_path(root, "header/rank"), &rank)) return;
    begin_line(in, root);
    uint32_t job = gpu_job(in, &comm);
    one.rank = gpu_rank(in, job, rank, gpu_host(in, &host));
    if (ranks) gpu_set(in, job, EVIDENCE_RANKS, ranks);
    collectives_add(collectives, &one);
}

static void read_inspector(struct reading *in, const char *text, size_t bytes)
{
    struct collective_sums collectives = {.in = in};
    struct json_objects objects;
    const struct json *root;

    objects_init(&objects, text, bytes);
    while (!in->evidence->full && (root = objects_next(&objects)))
        inspector_object(&collectives, root);
    objects_release(&objects);
    collectives_finish(&collectives);
}

/* The first whole object of the text's beginning. */
static bool first_object(const char *text, size_t bytes, bool (*is)(const struct json *root))
{
    struct json_objects objects;
    bool known = false;

    if (!bytes || *text != '{') return false;
    objects_init(&objects, text, bytes < LOOKED_AT ? bytes : LOOKED_AT);
    const struct json *root = objects_next(&objects);
    if (root) known = is(root);
    objects_release(&objects);
    return known;
}

static bool is_inspector_object(const struct json *root)
{
    return json_path(root, "header/rank") && (json_get(root, "coll_perf") || json_get(root, "metadata"));
}

static bool is_inspector(const char *text, size_t bytes)
{
    return first_object(text, bytes, is_inspector_object);
}

const struct whole_reader reader_nccl_inspector = {"nccl-inspector", "NCCL Inspector: JSON of a process", is_inspector,
                                                   read_inspector};

/* --- rocelab's plugin --- */

/* What the network carries of a message, as nccl-tests counts it. */
static double bus_factor(const struct text_field *func, uint64_t ranks)
{
    double n = (double)ranks;

    if (ranks < 2) return 0;
    if (field_is(func, "AllReduce")) return 2 * (n - 1) / n;
    if (field_is(func, "AllGather") || field_is(func, "ReduceScatter") || field_is(func, "AlltoAll"))
        return (n - 1) / n;
    return 1;
}

struct plugin {
    struct collective_sums collectives;
    uint32_t host;
};

static void plugin_collective(struct plugin *plugin, const struct json *root, uint32_t job, uint64_t number)
{
    struct reading *in = plugin->collectives.in;
    struct text_field func = member_text(root, "func");
    uint64_t ops = member_u64(root, "ops");
    double exec_us = member_real(root, "exec_us"), bytes = (double)member_u64(root, "bytes");
    bool paired = !field_is(&func, "Send") && !field_is(&func, "Recv");
    struct collective one = {.rank = gpu_rank(in, job, number, plugin->host),
                             .seq = paired ? member_u64(root, "seq") : 0,
                             .bytes = member_u64(root, "bytes")};

    if (paired && json_get(root, "done") && json_get(root, "done")->type == JSON_TRUE) one.exec_ns = exec_us * 1e3;
    if (one.exec_ns > 0)
        one.bus_bytes_s = bytes / (exec_us / 1e6) *
                          bus_factor(&func, evidence_get(in->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS));
    if (ops) {
        one.waits = true;
        one.gpu_ns = member_real(root, "wait_gpu_us") * 1e3 / (double)ops;
        one.peer_ns = member_real(root, "wait_peer_us") * 1e3 / (double)ops;
        one.network_ns = member_real(root, "wait_network_us") * 1e3 / (double)ops;
    }
    collectives_add(&plugin->collectives, &one);
}

static void plugin_object(struct plugin *plugin, const struct json *root)
{
    struct reading *in = plugin->collectives.in;
    struct text_field kind = member_text(root, "kind"), comm = member_text(root, "comm"),
                      host = member_text(root, "host");
    uint64_t number;

    begin_line(in, root);
    if (field_is(&kind, "nccl")) plugin->host = gpu_host(in, &host);
    if (!comm.length || !json_u64(json_get(root, "rank"), &number)) return;
    uint32_t job = gpu_job(in, &comm);
    if (field_is(&kind, "communicator")) {
        gpu_set(in, job, EVIDENCE_RANKS, member_u64(root, "ranks"));
        gpu_rank(in, job, number, plugin->host);
    }
    if (field_is(&kind, "collective")) plugin_collective(plugin, root, job, number);
}

static void read_plugin(struct reading *in, const char *text, size_t bytes)
{
    struct plugin plugin = {.collectives = {.in = in}, .host = in->device};
    struct json_objects objects;
    const struct json *root;

    objects_init(&objects, text, bytes);
    while (!in->evidence->full && (root = objects_next(&objects)))
        plugin_object(&plugin, root);
    objects_release(&objects);
    collectives_finish(&plugin.collectives);
}

static bool is_plugin_object(const struct json *root)
{
    struct text_field kind = member_text(root, "kind");

    return field_is(&kind, "nccl") ||
           ((field_is(&kind, "communicator") || field_is(&kind, "collective") || field_is(&kind, "total")) &&
            json_get(root, "comm"));
}

static bool is_plugin(const char *text, size_t bytes)
{
    return first_object(text, bytes, is_plugin_object);
}

const struct whole_reader reader_nccl_plugin = {"nccl-plugin", "rocelab's NCCL plugin: JSON of a process", is_plugin,
                                                read_plugin};
