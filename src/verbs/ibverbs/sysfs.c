/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files under /sys and /dev that a kernel driver would show for our devices.
 *
 * Programs look at /sys/class/infiniband, /sys/class/infiniband_verbs, /sys/class/infiniband_mad,
 * /sys/class/misc/rdma_cm and /dev/infiniband beside the calls of verbs.  The functions of libc they do it with are
 * exported from here, found before libc's because the library is preloaded.  A path below one of these folders is
 * looked up in a small tree of our own (sysfs_tree.c); every other path goes on untouched.  A device file is
 * /dev/null: a character device that opens and does nothing.
 *
 * Nothing here allocates or locks for a path that is not ours.
 */
/* With 64-bit offsets glibc gives open() the name open64(); here each name is its own function. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE /* its inline functions have these names */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/ibverbs/sysfs.h"

/* POSIX lets dlsym() answer functions; ISO C has no cast for it. */
#define NEXT(name) (*(void **)&real = next(#name))

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) errno = ENOSYS;
    return found;
}

/* The path to use instead; the same one where it is none of ours. */
static const char *instead(const char *path, char buffer[PATH_MAX])
{
    int saved = errno;
    const char *other;

    if (path == NULL || (strncmp(path, "/sys/class/infiniband", 21) != 0 && strncmp(path, "/dev/infiniband", 15) != 0 &&
                         strncmp(path, "/sys/class/misc/rdma_cm", 23) != 0))
        return path;
    other = sysfs_path(path, buffer);
    errno = saved;
    return other;
}

#pragma GCC visibility push(default)

static mode_t mode_of(int flags, va_list *list)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(*list, mode_t) : 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        static int (*real)(const char *, int, ...);                                                                    \
        char buffer[PATH_MAX];                                                                                         \
        va_list list;                                                                                                  \
        mode_t mode;                                                                                                   \
                                                                                                                       \
        va_start(list, flags);                                                                                         \
        mode = mode_of(flags, &list);                                                                                  \
        va_end(list);                                                                                                  \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(instead(path, buffer), flags, mode);                                           \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int fd, const char *path, int flags, ...)                                                                 \
    {                                                                                                                  \
        static int (*real)(int, const char *, int, ...);                                                               \
        char buffer[PATH_MAX];                                                                                         \
        va_list list;                                                                                                  \
        mode_t mode;                                                                                                   \
                                                                                                                       \
        va_start(list, flags);                                                                                         \
        mode = mode_of(flags, &list);                                                                                  \
        va_end(list);                                                                                                  \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(fd, instead(path, buffer), flags, mode);                                       \
    }
OPENAT(openat)
OPENAT(openat64)

