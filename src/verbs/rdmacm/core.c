/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's core: opened devices, the thread, and the way between the connection machine and QP1.
 *
 * Devices are opened when an address first needs one, and stay open.  The thread begins with the first id
 * and sleeps until a datagram comes for QP1 or the machine has something to repeat.  A listener for all addresses
 * also serves interfaces that come up later: the kernel tells about those.  Adapters of a fabric are all there from the
 * beginning.
 *
 * Messages go out eight in a millisecond: more at once would overrun what a receiver can hold (a process of this
 * machine that does not own QP1 gets them through a datagram socket where ten wait, and a lost one costs a quarter of
 * a second).  The rest waits in the machine, and the thread sends it.
 *
 * When the process ends, whoever is still connected is told (DREQ), as a kernel would do, and told again where no
 * answer comes: a peer that misses it waits for ever.  A kernel goes on asking after the process; we are the process,
 * so its end waits, a second at most and only while a DREQ is unanswered or a message unsent.  The thread does this
 * and whoever calls exit() only waits for it: exit() may come in a signal handler, upon any of our locks.  After
 * fork() the child begins anew: ids and channels of the parent are of no use to it.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "verbs/ibverbs/behind.h"
#include "verbs/rdmacm/rdmacm_int.h"
#include "wire/system.h"

#define LINGER_NS 1000000000ULL
#define BURST 8u
#define BURST_NS 1000000u

static atomic_bool leaving; /* the process ends */
static sem_t left;          /* and the thread is through */
static pid_t owner;         /* a child that was made without fork()'s handlers is not the process that ends */

struct rdmacm rdmacm = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .acknowledged = PTHREAD_COND_INITIALIZER,
                        .wake_fd = -1,
                        .netlink_fd = -1,
                        .look_ns = CM_NEVER};

int rdmacm_fail(int error)
{
    errno = error;
    return -1;
}

uint64_t rdmacm_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool rdmacm_gid_of(const struct rdevice *device, const struct pkt_addr *address, uint8_t *ret)
{
    struct device_info now = *device_info_of(device->live);

    for (unsigned i = 0; i < now.gids; i++) {
        if (!now.gid[i].usable || now.gid[i].net == PKT_NET_V1) continue;
        if (memcmp(&now.gid[i].addr, address, sizeof *address) != 0) continue;
        *ret = (uint8_t)i;
        return true;
    }
    return false;
}

static struct rdevice *find_opened(const char *ifname)
{
    struct rdevice *device = rdmacm.devices;

    while (device != NULL && strcmp(device_info_of(device->live)->ifname, ifname) != 0)
        device = device->next;
    return device;
}

static struct rdevice *open_device(struct ibv_device *ibv)
{
    struct rdevice *device = calloc(1, sizeof *device), **end = &rdmacm.devices;

    if (device == NULL) return NULL;
    device->verbs = ibv_open_device(ibv);
    if (device->verbs == NULL) {
        free(device);
        return NULL;
    }
    device->pd = ibv_alloc_pd(device->verbs);
    device->live = device_behind(device->verbs);
    device->mad_fd = device_mad_fd(device->live);
    while (*end != NULL)
        end = &(*end)->next;
    *end = device;
    if (rdmacm.wake_fd >= 0) (void)eventfd_write(rdmacm.wake_fd, 1); /* the thread has one more to watch */
    return device;
}

static bool has_address(const struct device_info *device, const struct pkt_addr *address)
{
    for (unsigned i = 0; i < device->gids; i++)
        if (memcmp(&device->gid[i].addr, address, sizeof *address) == 0) return true;
    return false;
}

/* Opens the devices that have the address (NULL: all), as far as they can be. */
static int open_some(const struct pkt_addr *address)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    int error = -ENODEV;

    if (list == NULL) return -errno;
    for (unsigned i = 0; list[i] != NULL && i < RDMACM_DEVICES_MAX; i++) {
        const struct device_info *found = device_info_behind(list[i]);
        if (address != NULL && !has_address(found, address)) continue;
        errno = ENODEV;
        if (find_opened(found->ifname) != NULL || open_device(list[i]) != NULL)
            error = 0;
        else if (error == -ENODEV)
            error = -errno;
    }
    ibv_free_device_list(list);
    return error;
}

