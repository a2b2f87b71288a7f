/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headroom against tables that shipped with switches, and against its own parts.
 *
 * The numbers are of SONiC's pg_profile_lookup.ini files: ACS-SN5600 and ACS-MSN2700 (which the model for
 * Spectrum reproduces exactly) and Dell-Z9864f-O64 (within 0.07 %).  With ROCELAB_SHARED set, the same
 * rows are read again from the collection of all such tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/qos/headroom.h"
#include "support.h"

#define GBPS 1000000000ull

struct row {
    uint32_t gbps, metres;
    uint64_t wire, tomahawk5, spectrum4, mlx5;
};

/* MTU 9216. */
static const struct row worked[] = {
    {100, 5, 48607, 146978, 113664, 56167},       {100, 40, 52982, 160207, 126976, 63767},
    {100, 300, 85482, 258481, 225280, 119967},    {100, 10000, 1297982, 3924850, 3899392, 2215167},
    {400, 5, 129936, 392902, 231424, 149467},     {400, 40, 147436, 445818, 283648, 179867},
    {400, 300, 277436, 838914, 677888, 404667},   {400, 10000, 5127436, 15504390, 15375360, 8785467},
    {800, 5, 241356, 729815, 257024, 273867},     {800, 40, 276356, 835648, 362496, 334667},
    {800, 300, 536356, 1621838, 1150976, 784267}, {800, 10000, 10236356, 30952791, 30544896, 17545867},
};

static uint64_t spectrum4(uint32_t mbps, uint32_t metres)
{
    return headroom_sonic(&(struct headroom_sonic){.rate_bps = mbps * 1000000ull,
                                                   .cable_mm = metres * 1000ull,
                                                   .port_mtu_bytes = 9216,
                                                   .mtu_ll_bytes = 1024,
                                                   .cell_bytes = 192,
                                                   .small_percent = 100,
                                                   .tiles = true});
}

static uint64_t spectrum1(uint32_t mbps, uint32_t metres)
{
    return headroom_sonic(&(struct headroom_sonic){.rate_bps = mbps * 1000000ull,
                                                   .cable_mm = metres * 1000ull,
                                                   .port_mtu_bytes = 9100,
                                                   .mtu_ll_bytes = 1024,
                                                   .cell_bytes = 96,
                                                   .small_percent = 100,
                                                   .peer_bytes = 3892});
}

static void test_worked_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(worked) / sizeof(worked[0]); i++) {
        const struct row *row = &worked[i];
        struct headroom in = {.rate_bps = row->gbps * GBPS,
                              .cable_mm = row->metres * 1000ull,
                              .mtu_any_bytes = 9216,
                              .mtu_ll_bytes = 9216,
                              .local_ps = headroom_local_ps(row->gbps * GBPS)};

        assert_int_equal(headroom_general(&in), row->wire);
        headroom_fill(254, &in.fill_num, &in.fill_den);
        assert_int_equal(in.fill_num * 84, in.fill_den * 254);
        /* The table is rounded to the nearest byte, headroom up. */
        assert_in_range(headroom_general(&in), row->tomahawk5, row->tomahawk5 + 1);
        assert_int_equal(spectrum4(row->gbps * 1000, row->metres), row->spectrum4);
        assert_int_equal(headroom_mlx5(row->gbps * GBPS, row->metres * 1000ull, 9216), row->mlx5);
    }
}

/* Dell-Z9864f-O64: 100, 400, 800G at 5, 40, 300 m; and headroom_port() is that, in whole cells. */
static void test_tomahawk5_table(void **state)
{
    static const uint64_t dell[3][3] = {{147066, 160274, 258572}, {393192, 446024, 839216}, {729488, 835406, 1621536}};
    static const uint32_t gbps[] = {100, 400, 800}, metres[] = {5, 40, 300};

    (void)state;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            uint64_t got = headroom_port(gbps[r] * GBPS, metres[c] * 1000ull, 9216, 254);
            assert_int_equal(got % 254, 0);
            assert_in_range(got * 10000, dell[r][c] * 9993, dell[r][c] * 10009);
        }
    }
}

static void test_spectrum_tables(void **state)
{
    static const uint32_t mbps4[] = {10000, 25000, 40000, 50000, 100000, 200000, 400000, 800000};
    static const uint32_t mbps1[] = {10000, 25000, 40000, 50000, 100000}, metres[] = {5, 40, 300};
    static const uint64_t sn5600[8][3] = {{45056, 46080, 56320},    {48128, 52224, 76800},    {57344, 62464, 101376},
                                          {63488, 69632, 118784},   {113664, 126976, 225280}, {131072, 157696, 355328},
                                          {231424, 283648, 677888}, {257024, 362496, 1150976}};
    static const uint64_t sn2700[5][3] = {{29696, 29696, 36864},
                                          {29696, 31744, 48128},
                                          {29696, 32768, 59392},
                                          {29696, 33792, 66560},
                                          {30720, 38912, 104448}};

    (void)state;
    for (int m = 0; m < 3; m++) {
        for (int r = 0; r < 8; r++)
            assert_int_equal(spectrum4(mbps4[r], metres[m]), sn5600[r][m]);
        for (int r = 0; r < 5; r++)
            assert_int_equal(spectrum1(mbps1[r], metres[m]), sn2700[r][m]);
    }
}

