/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pcap wire: writes every packet that passes to a capture file, as a whole Ethernet frame.
 *
 * On loopback a capture from outside shows runs as single frames of 64 KB, which no dissector understands; here
 * each packet is one record.  Ethernet, IP and UDP headers are built from what the wire knows (no
 * addresses of an interface: locally administered ones), the packet's own bytes are written as they are.  A packet
 * without an ICRC (it stays in memory) has it computed here, so that a reader can check every record.  An ICRC that
 * is wrong on the wire stays wrong; one that is right but for an identification that no socket shows (a packet from a
 * foreign peer) is written with the identification that fits.
 *
 * Records carry CLOCK_REALTIME.  The file is written in large pieces, when there is nothing to receive (but not more
 * often than each millisecond), when the wire is closed, and when the program ends, since most programs end without
 * closing their devices.  What a killed process had gathered since is lost.  The file has its name from the beginning,
 * for people look at it while the program runs and programs are killed; it takes the place of an old one, whose bytes
 * nobody touches who still has it open.
 *
 * A forked child has a copy of what its parent has gathered; it is the parent's to write, at the end of the child too.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/units.h"
#include "packet/capfile/capfile.h"
#include "packet/codec.h"
#include "packet/icrc.h"
#include "wire/wire_int.h"

#define LINKTYPE_ETHERNET 1
#define FRAME_MAX (CODEC_OUTER_MAX + WIRE_PACKET_MAX)
#define FLUSH_EVERY_PS PS_MS

struct pcap_wire {
    struct wrap wrap;
    struct capwriter *writer;
    struct capwriter_name file;
    bool told; /* that the file is full */
    struct pcap_wire *next;
    pid_t pid; /* who opened it: only that process writes */
    ps_t flushed_at;
    bool pending;
    uint8_t frame[FRAME_MAX];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the list and every writer: the end of the program is
                                                              another thread's */
static struct pcap_wire *all;

/* Once when the file is full, and how much is missing at the end. */
static void tell_left_out(struct pcap_wire *wire, bool end)
{
    uint64_t packets = capwriter_left_out(wire->writer);
    char text[UNIT_TEXT];

    if (packets == 0 || (wire->told && !end)) return;
    if (end)
        fprintf(stderr, "rocelab: %s: %" PRIu64 " packets were not written\n", wire->file.path, packets);
    else
        fprintf(stderr,
                "rocelab: %s: %s are reached, and later packets are not written; FILE,size=SIZE sets another limit, "
                "size=0 none, snap=BYTES cuts packets\n",
                wire->file.path, unit_format(UNIT_SIZE, wire->file.size, text));
    wire->told = true;
}

/* With a priority: after those without, which may still send. */
__attribute__((destructor(1000))) static void flush_all(void)
{
    pthread_mutex_lock(&mutex);
    for (struct pcap_wire *wire = all; wire; wire = wire->next)
        if (wire->pid == getpid()) {
            capwriter_flush(wire->writer);
            tell_left_out(wire, true);
        }
    pthread_mutex_unlock(&mutex);
}

static struct pcap_wire *pcap_of(struct wire *wire)
{
    return (struct pcap_wire *)wire;
}

static void make_mac(uint8_t mac[6], const struct pkt_addr *addr)
{
    mac[0] = 0x02;
    mac[1] = 0;
    memcpy(mac + 2, addr->byte + 12, 4);
}

static bool mac_known(const uint8_t mac[6])
{
    static const uint8_t none[6];
    return memcmp(mac, none, 6) != 0;
}

/* The identification and the ICRC of the record; a wrong ICRC is left wrong. */
static void settle_icrc(const struct wire_packet *packet, bool sent, struct pkt_cold *cold, uint8_t *bth)
{
    uint32_t stored = load_le32(bth + packet->bytes - 4);
    uint16_t id;
    if (packet->unchecked) {
        store_le32(bth + packet->bytes - 4, icrc_detached(&packet->envelope, PROTO_IPV4_DF, bth, packet->bytes));
    } else if (!sent && packet->net == PKT_NET_IPV4 &&
               icrc_detached(&packet->envelope, PROTO_IPV4_DF, bth, packet->bytes) != stored &&
               icrc_fits_some_id(&packet->envelope, PROTO_IPV4_DF, bth, packet->bytes, stored, &id)) {
        cold->ip_id = id;
    }
}

static void record_pause(struct pcap_wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
    uint8_t frame[60] = {0};
    if (wire_pause_emit(packet->pause, packet->smac, frame, sizeof frame) < 0) return;
    capwriter_write(wire->writer, time_ns, frame, sizeof frame, sizeof frame);
    wire->pending = true;
}

static void record(struct pcap_wire *wire, const struct wire_packet *packet, bool sent, uint64_t time_ns)
{
    if (packet->pause) {
        record_pause(wire, packet, time_ns);
        return;
    }
    struct pkt pkt;
    struct pkt_cold cold;
    wire_envelope(packet, &pkt, &cold);
    if (packet->bytes < 16 || packet->bytes > WIRE_PACKET_MAX) return;
    if (packet->pcp) cold.vlan[0] = (struct pkt_vlan){PROTO_ETHERTYPE_VLAN, (uint16_t)(packet->pcp << 13)};
    memcpy(cold.dmac, packet->dmac, 6);
    memcpy(cold.smac, packet->smac, 6);
    if (!mac_known(cold.dmac)) make_mac(cold.dmac, &packet->dst);
    if (!mac_known(cold.smac)) make_mac(cold.smac, &packet->src);
    /* the largest outer headers leave the packet at one place, whatever their length turns out to be */
    uint8_t *bth = wire->frame + CODEC_OUTER_MAX;
    memcpy(bth, packet->data, packet->bytes);
    settle_icrc(packet, sent, &cold, bth);
    uint8_t outer[CODEC_OUTER_MAX];
    int length = codec_emit_outer(&pkt, &cold, packet->bytes, outer, sizeof outer);
    if (length < 0) return;
    memcpy(bth - length, outer, (size_t)length);
    uint32_t bytes = (uint32_t)length + packet->bytes;
    capwriter_write(wire->writer, time_ns, bth - length, bytes, bytes);
    wire->pending = true;
}

static void record_all(struct pcap_wire *wire, const struct wire_packet *packet, int count, bool sent)
{
    if (count <= 0) return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < count; i++)
        record(wire, &packet[i], sent, time_ns);
    tell_left_out(wire, false);
    pthread_mutex_unlock(&mutex);
}

