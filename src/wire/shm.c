/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shm wire: rings in shared memory between processes of one machine (and one registry).
 *
 * One ring for each pair and direction, made by the sender in a memfd and handed to the receiver, with its
 * descriptor, through the receiver's abstract socket (registry_socket()).  One writer and one reader: a
 * process that dies in the middle of a packet leaves nothing half done, since the head moves only when a packet
 * is whole.  There is nothing to clean up after anybody: memory goes with the last mapping.
 *
 * A packet is built in the ring (place) or copied into it (tx), and handed up in place; its room is free again at the
 * next rx.  No ICRC: the bytes never leave memory.
 *
 * Waking.  A receiver that is about to sleep says so in the ring (deadline() is asked last before sleeping) and looks
 * once more; a sender that then finds the flag rings the bell, an empty datagram to the same socket.  While
 * the receiver polls nothing is rung.
 *
 * Whose ring: the slot in the destination QP, if that process has joined the destination address; QP1 goes
 * to the oldest process of the address, multicast to each member of the group.  Packets for other machines are refused
 * and counted.
 *
 * Ordering, field by field: `head` is written by the sender (release), read by the receiver (acquire); `tail` the other
 * way round; `sleeping` is set by the receiver and cleared by either, with a full fence between it and head on both
 * sides, so that one of them sees the other.  Everything else in a ring is written by the sender before head.
 * The reader trusts nothing it finds there: a record is copied before it is looked at, and a wrong one closes the ring.
 *
 * A descriptor that was received can hurt before it is looked at (closing a file of a hostile file system waits for
 * it), so who sent it is asked first: a look at the message that leaves it, and its descriptors, in the queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/quiet.h"
#include "wire/registry.h"
#include "wire/wire_int.h"

#define RING_BYTES (2u << 20)  /* a few bursts of 64 packets; larger falls out of the cache */
#define RING_MAGIC 0x72696e68u /* changes with struct record */
#define LINE 64u
#define SKIP UINT32_MAX /* a record that only fills the ring's end */
#define SLOT_COUNT (REGISTRY_SLOTS + 1u)
#define ADDRESSES_MAX 64u
#define ALIVE_EVERY_PS (10 * PS_MS)
#define RETRY_PS (20 * PS_US)
#define MISSES_AWAKE 64u /* empty receives between two looks at the socket */
#define MISSES_ASLEEP 4u
#define ROUTES 1024u
#define HEAR_MOST 32u /* datagrams at a time: the device is locked meanwhile */

struct ring {
    _Alignas(LINE) uint32_t magic;
    _Alignas(LINE) _Atomic uint64_t head;
    _Alignas(LINE) _Atomic uint64_t tail;
    _Alignas(LINE) _Atomic uint32_t sleeping;
    _Alignas(4096) uint8_t data[RING_BYTES];
};

struct record {
    uint32_t bytes;
    struct pkt_envelope envelope;
    uint8_t unchecked;
    uint8_t spare[15];
};
_Static_assert(sizeof(struct record) == LINE, "a record's header is a line, so that data begins on one");

struct outgoing { /* ours to write */
    struct ring *ring;
    uint64_t head, tail; /* tail: as last seen */
    uint64_t placed;     /* where the packet lies that is being built */
    ps_t asked_at;       /* when we last looked whether the reader lives */
    uint32_t life;       /* of the reader */
    int file;            /* until it is handed over; then -1 */
    bool touched;
};

struct incoming { /* ours to read */
    struct ring *ring;
    uint64_t at;   /* read so far; the tail follows at the next rx */
    uint32_t life; /* of the sender */
};

struct route { /* of what is for a slot at an address */
    struct pkt_addr dst;
    uint32_t slot, to; /* to: the slot it goes to; 0: nobody here */
    bool known;
};

struct bell { /* what is sent to a bell's socket */
    uint64_t nonce;
    uint32_t slot, ring; /* ring: a descriptor comes with it */
};

