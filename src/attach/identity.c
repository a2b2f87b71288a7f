/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the program is, and what it draws at random: from the seed of its process.
 *
 * Programs put process numbers, random bytes and identifiers of the machine into what they send.  They are the same in
 * every run, different in every process, and those of a machine are different on every host of the fabric: libraries
 * compare them to see whether a peer can be reached through shared memory.
 *
 * Files with such contents are copies in memory.  What an instruction draws (rdrand) cannot be replaced.
 */
#include "attach/attach_int.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysinfo.h>

#include "base/rng.h"
#include "base/time.h"

#define FIRST_PID 1000u
#define FIRST_TID 1000000u
#define RANDOM_FILE_BYTES 65536u
#define HOST_STREAM 1u /* of the generator: what belongs to a host, under its number as the seed */
#define CPUINFO_BYTES (1u << 20)

static struct rng drawn;
static pid_t parent = 1;

void identity_bytes(void *ret, size_t bytes)
{
    for (uint8_t *at = ret; bytes > 0;) {
        uint32_t word = rng_u32(&drawn);
        size_t part = bytes < sizeof word ? bytes : sizeof word;

        memcpy(at, &word, part);
        at += part;
        bytes -= part;
    }
}

/* Bytes that ld.so was given by the kernel; programs take seeds from them. */
static void replace_start_bytes(void)
{
    unsigned long at = getauxval(AT_RANDOM);

    if (at) identity_bytes((void *)at, 16);
}

static int (*next_openat(void))(int folder, const char *path, int flags, ...)
{
    return REAL(openat);
}

void identity_start(void)
{
    (void)next_openat(); /* found now: it may be needed in a handler, or between fork() and exec() */
    rng_init(&drawn, attached.head->seed, 0);
    replace_start_bytes();
}

/* --- numbers --- */

pid_t identity_pid(void)
{
    return (pid_t)(FIRST_PID + attached.head->process);
}

pid_t identity_tid(void)
{
    if (self->number == 0) return identity_pid();
    return (pid_t)(FIRST_TID + attached.head->process * ATTACH_THREADS + self->number);
}

pid_t identity_parent(void)
{
    return parent;
}

void identity_set_parent(pid_t pid)
{
    parent = pid;
}

