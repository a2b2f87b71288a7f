/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums (RFC 1071) and segments (TCP: RFC 9293, flags as kernels cut them: FIN and PSH on the last, CWR on the
 * first); see offload.h.
 */
#include "packet/offload.h"

#include <string.h>

#include "base/bytes.h"
#include "packet/protocol.h"

#define TCP_LEAST 20u
#define TCP_FIN_PSH 0x09u
#define TCP_CWR 0x80u
#define TAGS_MAX 2u
#define TCP_CHECKSUM_AT 16u
#define UDP_CHECKSUM_AT 6u

static uint32_t sum_of(const uint8_t *data, uint32_t bytes, uint32_t sum)
{
    for (; bytes > 1; bytes -= 2, data += 2)
        sum += load_be16(data);
    return bytes ? sum + (uint32_t)*data * 256 : sum;
}

static uint16_t folded(uint32_t sum)
{
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)((sum >> 16) + sum);
}

bool offload_checksum(uint8_t *frame, uint32_t bytes, uint32_t start, uint32_t offset)
{
    if (start > bytes || bytes - start < 2 || offset > bytes - start - 2) return false;
    uint16_t checksum = (uint16_t)~folded(sum_of(frame + start, bytes - start, 0));
    if (!checksum && offset == UDP_CHECKSUM_AT) checksum = 0xffff; /* 0 would say that there is none (RFC 768) */
    store_be16(frame + start + offset, checksum);
    return true;
}

void offload_tag(uint8_t *room, uint16_t tpid, uint16_t tci)
{
    memmove(room, room + PROTO_VLAN_BYTES, 12); /* the two addresses */
    store_be16(room + 12, tpid);
    store_be16(room + 14, tci);
}

/* The IPv4 header behind at most two tags; 0: there is none. */
static uint32_t find_ip(const uint8_t *frame, uint32_t bytes)
{
    uint32_t at = 12;

    for (unsigned tags = 0; tags <= TAGS_MAX && at + 2 <= bytes; tags++, at += PROTO_VLAN_BYTES) {
        uint16_t type = load_be16(frame + at);
        if (type == PROTO_ETHERTYPE_IPV4) return at + 2;
        if (type != PROTO_ETHERTYPE_VLAN && type != PROTO_ETHERTYPE_QINQ && type != PROTO_ETHERTYPE_QINQ_OLD) return 0;
    }
    return 0;
}

bool offload_row(const uint8_t *frame, uint32_t bytes, uint32_t segment, struct offload_row *ret)
{
    struct offload_row row = {.frame = frame, .segment = segment, .ip_at = find_ip(frame, bytes)};

    if (segment == 0 || row.ip_at == 0 || bytes - row.ip_at < PROTO_IPV4_BYTES) return false;
    const uint8_t *ip = frame + row.ip_at;
    uint32_t header = (ip[0] & 15u) * 4, total = load_be16(ip + 2);
    row.tcp = ip[9] == PROTO_IP_TCP;
    if (ip[0] >> 4 != 4 || header < PROTO_IPV4_BYTES || total > bytes - row.ip_at || total < header) return false;
    if (!row.tcp && ip[9] != PROTO_IP_UDP) return false;
    row.transport_at = row.ip_at + header;
    row.end = row.ip_at + total;
    uint32_t room = total - header, least = row.tcp ? TCP_LEAST : PROTO_UDP_BYTES;
    if (room < least) return false;
    if (row.tcp) least = (frame[row.transport_at + 12] >> 4) * 4u;
    if (least < TCP_LEAST && row.tcp) return false;
    if (room <= least) return false;
    row.payload_at = row.transport_at + least;
    row.count = (row.end - row.payload_at + segment - 1) / segment;
    *ret = row;
    return true;
}

static void finish_ip(uint8_t *ip, uint32_t header, uint32_t total, uint32_t index)
{
    store_be16(ip + 2, (uint16_t)total);
    store_be16(ip + 4, (uint16_t)(load_be16(ip + 4) + index));
    store_be16(ip + 10, 0);
    store_be16(ip + 10, (uint16_t)~folded(sum_of(ip, header, 0)));
}

uint32_t offload_segment(const struct offload_row *row, uint32_t index, uint8_t *out, uint32_t cap)
{
    uint32_t from = row->payload_at + index * row->segment;
    uint32_t payload = index + 1 < row->count ? row->segment : row->end - from;
    uint32_t bytes = row->payload_at + payload, header = row->transport_at - row->ip_at;

    if (bytes > cap) return 0;
    memcpy(out, row->frame, row->payload_at);
    memcpy(out + row->payload_at, row->frame + from, payload);
    uint8_t *ip = out + row->ip_at, *transport = out + row->transport_at;
    uint32_t length = bytes - row->transport_at, at = row->tcp ? TCP_CHECKSUM_AT : UDP_CHECKSUM_AT;
    finish_ip(ip, header, bytes - row->ip_at, index);
    if (row->tcp) {
        store_be32(transport + 4, load_be32(transport + 4) + index * row->segment);
        if (index + 1 < row->count) transport[13] &= (uint8_t)~TCP_FIN_PSH;
        if (index > 0) transport[13] &= (uint8_t)~TCP_CWR;
    } else {
        store_be16(transport + 4, (uint16_t)length);
    }
    /* The pseudo header: addresses, protocol, length. */
    store_be16(transport + at, folded(sum_of(ip + 12, 8, ip[9] + length)));
    (void)offload_checksum(out, bytes, row->transport_at, at);
    return bytes;
}
