/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict: what is wrong in this capture, in plain words, with packet numbers to look at.
 *
 * One finding for each rule of verdict.def that applies.  A first pass over the connections finds, for
 * each rule, how many are concerned and which is worst; then each rule writes its sentence.  Counts
 * come from the totals, which include connections dropped to keep the memory bound; names can only
 * come from those still held.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/time.h"
#include "base/units.h"
#include "packet/mad.h"
#include "telemetry/capture_internal.h"

enum rule {
#define X(id, number, severity, title, advice) RULE_##id,
#include "telemetry/verdict.def"
#undef X
    RULES
};

static const struct {
    const char *id, *title, *advice;
    enum capture_severity severity;
} rules[RULES] = {
#define X(id, number, severity, title, advice) {number, title, advice, CAPTURE_##severity},
#include "telemetry/verdict.def"
#undef X
};

_Static_assert(RULES <= CAPTURE_FINDINGS, "each rule has room for its finding");

/* The connections a rule concerns, and the worst of them. */
struct worst {
    uint32_t count;
    uint32_t connection;
    uint64_t value, of; /* of the worst; of 0: a bare count */
    uint64_t packet;    /* number to look at; 0: none */
    uint64_t sum, sum_of;
    const struct capture_direction *direction;
    struct capture_evidence shown; /* one packet, or more, of each direction concerned */
};

struct verdict {
    struct capture *capture;
    struct worst worst[RULES];
    uint32_t connection; /* being inspected */
};

static void concern(struct verdict *verdict, enum rule rule, const struct capture_direction *direction, uint64_t value,
                    uint64_t of, uint64_t packet)
{
    struct worst *worst = &verdict->worst[rule];
    if (value == 0) return;
    worst->sum += value;
    worst->sum_of += of;
    worst->count++;
    if (packet) evidence_keep(&worst->shown, packet);
    if (worst->count > 1 && value <= worst->value) return;
    worst->connection = verdict->connection;
    worst->value = value;
    worst->of = of;
    worst->packet = packet;
    worst->direction = direction;
}

static uint64_t nak_sum(const struct capture_direction *direction)
{
    uint64_t sum = direction->naks_reserved;
    for (unsigned code = NAK_INVALID_REQUEST; code < NAK_CODES; code++)
        sum += direction->naks[code];
    return sum;
}

/* Packets skipped and never seen since: those the other end acknowledged, and the others. */
static void inspect_holes(struct verdict *verdict, const struct direction *direction)
{
    const struct capture_direction *view = &direction->view;
    static const enum rule rule[2] = {RULE_GAPS, RULE_CAPTURE_LOSS};
    uint64_t missing[2] = {0, 0}, packet[2] = {0, 0};
    for (unsigned i = 0; i < direction->holes; i++) {
        const struct psn_hole *hole = &direction->hole[i];
        unsigned arrived = hole->to <= direction->acked;
        missing[arrived] += hole->to - hole->from;
        if (packet[arrived])
            evidence_keep(&verdict->worst[rule[arrived]].shown, hole->packet);
        else
            packet[arrived] = hole->packet;
    }
    for (unsigned arrived = 0; arrived < 2; arrived++)
        concern(verdict, rule[arrived], view, missing[arrived], view->requests + missing[arrived], packet[arrived]);
}

static const struct direction *direction_of(const struct capture_direction *view)
{
    return (const struct direction *)((const char *)view - offsetof(struct direction, view));
}

