/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a process with the fabric, from the first constructor to the end of the process.
 *
 * What the environment names is connected to before anything else of the program runs; a program that was started in a
 * fabric and does not find it says so and ends.  A process that replaces its program tells the new one its number in
 * the environment, since the socket is closed by then.  The fabric's end of the socket is how we know that it lives.
 *
 * Descriptors of ours have numbers just below the usual limit, so that those of the program are what they would be.
 */
#include "attach/attach_int.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

/* number:clock:parent, from a program to the one that replaces it, or is spawned: a process of its own. */
#define IMAGE_VARIABLE "ROCELAB_FABRIC_PROCESS"
/* What ATTACH_ENV_HOST is called in what a debugger starts: not all of it attaches. */
#define TRACED_VARIABLE "ROCELAB_FABRIC_TRACED_HOST"
#define CHILD_MARK ":child"
#define FDS_BELOW 1024u
#define FDS_KEPT 16u

struct attached attached = {.socket = -1, .adopted_fd = -1, .bell_fd = -1};

/* What children are given: our own copies, since a program may change its environment. */
static char socket_path[PATH_LENGTH], host_name[ATTACH_NAME + 32], preload[2 * PATH_LENGTH], library_path[PATH_LENGTH];
static char command_line[256];
/* Real clock: descriptors come in the order of the requests that they belong to. */
static pthread_mutex_t descriptors = PTHREAD_MUTEX_INITIALIZER;

any_function real_find(const char *name)
{
    return __extension__(any_function) dlsym(RTLD_NEXT, name);
}

/* --- the environment --- */

static char *variable(char **environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment;
    return NULL;
}

/* The same value under another name; libc's functions do not know the environment yet. */
static void rename_variable(char **environment, const char *name, const char *to, char *room, size_t bytes)
{
    char *line = variable(environment, name);

    for (; line && *environment; environment++)
        if (*environment == line) {
            snprintf(room, bytes, "%s%s", to, line + strlen(name));
            *environment = room;
        }
}

static void forget_variable(char **environment, const char *line)
{
    for (; *environment; environment++)
        if (*environment == line)
            for (char **at = environment; (*at = at[1]); at++)
                continue;
}

static void keep_variable(char **environment, const char *name, char *ret, size_t bytes)
{
    const char *line = variable(environment, name);

    snprintf(ret, bytes, "%s", line ? line : "");
}

static void keep_command(int argc, char **argv)
{
    size_t used = 0;

    for (int i = 0; i < argc && used < sizeof command_line; i++)
        used += (size_t)snprintf(command_line + used, sizeof command_line - used, "%s%s", i ? " " : "", argv[i]);
}

void session_variables(uint32_t number, bool child, struct session_variables *ret)
{
    const char *kept[] = {preload, library_path, socket_path, host_name};
    unsigned used = 0;

    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i][0]) ret->line[used++] = kept[i];
    snprintf(ret->image, sizeof ret->image, IMAGE_VARIABLE "=%u:%llu:%d%s", number, (unsigned long long)turn_now(),
             child ? identity_pid() : identity_parent(), child ? CHILD_MARK : "");
    ret->line[used++] = ret->image;
    ret->line[used] = NULL;
}

/* --- descriptors --- */

/* The same file under a number that programs do not use. */
static int move_away(int fd)
{
    struct rlimit limit = {FDS_BELOW, FDS_BELOW};
    long to;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur > FDS_BELOW) limit.rlim_cur = FDS_BELOW;
    to = limit.rlim_cur > 4 * FDS_KEPT ? (long)(limit.rlim_cur - FDS_KEPT) : 0;
    to = RAW(SYS_fcntl, fd, F_DUPFD_CLOEXEC, to, 0, 0, 0);
    if (to < 0) return fd;
    RAW(SYS_close, fd, 0, 0, 0, 0, 0);
    return (int)to;
}

bool session_owns(int fd)
{
    return fd >= 0 && (fd == attached.socket || fd == attached.adopted_fd || fd == attached.bell_fd);
}

