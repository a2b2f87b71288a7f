/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists for those who build a fabric: the cabling plan and the bill of materials.
 */
#ifndef ROCELAB_CONFIG_CABLING_H
#define ROCELAB_CONFIG_CABLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "fabric/fabric.h"

struct cabling_row {        /* a cable */
    char rail[12];          /* number of the NIC within its host; "" between switches */
    char nic[FABRIC_NAME];  /* the host's end, `h0:2`; between switches the upper one's */
    char leaf[FABRIC_NAME]; /* the switch at the other end */
    char port[FABRIC_NAME]; /* as its system calls it, else its number */
    char rate[UNIT_TEXT], length[UNIT_TEXT];
    bool length_known; /* the file says it */
};
/* In order of the lower end: hosts first, then switches.  Ends that are not known are left out. */
void cabling_each(const struct fabric *fabric, void (*each)(void *to, const struct cabling_row *row), void *to);

struct bom_row {
    const char *part; /* switch, host, GPU, NIC, cable */
    char what[128];
    uint64_t count;
};
/* Parts alike counted together; 0 or -ENOMEM. */
int bom_each(const struct fabric *fabric, void (*each)(void *to, const struct bom_row *row), void *to);

#endif
