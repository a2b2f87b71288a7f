/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting: for one rsocket, and for many with rpoll() and rselect().
 *
 * Descriptors tell of completions only after the queue was armed, so each wait is: look, arm, look again, sleep.
 * Before sleeping a call looks for 20 us, since an answer often comes within that; sleeping costs more.
 * Where two threads sleep on one socket, one may take the event that the other waits for: then they look again every
 * 20 ms.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/rdmacm/clock.h"
#include "verbs/rsocket/rsocket_int.h"

#define SPIN_NS 20000u
#define SHARED_MS 20

/* What is left of a wait that began at start_ns; -1: for ever. */
static int left_ms(uint64_t start_ns, int timeout_ms)
{
    uint64_t gone_ms = (rdmacm_now_ns() - start_ns) / 1000000;

    if (timeout_ms < 0) return -1;
    return gone_ms >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)gone_ms;
}

void rs_arm(struct rs *rs)
{
    if (rs->cq != NULL) (void)ibv_req_notify_cq(rs->cq, 0);
}

void rs_take_events(struct rs *rs)
{
    struct ibv_cq *cq;
    void *context;

    if (rs->completions == NULL) return;
    for (int i = 0; i < 64 && ibv_get_cq_event(rs->completions, &cq, &context) == 0; i++)
        ibv_ack_cq_events(cq, 1);
}

