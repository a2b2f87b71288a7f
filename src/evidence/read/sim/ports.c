/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's document: ports of switches and hosts, adapters, and what switches were told of thresholds. */
#include <stdlib.h>
#include <string.h>

#include "evidence/drops.h"
#include "evidence/read/sim/document.h"

/* A key of the document and what evidence calls it. */
struct key {
    const char *key;
    enum evidence_counter counter;
    bool time; /* picoseconds, which evidence has as nanoseconds */
};
static const struct key port_keys[] = {
    {"rate_bps", EVIDENCE_FULL_RATE, false},
    {"rate_now_bps", EVIDENCE_RATE, false},
    {"line_bytes", EVIDENCE_PORT_TX_BYTES, false},
    {"tx_packets", EVIDENCE_PORT_TX_PACKETS, false},
    {"rx_packets", EVIDENCE_PORT_RX_PACKETS, false},
    {"link_downs", EVIDENCE_LINK_DOWN, false},
    {"crc_errors", EVIDENCE_CRC_ERRORS, false},
    {"lost", EVIDENCE_LINE_LOST, false},
    {"credits_rx", EVIDENCE_CREDITS_RECEIVED, false},
    {"celsius", EVIDENCE_TEMPERATURE, false},
    {"mtu_bytes", EVIDENCE_MTU, false},
    {NULL, 0, false},
};
static const struct key perfquery_keys[] = {
    {"PortXmitWait", EVIDENCE_XMIT_WAIT, false},
    {"PortXmitDiscards", EVIDENCE_XMIT_DISCARDS, false},
    {"ExcessiveBufferOverrunErrors", EVIDENCE_BUFFER_OVERRUNS, false},
    {"VL15Dropped", EVIDENCE_VL15_DROPPED, false},
    {NULL, 0, false},
};
static const struct key priority_keys[] = {
    {"tx_bytes", EVIDENCE_TX_BYTES, false},          {"tx_packets", EVIDENCE_TX_PACKETS, false},
    {"rx_bytes", EVIDENCE_RX_BYTES, false},          {"rx_packets", EVIDENCE_RX_PACKETS, false},
    {"ecn_marked", EVIDENCE_MARKED, false},          {"queue_max_bytes", EVIDENCE_QUEUE_PEAK, false},
    {"group_max_bytes", EVIDENCE_GROUP_PEAK, false}, {"headroom_max_bytes", EVIDENCE_HEADROOM_PEAK, false},
    {"xoff_tx", EVIDENCE_TX_PAUSE_EVENTS, false},    {"pfc_tx", EVIDENCE_TX_PAUSE_FRAMES, false},
    {"pfc_rx", EVIDENCE_RX_PAUSE_FRAMES, false},     {"paused_ps", EVIDENCE_RX_PAUSE_NS, true},
    {"pausing_ps", EVIDENCE_TX_PAUSE_NS, true},      {NULL, 0, false},
};
static const struct key nic_keys[] = {
    {"tx_packets", EVIDENCE_PORT_TX_PACKETS, false},
    {"rx_packets", EVIDENCE_PORT_RX_PACKETS, false},
    {"ecn_marked", EVIDENCE_NP_MARKED, false},
    {"cnps_sent", EVIDENCE_CNP_SENT, false},
    {"cnps_handled", EVIDENCE_CNP_HANDLED, false},
    {"cnps_ignored", EVIDENCE_CNP_IGNORED, false},
    {"retransmitted", EVIDENCE_RETRANSMITTED, false},
    {"timeouts", EVIDENCE_ACK_TIMEOUTS, false},
    {"naks", EVIDENCE_SEQUENCE_NAKS, false},
    {"rnr_naks", EVIDENCE_RNR_NAKS, false},
    {"tx_data_packets", EVIDENCE_TX_DATA_PACKETS, false},
    {"out_of_sequence", EVIDENCE_OUT_OF_SEQUENCE, false},
    {"out_of_buffer", EVIDENCE_OUT_OF_BUFFER, false},
    {"discards", EVIDENCE_RX_DISCARDS, false},
    {"idle_rate_ps", EVIDENCE_IDLE_RATE_NS, true},
    {"idle_fetch_ps", EVIDENCE_IDLE_FETCH_NS, true},
    {"software_ps", EVIDENCE_SOFTWARE_NS, true},
    {"cores_idle_ps", EVIDENCE_CORES_IDLE_NS, true},
    {"connections", EVIDENCE_CONNECTIONS, false},
    {"retry_exceeded", EVIDENCE_RETRY_EXCEEDED, false},
    {"trimmed", EVIDENCE_TRIMMED, false},
    {"rx_buffer_max_bytes", EVIDENCE_RX_BUFFER_PEAK, false},
    {NULL, 0, false},
};

