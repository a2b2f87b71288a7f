/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of writing; see quiet.h. */
#include "base/quiet.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static const int signals[] = {SIGPIPE, SIGXFSZ};
#define SIGNALS (sizeof signals / sizeof signals[0])

void quiet_begin(struct quiet *quiet)
{
    sigset_t waiting, all;

    sigemptyset(&quiet->ours);
    sigemptyset(&all);
    sigemptyset(&waiting);
    sigpending(&waiting);
    for (size_t i = 0; i < SIGNALS; i++) {
        sigaddset(&all, signals[i]);
        if (sigismember(&waiting, signals[i]) != 1) sigaddset(&quiet->ours, signals[i]);
    }
    pthread_sigmask(SIG_BLOCK, &all, &quiet->before);
}

void quiet_end(struct quiet *quiet)
{
    const struct timespec now = {0};
    int error = errno, taken;

    do {
        taken = sigtimedwait(&quiet->ours, NULL, &now);
    } while (taken > 0 || errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    errno = error;
}
