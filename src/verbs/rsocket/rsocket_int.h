/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rsockets: sockets over a reliable connection, as rdma-core's rsocket(7) has them.
 *
 * A stream is cut into messages of up to a slot's size, each a SEND into the peer's next receive slot.  The
 * sender counts what the peer has not freed; the peer tells how many slots it has freed, in all, with
 * each message it sends and with one of its own when many are owed.  A few receives more than the data may use
 * take such messages; should they run out, RNR retries hold the sender back, so nothing is lost.
 * Both ends must be ours: the format is not rdma-core's.
 *
 * Datagram rsockets are the kernel's UDP sockets: an unconnected queue pair would carry the same bytes in the
 * same UDP datagrams, from this machine's kernel's point of view.
 */
#ifndef ROCELAB_VERBS_RSOCKET_RSOCKET_INT_H
#define ROCELAB_VERBS_RSOCKET_RSOCKET_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#pragma GCC visibility pop

#define RS_SLOTS 32u  /* of data, either way */
#define RS_RESERVE 8u /* receives for what is not data */
#define RS_RECEIVES (RS_SLOTS + RS_RESERVE)
#define RS_SLOT_BYTES 32768u
#define RS_CONTROLS 16u /* of ours that may wait in the send queue */
#define RS_SOCKETS_MAX 65536
#define RS_MAPS_MAX 128u
#define RS_MAGIC 0x726c7273u /* "rlrs" */

enum rs_kind { RS_DATA, RS_CREDIT, RS_SHUT, RS_MAP, RS_UNMAP };

struct rs_header { /* before each message; both ends run on hosts of one byte order, which the greeting checks */
    uint8_t kind, reserved[3];
    uint32_t freed; /* slots, since the connection began */
};
struct rs_map {
    uint64_t offset, address, length;
    uint32_t key, reserved;
};
struct rs_greeting { /* private data of REQ and REP */
    uint32_t magic, slots, slot_bytes, receives;
};

enum rs_state { RS_NEW, RS_BOUND, RS_LISTENING, RS_CONNECTING, RS_ACCEPTED, RS_CONNECTED, RS_ENDED, RS_FAILED };

struct rs {
    int fd; /* of the channel: the socket's number */
    int type;
    bool nonblocking;
    enum rs_state state;
    int error;
    pthread_mutex_t lock;
    unsigned sleepers;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    struct ibv_comp_channel *completions;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *memory;         /* send slots, then receive slots */
    unsigned unacknowledged; /* completion events */
    /* sending */
    uint32_t sent, sent_done;      /* slots posted, and completed */
    uint32_t messages, peer_freed; /* of data; and how many the peer has read to the end */
    unsigned controls;             /* posted, not completed */
    bool shut_write, shut_told;
    /* receiving */
    struct {
        uint32_t slot, offset, bytes;
    } filled[RS_RECEIVES];
    uint32_t filled_first, filled_count;
    uint32_t freed, freed_told;
    bool shut_read, peer_shut;
    /* memory the peer may write, and memory of the peer that we may */
    struct {
        struct ibv_mr *mr;
        uint64_t offset;
    } map[RS_MAPS_MAX];
    struct rs_map peer_map[RS_MAPS_MAX];
    unsigned maps, peer_maps;
    /* options */
    int reuse, no_delay, keep_alive, send_bytes, recv_bytes, map_limit, sq_entries, rq_entries, inline_bytes;
};

struct rs *rs_of(int fd); /* NULL, EBADF: not an rsocket */
struct rs *rs_new(struct rdma_cm_id *id, struct rdma_event_channel *channel);
void rs_free(struct rs *rs);
int rs_fail(int error);

/* stream.c; all with the lock held */
int rs_prepare(struct rs *rs); /* queue pair, memory, receives */
void rs_greet(struct rs_greeting *ret);
bool rs_greeting_fits(const void *data, size_t bytes);
void rs_progress(struct rs *rs); /* completions and connection events, without waiting */
bool rs_readable(const struct rs *rs);
bool rs_writable(const struct rs *rs);
size_t rs_push(struct rs *rs, const void *data, size_t bytes); /* as much as there is room for */
size_t rs_pull(struct rs *rs, void *data, size_t bytes, bool peek);
int rs_control(struct rs *rs, enum rs_kind kind, const struct rs_map *map); /* -EAGAIN */
bool rs_control_fits(const struct rs *rs);                                  /* it does, or never will */
int rs_write(struct rs *rs, const void *data, uint32_t bytes, uint64_t address, uint32_t key);

/* wait.c */
/* Waits until `ready` says so, up to timeout_ms (-1: for ever); the lock is let go meanwhile.  False: it did not. */
bool rs_wait(struct rs *rs, bool (*ready)(const struct rs *), int timeout_ms);
bool rs_request_waits(const struct rs *rs); /* a listener has something to accept */
void rs_arm(struct rs *rs);
void rs_take_events(struct rs *rs);
short rs_events(struct rs *rs, short wanted);

#endif
