/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round-trip times: when some of a QP's packets were sent, kept until they are acknowledged.
 *
 * RoCE has no time stamps on the wire, so the sender keeps them, as adapters do; the same works in the simulator and
 * over a socket.  Only packets that ask for an ACK are stamped: the responder answers them at once.  Only the first
 * sending is: of a packet sent again nobody could tell which one is acknowledged (Karn's rule), so a repetition
 * forgets all stamps.
 *
 * A QP has room for few stamps.  When it is used up every other one is dropped and only every second packet stamped
 * from then on, and so on: there are always between a few and all of RTT_STAMPS in flight, evenly spread.  A
 * round-trip time so measured stands for as many packets.  When few are left the distance is halved again.
 */
#include "base/check.h"
#include "nic/nic_int.h"

void rtt_forget(struct rtt_stamps *stamps)
{
    *stamps = (struct rtt_stamps){.stride = 1};
}

void rtt_sent(struct rtt_stamps *stamps, uint32_t psn, ps_t now)
{
    if (++stamps->since < stamps->stride) return;
    stamps->since = 0;
    if (stamps->count == RTT_STAMPS) {
        for (uint32_t i = 0; i < RTT_STAMPS / 2; i++) {
            uint32_t from = (stamps->head + 2 * i + 1) % RTT_STAMPS, to = (stamps->head + i) % RTT_STAMPS;
            stamps->at[to] = stamps->at[from];
            stamps->psn[to] = stamps->psn[from];
        }
        stamps->count = RTT_STAMPS / 2;
        stamps->stride *= 2;
        return; /* the newest that is kept is one of the old stride before it */
    }
    uint32_t slot = (stamps->head + stamps->count++) % RTT_STAMPS;
    stamps->at[slot] = now;
    stamps->psn[slot] = psn;
}

ps_t rtt_acked(struct rtt_stamps *stamps, uint32_t una, ps_t now, uint32_t *ret_packets)
{
    ps_t rtt = 0;

    *ret_packets = stamps->stride;
    while (stamps->count && psn_diff(una, stamps->psn[stamps->head]) > 0) {
        rtt = now - stamps->at[stamps->head];
        stamps->head = (stamps->head + 1) % RTT_STAMPS;
        stamps->count--;
    }
    if (rtt && stamps->count < RTT_STAMPS / 4 && stamps->stride > 1) stamps->stride /= 2;
    return rtt;
}
