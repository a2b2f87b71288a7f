/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants at hosts: a NIC that pauses without end, a slow receiver, a cable with wrong bits, a slow GPU.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define TRAINING_RANKS 4u /* fewer have no median that one is far from */

void plants_of_hosts(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    const struct fabric_class *class = &fabric->classes[planting->class];
    struct planted *plant;

    if (fabric->system == FABRIC_ROCEV2 && class->lossless) {
        plant = plant_add(planting, "NIC storm", "D02", "PauseStorm|WatchdogActed", PLANT_ALWAYS);
        plant->until = 20 * planting->failures->length + 10 * PS_MS;
        snprintf(plant->fault, sizeof plant->fault, "pause %.90s priority %u at %lluns",
                 blame_port(fabric, &plant->cause[0], planting->host), class->priority, planting->at);
        plant = plant_add(planting, "slow receiver", "D03", "HostPausesFabric", PLANT_PAUSES);
        snprintf(plant->fault, sizeof plant->fault, "receive %.90s rate %lluM at %lluns",
                 blame_port(fabric, &plant->cause[0], planting->host),
                 (unsigned long long)(fabric->port[planting->host].rate_bps / 4 / 1000000), planting->at);
    }
    plant = plant_add(planting, "cable of a host with wrong bits", "D13", "LinkErrors", PLANT_LOST);
    snprintf(plant->fault, sizeof plant->fault, "corrupt %.90s ber 1e-7",
             blame_port(fabric, &plant->cause[0], planting->host));
}

/* A GPU that computes half as long again: the others wait for it, and the network is not it. */
void plants_of_gpus(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    struct planted *plant = plant_add(planting, "slow GPU", "D17", "SlowRank", PLANT_ALWAYS);
    uint32_t slow = fabric->endpoint[planting->failures->rank[1]].host;

    plant->acquits = plant->needs_clean = true;
    plant->traffic = PLANT_TRAINING;
    blame_node(fabric, &plant->cause[0], slow);
    snprintf(plant->fault, sizeof plant->fault, "slow-gpu %.90s:0 factor 1.5", fabric->node[slow].name);
    if (planting->failures->ranks < TRAINING_RANKS)
        plant->lacks = "fewer than four hosts train: which one is slow cannot be told";
}
