/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch models a fabric file can name (models.def).
 */
#ifndef ROCELAB_FABRIC_QOS_MODELS_H
#define ROCELAB_FABRIC_QOS_MODELS_H

#include <stdbool.h>
#include <stdint.h>

struct switch_model {
    const char *name;
    uint64_t buffer_bytes;
    uint32_t cell_bytes;
    uint32_t ports; /* 0: no limit on capacity */
    uint32_t rate_gbps;
    uint32_t ports_most;
    uint32_t latency_ns;
    bool buffer_assumed, cell_assumed, ports_assumed, latency_assumed;
    const char *source;
};

#define SWITCH_MODEL_DEFAULT "generic"
extern const struct switch_model switch_models[];
extern const uint32_t switch_model_count;
const struct switch_model *switch_model_find(const char *name); /* NULL: none of that name */
/* The chip of a product by its name, as in `DCS-7060X6-64PE` or `ACS-MSN3700`; NULL: not known. */
const struct switch_model *switch_model_of_product(const char *name);
/* The model or product that a mistyped name may stand for, in the words of the lists; NULL: none is near. */
const char *switch_model_nearest(const char *name);

#endif
