/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One port that is an interface: what of a frame from outside enters the fabric, and what leaves it; see foreign_int.h.
 *
 * Switches of a fabric route, so those outside see one neighbour: the switch's port.  It answers ARP for all hosts of
 * the fabric, and frames to its MAC address, from the host's IPv4 address to that of another host, enter.
 * All else ends here and is counted.
 * A frame between two such ports leaves with the bytes it came with, but for what routers change (TTL, marks, the
 * header's checksum, MAC addresses).  RoCE for a host of ours is checked here as an adapter would: ICRC, P_Key; jobs'
 * queue pairs are nobody's to send to.  What a host of ours sends is written as a frame.
 *
 * Pauses from the switch hold the queues here and go out as frames as well, for senders that understand them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "fabric/fabric.h"
#include "packet/arp.h"
#include "packet/icrc.h"
#include "packet/protocol.h"
#include "up/foreign_int.h"
#include "up/objects/objects.h"

#define SLOTS 1024u
#define OUTS INTERFACE_BURST
#define NO_SLOT UINT32_MAX
#define FRAME_LEAST 60u

int foreign_port_init(struct up_port *port)
{
    port->slot = calloc(SLOTS, sizeof *port->slot);
    port->out = calloc(OUTS, sizeof *port->out);
    if (port->slot == NULL || port->out == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < SLOTS; i++)
        port->slot[i].next = i + 1 < SLOTS ? i + 1 : NO_SLOT;
    for (uint32_t i = 0; i < PORT_PRIORITIES; i++)
        port->head[i] = port->tail[i] = NO_SLOT;
    return 0;
}

void foreign_port_release(struct up_port *port)
{
    free(port->slot);
    free(port->out);
}

static struct pkt_addr address_of(const struct up_port *port, uint32_t endpoint)
{
    return pkt_addr_ipv4(load_be32(port->host->up->fabric->endpoint[endpoint].address));
}

static uint32_t endpoint_of(const struct up_port *port, const uint8_t address[4])
{
    struct pkt_addr key = pkt_addr_ipv4(load_be32(address));

    return directory_find(port->directory, &key);
}

/* --- out --- */

static void count_out(struct up_port *port, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        port->counts.out_frames += port->out[i].carried;
        port->counts.out_bytes += port->out[i].carried ? port->out[i].bytes : 0;
    }
}

/* A frame that is too long for the interface is lost alone; where it takes none, those behind are lost too. */
void foreign_port_flush(struct up_port *port)
{
    struct iovec frame[OUTS];
    uint32_t at = 0;

    for (uint32_t i = 0; i < port->outs; i++)
        frame[i] = (struct iovec){port->out[i].data, port->out[i].bytes};
    while (at < port->outs) {
        int sent = interface_send(port->interface, frame + at, port->outs - at);
        if (sent <= 0 && sent != -EMSGSIZE) break;
        if (sent > 0) count_out(port, at, (uint32_t)sent);
        port->counts.refused += sent < 0;
        at += sent > 0 ? (uint32_t)sent : 1;
    }
    port->counts.refused += port->outs - at;
    port->outs = 0;
}

/* A place in the row; a frame that is too short has zeros behind it. */
static uint8_t *out_frame(struct up_port *port, uint32_t bytes, bool carried)
{
    if (port->outs == OUTS) foreign_port_flush(port);
    struct port_out *out = &port->out[port->outs++];
    CHECK(bytes <= sizeof out->data);
    out->bytes = bytes < FRAME_LEAST ? FRAME_LEAST : bytes;
    out->carried = carried;
    memset(out->data, 0, FRAME_LEAST);
    return out->data;
}

static void send_arp(struct up_port *port, const struct arp *arp)
{
    arp_emit(arp, out_frame(port, ARP_FRAME_BYTES, false));
}

void foreign_port_probe(struct up_port *port)
{
    struct arp arp = {.reply = false};

    memcpy(arp.sender_mac, port->mac, 6);
    memcpy(arp.target, port->host->up->fabric->endpoint[port->endpoint].address, 4);
    send_arp(port, &arp);
}

/* The frame of a packet that a host of ours has sent; 0: it cannot be one. */
static uint32_t build(const struct up_port *port, pkt_t id, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];
    struct frame_path path = {.src = address_of(port, pkt->src_node), .dst = address_of(port, pkt->dst_node)};

    frame_address(&path, pkt, &pool->cold[id]);
    pool->cold[id].resv7 = 0; /* marks are for adapters of ours */
    int bytes = frame_build(pool, id, payload_at(port->host->up, id));
    return bytes < 0 ? 0 : (uint32_t)bytes;
}

