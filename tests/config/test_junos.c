/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos: what class of service and interfaces mean, in both forms, and what is wrong in them by line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/fix.h"
#include "config/random_fabric.h"
#include "config/testing.h"
#include "fabric/switches.h"

/* Thresholds of marking are whole per cent of a buffer and never come back as bytes: that loss is always named, and
 * fabrics without losses are drawn with marking where it is on and off only. */
static const struct random_limits limits = {
    .hash = true,
    .alpha = false,
    .pcp = true,
    .port_maps = true,
    .port_mtu = true,
    .port_pfc = true,
    .queue_map = true,
    .queue_map_one = true,
    .watchdog = true,
    .watchdog_action = true,
    .cable = true,
    .rate = true,
    .fec = true,
    .up = true,
    .pause_all = true,
    .watched = true,
    .model = true,
    .port_name = "et-0/1/%u",
    .lossless_most = 2,
    .time_step_ms = 100,
};

static void test_round_trip(void **state)
{
    (void)state;
    round_trips(&config_junos, &limits);
}

static void test_more_ports_than_cages(void **state)
{
    struct random_limits crowded = limits;

    (void)state;
    crowded.crowded = true;
    for (uint64_t seed = 1; seed <= 12; seed++)
        round_trip(seed % 2 ? &config_junos : &config_junos_set, seed, &crowded, seed % 3);
}

static void test_round_trip_commands(void **state)
{
    (void)state;
    round_trips(&config_junos_set, &limits);
}

