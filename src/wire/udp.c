/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The udp wire: RoCEv2 through plain sockets, without privilege.
 *
 * Receiving: one socket for each local address, bound to address:4791, shared with other processes
 * (udp_group.c).  UDP_GRO hands a row of equal packets of one flow over as one datagram of up to 64 KB; IP_RECVTOS
 * tells ECN; SO_RXQ_OVFL counts what found no room.
 *
 * Sending: a pool of source ports, each a socket of either family, bound to the port alone; the source
 * address goes with each datagram (IP_PKTINFO), so one pool serves every address and a flow keeps its port.  What the
 * kernel would do anyway is left out: a control message costs more than the few bytes it holds.
 * They receive nothing: a filter drops what is sent to them.  They are never connected, and have
 * IP_MTU_DISCOVER=DO: then the kernel sets DF and the identification 0, or with UDP_SEGMENT the segment's index,
 * and the ICRC can be computed beforehand (a connected socket counts from a secret).
 *
 * Measured on two cores, loopback, 4,156-byte packets: one datagram a call 2.8 Gb/s, runs alone 6.8, runs with
 * UDP_GRO 12.4.  A receive that finds nothing costs 0.2 us, so the socket that last had something is asked
 * first and the others every eighth time, less often while they stay silent.
 *
 * What it does not do: IPv6 flow labels (the kernel's affair), the receiver's TTL, and the IP identification of
 * packets from others, which no socket shows (icrc_fits_some_id()).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/check.h"
#include "wire/registry.h"
#include "wire/system.h"
#include "wire/udp_int.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define RECEIVE_BYTES (64 << 20)
#define SEND_BYTES (8 << 20)
#define PATROL_EVERY 8u
#define PATROL_DOUBLINGS 3u /* of that while others stay silent */
#define TOS_OTHERS 16u      /* in a row, and the socket changes */
#define SEGMENT_OTHERS 16u
#define RETRY_PS (50 * PS_US)
#define MULTICAST_QPN 0xffffffu

static struct wire_udp *udp_of(struct wire *wire)
{
    return (struct wire_udp *)wire;
}

static void set(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value);
}

static void set_buffer(int fd, int name, int force, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof bytes) < 0) set(fd, SOL_SOCKET, name, bytes);
}

/* --- sending --- */

/* A control message, with the padding behind it; answers the bytes it took. */
static inline size_t put_control(uint8_t *control, int level, int type, const void *data, size_t bytes)
{
    struct cmsghdr header = {CMSG_LEN(bytes), level, type};
    memcpy(control, &header, sizeof header);
    memcpy(control + CMSG_LEN(0), data, bytes);
    memset(control + CMSG_LEN(bytes), 0, CMSG_SPACE(bytes) - CMSG_LEN(bytes));
    return CMSG_SPACE(bytes);
}