void foreign_port_packet(struct up_port *port, pkt_t id, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];
    const struct fabric *fabric = port->host->up->fabric;

    if (pkt->flags & PKT_STRAY || pkt->dst_node != port->endpoint) {
        port->counts.not_carried++;
        return;
    }
    if (!port->known) {
        port->counts.unknown++;
        port->wanted = true;
        return;
    }
    uint32_t bytes = pool->frame[id].bytes;
    if (port->host->up->host[fabric->port[fabric->endpoint[pkt->src_node].port].node].port)
        frame_patch(pool, id);
    else
        bytes = build(port, id, pool);
    if (bytes == 0) {
        port->counts.wrong++;
        return;
    }
    codec_rewrite_macs(frame_data(pool, id), port->outside, port->mac);
    memcpy(out_frame(port, bytes, true), frame_data(pool, id), bytes);
}

void foreign_port_paused(struct up_port *port, uint32_t word, ps_t now)
{
    uint8_t enable = control_enable(word);
    uint16_t quanta[PORT_PRIORITIES];

    for (uint32_t i = 0; i < PORT_PRIORITIES; i++) {
        quanta[i] = control_quanta(word);
        if (!(enable >> i & 1)) continue;
        port->paused_until[i] = quanta[i] ? ps_add(now, pause_quanta_ps(quanta[i], port->rate_bps)) : 0;
    }
    struct pkt pkt = word & CONTROL_PAUSE_ALL ? frame_pause(quanta[0]) : frame_pfc(enable, quanta);
    struct frame_path path = {.vlan_id = 0};
    struct pkt_cold cold;
    memcpy(path.smac, port->mac, 6);
    frame_address(&path, &pkt, &cold);
    CHECK(codec_emit(&pkt, &cold, NULL, out_frame(port, FRAME_LEAST, false), FRAME_LEAST) > 0);
    port->counts.out_pauses++;
}

/* --- in --- */

static void learn(struct up_port *port, const uint8_t mac[6])
{
    if (mac[0] & 1) return; /* nobody's */
    memcpy(port->outside, mac, 6);
    port->known = true;
}

/* The switch answers for every host of the fabric but the one that is asking. */
static void take_arp(struct up_port *port, const struct arp *asked)
{
    uint32_t sender = endpoint_of(port, asked->sender), target = endpoint_of(port, asked->target);
    struct arp answer = {.reply = true};

    if (sender == port->endpoint) learn(port, asked->sender_mac);
    if (asked->reply || target == DIRECTORY_NOBODY || target == port->endpoint) return;
    memcpy(answer.sender_mac, port->mac, 6);
    memcpy(answer.sender, asked->target, 4);
    memcpy(answer.target_mac, asked->sender_mac, 6);
    memcpy(answer.target, asked->sender, 4);
    send_arp(port, &answer);
}

/* A word has one time for all priorities that it names: a frame may need several. */
static void take_pause(struct up_port *port, const struct pkt *pkt)
{
    uint16_t quanta[PORT_PRIORITIES];
    uint8_t enable, left;

    (void)frame_pauses(pkt, &enable, quanta);
    port->counts.in_pauses++;
    for (left = enable; left && port->words < PORT_WORDS;) {
        uint16_t time = quanta[__builtin_ctz(left)];
        uint8_t same = 0;
        for (uint32_t i = 0; i < PORT_PRIORITIES; i++)
            if (left >> i & 1 && quanta[i] == time) same |= (uint8_t)(1u << i);
        port->word[port->words++] = control_pause(same, time) | (pkt->kind == PKT_PAUSE ? CONTROL_PAUSE_ALL : 0);
        left &= (uint8_t)~same;
    }
}

/* What an adapter of ours would refuse, and what the fabric refuses for it. */
static bool roce_wrong(const struct up_port *port, const struct codec_frame *frame, const struct pkt *pkt,
                       const struct pkt_cold *cold, const struct codec_layout *layout, uint32_t dst)
{
    const struct up *up = port->host->up;
    const struct fabric *fabric = up->fabric;

    if (pkt->kind != PKT_ROCE || up->host[fabric->port[fabric->endpoint[dst].port].node].port) return false;
    return icrc_check(frame, pkt, cold, layout) != ICRC_GOOD || pkt->payload_bytes > UP_PAYLOAD_BYTES ||
           (cold->pkey & 0x7fff) != (PROTO_PKEY_DEFAULT & 0x7fff) || sim_qp_of_jobs(up->sim, dst, pkt->dest_qp);
}

