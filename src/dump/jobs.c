/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What software of a job leaves on its hosts: nccl-tests' table on the host of rank 0, NCCL's log, NCCL Inspector's
 * lines, PyTorch's flight recorder and the DCGM exporter's metrics of the GPUs.
 *
 * They are made of what a run measures of a job.  Of a training step that is how long each rank stood still for
 * communication, so a step has one collective there, which stands for all of them: its time is that wait, and it ends
 * with the step.  A rank that others wait for has the shortest.  Times are virtual.
 */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/wide.h"
#include "dump/dump_int.h"
#include "fabric/bus_factor.h"
#include "fabric/fabric.h"
#include "report/collectives.h"

#define LINES_MOST 100000u /* of a job's collectives, in Inspector's files together: the first runs of it */
#define PID 4000u          /* of the process of GPU 0 */

static uint32_t gpu_number(const struct fabric *fabric, uint32_t gpu)
{
    return gpu - fabric->first_gpu[fabric->gpu_host[gpu]];
}

static const struct {
    const char *test, *call, *torch; /* nccl-tests' program, NCCL's name, PyTorch's */
} kinds[FABRIC_JOB_KINDS] = {
    [FABRIC_JOB_ALLREDUCE] = {"all_reduce_perf", "AllReduce", "nccl:all_reduce"},
    [FABRIC_JOB_REDUCESCATTER] = {"reduce_scatter_perf", "ReduceScatter", "nccl:reduce_scatter"},
    [FABRIC_JOB_ALLGATHER] = {"all_gather_perf", "AllGather", "nccl:all_gather"},
    [FABRIC_JOB_BROADCAST] = {"broadcast_perf", "Broadcast", "nccl:broadcast"},
    [FABRIC_JOB_REDUCE] = {"reduce_perf", "Reduce", "nccl:reduce"},
    [FABRIC_JOB_GATHER] = {"gather_perf", "Gather", "nccl:gather"},
    [FABRIC_JOB_SENDRECV] = {"sendrecv_perf", "SendRecv", "nccl:send"},
    [FABRIC_JOB_ALLTOALL] = {"alltoall_perf", "AlltoAll", "nccl:all_to_all"},
};

/* --- nccl-tests --- */

/* Three digits that matter, as nccl-tests has them. */
static const char *test_time(uint64_t ps, char buf[TEXT_COUNT])
{
    if (ps < 10000 * PS_US) return text_fixed(ps, PS_US, ps >= 100 * PS_US ? 1 : 2, buf);
    snprintf(buf, TEXT_COUNT, "%" PRIu64, (uint64_t)((ps + PS_US / 2) / PS_US));
    return buf;
}

static void test_row(struct out *out, const struct fabric_job *job, const struct collective_row *row)
{
    char time[TEXT_COUNT], alg[TEXT_COUNT], bus[TEXT_COUNT], root[16] = "-1";
    bool sums = collective_reduces((enum fabric_job_kind)job->kind);

    if (fabric_job_rooted((enum fabric_job_kind)job->kind)) snprintf(root, sizeof root, "%u", job->root);
    test_time(collective_mean_ps(row), time);
    text_fixed(collective_kBps(row, false), 1000000, 2, alg);
    text_fixed(collective_kBps(row, true), 1000000, 2, bus);
    fprintf(out->file, "%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6s", row->first->bytes, collective_count(job, row),
            "float", sums ? "sum" : "none", root);
    for (int half = 0; half < 2; half++) /* where the result goes makes no difference here */
        fprintf(out->file, "  %7s  %6s  %6s  %5s", time, alg, bus, "N/A");
    fputc('\n', out->file);
}

static void test_head(struct out *out, const struct fabric *fabric, const struct fabric_job *job)
{
    fputs("# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n", out->file);
    fprintf(out->file, "# Collective test starting: %s\n", kinds[job->kind].test);
    fprintf(out->file,
            "# nThread 1 nGpus 1 minBytes %" PRIu64 " maxBytes %" PRIu64
            " step: 2(factor) warmup iters: 0 iters: %u agg iters: 1 validation: 0 graph: 0\n#\n# Using devices\n",
            job->sizes ? job->sizes[0] : job->size_bytes, job->size_bytes, job->repeat);
    for (uint32_t i = 0; i < job->ranks; i++) {
        uint32_t number = gpu_number(fabric, job->rank[i]);
        fprintf(out->file, "#  Rank %2u Group  0 Pid %6u on %10s device %2u [0000:%02x:00] GPU\n", i, PID + number,
                fabric->node[fabric->gpu_host[job->rank[i]]].name, number, 15 + number);
    }
    fputs("#\n#                                                              out-of-place                       "
          "in-place          \n"
          "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
          "busbw #wrong\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
          "(GB/s)       \n",
          out->file);
}

