/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as evidence, without a document between: the objects, counters and times that a reader of `sim --json`
 * (evidence/read/sim) finds there, in the same order, so that what is judged of a run at its end and of its document
 * later is the same.  tests/report holds the two to each other.
 *
 * What no operator could know stays out: the faults that were put in.  Counters were 0 when the run began, so that each
 * has two looks.
 */
#include "report/diagnosis/run_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "evidence/drops.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define ROW 64        /* counters of one object and priority, at most */
#define FRAME_LINE 24 /* FCS, preamble and gap: of a frame on the line, beside what counters of bytes have */

struct filling {
    struct evidence *evidence;
    const struct sim_report *report;
    const struct fabric *fabric;
    const struct sim_result *result;
    struct evidence_source begin, end;
    uint32_t *port, *device; /* [ports], [nodes] objects */
    uint8_t lossless;        /* bit p: a class of this priority is */
    uint8_t used;            /* bit p: something of this priority was sent, or paused */
    uint8_t drop[SW_DROPS];  /* drops_reason() of each */
    struct evidence_said row[ROW];
    uint32_t said; /* in row */
};

/* Counters are gathered, and put where all of one object and priority are there: say(), say(), ..., put(). */
static void say(struct filling *f, enum evidence_counter counter, uint64_t value)
{
    CHECK(f->said < ROW);
    f->row[f->said++] = (struct evidence_said){counter, value};
}

/* Most adapters and ports have 0 of these, and no rule asks whether that is known. */
static void say_any(struct filling *f, enum evidence_counter counter, uint64_t value)
{
    if (value) say(f, counter, value);
}

static void put(struct filling *f, uint32_t object, unsigned priority)
{
    if (f->said) evidence_say(f->evidence, object, priority, f->row, f->said, &f->begin, &f->end);
    f->said = 0;
}

static void level(struct filling *f, uint32_t object, unsigned priority, enum evidence_counter counter, uint64_t value)
{
    evidence_set(f->evidence, object, priority, counter, value, &f->end);
}

static void port_level(struct filling *f, uint32_t object, enum evidence_counter counter, uint64_t value)
{
    level(f, object, EVIDENCE_NO_PRIORITY, counter, value);
}

static void count(struct filling *f, uint32_t object, unsigned priority, enum evidence_counter counter, uint64_t value)
{
    evidence_grew(f->evidence, object, priority, counter, value, &f->begin, &f->end);
}

/* What two sources may say: the larger holds. */
static void count_most(struct filling *f, uint32_t object, unsigned priority, enum evidence_counter counter,
                       uint64_t value)
{
    const struct evidence_value *known = evidence_find(f->evidence, object, priority, counter);

    if (!known || known->last < value) count(f, object, priority, counter, value);
}

/* --- objects --- */

static uint32_t device_of(struct filling *f, uint32_t node)
{
    const char *name = f->fabric->node[node].name;

    if (f->device[node] == EVIDENCE_NONE) f->device[node] = evidence_device(f->evidence, name, strlen(name));
    return f->device[node];
}

static uint32_t port_of(struct filling *f, uint32_t port)
{
    char name[16];

    if (port == UINT32_MAX) return EVIDENCE_NONE;
    if (f->port[port] == EVIDENCE_NONE) {
        size_t at = sizeof name, node = f->fabric->port[port].node;
        for (uint32_t rest = f->fabric->port[port].index; at == sizeof name || rest; rest /= 10)
            name[--at] = (char)('0' + rest % 10);
        f->port[port] = evidence_port(f->evidence, device_of(f, (uint32_t)node), name + at, sizeof name - at);
    }
    return f->port[port];
}

static uint32_t endpoint_of(struct filling *f, uint32_t endpoint)
{
    return endpoint == UINT32_MAX ? EVIDENCE_NONE : port_of(f, f->fabric->endpoint[endpoint].port);
}

static uint32_t job_named(struct filling *f, const char *name)
{
    return *name ? evidence_job(f->evidence, name, strlen(name)) : EVIDENCE_NONE;
}

/* --- jobs --- */

/* Runs of one job that stand together: its repetitions and sizes. */
struct runs {
    uint64_t count, ended, time_ns, unfinished_ns;
    uint64_t begin_ns, end_ns;    /* of all */
    uint64_t largest, of_largest; /* bytes; runs of so many that ended */
    uint64_t busbw_kBps;          /* of these */
};

