/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drafts; see draft.h.
 *
 * The name of a draft is a secret of the process (64 random bits, O_EXCL): nobody puts a link or a file there before.
 * A link in a folder of everybody's is followed only if it belongs to the caller or to the folder's owner, as the
 * kernel's protected_symlinks has it, which does not see a name that is read and put together here.
 */
#include "base/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/reads.h"

#define LINKS_MOST 40 /* as the kernel */
#define NAME_KEPT 200 /* of a name in its draft's: the rest is room for what makes it unique */
#define NAMES_TRIED 16
#define PROC 0x9fa0 /* of statfs() */
#define BUFFER_BYTES (64 * 1024)
#define MODE_BITS 0777
#define ACL "system.posix_acl_access"
#define ACL_BYTES 4096 /* 511 entries: more than a page of ext4 holds */

enum kind {
    DIRECT, /* a pipe, a device, or what was shown: no draft */
    FRESH,  /* a file in the folder, to be renamed to a name that nobody has */
    BESIDE, /* the same, in place of an old one */
    OVER,   /* such a file, whose bytes are written over the old one's: who may use that could not be kept */
    MEMORY, /* the folder takes no file */
};

struct draft {
    enum kind kind;
    int fd;
    int error; /* 0, or -errno of the first that could not be written */
    FILE *stream;
    struct leftover *leftover;
    char path[PATH_MAX], beside[PATH_MAX];
};

/* --- what goes if the process ends --- */

/* Nodes stay for ever: a handler may be walking over them. */
struct leftover {
    struct leftover *next;
    char *path; /* NULL: free for the next */
    pid_t pid;  /* a child's copy is its parent's to remove */
    bool folder;
};

static struct leftover *leftovers; /* the newest first: a folder comes after what was made in it */
static size_t unused;              /* files among them that are free */

static struct leftover *node_for(bool folder)
{
    struct leftover *one = !folder && unused ? leftovers : NULL;

    while (one && (one->path || one->folder))
        one = one->next;
    if (one) {
        unused--;
        return one;
    }
    one = calloc(1, sizeof *one);
    if (!one) return NULL;
    one->folder = folder;
    one->next = leftovers;
    __atomic_store_n(&leftovers, one, __ATOMIC_RELEASE);
    return one;
}

static struct leftover *leftover_add(const char *path, bool folder)
{
    char *copy = strdup(path);
    struct leftover *one = copy ? node_for(folder) : NULL;

    if (!one) {
        free(copy);
        return NULL;
    }
    one->pid = getpid();
    __atomic_store_n(&one->path, copy, __ATOMIC_RELEASE);
    return one;
}

static void leftover_settled(struct leftover *one)
{
    if (!one) return;
    char *path = one->path;

    __atomic_store_n(&one->path, NULL, __ATOMIC_RELEASE);
    unused += !one->folder;
    free(path);
}

/* Of a handler, too. */
static void leftover_remove(const struct leftover *one, bool folders)
{
    const char *path = __atomic_load_n(&one->path, __ATOMIC_ACQUIRE);

    if (path == NULL || one->folder != folders) return;
    if (folders)
        rmdir(path);
    else
        unlink(path);
}

void draft_drop_all(void)
{
    pid_t own = getpid();

    for (int folders = 0; folders < 2; folders++)
        for (struct leftover *one = __atomic_load_n(&leftovers, __ATOMIC_ACQUIRE); one; one = one->next)
            if (one->pid == own) leftover_remove(one, folders != 0);
}

static bool is_below(const struct leftover *one, const char *root)
{
    size_t length = strlen(root);

    return one->path && strncmp(one->path, root, length) == 0 &&
           (one->path[length] == '\0' || one->path[length] == '/');
}

bool draft_tree_add(const char *path, bool is_folder)
{
    return leftover_add(path, is_folder) != NULL;
}

void draft_tree_keep(const char *root)
{
    for (struct leftover *one = leftovers; one; one = one->next)
        if (is_below(one, root)) leftover_settled(one);
}

