/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds capture files in memory, byte by byte and in either byte order, so that the tests of the
 * reader do not depend on what a writer at hand happens to write.
 */
#ifndef ROCELAB_TESTS_CAPFILE_BUILD_H
#define ROCELAB_TESTS_CAPFILE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_BYTES (2u << 20)

struct build {
    uint8_t *bytes; /* BUILD_BYTES of them */
    size_t used;
    size_t block_at; /* where the open pcapng block begins */
    bool big;        /* big-endian */
};

void build_init(struct build *build, bool big);
void build_free(struct build *build);
void build_u16(struct build *build, uint16_t value);
void build_u32(struct build *build, uint32_t value);
void build_u64(struct build *build, uint64_t value);
void build_bytes(struct build *build, const void *bytes, size_t count);

void build_pcap(struct build *build, uint32_t magic, uint32_t link_type);
void build_pcap_record(struct build *build, uint32_t seconds, uint32_t fraction, const void *data, uint32_t captured,
                       uint32_t length);

void build_block(struct build *build, uint32_t type); /* ... fields ... */
void build_block_end(struct build *build);            /* pads, writes both lengths */
void build_option(struct build *build, uint16_t code, const void *value, uint16_t bytes);
void build_section(struct build *build);
/* resolution < 0 and offset 0, speed 0: without these options */
void build_interface(struct build *build, uint16_t link_type, uint32_t snaplen, int resolution, int64_t offset_s,
                     uint64_t speed_bps);
void build_packet(struct build *build, uint32_t interface, uint64_t ticks, const void *data, uint32_t captured,
                  uint32_t length);
void build_packet_old(struct build *build, uint16_t interface, uint64_t ticks, const void *data, uint32_t captured,
                      uint32_t length);
void build_packet_simple(struct build *build, const void *data, uint32_t captured, uint32_t length);

/* Writes the bytes to a new temporary file; its name is in ret_path, the caller unlinks it. */
void build_to_file(const void *bytes, size_t count, char ret_path[64]);

#endif
