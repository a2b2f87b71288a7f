/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a congestion control is made of: one file NAME.c defines a struct cc_algorithm, one line of list.def
 * names it.  docs/internals/adding.md has an example.
 *
 * An algorithm sees its struct cc and nothing else of the adapter.  A function that it lacks is never called, and
 * what only that function would need costs nothing.
 */
#ifndef ROCELAB_NIC_CC_ALGORITHM_H
#define ROCELAB_NIC_CC_ALGORITHM_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "nic/cc/cc.h"

#define MBPS 1000000ULL
#define PERCENT 10000ULL /* of a million */

struct cc_preset {
    const char *name; /* "dcqcn/paper" */
    struct cc_config config;
};

struct cc_algorithm {
    const struct cc_preset *preset; /* ends with a NULL name */
    const struct cc_param *param;   /* parameters of its own, in cc_config.own; ends with a NULL name; or NULL */
    struct cc_needs needs;
    bool window;        /* it sets window_bytes: each packet then asks for an ACK */
    bool moves_waiting; /* model hpcc-ns3: a new rate also moves the packet that waits for its time */
    /* The first parameter whose value cannot be, with the reason; NULL: all can. */
    const char *(*invalid)(const struct cc_config *config, const char **ret_name);
    /* An ACK is wanted at least each so many bytes. */
    uint32_t (*ask_bytes)(const struct cc_config *config);
    /* rate_bps is the line's and there is no window: sets what is to be otherwise, and its own state. */
    void (*init)(struct cc *cc);
    void (*cnp)(struct cc *cc, ps_t now);
    void (*ack)(struct cc *cc, const struct cc_ack *ack, ps_t now);
    void (*loss)(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now);
    void (*sent)(struct cc *cc, uint32_t bytes, ps_t now);
    void (*timer)(struct cc *cc, ps_t now);
    /* Its estimate of congestion, as it last was: 1 is 2^32.  NULL: it has none. */
    uint64_t (*alpha)(const struct cc *cc);
};

/* A parameter of an algorithm that declares its own: `struct type` lies in cc_config.own. */
#define CC_OWN_PARAM(type, field, kind, text)                                                                          \
    {                                                                                                                  \
        .name = #field, .help = text, .unit = CC_UNIT_##kind,                                                          \
        .offset = offsetof(struct cc_config, own) + offsetof(type, field)                                              \
    }

#define REFUSE_IF(condition, field, why)                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            *ret_name = field;                                                                                         \
            return why;                                                                                                \
        }                                                                                                              \
    } while (0)
#define NOT_A_SHARE(value) ((value) > 1000000)
#define NOT_A_RTT(value) ((value) < PS_NS || (value) > PS_S)

#define CC(KIND, name) extern const struct cc_algorithm cc_algorithm_##name;
#include "nic/cc/list.def"
#undef CC

#endif
