/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents, who waits for them, and for how long a client may stay; the routes are in http.c.
 *
 * A keeper, a thread of its own, looks once a second at every client: who has waited long enough gets what there is,
 * who listens hears something now and then (so that a dead connection is noticed), and who has been sending a request
 * or taking an answer for a minute is cut off.  libmicrohttpd's own limit is of silence alone, which a byte now and
 * then breaks.
 *
 * Nobody keeps others out for that minute: when all connections are held, the one that has owed a whole request for
 * longest is cut, so that libmicrohttpd, which accepts nobody at its limit, has room for the next; where each has sent
 * one, it is the one that has taken its answer for longest.
 */
#include "serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "report/page/page.h"
#include "serve/serve_int.h"

#define FRESH_NS (SERVE_NS / 2)       /* a document that is no older is given at once */
#define TELL_EVERY_NS SERVE_NS        /* a new state, while somebody listens */
#define WAIT_MOST_NS (5 * SERVE_NS)   /* for a new document ... */
#define FIRST_MOST_NS (60 * SERVE_NS) /* ... and for the first of its kind */
#define REQUEST_MOST_NS (60 * SERVE_NS)
#define PING_EVERY_NS (15 * SERVE_NS)
#define SILENCE_MOST_S 15u
#define CLIENTS_MOST 256u
#define CLIENT_BYTES (16u * 1024)
#define OUT_MOST_BYTES (256ull << 20) /* versions that slow clients still read: no new ones are made beyond that */

uint64_t serve_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SERVE_NS + (uint64_t)now.tv_nsec;
}

static struct serve_body *body_new(struct serve *serve, char *text, size_t bytes)
{
    struct serve_body *body = malloc(sizeof *body);

    if (body == NULL) {
        free(text);
        return NULL;
    }
    *body = (struct serve_body){.serve = serve, .text = text, .bytes = bytes, .held = 1};
    serve->out_bytes += bytes;
    return body;
}

void serve_body_drop(struct serve_body *body)
{
    if (body == NULL || --body->held > 0) return;
    body->serve->out_bytes -= body->bytes;
    free(body->text);
    free(body);
}

bool serve_is_fresh(const struct serve *serve, enum serve_document which)
{
    return serve->last || (serve->kept[which].body && serve_now() - serve->kept[which].at_ns < FRESH_NS);
}

void serve_client_suspend(struct serve_client *client)
{
    client->suspended = true;
    MHD_suspend_connection(client->connection);
}

void serve_client_resume(struct serve_client *client)
{
    if (!client->suspended) return;
    client->suspended = false;
    client->woken = true;
    MHD_resume_connection(client->connection);
}

static uint32_t due(const struct serve *serve)
{
    const struct serve_kept *state = &serve->kept[SERVE_STATE];
    uint32_t bits = 0;

    if (serve->last || serve->out_bytes > OUT_MOST_BYTES) return 0;
    for (int i = 0; i < SERVE_DOCUMENTS; i++)
        if (serve->kept[i].asked) bits |= 1u << i;
    if (serve->listeners && (state->body == NULL || serve_now() - state->at_ns >= TELL_EVERY_NS))
        bits |= 1u << SERVE_STATE;
    return bits;
}

uint32_t serve_due(struct serve *serve)
{
    pthread_mutex_lock(&serve->lock);
    uint32_t bits = due(serve);
    pthread_mutex_unlock(&serve->lock);
    return bits;
}

static void wait_until(struct serve *serve, pthread_cond_t *condition, uint64_t ns)
{
    const struct timespec until = {.tv_sec = (time_t)(ns / SERVE_NS), .tv_nsec = (long)(ns % SERVE_NS)};

    pthread_cond_timedwait(condition, &serve->lock, &until);
}

uint32_t serve_wait(struct serve *serve, int most_ms)
{
    pthread_mutex_lock(&serve->lock);
    uint32_t bits = due(serve);
    if (bits == 0) {
        wait_until(serve, &serve->asked, serve_now() + (uint64_t)most_ms * (SERVE_NS / 1000));
        bits = due(serve);
    }
    pthread_mutex_unlock(&serve->lock);
    return bits;
}