/* The datagram's source address. */
static size_t put_source(uint8_t *control, const struct wire_udp *udp, const struct wire_packet *packet)
{
    if (packet->net == PKT_NET_IPV4) {
        struct in_pktinfo info = {0};
        memcpy(&info.ipi_spec_dst, packet->src.byte + 12, 4);
        return put_control(control, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    }
    struct in6_pktinfo info = {0};
    memcpy(&info.ipi6_addr, packet->src.byte, 16);
    if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) info.ipi6_ifindex = udp->ifindex;
    return put_control(control, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
}

/* Between two processes of one address the source mostly goes without saying, which is quicker. */
static bool source_natural(const struct wire_udp *udp, const struct wire_packet *packet)
{
    if (memcmp(&packet->src, &packet->dst, sizeof packet->src) != 0) return false;
    for (unsigned i = 0; i < udp->addresses; i++)
        if (memcmp(&udp->address[i].addr, &packet->src, sizeof packet->src) == 0) return udp->address[i].natural;
    return false;
}

static size_t put_segment(uint8_t *control, uint16_t segment)
{
    return put_control(control, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment);
}

static size_t put_tos(uint8_t *control, const struct wire_packet *packet)
{
    int tos = packet->tos;
    bool v4 = packet->net == PKT_NET_IPV4;
    return put_control(control, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &tos, sizeof tos);
}

/* TTL and TOS stay on the socket until a packet wants others; what alternates (data is ECT, ACKs are not) goes with
 * the packet, and costs no call. */
static int sender_prepare(struct udp_sender *sender, const struct wire_packet *packet, bool *ret_other_tos)
{
    bool v4 = packet->net == PKT_NET_IPV4;
    int fd = v4 ? sender->fd4 : sender->fd6;
    uint8_t *tos = v4 ? &sender->tos4 : &sender->tos6, *ttl = v4 ? &sender->ttl4 : &sender->ttl6;
    *ret_other_tos = *tos != packet->tos && ++sender->others < TOS_OTHERS;
    if (!*ret_other_tos) sender->others = 0;
    if (*tos != packet->tos && !*ret_other_tos) {
        *tos = packet->tos;
        if (v4)
            set(fd, IPPROTO_IP, IP_TOS, packet->tos);
        else
            set(fd, IPPROTO_IPV6, IPV6_TCLASS, packet->tos);
    }
    if (*ttl != packet->ttl) {
        *ttl = packet->ttl;
        int value = packet->ttl ? packet->ttl : -1;
        if (v4) {
            set(fd, IPPROTO_IP, IP_TTL, value);
            set(fd, IPPROTO_IP, IP_MULTICAST_TTL, value);
        } else {
            set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, value);
            set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, value);
        }
    }
    return fd;
}

/* The length of segments likewise.  It is told with each datagram that differs, single ones too: one that is left on
 * the socket would be checked against the path of whatever is sent next.  True: tell it. */
static bool other_segment(struct udp_sender *sender, bool v4, uint16_t segment)
{
    uint16_t *on_socket = v4 ? &sender->segment4 : &sender->segment6;
    if (*on_socket == segment) {
        sender->other_segments = 0;
        return false;
    }
    if (++sender->other_segments < SEGMENT_OTHERS) return true;
    sender->other_segments = 0;
    int value = segment;
    if (setsockopt(v4 ? sender->fd4 : sender->fd6, SOL_UDP, UDP_SEGMENT, &value, sizeof value) < 0) return true;
    *on_socket = segment;
    return false;
}

static struct udp_sender *sender_of(struct wire_udp *udp, uint16_t sport)
{
    for (unsigned i = 0; i < udp->wire.source_ports; i++)
        if (udp->wire.source_port[i] == sport) return &udp->sender[i];
    return NULL;
}

static bool continues_run(const struct wire_packet *first, const struct wire_packet *before,
                          const struct wire_packet *packet)
{
    return packet->ip_id == before->ip_id + 1 && before->bytes == first->bytes && packet->bytes <= first->bytes &&
           packet->data == before->data + before->bytes && packet->sport == first->sport && packet->tos == first->tos &&
           packet->ttl == first->ttl && packet->net == first->net &&
           memcmp(&packet->dst, &first->dst, sizeof first->dst) == 0 &&
           memcmp(&packet->src, &first->src, sizeof first->src) == 0;
}

static unsigned run_length(const struct wire_packet *packet, unsigned count, uint32_t *ret_bytes)
{
    unsigned length = 1;
    uint32_t bytes = packet->bytes;
    while (length < count && length < UDP_RUN_MAX && bytes + packet[length].bytes <= UDP_RUN_BYTES &&
           continues_run(packet, &packet[length - 1], &packet[length])) {
        bytes += packet[length].bytes;
        length++;
    }
    *ret_bytes = bytes;
    return length;
}

