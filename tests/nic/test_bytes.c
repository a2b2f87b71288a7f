/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two adapters, once by descriptors and once by real frames: each packet is written as bytes, read again, and only what
 * was read arrives.  Both runs are the same to the last packet, with loss, marks and every verb; and a frame is as long
 * as the adapter counted.  What is in no header (codec_carried) is therefore nothing that these adapters go by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/rng.h"
#include "nic/pair.h"
#include "packet/directory.h"
#include "packet/frame.h"
#include "packet/icrc.h"
#include "packet/opcode.h"

#define MESSAGES 40u
#define ROOM 4608u

struct setting {
    const char *name;
    uint8_t net;
    bool tagged, telemetry;
    uint8_t transport;
    uint8_t recovery; /* enum nic_recovery; of RC */
};

static struct directory directory;
static uint64_t directory_memory[64];
static unsigned of_opcode[256], naks, marked;
static bool with_telemetry;

static struct pkt_addr addr_of(uint32_t endpoint, uint8_t net)
{
    struct pkt_addr addr = pkt_addr_ipv4(0x0a000000 + endpoint);
    if (net != PKT_NET_IPV4) memcpy(addr.byte, "\x20\x01\x0d\xb8", 4);
    return addr;
}

/* The packet's way over a line: bytes, and what they say. */
static enum pair_fate over_bytes(struct pair *pair, int from, struct pkt *p, ps_t now)
{
    static uint8_t line[ROOM];
    struct pktpool *pool = &pair->pool;
    pkt_t id = (pkt_t)(p - pool->hot);
    struct frame_path path = {.src = addr_of(p->src_node, p->net), .dst = addr_of(p->dst_node, p->net)};
    struct pkt sent = *p;
    enum codec_fault fault;

    (void)now;
    assert_int_equal(sent.src_node, from + 10);
    path.telemetry = with_telemetry;
    frame_address(&path, p, &pool->cold[id]);
    int length = frame_build(pool, id, NULL);
    assert_int_equal(length, p->frame_bytes); /* what the adapter counts is what a frame has */
    memcpy(line, frame_data(pool, id), (size_t)length);
    memset(p, 0xee, sizeof(*p));
    memset(&pool->cold[id], 0xee, sizeof(pool->cold[id]));
    assert_int_equal(frame_in(pool, id, line, (uint32_t)length, &fault), 0);
    struct pkt carried = codec_carried(&sent);
    assert_memory_equal(p, &carried, sizeof(carried));
    struct codec_frame whole = {frame_data(pool, id), (uint32_t)length, (uint32_t)length, CODEC_ETHERNET};
    assert_int_equal(icrc_check(&whole, p, &pool->cold[id], &pool->frame[id].layout), ICRC_GOOD);
    assert_true(directory_resolve(&directory, p, &pool->cold[id]));
    assert_int_equal(p->src_node, sent.src_node);
    assert_int_equal(p->dst_node, sent.dst_node);
    p->mark = pool->cold[id].resv7;
    assert_int_equal(p->mark, sent.mark);

    of_opcode[p->opcode]++;
    marked += (p->tos & PKT_ECN_MASK) == PKT_ECN_CE;
    naks += p->opcode == OPCODE_RC_ACK && aeth_kind(p->ack.syndrome) != AETH_ACK;
    return PAIR_PASS;
}

static void set_up(struct pair *pair, const struct setting *setting)
{
    struct nic_config config[2];

    for (uint32_t s = 0; s < 2; s++) {
        config[s] = nic_config_default(100 * 1000000000ULL, s + 10);
        config[s].max_qps = 4;
        config[s].any_key = true;
        config[s].net = setting->net;
        config[s].tagged = setting->tagged;
        config[s].telemetry = setting->telemetry;
        uint32_t more = (setting->net != PKT_NET_IPV4 ? 20u : 0) + (setting->tagged ? 4u : 0);
        if (setting->net == PKT_NET_V1) more -= 8; /* no UDP */
        if (setting->telemetry) more += CODEC_TELEMETRY_BYTES;
        config[s].header_bytes = (uint16_t)(config[s].header_bytes + more);
    }
    pair_init(pair, config, 7);
    pair->lose_ppm = 20000;
    pair->double_ppm = 5000;
    pair->mark_ppm = 50000;
    pair->pool.frame = calloc(PAIR_PACKETS, sizeof(*pair->pool.frame));
    pair->pool.bytes = calloc(PAIR_PACKETS, ROOM);
    pair->pool.bytes_each = ROOM;
    CHECK(pair->pool.frame && pair->pool.bytes);
    with_telemetry = setting->telemetry;
    CHECK(directory_bytes(4) <= sizeof(directory_memory));
    directory_init(&directory, directory_memory, 4);
    for (uint32_t endpoint = 10; endpoint < 12; endpoint++) {
        struct pkt_addr addr = addr_of(endpoint, setting->net);
        CHECK(directory_add(&directory, &addr, endpoint) == 0);
    }
}

