/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user of `rocelab config` should know of the configurations: what of the fabric they cannot say, and systems
 * that do not run on the chip.  Devices that have it in common are counted together.
 */
#include "cli/plan/config.h"

#include <string.h>

#include "config/unsupported.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

/* A loss of one system: how many devices have it, and where it is met first. */
static unsigned warn_loss(const struct fabric *fabric, const struct config_file *file, uint32_t count,
                          const struct config_format *format, enum config_unsupported loss, bool quiet)
{
    struct config_unsupported_list losses;
    uint32_t devices = 0, first = FABRIC_NONE;
    char port[FABRIC_NAME];

    for (uint32_t f = 0; f < count; f++) {
        if (file[f].format != format) continue;
        config_unsupported_list(format, fabric, file[f].node, &losses);
        if (!losses.ports[loss]) continue;
        if (!devices++) first = losses.first[loss];
    }
    if (!devices) return 0;
    fabric_port_name(fabric, first, port);
    if (!quiet)
        cli_error("warning: not written for %s: %s (%u device%s, the first port is %s): %s", format->name,
                  config_losses[loss].what, devices, devices == 1 ? "" : "s", port, config_losses[loss].instead);
    return 1;
}

static bool runs_on(const struct config_format *format, const char *model)
{
    if (!format->chips) return true;
    for (const char *chip = format->chips; *chip; chip += strcspn(chip, " "), chip += *chip == ' ')
        if (strncmp(model, chip, strcspn(chip, " ")) == 0) return true;
    return false;
}

static unsigned warn_chip(const struct fabric *fabric, const struct config_file *file, uint32_t count,
                          const struct config_format *format, bool quiet)
{
    uint32_t devices = 0;
    const char *model = NULL, *device = NULL;

    for (uint32_t f = 0; f < count; f++) {
        if (file[f].format != format || file[f].node < fabric->hosts) continue;
        const char *own = fabric->sw[file[f].node - fabric->hosts].model;
        if (runs_on(format, own)) continue;
        if (!devices++) {
            model = own;
            device = file[f].device;
        }
    }
    if (!devices) return 0;
    if (!quiet)
        cli_error("warning: %s does not run on %s, which %s has (%u device%s)", format->name, model, device, devices,
                  devices == 1 ? "" : "s");
    return 1;
}

unsigned config_warn(const struct fabric *fabric, const struct config_file *file, uint32_t count, bool quiet)
{
    unsigned warnings = 0;

    for (int i = 0; config_formats[i]; i++) {
        warnings += warn_chip(fabric, file, count, config_formats[i], quiet);
        for (int loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++)
            warnings += warn_loss(fabric, file, count, config_formats[i], loss, quiet);
    }
    return warnings;
}

void config_json_losses(struct jout *jout, const struct fabric *fabric, const struct config_file *file)
{
    struct config_unsupported_list losses;

    config_unsupported_list(file->format, fabric, file->node, &losses);
    jout_open(jout, "not_written", '[');
    for (int loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++) {
        if (!losses.ports[loss]) continue;
        jout_open(jout, NULL, '{');
        jout_text(jout, "what", config_losses[loss].what);
        jout_text(jout, "instead", config_losses[loss].instead);
        jout_u64(jout, "ports", losses.ports[loss]);
        jout_close(jout);
    }
    jout_close(jout);
}
