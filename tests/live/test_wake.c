/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs that wait for events rely on: a request is done before its answer comes, events come in the order of
 * what they tell of, the thread comes as soon as a queue is armed, and what a wire has kept back wakes it.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/live_int.h"
#include "loop_pair.h"
#include "torture_alone.h"

#define TURNS 300
#define TRIES 20000

/* Polls one queue until something comes. */
static struct nic_cqe wait_for(struct device_cq *cq)
{
    struct nic_cqe cqe;

    for (unsigned i = 0; i < 20000000u; i++)
        if (device_poll(cq, &cqe, 1) == 1) return cqe;
    fail_msg("no completion");
    return cqe;
}

static void request_and_answer(struct loop_pair *pair, uint32_t bytes, bool imm)
{
    struct nic_wr answer = {.wr_id = 4, .verb = imm ? NIC_WRITE_IMM : NIC_SEND};

    assert_int_equal(pair_recv(&pair->end[0], 1, 0, 4096), 0);
    assert_int_equal(pair_recv(&pair->end[1], 2, 0, 4096), 0);
    assert_int_equal(pair_send(pair, 0, (struct nic_wr){.wr_id = 3, .verb = NIC_SEND}, 8192, bytes, 0), 0);
    assert_int_equal(wait_for(pair->end[1].recv_cq).wr_id, 2);
    assert_int_equal(pair_send(pair, 1, answer, 8192, bytes, 0), 0);
}

/* The request's own completion is polled before that of the answer's receive. */
static void ping_pong(const char *wire)
{
    struct loop_pair pair;

    setenv("ROCELAB_WIRE", wire, 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    for (uint32_t i = 0; i < TURNS; i++) {
        request_and_answer(&pair, i % 3 ? 8 : 2000, i % 2);
        assert_int_equal(pair_wait(&pair, 0).wr_id, 3);
        assert_int_equal(pair_wait(&pair, 0).wr_id, 1);
        assert_int_equal(pair_wait(&pair, 1).wr_id, 4);
    }
    pair_close(&pair);
    setenv("ROCELAB_WIRE", "udp", 1);
}

static void test_order_udp(void **state)
{
    (void)state;
    ping_pong("udp");
}

static void test_order_shm(void **state)
{
    (void)state;
    ping_pong("shm");
}

/* Two queues, one channel: whichever was armed first, the request's event comes first. */
static void test_events_in_order(void **state)
{
    struct loop_pair pair;
    struct device_cq *told;
    void *app;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true, .two_queues = true});
    struct loop_end *a = &pair.end[0];
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(device_cq_arm(i % 2 ? a->cq : a->recv_cq, false), 0);
        assert_int_equal(device_cq_arm(i % 2 ? a->recv_cq : a->cq, false), 0);
        request_and_answer(&pair, 8, false);
        for (int event = 0; event < 2; event++) {
            assert_int_equal(device_channel_wait(a->channel, &told, &app), 0);
            assert_ptr_equal(told, event ? a->recv_cq : a->cq);
            device_cq_ack_events(told, 1);
        }
        assert_int_equal(wait_for(a->cq).wr_id, 3);
        assert_int_equal(wait_for(a->recv_cq).wr_id, 1);
        assert_int_equal(wait_for(pair.end[1].cq).wr_id, 4);
    }
    pair_close(&pair);
}

/* The thread has left the lock to a busy program, which then arms a queue and will sleep. */
static void test_arming_ends_a_nap(void **state)
{
    struct loop_pair pair;
    unsigned cut = 0;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    struct loop_end *a = &pair.end[0];
    if (shard_many(a->live)) { /* there it never naps */
        pair_close(&pair);
        skip();
    }
    for (int try = 0; try < TRIES && cut == 0; try++) { /* on a busy machine the nap may be over before */
        pthread_mutex_lock(&a->live->lock);
        __atomic_store_n(&a->live->polled_at, live_now(), __ATOMIC_RELAXED);
        eventfd_write(a->live->wake_fd, 1);
        for (int look = 0; look < 100 && !__atomic_load_n(&a->live->naps, __ATOMIC_RELAXED); look++)
            usleep(100);
        pthread_mutex_unlock(&a->live->lock);
        assert_int_equal(device_cq_arm(a->cq, false), 0);
        cut = __atomic_load_n(&a->live->naps_cut, __ATOMIC_RELAXED);
        assert_int_equal(pair_recv(a, 1, 0, 64), 0); /* an event, so that the queue is not armed next time */
        assert_int_equal(pair_send(&pair, 1, (struct nic_wr){.verb = NIC_SEND}, 0, 8, 0), 0);
        assert_int_equal(pair_wait(&pair, 0).wr_id, 1);
        (void)pair_wait(&pair, 1);
    }
    assert_true(cut > 0);
    pair_close(&pair);
}

