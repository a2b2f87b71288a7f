/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deflate in base64, with ISA-L and without: zlib gives back what was written, whatever the pieces it was written in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../seed.h"
#include "base/rng.h"
#include "report/page/deflate.h"

#define LARGEST (300 * 1000)

static size_t from_base64(const char *text, size_t length, uint8_t *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t held = 0, bits = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < length && text[i] != '='; i++) {
        if (text[i] == '\n') continue;
        const char *digit = memchr(digits, text[i], 64);
        assert_non_null(digit);
        held = held << 6 | (uint32_t)(digit - digits);
        bits += 6;
        if (bits >= 8) out[bytes++] = (uint8_t)(held >> (bits -= 8));
    }
    return bytes;
}

static void check_back(const uint8_t *data, size_t bytes, size_t piece)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct deflate *deflate = deflate_new(out);

    assert_non_null(deflate);
    for (size_t at = 0; at < bytes; at += piece)
        deflate_write(deflate, data + at, bytes - at < piece ? bytes - at : piece);
    deflate_end(deflate);
    deflate_free(deflate);
    assert_int_equal(fclose(out), 0);
    uint8_t *packed = malloc(length + 1), *back = malloc(bytes + 1);
    z_stream stream = {.next_in = packed,
                       .avail_in = (uInt)from_base64(text, length, packed),
                       .next_out = back,
                       .avail_out = (uInt)bytes + 1};
    assert_int_equal(inflateInit2(&stream, -15), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, bytes);
    assert_int_equal(stream.avail_in, 0);
    assert_memory_equal(back, data, bytes);
    inflateEnd(&stream);
    free(packed);
    free(back);
    free(text);
}

static void test_back(void **state)
{
    static uint8_t data[LARGEST];
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed_or(1), 0);
    for (unsigned i = 0; i < 60; i++) {
        uint32_t bytes = i < 5 ? i : (uint32_t)rng_below(&rng, LARGEST), kinds = 1 + (uint32_t)rng_below(&rng, 255);
        for (uint32_t j = 0; j < bytes; j++)
            data[j] = (uint8_t)rng_below(&rng, kinds);
        check_back(data, bytes, 1 + rng_below(&rng, i % 2 ? 50 : 100000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
