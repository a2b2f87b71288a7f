/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which causes can be planted in a fabric, and where.  Traffic is that of failures: a long message from a host of each
 * leaf to the next; or all of them to one, where a cause shows in a queue alone.
 */
#include "validate/plants/plants.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_PS (10 * PS_S)
#define INCAST_PS (3 * PS_MS)

struct planting {
    const struct validate_case *of;
    const struct failures *failures;
    struct plant *plant;
    uint32_t count;
    unsigned long long at; /* of faults, in nanoseconds */
};

static struct plant *add(struct planting *planting, const char *name, const char *rules, const char *alerts,
                         enum plant_effect effect)
{
    struct plant *plant = &planting->plant[planting->count++];

    *plant = (struct plant){.name = name,
                            .rules = rules,
                            .alerts = alerts,
                            .follows = rules && !rules[0] ? "" : "AckTimeouts", /* who gets no answer asks again */
                            .quick = strstr("no fault|NIC storm|link down", name) != NULL,
                            .effect = effect,
                            .until = LONGEST_PS};
    return plant;
}

/* The culprit is a port, or the other end of its cable. */
static const char *blame_port(const struct fabric *fabric, struct plant *plant, uint32_t port)
{
    fabric_port_name(fabric, port, plant->culprit[0]);
    if (fabric->port[port].peer != FABRIC_NONE) fabric_port_name(fabric, fabric->port[port].peer, plant->culprit[1]);
    return plant->culprit[0];
}

static void blame_node(const struct fabric *fabric, struct plant *plant, uint32_t node)
{
    snprintf(plant->culprit[0], sizeof plant->culprit[0], "%s", fabric->node[node].name);
}

static void plant_hosts(struct planting *planting, uint32_t host)
{
    const struct fabric *fabric = planting->of->fabric;
    uint32_t class = choose_class(fabric);
    struct plant *plant;

    if (fabric->system == FABRIC_ROCEV2 && fabric->classes[class].lossless) {
        plant = add(planting, "NIC storm", "D02", "PauseStorm|WatchdogActed", PLANT_ALWAYS);
        plant->until = 20 * planting->failures->length + 10 * PS_MS;
        snprintf(plant->fault, sizeof plant->fault, "pause %.90s priority %u at %lluns",
                 blame_port(fabric, plant, host), fabric->classes[class].priority, planting->at);
        plant = add(planting, "slow receiver", "D03", "HostPausesFabric", PLANT_PAUSES);
        snprintf(plant->fault, sizeof plant->fault, "receive %.90s rate %lluM at %lluns",
                 blame_port(fabric, plant, host), (unsigned long long)(fabric->port[host].rate_bps / 4 / 1000000),
                 planting->at);
    }
    plant = add(planting, "cable of a host with wrong bits", "D13", "LinkErrors", PLANT_LOST);
    snprintf(plant->fault, sizeof plant->fault, "corrupt %.90s ber 1e-7", blame_port(fabric, plant, host));
}

static void plant_links(struct planting *planting, uint32_t link)
{
    const struct fabric *fabric = planting->of->fabric;
    struct plant *plant = add(planting, "cable between switches with wrong bits", "D13", "LinkErrors", PLANT_LOST);

    snprintf(plant->fault, sizeof plant->fault, "corrupt %.90s ber 1e-7", blame_port(fabric, plant, link));
    plant = add(planting, "hot optic", "D13", "LinkErrors|OpticsHot", PLANT_LOST);
    snprintf(plant->fault, sizeof plant->fault, "hot-optics %.90s temperature 82C pre-fec-ber 5e-4 ber 1e-7",
             blame_port(fabric, plant, link));
    plant = add(planting, "link down", "D07 D14", "LinkDown", PLANT_ALWAYS);
    snprintf(plant->fault, sizeof plant->fault, "down %.90s at %lluns", blame_port(fabric, plant, link), planting->at);
    plant = add(planting, "link with half of its lanes", NULL, "LinkDegraded", PLANT_ALWAYS);
    snprintf(plant->fault, sizeof plant->fault, "lanes %.90s lost 2 of 4 at %lluns", blame_port(fabric, plant, link),
             planting->at);
}

static void plant_settings(struct planting *planting, uint32_t host)
{
    const struct fabric *fabric = planting->of->fabric;
    uint32_t port = fabric->port[host].peer, leaf = fabric->port[port].node, class = choose_class(fabric);
    const char *name = fabric->node[leaf].name;
    struct plant *plant;
    char value[64];

    plant = add(planting, "small MTU at a port", "D16", "MtuDrop", PLANT_ALWAYS);
    blame_port(fabric, plant, port);
    snprintf(plant->path[0], sizeof plant->path[0], "devices.%.90s.ports.%u.mtu", name, fabric->port[port].index);
    snprintf(plant->value[0], sizeof plant->value[0], "%u",
             fabric->nic[fabric->endpoint[planting->failures->rank[1]].nic].mtu_bytes);
    plant->until = 5 * PS_MS;
    if (fabric->system != FABRIC_ROCEV2 || !fabric->classes[class].lossless) return;
    plant = add(planting, "old class map on a leaf", "D15", "WrongClass", PLANT_ALWAYS);
    blame_node(fabric, plant, leaf);
    snprintf(plant->path[0], sizeof plant->path[0], "devices.%.90s.dscp-map", name);
    snprintf(value, sizeof value, "{%u: 0}", fabric->classes[class].dscp);
    snprintf(plant->value[0], sizeof plant->value[0], "%s", value);
}

