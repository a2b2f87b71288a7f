/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end leaves: what was done before it left is not lost.  Two adapters in one process, without threads, so that each
 * step happens where the test says it does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/live_int.h"
#include "loop_pair.h"
#include "packet/mad.h"
#include "torture_alone.h"

#define BYTES 100u
#define RECORDS 64u /* of the shared queue */
#define SLOT_SHIFT 22
#define POLLS 1000u

static void open_both(struct loop_pair *pair, bool srq)
{
    setenv("ROCELAB_THREAD", "off", 1);
    pair_open(pair, &(struct loop_options){.transport = NIC_RC, .srq = srq});
    unsetenv("ROCELAB_THREAD");
}

static bool waits(const struct loop_end *end)
{
    return end->cq->ready->head != end->cq->ready->tail;
}

/* Progress for an end whose completions stay where they are: polls of another queue. */
static void progress_until(struct loop_pair *pair, int e, bool (*done)(const struct loop_end *))
{
    struct device_cq *other[2];
    struct nic_cqe cqe;

    for (int i = 0; i < 2; i++)
        assert_int_equal(device_cq_create(pair->end[i].live, 1, NULL, NULL, &other[i]), 0);
    for (unsigned i = 0; i < POLLS && !done(&pair->end[e]); i++)
        for (int k = 0; k < 2; k++)
            assert_int_equal(device_poll(other[k], &cqe, 1), 0);
    assert_true(done(&pair->end[e]));
    for (int i = 0; i < 2; i++)
        assert_int_equal(device_cq_destroy(other[i]), 0);
}

static void send_one(struct loop_pair *pair)
{
    assert_int_equal(pair_recv(&pair->end[1], 500, 0, BYTES), 0);
    assert_int_equal(pair_send(pair, 0, (struct nic_wr){.wr_id = 7, .verb = NIC_SEND}, 0, BYTES, 0), 0);
}

/* Another in the place of the one that is destroyed, perhaps with its number. */
static void replace(struct loop_end *end)
{
    struct device_qp_init init = {.transport = NIC_RC,
                                  .pd = end->pd,
                                  .send_entries = 4,
                                  .recv_entries = 4,
                                  .send_sges = 1,
                                  .recv_sges = 1,
                                  .send_cq = end->cq,
                                  .recv_cq = end->cq,
                                  .srq = end->srq};

    assert_int_equal(device_qp_destroy(end->qp), 0);
    assert_int_equal(device_qp_create(end->live, &init, &end->qp), 0);
}

static void outlive(bool srq)
{
    struct loop_pair pair;
    struct nic_cqe cqe;

    open_both(&pair, srq);
    send_one(&pair);
    progress_until(&pair, 1, waits);
    progress_until(&pair, 0, waits);
    for (int e = 0; e < 2; e++)
        replace(&pair.end[e]);
    assert_int_equal(device_poll(pair.end[0].cq, &cqe, 1), 1);
    assert_int_equal(cqe.wr_id, 7);
    assert_int_equal(cqe.status, NIC_SUCCESS);
    assert_int_equal(device_poll(pair.end[1].cq, &cqe, 1), 1);
    assert_int_equal(cqe.wr_id, 500);
    assert_int_equal(cqe.status, NIC_SUCCESS);
    assert_int_equal(cqe.bytes, BYTES);
    for (uint32_t i = 0; srq && i < RECORDS; i++) /* the record was given back, once */
        assert_int_equal(pair_recv(&pair.end[1], i, 0, BYTES), 0);
    if (srq) assert_int_not_equal(pair_recv(&pair.end[1], RECORDS, 0, BYTES), 0);
    pair_close(&pair);
}

static void test_completions_outlive_the_queue_pair(void **state)
{
    (void)state;
    outlive(false);
    outlive(true);
}

/* Whoever has its message may leave at once: the sender gets its ACK all the same. */
static void leave_to(uint8_t to)
{
    struct loop_pair pair;
    struct device_qp_attr attr = {.mask = DEVICE_ATTR_STATE, .state = to};

    open_both(&pair, false);
    send_one(&pair);
    assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
    assert_int_equal(device_qp_modify(pair.end[1].qp, &attr), 0);
    struct nic_cqe cqe = pair_wait(&pair, 0);
    assert_int_equal(cqe.wr_id, 7);
    assert_int_equal(cqe.status, NIC_SUCCESS);
    pair_close(&pair);
}

static void test_the_last_ack_is_sent(void **state)
{
    (void)state;
    leave_to(NIC_ERROR);
    leave_to(NIC_RESET);
}

static bool has_mad(const struct loop_end *end)
{
    return end->live->mad_head != end->live->mad_tail;
}

static void send_mad(struct loop_pair *pair)
{
    struct device_path to = {.remote = device_info_of(pair->end[1].live)->gid[0].addr, .hop_limit = 64};
    struct cm_msg msg = {.remote_id = registry_slot(pair->end[1].live->registry) << SLOT_SHIFT};
    uint8_t mad[DEVICE_MAD_BYTES];

    msg.mad = (struct mad){
        .base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3, .attribute = CM_DREQ};
    assert_int_equal(cm_emit(&msg, mad), 0);
    assert_int_equal(device_mad_send(pair->end[0].live, &to, mad), 0);
}

/* "I leave", read before the message that had come too, would make its reader give up the message. */
static void test_a_datagram_overtakes_nothing(void **state)
{
    struct loop_pair pair;
    struct device_mad mad;

    (void)state;
    open_both(&pair, false);
    for (int e = 0; e < 2; e++)
        assert_true(device_mad_fd(pair.end[e].live) >= 0);
    send_mad(&pair);
    progress_until(&pair, 1, has_mad);
    send_one(&pair);
    assert_false(waits(&pair.end[1]));
    assert_int_equal(device_mad_receive(pair.end[1].live, &mad), 1);
    assert_true(waits(&pair.end[1]));
    /* and the ACK leaves before our answer does */
    struct device_path back = {.remote = mad.src, .hop_limit = 64};
    uint64_t before = live_wire_counters(pair.end[1].live)->tx_packets;
    assert_int_equal(device_mad_send(pair.end[1].live, &back, mad.data), 0);
    assert_int_equal(live_wire_counters(pair.end[1].live)->tx_packets, before + 2);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completions_outlive_the_queue_pair),
        cmocka_unit_test(test_the_last_ack_is_sent),
        cmocka_unit_test(test_a_datagram_overtakes_nothing),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
