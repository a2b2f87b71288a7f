/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: slots given and taken back, however a process ends; listeners; groups; forwarded packets. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <sys/resource.h>

#include "wires.h"

/* A child that has joined and waits to be told to leave (or killed); its slot comes through the pipe. */
struct child {
    pid_t pid;
    int order, answer;
    uint32_t slot;
};

static struct child child_start(const char *address)
{
    int order[2], answer[2];
    struct child child;
    assert_int_equal(pipe(order), 0);
    assert_int_equal(pipe(answer), 0);
    child.pid = fork();
    if (child.pid == 0) {
        struct registry *registry;
        uint32_t slot = 0;
        char byte;
        close(order[1]);
        if (registry_join(&registry, NULL, 0) != 0) _exit(1);
        if (address) {
            struct pkt_addr addr = test_addr(address);
            if (registry_lock(registry, true) != 0) _exit(1);
            struct registry_group *group = registry_group_find(registry, &addr, TEST_PORT, true);
            if (!group || registry_group_add(registry, group) != 0) _exit(1);
            registry_unlock(registry);
            if (registry_listen(registry, registry_slot(registry), NULL) != 0) _exit(1);
        }
        slot = registry_slot(registry);
        if (write(answer[1], &slot, sizeof slot) != sizeof slot || read(order[0], &byte, 1) != 1) _exit(1);
        registry_leave(registry);
        _exit(0);
    }
    close(order[0]);
    close(answer[1]);
    child.order = order[1];
    child.answer = answer[0];
    assert_int_equal(read(child.answer, &child.slot, sizeof child.slot), sizeof child.slot);
    return child;
}

static void child_end(struct child *child, int kill_signal)
{
    int status;
    if (kill_signal)
        kill(child->pid, kill_signal);
    else
        assert_int_equal(write(child->order, "q", 1), 1);
    close(child->order);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    if (!kill_signal) assert_int_equal(status, 0);
    close(child->answer);
}

static void test_slots(void **state)
{
    (void)state;
    struct registry *registry = test_join();
    uint32_t slot = registry_slot(registry);
    assert_in_range(slot, 1, REGISTRY_SLOTS);
    assert_int_equal(registry_pid(registry, slot), getpid());
    struct child child = child_start(NULL);
    assert_int_not_equal(child.slot, slot);
    assert_int_equal(registry_pid(registry, child.slot), child.pid);
    child_end(&child, SIGKILL);
    assert_int_equal(registry_pid(registry, child.slot), 0);
    child = child_start(NULL);
    child_end(&child, 0);
    assert_int_equal(registry_pid(registry, child.slot), 0);
    registry_leave(registry);
}

/* Numbers rest: while somebody is there, every slot is used before one is used again. */
static void test_slots_rotate(void **state)
{
    (void)state;
    static bool seen[REGISTRY_SLOTS + 1];
    struct registry *there = test_join();
    seen[registry_slot(there)] = true;
    for (unsigned i = 1; i < REGISTRY_SLOTS; i++) {
        struct registry *registry = test_join();
        uint32_t slot = registry_slot(registry);
        assert_false(seen[slot]);
        seen[slot] = true;
        registry_leave(registry);
    }
    registry_leave(there);
}

static void test_slots_run_out(void **state)
{
    (void)state;
    static struct registry *all[REGISTRY_SLOTS];
    struct registry *more = NULL;
    char why[200] = "";
    unsigned joined = 0;
    /* as many as descriptors allow: each has two */
    unsigned wanted = (unsigned)sysconf(_SC_OPEN_MAX) > 2 * REGISTRY_SLOTS + 64 ? REGISTRY_SLOTS : 100;
    for (; joined < wanted; joined++)
        all[joined] = test_join();
    if (wanted == REGISTRY_SLOTS) {
        assert_int_equal(registry_join(&more, why, sizeof why), -EUSERS);
        assert_null(more);
        assert_non_null(strstr(why, "1022"));
    }
    while (joined > 0)
        registry_leave(all[--joined]);
    registry_leave(test_join());
}

