/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule: a fabric that violates it alone, caught at the line at fault, beside a fabric in which nothing is wrong.
 *
 * A case is an edit of the fabric of base.c; undone, it is the mended twin.  Rules that a fabric file cannot violate
 * are given a note, as an importer gives it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"

#include "fabric/words.h"

struct edit {
    const char *from, *to; /* from NULL: appended */
};

struct rule_case {
    const char *rule;
    enum check_severity severity;
    struct edit edit[4];
    const char *line; /* of which the line at fault has this text */
    const char *says; /* in the message */
};

#define DEVICES(text)                                                                                                  \
    {                                                                                                                  \
        NULL, "devices:\n" text                                                                                        \
    }
static const struct rule_case cases[] = {
    {"PFC001", CHECK_ERROR, {DEVICES("  leaf0: {ports: {2: {pfc: false}}}\n")}, "pfc: false", "leaf0:2"},
    {"PFC002",
     CHECK_ERROR,
     {DEVICES("  leaf0: {ports: {2: {pfc: false}}}\n"), {NULL, "  spine0: {ports: {0: {pfc: false}}}\n"}},
     "leaf0:",
     "spine0:0"},
    {"PFC003",
     CHECK_INFO,
     {{"priority: 0, share: 10%", "priority: 0, share: 10%}\n  - {name: rdma2, dscp: 27, priority: 4, lossless: true, "
                                  "ecn: {min: 500KB, max: 1500KB}, share: 40%"},
      {"share: 90%", "share: 50%"}},
     "name: rdma2",
     "2 lossless"},
    {"PFC004", CHECK_ERROR, {DEVICES("  leaf0: {dscp-map: {56: 3}}\n")}, "56: 3", "DSCP 56"},
    {"PFC004", CHECK_ERROR, {DEVICES("  h1: {dscp-map: {0: 3}}\n")}, "0: 3", "h1:0 puts DSCP 0"},
    {"PFC005", CHECK_ERROR, {DEVICES("  leaf0: {ports: {1: {pause: 802.3x}}}\n")}, "802.3x", "leaf0:1"},
    {"PFC006", CHECK_WARNING, {DEVICES("  spine1: {pfc-mode: auto}\n")}, "pfc-mode: auto", "spine1:0"},
    {"PFC007",
     CHECK_ERROR,
     {{"priority: 0, share: 10%", "priority: 0, share: 10%}\n  - {name: rdma2, dscp: 27, priority: 4, lossless: true, "
                                  "ecn: {min: 500KB, max: 1500KB}, share: 40%"},
      {"share: 90%", "share: 50%"},
      DEVICES("  leaf0: {ports: {0: {dscp-map: {26: 4}}}}\n"),
      {NULL, "check: {ignore: [{rule: PFC003, reason: two on purpose}]}\n"}},
     "26: 4",
     "pauses priority 4"},
    {"PFC007",
     CHECK_ERROR,
     {{"dscp: 26", "dscp: [26, 30]"},
      {"priority: 0, share: 10%", "priority: 0, share: 10%}\n  - {name: rdma2, dscp: 27, priority: 4, lossless: true, "
                                  "ecn: {min: 500KB, max: 1500KB}, share: 40%"},
      {"share: 90%", "share: 50%"},
      {NULL, "devices:\n  leaf0: {ports: {0: {dscp-map: {30: 4}}}}\n"
             "check: {ignore: [{rule: PFC003, reason: two on purpose}]}\n"}},
     "30: 4",
     "DSCP 30"},
    {"PFC008",
     CHECK_INFO,
     {{"  leaf-spine: {leaves: 2, spines: 2, hosts: 2}\n",
       "  links:\n    hosts: 2\n    leaves: 1\n    links:\n      - [h0, leaf0:0]\n      - [h1, leaf0:2]\n"},
      DEVICES("  leaf0: {ports: {1: {pfc: [3]}}}\n")},
     "pfc: [3]",
     "leaf0:1"},
    {"PFC009",
     CHECK_WARNING,
     {DEVICES("  leaf0: {ports: {0: {pfc: {rx: false, tx: [3]}}}}\n")},
     "rx: false",
     "leaf0:0"},
    {"WD001",
     CHECK_ERROR,
     {{"  watchdog: {poll: 100ms, detect: 200ms, restore: 200ms, action: drop}\n", "  watchdog: false\n"}},
     "watchdog: false",
     "leaf0"},
    {"WD001", CHECK_ERROR, {DEVICES("  leaf1: {ports: {2: {watched: false}}}\n")}, "watched: false", "leaf1:2"},
    {"WD002", CHECK_ERROR, {{"detect: 200ms, restore: 200ms", "detect: 50ms, restore: 200ms"}}, "detect: 50ms", "50ms"},
    {"WD002", CHECK_ERROR, {{"detect: 200ms, restore: 200ms", "detect: 200ms, restore: 70s"}}, "restore: 70s", "SONiC"},
    {"WD002", CHECK_ERROR, {{"nos: sonic", "nos: eos"}, {"poll: 100ms", "poll: 150ms"}}, "poll: 150ms", "EOS"},
    {"WD003", CHECK_WARNING, {{"restore: 200ms", "restore: 100ms"}}, "restore: 100ms", "sooner"},
    {"WD003", CHECK_WARNING, {DEVICES("  leaf1: {watchdog: {restore: 300ms}}\n")}, "restore: 300ms", "leaf0"},
    {"WD004", CHECK_WARNING, {DEVICES("  leaf1: {ports: {2: {watched: [4]}}}\n")}, "watched: [4]", "looks at 4"},
    {"WD004", CHECK_INFO, {DEVICES("  leaf1: {ports: {2: {watched: [3, 4]}}}\n")}, "watched: [3, 4]", "3, 4"},
    {"WD005",
     CHECK_INFO, /* its default */
     {{"action: drop", "action: shutdown"}, {"nos: sonic", "nos: eos"}},
     "action: shutdown",
     "leaf0"},
    {"WD005", CHECK_WARNING, {{"action: drop", "action: shutdown"}}, "action: shutdown", "leaf0"},
    {"WD007", CHECK_INFO, {{"detect: 200ms, restore: 200ms", "detect: 3s, restore: 3s"}}, "detect: 3s", "3.1s"},
    {"HR001",
     CHECK_ERROR,
     {DEVICES("  leaf0: {ports: {2: {classes: {rdma: {headroom: 40KB}}}}}\n")},
     "headroom: 40KB",
     "leaf0:2"},
    {"HR002",
     CHECK_INFO,
     {{"  fabric: {rate: 100G, cable: 30m}", "  fabric: {rate: 100G}"}},
     "  fabric: {rate: 100G}",
     "30m"},
    {"HR002", CHECK_ERROR, {DEVICES("  leaf0: {ports: {2: {headroom-cable: 5m}}}\n")}, "headroom-cable: 5m", "30m"},
    {"HR003",
     CHECK_ERROR,
     {DEVICES("  leaf0: {buffer: 720KB}\n"),
      {"min: 500KB, max: 1500KB", "min: 100KB, max: 101KB"},
      {"rdma, dscp: 26, ", "rdma, xoff: 2MB, dscp: 26, "}},
     "buffer: 720KB",
     "leaf0"},
    {"HR003", CHECK_ERROR, {DEVICES("  leaf0: {headroom-pool: 100KB}\n")}, "headroom-pool: 100KB", "one port"},
    {"HR003",
     CHECK_ERROR,
     {{"model: tomahawk5", "model: tomahawk5\n  buffer: 500MB"}},
     "buffer: 500MB",
     "its chip (tomahawk5)"},
    {"HR004",
     CHECK_WARNING,
     {DEVICES("  leaf0: {ports: {0: {cable: 1m}, 1: {cable: 300m}, 0-1: {classes: {rdma: {headroom: 300KB}}}}}\n"),
      {"cable: 1m}, 1: {cable: 300m}, 0-1: {classes: {rdma: {headroom: 300KB}}}",
       "cable: 1m, classes: {rdma: {headroom: 301KB}}}, 1: {cable: 300m, classes: {rdma: {headroom: 300KB}}}"},
      {NULL, "  h1: {cable-length: 300m}\n"}},
     "headroom: 300KB",
     "leaf0:1"},
    {"HR006", CHECK_INFO, {DEVICES("  spine0: {classes: {rdma: {xon: 1KB}}}\n")}, "xon: 1KB", "1KB"},
    {"HR006", CHECK_WARNING, {DEVICES("  spine0: {pause-quanta: 200}\n")}, "pause-quanta: 200", "use 291 or more"},
    {"HR007",
     CHECK_ERROR,
     {DEVICES("  leaf0: {ports: {0: {classes: {default: {headroom: 100KB}}}}}\n")},
     "headroom: 100KB",
     "lossy"},
    {"HR007",
     CHECK_ERROR,
     {DEVICES("  leaf0: {classes: {rdma: {lossless: false}}, pfc: [3]}\n")},
     "pfc: [3]",
     "priority 3"},
    {"HR008",
     CHECK_WARNING,
     {{"host: {rate: 100G, cable: 3m}", "host: {rate: 100G, cable: 20m}"}},
     "nics:",
     "assumes 7m"},
    {"HR009", CHECK_ERROR, {DEVICES("  leaf0: {ports: {1: {headroom-mtu: 1500}}}\n")}, "headroom-mtu: 1500", "9216"},
    {"BUF001",
     CHECK_WARNING,
     {DEVICES("  leaf0: {ports: {0: {classes: {rdma: {reserved: 120MB}}}}}\n")},
     "reserved: 120MB",
     "all ports share"},
    {"BUF001",
     CHECK_WARNING,
     {{"rdma, dscp: 26, ", "rdma, xoff: 17KB, dscp: 26, "},
      {"min: 500KB, max: 1500KB", "min: 60KB, max: 61KB"},
      {NULL, "check: {ignore: [{rule: ECN003, reason: not at issue here}, {rule: ECN005, reason: nor this}]}\n"}},
     "xoff: 17KB",
     "two frames"},
    {"BUF002", CHECK_ERROR, {DEVICES("  leaf0: {classes: {rdma: {limit: 2MB}}}\n")}, "limit: 2MB", "leaf0:0"},
    {"ECN001",
     CHECK_ERROR,
     {{"roles:\n", "roles:\n  spine: {classes: {rdma: {ecn: false}}}\n"}},
     "ecn: false",
     "spine0:0"},
    {"ECN002",
     CHECK_ERROR,
     {{"min: 500KB, max: 1500KB", "min: 1500KB, max: 1500KB"}},
     "min: 1500KB",
     "neither a curve"},
    {"ECN002", CHECK_ERROR, {{"probability: 10%", "probability: 0.01%"}}, "probability: 0.01%", "0.01%"},
    {"ECN003",
     CHECK_ERROR,
     {{"rdma, dscp: 26, ", "rdma, xoff: 300KB, dscp: 26, "}},
     "max: 1500KB",
     "before marking begins"},
    {"ECN003",
     CHECK_WARNING,
     {{"rdma, dscp: 26, ", "rdma, xoff: 1MB, dscp: 26, "}},
     "max: 1500KB",
     "before all is marked"},
    {"ECN004",
     CHECK_WARNING,
     {DEVICES("  leaf1: {classes: {rdma: {ecn: {min: 600KB, max: 1500KB}}}}\n")},
     "min: 600KB",
     "leaf0:0"},
    {"ECN005", CHECK_INFO, {{"min: 500KB, max: 1500KB", "min: 5KB, max: 1500KB"}}, "min: 5KB", "one hop"},
    {"MAP001", CHECK_ERROR, {DEVICES("  spine1: {dscp-map: {26: 0}}\n")}, "26: 0", "lossy"},
    {"MAP001", CHECK_ERROR, {DEVICES("  spine1: {queue-map: {1: 3}}\n")}, "queue-map", "queue 3"},
    {"MAP002", CHECK_ERROR, {DEVICES("  leaf1: {dscp-map: {10: 6}}\n")}, "10: 6", "DSCP 10"},
    {"MAP003", CHECK_ERROR, {DEVICES("  leaf1: {ports: {2: {trust: pcp}}}\n")}, "trust: pcp", "leaf1:2"},
    {"MAP005",
     CHECK_ERROR,
     {{"priority: 6, strict: true", "priority: 6, share: 10%"}, {"share: 90%", "share: 80%"}},
     "name: cnp",
     "not strict"},
    {"MAP006", CHECK_ERROR, {DEVICES("  leaf1: {dscp-map: {48: 0}}\n")}, "48: 0", "DSCP 48"},
    {"MAP006", CHECK_ERROR, {{"cnp-dscp: 48", "cnp-dscp: 46"}}, "cnp-dscp: 46", "DSCP 46"},
    {"MAP008",
     CHECK_WARNING,
     {{"priority: 0, share: 10%", "priority: 0, share: 10%}\n  - {name: voice, dscp: 46, priority: 5, strict: true"}},
     "name: voice",
     "voice"},
    {"SCH001", CHECK_WARNING, {{"priority: 0, share: 10%", "priority: 0, share: 5%"}}, "share: 90%", "95%"},
    {"SCH001",
     CHECK_INFO, /* the rest is shared by the rates */
     {{"priority: 0, share: 10%", "priority: 0, share: 5%"}, {"nos: sonic", "nos: junos"}},
     "share: 90%",
     "95%"},
    {"SCH001", CHECK_WARNING, {{"share: 90%", "share: 30%"}, {"share: 10%", "share: 70%"}}, "share: 30%", "40%"},
    {"SCH002", CHECK_WARNING, {{"share: 90%", "strict: true"}, {"share: 10%", "share: 100%"}}, "name: rdma", "'rdma'"},
    {"HOST001", CHECK_ERROR, {DEVICES("  h1: {trust: pcp}\n")}, "trust: pcp", "h1:0"},
    {"HOST001", CHECK_ERROR, {DEVICES("  h1: {pfc: false}\n")}, "pfc: false", "h1:0"},
    {"HOST001", CHECK_ERROR, {DEVICES("  h1: {dscp-map: {26: 0}}\n")}, "26: 0", "DSCP 26"},
    {"HOST001",
     CHECK_ERROR,
     {{"dscp: 26", "dscp: [26, 30]"}, DEVICES("  h1: {dscp-map: {30: 0}}\n")},
     "30: 0",
     "DSCP 30"},
    {"HOST002", CHECK_ERROR, {{"NCCL_IB_TC: 106", "NCCL_IB_TC: 96"}}, "NCCL_IB_TC: 96", "DSCP 24"},
    {"HOST002", CHECK_ERROR, {{"NCCL_IB_TC: 106, ", ""}}, "nccl:", "not set"},
    {"HOST003",
     CHECK_WARNING,
     {{"NCCL_IB_TC: 106", "NCCL_IB_GID_INDEX: 2, NCCL_IB_TC: 106"}},
     "GID_INDEX: 2",
     "RoCEv1"},
    {"HOST004", CHECK_ERROR, {DEVICES("  h2: {dcqcn: {rp: false}}\n")}, "rp: false", "h2:0"},
    {"HOST004", CHECK_ERROR, {DEVICES("  h2: {congestion: none}\n")}, "congestion: none", "h2:0"},
    {"HOST004", CHECK_ERROR, {{"mtu: 4096", "mtu: 4096\n  congestion: none"}}, "congestion: none", "'none'"},
    {"HOST005", CHECK_WARNING, {{"dcbx: {willing: false}", "dcbx: {willing: true}"}}, "willing: true", "peer"},
    {"HOST005",
     CHECK_WARNING,
     {{"dcbx: {willing: false}", "dcbx: {willing: false, mode: ieee}"}, DEVICES("  h2: {dcbx: {mode: cee}}\n")},
     "mode: cee",
     "most adapters have 'ieee'"},
    {"HOST006",
     CHECK_WARNING,
     {{"QPS_PER_CONNECTION: 4", "QPS_PER_CONNECTION: 1"}},
     "switches:",
     "1.50 times the mean"},
    {"HOST008",
     CHECK_WARNING,
     {{"  model: tomahawk5\n", "  model: tomahawk5\n  balance: adaptive\n"}},
     "balance: adaptive",
     "h0:0 takes what comes out of order for lost"},
    {"HOST008",
     CHECK_WARNING,
     {{"  model: tomahawk5\n", "  model: tomahawk5\n  balance: {use: flowlet, gap: 2us}\n"}},
     "balance: {use: flowlet, gap: 2us}",
     "short gap"},
    {"HOST008",
     CHECK_WARNING,
     {{"  mtu: 4096\n", "  mtu: 4096\n  reorder: true\n"},
      DEVICES("  leaf1: {balance: spray}\n  h3: {reorder: false}\n")},
     "balance: spray",
     "leaf1 sends packets of one flow by several ways (by spraying), and h3:0"},
    {"MTU001", CHECK_ERROR, {DEVICES("  leaf0: {ports: {3: {mtu: 9000}}}\n")}, "mtu: 9000", "spine1:0"},
    {"MTU001", CHECK_ERROR, {DEVICES("  leaf0: {ports: {0-1: {mtu: 4096}}}\n")}, "mtu: 4096", "4178"},
    {"TOP003", CHECK_ERROR, {DEVICES("  spine0: {forwarding: bridged}\n")}, "forwarding: bridged", "spine0"},
    {"TOP004",
     CHECK_WARNING,
     {{"nos: sonic", "nos: sonic\n  ecmp: {hash: [src, dst]}"},
      {"PER_CONNECTION: 4", "PER_CONNECTION: 4"},
      {"hosts: 2}", "hosts: 4, oversubscription: 1}"},
      {", oversubscription: 1", ", uplinks: 4"}},
     "hash: [src, dst]",
     "source port"},
    {"TOP004",
     CHECK_WARNING,
     {{"nos: sonic", "nos: sonic\n  ecmp: {seed: 7}"}, {"spines: 2, hosts: 2", "spines: 1, uplinks: 2, hosts: 2"}},
     "seed: 7",
     "leaf0"},
    {"TOP005", CHECK_WARNING, {DEVICES("  leaf0: {ports: {3: {rate: 200G}}}\n")}, "rate: 200G", "share traffic evenly"},
    {"TOP005", CHECK_WARNING, {{"hosts: 2}", "hosts: 3}"}}, "topology", "oversubscribed"},
    {"TOP005",
     CHECK_WARNING,
     {{"leaf-spine: {leaves: 2, spines: 2, hosts: 2}", "fat-tree: {k: 4}"},
      DEVICES("  core0: {ports: {0: {up: false}}}\n")},
     "topology",
     "spine0 has 200G to leaves and 100G up"},
    {"TOP006",
     CHECK_ERROR,
     {DEVICES("  leaf0: {ports: {2: {fec: rs}}}\n"), {NULL, "  spine0: {ports: {0: {fec: fc}}}\n"}},
     "fec: rs",
     "FEC"},
    {"TOP006", CHECK_WARNING, {DEVICES("  h1: {mtu: 1024}\n")}, "mtu: 1024", "h1:0"},
    {"CAB001",
     CHECK_WARNING,
     {{"spines: 2, hosts: 2", "spines: 4, hosts: 14, gpus: 8, uplinks: 112"}},
     "cable: 3m",
     "leaf0 has 14 hosts on 3m of copper, which reaches 12 of their size (3 racks)"},
    {"CRD001",
     CHECK_WARNING,
     {{"fabric: base\n", "fabric: base\nsystem: infiniband\ncredits: 8KB\n"},
      {"ecn: {min: 500KB, max: 1500KB, probability: 10%}, ", ""},
      {"  watchdog: {poll: 100ms, detect: 200ms, restore: 200ms, action: drop}\n", ""},
      {"  cnp-dscp: 48\n  dcqcn: {rp: true, np: true}\n", ""}},
     "credits: 8KB",
     "cannot fill the link"},
    {"TRM001",
     CHECK_ERROR,
     {{"fabric: base\n", "fabric: base\nsystem: uet\n"},
      {"lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, ",
       "trim: {bytes: 64, dscp: 26, last-hop-dscp: 26}, "},
      {"  watchdog: {poll: 100ms, detect: 200ms, restore: 200ms, action: drop}\n", ""},
      {"  cnp-dscp: 48\n  dcqcn: {rp: true, np: true}\n", ""}},
     "classes",
     "wait behind"},
    {"TRM001",
     CHECK_ERROR,
     {{"fabric: base\n", "fabric: base\nsystem: uet\n"},
      {"lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, ",
       "trim: {bytes: 64, dscp: 40, last-hop-dscp: 40}, "},
      {"  watchdog: {poll: 100ms, detect: 200ms, restore: 200ms, action: drop}\n", ""},
      {"  cnp-dscp: 48\n  dcqcn: {rp: true, np: true}\n", ""}},
     "classes",
     "no class has that"},
    {"SIB001",
     CHECK_WARNING,
     {{"spines: 2, hosts: 2", "spines: 4, hosts: 4"}, DEVICES("  leaf0: {ports: {0: {mtu: 6000}}}\n")},
     "mtu: 6000",
     "frames (6000 B)"},
    {"OPS001", CHECK_WARNING, {DEVICES("  leaf1: {installed: {nos: \"4.0\"}}\n")}, "installed", "4.1"},
};

