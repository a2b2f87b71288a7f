/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of programs whose segments say what cannot be: it costs the program its own traffic, and nobody anything
 * else.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rig.h"

#define PLAIN "nics: {mtu: 4096, congestion: none}\n"

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

/* Records that make no sense: the ring goes on with what comes after them. */
static void test_spoilt_ring(void **state)
{
    static const uint32_t lengths[] = {0, 1, 63, 64, 65, 128, ATTACH_POSTS_BYTES, UINT32_MAX, 1u << 31};
    struct attach_event event;

    (void)state;
    connected(PLAIN, NIC_RC);
    struct attach_head *head = p0->process.head;
    struct attach_post post = {.kind = ATTACH_POST_SEND, .object = qp0, .sges = 1, .wr = write_to(p1, 9, 0)};
    struct device_sge list = sge_of(p0, 0, 100);
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        put_record(p0, &post, &list, sizeof list)->bytes = lengths[i];
        rig_run(&rig);
        assert_int_equal(head->posts.head, head->posts.tail);
    }
    post.sges = UINT32_MAX;
    put_record(p0, &post, &list, sizeof list);
    post.sges = 20; /* more than the record has */
    put_record(p0, &post, &list, sizeof list);
    post.sges = 0;
    post.copied = 1;
    post.data_bytes = UINT32_MAX;
    put_record(p0, &post, &list, sizeof list);
    post.kind = 0xffff;
    put_record(p0, &post, &list, sizeof list);
    rig_run(&rig);
    head->posts.tail += 3 * ATTACH_POSTS_BYTES; /* more than the ring is long */
    rig_run(&rig);
    assert_int_equal(head->posts.head, head->posts.tail);
    assert_int_equal(cq0.ring->tail, 0);
    head->posts.tail += 1; /* within a line, where no record can begin */
    rig_run(&rig);
    assert_int_equal(head->posts.head, --head->posts.tail);
    head->posts_at = ATTACH_SEGMENT_BYTES - ATTACH_POSTS_BYTES; /* it is where it was */
    assert_true(next_event(p0, &event));                        /* it is told so, once, and the others are not */
    assert_true(event.kind == DEVICE_EVENT_DEVICE_FATAL && event.of == ATTACH_PORT);
    assert_false(next_event(p0, &event) || next_event(p1, &event) || next_event(p2, &event));
    post_send(p0, qp0, write_to(p1, 1, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    rig_close(&rig);
}

/* A path that a queue pair goes by is not the program's to give back, however often it says so. */
static void test_path_of_a_pair(void **state)
{
    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_path to = path_to(&rig, 1);
    const struct device_sge list = sge_of(p0, 0, 100);
    int number = ask(p0, ATTACH_OP_PATH_GET, 0, &to, sizeof to);
    assert_true(number > 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ask(p0, ATTACH_OP_PATH_PUT, (uint32_t)number, NULL, 0), 0);
    post_send(p0, qp0, write_to(p1, 1, 0), &list, 1);
    rig_run(&rig);
    expect_completion(&cq0, 1, NIC_SUCCESS);
    rig_close(&rig);
}

/* Of a record that says it is long only what it needs is kept, for as long as it waits. */
static void test_long_records(void **state)
{
    (void)state;
    connected(PLAIN, NIC_RC);
    const struct device_sge list = sge_of(p0, 0, 100);
    const struct attach_post post = {
        .kind = ATTACH_POST_SEND, .object = qp0, .at = PS_S, .sges = 1, .wr = write_to(p1, 9, 0)};
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (unsigned i = 0; i < 16; i++) {
        struct attach_post *put = put_record(p0, &post, &list, sizeof list);
        uint32_t more = ATTACH_POSTS_BYTES / 2 - put->bytes;
        put->bytes += more;
        p0->process.head->posts.tail += more;
        post_collect(&p0->process, 0);
    }
    assert_int_equal(post_next(&p0->process), PS_S);
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before < 65536);
    rig_close(&rig);
}

/* Small numbers name things more often than large ones do. */
static void random_bytes(struct rng *rng, void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint32_t draw = rng_u32(rng);
        ((uint8_t *)to)[i] = draw >> 8 & 3 ? (uint8_t)(i % 4 ? 0 : draw % 24) : (uint8_t)draw;
    }
}

/* One program does anything at all to its segment; its neighbour on the same adapter and the peer do not notice. */
static void test_hostile_neighbour(void **state)
{
    uint8_t data[ATTACH_REQUEST_BYTES];
    struct rng rng;

    (void)state;
    connected(PLAIN, NIC_RC);
    rng_init(&rng, 7, 0);
    struct cq own = make_cq(p2, 8, 0);
    const struct device_sge list = sge_of(p0, 0, 3000);
    for (unsigned i = 0; i < 20000; i++) {
        random_bytes(&rng, data, sizeof data);
        uint32_t op = (uint32_t)rng_below(&rng, ATTACH_OPS);
        if (op != ATTACH_OP_CLOSE && op != ATTACH_OP_CQ_DESTROY && op != ATTACH_OP_CQ_RESIZE)
            (void)ask(p2, op, (uint32_t)rng_below(&rng, 64), data, sizeof data);
        struct attach_post post;
        random_bytes(&rng, &post, sizeof post);
        post.at = post.nic = 0;
        post.kind = (uint16_t)rng_below(&rng, 6);
        struct attach_post *put = put_record(p2, &post, data, rng_below(&rng, 600));
        if (rng_below(&rng, 8) == 0) put->bytes = rng_u32(&rng);
        if (rng_below(&rng, 8) == 0) own.ring->head = rng_u32(&rng);
        if (i % 100) continue;
        post_send(p0, qp0, write_to(p1, i, 0), &list, 1);
        rig_run(&rig);
        expect_completion(&cq0, i, NIC_SUCCESS);
        assert_memory_equal(p1->memory, p0->memory, 3000);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spoilt_ring),
        cmocka_unit_test(test_path_of_a_pair),
        cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_hostile_neighbour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
