/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of a live adapter, and what its files call of each other.
 *
 * A device is one `struct device`, or several: shards, which share its queue pairs out (shard.c).  The first is what
 * callers of live.h hold.
 *
 * All fields of `struct device` and of everything that hangs on it are under `lock`, but for those marked
 * otherwise.  Functions here expect the lock held unless they say so; the calls of live.h take it.  Locks are taken in
 * this order: the list of devices, the first shard, other shards by their number, a completion queue, its channel or
 * the listeners.
 *
 * Packets between nic and wire are built in batches, by destination, or where the peer reads them; descriptors live
 * only for the length of a call.  What stays in the pool are ACKs that wait for their turn, and what selective repeat
 * keeps.
 */
#ifndef ROCELAB_LIVE_LIVE_INT_H
#define ROCELAB_LIVE_LIVE_INT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/bits.h"
#include "base/time.h"
#include "device/listeners.h"
#include "device/objects.h"
#include "live/environment.h"
#include "live/live.h"
#include "live/turns.h"
#include "nic/nic.h"
#include "packet/pkt.h"
#include "packet/pktpool.h"
#include "plant/plant.h"
#include "record/event.h"
#include "runtime/shared_page.h"
#include "wire/registry.h"
#include "wire/wire.h"

#define LIVE_QPS (1u << REGISTRY_QPN_BITS)
#define LIVE_MRS (1u << 16)
#define LIVE_POOL 65536u /* descriptors: an ACK and a NAK may wait for each QP, and packets that are kept */
#define LIVE_MADS 256u   /* management datagrams that wait for their reader */
#define LIVE_REPLIES 16u /* paths to whoever sent a marked UD packet; numbers 1 .. */
#define LIVE_BATCHES 8u  /* that are built side by side */
#define LIVE_QPN_CM 1u
#define LIVE_QPN_MULTICAST 0xffffffu

enum peer { PEER_UNKNOWN, PEER_OURS, PEER_FOREIGN };

struct path {
    struct device_path key;
    struct pkt_addr src;
    uint8_t net;
    uint8_t peer;   /* enum peer: who is at its end */
    uint8_t offers; /* made while that is unknown */
    bool offered;   /* by the peer: its requests were marked, so ours answer with marks */
    uint32_t users;
};

struct cq_part { /* what one shard puts into a completion queue; under that shard's lock */
    struct nic_cq nic;
    struct device *live;
    struct device_cq *cq;
    struct cq_part *next;       /* of the shard's */
    struct cq_part *armed_next; /* of those armed, while it is */
    bool armed;
};

/* With one shard a queue is its only part, under the device's lock.  With several it has a ring and a lock of its own,
 * to which every shard brings what its part holds. */
struct device_cq {
    const struct device_ops *ops;
    struct device *live; /* the first shard */
    struct nic_cq *ready;
    struct nic_cq own;
    struct cq_part *part[LIVE_SHARDS_MAX]; /* by number of the shard; atomic where there are several; NULL: none */
    pthread_mutex_t lock;                  /* several shards: ready, and what follows up to `channel` */
    uint32_t held;                         /* atomic: completions in `ready`; 0: there is none to fetch */
    bool backlog;                          /* `ready` was full, and a part holds more */
    struct notice notice;                  /* armed: atomic where there are several shards */
    uint32_t turn;                         /* atomic: the part to look at first */
    ps_t polled_at, vain_since;            /* atomic, several shards: as in struct device */
    struct device_channel *channel;
    void *app;
    uint32_t users;                 /* atomic: QPs */
    uint32_t pending;               /* events in the channel's queue; this and what follows under the channel's lock */
    uint32_t delivered, acked;      /* events */
    struct device_cq *channel_next; /* while pending */
};

