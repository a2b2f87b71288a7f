/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet wire: whole Ethernet frames through AF_PACKET on a real port, a veth or loopback (CAP_NET_RAW).
 *
 * Here every header is ours: the ICRC is exact whatever the IP identification, RoCEv1 works (annex A16: Ethertype
 * 0x8915 and a GRH; its GIDs are the addresses of the interface, as Linux makes them), frames can carry an
 * 802.1Q tag with the packet's priority, and pause frames, where the interface hands them up, are handed to the loop in
 * order with the packets.  What a pause stops, and for how long, is the adapter's business.
 *
 * The kernel sees the same frames.  A UDP socket for each address, whose filter drops everything, keeps it from
 * answering "port unreachable", reserves the port and joins multicast groups.
 *
 * Several processes on one interface each see every frame: a packet counts for the one whose slot its QP
 * names, QP1 for the oldest process of the address.  Frames between processes of one machine never come back from a
 * port, but the kernel shows them to other packet sockets as outgoing: those for an address of ours are taken.
 * What a process sends to itself is shown to nobody and goes through a small queue here, which is looked at in turn
 * with the port.
 *
 * The kernel may hand over rows of segments that nobody has cut yet (a veth whose other end sends with
 * UDP_SEGMENT); the virtio header tells the segment size, and they are cut here.
 *
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"
#include "packet/frame.h"
#include "packet/icrc.h"
#include "wire/neighbour.h"
#include "wire/registry.h"
#include "wire/system.h"
#include "wire/wire_int.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define BUFFERS 16u
#define BUFFER_BYTES (68u << 10)
#define RECEIVE_BYTES (64 << 20)
#define SELF_QUEUE 128u
#define RETRY_PS (500 * PS_US)
#define FULL_PS (50 * PS_US)
#define PAUSE_FRAME_BYTES 60u
#define ADDRESSES_MAX 64u
#define MULTICAST_QPN 0xffffffu

struct port_address {
    struct pkt_addr addr;
    int sink;
};

struct frame { /* received; what is left of it */
    uint8_t *data;
    uint32_t at, end, segment; /* BTH of the next packet, end of the last ICRC */
    uint16_t ip_frag;
    struct wire_packet head; /* what its packets have in common; ip_id: of the next */
    bool paused;             /* no packets, but this: */
    struct wire_pause pause;
};

struct wire_packet_port {
    struct wire wire;
    struct registry *registry;
    uint32_t slot;
    uint16_t vlan_id;
    bool tag, loopback;
    pid_t pid;
    unsigned ifindex;
    int in, out;
    struct neighbours neighbours;
    ps_t retry_at;
    unsigned addresses, frames, frame;
    unsigned self_head, self_tail, self_held; /* put, handed up, and the first that its reader may still look at */
    bool self_turn;                           /* of the queue and the port, in turn */
    struct port_address address[ADDRESSES_MAX];
    struct frame buf[BUFFERS];
    uint8_t *memory;
    struct wire_packet self[SELF_QUEUE];
    uint8_t self_data[SELF_QUEUE][WIRE_PACKET_MAX];
};

static struct wire_packet_port *port_of(struct wire *wire)
{
    return (struct wire_packet_port *)wire;
}

static bool own_address(const struct wire_packet_port *port, const struct pkt_addr *addr)
{
    for (unsigned i = 0; i < port->addresses; i++)
        if (memcmp(&port->address[i].addr, addr, sizeof *addr) == 0) return true;
    return false;
}

/* --- sending --- */

/* To ourselves: no packet socket is shown what it sent itself. */
static bool to_self(struct wire_packet_port *port, const struct wire_packet *packet)
{
    if (port->loopback || !own_address(port, &packet->dst)) return false;
    if (pkt_addr_is_multicast(&packet->dst)) return true;
    uint32_t slot = registry_slot_of(codec_dest_qp(packet->data));
    if (slot == 0) slot = registry_owner(port->registry, &packet->dst, PROTO_PORT_ROCE);
    return slot == port->slot;
}

static void self_put(struct wire_packet_port *port, const struct wire_packet *packet)
{
    unsigned at = port->self_head++ % SELF_QUEUE;
    CHECK(packet->bytes <= WIRE_PACKET_MAX);
    port->self[at] = *packet;
    port->self[at].data = port->self_data[at];
    port->self[at].unchecked = true;
    memcpy(port->self_data[at], packet->data, packet->bytes);
    port->wire.due = 1; /* no descriptor tells the thread */
}

