/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile packets through a real socket, one property a test: a packet with a wrong key, bounds, protection domain,
 * right, state or queue pair touches no byte; one from another address never reaches a connected queue pair; one
 * whose ICRC is wrong is dropped and counted, and nothing is counted as received because of it.
 *
 * The test itself is the peer: a socket on 127.0.0.2 sends what it likes and reads the answers.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/rng.h"
#include "live/live_int.h"
#include "packet/codec.h"
#include "packet/opcode.h"
#include "torture_alone.h"
#include "torture_hostile.h"

#define PAGE 4096u
#define PD 7u
#define OTHER_PD 8u
#define PSN 0x100u
#define PEER_QPN 0x654321u
#define QKEY 0x11111111u
#define US 0x7f000001u
#define PEER 0x7f000002u
#define STRANGER 0x7f000003u

enum { MR_WRITE, MR_READ_ONLY, MR_OTHER_PD, MR_LOCAL, MRS };

struct rig {
    struct device *live;
    struct device_cq *cq;
    struct device_qp *qp;
    struct device_mr *mr[MRS];
    _Alignas(64) uint8_t arena[(2 * MRS + 1) * PAGE]; /* guard, region, guard, region ... guard */
    uint8_t before[(2 * MRS + 1) * PAGE];
    int peer, stranger;
    uint16_t port, peer_port, stranger_port;
    char folder[ALONE_FOLDER];
};

static uint8_t *region(struct rig *rig, int mr)
{
    return rig->arena + (2 * (uint32_t)mr + 1) * PAGE;
}

static int socket_at(uint32_t address, uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    socklen_t bytes = sizeof name;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), discover = IP_PMTUDISC_DO;

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &bytes), 0);
    *ret_port = ntohs(name.sin_port);
    return fd;
}

static void to_rts(struct rig *rig, uint8_t transport, uint8_t access)
{
    struct device_qp_attr init = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS | DEVICE_ATTR_QKEY,
                                  .state = NIC_INIT,
                                  .access = access,
                                  .qkey = QKEY};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH |
                                         DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN,
                                 .state = NIC_RTR,
                                 .mtu = 1024,
                                 .path = {.remote = pkt_addr_ipv4(PEER)},
                                 .remote_qp = PEER_QPN,
                                 .expect_psn = PSN};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN, .state = NIC_RTS, .send_psn = 5};

    if (transport == NIC_UD) rtr.mask = DEVICE_ATTR_STATE;
    assert_int_equal(device_qp_modify(rig->qp, &init), 0);
    assert_int_equal(device_qp_modify(rig->qp, &rtr), 0);
    assert_int_equal(device_qp_modify(rig->qp, &rts), 0);
}

static struct rig *rig_open(uint8_t transport, uint8_t access)
{
    static const uint32_t rights[MRS] = {DEVICE_LOCAL_WRITE | NIC_REMOTE_ALL, DEVICE_LOCAL_WRITE | NIC_REMOTE_READ,
                                         DEVICE_LOCAL_WRITE | NIC_REMOTE_ALL, DEVICE_LOCAL_WRITE};
    struct rig *rig = aligned_alloc(64, (sizeof *rig + 63) & ~(size_t)63);
    struct device_info *list, loopback = {.gids = 0};
    unsigned count;
    char why[200];

