/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run explained to a person: what came of the jobs first, then flows, ports and adapters, the busiest and the worst
 * in front.
 */
#include "report/sim_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "report/table.h"

#define CELL 48
#define COLUMNS(list) (sizeof(list) / sizeof((list)[0]))

uint64_t sim_bandwidth_kBps(const struct sim_job *job, bool bus)
{
    if (job->end == PS_NEVER || job->end <= job->start || job->failed) return 0;
    u128 rate = (u128)job->bytes * (PS_S / 1000) / (job->end - job->start);
    if (bus && job->bus_den) rate = rate * job->bus_num / job->bus_den;
    return (uint64_t)rate;
}

bool sim_job_is_stuck(const struct sim_result *result, const struct sim_job *job)
{
    return result->state == SIM_STUCK && job->end == PS_NEVER;
}

const char *sim_job_state(const struct sim_result *result, const struct sim_job *job)
{
    if (job->failed_at != PS_NEVER) return "failed";
    if (job->end != PS_NEVER) return "done";
    if (sim_job_is_stuck(result, job)) return "stuck";
    return job->start == PS_NEVER ? "waiting" : "running";
}

bool sim_nic_is_outside(const struct sim_report *report, const struct sim_nic *nic)
{
    for (uint32_t i = 0; i < report->foreign_ports; i++)
        if (report->foreign_port[i].endpoint == nic->endpoint) return true;
    return false;
}

uint64_t sim_nic_cores_idle(const struct sim_nic *nic)
{
    if (!nic->has_tcp) return 0;
    return nic->tcp.cpu_idle_ps > nic->tcp.cpu_receive_idle_ps ? nic->tcp.cpu_idle_ps : nic->tcp.cpu_receive_idle_ps;
}

bool sim_nic_wants_cnps(const struct sim_report *report, const struct sim_nic *nic)
{
    const struct fabric *fabric = report->fabric;
    const char *control = fabric->nic[fabric->endpoint[nic->endpoint].nic].congestion;

    return nic->counters && control && strncmp(control, "dcqcn", 5) == 0;
}

uint32_t sim_ideal_milli(const struct sim_job *job)
{
    if (job->end == PS_NEVER || job->end <= job->start || job->failed || job->ideal_ps == PS_NEVER) return 0;
    return (uint32_t)((u128)job->ideal_ps * 1000 / (job->end - job->start));
}

uint64_t sim_slowdown_milli(const struct sim_flow *flow)
{
    if (flow->fct_ps == PS_NEVER || flow->ideal_ps == PS_NEVER || flow->ideal_ps == 0) return 0;
    return (uint64_t)((u128)flow->fct_ps * 1000 / flow->ideal_ps);
}

const uint64_t *sim_port_drops(const struct sim_report *report, const struct sim_port *port)
{
    static const uint64_t none[NIC_DROPS]; /* of an adapter that has other reasons */
    const struct fabric *fabric = report->fabric;
    const struct fabric_port *from = &fabric->port[port->port];

    if (port->sw) return port->sw->drop;
    const struct sim_nic *nic = &report->result->nic[fabric->first_endpoint[from->node] + from->index];
    return nic->counters ? nic->counters->drop : none;
}

static const char *thousandths(uint64_t value, char buf[CELL])
{
    return text_fixed(value, 1000, 2, buf);
}

static const char *gigabytes(uint64_t kBps, char buf[CELL])
{
    if (kBps == 0) return "-";
    return text_fixed(kBps, 1000000, 2, buf);
}

static const char *duration(ps_t span, char buf[TEXT_COUNT])
{
    return span == PS_NEVER ? "-" : text_ps(span, buf);
}

/* "3", "3 and 4", of a set of priorities. */
static void priorities(uint8_t set, char buf[CELL])
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned p = 0; p < 8; p++)
        if (set >> p & 1)
            used += (size_t)snprintf(buf + used, CELL - used, "%s%u", used ? set >> (p + 1) ? ", " : " and " : "", p);
}

