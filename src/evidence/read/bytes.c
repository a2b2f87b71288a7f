/* SPDX-License-Identifier: Apache-2.0 */
/* A text's bytes, piece by piece; UTF-16 with its mark becomes UTF-8. */
#include "evidence/read/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PIECE (1u << 14)
#define PIECE (1u << 18)

void bytes_of(struct bytes_in *bytes, const char *text, size_t length)
{
    *bytes = (struct bytes_in){.held = (char *)(uintptr_t)text, .used = length, .ended = true, .borrowed = true};
}

void bytes_from(struct bytes_in *bytes, ssize_t (*more)(void *of, char *to, size_t room), void *of)
{
    *bytes = (struct bytes_in){.more = more, .of = of};
}

const char *bytes_why(int error)
{
    return error == -EFBIG     ? "it unpacks to more than 1 GB, or than 100 times its size"
           : error == -EBADMSG ? "it is damaged, or cut"
                               : strerror(-error);
}

void bytes_release(struct bytes_in *bytes)
{
    if (!bytes->borrowed) free(bytes->held);
    free(bytes->line);
    *bytes = (struct bytes_in){.ended = true};
}

/* Room for `most` more behind what is there. */
static bool make_room(struct bytes_in *bytes, size_t most)
{
    if (bytes->from && bytes->room - bytes->used < most) {
        memmove(bytes->held, bytes->held + bytes->from, bytes_left(bytes));
        bytes->used -= bytes->from;
        bytes->from = 0;
    }
    if (bytes->room - bytes->used >= most) return true;
    size_t room = bytes->room ? 2 * bytes->room : most;
    while (room - bytes->used < most)
        room *= 2;
    char *grown = realloc(bytes->held, room);
    if (!grown) return false;
    bytes->held = grown;
    bytes->room = room;
    return true;
}

