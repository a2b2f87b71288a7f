/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets between programs: what the files of the fabric's side share.
 *
 * A socket of a program is one end of a pair; the fabric has the other.  What happens to it (bytes written, its end
 * shut, a connection asked for) becomes a parcel with the time at which the other side knows of it.  A parcel within
 * the host goes to the host's own inbox; one to another host lies in the sender's outbox until the coordinator carries
 * it between windows.  Both sides of a connection are therefore always touched by the thread that visits their host.
 *
 * Bytes in flight, and such as the reader has no room for, are at most STREAM_WINDOW: beyond that they stay in the
 * writer's pair, whose writes then wait or say EAGAIN, as in life.
 */
#ifndef ROCELAB_UP_STREAM_INT_H
#define ROCELAB_UP_STREAM_INT_H

#include "up/up_int.h"

#define STREAM_WINDOW (1u << 20)
#define STREAM_PAIR_BYTES 106496u /* room in a pair, as asked for; the kernel doubles it.  The same on every machine */
#define STREAM_READ_BYTES 65536u
#define STREAM_FIRST_PORT 32768u /* of those that the fabric chooses */
#define STREAM_LAST_PORT 60999u
#define STREAM_BACKLOG_MAX 4096u
#define STREAM_BUCKETS 256u

enum parcel_kind {
    PARCEL_CONNECT,
    PARCEL_ACCEPTED,
    PARCEL_REFUSED,
    PARCEL_BYTES,
    PARCEL_END,    /* nothing more will be written */
    PARCEL_CREDIT, /* so many bytes have gone into the reader's pair */
    PARCEL_RESET,  /* what came before it is still read */
    PARCEL_DATAGRAM,
};

struct parcel {
    ps_t due;
    uint32_t from_host, from; /* the stream's number there */
    uint32_t to_host, to;     /* CONNECT: 0, `name` says who */
    uint64_t serial;          /* of the sending host: what it sent first is first */
    enum parcel_kind kind;
    uint32_t bytes;            /* of data, or of credit */
    uint32_t done;             /* of data: already in the pair */
    struct attach_stream name; /* CONNECT: as the listener will see it; DATAGRAM: from whom (self), to whom (peer) */
    struct parcel *next;
    uint8_t data[];
};

struct parcels { /* in order */
    struct parcel *first, *last;
};

struct given { /* a datagram that was put into its pair */
    struct pkt_addr from;
    uint16_t port;
    uint32_t bytes, room; /* room: as the kernel counts it */
};
#define GIVEN_MOST 16u /* that lie in the pair at once; the kernel may allow less */

struct stream {
    uint32_t number;
    int fd; /* the fabric's end */
    struct attach_stream name;
    uint32_t peer_host, peer; /* peer 0: not known yet */
    bool accepted;            /* its port is the listener's */
    uint32_t watched;         /* events of epoll that are asked for; UNWATCHED: it is not in the set */
    /* What the program writes. */
    uint32_t credit; /* bytes that may be taken from the pair */
    bool ended;      /* END was sent */
    ps_t last_due;   /* of what was sent: bytes never overtake each other */
    /* What it reads. */
    struct parcels unread; /* no room in the pair yet */
    uint32_t owed;         /* credit not yet given back */
    /* Datagrams. */
    struct attach_stream to; /* where the next one goes, with `to_told` */
    uint32_t to_host;
    bool to_told;
    uint32_t unread_bytes;              /* of those that are not in the pair yet */
    struct given given[GIVEN_MOST + 1]; /* the last ones, by number */
    uint32_t givens;                    /* ever */
    /* A listener. */
    struct parcels callers; /* CONNECTs beyond the backlog, unanswered */
    struct stream *unsent;  /* accepted, and no room in the pair for its record; in order */
    /* Of such: the program's end (-1: it has it), and whose. */
    int unsent_fd;
    struct stream *listener, *unsent_next;
    uint32_t waiting;            /* accepted by the fabric and not yet by the program */
    struct stream *next;         /* of its bucket */
    struct stream *stalled_next; /* of those with unread */
    bool stalled;
};
#define STREAM_UNWATCHED UINT32_MAX

