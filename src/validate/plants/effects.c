/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a planted cause did what it is planted for: what left no trace cannot be found.
 */
#include <stdlib.h>

#include "validate/plants/plants.h"

#include "fabric/fabric.h"

#define MARKS_LEAST 15000u /* of which many would be answered */
#define CNPS_LEAST 200u
#define UNEVEN 1.5        /* a link over the mean of its switch's */
#define MARKED_SHARE 0.03 /* of the packets of a link where flows meet */

struct cnps {
    uint64_t sent, handled;
};

static struct cnps count_cnps(const struct variant *variant)
{
    struct cnps cnps = {0};

    for (uint32_t i = 0; i < variant->result.nics; i++) {
        const struct nic_counters *nic = variant->result.nic[i].counters;
        if (!nic) continue;
        cnps.sent += nic->np_cnp_sent;
        cnps.handled += nic->rp_cnp_handled;
    }
    return cnps;
}

/* Links of a switch to higher ones, and what they carried. */
struct upwards {
    uint32_t links, empty;
    uint64_t bytes, most;
    const struct sim_port *fullest;
};

static void count_upwards(const struct variant *variant, struct upwards *ret)
{
    const struct fabric *fabric = variant->fabric;

    for (uint32_t i = 0; i < variant->result.ports; i++) {
        const struct sim_port *port = &variant->result.port[i];
        uint32_t node = fabric->port[port->port].node, peer = fabric->port[port->port].peer;
        if (node < fabric->hosts || peer == FABRIC_NONE) continue;
        if (fabric->node[fabric->port[peer].node].tier <= fabric->node[node].tier) continue;
        struct upwards *up = &ret[node];
        up->links++;
        up->empty += port->line_bytes == 0;
        up->bytes += port->line_bytes;
        if (port->line_bytes <= up->most) continue;
        up->most = port->line_bytes;
        up->fullest = port;
    }
}

/* A switch above the leaves sends upwards, and by some of its links nothing; or: one of a switch's links upwards is
 * far fuller than the others, and marks. */
static bool is_uneven(const struct variant *variant, bool empty)
{
    const struct fabric *fabric = variant->fabric;
    struct upwards *up = calloc(fabric->nodes, sizeof *up);
    bool found = false;

    count_upwards(variant, up);
    for (uint32_t n = fabric->hosts; n < fabric->nodes && !found; n++) {
        if (up[n].links < 2 || up[n].bytes == 0) continue;
        if (empty)
            found = fabric->node[n].tier > 1 && up[n].empty;
        else
            found = (double)up[n].most * up[n].links > UNEVEN * (double)up[n].bytes &&
                    (double)up[n].fullest->ecn_marked > MARKED_SHARE * (double)up[n].fullest->frames;
    }
    free(up);
    return found;
}

bool plant_works(const struct planted *plant, const struct variant *variant, const char **ret_why)
{
    struct variant_counts counts = variant_count(variant);
    struct cnps cnps = count_cnps(variant);

    switch (plant->effect) {
    case PLANT_LOST:
        *ret_why = "no packet was lost on it: none of this traffic takes it";
        return counts.lost > 0;
    case PLANT_AGAIN:
        *ret_why = "nothing was sent again: packets have one way, or came in order";
        return counts.again > 0;
    case PLANT_TIMEOUTS:
        *ret_why = "no timer ran out: none of this traffic takes it, or switches leave it alone by themselves";
        return counts.timeouts > 0;
    case PLANT_PAUSES:
        *ret_why = "nothing paused: so few senders do not fill a buffer here";
        return counts.pauses > 0;
    case PLANT_DROPS:
        *ret_why = "nothing was dropped: so few senders do not fill a buffer here";
        return counts.lossless_drops > 0;
    case PLANT_MARKS:
        *ret_why = "next to nothing was marked: so few senders do not fill a queue here";
        return counts.marks >= MARKS_LEAST;
    case PLANT_CNPS_SENT:
        *ret_why = "next to no CNPs were sent: so few senders do not fill a queue here";
        return cnps.sent >= CNPS_LEAST;
    case PLANT_CNPS_LOST:
        *ret_why = "next to no CNPs were lost: so few senders do not fill a queue here";
        return cnps.sent >= cnps.handled + CNPS_LEAST;
    case PLANT_CIRCLE:
        *ret_why = "no circle of pauses closed: so few senders do not fill these buffers";
        return variant->result.deadlocks > 0;
    case PLANT_EMPTY_LINKS:
        *ret_why = "no link stayed empty: switches have seeds of their own, or too few links";
        return is_uneven(variant, true);
    case PLANT_UNEVEN_LINKS:
        *ret_why = "no two of them met on a link, and filled its queue";
        return is_uneven(variant, false);
    default:
        return true;
    }
}
