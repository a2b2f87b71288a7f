/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pcapng format (draft-ietf-opsawg-pcapng): sections, interfaces, and the three kinds of packet
 * block (enhanced, simple, and the obsolete one that early dumpcap wrote).
 *
 * Every block says its length twice, so a block is read whole, the two are compared, and only then
 * is it looked at; that finds a damaged file at the block where the damage is.  A section header may
 * change the byte order, and interface numbers begin at 0 again.  Blocks of other types are stepped
 * over, but those that Wireshark lists as frames (custom, systemd journal, sysdig event) take a
 * number, so that ours stay the numbers people see there.
 *
 * Time: if_tsresol gives a clock of 10^-n or 2^-n seconds, n up to 127.  Ticks become nanoseconds as
 * ticks * multiplier / divisor >> shift, in 128 bits, rounded down, exactly for every n; values that
 * do not fit (before 1970, after 2554) stop at the nearest one that does.
 *
 * Not looked at: name resolution, statistics, decryption secrets, options of packets, checksums.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/wide.h"
#include "packet/capfile/capfile.h"
#include "packet/capfile/capfile_int.h"

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET_OLD 2u
#define BLOCK_PACKET_SIMPLE 3u
#define BLOCK_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du

#define BLOCK_OVERHEAD_BYTES 12 /* and the length again at the end */
#define SECTION_BYTES 28        /* smallest possible blocks, overhead included */
#define INTERFACE_BYTES 20
#define PACKET_BYTES 32 /* enhanced and old alike */
#define PACKET_SIMPLE_BYTES 16

#define OPTION_END 0u
#define OPTION_IF_SPEED 8u
#define OPTION_IF_TSRESOL 9u
#define OPTION_IF_TSOFFSET 14u

static const char *block_name(uint32_t type)
{
    switch (type) {
    case BLOCK_SECTION:
        return "section header";
    case BLOCK_INTERFACE:
        return "interface description";
    case BLOCK_PACKET_OLD:
        return "packet";
    case BLOCK_PACKET_SIMPLE:
        return "simple packet";
    case BLOCK_PACKET:
        return "enhanced packet";
    default:
        return "other";
    }
}

static bool is_packet(uint32_t type)
{
    return type == BLOCK_PACKET || type == BLOCK_PACKET_SIMPLE || type == BLOCK_PACKET_OLD;
}

/* Not packets, but frames to Wireshark (held against tshark 4.0 by the tests). */
static bool takes_a_number(uint32_t type)
{
    switch (type) {
    case 0x00000bad: /* custom, may be copied */
    case 0x40000bad: /* custom, not to be copied */
    case 0x00000009: /* systemd journal */
    case 0x00000204: /* sysdig events, three versions */
    case 0x00000216:
    case 0x00000221:
        return true;
    default:
        return false;
    }
}

static __attribute__((cold, format(printf, 4, 5))) int damage(const struct capfile *file, uint32_t type, char *error,
                                                              const char *format, ...)
{
    char why[128];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    capfile_say(error, "damaged: %s block (type 0x%08x) at byte %llu, after record %llu: %s", block_name(type), type,
                (unsigned long long)file->offset, (unsigned long long)file->number, why);
    return -EBADMSG;
}

static __attribute__((cold)) int cut(const struct capfile *file, uint32_t type, size_t need, char *error)
{
    char what[96];
    if (is_packet(type))
        snprintf(what, sizeof(what), "record %llu", (unsigned long long)(file->number + 1));
    else
        snprintf(what, sizeof(what), "the %s block (type 0x%08x) after record %llu", block_name(type), type,
                 (unsigned long long)file->number);
    return capfile_cut(file, what, need, error);
}

/* The byte order of the section whose header's first 12 bytes are at `at`: 0, or -EBADMSG. */
static int section_order(const uint8_t *at, bool *ret_swapped)
{
    uint32_t magic;
    memcpy(&magic, at + 8, 4);
    if (magic != BYTE_ORDER_MAGIC && __builtin_bswap32(magic) != BYTE_ORDER_MAGIC) return -EBADMSG;
    *ret_swapped = magic != BYTE_ORDER_MAGIC;
    return 0;
}

static bool length_is_sane(uint32_t length)
{
    return length >= BLOCK_OVERHEAD_BYTES && length <= CAPFILE_BLOCK_MAX && length % 4 == 0;
}

/* Makes the next block stand whole in the window.  1: *ret_type and *ret_length say what it is; 0: the file ends
 * here; negative: it does so in the middle of a block, or the block cannot be one. */