static unsigned self_take(struct wire_packet_port *port, struct wire_packet *ret, unsigned max)
{
    unsigned count = 0;
    while (count < max && port->self_tail != port->self_head) {
        ret[count] = port->self[port->self_tail++ % SELF_QUEUE];
        port->wire.counters.rx_packets++;
        port->wire.counters.rx_bytes += ret[count++].bytes;
    }
    return count;
}

/* What sendmsg() answers, as send_frame(). */
static int hand_over(struct wire_packet_port *port, struct iovec *iov, unsigned pieces, ps_t now)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = pieces};
    port->wire.counters.tx_calls++;
    if (sendmsg(port->out, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 1;
    if (errno != EAGAIN && errno != ENOBUFS) return -errno;
    port->retry_at = now + FULL_PS;
    return 0;
}

static int send_pause(struct wire_packet_port *port, const struct wire_pause *pause, ps_t now)
{
    uint8_t frame[PAUSE_FRAME_BYTES] = {0};
    if (wire_pause_emit(pause, port->neighbours.own_mac, frame, sizeof frame) < 0) return -EINVAL;
    struct iovec iov = {frame, sizeof frame};
    return hand_over(port, &iov, 1, now);
}

/* 1: taken; 0: not now; -errno: refused. */
static int send_frame(struct wire_packet_port *port, const struct wire_packet *packet, ps_t now)
{
    static const uint8_t unknown[6];
    struct pkt pkt;
    struct pkt_cold cold;
    wire_envelope(packet, &pkt, &cold);
    memcpy(cold.smac, port->neighbours.own_mac, 6);
    memcpy(cold.dmac, packet->dmac, 6);
    if (port->tag)
        cold.vlan[0] = (struct pkt_vlan){PROTO_ETHERTYPE_VLAN, (uint16_t)((packet->pcp & 7u) << 13 | port->vlan_id)};
    if (!pkt_addr_is_multicast(&packet->dst) && own_address(port, &packet->dst)) /* another process of this port */
        memcpy(cold.dmac, port->neighbours.own_mac, 6);
    if (!port->loopback && memcmp(cold.dmac, unknown, 6) == 0) {
        int rc = neighbour_find(&port->neighbours, &packet->dst, packet->net == PKT_NET_V1, now / PS_NS, cold.dmac);
        if (rc == -EAGAIN) {
            port->retry_at = now + RETRY_PS;
            return 0;
        }
        if (rc < 0) return -EHOSTUNREACH;
    }
    uint8_t outer[CODEC_OUTER_MAX];
    int length = codec_emit_outer(&pkt, &cold, packet->bytes, outer, sizeof outer);
    if (length < 0) return length;
    struct iovec iov[2] = {{outer, (size_t)length}, {packet->data, packet->bytes}};
    return hand_over(port, iov, 2, now);
}

/* As send_frame().  A queue to ourselves that is full makes the sender wait: whoever sends also receives. */
static int send_one(struct wire_packet_port *port, const struct wire_packet *packet, ps_t now)
{
    bool self = to_self(port, packet);
    int rc = 1;
    if (self && port->self_head - port->self_held == SELF_QUEUE) {
        port->retry_at = now + FULL_PS;
        return 0;
    }
    if (!self || pkt_addr_is_multicast(&packet->dst)) rc = send_frame(port, packet, now);
    if (self && rc != 0) self_put(port, packet);
    return self && rc != 0 ? 1 : rc;
}

static int packet_tx(struct wire *wire, const struct wire_packet *packet, unsigned count, ps_t now)
{
    struct wire_packet_port *port = port_of(wire);
    unsigned taken = 0;
    port->retry_at = PS_NEVER;
    for (; taken < count; taken++) {
        const struct wire_pause *pause = packet[taken].pause;
        int rc = pause ? send_pause(port, pause, now) : send_one(port, &packet[taken], now);
        if (rc == 0) break;
        if (rc < 0) {
            wire->counters.tx_refused++;
            continue;
        }
        if (pause) {
            wire->counters.tx_pauses++;
            continue;
        }
        wire->counters.tx_packets++;
        wire->counters.tx_bytes += packet[taken].bytes;
    }
    return (int)taken;
}

/* --- receiving --- */

/* Whether a frame of this kind is meant for us at all. */
static bool frame_wanted(const struct wire_packet_port *port, const struct sockaddr_ll *from,
                         const struct wire_packet *head)
{
    if (from->sll_pkttype == PACKET_OTHERHOST) return false;
    if (from->sll_pkttype == PACKET_OUTGOING && port->loopback) return false;
    return own_address(port, &head->dst);
}

static bool frame_open(struct wire_packet_port *port, struct frame *frame, uint32_t bytes, uint16_t gso_size,
                       const struct sockaddr_ll *from)
{
    struct codec_frame whole = {frame->data, bytes, bytes, CODEC_ETHERNET};
    struct pkt pkt;
    struct pkt_cold cold;
    uint32_t bth_at, packet_bytes;
    enum codec_fault fault;
    frame->at = frame->end = 0;
    frame->paused = false;
    if (codec_parse_outer(&whole, &pkt, &cold, &bth_at, &packet_bytes, &fault) < 0) {
        port->wire.counters.rx_malformed++;
        return false;
    }
    if (frame_pauses(&pkt, &frame->pause.enable, frame->pause.quanta)) {
        frame->paused = from->sll_pkttype != PACKET_OUTGOING;
        memcpy(frame->head.smac, cold.smac, 6);
        return false;
    }
    if (pkt.kind != PKT_ROCE) return false;
    frame->head = (struct wire_packet){
        .src = cold.src,
        .dst = cold.dst,
        .flow_label = cold.flow_label,
        .sport = pkt.sport,
        .ip_id = cold.ip_id,
        .net = pkt.net,
        .tos = pkt.tos,
        .ttl = pkt.ttl,
        .pcp = pkt.pcp,
        .id_known = true,
    };
    memcpy(frame->head.dmac, cold.dmac, 6);
    memcpy(frame->head.smac, cold.smac, 6);
    if (!frame_wanted(port, from, &frame->head)) return false;
    frame->ip_frag = cold.ip_frag;
    frame->at = bth_at;
    frame->end = bth_at + packet_bytes;
    frame->segment = gso_size ? gso_size : packet_bytes;
    return true;
}

static bool ours(const struct wire_packet_port *port, const struct wire_packet *packet)
{
    uint32_t qpn = codec_dest_qp(packet->data), slot = registry_slot_of(qpn);
    if (slot == port->slot || qpn == MULTICAST_QPN) return true;
    if (slot != 0) return false;
    return registry_owner(port->registry, &packet->dst, PROTO_PORT_ROCE) == port->slot;
}

static unsigned hand_up(struct wire_packet_port *port, struct wire_packet *ret, unsigned max)
{
    unsigned count = 0;
    for (; port->frame < port->frames; port->frame++) {
        struct frame *frame = &port->buf[port->frame];
        if (frame->paused) {
            if (count == max) return count;
            ret[count] = (struct wire_packet){.pause = &frame->pause};
            memcpy(ret[count++].smac, frame->head.smac, 6);
            port->wire.counters.rx_pauses++;
        }
        while (frame->at < frame->end) {
            if (count == max) return count;
            uint32_t left = frame->end - frame->at;
            struct wire_packet *packet = &ret[count];
            *packet = frame->head;
            packet->data = frame->data + frame->at;
            packet->bytes = left < frame->segment ? left : frame->segment;
            frame->at += packet->bytes;
            frame->head.ip_id++;
            if (packet->bytes < 16) {
                port->wire.counters.rx_malformed++;
                continue;
            }
            if (!ours(port, packet)) continue;
            if (icrc_detached(&packet->envelope, frame->ip_frag, packet->data, packet->bytes) !=
                load_le32(packet->data + packet->bytes - 4)) {
                port->wire.counters.rx_icrc_errors++;
                continue;
            }
            packet->unchecked = true;
            port->wire.counters.rx_packets++;
            port->wire.counters.rx_bytes += packet->bytes;
            count++;
        }
    }
    return count;
}

static bool receive_frames(struct wire_packet_port *port)
{
    struct mmsghdr message[BUFFERS];
    struct sockaddr_ll from[BUFFERS];
    struct virtio_net_hdr virtio[BUFFERS];
    struct iovec iov[BUFFERS][2];
    _Alignas(struct cmsghdr) uint8_t control[BUFFERS][CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    for (unsigned i = 0; i < BUFFERS; i++) {
        iov[i][0] = (struct iovec){&virtio[i], sizeof virtio[i]};
        iov[i][1] = (struct iovec){port->buf[i].data, BUFFER_BYTES};
        message[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                             .msg_namelen = sizeof from[i],
                                             .msg_iov = iov[i],
                                             .msg_iovlen = 2,
                                             .msg_control = control[i],
                                             .msg_controllen = sizeof control[i]};
    }
    int got = recvmmsg(port->in, message, BUFFERS, MSG_DONTWAIT, NULL);
    if (got <= 0) return false;
    port->wire.counters.rx_calls++;
    port->frame = 0;
    port->frames = (unsigned)got;
    for (int i = 0; i < got; i++) {
        struct frame *frame = &port->buf[i];
        uint16_t segment = virtio[i].gso_type == VIRTIO_NET_HDR_GSO_UDP_L4 ? virtio[i].gso_size : 0;
        frame->at = frame->end = 0;
        frame->paused = false;
        if (message[i].msg_len < sizeof virtio[i] || message[i].msg_hdr.msg_flags & MSG_TRUNC) continue;
        if (!frame_open(port, frame, message[i].msg_len - (uint32_t)sizeof virtio[i], segment, &from[i])) continue;
        for (struct cmsghdr *at = CMSG_FIRSTHDR(&message[i].msg_hdr); at; at = CMSG_NXTHDR(&message[i].msg_hdr, at)) {
            struct tpacket_auxdata aux;
            if (at->cmsg_level != SOL_PACKET || at->cmsg_type != PACKET_AUXDATA) continue;
            memcpy(&aux, CMSG_DATA(at), sizeof aux);
            if (aux.tp_status & TP_STATUS_VLAN_VALID) frame->head.pcp = (uint8_t)(aux.tp_vlan_tci >> 13);
        }
    }
    return true;
}

static int packet_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    (void)now;
    struct wire_packet_port *port = port_of(wire);
    port->self_held = port->self_tail; /* what the last call handed up is done with */
    port->self_turn = !port->self_turn;
    unsigned count = port->self_turn ? self_take(port, ret, max) : 0;
    if (count == 0) count = hand_up(port, ret, max); /* what the last receive had too many of */
    if (count == 0 && receive_frames(port)) count = hand_up(port, ret, max);
    if (count == 0) count = self_take(port, ret, max);
    port->wire.due = port->self_tail != port->self_head;
    return (int)count;
}

/* --- opening and closing --- */

static int packet_fd(struct wire *wire)
{
    return port_of(wire)->in;
}

static ps_t packet_deadline(struct wire *wire)
{
    struct wire_packet_port *port = port_of(wire);
    return port->self_tail != port->self_head || port->frame < port->frames ? 0 : port->retry_at;
}

/* Passes MAC control, RoCEv1 and UDP to port 4791 over IPv4 (any header length) and IPv6 (no extension headers). */
static int filter_attach(int fd)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_ETHERTYPE_MAC_CONTROL, 14, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_ETHERTYPE_ROCE_V1, 13, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_ETHERTYPE_IPV4, 0, 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_IP_UDP, 0, 9),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),
        BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_ETHERTYPE_IPV6, 0, 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_IP_UDP, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROTO_PORT_ROCE, 2, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0x40000),
    };
    static const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno : 0;
}