void draft_tree_drop(const char *root)
{
    for (int folders = 0; folders < 2; folders++)
        for (struct leftover *one = leftovers; one; one = one->next)
            if (is_below(one, root)) leftover_remove(one, folders != 0);
    draft_tree_keep(root);
}

void draft_ended_by(int number)
{
    draft_drop_all();
    signal(number, SIG_DFL);
    raise(number); /* taken when the handler returns */
}

void draft_watch_end(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGXCPU};
    struct sigaction end = {.sa_handler = draft_ended_by}, before;

    sigemptyset(&end.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue; /* nohup, a shell's & */
        sigaction(ending[i], &end, NULL);
    }
    atexit(draft_drop_all);
}

/* --- where a name leads --- */

static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    if (slash)
        snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    else
        snprintf(folder, PATH_MAX, ".");
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool may_follow(const char *folder, const struct stat *link)
{
    struct stat about;

    if (stat(folder, &about) != 0) return false;
    if (!(about.st_mode & S_ISVTX) || !(about.st_mode & S_IWOTH)) return true;
    return link->st_uid == geteuid() || link->st_uid == about.st_uid;
}

/* Replaces the link by where it leads. */
static int follow(char path[PATH_MAX], const char *folder)
{
    char to[PATH_MAX], joined[2 * PATH_MAX];
    ssize_t length = readlink(path, to, sizeof to - 1);

    if (length < 0) return -errno;
    to[length] = '\0';
    if (to[0] == '/')
        snprintf(joined, sizeof joined, "%s", to);
    else
        snprintf(joined, sizeof joined, "%s/%s", folder, to);
    if (strlen(joined) >= PATH_MAX) return -ENAMETOOLONG;
    memcpy(path, joined, strlen(joined) + 1);
    return 0;
}

/* 0: `path` is no link, *ret_about is of it (st_mode 0: there is none); 1: a descriptor, or the like, of /proc. */
static int settle_path(char path[PATH_MAX], struct stat *ret_about)
{
    char folder[PATH_MAX];
    struct statfs system;

    for (int links = 0; links < LINKS_MOST; links++) {
        if (lstat(path, ret_about) != 0) {
            *ret_about = (struct stat){0};
            if (errno != ENOENT) return -errno;
            return *name_in(path) ? 0 : -EISDIR;
        }
        if (!S_ISLNK(ret_about->st_mode)) return 0;
        folder_of(path, folder);
        if (statfs(folder, &system) == 0 && system.f_type == PROC) return 1;
        if (!may_follow(folder, ret_about)) return -EACCES;
        int error = follow(path, folder);
        if (error) return error;
    }
    return -ELOOP;
}

/* A descriptor of our own as it is: opened again, a file would be written from its beginning.  A file behind another
 * process's descriptor is: nothing of what was in it may stay behind what is written. */
