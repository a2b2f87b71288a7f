/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-band telemetry: a packet that leaves is given what the switch sees at that moment (HPCC, SIGCOMM 2019): the bytes
 * its port has sent so far, what stays behind it in its queue, the port's rate and the time.
 *
 * The bytes are those of the line, with preamble, FCS, gap and padding, pause frames too: HPCC compares them with the
 * rate.  The switch counts them itself, and only where it has telemetry.  Frames that somebody else puts on its line
 * are not among them.
 */
#include "packet/telemetry.h"
#include "switch/switch_int.h"

void sw_note_hop(struct sw *sw, uint32_t port, pkt_t id, ps_t now, struct sw_io *io)
{
    const struct sw_line *line = &sw->config->line;
    const struct pkt *pkt = &io->pool->hot[id];
    uint64_t behind = sw_queue_at(sw, port, sw->port[port].profile->queue_of[pkt->tc])->bytes;
    uint64_t *sent = &sw->slow[port].line_bytes;

    pkt_int_add(&io->pool->telemetry[id], now, *sent, sw->config->rate_bps[port],
                behind > UINT32_MAX ? UINT32_MAX : (uint32_t)behind);
    *sent += (pkt->frame_bytes < line->least_bytes ? line->least_bytes : pkt->frame_bytes) + line->added_bytes;
}

void sw_note_pause(struct sw *sw, uint32_t port)
{
    sw->slow[port].line_bytes += sw->config->line.pause_bytes;
}
