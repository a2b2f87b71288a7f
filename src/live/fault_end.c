/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the faults that were asked for have done to a process: a line on standard error when it ends.
 *
 * Of all its adapters and their shards, those that are closed before and those that the program leaves open: whoever
 * asks for a loss of 1 % wants to know whether anything was lost, and `rocelab counters` shows what runs alone.
 * Nothing is said of a process that has sent nothing, of the child of a fork, and where ROCELAB_VERBOSE is off.
 */
#include "live/fault_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "nic/counters.h"
#include "wire/wire.h"

#define LINE 400

static struct wire_counters wire;
static uint64_t again, timeouts;
static bool asked;

static void add(uint64_t *to, uint64_t more)
{
    __atomic_fetch_add(to, more, __ATOMIC_RELAXED);
}

void fault_end_count(const struct wire_counters *more, const struct nic_counters *nic)
{
#define X(name) add(&wire.name, more->name);
    WIRE_COUNTER_LIST(X)
#undef X
    add(&again, nic->retransmitted_packets);
    add(&timeouts, nic->local_ack_timeout_err);
    __atomic_store_n(&asked, true, __ATOMIC_RELAXED);
}

void fault_end_forget(void)
{
    asked = false;
}

void fault_end_say(void)
{
    const struct {
        const char *word;
        uint64_t count;
    } done[] = {{"duplicated", wire.fault_duplicated},
                {"reordered", wire.fault_reordered},
                {"corrupted", wire.fault_corrupted},
                {"delayed", wire.fault_delayed},
                {"marked", wire.fault_marked}};
    char line[LINE];
    uint64_t sent = wire.tx_packets + wire.fault_lost;

    if (!asked || sent == 0) return;
    int used =
        snprintf(line, sizeof line, "rocelab: faults: of %" PRIu64 " packets %" PRIu64 " lost", sent, wire.fault_lost);
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++)
        if (done[i].count)
            used += snprintf(line + used, sizeof line - (size_t)used, ", %" PRIu64 " %s", done[i].count, done[i].word);
    used += snprintf(line + used, sizeof line - (size_t)used, "; %" PRIu64 " sent again, %" PRIu64 " timeouts\n", again,
                     timeouts);
    (void)!write(STDERR_FILENO, line, (size_t)used);
}
