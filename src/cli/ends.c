/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports in use whose other end nothing names.  Rules about both ends of a link leave them out, and a fabric of which
 * that was not told would look better than it is.
 */
#include "cli/ends.h"

#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "cli/cli.h"
#include "config/ends.h"
#include "report/fold.h"

#define DEVICES_NAMED 4

/* Rules that compare the ends of a link, or follow links through the fabric. */
static const char *const rules[] = {"PFC001", "PFC002", "HR002",  "MTU001", "TOP001",
                                    "TOP002", "TOP005", "TOP006", "HOST006"};
#define RULES (sizeof rules / sizeof rules[0])

static uint32_t unknown_of(const struct config_set *set, uint32_t device)
{
    uint32_t count = 0;

    for (uint32_t p = 0; p < set->device[device].ports; p++)
        count += ends_unknown(set, device, p);
    return count;
}

static void print_ports(const struct config_set *set, uint32_t device, uint32_t count, FILE *out)
{
    const struct text_style style = cli_style();
    const char **name = malloc(count * sizeof(*name));
    uint32_t names = 0;

    for (uint32_t p = 0; name && p < set->device[device].ports; p++)
        if (ends_unknown(set, device, p)) name[names++] = set->device[device].port[p].name;
    text_outside(out, &style, set->device[device].name);
    fputc(' ', out);
    fold_names(out, &style, name, names);
    free(name);
}

bool cli_ends_text(const struct config_set *set, const char *then, FILE *out)
{
    uint32_t ports = 0, devices = 0;

    for (uint32_t d = 0; set && d < set->devices; d++) {
        uint32_t count = unknown_of(set, d);
        ports += count;
        devices += count > 0;
    }
    if (!ports) return false;
    fprintf(out, "%u port%s %s no known other end among the devices given (", ports, text_plural(ports),
            ports == 1 ? "has" : "have");
    for (uint32_t d = 0, named = 0; d < set->devices && named < DEVICES_NAMED; d++) {
        uint32_t count = unknown_of(set, d);
        if (!count) continue;
        if (named++) fputs("; ", out);
        print_ports(set, d, count, out);
    }
    if (devices > DEVICES_NAMED) fprintf(out, "; and %u more devices", devices - DEVICES_NAMED);
    if (then)
        fprintf(out, "): %s; --links or --facts names them\n", then);
    else
        fprintf(out, "): %zu rules about links are not applied there; --links or --facts names them\n", RULES);
    return true;
}

void cli_ends_json(struct jout *jout, const struct config_set *set)
{
    if (!set) return;
    jout_open(jout, "unknown_ends", '{');
    JOUT_LIST_LINE(jout, "rules", r, RULES, jout_text(jout, NULL, rules[r]));
    jout_open(jout, "ports", '[');
    for (uint32_t d = 0; d < set->devices; d++) {
        for (uint32_t p = 0; p < set->device[d].ports; p++) {
            if (!ends_unknown(set, d, p)) continue;
            jout_open_line(jout, NULL, '{');
            jout_text(jout, "device", set->device[d].name);
            jout_text(jout, "port", set->device[d].port[p].name);
            jout_close(jout);
        }
    }
    jout_close(jout);
    jout_close(jout);
}
