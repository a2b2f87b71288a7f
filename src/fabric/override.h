/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of a fabric file replaced before it is read; file/override.h does it.
 */
#ifndef ROCELAB_FABRIC_OVERRIDE_H
#define ROCELAB_FABRIC_OVERRIDE_H

struct fabric_override { /* path: `classes.rdma.ecn.min`, `jobs.0.size` */
    const char *path, *value;
};

#endif
