/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of writing; see quiet.h. */
#include "base/quiet.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int signals[] = {SIGPIPE, SIGXFSZ};
#define SIGNALS (sizeof signals / sizeof signals[0])

/* The kernel is asked without libc's functions: in a program of a fabric these are attach's, and take fabric time. */
#define KERNEL_SET 8

void quiet_begin(struct quiet *quiet)
{
    sigset_t waiting, all;

    sigemptyset(&quiet->ours);
    sigemptyset(&all);
    sigemptyset(&waiting);
    syscall(SYS_rt_sigpending, &waiting, KERNEL_SET);
    for (size_t i = 0; i < SIGNALS; i++) {
        sigaddset(&all, signals[i]);
        if (sigismember(&waiting, signals[i]) != 1) sigaddset(&quiet->ours, signals[i]);
    }
    sigemptyset(&quiet->before);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &quiet->before, KERNEL_SET);
}

void quiet_end(struct quiet *quiet)
{
    const struct timespec now = {0};
    int error = errno, taken;

    do {
        taken = (int)syscall(SYS_rt_sigtimedwait, &quiet->ours, NULL, &now, KERNEL_SET);
    } while (taken > 0 || errno == EINTR);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &quiet->before, NULL, KERNEL_SET);
    errno = error;
}
