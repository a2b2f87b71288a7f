/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the processes of one user and one network namespace share (rendezvous.c finds it).
 *
 * Life and death.  Each slot has a byte of the memfd that its process holds with an "open file description" lock
 * (fcntl F_OFD_SETLK).  The kernel lets go of it when the last descriptor closes, however the process
 * ended, at the same moment as it closes the process's sockets; so a slot is free exactly when its sockets are gone.
 * Process numbers would lie here: they are reused, a zombie still has one, and other pid
 * namespaces do not see them.  A forked child that keeps the descriptors keeps sockets and slot alive together.
 *
 * The lock around changes is flock() on the same description, plus a mutex for threads of this process.  A
 * process can be killed in the middle of a change.  What is added counts only when its count is written, last; while
 * a member is taken out the next one stands twice, for which a sweep looks, as it does for the dead.
 *
 * Order of a reuseport group (Linux net/core/sock_reuseport.c): a socket that is bound goes to the end, the last
 * one takes the place of one that is closed.  The mirror does the same.  When several die at once the order in which
 * the kernel closed them is not known; the wires find out (udp.c), until then packets are forwarded.
 *
 * Sockets between processes are abstract, which any user of the namespace can find and write to.  Their names are given
 * by the kernel, so nobody can take one before us; a filter drops in the sender's own call what does not begin with
 * the nonce, which stands in this memory alone, so nobody else can fill their queues or wake us; and only
 * datagrams with our own user id in their credentials count.
 *
 * What it does not do: processes of different users share no address (the kernel does not let them join one
 * reuseport group either).
 */
#include "wire/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"
#include "wire/draw.h"
#include "wire/rendezvous.h"
#include "wire/system.h"
#include "wire/wire.h"
#include "wire/wire_int.h"

#define MAGIC 0x726f6365u
#define LAYOUT 6u /* of struct shared: program versions that differ in it do not share */
#define LISTENERS 4096u
#define GROUPS 256u
#define PATIENCE_MS 10000
#define STRANGE_MOST 16 /* datagrams that are no packets, in one call */

struct slot_record { /* written by its process, under the lock; the first four are read without */
    int32_t pid;     /* 0: free */
    uint32_t life;   /* the epoch that its process brought: no two holders of a slot have the same */
    uint32_t doorbell, bell;
    uint32_t ports;
    uint16_t port[WIRE_SOURCE_PORTS_MAX];
};

struct listener {
    uint64_t service_id;
    struct pkt_addr address;
    uint32_t slot;  /* 0: free */
    uint32_t any;   /* every address of the slot that is of these families (PKT_FAMILY_*); 0: one address */
    uint32_t scope; /* of `address`: see scope_of() */
};

struct shared { /* everything under the lock */
    uint32_t magic;
    uint32_t epoch;     /* slots and addresses joined so far; read without the lock */
    uint32_t last_slot; /* given out last: a number rests as long as it can, for the sake of late packets */
    uint64_t nonce;
    struct slot_record slot[REGISTRY_SLOTS + 2];
    struct listener listener[LISTENERS];
    uint32_t listeners; /* entries in use are below this */
    uint32_t groups;
    struct registry_group group[GROUPS];
};

struct registry {
    struct rendezvous *rendezvous;
    struct shared *shared;
    uint32_t slot;
    uint32_t interface; /* of the device that this slot is of */
    uid_t uid;
    pid_t pid;
    int file; /* locks are on this description */
    int doorbell;
    pthread_mutex_t mutex; /* flock() does not part threads that share a description */
};

/* What a forwarded datagram begins with; same machine, same program: as it lies in memory. */
struct forward_header {
    uint64_t nonce;
    struct pkt_addr src, dst;
    uint32_t flow_label, bytes;
    uint16_t sport, ip_id;
    uint8_t net, tos, ttl, pcp;
    bool id_known, unchecked;
    uint8_t dmac[6], smac[6];
    uint8_t spare[2]; /* no padding: all of it leaves the process */
};

