/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What switches and hosts share: a moment of a run with its counters as they are shown, and the files.
 */
#ifndef ROCELAB_DUMP_DUMP_INT_H
#define ROCELAB_DUMP_DUMP_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "dump/dump.h"
#include "observe/sample.h"
#include "report/json_out.h"
#include "report/text.h"
#include "sim/sim_result.h"

#define DUMP_PRIOS FABRIC_PRIOS

/* --- moment.c: values.  Counters are what they would show: begun at an offset of their own --- */
struct moment_port {
    bool cabled, up;
    uint8_t paused_now;                 /* bit p: the peer pauses it */
    uint64_t rate_bps;                  /* that the link has now */
    uint64_t downs, crc_errors;         /* times the link went down; frames that arrived with wrong bits */
    uint64_t pre_fec_ber;               /* in 10^-18; 0: not known */
    struct sw_port_counters sw;         /* of a switch's port; high-water marks and times are as they are */
    const struct sw_port_counters *raw; /* the same without offsets; NULL: a host's */
    struct observe_port_prio queue[DUMP_PRIOS];
    uint64_t queue_drops[DUMP_PRIOS], pg_drops[DUMP_PRIOS]; /* at the egress queue; for want of buffer at ingress */
    uint64_t queue_drop_bytes[DUMP_PRIOS]; /* of the bytes that the port dropped, shared out by packets */
    uint64_t watchdog_drops[DUMP_PRIOS];   /* of the queue_drops */
    uint64_t paused[DUMP_PRIOS];           /* times the peer's pauses began here */
};

struct moment_drops { /* of a switch's port, from moment to moment: how its drops were shared out, without offsets */
    uint64_t seen[DUMP_PRIOS], seen_out, seen_watchdog, seen_astray, seen_bytes; /* the port's own counters */
    uint64_t queue[DUMP_PRIOS], queue_bytes[DUMP_PRIOS], watchdog[DUMP_PRIOS], pg[DUMP_PRIOS];
};

struct moment_nic {
    struct nic_counters counters;
    const struct nic_counters *raw;
};

struct moment {
    const struct fabric *fabric;
    const struct sim_result *result;
    const struct config_format *format; /* of the switches */
    uint64_t seed;
    ps_t at;
    struct moment_drops *drops; /* [fabric->ports], the dump's */
    struct moment_port *port;   /* [fabric->ports] */
    struct moment_nic *nic;     /* [fabric->endpoints] */
    struct observe_rank *rank;
    uint32_t ranks;
    uint32_t *job_hosts; /* [fabric->jobs] hosts that take part in a job of GPUs */
    struct arena arena;  /* of these lists: without memory the process ends */
};

#define EACH_PORT(m, node, port) /* with a cable */                                                                    \
    for (uint32_t port = (m)->fabric->node[node].first_port;                                                           \
         port < (m)->fabric->node[node].first_port + (m)->fabric->node[node].ports; port++)                            \
        if ((m)->port[port].cabled)

void moment_read(struct moment *m, struct sim *sim); /* fabric, result, format and seed are set */
void moment_release(struct moment *m);

/* The port's name in its own system; what no table or JSON could hold becomes '_'. */
const char *moment_port_name(const struct moment *m, uint32_t port, char buf[FABRIC_NAME]);
/* What an operator writes into a port's description: the other end, `leaf0:Ethernet12`. */
const char *moment_peer(const struct moment *m, uint32_t port, char buf[2 * FABRIC_NAME]);
uint64_t moment_speed_mbps(const struct moment *m, uint32_t port); /* as it is now */
bool moment_up(const struct moment *m, uint32_t port);
const struct fabric_settings *moment_settings(const struct moment *m, uint32_t port);
uint8_t moment_watched(const struct moment *m, uint32_t port); /* bit p: the pause watchdog looks at it */
void moment_mac(const struct moment *m, uint32_t port, char buf[18]);
/* Sums and shares of a port's counters. */
uint64_t moment_in_discards(const struct moment_port *port);  /* at ingress, without what was too long */
uint64_t moment_out_discards(const struct moment_port *port); /* at egress */
static inline uint64_t moment_rx_pfc(const struct moment_port *port, unsigned p)
{
    return port->sw.prio[p].rx_xoff + port->sw.prio[p].rx_xon;
}
static inline uint64_t moment_tx_pfc(const struct moment_port *port, unsigned p)
{
    return port->sw.prio[p].tx_xoff + port->sw.prio[p].tx_xoff_refresh + port->sw.prio[p].tx_xon;
}

/* --- out.c: files of one device, tables --- */
struct grid { /* a table as Python's tabulate draws it ("simple"): dashes below the titles, two spaces between */
    const char *const *title;
    unsigned columns, left; /* left: bit c, column c is not moved to the right */
    char *cell;             /* cells, each with its 0; a row that is empty is a blank line */
    size_t used, room;
    unsigned cells;
};

struct out {
    const char *folder; /* of the device */
    FILE *file;         /* that is being written; NULL: it could not be opened */
    char path[DUMP_PATH];
    struct dump_failure *failure;
    struct grid grid;
    struct jout json;
};

/* A file named after the command whose output it is: spaces become '_'.  False: it cannot be written, and nothing is
 * to be. */
__attribute__((format(printf, 3, 4))) bool out_begin(struct out *out, const char *suffix, const char *command, ...);
void out_end(struct out *out);
void out_release(struct out *out);

void grid_begin(struct out *out, const char *const *title, unsigned columns, unsigned left);
__attribute__((format(printf, 2, 3))) void grid_cell(struct out *out, const char *format, ...);
void grid_count(struct out *out, uint64_t value); /* with thousands separated */
void grid_blank(struct out *out);                 /* a line, between rows */
void grid_end(struct out *out);                   /* prints it */

/* The device's configuration, as src/config writes it. */
void out_config(struct out *out, const struct moment *m, uint32_t node, const char *suffix, const char *command);

/* A number as text, as databases of counters have them. */
void out_json_string(struct out *out, const char *key, uint64_t value);

/* --- what a device of each kind prints --- */
struct dump_switches { /* the switches' system: what they write, and what their ports are called */
    void (*write)(struct out *out, const struct moment *m, uint32_t node);
    const struct config_format *format;
};
const struct dump_switches *dump_switches(void);
void dump_host(struct out *out, const struct moment *m, uint32_t node);
void dump_jobs(struct out *out, const struct moment *m, uint32_t node); /* of a host: collectives and training */
/* versions.c: what the file says is installed: of an adapter; of NCCL (NULL: not said); of a switch, behind `line`. */
void dump_driver(struct out *out, const struct moment *m, uint32_t node, unsigned adapter);
const char *dump_nccl_version(const struct moment *m, uint32_t node);
void dump_version(struct out *out, const struct moment *m, uint32_t node, const char *command, const char *line);
void dump_sonic(struct out *out, const struct moment *m, uint32_t node);
unsigned dump_sonic_mtu(uint32_t frame_bytes); /* as a port's mtu has it */
void dump_sonic_db(struct out *out, const struct moment *m, uint32_t node);
void dump_sonic_config(struct out *out, const struct moment *m, uint32_t node);

#endif
