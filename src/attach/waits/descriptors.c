/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the program: closed, doubled, locked.
 *
 * Who closes the end of a pipe may be what another waits for.  Descriptors of our own stay open, whatever a program
 * closes that wants to begin clean.  Locks of files are tried, as locks of threads are.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/file.h>

#include "attach/waits/waits.h"

EXPORT int close(int fd)
{
    bool waitable;
    int result;

    if (attached.head != NULL && session_owns(fd)) return (int)as_libc(-EBADF);
    waitable = managed() && wait_is_waitable(fd);
    if (waitable) timers_closed(fd);
    result = REAL(close)(fd);
    if (waitable) turn_touched(ATTACH_TOUCHED_HOST);
    return result;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    unsigned from = first;

    if (attached.head == NULL || first > last) return REAL(close_range)(first, last, flags);
    turn_touched(ATTACH_TOUCHED_HOST);
    for (unsigned fd = first; fd <= last && fd < INT_MAX; fd++) {
        if (fd > 65536) break;
        if (!session_owns((int)fd)) continue;
        if (fd > from && REAL(close_range)(from, fd - 1, flags) < 0) return -1;
        from = fd + 1;
    }
    return from <= last ? REAL(close_range)(from, last, flags) : 0;
}

EXPORT void closefrom(int first)
{
    close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0);
}

EXPORT int dup2(int from, int to)
{
    if (attached.head != NULL && session_owns(to)) return (int)as_libc(-EBADF);
    if (managed() && from != to && wait_is_waitable(to)) turn_touched(ATTACH_TOUCHED_HOST);
    return REAL(dup2)(from, to);
}

EXPORT int dup3(int from, int to, int flags)
{
    if (attached.head != NULL && session_owns(to)) return (int)as_libc(-EBADF);
    if (managed() && wait_is_waitable(to)) turn_touched(ATTACH_TOUCHED_HOST);
    return REAL(dup3)(from, to, flags);
}

/* --- locks of files --- */

/* Tries until it succeeds, or another error comes than that somebody has it. */
static long lock_file(long number, int fd, long command, void *argument)
{
    enum wait_end end = WAIT_AGAIN;
    long result;

    wait_sync();
    while ((result = RAW(number, fd, command, argument, 0, 0, 0)) == -EAGAIN || result == -EACCES) {
        if (end == WAIT_INTERRUPTED && !turn_restarts()) return -EINTR;
        if (end == WAIT_GONE) break;
        if (threads_cancelled()) pthread_testcancel();
        end = wait_turn(UINT64_MAX, "a file lock");
    }
    return result;
}

EXPORT int flock(int fd, int operation)
{
    if (!managed()) return REAL(flock)(fd, operation);
    turn_touched(ATTACH_TOUCHED_HOST);
    if (operation & LOCK_NB) return REAL(flock)(fd, operation);
    return (int)as_libc(lock_file(SYS_flock, fd, operation | LOCK_NB, NULL));
}

static int file_control(int fd, int command, void *argument)
{
    if (managed()) {
        if (command == F_SETLKW || command == F_OFD_SETLKW) turn_touched(ATTACH_TOUCHED_HOST);
        if (command == F_SETLKW) return (int)as_libc(lock_file(SYS_fcntl, fd, F_SETLK, argument));
        if (command == F_OFD_SETLKW) return (int)as_libc(lock_file(SYS_fcntl, fd, F_OFD_SETLK, argument));
        if (command == F_SETLK || command == F_OFD_SETLK) turn_touched(ATTACH_TOUCHED_HOST);
    }
    return REAL(fcntl)(fd, command, argument);
}

EXPORT int fcntl(int fd, int command, ...)
{
    va_list list;
    void *argument;

    va_start(list, command);
    argument = va_arg(list, void *);
    va_end(list);
    return file_control(fd, command, argument);
}

extern EXPORT int fcntl64(int fd, int command, ...);
int fcntl64(int fd, int command, ...)
{
    va_list list;
    void *argument;

    va_start(list, command);
    argument = va_arg(list, void *);
    va_end(list);
    return file_control(fd, command, argument);
}

EXPORT int lockf(int fd, int command, off_t bytes)
{
    struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = bytes};

    if (!managed() || command == F_TEST) return REAL(lockf)(fd, command, bytes);
    if (command == F_LOCK) return file_control(fd, F_SETLKW, &wanted);
    turn_touched(ATTACH_TOUCHED_HOST);
    return REAL(lockf)(fd, command, bytes);
}

extern EXPORT int lockf64(int fd, int command, off64_t bytes);
int lockf64(int fd, int command, off64_t bytes)
{
    return lockf(fd, command, bytes);
}
