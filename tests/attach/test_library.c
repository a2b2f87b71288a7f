/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preloaded library against a fabric of a hundred lines: hello, a segment, turns by the rules, and nothing else.
 *
 * The subject (subject.c) is run with the library and says what its clocks showed.  Every time is a sum of declared
 * costs and of what the fabric gave, so all of them are compared for equality.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/protocol.h"

#define EPOCH_S 1700000000ULL
#define PS_S 1000000000000ULL
#define COST_CLOCK 25000u
#define COST_TSC 10000u
#define SPIN_ENDS 123456789000ULL /* ps after the loop gave up */

static const char *library, *subject;

struct fabric {
    char folder[64], path[96];
    int listen_fd, segment_fd, adopted_fd, program_fd, output;
    struct attach_head *head;
    pid_t pid;
    int status;
    uint64_t word;  /* where the subject waits; 0: it has not said */
    uint32_t spins; /* turns that came back as spins */
    uint32_t sleeps;
    uint64_t adopted_bytes;
    bool send_signal, leave;
    char text[256]; /* of a request that says what is not virtual */
    char said[4096];
};

static void start(struct fabric *fabric, uint32_t clock, uint64_t seed)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    memset(fabric, 0, sizeof *fabric);
    fabric->program_fd = -1;
    snprintf(fabric->folder, sizeof fabric->folder, "/tmp/rocelab-attach-XXXXXX");
    assert_non_null(mkdtemp(fabric->folder));
    snprintf(fabric->path, sizeof fabric->path, "%s/socket", fabric->folder);
    memcpy(name.sun_path, fabric->path, strlen(fabric->path));
    fabric->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fabric->listen_fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(fabric->listen_fd, 4), 0);
    fabric->segment_fd = memfd_create("segment", MFD_CLOEXEC);
    fabric->adopted_fd = memfd_create("adopted", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fabric->segment_fd, (off_t)ATTACH_SEGMENT_BYTES), 0);
    assert_int_equal(ftruncate(fabric->adopted_fd, 1 << 30), 0);
    fabric->head =
        mmap(NULL, ATTACH_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fabric->segment_fd, 0);
    assert_ptr_not_equal(fabric->head, MAP_FAILED);
    fabric->head->version = ATTACH_VERSION;
    fabric->head->clock = clock;
    fabric->head->process = 7;
    fabric->head->host = 3;
    fabric->head->fabric_pid = getpid();
    fabric->head->spin_proof = 1;
    fabric->head->seed = seed;
    fabric->head->epoch_s = EPOCH_S;
    fabric->head->tsc_khz = 2000000;
    fabric->head->cost = (struct attach_costs){.clock = COST_CLOCK, .tsc = COST_TSC, .yield = 200000, .poll = 30000};
    fabric->head->posts_at = 1 << 21;
}

static void launch(struct fabric *fabric, const char *what)
{
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    fabric->pid = fork();
    if (fabric->pid == 0) {
        dup2(pipes[1], 1);
        close(pipes[0]);
        close(pipes[1]);
        setenv("LD_PRELOAD", library, 1);
        setenv(ATTACH_ENV_SOCKET, fabric->path, 1);
        setenv(ATTACH_ENV_HOST, "h3", 1);
        execl(subject, subject, what, NULL);
        _exit(98);
    }
    close(pipes[1]);
    fabric->output = pipes[0];
}

static void welcome(struct fabric *fabric)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {0};
    int fds[2] = {fabric->segment_fd, fabric->adopted_fd};
    struct attach_hello hello;
    struct attach_welcome answer = {.version = ATTACH_VERSION, .process = 7};
    struct iovec part = {&answer, sizeof answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    fabric->program_fd = accept4(fabric->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fabric->program_fd >= 0);
    assert_int_equal(recv(fabric->program_fd, &hello, sizeof hello, 0), sizeof hello);
    assert_int_equal(hello.kind, ATTACH_PROGRAM);
    assert_string_equal(hello.host, "h3");
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(head), fds, sizeof fds);
    assert_int_equal(sendmsg(fabric->program_fd, &message, 0), sizeof answer);
}

/* What the subject has said so far. */
static void listen_to(struct fabric *fabric)
{
    struct pollfd at = {fabric->output, POLLIN, 0};
    size_t used = strlen(fabric->said);

    while (poll(&at, 1, 0) > 0 && used < sizeof fabric->said - 1) {
        ssize_t got = read(fabric->output, fabric->said + used, sizeof fabric->said - 1 - used);

        if (got <= 0) return;
        used += (size_t)got;
        fabric->said[used] = 0;
    }
}

