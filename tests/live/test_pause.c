/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses of the network, obeyed by the live adapter: two namespaces, a veth pair between them, the packet wire.
 *
 * Frames are real: PFC and 802.3x frames are sent by a packet socket beside the far adapter, and what the far adapter
 * itself asks for is captured and judged by tshark, where that is installed.  The line rate is set to 1 Mb/s for what a
 * quantum lasts (512 us; 65,535 of them half a minute), so that a pause is over when the test says so.  Without the
 * right to make namespaces: skipped.
 */
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "live/counters.h"
#include "live/live_int.h"
#include "loop_pair.h"
#include "packet/capfile/capfile.h"
#include "wires.h"

#define PRIO 3
#define TOS (PRIO << 5)
#define BYTES 4096u
#define FOREVER 0xffff
#define QUANTUM_PS (512 * PS_US) /* at 1 Mb/s */
#define LOOKS 60000u             /* a millisecond each: the end of what hangs */

static int space[2] = {-1, -1}; /* namespaces: of rl0, of rl1 */

static int slow_end = -1;

static void enter(int end)
{
    setenv("ROCELAB_RECEIVE", end == slow_end ? "8M" : "0", 1);
    assert_int_equal(setns(space[end], CLONE_NEWNET), 0);
}

static int run_in(int end, const char *const argument[])
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        if (setns(space[end], CLONE_NEWNET) < 0 || !freopen("/dev/null", "w", stderr)) _exit(126);
        execvp(argument[0], (char *const *)(uintptr_t)argument);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

#define RUN_IN(end, ...) run_in(end, (const char *const[]){__VA_ARGS__, NULL})

static bool make_space(int *ret)
{
    if (unshare(CLONE_NEWNET) < 0) return false;
    *ret = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return *ret >= 0;
}

/* The kernel tells of a cable that was plugged in a while later. */
static bool runs(int end, const char *ifname)
{
    struct ifreq request = {0};
    bool up = false;
    enter(end);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    memcpy(request.ifr_name, ifname, strlen(ifname));
    for (unsigned i = 0; i < LOOKS && !up; i++) {
        up = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && request.ifr_flags & IFF_RUNNING;
        if (!up) poll(NULL, 0, 1);
    }
    close(fd);
    return up;
}

static bool make_cable(void)
{
    char own[16];
    snprintf(own, sizeof own, "%d", (int)getpid()); /* in the second namespace */
    if (!make_space(&space[0]) || !make_space(&space[1])) return false;
    return RUN_IN(0, "ip", "link", "add", "rl0", "type", "veth", "peer", "name", "rl1") == 0 &&
           RUN_IN(0, "ip", "link", "set", "rl1", "netns", own) == 0 &&
           RUN_IN(0, "ip", "addr", "add", "10.73.0.1/24", "dev", "rl0") == 0 &&
           RUN_IN(1, "ip", "addr", "add", "10.73.0.2/24", "dev", "rl1") == 0 &&
           RUN_IN(0, "ip", "link", "set", "lo", "up") == 0 && RUN_IN(1, "ip", "link", "set", "lo", "up") == 0 &&
           RUN_IN(0, "ip", "link", "set", "rl0", "up") == 0 && RUN_IN(1, "ip", "link", "set", "rl1", "up") == 0 &&
           runs(0, "rl0") && runs(1, "rl1");
}

static int begin(void **state)
{
    if (tests_begin(state) != 0) return -1;
    unsetenv("ROCELAB_DEVICE");
    setenv("ROCELAB_WIRE", "packet", 1);
    setenv("ROCELAB_RATE", "1M", 1);
    setenv("ROCELAB_CC", "none", 1);
    if (make_cable()) return 0;
    space[0] = -1;
    print_message("skipped: no right to make network namespaces\n");
    return 0;
}

/* Two adapters, and a queue pair in each of two priorities: 0 and PRIO. */
struct bench {
    struct loop_pair pair;
    struct device_qp *high[2]; /* of PRIO */
    int fd;                    /* sends frames from rl1 */
};

