/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What capfile.c, pcapng.c and names.c share: the cursor over the file's bytes.
 *
 * window[begin..end) are bytes read but not consumed; window[begin] is byte `offset` of the file.
 * A format's reader asks capfile_fill() for as many bytes as it needs, looks, and consumes them with
 * capfile_consume() once a record or block is whole.  It consumes nothing when it answers less than
 * that, so a call interrupted by a signal can simply be made again.
 */
#ifndef ROCELAB_PACKET_CAPFILE_CAPFILE_INT_H
#define ROCELAB_PACKET_CAPFILE_CAPFILE_INT_H

#include <string.h>

#include "base/check.h"
#include "packet/capfile/capfile.h"

/* A pcapng interface: how to turn its clock into nanoseconds (see pcapng.c). */
struct capfile_interface {
    uint64_t multiplier, divisor;
    int64_t offset_s;
    uint64_t speed_bps;
    uint32_t link_type, snaplen;
    uint8_t shift;
};

struct capfile {
    const uint8_t *window; /* `buffer`, or the caller's memory */
    size_t begin, end;
    uint64_t offset;
    uint8_t *buffer; /* NULL for a file in memory */
    int fd;          /* -1 for a file in memory */
    bool at_end;     /* the source has no more bytes than those in the window */
    bool regular;    /* reading never waits */
    bool pcapng;
    bool swapped;  /* the other byte order than this machine's: for pcapng, of the section */
    uint64_t size; /* 0 when not known */
    uint64_t number;
    uint64_t time_ns; /* of the record before */

    /* pcap */
    uint32_t link_type;
    uint32_t header_bytes;    /* of a record's header: 16, or 24 in the "modified" format */
    uint64_t ns_per_fraction; /* 1000 or 1 */

    /* pcapng: interfaces of the section */
    struct capfile_interface *interfaces;
    uint32_t interface_count, interface_capacity;
};

static inline uint16_t capfile_u16(const struct capfile *file, const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, 2);
    return file->swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t capfile_u32(const struct capfile *file, const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return file->swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t capfile_u64(const struct capfile *file, const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, 8);
    return file->swapped ? __builtin_bswap64(value) : value;
}

static inline size_t capfile_have(const struct capfile *file)
{
    return file->end - file->begin;
}

static inline const uint8_t *capfile_at(const struct capfile *file)
{
    return file->window + file->begin;
}

static inline void capfile_consume(struct capfile *file, size_t bytes)
{
    CHECK(bytes <= capfile_have(file));
    file->begin += bytes;
    file->offset += bytes;
}

/* Makes `need` bytes (at most CAPFILE_BLOCK_MAX) stand at capfile_at().  1: they do; 0: the file ends before, the
 * window holds all that is left; -errno, with the sentence. */
int capfile_fill(struct capfile *file, size_t need, char *error);

__attribute__((format(printf, 2, 3))) void capfile_say(char *error, const char *format, ...);
/* -EBADMSG and "ends inside WHAT at byte N: 20 of 98 bytes". */
int capfile_cut(const struct capfile *file, const char *what, uint64_t need, char *error);

/* pcapng.c: as capfile_next and capfile_ready; open reads the first section header. */
int capfile_pcapng_open(struct capfile *file, char *error);
int capfile_pcapng_next(struct capfile *file, struct capfile_record *ret, char *error);
bool capfile_pcapng_ready(const struct capfile *file);

/* names.c: says what the bytes at the window's beginning are, when they are no capture. */
void capfile_say_not_a_capture(const struct capfile *file, char *error);

#endif
