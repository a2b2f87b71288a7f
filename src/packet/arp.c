/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARP frames; see arp.h.
 */
#include "packet/arp.h"

#include <string.h>

#include "base/bytes.h"
#include "packet/protocol.h"

#define HEAD 14u                          /* of Ethernet */
#define WHOLE (HEAD + 28u)                /* and the packet of RFC 826 */
#define FORMAT 0x0001080006040000ull      /* Ethernet, IPv4, lengths 6 and 4 */
#define FORMAT_MASK 0xffffffffffff0000ull /* what follows is the operation */
enum { OP_REQUEST = 1, OP_REPLY = 2 };

bool arp_parse(const uint8_t *frame, uint32_t bytes, struct arp *ret)
{
    const uint8_t *at = frame + HEAD;

    if (bytes < WHOLE || load_be16(frame + 12) != PROTO_ETHERTYPE_ARP) return false;
    uint64_t format = load_be64(at);
    uint16_t operation = (uint16_t)format;
    if ((format & FORMAT_MASK) != FORMAT || (operation != OP_REQUEST && operation != OP_REPLY)) return false;
    ret->reply = operation == OP_REPLY;
    memcpy(ret->sender_mac, at + 8, 6);
    memcpy(ret->sender, at + 14, 4);
    memcpy(ret->target_mac, at + 18, 6);
    memcpy(ret->target, at + 24, 4);
    return true;
}

void arp_emit(const struct arp *arp, uint8_t frame[ARP_FRAME_BYTES])
{
    uint8_t *at = frame + HEAD;

    memset(frame, 0, ARP_FRAME_BYTES);
    if (arp->reply)
        memcpy(frame, arp->target_mac, 6);
    else
        memset(frame, 0xff, 6);
    memcpy(frame + 6, arp->sender_mac, 6);
    store_be16(frame + 12, PROTO_ETHERTYPE_ARP);
    store_be64(at, FORMAT | (arp->reply ? OP_REPLY : OP_REQUEST));
    memcpy(at + 8, arp->sender_mac, 6);
    memcpy(at + 14, arp->sender, 4);
    memcpy(at + 18, arp->target_mac, 6);
    memcpy(at + 24, arp->target, 4);
}