/* 0, or -EAGAIN: no room now.  What the network refuses counts as sent. */
static int send_run(struct wire_udp *udp, const struct wire_packet *packet, unsigned length, uint32_t bytes)
{
    struct udp_sender *sender = sender_of(udp, packet->sport);
    _Alignas(struct cmsghdr) uint8_t
        control[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct sockaddr_storage name;
    bool other_tos;
    CHECK(sender && (packet->net == PKT_NET_IPV4 || packet->net == PKT_NET_IPV6));
    int fd = sender_prepare(sender, packet, &other_tos);
    struct iovec iov = {packet->data, bytes};
    struct msghdr message = {.msg_name = &name, .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
    message.msg_namelen = wire_sockaddr(&packet->dst, udp->port, udp->ifindex, &name);
    message.msg_controllen = source_natural(udp, packet) ? 0 : put_source(control, udp, packet);
    if (other_tos) message.msg_controllen += put_tos(control + message.msg_controllen, packet);
    uint16_t segment = length > 1 ? (uint16_t)packet->bytes : 0;
    if (other_segment(sender, packet->net == PKT_NET_IPV4, segment))
        message.msg_controllen += put_segment(control + message.msg_controllen, segment);
    udp->wire.counters.tx_calls++;
    if (sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return -EAGAIN;
        udp->wire.counters.tx_refused += length;
        return 0;
    }
    udp->wire.counters.tx_packets += length;
    udp->wire.counters.tx_bytes += bytes;
    udp->wire.counters.tx_udp_packets += length;
    udp->wire.counters.tx_udp_bytes += bytes;
    return 0;
}

static int udp_tx(struct wire *wire, const struct wire_packet *packet, unsigned count, ps_t now)
{
    struct wire_udp *udp = udp_of(wire);
    unsigned sent = 0;
    udp->retry_at = PS_NEVER;
    while (sent < count) {
        uint32_t bytes;
        unsigned length = run_length(packet + sent, count - sent, &bytes);
        if (send_run(udp, packet + sent, length, bytes) < 0) {
            udp->retry_at = now + RETRY_PS;
            break;
        }
        sent += length;
    }
    return (int)sent;
}

/* --- receiving --- */

static void read_control(struct wire_udp *udp, struct msghdr *message, struct udp_buffer *buffer)
{
    buffer->tos = 0;
    buffer->segment = buffer->bytes;
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
        const uint8_t *data = CMSG_DATA(control);
        int value = 0;
        size_t bytes = control->cmsg_len - CMSG_LEN(0);
        if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TOS) {
            buffer->tos = data[0];
            continue;
        }
        memcpy(&value, data, bytes < sizeof value ? bytes : sizeof value);
        if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_TCLASS) {
            buffer->tos = (uint8_t)value;
        } else if (control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
            if (value > 0) buffer->segment = (uint32_t)value;
        } else if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_RXQ_OVFL) {
            udp->wire.counters.rx_overflow += (uint32_t)value - buffer->address->overflow;
            buffer->address->overflow = (uint32_t)value;
        }
    }
}

static void read_source(const struct sockaddr_storage *name, struct udp_buffer *buffer)
{
    if (name->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)name;
        memset(buffer->src.byte, 0, 10);
        memset(buffer->src.byte + 10, 0xff, 2);
        memcpy(buffer->src.byte + 12, &in->sin_addr, 4);
        buffer->sport = ntohs(in->sin_port);
    } else {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)name;
        memcpy(buffer->src.byte, &in6->sin6_addr, 16);
        buffer->sport = ntohs(in6->sin6_port);
    }
}

#define CONTROL_BYTES (4 * CMSG_SPACE(sizeof(int)))

