/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of captures of a Linux kernel (rxe), fed to our responder: do we say what the kernel said?
 *
 * Every QP of a capture that received requests is played by one of ours, packet by packet in the order of the
 * capture, and what ours answers is compared with what the captured one did:
 *
 * - NAKs and RNR NAKs: the same, in the same order (PSN, syndrome, MSN);
 * - READ responses and atomic acknowledgements: the same (opcode, PSN, syndrome, MSN, length, original value);
 * - ACKs: which PSNs are acknowledged explicitly is the responder's choice, so: an ACK of ours for a PSN has the MSN of
 *   the kernel's for that PSN, and whatever the kernel had acknowledged, we had by then.  (One more liberty is in
 *   said_twice().)
 *
 * What the captures do not say about the application comes from the log of the run (fact tables below) or
 * is read backwards: a receive is there unless the kernel answered this very packet with RNR.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "nic/nic.h"
#include "packet/capfile/capfile.h"
#include "packet/codec.h"
#include "packet/opcode.h"

#define FRAMES_MAX 8192u
#define BUFFER_BYTES 65536u /* fits all that was allowed and, from the log's base, not what was out of bounds */
#define RECV_BYTES (1u << 20)

struct frame {
    struct pkt pkt;
    struct pkt_cold cold;
};

struct fact { /* about the responder's side of a capture, by the beginning of its name */
    const char *name;
    uint64_t buffer_va;  /* memory key of the log: base of BUFFER_BYTES; 0: whatever is asked for is allowed */
    uint32_t buffer_key; /* the only valid key, with buffer_va */
    uint8_t access;
    uint32_t recv_bytes; /* room in receives */
};

/* Bases and keys are the log's (or, for host_user_vs_rxe, the page of the addresses used).  Sizes and rights are not in
 * it: they are the simplest that go with the test's name, such as a receive shorter than the first packet. */
static const struct fact facts[] = {
    {"rc_write_oob_mtu4096", 0x561b87f70000, 0x8c0, NIC_REMOTE_ALL, RECV_BYTES},
    {"rc_write_oob_psnwrap", 0x55ed1d764000, 0x6b7, NIC_REMOTE_ALL, RECV_BYTES},
    {"rc_write_oob", 0x55a07d635000, 0x23a, NIC_REMOTE_ALL, RECV_BYTES},
    {"rc_bad_rkey", 0x55a07d635000, 0x23a, NIC_REMOTE_ALL, RECV_BYTES},
    {"rc_no_access_flag", 0, 0, NIC_REMOTE_READ | NIC_REMOTE_ATOMIC, RECV_BYTES},
    {"rc_send_too_long", 0, 0, NIC_REMOTE_ALL, 64},
    {"host_user_vs_rxe", 0x55a55d0d9000, 0x283, NIC_REMOTE_ALL, RECV_BYTES},
    {"", 0, 0, NIC_REMOTE_ALL, RECV_BYTES},
};

/* Receive completions of the log: lengths, and immediate data counted up from a base. */
static const uint32_t sizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 255, 1023, 1024, 1025, 2048, 4093, 8192};
static const struct completions {
    const char *name;
    uint32_t count, imm_base, more; /* messages; 0: without immediate; bytes beside the message */
    bool imm_odd;                   /* only every second message has it */
} completions[] = {
    {"rc_send_imm", 15, 0xdead0000, 0, false},
    {"rc_write_imm", 15, 0xbeef0000, 0, false},
    {"ud_send", 11, 0xcafe0000, 40, true},
    {"uc_send", 15, 0, 0, false},
    {"rc_send", 15, 0, 0, false},
    {"rc_send_psnwrap", 15, 0, 0, false},
    {"rc_send_mtu4096", 15, 0, 0, false},
};

