/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that programs send: one is taken, and none is left behind.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "up/up_int.h"

#define MOST 8

/* `count` copies of `fd`, with one byte. */
static void send_fds(int to, int fd, unsigned count)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(MOST * sizeof(int))] = {0};
    int fds[MOST];
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (count) {
        struct cmsghdr *head = (struct cmsghdr *)(void *)room;
        for (unsigned i = 0; i < count; i++)
            fds[i] = fd;
        *head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof(int))};
        memcpy(CMSG_DATA(head), fds, count * sizeof(int));
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    assert_int_equal(sendmsg(to, &message, 0), 1);
}

/* The lowest that is free: it rises when one is left open. */
static int lowest(void)
{
    int fd = dup(STDIN_FILENO);

    close(fd);
    return fd;
}

static void test_descriptors(void **state)
{
    struct up_process process = {0};
    int pair[2], sent = eventfd(0, EFD_CLOEXEC);

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    process.socket = pair[0];
    int before = lowest();
    assert_int_equal(session_take_fd(&process), -EAGAIN);
    for (unsigned count = 0; count <= MOST; count++) {
        send_fds(pair[1], sent, count);
        int fd = session_take_fd(&process);
        if (count == 0) assert_int_equal(fd, -EPROTO);
        if (fd >= 0) close(fd);
        assert_int_equal(lowest(), before);
    }
    close(pair[1]);
    assert_int_equal(session_take_fd(&process), -EPIPE);
    close(pair[0]);
    close(sent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
