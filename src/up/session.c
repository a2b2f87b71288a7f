/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs come and go: the socket, hello and welcome, children, new images, ends.
 *
 * Whoever connects must be of our user, and is a caller until its hello was read and somebody has use for it: the
 * coordinator for programs that begin by themselves, a host's visit for the child or the new image that it waits for.
 * Callers are shared between visits and are under a lock; a process, once made, is its host's alone.
 *
 * A process's number is that of the host and how many the host had before, so it does not depend on what happens on
 * other hosts.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "fabric/fabric.h"
#include "packet/codec.h"
#include "up/up_int.h"

#define CALLERS_MAX 1024
#define TSC_KHZ 2000000u    /* the same on every machine: programs see it in /proc/cpuinfo, too */
#define EPOCH_S 1767225600u /* the wall clock at fabric time 0: the first of January 2026 */

struct up_caller {
    struct up_watch watch;
    pid_t pid;
    bool said;
    struct attach_hello hello;
    struct up_caller *next;
};

void session_say(const struct up_host *host, const char *command, const char *format, ...)
{
    char text[700], what[400];
    va_list list;

    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    snprintf(text, sizeof text, "%s: '%.200s' %s", host->up->fabric->node[host->number].name, command, what);
    if (host->up->options.say) host->up->options.say(text);
}

static bool watch(struct up *up, struct up_watch *of)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = of};

    return epoll_ctl(up->epoll_fd, EPOLL_CTL_ADD, of->fd, &event) == 0;
}

bool session_watch(struct up *up, struct up_watch *of)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = of};

    return epoll_ctl(up->epoll_fd, EPOLL_CTL_ADD, of->fd, &event) == 0;
}

static void unwatch(struct up *up, const struct up_watch *of)
{
    if (of->fd >= 0) epoll_ctl(up->epoll_fd, EPOLL_CTL_DEL, of->fd, NULL);
}

/* --- the socket --- */

/* At this path.  It has its name when it is listened at: who finds it finds somebody. */
static int listen_at(struct up *up, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (snprintf(address.sun_path, sizeof address.sun_path, "%s~", path) >= (int)sizeof address.sun_path)
        return -ENAMETOOLONG;
    unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && chmod(address.sun_path, 0600) == 0 &&
        listen(fd, 128) == 0 && rename(address.sun_path, path) == 0) {
        up->door.fd = fd;
        return 0;
    }
    int error = -errno;
    unlink(address.sun_path);
    close(fd);
    return error;
}

/* In the first folder that is ours and has room. */
static int listen_anywhere(struct up *up)
{
    char path[UP_PATH];
    int answer = -EACCES, error;

    for (unsigned n = 0; (error = up_path_make(up->options.name, n, path)) != -ENOENT; n++) {
        if (error == -EPERM || error == -EINVAL) return error;
        if (error == 0) error = listen_at(up, path);
        if (error == 0) {
            memcpy(up->socket_path, path, sizeof path);
            return 0;
        }
        if (error != -EACCES) answer = error;
    }
    return answer;
}

int session_listen(struct up *up)
{
    char there[UP_PATH];

    up->door = (struct up_watch){UP_WATCH_DOOR, -1};
    up->socket_path[0] = '\0';
    up->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (up->epoll_fd < 0) return -errno;
    if (up_find(up->options.name, there) == 0) return -EADDRINUSE;
    up_folder_clean();
    up->questions = (struct up_watch){UP_WATCH_CONTROL, control_fd(up->control)};
    if (!watch(up, &up->questions)) return -errno;
    int error = listen_anywhere(up);
    if (error) return error;
    if (!watch(up, &up->door)) return -errno;
    return 0;
}

static void caller_drop(struct up *up, struct up_caller *caller)
{
    if (caller->watch.fd >= 0) {
        unwatch(up, &caller->watch);
        close(caller->watch.fd);
    }
    free(caller);
}

