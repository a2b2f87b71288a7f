/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What matters for RoCE is never dropped silently.  For each system: the statements that touch classification, trust,
 * PFC, marking, buffers, scheduling or the watchdog, each in a small configuration, and what becomes of it.
 *
 * A case is imported twice, with the statement and with its line left empty.  EFFECT: what is written differs, and the
 * line is not listed.  LISTED: the line is listed as not understood.  A rule's name: the rule is noted there.  ASSUMED:
 * what was taken instead is said there.  NONE: understood and without a say in a fabric, for the reason given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/testing.h"

#define EFFECT "effect"
#define LISTED "listed"
#define ASSUMED "assumed"
#define NONE "none"

struct statement {
    const char *text; /* the line that is tested begins with @ */
    const char *becomes;
};

static char *without_mark(const char *text, bool keep, uint32_t *ret_line)
{
    char *copy = strdup(text), *at = strchr(copy, '@');

    assert_non_null(at);
    *ret_line = 1;
    for (const char *c = copy; c < at; c++)
        *ret_line += *c == '\n';
    if (keep)
        *at = ' '; /* of indentation; the first column is not used */
    else
        memset(at, ' ', strcspn(at, "\n"));
    return copy;
}

/* Without the first column, which the mark takes. */
static void shift(char *text)
{
    char *to = text;

    for (char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        if (length) {
            memmove(to, at + 1, length - 1);
            to += length - 1;
        }
        at += length;
        if (*at) *to++ = *at++;
    }
    *to = 0;
}

static unsigned listed_at(const struct imported *got, uint32_t line, bool assumed)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < got->set.notes; i++) {
        const struct config_note *note = &got->set.note[i];
        count += !note->rule && note->assumed == assumed && note->at.line == line;
    }
    return count;
}

static void try_one(const struct config_format *format, const struct statement *as)
{
    uint32_t line;
    char *with = without_mark(as->text, true, &line), *without = without_mark(as->text, false, &line);
    struct imported a, b;

    shift(with);
    shift(without);
    import_text(&a, format, "x", with);
    import_text(&b, format, "x", without);
    bool differs = strcmp(a.yaml, b.yaml) != 0, listed = listed_at(&a, line, false) > 0;
    bool good = strcmp(as->becomes, EFFECT) == 0    ? differs && !listed
                : strcmp(as->becomes, LISTED) == 0  ? listed
                : strcmp(as->becomes, ASSUMED) == 0 ? listed_at(&a, line, true) > 0 && !listed
                : strncmp(as->becomes, NONE, 4) == 0
                    ? !differs && !listed && as->becomes[4] == ':'
                    : notes_of(&a, as->becomes, line) > notes_of(&b, as->becomes, line);
    if (!good)
        fail_msg("%s: not '%s' (line %u, %s, %s):\n%s\n---\n%s", format->name, as->becomes, line,
                 differs ? "has an effect" : "has none", listed ? "listed" : "not listed", with, a.yaml);
    import_release(&a);
    import_release(&b);
    free(with);
    free(without);
}

static void try_all(const struct config_format *format, const struct statement *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        try_one(format, &list[i]);
}
#define TRY_ALL(format, list) try_all(format, list, sizeof(list) / sizeof((list)[0]))

/* --- NX-OS --- */

#define NXOS_CLASS " class-map type qos match-any R\n   match dscp 26\n"
#define NXOS_QOS NXOS_CLASS " policy-map type qos P\n   class R\n     set qos-group 3\n"
#define NXOS_NETWORK " policy-map type network-qos N\n   class type network-qos c-8q-nq3\n     pause pfc-cos 3\n"
#define NXOS_QUEUE " policy-map type queuing Q\n   class type queuing c-out-8q-q3\n"
#define NXOS_SYSTEM " system qos\n   service-policy type network-qos N\n"
#define NXOS_OUT " system qos\n   service-policy type queuing output Q\n"
#define NXOS_PORT " interface Ethernet1/1\n   service-policy type qos input P\n   priority-flow-control mode on\n"
#define NXOS_ALL NXOS_QOS NXOS_NETWORK NXOS_SYSTEM NXOS_PORT