static void add_run(const struct filling *f, struct runs *runs, const struct sim_job *job)
{
    if (job->start != PS_NEVER) {
        uint64_t begin = job->start / 1000;
        uint64_t end = job->end == PS_NEVER ? f->result->virtual_ps / 1000 : begin + (job->end - job->start) / 1000;
        runs->begin_ns = begin < runs->begin_ns ? begin : runs->begin_ns;
        runs->end_ns = end > runs->end_ns ? end : runs->end_ns;
    }
    runs->count++;
    if (job->end == PS_NEVER || job->failed_at != PS_NEVER) {
        if (job->start != PS_NEVER && f->result->virtual_ps > job->start)
            runs->unfinished_ns = (f->result->virtual_ps - job->start) / 1000;
        return;
    }
    runs->ended++;
    runs->time_ns += (job->end - job->start) / 1000;
    if (job->bytes < runs->largest) return;
    if (job->bytes > runs->largest) runs->of_largest = runs->busbw_kBps = 0;
    runs->largest = job->bytes;
    runs->of_largest++;
    runs->busbw_kBps += sim_bandwidth_kBps(job, true);
}

static void put_runs(struct filling *f, uint32_t object, const struct runs *runs)
{
    port_level(f, object, EVIDENCE_JOB_DONE, runs->ended == runs->count);
    if (runs->begin_ns <= runs->end_ns) {
        port_level(f, object, EVIDENCE_JOB_BEGIN_NS, runs->begin_ns);
        port_level(f, object, EVIDENCE_JOB_END_NS, runs->end_ns);
    }
    if (runs->ended)
        port_level(f, object, EVIDENCE_JOB_NS, runs->time_ns / runs->ended);
    else if (runs->unfinished_ns)
        port_level(f, object, EVIDENCE_JOB_NS, runs->unfinished_ns);
    if (!runs->busbw_kBps) return;
    evidence_set_real(f->evidence, object, EVIDENCE_NO_PRIORITY, EVIDENCE_BUSBW,
                      (double)runs->busbw_kBps * 1e3 / (double)runs->of_largest, &f->end);
    if (runs->largest) port_level(f, object, EVIDENCE_MESSAGE_BYTES, runs->largest);
}

/* Who takes part; where nobody is sent to, each adapter is a rank's. */
static void put_ends(struct filling *f, uint32_t object, const struct sim_job *job)
{
    for (uint32_t i = 0; i < job->froms; i++)
        endpoint_of(f, f->result->end[job->first_from + i]);
    for (uint32_t i = 0; i < job->tos; i++)
        endpoint_of(f, f->result->end[job->first_to + i]);
    for (uint32_t i = 0; job->tos == 0 && job->froms == job->ranks && i < job->froms; i++) {
        uint32_t rank = evidence_rank(f->evidence, object, i);
        if (rank == EVIDENCE_NONE) return;
        f->evidence->object[rank].host = endpoint_of(f, f->result->end[job->first_from + i]);
    }
}

static void put_kind(struct filling *f, uint32_t object, const struct fabric_job *job)
{
    port_level(f, object, EVIDENCE_JOB_PRIORITY, f->fabric->classes[job->job_class].priority);
    port_level(f, object, EVIDENCE_JOB_COUPLED, sim_job_coupled(job));
}

static void put_jobs(struct filling *f)
{
    const struct sim_result *result = f->result;

    for (uint32_t i = 0; i < result->jobs;) {
        uint32_t number = result->job[i].job, object = job_named(f, result->job[i].name);
        struct runs runs = {.begin_ns = UINT64_MAX};
        for (; i < result->jobs && result->job[i].job == number; i++) {
            const struct sim_job *job = &result->job[i];
            add_run(f, &runs, job);
            port_level(f, object, EVIDENCE_RANKS, job->ranks);
            port_level(f, object, EVIDENCE_JOB_STUCK, sim_job_is_stuck(result, job));
            if (job->ideal_ps != PS_NEVER) port_level(f, object, EVIDENCE_JOB_IDEAL_NS, job->ideal_ps / 1000);
            port_level(f, object, EVIDENCE_JOB_INSIDE_NS, job->inside_ps / 1000);
            put_kind(f, object, &f->fabric->job[number]);
            put_ends(f, object, job);
        }
        put_runs(f, object, &runs);
    }
}

/* As in the document: groups that did something. */
static bool is_listed(const struct sim_training_group *group)
{
    return group->operations || group->busy_ps;
}