    assert_non_null(rig);
    memset(rig, 0, sizeof *rig);
    rig->port = alone_begin(rig->folder);
    assert_int_equal(device_list(&list, &count), 0);
    for (unsigned i = 0; i < count; i++)
        if (list[i].loopback) loopback = list[i];
    free(list);
    if (live_open_alone(&loopback, &rig->live, why, sizeof why) < 0) fail_msg("open: %s", why);
    for (uint32_t i = 0; i < sizeof rig->arena; i++)
        rig->arena[i] = (uint8_t)(i * 31 >> 2);
    for (int i = 0; i < MRS; i++)
        assert_int_equal(device_mr_create(rig->live, i == MR_OTHER_PD ? OTHER_PD : PD, region(rig, i), PAGE,
                                          (uintptr_t)region(rig, i), rights[i], &rig->mr[i]),
                         0);
    assert_int_equal(device_cq_create(rig->live, 64, NULL, NULL, &rig->cq), 0);
    struct device_qp_init init = {.transport = transport,
                                  .pd = PD,
                                  .send_entries = 8,
                                  .recv_entries = 8,
                                  .send_sges = 1,
                                  .recv_sges = 1,
                                  .send_cq = rig->cq,
                                  .recv_cq = rig->cq};
    assert_int_equal(device_qp_create(rig->live, &init, &rig->qp), 0);
    to_rts(rig, transport, access);
    rig->peer = socket_at(PEER, rig->port, &rig->peer_port);
    rig->stranger = socket_at(STRANGER, 0, &rig->stranger_port);
    memcpy(rig->before, rig->arena, sizeof rig->arena);
    return rig;
}

static void rig_close(struct rig *rig)
{
    assert_int_equal(device_qp_destroy(rig->qp), 0);
    assert_int_equal(device_cq_destroy(rig->cq), 0);
    for (int i = 0; i < MRS; i++)
        device_mr_destroy(rig->mr[i]);
    assert_int_equal(rig->live->pool.free_count, LIVE_POOL);
    device_close(rig->live);
    close(rig->peer);
    close(rig->stranger);
    alone_end(rig->folder);
    free(rig);
}

/* A WRITE of 64 bytes to the middle of the region, as the peer would send it. */
static struct hostile good_write(struct rig *rig)
{
    return (struct hostile){.opcode = OPCODE_RC_WRITE_ONLY,
                            .flags = PKT_ACK_REQUEST,
                            .dest_qp = device_qp_number(rig->qp),
                            .psn = PSN,
                            .payload_bytes = 64,
                            .payload = 0xee,
                            .va = (uintptr_t)region(rig, MR_WRITE) + 1000,
                            .rkey = device_mr_key(rig->mr[MR_WRITE]),
                            .dma_bytes = 64,
                            .src = pkt_addr_ipv4(PEER),
                            .dst = pkt_addr_ipv4(US),
                            .sport = rig->peer_port};
}

static void send_bytes(struct rig *rig, int fd, const uint8_t *data, size_t bytes)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(rig->port), .sin_addr.s_addr = htonl(US)};

    assert_int_equal(sendto(fd, data, bytes, 0, (struct sockaddr *)&to, sizeof to), bytes);
}

static void send_packet(struct rig *rig, const struct hostile *h)
{
    uint8_t data[WIRE_PACKET_MAX];
    uint32_t bytes = hostile_build(h, data, sizeof data);

    assert_true(bytes > 0);
    send_bytes(rig, h->sport == rig->stranger_port ? rig->stranger : rig->peer, data, bytes);
}

static uint64_t seen(struct rig *rig)
{
    uint64_t packets;

    live_enter(rig->live);
    packets = rig->live->wire->counters.rx_packets;
    live_leave(rig->live);
    return packets;
}

/* Polls until the packet that was sent before has been looked at; a loopback loses none. */
static void settle(struct rig *rig, uint64_t packets)
{
    struct nic_cqe cqe;

    for (unsigned i = 0; seen(rig) < packets; i++) {
        assert_true(i < 20000000);
        assert_int_equal(device_poll(rig->cq, &cqe, 0), 0);
        live_enter(rig->live);
        progress_rx(rig->live, live_now());
        progress_tx(rig->live, live_now());
        live_leave(rig->live);
    }
}

static void deliver(struct rig *rig, const struct hostile *h)
{
    uint64_t packets = seen(rig) + 1;
    send_packet(rig, h);
    settle(rig, packets);
}

static bool untouched(struct rig *rig)
{
    return memcmp(rig->before, rig->arena, sizeof rig->arena) == 0;
}

