/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads `uet:`: Ultra Ethernet's settings.  After the classes, which it may name.
 *
 * What is not said is the specification's choice, or the peer's under `model: uet-htsim`; numbers that follow from the
 * line (windows, targets) are not settings and are made where the endpoints are.
 */
#include "fabric/uet.h"

#include <string.h>

#include "base/bits.h"
#include "fabric/fabric.h"
#include "fabric/file/read.h"
#include "fabric/qos/settings.h"

#define PATHS_MAX 1024u

static const char *const controls[] = {"nscc", "rccc", "both", NULL};
static const char *const policies[] = {"oblivious", "bitmap", "reps", "mixed", NULL};
static const char *const orders[] = {"rud", "rod", NULL};
static const char *const headers[] = {"standard", "medium", "small", "native", NULL};
/* SES of 44, 32 and 20 bytes; an entropy header of 4 bytes in the place of UDP's 8. */
static const struct {
    uint8_t data, control;
} less[] = {{0, 0}, {12, 0}, {24, 0}, {4, 4}};

struct raw {
    uint8_t control, policy, ordering, headers;
    uint64_t paths, retries, ack_bytes, rto_ps, base_rtt_ps;
    bool infer_loss, oversubscribed;
    const struct tree *control_class;
};

static void read_control_class(struct loader *loader, const struct tree *value, void *into)
{
    (void)loader;
    ((struct raw *)into)->control_class = value;
}

/* The class that ACKs, NACKs and credits go in: the file's word, else one that is called so. */
static uint32_t control_class(struct loader *loader, const struct tree *named)
{
    static const char *const usual[] = {"control", "cnp"};
    const struct fabric *fabric = loader->fabric;

    if (named) return class_find(loader, named);
    for (uint32_t i = 0; i < COUNT_OF(usual); i++)
        for (uint32_t c = 0; c < fabric->class_count; c++)
            if (strcmp(fabric->classes[c].name, usual[i]) == 0) return c;
    return FABRIC_NONE;
}

/* Whether switches trim, and how a packet tells that the last one did. */
static bool trims(const struct fabric *fabric, uint8_t *ret_last_hop_dscp)
{
    bool any = false;

    *ret_last_hop_dscp = UINT8_MAX;
    for (uint32_t s = 0; s < fabric->settings_count; s++) {
        for (uint32_t p = 0; p < FABRIC_PRIOS; p++) {
            const struct sw_trim *trim = &fabric->settings[s].queue[p].trim;
            if (trim->bytes == 0) continue;
            any = true;
            if (trim->last_hop_dscp != trim->dscp) *ret_last_hop_dscp = trim->last_hop_dscp;
        }
    }
    return any;
}

/* Where no class is Ultra Ethernet's either, system_keys.c has said so. */
static bool is_ours(struct loader *loader, const struct tree *map)
{
    const struct fabric *fabric = loader->fabric;

    if (fabric->system == FABRIC_UET || map == NULL) return true;
    if (fabric_systems_used(fabric) & FABRIC_SYSTEM(FABRIC_UET))
        read_error(loader, map->key_at, "'uet' belongs to Ultra Ethernet; this file is of %s: write 'system: uet'",
                   fabric_system(fabric)->title);
    return false;
}

void uet_load(struct loader *loader)
{
    static const struct field fields[] = {
        F_CHOICE("cc", struct raw, control, controls),
        F_CHOICE("policy", struct raw, policy, policies),
        F_CHOICE("ordering", struct raw, ordering, orders),
        F_CHOICE("headers", struct raw, headers, headers),
        F_VALUE("paths", FIELD_COUNT, struct raw, paths, 1, PATHS_MAX),
        F_VALUE("ack", FIELD_SIZE, struct raw, ack_bytes, 1, 1 << 20),
        F_VALUE("rto", FIELD_TIME, struct raw, rto_ps, PS_US, PS_S),
        F_VALUE("retries", FIELD_COUNT, struct raw, retries, 0, 15),
        F_VALUE("base-rtt", FIELD_TIME, struct raw, base_rtt_ps, 100 * PS_NS, PS_S),
        F_VALUE("infer-loss", FIELD_BOOL, struct raw, infer_loss, 0, 0),
        F_VALUE("oversubscribed", FIELD_BOOL, struct raw, oversubscribed, 0, 0),
        F_CALL("control-class", read_control_class),
    };
    const struct tree *map = loader->part[PART_UET];
    bool htsim = loader->fabric->behaviour == FABRIC_UET_HTSIM;
    struct raw raw = {.policy = FABRIC_UET_MIXED, .paths = 64, .retries = NOT_GIVEN, .ack_bytes = 16384};
    struct field_set set = {fields, COUNT_OF(fields), &raw};
    uint8_t last_hop_dscp;
    bool trimming = trims(loader->fabric, &last_hop_dscp);

    if (!is_ours(loader, map)) return;
    if (map && !read_map(loader, map, "uet", &set, 1)) return;
    if (!is_power_of_two(raw.paths))
        read_error(loader, tree_get(map, "paths")->at, "paths: %llu is no power of two; write 64 or 128",
                   (unsigned long long)raw.paths);
    if (htsim && raw.headers)
        read_error(loader, tree_get(map, "headers")->at,
                   "headers: model 'uet-htsim' has its own: 64 bytes in every packet");
    if (!tree_get(map, "infer-loss")) raw.infer_loss = !trimming && !htsim;
    loader->fabric->uet = (struct fabric_uet){.control = (uint8_t)(raw.control + FABRIC_UET_NSCC),
                                              .policy = raw.policy,
                                              .ordered = raw.ordering,
                                              .trimming = trimming,
                                              .infer_loss = raw.infer_loss,
                                              .oversubscribed = raw.oversubscribed,
                                              .retries_given = raw.retries != NOT_GIVEN,
                                              .retries = (uint8_t)raw.retries,
                                              .data_less = less[raw.headers].data,
                                              .control_less = less[raw.headers].control,
                                              .last_hop_dscp = last_hop_dscp,
                                              .paths = (uint32_t)raw.paths,
                                              .ack_bytes = (uint32_t)raw.ack_bytes,
                                              .control_class = control_class(loader, raw.control_class),
                                              .base_rtt_ps = raw.base_rtt_ps,
                                              .rto_ps = raw.rto_ps};
}
