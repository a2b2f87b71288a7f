/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops of a rocelab switch's port, which are known by reason and by priority, but not by both.
 *
 * Lossless priorities alone run out of headroom, and lossy ones alone meet limits of queues; what is left goes to
 * whoever has drops left.
 */
#ifndef ROCELAB_EVIDENCE_DROPS_H
#define ROCELAB_EVIDENCE_DROPS_H

#include "evidence/evidence.h"

enum drops_kind { DROPS_HEADROOM, DROPS_BUFFER, DROPS_EGRESS, DROPS_WATCHDOG, DROPS_MTU, DROPS_ROUTE, DROPS_KINDS };
struct drops {
    uint64_t by[DROPS_KINDS];
    uint64_t of[EVIDENCE_PRIORITIES];
};
/* The number of a reason of docs/internals/switch.md; DROPS_REASONS: it is not of interest. */
#define DROPS_REASONS 10u
unsigned drops_reason(const char *reason, size_t length);
enum drops_kind drops_kind(unsigned reason);
/* How many each counter has; by priority, or of the port where the scope is that.  `drops` is used up. */
typedef void drops_put(void *context, uint32_t port, unsigned priority, enum evidence_counter counter, uint64_t value);
void drops_share(struct drops *drops, uint8_t lossless, uint32_t port, drops_put *put, void *context);

#endif
