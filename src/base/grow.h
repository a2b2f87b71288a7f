/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for one more at the end of an array that malloc() made, which doubles where it is full.
 *
 *     if (!GROW(list->item, list->items, list->room)) return -ENOMEM;
 *     list->item[list->items++] = item;
 *
 * False: there is no memory, and nothing changed; never in the program, which then ends (cli/memory.c).
 */
#ifndef ROCELAB_BASE_GROW_H
#define ROCELAB_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool array_grow(void *list, uint32_t count, uint32_t *room, size_t size); /* `list` is of the pointer to the array */

static inline bool array_room(void *list, uint32_t count, uint32_t *room, size_t size)
{
    return count < *room || array_grow(list, count, room, size);
}
#define GROW(list, count, room) array_room(&(list), (count), &(room), sizeof(*(list)))

#endif
