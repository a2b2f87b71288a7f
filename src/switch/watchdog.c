/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pause watchdog: a queue that a peer keeps paused for too long is taken to be a storm (a broken NIC, a
 * deadlock) and is cut off, so that the pause does not spread through the fabric.
 *
 * A port is polled only while one of its priorities is paused or a storm is on; otherwise it costs nothing.  A
 * queue is stuck while it is paused without a break and holds packets (a paused queue sends none, so "no packet left"
 * needs no counter).  The first poll that finds it so starts the clock; when the clock reaches detect_ps the watchdog
 * acts, at most one poll later than the longest wait a user would name: poll + detect.  A port may have queues that it
 * does not look at: the pauses of such a peer are obeyed for good.
 *
 * Acting is either dropping (what is queued, and what arrives) or forwarding against the pause.  The storm is over when
 * the queue is not paused and no XOFF came for restore_ps.  This is how SONiC's detector works, without
 * its differences between chips.
 */
#include "switch/switch_int.h"

void watchdog_arm(struct sw *sw, uint32_t port, ps_t now)
{
    const struct sw_watchdog *config = &sw->config->watchdog;
    struct sw_port_slow *slow = &sw->slow[port];
    if (!config->on || !sw->port[port].profile->watched || slow->poll_at != PS_NEVER) return;
    slow->poll_at = ps_add(now, config->poll_ps);
    sw_due(sw, port, slow->poll_at);
}

static void detected(struct sw *sw, uint32_t port, uint32_t queue, ps_t now, struct sw_io *io)
{
    sw->counters[port].prio[queue].watchdog_detected++;
    sw->counters[port].prio[queue].watchdog_acted_at_ps = now;
    sw_note(sw, RECORD_WATCHDOG, port, queue, 0, 0, now);
    sw->slow[port].storm_since[queue] = now;
    sw->slow[port].storm |= (uint16_t)(1u << queue);
    sw->slow[port].stuck_since[queue] = PS_NEVER;
    if (sw->config->watchdog.drop) {
        sw->port[port].refuse |= (uint16_t)(1u << queue);
        sw_flush(sw, port, queue, SW_DROP_watchdog, now, io);
        pfc_review(sw, now, io);
    } else {
        pfc_apply(sw, port, now, io);
    }
}

static void restored(struct sw *sw, uint32_t port, uint32_t queue, ps_t now)
{
    struct sw_prio_counters *count = &sw->counters[port].prio[queue];
    count->watchdog_restored++;
    count->watchdog_restored_at_ps = now;
    sw_note(sw, RECORD_RESTORED, port, queue, 0, 0, now);
    if (now > sw->slow[port].storm_since[queue]) count->watchdog_ps += now - sw->slow[port].storm_since[queue];
    sw->slow[port].storm &= (uint16_t) ~(1u << queue);
    sw->port[port].refuse &= (uint16_t) ~(1u << queue);
}

void watchdog_forget(struct sw *sw, uint32_t port, ps_t now)
{
    for (uint32_t mask = sw->slow[port].storm; mask; mask &= mask - 1)
        restored(sw, port, (uint32_t)__builtin_ctz(mask), now);
    sw->slow[port].poll_at = PS_NEVER;
}

static void poll_queue(struct sw *sw, uint32_t port, uint32_t queue, ps_t now, struct sw_io *io)
{
    const struct sw_watchdog *config = &sw->config->watchdog;
    const struct sw_profile *profile = sw->port[port].profile;
    struct sw_port_slow *slow = &sw->slow[port];
    if (slow->storm >> queue & 1) {
        bool quiet = true;
        for (uint32_t prio = 0; prio < SW_PRIOS; prio++) {
            if (profile->queue_of[prio] != queue) continue;
            if (sw->slow[port].paused_prio >> prio & 1 || now - slow->pause_seen[prio] < config->restore_ps)
                quiet = false;
        }
        if (quiet) restored(sw, port, queue, now);
        return;
    }
    if (!(sw->port[port].paused & sw->port[port].filled & 1u << queue)) {
        slow->stuck_since[queue] = PS_NEVER;
        return;
    }
    if (slow->stuck_since[queue] == PS_NEVER) slow->stuck_since[queue] = now;
    if (now - slow->stuck_since[queue] >= config->detect_ps) detected(sw, port, queue, now, io);
}

ps_t watchdog_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_port_slow *slow = &sw->slow[port];
    if (slow->poll_at > now) return slow->poll_at;
    for (uint32_t mask = sw->port[port].profile->watched; mask; mask &= mask - 1)
        poll_queue(sw, port, (uint32_t)__builtin_ctz(mask), now, io);
    bool busy = slow->storm || slow->paused_prio;
    slow->poll_at = busy ? ps_add(now, sw->config->watchdog.poll_ps) : PS_NEVER;
    return slow->poll_at;
}