static void queue(struct up_port *port, const uint8_t *data, uint32_t bytes, uint32_t priority, uint32_t dst)
{
    uint32_t number = port->free;

    if (number == NO_SLOT || bytes > FRAME_BYTES_MAX || port->down) {
        port->counts.full++;
        return;
    }
    struct port_slot *slot = &port->slot[number];
    port->free = slot->next;
    slot->next = NO_SLOT;
    slot->dst = dst;
    slot->at = port->reads_at;
    slot->bytes = bytes;
    memcpy(slot->data, data, bytes);
    if (port->head[priority] == NO_SLOT)
        port->head[priority] = number;
    else
        port->slot[port->tail[priority]].next = number;
    port->tail[priority] = number;
    port->counts.in_frames++;
    port->counts.in_bytes += bytes;
}

void foreign_port_frame(void *context, const uint8_t *data, uint32_t bytes)
{
    struct up_port *port = context;
    struct codec_frame frame = {.data = data, .captured = bytes, .length = bytes};
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    struct arp arp;

    if (arp_parse(data, bytes, &arp)) {
        take_arp(port, &arp);
        return;
    }
    if (codec_parse_transit(&frame, &pkt, &cold, &layout, &fault) < 0) {
        port->counts.wrong++;
        return;
    }
    if (pkt.kind == PKT_PFC || pkt.kind == PKT_PAUSE) {
        take_pause(port, &pkt);
        return;
    }
    struct pkt_addr own = address_of(port, port->endpoint);
    bool ours = pkt.net == PKT_NET_IPV4 && memcmp(&cold.src, &own, sizeof own) == 0;
    uint32_t dst = ours ? directory_find(port->directory, &cold.dst) : DIRECTORY_NOBODY;
    if (ours) learn(port, cold.smac);
    if (memcmp(cold.dmac, port->mac, 6) != 0 || dst == DIRECTORY_NOBODY || dst == port->endpoint) {
        port->counts.not_carried++;
        return;
    }
    if (roce_wrong(port, &frame, &pkt, &cold, &layout, dst)) {
        port->counts.wrong++;
        return;
    }
    uint32_t priority = port->rules->trust == SW_TRUST_PCP ? port->rules->pcp_to_tc[pkt.pcp & 7]
                                                           : port->rules->dscp_to_tc[pkt.tos >> 2];
    queue(port, data, bytes, priority, dst);
}

/* --- into the fabric --- */

bool foreign_port_waits(const struct up_port *port)
{
    for (uint32_t i = 0; i < PORT_PRIORITIES; i++)
        if (port->head[i] != NO_SLOT) return true;
    return false;
}

/* When the first frame of a queue may be sent. */
static ps_t due(const struct up_port *port, uint32_t priority)
{
    if (port->head[priority] == NO_SLOT) return PS_NEVER;
    ps_t came = port->slot[port->head[priority]].at;
    return came > port->paused_until[priority] ? came : port->paused_until[priority];
}

ps_t foreign_port_deadline(const struct up_port *port, ps_t now)
{
    ps_t next = PS_NEVER;

    for (uint32_t i = 0; i < PORT_PRIORITIES; i++) {
        ps_t at = due(port, i);
        if (at > now && at < next) next = at;
    }
    return next;
}

static uint32_t take_slot(struct up_port *port, uint32_t priority)
{
    uint32_t number = port->head[priority];

    port->head[priority] = port->slot[number].next;
    port->slot[number].next = port->free;
    port->free = number;
    return number;
}

static pkt_t packet_of(const struct up_port *port, const struct port_slot *slot, struct pktpool *pool)
{
    const struct up *up = port->host->up;
    pkt_t id = pktpool_get(pool);
    enum codec_fault fault;

    CHECK(id != PKT_NONE && frame_in(pool, id, slot->data, slot->bytes, &fault) == 0);
    struct pkt *pkt = &pool->hot[id];
    pkt->src_node = port->endpoint;
    pkt->dst_node = slot->dst;
    struct codec_frame frame = {.data = frame_data(pool, id), .captured = slot->bytes, .length = slot->bytes};
    const uint8_t *payload = codec_payload(&frame, &pool->frame[id].layout);
    if (pkt->kind == PKT_ROCE && payload && pkt->payload_bytes <= UP_PAYLOAD_BYTES)
        memcpy(payload_at(up, id), payload, pkt->payload_bytes);
    return id;
}

pkt_t foreign_port_next(struct up_port *port, ps_t now, struct pktpool *pool)
{
    for (uint32_t i = 1; i <= PORT_PRIORITIES && !port->down; i++) {
        uint32_t priority = (port->last + i) % PORT_PRIORITIES;
        if (due(port, priority) > now) continue;
        port->last = priority;
        return packet_of(port, &port->slot[take_slot(port, priority)], pool);
    }
    return PKT_NONE;
}

void foreign_port_clear(struct up_port *port)
{
    for (uint32_t i = 0; i < PORT_PRIORITIES; i++) {
        port->paused_until[i] = 0;
        for (; port->head[i] != NO_SLOT; port->counts.full++)
            (void)take_slot(port, i);
    }
}
