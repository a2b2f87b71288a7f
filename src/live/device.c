/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An opened device: adapter, wire, registry and thread, one set for each interface of a process, counted; further sets
 * for what is shared out (shard.c) hang on the first.
 *
 * A process that forks keeps its devices; in the child they are inert (every call answers -ENODEV), since sockets,
 * shared memory and QPNs belong to the parent.  A child that wants RDMA opens the device anew and gets its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "live/counters.h"
#include "live/fault_end.h"
#include "live/live_int.h"

#define RECEIVE_BUFFER_BYTES (1u << 20) /* of a slow host; those of the simulator have the same */
#define FREE_NAKS 64                    /* without progress: copies and latecomers, on networks that make them */
#define LAST_WORD_PS (20 * PS_MS)

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *list;

bool live_inert(const struct device *live)
{
    return __atomic_load_n(&live->inert, __ATOMIC_RELAXED);
}

int live_enter(struct device *live)
{
    if (live_inert(live)) return -ENODEV;
    if (shard_many(live))
        shard_lock(live);
    else
        pthread_mutex_lock(&live->lock);
    return 0;
}

void live_leave(struct device *live)
{
    pthread_mutex_unlock(&live->lock);
}

/* In the child: let go of the copies of the parent's descriptors, which would keep its sockets alive, and of nothing
 * else. */
static void let_go(struct device *live)
{
    __atomic_store_n(&live->inert, true, __ATOMIC_RELAXED);
    wire_close(live->wire);
    registry_leave(live->registry);
    counters_fork(live);
    close(live->wake_fd);
    if (live->owed_fd >= 0) close(live->owed_fd);
    if (live->netlink_fd >= 0) close(live->netlink_fd);
}

static void fork_child(void)
{
    for (struct device *live = list; live; live = live->next)
        for (unsigned i = live->shards; i-- > 0;)
            if (live->shard[i]) let_go(live->shard[i]);
    list = NULL;
    fault_end_forget();
    pthread_mutex_init(&list_lock, NULL);
}

/* Nobody is in the middle of anything when the process is copied. */
static void fork_prepare(void)
{
    pthread_mutex_lock(&list_lock);
    for (struct device *live = list; live; live = live->next)
        (void)shard_enter_all(live);
}

static void fork_parent(void)
{
    for (struct device *live = list; live; live = live->next)
        shard_leave_all(live);
    pthread_mutex_unlock(&list_lock);
}

/* Nothing changes its counters any more, or it is locked. */
static void count_faults(const struct device *live)
{
    if (live->env.has_fault && live->env.verbose && live->nic && live->wire)
        fault_end_count(&live->wire->counters, nic_counters(live->nic));
}

static void say_last_of(struct device *live)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LAST_WORD_PS / PS_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (live_inert(live) || pthread_mutex_timedlock(&live->lock, &until) != 0) return;
    if (live->tx_wanted) progress_tx(live, live_now());
    count_faults(live);
    pthread_mutex_unlock(&live->lock);
}

/* A program that has what it waited for may end at once, with nothing closed.  What the adapter has to say last (the
 * ACK of what the program waited for) is said all the same.  Who ends in the midst of a call of ours holds its lock for
 * ever: it is not waited for long. */
__attribute__((destructor)) static void say_last(void)
{
    if (pthread_mutex_trylock(&list_lock) != 0) return;
    for (struct device *live = list; live; live = live->next)
        for (unsigned i = live->shards; i-- > 0;)
            if (live->shard[i]) say_last_of(live->shard[i]);
    pthread_mutex_unlock(&list_lock);
    fault_end_say();
}