static const char good[] = "system {\n"                                                                       /* 1 */
                           "    host-name leaf1;\n"                                                           /* 2 */
                           "}\n"                                                                              /* 3 */
                           "interfaces {\n"                                                                   /* 4 */
                           "    et-0/0/0 {\n"                                                                 /* 5 */
                           "        number-of-sub-ports 2;\n"                                                 /* 6 */
                           "        speed 400g;\n"                                                            /* 7 */
                           "    }\n"                                                                          /* 8 */
                           "    et-0/0/0:0 {\n"                                                               /* 9 */
                           "        description \"to gpu 1\";\n"                                              /* 10 */
                           "        mtu 9216;\n"                                                              /* 11 */
                           "        unit 0 {\n"                                                               /* 12 */
                           "            family inet {\n"                                                      /* 13 */
                           "                address 10.0.0.1/31;\n"                                           /* 14 */
                           "            }\n"                                                                  /* 15 */
                           "        }\n"                                                                      /* 16 */
                           "    }\n"                                                                          /* 17 */
                           "    et-0/0/5 {\n"                                                                 /* 18 */
                           "        description spine1;\n"                                                    /* 19 */
                           "        mtu 9216;\n"                                                              /* 20 */
                           "        gigether-options {\n"                                                     /* 21 */
                           "            fec fec91;\n"                                                         /* 22 */
                           "        }\n"                                                                      /* 23 */
                           "    }\n"                                                                          /* 24 */
                           "    et-0/0/9 {\n"                                                                 /* 25 */
                           "        unit 0 {\n"                                                               /* 26 */
                           "            family inet;\n"                                                       /* 27 */
                           "        }\n"                                                                      /* 28 */
                           "    }\n"                                                                          /* 29 */
                           "}\n"                                                                              /* 30 */
                           "class-of-service {\n"                                                             /* 31 */
                           "    classifiers {\n"                                                              /* 32 */
                           "        dscp rdma {\n"                                                            /* 33 */
                           "            forwarding-class NOTIFY {\n"                                          /* 34 */
                           "                loss-priority low code-points cs6;\n"                             /* 35 */
                           "            }\n"                                                                  /* 36 */
                           "            forwarding-class ROCE {\n"                                            /* 37 */
                           "                loss-priority low code-points [ 011010 011000 ];\n"               /* 38 */
                           "            }\n"                                                                  /* 39 */
                           "        }\n"                                                                      /* 40 */
                           "    }\n"                                                                          /* 41 */
                           "    drop-profiles {\n"                                                            /* 42 */
                           "        mark {\n"                                                                 /* 43 */
                           "            interpolate {\n"                                                      /* 44 */
                           "                fill-level [ 10 50 ];\n"                                          /* 45 */
                           "                drop-probability [ 0 80 ];\n"                                     /* 46 */
                           "            }\n"                                                                  /* 47 */
                           "        }\n"                                                                      /* 48 */
                           "    }\n"                                                                          /* 49 */
                           "    shared-buffer {\n"                                                            /* 50 */
                           "        ingress {\n"                                                              /* 51 */
                           "            buffer-partition lossless {\n"                                        /* 52 */
                           "                percent 60;\n"                                                    /* 53 */
                           "                dynamic-threshold 6;\n"                                           /* 54 */
                           "            }\n"                                                                  /* 55 */
                           "            buffer-partition lossless-headroom {\n"                               /* 56 */
                           "                percent 25;\n"                                                    /* 57 */
                           "            }\n"                                                                  /* 58 */
                           "            buffer-partition lossy {\n"                                           /* 59 */
                           "                percent 15;\n"                                                    /* 60 */
                           "            }\n"                                                                  /* 61 */
                           "        }\n"                                                                      /* 62 */
                           "    }\n"                                                                          /* 63 */
                           "    forwarding-classes {\n"                                                       /* 64 */
                           "        class NOTIFY queue-num 3;\n"                                              /* 65 */
                           "        class ROCE queue-num 4 no-loss pfc-priority 3;\n"                         /* 66 */
                           "    }\n"                                                                          /* 67 */
                           "    congestion-notification-profile {\n"                                          /* 68 */
                           "        pauses {\n"                                                               /* 69 */
                           "            pfc-watchdog {\n"                                                     /* 70 */
                           "                poll-interval 100;\n"                                             /* 71 */
                           "                detection 3;\n"                                                   /* 72 */
                           "                recovery 400;\n"                                                  /* 73 */
                           "            }\n"                                                                  /* 74 */
                           "            input {\n"                                                            /* 75 */
                           "                dscp {\n"                                                         /* 76 */
                           "                    code-point 011010 {\n"                                        /* 77 */
                           "                        pfc;\n"                                                   /* 78 */
                           "                    }\n"                                                          /* 79 */
                           "                    code-point 011000 {\n"                                        /* 80 */
                           "                        pfc;\n"                                                   /* 81 */
                           "                    }\n"                                                          /* 82 */
                           "                }\n"                                                              /* 83 */
                           "                cable-length 30;\n"                                               /* 84 */
                           "            }\n"                                                                  /* 85 */
                           "            output {\n"                                                           /* 86 */
                           "                ieee-802.1 {\n"                                                   /* 87 */
                           "                    code-point 011 {\n"                                           /* 88 */
                           "                        flow-control-queue 4;\n"                                  /* 89 */
                           "                    }\n"                                                          /* 90 */
                           "                }\n"                                                              /* 91 */
                           "            }\n"                                                                  /* 92 */
                           "        }\n"                                                                      /* 93 */
                           "    }\n"                                                                          /* 94 */
                           "    interfaces {\n"                                                               /* 95 */
                           "        et-* {\n"                                                                 /* 96 */
                           "            congestion-notification-profile pauses;\n"                            /* 97 */
                           "            scheduler-map all;\n"                                                 /* 98 */
                           "            unit * {\n"                                                           /* 99 */
                           "                classifiers {\n"                                                  /* 100 */
                           "                    dscp rdma;\n"                                                 /* 101 */
                           "                }\n"                                                              /* 102 */
                           "            }\n"                                                                  /* 103 */
                           "        }\n"                                                                      /* 104 */
                           "    }\n"                                                                          /* 105 */
                           "    scheduler-maps {\n"                                                           /* 106 */
                           "        all {\n"                                                                  /* 107 */
                           "            forwarding-class NOTIFY scheduler first;\n"                           /* 108 */
                           "            forwarding-class ROCE scheduler most;\n"                              /* 109 */
                           "        }\n"                                                                      /* 110 */
                           "    }\n"                                                                          /* 111 */
                           "    schedulers {\n"                                                               /* 112 */
                           "        most {\n"                                                                 /* 113 */
                           "            transmit-rate percent 70;\n"                                          /* 114 */
                           "            drop-profile-map loss-priority any protocol any drop-profile mark;\n" /* 115 */
                           "            explicit-congestion-notification;\n"                                  /* 116 */
                           "        }\n"                                                                      /* 117 */
                           "        first {\n"                                                                /* 118 */
                           "            priority strict-high;\n"                                              /* 119 */
                           "        }\n"                                                                      /* 120 */
                           "    }\n"                                                                          /* 121 */
                           "}\n";                                                                             /* 122 */

