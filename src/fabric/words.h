/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a fabric for those who speak of devices and have none of its arrays before them: readers of counters, say.
 */
#ifndef ROCELAB_FABRIC_WORDS_H
#define ROCELAB_FABRIC_WORDS_H

#include <stdint.h>

#define FABRIC_NONE UINT32_MAX
#define FABRIC_PRIOS 8 /* priorities of 802.1 */

#define FABRIC_ROLE_LIST(X)                                                                                            \
    X(HOST, "host", "h")                                                                                               \
    X(LEAF, "leaf", "leaf")                                                                                            \
    X(SPINE, "spine", "spine")                                                                                         \
    X(CORE, "core", "core")                                                                                            \
    X(SWITCH, "switch", "sw")
enum fabric_role {
#define X(id, name, prefix) FABRIC_ROLE_##id,
    FABRIC_ROLE_LIST(X)
#undef X
        FABRIC_ROLES,
};

/* Parts of a device whose version is approved for its role. */
#define FABRIC_PART_LIST(X)                                                                                            \
    X(NOS, "nos")                                                                                                      \
    X(FIRMWARE, "firmware")                                                                                            \
    X(NIC, "nic")                                                                                                      \
    X(CABLE, "cable")                                                                                                  \
    X(OPTICS, "optics")                                                                                                \
    X(DRIVER, "driver")                                                                                                \
    X(NCCL, "nccl")
enum fabric_part {
#define X(id, name) FABRIC_PART_##id,
    FABRIC_PART_LIST(X)
#undef X
        FABRIC_PARTS,
};
extern const char *const fabric_part_names[FABRIC_PARTS + 1];

struct fabric_at { /* where the file says it; line 0: nowhere */
    uint32_t line, column;
};

#endif