static void put_training(struct filling *f, const struct sim_training *training)
{
    const struct sim_job *job = &f->result->job[training->job];
    const struct fabric_job *from = &f->fabric->job[job->job];
    uint32_t object = job_named(f, job->name);

    if (training->mean_ps / 1000) port_level(f, object, EVIDENCE_STEP_NS, training->mean_ps / 1000);
    port_level(f, object, EVIDENCE_STEP_COMPUTE_NS, training->compute_ps / 1000);
    port_level(f, object, EVIDENCE_STEP_EXPOSED_NS, training->exposed_ps / 1000);
    port_level(f, object, EVIDENCE_STEPS, training->steps_ended);
    uint64_t inside_ns = 0;
    for (unsigned g = 0; g < FABRIC_GROUPS; g++)
        if (is_listed(&training->group[g]) && sim_training_inside(f->fabric, from, g))
            inside_ns += training->group[g].exposed_ps / 1000;
    port_level(f, object, EVIDENCE_STEP_INSIDE_NS, inside_ns);
    for (uint32_t i = 0; i < training->listed; i++) {
        uint32_t number = training->rank ? training->rank[i] : i;
        uint32_t rank = evidence_rank(f->evidence, object, number);
        uint64_t waits_ns = 0;
        if (rank == EVIDENCE_NONE) return;
        if (f->evidence->object[rank].host == EVIDENCE_NONE)
            f->evidence->object[rank].host = device_of(f, f->fabric->gpu_host[from->rank[number]]);
        for (uint32_t s = 0; s < training->wait_steps; s++)
            waits_ns += training->wait_ps[(size_t)s * training->listed + i] / 1000;
        if (training->wait_steps) port_level(f, rank, EVIDENCE_RANK_WAIT_NS, waits_ns / training->wait_steps);
        port_level(f, rank, EVIDENCE_RANK_STAGE, sim_training_stage(from->training, number));
        port_level(f, rank, EVIDENCE_RANK_COMPUTE_NS, training->rank_compute_ps[i] / 1000);
    }
}

static void add_flow(struct filling *f, const char *job, uint32_t from, uint32_t to, struct evidence_flow flow)
{
    flow.job = job_named(f, job);
    flow.from = endpoint_of(f, from);
    flow.to = endpoint_of(f, to);
    if (flow.job != EVIDENCE_NONE && flow.from != EVIDENCE_NONE && flow.to != EVIDENCE_NONE)
        evidence_add_flow(f->evidence, &flow);
}

static uint64_t known_ns(ps_t time)
{
    return time == PS_NEVER ? 0 : time / 1000;
}

static void put_flows(struct filling *f)
{
    for (uint32_t i = 0; i < f->result->flows; i++) {
        const struct sim_flow *flow = &f->result->flow[i];
        add_flow(f, f->fabric->job[flow->job].name, flow->src, flow->dst,
                 (struct evidence_flow){.bytes = flow->bytes,
                                        .time_ns = known_ns(flow->fct_ps),
                                        .ideal_ns = known_ns(flow->ideal_ps),
                                        .start_ns = known_ns(flow->start)});
    }
}

/* Of programs under `up`: a program is a job. */
static void put_queue_pairs(struct filling *f)
{
    for (uint32_t i = 0; f->report->program && i < f->report->program_flows; i++) {
        const struct up_flow_result *flow = &f->report->program_flow[i];
        uint64_t first = known_ns(flow->first), last = known_ns(flow->last);
        add_flow(f, flow->command, flow->endpoint, flow->peer,
                 (struct evidence_flow){
                     .bytes = flow->bytes, .time_ns = last > first ? last - first : 0, .start_ns = first});
    }
}

/* --- trouble --- */

static void put_deadlock(struct filling *f, const struct sim_deadlock *deadlock)
{
    uint32_t *port = calloc(deadlock->waits + 1u, sizeof port[0]);
    uint8_t *priority = calloc(deadlock->waits + 1u, 1);

    for (uint32_t i = 0; port && priority && i < deadlock->waits; i++) {
        port[i] = port_of(f, deadlock->wait[i].port);
        priority[i] = deadlock->wait[i].priority;
    }
    if (port && priority && deadlock->waits)
        evidence_add_circle(f->evidence, port, priority, deadlock->waits, deadlock->ended != PS_NEVER);
    if (!port || !priority) f->evidence->full = true;
    free(port);
    free(priority);
}

