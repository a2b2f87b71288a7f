/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ROCELAB_* variables say, parsed.
 */
#ifndef ROCELAB_LIVE_ENVIRONMENT_H
#define ROCELAB_LIVE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/nics.h"
#include "nic/cc/cc.h"
#include "packet/capfile/capfile.h"
#include "wire/wire.h"

#define LIVE_SHARDS_MAX 8u

enum live_wire { LIVE_WIRE_AUTO, LIVE_WIRE_UDP, LIVE_WIRE_SHM, LIVE_WIRE_PACKET };

#define LIVE_NO_VLAN UINT16_MAX

struct live_environment {
    const char *device, *pcap, *trace, *registry; /* "" when not set; point into the environment */
    const char *nccl_file;                        /* src/nccl reads it, in another library */
    uint8_t wire;                                 /* enum live_wire */
    bool thread, verbose, strict_rnr;
    bool has_fault;
    uint16_t port;
    uint16_t source_ports;
    uint16_t vlan;        /* LIVE_NO_VLAN: no tags */
    uint16_t shards;      /* 0: auto */
    uint64_t receive_bps; /* 0: as fast as it comes */
    uint64_t rate_bps;
    uint64_t window_bytes;
    uint64_t seed;
    struct fabric_nic nic; /* fabric_nic_default(), and what the variables say of an adapter */
    struct cc_config cc;
    struct wire_fault fault;
    struct capwriter_name capture; /* what `pcap` says */
};

/* 0, or -EINVAL with a line in `why` that names the variable, what was found and what would be right. */
int live_environment_read(struct live_environment *ret, char *why, size_t why_bytes);

/* Whether ROCELAB_WIRE names a wire that carries whole Ethernet frames: only there RoCE v1 exists. */
bool live_environment_frames(void);

/* Whether a variable that is on or off was set to the one or the other: for those who have no opened device to ask. */
bool live_environment_is(const char *variable, const char *word);

struct live_variable {
    const char *name, *fallback, *help;
};
extern const struct live_variable live_variable_list[]; /* ends with a NULL name */

#endif