EXPORT pid_t getpid(void)
{
    return managed() ? identity_pid() : (pid_t)RAW(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

EXPORT pid_t getppid(void)
{
    return managed() ? parent : (pid_t)RAW(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

EXPORT pid_t gettid(void)
{
    return managed() ? identity_tid() : (pid_t)RAW(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

EXPORT int sched_getcpu(void)
{
    unsigned cpu = 0;

    if (!managed()) return (int)as_libc(RAW(SYS_getcpu, &cpu, NULL, NULL, 0, 0, 0) < 0 ? -1 : (long)cpu);
    return 0;
}

EXPORT int sysinfo(struct sysinfo *ret)
{
    long result = RAW(SYS_sysinfo, ret, 0, 0, 0, 0, 0);

    if (result == 0 && managed()) {
        ret->uptime = (long)(1000 + turn_now() / PS_S);
        memset(ret->loads, 0, sizeof ret->loads);
        ret->procs = 1;
    }
    return (int)as_libc(result);
}

/* --- random bytes --- */

EXPORT ssize_t getrandom(void *ret, size_t bytes, unsigned flags)
{
    if (!managed()) return as_libc(RAW(SYS_getrandom, ret, bytes, flags, 0, 0, 0));
    identity_bytes(ret, bytes);
    return (ssize_t)bytes;
}

EXPORT int getentropy(void *ret, size_t bytes)
{
    if (bytes > 256) return (int)as_libc(-EIO);
    for (size_t done = 0; done < bytes;) {
        ssize_t got = getrandom((uint8_t *)ret + done, bytes - done, 0);

        if (got < 0 && errno != EINTR) return -1;
        if (got > 0) done += (size_t)got;
    }
    return 0;
}

extern EXPORT void arc4random_buf(void *ret, size_t bytes);
EXPORT void arc4random_buf(void *ret, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = getrandom((uint8_t *)ret + done, bytes - done, 0);

        if (got > 0) done += (size_t)got;
    }
}

extern EXPORT uint32_t arc4random(void);
EXPORT uint32_t arc4random(void)
{
    uint32_t value;

    arc4random_buf(&value, sizeof value);
    return value;
}

extern EXPORT uint32_t arc4random_uniform(uint32_t bound);
EXPORT uint32_t arc4random_uniform(uint32_t bound)
{
    uint32_t value, least = bound ? -bound % bound : 0; /* below it the last values would come too often */

    if (bound < 2) return 0;
    do
        value = arc4random();
    while (value < least);
    return value % bound;
}

/* std::random_device of libstdc++ draws by an instruction where there is one. */
uint32_t random_device_draw(void *device) __asm__("_ZNSt13random_device9_M_getvalEv") EXPORT;
uint32_t random_device_draw(void *device)
{
    (void)device;
    return arc4random();
}

/* --- files --- */

static int file_of(const void *bytes, size_t count, int flags)
{
    long fd = RAW(SYS_memfd_create, "rocelab", flags & O_CLOEXEC ? MFD_CLOEXEC : 0, 0, 0, 0, 0);

    if (fd < 0) return (int)fd;
    RAW(SYS_pwrite64, fd, bytes, count, 0, 0, 0);
    return (int)fd;
}

static int random_file(int flags)
{
    static uint8_t bytes[RANDOM_FILE_BYTES];

    identity_bytes(bytes, sizeof bytes);
    return file_of(bytes, sizeof bytes, flags);
}

static int uuid_file(const uint32_t word[4], int flags)
{
    char text[48];
    int length = snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%04x%08x\n", word[0], word[1] >> 16,
                          word[1] & 0xfffu, 0x8000u | (word[2] >> 16 & 0x3fffu), word[2] & 0xffffu, word[3]);

    return file_of(text, (size_t)length, flags);
}

static int boot_id_file(int flags)
{
    struct rng rng;
    uint32_t word[4];

    rng_init(&rng, attached.head->host, HOST_STREAM);
    for (unsigned i = 0; i < 4; i++)
        word[i] = rng_u32(&rng);
    return uuid_file(word, flags);
}

static int new_uuid_file(int flags)
{
    uint32_t word[4];

    identity_bytes(word, sizeof word);
    return uuid_file(word, flags);
}

/* The kernel's file, with the frequency of the virtual counter in each line that has one. */
static int cpuinfo_file(int flags)
{
    static char text[CPUINFO_BYTES];
    long from = RAW(SYS_openat, AT_FDCWD, "/proc/cpuinfo", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    size_t used = 0;
    long got;

    if (from < 0) return (int)from;
    while (used < sizeof text - 1 && (got = RAW(SYS_read, from, text + used, sizeof text - 1 - used, 0, 0, 0)) > 0)
        used += (size_t)got;
    RAW(SYS_close, from, 0, 0, 0, 0, 0);
    text[used] = 0;
    for (char *at = text; (at = strstr(at, "cpu MHz")) != NULL;) {
        char *value = strchr(at, ':'), *end = strchr(at, '\n'), number[24];
        size_t room, length;

        if (!value || !end || value + 2 > end) break;
        value += 2;
        room = (size_t)(end - value);
        length = (size_t)snprintf(number, sizeof number, "%llu.%03u", (unsigned long long)attached.head->tsc_khz / 1000,
                                  (unsigned)(attached.head->tsc_khz % 1000));
        for (size_t i = 0; i < room; i++)
            value[i] = i < length ? number[i] : ' ';
        at = end;
    }
    return file_of(text, used, flags);
}

/* A descriptor for a file whose contents are ours; -1: it is none. */
static int file_of_ours(const char *path, int flags)
{
    int fd = -1;

    if (!path || path[0] != '/' || (path[1] != 'd' && path[1] != 'p')) return -1;
    self->in_library++;
    if (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0)
        fd = random_file(flags);
    else if (strcmp(path, "/proc/sys/kernel/random/uuid") == 0)
        fd = new_uuid_file(flags);
    else if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0)
        fd = boot_id_file(flags);
    else if (strcmp(path, "/proc/cpuinfo") == 0)
        fd = cpuinfo_file(flags);
    self->in_library--;
    return fd;
}

/* /proc/NUMBER/... of a process of the fabric, as the kernel numbers it. */
static const char *real_path(const char *path, char room[PATH_LENGTH])
{
    struct attach_request request = {.op = ATTACH_OP_PID};
    unsigned pid;
    int used = 0, kernels = -1;

    if (!path || strncmp(path, "/proc/", 6) != 0 || path[6] < '0' || path[6] > '9') return path;
    if (sscanf(path + 6, "%u%n", &pid, &used) != 1 || pid < FIRST_PID || pid >= FIRST_TID) return path;
    if (pid == (unsigned)identity_pid())
        kernels = (int)RAW(SYS_getpid, 0, 0, 0, 0, 0, 0);
    else if (turn_enter() == 0) {
        request.object = pid - FIRST_PID;
        kernels = session_request(&request, NULL, 0);
        turn_leave();
    }
    if (kernels < 0) return path;
    snprintf(room, PATH_LENGTH, "/proc/%d%s", kernels, path + 6 + used);
    return room;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    char room[PATH_LENGTH];

    if (managed()) {
        int fd = file_of_ours(path, flags);

        if (fd >= 0) return fd;
        path = real_path(path, room);
    }
    return next_openat()(folder, path, flags, mode); /* the verbs library knows files that the machine does not have */
}

static mode_t mode_of(int flags, va_list list)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

#define OPEN(name, parameters, folder, path)                                                                           \
    extern EXPORT int name parameters;                                                                                 \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        mode_t mode;                                                                                                   \
                                                                                                                       \
        va_start(list, flags);                                                                                         \
        mode = mode_of(flags, list);                                                                                   \
        va_end(list);                                                                                                  \
        return open_at(folder, path, flags, mode);                                                                     \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path)
OPEN(openat, (int folder, const char *path, int flags, ...), folder, path)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, path)
#undef OPEN

extern EXPORT int __open_2(const char *path, int flags);
EXPORT int __open_2(const char *path, int flags)
{
    return open_at(AT_FDCWD, path, flags, 0);
}

extern EXPORT int __open64_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags)
{
    return open_at(AT_FDCWD, path, flags, 0);
}

extern EXPORT int __openat_2(int folder, const char *path, int flags);
EXPORT int __openat_2(int folder, const char *path, int flags)
{
    return open_at(folder, path, flags, 0);
}

extern EXPORT int __openat64_2(int folder, const char *path, int flags);
EXPORT int __openat64_2(int folder, const char *path, int flags)
{
    return open_at(folder, path, flags, 0);
}

static FILE *stream_of_ours(const char *path, const char *mode)
{
    int fd = managed() ? file_of_ours(path, O_CLOEXEC) : -1;
    return fd < 0 ? NULL : fdopen(fd, mode);
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode)
{
    FILE *ours = stream_of_ours(path, mode);
    return ours ? ours : REAL(fopen)(path, mode);
}

extern EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode);
EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    FILE *ours = stream_of_ours(path, mode);
    return ours ? ours : REAL(fopen64)(path, mode);
}
