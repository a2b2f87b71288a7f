/* SPDX-License-Identifier: Apache-2.0 */
/* The shm wire: two ends in one process, between processes, full rings, sleepers, deaths, hostile rings. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "../seed.h"
#include "base/rng.h"
#include "wires.h"

#define SEED test_seed_or(20250601)
#define ADDRESS "10.9.9.9"

static struct test_end end_open(const char *address)
{
    struct test_end end = {.registry = test_join()};
    end.slot = registry_slot(end.registry);
    struct wire_config config = {.slot = end.slot, .registry = end.registry, .port = TEST_PORT};
    struct pkt_addr addr = test_addr(address);
    assert_int_equal(wire_shm_open(&config, &end.wire), 0);
    assert_int_equal(wire_add_address(end.wire, &addr), 0);
    assert_true(end.wire->no_icrc);
    return end;
}

static struct wire_packet packet_for(uint8_t *data, uint32_t slot, uint32_t tag, uint32_t payload)
{
    return test_packet(data, "10.1.1.1", ADDRESS, 0xc000, slot << REGISTRY_QPN_BITS, tag, payload, 0);
}

static void test_two_ends(void **state)
{
    (void)state;
    static uint8_t data[WIRE_BURST][4200];
    struct test_end a = end_open(ADDRESS), b = end_open(ADDRESS);
    struct rng rng;
    rng_init(&rng, SEED, 1);
    uint32_t sent = 0, received = 0;
    while (received < 20000) {
        struct wire_packet packet[WIRE_BURST], got[WIRE_BURST];
        unsigned count = (unsigned)rng_below(&rng, WIRE_BURST + 1);
        for (unsigned i = 0; i < count; i++) {
            packet[i] = packet_for(data[i], b.slot, sent + i, 4 + 4 * (uint32_t)rng_below(&rng, 1024));
            packet[i].tos = (uint8_t)(sent + i);
            packet[i].unchecked = (sent + i) % 2; /* some carry an ICRC all the same */
        }
        sent += (unsigned)wire_tx(a.wire, packet, count, test_now());
        if (sent == received || rng_below(&rng, 3)) continue; /* fills up now and then */
        unsigned more = test_receive(&b, got, 1 + (unsigned)rng_below(&rng, WIRE_BURST));
        for (unsigned i = 0; i < more; i++, received++) {
            assert_int_equal(test_tag(&got[i]), received);
            assert_int_equal(got[i].tos, (uint8_t)received);
            assert_true(test_packet_right(&got[i]));
            assert_int_equal(got[i].unchecked, received % 2);
            assert_true(got[i].id_known);
            assert_int_equal(got[i].ip_id, 0);
            assert_memory_equal(&got[i].src, &packet->src, 16);
        }
    }
    test_end_close(&a);
    test_end_close(&b);
}

