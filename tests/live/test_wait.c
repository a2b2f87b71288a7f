/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that waits for a channel's descriptor, by poll() or in an epoll set, does the thread's work meanwhile: in
 * these tests the second end has no thread, so nobody else can.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/live_int.h"
#include "loop_pair.h"

#define TURNS 100
static const struct timespec guard = {.tv_sec = 60}, moment = {.tv_nsec = 1000000};

static struct loop_pair pair;
static struct device *live; /* of the second end */
static int channel_fd, tube[2];

static int set_up(void **state)
{
    (void)state;
    setenv("ROCELAB_SHARDS", "1", 1); /* with more a program is woken by their threads */
    setenv("ROCELAB_WIRE", "udp", 1); /* through memory, the thread is needed to say who sleeps */
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    live = pair.end[1].live;
    channel_fd = device_channel_fd(pair.end[1].channel);
    thread_stop(live);
    live->thread_runs = true;
    return pipe(tube);
}

static int tear_down(void **state)
{
    (void)state;
    live->thread_runs = false;
    close(tube[0]);
    close(tube[1]);
    pair_close(&pair);
    return 0;
}

static void send_to_1(void)
{
    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    assert_int_equal(pair_recv(&pair.end[1], 1, 0, 64), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.wr_id = 3, .verb = NIC_SEND}, 0, 8, 0), 0);
}

static void take_event(void)
{
    struct device_cq *told;
    struct nic_cqe none;
    void *app;

    assert_int_equal(device_channel_wait(pair.end[1].channel, &told, &app), 0);
    device_cq_ack_events(told, 1);
    assert_int_equal(pair_wait(&pair, 1).wr_id, 1);
    assert_int_equal(device_poll(pair.end[1].cq, &none, 1), 0); /* sends the ACK, for which there is no thread */
    assert_int_equal(pair_wait(&pair, 0).wr_id, 3);
}

static void assert_ended(void)
{
    assert_false(__atomic_load_n(&live->driven, __ATOMIC_ACQUIRE));
    assert_false(__atomic_load_n(&pair.end[1].channel->waits, __ATOMIC_ACQUIRE));
}

static void wait_for_events(int fd)
{
    for (int i = 0; i < TURNS; i++) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        send_to_1();
        assert_int_equal(live_wait_poll(channel_fd, &wanted, 1, i % 2 ? &guard : NULL, NULL), 1);
        assert_int_equal(wanted.revents, POLLIN);
        assert_ended();
        take_event();
    }
}

static void test_poll(void **state)
{
    (void)state;
    assert_true(live_channel_has(channel_fd));
    assert_false(live_channel_has(tube[0]));
    assert_false(live_channel_has(-1));
    wait_for_events(channel_fd);
}

static void test_epoll(void **state)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(0);

    (void)state;
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, channel_fd, &event), 0);
    wait_for_events(set);
    close(set);
}

/* Other descriptors and the limit count as ever. */
static void test_others(void **state)
{
    struct pollfd both[] = {{.fd = tube[0], .events = POLLIN}, {.fd = channel_fd, .events = POLLIN}};

    (void)state;
    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    assert_int_equal(live_wait_poll(channel_fd, both, 2, &moment, NULL), 0);
    assert_int_equal(both[0].revents | both[1].revents, 0);
    assert_int_equal(write(tube[1], "", 1), 1);
    assert_int_equal(live_wait_poll(channel_fd, both, 2, NULL, NULL), 1);
    assert_int_equal(both[0].revents, POLLIN);
    assert_int_equal(both[1].revents, 0);
    assert_ended();
}

static unsigned wire_waited_for;

/* Says whether the wire is among what is waited for, and is interrupted. */
static int interrupted(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    (void)limit;
    (void)mask;
    wire_waited_for += fds[count - 2].fd == live->wire->ops->fd(live->wire);
    errno = EINTR;
    return -1;
}

/* Nobody will be told of a completion: the wire does not wake the program. */
static void test_not_armed(void **state)
{
    struct pollfd wanted = {.fd = channel_fd, .events = POLLIN};

    (void)state;
    wire_waited_for = 0;
    live_wait_with(interrupted);
    assert_int_equal(live_wait_poll(channel_fd, &wanted, 1, NULL, NULL), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(wire_waited_for, 0);
    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    assert_int_equal(live_wait_poll(channel_fd, &wanted, 1, NULL, NULL), -1);
    assert_int_equal(wire_waited_for, 1);
    live_wait_with(ppoll);
    assert_ended();
}

static void *wait_for_both(void *argument)
{
    struct pollfd both[] = {{.fd = tube[0], .events = POLLIN}, {.fd = channel_fd, .events = POLLIN}};

    (void)argument;
    int ready = live_wait_poll(channel_fd, both, 2, NULL, NULL);
    return ready == 1 && both[0].revents == POLLIN ? &pair : NULL;
}

static pthread_t waiter(void)
{
    pthread_t thread;

    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_both, NULL), 0);
    while (!__atomic_load_n(&pair.end[1].channel->waits, __ATOMIC_ACQUIRE))
        usleep(100);
    return thread;
}

static void test_cancelled(void **state)
{
    (void)state;
    for (int i = 0; i < TURNS / 4; i++) {
        pthread_t thread = waiter();
        assert_int_equal(pthread_cancel(thread), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_ended();
    }
}

/* The channel goes while somebody waits for it: the wait goes on without it. */
static void test_destroyed(void **state)
{
    struct device_channel *channel, *own = pair.end[1].channel;
    int own_fd = channel_fd;
    void *good;

    (void)state;
    for (int i = 0; i < TURNS / 4; i++) {
        assert_int_equal(device_channel_create(live, &channel), 0);
        pair.end[1].channel = channel;
        channel_fd = device_channel_fd(channel);
        pthread_t thread = waiter();
        assert_int_equal(device_channel_destroy(channel), 0);
        assert_false(live_channel_has(channel_fd));
        assert_false(__atomic_load_n(&live->driven, __ATOMIC_ACQUIRE));
        assert_int_equal(write(tube[1], "", 1), 1);
        assert_int_equal(pthread_join(thread, &good), 0);
        assert_non_null(good);
        assert_int_equal(read(tube[0], &(char){0}, 1), 1);
    }
    pair.end[1].channel = own;
    channel_fd = own_fd;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_poll, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_epoll, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_armed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_destroyed, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
