/* SPDX-License-Identifier: Apache-2.0 */
/* What a device is made of: the variables, the table of GIDs when addresses come and go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/live_int.h"
#include "nic/cc/cc.h"
#include "packet/codec.h"
#include "torture_alone.h"

static struct live_environment environment(void)
{
    struct live_environment env;
    char why[200] = "";

    if (live_environment_read(&env, why, sizeof why) != 0) fail_msg("%s", why);
    return env;
}

/* ROCELAB_SEED is the seed of faults that name none. */
static void test_seed(void **state)
{
    (void)state;
    setenv("ROCELAB_SEED", "42", 1);
    setenv("ROCELAB_FAULT", "loss=1%", 1);
    assert_int_equal(environment().fault.seed, 42);
    setenv("ROCELAB_FAULT", "loss=1%,seed=7", 1);
    assert_int_equal(environment().fault.seed, 7);
    setenv("ROCELAB_FAULT", "loss=1%,seed=0", 1);
    assert_int_equal(environment().fault.seed, 0);
    unsetenv("ROCELAB_SEED");
    setenv("ROCELAB_FAULT", "loss=1%", 1);
    assert_int_equal(environment().fault.seed, 1);
    unsetenv("ROCELAB_FAULT");
}

/* Every preset that is accepted is named where a wrong one is told, and no other. */
static void test_congestion_controls(void **state)
{
    struct live_environment env;
    char why[400], none[400];

    (void)state;
    setenv("ROCELAB_CC", "no-such", 1);
    assert_int_equal(live_environment_read(&env, none, sizeof none), -EINVAL);
    const char *name;
    for (size_t i = 0; (name = cc_preset_name(i)) != NULL; i++) {
        setenv("ROCELAB_CC", name, 1);
        bool taken = live_environment_read(&env, why, sizeof why) == 0;
        assert_int_equal(taken, strstr(none, name) != NULL);
        assert_true(taken || strstr(why, "telemetry"));
    }
    setenv("ROCELAB_CC", "dctcp/papr", 1);
    assert_int_equal(live_environment_read(&env, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "did you mean 'dctcp/paper'?"));
    setenv("ROCELAB_CC", "dcqcn/paper,cnp_remembr=true", 1);
    assert_int_equal(live_environment_read(&env, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "did you mean 'cnp_remember'?"));
    setenv("ROCELAB_CC", "dcqcn/paper,cnp_remember=false,rpg_ai_rate=5M", 1);
    assert_int_equal(live_environment_read(&env, why, sizeof why), 0);
    assert_true(env.cc.cnp_remember == 0 && env.cc.rpg_ai_rate == 5000000);
    unsetenv("ROCELAB_CC");
}

/* Frames are told by their UDP port: the packet wire has no other. */
static void test_packet_wire_port(void **state)
{
    struct device_info *list;
    struct device *live;
    unsigned count;
    char why[200];

    (void)state;
    assert_int_equal(device_list(&list, &count), 0);
    setenv("ROCELAB_WIRE", "packet", 1);
    assert_int_equal(device_open(&list[0], &live, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "4791"));
    setenv("ROCELAB_WIRE", "udp", 1);
    free(list);
}

static struct device_gid gid(uint32_t ipv4)
{
    return (struct device_gid){.addr = pkt_addr_ipv4(ipv4), .net = PKT_NET_IPV4, .usable = true};
}

/* An address that comes back finds its place; a new one takes that of one that is gone when there is no other. */
static void test_gids(void **state)
{
    struct device_info device = {.gids = 0}, fresh = {.gids = 2};

    (void)state;
    fresh.gid[0] = gid(1);
    fresh.gid[1] = gid(2);
    live_gids_merge(&device, &fresh);
    assert_int_equal(device.gids, 2);
    fresh.gid[0] = gid(3); /* 1 goes, 3 comes */
    live_gids_merge(&device, &fresh);
    assert_int_equal(device.gids, 3);
    assert_false(device.gid[0].usable);
    assert_true(device.gid[1].usable && device.gid[2].usable);
    fresh.gid[1] = gid(1); /* and back */
    live_gids_merge(&device, &fresh);
    assert_int_equal(device.gids, 3);
    assert_true(device.gid[0].usable && device.gid[2].usable);
    assert_false(device.gid[1].usable);
    for (uint32_t i = 0; i < 100; i++) { /* one after another */
        fresh.gid[1] = gid(1000 + i);
        live_gids_merge(&device, &fresh);
        unsigned usable = 0, found = 0;
        for (unsigned at = 0; at < device.gids; at++) {
            usable += device.gid[at].usable;
            if (device.gid[at].usable && memcmp(&device.gid[at].addr, &fresh.gid[1].addr, 16) == 0) found++;
        }
        assert_int_equal(usable, 2);
        assert_int_equal(found, 1);
        assert_memory_equal(&device.gid[2].addr, &fresh.gid[0].addr, 16); /* who stays, stays in place */
    }
    assert_int_equal(device.gids, DEVICE_GIDS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_congestion_controls),
        cmocka_unit_test(test_packet_wire_port),
        cmocka_unit_test(test_gids),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