static const char *const captures[] = {
    "ib_atomic_lat",
    "ib_read_bw",
    "ib_send_bw_rnr",
    "ib_send_lat_ud",
    "ib_write_lat",
    "loss_send",
    "loss_write",
    "perf_send_lat",
    "rc_atomic",
    "rc_atomic_mtu4096",
    "rc_bad_rkey_read",
    "rc_bad_rkey_read_mtu4096",
    "rc_bad_rkey_read_psnwrap",
    "rc_bad_rkey_write",
    "rc_bad_rkey_write_mtu4096",
    "rc_bad_rkey_write_psnwrap",
    "rc_no_access_flag",
    "rc_no_access_flag_mtu4096",
    "rc_no_access_flag_psnwrap",
    "rc_pingpong",
    "rc_pipeline",
    "rc_pipeline_mtu4096",
    "rc_read",
    "rc_read_mtu4096",
    "rc_read_psnwrap",
    "rc_rnr",
    "rc_rnr_exceeded",
    "rc_rnr_exceeded_mtu4096",
    "rc_rnr_exceeded_psnwrap",
    "rc_rnr_mtu4096",
    "rc_rnr_psnwrap",
    "rc_send",
    "rc_send_imm",
    "rc_send_imm_mtu4096",
    "rc_send_imm_psnwrap",
    "rc_send_inline",
    "rc_send_inline_mtu4096",
    "rc_send_inline_psnwrap",
    "rc_send_inv_mw",
    "rc_send_inv_mw_mtu4096",
    "rc_send_inv_mw_psnwrap",
    "rc_send_mtu4096",
    "rc_send_psnwrap",
    "rc_send_too_long",
    "rc_send_too_long_mtu4096",
    "rc_send_too_long_psnwrap",
    "rc_write",
    "rc_write_imm",
    "rc_write_imm_mtu4096",
    "rc_write_imm_psnwrap",
    "rc_write_mtu4096",
    "rc_write_oob",
    "rc_write_oob_mtu4096",
    "rc_write_oob_psnwrap",
    "rc_write_psnwrap",
    "rdma_client",
    "rping",
    "srq_pingpong",
    "uc_pingpong",
    "uc_send",
    "uc_send_mtu4096",
    "uc_send_psnwrap",
    "uc_write",
    "uc_write_mtu4096",
    "uc_write_psnwrap",
    "ucmatose",
    "ud_pingpong",
    "ud_send",
    "ud_send_mtu4096",
    "ud_send_psnwrap",
    "host_user_vs_rxe",
};

static struct frame frames[FRAMES_MAX];
static uint32_t frame_count;
static struct pkt ours[FRAMES_MAX], theirs[FRAMES_MAX];
static uint32_t ours_at[FRAMES_MAX], theirs_at[FRAMES_MAX]; /* frame they came after; frame they are */
static uint32_t ours_count, theirs_count;

static void load(const char *name)
{
    char path[512], error[CAPFILE_ERROR];
    struct capfile *file;
    struct capfile_record record;

    snprintf(path, sizeof(path), "%s/pcaps/%s.pcap", TEST_DATA, name);
    assert_int_equal(capfile_open(path, &file, error), 0);
    frame_count = 0;
    while (capfile_next(file, &record, error) == 1) {
        struct codec_frame bytes = {
            .data = record.data, .captured = record.captured, .length = record.length, .link = CODEC_ETHERNET};
        struct codec_layout layout;
        enum codec_fault fault;
        struct frame *frame = &frames[frame_count];
        if (codec_parse(&bytes, &frame->pkt, &frame->cold, &layout, &fault)) continue;
        if (frame->pkt.kind != PKT_ROCE || frame->pkt.dest_qp <= 1) continue;
        assert_true(++frame_count < FRAMES_MAX);
    }
    capfile_close(file);
    assert_true(frame_count > 0);
}

static uint16_t flags_of(const struct pkt *p)
{
    return opcode_info(p->opcode)->flags;
}

static bool same_addr(const struct pkt_addr *a, const struct pkt_addr *b)
{
    return memcmp(a->byte, b->byte, sizeof(a->byte)) == 0;
}

struct responder { /* a QP of the capture that received requests */
    struct pkt_addr addr;
    uint32_t qpn, peer_qpn;
    uint32_t first_psn, span; /* of its requests */
    uint16_t mtu;
    uint8_t transport;
};

static bool to_responder(const struct frame *f, const struct responder *r)
{
    return f->pkt.dest_qp == r->qpn && same_addr(&f->cold.dst, &r->addr) && flags_of(&f->pkt) & OP_REQUEST;
}

