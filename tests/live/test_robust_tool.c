/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process with an adapter that does what it is told on standard input, a line at a time, and answers a line each:
 * test_robust.py starts several and lets them suffer.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/counters.h"
#include "live/live_int.h"

#define QPS_MAX 10000u
#define BYTES (4u << 20)
#define HANG_S 60

static struct device *live;
static struct device_cq *cq;
static struct device_mr *mr;
static struct device_qp *qp[QPS_MAX];
static unsigned qps;
static uint8_t *memory;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int open_all(char *why, size_t why_bytes)
{
    struct device_info *list;
    unsigned count;
    int error = device_list(&list, &count);

    snprintf(why, why_bytes, "no device");
    if (error < 0 || count == 0) return error < 0 ? error : -ENODEV;
    error = live_open_alone(&list[0], &live, why, why_bytes);
    free(list);
    if (error < 0) return error;
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -ENOMEM;
    error = device_mr_create(live, 1, memory, BYTES, (uintptr_t)memory, NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE, &mr);
    return error < 0 ? error : device_cq_create(live, 1u << 15, NULL, NULL, &cq);
}

static void close_all(void)
{
    while (qps)
        device_qp_destroy(qp[--qps]);
    if (live == NULL) return;
    device_cq_destroy(cq);
    device_mr_destroy(mr);
    device_close(live);
    munmap(memory, BYTES);
    live = NULL;
}

static int make(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct device_qp_init init = {
            .transport = NIC_RC, .pd = 1, .send_entries = 4, .recv_entries = 4, .send_sges = 1, .recv_sges = 1};
        init.send_cq = init.recv_cq = cq;
        int error = qps < QPS_MAX ? device_qp_create(live, &init, &qp[qps]) : -ENOSPC;
        if (error < 0) return error;
        qps++;
    }
    return 0;
}

static int connect_to(unsigned i, uint32_t remote, uint8_t timeout, uint8_t retry)
{
    struct device_qp_attr init = {
        .mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS, .state = NIC_INIT, .access = NIC_REMOTE_ALL};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH |
                                         DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN | DEVICE_ATTR_MIN_RNR,
                                 .state = NIC_RTR,
                                 .mtu = 1024,
                                 .path = {.remote = device_info_of(live)->gid[0].addr},
                                 .remote_qp = remote,
                                 .min_rnr_timer = 1};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN | DEVICE_ATTR_TIMEOUT |
                                         DEVICE_ATTR_RETRY | DEVICE_ATTR_RNR_RETRY | DEVICE_ATTR_MAX_READ,
                                 .state = NIC_RTS,
                                 .timeout = timeout,
                                 .retry = retry,
                                 .rnr_retry = 7,
                                 .max_read = 4};
    int error = device_qp_modify(qp[i], &init);
    if (error == 0) error = device_qp_modify(qp[i], &rtr);
    return error < 0 ? error : device_qp_modify(qp[i], &rts);
}

static int post(unsigned i, uint8_t verb, uint64_t va, uint32_t key, uint32_t bytes)
{
    struct device_sge sge = {.addr = (uintptr_t)memory + BYTES / 2, .length = bytes, .key = device_mr_key(mr)};
    struct device_send send = {
        .wr = {.wr_id = i, .verb = verb, .flags = NIC_SIGNALED, .remote_va = va, .rkey = key}, .sge = &sge, .sges = 1};
    return device_post_send(qp[i], &send, false);
}

static int receive(unsigned i)
{
    struct device_sge sge = {.addr = (uintptr_t)memory, .length = 64, .key = device_mr_key(mr)};
    return device_post_recv(qp[i], &(struct device_recv){.wr_id = i, .sge = &sge, .sges = 1});
}

static const char *wait_one(void)
{
    struct nic_cqe cqe;

    for (double until = seconds() + HANG_S; seconds() < until;)
        if (device_poll(cq, &cqe, 1) == 1) return nic_status_name(cqe.status);
    return "HANG";
}

/* All queue pairs in pairs with each other, one WRITE each. */
static unsigned use_pairs(void)
{
    unsigned good = 0;

    for (unsigned i = 0; i < qps; i++)
        if (connect_to(i, device_qp_number(qp[i ^ 1]), 14, 7) < 0) return 0;
    for (unsigned i = 0; i < qps; i++) {
        if (post(i, NIC_WRITE, (uintptr_t)memory + i * 64, device_mr_key(mr), 64) < 0) return good;
        if (i % 128 == 127)
            for (unsigned n = 0; n < 128; n++)
                good += strcmp(wait_one(), "success") == 0;
    }
    for (unsigned n = qps - qps % 128; n < qps; n++)
        good += strcmp(wait_one(), "success") == 0;
    return good;
}

static unsigned fds(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir) closedir(dir);
    return count;
}

/* The devices of this process that others see the counters of. */
static unsigned own_counters(void)
{
    struct device_counter_set *set;
    unsigned count, own = 0;

    if (live_counters_read(&set, &count) < 0) return 0;
    for (unsigned i = 0; i < count; i++)
        own += set[i].pid == (uint32_t)getpid();
    free(set);
    return own;
}

