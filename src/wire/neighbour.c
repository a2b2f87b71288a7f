/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours of an interface, for wires that write Ethernet headers themselves.
 *
 * The kernel resolves addresses (ARP, neighbour discovery) and keeps the answers; we read them and make it ask by
 * sending an empty datagram to the discard port of an address that it does not know yet.  Off-link
 * destinations go to their route's gateway, but not by RoCEv1, which no router forwards.  Answers are kept for five
 * seconds.  Multicast addresses map to their well-known MACs (RFC 1112, RFC 2464); a link-local GID of RoCEv1 that was
 * made from a MAC (modified EUI-64) holds it, the others are looked up as IP addresses.
 */
#include "wire/neighbour.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/system.h"
#include "wire/wire_int.h"

#define KEEP_NS 5000000000u
#define AGAIN_NS 500000u    /* between two looks at the kernel's table */
#define PROBE_NS 100000000u /* between two datagrams that make it ask */
#define GIVE_UP_NS 1000000000u
#define DISCARD_PORT 9u

static bool netlink_call(struct neighbours *table, void *request, uint32_t bytes,
                         bool (*visit)(struct nlmsghdr *, void *), void *arg)
{
    struct nlmsghdr *header = request;
    header->nlmsg_seq = ++table->sequence;
    if (send(table->netlink, request, bytes, 0) < 0) return false;
    for (;;) {
        _Alignas(struct nlmsghdr) uint8_t buffer[16384];
        ssize_t got = recv(table->netlink, buffer, sizeof buffer, 0);
        if (got <= 0) return false;
        uint32_t left = (uint32_t)got;
        for (struct nlmsghdr *at = (void *)buffer; NLMSG_OK(at, left); at = NLMSG_NEXT(at, left)) {
            if (at->nlmsg_seq != header->nlmsg_seq) continue;
            if (at->nlmsg_type == NLMSG_DONE || at->nlmsg_type == NLMSG_ERROR) return false;
            bool found = visit(at, arg);
            if (!(at->nlmsg_flags & NLM_F_MULTI)) return found;
        }
    }
}

struct hop { /* what is looked for, and found */
    struct pkt_addr addr;
    unsigned ifindex;
    uint8_t mac[6];
    bool found;
};

static void addr_from(struct pkt_addr *addr, const void *bytes, size_t count)
{
    if (count == 16) {
        memcpy(addr->byte, bytes, 16);
        return;
    }
    memset(addr->byte, 0, 10);
    memset(addr->byte + 10, 0xff, 2);
    memcpy(addr->byte + 12, bytes, 4);
}

static bool visit_route(struct nlmsghdr *header, void *arg)
{
    struct hop *hop = arg;
    if (header->nlmsg_type != RTM_NEWROUTE) return false;
    struct rtmsg *route = NLMSG_DATA(header);
    uint32_t left = (uint32_t)RTM_PAYLOAD(header);
    for (struct rtattr *at = RTM_RTA(route); RTA_OK(at, left); at = RTA_NEXT(at, left))
        if (at->rta_type == RTA_GATEWAY) addr_from(&hop->addr, RTA_DATA(at), RTA_PAYLOAD(at));
    return true;
}

static bool visit_neighbour(struct nlmsghdr *header, void *arg)
{
    struct hop *hop = arg;
    struct pkt_addr addr = {0};
    const uint8_t *mac = NULL;
    if (header->nlmsg_type != RTM_NEWNEIGH) return false;
    struct ndmsg *message = NLMSG_DATA(header);
    if ((unsigned)message->ndm_ifindex != hop->ifindex) return false;
    uint32_t left = (uint32_t)(header->nlmsg_len - NLMSG_LENGTH(sizeof *message));
    for (struct rtattr *at = (void *)((uint8_t *)message + NLMSG_ALIGN(sizeof *message)); RTA_OK(at, left);
         at = RTA_NEXT(at, left)) {
        if (at->rta_type == NDA_DST) addr_from(&addr, RTA_DATA(at), RTA_PAYLOAD(at));
        if (at->rta_type == NDA_LLADDR && RTA_PAYLOAD(at) == 6) mac = RTA_DATA(at);
    }
    const unsigned usable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
    if (!mac || !(message->ndm_state & usable) || memcmp(&addr, &hop->addr, sizeof addr) != 0) return false;
    memcpy(hop->mac, mac, 6);
    hop->found = true;
    return true;
}

static void find_gateway(struct neighbours *table, struct hop *hop)
{
    bool v4 = pkt_addr_is_ipv4(&hop->addr);
    struct {
        struct nlmsghdr header;
        struct rtmsg route;
        struct rtattr attribute;
        uint8_t addr[16];
        struct rtattr oif_attribute;
        uint32_t oif;
    } request = {
        .header = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .route = {.rtm_family = v4 ? AF_INET : AF_INET6, .rtm_dst_len = v4 ? 32 : 128},
    };
    uint32_t bytes = v4 ? 4 : 16;
    request.attribute = (struct rtattr){(unsigned short)RTA_LENGTH(bytes), RTA_DST};
    memcpy(request.addr, hop->addr.byte + (v4 ? 12 : 0), bytes);
    request.header.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof request.route) + RTA_LENGTH(bytes));
    struct rtattr oif = {RTA_LENGTH(4), RTA_OIF};
    uint8_t *end = (uint8_t *)&request + request.header.nlmsg_len;
    memcpy(end, &oif, sizeof oif);
    memcpy(end + sizeof oif, &table->ifindex, 4);
    request.header.nlmsg_len += RTA_LENGTH(4);
    netlink_call(table, &request, request.header.nlmsg_len, visit_route, hop);
}

