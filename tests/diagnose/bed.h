/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small fabric of hand-made evidence for tests of rules: two leaves, two spines, four hosts, looked at twice, a
 * second apart.  Host h<n> hangs on port n % 2 of leaf n / 2; leaf<l> reaches spine<s> by port 2 + s,
 * the spine's port is l.
 */
#ifndef ROCELAB_TESTS_DIAGNOSE_BED_H
#define ROCELAB_TESTS_DIAGNOSE_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/diagnose.h"

#define HOSTS 4
#define LEAVES 2
#define SPINES 2
#define NONE EVIDENCE_NO_PRIORITY

struct bed {
    struct evidence evidence;
    struct diagnose diagnose;
    uint32_t host[HOSTS], leaf[LEAVES][2 + SPINES], spine[SPINES][LEAVES];
    uint32_t file;
};

static inline uint32_t bed_port(struct bed *bed, enum fabric_role role, const char *device, unsigned number,
                                unsigned port)
{
    char name[32];
    int length = snprintf(name, sizeof name, "%s%u", device, number);
    uint32_t on = evidence_device(&bed->evidence, name, (size_t)length);

    bed->evidence.object[on].role = (uint8_t)role;
    length = snprintf(name, sizeof name, "%u", port);
    return evidence_port(&bed->evidence, on, name, (size_t)length);
}

static inline void bed_open(struct bed *bed)
{
    memset(bed, 0, sizeof *bed);
    evidence_init(&bed->evidence);
    bed->file = evidence_file(&bed->evidence, "hand-made");
    for (unsigned l = 0; l < LEAVES; l++)
        for (unsigned p = 0; p < 2 + SPINES; p++)
            bed->leaf[l][p] = bed_port(bed, FABRIC_ROLE_LEAF, "leaf", l, p);
    for (unsigned h = 0; h < HOSTS; h++) {
        bed->host[h] = bed_port(bed, FABRIC_ROLE_HOST, "h", h, 0);
        evidence_tie(&bed->evidence, bed->host[h], bed->leaf[h / 2][h % 2]);
    }
    for (unsigned s = 0; s < SPINES; s++)
        for (unsigned l = 0; l < LEAVES; l++) {
            bed->spine[s][l] = bed_port(bed, FABRIC_ROLE_SPINE, "spine", s, l);
            evidence_tie(&bed->evidence, bed->spine[s][l], bed->leaf[l][2 + s]);
        }
    bed->evidence.tied = true;
}

static inline void bed_close(struct bed *bed)
{
    diagnose_release(&bed->diagnose);
    evidence_release(&bed->evidence);
}

/* A counter that grew by so much between the two looks. */
static inline void grew(struct bed *bed, uint32_t object, unsigned priority, enum evidence_counter counter, uint64_t by)
{
    struct evidence_source first = {bed->file, 1, 0}, last = {bed->file, 2, 1};

    evidence_set(&bed->evidence, object, priority, counter, 1000, &first);
    evidence_set(&bed->evidence, object, priority, counter, 1000 + by, &last);
}

/* Packets that one end of a cable sent, and the other end of it got; and the same number the other way. */
static inline void passed(struct bed *bed, uint32_t from, uint32_t to, uint64_t sent, uint64_t came)
{
    grew(bed, from, NONE, EVIDENCE_PORT_TX_PACKETS, sent);
    grew(bed, to, NONE, EVIDENCE_PORT_RX_PACKETS, came);
    grew(bed, to, NONE, EVIDENCE_PORT_TX_PACKETS, sent);
    grew(bed, from, NONE, EVIDENCE_PORT_RX_PACKETS, sent);
}

/* Every cable carries so many packets each way. */
static inline void all_passed(struct bed *bed, uint64_t packets)
{
    for (unsigned h = 0; h < HOSTS; h++)
        passed(bed, bed->host[h], bed->leaf[h / 2][h % 2], packets, packets);
    for (unsigned s = 0; s < SPINES; s++)
        for (unsigned l = 0; l < LEAVES; l++)
            passed(bed, bed->leaf[l][2 + s], bed->spine[s][l], packets, packets);
}

/* Something that is so at the second look. */
static inline void is(struct bed *bed, uint32_t object, unsigned priority, enum evidence_counter counter,
                      uint64_t value)
{
    struct evidence_source last = {bed->file, 3, 1};

    evidence_set(&bed->evidence, object, priority, counter, value, &last);
}

/* A counter of which there is one look: since boot. */
static inline void since_boot(struct bed *bed, uint32_t object, unsigned priority, enum evidence_counter counter,
                              uint64_t value)
{
    struct evidence_source only = {bed->file, 4, 0};

    evidence_set(&bed->evidence, object, priority, counter, value, &only);
}

/* A counter of the culprit, of the other end of its cable or of one of its cables, of its device, or of a rank. */
static inline bool is_near(const struct evidence *evidence, uint32_t object, uint32_t culprit)
{
    const struct evidence_object *of = &evidence->object[object];
    uint32_t peer = of->peer;

    return object == culprit || of->parent == culprit || peer == culprit || of->scope == EVIDENCE_RANK ||
           evidence->object[culprit].parent == object ||
           (peer != EVIDENCE_NONE && evidence->object[peer].parent == culprit);
}

/* Whatever a test is about: nobody is named without a counter of it or at the other end of its cable. */
static inline void bed_run(struct bed *bed)
{
    evidence_finish(&bed->evidence, NULL);
    diagnose_run(&bed->diagnose, &bed->evidence, NULL);
    for (uint32_t i = 0; i < bed->diagnose.findings; i++) {
        const struct diagnose_finding *finding = &bed->diagnose.finding[i];
        bool near = finding->rule == DIAGNOSE_D20;
        for (uint32_t e = 0; e < finding->evidences; e++)
            near |= is_near(&bed->evidence, finding->evidence[e].object, finding->culprit);
        if (!near) fail_msg("%s: no counter of the culprit", finding->what);
    }
}

static inline uint32_t bed_count(const struct bed *bed, enum diagnose_rule_id rule)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < bed->diagnose.findings; i++)
        count += bed->diagnose.finding[i].rule == rule;
    return count;
}

/* The only finding of a rule. */
static inline const struct diagnose_finding *bed_found(const struct bed *bed, enum diagnose_rule_id rule)
{
    assert_int_equal(bed_count(bed, rule), 1);
    for (uint32_t i = 0; i < bed->diagnose.findings; i++)
        if (bed->diagnose.finding[i].rule == rule) return &bed->diagnose.finding[i];
    return NULL;
}

/* Names it, with a counter. */
static inline void assert_culprit(const struct bed *bed, const struct diagnose_finding *finding, uint32_t culprit)
{
    assert_string_equal(bed->evidence.object[finding->culprit].name, bed->evidence.object[culprit].name);
    assert_true(finding->evidences > 0);
}

static inline bool is_victim(const struct diagnose_finding *finding, uint32_t object)
{
    for (uint32_t i = 0; i < finding->victims; i++)
        if (finding->victim[i] == object) return true;
    return false;
}

#endif