static void install(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* Zeroed memory of which only what is used costs anything. */
static int memory_take(struct device *live, const struct nic_config *config)
{
    size_t nic = (nic_memory_bytes(config) + 4095) & ~(size_t)4095;
    size_t hot = LIVE_POOL * sizeof(struct pkt), cold = LIVE_POOL * sizeof(struct pkt_cold);
    size_t stack = LIVE_POOL * sizeof(uint32_t), batch = WIRE_BURST * WIRE_PACKET_MAX;
    size_t total = nic + hot + cold + stack + LIVE_BATCHES * batch + WIRE_PACKET_MAX;
    uint8_t *at = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) return -ENOMEM;
    live->memory = at;
    live->memory_bytes = total;
    live->nic = nic_init(at, config);
    live->objects = (struct objects){.host = &live_host, .nic = live->nic, .regions = &live->first->regions};
    at += nic;
    live->pool = (struct pktpool){.hot = (struct pkt *)(void *)at,
                                  .cold = (struct pkt_cold *)(void *)(at + hot),
                                  .free = (uint32_t *)(void *)(at + hot + cold),
                                  .free_count = LIVE_POOL,
                                  .free_capacity = LIVE_POOL};
    for (uint32_t i = 0; i < LIVE_POOL; i++)
        live->pool.free[i] = LIVE_POOL - 1 - i; /* low ones first: the same few are used again and again */
    for (unsigned i = 0; i < LIVE_BATCHES; i++)
        live->out.batch[i].data = at + hot + cold + stack + i * batch;
    live->forwarded = at + hot + cold + stack + LIVE_BATCHES * batch;
    live->io.pool = &live->pool;
    return 0;
}

static int nic_make(struct device *live)
{
    /* Nobody says what a peer runs.  CNPs are the way of RoCEv2, and only who goes by marks lets packets be marked. */
    static const struct cc_needs anybody = {.cnp = true};
    struct plant_nic from = {.line_bps = live->env.rate_bps ? live->env.rate_bps : live->device.line_bps,
                             .nic = &live->env.nic,
                             .cc = &live->env.cc,
                             .peers = &anybody};
    struct nic_config config = plant_nic_config(&from);

    config.max_qps = LIVE_QPS;
    config.max_mrs = LIVE_MRS;
    config.first_qpn = registry_slot(live->registry) << REGISTRY_QPN_BITS;
    config.free_naks = FREE_NAKS;
    config.events = counters_events(live);
    config.rx_bps = live->env.receive_bps;
    config.rx_buffer_bytes = RECEIVE_BUFFER_BYTES;
    config.rx_xoff_bytes = RECEIVE_BUFFER_BYTES / 2;
    config.rx_xon_bytes = RECEIVE_BUFFER_BYTES / 4;
    return memory_take(live, &config);
}

/* "%p" is the process id: every process writes a file of its own. */
static void expand(const char *text, char *out, size_t bytes)
{
    size_t at = 0;

    while (*text && at + 12 < bytes) {
        if (text[0] == '%' && text[1] == 'p') {
            at += (size_t)snprintf(out + at, bytes - at, "%d", (int)getpid());
            text += 2;
        } else {
            out[at++] = *text++;
        }
    }
    out[at] = 0;
}

static int wrap(struct device *live, char *why, size_t why_bytes)
{
    char path[512];
    int error = 0;

    if (live->env.has_fault) error = wire_fault_open(live->wire, &live->env.fault, &live->wire);
    if (error == 0 && live->env.pcap[0]) {
        struct capwriter_name file = live->env.capture;
        expand(live->env.capture.path, file.path, sizeof file.path);
        error = wire_pcap_open(live->wire, &file, &live->wire);
        if (error < 0) snprintf(why, why_bytes, "ROCELAB_PCAP: cannot write %s: %s", file.path, strerror(-error));
    }
    if (error == 0 && live->env.trace[0]) {
        expand(live->env.trace, path, sizeof path);
        bool standard = strcmp(path, "-") == 0;
        int fd = standard ? dup(2) : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        error = fd < 0 ? -errno : wire_trace_open(live->wire, fd, &live->wire);
        if (error < 0 && fd >= 0) close(fd);
        if (error < 0) snprintf(why, why_bytes, "ROCELAB_TRACE: cannot write %s: %s", path, strerror(-error));
    }
    return error;
}

