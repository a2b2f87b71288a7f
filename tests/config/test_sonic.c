/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SONiC both ways: the round trip, the layouts, the defects, the hostile files.
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
#include "config/sonic/rows.h"
#include "config/testing.h"
#include "fabric/switches.h"

static const struct random_limits limits = {
    .hash = true,
    .alpha = true,
    .static_xoff = true,
    .limit = true,
    .reserved = true,
    .headroom = true,
    .xon = true,
    .pfc = true,
    .pfc_asym = true,
    .pcp = true,
    .port_maps = true,
    .port_ecn = true,
    .port_mtu = true,
    .port_pfc = true,
    .queue_map = true,
    .group_map = true,
    .headroom_pool = true,
    .buffer = true,
    .watchdog = true,
    .watchdog_times = true,
    .watchdog_action = true,
    .cable = true,
    .rate = true,
    .lossy_ecn = true,
    .fec = true,
    .up = true,
    .watched = true,
    .watched_some = true,
    .model = true,
    .port_name = "Ethernet%u",
    .ecn_step_bytes = 1,
    .lossless_most = 2,
    .time_step_ms = 1,
};

static void test_round_trip(void **state)
{
    (void)state;
    round_trips(&config_sonic, &limits);
}

/* Lines count: the notes' places are checked. */
static const char nested[] =
    "{\n" /* 1 */
    "\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"tor-1\", \"hwsku\": \"ACS-MSN2700\"}},\n"
    "\"PORT\": {\"Ethernet0\": {\"speed\": \"100000\", \"mtu\": \"9100\"},\n"
    "         \"Ethernet4\": {\"speed\": \"100000\"}},\n"
    "\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"5m\", \"Ethernet4\": \"40m\"}},\n"
    "\"DSCP_TO_TC_MAP\": {\"AZURE\": {\"3\": \"3\", \"26\": \"1\"}},\n" /* 6 */
    "\"TC_TO_PRIORITY_GROUP_MAP\": {\"AZURE\": {\"3\": \"3\", \"1\": \"0\"}},\n"
    "\"PORT_QOS_MAP\": {\"global\": {\"dscp_to_tc_map\": \"AZURE\"},\n"
    "  \"Ethernet0,Ethernet4\": {\"tc_to_pg_map\": \"AZURE\", \"pfc_enable\": \"3\",\n" /* 9 */
    "     \"tc_to_queue_map\": \"NOWHERE\"}},\n"                                        /* 10 */
    "\"SCHEDULER\": {\"s1\": {\"type\": \"DWRR\", \"weight\": \"15\"},"
    " \"s2\": {\"type\": \"STRICT\"}},\n"
    "\"WRED_PROFILE\": {\"W\": {\"ecn\": \"ecn_all\", \"wred_green_enable\": \"true\",\n"
    "  \"green_min_threshold\": \"1048576\", \"green_max_threshold\": \"2097152\",\n"
    "  \"green_drop_probability\": \"5\"}},\n"
    "\"QUEUE\": {\"Ethernet0,Ethernet4|3\": {\"scheduler\": \"s1\", \"wred_profile\": \"W\"},\n"
    "  \"Ethernet0|0-1\": {\"scheduler\": \"s2\"}},\n"
    "\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\",\n"
    "   \"size\": \"3302912\"}},\n"
    "\"BUFFER_PROFILE\": {\"pg_lossless_100000_40m_profile\": {\"pool\":"
    " \"ingress_lossless_pool\",\n"
    "   \"size\": \"54272\", \"xon\": \"18432\", \"xoff\": \"35840\", \"dynamic_th\": \"0\"}},\n"
    "\"BUFFER_PG\": {\"Ethernet0|3-4\": {\"profile\": \"pg_lossless_100000_40m_profile\"},\n"
    "   \"Ethernet4|3\": {\"profile\": \"NULL\"}},\n" /* 22 */
    "\"VLAN\": {\"Vlan2\": {\"vlanid\": \"2\"}}\n"    /* 23 */
    "}\n";

