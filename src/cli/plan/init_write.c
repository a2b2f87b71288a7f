/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a first fabric file: each section with what it is, what was assumed, and what else it could be.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "cli/plan/init.h"

#define REMARK_AT 44  /* column of remarks behind values */
#define PAIRS_MAX 512 /* GPUs of an AllToAll: its messages grow with their square */
#define WRITERS_MAX 64
#define STORAGE_SPINES 8u
#define QPS 8u /* on leaves and spines 2:1, 64 GPUs, six seeds of the hash: 89 %, with 4 77 to 89, with 2 74 to 87 */
#define QPS_FEW 4u /* of more GPUs than these: a run with 8 takes thrice as long as with one */
#define QPS_GPUS 512
#define QPS_PAIRS 3u /* of an AllToAll, where each has more than a hundred connections */
#define PAIRS_GPUS 128
#define SENDERS_MAX 32
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-"
#define ECN_MOST 375u
#define ECN_STEP 75u
#define ECN_PORTS 32u
#define OVER "what servers may send over what spines take"
#define DEEP_BYTES 1000000000u /* of buffers: chips with more have virtual output queues */

/* A line with its remark; `assumed` goes before it. */
__attribute__((format(printf, 4, 5))) static void line(FILE *out, bool assumed, const char *remark, const char *format,
                                                       ...)
{
    va_list args;

    va_start(args, format);
    int width = vfprintf(out, format, args);
    va_end(args);
    if (assumed || *remark)
        fprintf(out, "%*s# %s%s%s", width < REMARK_AT ? REMARK_AT - width : 1, "", assumed ? "assumed" : "",
                assumed && *remark ? ": " : "", remark);
    fputc('\n', out);
}

static const char *rate_of(uint64_t bps, char buf[UNIT_TEXT])
{
    return unit_format(UNIT_RATE, bps, buf);
}

static void write_head(const struct init_answers *answers, const struct init_plan *plan, const char *schema, FILE *out)
{
    char rate[UNIT_TEXT];

    if (schema && !schema[strspn(schema, PLAIN)]) fprintf(out, "# yaml-language-server: $schema=%s\n", schema);
    fprintf(out, "# %u GPUs in %u servers, a NIC of %s each, %u switches.", plan->gpus, plan->servers,
            rate_of(answers->nic_bps, rate), init_switches(plan));
    if (plan->gpus != answers->gpus) fprintf(out, "  %u were asked for: servers and leaves are whole.", answers->gpus);
    fputs("\n# Written by 'rocelab init'; what nobody chose is marked \"assumed\".  Keys and units:\n"
          "# docs/fabric.md and docs/units.md.\n"
          "rocelab: 1\n",
          out);
    fprintf(out, "fabric: gpus-%u\n", plan->gpus);
}

/* The ratio that is built: whole uplinks come near the one that was asked for. */
static void write_uplinks(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    const bool asked = (uint64_t)plan->down * answers->over.den == (uint64_t)plan->uplinks * answers->over.num;

    line(out, false, "", "    spines: %u", plan->spines);
    if (asked && answers->over.den == 1)
        line(out, !answers->given.over, OVER, "    oversubscription: %u:1", answers->over.num);
    else if (plan->down > plan->uplinks)
        line(out, !answers->given.over, asked ? OVER : OVER ", and uplinks are whole", "    oversubscription: %u/%u",
             plan->down, plan->uplinks);
    else
        line(out, !answers->given.over, "of a leaf", "    uplinks: %u", plan->uplinks);
}

static void write_storage(const struct init_plan *plan, FILE *out)
{
    uint32_t hosts = plan->servers < 16 ? 2 : 8, leaves = (plan->servers + hosts) / (plan->radix / 2) + 1;
    uint32_t down = init_ceil(plan->servers, leaves) + init_ceil(hosts, leaves);

    fputs("  storage:                                  # a network of its own: one NIC more for each server\n", out);
    line(out, true, "storage servers", "    hosts: %u", hosts);
    line(out, true, "", "    leaves: %u", leaves);
    if (leaves > 1) line(out, true, "", "    spines: %u", STORAGE_SPINES);
    if (leaves > 1 && down > STORAGE_SPINES) line(out, true, OVER, "    oversubscription: %u/%u", down, STORAGE_SPINES);
}