static int sink_open(struct wire_packet_port *port, const struct pkt_addr *local)
{
    static struct sock_filter drop_all[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    static const struct sock_fprog program = {1, drop_all};
    bool v4 = pkt_addr_is_ipv4(local), multicast = pkt_addr_is_multicast(local);
    struct sockaddr_storage name;
    socklen_t name_bytes = wire_sockaddr(local, PROTO_PORT_ROCE, port->ifindex, &name);
    int on = 1, rc = 0, fd = system_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    setsockopt(fd, SOL_SOCKET, multicast ? SO_REUSEADDR : SO_REUSEPORT, &on, sizeof on);
    if (!v4) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&name, name_bytes) < 0) rc = -errno;
    if (rc == 0 && multicast && v4) {
        struct ip_mreqn request = {.imr_ifindex = (int)port->ifindex};
        memcpy(&request.imr_multiaddr, local->byte + 12, 4);
        if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) < 0) rc = -errno;
    } else if (rc == 0 && multicast) {
        struct ipv6_mreq request = {.ipv6mr_interface = port->ifindex};
        memcpy(&request.ipv6mr_multiaddr, local->byte, 16);
        if (setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request, sizeof request) < 0) rc = -errno;
    }
    if (rc < 0) close(fd);
    return rc < 0 ? rc : fd;
}

