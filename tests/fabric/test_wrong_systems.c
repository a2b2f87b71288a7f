/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with settings of another system than theirs, or wrong ones of their own: with the exact sentence and place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include <errno.h>

#include "fabric/fabric.h"
#include "load/load.h"

#define GOOD "rocelab: 1\ntopology: {single: {hosts: 4}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"

static const struct {
    const char *name, *text, *expected;
} wrong[] = {
    {"uet of another", GOOD "uet: {cc: nscc}\n",
     "f.yaml:4:1: error: 'uet' belongs to Ultra Ethernet; RoCEv2 has 'congestion', 'recovery' and 'timeout' under "
     "'nics'\n"},
    {"uet paths", GOOD "system: uet\nuet: {paths: 63}\n",
     "f.yaml:5:14: error: paths: 63 is no power of two; write 64 or 128\n"},
    {"uet word", GOOD "system: uet\nuet: {cc: nsc}\n", "f.yaml:5:11: error: cc: unknown 'nsc'; did you mean 'nscc'?\n"},
    {"uet class", GOOD "system: uet\nuet: {control-class: cpn}\n",
     "f.yaml:5:22: error: no class is named 'cpn'; did you mean 'cnp'?\n"},
    {"uet model", GOOD "model: uet-htsim\n",
     "f.yaml:4:8: error: model 'uet-htsim' is of Ultra Ethernet; this file is of system 'rocev2'\n"},
    {"system word", GOOD "system: rocev3\n", "f.yaml:4:9: error: system: unknown 'rocev3'; did you mean 'rocev2'?\n"},
    {"system and model", GOOD "system: rocev1\nmodel: hpcc-ns3\n",
     "f.yaml:5:8: error: model 'hpcc-ns3' is of RoCEv2; this file is of system 'rocev1'\n"},
    {"model of TCP", GOOD "model: ns3-tcp\n",
     "f.yaml:4:8: error: model 'ns3-tcp' is of TCP; this file is of system 'rocev2'\n"},
    {"keys of TCP under RoCEv2", GOOD "nics: {tcp: {cc: cubic}}\n",
     "f.yaml:4:8: error: 'tcp' belongs to TCP and iWARP; RoCEv2 has 'congestion', 'recovery' and 'timeout'\n"},
    {"congestion of TCP", GOOD "system: tcp\nnics: {congestion: dcqcn/connectx}\n",
     "f.yaml:5:8: error: 'congestion' belongs to RoCE and InfiniBand; TCP has its own under 'tcp'\n"},
    {"word of TCP", GOOD "system: tcp\nnics: {tcp: {cc: cubik}}\n",
     "f.yaml:5:18: error: cc: unknown 'cubik'; did you mean 'cubic'?\n"},
    {"timers of TCP", GOOD "system: tcp\nnics: {tcp: {rto-min: 2s, rto-max: 1s}}\n",
     "f.yaml:5:13: error: tcp: rto-min is above rto-max\n"},
    {"cores of iWARP", GOOD "system: iwarp\nnics: {tcp: {cores: 4}}\n",
     "f.yaml:5:14: error: 'cores' belongs to TCP; iWARP keeps no core busy: its adapter does the work\n"},
    {"markers of TCP", GOOD "system: tcp\nnics: {tcp: {markers: true}}\n",
     "f.yaml:5:14: error: 'markers' belongs to iWARP; TCP has streams without frames in them\n"},
    {"cores of RoCE", GOOD "nics: {cores: 4}\n",
     "f.yaml:4:8: error: unknown key 'cores' in nics; known are mtu, congestion, ack, timeout, retry, rnr-retry, "
     "rnr-timer, recovery, reorder, max-read, window, window-packets, latency, receive, pcie, software, ...\n"},
    {"lossless TCP", GOOD "system: tcp\nclasses: [{name: a, priority: 0, lossless: true}]\n",
     "f.yaml:5:34: error: 'lossless' needs pauses or credits, and TCP has neither\n"},
    {"reassembly of aligned FPDUs", GOOD "system: iwarp\nnics: {tcp: {reassembly: 1MB}}\n",
     "f.yaml:5:14: error: tcp: reassembly is of 'placement: in-order'; aligned segments are not kept\n"},
    {"no such number of lanes", GOOD "system: infiniband\nvls: 9\n",
     "f.yaml:5:6: error: vls: 9 is too large, the most is 8\n"},
    {"a class in a lane that does not exist", GOOD "system: infiniband\nvls: 2\nsl-to-vl: [0, 1, 2, 3, 0, 0, 0, 0]\n",
     "f.yaml:6:11: error: VL 2 does not exist: with 'vls: 2' there are VL 0 to 1\n"},
    {"too few service levels", GOOD "system: infiniband\nsl-to-vl: [0, 1]\n",
     "f.yaml:5:11: error: sl-to-vl has 2 lanes; it needs 8, one for each service level 0 to 7\n"},
    {"arbitration of a lane that does not exist",
     GOOD "system: infiniband\nvl-arbitration: {low: [\"0:4\", \"1:4\", \"5:3\"]}\n",
     "f.yaml:5:17: error: VL 5 does not exist: with 'vls: 2' there are VL 0 to 1\n"},
    {"a lane that is never served", GOOD "system: infiniband\nvl-arbitration: {low: [\"0:4\", \"1:0\"]}\n",
     "f.yaml:5:17: error: vl-arbitration: VL 1 has no weight in either table, so nothing of it would be sent: add "
     "'1:64'\n"},
    {"no entry of arbitration", GOOD "system: infiniband\nvl-arbitration: {high: [4]}\n",
     "f.yaml:5:25: error: vl-arbitration: '4' is not VL:WEIGHT, as in 0:64 (VL 0 to 7, weight 0 to 255)\n"},
    {"no credits", GOOD "system: infiniband\ncredits: 0B\n",
     "f.yaml:5:10: error: credits: 0 bytes are 0 blocks of 64, and the largest packet needs 65: give at least 4160 "
     "bytes\n"},
    {"more credits than a word can tell", GOOD "system: infiniband\ncredits: {switch: 256KiB}\n",
     "f.yaml:5:10: error: credits: 262144 bytes are 4096 blocks of 64, and a lane can promise 2048: give at most "
     "131072 bytes\n"},
    {"credits below a packet", GOOD "system: infiniband\ncredits: {nic: 2KB}\n",
     "f.yaml:5:10: error: credits: 2000 bytes are 31 blocks of 64, and the largest packet needs 65: give at least 4160 "
     "bytes\n"},
    {"pauses of InfiniBand", GOOD "system: infiniband\nswitches: {pfc: true}\n",
     "f.yaml:5:12: error: 'pfc' belongs to RoCE; InfiniBand has credits\n"},
    {"routing of InfiniBand", GOOD "system: infiniband\nconverge: true\n",
     "f.yaml:5:1: error: 'converge' belongs to systems over Ethernet; InfiniBand has a subnet manager: 'sm'\n"},
    {"link-level retry of InfiniBand", GOOD "system: infiniband\nllr: true\n",
     "f.yaml:5:1: error: 'llr' belongs to systems over Ethernet; InfiniBand has retries of its own, which are not "
     "modelled\n"},
    {"a replay buffer without room", GOOD "llr: {buffer: 2KB}\n",
     "f.yaml:4:6: error: llr: a buffer of 2KB has no room for a frame of 4.3KB\n"},
    {"a replay timer without a unit", GOOD "llr: {timer: 10}\n",
     "f.yaml:4:14: error: timer '10': a bare number: write a unit, as in 2us\n"},
    {"credits on the links of TCP", GOOD "system: tcp\ncbfc: true\n",
     "f.yaml:5:1: error: 'cbfc' belongs to RoCE and Ultra Ethernet; TCP has no credits\n"},
    {"credits on the links of InfiniBand", GOOD "system: infiniband\ncbfc: true\n",
     "f.yaml:5:1: error: 'cbfc' belongs to RoCE and Ultra Ethernet; InfiniBand has 'credits'\n"},
    {"pauses beside credits", GOOD "cbfc: true\nswitches: {watchdog: {poll: 1ms}}\n",
     "f.yaml:5:12: error: 'watchdog' cannot be had on links with 'cbfc', which have credits\n"},
    {"a channel below a packet", GOOD "cbfc: 2KB\n",
     "f.yaml:4:7: error: cbfc: 2000 bytes are 15 blocks of 128, and the largest packet needs 33: give at least 4224 "
     "bytes\n"},
    {"a credit of no power of two", GOOD "cbfc: {credit: 100B}\n",
     "f.yaml:4:16: error: credit: 100 bytes are no power of two; write 128B\n"},
    {"credits of RoCE", GOOD "credits: 64KiB\n",
     "f.yaml:4:1: error: 'credits' belongs to InfiniBand; RoCEv2 has 'pfc'\n"},
    {"marks of RoCEv1", GOOD "system: rocev1\nroles: {leaf: {classes: {rdma: {ecn: {min: 1KB, max: 2KB}}}}}\n",
     "f.yaml:5:33: error: 'ecn' belongs to systems over IP; RoCEv1 has no ECN field that a switch marks\n"},
    {"marks of a class of RoCEv1",
     GOOD "system: rocev1\nclasses: [{name: rdma, priority: 3, ecn: {min: 1KB, max: 2KB}}]\n",
     "f.yaml:5:37: error: 'ecn' belongs to systems over IP; RoCEv1 has no ECN field that a switch marks\n"},
    {"DCQCN on InfiniBand", GOOD "system: infiniband\nnics: {congestion: {use: dcqcn/paper}}\n",
     "f.yaml:5:8: error: 'congestion: dcqcn' belongs to RoCEv2; InfiniBand has its own default: none, or "
     "ibcc/default\n"},
    {"DCQCN on RoCEv1", GOOD "system: rocev1\nnics: {congestion: dcqcn/paper}\n",
     "f.yaml:5:8: error: 'congestion: dcqcn' belongs to RoCEv2; RoCEv1 has its own default: none, for nothing is "
     "marked\n"},
    {"DSCPs on InfiniBand", GOOD "system: infiniband\ndevices: {leaf0: {dscp-map: {26: 0}}}\n",
     "f.yaml:5:19: error: 'dscp-map' belongs to systems over Ethernet; InfiniBand has service levels: 'sl-to-vl'\n"},
    {"classes that are raised on InfiniBand", GOOD "system: infiniband\nswitches: {raise: bounce}\n",
     "f.yaml:5:12: error: 'raise' belongs to systems over Ethernet; InfiniBand keeps a packet on its lane, in a shared "
     "buffer\n"},
    {"a flood that InfiniBand does not know", GOOD "system: infiniband\nfaults: [{flood: h0, at: 1us}]\n",
     "f.yaml:5:11: error: 'flood' belongs to systems over Ethernet; InfiniBand routes by LID, and floods nothing\n"},
    {"a wrong route that InfiniBand does not know",
     GOOD "system: infiniband\nfaults: [{at: 1us, misroute: 'leaf0:0', "
          "to: h1}]\n",
     "f.yaml:5:20: error: 'misroute' belongs to systems over Ethernet; InfiniBand has a subnet manager: 'sm'\n"},
    {"a pause that InfiniBand does not know", GOOD "system: infiniband\nfaults: [{pause: h0, at: 1us}]\n",
     "f.yaml:5:11: error: 'pause' belongs to RoCE; InfiniBand has credits\n"},
    {"notifications of RoCEv1", GOOD "system: rocev1\nnics: {cnp-class: cnp}\n",
     "f.yaml:5:8: error: 'cnp-class' belongs to RoCEv2; RoCEv1 has no marks, so nobody is notified\n"},
};

static void test_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        char *text = NULL;
        size_t length = 0;
        FILE *to = open_memstream(&text, &length);

        assert_non_null(to);
        assert_int_equal(fabric_load("f.yaml", wrong[i].text, &fabric, &errors), -EINVAL);
        fabric_errors_print(&errors, to);
        fclose(to);
        if (strcmp(text, wrong[i].expected) != 0)
            fail_msg("%s:\n%sbut due is\n%s", wrong[i].name, text, wrong[i].expected);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentences)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