struct wire_shm {
    struct wire wire;
    struct registry *registry;
    uint32_t slot, epoch;
    uint16_t port;
    pid_t pid;
    uid_t uid;
    int socket;
    bool armed;
    bool tidy; /* rings of processes that are gone may be left */
    ps_t retry_at;
    unsigned addresses, turn, misses, incomings;
    uint32_t placing; /* the slot in whose ring packets are being built; 0: none */
    struct pkt_addr placing_dst;
    struct pkt_addr address[ADDRESSES_MAX];
    uint16_t incoming_slot[SLOT_COUNT]; /* those that have a ring to us */
    struct incoming incoming[SLOT_COUNT];
    struct outgoing outgoing[SLOT_COUNT];
    struct route route[ROUTES]; /* destinations that were looked up */
};

static struct wire_shm *shm_of(struct wire *wire)
{
    return (struct wire_shm *)wire;
}

static uint32_t lines(uint32_t bytes)
{
    return (bytes + LINE - 1) & ~(LINE - 1);
}

/* --- the bell --- */

/* Our slot, and a ring's descriptor if there is one to hand over.  0 or -errno. */
static int bell_ring(struct wire_shm *shm, uint32_t slot, int file)
{
    uint32_t number = registry_bell(shm->registry, slot);
    if (number == 0) return -ECONNREFUSED;
    socklen_t name_bytes;
    struct sockaddr_un name = registry_socket_name(number, &name_bytes);
    struct bell bell = {registry_nonce(shm->registry), shm->slot, file >= 0};
    struct iovec iov = {&bell, sizeof bell};
    struct msghdr message = {.msg_name = &name, .msg_namelen = name_bytes, .msg_iov = &iov, .msg_iovlen = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    if (file >= 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof file);
        control.header = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &file, sizeof file);
    }
    return sendmsg(shm->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void incoming_close(struct wire_shm *shm, uint32_t slot)
{
    struct incoming *incoming = &shm->incoming[slot];
    if (!incoming->ring) return;
    munmap(incoming->ring, sizeof *incoming->ring);
    incoming->ring = NULL;
    for (unsigned i = 0; i < shm->incomings; i++)
        if (shm->incoming_slot[i] == slot) shm->incoming_slot[i--] = shm->incoming_slot[--shm->incomings];
}

static void incoming_open(struct wire_shm *shm, uint32_t slot, int file)
{
    struct stat st;
    int seals = fcntl(file, F_GET_SEALS); /* -1: no file that can have any */
    if (fstat(file, &st) < 0 || st.st_size != (off_t)sizeof(struct ring)) return;
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) return; /* or reading could fault */
    struct ring *ring = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ring == MAP_FAILED) return;
    if (ring->magic != RING_MAGIC) {
        munmap(ring, sizeof *ring);
        return;
    }
    incoming_close(shm, slot); /* an older process of this slot */
    shm->incoming[slot] = (struct incoming){.ring = ring, .life = registry_life(shm->registry, slot)};
    shm->incoming_slot[shm->incomings++] = (uint16_t)slot;
}

/* One message of the bell's socket with, at most, the one descriptor that there is room for.  MSG_PEEK: with none. */
static ssize_t bell_read(const struct wire_shm *shm, int flags, struct bell *ret, uid_t *ret_sender, int *ret_file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {ret, sizeof *ret};
    size_t room = CMSG_SPACE(sizeof(struct ucred)) + (flags & MSG_PEEK ? 0 : CMSG_LEN(sizeof(int)));
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = room};
    ssize_t got = recvmsg(shm->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | flags);
    *ret_sender = (uid_t)-1;
    *ret_file = -1;
    for (struct cmsghdr *at = got < 0 ? NULL : CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
        struct ucred sender;
        if (at->cmsg_level != SOL_SOCKET) continue;
        if (at->cmsg_type == SCM_RIGHTS) memcpy(ret_file, CMSG_DATA(at), sizeof *ret_file);
        if (at->cmsg_type != SCM_CREDENTIALS) continue;
        memcpy(&sender, CMSG_DATA(at), sizeof sender);
        *ret_sender = sender.uid;
    }
    return got;
}

