/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults out of the file: what each word becomes, repetitions, and the sentence for each mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/switches.h"
#include "load/load.h"
#include "support.h"

#define GOOD "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\nlinks: {host: {rate: 100G}}\n"

static void test_words(void **state)
{
    struct fabric *fabric =
        must_load("f.yaml", GOOD "converge: {detect: 3us, step: 1us}\n"
                                 "switches: {raise: bounce, drop-unknown-lossless: true}\n"
                                 "faults:\n"
                                 "  - {flap: leaf0:2, at: 1ms, every: 10ms, down: 2ms, times: 3}\n"
                                 "  - {lanes: leaf0:3, lost: 1, of: 8}\n"
                                 "  - {corrupt: h1, ber: 0.25}\n"
                                 "  - {reset: leaf1, at: 5us, for: 60ms}\n"
                                 "  - {drain: spine1, at: 1ms, for: 2ms, ahead: 300us}\n"
                                 "  - {withdraw: spine0:1, at: 2us}\n"
                                 "  - {misroute: leaf0:2, to: h3}\n"
                                 "  - {flood: h2}\n"
                                 "  - {receive: h0, rate: 40G, at: 1us, for: 2us, every: 5us, times: 2}\n"
                                 "  - {hot-optics: leaf0:3, temperature: 82C, pre-fec-ber: 0.25, ber: 0.125}\n"
                                 "  - {slow-gpu: h1, factor: 1.25, at: 3us}\n");
    const struct fabric_fault *fault = fabric->fault;

    (void)state;
    assert_int_equal(fabric->faults, 15);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(fault[i].kind, FABRIC_FAULT_DOWN);
        assert_string_equal(fault[i].word, "flap");
        assert_int_equal(fault[i].at, PS_MS + i * 10 * PS_MS);
        assert_int_equal(fault[i].lasts_ps, 2 * PS_MS);
    }
    assert_int_equal(fault[3].kind, FABRIC_FAULT_SLOW);
    assert_int_equal(fault[3].ppm, 875000);
    assert_int_equal(fault[4].ber, UINT64_C(1) << 62);
    assert_int_equal(fault[5].kind, FABRIC_FAULT_DOWN);
    assert_int_equal(fault[5].port, FABRIC_NONE);
    assert_int_equal(fault[6].kind, FABRIC_FAULT_DOWN);
    assert_int_equal(fault[6].at, PS_MS + 300 * PS_US);
    assert_int_equal(fault[6].lasts_ps, 2 * PS_MS);
    assert_int_equal(fault[7].kind, FABRIC_FAULT_WITHDRAW);
    assert_int_equal(fault[7].at, PS_MS);
    assert_int_equal(fault[7].lasts_ps, 2 * PS_MS + 300 * PS_US);
    assert_int_equal(fault[8].kind, FABRIC_FAULT_WITHDRAW);
    assert_int_equal(fault[9].kind, FABRIC_FAULT_MISROUTE);
    assert_int_equal(fault[9].to, 3);
    assert_int_equal(fault[9].to_count, 1);
    assert_int_equal(fault[10].kind, FABRIC_FAULT_FLOOD);
    assert_int_equal(fault[11].rate_bps, 40000000000u);
    assert_int_equal(fault[12].at, 6 * PS_US);
    assert_int_equal(fault[13].kind, FABRIC_FAULT_HOT_OPTICS);
    assert_int_equal(fault[13].celsius, 82);
    assert_int_equal(fault[13].pre_fec_ber, UINT64_C(1) << 62);
    assert_int_equal(fault[13].ber, UINT64_C(1) << 61);
    assert_int_equal(fault[14].kind, FABRIC_FAULT_SLOW_GPU);
    assert_int_equal(fault[14].gpu, 1);
    assert_int_equal(fault[14].gpus, 1);
    assert_int_equal(fault[14].factor_milli, 1250);
    assert_int_equal(fabric->slow_gpus, 1);
    assert_true(fabric->converge.on);
    assert_int_equal(fabric->converge.detect_ps, 3 * PS_US);
    assert_int_equal(fabric->converge.step_ps, PS_US);
    assert_true(fabric->sw[0].raise_bounce && fabric->sw[3].drop_unknown);
    fabric_free(fabric);
    fabric = must_load("f.yaml", GOOD "converge: true\n");
    assert_int_equal(fabric->converge.detect_ps, PS_MS);
    fabric_free(fabric);
    fabric = must_load("f.yaml", GOOD);
    assert_false(fabric->converge.on);
    fabric_free(fabric);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *fault, *said;
    } wrong[] = {
        {"{down: leaf9:1}", "5:12: error: down: nothing is named 'leaf9:1'; did you mean 'leaf0:1'?"},
        {"{down: leaf0:9}", "5:12: error: down: there is no cabled port 'leaf0:9': leaf0 has ports 0 to 3"},
        {"{down: spin1}", "5:12: error: down: nothing is named 'spin1'; did you mean 'spine1'?"},
        {"{flap: leaf0, every: 1ms, down: 1us, times: 2}",
         "5:12: error: flap: a link is expected, named by one of its ports, as in leaf0:3"},
        {"{flap: leaf0:1, down: 1us, times: 2}",
         "5:5: error: flap needs every, as in {flap: leaf0:3, every: 10ms, down: 1ms, times: 5}"},
        {"{flap: leaf0:1, every: 1us, down: 1us, times: 2}",
         "5:28: error: flap: it lasts longer than the time from one to the next"},
        {"{flap: leaf0:1, every: 1ms, down: 1us}",
         "5:21: error: flap needs times, the number of repetitions, with every"},
        {"{down: leaf0:1, for: 1us, times: 2}",
         "5:31: error: down needs every, the time from one to the next, with times"},
        {"{down: leaf0:1, every: 1ms, times: 2}", "5:21: error: down needs for, how long it lasts, with every"},
        {"{reset: leaf0}", "5:5: error: reset needs for, as in {reset: leaf0, at: 1ms, for: 60ms}"},
        {"{reset: h0, for: 1ms}", "5:13: error: reset: a switch is expected, as in leaf0"},
        {"{drain: leaf0, for: 1ms}", "5:5: error: drain: routes do not move without 'converge: true' at the top level"},
        {"{lanes: leaf0:1, lost: 4}", "5:28: error: lanes: all 4 are lost: write {down: leaf0:3}"},
        {"{corrupt: h0, ber: 2}", "5:24: error: ber: '2' is no bit error rate, as in 1e-9 (1e-18 to 0.5)"},
        {"{corrupt: h0, ber: 1e-9, share: 1%}", "5:19: error: corrupt: share (of frames) or ber (of bits), not both"},
        {"{flood: leaf0}", "5:13: error: flood: a host or a port of one is expected, as in h0 or h0:1"},
        {"{receive: h0}", "5:5: error: receive needs a rate, as in {receive: h0, rate: 50G}"},
        {"{misroute: leaf0:2}", "5:5: error: misroute needs to, as in {misroute: leaf0:8, to: h5}"},
        {"{misroute: leaf0:2, to: h9}", "5:29: error: to: nothing is named 'h9'; did you mean 'h0'?"},
        {"{misroute: h0:0, to: h1}", "5:16: error: misroute: a port of a switch is expected, as in leaf0:8"},
        {"{hot-optics: leaf0:1}",
         "5:5: error: hot-optics needs a temperature, as in {hot-optics: leaf0:3, temperature: 78C}"},
        {"{hot-optics: leaf0, temperature: 78C}",
         "5:18: error: hot-optics: a link is expected, named by one of its ports, as in leaf0:3"},
        {"{hot-optics: leaf0:1, temperature: 78}",
         "5:40: error: temperature: '78': degrees Celsius are expected, as in 78C (1C to 150C)"},
        {"{hot-optics: leaf0:1, temperature: 60C, ber: 1e-9}",
         "5:40: error: hot-optics: an optic bears 60C: bits go wrong above 70C alone"},
        {"{slow-gpu: h0}", "5:5: error: slow-gpu needs a factor, as in {slow-gpu: h0:2, factor: 1.5}"},
        {"{slow-gpu: h0:3, factor: 2}", "5:16: error: 'h0:3': host 'h0' has GPUs 0 to 0"},
        {"{slow-gpu: leaf0, factor: 2}",
         "5:16: error: 'leaf0' is a switch; a host or a GPU, as in h0 or h0:2, is expected"},
        {"{slow-gpu: h0, factor: 0.5}",
         "5:28: error: factor: '0.5': how many times as long compute takes, as in 1.5 (1 to 1000)"},
        {"{loss: h0, share: 1%}", "5:5: error: a fault 'loss' is called corrupt, as in: corrupt leaf0:0 share 1%"},
        {"{pause: h0, rate: 1G}", "5:17: error: rate means nothing to pause"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        char text[600], said[400];

        snprintf(text, sizeof(text), "%sfaults:\n  - %s\n", GOOD, wrong[i].fault);
        if (fabric_load("f.yaml", text, &fabric, &errors) == 0) fail_msg("%s: taken for right", wrong[i].fault);
        snprintf(said, sizeof(said), "%u:%u: error: %s", errors.error[0].at.line, errors.error[0].at.column,
                 errors.error[0].text);
        if (errors.count != 1 || strcmp(said, wrong[i].said) != 0)
            fail_msg("%s: %u errors, '%s' instead of '%s'", wrong[i].fault, errors.count, said, wrong[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_sentences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
