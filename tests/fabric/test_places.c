/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a fabric file says a thing of a port: layers that lie over each other, and many of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/places.h"
#include "growth.h"
#include "support.h"

#define HEAD                                                                                                           \
    "rocelab: 1\n"                                                                                                     \
    "topology: {leaf-spine: {leaves: 1, spines: 1, hosts: %u}}\n"                                                      \
    "links: {host: {rate: 100G}, fabric: {rate: 100G}}\nswitches: {buffer: 1GB}\n"                                     \
    "devices:\n"                                                                                                       \
    "  leaf0:\n"                                                                                                       \
    "    mtu: 4000\n"                                                                                                  \
    "    ports:\n"
#define HEAD_LINES 8u
#define DEVICE_LINE 7u

struct text {
    char *bytes;
    size_t length;
    FILE *to;
};

static void begin(struct text *text, unsigned hosts)
{
    *text = (struct text){0};
    text->to = open_memstream(&text->bytes, &text->length);
    assert_non_null(text->to);
    fprintf(text->to, HEAD, hosts);
}

static uint32_t line_of(const struct fabric_places *places, const struct fabric *fabric, unsigned index)
{
    uint32_t leaf = fabric_find_node(fabric, "leaf0");

    return fabric_where(places, leaf, fabric->node[leaf].first_port + index, "mtu").line;
}

/* Random ranges over each other: of those that have a port the last holds, and without any the device speaks. */
static void test_ranges(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 0);
    for (uint64_t round = 0; round < 30; round++) {
        enum { HOSTS = 40, RANGES = 12 };
        unsigned first[RANGES], last[RANGES], ranges = 0;
        struct fabric_places *places;
        struct text text;
        begin(&text, HOSTS);
        for (unsigned r = 0; r < RANGES; r++) {
            unsigned from = (unsigned)rng_below(&rng, HOSTS), to = from + (unsigned)rng_below(&rng, HOSTS - from);
            bool again = false; /* a key stands once in a map */
            for (unsigned other = 0; other < ranges; other++)
                again |= first[other] == from && last[other] == to;
            if (again) continue;
            first[ranges] = from;
            last[ranges++] = to;
            fprintf(text.to, from == to ? "      %u: {mtu: 3000}\n" : "      %u-%u: {mtu: 3000}\n", from, to);
        }
        fclose(text.to);
        struct fabric *fabric = must_load("ranges.yaml", text.bytes);
        assert_int_equal(fabric_places_open(fabric, text.bytes, &places), 0);
        for (unsigned p = 0; p < HOSTS; p++) {
            uint32_t expected = DEVICE_LINE;
            for (unsigned r = 0; r < ranges; r++)
                if (p >= first[r] && p <= last[r]) expected = HEAD_LINES + 1 + r;
            EXPECT(line_of(places, fabric, p) == expected, round);
        }
        fabric_places_free(places);
        fabric_free(fabric);
        free(text.bytes);
    }
}

/* Places of all ports, each with a layer of its own. */
static uint64_t ask_all(unsigned hosts)
{
    struct fabric_places *places;
    struct text text;

    begin(&text, hosts);
    for (unsigned p = 0; p < hosts; p++)
        fprintf(text.to, "      %u: {mtu: 3000}\n", p);
    fclose(text.to);
    struct fabric *fabric = must_load("many.yaml", text.bytes);
    uint64_t begun = growth_ns();
    assert_int_equal(fabric_places_open(fabric, text.bytes, &places), 0);
    for (unsigned p = 0; p < hosts; p++)
        assert_int_equal(line_of(places, fabric, p), HEAD_LINES + 1 + p);
    uint64_t took = growth_ns() - begun;
    fabric_places_free(places);
    fabric_free(fabric);
    free(text.bytes);
    return took;
}

/* Sixteen times the ports take about sixteen times the work, not its square. */
static void test_many_ports(void **state)
{
    (void)state;
    expect_growth(ask_all, 250, 4000, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges), cmocka_unit_test(test_many_ports)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