static const struct statement nxos_list[] = {
    {" class-map type qos match-any R\n@  match dscp 24-31\n policy-map type qos P\n   class R\n"
     "     set qos-group 3\n" NXOS_PORT,
     EFFECT},
    {" class-map type qos match-any R\n@  match ip dscp af31\n policy-map type qos P\n   class R\n"
     "     set qos-group 3\n" NXOS_PORT,
     EFFECT},
    {" class-map type qos match-any R\n@  match precedence 3\n policy-map type qos P\n   class R\n"
     "     set qos-group 3\n" NXOS_PORT,
     EFFECT},
    {" class-map type qos match-any R\n@  match cos 3\n policy-map type qos P\n   class R\n"
     "     set qos-group 3\n" NXOS_PORT,
     EFFECT},
    {" class-map type qos match-any R\n@  match access-group name ACL\n policy-map type qos P\n   class R\n"
     "     set qos-group 3\n" NXOS_PORT,
     LISTED},
    {NXOS_CLASS " policy-map type qos P\n   class R\n@    set qos-group 3\n" NXOS_PORT, EFFECT},
    {NXOS_QOS "@    set dscp 10\n" NXOS_PORT, "MAP004"},
    {NXOS_QOS "@    police cir 10 gbps\n" NXOS_PORT, LISTED},
    {NXOS_QOS " policy-map type network-qos N\n   class type network-qos c-8q-nq3\n@    pause pfc-cos "
              "3\n" NXOS_SYSTEM NXOS_PORT,
     EFFECT},
    {NXOS_QOS " policy-map type network-qos N\n   class type network-qos c-8q-nq3\n@    pause "
              "no-drop\n" NXOS_SYSTEM NXOS_PORT,
     EFFECT},
    {NXOS_ALL " policy-map type network-qos N\n   class type network-qos c-8q-nq3\n@    mtu 9216\n",
     NONE ": the interface's holds"},
    {NXOS_QOS NXOS_NETWORK NXOS_OUT NXOS_PORT NXOS_QUEUE "@    bandwidth remaining percent 50\n", EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_OUT NXOS_PORT NXOS_QUEUE "@    bandwidth percent 50\n", EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_OUT NXOS_PORT NXOS_QUEUE "@    priority level 1\n", EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_OUT NXOS_PORT NXOS_QUEUE
     "@    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 "
     "ecn\n",
     EFFECT},
    {NXOS_ALL NXOS_OUT NXOS_QUEUE "@    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes\n",
     "ECN006"},
    {NXOS_ALL NXOS_OUT NXOS_QUEUE "@    random-detect threshold burst-optimized ecn\n", "ECN007"},
    {NXOS_ALL NXOS_OUT NXOS_QUEUE "@    queue-limit dynamic 3\n", LISTED},
    {NXOS_ALL NXOS_OUT NXOS_QUEUE "@    shape min 1 gbps max 10 gbps\n", LISTED},
    {NXOS_ALL " policy-map type queuing I\n   class type queuing c-in-q3\n"
              "@    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320\n"
              " interface Ethernet1/1\n   service-policy type queuing input I\n",
     EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_PORT " system qos\n@  service-policy type network-qos N\n", EFFECT},
    {NXOS_ALL NXOS_QUEUE "     bandwidth percent 50\n system qos\n@  service-policy type queuing output Q\n", EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_SYSTEM " interface Ethernet1/1\n@  service-policy type qos input P\n", EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_SYSTEM " interface Ethernet1/1\n   service-policy type qos input P\n"
                                       "@  priority-flow-control mode on send-tlv\n",
     EFFECT},
    {NXOS_QOS NXOS_NETWORK NXOS_SYSTEM " interface Ethernet1/1\n   service-policy type qos input P\n"
                                       "@  priority-flow-control mode off\n",
     EFFECT},
    {NXOS_ALL "@priority-flow-control watch-dog-interval on\n", EFFECT},
    {" priority-flow-control watch-dog-interval on\n" NXOS_ALL "@  priority-flow-control watch-dog-interval on\n",
     EFFECT},
    {" priority-flow-control watch-dog-interval on\n@priority-flow-control watch-dog interval 200\n" NXOS_ALL, EFFECT},
    {" priority-flow-control watch-dog-interval on\n@priority-flow-control watch-dog shutdown-multiplier 2\n" NXOS_ALL,
     EFFECT},
    {" priority-flow-control watch-dog-interval on\n@priority-flow-control auto-restore multiplier 5\n" NXOS_ALL,
     EFFECT},
    {" priority-flow-control watch-dog-interval on\n@priority-flow-control fixed-restore multiplier 5\n" NXOS_ALL,
     EFFECT},
    {" priority-flow-control watch-dog-interval on\n@priority-flow-control auto-restore multiplier 0\n" NXOS_ALL,
     "WD003"},
    {NXOS_ALL "@ip load-sharing address source-destination\n", EFFECT},
    {NXOS_ALL "@ip load-sharing odd\n", LISTED},
    {NXOS_ALL " hardware profile dlb\n@  dlb-interface all\n", EFFECT},
    {NXOS_ALL " hardware profile dlb\n   dlb-interface all\n@  mode per-packet\n", EFFECT},
    {NXOS_ALL " hardware profile dlb\n   dlb-interface all\n@  flowlet-aging 70\n", EFFECT},
    {NXOS_ALL " hardware profile dlb\n@  dlb-odd 1\n", LISTED},
    {NXOS_ALL "@system default switchport shutdown\n", EFFECT},
    {"@interface breakout module 1 port 1 map 25g-4x\n interface Ethernet1/1/1\n   mtu 9216\n", EFFECT},
    {NXOS_ALL "@hardware qos pfc mmu-buffer-reservation 10\n", LISTED},
    {NXOS_ALL "@hardware qos pfc-watchdog on\n", "SYN001"},
    {NXOS_ALL "@  mtu 9216\n", EFFECT},
    {NXOS_ALL "@  mtu 20000\n", LISTED},
    {NXOS_QOS NXOS_NETWORK NXOS_OUT NXOS_PORT NXOS_QUEUE "@    bandwidth percent 150\n", LISTED},
    {NXOS_ALL "@  flowcontrol receive on\n", "PFC005"},
    {NXOS_ALL "@lldp tlv-select dcbxp\n", NONE ": what is announced"},
    {NXOS_ALL "@qos statistics\n", LISTED},
};

static void test_nxos(void **state)
{
    (void)state;
    TRY_ALL(&config_nxos, nxos_list);
}

/* --- EOS --- */

#define EOS_PROFILE                                                                                                    \
    " qos profile R\n    qos trust dscp\n    priority-flow-control on\n    priority-flow-control priority 3 no-drop\n"
#define EOS_QUEUE "    uc-tx-queue 3\n"
#define EOS_PORT " interface Ethernet1\n    no switchport\n    service-profile R\n"
#define EOS_POLICY                                                                                                     \
    " class-map type qos match-any C\n    match dscp 10\n policy-map type quality-of-service P\n    class C\n"

