/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bill of materials: what a fabric is made of, parts alike counted together.
 *
 * Only what the file says is counted: optics where a device's are named, and no breakout cables, for how the ports of a
 * chip are split over cages is not in a fabric file.  A length that nobody wrote is marked as assumed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/cabling.h"

struct bom {
    struct bom_row *row;
    uint32_t count, room;
    bool no_memory;
};

static void count(struct bom *bom, const char *part, const char *what, uint64_t more)
{
    /* Parts alike come one after the other, so the last row is nearly always the one. */
    for (uint32_t r = bom->count; r-- > 0;) {
        if (strcmp(bom->row[r].part, part) != 0 || strcmp(bom->row[r].what, what) != 0) continue;
        bom->row[r].count += more;
        return;
    }
    if (bom->count == bom->room) {
        uint32_t room = bom->room ? bom->room * 2 : 32;
        struct bom_row *row = reallocarray(bom->row, room, sizeof(*row));
        if (!row) {
            bom->no_memory = true;
            return;
        }
        bom->row = row;
        bom->room = room;
    }
    struct bom_row *row = &bom->row[bom->count++];
    row->part = part;
    row->count = more;
    snprintf(row->what, sizeof(row->what), "%s", what);
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

static void count_switches(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_switch *sw = &fabric->sw[s];
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        char what[128];

        snprintf(what, sizeof(what), "%s, %.40s%s%s", role_names[node->role], sw->model,
                 sw->nos != FABRIC_NOS_UNSAID ? ", " : "",
                 sw->nos != FABRIC_NOS_UNSAID ? fabric_nos_names[sw->nos] : "");
        count(bom, "switch", what, 1);
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
        count(bom, "host", what, 1);
    }
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        const struct fabric_port *port = &fabric->port[fabric->endpoint[e].port];
        char rate[UNIT_TEXT], what[128];

        if (fabric_node_unknown(fabric, port->node)) continue;
        const char *nic = installed(fabric, port->node, FABRIC_PART_NIC);
        snprintf(what, sizeof(what), "%s%s%.80s", unit_format(UNIT_RATE, port->rate_bps, rate), nic ? ", " : "",
                 nic ? nic : "");
        count(bom, "NIC port", what, 1);
    }
}

static void count_cable(void *to, const struct cabling_row *row)
{
    char what[128];

    snprintf(what, sizeof(what), "%s, %s%s", row->rate, row->length, row->length_known ? "" : " (assumed)");
    count(to, "cable", what, 1);
}

/* A device says one kind of optics for all of its ports: each cabled one has it. */
static void count_optics(const struct fabric *fabric, struct bom *bom)
{
    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        const char *optics = installed(fabric, port->node, FABRIC_PART_OPTICS);
        if (optics && port->peer != FABRIC_NONE) count(bom, "optics", optics, 1);
    }
}

int bom_each(const struct fabric *fabric, void (*each)(void *to, const struct bom_row *row), void *to)
{
    struct bom bom = {0};

    count_switches(fabric, &bom);
    count_hosts(fabric, &bom);
    cabling_each(fabric, NULL, count_cable, &bom);
    count_optics(fabric, &bom);
    for (uint32_t r = 0; r < bom.count && !bom.no_memory; r++)
        each(to, &bom.row[r]);
    free(bom.row);
    return bom.no_memory ? -ENOMEM : 0;
}
