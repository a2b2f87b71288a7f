/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through a switch: read in transit, changed as a switch changes a descriptor, written back.  Only the bytes
 * that codec_rewrite() names may differ, what was read comes out as it was changed, and ICRC and checksum are as right
 * or as wrong as before.  Telemetry gets one more hop.
 *
 * The first three bytes of the input are TOS, TTL and priority that the switch sets, the rest is the frame.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"
#include "packet/icrc.h"
#include "packet/telemetry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum icrc_verdict icrc;
};

static int look(const uint8_t *frame, uint32_t bytes, struct seen *ret)
{
    struct codec_frame whole = {frame, bytes, bytes, CODEC_ETHERNET};
    enum codec_fault fault;
    int answer = codec_parse_transit(&whole, &ret->pkt, &ret->cold, &ret->layout, &fault);
    CHECK(answer == 0 || (answer == -EBADMSG && fault != CODEC_FAULT_NONE));
    if (answer == 0) ret->icrc = icrc_check(&whole, &ret->pkt, &ret->cold, &ret->layout);
    return answer;
}

/* May this byte differ after a rewrite? */
static bool may_differ(const struct seen *seen, uint32_t at)
{
    uint32_t l3 = seen->layout.l3_at;
    if (seen->layout.tag_at && at == seen->layout.tag_at) return true;
    if (l3 == 0) return false;
    if (seen->pkt.net == PKT_NET_IPV4) return at == l3 + 1 || at == l3 + 8 || at == l3 + 10 || at == l3 + 11;
    return at == l3 || at == l3 + 1 || at == l3 + 7;
}

static uint32_t ipv4_sum(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (uint32_t at = 0; at < (ip[0] & 15u) * 4; at += 2)
        sum += load_be16(ip + at);
    sum = (sum >> 16) + (sum & 0xffff);
    return (sum >> 16) + (sum & 0xffff);
}

static void check_telemetry(uint8_t *frame, uint32_t bytes, const struct seen *seen)
{
    struct pkt_int record, again;
    struct seen after;
    codec_telemetry_read(frame, &seen->layout, &record);
    pkt_int_add(&record, UINT64_C(123456789012), 1234567, UINT64_C(100000000000), 4321);
    struct pkt_int want = codec_telemetry_rounded(&record);
    codec_telemetry_write(frame, &seen->layout, &record);
    CHECK(look(frame, bytes, &after) == 0 && after.icrc == seen->icrc);
    codec_telemetry_read(frame, &after.layout, &again);
    CHECK(again.hops == want.hops && again.echo == want.echo);
    CHECK(again.hops == 0 || again.hop[again.hops - 1].tx_bytes == want.hop[want.hops - 1].tx_bytes);
}

static void check_frame(const uint8_t *choice, uint8_t *frame, const uint8_t *before, uint32_t bytes)
{
    struct seen seen, after;
    if (look(frame, bytes, &seen) != 0) return;
    codec_rewrite(frame, &seen.layout, &seen.pkt); /* nothing has changed, but for the other zero of a checksum */
    bool four = seen.layout.l3_at && seen.pkt.net == PKT_NET_IPV4;
    for (uint32_t i = 0; i < bytes; i++)
        CHECK(frame[i] == before[i] || (four && (i == seen.layout.l3_at + 10u || i == seen.layout.l3_at + 11u)));

    bool right = four && ipv4_sum(before + seen.layout.l3_at) == 0xffff;
    if (seen.layout.l3_at) {
        seen.pkt.tos = choice[0];
        seen.pkt.ttl = choice[1];
    }
    if (seen.layout.tag_at) seen.pkt.pcp = choice[2] & 7;
    codec_rewrite(frame, &seen.layout, &seen.pkt);
    for (uint32_t i = 0; i < bytes; i++)
        CHECK(frame[i] == before[i] || may_differ(&seen, i));
    if (four && load_be16(before + seen.layout.l3_at + 10) != 0)
        CHECK((ipv4_sum(frame + seen.layout.l3_at) == 0xffff) == right);
    CHECK(look(frame, bytes, &after) == 0);
    CHECK(memcmp(&after.pkt, &seen.pkt, sizeof after.pkt) == 0);
    CHECK(memcmp(&after.layout, &seen.layout, sizeof after.layout) == 0);
    CHECK(after.icrc == seen.icrc);
    if (codec_has_telemetry(&after.layout)) check_telemetry(frame, bytes, &after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > 9000) return 0;
    uint32_t bytes = (uint32_t)size - 3;
    uint8_t *exact = malloc(bytes); /* its own allocation: what is touched beyond the end is seen */
    if (!exact) return 0;
    memcpy(exact, data + 3, bytes);
    check_frame(data, exact, data + 3, bytes);
    free(exact);
    return 0;
}
