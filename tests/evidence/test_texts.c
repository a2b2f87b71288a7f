/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of a few lines that a reader could take for something else: values that are no numbers, members of another
 * type than expected, what is said of a file and of which line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evidence/read/reader.h"
#include "fixture.h"

static void take(struct evidence *evidence, const char *device, const char *file, const char *text)
{
    evidence_read_text(evidence, device, file, 0, NULL, text, strlen(text));
}

static const struct evidence_value *value_of(struct evidence *evidence, const char *device, const char *port,
                                             unsigned priority, enum evidence_counter counter)
{
    uint32_t on = evidence_device(evidence, device, strlen(device));

    return evidence_find(evidence, evidence_port(evidence, on, port, strlen(port)), priority, counter);
}

static bool remarked(const struct evidence *evidence, const char *text)
{
    for (uint32_t i = 0; i < evidence->remarks; i++)
        if (strstr(evidence->remark[i].text, text)) return true;
    return false;
}

/* Priorities of PFC as NX-OS prints them: bits in hex. */
static void maps_of_priorities(void **state)
{
    static const struct {
        const char *map;
        int bits; /* -1: it says nothing */
    } rows[] = {{"Off", 0},        {"On (8)", 8},       {"On  (c)", 12},  {"On (88)", 0x88}, {"On (1A)", 0x1a},
                {"On (136)", 136}, {"On (0x18)", 0x18}, {"On (999)", -1}, {"On (g)", -1},    {"On", -1}};
    struct evidence *evidence = *state;
    char text[1024] = "Port               Mode Oper(VL bmap)  RxPPP      TxPPP\n";
    char port[32];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "Ethernet1/%zu        Auto %s   7  5\n", i + 1,
                 rows[i].map);
    take(evidence, "leaf0", "pfc.txt", text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(port, sizeof port, "Ethernet1/%zu", i + 1);
        assert_int_equal(value_of(evidence, "leaf0", port, 0xff, EVIDENCE_PORT_TX_PAUSE_FRAMES)->last, 5);
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
            const struct evidence_value *on = value_of(evidence, "leaf0", port, p, EVIDENCE_PFC_ON);
            assert_int_equal(on != NULL, rows[i].bits >= 0);
            if (on) assert_int_equal(on->last, rows[i].bits >> p & 1);
        }
    }
}

/* "pg_status" is an object by group; a list has no names. */
static void a_list_of_groups_has_no_names(void **state)
{
    struct evidence *evidence = *state;

    take(evidence, "h0", "trace_rank_3.json",
         "{\"pg_status\": [{\"last_enqueued_collective\": 9}], \"pg_config\": {\"0\": {\"desc\": \"all\"}}}");
    assert_int_equal(evidence->values, 0);
}

static void what_is_not_available_is_not_zero(void **state)
{
    struct evidence *evidence = *state;

    take(evidence, "leaf0", "queuing.txt",
         "Egress Queuing for Ethernet1/2 [System]\n"
         "|                QOS GROUP 3                |\n"
         "|           |  Unicast       |Multicast      |\n"
         "|   Tx Pkts |             N/A|            N/A|\n"
         "|   Tx Byts |            4000|              5|\n"
         "|   Dropped Pkts | - |\n");
    const struct evidence_value *bytes = value_of(evidence, "leaf0", "Ethernet1/2", 3, EVIDENCE_TX_BYTES);
    assert_non_null(bytes);
    assert_int_equal(bytes->last, 4005);
    assert_null(value_of(evidence, "leaf0", "Ethernet1/2", 3, EVIDENCE_TX_PACKETS));
    assert_null(value_of(evidence, "leaf0", "Ethernet1/2", 3, EVIDENCE_QUEUE_DROPS));
}

static void only_decimal_numbers_are_real(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } wrong[] = {{"-inf", 4}, {"+nan", 4},   {"-nan(1)", 7}, {"0x10", 4},  {"0x1p3", 5},
                 {"1\0", 2},  {"1\0002", 3}, {"\0001", 2},   {"1e999", 5}, {"1e", 2},
                 {"1 ", 2},   {"", 0},       {"+", 1},       {"e5", 2},    {"Infinity", 8}};
    static const struct {
        const char *text;
        double is;
    } right[] = {{"0", 0}, {"-1.5", -1.5}, {"1e-12", 1e-12}, {"+2E3", 2000}, {".5", 0.5}};
    double value = 7;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(json_text_real(wrong[i].text, wrong[i].length, &value));
        assert_true(value == 7);
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_true(json_text_real(right[i].text, strlen(right[i].text), &value));
        assert_true(value == right[i].is);
    }
}

