/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole receive path of the live adapter, from the bytes that a wire hands up, against queue pairs of every kind in
 * every state: what a packet may not touch stays as it was.
 *
 * The input is a script: a byte says what is done (a packet, right in all but what the script changes; raw bytes; a
 * post; a change of state; completions taken), bytes after it how.  The adapter is opened once, on the
 * loopback, then its wire is replaced by one that goes nowhere.  Memory is one arena: regions with different rights
 * and domains, buffers of receives and READs, guards between all of them.  After each step the guards and whatever no
 * packet may write are compared with what they were; a packet that comes from a stranger, or whose ICRC is
 * wrong, may not change one byte of the whole arena.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "live/live_int.h"
#include "live/torture_alone.h"
#include "live/torture_hostile.h"
#include "packet/codec.h"
#include "packet/opcode.h"

#define PAGE 4096u
#define QPS 6u
#define PD 7u
#define MTU 256u
#define QKEY 0x1111u
#define PEER_QPN 0x30001u

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { R_WRITE, R_READ, R_OTHER_PD, R_LOCAL, R_RECV, R_NONE, REGIONS };
static const uint32_t rights[REGIONS] = {DEVICE_LOCAL_WRITE | NIC_REMOTE_ALL | DEVICE_MW_BIND,
                                         NIC_REMOTE_READ,
                                         DEVICE_LOCAL_WRITE | NIC_REMOTE_ALL,
                                         0,
                                         DEVICE_LOCAL_WRITE,
                                         0};

static struct device *live;
static struct device_cq *cq;
static struct device_srq *srq;
static struct device_mr *mr[REGIONS];
static struct device_qp *qp[QPS];
static uint32_t path;
static struct pkt_addr us, peer, stranger;
static _Alignas(64) uint8_t arena[(2 * REGIONS + 1) * PAGE], before[sizeof arena];
static const uint8_t transport[QPS] = {NIC_RC, NIC_RC, NIC_UC, NIC_UD, NIC_RC, NIC_RC};

struct script {
    const uint8_t *at;
    size_t left;
};

static uint32_t next(struct script *s, unsigned bytes)
{
    uint32_t value = 0;
    for (; bytes && s->left; bytes--, s->left--)
        value = value << 8 | *s->at++;
    return value;
}

static uint8_t *region(unsigned r)
{
    return arena + (2 * r + 1) * PAGE;
}

/* --- a wire that goes nowhere --- */

static int null_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    (void)now, (void)wire, (void)ret, (void)max;
    return 0;
}

static int null_tx(struct wire *wire, const struct wire_packet *packet, unsigned count, ps_t now)
{
    (void)wire, (void)now;
    for (unsigned i = 0; i < count; i++) {
        struct pkt p;
        struct pkt_cold cold;
        uint32_t payload_at;
        enum codec_fault fault;
        /* what we send is well formed, and to whom we know */
        CHECK(codec_parse_bth(packet[i].data, packet[i].bytes, &p, &cold, &payload_at, &fault) == 0);
    }
    return (int)count;
}

static int null_fd(struct wire *wire)
{
    (void)wire;
    return -1;
}

static ps_t null_deadline(struct wire *wire)
{
    (void)wire;
    return PS_NEVER;
}

static int null_add(struct wire *wire, const struct pkt_addr *local)
{
    (void)wire, (void)local;
    return 0;
}

static void null_remove(struct wire *wire, const struct pkt_addr *local)
{
    (void)wire, (void)local;
}

static void null_close(struct wire *wire)
{
    (void)wire;
}

