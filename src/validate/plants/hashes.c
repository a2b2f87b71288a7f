/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants of hashing: two tiers that hash alike, which leaves links empty; and a few long flows that meet on a link,
 * which is chance and no fault.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#include "fabric/fabric.h"

#define HASHED_PS (5 * PS_MS)
#define MEETING_MOST 16u
#define MEETING_LEAST 4u

static bool has_three_tiers(const struct fabric *fabric)
{
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
        if (fabric->node[n].tier > 2) return true;
    return false;
}

static void plant_polarised(struct planting *planting)
{
    struct planted *plant = plant_add(planting, "tiers that hash alike", "D05", NULL, PLANT_EMPTY_LINKS);

    plant->cause[0].any_switch = plant->needs_clean = true;
    plant->traffic = PLANT_ALL_TO_ALL;
    plant->until = HASHED_PS;
    plant_set(plant, "ecmp", "switches.balance");
    plant_set(plant, "{seed: 7}", "switches.ecmp");
    if (!has_three_tiers(planting->fabric)) plant->lacks = "no two tiers of switches choose between links";
}

/* Hosts of the first leaf, each to one of another. */
static void plant_collision(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    const struct failures *failures = planting->failures;
    struct planted *plant = plant_add(planting, "long flows that meet on a link", "D05", NULL, PLANT_UNEVEN_LINKS);
    uint32_t from[MEETING_MOST], into[MEETING_MOST], other = 1;
    uint32_t first = fabric->edge_of[failures->rank[0]];

    while (other < failures->ranks && fabric->edge_of[failures->rank[other]] == first)
        other++;
    plant->chance = plant->needs_clean = plant->cause[0].any_switch = true;
    plant->until = HASHED_PS;
    plant_set(plant, "ecmp", "switches.balance");
    if (first != FABRIC_NONE && other < failures->ranks) {
        uint32_t count = choose_of_edge(fabric, first, from, MEETING_MOST);
        uint32_t ends = choose_of_edge(fabric, fabric->edge_of[failures->rank[other]], into, MEETING_MOST);
        for (uint32_t i = 0; i < count && i < ends; i++) {
            uint32_t to = into[(i + 1) % ends];
            if (fabric->endpoint[from[i]].host != fabric->endpoint[to].host) plant_flow(plant, from[i], to);
        }
    }
    if (plant->flows < MEETING_LEAST) plant->lacks = "no two leaves have four hosts each";
}

void plants_of_hashes(struct planting *planting)
{
    plant_polarised(planting);
    plant_collision(planting);
}
