/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs under `rocelab run` as evidence: what `counters` shows, looked at twice.
 *
 * The machine is a host; an adapter is a port of it, one for each opened device of each process.  Who is cabled to
 * whom nobody says.  Of NCCL's communicators each is a job, and what operations waited for between the two looks is
 * their ranks'.  Faults that `rocelab run` was told to make are counters like others.
 */
#include "cli/judge/diagnose_live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "evidence/read/reader.h"
#include "live/counters.h"
#include "nccl/page.h"
#include "study/clock.h"

#define NAME 160

/* clang-format off */
static const struct counter_name names[] = {
    {"tx_packets", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"rx_packets", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"tx_bytes", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"rx_bytes", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"tx_data_packets", EVIDENCE_TX_DATA_PACKETS, 0, false},
    {"retransmitted_packets", EVIDENCE_RETRANSMITTED, 0, false},
    {"out_of_sequence", EVIDENCE_OUT_OF_SEQUENCE, 0, false},
    {"out_of_buffer", EVIDENCE_OUT_OF_BUFFER, 0, false},
    {"packet_seq_err", EVIDENCE_SEQUENCE_NAKS, 0, false},
    {"local_ack_timeout_err", EVIDENCE_ACK_TIMEOUTS, 0, false},
    {"retry_exceeded", EVIDENCE_RETRY_EXCEEDED, 0, false},
    {"rnr_nak_retry_err", EVIDENCE_RNR_NAKS, 0, false},
    {"np_ecn_marked_roce_packets", EVIDENCE_NP_MARKED, 0, false},
    {"np_cnp_sent", EVIDENCE_CNP_SENT, 0, false},
    {"rp_cnp_handled", EVIDENCE_CNP_HANDLED, 0, false},
    {"rp_cnp_ignored", EVIDENCE_CNP_IGNORED, 0, false},
    {"wire_rx_icrc_errors", EVIDENCE_CRC_ERRORS, 0, false},
    {"wire_rx_overflow", EVIDENCE_RX_DISCARDS, 0, false},
    {"wire_fault_lost", EVIDENCE_FAULT_LOST, 0, false},
    {"wire_fault_corrupted", EVIDENCE_FAULT_CORRUPTED, 0, false},
    {"wire_fault_reordered", EVIDENCE_FAULT_REORDERED, 0, false},
    {"wire_fault_duplicated", EVIDENCE_FAULT_DUPLICATED, 0, false},
    {"wire_fault_delayed", EVIDENCE_FAULT_DELAYED, 0, false},
    {"wire_fault_marked", EVIDENCE_FAULT_MARKED, 0, false},
    {"rx_prio#_pause", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"tx_prio#_pause", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"rx_prio#_pause_transition", EVIDENCE_RX_PAUSE_EVENTS, 0, false},
    {"rx_prio#_pause_ns", EVIDENCE_RX_PAUSE_NS, 0, false},
    {"tx_prio#_packets", EVIDENCE_TX_PACKETS, 0, false},
    {"tx_prio#_bytes", EVIDENCE_TX_BYTES, 0, false},
    {NULL, 0, 0, false},
};
/* clang-format on */

static void take_counter(struct reading *in, uint32_t port, const struct device_counter *counter)
{
    size_t length = strlen(counter->name);
    bool time = length > 3 && !strcmp(counter->name + length - 3, "_ps");
    char name[DEVICE_COUNTER_NAME + 1], number[24];

    snprintf(name, sizeof name, "%.*s%s", (int)(time ? length - 3 : length), counter->name, time ? "_ns" : "");
    snprintf(number, sizeof number, "%" PRIu64, time ? counter->value / 1000 : counter->value);
    struct text_field key = field_of(name), value = field_of(number);
    reading_named(in, names, port, EVIDENCE_NO_PRIORITY, &key, &value);
}

static void was_read(struct reading *in, int error)
{
    if (error) evidence_unread(in->evidence, "live", strerror(-error));
}

/* Answers how many there are. */
static unsigned look_at_adapters(struct reading *in)
{
    struct device_counter_set *set = NULL;
    unsigned count = 0;
    char name[NAME];

    was_read(in, live_counters_read(&set, &count));
    for (unsigned i = 0; i < count; i++) {
        int length = snprintf(name, sizeof name, "%s[%u]", set[i].device, set[i].pid);
        uint32_t port = length > 0 ? evidence_port(in->evidence, in->device, name, (size_t)length) : EVIDENCE_NONE;
        for (unsigned c = 0; port != EVIDENCE_NONE && c < set[i].counters; c++)
            take_counter(in, port, &set[i].counter[c]);
    }
    free(set);
    return count;
}