static const char commands[] =
    "set system host-name leaf1\n"
    "set interfaces et-0/0/0 number-of-sub-ports 2\n"
    "set interfaces et-0/0/0 speed 400g\n"
    "set interfaces et-0/0/0:0 description \"to gpu 1\"\n"
    "set interfaces et-0/0/0:0 mtu 9216\n"
    "set interfaces et-0/0/0:0 unit 0 family inet address 10.0.0.1/31\n"
    "set interfaces et-0/0/5 description spine1\n"
    "set interfaces et-0/0/5 mtu 9216\n"
    "set interfaces et-0/0/5 gigether-options fec fec91\n"
    "set interfaces et-0/0/9 unit 0 family inet\n"
    "set class-of-service classifiers dscp rdma forwarding-class NOTIFY loss-priority low code-points cs6\n"
    "set class-of-service classifiers dscp rdma forwarding-class ROCE loss-priority low code-points 011010\n"
    "set class-of-service classifiers dscp rdma forwarding-class ROCE loss-priority low code-points 011000\n"
    "set class-of-service drop-profiles mark interpolate fill-level 10\n"
    "set class-of-service drop-profiles mark interpolate fill-level 50\n"
    "set class-of-service drop-profiles mark interpolate drop-probability 0\n"
    "set class-of-service drop-profiles mark interpolate drop-probability 80\n"
    "set class-of-service shared-buffer ingress buffer-partition lossless percent 60\n"
    "set class-of-service shared-buffer ingress buffer-partition lossless dynamic-threshold 6\n"
    "set class-of-service shared-buffer ingress buffer-partition lossless-headroom percent 25\n"
    "set class-of-service shared-buffer ingress buffer-partition lossy percent 15\n"
    "set class-of-service forwarding-classes class NOTIFY queue-num 3\n"
    "set class-of-service forwarding-classes class ROCE queue-num 4\n"
    "set class-of-service forwarding-classes class ROCE no-loss\n"
    "set class-of-service forwarding-classes class ROCE pfc-priority 3\n"
    "set class-of-service congestion-notification-profile pauses pfc-watchdog poll-interval 100\n"
    "set class-of-service congestion-notification-profile pauses pfc-watchdog detection 3\n"
    "set class-of-service congestion-notification-profile pauses pfc-watchdog recovery 400\n"
    "set class-of-service congestion-notification-profile pauses input dscp code-point 011010 pfc\n"
    "set class-of-service congestion-notification-profile pauses input dscp code-point 011000 pfc\n"
    "set class-of-service congestion-notification-profile pauses input cable-length 30\n"
    "set class-of-service congestion-notification-profile pauses output ieee-802.1 code-point 011 flow-control-queue "
    "4\n"
    "set class-of-service interfaces et-* congestion-notification-profile pauses\n"
    "set class-of-service interfaces et-* scheduler-map all\n"
    "set class-of-service interfaces et-* unit * classifiers dscp rdma\n"
    "set class-of-service scheduler-maps all forwarding-class NOTIFY scheduler first\n"
    "set class-of-service scheduler-maps all forwarding-class ROCE scheduler most\n"
    "set class-of-service schedulers most transmit-rate percent 70\n"
    "set class-of-service schedulers most drop-profile-map loss-priority any protocol any drop-profile mark\n"
    "set class-of-service schedulers most explicit-congestion-notification\n"
    "set class-of-service schedulers first priority strict-high\n";

