/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Management datagrams between programs: they travel as packets, and come to whom they are for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#include "packet/codec.h"
#include "packet/mad.h"
#include "rig.h"
#include "up/cm_int.h"

#define PLAIN "nics: {mtu: 4096, congestion: none}\n"
#define SERVICE 0x01061c06u

static struct rig rig;
static struct program *const p0 = &rig.program[0], *const p1 = &rig.program[1], *const p2 = &rig.program[2];

static int say(struct program *from, uint32_t to_host, struct cm_msg msg)
{
    struct attach_mad mad = {.path = path_to(&rig, to_host)};

    msg.mad.base_version = 1;
    msg.mad.mgmt_class = MAD_CLASS_CM;
    msg.mad.class_version = 2;
    assert_int_equal(cm_emit(&msg, mad.data), 0);
    return ask_cm(&rig, from, ATTACH_OP_MAD_SEND, &mad, sizeof mad);
}

/* The next that its manager reads; false: none. */
static bool hears(struct program *program, struct cm_msg *ret, struct device_mad *ret_mad)
{
    const struct device *device = program->process.device[0];
    struct attach_ring *ring = up_ring(&program->process, device->mads);
    const struct device_mad *entry = up_ring_entries(&program->process, device->mads);

    if (ring->head == ring->tail) return false;
    if (ret_mad) *ret_mad = entry[ring->head % ATTACH_MADS];
    assert_int_equal(cm_parse(entry[ring->head % ATTACH_MADS].data, DEVICE_MAD_BYTES, ret), 0);
    ring->head++;
    return true;
}

static int listen_at(struct program *program, uint32_t any, const struct pkt_addr *address)
{
    struct attach_service service = {.id = SERVICE, .any = any};

    if (address) service.address = *address;
    return ask_cm(&rig, program, ATTACH_OP_CM_LISTEN, &service, sizeof service);
}

static const struct cm_msg request = {
    .mad = {.tid = 4, .attribute = CM_REQ}, .local_id = 1u << CM_SLOT_SHIFT | 9, .service_id = SERVICE, .qpn = 70};

