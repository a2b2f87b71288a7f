/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program and the fabric that it is attached to say to each other.
 *
 * A program connects to the fabric's socket (SOCK_SEQPACKET), says hello, and is given a segment of memory.  From then
 * on they talk through the segment: each thread has a place with a turn word, a clock and room for one request; work
 * requests go through one ring of posts, completions come through a ring for each completion queue.  The socket
 * carries descriptors, and tells either side that the other is gone.
 *
 * Nothing in the segment is an address in the other's memory: objects are numbers, places are offsets.  The fabric
 * copies what it reads and checks it before it is used; a program can spoil its own traffic and nobody else's.
 *
 * With the virtual clock exactly one side runs: the fabric, or the thread that has the turn.  With the real clock all
 * run, and rings are written by one side and read by the other: an entry first, then with release its index.
 */
#ifndef ROCELAB_ATTACH_PROTOCOL_H
#define ROCELAB_ATTACH_PROTOCOL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "packet/pkt.h"

#define ATTACH_VERSION 1u
#define ATTACH_THREADS 256u /* of a process */
#define ATTACH_NICS 16u     /* of a host */
#define ATTACH_NAME 64u
#define ATTACH_SEGMENT_BYTES (1ULL << 32) /* of address space: pages that nobody touches cost nothing */
#define ATTACH_POSTS_BYTES (1u << 20)     /* the ring of posts */
#define ATTACH_EVENTS 256u
#define ATTACH_MADS 256u
#define ATTACH_CHANNEL_EVENTS (1u << 16)

/* What `rocelab run --fabric` sets for the library; children have them too. */
#define ATTACH_ENV_SOCKET "ROCELAB_FABRIC"    /* path of the fabric's socket */
#define ATTACH_ENV_HOST "ROCELAB_FABRIC_HOST" /* name of the host, as in the file */

/* To a thread that calls nobody.  Debuggers pass this one on without a stop, and a program that has just become another
 * ignores it. */
#define ATTACH_SPIN_SIGNAL SIGURG

enum attach_clock { ATTACH_VIRTUAL, ATTACH_REAL };

/* --- on the socket --- */

enum attach_hello_kind {
    ATTACH_PROGRAM,  /* a new program: a slot of the script, or one started by hand */
    ATTACH_CHILD,    /* of fork(): `parent` holds the turn and waits for us */
    ATTACH_IMAGE,    /* the process has replaced its program (exec): `parent` is its own number */
    ATTACH_OBSERVER, /* not a program: `rocelab fault`, `rocelab counters`; lines of text follow */
};

struct attach_hello {
    uint32_t version;
    uint32_t kind;   /* enum attach_hello_kind */
    uint32_t parent; /* CHILD, IMAGE: the process's number in the fabric */
    uint32_t pad;
    uint64_t now_ps; /* CHILD, IMAGE: the clock of who made it */
    char host[ATTACH_NAME];
    char command[256]; /* for reports: the words of argv, cut */
};

struct attach_welcome { /* with it come the descriptors: the segment, the memory for adopted pages; real
                         * clock: the eventfd that wakes the fabric */
    uint32_t version;
    int32_t error; /* 0, or -errno and why */
    uint32_t process;
    uint32_t pad;
    char why[240];
};

/* --- the segment --- */

struct attach_costs { /* declared, in ps; `software:` of the file, or the defaults of docs/virtual-time.md */
    uint64_t post, poll, clock, tsc, yield;
    uint64_t stream; /* from a send() on a socket to the bytes being there, between hosts */
    uint64_t local;  /* the same within a host */
};

struct attach_nic {
    char name[DEVICE_NAME_MAX]; /* rocelab0 ... */
    char ifname[DEVICE_NAME_MAX];
    uint32_t mtu;  /* payload bytes */
    uint32_t up;   /* atomic; the link */
    uint32_t gids; /* of gid[] */
    uint8_t mac[6];
    uint8_t pad[2];
    uint64_t guid, line_bps;
    struct device_gid gid[4];
    /* Rings that the fabric writes and the program reads; offsets into the segment.  Index words are in attach_ring. */
    uint64_t events, mads;
};

