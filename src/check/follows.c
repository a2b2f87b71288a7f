/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One mistake is one finding: what only follows from another finding on the same port is dropped.
 *
 * The rules stay simple this way: each says what it sees, and here is written down what explains what.  What an
 * importer noted and a rule has found by itself is told once, as the rule says it.
 */
#include <errno.h>
#include <string.h>

#include "check/rule.h"

enum made { ANY, A_NOTE, A_RULE }; /* by an importer, by a rule */

static const struct {
    const char *cause;
    const char *path; /* has this in it; NULL: any */
    uint8_t cause_is; /* enum made */
    const char *follows;
    const char *follows_path;
    uint8_t follows_is;
} explained[] = {
    /* PFC is on for a priority that RDMA is not in. */
    {"PFC001", NULL, ANY, "PFC010", NULL, ANY},
    {"HOST001", "pfc", A_RULE, "PFC010", NULL, ANY},
    {"PFC007", NULL, A_NOTE, "PFC010", NULL, ANY}, /* an importer knows the line */
    {"PFC010", NULL, ANY, "PFC007", NULL, A_RULE},
    {"PFC010", NULL, ANY, "PFC008", NULL, ANY},
    {"PFC010", NULL, ANY, "HR007", NULL, ANY},
    {"PFC010", NULL, ANY, "ECN001", NULL, ANY},
    {"PFC010", "pfc", ANY, "MAP001", NULL, ANY},
    {"PFC010", "lossless", ANY, "MAP001", NULL, ANY},
    {"MAP001", "dscp-map", A_RULE, "PFC010", "dscp-map", ANY}, /* it names the class */
    {"MAP001", NULL, A_NOTE, "PFC010", "dscp-map", ANY},
    {"PFC010", "pfc", ANY, "MAP008", NULL, ANY},
    {"PFC010", NULL, ANY, "WD004", NULL, ANY},
    {"PFC010", NULL, ANY, "WD006", NULL, ANY},
    {"PFC010", NULL, ANY, "HOST001", NULL, A_NOTE},
    {"PFC010", NULL, ANY, "HOST004", NULL, ANY},
    {"PFC010", NULL, ANY, "SIB001", NULL, A_NOTE},
    {"PFC010", NULL, ANY, "SIB001", "pfc", A_RULE}, /* not what it trusts, nor its frames */
    {"PFC010", NULL, ANY, "SIB001", "classes", A_RULE},
    {"PFC010", NULL, ANY, "SIB001", "-map", A_RULE},
    {"PFC010", NULL, ANY, "SIB001", "watched", A_RULE},
    {"PFC010", NULL, ANY, "BUF002", NULL, ANY},
    {"PFC010", NULL, ANY, "SCH001", NULL, ANY},
    /* A tag is looked for where there is none: nothing of the classification can be right. */
    {"MAP003", NULL, ANY, "MAP001", NULL, ANY},
    {"MAP003", NULL, ANY, "MAP005", NULL, ANY},
    {"MAP003", NULL, ANY, "MAP006", NULL, ANY},
    {"MAP003", NULL, ANY, "MAP008", NULL, ANY},
    {"MAP003", NULL, ANY, "PFC007", NULL, ANY},
    {"MAP003", NULL, ANY, "PFC008", NULL, ANY},
    {"MAP003", NULL, A_NOTE, "MAP003", NULL, A_RULE},
    {"SIB001", "trust", ANY, "MAP001", NULL, ANY},
    {"SIB001", "trust", ANY, "MAP008", NULL, ANY},
    {"MAP001", NULL, ANY, "PFC008", NULL, ANY},
    /* The class is in another queue: what that one is set to is meant for others. */
    {"MAP001", "queue-map", ANY, "PFC007", NULL, A_NOTE},
    {"MAP001", "queue-map", ANY, "ECN001", NULL, ANY},
    {"MAP001", "queue-map", ANY, "BUF002", NULL, ANY},
    {"MAP001", "queue-map", ANY, "SCH001", NULL, ANY},
    {"MAP001", "queue-map", ANY, "SCH002", NULL, ANY},
    {"SCH002", NULL, ANY, "SCH001", NULL, A_RULE}, /* its share is gone */
    {"MAP008", NULL, ANY, "SCH001", NULL, A_RULE},
    /* Another priority is paused: the class is then lossy, and a queue is watched that nobody meant. */
    {"PFC001", NULL, ANY, "MAP001", ".lossless", ANY},
    {"PFC001", NULL, ANY, "WD006", NULL, ANY},
    {"ECN006", NULL, ANY, "ECN001", NULL, ANY},
    {"ECN002", NULL, ANY, "ECN001", NULL, A_RULE},
    {"ECN004", NULL, ANY, "ECN005", NULL, ANY},
    {"WD002", NULL, ANY, "WD003", NULL, A_RULE}, /* timers that cannot be are unlike others too */
    {"PFC002", NULL, A_NOTE, "HR007", NULL, ANY},
    {"PFC002", NULL, A_NOTE, "ECN001", NULL, ANY},
    {"PFC002", NULL, A_NOTE, "LAG001", NULL, ANY},
    {"ECN002", NULL, ANY, "ECN004", NULL, ANY},
    /* Headroom for a priority that is not paused: another one is. */
    {"HR007", NULL, ANY, "PFC008", NULL, ANY},
    {"HR007", NULL, ANY, "WD004", NULL, ANY},
    {"WD002", NULL, ANY, "WD007", NULL, ANY},
    {"HR002", NULL, ANY, "HR004", NULL, ANY},
    /* The adapter's PFC is on for another priority than that of RDMA. */
    {"HOST001", NULL, A_RULE, "HOST001", NULL, A_NOTE},
    {"HOST001", "pfc", A_RULE, "HOST004", NULL, ANY},
    {"MTU001", NULL, A_RULE, "MTU001", NULL, A_NOTE},
    {"MTU001", NULL, ANY, "SIB001", NULL, A_NOTE},
    {"TOP004", NULL, A_RULE, "TOP004", NULL, A_NOTE},
    {"MAP005", NULL, A_NOTE, "MAP006", NULL, A_RULE},
    {"MAP006", NULL, A_RULE, "MAP006", NULL, A_NOTE},
};
#define EXPLAINED (sizeof(explained) / sizeof(explained[0]))

