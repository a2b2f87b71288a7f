/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion channels: events of completion queues, one descriptor.
 *
 * A channel is an eventfd in semaphore mode (one count per event, so poll() tells the truth) and a list of the
 * queues that have events, in order.  Queues of any shard share it, so it has a lock of its own, under which nothing
 * else is taken.  Which completion makes an event is decided in cq.c.
 *
 * The progress thread writes to the descriptor after it has let go of the device: who is woken polls at once, and
 * would only meet its lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "live/live_int.h"

int adapter_channel_create(struct device *live, struct device_channel **ret)
{
    struct device_channel *channel = malloc(sizeof *channel);

    if (channel == NULL) return -ENOMEM;
    *channel = (struct device_channel){.ops = live->ops, .live = live, .fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
    if (channel->fd < 0) {
        int error = -errno;
        free(channel);
        return error;
    }
    pthread_mutex_init(&channel->lock, NULL);
    pthread_cond_init(&channel->acked, NULL);
    wait_add(channel);
    *ret = channel;
    return 0;
}

/* Is a thread about to write to the descriptor? */
static bool about_to_ring(struct device_channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    bool ringing = channel->rings != 0;
    pthread_mutex_unlock(&channel->lock);
    return ringing;
}

int adapter_channel_destroy(struct device_channel *channel)
{
    if (__atomic_load_n(&channel->users, __ATOMIC_ACQUIRE)) return -EBUSY;
    while (!live_inert(channel->live) && about_to_ring(channel))
        sched_yield();
    wait_remove(channel);
    close(channel->fd);
    pthread_cond_destroy(&channel->acked);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
    return 0;
}

int adapter_channel_fd(const struct device_channel *channel)
{
    return channel->fd;
}

static void take_out(struct device_channel *channel, struct device_cq *cq)
{
    struct device_cq **at = &channel->head, *last = NULL;

    while (*at && *at != cq) {
        last = *at;
        at = &(*at)->channel_next;
    }
    if (*at == NULL) return;
    *at = cq->channel_next;
    if (channel->tail == cq) channel->tail = last;
}

static void append(struct device_channel *channel, struct device_cq *cq)
{
    cq->channel_next = NULL;
    if (channel->head)
        channel->tail->channel_next = cq;
    else
        channel->head = cq;
    channel->tail = cq;
}

void channel_tell(struct device *by, struct device_cq *cq)
{
    struct device_channel *channel = cq->channel;

    if (channel == NULL) return;
    pthread_mutex_lock(&channel->lock);
    if (cq->pending++ == 0) append(channel, cq);
    channel->rings++;
    pthread_mutex_unlock(&channel->lock);
    by->event_told = true;
    if (by->holder == HOLDER_THREAD && by->rings < LIVE_RINGS)
        by->ring[by->rings++] = channel;
    else
        channel_ring(channel);
}

void channel_ring(struct device_channel *channel)
{
    eventfd_write(channel->fd, 1);
    pthread_mutex_lock(&channel->lock); /* a program's ThreadSanitizer sees locks in here, and no atomics */
    channel->rings--;
    pthread_mutex_unlock(&channel->lock);
}

void channel_forget(struct device_cq *cq)
{
    struct device_channel *channel = cq->channel;

    if (channel == NULL) return;
    pthread_mutex_lock(&channel->lock);
    if (cq->pending) take_out(channel, cq);
    cq->pending = 0; /* counts of the eventfd that are left make a waiter look in vain, once */
    while (cq->acked != cq->delivered)
        pthread_cond_wait(&channel->acked, &channel->lock);
    pthread_mutex_unlock(&channel->lock);
    __atomic_fetch_sub(&channel->users, 1, __ATOMIC_RELEASE);
}

static const int fault_signal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP, SIGABRT};

/* Would a wait sleep, and may it do the thread's work meanwhile?  One at a time. */
bool channel_begin_drive(struct device_channel *channel)
{
    struct device *live = channel->live;
    bool expected = false;

    pthread_mutex_lock(&channel->lock);
    bool there = channel->head != NULL;
    pthread_mutex_unlock(&channel->lock);
    if (there || !live->thread_runs || shard_many(live) || live_inert(live)) return false;
    return __atomic_compare_exchange_n(&live->driven, &expected, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void end_drive(void *live)
{
    __atomic_store_n(&((struct device *)live)->driven, false, __ATOMIC_RELEASE);
}

/* Would a read() go on after the signal that has ended a poll()?  It does unless the handler was installed without
 * SA_RESTART; which signal it was nobody tells.  Those for what a thread itself does wrong come at no poll(). */
static bool read_goes_on(void)
{
    sigset_t own;

    sigemptyset(&own);
    for (unsigned i = 0; i < sizeof fault_signal / sizeof fault_signal[0]; i++)
        sigaddset(&own, fault_signal[i]);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigismember(&own, number) == 1 || sigaction(number, NULL, &action) < 0) continue;
        if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN && !(action.sa_flags & SA_RESTART))
            return false;
    }
    return true;
}

/* Takes what the wire brings.  A program may cancel the thread that waits: not while it has the lock. */
bool channel_help(struct device *live)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    bool entered = live_enter(live) == 0;
    if (entered) {
        thread_help(live);
        live_leave(live);
    }
    pthread_setcancelstate(before, NULL);
    return entered;
}

/* Waits for the wire beside the channel: a message then wakes the program itself, not the thread first and the program
 * by it, which takes twice as long.  The thread sleeps on the same wire, and finds nothing left to do.  0: there is an
 * event, or the channel alone is to be waited for; -EINTR. */
static int drive(struct device_channel *channel)
{
    struct device *live = channel->live;
    struct pollfd fd[] = {{.fd = channel->fd, .events = POLLIN},
                          {.fd = live->wire->ops->fd(live->wire), .events = POLLIN}};
    int error = 0;

    pthread_cleanup_push(end_drive, live);
    while (error == 0) {
        if (wait_ppoll(fd, 2, NULL, NULL) < 0)
            error = errno == EINTR && read_goes_on() ? 0 : -errno;
        else if (fd[0].revents || fd[1].revents != POLLIN || !channel_help(live))
            break;
    }
    pthread_cleanup_pop(1);
    return error;
}

int adapter_channel_wait(struct device_channel *channel, struct device_cq **ret, void **ret_app)
{
    for (;;) {
        eventfd_t value;
        if (live_inert(channel->live)) return -ENODEV; /* before an event is taken that is the parent's */
        bool sleeps = !(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
        int error = sleeps && channel_begin_drive(channel) ? drive(channel) : 0;
        if (error < 0) return error;
        if (eventfd_read(channel->fd, &value) < 0) return -errno;
        if (live_inert(channel->live)) return -ENODEV;
        pthread_mutex_lock(&channel->lock);
        struct device_cq *cq = channel->head;
        if (cq) {
            take_out(channel, cq);
            if (--cq->pending) append(channel, cq);
            cq->delivered++;
            *ret = cq;
            *ret_app = cq->app;
        }
        pthread_mutex_unlock(&channel->lock);
        if (cq) return 0;
    }
}

void adapter_cq_ack_events(struct device_cq *cq, unsigned events)
{
    struct device_channel *channel = cq->channel;

    if (channel == NULL || live_inert(cq->live)) return;
    pthread_mutex_lock(&channel->lock);
    cq->acked += events;
    pthread_cond_broadcast(&channel->acked);
    pthread_mutex_unlock(&channel->lock);
}
