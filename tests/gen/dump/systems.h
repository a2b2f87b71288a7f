/* SPDX-License-Identifier: Apache-2.0 */
/* The systems that the program of the tests writes dumps of, besides the one that users have. */
#ifndef ROCELAB_GEN_DUMP_SYSTEMS_H
#define ROCELAB_GEN_DUMP_SYSTEMS_H

#include "dump/dump_int.h"

void dump_cumulus(struct out *out, const struct moment *m, uint32_t node);
void dump_eos(struct out *out, const struct moment *m, uint32_t node);
void dump_nxos(struct out *out, const struct moment *m, uint32_t node);

#endif
