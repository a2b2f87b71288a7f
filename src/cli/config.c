/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab config FABRIC: the fabric as configurations of its devices, as a cabling plan, as a bill of materials.
 *
 * The systems are src/config's.  Several devices go to files and never one after the other to standard output: most
 * systems have no way to say where one device's configuration ends.  Everything is made in memory first, so that a
 * device that cannot be written leaves no half of the fabric behind.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "cli/source.h"
#include "config/cabling.h"
#include "config/config.h"
#include "report/json_out.h"
#include "report/table.h"

enum config_option {
    CONFIG_OPTIONS_BEGIN = CLI_OPTION_OWN - 1,
#define OPTION(id, name, argument, help) CONFIG_OPTION_##id,
#include "cli/config_options.def"
#undef OPTION
};

static const struct cli_option options[] = {
#define OPTION(id, name, argument, help) {CONFIG_OPTION_##id, name, argument, help},
#include "cli/config_options.def"
#undef OPTION
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

enum plan { PLAN_NONE, PLAN_CSV, PLAN_TABLE, PLAN_BOM };

struct settings {
    struct cli_common common;
    const struct config_format *nos;
    const char *device, *out;
    bool plain;
    enum plan plan;
};

struct file { /* a device's configuration */
    uint32_t node;
    const struct config_format *format;
    char *text;
    size_t length;
};

static bool set_option(void *into, int id, const char *argument)
{
    struct settings *settings = into;

    switch (id) {
    case CONFIG_OPTION_NOS:
        settings->nos = config_format_find(argument);
        if (settings->nos && settings->nos->emit) return true;
        cli_error("--nos '%s': nxos, eos, sonic, nvue or host", argument);
        return false;
    case CONFIG_OPTION_DEVICE:
        settings->device = argument;
        return true;
    case CONFIG_OPTION_OUT:
        settings->out = argument;
        return true;
    case CONFIG_OPTION_NO_COMMENTS:
        settings->plain = true;
        return true;
    case CONFIG_OPTION_BOM:
        settings->plan = PLAN_BOM;
        return true;
    case CONFIG_OPTION_CABLING:
        settings->plan = strcmp(argument, "csv") == 0     ? PLAN_CSV
                         : strcmp(argument, "table") == 0 ? PLAN_TABLE
                                                          : PLAN_NONE;
        if (settings->plan != PLAN_NONE) return true;
        cli_error("--cabling '%s': csv or table", argument);
        return false;
    default:
        CHECK(false);
    }
}

static void more_help(FILE *out)
{
    fputs("Examples:\n"
          "  rocelab config pod.yaml --nos nxos --out configs\n"
          "  rocelab config pod.yaml --nos eos --device leaf0\n"
          "  rocelab config pod.yaml --cabling csv > cables.csv\n"
          "\nExit status: 0 written, 2 wrong use, unreadable input, a device that the system cannot have.\n",
          out);
}

static const struct cli_command command = {
    .verb = "config",
    .operands = "FABRIC",
    .about = "Prints a fabric as configurations: classes, PFC, ECN, buffers and watchdog of every switch, settings of "
             "every host; each block with the rule it satisfies.",
    .option = options,
    .options = sizeof options / sizeof options[0],
    .more = more_help,
    .set = set_option,
};

static void csv_row(void *to, const struct cabling_row *row)
{
    fprintf(to, "%s,%s,%s,%s,%s,%s\n", row->rail, row->nic, row->leaf, row->port, row->rate, row->length);
}

static void table_cable(void *to, const struct cabling_row *row)
{
    const char *const cell[] = {row->rail, row->nic, row->leaf, row->port, row->rate, row->length};
    table_row(to, cell);
}

static void table_part(void *to, const struct bom_row *row)
{
    char number[24];
    const char *const cell[] = {row->part, row->what, number};

    snprintf(number, sizeof number, "%llu", (unsigned long long)row->count);
    table_row(to, cell);
}

static void json_cable(void *to, const struct cabling_row *row)
{
    jout_open_line(to, NULL, '{');
    jout_text(to, "rail", row->rail[0] ? row->rail : NULL);
    jout_text(to, "nic", row->nic);
    jout_text(to, "leaf", row->leaf);
    jout_text(to, "port", row->port);
    jout_text(to, "rate", row->rate);
    jout_text(to, "length", row->length);
    jout_bool(to, "length_known", row->length_known);
    jout_close(to);
}

static void json_part(void *to, const struct bom_row *row)
{
    jout_open_line(to, NULL, '{');
    jout_text(to, "part", row->part);
    jout_text(to, "what", row->what);
    jout_u64(to, "count", row->count);
    jout_close(to);
}

static void json_begin(struct jout *jout, FILE *out, const char *kind, const char *list)
{
    jout_init(jout, out);
    jout_open(jout, NULL, '{');
    jout_u64(jout, "version", 1);
    jout_text(jout, "kind", kind);
    jout_open(jout, list, '[');
}

static int print_plan(const struct settings *settings, const struct fabric *fabric, FILE *out)
{
    static const struct table_column cables[] = {{.title = "rail", .right = true},
                                                 {.title = "NIC"},
                                                 {.title = "leaf"},
                                                 {.title = "port"},
                                                 {.title = "rate", .right = true},
                                                 {.title = "length", .right = true}};
    static const struct table_column parts[] = {
        {.title = "part"}, {.title = "what"}, {.title = "count", .right = true}};
    bool bom = settings->plan == PLAN_BOM;
    const struct text_style style = cli_style();
    int result = 0;

    if (settings->common.json) {
        struct jout jout;
        json_begin(&jout, out, bom ? "bom" : "cabling", bom ? "parts" : "cables");
        if (bom)
            result = bom_each(fabric, json_part, &jout);
        else
            cabling_each(fabric, json_cable, &jout);
        jout_close(&jout);
        jout_close(&jout);
    } else if (settings->plan == PLAN_CSV) {
        fputs("rail,nic,leaf,port,rate,length\n", out);
        cabling_each(fabric, csv_row, out);
    } else {
        struct table table;
        table_init(&table, bom ? parts : cables, bom ? 3 : 6);
        if (bom)
            result = bom_each(fabric, table_part, &table);
        else
            cabling_each(fabric, table_cable, &table);
        table_print(&table, out, &style, 0);
        table_release(&table);
    }
    if (result != 0) cli_error("config: %s", strerror(-result));
    return result == 0 ? CLI_DONE : CLI_WRONG;
}

/* What system a node is of; NULL: none is said. */
static const struct config_format *format_of(const struct settings *settings, const struct fabric *fabric,
                                             uint32_t node)
{
    if (settings->nos) return settings->nos;
    if (node < fabric->hosts) return config_format_find("host");
    uint8_t nos = fabric->sw[node - fabric->hosts].nos;
    return nos == FABRIC_NOS_UNSAID ? NULL : config_format_find(fabric_nos_names[nos]);
}

static bool choose(const struct settings *settings, const struct fabric *fabric, struct file *file, uint32_t *ret_count)
{
    uint32_t only = settings->device ? fabric_find_node(fabric, settings->device) : FABRIC_NONE, count = 0;

    if (settings->device && only == FABRIC_NONE) {
        cli_error("--device '%s': the fabric has no such device", settings->device);
        return false;
    }
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const struct config_format *format = format_of(settings, fabric, n);
        if ((only != FABRIC_NONE && n != only) || fabric_node_unknown(fabric, n)) continue;
        if (format && format->host != (n < fabric->hosts)) {
            if (only == FABRIC_NONE) continue;
            cli_error("--nos %s is not for '%s', which is a %s", format->name, fabric->node[n].name,
                      n < fabric->hosts ? "host" : "switch");
            return false;
        }
        if (!format || !format->emit) {
            if (only == FABRIC_NONE && n < fabric->hosts) continue;
            cli_error("'%s': of which system? Say --nos, or nos: in the fabric file", fabric->node[n].name);
            return false;
        }
        file[count++] = (struct file){.node = n, .format = format};
    }
    if (count == 0)
        cli_error("config: the fabric has no device for --nos %s", settings->nos ? settings->nos->name : "");
    *ret_count = count;
    return count > 0;
}

