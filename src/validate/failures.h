/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of failures have in common: one traffic that crosses the fabric, what fails in it, what that explains.
 * Private to phase5*.c and phase6*.c.
 */
#ifndef ROCELAB_VALIDATE_FAILURES_H
#define ROCELAB_VALIDATE_FAILURES_H

#include "fabric/work.h"
#include "validate/case.h"

#define FAILURE_RANKS 16u

struct failures {
    uint32_t rank[FAILURE_RANKS]; /* endpoints, each of another host, each edge in turn */
    uint32_t ranks;
    uint32_t spine; /* node above the edges whose loss leaves every endpoint a path; FABRIC_NONE: none */
    uint32_t link;  /* port between switches likewise */
    uint64_t bytes; /* of a message that takes `length` at line rate */
    ps_t length;
    struct fabric_converge converge; /* the file's, or the usual one where it has none */
    char converge_text[96];
};

static inline unsigned long long in_ns(ps_t time)
{
    return (unsigned long long)(time / PS_NS);
}

/* False, after a row that is skipped: there are no two hosts. */
bool failures_choose(struct validate_case *of, ps_t length, struct failures *ret);
/* Each rank sends one message to the next: YAML. */
const char *failures_jobs(const struct validate_case *of, const struct failures *failures);
/* A run with these faults ("": none), which outlive the variant.  False after a row; `variant` is to be closed where
 * it is true. */
bool failures_run(struct validate_case *of, const char *subject, const struct failures *failures, const char *jobs,
                  const char *const *fault, uint32_t faults, ps_t until, struct variant *variant);
/* From the first start to the last end of its jobs; PS_NEVER: one has not ended, or failed. */
ps_t failures_time(const struct variant *variant);
/* That new routes take to be everywhere. */
ps_t failures_routes_ps(const struct failures *failures);
/* Packets that switches dropped or links lost.  What an adapter discards because it came out of order, or twice, has
 * arrived: where routes move, packets on the new way overtake those on the old one. */
uint64_t failures_lost(const struct variant *variant);
/* A row: what was announced loses no packet, above what is lost `without` it (a file may have faults of its own). */
void failures_judge_lost(struct validate_case *of, const char *name, const struct variant *variant, uint64_t without);

#endif
