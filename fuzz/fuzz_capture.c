/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture analysis over any file: the first byte says how many connections are held and what is skipped, the
 * rest is a capture.  Books balance, every finding shows packets of the file, and nothing wrong is said only when
 * nothing was counted.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "capture/capture.h"
#include "packet/capfile/capfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t check_direction(const struct capture_direction *view)
{
    uint64_t sum = 0;
    if (!view) return 0;
    CHECK(view->retransmitted <= view->requests && view->requests <= view->packets);
    CHECK(view->reordered <= view->filled && view->copies <= view->retransmitted);
    for (unsigned cause = 0; cause < CAPTURE_CAUSES; cause++)
        sum += view->retransmitted_by[cause];
    CHECK(sum == view->retransmitted);
    sum = 0;
    for (unsigned bin = 0; bin < CAPTURE_BINS; bin++)
        sum += view->bin[bin];
    CHECK(sum == view->goodput_bytes && sum <= view->payload_bytes);
    CHECK(view->ecn_marked <= view->ecn_capable && view->ecn_capable <= view->packets);
    CHECK(view->first_ns <= view->last_ns);
    if (view->ack_latency) CHECK(histo_percentile(view->ack_latency, 500000) <= view->ack_latency->max);
    if (view->read_latency) CHECK(histo_percentile(view->read_latency, 990000) <= view->read_latency->max);
    return view->packets;
}

static void check_findings(const struct capture *capture, uint64_t last)
{
    const struct capture_totals *totals = capture_totals(capture);
    for (size_t i = 0; i < capture_findings(capture); i++) {
        const struct capture_finding *finding = capture_finding(capture, i);
        CHECK(finding->what[0] && finding->title[0] && finding->advice[0]);
        CHECK(finding->connection == CAPTURE_NONE || finding->connection < capture_connections(capture));
        for (uint32_t k = 0; k < finding->evidence.kept; k++)
            CHECK(finding->evidence.packet[k] >= 1 && finding->evidence.packet[k] <= last);
        if (strcmp(finding->id, "CAP000") != 0) continue;
        CHECK(!totals->retransmitted && !totals->gaps && !totals->naks && !totals->rnr_naks);
        CHECK(!totals->icrc_errors && !totals->malformed && !totals->unread);
    }
}

static void check_all(const struct capture *capture, uint64_t records)
{
    const struct capture_totals *totals = capture_totals(capture);
    uint64_t packets = 0;
    for (size_t i = 0; i < capture_connections(capture); i++) {
        struct capture_connection connection = capture_connection(capture, i);
        CHECK(connection.forward);
        packets += check_direction(connection.forward) + check_direction(connection.reverse);
    }
    CHECK(totals->packets == records && packets <= totals->roce_packets);
    CHECK(totals->evicted || packets == totals->roce_packets);
    CHECK(capture_connections(capture) + totals->evicted == totals->connections);
    for (size_t i = 0; i < capture_cms(capture); i++)
        CHECK(capture_cm(capture, i)->req_ns > 0);
    for (size_t i = 0; i < capture_pauses(capture); i++)
        CHECK(capture_pause(capture, i)->longest_ns <= capture_pause(capture, i)->paused_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[CAPFILE_ERROR] = "";
    struct capfile *file;
    struct capfile_record record;
    uint64_t records = 0;
    if (size == 0 || capfile_open_memory(data + 1, size - 1, &file, error) < 0) return 0;
    struct capture_options options = {
        .max_connections = 1 + data[0] % 4, .skip_icrc = !(data[0] & 0x80), .bin_ns = data[0] & 0x40 ? 7 : 0};
    struct capture *capture = capture_new(&options);
    CHECK(capture);
    while (capfile_next(file, &record, error) == 1) {
        capture_record(capture, &record);
        records = record.number;
    }
    capture_finish(capture);
    check_all(capture, records);
    check_findings(capture, records);
    capture_free(capture);
    capfile_close(file);
    return 0;
}
