/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes: which request gets what.
 *
 * GET and HEAD alone.  On loopback the Host header must name this machine: a page from elsewhere whose name was made to
 * mean 127.0.0.1 would otherwise read what is here.  No other site is let in (no CORS header, and
 * Cross-Origin-Resource-Policy).  Everything here runs in libmicrohttpd's thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve_int.h"

#define LISTENERS_MOST 128u
#define STREAM_BLOCK 512

#define NOTHING "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/* The page's own policy, and that nobody puts it into a frame. */
#define PAGE                                                                                                           \
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "   \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void add_headers(struct MHD_Response *response, const char *type, const char *policy)
{
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Content-Security-Policy", policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cache-Control", "no-store");
}

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    enum MHD_Result result = MHD_queue_response(connection, status, response);

    MHD_destroy_response(response);
    return result;
}

/* A sentence, which is a literal. */
static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    if (response == NULL) return MHD_NO;
    add_headers(response, "text/plain; charset=utf-8", NOTHING);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE) MHD_add_response_header(response, "Retry-After", "2");
    return queue(connection, status, response);
}

static void let_go(void *context)
{
    struct serve_body *body = context;
    struct serve *serve = body->serve;

    pthread_mutex_lock(&serve->lock);
    serve_body_drop(body);
    pthread_mutex_unlock(&serve->lock);
}

/* `body` is held for the caller, and the response's from now on. */
static enum MHD_Result give(struct MHD_Connection *connection, struct serve_body *body, const char *type,
                            const char *policy)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback_cls(body->bytes, body->text, let_go, body);

    if (response == NULL) {
        let_go(body);
        return MHD_NO;
    }
    add_headers(response, type, policy);
    return queue(connection, MHD_HTTP_OK, response);
}

/* Waits, once, where what there is is old. */
static enum MHD_Result document(struct serve *serve, struct serve_client *client, enum serve_document which)
{
    static const char *const type[] = {
        [SERVE_METRICS] = "text/plain; version=0.0.4; charset=utf-8", [SERVE_STATE] = "application/json"};
    struct serve_kept *kept = &serve->kept[which];
    struct serve_body *body;

    pthread_mutex_lock(&serve->lock);
    bool waits = client->state != SERVE_CLIENT_WAITS && !serve->ending && !serve_is_fresh(serve, which);
    if (waits) {
        kept->asked = true;
        client->state = SERVE_CLIENT_WAITS;
        client->waits_for = which;
        client->since_ns = serve_now();
        serve_client_suspend(client);
        pthread_cond_signal(&serve->asked);
    } else {
        client->state = SERVE_CLIENT_TAKES;
    }
    body = kept->body;
    if (!waits && body) body->held++;
    pthread_mutex_unlock(&serve->lock);
    if (waits) return MHD_YES;
    if (body) return give(client->connection, body, type[which], NOTHING);
    return say(client->connection, MHD_HTTP_SERVICE_UNAVAILABLE, "there is nothing to show yet, or no more\n");
}

/* What a listener is told next; -1: the end. */
static ssize_t stream(void *context, uint64_t at, char *to, size_t most)
{
    struct serve_client *client = context;
    struct serve *serve = client->serve;
    ssize_t bytes = 0;

    pthread_mutex_lock(&serve->lock);
    uint64_t now = serve_now();
    if (serve->ending || now - client->since_ns > SERVE_LISTEN_MOST_NS) {
        bytes = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (at == 0) {
        bytes = snprintf(to, most, "retry: 2000\n\n");
    } else if (client->told != serve->number) {
        bytes = snprintf(to, most, "event: state\nid: %llu\ndata: {\"last\": %s}\n\n",
                         (unsigned long long)serve->number, serve->last ? "true" : "false");
        client->told = serve->number;
    } else if (client->woken) {
        bytes = snprintf(to, most, ":\n\n");
    } else {
        serve_client_suspend(client);
    }
    client->woken = false;
    if (bytes > 0) client->told_ns = now;
    pthread_mutex_unlock(&serve->lock);
    return bytes;
}

static enum MHD_Result listen_to(struct serve *serve, struct serve_client *client)
{
    pthread_mutex_lock(&serve->lock);
    bool room = serve->listeners < LISTENERS_MOST;
    if (room) {
        serve->listeners++;
        client->state = SERVE_CLIENT_LISTENS;
        client->since_ns = client->told_ns = serve_now();
        client->told = 0;
        pthread_cond_signal(&serve->asked);
    }
    pthread_mutex_unlock(&serve->lock);
    if (!room) return say(client->connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many listen already\n");
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream, client, NULL);
    if (response == NULL) return MHD_NO;
    add_headers(response, "text/event-stream", NOTHING);
    return queue(client->connection, MHD_HTTP_OK, response);
}

static enum MHD_Result page(struct serve *serve, struct serve_client *client)
{
    pthread_mutex_lock(&serve->lock);
    serve->page->held++;
    pthread_mutex_unlock(&serve->lock);
    return give(client->connection, serve->page, "text/html; charset=utf-8", PAGE);
}

static enum MHD_Result route(struct serve *serve, struct serve_client *client, const char *url)
{
    const char *host = MHD_lookup_connection_value(client->connection, MHD_HEADER_KIND, "Host");

    if (serve->loopback && (host == NULL || !serve_host_is_loopback(host)))
        return say(client->connection, MHD_HTTP_MISDIRECTED_REQUEST,
                   "this server answers as localhost or by its loopback address, and to no other name\n");
    if (strcmp(url, "/") == 0) return page(serve, client);
    if (strcmp(url, "/metrics") == 0) return document(serve, client, SERVE_METRICS);
    if (strcmp(url, "/api/state.json") == 0) return document(serve, client, SERVE_STATE);
    if (strcmp(url, "/api/events") == 0) return listen_to(serve, client);
    if (strcmp(url, "/healthz") == 0) return say(client->connection, MHD_HTTP_OK, "ok\n");
    return say(client->connection, MHD_HTTP_NOT_FOUND,
               "there is no such page here; there are /, /metrics, /api/state.json, /api/events and /healthz\n");
}

/* The request is whole.  One that has waited for its document is asked about again. */
static void has_asked(struct serve *serve, struct serve_client *client)
{
    pthread_mutex_lock(&serve->lock);
    if (client->state == SERVE_CLIENT_ASKS) client->state = SERVE_CLIENT_TAKES;
    pthread_mutex_unlock(&serve->lock);
}

enum MHD_Result serve_http_answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_bytes, void **request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct serve_client *client = info ? info->socket_context : NULL;

    (void)version;
    (void)upload;
    if (client == NULL) return MHD_NO;
    client->connection = connection;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this server is read only: GET and HEAD\n");
    if (*request == NULL) { /* the headers are there; a body is not wanted */
        *request = client;
        return MHD_YES;
    }
    if (*upload_bytes) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    has_asked(context, client);
    return route(context, client, url);
}

void serve_http_done(void *context, struct MHD_Connection *connection, void **request,
                     enum MHD_RequestTerminationCode code)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct serve_client *client = info ? info->socket_context : NULL;
    struct serve *serve = context;

    (void)request;
    (void)code;
    if (client == NULL) return;
    pthread_mutex_lock(&serve->lock);
    if (client->state == SERVE_CLIENT_LISTENS) serve->listeners--;
    client->state = SERVE_CLIENT_ASKS;
    client->since_ns = serve_now();
    pthread_mutex_unlock(&serve->lock);
}
