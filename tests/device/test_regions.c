/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and windows over bare adapters: whatever is done with them, the adapters know the keys that there are and no
 * others.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/objects.h"

#define KEYS 16u
#define PD 7u
#define ADDR 0x10000u
#define BYTES 0x4000u

static struct nic *nic[2];
static struct regions regions;

static int set_up(void **state)
{
    struct nic_config config = nic_config_default(100000000000, 1);

    (void)state;
    config.max_mrs = KEYS;
    regions = (struct regions){0};
    assert_int_equal(regions_init(&regions, KEYS, 0, 0), 0);
    for (unsigned i = 0; i < 2; i++) {
        void *memory = aligned_alloc(64, (nic_memory_bytes(&config) + 63) & ~(size_t)63);
        assert_non_null(memory);
        memset(memory, 0, nic_memory_bytes(&config));
        nic[i] = nic_init(memory, &config);
        assert_int_equal(regions_join(&regions, i, nic[i]), 0);
    }
    return 0;
}

/* Of all keys that the table can have given. */
static unsigned known(const struct nic *one)
{
    unsigned count = 0;

    for (uint32_t key = 256; key < KEYS * 256; key++)
        count += nic_mr_find(one, key) != NULL;
    return count;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(known(nic[0]), 0);
    assert_int_equal(known(nic[1]), 0);
    for (uint32_t i = 0; i < KEYS; i++)
        assert_false(regions.keys.slot[i].used);
    free(regions.slot);
    free(nic[0]);
    free(nic[1]);
    return 0;
}

/* A binding as it is posted on a queue pair of the first adapter; `runs`: it comes to its turn there. */
static uint32_t bind(struct device_mw *mw, struct device_mr *mr, uint64_t bytes, bool runs)
{
    const struct device_send send = {.mw = mw,
                                     .mr = mr,
                                     .mw_addr = ADDR,
                                     .mw_bytes = bytes,
                                     .mw_access = NIC_REMOTE_WRITE,
                                     .mw_key = mw->type == 2 ? (mw->key & ~255u) | (uint8_t)(mw->key + 3) : 0};
    struct nic_wr wr = {.verb = NIC_BIND_MW};

    assert_int_equal(window_bind(&regions, &send, &wr), 0);
    if (runs) {
        struct nic_mr told = {.key = wr.mw_key, .window = true};
        assert_int_equal(nic_mr_set(nic[0], &told), 0);
        told = (struct nic_mr){.key = wr.new_key,
                               .va = ADDR,
                               .bytes = bytes,
                               .pd = PD,
                               .parent = bytes ? mr->key : 0,
                               .rights = NIC_REMOTE_WRITE,
                               .window = true,
                               .live = true,
                               .type2 = mw->type == 2};
        assert_int_equal(nic_mr_set(nic[0], &told), 0);
    }
    window_bound(&regions, mw, wr.new_key);
    return wr.new_key;
}

static void enter(struct device_mr *mr, struct device_mw *mw, int type)
{
    *mr = (struct device_mr){.pd = PD,
                             .access = NIC_REMOTE_WRITE | DEVICE_LOCAL_WRITE | DEVICE_MW_BIND | DEVICE_ZERO_BASED};
    *mw = (struct device_mw){.pd = PD, .type = type, .home = nic[0]};
    assert_int_equal(region_enter(&regions, mr, ADDR, BYTES, ADDR), 0);
    assert_int_equal(window_enter(&regions, mw), 0);
}

/* A window that is destroyed while its last binding waits in a send queue leaves no key behind. */
static void test_binding_that_never_ran(void **state)
{
    struct device_mr mr;
    struct device_mw mw;

    (void)state;
    for (int type = 1; type <= 2; type++) {
        enter(&mr, &mw, type);
        uint32_t there = bind(&mw, &mr, BYTES, true);
        (void)bind(&mw, &mr, BYTES, false);
        assert_non_null(nic_mr_find(nic[0], there));
        window_remove(&regions, &mw);
        assert_null(nic_mr_find(nic[0], there));
        assert_int_equal(region_remove(&regions, &mr), 0);
    }
}