/* The child may not disturb us; it may open a device of its own. */
static int forked(void)
{
    char why[200];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct nic_cqe cqe;
        int refused = device_poll(cq, &cqe, 1) == -ENODEV && post(0, NIC_WRITE, 0, 0, 8) == -ENODEV;
        close_all();
        if (open_all(why, sizeof why) < 0 || make(2) < 0) _exit(2);
        unsigned good = use_pairs();
        close_all();
        _exit(refused && good == 2 ? 0 : 1);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void on_qp_line(const char *word, const char *rest)
{
    unsigned i = 0, bytes = 0, timeout = 0, retry = 0, value = 0;
    unsigned long long va = 0, key = 0;

    if (strcmp(word, "qps") == 0 && sscanf(rest, "%u", &i) == 1) {
        int error = make(i);
        if (error < 0)
            printf("error %s\n", strerror(-error));
        else
            printf("ok %u\n", device_qp_number(qp[qps - i]));
    } else if (strcmp(word, "connect") == 0 && sscanf(rest, "%u %llu %u %u", &i, &key, &timeout, &retry) == 4) {
        int error = connect_to(i, (uint32_t)key, (uint8_t)timeout, (uint8_t)retry);
        printf("%s\n", error < 0 ? strerror(-error) : "ok");
    } else if (strcmp(word, "number") == 0 && sscanf(rest, "%u", &i) == 1) {
        printf("%u\n", device_qp_number(qp[i]));
    } else if (strcmp(word, "post") == 0 && sscanf(rest, "%u %llu %llu %u %u", &i, &va, &key, &bytes, &value) == 5) {
        memset(memory + BYTES / 2, (int)value, bytes);
        int error = post(i, NIC_WRITE, va, (uint32_t)key, bytes);
        printf("%s\n", error < 0 ? strerror(-error) : "ok");
    } else if (strcmp(word, "read") == 0 && sscanf(rest, "%u %llu %llu %u", &i, &va, &key, &bytes) == 4) {
        int error = post(i, NIC_READ, va, (uint32_t)key, bytes);
        printf("%s\n", error < 0 ? strerror(-error) : "ok");
    } else if (strcmp(word, "send") == 0 && sscanf(rest, "%u", &i) == 1) {
        int error = post(i, NIC_SEND, 0, 0, 64);
        printf("%s\n", error < 0 ? strerror(-error) : "ok");
    } else if (strcmp(word, "receive") == 0 && sscanf(rest, "%u", &i) == 1) {
        int error = receive(i);
        printf("%s\n", error < 0 ? strerror(-error) : "ok");
    } else if (strcmp(word, "drop") == 0) {
        device_qp_destroy(qp[--qps]);
        printf("ok\n");
    } else {
        printf("what?\n");
    }
}

static void on_line(const char *word, const char *rest)
{
    char why[200] = "";

    if (strcmp(word, "open") == 0) {
        int error = open_all(why, sizeof why);
        if (error < 0)
            printf("error %d %s\n", -error, why);
        else
            printf("ok %u\n", registry_slot(live->registry));
    } else if (strcmp(word, "fds") == 0) {
        printf("%u\n", fds());
    } else if (strcmp(word, "limit") == 0) {
        struct rlimit limit = {strtoul(rest, NULL, 10), 4096};
        printf("%d\n", setrlimit(RLIMIT_NOFILE, &limit));
    } else if (strcmp(word, "memory") == 0) {
        printf("%llu %u\n", (unsigned long long)(uintptr_t)memory, device_mr_key(mr));
    } else if (strcmp(word, "byte") == 0) {
        printf("%u\n", memory[strtoul(rest, NULL, 10)]);
    } else if (strcmp(word, "wait") == 0) {
        printf("%s\n", wait_one());
    } else if (strcmp(word, "pairs") == 0) {
        printf("%u\n", use_pairs());
    } else if (strcmp(word, "fork") == 0) {
        printf("%d\n", forked());
    } else if (strcmp(word, "close") == 0) {
        close_all();
        printf("ok\n");
    } else if (strcmp(word, "counters") == 0) {
        printf("%u\n", own_counters());
    } else if (strcmp(word, "forged") == 0) {
        live_enter(live);
        printf("%llu\n", (unsigned long long)live->own.rx_forged);
        live_leave(live);
    } else if (strcmp(word, "shm") == 0) {
        printf("%llu\n", (unsigned long long)live_wire_counters(live)->tx_shm_packets);
    } else if (strcmp(word, "lost") == 0) {
        printf("%llu %llu\n", (unsigned long long)live_wire_counters(live)->rx_overflow,
               (unsigned long long)live_counters(live)->implied_nak_seq_err);
    } else {
        on_qp_line(word, rest);
    }
}

int main(void)
{
    char line[256], word[32];

    while (fgets(line, sizeof line, stdin)) {
        int at = 0;
        if (sscanf(line, "%31s%n", word, &at) != 1) continue;
        if (strcmp(word, "exit") == 0) return 0; /* without closing: most programs do */
        if (strcmp(word, "last") == 0) return strcmp(wait_one(), "success") != 0;
        on_line(word, line + at);
        fflush(stdout);
    }
    return 0;
}