static bool from_responder(const struct frame *f, const struct responder *r)
{
    return f->pkt.dest_qp == r->peer_qpn && same_addr(&f->cold.src, &r->addr) && flags_of(&f->pkt) & OP_RESPONSE;
}

/* The peer's QP number: that of responses whose PSNs are those of the requests. */
static void find_peer(struct responder *r)
{
    uint32_t best = 0, most = 0;

    for (uint32_t i = 0; i < frame_count; i++) {
        uint32_t hits = 0;
        r->peer_qpn = frames[i].pkt.dest_qp;
        if (!from_responder(&frames[i], r)) continue;
        for (uint32_t k = 0; k < frame_count; k++)
            hits += from_responder(&frames[k], r) && ((frames[k].pkt.psn - r->first_psn) & 0xffffff) <= r->span;
        if (hits <= most) continue;
        most = hits;
        best = r->peer_qpn;
    }
    r->peer_qpn = best;
}

static struct responder responder_of(const struct frame *first)
{
    struct responder r = {.addr = first->cold.dst,
                          .qpn = first->pkt.dest_qp,
                          .first_psn = first->pkt.psn,
                          .mtu = 1024,
                          .transport = opcode_info(first->pkt.opcode)->transport};

    for (uint32_t i = 0; i < frame_count; i++) {
        const struct pkt *p = &frames[i].pkt;
        uint32_t packets = p->opcode == OPCODE_RC_READ_REQUEST ? p->rdma.dma_bytes / 256 + 1 : 1;
        if (!to_responder(&frames[i], &r)) continue;
        uint32_t at = (p->psn - r.first_psn) & 0xffffff;
        if (at < 0x800000 && at + packets > r.span) r.span = at + packets;
    }
    find_peer(&r);
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct pkt *p = &frames[i].pkt;
        bool part = to_responder(&frames[i], &r) || from_responder(&frames[i], &r);
        if (!part) continue;
        if (flags_of(p) & OP_PAYLOAD && !(flags_of(p) & OP_LAST)) r.mtu = p->payload_bytes;
        if (p->payload_bytes > r.mtu) r.mtu = 4096;
    }
    return r;
}

/* The kernel answered this very request with an RNR NAK: no receive was there. */
static bool refused_rnr(uint32_t at, const struct responder *r)
{
    for (uint32_t i = at + 1; i < frame_count; i++) {
        const struct pkt *p = &frames[i].pkt;
        if (to_responder(&frames[i], r) && p->psn == frames[at].pkt.psn) return false; /* tried again */
        if (from_responder(&frames[i], r) && p->psn == frames[at].pkt.psn && p->opcode == OPCODE_RC_ACK)
            return aeth_kind(p->ack.syndrome) == AETH_RNR_NAK;
    }
    return false;
}

struct bench { /* our side */
    struct nic *nic;
    struct nic_qp *qp;
    struct nic_io io;
    struct pktpool pool;
    struct nic_cq cq;
    struct nic_recv rq[4];
    struct nic_resource resource[16];
    const struct fact *fact;
    uint64_t atomic;
    bool atomic_known;
};

static struct pkt hot[64];
static struct pkt_cold cold[64];
static uint32_t free_list[64];
static struct nic_cqe cqes[1u << 13];
static uint32_t received;   /* of them, by the last replay */
static bool receives_short; /* whether its receives were made too short on purpose */
static _Alignas(64) char memory[1 << 16];

