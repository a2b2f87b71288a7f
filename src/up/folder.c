/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where fabrics that are up have their sockets: a folder of the user's that nobody else can look into.
 *
 * $XDG_RUNTIME_DIR/rocelab, or /tmp/rocelab-UID where there is no such thing.  The second lies where everybody may make
 * folders, so it is used only if it is ours and closed to others.
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

#include "up/up.h"

#define SUFFIX ".fabric"

static void folder_name(char ret[UP_PATH])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (runtime && runtime[0] == '/' && strlen(runtime) < UP_PATH - 64)
        snprintf(ret, UP_PATH, "%s/rocelab", runtime);
    else
        snprintf(ret, UP_PATH, "/tmp/rocelab-%u", (unsigned)geteuid());
}

/* Ours, and nobody else may do anything in it. */
static int folder_check(const char *folder)
{
    struct stat is;

    if (lstat(folder, &is) != 0) return -errno;
    if (!S_ISDIR(is.st_mode)) return -ENOTDIR;
    return is.st_uid == geteuid() && (is.st_mode & 077) == 0 ? 0 : -EPERM;
}

int up_folder_make(void)
{
    char folder[UP_PATH];

    folder_name(folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return -errno;
    return folder_check(folder);
}

int up_path(const char *name, char ret[UP_PATH])
{
    char folder[UP_PATH];

    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) return -EINVAL;
    folder_name(folder);
    return snprintf(ret, UP_PATH, "%s/%s" SUFFIX, folder, name) >= UP_PATH ? -ENAMETOOLONG : 0;
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

/* Those that are up; ret: the first.  clean: sockets that nobody listens at are removed. */
static unsigned look_through(bool clean, char ret[UP_PATH])
{
    char folder[UP_PATH], path[2 * UP_PATH + 256];
    unsigned found = 0;
    struct dirent *entry;

    folder_name(folder);
    DIR *all = folder_check(folder) == 0 ? opendir(folder) : NULL;
    while (all && (entry = readdir(all)) != NULL) {
        size_t length = strlen(entry->d_name), suffix = sizeof SUFFIX - 1;
        if (length <= suffix || strcmp(entry->d_name + length - suffix, SUFFIX) != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= UP_PATH) continue;
        if (is_up(path)) {
            if (found++ == 0) memcpy(ret, path, strlen(path) + 1);
        } else if (clean) {
            unlink(path);
        }
    }
    if (all) closedir(all);
    return found;
}

static int find_only(char ret[UP_PATH])
{
    unsigned found = look_through(false, ret);

    return found == 0 ? -ENOENT : found > 1 ? -EEXIST : 0;
}

void up_folder_clean(void)
{
    char first[UP_PATH];

    look_through(true, first);
}

int up_find(const char *name, char ret[UP_PATH])
{
    if (name == NULL) return find_only(ret);
    if (strchr(name, '/') != NULL) return snprintf(ret, UP_PATH, "%s", name) >= UP_PATH ? -ENAMETOOLONG : 0;
    int error = up_path(name, ret);
    if (error) return error;
    return is_up(ret) ? 0 : -ENOENT;
}
