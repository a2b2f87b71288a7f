/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TCP program that knows nothing of us, to be run with a library preloaded that makes rsockets of its sockets.
 *
 *   stream_tool serve PORT     says "listening", sends back what one client sends until that ends
 *   stream_tool connect PORT   sends a pattern to 127.0.0.1 and looks whether it comes back
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 100000u
#define PIECE 1000u

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int serve(int fd, const struct sockaddr_in *at)
{
    static uint8_t data[PIECE];
    ssize_t got;
    int client;

    if (bind(fd, (const struct sockaddr *)at, sizeof *at) != 0 || listen(fd, 1) != 0) return fail("listen");
    puts("listening");
    client = accept(fd, NULL, NULL);
    if (client < 0) return fail("accept");
    while ((got = recv(client, data, sizeof data, 0)) > 0)
        for (ssize_t sent = 0, now; sent < got; sent += now)
            if ((now = send(client, data + sent, (size_t)(got - sent), 0)) <= 0) return fail("send");
    return got == 0 && close(client) == 0 ? 0 : fail("recv");
}

static int visit(int fd, const struct sockaddr_in *at)
{
    static uint8_t out[PIECE], in[PIECE];

    if (connect(fd, (const struct sockaddr *)at, sizeof *at) != 0) return fail("connect");
    for (unsigned i = 0; i < BYTES / PIECE; i++) {
        memset(out, (int)i, sizeof out);
        for (size_t sent = 0; sent < sizeof out;) {
            ssize_t now = send(fd, out + sent, sizeof out - sent, 0);
            if (now <= 0) return fail("send");
            sent += (size_t)now;
        }
        for (size_t got = 0; got < sizeof in;) {
            ssize_t now = recv(fd, in + got, sizeof in - got, 0);
            if (now <= 0) return fail("recv");
            got += (size_t)now;
        }
        if (memcmp(in, out, sizeof in) != 0) return 3;
    }
    puts("same");
    return shutdown(fd, SHUT_RDWR) == 0 && close(fd) == 0 ? 0 : fail("close");
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 3 || fd < 0) return 2;
    at.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
    return strcmp(argv[1], "serve") == 0 ? serve(fd, &at) : visit(fd, &at);
}