/* Fabrics disagree with themselves: of rates, models and adapters the first is named. */
static void print_fabric(FILE *out, const struct fabric *fabric, const struct text_style *style)
{
    char rate[UNIT_TEXT];

    text_colour(out, style, TEXT_BOLD);
    text_outside(out, style, fabric->name);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, ": %u hosts, %u adapters", fabric->hosts, fabric->endpoints);
    if (fabric->endpoints)
        fprintf(out, " at %s", unit_format_short(UNIT_RATE, fabric->port[fabric->endpoint[0].port].rate_bps, 3, rate));
    fprintf(out, ", %u switch%s", fabric->switches, fabric->switches == 1 ? "" : "es");
    if (fabric->switches && fabric->sw[0].model) fprintf(out, " (%s)", fabric->sw[0].model);
    fputc('\n', out);
}

static void print_protocol(FILE *out, const struct fabric *fabric)
{
    char lossless[CELL];
    uint8_t pfc = 0;
    bool ecn = false;

    for (uint32_t i = 0; i < fabric->settings_count; i++) {
        pfc |= (uint8_t)(fabric->settings[i].lossless & (fabric->settings[i].pfc_tx | fabric->settings[i].pfc_rx));
        for (int q = 0; q < FABRIC_PRIOS; q++)
            ecn |= fabric->settings[i].queue[q].ecn.on;
    }
    fputs(fabric->behaviour == FABRIC_HPCC_NS3  ? "model hpcc-ns3"
          : fabric->behaviour == FABRIC_NS3_TCP ? "model ns3-tcp"
                                                : fabric_system(fabric)->title,
          out);
    if (fabric->nics && fabric_system(fabric)->endpoint != FABRIC_ENDPOINT_NIC) {
        fprintf(out, ", MTU %u", fabric->nic[0].mtu_bytes);
    } else if (fabric->nics) {
        const char *control = fabric->nic[0].congestion;
        fprintf(out, ", MTU %u, %s", fabric->nic[0].mtu_bytes,
                control == NULL || strcmp(control, "none") == 0 ? "no congestion control" : control);
    }
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].system != fabric->system)
            fprintf(out, ", %s in class %s", fabric_systems[fabric->classes[c].system].title, fabric->classes[c].name);
    priorities(pfc, lossless);
    if (pfc) fprintf(out, ", PFC on priority %s", lossless);
    fputs(ecn ? ", ECN\n" : "\n", out);
}

static void print_stuck(FILE *out, const struct sim_report *report, const char *now, uint32_t ended)
{
    uint32_t programs = 0;

    for (uint32_t i = 0; i < report->programs; i++)
        programs += report->program[i].end != PS_NEVER;
    fprintf(out, "STUCK at %s: ", now);
    if (report->programs) fprintf(out, "%u of %u programs", programs, report->programs);
    if (report->programs && report->result->jobs) fputs(" and ", out);
    if (report->result->jobs || !report->programs) fprintf(out, "%u of %u jobs", ended, report->result->jobs);
    fputs(" ended, and no event is left\n", out);
}

static void print_state(FILE *out, const struct sim_report *report, const struct text_style *style)
{
    const struct sim_result *result = report->result;
    char now[TEXT_COUNT];
    uint32_t ended = 0;

    for (uint32_t i = 0; i < result->jobs; i++)
        ended += result->job[i].end != PS_NEVER;
    text_ps(result->virtual_ps, now);
    if (result->state == SIM_DEADLOCK) {
        text_colour(out, style, TEXT_RED);
        fprintf(out,
                result->nothing_left ? "DEADLOCK at %s: %u of %u jobs ended, and no event is left\n"
                                     : "DEADLOCK: stopped at %s, %u of %u jobs had ended (--keep-going runs on)\n",
                now, ended, result->jobs);
    } else if (result->state == SIM_STUCK) {
        text_colour(out, style, TEXT_RED);
        print_stuck(out, report, now, ended);
    } else if (result->state == SIM_FAILED) {
        text_colour(out, style, TEXT_RED);
        fprintf(out, "FAILED at %s: %u of %u jobs ended, the others failed\n", now, ended, result->jobs);
    } else if (ended < result->jobs) {
        text_colour(out, style, TEXT_YELLOW);
        fprintf(out, "%s at %s: %u of %u jobs had ended\n", result->state == SIM_RUNNING ? "interrupted" : "stopped",
                now, ended, result->jobs);
    }
    text_colour(out, style, TEXT_PLAIN);
    if (result->work_failed) fprintf(out, "%" PRIu64 " work requests failed\n", result->work_failed);
}