static void test_region_of_a_window_stays(void **state)
{
    struct device_mr mr;
    struct device_mw mw;

    (void)state;
    enter(&mr, &mw, 1);
    (void)bind(&mw, &mr, BYTES, true);
    assert_int_equal(region_remove(&regions, &mr), -EBUSY);
    (void)bind(&mw, &mr, 0, true);
    assert_int_equal(region_remove(&regions, &mr), 0);
    window_remove(&regions, &mw);
}

/* Rights are those of the adapter, and no other bit that a caller's access has. */
static void test_rights(void **state)
{
    struct device_mr mr;
    struct device_mw mw;

    (void)state;
    enter(&mr, &mw, 1);
    for (unsigned i = 0; i < 2; i++) {
        const struct nic_mr *told = nic_mr_find(nic[i], mr.key);
        assert_non_null(told);
        assert_int_equal(told->rights, NIC_REMOTE_WRITE | NIC_LOCAL_WRITE | NIC_MW_BIND);
        assert_int_equal(told->va, 0);
    }
    window_remove(&regions, &mw);
    assert_int_equal(region_remove(&regions, &mr), 0);
}

static void test_range_that_wraps(void **state)
{
    struct device_mr mr = {.pd = PD};
    void *addr = (void *)(UINTPTR_MAX - BYTES);

    (void)state;
    assert_int_equal(region_enter(&regions, &mr, UINT64_MAX - 1, BYTES, 0), -EINVAL);
    assert_int_equal(region_enter(&regions, &mr, ADDR, BYTES, ADDR), 0);
    uint32_t key = mr.key;
    assert_int_equal(region_change(&regions, &mr, NULL, &addr, 2 * BYTES, NULL), -EINVAL);
    assert_int_equal(mr.key, key);
    assert_ptr_equal(region_of(&regions, key), &mr);
    assert_non_null(nic_mr_find(nic[0], key));
    assert_int_equal(region_remove(&regions, &mr), 0);
}

/* One more adapter knows what the others know; a table that is full refuses and tells nobody. */
static void test_join_and_full(void **state)
{
    struct device_mr mr[KEYS];
    struct device_mw mw = {.pd = PD, .type = 1, .home = nic[0]};

    (void)state;
    regions.nic[1] = NULL;
    assert_int_equal(window_enter(&regions, &mw), 0);
    for (uint32_t i = 0; i < KEYS - 2; i++) {
        mr[i] = (struct device_mr){.pd = PD};
        assert_int_equal(region_enter(&regions, &mr[i], ADDR, BYTES, ADDR), 0);
    }
    assert_int_equal(region_enter(&regions, &mr[KEYS - 1], ADDR, BYTES, ADDR), -ENOMEM);
    assert_int_equal(known(nic[1]), 0);
    assert_int_equal(regions_join(&regions, 1, nic[1]), 0);
    assert_int_equal(known(nic[1]), KEYS - 1);
    assert_int_equal(known(nic[0]), KEYS - 1);
    for (uint32_t i = 0; i < KEYS - 2; i++)
        assert_int_equal(region_remove(&regions, &mr[i]), 0);
    window_remove(&regions, &mw);
}

static void spoil(unsigned what)
{
    struct device_mr mr;
    struct device_mw mw;

    enter(&mr, &mw, 1);
    regions_audit(&regions);
    if (what == 0) regions.windows++;
    if (what == 1) regions.keys.slot[5].used = true;
    if (what == 2) mr.pd++;
    if (what == 3) mw.key += 256;
    if (what == 4) regions.slot[mr.key >> 8].mr = NULL;
    regions_audit(&regions);
    _exit(0);
}

/* The audit finds what is not so. */
static void test_audit(void **state)
{
    (void)state;
    for (unsigned what = 0; what < 6; what++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            (void)!freopen("/dev/null", "w", stderr);
            spoil(what);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(what < 5 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT : status == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_binding_that_never_ran, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_region_of_a_window_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_range_that_wraps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_join_and_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_audit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