/* Reads what waits: bells, and rings that are handed to us. */
static void bell_hear(struct wire_shm *shm)
{
    for (unsigned heard = 0; heard < HEAR_MOST; heard++) {
        struct bell bell;
        uid_t sender;
        int file;
        ssize_t got = bell_read(shm, MSG_PEEK, &bell, &sender, &file);
        if (got < 0) return;
        bool ring =
            got == (ssize_t)sizeof bell && bell.ring && sender == shm->uid && bell.slot > 0 && bell.slot < SLOT_COUNT;
        if (!ring) { /* read it, and let what came with it go */
            recv(shm->socket, &bell, sizeof bell, MSG_DONTWAIT);
            continue;
        }
        bell_read(shm, 0, &bell, &sender, &file);
        if (file < 0) continue;
        incoming_open(shm, bell.slot, file);
        close(file);
    }
}

/* --- sending --- */

static void outgoing_close(struct outgoing *out)
{
    if (!out->ring) return;
    munmap(out->ring, sizeof *out->ring);
    if (out->file >= 0) close(out->file);
    out->ring = NULL;
}

static int outgoing_open(struct wire_shm *shm, uint32_t slot)
{
    struct outgoing *out = &shm->outgoing[slot];
    uint32_t life = registry_life(shm->registry, slot);
    if (life == 0) return -ECONNREFUSED;
    int file = memfd_create("rocelab-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -errno;
    struct quiet quiet;
    quiet_begin(&quiet);
    int room = ftruncate(file, sizeof(struct ring));
    quiet_end(&quiet);
    if (room < 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        close(file);
        return -ENOMEM;
    }
    struct ring *ring = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ring == MAP_FAILED) {
        close(file);
        return -ENOMEM;
    }
    ring->magic = RING_MAGIC;
    *out = (struct outgoing){.ring = ring, .life = life, .file = file};
    return 0;
}

/* Room for a record of `bytes` with its header, in one piece; NULL: the ring is full. */
static struct record *outgoing_room(struct outgoing *out, uint32_t bytes)
{
    uint32_t need = LINE + lines(bytes), at = (uint32_t)(out->head % RING_BYTES);
    uint32_t skip = RING_BYTES - at < need ? RING_BYTES - at : 0;
    if (out->head + skip + need - out->tail > RING_BYTES) {
        out->tail = atomic_load_explicit(&out->ring->tail, memory_order_acquire);
        if (out->head - out->tail > RING_BYTES) out->tail = out->head - RING_BYTES; /* the reader writes nonsense */
        if (out->head + skip + need - out->tail > RING_BYTES) return NULL;
    }
    if (skip) {
        ((struct record *)(void *)(out->ring->data + at))->bytes = SKIP;
        out->head += skip;
        at = 0;
    }
    out->head += need;
    return (struct record *)(void *)(out->ring->data + at);
}

static void record_fill(struct record *record, const struct wire_packet *packet)
{
    *record = (struct record){.bytes = packet->bytes, .envelope = packet->envelope, .unchecked = packet->unchecked};
}

/* 1: in the ring; 0: no room. */
static int outgoing_put(struct outgoing *out, const struct wire_packet *packet)
{
    struct record *record = outgoing_room(out, packet->bytes);
    if (!record) return 0;
    record_fill(record, packet);
    memcpy(record + 1, packet->data, packet->bytes);
    out->touched = true;
    return 1;
}

static void outgoing_publish(struct wire_shm *shm, uint32_t slot, ps_t now)
{
    struct outgoing *out = &shm->outgoing[slot];
    if (!out->ring || !out->touched) return;
    out->touched = false;
    atomic_store_explicit(&out->ring->head, out->head, memory_order_release);
    if (out->file >= 0) { /* the reader does not have it yet */
        int rc = bell_ring(shm, slot, out->file);
        shm->wire.counters.tx_calls++;
        if (rc == 0) {
            close(out->file);
            out->file = -1;
        } else if (rc == -EAGAIN) {
            out->touched = true; /* its queue is full: again with the next packet, or at the deadline */
            shm->retry_at = now + RETRY_PS;
        } else {
            outgoing_close(out);
        }
        return;
    }
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&out->ring->sleeping, memory_order_relaxed) &&
        atomic_exchange_explicit(&out->ring->sleeping, 0, memory_order_relaxed)) {
        shm->wire.counters.tx_calls++;
        bell_ring(shm, slot, -1);
    }
}