static void means_what_it_says(const char *text)
{
    struct imported got;

    import_text(&got, NULL, "leaf1.conf", text);
    for (uint32_t i = 0; i < got.set.notes; i++)
        if (!got.set.note[i].assumed && !got.set.note[i].port) fail_msg("noted: %s", got.set.note[i].message);
    unsigned open = 0; /* what marking in per cent leaves open */
    for (uint32_t i = 0; i < got.set.unjudgeds; i++)
        open += strstr(got.set.unjudged[i].message, "fill levels") != NULL;
    assert_int_equal(open, 2);
    const struct fabric_settings *as = settings_at(&got, "leaf1", 0);
    assert_int_equal(as->dscp_to_tc[26], 3);
    assert_int_equal(as->dscp_to_tc[24], 3);
    assert_int_equal(as->dscp_to_tc[48], 6); /* queue 3, whose number is taken: by the upper bits */
    assert_int_equal(as->tc_to_queue[3], 4);
    assert_int_equal(as->tc_to_queue[6], 3);
    assert_int_equal(as->pfc_rx, 1 << 3);
    assert_int_equal(as->pfc_tx, 1 << 3);
    assert_int_equal(as->lossless, 1 << 3);
    assert_true(as->queue[3].strict);
    assert_true(as->queue[4].ecn.on);
    assert_int_equal(as->queue[4].ecn.max_bytes, 5 * as->queue[4].ecn.min_bytes);
    assert_int_equal(as->queue[4].ecn.probability_ppm, 800000);
    assert_int_equal(as->queue[4].share_ppm, 700000);
    assert_int_equal(as->mtu_bytes, 9216);
    assert_int_equal(as->headroom_cable_mm, 30000);
    assert_int_equal(as->pg[3].alpha_num * 2, as->pg[3].alpha_den);
    uint32_t node = fabric_find_node(got.fabric, "leaf1"), first = got.fabric->node[node].first_port;
    assert_int_equal(got.fabric->node[node].ports, 3); /* et-0/0/0 is broken out */
    assert_int_equal(got.fabric->port[first].rate_bps, 400000000000);
    assert_true(got.fabric->port[first].up);
    assert_int_equal(settings_at(&got, "leaf1", 1)->fec, FABRIC_FEC_RS);
    assert_true(got.set.device[0].port[2].idle && !got.set.device[0].port[1].idle);
    const struct fabric_watchdog *watchdog = &got.fabric->sw[node - got.fabric->hosts].watchdog;
    assert_true(watchdog->on && watchdog->drop);
    assert_int_equal(watchdog->detect_ps, 300 * PS_MS);
    assert_int_equal(watchdog->restore_ps, 400 * PS_MS);
    import_release(&got);
}

static void test_meaning(void **state)
{
    (void)state;
    means_what_it_says(good);
    means_what_it_says(commands);
    char *one = edited(commands,
                       "fill-level 10\nset class-of-service drop-profiles mark interpolate fill-level 50\n"
                       "set class-of-service drop-profiles mark interpolate drop-probability 0\n"
                       "set class-of-service drop-profiles mark interpolate drop-probability 80\n",
                       "fill-level 10 fill-level 50 drop-probability 0 drop-probability 80\n");
    means_what_it_says(one);
    free(one);
}

/* 10 and 50 per cent of what a queue of this chip may hold, by its partition and its dynamic threshold: 84,206 KB are
 * shared on a QFX5240. */
static void test_fill_levels(void **state)
{
#define COS "set class-of-service "
    static const struct {
        const char *head, *more;
        uint64_t min_bytes;
    } cases[] = {
        {"", "", 1000000}, /* nobody knows: 10 MB */
        {"## QFX5240-64OD\n", "", 84206000 / 5 * 8 / 9 / 10},
        {"## QFX5240-64OD\n", COS "schedulers most buffer-dynamic-threshold 7\n", 84206000 / 5 / 2 / 10},
        {"## QFX5240-64OD\n", COS "shared-buffer egress buffer-partition lossless percent 60\n",
         84206000ull * 60 / 100 * 8 / 9 / 10},
        {"## QFX5240-64OD\n",
         COS "shared-buffer egress buffer-partition lossless percent 60\n" COS
             "shared-buffer egress buffer-partition lossless dynamic-threshold 5\n",
         84206000ull * 60 / 100 / 5 / 10},
        {"## QFX5240-64OD\n",
         COS "shared-buffer egress buffer-partition lossless dynamic-threshold 5\n" COS
             "schedulers most buffer-dynamic-threshold 8\n",
         84206000 / 5 * 2 / 3 / 10},
        {"## QFX5220-32CD\n", "", 44420000 / 5 * 8 / 9 / 10},
    };
#undef COS

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct imported got;
        char *text = NULL;
        size_t length;
        FILE *to = open_memstream(&text, &length);
        fprintf(to, "%s%s%s", cases[c].head, commands, cases[c].more);
        fclose(to);
        import_text(&got, NULL, "leaf1.conf", text);
        const struct sw_ecn *ecn = &settings_at(&got, "leaf1", 0)->queue[4].ecn;
        if (ecn->min_bytes > cases[c].min_bytes + 1000 || ecn->min_bytes + 1000 < cases[c].min_bytes)
            fail_msg("case %zu: %llu bytes, not %llu", c, (unsigned long long)ecn->min_bytes,
                     (unsigned long long)cases[c].min_bytes);
        assert_true(ecn->max_bytes >= 5 * ecn->min_bytes - 5 && ecn->max_bytes <= 5 * ecn->min_bytes + 5);
        import_release(&got);
        free(text);
    }
}

