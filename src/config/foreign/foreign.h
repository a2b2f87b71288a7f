/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of other simulators, printed as a fabric file.
 */
#ifndef ROCELAB_CONFIG_FOREIGN_FOREIGN_H
#define ROCELAB_CONFIG_FOREIGN_FOREIGN_H

#include <stdint.h>
#include <stdio.h>

struct fabric_errors;

struct fabric_import_hpcc {
    const char *topology_path, *flows_path;
    const char *topology, *flows; /* their text */
    const char *congestion;       /* dcqcn or hpcc */
    uint64_t buffer_bytes;        /* 0: 32 MB */
};
int fabric_import_hpcc(const struct fabric_import_hpcc *from, FILE *to, struct fabric_errors *errors);
int fabric_import_htsim(const char *path, const char *text, FILE *to, struct fabric_errors *errors);

#endif
