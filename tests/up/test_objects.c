/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter's objects of attached programs: data arrives as it was.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "packet/codec.h"
#include "rig.h"

#define PLAIN "nics: {mtu: 4096, congestion: none}\n"
#define LOSSY                                                                                                          \
    "nics: {mtu: 4096, congestion: none, recovery: selective}\nfaults: [{corrupt: leaf0:1, share: 5%, at: 0s}]\n"

static struct rig rig;
static struct program *const p0 = &rig.program[0], *const p1 = &rig.program[1], *const p2 = &rig.program[2];
static struct cq cq0, cq1;
static uint32_t qp0, qp1;

static void connected(const char *nics, uint8_t transport)
{
    struct device_path to0, to1;

    rig_open(&rig, nics);
    to0 = path_to(&rig, 0);
    to1 = path_to(&rig, 1);
    cq0 = make_cq(p0, 64, 0);
    cq1 = make_cq(p1, 64, 0);
    qp0 = make_qp(p0, transport, &cq0, 0);
    qp1 = make_qp(p1, transport, &cq1, 0);
    connect_qp(p0, qp0, transport == NIC_UD ? NULL : &to1, qp1);
    connect_qp(p1, qp1, transport == NIC_UD ? NULL : &to0, qp0);
}

static struct nic_wr write_to(const struct program *to, uint64_t wr_id, uint64_t offset)
{
    return (struct nic_wr){
        .wr_id = wr_id, .verb = NIC_WRITE, .remote_va = (uintptr_t)to->memory + offset, .rkey = to->key};
}

static void test_write(void **state)
{
    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list[] = {sge_of(p0, 5, 70000), sge_of(p0, 200001, 30001)};
    uint8_t behind = p1->memory[1000 + 100001];
    post_send(p0, qp0, write_to(p1, 42, 1000), list, 2);
    p1->told = 0;
    rig_run(&rig);
    expect_completion(&cq0, 42, NIC_SUCCESS);
    assert_memory_equal(p1->memory + 1000, p0->memory + 5, 70000);
    assert_memory_equal(p1->memory + 71000, p0->memory + 200001, 30001);
    assert_int_equal(p1->memory[1000 + 100001], behind);
    assert_int_equal(p1->told, 1); /* once, at the message's end, though nothing was completed there */
    assert_int_equal(cq1.ring->tail, 0);
    rig_close(&rig);
}

