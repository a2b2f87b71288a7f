/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bill of materials: what a fabric is made of, parts alike counted together, with what they cost and draw.
 *
 * A cable is copper where it is short enough and no end names its optics, else fibre with an optic at each end.  Where
 * a switch has more ports than its chip has cages (cages.c), ports share a cage: it has one optic, and a breakout.  A
 * length that nobody wrote is marked as assumed.  Hosts are counted and not priced: they cost the same whatever the
 * network is.  Prices are those of fabric/prices.h; a port of a shared cage is its part of the cage's price.  Of the
 * systems InfiniBand alone has other prices, and TCP alone keeps processors busy.
 */
#include "config/bom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/wide.h"
#include "config/cabling.h"
#include "fabric/copper.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

struct value { /* of one part, thousandths of a dollar and of a watt */
    uint64_t usd, watt;
};

static void count(struct bom *bom, const char *part, const char *what, struct value each)
{
    /* Parts alike come one after the other, so the last row is nearly always the one. */
    for (uint32_t r = bom->rows; r-- > 0;) {
        if (strcmp(bom->row[r].part, part) != 0 || strcmp(bom->row[r].what, what) != 0) continue;
        bom->row[r].count++;
        bom->row[r].usd_milli += each.usd;
        bom->row[r].watt_milli += each.watt;
        return;
    }
    if (!GROW(bom->row, bom->rows, bom->room)) {
        bom->no_memory = true;
        return;
    }
    struct bom_row *row = &bom->row[bom->rows++];
    *row = (struct bom_row){.part = part, .count = 1, .usd_milli = each.usd, .watt_milli = each.watt};
    snprintf(row->what, sizeof(row->what), "%s", what);
}

/* In thousandths; the price is one of those that the bill shows. */
static uint64_t price_of(const struct fabric *fabric, struct bom *bom, enum price_kind kind, uint64_t rate_bps)
{
    struct price price = price_find(fabric, kind, rate_bps);

    bom->used[price.item] = true;
    return price.milli * price.times;
}

static const char *const role_names[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

/* What the file says is in a device; NULL: nothing. */
static const char *installed(const struct fabric *fabric, uint32_t node, enum fabric_part part)
{
    const struct fabric_device *const *devices = fabric->operations.device;
    return devices && devices[node] ? devices[node]->installed[part] : NULL;
}

static bool known_cable(const struct fabric *fabric, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer;

    return peer != FABRIC_NONE && !fabric_node_unknown(fabric, fabric->port[port].node) &&
           !fabric_node_unknown(fabric, fabric->port[peer].node);
}

/* The cage that a port shares with others; parts 1: it shares none. */
static struct config_cage cage_of(const struct fabric *fabric, uint32_t port)
{
    struct config_cage cage;

    if (!config_cage(fabric, port, &cage)) cage = (struct config_cage){.parts = 1};
    return cage;
}

static uint64_t cage_bps(const struct config_cage *cage)
{
    return cage->rate_gbps * UINT64_C(1000000000);
}

static void count_switches(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_switch *sw = &fabric->sw[s];
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        char what[128];

        snprintf(what, sizeof(what), "%s, %.40s%s%s", role_names[node->role], sw->model,
                 sw->nos != FABRIC_NOS_UNSAID ? ", " : "",
                 sw->nos != FABRIC_NOS_UNSAID ? fabric_nos_names[sw->nos] : "");
        count(bom, "switch", what, (struct value){0, 0});
    }
}

/* One rate of it is known, and the others are taken in proportion. */
static uint64_t infiniband_watt(const struct fabric *fabric, struct bom *bom, uint64_t rate_bps)
{
    struct price price = price_find(fabric, PRICE_KIND_IB_PORT_WATT, 0);

    bom->used[price.item] = true;
    return (uint64_t)((u128)price.milli * rate_bps / (price_items[price.item].rate_gbps * UINT64_C(1000000000)));
}

static void count_switch_ports(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        char what[128], rate[UNIT_TEXT];

        if (port->node < fabric->hosts || !known_cable(fabric, p)) continue;
        struct config_cage cage = cage_of(fabric, p);
        uint64_t priced_bps = cage.parts > 1 ? cage_bps(&cage) : port->rate_bps;
        uint64_t watt = fabric->system == FABRIC_INFINIBAND
                            ? infiniband_watt(fabric, bom, priced_bps)
                            : price_of(fabric, bom, PRICE_KIND_SWITCH_PORT_WATT, priced_bps);
        snprintf(what, sizeof(what), "%s", unit_format(UNIT_RATE, port->rate_bps, rate));
        count(
            bom, "switch port", what,
            (struct value){price_of(fabric, bom, PRICE_KIND_SWITCH_PORT, priced_bps) / cage.parts, watt / cage.parts});
    }
}

static void count_hosts(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t h = 0; h < fabric->hosts; h++) {
        const struct fabric_node *node = &fabric->node[h];
        char what[128];

        if (fabric_node_unknown(fabric, h)) continue;
        snprintf(what, sizeof(what), "%u GPU%s, %u NIC port%s", node->gpus, node->gpus == 1 ? "" : "s", node->ports,
                 node->ports == 1 ? "" : "s");
        count(bom, "host", what, (struct value){0, 0});
    }
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        const struct fabric_port *port = &fabric->port[fabric->endpoint[e].port];
        char rate[UNIT_TEXT], what[128];

        if (fabric_node_unknown(fabric, port->node)) continue;
        const char *nic = installed(fabric, port->node, FABRIC_PART_NIC);
        snprintf(what, sizeof(what), "%s%s%.80s", unit_format(UNIT_RATE, port->rate_bps, rate), nic ? ", " : "",
                 nic ? nic : "");
        count(bom, "NIC port", what,
              (struct value){price_of(fabric, bom, PRICE_KIND_NIC, port->rate_bps),
                             price_of(fabric, bom, PRICE_KIND_NIC_WATT, port->rate_bps)});
    }
}

