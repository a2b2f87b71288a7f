/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab config FABRIC: the fabric as configurations of its devices, as a cabling plan, as a bill of materials.
 *
 * The systems are src/config's.  Several devices go to files and never one after the other to standard output: most
 * systems have no way to say where one device's configuration ends.  Everything is made in memory first, and then as
 * files beside their places, so that nothing that fails leaves half of the fabric behind.
 */
#include "cli/plan/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/option.h"
#include "cli/source.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

struct settings {
    struct config_settings config;
};

static const struct cli_option options[] = {
#include "cli/plan/config_options.def"
};

static const struct cli_command command = {
    .verb = "config",
    .operands = "FABRIC",
    .about = "Prints a fabric as configurations: classes, PFC, ECN, buffers and watchdog of every switch, settings of "
             "every host; each block with the rule it satisfies.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab config pod.yaml --nos nxos --out configs\n"
            "  rocelab config pod.yaml --nos eos --device leaf0\n"
            "  rocelab config pod.yaml --cabling csv > cables.csv\n"
            "  rocelab config pod.yaml --svg > pod.svg\n"
            "\nSettings that a system cannot express are a warning, and a comment at the head of the configuration.\n"
            "Exit status: 0 written, 1 with --strict: a setting was left out, 2 wrong use,\n"
            "unreadable input, or a device that the system cannot have; then nothing is written.\n",
};

/* What system a node is of; NULL: none is said. */
static const struct config_format *format_of(const struct config_settings *settings, const struct fabric *fabric,
                                             uint32_t node)
{
    if (settings->nos) return settings->nos;
    if (node < fabric->hosts) return config_format_find("host");
    uint8_t nos = fabric->sw[node - fabric->hosts].nos;
    return nos == FABRIC_NOS_UNSAID ? NULL : config_format_find(fabric_nos_names[nos]);
}

bool config_good_names(const struct fabric *fabric, uint32_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._:-";
    const char *const *names = fabric->operations.port_name;
    const struct fabric_node *node = &fabric->node[n];

    for (uint32_t p = node->first_port; names && p < node->first_port + node->ports; p++) {
        const char *name = names[p];
        if (!name || (name[0] && name[0] != '-' && name[strspn(name, letters)] == 0)) continue;
        return cli_fail("'%s:%u' has the name '%s': not one of an interface (letters, digits and / . _ : - are)",
                        node->name, p - node->first_port, name);
    }
    return true;
}

static const char *name_of(const void *list, size_t index)
{
    return ((const struct fabric *)list)->node[index].name;
}

/* Configurations are of Ethernet switches, and settings of hosts those of RoCE. */
static bool written_for(const struct fabric *fabric, const struct config_format *format)
{
    const struct fabric_system_row *system = fabric_system(fabric);

    if (system->link == FABRIC_LINK_CREDITS)
        cli_error("config: %s configures Ethernet; this fabric is of %s, which has a subnet manager", format->name,
                  system->title);
    else if (format->host && system->endpoint != FABRIC_ENDPOINT_NIC)
        cli_error("config: settings of hosts are those of RoCE; this fabric is of %s", system->title);
    else
        return true;
    return false;
}

static bool choose(const struct config_settings *settings, const struct fabric *fabric, struct config_file *file,
                   uint32_t *ret_count)
{
    uint32_t only = settings->device ? fabric_find_node(fabric, settings->device) : FABRIC_NONE, count = 0;

    if (settings->device && only == FABRIC_NONE) {
        const char *near = cli_nearest(settings->device, name_of, fabric, fabric->nodes);
        return cli_fail("--device '%s': the fabric has no such device%s%s%s", settings->device, near ? "; is it '" : "",
                        near ? near : "", near ? "'?" : "");
    }
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const struct config_format *format = format_of(settings, fabric, n);
        if ((only != FABRIC_NONE && n != only) || fabric_node_unknown(fabric, n)) continue;
        if (format && format->host != (n < fabric->hosts)) {
            if (only == FABRIC_NONE) continue;
            return cli_fail("--nos %s is not for '%s', which is a %s", format->name, fabric->node[n].name,
                            n < fabric->hosts ? "host" : "switch");
        }
        if (!format || !format->emit) {
            if (only == FABRIC_NONE && n < fabric->hosts) continue;
            return cli_fail("'%s': of which system? Say --nos, or nos: in the fabric file", fabric->node[n].name);
        }
        if (!settings->nos && only == FABRIC_NONE && format->host &&
            fabric_system(fabric)->endpoint != FABRIC_ENDPOINT_NIC)
            continue; /* nobody asked for it */
        if (!written_for(fabric, format) || !config_good_names(fabric, n)) return false;
        file[count++] = (struct config_file){.device = fabric->node[n].name, .node = n, .format = format};
    }
    if (count == 0)
        cli_error("config: the fabric has no device for --nos %s", settings->nos ? settings->nos->name : "");
    *ret_count = count;
    return count > 0;
}

