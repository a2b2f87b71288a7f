/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict: what is wrong in this capture, in plain words, with packet numbers to look at.
 *
 * One finding for each rule of verdict.def that applies.  inspect.c has found, for each rule, how many
 * directions are concerned and which is worst, those of connections dropped to keep the memory bound
 * included; here each rule writes its sentence.
 *
 * Never is it said that nothing is wrong while something was counted: what no rule explains is said as the bare
 * count it is.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/time.h"
#include "base/units.h"
#include "capture/capture_int.h"
#include "diagnose/limits.h"
#include "packet/mad.h"

static const struct {
    const char *id, *title, *advice;
    enum capture_severity severity;
} rules[RULES] = {
#define X(id, number, severity, title, advice) {number, title, advice, CAPTURE_##severity},
#include "capture/verdict.def"
#undef X
};

_Static_assert(RULES <= CAPTURE_FINDINGS, "each rule has room for its finding");

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
    uint64_t permille = of ? (uint64_t)(((u128)value * 1000 + of / 2) / of) : 0;
    say(finding, " (%llu.%llu%%)", (unsigned long long)(permille / 10), (unsigned long long)(permille % 10));
}

static void say_time(struct capture_finding *finding, uint64_t ns)
{
    char text[UNIT_TEXT];
    uint64_t ps = ns < UINT64_MAX / PS_NS ? ns * PS_NS : UINT64_MAX;
    say(finding, "%s", unit_format_short(UNIT_TIME, ps, 3, text));
}