static void join_group(struct registry *registry, const char *address)
{
    struct pkt_addr addr = test_addr(address);
    assert_int_equal(registry_lock(registry, true), 0);
    struct registry_group *group = registry_group_find(registry, &addr, TEST_PORT, true);
    assert_non_null(group);
    assert_int_equal(registry_group_add(registry, group), 0);
    assert_int_equal(registry_group_add(registry, group), -EEXIST);
    registry_unlock(registry);
}

static void test_listeners(void **state)
{
    (void)state;
    struct registry *a = test_join(), *b = test_join(), *c = test_join();
    struct pkt_addr one = test_addr("10.0.0.1"), two = test_addr("10.0.0.2"), other = test_addr("10.0.0.9");
    join_group(a, "10.0.0.1");
    join_group(b, "10.0.0.1");
    join_group(b, "10.0.0.2");
    join_group(c, "10.0.0.9");
    assert_int_equal(registry_listener(a, 77, &one), 0);
    assert_int_equal(registry_listen(a, 77, NULL), 0);
    assert_int_equal(registry_listen(a, 77, NULL), -EADDRINUSE);
    assert_int_equal(registry_listen(b, 77, NULL), -EADDRINUSE);
    assert_int_equal(registry_listen(b, 77, &one), -EADDRINUSE);
    assert_int_equal(registry_listen(b, 77, &two), 0);
    assert_int_equal(registry_listen(b, 78, &one), 0);
    assert_int_equal(registry_listen(c, 77, NULL), 0); /* shares no address with them */
    assert_int_equal(registry_listener(c, 77, &one), registry_slot(a));
    assert_int_equal(registry_listener(c, 77, &two), registry_slot(b));
    assert_int_equal(registry_listener(a, 77, &other), registry_slot(c));
    registry_unlisten(a, 77, NULL);
    assert_int_equal(registry_listener(c, 77, &one), 0);
    assert_int_equal(registry_listen(b, 77, &one), 0);
    registry_leave(b);
    assert_int_equal(registry_listener(a, 77, &one), 0);
    registry_leave(c);

    struct child child = child_start("10.0.0.1");
    assert_int_equal(registry_listener(a, child.slot, &one), child.slot);
    assert_int_equal(registry_listen(a, child.slot, &one), -EADDRINUSE);
    child_end(&child, SIGKILL);
    assert_int_equal(registry_listener(a, child.slot, &one), 0);
    assert_int_equal(registry_listen(a, child.slot, &one), 0);
    registry_leave(a);
}

/* The mirror moves as the kernel's group does: the last takes the place of the one that leaves. */
static void test_group_order(void **state)
{
    (void)state;
    struct registry *member[5];
    struct pkt_addr addr = test_addr("10.0.0.3");
    for (int i = 0; i < 5; i++) {
        member[i] = test_join();
        join_group(member[i], "10.0.0.3");
    }
    assert_int_equal(registry_owner(member[4], &addr, TEST_PORT), registry_slot(member[0]));
    registry_leave(member[1]);
    assert_int_equal(registry_lock(member[0], true), 0);
    struct registry_group *group = registry_group_find(member[0], &addr, TEST_PORT, false);
    static const int order[] = {0, 2, 3, 4};
    static const unsigned index[] = {0, 2, 3, 1};
    assert_int_equal(group->members, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(group->slot[i], registry_slot(member[order[i]]));
        assert_int_equal(group->index[i], index[i]);
    }
    registry_unlock(member[0]);
    registry_leave(member[0]);
    assert_int_equal(registry_owner(member[4], &addr, TEST_PORT), registry_slot(member[2]));
    registry_leave(member[2]);
    registry_leave(member[3]);
    registry_leave(member[4]);

    struct registry *self = test_join();
    assert_int_equal(registry_owner(self, &addr, TEST_PORT), 0);
    struct child child[3];
    for (int i = 0; i < 3; i++)
        child[i] = child_start("10.0.0.3");
    child_end(&child[0], SIGKILL);
    assert_int_equal(registry_owner(self, &addr, TEST_PORT), child[1].slot);
    assert_int_equal(registry_lock(self, true), 0);
    group = registry_group_find(self, &addr, TEST_PORT, false);
    assert_int_equal(registry_group_sweep(self, group), 1);
    assert_int_equal(group->members, 2);
    assert_int_equal(group->index[0], 1);
    assert_int_equal(group->index[1], 0);
    registry_unlock(self);
    child_end(&child[1], 0);
    child_end(&child[2], SIGKILL);
    registry_leave(self);
}

