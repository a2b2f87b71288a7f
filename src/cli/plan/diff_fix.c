/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that bring drifted devices back (config/fix.h): on standard output, each device under its name, or a file a
 * device.  Nothing is written before the commands of all devices are made.
 *
 * What runs must have come from configurations: the text says what is there.  A drift that no command can mend (a
 * cable, a port that is not there) is said on standard error.
 */
#include "cli/plan/diff_fix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plan/config.h"
#include "cli/plan/diff_mend.h"
#include "config/fix.h"
#include "fabric/fabric.h"

struct fixing {
    const struct diff_list *list;
    const char *device;
    uint32_t approved, running; /* nodes */
    const struct config_format *format;
    unsigned families;
};

static const struct config_format *format_of(const struct config_set *set, uint32_t device)
{
    return set->device[device].nos ? config_format_find(set->device[device].nos) : NULL;
}

static const struct config_format *commands_of(const struct config_format *format)
{
    return format->commands ? format->commands : format;
}

/* A node as its system's configuration; to be freed, NULL after a message. */
static char *emitted(const struct fixing *fixing, const struct fabric *fabric, uint32_t node)
{
    const struct config_format *format = commands_of(fixing->format);
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    struct config_emit emit = {.fabric = fabric, .node = node, .to = to};
    int result = format->emit(&emit);
    fclose(to);
    if (result == 0) return text;
    cli_error("%s: %s", fixing->device, strerror(-result));
    free(text);
    return NULL;
}

/* The approved fabric with the ports of this device called as they run.  *ret_names is to be freed. */
static void with_running_names(const struct fixing *fixing, struct fabric *ret, const char ***ret_names)
{
    const struct fabric *one = fixing->list->approved->fabric, *two = fixing->list->running->fabric;
    const struct fabric_node *node = &one->node[fixing->approved];
    bool by_number = diff_by_number(one, two, fixing->approved, fixing->running);
    const char **name = calloc(one->ports + 1u, sizeof(*name));

    for (uint32_t p = 0; p < one->ports; p++) {
        bool own = p >= node->first_port && p < node->first_port + node->ports;
        uint32_t same = own ? diff_same_port(one, two, fixing->running, p, by_number) : FABRIC_NONE;
        name[p] = one->operations.port_name ? one->operations.port_name[p] : NULL;
        if (same != FABRIC_NONE && two->operations.port_name && two->operations.port_name[same])
            name[p] = two->operations.port_name[same];
    }
    *ret = *one;
    ret->operations.port_name = name;
    *ret_names = name;
}

/* Names that the running text or the approved file gives ports go into what root runs. */
static bool good_names(const struct diff_list *list, const char *device)
{
    struct fixing fixing = {.list = list,
                            .device = device,
                            .approved = fabric_find_node(list->approved->fabric, device),
                            .running = fabric_find_node(list->running->fabric, device)};
    const char **names = NULL;
    struct fabric wanted;

    if (fixing.approved == FABRIC_NONE || fixing.running == FABRIC_NONE) return true;
    with_running_names(&fixing, &wanted, &names);
    bool good = config_good_names(&wanted, fixing.approved);
    free(names);
    return good;
}

/* 0 or a negative error number. */
static int write_commands(const struct fixing *fixing, const char *path, struct fix *fix, FILE *out)
{
    char *text = NULL;
    size_t length = 0;

    fix->to = open_memstream(&text, &length);
    int result = diff_mend(fixing->list, fixing->device, path, fix);
    if (result == -ENOENT) result = fix->format->fix(fix);
    fclose(fix->to);
    if (result == 0) text_outside_lines(out, &(struct text_style){.utf8 = true}, text); /* commands quote what runs */
    free(text);
    return result;
}

static void tell_refused(const struct fixing *fixing, const char *path, int result, const struct fix_refused *refused)
{
    if (result != -EINVAL)
        cli_error("%s: %s", fixing->device, strerror(-result));
    else if (!refused->message[0])
        cli_error("%s: %s: not read as a configuration of %s", fixing->device, path, fixing->format->name);
    else if (refused->line)
        cli_error("%s:%u: %s: %s", path, refused->line, fixing->device, refused->message);
    else
        cli_error("%s: %s", fixing->device, refused->message);
}

static bool write_one(const struct fixing *fixing, FILE *out)
{
    const struct cli_source *running = fixing->list->running;
    const struct config_set *set = &running->set;
    uint32_t device = config_device_find(set, fixing->device);
    const char **names = NULL;
    struct fabric wanted;

    with_running_names(fixing, &wanted, &names);
    char *approved = emitted(fixing, &wanted, fixing->approved);
    char *seen = approved ? emitted(fixing, running->fabric, fixing->running) : NULL, *text = NULL;
    size_t length = 0;
    bool good = seen && cli_read_file(set->path[set->device[device].at.source], CONFIG_TEXT_MAX_BYTES, &text, &length);
    struct fix_refused refused = {0};
    struct fix fix = {fixing->format, approved, seen, text, fixing->families, NULL, &refused};
    int result = good ? write_commands(fixing, set->path[set->device[device].at.source], &fix, out) : 0;

    if (result != 0) tell_refused(fixing, set->path[set->device[device].at.source], result, &refused);
    free(names);
    free(approved);
    free(seen);
    free(text);
    return good && result == 0;
}

