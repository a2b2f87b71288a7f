/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D24: RDMA in a class that is not lossless, whose queues were full.  Loss in a lossless class is D08's.
 */
#include <inttypes.h>

#include "diagnose/nics_int.h"

/* The priorities in which what was sent again may have been lost: the one that NICs send most of their RDMA in, where
 * it is not lossless; of NICs that do not say (TCP), all that are not.  *rdma: which of the two. */
static void lossy_priorities(const struct diagnose *diagnose, bool lossy[EVIDENCE_PRIORITIES], bool *rdma)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t bytes[EVIDENCE_PRIORITIES] = {0};
    unsigned most = 0;

    EACH_PORT(evidence, device, port)
    {
        if (!port_get(evidence, port, EVIDENCE_TX_DATA_PACKETS)) continue;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            bytes[p] += evidence_get(evidence, port, p, EVIDENCE_TX_BYTES);
    }
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (bytes[p] > bytes[most]) most = p;
    *rdma = bytes[most] > 0;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        lossy[p] = !is_lossless(diagnose, p) && (!*rdma || p == most);
}

/* Systems that say nothing of PFC do not say either that a class has none. */
static bool somebody_says_lossless(const struct diagnose *diagnose)
{
    return diagnose->evidence->exact || diagnose->evidence->fabric || diagnose->counters[EVIDENCE_PFC_ON].known ||
           diagnose->counters[EVIDENCE_LOSSLESS].known;
}

static const enum evidence_counter of_queues[] = {EVIDENCE_QUEUE_DROPS, EVIDENCE_GROUP_DROPS};

static bool went_down(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;

    return link_is_down(evidence, port) || port_get(evidence, port, EVIDENCE_LINK_DOWN) ||
           (peer != EVIDENCE_NONE && port_get(evidence, peer, EVIDENCE_LINK_DOWN));
}

/* What waits for a port that goes down is dropped at its queue, and no congestion. */
static uint64_t lossy_drops(const struct evidence *evidence, uint32_t port, const bool lossy[EVIDENCE_PRIORITIES])
{
    uint64_t drops = 0;

    if (device_is_host(evidence, evidence->object[port].parent) || went_down(evidence, port)) return 0;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        for (size_t i = 0; lossy[p] && i < 2; i++)
            drops += evidence_get(evidence, port, p, of_queues[i]);
    return drops;
}

static void drop_rows(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t port,
                      const bool lossy[EVIDENCE_PRIORITIES])
{
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        for (size_t i = 0; lossy[p] && i < 2; i++) {
            const struct evidence_value *value = evidence_find(diagnose->evidence, port, p, of_queues[i]);
            if (value && value->grown) finding_counter(diagnose, finding, value, 0);
        }
}

void rule_D24(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool lossy[EVIDENCE_PRIORITIES], rdma;
    uint32_t worst = EVIDENCE_NONE, ports = 0;
    uint64_t most = 0;
    char more[48] = "";

    if (!nics_resend(diagnose) || !somebody_says_lossless(diagnose)) return;
    lossy_priorities(diagnose, lossy, &rdma);
    EACH_PORT(evidence, device, port)
    {
        uint64_t drops = lossy_drops(evidence, port, lossy);
        ports += drops != 0;
        if (drops > most) most = drops, worst = port;
    }
    if (worst == EVIDENCE_NONE) return;
    if (ports > 1) text_add(more, sizeof more, ", and %u more port%s did", ports - 1, ports == 2 ? "" : "s");
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D24, worst, EVIDENCE_NO_PRIORITY,
                    "%s dropped %" PRIu64 " packets of a class that is not lossless%s, and NICs sent again",
                    name_of(diagnose, worst), most, more);
    drop_rows(diagnose, finding, worst, lossy);
    EACH_PORT(evidence, device, port)
    {
        if (port == worst || !lossy_drops(evidence, port, lossy)) continue;
        finding_also(diagnose, finding, port);
        drop_rows(diagnose, finding, port, lossy);
    }
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    if (finding && (!rdma || jobs_lose_nothing(diagnose, true))) finding->severity = DIAGNOSE_INFO;
}
