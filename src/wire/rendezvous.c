/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is found by name in the network namespace, where the addresses are that processes share: containers
 * with the host's network see each other, whatever files they have.
 *
 * Abstract AF_UNIX sockets are the only names of a network namespace that need no privilege.  Each process has
 * one, "rocelab/KEY/NUMBER" with the lowest number that is free, and a thread behind it that hands the memory's
 * descriptor to whoever connects and is of the same user.  Nobody is in charge, so nobody has a successor: as long
 * as one process lives the memory is found, and with the last one it goes, without anything left behind.
 *
 * Whom to believe: the kernel tells the user who listens, and who connects (SO_PEERCRED), before a byte is read.  A
 * name that somebody else holds is passed over, also if it takes no connection: then the kernel is asked whose it is
 * (names.h).  So others can make the search longer but not lead it astray; only all
 * NAMES numbers together would stop a new user, and then ROCELAB_REGISTRY is another word for KEY.
 *
 * A process that was stopped (a debugger) cannot answer, nor be connected to when others have filled its queue.  Its
 * memory is taken from /proc/PID/fd, which the same user may open; of a process in another pid namespace there is no
 * PID, and it has to answer.
 *
 * Two that are first at the same time.  Each binds its name, then asks all others, and says its number when it asks.
 * Who is asked by a lower number while it has nothing itself does not make the memory but asks once more, and so does
 * who sees a lower one without.  Of two, the later to bind sees the other; so both never make it.
 *
 * What it does not do: look at what is in the memory (registry.c).
 */
#include "wire/rendezvous.h"
#include "base/hash.h"
#include "base/quiet.h"
#include "wire/names.h"
#include "wire/system.h"
#include "wire/wire_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NAMES 2048u
#define BACKLOG 128
#define MAGIC 0x726c7276u
#define PATIENCE_MS 10000
#define ANSWER_MS 200 /* for who was not stopped and is not in /proc */
#define WAITS 16      /* for names that take nobody, each ANSWER_MS, in one search */
#define NUMBERLESS UINT32_MAX
#define STACK_BYTES (256u << 10)

struct rendezvous {
    struct rendezvous *next;
    char key[17];
    ino_t space; /* the network namespace that its names are in */
    uid_t uid;
    unsigned users;
    pid_t pid;
    size_t bytes;
    uint32_t layout, number;
    int listener, stop;   /* -1: none */
    pthread_mutex_t lock; /* what follows; taken for moments only */
    int memory;           /* -1: not yet */
    bool outdone;         /* a lower number has asked while we had none */
    pthread_t thread;
    bool thread_runs;
};

struct question {
    uint32_t magic, number;
};

struct answer {
    uint32_t magic, layout;
    uint64_t bytes;
    uint32_t number, has; /* has: the descriptor comes with it */
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rendezvous *list;

static struct sockaddr_un name_of(const struct rendezvous *self, uint32_t number, socklen_t *ret_bytes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "rocelab/%s/%u", self->key, number);
    *ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return name;
}

/* Is the other end of a connection ours?  Its process, where it has one that we can see, goes to *ret_pid. */
static bool same_user(int fd, pid_t *ret_pid)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 || peer.uid != geteuid()) return false;
    *ret_pid = peer.pid;
    return true;
}

/* --- handing out --- */

static void answer(struct rendezvous *self, int fd)
{
    struct question question = {0};
    pid_t pid;
    if (!same_user(fd, &pid)) return;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, ANSWER_MS) != 1 || recv(fd, &question, sizeof question, MSG_DONTWAIT) != sizeof question ||
        question.magic != MAGIC)
        return;
    pthread_mutex_lock(&self->lock);
    int memory = self->memory;
    if (memory < 0 && question.number < self->number) self->outdone = true;
    pthread_mutex_unlock(&self->lock); /* once there is memory it stays until the thread is gone */
    struct answer answer = {
        .magic = MAGIC, .layout = self->layout, .bytes = self->bytes, .number = self->number, .has = memory >= 0};
    struct iovec iov = {&answer, sizeof answer};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    control.header = (struct cmsghdr){CMSG_LEN(sizeof memory), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &memory, sizeof memory);
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (memory >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *serve(void *argument)
{
    struct rendezvous *self = argument;
    struct pollfd fd[] = {{.fd = self->stop, .events = POLLIN}, {.fd = self->listener, .events = POLLIN}};
    for (;;) {
        poll(fd, 2, -1);
        if (fd[0].revents) return NULL;
        int peer = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer >= 0) {
            answer(self, peer);
            close(peer);
        } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* no descriptor is free: others must wait */
        }
    }
}

