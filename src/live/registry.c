/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that the processes of one user and one network namespace share.
 *
 * Life and death.  Each slot has a byte of the file that its process holds with an "open file description" lock
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
 * the kernel closed them is not known; the wires find out (wire_udp.c), until then packets are forwarded.
 *
 * Forwarded packets come through an abstract socket, which any user of the namespace can write to: only
 * datagrams with our own user id in their credentials count.
 *
 * What it does not do: processes of different users share no address (the kernel does not let them join one
 * reuseport group either).
 */
#include "live/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "live/wire.h"
#include "packet/codec.h"

#define MAGIC 0x726f6365u
#define LAYOUT 5u /* of struct shared: another program version uses another file */
#define LISTENERS 4096u
#define GROUPS 256u
#define PATIENCE_MS 10000

struct slot_record { /* written by its process, under the lock */
    int32_t pid;     /* 0: free */
};

struct listener {
    uint64_t service_id;
    struct pkt_addr address;
    uint32_t slot;  /* 0: free */
    uint32_t any;   /* every address of the slot that is of these families (PKT_FAMILY_*); 0: one address */
    uint32_t scope; /* of `address`: see scope_of() */
};

struct shared { /* the file; everything under the lock */
    uint32_t magic;
    uint32_t epoch;     /* joins so far; read without the lock */
    uint32_t last_slot; /* given out last: a number rests as long as it can, for the sake of late packets */
    uint64_t nonce;
    struct slot_record slot[REGISTRY_SLOTS + 2];
    struct listener listener[LISTENERS];
    uint32_t listeners; /* entries in use are below this */
    uint32_t groups;
    struct registry_group group[GROUPS];
};

struct registry {
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
};

static __attribute__((format(printf, 4, 5))) int explain(char *why, size_t why_bytes, int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (why_bytes) vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return rc;
}

/* --- the file --- */

/* ROCELAB_REGISTRY names another folder than /dev/shm (a test, or a machine without it: then /tmp). */
static int file_open(char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    struct stat ns;
    if (stat("/proc/self/ns/net", &ns) < 0) ns.st_ino = 0;
    const char *folder = getenv("ROCELAB_REGISTRY");
    if (!folder || !*folder) folder = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, path_bytes, "%s/rocelab-%u-%u-%llx", folder, LAYOUT, (unsigned)geteuid(),
             (unsigned long long)ns.st_ino);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return explain(why, why_bytes, -errno, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
        close(fd);
        return explain(why, why_bytes, -EPERM, "%s belongs to somebody else", path);
    }
    return fd;
}

static int file_map(struct registry *registry, const char *path, char *why, size_t why_bytes)
{
    struct stat st;
    if (fstat(registry->file, &st) < 0) return -errno;
    if ((size_t)st.st_size < sizeof(struct shared) && ftruncate(registry->file, sizeof(struct shared)) < 0)
        return explain(why, why_bytes, -errno, "cannot make room in %s: %s", path, strerror(errno));
    void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, registry->file, 0);
    if (at == MAP_FAILED) return explain(why, why_bytes, -errno, "cannot map %s: %s", path, strerror(errno));
    registry->shared = at;
    if (registry->shared->magic != MAGIC) { /* new, or its maker died before he was done */
        uint64_t nonce;
        if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) return -EIO;
        memset(at, 0, sizeof(struct shared));
        registry->shared->nonce = nonce;
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

static struct sockaddr_un doorbell_name(const struct registry *registry, uint32_t slot, socklen_t *ret_bytes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "rocelab/%016llx/%u",
                          (unsigned long long)registry->shared->nonce, slot);
    *ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return name;
}

static int doorbell_open(struct registry *registry, char *why, size_t why_bytes)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return explain(why, why_bytes, -errno, "no AF_UNIX socket: %s", strerror(errno));
    int on = 1, bytes = 4 << 20;
    socklen_t name_bytes;
    struct sockaddr_un name = doorbell_name(registry, registry->slot, &name_bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&name, name_bytes) < 0) {
        int rc = -errno;
        close(fd);
        return explain(why, why_bytes, rc, "cannot bind the socket of slot %u: %s", registry->slot, strerror(-rc));
    }
    registry->doorbell = fd;
    return 0;
}

