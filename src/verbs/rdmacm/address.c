/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: binding, finding the way to a destination, listening.
 *
 * A local address names a device: the interface that has it.  Which local address reaches a destination, the
 * provider of the devices tells, or the kernel's routing table (a UDP socket is connected and asked for its name;
 * nothing is sent).  A route needs no asking: on Ethernet the path is the two addresses.
 *
 * Ports are those of the RDMA port spaces, not of TCP and UDP.  Processes of this machine share them (the
 * device tells who has which) from the moment an address is bound; the port of the active side is only told to the
 * peer, so it is not reserved.
 */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "packet/codec.h"
#include "verbs/rdmacm/rdmacm_int.h"
#include "wire/system.h"

#define PORT_FIRST 32768u
#define PORTS 28232u /* up to 60999, as the kernel's ephemeral ports */
#define PORT_ATTEMPTS 1024

socklen_t rdmacm_sockaddr_bytes(const struct sockaddr *address)
{
    return address->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
           : address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                            : 0;
}

struct pkt_addr rdmacm_address(const struct sockaddr *address)
{
    struct pkt_addr ret;

    if (address->sa_family == AF_INET)
        return pkt_addr_ipv4(be32toh(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    memcpy(ret.byte, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    return ret;
}

bool rdmacm_any(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == 0;
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return be32toh(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool is_group(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return IN_MULTICAST(be32toh(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    return IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The port is at the same place in both families. */
uint16_t rdmacm_port(const struct sockaddr *address)
{
    return be16toh(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

void rdmacm_set_port(struct sockaddr *address, uint16_t port)
{
    ((struct sockaddr_in *)(void *)address)->sin_port = htobe16(port);
}

void rdmacm_sockaddr(struct sockaddr_storage *ret, const struct pkt_addr *address, bool v6, uint16_t port)
{
    memset(ret, 0, sizeof *ret);
    ret->ss_family = v6 ? AF_INET6 : AF_INET;
    rdmacm_set_port((struct sockaddr *)ret, port);
    if (v6)
        memcpy(&((struct sockaddr_in6 *)(void *)ret)->sin6_addr, address->byte, 16);
    else
        memcpy(&((struct sockaddr_in *)(void *)ret)->sin_addr, &address->byte[12], 4);
}

void rdmacm_attach(struct rid *id, struct rdevice *device, uint8_t gid_index)
{
    struct ibv_port_attr port = {.active_mtu = IBV_MTU_1024};

    id->device = device;
    id->gid_index = gid_index;
    id->pub.verbs = device->verbs;
    id->pub.pd = device->pd; /* programs take it from here before they have a queue pair */
    id->pub.port_num = 1;
    id->any = false;
    (void)ibv_query_port(device->verbs, 1, &port);
    id->mtu = (uint8_t)port.active_mtu;
}

void rdmacm_path(struct rid *id)
{
    struct rdma_addr *addr = &id->pub.route.addr;
    struct ibv_sa_path_rec *path = &id->path;
    struct pkt_addr local = rdmacm_address(&addr->src_addr), remote = rdmacm_address(&addr->dst_addr);

    memcpy(addr->addr.ibaddr.sgid.raw, local.byte, 16);
    memcpy(addr->addr.ibaddr.dgid.raw, remote.byte, 16);
    addr->addr.ibaddr.pkey = htobe16(PROTO_PKEY_DEFAULT);
    memset(path, 0, sizeof *path);
    path->sgid = addr->addr.ibaddr.sgid;
    path->dgid = addr->addr.ibaddr.dgid;
    path->hop_limit = 64;
    path->traffic_class = id->tos;
    path->reversible = 1;
    path->numb_path = 1;
    path->pkey = htobe16(PROTO_PKEY_DEFAULT);
    path->mtu_selector = path->rate_selector = path->packet_life_time_selector = 2; /* exactly */
    path->mtu = id->mtu;
    path->rate = IBV_RATE_100_GBPS;
    path->packet_life_time = RDMACM_ACK_TIMEOUT - 1;
    id->pub.route.path_rec = path;
    id->pub.route.num_paths = 1;
}

/* What an id is registered with: its address; all addresses of its family; or (NULL) all, which [::] means where no
 * option says otherwise. */
static const struct pkt_addr *registered(const struct rid *id, struct pkt_addr *store)
{
    *store = rdmacm_address(&id->pub.route.addr.src_addr);
    return id->any && id->pub.route.addr.src_addr.sa_family == AF_INET6 && !id->v6_only ? NULL : store;
}

/* Another id of this process has the port at an overlapping address. */
static bool taken_here(const struct rid *id, uint64_t service_id)
{
    struct pkt_addr own, theirs;
    unsigned families = pkt_addr_families(registered(id, &own));

    for (struct rid *other = rdmacm.ids; other != NULL; other = other->next) {
        if (other == id || !other->bound || other->service_id != service_id || other->listener != NULL) continue;
        if (!other->reserved && !other->listening) continue;
        if (id->reuse && other->reuse && !other->listening) continue;
        if (!(pkt_addr_families(registered(other, &theirs)) & families)) continue;
        if (id->any || other->any || memcmp(&own, &theirs, sizeof own) == 0) return true;
    }
    return false;
}

int rdmacm_listen_on(struct rid *id, struct rdevice *device)
{
    struct pkt_addr store;

    return device_cm_listen(device->live, id->service_id, registered(id, &store));
}

static void unreserve(struct rid *id)
{
    struct pkt_addr store;
    const struct pkt_addr *address = registered(id, &store);

    if (!id->reserved) return;
    for (struct rdevice *device = rdmacm.devices; device != NULL; device = device->next)
        if (id->any || device == id->device) device_cm_unlisten(device->live, id->service_id, address);
    id->reserved = false;
}

static int reserve(struct rid *id)
{
    int error = 0;

    if (id->reserved) return 0;
    if (taken_here(id, id->service_id)) return -EADDRINUSE;
    id->reserved = true;
    for (struct rdevice *device = rdmacm.devices; error == 0 && device != NULL; device = device->next)
        if (id->any || device == id->device) error = rdmacm_listen_on(id, device);
    if (error < 0) unreserve(id);
    return error;
}

static uint16_t next_port(void)
{
    return (uint16_t)(PORT_FIRST + rdmacm.next_port++ % PORTS);
}

uint64_t rdmacm_service(const struct rid *id, uint16_t port)
{
    return ((uint64_t)(unsigned)id->pub.ps << 16) + port;
}

static int choose_port(struct rid *id, uint16_t port)
{
    struct sockaddr *source = &id->pub.route.addr.src_addr;
    int error = -EADDRINUSE;

    for (int i = 0; i < PORT_ATTEMPTS && error == -EADDRINUSE; i++) {
        uint16_t now = port ? port : next_port();
        rdmacm_set_port(source, now);
        id->service_id = rdmacm_service(id, now);
        error = id->reuse && port ? 0 : reserve(id);
        if (port) break;
    }
    return error;
}

/* What [::] means where no option says it, as for sockets. */
static bool bind_v6_only(void)
{
    FILE *file = fopen("/proc/sys/net/ipv6/bindv6only", "re");
    int first = file != NULL ? fgetc(file) : '0';

    if (file != NULL) (void)fclose(file);
    return first == '1';
}

/* The device of an address.  A loopback address has one too, the first where it is nobody's, but to the program it
 * names none, as with a kernel: libfabric tells its peers the address of what 127.0.0.1 names.  A loopback interface
 * that is a device itself is named. */
static int attach_bound(struct rid *id, const struct sockaddr *address)
{
    struct pkt_addr local = rdmacm_address(address);
    struct rdevice *device = NULL;
    uint8_t gid = 0;

    if (rdmacm_any(address)) {
        id->any = true;
        return rdmacm_open_all();
    }
    int error = rdmacm_device_of(&local, &device, &gid);
    if (error == -ENODEV && is_loopback(address)) {
        error = rdmacm_open_all();
        device = rdmacm.devices;
    }
    if (error < 0) return error;
    rdmacm_attach(id, device, gid);
    if (is_loopback(address) && !device_info_of(device->live)->loopback) {
        id->pub.verbs = NULL;
        id->pub.pd = NULL;
    }
    return 0;
}

static int bind_locked(struct rid *id, const struct sockaddr *address)
{
    struct rdma_addr *addr = &id->pub.route.addr;
    int error = rdmacm_start();

    if (error < 0) return error;
    if (id->bound) return -EINVAL;
    if (!id->v6_only_set) id->v6_only = bind_v6_only();
    error = attach_bound(id, address);
    if (error < 0) return error == -ENODEV ? -EADDRNOTAVAIL : error;
    memcpy(&addr->src_storage, address, rdmacm_sockaddr_bytes(address));
    error = choose_port(id, rdmacm_port(address));
    if (error == 0) id->bound = true;
    return error;
}

int rdma_bind_addr(struct rdma_cm_id *pub, struct sockaddr *address)
{
    int error;

    if (rdmacm_sockaddr_bytes(address) == 0) return rdmacm_fail(EAFNOSUPPORT);
    pthread_mutex_lock(&rdmacm.lock);
    error = bind_locked(rid_of(pub), address);
    pthread_mutex_unlock(&rdmacm.lock);
    return error < 0 ? rdmacm_fail(-error) : 0;
}

void rdmacm_unbind(struct rid *id)
{
    struct pkt_addr store;

    if (id->listening) cm_unlisten(rdmacm.engine, id->service_id, registered(id, &store));
    id->listening = false;
    unreserve(id);
    id->bound = false;
}

int rdma_listen(struct rdma_cm_id *pub, int backlog)
{
    static const struct sockaddr_in any = {.sin_family = AF_INET};
    struct rid *id = rid_of(pub);
    struct pkt_addr store;
    int error = 0;

    pthread_mutex_lock(&rdmacm.lock);
    if (!id->bound) error = bind_locked(id, (const struct sockaddr *)&any);
    if (error == 0 && !id->listening) {
        error = reserve(id);
        if (error == 0) error = cm_listen(rdmacm.engine, id->service_id, registered(id, &store), id);
        if (error == 0) id->listening = true;
        if (id->any) rdmacm.every_device = true;
    }
    id->backlog = backlog > 0 && backlog < 1024 ? backlog : 1024;
    pthread_mutex_unlock(&rdmacm.lock);
    return error < 0 ? rdmacm_fail(-error) : 0;
}

/* The local address that reaches a destination. */
static int source_of(const struct sockaddr *destination, struct sockaddr_storage *ret)
{
    struct sockaddr_storage to = {.ss_family = destination->sa_family};
    socklen_t bytes = sizeof *ret;
    struct pkt_addr far = rdmacm_address(destination), near;
    int error = device_source(&far, &near);

    if (error == 0) rdmacm_sockaddr(ret, &near, destination->sa_family == AF_INET6, 0);
    if (error != -EOPNOTSUPP) return error;
    int fd = system_socket(destination->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    error = 0;
    memcpy(&to, destination, rdmacm_sockaddr_bytes(destination));
    if (rdmacm_port(destination) == 0) rdmacm_set_port((struct sockaddr *)&to, 9);
    if (connect(fd, (const struct sockaddr *)&to, rdmacm_sockaddr_bytes(destination)) < 0) error = -errno;
    if (error == 0 && getsockname(fd, (struct sockaddr *)ret, &bytes) < 0) error = -errno;
    close(fd);
    return error;
}

/* A group that no route leads to goes out by the first device. */
static int first_source(sa_family_t family, struct sockaddr_storage *ret)
{
    int error = rdmacm_open_all();

    if (error < 0) return error;
    for (const struct rdevice *device = rdmacm.devices; device != NULL; device = device->next) {
        const struct device_info *live = device_info_of(device->live);
        for (unsigned i = 0; i < live->gids; i++) {
            if (live->gid[i].net != (family == AF_INET ? PKT_NET_IPV4 : PKT_NET_IPV6) || !live->gid[i].usable) continue;
            rdmacm_sockaddr(ret, &live->gid[i].addr, family == AF_INET6, 0);
            return 0;
        }
    }
    return -ENODEV;
}

static int resolve_locked(struct rid *id, const struct sockaddr *source, const struct sockaddr *destination)
{
    struct rdma_addr *addr = &id->pub.route.addr;
    struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
    struct pkt_addr address;
    struct rdevice *device = NULL;
    uint16_t port = id->bound ? rdmacm_port(&addr->src_addr) : source ? rdmacm_port(source) : 0;
    uint8_t gid = 0;
    int error = rdmacm_start();

    if (error < 0) return error;
    if (id->bound && !id->any)
        memcpy(&local, &addr->src_storage, sizeof local);
    else if (source != NULL && !rdmacm_any(source))
        memcpy(&local, source, rdmacm_sockaddr_bytes(source));
    else
        error = source_of(destination, &local);
    if (error < 0 && is_group(destination)) error = first_source(destination->sa_family, &local);
    if (error < 0) return error;
    address = rdmacm_address((const struct sockaddr *)&local);
    error = rdmacm_device_of(&address, &device, &gid);
    if (error < 0) return error;
    if (id->bound && id->any) unreserve(id);
    rdmacm_attach(id, device, gid);
    memcpy(&addr->src_storage, &local, sizeof local);
    rdmacm_set_port(&addr->src_addr, port ? port : next_port());
    if (!id->reserved) id->service_id = rdmacm_service(id, rdmacm_port(&addr->src_addr));
    memset(&addr->dst_storage, 0, sizeof addr->dst_storage);
    memcpy(&addr->dst_storage, destination, rdmacm_sockaddr_bytes(destination));
    id->bound = true;
    rdmacm_path(id);
    return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *pub, struct sockaddr *source, struct sockaddr *destination, int timeout_ms)
{
    static const struct sockaddr_in loop4 = {.sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f};
    struct rid *id = rid_of(pub);
    struct sockaddr_storage store;
    const struct sockaddr *to = destination;
    int error;

    (void)timeout_ms; /* nothing here waits for another machine */
    if (rdmacm_sockaddr_bytes(destination) == 0) return rdmacm_fail(EAFNOSUPPORT);
    if (source != NULL && source->sa_family != AF_UNSPEC && source->sa_family != destination->sa_family)
        return rdmacm_fail(EINVAL);
    if (source != NULL && source->sa_family == AF_UNSPEC) source = NULL;
    if (rdmacm_any(destination)) { /* this machine */
        memset(&store, 0, sizeof store);
        memcpy(&store, destination, rdmacm_sockaddr_bytes(destination));
        if (destination->sa_family == AF_INET)
            ((struct sockaddr_in *)(void *)&store)->sin_addr = loop4.sin_addr;
        else
            ((struct sockaddr_in6 *)(void *)&store)->sin6_addr = in6addr_loopback;
        to = (const struct sockaddr *)&store;
    }
    pthread_mutex_lock(&rdmacm.lock);
    error = resolve_locked(id, source, to);
    rdmacm_queue(id, error < 0 ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, error);
    pthread_mutex_unlock(&rdmacm.lock);
    return rdmacm_complete(id);
}

int rdma_resolve_route(struct rdma_cm_id *pub, int timeout_ms)
{
    struct rid *id = rid_of(pub);

    (void)timeout_ms;
    if (id->device == NULL) return rdmacm_fail(EINVAL);
    pthread_mutex_lock(&rdmacm.lock);
    rdmacm_path(id);
    rdmacm_queue(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    pthread_mutex_unlock(&rdmacm.lock);
    return rdmacm_complete(id);
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
    return ((const struct sockaddr_in *)(const void *)&id->route.addr.src_addr)->sin_port;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
    return ((const struct sockaddr_in *)(const void *)&id->route.addr.dst_addr)->sin_port;
}
