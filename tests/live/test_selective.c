/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss recovery and congestion control as peers see them: selective repeat between our own, nothing of it towards
 * others, CNPs no closer than configured, a sender that slows down.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/live_int.h"
#include "loop_pair.h"
#include "packet/opcode.h"
#include "torture_alone.h"

#define MEGABYTE (1u << 20)
#define OFFERS 16u
#define OFFER 0x31u

struct outcome {
    uint64_t lost, again;
    uint64_t behind, naks; /* packets behind a gap, and what the receiver said of them */
    uint8_t peer, offers;
};

/* Four megabytes from end 0 to end 1, a packet in a hundred lost each way. */
static struct outcome lossy(const char *sender, const char *receiver)
{
    struct loop_pair pair;

    setenv("ROCELAB_FAULT", "loss=1%,seed=3", 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = 1024, .recovery = {sender, receiver}});
    unsetenv("ROCELAB_FAULT");
    for (uint32_t i = 0; i < 4; i++) {
        pair_fill(&pair.end[0], 0, MEGABYTE, i);
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, MEGABYTE, MEGABYTE), 0);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        assert_true(pair_filled(&pair.end[1], MEGABYTE, MEGABYTE, i));
    }
    const struct path *path = &pair.end[0].live->path[pair.end[0].qp->path];
    struct outcome outcome = {.lost = live_wire_counters(pair.end[0].live)->fault_lost,
                              .again = live_counters(pair.end[0].live)->retransmitted_packets,
                              .behind = live_counters(pair.end[1].live)->out_of_sequence,
                              .naks = live_counters(pair.end[1].live)->tx_nak_sequence,
                              .peer = path->peer,
                              .offers = path->offers};
    for (int e = 0; e < 2; e++) { /* what was kept is back in the pool, or on the adapter's books */
        assert_int_equal(live_enter(pair.end[e].live), 0);
        nic_audit(pair.end[e].live->nic, &pair.end[e].live->pool);
        live_leave(pair.end[e].live);
    }
    pair_close(&pair);
    assert_true(outcome.lost > 0 && outcome.again > 0);
    return outcome;
}

static void test_between_ours(void **state)
{
    (void)state;
    struct outcome selective = lossy("selective", "selective"), back = lossy("go-back-n", "go-back-n");
    print_message("selective: lost %llu, sent again %llu; go-back-n: %llu, %llu\n", (unsigned long long)selective.lost,
                  (unsigned long long)selective.again, (unsigned long long)back.lost, (unsigned long long)back.again);
    assert_int_equal(selective.peer, PEER_OURS);
    assert_int_equal(back.peer, PEER_UNKNOWN);
    assert_int_equal(back.offers, 0);
    assert_true(3 * selective.again < back.again);
    assert_true(2 * selective.naks < selective.behind); /* one for a gap, not for each packet behind it */
}

/* A peer that does not answer the mark: a few requests carry it, and the peer gets go-back-N. */
static void test_with_strangers(void **state)
{
    (void)state;
    struct outcome there = lossy("selective", "go-back-n"), back = lossy("go-back-n", "selective");
    assert_int_equal(there.peer, PEER_UNKNOWN);
    assert_int_equal(there.offers, OFFERS);
    assert_int_equal(back.peer, PEER_UNKNOWN);
    assert_int_equal(back.offers, 0);
}

/* Which packets carry which bits, whoever the peer is. */
static void test_marks(void **state)
{
    static struct device live;
    struct path path = {.peer = PEER_UNKNOWN};
    struct pkt request = {.kind = PKT_ROCE, .opcode = OPCODE_RC_WRITE_ONLY, .mark = NIC_MARK_REQUEST + 7};
    struct pkt ack = {.kind = PKT_ROCE, .opcode = OPCODE_RC_ACK}, nak = ack;
    struct pkt datagram = {.kind = PKT_ROCE, .opcode = OPCODE_UD_SEND_ONLY};

    (void)state;
    nak.mark = NIC_MARK_NOT_KEPT;
    live.env.nic.recovery = NIC_SELECTIVE;
    assert_int_equal(peer_mark_out(&live, &path, &ack), 0); /* nobody has asked */
    for (unsigned i = 0; i < 2 * OFFERS; i++)
        assert_int_equal(peer_mark_out(&live, &path, &request), i < OFFERS ? OFFER : 0);
    path.offered = true; /* it is answered, and not believed yet */
    assert_int_equal(peer_mark_out(&live, &path, &request), 0);
    assert_int_equal(peer_mark_out(&live, &path, &ack), NIC_MARK_OURS);
    path = (struct path){.peer = PEER_OURS};
    assert_int_equal(peer_mark_out(&live, &path, &request), NIC_MARK_REQUEST + 7);
    assert_int_equal(peer_mark_out(&live, &path, &nak), NIC_MARK_NOT_KEPT);
    assert_int_equal(peer_mark_out(&live, &path, &ack), NIC_MARK_OURS);
    assert_int_equal(peer_mark_out(&live, &path, &datagram), 0);
    path = (struct path){.peer = PEER_FOREIGN, .offered = true};
    assert_int_equal(peer_mark_out(&live, &path, &request), 0);
    assert_int_equal(peer_mark_out(&live, &path, &nak), 0);
    live.env.nic.recovery = NIC_GO_BACK_N;
    path.peer = PEER_OURS;
    assert_int_equal(peer_mark_out(&live, &path, &ack), 0);
}

/* An adapter of its own, whose only queue pair has sent the ten packets from PSN 100 on and waits for answers. */
static struct nic_qp *awaiting(void **ret_memory)
{
    static struct pkt packets[1];
    static pkt_t unused[1];
    static struct nic_wr sq[1];
    struct pktpool pool = {.hot = packets, .free = unused, .free_capacity = 1, .free_count = 1};
    struct nic_config config = nic_config_default(1000000000, 0);
    struct nic_qp_config qp_config = nic_qp_config_default();
    struct nic_io io = {.pool = &pool};
    struct nic_qp *qp;