static void find_mac(struct neighbours *table, struct hop *hop)
{
    struct {
        struct nlmsghdr header;
        struct ndmsg message;
    } request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
                   .nlmsg_type = RTM_GETNEIGH,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .message = {.ndm_family = pkt_addr_is_ipv4(&hop->addr) ? AF_INET : AF_INET6,
                    .ndm_ifindex = (int)table->ifindex},
    };
    netlink_call(table, &request, sizeof request, visit_neighbour, hop);
}

/* An empty datagram to the discard port makes the kernel ask for the address. */
static void provoke(struct neighbours *table, const struct pkt_addr *addr)
{
    struct sockaddr_storage name;
    socklen_t name_bytes = wire_sockaddr(addr, DISCARD_PORT, table->ifindex, &name);
    int fd = pkt_addr_is_ipv4(addr) ? table->probe4 : table->probe6;
    sendto(fd, "", 0, MSG_DONTWAIT, (struct sockaddr *)&name, name_bytes);
}

int neighbours_open(struct neighbours *table, const char *ifname)
{
    struct ifreq request = {0};
    memset(table, 0, sizeof *table);
    table->ifindex = if_nametoindex(ifname);
    table->netlink = system_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    table->probe4 = system_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    table->probe6 = system_socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (table->netlink < 0 || table->probe4 < 0) return -errno;
    memcpy(request.ifr_name, ifname, strnlen(ifname, sizeof request.ifr_name - 1));
    if (ioctl(table->probe4, SIOCGIFHWADDR, &request) < 0) return -errno;
    memcpy(table->own_mac, request.ifr_hwaddr.sa_data, 6);
    return table->ifindex ? 0 : -ENODEV;
}

void neighbours_close(struct neighbours *table)
{
    if (table->netlink >= 0) close(table->netlink);
    if (table->probe4 >= 0) close(table->probe4);
    if (table->probe6 >= 0) close(table->probe6);
}

static bool well_known(const struct pkt_addr *addr, bool v1, uint8_t mac[6])
{
    bool v4 = pkt_addr_is_ipv4(addr);
    if (pkt_addr_is_multicast(addr)) {
        static const uint8_t prefix4[3] = {0x01, 0x00, 0x5e}, prefix6[2] = {0x33, 0x33};
        if (v4) {
            memcpy(mac, prefix4, 3);
            memcpy(mac + 3, addr->byte + 13, 3);
            mac[3] &= 0x7f;
        } else {
            memcpy(mac, prefix6, 2);
            memcpy(mac + 2, addr->byte + 12, 4);
        }
        return true;
    }
    bool link_local = addr->byte[0] == 0xfe && (addr->byte[1] & 0xc0) == 0x80;
    if (!v1 || !link_local || addr->byte[11] != 0xff || addr->byte[12] != 0xfe) return false;
    memcpy(mac, addr->byte + 8, 3);
    memcpy(mac + 3, addr->byte + 13, 3);
    mac[0] ^= 2;
    return true;
}

int neighbour_find(struct neighbours *table, const struct pkt_addr *addr, bool v1, uint64_t now_ns, uint8_t ret_mac[6])
{
    if (well_known(addr, v1, ret_mac)) return 0;
    uint32_t hash = 0;
    for (int i = 0; i < 16; i++)
        hash = hash * 31 + addr->byte[i];
    struct neighbour *entry = &table->entry[hash % NEIGHBOURS];
    bool same = memcmp(&entry->addr, addr, sizeof *addr) == 0 && entry->first_ns;
    if (!same) *entry = (struct neighbour){.addr = *addr, .first_ns = now_ns};
    if (entry->known && now_ns - entry->asked_ns < KEEP_NS) {
        memcpy(ret_mac, entry->mac, 6);
        return 0;
    }
    if (same && now_ns - entry->asked_ns < AGAIN_NS) return -EAGAIN;
    struct hop hop = {.addr = *addr, .ifindex = table->ifindex};
    find_gateway(table, &hop);
    if (v1 && memcmp(&hop.addr, addr, sizeof *addr) != 0) return -EHOSTUNREACH;
    find_mac(table, &hop);
    uint64_t before_ns = entry->asked_ns;
    entry->asked_ns = now_ns;
    if (hop.found) {
        memcpy(entry->mac, hop.mac, 6);
        memcpy(ret_mac, hop.mac, 6);
        entry->known = true;
        return 0;
    }
    if (entry->known) entry->first_ns = now_ns; /* it was there, and has gone */
    entry->known = false;
    if (!same || now_ns / PROBE_NS != before_ns / PROBE_NS) provoke(table, &hop.addr);
    if (now_ns - entry->first_ns < GIVE_UP_NS) return -EAGAIN;
    if (now_ns - entry->first_ns > 2ull * GIVE_UP_NS) entry->first_ns = now_ns; /* a new try */
    return -EHOSTUNREACH;
}
