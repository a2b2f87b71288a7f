/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture explained to a person: what is wrong comes first, what it was read from after it.
 *
 * Order of the connections: those that the verdict names, in its order, then the others by bytes.
 * Numbers of connections are those of capture.h counted from 1, as the verdict's packet numbers are.
 */
#include "report/capture_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "report/table.h"

#define CELL 64
_Static_assert(CELL >= PKT_ADDR_TEXT, "an address fits a cell");

static void print_header(FILE *out, const struct capture_report *report, const struct text_style *style)
{
    const struct capture_totals *totals = capture_totals(report->capture);
    uint64_t span_ns = totals->last_ns - totals->first_ns;
    char packets[TEXT_COUNT], span[TEXT_COUNT], roce[TEXT_COUNT], bytes[TEXT_COUNT], rate[TEXT_COUNT],
        connections[TEXT_COUNT], line[256];

    if (totals->packets == 0)
        snprintf(line, sizeof line, "0 packets");
    else
        snprintf(line, sizeof line, "%s packet%s in %s, %s RoCE, %s (%s), %s connection%s",
                 text_count(totals->packets, packets), text_plural(totals->packets), text_ns(span_ns, span),
                 text_count(totals->roce_packets, roce), text_bytes(totals->bytes, bytes),
                 text_rate_long(totals->bytes, span_ns, rate), text_count(totals->connections, connections),
                 text_plural(totals->connections));
    text_colour(out, style, TEXT_BOLD);
    text_outside(out, style, report->file);
    text_colour(out, style, TEXT_PLAIN);
    fputs(": ", out);
    text_wrap(out, style, (unsigned)strlen(report->file) + 2, 4, line);
}

static void print_finding(FILE *out, const struct text_style *style, const struct capture_finding *finding)
{
    static const struct {
        const char *name;
        enum text_colour colour;
    } severity[] = {{"info", TEXT_BOLD}, {"warning", TEXT_YELLOW}, {"error", TEXT_RED}};
    char filter[REPORT_FILTER];
    int at;

    CHECK(finding->severity <= CAPTURE_ERROR);
    fputs("  ", out);
    text_colour(out, style, severity[finding->severity].colour);
    at = fprintf(out, "%s[%s]:", severity[finding->severity].name, finding->id);
    text_colour(out, style, TEXT_PLAIN);
    fputc(' ', out);
    text_wrap(out, style, 3 + (unsigned)at, 6, finding->title);
    fputs("      ", out);
    text_wrap(out, style, 6, 6, finding->what);
    if (finding->advice != NULL && finding->advice[0] != '\0') {
        fputs("      ", out);
        text_wrap(out, style, 6, 6, finding->advice);
    }
    if (finding->evidence.kept > 0) fprintf(out, "      Wireshark: %s\n", report_filter(&finding->evidence, filter));
}

static void print_verdict(FILE *out, const struct capture_report *report, const struct text_style *style)
{
    const struct capture *capture = report->capture;
    size_t count = capture_findings(capture), by[CAPTURE_ERROR + 1] = {0};

    for (size_t i = 0; i < count; i++)
        by[capture_finding(capture, i)->severity]++;
    text_in(out, style, TEXT_BOLD, "\nVERDICT");
    if (by[CAPTURE_ERROR] + by[CAPTURE_WARNING] > 0) {
        fprintf(out, "  %zu error%s, %zu warning%s\n", by[CAPTURE_ERROR], text_plural(by[CAPTURE_ERROR]),
                by[CAPTURE_WARNING], text_plural(by[CAPTURE_WARNING]));
    } else {
        text_in(out, style, TEXT_GREEN, "  no errors, no warnings\n");
    }
    for (size_t i = 0; i < count; i++)
        print_finding(out, style, capture_finding(capture, i));
}

