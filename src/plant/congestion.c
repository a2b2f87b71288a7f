/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a fabric file says of a NIC's congestion control to its configuration.
 *
 * The fabric keeps names and values as text, because what they mean belongs to src/nic.  Here they meet, once: the
 * loader asks as soon as it has read a NIC, so that a wrong name is told together with the file's other errors, and
 * plant_init() when machines are configured.
 */
#include <string.h>

#include "plant/plant.h"

#include "fabric/nics.h"
#include "fabric/systems.h"
#include "plugin/plugin.h"

#define WHY 1024

/* DCQCN's parameters have the adapter's names, all others begin with their algorithm's. */
static bool of_dcqcn(const char *name)
{
    static const char *const begins[] = {"rpg_", "dce_tcp_", "rate_", "clamp_tgt_", "alpha_per_"};

    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

/* Is this a parameter of the algorithm of a preset's name, and of no other? */
static bool owned_by(const char *name, const char *preset)
{
    size_t length = strcspn(preset, "/");

    if (length == strlen("dcqcn") && strncmp(preset, "dcqcn", length) == 0 && of_dcqcn(name)) return true;
    return strncmp(name, preset, length) == 0 && name[length] == '_';
}

static bool used(const struct fabric_nic *nic, const struct fabric_param *param, struct fabric_errors *errors)
{
    const char *preset;

    for (size_t i = 0; (preset = cc_preset_name(i)) != NULL; i++) {
        size_t length = strcspn(preset, "/");
        if (!owned_by(param->name, preset) || owned_by(param->name, nic->congestion)) continue;
        fabric_errors_add(errors, param->at, "congestion: '%s' is a parameter of %.*s, and %s does not use it",
                          param->name, (int)length, preset, nic->congestion);
        return false;
    }
    return true;
}

/* Marks and telemetry are made by switches, of packets that have a place for them. */
static bool heard(const struct fabric_nic *nic, const struct cc_config *cc, struct fabric_errors *errors)
{
    const struct fabric_system_row *system = &fabric_systems[nic->system];
    const struct cc_needs *needs = cc_needs(cc);

    if (system->ecn || !(needs->cnp || needs->echo || needs->telemetry)) return true;
    fabric_errors_add(
        errors, nic->congestion_at,
        "congestion: %s needs marks or telemetry of switches, which no packet of %s can carry; write none, "
        "or one that goes by delay",
        nic->congestion, system->title);
    return false;
}

bool plant_congestion(const struct fabric_nic *nic, struct cc_config *ret, struct fabric_errors *errors)
{
    const char *name = NULL;
    char why[WHY];
    bool good = true;

    const char *control = nic->congestion ? nic->congestion : "none";
    int unread = fabric_congestion_is_file(control) ? plugin_load(control, ret, why, sizeof(why))
                                                    : cc_read_preset(control, true, ret, why, sizeof(why));
    if (unread != 0) {
        fabric_errors_add(errors, nic->congestion_at, "%s", why);
        return false;
    }
    if (!heard(nic, ret, errors)) return false;
    for (uint32_t i = 0; i < nic->params; i++) {
        const struct fabric_param *param = &nic->param[i];
        if (cc_read_param(ret, param->name, param->value, why, sizeof(why)) != 0) {
            fabric_errors_add(errors, param->at, "%s", why);
            good = false;
        } else if (nic->congestion && !cc_owns(ret, cc_param_of(ret, param->name)) && !used(nic, param, errors)) {
            good = false;
        }
    }
    if (!good) return false;
    plugin_settle(ret);
    if (nic->window_bytes) ret->window = nic->window_bytes;
    const char *invalid = cc_invalid(ret, &name);
    if (invalid) fabric_errors_add(errors, nic->congestion_at, "%s: %s", name ? name : "congestion", invalid);
    return invalid == NULL;
}

void plant_judge_nic(const struct fabric_nic *nic, struct fabric_errors *errors)
{
    struct cc_config config;

    plant_congestion(nic, &config, errors);
}
