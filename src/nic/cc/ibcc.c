/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InfiniBand's congestion control, at the adapter that sends (volume 1, annex A10).
 *
 * A packet marked FECN on its way is answered with BECN (a CNP here); each BECN raises the queue pair's index into the
 * congestion control table (CCTI) by ibcc_increase, up to ibcc_limit, and each ibcc_timer lowers it by one, down to
 * ibcc_min.  An entry says for how many of its own line times a packet is followed by silence: entry i of our table is
 * i * ibcc_step / 16 + i^2 * ibcc_square / 65536, and the rate is the line's over 1 + entry.
 *
 * Real tables are filled by the subnet manager, and may have any values.  The default's entry i is i; that of
 * ibcc/quadratic is the table of a public model of an adapter (i^2 * 0.479 ns for packets of 512 ns, timer 10 to 30
 * us).  Where a real adapter counts by service level, ours counts by queue pair.
 */
#include "base/wide.h"
#include "nic/cc/algorithm.h"

#define STEP_ONE 16u
#define ENTRY_ONE 65536u
#define INDEX_MAX 16383u

struct params { /* in cc_config.own */
    uint64_t ibcc_increase, ibcc_limit, ibcc_min, ibcc_timer, ibcc_step, ibcc_square;
};
_Static_assert(sizeof(struct params) <= CC_OWN_PARAMS * sizeof(uint64_t), "they lie there");

struct state { /* in cc.own */
    uint64_t index;
};

static const struct cc_param own_params[] = {
    CC_OWN_PARAM(struct params, ibcc_increase, COUNT, "added to the index (CCTI) by each BECN"),
    CC_OWN_PARAM(struct params, ibcc_limit, COUNT, "upper limit of the index"),
    CC_OWN_PARAM(struct params, ibcc_min, COUNT, "lower limit of the index"),
    CC_OWN_PARAM(struct params, ibcc_timer, TIME, "time after which the index falls by one"),
    CC_OWN_PARAM(struct params, ibcc_step, COUNT,
                 "entry i of the table is i times this, in 16ths of a packet's line time"),
    CC_OWN_PARAM(struct params, ibcc_square, COUNT, "and i squared times this, in 65536ths"),
    {.name = NULL},
};

static const struct params *params_of(const struct cc *cc)
{
    return (const struct params *)(const void *)cc->config->own;
}

static struct state *state_of(struct cc *cc)
{
    return (struct state *)(void *)cc->own;
}

static void use_index(struct cc *cc, uint64_t index)
{
    const struct params *p = params_of(cc);
    uint64_t entry = index * p->ibcc_step * (ENTRY_ONE / STEP_ONE) + index * index * p->ibcc_square;

    state_of(cc)->index = index;
    cc->rate_bps = (uint64_t)((u128)cc->line_bps * ENTRY_ONE / (ENTRY_ONE + entry));
}

static void init(struct cc *cc)
{
    use_index(cc, params_of(cc)->ibcc_min);
}

static void on_cnp(struct cc *cc, ps_t now)
{
    const struct params *p = params_of(cc);
    uint64_t index = state_of(cc)->index + p->ibcc_increase;

    use_index(cc, index < p->ibcc_limit ? index : p->ibcc_limit);
    if (cc->deadline == PS_NEVER) cc->deadline = ps_add(now, p->ibcc_timer);
}

static void on_timer(struct cc *cc, ps_t now)
{
    const struct params *p = params_of(cc);
    uint64_t index = state_of(cc)->index;

    if (index > p->ibcc_min) use_index(cc, --index);
    cc->deadline = index > p->ibcc_min ? ps_add(now, p->ibcc_timer) : PS_NEVER;
}

static uint64_t alpha(const struct cc *cc)
{
    const struct state *state = (const struct state *)(const void *)cc->own;
    uint64_t limit = params_of(cc)->ibcc_limit;

    return limit ? (state->index << 32) / limit : 0;
}

static const char *invalid(const struct cc_config *c, const char **ret_name)
{
    const struct params *p = (const struct params *)(const void *)c->own;

    REFUSE_IF(p->ibcc_limit > INDEX_MAX, "ibcc_limit", "is at most 16383");
    REFUSE_IF(p->ibcc_min > p->ibcc_limit, "ibcc_min", "is at most ibcc_limit");
    REFUSE_IF(p->ibcc_increase > INDEX_MAX, "ibcc_increase", "is at most 16383");
    REFUSE_IF(p->ibcc_timer < PS_NS || p->ibcc_timer > PS_S, "ibcc_timer", "is 1 ns to 1 s");
    REFUSE_IF(p->ibcc_square > 65536, "ibcc_square", "is at most 65536: entry i is i squared then");
    REFUSE_IF(p->ibcc_step > 256, "ibcc_step", "is at most 256: 16 line times an entry");
    return NULL;
}

/* Each marked packet is answered: no time between two CNPs. */
static const struct cc_preset presets[] = {
    {"ibcc/default",
     {.min_time_between_cnps = 1, .own = {1, 127, 0, 150 * 1024 * PS_NS, STEP_ONE, 0}}}, /* in the order of params */
    {"ibcc/quadratic", {.min_time_between_cnps = 1, .own = {1, 127, 0, 20 * PS_US, 0, 61}}},
    {.name = NULL},
};

const struct cc_algorithm cc_algorithm_ibcc = {
    .preset = presets,
    .param = own_params,
    .needs = {.cnp = true},
    .invalid = invalid,
    .init = init,
    .cnp = on_cnp,
    .timer = on_timer,
    .alpha = alpha,
};