void serve_put(struct serve *serve, enum serve_document which, char *text, size_t bytes)
{
    struct serve_kept *kept = &serve->kept[which];

    pthread_mutex_lock(&serve->lock);
    serve_body_drop(kept->body);
    *kept = (struct serve_kept){.body = text ? body_new(serve, text, bytes) : NULL, .at_ns = serve_now()};
    if (which == SERVE_STATE) serve->number++;
    for (struct serve_client *client = serve->clients; client; client = client->next) {
        bool waited = client->state == SERVE_CLIENT_WAITS && client->waits_for == which;
        if (waited || (client->state == SERVE_CLIENT_LISTENS && which == SERVE_STATE)) serve_client_resume(client);
    }
    pthread_mutex_unlock(&serve->lock);
}

void serve_last(struct serve *serve)
{
    pthread_mutex_lock(&serve->lock);
    serve->last = true;
    serve->number++; /* listeners are told that it was the last */
    for (struct serve_client *client = serve->clients; client; client = client->next)
        serve_client_resume(client);
    pthread_mutex_unlock(&serve->lock);
}

/* --- clients --- */

static void cut(struct serve *serve, struct serve_client *client)
{
    if (!client->cut) serve->held--;
    client->cut = true;
    shutdown(client->socket, SHUT_RDWR);
    if (client->suspended)
        pthread_cond_signal(&serve->ended); /* libmicrohttpd does not look at it until it is resumed */
}

/* `last` has just come, and may send its request yet; NULL: nobody has.  Listeners stay: there is room beside them. */
static void make_room(struct serve *serve, const struct serve_client *last)
{
    static const enum serve_client_state first[] = {SERVE_CLIENT_ASKS, SERVE_CLIENT_TAKES, SERVE_CLIENT_WAITS};
    struct serve_client *longest[SERVE_CLIENT_LISTENS + 1] = {NULL};
    size_t i = 0;

    if (serve->held < CLIENTS_MOST) return;
    for (struct serve_client *client = serve->clients; client; client = client->next) {
        struct serve_client **of = &longest[client->state];
        if (client != last && !client->cut && (*of == NULL || client->since_ns < (*of)->since_ns)) *of = client;
    }
    while (i < sizeof first / sizeof first[0] && longest[first[i]] == NULL)
        i++;
    if (i < sizeof first / sizeof first[0]) cut(serve, longest[first[i]]);
}

static void client_came(struct serve *serve, struct MHD_Connection *connection, void **socket_context)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct serve_client *client = info ? calloc(1, sizeof *client) : NULL;

    *socket_context = client;
    if (client == NULL) return;
    client->serve = serve;
    client->socket = info->connect_fd;
    client->since_ns = serve_now();
    client->next = serve->clients;
    if (client->next) client->next->before = client;
    serve->clients = client;
    serve->held++;
    make_room(serve, client);
}

static void client_left(struct serve *serve, struct serve_client *client)
{
    if (client == NULL) return;
    if (client->before)
        client->before->next = client->next;
    else if (serve->clients == client)
        serve->clients = client->next;
    if (client->next) client->next->before = client->before;
    if (client->state == SERVE_CLIENT_LISTENS) serve->listeners--;
    if (!client->cut) serve->held--;
    free(client);
}

/* libmicrohttpd closes the socket after this: who finds a client under the lock finds its socket open. */
static void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct serve *serve = context;

    pthread_mutex_lock(&serve->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        client_came(serve, connection, socket_context);
    else
        client_left(serve, *socket_context);
    pthread_mutex_unlock(&serve->lock);
}