struct device_channel {
    const struct device_ops *ops;
    struct device *live;
    int fd;
    uint32_t users; /* atomic */
    uint32_t rings; /* under the lock: events told that the descriptor does not show yet */
    bool waits;     /* atomic: a program that waits for the descriptor does the thread's work (wait.c) */
    pthread_mutex_t lock;
    pthread_cond_t acked; /* an event was acknowledged */
    struct device_cq *head, *tail;
};

struct device_qp {
    struct queue_pair;
    struct cq_part *send_cq, *recv_cq;
    uint8_t exact;       /* packets whose ICRC fitted the known IP identification, up to ICRC_TRUSTED */
    bool foreign;        /* the peer's identifications cannot be known */
    bool memory;         /* the peer is reached through memory: nothing is taken from sockets */
    uint16_t peer_port;  /* the UDP source port of the peer, one of us; 0: not known */
    bool peer_known;     /* memory and peer_port are the registry's word, else they are learned */
    uint32_t peer_epoch; /* the registry's when it was asked for the peer */
};

struct member { /* a QP in a multicast group */
    struct device_qp *qp;
    struct pkt_addr group;
};

struct batch { /* packets built and not yet taken by the wire */
    uint8_t *data;
    uint32_t used;
    unsigned count, sent;
    unsigned run; /* packets in the run that is being built */
    uint32_t run_bytes, run_step;
    struct wire_packet packet[WIRE_BURST];
};

struct outbox {
    struct batch batch[LIVE_BATCHES];
    struct batch *last; /* the batch that got the last packet */
    unsigned total;     /* packets in all batches and placed */
    unsigned placed;    /* packets built where they are read (wire_place), and not yet published */
    bool placing;       /* the wire was asked for a place since it was last told to publish */
};

/* Counters of the loop itself, from one list. */
#define LIVE_COUNTER_LIST(X)                                                                                           \
    X(rx_icrc_errors, "packets dropped for a wrong ICRC")                                                              \
    X(rx_malformed, "packets that are no RoCE packet")                                                                 \
    X(rx_pkey, "packets of another partition")                                                                         \
    X(rx_forged, "packets for a connected QP from another address, port or RoCE version than its peer's")              \
    X(rx_no_descriptor, "packets that found no free descriptor")                                                       \
    X(rx_mads, "management datagrams")                                                                                 \
    X(rx_mads_dropped, "of them, dropped: nobody reads")                                                               \
    X(rx_mads_forwarded, "of them, handed to another process")                                                         \
    X(rx_multicast, "multicast packets")                                                                               \
    X(faults_local, "accesses to memory that is not there, or not allowed")                                            \
    X(polls_empty, "polls that found nothing")                                                                         \
    X(thread_rounds, "rounds of the progress thread")

struct live_own_counters {
#define X(name, help) uint64_t name;
    LIVE_COUNTER_LIST(X)
#undef X
};

/* In whose hands the lock is, as far as others go by it. */
enum holder {
    HOLDER_ANYONE, /* a caller's, or nobody's */
    HOLDER_THREAD, /* the thread's of a device that has one: events are told when it has let go */
    HOLDER_SHARD,  /* a shard's thread's, at work: it lets others in between */
    HOLDER_GUEST,  /* of one whom that let in with received packets in its hands: only posts may come in */
};

#define LIVE_NOTED 16u
#define LIVE_RINGS 8u /* channels with events of one round; more are told at once */

struct device {
    const struct device_ops *ops;
    pthread_mutex_t lock;
    struct device *next; /* of all opened; under the list's lock */
    unsigned users;      /* under the list's lock */
    bool inert;          /* atomic: a child of fork; nothing may be touched */
    bool stop;
    bool alone; /* not shared with others that open the same interface */

    /* shard.c */
    struct device *first;
    struct device *shard[LIVE_SHARDS_MAX]; /* of the first: those opened, itself at 0 */
    unsigned shards;                       /* that there may be; the same in all */
    unsigned number;                       /* of this one */
    unsigned shard_next;                   /* of the first: for the next queue pair */
    bool taken;                            /* atomic: the thread does all the work, others only bring and fetch */
    enum holder holder;
    unsigned posts_wait, others_wait; /* atomic: for the lock */

