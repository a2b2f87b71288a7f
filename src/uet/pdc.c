/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of PDCs: their memory, messages in, completions out, and what can be asked about them.
 *
 * An end has memory of its own, given when it is opened; the endpoint holds pointers by number.  Completions need no
 * room: a source's messages and a sink's noted ends wait where they are until they are told.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "uet/uet_int.h"

const struct uet_counter uet_counter_list[] = {
#define COUNTER(field, text) {.name = #field, .help = text, .offset = offsetof(struct uet_counters, field)},
#include "uet/counters.def"
#undef COUNTER
    {.name = NULL},
};

size_t uet_memory_bytes(const struct uet_config *config)
{
    return lines_up(sizeof(struct uet)) + lines_up(config->ends * sizeof(struct uet_source *)) +
           lines_up(config->ends * sizeof(struct uet_sink *)) + lines_up(config->ends * sizeof(uint32_t));
}

struct uet *uet_init(void *memory, const struct uet_config *config)
{
    struct uet *uet = memory;
    char *at = (char *)memory + lines_up(sizeof(*uet));

    CHECK(uet_config_valid(config));
    uet->config = *config;
    uet->source = (struct uet_source **)at;
    at += lines_up(config->ends * sizeof(struct uet_source *));
    uet->sink = (struct uet_sink **)at;
    at += lines_up(config->ends * sizeof(struct uet_sink *));
    uet->heap = (uint32_t *)at;
    uet->control_head = uet->control_tail = PKT_NONE;
    nscc_init(uet);
    rccc_init(uet);
    return uet;
}

struct source_layout {
    size_t message, record, lost, penalty, recycle, bytes;
};
static struct source_layout source_layout(const struct uet_config *config, uint16_t depth)
{
    struct source_layout l = {.message = lines_up(sizeof(struct uet_source))};

    l.record = l.message + lines_up(depth * sizeof(struct uet_message));
    l.lost = l.record + lines_up(config->window_packets * sizeof(struct uet_record));
    l.penalty = l.lost + lines_up(config->window_packets / 8);
    l.recycle = l.penalty + lines_up(config->paths);
    l.bytes = l.recycle + lines_up((config->paths > UET_RECENT ? config->paths : UET_RECENT) * sizeof(uint16_t));
    return l;
}

size_t uet_source_bytes(const struct uet_config *config, uint16_t depth)
{
    return source_layout(config, depth).bytes;
}

static uint32_t sink_room(uint16_t depth) /* messages that were told may not have been taken yet */
{
    return 2u * depth;
}

size_t uet_sink_bytes(const struct uet_config *config, uint16_t depth)
{
    return lines_up(sizeof(struct uet_sink)) + lines_up(sink_room(depth) * sizeof(struct uet_end)) +
           lines_up(config->window_packets / 8);
}

static uint32_t index_of(const struct uet *uet, uint32_t number)
{
    return number - uet->config.first_number;
}

static uint32_t free_index(const struct uet *uet, uint32_t number)
{
    uint32_t index = index_of(uet, number);

    CHECK(index < uet->config.ends && uet->source[index] == NULL && uet->sink[index] == NULL);
    return index;
}

struct uet_source *uet_open_source(struct uet *uet, uint32_t number, const struct uet_peer *peer, void *memory)
{
    struct source_layout l = source_layout(&uet->config, peer->depth);
    struct uet_source *source = memory;
    char *base = memory;

    CHECK(peer->depth > 0);
    *source = (struct uet_source){.peer = *peer,
                                  .index = free_index(uet, number),
                                  .mask = uet->config.window_packets - 1,
                                  .oldest = UET_NO_RECORD,
                                  .newest = UET_NO_RECORD,
                                  .heap_at = UET_NONE,
                                  .probe_at = PS_NEVER,
                                  .message = (struct uet_message *)(base + l.message),
                                  .record = (struct uet_record *)(base + l.record),
                                  .lost_map = (uint64_t *)(base + l.lost)};
    source->paths.penalty = (uint8_t *)(base + l.penalty);
    source->paths.recycle = (uint16_t *)(base + l.recycle);
    uet->source[source->index] = source;
    uet->data_prios |= (uint16_t)(1u << peer->prio);
    nscc_start(uet, &source->nscc);
    rccc_start(uet, source);
    paths_init(uet, &source->paths, number, peer->first_path);
    return source;
}

struct uet_sink *uet_open_sink(struct uet *uet, uint32_t number, const struct uet_peer *peer, bool notifies,
                               void *memory)
{
    struct uet_sink *sink = memory;
    char *base = (char *)memory + lines_up(sizeof(*sink));

    CHECK(peer->depth > 0);
    *sink = (struct uet_sink){.peer = *peer,
                              .index = free_index(uet, number),
                              .mask = uet->config.window_packets - 1,
                              .notifies = notifies,
                              .room = (uint16_t)sink_room(peer->depth),
                              .end = (struct uet_end *)base};
    sink->map = (uint64_t *)(base + lines_up(sink->room * sizeof(struct uet_end)));
    uet->sink[sink->index] = sink;
    return sink;
}

