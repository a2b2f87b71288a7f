/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common MAD header (InfiniBand 1.x vol. 1, 13.4.2): 24 bytes before the data of every class.
 */
#include "packet/mad.h"

#include <errno.h>

#include "base/bytes.h"

int mad_parse(const uint8_t *payload, size_t length, struct mad *ret)
{
    if (length < MAD_BYTES) return -EBADMSG;
    *ret = (struct mad){
        .base_version = payload[0],
        .mgmt_class = payload[1],
        .class_version = payload[2],
        .method = payload[3],
        .status = load_be16(payload + 4),
        .class_specific = load_be16(payload + 6),
        .tid = load_be64(payload + 8),
        .attribute = load_be16(payload + 16),
        .reserved = load_be16(payload + 18),
        .modifier = load_be32(payload + 20),
    };
    return 0;
}

void mad_emit(const struct mad *mad, uint8_t header[MAD_HEADER_BYTES])
{
    header[0] = mad->base_version;
    header[1] = mad->mgmt_class;
    header[2] = mad->class_version;
    header[3] = mad->method;
    store_be16(header + 4, mad->status);
    store_be16(header + 6, mad->class_specific);
    store_be64(header + 8, mad->tid);
    store_be16(header + 16, mad->attribute);
    store_be16(header + 18, mad->reserved);
    store_be32(header + 20, mad->modifier);
}