static void send_frame(const struct bench *b, struct pkt pkt)
{
    uint8_t frame[60] = {0};
    struct pkt_cold cold = {.dmac = {0x01, 0x80, 0xc2, 0, 0, 1}, .smac = {2, 0, 0, 0, 0, 9}};
    assert_true(codec_emit(&pkt, &cold, NULL, frame, sizeof frame) > 0);
    assert_int_equal(send(b->fd, frame, sizeof frame, 0), sizeof frame);
}

static void send_pfc(const struct bench *b, uint16_t quanta)
{
    send_frame(b, (struct pkt){.kind = PKT_PFC, .pfc_enable = 1 << PRIO, .quanta = {[PRIO] = quanta}});
}

static void post(struct bench *b, bool high, uint64_t wr_id)
{
    struct loop_pair *pair = &b->pair;
    struct device_sge sge = pair_sge(&pair->end[0], 0, BYTES);
    struct device_send send = {.wr = {.verb = NIC_WRITE,
                                      .wr_id = wr_id,
                                      .flags = NIC_SIGNALED,
                                      .rkey = device_mr_key(pair->end[1].mr),
                                      .remote_va = (uintptr_t)pair->end[1].memory},
                               .sge = &sge,
                               .sges = 1};
    assert_int_equal(device_post_send(high ? b->high[0] : pair->end[0].qp, &send, false), 0);
}

static void done(struct bench *b, uint64_t wr_id)
{
    struct nic_cqe cqe = pair_wait(&b->pair, 0);
    assert_int_equal(cqe.wr_id, wr_id);
    assert_int_equal(cqe.status, NIC_SUCCESS);
}

static void bench_open(struct bench *b)
{
    struct sockaddr_ll name = {.sll_family = AF_PACKET};
    struct loop_options options = {
        .ifname = "rl0", .far_ifname = "rl1", .enter = enter, .timeout = 20, .bytes = 2 << 20};
    pair_open(&b->pair, &options);
    pair_more(&b->pair, TOS, b->high);
    b->fd = socket(AF_PACKET, SOCK_RAW, 0);
    name.sll_ifindex = (int)if_nametoindex("rl1");
    assert_int_equal(bind(b->fd, (struct sockaddr *)&name, sizeof name), 0);
    post(b, false, 1);
    done(b, 1);
    post(b, true, 2);
    done(b, 2);
}

static void bench_close(struct bench *b)
{
    for (int e = 0; e < 2; e++)
        assert_int_equal(device_qp_destroy(b->high[e]), 0);
    pair_close(&b->pair);
    close(b->fd);
}

static const struct nic_prio_counters *counters(struct bench *b, int end, unsigned prio)
{
    return &live_counters(b->pair.end[end].live)->prio[prio];
}

/* Until a counter of an end's priority, by its place in the struct, has this value at least. */
static void until(struct bench *b, int end, unsigned prio, size_t offset, uint64_t value)
{
    uint64_t is = 0;
    for (unsigned i = 0; i < LOOKS; i++) {
        memcpy(&is, (const char *)counters(b, end, prio) + offset, sizeof is);
        if (is >= value) return;
        poll(NULL, 0, 1);
    }
    fail_msg("counter is %llu, not %llu", (unsigned long long)is, (unsigned long long)value);
}

#define UNTIL(b, end, prio, name, value) until(b, end, prio, offsetof(struct nic_prio_counters, name), value)

/* A paused priority sends nothing while others go on; XON ends it. */
static void test_one_priority(void **state)
{
    (void)state;
    if (space[0] < 0) skip();
    struct bench b;
    bench_open(&b);
    send_pfc(&b, FOREVER);
    UNTIL(&b, 0, PRIO, rx_pause, 1);
    uint64_t sent = counters(&b, 0, PRIO)->tx_packets, others = counters(&b, 0, 0)->tx_packets;
    post(&b, true, 100);
    for (uint64_t i = 0; i < 20; i++) {
        post(&b, false, i);
        done(&b, i); /* not 100 */
    }
    assert_int_equal(counters(&b, 0, PRIO)->tx_packets, sent);
    assert_true(counters(&b, 0, 0)->tx_packets >= others + 20 * BYTES / 1024);
    send_pfc(&b, 0);
    done(&b, 100);
    const struct nic_prio_counters *c = counters(&b, 0, PRIO);
    assert_true(c->tx_packets >= sent + BYTES / 1024);
    assert_int_equal(c->rx_pause, 1);
    assert_int_equal(c->rx_resume, 1);
    assert_int_equal(c->rx_pause_transition, 1);
    assert_true(c->rx_pause_ps > 0);
    assert_int_equal(counters(&b, 0, 0)->rx_pause, 0);
    bench_close(&b);
}

