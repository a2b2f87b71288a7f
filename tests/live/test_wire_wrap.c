/* SPDX-License-Identifier: Apache-2.0 */
/* Wires around a wire, over one that only remembers: fault, pcap, trace. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "packet/capfile/capfile.h"
#include "wires.h"

#define MEMORY 4096

struct memory_wire { /* tx goes to a list, rx hands the list out again */
    struct wire wire;
    unsigned sent, received, room, calls;
    bool closed;
    struct wire_packet packet[MEMORY];
    uint8_t data[MEMORY][160];
};

static int memory_tx(struct wire *wire, const struct wire_packet *packet, unsigned count, ps_t now)
{
    (void)now;
    struct memory_wire *memory = (struct memory_wire *)wire;
    unsigned taken = 0;
    memory->calls++;
    for (; taken < count && memory->room > 0; taken++, memory->room--) {
        assert_true(memory->sent < MEMORY && packet[taken].bytes <= 160);
        memory->packet[memory->sent] = packet[taken];
        memory->packet[memory->sent].data = memory->data[memory->sent];
        memcpy(memory->data[memory->sent++], packet[taken].data, packet[taken].bytes);
    }
    wire->counters.tx_packets += taken;
    return (int)taken;
}

static int memory_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    (void)now;
    struct memory_wire *memory = (struct memory_wire *)wire;
    unsigned count = 0;
    while (count < max && memory->received < memory->sent)
        ret[count++] = memory->packet[memory->received++];
    return (int)count;
}

static int memory_fd(struct wire *wire)
{
    (void)wire;
    return 12345;
}

static ps_t memory_deadline(struct wire *wire)
{
    (void)wire;
    return PS_NEVER;
}

static int memory_add(struct wire *wire, const struct pkt_addr *addr)
{
    (void)addr;
    snprintf(wire->why, sizeof wire->why, "no");
    return -EADDRINUSE;
}

static void memory_remove(struct wire *wire, const struct pkt_addr *addr)
{
    (void)wire;
    (void)addr;
}

static void memory_close(struct wire *wire)
{
    ((struct memory_wire *)wire)->closed = true;
}

static const struct wire_ops memory_ops = {.rx = memory_rx,
                                           .tx = memory_tx,
                                           .fd = memory_fd,
                                           .deadline = memory_deadline,
                                           .add_address = memory_add,
                                           .remove_address = memory_remove,
                                           .close = memory_close};

static struct memory_wire *memory_new(void)
{
    struct memory_wire *memory = calloc(1, sizeof *memory);
    assert_non_null(memory);
    memory->wire = (struct wire){.ops = &memory_ops, .run_max = 64, .run_bytes = 65000, .source_ports = 1};
    memory->room = UINT32_MAX;
    return memory;
}

static void test_fault_text(void **state)
{
    (void)state;
    struct wire_fault fault;
    char why[200];
    assert_int_equal(wire_fault_parse("loss=1%,duplicate=0.1%,reorder=2%,corrupt=0.05%,delay=10us@5%,seed=7", &fault,
                                      why, sizeof why),
                     0);
    assert_int_equal(fault.loss, 10000);
    assert_int_equal(fault.duplicate, 1000);
    assert_int_equal(fault.reorder, 20000);
    assert_int_equal(fault.corrupt, 500);
    assert_int_equal(fault.delay_ps, 10 * PS_US);
    assert_int_equal(fault.delay_ppm, 50000);
    assert_int_equal(fault.seed, 7);
    assert_int_equal(fault.packets, 0);
    assert_int_equal(wire_fault_parse("loss=1%,packets=500", &fault, why, sizeof why), 0);
    assert_int_equal(fault.packets, 500);
    assert_int_equal(wire_fault_parse("delay=1ms", &fault, why, sizeof why), 0);
    assert_int_equal(fault.delay_ppm, 1000000);
    assert_int_equal(fault.loss, 0);
    assert_int_equal(wire_fault_parse("", &fault, why, sizeof why), 0);
    static const char *const wrong[] = {
        "loss",        "loss=",
        "loss=1",      "loss=101%",
        "gain=1%",     "delay=5",
        "delay=1us@x", "delay=1us@200%",
        "seed=x",      "loss=1%,,",
        "packets=x",   "packets=0",
        "=1%",         "loss=00000000000000000000000000000000000000000000000000000000000000000001%"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        struct wire_fault before = fault;
        assert_int_equal(wire_fault_parse(wrong[i], &fault, why, sizeof why), -EINVAL);
        assert_int_not_equal(why[0], '\0');
        assert_memory_equal(&before, &fault, sizeof fault);
    }
}

