/* SPDX-License-Identifier: Apache-2.0 */
/* Between what finds D04: ports that are full or pause others, and bursts that are over before a port is. */
#ifndef ROCELAB_DIAGNOSE_RULES_PAUSES_INT_H
#define ROCELAB_DIAGNOSE_RULES_PAUSES_INT_H

#include "diagnose/rule_int.h"

#define INCAST_LEAST 4 /* senders */
/* Who sends to the NIC takes part, where the input has transfers. */
void incast_senders(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t nic);
/* Where D22 names a port to a host: an incast of another job there is its cause. */
void incast_in_the_way(struct diagnose *diagnose, uint32_t port);
void bursts_find(struct diagnose *diagnose);

#endif