/* Signals belong to the application. */
static int serve_start(struct rendezvous *self)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    self->stop = eventfd(0, EFD_CLOEXEC);
    if (self->stop < 0) return -errno;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&self->thread, &attributes, serve, self);
    if (rc == EINVAL) rc = pthread_create(&self->thread, NULL, serve, self); /* a larger stack is the least here */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    self->thread_runs = rc == 0;
    if (rc == 0) pthread_setname_np(self->thread, "rocelab-door");
    return -rc;
}

/* The lowest number that is free; none is no error yet: others may have the memory. */
static int name_take(struct rendezvous *self)
{
    int fd = system_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    for (uint32_t number = 0; number < NAMES; number++) {
        socklen_t name_bytes;
        struct sockaddr_un name = name_of(self, number, &name_bytes);
        if (bind(fd, (struct sockaddr *)&name, name_bytes) < 0) {
            if (errno == EADDRINUSE) continue;
            break;
        }
        self->number = number;
        if (listen(fd, BACKLOG) < 0) break;
        self->listener = fd;
        return serve_start(self);
    }
    int rc = errno == EADDRINUSE ? 0 : -errno;
    close(fd);
    return rc;
}

/* --- searching --- */

static bool memory_fits(const struct rendezvous *self, int fd)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return fstat(fd, &st) == 0 && st.st_uid == self->uid && (size_t)st.st_size == self->bytes && seals >= 0 &&
           seals & F_SEAL_SHRINK;
}

/* The memory's name as /proc shows it, but for what the kernel puts around it. */
static void memory_name(const struct rendezvous *self, char ret[64])
{
    snprintf(ret, 64, "rocelab-registry-%u-%s", self->layout, self->key);
}

static int from_proc(const struct rendezvous *self, pid_t pid)
{
    char folder[64], path[64 + 256], link[256], wanted[64];
    int found = -1;
    memory_name(self, wanted);
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    DIR *dir = pid > 0 ? opendir(folder) : NULL;
    for (const struct dirent *entry; dir && found < 0 && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length <= 0) continue;
        link[length] = 0;
        if (strncmp(link, "/memfd:", 7) != 0 || strncmp(link + 7, wanted, strlen(wanted)) != 0) continue;
        found = open(path, O_RDWR | O_CLOEXEC);
        if (found >= 0 && !memory_fits(self, found)) {
            close(found);
            found = -1;
        }
    }
    if (dir) closedir(dir);
    return found;
}

/* Reads an answer and at most one descriptor, whoever it comes from: the rest is never ours. */
static ssize_t answer_read(int fd, struct answer *ret, int *ret_memory)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {ret, sizeof *ret};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    *ret_memory = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(ret_memory, CMSG_DATA(header), sizeof *ret_memory);
    return got;
}

enum found { FOUND_NOBODY, FOUND_STRANGER, FOUND_SILENT, FOUND_LOWER, FOUND_OTHER_VERSION, FOUND_MEMORY };

static enum found ask(const struct rendezvous *self, int fd, pid_t pid, int *ret_memory)
{
    struct question question = {MAGIC, self->number};
    struct answer answer;
    int memory = from_proc(self, pid);
    if (memory >= 0) {
        *ret_memory = memory;
        return FOUND_MEMORY;
    }
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (send(fd, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || poll(&ready, 1, ANSWER_MS) != 1)
        return FOUND_SILENT;
    ssize_t got = answer_read(fd, &answer, &memory);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return FOUND_NOBODY; /* it went meanwhile */
    if (got != (ssize_t)sizeof answer || answer.magic != MAGIC || answer.layout != self->layout ||
        answer.bytes != self->bytes || (answer.has && (memory < 0 || !memory_fits(self, memory)))) {
        if (memory >= 0) close(memory);
        return FOUND_OTHER_VERSION;
    }
    if (!answer.has) return answer.number < self->number ? FOUND_LOWER : FOUND_NOBODY;
    *ret_memory = memory;
    return FOUND_MEMORY;
}

struct survey { /* of all numbers */
    unsigned count[FOUND_MEMORY + 1];
    pid_t silent, other; /* one of those */
    int error;           /* it could not be made */
    unsigned waits;
    bool asked, other_user[NAMES]; /* whose names are, once the kernel was asked */
};

/* Has another user a name that takes no connection? */
static bool is_strangers(const struct rendezvous *self, uint32_t number, struct survey *survey)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "rocelab/%s/", self->key);
    if (!survey->asked) names_of_others(prefix, NAMES, survey->other_user); /* an error: nobody is known for one */
    survey->asked = true;
    return survey->other_user[number];
}

