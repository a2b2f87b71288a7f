/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any sequence of calls and packets against one adapter: a script of bytes, of which every one is valid.  The adapter's
 * own CHECKs and nic_audit() after each step judge it.
 */
#ifndef ROCELAB_TESTS_NIC_HOSTILE_H
#define ROCELAB_TESTS_NIC_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hostile_result { /* that the script reached something */
    uint64_t packets, naks, accepted, sent, completions, events, errors;
};

/* only_naks: of packets none but NAKs and ACKs to QPs with work outstanding come, half of all steps. */
struct hostile_result hostile_run(const uint8_t *script, size_t bytes, bool only_naks);

#endif