static void test_forward(void **state)
{
    (void)state;
    struct registry *a = test_join(), *b = test_join();
    uint8_t data[256], buf[WIRE_PACKET_MAX];
    struct wire_packet got, packet = test_packet(data, "10.0.0.1", "10.0.0.2", 50000, 5 << 14, 99, 100, 0);
    packet.tos = 0x6b;
    packet.id_known = true;
    assert_int_equal(registry_receive(b, &got, buf, sizeof buf), 0);
    assert_int_equal(registry_forward(a, registry_slot(b), &packet), 0);
    struct pollfd ready = {.fd = registry_fd(b), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 0), 1);
    assert_int_equal(registry_receive(b, &got, buf, sizeof buf), 1);
    assert_int_equal(got.bytes, packet.bytes);
    assert_ptr_equal(got.data, buf);
    assert_memory_equal(got.data, data, packet.bytes);
    assert_memory_equal(&got.src, &packet.src, 16);
    assert_memory_equal(&got.dst, &packet.dst, 16);
    assert_int_equal(got.tos, 0x6b);
    assert_true(got.id_known);
    assert_true(test_packet_right(&got));
    assert_int_equal(registry_receive(b, &got, buf, sizeof buf), 0);

    int rc = 0; /* a queue that nobody empties fills up, and says so */
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = registry_forward(a, registry_slot(b), &packet);
    assert_int_equal(rc, -EAGAIN);
    uint32_t gone = registry_slot(b);
    registry_leave(b);
    assert_int_equal(registry_forward(a, gone, &packet), -ECONNREFUSED);
    assert_int_equal(registry_forward(a, 0, &packet), -ECONNREFUSED);
    assert_int_equal(registry_forward(a, 1023, &packet), -ECONNREFUSED);
    registry_leave(a);
}

#define NO_USER 77

/* What somebody else writes to the socket is not a packet: no nonce, wrong length, too long, another user. */
static void test_forward_hostile(void **state)
{
    (void)state;
    struct registry *self = test_join();
    uint8_t data[256], buf[512];
    struct wire_packet got, packet = test_packet(data, "10.0.0.1", "10.0.0.2", 50000, 5 << 14, 99, 100, 0);
    struct sockaddr_un name;
    socklen_t name_bytes = sizeof name;
    assert_int_equal(getsockname(registry_fd(self), (struct sockaddr *)&name, &name_bytes), 0);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    uint8_t junk[400];
    memset(junk, 0x77, sizeof junk);
    struct pollfd ready = {.fd = registry_fd(self), .events = POLLIN};
    for (size_t bytes = 0; bytes < sizeof junk; bytes += 7) {
        assert_int_equal(sendto(fd, junk, bytes, 0, (struct sockaddr *)&name, name_bytes), bytes);
        assert_int_equal(poll(&ready, 1, 0), 0); /* without the nonce it does not even wake us */
    }
    uint64_t nonce = registry_nonce(self);
    memcpy(junk, &nonce, sizeof nonce);
    for (size_t bytes = sizeof nonce; bytes < sizeof junk; bytes += 7) {
        assert_int_equal(sendto(fd, junk, bytes, 0, (struct sockaddr *)&name, name_bytes), bytes);
        assert_int_equal(registry_receive(self, &got, buf, sizeof buf), 0);
    }
    packet.net = PKT_NET_NONE;
    assert_int_equal(registry_forward(self, registry_slot(self), &packet), 0);
    assert_int_equal(registry_receive(self, &got, buf, sizeof buf), 0);
    packet.net = PKT_NET_IPV4;
    packet.bytes = 256;
    assert_int_equal(registry_forward(self, registry_slot(self), &packet), 0);
    assert_int_equal(registry_receive(self, &got, buf, 255), 0); /* longer than there is room */
    for (int other_user = 0; other_user < 2; other_user++) {     /* the same bytes, by our own user and by another */
        if (other_user && getuid() != 0) break;
        pid_t pid = fork();
        if (pid == 0) {
            if (other_user && setuid(65534) != 0) _exit(NO_USER);
            _exit(registry_forward(self, registry_slot(self), &packet) == 0 ? 0 : 2);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_USER) { /* a user namespace with one user alone */
            print_message("there is no other user here\n");
            break;
        }
        assert_int_equal(status, 0);
        assert_int_equal(registry_receive(self, &got, buf, sizeof buf), !other_user);
    }
    close(fd);
    registry_leave(self);
}

