/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that waits for a channel's descriptor with poll() or epoll does the thread's work meanwhile.
 *
 * A message then wakes the program itself.  Else it wakes the thread, and the thread the program: twice the time.
 * device_channel_wait() does the same for a program that waits there (channel.c).  What stands before poll() and
 * epoll_wait() of libc is not here but in src/verbs.
 *
 * A program may destroy a channel while another of its threads waits for it.  The table of channels by descriptor
 * tells who is there; a channel that goes calls back whoever waits, through an eventfd that all of them share.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "live/live_int.h"

#define FDS 4096 /* descriptors beyond are waited for as they are */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device_channel *table[FDS]; /* written under the lock; atomic */
static live_ppoll *real_ppoll = ppoll;
static int callback_fd = -1; /* under the lock; readable while a channel that goes calls back */

struct wait {
    struct device *live; /* NULL: nobody's work is done */
    struct device_channel *channel;
    int wire_fd, callback_fd, fd;
};

void live_wait_with(live_ppoll *real)
{
    real_ppoll = real;
}

int wait_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    return real_ppoll(fds, count, limit, mask);
}

bool live_channel_has(int fd)
{
    return fd >= 0 && fd < FDS && __atomic_load_n(&table[fd], __ATOMIC_ACQUIRE) != NULL;
}

void wait_add(struct device_channel *channel)
{
    if (channel->fd >= FDS) return;
    pthread_mutex_lock(&table_lock);
    if (callback_fd < 0) callback_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (callback_fd >= 0) __atomic_store_n(&table[channel->fd], channel, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&table_lock);
}

void wait_remove(struct device_channel *channel)
{
    eventfd_t value;

    if (channel->fd >= FDS || live_inert(channel->live)) return; /* a child may find the lock taken for ever */
    pthread_mutex_lock(&table_lock);
    __atomic_store_n(&table[channel->fd], NULL, __ATOMIC_RELEASE);
    if (__atomic_load_n(&channel->waits, __ATOMIC_ACQUIRE)) {
        (void)eventfd_write(callback_fd, 1);
        while (__atomic_load_n(&channel->waits, __ATOMIC_ACQUIRE))
            sched_yield();
        (void)eventfd_read(callback_fd, &value);
    }
    pthread_mutex_unlock(&table_lock);
}

static void end(void *argument)
{
    struct wait *wait = argument;

    if (wait->live == NULL) return;
    __atomic_store_n(&wait->live->driven, false, __ATOMIC_RELEASE);
    __atomic_store_n(&wait->channel->waits, false, __ATOMIC_RELEASE);
    wait->live = NULL;
}

/* Only for who will be woken by a completion: somebody has armed a queue, and no event is there yet. */
static void begin(struct wait *wait, int fd)
{
    *wait = (struct wait){.fd = fd, .wire_fd = -1, .callback_fd = -1};
    if (pthread_mutex_trylock(&table_lock) != 0) return;
    struct device_channel *channel = table[fd];
    if (channel != NULL && __atomic_load_n(&channel->live->armed, __ATOMIC_RELAXED) != NULL &&
        channel_begin_drive(channel)) {
        __atomic_store_n(&channel->waits, true, __ATOMIC_RELEASE);
        *wait = (struct wait){.live = channel->live,
                              .channel = channel,
                              .fd = fd,
                              .wire_fd = channel->live->wire->ops->fd(channel->live->wire),
                              .callback_fd = callback_fd};
    }
    pthread_mutex_unlock(&table_lock);
}

/* A channel that has gone: as in a poll() that sleeps its descriptor is never ready again, whoever has the number. */
static void forget(int fd, struct pollfd *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (fds[i].fd == fd) fds[i].fd = -1;
}

/* How many descriptors of the program are ready; 0: what came was for us, and it is done. */
static int programs_share(struct wait *wait, struct pollfd *fds, unsigned count, int ready)
{
    const struct pollfd *wire = &fds[count], *callback = &fds[count + 1];

    ready -= (wire->revents != 0) + (callback->revents != 0);
    if (ready > 0) return ready;
    if (__atomic_load_n(&table[wait->fd], __ATOMIC_ACQUIRE) != wait->channel) {
        forget(wait->fd, fds, count);
        end(wait);
    } else if (wire->revents && (wire->revents != POLLIN || !channel_help(wait->live))) {
        end(wait);
    }
    return 0;
}

int live_wait_poll(int fd, struct pollfd *fds, unsigned count, const struct timespec *limit, const sigset_t *mask)
{
    struct pollfd all[LIVE_WAIT_FDS + 2];
    struct wait wait;
    const ps_t most = limit ? (ps_t)limit->tv_sec * PS_S + (ps_t)limit->tv_nsec * PS_NS : 0, start = live_now();
    int ready;

    memcpy(all, fds, count * sizeof *fds);
    begin(&wait, fd);
    pthread_cleanup_push(end, &wait);
    do {
        ps_t gone = live_now() - start, left = gone < most ? most - gone : 0;
        struct timespec rest = {.tv_sec = (time_t)(left / PS_S), .tv_nsec = (long)(left % PS_S / PS_NS)};
        all[count] = (struct pollfd){.fd = wait.live ? wait.wire_fd : -1, .events = POLLIN};
        all[count + 1] = (struct pollfd){.fd = wait.live ? wait.callback_fd : -1, .events = POLLIN};
        ready = real_ppoll(all, count + 2, limit ? &rest : NULL, mask);
        if (ready <= 0) break;
        ready = programs_share(&wait, all, count, ready);
    } while (ready == 0);
    pthread_cleanup_pop(1);
    for (unsigned i = 0; ready >= 0 && i < count; i++)
        fds[i].revents = all[i].revents;
    return ready;
}
