/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: chunks from calloc(), pieces cut off their front.
 *
 * Small pieces share chunks, the first of 4 KiB, each of the next twice as large, to 64 KiB: what needs
 * little costs little.  A piece of 16 KiB or more gets a chunk of its own, queued behind the one in use
 * so that its rest is not lost.  calloc() and not malloc() with memset():
 * a large table comes as untouched zero pages and costs memory only where it is written.
 *
 * The limit is on what was asked for, rounded up to its alignment, and not on chunks: whether a
 * configuration fits must not depend on where the allocator happened to put things.
 *
 * One thread.  There is no free of a single piece.
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/memory.h"

#define CHUNK_LEAST_BYTES ((size_t)4 << 10)
#define CHUNK_MOST_BYTES ((size_t)64 << 10)
#define OWN_CHUNK_BYTES (CHUNK_MOST_BYTES / 4)
#define ALIGN_MAX 4096

struct arena_chunk {
    struct arena_chunk *next;
    size_t size_bytes; /* of data */
    size_t used_bytes;
    _Alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *arena, size_t limit_bytes)
{
    *arena = (struct arena){.limit_bytes = limit_bytes};
}

void arena_init_or_end(struct arena *arena, size_t limit_bytes)
{
    *arena = (struct arena){.limit_bytes = limit_bytes, .or_end = true};
}

/* A piece off the chunk's front, or NULL where the rest is too short. */
static void *chunk_cut(struct arena_chunk *chunk, size_t bytes, size_t align)
{
    uintptr_t front = (uintptr_t)(chunk->data + chunk->used_bytes);
    size_t gap = (size_t)(-front & (align - 1));
    size_t left = chunk->size_bytes - chunk->used_bytes;

    if (gap > left || bytes > left - gap) return NULL;
    void *piece = chunk->data + chunk->used_bytes + gap;
    chunk->used_bytes += gap + bytes;
    return piece;
}

static struct arena_chunk *chunk_new(size_t data_bytes)
{
    struct arena_chunk *chunk;
    size_t total;

    if (__builtin_add_overflow(data_bytes, sizeof(*chunk), &total)) return NULL;
    chunk = calloc(1, total);
    if (chunk) chunk->size_bytes = data_bytes;
    return chunk;
}

/* Of the chunk that follows this one, with room for so many bytes. */
static size_t chunk_size(const struct arena_chunk *before, size_t bytes)
{
    size_t size = CHUNK_LEAST_BYTES;

    while (size < CHUNK_MOST_BYTES && (size < bytes || (before && size <= before->size_bytes)))
        size *= 2;
    return size;
}

static void *arena_grow(struct arena *arena, size_t bytes, size_t align)
{
    bool own = bytes >= OWN_CHUNK_BYTES;
    size_t data_bytes;
    struct arena_chunk *chunk;

    if (__builtin_add_overflow(bytes, align, &data_bytes)) return NULL;
    if (!own) data_bytes = chunk_size(arena->chunks, data_bytes);
    chunk = chunk_new(data_bytes);
    if (!chunk) return NULL;
    if (own && arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *piece = chunk_cut(chunk, bytes, align);
    CHECK(piece != NULL);
    return piece;
}

static void *piece_of(struct arena *arena, size_t count, size_t size, size_t align)
{
    size_t bytes, rounded, used;

    CHECK(is_power_of_two(align) && align <= ALIGN_MAX);
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    if (bytes == 0) bytes = 1;
    if (__builtin_add_overflow(bytes, align - 1, &rounded)) return NULL;
    rounded &= ~(align - 1);
    if (__builtin_add_overflow(arena->used_bytes, rounded, &used)) return NULL;
    if (arena->limit_bytes && used > arena->limit_bytes) return NULL;

    void *piece = arena->chunks ? chunk_cut(arena->chunks, bytes, align) : NULL;
    if (!piece) piece = arena_grow(arena, bytes, align);
    if (piece) arena->used_bytes = used;
    return piece;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size, size_t align)
{
    void *piece = piece_of(arena, count, size, align);

    if (!piece && arena->or_end) {
        memory_ran_out();
        check_failed(__FILE__, __LINE__, "memory");
    }
    return piece;
}

void *arena_more(struct arena *arena, void *list, uint32_t need, uint32_t *room, size_t size)
{
    uint32_t wanted = *room ? *room : 8;

    if (need <= *room) return list;
    while (wanted < need)
        wanted = wanted > UINT32_MAX / 2 ? UINT32_MAX : wanted * 2;
    void *more = arena_alloc(arena, wanted, size, _Alignof(max_align_t));
    if (!more) return NULL;
    if (*room) memcpy(more, list, *room * size);
    *room = wanted;
    return more;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    size_t bytes = strnlen(text, length);
    char *copy = bytes < SIZE_MAX ? arena_alloc(arena, bytes + 1, 1, 1) : NULL;

    if (copy) memcpy(copy, text, bytes);
    return copy;
}

void arena_release(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;

    while (chunk) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (struct arena){.limit_bytes = arena->limit_bytes, .or_end = arena->or_end};
}
