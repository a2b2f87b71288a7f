/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of src/serve share.
 */
#ifndef ROCELAB_SERVE_SERVE_INT_H
#define ROCELAB_SERVE_SERVE_INT_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>

#include "serve/serve.h"

#define SERVE_NS 1000000000ull
#define SERVE_LISTEN_MOST_NS (3600 * SERVE_NS) /* then browsers begin again */

/* Bytes that are given out; the last who lets go frees them. */
struct serve_body {
    struct serve *serve;
    char *text;
    size_t bytes;
    uint32_t held; /* under the lock */
};

struct serve_kept {
    struct serve_body *body; /* NULL: there is none */
    uint64_t at_ns;
    bool asked; /* somebody waits for a newer one */
};

enum serve_client_state {
    SERVE_CLIENT_ASKS,  /* sends a request, or may */
    SERVE_CLIENT_WAITS, /* for a document */
    SERVE_CLIENT_TAKES, /* an answer */
    SERVE_CLIENT_LISTENS,
};

struct serve_client {
    struct serve_client *next, *before;
    struct serve *serve;
    struct MHD_Connection *connection; /* NULL until it has asked for something */
    int socket;
    enum serve_client_state state;
    enum serve_document waits_for;
    uint64_t since_ns; /* its connection, its last answer, or its listening began */
    bool cut;          /* its socket is shut down, and libmicrohttpd will notice */
    bool suspended;
    bool woken;       /* listens: it was resumed, and hears something */
    uint64_t told;    /* listens: number of the last state it was told of */
    uint64_t told_ns; /* and when */
};

struct serve {
    pthread_mutex_t lock;
    pthread_cond_t asked, ended;
    struct MHD_Daemon *daemon;
    pthread_t keeper;
    struct serve_body *page;
    struct serve_kept kept[SERVE_DOCUMENTS];
    uint64_t number; /* of the state that was put last */
    uint64_t out_bytes;
    struct serve_client *clients; /* the newest first */
    uint32_t held;                /* of them, those that are not cut */
    uint32_t listeners;
    bool last, ending, loopback;
    char address[SERVE_TEXT];
};

/* address.c */
struct serve_where {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    };
    socklen_t bytes;
    bool loopback;
};
bool serve_where_parse(const char *listen, struct serve_where *ret, char ret_why[SERVE_TEXT]);
/* A socket that listens there; -errno with why not.  `where` gets the port that it has. */
int serve_where_open(struct serve_where *where, char ret_why[SERVE_TEXT]);
void serve_where_print(const struct serve_where *where, char ret[SERVE_TEXT]);
/* Whether a Host header names this machine by a name that only this machine can mean. */
bool serve_host_is_loopback(const char *host);

/* http.c */
enum MHD_Result serve_http_answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_bytes, void **request);
void serve_http_done(void *context, struct MHD_Connection *connection, void **request,
                     enum MHD_RequestTerminationCode code);

/* serve.c; the lock is held, except for serve_now() */
uint64_t serve_now(void);
void serve_body_drop(struct serve_body *body);
bool serve_is_fresh(const struct serve *serve, enum serve_document which);
void serve_client_suspend(struct serve_client *client);
void serve_client_resume(struct serve_client *client);

#endif