/* Without XON a pause lasts as long as its quanta say, by the adapter's own books. */
static void test_quanta_run_out(void **state)
{
    (void)state;
    if (space[0] < 0) skip();
    struct bench b;
    bench_open(&b);
    send_pfc(&b, 100);
    UNTIL(&b, 0, PRIO, rx_pause, 1);
    post(&b, true, 5);
    done(&b, 5);
    assert_int_equal(counters(&b, 0, PRIO)->rx_resume, 0);
    assert_int_equal(counters(&b, 0, PRIO)->rx_pause_ps, 100 * QUANTUM_PS);
    bench_close(&b);
}

/* 802.3x stops every priority. */
static void test_all_priorities(void **state)
{
    (void)state;
    if (space[0] < 0) skip();
    struct bench b;
    bench_open(&b);
    send_frame(&b, (struct pkt){.kind = PKT_PAUSE, .quanta = {FOREVER}});
    for (unsigned p = 0; p < 8; p++)
        UNTIL(&b, 0, p, rx_pause, 1);
    uint64_t sent = counters(&b, 0, 0)->tx_packets, high = counters(&b, 0, PRIO)->tx_packets;
    struct nic_cqe cqe;
    post(&b, false, 6);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(device_poll(b.pair.end[0].cq, &cqe, 1), 0);
    assert_int_equal(counters(&b, 0, 0)->tx_packets, sent);
    assert_int_equal(counters(&b, 0, PRIO)->tx_packets, high);
    send_frame(&b, (struct pkt){.kind = PKT_PAUSE, .quanta = {0}});
    done(&b, 6);
    bench_close(&b);
}

static uint64_t exported(const char *ifname, const char *name)
{
    struct device_counter_set *set;
    unsigned count;
    uint64_t value = 0;
    assert_int_equal(live_counters_read(&set, &count), 0);
    for (unsigned i = 0; i < count; i++)
        for (unsigned c = 0; c < set[i].counters && strcmp(set[i].ifname, ifname) == 0; c++)
            if (strcmp(set[i].counter[c].name, name) == 0) value += set[i].counter[c].value;
    free(set);
    return value;
}

/* What `rocelab counters` reads. */
static void test_counters_are_shown(void **state)
{
    (void)state;
    if (space[0] < 0) skip();
    struct bench b;
    bench_open(&b);
    send_pfc(&b, 100);
    unsigned looks = 0;
    while (exported("rl0", "rx_prio3_pause") == 0 && looks++ < LOOKS)
        poll(NULL, 0, 1);
    assert_int_equal(exported("rl0", "rx_prio3_pause"), 1);
    assert_int_equal(exported("rl0", "rx_prio3_pause_transition"), 1);
    assert_int_equal(exported("rl0", "wire_rx_pauses"), 1);
    assert_int_equal(exported("rl0", "rx_prio0_pause"), 0);
    bench_close(&b);
}

/* A link that goes down ends a pause; what is posted meanwhile is sent when it comes up. */
static void test_link(void **state)
{
    (void)state;
    if (space[0] < 0) skip();
    struct bench b;
    bench_open(&b);
    struct device *live = b.pair.end[0].live;
    send_pfc(&b, FOREVER);
    UNTIL(&b, 0, PRIO, rx_pause, 1);
    assert_int_equal(RUN_IN(1, "ip", "link", "set", "rl1", "down"), 0);
    bool down = false;
    for (unsigned i = 0; i < LOOKS && !down; i++) {
        assert_int_equal(live_enter(live), 0);
        down = live->link_down;
        live_leave(live);
        poll(NULL, 0, 1);
    }
    assert_true(down);
    uint64_t sent = live_wire_counters(live)->tx_packets;
    post(&b, true, 7);
    assert_int_equal(live_wire_counters(live)->tx_packets, sent);
    assert_int_equal(RUN_IN(1, "ip", "link", "set", "rl1", "up"), 0);
    done(&b, 7); /* no XON came */
    assert_int_equal(counters(&b, 0, PRIO)->rx_resume, 0);
    bench_close(&b);
}

