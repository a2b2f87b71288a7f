/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that are not ours: what a test hands to one comes out at another as bytes, after the time that its links and
 * switches take, with what routers change and nothing else; both ends of the line are heard with their pauses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "packet/frame.h"
#include "sim/programs.h"
#include "support.h"

#define FABRIC                                                                                                         \
    "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}\n"                                           \
    "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
#define FROM 0u
#define TO 5u
#define FRAMES 5u
#define BYTES 98u
#define QUANTA 1000u /* of 512 bits: 5.12 us at 100G */

struct owner {
    ps_t at, sent_at[FRAMES], came_at[FRAMES];
    uint32_t sent, came;
    ps_t pause_at; /* when TO says that it wants nothing */
    uint8_t frame[BYTES], out[BYTES];
};

static bool is_foreign(void *owner, uint32_t host)
{
    (void)owner;
    return host == FROM || host == TO;
}

static ps_t next(void *owner, uint32_t host)
{
    const struct owner *own = owner;

    if (host == TO) return own->pause_at;
    return host == FROM && own->sent == 0 ? own->at : PS_NEVER;
}

static void turn(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    struct owner *own = owner;

    if (host != TO) return;
    assert_int_equal(now, own->pause_at);
    own->pause_at = PS_NEVER;
    io->control[io->controls++] =
        (struct node_control){.word = control_pause(0xff, QUANTA), .port = 0, .cause = SW_NO_CAUSE};
    io->answers |= NODE_CONTROLS;
}

static pkt_t sends(void *owner, uint32_t host, uint32_t port, ps_t now, struct node_io *io)
{
    struct owner *own = owner;
    enum codec_fault fault;

    assert_int_equal(port, 0);
    if (host != FROM || now < own->at || own->sent == FRAMES) return PKT_NONE;
    pkt_t id = pktpool_get(io->pool);
    assert_int_equal(frame_in(io->pool, id, own->frame, BYTES, &fault), 0);
    assert_int_equal(io->pool->hot[id].kind, PKT_OTHER);
    io->pool->hot[id].src_node = FROM;
    io->pool->hot[id].dst_node = TO;
    own->sent_at[own->sent++] = now;
    return id;
}

static bool more(void *owner, uint32_t host, uint32_t port)
{
    const struct owner *own = owner;

    (void)port;
    return host == FROM && own->sent < FRAMES;
}

static void received(void *owner, uint32_t host, uint32_t port, pkt_t id, ps_t now, struct node_io *io)
{
    struct owner *own = owner;

    assert_int_equal(host, TO);
    assert_int_equal(port, 0);
    assert_int_equal(io->pool->frame[id].bytes, BYTES);
    frame_patch(io->pool, id);
    memcpy(own->out, frame_data(io->pool, id), BYTES);
    own->came_at[own->came++] = now;
}

static void word(void *owner, uint32_t host, uint32_t port, uint32_t word, ps_t now)
{
    (void)owner;
    (void)port;
    (void)now;
    fail_msg("host %u was told %#x, and nothing is full", host, word);
}

static bool coordinate(void *owner, ps_t now)
{
    const struct owner *own = owner;

    (void)now;
    return own->came == FRAMES;
}

static ps_t ended(void *owner)
{
    return ((const struct owner *)owner)->came_at[FRAMES - 1];
}

static const struct sim_foreign foreign = {
    .is = is_foreign, .received = received, .sends = sends, .more = more, .word = word};

/* An echo request from host 0 to host 5, as a kernel sends it. */
static void make_frame(uint8_t frame[BYTES])
{
    static const uint8_t head[] = {0x02, 0,    0,    0,    0, 9,  0x02, 0, 0, 0,  0, 8, 0x08, 0,  0x45, 0, 0,
                                   84,   0x12, 0x34, 0x40, 0, 64, 1,    0, 0, 10, 0, 0, 1,    10, 0,    0, 6};
    uint32_t sum = 0;

    memcpy(frame, head, sizeof head);
    for (uint32_t i = sizeof head; i < BYTES; i++)
        frame[i] = (uint8_t)(i * 7);
    for (uint32_t i = 14; i < 34; i += 2)
        sum += load_be16(frame + i);
    store_be16(frame + 24, (uint16_t) ~((sum >> 16) + (sum & 0xffff)));
}

static struct run run_with(struct owner *own, const char *text, uint32_t threads)
{
    static struct sim_programs hooks;
    struct sim_options options = options_of(1, threads);

    hooks = (struct sim_programs){.owner = own,
                                  .foreign = &foreign,
                                  .qps = 1,
                                  .mrs = 1,
                                  .next = next,
                                  .turn = turn,
                                  .coordinate = coordinate,
                                  .ended = ended};
    options.programs = &hooks;
    options.packets_max = 1u << 14;
    make_frame(own->frame);
    return run_text(text, options);
}

static void test_frames_cross(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct owner own = {.at = 3 * PS_US, .pause_at = PS_NEVER};
        struct run run = run_with(&own, FABRIC, threads);
        const struct fabric *fabric = run.fabric;
        uint8_t expected[BYTES];
        ps_t line = (ps_t)(BYTES + 12) * 80,
             way = 66 * 5 * PS_NS + 3 * fabric->sw[0].latency_ps + fabric->nic[0].latency_ps;

        memcpy(expected, own.frame, BYTES);
        expected[22] = 61; /* three switches; the checksum follows (RFC 1624) */
        store_be16(expected + 24, (uint16_t)(load_be16(expected + 24) + (3 << 8)));
        assert_memory_equal(own.out, expected, BYTES);
        assert_int_equal(own.sent_at[0], own.at);
        for (uint32_t i = 0; i < FRAMES; i++) {
            assert_int_equal(own.came_at[i] - own.sent_at[i], 4 * line + way);
            if (i) assert_int_equal(own.sent_at[i] - own.sent_at[i - 1], (BYTES + 24) * 80);
        }
        run_free(&run);
    }
}

/* The leaf obeys a pause from outside for as long as it says. */
static void test_pauses_from_outside(void **state)
{
    struct owner own = {.at = 3 * PS_US, .pause_at = 2 * PS_US};
    struct run run = run_with(&own, FABRIC "classes: [{name: all, priority: 0, lossless: true}]\n", 1);

    (void)state;
    assert_true(own.came_at[0] > own.pause_at + pause_quanta_ps(QUANTA, 100000000000));
    assert_true(own.came_at[FRAMES - 1] > own.came_at[0]);
    run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_cross),
        cmocka_unit_test(test_pauses_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
