/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric as a whole, for those who pass it on and look at none of its arrays.
 */
#ifndef ROCELAB_FABRIC_HANDLE_H
#define ROCELAB_FABRIC_HANDLE_H

#include <stddef.h>
#include <stdint.h>

struct fabric;
struct fabric_system_row;

const char *fabric_name(const struct fabric *fabric);
const char *fabric_path(const struct fabric *fabric);     /* of its file */
uint64_t fabric_source_hash(const struct fabric *fabric); /* of what the file says, and of the files it names */
uint64_t fabric_run_hash(const struct fabric *fabric);    /* of what a run can see; 0 unless values were replaced */
const struct fabric_system_row *fabric_system(const struct fabric *fabric); /* systems.h */
/* Its own and those of its classes: FABRIC_SYSTEM() of each. */
uint32_t fabric_systems_used(const struct fabric *fabric);
void fabric_free(struct fabric *fabric);
/* What the arrays hold now. */
size_t fabric_memory_bytes(const struct fabric *fabric);

#endif
