/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture as JSON: one object for each file, every field of capture/capture.h under its own
 * name, so that docs/json.md and the header say the same.  Keys keep their order and are always there,
 * but for those of a direction that docs/json.md heads "absent when 0": with 10,000 connections
 * the document has 16 MB, and would have 35 with every zero written out.
 */
#include "report/capture_report.h"

#include "base/check.h"
#include "base/time.h"

#define COUNT(jout, from, name) jout_u64((jout), #name, (from)->name)
#define SOME(jout, from, name) json_some((jout), #name, (from)->name)

static void json_some(struct jout *jout, const char *key, uint64_t value)
{
    if (value != 0) jout_u64(jout, key, value);
}

static void json_qp(struct jout *jout, const char *key, uint32_t qp)
{
    if (qp == CAPTURE_NONE)
        jout_null(jout, key);
    else
        jout_u64(jout, key, qp);
}

static void json_addr(struct jout *jout, const char *key, const struct pkt_addr *addr)
{
    char text[PKT_ADDR_TEXT];
    jout_text(jout, key, pkt_addr_format(addr, text));
}

static void json_known_time(struct jout *jout, const char *key, uint64_t time_ns)
{
    if (time_ns == 0)
        jout_null(jout, key);
    else
        jout_u64(jout, key, time_ns);
}

/* value[first] and value[last] are known.  A percentile is a walk over the whole histogram, and it lies between those
 * on either side of it: where these are equal, as with few samples they often are, there is nothing to ask. */
static void percentiles_between(const struct histo *histo, const uint32_t *ppm, uint64_t *value, unsigned first,
                                unsigned last)
{
    unsigned middle = (first + last) / 2;

    if (middle == first) return;
    value[middle] = value[first] == value[last] ? value[first] : histo_percentile(histo, ppm[middle]);
    percentiles_between(histo, ppm, value, first, middle);
    percentiles_between(histo, ppm, value, middle, last);
}

static void json_histo(struct jout *jout, const char *key, const struct histo *histo)
{
    static const char *const name[] = {"min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"};
    static const uint32_t ppm[] = {0, 500000, 900000, 990000, 999000, 1000000};
    enum { POINTS = sizeof ppm / sizeof ppm[0] };
    uint64_t value[POINTS];

    _Static_assert(sizeof name / sizeof name[0] == POINTS, "a key for each");
    if (histo == NULL || histo->count == 0) {
        jout_null(jout, key);
        return;
    }
    value[0] = histo->min;
    value[POINTS - 1] = histo->max;
    percentiles_between(histo, ppm, value, 0, POINTS - 1);
    jout_open_line(jout, key, '{');
    jout_u64(jout, "samples", histo->count);
    for (unsigned i = 0; i < POINTS; i++)
        jout_u64(jout, name[i], value[i]);
    jout_close(jout);
}