static struct wire_packet numbered(uint8_t *data, uint32_t tag)
{
    return test_packet(data, "10.0.0.1", "10.0.0.2", 0xc000, 5 << 14, tag, 64, 0);
}

/* Sends `count` packets in bursts of `burst`; what comes out is in the memory wire. */
static struct memory_wire *through_fault(const struct wire_fault *fault, unsigned count, unsigned burst,
                                         struct wire_counters *ret)
{
    static uint8_t data[WIRE_BURST][128];
    struct memory_wire *memory = memory_new();
    struct wire *wire;
    ps_t clock = PS_S;
    assert_int_equal(wire_fault_open(&memory->wire, fault, &wire), 0);
    assert_int_equal(wire->run_max, 1);
    assert_int_equal(wire_fd(wire), 12345);
    for (unsigned sent = 0; sent < count;) {
        struct wire_packet packet[WIRE_BURST];
        unsigned now = count - sent < burst ? count - sent : burst;
        for (unsigned i = 0; i < now; i++)
            packet[i] = numbered(data[i], sent + i);
        memory->room = burst == 7 ? 5 : UINT32_MAX; /* a wire that is full now and then */
        int taken = wire_tx(wire, packet, now, clock);
        assert_in_range(taken, 0, now);
        sent += (unsigned)taken;
    }
    memory->room = UINT32_MAX;
    struct wire_packet none[1];
    for (int turn = 0; turn < 20000 && wire_deadline(wire) != PS_NEVER; turn++) {
        clock += 100 * PS_US;
        wire_rx(wire, none, 0, clock);
    }
    assert_int_equal(wire_deadline(wire), PS_NEVER);
    wire_rx(wire, none, 0, clock);
    *ret = wire->counters;
    wire_close(wire);
    assert_true(memory->closed);
    return memory;
}

static void test_fault_none(void **state)
{
    (void)state;
    struct wire_fault fault = {.seed = 3};
    struct wire_counters counters;
    struct memory_wire *memory = through_fault(&fault, 1000, 64, &counters);
    assert_int_equal(memory->sent, 1000);
    assert_int_equal(memory->calls, 16); /* bursts stay bursts */
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(test_tag(&memory->packet[i]), i);
    free(memory);
}

static void test_fault_all(void **state)
{
    (void)state;
    struct wire_fault fault = {.loss = 50000, .duplicate = 40000, .reorder = 30000, .corrupt = 20000, .seed = 9};
    static unsigned first_seen[3][3000];
    static const unsigned bursts[3] = {1, 64, 7};
    for (int round = 0; round < 3; round++) {
        struct wire_counters counters;
        struct memory_wire *memory = through_fault(&fault, 3000, bursts[round], &counters);
        unsigned *seen = first_seen[round], lost = 0, damaged = 0, out_of_order = 0;
        uint32_t highest = 0;
        for (unsigned i = 0; i < memory->sent; i++) {
            if (!test_packet_right(&memory->packet[i])) {
                damaged++;
                continue;
            }
            uint32_t tag = test_tag(&memory->packet[i]);
            assert_true(tag < 3000);
            seen[tag]++;
            out_of_order += tag < highest;
            if (tag > highest) highest = tag;
        }
        for (unsigned i = 0; i < 3000; i++)
            lost += seen[i] == 0;
        assert_in_range(counters.fault_lost, 90, 220);
        assert_in_range(counters.fault_duplicated, 60, 180);
        assert_in_range(counters.fault_reordered, 40, 140);
        assert_in_range(counters.fault_corrupted, 25, 95);
        assert_int_equal(memory->sent, 3000 - counters.fault_lost + counters.fault_duplicated);
        assert_in_range(lost, counters.fault_lost, counters.fault_lost + counters.fault_corrupted);
        /* resv8a is not covered: a bit flipped there is no damage */
        assert_in_range(damaged, counters.fault_corrupted - 6, counters.fault_corrupted + 6);
        assert_true(out_of_order >= counters.fault_reordered / 2);
        assert_int_equal(counters.tx_packets, memory->sent);
        free(memory);
    }
    /* the same packets meet the same fate, however they are cut */
    assert_memory_equal(first_seen[0], first_seen[1], sizeof first_seen[0]);
    assert_memory_equal(first_seen[0], first_seen[2], sizeof first_seen[0]);
}