static int packet_add_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_packet_port *port = port_of(wire);
    if (own_address(port, local)) return 0;
    if (port->addresses == ADDRESSES_MAX) return wire_fail(wire, -ENOSPC, "too many addresses");
    int sink = sink_open(port, local);
    if (sink < 0)
        return wire_fail(wire, sink, "cannot have UDP port %u of this address: %s", PROTO_PORT_ROCE, strerror(-sink));
    int rc = registry_lock(port->registry, true);
    if (rc == 0) {
        struct registry_group *group = registry_group_find(port->registry, local, PROTO_PORT_ROCE, true);
        if (group) registry_group_sweep(port->registry, group);
        rc = group ? registry_group_add(port->registry, group) : -ENOSPC;
        registry_unlock(port->registry);
    }
    if (rc < 0) {
        close(sink);
        return wire_fail(wire, rc, "no place in the registry: %s", strerror(-rc));
    }
    port->address[port->addresses++] = (struct port_address){*local, sink};
    return 0;
}

static void packet_remove_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_packet_port *port = port_of(wire);
    for (unsigned i = 0; i < port->addresses; i++) {
        if (memcmp(&port->address[i].addr, local, sizeof *local) != 0) continue;
        struct pkt_addr addr = *local; /* may lie in what is overwritten */
        close(port->address[i].sink);
        port->address[i] = port->address[--port->addresses];
        if (port->pid != getpid() || registry_lock(port->registry, true) < 0) return;
        struct registry_group *group = registry_group_find(port->registry, &addr, PROTO_PORT_ROCE, false);
        if (group) registry_group_remove(group, port->slot);
        registry_unlock(port->registry);
        return;
    }
}

