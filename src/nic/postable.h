/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which work requests a queue pair takes at all, whatever its state and room: by its transport and attributes.
 *
 * Beside the adapter, for who has to answer a program before the adapter sees the request.
 */
#ifndef ROCELAB_NIC_POSTABLE_H
#define ROCELAB_NIC_POSTABLE_H

#include "nic/nic.h"

#define NIC_PSN_SPAN (1u << 23) /* PSNs of 24 bits that can be told before from after */

/* max_read: READs and atomics that may be under way. */
static inline bool nic_postable(uint8_t transport, uint16_t mtu, uint8_t max_read, const struct nic_wr *wr)
{
    if (wr->verb >= NIC_BIND_MW) return wr->verb < NIC_VERBS && transport != NIC_UD;
    if (wr->length > NIC_LENGTH_MAX) return false;
    if (wr->verb >= NIC_CAS && wr->length > 8) return false;
    if (wr->verb == NIC_READ && wr->length > (uint64_t)NIC_PSN_SPAN * mtu) return false;
    if (transport == NIC_RC) return wr->verb < NIC_READ || max_read > 0;
    if (transport == NIC_UC) return wr->verb < NIC_READ && wr->verb != NIC_SEND_INV;
    return wr->verb <= NIC_SEND_IMM && wr->length <= mtu && wr->prio < NIC_PRIOS;
}

#endif
