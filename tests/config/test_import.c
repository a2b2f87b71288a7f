/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importers: what a configuration means where it is silent, doubled or odd, and texts made to hurt.
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
#include "fabric/switches.h"
#include "seed.h"

static uint32_t said_line(const struct imported *got, const char *device, uint32_t port, const char *path)
{
    return config_where(&got->set, device, port, path).line;
}

/* --- any system --- */

#define NXOS_QOS                                                                                                       \
    "class-map type qos match-any R\n  match dscp 26\n"                                       /* 1 */                  \
    "policy-map type qos P\n  class R\n    set qos-group 3\n"                                 /* 3 */                  \
    "policy-map type network-qos N\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n" /* 6 */                  \
    "system qos\n  service-policy type network-qos N\n"                                       /* 9 */

static void test_judged(void **state)
{
    static const char text[] = NXOS_QOS "interface Ethernet1/1-2\n" /* 11 */
                                        "  mtu 9216\n"
                                        "  priority-flow-control mode on\n"
                                        "  service-policy type qos input P\n"
                                        "interface Ethernet1/3\n" /* 15: small frames, nothing classified */
                                        "  priority-flow-control mode on\n"
                                        "interface Ethernet1/4\n" /* 17: down */
                                        "  priority-flow-control mode on\n"
                                        "  shutdown\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "x.cfg", text);
    assert_int_equal(notes_of(&got, "MTU001", 15), 1);
    assert_int_equal(notes_of(&got, "MTU001", 0), 1);
    assert_int_equal(notes_of(&got, "PFC008", 16), 1);
    assert_int_equal(notes_of(&got, "PFC008", 0), 1);
    assert_int_equal(notes_of(&got, "MAP006", 3), 1);                    /* DSCP 48 is in no class of the policy */
    assert_int_equal(said_line(&got, "x", CONFIG_NONE, "watchdog"), 11); /* at the head of what turns PFC on */
    import_release(&got);
}

static void test_judged_with_hosts(void **state)
{
    struct fabric_errors errors = {0};
    struct config_set set;
    struct origin_map map;
    const char *yaml, *leaf = NXOS_QOS "interface Ethernet1/1\n  priority-flow-control mode on\n"
                                       "  service-policy type qos input P\n";

    (void)state;
    config_set_init(&set);
    assert_int_equal(config_read(&set, &config_nxos, "x.cfg", leaf, strlen(leaf), NULL, &errors), 0);
    assert_int_equal(config_read(&set, &config_host, "h.sh", "mlnx_qos -i eth0 --trust dscp\n", 30, NULL, &errors), 0);
    config_write(&set, "x", &yaml, &map);
    config_audit(&set);
    for (uint32_t n = 0; n < set.notes; n++) /* what adapters send is known then, and the rule itself looks */
        assert_true(!set.note[n].rule || strcmp(set.note[n].rule, "MAP006") != 0);
    config_set_release(&set);
}

/* Classified by what no map can hold: then it is not known that nothing gets into the class. */
static void test_judged_unclear(void **state)
{
    static const char eos[] = "ip access-list A\n   10 permit udp any any eq 4791\n"
                              "class-map type qos match-any C\n   match ip access-group A\n"
                              "policy-map type quality-of-service P\n   class C\n      set traffic-class 3\n"
                              "qos map dscp 24-31 to traffic-class 1\n"
                              "interface Ethernet1\n   no switchport\n   priority-flow-control on\n"
                              "   priority-flow-control priority 3 no-drop\n";
    char with[sizeof(eos) + 64];
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "x",
                eos + strlen("ip access-list A\n   10 permit udp any any eq 4791\n"
                             "class-map type qos match-any C\n   match ip access-group A\n"
                             "policy-map type quality-of-service P\n   class C\n"
                             "      set traffic-class 3\n"));
    assert_int_equal(notes_of(&got, "PFC008", 0), 1);
    import_release(&got);
    snprintf(with, sizeof(with), "%s   service-policy type qos input P\n", eos);
    import_text(&got, &config_eos, "x", with);
    assert_int_equal(notes_of(&got, "PFC008", 0), 0);
    import_release(&got);
}

