/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cabling plan, for those who build a fabric.
 */
#ifndef ROCELAB_CONFIG_CABLING_H
#define ROCELAB_CONFIG_CABLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "config/config.h"
#include "fabric/names.h"

struct fabric;

#define CABLING_END (2 * FABRIC_NAME)
struct cabling_row {        /* a cable */
    char rail[12];          /* number of the NIC within its host; "" between switches */
    char nic[CABLING_END];  /* the host's end, `h0:2`; between switches the upper one's, `spine0:Ethernet3` */
    char leaf[FABRIC_NAME]; /* the switch at the other end */
    char port[FABRIC_NAME]; /* as its system calls it, else its number */
    char rate[UNIT_TEXT], length[UNIT_TEXT];
    bool length_known; /* the file says it */
};
/* In order of the lower end: hosts first, then switches.  Ends that are not known are left out.  nos: the system that
 * names ports of switches; NULL: what the fabric says of each. */
void cabling_each(const struct fabric *fabric, const struct config_format *nos,
                  void (*each)(void *to, const struct cabling_row *row), void *to);

#endif
