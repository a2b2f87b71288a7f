/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rocelab check`: rules over a fabric, and what they found.
 *
 * A rule is one function, and one line of rules.def, which has all that is known of it: severity, title, reason, how to
 * mend it.  A rule looks at the resolved fabric and reports findings; where in the file a thing was said is asked only
 * then.  What a fabric file cannot hold (lines of a foreign configuration) comes in as notes of the importers and
 * becomes findings of the rule they name.
 */
#ifndef ROCELAB_CHECK_CHECK_H
#define ROCELAB_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

struct fabric;

enum check_severity { CHECK_INFO, CHECK_WARNING, CHECK_ERROR };
extern const char *const check_severity_names[CHECK_ERROR + 1];

struct check;
struct deadlock;
struct check_rule {
    const char *id;
    uint8_t severity;                 /* enum check_severity: the most it says */
    bool needs_config;                /* a fabric file cannot violate it: only importers' notes can */
    void (*run)(struct check *check); /* NULL with needs_config */
    const char *title;                /* what must hold */
    const char *why;
    const char *mend;
    const char *sources; /* documents that its statements rest on, or where our own reasoning is */
};
extern const struct check_rule check_rules[];
extern const uint32_t check_rule_count;
/* FABRIC_NONE: no rule is called so. */
uint32_t check_rule_find(const char *id);

struct check_finding {
    uint32_t rule;
    uint8_t severity;
    const char *file; /* NULL: the fabric file */
    uint32_t line, column;
    const char *device, *port; /* NULL: of none; port as in `leaf0:3` */
    uint32_t node, number;     /* FABRIC_NONE: of none; the port's number within the node */
    const char *path;          /* of what is wrong, as in fabric_where(); NULL: of an importer's note */
    const char *message;
    const char *ignored; /* the reason why it does not count; NULL: it does */
    bool known;          /* ignored because it is in the baseline */
    bool noted;          /* by an importer */
    bool own;            /* the place is the port's own: where it says nothing of it, the port itself */
    bool apart;          /* about a thing of its own: told, whatever else is at the place */
    bool whole;          /* of all files together there is one of its rule and severity */
    uint32_t also;       /* findings alike at the same place that are not listed */
};

struct check_options {
    uint32_t failures;     /* at the same time: 0, 1 or 2 */
    bool every;            /* findings alike at one place are not folded into one */
    const uint64_t *known; /* fingerprints of findings that do not count, in order */
    size_t knowns;
    uint64_t proof_steps; /* bound of the deadlock proof's work; 0: DEADLOCK_STEPS_MAX */
    /* How far it is, many times a second: of rules, of states of the proof.  NULL: nobody asks. */
    void (*tell)(const char *what, uint64_t done, uint64_t of_all);
};

struct check_unjudged { /* a rule, by its id or the letters that several begin with, that finds nothing there */
    const char *rule;
    uint32_t node, port; /* port FABRIC_NONE: on all of the node */
};

struct check {
    const struct fabric *fabric;
    const struct fabric_places *places; /* NULL: nowhere */
    struct check_options options;
    struct arena arena;
    struct check_finding *finding; /* in order of place, after check_run() */
    uint32_t findings, room;
    bool imported;    /* from configurations, most of which cannot say everything that a fabric file can */
    uint8_t cnp_dscp; /* with which CNPs are sent by what configurations of switches say; 0: as adapters have it */
    struct check_unjudged *unjudged;
    uint32_t unjudgeds, unjudged_room;
    const bool *out;        /* [ports + nodes] without a finding or a vote in the rule that runs; NULL: none */
    uint64_t *kind;         /* [ports] of what a configuration says is at the other end; 0: not said; NULL: none says */
    bool *idle;             /* [ports] that nothing uses, besides those that are not cabled or down; NULL: none */
    uint32_t rule;          /* that runs */
    uint64_t states;        /* of routing that the deadlock proof has covered */
    uint64_t searched;      /* of them, those in which waits had to be followed */
    bool apart, whole;      /* the findings of the rule that runs are */
    struct deadlock *proof; /* of rules about deadlocks; NULL before the first of them */
    bool unproven;          /* the deadlock proof is more work than its bound */
};

void check_init(struct check *check, const struct fabric *fabric, const struct fabric_places *places,
                const struct check_options *options);
void check_release(struct check *check);
/* Runs every rule that a fabric can violate, applies the file's own ignores. */
void check_run(struct check *check);
/* A note of an importer, before check_run().  `number` is the port's within the device,
 * FABRIC_NONE: of none; `most`: its severity, where the rule's is higher.  False: there is no such rule. */
bool check_note(struct check *check, const char *rule, const char *file, uint32_t line, uint32_t column,
                const char *device, const char *port, uint32_t number, enum check_severity most, const char *message);
/* Of what was imported, before check_run(): what cannot be judged, ports by their number within the node (FABRIC_NONE:
 * all), and ports that nothing uses.  No finding rests on either, at neither end of a link. */
void check_unjudge(struct check *check, const char *rule, const char *device, uint32_t number);
void check_set_idle(struct check *check, const char *device, uint32_t number);
/* What it says is at the other end of the port, as a kind: ports of one kind do the same work. */
void check_set_kind(struct check *check, const char *device, uint32_t number, uint64_t kind);
/* Findings of the baseline do not count; again when ports got other names. */
void check_leave_out_known(struct check *check);
/* Findings in order of file and place, those alike folded into one. */
void check_sort(struct check *check);
/* Of findings that count. */
uint32_t check_count(const struct check *check, enum check_severity severity);
/* A name for a finding that does not change when lines move: rule, device, port and what is said without numbers. */
uint64_t check_fingerprint(const struct check_finding *finding);

/* Why, the formula with the fabric's numbers and what was found (check NULL: without), how to mend it. */
void check_explain(uint32_t rule, const struct check *check, FILE *to);

#endif
