/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ran, as JSON: the fabric's nodes, links and classes, and where its switches mark and pause.  What happened there
 * is sim_json.c's.
 */
#include <stdio.h>

#include "report/rows/rows.h"
#include "report/sim_report.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

static void json_node(struct jout *jout, const struct fabric *fabric, uint32_t index)
{
    const struct fabric_node *node = &fabric->node[index];
    const struct fabric_switch *sw = node->kind == FABRIC_SWITCH ? &fabric->sw[index - fabric->hosts] : NULL;

    jout_open_line(jout, NULL, '{');
#include "report/rows/node.def"
    jout_close(jout);
}

/* From its lower end; of equals from the port that comes first. */
static void json_link(struct jout *jout, const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *low = &fabric->port[port], *high = &fabric->port[low->peer];
    char name[FABRIC_NAME], tier[32];

    if (fabric->node[high->node].tier < fabric->node[low->node].tier) {
        const struct fabric_port *other = low;
        low = high;
        high = other;
    }
    snprintf(tier, sizeof(tier), "%s-%s", role_name[fabric->node[low->node].role],
             role_name[fabric->node[high->node].role]);
    jout_open_line(jout, NULL, '{');
#include "report/rows/link.def"
    jout_close(jout);
}

static void json_class(struct jout *jout, const struct fabric_class *from)
{
    uint64_t dscp[64];
    size_t count = 0;

    for (uint64_t d = 0; d < 64; d++)
        if (from->dscps >> d & 1) dscp[count++] = d;
    jout_open_line(jout, NULL, '{');
#include "report/rows/class.def"
    jout_close(jout);
}

static void json_share(struct jout *jout, const char *key, uint64_t ppm, bool known)
{
    if (known)
        jout_fixed(jout, key, ppm, 6);
    else
        jout_null(jout, key);
}

static void json_threshold(struct jout *jout, unsigned priority, const struct sim_threshold *from)
{
    bool alpha = from->pauses && from->dynamic;
    uint64_t alpha_ppm = alpha ? (uint64_t)from->alpha_num * 1000000 / from->alpha_den : 0;

    jout_open_line(jout, NULL, '{');
#include "report/rows/threshold.def"
    jout_close(jout);
}

/* What of the model this run had that others do not: the page says by it what its figures stand on. */
static void json_modelled(struct jout *jout, const struct fabric *fabric)
{
    bool pcie = false, slow = false, software = false, retry = false;

    for (uint32_t i = 0; i < fabric->nics; i++) {
        const struct fabric_nic *nic = &fabric->nic[i];
        bool bus = nic->pcie.rate_bps || nic->pcie.windows;
        pcie |= bus;
        slow |= nic->rx_rate_bps > 0 && !bus;
        software |= nic->software.post_ps || nic->software.poll_ps || nic->software.hop_ps;
    }
    for (uint32_t i = 0; i < fabric->ports && !retry; i++)
        retry = fabric->port[i].llr;
    jout_open_line(jout, "modelled", '{');
    jout_bool(jout, "pcie", pcie);
    jout_bool(jout, "slow_receivers", slow);
    jout_bool(jout, "software", software);
    jout_bool(jout, "link_retry", retry);
    jout_bool(jout, "routes_converge", fabric->converge.on);
    jout_close(jout);
}

void sim_json_fabric(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;

    json_modelled(jout, fabric);
    JOUT_LIST(jout, "nodes", i, fabric->nodes, json_node(jout, fabric, i));
    JOUT_LIST(jout, "links", i, fabric->ports,
              if (fabric->port[i].peer != FABRIC_NONE && fabric->port[i].peer > i) json_link(jout, fabric, i));
    JOUT_LIST(jout, "classes", i, fabric->class_count, json_class(jout, &fabric->classes[i]));
    jout_open(jout, "thresholds", '[');
    for (uint32_t i = 0; i < result->threshold_sets; i++) {
        jout_open(jout, NULL, '[');
        for (unsigned p = 0; p < FABRIC_PRIOS; p++) {
            const struct sim_threshold *from = &result->thresholds[i].prio[p];
            if (from->ecn || from->pauses) json_threshold(jout, p, from);
        }
        jout_close(jout);
    }
    jout_close(jout);
}