static const struct wire_ops null_ops = {.rx = null_rx,
                                         .tx = null_tx,
                                         .fd = null_fd,
                                         .deadline = null_deadline,
                                         .add_address = null_add,
                                         .remove_address = null_remove,
                                         .close = null_close};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct wire null_wire = {
        .ops = &null_ops, .run_max = 1, .run_bytes = 65000, .source_ports = 1, .source_port = {50000}};
    static char folder[ALONE_FOLDER];
    struct device_info *list, loopback = {.gids = 0};
    unsigned count;
    char why[200];

    (void)argc, (void)argv;
    setenv("ROCELAB_SEED", "1", 0); /* the same QPNs and keys in each run: inputs repeat */
    alone_begin(folder);
    setenv("ROCELAB_THREAD", "off", 1);
    CHECK(device_list(&list, &count) == 0);
    for (unsigned i = 0; i < count; i++)
        if (list[i].loopback) loopback = list[i];
    free(list);
    CHECK(live_open_alone(&loopback, &live, why, sizeof why) == 0);
    alone_end(folder);
    wire_close(live->wire);
    live->wire = &null_wire;
    us = live->device.gid[0].addr;
    peer = pkt_addr_ipv4(0x7f000002);
    stranger = pkt_addr_ipv4(0x7f000003);
    return 0;
}

/* --- the rig --- */

static void post_recv(unsigned q)
{
    struct device_sge sge[2] = {{(uintptr_t)region(R_RECV) + 100, 300, device_mr_key(mr[R_RECV])},
                                {(uintptr_t)region(R_RECV) + 1000, 500, device_mr_key(mr[R_RECV])}};
    struct device_recv recv = {.wr_id = q, .sge = sge, .sges = 2};

    (void)(q == 4 ? device_post_srq(srq, &recv) : device_post_recv(qp[q], &recv));
}

static void connect_qp(unsigned q, unsigned upto)
{
    struct device_qp_attr init = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS | DEVICE_ATTR_QKEY,
                                  .state = NIC_INIT,
                                  .access = q == 5 ? 0 : NIC_REMOTE_ALL,
                                  .qkey = QKEY};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH |
                                         DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN | DEVICE_ATTR_MAX_READ_ACCEPT,
                                 .state = NIC_RTR,
                                 .mtu = MTU,
                                 .path = {.remote = peer},
                                 .remote_qp = PEER_QPN + q,
                                 .expect_psn = 100,
                                 .max_read_accept = 4};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN | DEVICE_ATTR_MAX_READ,
                                 .state = NIC_RTS,
                                 .send_psn = 200,
                                 .max_read = 4};

    if (transport[q] == NIC_UD) rtr.mask = DEVICE_ATTR_STATE;
    if (upto > 0) (void)device_qp_modify(qp[q], &init);
    if (upto > 1) (void)device_qp_modify(qp[q], &rtr);
    if (upto > 2) (void)device_qp_modify(qp[q], &rts);
}

static void rig_open(void)
{
    struct device_path to = {.remote = peer};

    for (uint32_t i = 0; i < sizeof arena; i++)
        arena[i] = (uint8_t)(i * 7 >> 1);
    for (unsigned r = 0; r < R_NONE; r++)
        CHECK(device_mr_create(live, r == R_OTHER_PD ? PD + 1 : PD, region(r), PAGE, (uintptr_t)region(r), rights[r],
                               &mr[r]) == 0);
    CHECK(device_cq_create(live, 64, NULL, NULL, &cq) == 0);
    CHECK(device_srq_create(live, PD, 8, 2, NULL, &srq) == 0);
    CHECK(device_path_get(live, &to, &path) == 0);
    for (unsigned q = 0; q < QPS; q++) {
        struct device_qp_init init = {.transport = transport[q],
                                      .pd = PD,
                                      .send_entries = 8,
                                      .recv_entries = 8,
                                      .send_sges = 2,
                                      .recv_sges = 2,
                                      .send_cq = cq,
                                      .recv_cq = cq,
                                      .srq = q == 4 ? srq : NULL};
        CHECK(device_qp_create(live, &init, &qp[q]) == 0);
        connect_qp(q, 3);
        if (q != 1) post_recv(q);
    }
}

