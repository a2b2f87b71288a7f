/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of switch models, out of models.def, and the products that have them, out of products.def.
 */
#include "fabric/qos/models.h"

#include <string.h>

#include "base/nearest.h"

#define S false
#define A true
#define MODEL(name_, buffer_, buffer_from, cell_, cell_from, ports_, rate_, most_, most_from, latency_, latency_from,  \
              source_)                                                                                                 \
    {                                                                                                                  \
        .name = name_,                                                                                                 \
        .buffer_bytes = buffer_,                                                                                       \
        .cell_bytes = cell_,                                                                                           \
        .ports = ports_,                                                                                               \
        .rate_gbps = rate_,                                                                                            \
        .ports_most = most_,                                                                                           \
        .latency_ns = latency_,                                                                                        \
        .buffer_assumed = buffer_from,                                                                                 \
        .cell_assumed = cell_from,                                                                                     \
        .ports_assumed = most_from,                                                                                    \
        .latency_assumed = latency_from,                                                                               \
        .source = source_,                                                                                             \
    },
const struct switch_model switch_models[] = {
#include "fabric/qos/models.def"
};
#undef MODEL
#undef A
#undef S

const uint32_t switch_model_count = sizeof(switch_models) / sizeof(switch_models[0]);

const struct switch_model *switch_model_find(const char *name)
{
    for (uint32_t i = 0; i < switch_model_count; i++)
        if (strcmp(switch_models[i].name, name) == 0) return &switch_models[i];
    return NULL;
}

static const struct {
    const char *part, *model;
} products[] = {
#define PRODUCT(part, model) {part, model},
#include "fabric/qos/products.def"
#undef PRODUCT
};

const struct switch_model *switch_model_of_product(const char *name)
{
    for (size_t p = 0; p < sizeof(products) / sizeof(products[0]); p++)
        if (strcasestr(name, products[p].part)) return switch_model_find(products[p].model);
    return NULL;
}

const char *switch_model_nearest(const char *name)
{
    struct nearest nearest;

    nearest_init(&nearest, name);
    for (uint32_t m = 0; m < switch_model_count; m++)
        nearest_try(&nearest, switch_models[m].name);
    for (size_t p = 0; p < sizeof(products) / sizeof(products[0]); p++)
        nearest_try(&nearest, products[p].part);
    return nearest.word;
}
