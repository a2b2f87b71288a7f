/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to listen, from text and as a socket; and which names of a host are its own alone.
 *
 * Numeric addresses and `localhost` only: a name that a resolver answers for may be another machine tomorrow.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/serve_int.h"

#define BACKLOG 64

/* What stands before the port, and the port; false: it is no port. */
static bool split(const char *text, char host[64], long *ret_port)
{
    const char *colon = strrchr(text, ':'), *close = strchr(text, ']');
    bool has_port = colon && (close ? colon == close + 1 : strchr(text, ':') == colon);
    size_t length = has_port ? (size_t)(colon - text) : strlen(text);
    char *end;

    *ret_port = SERVE_PORT;
    if (!has_port && text[0] != '\0' && strspn(text, "0123456789") == length) { /* a port alone */
        colon = text - 1;
        has_port = true;
        length = 0;
    }
    if (has_port) {
        if (colon[1] < '0' || colon[1] > '9') return false;
        *ret_port = strtol(colon + 1, &end, 10);
        if (*end != '\0' || *ret_port > 65535) return false;
    }
    if (length > 0 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length >= 64) return false;
    memcpy(host, text, length);
    host[length] = '\0';
    return true;
}

bool serve_where_parse(const char *listen, struct serve_where *ret, char ret_why[SERVE_TEXT])
{
    char host[64];
    long port;

    memset(ret, 0, sizeof *ret);
    if (!split(listen, host, &port)) goto wrong;
    if (host[0] == '\0' || strcmp(host, "localhost") == 0) snprintf(host, sizeof host, "127.0.0.1");
    if (inet_pton(AF_INET, host, &ret->four.sin_addr) == 1) {
        ret->four.sin_family = AF_INET;
        ret->four.sin_port = htons((uint16_t)port);
        ret->bytes = sizeof ret->four;
        ret->loopback = ntohl(ret->four.sin_addr.s_addr) >> 24 == 127;
        return true;
    }
    memset(ret, 0, sizeof *ret);
    if (inet_pton(AF_INET6, host, &ret->six.sin6_addr) == 1) {
        ret->six.sin6_family = AF_INET6;
        ret->six.sin6_port = htons((uint16_t)port);
        ret->bytes = sizeof ret->six;
        ret->loopback = IN6_IS_ADDR_LOOPBACK(&ret->six.sin6_addr);
        return true;
    }
wrong:
    snprintf(ret_why, SERVE_TEXT, "an address of this machine and a port, as in " SERVE_LISTEN " or [::1]:%d",
             SERVE_PORT);
    return false;
}

bool serve_listen_valid(const char *listen, char ret_why[SERVE_TEXT])
{
    struct serve_where where;

    return serve_where_parse(listen, &where, ret_why);
}

static void port_of(const struct serve_where *where, char host[64], unsigned *ret_port)
{
    bool six = where->any.sa_family == AF_INET6;

    inet_ntop(where->any.sa_family, six ? (const void *)&where->six.sin6_addr : &where->four.sin_addr, host, 64);
    *ret_port = ntohs(six ? where->six.sin6_port : where->four.sin_port);
}

int serve_where_open(struct serve_where *where, char ret_why[SERVE_TEXT])
{
    int fd = socket(where->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    char host[64];
    unsigned port;

    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (where->any.sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
        if (bind(fd, &where->any, where->bytes) == 0 && listen(fd, BACKLOG) == 0 &&
            getsockname(fd, &where->any, &where->bytes) == 0)
            return fd;
    }
    int error = errno;
    port_of(where, host, &port);
    if (error == EADDRINUSE)
        snprintf(ret_why, SERVE_TEXT,
                 "another program listens at %s port %u; say another port, or 0 for any that is free", host, port);
    else if (error == EADDRNOTAVAIL)
        snprintf(ret_why, SERVE_TEXT, "%s is not an address of this machine", host);
    else
        snprintf(ret_why, SERVE_TEXT, "%s port %u: %s", host, port, strerror(error));
    if (fd >= 0) close(fd);
    return -error;
}

void serve_where_print(const struct serve_where *where, char ret[SERVE_TEXT])
{
    char host[64];
    unsigned port;
    bool six = where->any.sa_family == AF_INET6;

    port_of(where, host, &port);
    snprintf(ret, SERVE_TEXT, "http://%s%s%s:%u/", six ? "[" : "", host, six ? "]" : "", port);
}

bool serve_host_is_loopback(const char *host)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
    struct serve_where where;
    char why[SERVE_TEXT];

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        size_t length = strlen(own[i]);
        if (strncasecmp(host, own[i], length) != 0) continue;
        if (host[length] == '\0') return true;
        if (host[length] == ':' && host[length + 1] &&
            strspn(host + length + 1, "0123456789") == strlen(host) - length - 1)
            return true;
    }
    /* 127.0.0.2 and the like; a port alone would be taken for an address here. */
    return strchr(host, '.') && serve_where_parse(host, &where, why) && where.loopback &&
           where.any.sa_family == AF_INET;
}