/* What a program built with _FORTIFY_SOURCE calls when its flags are a variable. */
#define OPEN_2(name)                                                                                                   \
    int name(const char *path, int flags);                                                                             \
    int name(const char *path, int flags)                                                                              \
    {                                                                                                                  \
        static int (*real)(const char *, int);                                                                         \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(instead(path, buffer), flags);                                                 \
    }
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                                                                 \
    int name(int fd, const char *path, int flags);                                                                     \
    int name(int fd, const char *path, int flags)                                                                      \
    {                                                                                                                  \
        static int (*real)(int, const char *, int);                                                                    \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(fd, instead(path, buffer), flags);                                             \
    }
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define FOPEN(name)                                                                                                    \
    FILE *name(const char *path, const char *mode)                                                                     \
    {                                                                                                                  \
        static FILE *(*real)(const char *, const char *);                                                              \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? NULL : real(instead(path, buffer), mode);                                                \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define STAT(name, type)                                                                                               \
    int name(const char *path, struct type *ret)                                                                       \
    {                                                                                                                  \
        static int (*real)(const char *, struct type *);                                                               \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(instead(path, buffer), ret);                                                   \
    }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

/* What stat() was before glibc 2.33. */
#define XSTAT(name, type)                                                                                              \
    int name(int version, const char *path, struct type *ret);                                                         \
    int name(int version, const char *path, struct type *ret)                                                          \
    {                                                                                                                  \
        static int (*real)(int, const char *, struct type *);                                                          \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(version, instead(path, buffer), ret);                                          \
    }
XSTAT(__xstat, stat)
XSTAT(__lxstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat64, stat64)

#define XSTATAT(name, type)                                                                                            \
    int name(int version, int fd, const char *path, struct type *ret, int flags);                                      \
    int name(int version, int fd, const char *path, struct type *ret, int flags)                                       \
    {                                                                                                                  \
        static int (*real)(int, int, const char *, struct type *, int);                                                \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(version, fd, instead(path, buffer), ret, flags);                               \
    }
XSTATAT(__fxstatat, stat)
XSTATAT(__fxstatat64, stat64)

#define STATAT(name, type)                                                                                             \
    int name(int fd, const char *restrict path, struct type *restrict ret, int flags)                                  \
    {                                                                                                                  \
        static int (*real)(int, const char *, struct type *, int);                                                     \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(fd, instead(path, buffer), ret, flags);                                        \
    }
STATAT(fstatat, stat)
STATAT(fstatat64, stat64)

int statx(int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict ret)
{
    static int (*real)(int, const char *, int, unsigned, struct statx *);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(statx);
    return real == NULL ? -1 : real(fd, instead(path, buffer), flags, mask, ret);
}

#define ACCESS(name)                                                                                                   \
    int name(const char *path, int mode)                                                                               \
    {                                                                                                                  \
        static int (*real)(const char *, int);                                                                         \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(instead(path, buffer), mode);                                                  \
    }
ACCESS(access)
ACCESS(eaccess)
ACCESS(euidaccess)

int faccessat(int fd, const char *path, int mode, int flags)
{
    static int (*real)(int, const char *, int, int);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(faccessat);
    return real == NULL ? -1 : real(fd, instead(path, buffer), mode, flags);
}

ssize_t readlink(const char *restrict path, char *restrict ret, size_t bytes)
{
    static ssize_t (*real)(const char *, char *, size_t);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(readlink);
    return real == NULL ? -1 : real(instead(path, buffer), ret, bytes);
}

ssize_t readlinkat(int fd, const char *restrict path, char *restrict ret, size_t bytes)
{
    static ssize_t (*real)(int, const char *, char *, size_t);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(readlinkat);
    return real == NULL ? -1 : real(fd, instead(path, buffer), ret, bytes);
}

ssize_t __readlink_chk(const char *restrict path, char *restrict ret, size_t bytes, size_t room);
ssize_t __readlink_chk(const char *restrict path, char *restrict ret, size_t bytes, size_t room)
{
    static ssize_t (*real)(const char *, char *, size_t, size_t);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(__readlink_chk);
    return real == NULL ? -1 : real(instead(path, buffer), ret, bytes, room);
}

char *realpath(const char *restrict path, char *restrict ret)
{
    static char *(*real)(const char *, char *);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(realpath);
    return real == NULL ? NULL : real(instead(path, buffer), ret);
}

/* What a program built with _FORTIFY_SOURCE calls. */
char *__realpath_chk(const char *path, char *ret, size_t bytes);
char *__realpath_chk(const char *path, char *ret, size_t bytes)
{
    static char *(*real)(const char *, char *, size_t);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(__realpath_chk);
    return real == NULL ? NULL : real(instead(path, buffer), ret, bytes);
}

DIR *opendir(const char *path)
{
    static DIR *(*real)(const char *);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(opendir);
    return real == NULL ? NULL : real(instead(path, buffer));
}

/* What `ls -l` asks of each file. */
#define GETXATTR(function)                                                                                             \
    ssize_t function(const char *path, const char *name, void *value, size_t bytes);                                   \
    ssize_t function(const char *path, const char *name, void *value, size_t bytes)                                    \
    {                                                                                                                  \
        static ssize_t (*real)(const char *, const char *, void *, size_t);                                            \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(function);                                                                              \
        return real == NULL ? -1 : real(instead(path, buffer), name, value, bytes);                                    \
    }
GETXATTR(getxattr)
GETXATTR(lgetxattr)

int chdir(const char *path)
{
    static int (*real)(const char *);
    char buffer[PATH_MAX];

    if (real == NULL) NEXT(chdir);
    return real == NULL ? -1 : real(instead(path, buffer));
}

#define SCANDIR(name, type)                                                                                            \
    int name(const char *restrict path, struct type ***restrict ret, int (*filter)(const struct type *),               \
             int (*compare)(const struct type **, const struct type **))                                               \
    {                                                                                                                  \
        static __typeof__(&name) real;                                                                                 \
        char buffer[PATH_MAX];                                                                                         \
                                                                                                                       \
        if (real == NULL) NEXT(name);                                                                                  \
        return real == NULL ? -1 : real(instead(path, buffer), ret, filter, compare);                                  \
    }
SCANDIR(scandir, dirent)
SCANDIR(scandir64, dirent64)

/* Declared in rdma-core's driver.h, which is not installed; programs of old import them. */
const char *ibv_get_sysfs_path(void);
const char *ibv_get_sysfs_path(void)
{
    return "/sys";
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    char path[PATH_MAX];
    ssize_t got;
    int fd;

    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path) return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    got = read(fd, buf, size);
    close(fd);
    if (got <= 0) return -1;
    if (buf[got - 1] == '\n')
        buf[--got] = 0;
    else if ((size_t)got < size)
        buf[got] = 0;
    else
        return -1;
    return (int)got;
}

#pragma GCC visibility pop