/* Packets over all links, to adapters that take a gap for a loss. */
static void plant_spray(struct planting *planting)
{
    const struct fabric *fabric = planting->of->fabric;
    struct plant *plant;

    if (fabric->system != FABRIC_ROCEV2) return;
    plant = add(planting, "sprayed packets, and adapters that take order for loss", "D12", NULL, PLANT_AGAIN);
    plant->any_switch = plant->needs_clean = true;
    snprintf(plant->path[0], sizeof plant->path[0], "switches.balance");
    snprintf(plant->value[0], sizeof plant->value[0], "spray");
    snprintf(plant->path[1], sizeof plant->path[1], "nics.reorder");
    snprintf(plant->value[1], sizeof plant->value[1], "false");
    plant->until = 5 * PS_MS;
}

static void plant_incasts(struct planting *planting)
{
    const struct fabric *fabric = planting->of->fabric;
    uint32_t port = fabric->port[fabric->endpoint[planting->failures->rank[0]].port].peer,
             leaf = fabric->port[port].node;
    uint32_t class = choose_class(fabric);
    struct plant *plant;

    if (fabric->system != FABRIC_ROCEV2 || !fabric->classes[class].lossless || planting->failures->ranks < 3) return;
    plant = add(planting, "incast without congestion control", "D04", "PauseShareHigh|PauseWithoutMarks", PLANT_PAUSES);
    blame_port(fabric, plant, port);
    plant->incast = plant->needs_clean = true;
    plant->until = INCAST_PS;
    snprintf(plant->path[0], sizeof plant->path[0], "nics.congestion");
    snprintf(plant->value[0], sizeof plant->value[0], "none");
    if (planting->failures->link == FABRIC_NONE) plant->alerts = NULL; /* adapters are paused alone, and no switch */
    plant = add(planting, "leaf without headroom", "D08", "LosslessDrop", PLANT_DROPS);
    blame_node(fabric, plant, leaf);
    plant->incast = plant->needs_clean = true;
    plant->until = INCAST_PS;
    snprintf(plant->path[0], sizeof plant->path[0], "devices.%.90s.classes.%.60s.headroom", fabric->node[leaf].name,
             fabric->classes[class].name);
    snprintf(plant->value[0], sizeof plant->value[0], "1KB");
    snprintf(plant->path[1], sizeof plant->path[1], "nics.congestion");
    snprintf(plant->value[1], sizeof plant->value[1], "none");
    plant = add(planting, "leaf that does not mark", "D09", "PauseWithoutMarks", PLANT_PAUSES);
    blame_node(fabric, plant, leaf);
    plant->incast = plant->needs_clean = true;
    plant->until = INCAST_PS;
    snprintf(plant->path[0], sizeof plant->path[0], "devices.%.90s.classes.%.60s.ecn", fabric->node[leaf].name,
             fabric->classes[class].name);
    snprintf(plant->value[0], sizeof plant->value[0], "false");
}

uint32_t plants_choose(const struct validate_case *of, const struct failures *failures, struct plant ret[PLANTS_MOST])
{
    struct planting planting = {.of = of, .failures = failures, .plant = ret, .at = failures->length / 4 / PS_NS};
    uint32_t host = of->fabric->endpoint[failures->rank[1]].port;

    if (of->fabric->faults == 0) add(&planting, "no fault", "", "", PLANT_ALWAYS); /* else it is no good run */
    plant_hosts(&planting, host);
    if (failures->link != FABRIC_NONE) plant_links(&planting, failures->link);
    if (failures->link != FABRIC_NONE) plant_spray(&planting);
    plant_settings(&planting, host);
    plant_incasts(&planting);
    return planting.count;
}

bool plant_works(const struct plant *plant, const struct variant *variant, const char **ret_why)
{
    struct variant_counts counts = variant_count(variant);

    switch (plant->effect) {
    case PLANT_LOST:
        *ret_why = "no packet was lost on it: none of this traffic takes it";
        return counts.lost > 0;
    case PLANT_AGAIN:
        *ret_why = "nothing was sent again: packets have one way, or came in order";
        return counts.again > 0;
    case PLANT_PAUSES:
        *ret_why = "nothing paused: so few senders do not fill a buffer here";
        return counts.pauses > 0;
    case PLANT_DROPS:
        *ret_why = "nothing was dropped: so few senders do not fill a buffer here";
        return counts.lossless_drops > 0;
    default:
        return true;
    }
}

/* All but the first send to it. */
static char *incast_jobs(const struct validate_case *of, const struct failures *failures)
{
    char *ranks = endpoint_list(of->fabric, failures->rank, failures->ranks), *jobs = NULL, name[FABRIC_NAME];

    if (ranks &&
        asprintf(&jobs, "[{name: across, incast: %u, size: %lluB, to: %s, ranks: %s}]", failures->ranks - 1,
                 (unsigned long long)failures->bytes, endpoint_name(of->fabric, failures->rank[0], name), ranks) < 0)
        jobs = NULL;
    free(ranks);
    return jobs;
}

bool plant_open(struct validate_case *of, const struct failures *failures, const struct plant *plant,
                struct variant *variant)
{
    char *jobs = plant->incast ? incast_jobs(of, failures) : failures_jobs(of, failures, 0);

    *variant = (struct variant){0};
    if (jobs == NULL) {
        validate_tell(of, VALIDATE_FAIL, plant->name, "it can be simulated", "not enough memory");
        return false;
    }
    if (!of->fabric->converge.on)
        variant->override[variant->overrides++] = (struct fabric_override){"converge", failures->converge_text};
    for (unsigned i = 0; i < 2; i++)
        if (plant->path[i][0])
            variant->override[variant->overrides++] = (struct fabric_override){plant->path[i], plant->value[i]};
    const char *const fault[] = {plant->fault}; /* read when it is opened */
    variant->fault = fault;
    variant->faults = 1;
    bool good = variant_open(of, plant->name, jobs, variant, NULL);
    variant->fault = NULL;
    variant->faults = 0;
    free(jobs);
    return good;
}
