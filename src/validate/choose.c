/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which endpoints a test takes: by distance, by edge.  The same for the same fabric, nothing is drawn.
 */

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "fabric/switches.h"
#include "validate/case.h"

bool is_roce(const struct fabric *fabric)
{
    return fabric->system == FABRIC_ROCEV2 || fabric->system == FABRIC_ROCEV1;
}

uint32_t choose_class(const struct fabric *fabric)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].lossless) return c;
    return 0;
}

uint32_t choose_distances(const struct fabric *fabric, struct endpoint_pair *ret, uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t e = 1; e < fabric->endpoints; e++) {
        if (fabric->endpoint[e].host == fabric->endpoint[0].host) continue;
        uint32_t hops = fabric_hops(fabric, 0, e), at = 0;
        while (at < count && ret[at].hops < hops)
            at++;
        if (hops == 0 || (at < count && ret[at].hops == hops) || count == most) continue;
        for (uint32_t i = count++; i > at; i--)
            ret[i] = ret[i - 1];
        ret[at] = (struct endpoint_pair){0, e, hops};
    }
    return count;
}

uint32_t choose_of_edge(const struct fabric *fabric, uint32_t edge, uint32_t *ret, uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t e = 0; e < fabric->endpoints && count < most; e++) {
        if (fabric->edge_of[e] != edge) continue;
        if (count && fabric->endpoint[ret[count - 1]].host == fabric->endpoint[e].host) continue;
        ret[count++] = e;
    }
    return count;
}

const char *choose_ranks(const struct validate_case *of, uint32_t most, uint32_t *ret_count)
{
    const struct fabric *fabric = of->fabric;
    uint32_t *endpoint = ARENA_NEW(of->arena, uint32_t, fabric->endpoints + 1u), count = 0;

    for (uint32_t e = 0; e < fabric->endpoints && count < most; e++)
        if (e == 0 || fabric_reaches(fabric, 0, e)) endpoint[count++] = e;
    *ret_count = count;
    return case_list(of, endpoint, count);
}

double payload_rate(const struct sim_flow *shorter, const struct sim_flow *longer)
{
    ps_t more = longer->ideal_ps - shorter->ideal_ps;

    if (longer->ideal_ps == PS_NEVER || shorter->ideal_ps == PS_NEVER || more == 0) return 0;
    return (double)(longer->bytes - shorter->bytes) * 8 * (double)PS_S / (double)more;
}