/* One direction as a requester; `back` is its reverse or NULL. */
static void inspect_requests(struct verdict *verdict, const struct direction *direction,
                             const struct capture_direction *back)
{
    const struct capture_direction *view = &direction->view;
    uint64_t timeouts = view->retransmitted_by[CAPTURE_BY_TIMEOUT];
    const uint64_t *first = direction->recovery.first_packet;
    bool silent = view->transport == OP_RC && direction->recovery.retries >= 2;
    if (verdict->capture->totals.retransmitted_by[CAPTURE_BY_NAK])
        concern(verdict, RULE_LOSS, view, view->retransmitted_by[CAPTURE_BY_NAK], view->requests,
                first[CAPTURE_BY_NAK]);
    else if (first[CAPTURE_BY_NAK]) /* selective repeat, behind the loss: nothing is seen twice */
        concern(verdict, RULE_LOSS, view, view->filled - view->reordered, view->requests, first[CAPTURE_BY_NAK]);
    if (back && back->packets && view->transport == OP_RC)
        concern(verdict, RULE_TIMEOUT, view, timeouts, view->requests, first[CAPTURE_BY_TIMEOUT]);
    else if (!silent)
        concern(verdict, RULE_TIMEOUT_BLIND, view, timeouts, view->requests, first[CAPTURE_BY_TIMEOUT]);
    if (silent) concern(verdict, RULE_SILENT, view, direction->recovery.retries, 0, direction->recovery.retry_first);
    if (direction->recovery.hint == HINT_RNR && direction->recovery.hint_requests == view->requests)
        concern(verdict, RULE_RNR_LAST, view, 1, 0, direction->recovery.hint_packet);
    concern(verdict, RULE_REORDER, view, view->reordered, view->requests, direction->recovery.first_overtaken);
    concern(verdict, RULE_ODD_SIZE, view, view->odd_sizes, view->requests, 0);
    concern(verdict, RULE_RESET, view, view->resets, 0, 0);
    inspect_holes(verdict, direction);
    if (view->transport == OP_RC && !back && view->requests)
        concern(verdict, RULE_ONE_WAY, view, view->requests, 0, view->first_request_packet);
    if (view->ecn_marked && view->payload_bytes && view->transport != OP_UD && back && back->cnps == 0)
        concern(verdict, RULE_CE_NO_CNP, view, view->ecn_marked, view->packets, direction->first_ce);
    if (back && back->cnps && view->packets && view->ecn_capable == 0)
        concern(verdict, RULE_CNP_NOT_ECT, view, back->cnps, 0, direction_of(back)->first_cnp);
}

static void inspect(struct verdict *verdict, const struct direction *direction, const struct capture_direction *back)
{
    const struct capture_direction *view = &direction->view;
    concern(verdict, RULE_ICRC, view, view->icrc_errors, view->packets, view->icrc_first_packet);
    concern(verdict, RULE_FATAL, view, nak_sum(view), 0, view->fatal_packet);
    concern(verdict, RULE_RNR, view, view->rnr_naks, 0, view->rnr_first_packet);
    concern(verdict, RULE_CNPS, view, view->cnps, 0, 0);
    inspect_requests(verdict, direction, back);
}

static void inspect_all(struct verdict *verdict)
{
    struct capture *capture = verdict->capture;
    for (uint32_t i = 0; i < capture->order_count; i++) {
        const struct direction *forward = &capture->direction[capture->order[i]];
        const struct direction *reverse = forward->peer == NONE ? NULL : &capture->direction[forward->peer];
        verdict->connection = i;
        inspect(verdict, forward, reverse ? &reverse->view : NULL);
        if (reverse) inspect(verdict, reverse, &forward->view);
    }
}

/* Appends to a finding's sentence; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void say(struct capture_finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->what);
    va_list args;
    va_start(args, format);
    vsnprintf(finding->what + used, sizeof finding->what - used, format, args);
    va_end(args);
}

static void say_share(struct capture_finding *finding, uint64_t value, uint64_t of)
{
    uint64_t permille = of ? (uint64_t)(((uint128)value * 1000 + of / 2) / of) : 0;
    say(finding, " (%llu.%llu%%)", (unsigned long long)(permille / 10), (unsigned long long)(permille % 10));
}

static void say_time(struct capture_finding *finding, uint64_t ns)
{
    char text[UNIT_TEXT];
    uint64_t ps = ns < UINT64_MAX / PS_NS ? ns * PS_NS : UINT64_MAX;
    say(finding, "%s", unit_format_short(UNIT_TIME, ps, 3, text));
}

static void say_direction(struct capture_finding *finding, const struct capture_direction *direction)
{
    char src[PKT_ADDR_TEXT], dst[PKT_ADDR_TEXT];
    say(finding, "%s -> %s QP 0x%x", pkt_addr_format(&direction->src, src), pkt_addr_format(&direction->dst, dst),
        direction->dst_qp);
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The packet that the sentence names, then others in order: what was kept under `kind` (EVIDENCES: nothing, or
 * not of this rule alone), and what the directions concerned have to show. */