/* The text of a line, from 1. */
static void line_of(const char *text, uint32_t line, char *buf, size_t size)
{
    while (--line && strchr(text, '\n'))
        text = strchr(text, '\n') + 1;
    snprintf(buf, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static void print_all(const struct checked *checked)
{
    for (uint32_t f = 0; f < checked->check.findings; f++) {
        const struct check_finding *finding = &checked->check.finding[f];
        if (!finding->ignored)
            print_message("  %u:%u %s %s\n", finding->line, finding->column, check_rules[finding->rule].id,
                          finding->message);
    }
}

static void test_nothing_is_wrong(void **state)
{
    struct checked checked;
    char why[300] = "";

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
    if (!base_check(&checked, 2, why, sizeof(why))) fail_msg("%s", why);
    print_all(&checked);
    assert_int_equal(checked.check.findings, 0);
    assert_true(checked.check.states > 8);
    base_release(&checked);
}

/* The same with RoCEv1: rules about marks, CNPs and source ports say nothing; a frame has twelve bytes more. */
static void test_other_systems_have_fewer_rules(void **state)
{
    static const struct edit edits[] = {{"fabric: base\n", "fabric: base\nsystem: rocev1\n"},
                                        {"ecn: {min: 500KB, max: 1500KB, probability: 10%}, ", ""},
                                        {"  cnp-dscp: 48\n  dcqcn: {rp: true, np: true}\n", ""}};
    struct checked checked;
    char why[300] = "";

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
    for (size_t e = 0; e < sizeof(edits) / sizeof(edits[0]); e++)
        assert_true(base_edit(checked.text, edits[e].from, edits[e].to));
    if (!base_check(&checked, 2, why, sizeof(why))) fail_msg("%s", why);
    print_all(&checked);
    assert_int_equal(checked.check.findings, 0);
    base_release(&checked);
    assert_true(base_edit(checked.text, "  nos: sonic\n", "  nos: sonic\n  mtu: 4189\n")); /* RoCEv2 needs 4178 */
    if (!base_check(&checked, 2, why, sizeof(why))) fail_msg("%s", why);
    assert_int_equal(checked.check.findings, 1);
    assert_string_equal(check_rules[checked.check.finding[0].rule].id, "MTU001");
    base_release(&checked);
}

/* What rules pass over: a fat tree says its ratio by its hosts; an incast waits for one link, however it is hashed. */
static void test_said_another_way(void **state)
{
    static const char *const rules[] = {"TOP005", "HOST006", "HOST008", "HOST008"};
    static const struct edit edits[][3] = {
        {{"leaf-spine: {leaves: 2, spines: 2, hosts: 2}", "fat-tree: {k: 4, hosts: 3}"}},
        {{", NCCL_IB_QPS_PER_CONNECTION: 4", ""}, {"rocelab: 1\n", "rocelab: 1\njobs: [{incast: 2, size: 1MB}]\n"}},
        {{"  model: tomahawk5\n", "  model: tomahawk5\n  balance: {use: adaptive, per: flowlet}\n"}},
        {{"  model: tomahawk5\n", "  model: tomahawk5\n  balance: spray\n"}, {"spines: 2", "spines: 1"}},
    };
    struct checked checked;
    char why[300] = "";

    (void)state;
    for (size_t c = 0; c < sizeof(edits) / sizeof(edits[0]); c++) {
        snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
        for (int e = 0; edits[c][e].to; e++)
            assert_true(base_edit(checked.text, edits[c][e].from, edits[c][e].to));
        if (!base_check(&checked, 2, why, sizeof(why))) fail_msg("%s", why);
        for (uint32_t f = 0; f < checked.check.findings; f++)
            assert_string_not_equal(check_rules[checked.check.finding[f].rule].id, rules[c]);
        base_release(&checked);
    }
}

/* Empty, or what is not as the case says. */
static const char *try_case(const struct rule_case *as, struct checked *checked, char why[300])
{
    char line[512];
    uint32_t counted = 0;

    snprintf(checked->text, sizeof(checked->text), "%s", base_fabric);
    for (int e = 0; e < 4 && as->edit[e].to; e++)
        if (!base_edit(checked->text, as->edit[e].from, as->edit[e].to)) return "the edit does not apply";
    if (!base_check(checked, 1, why, 300)) return "it does not load";
    for (uint32_t f = 0; f < checked->check.findings; f++) {
        const struct check_finding *finding = &checked->check.finding[f];
        if (finding->ignored) continue;
        counted++;
        if (strcmp(check_rules[finding->rule].id, as->rule) != 0) return "another rule speaks";
        if (finding->severity != as->severity) return "another severity";
    }
    if (!counted) return "nothing is found";
    for (uint32_t f = 0; f < checked->check.findings; f++) {
        const struct check_finding *finding = &checked->check.finding[f];
        line_of(checked->text, finding->line, line, sizeof(line));
        if (!finding->ignored && strstr(line, as->line) && strstr(finding->message, as->says)) return "";
    }
    return "not at the line, or not with the words";
}

static void test_each_rule_is_caught_alone(void **state)
{
    uint32_t wrong = 0;

    (void)state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct checked checked = {0};
        char why[300] = "";
        const char *outcome = try_case(&cases[c], &checked, why);
        if (outcome[0]) {
            print_message("case %u, %s: %s %s\n", c, cases[c].rule, outcome, why);
            if (checked.fabric) print_all(&checked);
            wrong++;
        }
        base_release(&checked);
    }
    assert_int_equal(wrong, 0);
}

static void test_every_rule_has_a_case(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < check_rule_count; r++) {
        bool found = check_rules[r].needs_config || strncmp(check_rules[r].id, "TOP001", 6) == 0 ||
                     strncmp(check_rules[r].id, "TOP002", 6) == 0 || /* test_deadlock.c */
                     strcmp(check_rules[r].id, "PFC010") == 0;       /* test_mistakes.py: with PFC001 where links are */
        for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
            found = found || strcmp(cases[c].rule, check_rules[r].id) == 0;
        assert_true(strlen(check_rules[r].sources) > 10);
        if (!found) print_message("%s has no case\n", check_rules[r].id);
        assert_true(found);
    }
}