/* The first packets suffer, the others do not. */
static void test_fault_first(void **state)
{
    static const unsigned bursts[] = {1, 7, 64};
    struct wire_fault fault = {.loss = 1000000, .seed = 3, .packets = 100};
    struct wire_counters counters;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct memory_wire *memory = through_fault(&fault, 1000, bursts[i], &counters);
        assert_int_equal(counters.fault_lost, 100);
        assert_int_equal(memory->sent, 900);
        free(memory);
    }
}

static void test_fault_delay(void **state)
{
    (void)state;
    struct wire_fault fault = {.delay_ppm = 1000000, .delay_ps = 2 * PS_MS, .seed = 1};
    struct wire_counters counters;
    struct memory_wire *memory = through_fault(&fault, 100, 50, &counters);
    assert_int_equal(counters.fault_delayed, 100);
    assert_int_equal(memory->sent, 100);
    free(memory);
    memory = through_fault(&fault, 2000, 64, &counters); /* more than it can hold: lost, and counted */
    assert_int_equal(counters.fault_delayed + counters.fault_lost, 2000);
    assert_int_equal(memory->sent, counters.fault_delayed);
    free(memory);
}

static int pcap_open(struct wire *inner, const char *path, struct wire **ret)
{
    struct capwriter_name name = {.size = 0};
    snprintf(name.path, sizeof name.path, "%s", path);
    return wire_pcap_open(inner, &name, ret);
}

static void test_pcap(void **state)
{
    (void)state;
    char path[200], error[CAPFILE_ERROR];
    snprintf(path, sizeof path, "%s/wire.pcap", test_folder);
    struct memory_wire *memory = memory_new();
    struct wire *wire;
    assert_int_equal(pcap_open(&memory->wire, "/nonexistent/x", &wire), -ENOENT);
    assert_int_equal(pcap_open(&memory->wire, path, &wire), 0);
    static uint8_t data[40][128];
    struct wire_packet packet[40], got[40];
    for (unsigned i = 0; i < 40; i++) {
        bool v6 = i % 4 == 3;
        packet[i] = test_packet(data[i], v6 ? "fd00::1" : "10.0.0.1", v6 ? "fd00::2" : "10.0.0.2", 0xc000, 5 << 14, i,
                                64, (uint16_t)(v6 ? 0 : i));
        packet[i].tos = (uint8_t)(i << 2);
    }
    data[20][40] ^= 1; /* damaged: stays so */
    memory->room = 30;
    assert_int_equal(wire_tx(wire, packet, 40, test_now()), 30); /* only what was taken is recorded */
    for (unsigned i = 0; i < 30; i++)
        memory->packet[i].ip_id = 0; /* as a socket tells of foreign packets */
    assert_int_equal(wire_rx(wire, got, 40, test_now()), 30);
    assert_int_equal(wire->counters.tx_packets, 30);
    struct pkt_addr addr = test_addr("10.0.0.1");
    assert_int_equal(wire_add_address(wire, &addr), -EADDRINUSE);
    assert_string_equal(wire_why(wire), "no");
    wire_close(wire);
    free(memory);

    struct capfile *file;
    struct capfile_record record;
    unsigned records = 0;
    assert_int_equal(capfile_open(path, &file, error), 0);
    while (capfile_next(file, &record, error) == 1) {
        struct codec_frame frame = {record.data, record.captured, record.length, CODEC_ETHERNET};
        struct pkt pkt;
        struct pkt_cold cold;
        struct codec_layout layout;
        enum codec_fault fault;
        unsigned i = records++ % 30;
        assert_int_equal(codec_parse(&frame, &pkt, &cold, &layout, &fault), 0);
        assert_int_equal(pkt.kind, PKT_ROCE);
        assert_int_equal(pkt.psn, i);
        assert_int_equal(pkt.tos, (uint8_t)(i << 2));
        assert_int_equal(icrc_check(&frame, &pkt, &cold, &layout), i == 20 ? ICRC_BAD : ICRC_GOOD);
        if (i % 4 != 3 && i != 20) assert_int_equal(cold.ip_id, i);
        assert_memory_equal(&cold.src, &packet[i].src, 16);
    }
    assert_int_equal(records, 60);
    capfile_close(file);
}

