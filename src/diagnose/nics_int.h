/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NICs say of loss, and sums over all counters.  Private to the rules of src/diagnose.
 */
#ifndef ROCELAB_DIAGNOSE_NICS_INT_H
#define ROCELAB_DIAGNOSE_NICS_INT_H

#include "diagnose/rule_int.h"

static inline const char *name_of(const struct diagnose *diagnose, uint32_t object)
{
    return diagnose->evidence->object[object].name;
}

/* A host by its role, or, where nobody says the role, by counters that only NICs have. */
bool device_is_host(const struct evidence *evidence, uint32_t device);

/* Packets that the NIC sent again: counted, else at least so many as it was told of or had timers run out for. */
uint64_t nic_resent(const struct evidence *evidence, uint32_t port);
uint64_t nic_timeouts(const struct evidence *evidence, uint32_t port);
/* Whether some NIC says whether it sends again. */
bool nics_were_read(const struct diagnose *diagnose);
bool nics_resend(const struct diagnose *diagnose);
/* Those that sent again, or had timers run out, become victims; the counters of the worst of them evidence.  `near`: a
 * port of a cable: of a host's cable only those that talk to that host, where the evidence has flows. */
void finding_resenders(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t near);

/* What a counter of a port, without a priority, grew by, or is. */
static inline uint64_t port_get(const struct evidence *evidence, uint32_t port, enum evidence_counter counter)
{
    return evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, counter);
}
static inline const struct evidence_value *port_find(const struct evidence *evidence, uint32_t port,
                                                     enum evidence_counter counter)
{
    return evidence_find(evidence, port, EVIDENCE_NO_PRIORITY, counter);
}
/* A counter by priority, summed over priorities. */
uint64_t port_sum(const struct evidence *evidence, uint32_t port, enum evidence_counter counter);
/* What rules ask of all values of a counter together. */
void sum_counters(struct diagnose *diagnose);
/* Of the two ends of a cable the one that speaks for both. */
static inline bool port_speaks(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    return peer == EVIDENCE_NONE || port < peer;
}
/* Said to be down at this end or at the other. */
bool link_is_down(const struct evidence *evidence, uint32_t port);
/* It is down and was used: something went over it, it went down while watched, or packets for it were dropped.  A port
 * that nobody uses is down too. */
bool link_was_lost(const struct evidence *evidence, uint32_t port);
/* Some job did not end, or took much longer than its NICs' lines allow. */
bool a_job_is_slow(const struct diagnose *diagnose);
/* Jobs are known, and none has taken much longer than that (so far; `ended`: and all have ended). */
bool jobs_lose_nothing(const struct diagnose *diagnose, bool ended);
/* Packets that were sent to a port and did not arrive, and no counter says why (topology.c); 0: not so many that
 * reading the ends one after the other does not explain it. */
uint64_t cable_lost(const struct diagnose *diagnose, uint32_t port);
/* The packets of every cable are counted at both ends, and all that lack are too few for the gaps that NICs were told
 * of. */
bool cables_are_whole(const struct diagnose *diagnose);
/* A finding of this rule about the port or the other end of its cable, or about the device of either. */
bool rule_found(const struct diagnose *diagnose, enum diagnose_rule_id rule, uint32_t port);
/* The lossless priorities; where nobody says which they are, the one in which NICs that send RDMA send most. */
void data_priorities(const struct diagnose *diagnose, bool lossless[EVIDENCE_PRIORITIES]);
/* One counter alone is weak evidence. */
void finding_weak_unless(struct diagnose_finding *finding, bool second);

/* Every port of every device. */
#define EACH_PORT(evidence, device, port)                                                                              \
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device) EVIDENCE_EACH_PORT(evidence, device, port)

#endif