static const struct statement eos_list[] = {
    {"@qos map dscp 26 to traffic-class 5\n" EOS_PROFILE EOS_PORT, EFFECT},
    {"@qos map cos 3 to traffic-class 5\n interface Ethernet1\n", EFFECT},
    {"@qos map traffic-class 3 to tx-queue 5\n" EOS_PROFILE EOS_PORT, EFFECT},
    {"@qos map traffic-class 3 to dscp 26\n" EOS_PROFILE EOS_PORT, NONE ": only with qos rewrite dscp"},
    {"@qos map exp 3 to traffic-class 5\n" EOS_PROFILE EOS_PORT, NONE ": of MPLS"},
    {"@qos map dscp 26 to traffic-class 9\n" EOS_PROFILE EOS_PORT, LISTED},
    {"@qos rewrite dscp\n" EOS_PROFILE EOS_PORT, "MAP004"},
    {" qos profile R\n@   qos trust cos\n" EOS_PORT, EFFECT},
    {" qos profile R\n@   no qos trust\n" EOS_PORT, EFFECT},
    {" qos profile R\n    no qos trust\n@   qos dscp 46\n" EOS_PORT, EFFECT},
    {" qos profile R\n@   qos cos 5\n" EOS_PORT, NONE ": of packets without a tag on ports that trust nothing"},
    {" qos profile R\n    priority-flow-control priority 3 no-drop\n@   priority-flow-control on\n" EOS_PORT, EFFECT},
    {" qos profile R\n    priority-flow-control on\n@   priority-flow-control priority 3 no-drop\n" EOS_PORT, EFFECT},
    {" qos profile R\n    priority-flow-control on\n@   priority-flow-control priority 9 no-drop\n" EOS_PORT, LISTED},
    {"@priority-flow-control all off\n" EOS_PROFILE EOS_PORT, EFFECT},
    {EOS_PROFILE EOS_PORT "@priority-flow-control all off\n", "PFC002"},
    {EOS_PROFILE EOS_PORT "@priority-flow-control pause watchdog default timeout 0.20\n", EFFECT},
    {EOS_PROFILE EOS_PORT " priority-flow-control pause watchdog default timeout 0.20\n"
                          "@priority-flow-control pause watchdog default recovery-time 0.40\n",
     EFFECT},
    {EOS_PROFILE EOS_PORT " priority-flow-control pause watchdog default timeout 0.20\n"
                          "@priority-flow-control pause watchdog default polling-interval 0.10\n",
     EFFECT},
    {EOS_PROFILE EOS_PORT " priority-flow-control pause watchdog default timeout 0.20\n"
                          "@priority-flow-control pause watchdog action drop\n",
     EFFECT},
    {EOS_PROFILE EOS_PORT "@   priority-flow-control pause watchdog\n", EFFECT},
    {EOS_PROFILE EOS_PORT "@   priority-flow-control pause watchdog port timer timeout 0.05 polling-interval auto "
                          "recovery-time 1.11 forced\n",
     EFFECT},
    {" priority-flow-control pause watchdog default timeout 0.20\n"
     " priority-flow-control pause watchdog default recovery-time 0.20\n" EOS_PROFILE EOS_PORT
     "@   priority-flow-control pause watchdog port timer timeout 0.40 polling-interval auto recovery-time 0.40\n",
     "WD003"},
    {EOS_PROFILE EOS_PORT "@   priority-flow-control pause watchdog port timer timeout 0.40 polling-interval 0.30 "
                          "recovery-time 0.40\n",
     "WD002"},
    {EOS_PROFILE EOS_PORT "@   priority-flow-control pause watchdog port action errdisable\n", "WD005"},
    {EOS_PROFILE EOS_PORT "@   no priority-flow-control pause watchdog\n"
                          " priority-flow-control pause watchdog default timeout 0.20\n",
     EFFECT},
    {EOS_PROFILE EOS_PORT "@priority-flow-control pause watchdog hardware\n", LISTED},
    {EOS_PROFILE EOS_QUEUE "@      no priority\n" EOS_PORT, EFFECT},
    {EOS_PROFILE EOS_QUEUE "       no priority\n@      bandwidth percent 95\n" EOS_PORT, EFFECT},
    {EOS_PROFILE EOS_QUEUE "@      bandwidth guaranteed percent 1\n"
                           " priority-flow-control pause watchdog default timeout 0.20\n" EOS_PORT,
     NONE ": asked for by WD006 alone"},
    {EOS_PROFILE EOS_QUEUE "@      shape rate 40 percent\n" EOS_PORT, NONE ": below its share it is SCH001"},
    {EOS_PROFILE EOS_QUEUE "@      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes "
                           "max-mark-probability 100 weight 0\n" EOS_PORT,
     EFFECT},
    {EOS_PROFILE EOS_QUEUE "@      random-detect ecn delay threshold 3 milliseconds\n" EOS_PORT, "ECN007"},
    {EOS_PROFILE EOS_QUEUE "@      random-detect ecn count\n" EOS_PORT, NONE ": a counter, asked for by ECN009 alone"},
    {EOS_PROFILE EOS_QUEUE "@      random-detect drop minimum-threshold 1 kbytes maximum-threshold 9 kbytes "
                           "drop-probability 90\n" EOS_PORT,
     "ECN006"},
    {EOS_PROFILE "    mc-tx-queue 3\n@      bandwidth percent 10\n" EOS_PORT, NONE ": of multicast"},
    {EOS_PROFILE "@   tx-queue 9\n" EOS_PORT, LISTED},
    {EOS_PROFILE EOS_PORT "@   service-policy type qos input GONE\n", "MAP007"},
    {EOS_PROFILE EOS_POLICY "       set traffic-class 3\n" EOS_PORT "@   service-policy type qos input P\n", EFFECT},
    {EOS_PROFILE EOS_POLICY "@      set traffic-class 3\n" EOS_PORT "    service-policy type qos input P\n", EFFECT},
    {EOS_PROFILE EOS_POLICY "@      set dscp 26\n" EOS_PORT "    service-policy type qos input P\n", "MAP004"},
    {EOS_PROFILE EOS_POLICY "@      police cir 10 mbps bc 10 kbytes\n" EOS_PORT "    service-policy type qos input P\n",
     LISTED},
    {" class-map type qos match-any C\n@   match cos 5\n policy-map type quality-of-service P\n    class C\n"
     "       set traffic-class 3\n interface Ethernet1\n    service-policy type qos input P\n",
     EFFECT},
    {" ip access-list A\n@   10 permit ip any any dscp ef\n class-map type qos match-any C\n"
     "    match ip access-group A\n policy-map type quality-of-service P\n    class C\n"
     "       set traffic-class 3\n" EOS_PROFILE EOS_PORT "    service-policy type qos input P\n",
     EFFECT},
    {" ip access-list A\n@   10 permit udp any any eq 4791\n class-map type qos match-any C\n"
     "    match ip access-group A\n policy-map type quality-of-service P\n    class C\n"
     "       set traffic-class 3\n" EOS_PROFILE EOS_PORT "    service-policy type qos input P\n",
     LISTED},
    {" class-map type qos match-any C\n@   match ip access-group GONE\n policy-map type quality-of-service P\n"
     "    class C\n       set traffic-class 3\n" EOS_PROFILE EOS_PORT "    service-policy type qos input P\n",
     "MAP007"},
    {EOS_PROFILE " interface Port-Channel3\n    no switchport\n@   service-profile R\n"
                 " interface Ethernet1\n    channel-group 3 mode active\n",
     EFFECT},
    {EOS_PROFILE " interface Port-Channel3\n    no switchport\n    service-profile R\n"
                 " interface Ethernet1\n@   channel-group 3 mode active\n",
     EFFECT},
    {EOS_PROFILE EOS_PORT "@   dcbx mode ieee\n", NONE ": it announces, and takes nothing"},
    {EOS_PROFILE EOS_PORT "@   mtu 9214\n", EFFECT},
    {EOS_PROFILE EOS_PORT "@   mtu 20000\n", LISTED},
    {EOS_PROFILE EOS_QUEUE "@      bandwidth percent 150\n" EOS_PORT, LISTED},
    {EOS_PROFILE EOS_PORT "@   flowcontrol receive on\n", "PFC005"},
    {EOS_PROFILE EOS_PORT "@qos random-detect ecn allow non-ect chip-based\n", LISTED},
    {EOS_PROFILE EOS_PORT "@hardware counter feature ecn out\n", NONE ": a counter"},
    {EOS_PROFILE EOS_PORT "@platform trident mmu headroom-pool limit cells 24000\n", LISTED},
    {" ! device: x (DCS-7060DX5-64S, EOS-4.30)\n" EOS_PROFILE EOS_PORT
     "@platform trident mmu headroom-pool limit cells 24000\n",
     EFFECT},
    {EOS_PROFILE EOS_PORT "@platform trident mmu queue profile X\n    egress unicast queue 3 threshold 1/8\n",
     "MAP007"},
    {EOS_PROFILE EOS_PORT " platform trident mmu queue profile X\n@   egress unicast queue 3 threshold 1/8\n", LISTED},
    {EOS_PROFILE EOS_PORT "@priority-flow-control mode on\n", "SYN001"},
};