/* A port's own line, also where the fabric file has the value once for the device. */
static void test_where(void **state)
{
    static const char text[] = NXOS_QOS "interface Ethernet1/1\n" /* 11 */
                                        "  priority-flow-control mode on\n"
                                        "interface Ethernet1/2\n"
                                        "  priority-flow-control mode on\n"; /* 14 */
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "x.cfg", text);
    assert_int_equal(said_line(&got, "x", 0, "pfc"), 12);
    assert_int_equal(said_line(&got, "x", 1, "pfc"), 14);
    assert_int_equal(said_line(&got, "x", 1, "classes.3"), 8);              /* what is below */
    assert_int_equal(said_line(&got, "x", 1, "classes.3.lossless.odd"), 8); /* what is around */
    assert_int_equal(said_line(&got, "x", 1, "nothing"), 0);
    assert_int_equal(said_line(&got, "y", 1, "pfc"), 0);
    import_release(&got);
}

/* --- lines --- */

static void test_banner(void **state)
{
    static const char nxos[] = "banner motd #\nhostname wrong\ninterface Ethernet1/9\n  mtu 9216\n#\nhostname right\n"
                               "interface Ethernet1/1\n  qos odd\n"; /* 8 */
    static const char eos[] = "banner login\nhostname wrong\ninterface Ethernet9\nEOF\nhostname right\n"
                              "interface Ethernet1\n   qos odd\n";
    static const char open[] = "banner motd ^\nhostname right\ninterface Ethernet1/1\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "x", nxos);
    assert_int_equal(got.set.device[0].ports, 1);
    assert_int_equal(notes_of(&got, NULL, 8), 1); /* lines are counted on */
    settings_at(&got, "right", 0);
    import_release(&got);
    import_text(&got, &config_eos, "x", eos);
    assert_int_equal(got.set.device[0].ports, 1);
    assert_int_equal(notes_of(&got, NULL, 7), 1);
    settings_at(&got, "right", 0);
    import_release(&got);
    import_text(&got, &config_nxos, "x", open); /* nothing ends it: the file is not swallowed */
    settings_at(&got, "right", 0);
    import_release(&got);
}

static void test_line_ends(void **state)
{
    static const char unix_text[] =
        "hostname a\n" NXOS_QOS "interface Ethernet1/1\n\tmtu 9216\n\tservice-policy type qos"
        " input P\n\tpriority-flow-control mode on\n";
    char text[2 * sizeof(unix_text) + 8] = "\xef\xbb\xbf", *to = text + 3;
    struct imported plain, odd;

    (void)state;
    for (const char *c = unix_text; *c; c++) {
        if (*c == '\n') *to++ = '\r';
        *to++ = *c;
    }
    *to = 0;
    import_text(&plain, NULL, "x", unix_text);
    import_text(&odd, NULL, "x", text); /* a byte order mark, and CR LF */
    assert_string_equal(plain.yaml, odd.yaml);
    assert_int_equal(settings_at(&odd, "a", 0)->pfc_tx, 8);
    assert_int_equal(plain.set.notes, odd.set.notes);
    import_release(&plain);
    import_release(&odd);
}

/* Short names, lists with spaces, and lists of any length. */
static void test_interface_names(void **state)
{
    char text[8192] = "interface Ethernet", *to = text + strlen(text);
    struct imported got;

    (void)state;
    for (int i = 1; i <= 300; i++) /* far more than a word or a hundred of them */
        to += snprintf(to, 32, "%s1/%d", i == 1 ? "" : i % 2 ? "," : ", Ethernet", i);
    snprintf(to, sizeof(text) - (size_t)(to - text), "%s",
             "\n  mtu 9216\ninterface eth 2/1\n  mtu 9216\ninterface po5\n  mtu 9216\n");
    import_text(&got, &config_nxos, "x", text);
    assert_int_equal(got.set.device[0].ports, 301);
    for (unsigned p = 0; p < 301; p++)
        assert_int_equal(settings_at(&got, "x", p)->mtu_bytes, 9216);
    assert_string_equal(got.set.device[0].port[300].name, "Ethernet2/1");
    import_release(&got);
    import_text(&got, &config_eos, "x", "interface Et1-2, Ethernet4\n   mtu 9214\ninterface Vlan3\n   mtu 1500\n");
    assert_int_equal(got.set.device[0].ports, 3);
    assert_string_equal(got.set.device[0].port[2].name, "Ethernet4");
    assert_int_equal(settings_at(&got, "x", 2)->mtu_bytes, 9216);
    import_release(&got);
}