static void write_topology(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    static const char *const says[] = {
        [INIT_RAIL] =
            "Rails: NIC r of every server of a group is on the group's leaf r, one switch away from the others.",
        [INIT_LEAF_SPINE] =
            "Leaf and spine: all NICs of a server are on one leaf, every leaf has links to every spine.",
        [INIT_FAT_TREE] = "A fat tree: three tiers; any two NICs have as many ways between them as a leaf has uplinks.",
        [INIT_PLANES] = "Two planes: every NIC has a port on each, with half its rate; planes meet nowhere else.",
    };
    static const char *const keys[] = {"rail", "leaf-spine", "fat-tree", "rail"};

    fprintf(out, "\n# %s\n# Others: 'rocelab init --topology NAME', or by hand: single, dumbbell, links.\ntopology:\n",
            says[plan->shape]);
    line(out, !answers->given.shape, "", "  %s:", keys[plan->shape]);
    if (plan->shape == INIT_FAT_TREE) {
        char remark[80];
        snprintf(remark, sizeof remark, "%u leaves, %u spines, %u cores", plan->leaves, plan->spines, plan->cores);
        line(out, false, remark, "    k: %u", plan->k);
        line(out, false, "servers on each leaf", "    hosts: %u", plan->on_leaf);
    } else if (plan->shape == INIT_LEAF_SPINE) {
        line(out, false, "servers on each leaf", "    hosts: %u", plan->on_leaf);
        line(out, false, "", "    leaves: %u", plan->leaves);
    } else {
        line(out, false, "servers in all", "    hosts: %u", plan->servers);
        line(out, false, plan->groups > 1 ? "a multiple of the rails: groups of servers" : "one a rail",
             "    leaves: %u", plan->leaves);
    }
    line(out, !answers->given.per_server, "of a server; each has a NIC", "    gpus: %u", answers->per_server);
    if (plan->shape == INIT_PLANES) line(out, false, "", "    planes: 2");
    if (plan->shape != INIT_FAT_TREE) write_uplinks(answers, plan, out);
    if (answers->job == INIT_STORAGE) write_storage(plan, out);
}

static const char *gpu_links(const struct init_answers *answers)
{
    if (answers->per_server > 16) return "nvl72";
    return answers->nic_bps >= 800000000000ull ? "b200" : "h100";
}

static void write_links(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    char rate[UNIT_TEXT];

    const char *reach = plan->far ? "more servers on a leaf than copper of 3 m reaches" : "";

    rate_of(plan->link_bps, rate);
    fputs("\n# Cables: their length is time, and room for what is under way when a pause is sent.\nlinks:\n", out);
    line(out, true, *reach || !answers->given.nic ? reach : "3 m", "  host: {rate: %s, cable: %s}", rate,
         plan->far ? "30m" : "3m");
    line(out, true, answers->given.nic ? "30 m" : "", "  fabric: {rate: %s, cable: 30m}", rate);
    if (plan->shape == INIT_FAT_TREE) /* as far as InfiniBand's credits of a lane reach at 800G */
        line(out, true, "", "  core: {rate: %s, cable: %s}", rate,
             answers->system == FABRIC_INFINIBAND ? "50m" : "100m");
    line(out, true, "NVLink between GPUs of a server", "  gpu: %s", gpu_links(answers));
}

/* What the chip has; of ports alone, as a Tomahawk 5 has for its 51.2T. */
static uint64_t buffer_of(const struct init_switch *sw)
{
    if (sw->model->ports || !sw->ports) return sw->model->buffer_bytes;
    return (sw->ports * (sw->port_bps / 1000000000u) * 33 / 10240 + 16) * 1000000u;
}