int rdmacm_open_all(void)
{
    int error = open_some(NULL), count = 0;

    for (const struct rdevice *device = rdmacm.devices; device != NULL; device = device->next)
        count++;
    return count > 0 ? count : error;
}

int rdmacm_device_of(const struct pkt_addr *address, struct rdevice **ret, uint8_t *ret_gid)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        for (struct rdevice *device = rdmacm.devices; device != NULL; device = device->next)
            if (rdmacm_gid_of(device, address, ret_gid)) {
                *ret = device;
                return 0;
            }
        int error = attempt == 0 ? open_some(address) : 0;
        if (error < 0) return error;
    }
    return -ENODEV;
}

static void send_some(void)
{
    static uint64_t begun_ns;
    static unsigned sent;
    uint64_t now_ns = rdmacm_now_ns();
    struct cm_send send;

    if (now_ns - begun_ns >= BURST_NS) {
        begun_ns = now_ns;
        sent = 0;
    }
    for (; sent < BURST && cm_next_send(rdmacm.engine, &send); sent++) {
        const struct rdevice *device = send.to.port;
        struct device_path path = {
            .gid_index = send.to.gid_index, .remote = send.to.remote, .tos = send.to.tos, .hop_limit = 64};
        (void)device_mad_send(device->live, &path, send.data); /* what is lost is repeated */
    }
}

void rdmacm_flush(void)
{
    struct cm_event event;

    /* Telling about an event can make the machine answer, and the other way round. */
    while (cm_next_event(rdmacm.engine, &event))
        rdmacm_on_event(&event);
    send_some();
    if (rdmacm.wake_fd >= 0) (void)eventfd_write(rdmacm.wake_fd, 1);
}

static void receive(struct rdevice *device)
{
    struct device_mad mad;

    for (int i = 0; i < 256 && device_mad_receive(device->live, &mad) == 1; i++) {
        struct cm_peer from = {.port = device, .gid_index = mad.gid_index, .local = mad.dst, .remote = mad.src};
        cm_receive(rdmacm.engine, &from, mad.data, rdmacm_now_ns());
    }
}

static void netlink_changed(void)
{
    char ignored[4096];

    while (recv(rdmacm.netlink_fd, ignored, sizeof ignored, MSG_DONTWAIT) > 0)
        ;
    if (!rdmacm.every_device) return;
    (void)rdmacm_open_all();
    for (struct rid *id = rdmacm.ids; id != NULL; id = id->next)
        for (struct rdevice *device = rdmacm.devices; device != NULL && id->listening && id->any; device = device->next)
            (void)rdmacm_listen_on(id, device);
}

/* How long the thread may sleep, in milliseconds. */
static int wait_ms(void)
{
    uint64_t deadline_ns = cm_deadline(rdmacm.engine), now_ns = rdmacm_now_ns();

    if (cm_has_send(rdmacm.engine)) return 1;
    if (rdmacm.look_ns < deadline_ns) deadline_ns = rdmacm.look_ns;
    if (deadline_ns == CM_NEVER) return -1;
    if (deadline_ns <= now_ns) return 0;
    return (int)((deadline_ns - now_ns) / 1000000 % 1000000) + 1;
}

static nfds_t watch(struct pollfd fds[RDMACM_DEVICES_MAX + 2])
{
    nfds_t count = 0;

    fds[count++] = (struct pollfd){.fd = rdmacm.wake_fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = rdmacm.netlink_fd, .events = POLLIN};
    for (const struct rdevice *d = rdmacm.devices; d != NULL && count < RDMACM_DEVICES_MAX + 2; d = d->next)
        fds[count++] = (struct pollfd){.fd = d->mad_fd, .events = POLLIN};
    return count;
}

/* The lock is held and kept: no thread of the program may touch what is being taken down. */
static _Noreturn void leave(void)
{
    struct pollfd fds[RDMACM_DEVICES_MAX + 2];
    uint64_t until_ns = rdmacm_now_ns() + LINGER_NS;
    struct cm_event event;

    cm_release_all(rdmacm.engine, rdmacm_now_ns());
    send_some();
    while ((cm_leaving(rdmacm.engine) || cm_has_send(rdmacm.engine)) && rdmacm_now_ns() < until_ns) {
        nfds_t count = watch(fds);
        int timeout_ms = wait_ms();

        (void)poll(&fds[2], count - 2, timeout_ms < 0 || timeout_ms > 50 ? 50 : timeout_ms);
        for (struct rdevice *d = rdmacm.devices; d != NULL; d = d->next)
            receive(d);
        cm_tick(rdmacm.engine, rdmacm_now_ns());
        while (cm_next_event(rdmacm.engine, &event))
            ; /* nobody is left to be told */
        send_some();
    }
    sem_post(&left);
    for (;;)
        pause();
}

