/* SPDX-License-Identifier: Apache-2.0 */
/* Between what finds D04: ports that are full or pause others, and bursts that are over before a port is. */
#ifndef ROCELAB_DIAGNOSE_RULES_PAUSES_INT_H
#define ROCELAB_DIAGNOSE_RULES_PAUSES_INT_H

#include "diagnose/rule_int.h"

#define INCAST_LEAST 4 /* senders */
/* Who sends to the NIC takes part, where the input has transfers. */
void incast_senders(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t nic);
void bursts_find(struct diagnose *diagnose);

#endif