static void rig_close(void)
{
    for (unsigned q = 0; q < QPS; q++)
        CHECK(device_qp_destroy(qp[q]) == 0);
    device_path_put(live, path);
    CHECK(device_srq_destroy(srq) == 0);
    CHECK(device_cq_destroy(cq) == 0);
    for (unsigned r = 0; r < R_NONE; r++)
        device_mr_destroy(mr[r]);
    progress_tx(live, live_now());
    CHECK(live->pool.free_count == LIVE_POOL);
    nic_audit(live->nic, &live->pool);
}

/* What no packet may write; `all`: nothing may have changed. */
static void check_arena(bool all)
{
    for (unsigned page = 0; page < 2 * REGIONS + 1; page++) {
        bool guard = page % 2 == 0;
        bool writable = !guard && (page / 2 == R_WRITE || page / 2 == R_RECV);
        if (!writable || all) CHECK(memcmp(arena + page * PAGE, before + page * PAGE, PAGE) == 0);
    }
    /* of the buffers of receives only what was posted; READs go to its last quarter */
    CHECK(memcmp(region(R_RECV) + 1500, before + (region(R_RECV) - arena) + 1500, 1500) == 0);
    CHECK(memcmp(region(R_RECV), before + (region(R_RECV) - arena), 100) == 0);
}

/* --- steps --- */

static void receive(const struct hostile *h, uint8_t *data, uint32_t bytes, uint8_t tos)
{
    struct wire_packet w = {.data = data,
                            .bytes = bytes,
                            .src = h->src,
                            .dst = h->dst,
                            .sport = h->sport,
                            .net = PKT_NET_IPV4,
                            .tos = tos,
                            .ttl = 64,
                            .id_known = true};

    memcpy(before, arena, sizeof arena);
    CHECK(live_enter(live) == 0);
    receive_packet(live, &w, false, live_now());
    progress_settle(live);
    live_leave(live);
}

static uint32_t psn_of(unsigned q, uint8_t opcode, uint32_t delta)
{
    uint32_t send = 0, expect = 0;
    bool response = opcode >= OPCODE_RC_READ_RESPONSE_FIRST && opcode <= OPCODE_RC_ATOMIC_ACK;

    device_qp_psns(qp[q], &send, &expect);
    return (response ? send - 1 : expect) + (delta < 128 ? delta / 16 : delta - 256);
}

static void step_packet(struct script *s)
{
    /* whole on the heap: reading past its end is seen */
    static const uint16_t sizes[] = {0, 1, 64, 255, 256, 257, 100, 4096};
    unsigned q = next(s, 1) % QPS, r = next(s, 1);
    uint8_t opcode = (uint8_t)next(s, 1), how = (uint8_t)next(s, 1);
    struct hostile h = {.opcode = opcode,
                        .flags = how & 1 ? PKT_ACK_REQUEST : 0,
                        .dest_qp = device_qp_number(qp[q]),
                        .payload_bytes = sizes[next(s, 1) % 8],
                        .payload = (uint8_t)next(s, 1),
                        .src = peer,
                        .dst = us,
                        .sport = 50001,
                        .qkey = QKEY,
                        .src_qp = PEER_QPN};

    h.psn = psn_of(q, opcode, next(s, 1));
    h.va = (uintptr_t)region(r % REGIONS) + next(s, 2) % (PAGE + 512) - 256;
    h.rkey = r % REGIONS < R_NONE ? device_mr_key(mr[r % REGIONS]) : next(s, 4);
    if (r & 0x80) h.rkey ^= 1u << next(s, 1) % 32;
    h.dma_bytes = how & 2 ? next(s, 4) : h.payload_bytes;
    h.syndrome = how & 4 ? (uint8_t)next(s, 1) : 0x1f;
    h.msn = next(s, 1);
    h.imm = how & 8 ? h.rkey : next(s, 1);
    h.swap = h.compare = how;
    if (how & 16) h.dest_qp = next(s, 3);
    bool forged = how & 32, wrong = (how & 192) == 64;
    if (forged) h.src = stranger;
    h.wrong_icrc = wrong;
    uint8_t built[WIRE_PACKET_MAX + 256];
    uint32_t bytes = hostile_build(&h, built, sizeof built);
    if (bytes == 0) return;
    uint8_t *data = malloc(bytes);
    CHECK(data != NULL);
    memcpy(data, built, bytes);
    if ((how & 192) == 192)
        data[next(s, 2) % bytes] ^= (uint8_t)next(s, 1); /* one byte off: the ICRC tells, nearly always */
    receive(&h, data, bytes, (uint8_t)(r & 3));
    bool harmless = wrong || (forged && transport[q] != NIC_UD && !(how & 16));
    check_arena(harmless);
    free(data);
}

