/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules share: making findings, shares of time, the pause graph.  Private to src/diagnose.
 */
#ifndef ROCELAB_DIAGNOSE_RULE_INT_H
#define ROCELAB_DIAGNOSE_RULE_INT_H

#include "diagnose/diagnose.h"

#define RULE(id, severity, owner, runbook, cause, why, fix, seen, culprit) void rule_##id(struct diagnose *diagnose);
#include "diagnose/rules.def"
#undef RULE

/* In this order: the graph before the rules, then what explains what, then the verdict about training, the answer. */
void graph_build(struct diagnose *diagnose);                                              /* graph.c */
void order_findings(struct diagnose *diagnose);                                           /* order.c */
void training_judge(struct diagnose *diagnose, const struct diagnose_baseline *baseline); /* training.c */
void standing_find(struct diagnose *diagnose);                                            /* answer/standing.c */
void answer_choose(struct diagnose *diagnose);                                            /* answer/answer.c */
void asks_choose(struct diagnose *diagnose);                                              /* answer/asks.c */

/* Memory of the diagnosis, zeroed, and a copy of a text in it; NULL: it ran out, and the diagnosis says so. */
void *diagnose_alloc(struct diagnose *diagnose, size_t count, size_t size, size_t align);
#define DIAGNOSE_NEW(diagnose, type, count) ((type *)diagnose_alloc((diagnose), (count), sizeof(type), _Alignof(type)))
const char *diagnose_keep(struct diagnose *diagnose, const char *text);
/* Appends, as far as there is room. */
__attribute__((format(printf, 3, 4))) void text_add(char *text, size_t size, const char *format, ...);
/* Room for one more of `count` in an array of the diagnosis; false: memory ran out. */
bool diagnose_more(struct diagnose *diagnose, void *array, uint32_t count, size_t size);
#define MORE(diagnose, array, count) diagnose_more(diagnose, &(array), count, sizeof(array)[0])

/* A new finding; NULL where memory ran out.  `what` is a sentence with numbers. */
__attribute__((format(printf, 5, 6))) struct diagnose_finding *finding_new(struct diagnose *diagnose,
                                                                           enum diagnose_rule_id rule, uint32_t culprit,
                                                                           unsigned priority, const char *what, ...);
void finding_victim(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t object);
/* Takes the culprit and those that take part out of the victims. */
void finding_not_victims(struct diagnose_finding *finding);
void finding_also(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t object);
/* A counter as it was read; nothing where `value` is NULL. */
void finding_counter(struct diagnose *diagnose, struct diagnose_finding *finding, const struct evidence_value *value,
                     double threshold);
void finding_row(struct diagnose *diagnose, struct diagnose_finding *finding, const struct diagnose_evidence *row);
/* Something worked out, with the counter it comes from (may be NULL). */
void finding_number(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t object, unsigned priority,
                    const char *name, const char *unit, double number, double threshold,
                    const struct evidence_value *from);

/* What a log said; nothing where `event` is NULL. */
void finding_event(struct diagnose *diagnose, struct diagnose_finding *finding, const struct evidence_event *event);

/* Of logs, what a rule says beside what counters say: links that came and went (D19), the others by kinds of events. */
void links_said(struct diagnose *diagnose);
void rule_said(struct diagnose *diagnose, enum diagnose_rule_id rule);
/* Of jobs' logs: requests that failed for want of an answer, links of hosts that went down.  Part of D14. */
bool peers_were_lost(const struct evidence *evidence);
void peers_lost_said(struct diagnose *diagnose);

/* What one look of a switch shows (switches/), beside what rules find that have two: storms that a watchdog ended
 * (D02), PFC that is off, a lossless queue that stands still (D08), ports without a lossless priority (D15), hot optics
 * (D13), slow ports with errors (D06). */
void storms_seen(struct diagnose *diagnose);
void lossless_seen(struct diagnose *diagnose);
void classes_seen(struct diagnose *diagnose);
void optics_seen(struct diagnose *diagnose);
void slow_with_errors(struct diagnose *diagnose);

/* What would have been needed to know more: a sentence, kept once however often it is said. */
__attribute__((format(printf, 2, 3))) void missing_add(struct diagnose *diagnose, const char *what, ...);

/* Share of time that the port's priority was paused by its peer (or paused its peer).  From durations, else the upper
 * bound that frames allow; from the other end of the cable where this end says nothing. */
struct share {
    double value;
    double lately;     /* between the last two looks */
    bool known, bound; /* bound: at most this much: from frames */
    bool since_boot;   /* one look: a share of the most that any port stood still, for want of the time */
    const struct evidence_value *from;
};
struct share share_paused(const struct diagnose *diagnose, uint32_t port, unsigned priority);
struct share share_pausing(const struct diagnose *diagnose, uint32_t port, unsigned priority);
/* Share of its line that the port sent. */
struct share share_busy(const struct diagnose *diagnose, uint32_t port);
/* Bits a second of a port, as it is now, or as the file has it; 0: nobody says it. */
uint64_t line_rate(const struct diagnose *diagnose, uint32_t port);
/* Seconds that the evidence covers; 0: one look. */
double span_s(const struct diagnose *diagnose);
/* Whether a priority is lossless somewhere: said, PFC on, or pauses seen. */
bool is_lossless(const struct diagnose *diagnose, unsigned priority);

#endif