/* TCP is run by processors: cores busy at the full rate of each port, both ways. */
static void count_cores(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t e = 0; fabric->system == FABRIC_TCP && e < fabric->endpoints; e++) {
        uint64_t rate_bps = fabric->port[fabric->endpoint[e].port].rate_bps;
        uint64_t core_bps = fabric_tcp_cpu(&fabric->nic[fabric->endpoint[e].nic]);
        if (core_bps == 0) continue;
        for (uint64_t cores = 2 * ((rate_bps + core_bps - 1) / core_bps); cores > 0; cores--)
            count(bom, "core", "of a host, for TCP at full rate",
                  (struct value){0, price_of(fabric, bom, PRICE_KIND_CORE_WATT, 0)});
    }
}

static void count_cables(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        char what[128], rate[UNIT_TEXT], length[UNIT_TEXT];
        uint64_t usd;

        if (port->peer < p || !known_cable(fabric, p)) continue;
        bool copper = fabric_copper(fabric, p);
        if (copper)
            usd = price_of(fabric, bom, PRICE_KIND_COPPER, port->rate_bps);
        else
            usd = price_of(fabric, bom, PRICE_KIND_FIBRE, 0) +
                  price_of(fabric, bom, PRICE_KIND_FIBRE_METRE, 0) * (port->cable_mm / 1000);
        snprintf(what, sizeof(what), "%s, %s%s, %s", unit_format(UNIT_RATE, port->rate_bps, rate),
                 unit_format(UNIT_LENGTH, port->cable_mm, length), port->cable_known ? "" : " (assumed)",
                 copper ? "copper" : "fibre");
        count(bom, "cable", what, (struct value){usd, 0});
    }
}

/* True for one port of each cage that is cabled: the first of it. */
static bool first_of_cage(const struct fabric *fabric, uint32_t port, const struct config_cage *cage)
{
    const struct fabric_node *node = &fabric->node[fabric->port[port].node];

    for (uint32_t p = port; cage->parts > 1 && p-- > node->first_port;) {
        struct config_cage before = cage_of(fabric, p);
        if (before.cage != cage->cage) break;
        if (known_cable(fabric, p)) return false;
    }
    return true;
}

/* A device says one kind of optics for all of its ports: each cabled one has it. */
static void count_optics(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        char rate[UNIT_TEXT], what[128];

        if (!known_cable(fabric, p)) continue;
        struct config_cage cage = cage_of(fabric, p);
        bool first = first_of_cage(fabric, p, &cage);
        uint64_t rate_bps = cage.parts > 1 ? cage_bps(&cage) : port->rate_bps;
        const char *named = installed(fabric, port->node, FABRIC_PART_OPTICS);
        unit_format(UNIT_RATE, rate_bps, rate);
        if (!fabric_copper(fabric, p) && first)
            count(bom, "optics", named ? named : rate,
                  (struct value){price_of(fabric, bom, PRICE_KIND_OPTIC, rate_bps),
                                 price_of(fabric, bom, PRICE_KIND_OPTIC_WATT, rate_bps)});
        if (cage.parts == 1 || !first) continue;
        snprintf(what, sizeof(what), "%s in %u", rate, cage.parts);
        count(bom, "breakout", what, (struct value){price_of(fabric, bom, PRICE_KIND_BREAKOUT, 0), 0});
    }
}

static uint64_t times(uint64_t milli, uint64_t factor_milli)
{
    return (uint64_t)((u128)milli * factor_milli / 1000);
}

/* Sources give its cost as a whole, over that of Ethernet, and do not agree: the sum has both ends of what they say. */
static void price_infiniband(const struct fabric *fabric, struct bom *bom)
{
    uint64_t factor = price_of(fabric, bom, PRICE_KIND_IB, 0);

    bom->usd_least_milli = times(bom->usd_milli, price_of(fabric, bom, PRICE_KIND_IB_LEAST, 0));
    bom->usd_most_milli = times(bom->usd_milli, price_of(fabric, bom, PRICE_KIND_IB_MOST, 0));
    bom->usd_milli = 0;
    for (uint32_t r = 0; r < bom->rows; r++) {
        bom->row[r].usd_milli = times(bom->row[r].usd_milli, factor);
        bom->usd_milli += bom->row[r].usd_milli;
    }
}

static void add_up(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t r = 0; r < bom->rows; r++) {
        bom->usd_milli += bom->row[r].usd_milli;
        bom->watt_milli += bom->row[r].watt_milli;
    }
    bom->usd_least_milli = bom->usd_most_milli = bom->usd_milli;
    if (fabric->system == FABRIC_INFINIBAND) price_infiniband(fabric, bom);
    bom->usd_year_milli = bom->watt_milli / 1000 * price_of(fabric, bom, PRICE_KIND_WATT_YEAR, 0);
}

int bom_make(const struct fabric *fabric, struct bom *ret)
{
    struct bom bom = {0};

    count_switches(fabric, &bom);
    count_switch_ports(fabric, &bom);
    count_hosts(fabric, &bom);
    count_cores(fabric, &bom);
    count_cables(fabric, &bom);
    count_optics(fabric, &bom);
    if (bom.no_memory) {
        bom_release(&bom);
        return -ENOMEM;
    }
    add_up(fabric, &bom);
    *ret = bom;
    return 0;
}

void bom_release(struct bom *bom)
{
    free(bom->row);
    *bom = (struct bom){0};
}