static void name_of(const char *from, char buf[64])
{
    snprintf(buf, 64, "%s", from);
    for (char *at = buf; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *at)) *at = '_';
}

/* A job's rows follow each other. */
static void nccl_tests(struct out *out, const struct moment *m, uint32_t node)
{
    struct collective_row row;
    uint32_t at = 0, open = FABRIC_NONE, rows = 0;
    uint64_t sum = 0;
    char name[64], mean[TEXT_COUNT];

    for (bool more = true; more;) {
        more = collective_next(m->result, &at, &row);
        if (open != FABRIC_NONE && (!more || row.first->job != open)) {
            fprintf(out->file, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %s\n#\n",
                    text_fixed(rows ? sum / rows : 0, 1000000, 4, mean));
            fprintf(out->file, "# Collective test concluded: %s\n", kinds[m->fabric->job[open].kind].test);
            out_end(out);
            open = FABRIC_NONE;
        }
        if (!more) break;
        const struct fabric_job *job = &m->fabric->job[row.first->job];
        if (row.ended == 0 || job->ranks == 0 || m->fabric->gpu_host[job->rank[0]] != node) continue;
        if (open == FABRIC_NONE) {
            name_of(job->name, name);
            if (!out_begin(out, "txt", "nccl-tests %s", name)) return;
            open = row.first->job;
            rows = 0;
            sum = 0;
            test_head(out, m->fabric, job);
        }
        test_row(out, job, &row);
        sum += collective_kBps(&row, true);
        rows++;
    }
}

/* --- NCCL's log --- */

static bool takes_part(const struct moment *m, uint32_t node)
{
    for (uint32_t j = 0; j < m->fabric->jobs; j++) {
        const struct fabric_job *job = &m->fabric->job[j];
        if (fabric_job_form((enum fabric_job_kind)job->kind) == FABRIC_FORM_TRANSFERS) continue;
        for (uint32_t i = 0; i < job->ranks; i++)
            if (m->fabric->gpu_host[job->rank[i]] == node) return true;
    }
    return false;
}

static void log_failure(struct out *out, const struct moment *m, uint32_t src, uint32_t dst, bool retries)
{
    const struct fabric_endpoint *from = &m->fabric->endpoint[src], *to = &m->fabric->endpoint[dst];
    const uint8_t *a = from->address, *b = to->address;

    fprintf(out->file,
            "%s:%u:%u [%u] NCCL WARN NET/IB: Got completion from peer %u.%u.%u.%u<%u> with status=%s(%d) "
            "opcode=IBV_WC_RDMA_WRITE(1) vendor_err=%d  localGid ::ffff:%u.%u.%u.%u remoteGids::ffff:%u.%u.%u.%u "
            "hca mlx5_%u\n",
            m->fabric->node[from->host].name, PID + from->index, PID + 100 + from->index, from->index, b[0], b[1], b[2],
            b[3], 40000u + to->index, retries ? "IBV_WC_RETRY_EXC_ERR" : "IBV_WC_REM_ACCESS_ERR", retries ? 12 : 10,
            retries ? 129 : 136, a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], from->index);
}

static void nccl_log(struct out *out, const struct moment *m, uint32_t node)
{
    uint32_t first = m->fabric->first_endpoint[node], end = m->fabric->first_endpoint[node + 1];
    const struct sim_failure *failure = &m->result->failure;
    bool failed = failure->at != PS_NEVER && m->fabric->endpoint[failure->src].host == node;

    for (uint32_t i = 0; i < m->result->flows && !failed; i++)
        failed = m->result->flow[i].failed && m->fabric->endpoint[m->result->flow[i].src].host == node;
    if (first == end || (!failed && !takes_part(m, node)) || !out_begin(out, "txt", "nccl log")) return;
    if (dump_nccl_version(m, node))
        fprintf(out->file, "%s:%u:%u [0] NCCL INFO NCCL version %s\n", m->fabric->node[node].name, PID, PID + 100,
                dump_nccl_version(m, node));
    fprintf(out->file, "%s:%u:%u [0] NCCL INFO NET/IB : Using", m->fabric->node[node].name, PID, PID + 100);
    for (uint32_t i = first; i < end; i++)
        fprintf(out->file, " [%u]mlx5_%u:1/RoCE", i - first, m->fabric->endpoint[i].index);
    const uint8_t *a = m->fabric->endpoint[first].address;
    fprintf(out->file, " [RO]; OOB eth0:%u.%u.%u.%u<0>\n", a[0], a[1], a[2], a[3]);
    bool said = failure->at != PS_NEVER && m->fabric->endpoint[failure->src].host == node;
    if (said) log_failure(out, m, failure->src, failure->dst, failure->retries);
    for (uint32_t i = 0; i < m->result->flows; i++) {
        const struct sim_flow *flow = &m->result->flow[i];
        if (!flow->failed || m->fabric->endpoint[flow->src].host != node) continue;
        if (said && flow->src == failure->src && flow->dst == failure->dst) continue;
        log_failure(out, m, flow->src, flow->dst, true);
    }
    out_end(out);
}