static int whole_block(struct capfile *file, uint32_t *ret_type, uint32_t *ret_length, char *error)
{
    int rc = capfile_fill(file, BLOCK_OVERHEAD_BYTES, error);
    if (rc < 0) return rc;
    if (rc == 0) {
        if (capfile_have(file) == 0) return 0;
        char what[64];
        snprintf(what, sizeof(what), "the block after record %llu", (unsigned long long)file->number);
        return capfile_cut(file, what, BLOCK_OVERHEAD_BYTES, error);
    }
    uint32_t type = capfile_u32(file, capfile_at(file));
    if (type == BLOCK_SECTION && section_order(capfile_at(file), &file->swapped) < 0)
        return damage(file, type, error, "its byte-order magic is 0x%08x", capfile_u32(file, capfile_at(file) + 8));
    uint32_t length = capfile_u32(file, capfile_at(file) + 4);
    if (!length_is_sane(length))
        return damage(file, type, error, "its length is %u, which is %s", length,
                      length < BLOCK_OVERHEAD_BYTES ? "too little for a block"
                      : length % 4 != 0             ? "no multiple of 4"
                                                    : "beyond the 16 MiB a block may have");
    rc = capfile_fill(file, length, error);
    if (rc < 0) return rc;
    if (rc == 0) return cut(file, type, length, error);
    uint32_t again = capfile_u32(file, capfile_at(file) + length - 4);
    if (again != length)
        return damage(file, type, error, "its length is %u at the beginning and %u at the end", length, again);
    *ret_type = type;
    *ret_length = length;
    return 1;
}

static int section(struct capfile *file, uint32_t length, char *error)
{
    if (length < SECTION_BYTES) return damage(file, BLOCK_SECTION, error, "only %u bytes long", length);
    unsigned major = capfile_u16(file, capfile_at(file) + 12), minor = capfile_u16(file, capfile_at(file) + 14);
    if (major != 1) return damage(file, BLOCK_SECTION, error, "pcapng version %u.%u, only 1.x is read", major, minor);
    file->interface_count = 0;
    return 0;
}

/* if_tsresol: the top bit says whether the other seven are a power of 2 or of 10. */
static void set_resolution(struct capfile_interface *interface, uint8_t resolution)
{
    interface->multiplier = 1000000000;
    interface->divisor = 1;
    interface->shift = 0;
    unsigned exponent = resolution & 0x7f;
    if (resolution & 0x80) {
        interface->shift = (uint8_t)exponent;
        return;
    }
    for (; exponent > 0; exponent--) {
        if (interface->multiplier > 1) {
            interface->multiplier /= 10;
        } else if (interface->divisor <= UINT64_MAX / 10) {
            interface->divisor *= 10;
        } else { /* finer than 10^-28 s: 2^64 ticks are less than a nanosecond */
            interface->multiplier = 0;
            return;
        }
    }
}

static void interface_options(const struct capfile *file, const uint8_t *at, const uint8_t *end,
                              struct capfile_interface *interface)
{
    while (end - at >= 4) {
        uint32_t code = capfile_u16(file, at), bytes = capfile_u16(file, at + 2);
        at += 4;
        if (code == OPTION_END || bytes > (size_t)(end - at)) return;
        if (code == OPTION_IF_SPEED && bytes == 8) interface->speed_bps = capfile_u64(file, at);
        if (code == OPTION_IF_TSRESOL && bytes == 1) set_resolution(interface, at[0]);
        if (code == OPTION_IF_TSOFFSET && bytes == 8) interface->offset_s = (int64_t)capfile_u64(file, at);
        size_t step = (bytes + 3u) & ~3u;
        if (step > (size_t)(end - at)) return;
        at += step;
    }
}

static int new_interface(struct capfile *file, uint32_t length, char *error)
{
    if (length < INTERFACE_BYTES) return damage(file, BLOCK_INTERFACE, error, "only %u bytes long", length);
    if (file->interface_count == CAPFILE_INTERFACES_MAX)
        return damage(file, BLOCK_INTERFACE, error, "more than %u interfaces in one section", CAPFILE_INTERFACES_MAX);
    if (!GROW(file->interfaces, file->interface_count, file->interface_capacity)) {
        capfile_say(error, "not enough memory for more than %u interfaces", file->interface_count);
        return -ENOMEM;
    }
    const uint8_t *at = capfile_at(file);
    struct capfile_interface *interface = &file->interfaces[file->interface_count++];
    *interface = (struct capfile_interface){
        .link_type = capfile_u16(file, at + 8),
        .snaplen = capfile_u32(file, at + 12),
    };
    set_resolution(interface, 6);
    interface_options(file, at + 16, at + length - 4, interface);
    return 0;
}

