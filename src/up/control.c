/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a fabric that is up, both ends; see control.h.
 */
#include "up/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
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

static void answer_one(struct control *control, int fd)
{
    const struct timeval patience = {.tv_sec = 1};
    char words[WORDS_MAX + 1];
    char *text = NULL;
    size_t length = 0;
    ssize_t got = recv(fd, words, WORDS_MAX, MSG_DONTWAIT);

    if (got <= 0) return;
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

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0) return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
    int error = -errno;
    close(fd);
    return error;
}

static int introduce(int fd)
{
    const struct attach_hello hello = {.version = ATTACH_VERSION, .kind = ATTACH_OBSERVER};
    struct attach_welcome welcome;

    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) < 0) return -errno;
    ssize_t got = recv(fd, &welcome, sizeof welcome, 0);
    if (got != (ssize_t)sizeof welcome) return got < 0 ? -errno : -ECONNRESET;
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
    if (send(fd, words, strlen(words), MSG_NOSIGNAL) < 0) return -errno;
    while ((got = recv(fd, chunk, sizeof chunk, 0)) > 0) {
        any = true;
        if (chunk[0] != MORE) result = chunk[0] == DONE ? 0 : 1;
        fwrite(chunk + 1, 1, (size_t)got - 1, out);
    }
    if (got < 0) return -errno;
    return any ? result : -ECONNRESET;
}

int control_ask(const char *path, const char *words, FILE *out)
{
    if (strlen(words) > WORDS_MAX) return -E2BIG;
    int fd = connect_to(path);
    if (fd < 0) return fd;
    int result = ask(fd, words, out);
    close(fd);
    return result;
}

const char *control_error(int error)
{
    return error == -ECONNABORTED ? "the answer was cut short: it was not read for a second" : strerror(-error);
}