static void packet_close(struct wire *wire)
{
    struct wire_packet_port *port = port_of(wire);
    while (port->addresses)
        packet_remove_address(wire, &port->address[port->addresses - 1].addr);
    if (port->in >= 0) close(port->in);
    if (port->out >= 0) close(port->out);
    neighbours_close(&port->neighbours);
    free(port->memory);
    free(port);
}

static const struct wire_ops packet_ops = {
    .rx = packet_rx,
    .tx = packet_tx,
    .fd = packet_fd,
    .deadline = packet_deadline,
    .add_address = packet_add_address,
    .remove_address = packet_remove_address,
    .close = packet_close,
};

static int sockets_open(struct wire_packet_port *port, const char *ifname)
{
    struct wire *wire = &port->wire;
    int on = 1, bytes = RECEIVE_BYTES;
    int rc = neighbours_open(&port->neighbours, ifname);
    if (rc < 0) return wire_fail(wire, rc, "interface %s: %s", ifname, strerror(-rc));
    port->ifindex = port->neighbours.ifindex;
    port->in = system_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    port->out = system_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (port->in < 0 || port->out < 0)
        return wire_fail(wire, -errno, "the packet wire needs CAP_NET_RAW: %s", strerror(errno));
    if (setsockopt(port->in, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(port->in, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(port->in, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
    if (setsockopt(port->in, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) < 0)
        return wire_fail(wire, -errno, "PACKET_VNET_HDR: %s", strerror(errno));
    rc = filter_attach(port->in);
    if (rc < 0) return wire_fail(wire, rc, "cannot attach a filter: %s", strerror(-rc));
    struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_ifindex = (int)port->ifindex};
    if (bind(port->out, (struct sockaddr *)&name, sizeof name) < 0)
        return wire_fail(wire, -errno, "cannot bind to %s: %s", ifname, strerror(errno));
    name.sll_protocol = htons(ETH_P_ALL);
    if (bind(port->in, (struct sockaddr *)&name, sizeof name) < 0)
        return wire_fail(wire, -errno, "cannot bind to %s: %s", ifname, strerror(errno));
    return 0;
}

int wire_packet_open(const struct wire_config *config, struct wire **ret)
{
    struct wire_packet_port *port = calloc(1, sizeof *port);
    uint8_t *memory = malloc((size_t)BUFFERS * BUFFER_BYTES);
    if (!port || !memory) {
        free(port);
        free(memory);
        return -ENOMEM;
    }
    port->wire = (struct wire){.ops = &packet_ops, .run_max = 1, .run_bytes = WIRE_PACKET_MAX, .port = true};
    port->registry = config->registry;
    port->slot = config->slot;
    port->tag = config->tag;
    port->vlan_id = config->vlan_id & 0xfff;
    port->pid = getpid();
    port->in = port->out = port->neighbours.netlink = port->neighbours.probe4 = port->neighbours.probe6 = -1;
    port->retry_at = PS_NEVER;
    port->memory = memory;
    for (unsigned i = 0; i < BUFFERS; i++)
        port->buf[i].data = memory + (size_t)i * BUFFER_BYTES;
    wire_synthetic_ports(&port->wire, config->source_ports);
    int rc = 0;
    if (!config->ifname)
        rc = wire_fail(&port->wire, -EINVAL, "the packet wire needs an interface");
    else if (config->port != PROTO_PORT_ROCE) /* frames are told by it */
        rc = wire_fail(&port->wire, -EINVAL, "the packet wire knows UDP port %u alone, not %u", PROTO_PORT_ROCE,
                       config->port);
    else
        rc = sockets_open(port, config->ifname);
    if (rc < 0) return wire_open_failed(&port->wire, config, rc);
    port->loopback = strcmp(config->ifname, "lo") == 0;
    *ret = &port->wire;
    return 0;
}