static void write_switches(const struct init_answers *answers, FILE *out)
{
    const struct init_switch *sw = &answers->sw;
    uint32_t ports = sw->ports ? sw->ports : sw->model->ports;
    uint64_t port_bps = sw->ports ? sw->port_bps : (uint64_t)sw->model->rate_gbps * 1000000000u;
    char rate[UNIT_TEXT], remark[80] = "";

    fputs("\n# What kind of switch: buffer, cell and latency of a chip, or of a product that has one.\n"
          "# Known ones: 'rocelab help models'.\nswitches:\n",
          out);
    if (ports) snprintf(remark, sizeof remark, "%u ports of %s", ports, rate_of(port_bps, rate));
    line(out, !answers->given.sw, remark, "  model: %s", sw->model->name);
    if (!sw->model->ports && ports)
        line(out, true, "165 MB for each 51.2T", "  buffer: %" PRIu64 "MB", buffer_of(sw) / 1000000u);
    if (answers->system == FABRIC_INFINIBAND && sw->model->buffer_bytes > DEEP_BYTES)
        line(out, false, "credits go with no virtual output queues", "  architecture: shared");
    if (answers->system <= FABRIC_ROCEV1)
        line(out, true, "cuts off queues that a broken NIC pauses for ever", "  watchdog: true");
}

/* In KB for 100G: all is marked before a switch with many full ports pauses, which with an alpha of 1/8 is at one part
 * in eight and the ports of what headroom leaves of its buffer: seven tenths or more. */
static uint32_t ecn_most(const struct init_answers *answers, const struct init_plan *plan)
{
    uint64_t pauses_at = buffer_of(&answers->sw) / 10 * 7 / (8 + ECN_PORTS);
    uint64_t part = pauses_at * 100000000 / plan->link_bps;

    return part >= ECN_MOST ? ECN_MOST : part < 2 * ECN_STEP ? ECN_STEP : (uint32_t)(part / ECN_STEP * ECN_STEP);
}

static void write_classes(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    if (answers->system != FABRIC_ROCEV2) {
        fprintf(out, "\n# Traffic classes are those usual with %s; \"classes:\" would replace them.\n",
                fabric_systems[answers->system].title);
        return;
    }
    fputs("\n# Traffic classes.  RDMA is lossless: a full queue pauses its sender (PFC); well before that packets are\n"
          "# marked (ECN), and receivers of marks tell senders to slow down (CNP).\n"
          "classes:\n"
          "  - name: rdma\n",
          out);
    line(out, true, "of packets, and the 802.1p priority that is paused", "    dscp: 26");
    line(out, true, "", "    priority: 3");
    line(out, false, "", "    lossless: true");
    uint32_t most = ecn_most(answers, plan);
    line(out, true, "try 'rocelab suggest ecn'", "    ecn: {min: %uKB, max: %uKB, probability: 10%%, per: 100G}",
         most / 3, most);
    line(out, true, "of a line that is full", "    share: 90%%");
    line(out, true, "", "  - {name: cnp, dscp: 48, priority: 6, strict: true}");
    line(out, true, "", "  - {name: default, priority: 0, share: 10%%}");
}

/* Measured on the file that is written where nothing is said; tests/cli/test_init.py holds the figures to it. */
static const char why_swift[] =
    "# Swift follows the round-trip time, as what adapters ship today does (NVIDIA: ZTR_RTTCC, whose law is not\n"
    "# public), and needs no thresholds that fit the fabric.  What each gives, of the ideal time:\n"
    "# AllReduce of 256 MB on 64 GPUs in rails: none 93 %, swift/paper 89 %, dcqcn/connectx 56 %.\n"
    "# 'rocelab config' can write DCQCN alone; its marking then needs tuning: 'rocelab tune --vary ecn,dcqcn'.\n";

static void write_nics(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    const struct fabric_system_row *system = &fabric_systems[answers->system];

    if (answers->system == FABRIC_ROCEV2) {
        fputs("\n# Adapters.  Congestion control is ALGORITHM/PRESET: dcqcn/connectx, dcqcn/paper, hpcc/paper,\n"
              "# timely/paper, swift/paper, dctcp/paper, or none.\n",
              out);
        if (!answers->given.preset) fputs(why_swift, out);
    } else {
        fprintf(out, "\n# Transport: %s.  Others: rocev2, rocev1, infiniband, uet, tcp, iwarp.\n", system->title);
        line(out, false, "", "system: %s", system->name);
    }
    fputs("nics:\n", out);
    line(out, true, "bytes of payload a packet", "  mtu: %u", system->mtu_bytes);
    if (plan->far && answers->system <= FABRIC_ROCEV1)
        line(out, false, "so that they have room for what it holds", "  cable-length: 30m");
    if (answers->preset) line(out, !answers->given.preset, "", "  congestion: %s", answers->preset);
}

