/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls: straight to the kernel for ourselves, and syscall() for the program.
 *
 * A program or library that calls by number means the same as by name, so syscall() goes to the function that stands
 * before the name.  What has no virtual time is named to the fabric and done for real.  A system call by instruction
 * is not seen here.
 */
#include "attach/attach_int.h"

#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>

long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    int before = errno;
    long result = REAL(syscall)(number, a, b, c, d, e, f);

    if (result == -1) result = -errno;
    errno = before;
    return result;
#endif
}

/* Calls that no virtual clock can follow. */
static const char *not_virtual(long number)
{
    switch (number) {
    case SYS_clone:
        return "clone() by number: that thread or process has real time";
    case SYS_clone3:
        return "clone3() by number: that thread or process has real time";
    case SYS_io_uring_setup:
        return "io_uring_setup(): completions of io_uring come in real time";
    case SYS_perf_event_open:
        return "perf_event_open(): counters of the real machine";
    default:
        return NULL;
    }
}

/* Calls of the clock and of identity.  True: done, *ret is the kernel's answer. */
static bool time_call(long number, const long arg[6], long *ret)
{
    switch (number) {
    case SYS_clock_gettime:
        *ret = clock_gettime((clockid_t)arg[0], (struct timespec *)arg[1]) < 0 ? -errno : 0;
        return true;
    case SYS_clock_nanosleep:
        *ret = -clock_nanosleep((clockid_t)arg[0], (int)arg[1], (const struct timespec *)arg[2],
                                (struct timespec *)arg[3]);
        return true;
    case SYS_nanosleep:
        *ret = nanosleep((const struct timespec *)arg[0], (struct timespec *)arg[1]) < 0 ? -errno : 0;
        return true;
    case SYS_gettimeofday:
        *ret = gettimeofday((struct timeval *)arg[0], (void *)arg[1]) < 0 ? -errno : 0;
        return true;
#if defined(SYS_time)
    case SYS_time:
        *ret = time((time_t *)arg[0]);
        return true;
#endif
    case SYS_times:
        *ret = times((struct tms *)arg[0]);
        return true;
    case SYS_sched_yield:
        *ret = sched_yield();
        return true;
    case SYS_getpid:
        *ret = getpid();
        return true;
    case SYS_getppid:
        *ret = getppid();
        return true;
    case SYS_gettid:
        *ret = identity_tid();
        return true;
    case SYS_getrandom:
        *ret = getrandom((void *)arg[0], (size_t)arg[1], (unsigned)arg[2]);
        return true;
    case SYS_futex:
        *ret = locks_futex((uint32_t *)arg[0], (int)arg[1], (uint32_t)arg[2], (const struct timespec *)arg[3],
                           (uint32_t *)arg[4], (uint32_t)arg[5]);
        return true;
    default:
        return false;
    }
}

/* Calls that may wait for a descriptor or a process. */
static bool waiting_call(long number, const long arg[6], long *ret)
{
    switch (number) {
#if defined(SYS_poll)
    case SYS_poll:
        *ret = poll((struct pollfd *)arg[0], (nfds_t)arg[1], (int)arg[2]);
        break;
    case SYS_epoll_wait:
        *ret = epoll_wait((int)arg[0], (struct epoll_event *)arg[1], (int)arg[2], (int)arg[3]);
        break;
    case SYS_accept:
        *ret = accept((int)arg[0], (struct sockaddr *)arg[1], (socklen_t *)arg[2]);
        break;
#endif
    case SYS_read:
        *ret = read((int)arg[0], (void *)arg[1], (size_t)arg[2]);
        break;
    case SYS_write:
        *ret = write((int)arg[0], (const void *)arg[1], (size_t)arg[2]);
        break;
    case SYS_close:
        *ret = close((int)arg[0]);
        break;
    case SYS_recvfrom:
        *ret = recvfrom((int)arg[0], (void *)arg[1], (size_t)arg[2], (int)arg[3], (struct sockaddr *)arg[4],
                        (socklen_t *)arg[5]);
        break;
    case SYS_sendto:
        *ret = sendto((int)arg[0], (const void *)arg[1], (size_t)arg[2], (int)arg[3], (const struct sockaddr *)arg[4],
                      (socklen_t)arg[5]);
        break;
    case SYS_accept4:
        *ret = accept4((int)arg[0], (struct sockaddr *)arg[1], (socklen_t *)arg[2], (int)arg[3]);
        break;
    case SYS_connect:
        *ret = connect((int)arg[0], (const struct sockaddr *)arg[1], (socklen_t)arg[2]);
        break;
    case SYS_wait4:
        *ret = wait4((pid_t)arg[0], (int *)arg[1], (int)arg[2], (struct rusage *)arg[3]);
        break;
    default:
        return false;
    }
    if (*ret < 0) *ret = -errno;
    return true;
}

EXPORT long syscall(long number, ...)
{
    long arg[6], result;
    int before = errno;
    va_list list;

    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    if (managed()) {
        const char *what = not_virtual(number);

        if (what) session_not_virtual(what);
        if (time_call(number, arg, &result) || waiting_call(number, arg, &result)) {
            if (result >= 0) errno = before;
            return as_libc(result);
        }
    }
    return as_libc(raw_call(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]));
}
