/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of a wire that is one (wire.h): pauses and the link, between wire and adapter.
 *
 * The wire only carries pause frames.  Which priorities stand still, and for how long, is decided in src/nic, as it is
 * in the simulator; so are the pauses that this adapter asks the network for.  Other wires are sockets and memory: no
 * pause reaches them, and what an interface that is down means is for the kernel to say.
 *
 * Packets that are built when a pause comes are like those that hardware has begun to send: they go.  They are at most
 * one burst.
 */
#include <string.h>

#include "live/live_int.h"

#define FULL_PS (50 * PS_US)
#define DSCP_PRIORITY 5 /* of the traffic class, the three upper bits: what switches make of a DSCP by default */

_Static_assert(NIC_PRIOS == sizeof((struct wire_pause *)0)->quanta / sizeof(uint16_t), "a PFC frame names as many");

/* With a tag its priority counts, without one the DSCP does. */
uint8_t port_priority(const struct device *live, uint8_t sl, uint8_t tos)
{
    return live->wire->port && live->env.vlan == LIVE_NO_VLAN ? tos >> DSCP_PRIORITY : sl & 7;
}

void port_pause(struct device *live, const struct wire_pause *pause, ps_t now)
{
    nic_pause(live->nic, pause->enable, pause->quanta, now, &live->io);
}

void port_link(struct device *live, ps_t now)
{
    bool down = live->wire->port && !live->device.up;

    if (down == live->link_down) return;
    live->link_down = down;
    record_note(&live->events, (struct record_event){.at = now,
                                                     .priority = RECORD_NO_PRIORITY,
                                                     .kind = down ? RECORD_LINK_DOWN : RECORD_LINK_UP});
    nic_link_changed(live->nic, !down, now, &live->io);
    progress_settle(live);
}

bool port_paused(const struct device *live, uint8_t priority)
{
    return nic_paused(live->nic) >> priority & 1;
}

void port_tell(struct device *live, ps_t now)
{
    struct wire_pause pause = {.enable = live->io.pause_enable};
    struct wire_packet frame = {.pause = &pause};

    if (live->io.pauses == 0) return;
    for (unsigned p = 0; p < NIC_PRIOS; p++)
        if (pause.enable >> p & 1) pause.quanta[p] = live->io.pause_quanta;
    memcpy(frame.smac, live->device.mac, 6);
    if (live->wire->port && !live->link_down && wire_tx(live->wire, &frame, 1, now) == 0)
        live->tx_retry = now + FULL_PS;
    else
        live->io.pauses = 0;
}