static bool is_one(const struct check_finding *finding, const char *rule, const char *path, uint8_t made)
{
    if (strcmp(rule, check_rules[finding->rule].id) != 0) return false;
    if (made != ANY && (made == A_NOTE) != finding->noted) return false;
    return !path || (finding->path && strstr(finding->path, path));
}

static uint64_t causes_of(const struct check_finding *finding)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < EXPLAINED; i++)
        if (is_one(finding, explained[i].cause, explained[i].path, explained[i].cause_is)) bits |= UINT64_C(1) << i;
    return bits;
}

static bool is_explained(const struct check_finding *finding, uint64_t causes)
{
    for (uint32_t i = 0; i < EXPLAINED; i++)
        if (causes >> i & 1 &&
            is_one(finding, explained[i].follows, explained[i].follows_path, explained[i].follows_is))
            return true;
    return false;
}

/* Causes by place: what was found on a port, on a device as a whole, and anywhere on a device. */
struct places {
    uint64_t *port, *device, *anywhere;
};

static uint32_t port_at(const struct check *check, const struct check_finding *finding)
{
    const struct fabric_node *node = &check->fabric->node[finding->node];

    return finding->number < node->ports ? node->first_port + finding->number : FABRIC_NONE;
}

static void keep_causes(const struct check *check, struct places *places, const struct check_finding *finding)
{
    uint64_t bits = causes_of(finding);
    uint32_t port = port_at(check, finding);

    places->anywhere[finding->node] |= bits;
    if (port != FABRIC_NONE) places->port[port] |= bits;
    if (port == FABRIC_NONE) places->device[finding->node] |= bits;
}

void check_fold_consequences(struct check *check)
{
    _Static_assert(EXPLAINED <= 64, "a bit for each");
    struct places places = {ARENA_NEW(&check->arena, uint64_t, check->fabric->ports + 1),
                            ARENA_NEW(&check->arena, uint64_t, check->fabric->nodes + 1),
                            ARENA_NEW(&check->arena, uint64_t, check->fabric->nodes + 1)};
    uint32_t kept = 0;

    for (uint32_t f = 0; f < check->findings; f++)
        if (check->finding[f].node != FABRIC_NONE) keep_causes(check, &places, &check->finding[f]);
    for (uint32_t f = 0; f < check->findings; f++) {
        const struct check_finding *as = &check->finding[f];
        uint64_t causes = 0;
        uint32_t port = as->node == FABRIC_NONE ? FABRIC_NONE : port_at(check, as);
        if (port != FABRIC_NONE)
            causes = places.port[port] | places.device[as->node];
        else if (as->node != FABRIC_NONE)
            causes = places.anywhere[as->node];
        if (!is_explained(as, causes)) check->finding[kept++] = *as;
    }
    check->findings = kept;
}