    struct device_info device;
    struct live_environment env;
    struct registry *registry;
    struct wire *wire;
    struct nic *nic;
    struct nic_io io;
    struct pktpool pool;
    void *memory;
    size_t memory_bytes;
    struct outbox out;
    uint8_t *forwarded; /* WIRE_PACKET_MAX: for registry_receive */
    uint8_t *kept;      /* agree.c: payload that waits for what was lost before it; NULL: none ever had to */

    bool tx_wanted;   /* nic_tx may have something */
    ps_t vain_since;  /* the last poll that was not in vain */
    ps_t yield_after; /* atomic: polls in vain before the core is offered */
    bool yielded;     /* atomic: the core was offered and taken; did it help? */
    bool rx_more;     /* the last burst was full */
    ps_t tx_retry;    /* the wire took nothing; PS_NEVER */
    bool link_down;   /* of a wire that is a port: the adapter is not asked for packets */
    ps_t polled_at;   /* atomic: the application last polled in vain */
    ps_t posted_at;   /* atomic: the application last posted */
    ps_t sleep_until; /* the thread sleeps so long */
    clockid_t poller; /* of the thread that polls */
    ps_t export_at;

    struct path *path;
    uint32_t paths, reply_next;
    struct regions regions; /* of the first */
    struct objects objects;
    uint32_t qpn_first, qpns_given; /* QPNs: the first of all, and how many have been used since */
    struct device_qp *qps;
    struct cq_part *parts;
    struct cq_part *armed; /* written under the lock; atomic: the thread looks before it naps */
    uint32_t srqs;
    struct member *member;
    uint32_t members;
    struct listeners listeners; /* of the first */

    struct device_mad *mad;
    uint32_t mad_head, mad_tail, mad_psn;
    int mad_fd;
    bool mad_read; /* somebody has asked for the descriptor */

    struct live_own_counters own;
    struct nic_counters told; /* copies that live_counters() and its sister answer */
    struct wire_counters wire_told;
    struct live_export *page; /* shared with readers of the counters; NULL: none */
    struct shared_page page_file;
    uint64_t counters_id; /* of the first: the device's; 0: not drawn yet */
    struct record_ring events;
    struct record_event noted[LIVE_NOTED]; /* of the ring; on their way to the page */

    pthread_t thread;
    bool thread_runs;
    struct turns turns;
    bool driven;        /* atomic: a program that waits for events looks after the wire as well */
    bool naps;          /* atomic: it has left the lock to a busy program, and sleeps for a while */
    unsigned lock_left; /* atomic: times that it did */
    unsigned naps_cut;  /* atomic: of them, those that a queue's arming ended */
    bool event_told;    /* an event was made since somebody last set this back */
    unsigned rings;
    struct device_channel *ring[LIVE_RINGS];
    int owed_fd;     /* a timer for ACKs that such a program is to take along */
    ps_t owed_until; /* it is set so far */
    int wake_fd, netlink_fd;
};

ps_t live_now(void);
bool live_inert(const struct device *live); /* this process is a fork of the one that opened; needs no lock */
/* Locks; -ENODEV: inert. */
int live_enter(struct device *live);
void live_leave(struct device *live);

/* what the table holds that the objects begin with: the library's own provider of devices (device.c) */
int adapter_list(struct device_info **ret, unsigned *ret_count);
int adapter_refresh(struct device_info *device);
int adapter_open(const struct device_info *device, struct device **ret, char *why, size_t why_bytes);
#define OP(type, name, object, parameters, arguments) type adapter_##name parameters;
#define OP_VOID(name, object, parameters, arguments) void adapter_##name parameters;
#include "device/device_ops.def"