static void give(struct attach_thread *thread)
{
    __atomic_store_n(&thread->turn, ATTACH_TURN_PROGRAM, __ATOMIC_RELEASE);
    syscall(SYS_futex, &thread->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Until the turn comes back.  A thread that has said where it waits is sent the signal meanwhile.  False: dead. */
static bool take_back(struct fabric *fabric, struct attach_thread *thread)
{
    struct timespec patience = {0, 2000000};

    while (__atomic_load_n(&thread->turn, __ATOMIC_ACQUIRE) == ATTACH_TURN_PROGRAM) {
        syscall(SYS_futex, &thread->turn, FUTEX_WAIT, ATTACH_TURN_PROGRAM, &patience, NULL, 0);
        if (__atomic_load_n(&thread->turn, __ATOMIC_ACQUIRE) != ATTACH_TURN_PROGRAM) break;
        if (waitpid(fabric->pid, &fabric->status, WNOHANG) == fabric->pid) return false;
        listen_to(fabric);
        if (!fabric->word) fabric->word = strtoull(fabric->said, NULL, 16) * (strncmp(fabric->said, "0x", 2) == 0);
        if (fabric->word && !fabric->send_signal) syscall(SYS_tgkill, fabric->pid, thread->tid, ATTACH_SPIN_SIGNAL);
    }
    return true;
}

static void write_word(struct fabric *fabric, uint32_t value)
{
    struct iovec here = {&value, sizeof value}, there = {(void *)fabric->word, sizeof value};

    assert_int_equal(process_vm_writev(fabric->pid, &here, 1, &there, 1, 0), sizeof value);
}

/* Memory that was adopted has what the program wrote, and what is written there is the program's. */
static void adopt(struct fabric *fabric, const struct attach_request *request)
{
    struct attach_adopt what;
    uint8_t byte = 0;

    memcpy(&what, request->data, sizeof what);
    fabric->adopted_bytes += what.bytes;
    /* malloc() has a head of 16 bytes in front of its first page's rest */
    assert_int_equal(pread(fabric->adopted_fd, &byte, 1, (off_t)what.offset + 16 + 1000), 1);
    assert_int_equal(byte, (uint8_t)(1000 * 7));
    byte = 99;
    assert_int_equal(pwrite(fabric->adopted_fd, &byte, 1, (off_t)what.offset + 16 + 5000), 1);
}

/* One answer of the fabric to a thread that has given its turn back.  False: it has no more. */
static bool answer(struct fabric *fabric, struct attach_thread *thread)
{
    switch (thread->why) {
    case ATTACH_REQUEST:
        if (thread->request.op == ATTACH_OP_NOT_VIRTUAL)
            memcpy(fabric->text, thread->request.data, sizeof fabric->text - 1);
        if (thread->request.op == ATTACH_OP_ADOPT) adopt(fabric, &thread->request);
        thread->request.result = 0;
        return true;
    case ATTACH_SPIN:
        fabric->spins++;
        if (fabric->spins < 3) return true; /* nothing has changed: it finds that out by itself */
        thread->now += SPIN_ENDS;
        write_word(fabric, 5);
        return true;
    case ATTACH_PROCESS_ENDS:
        return false;
    default:
        fabric->sleeps++;
        if (fabric->send_signal && fabric->sleeps == 1) { /* while it waits, and before its time has come */
            kill(fabric->pid, SIGUSR1);
            while (!__atomic_load_n(&thread->signalled, __ATOMIC_ACQUIRE))
                usleep(1000);
            thread->now += PS_S;
            return true;
        }
        if (thread->until != UINT64_MAX && thread->until > thread->now) thread->now = thread->until;
        return true;
    }
}

static void serve(struct fabric *fabric)
{
    struct attach_thread *thread = &fabric->head->thread[0];
    bool more = true;

    welcome(fabric);
    while (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) != ATTACH_LIVES)
        usleep(100);
    while (more) {
        give(thread);
        if (!take_back(fabric, thread)) break;
        if (fabric->leave) break;
        more = answer(fabric, thread);
    }
}

static void finish(struct fabric *fabric)
{
    close(fabric->program_fd);
    close(fabric->listen_fd);
    if (fabric->status == 0) waitpid(fabric->pid, &fabric->status, 0);
    listen_to(fabric);
    close(fabric->output);
    unlink(fabric->path);
    rmdir(fabric->folder);
    munmap(fabric->head, ATTACH_SEGMENT_BYTES);
    close(fabric->segment_fd);
    close(fabric->adopted_fd);
}

static void run(struct fabric *fabric, const char *what)
{
    start(fabric, ATTACH_VIRTUAL, 1);
    launch(fabric, what);
    serve(fabric);
    finish(fabric);
}

static void assert_ended(const struct fabric *fabric)
{
    assert_true(WIFEXITED(fabric->status));
    assert_int_equal(WEXITSTATUS(fabric->status), 0);
}

static void assert_said(const struct fabric *fabric, const char *what)
{
    assert_string_equal(fabric->said, what);
}

/* --- clocks --- */

static void clocks_move_by_declared_cost(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "clocks");
    assert_ended(&fabric);
    /* the fifth read is 125 ns after the start */
    assert_said(&fabric, "1000000000025 25 25 1700000000 1700000000000000\n");
}