static void set_up_bench(struct bench *b, const struct responder *r, const struct fact *fact, uint8_t rnr_timer)
{
    struct nic_config config = nic_config_default(100 * 1000000000ULL, 0);
    struct nic_qp_config qp = nic_qp_config_default();

    *b = (struct bench){.pool = {.hot = hot, .cold = cold, .free = free_list, .free_capacity = 64, .free_count = 64},
                        .fact = fact};
    for (uint32_t i = 0; i < 64; i++)
        free_list[i] = i;
    config.max_qps = 2;
    config.max_mrs = 32;
    memset(memory, 0, sizeof(memory));
    assert_true(nic_memory_bytes(&config) <= sizeof(memory));
    b->nic = nic_init(memory, &config);
    b->io = (struct nic_io){.pool = &b->pool};
    nic_cq_init(&b->cq, cqes, 1u << 13);
    qp.transport = r->transport;
    qp.mtu = r->mtu;
    qp.remote_qp = r->peer_qpn;
    qp.expect_psn = r->first_psn;
    qp.min_rnr_timer = rnr_timer;
    qp.access = fact->access;
    qp.recv_cq = &b->cq;
    qp.rq = b->rq;
    qp.rq_size = 4;
    qp.ack_every = 0;
    if (r->transport == NIC_RC) {
        qp.resource = b->resource;
        qp.resource_size = 16;
    }
    for (uint32_t i = 0; i < frame_count; i++)
        if (to_responder(&frames[i], r) && r->transport == NIC_UD) qp.qkey = frames[i].pkt.ud.qkey;
    assert_int_equal(nic_qp_create(b->nic, r->qpn, &qp, 0, &b->qp), 0);
    if (fact->buffer_va)
        assert_int_equal(nic_mr_set(b->nic, &(struct nic_mr){.va = fact->buffer_va,
                                                             .bytes = BUFFER_BYTES,
                                                             .key = fact->buffer_key,
                                                             .rights = NIC_REMOTE_ALL | NIC_REMOTE_INVALIDATE,
                                                             .live = true}),
                         0);
}

/* All keys are good that the log does not call bad: entered when first used, for all of memory. */
static void allow_key(struct bench *b, const struct pkt *p, uint32_t keys[], uint32_t *count)
{
    if (b->fact->buffer_va || !(flags_of(p) & (OP_RETH | OP_ATOMICETH))) return;
    for (uint32_t i = 0; i < *count; i++)
        if (keys[i] == p->rdma.rkey) return; /* once: an invalidated key stays so */
    assert_true(*count < 32);
    keys[(*count)++] = p->rdma.rkey;
    assert_int_equal(nic_mr_set(b->nic, &(struct nic_mr){.va = 0,
                                                         .bytes = UINT64_MAX,
                                                         .key = p->rdma.rkey,
                                                         .rights = NIC_REMOTE_ALL | NIC_REMOTE_INVALIDATE,
                                                         .live = true}),
                     0);
}

static void perform_atomic(struct bench *b, uint32_t at, const struct responder *r)
{
    if (b->io.atomic.verb == 0) return;
    for (uint32_t i = at; i < frame_count && !b->atomic_known; i++) /* where the memory started is not in our hands */
        if (from_responder(&frames[i], r) && frames[i].pkt.opcode == OPCODE_RC_ATOMIC_ACK) {
            b->atomic = frames[i].pkt.ack.original;
            b->atomic_known = true;
        }
    uint64_t original = b->atomic;
    if (b->io.atomic.verb == NIC_FETCH_ADD)
        b->atomic += b->io.atomic.swap;
    else if (original == b->io.atomic.compare)
        b->atomic = b->io.atomic.swap;
    nic_atomic_done(b->nic, b->io.atomic.qpn, b->io.atomic.slot, original);
}

static void collect(struct bench *b, uint32_t at, ps_t now)
{
    pkt_t id;

    while ((id = nic_tx(b->nic, now, &b->io)) != PKT_NONE) {
        assert_true(ours_count < FRAMES_MAX);
        ours_at[ours_count] = at;
        ours[ours_count++] = hot[id];
        pktpool_put(&b->pool, id);
    }
}