static void test_wrong_lines(void **state)
{
    static const struct wrong_line cases[] = {
        {"code-point 011010 {", "code-point 101010 {", "MAP001", 77},
        {"[ 011010 011000 ]", "[ 011010 011000 011011 ]", "PFC002", 75},
        {"flow-control-queue 4", "flow-control-queue 5", "PFC007", 89},
        {"code-point 011 {", "code-point 100 {", "PFC007", 88},
        {"no-loss pfc-priority 3", "no-loss", "PFC007", 66},
        {"dscp rdma;", "dscp rmda;", "MAP007", 101},
        {"dscp rdma;", "dscp rmda;", "MAP007", 33},
        {"congestion-notification-profile pauses;", "congestion-notification-profile pause;", "MAP007", 97},
        {"scheduler-map all;", "scheduler-map some;", "MAP007", 98},
        {"ROCE scheduler most", "ROCE scheduler more", "MAP007", 109},
        {"drop-profile mark", "drop-profile makr", "MAP007", 115},
        {"forwarding-class ROCE scheduler", "forwarding-class ROCCE scheduler", "MAP007", 109},
        {"fill-level [ 10 50 ]", "fill-level [ 50 10 ]", "ECN002", 45},
        {"            explicit-congestion-notification;\n", "", "ECN006", 115},
        {"percent 15", "percent 25", "SYN001", 53}, /* the largest; of too little, where it is missing */
        {"percent 25", "percent 0", "HR001", 57},
        {"percent 15", "percent 5", "SYN001", 51},
        {"code-points cs6", "code-points cs9", "SYN001", 35},
        {"queue-num 4", "queue-num 14", "SYN001", 66},
        {"recovery 400", "recovery 100", "WD002", 73},
        {"detection 3", "detection 30", "WD002", 72},
        {"fec fec91;", "fec fec91; flow-control;", "PFC005", 22},
        {"transmit-rate percent 70", "transmit-rate percent 70; wrong-word 3", NULL, 114},
        {"detection 3;", "detection 3", "SYN001", 72},
        {"queue-num 4 no-loss pfc-priority 3", "queue-num 4", "PFC002", 66},
        {"pfc-priority 3", "pfc-priority 5", "PFC007", 66},
        {"        et-* {", "        xe-* {", "MAP007", 96},
        {"priority strict-high", "transmit-rate percent 40", "SCH001", 114},
    };

    (void)state;
    wrong_lines(&config_junos, "leaf1.conf", good, cases, sizeof(cases) / sizeof(cases[0]));
}

/* The setting's own line, or the head of the block that lacks it. */
static void at_line(const char *from, const char *to, const char *path, uint32_t line)
{
    char *text = edited(good, from, to);
    struct imported got;

    import_text(&got, &config_junos, "leaf1.conf", text);
    struct origin at = config_where(&got.set, "leaf1", 1, path);
    if (at.line != line) fail_msg("%s after '%s': line %u, and not %u", path, to, at.line, line);
    import_release(&got);
    free(text);
}

