/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program: runs its main() again and again, and in each run one allocation fails.
 *
 * The process stands just before main() and forks a child for each run, so that loading the program is paid once: a
 * trial costs what the program itself does.  Allocations are counted from main() on, by this process and by all that it
 * forks, in one counter: malloc and its family (of the C library's own strdup, getline, opendir, fopen too, and of
 * every other library) and mmap.  The K-th of them answers that there is no memory, once.
 *
 *   FAILING_TRIALS=K,K,...    which ones; a line of JSON for each on FAILING_FD.  0: none fails
 *   FAILING_OUT=DIR           what a run leaves there belongs to its answer; it is emptied before each
 *
 * A line has the exit status (or -signal; "hangs"), how many allocations there were, hashes of the answer (standard
 * output and DIR) and of standard error, the end of standard error, and the return addresses at the failure.
 * The clock stands still: what a run took is in some answers.  Linux and glibc.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 24
#define SAID 600           /* bytes of standard error that are handed out */
#define PATIENCE_MS 120000 /* bounds what hangs, and is no measure */

struct shared {
    _Atomic uint64_t count, fail_at;
    int frames;
    void *frame[FRAMES];
};
static struct shared *shared; /* NULL: nothing is counted yet */
static int (*real_main)(int, char **, char **);

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* Whether this allocation is the one that fails; errno is set then. */
static bool fails(void)
{
    struct shared *of = shared;
    if (!of || atomic_fetch_add(&of->count, 1) + 1 != atomic_load(&of->fail_at)) return false;
    shared = NULL; /* backtrace() may allocate */
    of->frames = backtrace(of->frame, FRAMES);
    shared = of;
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : __libc_memalign(align, size);
}

EXPORT int posix_memalign(void **ret, size_t align, size_t size)
{
    void *at = aligned_alloc(align, size);
    if (at) *ret = at;
    return at ? 0 : ENOMEM;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

/* The same moment for ever: answers that say how long they took are equal. */
EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
    static bool moves, asked;
    if (!asked) moves = getenv("FAILING_CLOCK") != NULL;
    asked = true;
    if (moves) return (int)syscall(SYS_clock_gettime, clock, ret);
    *ret = (struct timespec){1800000000, 0};
    return 0;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_fd(uint64_t hash, int fd)
{
    char buf[1 << 14];
    ssize_t got;

    for (off_t at = 0; (got = pread(fd, buf, sizeof buf, at)) > 0; at += got)
        hash = hash_bytes(hash, buf, (size_t)got);
    return hash;
}

static uint64_t tree_hash;

static int hash_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)where;
    uint64_t hash = hash_bytes(0xcbf29ce484222325u, path, strlen(path) + 1);
    int fd = kind == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) hash = hash_fd(hash, fd), close(fd);
    tree_hash += hash; /* in whatever order they come */
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind;
    return where->level && remove(path) ? 1 : 0;
}

/* The exit status, -signal, or "hangs". */
static int await(pid_t child)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0), status = 0;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    bool hangs = poll(&end, 1, PATIENCE_MS) != 1;

    if (!hangs) waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT);
    kill(-child, SIGKILL); /* and what it left behind */
    waitpid(child, &status, 0);
    close(fd);
    if (hangs) return -1000;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void write_text(FILE *to, const char *text, size_t length)
{
    fputc('"', to);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '"' || text[i] == '\\' || text[i] < ' ')
            fprintf(to, "\\u%04x", (unsigned char)text[i]);
        else if (text[i] & 0x80)
            fputc('?', to);
        else
            fputc(text[i], to);
    fputc('"', to);
}

static void report(const struct shared *of, FILE *to, uint64_t at, int status, int out, int err, const char *left)
{
    uint64_t answer = hash_fd(0xcbf29ce484222325u, out);
    char said[SAID];
    off_t end = lseek(err, 0, SEEK_END);
    ssize_t length = pread(err, said, sizeof said, end > SAID ? end - SAID : 0);

    tree_hash = 0;
    if (left) nftw(left, hash_entry, 8, FTW_PHYS);
    fprintf(to,
            "{\"at\": %lu, \"count\": %lu, \"status\": %d, \"answer\": \"%lx-%lx\", \"stderr\": \"%lx\", \"said\": ",
            at, atomic_load(&of->count), status, answer, tree_hash, hash_fd(0xcbf29ce484222325u, err));
    write_text(to, said, length > 0 ? (size_t)length : 0);
    fputs(", \"frames\": [", to);
    for (int i = 2; i < of->frames; i++) {
        Dl_info info = {0};
        dladdr(of->frame[i], &info);
        fprintf(to, "%s[\"%s\", %lu, \"%s\"]", i > 2 ? ", " : "", info.dli_fname ? info.dli_fname : "",
                (uintptr_t)of->frame[i] - (uintptr_t)info.dli_fbase, info.dli_sname ? info.dli_sname : "");
    }
    fputs("]}\n", to);
    fflush(to);
}

/* A file as standard output or error, opened anew: the offset is its own, and each write goes to the end. */
static void into(int file, int as)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd < 0 || dup2(fd, as) < 0) _exit(99);
}

/* Answers in each child, which goes on into the program; never here. */
static void serve(char *trials)
{
    int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    const char *left = getenv("FAILING_OUT"), *fd = getenv("FAILING_FD");
    FILE *to = fdopen(fd ? (int)strtoul(fd, NULL, 10) : 3, "w");
    void *warm[FRAMES];

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct shared *page = shared;
    shared = NULL;
    if (page == MAP_FAILED || out < 0 || err < 0 || !to) _exit(99);
    fcntl(fileno(to), F_SETFD, FD_CLOEXEC);
    backtrace(warm, FRAMES); /* loads what it needs */
    unsetenv("LD_PRELOAD");  /* programs that ours starts are not in it */
    for (char *next = trials; *next; next += *next == ',') {
        uint64_t at = strtoul(next, &next, 10);
        if (left) nftw(left, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        if (ftruncate(out, 0) || ftruncate(err, 0)) _exit(99);
        atomic_store(&page->count, 0);
        atomic_store(&page->fail_at, at);
        page->frames = 0;
        pid_t child = fork();
        if (child == 0) {
            setpgid(0, 0);
            into(out, STDOUT_FILENO);
            into(err, STDERR_FILENO);
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            closefrom(3);
            shared = page;
            return;
        }
        setpgid(child, child);
        int status = child < 0 ? -2000 : await(child);
        report(page, to, at, status, out, err, left);
    }
    _exit(0);
}

static int main_again(int argc, char **argv, char **env)
{
    serve(getenv("FAILING_TRIALS"));
    return real_main(argc, argv, env);
}

int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);
EXPORT int __libc_start_main(int (*main_of)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main_of;
    return next(getenv("FAILING_TRIALS") ? main_again : main_of, argc, argv, init, fini, rtld_fini, stack_end);
}