static void test_notes_become_findings(void **state)
{
    struct checked checked;
    char why[300];
    uint32_t notes = 0;

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    for (uint32_t r = 0; r < check_rule_count; r++) {
        if (!check_rules[r].needs_config) continue;
        assert_true(check_note(&checked.check, check_rules[r].id, "leaf0.cfg", 10 + r, 3, "leaf0", "Ethernet1", 0,
                               CHECK_ERROR, "x"));
        notes++;
    }
    assert_true(notes >= 9);
    assert_true(
        check_note(&checked.check, "MAP007", "leaf0.cfg", 1, 1, "leaf0", NULL, FABRIC_NONE, CHECK_INFO, "of no harm"));
    notes++;
    assert_false(check_note(&checked.check, "XYZ001", "leaf0.cfg", 1, 1, NULL, NULL, FABRIC_NONE, CHECK_ERROR, "x"));
    check_sort(&checked.check);
    assert_int_equal(checked.check.findings, notes);
    assert_string_equal(checked.check.finding[0].file, "leaf0.cfg");
    assert_int_equal(checked.check.finding[0].severity, CHECK_INFO); /* the hint, whose rule is an error */
    assert_int_equal(check_rules[checked.check.finding[0].rule].severity, CHECK_ERROR);
    base_release(&checked);
}

