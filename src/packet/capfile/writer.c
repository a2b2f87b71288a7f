/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture writer: pcap with nanoseconds (magic a1b23c4d), in this machine's byte order, which
 * tcpdump, Wireshark and everything with libpcap 1.5 or later reads.
 *
 * Records are gathered in a buffer and written in large steps.  The first error is kept and answered
 * from then on, so that a caller in a hot loop may look at the end alone; nothing is written after it.
 * Not pcapng: one interface, no comments, nothing it would be needed for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "packet/capfile/capfile.h"

#define BUFFER_BYTES ((size_t)512 << 10)
#define RECORD_HEADER_BYTES 16

_Static_assert(BUFFER_BYTES > CAPFILE_RECORD_MAX + RECORD_HEADER_BYTES, "every record fits an empty buffer");

struct capwriter {
    uint8_t *buffer;
    size_t used;
    int fd;
    int error; /* 0, or -errno of the first failure */
};

static void flush(struct capwriter *writer)
{
    size_t at = 0;
    while (at < writer->used && writer->error == 0) {
        ssize_t wrote = write(writer->fd, writer->buffer + at, writer->used - at);
        if (wrote >= 0)
            at += (size_t)wrote;
        else if (errno != EINTR)
            writer->error = -errno;
    }
    writer->used = 0;
}

static void put(struct capwriter *writer, const void *bytes, size_t count)
{
    CHECK(writer->used + count <= BUFFER_BYTES);
    memcpy(writer->buffer + writer->used, bytes, count);
    writer->used += count;
}

int capwriter_open(const char *path, uint32_t link_type, struct capwriter **ret)
{
    struct capwriter *writer = calloc(1, sizeof(*writer));
    uint8_t *buffer = malloc(BUFFER_BYTES);
    int rc = -ENOMEM;
    if (!writer || !buffer) goto fail;
    *writer = (struct capwriter){.buffer = buffer};
    writer->fd = strcmp(path, "-") == 0 ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0) {
        rc = -errno;
        goto fail;
    }
    uint32_t magic = 0xa1b23c4d, header[3] = {0, 0, CAPFILE_RECORD_MAX}; /* time zone, accuracy, snap length */
    uint16_t version[2] = {2, 4};
    put(writer, &magic, sizeof(magic));
    put(writer, version, sizeof(version));
    put(writer, header, sizeof(header));
    put(writer, &link_type, sizeof(link_type));
    *ret = writer;
    return 0;
fail:
    free(buffer);
    free(writer);
    return rc;
}

int capwriter_write(struct capwriter *writer, uint64_t time_ns, const uint8_t *data, uint32_t captured, uint32_t length)
{
    if (captured > CAPFILE_RECORD_MAX) return -EMSGSIZE;
    if (time_ns / 1000000000 > UINT32_MAX) return -ERANGE;
    if (writer->used + RECORD_HEADER_BYTES + captured > BUFFER_BYTES) flush(writer);
    if (writer->error) return writer->error;
    uint32_t header[4] = {(uint32_t)(time_ns / 1000000000), (uint32_t)(time_ns % 1000000000), captured, length};
    put(writer, header, sizeof(header));
    if (captured > 0) put(writer, data, captured);
    return 0;
}

int capwriter_flush(struct capwriter *writer)
{
    flush(writer);
    return writer->error;
}

int capwriter_close(struct capwriter *writer)
{
    flush(writer);
    int rc = writer->error;
    if (writer->fd != STDOUT_FILENO && close(writer->fd) < 0 && rc == 0) rc = -errno;
    free(writer->buffer);
    free(writer);
    return rc;
}