static int slot_take(struct registry *registry, char *why, size_t why_bytes)
{
    struct shared *shared = registry->shared;
    for (uint32_t tried = 0; tried < REGISTRY_SLOTS; tried++) {
        uint32_t slot = (shared->last_slot + tried) % REGISTRY_SLOTS + 1;
        struct flock lock = slot_lock(slot, F_WRLCK);
        if (fcntl(registry->file, F_OFD_SETLK, &lock) < 0) {
            if (errno == EAGAIN || errno == EACCES) continue;
            return explain(why, why_bytes, -errno, "cannot lock a slot: %s", strerror(errno));
        }
        registry->slot = slot;
        int rc = doorbell_open(registry, why, why_bytes);
        if (rc == 0) {
            shared->last_slot = slot;
            __atomic_fetch_add(&shared->epoch, 1, __ATOMIC_RELEASE);
            shared->slot[slot].pid = (int32_t)registry->pid;
            return 0;
        }
        lock = slot_lock(slot, F_UNLCK);
        fcntl(registry->file, F_OFD_SETLK, &lock);
        registry->slot = 0;
        if (rc != -EADDRINUSE) return rc;
        /* its name is still bound: a descriptor of its last holder lives somewhere */
    }
    return explain(why, why_bytes, -EUSERS, "all %u slots of this machine are taken", REGISTRY_SLOTS);
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

/* Everything in the file that names the slot. */
static void slot_forget(struct registry *registry, uint32_t slot)
{
    struct shared *shared = registry->shared;
    for (uint32_t i = 0; i < shared->listeners && i < LISTENERS; i++)
        if (shared->listener[i].slot == slot) shared->listener[i].slot = 0;
    for (uint32_t i = 0; i < shared->groups && i < GROUPS; i++)
        registry_group_remove(&shared->group[i], slot);
    shared->slot[slot].pid = 0;
}

int registry_join(struct registry **ret, char *why, size_t why_bytes)
{
    char path[256];
    int fd = file_open(path, sizeof path, why, why_bytes);
    if (fd < 0) return fd;
    struct registry *registry = calloc(1, sizeof *registry);
    if (!registry) {
        close(fd);
        return explain(why, why_bytes, -ENOMEM, "no memory");
    }
    *registry = (struct registry){.file = fd, .doorbell = -1, .uid = geteuid(), .pid = getpid()};
    pthread_mutex_init(&registry->mutex, NULL);
    int rc = registry_lock(registry, true);
    if (rc < 0) {
        explain(why, why_bytes, rc, "%s is locked by a process that was stopped", path);
    } else {
        rc = file_map(registry, path, why, why_bytes);
        if (rc == 0) rc = slot_take(registry, why, why_bytes);
        if (rc == 0) {
            int32_t pid = registry->shared->slot[registry->slot].pid;
            slot_forget(registry, registry->slot); /* what its last holder left behind */
            registry->shared->slot[registry->slot].pid = pid;
        }
        registry_unlock(registry);
    }
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
    close(registry->file);
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

int32_t registry_pid(struct registry *registry, uint32_t slot)
{
    int32_t pid = 0;
    if (registry_lock(registry, true) < 0) return 0;
    if (slot_alive(registry, slot)) pid = registry->shared->slot[slot].pid;
    registry_unlock(registry);
    return pid;
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
    socklen_t name_bytes;
    struct sockaddr_un name = doorbell_name(registry, slot, &name_bytes);
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
           header->bytes == bytes - sizeof *header;
}

int registry_receive(struct registry *registry, struct wire_packet *ret, uint8_t *buf, size_t cap)
{
    for (;;) {
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
}

int registry_fd(struct registry *registry)
{
    return registry->doorbell;
}
