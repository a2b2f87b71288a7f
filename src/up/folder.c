/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where fabrics that are up have their sockets: a folder of the user's that nobody else can look into.
 *
 * It is the folder of all that runs here (runtime/runtime.h): below $XDG_RUNTIME_DIR where that is ours, and then no
 * other, so that who sets it has fabrics of its own.  Else others may have made folders of its name first: a fabric
 * takes the first that is ours, and who looks for a fabric looks into all that are.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/utf8.h"
#include "runtime/runtime.h"
#include "up/up.h"

#define SUFFIX ".fabric"
#define NAME_ROOM 64 /* a folder whose own name leaves less for a fabric's is passed over */

/* The n-th folder, as runtime_folder() has it.  -EPERM: it is ours, but open to others. */
static int folder(unsigned n, bool create, char ret[RUNTIME_PATH])
{
    struct stat is;
    int error = runtime_folder(n, create, ret);

    if (n == 0 && strlen(ret) + NAME_ROOM > UP_PATH) ret[0] = '\0';
    if (error || ret[0] == '\0') return error ? error : -EACCES;
    if (lstat(ret, &is) != 0) return -EACCES;
    return (is.st_mode & 077) == 0 ? 0 : -EPERM;
}

static bool is_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && utf8_find_control(name, "") == NULL;
}

static int path_in(const char *at, const char *name, char ret[UP_PATH])
{
    return snprintf(ret, UP_PATH, "%s/%s" SUFFIX, at, name) >= UP_PATH ? -ENAMETOOLONG : 0;
}

int up_path_make(const char *name, unsigned n, char ret[UP_PATH])
{
    char at[RUNTIME_PATH];

    if (!is_name(name)) return -EINVAL;
    int error = folder(n, true, at);
    return error ? error : path_in(at, name, ret);
}

/* Whether somebody listens there; it may be too busy to take who calls.  A socket that nobody listens at is what a
 * killed fabric left. */
static bool is_up(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return false;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    bool answers = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
    close(fd);
    return answers;
}

static bool is_socket_name(const char *name)
{
    size_t length = strlen(name), suffix = sizeof SUFFIX - 1;

    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

void up_name(const char *path, char ret[UP_PATH])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name) - (is_socket_name(name) ? sizeof SUFFIX - 1 : 0);

    snprintf(ret, UP_PATH, "%.*s", (int)length, name);
}

static int walk(const char *at, up_visit *visit, void *context)
{
    char path[RUNTIME_PATH + 257];
    const struct dirent *entry;
    int answer = 0;

    DIR *all = opendir(at);
    while (all && answer == 0 && (entry = readdir(all)) != NULL) {
        if (!is_socket_name(entry->d_name)) continue;
        if (snprintf(path, sizeof path, "%s/%s", at, entry->d_name) >= UP_PATH) continue;
        answer = visit(context, path);
    }
    if (all) closedir(all);
    return answer;
}

/* Every socket there is, of fabrics that are up and of others. */
static int walk_all(up_visit *visit, void *context)
{
    char at[RUNTIME_PATH];
    int answer = 0, error;

    for (unsigned n = 0; answer == 0 && (error = folder(n, false, at)) != -ENOENT; n++) {
        if (error == 0) answer = walk(at, visit, context);
        if (n == 0 && at[0]) break; /* the user's own */
    }
    return answer;
}

static int clean(void *context, const char *path)
{
    (void)context;
    if (!is_up(path)) unlink(path);
    return 0;
}

void up_folder_clean(void)
{
    walk_all(clean, NULL);
}

struct living {
    up_visit *visit;
    void *context;
};

static int visit_living(void *context, const char *path)
{
    const struct living *living = context;

    return is_up(path) ? living->visit(living->context, path) : 0;
}

int up_each(up_visit *visit, void *context)
{
    struct living living = {visit, context};

    return walk_all(visit_living, &living);
}

struct wanted {
    const char *name; /* NULL: any */
    char *path;
    unsigned found;
};

static int match(void *context, const char *path)
{
    struct wanted *wanted = context;
    char name[UP_PATH];

    up_name(path, name);
    if (wanted->name && strcmp(wanted->name, name) != 0) return 0;
    if (wanted->found++ == 0) memcpy(wanted->path, path, strlen(path) + 1);
    return wanted->name != NULL; /* the first of its name */
}

int up_find(const char *name, char ret[UP_PATH])
{
    struct wanted wanted = {name, ret, 0};

    if (name && strchr(name, '/') != NULL) return snprintf(ret, UP_PATH, "%s", name) >= UP_PATH ? -ENAMETOOLONG : 0;
    if (name && !is_name(name)) return -EINVAL;
    up_each(match, &wanted);
    return wanted.found == 0 ? -ENOENT : wanted.found > 1 ? -EEXIST : 0;
}