void session_close(struct up *up)
{
    if (up->socket_path[0]) unlink(up->socket_path);
    while (up->callers) {
        struct up_caller *caller = up->callers;
        up->callers = caller->next;
        caller_drop(up, caller);
    }
    if (up->door.fd >= 0) close(up->door.fd);
    if (up->epoll_fd >= 0) close(up->epoll_fd);
    up->door.fd = up->epoll_fd = -1;
}

static void accept_all(struct up *up)
{
    for (;;) {
        /* Before it is taken: without memory it waits at the door, and is looked at again. */
        struct up_caller *caller = calloc(1, sizeof *caller);
        int fd = caller != NULL ? accept4(up->door.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
        struct ucred who;
        socklen_t length = sizeof who;
        unsigned callers = 0;

        if (fd < 0) {
            free(caller);
            return;
        }
        for (const struct up_caller *at = up->callers; at; at = at->next)
            callers++;
        if (callers >= CALLERS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 ||
            who.uid != geteuid()) {
            free(caller);
            close(fd);
            continue;
        }
        caller->watch = (struct up_watch){UP_WATCH_CALLER, fd};
        caller->pid = who.pid;
        caller->next = up->callers;
        up->callers = caller;
        if (!watch(up, &caller->watch)) caller->said = true; /* then it is never heard, and dropped at the end */
    }
}

#define NO_MEMORY "the fabric has no memory for another program"

static void answer(int fd, int error, const struct up_process *process, const char *why)
{
    struct attach_welcome welcome = {.version = ATTACH_VERSION, .error = error};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec part = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    snprintf(welcome.why, sizeof welcome.why, "%s", why);
    if (process) {
        const int fds[3] = {process->segment_fd, process->adopted_fd, process->bell.fd};
        const size_t bytes = (process->bell.fd < 0 ? 2 : 3) * sizeof(int);
        welcome.process = process->number;
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(bytes);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(&control.head), fds, bytes);
    }
    sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT); /* who does not take it is seen to be dead */
}

