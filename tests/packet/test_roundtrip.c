/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the codec on random frames of every shape: parse(emit(x)) == x, and every prefix
 * of a frame is read without leaving it and named for what it is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "frames.h"
#include "packet/icrc.h"
#include "packet/opcode.h"

#define SEED test_seed_or(20250302)

struct sample {
    struct frame_shape shape;
    struct pkt pkt;
    struct pkt_cold cold;
    uint8_t payload[4096 + 32];
    uint8_t frame[FRAME_MAX];
    uint32_t bytes;
};

static void sample_make(struct rng *rng, struct frame_shape shape, struct sample *sample)
{
    sample->shape = shape;
    frame_random(rng, &shape, &sample->pkt, &sample->cold, sample->payload);
    int bytes = frame_emit(&sample->pkt, &sample->cold, sample->payload, sample->frame);
    assert_true(bytes > 0);
    assert_int_equal(bytes, sample->pkt.frame_bytes);
    sample->bytes = (uint32_t)bytes;
}

static void fail_sample(const struct sample *sample, const char *what)
{
    const struct frame_shape *s = &sample->shape;
    fail_msg("%s: kind %u opcode 0x%02x net %u tags %u tunnel %u (seed %u)", what, s->kind, s->opcode, s->net, s->tags,
             s->tunnel, SEED);
}

static void check_reads_back(const struct sample *sample, uint32_t captured, uint32_t length)
{
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    struct codec_frame frame = {sample->frame, captured, length, CODEC_ETHERNET};
    if (codec_parse(&frame, &pkt, &cold, &layout, &fault) != 0) fail_sample(sample, codec_fault_text(fault));
    if (memcmp(&pkt, &sample->pkt, sizeof pkt) != 0) fail_sample(sample, "descriptor differs");
    if (memcmp(&cold, &sample->cold, sizeof cold) != 0) fail_sample(sample, "cold record differs");
    if (pkt.kind != PKT_ROCE) return;
    const uint8_t *payload = codec_payload(&frame, &layout);
    if (memcmp(payload, sample->payload, pkt.payload_bytes) != 0) fail_sample(sample, "payload differs");
    assert_int_equal(payload + pkt.payload_bytes + pkt.pad - frame.data, layout.icrc_at);
    if (icrc_check(&frame, &pkt, &cold, &layout) != ICRC_GOOD) fail_sample(sample, "ICRC");
}

/* Calls visit with one random sample of every shape. */
static unsigned each_shape(uint64_t stream, uint16_t payload_max, void (*visit)(struct sample *, struct rng *))
{
    static const uint8_t tunnels[] = {PKT_NET_NONE, PKT_NET_IPV4, PKT_NET_IPV6};
    static struct sample sample;
    struct rng rng;
    unsigned count = 0;
    rng_init(&rng, SEED, stream);
    for (unsigned tunnel = 0; tunnel < 3; tunnel++)
        for (uint8_t tags = 0; tags < 3; tags++) {
            for (unsigned code = 0; code < 256; code++)
                for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++) {
                    struct frame_shape roce = {PKT_ROCE, (uint8_t)code, net, tags, tunnels[tunnel], payload_max};
                    sample_make(&rng, roce, &sample);
                    visit(&sample, &rng);
                    count++;
                }
            for (uint8_t kind = PKT_PFC; kind <= PKT_PAUSE; kind++) {
                sample_make(&rng, (struct frame_shape){.kind = kind, .tags = tags, .tunnel = tunnels[tunnel]}, &sample);
                visit(&sample, &rng);
                count++;
            }
        }
    return count;
}

static void visit_round_trip(struct sample *sample, struct rng *rng)
{
    check_reads_back(sample, sample->bytes, sample->bytes);
    check_reads_back(sample, sample->bytes, 0); /* a file that claims less than it holds */
    /* Padding and an FCS behind the packet are not part of it, captured or not. */
    uint32_t extra = 1 + (uint32_t)rng_below(rng, 40);
    memset(sample->frame + sample->bytes, 0xa5, extra);
    check_reads_back(sample, sample->bytes + extra, sample->bytes + extra);
    check_reads_back(sample, sample->bytes, sample->bytes + extra);
}

static void test_round_trip(void **state)
{
    (void)state;
    unsigned count = each_shape(1, 300, visit_round_trip);
    count += each_shape(2, 300, visit_round_trip);
    count += each_shape(3, 4096, visit_round_trip);
    assert_int_equal(count, 3 * 9 * (256 * 3 + 2));
}

