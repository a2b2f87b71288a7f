/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader and `check` keep and ask for the same headroom, and it is the one of the tables that ship with switches.
 *
 * For each row of SONiC's tables for the SN5600, the SN2700 and the Z9864F: a fabric that says nothing keeps the
 * table's value and the frame that crosses the threshold; one that says the table's value has no HR001; one that says
 * less than the formula has it, and at the line that says it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define METRES 3
static const uint32_t metres[METRES] = {5, 40, 300};

struct table {
    const char *model;
    uint32_t frame_bytes, cell_bytes; /* SONiC's mtu, and 18 for header and tag, where the method counts so */
    uint32_t slack_ppm;               /* that the table may differ by */
    struct {
        uint32_t gbps;
        uint64_t xoff[METRES];
    } row[8];
};

static const struct table tables[] = {
    {"spectrum4",
     9216 + 18,
     192,
     0,
     {{10, {45056, 46080, 56320}},
      {25, {48128, 52224, 76800}},
      {40, {57344, 62464, 101376}},
      {50, {63488, 69632, 118784}},
      {100, {113664, 126976, 225280}},
      {200, {131072, 157696, 355328}},
      {400, {231424, 283648, 677888}},
      {800, {257024, 362496, 1150976}}}},
    {"spectrum1",
     9100 + 18,
     96,
     0,
     {{10, {29696, 29696, 36864}},
      {25, {29696, 31744, 48128}},
      {40, {29696, 32768, 59392}},
      {50, {29696, 33792, 66560}},
      {100, {30720, 38912, 104448}}}},
    {"tomahawk5",
     9216,
     254,
     1000,
     {{100, {147066, 160274, 258572}}, {400, {393192, 446024, 839216}}, {800, {729488, 835406, 1621536}}}},
};

static void write_fabric(char *text, const struct table *table, uint32_t gbps, uint32_t cable, const char *headroom)
{
    snprintf(text, BASE_TEXT,
             "rocelab: 1\n"
             "topology: {single: {hosts: 2}}\n"
             "links: {host: {rate: %uG, cable: %um}}\n"
             "switches: {model: %s, mtu: %u}\n"
             "classes:\n"
             "  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 90%%}\n"
             "  - {name: default, priority: 0, share: 10%%}\n"
             "roles:\n"
             "  switch: {classes: {rdma: {%s}}}\n"
             "  leaf: {classes: {rdma: {%s}}}\n",
             gbps, cable, table->model, table->frame_bytes, headroom, headroom);
}

static uint64_t kept(const struct fabric *fabric)
{
    uint32_t port = fabric->port[0].peer;
    return fabric->settings[fabric->port[port].settings].pg[3].headroom_bytes;
}

/* HR001 findings, and the line of one. */
static uint32_t too_small(const struct check *check, uint32_t *ret_line)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < check->findings; f++) {
        if (strcmp(check_rules[check->finding[f].rule].id, "HR001") != 0) continue;
        *ret_line = check->finding[f].line;
        count++;
    }
    return count;
}

static void try_row(const struct table *table, uint32_t gbps, uint32_t cable, uint64_t xoff)
{
    struct checked checked;
    char why[300] = "", said[64];
    uint32_t line = 0;
    uint64_t cells = (table->frame_bytes + table->cell_bytes - 1) / table->cell_bytes, slack;

    write_fabric(checked.text, table, gbps, cable, "");
    if (!base_check(&checked, 0, why, sizeof(why))) fail_msg("%s\n%s", why, checked.text);
    uint64_t formula = kept(checked.fabric) - cells * table->cell_bytes;
    slack = xoff * table->slack_ppm / 1000000;
    if (formula + slack < xoff || formula > xoff + slack)
        fail_msg("%s %uG %u m: the loader keeps %llu and a frame, the table has %llu", table->model, gbps, cable,
                 (unsigned long long)formula, (unsigned long long)xoff);
    assert_int_equal(too_small(&checked.check, &line), 0);
    base_release(&checked);

    snprintf(said, sizeof(said), "headroom: %lluB", (unsigned long long)formula);
    write_fabric(checked.text, table, gbps, cable, said);
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(kept(checked.fabric), formula);
    assert_int_equal(too_small(&checked.check, &line), 0);
    base_release(&checked);

    snprintf(said, sizeof(said), "headroom: %lluB", (unsigned long long)formula - 1);
    write_fabric(checked.text, table, gbps, cable, said);
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    if (too_small(&checked.check, &line) != 1)
        fail_msg("%s %uG %u m: %llu B is not refused", table->model, gbps, cable, (unsigned long long)formula - 1);
    assert_in_range(line, 9, 10);
    base_release(&checked);
}

static void test_every_row(void **state)
{
    uint32_t rows = 0;

    (void)state;
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (size_t r = 0; r < sizeof(tables[0].row) / sizeof(tables[0].row[0]) && tables[t].row[r].gbps; r++)
            for (size_t m = 0; m < METRES; m++, rows++)
                try_row(&tables[t], tables[t].row[r].gbps, metres[m], tables[t].row[r].xoff[m]);
    assert_int_equal(rows, 24 + 15 + 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