/* The ring is full: does anybody read it?  Asked every so often. */
static bool outgoing_dead(struct wire_shm *shm, uint32_t slot, ps_t now)
{
    struct outgoing *out = &shm->outgoing[slot];
    if (now - out->asked_at < ALIVE_EVERY_PS) return false;
    out->asked_at = now;
    if (registry_life(shm->registry, slot) == out->life) return false;
    outgoing_close(out);
    return true;
}

/* The slot that the packet is for; 0: nobody here. */
static uint32_t destination(struct wire_shm *shm, const struct pkt_addr *dst, uint32_t qpn)
{
    uint32_t slot = registry_slot_of(qpn);
    uint32_t at = (slot ^ (uint32_t)dst->byte[15] * 37 ^ (uint32_t)dst->byte[14] * 59) % ROUTES;
    struct route *route = &shm->route[at];
    if (route->known && slot == route->slot && memcmp(&route->dst, dst, sizeof *dst) == 0) return route->to;
    if (registry_lock(shm->registry, true) < 0) return 0;
    uint32_t to = 0;
    struct registry_group *group = registry_group_find(shm->registry, dst, shm->port, false);
    if (group) {
        registry_group_sweep(shm->registry, group);
        if (slot == 0 && group->members) to = group->slot[0];
        if (slot && registry_group_member(group, slot) >= 0) to = slot;
    }
    registry_unlock(shm->registry);
    *route = (struct route){.dst = *dst, .slot = slot, .to = to, .known = true};
    return to;
}

static void forget_routes(struct wire_shm *shm)
{
    for (unsigned i = 0; i < ROUTES; i++)
        shm->route[i].known = false;
}

static void count_sent(struct wire_shm *shm, const struct wire_packet *packet)
{
    shm->wire.counters.tx_packets++;
    shm->wire.counters.tx_bytes += packet->bytes;
    shm->wire.counters.tx_shm_packets++;
    shm->wire.counters.tx_shm_bytes += packet->bytes;
}

/* 1: taken (sent, or refused and counted); 0: no room. */
static int send_to(struct wire_shm *shm, uint32_t to, const struct wire_packet *packet, ps_t now)
{
    if (to == 0 || (!shm->outgoing[to].ring && outgoing_open(shm, to) < 0)) {
        shm->wire.counters.tx_refused++;
        return 1;
    }
    if (!outgoing_put(&shm->outgoing[to], packet)) {
        if (!outgoing_dead(shm, to, now)) return 0;
        shm->wire.counters.tx_refused++;
        return 1;
    }
    count_sent(shm, packet);
    return 1;
}

static void send_multicast(struct wire_shm *shm, const struct wire_packet *packet, ps_t now)
{
    uint16_t members[REGISTRY_SLOTS];
    unsigned count = 0;
    if (registry_lock(shm->registry, true) < 0) return;
    struct registry_group *group = registry_group_find(shm->registry, &packet->dst, shm->port, false);
    if (group) {
        registry_group_sweep(shm->registry, group);
        count = group->members;
        memcpy(members, group->slot, count * sizeof members[0]);
    }
    registry_unlock(shm->registry);
    for (unsigned i = 0; i < count; i++) {
        send_to(shm, members[i], packet, now); /* a full ring loses it: multicast is unreliable */
        outgoing_publish(shm, members[i], now);
    }
}

/* Processes have come since: a slot may be another's now. */
static void notice_epoch(struct wire_shm *shm)
{
    uint32_t epoch = registry_epoch(shm->registry);
    if (epoch == shm->epoch) return;
    shm->epoch = epoch;
    forget_routes(shm);
    for (uint32_t slot = 1; slot < SLOT_COUNT; slot++) {
        struct outgoing *out = &shm->outgoing[slot];
        if (out->ring && registry_life(shm->registry, slot) != out->life) outgoing_close(out);
    }
    shm->tidy = true;
}

/* Rings of processes that are gone, once they are empty.  Only before packets are handed up: those of the last call may
 * be in use while answers to them are sent. */
