/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sw_rx() and sw_tx() do beside forwarding: flooding, raised classes, in-band telemetry.
 */
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "packet/frame.h"
#include "packet/telemetry.h"

#define PORTS 4
#define ADDED 24 /* preamble, FCS, gap */

#define ROOM 64u /* for the bytes of a frame */

static struct lab lab;
static struct pkt_cold cold[LAB_PACKETS];
static struct pkt_frame frame[LAB_PACKETS];
static uint8_t bytes[LAB_PACKETS * ROOM];
static struct pkt_int record[LAB_PACKETS];

static void test_floods(void **state)
{
    uint16_t forgotten[LAB_PORTS + 1];

    (void)state;
    lab_defaults(&lab, PORTS);
    memcpy(forgotten, lab.local_port, sizeof(forgotten));
    forgotten[2] = SW_FLOOD_PORT;
    lab.routes.wired_port = lab.local_port;
    lab.routes.local_port = forgotten;
    lab.config.forgets_ports = true;
    lab_start(&lab);
    assert_int_equal(sw_form(&lab.config), SW_WHOLE);
    assert_int_equal(lab_rx(&lab, 0, 1, 3, 1000), 1); /* a port that is known */
    assert_int_equal(lab_tx(&lab, 1), 3);
    lab.pool.cold = cold;
    lab.pool.frame = frame;
    lab.pool.bytes = bytes;
    lab.pool.bytes_each = ROOM;
    pkt_t id = lab_packet(&lab, 2, 3, 1000);
    cold[id].pkey = 77;
    frame[id].bytes = ROOM;
    memset(frame_data(&lab.pool, id), 0xab, ROOM);
    assert_int_equal(lab_rx_id(&lab, 0, id), SW_FLOODED);
    assert_int_equal(lab_tx(&lab, 0), -1); /* not back to where it came from */
    for (uint16_t port = 1; port < PORTS; port++) {
        pkt_t copy = lab_tx_id(&lab, port);
        assert_int_not_equal(copy, PKT_NONE);
        assert_int_equal((lab_pkt(&lab, copy)->flags & PKT_STRAY) == 0, port == 2); /* others go no further */
        assert_int_equal(cold[copy].pkey, 77); /* each has all that the packet had */
        assert_int_equal(frame[copy].bytes, ROOM);
        assert_int_equal(frame_data(&lab.pool, copy)[ROOM - 1], 0xab);
        pktpool_put(&lab.pool, copy);
    }
    lab_port(&lab, 1, false);
    lab_port(&lab, 2, false);
    lab_port(&lab, 3, false);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_no_route], 1);
    sw_audit(lab.sw);
    free(lab.sw);
    free(lab.pool.hot);
    free(lab.pool.free);
}

static void test_raises(void **state)
{
    static const uint8_t above[PORTS] = {0, 0, 1, 1};
    struct sw_raise raise = {.above = above};

    (void)state;
    lab_defaults(&lab, PORTS);
    for (uint8_t dscp = 0; dscp < 64; dscp++)
        raise.dscp[dscp] = dscp == 3 << 3 ? 4 << 3 : dscp;
    lab.config.raise = &raise;
    lab_start(&lab);
    assert_int_equal(sw_form(&lab.config), SW_WHOLE);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), 2); /* up: its class stays */
    assert_int_equal(sw_queue_bytes(lab.sw, 2, 3), 1000);
    assert_int_equal(lab_rx(&lab, 3, 2, 3, 1000), 2); /* from above and up again */
    assert_int_equal(sw_queue_bytes(lab.sw, 2, 4), 1000);
    assert_int_equal(sw_pg_bytes(lab.sw, 3, 3), 1000); /* the peer was told to pause by the old one */
    for (int i = 0; i < 2; i++)
        lab_tx(&lab, 2);
    lab_stop(&lab);
}

static const struct pkt_hop *sent(uint16_t port, pkt_t want)
{
    pkt_t id = lab_tx_id(&lab, port);

    assert_int_equal(id, want);
    pktpool_put(&lab.pool, id);
    assert_int_equal(record[id].hops, 1);
    return &record[id].hop[0];
}

static void test_telemetry(void **state)
{
    pkt_t id[4];
    const struct pkt_hop *hop;

    (void)state;
    memset(record, 0, sizeof(record));
    lab_defaults(&lab, PORTS);
    lab.config.telemetry = true;
    lab.config.line = (struct sw_line){.least_bytes = 60, .added_bytes = ADDED, .pause_bytes = 84};
    for (int i = 0; i < SW_PRIOS; i++) /* each packet that comes crosses the threshold, each that goes is below */
        lab.plain.pg[i] = (struct sw_pg_config){.lossless = i == 3, .static_bytes = 1500, .headroom_bytes = 4000};
    lab_start(&lab);
    lab.pool.telemetry = record;
    assert_int_equal(sw_form(&lab.config), SW_WHOLE);
    id[0] = lab_packet(&lab, 1, 3, 1000);
    id[1] = lab_packet(&lab, 1, 3, 50);
    id[2] = lab_packet(&lab, 1, 3, 300);
    id[3] = lab_packet(&lab, 0, 0, 700);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lab_rx_id(&lab, 0, id[i]), 1);
    lab.now = 5000;
    hop = sent(1, id[0]);
    assert_int_equal(hop->at, 5000);
    assert_int_equal(hop->tx_bytes, 0);
    assert_int_equal(hop->queue_bytes, 350);
    assert_int_equal(hop->rate_bps, LAB_RATE);
    hop = sent(1, id[1]);
    assert_int_equal(hop->tx_bytes, 1000 + ADDED);
    assert_int_equal(hop->queue_bytes, 300);
    assert_int_equal(sent(1, id[2])->tx_bytes, 1000 + 60 + 2 * ADDED); /* padded */
    /* Pause frames are on the line too: XOFF and XON of port 0. */
    lab_rx(&lab, 0, 1, 3, 1000);
    lab_rx(&lab, 0, 1, 3, 1000);
    assert_int_equal(lab.io.pauses, 1);
    lab_tx(&lab, 1);
    lab_tx(&lab, 1);
    assert_int_equal(lab_count(&lab, 0)->tx_pfc_frames, 2);
    lab_rx_id(&lab, 1, id[3]);
    assert_int_equal(sent(0, id[3])->tx_bytes, 2 * 84);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_floods), cmocka_unit_test(test_raises),
                                       cmocka_unit_test(test_telemetry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
