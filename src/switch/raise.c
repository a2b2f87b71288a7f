/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raising the class of what bounces.
 *
 * A packet that came from above and goes up again has bounced; on up-down paths nothing does.  Every cyclic dependency
 * of buffers has such a turn in it, so if the class changes there no cycle closes within one.  The group it came in by
 * is that of the old class, which the peer was told to pause by; the queue is that of the new one.
 */
#include "switch/crossing.h"

bool sw_cross_raise(struct sw *sw, struct sw_crossing *crossing, pkt_t id, ps_t now, struct sw_io *io)
{
    const struct sw_raise *raise = sw->config->raise;

    if (!raise->above[crossing->in] || !raise->above[crossing->out]) return false;
    uint8_t dscp = raise->dscp[crossing->pkt->tos >> 2];
    crossing->pkt->tos = (uint8_t)(dscp << 2 | (crossing->pkt->tos & PKT_ECN_MASK));
    uint32_t tc = crossing->from->dscp_to_tc[dscp], queue = crossing->onto->queue_of[tc];
    crossing->queue_index = queue;
    if (!(crossing->to->refuse >> queue & 1)) return false;
    sw_drop(sw, crossing->out, queue, sw->slow[crossing->out].down ? SW_DROP_port_down : SW_DROP_watchdog, id, now, io);
    return true;
}