struct ranked {
    uint64_t bytes;
    uint32_t rank; /* of the first finding that names it; UINT32_MAX: none does */
    uint32_t index;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Indices of all connections in the order they are shown; NULL when there are none or memory ran out. */
static uint32_t *connection_order(const struct capture *capture)
{
    size_t count = capture_connections(capture);
    struct ranked *ranked = calloc(count, sizeof *ranked);
    uint32_t *order = calloc(count, sizeof *order);

    if (count == 0 || ranked == NULL || order == NULL) {
        free(ranked);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct capture_connection connection = capture_connection(capture, i);
        ranked[i] = (struct ranked){.bytes = report_sums(&connection).bytes, .rank = UINT32_MAX, .index = (uint32_t)i};
    }
    for (size_t f = capture_findings(capture); f-- > 0;) {
        const struct capture_finding *finding = capture_finding(capture, f);
        if (finding->connection < count && finding->severity > CAPTURE_INFO)
            ranked[finding->connection].rank = (uint32_t)f;
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++)
        order[i] = ranked[i].index;
    free(ranked);
    return order;
}

static void qp_cell(char cell[CELL], uint32_t qp)
{
    if (qp == CAPTURE_NONE)
        snprintf(cell, CELL, "?");
    else
        snprintf(cell, CELL, "0x%x", qp);
}

static void pair_cell(char cell[CELL], uint64_t left, uint64_t right)
{
    char a[TEXT_COUNT], b[TEXT_COUNT];

    if (left == 0 && right == 0)
        snprintf(cell, CELL, "-");
    else
        snprintf(cell, CELL, "%s/%s", text_count_short(left, a), text_count_short(right, b));
}

/* p50/p99 of the requests of whichever direction has more samples. */
static void latency_cell(char cell[CELL], const struct histo *forward, const struct histo *reverse)
{
    const struct histo *histo = forward;
    char p50[TEXT_COUNT], p99[TEXT_COUNT];

    if (histo == NULL || (reverse != NULL && reverse->count > histo->count)) histo = reverse;
    if (histo == NULL || histo->count == 0) {
        snprintf(cell, CELL, "-");
        return;
    }
    snprintf(cell, CELL, "%s/%s", text_ns(histo_percentile(histo, 500000), p50),
             text_ns(histo_percentile(histo, 990000), p99));
}

static void connection_row(struct table *table, const struct capture *capture, uint32_t index)
{
    enum {
        NUMBER,
        SRC,
        SRC_QP,
        DST,
        DST_QP,
        TRANSPORT,
        PACKETS,
        BYTES,
        GOODPUT,
        RETRANSMITTED,
        NAKS,
        CONGESTION,
        ACK,
        READ,
        COLUMNS
    };
    const struct capture_connection connection = capture_connection(capture, index);
    const struct capture_direction *forward = connection.forward, *reverse = connection.reverse;
    const struct report_sums sums = report_sums(&connection);
    char cell[COLUMNS][CELL];
    const char *row[COLUMNS];

    snprintf(cell[NUMBER], CELL, "%" PRIu32, index + 1);
    pkt_addr_format(&forward->src, cell[SRC]);
    qp_cell(cell[SRC_QP], forward->src_qp);
    if (forward->paired_by == CAPTURE_PAIRED_GUESS)
        snprintf(cell[SRC_QP] + strlen(cell[SRC_QP]), CELL - strlen(cell[SRC_QP]), "?");
    pkt_addr_format(&forward->dst, cell[DST]);
    qp_cell(cell[DST_QP], forward->dst_qp);
    snprintf(cell[TRANSPORT], CELL, "%s", report_transport(forward->transport));
    text_count_short(sums.packets, cell[PACKETS]);
    text_bytes(sums.bytes, cell[BYTES]);
    text_rate(sums.goodput_bytes, sums.last_ns - sums.first_ns, cell[GOODPUT]);
    text_count_short(sums.retransmitted, cell[RETRANSMITTED]);
    pair_cell(cell[NAKS], sums.naks, sums.rnr_naks);
    pair_cell(cell[CONGESTION], sums.cnps, sums.ecn_marked);
    latency_cell(cell[ACK], forward->ack_latency, reverse == NULL ? NULL : reverse->ack_latency);
    latency_cell(cell[READ], forward->read_latency, reverse == NULL ? NULL : reverse->read_latency);
    for (unsigned c = 0; c < COLUMNS; c++)
        row[c] = cell[c];
    CHECK(table->columns == COLUMNS);
    table_row(table, row);
}

static void print_connections(FILE *out, const struct capture_report *report, const struct text_style *style,
                              const uint32_t *order, size_t shown)
{
    size_t count = capture_connections(report->capture);
    struct table table;

    text_heading(out, style, "CONNECTIONS");
    TABLE_BEGIN(&table, RIGHT("#"), LEFT("source", .min_width = 13), LEFT("QP"), LEFT("destination", .min_width = 13),
                LEFT("QP"), LEFT("", .drop = 6), RIGHT("packets", .drop = 1), RIGHT("bytes", .drop = 5),
                RIGHT("goodput", .drop = 2), RIGHT("retrans", .optional = true), RIGHT("NAK/RNR", .optional = true),
                RIGHT("CNP/CE", .optional = true), RIGHT("ACK p50/p99", .optional = true, .drop = 3),
                RIGHT("READ p50/p99", .optional = true, .drop = 4));
    for (size_t i = 0; i < shown; i++)
        connection_row(&table, report->capture, order[i]);
    table_end(&table, out, style, 2);
    if (shown < count) {
        char more[TEXT_COUNT];
        fprintf(out, "  ... and %s more; --connections 0 shows all\n", text_count(count - shown, more));
    }
}

static void print_pauses(FILE *out, const struct capture_report *report, const struct text_style *style)
{
    const struct capture_totals *totals = capture_totals(report->capture);
    struct table table;

    if (capture_pauses(report->capture) == 0) return;
    text_heading(out, style, "PAUSES");
    TABLE_BEGIN(&table, LEFT("sent by"), RIGHT("priority"), RIGHT("pauses"), RIGHT("resumes"), RIGHT("paused"),
                RIGHT("of the time", .drop = 1), RIGHT("longest"), LEFT("first packets", .drop = 2));
    for (size_t i = 0; i < capture_pauses(report->capture); i++) {
        const struct capture_pause *pause = capture_pause(report->capture, i);
        char mac[CELL], priority[CELL], xoff[TEXT_COUNT], xon[TEXT_COUNT], paused[TEXT_COUNT], share[TEXT_COUNT],
            longest[TEXT_COUNT], packets[CELL] = "";
        size_t used = 0;

        snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", pause->smac[0], pause->smac[1], pause->smac[2],
                 pause->smac[3], pause->smac[4], pause->smac[5]);
        snprintf(priority, sizeof priority, pause->global ? "all" : "%u", pause->priority);
        for (uint32_t p = 0; p < pause->evidence.kept && p < 3; p++) {
            used += (size_t)snprintf(packets + used, sizeof packets - used, "%s%" PRIu64, p == 0 ? "" : ", ",
                                     pause->evidence.packet[p]);
            CHECK(used < sizeof packets + 24);
            if (used >= sizeof packets) break;
        }
        table_row(&table, (const char *[]){mac, priority, text_count_short(pause->xoff, xoff),
                                           text_count_short(pause->xon, xon), text_ns(pause->paused_ns, paused),
                                           text_share(pause->paused_ns, totals->last_ns - totals->first_ns, share),
                                           text_ns(pause->longest_ns, longest), packets});
    }
    table_end(&table, out, style, 2);
}