/* Findings of the fabric, once more, with what cannot be judged or is not used. */
static uint32_t found_without(const struct checked *checked, const char *rule, const char *device, uint32_t number)
{
    struct check_options options = {.every = true};
    struct check check;

    check_init(&check, checked->fabric, checked->places, &options);
    if (rule)
        check_unjudge(&check, rule, device, number);
    else if (device)
        check_set_idle(&check, device, number);
    assert_true(check_note(&check, "MAP007", "leaf0.cfg", 3, 1, "leaf0", "x", 1, CHECK_ERROR, "x"));
    check_run(&check);
    uint32_t found = check.findings;
    check_release(&check);
    return found;
}

static void test_what_was_not_read_is_not_judged(void **state)
{
    struct checked checked;
    char why[300];

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
    base_edit(checked.text, NULL, "devices:\n  leaf0: {ports: {0: {pfc-mode: auto}, 1: {pfc-mode: auto}}}\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(found_without(&checked, NULL, NULL, 0), 3);
    assert_int_equal(found_without(&checked, "PFC006", "leaf0", 0), 2);
    assert_int_equal(found_without(&checked, "PFC006", "leaf0", FABRIC_NONE), 1);
    assert_int_equal(found_without(&checked, "PFC", "leaf0", FABRIC_NONE), 1);
    assert_int_equal(found_without(&checked, "PFC006", "leaf1", FABRIC_NONE), 3);
    assert_int_equal(found_without(&checked, "PFC005", "leaf0", FABRIC_NONE), 3);
    assert_int_equal(found_without(&checked, "MAP", "leaf0", 1), 2); /* the importer's note goes too */
    assert_int_equal(found_without(&checked, "MAP", "leaf0", 0), 3);
    assert_int_equal(found_without(&checked, NULL, "leaf0", 1), 1);
    assert_int_equal(found_without(&checked, "PFC006", "no such", FABRIC_NONE), 3);
    assert_int_equal(found_without(&checked, "PFC006", "leaf0", 4000), 3);
    base_release(&checked);
}

static void test_a_port_that_is_down_has_no_findings(void **state)
{
    struct checked checked;
    char why[300];

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
    base_edit(checked.text, NULL,
              "devices:\n  leaf0: {ports: {0: {pfc-mode: auto, trust: pcp, mtu: 1500, up: false}}}\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(checked.check.findings, 0);
    base_release(&checked);
}

static void test_what_is_ignored_does_not_count(void **state)
{
    struct checked checked;
    char why[300];

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", base_fabric);
    base_edit(checked.text, NULL,
              "devices:\n  leaf0: {pfc-mode: auto}\n  leaf1: {pfc-mode: auto}\n"
              "check: {ignore: [{rule: PFC006, device: leaf1, reason: \"the lab's switch\"}]}\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(check_count(&checked.check, CHECK_WARNING), 1);
    assert_int_equal(checked.check.findings, 2);
    for (uint32_t f = 0; f < 2; f++) {
        const struct check_finding *finding = &checked.check.finding[f];
        if (strcmp(finding->device, "leaf1") == 0)
            assert_string_equal(finding->ignored, "the lab's switch");
        else
            assert_null(finding->ignored);
    }
    base_release(&checked);
}

static void test_fingerprints_survive_moved_lines(void **state)
{
    struct checked one, two;
    char why[300];

    (void)state;
    snprintf(one.text, sizeof(one.text), "%s", base_fabric);
    base_edit(one.text, NULL, "devices:\n  leaf0: {pfc-mode: auto}\n");
    snprintf(two.text, sizeof(two.text), "%s", one.text);
    base_edit(two.text, "links:\n", "\n\nlinks:\n");
    assert_true(base_check(&one, 0, why, sizeof(why)) && base_check(&two, 0, why, sizeof(why)));
    assert_int_equal(one.check.findings, 1);
    assert_int_not_equal(one.check.finding[0].line, two.check.finding[0].line);
    assert_true(check_fingerprint(&one.check.finding[0]) == check_fingerprint(&two.check.finding[0]));
    two.check.finding[0].device = "leaf1";
    assert_false(check_fingerprint(&one.check.finding[0]) == check_fingerprint(&two.check.finding[0]));
    base_release(&one);
    base_release(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_wrong),
        cmocka_unit_test(test_said_another_way),
        cmocka_unit_test(test_other_systems_have_fewer_rules),
        cmocka_unit_test(test_each_rule_is_caught_alone),
        cmocka_unit_test(test_every_rule_has_a_case),
        cmocka_unit_test(test_notes_become_findings),
        cmocka_unit_test(test_what_was_not_read_is_not_judged),
        cmocka_unit_test(test_a_port_that_is_down_has_no_findings),
        cmocka_unit_test(test_what_is_ignored_does_not_count),
        cmocka_unit_test(test_fingerprints_survive_moved_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