static void json_sizes(struct jout *jout, const struct capture_ops *ops)
{
    jout_open_line(jout, "sizes", '[');
    for (unsigned c = 0; c < CAPTURE_SIZE_CLASSES; c++) {
        if (ops->size_class[c] == 0) continue;
        jout_open_line(jout, NULL, '{');
        jout_u64(jout, "below", UINT64_C(1) << c);
        jout_u64(jout, "messages", ops->size_class[c]);
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_ops(struct jout *jout, const struct capture_direction *direction)
{
    static const char *const verb[CAPTURE_VERBS] = {"send", "write", "read", "atomic"};
    bool open = false;

    for (unsigned v = 0; v < CAPTURE_VERBS; v++) {
        const struct capture_ops *ops = &direction->ops[v];

        if (ops->messages == 0) continue;
        if (!open) jout_open_line(jout, "ops", '{');
        open = true;
        jout_open_line(jout, verb[v], '{');
        COUNT(jout, ops, messages);
        COUNT(jout, ops, bytes);
        COUNT(jout, ops, min_bytes);
        COUNT(jout, ops, max_bytes);
        json_sizes(jout, ops);
        jout_close(jout);
    }
    if (open) jout_close(jout);
}

static void json_bins(struct jout *jout, const uint64_t bin[CAPTURE_BINS], uint64_t bin_ns)
{
    unsigned first = 0, end = CAPTURE_BINS;

    while (end > 0 && bin[end - 1] == 0)
        end--;
    while (first < end && bin[first] == 0)
        first++;
    jout_open_line(jout, "bins", '{');
    jout_u64(jout, "width_ns", bin_ns);
    jout_u64(jout, "first", first);
    jout_list(jout, "bytes", bin + first, end - first);
    jout_close(jout);
}

static void json_naks(struct jout *jout, const struct capture_direction *direction)
{
    static const char *const code[] = {"psn_sequence", "invalid_request", "remote_access", "remote_operation",
                                       "invalid_rd"};
    uint64_t naks = report_naks(direction);

    _Static_assert(sizeof code / sizeof code[0] == NAK_CODES, "a key for each code");
    if (naks == 0) return;
    jout_u64(jout, "naks", naks);
    jout_open_line(jout, "naks_by", '{');
    for (unsigned i = 0; i < NAK_CODES; i++)
        jout_u64(jout, code[i], direction->naks[i]);
    jout_u64(jout, "reserved", direction->naks_reserved);
    jout_close(jout);
}

/* The five add up to `retransmitted`. */
static void json_causes(struct jout *jout, const uint64_t by[CAPTURE_CAUSES], uint64_t copies)
{
    static const char *const cause[] = {"nak", "rnr", "timeout", "unknown"};

    _Static_assert(sizeof cause / sizeof cause[0] == CAPTURE_CAUSES, "a key for each cause");
    jout_open_line(jout, "retransmitted_by", '{');
    for (unsigned i = 0; i < CAPTURE_CAUSES; i++)
        jout_u64(jout, cause[i], i == CAPTURE_BY_TIMEOUT ? by[i] - copies : by[i]);
    jout_u64(jout, "copy", copies);
    jout_close(jout);
}

static void json_some_requests(struct jout *jout, const struct capture_direction *direction, uint64_t bin_ns)
{
    SOME(jout, direction, mtu);
    SOME(jout, direction, sport);
    SOME(jout, direction, first_request_packet);
    if (direction->retransmitted > 0) json_causes(jout, direction->retransmitted_by, direction->copies);
    SOME(jout, direction, retransmitted_first_packet);
    SOME(jout, direction, reordered);
    SOME(jout, direction, gaps);
    SOME(jout, direction, missing);
    SOME(jout, direction, holes_forgotten);
    if (direction->latency_one_in > 1) jout_u64(jout, "latency_one_in", direction->latency_one_in);
    SOME(jout, direction, resets);
    SOME(jout, direction, psn_wraps);
    SOME(jout, direction, odd_sizes);
    json_ops(jout, direction);
    if (direction->goodput_bytes > 0) json_bins(jout, direction->bin, bin_ns);
}

static void json_some_answers(struct jout *jout, const struct capture_direction *direction)
{
    SOME(jout, direction, duplicate_acks);
    SOME(jout, direction, answers_cut);
    json_naks(jout, direction);
    SOME(jout, direction, fatal_packet);
    SOME(jout, direction, rnr_naks);
    SOME(jout, direction, rnr_first_packet);
    SOME(jout, direction, rnr_min_ns);
    SOME(jout, direction, rnr_max_ns);
    SOME(jout, direction, read_responses);
    SOME(jout, direction, atomic_responses);
    SOME(jout, direction, cnps);
    SOME(jout, direction, ecn_capable);
    SOME(jout, direction, ecn_marked);
    SOME(jout, direction, icrc_errors);
    SOME(jout, direction, icrc_first_packet);
}

static void json_direction(struct jout *jout, const char *key, const struct capture_direction *direction,
                           uint64_t bin_ns)
{
    if (direction == NULL) {
        jout_null(jout, key);
        return;
    }
    jout_open_line(jout, key, '{');
    COUNT(jout, direction, packets);
    COUNT(jout, direction, bytes);
    COUNT(jout, direction, payload_bytes);
    COUNT(jout, direction, goodput_bytes);
    COUNT(jout, direction, first_ns);
    COUNT(jout, direction, last_ns);
    COUNT(jout, direction, first_packet);
    COUNT(jout, direction, requests);
    COUNT(jout, direction, retransmitted);
    COUNT(jout, direction, filled);
    COUNT(jout, direction, acks);
    json_histo(jout, "ack_latency", direction->ack_latency);
    json_histo(jout, "read_latency", direction->read_latency);
    json_histo(jout, "cnp_gap", direction->cnp_gap);
    json_some_requests(jout, direction, bin_ns);
    json_some_answers(jout, direction);
    jout_close(jout);
}

static const char *net_name(uint8_t net)
{
    static const char *const name[] = {NULL, "rocev1", "rocev2/ipv4", "rocev2/ipv6"};
    return net < sizeof name / sizeof name[0] ? name[net] : NULL;
}

/* How the source QP is known. */
static void json_paired(struct jout *jout, const struct capture_connection *connection)
{
    static const char *const name[] = {NULL, "cm", "deth", "psn", "port", "guess", "rest"};
    unsigned by = connection->forward->paired_by;

    _Static_assert(sizeof name / sizeof name[0] == CAPTURE_PAIREDS, "a word for each");
    if (by == CAPTURE_UNPAIRED && connection->forward->src_qp != CAPTURE_NONE)
        by = connection->cm ? CAPTURE_PAIRED_CM : CAPTURE_PAIRED_DETH;
    jout_text(jout, "paired_by", name[by]);
}

static void json_connection(struct jout *jout, const struct capture_connection *connection, uint64_t bin_ns)
{
    const struct capture_direction *forward = connection->forward;
    const struct report_sums sums = report_sums(connection);
    uint64_t span_ns = sums.last_ns - sums.first_ns;

    jout_open_line(jout, NULL, '{');
    json_addr(jout, "src", &forward->src);
    json_addr(jout, "dst", &forward->dst);
    json_qp(jout, "src_qp", forward->src_qp);
    json_qp(jout, "dst_qp", forward->dst_qp);
    jout_text(jout, "transport", report_transport(forward->transport));
    jout_text(jout, "net", net_name(forward->net));
    if (!forward->tunnelled)
        jout_null(jout, "vni");
    else
        jout_u64(jout, "vni", forward->vni);
    jout_bool(jout, "cm", connection->cm);
    json_paired(jout, connection);
    COUNT(jout, &sums, packets);
    COUNT(jout, &sums, bytes);
    COUNT(jout, &sums, payload_bytes);
    COUNT(jout, &sums, goodput_bytes);
    jout_u64(jout, "goodput_bps", span_ns > UINT64_MAX / PS_NS ? 0 : rate_measure(sums.goodput_bytes, span_ns * PS_NS));
    COUNT(jout, &sums, first_ns);
    COUNT(jout, &sums, last_ns);
    COUNT(jout, &sums, retransmitted);
    COUNT(jout, &sums, filled);
    COUNT(jout, &sums, reordered);
    COUNT(jout, &sums, gaps);
    COUNT(jout, &sums, missing);
    COUNT(jout, &sums, naks);
    COUNT(jout, &sums, rnr_naks);
    COUNT(jout, &sums, duplicate_acks);
    COUNT(jout, &sums, cnps);
    COUNT(jout, &sums, ecn_capable);
    COUNT(jout, &sums, ecn_marked);
    COUNT(jout, &sums, psn_wraps);
    COUNT(jout, &sums, icrc_errors);
    json_direction(jout, "forward", forward, bin_ns);
    json_direction(jout, "reverse", connection->reverse, bin_ns);
    jout_close(jout);
}

static void json_cm(struct jout *jout, const struct capture_cm *cm)
{
    jout_open_line(jout, NULL, '{');
    json_addr(jout, "initiator", &cm->initiator);
    json_addr(jout, "acceptor", &cm->acceptor);
    COUNT(jout, cm, initiator_id);
    COUNT(jout, cm, acceptor_id);
    json_qp(jout, "initiator_qp", cm->initiator_qp);
    json_qp(jout, "acceptor_qp", cm->acceptor_qp);
    COUNT(jout, cm, service_id);
    jout_u64(jout, "port", cm_service_port(cm->service_id));
    jout_bool(jout, "sidr", cm->sidr);
    json_known_time(jout, "req_ns", cm->req_ns);
    json_known_time(jout, "rep_ns", cm->rep_ns);
    json_known_time(jout, "rtu_ns", cm->rtu_ns);
    json_known_time(jout, "rej_ns", cm->rej_ns);
    json_known_time(jout, "dreq_ns", cm->dreq_ns);
    json_known_time(jout, "drep_ns", cm->drep_ns);
    COUNT(jout, cm, req_packet);
    COUNT(jout, cm, rej_packet);
    COUNT(jout, cm, repeats);
    COUNT(jout, cm, mras);
    COUNT(jout, cm, reject_reason);
    jout_u64(jout, "mtu", cm->mtu >= 1 && cm->mtu <= 5 ? 128u << cm->mtu : 0);
    COUNT(jout, cm, retry_count);
    COUNT(jout, cm, rnr_retry_count);
    COUNT(jout, cm, transport);
    jout_close(jout);
}

static void json_pause(struct jout *jout, const struct capture_pause *pause)
{
    char mac[18];

    snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", pause->smac[0], pause->smac[1], pause->smac[2],
             pause->smac[3], pause->smac[4], pause->smac[5]);
    jout_open_line(jout, NULL, '{');
    jout_text(jout, "smac", mac);
    jout_bool(jout, "global", pause->global);
    if (pause->global)
        jout_null(jout, "priority");
    else
        jout_u64(jout, "priority", pause->priority);
    COUNT(jout, pause, xoff);
    COUNT(jout, pause, xon);
    COUNT(jout, pause, paused_ns);
    COUNT(jout, pause, longest_ns);
    jout_list(jout, "packets", pause->evidence.packet, pause->evidence.kept);
    jout_close(jout);
}

static void json_finding(struct jout *jout, const struct capture_finding *finding)
{
    static const char *const severity[] = {"info", "warning", "error"};
    char filter[REPORT_FILTER];

    CHECK(finding->severity <= CAPTURE_ERROR);
    jout_open_line(jout, NULL, '{');
    jout_text(jout, "id", finding->id);
    jout_text(jout, "severity", severity[finding->severity]);
    jout_text(jout, "title", finding->title);
    jout_text(jout, "what", finding->what);
    jout_text(jout, "advice", finding->advice);
    jout_list(jout, "packets", finding->evidence.packet, finding->evidence.kept);
    report_filter(&finding->evidence, filter);
    jout_text(jout, "filter", filter[0] == '\0' ? NULL : filter);
    json_qp(jout, "connection", finding->connection);
    jout_close(jout);
}

static void json_totals(struct jout *jout, const struct capture_totals *totals)
{
    COUNT(jout, totals, packets);
    COUNT(jout, totals, roce_packets);
    COUNT(jout, totals, icrc_errors);
    COUNT(jout, totals, malformed);
    COUNT(jout, totals, retransmitted);
    COUNT(jout, totals, naks);
    COUNT(jout, totals, rnr_naks);
    COUNT(jout, totals, cnps);
    COUNT(jout, totals, ecn_marked);
    COUNT(jout, totals, pfc_frames);
    COUNT(jout, totals, pause_frames);
    COUNT(jout, totals, bytes);
    COUNT(jout, totals, roce_bytes);
    COUNT(jout, totals, goodput_bytes);
    COUNT(jout, totals, other_packets);
    COUNT(jout, totals, tunnelled);
    COUNT(jout, totals, icrc_checked);
    COUNT(jout, totals, requests);
    json_causes(jout, totals->retransmitted_by, totals->copies);
    COUNT(jout, totals, filled);
    COUNT(jout, totals, reordered);
    COUNT(jout, totals, gaps);
    COUNT(jout, totals, missing);
    COUNT(jout, totals, holes_forgotten);
    COUNT(jout, totals, resets);
    COUNT(jout, totals, ecn_capable);
    COUNT(jout, totals, duplicate_acks);
    COUNT(jout, totals, psn_wraps);
    COUNT(jout, totals, unknown_opcodes);
    COUNT(jout, totals, unread);
    COUNT(jout, totals, cut);
    COUNT(jout, totals, cut_headers);
    COUNT(jout, totals, cut_extended);
    COUNT(jout, totals, answers_cut);
    COUNT(jout, totals, time_backwards);
    COUNT(jout, totals, first_ns);
    COUNT(jout, totals, last_ns);
    jout_u64(jout, "connections_seen", totals->connections);
    jout_u64(jout, "connections_evicted", totals->evicted);
    COUNT(jout, totals, cm_evicted);
    COUNT(jout, totals, pause_evicted);
    jout_open(jout, "malformed_by", '[');
    for (unsigned f = 0; f < CODEC_FAULTS; f++) {
        if (totals->malformed_by[f] == 0) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "why", codec_fault_text((enum codec_fault)f));
        jout_u64(jout, "packets", totals->malformed_by[f]);
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_unread(struct jout *jout, const struct capture_totals *totals)
{
    jout_open(jout, "unread_types", '[');
    for (unsigned i = 0; i < CAPTURE_UNREAD_TYPES && totals->unread_type[i].records > 0; i++) {
        jout_open_line(jout, NULL, '{');
        jout_u64(jout, "link_type", totals->unread_type[i].link_type);
        jout_text(jout, "name", capfile_link_name(totals->unread_type[i].link_type));
        jout_u64(jout, "packets", totals->unread_type[i].records);
        jout_close(jout);
    }
    jout_close(jout);
}

void capture_json(struct jout *jout, const struct capture_report *report)
{
    const struct capture *capture = report->capture;
    const struct capture_totals *totals = capture_totals(capture);

    jout_open(jout, NULL, '{');
    jout_text(jout, "file", report->file);
    jout_text(jout, "error", report->error);
    json_totals(jout, totals);
    json_unread(jout, totals);
    json_bins(jout, totals->bin, totals->bin_ns);
    jout_open(jout, "verdict", '[');
    for (size_t i = 0; i < capture_findings(capture); i++)
        json_finding(jout, capture_finding(capture, i));
    jout_close(jout);
    jout_open(jout, "connections", '[');
    for (size_t i = 0; i < capture_connections(capture); i++) {
        const struct capture_connection connection = capture_connection(capture, i);
        json_connection(jout, &connection, totals->bin_ns);
    }
    jout_close(jout);
    jout_open(jout, "pauses", '[');
    for (size_t i = 0; i < capture_pauses(capture); i++)
        json_pause(jout, capture_pause(capture, i));
    jout_close(jout);
    jout_open(jout, "cm", '[');
    for (size_t i = 0; i < capture_cms(capture); i++)
        json_cm(jout, capture_cm(capture, i));
    jout_close(jout);
    jout_close(jout);
}
