/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch's buffer as NVUE divides it: traffic pools, and what advance-buffer-config changes of them.
 *
 * Without `qos roce` all of the buffer is in the pool default-lossy until default-lossless gets a part: PFC then pauses
 * for a buffer that is lossy.  With `qos roce` the pool is roce-lossless, and half of the buffer.
 */
#include <string.h>

#include "config/nvue/read.h"

static struct nvue_pool *pool_of(struct nvue *in, const char *name)
{
    for (uint32_t i = 0; i < in->pools; i++)
        if (strcmp(in->pool[i].name, name) == 0) return &in->pool[i];
    if (in->pools == POOLS) return NULL;
    in->pool[in->pools] = (struct nvue_pool){.name = name, .percent = -1};
    return &in->pool[in->pools++];
}

bool nvue_read_pool(struct nvue *in, const struct nvue_fact *fact)
{
    struct nvue_pool *pool = fact->words > 2 ? pool_of(in, fact->word[2]) : NULL;

    if (!pool) return false;
    if (fact->words < 5) return true;
    if (strcmp(fact->word[3], "memory-percent") == 0) {
        if (nvue_value(in, fact, 4, 0, 100, &pool->percent)) pool->percent_line = fact->line;
        return true;
    }
    if (strcmp(fact->word[3], "switch-priority") != 0) return false;
    pool->priorities |= (unsigned)nvue_bits(fact->word[4], FABRIC_PRIOS);
    pool->priorities_line = fact->line;
    return true;
}

/* `alpha_1_8` as 1/8, `alpha_4` as 4; false: infinite, 0 or none of them. */
static bool alpha_text(const char *word, char ret[16])
{
    const char *digits = strncmp(word, "alpha_", 6) == 0 ? word + 6 : "";
    size_t first = strspn(digits, "0123456789");
    const char *second = digits[first] == '_' ? digits + first + 1 : NULL;

    if (first == 0 || first > 4 || digits[0] == '0') return false;
    if (!second) return !digits[first] && snprintf(ret, 16, "%s", digits) > 0;
    if (strspn(second, "0123456789") != strlen(second) || strlen(second) > 4 || second[0] == '0') return false;
    return snprintf(ret, 16, "%.*s/%s", (int)first, digits, second) > 0;
}

bool nvue_read_buffer(struct nvue *in, const struct nvue_fact *fact)
{
    if (fact->words < 6) return fact->words < 4;
    const char *part = fact->word[3], *key = fact->word[4];
    if (strcmp(part, "ingress-lossless-buffer") == 0 && strcmp(key, "shared-alpha") == 0) {
        in->alpha_line = fact->line;
        return alpha_text(fact->word[5], in->alpha);
    }
    if (strcmp(part, "egress-lossy-buffer") != 0 || strcmp(key, "traffic-class") != 0 || fact->words < 8) return false;
    unsigned bits = (unsigned)nvue_bits(fact->word[5], FABRIC_PRIOS);
    bool good = strcmp(fact->word[6], "shared-alpha") == 0 && bits;
    for (unsigned q = 0; q < FABRIC_PRIOS && good; q++) {
        if (!(bits >> q & 1)) continue;
        good = alpha_text(fact->word[7], in->lossy_alpha[q]);
        in->lossy_alpha_line[q] = fact->line;
    }
    return good;
}

/* Where a port turns PFC on for this priority: the first that is up. */
static uint32_t at_pauses(struct nvue *in, unsigned bits)
{
    for (uint32_t p = 0; p < in->ports; p++)
        if (!in->port[p].off && (in->port[p].pfc & bits)) return config_said_at(in->set, in->device, p, "pfc.tx").line;
    return 1;
}