struct attach_ring {            /* in front of a ring's entries, which begin 128 bytes after it */
    _Alignas(64) uint32_t tail; /* who writes: entries ever written */
    uint32_t overrun;
    _Alignas(64) uint32_t head; /* who reads: entries ever read */
    uint32_t pad;
};
#define ATTACH_RING_HEAD 128u
/* Whether it can be one, within the segment. */
static inline bool attach_ring_fits(uint64_t offset, uint32_t entries, uint64_t entry_bytes)
{
    return offset % 64 == 0 && offset >= 64 && offset < ATTACH_SEGMENT_BYTES && entries && !(entries & (entries - 1)) &&
           ATTACH_RING_HEAD + entries * entry_bytes <= ATTACH_SEGMENT_BYTES - offset;
}

struct attach_cqe { /* of a completion queue's ring */
    struct nic_cqe cqe;
};

struct attach_event { /* of a device's */
    uint32_t kind;    /* enum device_event_kind */
    uint32_t object;  /* number of the QP, CQ or SRQ; 0: the port */
    uint32_t of;      /* enum attach_object */
    uint32_t pad;
};
enum attach_object { ATTACH_PORT, ATTACH_QP, ATTACH_CQ, ATTACH_SRQ };

/* Why a thread gives its turn back. */
enum attach_why {
    ATTACH_RUNS,        /* it has not */
    ATTACH_REQUEST,     /* `request` is filled: answered at once, no time passes */
    ATTACH_POLL,        /* a poll found nothing: until something completes or arrives in its process, or `until` */
    ATTACH_SPIN,        /* the same of a loop that reads memory and calls nobody */
    ATTACH_WAIT,        /* for a descriptor, a lock, a child: until something may have changed, or `until` */
    ATTACH_SLEEP,       /* until `until`, whatever happens */
    ATTACH_THREAD_ENDS, /* the turn does not come back */
    ATTACH_PROCESS_ENDS,
    ATTACH_DEBUGS, /* a debugger: it takes no turns, and fabric time stands still while it has no program here */
};

/* What others may wait for that this turn has done: `touched`. */
#define ATTACH_TOUCHED_PROCESS 1u /* unlocked, signalled, joined: threads of this process look again */
#define ATTACH_TOUCHED_HOST 2u    /* wrote to, or closed, a pipe or the like: all of this host do */
/* With ATTACH_SPIN: it may have stored something before it came to its loop; not set: it is in the loop it was in. */
#define ATTACH_TOUCHED_MEMORY 4u

enum attach_thread_state { ATTACH_FREE, ATTACH_STARTS, ATTACH_LIVES, ATTACH_ENDED };

#define ATTACH_REQUEST_BYTES 768u
struct attach_request {
    uint32_t op;     /* enum attach_op */
    int32_t result;  /* 0 or more, or -errno */
    uint32_t nic;    /* of the host */
    uint32_t object; /* whom it is about, where it is about one; or the number of what was made */
    _Alignas(8) uint8_t data[ATTACH_REQUEST_BYTES];
};

struct attach_thread {
    _Alignas(64) uint32_t turn; /* futex: enum attach_turn */
    uint32_t state;             /* enum attach_thread_state; STARTS and LIVES are the program's, FREE the fabric's */
    int32_t tid;                /* the kernel's */
    uint32_t number;            /* within the process; 0 is the first thread */
    _Alignas(64) uint64_t now;  /* ps: its clock; the fabric moves it forward before it gives the turn */
    uint64_t until;             /* ps; UINT64_MAX: never */
    uint64_t alone;             /* ps: nothing else happens in the fabric before; 0: that is not known, or over */
    uint32_t why;               /* enum attach_why */
    uint32_t touched;
    uint64_t calls;       /* of ours, ever: who does not call us and does not come back may be spinning */
    uint32_t in_library;  /* depth: > 0 while our own code runs in it */
    uint32_t waits_event; /* ATTACH_WAIT: completions and arrivals in this process count (they may make a descriptor
                           * readable); always set where it is not known */
    uint32_t signalled; /* atomic: a signal from outside waits for it; it is given a turn soon, whatever it waits for */
    uint32_t pad;
    uint32_t news;   /* the fabric's, with a turn: an event of its own adapter is why; else another's turn may be */
    uint32_t inside; /* ATTACH_WAIT: nobody but the fabric and its programs can end it (a lock, a thread, a socket
                           * between programs, a completion channel); 0 where that is not known */
    char what[24];   /* ATTACH_WAIT: for reports, a word or two: "accept", "mutex"; need not end with a zero */
    struct attach_request request;
};
enum attach_turn { ATTACH_TURN_FABRIC, ATTACH_TURN_PROGRAM, ATTACH_TURN_GONE /* the fabric is no more */ };