/* Fills buffers from one socket; false: nothing there. */
static bool receive_from(struct wire_udp *udp, struct udp_address *address)
{
    struct mmsghdr message[UDP_BUFFERS];
    struct sockaddr_storage name[UDP_BUFFERS];
    struct iovec iov[UDP_BUFFERS];
    _Alignas(struct cmsghdr) uint8_t control[UDP_BUFFERS][CONTROL_BYTES];
    unsigned want = udp->datagrams;
    for (unsigned i = 0; i < want; i++) {
        iov[i] = (struct iovec){udp->buf[i].data, UDP_BUFFER_BYTES};
        message[i].msg_hdr = (struct msghdr){.msg_name = &name[i],
                                             .msg_namelen = sizeof name[i],
                                             .msg_iov = &iov[i],
                                             .msg_iovlen = 1,
                                             .msg_control = control[i],
                                             .msg_controllen = CONTROL_BYTES};
    }
    int got = 1;
    if (want == 1) { /* the usual look for one: the simpler call is the quicker */
        ssize_t bytes = recvmsg(address->fd, &message[0].msg_hdr, MSG_DONTWAIT);
        if (bytes < 0) return false;
        message[0].msg_len = (unsigned)bytes;
    } else {
        got = recvmmsg(address->fd, message, want, MSG_DONTWAIT, NULL);
    }
    if (got <= 0) return false;
    udp->wire.counters.rx_calls++;
    udp->buffers = udp->buffer = 0;
    for (int i = 0; i < got; i++) {
        struct udp_buffer *buffer = &udp->buf[i];
        buffer->address = address;
        buffer->bytes = message[i].msg_hdr.msg_flags & MSG_TRUNC ? 0 : message[i].msg_len;
        buffer->at = 0;
        buffer->index = 0;
        read_source(&name[i], buffer);
        read_control(udp, &message[i].msg_hdr, buffer);
    }
    udp->buffers = (unsigned)got;
    udp->datagrams = (unsigned)got == want ? want * 2 : (unsigned)got;
    if (udp->datagrams > UDP_BUFFERS) udp->datagrams = UDP_BUFFERS;
    return true;
}

/* What is not for the loop above: probes, and packets of other processes. */
static bool divert(struct wire_udp *udp, struct udp_address *address, const struct wire_packet *packet, ps_t now)
{
    uint32_t qpn = codec_dest_qp(packet->data), slot = registry_slot_of(qpn);
    if (slot == udp->slot || slot == 0 || qpn == MULTICAST_QPN) return false;
    if (slot > REGISTRY_SLOTS) return udp_group_probe(udp, address, packet->data, packet->bytes);
    if (address->multicast) return true; /* each member has its own copy */
    udp->wire.counters.misdelivered++;
    if (registry_forward(udp->registry, slot, packet) == 0) udp->wire.counters.forwarded++;
    udp_group_repair(udp, address, now);
    return true;
}

static unsigned hand_up(struct wire_udp *udp, struct wire_packet *ret, unsigned max, ps_t now)
{
    unsigned count = 0;
    for (; udp->buffer < udp->buffers; udp->buffer++) {
        struct udp_buffer *buffer = &udp->buf[udp->buffer];
        while (buffer->at < buffer->bytes) {
            if (count == max) return count;
            uint32_t left = buffer->bytes - buffer->at;
            struct wire_packet *packet = &ret[count];
            *packet = (struct wire_packet){
                .data = buffer->data + buffer->at,
                .bytes = left < buffer->segment ? left : buffer->segment,
                .src = buffer->src,
                .dst = buffer->address->addr,
                .sport = buffer->sport,
                .ip_id = (uint16_t)buffer->index++,
                .net = buffer->address->net,
                .tos = buffer->tos,
                .ttl = 64,
                .id_known = true,
            };
            buffer->at += packet->bytes;
            if (packet->bytes < PROTO_BTH_BYTES || divert(udp, buffer->address, packet, now)) continue;
            udp->wire.counters.rx_packets++;
            udp->wire.counters.rx_bytes += packet->bytes;
            udp->wire.counters.rx_udp_packets++;
            udp->wire.counters.rx_udp_bytes += packet->bytes;
            count++;
        }
    }
    return count;
}

/* Asks the kernel which source it would take.  Not always the address itself: for a second one of the same network it
 * is the first.  One that needs an interface too is never left out. */
static void probe_source(const struct wire_udp *udp, struct udp_address *address)
{
    struct sockaddr_storage to, from = {0};
    socklen_t bytes = wire_sockaddr(&address->addr, udp->port, udp->ifindex, &to), from_bytes = sizeof from;
    int fd = system_socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address->natural = false;
    if (fd < 0) return;
    if (connect(fd, (struct sockaddr *)&to, bytes) == 0 &&
        getsockname(fd, (struct sockaddr *)&from, &from_bytes) == 0) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&from;
        if (to.ss_family == AF_INET)
            address->natural = memcmp(&((const struct sockaddr_in *)&from)->sin_addr, address->addr.byte + 12, 4) == 0;
        else
            address->natural = memcmp(&in6->sin6_addr, address->addr.byte, 16) == 0 && in6->sin6_scope_id == 0;
    }
    close(fd);
}