static void test_lines(void **state)
{
    (void)state;
    at_line("mtu 9216;\n        gig", "mtu 1500;\n        gig", "mtu", 20);
    at_line("        mtu 9216;\n        gig", "        gig", "mtu", 18);
    at_line("            explicit-congestion-notification;\n", "", "classes.3.ecn", 113);
    at_line("code-points cs6", "code-points cs5", "dscp-map.40", 35);
    at_line("priority strict-high", "priority low", "classes.6.strict", 119);
    at_line("            pfc-watchdog {\n", "            ignored {\n", "watchdog", 69);
    at_line("dynamic-threshold 6", "dynamic-threshold 8", "classes.3.alpha", 54);
    at_line("cable-length 30", "cable-length 3", "headroom-cable", 84);
    at_line("    host-name leaf1;\n", "    host-name leaf1;\n    x;\n", "pfc.tx", 78);
}

/* A port's own entry goes before a wildcard's; a member of an aggregate has what that has. */
static void test_bindings(void **state)
{
    char *text =
        edited(good, "        et-* {\n",
               "        et-0/0/5 {\n            unit 0 {\n                classifiers {\n"
               "                    dscp other;\n                }\n            }\n        }\n        et-* {\n");
    char *both = edited(text, "        dscp rdma {\n",
                        "        dscp other {\n            forwarding-class NOTIFY {\n"
                        "                loss-priority low code-points 000001;\n"
                        "            }\n        }\n        dscp rdma {\n");
    struct imported got;

    (void)state;
    import_text(&got, &config_junos, "leaf1.conf", both);
    assert_int_equal(settings_at(&got, "leaf1", 0)->dscp_to_tc[1], 0);
    assert_int_equal(settings_at(&got, "leaf1", 1)->dscp_to_tc[1], settings_at(&got, "leaf1", 0)->dscp_to_tc[48]);
    assert_int_equal(settings_at(&got, "leaf1", 1)->pfc_rx, 1 << 3); /* of the wildcard */
    import_release(&got);
    free(both);
    free(text);
    text = edited(good, "            fec fec91;\n", "            802.3ad ae7;\n");
    both = edited(text, "        et-* {\n", "        ae7 {\n");
    import_text(&got, &config_junos, "leaf1.conf", both);
    assert_int_equal(settings_at(&got, "leaf1", 1)->pfc_rx, 0); /* nothing is written of ae7 */
    import_release(&got);
    free(both);
    both = edited(text, "    et-0/0/9 {\n", "    ae7 {\n");
    free(text);
    text = edited(both, "        et-* {\n", "        ae7 {\n");
    import_text(&got, &config_junos, "leaf1.conf", text);
    assert_int_equal(settings_at(&got, "leaf1", 1)->pfc_rx, 1 << 3);
    assert_int_equal(settings_at(&got, "leaf1", 0)->pfc_rx, 0);
    import_release(&got);
    free(both);
    free(text);
}

/* A part of a configuration has no ports: what stands for them is one, and its frames are not known. */
static void test_part(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, NULL, "leaf1.conf", strstr(good, "class-of-service {"));
    assert_int_equal(settings_at(&got, "leaf1", 0)->pfc_tx, 1 << 3);
    assert_null(config_said(&got.set, 0, 0, "mtu"));
    import_release(&got);
}

/* `interfaces` are ports, unless they say what class of service says of ports and nothing else. */
static void test_outer_interfaces(void **state)
{
    static const char ports[] =
        "interfaces {\n    et-0/0/0 {\n        mtu 9216;\n        speed 400g;\n"
        "        disable;\n    }\n}\n"
        "class-of-service {\n    forwarding-classes {\n        class a queue-num 3;\n    }\n}\n";
    static const char part[] =
        "forwarding-classes {\n    class a queue-num 3;\n}\n"
        "interfaces {\n    et-0/0/0 {\n        scheduler-map none;\n"
        "        unit 0 {\n            classifiers {\n                dscp none;\n            }\n"
        "        }\n    }\n}\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_junos, "leaf1.conf", ports);
    uint32_t node = fabric_find_node(got.fabric, "leaf1"), first = got.fabric->node[node].first_port;
    assert_int_equal(notes_of(&got, NULL, 0), 0);
    assert_int_equal(settings_at(&got, "leaf1", 0)->mtu_bytes, 9216);
    assert_int_equal(got.fabric->port[first].rate_bps, 400000000000);
    assert_false(got.fabric->port[first].up);
    import_release(&got);
    import_text(&got, &config_junos, "leaf1.conf", part);
    assert_int_equal(notes_of(&got, "MAP007", 6), 1);
    assert_int_equal(notes_of(&got, "MAP007", 9), 1);
    import_release(&got);
}