#define ATTACH_COUNTER_LIST(X)                                                                                         \
    X(polls, "polls of completion queues")                                                                             \
    X(posts, "work requests posted")                                                                                   \
    X(clocks, "clock reads")                                                                                           \
    X(tscs, "time stamp counter reads")                                                                                \
    X(spins, "loops on memory that were proved to wait")                                                               \
    X(steps, "instructions stepped for that")                                                                          \
    X(not_spins, "loops that were looked at and go on")                                                                \
    X(real_clock, "reads of a real clock that could not be replaced")                                                  \
    X(real_socket, "sockets to the outside")                                                                           \
    X(real_calls, "system calls that know only real time")

struct attach_counters { /* of a process; the program writes */
#define X(name, help) uint64_t name;
    ATTACH_COUNTER_LIST(X)
#undef X
};

struct attach_head { /* at offset 0; the fabric's but for `counters`, `posts.tail`, `bell` and what is in threads */
    uint32_t version;
    uint32_t clock;   /* enum attach_clock */
    uint32_t process; /* number in the fabric: also its pid, as the program sees it (1000 + process) */
    uint32_t host;
    uint32_t hosts; /* names and addresses of all are asked for by ATTACH_OP_HOST */
    uint32_t nics;
    int32_t fabric_pid;
    uint32_t owned;      /* the fabric has started it, or who has: it does not outlive the fabric */
    uint32_t spin_proof; /* loops on memory are proved by single steps; 0: a debugger needs the trap flag */
    uint64_t seed;       /* of this process: identity and random bytes */
    uint64_t epoch_s;    /* what the wall clock shows at fabric time 0 */
    uint64_t tsc_khz;    /* of the virtual time stamp counter: as /proc/cpuinfo has it */
    char host_name[ATTACH_NAME];
    struct attach_costs cost;
    struct attach_nic nic[ATTACH_NICS];
    struct attach_counters counters;
    /* Real clock: the program raises `bell` with each post and request, and then looks whether the fabric sleeps; if it
     * does, it counts up the eventfd that came with the welcome. */
    _Alignas(64) uint32_t bell;
    uint32_t sleeps;
    _Alignas(64) struct attach_ring posts; /* tail and head in bytes */
    uint64_t posts_at;                     /* offset of the ring's ATTACH_POSTS_BYTES bytes */
    struct attach_thread thread[ATTACH_THREADS];
};

/* --- posts --- */

enum attach_post_kind {
    ATTACH_POST_SKIP, /* nothing: the rest of the ring up to its end */
    ATTACH_POST_SEND, /* wr, then sges, or with `copied` that many bytes of data */
    ATTACH_POST_RECV,
    ATTACH_POST_SRQ,
    ATTACH_POST_ARM, /* a completion queue; `flags` 1: solicited only */
};

struct attach_post { /* followed by its SGEs or bytes; a whole number of 64 bytes in all, never across the ring's end */
    uint32_t bytes;  /* of the record in the ring, this head included */
    uint16_t kind;   /* enum attach_post_kind */
    uint8_t flags;
    uint8_t copied;  /* inline data follows instead of SGEs */
    uint32_t nic;    /* of the host */
    uint32_t object; /* QP, SRQ or CQ */
    uint64_t at;     /* ps: when it is done, by the clock of who posts; real clock: 0 */
    uint32_t sges;
    uint32_t data_bytes; /* copied: so many.  ARM: the ring's tail as the program saw it */
    struct nic_wr wr;    /* SEND: wr_id is the program's; local is the fabric's.  BIND_MW: mw_key and rkey name window
                          * and region.  RECV, SRQ: wr_id alone */
};

/* --- requests: what is in `data`, and what is answered there --- */