static void put_watchdog(struct filling *f)
{
    for (uint32_t i = 0; i < f->result->ports; i++)
        for (unsigned p = 0; f->result->port[i].sw && p < FABRIC_PRIOS; p++) {
            const struct sw_prio_counters *c = &f->result->port[i].sw->prio[p];
            uint32_t port = c->watchdog_detected ? port_of(f, f->result->port[i].port) : EVIDENCE_NONE;
            if (port == EVIDENCE_NONE) continue;
            count(f, port, p, EVIDENCE_WATCHDOG_DETECTED, c->watchdog_detected);
            level(f, port, p, EVIDENCE_WATCHDOG_ON, c->watchdog_detected > c->watchdog_restored);
        }
}

static void put_pause(struct filling *f, const struct sim_pause *from)
{
    struct evidence_pause pause = {.port = port_of(f, from->port),
                                   .paused = port_of(f, f->fabric->port[from->port].peer),
                                   .cause = port_of(f, from->cause),
                                   .priority = from->priority,
                                   .count = from->count,
                                   .time_ns = from->time_ps / 1000,
                                   .passed_on_ns = from->passed_on_ps / 1000};

    if (pause.port == EVIDENCE_NONE || pause.paused == EVIDENCE_NONE) return;
    evidence_add_pause(f->evidence, &pause);
    if (pause.cause != EVIDENCE_NONE) return;
    /* Of a host it is known here alone for how long it paused its switch. */
    count_most(f, pause.port, pause.priority, EVIDENCE_TX_PAUSE_NS, pause.time_ns);
    count_most(f, pause.port, pause.priority, EVIDENCE_TX_PAUSE_FRAMES, pause.count);
}

/* --- the fabric --- */

static void put_fabric(struct filling *f)
{
    const struct fabric *fabric = f->fabric;

    for (uint32_t i = 0; i < fabric->nodes; i++) {
        uint32_t device = device_of(f, i);
        if (device != EVIDENCE_NONE) f->evidence->object[device].role = (uint8_t)fabric->node[i].role;
    }
    for (uint32_t i = 0; i < fabric->ports; i++) {
        if (fabric->port[i].peer == FABRIC_NONE || fabric->port[i].peer < i) continue;
        bool below =
            fabric->node[fabric->port[fabric->port[i].peer].node].tier < fabric->node[fabric->port[i].node].tier;
        uint32_t low = below ? fabric->port[i].peer : i, high = fabric->port[low].peer;
        uint32_t a = port_of(f, low), b = port_of(f, high);
        if (a == EVIDENCE_NONE || b == EVIDENCE_NONE) continue;
        evidence_tie(f->evidence, a, b);
        f->evidence->tied = true;
    }
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (fabric->classes[i].lossless) f->lossless |= (uint8_t)(1u << fabric->classes[i].priority);
}

/* --- ports and adapters --- */

/* Bytes received, as they were on the line: so that both ends of a cable can be compared. */
static void say_received(struct filling *f, uint64_t packets, uint64_t bytes)
{
    say(f, EVIDENCE_PORT_RX_BYTES, bytes + packets * FRAME_LINE);
}

static void put_transitions(struct filling *f, uint32_t port, unsigned priority, uint64_t frames, uint64_t xoff)
{
    /* as often as it was told that it may go on, and once more */
    if (frames >= xoff && xoff) count_most(f, port, priority, EVIDENCE_RX_PAUSE_EVENTS, frames - xoff + 1);
}

static bool is_used(const struct sw_prio_counters *c)
{
    return c->tx_bytes | c->drops | c->queue_max_bytes | c->headroom_max_bytes | c->tx_xoff | c->rx_xoff |
           c->tx_pause_ps | c->rx_pause_ps | c->rx_bytes;
}

static void say_switch_priority(struct filling *f, const struct sw_prio_counters *c)
{
    say(f, EVIDENCE_TX_BYTES, c->tx_bytes);
    say(f, EVIDENCE_MARKED, c->ecn_marked);
    say(f, EVIDENCE_QUEUE_PEAK, c->queue_max_bytes);
    say(f, EVIDENCE_HEADROOM_PEAK, c->headroom_max_bytes);
    say(f, EVIDENCE_RX_PAUSE_NS, c->rx_pause_ps / 1000);
    say(f, EVIDENCE_TX_PAUSE_NS, c->tx_pause_ps / 1000);
    say(f, EVIDENCE_TX_PACKETS, c->tx_packets);
    say(f, EVIDENCE_RX_PACKETS, c->rx_packets);
    say(f, EVIDENCE_RX_BYTES, c->rx_bytes);
    say(f, EVIDENCE_TX_PAUSE_FRAMES, c->tx_xoff + c->tx_xoff_refresh + c->tx_xon);
    say(f, EVIDENCE_RX_PAUSE_FRAMES, c->rx_xoff + c->rx_xon);
}