static bool make(const struct config_settings *settings, const struct fabric *fabric, struct config_file *file)
{
    bool json = strcmp(file->format->suffix, "json") == 0; /* with comments it is none */
    bool comments = !settings->plain && (!json || settings->comments);
    struct config_emit emit = {.fabric = fabric, .node = file->node, .comments = comments, .mixed = !settings->nos};

    emit.to = open_memstream(&file->text, &file->length);
    int result = file->format->emit(&emit);
    fclose(emit.to);
    if (result == 0) return true;
    return cli_fail("'%s' as %s: %s", file->device, file->format->name,
                    result == -EINVAL ? "it has no ports" : strerror(-result));
}

bool config_make(const struct config_settings *settings, const struct fabric *fabric, struct config_file *file,
                 uint32_t *ret_count)
{
    bool good = choose(settings, fabric, file, ret_count);

    for (uint32_t f = 0; good && f < *ret_count; f++)
        good = make(settings, fabric, &file[f]);
    return good;
}

static void print_json(const struct fabric *fabric, const struct config_file *file, uint32_t count, FILE *out)
{
    struct jout *jout = jout_begin(out, "config");

    jout_open(jout, "devices", '[');
    for (uint32_t f = 0; f < count; f++) {
        jout_open(jout, NULL, '{');
        jout_text(jout, "device", file[f].device);
        jout_text(jout, "nos", file[f].format->name);
        config_json_losses(jout, fabric, &file[f]);
        jout_text(jout, "text", file[f].text);
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}

static int print_configs(const struct config_settings *settings, const struct fabric *fabric, FILE *out)
{
    struct config_file *file = calloc(fabric->nodes, sizeof *file);
    uint32_t count = 0;
    unsigned warnings = 0;
    bool good = choose(settings, fabric, file, &count);

    if (good && count > 1 && !settings->out && !settings->common.json) {
        cli_error("config: %u devices; say which one with --device, or where to with --out", count);
        good = false;
    }
    for (uint32_t f = 0; good && f < count; f++)
        good = make(settings, fabric, &file[f]);
    if (good && settings->out) good = config_save(settings->out, file, count);
    if (good) warnings = config_warn(fabric, file, count, settings->common.quiet);
    if (good && settings->common.json)
        print_json(fabric, file, count, out);
    else if (good && !settings->out)
        fwrite(file->text, 1, file->length, out);
    for (uint32_t f = 0; f < count; f++)
        free(file[f].text);
    free(file);
    return !good ? CLI_WRONG : warnings && settings->common.strict ? CLI_PROBLEMS : CLI_DONE;
}

int verb_config(int argc, char **argv, FILE *out)
{
    struct settings settings = {.config.plan = CONFIG_PLAN_NONE};
    struct cli_source source = {0};
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.config.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (argc - first != 1) return cli_wrong("config: which file? One FABRIC is needed; see 'rocelab help config'");
    struct cli_inputs inputs = {.path = argv + first, .paths = 1};
    if (!cli_source_load(&source, &inputs))
        answer = CLI_WRONG;
    else if (settings.config.plan != CONFIG_PLAN_NONE)
        answer = config_print_plan(&settings.config, source.fabric, out);
    else
        answer = print_configs(&settings.config, source.fabric, out);
    cli_source_release(&source);
    return answer;
}
