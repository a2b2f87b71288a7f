/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants at links between switches, and at the switches above: wrong bits, lost lanes, a link or a spine that is down,
 * comes and goes, is drained.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#define FLAPS 6u /* as many make an alert */

static struct planted *add_link(struct planting *planting, const char *name, const char *rules, const char *alerts,
                                enum plant_effect effect, const char *before, const char *after)
{
    struct planted *plant = plant_add(planting, name, rules, alerts, effect);

    snprintf(plant->fault, sizeof plant->fault, "%s %.90s %s", before,
             blame_port(planting->fabric, &plant->cause[0], planting->failures->link), after);
    return plant;
}

void plants_of_links(struct planting *planting)
{
    unsigned long long flap = planting->failures->length / 10 / PS_NS;

    if (planting->failures->link == FABRIC_NONE) {
        plant_add(planting, "causes at links between switches", "", NULL, PLANT_ALWAYS)->lacks =
            "none can go without an adapter being cut off";
        return;
    }
    const char *at = case_text(planting->of, "at %lluns", planting->at);
    const char *flaps =
        case_text(planting->of, "at %lluns every %lluns down %lluns times %u", planting->at, flap, flap / 4, FLAPS);
    add_link(planting, "cable between switches with wrong bits", "D13", "LinkErrors", PLANT_LOST, "corrupt",
             "ber 1e-7");
    add_link(planting, "hot optic", "D13", "LinkErrors|OpticsHot", PLANT_LOST, "hot-optics",
             "temperature 82C pre-fec-ber 5e-4 ber 1e-7");
    add_link(planting, "link down", "D07 D14", "LinkDown", PLANT_ALWAYS, "down", at);
    struct planted *plant =
        add_link(planting, "link down, and routes stay", "D14", "LinkDown", PLANT_TIMEOUTS, "down", at);
    plant_set(plant, "false", "converge");
    plant_set(plant, "8", "nics.timeout"); /* 1 ms */
    plant->until = 5 * PS_MS;
    add_link(planting, "link that comes and goes", "D19", "LinkFlaps", PLANT_ALWAYS, "flap", flaps);
    at = case_text(planting->of, "lost 2 of 4 at %lluns", planting->at);
    add_link(planting, "link with half of its lanes", "D06", "LinkDegraded", PLANT_ALWAYS, "lanes", at);
}

/* Faults of a whole spine; what is announced loses nothing, and is known. */
void plants_of_switches(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    const struct failures *failures = planting->failures;
    unsigned long long half = failures->length / 2 / PS_NS;
    struct planted *plant;

    if (failures->spine == FABRIC_NONE) return; /* where no link can go, no spine can */
    const char *spine = fabric_node_name(fabric, failures->spine);
    plant = plant_add(planting, "spine down", "D07 D14", "LinkDown", PLANT_ALWAYS);
    snprintf(plant->fault, sizeof plant->fault, "down %.90s at %lluns", spine, planting->at);
    blame_node(fabric, &plant->cause[0], failures->spine);
    plant->cause[0].both_ends = true;
    plant = plant_add(planting, "spine that is reset", "D19", "LinkDown", PLANT_ALWAYS);
    snprintf(plant->fault, sizeof plant->fault, "reset %.90s at %lluns for %lluns", spine, planting->at, half);
    blame_node(fabric, &plant->cause[0], failures->spine);
    plant->cause[0].both_ends = true;
    plant = plant_add(planting, "spine that is drained", NULL, "LinkDown", PLANT_ALWAYS);
    snprintf(plant->fault, sizeof plant->fault, "drain %.90s at 0s for %lluns ahead %lluns", spine, half, planting->at);
    plant_set(plant, "{detect: 20us, step: 10us, ordered: true}", "converge"); /* routes are away before it is down */
    plant->follows = "";
    plant = plant_add(planting, "routes that avoid a spine", NULL, "", PLANT_ALWAYS);
    snprintf(plant->fault, sizeof plant->fault, "withdraw %.90s at %lluns", spine, planting->at);
    plant->follows = "";
}
