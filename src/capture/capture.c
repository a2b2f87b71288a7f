/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture analysis, from the outside: memory, one record at a time, totals, the end.
 *
 * A packet whose ICRC is wrong is counted where its header says it belongs and moves nothing else; a
 * malformed one is counted by its fault and belongs nowhere.
 *
 * All memory is reserved at the start.  docs/capture.md says how each number is defined.
 */
#include "capture/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "capture/capture_int.h"
#include "packet/codec.h"

enum memory {
    MEMORY_DIRECTIONS,
    MEMORY_HASH,
    MEMORY_HASH_LINK,
    MEMORY_LRU,
    MEMORY_POOL,
    MEMORY_HISTO_POOL,
    MEMORY_HISTO,
    MEMORY_HOLE_POOL,
    MEMORY_HOLES,
    MEMORY_INDEX_PORT,
    MEMORY_INDEX_PLAIN,
    MEMORY_RANGE_PORT,
    MEMORY_RANGE_PLAIN,
    MEMORY_INDEX_LINK,
    MEMORY_ORDER,
    MEMORY_CM,
    MEMORY_PAUSE,
    MEMORIES
};

static void memory_sizes(const struct capture_options *options, uint64_t ret[MEMORIES])
{
    uint64_t directions = cap_table_directions(options);
    uint64_t slots = cap_table_hash_slots(options);
    ret[MEMORY_DIRECTIONS] = directions * sizeof(struct direction);
    ret[MEMORY_HASH] = slots * sizeof(uint32_t);
    ret[MEMORY_HASH_LINK] = directions * sizeof(struct hash_link);
    ret[MEMORY_LRU] = directions * sizeof(struct lru_link);
    ret[MEMORY_POOL] = directions * sizeof(uint32_t);
    ret[MEMORY_HISTO_POOL] = 3 * directions * sizeof(uint32_t);
    ret[MEMORY_HISTO] = 3 * directions * sizeof(struct histo);
    ret[MEMORY_HOLE_POOL] = directions * sizeof(uint32_t);
    ret[MEMORY_HOLES] = directions * HOLE_LIST * sizeof(struct psn_hole);
    ret[MEMORY_INDEX_PORT] = ret[MEMORY_INDEX_PLAIN] = slots * sizeof(struct index_head);
    ret[MEMORY_RANGE_PORT] = ret[MEMORY_RANGE_PLAIN] = slots * sizeof(struct index_head);
    ret[MEMORY_INDEX_LINK] = directions * INDEX_ENTRIES * sizeof(struct index_link);
    ret[MEMORY_ORDER] = directions * sizeof(uint32_t);
    ret[MEMORY_CM] = CM_ENTRIES * sizeof(struct cm_entry);
    ret[MEMORY_PAUSE] = PAUSE_SENDERS * sizeof(struct pause_sender);
}

/* A piece takes whole pages, and one behind it that cannot be touched: running over the end is found. */
static uint64_t piece_bytes(uint64_t bytes, uint64_t page)
{
    return (bytes + page - 1) / page * page + page;
}

static uint64_t pieces_bytes(const uint64_t size[MEMORIES])
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), sum = 0;
    for (unsigned i = 0; i < MEMORIES; i++)
        sum += piece_bytes(size[i], page);
    return sum;
}

uint64_t capture_memory_bytes(const struct capture_options *options)
{
    uint64_t size[MEMORIES];
    memory_sizes(options, size);
    /* and what the end needs for a moment: leftovers to pair, connections to sort */
    return sizeof(struct capture) + pieces_bytes(size) + (uint64_t)cap_table_directions(options) * 3 * sizeof(uint64_t);
}

/* Ten thousand connections are forty megabytes touched at random: with small pages most accesses miss
 * the TLB as well.  A hint; no harm when the kernel does not take it. */
static void ask_for_huge_pages(uint8_t *memory, uint64_t bytes)
{
    const uintptr_t huge = 2u << 20;
    uintptr_t from = ((uintptr_t)memory + huge - 1) & ~(huge - 1), to = ((uintptr_t)memory + bytes) & ~(huge - 1);
    if (to > from) madvise(memory + (from - (uintptr_t)memory), to - from, MADV_HUGEPAGE);
}

/* Reserves all of it at once, straight from the kernel: zero, and no page of it in use before it is touched.
 * calloc() promises neither, once freed memory goes round in it. */
static int memory_reserve(struct capture *capture, const struct capture_options *options, void *ret[MEMORIES])
{
    uint64_t size[MEMORIES], page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory_sizes(options, size);
    size_t bytes = pieces_bytes(size);
    uint8_t *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return -ENOMEM;
    capture->memory = memory;
    capture->memory_bytes = bytes;
    for (unsigned i = 0; i < MEMORIES; i++) {
        uint64_t piece = piece_bytes(size[i], page);
        if (mprotect(memory, piece - page, PROT_READ | PROT_WRITE) < 0) return -ENOMEM;
        ask_for_huge_pages(memory, piece - page);
        ret[i] = memory;
        memory += piece;
    }
    return 0;
}