/* Waits for an event of `end`, whose thread alone is awake. */
static void await_event(struct loop_end *end)
{
    struct pollfd fd = {.fd = device_channel_fd(end->channel), .events = POLLIN};
    struct device_cq *told;
    void *app;

    assert_int_equal(poll(&fd, 1, 60000), 1);
    assert_int_equal(device_channel_wait(end->channel, &told, &app), 0);
    device_cq_ack_events(told, 1);
}

/* A datagram that the fault wire holds back: no timer of the adapter's, nobody polls. */
static void test_delayed(void **state)
{
    struct loop_pair pair;

    (void)state;
    setenv("ROCELAB_FAULT", "delay=1ms", 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_UD, .events = true});
    unsetenv("ROCELAB_FAULT");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
        assert_int_equal(pair_recv(&pair.end[1], 1, 0, 4096), 0);
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 8, 0), 0);
        await_event(&pair.end[1]);
        assert_int_equal(pair_wait(&pair, 1).wr_id, 1);
        (void)pair_wait(&pair, 0);
    }
    pair_close(&pair);
}

struct waiter {
    struct loop_end *end;
    pthread_t thread;
    int answer;
    bool done; /* atomic */
};

static void *wait_once(void *argument)
{
    struct waiter *waiter = argument;
    struct device_cq *told;
    void *app;

    waiter->answer = device_channel_wait(waiter->end->channel, &told, &app);
    if (waiter->answer == 0) device_cq_ack_events(told, 1);
    __atomic_store_n(&waiter->done, true, __ATOMIC_RELEASE);
    return NULL;
}

static void waiter_start(struct waiter *waiter, struct loop_end *end)
{
    *waiter = (struct waiter){.end = end, .answer = 1};
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_once, waiter), 0);
    if (shard_many(end->live)) return;
    for (int look = 0; look < TRIES && !__atomic_load_n(&end->live->driven, __ATOMIC_RELAXED); look++)
        usleep(100);
}

static void send_to_1(struct loop_pair *pair)
{
    assert_int_equal(pair_recv(&pair->end[1], 1, 0, 64), 0);
    assert_int_equal(pair_send(pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 8, 0), 0);
}

/* Who is woken neither posts nor polls: the ACK leaves all the same, and not because the sender asks again. */
static void test_waiter_owes_no_ack(void **state)
{
    struct loop_pair pair;
    struct waiter waiter;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    for (int i = 0; i < 40; i++) {
        assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
        waiter_start(&waiter, &pair.end[1]);
        send_to_1(&pair);
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.answer, 0);
        (void)pair_wait(&pair, 0);
        assert_int_equal(pair_wait(&pair, 1).wr_id, 1);
    }
    /* a few: a machine that has no time for the timer */
    assert_true(live_counters(pair.end[0].live)->local_ack_timeout_err < 20);
    pair_close(&pair);
}

/* Who waits, and is not woken by what comes, answers it at once: nothing waits for a program that sleeps on. */
static void test_waiter_answers(void **state)
{
    struct loop_pair pair;
    struct waiter waiter;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    waiter_start(&waiter, &pair.end[1]);
    for (int i = 0; i < TURNS; i++) {
        uint8_t verb = i % 2 ? NIC_READ : NIC_WRITE;
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.wr_id = 7, .verb = verb}, 0, 20000, 0), 0);
        assert_int_equal(pair_wait(&pair, 0).wr_id, 7);
    }
    assert_int_equal(pair.end[1].live->owed_until, 0);
    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    send_to_1(&pair);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.answer, 0);
    (void)pair_wait(&pair, 0);
    assert_int_equal(pair_wait(&pair, 1).wr_id, 1);
    pair_close(&pair);
}

static int thread_state_of(struct device *live)
{
    pthread_mutex_lock(&live->lock);
    int state = live->turns.state;
    pthread_mutex_unlock(&live->lock);
    return state;
}

