/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices: the machine's interfaces that are up and have an address.
 *
 * Named rocelab0 on in the order of their interface numbers, or as ROCELAB_DEVICE says: a list of interfaces,
 * each with a name of its own if wanted (mlx5_0=eth0,lo).  The loopback is a device only where there is no other:
 * programs that use every device they find (UCX, NCCL) would try to reach other machines by it.  Else its
 * addresses are the first device's last GIDs, so that 127.0.0.1 works.  A device's GIDs are its addresses, RoCE
 * v2: IPv4 (mapped) first, so that GID 0 is the one most programs want, then IPv6.  Where frames are ours to write (the
 * packet wire) each of its own addresses is a v1 GID too, behind all of v2: so a GID of v2 has the same number
 * whatever the wire, and no program gets v1 without asking.  A UDP socket has no Ethertype to set, so other wires
 * have none.
 * The rate is what the kernel says (virtual interfaces say nothing: 100G).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "live/environment.h"
#include "live/live_int.h"
#include "packet/codec.h"
#include "wire/system.h"

#define RATE_DEFAULT_BPS 100000000000ULL
#define DEVICES_MAX 64u

static uint64_t read_number(const char *ifname, const char *what)
{
    char path[128];
    unsigned long long value = 0;

    snprintf(path, sizeof path, "/sys/class/net/%s/%s", ifname, what);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    long long read = 0;
    if (fscanf(file, "%lld", &read) == 1 && read > 0) value = (unsigned long long)read;
    fclose(file);
    return value;
}

static uint32_t read_mtu(const char *ifname)
{
    struct ifreq request = {.ifr_mtu = 0};
    int fd = system_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0) return 1500;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%.15s", ifname);
    int error = ioctl(fd, SIOCGIFMTU, &request);
    close(fd);
    return error < 0 ? 1500 : (uint32_t)request.ifr_mtu;
}

/* EUI-64 of the MAC address; where there is none (loopback), a number of our own. */
static uint64_t guid_of(const uint8_t mac[6], unsigned ifindex)
{
    uint8_t guid[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
    static const uint8_t none[6];

    if (memcmp(mac, none, 6) == 0) return 0x02726f63ff000000ULL | ifindex;
    return load_be64(guid);
}

static void add_gid(struct device_info *device, const struct pkt_addr *addr, uint8_t net)
{
    if (device->gids == DEVICE_GIDS_MAX) return;
    device->gid[device->gids++] = (struct device_gid){.addr = *addr, .net = net, .usable = true};
}

static void add_addresses(struct device_info *device, const struct ifaddrs *list, int family, bool loopback)
{
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        struct pkt_addr addr;
        if (at->ifa_addr == NULL || at->ifa_addr->sa_family != family) continue;
        if (loopback ? !(at->ifa_flags & IFF_LOOPBACK) : strcmp(at->ifa_name, device->ifname) != 0) continue;
        if (family == AF_INET) {
            const struct sockaddr_in *in = (const void *)at->ifa_addr;
            addr = pkt_addr_ipv4(ntohl(in->sin_addr.s_addr));
            add_gid(device, &addr, PKT_NET_IPV4);
        } else {
            const struct sockaddr_in6 *in = (const void *)at->ifa_addr;
            memcpy(addr.byte, &in->sin6_addr, 16);
            add_gid(device, &addr, PKT_NET_IPV6);
        }
    }
}

