/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnosis: from evidence to causes.
 *
 * Each rule of rules.def is one function that looks at the evidence and finds; diagnose_run() runs them all, then
 * orders what was found: the first cause that explains the others stands first, and those become its
 * consequences.  A finding never names a culprit without a counter on it or on the other end of its cable.
 * Without I/O; text and JSON are made in src/report.
 */
#ifndef ROCELAB_DIAGNOSE_DIAGNOSE_H
#define ROCELAB_DIAGNOSE_DIAGNOSE_H

#include "diagnose/limits.h"
#include "evidence/evidence.h"

enum diagnose_severity { DIAGNOSE_INFO, DIAGNOSE_WARNING, DIAGNOSE_CRITICAL };
/* Exact: the simulator's own cause.  Strong: two independent counters, between two looks.  Weak: one, or since boot. */
enum diagnose_confidence { DIAGNOSE_WEAK, DIAGNOSE_STRONG, DIAGNOSE_EXACT };

enum diagnose_rule_id {
#define RULE(id, severity, owner, runbook, cause, why, fix, seen, culprit) DIAGNOSE_##id,
#include "diagnose/rules.def"
#undef RULE
    DIAGNOSE_RULES,
};
struct diagnose_rule {
    const char *id;
    uint8_t severity;
    const char *owner, *runbook, *cause, *why, *fix, *seen, *culprit;
};
extern const struct diagnose_rule diagnose_rules[DIAGNOSE_RULES];
const char *diagnose_runbook_title(const char *id);

struct diagnose_limit {
    const char *name;
    double value;
    const char *rules, *of; /* "D02 D03"; "of the time that ..." */
};
extern const struct diagnose_limit diagnose_limits[];
extern const uint32_t diagnose_limit_count;

/* A counter, and what it was held against. */
struct diagnose_evidence {
    uint32_t object;
    uint8_t priority;
    const char *counter; /* canonical name, or what was worked out of it: "rx_pause_share" */
    const char *unit;    /* of the value: "", "bytes", "share" */
    double value, threshold;
    uint32_t file, line; /* EVIDENCE_NONE, 0: worked out of several */
    uint32_t event;      /* of a log: index into evidence->event plus one; 0: it is a counter */
};

struct diagnose_finding {
    uint8_t rule, severity, confidence;
    uint32_t culprit;    /* object */
    uint8_t priority;    /* EVIDENCE_NO_PRIORITY: not by priority */
    const char *what;    /* a sentence with numbers, without its full stop */
    const char *between; /* the two ends, where they are addresses or GIDs: "10.0.0.1 and 10.0.0.2"; NULL */
    uint32_t *victim, victims;
    uint32_t *also, alsos; /* who takes part: an incast's senders, the other queues of a circle */
    struct diagnose_evidence *evidence;
    uint32_t evidences;
    uint32_t consequence_of; /* index of the finding that explains it; EVIDENCE_NONE */
    bool now, old;           /* private: rows that say that it is so now; rows that may be years old */
    bool strays;             /* private: CNPs that nobody is known to have lost */
    bool disturbs;           /* private: who is sent to by one job, and is in another's way */
    bool rests;              /* private: the culprit was left unused for longer than it held anybody up */
};

/* "Training degraded because of the network": the four conditions, each with its number. */
enum diagnose_condition { DIAGNOSE_UNKNOWN, DIAGNOSE_NO, DIAGNOSE_YES };
struct diagnose_training {
    uint32_t job;
    uint8_t slow, exposed, not_straggler, network; /* enum diagnose_condition */
    uint32_t finding;                              /* of the fourth; EVIDENCE_NONE */
    double step_ns, base_ns, added_exposed_share, skew_share;
    bool base_is_ideal; /* no stored baseline: against the ideal time */
    bool base_known;
    double gpu_hours_per_hour; /* lost: (step / base - 1) x GPUs */
    double gpus;
    const char *verdict; /* a sentence */
};

struct diagnose_counter {
    uint64_t most;      /* that it grew by, or is, anywhere */
    bool known;         /* somebody says it */
    bool positive;      /* and not 0 everywhere: a share of bits that are wrong is above 0, and less than 1 */
    uint8_t priorities; /* for which it is above 0 somewhere, a bit each */
};