static void take_keys(struct document *document, const struct key *keys, uint32_t port, unsigned priority)
{
    uint64_t value;

    for (; keys->key; keys++) {
        if (!document_u64(document, keys->key, &value)) continue;
        if (keys->time) value /= 1000;
        if (evidence_counters[keys->counter].kind == EVIDENCE_COUNT)
            document_count_most(document, port, priority, keys->counter, value);
        else
            document_level(document, port, priority, keys->counter, value);
        return;
    }
}

static void read_reasons(struct document *document, struct drops *drops)
{
    const struct json_in *json = &document->json;
    uint64_t value;

    while (document_value(document)) {
        unsigned reason = json->key ? drops_reason(json->key, json->key_length) : DROPS_REASONS;
        if (reason < DROPS_REASONS && json_text_u64(json->text, json->length, &value))
            drops->by[drops_kind(reason)] += value;
    }
}

/* How often the priority was paused: as often as it was told that it may go on, and once more. */
static void put_transitions(struct document *document, uint32_t port, unsigned priority, uint64_t frames, uint64_t xoff)
{
    if (frames >= xoff && xoff)
        document_count_most(document, port, priority, EVIDENCE_RX_PAUSE_EVENTS, frames - xoff + 1);
}

static void read_priorities(struct document *document, uint32_t port, struct drops *drops)
{
    while (document_object(document)) {
        struct json_in begin = document->json;
        uint64_t priority = EVIDENCE_PRIORITIES, frames = 0, xoff = 0;
        while (document_value(document) && !document_u64(document, "priority", &priority))
            continue;
        document->json = begin;
        while (document_value(document)) {
            if (priority >= EVIDENCE_PRIORITIES) continue;
            take_keys(document, priority_keys, port, (unsigned)priority);
            document_u64(document, "drops", &drops->of[priority]);
            document_u64(document, "pfc_rx", &frames);
            document_u64(document, "xoff_rx", &xoff);
        }
        if (priority < EVIDENCE_PRIORITIES) put_transitions(document, port, (unsigned)priority, frames, xoff);
    }
}

static void put_drops(void *context, uint32_t port, unsigned priority, enum evidence_counter counter, uint64_t value)
{
    document_count(context, port, priority, counter, value);
}

static void read_bits(struct document *document, uint8_t *bits)
{
    uint64_t priority;

    while (document_value(document)) {
        const struct json_in *json = &document->json;
        if (json->type == JSON_NUMBER && json_text_u64(json->text, json->length, &priority) &&
            priority < EVIDENCE_PRIORITIES)
            *bits |= (uint8_t)(1u << priority);
    }
}

static void keep_use(struct document *document, uint32_t port, uint64_t set)
{
    struct document_use *use = set < UINT32_MAX ? document_more(&document->uses, sizeof *use) : NULL;

    if (use) *use = (struct document_use){port, (uint32_t)set};
}

/* Bytes received, as they were on the line: so that both ends of a cable can be compared. */
static void received(struct document *document, uint32_t port, uint64_t packets, uint64_t bytes)
{
    uint64_t more;

    if (__builtin_mul_overflow(packets, document->overhead, &more) || __builtin_add_overflow(bytes, more, &bytes))
        return;
    document_count(document, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_BYTES, bytes);
}

struct port_seen {
    struct drops drops;
    uint64_t rx_packets, rx_bytes;
    uint8_t sends, obeys;
    bool rx, pfc;
};

