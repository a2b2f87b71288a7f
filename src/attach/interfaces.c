/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces as the program sees them: the loopback and one for each adapter of its host in the fabric.
 *
 * getifaddrs(), names and indices, and the ioctls by which programs have always asked.  What is answered is laid out as
 * libc does it, since libc's own functions free it.  Nothing can be changed.
 */
#include "attach/streams.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "packet/codec.h"

#define LOOPBACK_FLAGS (IFF_UP | IFF_LOOPBACK | IFF_RUNNING)
#define ADAPTER_FLAGS (IFF_UP | IFF_BROADCAST | IFF_RUNNING | IFF_MULTICAST)
#define ADAPTER_MASK 0xff000000u /* 10.0.0.0/8: all hosts are on one link, as far as sockets go */
#define HEADERS_BYTES 100u       /* an interface takes more than the payload of a packet */

static uint32_t interfaces(void)
{
    return 1 + attached.head->nics;
}

/* Interface number `i`, from 0: the loopback, then adapters; its index is one more. */
static const struct attach_nic *adapter_of(uint32_t i)
{
    return i == 0 ? NULL : &attached.head->nic[i - 1];
}

static const char *name_of(uint32_t i)
{
    return i == 0 ? "lo" : adapter_of(i)->ifname;
}

static uint32_t find_interface(const char *name)
{
    for (uint32_t i = 0; i < interfaces(); i++)
        if (strncmp(name_of(i), name, IFNAMSIZ) == 0) return i;
    return UINT32_MAX;
}

/* Its IPv4 address, in host order; 0: none. */
static uint32_t address_of(uint32_t i)
{
    const struct attach_nic *nic = adapter_of(i);

    if (nic == NULL) return INADDR_LOOPBACK;
    for (uint32_t g = 0; g < nic->gids && g < sizeof nic->gid / sizeof *nic->gid; g++)
        if (pkt_addr_is_ipv4(&nic->gid[g].addr)) {
            uint32_t big;

            memcpy(&big, nic->gid[g].addr.byte + 12, sizeof big);
            return ntohl(big);
        }
    return 0;
}

static uint32_t mask_of(uint32_t i)
{
    (void)i; /* 127.0.0.0/8 as well */
    return ADAPTER_MASK;
}

static unsigned flags_of(uint32_t i)
{
    return i == 0 ? LOOPBACK_FLAGS : ADAPTER_FLAGS;
}

/* --- getifaddrs --- */

struct if_room { /* of one entry; the whole answer is one block */
    struct ifaddrs entry;
    char name[IFNAMSIZ];
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_ll link;
    } address, mask, broadcast;
};

static struct sockaddr_in ipv4(uint32_t host_order)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(host_order)};
}

static void fill_link(struct if_room *room, uint32_t i)
{
    const struct attach_nic *nic = adapter_of(i);

    room->address.link = (struct sockaddr_ll){.sll_family = AF_PACKET,
                                              .sll_ifindex = (int)i + 1,
                                              .sll_hatype = nic ? ARPHRD_ETHER : ARPHRD_LOOPBACK,
                                              .sll_halen = 6};
    if (nic) memcpy(room->address.link.sll_addr, nic->mac, sizeof nic->mac);
    room->broadcast.link = room->address.link;
    memset(room->broadcast.link.sll_addr, nic ? 0xff : 0, 6);
    room->entry.ifa_broadaddr = &room->broadcast.any;
}

static void fill_ipv4(struct if_room *room, uint32_t i)
{
    room->address.four = ipv4(address_of(i));
    room->mask.four = ipv4(mask_of(i));
    room->broadcast.four = ipv4(address_of(i) | ~mask_of(i));
    room->entry.ifa_netmask = &room->mask.any;
    room->entry.ifa_broadaddr = i == 0 ? &room->address.any : &room->broadcast.any;
}

EXPORT int getifaddrs(struct ifaddrs **ret)
{
    struct if_room *room;
    uint32_t count;

    if (!streams_managed()) return REAL(getifaddrs)(ret);
    count = 2 * interfaces();
    room = calloc(count, sizeof *room);
    if (room == NULL) return -1;
    for (uint32_t k = 0; k < count; k++) { /* links first, as the kernel has it */
        uint32_t i = k % interfaces();

        snprintf(room[k].name, sizeof room[k].name, "%s", name_of(i));
        room[k].entry.ifa_name = room[k].name;
        room[k].entry.ifa_flags = flags_of(i);
        room[k].entry.ifa_addr = &room[k].address.any;
        if (k < interfaces())
            fill_link(&room[k], i);
        else
            fill_ipv4(&room[k], i);
        if (k + 1 < count) room[k].entry.ifa_next = &room[k + 1].entry;
    }
    *ret = &room->entry;
    return 0;
}