/* What keeps a process from joining is told as it is, not as "all slots are taken". */
static void test_join_fails(void **state)
{
    struct registry *none = NULL;
    char why[200] = "";

    (void)state;
    struct registry *first = test_join(); /* the file is there: what follows needs two descriptors */
    int lowest = dup(0);
    assert_true(lowest >= 0);
    close(lowest);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)lowest + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int rc = registry_join(&none, why, sizeof why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, -EMFILE);
    assert_non_null(strstr(why, "socket"));
    assert_null(none);
    registry_leave(first);
}

/* A process that goes to another network namespace meets others there, not those that it left. */
static void test_other_namespace(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct registry *before, *after;
        if (registry_join(&before, NULL, 0) != 0) _exit(1);
        if (unshare(CLONE_NEWNET) != 0) _exit(NO_USER);
        if (registry_join(&after, NULL, 0) != 0) _exit(2);
        bool apart = registry_nonce(before) != registry_nonce(after);
        registry_leave(after);
        registry_leave(before);
        _exit(apart ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_USER) {
        print_message("no network namespace can be made here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* A process that was killed while it took a member out leaves the next one twice. */
static void test_member_twice(void **state)
{
    (void)state;
    struct registry *a = test_join(), *b = test_join();
    struct pkt_addr addr = test_addr("10.0.0.9");
    join_group(a, "10.0.0.9");
    join_group(b, "10.0.0.9");
    assert_int_equal(registry_lock(a, true), 0);
    struct registry_group *group = registry_group_find(a, &addr, TEST_PORT, false);
    group->slot[2] = group->slot[1];
    group->index[2] = group->index[1];
    group->members = 3;
    assert_int_equal(registry_group_sweep(a, group), 1);
    assert_int_equal(group->members, 2);
    assert_int_equal(registry_group_member(group, registry_slot(a)), 0);
    assert_int_equal(registry_group_member(group, registry_slot(b)), 1);
    registry_unlock(a);
    registry_leave(a);
    registry_leave(b);
}

/* A child lets go of the parent's registry without changing it. */
static void test_fork(void **state)
{
    (void)state;
    struct registry *self = test_join();
    uint32_t slot = registry_slot(self);
    struct pkt_addr addr = test_addr("10.0.0.4");
    join_group(self, "10.0.0.4");
    assert_int_equal(registry_listen(self, 5, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        registry_leave(self);
        struct registry *own;
        if (registry_join(&own, NULL, 0) != 0) _exit(1);
        if (registry_slot(own) == slot || registry_listener(own, 5, &addr) != slot) _exit(2);
        registry_leave(own);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(registry_listener(self, 5, &addr), slot);
    assert_int_equal(registry_pid(self, slot), getpid());
    registry_leave(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),           cmocka_unit_test(test_slots_rotate),
        cmocka_unit_test(test_slots_run_out),   cmocka_unit_test(test_listeners),
        cmocka_unit_test(test_group_order),     cmocka_unit_test(test_forward),
        cmocka_unit_test(test_forward_hostile), cmocka_unit_test(test_fork),
        cmocka_unit_test(test_join_fails),      cmocka_unit_test(test_member_twice),
        cmocka_unit_test(test_other_namespace),
    };
    return cmocka_run_group_tests(tests, tests_begin, tests_done);
}