static void test_eos(void **state)
{
    (void)state;
    TRY_ALL(&config_eos, eos_list);
}

/* --- SONiC --- */

#define SONIC_PORT                                                                                                     \
    " \"PORT\": {\"Ethernet0\": {\"speed\": \"100000\"}}, \"DEVICE_METADATA\": {\"localhost\": {\"hostname\": "        \
    "\"x\"}},\n"
#define SONIC_MAPS                                                                                                     \
    " \"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"3\"}, \"N\": {\"26\": \"4\"}},\n"                                         \
    " \"TC_TO_QUEUE_MAP\": {\"M\": {\"3\": \"2\"}}, \"TC_TO_PRIORITY_GROUP_MAP\": {\"M\": {\"3\": \"2\"}},\n"          \
    " \"MAP_PFC_PRIORITY_TO_QUEUE\": {\"M\": {\"3\": \"5\"}}, \"TC_TO_DSCP_MAP\": {\"M\": {\"3\": \"10\"}},\n"         \
    " \"DOT1P_TO_TC_MAP\": {\"M\": {\"3\": \"3\"}}, \"SCHEDULER\": {\"s\": {\"type\": \"STRICT\"}},\n"
#define SONIC_QOS " \"PORT_QOS_MAP\": {\"Ethernet0\": {\"dscp_to_tc_map\": \"M\", \"pfc_enable\": \"3\""
#define SONIC_QOS_END "}},\n"
#define SONIC(rest) " {\n" SONIC_PORT SONIC_MAPS rest " \"VERSIONS\": {\"DATABASE\": {}}}\n"
#define SONIC_WITH(rest) SONIC(SONIC_QOS SONIC_QOS_END rest)
#define SONIC_BUFFERS                                                                                                  \
    " \"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"size\": \"9000000\"}},\n"                 \
    " \"BUFFER_PG\": {\"Ethernet0|3\": {\"profile\": \"p\"}},\n"