/* A forked child has what its parent gathered; neither its end nor its closing writes it. */
static void test_pcap_fork(void **state)
{
    char path[200];
    uint8_t data[128];
    struct wire *wire;
    struct stat st;

    (void)state;
    snprintf(path, sizeof path, "%s/fork.pcap", test_folder);
    struct memory_wire *memory = memory_new();
    assert_int_equal(pcap_open(&memory->wire, path, &wire), 0);
    struct wire_packet packet = numbered(data, 77);
    assert_int_equal(wire_tx(wire, &packet, 1, test_now()), 1);
    for (int closes = 0; closes < 2; closes++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            if (closes) wire_close(wire);
            exit(0); /* with everything that an end of the program brings */
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 24); /* its head, and no packet */
    }
    wire_close(wire);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 24 + 16 + 42 + packet.bytes);
    free(memory);
}

/* A limit of the program's files ends the capture and not the program, whose signals are as they were. */
static void test_pcap_limit(void **state)
{
    char path[200];
    struct stat st;
    int status;

    (void)state;
    snprintf(path, sizeof path, "%s/limit.pcap", test_folder);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {100, 100};
        uint8_t data[128];
        struct memory_wire *memory = memory_new();
        struct wire_packet packet = numbered(data, 77);
        struct wire *wire;
        sigset_t waiting, masked;
        setrlimit(RLIMIT_FSIZE, &limit);
        if (pcap_open(&memory->wire, path, &wire) != 0 || wire_tx(wire, &packet, 1, test_now()) != 1) _exit(2);
        wire_close(wire);
        sigpending(&waiting);
        sigprocmask(SIG_SETMASK, NULL, &masked);
        _exit(sigismember(&waiting, SIGXFSZ) || sigismember(&masked, SIGXFSZ) ? 3 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 100);
}

static void test_trace(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct memory_wire *memory = memory_new();
    struct wire *wire;
    uint8_t data[128], junk[5] = {0};
    assert_int_equal(wire_trace_open(&memory->wire, fds[1], &wire), 0);
    struct wire_packet got[4], packet[2] = {numbered(data, 77), numbered(data, 77)};
    packet[1].data = junk;
    packet[1].bytes = sizeof junk;
    packet[1].tos = 3;
    assert_int_equal(wire_tx(wire, packet, 2, test_now()), 2);
    assert_int_equal(wire_rx(wire, got, 4, test_now()), 2);
    char text[2000];
    ssize_t length = read(fds[0], text, sizeof text - 1);
    assert_true(length > 0);
    text[length] = '\0';
    unsigned lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 4);
    assert_non_null(strstr(text, " > 10.0.0.1.49152 10.0.0.2 RC SEND Only qp 0x014000 psn 77 64 B\n"));
    assert_non_null(strstr(text, " < 10.0.0.1.49152 10.0.0.2 RC SEND Only qp 0x014000 psn 77 64 B\n"));
    assert_non_null(strstr(text, "malformed: ends inside the BTH (5 bytes) CE\n"));
    wire_close(wire);
    assert_true(memory->closed);
    free(memory);
    assert_int_equal(fcntl(fds[1], F_GETFD), -1); /* went with the wire */
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault_text),  cmocka_unit_test(test_fault_none),  cmocka_unit_test(test_fault_all),
        cmocka_unit_test(test_fault_first), cmocka_unit_test(test_fault_delay), cmocka_unit_test(test_pcap),
        cmocka_unit_test(test_trace),       cmocka_unit_test(test_pcap_fork),   cmocka_unit_test(test_pcap_limit),
    };
    return cmocka_run_group_tests(tests, tests_begin, tests_done);
}
