/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32 of IEEE 802.3: reflected, polynomial 0x04c11db7, ones before and after.
 *
 * ISA-L's carry-less multiplication where the build found it; else eight tables of 256 words,
 * eight bytes a turn ("slicing by 8").  The tables are built at the first call, once for all threads:
 * 8 KB of constants in a source file would say less than the loop that makes them.
 */
#include <pthread.h>

#include "base/bytes.h"
#include "packet/icrc.h"

#if ROCELAB_ISAL
#include <isa-l/crc.h>
#endif

static uint32_t table[8][256]; /* written under table_once, read-only after */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_fill(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        table[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t before = table[slice - 1][byte];
            table[slice][byte] = before >> 8 ^ table[0][before & 0xff];
        }
}

uint32_t crc32_table(uint32_t crc, const uint8_t *data, size_t length)
{
    pthread_once(&table_once, table_fill);
    crc = ~crc;
    for (; length >= 8; data += 8, length -= 8) {
        uint32_t low = crc ^ load_le32(data), high = load_le32(data + 4);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
              table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^ table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    for (; length; data++, length--)
        crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
    return ~crc;
}

uint32_t crc32_ieee(uint32_t crc, const uint8_t *data, size_t length)
{
#if ROCELAB_ISAL
    return crc32_gzip_refl(crc, data, length);
#else
    return crc32_table(crc, data, length);
#endif
}