static int wire_make(struct device *live, char *why, size_t why_bytes)
{
    static int (*const open_wire[])(const struct wire_config *,
                                    struct wire **) = {[LIVE_WIRE_AUTO] = wire_auto_open,
                                                       [LIVE_WIRE_UDP] = wire_udp_open,
                                                       [LIVE_WIRE_SHM] = wire_shm_open,
                                                       [LIVE_WIRE_PACKET] = wire_packet_open};
    struct wire_config config = {.ifname = live->device.ifname,
                                 .slot = registry_slot(live->registry),
                                 .registry = live->registry,
                                 .port = live->env.port,
                                 .source_ports = live->env.source_ports,
                                 .tag = live->env.vlan != LIVE_NO_VLAN,
                                 .vlan_id = live->env.vlan & 0xfff,
                                 .why = why,
                                 .why_bytes = why_bytes};
    unsigned usable = 0;

    memcpy(config.mac, live->device.mac, 6);
    int error = open_wire[live->env.wire](&config, &live->wire);
    if (error < 0) return error;
    error = wrap(live, why, why_bytes);
    if (error < 0) return error;
    for (unsigned i = 0; i < live->device.gids; i++) {
        struct device_gid *gid = &live->device.gid[i];
        int added = wire_add_address(live->wire, &gid->addr);
        gid->usable = added == 0;
        usable += added == 0;
        if (added < 0 && usable == 0) {
            error = added;
            const char *words = wire_why(live->wire);
            snprintf(why, why_bytes, "%s: %s", live->device.ifname, words[0] ? words : strerror(-added));
        }
    }
    return usable ? 0 : error ? error : -EADDRNOTAVAIL;
}