static void cm_result(const struct capture_cm *cm, char *text, size_t size)
{
    const char *closed = cm->dreq_ns != 0 || cm->drep_ns != 0 ? ", closed" : "";
    size_t used;

    if (cm->rej_ns != 0)
        used = (size_t)snprintf(text, size, "rejected (%s)", cm_reject_text(cm->reject_reason));
    else if (cm->sidr && cm->rep_ns != 0)
        used = (size_t)snprintf(text, size, cm->reject_reason == 0 ? "answered" : "refused (status %u)",
                                cm->reject_reason);
    else if (cm->rtu_ns != 0)
        used = (size_t)snprintf(text, size, "established%s", closed);
    else if (cm->rep_ns != 0)
        used = (size_t)snprintf(text, size, "answered, no RTU seen%s", closed);
    else if (cm->req_ns != 0)
        used = (size_t)snprintf(text, size, "no answer%s", closed);
    else
        used = (size_t)snprintf(text, size, "set-up not captured%s", closed);
    if (cm->repeats > 0 && used < size) snprintf(text + used, size - used, ", %" PRIu32 " repeated", cm->repeats);
}

static void span_cell(char cell[CELL], uint64_t from_ns, uint64_t to_ns)
{
    char text[TEXT_COUNT];

    if (from_ns == 0 || to_ns < from_ns)
        snprintf(cell, CELL, "-");
    else
        snprintf(cell, CELL, "%s", text_ns(to_ns - from_ns, text));
}

static void cm_row(struct table *table, const struct capture_cm *cm)
{
    char initiator[PKT_ADDR_TEXT], acceptor[PKT_ADDR_TEXT], initiator_qp[CELL], acceptor_qp[CELL], port[CELL],
        rep[CELL], rtu[CELL], mtu[CELL] = "-", retries[CELL] = "-", result[128];
    unsigned number = cm_service_port(cm->service_id);

    pkt_addr_format(&cm->initiator, initiator);
    qp_cell(initiator_qp, cm->initiator_qp);
    pkt_addr_format(&cm->acceptor, acceptor);
    qp_cell(acceptor_qp, cm->acceptor_qp);
    snprintf(port, sizeof port, number == 0 ? "-" : "%u", number);
    span_cell(rep, cm->req_ns, cm->rep_ns);
    span_cell(rtu, cm->rep_ns, cm->rtu_ns);
    if (cm->mtu >= 1 && cm->mtu <= 5) snprintf(mtu, sizeof mtu, "%u", 128u << cm->mtu);
    if (cm->req_ns != 0 && !cm->sidr) snprintf(retries, sizeof retries, "%u/%u", cm->retry_count, cm->rnr_retry_count);
    cm_result(cm, result, sizeof result);
    table_row(table,
              (const char *[]){initiator, initiator_qp, acceptor, acceptor_qp, port, rep, rtu, mtu, retries, result});
}

