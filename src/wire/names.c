/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users of abstract sockets, as NETLINK_SOCK_DIAG lists them.
 *
 * Who connects learns the user from SO_PEERCRED, but only once it is connected; a socket whose queue its owner keeps
 * full lets nobody come so far.
 *
 * Which process it is, where that one does not answer: /proc lists the sockets with their names and each process'
 * files.
 *
 * Kernels before 5.3, and those built without unix_diag, do not tell.
 */
#include "wire/names.h"
#include "wire/system.h"

#include <dirent.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define STATE_LISTEN 10u
#define LISTENS 0x10000u /* a flag in /proc/net/unix */
#define SHOW_UID 0x40u   /* headers of older kernels have neither */
#define ATTRIBUTE_UID 7
#define ATTRIBUTES (ATTRIBUTE_UID + 1)
#define LIMIT_US 500000 /* for the kernel: ends a hang */
#define BUFFER_BYTES 16384u

struct list {
    const char *prefix;
    uint32_t count;
    bool *other;
    bool told; /* a user was named: a kernel that does not know the question leaves it out */
};

/* The number that ends an abstract name; UINT32_MAX: it is another name. */
static uint32_t number_of(const struct list *list, struct rtattr *name)
{
    char text[128], *end;
    size_t bytes = RTA_PAYLOAD(name), prefix_bytes = strlen(list->prefix);

    if (bytes < prefix_bytes + 2 || bytes > sizeof text) return UINT32_MAX;
    memcpy(text, (char *)RTA_DATA(name) + 1, bytes - 1); /* after the 0 that makes it abstract */
    text[bytes - 1] = 0;
    if (*(char *)RTA_DATA(name) != 0 || strncmp(text, list->prefix, prefix_bytes) != 0) return UINT32_MAX;
    unsigned long number = strtoul(text + prefix_bytes, &end, 10);
    return *end == 0 && number < list->count ? (uint32_t)number : UINT32_MAX;
}

static void on_socket(struct list *list, struct nlmsghdr *message)
{
    struct rtattr *attribute[ATTRIBUTES] = {NULL};
    char *body = (char *)NLMSG_DATA(message) + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
    char *end = (char *)message + message->nlmsg_len;
    uid_t uid;

    while (body + sizeof(struct rtattr) <= end) {
        struct rtattr *at = (void *)body;
        if (at->rta_len < sizeof *at || at->rta_len > (size_t)(end - body)) return;
        if (at->rta_type < ATTRIBUTES) attribute[at->rta_type] = at;
        body += RTA_ALIGN(at->rta_len);
    }
    struct rtattr *owner = attribute[ATTRIBUTE_UID];
    if (owner == NULL || RTA_PAYLOAD(owner) != sizeof uid) return;
    list->told = true;
    memcpy(&uid, RTA_DATA(owner), sizeof uid);
    uint32_t number = attribute[UNIX_DIAG_NAME] ? number_of(list, attribute[UNIX_DIAG_NAME]) : UINT32_MAX;
    if (number != UINT32_MAX) list->other[number] = uid != geteuid();
}

/* One piece of the answer.  1: more comes, 0: that was all; or -errno. */
static int on_piece(struct list *list, char *data, size_t bytes)
{
    while (bytes >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr *message = (void *)data;
        if (message->nlmsg_len < sizeof *message || message->nlmsg_len > bytes) return -EPROTO;
        if (message->nlmsg_type == NLMSG_DONE) return 0;
        if (message->nlmsg_type == NLMSG_ERROR) return -EOPNOTSUPP;
        if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY) on_socket(list, message);
        size_t step = NLMSG_ALIGN(message->nlmsg_len);
        if (step >= bytes) break;
        data += step;
        bytes -= step;
    }
    return 1;
}

static int hear(int fd, struct list *list)
{
    alignas(struct nlmsghdr) char buffer[BUFFER_BYTES];
    int rc = 1;

    while (rc > 0) {
        ssize_t got = recv(fd, buffer, sizeof buffer, MSG_TRUNC);
        if (got < 0) return -errno;
        rc = (size_t)got > sizeof buffer ? -EMSGSIZE : on_piece(list, buffer, (size_t)got);
    }
    return rc;
}

int names_of_others(const char *prefix, uint32_t count, bool *ret)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req body;
    } question = {.header = {.nlmsg_len = sizeof question,
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                  .body = {.sdiag_family = AF_UNIX,
                           .udiag_states = 1u << STATE_LISTEN,
                           .udiag_show = UDIAG_SHOW_NAME | SHOW_UID}};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval limit = {.tv_usec = LIMIT_US};
    struct list list = {prefix, count, ret, false};

    memset(ret, 0, count * sizeof *ret);
    int fd = system_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    /* connected, it hears the kernel alone */
    bool asked = connect(fd, (struct sockaddr *)&kernel, sizeof kernel) == 0 &&
                 send(fd, &question, sizeof question, MSG_NOSIGNAL) == (ssize_t)sizeof question;
    int rc = asked ? hear(fd, &list) : -errno;
    close(fd);
    return rc < 0 ? rc : list.told ? 0 : -EOPNOTSUPP;
}

/* The number of the socket that listens at a name; 0: none. */
static unsigned long socket_number(const char *name)
{
    char line[512], at[128];
    unsigned long number = 0;
    unsigned flags;
    FILE *file = fopen("/proc/thread-self/net/unix", "re");

    while (file && number == 0 && fgets(line, sizeof line, file)) {
        unsigned long inode;
        int got = sscanf(line, "%*s %*s %*s %x %*s %*s %lu @%127s", &flags, &inode, at);
        if (got == 3 && flags & LISTENS && strcmp(at, name) == 0) number = inode;
    }
    if (file) fclose(file);
    return number;
}

static bool has_file(const char *process, const char *wanted)
{
    char folder[32], link[64];
    bool found = false;

    snprintf(folder, sizeof folder, "/proc/%.10s/fd", process);
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        ssize_t length = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
        if (length > 0) link[length] = 0;
        found = length > 0 && strcmp(link, wanted) == 0;
    }
    if (dir) closedir(dir);
    return found;
}

pid_t names_holder(const char *name)
{
    char wanted[48];
    pid_t found = 0;
    unsigned long number = socket_number(name);
    DIR *dir = number ? opendir("/proc") : NULL;

    snprintf(wanted, sizeof wanted, "socket:[%lu]", number);
    for (const struct dirent *entry; dir && found == 0 && (entry = readdir(dir));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && has_file(entry->d_name, wanted))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    if (dir) closedir(dir);
    return found;
}