/* Connects.  Only one of ours is waited for where its queue is full. */
static int knock(const struct rendezvous *self, uint32_t number, int fd, struct survey *survey)
{
    const struct timeval limit = {.tv_usec = ANSWER_MS * 1000};
    socklen_t name_bytes;
    struct sockaddr_un name = name_of(self, number, &name_bytes);
    if (connect(fd, (struct sockaddr *)&name, name_bytes) == 0) return 0;
    if (errno != EAGAIN) return -errno;
    if (is_strangers(self, number, survey)) return -EACCES;
    if (survey->waits++ >= WAITS) return -EAGAIN;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* of connect() too */
    fcntl(fd, F_SETFL, 0);
    int rc = connect(fd, (struct sockaddr *)&name, name_bytes) < 0 ? -errno : 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return rc;
}

/* Who is behind a number?  A socket that was refused can be used for the next; *fd < 0: it cannot. */
static enum found look(const struct rendezvous *self, uint32_t number, int *fd, struct survey *survey, pid_t *ret_pid,
                       int *ret_memory)
{
    enum found found = FOUND_SILENT;
    socklen_t name_bytes;
    int rc = knock(self, number, *fd, survey);
    if (rc == -ECONNREFUSED) return FOUND_NOBODY;
    if (rc == -EPROTOTYPE || rc == -EACCES || rc == -EPERM) return FOUND_STRANGER;
    if (rc == 0) found = same_user(*fd, ret_pid) ? ask(self, *fd, *ret_pid, ret_memory) : FOUND_STRANGER;
    if (rc == -EAGAIN) { /* stopped, and others have filled its queue */
        *ret_pid = names_holder(name_of(self, number, &name_bytes).sun_path + 1);
        *ret_memory = from_proc(self, *ret_pid);
        if (*ret_memory >= 0) found = FOUND_MEMORY;
    }
    close(*fd);
    *fd = -1;
    return found;
}

/* Answers the memory, or -1. */
static int survey(const struct rendezvous *self, struct survey *ret)
{
    int memory = -1, fd = -1;
    *ret = (struct survey){0};
    for (uint32_t number = 0; number < NAMES && memory < 0; number++) {
        pid_t pid = 0;
        if (number == self->number) continue;
        if (fd < 0) {
            fd = system_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            if (fd < 0) {
                ret->error = -errno;
                return -1;
            }
        }
        enum found found = look(self, number, &fd, ret, &pid, &memory);
        ret->count[found]++;
        if (found == FOUND_SILENT) ret->silent = pid;
        if (found == FOUND_OTHER_VERSION) ret->other = pid;
    }
    if (fd >= 0) close(fd);
    return memory;
}

static int memory_new(const struct rendezvous *self)
{
    char name[64];
    memory_name(self, name);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -errno;
    struct quiet quiet; /* a limit for files is one for memory with a descriptor, too */
    quiet_begin(&quiet);
    int rc = -posix_fallocate(fd, 0, (off_t)self->bytes);
    quiet_end(&quiet);
    if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) rc = -errno;
    if (rc == 0) return fd;
    close(fd);
    return rc;
}

/* Nobody has it: makes it, unless a lower number asked meanwhile.  0: not yet. */
static int make(struct rendezvous *self)
{
    int rc = 0;
    pthread_mutex_lock(&self->lock);
    if (!self->outdone) {
        rc = memory_new(self);
        if (rc >= 0) self->memory = rc;
        if (rc >= 0) rc = 1;
    }
    self->outdone = false;
    pthread_mutex_unlock(&self->lock);
    return rc;
}

static int search(struct rendezvous *self, char *why, size_t why_bytes)
{
    struct survey seen;
    struct timespec nap = {.tv_nsec = 1000000}, begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        int memory = survey(self, &seen), made;
        if (memory >= 0) {
            pthread_mutex_lock(&self->lock);
            self->memory = memory;
            pthread_mutex_unlock(&self->lock);
            return 0;
        }
        if (seen.error)
            return wire_explain(why, why_bytes, seen.error, "no socket to look for other processes: %s",
                                strerror(-seen.error));
        if (seen.count[FOUND_OTHER_VERSION])
            return wire_explain(why, why_bytes, -EPROTO,
                                "another version of rocelab runs here for this user (process %d): end it, or set "
                                "ROCELAB_REGISTRY to a word and ROCELAB_PORT to another port",
                                (int)seen.other);
        if (self->number == NUMBERLESS && seen.count[FOUND_SILENT] == 0)
            return wire_explain(
                why, why_bytes, -EADDRINUSE,
                "other users hold all %u names (abstract sockets rocelab/%s/...): set ROCELAB_REGISTRY to a "
                "word that they do not know",
                NAMES, self->key);
        if (seen.count[FOUND_SILENT] == 0 && seen.count[FOUND_LOWER] == 0) {
            made = make(self);
            if (made < 0)
                return wire_explain(why, why_bytes, made, "no memory for the registry (%zu bytes): %s", self->bytes,
                                    strerror(-made));
            if (made > 0) return 0;
        }
        nanosleep(&nap, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < PATIENCE_MS);
    if (seen.silent == 0)
        return wire_explain(
            why, why_bytes, -EAGAIN,
            "an abstract socket rocelab/%s/... takes no connection (was its process stopped?): end it, or, "
            "if it is another user's, set ROCELAB_REGISTRY to a word that they do not know",
            self->key);
    return wire_explain(why, why_bytes, -EAGAIN,
                        "process %d of this user holds the registry and does not answer (was it stopped?)",
                        (int)seen.silent);
}