static void write_qps(const struct init_plan *plan, FILE *out)
{
    line(out, true, "queue pairs of a connection, which hashes spread", "    qps: %u",
         plan->gpus > QPS_GPUS ? QPS_FEW : QPS);
}

static void write_allreduce(const char *size, const struct init_plan *plan, FILE *out)
{
    fputs("  - name: gradients\n    allreduce: auto\n", out);
    line(out, true, "of each GPU", "    size: %s", size);
    write_qps(plan, out);
}

/* The largest power of two that divides `n`, 8 at most. */
static uint32_t power_in(uint32_t n)
{
    return n % 8 == 0 ? 8 : n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
}

static void write_training(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    uint32_t tp = power_in(answers->per_server), dp = plan->gpus / tp, two = (2 * answers->per_server + tp - 1) / tp;
    uint32_t slice = two > 8 ? two : 8;

    if (slice > dp) slice = dp;
    fputs("# What is run is a slice of the job, which takes seconds: without \"slice\" and \"ranks\" it is all of it.\n"
          "jobs:\n"
          "  - name: training\n",
          out);
    line(out, true, "of the slice: tp x dp", "    ranks: %u", tp * slice);
    write_qps(plan, out);
    fputs("    training:\n", out);
    line(
        out, true, "8 billion; or llama3-70b, mixtral-8x7b",
        "      model: {layers: 32, hidden: 4096, sequence: 4096, ffn: 14336, gated: true, kv-heads: 8, vocab: 128256}");
    line(out, true, "tensor and data parallel", "      groups: {tp: %u, dp: %u}", tp, dp);
    line(out, true, "", "      micro-batches: 2");
    line(out, true, "what a GPU achieves", "      compute: {tflops: 400}");
    line(out, false, "", "      slice: {layers: 2, dp: %u}", slice);
}

static void write_inference(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    uint32_t tp = 2;

    while (tp <= answers->per_server && tp < 64)
        tp *= 2;
    fputs("# A model whose layers are divided over GPUs of more than one server, answering a token at a time.\n"
          "jobs:\n"
          "  - name: answers\n",
          out);
    line(out, true, "", "    ranks: %u", tp);
    write_qps(plan, out);
    fputs("    inference:\n", out);
    line(out, true, "", "      model: llama3-70b");
    line(out, true, "", "      groups: {tp: %u}", tp);
    line(out, true, "requests", "      batch: 32");
    line(out, true, "", "      tokens: 8");
    line(out, true, "of a token, all layers", "      compute: {forward: 3ms}");
}

static void write_checkpoint(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    uint32_t hosts = plan->servers < 16 ? 2 : 8, writers = plan->servers < WRITERS_MAX ? plan->servers : WRITERS_MAX;
    uint32_t nic = answers->per_server * (plan->shape == INIT_PLANES ? 2 : 1);

    fputs("# Servers write a checkpoint to storage, by their last NIC, while gradients are summed.\njobs:\n", out);
    write_allreduce(plan->gpus > 1024 ? "4MB" : "64MB", plan, out);
    fputs("  - name: checkpoint\n    flows: |\n      # source, destination, size\n", out);
    for (uint32_t s = 0; s < writers; s++)
        fprintf(out, "      h%u:%u store%u 16MB\n", s, nic, s % hosts);
}