/* Addresses that came or went. */
static void read_netlink(struct wire_udp *udp)
{
    _Alignas(struct nlmsghdr) uint8_t buffer[8192];
    ssize_t got;
    bool changed = false;
    while ((got = recv(udp->netlink, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        uint32_t left = (uint32_t)got;
        for (struct nlmsghdr *header = (void *)buffer; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            if (header->nlmsg_type != RTM_NEWADDR && header->nlmsg_type != RTM_DELADDR) continue;
            struct ifaddrmsg *message = NLMSG_DATA(header);
            changed = true;
            uint32_t attributes = (uint32_t)IFA_PAYLOAD(header);
            for (struct rtattr *at = IFA_RTA(message); RTA_OK(at, attributes); at = RTA_NEXT(at, attributes)) {
                bool v4 = message->ifa_family == AF_INET;
                if (at->rta_type != (v4 ? IFA_LOCAL : IFA_ADDRESS) || RTA_PAYLOAD(at) != (v4 ? 4 : 16)) continue;
                for (unsigned i = 0; i < udp->addresses; i++) {
                    struct udp_address *own = &udp->address[i];
                    if ((own->net == PKT_NET_IPV4) == v4 &&
                        memcmp(RTA_DATA(at), own->addr.byte + (v4 ? 12 : 0), v4 ? 4 : 16) == 0)
                        own->gone = header->nlmsg_type == RTM_DELADDR;
                }
            }
        }
    }
    for (unsigned i = 0; changed && i < udp->addresses; i++)
        if (!udp->address[i].multicast) probe_source(udp, &udp->address[i]);
}

static bool all_gone(const struct wire_udp *udp)
{
    bool any = false;
    for (unsigned i = 0; i < udp->addresses; i++) {
        if (udp->address[i].multicast) continue;
        if (!udp->address[i].gone) return false;
        any = true;
    }
    return any;
}

static int udp_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    struct wire_udp *udp = udp_of(wire);
    unsigned count = hand_up(udp, ret, max, now); /* what the last call had no room for */
    if (count || udp->addresses == 0) return (int)count;
    if (receive_from(udp, &udp->address[udp->hot])) {
        count = hand_up(udp, ret, max, now);
        if (count) return (int)count;
    }
    if (++udp->misses < PATROL_EVERY << udp->quiet) {
        udp->datagrams = 1;
        return 0;
    }
    udp->misses = 0;
    for (unsigned turn = 1; turn < udp->addresses; turn++) {
        unsigned other = (udp->hot + turn) % udp->addresses;
        if (!receive_from(udp, &udp->address[other])) continue;
        udp->hot = other;
        udp->quiet = 0;
        return (int)hand_up(udp, ret, max, now);
    }
    if (udp->quiet < PATROL_DOUBLINGS) udp->quiet++;
    if (++udp->patrol % PATROL_EVERY == 0) {
        read_netlink(udp);
        if (all_gone(udp)) return wire_fail(wire, -EADDRNOTAVAIL, "the interface has lost its address");
    }
    return 0;
}

/* --- opening and closing --- */

static int watch(struct wire_udp *udp, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(udp->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int receiver_open(struct wire_udp *udp, struct udp_address *address)
{
    bool v4 = address->net == PKT_NET_IPV4;
    address->fd = system_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (address->fd < 0) return wire_fail(&udp->wire, -errno, "no UDP socket: %s", strerror(errno));
    set(address->fd, SOL_SOCKET, address->multicast ? SO_REUSEADDR : SO_REUSEPORT, 1);
    set_buffer(address->fd, SO_RCVBUF, SO_RCVBUFFORCE, RECEIVE_BYTES);
    set(address->fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    set(address->fd, SOL_UDP, UDP_GRO, 1);
    if (v4) {
        set(address->fd, IPPROTO_IP, IP_RECVTOS, 1);
    } else {
        set(address->fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set(address->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
        set(address->fd, SOL_UDP, UDP_NO_CHECK6_RX, 1); /* RoCE adapters send none */
    }
    return 0;
}

static int multicast_join(struct wire_udp *udp, struct udp_address *address)
{
    struct sockaddr_storage name;
    socklen_t name_bytes = wire_sockaddr(&address->addr, udp->port, udp->ifindex, &name);
    int rc;
    if (bind(address->fd, (struct sockaddr *)&name, name_bytes) < 0)
        return wire_fail(&udp->wire, -errno, "cannot bind the multicast group: %s", strerror(errno));
    if (address->net == PKT_NET_IPV4) {
        struct ip_mreqn request = {.imr_ifindex = (int)udp->ifindex};
        memcpy(&request.imr_multiaddr, address->addr.byte + 12, 4);
        set(address->fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
        rc = setsockopt(address->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
    } else {
        struct ipv6_mreq request = {.ipv6mr_interface = udp->ifindex};
        memcpy(&request.ipv6mr_multiaddr, address->addr.byte, 16);
        rc = setsockopt(address->fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request, sizeof request);
    }
    return rc < 0 ? wire_fail(&udp->wire, -errno, "cannot join the multicast group: %s", strerror(errno)) : 0;
}

static int udp_add_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_udp *udp = udp_of(wire);
    for (unsigned i = 0; i < udp->addresses; i++)
        if (memcmp(&udp->address[i].addr, local, sizeof *local) == 0) return 0;
    if (udp->addresses == UDP_ADDRESSES_MAX) return wire_fail(wire, -ENOSPC, "too many addresses");
    struct udp_address *address = &udp->address[udp->addresses];
    *address = (struct udp_address){.addr = *local, .multicast = pkt_addr_is_multicast(local)};
    address->net = pkt_addr_is_ipv4(local) ? PKT_NET_IPV4 : PKT_NET_IPV6;
    int rc = receiver_open(udp, address);
    if (rc < 0) return rc;
    rc = address->multicast ? multicast_join(udp, address) : udp_group_join(udp, address);
    if (rc == 0 && !address->multicast) probe_source(udp, address);
    if (rc == 0) rc = watch(udp, address->fd);
    if (rc < 0) {
        char why[sizeof wire->why];
        memcpy(why, wire->why, sizeof why);
        udp_group_leave(udp, address);
        memcpy(wire->why, why, sizeof why);
        return rc;
    }
    udp->addresses++;
    return 0;
}

static void address_close(struct wire_udp *udp, struct udp_address *address)
{
    if (address->multicast)
        close(address->fd);
    else
        udp_group_leave(udp, address);
}

static void udp_remove_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_udp *udp = udp_of(wire);
    for (unsigned i = 0; i < udp->addresses; i++) {
        if (memcmp(&udp->address[i].addr, local, sizeof *local) != 0) continue;
        address_close(udp, &udp->address[i]);
        memmove(&udp->address[i], &udp->address[i + 1], (udp->addresses - i - 1) * sizeof udp->address[0]);
        udp->addresses--;
        udp->hot = 0;
        udp->buffers = udp->buffer = 0; /* they name addresses by place */
        return;
    }
}

static int sender_socket(struct wire_udp *udp, int family, uint16_t port)
{
    static struct sock_filter drop_all[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    int fd = system_socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    wire_attach(fd, SO_ATTACH_FILTER, drop_all, 1);
    set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, SEND_BYTES);
    struct sockaddr_storage name = {.ss_family = (sa_family_t)family};
    socklen_t name_bytes = sizeof(struct sockaddr_in);
    if (family == AF_INET) {
        set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
        struct ip_mreqn device = {.imr_ifindex = (int)udp->ifindex};
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &device, sizeof device);
        ((struct sockaddr_in *)&name)->sin_port = htons(port);
    } else {
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
        set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)udp->ifindex);
        ((struct sockaddr_in6 *)&name)->sin6_port = htons(port);
        name_bytes = sizeof(struct sockaddr_in6);
    }
    if (bind(fd, (struct sockaddr *)&name, name_bytes) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

/* One port, free in both families (or in IPv4 alone where there is no IPv6). */
static int sender_open(struct wire_udp *udp, unsigned at)
{
    for (int tries = 0; tries < 64; tries++) {
        struct sockaddr_in name;
        socklen_t name_bytes = sizeof name;
        int fd4 = sender_socket(udp, AF_INET, 0);
        if (fd4 < 0) return wire_fail(&udp->wire, fd4, "no source port: %s", strerror(-fd4));
        if (getsockname(fd4, (struct sockaddr *)&name, &name_bytes) < 0) return -errno;
        int fd6 = sender_socket(udp, AF_INET6, ntohs(name.sin_port));
        if (fd6 == -EADDRINUSE) {
            close(fd4);
            continue;
        }
        udp->sender[at] = (struct udp_sender){.fd4 = fd4, .fd6 = fd6 < 0 ? -1 : fd6};
        udp->wire.source_port[at] = ntohs(name.sin_port);
        return 0;
    }
    return wire_fail(&udp->wire, -EADDRINUSE, "no source port that is free for IPv4 and IPv6");
}

static void udp_close(struct wire *wire)
{
    struct wire_udp *udp = udp_of(wire);
    for (unsigned i = 0; i < udp->addresses; i++)
        address_close(udp, &udp->address[i]);
    for (unsigned i = 0; i < udp->wire.source_ports; i++) {
        close(udp->sender[i].fd4);
        if (udp->sender[i].fd6 >= 0) close(udp->sender[i].fd6);
    }
    if (udp->epoll >= 0) close(udp->epoll);
    if (udp->netlink >= 0) close(udp->netlink);
    free(udp->memory);
    free(udp);
}

static int udp_fd(struct wire *wire)
{
    return udp_of(wire)->epoll;
}

static ps_t udp_deadline(struct wire *wire)
{
    return udp_of(wire)->retry_at;
}

static const struct wire_ops udp_ops = {
    .rx = udp_rx,
    .tx = udp_tx,
    .fd = udp_fd,
    .deadline = udp_deadline,
    .add_address = udp_add_address,
    .remove_address = udp_remove_address,
    .close = udp_close,
};

int wire_udp_open(const struct wire_config *config, struct wire **ret)
{
    struct wire_udp *udp = calloc(1, sizeof *udp);
    uint8_t *memory = malloc((size_t)UDP_BUFFERS * UDP_BUFFER_BYTES);
    if (!udp || !memory) {
        free(udp);
        free(memory);
        return -ENOMEM;
    }
    udp->wire = (struct wire){.ops = &udp_ops, .run_max = UDP_RUN_MAX, .run_bytes = UDP_RUN_BYTES};
    udp->registry = config->registry;
    udp->slot = config->slot;
    udp->pid = getpid();
    udp->ifindex = config->ifname ? if_nametoindex(config->ifname) : 0;
    udp->port = config->port;
    udp->datagrams = 1;
    udp->retry_at = PS_NEVER;
    udp->memory = memory;
    for (unsigned i = 0; i < UDP_BUFFERS; i++)
        udp->buf[i].data = memory + (size_t)i * UDP_BUFFER_BYTES;
    udp->epoll = epoll_create1(EPOLL_CLOEXEC);
    udp->netlink = system_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (udp->epoll < 0)
        return wire_open_failed(&udp->wire, config, wire_fail(&udp->wire, -errno, "no epoll: %s", strerror(errno)));
    struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    if (udp->netlink >= 0 && bind(udp->netlink, (struct sockaddr *)&name, sizeof name) == 0) watch(udp, udp->netlink);
    unsigned ports = config->source_ports ? config->source_ports : WIRE_SOURCE_PORTS_DEFAULT;
    if (ports > WIRE_SOURCE_PORTS_MAX) ports = WIRE_SOURCE_PORTS_MAX;
    for (unsigned i = 0; i < ports; i++) {
        int rc = sender_open(udp, i);
        if (rc < 0) return wire_open_failed(&udp->wire, config, rc);
        udp->wire.source_ports++;
    }
    registry_set_ports(udp->registry, udp->wire.source_port, udp->wire.source_ports);
    *ret = &udp->wire;
    return 0;
}
