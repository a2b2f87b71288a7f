/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what codec_parse() and cm_parse() say of every packet of a capture, one line each, as
 * `key=value` words; a key that the packet does not have is left out.  For test_tshark.py.
 */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "packet/codec.h"
#include "packet/icrc.h"
#include "packet/mad.h"
#include "packet/opcode.h"

static void print_hex(const char *key, const uint8_t *data, size_t bytes)
{
    printf(" %s=", key);
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", data[i]);
}

static void print_address(const char *key, const struct pkt_addr *addr)
{
    char text[PKT_ADDR_TEXT];
    printf(" %s=%s", key, pkt_addr_format(addr, text));
}

static void print_network(const struct pkt *pkt, const struct pkt_cold *cold)
{
    static const char *const nets[] = {"none", "v1", "ipv4", "ipv6"};
    printf(" net=%s tos=%u ttl=%u", nets[pkt->net], pkt->tos, pkt->ttl);
    print_address("src", &cold->src);
    print_address("dst", &cold->dst);
    if (pkt->net == PKT_NET_IPV4)
        printf(" ip_id=%u", cold->ip_id);
    else
        printf(" flow=%u", cold->flow_label);
    if (pkt->net != PKT_NET_V1) printf(" sport=%u dport=%u", pkt->sport, cold->dport);
}

static void print_tags(const struct pkt_cold *cold)
{
    const struct pkt_vlan *tags[] = {&cold->outer.vlan[0], &cold->outer.vlan[1], &cold->vlan[0], &cold->vlan[1]};
    const char *before = " vlan=";
    for (int i = 0; i < 4; i++) {
        if (!tags[i]->tpid) continue;
        printf("%s%u/%u", before, tags[i]->tci & 0xfffu, tags[i]->tci >> 13u);
        before = ",";
    }
}

static void print_roce(const struct pkt *pkt, const struct pkt_cold *cold)
{
    unsigned flags = opcode_info(pkt->opcode)->flags;
    printf(" opcode=%u destqp=%u psn=%u a=%u se=%u m=%u pad=%u pkey=%u resv7=%u", pkt->opcode, pkt->dest_qp, pkt->psn,
           !!(pkt->flags & PKT_ACK_REQUEST), !!(pkt->flags & PKT_SOLICITED), !!(pkt->flags & PKT_MIGRATED), pkt->pad,
           cold->pkey, cold->resv7);
    if (flags & OP_AETH) printf(" syndrome=%u msn=%u", pkt->ack.syndrome, pkt->ack.msn);
    if (flags & OP_DETH) printf(" qkey=%u srcqp=%u", pkt->ud.qkey, pkt->src_qp);
    if (flags & (OP_RETH | OP_ATOMICETH)) printf(" va=%" PRIu64 " rkey=%u", pkt->rdma.va, pkt->rdma.rkey);
    if (flags & OP_RETH) printf(" dmalen=%u", pkt->rdma.dma_bytes);
    if (flags & OP_ATOMICETH) printf(" swap=%" PRIu64 " compare=%" PRIu64, cold->swap, cold->compare);
    if (flags & OP_ATOMICACKETH) printf(" original=%" PRIu64, pkt->ack.original);
    if (flags & OP_IMMDT) printf(" imm=%u", pkt->imm);
    if (flags & OP_IETH) printf(" ieth=%u", pkt->imm);
    printf(" payload=%u", pkt->payload_bytes);
}

static void print_path(const char *which, const struct cm_path *path)
{
    printf(" %s_locallid=%u %s_remotelid=%u %s_flowlabel=%u %s_pktrate=%u %s_tfcclass=%u %s_hoplim=%u %s_sl=%u", which,
           path->local_lid, which, path->remote_lid, which, path->flow_label, which, path->packet_rate, which,
           path->traffic_class, which, path->hop_limit, which, path->sl);
    printf(" %s_subnetlocal=%u %s_localacktout=%u", which, path->subnet_local, which, path->local_ack_timeout);
    char key[32];
    snprintf(key, sizeof key, "%s_localgid", which);
    print_hex(key, path->local_gid.byte, 16);
    snprintf(key, sizeof key, "%s_remotegid", which);
    print_hex(key, path->remote_gid.byte, 16);
}