static void fill(struct device_info *device, const struct ifaddrs *list)
{
    device->up = device->loopback = false;
    device->gids = 0;
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        if (strcmp(at->ifa_name, device->ifname) != 0) continue;
        device->up = at->ifa_flags & IFF_UP && at->ifa_flags & IFF_RUNNING;
        device->loopback = at->ifa_flags & IFF_LOOPBACK;
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_PACKET)
            memcpy(device->mac, ((const struct sockaddr_ll *)(const void *)at->ifa_addr)->sll_addr, 6);
    }
    add_addresses(device, list, AF_INET, false);
    add_addresses(device, list, AF_INET6, false);
    unsigned own = device->gids;
    if (device->has_loopback) {
        add_addresses(device, list, AF_INET, true);
        add_addresses(device, list, AF_INET6, true);
    }
    for (unsigned i = 0; i < own && device->has_v1; i++)
        add_gid(device, &device->gid[i].addr, PKT_NET_V1);
    device->ifindex = if_nametoindex(device->ifname);
    device->if_mtu = read_mtu(device->ifname);
    device->guid = guid_of(device->mac, device->ifindex);
    uint64_t megabits = read_number(device->ifname, "speed");
    device->line_bps = megabits && megabits < 10000000 ? megabits * 1000000 : RATE_DEFAULT_BPS;
}

static bool same_gid(const struct device_gid *a, const struct device_gid *b)
{
    return a->net == b->net && memcmp(&a->addr, &b->addr, sizeof a->addr) == 0;
}

static unsigned gid_place(const struct device_info *device, const struct device_gid *gid)
{
    unsigned at = 0;

    while (at < device->gids && !same_gid(&device->gid[at], gid))
        at++;
    return at;
}

/* GIDs keep their places: what is gone stays as unusable, for it may come back; what is new goes behind, and where
 * there is no room takes the place of one that is gone. */
void live_gids_merge(struct device_info *device, const struct device_info *fresh)
{
    for (unsigned i = 0; i < device->gids; i++)
        device->gid[i].usable = gid_place(fresh, &device->gid[i]) < fresh->gids;
    for (unsigned i = 0; i < fresh->gids; i++) {
        if (gid_place(device, &fresh->gid[i]) < device->gids) continue;
        unsigned at = 0;
        while (at < device->gids && (device->gids < DEVICE_GIDS_MAX || device->gid[at].usable))
            at++;
        if (at == DEVICE_GIDS_MAX) return;
        device->gids += at == device->gids;
        device->gid[at] = fresh->gid[i];
    }
}

int adapter_refresh(struct device_info *device)
{
    struct ifaddrs *list;
    struct device_info fresh = *device;

    if (getifaddrs(&list) < 0) return -errno;
    fill(&fresh, list);
    freeifaddrs(list);
    live_gids_merge(device, &fresh);
    device->up = fresh.up;
    device->if_mtu = fresh.if_mtu;
    return 0;
}

static bool known(const struct device_info *device, unsigned count, const char *ifname)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(device[i].ifname, ifname) == 0) return true;
    return false;
}

static unsigned find_all(struct device_info *device, const struct ifaddrs *list)
{
    unsigned count = 0;

    for (int loopback = 0; loopback < 2 && count == 0; loopback++)
        for (const struct ifaddrs *at = list; at && count < DEVICES_MAX; at = at->ifa_next) {
            if (!!(at->ifa_flags & IFF_LOOPBACK) != loopback || known(device, count, at->ifa_name)) continue;
            struct device_info *d = &device[count];
            snprintf(d->ifname, DEVICE_NAME_MAX, "%s", at->ifa_name);
            snprintf(d->name, DEVICE_NAME_MAX, "rocelab%u", count);
            d->has_v1 = live_environment_frames();
            fill(d, list);
            if (d->up && d->gids)
                count++;
            else
                memset(d, 0, sizeof *d);
        }
    if (count && !device[0].loopback) {
        device[0].has_loopback = true;
        fill(&device[0], list);
    }
    return count;
}

/* "mlx5_0=eth0,lo" */
static int find_listed(struct device_info *device, unsigned *ret_count, const struct ifaddrs *list, const char *text)
{
    unsigned count = 0;

    while (*text) {
        size_t length = strcspn(text, ",");
        size_t name = strcspn(text, "=");
        if (length && count < DEVICES_MAX) {
            struct device_info *d = &device[count];
            const char *ifname = name < length ? text + name + 1 : text;
            snprintf(d->ifname, DEVICE_NAME_MAX, "%.*s", (int)(text + length - ifname), ifname);
            if (name < length)
                snprintf(d->name, DEVICE_NAME_MAX, "%.*s", (int)name, text);
            else
                snprintf(d->name, DEVICE_NAME_MAX, "rocelab%u", count);
            d->has_v1 = live_environment_frames();
            fill(d, list);
            if (d->ifindex == 0 || d->gids == 0) {
                fprintf(stderr, "rocelab: ROCELAB_DEVICE: %s is %s\n", d->ifname,
                        d->ifindex ? "an interface without an address" : "no interface of this machine");
                return -EINVAL;
            }
            count++;
        }
        text += length + (text[length] == ',');
    }
    *ret_count = count;
    return 0;
}

