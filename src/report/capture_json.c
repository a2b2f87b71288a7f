/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture as JSON: one object for each file, every field of capture/capture.h under its own
 * name, so that `rocelab help fields capture` and the header say the same.  Keys keep their order and are always there,
 * but for those of a direction that it heads "absent when 0": with 10,000 connections
 * the document has 16 MB, and would have 35 with every zero written out.
 */
#include "report/capture_report.h"
#include "report/rows/rows.h"

#include "base/check.h"
#include "base/time.h"

#define COUNT(jout, from, name) jout_u64((jout), #name, (from)->name)

static void json_qp(struct jout *jout, const char *key, uint32_t qp)
{
    jout_known(jout, key, qp, qp != CAPTURE_NONE);
}

static void json_addr(struct jout *jout, const char *key, const struct pkt_addr *addr)
{
    char text[PKT_ADDR_TEXT];
    jout_text(jout, key, pkt_addr_format(addr, text));
}

static void json_known_time(struct jout *jout, const char *key, uint64_t time_ns)
{
    jout_known(jout, key, time_ns, time_ns != 0);
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

static void json_ops(struct jout *jout, const char *key, const struct capture_direction *direction)
{
    static const char *const verb[CAPTURE_VERBS] = {"send", "write", "read", "atomic"};
    bool open = false;

    for (unsigned v = 0; v < CAPTURE_VERBS; v++) {
        const struct capture_ops *ops = &direction->ops[v];

        if (ops->messages == 0) continue;
        if (!open) jout_open_line(jout, key, '{');
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

static void json_bins(struct jout *jout, const char *key, const uint64_t bin[CAPTURE_BINS], uint64_t bin_ns)
{
    unsigned first = 0, end = CAPTURE_BINS;

    while (end > 0 && bin[end - 1] == 0)
        end--;
    while (first < end && bin[first] == 0)
        first++;
    jout_open_line(jout, key, '{');
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
static void json_causes(struct jout *jout, const char *key, const uint64_t by[CAPTURE_CAUSES], uint64_t copies)
{
    static const char *const cause[] = {"nak", "rnr", "timeout", "unknown"};

    _Static_assert(sizeof cause / sizeof cause[0] == CAPTURE_CAUSES, "a key for each cause");
    jout_open_line(jout, key, '{');
    for (unsigned i = 0; i < CAPTURE_CAUSES; i++)
        jout_u64(jout, cause[i], i == CAPTURE_BY_TIMEOUT ? by[i] - copies : by[i]);
    jout_u64(jout, "copy", copies);
    jout_close(jout);
}

static void json_direction_causes(struct jout *jout, const char *key, const struct capture_direction *direction)
{
    if (direction->retransmitted > 0) json_causes(jout, key, direction->retransmitted_by, direction->copies);
}

static void json_direction_bins(struct jout *jout, const char *key, const struct capture_direction *direction,
                                uint64_t bin_ns)
{
    if (direction->goodput_bytes > 0) json_bins(jout, key, direction->bin, bin_ns);
}

/* What is left out where there is none of it. */
static void json_direction_some(struct jout *jout, const struct capture_direction *direction, uint64_t bin_ns)
{
#include "report/rows/capture_direction_some.def"
}

static void json_direction(struct jout *jout, const char *key, const struct capture_direction *direction,
                           uint64_t bin_ns)
{
    if (direction == NULL) {
        jout_null(jout, key);
        return;
    }
    jout_open_line(jout, key, '{');
#include "report/rows/capture_direction.def"
    json_direction_some(jout, direction, bin_ns);
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
#include "report/rows/capture_connection.def"
    jout_close(jout);
}

static void json_cm(struct jout *jout, const struct capture_cm *cm)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/capture_cm.def"
    jout_close(jout);
}

static void json_pause(struct jout *jout, const struct capture_pause *pause)
{
    char mac[18];

    snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", pause->smac[0], pause->smac[1], pause->smac[2],
             pause->smac[3], pause->smac[4], pause->smac[5]);
    jout_open_line(jout, NULL, '{');
#include "report/rows/capture_pause.def"
    jout_close(jout);
}

static void json_finding(struct jout *jout, const struct capture_finding *finding)
{
    static const char *const severity[] = {"info", "warning", "error"};
    char filter[REPORT_FILTER];

    CHECK(finding->severity <= CAPTURE_ERROR);
    report_filter(&finding->evidence, filter);
    jout_open_line(jout, NULL, '{');
#include "report/rows/capture_finding.def"
    jout_close(jout);
}

static void json_malformed(struct jout *jout, const char *key, const struct capture_totals *totals)
{
    jout_open(jout, key, '[');
    for (unsigned f = 0; f < CODEC_FAULTS; f++) {
        if (totals->malformed_by[f] == 0) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "why", codec_fault_text((enum codec_fault)f));
        jout_u64(jout, "packets", totals->malformed_by[f]);
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_unread(struct jout *jout, const char *key, const struct capture_totals *totals)
{
    jout_open(jout, key, '[');
    for (unsigned i = 0; i < CAPTURE_UNREAD_TYPES && totals->unread_type[i].records > 0; i++) {
        jout_open_line(jout, NULL, '{');
        jout_u64(jout, "link_type", totals->unread_type[i].link_type);
        jout_text(jout, "name", capfile_link_name(totals->unread_type[i].link_type));
        jout_u64(jout, "packets", totals->unread_type[i].records);
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_findings(struct jout *jout, const char *key, const struct capture *capture)
{
    jout_open(jout, key, '[');
    for (size_t i = 0; i < capture_findings(capture); i++)
        json_finding(jout, capture_finding(capture, i));
    jout_close(jout);
}

static void json_connections(struct jout *jout, const char *key, const struct capture *capture, uint64_t bin_ns)
{
    jout_open(jout, key, '[');
    for (size_t i = 0; i < capture_connections(capture); i++) {
        const struct capture_connection connection = capture_connection(capture, i);
        json_connection(jout, &connection, bin_ns);
    }
    jout_close(jout);
}

static void json_pauses(struct jout *jout, const char *key, const struct capture *capture)
{
    jout_open(jout, key, '[');
    for (size_t i = 0; i < capture_pauses(capture); i++)
        json_pause(jout, capture_pause(capture, i));
    jout_close(jout);
}

static void json_cms(struct jout *jout, const char *key, const struct capture *capture)
{
    jout_open(jout, key, '[');
    for (size_t i = 0; i < capture_cms(capture); i++)
        json_cm(jout, capture_cm(capture, i));
    jout_close(jout);
}

void capture_json(struct jout *jout, const struct capture_report *report)
{
    const struct capture *capture = report->capture;
    const struct capture_totals *totals = capture_totals(capture);

    jout_open(jout, NULL, '{');
#include "report/rows/capture_file.def"
    jout_close(jout);
}