static bool make(const struct settings *settings, const struct fabric *fabric, struct file *file)
{
    struct config_emit emit = {.fabric = fabric, .node = file->node, .comments = !settings->plain};

    emit.to = open_memstream(&file->text, &file->length);
    int result = emit.to ? file->format->emit(&emit) : -ENOMEM;
    if (emit.to && fclose(emit.to) != 0 && result == 0) result = -ENOMEM;
    if (result == 0) return true;
    cli_error("'%s' as %s: %s", fabric->node[file->node].name, file->format->name,
              result == -E2BIG ? "its ports differ in more ways than can be written" : strerror(-result));
    return false;
}

static bool save(const struct settings *settings, const struct fabric *fabric, const struct file *file)
{
    char path[4096];
    int length =
        snprintf(path, sizeof path, "%s/%s.%s", settings->out, fabric->node[file->node].name, file->format->suffix);
    FILE *to = length < (int)sizeof path ? fopen(path, "w") : NULL;

    if (!to) {
        cli_error("%s: %s", path, strerror(length < (int)sizeof path ? errno : ENAMETOOLONG));
        return false;
    }
    bool good = fwrite(file->text, 1, file->length, to) == file->length;
    if (fclose(to) != 0) good = false;
    if (!good) cli_error("%s: cannot be written", path);
    return good;
}