static void dismantle(struct device *live)
{
    count_faults(live);
    counters_close(live);
    if (live->wire) wire_close(live->wire);
    if (live->registry) registry_leave(live->registry);
    if (live->memory) munmap(live->memory, live->memory_bytes);
    peer_release(live);
    if (live->wake_fd >= 0) close(live->wake_fd);
    if (live->owed_fd >= 0) close(live->owed_fd);
    if (live->mad_fd >= 0) close(live->mad_fd);
    if (live->netlink_fd >= 0) close(live->netlink_fd);
    free(live->path);
    free(live->regions.slot);
    if (live->first) live->first->regions.nic[live->number] = NULL;
    free(live->member);
    free(live->mad);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

/* What every shard has. */
static int assemble(struct device *live, char *why, size_t why_bytes)
{
    int error = registry_join(&live->registry, why, why_bytes);

    if (error == 0) registry_set_interface(live->registry, live->device.ifindex);
    if (error == 0) error = nic_make(live);
    if (error == 0) error = regions_join(&live->first->regions, live->number, live->nic);
    if (error == 0) error = wire_make(live, why, why_bytes);
    if (error < 0) return error;
    port_link(live, live_now());
    live->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    live->owed_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (live->wake_fd < 0 || live->owed_fd < 0) return -ENOMEM;
    counters_open(live);
    return 0;
}

/* What a device has once, and its first shard. */
static int assemble_first(struct device *live, char *why, size_t why_bytes)
{
    int error = live_environment_read(&live->env, why, why_bytes);

    if (error < 0) return error;
    live->shards = shard_count(&live->env);
    error = assemble(live, why, why_bytes);
    if (error < 0) return error;
    live->mad_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    live->netlink_fd = netlink_open();
    live->mad = calloc(LIVE_MADS, sizeof *live->mad);
    if (live->mad_fd < 0 || live->mad == NULL) return -ENOMEM;
    return thread_start(live);
}

static struct device *live_new(const struct device_info *device)
{
    struct device *live = calloc(1, sizeof *live);

    if (live == NULL) return NULL;
    pthread_mutex_init(&live->lock, NULL);
    listeners_init(&live->listeners);
    live->ops = device_own_provider();
    live->device = *device;
    live->wake_fd = live->owed_fd = live->mad_fd = live->netlink_fd = -1;
    live->tx_retry = PS_NEVER;
    turns_init(&live->turns);
    live->users = 1;
    return live;
}

int live_open_shard(struct device *first, unsigned number)
{
    struct device *live = live_new(&first->device);
    char why[256] = "";

    if (live == NULL) return -ENOMEM;
    live->first = first;
    live->number = number;
    live->shards = first->shards;
    live->env = first->env; /* what it says now may be meant for others */
    live->env.fault.seed += number;
    live->env.source_ports = (uint16_t)((first->env.source_ports + first->shards - 1) / first->shards);
    int error = assemble(live, why, sizeof why);
    if (error == 0) error = thread_start(live);
    if (error < 0) {
        dismantle(live);
        return error;
    }
    first->shard[number] = live;
    return 0;
}

static int open_new(const struct device_info *device, struct device **ret, char *why, size_t why_bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct device *live = live_new(device);

    if (live == NULL) return -ENOMEM;
    pthread_once(&once, install);
    live->first = live->shard[0] = live;
    int error = assemble_first(live, why, why_bytes);
    if (error < 0) {
        if (why[0] == 0) snprintf(why, why_bytes, "%s: %s", device->ifname, strerror(-error));
        dismantle(live);
        return error;
    }
    live->next = list;
    list = live;
    *ret = live;
    return 0;
}

int adapter_open(const struct device_info *device, struct device **ret, char *why, size_t why_bytes)
{
    int error = 0;

    snprintf(why, why_bytes, "%s", "");
    pthread_mutex_lock(&list_lock);
    struct device *live = list;
    while (live && (live->alone || strcmp(live->device.ifname, device->ifname) != 0))
        live = live->next;
    if (live) {
        live->users++;
        *ret = live;
    } else {
        error = open_new(device, ret, why, why_bytes);
        if (error < 0 && why[0] == 0) snprintf(why, why_bytes, "%s: %s", device->ifname, strerror(-error));
    }
    pthread_mutex_unlock(&list_lock);
    return error;
}

int live_open_alone(const struct device_info *device, struct device **ret, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s", "");
    pthread_mutex_lock(&list_lock);
    int error = open_new(device, ret, why, why_bytes);
    if (error == 0) (*ret)->alone = true;
    pthread_mutex_unlock(&list_lock);
    return error;
}

void adapter_close(struct device *live)
{
    pthread_mutex_lock(&list_lock);
    if (live_inert(live) || --live->users > 0) {
        pthread_mutex_unlock(&list_lock);
        return;
    }
    struct device **at = &list;
    while (*at != live)
        at = &(*at)->next;
    *at = live->next;
    for (unsigned i = live->shards; i-- > 0;) /* the first last: its thread looks after all */
        if (live->shard[i]) thread_stop(live->shard[i]);
    for (unsigned i = live->shards; i-- > 0;)
        if (live->shard[i]) dismantle(live->shard[i]);
    pthread_mutex_unlock(&list_lock);
}

const struct device_info *adapter_info_of(const struct device *live)
{
    return &live->device;
}

static int adapter_counters(const struct device_info *info, struct device_counter_set **ret, unsigned *ret_count)
{
    (void)info; /* who asks finds its own among those of the machine */
    return live_counters_read(ret, ret_count);
}

const struct device_ops *device_own_provider(void)
{
    static const struct device_ops ops = {
        .list = adapter_list,
        .refresh = adapter_refresh,
        .open = adapter_open,
        .counters = adapter_counters,
#define OP(type, name, object, parameters, arguments) .name = adapter_##name,
#define OP_VOID(name, object, parameters, arguments) .name = adapter_##name,
#include "device/device_ops.def"
    };

    return &ops;
}
DEVICE_OPS_FIRST;