/* --- coming and going --- */

static void key_of(char ret[17])
{
    const char *word = getenv("ROCELAB_REGISTRY");
    if (!word || !*word) {
        snprintf(ret, 17, "%s", "default");
        return;
    }
    snprintf(ret, 17, "%016llx", (unsigned long long)hash_text(HASH_BEGIN, word)); /* a name, no secret */
}

static void unlist(const struct rendezvous *self)
{
    for (struct rendezvous **at = &list; *at; at = &(*at)->next) {
        if (*at != self) continue;
        *at = self->next;
        return;
    }
}

static void release(struct rendezvous *self, bool own)
{
    unlist(self);
    if (own && self->thread_runs) {
        eventfd_write(self->stop, 1);
        pthread_join(self->thread, NULL);
    }
    if (self->listener >= 0) close(self->listener);
    if (self->stop >= 0) close(self->stop);
    if (self->memory >= 0) close(self->memory);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

/* A child has no thread that would answer: the parent's names are let go of at once. */
static void fork_child(void)
{
    pthread_mutex_init(&list_lock, NULL);
    for (struct rendezvous *at = list; at; at = at->next) {
        if (at->listener >= 0) close(at->listener);
        at->listener = -1;
    }
    list = NULL;
}

static void install(void)
{
    pthread_atfork(NULL, NULL, fork_child);
}

/* The network namespace of this thread; a process may have been in another before. */
static ino_t space_now(void)
{
    struct stat st;
    return stat("/proc/thread-self/ns/net", &st) == 0 ? st.st_ino : 0;
}

static int enter_new(size_t bytes, uint32_t layout, const char *key, struct rendezvous **ret, char *why,
                     size_t why_bytes)
{
    struct rendezvous *self = calloc(1, sizeof *self);
    if (!self) return wire_explain(why, why_bytes, -ENOMEM, "no memory");
    *self = (struct rendezvous){.users = 1,
                                .pid = getpid(),
                                .uid = geteuid(),
                                .space = space_now(),
                                .bytes = bytes,
                                .layout = layout,
                                .number = NUMBERLESS,
                                .listener = -1,
                                .stop = -1,
                                .memory = -1};
    snprintf(self->key, sizeof self->key, "%s", key);
    pthread_mutex_init(&self->lock, NULL);
    int rc = name_take(self);
    if (rc < 0)
        wire_explain(why, why_bytes, rc, "no socket to find other processes by: %s", strerror(-rc));
    else
        rc = search(self, why, why_bytes);
    if (rc < 0) {
        release(self, true);
        return rc;
    }
    self->next = list;
    list = self;
    *ret = self;
    return 0;
}

int rendezvous_enter(size_t bytes, uint32_t layout, struct rendezvous **ret, char *why, size_t why_bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char key[17];
    int rc = 0;
    pthread_once(&once, install);
    key_of(key);
    pthread_mutex_lock(&list_lock);
    struct rendezvous *self = list;
    while (self && (strcmp(self->key, key) != 0 || self->uid != geteuid() || self->space != space_now()))
        self = self->next;
    if (self)
        self->users++;
    else
        rc = enter_new(bytes, layout, key, &self, why, why_bytes);
    pthread_mutex_unlock(&list_lock);
    if (rc == 0) *ret = self;
    return rc;
}

void rendezvous_leave(struct rendezvous *self)
{
    if (self->pid != getpid()) { /* no other thread, and locks may be as the fork left them */
        if (--self->users == 0) release(self, false);
        return;
    }
    pthread_mutex_lock(&list_lock);
    if (--self->users == 0) release(self, true);
    pthread_mutex_unlock(&list_lock);
}

int rendezvous_open(const struct rendezvous *self)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", self->memory);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