static void libc_sees_the_same_clock_inside(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "inside");
    assert_ended(&fabric);
    assert_said(&fabric, "1700000000 25\n");
}

static void a_sleep_takes_its_time_and_no_more(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "sleep");
    assert_ended(&fabric);
    /* 3 s and 5 us and one read; 10 us, a read, 7 s, a read */
    assert_said(&fabric, "3000005025 7000010050\n");
}

static void reads_in_a_row_cost_more(void **state)
{
    struct fabric fabric;
    char expected[64];
    uint64_t ps = 0;

    (void)state;
    run(&fabric, "row");
    assert_ended(&fabric);
    for (uint64_t i = 1; i <= 1000; i++) {
        uint64_t cost = i <= 64 ? COST_CLOCK : COST_CLOCK * (1 + (i - 64) / 8);
        ps += cost < 1000000 ? cost : 1000000;
    }
    snprintf(expected, sizeof expected, "%llu\n", (unsigned long long)ps / 1000);
    assert_said(&fabric, expected);
    assert_true(fabric.sleeps >= ps / 30000000); /* and others come to their turns meanwhile */
}

/* --- the time stamp counter --- */

static void the_counter_is_virtual(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "tsc");
    assert_ended(&fabric);
    assert_said(&fabric, "2000000000020 20 20 0\n");
    assert_int_equal(fabric.head ? 0 : 1, 0);
}

static void a_program_may_handle_faults_itself(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "tsc_and_faults");
    assert_true(WIFEXITED(fabric.status));
    assert_int_equal(WEXITSTATUS(fabric.status), 42);
}

/* --- loops on memory --- */

static void spins(const char *what)
{
    struct fabric fabric;
    char *line;

    run(&fabric, what);
    assert_ended(&fabric);
    assert_int_equal(fabric.spins, 3);
    line = strchr(fabric.said, '\n');
    assert_non_null(line);
    assert_string_equal(line + 1, "123456814 5\n"); /* what the fabric gave, and a clock read */
}

static void a_loop_on_memory_gives_its_turn_up(void **state)
{
    (void)state;
    spins("spin");
}

static void a_loop_whose_stores_change_nothing_does_too(void **state)
{
    (void)state;
    spins("spin_calls");
}

static void a_loop_that_counts_in_memory_goes_on(void **state)
{
    struct fabric fabric;
    char *line;

    (void)state;
    run(&fabric, "count");
    assert_ended(&fabric);
    assert_int_equal(fabric.spins, 0);
    line = strchr(fabric.said, '\n');
    assert_non_null(line);
    assert_string_equal(line + 1, "25 0\n");
}

/* --- who it is --- */

static void identity_is_of_the_seed(void **state)
{
    struct fabric first, again, other;

    (void)state;
    run(&first, "identity");
    run(&again, "identity");
    start(&other, ATTACH_VIRTUAL, 2);
    launch(&other, "identity");
    serve(&other);
    finish(&other);
    assert_ended(&first);
    assert_string_equal(first.said, again.said);
    assert_string_not_equal(first.said, other.said);
    assert_memory_equal(first.said, "1007 1007 1007 1 ", 17);
    assert_non_null(strstr(first.said, " 2000.000"));
}

/* --- signals, and the end --- */

static void a_signal_from_outside_ends_a_sleep(void **state)
{
    struct fabric fabric;
    char *line;

    (void)state;
    start(&fabric, ATTACH_VIRTUAL, 1);
    fabric.send_signal = true;
    launch(&fabric, "signal");
    serve(&fabric);
    finish(&fabric);
    assert_ended(&fabric);
    line = strchr(fabric.said, '\n');
    assert_non_null(line);
    assert_string_equal(line + 1, "-1 1 1 3\n"); /* interrupted after one second: and 25 ns of the handler's */
}

