/* SPDX-License-Identifier: Apache-2.0 */
/* One look of a switch, its lines: wrong bits, heat, ports that are disabled; and beside each what is not enough. */
#include "look.h"

static void wrong_bits_since_boot(void **state)
{
    static const struct {
        uint64_t crc, packets;
        bool found;
    } rows[] = {{35, 1834530417310, false},
                {10802, 0, false},
                {1000001, 0, true},
                {20000, 1000000000, true},
                {2000, 1000000000, false}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port = alone(&bed, 1, "eos"), other[2] = {alone(&bed, 2, "eos"), alone(&bed, 3, "eos")};
        since_boot(&bed, port, NONE, EVIDENCE_CRC_ERRORS, rows[i].crc);
        if (rows[i].packets) since_boot(&bed, port, NONE, EVIDENCE_PORT_RX_PACKETS, rows[i].packets);
        since_boot(&bed, port, NONE, EVIDENCE_RATE, 100000000);
        since_boot(&bed, other[0], NONE, EVIDENCE_RATE, 1000000000);
        since_boot(&bed, other[1], NONE, EVIDENCE_RATE, 10000000000);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D13), rows[i].found);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D06), rows[i].found);
        if (rows[i].found) weak_found(&bed, DIAGNOSE_D13, port);
        bed_close(&bed);
    }
}

static void bad_before_it_came(void **state)
{
    static const struct {
        uint64_t stomped, own;
        bool found;
    } rows[] = {{13450, 0, true}, {13450, 20000, false}, {60, 0, false}, {0, 0, false}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port = alone(&bed, 1, "nxos");
        since_boot(&bed, port, NONE, EVIDENCE_STOMPED, rows[i].stomped);
        since_boot(&bed, port, NONE, EVIDENCE_CRC_ERRORS, rows[i].own);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D38), rows[i].found);
        bed_close(&bed);
    }
}

static void disabled_and_shut(void **state)
{
    struct bed bed;

    (void)state;
    bed_open(&bed);
    uint32_t port = alone(&bed, 1, "nxos"), shut = alone(&bed, 2, "nxos"), back = alone(&bed, 3, "nxos");
    since_boot(&bed, port, NONE, EVIDENCE_LINK_UP, 0);
    since_boot(&bed, shut, NONE, EVIDENCE_LINK_UP, 0);
    since_boot(&bed, back, NONE, EVIDENCE_LINK_UP, 1);
    said(&bed, port, EVIDENCE_EVENT_PORT_DISABLED, "linkFlapErrDisabled");
    said(&bed, shut, EVIDENCE_EVENT_PORT_SHUT, NULL);
    said(&bed, back, EVIDENCE_EVENT_PORT_DISABLED, NULL);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D37), 1);
    assert_non_null(strstr(weak_found(&bed, DIAGNOSE_D37, port)->what, "(linkFlapErrDisabled)"));
    bed_close(&bed);
}

static void hot_and_no_errors(void **state)
{
    (void)state;
    for (unsigned hot = 0; hot < 2; hot++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port = alone(&bed, 1, "junos");
        since_boot(&bed, port, NONE, EVIDENCE_TEMPERATURE, hot ? 74 : 51);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D13), hot);
        if (hot) assert_non_null(strstr(weak_found(&bed, DIAGNOSE_D13, port)->what, "74.0 degrees, and no errors"));
        bed_close(&bed);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_bits_since_boot),
        cmocka_unit_test(bad_before_it_came),
        cmocka_unit_test(disabled_and_shut),
        cmocka_unit_test(hot_and_no_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
