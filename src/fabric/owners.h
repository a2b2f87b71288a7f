/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who answers for a setting, and who may change it.
 */
#ifndef ROCELAB_FABRIC_OWNERS_H
#define ROCELAB_FABRIC_OWNERS_H

#include <stdbool.h>

struct fabric;

/* Of a key as `classes.rdma.ecn.min`; NULL: nobody is named. */
const char *fabric_owner(const struct fabric *fabric, const char *key);
/* The owner of the key is called so, or it is a team that this name is of.  What nobody owns nobody may change. */
bool fabric_may_change(const struct fabric *fabric, const char *key, const char *name);
/* May sign a baseline: whoever may change `baseline` where that is owned, else any owner or member of a team; anybody
 * where the file names nobody. */
bool fabric_may_sign(const struct fabric *fabric, const char *name);

/* Families of settings that have to have an owner: "ecn", "pfc", ...; NULL at the end. */
extern const char *const fabric_owned[];

struct loader;
void owners_load(struct loader *loader); /* `owners:` and `teams:` */

#endif