static int open_direct(const char *path)
{
    struct stat folder, own, file;
    char at[PATH_MAX], *end;
    long number = strtol(name_in(path), &end, 10);

    folder_of(path, at);
    bool descriptor = end != name_in(path) && *end == '\0' && number >= 0 && number <= INT_MAX &&
                      stat(at, &folder) == 0 && stat("/proc/self/fd", &own) == 0 && folder.st_dev == own.st_dev &&
                      folder.st_ino == own.st_ino;
    int fd = descriptor ? fcntl((int)number, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return fd < 0 ? -errno : fd;
    int error = reads_find(&file) ? -ENOTUNIQ : descriptor || ftruncate(fd, 0) == 0 ? 0 : -errno;
    if (error == 0) return fd;
    close(fd);
    return error;
}

/* --- a draft's beginning --- */

static int make_beside(struct draft *draft, mode_t mode)
{
    const char *name = name_in(draft->path);
    uint64_t random;
    int error = -EEXIST;

    for (int i = 0; i < NAMES_TRIED && error == -EEXIST; i++) {
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) return -EIO;
        int length = snprintf(draft->beside, sizeof draft->beside, "%.*s.%.*s.%016llx", (int)(name - draft->path),
                              draft->path, NAME_KEPT, name, (unsigned long long)random);
        if (length >= (int)sizeof draft->beside) return -ENAMETOOLONG;
        draft->leftover = leftover_add(draft->beside, false);
        if (!draft->leftover) return -ENOMEM;
        draft->fd = open(draft->beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        error = draft->fd < 0 ? -errno : 0;
        if (error) leftover_settled(draft->leftover);
    }
    return error;
}

/* The group's bits of a file with a list are the most that the list gives: as its mode alone, they would give that to
 * the group.  A list that comes from the folder, and that the old file does not have, goes. */
static bool keep_list(int fd, int place)
{
    char list[ACL_BYTES];
    ssize_t bytes = fgetxattr(place, ACL, list, sizeof list);

    if (bytes >= 0) return fsetxattr(fd, ACL, list, (size_t)bytes, 0) == 0;
    if (errno != ENODATA && errno != EOPNOTSUPP) return false;
    return fremovexattr(fd, ACL) == 0 || errno == ENODATA || errno == EOPNOTSUPP;
}

/* Who may use the file at `place`, which `old` is of. */
static bool keep_rights(int fd, int place, const struct stat *old)
{
    struct stat own;

    if (fstat(fd, &own) != 0) return false;
    if ((own.st_uid != old->st_uid || own.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid) != 0)
        return false;
    return keep_list(fd, place) && fchmod(fd, old->st_mode & MODE_BITS) == 0;
}

/* Of a file that is there.  O_CREAT: in a folder of everybody's the kernel then refuses what somebody laid out. */
static int replace(struct draft *draft, const struct stat *old)
{
    int place = open(draft->path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (place < 0) return -errno;
    int error = reads_find(old) ? -ENOTUNIQ : make_beside(draft, 0600);
    if (error == 0) draft->kind = keep_rights(draft->fd, place, old) ? BESIDE : OVER;
    close(place);
    if (error == 0) return 0;
    if (error != -EACCES && error != -EPERM && error != -EROFS) return error;
    draft->kind = MEMORY;
    draft->fd = memfd_create("draft", MFD_CLOEXEC);
    return draft->fd < 0 ? -errno : 0;
}

static int begin(struct draft *draft)
{
    struct stat old;
    int way = settle_path(draft->path, &old);

    if (way < 0) return way;
    if (S_ISDIR(old.st_mode)) return -EISDIR;
    if (way > 0 || (old.st_mode && !S_ISREG(old.st_mode))) {
        draft->fd = open_direct(draft->path);
        return draft->fd < 0 ? draft->fd : 0;
    }
    if (old.st_mode) return replace(draft, &old);
    draft->kind = FRESH;
    return make_beside(draft, 0666);
}

int draft_open(const char *path, struct draft **ret)
{
    struct draft *draft = strlen(path) < PATH_MAX ? calloc(1, sizeof *draft) : NULL;

    if (!draft) return strlen(path) < PATH_MAX ? -ENOMEM : -ENAMETOOLONG;
    if (*path == '\0') {
        free(draft);
        return -ENOENT;
    }
    draft->fd = -1;
    memcpy(draft->path, path, strlen(path) + 1);
    int error = begin(draft);
    if (error) {
        free(draft);
        return error;
    }
    *ret = draft;
    return 0;
}

/* --- writing --- */

int draft_fd(const struct draft *draft)
{
    return draft->fd;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(fd, bytes, length);

        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return -errno;
        bytes += wrote;
        length -= (size_t)wrote;
    }
    return 0;
}

/* stdio forgets why a flush failed that came in the middle. */
static ssize_t write_stream(void *cookie, const char *bytes, size_t length)
{
    struct draft *draft = cookie;

    if (draft->error == 0) draft->error = write_all(draft->fd, bytes, length);
    return draft->error ? 0 : (ssize_t)length;
}

FILE *draft_stream(struct draft *draft)
{
    if (draft->stream == NULL) draft->stream = fopencookie(draft, "w", (cookie_io_functions_t){.write = write_stream});
    if (draft->stream) setvbuf(draft->stream, NULL, _IOFBF, BUFFER_BYTES);
    return draft->stream;
}

static int flush(struct draft *draft)
{
    if (draft->stream && fflush(draft->stream) != 0 && draft->error == 0) draft->error = -EIO;
    return draft->error;
}

/* --- its end --- */

/* Room is made first: it is what an old file that is written over is lost for. */
static int write_over(struct draft *draft, int *ret_fd)
{
    int to = open(draft->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

    if (draft->fd < 0) draft->fd = open(draft->beside, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (draft->fd < 0 || to < 0) {
        int error = -errno;
        if (to >= 0) close(to);
        return error;
    }
    off_t size = lseek(draft->fd, 0, SEEK_END), at = 0;
    int error = size < 0 ? -errno : 0;
    char part[1 << 14];

    if (size > 0 && fallocate(to, FALLOC_FL_KEEP_SIZE, 0, size) != 0 && errno != EOPNOTSUPP) error = -errno;
    while (!error && at < size) {
        ssize_t got = pread(draft->fd, part, sizeof part, at);
        if (got < 0 && errno == EINTR) continue;
        error = got < 0 ? -errno : got == 0 ? -EIO : write_all(to, part, (size_t)got);
        at += got;
    }
    if (!error && ftruncate(to, size) != 0) error = -errno;
    if (!error && ret_fd) {
        *ret_fd = to;
        return 0;
    }
    if (close(to) != 0 && !error) error = -errno;
    return error;
}

/* *ret_fd: where to go on, the draft's own or the place's; NULL: it is the end. */
static int take_place(struct draft *draft, int *ret_fd)
{
    struct stat now;

    if (stat(draft->path, &now) == 0 && reads_find(&now)) return -ENOTUNIQ; /* read since the draft was begun */
    bool beside = draft->kind == FRESH || draft->kind == BESIDE;
    if (beside && rename(draft->beside, draft->path) == 0) {
        leftover_settled(draft->leftover);
        draft->leftover = NULL;
        if (ret_fd) *ret_fd = draft->fd;
        return 0;
    }
    /* Another user has laid a file out meanwhile where there was none, and would own what is written. */
    if (draft->kind == FRESH || (beside && errno != EBUSY && errno != EPERM && errno != EACCES)) return -errno;
    return write_over(draft, ret_fd);
}

static void forget(struct draft *draft)
{
    if (draft->leftover) unlink(draft->beside);
    leftover_settled(draft->leftover);
    draft->leftover = NULL;
}

int draft_finish(struct draft *draft)
{
    int error = flush(draft);

    if (draft->stream) fclose(draft->stream);
    draft->stream = NULL;
    if (draft->fd < 0 || draft->kind == MEMORY) return error;
    /* Closing asks file systems that write late for their errors; and many drafts may be finished at once. */
    if (close(draft->fd) != 0 && !error) error = -errno;
    draft->fd = -1;
    draft->error = error;
    return error;
}

int draft_show(struct draft *draft)
{
    int fd = draft->fd, error = flush(draft);

    if (error || draft->kind == DIRECT) return error;
    error = take_place(draft, &fd);
    if (error) return error;
    forget(draft);
    if (fd != draft->fd) close(draft->fd);
    draft->fd = fd;
    draft->kind = DIRECT;
    return 0;
}

void draft_drop(struct draft *draft)
{
    if (!draft) return;
    if (draft->stream) {
        draft->error = draft->error ? draft->error : -ECANCELED; /* what is in the buffer is for nobody */
        fclose(draft->stream);
    }
    if (draft->fd >= 0) close(draft->fd);
    forget(draft);
    free(draft);
}

int draft_commit(struct draft *draft)
{
    int error = draft_finish(draft);

    if (!error && draft->kind != DIRECT) error = take_place(draft, NULL);
    draft_drop(draft);
    return error;
}