static struct capture_evidence evidence_of(const struct verdict *verdict, enum rule rule, enum evidence kind)
{
    const struct worst *worst = &verdict->worst[rule];
    struct capture_evidence ret = {.kept = 0};
    uint64_t number[2 * CAPTURE_EVIDENCE];
    size_t count = 0;
    if (kind < EVIDENCES)
        for (unsigned i = 0; i < verdict->capture->evidence[kind].kept; i++)
            number[count++] = verdict->capture->evidence[kind].packet[i];
    for (unsigned i = 0; i < worst->shown.kept; i++)
        number[count++] = worst->shown.packet[i];
    qsort(number, count, sizeof number[0], by_number);
    if (worst->packet) evidence_keep(&ret, worst->packet);
    for (size_t i = 0; i < count; i++)
        if (number[i] != worst->packet && (i == 0 || number[i] != number[i - 1])) evidence_keep(&ret, number[i]);
    return ret;
}

static struct capture_finding *finding_new(struct verdict *verdict, enum rule rule, enum evidence evidence)
{
    struct capture *capture = verdict->capture;
    CHECK(capture->findings < CAPTURE_FINDINGS);
    struct capture_finding *finding = &capture->finding[capture->findings++];
    finding->id = rules[rule].id;
    finding->severity = rules[rule].severity;
    finding->title = rules[rule].title;
    finding->advice = rules[rule].advice;
    finding->connection = verdict->worst[rule].count ? verdict->worst[rule].connection : NONE;
    finding->evidence = evidence_of(verdict, rule, evidence);
    return finding;
}

/* "; worst: A -> B QP 0x11, 12 of 40 (30.0%), first packet 17; and 3 more connections" */
static void say_worst(struct capture_finding *finding, const struct worst *worst)
{
    if (worst->count == 0) return;
    say(finding, worst->count > 1 ? "; worst: " : ": ");
    say_direction(finding, worst->direction);
    if (worst->count > 1) {
        say(finding, ", %llu", (unsigned long long)worst->value);
        if (worst->of) {
            say(finding, " of %llu", (unsigned long long)worst->of);
            say_share(finding, worst->value, worst->of);
        }
    }
    if (worst->packet) say(finding, ", first at packet %llu", (unsigned long long)worst->packet);
    if (worst->count > 1)
        say(finding, "; and %u more %s", worst->count - 1, plural(worst->count - 1, "direction", "directions"));
}

/* The usual finding: N of M things. */
static struct capture_finding *finding_share(struct verdict *verdict, enum rule rule, enum evidence evidence,
                                             uint64_t value, uint64_t of, const char *things)
{
    if (value == 0) return NULL;
    struct capture_finding *finding = finding_new(verdict, rule, evidence);
    say(finding, "%llu of %llu %s", (unsigned long long)value, (unsigned long long)of, things);
    say_share(finding, value, of);
    say_worst(finding, &verdict->worst[rule]);
    return finding;
}

static void write_damage(struct verdict *verdict)
{
    const struct capture_totals *totals = &verdict->capture->totals;
    finding_share(verdict, RULE_ICRC, EVIDENCE_ICRC, totals->icrc_errors, totals->icrc_checked,
                  "packets checked have a wrong ICRC");
    uint64_t aggregates = totals->malformed_by[CODEC_FAULT_TOO_LONG];
    if (totals->malformed > aggregates) {
        struct capture_finding *finding = finding_new(verdict, RULE_MALFORMED, EVIDENCE_MALFORMED);
        uint64_t count = totals->malformed - aggregates;
        say(finding, "%llu malformed %s", (unsigned long long)count, plural(count, "frame", "frames"));
        const char *separator = ": ";
        for (unsigned fault = 0; fault < CODEC_FAULTS; fault++) {
            if (!totals->malformed_by[fault] || fault == CODEC_FAULT_TOO_LONG) continue;
            say(finding, "%s%llu %s", separator, (unsigned long long)totals->malformed_by[fault],
                codec_fault_text((enum codec_fault)fault));
            separator = "; ";
        }
    }
    if (aggregates) {
        struct capture_finding *finding = finding_new(verdict, RULE_AGGREGATE, EVIDENCE_AGGREGATE);
        say(finding, "%llu %s", (unsigned long long)aggregates, plural(aggregates, "frame", "frames"));
    }
}

