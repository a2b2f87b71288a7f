/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory at start: an arena hands out zeroed, aligned pieces and is released whole.
 *
 * For everything whose lifetime is the run.  The core never sees an arena: whoever creates a
 * machine takes its memory from one and passes it in.
 */
#ifndef ROCELAB_BASE_ARENA_H
#define ROCELAB_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
    size_t used_bytes;  /* handed out, each piece rounded up to its alignment */
    size_t limit_bytes; /* on used_bytes; 0: none */
    bool or_end;        /* what cannot be had ends the process */
};

void arena_init(struct arena *arena, size_t limit_bytes);
/* For rooms that only the program has (base/memory.h): no piece of it is ever NULL. */
void arena_init_or_end(struct arena *arena, size_t limit_bytes);
/* Zeroed; NULL when the limit or the machine's memory is reached (or count * size overflows), and then
 * nothing changed.  An empty piece is a distinct byte, so NULL always means failure.  `align` is a
 * power of two, 4096 at most. */
void *arena_alloc(struct arena *arena, size_t count, size_t size, size_t align);
/* A terminated copy of the first `length` bytes, or of all before a zero byte; NULL as above. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);
/* The list with room for `need` elements: itself, or a copy twice as long with zeros behind; *room follows. */
void *arena_more(struct arena *arena, void *list, uint32_t need, uint32_t *room, size_t size);
/* Frees every piece; the arena is then empty and usable, under the same limit. */
void arena_release(struct arena *arena);

/* Room for one more in a list of an arena that ends the process. */
#define ARENA_ROOM(arena, list, count, room)                                                                           \
    ((list) = arena_more((arena), (list), (count) + 1, &(room), sizeof *(list)))
#define ARENA_NEW(arena, type, count) ((type *)arena_alloc((arena), (count), sizeof(type), _Alignof(type)))

#endif
