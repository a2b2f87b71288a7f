/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other verbs than the workload knows: see verbs.c.
 */
#ifndef ROCELAB_TESTS_SWARM_VERBS_H
#define ROCELAB_TESTS_SWARM_VERBS_H

#include "swarm.h"

void verbs_begin(const struct plan *plan, const struct fabric *fabric);
/* The simulation is made: all queue pairs are known. */
void verbs_made(void);
void verbs_end(void);
/* The first PSN that this end sends. */
uint64_t verbs_base(uint32_t endpoint, uint32_t qpn);
/* enum nic_transport of a connection. */
uint8_t verbs_transport(uint32_t connection);
/* The connection's next request becomes what the plan wants. */
void verbs_rewrite(struct nic_wr *wr);
/* Receives that are due are posted. */
void verbs_release(struct nic *nic, ps_t now, struct nic_io *io);

#endif
