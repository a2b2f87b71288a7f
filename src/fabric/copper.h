/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cables of copper, and how many hosts stand within their reach.
 *
 * Passive copper reaches 3 m with lanes of 50 Gb/s and 2 m with lanes of 100 Gb/s (IEEE 802.3cd, 802.3ck).  Where hosts
 * stand is not in a fabric file, so it is assumed: a rack is 0.6 m wide and 2 m high, so 2 m or more lead from a switch
 * into its own rack and the one on either side, less only into its own.  A rack holds one host of more than 16 GPUs, 4
 * of more than 4 (NVIDIA's DGX SuperPOD has four DGX B300 in one), 20 of more than one (2U), else 40 (1U).
 */
#ifndef ROCELAB_FABRIC_COPPER_H
#define ROCELAB_FABRIC_COPPER_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;

/* The cable of a port is copper, by its length and by what its ends say of optics. */
bool fabric_copper(const struct fabric *fabric, uint32_t port);

struct fabric_crowd {      /* hosts on copper of one switch */
    uint32_t port;         /* the first */
    uint32_t hosts, reach; /* how many of their size stand near enough */
    uint32_t racks;
    uint64_t cable_mm; /* the longest */
};
/* True where there are more than stand near enough.  `said`: of cables whose length the file says, only. */
bool fabric_crowd_find(const struct fabric *fabric, uint32_t node, bool said, struct fabric_crowd *ret);

/* The same of the fabric: the worst switch into *ret, and how many there are. */
uint32_t fabric_crowds(const struct fabric *fabric, struct fabric_crowd *ret);

#endif