static void print_req(const struct cm_msg *msg)
{
    printf(" serviceid=%" PRIu64 " localcaguid=%" PRIu64 " localqkey=%u localqpn=%u responderres=%u", msg->service_id,
           msg->ca_guid, msg->qkey, msg->qpn, msg->responder_resources);
    printf(" localeecn=%u initdepth=%u remoteeecn=%u remoteresptout=%u transpsvctype=%u e2eflowctrl=%u", msg->eecn,
           msg->initiator_depth, msg->remote_eecn, msg->remote_cm_timeout, msg->transport, msg->flow_control);
    printf(" startpsn=%u localresptout=%u retrcount=%u pkey=%u pppmtu=%u rdcexist=%u rnrretrcount=%u",
           msg->starting_psn, msg->local_cm_timeout, msg->retry_count, msg->pkey, msg->mtu, msg->rdc_exists,
           msg->rnr_retry_count);
    printf(" maxcmretr=%u srq=%u ext_transport=%u port=%u", msg->max_cm_retries, msg->srq, msg->extended_transport,
           cm_service_port(msg->service_id));
    print_path("prim", &msg->primary);
    print_path("alt", &msg->alternate);
}

static void print_rep(const struct cm_msg *msg)
{
    printf(" localqkey=%u localqpn=%u localeecn=%u startpsn=%u respres=%u initdepth=%u", msg->qkey, msg->qpn, msg->eecn,
           msg->starting_psn, msg->responder_resources, msg->initiator_depth);
    printf(" tgtackdelay=%u failoveracc=%u e2eflowctrl=%u rnrretrcount=%u srq=%u localcaguid=%" PRIu64,
           msg->target_ack_delay, msg->failover_accepted, msg->flow_control, msg->rnr_retry_count, msg->srq,
           msg->ca_guid);
}

/* After " |": the message, with keys as tshark names its fields. */
static void print_cm(const struct cm_msg *msg)
{
    printf(" | cm=%s tid=%" PRIu64 " localcommid=%u", cm_name(msg->mad.attribute), msg->mad.tid, msg->local_id);
    if (msg->mad.attribute != CM_REQ) printf(" remotecommid=%u", msg->remote_id);
    if (msg->mad.attribute == CM_REQ) print_req(msg);
    if (msg->mad.attribute == CM_REP) print_rep(msg);
    if (msg->mad.attribute == CM_DREQ) printf(" remoteqpneecn=%u", msg->qpn);
    if (msg->mad.attribute == CM_REJ) {
        printf(" msgrej=%u rejinfolen=%u reason=%u", msg->message, msg->info_bytes, msg->reason);
        print_hex("ari", msg->info, sizeof msg->info);
    }
    print_hex("private", msg->private_data, cm_private_bytes(msg->mad.attribute));
}

static void print_packet(unsigned long number, const struct codec_frame *frame)
{
    static const char *const kinds[] = {"other", "roce", "pfc", "pause"};
    static const char *const verdicts[] = {"good", "bad", "unknown"};
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    if (codec_parse(frame, &pkt, &cold, &layout, &fault) != 0) {
        printf("n=%lu kind=fault fault=%d\n", number, (int)fault);
        return;
    }
    printf("n=%lu kind=%s", number, kinds[pkt.kind]);
    if (pkt.flags & PKT_TUNNEL) printf(" vni=%u", cold.outer.vni);
    print_tags(&cold);
    print_hex("dmac", cold.dmac, 6);
    print_hex("smac", cold.smac, 6);
    if (pkt.kind == PKT_PAUSE) printf(" quanta=%u", pkt.quanta[0]);
    if (pkt.kind == PKT_PFC) {
        printf(" enable=%u", pkt.pfc_enable);
        for (int i = 0; i < 8; i++)
            printf(" quanta%d=%u", i, pkt.quanta[i]);
    }
    if (pkt.kind == PKT_ROCE) {
        struct cm_msg msg;
        print_network(&pkt, &cold);
        print_roce(&pkt, &cold);
        printf(" icrc=%s", verdicts[icrc_check(frame, &pkt, &cold, &layout)]);
        const uint8_t *payload = codec_payload(frame, &layout);
        if (pkt.dest_qp == 1 && payload && cm_parse(payload, pkt.payload_bytes, &msg) == 0) print_cm(&msg);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE];
    if (argc != 2) {
        fprintf(stderr, "usage: dissect FILE.pcap\n");
        return 2;
    }
    pcap_t *pcap = pcap_open_offline(argv[1], error);
    if (!pcap) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    struct pcap_pkthdr *header;
    const uint8_t *data;
    unsigned long number = 0;
    while (pcap_next_ex(pcap, &header, &data) == 1) {
        struct codec_frame frame = {data, header->caplen, header->len, CODEC_ETHERNET};
        print_packet(++number, &frame);
    }
    pcap_close(pcap);
    return 0;
}
