/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Big- and little-endian loads and stores at any alignment; compilers turn each into one move
 * (and a bswap).  Used by packet/ alone: nobody else knows byte offsets.
 */
#ifndef ROCELAB_BASE_BYTES_H
#define ROCELAB_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t load_be16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t load_be24(const uint8_t *at)
{
    return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static inline uint32_t load_be32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(value) : value;
}

static inline uint64_t load_be64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, 8);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(value) : value;
}

static inline uint32_t load_le32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap32(value);
}

static inline void store_be16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void store_be24(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 16);
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)value;
}

static inline void store_be32(uint8_t *at, uint32_t value)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) value = __builtin_bswap32(value);
    memcpy(at, &value, 4);
}

static inline void store_be64(uint8_t *at, uint64_t value)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) value = __builtin_bswap64(value);
    memcpy(at, &value, 8);
}

static inline void store_le32(uint8_t *at, uint32_t value)
{
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) value = __builtin_bswap32(value);
    memcpy(at, &value, 4);
}

#endif