/* --- one collective of a rank --- */

struct call {
    const struct fabric_job *job;
    uint32_t job_number, rank;
    uint64_t number; /* from 1 */
    enum fabric_job_kind kind;
    uint64_t bytes;
    uint64_t together;   /* how many ranks take part: of training, those of the group */
    ps_t start, time_ps; /* start PS_NEVER: not known */
};

static uint64_t communicator(const struct moment *m, uint32_t job)
{
    uint64_t hash = hash_bytes(HASH_BEGIN, &m->seed, sizeof m->seed);

    return hash_bytes(hash, &job, sizeof job) >> 8;
}

static void inspector_line(struct out *out, const struct moment *m, const struct call *call)
{
    uint32_t gpu = call->job->rank[call->rank], n = call->job->ranks;
    uint64_t kBps = call->time_ps ? (uint64_t)((u128)call->bytes * 1000000000 / call->time_ps) : 0;
    uint64_t num = 1, den = 1;
    struct jout *json = &out->json;
    char id[32];

    if (call->together) fabric_bus_factor(call->kind, call->together, &num, &den);
    snprintf(id, sizeof id, "0x%" PRIx64, communicator(m, call->job_number));
    jout_init(json, out->file); /* each line is a document */
    jout_open_line(json, NULL, '{');
    jout_open(json, "header", '{');
    jout_text(json, "id", id);
    jout_u64(json, "rank", call->rank);
    jout_u64(json, "n_ranks", n);
    jout_u64(json, "nnodes", m->job_hosts[call->job_number]);
    jout_close(json);
    jout_open(json, "metadata", '{');
    jout_text(json, "inspector_output_format_version", "v4.0");
    jout_text(json, "git_rev", "");
    jout_text(json, "rec_mechanism", "profiler_plugin");
    jout_u64(json, "dump_timestamp_us", m->at / PS_US);
    jout_text(json, "hostname", m->fabric->node[m->fabric->gpu_host[gpu]].name);
    jout_u64(json, "pid", PID + gpu_number(m->fabric, gpu));
    jout_close(json);
    jout_open(json, "coll_perf", '{');
    jout_text(json, "coll", kinds[call->kind].call);
    jout_u64(json, "coll_sn", call->number);
    jout_u64(json, "coll_msg_size_bytes", call->bytes);
    jout_u64(json, "coll_exec_time_us", call->time_ps / PS_US);
    jout_text(json, "coll_timing_source", "kernel_gpu");
    jout_fixed(json, "coll_algobw_gbs", kBps, 6);
    jout_fixed(json, "coll_busbw_gbs", (uint64_t)((u128)kBps * num / den), 6);
    jout_close(json);
    jout_close(json);
}

/* --- training: one collective a step --- */

/* What the wait of a step is called after: the group that was waited for longest. */
static void step_call(const struct sim_training *training, struct call *call)
{
    static const uint8_t of_group[FABRIC_GROUPS] = {
        [FABRIC_GROUP_TP] = FABRIC_JOB_ALLREDUCE,  [FABRIC_GROUP_CP] = FABRIC_JOB_ALLGATHER,
        [FABRIC_GROUP_DP] = FABRIC_JOB_ALLREDUCE,  [FABRIC_GROUP_PP] = FABRIC_JOB_SENDRECV,
        [FABRIC_GROUP_EP] = FABRIC_JOB_ALLTOALL,   [FABRIC_GROUP_EDP] = FABRIC_JOB_ALLREDUCE,
        [FABRIC_GROUP_ALL] = FABRIC_JOB_ALLREDUCE, [FABRIC_GROUP_P2P] = FABRIC_JOB_SENDRECV};
    unsigned best = 0;

    for (unsigned g = 1; g < FABRIC_GROUPS; g++)
        if (training->group[g].exposed_ps > training->group[best].exposed_ps) best = g;
    call->kind = (enum fabric_job_kind)of_group[best];
    call->bytes = training->group[best].bytes;
    call->together = training->group[best].size;
}