/* A cause; looked at enough, and nothing is wrong; or too little was looked at to say either
 * (answer/answer.c). */
enum diagnose_answer { DIAGNOSE_CLEAR, DIAGNOSE_CAUSE, DIAGNOSE_NOT_ENOUGH, DIAGNOSE_ANSWERS };
extern const char *const diagnose_answer_names[DIAGNOSE_ANSWERS]; /* "clear", "cause", "not-enough" */

/* A counter that should be 0, and is not (answer/standing.def), or what a log says; in no cause that was found. */
struct diagnose_standing {
    const struct evidence_value *value; /* NULL: it is an event */
    const struct evidence_event *event; /* NULL: it is a counter */
    uint64_t count; /* that it grew by between looks, or, where it did not, is since it was cleared */
    bool grew;
    double share;      /* of packets; NaN: how many there were is not known */
    double cleared_s;  /* since its port's counters were cleared, or its device started; NaN: not said */
    const char *means; /* what it may mean */
};

/* What may be asked of whom (answer/asks.def). */
enum diagnose_need {
#define NEED(id, what) DIAGNOSE_NEED_##id,
#include "diagnose/answer/asks.def"
    DIAGNOSE_NEEDS,
};
struct diagnose_ask_row {
    uint8_t need;                        /* enum diagnose_need */
    const char *system, *command, *kind; /* "sonic"; "show pfc counters"; of the reader */
};
extern const char *const diagnose_needs[DIAGNOSE_NEEDS]; /* what it shows */
extern const struct diagnose_ask_row diagnose_ask_rows[];
extern const uint32_t diagnose_ask_row_count;
/* An output that would decide. */
struct diagnose_ask {
    const char *device;  /* NULL: where the job runs */
    const char *command; /* to type there; NULL: of its system none is known, and `why` says what it should show */
    const char *why;
    uint8_t need; /* enum diagnose_need */
};

struct diagnose {
    const struct evidence *evidence;
    struct arena arena;
    struct diagnose_limits limits;
    struct diagnose_finding *finding; /* causes first */
    uint32_t findings;
    struct diagnose_training *training;
    uint32_t trainings;
    uint8_t answer;      /* enum diagnose_answer */
    const char *because; /* what the answer rests on, or what keeps it from being "clear"; "" of a cause */
    struct diagnose_standing *standing; /* the worst first */
    uint32_t standings;
    struct diagnose_ask *ask; /* the deciding one first; none where the answer is clear, or sure */
    uint32_t asks;
    bool *logs;           /* private: files that have events; NULL: not known yet */
    bool acquitted;       /* a job is slow, and it is not the network */
    const char **missing; /* what would have been needed, sentences */
    uint32_t missings;
    uint64_t total[EVIDENCE_COUNTERS];                   /* private: sums of every counter over all objects */
    struct diagnose_counter counters[EVIDENCE_COUNTERS]; /* private: what rules ask of all values of a counter */
    struct diagnose_graph *graph;                        /* private */
    uint32_t *rank_of, *rank_after; /* private: first rank of a job, next of a rank, plus 1; 0: none */
    uint32_t found[DIAGNOSE_RULES]; /* private: findings of each rule, before some were put together */
    struct {                        /* private: which objects the list that was added to last has */
        uint32_t *stamp, now, count;
        const uint32_t *list;
    } mark;
    bool full; /* memory ran out: the answer is not whole */
};

/* `baseline`: stored step times, or NULL (training.h). */
struct diagnose_baseline;
void diagnose_run(struct diagnose *diagnose, const struct evidence *evidence, const struct diagnose_baseline *baseline);
/* The names as they are printed: "critical", "exact". */
extern const char *const diagnose_severity_names[], *const diagnose_confidence_names[];
void diagnose_release(struct diagnose *diagnose);
/* Causes were found, and each is inside of hosts: no switch and no link has a part in it. */
bool diagnose_not_network(const struct diagnose *diagnose);
/* The worst of what was found; DIAGNOSE_INFO where there is nothing. */
enum diagnose_severity diagnose_worst(const struct diagnose *diagnose);

#endif
