/* SPDX-License-Identifier: Apache-2.0 */
/* What NICs' drivers call their counters. */
#ifndef ROCELAB_EVIDENCE_READ_HOST_HOST_NAMES_H
#define ROCELAB_EVIDENCE_READ_HOST_HOST_NAMES_H

#include "evidence/read/reader.h"

extern const struct counter_name host_interface_names[]; /* of ethtool -S */
extern const struct counter_name host_rdma_names[];      /* of counters and hw_counters, which rdma prints too */

/* An RDMA device's port is that of its interface, which gives it its name. */
void host_tie(struct reading *in, uint32_t rdma, const struct text_field *netdev);

#endif