static void take_waits(struct reading *in, uint32_t rank, const struct observe_communicator *now,
                       const struct observe_communicator *before)
{
    uint64_t operations = now->operations - (before ? before->operations : 0);
    const struct {
        enum evidence_counter counter;
        uint64_t grown;
    } waits[] = {
        {EVIDENCE_RANK_WAIT_GPU_NS, now->wait_gpu_ns - (before ? before->wait_gpu_ns : 0)},
        {EVIDENCE_RANK_WAIT_PEER_NS, now->wait_peer_ns - (before ? before->wait_peer_ns : 0)},
        {EVIDENCE_RANK_WAIT_NET_NS, now->wait_network_ns - (before ? before->wait_network_ns : 0)},
    };

    for (size_t i = 0; operations && i < sizeof waits / sizeof waits[0]; i++)
        evidence_set(in->evidence, rank, EVIDENCE_NO_PRIORITY, waits[i].counter, waits[i].grown / operations,
                     &in->source);
}

/* The same communicator and rank of the same process in an older look; NULL: it was not there, or began anew. */
static const struct observe_communicator *older(const struct nccl_page *page, const struct nccl_page *before,
                                                unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (before[i].id == page->id && before[i].rank == page->rank && before[i].pid == page->pid)
            return before[i].counters.operations <= page->counters.operations ? &before[i].counters : NULL;
    return NULL;
}

static void take_communicators(struct reading *in, const struct nccl_page *page, unsigned count,
                               const struct nccl_page *before, unsigned befores)
{
    char name[NAME];

    for (unsigned i = 0; i < count; i++) {
        int length = snprintf(name, sizeof name, "comm %" PRIx64, page[i].id);
        uint32_t job = evidence_job(in->evidence, name, (size_t)length);
        uint32_t rank = page[i].rank < 0 ? EVIDENCE_NONE : evidence_rank(in->evidence, job, (uint32_t)page[i].rank);
        if (rank == EVIDENCE_NONE) continue;
        in->evidence->object[rank].host = in->device;
        if (page[i].ranks > 0)
            evidence_set(in->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS, (uint64_t)page[i].ranks, &in->source);
        evidence_set(in->evidence, rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LAST_OP, page[i].counters.collectives,
                     &in->source);
        take_waits(in, rank, &page[i].counters, older(&page[i], before, befores));
    }
}

/* False: interrupted. */
static bool wait_for(ps_t interval)
{
    struct timespec left = {.tv_sec = (time_t)(interval / PS_S), .tv_nsec = (long)(interval % PS_S / PS_NS)};

    while (nanosleep(&left, &left) != 0)
        if (errno != EINTR || cli_stopped) return false;
    return true;
}

static bool look_twice(struct reading *in, ps_t interval)
{
    struct nccl_page *before = NULL, *page = NULL;
    unsigned befores = 0, pages = 0;

    was_read(in, nccl_pages_read(&before, &befores));
    uint64_t begin = clock_now_ns();
    unsigned adapters = look_at_adapters(in);
    bool good = adapters + befores > 0;
    if (!good && in->evidence->unread)
        cli_error("%s", in->evidence->first_unread);
    else if (!good)
        cli_error("live: no program runs under 'rocelab run' now, none with NCCL's plugin");
    if (good && !(good = wait_for(interval))) cli_error("live: interrupted between the two looks");
    if (good) {
        in->source.at_s = (double)(clock_now_ns() - begin) / 1e9;
        look_at_adapters(in);
        was_read(in, nccl_pages_read(&page, &pages));
        take_communicators(in, page, pages, before, befores);
    }
    free(before);
    free(page);
    return good;
}

bool diagnose_live(struct evidence *evidence, ps_t interval)
{
    struct reading *in = calloc(1, sizeof *in);
    char host[64] = "this machine";

    gethostname(host, sizeof host - 1);
    in->evidence = evidence;
    in->source = (struct evidence_source){evidence_file(evidence, "live"), 0, 0};
    in->device = evidence_device(evidence, host, strlen(host));
    cli_catch_stop(2);
    bool good = look_twice(in, interval);
    reading_system(in, "host", FABRIC_ROLE_HOST);
    free(in);
    return good;
}
