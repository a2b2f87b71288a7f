/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What those who judge share: the run, its ports by number, and how a finding is put into words.
 */
#ifndef ROCELAB_REPORT_VERDICT_JUDGE_H
#define ROCELAB_REPORT_VERDICT_JUDGE_H

#include <inttypes.h>

#include "base/wide.h"
#include "report/verdict/verdict.h"

enum {
#define LIMIT(name, value, help) LIMIT_##name = (value),
#include "report/verdict/limits.def"
#undef LIMIT
};

struct judge {
    const struct sim_report *report;
    const struct fabric *fabric;
    const struct sim_result *result;
    const struct sim_port **port; /* [fabric.ports]; NULL: not cabled */
    ps_t *began_ps;               /* [fabric.ports] for how long its queue was the root of pauses */
    uint32_t *flow, *flow_of;     /* judge_jobs() alone: job j's are flow[flow_of[j]] to flow[flow_of[j + 1] - 1] */
    uint8_t sent_in;              /* priorities that adapters send in, as switches count them: lanes */
    bool healthy;                 /* every job ended and is healthy, and nothing else ran */
    bool slow;                    /* some job is below what is healthy */
    bool outside;                 /* some host is behind an interface: what it sends, loses and handles is not known */
    struct verdict *to;
    struct verdict_finding lost; /* where there is no memory for one */
    bool failed;
};

struct ranked { /* ports of one finding; sorted by value, the largest first */
    uint32_t port;
    uint64_t value;
};

struct verdict_finding *judge_add(struct judge *judge, enum verdict_id id);
__attribute__((format(printf, 2, 3))) void judge_what(struct verdict_finding *finding, const char *format, ...);
__attribute__((format(printf, 2, 3))) void judge_why(struct verdict_finding *finding, const char *format, ...);
void judge_object(struct verdict_finding *finding, uint32_t port);
/* Sorts them and lists them as the finding's objects; says how many more than the first there are. */
void judge_rank(struct ranked *ranked, uint32_t count);
void judge_objects(struct verdict_finding *finding, const struct ranked *ranked, uint32_t count);
void judge_more(struct verdict_finding *finding, uint32_t count, const char *thing);
const struct verdict_finding *judge_found(const struct judge *judge, enum verdict_id id); /* NULL: it was not */

/* Calls `value` for each cabled port (of switches alone, or all), keeps those with one, ranked; NULL: none, or no
 * memory.  The caller's to free. */
typedef uint64_t judge_value(const struct judge *judge, const struct sim_port *port);
struct ranked *judge_ports(struct judge *judge, judge_value *value, bool switches, uint32_t *ret_count);

uint32_t judge_ppm(uint64_t part, uint64_t whole);
/* Whether a fault of that kind held on the link of a port at some time. */
bool judge_fault(const struct judge *judge, uint32_t port, uint8_t kind);

/* Marks the ports that a job's packets may leave by: used[fabric.ports] (judge_ways.c). */
void judge_ways(struct judge *judge, uint32_t job, uint8_t *used);

/* The judges: each adds what it finds. */
void judge_trouble(struct judge *judge);
void judge_links(struct judge *judge);
void judge_loss(struct judge *judge);
void judge_pauses(struct judge *judge);
void judge_control(struct judge *judge);
void judge_congestion(struct judge *judge);
void judge_training(struct judge *judge);
void judge_jobs(struct judge *judge); /* the last: it names what the others found */
/* Fills in slow and healthy. */
void judge_shares(struct judge *judge);

#endif
