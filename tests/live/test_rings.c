/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile rings against a whole adapter: what a broken process of our own user may write into the memory that it
 * shares with us.  Rings with records that are nearly right, wild heads, lengths and fields, and bytes, heads and tails
 * that change while they are read, by a thread that does nothing else; to queue pairs of each transport that begin anew
 * when they fail.  Nothing may crash (meant for a build with sanitizers), and a genuine transfer works after all of it.
 *
 * ROCELAB_RINGS: how many rings for each transport (60); ROCELAB_SEED: another sequence.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "live/live_int.h"
#include "loop_pair.h"
#include "packet/opcode.h"
#include "torture_alone.h"
#include "torture_hostile.h"

#define SEED test_seed_or(20261115)
#define RINGS 60u
#define DATA_BYTES (2u << 20)
#define RING_BYTES (4096u + DATA_BYTES)
#define RING_MAGIC 0x72696e68u
#define HEAD_AT 64u
#define TAIL_AT 128u
#define STEPS 40u
#define CHANGES 4000u

/* A record's fields, by their place (shm.c). */
enum { AT_BYTES = 0, AT_SRC = 4, AT_DST = 20, AT_SPORT = 40, AT_NET = 44, AT_UNCHECKED = 48, RECORD = 64 };

struct attack {
    struct loop_pair *pair;
    struct registry *self; /* a slot of the attacker's own */
    struct rng rng;
    uint8_t *ring;
    uint64_t head;
    unsigned rings, records;
};

/* The thread that changes what is being read. */
struct changer {
    pthread_t thread;
    uint8_t *ring;
    uint64_t seed;
    _Atomic bool stop;
};

static void *change(void *argument)
{
    struct changer *changer = argument;
    struct rng rng;
    rng_init(&rng, changer->seed, 7);
    for (unsigned i = 0; i < CHANGES && !atomic_load_explicit(&changer->stop, memory_order_relaxed); i++) {
        /* mostly where records are: a line's first bytes */
        uint32_t at = 4096 + (uint32_t)rng_below(&rng, 4096) * 64 + (uint32_t)rng_below(&rng, 128);
        volatile uint8_t *byte = changer->ring + at;
        *byte = (uint8_t)(*byte ^ 1u << rng_below(&rng, 8));
    }
    return NULL;
}

static struct hostile packet_plan(struct attack *attack)
{
    static const uint8_t opcode[] = {0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0a, 0x0b, 0x0c,
                                     0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x24,
                                     0x26, 0x27, 0x28, 0x2a, 0x64, 0x65, 0x81, 0x1f};
    struct rng *rng = &attack->rng;
    unsigned victim = (unsigned)rng_below(rng, 2);
    struct loop_end *end = &attack->pair->end[victim], *peer = &attack->pair->end[!victim];
    uint32_t send, expect;

    device_qp_psns(end->qp, &send, &expect);
    struct hostile h = {.opcode = opcode[rng_below(rng, sizeof opcode)],
                        .flags = rng_below(rng, 2) ? PKT_ACK_REQUEST : 0,
                        .dest_qp = device_qp_number(end->qp),
                        .psn = (rng_below(rng, 2) ? expect : send) + (uint32_t)rng_below(rng, 5) - 2,
                        .payload_bytes = (uint32_t)rng_below(rng, 3) ? (uint32_t)rng_below(rng, 1025) : 0,
                        .payload = (uint8_t)rng_u32(rng),
                        .va = (uintptr_t)end->memory + rng_below(rng, end->bytes),
                        .rkey = device_mr_key(end->mr),
                        .dma_bytes = (uint32_t)rng_below(rng, 4096),
                        .imm = device_mr_key(end->mr),
                        .qkey = 0x11111111,
                        .src_qp = device_qp_number(peer->qp),
                        .syndrome = (uint8_t)rng_u32(rng),
                        .msn = (uint32_t)rng_below(rng, 64),
                        .src = device_info_of(peer->live)->gid[0].addr,
                        .dst = device_info_of(end->live)->gid[0].addr,
                        .sport = peer->live->wire->source_port[0]};
    if (opcode_info(h.opcode)->name == NULL || !(opcode_info(h.opcode)->flags & OP_PAYLOAD)) h.payload_bytes = 0;
    if (rng_below(rng, 8) == 0) h.dest_qp = (uint32_t)rng_below(rng, 1u << 24);
    if (rng_below(rng, 8) == 0) h.psn = rng_u32(rng) & 0xffffff;
    if (rng_below(rng, 8) == 0) h.dma_bytes = rng_u32(rng);
    return h;
}

