/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NICs as they are set, and operations: what devices are made of and who answers for them.  Part of fabric.h.
 */
#ifndef ROCELAB_FABRIC_NICS_H
#define ROCELAB_FABRIC_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/criteria.h"
#include "fabric/nodes.h"
#include "fabric/prices.h"
#include "fabric/reliability.h"
#include "nic/recovery.h"

struct fabric_param { /* name and value as text; the owner of the name reads the value */
    const char *name, *value;
    struct fabric_at at;
};

struct fabric_software { /* what a host's software takes; all 0 where the file says nothing */
    ps_t post_ps;        /* to post a work request */
    ps_t poll_ps;        /* until a completion is seen */
    ps_t clock_ps;       /* to read the clock, of a program */
    ps_t hop_ps;         /* from one thread of a program to another */
};

struct fabric_tcp {    /* of TCP and iWARP: qos/tcp.c */
    uint8_t cc;        /* enum tcp_cc of tcp/tcp.h */
    uint8_t ack_every; /* segments an acknowledgement */
    uint8_t retries;   /* timeouts in a row before a connection is given up */
    uint8_t in_order;  /* truth: iWARP places nothing before what is missing */
    bool handshake, probes, markers;
    uint32_t initial_window; /* segments */
    uint32_t cores;          /* of the host; 0: as many as connections */
    uint32_t burst_bytes;    /* 0: a segment */
    uint64_t window_bytes, held_bytes;
    uint64_t cpu_bps; /* a core; 0: no limit.  fabric_tcp_cpu() answers it */
    ps_t rto_first_ps, rto_min_ps, rto_max_ps, ack_delay_ps;
    ps_t receive_ps, jitter_ps; /* of the receiving side, and up to so much more at random */
};

struct fabric_pcie {      /* the bus of a NIC, as the file says it; what follows from it is in rx_ and tx_rate_bps */
    uint64_t rate_bps;    /* each way; 0: no limit */
    uint32_t reads;       /* outstanding at a time ... */
    uint32_t read_bytes;  /* ... of so much each ... */
    ps_t read_ps;         /* ... until the data is there */
    uint32_t writes;      /* posted at a time: credits */
    uint32_t write_bytes; /* of each */
    ps_t write_ps;        /* until its credit is back */
    uint32_t ordered;     /* writes at a time where each waits for those before it */
    uint8_t relaxed;      /* truth: writes may overtake each other */
    bool windows;         /* the file says something of reads and writes: their number counts */
};

struct fabric_nic {         /* NICs configured alike share one */
    uint8_t system;         /* enum fabric_system: the fabric's */
    uint32_t mtu_bytes;     /* payload a packet at most */
    const char *congestion; /* `dcqcn/connectx` */
    struct fabric_at congestion_at;
    const struct fabric_param *param; /* single parameters overridden */
    uint32_t params;
    uint32_t ack_every, ack_request_every;
    uint8_t timeout, retry, rnr_retry, min_rnr_timer; /* as in verbs; timeout 0: never */
    uint8_t recovery;                                 /* enum nic_recovery; selective where reorder_packets is set */
    uint32_t reorder_packets; /* packets out of order are no loss up to this distance ...; 0: they are at once */
    ps_t reorder_ps;          /* ... and this time */
    ps_t nak_repeat_ps;       /* a sequence NAK is repeated after this time, if the gap is still there; 0: never */
    ps_t adaptive_ps;         /* adaptive retransmission: the first timeout; 0: none */
    uint32_t adaptive_each;   /* and how many of one length there are before it doubles */
    uint32_t max_read;
    uint32_t window_packets; /* 0: no limit but the machine's own */
    uint64_t window_bytes;   /* 0: none */
    ps_t latency_ps;         /* receive: from the last bit to the adapter's answer */
    struct fabric_pcie pcie;
    uint64_t tx_rate_bps;     /* the bus fetches what is sent no faster; 0: line rate */
    uint32_t tx_behind_bytes; /* fetching waits for so much of what is not yet drained; 0: for none */
    uint64_t rx_rate_bps;     /* the host drains no faster; 0: line rate */
    uint64_t rx_buffer_bytes; /* 0: none, and rx_rate_bps is 0 */
    uint64_t rx_xoff_bytes, rx_xon_bytes;
    struct fabric_software software;
    struct fabric_tcp tcp;
    uint32_t cnp_class, ack_class; /* into class[]; FABRIC_NONE: the class of the data */
    /* What operators set on the host and no simulation needs. */
    uint8_t cnp_dscp;                /* FABRIC_UNSAID: that of the class */
    uint8_t dcqcn_rp, dcqcn_np;      /* reaction and notification point: truth, or FABRIC_UNSAID */
    uint8_t dcbx_willing;            /* truth, or FABRIC_UNSAID */
    uint8_t dcbx_mode;               /* FABRIC_UNSAID, or an index of fabric_dcbx_names */
    uint64_t cable_mm;               /* the adapter's own setting; 0: not said */
    const struct fabric_param *nccl; /* NCCL_IB_TC ... */
    uint32_t nccls;
};