/* Ports of one plane alone reach each other. */
static void write_incast(const struct init_plan *plan, FILE *out)
{
    uint32_t senders = plan->gpus > SENDERS_MAX ? SENDERS_MAX : plan->gpus - 1;

    fputs("# Many send to one at the same time, as reads from storage are answered.\njobs:\n  - name: burst\n", out);
    line(out, true, "how many senders", "    incast: %u", senders);
    line(out, true, "", "    size: 1MB");
    line(out, true, "", "    repeat: 5");
    line(out, true, "from the end of one to the next", "    gap: 100us");
    if (plan->shape != INIT_PLANES) return;
    fputs("    ranks: [", out); /* the first plane's ports, of each server one before of any the next */
    for (uint32_t r = 0; r <= senders; r++)
        fprintf(out, "%sh%u:%u", r ? ", " : "", r % plan->servers, 2 * (r / plan->servers));
    fputs("]\n", out);
}

static void write_jobs(const struct init_answers *answers, const struct init_plan *plan, FILE *out)
{
    const char *size = plan->gpus <= 128 ? "256MB" : plan->gpus <= 1024 ? "64MB" : "4MB";
    bool assumed = !answers->given.job;

    fputs("\n# What runs; several jobs run side by side.  Of each kind: 'rocelab init --job NAME'.\n", out);
    switch ((enum init_job)answers->job) {
    case INIT_ALLREDUCE:
        fputs("# Gradients are summed over all GPUs, by the algorithm that NCCL would choose.\njobs:\n", out);
        write_allreduce(size, plan, out);
        break;
    case INIT_ALLTOALL:
        fputs("# Every GPU sends a part to every other, as experts do.\njobs:\n", out);
        fputs("  - name: experts\n    alltoall: auto\n", out);
        line(out, true, "of each GPU", "    size: 16MB");
        if (plan->gpus > PAIRS_MAX) line(out, true, "without it: all, in minutes", "    ranks: %d", PAIRS_MAX);
        line(out, true, "queue pairs of a connection; each GPU has many", "    qps: %u",
             plan->gpus > PAIRS_GPUS ? QPS_PAIRS : QPS);
        break;
    case INIT_TRAINING:
        write_training(answers, plan, out);
        break;
    case INIT_INFERENCE:
        write_inference(answers, plan, out);
        break;
    case INIT_STORAGE:
        write_checkpoint(answers, plan, out);
        break;
    case INIT_INCAST:
        write_incast(plan, out);
    }
    if (assumed) fputs("  # Or: --job alltoall, training, inference, storage, incast.\n", out);
}

void init_next(const struct init_answers *answers, const char *name, const char *before, FILE *out)
{
    static const char *const vary[] = {[INIT_TRAINING] = "jobs.0.training.micro-batches=1,2,4",
                                       [INIT_INFERENCE] = "jobs.0.inference.batch=8,32,128",
                                       [INIT_INCAST] = "jobs.0.incast=1,2,4"};
    const char *values = answers->job < sizeof vary / sizeof vary[0] ? vary[answers->job] : NULL;

    if (name[strspn(name, PLAIN)] || *name == '-') name = "FILE"; /* a line of a file, and of a shell */
    fprintf(out, "%srocelab check %s\n", before, name);
    fprintf(out, "%srocelab sim %s --html run.html\n", before, name);
    fprintf(out, "%srocelab sweep %s --vary %s\n", before, name, values ? values : "jobs.0.size=1MB,4MB,16MB");
    fprintf(out, "%srocelab config %s --bom\n", before, name);
}

void init_write(const struct init_answers *answers, const struct init_plan *plan, const char *schema, const char *name,
                FILE *out)
{
    write_head(answers, plan, schema, out);
    write_topology(answers, plan, out);
    write_links(answers, plan, out);
    write_switches(answers, out);
    write_classes(answers, plan, out);
    write_nics(answers, plan, out);
    write_jobs(answers, plan, out);
    fputs("\n# What breaks: take out a # and run again.\n"
          "# faults:\n"
          "#   - {down: leaf0:0, at: 100us, for: 1ms}     # a cable\n"
          "#   - {slow-gpu: h0:0, factor: 1.5}            # with jobs that compute\n"
          "#   - {corrupt: h1:0, share: 0.01%}            # frames on a link\n"
          "\n# Next:\n",
          out);
    init_next(answers, name, "#   ", out);
}