/* Nobody says the device: it is called as the file is. */
static void a_missing_device_is_called_after_the_file(void **state)
{
    struct evidence *evidence = *state;

    take(evidence, NULL, "/some/where/show_c.txt", "RPKT.xe0\t:\t\t 17\t\t +17\nTPKT.xe0\t:\t\t 19\t\t +19\n");
    assert_int_equal(evidence->values, 2);
    assert_non_null(value_of(evidence, "show_c", "xe0", EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PACKETS));
    assert_true(remarked(evidence, "chip's names"));
    assert_false(remarked(evidence, "which device"));
}

static void chips_names_are_said_once(void **state)
{
    struct evidence *evidence = *state;

    take(evidence, "leaf0", "show_c.txt", "RPKT.xe0\t:\t\t 17\t\t +17\nTPKT.xe0\t:\t\t 19\t\t +19\n");
    assert_int_equal(evidence->values, 2);
    assert_int_equal(evidence->remarks, 1);
    assert_true(remarked(evidence, "chip's names"));
    assert_int_equal(evidence->remark[0].line, 1);
    assert_int_equal(evidence->remark[0].alike, 0);
}

/* One document a line, and documents of several lines one after another. */
static void lines_of_later_documents_are_right(void **state)
{
    struct evidence *evidence = *state;
    const struct evidence_value *value;

    take(evidence, "h0", "rdma.json",
         "{\"ifname\": \"mlx5_0\", \"port\": 1, \"out_of_sequence\": 3}\n"
         "\n"
         "{\"ifname\": \"mlx5_1\", \"port\": 1, \"out_of_sequence\": 4}\n");
    value = value_of(evidence, "h0", "mlx5_1", EVIDENCE_NO_PRIORITY, EVIDENCE_OUT_OF_SEQUENCE);
    assert_non_null(value);
    assert_int_equal(value->last, 4);
    assert_int_equal(value->line, 3);
}

/* Lines one after another are one place; blank ones, rules and comments are none. */
static void lines_that_nobody_takes_are_kept(void **state)
{
    struct evidence *evidence = *state;

    take(evidence, "leaf0", "pfc.txt",
         "what is this\n"
         "\n"
         "and this\n"
         "  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n"
         "---------  ------  ------  ------  ------  ------  ------  ------  ------\n"
         "Ethernet0       0       0       0      12       3       0       0       0\n"
         "  Total entries displayed: 7\n"
         "an unknown row\n"
         "========\n"
         "# a comment\n"
         "Ethernet4       0       0       0      12       3       0       0       0\n"
         "another\n");
    assert_int_equal(evidence->unknowns, 3);
    assert_int_equal(evidence->lines_taken, 4);
    assert_int_equal(evidence->lines_unknown, 4);
    assert_string_equal(evidence->unknown[0].text, "what is this");
    assert_int_equal(evidence->unknown[0].line, 1);
    assert_int_equal(evidence->unknown[0].lines, 2);
    assert_null(evidence->unknown[0].reader);
    assert_int_equal(evidence->unknown[1].line, 8);
    assert_int_equal(evidence->unknown[1].lines, 1);
    assert_string_equal(evidence->unknown[1].reader, "sonic-pfc");
    assert_int_equal(evidence->unknown[2].line, 12);
}

static void lines_that_nobody_takes_are_bounded(void **state)
{
    struct evidence *evidence = *state;
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    fputs("IFACE STATE RX_OK RX_ERR\n", to);
    for (int i = 0; i < 3000; i++)
        fprintf(to, "what\nEthernet%d U 5 0\n", i);
    fclose(to);
    take(evidence, "leaf0", "counters.txt", text);
    free(text);
    assert_int_equal(evidence->unknowns + evidence->unknowns_left_out, 3000);
    assert_true(evidence->unknowns <= 1000);
    assert_int_equal(evidence->lines_unknown, 3000);
}

static void a_link_goes_down_every_second_transition(void **state)
{
    struct evidence *evidence = *state;
    const struct evidence_value *value;

    take(evidence, NULL, "gnmi.prom",
         "interfaces_interface_state_counters_carrier_transitions{source=\"leaf0:57400\",interface_name=\"Ethernet4\"} "
         "7\n");
    value = value_of(evidence, "leaf0", "Ethernet4", EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_DOWN);
    assert_non_null(value);
    assert_int_equal(value->last, 4); /* the last of seven left it down */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(maps_of_priorities, begin, end),
        cmocka_unit_test_setup_teardown(a_list_of_groups_has_no_names, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_available_is_not_zero, begin, end),
        cmocka_unit_test(only_decimal_numbers_are_real),
        cmocka_unit_test_setup_teardown(a_missing_device_is_called_after_the_file, begin, end),
        cmocka_unit_test_setup_teardown(chips_names_are_said_once, begin, end),
        cmocka_unit_test_setup_teardown(lines_of_later_documents_are_right, begin, end),
        cmocka_unit_test_setup_teardown(lines_that_nobody_takes_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(lines_that_nobody_takes_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(a_link_goes_down_every_second_transition, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