static void write_broken(struct verdict *verdict)
{
    const struct worst *fatal = &verdict->worst[RULE_FATAL], *silent = &verdict->worst[RULE_SILENT];
    uint64_t naks = verdict->capture->fatal_naks;
    if (naks && !fatal->count)
        say(finding_new(verdict, RULE_FATAL, EVIDENCE_FATAL), "%llu %s, on connections no longer held",
            (unsigned long long)naks, plural(naks, "NAK", "NAKs"));
    if (fatal->count) {
        struct capture_finding *finding = finding_new(verdict, RULE_FATAL, EVIDENCE_FATAL);
        say(finding, "%llu %s", (unsigned long long)naks, plural(naks, "NAK", "NAKs"));
        const char *separator = fatal->count > 1 ? " (worst connection: " : " (";
        for (unsigned code = NAK_INVALID_REQUEST; code < NAK_CODES; code++) {
            if (!fatal->direction->naks[code]) continue;
            say(finding, "%s%s", separator, nak_name(code));
            separator = ", ";
        }
        if (fatal->direction->naks_reserved) say(finding, "%sreserved code", separator);
        say(finding, ")");
        say_worst(finding, fatal);
    }
    if (silent->count) {
        struct capture_finding *finding = finding_new(verdict, RULE_SILENT, EVIDENCES);
        const struct recovery *recovery = &direction_of(silent->direction)->recovery;
        say_direction(finding, silent->direction);
        say(finding, ": PSN %u was sent %llu more times and never answered", (uint32_t)recovery->retry_psn & 0xffffff,
            (unsigned long long)silent->value);
        if (silent->count > 1)
            say(finding, "; and %u more %s", silent->count - 1, plural(silent->count - 1, "connection", "connections"));
        finding->evidence = (struct capture_evidence){.packet = {recovery->retry_first}, .kept = 1};
        evidence_keep(&finding->evidence, recovery->retry_packet);
    }
}