static int parse_prefix(const struct sample *sample, uint32_t captured, uint32_t length, struct pkt *pkt)
{
    /* The exact size on the heap: the sanitizer sees a read of one byte too many. */
    uint8_t *exact = malloc(captured ? captured : 1);
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    memcpy(exact, sample->frame, captured);
    struct codec_frame frame = {exact, captured, length, CODEC_ETHERNET};
    int answer = codec_parse(&frame, pkt, &cold, &layout, &fault);
    if (answer == 0) {
        assert_int_equal(fault, CODEC_FAULT_NONE);
        enum icrc_verdict verdict = icrc_check(&frame, pkt, &cold, &layout);
        if (captured < sample->bytes) assert_int_equal(verdict, ICRC_UNKNOWN);
    } else if (answer == -ENODATA) {
        assert_int_equal(fault, CODEC_FAULT_CUT_HEADERS);
    } else {
        assert_int_equal(answer, -EBADMSG);
        assert_true(fault != CODEC_FAULT_NONE && fault != CODEC_FAULT_CUT_HEADERS);
    }
    free(exact);
    return answer;
}

/* A cut inside the extended headers: those that are not whole are named and empty, BTH and lengths are right. */
static void check_missing(const struct sample *sample, uint32_t keep, const struct pkt *pkt)
{
    unsigned headers = opcode_info(sample->pkt.opcode)->flags & OP_HEADERS;
    int payload_at = codec_header_bytes(&sample->pkt, &sample->cold);
    if (keep >= (uint32_t)payload_at && pkt->missing) fail_sample(sample, "missing, but it is there");
    if (keep < (uint32_t)payload_at && !pkt->missing) fail_sample(sample, "cut off and not said so");
    if (pkt->missing & ~headers) fail_sample(sample, "a header is missing that its opcode does not have");
    if (memcmp(pkt, &sample->pkt, offsetof(struct pkt, next)) != 0) fail_sample(sample, "BTH of a cut packet differs");
    if (pkt->missing & OP_DETH) assert_int_equal(pkt->src_qp, 0);
    if (pkt->missing & OP_RETH) assert_int_equal(pkt->rdma.dma_bytes, 0);
    if (pkt->missing & OP_AETH) assert_int_equal(pkt->ack.syndrome | pkt->ack.msn, 0);
    if (pkt->missing & (OP_IMMDT | OP_IETH)) assert_int_equal(pkt->imm, 0);
    if (headers & OP_RETH && !(pkt->missing & OP_RETH))
        assert_int_equal(pkt->rdma.dma_bytes, sample->pkt.rdma.dma_bytes);
}

static void visit_prefixes(struct sample *sample, struct rng *rng)
{
    (void)rng;
    bool headers_were_whole = false;
    for (uint32_t keep = 0; keep < sample->bytes; keep++) {
        struct pkt pkt;
        /* The capture cut it: never malformed; once the headers are there, cut but readable. */
        int answer = parse_prefix(sample, keep, sample->bytes, &pkt);
        if (answer == -EBADMSG) fail_sample(sample, "a cut frame is called malformed");
        if (headers_were_whole && answer != 0) fail_sample(sample, "more bytes, less understood");
        if (answer == 0) {
            headers_were_whole = true;
            assert_int_equal(pkt.kind, PKT_ROCE);
            assert_true(pkt.flags & PKT_CUT);
            pkt.flags &= (uint8_t)~PKT_CUT;
            check_missing(sample, keep, &pkt);
            if (!pkt.missing && memcmp(&pkt, &sample->pkt, sizeof pkt) != 0)
                fail_sample(sample, "cut descriptor differs");
        }
        /* The frame itself ended there: malformed, or too short to be anybody's. */
        answer = parse_prefix(sample, keep, keep, &pkt);
        if (answer == 0 && pkt.kind != PKT_OTHER) fail_sample(sample, "a short frame is called whole");
        if (answer == -ENODATA) fail_sample(sample, "a short frame is called cut");
    }
    if (sample->pkt.kind == PKT_ROCE && !headers_were_whole) fail_sample(sample, "no prefix was readable");
}

static void test_prefixes(void **state)
{
    (void)state;
    assert_int_equal(each_shape(4, 20, visit_prefixes), 9 * (256 * 3 + 2));
}

/* Random damage anywhere: whatever comes out, nothing is read outside and the answer is one of three. */
static void visit_damage(struct sample *sample, struct rng *rng)
{
    struct pkt pkt;
    for (unsigned hits = 1 + (unsigned)rng_below(rng, 4); hits > 0; hits--)
        sample->frame[rng_below(rng, sample->bytes)] = (uint8_t)rng_u32(rng);
    int answer = parse_prefix(sample, sample->bytes, sample->bytes, &pkt);
    assert_true(answer == 0 || answer == -EBADMSG);
    if (answer == 0) assert_true(pkt.kind <= PKT_PAUSE && !(pkt.flags & PKT_CUT));
}

static void test_damage(void **state)
{
    (void)state;
    assert_int_equal(each_shape(5, 60, visit_damage), 9 * (256 * 3 + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