static bool hand_out(const struct settings *settings, const struct fabric *fabric, const struct file *file,
                     uint32_t count, FILE *out)
{
    if (settings->out) {
        if (mkdir(settings->out, 0777) != 0 && errno != EEXIST) {
            cli_error("%s: %s", settings->out, strerror(errno));
            return false;
        }
        for (uint32_t f = 0; f < count; f++)
            if (!save(settings, fabric, &file[f])) return false;
    }
    if (settings->common.json) {
        struct jout jout;
        json_begin(&jout, out, "config", "devices");
        for (uint32_t f = 0; f < count; f++) {
            jout_open(&jout, NULL, '{');
            jout_text(&jout, "device", fabric->node[file[f].node].name);
            jout_text(&jout, "nos", file[f].format->name);
            jout_text(&jout, "text", file[f].text);
            jout_close(&jout);
        }
        jout_close(&jout);
        jout_close(&jout);
    } else if (!settings->out) {
        fwrite(file->text, 1, file->length, out);
    }
    return true;
}

static int print_configs(const struct settings *settings, const struct fabric *fabric, FILE *out)
{
    struct file *file = calloc(fabric->nodes, sizeof *file);
    uint32_t count = 0;
    bool good = file && choose(settings, fabric, file, &count);

    if (!file) cli_error("not enough memory");
    if (good && count > 1 && !settings->out && !settings->common.json) {
        cli_error("config: %u devices; say which one with --device, or where to with --out", count);
        good = false;
    }
    for (uint32_t f = 0; good && f < count; f++)
        good = make(settings, fabric, &file[f]);
    if (good) good = hand_out(settings, fabric, file, count, out);
    for (uint32_t f = 0; f < count; f++)
        free(file[f].text);
    free(file);
    return good ? CLI_DONE : CLI_WRONG;
}

int verb_config(int argc, char **argv, FILE *out)
{
    struct settings settings = {.plan = PLAN_NONE};
    struct cli_source source = {0};
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (argc - first != 1) {
        cli_error("config: one FABRIC is due; see 'rocelab help config'");
        return CLI_WRONG;
    }
    struct cli_inputs inputs = {.path = argv + first, .paths = 1};
    if (!cli_source_load(&source, &inputs))
        answer = CLI_WRONG;
    else if (settings.plan != PLAN_NONE)
        answer = print_plan(&settings, source.fabric, out);
    else
        answer = print_configs(&settings, source.fabric, out);
    cli_source_release(&source);
    return answer;
}