static void write_loss(struct verdict *verdict)
{
    const struct capture_totals *totals = &verdict->capture->totals;
    const struct worst *worst = verdict->worst;
    if (totals->retransmitted_by[CAPTURE_BY_NAK])
        finding_share(verdict, RULE_LOSS, EVIDENCE_LOSS, totals->retransmitted_by[CAPTURE_BY_NAK], totals->requests,
                      "request packets were sent again after a NAK");
    else
        finding_share(verdict, RULE_LOSS, EVIDENCE_LOSS, worst[RULE_LOSS].sum, worst[RULE_LOSS].sum_of,
                      "request packets were lost ahead of the capture point and sent again");
    /* what was kept of timeouts belongs to one of these rules only if the others do not apply */
    unsigned rules_of_timeouts =
        !!worst[RULE_TIMEOUT].count + !!worst[RULE_TIMEOUT_BLIND].count + !!worst[RULE_SILENT].count;
    enum evidence timeouts = rules_of_timeouts == 1 ? EVIDENCE_TIMEOUT : EVIDENCES;
    finding_share(verdict, RULE_TIMEOUT, timeouts, worst[RULE_TIMEOUT].sum, worst[RULE_TIMEOUT].sum_of,
                  "request packets were sent again with no NAK before them");
    finding_share(verdict, RULE_TIMEOUT_BLIND, timeouts, worst[RULE_TIMEOUT_BLIND].sum,
                  worst[RULE_TIMEOUT_BLIND].sum_of, "request packets were sent again");
    finding_share(verdict, RULE_CAPTURE_LOSS, EVIDENCES, worst[RULE_CAPTURE_LOSS].sum, worst[RULE_CAPTURE_LOSS].sum_of,
                  "request packets were acknowledged but not captured");
    finding_share(verdict, RULE_GAPS, EVIDENCES, worst[RULE_GAPS].sum, worst[RULE_GAPS].sum_of,
                  "request packets are missing");
    finding_share(verdict, RULE_REORDER, EVIDENCE_REORDER, totals->reordered, totals->requests,
                  "request packets came behind later ones");
    finding_share(verdict, RULE_ODD_SIZE, EVIDENCE_SIZE, worst[RULE_ODD_SIZE].sum, worst[RULE_ODD_SIZE].sum_of,
                  "request packets are First or Middle of another size");
    if (totals->rnr_naks == 0) return;
    struct capture_finding *finding = finding_new(verdict, RULE_RNR, EVIDENCE_RNR);
    say(finding, "%llu RNR %s", (unsigned long long)totals->rnr_naks, plural(totals->rnr_naks, "NAK", "NAKs"));
    if (totals->retransmitted_by[CAPTURE_BY_RNR])
        say(finding, ", %llu packets sent again", (unsigned long long)totals->retransmitted_by[CAPTURE_BY_RNR]);
    const struct worst *rnr = &worst[RULE_RNR];
    if (!rnr->count) return;
    say(finding, ", timer ");
    say_time(finding, rnr->direction->rnr_min_ns);
    if (rnr->direction->rnr_max_ns != rnr->direction->rnr_min_ns) {
        say(finding, " to ");
        say_time(finding, rnr->direction->rnr_max_ns);
    }
    say_worst(finding, rnr);
}

static void write_rnr_last(struct verdict *verdict)
{
    const struct worst *worst = &verdict->worst[RULE_RNR_LAST];
    if (!worst->count) return;
    struct capture_finding *finding = finding_new(verdict, RULE_RNR_LAST, EVIDENCES);
    say_direction(finding, worst->direction);
    if (worst->count > 1)
        say(finding, " and %u more %s", worst->count - 1, plural(worst->count - 1, "direction", "directions"));
    say(finding, ": no request after the last RNR NAK");
}

static void write_congestion(struct verdict *verdict)
{
    const struct capture *capture = verdict->capture;
    const struct capture_totals *totals = &capture->totals;
    const struct worst *marked = &verdict->worst[RULE_CE_NO_CNP], *not_ect = &verdict->worst[RULE_CNP_NOT_ECT];
    const struct worst *cnps = &verdict->worst[RULE_CNPS];
    if (marked->count)
        finding_share(verdict, RULE_CE_NO_CNP, totals->cnps ? EVIDENCES : EVIDENCE_CE, marked->sum, marked->sum_of,
                      "packets are marked CE on connections without a CNP");
    if (not_ect->count) {
        struct capture_finding *finding =
            finding_new(verdict, RULE_CNP_NOT_ECT, not_ect->count == cnps->count ? EVIDENCE_CNP : EVIDENCES);
        say(finding, "%llu %s", (unsigned long long)not_ect->sum, plural(not_ect->sum, "CNP", "CNPs"));
        say_worst(finding, not_ect);
    }
    if (totals->cnps) {
        struct capture_finding *finding = finding_new(verdict, RULE_CNPS, EVIDENCE_CNP);
        say(finding, "%llu %s, %llu packets marked CE", (unsigned long long)totals->cnps,
            plural(totals->cnps, "CNP", "CNPs"), (unsigned long long)totals->ecn_marked);
        if (cnps->count && cnps->direction->cnp_gap) {
            say(finding, ", at least ");
            say_time(finding, cnps->direction->cnp_gap->min);
            say(finding, " apart");
        }
        say_worst(finding, cnps);
    }
    if (totals->roce_packets && totals->ecn_capable == 0)
        say(finding_new(verdict, RULE_NOT_ECN, EVIDENCES), "none of %llu RoCE packets is ECN-capable",
            (unsigned long long)totals->roce_packets);
}