static void print_stood_still(FILE *out, const struct sim_report *report)
{
    char stood[TEXT_COUNT], all[TEXT_COUNT];

    if (report->real)
        fprintf(out, "fabric time stood still for %s of %s\n", text_ns(report->stood_still_ns, stood),
                text_ns(report->real_ns, all));
}

static void print_summary(FILE *out, const struct sim_report *report, const struct text_style *style)
{
    const struct sim_result *result = report->result;
    char span[TEXT_COUNT], hops[TEXT_COUNT], speed[TEXT_COUNT], wall[TEXT_COUNT];
    uint64_t per_s = report->wall_us ? result->packet_hops * 1000000 / report->wall_us : 0;

    print_fabric(out, report->fabric, style);
    print_protocol(out, report->fabric);
    fprintf(out, "%s of virtual time, %s packet-hops in %s (%s a second), %u thread%s\n",
            text_ps(result->virtual_ps, span), text_count(result->packet_hops, hops),
            text_ns(report->wall_us * 1000, wall), text_count_short(per_s, speed), report->threads,
            report->threads == 1 ? "" : "s");
    fprintf(out, "seed %" PRIu64 ", digest %016" PRIx64 "\n", report->seed, result->digest);
    print_stood_still(out, report);
    print_state(out, report, style);
}

/* How much of the time that it took a job would have needed at least. */
static const char *of_ideal(const struct sim_job *job, char buf[TEXT_COUNT])
{
    uint32_t milli = sim_ideal_milli(job);

    if (milli == 0) return "";
    snprintf(buf, TEXT_COUNT, "%u.%u%%", milli / 10, milli % 10);
    return buf;
}

/* Once a job of the file: repetitions are alike. */
static void print_sharp(FILE *out, const struct sim_result *result)
{
    char time[TEXT_COUNT], times[TEXT_COUNT];

    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (job->sharp_ps == PS_NEVER || job->repetition || job->end == PS_NEVER || job->end <= job->start) continue;
        text_fixed((job->end - job->start) * 1000 / (job->sharp_ps ? job->sharp_ps : 1), 1000, 2, times);
        fprintf(out,
                "  %s with SHARP: %s, %s times as fast (calculated, not simulated: once up and down the switches)\n",
                job->name, duration(job->sharp_ps, time), times);
    }
}