/* The answer that came to the peer; syndrome -1: none. */
static int answer(struct rig *rig)
{
    uint8_t data[WIRE_PACKET_MAX];
    struct pkt p;
    struct pkt_cold cold;
    uint32_t payload_at;
    enum codec_fault fault;

    live_enter(rig->live);
    progress_tx(rig->live, live_now());
    live_leave(rig->live);
    ssize_t bytes = recv(rig->peer, data, sizeof data, MSG_DONTWAIT);
    if (bytes < 0) return -1;
    assert_int_equal(codec_parse_bth(data, (uint32_t)bytes, &p, &cold, &payload_at, &fault), 0);
    assert_int_equal(p.dest_qp, PEER_QPN);
    assert_int_equal(p.payload_bytes, 0); /* no packet of ours is to tell what it must not */
    return p.ack.syndrome;
}

static void test_control(void **state)
{
    struct rig *rig = rig_open(NIC_RC, NIC_REMOTE_ALL);
    struct hostile h = good_write(rig);

    (void)state;
    deliver(rig, &h);
    memset(rig->before + (region(rig, MR_WRITE) - rig->arena) + 1000, 0xee, 64);
    assert_true(untouched(rig)); /* but for those 64 */
    assert_int_equal(answer(rig), 0x1f);
    rig_close(rig);
}

/* The next of a row of WRITEs, from the peer's address and one of two ports; was it taken? */
static bool taken_from(struct rig *rig, int fd, uint16_t sport, uint32_t psn)
{
    struct hostile h = good_write(rig);
    uint8_t data[WIRE_PACKET_MAX];
    uint64_t packets = seen(rig) + 1;
    uint32_t send, before, after;

    h.psn = psn;
    h.sport = sport;
    device_qp_psns(rig->qp, &send, &before);
    send_bytes(rig, fd, data, hostile_build(&h, data, sizeof data));
    settle(rig, packets);
    device_qp_psns(rig->qp, &send, &after);
    return after != before;
}

static void peer_is(struct rig *rig, enum peer who)
{
    live_enter(rig->live);
    rig->live->path[rig->qp->path].peer = (uint8_t)who;
    live_leave(rig->live);
}