/* --- names and indices --- */

EXPORT unsigned if_nametoindex(const char *name)
{
    uint32_t i;

    if (!streams_managed()) return REAL(if_nametoindex)(name);
    i = find_interface(name);
    if (i == UINT32_MAX) errno = ENODEV;
    return i == UINT32_MAX ? 0 : i + 1;
}

EXPORT char *if_indextoname(unsigned index, char ret[IF_NAMESIZE])
{
    if (!streams_managed()) return REAL(if_indextoname)(index, ret);
    if (index == 0 || index > interfaces()) {
        errno = ENXIO;
        return NULL;
    }
    snprintf(ret, IFNAMSIZ, "%s", name_of(index - 1));
    return ret;
}

EXPORT struct if_nameindex *if_nameindex(void)
{
    struct if_nameindex *list;

    if (!streams_managed()) return REAL(if_nameindex)();
    list = calloc(interfaces() + 1, sizeof *list);
    for (uint32_t i = 0; list && i < interfaces(); i++) {
        list[i].if_index = i + 1;
        list[i].if_name = strdup(name_of(i));
    }
    return list;
}

/* --- ioctl --- */

static int get_list(struct ifconf *list)
{
    int most = list->ifc_req ? list->ifc_len / (int)sizeof(struct ifreq) : 0;
    int count = (int)interfaces();

    for (int i = 0; i < count && i < most; i++) {
        struct ifreq *at = &list->ifc_req[i];
        struct sockaddr_in address = ipv4(address_of((uint32_t)i));

        memset(at, 0, sizeof *at);
        snprintf(at->ifr_name, sizeof at->ifr_name, "%s", name_of((uint32_t)i));
        memcpy(&at->ifr_addr, &address, sizeof address);
    }
    if (list->ifc_req && count > most) count = most;
    list->ifc_len = count * (int)sizeof(struct ifreq);
    return 0;
}

static void put_ipv4(struct sockaddr *to, uint32_t host_order)
{
    struct sockaddr_in address = ipv4(host_order);

    memcpy(to, &address, sizeof address);
}

static int get_one(unsigned long what, struct ifreq *request)
{
    uint32_t i = what == SIOCGIFNAME ? (uint32_t)request->ifr_ifindex - 1 : find_interface(request->ifr_name);
    const struct attach_nic *nic;

    if (i >= interfaces()) return -ENODEV;
    nic = adapter_of(i);
    switch (what) {
    case SIOCGIFNAME:
        snprintf(request->ifr_name, sizeof request->ifr_name, "%s", name_of(i));
        return 0;
    case SIOCGIFINDEX:
        request->ifr_ifindex = (int)i + 1;
        return 0;
    case SIOCGIFFLAGS:
        request->ifr_flags = (short)flags_of(i);
        return 0;
    case SIOCGIFADDR:
        put_ipv4(&request->ifr_addr, address_of(i));
        return 0;
    case SIOCGIFDSTADDR:
        put_ipv4(&request->ifr_dstaddr, address_of(i));
        return 0;
    case SIOCGIFBRDADDR:
        put_ipv4(&request->ifr_broadaddr, address_of(i) | ~mask_of(i));
        return 0;
    case SIOCGIFNETMASK:
        put_ipv4(&request->ifr_netmask, mask_of(i));
        return 0;
    case SIOCGIFMTU:
        request->ifr_mtu = nic ? (int)(nic->mtu + HEADERS_BYTES) : 65536;
        return 0;
    case SIOCGIFMETRIC:
        request->ifr_metric = 0;
        return 0;
    case SIOCGIFTXQLEN:
        request->ifr_qlen = 1000;
        return 0;
    case SIOCGIFHWADDR:
        memset(&request->ifr_hwaddr, 0, sizeof request->ifr_hwaddr);
        request->ifr_hwaddr.sa_family = nic ? ARPHRD_ETHER : ARPHRD_LOOPBACK;
        if (nic) memcpy(request->ifr_hwaddr.sa_data, nic->mac, sizeof nic->mac);
        return 0;
    default:
        return -EOPNOTSUPP;
    }
}

/* Requests about interfaces have numbers of their own: 0x8910 to 0x894f, whatever socket they are asked of. */
EXPORT int ioctl(int fd, unsigned long what, ...)
{
    va_list list;
    void *argument;

    va_start(list, what);
    argument = va_arg(list, void *);
    va_end(list);
    if (!streams_managed() || what < SIOCGIFNAME || what > SIOCETHTOOL || argument == NULL)
        return (int)as_libc(RAW(SYS_ioctl, fd, what, argument, 0, 0, 0));
    return (int)as_libc(what == SIOCGIFCONF ? get_list(argument) : get_one(what, argument));
}
