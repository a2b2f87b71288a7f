/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a packet leaves: the endpoint's own port on its edge switch, else a member of the group of its edge.
 *
 * A group is a list of ports; one that is listed twice gets twice the flows (weighted ECMP).  The member is chosen
 * by a hash of the chosen fields and the switch's seed, scaled to the list's length by a multiplication; so packets
 * of a flow stay on one path, and two switches with the same seed choose alike (hash polarisation, as in real
 * fabrics) while different seeds decide independently.
 *
 * The hash is two rounds of multiply and fold; it is not any vendor's.  A member that is down is not skipped:
 * packets for it are dropped until it is up, or until whoever computes routes gives others (sw_set_routes).
 */
#include "switch/switch_int.h"

void route_init(struct sw *sw)
{
    uint8_t fields = sw->routes->hash_fields;
    sw->hash_node_mask =
        (fields & SW_HASH_SRC ? UINT64_C(0xffffffff) : 0) | (fields & SW_HASH_DST ? UINT64_C(0xffffffff) << 32 : 0);
    sw->hash_flow_mask =
        (fields & SW_HASH_SPORT ? UINT64_C(0xffff) : 0) | (fields & SW_HASH_QP ? UINT64_C(0xffffffff) << 32 : 0);
}