static const struct statement sonic_list[] = {
    {SONIC(SONIC_QOS ",\n@\"tc_to_queue_map\": \"M\"\n " SONIC_QOS_END), EFFECT},
    {SONIC(SONIC_QOS ",\n@\"tc_to_pg_map\": \"M\"\n " SONIC_QOS_END), EFFECT},
    {SONIC(SONIC_QOS ",\n@\"pfc_to_queue_map\": \"M\"\n " SONIC_QOS_END), NONE ": PFC007 is noted at the map"},
    {SONIC(SONIC_QOS ",\n@\"tc_to_dscp_map\": \"M\"\n " SONIC_QOS_END), "MAP004"},
    {SONIC(SONIC_QOS ",\n@\"pfcwd_sw_enable\": \"3\"\n " SONIC_QOS_END), EFFECT},
    {SONIC(SONIC_QOS ",\n@\"pfcwd_sw_enable\": \"\"\n " SONIC_QOS_END), "WD004"},
    {SONIC(SONIC_QOS ",\n@\"scheduler\": \"s\"\n " SONIC_QOS_END), LISTED},
    {SONIC(" \"PORT_QOS_MAP\": {\"Ethernet0\": {\n@\"pfc_enable\": \"3\",\n  \"dscp_to_tc_map\": \"M\"}},\n"), EFFECT},
    {SONIC(" \"PORT_QOS_MAP\": {\"Ethernet0\": {\n@\"dscp_to_tc_map\": \"M\",\n  \"pfc_enable\": \"3\"}},\n"), EFFECT},
    {SONIC(" \"PORT_QOS_MAP\": {\"Ethernet0\": {\n@\"dot1p_to_tc_map\": \"M\",\n  \"pfc_enable\": \"3\"}},\n"), EFFECT},
    {SONIC(" \"PORT_QOS_MAP\": {\n@\"global\": {\"dscp_to_tc_map\": \"N\"},\n"
           "  \"Ethernet0\": {\"pfc_enable\": \"3\"}},\n"),
     EFFECT},
    {SONIC_WITH("@\"QUEUE\": {\"Ethernet0|3\": {\"scheduler\": \"s\"}},\n"), EFFECT},
    {SONIC_WITH(" \"QUEUE\": {\"Ethernet0|3\": {\"wred_profile\": \"w\"}},\n"
                "@\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\", \"wred_green_enable\": \"true\", "
                "\"green_min_threshold\": \"1000\", \"green_max_threshold\": \"2000\"}},\n"),
     EFFECT},
    {SONIC_WITH(" \"QUEUE\": {\"Ethernet0|3\": {\"wred_profile\": \"w\"}},\n"
                "@\"WRED_PROFILE\": {\"w\": {\"wred_green_enable\": \"true\", "
                "\"green_min_threshold\": \"1000\", \"green_max_threshold\": \"2000\"}},\n"),
     "ECN006"},
    {SONIC_WITH(" \"SCHEDULER\": {\"t\": {\"type\": \"DWRR\",\n@\"pir\": \"1000\",\n  \"weight\": \"10\"}},\n"),
     LISTED},
    {SONIC_WITH(SONIC_BUFFERS "@\"BUFFER_PROFILE\": {\"p\": {\"size\": \"60000\", \"xon\": \"10000\", "
                              "\"xoff\": \"50000\", \"dynamic_th\": \"0\"}},\n"),
     EFFECT},
    {SONIC_WITH(SONIC_BUFFERS
                " \"BUFFER_PROFILE\": {\"p\": {\"size\": \"60000\", \"xon\": \"10000\", "
                "\"xoff\": \"50000\",\n@\"static_th\": \"70000\",\n  \"pool\": \"ingress_lossless_pool\"}},\n"),
     EFFECT},
    {SONIC_WITH(SONIC_BUFFERS " \"BUFFER_PROFILE\": {\"p\": {\"size\": \"60000\", \"xon\": \"10000\", "
                              "\"xoff\": \"50000\",\n@\"xon_offset\": \"2000\",\n  \"dynamic_th\": \"0\"}},\n"),
     EFFECT},
    {SONIC_WITH(SONIC_BUFFERS " \"BUFFER_PROFILE\": {\"p\": {\"size\": \"60000\", \"xoff\": \"50000\",\n"
                              "@\"oddity\": \"1\",\n  \"dynamic_th\": \"0\"}},\n"),
     LISTED},
    {SONIC_WITH(" \"BUFFER_PROFILE\": {\"q\": {\"size\": \"0\", \"static_th\": \"5000\"}},\n"
                "@\"BUFFER_QUEUE\": {\"Ethernet0|3\": {\"profile\": \"q\"}},\n"),
     EFFECT},
    {SONIC_WITH("@\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"size\": \"9000000\", "
                "\"xoff\": \"100000\"}},\n"),
     EFFECT},
    {SONIC_WITH("@\"PFC_WD\": {\"Ethernet0\": {\"action\": \"drop\", \"detection_time\": \"200\", "
                "\"restoration_time\": \"400\"}},\n"),
     EFFECT},
    {SONIC_WITH(" \"PFC_WD\": {\"Ethernet0\": {\"detection_time\": \"400\"},\n"
                "@\"GLOBAL\": {\"POLL_INTERVAL\": \"300\"},\n  \"Ethernet4\": {\"detection_time\": \"400\"}},\n"),
     EFFECT},
    {SONIC_WITH("@\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"40m\"}},\n"), EFFECT},
    {SONIC_WITH(" \"BUFFER_PG\": {\"Ethernet0|3\": {\"profile\": \"NULL\"}},\n"
                "@\"DEFAULT_LOSSLESS_BUFFER_PARAMETER\": {\"AZURE\": {\"default_dynamic_th\": \"1\"}},\n"),
     EFFECT},
    {SONIC_WITH("@\"BUFFER_PORT_INGRESS_PROFILE_LIST\": {\"Ethernet0\": {\"profile_list\": \"p\"}},\n"),
     NONE ": a port's profiles again"},
    {SONIC_WITH("@\"LOSSLESS_TRAFFIC_PATTERN\": {\"AZURE\": {\"mtu\": \"1024\", \"small_packet_percentage\": "
                "\"100\"}},\n"),
     NONE ": what the headroom formula takes anyway"},
    {SONIC_WITH("@\"BUFFER_QUEUE\": {\"card|asic0|Ethernet0|3\": {\"profile\": \"p\"}},\n"), LISTED},
    {SONIC_WITH("@\"SWITCH_TRIMMING\": {\"GLOBAL\": {\"size\": \"128\"}},\n"), LISTED},
    {SONIC_WITH("@\"DSCP_TO_FC_MAP\": {\"M\": {\"26\": \"1\"}},\n"), LISTED},
    {SONIC_WITH("@\"SWITCH_HASH\": {\"GLOBAL\": {\"ecmp_hash\": \"DST_IP\"}},\n"), LISTED},
    {SONIC_WITH("@\"VLAN\": {\"Vlan2\": {\"vlanid\": \"2\"}},\n"), LISTED},
    {SONIC_WITH("@\"TUNNEL_QOS\": {\"T\": {\"mode\": \"pipe\"}},\n"), LISTED},
};

