/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS profiles and interfaces as they are read.  Private to eos*.c.
 */
#ifndef ROCELAB_CONFIG_EOS_INT_H
#define ROCELAB_CONFIG_EOS_INT_H

#include "config/config.h"
#include "config/lines.h"

#define EOS_PRIOS 8
#define EOS_KBYTE 1000u
#define EOS_MTU_MOST 9214u   /* what EOS calls the jumbo frame ... */
#define EOS_FRAME_MOST 9216u /* ... that other systems call this */

enum eos_trust { EOS_TRUST_UNSAID, EOS_TRUST_DSCP, EOS_TRUST_COS, EOS_TRUST_NONE };

struct eos_queue {
    bool round_robin, strict, ecn, drop, counted, guaranteed;
    uint32_t share_ppm, line, sched_line, ecn_line;
    uint64_t min_bytes, max_bytes;
    uint32_t probability_ppm;
};

struct eos_qos { /* of a profile; of an interface: its own lines over its profile's */
    enum eos_trust trust;
    uint32_t trust_line;
    bool pfc, watch_off, watch_on;
    uint8_t no_drop; /* priorities */
    uint32_t pfc_line, no_drop_line[EOS_PRIOS], watch_line;
    uint64_t timeout_ns, recovery_ns, poll_ns; /* of the port's timer; 0: not said */
    struct eos_queue queue[EOS_PRIOS];
};

struct eos_profile {
    const char *name;
    uint32_t line;
    bool used;
    struct eos_qos qos;
    struct eos_profile *next;
};

struct eos_watchdog {
    uint64_t timeout_ns, recovery_ns, poll_ns;
    const char *action; /* of the fabric file; NULL: the default, shutdown */
    uint32_t timeout_line, recovery_line, poll_line, action_line;
};

struct eos {
    struct config_set *set;
    const struct config_text *text;
    struct lines lines;
    uint32_t device;
    uint32_t cell_bytes; /* of the chip; 0: not known */
    uint8_t dscp_to_tc[64], cos_to_tc[8], tc_to_queue[EOS_PRIOS];
    uint32_t dscp_line[64], cos_line[8], queue_line[EOS_PRIOS];
    struct eos_watchdog watchdog;
    struct eos_profile *profiles;
};

#define EOS_AT(eos, line_) CONFIG_AT((eos)->text, (line_))
/* A line of a profile or of an interface; true: it was one of QoS. */
bool eos_qos_line(struct eos *eos, struct eos_qos *qos, struct line *line);
void eos_profiles(struct eos *eos);
/* NULL and a note (MAP007) where it is not defined. */
const struct eos_profile *eos_profile(struct eos *eos, const char *name, uint32_t line);
/* What is wrong in QoS that a port or profile has: watchdog without guaranteed bandwidth, ECN that is not counted. */
void eos_judge(struct eos *eos, const struct eos_qos *qos);
bool eos_watchdog_on(const struct eos *eos, const struct eos_qos *qos);

int eos_import(struct config_set *set, const struct config_text *text);
int eos_emit(const struct config_emit *emit);

#endif
