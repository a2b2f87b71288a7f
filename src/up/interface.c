/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet socket on one interface; see interface.h.
 *
 * Frames that this machine itself sends by the interface are not ours to see.  The interface is told to hand up all
 * frames: they are addressed to a switch of the fabric, not to it.
 */
#include "up/interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet/frame.h"
#include "packet/offload.h"
#include "packet/protocol.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif
#define BUFFERS 16u
#define BUFFER_BYTES (65536u + 128u) /* a row of segments */
#define TAG_ROOM 4u
#define BATCHES 4u /* of buffers, in one call */
#define RECEIVE_BYTES (8 << 20)

struct interface {
    int fd;
    uint8_t segment[FRAME_BYTES_MAX];
    uint8_t buffer[BUFFERS][TAG_ROOM + BUFFER_BYTES];
};

static int bind_to(int fd, unsigned index)
{
    const struct sockaddr_ll name = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index};
    const struct packet_mreq all = {.mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC};
    int on = 1, bytes = RECEIVE_BYTES;

    if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return bind(fd, (const struct sockaddr *)&name, sizeof name) != 0 ? -errno : 0;
}

int interface_open(const char *name, struct interface **ret)
{
    unsigned index = if_nametoindex(name);

    if (index == 0) return -ENODEV;
    struct interface *interface = malloc(sizeof *interface);
    if (interface == NULL) return -ENOMEM;
    interface->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = interface->fd < 0 ? -errno : bind_to(interface->fd, index);
    if (error) {
        interface_close(interface);
        return error == -EACCES ? -EPERM : error;
    }
    *ret = interface;
    return 0;
}

void interface_close(struct interface *interface)
{
    if (interface == NULL) return;
    if (interface->fd >= 0) close(interface->fd);
    free(interface);
}

int interface_fd(const struct interface *interface)
{
    return interface->fd;
}

/* --- in --- */

static bool tag_of(struct msghdr *message, uint16_t *ret_tpid, uint16_t *ret_tci)
{
    struct tpacket_auxdata aux;

    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_PACKET || at->cmsg_type != PACKET_AUXDATA) continue;
        memcpy(&aux, CMSG_DATA(at), sizeof aux);
        if (!(aux.tp_status & TP_STATUS_VLAN_VALID)) return false;
        *ret_tci = aux.tp_vlan_tci;
        *ret_tpid = aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : PROTO_ETHERTYPE_VLAN;
        return true;
    }
    return false;
}

static void take(struct interface *interface, uint8_t *data, uint32_t bytes, const struct virtio_net_hdr *left,
                 interface_frame frame, void *context)
{
    uint8_t kind = left->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;
    struct offload_row row;
    bool cut = kind == VIRTIO_NET_HDR_GSO_TCPV4 || kind == VIRTIO_NET_HDR_GSO_UDP_L4;

    if (cut && offload_row(data, bytes, left->gso_size, &row)) {
        for (uint32_t i = 0; i < row.count; i++) {
            uint32_t length = offload_segment(&row, i, interface->segment, sizeof interface->segment);
            if (length) frame(context, interface->segment, length);
        }
        return;
    }
    if (left->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        (void)offload_checksum(data, bytes, left->csum_start, left->csum_offset);
    frame(context, data, bytes);
}

static void take_message(struct interface *interface, unsigned number, struct mmsghdr *message,
                         struct virtio_net_hdr *left, interface_frame frame, void *context)
{
    uint8_t *data = interface->buffer[number] + TAG_ROOM;
    uint32_t bytes = message->msg_len;
    uint16_t tpid, tci;

    if (bytes < sizeof *left || message->msg_hdr.msg_flags & MSG_TRUNC) return;
    bytes -= (uint32_t)sizeof *left;
    if (bytes >= PROTO_ETHERNET_BYTES && tag_of(&message->msg_hdr, &tpid, &tci)) {
        data -= TAG_ROOM;
        bytes += TAG_ROOM;
        offload_tag(data, tpid, tci);
        left->csum_start = (uint16_t)(left->csum_start + TAG_ROOM);
    }
    take(interface, data, bytes, left, frame, context);
}

bool interface_read(struct interface *interface, interface_frame frame, void *context)
{
    struct mmsghdr message[BUFFERS];
    struct virtio_net_hdr left[BUFFERS];
    struct iovec part[BUFFERS][2];
    _Alignas(struct cmsghdr) uint8_t control[BUFFERS][CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    bool any = false;

    for (unsigned batch = 0; batch < BATCHES; batch++) {
        for (unsigned i = 0; i < BUFFERS; i++) {
            part[i][0] = (struct iovec){&left[i], sizeof left[i]};
            part[i][1] = (struct iovec){interface->buffer[i] + TAG_ROOM, BUFFER_BYTES};
            message[i].msg_hdr = (struct msghdr){
                .msg_iov = part[i], .msg_iovlen = 2, .msg_control = control[i], .msg_controllen = sizeof control[i]};
        }
        int got = recvmmsg(interface->fd, message, BUFFERS, MSG_DONTWAIT, NULL);
        for (int i = 0; i < got; i++)
            take_message(interface, (unsigned)i, &message[i], &left[i], frame, context);
        any |= got > 0;
        if (got < (int)BUFFERS) break;
    }
    return any;
}

uint64_t interface_lost(struct interface *interface)
{
    struct tpacket_stats stats = {0};
    socklen_t bytes = sizeof stats;

    return getsockopt(interface->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0 ? stats.tp_drops : 0;
}

/* --- out --- */

int interface_send(struct interface *interface, const struct iovec *frame, uint32_t count)
{
    static struct virtio_net_hdr nothing_left;
    struct mmsghdr message[INTERFACE_BURST];
    struct iovec part[INTERFACE_BURST][2];

    if (count > INTERFACE_BURST) count = INTERFACE_BURST;
    for (uint32_t i = 0; i < count; i++) {
        part[i][0] = (struct iovec){&nothing_left, sizeof nothing_left};
        part[i][1] = frame[i];
        message[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = part[i], .msg_iovlen = 2}};
    }
    int sent = sendmmsg(interface->fd, message, count, MSG_DONTWAIT);
    return sent >= 0 ? sent : -errno;
}