static void *run(void *unused)
{
    struct pollfd fds[RDMACM_DEVICES_MAX + 2];
    eventfd_t value;

    (void)unused;
    pthread_mutex_lock(&rdmacm.lock);
    for (;;) {
        int timeout_ms = wait_ms();
        nfds_t count = watch(fds);

        pthread_mutex_unlock(&rdmacm.lock);
        (void)poll(fds, count, timeout_ms);
        pthread_mutex_lock(&rdmacm.lock);
        if (fds[0].revents & POLLIN) (void)eventfd_read(rdmacm.wake_fd, &value);
        if (fds[1].revents & POLLIN) netlink_changed();
        for (struct rdevice *d = rdmacm.devices; d != NULL; d = d->next)
            receive(d);
        rdmacm_peers_look(rdmacm_now_ns());
        cm_tick(rdmacm.engine, rdmacm_now_ns());
        rdmacm_flush();
        (void)eventfd_read(rdmacm.wake_fd, &value); /* the flush was our own */
        if (atomic_load(&leaving)) leave();         /* after the read: whoever leaves says so, then wakes us */
    }
    return NULL;
}

static void forked(void)
{
    memset(&rdmacm, 0, sizeof rdmacm);
    pthread_mutex_init(&rdmacm.lock, NULL);
    pthread_cond_init(&rdmacm.acknowledged, NULL);
    rdmacm.wake_fd = rdmacm.netlink_fd = -1;
    rdmacm.look_ns = CM_NEVER;
    atomic_store(&leaving, false);
}

int rdmacm_start(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    static bool once;
    sigset_t all, before;
    pthread_t thread;
    uint64_t seed = 0;
    int error;

    if (rdmacm.running) return 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) seed = rdmacm_now_ns() ^ (uint64_t)getpid() << 40;
    if (rdmacm.engine == NULL) rdmacm.engine = cm_engine_create(seed);
    if (rdmacm.engine == NULL) return -ENOMEM;
    rdmacm.next_port = (uint32_t)(seed >> 32);
    if (rdmacm.wake_fd < 0) rdmacm.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (rdmacm.wake_fd < 0) return -errno;
    if (!device_provided())
        rdmacm.netlink_fd = system_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (rdmacm.netlink_fd >= 0) (void)bind(rdmacm.netlink_fd, (const struct sockaddr *)&address, sizeof address);
    owner = getpid();
    (void)sem_init(&left, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) return -error;
    pthread_detach(thread);
    rdmacm.running = true;
    if (!once) pthread_atfork(NULL, NULL, forked);
    once = true;
    return 0;
}

/* The process ends: peers are told. */
__attribute__((destructor)) static void end(void)
{
    uint64_t until_ns = rdmacm_now_ns() + LINGER_NS + LINGER_NS / 10;
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u), .tv_nsec = (long)(until_ns % 1000000000u)};

    if (!rdmacm.running || owner != getpid()) return;
    atomic_store(&leaving, true);
    (void)eventfd_write(rdmacm.wake_fd, 1);
    while (sem_clockwait(&left, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR)
        ;
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
    struct ibv_context **list = NULL;
    int count;

    pthread_mutex_lock(&rdmacm.lock);
    count = rdmacm_start() < 0 ? 0 : rdmacm_open_all();
    if (count < 0) count = 0;
    list = calloc((size_t)count + 1, sizeof *list);
    if (list == NULL) {
        count = 0;
    } else {
        struct rdevice *device = rdmacm.devices;
        for (int i = 0; i < count; i++, device = device->next)
            list[i] = device->verbs;
    }
    pthread_mutex_unlock(&rdmacm.lock);
    if (num_devices != NULL) *num_devices = count;
    return list;
}

void rdma_free_devices(struct ibv_context **list)
{
    free(list);
}