static void incoming_tidy(struct wire_shm *shm)
{
    if (!shm->tidy) return;
    shm->tidy = false;
    for (unsigned i = shm->incomings; i-- > 0;) {
        uint32_t slot = shm->incoming_slot[i];
        const struct incoming *in = &shm->incoming[slot];
        if (registry_life(shm->registry, slot) == in->life) continue;
        if (atomic_load_explicit(&in->ring->head, memory_order_acquire) == in->at)
            incoming_close(shm, slot);
        else
            shm->tidy = true;
    }
}

bool wire_shm_reaches(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn)
{
    struct wire_shm *shm = shm_of(wire);
    uint32_t slot = registry_slot_of(qpn);
    if (slot == 0 || slot >= SLOT_COUNT || pkt_addr_is_multicast(dst)) return false;
    notice_epoch(shm);
    return destination(shm, dst, qpn) != 0 && registry_bell(shm->registry, slot) != 0;
}

void wire_shm_forget(struct wire *wire)
{
    forget_routes(shm_of(wire));
}

static int shm_tx(struct wire *wire, const struct wire_packet *packet, unsigned count, ps_t now)
{
    struct wire_shm *shm = shm_of(wire);
    uint32_t last = 0;
    unsigned taken = 0;
    shm->retry_at = PS_NEVER;
    notice_epoch(shm);
    for (; taken < count; taken++) {
        CHECK(packet[taken].bytes <= WIRE_PACKET_MAX);
        if (pkt_addr_is_multicast(&packet[taken].dst)) {
            send_multicast(shm, &packet[taken], now);
            continue;
        }
        uint32_t to = destination(shm, &packet[taken].dst, codec_dest_qp(packet[taken].data));
        if (last && to != last) outgoing_publish(shm, last, now);
        last = to;
        if (send_to(shm, to, &packet[taken], now) == 0) {
            shm->retry_at = now + RETRY_PS;
            break;
        }
    }
    if (last) outgoing_publish(shm, last, now);
    return (int)taken;
}

/* --- building in the ring --- */

void wire_shm_publish(struct wire *wire, ps_t now)
{
    struct wire_shm *shm = shm_of(wire);
    uint32_t slot = shm->placing;
    shm->placing = 0;
    if (slot) outgoing_publish(shm, slot, now);
}

/* Whose ring is asked once for packets of one destination in a row, until they are published. */
static bool placing_begin(struct wire_shm *shm, const struct pkt_addr *dst, uint32_t qpn, ps_t now)
{
    uint32_t slot = registry_slot_of(qpn);
    wire_shm_publish(&shm->wire, now);
    if (!wire_shm_reaches(&shm->wire, dst, qpn)) return false;
    if (!shm->outgoing[slot].ring && outgoing_open(shm, slot) < 0) return false;
    shm->retry_at = PS_NEVER;
    shm->placing = slot;
    shm->placing_dst = *dst;
    return true;
}

/* A full ring, or one that cannot be made, is the business of tx, which can say "later" and count what is refused. */
uint8_t *wire_shm_place(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn, uint32_t bytes, ps_t now)
{
    struct wire_shm *shm = shm_of(wire);
    CHECK(bytes <= WIRE_PACKET_MAX);
    uint32_t slot = registry_slot_of(qpn);
    bool same = shm->placing && shm->placing == slot && memcmp(&shm->placing_dst, dst, sizeof *dst) == 0;
    if (!(same && shm->outgoing[slot].ring) && !placing_begin(shm, dst, qpn, now)) return NULL;
    struct outgoing *out = &shm->outgoing[slot];
    uint64_t head = out->head;
    const struct record *record = outgoing_room(out, bytes);
    out->placed = out->head - LINE - lines(bytes); /* behind a skip, if there is one */
    out->head = head;
    if (!record) wire_shm_publish(wire, now);
    return record ? (uint8_t *)(uintptr_t)(record + 1) : NULL;
}