static void put_drop(void *context, uint32_t port, unsigned priority, enum evidence_counter counter, uint64_t value)
{
    if (priority == EVIDENCE_NO_PRIORITY)
        say_any(context, counter, value);
    else
        count(context, port, priority, counter, value);
}

static void say_drops(struct filling *f, uint32_t object, const struct sim_port *port)
{
    const uint64_t *drop = sim_port_drops(f->report, port);
    struct drops drops = {0};

    for (unsigned i = 0; i < SW_DROPS; i++)
        if (f->drop[i] < DROPS_REASONS) drops.by[drops_kind(f->drop[i])] += drop[i];
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        drops.of[p] = port->sw->prio[p].drops;
    drops_share(&drops, f->lossless, object, put_drop, f);
}

static void say_infiniband(struct filling *f, const struct observe_infiniband *from)
{
    static const struct {
        const char *name;
        enum evidence_counter counter;
    } known[] = {{"PortXmitWait", EVIDENCE_XMIT_WAIT},
                 {"PortXmitDiscards", EVIDENCE_XMIT_DISCARDS},
                 {"ExcessiveBufferOverrunErrors", EVIDENCE_BUFFER_OVERRUNS},
                 {"VL15Dropped", EVIDENCE_VL15_DROPPED}};

#define IB(field, label, metric, per, help)                                                                            \
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)                                                        \
        if (!strcmp(label, known[i].name)) say(f, known[i].counter, from->field / (per));
#include "observe/infiniband.def"
#undef IB
}

static void say_line(struct filling *f, const struct sim_port *port)
{
    say(f, EVIDENCE_FULL_RATE, f->fabric->port[port->port].rate_bps);
    say(f, EVIDENCE_PORT_TX_BYTES, port->line_bytes);
    if (port->has_infiniband) say_infiniband(f, &port->infiniband);
    say(f, EVIDENCE_LINK_UP, port->up);
    say(f, EVIDENCE_RATE, port->rate_bps);
    say(f, EVIDENCE_LINK_DOWN, port->downs);
    say_any(f, EVIDENCE_CRC_ERRORS, port->crc_errors);
    say_any(f, EVIDENCE_LINE_LOST, port->lost);
    if (port->credits_sent || port->credits_received) say(f, EVIDENCE_CREDITS_RECEIVED, port->credits_received);
    if (port->celsius) say(f, EVIDENCE_TEMPERATURE, port->celsius);
}

/* Where its switch marks. */
static void say_thresholds(struct filling *f, const struct sim_threshold *from)
{
    if (!from->ecn && !from->pauses) return;
    say(f, EVIDENCE_ECN_MIN, from->ecn ? from->ecn_min_bytes : 0);
    say(f, EVIDENCE_ECN_MAX, from->ecn ? from->ecn_max_bytes : 0);
    say(f, EVIDENCE_HEADROOM_LIMIT, from->headroom_bytes);
}

static void put_switch_priority(struct filling *f, uint32_t object, const struct sim_port *port, unsigned p)
{
    const struct sw_prio_counters *c = &port->sw->prio[p];
    const struct sim_thresholds *thresholds =
        port->thresholds == UINT32_MAX ? NULL : &f->result->thresholds[port->thresholds];

    bool used = is_used(c);

    if (used) say_switch_priority(f, c);
    if (f->lossless >> p & 1) say(f, EVIDENCE_LOSSLESS, 1);
    if ((port->pfc_sends | port->pfc_obeys | f->lossless) >> p & 1)
        say(f, EVIDENCE_PFC_ON, port->pfc_sends & port->pfc_obeys & 1u << p ? 1 : 0);
    if (thresholds) say_thresholds(f, &thresholds->prio[p]);
    put(f, object, p);
    if (used) put_transitions(f, object, p, c->rx_xoff + c->rx_xon, c->rx_xoff);
}

