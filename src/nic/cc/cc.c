/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control: parameters, presets, what adapters are asked for, and the way to each algorithm.
 *
 * What an algorithm is and has is in its own file; nothing here names one.
 */
#include "nic/cc/cc.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"

static const struct cc_algorithm *const algorithms[] = {
#define CC(KIND, name) &cc_algorithm_##name,
#include "nic/cc/list.def"
#undef CC
};

static const struct cc_param params[] = {
#define PARAM(field, kind, text)                                                                                       \
    {.name = #field, .help = text, .unit = CC_UNIT_##kind, .offset = offsetof(struct cc_config, field)},
#include "nic/cc/params.def"
#undef PARAM
};
#define PARAMS (sizeof(params) / sizeof(params[0]))

static const struct cc_algorithm *algorithm_of(const struct cc_config *config)
{
    CHECK(config->kind < CC_KINDS);
    return config->outside ? config->outside : algorithms[config->kind];
}

const struct cc_param *cc_param(size_t index)
{
    if (index < PARAMS) return &params[index];
    index -= PARAMS;
    for (size_t kind = 0; kind < CC_KINDS; kind++)
        for (const struct cc_param *own = algorithms[kind]->param; own && own->name; own++)
            if (index-- == 0) return own;
    return NULL;
}

const char *cc_preset_name(size_t index)
{
    for (size_t kind = 0; kind < CC_KINDS; kind++)
        for (const struct cc_preset *preset = algorithms[kind]->preset; preset->name; preset++)
            if (index-- == 0) return preset->name;
    return NULL;
}

int cc_preset(const char *name, struct cc_config *ret)
{
    for (size_t kind = 0; kind < CC_KINDS; kind++) {
        for (const struct cc_preset *preset = algorithms[kind]->preset; preset->name; preset++) {
            if (strcmp(preset->name, name) != 0) continue;
            *ret = preset->config;
            ret->kind = kind;
            return 0;
        }
    }
    return -ENOENT;
}

const struct cc_param *cc_param_of(const struct cc_config *config, const char *name)
{
    const struct cc_param *param = algorithm_of(config)->param;

    for (; param && param->name; param++)
        if (strcmp(param->name, name) == 0) return param;
    for (size_t i = 0; (param = cc_param(i)) != NULL; i++)
        if (strcmp(param->name, name) == 0) return param;
    return NULL;
}

bool cc_owns(const struct cc_config *config, const struct cc_param *param)
{
    const struct cc_param *own = algorithm_of(config)->param;

    while (own && own->name && own != param)
        own++;
    return own && own->name;
}

/* Parameters in a file of its own are the algorithm's alone: another one's lie in the same place. */
int cc_set(struct cc_config *config, const char *name, uint64_t value)
{
    const struct cc_param *param = cc_param_of(config, name);

    if (param == NULL) return -ENOENT;
    if (param->offset < offsetof(struct cc_config, own) || cc_owns(config, param))
        memcpy((char *)config + param->offset, &value, sizeof(value));
    return 0;
}

const char *cc_invalid(const struct cc_config *config, const char **ret_name)
{
    if (config->kind >= CC_KINDS) {
        *ret_name = "kind";
        return "is no algorithm";
    }
    const struct cc_algorithm *algorithm = algorithm_of(config);
    return algorithm->invalid ? algorithm->invalid(config, ret_name) : NULL;
}

const struct cc_needs *cc_needs(const struct cc_config *config)
{
    return &algorithm_of(config)->needs;
}

uint32_t cc_ask_bytes(const struct cc_config *config)
{
    const struct cc_algorithm *algorithm = algorithm_of(config);
    return algorithm->ask_bytes ? algorithm->ask_bytes(config) : 0; /* who has a window asks with each packet */
}

void nic_config_cc(struct nic_config *config, const struct cc_config *cc, const struct cc_needs *peers)
{
    const struct cc_needs *own = cc_needs(cc);

    config->ecn = own->cnp || own->echo;
    config->cnp_off = !(own->cnp || peers->cnp);
    config->echo_ce = own->echo || peers->echo;
    config->rtt = own->rtt;
    config->telemetry = own->telemetry || peers->telemetry;
    config->cc_state_bytes = own->state_bytes;
    if (cc->min_time_between_cnps) config->cnp_min_gap_ps = cc->min_time_between_cnps;
    config->cnp_per_nic = cc->cnp_per_nic != 0;
    config->cnp_remember = cc->cnp_remember != 0;
}

/* The common window on top of the algorithm's own. */
static void cc_limit_window(struct cc *cc)
{
    uint64_t window = cc->config->window;

    if (window == 0) return;
    if (cc->config->window_scales) window = (uint64_t)((u128)window * cc->rate_bps / cc->line_bps);
    if (window == 0) window = 1;
    if (!cc->owns_window || window < cc->window_bytes) cc->window_bytes = window;
}

void cc_init(struct cc *cc, const struct cc_config *config, uint64_t line_bps, uint16_t packet_bytes, void *beside)
{
    const struct cc_algorithm *algorithm = algorithm_of(config);
    const char *name;

    CHECK(cc_invalid(config, &name) == NULL && packet_bytes > 0);
    *cc = (struct cc){.rate_bps = line_bps,
                      .window_bytes = CC_WINDOW_NONE,
                      .deadline = PS_NEVER,
                      .line_bps = line_bps,
                      .packet_bytes = packet_bytes,
                      .config = config,
                      .algorithm = algorithm,
                      .path = algorithm->needs.telemetry ? beside : NULL,
                      .wants_cnp = algorithm->cnp != NULL,
                      .wants_ack = algorithm->ack != NULL,
                      .wants_loss = algorithm->loss != NULL,
                      .wants_sent = algorithm->sent != NULL,
                      .owns_window = algorithm->window};
    if (algorithm->needs.state_bytes) cc->outside.state = beside;
    if (algorithm->init) algorithm->init(cc);
    cc_limit_window(cc);
}

void cc_on_cnp(struct cc *cc, ps_t now)
{
    if (cc->algorithm->cnp) cc->algorithm->cnp(cc, now);
    cc_limit_window(cc);
}

void cc_on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    if (cc->algorithm->ack) cc->algorithm->ack(cc, ack, now);
    cc_limit_window(cc);
}

void cc_on_loss(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now)
{
    if (cc->algorithm->loss) cc->algorithm->loss(cc, timeout, next_psn, now);
    cc_limit_window(cc);
}

void cc_on_sent(struct cc *cc, uint32_t bytes, ps_t now)
{
    if (cc->algorithm->sent) cc->algorithm->sent(cc, bytes, now);
    cc_limit_window(cc);
}

void cc_on_timer(struct cc *cc, ps_t now)
{
    if (cc->algorithm->timer) cc->algorithm->timer(cc, now);
    cc_limit_window(cc);
}

uint32_t cc_alpha_ppm(const struct cc *cc)
{
    if (cc->algorithm == NULL || cc->algorithm->alpha == NULL) return 0;
    return (uint32_t)(cc->algorithm->alpha(cc) * 1000000 >> 32);
}
