/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a fabric that is up, both ends; see control.h.
 */
#include "up/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach/protocol.h"

#define WORDS_MAX 4096u
#define CHUNK 60000u
/* The first byte of a message. */
#define MORE '+'
#define DONE '0' /* of the last, as is the next */
#define REFUSED '1'

struct control {
    control_answer *answer;
    void *context;
    int epoll;
};

int control_create(control_answer *answer, void *context, struct control **ret)
{
    struct control *control = malloc(sizeof *control);

    if (control == NULL) return -ENOMEM;
    *control = (struct control){answer, context, epoll_create1(EPOLL_CLOEXEC)};
    if (control->epoll < 0) {
        int error = -errno;
        free(control);
        return error;
    }
    *ret = control;
    return 0;
}

/* Who has not asked yet loses the connection with the last descriptor: that of its own side. */
void control_free(struct control *control)
{
    if (control == NULL) return;
    close(control->epoll);
    free(control);
}

int control_fd(const struct control *control)
{
    return control->epoll;
}

void control_take(struct control *control, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fcntl(fd, F_SETFL, 0) < 0 || epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) < 0) close(fd);
}

/* Blocks only as long as the asker does not read: bounded by its patience, which is ours.  The last message alone says
 * how it went: who does not get that one has not got all. */
static void send_all(int fd, char how, const char *text, size_t length)
{
    char chunk[CHUNK];
    size_t at = 0;

    do {
        size_t part = length - at < CHUNK - 1 ? length - at : CHUNK - 1;
        chunk[0] = at + part < length ? MORE : how;
        memcpy(chunk + 1, text + at, part);
        if (send(fd, chunk, part + 1, MSG_NOSIGNAL) < 0) return;
        at += part;
    } while (at < length);
}

/* Who has gone does not know whether it was done: then it is not. */
static bool waits(int fd)
{
    struct pollfd at = {.fd = fd, .events = POLLRDHUP};

    return poll(&at, 1, 0) == 0;
}

static void answer_one(struct control *control, int fd)
{
    const struct timeval patience = {.tv_sec = 1};
    char words[WORDS_MAX + 1];
    char *text = NULL;
    size_t length = 0;
    ssize_t got = recv(fd, words, WORDS_MAX, MSG_DONTWAIT);

    if (got <= 0 || !waits(fd)) return;
    words[got] = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) return;
    bool done = control->answer(control->context, words, out);
    if (fclose(out) == 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        send_all(fd, done ? DONE : REFUSED, text, length);
    }
    free(text);
}

void control_run(struct control *control)
{
    struct epoll_event event;

    while (epoll_wait(control->epoll, &event, 1, 0) == 1) {
        answer_one(control, event.data.fd);
        epoll_ctl(control->epoll, EPOLL_CTL_DEL, event.data.fd, NULL);
        close(event.data.fd);
    }
}

/* The kernel's word for a limit that has passed, on a socket. */
static int as_late(int error)
{
    return error == -EAGAIN || error == -EWOULDBLOCK ? -ETIMEDOUT : error;
}

static int connect_to(const char *path, int patience_ms)
{
    const struct timeval limit = {patience_ms / 1000, patience_ms % 1000 * 1000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0) return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* of connect() too */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
    int error = as_late(-errno);
    close(fd);
    return error;
}

static int introduce(int fd)
{
    const struct attach_hello hello = {.version = ATTACH_VERSION, .kind = ATTACH_OBSERVER};
    struct attach_welcome welcome;

    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) < 0) return as_late(-errno);
    ssize_t got = recv(fd, &welcome, sizeof welcome, 0);
    if (got != (ssize_t)sizeof welcome) return got < 0 ? as_late(-errno) : -ECONNRESET;
    return welcome.error;
}

static int ask(int fd, const char *words, FILE *out)
{
    char chunk[CHUNK];
    int result = -ECONNABORTED;
    bool any = false;
    ssize_t got;

    int error = introduce(fd);
    if (error < 0) return error;
    if (send(fd, words, strlen(words), MSG_NOSIGNAL) < 0) return as_late(-errno);
    while ((got = recv(fd, chunk, sizeof chunk, 0)) > 0) {
        any = true;
        if (chunk[0] != MORE) result = chunk[0] == DONE ? 0 : 1;
        fwrite(chunk + 1, 1, (size_t)got - 1, out);
    }
    if (got < 0) return as_late(-errno);
    return any ? result : -ECONNRESET;
}

int control_ask(const char *path, const char *words, int patience_ms, FILE *out)
{
    if (strlen(words) > WORDS_MAX) return -E2BIG;
    int fd = connect_to(path, patience_ms);
    if (fd < 0) return fd;
    int result = ask(fd, words, out);
    close(fd);
    return result;
}

pid_t control_pid(const char *path)
{
    struct ucred peer = {.pid = 0};
    socklen_t bytes = sizeof peer;
    int fd = connect_to(path, 1);

    if (fd < 0) return 0;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
    close(fd);
    return peer.pid;
}

const char *control_error(const char *path, int error, char ret[CONTROL_TEXT])
{
    pid_t pid = error == -ETIMEDOUT ? control_pid(path) : 0;

    if (error == -ECONNABORTED)
        snprintf(ret, CONTROL_TEXT, "the answer was cut short: it was not read for a second");
    else if (error == -ETIMEDOUT && pid)
        snprintf(ret, CONTROL_TEXT,
                 "the fabric (pid %d) does not answer: it is stopped, or one of its programs keeps its turn", (int)pid);
    else if (error == -ETIMEDOUT)
        snprintf(ret, CONTROL_TEXT, "the fabric does not answer, and too many ask it: is it stopped?");
    else
        snprintf(ret, CONTROL_TEXT, "%s", strerror(-error));
    return ret;
}
