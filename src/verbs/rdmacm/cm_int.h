/* SPDX-License-Identifier: Apache-2.0 */
/* The connection machine's own structures: cm_engine.c keeps them, cm_queue.c what waits to be sent and to expire,
 * cm_receive.c reacts to messages, cm_refusal.c to refusals. */
#ifndef ROCELAB_VERBS_RDMACM_CM_INT_H
#define ROCELAB_VERBS_RDMACM_CM_INT_H

#include "base/rng.h"
#include "verbs/rdmacm/cm_engine.h"

#define CM_BUCKETS 1024u
#define CM_DELAYS_MAX 255u /* MRAs that are heeded: a quarter of an hour at the slow pace */
#define CM_REFUSALS_MAX 5u /* of a service that nobody listens for: about half a second */
#define CM_REFUSAL_NS 50000000u
#define CM_KEPT_MAX 1024u     /* answers that are remembered after the program is through with them */
#define CM_QUEUED_MAX 4u      /* messages of one connection that wait to be sent */
#define CM_STRANGERS_MAX 256u /* answers to messages of no connection that wait */
#define CM_GRAIN_NS 62500000u /* deadlines are multiples of it */
#define CM_WHEEL 1024u        /* grains: more than any wait has */
#define CM_ASKED (1u << 18)   /* requests that are remembered while there are too many */
#define CM_MRA_TIMEOUT 24u    /* 4.096 us << 24: what an MRA of ours asks for, as the kernel's does */

enum cm_state {
    CM_REQ_SENT,
    CM_REQ_RECEIVED,
    CM_REP_SENT,
    CM_REP_RECEIVED,
    CM_ESTABLISHED,
    CM_DREQ_SENT,
    CM_TIMEWAIT, /* answers what comes late */
    CM_REJECTED, /* we sent a REJ: repeated for a repeated REQ or REP */
    CM_CLOSED,   /* nothing more is said */
    CM_SIDR_SENT,
    CM_SIDR_RECEIVED,
    CM_SIDR_ANSWERED,
};

/* Ways to find a connection: each is a table of chains. */
enum cm_index {
    CM_BY_ID,
    CM_BY_REMOTE,
    CM_BY_QP,
    CM_BY_SERVICE, /* scouts only: cm_refusal.c */
    CM_INDICES
};

struct cm_conn {
    struct cm_engine *engine;
    struct cm_conn *chain[CM_INDICES];
    struct cm_conn *next, **link; /* of all */
    bool indexed[CM_INDICES];
    void *app;
    bool released, passive, sidr;
    bool refused; /* since it was last asked: a second refusal answers a repeated request */
    enum cm_state state;
    struct cm_peer peer;
    uint32_t local_id, remote_id, remote_qp;
    uint64_t tid;
    uint64_t deadline_ns;
    struct cm_conn *due_next, **due_link;   /* of those with a deadline; link NULL: it has none */
    struct cm_conn *kept_next, **kept_link; /* of answers remembered; link NULL: it is none */
    unsigned queued;                        /* messages that wait to be sent */
    unsigned delays, refusals;
    unsigned doubts; /* while ESTABLISHED: times the peer was asked whether it still knows it; 0: nobody doubts */
    struct cm_conn *behind;                     /* of a scout: the first that waits for what it finds out */
    struct cm_conn *behind_next, **behind_link; /* of one that waits; link NULL: it does not */
    unsigned tries;                             /* of `last` */
    uint8_t last[MAD_BYTES];                    /* what is repeated while no answer comes */
    struct cm_msg request, reply;
};

struct cm_listener {
    struct cm_listener *next;
    uint64_t service_id;
    unsigned any; /* all addresses of these families (PKT_FAMILY_*); 0: one */
    struct pkt_addr address;
    void *app;
};

struct cm_send_item {
    struct cm_send_item *next;
    struct cm_conn *conn; /* whose it is; NULL: of none, or of one that is gone */
    struct cm_send send;
};
struct cm_event_item {
    struct cm_event_item *next;
    struct cm_event event;
};

struct cm_send_queue {
    struct cm_send_item *first, **end;
    unsigned count;
};
enum { CM_QUEUE_OWN, CM_QUEUE_STRANGERS, CM_QUEUES };

