/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture of random frames of every shape: each opcode over IPv4, IPv6 and RoCEv1, with
 * none to two tags, plain and inside VXLAN; PFC and PAUSE; all nine CM messages.  For test_tshark.py.
 *
 * With `rewritten`: the same opcodes and networks after they have passed a switch (codec_rewrite), and frames of others
 * that have.
 */
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "frames.h"
#include "messages.h"
#include "packet/opcode.h"

#define SEED 4791

static struct rng rng;
static uint8_t payload[4096 + 32];
static pcap_dumper_t *dumper;
static unsigned written;

/* `frame` has room for 60 bytes at least. */
static void write_frame(uint8_t *frame, int bytes)
{
    if (bytes < 60) { /* as a wire would */
        memset(frame + bytes, 0, (size_t)(60 - bytes));
        bytes = 60;
    }
    struct pcap_pkthdr header = {.caplen = (bpf_u_int32)bytes, .len = (bpf_u_int32)bytes, .ts = {.tv_sec = written++}};
    pcap_dump((unsigned char *)dumper, &header, frame);
}

static void write_record(const struct pkt *pkt, struct pkt_cold *cold)
{
    static uint8_t frame[FRAME_MAX];
    int bytes = frame_emit(pkt, cold, payload, frame);
    CHECK(bytes > 0);
    write_frame(frame, bytes);
}

/* In by one port of a switch, out by another: one TTL less, marked, in another class, to the next link's MAC. */
static void write_passed(uint8_t *frame, int bytes)
{
    struct codec_frame whole = {frame, (uint32_t)bytes, (uint32_t)bytes, CODEC_ETHERNET};
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    CHECK(codec_parse_transit(&whole, &pkt, &cold, &layout, &fault) == 0);
    pkt.ttl--;
    pkt.tos = (uint8_t)(pkt.tos ^ 0x54) | PKT_ECN_CE;
    pkt.pcp ^= 5;
    codec_rewrite(frame, &layout, &pkt);
    codec_rewrite_macs(frame, (const uint8_t *)"\x02\1\2\3\4\5", (const uint8_t *)"\x02\6\7\x08\x09\x0a");
    write_frame(frame, bytes);
}

static void make(struct frame_shape shape, struct pkt *pkt, struct pkt_cold *cold)
{
    frame_random(&rng, &shape, pkt, cold, payload);
    /* tshark picks its dissector by the lower port and wants the pause address */
    if (shape.net != PKT_NET_V1) pkt->sport |= 0xc000;
    cold->outer.sport |= 0xc000;
    cold->dmac[0] &= 0xfe;
    if (shape.kind != PKT_ROCE) memcpy(cold->dmac, "\x01\x80\xc2\x00\x00\x01", 6);
    if (pkt->dest_qp == 1) pkt->dest_qp = 2; /* not a MAD */
}

static void write_message(uint16_t attribute, uint8_t net)
{
    struct frame_shape shape = {PKT_ROCE, OPCODE_UD_SEND_ONLY, net, 0, PKT_NET_NONE, 0};
    struct pkt pkt;
    struct pkt_cold cold;
    struct cm_msg msg;
    make(shape, &pkt, &cold);
    message_random(&rng, attribute, &msg);
    msg.mad.status = 0;
    CHECK(cm_emit(&msg, payload) == 0);
    pkt.dest_qp = pkt.src_qp = 1;
    pkt.ud.qkey = 0x80010000;
    pkt.payload_bytes = MAD_BYTES;
    pkt.pad = 0;
    write_record(&pkt, &cold);
}

static void write_all_passed(void)
{
    static uint8_t frame[FRAME_MAX];
    static const uint8_t tcp[60] = "\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0"
                                   "\x46\x2a\0\x2c\x12\x34\x40\0\x40\x06\x11\x6b\x0a\0\0\1\x0a\0\0\2\1\1\1\0"
                                   "\x30\x39\x01\xbb\0\0\0\1\0\0\0\0\x50\2";
    static const uint8_t arp[60] = "\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\1\x08\x06\0\1\x08\0\6\4\0\1";
    struct pkt pkt;
    struct pkt_cold cold;
    for (uint8_t tags = 0; tags < 3; tags++)
        for (unsigned code = 0; code < 256; code++)
            for (uint8_t net = PKT_NET_V1; opcode_info((uint8_t)code)->name && net <= PKT_NET_IPV6; net++) {
                make((struct frame_shape){PKT_ROCE, (uint8_t)code, net, tags, PKT_NET_NONE, 200}, &pkt, &cold);
                write_passed(frame, frame_emit(&pkt, &cold, payload, frame));
            }
    memcpy(frame, tcp, sizeof tcp);
    write_passed(frame, sizeof tcp);
    memcpy(frame, arp, sizeof arp);
    write_passed(frame, sizeof arp);
}

static void write_all(void)
{
    static const uint8_t tunnels[] = {PKT_NET_NONE, PKT_NET_IPV4, PKT_NET_IPV6};
    struct pkt pkt;
    struct pkt_cold cold;
    for (uint8_t tags = 0; tags < 3; tags++) {
        for (unsigned code = 0; code < 256; code++) {
            if (!opcode_info((uint8_t)code)->name && code != 0xc4) continue;
            for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++)
                for (unsigned tunnel = 0; tunnel < 3; tunnel++) {
                    make((struct frame_shape){PKT_ROCE, (uint8_t)code, net, tags, tunnels[tunnel], 200}, &pkt, &cold);
                    write_record(&pkt, &cold);
                }
        }
        for (uint8_t kind = PKT_PFC; kind <= PKT_PAUSE; kind++) {
            make((struct frame_shape){.kind = kind, .tags = tags}, &pkt, &cold);
            write_record(&pkt, &cold);
        }
    }
#define X(id, attribute, private_bytes, name)                                                                          \
    for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++)                                                         \
        write_message(attribute, net);
    CM_LIST(X)
#undef X
}

int main(int argc, char **argv)
{
    bool rewritten = argc == 3 && strcmp(argv[2], "rewritten") == 0;
    if (argc != 2 && !rewritten) {
        fprintf(stderr, "usage: gen_frames FILE.pcap [rewritten]\n");
        return 2;
    }
    pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);
    dumper = pcap_dump_open(pcap, argv[1]);
    if (!dumper) {
        fprintf(stderr, "%s\n", pcap_geterr(pcap));
        return 2;
    }
    rng_init(&rng, SEED, rewritten);
    if (rewritten)
        write_all_passed();
    else
        write_all();
    pcap_dump_close(dumper);
    pcap_close(pcap);
    return 0;
}