static void say_pause(struct capture_finding *finding, const struct capture_pause *pause, uint64_t span_ns)
{
    const uint8_t *mac = pause->smac;
    say(finding, "%02x:%02x:%02x:%02x:%02x:%02x ", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    if (pause->global)
        say(finding, "paused all priorities for ");
    else
        say(finding, "paused priority %u for ", pause->priority);
    say_time(finding, pause->paused_ns);
    say_share(finding, pause->paused_ns, span_ns);
    say(finding, ", longest ");
    say_time(finding, pause->longest_ns);
    say(finding, ", %llu xoff, %llu xon", (unsigned long long)pause->xoff, (unsigned long long)pause->xon);
}

static void write_pauses(struct verdict *verdict)
{
    const struct capture *capture = verdict->capture;
    const struct capture_totals *totals = &capture->totals;
    uint64_t span_ns = totals->last_ns - totals->first_ns;
    const struct capture_pause *worst[2] = {NULL, NULL};
    uint32_t count[2] = {0, 0};
    for (uint32_t i = 0; i < capture->pause_order_count; i++) {
        const struct capture_pause *pause = capture->pause_order[i];
        if (pause->xoff == 0) continue;
        /* a storm is a habit, not one frame at the end of a short capture */
        unsigned storm = pause->xoff >= 8 && pause->paused_ns > span_ns / 2;
        count[storm]++;
        if (!worst[storm] || pause->paused_ns > worst[storm]->paused_ns) worst[storm] = pause;
    }
    for (unsigned storm = 0; storm < 2; storm++) {
        if (!worst[storm]) continue;
        struct capture_finding *finding = finding_new(verdict, storm ? RULE_PAUSE_STORM : RULE_PAUSED, EVIDENCES);
        finding->evidence = worst[storm]->evidence;
        say_pause(finding, worst[storm], span_ns);
        if (count[storm] > 1) say(finding, "; and %u more senders or priorities", count[storm] - 1);
    }
    if (totals->pause_frames && totals->pfc_frames)
        say(finding_new(verdict, RULE_GLOBAL_PAUSE, EVIDENCE_PAUSE), "%llu PAUSE frames beside %llu PFC frames",
            (unsigned long long)totals->pause_frames, (unsigned long long)totals->pfc_frames);
}

enum { CONSUMER_REJECT = 28 };

static bool cm_is(const struct capture_cm *cm, enum rule rule)
{
    bool answered = cm->rep_ns || cm->rej_ns || cm->mras;
    bool rejected = cm->sidr ? cm->rep_ns && cm->reject_reason : cm->rej_ns != 0;
    bool refused = rejected && !cm->sidr && cm->reject_reason == CONSUMER_REJECT;
    if (rule == RULE_CM_UNANSWERED) return !answered;
    return rule == RULE_CM_REFUSED ? refused : rejected && !refused;
}

static void write_cm(struct verdict *verdict, enum rule rule)
{
    const struct capture *capture = verdict->capture;
    struct capture_finding *finding = NULL;
    char from[PKT_ADDR_TEXT], to[PKT_ADDR_TEXT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < capture->cm_count; i++) {
        const struct capture_cm *cm = &capture->cm[i].view;
        if (!cm_is(cm, rule)) continue;
        if (count++ == 0) {
            finding = finding_new(verdict, rule, EVIDENCES);
            say(finding, "%s -> %s service 0x%llx", pkt_addr_format(&cm->initiator, from),
                pkt_addr_format(&cm->acceptor, to), (unsigned long long)cm->service_id);
            if (rule == RULE_CM_UNANSWERED)
                say(finding, ": asked %u %s", cm->repeats + 1, plural(cm->repeats + 1u, "time", "times"));
            else if (cm->sidr)
                say(finding, ": SIDR status %u", cm->reject_reason);
            else
                say(finding, ": %s (reason %u)", cm_reject_text(cm->reject_reason), cm->reject_reason);
        }
        evidence_keep(&finding->evidence, cm->rej_packet ? cm->rej_packet : cm->req_packet);
    }
    if (count > 1) say(finding, "; and %u more", count - 1);
}

static void write_unread(struct verdict *verdict)
{
    const struct capture_totals *totals = &verdict->capture->totals;
    if (!totals->unread) return;
    struct capture_finding *finding = finding_new(verdict, RULE_UNREAD, EVIDENCE_UNREAD);
    say(finding, "%llu %s of link type", (unsigned long long)totals->unread,
        plural(totals->unread, "record", "records"));
    for (unsigned i = 0; i < CAPTURE_UNREAD_TYPES && totals->unread_type[i].records; i++)
        say(finding, "%s %u (%s, %llu)", i ? "," : "", totals->unread_type[i].link_type,
            capfile_link_name(totals->unread_type[i].link_type), (unsigned long long)totals->unread_type[i].records);
}

static void write_notes(struct verdict *verdict)
{
    const struct capture_totals *totals = &verdict->capture->totals;
    uint64_t cut = totals->cut + totals->cut_headers;
    if (cut)
        say(finding_new(verdict, RULE_CUT, EVIDENCE_CUT), "%llu packets cut, %llu of them inside the headers",
            (unsigned long long)cut, (unsigned long long)totals->cut_headers);
    finding_share(verdict, RULE_UNKNOWN, EVIDENCE_UNKNOWN, totals->unknown_opcodes, totals->roce_packets,
                  "RoCE packets have an opcode not looked into");
    finding_share(verdict, RULE_EVICTED, EVIDENCES, totals->evicted, totals->connections,
                  "connections were dropped to keep memory bounded");
    finding_share(verdict, RULE_BACKWARDS, EVIDENCE_BACKWARDS, totals->time_backwards, totals->packets,
                  "records are older than the one before");
    const struct worst *reset = &verdict->worst[RULE_RESET], *one_way = &verdict->worst[RULE_ONE_WAY];
    if (reset->count) {
        struct capture_finding *finding = finding_new(verdict, RULE_RESET, EVIDENCE_RESET);
        say(finding, "%llu %s", (unsigned long long)reset->sum, plural(reset->sum, "time", "times"));
        say_worst(finding, reset);
    }
    if (one_way->count) {
        struct capture_finding *finding = finding_new(verdict, RULE_ONE_WAY, EVIDENCES);
        say(finding, "%llu request packets without any answer", (unsigned long long)one_way->sum);
        say_worst(finding, one_way);
    }
    if (totals->roce_packets == 0)
        say(finding_new(verdict, RULE_NO_ROCE, EVIDENCES), "none of %llu records is RoCE",
            (unsigned long long)totals->packets);
}

static int by_severity(const void *left, const void *right)
{
    const struct capture_finding *a = left, *b = right;
    if (a->severity != b->severity) return a->severity < b->severity ? 1 : -1;
    return strcmp(a->id, b->id);
}

void cap_verdict_write(struct capture *capture)
{
    struct verdict verdict = {.capture = capture};
    inspect_all(&verdict);
    write_damage(&verdict);
    write_broken(&verdict);
    write_cm(&verdict, RULE_CM_REJECTED);
    write_cm(&verdict, RULE_CM_REFUSED);
    write_cm(&verdict, RULE_CM_UNANSWERED);
    write_loss(&verdict);
    write_rnr_last(&verdict);
    write_congestion(&verdict);
    write_pauses(&verdict);
    write_unread(&verdict);
    write_notes(&verdict);
    bool wrong = false;
    for (uint32_t i = 0; i < capture->findings; i++)
        wrong = wrong || capture->finding[i].severity != CAPTURE_INFO;
    if (!wrong && capture->totals.roce_packets) {
        const struct capture_totals *totals = &capture->totals;
        struct capture_finding *finding = finding_new(&verdict, RULE_NOTHING, EVIDENCES);
        say(finding, "nothing wrong in %llu RoCE packets of %llu %s, %llu ICRCs checked",
            (unsigned long long)totals->roce_packets, (unsigned long long)totals->connections,
            plural(totals->connections, "connection", "connections"), (unsigned long long)totals->icrc_checked);
    }
    qsort(capture->finding, capture->findings, sizeof capture->finding[0], by_severity);
}
