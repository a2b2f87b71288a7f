/* SPDX-License-Identifier: Apache-2.0 */
/* Drops of a rocelab switch's port: see drops.h. */
#include "evidence/drops.h"

#include <string.h>

static const struct {
    const char *reason;
    enum drops_kind kind;
} reasons[DROPS_REASONS] = {
    {"headroom", DROPS_HEADROOM}, {"unknown", DROPS_HEADROOM},  {"buffer", DROPS_BUFFER}, {"flood", DROPS_BUFFER},
    {"egress", DROPS_EGRESS},     {"watchdog", DROPS_WATCHDOG}, {"mtu", DROPS_MTU},       {"no_route", DROPS_ROUTE},
    {"port_down", DROPS_ROUTE},   {"ttl", DROPS_ROUTE},
};

unsigned drops_reason(const char *reason, size_t length)
{
    unsigned i = 0;

    while (i < DROPS_REASONS && (strlen(reasons[i].reason) != length || memcmp(reasons[i].reason, reason, length)))
        i++;
    return i;
}

enum drops_kind drops_kind(unsigned reason)
{
    return reasons[reason].kind;
}

static uint64_t take_drops(struct drops *drops, unsigned priority, enum drops_kind kind)
{
    uint64_t part = drops->of[priority] < drops->by[kind] ? drops->of[priority] : drops->by[kind];

    drops->of[priority] -= part;
    drops->by[kind] -= part;
    return part;
}

void drops_share(struct drops *drops, uint8_t lossless, uint32_t port, drops_put *put, void *context)
{
    uint64_t group[EVIDENCE_PRIORITIES] = {0}, queue[EVIDENCE_PRIORITIES] = {0}, watchdog[EVIDENCE_PRIORITIES] = {0};

    bool any =
        drops->by[DROPS_HEADROOM] | drops->by[DROPS_BUFFER] | drops->by[DROPS_EGRESS] | drops->by[DROPS_WATCHDOG];

    for (unsigned pass = 0; any && pass < 2; pass++)
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
            if ((lossless >> p & 1) || pass) {
                group[p] += take_drops(drops, p, DROPS_HEADROOM);
                watchdog[p] += take_drops(drops, p, DROPS_WATCHDOG);
            }
            if (!(lossless >> p & 1) || pass) {
                group[p] += take_drops(drops, p, DROPS_BUFFER);
                queue[p] += take_drops(drops, p, DROPS_EGRESS);
            }
        }
    for (unsigned p = 0; any && p < EVIDENCE_PRIORITIES; p++) {
        if (group[p]) put(context, port, p, EVIDENCE_GROUP_DROPS, group[p]);
        if (queue[p]) put(context, port, p, EVIDENCE_QUEUE_DROPS, queue[p]);
        if (watchdog[p]) put(context, port, p, EVIDENCE_WATCHDOG_DROPS, watchdog[p]);
    }
    put(context, port, EVIDENCE_NO_PRIORITY, EVIDENCE_MTU_DROPS, drops->by[DROPS_MTU]);
    put(context, port, EVIDENCE_NO_PRIORITY, EVIDENCE_ROUTE_DROPS, drops->by[DROPS_ROUTE]);
}