/* One of us is held to the port that its first right packet came from; a foreign peer never is. */
static void test_held_to_port(void **state)
{
    struct rig *rig = rig_open(NIC_RC, NIC_REMOTE_ALL);
    uint16_t other_port;
    int other = socket_at(PEER, 0, &other_port);
    uint32_t psn = PSN;

    (void)state;
    peer_is(rig, PEER_FOREIGN);
    assert_true(taken_from(rig, rig->peer, rig->peer_port, psn++));
    assert_true(taken_from(rig, other, other_port, psn++));
    assert_true(taken_from(rig, rig->peer, rig->peer_port, psn++));
    peer_is(rig, PEER_OURS);
    assert_false(taken_from(rig, other, other_port, psn - 2)); /* a packet that was there before shows nothing */
    assert_false(taken_from(rig, other, other_port, psn + 1000));
    assert_int_equal(rig->live->own.rx_forged, 0);
    assert_true(taken_from(rig, rig->peer, rig->peer_port, psn++));
    assert_false(taken_from(rig, other, other_port, psn));
    assert_int_equal(rig->live->own.rx_forged, 1);
    assert_true(taken_from(rig, rig->peer, rig->peer_port, psn++));
    /* a peer that starts anew has another port, and a queue pair that is connected anew takes it */
    assert_int_equal(device_qp_modify(rig->qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
                     0);
    to_rts(rig, NIC_RC, NIC_REMOTE_ALL);
    peer_is(rig, PEER_OURS);
    assert_true(taken_from(rig, other, other_port, PSN));
    assert_false(taken_from(rig, rig->peer, rig->peer_port, PSN + 1));
    while (answer(rig) >= 0) /* all are read */
        ;
    close(other);
    rig_close(rig);
}

/* One hostile change of the good WRITE. */
struct change {
    const char *name;
    void (*apply)(struct rig *, struct hostile *);
    int syndrome; /* of the answer; -1: none */
    uint8_t access;
};

#define CHANGE(what, code)                                                                                             \
    static void what(struct rig *rig, struct hostile *h)                                                               \
    {                                                                                                                  \
        (void)rig;                                                                                                     \
        code;                                                                                                          \
    }
CHANGE(wrong_key, h->rkey ^= 1)
CHANGE(no_key, h->rkey = 0)
CHANGE(far_key, h->rkey = 0xfffffff1)
CHANGE(before_region, h->va = (uintptr_t)region(rig, MR_WRITE) - 1)
CHANGE(behind_region, h->va = (uintptr_t)region(rig, MR_WRITE) + PAGE - 63)
CHANGE(way_off, h->va = UINT64_MAX - 10)
CHANGE(read_only, (h->rkey = device_mr_key(rig->mr[MR_READ_ONLY]), h->va = (uintptr_t)region(rig, MR_READ_ONLY)))
CHANGE(other_pd, (h->rkey = device_mr_key(rig->mr[MR_OTHER_PD]), h->va = (uintptr_t)region(rig, MR_OTHER_PD)))
CHANGE(local_only, (h->rkey = device_mr_key(rig->mr[MR_LOCAL]), h->va = (uintptr_t)region(rig, MR_LOCAL)))
CHANGE(other_region, h->va = (uintptr_t)region(rig, MR_READ_ONLY))
CHANGE(says_less, h->dma_bytes = 63)
CHANGE(says_more, h->dma_bytes = 65)
CHANGE(says_huge, h->dma_bytes = UINT32_MAX)
CHANGE(as_is, h->psn += 0)
CHANGE(middle_first, h->opcode = OPCODE_RC_WRITE_MIDDLE)
CHANGE(last_first, h->opcode = OPCODE_RC_WRITE_LAST)
CHANGE(too_long, (h->payload_bytes = 1025, h->dma_bytes = 1025))
CHANGE(read_beyond, (h->opcode = OPCODE_RC_READ_REQUEST, h->payload_bytes = 0, h->dma_bytes = PAGE))
CHANGE(read_other,
       (h->opcode = OPCODE_RC_READ_REQUEST, h->payload_bytes = 0, h->rkey = device_mr_key(rig->mr[MR_OTHER_PD])))
CHANGE(read_wrong, (h->opcode = OPCODE_RC_READ_REQUEST, h->payload_bytes = 0, h->rkey ^= 3))
CHANGE(atomic_odd, (h->opcode = OPCODE_RC_FETCH_ADD, h->payload_bytes = 0, h->va = (uintptr_t)region(rig, MR_WRITE) + 4,
                    h->swap = 1))
CHANGE(atomic_key, (h->opcode = OPCODE_RC_FETCH_ADD, h->payload_bytes = 0, h->va = (uintptr_t)region(rig, MR_WRITE),
                    h->rkey ^= 2, h->swap = 1))
CHANGE(atomic_right,
       (h->opcode = OPCODE_RC_FETCH_ADD, h->payload_bytes = 0, h->va = (uintptr_t)region(rig, MR_READ_ONLY),
        h->rkey = device_mr_key(rig->mr[MR_READ_ONLY]), h->swap = 1))
CHANGE(send_inv_region, (h->opcode = OPCODE_RC_SEND_ONLY_INV, h->imm = h->rkey, h->payload_bytes = 0))
CHANGE(future, h->psn = PSN + 5)
CHANGE(past, h->psn = PSN - 5)
CHANGE(no_qp, h->dest_qp ^= 1)
CHANGE(uc_opcode, h->opcode = OPCODE_UC_WRITE_ONLY)
CHANGE(ud_opcode, h->opcode = OPCODE_UD_SEND_ONLY)
CHANGE(partition, h->pkey = 0x1234)
CHANGE(reserved, (h->opcode = 0x1e))
CHANGE(bad_icrc, h->wrong_icrc = true)
CHANGE(forged, (h->src = pkt_addr_ipv4(STRANGER), h->sport = rig->stranger_port))
CHANGE(forged_icrc, h->sport = rig->stranger_port)

#define INVALID 0x61
#define ACCESS 0x62
static const struct change change_list[] = {
    {"wrong key", wrong_key, ACCESS, NIC_REMOTE_ALL},
    {"no key", no_key, ACCESS, NIC_REMOTE_ALL},
    {"a key beyond the table", far_key, ACCESS, NIC_REMOTE_ALL},
    {"before the region", before_region, ACCESS, NIC_REMOTE_ALL},
    {"behind the region", behind_region, ACCESS, NIC_REMOTE_ALL},
    {"an address that wraps", way_off, ACCESS, NIC_REMOTE_ALL},
    {"region without the right", read_only, ACCESS, NIC_REMOTE_ALL},
    {"region of another domain", other_pd, ACCESS, NIC_REMOTE_ALL},
    {"local region", local_only, ACCESS, NIC_REMOTE_ALL},
    {"key of another region", other_region, ACCESS, NIC_REMOTE_ALL},
    {"shorter than it says", says_more, INVALID, NIC_REMOTE_ALL},
    {"longer than it says", says_less, INVALID, NIC_REMOTE_ALL},
    {"4 GB", says_huge, INVALID, NIC_REMOTE_ALL},
    {"queue pair without the right", as_is, INVALID, NIC_REMOTE_READ},
    {"middle without a first", middle_first, INVALID, NIC_REMOTE_ALL},
    {"last without a first", last_first, INVALID, NIC_REMOTE_ALL},
    {"longer than the MTU", too_long, INVALID, NIC_REMOTE_ALL},
    {"READ beyond the region", read_beyond, ACCESS, NIC_REMOTE_ALL},
    {"READ of another domain", read_other, ACCESS, NIC_REMOTE_ALL},
    {"READ with a wrong key", read_wrong, ACCESS, NIC_REMOTE_ALL},
    {"READ without the right", read_wrong, INVALID, NIC_REMOTE_WRITE},
    {"atomic, not aligned", atomic_odd, INVALID, NIC_REMOTE_ALL},
    {"atomic with a wrong key", atomic_key, ACCESS, NIC_REMOTE_ALL},
    {"atomic without the region's right", atomic_right, ACCESS, NIC_REMOTE_ALL},
    {"invalidates a region", send_inv_region, 0x2c, NIC_REMOTE_ALL}, /* no receive is posted: RNR comes first */
    {"PSN after a gap", future, 0x60, NIC_REMOTE_ALL},
    {"PSN seen before", past, 0x1f, NIC_REMOTE_ALL},
    {"no such queue pair", no_qp, -1, NIC_REMOTE_ALL},
    {"UC to RC", uc_opcode, -1, NIC_REMOTE_ALL},
    {"UD to RC", ud_opcode, -1, NIC_REMOTE_ALL},
    {"another partition", partition, -1, NIC_REMOTE_ALL},
    {"reserved opcode", reserved, INVALID, NIC_REMOTE_ALL},
    {"wrong ICRC", bad_icrc, -1, NIC_REMOTE_ALL},
    {"from a stranger", forged, -1, NIC_REMOTE_ALL},
    {"from a stranger, ICRC of the peer", forged_icrc, -1, NIC_REMOTE_ALL},
};

static void test_rc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof change_list / sizeof change_list[0]; i++) {
        const struct change *change = &change_list[i];
        struct rig *rig = rig_open(NIC_RC, change->access);
        struct hostile h = good_write(rig);
        change->apply(rig, &h);
        deliver(rig, &h);
        int syndrome = answer(rig);
        if (!untouched(rig)) fail_msg("%s: memory was touched", change->name);
        if (syndrome != change->syndrome) fail_msg("%s: answered %#x", change->name, (unsigned)syndrome);
        bool fatal = syndrome == INVALID || syndrome == ACCESS;
        if ((device_qp_state(rig->qp) == NIC_ERROR) != fatal) fail_msg("%s: wrong state", change->name);
        rig_close(rig);
    }
}

