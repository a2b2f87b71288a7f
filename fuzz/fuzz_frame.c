/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through the frame parser, as every link type, whole, cut and with a lying length.
 * What it accepts must survive emit and parse unchanged, as far as a descriptor can hold it.
 *
 * The first byte of the input chooses the link type and the lengths, the rest is the frame.
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

/* The descriptor does not keep IPv4 options, reserved bytes of extended headers, a cooked link header,
 * Ethernet padding or a wrong ICRC: frame_bytes and icrc are those of the emitted frame. */
static void check_round_trip(const struct pkt *pkt, const struct pkt_cold *cold, const struct pkt_int *record,
                             const uint8_t *payload)
{
    static uint8_t frame[8192];
    struct pkt want = *pkt, got;
    struct pkt_cold want_cold, got_cold;
    struct codec_layout layout;
    enum codec_fault fault;
    memcpy(&want_cold, cold, sizeof want_cold);
    int bytes = codec_emit_frame(pkt, cold, record, payload, frame, sizeof frame, &layout);
    CHECK(bytes > 0);
    want.frame_bytes = (uint16_t)bytes;
    if (pkt->kind == PKT_ROCE) want_cold.icrc = load_le32(frame + bytes - 4);

    struct codec_frame again = {frame, (uint32_t)bytes, (uint32_t)bytes, CODEC_ETHERNET};
    CHECK(codec_parse(&again, &got, &got_cold, &layout, &fault) == 0);
    CHECK(memcmp(&got, &want, sizeof got) == 0);
    CHECK(memcmp(&got_cold, &want_cold, sizeof got_cold) == 0);
    if (pkt->kind != PKT_ROCE) return;
    CHECK(memcmp(codec_payload(&again, &layout), payload, pkt->payload_bytes) == 0);
    CHECK(icrc_check(&again, &got, &got_cold, &layout) == ICRC_GOOD);
    CHECK(codec_has_telemetry(&layout) == (record != NULL));
    if (record == NULL) return;
    struct pkt_int read;
    codec_telemetry_read(frame, &layout, &read);
    CHECK(read.hops == record->hops && read.echo == record->echo);
    for (unsigned i = 0; i < read.hops; i++) {
        const struct pkt_hop *a = &read.hop[i], *b = &record->hop[i];
        CHECK(a->at == b->at && a->tx_bytes == b->tx_bytes && a->rate_bps == b->rate_bps);
        CHECK(a->queue_bytes == b->queue_bytes);
    }
}

static void check_frame(const struct codec_frame *frame)
{
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    int answer = codec_parse(frame, &pkt, &cold, &layout, &fault);
    CHECK(codec_fault_text(fault) != NULL);
    if (answer != 0) {
        CHECK(answer == -EBADMSG || (answer == -ENODATA && fault == CODEC_FAULT_CUT_HEADERS));
        CHECK(answer != -ENODATA || frame->captured < frame->length);
        return;
    }
    CHECK(fault == CODEC_FAULT_NONE);
    enum icrc_verdict verdict = icrc_check(frame, &pkt, &cold, &layout);
    CHECK((verdict == ICRC_UNKNOWN) == (pkt.kind != PKT_ROCE || (pkt.flags & PKT_CUT)));
    if (pkt.flags & PKT_CUT) {
        CHECK(frame->captured < frame->length && codec_payload(frame, &layout) == NULL);
    } else if (pkt.kind != PKT_OTHER) {
        struct pkt_int record;
        bool told = codec_has_telemetry(&layout);
        if (told) codec_telemetry_read(frame->data, &layout, &record);
        check_round_trip(&pkt, &cold, told ? &record : NULL, codec_payload(frame, &layout));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 9000) return 0;
    uint32_t bytes = (uint32_t)size - 1;
    uint8_t *exact = malloc(bytes ? bytes : 1); /* its own allocation: reads beyond the end are seen */
    if (!exact) return 0;
    memcpy(exact, data + 1, bytes);
    for (int link = CODEC_ETHERNET; link <= CODEC_RAW_IP; link++) {
        check_frame(&(struct codec_frame){exact, bytes, bytes, (enum codec_link)link});
        check_frame(&(struct codec_frame){exact, bytes, bytes + 1 + data[0], (enum codec_link)link});
        check_frame(&(struct codec_frame){exact, bytes, bytes / 2, (enum codec_link)link});
        check_frame(&(struct codec_frame){exact, bytes - bytes * data[0] / 512, bytes, (enum codec_link)link});
    }
    free(exact);
    return 0;
}