/* The chassis gives a rate to the port at its place and to its channels; a port that only class of service names is one
 * more, and one that both name is one. */
static void test_places(void **state)
{
    static const char text[] =
        "set chassis fpc 0 pic 0 port 5 speed 200g\nset chassis fpc 0 pic 1 port 5 speed 400g\n"
        "set interfaces et-0/0/15 mtu 9216\nset interfaces et-0/1/5 mtu 9216\n"
        "set interfaces et-0/0/5:1 mtu 9216\nset class-of-service interfaces et-0/0/15 scheduler-map m\n"
        "set class-of-service interfaces et-0/0/7 scheduler-map m\n";
    static const uint64_t gbps[] = {100, 400, 200, 100};
    struct imported got;

    (void)state;
    import_text(&got, &config_junos, "leaf1.conf", text);
    uint32_t node = fabric_find_node(got.fabric, "leaf1"), first = got.fabric->node[node].first_port;
    assert_int_equal(got.fabric->node[node].ports, 4);
    for (uint32_t p = 0; p < 4; p++)
        assert_int_equal(got.fabric->port[first + p].rate_bps, gbps[p] * 1000000000);
    import_release(&got);
}

/* What is of another system is refused, and not read as a switch without class of service. */
static void test_foreign(void **state)
{
    static const char nxos[] = "hostname leaf1\nfeature lldp\nsystem qos\n  service-policy type network-qos n\n"
                               "interface Ethernet1/1\n  priority-flow-control mode on\n";
    static const char eos[] = "qos map dscp 26 to traffic-class 3\ninterface Ethernet1\n   qos trust dscp\n";
    static const char yaml[] = "- set:\n    interface:\n      swp1: {}\n";

    (void)state;
    refused(&config_junos, nxos, strlen(nxos), "not Junos");
    refused(&config_junos, eos, strlen(eos), "not Junos");
    refused(&config_junos, yaml, strlen(yaml), "not Junos");
}

static void test_chip(void **state)
{
    struct imported got;
    uint32_t node;

    (void)state;
    import_text(&got, NULL, "leaf1_qfx5240-64od.conf", good);
    node = fabric_find_node(got.fabric, "leaf1");
    assert_string_equal(got.fabric->sw[node - got.fabric->hosts].model, "tomahawk5");
    import_release(&got);
}

/* The change from `running` to `approved`, all of it; NULL: it is refused, and nothing of it is written. */
static char *change_of(const char *approved, const char *running)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    const struct fix fix = {&config_junos, approved, approved, running, FIX_ALL, to, NULL};
    int result = config_junos.fix(&fix);
    fclose(to);
    if (result == 0) return text;
    assert_int_equal(length, 0);
    free(text);
    return NULL;
}

/* A word that would end a statement early is quoted: else more goes than was meant. */
static void test_fix_words(void **state)
{
    static const char approved[] = "set interfaces et-0/0/0 mtu 9216\nset class-of-service interfaces et-0/0/0 unit 0 "
                                   "classifiers dscp a\n";
    static const struct {
        const char *unit, *want;
    } cases[] = {{"\"0 # x\"", "\"0 # x\""}, {"0\\\"0", "\"0\\\"0\""}, {"0;", "\"0;\""}, {"1", "1"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char running[300], want[300];
        snprintf(running, sizeof(running), "%sset class-of-service interfaces et-0/0/0 unit %s classifiers dscp a\n",
                 approved, cases[i].unit);
        snprintf(want, sizeof(want), "delete class-of-service interfaces et-0/0/0 unit %s classifiers\n",
                 cases[i].want);
        char *got = change_of(approved, running);
        assert_non_null(got);
        assert_string_equal(got, want);
        free(got);
    }
    assert_null(change_of(approved, "set interfaces et-0/0/0 mtu 1500\n"
                                    "set class-of-service interfaces et-0/0/0 unit \"0\33[31m\" classifiers dscp a\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_more_ports_than_cages),
        cmocka_unit_test(test_round_trip_commands),
        cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_fill_levels),
        cmocka_unit_test(test_wrong_lines),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_chip),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_outer_interfaces),
        cmocka_unit_test(test_fix_words),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