static void step_raw(struct script *s)
{
    uint32_t bytes = next(s, 1) % 96;
    uint8_t *data = malloc(bytes + 1);
    struct hostile h = {.src = peer, .dst = us, .sport = 1};

    CHECK(data != NULL);
    for (uint32_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)next(s, 1);
    if (bytes >= 12) receive(&h, data, bytes, 3);
    if (bytes >= 12) check_arena(false);
    free(data);
}

static void step_send(struct script *s)
{
    static const uint16_t sizes[] = {0, 8, 256, 700};
    unsigned q = next(s, 1) % QPS;
    uint8_t verb = (uint8_t)(next(s, 1) % (NIC_FETCH_ADD + 1));
    struct device_sge sge = {.addr = (uintptr_t)region(verb >= NIC_READ ? R_RECV : R_READ) + 3000,
                             .length = verb >= NIC_CAS ? 8 : sizes[next(s, 1) % 4],
                             .key = device_mr_key(mr[verb >= NIC_READ ? R_RECV : R_READ])};
    struct device_send send = {.wr = {.verb = verb,
                                      .flags = NIC_SIGNALED,
                                      .remote_va = 0x1000,
                                      .rkey = 5,
                                      .dest = path,
                                      .dest_qp = PEER_QPN,
                                      .qkey = QKEY},
                               .sge = &sge,
                               .sges = 1};

    (void)device_post_send(qp[q], &send, false);
}

static void step_modify(struct script *s)
{
    static const uint8_t states[] = {NIC_RESET, NIC_ERROR, NIC_SQD, NIC_RTS};
    unsigned q = next(s, 1) % QPS, what = next(s, 1) % 8;
    struct device_qp_attr attr = {.mask = DEVICE_ATTR_STATE, .state = states[what % 4]};

    if (what < 4) {
        (void)device_qp_modify(qp[q], &attr);
        return;
    }
    attr.state = NIC_RESET;
    (void)device_qp_modify(qp[q], &attr);
    connect_qp(q, what - 4);
}

static void step_region(struct script *s)
{
    unsigned r = next(s, 1) % R_NONE;

    device_mr_destroy(mr[r]);
    CHECK(device_mr_create(live, r == R_OTHER_PD ? PD + 1 : PD, region(r), PAGE, (uintptr_t)region(r), rights[r],
                           &mr[r]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = {data, size};
    struct nic_cqe cqe[4];

    rig_open();
    for (unsigned steps = 0; s.left && steps < 64; steps++) {
        uint8_t what = (uint8_t)next(&s, 1);
        if (what < 160)
            step_packet(&s);
        else if (what < 180)
            step_raw(&s);
        else if (what < 200)
            post_recv(next(&s, 1) % QPS);
        else if (what < 220)
            step_send(&s);
        else if (what < 235)
            step_modify(&s);
        else if (what < 240)
            step_region(&s);
        else
            CHECK(device_poll(cq, cqe, 4) >= 0);
    }
    rig_close();
    return 0;
}
