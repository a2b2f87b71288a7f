/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules share.  Private to src/check.
 */
#ifndef ROCELAB_CHECK_RULE_H
#define ROCELAB_CHECK_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/units.h"
#include "check/check.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define ROCE_OVERHEAD_BYTES 82 /* RoCEv2: Ethernet 14, tag 4, IPv4 20, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4 */
#define ROCE_MTU_MAX 4096u     /* the largest path MTU that InfiniBand, and so RoCE, has */

/* A finding of the rule that runs, at the place where `path` is said for the port (FABRIC_NONE: for the node; node
 * FABRIC_NONE: in the file). */
__attribute__((format(printf, 6, 7))) void check_find(struct check *check, enum check_severity severity, uint32_t node,
                                                      uint32_t port, const char *path, const char *format, ...);

/* The same at the port's own line: where the port itself says nothing of it, that is the port's first line. */
__attribute__((format(printf, 5, 6))) void check_find_own(struct check *check, enum check_severity severity,
                                                          uint32_t port, const char *path, const char *format, ...);

/* Drops what only follows from another finding at the same place (follows.c). */
void check_fold_consequences(struct check *check);

/* systems.c: whether a rule means anything under the systems of the fabric. */
bool rule_applies(const struct fabric *fabric, uint32_t rule);
/* Most that the headers of a data packet take, with a tag, RETH and immediate data. */
uint32_t packet_overhead_bytes(const struct fabric *fabric);

#define RULE_FUNCTION(name) void rule_##name(struct check *check)
#define RULE(id, severity, function, title, why, mend, sources) RULE_FUNCTION(function);
#define NOTE(id, severity, title, why, mend, sources)
#include "check/rules.def"
#undef RULE
#undef NOTE

static inline const struct fabric_settings *settings_of(const struct fabric *fabric, uint32_t port)
{
    CHECK(port < fabric->ports && fabric->port[port].settings < fabric->settings_count);
    return &fabric->settings[fabric->port[port].settings];
}
static inline bool is_switch_port(const struct fabric *fabric, uint32_t port)
{
    return port >= fabric->endpoints;
}
static inline const struct fabric_switch *switch_of(const struct fabric *fabric, uint32_t port)
{
    CHECK(port >= fabric->endpoints && port < fabric->ports && fabric->port[port].node >= fabric->hosts);
    return &fabric->sw[fabric->port[port].node - fabric->hosts];
}
static inline const char *node_name(const struct fabric *fabric, uint32_t port)
{
    return fabric->node[fabric->port[port].node].name;
}
/* Cabled, up, used by something, and the rule that runs can be judged there: only such a port has findings, or a vote
 * in what is usual. */
bool port_used(const struct check *check, uint32_t port);
/* So are both ends of its link, and the file knows of both nodes. */
bool port_known(const struct check *check, uint32_t port);
/* The port as people call it: `leaf1 Ethernet1/31` where its system's name is known, else `leaf1:30`. */
const char *port_label(const struct fabric *fabric, uint32_t port, char buf[FABRIC_NAME]);
bool node_unknown(const struct fabric *fabric, uint32_t node);
/* An adapter of a host that the file knows of. */
bool nic_known(const struct fabric *fabric, uint32_t nic);
bool peer_is_switch(const struct fabric *fabric, uint32_t port);

/* The field that most ports of switches and adapters trust. */
uint8_t usual_trust(const struct check *check);
/* Bits: traffic classes that something coming in here leads to, by what the port trusts. */
uint8_t fed_classes(const struct fabric_settings *settings);
/* Of the fabric: bits of lossless priorities that any switch port has. */
uint8_t lossless_anywhere(const struct fabric *fabric);
/* Ports of the fabric that send RDMA into it: the data classes that are lossless. */
const char *priorities_text(uint8_t bits, char buf[32]); /* "3, 4"; "none" */
const char *pfc_text(uint8_t bits, char buf[48]);        /* "on for priority 3, 4"; "off" */
/* The path of a class's key for fabric_where(): classes.NAME.key by priority. */
const char *class_path(const struct fabric *fabric, unsigned priority, const char *key, char buf[96]);
const char *class_name(const struct fabric *fabric, unsigned priority);
/* Does the file say this key, `strict` or `share`, of the class on the port? */
bool turn_is_said(const struct check *check, uint32_t p, uint8_t tc, const char *key);
/* The key by which the file gives this class its turn on the port; "": none. */
const char *turn_said(const struct check *check, uint32_t p, uint8_t tc);

/* Buffer that lossless groups share on a switch: what reserve and headroom leave. */
uint64_t shared_bytes(const struct fabric_switch *sw);
/* T_N = alpha B / (1 + N alpha), or the fixed threshold. */
uint64_t threshold_bytes(const struct fabric_switch *sw, const struct fabric_pg *pg, uint64_t congested);
/* Ports that are congested at the same time, by design, on this switch. */
uint32_t design_fan_in(const struct fabric *fabric, uint32_t node);
/* What the formula asks for at this port.  (The loader keeps a frame more, for the one that crosses the threshold: a
 * matter of its own buffer, which no configuration of a real switch has to know.) */
uint64_t headroom_need(const struct fabric *fabric, uint32_t port);
/* What one hop holds both ways: rate times 2 (cable and switch).  Marking below it costs throughput. */
uint64_t hop_bytes(const struct fabric *fabric, uint32_t port);
/* A pause is repeated when half of it is over, behind a frame that may just have begun; in quanta of 512 bits. */
uint32_t quanta_least(uint32_t mtu_bytes);
/* "H = ...", with the numbers of this port. */
void headroom_formula(const struct fabric *fabric, uint32_t port, FILE *to);
/* The priority whose lossless group this is. */
unsigned priority_of(const struct fabric_settings *settings, unsigned group);

#define PACKET_BYTES 4096u              /* of RDMA's payload at most */
#define PROBABILITY_LEAST_PPM 1000      /* a marking curve that ends lower marks next to nothing */
#define POOL_MOST 4                     /* the sum of the headrooms over a pool that is still taken for a decision */
#define NIC_CABLE_MM 7000u              /* what an adapter assumes that was told nothing */
#define WD_SONIC_LEAST_PS (100 * PS_MS) /* SONiC's YANG model: of detection and restoration ... */
#define WD_SONIC_DETECT_PS (5000 * PS_MS)
#define WD_SONIC_RESTORE_PS (60000 * PS_MS)
#define WD_SLOW_PS PS_S /* a storm that is seen later is seen after programs gave up */
/* An NCCL variable of a NIC, NULL: not said. */
const struct fabric_param *nccl_of(const struct fabric_nic *nic, const char *name);
/* The file says something of what hosts are set to. */
bool hosts_described(const struct fabric *fabric);
bool uses_dcqcn(const struct fabric_nic *nic);

#endif
