/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs over a bare adapter, driven by a host of the test: what is refused leaves everything as it was, whoever
 * drives the adapter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/objects.h"

#define PATHS 4u
#define INLINE 32u

struct device {
    struct objects objects;
    struct regions regions;
    struct device_qp *qps;
    unsigned path_users[PATHS + 1];
    unsigned resets;
    bool refuses; /* what follows from the configuration cannot be had */
};

struct device_qp {
    struct queue_pair;
};

static struct device device;
static struct nic_io io;
static struct nic_cq cq;
static struct nic_cqe cqes[16];

static bool host_read(struct device *of, uint64_t addr, void *to, uint64_t bytes)
{
    (void)of;
    if (addr == 0) return false;
    memcpy(to, (const void *)(uintptr_t)addr, bytes);
    return true;
}

/* Paths are numbered by their flow label. */
static int path_get(struct device *of, const struct device_path *path, uint32_t *ret)
{
    if (path->flow_label == 0 || path->flow_label > PATHS) return -EHOSTUNREACH;
    of->path_users[path->flow_label]++;
    *ret = path->flow_label;
    return 0;
}

static void path_put(struct device *of, uint32_t path)
{
    assert_int_not_equal(of->path_users[path], 0);
    of->path_users[path]--;
}

static bool path_find(struct device *of, uint32_t path, struct path_end *ret)
{
    if (path == 0 || path > PATHS || of->path_users[path] == 0) return false;
    *ret = (struct path_end){.endpoint = 100 + path, .prio = (uint8_t)path};
    return true;
}

static uint32_t mtu(const struct device *of)
{
    (void)of;
    return 2048;
}

static int settle(struct device_qp *qp, const struct device_qp_attr *attr)
{
    (void)attr;
    qp->config.sport = (uint16_t)(0xc000 + qp->path);
    return qp->device->refuses ? -EINVAL : 0;
}

static void forget(struct device_qp *qp)
{
    qp->device->resets++;
}

static const struct device_host host = {.read = host_read,
                                        .path_get = path_get,
                                        .path_put = path_put,
                                        .path_find = path_find,
                                        .mtu = mtu,
                                        .qp_settle = settle,
                                        .qp_reset = forget};

static int set_up(void **state)
{
    const struct nic_config config = nic_config_default(100000000000, 1);
    const size_t bytes = (nic_memory_bytes(&config) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);

    (void)state;
    assert_non_null(memory);
    memset(memory, 0, bytes);
    device = (struct device){0};
    assert_int_equal(regions_init(&device.regions, 16, 0, 0), 0);
    device.objects = (struct objects){.host = &host, .nic = nic_init(memory, &config), .regions = &device.regions};
    nic_cq_init(&cq, cqes, 16);
    io = (struct nic_io){0};
    return 0;
}

static struct device_qp *make(uint8_t transport)
{
    const struct device_qp_init init = {
        .transport = transport, .send_entries = 4, .send_sges = 1, .recv_sges = 1, .inline_bytes = INLINE};
    struct device_qp *qp = calloc(1, sizeof *qp);

    assert_non_null(qp);
    qp->device = &device;
    qp->objects = &device.objects;
    qp->config = nic_qp_config_default();
    qp->config.send_cq = qp->config.recv_cq = &cq;
    assert_int_equal(qp_init(qp, &init), 0);
    assert_int_equal(qp_start(qp, 0, &device.qps, 0), 0);
    return qp;
}

static int tear_down(void **state)
{
    (void)state;
    while (device.qps) {
        struct device_qp *qp = device.qps;
        qp_end(qp, &device.qps, &io);
        qp_release(qp);
    }
    for (unsigned i = 0; i <= PATHS; i++)
        assert_int_equal(device.path_users[i], 0);
    free(device.regions.slot);
    free(device.objects.nic);
    return 0;
}

static int modify(struct device_qp *qp, uint32_t mask, uint8_t to, uint32_t path)
{
    const struct device_qp_attr attr = {.mask = mask,
                                        .state = to,
                                        .mtu = 512,
                                        .path = {.flow_label = path},
                                        .remote_qp = 70 + path,
                                        .timeout = 3,
                                        .max_read = 1,
                                        .max_read_accept = 1};
    return qp_modify(qp, &attr, 0, &io);
}

#define TO_RTR                                                                                                         \
    (DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_MAX_READ_ACCEPT)
#define TO_RTS (DEVICE_ATTR_STATE | DEVICE_ATTR_TIMEOUT | DEVICE_ATTR_MAX_READ)

static void test_refused_is_not_remembered(void **state)
{
    struct device_qp *qp = make(NIC_RC);

    (void)state;
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_INIT, 0), 0);
    const struct nic_qp_config before = qp->config;
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_RTR, 0), -EINVAL); /* nobody to talk to */
    assert_int_equal(modify(qp, TO_RTR, NIC_RTR, PATHS + 1), -EHOSTUNREACH);
    device.refuses = true;
    assert_int_equal(modify(qp, TO_RTR, NIC_RTR, 1), -EINVAL);
    device.refuses = false;
    assert_int_equal(modify(qp, TO_RTR, NIC_SQD, 2), -EINVAL); /* no such step */
    assert_memory_equal(&qp->config, &before, sizeof before);
    assert_int_equal(qp->path, 0);
    assert_int_equal(nic_qp_state(qp->nic), NIC_INIT);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_RTR, 0), -EINVAL); /* the path was refused with the rest */
    assert_int_equal(modify(qp, TO_RTR, NIC_RTR, 3), 0);
    assert_int_equal(qp->config.remote, 103);
    assert_int_equal(device.path_users[3], 1);
}