enum attach_op {
    ATTACH_OP_NONE,
    ATTACH_OP_OPEN,       /* nic; the program sends an eventfd first, for datagrams: counted up with each */
    ATTACH_OP_CLOSE,      /* nic */
    ATTACH_OP_WATCH,      /* nic; the program sends an eventfd first, for events: with each event all are counted up;
                      * answers a number */
    ATTACH_OP_UNWATCH,    /* nic; object: that number */
    ATTACH_OP_COUNTERS,   /* nic; answers attach_counts */
    ATTACH_OP_MR_CREATE,  /* attach_mr; answers key */
    ATTACH_OP_MR_CHANGE,  /* object: key; attach_mr with `mask`; answers key */
    ATTACH_OP_MR_DESTROY, /* object: key */
    ATTACH_OP_MW_CREATE,  /* attach_mr: pd, access is the type; answers key */
    ATTACH_OP_MW_DESTROY, /* object: key */
    ATTACH_OP_MW_KEY,     /* object: key when made; answers the one of now */
    ATTACH_OP_CHANNEL_CREATE, /* the program sends an eventfd first; attach_made: a ring of uint32_t, numbers of CQs */
    ATTACH_OP_CHANNEL_DESTROY,
    ATTACH_OP_CQ_CREATE, /* attach_cq; attach_made */
    ATTACH_OP_CQ_RESIZE, /* object; attach_cq: entries; attach_made: head and tail go on */
    ATTACH_OP_CQ_DESTROY,
    ATTACH_OP_SRQ_CREATE, /* attach_srq; attach_made */
    ATTACH_OP_SRQ_CHANGE, /* object; attach_srq: entries and limit, or DEVICE_SRQ_KEEP; answers attach_srq */
    ATTACH_OP_SRQ_DESTROY,
    ATTACH_OP_QP_CREATE,   /* attach_qp; attach_made: number is the QPN, size the send queue's entries */
    ATTACH_OP_QP_MODIFY,   /* object; device_qp_attr */
    ATTACH_OP_QP_STATE,    /* object, or with `object` 0 attach_qp_state.qpn; answers attach_qp_state */
    ATTACH_OP_QP_PATIENCE, /* attach_qp_state: qpn, heard is the patience in ns */
    ATTACH_OP_QP_DESTROY,
    ATTACH_OP_PATH_GET,       /* device_path; result: a number for wr.dest */
    ATTACH_OP_PATH_PUT,       /* object */
    ATTACH_OP_MULTICAST,      /* object: QP; attach_group */
    ATTACH_OP_MAD_SEND,       /* attach_mad: path and bytes */
    ATTACH_OP_CM_SLOT,        /* result: for communication ids of this process on this host */
    ATTACH_OP_CM_LISTEN,      /* attach_service */
    ATTACH_OP_CM_UNLISTEN,    /* attach_service */
    ATTACH_OP_CM_ALIVE,       /* attach_service: slot and address; result: a number of that process, 0: none */
    ATTACH_OP_ADOPT,          /* attach_adopt: these pages are now those of the adopted memory at that offset */
    ATTACH_OP_RELEASE,        /* attach_adopt: no longer */
    ATTACH_OP_HOST,           /* attach_host: by name, by address or by number; answers the whole of it */
    ATTACH_OP_FORK,           /* result: a number for the child's hello */
    ATTACH_OP_FORKED,         /* object: that number; attach_fork: answered when the child has said hello, or is dead */
    ATTACH_OP_PID,            /* object: number of a process; result: its pid as the kernel has it, -ESRCH */
    ATTACH_OP_STREAM_OPEN,    /* socket(): attach_stream's flags; answers object, a descriptor comes on the socket */
    ATTACH_OP_STREAM_NAME,    /* object; bind(): attach_stream's self and flags; answers attach_stream */
    ATTACH_OP_STREAM_LISTEN,  /* object; attach_stream's backlog; answers attach_stream */
    ATTACH_OP_STREAM_CONNECT, /* object; attach_stream's peer; what comes of it is asked for by STREAM_STATE */
    ATTACH_OP_STREAM_STATE,   /* object; answers attach_stream */
    ATTACH_OP_DATAGRAM_TO,    /* object; attach_stream's peer: where the next datagram goes that is written */
    ATTACH_OP_DATAGRAM_FROM,  /* object; answers attach_stream: peer sent the last that was read, PEEKED: the next */
    ATTACH_OP_START,          /* attach_host: by name; a descriptor goes either way, see below */
    ATTACH_OP_NOT_VIRTUAL,    /* text: what the program did that has no virtual time */
    ATTACH_OPS
};

