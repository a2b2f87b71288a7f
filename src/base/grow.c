/* SPDX-License-Identifier: Apache-2.0 */
/* See grow.h. */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define FIRST 16u

bool array_grow(void *list, uint32_t count, uint32_t *room, size_t size)
{
    uint32_t wanted = *room ? *room * 2 : FIRST;
    void *array;

    CHECK(count <= *room);
    if (count < *room) return true;
    memcpy(&array, list, sizeof array);
    array = wanted > *room ? reallocarray(array, wanted, size) : NULL;
    if (array == NULL) return false;
    memcpy(list, &array, sizeof array);
    *room = wanted;
    return true;
}