static void test_nested(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, &config_sonic, "x.json", nested);
    const struct fabric_settings *first = settings_at(&got, "tor-1", 0), *second = settings_at(&got, "tor-1", 1);
    assert_int_equal(first->dscp_to_tc[3], 3);
    assert_int_equal(first->dscp_to_tc[26], 1);
    assert_int_equal(first->dscp_to_tc[40], 0);
    assert_int_equal(first->tc_to_pg[1], 0);
    assert_int_equal(first->pfc_tx, 8);
    assert_int_equal(first->mtu_bytes, 9118);
    assert_true(first->pg[3].lossless);
    assert_int_equal(first->pg[3].headroom_bytes, 35840);
    assert_int_equal(first->pg[3].reserved_bytes, 18432);
    assert_int_equal(first->headroom_cable_mm, 40000);
    assert_true(first->queue[3].ecn.on);
    assert_int_equal(first->queue[3].ecn.max_bytes, 2097152);
    assert_int_equal(first->queue[3].ecn.probability_ppm, 50000);
    assert_true(first->queue[0].strict);
    assert_true(second->pg[3].lossless);
    assert_false(second->pg[3].headroom_given);
    /* found where they stand */
    assert_int_equal(notes_of(&got, "MAP001", 0), 0); /* DSCP 3 is lossless, 26 is lossy: a fleet that sends 3 */
    assert_int_equal(notes_of(&got, NULL, 6), 1);
    assert_int_equal(notes_of(&got, "MAP007", 10), 1);
    assert_int_equal(notes_of(&got, NULL, 23), 1);
    uint32_t node = fabric_find_node(got.fabric, "tor-1");
    assert_int_equal(got.fabric->port[got.fabric->node[node].first_port + 1].cable_mm, 40000);
    assert_string_equal(got.fabric->sw[node - got.fabric->hosts].model, "spectrum1");
    assert_false(got.fabric->sw[node - got.fabric->hosts].watchdog.on);
    import_release(&got);
}

/* Lines of the fabric file lead back to the configuration. */
static void test_origin(void **state)
{
    struct imported got;
    const char *path = NULL;
    uint32_t line = 0, number = 1;
    bool met = false;

    (void)state;
    import_text(&got, &config_sonic, "x.json", nested);
    for (const char *at = got.yaml; *at; at = strchr(at, '\n') + 1, number++) {
        size_t length = strcspn(at, "\n");
        if (!memmem(at, length, "probability: 5%", 15)) continue;
        assert_true(origin_find(&got.map, number, &path, &line));
        assert_string_equal(path, "x.json");
        assert_int_equal(line, 14);
        met = true;
    }
    assert_true(met);
    assert_int_equal(got.map.lines, number - 1);
    import_release(&got);
}

static const char flat[] =
    "{\"PORT|Ethernet0\": {\"speed\": \"40000\"},\n"
    "\"DSCP_TO_TC_MAP|M\": {\"26\": \"3\"},\n"
    "\"PORT_QOS_MAP|Ethernet0\": {\"dscp_to_tc_map\": \"[DSCP_TO_TC_MAP|M]\", \"pfc_enable\": \"3,4\",\n"
    "  \"pfcwd_sw_enable\": \"3\"},\n"
    "\"PFC_WD|GLOBAL\": {\"POLL_INTERVAL\": \"200\"},\n"
    "\"PFC_WD|Ethernet0\": {\"action\": \"forward\", \"detection_time\": \"400\", \"restoration_time\": \"90000\"},\n"
    "\"BUFFER_POOL|ingress_lossless_pool\": {\"type\": \"ingress\", \"size\": \"1000000\", \"xoff\": \"200000\"},\n"
    "\"BUFFER_PROFILE|p\": {\"pool\": \"[BUFFER_POOL|ingress_lossless_pool]\", \"size\": \"19456\",\n"
    "  \"xoff\": \"60000\", \"xon\": \"19456\", \"dynamic_th\": \"-3\"},\n"
    "\"BUFFER_PG|Ethernet0|3-4\": {\"profile\": \"[BUFFER_PROFILE|p]\"}}\n";