static void test_refused(void **state)
{
    struct cm_msg msg;

    (void)state;
    rig_open(&rig, PLAIN);
    assert_int_equal(ask_cm(&rig, p0, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    assert_int_equal(say(p0, 1, request), 0);
    assert_true(hears(p0, &msg, NULL));
    assert_true(msg.mad.attribute == CM_REJ && msg.reason == 8 && msg.remote_id == request.local_id &&
                msg.mad.tid == 4);
    assert_false(hears(p1, &msg, NULL));
    assert_int_equal(say(p0, 1, (struct cm_msg){.mad.attribute = CM_RTU, .remote_id = 5}), 0); /* nobody's: no answer */
    assert_false(hears(p0, &msg, NULL));
    rig_close(&rig);
}

/* To who listens, and then by the slots that both sides have named; as packets of the fabric. */
static void test_connection(void **state)
{
    struct device_mad mad;
    struct cm_msg msg;
    eventfd_t count;

    (void)state;
    rig_open(&rig, PLAIN);
    const struct device_path to0 = path_to(&rig, 0), to1 = path_to(&rig, 1);
    assert_int_equal(ask_cm(&rig, p0, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    assert_int_equal(ask_cm(&rig, p1, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    assert_int_equal(ask_cm(&rig, p2, ATTACH_OP_CM_SLOT, NULL, 0), 2);
    assert_int_equal(ask_cm(&rig, p2, ATTACH_OP_CM_SLOT, NULL, 0), 2);
    assert_int_equal(listen_at(p2, PKT_FAMILY_IPV4, NULL), 0);
    unsigned told = p2->told;
    assert_int_equal(say(p0, 1, request), 0);
    assert_true(hears(p2, &msg, &mad));
    assert_false(hears(p1, &msg, NULL));
    assert_int_equal(p2->told, told + 1);
    assert_int_equal(eventfd_read(p2->process.device[0]->mads_fd, &count), 0);
    assert_memory_equal(&mad.src, &to0.remote, sizeof mad.src);
    assert_memory_equal(&mad.dst, &to1.remote, sizeof mad.dst);
    assert_int_equal(mad.src_qp, MAD_QPN);
    assert_true(msg.mad.attribute == CM_REQ && msg.local_id == request.local_id);
    const struct cm_msg reply = {
        .mad.attribute = CM_REP, .local_id = 2u << CM_SLOT_SHIFT | 3, .remote_id = request.local_id};
    assert_int_equal(say(p2, 0, reply), 0);
    assert_true(hears(p0, &msg, NULL));
    assert_int_equal(msg.local_id, reply.local_id);
    assert_int_equal(nic_counters(rig.host[0].adapters[0].nic)->tx_packets, 1);
    assert_int_equal(nic_counters(rig.host[1].adapters[0].nic)->tx_packets, 1);
    assert_int_equal(nic_counters(rig.host[1].adapters[0].nic)->rx_packets, 1);
    rig_close(&rig);
}

static void connect_both(void)
{
    struct cm_msg msg;

    rig_open(&rig, PLAIN);
    assert_int_equal(ask_cm(&rig, p0, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    assert_int_equal(ask_cm(&rig, p1, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    assert_int_equal(listen_at(p1, PKT_FAMILY_IPV4, NULL), 0);
    assert_int_equal(say(p0, 1, request), 0);
    const struct cm_msg reply = {
        .mad.attribute = CM_REP, .local_id = 1u << CM_SLOT_SHIFT | 3, .remote_id = request.local_id, .qpn = 71};
    assert_int_equal(say(p1, 0, reply), 0);
    while (hears(p0, &msg, NULL) || hears(p1, &msg, NULL))
        ;
}

/* A program that dies is said goodbye for, once; one that has done so itself is not. */
static void test_goodbye(void **state)
{
    struct cm_msg msg;

    (void)state;
    for (int active = 0; active < 2; active++) {
        struct program *dies = active ? p0 : p1, *stays = active ? p1 : p0;
        connect_both();
        dies->ends = true;
        rig_run(&rig);
        assert_true(hears(stays, &msg, NULL));
        assert_true(msg.mad.attribute == CM_DREQ && msg.remote_id >> CM_SLOT_SHIFT == 1);
        assert_int_equal(msg.qpn, active ? 71 : 70); /* whose queue pair it is about */
        assert_false(hears(stays, &msg, NULL));
        /* and answered for */
        assert_int_equal(
            say(stays, active ? 0 : 1,
                (struct cm_msg){.mad.attribute = CM_DREQ, .local_id = msg.remote_id, .remote_id = msg.local_id}),
            0);
        assert_true(hears(stays, &msg, NULL));
        assert_int_equal(msg.mad.attribute, CM_DREP);
        rig_close(&rig);
    }
    connect_both();
    assert_int_equal(say(p0, 1,
                         (struct cm_msg){.mad.attribute = CM_DREQ,
                                         .local_id = request.local_id,
                                         .remote_id = 1u << CM_SLOT_SHIFT | 3}),
                     0);
    assert_true(hears(p1, &msg, NULL));
    p0->ends = p1->ends = true;
    rig_run(&rig);
    assert_false(hears(p0, &msg, NULL) || hears(p1, &msg, NULL));
    rig_close(&rig);
}

static void test_listeners(void **state)
{
    struct attach_service service = {.id = SERVICE, .any = PKT_FAMILY_IPV4};
    struct cm_msg msg;

    (void)state;
    rig_open(&rig, PLAIN);
    const struct device_path to1 = path_to(&rig, 1);
    assert_int_equal(listen_at(p1, PKT_FAMILY_IPV4, NULL), 0);
    assert_int_equal(listen_at(p2, PKT_FAMILY_IPV4, NULL), -EADDRINUSE);
    assert_int_equal(listen_at(p2, 0, &to1.remote), -EADDRINUSE);
    assert_int_equal(listen_at(p2, PKT_FAMILY_IPV6, NULL), 0);
    assert_int_equal(listen_at(p0, PKT_FAMILY_IPV4, NULL), 0); /* another host, another port space */
    assert_int_equal(ask_cm(&rig, p1, ATTACH_OP_CM_UNLISTEN, &service, sizeof service), 0);
    assert_int_equal(listen_at(p2, 0, &to1.remote), 0);
    p2->ends = true;
    rig_run(&rig);
    assert_int_equal(listen_at(p1, 0, &to1.remote), 0);
    assert_int_equal(say(p0, 1, request), 0);
    assert_true(hears(p1, &msg, NULL));
    rig_close(&rig);
}

static void test_alive(void **state)
{
    (void)state;
    rig_open(&rig, PLAIN);
    struct attach_service asked = {.slot = 1, .address = path_to(&rig, 1).remote};
    assert_int_equal(ask_cm(&rig, p2, ATTACH_OP_CM_ALIVE, &asked, sizeof asked), 0);
    assert_int_equal(ask_cm(&rig, p1, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    int is = ask_cm(&rig, p2, ATTACH_OP_CM_ALIVE, &asked, sizeof asked);
    assert_true(is > 0);
    assert_int_equal(ask_cm(&rig, p0, ATTACH_OP_CM_ALIVE, &asked, sizeof asked), 0); /* of another host */
    p1->ends = true;
    rig_run(&rig);
    assert_int_equal(ask_cm(&rig, p2, ATTACH_OP_CM_ALIVE, &asked, sizeof asked), 0);
    rig_close(&rig);
}

/* Addresses that are not the fabric's, adapters that were not opened. */
static void test_wrong(void **state)
{
    struct attach_mad mad = {.path.remote = pkt_addr_ipv4(0x01020304)};

    (void)state;
    rig_open(&rig, PLAIN);
    assert_int_equal(ask_cm(&rig, p0, ATTACH_OP_MAD_SEND, &mad, sizeof mad), -EHOSTUNREACH);
    p0->request = (struct attach_request){.op = ATTACH_OP_CM_SLOT, .nic = 1};
    p0->asks = true;
    rig_run(&rig);
    assert_int_equal(p0->request.result, -ENODEV);
    /* A host may have more adapters than programs see. */
    assert_int_equal(ask_cm(&rig, p0, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    const struct cm_msg ready = {
        .mad = {.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .attribute = CM_RTU},
        .remote_id = 1u << CM_SLOT_SHIFT};
    struct device_mad come = {0};
    struct cm_msg msg;
    assert_int_equal(cm_emit(&ready, come.data), 0);
    cm_deliver(&rig.host[0], ATTACH_NICS, &come, &mad.path, 0, NULL);
    assert_false(hears(p0, &msg, NULL));
    cm_deliver(&rig.host[0], 0, &come, &mad.path, 0, NULL);
    assert_true(hears(p0, &msg, NULL));
    rig_close(&rig);
}

/* Requests from a peer that never goes on, and listeners without end: what is remembered of them is bounded. */
static void test_bounds(void **state)
{
    (void)state;
    rig_open(&rig, PLAIN);
    assert_int_equal(ask_cm(&rig, p1, ATTACH_OP_CM_SLOT, NULL, 0), 1);
    assert_int_equal(listen_at(p1, PKT_FAMILY_IPV4, NULL), 0);
    struct attach_mad mad = {0};
    struct device_mad come = {.dst = path_to(&rig, 1).remote};
    struct device_path back = path_to(&rig, 0);
    struct cm_msg msg = request;
    msg.mad.base_version = 1;
    msg.mad.mgmt_class = MAD_CLASS_CM;
    msg.mad.class_version = 2;
    for (uint32_t i = 0; i < CM_LINKS_MAX + 10; i++) {
        msg.local_id = i + 1;
        assert_int_equal(cm_emit(&msg, mad.data), 0);
        memcpy(come.data, mad.data, sizeof come.data);
        cm_deliver(&rig.host[1], 0, &come, &back, 0, NULL);
    }
    assert_int_equal(rig.host[1].cm->link_count[1], CM_LINKS_MAX);
    struct attach_service service = {.id = SERVICE + 1, .any = PKT_FAMILY_IPV4};
    for (uint32_t i = 1; i < CM_LISTENERS_MAX; i++, service.id++) {
        p1->request = (struct attach_request){.op = ATTACH_OP_CM_LISTEN};
        memcpy(p1->request.data, &service, sizeof service);
        assert_int_equal(cm_request(&p1->process, &p1->request, 0, NULL), 0);
    }
    assert_int_equal(ask_cm(&rig, p1, ATTACH_OP_CM_LISTEN, &service, sizeof service), -ENOMEM);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_connection), cmocka_unit_test(test_goodbye),
        cmocka_unit_test(test_listeners), cmocka_unit_test(test_alive),      cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
