/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture of random frames of every shape: each opcode over IPv4, IPv6 and RoCEv1, with
 * none to two tags, plain and inside VXLAN; PFC and PAUSE; all nine CM messages.  For test_tshark.py.
 */
#include <pcap/pcap.h>
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

static void write_record(const struct pkt *pkt, struct pkt_cold *cold)
{
    static uint8_t frame[FRAME_MAX];
    int bytes = frame_emit(pkt, cold, payload, frame);
    CHECK(bytes > 0);
    if (bytes < 60) { /* as a wire would */
        memset(frame + bytes, 0, (size_t)(60 - bytes));
        bytes = 60;
    }
    struct pcap_pkthdr header = {.caplen = (bpf_u_int32)bytes, .len = (bpf_u_int32)bytes, .ts = {.tv_sec = written++}};
    pcap_dump((unsigned char *)dumper, &header, frame);
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

int main(int argc, char **argv)
{
    static const uint8_t tunnels[] = {PKT_NET_NONE, PKT_NET_IPV4, PKT_NET_IPV6};
    struct pkt pkt;
    struct pkt_cold cold;
    if (argc != 2) {
        fprintf(stderr, "usage: gen_frames FILE.pcap\n");
        return 2;
    }
    pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);
    dumper = pcap_dump_open(pcap, argv[1]);
    if (!dumper) {
        fprintf(stderr, "%s\n", pcap_geterr(pcap));
        return 2;
    }
    rng_init(&rng, SEED, 0);
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
    pcap_dump_close(dumper);
    pcap_close(pcap);
    return 0;
}
