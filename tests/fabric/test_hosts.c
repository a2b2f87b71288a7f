/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside hosts: GPUs and their adapters, the links between GPUs, the bus.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#define LINKS "rocelab: 1\nlinks: {host: {rate: 400G}}\n"

/* GPU g of a host is next to adapter g * nics / gpus. */
static void test_gpus(void **state)
{
    static const struct {
        const char *host;
        uint32_t gpus, nics, each; /* adapters a GPU has */
    } shape[] = {{"gpus: 8, nics: 8", 8, 8, 1},     {"gpus: 8, nics: 4", 8, 4, 1}, {"gpus: 4, nics: 8", 4, 8, 2},
                 {"gpus: 72, nics: 72", 72, 72, 1}, {"gpus: 3, nics: 2", 3, 2, 1}, {"nics: 2", 2, 2, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), LINKS "topology: {single: {hosts: 3, %s}}\n", shape[i].host);
        struct fabric *fabric = must_load("g.yaml", text);
        assert_int_equal(fabric->gpus, 3 * shape[i].gpus);
        assert_int_equal(fabric->endpoints, 3 * shape[i].nics);
        assert_int_equal(fabric->first_gpu[3], fabric->gpus);
        for (uint32_t g = 0; g < fabric->gpus; g++) {
            uint32_t host = g / shape[i].gpus, within = g % shape[i].gpus;
            assert_int_equal(fabric->gpu_host[g], host);
            assert_int_equal(fabric->first_gpu[host], host * shape[i].gpus);
            assert_int_equal(fabric->gpu_nic[g], fabric->first_endpoint[host] + within * shape[i].nics / shape[i].gpus);
            assert_int_equal(fabric_gpu_nics(fabric, g), shape[i].each);
        }
        fabric_free(fabric);
    }
}

/* As many GPUs as cables where the file says nothing; a host without a cable has GPUs without an adapter. */
static void test_explicit_gpus(void **state)
{
    struct fabric *fabric = must_load(
        "g.yaml", LINKS "topology: {links: {hosts: 3, gpus: 2, switches: 1, links: [[h0, sw0], [h1, sw0]]}}\n");

    (void)state;
    assert_int_equal(fabric->gpus, 6);
    assert_int_equal(fabric->gpu_nic[3], 1);
    assert_int_equal(fabric->gpu_nic[4], FABRIC_NONE);
    assert_int_equal(fabric_gpu_nics(fabric, 4), 0);
    fabric_free(fabric);
    fabric = must_load("g.yaml", LINKS "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h0, sw0], [h1, "
                                       "sw0]]}}\n");
    assert_int_equal(fabric->gpus, 3);
    assert_int_equal(fabric->first_gpu[1], 2);
    fabric_free(fabric);
}

static void test_nvlink(void **state)
{
    static const struct {
        const char *gpu;
        uint64_t gbps;
        ps_t delay;
    } link[] = {{"a100", 2400, PS_US},
                {"h100", 3600, PS_US},
                {"h200", 3600, PS_US},
                {"nvl8", 3600, PS_US},
                {"b200", 7200, PS_US},
                {"gb200", 7200, PS_US},
                {"nvl72", 7200, PS_US},
                {"{use: nvl72, delay: 500ns}", 7200, 500 * PS_NS},
                {"{rate: 2000G, use: nvl72}", 2000, PS_US},
                {"{use: h100, efficiency: 50%}", 1800, PS_US}};

    (void)state;
    for (size_t i = 0; i < sizeof(link) / sizeof(link[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "rocelab: 1\nlinks: {host: {rate: 400G}, gpu: %s}\ntopology: {single: {hosts: 2, gpus: 72}}\n",
                 link[i].gpu);
        struct fabric *fabric = must_load("g.yaml", text);
        assert_int_equal(fabric->gpu_rate_bps, link[i].gbps * 1000000000);
        assert_int_equal(fabric->gpu_latency_ps, link[i].delay);
        fabric_free(fabric);
    }
}

/* The bus and its credits limit where they are slower than the port, each way; receiving, there is a buffer then, and
 * the slower of bus and host counts. */
static void test_pcie(void **state)
{
    static const struct {
        const char *nics;
        uint64_t rate_bps, buffer_bytes, sent_bps;
        uint32_t behind_bytes;
    } bus[] = {{"pcie: gen5-x16", 0, 0, 0, 0},
               {"pcie: gen4-x16", 230456263735, 1048576, 230456263735, 0},
               {"pcie: 300G", 300000000000, 1048576, 300000000000, 0},
               {"pcie: 500G", 0, 0, 0, 0},
               {"pcie: {}", 0, 0, 0, 0},
               {"pcie: {use: 300G}", 300000000000, 1048576, 300000000000, 0},
               /* 32 x 512 B a microsecond; 64 x 128 B in half of one */
               {"pcie: {reads: 32}", 0, 0, 131072000000, 0},
               {"pcie: {writes: 64, write-size: 128B, write-time: 500ns}", 131072000000, 1048576, 0, 0},
               /* 16 x 256 B in 250 ns, and fetching behind them */
               {"pcie: {relaxed-ordering: false}", 131072000000, 1048576, 1048576000000, 4096},
               {"pcie: {use: 100G, relaxed-ordering: false, ordered: 512}", 100000000000, 1048576, 100000000000, 65536},
               {"pcie: gen4-x16, receive: {rate: 100G, buffer: 2MiB}", 100000000000, 2097152, 230456263735, 0},
               {"pcie: gen4-x16, receive: {rate: 300G}", 230456263735, 1048576, 230456263735, 0},
               {"receive: {rate: 300G}", 300000000000, 1048576, 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(bus) / sizeof(bus[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), LINKS "topology: {single: {hosts: 2}}\nnics: {%s}\n", bus[i].nics);
        struct fabric *fabric = must_load("g.yaml", text);
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[0].nic];
        assert_int_equal(nic->rx_rate_bps, bus[i].rate_bps);
        assert_int_equal(nic->rx_buffer_bytes, bus[i].buffer_bytes);
        assert_int_equal(nic->tx_rate_bps, bus[i].sent_bps);
        assert_int_equal(nic->tx_behind_bytes, bus[i].behind_bytes);
        if (nic->rx_buffer_bytes) {
            assert_true(nic->rx_xoff_bytes > 0 && nic->rx_xoff_bytes < nic->rx_buffer_bytes);
            assert_true(nic->rx_xon_bytes < nic->rx_xoff_bytes);
        }
        fabric_free(fabric);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpus), cmocka_unit_test(test_explicit_gpus),
                                       cmocka_unit_test(test_nvlink), cmocka_unit_test(test_pcie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
