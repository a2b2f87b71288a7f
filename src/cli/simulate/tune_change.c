/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to change, as files: the fabric file with the tuned values, configurations of its devices as they are and as
 * tuned, and the lines in which the two differ.
 *
 * Configurations are those of `rocelab config`.  Both are written by the same emitter in the same order, so lines that
 * differ are what the change is; where a device has more lines than before they are matched from both ends.
 */
#include "cli/simulate/tune_change.h"

#include <stdlib.h>
#include <string.h>

#include "cli/plan/config.h"
#include "cli/simulate/study.h"
#include "fabric/fabric.h"
#include "fabric/file/write.h"
#include "fabric/switches.h"

#define PATH_BYTES 4096

struct change {
    const struct tune *tune;
    const struct tune_point *answer;
    char folder[PATH_BYTES]; /* of the file */
    struct config_file *present, *tuned;
    uint32_t count;
};

static bool write_yaml(const void *context, FILE *to)
{
    const struct change *change = context;
    struct fabric_errors errors = {0};
    struct tune_overrides *with = malloc(sizeof *with);

    tune_overrides(change->tune, change->answer, with);
    fprintf(to, "# Written by rocelab tune%s\n", with->count ? "; values changed:" : ": nothing is to be changed.");
    for (uint32_t i = 0; i < with->count; i++)
        fprintf(to, "#   %s: %s\n", with->path[i], with->value[i]);
    bool good = fabric_write_with(change->tune->text, with->override, with->count,
                                  change->folder[0] ? change->folder : NULL, to, &errors) == 0;
    free(with);
    return good;
}

/* Where the file is, for names in it; "" where that is not known. */
static void folder_of(const char *path, char ret[PATH_BYTES])
{
    char *whole = realpath(path, NULL), *slash = whole ? strrchr(whole, '/') : NULL;

    ret[0] = '\0';
    if (slash && slash != whole) snprintf(ret, PATH_BYTES, "%.*s", (int)(slash - whole), whole);
    free(whole);
}

static size_t line_length(const char *at)
{
    return strcspn(at, "\n");
}

static bool same_line(const char *a, const char *b)
{
    size_t length = line_length(a);
    return length == line_length(b) && memcmp(a, b, length) == 0;
}

static uint32_t split(const char *text, const char ***ret)
{
    uint32_t lines = 0, room = 1;

    for (const char *at = text; *at; at++)
        room += *at == '\n';
    const char **line = calloc(room + 1u, sizeof *line);
    for (const char *at = text; line && *at; at += line_length(at) + (at[line_length(at)] == '\n'))
        line[lines++] = at;
    *ret = line;
    return lines;
}

static void print_line(FILE *to, char sign, const char *line)
{
    fprintf(to, "%c%.*s\n", sign, (int)line_length(line), line);
}

/* Lines of one device that differ; true: there are some. */
static bool print_device(const struct config_file *present, const struct config_file *tuned, FILE *to)
{
    const char **a = NULL, **b = NULL;
    uint32_t as = split(present->text, &a), bs = split(tuned->text, &b), first = 0, last = 0;

    while (a && b && first < as && first < bs && same_line(a[first], b[first]))
        first++;
    while (a && b && last < as - first && last < bs - first && same_line(a[as - 1 - last], b[bs - 1 - last]))
        last++;
    bool differs = first < as - last || first < bs - last;
    if (differs)
        fprintf(to, "--- present/%s.%s\n+++ tuned/%s.%s\n", present->device, present->format->suffix, tuned->device,
                tuned->format->suffix);
    if (as == bs) {
        for (uint32_t i = first; i < as - last; i++) {
            if (same_line(a[i], b[i])) continue;
            fprintf(to, "@@ line %u @@\n", i + 1);
            print_line(to, '-', a[i]);
            print_line(to, '+', b[i]);
        }
    } else if (differs) {
        fprintf(to, "@@ line %u @@\n", first + 1);
        for (uint32_t i = first; i < as - last; i++)
            print_line(to, '-', a[i]);
        for (uint32_t i = first; i < bs - last; i++)
            print_line(to, '+', b[i]);
    }
    free(a);
    free(b);
    return differs;
}

static bool write_diff(const void *context, FILE *to)
{
    const struct change *change = context;

    for (uint32_t f = 0; f < change->count; f++)
        print_device(&change->present[f], &change->tuned[f], to);
    return true;
}

/* The system of every switch is known, and it configures Ethernet. */
static bool configures(const struct tune *tune)
{
    const struct fabric *fabric = tune->fabric;
    bool all = fabric->switches > 0;

    for (uint32_t s = 0; s < fabric->switches; s++)
        all &= fabric->sw[s].nos != FABRIC_NOS_UNSAID;
    return fabric_system(fabric)->link == FABRIC_LINK_PFC && (tune->nos != NULL || all);
}

/* Switches by --nos or as the file says, then hosts, of one fabric. */
static bool make_configs(const struct tune *tune, const struct fabric *fabric, struct config_file *file,
                         uint32_t *ret_count)
{
    struct config_settings settings = {.nos = tune->nos, .plan = CONFIG_PLAN_NONE};
    uint32_t count = 0, more = 0;

    if (!config_make(&settings, fabric, file, &count)) return false;
    bool hosts = tune->nos && !tune->nos->host && fabric_system(fabric)->endpoint == FABRIC_ENDPOINT_NIC;
    settings.nos = hosts ? config_format_find("host") : NULL;
    bool good = settings.nos == NULL || config_make(&settings, fabric, file + count, &more);
    *ret_count = count + more;
    return good;
}

static bool write_configs(struct change *change, const char *folder)
{
    const struct tune *tune = change->tune;
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    char path[PATH_BYTES];
    uint32_t tuned = 0;

    if (tune_load(tune, change->answer, &fabric, &errors) != 0) return false;
    change->present = calloc(fabric->nodes + 1u, sizeof *change->present);
    change->tuned = calloc(fabric->nodes + 1u, sizeof *change->tuned);
    bool good = change->present && change->tuned && make_configs(tune, tune->fabric, change->present, &change->count) &&
                make_configs(tune, fabric, change->tuned, &tuned) && tuned == change->count;
    snprintf(path, sizeof path, "%s/present", folder);
    good = good && config_save(path, change->present, change->count);
    snprintf(path, sizeof path, "%s/tuned", folder);
    good = good && config_save(path, change->tuned, change->count);
    good = good && cli_write_in(folder, "change.diff", write_diff, change);
    for (uint32_t f = 0; f < fabric->nodes; f++) {
        if (change->present) free(change->present[f].text);
        if (change->tuned) free(change->tuned[f].text);
    }
    free(change->present);
    free(change->tuned);
    fabric_free(fabric);
    return good;
}

bool tune_change_write(const struct tune *tune, const char *folder, bool *ret_configs)
{
    struct change change = {.tune = tune, .answer = tune->point[tune->helps ? tune->answer : 0]};

    folder_of(tune->path, change.folder);
    *ret_configs = configures(tune);
    return cli_write_in(folder, "tuned.yaml", write_yaml, &change) && (!*ret_configs || write_configs(&change, folder));
}