static void put_port(struct filling *f, const struct sim_port *port)
{
    uint32_t object = port_of(f, port->port);

    if (object == EVIDENCE_NONE) return;
    say_line(f, port);
    if (port->sw) { /* of a host's its adapter has the rest */
        say(f, EVIDENCE_PORT_TX_PACKETS, port->sw->tx_packets);
        say(f, EVIDENCE_PORT_RX_PACKETS, port->sw->rx_packets);
        if (port->mtu_bytes) say(f, EVIDENCE_MTU, port->mtu_bytes);
        say_received(f, port->sw->rx_packets, port->sw->rx_bytes);
        say_drops(f, object, port);
    }
    put(f, object, EVIDENCE_NO_PRIORITY);
    if (port->pre_fec_ber)
        evidence_set_real(f->evidence, object, EVIDENCE_NO_PRIORITY, EVIDENCE_PRE_FEC_BER,
                          (double)(port->pre_fec_ber / 1000000) / 1e12, &f->end);
    for (unsigned p = 0; port->sw && p < FABRIC_PRIOS; p++)
        put_switch_priority(f, object, port, p);
}

static void put_nic_priority(struct filling *f, uint32_t port, unsigned p, const struct nic_prio_counters *c)
{
    if (!(c->tx_bytes | c->tx_pause | c->rx_pause | c->rx_pause_ps)) return;
    count_most(f, port, p, EVIDENCE_TX_BYTES, c->tx_bytes);
    count_most(f, port, p, EVIDENCE_RX_PAUSE_NS, c->rx_pause_ps / 1000);
    count_most(f, port, p, EVIDENCE_TX_PACKETS, c->tx_packets);
    count_most(f, port, p, EVIDENCE_TX_PAUSE_FRAMES, c->tx_pause + c->tx_resume);
    count_most(f, port, p, EVIDENCE_RX_PAUSE_FRAMES, c->rx_pause + c->rx_resume);
    put_transitions(f, port, p, c->rx_pause + c->rx_resume, c->rx_pause);
}

static void say_nic(struct filling *f, const struct sim_nic *nic)
{
    const struct endpoint_counters *common = &nic->common;
    const struct nic_counters *c = nic->counters;

    say(f, EVIDENCE_PORT_TX_PACKETS, common->tx_packets);
    say(f, EVIDENCE_PORT_RX_PACKETS, common->rx_packets);
    say(f, EVIDENCE_NP_MARKED, common->marked);
    say(f, EVIDENCE_CNP_SENT, c ? c->np_cnp_sent : 0);
    say(f, EVIDENCE_CNP_HANDLED, c ? c->rp_cnp_handled : 0);
    say_any(f, EVIDENCE_CNP_IGNORED, c ? c->rp_cnp_ignored : 0);
    say(f, EVIDENCE_RETRANSMITTED, common->retransmitted_packets);
    say(f, EVIDENCE_ACK_TIMEOUTS, common->timeouts);
    say(f, EVIDENCE_SEQUENCE_NAKS, common->nacks);
    say_any(f, EVIDENCE_RNR_NAKS, c ? c->rnr_nak_retry_err : 0);
    say(f, EVIDENCE_TX_DATA_PACKETS, common->tx_data_packets);
    say(f, EVIDENCE_OUT_OF_SEQUENCE, common->out_of_order);
    say_any(f, EVIDENCE_OUT_OF_BUFFER, c ? c->out_of_buffer : 0);
    say_any(f, EVIDENCE_RX_DISCARDS, c ? c->drop[NIC_DROP_rx_buffer] : common->drops);
    say(f, EVIDENCE_RETRY_EXCEEDED, c ? c->retry_exceeded : 0);
    say(f, EVIDENCE_CNPS_WANTED, sim_nic_wants_cnps(f->report, nic));
    if (sim_nic_is_outside(f->report, nic)) say(f, EVIDENCE_OUTSIDE, 1);
    say_any(f, EVIDENCE_TRIMMED, common->trimmed);
    if (c) say(f, EVIDENCE_RX_BUFFER_PEAK, c->rx_buffer_max_bytes);
    say_any(f, EVIDENCE_IDLE_RATE_NS, c ? c->idle_rate_ps / 1000 : 0);
    say_any(f, EVIDENCE_IDLE_FETCH_NS, c ? c->idle_fetch_ps / 1000 : 0);
    say_any(f, EVIDENCE_SOFTWARE_NS, nic->software_ps / 1000);
    say_any(f, EVIDENCE_CORES_IDLE_NS, sim_nic_cores_idle(nic) / 1000);
    say_any(f, EVIDENCE_CONNECTIONS, nic->connections);
    say_received(f, common->rx_packets, common->rx_bytes);
}