void wire_shm_placed(struct wire *wire, const struct wire_packet *packet)
{
    struct wire_shm *shm = shm_of(wire);
    struct outgoing *out = &shm->outgoing[shm->placing];
    struct record *record = (struct record *)(void *)(out->ring->data + out->placed % RING_BYTES);
    CHECK(packet->data == (uint8_t *)(record + 1));
    record_fill(record, packet);
    out->head = out->placed + LINE + lines(packet->bytes);
    out->touched = true;
    count_sent(shm, packet);
}

/* --- receiving --- */

/* The next packet of a ring, in place. */
static bool incoming_next(struct wire_shm *shm, uint32_t slot, uint64_t head, struct wire_packet *ret)
{
    struct incoming *in = &shm->incoming[slot];
    while (in->at != head) {
        uint32_t at = (uint32_t)(in->at % RING_BYTES);
        struct record record;
        memcpy(&record, in->ring->data + at, sizeof record);
        atomic_signal_fence(memory_order_seq_cst); /* what was checked is what is used */
        uint32_t bytes = record.bytes;
        __builtin_prefetch(in->ring->data + at + LINE);
        uint64_t left = head - in->at;
        if (left > RING_BYTES) return false;
        if (bytes == SKIP) { /* never of a whole ring, nor past the head: each one brings us nearer to it */
            if (at == 0 || RING_BYTES - at > left) return false;
            in->at += RING_BYTES - at;
            continue;
        }
        if (bytes > WIRE_PACKET_MAX || bytes < 12 || LINE + lines(bytes) > RING_BYTES - at ||
            LINE + lines(bytes) > left || record.envelope.net == PKT_NET_NONE || record.envelope.net > PKT_NET_IPV6)
            return false;
        *ret = (struct wire_packet){
            .data = in->ring->data + at + LINE,
            .bytes = bytes,
            .envelope = record.envelope,
            .id_known = true,
            .memory = true,
            .unchecked = record.unchecked != 0,
        };
        in->at += LINE + lines(bytes);
        __builtin_prefetch(in->ring->data + in->at % RING_BYTES + LINE + lines(bytes)); /* the one after the next */
        return true;
    }
    return false;
}

/* Awake again.  A flag that is no longer set means that a bell was rung. */
static bool wake_up(struct wire_shm *shm)
{
    bool rung = false;
    shm->armed = false;
    for (unsigned i = 0; i < shm->incomings; i++) {
        struct ring *ring = shm->incoming[shm->incoming_slot[i]].ring;
        rung |= atomic_exchange_explicit(&ring->sleeping, 0, memory_order_relaxed) == 0;
    }
    return rung;
}

static int shm_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    (void)now;
    struct wire_shm *shm = shm_of(wire);
    unsigned count = 0;
    uint64_t bytes = 0;
    bool was_armed = shm->armed;
    if (was_armed && wake_up(shm)) bell_hear(shm);
    for (unsigned i = 0; i < shm->incomings; i++) { /* what the last call handed up is done with */
        struct incoming *in = &shm->incoming[shm->incoming_slot[i]];
        if (atomic_load_explicit(&in->ring->tail, memory_order_relaxed) != in->at)
            atomic_store_explicit(&in->ring->tail, in->at, memory_order_release);
    }
    incoming_tidy(shm);
    unsigned rings = shm->incomings;
    for (unsigned i = 0; i < rings && count < max; i++) {
        uint32_t slot = shm->incoming_slot[(shm->turn + i) % rings];
        struct incoming *in = &shm->incoming[slot];
        uint64_t head = atomic_load_explicit(&in->ring->head, memory_order_acquire);
        while (count < max && in->at != head && incoming_next(shm, slot, head, &ret[count]))
            bytes += ret[count++].bytes;
        if (count < max && in->at != head) { /* nonsense in the ring; what was handed up stays mapped */
            if (count == 0) incoming_close(shm, slot);
            break;
        }
    }
    shm->turn++;
    wire->counters.rx_calls++;
    wire->counters.rx_packets += count;
    wire->counters.rx_shm_packets += count;
    wire->counters.rx_bytes += bytes;
    wire->counters.rx_shm_bytes += bytes;
    /* A ring that is new to us lies in the socket: seldom, and a look costs more than a short packet takes. */
    if (count == 0 && ++shm->misses % (was_armed ? MISSES_ASLEEP : MISSES_AWAKE) == 0) bell_hear(shm);
    return (int)count;
}