/* device.c: a second adapter on the same interface, for tests of two in one process */
int live_open_alone(const struct device_info *device, struct device **ret, char *why, size_t why_bytes);
int live_open_shard(struct device *first, unsigned number); /* the first is locked */

/* shard.c */
unsigned shard_count(const struct live_environment *env); /* that a device may have */
static inline bool shard_many(const struct device *live)
{
    return live->shards > 1;
}
/* Those of several shards: */
void shard_lock(struct device *live);      /* not while the thread has packets in its hands */
bool shard_try(struct device *live);       /* likewise, without waiting; false: not locked */
void shard_lock_post(struct device *live); /* for who posts, and does nothing else */
/* live_enter() for who posts, or looks at what posts change. */
static inline int shard_enter_post(struct device *live)
{
    if (!shard_many(live)) return live_enter(live);
    if (live_inert(live)) return -ENODEV;
    shard_lock_post(live);
    return 0;
}
/* The thread has the lock and lets others have it, if there are any; `bursting`: posts alone. */
void shard_let_in(struct device *live, bool bursting);
void shard_give(struct device *live); /* to the thread: there is more to do than a caller should */

/* What a caller brings is sent by the thread. */
static inline bool shard_leaves(const struct device *live)
{
    return shard_many(live) && (live->holder == HOLDER_GUEST || __atomic_load_n(&live->taken, __ATOMIC_RELAXED));
}
/* The shard for a queue pair, opened if it is not; the lock of none is held. */
int shard_choose(struct device *first, const struct device_qp_init *init, struct device **ret);
int shard_enter_all(struct device *first); /* those that are open; -ENODEV */
void shard_leave_all(struct device *first);

/* memory.c: this process's, addressed by itself; false: not there */
bool memory_read(struct device *live, uint64_t addr, void *to, uint64_t bytes);
bool memory_write(struct device *live, uint64_t addr, const void *from, uint64_t bytes);
bool memory_atomic(struct device *live, uint64_t addr, uint8_t verb, uint64_t compare, uint64_t swap,
                   uint64_t *ret_original);
/* Several shards, and no lock is held: before a window is bound on one, and after that was posted. */
int memory_bring_home(struct device_mw *mw, struct device *shard);
void memory_bind_tell(struct device_qp *qp, const struct device_send *send);

/* qp.c */
extern const struct device_host live_host;
void qp_learn(struct device_qp *qp, const struct wire_packet *packet);     /* one that was taken: which way it came */
bool qp_from_peer(struct device_qp *qp, const struct wire_packet *packet); /* what a packet from its address may be */

/* path.c */
int path_enter(struct device *live, const struct device_path *key, uint32_t *ret); /* finds or makes */
void path_leave(struct device *live, uint32_t path);
bool path_find(struct device *live, uint32_t path, struct path_end *ret);
void path_reply(struct device *live, const struct wire_packet *packet, uint32_t *ret);

/* agree.c: selective repeat between our own */
uint8_t peer_mark_out(const struct device *live, struct path *path,
                      const struct pkt *p); /* for the BTH's reserved bits */
void peer_mark_in(struct device *live, const struct device_qp *qp, pkt_t id, uint8_t mark); /* what they said */
/* The payload of io.keep, if that names a packet. */
void peer_keep(struct device *live, uint32_t qpn, const uint8_t *payload, uint32_t bytes);
const uint8_t *peer_kept(const struct device *live); /* of io.kept; NULL: there is none, which is a bug */
void peer_release(struct device *live);