/* Packets are lost, and what comes after them is kept: each with its own bytes. */
static void test_selective_repeat(void **state)
{
    (void)state;
    connected(LOSSY, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 1u << 20);
    post_send(p0, qp0, write_to(p1, 1, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    assert_memory_equal(p1->memory, p0->memory, 1u << 20);
    assert_true(nic_counters(rig.host[0].adapters[0].nic)->retransmitted_packets > 20);
    assert_true(nic_counters(rig.host[1].adapters[0].nic)->reordered_packets > 100);
    rig_close(&rig);
}

static void test_send(void **state)
{
    struct nic_cqe cqe;
    uint8_t data[100];

    (void)state;
    connected(PLAIN, NIC_RC);
    post_receive(p1, qp1, 7, sge_of(p1, 0, 5000));
    post_receive(p1, qp1, 8, sge_of(p1, 10000, 5000));
    rig_run(&rig);
    const struct device_sge list = sge_of(p0, 0, 4000);
    post_send(p0, qp0, (struct nic_wr){.wr_id = 1, .verb = NIC_SEND_IMM, .imm = 0xabcd}, &list, 1);
    memset(data, 0x5a, sizeof data);
    const struct attach_post inlined = {.kind = ATTACH_POST_SEND,
                                        .object = qp0,
                                        .copied = 1,
                                        .data_bytes = sizeof data,
                                        .wr = {.wr_id = 2, .verb = NIC_SEND}};
    put_record(p0, &inlined, data, sizeof data);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    expect_completion(&cq0, 2, NIC_SUCCESS);
    assert_true(next_completion(&cq1, &cqe));
    assert_true(cqe.wr_id == 7 && cqe.bytes == 4000 && cqe.receive && cqe.has_imm && cqe.imm == 0xabcd);
    expect_completion(&cq1, 8, NIC_SUCCESS);
    assert_memory_equal(p1->memory, p0->memory, 4000);
    assert_memory_equal(p1->memory + 10000, data, sizeof data);
    rig_close(&rig);
}

static void test_read_and_atomics(void **state)
{
    uint64_t *word, before;

    (void)state;
    connected(PLAIN, NIC_RC);
    struct device_sge list = sge_of(p0, 0, 50000);
    struct nic_wr wr = write_to(p1, 1, 3);
    wr.verb = NIC_READ;
    post_send(p0, qp0, wr, &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    assert_memory_equal(p0->memory, p1->memory + 3, 50000);
    word = (uint64_t *)(void *)(p1->memory + 4096);
    before = *word = 1000;
    list = sge_of(p0, 8, 8);
    wr = write_to(p1, 2, 4096);
    wr.verb = NIC_FETCH_ADD;
    wr.swap = 5;
    post_send(p0, qp0, wr, &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 2, NIC_SUCCESS);
    assert_int_equal(*word, before + 5);
    assert_memory_equal(p0->memory + 8, &before, 8);
    wr.verb = NIC_CAS;
    for (unsigned i = 0; i < 2; i++) { /* the second finds another value */
        wr.wr_id = 3 + i;
        wr.compare = 1005;
        wr.swap = 9 + i;
        post_send(p0, qp0, wr, &list, 1);
        rig_run(&rig);
        expect_completion(&cq0, 3 + i, NIC_SUCCESS);
        assert_int_equal(*word, 9);
    }
    before = 9;
    assert_memory_equal(p0->memory + 8, &before, 8);
    rig_close(&rig);
}

static void test_datagram(void **state)
{
    struct pkt_envelope envelope;
    struct nic_cqe cqe;

    (void)state;
    connected(PLAIN, NIC_UD);
    struct device_path path = path_to(&rig, 1);
    path.tos = 10 << 2;
    int number = ask(p0, ATTACH_OP_PATH_GET, 0, &path, sizeof path);
    assert_true(number > 0);
    assert_int_equal(ask(p0, ATTACH_OP_PATH_GET, 0, &path, sizeof path), number);
    post_receive(p1, qp1, 7, sge_of(p1, 0, 5000));
    rig_run(&rig);
    const struct device_sge list = sge_of(p0, 99, 2000);
    struct nic_wr wr = {.wr_id = 1, .verb = NIC_SEND, .dest = (uint32_t)number, .dest_qp = qp1, .qkey = 0x1111};
    post_send(p0, qp0, wr, &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    assert_true(next_completion(&cq1, &cqe));
    assert_true(cqe.wr_id == 7 && cqe.bytes == 2040 && cqe.src_qp == qp0 && cqe.status == NIC_SUCCESS);
    assert_memory_equal(p1->memory + 40, p0->memory + 99, 2000);
    codec_grh_parse(p1->memory, &envelope);
    struct device_path back = path_to(&rig, 0);
    assert_memory_equal(&envelope.src, &back.remote, sizeof back.remote);
    assert_memory_equal(&envelope.dst, &path.remote, sizeof path.remote);
    assert_int_equal(envelope.tos >> 2, 10);
    assert_int_equal(nic_counters(rig.host[0].adapters[0].nic)->prio[1].tx_packets, 1);
    rig_close(&rig);
}

static void test_shared_receives(void **state)
{
    const struct attach_srq srq = {.pd = 1, .entries = 4, .sges = 1};

    (void)state;
    rig_open(&rig, PLAIN);
    struct device_path to0 = path_to(&rig, 0), to1 = path_to(&rig, 1);
    cq0 = make_cq(p0, 16, 0);
    cq1 = make_cq(p1, 16, 0);
    assert_int_equal(ask(p1, ATTACH_OP_SRQ_CREATE, 0, &srq, sizeof srq), 0);
    uint32_t number = p1->request.object;
    qp0 = make_qp(p0, NIC_RC, &cq0, 0);
    qp1 = make_qp(p1, NIC_RC, &cq1, number);
    connect_qp(p0, qp0, &to1, qp1);
    connect_qp(p1, qp1, &to0, qp0);
    for (unsigned round = 0; round < 3; round++) { /* more than it has places: they are used again */
        for (unsigned i = 0; i < 4; i++) {
            struct attach_post post = {
                .kind = ATTACH_POST_SRQ, .object = number, .sges = 1, .wr = {.wr_id = 100 * round + i}};
            struct device_sge sge = sge_of(p1, 1000 * i, 1000);
            put_record(p1, &post, &sge, sizeof sge);
        }
        rig_run(&rig);
        const struct device_sge list = sge_of(p0, 10 * round, 64);
        for (unsigned i = 0; i < 4; i++)
            post_send(p0, qp0, (struct nic_wr){.verb = NIC_SEND}, &list, 1);
        rig_run(&rig);
        for (unsigned i = 0; i < 4; i++) {
            expect_completion(&cq1, 100 * round + i, NIC_SUCCESS);
            expect_completion(&cq0, 0, NIC_SUCCESS);
            assert_memory_equal(p1->memory + 1000 * i, p0->memory + 10 * round, 64);
        }
    }
    assert_int_equal(ask(p1, ATTACH_OP_SRQ_DESTROY, number, NULL, 0), -EBUSY);
    struct attach_srq change = {.entries = DEVICE_SRQ_KEEP, .limit = DEVICE_SRQ_KEEP};
    assert_int_equal(ask(p1, ATTACH_OP_SRQ_CHANGE, number, &change, sizeof change), 0);
    memcpy(&change, p1->request.data, sizeof change);
    assert_int_equal(change.taken, 12);
    rig_close(&rig);
}

/* A wrong local key is an error completion in its place among the others. */
static void test_local_keys(void **state)
{
    (void)state;
    connected(PLAIN, NIC_RC);
    struct device_sge good = sge_of(p0, 0, 100), bad = good;
    bad.key = good.key + 1;
    post_send(p0, qp0, write_to(p1, 1, 0), &good, 1);
    post_send(p0, qp0, write_to(p1, 2, 0), &bad, 1);
    post_send(p0, qp0, write_to(p1, 3, 0), &good, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    expect_completion(&cq0, 2, NIC_LOC_PROT_ERR);
    expect_completion(&cq0, 3, NIC_WR_FLUSH_ERR);
    rig_close(&rig);
}

/* Memory that the program has unmapped: the key is good, the bytes are not there. */
static void test_memory_gone(void **state)
{
    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 100);
    munmap(p1->memory, RIG_MEMORY);
    post_send(p0, qp0, write_to(p1, 1, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_REM_OP_ERR);
    p1->memory = mmap(NULL, RIG_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rig_close(&rig);
}

/* A peer's key is one of its own process: not another's, not one with less rights, not one that is gone. */
static void test_remote_keys(void **state)
{
    struct attach_event event;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        connected(PLAIN, NIC_RC);
        const struct device_sge list = sge_of(p0, 0, 100);
        uint32_t key = p2->key;
        if (i == 1) key = make_region(p1, NIC_REMOTE_READ);
        if (i == 2) {
            key = p1->key;
            assert_int_equal(ask(p1, ATTACH_OP_MR_DESTROY, key, NULL, 0), 0);
        }
        struct nic_wr wr = write_to(i ? p1 : p2, 1, 0);
        wr.rkey = key;
        post_send(p0, qp0, wr, &list, 1);
        rig_run(&rig);
        expect_completion(&cq0, 1, NIC_REM_ACCESS_ERR);
        bool told = false;
        while (next_event(p1, &event))
            told |= event.kind == DEVICE_EVENT_QP_ACCESS && event.object == qp1 && event.of == ATTACH_QP;
        assert_true(told);
        assert_memory_not_equal(p2->memory, p0->memory, 100);
        rig_close(&rig);
    }
}

static void test_window(void **state)
{
    const struct attach_mr type1 = {.pd = 1, .access = 1};

    (void)state;
    connected(PLAIN, NIC_RC);
    assert_int_equal(ask(p1, ATTACH_OP_MW_CREATE, 0, &type1, sizeof type1), 0);
    uint32_t made = p1->request.object;
    struct nic_wr bind = {.wr_id = 5,
                          .verb = NIC_BIND_MW,
                          .mw_key = made,
                          .rkey = p1->key,
                          .remote_va = (uintptr_t)p1->memory + 64,
                          .length = 100,
                          .imm = NIC_REMOTE_WRITE};
    post_send(p1, qp1, bind, NULL, 0);
    rig_run(&rig);
    expect_completion(&cq1, 5, NIC_SUCCESS);
    assert_int_equal(ask(p1, ATTACH_OP_MW_KEY, made, NULL, 0), 0);
    uint32_t key = p1->request.object;
    assert_int_equal(key >> 8, made >> 8);
    assert_int_not_equal(key, made);
    assert_int_equal(ask(p1, ATTACH_OP_MR_DESTROY, p1->key, NULL, 0), -EBUSY);
    const struct device_sge list = sge_of(p0, 0, 100);
    struct nic_wr wr = write_to(p1, 1, 64);
    wr.rkey = key;
    post_send(p0, qp0, wr, &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    assert_memory_equal(p1->memory + 64, p0->memory, 100);
    wr.remote_va++; /* one byte beyond */
    post_send(p0, qp0, wr, &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_REM_ACCESS_ERR);
    rig_close(&rig);
}

/* Objects by number: only one's own. */
static void test_numbers(void **state)
{
    const struct device_qp_attr reset = {.mask = DEVICE_ATTR_STATE, .state = NIC_RESET};

    (void)state;
    connected(PLAIN, NIC_RC);
    struct attach_qp from = {.pd = 1, .send_cq = cq1.number + 1, .transport = NIC_RC};
    assert_int_equal(ask(p1, ATTACH_OP_QP_CREATE, 0, &from, sizeof from), -EINVAL);
    from = (struct attach_qp){.pd = UINT32_MAX, .transport = NIC_RC};
    assert_int_equal(ask(p1, ATTACH_OP_QP_CREATE, 0, &from, sizeof from), -EINVAL);
    from = (struct attach_qp){.pd = 1, .transport = NIC_RC, .send_entries = UINT32_MAX};
    assert_int_equal(ask(p1, ATTACH_OP_QP_CREATE, 0, &from, sizeof from), -EINVAL);
    assert_int_equal(ask(p2, ATTACH_OP_QP_MODIFY, qp1, &reset, sizeof reset), -EINVAL); /* its neighbour's */
    assert_int_equal(ask(p2, ATTACH_OP_QP_DESTROY, qp1, NULL, 0), -EINVAL);
    assert_int_equal(ask(p2, ATTACH_OP_MR_DESTROY, p1->key, NULL, 0), -EINVAL);
    assert_int_equal(ask(p2, ATTACH_OP_CQ_DESTROY, cq1.number, NULL, 0), -EINVAL);
    assert_int_equal(ask(p1, ATTACH_OP_CQ_DESTROY, cq1.number, NULL, 0), -EBUSY);
    for (uint32_t op = ATTACH_OP_NONE; op < ATTACH_OPS; op++) {
        if (op == ATTACH_OP_OPEN || op == ATTACH_OP_CLOSE) continue;
        uint8_t data[ATTACH_REQUEST_BYTES];
        memset(data, 0xff, sizeof data);
        (void)ask(p2, op, UINT32_MAX, data, sizeof data);
        memset(data, 0, sizeof data);
        (void)ask(p2, op, 0, data, sizeof data);
    }
    struct device_path nobody = {.remote = pkt_addr_ipv4(0x0a0000ff)};
    assert_int_equal(ask(p1, ATTACH_OP_PATH_GET, 0, &nobody, sizeof nobody), -EHOSTUNREACH);
    const struct device_sge list = sge_of(p2, 0, 100);
    struct nic_wr wr = write_to(p0, 1, 0);
    post_send(p2, qp1, wr, &list, 1); /* its neighbour's: not posted */
    rig_run(&rig);
    assert_int_equal(cq1.ring->tail, 0);
    assert_int_equal(nic_counters(rig.host[1].adapters[0].nic)->prio[3].tx_packets, 0);
    rig_close(&rig);
}

/* More than the queue holds: the library would not have; the queue pair ends, and says so. */
static void test_full_queue(void **state)
{
    struct attach_event event;
    struct nic_cqe cqe;

    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 100);
    for (unsigned i = 0; i < 17; i++)
        post_send(p0, qp0, write_to(p1, i, 0), &list, 1);
    rig_run(&rig);
    for (unsigned i = 0; i < 16; i++)
        expect_completion(&cq0, i, NIC_WR_FLUSH_ERR);
    assert_false(next_completion(&cq0, &cqe));
    assert_true(next_event(p0, &event));
    assert_true(event.kind == DEVICE_EVENT_QP_FATAL && event.object == qp0);
    eventfd_t count = 0;
    assert_int_equal(eventfd_read(p0->last_fd, &count), 0);
    assert_true(count >= 1);
    rig_close(&rig);
}

/* A completion queue overruns when the program does not poll, and only then; a head that cannot be is not believed. */
static void test_overrun(void **state)
{
    struct attach_event event;
    struct nic_cqe cqe;

    (void)state;
    for (unsigned polls = 0; polls < 2; polls++) {
        rig_open(&rig, PLAIN);
        struct device_path to0 = path_to(&rig, 0), to1 = path_to(&rig, 1);
        cq0 = make_cq(p0, 4, 0);
        cq1 = make_cq(p1, 4, 0);
        qp0 = make_qp(p0, NIC_RC, &cq0, 0);
        qp1 = make_qp(p1, NIC_RC, &cq1, 0);
        connect_qp(p0, qp0, &to1, qp1);
        connect_qp(p1, qp1, &to0, qp0);
        const struct device_sge list = sge_of(p0, 0, 100);
        for (unsigned i = 0; i < 10; i++) {
            post_send(p0, qp0, write_to(p1, i, 0), &list, 1);
            rig_run(&rig);
            if (polls) expect_completion(&cq0, i, NIC_SUCCESS);
            if (!polls && i == 1) cq0.ring->head = 1000;
            if (!polls && i == 2) cq0.ring->head = 0;
        }
        bool overrun = false;
        while (next_event(p0, &event))
            overrun |= event.kind == DEVICE_EVENT_CQ_ERROR && event.object == cq0.number && event.of == ATTACH_CQ;
        assert_int_equal(overrun, !polls);
        for (unsigned i = 0; !polls && i < 4; i++)
            expect_completion(&cq0, i, NIC_SUCCESS);
        assert_false(next_completion(&cq0, &cqe));
        rig_close(&rig);
    }
}

static void test_resize(void **state)
{
    const struct attach_cq larger = {.entries = 256}, smaller = {.entries = 4};
    struct attach_made made;

    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 100);
    for (unsigned i = 0; i < 10; i++)
        post_send(p0, qp0, write_to(p1, i, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 0, NIC_SUCCESS);
    assert_int_equal(ask(p0, ATTACH_OP_CQ_RESIZE, cq0.number, &smaller, sizeof smaller), -EINVAL);
    assert_int_equal(ask(p0, ATTACH_OP_CQ_RESIZE, cq0.number, &larger, sizeof larger), 0);
    memcpy(&made, p0->request.data, sizeof made);
    cq0.ring = up_ring(&p0->process, made.ring);
    cq0.entry = up_ring_entries(&p0->process, made.ring);
    cq0.mask = made.entries - 1;
    for (unsigned i = 1; i < 10; i++)
        expect_completion(&cq0, i, NIC_SUCCESS);
    post_send(p0, qp0, write_to(p1, 10, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 10, NIC_SUCCESS);
    rig_close(&rig);
}

static void arm(struct program *program, uint32_t cq, bool solicited)
{
    const struct attach_post post = {.kind = ATTACH_POST_ARM, .object = cq, .flags = solicited};

    put_record(program, &post, NULL, 0);
}

/* An armed queue tells once; one that waits for solicited messages not of others. */
static void test_channel(void **state)
{
    struct attach_made made;
    eventfd_t count;

    (void)state;
    rig_open(&rig, PLAIN);
    struct device_path to0 = path_to(&rig, 0), to1 = path_to(&rig, 1);
    cq0 = make_cq(p0, 16, 0);
    assert_int_equal(ask(p1, ATTACH_OP_CHANNEL_CREATE, 0, NULL, 0), 0);
    memcpy(&made, p1->request.data, sizeof made);
    int fd = dup(p1->last_fd);
    const struct attach_ring *ring = up_ring(&p1->process, made.ring);
    const uint32_t *number = up_ring_entries(&p1->process, made.ring);
    cq1 = make_cq(p1, 16, made.number);
    assert_int_equal(ask(p1, ATTACH_OP_CHANNEL_DESTROY, made.number, NULL, 0), -EBUSY);
    qp0 = make_qp(p0, NIC_RC, &cq0, 0);
    qp1 = make_qp(p1, NIC_RC, &cq1, 0);
    connect_qp(p0, qp0, &to1, qp1);
    connect_qp(p1, qp1, &to0, qp0);
    for (unsigned i = 0; i < 6; i++)
        post_receive(p1, qp1, i, sge_of(p1, 0, 100));
    arm(p1, cq1.number, true);
    rig_run(&rig);
    const struct device_sge list = sge_of(p0, 0, 10);
    for (unsigned i = 0; i < 3; i++) { /* only the second is solicited; nothing is armed for the third */
        struct nic_wr wr = {.verb = NIC_SEND, .flags = i == 1 ? NIC_SOLICITED : 0};
        post_send(p0, qp0, wr, &list, 1);
        rig_run(&rig);
        assert_int_equal(ring->tail, i ? 1 : 0);
        assert_int_equal(eventfd_read(fd, &count), i == 1 ? 0 : -1);
    }
    assert_int_equal(number[0], cq1.number);
    arm(p1, cq1.number, false);
    post_send(p0, qp0, (struct nic_wr){.verb = NIC_SEND}, &list, 1);
    rig_run(&rig);
    assert_int_equal(ring->tail, 2);
    close(fd);
    rig_close(&rig);
}

/* By time, then by place in the ring. */
static void test_order_of_posts(void **state)
{
    static const struct {
        ps_t after;
        uint64_t wr_id;
    } post[] = {{30 * PS_US, 3}, {10 * PS_US, 0}, {20 * PS_US, 1}, {20 * PS_US, 2}};

    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 10);
    ps_t now = engine_now(sim_engine(rig.sim));
    for (unsigned i = 0; i < 4; i++) {
        struct attach_post record = {.kind = ATTACH_POST_SEND,
                                     .object = qp0,
                                     .at = now + post[i].after,
                                     .sges = 1,
                                     .wr = write_to(p1, post[i].wr_id, 0)};
        put_record(p0, &record, &list, sizeof list);
    }
    post_collect(&p0->process, 0);
    assert_int_equal(post_next(&p0->process), now + 10 * PS_US);
    rig_run(&rig);
    for (unsigned i = 0; i < 4; i++)
        expect_completion(&cq0, i, NIC_SUCCESS);
    assert_true(engine_now(sim_engine(rig.sim)) >= now + 30 * PS_US);
    rig_close(&rig);
}

/* The ring many times round, with records that do not fit before its end. */
static void test_ring_goes_round(void **state)
{
    uint8_t data[128];

    (void)state;
    connected(PLAIN, NIC_RC);
    for (unsigned i = 0; i < 12000; i++) {
        memset(data, (int)i, sizeof data);
        struct attach_post post = {.kind = ATTACH_POST_SEND,
                                   .object = qp0,
                                   .copied = 1,
                                   .data_bytes = i % 129,
                                   .wr = write_to(p1, i, 64 * (i % 1000))};
        put_record(p0, &post, data, post.data_bytes);
        if (i % 8 != 7) continue;
        rig_run(&rig);
        for (unsigned k = i - 7; k <= i; k++)
            expect_completion(&cq0, k, NIC_SUCCESS);
        for (unsigned k = 0; k < i % 129; k++)
            assert_int_equal(p1->memory[64 * (i % 1000) + k], (uint8_t)i);
    }
    assert_true(p0->process.posts_head > 2 * ATTACH_POSTS_BYTES);
    rig_close(&rig);
}

/* Pages that were moved into the fabric's memory are reached there; what is beside them as before. */
static void test_adopted(void **state)
{
    (void)state;
    connected(PLAIN, NIC_RC);
    assert_int_equal(adopt_init(&p1->process), 0);
    struct attach_adopt adopt = {.addr = (uintptr_t)p1->memory + 8192, .bytes = 3 * 4096, .offset = 40960};
    void *at = mmap(p1->memory + 8192, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p1->process.adopted_fd,
                    40960);
    assert_ptr_equal(at, p1->memory + 8192);
    assert_int_equal(ask(p1, ATTACH_OP_ADOPT, 0, &adopt, sizeof adopt), 0);
    const pid_t pid = p1->process.pid;
    const struct device_sge list = sge_of(p0, 0, 3 * 4096), across = sge_of(p0, 0, 40000);
    p1->process.pid = 0; /* the kernel is not asked */
    post_send(p0, qp0, write_to(p1, 1, 8192), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    assert_memory_equal(p1->memory + 8192, p0->memory, 3 * 4096);
    p1->process.pid = pid;
    post_send(p0, qp0, write_to(p1, 2, 1), &across, 1);
    rig_run(&rig);
    expect_completion(&cq0, 2, NIC_SUCCESS);
    assert_memory_equal(p1->memory + 1, p0->memory, 40000);
    /* the middle page goes back; its neighbours stay */
    adopt = (struct attach_adopt){.addr = (uintptr_t)p1->memory + 12288, .bytes = 4096};
    assert_int_equal(ask(p1, ATTACH_OP_RELEASE, 0, &adopt, sizeof adopt), 0);
    p1->process.pid = 0;
    uint8_t byte;
    assert_true(up_objects_host.read(p1->process.device[0], (uintptr_t)p1->memory + 8192, &byte, 1));
    assert_false(up_objects_host.read(p1->process.device[0], (uintptr_t)p1->memory + 12288, &byte, 1));
    assert_true(up_objects_host.read(p1->process.device[0], (uintptr_t)p1->memory + 16384, &byte, 1));
    p1->process.pid = pid;
    adopt = (struct attach_adopt){.addr = 4096, .bytes = 8192, .offset = UINT64_MAX & ~4095ULL};
    assert_int_equal(ask(p1, ATTACH_OP_ADOPT, 0, &adopt, sizeof adopt), -EINVAL);
    rig_close(&rig);
}

/* RESET forgets completions that wait, in the program's ring too; then it begins anew. */
static void test_reset(void **state)
{
    const struct device_qp_attr reset = {.mask = DEVICE_ATTR_STATE, .state = NIC_RESET};
    struct attach_qp_state known;

    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 100);
    for (unsigned i = 0; i < 3; i++)
        post_send(p0, qp0, write_to(p1, i, 0), &list, 1);
    rig_run(&rig);
    assert_int_equal(ask(p0, ATTACH_OP_QP_STATE, qp0, NULL, 0), 0);
    memcpy(&known, p0->request.data, sizeof known);
    assert_true(known.state == NIC_RTS && known.sent == 3);
    assert_int_equal(cq0.ring->tail, 3);
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, qp0, &reset, sizeof reset), 0);
    assert_int_equal(ask(p1, ATTACH_OP_QP_MODIFY, qp1, &reset, sizeof reset), 0);
    assert_int_equal(cq0.ring->tail, cq0.ring->head);
    struct device_path to0 = path_to(&rig, 0), to1 = path_to(&rig, 1);
    connect_qp(p0, qp0, &to1, qp1);
    connect_qp(p1, qp1, &to0, qp0);
    post_send(p0, qp0, write_to(p1, 8, 0), &list, 1);
    rig_run(&rig);
    rig.up.options.real = true; /* the program runs: what it may be reading is not taken back */
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, qp0, &reset, sizeof reset), 0);
    expect_completion(&cq0, 8, NIC_SUCCESS);
    rig_close(&rig);
}

/* A cable that is pulled and put back: the port's state, and an event for each. */
static void test_link(void **state)
{
    struct attach_event event;

    (void)state;
    connected(PLAIN "faults: [{down: h0, at: 10us, for: 20us}]\n", NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 1u << 20);
    assert_int_equal(p0->process.head->nic[0].up, 0); /* the rig says nothing of it; the fault will */
    post_send(p0, qp0, write_to(p1, 1, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    assert_memory_equal(p1->memory, p0->memory, 1u << 20);
    assert_int_equal(p0->process.head->nic[0].up, 1);
    assert_true(next_event(p0, &event) && event.kind == DEVICE_EVENT_PORT_DOWN && event.of == ATTACH_PORT);
    assert_true(next_event(p0, &event) && event.kind == DEVICE_EVENT_PORT_ACTIVE && event.of == ATTACH_PORT);
    assert_false(next_event(p0, &event));
    rig_close(&rig);
}

/* A queue pair of a job is nobody's peer. */
static void test_jobs_are_apart(void **state)
{
    (void)state;
    connected(PLAIN "jobs: [{flows: [{src: h0, dst: h1, size: 1MB}]}]\n", NIC_RC);
    assert_int_equal(rig.pairs[1], 1);
    uint32_t other = make_qp(p0, NIC_RC, &cq0, 0);
    struct device_qp_attr attr = {.mask = DEVICE_ATTR_STATE, .state = NIC_INIT};
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, other, &attr, sizeof attr), 0);
    attr =
        (struct device_qp_attr){.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_MTU,
                                .state = NIC_RTR,
                                .path = path_to(&rig, 1),
                                .remote_qp = 0x11,
                                .mtu = 1024};
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, other, &attr, sizeof attr), -EINVAL);
    attr.remote_qp = qp1;
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, other, &attr, sizeof attr), 0);
    /* Nor is it by another way to a number that was good elsewhere. */
    uint32_t turned = make_qp(p0, NIC_RC, &cq0, 0);
    struct device_path elsewhere = path_to(&rig, 2);
    connect_qp(p0, turned, &elsewhere, 0x11);
    attr = (struct device_qp_attr){.mask = DEVICE_ATTR_PATH, .path = path_to(&rig, 1)};
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, turned, &attr, sizeof attr), -EINVAL);
    attr.mask |= DEVICE_ATTR_REMOTE_QP;
    attr.remote_qp = qp1;
    assert_int_equal(ask(p0, ATTACH_OP_QP_MODIFY, turned, &attr, sizeof attr), -EINVAL);
    const struct device_sge list = sge_of(p0, 0, 1u << 20);
    post_send(p0, qp0, write_to(p1, 1, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_selective_repeat),
        cmocka_unit_test(test_send),
        cmocka_unit_test(test_read_and_atomics),
        cmocka_unit_test(test_datagram),
        cmocka_unit_test(test_shared_receives),
        cmocka_unit_test(test_local_keys),
        cmocka_unit_test(test_memory_gone),
        cmocka_unit_test(test_remote_keys),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_overrun),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_channel),
        cmocka_unit_test(test_order_of_posts),
        cmocka_unit_test(test_ring_goes_round),
        cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_jobs_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
