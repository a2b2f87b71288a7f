/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of a fabric that was up: how each ended, and its queue pairs as flows.
 */
#include <stdio.h>

#include "base/units.h"
#include "report/sim_report.h"
#include "report/table.h"

#define CELL 64
#define COLUMNS(columns) ((uint32_t)(sizeof(columns) / sizeof((columns)[0])))

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
    static const struct table_column columns[] = {{.title = "host"},
                                                  {.title = "start", .right = true},
                                                  {.title = "time", .right = true},
                                                  {.title = "exit", .right = true},
                                                  {.title = "program", .min_width = 16}};
    uint32_t rows = rows_of(options, report->programs);
    struct table table;

    fputs("\nPROGRAMS\n", out);
    table_init(&table, columns, COLUMNS(columns));
    for (uint32_t i = 0; i < rows; i++) {
        const struct up_program *program = &report->program[i];
        char start[TEXT_COUNT], time[TEXT_COUNT], status[CELL];
        ps_t lasted = program->end == PS_NEVER || program->start == PS_NEVER ? PS_NEVER : program->end - program->start;
        const char *cell[] = {program->host, when(program->start, start), when(lasted, time),
                              exit_text(program, status), program->command};
        table_row(&table, cell);
    }
    table_print(&table, out, &options->style, 2);
    print_more(out, rows, report->programs);
    table_release(&table);
}

static void print_flows(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    static const struct table_column columns[] = {{.title = "from"},
                                                  {.title = "to"},
                                                  {.title = "QP", .right = true},
                                                  {.title = "messages", .right = true},
                                                  {.title = "bytes", .right = true},
                                                  {.title = "first post", .right = true, .drop = 1},
                                                  {.title = "last done", .right = true, .drop = 2},
                                                  {.title = "goodput", .right = true},
                                                  {.title = ""}};
    const struct fabric *fabric = report->fabric;
    uint32_t rows = rows_of(options, report->program_flows);
    struct table table;

    if (report->program_flows == 0) return;
    fputs("\nQUEUE PAIRS (of programs)\n", out);
    table_init(&table, columns, COLUMNS(columns));
    for (uint32_t i = 0; i < rows; i++) {
        const struct up_flow_result *flow = &report->program_flow[i];
        char from[FABRIC_NAME], to[FABRIC_NAME] = "datagrams", qpn[TEXT_COUNT], messages[TEXT_COUNT], bytes[TEXT_COUNT],
                                first[TEXT_COUNT], last[TEXT_COUNT], rate[UNIT_TEXT] = "-", failed[CELL] = "";
        fabric_port_name(fabric, fabric->endpoint[flow->endpoint].port, from);
        if (flow->peer != UINT32_MAX) fabric_port_name(fabric, fabric->endpoint[flow->peer].port, to);
        snprintf(qpn, sizeof qpn, "%u", flow->qpn);
        if (flow->goodput_bps) unit_format_short(UNIT_RATE, flow->goodput_bps, 3, rate);
        if (flow->failed) snprintf(failed, sizeof failed, "%llu failed", (unsigned long long)flow->failed);
        const char *cell[] = {from,
                              to,
                              qpn,
                              text_count(flow->messages, messages),
                              text_bytes(flow->bytes, bytes),
                              when(flow->first, first),
                              when(flow->last, last),
                              rate,
                              failed};
        table_row(&table, cell);
    }
    table_print(&table, out, &options->style, 2);
    print_more(out, rows, report->program_flows);
    table_release(&table);
}

void sim_text_programs(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    if (report->program == NULL) return;
    print_programs(out, report, options);
    if (!options->quiet) print_flows(out, report, options);
}

static void json_program(struct jout *jout, const struct up_program *program)
{
    jout_open(jout, NULL, '{');
    jout_text(jout, "host", program->host);
    jout_open_line(jout, "argv", '[');
    for (unsigned i = 0; program->word && program->word[i]; i++)
        jout_text(jout, NULL, program->word[i]);
    if (program->word == NULL) jout_text(jout, NULL, program->command);
    jout_close(jout);
    if (program->exit >= 0)
        jout_u64(jout, "exit", (uint64_t)program->exit);
    else
        jout_null(jout, "exit");
    if (program->signal)
        jout_u64(jout, "signal", (uint64_t)program->signal);
    else
        jout_null(jout, "signal");
    jout_time(jout, "start_ps", program->start);
    jout_time(jout, "end_ps", program->end);
    jout_bool(jout, "attached", program->attached);
    jout_bool(jout, "late", program->late);
    jout_close(jout);
}

static void json_flow(struct jout *jout, const struct fabric *fabric, const struct up_flow_result *flow)
{
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
    jout_text(jout, "host", fabric_port_name(fabric, fabric->endpoint[flow->endpoint].port, name));
    if (flow->peer == UINT32_MAX) {
        jout_null(jout, "peer");
        jout_null(jout, "peer_qpn");
    } else {
        jout_text(jout, "peer", fabric_port_name(fabric, fabric->endpoint[flow->peer].port, name));
        jout_u64(jout, "peer_qpn", flow->remote_qpn);
    }
    jout_u64(jout, "qpn", flow->qpn);
    jout_text(jout, "program", flow->command);
    jout_u64(jout, "messages", flow->messages);
    jout_u64(jout, "bytes", flow->bytes);
    jout_u64(jout, "failed", flow->failed);
    jout_time(jout, "first_post_ps", flow->first);
    jout_time(jout, "last_completion_ps", flow->last);
    if (flow->goodput_bps)
        jout_u64(jout, "goodput_bps", flow->goodput_bps);
    else
        jout_null(jout, "goodput_bps");
    jout_close(jout);
}

void sim_json_programs(struct jout *jout, const struct sim_report *report)
{
    if (report->program == NULL) return;
    jout_open(jout, "programs", '[');
    for (uint32_t i = 0; i < report->programs; i++)
        json_program(jout, &report->program[i]);
    jout_close(jout);
    jout_open(jout, "queue_pairs", '[');
    for (uint32_t i = 0; i < report->program_flows; i++)
        json_flow(jout, report->fabric, &report->program_flow[i]);
    jout_close(jout);
}