struct capture *capture_new(const struct capture_options *options)
{
    struct capture *capture = calloc(1, sizeof *capture);
    void *at[MEMORIES];
    if (memory_reserve(capture, options, at) < 0) {
        capture_free(capture);
        return NULL;
    }
    capture->options = *options;
    capture->direction = at[MEMORY_DIRECTIONS];
    capture->hash_head = at[MEMORY_HASH];
    capture->hash_link = at[MEMORY_HASH_LINK];
    capture->lru = at[MEMORY_LRU];
    capture->pool_link = at[MEMORY_POOL];
    capture->histo_link = at[MEMORY_HISTO_POOL];
    capture->histo = at[MEMORY_HISTO];
    capture->hole_link = at[MEMORY_HOLE_POOL];
    capture->hole = at[MEMORY_HOLES];
    capture->index_head[0][INDEX_PORT] = at[MEMORY_INDEX_PORT];
    capture->index_head[0][INDEX_PLAIN] = at[MEMORY_INDEX_PLAIN];
    capture->index_head[1][INDEX_PORT] = at[MEMORY_RANGE_PORT];
    capture->index_head[1][INDEX_PLAIN] = at[MEMORY_RANGE_PLAIN];
    capture->index_link = at[MEMORY_INDEX_LINK];
    capture->index_mask = cap_table_hash_slots(options) - 1;
    capture->order = at[MEMORY_ORDER];
    capture->cm = at[MEMORY_CM];
    capture->pause = at[MEMORY_PAUSE];
    cap_table_init(capture);
    cap_cm_init(capture);
    return capture;
}

void capture_free(struct capture *capture)
{
    if (!capture) return;
    if (capture->memory) munmap(capture->memory, capture->memory_bytes);
    free(capture);
}

static void time_of(struct capture *capture, uint64_t time_ns)
{
    struct capture_totals *totals = &capture->totals;
    if (totals->packets == 0) {
        totals->first_ns = totals->last_ns = capture->arrival_ns = time_ns;
        cap_bins_begin(capture);
    }
    if (time_ns < capture->arrival_ns) {
        totals->time_backwards++;
        evidence_add(capture, EVIDENCE_BACKWARDS);
    }
    capture->now_ns = capture->arrival_ns = time_ns;
    if (time_ns > totals->last_ns) totals->last_ns = time_ns;
}

static void count_unread(struct capture *capture, uint32_t link_type)
{
    struct capture_totals *totals = &capture->totals;
    totals->unread++;
    evidence_add(capture, EVIDENCE_UNREAD);
    for (unsigned i = 0; i < CAPTURE_UNREAD_TYPES; i++) {
        if (totals->unread_type[i].records && totals->unread_type[i].link_type != link_type) continue;
        totals->unread_type[i].link_type = link_type;
        totals->unread_type[i].records++;
        return;
    }
}

static bool link_of(uint32_t link_type, enum codec_link *ret)
{
    switch (link_type) {
    case 1:
        *ret = CODEC_ETHERNET;
        return true;
    case 113:
        *ret = CODEC_SLL;
        return true;
    case 276:
        *ret = CODEC_SLL2;
        return true;
    case 12: /* DLT_RAW of most systems, where it was written to the file as it is */
    case 101:
    case 228:
    case 229:
        *ret = CODEC_RAW_IP;
        return true;
    default:
        return false;
    }
}

static void count_fault(struct capture *capture, int error, enum codec_fault fault)
{
    struct capture_totals *totals = &capture->totals;
    if (error == -ENODATA) {
        totals->cut_headers++;
        evidence_add(capture, EVIDENCE_CUT);
        return;
    }
    totals->malformed++;
    totals->malformed_by[fault]++;
    evidence_add(capture, fault == CODEC_FAULT_TOO_LONG ? EVIDENCE_AGGREGATE : EVIDENCE_MALFORMED);
}

void capture_record(struct capture *capture, const struct capfile_record *record)
{
    CHECK(!capture->finished);
    struct codec_frame frame = {.data = record->data, .captured = record->captured, .length = record->length};
    struct pkt *pkt = cap_packet_slot(capture);
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault = CODEC_FAULT_NONE;
    capture->number = record->number;
    time_of(capture, record->time_ns);
    capture->totals.packets++;
    capture->totals.bytes += record->length;
    if (!link_of(record->link_type, &frame.link)) {
        count_unread(capture, record->link_type);
        return;
    }
    int error = codec_parse(&frame, pkt, &cold, &layout, &fault);
    if (error < 0)
        count_fault(capture, error, fault);
    else if (pkt->kind == PKT_ROCE)
        cap_packet_add(capture, &frame, &cold, &layout);
    else if (pkt->kind == PKT_OTHER)
        capture->totals.other_packets++;
    else
        cap_pause_packet(capture, pkt, &cold, record->if_speed_bps);
}

const struct capture_totals *capture_totals(const struct capture *capture)
{
    return &capture->totals;
}
