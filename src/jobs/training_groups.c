/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of ranks: {tp: 8, pp: 4, dp: 16}.
 *
 * The order in which they are written is the order in which they are laid out: ranks of the first are next to each
 * other, so it is the one that stays within a host.  Sizes multiply to the job's ranks; dp, where it is not named, is
 * what is left.  Experts are shared out within dp.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jobs/training_int.h"

const char *const fabric_group_names[FABRIC_GROUPS] = {
#define X(id, name) name,
    FABRIC_GROUP_LIST(X)
#undef X
};

void groups_default(struct fabric_training *training)
{
    static const uint8_t usual[FABRIC_DIMENSIONS] = {FABRIC_GROUP_TP, FABRIC_GROUP_CP, FABRIC_GROUP_DP,
                                                     FABRIC_GROUP_PP};

    for (uint32_t g = 0; g < FABRIC_GROUPS; g++)
        training->size[g] = 1;
    memcpy(training->order, usual, sizeof(usual));
}

void divisors_text(uint32_t of, char *buf, size_t size)
{
    uint32_t found[8], count = 0;
    size_t used = 0;

    for (uint32_t d = 1; d <= of && count < 8; d++)
        if (of % d == 0) found[count++] = d;
    if (count) found[count - 1] = of; /* the largest is always named */
    buf[0] = 0;
    for (uint32_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%u",
                                 i == 0           ? ""
                                 : i + 1 == count ? " or "
                                                  : ", ",
                                 found[i]);
}

static uint64_t others(const struct fabric_training *training, uint32_t except)
{
    uint64_t product = 1;

    for (uint32_t d = 0; d < FABRIC_DIMENSIONS; d++)
        if (d != except) product *= training->size[d];
    return product;
}

/* Sizes against ranks; dp 0: what is left. */
bool groups_fit(struct loader *loader, struct fabric_at at, uint32_t ranks, struct fabric_training *training)
{
    uint64_t rest = others(training, FABRIC_GROUP_DP), all = rest * training->size[FABRIC_GROUP_DP];
    uint32_t ep = training->size[FABRIC_GROUP_EP];
    char list[96];

    if (training->size[FABRIC_GROUP_DP] == 0 && rest <= ranks && ranks % rest == 0) {
        training->size[FABRIC_GROUP_DP] = ranks / (uint32_t)rest;
    } else if (training->size[FABRIC_GROUP_DP] == 0) {
        divisors_text(ranks, list, sizeof(list));
        read_error(loader, at, "groups: tp %u x cp %u x pp %u = %" PRIu64 " does not divide %u ranks; %s would",
                   training->size[FABRIC_GROUP_TP], training->size[FABRIC_GROUP_CP], training->size[FABRIC_GROUP_PP],
                   rest, ranks, list);
        return false;
    } else if (all != ranks) {
        if (ranks % rest == 0)
            read_error(loader, at,
                       "groups: tp %u x cp %u x pp %u x dp %u = %" PRIu64 ", but there are %u ranks; dp: %u would fit",
                       training->size[FABRIC_GROUP_TP], training->size[FABRIC_GROUP_CP],
                       training->size[FABRIC_GROUP_PP], training->size[FABRIC_GROUP_DP], all, ranks,
                       ranks / (uint32_t)rest);
        else
            read_error(loader, at,
                       "groups: tp %u x cp %u x pp %u x dp %u = %" PRIu64 ", but there are %u ranks; ranks: %" PRIu64
                       " would fit",
                       training->size[FABRIC_GROUP_TP], training->size[FABRIC_GROUP_CP],
                       training->size[FABRIC_GROUP_PP], training->size[FABRIC_GROUP_DP], all, ranks, all);
        return false;
    }
    uint32_t dp = training->size[FABRIC_GROUP_DP];
    if (dp % ep != 0) {
        divisors_text(dp, list, sizeof(list));
        read_error(loader, at, "groups: ep %u does not divide dp %u, within which experts are shared out; %s would", ep,
                   dp, list);
        return false;
    }
    training->size[FABRIC_GROUP_EDP] = dp / ep;
    training->size[FABRIC_GROUP_ALL] = ranks;
    return true;
}

/* Only so many of a group are run. */
static bool cut(struct loader *loader, const struct tree *groups, struct fabric_at at, uint32_t group, uint32_t slice,
                struct fabric_training *training)
{
    uint32_t whole = training->size[group];

    if (slice == 0) return true;
    if (groups && tree_get(groups, fabric_group_names[group]) && slice <= whole) {
        training->size[group] = slice;
        return true;
    }
    read_error(loader, groups ? groups->at : at,
               "slice: %u of %s, but groups has %u of it; what is run is part of what groups says", slice,
               fabric_group_names[group], whole);
    return false;
}

bool groups_read(struct loader *loader, const struct tree *value, struct fabric_at at, uint32_t ranks,
                 uint32_t slice_dp, uint32_t slice_pp, struct fabric_training *training)
{
    static const struct field fields[] = {
        F_VALUE("tp", FIELD_COUNT, struct fabric_training, size[FABRIC_GROUP_TP], 1, 1 << 20),
        F_VALUE("cp", FIELD_COUNT, struct fabric_training, size[FABRIC_GROUP_CP], 1, 1 << 20),
        F_VALUE("dp", FIELD_COUNT, struct fabric_training, size[FABRIC_GROUP_DP], 1, 1 << 20),
        F_VALUE("pp", FIELD_COUNT, struct fabric_training, size[FABRIC_GROUP_PP], 1, 1 << 20),
        F_VALUE("ep", FIELD_COUNT, struct fabric_training, size[FABRIC_GROUP_EP], 1, 1 << 20),
    };
    struct field_set set = {fields, COUNT_OF(fields), training};
    uint32_t count = 0, seen = 0;

    training->size[FABRIC_GROUP_DP] = 0;
    if (value && !read_map(loader, value, "groups", &set, 1)) return false;
    for (const struct tree *item = value ? value->first : NULL; item; item = item->next)
        for (uint8_t d = 0; d < FABRIC_DIMENSIONS; d++)
            if (strcmp(item->key, fabric_group_names[d]) == 0) {
                training->order[count++] = d;
                seen |= 1u << d;
            }
    for (uint8_t d = 0; d < FABRIC_DIMENSIONS; d++) /* those that are not named stand in their usual order */
        if (!(seen >> d & 1)) training->order[count++] = d;
    if (!cut(loader, value, at, FABRIC_GROUP_DP, slice_dp, training) ||
        !cut(loader, value, at, FABRIC_GROUP_PP, slice_pp, training))
        return false;
    return groups_fit(loader, value ? value->at : at, ranks, training);
}