static void print_cm(FILE *out, const struct capture_report *report, const struct text_style *style, uint32_t limit)
{
    size_t count = capture_cms(report->capture), shown = limit == 0 || count < limit ? count : limit;
    struct table table;

    if (count == 0) return;
    text_heading(out, style, "CONNECTION MANAGEMENT");
    TABLE_BEGIN(&table, LEFT("initiator", .min_width = 13), LEFT("QP"), LEFT("acceptor", .min_width = 13), LEFT("QP"),
                RIGHT("port", .optional = true, .drop = 2), RIGHT("REQ-REP", .optional = true, .drop = 3),
                RIGHT("REP-RTU", .optional = true, .drop = 4), RIGHT("MTU", .optional = true, .drop = 5),
                RIGHT("retry/RNR", .optional = true, .drop = 6), LEFT("result"));
    for (size_t i = 0; i < shown; i++)
        cm_row(&table, capture_cm(report->capture, i));
    table_end(&table, out, style, 2);
    if (shown < count) fprintf(out, "  ... and %zu more; --connections 0 shows all\n", count - shown);
}

static void note(FILE *out, const struct text_style *style, uint64_t count, const char *one, const char *many)
{
    char number[TEXT_COUNT], line[256];

    if (count == 0) return;
    snprintf(line, sizeof line, "%s %s", text_count(count, number), count == 1 ? one : many);
    fputs("  ", out);
    text_wrap(out, style, 2, 4, line);
}

/* What was not, or not wholly, read: a report that hides this would be believed too much. */
static void print_reading(FILE *out, const struct capture_report *report, const struct text_style *style)
{
    const struct capture_totals *totals = capture_totals(report->capture);
    uint64_t all = totals->unread + totals->cut + totals->cut_headers + totals->malformed + totals->time_backwards +
                   totals->unknown_opcodes + totals->evicted + totals->cm_evicted + totals->pause_evicted;

    if (all == 0 && report->error == NULL) return;
    text_heading(out, style, "READING");
    if (report->error != NULL) {
        fputs("  not all of it was read: ", out);
        text_wrap(out, style, 23, 4, report->error);
    }
    for (unsigned i = 0; i < CAPTURE_UNREAD_TYPES && totals->unread_type[i].records > 0; i++) {
        uint32_t type = totals->unread_type[i].link_type;
        char number[TEXT_COUNT];
        fprintf(out, "  %s packet%s not read: link type %s (%" PRIu32 ")\n",
                text_count(totals->unread_type[i].records, number), text_plural(totals->unread_type[i].records),
                capfile_link_name(type), type);
    }
    note(out, style, totals->cut, "RoCE packet cut short by the capture's snap length: its ICRC was not checked",
         "RoCE packets cut short by the capture's snap length: their ICRC was not checked");
    note(out, style, totals->cut_headers, "packet cut before its headers ended",
         "packets cut before their headers ended");
    for (unsigned f = 0; f < CODEC_FAULTS; f++) {
        char one[128], many[128];
        const char *why = codec_fault_text((enum codec_fault)f);
        snprintf(one, sizeof one, "malformed packet: %s", why);
        snprintf(many, sizeof many, "malformed packets: %s", why);
        note(out, style, totals->malformed_by[f], one, many);
    }
    note(out, style, totals->unknown_opcodes, "packet with an opcode that is not dissected",
         "packets with opcodes that are not dissected");
    note(out, style, totals->time_backwards, "packet is older than the one before it",
         "packets are older than the one before them");
    note(out, style, totals->evicted, "connection was dropped to keep the memory bound (see --max-connections)",
         "connections were dropped to keep the memory bound (see --max-connections); least recently seen first");
    note(out, style, totals->cm_evicted, "connection set-up was dropped to keep the memory bound",
         "connection set-ups were dropped to keep the memory bound");
    note(out, style, totals->pause_evicted, "sender of pauses was dropped to keep the memory bound",
         "senders of pauses were dropped to keep the memory bound");
}

void capture_text(FILE *out, const struct capture_report *report, const struct capture_text_options *options)
{
    const struct text_style *style = &options->style;
    size_t count = capture_connections(report->capture);
    size_t shown = options->connections == 0 || count < options->connections ? count : options->connections;
    uint32_t *order = options->verdict_only ? NULL : connection_order(report->capture);

    print_header(out, report, style);
    print_verdict(out, report, style);
    if (options->verdict_only) return;
    if (order != NULL) {
        print_connections(out, report, style, order, shown);
        capture_text_details(out, report, style, order, shown < options->details ? shown : options->details);
    } else if (count > 0) {
        fputs("\n  (not enough memory to list the connections)\n", out);
    }
    free(order);
    print_pauses(out, report, style);
    print_cm(out, report, style, options->connections);
    print_reading(out, report, style);
}