static void hear(struct up *up, struct up_caller *caller)
{
    ssize_t got = recv(caller->watch.fd, &caller->hello, sizeof caller->hello, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    unwatch(up, &caller->watch);
    caller->said = true;
    caller->hello.host[ATTACH_NAME - 1] = '\0';
    caller->hello.command[sizeof caller->hello.command - 1] = '\0';
    if (got == (ssize_t)sizeof caller->hello && caller->hello.version == ATTACH_VERSION) return;
    if (got > 0)
        answer(caller->watch.fd, -EPROTO, NULL, "the program's library and this fabric are of different versions");
    close(caller->watch.fd);
    caller->watch.fd = -1; /* dropped when somebody looks for it */
}

static void died(struct up *up, struct up_watch *pidfd)
{
    struct up_process *process = (struct up_process *)((char *)pidfd - offsetof(struct up_process, pidfd));

    unwatch(up, pidfd);
    __atomic_store_n(&process->dead, true, __ATOMIC_RELEASE);
    __atomic_store_n(&process->host->deaths, true, __ATOMIC_RELEASE);
    __atomic_store_n(&up->deaths, true, __ATOMIC_RELEASE);
}

/* What has happened at the socket and to processes.  Under the lock. */
static void pump(struct up *up)
{
    struct epoll_event event[16];
    int count;

    do {
        count = epoll_wait(up->epoll_fd, event, 16, 0);
        for (int i = 0; i < count; i++) {
            struct up_watch *of = event[i].data.ptr;
            if (of->kind == UP_WATCH_DOOR)
                accept_all(up);
            else if (of->kind == UP_WATCH_CALLER)
                hear(up, (struct up_caller *)of);
            else if (of->kind == UP_WATCH_PROCESS)
                died(up, of);
            else if (of->kind == UP_WATCH_CONTROL)
                up->asked = true; /* answered between windows */
            else if (of->kind == UP_WATCH_SOCKETS)
                up->real.sockets = true;
        }
    } while (count == 16);
}

void session_sleep(struct up *up, int ms)
{
    struct pollfd at = {.fd = up->epoll_fd, .events = POLLIN};

    poll(&at, 1, ms);
}

void session_sleep_ns(struct up *up, uint64_t ns)
{
    struct pollfd at = {.fd = up->epoll_fd, .events = POLLIN};
    const struct timespec limit = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    ppoll(&at, 1, &limit, NULL);
}

/* --- processes --- */

uint32_t session_number(struct up_host *host)
{
    return host->joined++ * host->up->fabric->hosts + host->number;
}

void session_own(struct up_process *process)
{
    process->owned = true;
    process->head->owned = 1;
}

struct up_process *session_find(const struct up_host *host, uint32_t number)
{
    for (struct up_process *at = host->processes; at; at = at->next)
        if (at->number == number && !at->gone) return at;
    return NULL;
}

static void fill_nic(const struct up_host *host, uint32_t index, struct attach_nic *ret)
{
    const struct fabric *fabric = host->up->fabric;
    const struct fabric_endpoint *endpoint = &fabric->endpoint[fabric->first_endpoint[host->number] + index];

    snprintf(ret->name, sizeof ret->name, "rocelab%u", index);
    snprintf(ret->ifname, sizeof ret->ifname, "eth%u", index);
    for (ret->mtu = 4096; ret->mtu > 256 && ret->mtu > fabric->nic[endpoint->nic].mtu_bytes;)
        ret->mtu /= 2;
    ret->up = fabric->port[endpoint->port].up && !(host->links_down >> index & 1);
    ret->line_bps = fabric->port[endpoint->port].rate_bps;
    ret->mac[0] = 0x02;
    store_be32(ret->mac + 2, endpoint->port); /* as in captures of the simulator */
    ret->guid = (uint64_t)0x020000fffe << 24 | endpoint->port;
    ret->gids = 1;
    ret->gid[0] =
        (struct device_gid){.addr = pkt_addr_ipv4(load_be32(endpoint->address)), .net = PKT_NET_IPV4, .usable = true};
}

/* What the file says of the host's software goes before what is usual. */
static void declare_costs(struct up_process *process)
{
    const struct fabric *fabric = process->up->fabric;
    uint32_t first = fabric->first_endpoint[process->host->number];

    process->cost = process->up->cost;
    if (first == fabric->first_endpoint[process->host->number + 1]) return; /* a host without adapters */
    const struct fabric_software *software = &fabric->nic[fabric->endpoint[first].nic].software;
    if (software->post_ps) process->cost.post = software->post_ps;
    if (software->poll_ps) process->cost.poll = software->poll_ps;
    if (software->clock_ps) process->cost.clock = software->clock_ps;
    process->hop = software->hop_ps;
}

static bool fill_head(struct up_process *process)
{
    const struct up *up = process->up;
    const struct up_host *host = process->host;
    struct attach_head *head = process->head;
    uint32_t first = up->fabric->first_endpoint[host->number];

    head->version = ATTACH_VERSION;
    head->clock = up->options.real ? ATTACH_REAL : ATTACH_VIRTUAL;
    head->process = process->number;
    head->host = host->number;
    head->hosts = up->fabric->hosts;
    head->nics = up->fabric->first_endpoint[host->number + 1] - first;
    if (head->nics > ATTACH_NICS) head->nics = ATTACH_NICS;
    head->fabric_pid = getpid();
    head->owned = process->owned;
    head->spin_proof = up->options.spin_proof;
    const uint64_t seeds[2] = {up->options.sim.seed, process->number};
    head->seed = hash_bytes(HASH_BEGIN, seeds, sizeof seeds);
    head->epoch_s = EPOCH_S;
    head->tsc_khz = TSC_KHZ;
    declare_costs(process);
    head->cost = process->cost;
    snprintf(head->host_name, sizeof head->host_name, "%s", up->fabric->node[host->number].name);
    for (uint32_t i = 0; i < head->nics; i++)
        fill_nic(host, i, &head->nic[i]);
    head->posts_at = process->posts_at = segment_take(process, ATTACH_POSTS_BYTES);
    return process->posts_at != 0;
}

/* Real clock: what the program wakes us with. */
static int bell_create(struct up_process *process)
{
    if (!process->up->options.real) return 0;
    process->bell = (struct up_watch){UP_WATCH_BELL, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (process->bell.fd < 0) return -errno;
    return session_watch(process->up, &process->bell) ? 0 : -errno;
}

static void bell_release(struct up_process *process)
{
    unwatch(process->up, &process->bell); /* the program may still hold it */
    if (process->bell.fd >= 0) close(process->bell.fd);
    process->bell.fd = -1;
    process->bell_heard = 0;
}

/* The caller's socket and hello become the process's; its first thread is due. */
static bool welcome(struct up_process *process, struct up_caller *caller, ps_t clock)
{
    int error = segment_create(process);

    if (!error) error = adopt_init(process);
    if (!error) error = bell_create(process);
    if (!error && !fill_head(process)) error = -ENOMEM;
    if (!error && turn_thread(process, 0, clock) == NULL) error = -ENOMEM;
    if (error) {
        answer(caller->watch.fd, error, NULL, NO_MEMORY);
        bell_release(process);
        adopt_release(process);
        segment_release(process);
        return false;
    }
    process->socket = caller->watch.fd;
    caller->watch.fd = -1;
    answer(process->socket, 0, process, "");
    if (caller->hello.command[0]) snprintf(process->command, sizeof process->command, "%s", caller->hello.command);
    turn_wake(process->host, clock);
    return true;
}

static void objects_end(struct up_process *process, ps_t now, struct node_io *io)
{
    up_device_close_all(process, now, io);
    cm_forget(process, now, io);
    adopt_release(process);
    for (uint32_t i = 0; i < process->threads; i++) {
        free(process->thread[i]);
        process->thread[i] = NULL;
    }
    process->threads = 0;
    process->posts_head = 0;
    bell_release(process);
    segment_release(process);
    if (process->socket >= 0) close(process->socket);
    process->socket = -1;
}

static struct up_process *join(struct up_host *host, struct up_caller *caller, uint32_t number, ps_t clock)
{
    struct up *up = host->up;
    struct up_process *process = calloc(1, sizeof *process), **last = &host->processes;

    if (process == NULL) {
        answer(caller->watch.fd, -ENOMEM, NULL, NO_MEMORY);
        return NULL;
    }
    *process = (struct up_process){.up = up,
                                   .host = host,
                                   .number = number,
                                   .pid = caller->pid,
                                   .socket = -1,
                                   .segment_fd = -1,
                                   .adopted_fd = -1,
                                   .bell = {UP_WATCH_BELL, -1},
                                   .start = clock,
                                   .end = PS_NEVER,
                                   .exit = -1};
    process->pidfd = (struct up_watch){UP_WATCH_PROCESS, (int)syscall(SYS_pidfd_open, caller->pid, 0)};
    if (process->pidfd.fd < 0 || !welcome(process, caller, clock) || !watch(up, &process->pidfd)) {
        if (process->pidfd.fd >= 0) close(process->pidfd.fd);
        objects_end(process, clock, NULL); /* it may have been welcomed: it sees that we are gone */
        free(process);
        return NULL;
    }
    while (*last)
        last = &(*last)->next;
    *last = process;
    if (up->options.real) real_joined(host);
    __atomic_add_fetch(&up->alive, 1, __ATOMIC_RELAXED);
    return process;
}

/* What the program has counted: it may have written anything there, and it is only told. */
static void audit(const struct up_process *process)
{
    static const char *const help[] = {
#define X(name, text) text,
        ATTACH_COUNTER_LIST(X)
#undef X
    };
    const struct attach_counters counters = process->head->counters;
    const uint64_t value[] = {
#define X(name, text) counters.name,
        ATTACH_COUNTER_LIST(X)
#undef X
    };
    char text[400] = "nothing";
    size_t used = 0;

    for (size_t i = 0; i < sizeof value / sizeof *value && used < sizeof text; i++)
        if (value[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64 " %s", used ? ", " : "", value[i],
                                     help[i]);
    session_say(process->host, process->command, "audit: %.380s", text);
}

void session_end(struct up_process *process, ps_t now, struct node_io *io)
{
    struct up *up = process->up;

    if (process->gone) return;
    if (up->options.audit && process->head) audit(process);
    up_audit(process);
    process->gone = true;
    process->end = now;
    objects_end(process, now, io);
    stream_forget(process, now);
    unwatch(up, &process->pidfd);
    close(process->pidfd.fd);
    process->pidfd.fd = -1;
    if (process->launch) launch_end(process->launch, now);
    turn_touched(process->host, NULL, now);
    turn_debuggers(process->host, now);
    __atomic_sub_fetch(&up->alive, 1, __ATOMIC_RELAXED);
}

/* --- who was waited for --- */

static bool is_expected(const struct up_caller *caller, const struct up_expected *expected)
{
    if (!caller->said || caller->watch.fd < 0) return false;
    if (caller->hello.kind == ATTACH_OBSERVER) return false;
    if (expected->tracer) return task_is_below(caller->pid, expected->tracer);
    if (caller->pid == expected->pid) return true;
    return expected->number != UINT32_MAX && caller->hello.kind == ATTACH_CHILD &&
           caller->hello.parent == expected->number;
}

static struct up_caller *take(struct up *up, const struct up_expected *expected)
{
    struct up_caller *found = NULL;

    pthread_mutex_lock(&up->callers_lock);
    pump(up);
    for (struct up_caller **at = &up->callers; *at && found == NULL;) {
        if (!is_expected(*at, expected)) {
            at = &(*at)->next;
            continue;
        }
        found = *at;
        *at = found->next;
    }
    pthread_mutex_unlock(&up->callers_lock);
    return found;
}

static bool readable(int fd, int ms)
{
    struct pollfd at = {.fd = fd, .events = POLLIN};

    return fd >= 0 && poll(&at, 1, ms) > 0;
}

struct up_process *session_await(const struct up_expected *expected, ps_t now)
{
    struct up_host *host = expected->host;
    struct up *up = host->up;
    uint64_t begun = turn_real_ns();
    bool told = false;

    for (;;) {
        bool dead = readable(expected->pidfd, 0);
        struct up_caller *caller = take(up, expected);
        if (caller) {
            uint32_t number = expected->number != UINT32_MAX ? expected->number : session_number(host);
            ps_t clock = expected->child && caller->hello.now_ps > now ? caller->hello.now_ps : now;
            struct up_process *process = join(host, caller, number, clock);
            if (process) process->child = expected->child;
            caller_drop(up, caller);
            return process;
        }
        if (dead || up_stopped(up)) return NULL;
        struct pollfd at[2] = {{.fd = up->epoll_fd, .events = POLLIN}, {.fd = expected->pidfd, .events = POLLIN}};
        poll(at, 2, 20);
        uint64_t waited = turn_real_ns() - begun;
        if (expected->limit_ms >= 0 && waited > (uint64_t)expected->limit_ms * 1000000u) return NULL;
        if (told || up->options.turn_limit_s == 0 || waited < up->options.turn_limit_s * 1000000000ull) continue;
        told = true;
        if (expected->tracer)
            session_say(host, expected->what,
                        "(pid %d) is a debugger without a program: fabric time stands still until it runs one, or ends",
                        expected->tracer);
        else
            session_say(
                host, expected->what,
                "runs, and has not attached to the fabric: fabric time stands still until it ends. Is it linked "
                "statically, or does it clear LD_PRELOAD?");
    }
}

bool session_replaced(struct up_process *process, ps_t clock, ps_t now, struct node_io *io)
{
    const struct up_expected expected = {.host = process->host, .number = UINT32_MAX, .pid = process->pid, .pidfd = -1};
    struct up_caller *caller = take(process->up, &expected);

    if (caller == NULL) return false;
    objects_end(process, now, io);
    if (!welcome(process, caller, clock > now ? clock : now)) {
        session_say(process->host, process->command, "could not attach again after exec()");
        session_end(process, now, io);
    }
    caller_drop(process->up, caller);
    return true;
}

/* --- who comes by itself --- */

static bool known_pid(struct up *up, pid_t pid, ps_t now)
{
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        for (const struct up_process *at = up->host[i].processes; at; at = at->next) {
            if (at->pid != pid || at->gone) continue;
            up->host[i].images = true;
            if (up->options.real) turn_wake(&up->host[i], now);
            return true;
        }
    return false;
}

/* Real clock: nobody waits for a child.  Its number is the one that its parent was given. */
static bool admit_child(struct up_host *host, struct up_caller *caller, ps_t now)
{
    uint32_t number = caller->hello.parent, hosts = host->up->fabric->hosts;

    if (!host->up->options.real || caller->hello.kind != ATTACH_CHILD || number % hosts != host->number ||
        number / hosts >= host->joined || session_find(host, number))
        return false;
    struct up_process *process = join(host, caller, number, now);
    if (process) process->child = true;
    return true;
}

static void admit(struct up *up, struct up_caller *caller, ps_t now)
{
    uint32_t node = fabric_find_node(up->fabric, caller->hello.host);
    char why[160];

    if (node == FABRIC_NONE || node >= up->fabric->hosts) {
        snprintf(why, sizeof why, "fabric '%.60s' has no host '%.60s'", up->options.name, caller->hello.host);
        answer(caller->watch.fd, -ENOENT, NULL, why);
        return;
    }
    struct up_host *host = &up->host[node];
    if (host->port) {
        snprintf(why, sizeof why, "'%.60s' is behind an interface (--port), and no host for programs",
                 caller->hello.host);
        answer(caller->watch.fd, -EOPNOTSUPP, NULL, why);
        return;
    }
    if (admit_child(host, caller, now)) return;
    struct up_process *process = join(host, caller, session_number(host), now);
    if (process == NULL) return;
    launch_joined(process);
    process->late = up->begun && process->launch == NULL;
    up->programs++;
}

static void observe(struct up *up, struct up_caller *caller)
{
    answer(caller->watch.fd, 0, NULL, "");
    control_take(up->control, caller->watch.fd);
    caller->watch.fd = -1;
}

void session_accept(struct up *up, ps_t now)
{
    pthread_mutex_lock(&up->callers_lock);
    pump(up);
    for (struct up_caller **at = &up->callers; *at;) {
        struct up_caller *caller = *at;
        if (!caller->said ||
            (caller->watch.fd >= 0 && known_pid(up, caller->pid, now))) { /* a new image: in its visit */
            at = &caller->next;
            continue;
        }
        *at = caller->next;
        if (caller->watch.fd >= 0 && caller->hello.kind == ATTACH_OBSERVER && up->options.answer)
            observe(up, caller);
        else if (caller->watch.fd >= 0)
            admit(up, caller, now);
        caller_drop(up, caller);
    }
    pthread_mutex_unlock(&up->callers_lock);
}

/* --- descriptors --- */

int session_take_fd(struct up_process *process)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte;
    struct iovec part = {&byte, 1};
    /* Without the padding behind it, in which the kernel would put a second. */
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t got = recvmsg(process->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int fd;

    if (got < 0) return -errno;
    if (got == 0) return -EPIPE;
    if (head == NULL || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof fd)) return -EPROTO;
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

int session_give_fd(struct up_process *process, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};

    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    return sendmsg(process->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}