/* What was dropped has moved nothing on: the good packet with the same PSN is still next. */
static void test_dropped_leaves_no_trace(void **state)
{
    static const struct {
        void (*apply)(struct rig *, struct hostile *);
        size_t counter;
    } list[] = {{bad_icrc, offsetof(struct live_own_counters, rx_icrc_errors)},
                {forged, offsetof(struct live_own_counters, rx_forged)},
                {forged_icrc, offsetof(struct live_own_counters, rx_forged)},
                {partition, offsetof(struct live_own_counters, rx_pkey)}};

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct rig *rig = rig_open(NIC_RC, NIC_REMOTE_ALL);
        for (int n = 0; n < 20; n++) {
            struct hostile h = good_write(rig);
            list[i].apply(rig, &h);
            deliver(rig, &h);
        }
        assert_true(untouched(rig));
        assert_int_equal(*(uint64_t *)(void *)((char *)&rig->live->own + list[i].counter), 20);
        struct hostile h = good_write(rig);
        deliver(rig, &h);
        assert_int_equal(answer(rig), 0x1f);
        assert_int_equal(region(rig, MR_WRITE)[1000], 0xee);
        rig_close(rig);
    }
}

/* States that receive nothing. */
static void test_states(void **state)
{
    static const uint8_t list[] = {NIC_RESET, NIC_ERROR};

    (void)state;
    for (size_t i = 0; i < sizeof list; i++) {
        struct rig *rig = rig_open(NIC_RC, NIC_REMOTE_ALL);
        struct hostile h = good_write(rig);
        assert_int_equal(
            device_qp_modify(rig->qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = list[i]}), 0);
        deliver(rig, &h);
        assert_true(untouched(rig));
        assert_int_equal(answer(rig), -1);
        rig_close(rig);
    }
}

