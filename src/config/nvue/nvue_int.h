/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVUE: what its two spellings and its two directions share.  Private to src/config/nvue*.c.
 */
#ifndef ROCELAB_CONFIG_NVUE_NVUE_INT_H
#define ROCELAB_CONFIG_NVUE_NVUE_INT_H

#include "config/config.h"

/* `link mtu` is of what the Ethernet header carries; the fabric's is a whole tagged frame without FCS. */
#define NVUE_MTU_OVER 18u
#define NVUE_MTU_MIN 552u
#define NVUE_MTU_MAX 9216u
#define NVUE_MTU_DEFAULT 9216u
#define NVUE_CABLE_DEFAULT_M 100u
#define NVUE_POLL_DEFAULT_MS 100u
#define NVUE_ROBUSTNESS_DEFAULT 3u
#define NVUE_POLL_MIN_MS 100u
#define NVUE_POLL_MAX_MS 5000u
#define NVUE_ROBUSTNESS_MAX 1000u
#define NVUE_ROCE_MIN 150000u /* bytes: marking of `qos roce` */
#define NVUE_ROCE_MAX 1500000u
#define NVUE_POOL_LEAST 10u /* percent of the memory, of either pool */
#define NVUE_RATE_STEP 1000000000u

#define NVUE_WORDS 16
struct nvue_fact {                /* `nv set` without its two words; or the keys of a YAML value and the value */
    const char *word[NVUE_WORDS]; /* behind the last: "" */
    uint32_t words;
    uint32_t line;
    uint32_t head; /* where its second key stands: an interface's name, in YAML a line of its own */
};

struct nvue_facts {
    struct nvue_fact *fact;
    uint32_t count, room;
    struct arena *arena;
};

/* YAML (`- set:`) or a list of `nv set` commands.  0 or -EINVAL with errors. */
int nvue_facts_read(struct config_set *set, const struct config_text *text, struct arena *arena,
                    struct nvue_facts *ret);
/* Does it begin with these words?  `*` is any. */
bool nvue_says(const struct nvue_fact *fact, const char *path);
bool nvue_is_commands(const char *text, size_t length);

int nvue_import(struct config_set *set, const struct config_text *text);
int nvue_emit_yaml(const struct config_emit *emit);
int nvue_emit_commands(const struct config_emit *emit);
int nvue_fix(const struct fix *fix); /* `nv set` and `nv unset` */

#endif