/* A character as UTF-8; returns its length. */
static size_t put_utf8(char *to, uint32_t is)
{
    if (is < 0x80) {
        to[0] = (char)is;
        return 1;
    }
    if (is < 0x800) {
        to[0] = (char)(0xc0 | is >> 6);
        to[1] = (char)(0x80 | (is & 0x3f));
        return 2;
    }
    if (is < 0x10000) {
        to[0] = (char)(0xe0 | is >> 12);
        to[1] = (char)(0x80 | (is >> 6 & 0x3f));
        to[2] = (char)(0x80 | (is & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | is >> 18);
    to[1] = (char)(0x80 | (is >> 12 & 0x3f));
    to[2] = (char)(0x80 | (is >> 6 & 0x3f));
    to[3] = (char)(0x80 | (is & 0x3f));
    return 4;
}

/* `raw` bytes of UTF-16 behind those that are kept; what is no character is a question mark. */
static size_t narrow(struct bytes_in *bytes, const char *raw, size_t length, char *to)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        bytes->odd[bytes->odds++] = (uint8_t)raw[i];
        if (bytes->odds & 1) continue;
        const uint8_t *last = bytes->odd + bytes->odds - 2;
        uint32_t unit = bytes->big ? (uint32_t)last[0] << 8 | last[1] : (uint32_t)last[1] << 8 | last[0];
        bool low = unit >= 0xdc00 && unit < 0xe000;
        if (bytes->odds == 2 && unit >= 0xd800 && unit < 0xdc00) continue;
        if (bytes->odds == 4) {
            const uint8_t *first = bytes->odd;
            uint32_t high = bytes->big ? (uint32_t)first[0] << 8 | first[1] : (uint32_t)first[1] << 8 | first[0];
            if (low)
                used += put_utf8(to + used, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
            else
                to[used++] = '?';
            if (low) {
                bytes->odds = 0;
                continue;
            }
        }
        bytes->odds = 0;
        if (unit >= 0xd800 && unit < 0xe000)
            to[used++] = '?';
        else
            used += put_utf8(to + used, unit);
    }
    return used;
}

/* One piece more.  False: there is no memory, or it cannot be read. */
static bool more(struct bytes_in *bytes)
{
    char raw[8192];
    ssize_t got;

    size_t piece = bytes->room < PIECE ? FIRST_PIECE : PIECE; /* most entries of archives are small */
    if (!make_room(bytes, bytes->wide ? 2 * sizeof raw : piece)) {
        bytes->error = -ENOMEM;
        bytes->ended = true;
        return false;
    }
    char *to = bytes->held + bytes->used;
    do
        got = bytes->more(bytes->of, bytes->wide ? raw : to, bytes->wide ? sizeof raw : bytes->room - bytes->used);
    while (got == -EINTR);
    if (got <= 0) {
        bytes->ended = true;
        bytes->error = (int)got;
        return got == 0;
    }
    bytes->used += bytes->wide ? narrow(bytes, raw, (size_t)got, to) : (size_t)got;
    return true;
}

/* A mark of UTF-16: what is there becomes UTF-8, and what comes. */
static void know_width(struct bytes_in *bytes)
{
    const uint8_t *mark = (const uint8_t *)bytes->held;
    size_t length = bytes->used - 2;

    bytes->big = mark[0] == 0xfe;
    bytes->wide = true;
    char *raw = bytes->held, *text = malloc(2 * length + 4);
    if (!text) {
        bytes->error = -ENOMEM;
        bytes->ended = true;
        bytes->used = 0;
        return;
    }
    bytes->used = narrow(bytes, raw + 2, length, text);
    bytes->held = text;
    bytes->room = 2 * length + 4;
    if (!bytes->borrowed) free(raw);
    bytes->borrowed = false;
}

bool bytes_fill(struct bytes_in *bytes, size_t want)
{
    bool first = !bytes->begun;

    if (want == SIZE_MAX && bytes->expected && !bytes->ended && !bytes->wide) { /* all, in one piece */
        char *grown = realloc(bytes->held, bytes->used + bytes->expected + 2 * PIECE);
        if (grown) bytes->room = bytes->used + bytes->expected + 2 * PIECE;
        if (grown) bytes->held = grown;
    }
    while (!bytes->ended && bytes_left(bytes) < want)
        if (!more(bytes)) break;
    bytes->begun = true;
    if (first && !bytes->from && bytes->used >= 2) {
        const uint8_t *mark = (const uint8_t *)bytes->held;
        bool little = mark[0] == 0xff && mark[1] == 0xfe, big = mark[0] == 0xfe && mark[1] == 0xff;
        if (little || big) {
            know_width(bytes);
            return bytes_fill(bytes, want);
        }
    }
    return !bytes->error;
}

const char *bytes_line(struct bytes_in *bytes, size_t most, size_t *ret_length)
{
    size_t looked = 0;
    const char *stop;

    for (;;) {
        size_t left = bytes_left(bytes);
        stop = left > looked ? memchr(bytes_at(bytes) + looked, '\n', left - looked) : NULL;
        if (stop || bytes->ended || left > most) break;
        looked = left;
        more(bytes);
    }
    const char *line = bytes_at(bytes);
    size_t length = stop ? (size_t)(stop - line) : bytes_left(bytes);
    if (!stop && !length) return NULL;
    *ret_length = length < most ? length : most;
    if (stop || bytes->ended) {
        bytes->from += length + (stop != NULL);
        return line;
    }
    /* Longer than what is looked at: the rest is passed over, and the beginning stands where it stood. */
    char *kept = malloc(most);
    if (!kept) {
        bytes->error = -ENOMEM;
        bytes->from = bytes->used;
        bytes->ended = true;
        return NULL;
    }
    memcpy(kept, line, most);
    for (stop = NULL; !stop && (bytes_left(bytes) || !bytes->ended);) {
        stop = bytes_left(bytes) ? memchr(bytes_at(bytes), '\n', bytes_left(bytes)) : NULL;
        bytes->from = stop ? (size_t)(stop + 1 - bytes->held) : bytes->used;
        if (!stop && !bytes->ended) more(bytes);
    }
    free(bytes->line);
    bytes->line = kept;
    *ret_length = most;
    return kept;
}
