/* SPDX-License-Identifier: Apache-2.0 */
/* See frames.h. */
#include "frames.h"

#include <dirent.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/opcode.h"

static void random_bytes(struct rng *rng, uint8_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at[i] = (uint8_t)rng_u32(rng);
}

static struct pkt_addr random_addr(struct rng *rng, uint8_t net)
{
    struct pkt_addr addr;
    if (net == PKT_NET_IPV4) return pkt_addr_ipv4(rng_u32(rng));
    random_bytes(rng, addr.byte, 16);
    return addr;
}

static void random_tags(struct rng *rng, unsigned tags, struct pkt_vlan vlan[2])
{
    for (unsigned i = 0; i < tags; i++) {
        vlan[i].tpid = (uint16_t[]){0x8100, 0x88a8, 0x9100}[rng_below(rng, 3)];
        vlan[i].tci = (uint16_t)rng_u32(rng);
    }
}

static void random_outer(struct rng *rng, uint8_t net, struct pkt_outer *outer)
{
    random_bytes(rng, outer->dmac, 6);
    random_bytes(rng, outer->smac, 6);
    outer->net = net;
    outer->src = random_addr(rng, net);
    outer->dst = random_addr(rng, net);
    random_tags(rng, (unsigned)rng_below(rng, 3), outer->vlan);
    outer->vni = rng_u32(rng) & 0xffffff;
    outer->sport = (uint16_t)rng_u32(rng);
    outer->udp_checksum = (uint16_t)rng_u32(rng);
    outer->tos = (uint8_t)rng_u32(rng);
    outer->ttl = (uint8_t)rng_u32(rng);
    if (net == PKT_NET_IPV4) {
        outer->ip_id = (uint16_t)rng_u32(rng);
        outer->ip_frag = (uint16_t)(rng_u32(rng) & 0xc000);
    } else {
        outer->flow_label = rng_u32(rng) & 0xfffff;
    }
}

static void random_network(struct rng *rng, uint8_t net, struct pkt *pkt, struct pkt_cold *cold)
{
    pkt->net = net;
    pkt->tos = (uint8_t)rng_u32(rng);
    pkt->ttl = (uint8_t)rng_u32(rng);
    cold->src = random_addr(rng, net);
    cold->dst = random_addr(rng, net);
    if (net == PKT_NET_IPV4) {
        cold->ip_id = (uint16_t)rng_u32(rng);
        cold->ip_frag = (uint16_t)(rng_u32(rng) & 0xc000);
    } else {
        cold->flow_label = rng_u32(rng) & 0xfffff;
    }
    if (net == PKT_NET_V1) return;
    pkt->sport = (uint16_t)rng_u32(rng);
    cold->dport = 4791;
    cold->udp_checksum = (uint16_t)rng_u32(rng);
}

static void random_extended(struct rng *rng, unsigned flags, struct pkt *pkt, struct pkt_cold *cold)
{
    if (flags & OP_DETH) {
        pkt->ud.qkey = rng_u32(rng);
        pkt->src_qp = rng_u32(rng) & 0xffffff;
    }
    if (flags & (OP_RETH | OP_ATOMICETH)) {
        pkt->rdma.va = rng_u64(rng);
        pkt->rdma.rkey = rng_u32(rng);
    }
    if (flags & OP_RETH) pkt->rdma.dma_bytes = rng_u32(rng);
    if (flags & OP_ATOMICETH) {
        cold->swap = rng_u64(rng);
        cold->compare = rng_u64(rng);
    }
    if (flags & OP_AETH) {
        pkt->ack.syndrome = (uint8_t)rng_u32(rng);
        pkt->ack.msn = rng_u32(rng) & 0xffffff;
    }
    if (flags & OP_ATOMICACKETH) pkt->ack.original = rng_u64(rng);
    if (flags & (OP_IMMDT | OP_IETH)) pkt->imm = rng_u32(rng);
}