static void replay(const struct responder *r, const struct fact *fact)
{
    struct bench b;
    uint8_t rnr_timer = 0;
    uint32_t keys[32], key_count = 0;

    ours_count = theirs_count = 0;
    for (uint32_t i = 0; i < frame_count; i++) {
        if (!from_responder(&frames[i], r)) continue;
        const struct pkt *p = &frames[i].pkt;
        if (p->opcode == OPCODE_RC_ACK && aeth_kind(p->ack.syndrome) == AETH_RNR_NAK) rnr_timer = p->ack.syndrome & 31;
        theirs_at[theirs_count] = i;
        theirs[theirs_count++] = *p;
    }
    set_up_bench(&b, r, fact, rnr_timer);
    uint32_t posted = 0;
    for (uint32_t i = 0; i < frame_count; i++) {
        if (!to_responder(&frames[i], r)) continue;
        const struct pkt *p = &frames[i].pkt;
        allow_key(&b, p, keys, &key_count);
        bool takes = opcode_info(p->opcode)->verb == OP_SEND ? flags_of(p) & OP_FIRST
                                                             : flags_of(p) & OP_IMMDT && flags_of(p) & OP_LAST;
        /* one receive at a time, taken back by being consumed; a duplicate finds it unused */
        if (takes && b.cq.tail + 1 > posted && !refused_rnr(i, r)) {
            struct nic_recv recv = {.wr_id = posted, .length = fact->recv_bytes};
            if (nic_post_recv(b.nic, b.qp, &recv, i, &b.io) == 0) posted++;
        }
        pkt_t id = pktpool_get(&b.pool);
        hot[id] = *p;
        cold[id] = frames[i].cold;
        nic_rx(b.nic, id, i, &b.io);
        perform_atomic(&b, i, r);
        collect(&b, i, i);
    }
    nic_audit(b.nic, &b.pool);
    assert_int_equal(b.pool.free_count, 64);
    assert_false(b.cq.overrun);
    received = b.cq.tail;
}

static bool is_plain_ack(const struct pkt *p)
{
    return p->opcode == OPCODE_RC_ACK && aeth_kind(p->ack.syndrome) == AETH_ACK;
}

static void say(const char *what, const struct pkt *p, uint32_t at)
{
    print_message("  %s: %s psn %u syndrome 0x%02x msn %u bytes %u original %llu (frame %u)\n", what,
                  opcode_info(p->opcode)->name, p->psn, p->ack.syndrome, p->ack.msn, p->payload_bytes,
                  (unsigned long long)p->ack.original, at);
}

/* After an RNR NAK the kernel answers the packets behind it with a sequence NAK for the same PSN; the first has already
 * told the requester to go back there, and ours keeps silent. */
static bool said_twice(uint32_t k)
{
    return k > 0 && theirs[k].opcode == OPCODE_RC_ACK && theirs[k].ack.syndrome == 0x60 &&
           theirs[k - 1].opcode == OPCODE_RC_ACK && aeth_kind(theirs[k - 1].ack.syndrome) == AETH_RNR_NAK &&
           theirs[k - 1].psn == theirs[k].psn;
}

/* A SEND longer than its receive: the kernel says remote operation error, ours, as specified, invalid request. */
static uint8_t syndrome_of(const struct pkt *theirs_is, const struct pkt *ours_is)
{
    bool long_send = theirs_is->ack.syndrome == (AETH_SYNDROME_NAK | NAK_REMOTE_OPERATION) &&
                     ours_is->ack.syndrome == (AETH_SYNDROME_NAK | NAK_INVALID_REQUEST) && receives_short;
    return long_send ? ours_is->ack.syndrome : theirs_is->ack.syndrome;
}

static bool same_answer(const struct pkt *a, const struct pkt *b)
{
    if (a->opcode != b->opcode || a->psn != b->psn || a->payload_bytes != b->payload_bytes || a->pad != b->pad)
        return false;
    if (flags_of(b) & OP_AETH && (a->ack.syndrome != syndrome_of(b, a) || a->ack.msn != b->ack.msn)) return false;
    return b->opcode != OPCODE_RC_ATOMIC_ACK || a->ack.original == b->ack.original;
}

/* The same answers but for plain ACKs, in the same order; where the wire lost some before they were captured, we may
 * have more of them. */
