/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw deflate in base64; see deflate.h.
 */
#include "report/page/deflate.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#if ROCELAB_ISAL
#include <isa-l/igzip_lib.h>
#endif

#define LINE_CHARACTERS 4096 /* of base64: editors and `grep` stay usable */
#define BUFFER_BYTES (32 * 1024)

static void put_six(struct base64 *base64, uint32_t six)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    putc(digit[six & 63], base64->to);
    if (++base64->written % LINE_CHARACTERS == 0) putc('\n', base64->to);
}

void base64_write(struct base64 *base64, const void *data, size_t bytes)
{
    const uint8_t *byte = data;

    for (size_t i = 0; i < bytes; i++) {
        base64->held = base64->held << 8 | byte[i];
        for (base64->bits += 8; base64->bits >= 6; base64->bits -= 6)
            put_six(base64, base64->held >> (base64->bits - 6));
    }
}

void base64_end(struct base64 *base64)
{
    if (base64->bits > 0) put_six(base64, base64->held << (6 - base64->bits));
    while (base64->written % 4 != 0) {
        putc('=', base64->to);
        base64->written++;
    }
    base64->bits = 0;
}

#if ROCELAB_ISAL

struct deflate {
    struct base64 base64;
    struct isal_zstream stream;
    uint8_t level[ISAL_DEF_LVL3_DEFAULT];
    uint8_t out[BUFFER_BYTES];
};

struct deflate *deflate_new(FILE *to)
{
    struct deflate *deflate = calloc(1, sizeof *deflate);

    if (deflate == NULL) return NULL;
    deflate->base64.to = to;
    isal_deflate_init(&deflate->stream);
    deflate->stream.level = 3;
    deflate->stream.level_buf = deflate->level;
    deflate->stream.level_buf_size = sizeof deflate->level;
    return deflate;
}

/* ISA-L may hold what it was given and answer without a byte: only an output that is not full says it has no more. */
static void run(struct deflate *deflate)
{
    struct isal_zstream *stream = &deflate->stream;

    do {
        stream->next_out = deflate->out;
        stream->avail_out = sizeof deflate->out;
        int answer = isal_deflate(stream);
        CHECK(answer == COMP_OK);
        base64_write(&deflate->base64, deflate->out, sizeof deflate->out - stream->avail_out);
    } while (stream->avail_out == 0);
}

void deflate_write(struct deflate *deflate, const void *data, size_t bytes)
{
    const uint8_t *byte = data;

    while (bytes > 0) {
        uint32_t part = bytes < 1u << 30 ? (uint32_t)bytes : 1u << 30;
        uint8_t *from;
        memcpy(&from, &byte, sizeof from); /* ISA-L does not write there, and does not say so */
        deflate->stream.next_in = from;
        deflate->stream.avail_in = part;
        run(deflate);
        byte += part;
        bytes -= part;
    }
}

void deflate_end(struct deflate *deflate)
{
    deflate->stream.end_of_stream = 1;
    deflate->stream.avail_in = 0;
    run(deflate);
    base64_end(&deflate->base64);
}

#else

struct deflate {
    struct base64 base64;
    uint32_t held;
    uint8_t block[BUFFER_BYTES];
};

struct deflate *deflate_new(FILE *to)
{
    struct deflate *deflate = calloc(1, sizeof *deflate);

    if (deflate) deflate->base64.to = to;
    return deflate;
}

static void put_block(struct deflate *deflate, uint8_t last)
{
    uint16_t length = (uint16_t)deflate->held, other = (uint16_t)~length;
    const uint8_t head[] = {last, (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)other, (uint8_t)(other >> 8)};

    base64_write(&deflate->base64, head, sizeof head);
    base64_write(&deflate->base64, deflate->block, length);
    deflate->held = 0;
}

void deflate_write(struct deflate *deflate, const void *data, size_t bytes)
{
    const uint8_t *byte = data;

    while (bytes > 0) {
        size_t part = sizeof deflate->block - deflate->held;
        if (part > bytes) part = bytes;
        memcpy(deflate->block + deflate->held, byte, part);
        deflate->held += (uint32_t)part;
        byte += part;
        bytes -= part;
        if (deflate->held == sizeof deflate->block) put_block(deflate, 0);
    }
}

void deflate_end(struct deflate *deflate)
{
    put_block(deflate, 1);
    base64_end(&deflate->base64);
}

#endif

void deflate_free(struct deflate *deflate)
{
    free(deflate);
}