/* A key whose region is gone, also in the middle of a message. */
static void test_region_gone(void **state)
{
    struct rig *rig = rig_open(NIC_RC, NIC_REMOTE_ALL);
    struct hostile h = good_write(rig);

    (void)state;
    h.opcode = OPCODE_RC_WRITE_FIRST;
    h.payload_bytes = 1024;
    h.dma_bytes = 1024 + 64;
    deliver(rig, &h);
    assert_int_equal(region(rig, MR_WRITE)[1000], 0xee);
    device_mr_destroy(rig->mr[MR_WRITE]);
    memcpy(rig->before, rig->arena, sizeof rig->arena);
    h.opcode = OPCODE_RC_WRITE_LAST;
    h.psn++;
    h.payload_bytes = 64;
    h.payload = 0xdd;
    deliver(rig, &h);
    assert_true(untouched(rig));
    assert_int_equal(device_qp_state(rig->qp), NIC_ERROR);
    assert_int_equal(device_mr_create(rig->live, PD, region(rig, MR_WRITE), PAGE, (uintptr_t)region(rig, MR_WRITE),
                                      NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE, &rig->mr[MR_WRITE]),
                     0);
    rig_close(rig);
}

/* Answers to nothing: no work request is outstanding. */
static void test_ghosts(void **state)
{
    static const uint8_t list[] = {OPCODE_RC_ACK, OPCODE_RC_ATOMIC_ACK, OPCODE_RC_READ_RESPONSE_ONLY,
                                   OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_MIDDLE};
    struct rig *rig = rig_open(NIC_RC, NIC_REMOTE_ALL);

    (void)state;
    for (size_t i = 0; i < sizeof list; i++)
        for (uint32_t psn = 0; psn < 12; psn++) {
            struct hostile h = good_write(rig);
            h.opcode = list[i];
            h.psn = psn;
            h.syndrome = psn & 1 ? 0x1f : 0x62;
            h.payload_bytes = list[i] == OPCODE_RC_ACK || list[i] == OPCODE_RC_ATOMIC_ACK ? 0 : 1024;
            deliver(rig, &h);
        }
    assert_true(untouched(rig));
    assert_int_equal(device_qp_state(rig->qp), NIC_RTS);
    rig_close(rig);
}