int uet_post(struct uet *uet, struct uet_source *source, uint64_t bytes, uint32_t tag, uint32_t imm, ps_t now)
{
    uint64_t packets = bytes ? (bytes + uet->config.payload_bytes - 1) / uet->config.payload_bytes : 1;

    if (source->posted == source->peer.depth) return -ENOBUFS;
    uint32_t at = (source->first + source->posted) % source->peer.depth;
    source->message[at] = (struct uet_message){.bytes = bytes, .tag = tag, .imm = imm, .failed = source->failed};
    if (source->current == source->posted) source->left = bytes;
    source->posted++;
    if (source->failed) { /* told at once */
        source->current = source->complete = source->posted;
        uet->counters.messages_failed++;
        list_push(&uet->done_sources, &source->done, source);
        return 0;
    }
    source->backlog += bytes + packets * uet->config.nominal_bytes;
    source->heard_at = now;
    uet_offer(uet, source);
    timer_want(uet, source, loss_timer(uet, source));
    return 0;
}

void uet_source_done(struct uet *uet, struct uet_source *source)
{
    while (source->complete < source->current) {
        const struct uet_message *message = &source->message[(source->first + source->complete) % source->peer.depth];
        if (psn_after(source->una, message->end) < 0) return;
        source->complete++;
        uet->counters.messages_sent++;
        list_push(&uet->done_sources, &source->done, source);
    }
}

void uet_source_fail(struct uet *uet, struct uet_source *source)
{
    source->failed = true;
    source->probe_at = PS_NEVER;
    while (source->complete < source->posted) {
        source->message[(source->first + source->complete) % source->peer.depth].failed = true;
        source->complete++;
        uet->counters.messages_failed++;
        list_push(&uet->done_sources, &source->done, source);
    }
    source->current = source->posted;
    loss_from(uet, source, source->una);
}

void uet_sink_done(struct uet *uet, struct uet_sink *sink)
{
    while (sink->complete < sink->ends && psn_after(sink->expected, sink->end[sink->complete].psn) > 0) {
        sink->complete++;
        uet->counters.messages_received++;
        list_push(&uet->done_sinks, &sink->done, sink);
    }
}

bool uet_completed(const struct uet *uet)
{
    return uet->done_sources.head || uet->done_sinks.head;
}

static void source_completion(struct uet *uet, struct uet_completion *ret)
{
    struct uet_source *source = uet->done_sources.head->end;
    const struct uet_message *message = &source->message[source->first];

    *ret = (struct uet_completion){.owner = source->peer.owner, .word = message->tag, .good = !message->failed};
    source->first = (source->first + 1) % source->peer.depth;
    source->posted--;
    source->complete--;
    source->current--;
    if (source->complete == 0) (void)list_pop(&uet->done_sources);
}

static void sink_completion(struct uet *uet, struct uet_completion *ret)
{
    struct uet_sink *sink = uet->done_sinks.head->end;

    *ret = (struct uet_completion){.owner = sink->peer.owner, .word = sink->end[0].imm, .receive = true, .good = true};
    sink->ends--;
    sink->complete--;
    memmove(sink->end, sink->end + 1, sink->ends * sizeof(*sink->end));
    if (sink->complete == 0) (void)list_pop(&uet->done_sinks);
}

bool uet_completion(struct uet *uet, struct uet_completion *ret)
{
    if (uet->done_sources.head)
        source_completion(uet, ret);
    else if (uet->done_sinks.head)
        sink_completion(uet, ret);
    else
        return false;
    return true;
}

static bool for_source(uint8_t opcode)
{
    return opcode == PKT_UET_ACK || opcode == PKT_UET_NACK || opcode == PKT_UET_PULL || opcode == PKT_UET_PROBE_ACK;
}

void uet_rx(struct uet *uet, pkt_t id, ps_t now, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];
    uint32_t index = index_of(uet, pkt->dest_qp);

    uet->counters.rx_packets++;
    uet->counters.rx_bytes += pkt->frame_bytes;
    if (pkt->flags & PKT_STRAY) {
        uet->counters.drop_stray++;
    } else if (pkt->kind != PKT_UET || pkt->opcode > PKT_UET_PROBE_ACK) {
        uet->counters.drop_wrong_kind++;
    } else if (index >= uet->config.ends) {
        uet->counters.drop_no_end++;
    } else if (for_source(pkt->opcode) && uet->source[index]) {
        uet_source_rx(uet, uet->source[index], pkt, now);
    } else if (!for_source(pkt->opcode) && uet->sink[index]) {
        uet_sink_rx(uet, uet->sink[index], id, now, pool);
        return; /* the packet is the sink's */
    } else {
        uet->counters.drop_no_end++;
    }
    pktpool_put(pool, id);
}

void uet_expect(const struct uet *uet, const struct pkt *pkt)
{
    uint32_t index = index_of(uet, pkt->dest_qp);

    if (index >= uet->config.ends) return;
    const void *end = uet->source[index] ? (const void *)uet->source[index] : (const void *)uet->sink[index];
    __builtin_prefetch(end);
    __builtin_prefetch((const char *)end + 64);
    __builtin_prefetch((const char *)end + 128);
}

const struct uet_counters *uet_counters(const struct uet *uet)
{
    return &uet->counters;
}

uint64_t uet_acked_bytes(const struct uet_source *source)
{
    return source->acked_bytes;
}

uint64_t uet_resent_packets(const struct uet_source *source)
{
    return source->resent_packets;
}

uint64_t uet_window_bytes(const struct uet_source *source)
{
    return source->nscc.cwnd;
}

uint64_t uet_rate_bps(const struct uet_source *source)
{
    return rate_measure(source->nscc.cwnd, source->nscc.base_ps);
}

uint32_t uet_queued(const struct uet_source *source)
{
    return source->posted - source->complete;
}

uint32_t uet_outstanding(const struct uet_source *source)
{
    return source->next - source->una;
}
