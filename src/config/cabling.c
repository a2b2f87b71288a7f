/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cabling plan: every cable once, seen from its lower end.
 *
 * Ports are called by the name that the fabric file gives them, or by that of the device's system, or by number.  A
 * rail is the number of a NIC within its host, which is what decides the leaf in a rail topology.
 */
#include "config/cabling.h"

#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"

static void port_label(const struct fabric *fabric, const struct config_format *nos, uint32_t port,
                       char buf[FABRIC_NAME])
{
    uint32_t node = fabric->port[port].node;
    const char *const *names = fabric->operations.port_name;
    const struct config_format *format = NULL;

    if (node >= fabric->hosts) {
        uint8_t own = fabric->sw[node - fabric->hosts].nos;
        if (own != FABRIC_NOS_UNSAID) format = config_format_find(fabric_nos_names[own]);
        if (nos && !nos->host) format = nos;
    }
    if (names && names[port])
        snprintf(buf, FABRIC_NAME, "%s", names[port]);
    else if (format && format->port_name)
        format->port_name(fabric, port, buf, FABRIC_NAME);
    else
        snprintf(buf, FABRIC_NAME, "%u", fabric->port[port].index);
}

static void row_of(const struct fabric *fabric, const struct config_format *nos, uint32_t port, struct cabling_row *row)
{
    char label[FABRIC_NAME];
    const struct fabric_port *as = &fabric->port[port];
    uint32_t upper = as->peer, lower = port;
    bool host = as->node < fabric->hosts;

    memset(row, 0, sizeof(*row));
    if (host) {
        snprintf(row->rail, sizeof(row->rail), "%u", as->index);
        upper = port;
        lower = as->peer;
    }
    port_label(fabric, nos, upper, label);
    snprintf(row->nic, sizeof(row->nic), "%s:%s", fabric->node[fabric->port[upper].node].name, label);
    snprintf(row->leaf, sizeof(row->leaf), "%s", fabric->node[fabric->port[lower].node].name);
    port_label(fabric, nos, lower, row->port);
    unit_format(UNIT_RATE, as->rate_bps, row->rate);
    unit_format(UNIT_LENGTH, as->cable_mm, row->length);
    row->length_known = as->cable_known;
}

void cabling_each(const struct fabric *fabric, const struct config_format *nos,
                  void (*each)(void *to, const struct cabling_row *row), void *to)
{
    struct cabling_row row;

    for (uint32_t p = 0; p < fabric->ports; p++) {
        uint32_t peer = fabric->port[p].peer;
        if (peer == FABRIC_NONE || peer < p) continue; /* hosts, leaves, spines, cores are numbered in this order */
        if (fabric_node_unknown(fabric, fabric->port[p].node)) continue;
        row_of(fabric, nos, p, &row);
        each(to, &row);
    }
}