    qp_config.send_psn = 100;
    qp_config.sq = sq;
    qp_config.sq_size = 1;
    size_t bytes = (nic_memory_bytes(&config) + 63) & ~(size_t)63;
    *ret_memory = aligned_alloc(64, bytes);
    assert_non_null(*ret_memory);
    struct nic *nic = nic_init(memset(*ret_memory, 0, bytes), &config);
    assert_int_equal(nic_qp_create(nic, 0, &qp_config, 0, &qp), 0);
    struct nic_wr wr = {.verb = NIC_WRITE, .length = 10 * (uint64_t)qp_config.mtu};
    assert_int_equal(nic_post_send(nic, qp, &wr, 0, &io), 0);
    for (pkt_t id; (id = nic_tx(nic, 0, &io)) != PKT_NONE;)
        pktpool_put(&pool, id);
    assert_true(nic_qp_awaits(qp, 100) && nic_qp_awaits(qp, 109) && !nic_qp_awaits(qp, 99) && !nic_qp_awaits(qp, 110));
    return qp;
}

/*
 * What of the bits that came reaches the adapter, and what they prove.  A response has to answer something: a peer that
 * copies a request's bits into its answer, one who says what another version would, and one who answers what was never
 * asked are none of ours.
 */
static void test_marks_in(void **state)
{
    static struct device live;
    void *memory;
    struct path path = {.peer = PEER_UNKNOWN};
    struct device_qp qp = {.config.transport = NIC_RC, .nic = awaiting(&memory)};
    struct pkt hot[1];

    (void)state;
    live.env.nic.recovery = NIC_SELECTIVE;
    live.path = &path;
    live.pool = (struct pktpool){.hot = hot, .free_count = LIVE_POOL};
    for (unsigned mark = 0; mark < 128; mark++)
        for (unsigned kind = 0; kind < 3; kind++) { /* a request, a response, a response to nothing */
            bool answers = kind == 1 && mark >= NIC_MARK_OURS && mark <= NIC_MARK_ALSO;
            bool agreed = kind == 0 && mark >= NIC_MARK_REQUEST;
            hot[0] = (struct pkt){.kind = PKT_ROCE,
                                  .opcode = kind ? OPCODE_RC_ACK : OPCODE_RC_WRITE_ONLY,
                                  .psn = kind == 1 ? 105 : 110,
                                  .mark = 99};
            path = (struct path){.peer = PEER_UNKNOWN};
            peer_mark_in(&live, &qp, 0, (uint8_t)mark);
            assert_int_equal(hot[0].mark, agreed || (answers && mark != NIC_MARK_OURS) ? mark : 0);
            assert_int_equal(path.peer, answers ? PEER_OURS : PEER_UNKNOWN);
            assert_int_equal(path.offered, agreed || (kind == 0 && mark == OFFER));
        }
    peer_release(&live);
    free(memory);
}

/* Every data packet is marked: CNPs come, at most one in a millisecond, and the sender is slower after them, and stays
 * so: its rate does not recover while we are not looking.  The time that passes only ever allows more CNPs, so a
 * slow machine fails nothing. */
static void test_congestion(void **state)
{
    struct loop_pair pair;
    struct nic_cqe cqe;

    (void)state;
    setenv("ROCELAB_FAULT", "mark=100%", 1);
    setenv("ROCELAB_CC", "dcqcn/paper,min_time_between_cnps=1ms,rpg_min_rate=1G,rpg_time_reset=1000s,rpg_byte_reset=0",
           1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = 1024});
    unsetenv("ROCELAB_FAULT");
    unsetenv("ROCELAB_CC");
    struct loop_end *from = &pair.end[0], *to = &pair.end[1];
    uint64_t line = nic_qp_rate(from->qp->nic), slowest = line;
    ps_t begun = live_now();
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, MEGABYTE, MEGABYTE), 0);
        while (device_poll(from->cq, &cqe, 1) == 0) {
            assert_int_equal(live_enter(from->live), 0);
            if (nic_qp_rate(from->qp->nic) < slowest) slowest = nic_qp_rate(from->qp->nic);
            live_leave(from->live);
        }
        assert_int_equal(cqe.status, NIC_SUCCESS);
    }
    const struct nic_counters *sent = live_counters(from->live), *came = live_counters(to->live);
    uint64_t most = (live_now() - begun) / PS_MS + 1;
    print_message("%llu marked, %llu CNPs sent, %llu handled in %llu ms; rate %llu to %llu Mb/s\n",
                  (unsigned long long)came->np_ecn_marked_roce_packets, (unsigned long long)came->np_cnp_sent,
                  (unsigned long long)sent->rp_cnp_handled, (unsigned long long)most - 1,
                  (unsigned long long)(line / 1000000), (unsigned long long)(slowest / 1000000));
    assert_true(live_wire_counters(from->live)->fault_marked >= 4 * 1024);
    assert_true(came->np_ecn_marked_roce_packets >= 4 * 1024);
    assert_in_range(came->np_cnp_sent, 1, most);
    assert_in_range(sent->rp_cnp_handled, 1, came->np_cnp_sent);
    assert_true(slowest <= line / 2);
    assert_int_equal(live_wire_counters(to->live)->fault_marked, 0); /* ACKs and CNPs are not ECN-capable */
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_ours), cmocka_unit_test(test_with_strangers), cmocka_unit_test(test_marks),
        cmocka_unit_test(test_marks_in),     cmocka_unit_test(test_congestion),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
