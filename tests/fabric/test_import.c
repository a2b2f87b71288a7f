/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign inputs: what they become, that it loads again, and what is said of wrong ones.
 *
 * With ROCELAB_SHARED set, the inputs of the recorded runs are imported and loaded too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <glob.h>

#include "config/foreign/foreign.h"
#include "fabric/switches.h"
#include "support.h"

static char *import_hpcc(const struct fabric_import_hpcc *from, int expected, struct fabric_errors *errors)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    *errors = (struct fabric_errors){0};
    int result = fabric_import_hpcc(from, to, errors);
    fclose(to);
    if (result != expected && errors->count) fabric_errors_print(errors, stderr);
    assert_int_equal(result, expected);
    return text;
}

static char *import_htsim(const char *path, const char *from, int expected, struct fabric_errors *errors)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    *errors = (struct fabric_errors){0};
    int result = fabric_import_htsim(path, from, to, errors);
    fclose(to);
    if (result != expected && errors->count) fabric_errors_print(errors, stderr);
    assert_int_equal(result, expected);
    return text;
}

static const char topology[] = "5 2 4\n3 4\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 0.001ms 0.000000\n"
                               "2 4 100Gbps 1us 0.01\n3 4 400Gbps 2us 0\n";
static const char flows[] = "3\n0 2 3 100 1000000 2.000000000\n1 2 3 100 2500 2.0000015\n2 0 3 100 20000000 2\n"
                            "9 9 lines beyond the count are not read\n";

static void test_hpcc(void **state)
{
    struct fabric_errors errors;
    char *text = import_hpcc(&(struct fabric_import_hpcc){.topology_path = "t",
                                                          .flows_path = "f",
                                                          .topology = topology,
                                                          .flows = flows,
                                                          .congestion = "dcqcn",
                                                          .buffer_bytes = 2097152},
                             0, &errors);

    (void)state;
    assert_string_equal(
        text,
        "# Imported from an HPCC ns-3 topology and flow list.\n"
        "rocelab: 1\nfabric: hpcc\nmodel: hpcc-ns3\ntopology:\n  links:\n"
        "    hosts: [h0, h1, h2]\n    switches: [sw3, sw4]\n    links:\n"
        "      - [h0, sw3, 100G, 1us]\n      - [h1, sw3, 100G, 1us]\n"
        "      - {a: h2, b: sw4, rate: 100G, delay: 1us, errors: 1%}\n      - [sw3, sw4, 400G, 2us]\n"
        "switches: {buffer: 2MiB}\nclasses:\n"
        "  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 400KB, max: 1600KB, probability: 20%, per: "
        "100G}}\n"
        "nics: {mtu: 1000, congestion: dcqcn/hpcc-sim}\n"
        "# Starts count from 2s of the original.\njobs:\n  - name: flows\n    class: rdma\n    flows: |\n"
        "      h0 h2 1MB\n      h1 h2 2.5KB 1.5us\n      h2 h0 20MB\n");
    struct fabric *fabric = must_load("imported.yaml", text);
    check_arrays(fabric, 0);
    check_routes(fabric, 0);
    assert_int_equal(fabric->hosts, 3);
    assert_int_equal(fabric->job[0].flows, 3);
    assert_int_equal(fabric->job[0].flow[1].at, 1500000);
    assert_int_equal(fabric->sw[0].buffer_bytes, 2097152);
    assert_int_equal(fabric->sw[1].hash_seed, 4);
    assert_int_equal(fabric->port[fabric_find_port(fabric, "sw3:0")].error_ppm, 0);
    assert_int_equal(fabric->port[fabric_find_port(fabric, "h2:0")].error_ppm, 10000);
    fabric_free(fabric);
    free(text);
}

static void test_hpcc_groups(void **state)
{
    struct fabric_errors errors;
    char *text = import_hpcc(&(struct fabric_import_hpcc){.topology_path = "t",
                                                          .flows_path = "f",
                                                          .topology = topology,
                                                          .flows = "2\n0 2 3 100 1000 0\n1 2 4 100 1000 1.5\n",
                                                          .congestion = "hpcc"},
                             0, &errors);

    (void)state;
    struct fabric *fabric = must_load("imported.yaml", text);
    assert_int_equal(fabric->class_count, 2);
    assert_int_equal(fabric->jobs, 2);
    assert_string_equal(fabric->classes[fabric->job[1].job_class].name, "pg4");
    assert_string_equal(fabric->nic[0].congestion, "hpcc/hpcc-sim");
    /* h0 to h2: 4 us there, 4 us back, 80 + 20 + 80 ns to send. */
    assert_int_equal(fabric->nic[0].params, 1);
    assert_string_equal(fabric->nic[0].param[0].name, "hpcc_base_rtt");
    assert_string_equal(fabric->nic[0].param[0].value, "8.18us");
    assert_int_equal(fabric->sw[0].buffer_bytes, 33554432);
    fabric_free(fabric);
    free(text);
}