static ssize_t receive(void *data, size_t bytes, int *ret_fds, unsigned room)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    struct iovec part = {data, bytes};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    unsigned taken = 0;
    long got;

    do
        got = RAW(SYS_recvmsg, attached.socket, &message, MSG_CMSG_CLOEXEC, 0, 0, 0);
    while (got == -EINTR);
    if (got < 0) return got;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
        for (size_t used = CMSG_LEN(0); used + sizeof(int) <= at->cmsg_len; used += sizeof(int)) {
            int fd;

            memcpy(&fd, (uint8_t *)at + used, sizeof fd);
            if (taken < room)
                ret_fds[taken++] = fd;
            else
                RAW(SYS_close, fd, 0, 0, 0, 0, 0);
        }
    }
    while (taken < room)
        ret_fds[taken++] = -1;
    return got;
}

static long send_fds(const int *fds, unsigned count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    uint32_t said = count;
    struct iovec part = {&said, sizeof said};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
    struct cmsghdr *head;

    if (count > 4) return -EINVAL;
    memset(control, 0, sizeof control);
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    return RAW(SYS_sendmsg, attached.socket, &message, MSG_NOSIGNAL, 0, 0, 0);
}

int session_take_fd(void)
{
    uint32_t said;
    int fd = -1;
    ssize_t got = receive(&said, sizeof said, &fd, 1);

    return got < 0 ? (int)got : fd < 0 ? -EIO : fd;
}

/* --- attaching --- */