/* The wait of the i-th listed rank in a step, which ends when the step does. */
static struct call training_call(const struct moment *m, const struct sim_training *training, uint32_t i, uint32_t step,
                                 ps_t end)
{
    const struct sim_job *from = &m->result->job[training->job];
    struct call call = {.job = &m->fabric->job[from->job],
                        .job_number = from->job,
                        .rank = training->rank ? training->rank[i] : i,
                        .number = step + 1u,
                        .time_ps = training->wait_ps[(size_t)step * training->listed + i]};

    step_call(training, &call);
    call.start = end > call.time_ps ? end - call.time_ps : 0;
    return call;
}

static bool on_host(const struct moment *m, const struct fabric_job *job, uint32_t rank, uint32_t node)
{
    return m->fabric->gpu_host[job->rank[rank]] == node;
}

static void inspect_training(struct out *out, const struct moment *m, uint32_t node)
{
    for (uint32_t t = 0; t < m->result->trainings; t++) {
        const struct sim_training *training = &m->result->training[t];
        ps_t end = m->result->job[training->job].start;
        for (uint32_t s = 0; s < training->wait_steps; s++) {
            end += training->step_ps[s];
            for (uint32_t i = 0; i < training->listed; i++) {
                struct call call = training_call(m, training, i, s, end);
                if (on_host(m, call.job, call.rank, node)) inspector_line(out, m, &call);
            }
        }
    }
}

static void inspect_collectives(struct out *out, const struct moment *m, uint32_t node)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < m->result->jobs; i++) {
        const struct sim_job *from = &m->result->job[i];
        number = i > 0 && from->job == m->result->job[i - 1].job ? number + 1 : 1;
        const struct fabric_job *job = &m->fabric->job[from->job];
        if (!from->collective || from->end == PS_NEVER || (uint64_t)(number - 1) * job->ranks > LINES_MOST) continue;
        struct call call = {.job = job,
                            .job_number = from->job,
                            .number = number,
                            .kind = (enum fabric_job_kind)job->kind,
                            .bytes = from->bytes,
                            .together = job->ranks,
                            .start = from->start,
                            .time_ps = from->end - from->start};
        for (call.rank = 0; call.rank < job->ranks; call.rank++)
            if (on_host(m, job, call.rank, node)) inspector_line(out, m, &call);
    }
}

/* A process group for each job, by its number. */
static void flight_entry(struct out *out, const struct call *call, uint32_t group, bool over)
{
    struct jout *json = &out->json;
    char name[16];

    snprintf(name, sizeof name, "%u", group);

    jout_open_line(json, NULL, '{');
    jout_u64(json, "record_id", call->number - 1);
    jout_u64(json, "pg_id", group);
    jout_open(json, "process_group", '[');
    jout_text(json, NULL, name);
    jout_text(json, NULL, "default_pg");
    jout_close(json);
    jout_u64(json, "collective_seq_id", call->number);
    jout_u64(json, "p2p_seq_id", 0);
    jout_u64(json, "op_id", call->number);
    jout_text(json, "profiling_name", kinds[call->kind].torch);
    jout_u64(json, "time_created_ns", call->start / PS_NS);
    jout_text(json, "state", over ? "completed" : "started");
    jout_u64(json, "time_discovered_started_ns", call->start / PS_NS);
    if (over) {
        jout_u64(json, "time_discovered_completed_ns", (call->start + call->time_ps) / PS_NS);
        jout_fixed(json, "duration_ms", call->time_ps / PS_NS, 6);
    } else {
        jout_null(json, "time_discovered_completed_ns");
    }
    jout_bool(json, "retired", over);
    jout_u64(json, "timeout_ms", 600000);
    jout_bool(json, "is_p2p", false);
    jout_close(json);
}

/* Of several jobs a host may have the same rank: then the job is in the file's name. */
static bool flight_file(struct out *out, const struct moment *m, const struct sim_training *training, uint32_t rank)
{
    char name[64];

    if (m->result->trainings < 2) return out_begin(out, "json", "nccl trace rank %u", rank);
    name_of(m->fabric->job[m->result->job[training->job].job].name, name);
    return out_begin(out, "json", "nccl trace %s rank %u", name, rank);
}