static void test_who_gets_it(void **state)
{
    (void)state;
    uint8_t data[64];
    struct test_end a = end_open(ADDRESS), b = end_open(ADDRESS), c = end_open("10.9.9.8");
    struct wire_packet got[WIRE_BURST], packet;
    packet = packet_for(data, 0, 1, 8); /* QP1 of the address: the oldest */
    assert_int_equal(wire_tx(b.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&a, got, WIRE_BURST), 1);
    packet = packet_for(data, c.slot, 2, 8); /* c has not this address: a packet for another machine's QP */
    assert_int_equal(wire_tx(b.wire, &packet, 1, test_now()), 1);
    assert_int_equal(b.wire->counters.tx_refused, 1);
    packet = test_packet(data, ADDRESS, "10.77.77.77", 0xc000, a.slot << 14, 3, 8, 0);
    assert_int_equal(wire_tx(b.wire, &packet, 1, test_now()), 1);
    assert_int_equal(b.wire->counters.tx_refused, 2);
    packet = packet_for(data, b.slot, 4, 8); /* to itself */
    assert_int_equal(wire_tx(b.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&b, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 4);

    struct pkt_addr group = test_addr("239.1.2.3");
    assert_int_equal(wire_add_address(a.wire, &group), 0);
    assert_int_equal(wire_add_address(c.wire, &group), 0);
    packet = test_packet(data, ADDRESS, "239.1.2.3", 0xc000, 0xffffff, 5, 8, 0);
    assert_int_equal(wire_tx(b.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&a, got, WIRE_BURST), 1);
    assert_int_equal(test_receive(&c, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 5);
    test_end_close(&a);
    packet = packet_for(data, 0, 6, 8); /* handed over with the owner's end; the look-up is made anew by a join */
    struct test_end d = end_open("10.9.9.7");
    assert_int_equal(wire_tx(c.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&b, got, WIRE_BURST), 1);
    test_end_close(&b);
    test_end_close(&c);
    test_end_close(&d);
}

/* A peer that sends `count` packets to a slot, and goes: the ring is the reader's too. */
static void child_send(uint32_t to, uint32_t count)
{
    static uint8_t data[WIRE_BURST][4200];
    struct test_end self = end_open(ADDRESS);
    struct wire_packet packet[WIRE_BURST];
    for (uint32_t i = 0; i < WIRE_BURST; i++)
        packet[i] = packet_for(data[i], to, i, 4096);
    for (uint32_t sent = 0; sent < count;) {
        unsigned burst = count - sent < WIRE_BURST ? count - sent : WIRE_BURST;
        int taken = wire_tx(self.wire, packet, burst, test_now());
        if (taken < 0) _exit(1);
        if (taken == 0) usleep(20);
        sent += (uint32_t)taken;
    }
    test_end_close(&self);
    _exit(0);
}

static void test_processes(void **state)
{
    (void)state;
    struct test_end self = end_open(ADDRESS);
    struct wire_packet got[WIRE_BURST];
    uint32_t count = 100000, received = 0, calls = 0;
    pid_t pid = fork();
    if (pid == 0) child_send(self.slot, count);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (received < count) {
        unsigned more = test_receive(&self, got, WIRE_BURST);
        for (unsigned i = 0; i < more; i++)
            assert_int_equal(got[i].bytes, 4096 + 16);
        assert_int_equal(test_tag(got), got[0].data[11]);
        if (calls++ % 64 == 0) assert_true(test_packet_right(got));
        received += more;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t ns = (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u + (uint64_t)(end.tv_nsec - begin.tv_nsec);
    print_message("%u packets of 4096 B between two processes: %llu MB/s\n", count,
                  (unsigned long long)((uint64_t)count * 4096 * 1000 / (ns ? ns : 1)));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    test_end_close(&self);
}

/* A reader that is killed: the ring fills, then packets are refused instead of waiting for ever. */
static void test_reader_dies(void **state)
{
    (void)state;
    static uint8_t data[4200];
    int answer[2];
    uint32_t slot;
    assert_int_equal(pipe(answer), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct test_end self = end_open(ADDRESS);
        if (write(answer[1], &self.slot, sizeof self.slot) != sizeof self.slot) _exit(1);
        pause();
        _exit(0);
    }
    close(answer[1]); /* a child that dies first is then an end of file, not a wait for ever */
    assert_int_equal(read(answer[0], &slot, sizeof slot), sizeof slot);
    struct test_end self = end_open(ADDRESS);
    struct wire_packet packet = packet_for(data, slot, 1, 4096);
    unsigned sent = 0;
    while (wire_tx(self.wire, &packet, 1, test_now()) == 1)
        assert_in_range(++sent, 1, 2000);
    assert_true(sent > 100);
    assert_int_equal(wire_tx(self.wire, &packet, 1, test_now()), 0);
    assert_true(wire_deadline(self.wire) != PS_NEVER);
    kill(pid, SIGKILL);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    int turn = 0;
    while (wire_tx(self.wire, &packet, 1, test_now()) == 0) {
        assert_in_range(++turn, 1, TEST_TURNS);
        usleep(1000);
    }
    assert_true(self.wire->counters.tx_refused > 0);
    test_end_close(&self);
    close(answer[0]);
}

#define RING_BYTES (4096u + (2u << 20))
#define RING_MAGIC 0x72696e68u

/* Hands `file` to an end as a ring of `from`. */
static void hand_over(const struct test_end *to, const struct test_end *from, int file)
{
    struct sockaddr_un name;
    socklen_t name_bytes = sizeof name;
    assert_int_equal(getsockname(wire_fd(to->wire), (struct sockaddr *)&name, &name_bytes), 0);
    struct {
        uint64_t nonce;
        uint32_t slot, ring;
    } bell = {registry_nonce(to->registry), from->slot, 1};
    struct iovec iov = {&bell, sizeof bell};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &file, sizeof file);
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = name_bytes,
                             .msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(sizeof file)};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(sendmsg(fd, &message, 0), sizeof bell);
    close(fd);
}

/* As often as it takes to hear of a ring and to read what is in it. */
static unsigned drain(const struct test_end *end)
{
    struct wire_packet got[WIRE_BURST];
    unsigned packets = 0;
    wire_deadline(end->wire);
    for (int i = 0; i < 100; i++)
        packets += (unsigned)wire_rx(end->wire, got, WIRE_BURST, test_now());
    return packets;
}

static void still_works(const struct test_end *from, struct test_end *to)
{
    uint8_t data[64];
    struct wire_packet got[WIRE_BURST], packet = packet_for(data, to->slot, 7, 8);
    assert_int_equal(wire_tx(from->wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(to, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 7);
}

/* Rings that lie: lengths beyond the end, heads beyond the ring, skips without end; the reader drops them and lives. */
static void test_hostile_ring(void **state)
{
    (void)state;
    alarm(60); /* a reader that never comes back is an end of the test too */
    struct test_end self = end_open(ADDRESS), other = end_open(ADDRESS);
    struct rng rng;
    rng_init(&rng, SEED, 2);
    for (unsigned round = 0; round < 200; round++) {
        int file = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(ftruncate(file, (off_t)(round % 10 == 9 ? 4096 : RING_BYTES)), 0);
        if (round % 10 != 8) assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        if (round % 10 < 8) {
            uint8_t *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            uint32_t magic = round % 10 == 7 ? 1 : RING_MAGIC, bytes = rng_u32(&rng);
            uint64_t head = rng_below(&rng, 2) ? rng_u64(&rng) : rng_below(&rng, 1 << 20) & ~63u;
            if (rng_below(&rng, 2)) bytes %= 5000;
            if (round % 10 == 6) bytes = UINT32_MAX; /* "skip to the end", which is never the head */
            if (round % 20 == 6) head = 2u << 20;
            memcpy(ring, &magic, 4);
            memcpy(ring + 64, &head, 8);
            memcpy(ring + 4096, &bytes, 4);
            munmap(ring, RING_BYTES);
        }
        hand_over(&self, &other, file);
        close(file);
        assert_true(drain(&self) <= 100 * WIRE_BURST);
    }
    still_works(&other, &self); /* a real one, after all that */
    test_end_close(&self);
    test_end_close(&other);
    alarm(0);
}

/* A ring whose only record is of the given network layer. */
static void put_record(int file, uint8_t net)
{
    uint8_t *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), data[64];
    struct wire_packet packet = packet_for(data, 1, 5, 8);
    assert_true(ring != MAP_FAILED);
    uint32_t magic = RING_MAGIC;
    uint64_t head = 128;
    memcpy(ring, &magic, 4);
    memcpy(ring + 64, &head, 8);
    memcpy(ring + 4096, &packet.bytes, 4);
    ring[4096 + 44] = net;
    memcpy(ring + 4096 + 64, data, packet.bytes);
    munmap(ring, RING_BYTES);
}

/* No field of a record is believed: of what network layer a packet is decides how its ICRC is computed. */
static void test_wild_record(void **state)
{
    (void)state;
    struct test_end self = end_open(ADDRESS), other = end_open(ADDRESS);
    for (unsigned net = 0; net < 256; net += net < 8 ? 1 : 31) {
        int file = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(ftruncate(file, RING_BYTES), 0);
        assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        put_record(file, (uint8_t)net);
        hand_over(&self, &other, file);
        close(file);
        assert_int_equal(drain(&self), net >= PKT_NET_V1 && net <= PKT_NET_IPV6);
    }
    still_works(&other, &self);
    test_end_close(&self);
    test_end_close(&other);
}

/* A file that can be cut off while it is read is no ring, whatever is in it: reading it would be a bus error. */
static void test_plain_file(void **state)
{
    (void)state;
    struct test_end self = end_open(ADDRESS), other = end_open(ADDRESS);
    char path[64];
    snprintf(path, sizeof path, "%s/ring", test_folder);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, RING_BYTES), 0);
    put_record(file, PKT_NET_IPV4);
    hand_over(&self, &other, file);
    assert_int_equal(drain(&self), 0);
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(drain(&self), 0);
    close(file);
    still_works(&other, &self);
    test_end_close(&self);
    test_end_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ends),    cmocka_unit_test(test_who_gets_it),  cmocka_unit_test(test_processes),
        cmocka_unit_test(test_reader_dies), cmocka_unit_test(test_hostile_ring), cmocka_unit_test(test_wild_record),
        cmocka_unit_test(test_plain_file),
    };
    return cmocka_run_group_tests(tests, tests_begin, tests_done);
}
