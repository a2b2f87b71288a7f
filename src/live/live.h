/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live adapter: one `nic` in real time, for one network interface, in one process; a device of device/device.h.
 *
 * Payload is copied from and to the application's memory here; everything the protocol decides is decided in src/nic.
 * Devices come from the machine's interfaces and ROCELAB_DEVICE: interfaces that are up with an address, or the
 * loopback where there is none.
 *
 * Progress.  device_poll() and device_post_*() make progress inline, in the caller's thread.  A thread of our own keeps
 * one-sided operations and timers going while the application computes or sleeps: it waits on the wire's descriptor
 * and for the adapter's next deadline, and steps back while the application polls.  A device is under one lock, or,
 * where there are cores for it, its queue pairs are shared out and each share is; completions become visible only
 * after their bytes are in place.
 */
#ifndef ROCELAB_LIVE_LIVE_H
#define ROCELAB_LIVE_LIVE_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "device/device.h"
#include "wire/wire.h"

/* For who stands before poll() and epoll: is a descriptor a channel's?  Needs no lock. */
bool live_channel_has(int fd);
#define LIVE_WAIT_FDS 64u
typedef int live_ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
/* ppoll() of at most LIVE_WAIT_FDS descriptors for who waits for that of a channel, among them or in an epoll set of
 * them; what the wire brings meanwhile is taken in. */
int live_wait_poll(int fd, struct pollfd *fds, unsigned count, const struct timespec *limit, const sigset_t *mask);
/* Whose ppoll() all waits for channels use: one that does not come back here.  At first libc's. */
void live_wait_with(live_ppoll *real);

/* Of an adapter that lives here: copies, valid until the next call. */
const struct nic_counters *live_counters(struct device *);
const struct wire_counters *live_wire_counters(struct device *);

#endif