struct attach_counts { /* of an adapter, as nic_counter_list has them */
    uint64_t value[ATTACH_REQUEST_BYTES / sizeof(uint64_t)];
};
struct attach_made {
    uint64_t ring;    /* offset of its attach_ring */
    uint32_t entries; /* a power of two */
    uint32_t number;
};
struct attach_mr {
    uint64_t addr, bytes, iova;
    uint32_t pd, access;
    uint32_t mask; /* MR_CHANGE: ATTACH_MR_* */
    uint32_t pad;
};
#define ATTACH_MR_PD 1u
#define ATTACH_MR_PLACE 2u /* addr and bytes */
#define ATTACH_MR_ACCESS 4u
struct attach_cq {
    uint32_t entries, channel; /* number; 0: none */
};
struct attach_srq {
    uint32_t pd, entries, sges, limit;
    uint32_t taken; /* answered: receives taken from it, ever, modulo 2^32 */
    uint32_t pad;
};
struct attach_qp {
    uint32_t pd, send_entries, recv_entries, send_sges, recv_sges, inline_bytes;
    uint32_t send_cq, recv_cq, srq; /* numbers; 0: none */
    uint8_t transport, signal_all, pad[2];
};
struct attach_qp_state {
    uint32_t qpn, state, send_psn, expect_psn;
    /* Since RESET, modulo 2^32: sends that are done, however, and receives that were taken from the queue. */
    uint32_t sent, taken;
    uint64_t heard;
};
struct attach_group {
    struct pkt_addr group;
    uint32_t join, pad;
};
struct attach_mad {
    struct device_path path;
    uint8_t data[DEVICE_MAD_BYTES];
};
struct attach_service {
    uint64_t id;
    struct pkt_addr address;
    uint32_t slot;
    uint32_t any; /* all addresses of these families (PKT_FAMILY_*); 0: `address` alone */
};
struct attach_adopt {
    uint64_t addr, bytes, offset;
};
struct attach_host {
    char name[ATTACH_NAME]; /* "": by address; that all zero: by `number` */
    struct pkt_addr address[ATTACH_NICS];
    uint32_t addresses, number;
};
struct attach_fork {
    int32_t pid; /* the kernel's; 0: there is no child after all, the number is not used */
    uint32_t pad;
};
/*
 * TCP, as far as programs of the fabric speak it with each other.  A socket is one end of a pair whose other end the
 * fabric holds: what the program writes lies there until the fabric takes it after the turn.  On a listener the fabric
 * sends, for each connection, a struct attach_accept with its descriptor; the program answers each with one byte, so
 * that the fabric knows how many wait.  The program's end is bound to an abstract name, ATTACH_STREAM_NAME: it says
 * whose number it is, whoever has inherited or was given the descriptor.
 */
#define ATTACH_STREAM_NAME "rocelab-stream-%u-%u-%u" /* of no meaning, host, number */
enum attach_stream_state {
    ATTACH_STREAM_NEW,
    ATTACH_STREAM_BOUND,
    ATTACH_STREAM_LISTENS,
    ATTACH_STREAM_CONNECTS, /* the answer is on its way */
    ATTACH_STREAM_OPEN,
    ATTACH_STREAM_REFUSED, /* by the other host, or reset before it was there; may connect again */
};
struct attach_stream {
    struct pkt_addr self, peer;    /* IPv4 mapped, or IPv6; self all zero: any address of the host */
    uint16_t self_port, peer_port; /* host order; 0: one that is free */
    uint32_t flags;                /* ATTACH_STREAM_* */
    uint32_t backlog;              /* LISTEN */
    uint32_t state;                /* enum attach_stream_state */
};
struct attach_accept {
    struct pkt_addr self, peer;
    uint16_t self_port, peer_port;
    uint32_t flags, number, pad;
};
#define ATTACH_STREAM_IPV4 2u     /* of AF_INET */
#define ATTACH_STREAM_DATAGRAM 8u /* a UDP socket: its pair keeps boundaries */
#define ATTACH_STREAM_PEEKED 16u  /* DATAGRAM_FROM alone */
#define ATTACH_STREAM_V6ONLY 4u   /* of AF_INET6, and takes no IPv4 */
#define ATTACH_STREAM_REUSE 1u

_Static_assert(sizeof(struct attach_mad) <= ATTACH_REQUEST_BYTES &&
                   sizeof(struct device_qp_attr) <= ATTACH_REQUEST_BYTES &&
                   sizeof(struct attach_host) <= ATTACH_REQUEST_BYTES,
               "requests have room");

static inline void *attach_at(void *segment, uint64_t offset)
{
    return (uint8_t *)segment + offset;
}

#endif