static void test_flat(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, NULL, "dir/spine7.json", flat);
    const struct fabric_settings *port = settings_at(&got, "spine7", 0);
    uint32_t node = fabric_find_node(got.fabric, "spine7");
    const struct fabric_switch *sw = &got.fabric->sw[node - got.fabric->hosts];
    assert_int_equal(got.fabric->node[node].role, FABRIC_ROLE_SPINE);
    assert_int_equal(port->dscp_to_tc[26], 3);
    assert_int_equal(port->pfc_rx, 0x18);
    assert_int_equal(port->watched, 8);
    assert_int_equal(port->pg[4].reserved_bytes, 19456);
    assert_int_equal(port->pg[4].alpha_den, 8 * port->pg[4].alpha_num);
    assert_int_equal(sw->headroom_pool_bytes, 200000);
    assert_int_equal(sw->buffer_bytes, 1000000 + 200000 + 2 * 19456);
    assert_true(sw->watchdog.on);
    assert_false(sw->watchdog.drop);
    assert_int_equal(sw->watchdog.poll_ps, 200 * PS_MS);
    assert_int_equal(notes_of(&got, "WD002", 6), 1); /* restoration above 60 s */
    assert_int_equal(notes_of(&got, "MAP001", 0), 0);
    import_release(&got);
}

static void test_defects(void **state)
{
    static const char text[] =
        "{\"SCHEDULER\": {\"s\": {}},"
        "\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3\"}, \"Ethernet4\": {\"pfc_enable\": \"9\"}},\n"
        "\"WRED_PROFILE\": {\"drops\": {\"wred_green_enable\": \"true\", \"green_min_threshold\": \"10\",\n"
        "  \"green_max_threshold\": \"20\"}, \"off\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"10\",\n"
        "  \"green_max_threshold\": \"20\"}, \"turned\": {\"ecn\": \"ecn_all\", \"wred_green_enable\": \"true\",\n"
        "  \"green_min_threshold\": \"30\", \"green_max_threshold\": \"20\"}},\n"
        "\"QUEUE\": {\"Ethernet0|3\": {\"wred_profile\": \"drops\"}, \"Ethernet0|4\": {\"wred_profile\": \"off\"},\n"
        "  \"Ethernet0|5\": {\"wred_profile\": \"turned\"}, \"Ethernet4|3\": {\"wred_profile\": \"drops\"},\n"
        "  \"Ethernet4|3\": {\"scheduler\": \"gone\", \"oddity\": \"1\"}},\n" /* 8: twice */
        "\"BUFFER_PROFILE\": {\"small\": {\"size\": \"10\", \"xoff\": \"60000\", \"xon\": \"19456\",\n"
        "  \"dynamic_th\": \"9\"}},\n"
        "\"BUFFER_PG\": {\"Ethernet0|3\": {\"profile\": \"small\"}},\n"
        "\"PFC_WD\": {\"Ethernet4\": {\"detection_time\": \"200\"}}}\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_sonic, "x.json", text);
    assert_int_equal(notes_of(&got, "ECN006", 2), 1);
    assert_int_equal(notes_of(&got, "ECN002", 3), 1);
    assert_int_equal(notes_of(&got, "ECN002", 5), 1);
    assert_int_equal(notes_of(&got, "SYN001", 1), 1);  /* priority 9 */
    assert_int_equal(notes_of(&got, "SYN001", 10), 1); /* dynamic_th 9 */
    assert_int_equal(notes_of(&got, "HR005", 9), 1);
    assert_int_equal(notes_of(&got, "MAP007", 8), 1);
    assert_int_equal(notes_of(&got, "WD001", 1), 1);  /* Ethernet0 pauses without */
    assert_int_equal(notes_of(&got, "SYN001", 7), 1); /* given again in line 8 */
    assert_int_equal(notes_of(&got, NULL, 8), 1);     /* a field that is not read */
    import_release(&got);
}