bool rs_wait(struct rs *rs, bool (*ready)(const struct rs *), int timeout_ms)
{
    uint64_t start_ns = rdmacm_now_ns();

    for (;;) {
        struct pollfd fds[2] = {{.fd = rs->fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
        int wait_ms;

        do {
            rs_progress(rs);
            if (ready(rs)) return true;
        } while (timeout_ms != 0 && rdmacm_now_ns() - start_ns < SPIN_NS);
        if (timeout_ms == 0) return false;
        rs_take_events(rs);
        rs_arm(rs);
        rs_progress(rs);
        if (ready(rs)) return true;
        wait_ms = left_ms(start_ns, timeout_ms);
        if (wait_ms == 0) return false;
        if (rs->completions != NULL) fds[1].fd = rs->completions->fd;
        if (rs->state == RS_ENDED || rs->state == RS_FAILED) fds[0].fd = -1; /* its events are read no more */
        rs->sleepers++;
        if (rs->sleepers > 1 && (wait_ms < 0 || wait_ms > SHARED_MS)) wait_ms = SHARED_MS;
        pthread_mutex_unlock(&rs->lock);
        int error = poll(fds, 2, wait_ms) < 0 ? errno : 0;
        pthread_mutex_lock(&rs->lock);
        rs->sleepers--;
        if (error == EINTR) {
            errno = EINTR;
            return false;
        }
    }
}

bool rs_request_waits(const struct rs *rs)
{
    struct pollfd fd = {.fd = rs->fd, .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

short rs_events(struct rs *rs, short wanted)
{
    short events = 0;

    if (rs->state == RS_LISTENING) return rs_request_waits(rs) ? (short)(wanted & POLLIN) : 0;
    rs_progress(rs);
    if (rs->state == RS_FAILED) return (short)(POLLERR | (wanted & (POLLIN | POLLOUT)));
    if (rs->state == RS_NEW || rs->state == RS_BOUND) return POLLHUP;
    if (rs_readable(rs)) events |= POLLIN;
    if (rs_writable(rs)) events |= POLLOUT;
    /* What the peer sent before it went is read first: programs take the hang-up for an error. */
    if (rs->state == RS_ENDED && rs->filled_count == 0) return (short)((events & wanted) | POLLHUP);
    return (short)(events & wanted);
}

/* Looks at all; how many have something.  arm: they are about to be slept on. */
static int look(struct pollfd *fds, nfds_t count, bool arm)
{
    int ready = 0;

    for (nfds_t i = 0; i < count; i++) {
        struct rs *rs = fds[i].fd < 0 ? NULL : rs_of(fds[i].fd);
        if (rs == NULL || rs->type != SOCK_STREAM) {
            struct pollfd own = fds[i];
            fds[i].revents = fds[i].fd >= 0 && poll(&own, 1, 0) == 1 ? own.revents : 0;
        } else {
            pthread_mutex_lock(&rs->lock);
            if (arm) {
                rs_take_events(rs);
                rs_arm(rs);
            }
            fds[i].revents = rs_events(rs, fds[i].events);
            pthread_mutex_unlock(&rs->lock);
        }
        ready += fds[i].revents != 0;
    }
    return ready;
}

/* The descriptors behind: two for an rsocket. */
static void sleep_on(const struct pollfd *fds, nfds_t count, struct pollfd *under, int timeout_ms, int *ret_error)
{
    nfds_t used = 0;

    for (nfds_t i = 0; i < count; i++) {
        struct rs *rs = fds[i].fd < 0 ? NULL : rs_of(fds[i].fd);
        if (rs == NULL || rs->type != SOCK_STREAM) {
            under[used++] = fds[i];
            continue;
        }
        if (rs->state != RS_ENDED && rs->state != RS_FAILED)
            under[used++] = (struct pollfd){.fd = rs->fd, .events = POLLIN};
        if (rs->completions != NULL) under[used++] = (struct pollfd){.fd = rs->completions->fd, .events = POLLIN};
    }
    *ret_error = poll(under, used, timeout_ms) < 0 ? errno : 0;
}

int rpoll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    uint64_t start_ns = rdmacm_now_ns();
    struct pollfd *under;
    int ready, error = 0;

    do {
        ready = look(fds, count, false);
        if (ready > 0 || timeout_ms == 0) return ready;
    } while (rdmacm_now_ns() - start_ns < SPIN_NS);
    under = calloc(2 * count + 1, sizeof *under);
    if (under == NULL) return rs_fail(ENOMEM);
    for (;;) {
        int wait_ms = left_ms(start_ns, timeout_ms);

        ready = look(fds, count, true);
        if (ready > 0 || wait_ms == 0) break;
        sleep_on(fds, count, under, wait_ms, &error);
        if (error) break;
    }
    free(under);
    return error ? rs_fail(error) : ready;
}

int rselect(int count, fd_set *readers, fd_set *writers, fd_set *others, struct timeval *timeout)
{
    struct pollfd *fds = calloc((size_t)(count > 0 ? count : 1), sizeof *fds);
    nfds_t used = 0;
    int ready, bits = 0;

    if (fds == NULL) return rs_fail(ENOMEM);
    for (int fd = 0; fd < count; fd++) {
        short events =
            (short)((readers && FD_ISSET(fd, readers) ? POLLIN : 0) | (writers && FD_ISSET(fd, writers) ? POLLOUT : 0));
        if (events || (others && FD_ISSET(fd, others))) fds[used++] = (struct pollfd){.fd = fd, .events = events};
    }
    ready = rpoll(fds, used, timeout ? (int)(timeout->tv_sec * 1000 + timeout->tv_usec / 1000) : -1);
    for (nfds_t i = 0; ready >= 0 && i < used; i++) {
        int fd = fds[i].fd;
        bool in = fds[i].revents & (POLLIN | POLLHUP | POLLERR), out = fds[i].revents & (POLLOUT | POLLERR);
        bool bad = fds[i].revents & POLLERR;
        if (readers && FD_ISSET(fd, readers) && !in) FD_CLR(fd, readers);
        if (writers && FD_ISSET(fd, writers) && !out) FD_CLR(fd, writers);
        if (others && FD_ISSET(fd, others) && !bad) FD_CLR(fd, others);
        bits +=
            (readers && FD_ISSET(fd, readers)) + (writers && FD_ISSET(fd, writers)) + (others && FD_ISSET(fd, others));
    }
    free(fds);
    return ready < 0 ? -1 : bits;
}
