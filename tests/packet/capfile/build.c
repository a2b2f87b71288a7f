/* SPDX-License-Identifier: Apache-2.0 */
/* See build.h.  Running out of the fixed room is a mistake in a test, so it is CHECKed. */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

void build_init(struct build *build, bool big)
{
    *build = (struct build){.bytes = malloc(BUILD_BYTES), .big = big};
    CHECK(build->bytes);
}

void build_free(struct build *build)
{
    free(build->bytes);
    build->bytes = NULL;
}

void build_bytes(struct build *build, const void *bytes, size_t count)
{
    CHECK(count <= BUILD_BYTES - build->used);
    if (count > 0) memcpy(build->bytes + build->used, bytes, count);
    build->used += count;
}

static void number(struct build *build, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * (build->big ? bytes - 1 - i : i));
        build_bytes(build, &byte, 1);
    }
}

void build_u16(struct build *build, uint16_t value)
{
    number(build, value, 2);
}

void build_u32(struct build *build, uint32_t value)
{
    number(build, value, 4);
}

void build_u64(struct build *build, uint64_t value)
{
    number(build, value, 8);
}

void build_pcap(struct build *build, uint32_t magic, uint32_t link_type)
{
    build_u32(build, magic);
    build_u16(build, 2);
    build_u16(build, 4);
    build_u32(build, 0);
    build_u32(build, 0);
    build_u32(build, 262144);
    build_u32(build, link_type);
}

void build_pcap_record(struct build *build, uint32_t seconds, uint32_t fraction, const void *data, uint32_t captured,
                       uint32_t length)
{
    build_u32(build, seconds);
    build_u32(build, fraction);
    build_u32(build, captured);
    build_u32(build, length);
    build_bytes(build, data, captured);
}

static void pad(struct build *build)
{
    while (build->used % 4 != 0)
        build_bytes(build, "", 1);
}

void build_block(struct build *build, uint32_t type)
{
    CHECK(build->used % 4 == 0);
    build->block_at = build->used;
    build_u32(build, type);
    build_u32(build, 0);
}

void build_block_end(struct build *build)
{
    pad(build);
    uint32_t length = (uint32_t)(build->used + 4 - build->block_at);
    build_u32(build, length);
    size_t end = build->used;
    build->used = build->block_at + 4;
    build_u32(build, length);
    build->used = end;
}

void build_option(struct build *build, uint16_t code, const void *value, uint16_t bytes)
{
    build_u16(build, code);
    build_u16(build, bytes);
    build_bytes(build, value, bytes);
    pad(build);
}

static void option_u64(struct build *build, uint16_t code, uint64_t value)
{
    build_u16(build, code);
    build_u16(build, 8);
    build_u64(build, value);
}

void build_section(struct build *build)
{
    build_block(build, 0x0a0d0d0a);
    build_u32(build, 0x1a2b3c4d);
    build_u16(build, 1);
    build_u16(build, 0);
    build_u64(build, UINT64_MAX);
    build_block_end(build);
}

void build_interface(struct build *build, uint16_t link_type, uint32_t snaplen, int resolution, int64_t offset_s,
                     uint64_t speed_bps)
{
    build_block(build, 1);
    build_u16(build, link_type);
    build_u16(build, 0);
    build_u32(build, snaplen);
    build_option(build, 2, "eth0", 4);
    uint8_t byte = (uint8_t)resolution;
    if (resolution >= 0) build_option(build, 9, &byte, 1);
    if (offset_s != 0) option_u64(build, 14, (uint64_t)offset_s);
    if (speed_bps != 0) option_u64(build, 8, speed_bps);
    build_option(build, 0, "", 0);
    build_block_end(build);
}

void build_packet(struct build *build, uint32_t interface, uint64_t ticks, const void *data, uint32_t captured,
                  uint32_t length)
{
    build_block(build, 6);
    build_u32(build, interface);
    build_u32(build, (uint32_t)(ticks >> 32));
    build_u32(build, (uint32_t)ticks);
    build_u32(build, captured);
    build_u32(build, length);
    build_bytes(build, data, captured);
    build_block_end(build);
}

void build_packet_old(struct build *build, uint16_t interface, uint64_t ticks, const void *data, uint32_t captured,
                      uint32_t length)
{
    build_block(build, 2);
    build_u16(build, interface);
    build_u16(build, 0xffff); /* drops: not known */
    build_u32(build, (uint32_t)(ticks >> 32));
    build_u32(build, (uint32_t)ticks);
    build_u32(build, captured);
    build_u32(build, length);
    build_bytes(build, data, captured);
    build_block_end(build);
}

void build_packet_simple(struct build *build, const void *data, uint32_t captured, uint32_t length)
{
    build_block(build, 3);
    build_u32(build, length);
    build_bytes(build, data, captured);
    build_block_end(build);
}

void build_to_file(const void *bytes, size_t count, char ret_path[64])
{
    snprintf(ret_path, 64, "/tmp/rocelab-capfile-XXXXXX");
    int fd = mkstemp(ret_path);
    CHECK(fd >= 0);
    CHECK(write(fd, bytes, count) == (ssize_t)count);
    CHECK(close(fd) == 0);
}