static void port_lists(struct document *document, uint32_t port, struct port_seen *seen)
{
    struct json_in *json = &document->json;

    if (json->type == JSON_OBJECT && json_key_is(json, "drops_by")) {
        read_reasons(document, &seen->drops);
    } else if (json->type == JSON_OBJECT && json_key_is(json, "perfquery")) {
        while (document_value(document))
            take_keys(document, perfquery_keys, port, EVIDENCE_NO_PRIORITY);
    } else if (json->type == JSON_ARRAY && json_key_is(json, "priorities")) {
        read_priorities(document, port, &seen->drops);
    } else if (json->type == JSON_ARRAY && json_key_is(json, "pfc_sends")) {
        read_bits(document, &seen->sends);
    } else if (json->type == JSON_ARRAY && json_key_is(json, "pfc_obeys")) {
        seen->pfc = true;
        read_bits(document, &seen->obeys);
    } else {
        json_skip(json);
    }
}

static void read_port(struct document *document)
{
    uint32_t port = document_peek_port(document, "port");
    struct port_seen seen = {0};
    enum json_token token;
    uint64_t set;
    double ber;

    if (port == EVIDENCE_NONE) {
        json_skip(&document->json);
        return;
    }
    while (document_member(document, &token)) {
        if (token == JSON_BEGIN) {
            port_lists(document, port, &seen);
            continue;
        }
        take_keys(document, port_keys, port, EVIDENCE_NO_PRIORITY);
        document_u64(document, "rx_packets", &seen.rx_packets);
        if (document_u64(document, "rx_bytes", &seen.rx_bytes)) seen.rx = true;
        if (document_u64(document, "thresholds", &set)) keep_use(document, port, set);
        if (json_key_is(&document->json, "up"))
            document_level(document, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, document->json.type == JSON_TRUE);
        if (document_real(document, "pre_fec_ber", &ber))
            evidence_set_real(document->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PRE_FEC_BER, ber,
                              &document->in->source);
    }
    if (seen.rx) received(document, port, seen.rx_packets, seen.rx_bytes);
    if (!seen.pfc) return; /* a host's: its adapter has the rest */
    drops_share(&seen.drops, document->lossless, port, put_drops, document);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if ((seen.sends | seen.obeys | document->lossless) >> p & 1)
            document_level(document, port, p, EVIDENCE_PFC_ON, seen.sends & seen.obeys & 1u << p ? 1 : 0);
}

void document_ports(struct document *document)
{
    while (document_object(document))
        read_port(document);
}

static void read_nic(struct document *document)
{
    uint32_t port = document_peek_port(document, "nic");
    struct port_seen seen = {0};
    enum json_token token;

    if (port == EVIDENCE_NONE) {
        json_skip(&document->json);
        return;
    }
    while (document_member(document, &token)) {
        if (token == JSON_BEGIN) {
            port_lists(document, port, &seen);
            continue;
        }
        take_keys(document, nic_keys, port, EVIDENCE_NO_PRIORITY);
        if (json_key_is(&document->json, "cnps_wanted"))
            document_level(document, port, EVIDENCE_NO_PRIORITY, EVIDENCE_CNPS_WANTED,
                           document->json.type == JSON_TRUE);
        if (json_key_is(&document->json, "outside") && document->json.type == JSON_TRUE)
            document_level(document, port, EVIDENCE_NO_PRIORITY, EVIDENCE_OUTSIDE, 1);
        document_u64(document, "rx_packets", &seen.rx_packets);
        if (document_u64(document, "rx_bytes", &seen.rx_bytes)) seen.rx = true;
    }
    if (seen.rx) received(document, port, seen.rx_packets, seen.rx_bytes);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) /* a priority that is not listed sent nothing */
        document_count_most(document, port, p, EVIDENCE_TX_BYTES, 0);
}

void document_nics(struct document *document)
{
    while (document_object(document))
        read_nic(document);
}

/* --- thresholds --- */

static void read_threshold(struct document *document, uint32_t set)
{
    struct document_threshold read = {.set = set, .priority = EVIDENCE_PRIORITIES}, *one;

    while (document_value(document)) {
        document_u64(document, "priority", &read.priority);
        document_u64(document, "ecn_min_bytes", &read.ecn_min);
        document_u64(document, "ecn_max_bytes", &read.ecn_max);
        document_u64(document, "pause_bytes", &read.pause);
        document_u64(document, "headroom_bytes", &read.headroom);
        document_real(document, "pause_alpha", &read.alpha);
    }
    if (read.priority >= EVIDENCE_PRIORITIES) return;
    read.place = document->thresholds.count;
    if ((one = document_more(&document->thresholds, sizeof *one))) *one = read;
}