/* cq.c */
/* What a shard puts into the queue; made if there is none.  Both the first and the shard are locked. */
int cq_part_get(struct device_cq *cq, struct device *shard, struct cq_part **ret);
void cq_settle(struct device *live);                /* there are completions: to where they are polled, and events */
bool cq_armed(struct device *live);                 /* somebody waits for an event of a queue of this shard */
void cq_forget(struct cq_part *part, uint32_t qpn); /* completions of a QP that begins anew */
void cq_keep(struct cq_part *part, uint32_t qpn);   /* of one that goes: they need it no more */
/* channel.c */
/* An event, if the queue has a channel; `by` is locked, and its completion made it. */
void channel_tell(struct device *by, struct device_cq *cq);
void channel_ring(struct device_channel *channel);        /* what channel_tell() left for later; no lock is held */
void channel_forget(struct device_cq *cq);                /* it goes; waits until its events are acknowledged */
bool channel_begin_drive(struct device_channel *channel); /* until `driven` is false again */
bool channel_help(struct device *live);                   /* false: nothing may be touched any more */
int wait_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask);
void wait_add(struct device_channel *channel);
void wait_remove(struct device_channel *channel);

/* progress.c */
void progress_settle(struct device *live);       /* after any call of nic_*: completions, events, flags */
bool progress_rx(struct device *live, ps_t now); /* true: something came */
void progress_tx(struct device *live, ps_t now);
void progress_tick(struct device *live, ps_t now);
ps_t progress_deadline(struct device *live);
void progress_wake(struct device *live); /* the thread, if it would sleep past the deadline */

/* build.c */
void build_flush(struct device *live, ps_t now);
void build_flush_complete(struct device *live, ps_t now); /* what is worth it; the rest may still grow */
bool build_room(const struct device *live);
bool build_complete(const struct device *live); /* what is built is worth handing over now, while it is in the cache */
struct batch *build_batch(struct device *live, uint32_t dest_qp);
/* A packet between build_begin, which writes its headers, and build_end, which seals it; payload and pad lie behind the
 * headers, and the payload is written in between. */
struct build {
    uint8_t *at; /* BTH */
    uint32_t header_bytes;
    bool placed; /* lies where the wire wants it, not in the batch */
};
int build_begin(struct device *live, const struct pkt *p, const struct pkt_cold *cold, const struct path *path,
                ps_t now, struct build *ret);
void build_end(struct device *live, const struct build *b, const struct pkt *p, const struct path *path);

/* port.c */
uint8_t port_priority(const struct device *live, uint8_t sl, uint8_t tos);      /* of what travels so */
void port_pause(struct device *live, const struct wire_pause *pause, ps_t now); /* one has come */
bool port_paused(const struct device *live, uint8_t priority); /* for what does not come from nic_tx() */
void port_link(struct device *live, ps_t now);                 /* device.up may have changed */
void port_tell(struct device *live, ps_t now);                 /* sends the pause that the adapter asks for, if any */

/* receive.c */
void receive_packet(struct device *live, const struct wire_packet *packet, bool forwarded, ps_t now);

/* mad.c */
void mad_receive(struct device *live, const struct wire_packet *packet, const struct pkt *p, const uint8_t *payload,
                 bool forwarded);

/* events.c */
void events_collect(struct device *live);
void events_push(struct device *live, enum device_event_kind kind, void *app);
void events_forget(struct device *live, const void *app);

/* counters.c */
void counters_open(struct device *live);
void counters_close(struct device *live);
void counters_fork(struct device *live); /* in the child: lets go of the lock that says who lives */
void counters_export(struct device *live, ps_t now);
/* Where the adapter notes events: before it is made. */
struct record_ring *counters_events(struct device *live);

/* thread.c */
void thread_forwarded(struct device *live,
                      ps_t now);       /* what other processes hand over; without a thread, polls do it */
void thread_help(struct device *live); /* takes what came, for who was woken by the wire beside the thread */
int thread_start(struct device *live);
void thread_stop(struct device *live);

/* devices.c */
void live_gids_merge(struct device_info *device, const struct device_info *fresh);
int netlink_open(void);
/* Interfaces or addresses may have changed: then they are read anew.  All shards are locked. */
void netlink_look(struct device *live, ps_t now);

#endif
