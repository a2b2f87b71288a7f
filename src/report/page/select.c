/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a large run a page has; see select.h.
 */
#include "report/page/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

struct ranked {
    uint32_t number;
    uint64_t first, second; /* the larger, the earlier */
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *one = a, *two = b;

    if (one->first != two->first) return one->first < two->first ? 1 : -1;
    if (one->second != two->second) return one->second < two->second ? 1 : -1;
    return one->number < two->number ? -1 : one->number > two->number;
}

static void choose(bool *chosen, uint32_t port)
{
    if (port != UINT32_MAX) chosen[port] = true;
}

/* Who paused whom and why, circles, faults: causes and victims. */
static void choose_trouble(const struct sim_report *report, bool *chosen)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;

    for (uint32_t i = 0; i < result->pauses && i < PAGE_PORTS_WORST; i++) {
        choose(chosen, result->pause[i].port);
        choose(chosen, result->pause[i].cause);
        choose(chosen, fabric->port[result->pause[i].port].peer);
    }
    for (uint32_t i = 0; i < result->deadlocks; i++)
        for (uint32_t j = 0; j < result->deadlock[i].waits && j < PAGE_PORTS_WORST; j++)
            choose(chosen, result->deadlock[i].wait[j].port);
    for (uint32_t i = 0; i < result->faults && i < PAGE_PORTS_WORST; i++) {
        choose(chosen, result->fault[i].port);
        if (result->fault[i].port != FABRIC_NONE) choose(chosen, fabric->port[result->fault[i].port].peer);
    }
}

/* The worst: first those that dropped or were paused, then those with the longest queues, then the fullest. */
static int choose_worst(const struct sim_report *report, bool *chosen)
{
    const struct sim_result *result = report->result;
    struct ranked *rank = calloc(result->ports + 1u, sizeof *rank);

    if (rank == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        rank[i] = (struct ranked){.number = port->port,
                                  .first = port->drops + port->lost ? UINT64_MAX : port->paused_ps,
                                  .second = port->queue_max_bytes ? port->queue_max_bytes : port->line_bytes >> 32};
    }
    qsort(rank, result->ports, sizeof *rank, by_rank);
    for (uint32_t i = 0; i < result->ports && i < PAGE_PORTS_WORST; i++)
        choose(chosen, rank[i].number);
    free(rank);
    return 0;
}

/* The fullest port of each pair of roles, to compare with. */
static void choose_tiers(const struct sim_report *report, bool *chosen)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;
    const struct sim_port *most[FABRIC_ROLES][FABRIC_ROLES] = {0};

    for (uint32_t i = 0; i < result->ports; i++) {
        const struct fabric_port *port = &fabric->port[result->port[i].port];
        if (port->peer == FABRIC_NONE) continue;
        unsigned from = fabric->node[port->node].role, to = fabric->node[fabric->port[port->peer].node].role;
        if (most[from][to] == NULL || result->port[i].line_bytes > most[from][to]->line_bytes)
            most[from][to] = &result->port[i];
    }
    for (unsigned from = 0; from < FABRIC_ROLES; from++)
        for (unsigned to = 0; to < FABRIC_ROLES; to++)
            if (most[from][to]) choose(chosen, most[from][to]->port);
}

static int select_ports(const struct sim_report *report, struct page_selection *selection)
{
    if (report->series == NULL || report->result->ports <= PAGE_PORTS_ALL) return 0;
    selection->port = calloc(report->fabric->ports, sizeof *selection->port);
    if (selection->port == NULL) return -ENOMEM;
    choose_trouble(report, selection->port);
    choose_tiers(report, selection->port);
    return choose_worst(report, selection->port);
}

/* Every so-manieth from the slowest on; those without a slowdown, failed ones too, come first and are all among the
 * slowest.  The ten slowest are always there: the page lists them. */
static int select_flows(const struct sim_report *report, struct page_selection *selection)
{
    const struct sim_result *result = report->result;

    if (result->flows <= PAGE_FLOWS_ALL) return 0;
    struct ranked *rank = calloc(result->flows, sizeof *rank);
    selection->flow = calloc(result->flows, sizeof *selection->flow);
    if (rank == NULL || selection->flow == NULL) {
        free(rank);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < result->flows; i++)
        rank[i] = (struct ranked){.number = i, .first = sim_slowdown_milli(&result->flow[i])};
    qsort(rank, result->flows, sizeof *rank, by_rank);
    for (uint32_t i = 0; i < PAGE_FLOWS_ALL; i++)
        selection->flow[rank[(uint64_t)i * result->flows / PAGE_FLOWS_ALL].number] = true;
    for (uint32_t i = 0; i < 10; i++)
        selection->flow[rank[i].number] = true;
    free(rank);
    return 0;
}

static uint32_t count(const bool *chosen, uint32_t of)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < of; i++)
        sum += chosen[i];
    return sum;
}

static void say(const struct sim_report *report, struct page_selection *selection)
{
    char *at = selection->words, *end = at + sizeof selection->words;

    if (selection->port)
        at +=
            snprintf(at, (size_t)(end - at),
                     "Samples over time are of %u of %u ports: those that trouble names, the worst %u, the fullest of "
                     "each tier. ",
                     count(selection->port, report->fabric->ports), report->result->ports, PAGE_PORTS_WORST);
    if (selection->flow)
        snprintf(at, (size_t)(end - at), "Of %u flows %u are here, taken evenly by slowdown.", report->result->flows,
                 count(selection->flow, report->result->flows));
}

int page_select(const struct sim_report *report, struct page_selection *ret)
{
    struct page_selection selection = {0};

    if (select_ports(report, &selection) != 0 || select_flows(report, &selection) != 0) {
        page_selection_release(&selection);
        return -ENOMEM;
    }
    say(report, &selection);
    *ret = selection;
    return 0;
}

void page_selection_release(struct page_selection *selection)
{
    free(selection->port);
    free(selection->flow);
    *selection = (struct page_selection){0};
}
