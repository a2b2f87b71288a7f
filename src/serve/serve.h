/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents over HTTP: /metrics, /api/state.json, the page that shows it, and word of each new one at /api/events.
 *
 * Whoever has something to show makes documents and hands them over; threads of the server give them out and touch
 * nothing else.  Documents are made when somebody wants them (serve_due()), so that nobody pays for what nobody reads.
 * Who asks while the last one is old waits until the next is there, some seconds at most, and then gets the old one;
 * for the first one a minute.
 *
 * Read only.  A client holds one connection for a bounded time, whatever it does or does not do: see http.c.
 */
#ifndef ROCELAB_SERVE_SERVE_H
#define ROCELAB_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_PORT 9791
#define SERVE_LISTEN "127.0.0.1:9791" /* where nothing else is said */
#define SERVE_TEXT 256

enum serve_document { SERVE_METRICS, SERVE_STATE, SERVE_DOCUMENTS };

struct serve;

/* Whether the text says where to listen: ADDRESS, ADDRESS:PORT, [ADDRESS]:PORT or PORT.  False with why not. */
bool serve_listen_valid(const char *listen, char ret_why[SERVE_TEXT]);
/* Listens and answers from now on; listen NULL: SERVE_LISTEN.  0, or -errno with a sentence that says why not; -ENOSYS:
 * the program was built without a server. */
int serve_create(const char *listen, struct serve **ret, char ret_why[SERVE_TEXT]);
void serve_free(struct serve *serve);
const char *serve_address(const struct serve *serve); /* "http://127.0.0.1:9791/" */

/* Bit d: document d is wanted now. */
uint32_t serve_due(struct serve *serve);
/* The same, but waits until one is, or so long. */
uint32_t serve_wait(struct serve *serve, int most_ms);
/* A new document; `text` is malloc()ed and the server's from now on.  NULL: there is none, and who asks is told. */
void serve_put(struct serve *serve, enum serve_document which, char *text, size_t bytes);
/* There will be no others: what was put last stays. */
void serve_last(struct serve *serve);

#endif
