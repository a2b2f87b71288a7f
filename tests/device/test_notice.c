/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which completion makes the event that a queue was armed for (volume 1, 11.4.2.2), and how often one is looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/records.h"

#define SIZE 8u

static struct nic_cqe slot[SIZE];
static struct nic_cq ring;
static struct notice notice;

static int set_up(void **state)
{
    (void)state;
    nic_cq_init(&ring, slot, SIZE);
    ring.head = ring.tail = UINT32_MAX - 2; /* it goes round on the way */
    notice = (struct notice){0};
    return 0;
}

static void complete(bool receive, bool solicited, uint8_t status)
{
    ring.slot[ring.tail++ & ring.mask] = (struct nic_cqe){.receive = receive, .solicited = solicited, .status = status};
}

static void test_any(void **state)
{
    (void)state;
    complete(false, false, NIC_SUCCESS);
    assert_false(notice_due(&notice, &ring)); /* nobody has armed it */
    notice_arm(&notice, ring.tail, false);
    assert_false(notice_due(&notice, &ring)); /* what is there already makes none */
    complete(false, false, NIC_SUCCESS);
    assert_true(notice_due(&notice, &ring));
    notice.armed = false;
    assert_false(notice_due(&notice, &ring));
}

static void test_solicited(void **state)
{
    (void)state;
    notice_arm(&notice, ring.tail, true);
    complete(false, true, NIC_SUCCESS); /* of a send it says nothing */
    complete(true, false, NIC_SUCCESS);
    assert_false(notice_due(&notice, &ring));
    assert_int_equal(notice.from, ring.tail); /* they are not looked at again */
    complete(true, true, NIC_SUCCESS);
    assert_true(notice_due(&notice, &ring));
    complete(false, false, NIC_WR_FLUSH_ERR);
    assert_true(notice_due(&notice, &ring));
}

/* Armed for all, it is not armed for fewer; armed for some, it may be for all, from then on. */
static void test_armed_twice(void **state)
{
    (void)state;
    notice_arm(&notice, ring.tail, false);
    complete(false, false, NIC_SUCCESS);
    notice_arm(&notice, ring.tail, true);
    assert_true(notice_due(&notice, &ring));
    notice.armed = false;
    notice_arm(&notice, ring.tail, true);
    complete(true, false, NIC_SUCCESS);
    notice_arm(&notice, ring.tail, false);
    assert_false(notice_due(&notice, &ring));
    complete(true, false, NIC_SUCCESS);
    assert_true(notice_due(&notice, &ring));
}

/* The completions of a queue pair that begins anew were taken out. */
static void test_cut(void **state)
{
    (void)state;
    notice_arm(&notice, ring.tail, true);
    for (unsigned i = 0; i < 4; i++)
        complete(true, false, NIC_SUCCESS);
    assert_false(notice_due(&notice, &ring));
    ring.tail -= 3;
    notice_cut(&notice, &ring);
    complete(true, true, NIC_SUCCESS);
    assert_true(notice_due(&notice, &ring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_any, set_up),
        cmocka_unit_test_setup(test_solicited, set_up),
        cmocka_unit_test_setup(test_armed_twice, set_up),
        cmocka_unit_test_setup(test_cut, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