__attribute__((format(printf, 1, 2), noreturn)) static void cannot_attach(const char *format, ...)
{
    char text[512];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length > (int)sizeof text - 1) length = sizeof text - 1;
    RAW(SYS_write, 2, "rocelab: ", 9, 0, 0, 0);
    RAW(SYS_write, 2, text, length, 0, 0, 0);
    RAW(SYS_write, 2, "\n", 1, 0, 0, 0);
    RAW(SYS_exit_group, 1, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

static const char *value_of(const char *line)
{
    return strchr(line, '=') + 1;
}

static long connect_socket(void)
{
    const char *path = value_of(socket_path);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    long fd, error;

    if (strlen(path) >= sizeof name.sun_path) return -ENAMETOOLONG;
    memcpy(name.sun_path, path, strlen(path));
    fd = RAW(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0, 0, 0);
    if (fd < 0) return fd;
    do
        error = RAW(SYS_connect, fd, &name, sizeof name, 0, 0, 0);
    while (error == -EINTR);
    if (error < 0) {
        RAW(SYS_close, fd, 0, 0, 0, 0, 0);
        return error;
    }
    attached.socket = move_away((int)fd);
    return 0;
}

/* What of the segment's head cannot be; NULL: nothing.  Names and numbers in it are gone by without another look. */
static const char *head_wrong(const struct attach_head *head)
{
    if (head->clock > ATTACH_REAL) return "its clock";
    if (head->nics > ATTACH_NICS) return "its number of adapters";
    if (head->posts_at % 64 || head->posts_at < sizeof *head ||
        head->posts_at > ATTACH_SEGMENT_BYTES - ATTACH_POSTS_BYTES)
        return "where its ring of posts is";
    for (uint32_t i = 0; i < head->nics; i++) {
        const struct attach_nic *nic = &head->nic[i];
        if (nic->gids > sizeof nic->gid / sizeof nic->gid[0]) return "an adapter's number of GIDs";
        if (memchr(nic->name, 0, sizeof nic->name) == NULL || memchr(nic->ifname, 0, sizeof nic->ifname) == NULL)
            return "an adapter's name";
    }
    return NULL;
}

static void map_segment(int fd, int adopted, int bell)
{
    void *at = mmap(NULL, ATTACH_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (at == MAP_FAILED) cannot_attach("cannot map the memory shared with the fabric: %s", strerror(errno));
    RAW(SYS_close, fd, 0, 0, 0, 0, 0);
    attached.head = at;
    attached.adopted_fd = adopted < 0 ? -1 : move_away(adopted);
    attached.bell_fd = bell < 0 ? -1 : move_away(bell);
    if (attached.head->version != ATTACH_VERSION)
        cannot_attach("this library speaks version %u with a fabric, the fabric has version %u", ATTACH_VERSION,
                      attached.head->version);
    const char *wrong = head_wrong(attached.head);
    if (wrong) cannot_attach("what the fabric shares with this program makes no sense: %s", wrong);
    attached.is_virtual = attached.head->clock == ATTACH_VIRTUAL;
    rocelab_fabric_api.head = attached.head;
#if !defined(__x86_64__)
    if (attached.is_virtual)
        cannot_attach("programs follow the virtual clock on x86-64 alone; here `rocelab up --clock real` works");
#endif
}

/* Says hello, has the segment, and returns with the first turn. */
static void attach(uint32_t kind, uint32_t number, uint64_t now)
{
    struct attach_hello hello = {.version = ATTACH_VERSION, .kind = kind, .parent = number, .now_ps = now};
    struct attach_welcome welcome = {0};
    int fds[3] = {-1, -1, -1};
    long error = connect_socket();

    if (error < 0) cannot_attach("cannot reach the fabric at %s: %s", value_of(socket_path), strerror((int)-error));
    snprintf(hello.host, sizeof hello.host, "%.*s", (int)sizeof hello.host - 1, value_of(host_name));
    memcpy(hello.command, command_line, sizeof hello.command);
    error = RAW(SYS_sendto, attached.socket, &hello, sizeof hello, MSG_NOSIGNAL, NULL, 0);
    if (error < 0 || receive(&welcome, sizeof welcome, fds, 3) < (long)sizeof welcome)
        cannot_attach("the fabric at %s does not answer", value_of(socket_path));
    welcome.why[sizeof welcome.why - 1] = 0;
    if (welcome.error) cannot_attach("the fabric refuses host %s: %s", hello.host, welcome.why);
    if (fds[0] < 0) cannot_attach("the fabric at %s gave no memory", value_of(socket_path));
    map_segment(fds[0], fds[1], fds[2]);
    if (attached.head->fabric_pid > 0) prctl(PR_SET_PTRACER, (unsigned long)attached.head->fabric_pid, 0, 0, 0);
    self = NULL;
    turn_first(&attached.head->thread[0]);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    static char host_line[sizeof TRACED_VARIABLE + ATTACH_NAME];
    const char *image = variable(environment, IMAGE_VARIABLE);
    unsigned number = 0;
    unsigned long long now = 0;
    int parent = 1;
    int before = errno;
    bool child;

    keep_variable(environment, ATTACH_ENV_SOCKET, socket_path, sizeof socket_path);
    if (variable(environment, TRACED_VARIABLE) && debugger_wants_it())
        rename_variable(environment, TRACED_VARIABLE, ATTACH_ENV_HOST, host_line, sizeof host_line);
    keep_variable(environment, ATTACH_ENV_HOST, host_name, sizeof host_name);
    if (!socket_path[0] || !host_name[0]) return;
    keep_variable(environment, "LD_PRELOAD", preload, sizeof preload);
    keep_variable(environment, "LD_LIBRARY_PATH", library_path, sizeof library_path);
    keep_command(argc, argv);
    /* The first of all handlers: until then memory that was adopted is the parent's too, and others write to it. */
    pthread_atfork(NULL, NULL, adopt_forked);
    if (image && sscanf(value_of(image), "%u:%llu:%d", &number, &now, &parent) != 3) image = NULL;
    child = image && strstr(image, CHILD_MARK);
    attach(child ? ATTACH_CHILD : image ? ATTACH_IMAGE : ATTACH_PROGRAM, number, now);
    if (image) forget_variable(environment, image);
    if (attached.is_virtual && debugger_is()) {
        rename_variable(environment, ATTACH_ENV_HOST, TRACED_VARIABLE, host_line, sizeof host_line);
        debugger_leaves();
        errno = before;
        return;
    }
    if (attached.is_virtual) {
        identity_start();
        identity_set_parent(parent);
        signals_start();
        clock_start();
        tsc_start();
        threads_start();
        socket_start();
    }
    self->in_library = 0;
    errno = before;
}

int session_child(uint32_t number)
{
    uint64_t now = turn_now();
    pid_t parent = identity_pid();

    self = NULL; /* the parent's place */
    rocelab_fabric_api.head = NULL;
    adopt_forked();
    post_forked();
    socket_forked();
    descriptors = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread may have had it */
    RAW(SYS_close, attached.socket, 0, 0, 0, 0, 0);
    if (attached.adopted_fd >= 0) RAW(SYS_close, attached.adopted_fd, 0, 0, 0, 0, 0);
    if (attached.bell_fd >= 0) RAW(SYS_close, attached.bell_fd, 0, 0, 0, 0, 0);
    munmap(attached.head, ATTACH_SEGMENT_BYTES);
    attached = (struct attached){.socket = -1, .adopted_fd = -1, .bell_fd = -1};
    attach(ATTACH_CHILD, number, now);
    if (attached.is_virtual) {
        identity_start();
        identity_set_parent(parent);
        threads_forked();
        tsc_start(); /* a handler of pthread_atfork() that read it has made it real */
    }
    self->in_library = 0;
    return 0;
}

/* --- while it lasts --- */

int session_request(struct attach_request *request, const int *fds, unsigned count)
{
    struct attach_request *place = &self->request;

    if (attached.gone) return -EIO;
    memcpy(place, request, sizeof *place);
    place->result = -EIO;
    bool locks = count && !attached.is_virtual;
    if (locks) REAL(pthread_mutex_lock)(&descriptors);
    if (count == 0 || send_fds(fds, count) >= 0) turn_yield(ATTACH_REQUEST, self->now);
    if (locks) REAL(pthread_mutex_unlock)(&descriptors);
    if (attached.gone) return -EIO;
    memcpy(request, place, sizeof *place);
    return request->result;
}

void session_not_virtual(const char *what)
{
    static const char *said[32];
    struct attach_request request = {.op = ATTACH_OP_NOT_VIRTUAL};

    if (!attached.is_virtual) return;
    attached.head->counters.real_calls++;
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
        if (said[i] == what) return;
        if (said[i]) continue;
        said[i] = what;
        break;
    }
    if (!self || turn_enter() < 0) return;
    snprintf((char *)request.data, sizeof request.data, "%s", what);
    session_request(&request, NULL, 0);
    turn_leave();
}

bool session_is_gone(void)
{
    struct pollfd at = {attached.socket, 0, 0};
    struct timespec none = {0, 0};

    return RAW(SYS_ppoll, &at, 1, &none, NULL, 0, 0) > 0 && at.revents & (POLLHUP | POLLERR | POLLNVAL);
}

bool session_gone(void)
{
    /* What a script started was never meant to run by itself, or in real time. */
    if (attached.head->owned) RAW(SYS_kill, RAW(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0, 0);
    attached.is_virtual = false;
    return !__atomic_exchange_n(&attached.gone, true, __ATOMIC_ACQ_REL);
}

/* Real clock: threads wait in the kernel, for descriptors that nobody will write any more. */
static void *watch(void *unused)
{
    struct pollfd at = {attached.socket, 0, 0};

    while (RAW(SYS_ppoll, &at, 1, NULL, NULL, 0, 0) <= 0 || !(at.revents & (POLLHUP | POLLERR | POLLNVAL)))
        continue;
    if (session_gone() && rocelab_fabric_api.on_gone) rocelab_fabric_api.on_gone();
    return unused;
}

void session_watch(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;

    if (__atomic_exchange_n(&attached.watched, true, __ATOMIC_ACQ_REL)) return;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    REAL(pthread_create)(&thread, &attributes, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void session_end(void)
{
    static bool done;

    if (!attached.head || attached.gone || __atomic_exchange_n(&done, true, __ATOMIC_RELAXED)) return;
    turn_process_ends();
    attached.is_virtual = false;
}

__attribute__((destructor)) static void finish(void)
{
    session_end();
}

struct attach_api rocelab_fabric_api = {
    .version = ATTACH_API_VERSION,
    .enter = turn_enter,
    .leave = turn_leave,
    .request = session_request,
    .take_fd = session_take_fd,
    .charge = turn_charge,
    .now = turn_now,
    .post = post_room,
    .posted = post_done,
    .poll_empty = turn_poll_empty,
    .poll_found = turn_poll_found,
    .adopt = adopt_memory,
};
