/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which endpoint the hosts of a fabric have.
 */
#include "sim/endpoint/endpoint.h"

#include "base/check.h"
#include "fabric/fabric.h"

const struct sim_endpoint_ops *sim_endpoint_of(const struct fabric *fabric)
{
    static const struct sim_endpoint_ops *const all[] = {[FABRIC_ENDPOINT_NIC] = &sim_endpoint_roce,
                                                         [FABRIC_ENDPOINT_UET] = &sim_endpoint_uet,
                                                         [FABRIC_ENDPOINT_TCP] = &sim_endpoint_tcp};
    const struct sim_endpoint_ops *ops = all[fabric_system(fabric)->endpoint];

    if (ops == &sim_endpoint_roce && fabric_systems_used(fabric) & FABRIC_SYSTEM(FABRIC_TCP)) ops = &sim_endpoint_mixed;
    if (ops == &sim_endpoint_roce && fabric->lanes.vls) ops = &sim_endpoint_ib;
    CHECK(ops != NULL); /* the loader refuses a system that does not run */
    return ops;
}