/* A list of lists. */
void document_thresholds(struct document *document)
{
    enum json_token token;

    for (uint32_t set = 0; document_member(document, &token); set++) {
        if (token != JSON_BEGIN) continue;
        if (document->json.type != JSON_ARRAY) {
            json_skip(&document->json);
            continue;
        }
        while (document_object(document))
            read_threshold(document, set);
    }
}

static int by_device(const void *a, const void *b)
{
    const struct document_buffer *one = a, *two = b;
    return one->device < two->device ? -1 : one->device > two->device;
}

static uint64_t buffer_of(const struct document *document, uint32_t device)
{
    struct document_buffer wanted = {.device = device}, *found = NULL;

    if (document->buffers.count)
        found = bsearch(&wanted, document->buffers.at, document->buffers.count, sizeof wanted, by_device);
    return found ? found->bytes : 0;
}

/* A group alone in a buffer B that may have alpha times what is free pauses at B alpha / (1 + alpha). */
static uint64_t dynamic_pause(double alpha, uint64_t buffer)
{
    double bytes = alpha > 0 ? (double)buffer * (alpha / (1 + alpha)) : 0;

    return bytes < 1e18 ? (uint64_t)bytes : 0;
}

static void put_threshold(struct document *document, uint32_t port, const struct document_threshold *from,
                          uint64_t buffer)
{
    unsigned priority = (unsigned)from->priority;
    uint64_t pause = from->pause ? from->pause : dynamic_pause(from->alpha, buffer);

    document_level(document, port, priority, EVIDENCE_ECN_MIN, from->ecn_min);
    document_level(document, port, priority, EVIDENCE_ECN_MAX, from->ecn_max);
    document_level(document, port, priority, EVIDENCE_HEADROOM_LIMIT, from->headroom);
    if (pause) document_level(document, port, priority, EVIDENCE_PAUSE_LIMIT, pause);
}

static int by_set(const void *a, const void *b)
{
    const struct document_threshold *one = a, *two = b;

    if (one->set != two->set) return one->set < two->set ? -1 : 1;
    if (one->priority != two->priority) return one->priority < two->priority ? -1 : 1;
    return one->place < two->place ? -1 : 1;
}

/* In order, one for each set and priority: so that a port has no more of them than there are priorities. */
static void sort_thresholds(struct document_list *thresholds)
{
    struct document_threshold *list = thresholds->at;
    uint32_t kept = 0;

    if (!thresholds->count) return;
    qsort(list, thresholds->count, sizeof list[0], by_set);
    for (uint32_t i = 0; i < thresholds->count; i++) {
        bool same = kept && list[kept - 1].set == list[i].set && list[kept - 1].priority == list[i].priority;
        list[same ? kept - 1 : kept++] = list[i];
    }
    thresholds->count = kept;
}

/* The first threshold of a set. */
static uint32_t first_of(const struct document_threshold *list, uint32_t count, uint32_t set)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle].set < set)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void limits_of_port(struct document *document, const struct document_use *use, uint64_t buffer)
{
    const struct document_threshold *list = document->thresholds.at;

    for (uint32_t t = first_of(list, document->thresholds.count, use->set);
         t < document->thresholds.count && list[t].set == use->set; t++)
        put_threshold(document, use->port, &list[t], buffer);
}

void document_limits(struct document *document)
{
    const struct document_use *use = document->uses.at;
    uint32_t device = EVIDENCE_NONE;
    uint64_t buffer = 0;

    sort_thresholds(&document->thresholds);
    if (document->buffers.count)
        qsort(document->buffers.at, document->buffers.count, sizeof(struct document_buffer), by_device);
    for (uint32_t i = 0; i < document->uses.count; i++) {
        uint32_t owner = document->evidence->object[use[i].port].parent;
        if (owner != device) buffer = buffer_of(document, device = owner); /* ports of a switch stand together */
        limits_of_port(document, &use[i], buffer);
    }
    for (uint32_t id = 0; document->lossless && id < document->evidence->objects; id++)
        for (unsigned p = 0; document->evidence->object[id].scope == EVIDENCE_PORT && p < EVIDENCE_PRIORITIES; p++)
            if (document->lossless >> p & 1) document_level(document, id, p, EVIDENCE_LOSSLESS, 1);
}