/* --- NX-OS --- */

static void test_nxos_routed(void **state)
{
    static const char text[] = "class-map type qos match-all R\n  match cos 3\n"
                               "policy-map type qos P\n  class R\n    set qos-group 3\n"
                               "policy-map type network-qos N\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n"
                               "system qos\n  service-policy type network-qos N\n"
                               "interface port-channel5\n" /* 11 */
                               "  no switchport\n  service-policy type qos input P\n"
                               "interface Ethernet1/1\n  channel-group 5 mode active\n  priority-flow-control mode on\n"
                               "interface Ethernet1/2\n  switchport\n  service-policy type qos input P\n"
                               "  priority-flow-control mode on\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "x", text);
    assert_int_equal(notes_of(&got, "MAP003", 13), 1);
    assert_int_equal(notes_of(&got, "MAP003", 0), 1);
    import_release(&got);
    import_text(&got, &config_nxos, "x", "hostname x\ninterface Ethernet1/1\n  priority-flow-control mode on\n");
    assert_int_equal(notes_of(&got, "PFC002", 3), 1); /* no class pauses */
    assert_int_equal(settings_at(&got, "x", 0)->pfc_tx, 0);
    import_release(&got);
}

static void test_nxos_shares(void **state)
{
    static const char *const heads =
        NXOS_QOS "interface Ethernet1/1\nsystem qos\n  service-policy type queuing output Q\n"
                 "policy-map type queuing Q\n"; /* 14 */
    char text[1024];
    struct imported got;

    (void)state;
    /* half of the line fixed, all of the rest for another: three quarters would be wrong, and so would a complaint */
    snprintf(text, sizeof(text),
             "%s  class type queuing c-out-8q-q3\n    bandwidth percent 50\n  class type queuing c-out-8q-q2\n"
             "    bandwidth remaining percent 60\n  class type queuing c-out-8q-q-default\n"
             "    bandwidth remaining percent 40\n",
             heads);
    import_text(&got, &config_nxos, "x", text);
    assert_int_equal(notes_of(&got, "SCH001", 0), 0);
    assert_int_equal(settings_at(&got, "x", 0)->queue[3].share_ppm, 500000);
    assert_int_equal(settings_at(&got, "x", 0)->queue[2].share_ppm, 300000);
    import_release(&got);
    snprintf(text, sizeof(text),
             "%s  class type queuing c-out-8q-q3\n    bandwidth remaining percent 70\n"
             "  class type queuing c-out-8q-q-default\n    bandwidth remaining percent 40\n",
             heads);
    import_text(&got, &config_nxos, "x", text);
    assert_int_equal(notes_of(&got, "SCH001", 16), 1); /* the larger */
    import_release(&got);
}

/* --- EOS --- */

static void test_eos_policy(void **state)
{
    static const char text[] = "ip access-list FIRST\n   10 permit ip any any dscp cs1\n"
                               "class-map type qos match-any A\n   match ip access-group FIRST\n   match dscp 30-31\n"
                               "class-map type qos match-any B\n   match dscp 31 32\n"
                               "policy-map type quality-of-service P\n" /* 8 */
                               "   class A\n      set traffic-class 5\n"
                               "   class B\n      set traffic-class 6\n"
                               "   class class-default\n      set traffic-class 2\n"
                               "interface Ethernet1\n   no switchport\n   service-policy type qos input P\n"
                               "interface Ethernet2\n   no switchport\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "x", text);
    const struct fabric_settings *port = settings_at(&got, "x", 0);
    assert_int_equal(port->dscp_to_tc[8], 5);
    assert_int_equal(port->dscp_to_tc[31], 5); /* of two classes the first */
    assert_int_equal(port->dscp_to_tc[32], 6);
    assert_int_equal(port->dscp_to_tc[26], 2);
    assert_int_equal(settings_at(&got, "x", 1)->dscp_to_tc[26], 3);
    assert_int_equal(said_line(&got, "x", 0, "dscp-map.32"), 12);
    import_release(&got);
}