static void test_hpcc_rates(void **state)
{
    struct fabric_errors errors;
    char *text = import_hpcc(&(struct fabric_import_hpcc){.topology_path = "t",
                                                          .flows_path = "f",
                                                          .topology = "3 1 2\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0\n",
                                                          .flows = "0\n",
                                                          .congestion = "dcqcn"},
                             0, &errors);

    (void)state;
    assert_non_null(strstr(text, "congestion: {use: dcqcn/hpcc-sim, rpg_ai_rate: 5M, rpg_hai_rate: 50M}}\n"));
    struct fabric *fabric = must_load("imported.yaml", text);
    assert_int_equal(fabric->jobs, 0);
    fabric_free(fabric);
    free(text);
}

static void test_hpcc_wrong(void **state)
{
    static const struct {
        const char *topology, *flows, *expected, *path;
        uint32_t line, column;
    } wrong[] = {
        {"", flows, "the text ends where the number of nodes is expected", "t", 1, 1},
        {"x 1 1\n", flows, "found 'x' where the number of nodes, a number, is expected", "t", 1, 1},
        {"2 3 1\n", flows, "more switches than nodes: found '3'", "t", 1, 3},
        {"999999999 1 1\n", flows, "too many nodes: found '999999999'", "t", 1, 1},
        {"2 1 999999\n", flows, "more links than the text has: found '999999'", "t", 1, 5},
        {"2 1 1\n5\n", flows, "not a node, or there twice: found '5'", "t", 2, 1},
        {"2 1 1\n1\n0 2 100Gbps 1us 0\n", flows, "not another node: found '2'", "t", 3, 3},
        {"2 1 1\n1\n0 1 100 1us 0\n", flows, "a rate, as in 100Gbps, is expected: found '100'", "t", 3, 5},
        {"2 1 1\n1\n0 1 100Gbps 1 0\n", flows, "a delay, as in 1000ns, is expected: found '1'", "t", 3, 13},
        {"2 1 1\n1\n0 1 100Gbps 1us x\n", flows, "an error rate, as in 0.001, is expected: found 'x'", "t", 3, 17},
        {topology, "1\n0 3 3 100 1000 2\n", "not another host: found '3'", "f", 2, 3},
        {topology, "1\n0 2 9 100 1000 2\n", "a priority group above 7: found '9'", "f", 2, 5},
        {topology, "1\n0 2 3 100 0 2\n", "a flow of nothing: found '0'", "f", 2, 11},
        {topology, "1\n0 2 3 100 1000 soon\n", "a start in seconds is expected: found 'soon'", "f", 2, 16},
        {topology, "2\n0 2 3 100 1000 1\n", "the text ends where a flow's source is expected", "f", 3, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct fabric_errors errors;
        free(import_hpcc(&(struct fabric_import_hpcc){.topology_path = "t",
                                                      .flows_path = "f",
                                                      .topology = wrong[i].topology,
                                                      .flows = wrong[i].flows,
                                                      .congestion = "dcqcn"},
                         -EINVAL, &errors));
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.error[0].text, wrong[i].expected);
        assert_string_equal(errors.path, wrong[i].path);
        assert_int_equal(errors.error[0].at.line, wrong[i].line);
        assert_int_equal(errors.error[0].at.column, wrong[i].column);
    }
    struct fabric_errors errors;
    free(import_hpcc(&(struct fabric_import_hpcc){.topology_path = "t", .congestion = "bbr"}, -EINVAL, &errors));
    assert_string_equal(errors.error[0].text, "congestion: 'bbr' is neither dcqcn nor hpcc");
    free(import_hpcc(&(struct fabric_import_hpcc){.topology_path = "/nonexistent/t", .congestion = "hpcc"}, -EINVAL,
                     &errors));
    assert_non_null(strstr(errors.error[0].text, "cannot open"));
}

