/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a folder of our own: under $XDG_RUNTIME_DIR where there is one and it is ours, else in /dev/shm or /tmp.
 *
 * In the latter anybody can make a folder first.  Such a one is recognised by its owner and the next name is tried;
 * both are sticky, so what we made nobody else can move away.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES 8u /* in each of the shared folders */

static bool ours_alone(const char *path)
{
    struct stat is;
    return lstat(path, &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == geteuid() &&
           (is.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* False: there is no such candidate. */
static bool candidate(unsigned n, char ret[RUNTIME_PATH])
{
    static const char *const shared[] = {"/dev/shm", "/tmp"};
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    ret[0] = 0;
    if (n == 0) {
        if (runtime && runtime[0] == '/' && ours_alone(runtime)) {
            int length = snprintf(ret, RUNTIME_PATH, "%s/rocelab", runtime);
            if (length >= RUNTIME_PATH) ret[0] = 0;
        }
        return true;
    }
    if (n > NAMES * (sizeof shared / sizeof shared[0])) return false;
    unsigned name = (n - 1) % NAMES;
    int length = snprintf(ret, RUNTIME_PATH, "%s/rocelab-%u", shared[(n - 1) / NAMES], (unsigned)geteuid());
    if (name) snprintf(ret + length, RUNTIME_PATH - (size_t)length, ".%u", name);
    return true;
}

int runtime_folder(unsigned n, bool create, char ret[RUNTIME_PATH])
{
    if (!candidate(n, ret)) return -ENOENT;
    if (ret[0] == 0) return -EACCES;
    if (create && mkdir(ret, 0700) < 0 && errno != EEXIST) return -EACCES;
    return ours_alone(ret) ? 0 : -EACCES;
}