static void test_eos_untrusting(void **state)
{
    static const char text[] = "qos map cos 5 to traffic-class 5\n"
                               "interface Ethernet1\n   no qos trust\n   qos cos 5\n"
                               "interface Ethernet2\n   no switchport\n   no qos trust\n   qos dscp 46\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "x", text);
    for (unsigned d = 0; d < 64; d++) {
        assert_int_equal(settings_at(&got, "x", 0)->dscp_to_tc[d], 5);
        assert_int_equal(settings_at(&got, "x", 1)->dscp_to_tc[d], 5);
    }
    assert_int_equal(settings_at(&got, "x", 0)->trust, SW_TRUST_DSCP);
    import_release(&got);
}

static void test_eos_channel(void **state)
{
    static const char text[] =
        "qos profile R\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n"
        "interface Port-Channel7\n   no switchport\n   service-profile R\n"
        "interface Ethernet1-2\n   channel-group 7 mode active\n"
        "interface Ethernet3\n   channel-group 7 mode active\n   qos trust cos\n"
        "qos map exp 3 to traffic-class 7\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "x", text);
    assert_int_equal(got.set.device[0].ports, 3); /* the channel is none */
    assert_int_equal(settings_at(&got, "x", 0)->pfc_tx, 8);
    assert_int_equal(settings_at(&got, "x", 1)->pfc_tx, 8);
    assert_int_equal(settings_at(&got, "x", 2)->pfc_tx, 0); /* lines of its own */
    assert_int_equal(settings_at(&got, "x", 2)->pcp_to_tc[3], 3);
    assert_int_equal(notes_of(&got, "MAP007", 0), 0);
    import_release(&got);
}

/* --- SONiC --- */

#define SONIC_HEAD                                                                                                     \
    "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"a\"}},\n\"PORT\": {\"Ethernet0\": {\"speed\": "            \
    "\"100000\"},"                                                                                                     \
    " \"Ethernet4\": {\"speed\": \"100000\"}},\n" /* lines 1, 2 */

static void test_sonic_unpaused(void **state)
{
    static const char text[] = SONIC_HEAD "\"BUFFER_PROFILE\": {\"p\": {\"size\": \"60000\", \"xon\": \"10000\",\n"
                                          " \"xoff\": \"50000\", \"dynamic_th\": \"0\"}},\n"
                                          "\"BUFFER_PG\": {\"Ethernet0|3\": {\"profile\": \"p\"},\n" /* 5 */
                                          " \"Ethernet4|3\": {\"profile\": \"p\"}}}\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_sonic, "x", text);
    assert_int_equal(settings_at(&got, "a", 0)->pfc_tx, 0); /* nothing enables it */
    assert_int_equal(settings_at(&got, "a", 0)->pfc_rx, 0);
    assert_true(settings_at(&got, "a", 0)->pg[3].lossless);
    assert_int_equal(notes_of(&got, "HR007", 5), 1);
    assert_int_equal(notes_of(&got, "HR007", 0), 1); /* once for all ports */
    import_release(&got);
}

/* A file of buffers alone says nothing about PFC. */
static void test_sonic_buffers_alone(void **state)
{
    static const char text[] = "{\"BUFFER_PROFILE\": {\"p\": {\"size\": \"60000\", \"xon\": \"10000\",\n"
                               " \"xoff\": \"50000\", \"dynamic_th\": \"0\"}},\n"
                               "\"BUFFER_PG\": {\"Ethernet0|3\": {\"profile\": \"p\"}}}\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_sonic, "x", text);
    assert_int_equal(notes_of(&got, "HR007", 0), 0);
    assert_int_equal(settings_at(&got, "x", 0)->pfc_tx, 8);
    import_release(&got);
}