/* --- the adapter's own pauses, as frames --- */

/* A socket that is shown the pause frames which arrive at rl0. */
static int capture_open(void)
{
    struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_protocol = htons(0x8808)};
    enter(0);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
    name.sll_ifindex = (int)if_nametoindex("rl0");
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    enter(1);
    return fd;
}

static void capture_write(int fd, const char *path)
{
    struct capwriter *writer;
    uint8_t frame[2048];
    ssize_t bytes;
    assert_int_equal(capwriter_open(path, 1, &writer), 0); /* Ethernet */
    while ((bytes = recv(fd, frame, sizeof frame, 0)) > 0)
        capwriter_write(writer, 0, frame, (uint32_t)bytes, (uint32_t)bytes);
    capwriter_close(writer);
    close(fd);
}

/* What tshark reads of priority 3 in each PFC frame that pauses or resumes it, a line each; false: no tshark. */
static bool judge(const char *capture, const char *into)
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        if (!freopen(into, "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(126);
        execlp("tshark", "tshark", "-r", capture, "-Y", "macc.opcode==0x0101 && macc.cbfc.enbv.c3==1 && !_ws.malformed",
               "-T", "fields", "-e", "macc.cbfc.pause_time.c3", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == 127 << 8) return false;
    assert_int_equal(status, 0);
    return true;
}

static void count_lines(const char *path, uint64_t *ret_pauses, uint64_t *ret_resumes)
{
    char line[200];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    *ret_pauses = *ret_resumes = 0;
    while (fgets(line, sizeof line, in)) {
        bool pauses = strtoul(line, NULL, 0) > 0;
        *ret_pauses += pauses;
        *ret_resumes += !pauses;
    }
    fclose(in);
}

static void test_slow_receiver(void **state)
{
    (void)state;
    if (space[0] < 0) skip();
    struct bench b;
    char path[100], verdict[100];
    snprintf(path, sizeof path, "%s/pauses.pcap", test_folder);
    snprintf(verdict, sizeof verdict, "%s/verdict", test_folder);
    slow_end = 1;
    bench_open(&b);
    slow_end = -1;
    int capture = capture_open();
    struct device *slow = b.pair.end[1].live;
    for (uint64_t i = 0; i < 2; i++) { /* 1 MB each is more than the receiver's threshold */
        struct device_sge sge = pair_sge(&b.pair.end[0], 0, 1 << 20);
        struct device_send send = {.wr = {.verb = NIC_WRITE,
                                          .wr_id = i,
                                          .flags = NIC_SIGNALED,
                                          .rkey = device_mr_key(b.pair.end[1].mr),
                                          .remote_va = (uintptr_t)b.pair.end[1].memory},
                                   .sge = &sge,
                                   .sges = 1};
        assert_int_equal(device_post_send(b.high[0], &send, false), 0);
    }
    for (uint64_t i = 0; i < 2; i++)
        done(&b, i);
    UNTIL(&b, 1, PRIO, tx_resume, 1);
    uint64_t pauses = counters(&b, 1, PRIO)->tx_pause, resumes = counters(&b, 1, PRIO)->tx_resume;
    assert_true(pauses > 0 && resumes > 0);
    UNTIL(&b, 0, PRIO, rx_pause, pauses);
    UNTIL(&b, 0, PRIO, rx_resume, resumes);
    assert_int_equal(counters(&b, 1, 0)->tx_pause, 0);
    assert_int_equal(live_wire_counters(slow)->tx_pauses, pauses + resumes);
    capture_write(capture, path);
    if (judge(path, verdict)) {
        uint64_t seen, seen_resumes;
        count_lines(verdict, &seen, &seen_resumes);
        assert_int_equal(seen, pauses);
        assert_int_equal(seen_resumes, resumes);
    } else {
        print_message("tshark is not installed: frames are not judged\n");
    }
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_priority),       cmocka_unit_test(test_quanta_run_out),
        cmocka_unit_test(test_all_priorities),     cmocka_unit_test(test_slow_receiver),
        cmocka_unit_test(test_counters_are_shown), cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, begin, tests_done);
}