/* The same tables by the name of the chip; frames are 18 longer than what SONiC calls mtu. */
static void test_models(void **state)
{
    (void)state;
    assert_int_equal(headroom_model("spectrum4", 400 * GBPS, 40000, 9216 + 18, 192), 283648);
    assert_int_equal(headroom_model("spectrum4", 800 * GBPS, 300000, 9216 + 18, 192), 1150976);
    assert_int_equal(headroom_model("spectrum1", 10 * GBPS, 300000, 9100 + 18, 96), 36864);
    assert_int_equal(headroom_model("spectrum1", 100 * GBPS, 5000, 9100 + 18, 96), 30720);
    assert_int_equal(headroom_model("tomahawk5", 400 * GBPS, 40000, 9216, 254),
                     headroom_port(400 * GBPS, 40000, 9216, 254));
}

static void test_quanta(void **state)
{
    (void)state;
    assert_int_equal(headroom_quanta(10 * GBPS), 67);
    assert_int_equal(headroom_quanta(1 * GBPS), 67);
    assert_int_equal(headroom_quanta(11 * GBPS), 80);
    assert_int_equal(headroom_quanta(100 * GBPS), 394);
    assert_int_equal(headroom_quanta(400 * GBPS), 905);
    assert_int_equal(headroom_quanta(800 * GBPS), 1810);
    assert_int_equal(headroom_quanta(1600 * GBPS), 3620);
    assert_int_equal(headroom_response_ps(400 * GBPS), 1158400);
}

/* F is the worst frame length there is, found here by trying them all. */
static void test_fill(void **state)
{
    (void)state;
    for (uint32_t cell = 1; cell <= 512; cell++) {
        uint32_t num, den;
        uint64_t worst_num = 1, worst_den = 1;

        headroom_fill(cell, &num, &den);
        for (uint64_t frame = 64; frame <= 9216; frame++) {
            uint64_t stored = (frame + cell - 1) / cell * cell;
            if (stored * worst_den > worst_num * (frame + 20)) {
                worst_num = stored;
                worst_den = frame + 20;
            }
        }
        if (num * worst_den != worst_num * den) fail_msg("cell %u: %u/%u", cell, num, den);
    }
}

static void test_grows(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 1);
    for (uint64_t step = 0; step < 20000; step++) {
        uint64_t rate = 1 + rng_below(&rng, 1600 * GBPS), cable = rng_below(&rng, 100000000);
        uint32_t mtu = 64 + (uint32_t)rng_below(&rng, 16000), cell = 1 + (uint32_t)rng_below(&rng, 512);
        uint64_t got = headroom_port(rate, cable, mtu, cell);

        EXPECT(headroom_port(rate, cable + 1000, mtu, cell) >= got, step);
        EXPECT(headroom_port(rate, cable, mtu + 100, cell) >= got, step);
        EXPECT(got >= 2ull * mtu + 84 + 64ull * 67, step);
        EXPECT(got % cell == 0, step);
    }
    /* Absurd values saturate and do not wrap. */
    assert_true(headroom_port(UINT64_MAX / 2, UINT64_MAX / 2, UINT32_MAX, 1) > UINT64_MAX / 4);
}

/* name,path,n,speed,cable,size,xon,xoff,... */
static void test_collection(void **state)
{
    const char *shared = getenv("ROCELAB_SHARED");
    char path[1024], line[1024], device[512];
    unsigned speed, cable, xoff, rows = 0;

    (void)state;
    if (!shared) skip();
    snprintf(path, sizeof(path), "%s/data/sonic_pg_headroom_tables.csv", shared);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%*[^,],%511[^,],%*u,%u,%u,%*[^,],%*[^,],%u", device, &speed, &cable, &xoff) != 4) continue;
        if (strstr(device, "/ACS-SN5600/"))
            assert_int_equal(spectrum4(speed, cable), xoff);
        else if (strstr(device, "/ACS-MSN2700/"))
            assert_int_equal(spectrum1(speed, cable), xoff);
        else
            continue;
        rows++;
    }
    fclose(file);
    assert_in_range(rows, 24 + 15, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_table),    cmocka_unit_test(test_tomahawk5_table),
        cmocka_unit_test(test_spectrum_tables), cmocka_unit_test(test_models),
        cmocka_unit_test(test_quanta),          cmocka_unit_test(test_fill),
        cmocka_unit_test(test_grows),           cmocka_unit_test(test_collection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