/* One more record, nearly always a plausible one.  False: there is no room. */
static bool record_put(struct attack *attack)
{
    struct rng *rng = &attack->rng;
    uint32_t at = (uint32_t)(attack->head % DATA_BYTES);
    uint8_t *record = attack->ring + 4096 + at;

    if (at + RECORD + WIRE_PACKET_MAX + 64 > DATA_BYTES) return false;
    struct hostile h = packet_plan(attack);
    uint32_t bytes = hostile_build(&h, record + RECORD, WIRE_PACKET_MAX);
    memset(record, 0, RECORD);
    memcpy(record + AT_BYTES, &bytes, 4);
    memcpy(record + AT_SRC, &h.src, 16);
    memcpy(record + AT_DST, &h.dst, 16);
    memcpy(record + AT_SPORT, &h.sport, 2);
    record[AT_NET] = PKT_NET_IPV4;
    record[AT_UNCHECKED] = rng_below(rng, 8) != 0;
    attack->head += RECORD + ((bytes + 63) & ~63u);
    attack->records++;
    for (unsigned flips = rng_below(rng, 4) ? 0 : 1 + (unsigned)rng_below(rng, 6); flips; flips--)
        record[rng_below(rng, rng_below(rng, 2) ? RECORD + 48 : RECORD + bytes)] ^= (uint8_t)(1u << rng_below(rng, 8));
    if (rng_below(rng, 32) == 0) {
        bytes = rng_below(rng, 2) ? rng_u32(rng) : (uint32_t)rng_below(rng, 8192);
        memcpy(record + AT_BYTES, &bytes, 4);
    }
    return true;
}

static void head_publish(struct attack *attack, uint64_t head)
{
    __atomic_store_n((uint64_t *)(void *)(attack->ring + HEAD_AT), head, __ATOMIC_RELEASE);
}

static void hand_over(struct attack *attack, const struct loop_end *to, int file)
{
    socklen_t name_bytes;
    uint32_t number = registry_bell(attack->self, registry_slot(to->live->registry));
    struct sockaddr_un name = registry_socket_name(number, &name_bytes);
    struct {
        uint64_t nonce;
        uint32_t slot, ring;
    } bell = {registry_nonce(attack->self), registry_slot(attack->self), 1};
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
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(sendmsg(fd, &message, 0), sizeof bell);
    close(fd);
}