static ps_t shm_deadline(struct wire *wire)
{
    struct wire_shm *shm = shm_of(wire);
    shm->armed = true;
    for (unsigned i = 0; i < shm->incomings; i++)
        atomic_store_explicit(&shm->incoming[shm->incoming_slot[i]].ring->sleeping, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < shm->incomings; i++) {
        const struct incoming *in = &shm->incoming[shm->incoming_slot[i]];
        if (atomic_load_explicit(&in->ring->head, memory_order_relaxed) != in->at) return 0;
    }
    return shm->retry_at;
}

/* --- opening and closing --- */

static int shm_fd(struct wire *wire)
{
    return shm_of(wire)->socket;
}

static int shm_add_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_shm *shm = shm_of(wire);
    if (shm->addresses == ADDRESSES_MAX) return wire_fail(wire, -ENOSPC, "too many addresses");
    int rc = registry_lock(shm->registry, true);
    if (rc < 0) return wire_fail(wire, rc, "the registry is locked by a process that was stopped");
    struct registry_group *group = registry_group_find(shm->registry, local, shm->port, true);
    rc = group ? registry_group_add(shm->registry, group) : -ENOSPC;
    registry_unlock(shm->registry);
    forget_routes(shm);
    if (rc == -EEXIST) return 0;
    if (rc < 0) return wire_fail(wire, rc, "no room in the registry");
    shm->address[shm->addresses++] = *local;
    return 0;
}

static void shm_remove_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_shm *shm = shm_of(wire);
    for (unsigned i = 0; i < shm->addresses; i++) {
        if (memcmp(&shm->address[i], local, sizeof *local) != 0) continue;
        shm->address[i] = shm->address[--shm->addresses];
        if (shm->pid != getpid() || registry_lock(shm->registry, true) < 0) return;
        struct registry_group *group = registry_group_find(shm->registry, local, shm->port, false);
        if (group) registry_group_remove(group, shm->slot);
        registry_unlock(shm->registry);
        return;
    }
}

static void shm_close(struct wire *wire)
{
    struct wire_shm *shm = shm_of(wire);
    while (shm->addresses) {
        struct pkt_addr address = shm->address[0];
        shm_remove_address(wire, &address);
    }
    for (uint32_t slot = 1; slot < SLOT_COUNT; slot++) {
        incoming_close(shm, slot);
        outgoing_close(&shm->outgoing[slot]);
    }
    if (shm->socket >= 0) close(shm->socket);
    free(shm);
}

static const struct wire_ops shm_ops = {
    .rx = shm_rx,
    .tx = shm_tx,
    .fd = shm_fd,
    .deadline = shm_deadline,
    .place = wire_shm_place,
    .placed = wire_shm_placed,
    .publish = wire_shm_publish,
    .add_address = shm_add_address,
    .remove_address = shm_remove_address,
    .close = shm_close,
};

int wire_shm_open(const struct wire_config *config, struct wire **ret)
{
    struct wire_shm *shm = calloc(1, sizeof *shm);
    if (!shm) return -ENOMEM;
    shm->wire = (struct wire){.ops = &shm_ops, .run_max = 1, .run_bytes = WIRE_PACKET_MAX, .no_icrc = true};
    shm->registry = config->registry;
    shm->slot = config->slot;
    shm->port = config->port;
    shm->pid = getpid();
    shm->uid = geteuid();
    shm->epoch = registry_epoch(config->registry);
    shm->retry_at = PS_NEVER;
    wire_synthetic_ports(&shm->wire, config->source_ports);
    uint32_t number;
    shm->socket = registry_socket(shm->registry, &number);
    if (shm->socket < 0) {
        int rc = wire_fail(&shm->wire, shm->socket, "no socket for the shm wire: %s", strerror(-shm->socket));
        return wire_open_failed(&shm->wire, config, rc);
    }
    registry_set_bell(shm->registry, number);
    *ret = &shm->wire;
    return 0;
}