/* Is a congestion control named by the file that it is in (src/plugin), and not by a preset? */
bool fabric_congestion_is_file(const char *name);
uint64_t fabric_tcp_cpu(const struct fabric_nic *nic); /* payload a core sends a second, in bits; 0: no limit */
struct fabric_nic fabric_nic_default(void);            /* nic.c: as where a file says nothing */

/* Operations: what the fabric is made of and who answers for it (operations.c). */
#define FABRIC_UNSAID UINT8_MAX
enum fabric_nos {
    FABRIC_NOS_UNSAID,
    FABRIC_NOS_NXOS,
    FABRIC_NOS_EOS,
    FABRIC_NOS_SONIC,
    FABRIC_NOS_NVUE,
    FABRIC_NOS_JUNOS
};
#define FABRIC_NOSES (FABRIC_NOS_JUNOS + 1)
extern const char *const fabric_nos_names[FABRIC_NOSES + 1];
enum fabric_fec { FABRIC_FEC_UNSAID, FABRIC_FEC_NONE, FABRIC_FEC_FC, FABRIC_FEC_RS };
extern const char *const fabric_fec_names[FABRIC_FEC_RS + 2];
extern const char *const fabric_dcbx_names[]; /* "ieee", "cee", "off" */
enum fabric_routing_kind { FABRIC_SHORTEST, FABRIC_VALLEY_FREE };

struct fabric_device {                   /* of a node that the file says something of */
    const char *installed[FABRIC_PARTS]; /* NULL: not said */
    struct fabric_at at[FABRIC_PARTS];
};

struct fabric_approved { /* for a role: any of these */
    const char *const *version[FABRIC_PARTS];
    uint32_t versions[FABRIC_PARTS];
};

struct fabric_ignore {                /* findings of `rocelab check` that somebody answers for */
    const char *rule, *device, *port; /* device, port NULL: any */
    const char *reason;
    struct fabric_at at;
};

struct fabric_operations {
    uint8_t routing;                     /* enum fabric_routing_kind: how routes are made again */
    const struct fabric_device **device; /* [node], NULL where nothing is said; NULL: of none */
    const char **port_name;              /* [port], as its system calls it, or NULL; NULL: of none */
    struct fabric_approved approved[FABRIC_ROLES];
    const struct fabric_param *owner; /* `ecn`: "team-fabric" */
    uint32_t owners;
    const struct fabric_param *person; /* name: the team, value: who is in it */
    uint32_t people;
    const struct fabric_ignore *ignore;
    uint32_t ignores;
    uint32_t fan_in;                  /* ports that send to one at the same time by design; 0: not said */
    uint32_t share_ppm;               /* least share of the lossless classes; 0: not said */
    bool oversubscribed;              /* the file says that it is, and how much */
    const struct fabric_at *link_at;  /* [port] where an explicit link is written; NULL: made by a builder */
    const struct fabric_price *price; /* [price_item_count] that the file says; NULL: none */
    struct fabric_decision decision;
    struct fabric_criteria criteria; /* of `rocelab validate` */
    struct fabric_reliability reliability;
};

#endif
