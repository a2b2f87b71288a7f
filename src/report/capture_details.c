/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection in detail, direction by direction: what was sent, how fast over time, what went
 * wrong, how long answers took.  What did not happen is not mentioned.
 */
#include "report/capture_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"

#define LABEL 14 /* columns of a line's label, after the indent */
#define INDENT 4

struct facts { /* "a, b, c" */
    char text[1024];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void fact(struct facts *facts, const char *format, ...)
{
    va_list list;
    size_t room = sizeof facts->text - facts->used;
    int length;

    if (room < 4) return;
    if (facts->used > 0) {
        memcpy(facts->text + facts->used, ", ", 3);
        facts->used += 2;
        room -= 2;
    }
    va_start(list, format);
    length = vsnprintf(facts->text + facts->used, room, format, list);
    va_end(list);
    if (length > 0) facts->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void print_facts(FILE *out, const struct text_style *style, const char *label, const struct facts *facts)
{
    if (facts->used == 0) return;
    fprintf(out, "%*s%-*s", INDENT, "", LABEL, label);
    text_wrap(out, style, INDENT + LABEL, INDENT + LABEL, facts->text);
}

/* The size class that holds the middle message. */
static unsigned median_class(const struct capture_ops *ops)
{
    uint64_t below = 0;

    for (unsigned c = 0; c < CAPTURE_SIZE_CLASSES; c++) {
        below += ops->size_class[c];
        if (below * 2 >= ops->messages) return c;
    }
    return CAPTURE_SIZE_CLASSES - 1;
}

static void print_ops(FILE *out, const struct text_style *style, const struct capture_direction *direction)
{
    static const char *const verb[CAPTURE_VERBS] = {"SEND", "WRITE", "READ", "ATOMIC"};

    for (unsigned v = 0; v < CAPTURE_VERBS; v++) {
        const struct capture_ops *ops = &direction->ops[v];
        struct facts facts = {0};
        char count[TEXT_COUNT], bytes[TEXT_COUNT], least[TEXT_COUNT], most[TEXT_COUNT], from[UNIT_TEXT], to[UNIT_TEXT];
        unsigned middle = median_class(ops);

        if (ops->messages == 0) continue;
        fact(&facts, "%s message%s", text_count(ops->messages, count), ops->messages == 1 ? "" : "s");
        if (ops->min_bytes == ops->max_bytes) {
            fact(&facts, ops->messages == 1 ? "%s" : "%s each", text_bytes(ops->max_bytes, most));
        } else {
            fact(&facts, "%s", text_bytes(ops->bytes, bytes));
            fact(&facts, "smallest %s", text_bytes(ops->min_bytes, least));
            if (middle == 0)
                fact(&facts, "median 0B");
            else
                fact(&facts, "median %s to %s", unit_format(UNIT_SIZE, UINT64_C(1) << (middle - 1), from),
                     unit_format(UNIT_SIZE, UINT64_C(1) << middle, to));
            fact(&facts, "largest %s", text_bytes(ops->max_bytes, most));
        }
        print_facts(out, style, verb[v], &facts);
    }
}

static void print_goodput(FILE *out, const struct text_style *style, const struct capture_direction *direction,
                          const struct capture_totals *totals)
{
    uint64_t span_ns = direction->last_ns - direction->first_ns, bin_ns = totals->bin_ns, peak = 0;
    size_t bins = bin_ns == 0 ? 0 : (size_t)((totals->last_ns - totals->first_ns) / bin_ns + 1);
    char mean[TEXT_COUNT], top[TEXT_COUNT], width[TEXT_COUNT], line[160];

    if (direction->goodput_bytes == 0) return;
    fprintf(out, "%*s%-*s", INDENT, "", LABEL, "goodput");
    /* Shorter than a bin: neither a shape nor a rate would mean anything. */
    if (span_ns < bin_ns || bins < 2) {
        fprintf(out, "%s in %s\n", text_bytes(direction->goodput_bytes, mean), text_ns(span_ns, width));
        return;
    }
    if (bins > CAPTURE_BINS) bins = CAPTURE_BINS;
    for (size_t i = 0; i < bins; i++) {
        if (direction->bin[i] > peak) peak = direction->bin[i];
    }
    if (INDENT + LABEL + bins + 2 <= style->width) {
        fputc('|', out);
        text_bars(out, style, direction->bin, bins);
        fprintf(out, "|\n%*s", INDENT + LABEL, "");
    }
    snprintf(line, sizeof line, "mean %s, peak %s in %s (%zu bins)",
             text_rate_long(direction->goodput_bytes, span_ns, mean), text_rate_long(peak, bin_ns, top),
             text_ns(bin_ns, width), bins);
    text_wrap(out, style, INDENT + LABEL, INDENT + LABEL, line);
}

static void print_requests(FILE *out, const struct text_style *style, const struct capture_direction *direction)
{
    struct facts facts = {0};
    char a[TEXT_COUNT], b[TEXT_COUNT], c[TEXT_COUNT];

    if (direction->requests == 0) return;
    fact(&facts, "%s packet%s", text_count(direction->requests, a), direction->requests == 1 ? "" : "s");
    if (direction->retransmitted > 0)
        fact(&facts, "%s retransmitted (%s)", text_count(direction->retransmitted, b),
             text_share(direction->retransmitted, direction->requests, c));
    if (direction->retransmitted_by[CAPTURE_BY_NAK] > 0)
        fact(&facts, "%s after a NAK", text_count(direction->retransmitted_by[CAPTURE_BY_NAK], a));
    if (direction->retransmitted_by[CAPTURE_BY_RNR] > 0)
        fact(&facts, "%s after an RNR NAK", text_count(direction->retransmitted_by[CAPTURE_BY_RNR], a));
    if (direction->retransmitted_by[CAPTURE_BY_TIMEOUT] > direction->copies)
        fact(&facts, "%s after a timeout",
             text_count(direction->retransmitted_by[CAPTURE_BY_TIMEOUT] - direction->copies, a));
    if (direction->copies > 0) fact(&facts, "%s captured twice", text_count(direction->copies, a));
    if (direction->retransmitted_by[CAPTURE_BY_UNKNOWN] > 0)
        fact(&facts, "%s for a reason not captured", text_count(direction->retransmitted_by[CAPTURE_BY_UNKNOWN], a));
    if (direction->gaps > 0)
        fact(&facts, "%s gap%s (%s packet%s missing)", text_count(direction->gaps, a), direction->gaps == 1 ? "" : "s",
             text_count(direction->missing, b), direction->missing == 1 ? "" : "s");
    if (direction->filled > 0) fact(&facts, "%s filled in later", text_count(direction->filled, a));
    if (direction->reordered > 0) fact(&facts, "%s of them overtaken", text_count(direction->reordered, a));
    if (direction->odd_sizes > 0)
        fact(&facts, "%s First or Middle packets not of the MTU's size", text_count(direction->odd_sizes, a));
    if (direction->psn_wraps > 0)
        fact(&facts, "PSN wrapped %s time%s", text_count(direction->psn_wraps, a),
             direction->psn_wraps == 1 ? "" : "s");
    if (direction->resets > 0)
        fact(&facts, "PSN began anew %s time%s", text_count(direction->resets, a), direction->resets == 1 ? "" : "s");
    print_facts(out, style, "requests", &facts);
}

static void print_answers(FILE *out, const struct text_style *style, const struct capture_direction *direction)
{
    struct facts facts = {0};
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (direction->acks > 0) fact(&facts, "%s ACK%s", text_count(direction->acks, a), direction->acks == 1 ? "" : "s");
    if (direction->duplicate_acks > 0)
        fact(&facts, "%s duplicate%s", text_count(direction->duplicate_acks, a),
             direction->duplicate_acks == 1 ? "" : "s");
    if (direction->read_responses > 0)
        fact(&facts, "%s READ response packet%s", text_count(direction->read_responses, a),
             direction->read_responses == 1 ? "" : "s");
    if (direction->atomic_responses > 0)
        fact(&facts, "%s ATOMIC response%s", text_count(direction->atomic_responses, a),
             direction->atomic_responses == 1 ? "" : "s");
    if (report_naks(direction) > 0) {
        for (unsigned code = 0; code < NAK_CODES; code++) {
            if (direction->naks[code] > 0)
                fact(&facts, "%s NAK%s (%s)", text_count(direction->naks[code], b),
                     direction->naks[code] == 1 ? "" : "s", nak_name(code));
        }
        if (direction->naks_reserved > 0)
            fact(&facts, "%s NAK%s (reserved code)", text_count(direction->naks_reserved, b),
                 direction->naks_reserved == 1 ? "" : "s");
    }
    if (direction->rnr_naks > 0) {
        fact(&facts, "%s RNR NAK%s", text_count(direction->rnr_naks, a), direction->rnr_naks == 1 ? "" : "s");
        if (direction->rnr_min_ns == direction->rnr_max_ns)
            fact(&facts, "asking for %s", text_ns(direction->rnr_max_ns, a));
        else
            fact(&facts, "asking for %s to %s", text_ns(direction->rnr_min_ns, a), text_ns(direction->rnr_max_ns, b));
    }
    print_facts(out, style, "answers", &facts);
}

static void print_congestion(FILE *out, const struct text_style *style, const struct capture_direction *direction)
{
    struct facts facts = {0};
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (direction->ecn_marked > 0)
        fact(&facts, "%s packets marked CE (%s)", text_count(direction->ecn_marked, a),
             text_share(direction->ecn_marked, direction->packets, b));
    else if (direction->ecn_capable > 0)
        fact(&facts, "ECN-capable, none marked");
    if (direction->cnps > 0) fact(&facts, "%s CNP%s", text_count(direction->cnps, a), direction->cnps == 1 ? "" : "s");
    if (direction->cnp_gap != NULL && direction->cnp_gap->count > 0)
        fact(&facts, "%s between CNPs (median; least %s)", text_ns(histo_percentile(direction->cnp_gap, 500000), a),
             text_ns(direction->cnp_gap->min, b));
    print_facts(out, style, "congestion", &facts);
}

static void print_latency(FILE *out, const struct text_style *style, const char *label, const struct histo *histo)
{
    struct facts facts = {0};
    char a[TEXT_COUNT];

    if (histo == NULL || histo->count == 0) return;
    fact(&facts, "p50 %s", text_ns(histo_percentile(histo, 500000), a));
    fact(&facts, "p90 %s", text_ns(histo_percentile(histo, 900000), a));
    fact(&facts, "p99 %s", text_ns(histo_percentile(histo, 990000), a));
    fact(&facts, "p99.9 %s", text_ns(histo_percentile(histo, 999000), a));
    fact(&facts, "max %s", text_ns(histo->max, a));
    fact(&facts, "of %s", text_count(histo->count, a));
    print_facts(out, style, label, &facts);
}

static void print_direction(FILE *out, const struct text_style *style, const struct capture_direction *direction,
                            const struct capture_totals *totals)
{
    char src[PKT_ADDR_TEXT], dst[PKT_ADDR_TEXT], packets[TEXT_COUNT], bytes[TEXT_COUNT], line[256];

    snprintf(line, sizeof line, "%s -> %s QP 0x%x: %s packet%s, %s", pkt_addr_format(&direction->src, src),
             pkt_addr_format(&direction->dst, dst), direction->dst_qp, text_count(direction->packets, packets),
             direction->packets == 1 ? "" : "s", text_bytes(direction->bytes, bytes));
    fputs("  ", out);
    text_wrap(out, style, 2, 4, line);
    print_ops(out, style, direction);
    print_goodput(out, style, direction, totals);
    print_requests(out, style, direction);
    print_latency(out, style, "ACK latency", direction->ack_latency);
    print_latency(out, style, "READ latency", direction->read_latency);
    print_answers(out, style, direction);
    print_congestion(out, style, direction);
    if (direction->icrc_errors > 0)
        fprintf(out, "%*s%-*s%s wrong\n", INDENT, "", LABEL, "ICRC", text_count(direction->icrc_errors, packets));
}

static void print_details(FILE *out, const struct capture_report *report, const struct text_style *style,
                          uint32_t index)
{
    static const char *const net[] = {NULL, "RoCEv1", "RoCEv2 over IPv4", "RoCEv2 over IPv6"};
    const struct capture_connection connection = capture_connection(report->capture, index);
    const struct capture_direction *forward = connection.forward;
    const struct capture_totals *totals = capture_totals(report->capture);
    struct facts facts = {0};
    uint32_t mtu = forward->mtu;
    int at;

    if (connection.reverse != NULL && connection.reverse->mtu > mtu) mtu = connection.reverse->mtu;
    fact(&facts, "%s", report_transport(forward->transport));
    if (forward->net > PKT_NET_NONE && forward->net <= PKT_NET_IPV6) fact(&facts, "%s", net[forward->net]);
    if (mtu > 0) fact(&facts, "MTU %" PRIu32, mtu);
    if (forward->tunnelled) fact(&facts, "VXLAN %" PRIu32, forward->vni);
    if (connection.cm) fact(&facts, "set up through CM");
    if (forward->paired_by == CAPTURE_PAIRED_GUESS) fact(&facts, "source QP guessed");
    fact(&facts, "first packet %" PRIu64, forward->first_packet);
    text_colour(out, style, TEXT_BOLD);
    at = fprintf(out, "\nCONNECTION %" PRIu32, index + 1) - 1;
    text_colour(out, style, TEXT_PLAIN);
    fputs("  ", out);
    text_wrap(out, style, (unsigned)at + 2, 4, facts.text);
    print_direction(out, style, forward, totals);
    if (connection.reverse != NULL)
        print_direction(out, style, connection.reverse, totals);
    else
        fputs("  the other direction was not seen, or not recognised\n", out);
}

void capture_text_details(FILE *out, const struct capture_report *report, const struct text_style *style,
                          const uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_details(out, report, style, order[i]);
}