static uint32_t compare_exact(const char *name, bool lossy)
{
    uint32_t i = 0, compared = 0;

    for (uint32_t k = 0; k < theirs_count; k++) {
        if (is_plain_ack(&theirs[k]) || said_twice(k)) continue;
        while (i < ours_count &&
               (is_plain_ack(&ours[i]) || (lossy && !same_answer(&ours[i], &theirs[k]) && ours_at[i] < theirs_at[k])))
            i++;
        if (i == ours_count || !same_answer(&ours[i], &theirs[k])) {
            if (i < ours_count) say("ours", &ours[i], ours_at[i]);
            say("kernel's", &theirs[k], theirs_at[k]);
            fail_msg("%s: answer %u differs", name, compared);
        }
        i++;
        compared++;
    }
    for (; i < ours_count; i++) {
        if (is_plain_ack(&ours[i]) || lossy) continue;
        say("ours alone", &ours[i], ours_at[i]);
        fail_msg("%s: we answered more", name);
    }
    return compared;
}

static uint32_t compare_acks(const char *name)
{
    uint32_t compared = 0;

    for (uint32_t k = 0; k < theirs_count; k++) {
        const struct pkt *b = &theirs[k];
        bool covered = false;
        if (!is_plain_ack(b)) continue;
        for (uint32_t i = 0; i < ours_count && ours_at[i] < theirs_at[k]; i++) {
            const struct pkt *a = &ours[i];
            if (!(flags_of(a) & OP_AETH) || aeth_kind(a->ack.syndrome) != AETH_ACK) continue;
            if (((a->psn - b->psn) & 0xffffff) < 0x800000) covered = true;
            if (a->psn == b->psn && a->ack.msn != b->ack.msn) {
                say("ours", a, ours_at[i]);
                say("kernel's", b, theirs_at[k]);
                fail_msg("%s: another MSN", name);
            }
        }
        if (!covered) {
            say("kernel's", b, theirs_at[k]);
            fail_msg("%s: not acknowledged by us", name);
        }
        compared++;
    }
    return compared;
}

/* rc_send's name is the beginning of other tests' names. */
static bool names(const char *capture, const char *test)
{
    return strcmp(test, "rc_send") == 0 ? strcmp(capture, test) == 0 : strncmp(capture, test, strlen(test)) == 0;
}

static uint32_t compare_completions(const char *name)
{
    for (size_t t = 0; t < sizeof(completions) / sizeof(completions[0]); t++) {
        const struct completions *c = &completions[t];
        if (!names(name, c->name)) continue;
        assert_int_equal(received, c->count);
        for (uint32_t i = 0; i < c->count; i++) {
            bool imm = c->imm_base && (!c->imm_odd || i % 2);
            assert_int_equal(cqes[i].status, NIC_SUCCESS);
            assert_int_equal(cqes[i].bytes, sizes[i] + c->more);
            assert_int_equal(cqes[i].has_imm, imm);
            if (imm) assert_int_equal(cqes[i].imm, c->imm_base + i);
        }
        return c->count;
    }
    return 0;
}

static void test_captures(void **state)
{
    uint32_t responders = 0, exact = 0, acks = 0, receives = 0;

    (void)state;
    for (size_t c = 0; c < sizeof(captures) / sizeof(captures[0]); c++) {
        const struct fact *fact = facts;
        while (strncmp(captures[c], fact->name, strlen(fact->name)) != 0)
            fact++;
        load(captures[c]);
        for (uint32_t i = 0; i < frame_count; i++) {
            bool known = false;
            if (!(flags_of(&frames[i].pkt) & OP_REQUEST)) continue;
            for (uint32_t k = 0; k < i; k++)
                known = known ||
                        (frames[k].pkt.dest_qp == frames[i].pkt.dest_qp &&
                         same_addr(&frames[k].cold.dst, &frames[i].cold.dst) && flags_of(&frames[k].pkt) & OP_REQUEST);
            if (known) continue;
            struct responder r = responder_of(&frames[i]);
            receives_short = fact->recv_bytes < RECV_BYTES;
            replay(&r, fact);
            exact += compare_exact(captures[c], strncmp(captures[c], "loss_", 5) == 0);
            acks += compare_acks(captures[c]);
            receives += compare_completions(captures[c]);
            responders++;
        }
    }
    print_message("%u responders, %u answers compared exactly, %u ACKs covered, %u receives\n", responders, exact, acks,
                  receives);
    assert_int_equal(responders, 88);
    assert_int_equal(exact, 462);
    assert_int_equal(acks, 2874);
    assert_int_equal(receives, 213);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_captures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