/* A queue pair that a forged packet has ended, or that waits for what will never come, begins anew. */
static void recover(struct loop_pair *pair)
{
    for (int e = 0; e < 2; e++) {
        if (device_qp_state(pair->end[e].qp) == NIC_RTS) continue;
        for (int side = 0; side < 2; side++)
            assert_int_equal(device_qp_modify(pair->end[side].qp,
                                              &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
                             0);
        for (int side = 0; side < 2; side++)
            pair_connect(pair, side);
        return;
    }
}

static void some_work(struct loop_pair *pair, struct rng *rng)
{
    int from = (int)rng_below(rng, 2);
    uint8_t verb = rng_below(rng, 2) || pair->transport == NIC_UD ? NIC_SEND : NIC_WRITE;

    if (pair->transport == NIC_RC && rng_below(rng, 3) == 0) verb = NIC_READ;
    (void)pair_recv(&pair->end[!from], 1, 0, 2048);
    (void)pair_send(pair, from, (struct nic_wr){.verb = verb}, 4096, 64, 8192);
}

static void one_ring(struct attack *attack)
{
    struct rng *rng = &attack->rng;
    struct changer changer = {.seed = rng_u64(rng)};
    int file = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(file, RING_BYTES), 0);
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    attack->ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(attack->ring != MAP_FAILED);
    uint32_t magic = RING_MAGIC;
    memcpy(attack->ring, &magic, 4);
    attack->head = 0;
    changer.ring = attack->ring;
    hand_over(attack, &attack->pair->end[rng_below(rng, 2)], file);
    close(file);
    assert_int_equal(pthread_create(&changer.thread, NULL, change, &changer), 0);
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned i = (unsigned)rng_below(rng, 12); i && record_put(attack); i--)
            ;
        head_publish(attack, attack->head);
        if (rng_below(rng, 24) == 0)
            head_publish(attack, rng_below(rng, 2) ? rng_u64(rng) : attack->head + rng_below(rng, DATA_BYTES));
        if (rng_below(rng, 8) == 0) {
            uint64_t tail = rng_u64(rng);
            memcpy(attack->ring + TAIL_AT, &tail, sizeof tail);
        }
        some_work(attack->pair, rng);
        pair_idle(attack->pair, 20);
        recover(attack->pair);
    }
    atomic_store(&changer.stop, true);
    pthread_join(changer.thread, NULL);
    munmap(attack->ring, RING_BYTES);
    attack->rings++;
}

static uint64_t packets_read(const struct loop_pair *pair)
{
    return live_wire_counters(pair->end[0].live)->rx_shm_packets +
           live_wire_counters(pair->end[1].live)->rx_shm_packets;
}

/* Takes completions until no more packets come out of rings. */
static void drain(struct loop_pair *pair)
{
    uint64_t before;

    do {
        before = packets_read(pair);
        pair_idle(pair, 2000);
    } while (packets_read(pair) != before);
}

static void rings(uint8_t transport)
{
    const char *wanted = getenv("ROCELAB_RINGS");
    unsigned count = wanted ? (unsigned)strtoul(wanted, NULL, 10) : RINGS;
    struct loop_pair pair;
    struct attack attack = {.pair = &pair};
    char why[200] = "";

    setenv("ROCELAB_WIRE", "auto", 1);
    pair_open(&pair, &(struct loop_options){.transport = transport});
    if (registry_join(&attack.self, why, sizeof why) < 0) fail_msg("join: %s", why);
    rng_init(&attack.rng, SEED, 100 + transport);
    for (unsigned i = 0; i < count; i++)
        one_ring(&attack);
    uint64_t read = packets_read(&pair);
    print_message("%u rings, %u records; %llu packets were read from rings\n", attack.rings, attack.records,
                  (unsigned long long)read);
    assert_true(read > 10u * count); /* it was tried */
    registry_leave(attack.self);
    for (int e = 0; e < 2; e++)
        assert_int_equal(
            device_qp_modify(pair.end[e].qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
            0);
    drain(&pair); /* a forged packet that is still in a ring would be the new connection's too */
    for (int e = 0; e < 2; e++)
        pair_connect(&pair, e);
    assert_int_equal(pair_recv(&pair.end[1], 77, 0, 2048), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND, .wr_id = 78}, 0, 64, 0), 0);
    struct nic_cqe cqe = pair_wait(&pair, 0);
    assert_int_equal(cqe.wr_id, 78);
    assert_int_equal(cqe.status, NIC_SUCCESS);
    cqe = pair_wait(&pair, 1);
    assert_int_equal(cqe.wr_id, 77);
    assert_int_equal(cqe.status, NIC_SUCCESS);
    pair_close(&pair);
}

static void test_rc(void **state)
{
    (void)state;
    rings(NIC_RC);
}

static void test_uc(void **state)
{
    (void)state;
    rings(NIC_UC);
}

static void test_ud(void **state)
{
    (void)state;
    rings(NIC_UD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rc), cmocka_unit_test(test_uc), cmocka_unit_test(test_ud)};
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
