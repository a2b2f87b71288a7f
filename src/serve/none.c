/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that was built without libmicrohttpd: it can say so.
 */
#include "serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool serve_listen_valid(const char *listen, char ret_why[SERVE_TEXT])
{
    (void)listen;
    (void)ret_why;
    return true;
}

int serve_create(const char *listen, struct serve **ret, char ret_why[SERVE_TEXT])
{
    (void)listen;
    *ret = NULL;
    snprintf(ret_why, SERVE_TEXT, "this rocelab was built without libmicrohttpd (Debian: libmicrohttpd-dev)");
    return -ENOSYS;
}

void serve_free(struct serve *serve)
{
    (void)serve;
}

const char *serve_address(const struct serve *serve)
{
    (void)serve;
    return "";
}

uint32_t serve_due(struct serve *serve)
{
    (void)serve;
    return 0;
}

uint32_t serve_wait(struct serve *serve, int most_ms)
{
    (void)serve;
    (void)most_ms;
    return 0;
}

void serve_put(struct serve *serve, enum serve_document which, char *text, size_t bytes)
{
    (void)serve;
    (void)which;
    (void)bytes;
    free(text);
}

void serve_last(struct serve *serve)
{
    (void)serve;
}