/* In a comment of its system, if what is written has room for one. */
static void print_title(const struct fixing *fixing, FILE *out)
{
    if (fixing->format->fix_document)
        fprintf(stderr, "rocelab: %s: load it %s\n", fixing->device, fixing->format->fix_how);
    else
        fprintf(out, "%s %s: %s\n", commands_of(fixing->format) != fixing->format ? "#" : fixing->format->comment,
                fixing->device, fixing->format->fix_how);
}

/* What a command of the device can mend. */
static unsigned families_of(const struct diff_list *list, const char *device, uint32_t *ret_others)
{
    unsigned families = 0;

    for (uint32_t d = 0; d < list->count; d++) {
        const struct drift *drift = &list->drift[d];
        if (strcmp(drift->device, device) != 0) continue;
        bool hands =
            strcmp(drift->key, "ports") == 0 || strcmp(drift->key, "devices") == 0 || strcmp(drift->key, "peer") == 0;
        *ret_others += hands;
        if (!hands) families |= fix_family(drift->key);
    }
    return families;
}

/* The commands of one device; without text if there are none.  On standard output they have a title. */
static bool make_file(const struct fixing *fixing, bool titled, struct config_file *ret)
{
    *ret =
        (struct config_file){.device = fixing->device, .node = fixing->approved, .format = commands_of(fixing->format)};
    FILE *to = open_memstream(&ret->text, &ret->length);

    if (titled) print_title(fixing, to);
    bool good = write_one(fixing, to);
    fclose(to);
    return good;
}

static bool fix_device(const struct diff_list *list, const char *device, bool titled, struct config_file *ret)
{
    const struct config_set *set = &list->running->set;
    uint32_t d = config_device_find(set, device), others = 0;
    struct fixing fixing = {.list = list,
                            .device = device,
                            .approved = fabric_find_node(list->approved->fabric, device),
                            .running = fabric_find_node(list->running->fabric, device),
                            .families = families_of(list, device, &others)};

    if (others)
        cli_error("%s: %u difference%s of cabling, which commands do not mend", device, others, text_plural(others));
    if (!fixing.families || d == CONFIG_NONE || fixing.approved == FABRIC_NONE || fixing.running == FABRIC_NONE)
        return true;
    fixing.format = format_of(set, d);
    if (!fixing.format || !fixing.format->fix) {
        char names[CONFIG_NAMES];
        return cli_fail("%s: commands are written for %s, not for %s", device,
                        config_format_names(CONFIG_FIXED, "and", names),
                        fixing.format ? fixing.format->name : "a device without a configuration");
    }
    return make_file(&fixing, titled, ret);
}

/* Is this the first drift of its device? */
static bool first_of_device(const struct diff_list *list, uint32_t drift)
{
    for (uint32_t before = drift; before-- > 0;)
        if (list->drift[before].device == list->drift[drift].device ||
            strcmp(list->drift[before].device, list->drift[drift].device) == 0)
            return false;
    return true;
}

/* Two documents after each other are none. */
static bool no_document_of_several(const struct diff_list *list)
{
    const struct config_set *set = &list->running->set;
    const struct config_format *document = NULL;
    uint32_t devices = 0;

    for (uint32_t d = 0; d < list->count; d++) {
        uint32_t device = config_device_find(set, list->drift[d].device);
        if (!first_of_device(list, d)) continue;
        const struct config_format *format = device == CONFIG_NONE ? NULL : format_of(set, device);
        devices++;
        if (format && format->fix_document) document = format;
    }
    if (!document || devices < 2) return true;
    return cli_fail("diff: --fix of %u devices, and what is for %s is a file of its own: give --out FOLDER", devices,
                    document->name);
}

/* Can commands be written for what runs, and to where they are wanted? */
static bool can_fix(const struct diff_list *list, bool into)
{
    for (uint32_t s = 0; list->running->imported && s < list->running->set.sources; s++) {
        if (strcmp(list->running->set.path[s], "-") != 0) continue;
        return cli_fail("diff: --fix needs RUNNING as a file, not standard input: it is read twice");
    }
    if (!list->running->imported)
        return cli_fail("diff: --fix writes commands for configurations; RUNNING is a fabric file");
    if (!into && !no_document_of_several(list)) return false;
    for (uint32_t d = 0; d < list->count; d++)
        if (first_of_device(list, d) && !good_names(list, list->drift[d].device)) return false;
    return true;
}

bool diff_fix(const struct diff_list *list, const char *into, bool quiet, FILE *out)
{
    if (!can_fix(list, into != NULL)) return false;
    struct config_file *file = calloc(list->count + 1u, sizeof *file);
    bool good = true;
    uint32_t count = 0;

    for (uint32_t d = 0; good && d < list->count; d++) {
        if (!first_of_device(list, d)) continue;
        good = fix_device(list, list->drift[d].device, !into, &file[count]);
        count += file[count].text != NULL;
    }
    if (good && into) good = config_save(into, file, count);
    for (uint32_t f = 0; good && !into && f < count; f++)
        fputs(file[f].text, out);
    if (good && into && !quiet) fprintf(out, "%u device%s: commands are in %s\n", count, text_plural(count), into);
    for (uint32_t f = 0; f < count; f++)
        free(file[f].text);
    free(file);
    return good;
}
