/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rocelab config --cabling` and `--bom`: the lists of src/config as CSV, as a table, as JSON.
 */
#include "cli/plan/config.h"

#include <string.h>

#include "cli/plan/bom_print.h"
#include "config/cabling.h"
#include "config/drawing/drawing.h"
#include "report/rows/rows.h"
#include "report/table.h"

/* As RFC 4180 has it: what holds a comma, a quote or a line's end is quoted, and a quote is doubled. */
static void csv_cell(FILE *to, const char *text, char end)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fprintf(to, "%s%c", text, end);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"') fputc('"', to);
        fputc(*text, to);
    }
    fprintf(to, "\"%c", end);
}

static void csv_row(void *to, const struct cabling_row *row)
{
    csv_cell(to, row->rail, ',');
    csv_cell(to, row->nic, ',');
    csv_cell(to, row->leaf, ',');
    csv_cell(to, row->port, ',');
    csv_cell(to, row->rate, ',');
    csv_cell(to, row->length, '\n');
}

static void table_cable(void *to, const struct cabling_row *row)
{
    TABLE_ROW(to, row->rail, row->nic, row->leaf, row->port, row->rate, row->length);
}

static void json_cable(void *to, const struct cabling_row *row)
{
    struct jout *jout = to;

    jout_open_line(jout, NULL, '{');
#include "report/rows/cable.def"
    jout_close(jout);
}

static int print_bom(const struct config_settings *settings, const struct fabric *fabric, FILE *out)
{
    struct bom bom;
    int result = bom_make(fabric, &bom);

    if (result != 0) return cli_wrong("config: %s", strerror(-result));
    if (settings->common.json) {
        struct jout *jout = jout_begin(out, "bom");
        bom_json(jout, fabric, &bom);
        jout_end(jout);
    } else {
        bom_text(fabric, &bom, out);
    }
    bom_release(&bom);
    return CLI_DONE;
}

static int print_svg(const struct config_settings *settings, const struct fabric *fabric, FILE *out)
{
    struct drawing drawing;

    if (settings->common.json || settings->device || settings->out)
        return cli_wrong("config: --svg draws the whole fabric on standard output, and takes no --%s",
                         settings->common.json ? "json"
                         : settings->device    ? "device"
                                               : "out");
    drawing_make(fabric, &drawing);
    drawing_svg(&drawing, out);
    drawing_release(&drawing);
    return CLI_DONE;
}

int config_print_plan(const struct config_settings *settings, const struct fabric *fabric, FILE *out)
{
    const struct text_style style = cli_style();
    char copper[BOM_COPPER_TEXT];

    if (settings->plan == CONFIG_PLAN_SVG) return print_svg(settings, fabric, out);
    if (settings->plan == CONFIG_PLAN_BOM) return print_bom(settings, fabric, out);
    if (!settings->common.quiet && bom_copper_text(fabric, copper)) cli_error("note: %s", copper);
    if (settings->common.json) {
        struct jout *jout = jout_begin(out, "cabling");
        jout_open(jout, "cables", '[');
        cabling_each(fabric, settings->nos, json_cable, jout);
        jout_close(jout);
        jout_end(jout);
    } else if (settings->plan == CONFIG_PLAN_CSV) {
        fputs("rail,nic,leaf,port,rate,length\n", out);
        cabling_each(fabric, settings->nos, csv_row, out);
    } else {
        struct table table;
        TABLE_BEGIN(&table, RIGHT("rail"), LEFT("NIC"), LEFT("leaf"), LEFT("port"), RIGHT("rate"), RIGHT("length"));
        cabling_each(fabric, settings->nos, table_cable, &table);
        table_end(&table, out, &style, 0);
    }
    return CLI_DONE;
}