static int pcap_rx(struct wire *base, struct wire_packet *ret, unsigned max, ps_t now)
{
    struct pcap_wire *wire = pcap_of(base);
    int count = wire_rx(wire->wrap.inner, ret, max, now);
    record_all(wire, ret, count, false);
    if (count == 0 && wire->pending) {
        if (now - wire->flushed_at >= FLUSH_EVERY_PS) {
            pthread_mutex_lock(&mutex);
            capwriter_flush(wire->writer);
            pthread_mutex_unlock(&mutex);
            wire->flushed_at = now;
            wire->pending = false;
        }
    }
    return wrap_count(&wire->wrap, count);
}

static int pcap_tx(struct wire *base, const struct wire_packet *packet, unsigned count, ps_t now)
{
    struct pcap_wire *wire = pcap_of(base);
    int taken = wire_tx(wire->wrap.inner, packet, count, now);
    record_all(wire, packet, taken, true);
    return wrap_count(&wire->wrap, taken);
}

static void pcap_close(struct wire *base)
{
    struct pcap_wire *wire = pcap_of(base);
    if (wire->pid != getpid()) { /* closing the file writes; a child's copy of it goes with the child */
        wire_close(wire->wrap.inner);
        return;
    }
    pthread_mutex_lock(&mutex);
    struct pcap_wire **link = &all;
    while (*link != wire)
        link = &(*link)->next;
    *link = wire->next;
    tell_left_out(wire, true);
    capwriter_close(wire->writer);
    pthread_mutex_unlock(&mutex);
    wire_close(wire->wrap.inner);
    free(wire);
}

static const struct wire_ops pcap_ops = {
    .rx = pcap_rx,
    .tx = pcap_tx,
    .fd = wrap_fd,
    .deadline = wrap_deadline,
    .memory = wrap_memory,
    .add_address = wrap_add_address,
    .remove_address = wrap_remove_address,
    .close = pcap_close,
};

int wire_pcap_open(struct wire *inner, const struct capwriter_name *file, struct wire **ret)
{
    struct pcap_wire *wire = calloc(1, sizeof *wire);
    if (!wire) return -ENOMEM;
    int rc = capwriter_open(file->path, LINKTYPE_ETHERNET, &wire->writer);
    if (rc < 0) {
        free(wire);
        return rc;
    }
    capwriter_limit(wire->writer, file);
    rc = capwriter_show(wire->writer);
    if (rc < 0) {
        capwriter_close(wire->writer);
        free(wire);
        return rc;
    }
    wire->file = *file;
    wrap_init(&wire->wrap, &pcap_ops, inner);
    wire->pid = getpid();
    pthread_mutex_lock(&mutex);
    wire->next = all;
    all = wire;
    pthread_mutex_unlock(&mutex);
    *ret = &wire->wrap.wire;
    return 0;
}
