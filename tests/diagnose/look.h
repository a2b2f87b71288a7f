/* SPDX-License-Identifier: Apache-2.0 */
/* A switch beside the small fabric of bed.h, looked at once. */
#ifndef ROCELAB_TESTS_DIAGNOSE_LOOK_H
#define ROCELAB_TESTS_DIAGNOSE_LOOK_H

#include "bed.h"

/* A port of a switch whose cable nobody knows. */
static inline uint32_t alone(struct bed *bed, unsigned number, const char *system)
{
    uint32_t port = bed_port(bed, FABRIC_ROLE_SWITCH, "sw", 0, number);

    bed->evidence.object[bed->evidence.object[port].parent].system = system;
    return port;
}

static inline void said(struct bed *bed, uint32_t object, enum evidence_event_kind kind, const char *detail)
{
    evidence_add_event(&bed->evidence, &(struct evidence_event){.kind = (uint8_t)kind,
                                                                .priority = EVIDENCE_NO_PRIORITY,
                                                                .object = object,
                                                                .detail = detail,
                                                                .file = bed->file,
                                                                .line = 7});
}

static inline const struct diagnose_finding *weak_found(const struct bed *bed, enum diagnose_rule_id rule,
                                                        uint32_t culprit)
{
    const struct diagnose_finding *finding = bed_found(bed, rule);

    assert_culprit(bed, finding, culprit);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    return finding;
}

#endif