/* The switch makes the lossless group itself where it knows the cable. */
static void test_sonic_own_groups(void **state)
{
    static const char text[] = SONIC_HEAD "\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"40m\"}},\n"
                                          "\"BUFFER_PROFILE\": {\"lossy\": {\"size\": \"0\"}},\n"
                                          "\"BUFFER_PG\": {\"Ethernet0|0\": {\"profile\": \"lossy\"}},\n"
                                          "\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3\"},\n"
                                          " \"Ethernet4\": {\"pfc_enable\": \"3\"}}}\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_sonic, "x", text);
    assert_true(settings_at(&got, "a", 0)->pg[3].lossless);
    assert_false(settings_at(&got, "a", 1)->pg[3].lossless);
    assert_int_equal(said_line(&got, "a", CONFIG_NONE, "watchdog"), 6);
    assert_int_equal(said_line(&got, "a", 0, "classes.3.ecn"), 6); /* nothing marks: told where PFC is on */
    import_release(&got);
}

static void test_sonic_twice(void **state)
{
    static const char text[] = SONIC_HEAD "\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3\"}},\n"
                                          "\"PFC_WD\": {\"Ethernet0\": {\"detection_time\": \"200\"}},\n" /* 4 */
                                          "\"VLAN\": {\"Vlan1\": {}},\n"
                                          "\"VLAN\": {\"Vlan2\": {}},\n"
                                          "\"PFC_WD\": {\"GLOBAL\": {\"POLL_INTERVAL\": \"200\"}}}\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_sonic, "x", text);
    assert_int_equal(notes_of(&got, "SYN001", 4), 1);
    assert_int_equal(notes_of(&got, "SYN001", 0), 1);
    assert_int_equal(notes_of(&got, NULL, 5), 1); /* a table that is not read is only listed */
    assert_false(got.fabric->sw[0].watchdog.on);  /* as a program that reads JSON has it */
    import_release(&got);
}

static uint32_t links_between(const struct config_set *set, const char *a, const char *b)
{
    uint32_t count = 0;

    for (uint32_t l = 0; l < set->links; l++) {
        const char *x = set->device[set->link[l].a].name, *y = set->device[set->link[l].b].name;
        count += (!strcmp(x, a) && !strcmp(y, b)) || (!strcmp(x, b) && !strcmp(y, a));
    }
    return count;
}

/* Neighbours that have a configuration too are links, in whatever order the files come. */
static void test_sonic_neighbours(void **state)
{
    static const char a[] =
        SONIC_HEAD "\"DEVICE_NEIGHBOR\": {\"Ethernet0\": {\"name\": \"b\", \"port\": \"Eth1\"},\n"
                   " \"Ethernet4\": {\"name\": \"unheard-of\", \"port\": \"Ethernet9\"},\n"
                   " \"Ethernet8\": {\"name\": \"b\", \"port\": \"Ethernet2\"}}}\n"; /* 5: no such port */
    static const char b[] = "hostname b\ninterface Ethernet1\n   no switchport\ninterface Ethernet2\n";
    struct fabric_errors errors = {0};
    struct config_set set;
    struct origin_map map;
    const char *yaml;

    (void)state;
    for (int order = 0; order < 2; order++) {
        config_set_init(&set);
        for (int i = 0; i < 2; i++) {
            bool first = i == order;
            assert_int_equal(config_read(&set, first ? &config_sonic : &config_eos, first ? "a.json" : "b.cfg",
                                         first ? a : b, strlen(first ? a : b), NULL, &errors),
                             0);
        }
        config_write(&set, "x", &yaml, &map);
        assert_int_equal(links_between(&set, "a", "b"), 1);
        assert_int_equal(set.links, 1);
        assert_int_equal(set.devices, 2); /* of the other nothing is known but its name */
        bool listed = false;
        for (uint32_t n = 0; n < set.notes; n++)
            listed = listed || (!set.note[n].rule && !set.note[n].assumed && set.note[n].at.line == 5);
        assert_true(listed);
        config_set_release(&set);
    }
}

/* --- texts made to hurt --- */

static void test_limit(void **state)
{
    /* Both sides of the limit, with a text that is quick to read. */
    size_t most = CONFIG_TEXT_MAX_BYTES;
    char *text = malloc(most + 2);
    struct fabric_errors errors = {0};
    struct config_set set;

    (void)state;
    assert_non_null(text);
    memset(text, '!', most + 1); /* remarks */
    for (size_t i = 0; i <= most; i += 4096)
        text[i] = '\n';
    memcpy(text, "hostname big\n", 13);
    text[most + 1] = 0;
    refused(&config_nxos, text, most + 1, "more than 16 MiB");
    text[most] = 0;
    config_set_init(&set);
    assert_int_equal(config_read(&set, &config_nxos, "big.cfg", text, most, NULL, &errors), 0);
    assert_string_equal(set.device[0].name, "big");
    config_set_release(&set);
    free(text);
}