static void random_roce(struct rng *rng, const struct frame_shape *shape, struct pkt *pkt, struct pkt_cold *cold,
                        uint8_t *payload)
{
    const struct opcode_info *info = opcode_info(shape->opcode);
    random_network(rng, shape->net, pkt, cold);
    pkt->opcode = shape->opcode;
    pkt->flags |= (uint8_t)(rng_u32(rng) & (PKT_SOLICITED | PKT_MIGRATED | PKT_ACK_REQUEST | PKT_FECN | PKT_BECN));
    pkt->dest_qp = rng_u32(rng) & 0xffffff;
    pkt->psn = rng_u32(rng) & 0xffffff;
    cold->pkey = (uint16_t)rng_u32(rng);
    cold->resv8a = (uint8_t)(rng_u32(rng) & 0x3f);
    cold->resv7 = (uint8_t)(rng_u32(rng) & 0x7f);
    random_extended(rng, info->flags, pkt, cold);
    if (info->name && !(info->flags & OP_PAYLOAD)) return;
    pkt->payload_bytes = (uint16_t)rng_below(rng, shape->payload_max + 1u);
    pkt->pad = (uint8_t)(rng_below(rng, 4) ? -pkt->payload_bytes & 3 : rng_below(rng, 4));
    random_bytes(rng, payload, pkt->payload_bytes);
}

void frame_random(struct rng *rng, const struct frame_shape *shape, struct pkt *pkt, struct pkt_cold *cold,
                  uint8_t *payload)
{
    memset(pkt, 0, sizeof *pkt);
    memset(cold, 0, sizeof *cold);
    pkt->kind = shape->kind;
    random_bytes(rng, cold->dmac, 6);
    random_bytes(rng, cold->smac, 6);
    random_tags(rng, shape->tags, cold->vlan);
    if (shape->tags) {
        pkt->flags |= PKT_TAGGED;
        pkt->pcp = (uint8_t)(cold->vlan[shape->tags - 1].tci >> 13);
    }
    if (shape->tunnel != PKT_NET_NONE) {
        pkt->flags |= PKT_TUNNEL;
        random_outer(rng, shape->tunnel, &cold->outer);
    }
    if (shape->kind == PKT_ROCE)
        random_roce(rng, shape, pkt, cold, payload);
    else if (shape->kind == PKT_PAUSE)
        pkt->quanta[0] = (uint16_t)rng_u32(rng);
    else
        for (int i = 0; i < 8; i++)
            pkt->quanta[i] = (uint16_t)rng_u32(rng);
    if (shape->kind == PKT_PFC) pkt->pfc_enable = (uint8_t)rng_u32(rng);

    int headers = codec_header_bytes(pkt, cold);
    CHECK(headers > 0);
    unsigned tail = shape->kind == PKT_ROCE ? pkt->payload_bytes + pkt->pad + 4u : 0;
    pkt->frame_bytes = (uint16_t)((unsigned)headers + tail);
}

int frame_emit(const struct pkt *pkt, struct pkt_cold *cold, const uint8_t *payload, uint8_t frame[FRAME_MAX])
{
    int length = codec_emit(pkt, cold, payload, frame, FRAME_MAX);
    if (length > 0 && pkt->kind == PKT_ROCE) cold->icrc = load_le32(frame + length - 4);
    return length;
}

static int is_pcap(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".pcap") == 0;
}

unsigned captures_each(const char *dir, captures_visit visit, void *arg)
{
    struct dirent **entries;
    int count = scandir(dir, &entries, is_pcap, alphasort);
    CHECK(count > 0);
    for (int i = 0; i < count; i++) {
        char path[4096], error[PCAP_ERRBUF_SIZE];
        snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        pcap_t *pcap = pcap_open_offline(path, error);
        CHECK(pcap != NULL && pcap_datalink(pcap) == DLT_EN10MB);
        struct pcap_pkthdr *header;
        const uint8_t *data;
        unsigned number = 0;
        while (pcap_next_ex(pcap, &header, &data) == 1) {
            struct codec_frame frame = {data, header->caplen, header->len, CODEC_ETHERNET};
            visit(entries[i]->d_name, ++number, &frame, arg);
        }
        pcap_close(pcap);
        free(entries[i]);
    }
    free(entries);
    return (unsigned)count;
}
