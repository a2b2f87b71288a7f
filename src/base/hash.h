/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash of bytes: FNV-1a, 64 bits.  To tell things apart that nobody chose in order to fool it.
 */
#ifndef ROCELAB_BASE_HASH_H
#define ROCELAB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_BEGIN 14695981039346656037u

/* Goes on from `hash`, HASH_BEGIN at first. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

#endif