struct built {
    char *text;
    size_t length;
};

static struct built repeat(const char *head, const char *part, size_t times, const char *tail)
{
    size_t each = strlen(part), length = strlen(head) + each * times + strlen(tail);
    char *text = malloc(length + 1), *to = stpcpy(text, head);

    for (size_t i = 0; i < times; i++)
        to = mempcpy(to, part, each);
    memcpy(to, tail, strlen(tail) + 1);
    return (struct built){text, length};
}

static void read_hostile(const struct config_format *format, struct built text)
{
    struct fabric_errors errors = {0};
    struct origin_map map;
    struct config_set set;
    const char *yaml;

    config_set_init(&set);
    int result = config_read(&set, format, "hostile", text.text, text.length, NULL, &errors);
    assert_true(result == 0 || errors.count > 0); /* understood, or a reason */
    if (result == 0) config_write(&set, "x", &yaml, &map);
    config_set_release(&set);
    free(text.text);
}

/* Very much shows work that grows too fast, to whom the build as shipped is enough. */
static size_t many(unsigned times)
{
    return test_rounds_of(times);
}

/* A port too many is left out, and listed. */
static void test_ports(void **state)
{
    static const struct {
        const struct config_format *format;
        const char *text;
    } list[] = {
        {&config_nxos, "interface Ethernet1/1-4096\n  mtu 9000\ninterface Ethernet2/1\n  mtu 9000\n"},
        {&config_eos, "interface Ethernet1-4096\n   mtu 9000\ninterface Ethernet4097\n   mtu 9000\n"},
        {&config_nvue, "nv set interface swp1-4096 link speed 100G\n\nnv set interface swp4097 link speed 100G\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct fabric_errors errors = {0};
        struct config_set set;
        unsigned listed = 0;
        config_set_init(&set);
        assert_int_equal(config_read(&set, list[i].format, "x", list[i].text, strlen(list[i].text), NULL, &errors), 0);
        assert_int_equal(set.device[0].ports, 4096);
        for (uint32_t n = 0; n < set.notes; n++)
            listed += set.note[n].at.line == 3 && strstr(set.note[n].message, "more than 4096 ports") != NULL;
        assert_int_equal(listed, 1);
        config_set_release(&set);
    }
}

static void test_hostile(void **state)
{
    static const struct config_format *const lines[] = {&config_nxos, &config_eos};

    (void)state;
    for (int f = 0; f < 2; f++) {
        /* deep blocks; a policy that uses itself; class-maps that name each other; a range of everything */
        char *deep = calloc(1, 300 * 301 / 2 + 300 * 2 + 1), *to = deep;
        for (int i = 0; i < 300; i++)
            to += snprintf(to, (size_t)i + 3, "%*sx\n", i, "");
        read_hostile(lines[f], (struct built){deep, (size_t)(to - deep)});
        read_hostile(lines[f], repeat("policy-map type qos P\n  class P\n    service-policy P\n", "", 0,
                                      "class-map match-any P\n  match class-map P\n"));
        read_hostile(lines[f], repeat("interface Ethernet1/1-512,1/1-512\n", "  mtu 9000\n", many(2000), ""));
        read_hostile(lines[f], repeat("", "interface Ethernet1-1024\n  qos trust dscp\n", many(2000), ""));
        read_hostile(lines[f], repeat("", "banner motd ~\n", many(100000), ""));
        read_hostile(lines[f], repeat("", "banner login\n", many(20000), ""));
        read_hostile(lines[f], repeat("qos profile ", "\xf0\x9f\x92", 5000, "\n")); /* UTF-8 cut short */
        read_hostile(lines[f], repeat("", "policy-map type qos a\n  class b\n    set qos-group 3\n", many(30000), ""));
        read_hostile(lines[f], repeat("x ", "y ", many(30000), "\n"));
    }
    struct built wide = repeat("", "x", 70000, "");
    refused(&config_nxos, wide.text, wide.length, "65536 bytes");
    free(wide.text);
}

static void test_hostile_trees(void **state)
{
    static const struct config_format *const trees[] = {&config_sonic, &config_nvue};

    (void)state;
    for (int f = 0; f < 2; f++) {
        read_hostile(trees[f], repeat("", "{\"A\": ", many(5000), "1"));
        read_hostile(trees[f], repeat("{\"PORT\": {", "\"Ethernet0\": {\"speed\": \"1\"}, ", many(20000), "}}"));
        read_hostile(trees[f], repeat("{", "\"PORT\": {\"Ethernet0\": {}}, ", many(20000), "\"A\": {}}"));
        read_hostile(trees[f], repeat("a: &a [x]\nb: ", "[*a, *a, ", 20, ""));
        read_hostile(trees[f], repeat("- set: &a\n    qos: *a\n", "", 0, ""));
        read_hostile(trees[f], repeat("{\"PORT\": {\"Ethernet0\": {\"alias\": \"", "\xe2\x82", 100, "\"}}}"));
        read_hostile(trees[f], repeat("nv set interface swp1-1000,", "swp1-1000,", many(5000), "swp1 link mtu 9000\n"));
    }
    /* keys of very many ports, each a row of queues */
    read_hostile(&config_sonic,
                 repeat("{\"QUEUE\": {\"Ethernet0", ",Ethernet4", many(50000), "|0-7\": {\"scheduler\": \"s\"}}}"));
    read_hostile(&config_host, repeat("", "mlnx_qos -i e --dscp2prio set,26,3\n", many(50000), ""));
    read_hostile(&config_host, repeat("dcb app replace dev e dscp-prio", " 26:3", many(50000), "\n"));
}

/* A product that a text names has a chip; a name that nobody knows has none. */
static void test_products(void **state)
{
    static const struct {
        const char *path, *text, *model;
    } cases[] = {
        {"leaf.cfg",
         "! Command: show running-config\n! device: leaf (DCS-7060X6-64PE, EOS-4.32.0F)\nqos profile R\n   qos trust "
         "dscp\ninterface Ethernet1\n   service-profile R\n",
         "tomahawk5"},
        {"leaf.cfg",
         "! device: leaf (DCS-9999-64, EOS-4.32.0F)\nqos profile R\n   qos trust dscp\ninterface Ethernet1\n   "
         "service-profile R\n",
         NULL},
        {"leaf.cfg",
         "!  cisco Nexus9000 C9364D-GX2A Chassis\nversion 10.3(3)\nfeature bgp\nhostname leaf\ninterface Ethernet1/1\n "
         " mtu 9216\n",
         "cloudscale-gx2a"},
        {"leaf.yaml",
         "- header:\n    model: MSN3700C\n    nvue-api-version: nvue_v1\n- set:\n    system:\n      hostname: leaf\n   "
         " interface:\n      swp1:\n        type: swp\n",
         "spectrum2"},
        {"leaf.json",
         "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"leaf\", \"hwsku\": "
         "\"DellEMC-Z9264f-C64\"}},\n\"PORT\": {\"Ethernet0\": {\"lanes\": \"1\", \"speed\": \"100000\"}}}\n",
         "tomahawk2"},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct imported got;
        import_text(&got, NULL, cases[c].path, cases[c].text);
        const char *model = config_said(&got.set, config_device_find(&got.set, "leaf"), CONFIG_NONE, "model");
        if (cases[c].model)
            assert_string_equal(model ? model : "none", cases[c].model);
        else
            assert_null(model);
        import_release(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judged),
        cmocka_unit_test(test_judged_with_hosts),
        cmocka_unit_test(test_judged_unclear),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_banner),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_interface_names),
        cmocka_unit_test(test_nxos_routed),
        cmocka_unit_test(test_nxos_shares),
        cmocka_unit_test(test_eos_policy),
        cmocka_unit_test(test_eos_untrusting),
        cmocka_unit_test(test_eos_channel),
        cmocka_unit_test(test_sonic_unpaused),
        cmocka_unit_test(test_sonic_own_groups),
        cmocka_unit_test(test_sonic_buffers_alone),
        cmocka_unit_test(test_sonic_twice),
        cmocka_unit_test(test_sonic_neighbours),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_hostile_trees),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
