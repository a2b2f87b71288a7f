/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of a fabric that was up: how each ended, and its queue pairs as flows; and ports that were interfaces.
 */
#include <stdio.h>

#include "base/units.h"
#include "fabric/fabric.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"
#include "report/table.h"

#define CELL 64

static void print_more(FILE *out, uint32_t shown, uint32_t count)
{
    if (count > shown) fprintf(out, "  and %u more\n", count - shown);
}

static uint32_t rows_of(const struct sim_text_options *options, uint32_t count)
{
    return options->rows && options->rows < count ? options->rows : count;
}

static const char *when(ps_t at, char buf[TEXT_COUNT])
{
    return at == PS_NEVER ? "-" : text_ps(at, buf);
}

static const char *exit_text(const struct up_program *program, char buf[CELL])
{
    if (program->end == PS_NEVER)
        snprintf(buf, CELL, "has not ended");
    else if (program->signal)
        snprintf(buf, CELL, "signal %d", program->signal);
    else if (program->exit >= 0)
        snprintf(buf, CELL, "%d", program->exit);
    else
        snprintf(buf, CELL, "-");
    return buf;
}

static void print_programs(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    uint32_t rows = rows_of(options, report->programs);
    struct table table;

    fputs("\nPROGRAMS\n", out);
    TABLE_BEGIN(&table, LEFT("host"), RIGHT("start"), RIGHT("time"), RIGHT("exit"), LEFT("program", .min_width = 16));
    for (uint32_t i = 0; i < rows; i++) {
        const struct up_program *program = &report->program[i];
        char start[TEXT_COUNT], time[TEXT_COUNT], status[CELL];
        ps_t lasted = program->end == PS_NEVER || program->start == PS_NEVER ? PS_NEVER : program->end - program->start;
        TABLE_ROW(&table, program->host, when(program->start, start), when(lasted, time), exit_text(program, status),
                  program->command);
    }
    table_print(&table, out, &options->style, 2);
    print_more(out, rows, report->programs);
    table_release(&table);
}

static void print_flows(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct fabric *fabric = report->fabric;
    uint32_t rows = rows_of(options, report->program_flows);
    struct table table;

    if (report->program_flows == 0) return;
    fputs("\nQUEUE PAIRS (of programs)\n", out);
    TABLE_BEGIN(&table, LEFT("from"), LEFT("to"), RIGHT("QP"), RIGHT("messages"), RIGHT("bytes"),
                RIGHT("first post", .drop = 1), RIGHT("last done", .drop = 2), RIGHT("goodput"), LEFT(""));
    for (uint32_t i = 0; i < rows; i++) {
        const struct up_flow_result *flow = &report->program_flow[i];
        char from[FABRIC_NAME], to[FABRIC_NAME] = "datagrams", qpn[TEXT_COUNT], messages[TEXT_COUNT], bytes[TEXT_COUNT],
                                first[TEXT_COUNT], last[TEXT_COUNT], rate[UNIT_TEXT] = "-", failed[CELL] = "";
        fabric_port_name(fabric, fabric->endpoint[flow->endpoint].port, from);
        if (flow->peer != UINT32_MAX) fabric_port_name(fabric, fabric->endpoint[flow->peer].port, to);
        snprintf(qpn, sizeof qpn, "%u", flow->qpn);
        if (flow->goodput_bps) unit_format_short(UNIT_RATE, flow->goodput_bps, 3, rate);
        if (flow->failed) snprintf(failed, sizeof failed, "%llu failed", (unsigned long long)flow->failed);
        TABLE_ROW(&table, from, to, qpn, text_count(flow->messages, messages), text_bytes(flow->bytes, bytes),
                  when(flow->first, first), when(flow->last, last), rate, failed);
    }
    table_print(&table, out, &options->style, 2);
    print_more(out, rows, report->program_flows);
    table_release(&table);
}

static uint64_t lost_frames(const struct up_port_counts *counts)
{
    return counts->late + counts->full + counts->refused + counts->unknown + counts->wrong;
}

static void print_ports(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct fabric *fabric = report->fabric;
    struct table table;

    if (report->foreign_ports == 0) return;
    fputs("\nINTERFACES\n", out);
    TABLE_BEGIN(&table, LEFT("host"), LEFT("interface"), RIGHT("frames in"), RIGHT("bytes"), RIGHT("out"),
                RIGHT("bytes"), RIGHT("pauses in", .drop = 2), RIGHT("out", .drop = 2), RIGHT("lost"),
                RIGHT("not carried", .drop = 1));
    for (uint32_t i = 0; i < report->foreign_ports; i++) {
        const struct up_port_result *port = &report->foreign_port[i];
        const struct up_port_counts *counts = &port->counts;
        char name[FABRIC_NAME], text[8][TEXT_COUNT];
        TABLE_ROW(&table, sim_endpoint_name(fabric, port->endpoint, name), port->interface,
                  text_count(counts->in_frames, text[0]), text_bytes(counts->in_bytes, text[1]),
                  text_count(counts->out_frames, text[2]), text_bytes(counts->out_bytes, text[3]),
                  text_count(counts->in_pauses, text[4]), text_count(counts->out_pauses, text[5]),
                  text_count(lost_frames(counts), text[6]), text_count(counts->not_carried, text[7]));
    }
    table_end(&table, out, &options->style, 2);
}

void sim_text_programs(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    if (report->program == NULL) return;
    if (report->programs || report->foreign_ports == 0) print_programs(out, report, options);
    print_ports(out, report, options);
    if (!options->quiet) print_flows(out, report, options);
}

static void json_words(struct jout *jout, const char *key, const struct up_program *program)
{
    jout_open_line(jout, key, '[');
    for (unsigned i = 0; program->word && program->word[i]; i++)
        jout_text(jout, NULL, program->word[i]);
    if (program->word == NULL) jout_text(jout, NULL, program->command);
    jout_close(jout);
}

static void json_program(struct jout *jout, const struct up_program *program)
{
    jout_open(jout, NULL, '{');
#include "report/rows/program.def"
    jout_close(jout);
}

static void json_flow(struct jout *jout, const struct fabric *fabric, const struct up_flow_result *flow)
{
    bool peer = flow->peer != UINT32_MAX;
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
#include "report/rows/program_pair.def"
    jout_close(jout);
}

static void json_port(struct jout *jout, const struct fabric *fabric, const struct up_port_result *port)
{
    const struct up_port_counts *counts = &port->counts;
    char name[FABRIC_NAME];

    jout_open(jout, NULL, '{');
#include "report/rows/interface.def"
    jout_close(jout);
}

void sim_json_programs(struct jout *jout, const struct sim_report *report)
{
    if (report->program == NULL) return;
    JOUT_LIST(jout, "programs", i, report->programs, json_program(jout, &report->program[i]));
    JOUT_LIST(jout, "queue_pairs", i, report->program_flows, json_flow(jout, report->fabric, &report->program_flow[i]));
    if (report->foreign_ports == 0) return;
    JOUT_LIST(jout, "interfaces", i, report->foreign_ports, json_port(jout, report->fabric, &report->foreign_port[i]));
}