static uint64_t to_ns(const struct capfile_interface *interface, uint64_t ticks)
{
    u128 ns = (u128)ticks * interface->multiplier;
    if (interface->divisor > 1) ns /= interface->divisor;
    ns >>= interface->shift;
    if (interface->offset_s >= 0) {
        ns += (u128)interface->offset_s * 1000000000u;
    } else {
        u128 back = (u128)(0 - (uint64_t)interface->offset_s) * 1000000000u;
        ns = ns > back ? ns - back : 0;
    }
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* The block, whole in the window, is of type BLOCK_PACKET or BLOCK_PACKET_OLD. */
static int packet(struct capfile *file, uint32_t type, uint32_t length, struct capfile_record *ret, char *error)
{
    if (length < PACKET_BYTES) return damage(file, type, error, "only %u bytes long", length);
    const uint8_t *at = capfile_at(file);
    uint32_t id = type == BLOCK_PACKET ? capfile_u32(file, at + 8) : capfile_u16(file, at + 8);
    uint32_t captured = capfile_u32(file, at + 20);
    if (id >= file->interface_count)
        return damage(file, type, error, "its interface is %u, the section has described %u", id,
                      file->interface_count);
    if (captured > length - PACKET_BYTES || captured > CAPFILE_RECORD_MAX)
        return damage(file, type, error, "%u captured bytes do not fit (block: %u bytes, packets: at most %u)",
                      captured, length, CAPFILE_RECORD_MAX);
    const struct capfile_interface *interface = &file->interfaces[id];
    file->time_ns = to_ns(interface, (uint64_t)capfile_u32(file, at + 12) << 32 | capfile_u32(file, at + 16));
    ret->data = at + 28;
    ret->captured = captured;
    ret->length = capfile_u32(file, at + 24);
    ret->interface = id;
    return 1;
}

static int simple_packet(struct capfile *file, uint32_t length, struct capfile_record *ret, char *error)
{
    if (length < PACKET_SIMPLE_BYTES) return damage(file, BLOCK_PACKET_SIMPLE, error, "only %u bytes long", length);
    if (file->interface_count == 0)
        return damage(file, BLOCK_PACKET_SIMPLE, error, "the section has described no interface");
    const uint8_t *at = capfile_at(file);
    uint32_t original = capfile_u32(file, at + 8), snaplen = file->interfaces[0].snaplen;
    uint32_t captured = snaplen != 0 && snaplen < original ? snaplen : original;
    if (captured > length - PACKET_SIMPLE_BYTES || captured > CAPFILE_RECORD_MAX)
        return damage(file, BLOCK_PACKET_SIMPLE, error, "%u bytes do not fit (block: %u bytes, packets: at most %u)",
                      captured, length, CAPFILE_RECORD_MAX);
    ret->data = at + 12;
    ret->captured = captured;
    ret->length = original;
    ret->interface = 0;
    return 1;
}

/* 1: *ret is set but for what is the same for all packets; 0: no packet; negative: damage. */
static int look(struct capfile *file, uint32_t type, uint32_t length, struct capfile_record *ret, char *error)
{
    switch (type) {
    case BLOCK_PACKET:
    case BLOCK_PACKET_OLD:
        return packet(file, type, length, ret, error);
    case BLOCK_PACKET_SIMPLE:
        return simple_packet(file, length, ret, error);
    case BLOCK_INTERFACE:
        return new_interface(file, length, error);
    case BLOCK_SECTION:
        return section(file, length, error);
    default:
        file->number += takes_a_number(type);
        return 0;
    }
}

int capfile_pcapng_next(struct capfile *file, struct capfile_record *ret, char *error)
{
    for (;;) {
        uint32_t type = 0, length = 0;
        int rc = whole_block(file, &type, &length, error);
        if (rc <= 0) return rc;
        struct capfile_record record;
        rc = look(file, type, length, &record, error);
        if (rc < 0) return rc;
        capfile_consume(file, length);
        if (rc == 0) continue;
        const struct capfile_interface *interface = &file->interfaces[record.interface];
        record.number = ++file->number;
        record.time_ns = file->time_ns;
        record.link_type = interface->link_type;
        record.if_speed_bps = interface->speed_bps;
        *ret = record;
        return 1;
    }
}

bool capfile_pcapng_ready(const struct capfile *file)
{
    struct capfile scan = *file;
    while (capfile_have(&scan) >= BLOCK_OVERHEAD_BYTES) {
        uint32_t type = capfile_u32(&scan, capfile_at(&scan));
        if (type == BLOCK_SECTION && section_order(capfile_at(&scan), &scan.swapped) < 0) return true;
        uint32_t length = capfile_u32(&scan, capfile_at(&scan) + 4);
        if (!length_is_sane(length)) return true;
        if (capfile_have(&scan) < length) return false;
        if (is_packet(type)) return true;
        capfile_consume(&scan, length);
    }
    return false;
}

int capfile_pcapng_open(struct capfile *file, char *error)
{
    uint32_t type = 0, length = 0;
    int rc = whole_block(file, &type, &length, error);
    if (rc < 0) return rc;
    CHECK(rc == 1 && type == BLOCK_SECTION);
    rc = section(file, length, error);
    if (rc == 0) capfile_consume(file, length);
    return rc;
}