static void test_sonic(void **state)
{
    (void)state;
    TRY_ALL(&config_sonic, sonic_list);
}

/* --- NVUE --- */

#define NVUE " nv set interface swp1 link speed 100G\n"
#define NVUE_ROCE NVUE " nv set qos roce mode lossless\n"

static const struct statement nvue_list[] = {
    {NVUE "@nv set qos roce\n", EFFECT},
    {NVUE_ROCE "@nv set qos roce mode lossy\n", EFFECT},
    {NVUE_ROCE "@nv set qos roce cable-length 30\n", EFFECT},
    {NVUE_ROCE "@nv set qos roce fancy 30\n", LISTED},
    {NVUE_ROCE "@nv set qos congestion-control default-global traffic-class 3 min-threshold 200000\n", EFFECT},
    {NVUE_ROCE "@nv set qos congestion-control default-global traffic-class 3 max-threshold 900000\n", EFFECT},
    {NVUE_ROCE "@nv set qos congestion-control default-global traffic-class 3 probability 50\n", EFFECT},
    {NVUE_ROCE "@nv set qos congestion-control default-global traffic-class 3 ecn disable\n", EFFECT},
    {NVUE_ROCE "@nv set qos congestion-control default-global traffic-class 3 red enable\n", "ECN006"},
    {NVUE_ROCE "@nv set qos pfc default-global switch-priority 4\n", EFFECT},
    {NVUE_ROCE "@nv set qos pfc default-global xoff-threshold 75000\n", EFFECT},
    {NVUE_ROCE " nv set qos pfc default-global xoff-threshold 75000\n"
               "@nv set qos pfc default-global xon-threshold 20000\n",
     EFFECT},
    {NVUE_ROCE " nv set qos pfc default-global xoff-threshold 75000\n"
               "@nv set qos pfc default-global port-buffer 300000\n",
     EFFECT},
    {NVUE_ROCE "@nv set qos pfc default-global cable-length 20\n", EFFECT},
    {NVUE_ROCE "@nv set qos pfc default-global rx disable\n", EFFECT},
    {NVUE_ROCE "@nv set qos pfc default-global tx disable\n", EFFECT},
    {NVUE_ROCE "@nv set qos mapping default-global trust l2\n", EFFECT},
    {NVUE_ROCE "@nv set qos mapping default-global trust port\n", EFFECT},
    {NVUE_ROCE "@nv set qos mapping default-global dscp 26 switch-priority 5\n", EFFECT},
    {NVUE_ROCE " nv set qos mapping default-global trust l2\n"
               "@nv set qos mapping default-global pcp 3 switch-priority 5\n",
     EFFECT},
    {NVUE_ROCE "@nv set qos egress-queue-mapping default-global switch-priority 2 traffic-class 5\n", EFFECT},
    {NVUE_ROCE "@nv set qos egress-scheduler default-global traffic-class 3 bw-percent 80\n", EFFECT},
    {NVUE_ROCE "@nv set qos egress-scheduler default-global traffic-class 3 mode strict\n", EFFECT},
    {NVUE_ROCE "@nv set qos egress-shaper X traffic-class 3 port-max-rate 100\n", LISTED},
    {NVUE_ROCE "@nv set qos traffic-pool roce-lossless memory-percent 90\n", NONE ": a fabric has one buffer"},
    {NVUE_ROCE "@nv set qos remark default-global rewrite l3\n", "MAP004"},
    {NVUE_ROCE "@nv set qos remark default-global switch-priority 3 dscp 10\n", NONE ": nothing says rewrite"},
    {NVUE_ROCE
     " nv set qos remark default-global rewrite l3\n@nv set qos remark default-global switch-priority 3 dscp 10\n",
     "MAP004"},
    {NVUE_ROCE "@nv set qos link-pause X port-buffer 10000\n", LISTED},
    {NVUE_ROCE "@nv set interface swp1 qos link-pause profile X\n", "MAP007"},
    {NVUE_ROCE "@nv set interface swp1 qos pfc-watchdog state enable\n", EFFECT},
    {NVUE_ROCE " nv set interface swp1 qos pfc-watchdog\n@nv set qos pfc-watchdog polling-interval 200\n", EFFECT},
    {NVUE_ROCE " nv set interface swp1 qos pfc-watchdog\n@nv set qos pfc-watchdog robustness 5\n", EFFECT},
    {NVUE_ROCE "@nv set interface swp1 qos pfc profile GONE\n", "MAP007"},
    {NVUE_ROCE "@nv set interface swp1 qos buffer lossless 3\n", LISTED},
    {NVUE_ROCE "@nv set interface swp1 link mtu 9000\n", EFFECT},
    {NVUE_ROCE "@nv set nve vxlan encapsulation dscp action set\n", "MAP004"},
    {NVUE_ROCE "@nv set qos advance-buffer-config default-global ingress-pool 0 memory-percent 50\n", LISTED},
    {NVUE_ROCE "@nv unset qos roce\n", LISTED},
};

static void test_nvue(void **state)
{
    (void)state;
    TRY_ALL(&config_nvue, nvue_list);
}

/* --- Junos --- */