static void say_direction(struct capture_finding *finding, const struct worst *worst)
{
    char src[PKT_ADDR_TEXT], dst[PKT_ADDR_TEXT];
    say(finding, "%s -> %s QP 0x%x", pkt_addr_format(&worst->subject.src, src),
        pkt_addr_format(&worst->subject.dst, dst), worst->subject.dst_qp);
    if (worst->connection == NONE) say(finding, " (no longer held)");
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void say_count(struct capture_finding *finding, uint64_t count, const char *one, const char *many)
{
    say(finding, "%llu %s", (unsigned long long)count, plural(count, one, many));
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The packet that the sentence names, then others in order: what was kept under `kind` (EVIDENCES: nothing, or
 * not of this rule alone), and what the directions concerned have to show. */
static struct capture_evidence evidence_of(const struct capture *capture, enum rule rule, enum evidence kind)
{
    const struct worst *worst = &capture->worst[rule];
    struct capture_evidence ret = {.kept = 0};
    uint64_t number[2 * CAPTURE_EVIDENCE];
    size_t count = 0;
    if (kind < EVIDENCES)
        for (unsigned i = 0; i < capture->evidence[kind].kept; i++)
            number[count++] = capture->evidence[kind].packet[i];
    for (unsigned i = 0; i < worst->shown.kept; i++)
        number[count++] = worst->shown.packet[i];
    qsort(number, count, sizeof number[0], by_number);
    if (worst->packet) evidence_keep(&ret, worst->packet);
    for (size_t i = 0; i < count; i++)
        if (number[i] != worst->packet && (i == 0 || number[i] != number[i - 1])) evidence_keep(&ret, number[i]);
    return ret;
}

static struct capture_finding *finding_new(struct capture *capture, enum rule rule, enum evidence evidence)
{
    CHECK(capture->findings < CAPTURE_FINDINGS);
    struct capture_finding *finding = &capture->finding[capture->findings++];
    finding->id = rules[rule].id;
    finding->severity = rules[rule].severity;
    finding->title = rules[rule].title;
    finding->advice = rules[rule].advice;
    finding->connection = capture->worst[rule].count ? capture->worst[rule].connection : NONE;
    finding->evidence = evidence_of(capture, rule, evidence);
    return finding;
}

/* "; worst: A -> B QP 0x11, 12 of 40 (30.0%), first packet 17; and 3 more connections" */
static void say_worst(struct capture_finding *finding, const struct worst *worst)
{
    if (worst->count == 0) return;
    say(finding, worst->count > 1 ? "; worst: " : ": ");
    say_direction(finding, worst);
    if (worst->count > 1) {
        say(finding, ", %llu", (unsigned long long)worst->value);
        if (worst->of) {
            say(finding, " of %llu", (unsigned long long)worst->of);
            say_share(finding, worst->value, worst->of);
        }
    }
    if (worst->packet) say(finding, ", first at packet %llu", (unsigned long long)worst->packet);
    if (worst->count > 1)
        say(finding, "; and %llu more %s", (unsigned long long)worst->count - 1,
            plural(worst->count - 1, "direction", "directions"));
}

/* "1 of 5 request packets was sent again" */
struct words {
    const char *thing, *things; /* of how many */
    const char *one, *many;     /* what holds for one of them, for several */
};
#define REQUESTS "request packet", "request packets"

/* The usual finding: N of M things. */
static void finding_share(struct capture *capture, enum rule rule, enum evidence evidence, uint64_t value, uint64_t of,
                          const struct words *words)
{
    if (value == 0) return;
    struct capture_finding *finding = finding_new(capture, rule, evidence);
    say(finding, "%llu of %llu %s %s", (unsigned long long)value, (unsigned long long)of,
        plural(of, words->thing, words->things), plural(value, words->one, words->many));
    say_share(finding, value, of);
    say_worst(finding, &capture->worst[rule]);
}

/* A share of what the directions concerned have sent. */
static void finding_sum(struct capture *capture, enum rule rule, enum evidence evidence, const struct words *words)
{
    finding_share(capture, rule, evidence, capture->worst[rule].sum, capture->worst[rule].sum_of, words);
}

static void write_damage(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    finding_share(capture, RULE_ICRC, EVIDENCE_ICRC, totals->icrc_errors, totals->icrc_checked,
                  &(struct words){"packet", "packets", "checked has a wrong ICRC", "checked have a wrong ICRC"});
    uint64_t aggregates = totals->malformed_by[CODEC_FAULT_TOO_LONG];
    if (totals->malformed > aggregates) {
        struct capture_finding *finding = finding_new(capture, RULE_MALFORMED, EVIDENCE_MALFORMED);
        uint64_t count = totals->malformed - aggregates;
        say_count(finding, count, "malformed frame", "malformed frames");
        const char *separator = ": ";
        for (unsigned fault = 0; fault < CODEC_FAULTS; fault++) {
            if (!totals->malformed_by[fault] || fault == CODEC_FAULT_TOO_LONG) continue;
            say(finding, "%s%llu %s", separator, (unsigned long long)totals->malformed_by[fault],
                codec_fault_text((enum codec_fault)fault));
            separator = "; ";
        }
    }
    if (aggregates) say_count(finding_new(capture, RULE_AGGREGATE, EVIDENCE_AGGREGATE), aggregates, "frame", "frames");
}

static void write_broken(struct capture *capture)
{
    const struct worst *fatal = &capture->worst[RULE_FATAL], *silent = &capture->worst[RULE_SILENT];
    if (fatal->count) {
        struct capture_finding *finding = finding_new(capture, RULE_FATAL, EVIDENCE_FATAL);
        say_count(finding, fatal->sum, "NAK", "NAKs");
        const char *separator = fatal->count > 1 ? " (worst connection: " : " (";
        for (unsigned code = NAK_INVALID_REQUEST; code < NAK_CODES; code++) {
            if (!(fatal->subject.nak_codes & 1u << code)) continue;
            say(finding, "%s%s", separator, nak_name(code));
            separator = ", ";
        }
        if (fatal->subject.nak_codes & 1u << 31) say(finding, "%sreserved code", separator);
        say(finding, ")");
        say_worst(finding, fatal);
    }
    if (silent->count) {
        struct capture_finding *finding = finding_new(capture, RULE_SILENT, EVIDENCES);
        say_direction(finding, silent);
        say(finding, ": PSN %u was sent %llu more times and never answered", silent->subject.retry_psn,
            (unsigned long long)silent->value);
        if (silent->count > 1)
            say(finding, "; and %llu more %s", (unsigned long long)silent->count - 1,
                plural(silent->count - 1, "connection", "connections"));
        finding->evidence = (struct capture_evidence){.packet = {silent->subject.retry_first}, .kept = 1};
        evidence_keep(&finding->evidence, silent->subject.retry_packet);
    }
}

static void write_repeats(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    struct worst *worst = capture->worst;
    if (totals->retransmitted_by[CAPTURE_BY_NAK]) {
        finding_share(capture, RULE_LOSS, EVIDENCE_LOSS, totals->retransmitted_by[CAPTURE_BY_NAK], totals->requests,
                      &(struct words){REQUESTS, "was sent again after a NAK", "were sent again after a NAK"});
    } else {
        worst[RULE_LOSS] = worst[RULE_LOSS_AHEAD];
        finding_sum(capture, RULE_LOSS, EVIDENCE_LOSS,
                    &(struct words){REQUESTS, "was lost ahead of the capture point and sent again",
                                    "were lost ahead of the capture point and sent again"});
    }
    /* what was kept of timeouts belongs to one of these rules only if the others do not apply */
    unsigned rules_of_timeouts =
        !!worst[RULE_TIMEOUT].count + !!worst[RULE_TIMEOUT_BLIND].count + !!worst[RULE_SILENT].count;
    enum evidence timeouts = rules_of_timeouts == 1 ? EVIDENCE_TIMEOUT : EVIDENCES;
    finding_sum(
        capture, RULE_TIMEOUT, timeouts,
        &(struct words){REQUESTS, "was sent again with no NAK before it", "were sent again with no NAK before them"});
    finding_sum(capture, RULE_TIMEOUT_BLIND, timeouts, &(struct words){REQUESTS, "was sent again", "were sent again"});
    finding_sum(capture, RULE_COPIES, EVIDENCE_COPY,
                &(struct words){REQUESTS, "is a copy of one recorded less than 8.2 us before",
                                "are copies of ones recorded less than 8.2 us before"});
}

static void write_rnr(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    const struct worst *rnr = &capture->worst[RULE_RNR];
    if (totals->rnr_naks == 0) return;
    struct capture_finding *finding = finding_new(capture, RULE_RNR, EVIDENCE_RNR);
    say_count(finding, totals->rnr_naks, "RNR NAK", "RNR NAKs");
    if (totals->retransmitted_by[CAPTURE_BY_RNR]) {
        say(finding, ", ");
        say_count(finding, totals->retransmitted_by[CAPTURE_BY_RNR], "packet sent again", "packets sent again");
    }
    if (!rnr->count) return;
    say(finding, ", timer ");
    say_time(finding, rnr->subject.rnr_min_ns);
    if (rnr->subject.rnr_max_ns != rnr->subject.rnr_min_ns) {
        say(finding, " to ");
        say_time(finding, rnr->subject.rnr_max_ns);
    }
    say_worst(finding, rnr);
}

static void write_loss(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    write_repeats(capture);
    finding_sum(
        capture, RULE_CAPTURE_LOSS, EVIDENCES,
        totals->cut_headers
            ? &(struct words){REQUESTS, "was acknowledged but not captured, or cut before its PSN",
                              "were acknowledged but not captured, or cut before their PSN"}
            : &(struct words){REQUESTS, "was acknowledged but not captured", "were acknowledged but not captured"});
    finding_sum(capture, RULE_GAPS, EVIDENCES, &(struct words){REQUESTS, "is missing", "are missing"});
    finding_share(capture, RULE_REORDER, EVIDENCE_REORDER, totals->reordered, totals->requests,
                  &(struct words){REQUESTS, "came behind later ones", "came behind later ones"});
    finding_sum(capture, RULE_ODD_SIZE, EVIDENCE_SIZE,
                &(struct words){REQUESTS, "is First or Middle of another size", "are First or Middle of another size"});
    write_rnr(capture);
}

static void write_rnr_last(struct capture *capture)
{
    const struct worst *worst = &capture->worst[RULE_RNR_LAST];
    if (!worst->count) return;
    struct capture_finding *finding = finding_new(capture, RULE_RNR_LAST, EVIDENCES);
    say_direction(finding, worst);
    if (worst->count > 1)
        say(finding, " and %llu more %s", (unsigned long long)worst->count - 1,
            plural(worst->count - 1, "direction", "directions"));
    say(finding, ": no request after the last RNR NAK");
}

static void write_nak_alone(struct capture *capture)
{
    const struct worst *worst = &capture->worst[RULE_NAK_ALONE];
    if (!worst->count) return;
    struct capture_finding *finding = finding_new(capture, RULE_NAK_ALONE, EVIDENCES);
    say_count(finding, worst->sum, "NAK for a PSN sequence error", "NAKs for a PSN sequence error");
    say_worst(finding, worst);
}

static void write_congestion(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    const struct worst *marked = &capture->worst[RULE_CE_NO_CNP], *not_ect = &capture->worst[RULE_CNP_NOT_ECT];
    const struct worst *cnps = &capture->worst[RULE_CNPS];
    if (marked->count)
        finding_sum(capture, RULE_CE_NO_CNP, totals->cnps ? EVIDENCES : EVIDENCE_CE,
                    &(struct words){"packet", "packets", "is marked CE on a connection without a CNP",
                                    "are marked CE on connections without a CNP"});
    if (not_ect->count) {
        struct capture_finding *finding =
            finding_new(capture, RULE_CNP_NOT_ECT, not_ect->count == cnps->count ? EVIDENCE_CNP : EVIDENCES);
        say_count(finding, not_ect->sum, "CNP", "CNPs");
        say_worst(finding, not_ect);
    }
    if (totals->cnps) {
        struct capture_finding *finding = finding_new(capture, RULE_CNPS, EVIDENCE_CNP);
        say_count(finding, totals->cnps, "CNP, ", "CNPs, ");
        say_count(finding, totals->ecn_marked, "packet marked CE", "packets marked CE");
        if (cnps->subject.cnp_gap_ns) {
            say(finding, ", at least ");
            say_time(finding, cnps->subject.cnp_gap_ns);
            say(finding, " apart");
        }
        say_worst(finding, cnps);
    }
    if (totals->roce_packets && totals->ecn_capable == 0)
        say(finding_new(capture, RULE_NOT_ECN, EVIDENCES), "none of %llu RoCE %s is ECN-capable",
            (unsigned long long)totals->roce_packets, plural(totals->roce_packets, "packet", "packets"));
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

static void write_pauses(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    uint64_t span_ns = totals->last_ns - totals->first_ns;
    const struct capture_pause *worst[2] = {NULL, NULL};
    uint32_t count[2] = {0, 0};
    for (uint32_t i = 0; i < capture->pause_order_count; i++) {
        const struct capture_pause *pause = capture->pause_order[i];
        if (pause->xoff == 0) continue;
        /* a storm is a habit, not one frame at the end of a short capture */
        unsigned storm = pause->xoff >= 8 && (double)pause->paused_ns > diagnose_said.standing_share * (double)span_ns;
        count[storm]++;
        if (!worst[storm] || pause->paused_ns > worst[storm]->paused_ns) worst[storm] = pause;
    }
    for (unsigned storm = 0; storm < 2; storm++) {
        if (!worst[storm]) continue;
        struct capture_finding *finding = finding_new(capture, storm ? RULE_PAUSE_STORM : RULE_PAUSED, EVIDENCES);
        finding->evidence = worst[storm]->evidence;
        say_pause(finding, worst[storm], span_ns);
        if (count[storm] > 1)
            say(finding, "; and %u more %s", count[storm] - 1,
                plural(count[storm] - 1, "sender or priority", "senders or priorities"));
    }
    if (totals->pause_frames && totals->pfc_frames) {
        struct capture_finding *finding = finding_new(capture, RULE_GLOBAL_PAUSE, EVIDENCE_PAUSE);
        say_count(finding, totals->pause_frames, "PAUSE frame beside ", "PAUSE frames beside ");
        say_count(finding, totals->pfc_frames, "PFC frame", "PFC frames");
    }
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

static void write_cm(struct capture *capture, enum rule rule)
{
    struct capture_finding *finding = NULL;
    char from[PKT_ADDR_TEXT], to[PKT_ADDR_TEXT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < capture->cm_count; i++) {
        const struct capture_cm *cm = &capture->cm[i].view;
        if (!cm_is(cm, rule)) continue;
        if (count++ == 0) {
            finding = finding_new(capture, rule, EVIDENCES);
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

static void write_unread(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    if (!totals->unread) return;
    struct capture_finding *finding = finding_new(capture, RULE_UNREAD, EVIDENCE_UNREAD);
    say_count(finding, totals->unread, "record of link type", "records of link type");
    for (unsigned i = 0; i < CAPTURE_UNREAD_TYPES && totals->unread_type[i].records; i++)
        say(finding, "%s %u (%s, %llu)", i ? "," : "", totals->unread_type[i].link_type,
            capfile_link_name(totals->unread_type[i].link_type), (unsigned long long)totals->unread_type[i].records);
}

static void write_notes(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    uint64_t cut = totals->cut + totals->cut_headers;
    if (cut) {
        bool blind = totals->roce_packets == 0 && totals->cut_headers;
        struct capture_finding *finding = finding_new(capture, blind ? RULE_CUT_BLIND : RULE_CUT, EVIDENCE_CUT);
        say_count(finding, cut, "packet cut", "packets cut");
        say(finding, ", %llu before the end of the BTH and %llu inside the headers behind it",
            (unsigned long long)totals->cut_headers, (unsigned long long)totals->cut_extended);
    }
    const struct worst *forgotten = &capture->worst[RULE_FORGOTTEN];
    if (forgotten->count) {
        struct capture_finding *finding = finding_new(capture, RULE_FORGOTTEN, EVIDENCES);
        say_count(finding, totals->holes_forgotten, "gap was given up", "gaps were given up");
        say_worst(finding, forgotten);
    }
    finding_share(capture, RULE_UNKNOWN, EVIDENCE_UNKNOWN, totals->unknown_opcodes, totals->roce_packets,
                  &(struct words){"RoCE packet", "RoCE packets", "has an opcode not looked into",
                                  "have an opcode not looked into"});
    finding_share(capture, RULE_EVICTED, EVIDENCES, totals->evicted, totals->connections,
                  &(struct words){"connection", "connections", "was dropped to keep memory bounded",
                                  "were dropped to keep memory bounded"});
    finding_share(
        capture, RULE_BACKWARDS, EVIDENCE_BACKWARDS, totals->time_backwards, totals->packets,
        &(struct words){"record", "records", "is older than the one before", "are older than the one before"});
    const struct worst *reset = &capture->worst[RULE_RESET], *one_way = &capture->worst[RULE_ONE_WAY];
    if (reset->count) {
        struct capture_finding *finding = finding_new(capture, RULE_RESET, EVIDENCE_RESET);
        say_count(finding, reset->sum, "time", "times");
        say_worst(finding, reset);
    }
    if (one_way->count) {
        struct capture_finding *finding = finding_new(capture, RULE_ONE_WAY, EVIDENCES);
        say_count(finding, one_way->sum, "request packet", "request packets");
        say(finding, " without any answer");
        say_worst(finding, one_way);
    }
    if (totals->roce_packets == 0 && !totals->cut_headers)
        say(finding_new(capture, RULE_NO_ROCE, EVIDENCES), "none of %llu %s is RoCE",
            (unsigned long long)totals->packets, plural(totals->packets, "record", "records"));
}

static int by_severity(const void *left, const void *right)
{
    const struct capture_finding *a = left, *b = right;
    if (a->severity != b->severity) return a->severity < b->severity ? 1 : -1;
    return strcmp(a->id, b->id);
}

/* What was counted and no rule above has explained. */
static void write_unexplained(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    if (totals->naks > capture->fatal_naks)
        say_count(finding_new(capture, RULE_NAK_ALONE, EVIDENCES), totals->naks - capture->fatal_naks,
                  "NAK for a PSN sequence error", "NAKs for a PSN sequence error");
    if (totals->retransmitted)
        finding_share(capture, RULE_TIMEOUT_BLIND, EVIDENCE_TIMEOUT, totals->retransmitted, totals->requests,
                      &(struct words){REQUESTS, "was sent again", "were sent again"});
    if (totals->gaps) {
        struct capture_finding *finding = finding_new(capture, RULE_GAPS, EVIDENCES);
        say(finding, "PSNs were skipped ");
        say_count(finding, totals->gaps, "time", "times");
    }
}

static bool anything_wrong(const struct capture *capture)
{
    for (uint32_t i = 0; i < capture->findings; i++)
        if (capture->finding[i].severity != CAPTURE_INFO) return true;
    return false;
}

static void write_nothing(struct capture *capture)
{
    const struct capture_totals *totals = &capture->totals;
    struct capture_finding *finding = finding_new(capture, RULE_NOTHING, EVIDENCES);
    say(finding, "nothing wrong in ");
    say_count(finding, totals->roce_packets, "RoCE packet of ", "RoCE packets of ");
    say_count(finding, totals->connections, "connection, ", "connections, ");
    say_count(finding, totals->icrc_checked, "ICRC checked", "ICRCs checked");
    snprintf(capture->advice, sizeof capture->advice, "Checked: %s%s",
             totals->icrc_checked == 0                      ? ""
             : totals->icrc_checked == totals->roce_packets ? "ICRC, "
                                                            : "ICRC where it could be, ",
             rules[RULE_NOTHING].advice);
    finding->advice = capture->advice;
}

void cap_verdict_write(struct capture *capture)
{
    for (uint32_t i = 0; i < capture->order_count; i++)
        cap_inspect(capture, &capture->direction[capture->order[i]], i);
    write_damage(capture);
    write_broken(capture);
    write_cm(capture, RULE_CM_REJECTED);
    write_cm(capture, RULE_CM_REFUSED);
    write_cm(capture, RULE_CM_UNANSWERED);
    write_loss(capture);
    write_rnr_last(capture);
    write_nak_alone(capture);
    write_congestion(capture);
    write_pauses(capture);
    write_unread(capture);
    write_notes(capture);
    if (!anything_wrong(capture)) write_unexplained(capture);
    if (!anything_wrong(capture) && capture->totals.roce_packets) write_nothing(capture);
    qsort(capture->finding, capture->findings, sizeof capture->finding[0], by_severity);
}
