/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interface of this machine, as whole Ethernet frames: AF_PACKET.
 *
 * What comes from a kernel is finished as an adapter would before anybody sees it: checksums, rows of segments, tags
 * that were handed over beside the frame (packet/offload.h).  What goes out is sent as it is.
 */
#ifndef ROCELAB_UP_INTERFACE_H
#define ROCELAB_UP_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct interface;
typedef void (*interface_frame)(void *context, const uint8_t *data, uint32_t bytes);

/* 0; -ENODEV: there is none of that name; -EPERM: no right; -errno. */
int interface_open(const char *name, struct interface **ret);
void interface_close(struct interface *interface);
int interface_fd(const struct interface *interface);
/* What waits, a bounded number; true: there was something. */
bool interface_read(struct interface *interface, interface_frame frame, void *context);
/* Answers how many of the frames were taken, the first ones; -errno: not even the first, and -EMSGSIZE because it is
 * longer than the interface takes. */
#define INTERFACE_BURST 64u
int interface_send(struct interface *interface, const struct iovec *frame, uint32_t count);
/* Frames that the kernel has thrown away since the last call, because nobody read them. */
uint64_t interface_lost(struct interface *interface);

#endif
