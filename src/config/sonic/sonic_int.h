/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both directions of SONiC share, and the state of one import.
 */
#ifndef ROCELAB_CONFIG_SONIC_SONIC_INT_H
#define ROCELAB_CONFIG_SONIC_SONIC_INT_H

#include "config/sonic/rows.h"

/* A port's `mtu` is of what the Ethernet header carries; the fabric's is a whole tagged frame without FCS. */
#define SONIC_MTU_OVER 18u
#define SONIC_MTU_MIN 68u
#define SONIC_MTU_MAX 9216u
#define SONIC_MTU_DEFAULT 9100u
#define SONIC_RATE_STEP 1000000u /* bits a second: of `speed` */
/* Ranges of the published YANG models. */
#define SONIC_TH_MIN (-8)
#define SONIC_TH_MAX 7
#define SONIC_DETECT_MIN_MS 100u
#define SONIC_DETECT_MAX_MS 5000u
#define SONIC_RESTORE_MIN_MS 100u
#define SONIC_RESTORE_MAX_MS 60000u
#define SONIC_POLL_MIN_MS 100u
#define SONIC_POLL_MAX_MS 1000u

struct sonic_known {                                        /* a table that is read */
    const char *name, *fields;                              /* words.h; "": any */
    unsigned families;                                      /* of drifts that it mends */
    enum { SONIC_WHOLE, SONIC_PARTLY, SONIC_OF_PORTS } how; /* other fields stay; rows of ports, which may have to go */
};
extern const struct sonic_known sonic_known[];                               /* ends with a NULL name */
const struct sonic_known *sonic_table_read(const char *name, size_t length); /* NULL: it is not */

int sonic_import(struct config_set *set, const struct config_text *text);
int sonic_emit(const struct config_emit *emit);
int sonic_fix(const struct fix *fix); /* a JSON patch (RFC 6902) */
int sonic_guess(const char *text, size_t length);
void sonic_port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size);

/* --- of an import --- */
struct switch_model;

struct sonic_port { /* the rows that speak of it; NULL: none does */
    bool met;
    bool used; /* something besides its PORT row speaks of it: an address, a map, a neighbour */
    bool down; /* shut: what is wrong with it is of no matter */
    const struct sonic_row *port_row, *qos, *watchdog;
    const struct sonic_row *queue[FABRIC_PRIOS], *pg[FABRIC_PRIOS], *buffer_queue[FABRIC_PRIOS];
    const struct sonic_row *leaving[FABRIC_PRIOS]; /* profiles of the queues of lossless classes */
    const struct tree *cable;
    uint64_t rate_mbps;
    unsigned pfc; /* bits: priorities that pause */
    unsigned lossless;
    unsigned set_aside; /* bits: classes for which a profile keeps headroom */
    unsigned no_group;  /* bits: classes that pause without a row of BUFFER_PG, which the switch then makes itself */
};

struct sonic {
    struct config_set *set;
    const struct config_text *text;
    struct arena *arena;
    struct sonic_rows rows;
    uint32_t device;
    const struct sonic_row *global, *watchdog; /* PORT_QOS_MAP|global, PFC_WD|GLOBAL */
    bool has_buffers, has_qos;
    bool whole;              /* a switch's whole configuration, not one table of it: what is missing is off */
    struct sonic_port *port; /* by the device's number */
    uint32_t ports, room;
    uint32_t foreign, foreign_line; /* rows of other cards of a chassis, and the first of them */
    unsigned dangling;              /* bits of partial.c: tables of which a row is referred to and not here */
};

/* tables.c */
bool sonic_number(const char *text, int64_t low, int64_t high, int64_t *ret);
bool sonic_read(struct sonic *in, const struct sonic_row *row, const char *name, int64_t low, int64_t high,
                int64_t *ret);
const struct sonic_row *sonic_follow(struct sonic *in, const struct sonic_row *row, const char *name,
                                     const char *table);
struct sonic_port *sonic_port_get(struct sonic *in, const char *name, uint32_t line);

/* meaning.c */
void sonic_say_ports(struct sonic *in);
uint32_t sonic_line(const struct sonic_row *row, const char *name);                   /* of a field, or its row */
unsigned sonic_bits(struct sonic *in, const struct sonic_row *row, const char *name); /* `3,4` */
/* watchdog.c */
void sonic_say_watchdog(struct sonic *in);
/* buffer.c */
void sonic_say_group(struct sonic *in, uint32_t p, unsigned tc, unsigned group);
void sonic_say_queue_limit(struct sonic *in, uint32_t p, unsigned tc, unsigned queue);
void sonic_note_leaving(struct sonic *in);
void sonic_note_no_group(struct sonic *in);
void sonic_note_no_wred(struct sonic *in);
void sonic_say_buffer(struct sonic *in, const struct switch_model *model); /* NULL: not known */

/* partial.c */
bool sonic_partial(const struct sonic *in,
                   const char *table);                    /* rows of it may be elsewhere: it is a part of a switch */
void sonic_dangling(struct sonic *in, const char *table); /* something refers to a row of it that is not here */
void sonic_unjudge_partial(struct sonic *in);

#endif
