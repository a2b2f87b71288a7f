/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab check` is given: a fabric file, or configurations of real systems, which are imported into one.
 *
 * An imported fabric's findings are told at the configuration's lines: the importer keeps a map of lines.
 */
#include "cli/judge/check.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define LEADING_LINES_MAX 65536 /* blank ones and comments before a file says what it is; a device may have no end */

bool check_is_fabric(const char *path)
{
    char line[512];
    bool is = false;
    FILE *from = strcmp(path, "-") == 0 ? NULL : fopen(path, "r");

    if (!from) return true; /* standard input is one; a file that cannot be opened is complained about later */
    for (uint32_t i = 0; i < LEADING_LINES_MAX && fgets(line, sizeof line, from); i++) {
        size_t blank = strspn(line, " \t\r\n\xef\xbb\xbf");
        if (!line[blank] || line[blank] == '#' || strncmp(line, "---", 3) == 0) continue;
        is = strncmp(line + blank, "rocelab:", 8) == 0;
        break;
    }
    fclose(from);
    return is;
}

/* Where the configuration says what this finding is about: an importer's paths have a class's priority for its name. */
static struct origin said_at(const struct check_input *input, const struct check_finding *finding)
{
    const struct fabric *fabric = input->check.fabric;
    const struct config_set *set = &input->source.set;
    char path[128];

    if (!finding->device || !finding->path) return (struct origin){0, 0};
    snprintf(path, sizeof path, "%s", finding->path);
    for (uint32_t c = 0; c < fabric->class_count && strncmp(finding->path, "classes.", 8) == 0; c++) {
        size_t length = strlen(fabric->classes[c].name);
        if (strncmp(finding->path + 8, fabric->classes[c].name, length) != 0) continue;
        if (finding->path[8 + length] && finding->path[8 + length] != '.') continue;
        snprintf(path, sizeof path, "classes.%u%s", fabric->classes[c].priority, finding->path + 8 + length);
    }
    return finding->own ? config_where_own(set, finding->device, finding->number, path)
                        : config_where(set, finding->device, finding->number, path);
}

/* Of a device that only a link speaks of, where it is cabled is known and nothing else. */
static bool is_about_nothing(const struct config_set *set, const struct check_finding *finding)
{
    const char *rule = check_rules[finding->rule].id;
    if (!finding->device && strcmp(rule, "MAP005") == 0) { /* of adapters, and none was read */
        for (uint32_t d = 0; d < set->devices; d++)
            if (set->device[d].host && set->device[d].nos) return false;
        return true;
    }
    uint32_t device = finding->device ? config_device_find(set, finding->device) : CONFIG_NONE;

    if (device == CONFIG_NONE || set->device[device].nos) return false;
    return strncmp(rule, "TOP", 3) != 0 && strcmp(rule, "HR002") != 0;
}

static void add_note(struct check *check, const struct config_set *set, const struct config_note *note)
{
    static const enum check_severity most[] = {
        [CONFIG_ERROR] = CHECK_ERROR, [CONFIG_WARNING] = CHECK_WARNING, [CONFIG_INFO] = CHECK_INFO};
    char text[700];

    snprintf(text, sizeof text, "%s%s%s%s%s", note->port && note->device ? note->device : "", note->port ? " " : "",
             note->port ? note->port : "", note->port ? ": " : "", note->message);
    check_note(check, note->rule, set->path[note->at.source], note->at.line, 1, note->device, note->port, note->number,
               most[note->most], text);
}

/* Before the rules run: importers' notes become findings; what was not read, and what nothing uses, is left out. */
static void bring_in(struct check *check, const struct config_set *set)
{
    check->imported = true;
    check->cnp_dscp = set->cnp_dscp;
    for (uint32_t u = 0; u < set->unjudgeds; u++)
        check_unjudge(check, set->unjudged[u].rule, set->device[set->unjudged[u].device].name, set->unjudged[u].port);
    for (uint32_t d = 0; d < set->devices; d++)
        for (uint32_t p = 0; p < set->device[d].ports; p++)
            if (set->device[d].port[p].idle) check_set_idle(check, set->device[d].name, p);
    for (uint32_t d = 0; d < set->devices; d++)
        for (uint32_t p = 0; p < set->device[d].ports; p++)
            if (set->device[d].port[p].toward)
                check_set_kind(check, set->device[d].name, p, set->device[d].port[p].toward);
    for (uint32_t n = 0; n < set->notes; n++)
        if (set->note[n].rule) add_note(check, set, &set->note[n]);
}

/* The port as its system calls it. */
static const char *port_name(const struct config_set *set, const struct check_finding *finding)
{
    uint32_t device = finding->device ? config_device_find(set, finding->device) : CONFIG_NONE;

    if (device == CONFIG_NONE || finding->number >= set->device[device].ports) return finding->port;
    const char *name = set->device[device].port[finding->number].name;
    return name[0] ? name : finding->port;
}

static bool is_host_text(const struct config_set *set, const char *path)
{
    for (uint32_t d = 0; path && d < set->devices; d++)
        if (set->device[d].host && set->device[d].at.source < set->sources &&
            strcmp(set->path[set->device[d].at.source], path) == 0)
            return true;
    return false;
}

/* Of a switch's port what only the text of the host at its other end says, a link's rate or cable, is told at the
 * port; of the whole device what a fabric file has no place for, at the line that names it.  Line 0: it has a place. */
static struct origin of_device(const struct config_set *set, const struct check_finding *finding,
                               const struct cli_place *place)
{
    uint32_t d = finding->device ? config_device_find(set, finding->device) : CONFIG_NONE;
    const struct config_device *device = d == CONFIG_NONE ? NULL : &set->device[d];

    if (device && device->nos && !device->host && finding->number < device->ports && is_host_text(set, place->path))
        return device->port[finding->number].at;
    return device && device->nos && !place->line ? device->at : (struct origin){CONFIG_NONE, 0};
}

/* Places of the imported file become the configurations', and ports are called by their names there. */
static void go_back(struct check_input *input)
{
    struct check *check = &input->check;
    const struct config_set *set = &input->source.set;

    uint32_t kept = 0;
    for (uint32_t f = 0; f < check->findings; f++)
        if (check->finding[f].noted || !is_about_nothing(set, &check->finding[f]))
            check->finding[kept++] = check->finding[f];
    check->findings = kept;
    for (uint32_t f = 0; f < check->findings; f++) {
        struct check_finding *finding = &check->finding[f];
        if (finding->noted) continue;
        struct fabric_at at = {finding->line, finding->column};
        struct cli_place place = cli_source_place(&input->source, at);
        struct origin own = said_at(input, finding);
        if (!own.line) own = of_device(set, finding, &place);
        if (own.line && own.source < set->sources) place = (struct cli_place){set->path[own.source], own.line, 0};
        finding->file = place.path;
        finding->line = place.line;
        finding->column = place.column ? place.column : 1;
        finding->port = port_name(set, finding);
    }
    check_leave_out_known(check); /* a baseline has ports by these names */
    check_sort(check);
}

/* Rules that nobody wants to hear of. */
static void leave_out(struct check_input *input)
{
    struct check *check = &input->check;
    uint32_t kept = 0;

    for (uint32_t f = 0; f < check->findings; f++)
        if (check_choice_has(input->choice, check_rules[check->finding[f].rule].id))
            check->finding[kept++] = check->finding[f];
    check->findings = kept;
}

bool check_input_open(struct check_input *input, const struct cli_inputs *from, const struct check_options *options)
{
    if (!cli_source_load(&input->source, from)) return false;
    check_init(&input->check, input->source.fabric, input->source.places, options);
    if (input->source.imported) {
        bring_in(&input->check, &input->source.set);
        input->check.options.every = true; /* check_fold() puts together what is alike */
    }
    check_run(&input->check);
    if (input->source.imported) go_back(input);
    leave_out(input);
    check_fold(input, !input->source.imported || options->every);
    return true;
}

/* All configurations together are one thing; the first file's name would be that of an innocent. */
const char *check_subject(const struct check_input *input, char buf[CHECK_SUBJECT])
{
    const struct config_set *set = check_set(input);
    uint32_t devices = 0;

    for (uint32_t d = 0; set && d < set->devices; d++)
        devices += set->device[d].nos != NULL;
    if (devices < 2) return input->source.path;
    snprintf(buf, CHECK_SUBJECT, "%u devices", devices);
    return buf;
}

void check_input_close(struct check_input *input)
{
    check_release(&input->check);
    cli_source_release(&input->source);
}