static void test_uc(void **state)
{
    static void (*const list[])(struct rig *, struct hostile *) = {wrong_key, before_region, behind_region, read_only,
                                                                   other_pd,  local_only,    says_less,     says_more,
                                                                   bad_icrc,  forged};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct rig *rig = rig_open(NIC_UC, NIC_REMOTE_ALL);
        struct hostile h = good_write(rig);
        h.opcode = OPCODE_UC_WRITE_ONLY;
        list[i](rig, &h);
        deliver(rig, &h);
        assert_true(untouched(rig));
        assert_int_equal(answer(rig), -1);
        rig_close(rig);
    }
}

static void test_ud(void **state)
{
    struct rig *rig = rig_open(NIC_UD, 0);
    struct device_sge sge = {
        .addr = (uintptr_t)region(rig, MR_LOCAL), .length = 104, .key = device_mr_key(rig->mr[MR_LOCAL])};
    struct device_recv recv = {.wr_id = 3, .sge = &sge, .sges = 1};
    struct nic_cqe cqe;

    (void)state;
    assert_int_equal(device_post_recv(rig->qp, &recv), 0);
    struct hostile h = good_write(rig);
    h.opcode = OPCODE_UD_SEND_ONLY;
    h.qkey = QKEY + 1;
    deliver(rig, &h);
    h.qkey = QKEY;
    h.wrong_icrc = true;
    deliver(rig, &h);
    h.wrong_icrc = false;
    h.payload_bytes = 65; /* one more than there is room for */
    deliver(rig, &h);
    for (uint32_t i = 104; i < PAGE; i++)
        assert_int_equal(region(rig, MR_LOCAL)[i], rig->before[region(rig, MR_LOCAL) - rig->arena + i]);
    h.payload_bytes = 64;
    deliver(rig, &h);
    assert_true(device_poll(rig->cq, &cqe, 1) == 1);
    rig_close(rig);
}

/* Anything at all, from anywhere, with the ICRC right as often as not. */
static void test_noise(void **state)
{
    struct rig *rig = rig_open(NIC_RC, 0);
    struct rng rng;
    uint8_t data[WIRE_PACKET_MAX];

    (void)state;
    rng_init(&rng, 42, 0);
    for (int i = 0; i < 3000; i++) {
        struct hostile h = good_write(rig);
        uint32_t bytes = hostile_build(&h, data, sizeof data);
        uint32_t flips = 1 + (uint32_t)rng_below(&rng, 20);
        while (flips--)
            data[rng_below(&rng, bytes)] ^= (uint8_t)(1 + rng_below(&rng, 255));
        send_bytes(rig, rng_chance(&rng, 500000) ? rig->peer : rig->stranger, data, rng_below(&rng, bytes + 1));
        live_enter(rig->live);
        progress_rx(rig->live, live_now());
        progress_tx(rig->live, live_now());
        live_leave(rig->live);
    }
    assert_true(untouched(rig));
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control),     cmocka_unit_test(test_held_to_port),
        cmocka_unit_test(test_rc),          cmocka_unit_test(test_dropped_leaves_no_trace),
        cmocka_unit_test(test_states),      cmocka_unit_test(test_ghosts),
        cmocka_unit_test(test_region_gone), cmocka_unit_test(test_uc),
        cmocka_unit_test(test_ud),          cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