static void judge_sum(struct nvue *in)
{
    int64_t sum = 0, most = -1;
    uint32_t last = 0, largest = 0;
    bool lossy = false, lossless = false;

    for (uint32_t i = 0; i < in->pools; i++) {
        if (in->pool[i].percent < 0) continue;
        sum += in->pool[i].percent;
        lossy = lossy || strcmp(in->pool[i].name, "default-lossy") == 0;
        lossless = lossless || strstr(in->pool[i].name, "lossless") != NULL;
        if (in->pool[i].percent_line > last) last = in->pool[i].percent_line;
        if (in->pool[i].percent > most) most = in->pool[i].percent, largest = in->pool[i].percent_line;
    }
    if (!last) return;
    if (!lossy && !in->roce) sum += 100;
    if (sum > 100)
        NOTE(in, largest, "SYN001", CONFIG_NONE,
             "the traffic pools take %lld %% of the buffer%s: NVUE refuses more than 100", (long long)sum,
             lossy || in->roce ? "" : ", 100 of them default-lossy, which is not given less");
    else if (sum < 100 && lossy && lossless)
        NOTE(in, last, "BUF001", CONFIG_NONE,
             "the traffic pools take %lld %% of the buffer: the rest is used by nobody", (long long)sum);
}

#define PERCENT_LEAST 10 /* of the buffer, for what is without loss */

/* A watchdog or a lossless pool is wanted where something pauses: what is missing is told where it was left out. */
static void judge_no_pauses(struct nvue *in, const struct nvue_pool *lossless)
{
    uint32_t watched = 0;

    for (uint32_t p = 0; p < in->ports && !watched; p++)
        if (in->port[p].watchdog && !in->port[p].off) watched = in->port[p].watchdog_line;
    uint32_t pool = lossless && lossless->percent > 0 ? lossless->percent_line : 0;
    uint32_t wanted = watched ? watched : pool;
    if (!wanted || !in->whole) return;
    uint32_t line = in->lossy_line ? in->lossy_line : in->roce_off_line ? in->roce_off_line : wanted;
    NOTE(in, line, "PFC002", CONFIG_NONE, "no port has PFC%s, and line %u has %s for it",
         in->lossy_line ? " in this mode of RoCE" : "", wanted, watched ? "a watchdog" : "a lossless pool");
}

void nvue_judge_pools(struct nvue *in)
{
    const struct nvue_pool *lossless = NULL;
    unsigned pauses = 0;

    for (uint32_t p = 0; p < in->ports; p++)
        pauses |= in->port[p].off ? 0 : in->port[p].pfc;
    for (uint32_t i = 0; i < in->pools; i++)
        if (strstr(in->pool[i].name, "lossless")) lossless = &in->pool[i];
    judge_sum(in);
    if (!pauses) judge_no_pauses(in, lossless);
    if (!pauses) return;
    if (lossless && lossless->percent == 0)
        NOTE(in, lossless->percent_line, "HR007", CONFIG_NONE, "PFC is on, and the pool %.40s has none of the buffer",
             lossless->name);
    else if (lossless && lossless->percent > 0 && lossless->percent < PERCENT_LEAST)
        CAUTION(in, lossless->percent_line, "HR007", CONFIG_NONE,
                "PFC is on, and the pool %.40s has %lld %% of the buffer: it pauses almost at once", lossless->name,
                (long long)lossless->percent);
    else if (!in->roce && (!lossless || lossless->percent < 0) && in->whole)
        NOTE(in, at_pauses(in, pauses), "HR007", CONFIG_NONE,
             "PFC is on, and no traffic-pool default-lossless has a part of the buffer: all of it is lossy");
    else if (!in->roce && (!lossless || lossless->percent < 0))
        UNJUDGED(in, 1, "HR007", CONFIG_NONE, "the traffic pools are not in this text");
    if (lossless && lossless->priorities && (pauses & ~lossless->priorities))
        NOTE(in, lossless->priorities_line, "HR007", CONFIG_NONE,
             "PFC is on for priority %u, which is not of the pool %.40s",
             (unsigned)__builtin_ctz(pauses & ~lossless->priorities), lossless->name);
    for (uint32_t i = 0; i < in->pools; i++) {
        unsigned both = strstr(in->pool[i].name, "lossy") ? in->pool[i].priorities & pauses : 0;
        if (both)
            NOTE(in, in->pool[i].priorities_line, "HR007", CONFIG_NONE,
                 "PFC is on for priority %u, which is of the pool %.40s", (unsigned)__builtin_ctz(both),
                 in->pool[i].name);
    }
}