/* Nor does the thread hold back more than ACKs for a program that has just polled and waits for events. */
static void test_thread_answers(void **state)
{
    struct loop_pair pair;
    struct nic_cqe cqe;
    int got;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(device_poll(pair.end[1].cq, &cqe, 1), 0);
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_READ}, 0, 20000, 0), 0);
        while ((got = device_poll(pair.end[0].cq, &cqe, 1)) == 0)
            assert_int_not_equal(thread_state_of(pair.end[1].live), TURN_OWES);
        assert_int_equal(got, 1);
    }
    pair_close(&pair);
}

/* As in a read() of the program's own, a thread may be cancelled while it looks after the wire. */
static void test_waiter_cancelled(void **state)
{
    struct loop_pair pair;
    struct waiter waiter;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    for (int i = 0; i < 40; i++) {
        waiter_start(&waiter, &pair.end[1]);
        if (i % 2) send_to_1(&pair); /* the wire may have woken it; not armed, so there is no event */
        assert_int_equal(pthread_cancel(waiter.thread), 0);
        pthread_join(waiter.thread, NULL);
        assert_false(__atomic_load_n(&pair.end[1].live->driven, __ATOMIC_RELAXED));
        if (i % 2 == 0) continue;
        (void)pair_wait(&pair, 0);
        (void)pair_wait(&pair, 1);
    }
    pair_close(&pair);
}

static void nothing(int number)
{
    (void)number;
}

/* A signal ends the wait, or does not, as its handler was installed. */
static void test_waiter_interrupted(void **state)
{
    struct loop_pair pair;
    struct waiter waiter;
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART}, before;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    waiter_start(&waiter, &pair.end[1]);
    for (int i = 0; i < 20; i++) {
        pthread_kill(waiter.thread, SIGUSR1);
        usleep(1000);
    }
    assert_false(__atomic_load_n(&waiter.done, __ATOMIC_ACQUIRE));
    assert_int_equal(device_cq_arm(pair.end[1].cq, false), 0);
    send_to_1(&pair);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.answer, 0);
    action.sa_flags = 0;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    waiter_start(&waiter, &pair.end[1]);
    while (!__atomic_load_n(&waiter.done, __ATOMIC_ACQUIRE)) {
        pthread_kill(waiter.thread, SIGUSR1);
        usleep(1000);
    }
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.answer, -EINTR);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    pair_close(&pair);
}

static bool namespace_with_port(void)
{
    char shell[] = "sh", option[] = "-c";
    char command[] = "ip link add rl0 type veth peer name rl1 && ip link set rl0 up && ip link set rl1 up && "
                     "ip addr add 10.72.0.1/24 dev rl0";
    char *argv[] = {shell, option, command, NULL};
    int status = -1;
    pid_t pid;

    if (unshare(CLONE_NEWNET) < 0 || posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0) return false;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* On the packet wire what goes to oneself is shown to no descriptor.  Last: it leaves the network namespace. */
static void test_packet_wire_to_itself(void **state)
{
    struct loop_pair pair;

    (void)state;
    if (!namespace_with_port()) {
        print_message("no right to make a network namespace\n");
        skip();
    }
    setenv("ROCELAB_WIRE", "packet", 1);
    setenv("ROCELAB_DEVICE", "rl0", 1);
    setenv("ROCELAB_PORT", "4791", 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_UD, .events = true, .ifname = "rl0"});
    struct loop_end *a = &pair.end[0];
    for (int i = 0; i < 20; i++) {
        struct device_sge sge = pair_sge(a, 0, 8);
        struct nic_wr wr = {.verb = NIC_SEND, .dest = a->path, .dest_qp = device_qp_number(a->qp), .qkey = 0x11111111};
        assert_int_equal(pair_recv(a, 1, 64, 4096), 0);
        assert_int_equal(device_cq_arm(a->cq, false), 0);
        assert_int_equal(device_post_send(a->qp, &(struct device_send){.wr = wr, .sge = &sge, .sges = 1}, false), 0);
        await_event(a);
        assert_int_equal(pair_wait(&pair, 0).wr_id, 1);
    }
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_udp),
        cmocka_unit_test(test_order_shm),
        cmocka_unit_test(test_events_in_order),
        cmocka_unit_test(test_arming_ends_a_nap),
        cmocka_unit_test(test_delayed),
        cmocka_unit_test(test_waiter_owes_no_ack),
        cmocka_unit_test(test_waiter_answers),
        cmocka_unit_test(test_thread_answers),
        cmocka_unit_test(test_waiter_cancelled),
        cmocka_unit_test(test_waiter_interrupted),
        cmocka_unit_test(test_packet_wire_to_itself),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
