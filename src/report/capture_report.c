/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text and the JSON of a capture share: the sum of two directions, names, the Wireshark filter.
 */
#include "report/capture_report.h"

#include <inttypes.h>

#include "base/check.h"

uint64_t report_naks(const struct capture_direction *direction)
{
    uint64_t sum = direction->naks_reserved;

    for (unsigned code = 0; code < NAK_CODES; code++)
        sum += direction->naks[code];
    return sum;
}

static void add_direction(struct report_sums *sums, const struct capture_direction *direction)
{
    sums->packets += direction->packets;
    sums->bytes += direction->bytes;
    sums->payload_bytes += direction->payload_bytes;
    sums->goodput_bytes += direction->goodput_bytes;
    if (direction->first_ns < sums->first_ns) sums->first_ns = direction->first_ns;
    if (direction->last_ns > sums->last_ns) sums->last_ns = direction->last_ns;
    sums->retransmitted += direction->retransmitted;
    sums->filled += direction->filled;
    sums->reordered += direction->reordered;
    sums->gaps += direction->gaps;
    sums->missing += direction->missing;
    sums->naks += report_naks(direction);
    sums->rnr_naks += direction->rnr_naks;
    sums->duplicate_acks += direction->duplicate_acks;
    sums->cnps += direction->cnps;
    sums->ecn_capable += direction->ecn_capable;
    sums->ecn_marked += direction->ecn_marked;
    sums->psn_wraps += direction->psn_wraps;
    sums->icrc_errors += direction->icrc_errors;
}

struct report_sums report_sums(const struct capture_connection *connection)
{
    struct report_sums sums = {.first_ns = connection->forward->first_ns, .last_ns = connection->forward->last_ns};

    add_direction(&sums, connection->forward);
    if (connection->reverse != NULL) add_direction(&sums, connection->reverse);
    return sums;
}

const char *report_transport(uint8_t transport)
{
    switch (transport) {
    case OP_RC:
        return "RC";
    case OP_UC:
        return "UC";
    case OP_UD:
        return "UD";
    case OP_CNP_KIND:
        return "CNP";
    default:
        return "?";
    }
}

const char *report_filter(const struct capture_evidence *evidence, char buf[REPORT_FILTER])
{
    size_t used = 0;

    _Static_assert(REPORT_FILTER >= 24 + CAPTURE_EVIDENCE * 22, "all numbers fit");
    CHECK(evidence->kept <= CAPTURE_EVIDENCE);
    buf[0] = '\0';
    if (evidence->kept == 0) return buf;
    if (evidence->kept == 1) {
        snprintf(buf, REPORT_FILTER, "frame.number == %" PRIu64, evidence->packet[0]);
        return buf;
    }
    for (uint32_t i = 0; i < evidence->kept; i++) {
        used += (size_t)snprintf(buf + used, REPORT_FILTER - used, "%s%" PRIu64, i == 0 ? "frame.number in {" : ", ",
                                 evidence->packet[i]);
    }
    snprintf(buf + used, REPORT_FILTER - used, "}");
    return buf;
}