static void run(struct pair *pair, const struct setting *setting, pair_filter filter)
{
    static struct pair_end end[2];
    struct nic_qp_config config = pair_qp_config();
    struct rng rng;

    set_up(pair, setting);
    pair->filter = filter;
    config.transport = setting->transport;
    config.recovery = setting->recovery;
    config.prio = 3;
    config.min_rnr_timer = 1;
    config.retry = NIC_RETRY_FOREVER;
    pair_connect(pair, &config, end);
    rng_init(&rng, 99, 1);
    uint32_t late = setting->transport == NIC_RC ? 8 : 0; /* receives that come late: RNR NAKs */
    for (uint32_t i = 0; i + late < MESSAGES; i++)
        pair_recv(pair, 1, &end[1], i, 20000);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        bool ud = setting->transport == NIC_UD;
        uint8_t verbs = ud ? NIC_SEND_IMM + 1 : setting->transport == NIC_UC ? NIC_READ : NIC_FETCH_ADD + 1;
        struct nic_wr wr = {.wr_id = i,
                            .verb = (uint8_t)(i % verbs),
                            .flags = NIC_SIGNALED | (i % 3 ? 0 : NIC_SOLICITED),
                            .length = rng_below(&rng, ud ? 1000 : 12000),
                            .imm = i,
                            .remote_va = 0x10000,
                            .rkey = 0x1234,
                            .dest = 11,
                            .dest_qp = 0x11,
                            .qkey = 0x1111};
        if (wr.verb == NIC_SEND_INV) wr.verb = NIC_SEND; /* there is no region that it could be of */
        if (wr.verb >= NIC_CAS) {
            wr.length = 8;
            wr.swap = i;
            wr.compare = i / 2;
        }
        pair_send(pair, 0, &end[0], wr);
    }
    pair_run(pair, 300 * PS_US);
    for (uint32_t i = 0; i < late; i++)
        pair_recv(pair, 1, &end[1], MESSAGES + i, 20000);
    pair_run(pair, PS_NEVER - 1);
    pair_disconnect(pair, end);
}

static void release(struct pair *pair)
{
    free(pair->pool.frame);
    free(pair->pool.bytes);
    pair_release(pair);
}

static void check_same(const struct setting *setting)
{
    static struct pair plain, bytes;

    run(&plain, setting, NULL);
    run(&bytes, setting, over_bytes);
    assert_true(plain.seen_count > MESSAGES && plain.seen_count < PAIR_LOG);
    assert_int_equal(bytes.seen_count, plain.seen_count);
    for (uint32_t i = 0; i < plain.seen_count; i++) {
        const struct pair_seen *a = &plain.seen[i], *b = &bytes.seen[i];
        struct pkt want = codec_carried(&a->pkt), got = codec_carried(&b->pkt);
        if (a->at != b->at || a->from != b->from || a->lost != b->lost || memcmp(&want, &got, sizeof(want)) != 0)
            fail_msg("%s: packet %u of side %u differs", setting->name, i, a->from);
    }
    assert_int_equal(bytes.atomic_value, plain.atomic_value);
    assert_int_equal(bytes.placed_bytes[1], plain.placed_bytes[1]);
    assert_int_equal(bytes.steps, plain.steps);
    release(&plain);
    release(&bytes);
}

static void test_same(void **state)
{
    static const struct setting settings[] = {
        {"RC, IPv4", PKT_NET_IPV4, false, false, NIC_RC, NIC_GO_BACK_N},
        {"RC, IPv6, tagged", PKT_NET_IPV6, true, false, NIC_RC, NIC_GO_BACK_N},
        {"RC, RoCEv1", PKT_NET_V1, true, false, NIC_RC, NIC_GO_BACK_N},
        {"RC, telemetry", PKT_NET_IPV4, false, true, NIC_RC, NIC_GO_BACK_N},
        {"RC, selective repeat", PKT_NET_IPV4, true, false, NIC_RC, NIC_SELECTIVE},
        {"UC, IPv4, tagged", PKT_NET_IPV4, true, false, NIC_UC, NIC_GO_BACK_N},
        {"UD, IPv4", PKT_NET_IPV4, false, false, NIC_UD, NIC_GO_BACK_N},
        {"UD, IPv6", PKT_NET_IPV6, false, true, NIC_UD, NIC_GO_BACK_N},
    };
    static const uint8_t wanted[] = {
        OPCODE_RC_SEND_FIRST,          OPCODE_RC_WRITE_MIDDLE,
        OPCODE_RC_WRITE_LAST_IMM,      OPCODE_RC_READ_REQUEST,
        OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_MIDDLE,
        OPCODE_RC_READ_RESPONSE_LAST,  OPCODE_RC_ACK,
        OPCODE_RC_ATOMIC_ACK,          OPCODE_RC_COMPARE_SWAP,
        OPCODE_RC_FETCH_ADD,           OPCODE_UC_SEND_FIRST,
        OPCODE_UC_WRITE_MIDDLE,        OPCODE_UD_SEND_ONLY,
        OPCODE_UD_SEND_ONLY_IMM,       OPCODE_CNP,
    };
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        check_same(&settings[i]);
    for (size_t i = 0; i < sizeof wanted; i++)
        if (of_opcode[wanted[i]] == 0) fail_msg("no %s was sent", opcode_info(wanted[i])->name);
    assert_true(naks > 10 && marked > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
