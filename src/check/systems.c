/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rules there are under which system.  A rule about pauses has nothing to say where nobody pauses, and what it
 * would say of a fabric without them would be wrong.
 */
#include <string.h>

#include "check/rule.h"

#define ROCE (FABRIC_SYSTEM(FABRIC_ROCEV2) | FABRIC_SYSTEM(FABRIC_ROCEV1))
#define HELD_BACK (ROCE | FABRIC_SYSTEM(FABRIC_INFINIBAND) | FABRIC_SYSTEM(FABRIC_UET)) /* by pauses or credits */
#define TCP (FABRIC_SYSTEM(FABRIC_TCP) | FABRIC_SYSTEM(FABRIC_IWARP))

static const struct {
    const char *rules; /* by how their names begin; the first that fits holds */
    uint32_t systems;
} scope[] = {
    {"PFC", ROCE},
    {"WD", ROCE},
    {"HR", ROCE},
    {"BUF", ROCE},
    {"ECN", FABRIC_SYSTEM(FABRIC_ROCEV2)},
    {"MAP005", FABRIC_SYSTEM(FABRIC_ROCEV2)}, /* CNPs */
    {"MAP006", FABRIC_SYSTEM(FABRIC_ROCEV2)},
    {"HOST003", FABRIC_SYSTEM(FABRIC_ROCEV2)},            /* a GID of RoCEv2 */
    {"HOST004", FABRIC_SYSTEM(FABRIC_ROCEV2)},            /* DCQCN */
    {"HOST006", FABRIC_SYSTEM(FABRIC_ROCEV2) | TCP},      /* flows that a hash spreads */
    {"HOST008", ROCE | FABRIC_SYSTEM(FABRIC_INFINIBAND)}, /* a gap is a loss */
    {"HOST", ROCE},
    {"MTU", ROCE},
    {"CRD", ROCE | FABRIC_SYSTEM(FABRIC_INFINIBAND) | FABRIC_SYSTEM(FABRIC_UET)}, /* where links have credits */
    {"TRM", FABRIC_SYSTEM(FABRIC_UET)},
    {"TOP001", HELD_BACK}, /* buffers that wait for each other */
    {"TOP002", HELD_BACK},
    {"TOP003", ROCE},
    {"TOP004", FABRIC_SYSTEM(FABRIC_ROCEV2) | FABRIC_SYSTEM(FABRIC_UET) | TCP}, /* a source port */
};

bool rule_applies(const struct fabric *fabric, uint32_t rule)
{
    for (size_t i = 0; i < sizeof(scope) / sizeof(scope[0]); i++)
        if (strncmp(check_rules[rule].id, scope[i].rules, strlen(scope[i].rules)) == 0)
            return scope[i].systems & fabric_systems_used(fabric);
    return true;
}

uint32_t packet_overhead_bytes(const struct fabric *fabric)
{
    uint32_t ipv4 = fabric_systems[FABRIC_ROCEV2].header_bytes;

    return ROCE_OVERHEAD_BYTES + fabric_system(fabric)->header_bytes - ipv4;
}