#define JUNOS " set system host-name x\n set interfaces et-0/0/1 description y\n"
#define COS " set class-of-service "
#define JUNOS_CLASS COS "forwarding-classes class R queue-num 4 no-loss pfc-priority 3\n"
#define JUNOS_MAP                                                                                                      \
    COS "classifiers dscp D forwarding-class R loss-priority low code-points 011010\n" COS                             \
        "interfaces et-* unit * classifiers dscp D\n"
#define JUNOS_PFC                                                                                                      \
    COS "congestion-notification-profile P input dscp code-point 011010 pfc\n" COS                                     \
        "congestion-notification-profile P output ieee-802.1 code-point 011 flow-control-queue 4\n" COS                \
        "interfaces et-* congestion-notification-profile P\n"
#define JUNOS_QUEUE                                                                                                    \
    COS "scheduler-maps M forwarding-class R scheduler S\n" COS "interfaces et-* scheduler-map M\n" COS                \
        "drop-profiles E interpolate fill-level [ 10 50 ]\n" COS                                                       \
        "drop-profiles E interpolate drop-probability [ 0 100 ]\n" COS                                                 \
        "schedulers S drop-profile-map loss-priority any protocol any drop-profile E\n" COS                            \
        "schedulers S explicit-congestion-notification\n"
#define JUNOS_ALL JUNOS JUNOS_CLASS JUNOS_MAP JUNOS_PFC JUNOS_QUEUE
#define SET "@set class-of-service "

static const struct statement junos_list[] = {
    {JUNOS JUNOS_MAP JUNOS_PFC SET "forwarding-classes class R queue-num 4 no-loss pfc-priority 3\n", EFFECT},
    {JUNOS_ALL SET "forwarding-classes class R pfc-priority 5\n", "PFC007"},
    {JUNOS_ALL SET "forwarding-classes class R colour 5\n", LISTED},
    {JUNOS_ALL SET "classifiers dscp D forwarding-class R loss-priority low code-points ef\n", EFFECT},
    {JUNOS_ALL SET "classifiers dscp D forwarding-class GONE loss-priority low code-points ef\n", "MAP007"},
    {JUNOS_ALL SET "classifiers dscp D import default\n", EFFECT},
    {JUNOS_ALL SET "classifiers dscp-ipv6 D6 forwarding-class R loss-priority low code-points 011010\n", LISTED},
    {JUNOS_ALL COS "classifiers ieee-802.1 I forwarding-class R loss-priority low code-points 011\n" SET
                   "interfaces et-0/0/1 unit 0 classifiers ieee-802.1 I\n",
     EFFECT},
    {JUNOS_ALL COS "classifiers dscp D forwarding-class R loss-priority low code-points mine\n" SET
                   "code-point-aliases dscp mine 010101\n",
     EFFECT},
    {JUNOS JUNOS_CLASS JUNOS_MAP JUNOS_QUEUE SET "interfaces et-* congestion-notification-profile P\n", "MAP007"},
    {JUNOS_ALL SET "congestion-notification-profile P input cable-length 300\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P input dscp code-point 011010 pfc mru 4000\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P input ieee-802.1 code-point 100 pfc\n", "SYN001"},
    {JUNOS_ALL SET "congestion-notification-profile P pfc-watchdog\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P pfc-watchdog detection 5\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P pfc-watchdog poll-interval 500\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P pfc-watchdog recovery 500\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P pfc-watchdog watchdog-action forward\n", EFFECT},
    {JUNOS_ALL SET "congestion-notification-profile P pfc-watchdog mood calm\n", LISTED},
    {JUNOS_ALL SET "schedulers S priority strict-high\n", EFFECT},
    {JUNOS_ALL SET "schedulers S transmit-rate percent 40\n", EFFECT},
    {JUNOS_ALL SET "schedulers S transmit-rate 10g\n", LISTED},
    {JUNOS_ALL SET "schedulers S buffer-size percent 40\n", NONE ": room of its own, of which no fabric file speaks"},
    {JUNOS_ALL SET "schedulers S shaping-rate 40g\n", NONE ": a limit of the line's rate"},
    {JUNOS_ALL SET "schedulers S wait-a-while\n", LISTED},
    {JUNOS_ALL SET "drop-profiles E interpolate fill-level 5\n", "ECN002"},
    {JUNOS_ALL SET "shared-buffer ingress buffer-partition lossless dynamic-threshold 9\n", EFFECT},
    {JUNOS_ALL SET "shared-buffer ingress buffer-partition lossless percent 60\n", NONE ": a fabric has one buffer"},
    {JUNOS_ALL SET "shared-buffer egress buffer-partition lossy percent 160\n", "SYN001"},
    {JUNOS_ALL COS "rewrite-rules dscp W forwarding-class R loss-priority low code-point ef\n" COS
                   "interfaces et-0/0/1 unit 0 rewrite-rules dscp W\n" SET
                   "rewrite-rules dscp W forwarding-class R loss-priority low code-point ef\n",
     "MAP004"},
    {JUNOS_ALL SET "interfaces et-0/0/1 magic 3\n", LISTED},
    {JUNOS_ALL SET "interfaces et-0/0/1 unit 0 forwarding-class R\n", NONE ": the classifier goes before it"},
    {JUNOS_ALL "@set interfaces et-0/0/1 mtu 9216\n", EFFECT},
    {JUNOS_ALL "@set interfaces et-0/0/1 speed 200g\n", EFFECT},
    {JUNOS_ALL "@set interfaces et-0/0/1 gigether-options fec fec91\n", EFFECT},
    {JUNOS_ALL "@set interfaces et-0/0/1 gigether-options flow-control\n", "PFC005"},
    {JUNOS_ALL "@set interfaces et-0/0/1 disable\n", EFFECT},
    {JUNOS_ALL "@set chassis fpc 0 pic 0 port 1 speed 200g\n", EFFECT},
    {JUNOS_ALL "@deactivate class-of-service interfaces et-* congestion-notification-profile\n", EFFECT},
    {JUNOS_ALL "@delete class-of-service schedulers S explicit-congestion-notification\n", EFFECT},
    {JUNOS_ALL "@copy interfaces et-0/0/1 to et-0/0/2\n", LISTED},
    {JUNOS_ALL "@set firewall family inet filter F term 1 then forwarding-class R\n", LISTED},
    {JUNOS_ALL "@set forwarding-options enhanced-hash-key ecmp-dlb flowlet\n", EFFECT},
};