static void test_htsim(void **state)
{
    struct fabric_errors errors;
    char *text = import_htsim("m.cm",
                              "Nodes 16\nConnections 4\n"
                              "0->15 id 1 start 0 size 2000000\n"
                              "3->4 id 2 start 1500000 size 1000 send_done_trigger 1\n"
                              "4->5 id 3 trigger 1 size 1000\n"
                              "5->6 size 9 prio 2\n"
                              "trigger id 1 oneshot\n"
                              "failure switch_type AGG switch_id 0 link_id 1\n",
                              0, &errors);

    (void)state;
    assert_string_equal(text, "# Imported from an htsim connection matrix, which says nothing of the network:\n"
                              "# topology, links and classes are to be edited.\n"
                              "rocelab: 1\nfabric: htsim\ntopology: {fat-tree: {k: 4}}\n"
                              "links: {host: {rate: 100G, delay: 1us}}\n"
                              "jobs:\n  - name: connections\n    flows: |\n"
                              "      h0 h15 2MB\n"
                              "      # line 4: send_done_trigger is not carried over\n"
                              "      h3 h4 1KB 1.5us\n"
                              "      # line 5: a connection that waits for a trigger is not carried over\n"
                              "      # line 6: prio is not carried over\n"
                              "      h5 h6 9B\n"
                              "      # line 7: trigger is not carried over\n"
                              "      # line 8: failure is not carried over\n");
    struct fabric *fabric = must_load("imported.yaml", text);
    assert_int_equal(fabric->hosts, 16);
    assert_int_equal(fabric->job[0].flows, 3);
    fabric_free(fabric);
    free(text);
    text = import_htsim("m.cm", "Nodes 10\nConnections 1\n0->9 size 1\n", 0, &errors);
    assert_non_null(strstr(text, "topology: {single: {hosts: 10}}\n"));
    fabric_free(must_load("imported.yaml", text));
    free(text);
}

static void test_htsim_wrong(void **state)
{
    static const struct {
        const char *text, *expected;
        uint32_t line;
    } wrong[] = {
        {"", "not a connection matrix: 'Nodes N' is expected", 1},
        {"Nodes x\n", "found 'x' where Nodes, a number, is expected", 1},
        {"Nodes 16\nConnections 99999\n", "too many: found '99999'", 2},
        {"Nodes 0\nConnections 0\n", "no nodes: found '0'", 2},
        {"Nodes 16\nConnections 1\n0->16 size 1\n",
         "a connection between two nodes, as in 3->7, is expected: found '0->16'", 3},
        {"Nodes 16\nConnections 1\n0->1 size\n", "a value is expected after the key: found ''", 3},
        {"Nodes 16\nConnections 1\n0->1 size x\n", "a number is expected: found 'x'", 3},
        {"Nodes 16\nConnections 1\n0->1 colour 3\n",
         "id, start, size, trigger, send_done_trigger, recv_done_trigger or prio is expected: found 'colour'", 3},
        {"Nodes 16\nConnections 1\n0->1 start 3\n", "a connection needs a size: found ''", 3},
        {"Nodes 16\nConnections 2\n0->1 size 3\n", "2 connections are announced, 1 are there", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct fabric_errors errors;
        free(import_htsim("m.cm", wrong[i].text, -EINVAL, &errors));
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.error[0].text, wrong[i].expected);
        assert_int_equal(errors.error[0].at.line, wrong[i].line);
    }
}

static void test_collection(void **state)
{
    static const char *const pairs[][2] = {
        {"peers/hpcc-ns3/inputs/star17.topo.txt", "peers/hpcc-ns3/inputs/incast16_20MB.flow.txt"},
        {"peers/hpcc-ns3/inputs/fattree_k8.topo.txt", "peers/hpcc-ns3/inputs/perm128_4MB.flow.txt"},
        {"peers/hpcc-ns3/inputs/fattree_k16.topo.txt", "peers/hpcc-ns3/inputs/perm1024_1MB.flow.txt"},
        {"traces/hpcc/fat.txt", "traces/hpcc/flow.txt"},
        {"traces/hpcc/topology.txt", "traces/hpcc/flow.txt"},
    };
    const char *shared = getenv("ROCELAB_SHARED");
    char a[1024], b[1024];
    struct fabric_errors errors;
    glob_t found;

    (void)state;
    if (!shared) skip();
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        snprintf(a, sizeof(a), "%s/data/%s", shared, pairs[i][0]);
        snprintf(b, sizeof(b), "%s/data/%s", shared, pairs[i][1]);
        char *text = import_hpcc(
            &(struct fabric_import_hpcc){.topology_path = a, .flows_path = b, .congestion = "hpcc"}, 0, &errors);
        struct fabric *fabric = must_load(a, text);
        check_arrays(fabric, i);
        fabric_free(fabric);
        free(text);
    }
    snprintf(a, sizeof(a), "%s/data/traces/htsim/*.cm", shared);
    assert_int_equal(glob(a, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = import_htsim(found.gl_pathv[i], NULL, 0, &errors);
        fabric_free(must_load(found.gl_pathv[i], text));
        free(text);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpcc),       cmocka_unit_test(test_hpcc_groups), cmocka_unit_test(test_hpcc_rates),
        cmocka_unit_test(test_hpcc_wrong), cmocka_unit_test(test_htsim),       cmocka_unit_test(test_htsim_wrong),
        cmocka_unit_test(test_collection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