/* --- the memory --- */

static int memory_map(struct registry *registry, char *why, size_t why_bytes)
{
    void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, registry->file, 0);
    if (at == MAP_FAILED) return wire_explain(why, why_bytes, -errno, "cannot map the registry: %s", strerror(errno));
    registry->shared = at;
    if (registry->shared->magic != MAGIC) { /* new, or its maker died before he was done */
        uint64_t nonce;
        if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) return -EIO;
        memset(at, 0, sizeof(struct shared));
        registry->shared->nonce = nonce;
        /* QPNs that cannot be guessed, but for who wants the same ones each time */
        registry->shared->last_slot = draw_below(REGISTRY_SLOTS);
        registry->shared->magic = MAGIC;
    }
    return 0;
}

int registry_lock(struct registry *registry, bool patient)
{
    if (patient)
        pthread_mutex_lock(&registry->mutex);
    else if (pthread_mutex_trylock(&registry->mutex) != 0)
        return -EAGAIN;
    for (int waited_ms = 0; flock(registry->file, LOCK_EX | LOCK_NB) < 0; waited_ms++) {
        if (!patient || waited_ms >= PATIENCE_MS || (errno != EWOULDBLOCK && errno != EINTR)) {
            pthread_mutex_unlock(&registry->mutex);
            return -EAGAIN;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return 0;
}

void registry_unlock(struct registry *registry)
{
    flock(registry->file, LOCK_UN);
    pthread_mutex_unlock(&registry->mutex);
}

/* --- slots --- */

static struct flock slot_lock(uint32_t slot, short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
}

static bool slot_alive(const struct registry *registry, uint32_t slot)
{
    if (slot == 0 || slot > REGISTRY_SLOTS || registry->shared->slot[slot].pid == 0) return false;
    if (slot == registry->slot) return true; /* a lock does not see itself */
    struct flock lock = slot_lock(slot, F_WRLCK);
    return fcntl(registry->file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Our own number of the socket's name: what the kernel gives are five hexadecimal digits. */
static uint32_t name_number(const struct sockaddr_un *name, socklen_t bytes)
{
    char text[8] = "";
    size_t digits =
        bytes > offsetof(struct sockaddr_un, sun_path) + 1 ? bytes - offsetof(struct sockaddr_un, sun_path) - 1 : 0;
    if (name->sun_path[0] != 0 || digits != 5) return 0;
    memcpy(text, name->sun_path + 1, digits);
    return (uint32_t)strtoul(text, NULL, 16) + 1;
}

struct sockaddr_un registry_socket_name(uint32_t number, socklen_t *ret_bytes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%05x", number - 1);
    *ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return name;
}

/* What is sent to it and does not begin with the nonce never enters its queue. */
static int filter_by_nonce(const struct registry *registry, int fd)
{
    uint8_t nonce[8];
    memcpy(nonce, &registry->shared->nonce, sizeof nonce);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, load_be32(nonce), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, load_be32(nonce + 4), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), BPF_STMT(BPF_RET | BPF_K, 0),
    };
    return wire_attach(fd, SO_ATTACH_FILTER, code, sizeof code / sizeof code[0]);
}

int registry_socket(struct registry *registry, uint32_t *ret_number)
{
    int on = 1, bytes = 4 << 20;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t name_bytes = sizeof name;
    int fd = system_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    int rc = filter_by_nonce(registry, fd);
    if (rc == 0 && (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
                    bind(fd, (struct sockaddr *)&name, sizeof name.sun_family) < 0 ||
                    getsockname(fd, (struct sockaddr *)&name, &name_bytes) < 0))
        rc = -errno;
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *ret_number = name_number(&name, name_bytes);
    return fd;
}

/* Everything in the memory that names the slot. */
static void slot_forget(struct registry *registry, uint32_t slot)
{
    struct shared *shared = registry->shared;
    for (uint32_t i = 0; i < shared->listeners && i < LISTENERS; i++)
        if (shared->listener[i].slot == slot) shared->listener[i].slot = 0;
    for (uint32_t i = 0; i < shared->groups && i < GROUPS; i++)
        registry_group_remove(&shared->group[i], slot);
    shared->slot[slot] = (struct slot_record){0};
}

static int slot_take(struct registry *registry, char *why, size_t why_bytes)
{
    struct shared *shared = registry->shared;
    for (uint32_t tried = 0; tried < REGISTRY_SLOTS; tried++) {
        uint32_t slot = (shared->last_slot + tried) % REGISTRY_SLOTS + 1, doorbell;
        struct flock lock = slot_lock(slot, F_WRLCK);
        if (fcntl(registry->file, F_OFD_SETLK, &lock) < 0) {
            if (errno == EAGAIN || errno == EACCES) continue;
            return wire_explain(why, why_bytes, -errno, "cannot lock a slot: %s", strerror(errno));
        }
        slot_forget(registry, slot); /* what its last holder left behind */
        registry->doorbell = registry_socket(registry, &doorbell);
        if (registry->doorbell < 0)
            return wire_explain(why, why_bytes, registry->doorbell, "no AF_UNIX socket: %s",
                                strerror(-registry->doorbell));
        registry->slot = slot;
        shared->last_slot = slot;
        struct slot_record *record = &shared->slot[slot];
        record->life = __atomic_add_fetch(&shared->epoch, 1, __ATOMIC_RELEASE);
        record->doorbell = doorbell;
        __atomic_store_n(&record->pid, (int32_t)registry->pid, __ATOMIC_RELEASE);
        return 0;
    }
    return wire_explain(why, why_bytes, -EUSERS, "all %u slots of this machine are taken", REGISTRY_SLOTS);
}

void registry_set_bell(struct registry *registry, uint32_t number)
{
    __atomic_store_n(&registry->shared->slot[registry->slot].bell, number, __ATOMIC_RELEASE);
}

uint32_t registry_bell(const struct registry *registry, uint32_t slot)
{
    if (slot == 0 || slot > REGISTRY_SLOTS) return 0;
    return __atomic_load_n(&registry->shared->slot[slot].bell, __ATOMIC_ACQUIRE);
}

void registry_set_ports(struct registry *registry, const uint16_t *port, unsigned ports)
{
    struct slot_record *record = &registry->shared->slot[registry->slot];
    if (ports > WIRE_SOURCE_PORTS_MAX || registry_lock(registry, true) < 0) return;
    memcpy(record->port, port, ports * sizeof *port);
    record->ports = ports;
    registry_unlock(registry);
}

uint16_t registry_source_port(struct registry *registry, const struct pkt_addr *address, uint16_t port, uint32_t qpn,
                              uint32_t remote_qpn)
{
    uint32_t slot = registry_slot_of(qpn);
    uint16_t found = 0;
    if (slot == 0 || slot > REGISTRY_SLOTS || registry_lock(registry, true) < 0) return 0;
    const struct registry_group *group = registry_group_find(registry, address, port, false);
    const struct slot_record *record = &registry->shared->slot[slot];
    if (group && registry_group_member(group, slot) >= 0 && slot_alive(registry, slot) && record->ports > 0 &&
        record->ports <= WIRE_SOURCE_PORTS_MAX)
        found = wire_port_of_flow(record->port, record->ports, qpn, remote_qpn);
    registry_unlock(registry);
    return found;
}

/* --- groups --- */

static bool address_equal(const struct pkt_addr *a, const struct pkt_addr *b)
{
    return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

/* A link-local address means something together with its interface only: a bridge and its ports, a VLAN and its
 * parent have the same one, and each is an address of its own. */
static uint32_t scope_of(const struct registry *registry, const struct pkt_addr *address)
{
    bool link_local = address->byte[0] == 0xfe && (address->byte[1] & 0xc0) == 0x80;
    return link_local ? registry->interface : 0;
}

void registry_set_interface(struct registry *registry, unsigned ifindex)
{
    registry->interface = ifindex;
}

struct registry_group *registry_group_find(struct registry *registry, const struct pkt_addr *address, uint16_t port,
                                           bool create)
{
    struct shared *shared = registry->shared;
    uint32_t scope = scope_of(registry, address);
    struct registry_group *empty = NULL;
    uint32_t groups = shared->groups < GROUPS ? shared->groups : GROUPS;
    for (uint32_t i = 0; i < groups; i++) {
        struct registry_group *group = &shared->group[i];
        if (group->members == 0) {
            if (!empty) empty = group;
        } else if (group->port == port && group->scope == scope && address_equal(&group->address, address)) {
            return group;
        }
    }
    if (!create) return NULL;
    for (uint32_t i = 0; i < groups && !empty; i++) /* all in use: perhaps by the dead */
        if (registry_group_sweep(registry, &shared->group[i]) && shared->group[i].members == 0)
            empty = &shared->group[i];
    if (!empty) {
        if (groups == GROUPS) return NULL;
        empty = &shared->group[shared->groups++];
    }
    empty->address = *address;
    empty->scope = scope;
    empty->port = port;
    empty->members = 0;
    empty->probe_ns = 0;
    return empty;
}

int registry_group_member(const struct registry_group *group, uint32_t slot)
{
    for (int i = 0; i < group->members && i < (int)REGISTRY_SLOTS; i++)
        if (group->slot[i] == slot) return i;
    return -1;
}

int registry_group_add(struct registry *registry, struct registry_group *group)
{
    unsigned sockets = 0;
    if (registry_group_member(group, registry->slot) >= 0) return -EEXIST;
    if (group->members >= REGISTRY_SLOTS) return -ENOSPC;
    for (unsigned i = 0; i < group->members; i++) /* one past the highest known */
        if (group->index[i] != REGISTRY_NO_INDEX && group->index[i] + 1u > sockets) sockets = group->index[i] + 1u;
    group->slot[group->members] = (uint16_t)registry->slot;
    group->index[group->members] = (uint16_t)sockets;
    group->round[group->members] = group->probe_round;
    group->members++;
    group->changes++;
    __atomic_fetch_add(&registry->shared->epoch, 1, __ATOMIC_RELEASE);
    return 0;
}

void registry_group_remove(struct registry_group *group, uint32_t slot)
{
    int at = registry_group_member(group, slot);
    if (at < 0) return;
    uint16_t hole = group->index[at];
    int last = -1;
    for (int i = 0; i < group->members; i++)
        if (group->index[i] != REGISTRY_NO_INDEX && (last < 0 || group->index[i] > group->index[last])) last = i;
    if (hole != REGISTRY_NO_INDEX && last >= 0 && last != at) group->index[last] = hole;
    for (unsigned i = (unsigned)at + 1; i < group->members; i++) {
        group->slot[i - 1] = group->slot[i];
        group->index[i - 1] = group->index[i];
        group->round[i - 1] = group->round[i];
    }
    group->members--;
    group->changes++;
}

unsigned registry_group_sweep(struct registry *registry, struct registry_group *group)
{
    unsigned swept = 0;
    if (group->members > REGISTRY_SLOTS) group->members = 0;
    for (unsigned i = group->members; i-- > 0;) {
        bool twice = registry_group_member(group, group->slot[i]) != (int)i;
        if (!twice && slot_alive(registry, group->slot[i])) continue;
        registry_group_remove(group, group->slot[i]);
        swept++;
    }
    return swept;
}

uint32_t registry_owner(struct registry *registry, const struct pkt_addr *address, uint16_t port)
{
    uint32_t owner = 0;
    if (registry_lock(registry, true) < 0) return 0;
    struct registry_group *group = registry_group_find(registry, address, port, false);
    for (unsigned i = 0; group && owner == 0 && i < group->members; i++)
        if (slot_alive(registry, group->slot[i])) owner = group->slot[i];
    registry_unlock(registry);
    return owner;
}

/* --- joining and leaving --- */

static int join(struct registry *registry, char *why, size_t why_bytes)
{
    int rc = rendezvous_enter(sizeof(struct shared), LAYOUT, &registry->rendezvous, why, why_bytes);
    if (rc < 0) return rc;
    registry->file = rendezvous_open(registry->rendezvous);
    if (registry->file < 0)
        return wire_explain(why, why_bytes, registry->file, "cannot open /proc/self/fd, which the registry needs: %s",
                            strerror(-registry->file));
    rc = registry_lock(registry, true);
    if (rc < 0) return wire_explain(why, why_bytes, rc, "the registry is locked by a process that was stopped");
    rc = memory_map(registry, why, why_bytes);
    if (rc == 0) rc = slot_take(registry, why, why_bytes);
    registry_unlock(registry);
    return rc;
}

int registry_join(struct registry **ret, char *why, size_t why_bytes)
{
    struct registry *registry = calloc(1, sizeof *registry);
    if (!registry) return wire_explain(why, why_bytes, -ENOMEM, "no memory");
    *registry = (struct registry){.file = -1, .doorbell = -1, .uid = geteuid(), .pid = getpid()};
    pthread_mutex_init(&registry->mutex, NULL);
    int rc = join(registry, why, why_bytes);
    if (rc < 0) {
        registry_leave(registry);
        return rc;
    }
    *ret = registry;
    return 0;
}

void registry_leave(struct registry *registry)
{
    if (!registry) return;
    bool own = registry->pid == getpid();
    if (own && registry->slot && registry_lock(registry, true) == 0) {
        slot_forget(registry, registry->slot);
        registry_unlock(registry);
    }
    if (registry->doorbell >= 0) close(registry->doorbell);
    if (registry->shared) munmap(registry->shared, sizeof(struct shared));
    if (registry->file >= 0) close(registry->file);
    if (registry->rendezvous) rendezvous_leave(registry->rendezvous);
    pthread_mutex_destroy(&registry->mutex);
    free(registry);
}

uint32_t registry_slot(const struct registry *registry)
{
    return registry->slot;
}

uint64_t registry_nonce(const struct registry *registry)
{
    return registry->shared->nonce;
}

uint32_t registry_epoch(const struct registry *registry)
{
    return __atomic_load_n(&registry->shared->epoch, __ATOMIC_ACQUIRE);
}

/* Without the lock: a process that was stopped while it held it would make the living look dead. */
int32_t registry_pid(struct registry *registry, uint32_t slot)
{
    return slot_alive(registry, slot) ? __atomic_load_n(&registry->shared->slot[slot].pid, __ATOMIC_ACQUIRE) : 0;
}

uint32_t registry_life(struct registry *registry, uint32_t slot)
{
    return slot_alive(registry, slot) ? __atomic_load_n(&registry->shared->slot[slot].life, __ATOMIC_ACQUIRE) : 0;
}

/* --- listeners --- */

static bool slot_has_address(const struct registry *registry, uint32_t slot, const struct pkt_addr *address,
                             uint32_t scope)
{
    const struct shared *shared = registry->shared;
    for (uint32_t i = 0; i < shared->groups && i < GROUPS; i++)
        if (shared->group[i].members && shared->group[i].scope == scope &&
            address_equal(&shared->group[i].address, address) && registry_group_member(&shared->group[i], slot) >= 0)
            return true;
    return false;
}

int32_t registry_pid_at(struct registry *registry, uint32_t slot, const struct pkt_addr *address)
{
    int32_t pid = 0;
    if (registry_lock(registry, true) < 0) return 0;
    if (slot_alive(registry, slot) && slot_has_address(registry, slot, address, scope_of(registry, address)))
        pid = registry->shared->slot[slot].pid;
    registry_unlock(registry);
    return pid;
}

static bool slots_share_address(const struct registry *registry, uint32_t a, uint32_t b)
{
    const struct shared *shared = registry->shared;
    for (uint32_t i = 0; i < shared->groups && i < GROUPS; i++)
        if (registry_group_member(&shared->group[i], a) >= 0 && registry_group_member(&shared->group[i], b) >= 0)
            return true;
    return a == b;
}

static bool listeners_clash(const struct registry *registry, const struct listener *a, const struct listener *b)
{
    uint32_t a_families = a->any ? a->any : pkt_addr_families(&a->address);
    uint32_t b_families = b->any ? b->any : pkt_addr_families(&b->address);

    if (!(a_families & b_families)) return false;
    if (a->any && b->any) return slots_share_address(registry, a->slot, b->slot);
    if (a->any) return a->slot == b->slot || slot_has_address(registry, a->slot, &b->address, b->scope);
    if (b->any) return a->slot == b->slot || slot_has_address(registry, b->slot, &a->address, a->scope);
    return a->scope == b->scope && address_equal(&a->address, &b->address);
}

static uint32_t any_of(const struct pkt_addr *address)
{
    return pkt_addr_unspecified(address) ? pkt_addr_families(address) : 0;
}

int registry_listen(struct registry *registry, uint64_t service_id, const struct pkt_addr *address)
{
    struct shared *shared = registry->shared;
    struct listener wanted = {.service_id = service_id, .slot = registry->slot, .any = any_of(address)};
    struct listener *place = NULL;
    int rc = registry_lock(registry, true);
    if (rc < 0) return rc;
    if (!wanted.any) {
        wanted.address = *address;
        wanted.scope = scope_of(registry, address);
    }
    for (uint32_t i = 0; i < shared->listeners && i < LISTENERS && rc == 0; i++) {
        struct listener *other = &shared->listener[i];
        if (other->slot && !slot_alive(registry, other->slot)) other->slot = 0;
        if (!other->slot)
            place = other;
        else if (other->service_id == service_id && listeners_clash(registry, &wanted, other))
            rc = -EADDRINUSE;
    }
    if (rc == 0 && !place) {
        if (shared->listeners >= LISTENERS)
            rc = -ENOSPC;
        else
            place = &shared->listener[shared->listeners++];
    }
    if (rc == 0) *place = wanted;
    registry_unlock(registry);
    return rc;
}

void registry_unlisten(struct registry *registry, uint64_t service_id, const struct pkt_addr *address)
{
    struct shared *shared = registry->shared;
    if (registry_lock(registry, true) < 0) return;
    for (uint32_t i = 0; i < shared->listeners && i < LISTENERS; i++) {
        struct listener *entry = &shared->listener[i];
        if (entry->slot != registry->slot || entry->service_id != service_id) continue;
        if (entry->any != any_of(address)) continue;
        if (!entry->any && !address_equal(address, &entry->address)) continue;
        entry->slot = 0;
        break;
    }
    registry_unlock(registry);
}

uint32_t registry_listener(struct registry *registry, uint64_t service_id, const struct pkt_addr *address)
{
    const struct shared *shared = registry->shared;
    uint32_t exact = 0, any = 0, scope = scope_of(registry, address);
    if (registry_lock(registry, true) < 0) return 0;
    for (uint32_t i = 0; i < shared->listeners && i < LISTENERS && !exact; i++) {
        const struct listener *entry = &shared->listener[i];
        if (!entry->slot || entry->service_id != service_id || !slot_alive(registry, entry->slot)) continue;
        if (!entry->any && entry->scope == scope && address_equal(&entry->address, address)) exact = entry->slot;
        if (entry->any & pkt_addr_families(address) && slot_has_address(registry, entry->slot, address, scope))
            any = entry->slot;
    }
    registry_unlock(registry);
    return exact ? exact : any;
}

/* --- packets from one process to another --- */

static int doorbell_send(struct registry *registry, uint32_t slot, struct iovec *iov, size_t pieces)
{
    if (slot == 0 || slot > REGISTRY_SLOTS) return -ECONNREFUSED;
    uint32_t number = __atomic_load_n(&registry->shared->slot[slot].doorbell, __ATOMIC_ACQUIRE);
    if (number == 0) return -ECONNREFUSED;
    socklen_t name_bytes;
    struct sockaddr_un name = registry_socket_name(number, &name_bytes);
    struct msghdr message = {.msg_name = &name, .msg_namelen = name_bytes, .msg_iov = iov, .msg_iovlen = pieces};
    if (sendmsg(registry->doorbell, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
    return errno == EAGAIN || errno == ENOBUFS ? -EAGAIN : -ECONNREFUSED;
}

int registry_forward(struct registry *registry, uint32_t slot, const struct wire_packet *packet)
{
    struct forward_header header = {
        .nonce = registry->shared->nonce,
        .src = packet->src,
        .dst = packet->dst,
        .flow_label = packet->flow_label,
        .bytes = packet->bytes,
        .sport = packet->sport,
        .ip_id = packet->ip_id,
        .net = packet->net,
        .tos = packet->tos,
        .ttl = packet->ttl,
        .pcp = packet->pcp,
        .id_known = packet->id_known,
        .unchecked = packet->unchecked,
    };
    memcpy(header.dmac, packet->dmac, sizeof header.dmac);
    memcpy(header.smac, packet->smac, sizeof header.smac);
    struct iovec iov[2] = {{&header, sizeof header}, {packet->data, packet->bytes}};
    return doorbell_send(registry, slot, iov, 2);
}

/* Whether the datagram came from a process of our own user. */
static bool sender_is_ours(const struct registry *registry, struct msghdr *message)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_CREDENTIALS) continue;
        struct ucred sender;
        memcpy(&sender, CMSG_DATA(control), sizeof sender);
        return sender.uid == registry->uid;
    }
    return false;
}

static bool header_valid(const struct registry *registry, const struct forward_header *header, size_t bytes)
{
    return bytes >= sizeof *header && header->nonce == registry->shared->nonce &&
           header->bytes == bytes - sizeof *header && header->net > PKT_NET_NONE && header->net <= PKT_NET_IPV6;
}

int registry_receive(struct registry *registry, struct wire_packet *ret, uint8_t *buf, size_t cap)
{
    for (int strange = 0; strange < STRANGE_MOST; strange++) {
        struct forward_header header;
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(struct ucred))];
        } control;
        struct iovec iov[2] = {{&header, sizeof header}, {buf, cap}};
        struct msghdr message = {
            .msg_iov = iov, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control};
        ssize_t got = recvmsg(registry->doorbell, &message, MSG_DONTWAIT);
        if (got < 0) return 0;
        if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) continue;
        if (!sender_is_ours(registry, &message) || !header_valid(registry, &header, (size_t)got)) continue;
        *ret = (struct wire_packet){
            .data = buf,
            .bytes = header.bytes,
            .src = header.src,
            .dst = header.dst,
            .flow_label = header.flow_label,
            .sport = header.sport,
            .ip_id = header.ip_id,
            .net = header.net,
            .tos = header.tos,
            .ttl = header.ttl,
            .pcp = header.pcp,
            .id_known = header.id_known,
            .unchecked = header.unchecked,
        };
        memcpy(ret->dmac, header.dmac, sizeof ret->dmac);
        memcpy(ret->smac, header.smac, sizeof ret->smac);
        return 1;
    }
    return 0;
}

int registry_fd(struct registry *registry)
{
    return registry->doorbell;
}
