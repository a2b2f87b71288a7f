/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection management as a machine: messages and deadlines in, messages and events out.
 *
 * InfiniBand Architecture 1.x volume 1, chapter 12.  The machine knows no socket and no clock: whoever
 * holds it gives it the messages that came and the time, sends what cm_next_send() answers, and tells
 * the program what cm_next_event() answers.  One machine serves all devices of a process.
 *
 * Not here: path migration (LAP, APR), peer-to-peer connecting, reliable datagrams.
 */
#ifndef ROCELAB_VERBS_RDMACM_CM_ENGINE_H
#define ROCELAB_VERBS_RDMACM_CM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/mad.h"
#include "packet/pkt.h"

#define CM_NEVER UINT64_MAX

/* Reasons of a REJ that the machine itself gives (12.6.7.2). */
enum {
    CM_REJECT_TIMEOUT = 4,
    CM_REJECT_INVALID_COMM_ID = 6,
    CM_REJECT_INVALID_SERVICE = 8,
    CM_REJECT_STALE = 10,
    CM_REJECT_CONSUMER = 28,
};
/* Statuses of a SIDR_REP (12.11.2). */
enum { CM_SIDR_SUCCESS, CM_SIDR_UNSUPPORTED, CM_SIDR_REJECT, CM_SIDR_NO_QP };

/* Between whom messages go. */
struct cm_peer {
    void *port; /* of whoever holds the machine: the device */
    uint8_t gid_index, tos;
    struct pkt_addr local, remote;
};

struct cm_send {
    struct cm_peer to;
    uint8_t data[MAD_BYTES];
};

enum cm_event_kind {
    CM_EVENT_REQUEST,      /* REQ or SIDR_REQ for a listener: the connection is new */
    CM_EVENT_REPLY,        /* REP: cm_establish() or cm_reject() is due */
    CM_EVENT_ESTABLISHED,  /* passive side: RTU, or data, came */
    CM_EVENT_REJECTED,     /* status: the REJ's reason */
    CM_EVENT_UNREACHABLE,  /* no answer; status: -ETIMEDOUT, or the status of a SIDR_REP */
    CM_EVENT_DISCONNECTED, /* either side ended it */
    CM_EVENT_TIMEWAIT_EXIT,
    CM_EVENT_DOUBTED, /* somebody says the peer has forgotten it: cm_heard() if the peer's queue pair was heard of since
                         the first of them; status: how many came before */
    CM_EVENT_SIDR_REPLY,
};

struct cm_conn; /* one connection, or one SIDR exchange */

struct cm_event {
    enum cm_event_kind kind;
    struct cm_conn *conn;
    void *app; /* of the connection; of the listener for a REQUEST */
    int status;
    struct cm_msg msg; /* that caused it, where one did */
};

struct cm_engine;
struct cm_engine *cm_engine_create(uint64_t seed); /* NULL: no memory */
void cm_engine_destroy(struct cm_engine *);
void cm_receive(struct cm_engine *, const struct cm_peer *from, const uint8_t data[MAD_BYTES], uint64_t now_ns);
void cm_tick(struct cm_engine *, uint64_t now_ns);
uint64_t cm_deadline(const struct cm_engine *); /* CM_NEVER: none */
/* Messages of connections come before answers to those who have none, of which few wait: the rest is dropped, as
 * whoever asks repeats. */
bool cm_next_send(struct cm_engine *, struct cm_send *ret);
bool cm_has_send(const struct cm_engine *);
bool cm_next_event(struct cm_engine *, struct cm_event *ret);

/* Requests for a service, at one address, at all of one family (0.0.0.0, ::), or (NULL) at all.  -EADDRINUSE,
 * -ENOMEM. */
int cm_listen(struct cm_engine *, uint64_t service_id, const struct pkt_addr *address, void *app);
void cm_unlisten(struct cm_engine *, uint64_t service_id, const struct pkt_addr *address);

/* A REQ (or SIDR_REQ) goes out; the communication id, the transaction and the timers are the machine's.  NULL: no
 * memory.  slot: the top ten bits of the communication id. */
struct cm_conn *cm_connect(struct cm_engine *, uint32_t slot, const struct cm_peer *peer, const struct cm_msg *request,
                           void *app, uint64_t now_ns);
/* -EINVAL where the connection's state does not allow it. */
int cm_accept(struct cm_conn *, const struct cm_msg *reply, uint64_t now_ns); /* REP, SIDR_REP */
/* A REQUEST that the program never hears of.  Neither leaves a record.  cm_ignore: there are too many, it is not
 * answered and may be asked again; cm_decline: it is refused. */
void cm_ignore(struct cm_conn *, uint64_t now_ns);
void cm_decline(struct cm_conn *, uint64_t now_ns);
int cm_reject(struct cm_conn *, uint16_t reason, const void *private_data, size_t bytes, uint64_t now_ns);
int cm_establish(struct cm_conn *, uint64_t now_ns); /* RTU */
int cm_notice(struct cm_conn *, uint64_t now_ns);    /* data came before the RTU */
int cm_disconnect(struct cm_conn *, uint64_t now_ns);
/* Whoever holds the machine knows that the peer is gone: as if its DREQ had come. */
void cm_peer_gone(struct cm_conn *, uint64_t now_ns);
void cm_heard(struct cm_conn *); /* the peer lives, and so does the connection */
/* The program is through with it: what the peer must know is sent, no event follows, the machine frees it in time. */
void cm_release(struct cm_conn *, uint64_t now_ns);

void cm_conn_set_app(struct cm_conn *, void *app);
void cm_conn_set_slot(struct cm_conn *, uint32_t slot); /* of a REQUEST, before anything is answered */
const struct cm_peer *cm_conn_peer(const struct cm_conn *);
const struct cm_msg *cm_conn_request(const struct cm_conn *); /* the REQ, sent or received */
const struct cm_msg *cm_conn_reply(const struct cm_conn *);   /* the REP, sent or received; 0 before */
uint32_t cm_conn_remote_id(const struct cm_conn *);           /* 0: not known yet */
uint32_t cm_conn_qpn(const struct cm_conn *);                 /* of our queue pair */
bool cm_conn_connected(const struct cm_conn *);
unsigned cm_conns(const struct cm_engine *); /* that exist, waiting ones too */
unsigned cm_sends(const struct cm_engine *); /* messages that wait */
/* The process ends: no listener any more, every connection is released. */
void cm_release_all(struct cm_engine *, uint64_t now_ns);
bool cm_leaving(const struct cm_engine *); /* a DREQ of ours is not answered yet */

#endif
