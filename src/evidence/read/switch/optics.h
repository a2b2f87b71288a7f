/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What switches say of the optics of their ports: temperature, light by lane, alarms.
 *
 * A system prints values before or after the limits that they are held against, so both are kept until the port ends.
 * Without light nothing is plugged in at the other end, or nobody sends there: that is told as it is, and judged by
 * whether the link should work.  Private to read/switch.
 */
#ifndef ROCELAB_EVIDENCE_READ_SWITCH_OPTICS_H
#define ROCELAB_EVIDENCE_READ_SWITCH_OPTICS_H

#include "evidence/read/reader.h"

#define OPTICS_LANES 16
#define OPTICS_DARK_DBM (-30.0) /* what a receiver says that sees no light */

struct optics {
    uint32_t port;
    bool begun;                               /* a port was named */
    bool seen;                                /* something of it */
    bool hot, weak_light;                     /* the text itself marks the value as beyond its alarm */
    bool from_zero;                           /* the system counts lanes from 0 */
    unsigned lane;                            /* of the lines that follow, from 0 */
    float bias;                               /* mA of the laser, of systems without lanes; 0: not said */
    float temperature, hot_at, cold_light_at; /* NaN: not said */
    float light[OPTICS_LANES];
    bool has_light[OPTICS_LANES], lane_off[OPTICS_LANES];
    struct evidence_source source; /* of the last value */
};

void optics_begin(struct optics *optics, uint32_t port);
/* Says what was kept, and begins anew.  Nothing where nothing was. */
void optics_end(struct reading *in, struct optics *optics);
/* Values of a line; `lane` from 0. */
void optics_temperature(struct reading *in, struct optics *optics, double celsius);
void optics_light(struct reading *in, struct optics *optics, unsigned lane, double dbm);
/* A line of `show interface transceiver details` (NX-OS) below the port's name.  False: it is none. */
bool optics_nxos_line(struct reading *in, struct optics *optics, const char *line);
/* A line of `show interfaces diagnostics optics` (Junos) below "Physical interface: ...".  False: it is none. */
bool optics_junos_line(struct reading *in, struct optics *optics, const char *line);

#endif
