/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over cables of hand-made evidence: each kind of problem, and a fabric without one. */
#include "bed.h"
#include "diagnose/walk.h"

/* A fabric in which both ends of every cable say the same. */
static void healthy(struct bed *bed)
{
    struct evidence_source at = {bed->file, 7, 1};
    const struct evidence *evidence = &bed->evidence;

    for (uint32_t port = 0; port < evidence->objects; port++) {
        if (evidence->object[port].scope != EVIDENCE_PORT) continue;
        is(bed, port, NONE, EVIDENCE_LINK_UP, 1);
        is(bed, port, NONE, EVIDENCE_RATE, 100000000000);
        is(bed, port, NONE, EVIDENCE_MTU, 9216);
        is(bed, port, 3, EVIDENCE_PFC_ON, 1);
        grew(bed, port, NONE, EVIDENCE_LINK_DOWN, 0);
        grew(bed, port, NONE, EVIDENCE_CRC_ERRORS, 0);
        grew(bed, port, NONE, EVIDENCE_PORT_TX_PACKETS, 10000);
        grew(bed, port, NONE, EVIDENCE_PORT_RX_PACKETS, 9990);
        grew(bed, port, 3, EVIDENCE_TX_PAUSE_FRAMES, 100);
        grew(bed, port, 3, EVIDENCE_RX_PAUSE_FRAMES, 98);
        grew(bed, port, 3, EVIDENCE_TX_PAUSE_NS, 5000000);
        grew(bed, port, 3, EVIDENCE_RX_PAUSE_NS, 4900000);
    }
    evidence_add_neighbour(&bed->evidence, bed->leaf[0][2], "spine0.lab.example", "0", &at);
    for (unsigned h = 0; h < HOSTS; h++)
        is(bed, bed->host[h], NONE, EVIDENCE_MTU, 4200); /* a NIC may send less */
}

static uint32_t kinds(struct bed *bed, struct walk *walk)
{
    uint32_t seen = 0;

    evidence_finish(&bed->evidence, NULL);
    walk_run(walk, &bed->evidence);
    for (uint32_t i = 0; i < walk->problems; i++)
        seen |= 1u << walk->problem[i].kind;
    return seen;
}

static void test_healthy(void **state)
{
    struct bed bed;
    struct walk walk;
    (void)state;

    bed_open(&bed);
    healthy(&bed);
    assert_int_equal(kinds(&bed, &walk), 0);
    assert_int_equal(walk.links, HOSTS + LEAVES * SPINES);
    walk_release(&walk);
    bed_close(&bed);
}

static void breaks(struct bed *bed, enum walk_kind kind)
{
    struct evidence_source at = {bed->file, 8, 1};
    uint32_t leaf = bed->leaf[0][2], spine = bed->spine[0][0];

    switch (kind) {
    case WALK_DOWN:
        is(bed, leaf, NONE, EVIDENCE_LINK_UP, 0);
        break;
    case WALK_FLAPS:
        grew(bed, spine, NONE, EVIDENCE_LINK_DOWN, 1);
        break;
    case WALK_RATE:
        is(bed, spine, NONE, EVIDENCE_RATE, 50000000000);
        break;
    case WALK_ERRORS:
        grew(bed, leaf, NONE, EVIDENCE_CRC_ERRORS, 1);
        break;
    case WALK_PAUSES:
        grew(bed, spine, 3, EVIDENCE_RX_PAUSE_NS, 100);
        break;
    case WALK_LOST:
        grew(bed, spine, NONE, EVIDENCE_PORT_RX_PACKETS, 9000);
        break;
    case WALK_CREDITS:
        grew(bed, spine, NONE, EVIDENCE_XMIT_WAIT, 100000000);
        break;
    case WALK_DISCARDS:
        grew(bed, leaf, NONE, EVIDENCE_XMIT_DISCARDS, 1);
        break;
    case WALK_MTU:
        is(bed, spine, NONE, EVIDENCE_MTU, 1500);
        break;
    case WALK_PFC:
        is(bed, leaf, 3, EVIDENCE_PFC_ON, 0);
        break;
    default:
        evidence_add_neighbour(&bed->evidence, bed->leaf[0][3], "spine0", "1", &at);
        evidence_add_neighbour(&bed->evidence, bed->leaf[0][3], "spine0", "1", &at); /* at another look */
    }
}

/* What is set twice at one time is set: the second counts. */
static void test_each_kind(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < WALK_KINDS; kind++) {
        struct bed bed;
        struct walk walk;
        bed_open(&bed);
        healthy(&bed);
        breaks(&bed, (enum walk_kind)kind);
        assert_int_equal(kinds(&bed, &walk), 1u << kind);
        assert_int_equal(walk.problems, 1);
        const struct walk_link *link = &walk.link[walk.problem[0].link];
        assert_int_equal(link->problems, 1);
        uint32_t end = kind == WALK_NEIGHBOUR ? bed.leaf[0][3] : bed.leaf[0][2];
        assert_true(link->end[0] == end || link->end[1] == end);
        assert_int_equal(walk.problem[0].file, bed.file);
        walk_release(&walk);
        bed_close(&bed);
    }
}

/* A device that nobody has heard of. */
static void test_stranger(void **state)
{
    struct bed bed;
    struct walk walk;
    struct evidence_source at;
    (void)state;

    bed_open(&bed);
    at = (struct evidence_source){bed.file, 8, 1};
    healthy(&bed);
    evidence_add_neighbour(&bed.evidence, bed.leaf[1][2], "printer", "e0", &at);
    assert_int_equal(kinds(&bed, &walk), 1u << WALK_NEIGHBOUR);
    assert_non_null(strstr(walk.problem[0].what, "printer"));
    walk_release(&walk);
    bed_close(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_each_kind),
        cmocka_unit_test(test_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