int adapter_list(struct device_info **ret, unsigned *ret_count)
{
    const char *listed = getenv("ROCELAB_DEVICE");
    struct device_info *device = calloc(DEVICES_MAX + 1, sizeof *device);
    struct ifaddrs *list;
    unsigned count = 0;
    int error = 0;

    if (device == NULL) return -ENOMEM;
    if (getifaddrs(&list) < 0) {
        error = -errno;
        free(device);
        return error;
    }
    if (listed && listed[0])
        error = find_listed(device, &count, list, listed);
    else
        count = find_all(device, list);
    freeifaddrs(list);
    if (error < 0) {
        free(device);
        return error;
    }
    *ret = device;
    *ret_count = count;
    return 0;
}

int netlink_open(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK,
                                  .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    int fd = system_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

    if (fd < 0) return -1;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static bool address_in_use(const struct device_info *device, const struct pkt_addr *addr)
{
    for (unsigned i = 0; i < device->gids; i++)
        if (device->gid[i].usable && memcmp(&device->gid[i].addr, addr, sizeof *addr) == 0) return true;
    return false;
}

/* The wire follows the table; true: something is other than it was.  An address that has gone stays with the wire until
 * its place is another's: when it comes back, its sockets are there. */
static bool follow_gids(struct device *live, const struct device_info *before)
{
    bool changed = before->gids != live->device.gids;

    for (unsigned i = 0; i < live->device.gids; i++) {
        struct device_gid *gid = &live->device.gid[i];
        const struct device_gid *was = i < before->gids ? &before->gid[i] : NULL;
        bool replaced = was && !same_gid(was, gid);
        if (replaced && !address_in_use(&live->device, &was->addr)) wire_remove_address(live->wire, &was->addr);
        /* one that the wire cannot have is not usable, as when the device was opened */
        if (gid->usable && (!was || replaced || !was->usable))
            gid->usable = wire_add_address(live->wire, &gid->addr) == 0;
        changed = changed || replaced || (was && was->usable) != gid->usable;
    }
    return changed;
}

/* Other shards have the first's table; what their wire cannot have is not usable there. */
static void follow_first(struct device *shard)
{
    struct device_info before = shard->device;

    shard->device = shard->first->device;
    (void)follow_gids(shard, &before);
}

/* Has the kernel said anything?  What, is not read: it may have said more than there was room for. */
static bool netlink_told(int fd)
{
    char ignored[8192];
    bool told = false;
    ssize_t got;

    if (fd < 0) return false;
    while ((got = recv(fd, ignored, sizeof ignored, 0)) > 0 || (got < 0 && errno == ENOBUFS))
        told = true;
    return told;
}

void netlink_look(struct device *live, ps_t now)
{
    if (!netlink_told(live->netlink_fd)) return;
    struct device_info before = live->device;
    if (adapter_refresh(&live->device) == 0) {
        bool gids = follow_gids(live, &before);
        for (unsigned i = 1; i < live->shards; i++)
            if (live->shard[i]) follow_first(live->shard[i]);
        for (unsigned i = 0; i < live->shards; i++)
            if (live->shard[i]) port_link(live->shard[i], now);
        if (before.up != live->device.up)
            events_push(live, live->device.up ? DEVICE_EVENT_PORT_ACTIVE : DEVICE_EVENT_PORT_DOWN, NULL);
        if (gids) events_push(live, DEVICE_EVENT_GID_CHANGE, NULL);
    }
}