static void test_junos(void **state)
{
    (void)state;
    TRY_ALL(&config_junos, junos_list);
}

/* --- hosts --- */

#define HOST " mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0\n"
#define HOST_TRUST " mlnx_qos -i eth0 --trust dscp\n"

static const struct statement host_list[] = {
    {HOST "@mlnx_qos -i eth0 --trust dscp\n", EFFECT},
    {HOST "@mlnx_qos -i eth0 --pfc 0,0,0,0,1,0,0,0\n", EFFECT},
    {HOST "@mlnx_qos -i eth0 --dscp2prio set,26,4\n", EFFECT},
    {HOST "@mlnx_qos -i eth0 --tsa ets,ets,ets,ets,ets,ets,strict,ets\n", EFFECT},
    {HOST " mlnx_qos -i eth0 --tsa ets,ets,ets,ets,ets,ets,strict,ets\n"
          "@mlnx_qos -i eth0 --tcbw 25,0,0,75,0,0,0,0\n",
     EFFECT},
    {HOST "@mlnx_qos -i eth0 --cable_len 30\n", EFFECT},
    {HOST "@mlnx_qos -i eth0 --prio2buffer 0,0,0,1,0,0,0,0\n", NONE ": a buffer with others is HOST001"},
    {HOST "@mlnx_qos -i eth0 --buffer_size 1000,2000,0,0,0,0,0,0\n", NONE ": a buffer without bytes is HOST001"},
    {HOST "@mlnx_qos -i eth0 --ratelimit 1,1,1,1,1,1,1,1\n", LISTED},
    {HOST "@mlnx_qos -i eth0 --pfc\n", LISTED},
    {HOST "@mlnx_qos -i eth0 --prio_tc 0,1,2,3,4,5,6,9\n", LISTED},
    {HOST "@mlnx_qos -i eth0 -d os\n", EFFECT},
    {HOST HOST_TRUST " ibdev\n nic=eth0 rdma=mlx5_0\n@cma_roce_tos -d mlx5_0 -p 1 -t 32\n", "HOST001"},
    {HOST HOST_TRUST " nic=eth0 rdma=mlx5_0\n@echo 32 >/sys/class/infiniband/mlx5_0/tc/1/traffic_class\n", "HOST001"},
    {HOST "@echo 48 >/sys/class/net/eth0/ecn/roce_np/cnp_dscp\n", EFFECT},
    {HOST "@echo 6 >/sys/class/net/eth0/ecn/roce_np/cnp_802p_prio\n", EFFECT},
    {HOST "@echo 1 >/sys/class/net/eth0/ecn/roce_rp/enable/3\n", EFFECT},
    {HOST "@echo 0 >/sys/class/net/eth0/ecn/roce_np/enable/3\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set ROCE_CC_PRIO_MASK_P1=8\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set ROCE_CC_PRIO_MASK_P1=16\n", "HOST004"},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set CNP_DSCP_P1=40\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set DCBX_WILLING_P1=1\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set RPG_BYTE_RESET_P1=1000\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set CLAMP_TGT_RATE_P1=1\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set RPG_GD_P1=10\n", EFFECT},
    {HOST " nic=eth0 rdma=mlx5_0\n@mlxconfig -d mlx5_0 set RPG_ODD_P1=10\n", LISTED},
    {HOST
     " nic=eth0 rdma=mlx5_0\n mlxconfig -d mlx5_0 set DCBX_WILLING_P1=1\n@mlxconfig -d mlx5_0 set LLDP_NB_DCBX_P1=0\n",
     EFFECT},
    {HOST "@dcb pfc set dev eth0 prio-pfc all:off 4:on\n", EFFECT},
    {HOST "@dcb pfc set dev eth0 delay 100\n", EFFECT},
    {HOST "@dcb app replace dev eth0 dscp-prio 26:4\n", EFFECT},
    {HOST "@dcb app replace dev eth0 default-prio 3\n", LISTED},
    {HOST "@dcb ets set dev eth0 tc-tsa all:ets tc-bw 0:50 3:50\n", EFFECT},
    {HOST "@dcb ets set dev eth0 willing on\n", EFFECT},
    {HOST "@dcb buffer set dev eth0 prio-buffer 3:1 buffer-size 1:256K\n", LISTED},
    {HOST "@lldptool -T -i eth0 -V PFC enabled=4\n", EFFECT},
    {HOST "@lldptool -T -i eth0 -V PFC willing=yes\n", EFFECT},
    {HOST "@lldptool -T -i eth0 -V ETS-CFG willing=yes\n", LISTED},
    {HOST "@ip link set dev eth0 mtu 4200\n", EFFECT},
    {HOST "@export NCCL_IB_TC=106\n", EFFECT},
    {HOST "@ethtool -A eth0 rx on tx on\n", "PFC005"},
    {HOST "@Priority trust state: dscp\n", EFFECT},
    {HOST "@DCBX_WILLING_P1 True(1)\n", EFFECT},
};

static void test_host(void **state)
{
    (void)state;
    TRY_ALL(&config_host, host_list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nxos), cmocka_unit_test(test_eos),   cmocka_unit_test(test_sonic),
        cmocka_unit_test(test_nvue), cmocka_unit_test(test_junos), cmocka_unit_test(test_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
