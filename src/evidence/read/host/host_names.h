/* SPDX-License-Identifier: Apache-2.0 */
/* What NICs' drivers call their counters, and what readers of hosts' tools share. */
#ifndef ROCELAB_EVIDENCE_READ_HOST_HOST_NAMES_H
#define ROCELAB_EVIDENCE_READ_HOST_HOST_NAMES_H

#include "evidence/read/reader.h"

extern const struct counter_name host_interface_names[];  /* of ethtool -S */
extern const struct counter_name host_rdma_names[];       /* of counters and hw_counters, which rdma prints too */
extern const struct counter_name host_infiniband_names[]; /* of perfquery and its like */
bool host_has_name(const struct counter_name *list, const struct text_field *name);

/* An RDMA device's port is that of its interface, which gives it its name. */
void host_tie(struct reading *in, uint32_t rdma, const struct text_field *netdev);

/* "mlx5_0/1", "mlx5_0": port 1 has the device's name alone, as nearly every device has one port. */
uint32_t host_rdma_port(struct reading *in, struct text_field name);
uint32_t host_rdma_numbered(struct reading *in, const struct text_field *device, uint64_t number);
/* The port that the command or the file's name says; "NIC" where neither does, which is said; EVIDENCE_NONE where there
 * is no device. */
uint32_t host_hinted_port(struct reading *in);
/* The system of a port's device: a Cumulus switch runs the same commands. */
void host_say_system(struct reading *in, const struct text_field *port);

/* "Label  : value", both without blanks around them, the value to the end of the line; false: it is no such line. */
bool host_label(const char *line, struct text_field *label, struct text_field *value);
/* "On", "PFC enabled": without regard to case. */
bool host_begins(const struct text_field *field, const char *text);
/* PFC of all priorities as bits; a port where it is off for all is told as an event too. */
void host_pfc(struct reading *in, uint32_t port, unsigned bits);
/* An RDMA port that a tool says is down. */
void host_port_state(struct reading *in, uint32_t port, bool up, const char *detail);

#endif
