/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PFC headroom: how many bytes still arrive after a pause was decided.
 */
#ifndef ROCELAB_FABRIC_QOS_HEADROOM_H
#define ROCELAB_FABRIC_QOS_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define HEADROOM_PFC_BYTES 84           /* a pause frame, 64, with preamble and gap */
#define HEADROOM_SPEED_MPS 200000000ull /* light in fibre and copper: 5 ns a metre */

/* Pause-response time of a port by IEEE 802.3 31B.3.7, in quanta of 512 bits: the standard's steps for
 * the rate at or above `rate_bps`. */
uint32_t headroom_quanta(uint64_t rate_bps);
/* The same as a time at this rate. */
ps_t headroom_response_ps(uint64_t rate_bps);

struct headroom {
    uint64_t rate_bps;
    uint64_t cable_mm;
    uint32_t mtu_any_bytes;      /* a frame the sender had begun, of any class */
    uint32_t mtu_ll_bytes;       /* a frame of the class that this side had begun before its pause frame */
    uint64_t speed_mps;          /* of the signal; 0: HEADROOM_SPEED_MPS */
    uint32_t quanta;             /* 0: headroom_quanta(rate) */
    ps_t local_ps;               /* from crossing the threshold to the pause frame on the line */
    uint32_t fill_num, fill_den; /* buffer taken for a byte of the line, F; 0: one */
};

/* F * [mtu_any + mtu_ll + PFC + 2LR/(8v) + 64 Q + t R/8], rounded up. */
uint64_t headroom_general(const struct headroom *in);
/* The buffer that frames take in cells over what they take on the line, for the frame length that is worst
 * (64 bytes, where the cell is larger): F, at least one. */
void headroom_fill(uint32_t cell_bytes, uint32_t *ret_num, uint32_t *ret_den);
/* t_local of switches of today, as Broadcom's tables imply it: 1.02 us from 200G, 0.34 us below. */
ps_t headroom_local_ps(uint64_t rate_bps);
/* The general form as rocelab uses it for a switch port: worst-case fill for the cell, local time above. */
uint64_t headroom_port(uint64_t rate_bps, uint64_t cable_mm, uint32_t mtu_bytes, uint32_t cell_bytes);

struct headroom_sonic { /* SONiC's dynamic buffer model for Spectrum */
    uint64_t rate_bps;
    uint64_t cable_mm;
    uint32_t port_mtu_bytes, mtu_ll_bytes;
    uint32_t cell_bytes;
    uint32_t small_percent; /* frames of 64 bytes among those in flight */
    uint32_t peer_bytes;    /* response of the peer; 0: 64 * quanta */
    uint32_t gearbox_bytes;
    bool tiles; /* Spectrum-4 and later: 120 ns more */
};
#define HEADROOM_SONIC_SPEED_MPS 198000000ull
#define HEADROOM_SONIC_MAC_BYTES 819u /* MAC and PHY: 0.8 KiB, of which the sum counts the fifth too */
/* Cells that a small frame fills, and what the peer's response counts for. */
uint64_t headroom_sonic_fill(uint32_t cell_bytes);
uint64_t headroom_sonic_peer_bytes(const struct headroom_sonic *in);
/* xoff, rounded up to whole KiB. */
uint64_t headroom_sonic(const struct headroom_sonic *in);

/* The parameters of that model for a chip of this name, as the tables of its switches were made: lossless packets of
 * 1 KiB and all other frames small; Spectrum-1 with a fixed response of the peer.  False: the chip is no Spectrum. */
bool headroom_spectrum(const char *model, uint64_t rate_bps, uint64_t cable_mm, uint32_t frame_bytes,
                       uint32_t cell_bytes, struct headroom_sonic *ret);
/* What a port of this model of switch needs: the one number that the loader keeps and that `check` asks for.  By the
 * maker's own method where it is known, that is headroom_spectrum(); else headroom_port().  `frame_bytes` is a tagged
 * frame; SONiC counts 18 less. */
uint64_t headroom_model(const char *model, uint64_t rate_bps, uint64_t cable_mm, uint32_t frame_bytes,
                        uint32_t cell_bytes);

/* What an mlx5 adapter keeps above its xoff threshold; the rate counts as 40G at least. */
uint64_t headroom_mlx5(uint64_t rate_bps, uint64_t cable_mm, uint32_t mtu_bytes);

#endif