struct up_streams {
    struct up_host *host;
    int epoll; /* -1: it has no socket yet */
    uint32_t numbers, alive;
    uint32_t salt; /* of the names of ends: fabrics in one network namespace do not meet */
    uint32_t next_port;
    uint64_t serial;
    struct stream *bucket[STREAM_BUCKETS];
    struct stream *stalled;
    struct parcel **inbox; /* a heap */
    uint32_t inbox_count, inbox_room;
    struct parcels outbox;
};

/* stream_parcel.c: what is on its way */
struct parcel *parcel_new(const struct stream *from, enum parcel_kind kind, const void *data, uint32_t bytes);
void parcels_append(struct parcels *to, struct parcel *parcel);
struct parcel *parcels_take(struct parcels *from); /* NULL: none */
void parcels_drop(struct parcels *list);
/* Sends it at `now`; it is there a latency later.  `from` NULL: of no stream. */
void parcel_send(struct up_streams *streams, struct stream *from, struct parcel *parcel, ps_t now);
/* An answer to whoever sent `to`, which is over or never was. */
void parcel_answer(struct up_streams *streams, const struct parcel *to, enum parcel_kind kind, ps_t now);
void inbox_push(struct up_streams *streams, struct parcel *parcel);
struct parcel *inbox_pop(struct up_streams *streams, ps_t now); /* NULL: none is due */

/* stream_name.c: addresses and ports */
bool stream_is_own(const struct up_host *host, const struct pkt_addr *addr);
bool stream_is_any(const struct pkt_addr *addr);
int stream_bind(struct up_streams *streams, struct stream *stream, const struct attach_stream *name);
int stream_listen(struct up_streams *streams, struct stream *stream, uint32_t backlog);
/* Who is called, and from where: `name` and `peer_host`. */
int stream_route(struct up_streams *streams, struct stream *stream, const struct attach_stream *to);
struct stream *stream_listener(struct up_streams *streams, const struct pkt_addr *addr, uint16_t port);

/* stream_pair.c: streams, and what is in their pairs */
struct stream *stream_find(struct up_streams *streams, uint32_t number);
/* A stream with a pair; ret_fd: the program's end, for the caller to hand over and close. */
int stream_new(struct up_streams *streams, bool datagrams, struct stream **ret, int *ret_fd);
void stream_free(struct up_streams *streams, struct stream *stream);
void stream_watch(struct up_streams *streams, struct stream *stream, uint32_t events);
/* What the program has written, as far as its credit goes; true: something was taken and its writer may go on. */
bool stream_take(struct up_streams *streams, struct stream *stream, ps_t now);
/* What has come for it, as far as there is room; true: there is something new to read. */
bool stream_give(struct up_streams *streams, struct stream *stream, ps_t now);
void stream_stall(struct up_streams *streams, struct stream *stream);

/* stream_datagram.c */
void datagram_take(struct up_streams *streams, struct stream *stream, ps_t now); /* what the program has written */
/* Where the next one goes that it writes; -errno. */
int datagram_to(struct up_streams *streams, struct stream *stream, const struct attach_stream *to, ps_t now);
bool datagram_deliver(struct up_streams *streams,
                      struct parcel *parcel); /* takes it; true: there is something to read */
bool datagram_give(struct up_streams *streams, struct stream *stream);
/* Who sent the one that was read last, or with ATTACH_STREAM_PEEKED in `ret` the one that lies there. */
void datagram_from(struct up_streams *streams, struct stream *stream, struct attach_stream *ret);

/* stream_listen.c: connections before a program has accepted them */
void listener_call(struct up_streams *streams, struct parcel *call, ps_t now); /* takes the parcel */
void listener_accepted(struct up_streams *streams, struct stream *listener, uint32_t count, ps_t now);
void listener_close(struct up_streams *streams, struct stream *listener, ps_t now);
void listener_withdraw(struct stream *stream); /* one that was not handed over is over */

#endif