static void flight_rank(struct out *out, const struct moment *m, uint32_t group, uint32_t i)
{
    const struct sim_training *training = &m->result->training[group];
    uint32_t rank = training->rank ? training->rank[i] : i;
    bool hangs = training->steps_ended < training->steps && training->wait_steps == training->steps_ended &&
                 m->result->state != SIM_RUNNING && m->result->state != SIM_UNTIL && m->result->state != SIM_DONE;
    struct jout *json = &out->json;
    ps_t end = m->result->job[training->job].start;
    char name[16];

    snprintf(name, sizeof name, "%u", group);
    if (!flight_file(out, m, training, rank)) return;
    jout_open(json, NULL, '{');
    jout_text(json, "version", "2.10");
    jout_open(json, "pg_status", '{');
    jout_open(json, name, '{');
    jout_u64(json, "last_enqueued_collective", training->wait_steps + hangs);
    jout_u64(json, "last_started_collective", training->wait_steps + hangs);
    jout_u64(json, "last_completed_collective", training->wait_steps);
    jout_close(json);
    jout_close(json);
    jout_open(json, "entries", '[');
    for (uint32_t s = 0; s < training->wait_steps; s++) {
        end += training->step_ps[s];
        struct call call = training_call(m, training, i, s, end);
        flight_entry(out, &call, group, true);
    }
    if (hangs) { /* whoever arrived last, everybody waits now */
        struct call call = {.number = training->wait_steps + 1u, .start = m->at};
        step_call(training, &call);
        flight_entry(out, &call, group, false);
    }
    jout_close(json);
    jout_close(json);
    out_end(out);
}

static void flight_recorder(struct out *out, const struct moment *m, uint32_t node)
{
    for (uint32_t t = 0; t < m->result->trainings; t++) {
        const struct sim_training *training = &m->result->training[t];
        const struct fabric_job *job = &m->fabric->job[m->result->job[training->job].job];
        for (uint32_t i = 0; i < training->listed; i++)
            if (on_host(m, job, training->rank ? training->rank[i] : i, node)) flight_rank(out, m, t, i);
    }
}

/* --- the DCGM exporter --- */

static void dcgm_line(struct out *out, const struct moment *m, uint32_t gpu, const struct observe_rank *rank)
{
    uint64_t step = rank->compute_ps + rank->wait_ps;
    uint32_t number = gpu_number(m->fabric, gpu);
    char share[TEXT_COUNT];

    fprintf(out->file,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"%u\",UUID=\"GPU-%08x\",device=\"nvidia%u\",modelName=\"GPU\","
            "Hostname=\"%s\"} %s\n",
            number, gpu, number, m->fabric->node[m->fabric->gpu_host[gpu]].name,
            text_fixed(step ? (uint64_t)((u128)rank->compute_ps * 1000000 / step) : 0, 1000000, 6, share));
}

static void dcgm(struct out *out, const struct moment *m, uint32_t node)
{
    uint32_t number = 0;
    bool open = false;

    for (uint32_t j = 0; j < m->fabric->jobs; j++) {
        const struct fabric_job *job = &m->fabric->job[j];
        if (!fabric_job_trains((enum fabric_job_kind)job->kind)) continue;
        for (uint32_t r = 0; r < job->ranks && number < m->ranks; r++, number++) {
            if (!on_host(m, job, r, node)) continue;
            if (!open && !out_begin(out, "txt", "dcgm exporter")) return;
            if (!open)
                fputs("# HELP DCGM_FI_PROF_PIPE_TENSOR_ACTIVE Ratio of cycles the tensor (HMMA) pipe is active.\n"
                      "# TYPE DCGM_FI_PROF_PIPE_TENSOR_ACTIVE gauge\n",
                      out->file);
            open = true;
            dcgm_line(out, m, job->rank[r], &m->rank[number]);
        }
    }
    if (open) out_end(out);
}

void dump_jobs(struct out *out, const struct moment *m, uint32_t node)
{
    nccl_tests(out, m, node);
    nccl_log(out, m, node);
    if (takes_part(m, node) && out_begin(out, "json", "nccl inspector")) {
        inspect_collectives(out, m, node);
        inspect_training(out, m, node);
        out_end(out);
    }
    flight_recorder(out, m, node);
    dcgm(out, m, node);
}