static void print_jobs(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    uint32_t shown = options->rows && options->rows < result->jobs ? options->rows : result->jobs;
    struct table table;

    if (result->jobs == 0) return;
    text_heading(out, &options->style, "JOBS");
    TABLE_BEGIN(&table, LEFT("job", .min_width = 8), RIGHT("run", .optional = true, .drop = 3), RIGHT("ranks"),
                RIGHT("size"), RIGHT("start", .drop = 2), RIGHT("time"), RIGHT("of ideal", .optional = true, .drop = 4),
                RIGHT("algbw GB/s"), RIGHT("busbw GB/s", .drop = 1));
    for (uint32_t i = 0; i < shown; i++) {
        const struct sim_job *job = &result->job[i];
        char run[CELL] = "", ranks[CELL] = "-", bytes[TEXT_COUNT], start[TEXT_COUNT], time[TEXT_COUNT],
             ideal[TEXT_COUNT], alg[CELL], bus[CELL];
        if (report->fabric->job[job->job].repeat > 1) snprintf(run, sizeof(run), "%u", job->repetition + 1);
        if (job->ranks) snprintf(ranks, sizeof(ranks), "%u", job->ranks);
        TABLE_ROW(&table, job->name, run, ranks, text_bytes(job->bytes, bytes), duration(job->start, start),
                  job->failed_at != PS_NEVER ? "failed"
                                             : duration(job->end == PS_NEVER ? PS_NEVER : job->end - job->start, time),
                  of_ideal(job, ideal), gigabytes(sim_bandwidth_kBps(job, false), alg),
                  gigabytes(sim_bandwidth_kBps(job, true), bus));
    }
    table_end(&table, out, &options->style, 2);
    if (shown < result->jobs) fprintf(out, "  and %u more\n", result->jobs - shown);
    print_sharp(out, result);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void percentile_row(struct table *table, const char *what, uint64_t *value, uint32_t count, bool times)
{
    static const uint32_t point[] = {500, 900, 990, 999, 1000};
    char text[COLUMNS(point)][CELL];
    const char *cell[COLUMNS(point) + 1] = {what};

    qsort(value, count, sizeof(*value), compare_u64);
    for (size_t i = 0; i < COLUMNS(point); i++) {
        uint64_t rank = ((uint64_t)count * point[i] + 999) / 1000, at = value[rank ? rank - 1 : 0];
        cell[i + 1] = times ? duration(at, text[i]) : thousandths(at, text[i]);
    }
    table_row(table, cell);
}

/* How far those have come that had begun and not ended. */
static void print_unfinished(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;
    uint32_t shown = 0, more = 0;
    struct table table;

    TABLE_BEGIN(&table, LEFT("not completed", .min_width = 8), LEFT("job", .min_width = 8, .drop = 2),
                RIGHT("start", .drop = 1), RIGHT("acknowledged"), RIGHT("of"), RIGHT("goodput"));
    for (uint32_t i = 0; i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        char src[FABRIC_NAME], dst[FABRIC_NAME], ends[2 * FABRIC_NAME + 8], start[TEXT_COUNT], acked[TEXT_COUNT],
            bytes[TEXT_COUNT], rate[UNIT_TEXT];
        if (flow->start == PS_NEVER || flow->fct_ps != PS_NEVER) continue;
        if (options->rows && shown == options->rows) {
            more++;
            continue;
        }
        snprintf(ends, sizeof(ends), "%s to %s", fabric_port_name(fabric, fabric->endpoint[flow->src].port, src),
                 fabric_port_name(fabric, fabric->endpoint[flow->dst].port, dst));
        TABLE_ROW(&table, ends, fabric->job[flow->job].name, duration(flow->start, start),
                  text_bytes(flow->acked_bytes, acked), text_bytes(flow->bytes, bytes),
                  unit_format_short(UNIT_RATE, flow->goodput_bps, 3, rate));
        shown++;
    }
    if (shown) table_print(&table, out, &options->style, 2);
    if (more) fprintf(out, "  and %u more\n", more);
    table_release(&table);
}

static void print_flows(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    uint64_t *fct = calloc(result->flows + 1u, sizeof(*fct)), *slow = calloc(result->flows + 1u, sizeof(*slow));
    uint32_t ended = 0, good = 0, known = 0, failed = 0;
    struct table table;
    char all[TEXT_COUNT];

    if (result->flows && fct && slow) {
        for (uint32_t i = 0; i < result->flows; i++) {
            failed += result->flow[i].failed;
            if (result->flow[i].fct_ps == PS_NEVER) continue;
            ended++;
            if (result->flow[i].failed) continue; /* given up on, not completed: its time says nothing */
            fct[good++] = result->flow[i].fct_ps;
            if (sim_slowdown_milli(&result->flow[i])) slow[known++] = sim_slowdown_milli(&result->flow[i]);
        }
        text_heading(out, &options->style, "FLOWS");
        fprintf(out, "  %s", text_count(result->flows, all));
        if (ended < result->flows) fprintf(out, ", %u not completed", result->flows - ended);
        if (failed) fprintf(out, ", %u failed", failed);
        fputs(ended == result->flows && !failed ? ", all completed\n" : "\n", out);
        TABLE_BEGIN(&table, LEFT(""), RIGHT("p50"), RIGHT("p90"), RIGHT("p99"), RIGHT("p99.9"), RIGHT("max"));
        if (good) percentile_row(&table, "completion time", fct, good, true);
        if (known) percentile_row(&table, "slowdown (1 = alone)", slow, known, false);
        if (good) table_print(&table, out, &options->style, 2);
        table_release(&table);
        if (ended < result->flows) print_unfinished(out, report, options);
        sim_slowdowns_print(out, report, options);
    }
    free(fct);
    free(slow);
}

static int compare_ports(const void *a, const void *b)
{
    const struct sim_port *x = *(const struct sim_port *const *)a, *y = *(const struct sim_port *const *)b;

    if (x->drops != y->drops) return x->drops > y->drops ? -1 : 1;
    if (x->paused_ps != y->paused_ps) return x->paused_ps > y->paused_ps ? -1 : 1;
    if (x->ecn_marked != y->ecn_marked) return x->ecn_marked > y->ecn_marked ? -1 : 1;
    if (x->utilisation_ppm != y->utilisation_ppm) return x->utilisation_ppm > y->utilisation_ppm ? -1 : 1;
    return x->port < y->port ? -1 : x->port > y->port;
}

/* The reason most packets were dropped for, and how many others there were. */
static void drop_reason(const struct sim_report *report, const struct sim_port *port, char buf[CELL])
{
    const char *const *name = port->sw ? sw_drop_name : nic_drop_name;
    const uint64_t *drop = sim_port_drops(report, port);
    int most = 0, reasons = 0, count = port->sw ? SW_DROPS : NIC_DROPS;

    for (int i = 0; i < count; i++) {
        reasons += drop[i] != 0;
        if (drop[i] > drop[most]) most = i;
    }
    if (reasons > 1)
        snprintf(buf, CELL, "%s, %d more", name[most], reasons - 1);
    else
        snprintf(buf, CELL, "%s", reasons ? name[most] : "");
}

static void port_row(struct table *table, const struct sim_report *report, const struct sim_port *port)
{
    const struct fabric *fabric = report->fabric;
    char name[FABRIC_NAME], util[TEXT_COUNT], tx[TEXT_COUNT], rx[TEXT_COUNT], paused[TEXT_COUNT], marks[TEXT_COUNT],
        queue[TEXT_COUNT], drops[TEXT_COUNT], lost[TEXT_COUNT], why[CELL];

    drop_reason(report, port, why);
    TABLE_ROW(table, fabric_port_name(fabric, port->port, name), text_share(port->utilisation_ppm, 1000000, util),
              text_count_short(port->pauses_sent, tx), text_count_short(port->pauses_received, rx),
              port->paused_ps ? duration(port->paused_ps, paused) : "0", text_count_short(port->ecn_marked, marks),
              port->queue_max_bytes ? text_bytes(port->queue_max_bytes, queue) : "0",
              text_count_short(port->drops, drops), why, text_count_short(port->lost, lost));
}

static void print_ports(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    bool credits = report->fabric->lanes.vls != 0;
    const struct sim_result *result = report->result;
    const struct sim_port **order = calloc(result->ports + 1u, sizeof(*order));
    uint32_t shown = options->rows && options->rows < result->ports ? options->rows : result->ports;
    struct table table;

    if (order == NULL || result->ports == 0) {
        free(order);
        return;
    }
    for (uint32_t i = 0; i < result->ports; i++)
        order[i] = &result->port[i];
    qsort(order, result->ports, sizeof(*order), compare_ports);
    text_heading(out, &options->style, "PORTS (worst first: by drops, then pauses, marks, use)");
    TABLE_BEGIN(&table, LEFT("port", .min_width = 8), RIGHT("used"),
                {.title = credits ? "updates" : "PFC sent", .right = true, .optional = true, .drop = 3},
                RIGHT("PFC received", .optional = true, .drop = 4),
                {.title = credits ? "no credit" : "paused", .right = true, .optional = true},
                {.title = credits && !report->fabric->lanes.cbfc ? "FECN" : "CE marks",
                 .right = true,
                 .optional = true,
                 .drop = 2},
                RIGHT("max queue", .optional = true, .drop = 1), RIGHT("drops", .optional = true),
                LEFT("drop reason", .optional = true, .drop = 5), RIGHT("lost on wire", .optional = true));
    for (uint32_t i = 0; i < shown; i++)
        port_row(&table, report, order[i]);
    table_end(&table, out, &options->style, 2);
    if (shown < result->ports) fprintf(out, "  and %u more\n", result->ports - shown);
    free(order);
}

#define NIC_COLUMNS 10

static void print_nics(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    uint8_t system = report->fabric->system;
    bool ib = system == FABRIC_INFINIBAND, roce = system == FABRIC_ROCEV2 || system == FABRIC_ROCEV1;
    bool tcp = system == FABRIC_TCP || system == FABRIC_IWARP;
    const struct table_column columns[NIC_COLUMNS + 1] = {
        LEFT(""),
        {.title = ib ? "FECN received" : "CE received", .right = true, .drop = 1},
        {.title = ib ? "BECN sent" : "CNPs sent", .right = true, .optional = !ib && !roce},
        {.title = ib ? "BECN handled" : "CNPs handled", .right = true, .optional = !ib && !roce},
        RIGHT("retransmitted"),
        RIGHT("timeouts"),
        {.title = system == FABRIC_UET ? "NACKs" : "NAKs", .right = true, .optional = tcp},
        RIGHT("trimmed", .optional = true),
        RIGHT("RNR NAKs", .optional = true),
        RIGHT("failed", .optional = true),
        RIGHT("flushed", .optional = true)};
    const struct sim_result *result = report->result;
    uint64_t sum[NIC_COLUMNS] = {0}, most[NIC_COLUMNS] = {0};
    char text[2][NIC_COLUMNS][TEXT_COUNT];
    const char *cell[2][NIC_COLUMNS + 1] = {{"total"}, {"worst adapter"}};
    struct table table;

    for (uint32_t i = 0; i < result->nics; i++) {
        const struct endpoint_counters *c = &result->nic[i].common;
        const struct nic_counters *own = result->nic[i].counters;
        /* What was still posted when its queue pair ended is flushed, after a good end too: it did not fail. */
        uint64_t flushed = own ? own->req_cqe_flush_error + own->resp_cqe_flush_error : 0;
        const uint64_t value[NIC_COLUMNS] = {c->marked,
                                             own ? own->np_cnp_sent : 0,
                                             own ? own->rp_cnp_handled : 0,
                                             c->retransmitted_packets,
                                             c->timeouts,
                                             c->nacks,
                                             c->trimmed,
                                             own ? own->rnr_nak_retry_err : 0,
                                             c->errors - flushed,
                                             flushed};
        for (int v = 0; v < NIC_COLUMNS; v++) {
            sum[v] += value[v];
            if (value[v] > most[v]) most[v] = value[v];
        }
    }
    text_heading(out, &options->style, "ADAPTERS");
    table_init(&table, columns, COLUMNS(columns));
    for (int v = 0; v < NIC_COLUMNS; v++) {
        cell[0][v + 1] = text_count_short(sum[v], text[0][v]);
        cell[1][v + 1] = text_count_short(most[v], text[1][v]);
    }
    table_row(&table, cell[0]);
    table_row(&table, cell[1]);
    table_end(&table, out, &options->style, 2);
}

void sim_text(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    if (!options->quiet) {
        print_summary(out, report, &options->style);
        sim_text_verdict(out, report, options);
    }
    sim_text_programs(out, report, options);
    print_jobs(out, report, options);
    sim_collectives_text(out, report, options);
    sim_training_text(out, report, options);
    sim_text_trouble(out, report, options);
    if (options->quiet) return;
    print_flows(out, report, options);
    print_ports(out, report, options);
    sim_text_balance(out, report, options);
    print_nics(out, report, options);
}