static void a_fabric_that_is_gone_gives_real_clocks_back(void **state)
{
    struct fabric fabric;

    (void)state;
    start(&fabric, ATTACH_VIRTUAL, 1);
    fabric.leave = true;
    launch(&fabric, "gone");
    serve(&fabric);
    finish(&fabric);
    assert_ended(&fabric);
    assert_said(&fabric, "1\n");
}

static void what_cannot_be_virtual_is_named(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "refuse");
    assert_ended(&fabric);
    assert_non_null(strstr(fabric.text, "io_uring_setup"));
}

static void registered_memory_is_seen_by_both(void **state)
{
    struct fabric fabric;

    (void)state;
    run(&fabric, "adopt");
    assert_ended(&fabric);
    assert_int_equal(fabric.adopted_bytes, (1 << 20) + 4096);
    assert_said(&fabric, "99 99\n");
}

/* The real clock has no turns: the bell says that there is something. */
static void with_the_real_clock_posts_and_requests_work(void **state)
{
    struct fabric fabric;
    struct attach_thread *thread;
    struct attach_post *post;

    (void)state;
    start(&fabric, ATTACH_REAL, 1);
    thread = &fabric.head->thread[0];
    launch(&fabric, "real");
    welcome(&fabric);
    while (__atomic_load_n(&thread->why, __ATOMIC_ACQUIRE) != ATTACH_REQUEST ||
           __atomic_load_n(&thread->turn, __ATOMIC_ACQUIRE) != ATTACH_TURN_FABRIC)
        usleep(1000);
    assert_true(fabric.head->bell >= 2);
    post = attach_at(fabric.head, fabric.head->posts_at);
    assert_int_equal(fabric.head->posts.tail, post->bytes);
    assert_int_equal(post->object, 17);
    assert_int_equal(thread->request.op, ATTACH_OP_CM_SLOT);
    thread->request.result = 41;
    give(thread);
    while (!strchr(fabric.said, '\n')) {
        listen_to(&fabric);
        usleep(1000);
    }
    finish(&fabric);
    assert_ended(&fabric);
    assert_said(&fabric, "41 1\n");
}

/* A segment that cannot be is refused in words, and nothing of it is gone by. */
static void a_segment_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    for (unsigned what = 0; what < 5; what++) {
        struct fabric fabric;
        start(&fabric, ATTACH_VIRTUAL, 1);
        struct attach_head *head = fabric.head;
        head->nics = what == 0 ? ATTACH_NICS + 1 : 1;
        if (what == 1) head->nic[0].gids = 5;
        if (what == 2) memset(head->nic[0].ifname, 'e', sizeof head->nic[0].ifname);
        if (what == 3) head->posts_at = ATTACH_SEGMENT_BYTES - 64;
        if (what == 4) head->clock = 2;
        launch(&fabric, "identity");
        welcome(&fabric);
        assert_int_equal(waitpid(fabric.pid, &fabric.status, 0), fabric.pid);
        assert_true(WIFEXITED(fabric.status) && WEXITSTATUS(fabric.status) == 1);
        finish(&fabric);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_move_by_declared_cost),
        cmocka_unit_test(libc_sees_the_same_clock_inside),
        cmocka_unit_test(a_sleep_takes_its_time_and_no_more),
        cmocka_unit_test(reads_in_a_row_cost_more),
        cmocka_unit_test(the_counter_is_virtual),
        cmocka_unit_test(a_program_may_handle_faults_itself),
        cmocka_unit_test(a_loop_on_memory_gives_its_turn_up),
        cmocka_unit_test(a_loop_whose_stores_change_nothing_does_too),
        cmocka_unit_test(a_loop_that_counts_in_memory_goes_on),
        cmocka_unit_test(identity_is_of_the_seed),
        cmocka_unit_test(a_signal_from_outside_ends_a_sleep),
        cmocka_unit_test(a_fabric_that_is_gone_gives_real_clocks_back),
        cmocka_unit_test(what_cannot_be_virtual_is_named),
        cmocka_unit_test(registered_memory_is_seen_by_both),
        cmocka_unit_test(with_the_real_clock_posts_and_requests_work),
        cmocka_unit_test(a_segment_that_makes_no_sense_is_refused),
    };

    if (argc != 3) return 2;
    library = argv[1];
    subject = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
