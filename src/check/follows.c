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

static const struct {
    const char *cause, *follows;
    bool noted; /* only where an importer noted it and the cause is a rule's */
} explained[] = {
    /* A tag is looked for where there is none: nothing of the classification can be right. */
    {"MAP003", "MAP001", false},
    {"MAP003", "MAP005", false},
    {"MAP003", "MAP006", false},
    {"MAP003", "MAP008", false},
    {"MAP003", "PFC007", false},
    {"MAP003", "PFC008", false},
    {"MAP001", "PFC008", false},
    {"ECN006", "ECN001", false},
    {"WD002", "WD007", false},
    /* The adapter's PFC is on for another priority than that of RDMA. */
    {"HOST001", "HOST001", true},
    {"HOST001", "HOST004", true},
    {"MTU001", "MTU001", true},
    {"TOP004", "TOP004", true},
    {"MAP006", "MAP006", true},
};
#define EXPLAINED (sizeof(explained) / sizeof(explained[0]))

/* Bit i of a place: the cause of explained[i] was found there. */
static uint32_t place_of(const struct check *check, const struct check_finding *finding, bool device)
{
    const struct fabric *fabric = check->fabric;

    if (finding->node == FABRIC_NONE) return fabric->ports + fabric->nodes;
    const struct fabric_node *node = &fabric->node[finding->node];
    return device || finding->number >= node->ports ? fabric->ports + finding->node
                                                    : node->first_port + finding->number;
}

static uint32_t causes_of(const struct check_finding *finding)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < EXPLAINED; i++)
        if (strcmp(explained[i].cause, check_rules[finding->rule].id) == 0 && !(explained[i].noted && finding->noted))
            bits |= 1u << i;
    return bits;
}

static bool is_explained(const struct check_finding *finding, uint32_t causes)
{
    for (uint32_t i = 0; i < EXPLAINED; i++)
        if (causes >> i & 1 && strcmp(explained[i].follows, check_rules[finding->rule].id) == 0 &&
            (!explained[i].noted || finding->noted))
            return true;
    return false;
}

int check_fold_consequences(struct check *check)
{
    _Static_assert(EXPLAINED <= 32, "a bit for each");
    uint32_t *causes = ARENA_NEW(&check->arena, uint32_t, check->fabric->ports + check->fabric->nodes + 1), kept = 0;

    if (!causes) return -ENOMEM;
    for (uint32_t f = 0; f < check->findings; f++)
        causes[place_of(check, &check->finding[f], false)] |= causes_of(&check->finding[f]);
    for (uint32_t f = 0; f < check->findings; f++) {
        const struct check_finding *as = &check->finding[f];
        uint32_t here = causes[place_of(check, as, false)] | causes[place_of(check, as, true)];
        if (!is_explained(as, here)) check->finding[kept++] = *as;
    }
    check->findings = kept;
    return 0;
}
