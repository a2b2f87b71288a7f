/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of base share: a seed that is printed when a property does not hold, and a way to see
 * a CHECK end a process.  Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_BASE_SUPPORT_H
#define ROCELAB_TESTS_BASE_SUPPORT_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../seed.h"

static inline uint64_t test_seed(void)
{
    return test_seed_or(20240229);
}

#define EXPECT(cond, step)                                                                                             \
    do {                                                                                                               \
        if (!(cond))                                                                                                   \
            fail_msg("%s (seed %llu, step %llu)", #cond, (unsigned long long)test_seed(), (unsigned long long)(step)); \
    } while (0)

/* Runs body in a child.  1 when SIGABRT ended it, with what it wrote to standard error. */
static inline int test_aborts(void (*body)(void *), void *arg, char *ret_said, size_t said_cap)
{
    int fds[2];
    int status = 0;
    size_t used = 0;
    ssize_t got;

    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        signal(SIGABRT, SIG_DFL);
        body(arg);
        _exit(0);
    }
    close(fds[1]);
    while (used + 1 < said_cap && (got = read(fds[0], ret_said + used, said_cap - 1 - used)) > 0)
        used += (size_t)got;
    ret_said[used] = 0;
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#define ASSERT_ABORTS(body, arg, expected)                                                                             \
    do {                                                                                                               \
        char said_[512];                                                                                               \
        assert_true(test_aborts((body), (arg), said_, sizeof(said_)));                                                 \
        assert_non_null(strstr(said_, (expected)));                                                                    \
    } while (0)

#endif