static void put_nic(struct filling *f, const struct sim_nic *nic)
{
    uint32_t port = endpoint_of(f, nic->endpoint);

    if (port == EVIDENCE_NONE) return;
    say_nic(f, nic);
    put(f, port, EVIDENCE_NO_PRIORITY);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        if (nic->counters && p < FABRIC_PRIOS) put_nic_priority(f, port, p, &nic->counters->prio[p]);
        if (f->lossless >> p & 1) say(f, EVIDENCE_LOSSLESS, 1);
        /* what others use, and it has no word of, it sent nothing in */
        if (f->used >> p & 1 && !evidence_find(f->evidence, port, p, EVIDENCE_TX_BYTES)) say(f, EVIDENCE_TX_BYTES, 0);
        put(f, port, p);
    }
}

/* Of ports that have no counters. */
static void put_lossless(struct filling *f)
{
    for (uint32_t id = 0; id < f->evidence->objects; id++) {
        unsigned rest = f->evidence->object[id].scope == EVIDENCE_PORT ? f->lossless : 0;
        for (; rest; rest &= rest - 1) {
            unsigned p = (unsigned)__builtin_ctz(rest);
            if (!evidence_find(f->evidence, id, p, EVIDENCE_LOSSLESS)) level(f, id, p, EVIDENCE_LOSSLESS, 1);
        }
    }
}

/* Priorities of which a rule may ask what an adapter sent in them. */
static uint8_t used_priorities(const struct filling *f)
{
    const struct sim_result *result = f->result;
    uint8_t used = f->lossless;

    for (uint32_t i = 0; i < result->ports; i++)
        used |= result->port[i].pfc_sends | result->port[i].pfc_obeys;
    for (uint32_t i = 0; i < result->pauses; i++)
        used |= (uint8_t)(1u << result->pause[i].priority);
    for (uint32_t i = 0; i < result->nics; i++)
        for (unsigned p = 0; result->nic[i].counters && p < FABRIC_PRIOS; p++)
            if (result->nic[i].counters->prio[p].tx_bytes) used |= (uint8_t)(1u << p);
    return used;
}

static void fill(struct filling *f)
{
    const struct sim_result *result = f->result;

    for (unsigned i = 0; i < SW_DROPS; i++)
        f->drop[i] = (uint8_t)drops_reason(sw_drop_name[i], strlen(sw_drop_name[i]));
    put_queue_pairs(f);
    put_jobs(f);
    for (uint32_t i = 0; i < result->trainings; i++)
        put_training(f, &result->training[i]);
    for (uint32_t i = 0; i < result->deadlocks; i++)
        put_deadlock(f, &result->deadlock[i]);
    put_watchdog(f);
    for (uint32_t i = 0; i < result->pauses; i++)
        put_pause(f, &result->pause[i]);
    put_fabric(f);
    put_flows(f);
    f->used = used_priorities(f);
    for (uint32_t i = 0; i < result->ports; i++)
        put_port(f, &result->port[i]);
    for (uint32_t i = 0; i < result->nics; i++)
        put_nic(f, &result->nic[i]);
    put_lossless(f);
}

bool run_evidence(struct evidence *evidence, const struct sim_report *report)
{
    const struct fabric *fabric = report->fabric;
    struct filling f = {.evidence = evidence, .report = report, .fabric = fabric, .result = report->result};

    f.port = malloc((fabric->ports + 1u) * sizeof f.port[0]);
    f.device = malloc((fabric->nodes + 1u) * sizeof f.device[0]);
    bool good = f.port && f.device;
    if (good) {
        memset(f.port, 0xff, (fabric->ports + 1u) * sizeof f.port[0]);
        memset(f.device, 0xff, (fabric->nodes + 1u) * sizeof f.device[0]);
        f.begin.file = f.end.file = evidence_file(evidence, "this run");
        f.end.at_s = (double)report->result->virtual_ps / 1e12;
        evidence->exact = true;
        evidence->follows = fabric->converge.on;
        fill(&f);
    }
    free(f.port);
    free(f.device);
    return good && !evidence->full;
}
