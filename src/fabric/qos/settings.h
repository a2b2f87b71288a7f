/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings before they meet a port: what layers of the file (all switches, a role, a device, a
 * port) write over each other.  Private to src/fabric.
 */
#ifndef ROCELAB_FABRIC_QOS_SETTINGS_H
#define ROCELAB_FABRIC_QOS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/file/read.h"
#include "fabric/nics.h"
#include "fabric/qos/models.h"
#include "fabric/switches.h"

struct fabric;

#define CLASSES_MAX FABRIC_PRIOS

struct class_raw {            /* NOT_GIVEN (and alpha_num 0): the default */
    uint8_t lossless, strict; /* truth */
    uint32_t share_ppm;       /* 0: not given */
    uint8_t ecn_on;
    uint64_t ecn_min_bytes, ecn_max_bytes;
    uint32_t ecn_ppm;
    uint64_t ecn_per_bps; /* thresholds are for this rate and scale with the port's; 0: for every rate */
    struct sw_trim trim;
    uint32_t alpha_num, alpha_den;
    uint64_t limit_bytes;
    uint64_t xoff_bytes, xon_bytes, reserved_bytes, headroom_bytes;
};

struct qos {
    uint8_t trust;
    uint8_t dscp_to_tc[64], pcp_to_tc[8];
    uint8_t tc_to_queue[FABRIC_PRIOS], tc_to_pg[FABRIC_PRIOS];
    uint64_t pfc_rx, pfc_tx; /* NOT_GIVEN: the lossless priorities */
    uint8_t pause_all;       /* truth: 802.3x */
    uint8_t pfc_auto, fec;
    uint64_t watched; /* NOT_GIVEN: the priorities with PFC */
    uint32_t headroom_cable_mm, headroom_frame_bytes;
    uint32_t frame_bytes; /* largest frame */
    uint32_t pause_quanta;
    uint64_t reaction_ps; /* NOT_GIVEN: reaction_ppm of the standard's response time */
    uint32_t reaction_ppm;
    struct class_raw class_of[CLASSES_MAX]; /* by index of fabric->classes */
};

struct switch_raw {
    const struct switch_model *model;
    struct fabric_at model_at;
    uint64_t buffer_bytes, latency_ps, headroom_pool_bytes, hash_seed;
    uint32_t cell_bytes; /* 0: the model's */
    uint8_t cut_through, mark, refresh_pauses, weighted;
    uint8_t raise, drop_unknown;
    uint8_t nos, bridged;
    struct fabric_balance balance;
    const struct tree *pins; /* as written; NULL: none */
    struct sw_voq_config voq;
    bool architecture_given;
    uint64_t hash_fields;
    struct fabric_watchdog watchdog;
};

struct profile { /* what one layer of the file resolves to; its index is its identity */
    struct qos qos;
    struct switch_raw sw;
    struct fabric_nic nic;
    struct fabric_at at; /* of the innermost layer */
    uint32_t nic_index;  /* in fabric->nic, FABRIC_NONE: not yet */
};

/* The three that fabrics of this system have, as a file would write them; NULL: no memory. */
struct tree *classes_usual(struct arena *arena, bool hpcc, uint8_t system);
/* The classes of the file, or those. */
bool classes_load(struct loader *loader, struct qos *ret);
/* A layer's `classes: {name: {...}}`, `trust`, `pfc`, maps ...: fields of struct qos. */
extern const struct field qos_fields[];
extern const uint32_t qos_field_count;
/* After a layer was read: shares, thresholds. */
void qos_check(struct loader *loader, const struct qos *qos, struct fabric_at at);
void qos_defaults(struct loader *loader, struct qos *qos);

extern const struct field switch_fields[]; /* of struct switch_raw */
extern const uint32_t switch_field_count;
void switch_defaults(struct loader *loader, struct switch_raw *sw);

/* balance.c: keys of struct switch_raw, and what becomes of them */
#define SEED_PER_TIER (NOT_GIVEN - 1) /* as hash_seed; NOT_GIVEN: a seed for each switch */
void balance_defaults(const struct fabric *fabric, struct switch_raw *sw);
void balance_read(struct loader *loader, const struct tree *value, void *into);
void architecture_read(struct loader *loader, const struct tree *value, void *into);
void hash_seed_read(struct loader *loader, const struct tree *value, void *into);
uint64_t hash_seed_of(const struct fabric *fabric, const struct switch_raw *raw, uint32_t index);
struct sw_voq_config voq_of(const struct switch_raw *raw);
bool balance_resolve(struct loader *loader, const struct switch_raw *raw, uint32_t index, struct fabric_balance *ret);
/* lanes.c */
void llr_defaults(struct fabric *fabric);
void llr_read(struct loader *loader, const struct tree *value, void *into);
void llr_check(struct loader *loader); /* when NICs are known */
void lanes_defaults(struct fabric *fabric);
void lanes_read_vls(struct loader *loader, const struct tree *value, void *into);
void lanes_read_map(struct loader *loader, const struct tree *value, void *into);
void lanes_read_arbitration(struct loader *loader, const struct tree *value, void *into);
void lanes_read_credits(struct loader *loader, const struct tree *value, void *into);
void lanes_read_cbfc(struct loader *loader, const struct tree *value, void *into);
void lanes_read_fecn(struct loader *loader, const struct tree *value, void *into);
void lanes_read_sm(struct loader *loader, const struct tree *value, void *into);
void lanes_finish(struct loader *loader);  /* when the system is known */
void lanes_check(struct loader *loader);   /* and NICs are */
void balance_check(struct loader *loader); /* pins, when routes are known */

extern const struct field nic_fields[]; /* of struct fabric_nic */
extern const uint32_t nic_field_count;
void nic_defaults(struct loader *loader, struct fabric_nic *nic);
/* After a layer's map was read: keys that contradict each other. */
void nic_check(struct loader *loader, const struct fabric_nic *nic, const struct tree *map);
/* operations.c: keys of NICs, ports and devices that operators need */
extern const struct field nic_operation_fields[]; /* of struct fabric_nic */
extern const uint32_t nic_operation_field_count;
void operations_port_name(struct loader *loader, uint32_t port, const char *name);
void operations_load(struct loader *loader);

/* tcp.c: the value of `tcp`, of struct fabric_nic; and what holds without it */
void tcp_read(struct loader *loader, const struct tree *value, void *into);
void tcp_defaults(const struct fabric *fabric, struct fabric_tcp *tcp);

/* hosts.c: the value of `pcie`, a rate, a name or a map; and what it means for a port. */
void pcie_read(struct loader *loader, const struct tree *value, void *into);
void nic_bus(struct fabric_nic *nic, uint64_t port_bps);

/* A port's settings: the layers' result met with rate, cable, cell. */
void settings_resolve(const struct loader *loader, const struct profile *profile, const struct fabric_port *port,
                      bool host, struct fabric_settings *ret);
/* Reads switches, nics, roles and devices, and fills sw[], nic[], settings[] and the ports' share. */
bool settings_load(struct loader *loader);

/* The class of this name, FABRIC_NONE and a sentence when there is none. */
uint32_t class_find(struct loader *loader, const struct tree *value);

#endif