static void test_hostile(void **state)
{
    char *deep = malloc(200001), *large = malloc(CONFIG_TEXT_MAX_BYTES + 2);

    (void)state;
    assert_non_null(deep);
    assert_non_null(large);
    refused(&config_sonic, "{\"PORT\": {", 10, "not YAML");
    refused(&config_sonic, "{\"PORT\": 7}", 11, "not a config_db.json");
    refused(&config_sonic, "[]", 2, "not a config_db.json");
    refused(&config_sonic, "{\"PORT\": &a {\"x\": *a}}", 22, "anchor");
    refused(&config_sonic, "{\"PORT\":\0 {}}", 13, "zero bytes");
    refused(NULL, "hello", 5, "unknown format");
    memset(deep, '[', 200000);
    deep[200000] = 0;
    refused(&config_sonic, deep, 200000, "nested too deeply");
    memset(large, ' ', CONFIG_TEXT_MAX_BYTES + 1);
    large[CONFIG_TEXT_MAX_BYTES + 1] = 0;
    refused(&config_sonic, large, CONFIG_TEXT_MAX_BYTES + 1, "MiB is not read");
    free(large);
    free(deep);
}

/* A field that a patch sets joins the row that it added before, however far above. */
static void test_patch_merges(void **state)
{
    struct fabric_errors errors = {0};
    struct sonic_rows rows;
    struct arena arena;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    (void)state;
    assert_non_null(to);
    fputs("[{\"op\": \"add\", \"path\": \"/PORT/Ethernet0\", \"value\": {\"speed\": \"400000\", \"mtu\": \"9100\"}},\n"
          "{\"op\": \"add\", \"path\": \"/PFC_WD\", \"value\": {\"Ethernet0\": {\"action\": \"drop\"}}},\n",
          to);
    for (unsigned i = 1; i < 300; i++)
        fprintf(to, "{\"op\": \"add\", \"path\": \"/PORT/Ethernet%u/mtu\", \"value\": \"9100\"},\n", i);
    fputs("{\"op\": \"replace\", \"path\": \"/PORT/Ethernet0/mtu\", \"value\": \"1500\"},\n"
          "{\"op\": \"add\", \"path\": \"/PFC_WD/Ethernet0/detection_time\", \"value\": \"200\"}]\n",
          to);
    fclose(to);
    struct config_text in = {.path = "x.json", .text = text, .length = length, .errors = &errors};
    arena_init(&arena, (size_t)1 << 24);
    assert_int_equal(sonic_rows_read(&in, &arena, &rows), 0);
    assert_int_equal(rows.count, 301);
    const struct sonic_row *port = sonic_row_find(&rows, "PORT", "Ethernet0");
    assert_string_equal(sonic_field(port, "speed", NULL), "400000");
    assert_string_equal(sonic_field(port, "mtu", NULL), "1500");
    assert_string_equal(sonic_field(sonic_row_find(&rows, "PORT", "Ethernet299"), "mtu", NULL), "9100");
    const struct sonic_row *watchdog = sonic_row_find(&rows, "PFC_WD", "Ethernet0");
    assert_string_equal(sonic_field(watchdog, "action", NULL), "drop");
    assert_string_equal(sonic_field(watchdog, "detection_time", NULL), "200");
    arena_release(&arena);
    free(text);
}

/* A patch that takes a row away twice fails as a whole. */
static void test_fix_removes_once(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    const struct fix fix = {.format = &config_sonic,
                            .approved = "{\"PORT\": {\"Ethernet0\": {\"mtu\": \"9100\"}}}",
                            .seen = "",
                            .running = "{\"PORT\": {\"Ethernet0\": {\"mtu\": \"9100\"}}, \"PFC_WD\": {\"Ethernet0\": "
                                       "{\"action\": \"drop\"}, \"Ethernet0\": {\"action\": \"alert\"}}}",
                            .families = FIX_ALL,
                            .to = to};

    (void)state;
    assert_non_null(to);
    assert_int_equal(config_sonic.fix(&fix), 0);
    fclose(to);
    assert_string_equal(text, "[\n  {\"op\": \"remove\", \"path\": \"/PFC_WD/Ethernet0\"}\n]\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_nested),           cmocka_unit_test(test_origin),
        cmocka_unit_test(test_flat),         cmocka_unit_test(test_defects),          cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_patch_merges), cmocka_unit_test(test_fix_removes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