static void test_mtu(void **state)
{
    static const uint16_t wrong[] = {0, 128, 300, 1023, 4096, 8192, 0x8000};
    struct device_qp *qp = make(NIC_RC);
    struct device_qp_attr attr = {.mask = DEVICE_ATTR_MTU, .mtu = 2048};

    (void)state;
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_INIT, 0), 0);
    assert_int_equal(qp_modify(qp, &attr, 0, &io), 0);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        attr.mtu = wrong[i];
        assert_int_equal(qp_modify(qp, &attr, 0, &io), -EINVAL);
        assert_int_equal(qp->config.mtu, 2048);
    }
}

/* A path may change while it talks; whom it talks to may not, and RESET lets go of all. */
static void test_path(void **state)
{
    struct device_qp *qp = make(NIC_RC);

    (void)state;
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_INIT, 0), 0);
    assert_int_equal(modify(qp, TO_RTR, NIC_RTR, 1), 0);
    assert_int_equal(modify(qp, TO_RTS, NIC_RTS, 0), 0);
    assert_int_equal(modify(qp, DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP, 0, 2), 0);
    assert_int_equal(qp->config.remote_qp, 71);
    assert_int_equal(qp->config.remote, 102);
    assert_int_equal(device.path_users[1], 0);
    assert_int_equal(device.path_users[2], 1);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN, NIC_RESET, 0), -EINVAL); /* too late for it */
    assert_int_equal(device.path_users[2], 1);
    assert_int_equal(device.resets, 0);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_RESET, 0), 0);
    assert_int_equal(device.path_users[2], 0);
    assert_int_equal(device.resets, 1);
    assert_int_equal(qp->path, 0);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_INIT, 0), 0);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_RTR, 0), -EINVAL);
}

static int post(struct device_qp *qp, uint8_t verb, bool copy, const void *from, uint32_t bytes)
{
    const struct device_sge sge = {.addr = (uintptr_t)from, .length = bytes};
    const struct device_send send = {.wr = {.verb = verb, .dest = 1}, .sge = &sge, .sges = 1, .copy = copy};
    struct nic_wr wr;

    return qp_post_send(qp, &send, &wr, 0, &io);
}

/* ibv_post_send(3): inline is for what is sent, and never where bytes come back. */
static void test_inline(void **state)
{
    static const uint8_t bytes[INLINE + 1] = {1, 2, 3};
    struct device_qp *qp = make(NIC_RC);

    (void)state;
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_INIT, 0), 0);
    assert_int_equal(modify(qp, TO_RTR, NIC_RTR, 1), 0);
    assert_int_equal(modify(qp, TO_RTS, NIC_RTS, 0), 0);
    assert_int_equal(post(qp, NIC_WRITE, true, bytes, INLINE + 1), -EINVAL);
    assert_int_equal(post(qp, NIC_READ, true, bytes, 8), -EINVAL);
    assert_int_equal(post(qp, NIC_CAS, true, bytes, 8), -EINVAL);
    assert_int_equal(post(qp, NIC_VERBS, false, bytes, 8), -EINVAL);
    assert_int_equal(post(qp, NIC_WRITE, true, NULL, 8), -EFAULT);
    assert_int_equal(post(qp, NIC_WRITE, true, bytes, INLINE), 0);
    assert_memory_equal(qp->records.copies, bytes, INLINE);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(post(qp, NIC_WRITE, false, bytes, 8), 0);
    assert_int_equal(post(qp, NIC_WRITE, false, bytes, 8), -ENOMEM);
}

/* A datagram goes where a path leads that there is. */
static void test_datagram(void **state)
{
    static const uint8_t bytes[8];
    struct device_qp *qp = make(NIC_UD);

    (void)state;
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_INIT, 0), 0);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_RTR, 0), 0);
    assert_int_equal(modify(qp, DEVICE_ATTR_STATE, NIC_RTS, 0), 0);
    assert_int_equal(post(qp, NIC_SEND, false, bytes, 8), -EINVAL);
    device.path_users[1] = 1;
    assert_int_equal(post(qp, NIC_SEND, false, bytes, 8), 0);
    device.path_users[1] = 0;
}

static void test_limits(void **state)
{
    struct device_srq srq = {.device = &device};

    (void)state;
    assert_int_equal(receives_init(&srq.receives, 7, 8, 1), 0);
    assert_int_equal(srq_change(&srq, NULL, DEVICE_SRQ_KEEP, 9), -EINVAL);
    assert_int_equal(srq_change(&srq, NULL, 16, 9), 0);
    assert_int_equal(srq.receives.entries, 16);
    assert_int_equal(srq.receives.nic.limit, 9);
    assert_int_equal(srq_change(&srq, NULL, DEVICE_SRQ_MAX + 1, DEVICE_SRQ_KEEP), -EINVAL);
    assert_int_equal(srq_change(&srq, NULL, 4, 17), -EINVAL); /* it never shrinks, and the limit is judged by what is */
    assert_int_equal(srq_change(&srq, NULL, 4, 16), 0);
    receives_free(&srq.receives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refused_is_not_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mtu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_datagram, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