struct cm_engine {
    struct cm_conn *bucket[CM_INDICES][CM_BUCKETS];
    struct cm_conn *conns;
    struct cm_listener *listeners;
    struct cm_send_queue queue[CM_QUEUES]; /* the first goes first */
    struct cm_event_item *events, **events_end;
    struct cm_conn *wheel[CM_WHEEL]; /* by deadline */
    struct cm_conn *kept, **kept_end;
    unsigned kept_count;
    uint64_t deadline_ns; /* none is due earlier */
    uint64_t pressed_until_ns;
    uint32_t *asked; /* [CM_ASKED]; NULL: there were never too many */
    uint64_t secret;
    unsigned count;
    uint32_t next_id;
    struct rng rng;
};

struct cm_conn *cm_conn_new(struct cm_engine *, const struct cm_peer *peer);
void cm_conn_free(struct cm_conn *);
void cm_index_add(struct cm_conn *, enum cm_index index);
void cm_index_remove(struct cm_conn *, enum cm_index index);
struct cm_conn *cm_find_id(struct cm_engine *, uint32_t local_id);
struct cm_conn *cm_find_remote(struct cm_engine *, uint32_t remote_id, const struct cm_peer *peer, bool sidr);
/* Who asks again for the same service as this one. */
struct cm_conn *cm_find_scout(const struct cm_conn *);
struct cm_conn *cm_find_qp(struct cm_engine *, uint32_t qpn, const struct cm_peer *peer);
struct cm_listener *cm_find_listener(struct cm_engine *, uint64_t service_id, const struct pkt_addr *address);

/* conn: whose it is; NULL: of none, which may be dropped. */
void cm_say(struct cm_engine *, struct cm_conn *conn, const struct cm_peer *to, const struct cm_msg *msg);
void cm_say_again(struct cm_conn *);    /* `last` */
void cm_answer_again(struct cm_conn *); /* `last`, to a request that nobody may be behind */
/* A message of the connection: ids and transaction are filled in. */
void cm_tell(struct cm_conn *, enum cm_attribute attribute, struct cm_msg *msg);
void cm_tell_reject(struct cm_conn *, uint16_t reason, const void *private_data, size_t bytes);
void cm_event(struct cm_conn *, enum cm_event_kind kind, void *app, int status, const struct cm_msg *msg);
void cm_doubt(struct cm_conn *, uint64_t now_ns);  /* once more, or it is given up */
void cm_expire(struct cm_conn *, uint64_t now_ns); /* its deadline has come */
void cm_keep(struct cm_conn *);                    /* it only answers what is repeated: the oldest of too many goes */

/* cm_queue.c */
void cm_queue_init(struct cm_engine *, uint64_t secret);
void cm_queue_free(struct cm_engine *);
void cm_queue_forget(struct cm_conn *); /* it goes; what it said does not */
void cm_enqueue(struct cm_engine *, struct cm_conn *conn, const struct cm_peer *to, const uint8_t data[MAD_BYTES]);
void cm_arm(struct cm_conn *, uint64_t deadline_ns); /* CM_NEVER: no deadline */
void cm_unkeep(struct cm_conn *);
void cm_press(struct cm_engine *, uint64_t now_ns); /* there are more requests than anybody takes */
/* Whether a request is to be looked at: while there are too many, only when it comes the second time. */
bool cm_admit(struct cm_engine *, const struct cm_peer *from, const struct cm_msg *msg, uint64_t now_ns);

void cm_wait_out(struct cm_conn *, enum cm_state state, uint64_t now_ns); /* TIMEWAIT, REJECTED, CLOSED, ANSWERED */
void cm_be_patient(struct cm_conn *, uint64_t now_ns);
void cm_begin_wait(struct cm_conn *, enum cm_state state, uint64_t now_ns); /* for the answer to `last` */

/* cm_refusal.c.  Nobody listens for the service a request asked for: again later, or the program is told. */
void cm_refused(struct cm_conn *, const struct cm_msg *msg, uint64_t now_ns);
void cm_not_refused(struct cm_conn *, uint64_t now_ns); /* another answer came, or none at all */
void cm_refusal_forget(struct cm_conn *);               /* the program gives up: another is the scout */

#endif