static void look_at(struct serve *serve, struct serve_client *client, uint64_t now)
{
    uint64_t spent = now - client->since_ns;

    if (client->cut) serve_client_resume(client);
    switch (client->state) {
    case SERVE_CLIENT_WAITS:
        if (spent > (serve->kept[client->waits_for].body ? WAIT_MOST_NS : FIRST_MOST_NS)) serve_client_resume(client);
        return;
    case SERVE_CLIENT_LISTENS:
        if (spent > SERVE_LISTEN_MOST_NS || now - client->told_ns > PING_EVERY_NS) serve_client_resume(client);
        if (now - client->told_ns <= REQUEST_MOST_NS) return;
        break; /* it takes nothing */
    case SERVE_CLIENT_ASKS:
    case SERVE_CLIENT_TAKES:
        if (spent <= REQUEST_MOST_NS) return;
        break;
    }
    cut(serve, client);
}

static void *keep(void *context)
{
    struct serve *serve = context;

    pthread_mutex_lock(&serve->lock);
    while (!serve->ending) {
        uint64_t now = serve_now();
        make_room(serve, NULL); /* who listened when the last one came may be asking now */
        for (struct serve_client *client = serve->clients; client; client = client->next)
            look_at(serve, client, now);
        wait_until(serve, &serve->ended, now + SERVE_NS);
    }
    pthread_mutex_unlock(&serve->lock);
    return NULL;
}

/* --- beginning and end --- */

static bool make_page(struct serve *serve)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL) return false;
    page_live(out);
    if (fclose(out) == 0) serve->page = body_new(serve, text, bytes);
    return serve->page != NULL;
}

static struct MHD_Daemon *start(struct serve *serve, int fd)
{
    return MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0,
                            NULL, NULL, serve_http_answer, serve, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
                            MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_MOST_S,
                            MHD_OPTION_NOTIFY_CONNECTION, client_notify, serve, MHD_OPTION_NOTIFY_COMPLETED,
                            serve_http_done, serve, MHD_OPTION_END);
}

/* Signals are for who has made the server: its threads take none. */
static bool start_threads(struct serve *serve, int fd)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    serve->daemon = start(serve, fd);
    bool good = serve->daemon != NULL && pthread_create(&serve->keeper, NULL, keep, serve) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!good && serve->daemon) MHD_stop_daemon(serve->daemon);
    return good;
}

static struct serve *serve_new(void)
{
    struct serve *serve = calloc(1, sizeof *serve);
    pthread_condattr_t monotonic;

    if (serve == NULL) return NULL;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&serve->lock, NULL);
    pthread_cond_init(&serve->asked, &monotonic);
    pthread_cond_init(&serve->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return serve;
}

static void release(struct serve *serve)
{
    serve_body_drop(serve->page);
    for (int i = 0; i < SERVE_DOCUMENTS; i++)
        serve_body_drop(serve->kept[i].body);
    pthread_mutex_destroy(&serve->lock);
    pthread_cond_destroy(&serve->asked);
    pthread_cond_destroy(&serve->ended);
    free(serve);
}

int serve_create(const char *listen, struct serve **ret, char ret_why[SERVE_TEXT])
{
    struct serve_where where;

    if (!serve_where_parse(listen ? listen : SERVE_LISTEN, &where, ret_why)) return -EINVAL;
    int fd = serve_where_open(&where, ret_why);
    if (fd < 0) return fd;
    struct serve *serve = serve_new();
    if (serve) {
        serve->loopback = where.loopback;
        serve_where_print(&where, serve->address);
        if (make_page(serve) && start_threads(serve, fd)) {
            *ret = serve;
            return 0;
        }
        release(serve);
    }
    close(fd);
    snprintf(ret_why, SERVE_TEXT, "not enough memory for a server");
    return -ENOMEM;
}

/* libmicrohttpd wants nobody suspended when it stops. */
void serve_free(struct serve *serve)
{
    if (serve == NULL) return;
    pthread_mutex_lock(&serve->lock);
    serve->ending = true;
    pthread_cond_signal(&serve->ended);
    for (struct serve_client *client = serve->clients; client; client = client->next)
        serve_client_resume(client);
    pthread_mutex_unlock(&serve->lock);
    pthread_join(serve->keeper, NULL);
    MHD_stop_daemon(serve->daemon);
    release(serve);
}

const char *serve_address(const struct serve *serve)
{
    return serve->address;
}
