/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture writer: pcap with nanoseconds (magic a1b23c4d), in this machine's byte order, which
 * tcpdump, Wireshark and everything with libpcap 1.5 or later reads.
 *
 * A file may have a limit.  From the first packet on that is beyond it none is written, so that what is there has no
 * gaps, and those that are not are counted.
 *
 * Records are gathered in a buffer and written in large steps.  The first error is kept and answered
 * from then on, so that a caller in a hot loop may look at the end alone; nothing is written after it.  A file has
 * its name when it is whole (base/draft.h), or from capwriter_show() on.
 * Not pcapng: one interface, no comments, nothing it would be needed for.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/draft.h"
#include "base/nearest.h"
#include "base/quiet.h"
#include "base/units.h"
#include "packet/capfile/capfile.h"

#define BUFFER_BYTES ((size_t)512 << 10)
#define RECORD_HEADER_BYTES 16
#define FILE_HEADER_BYTES 24
#define SNAP_AT 16 /* in the header */

_Static_assert(BUFFER_BYTES > CAPFILE_RECORD_MAX + RECORD_HEADER_BYTES, "every record fits an empty buffer");

struct capwriter {
    uint8_t *buffer;
    size_t used;
    int fd;
    struct draft *draft; /* NULL: standard output */
    int error;           /* 0, or -errno of the first failure */
    uint32_t snap;
    uint64_t size, bytes; /* the limit, 0: none; what the file has */
    uint64_t left_out;
};

static int wrong(char *why, size_t why_bytes, const char *what, const char *right)
{
    snprintf(why, why_bytes, "'%s': %s", what, right);
    return -EINVAL;
}

static bool mistyped(const char *text)
{
    char word[8];
    struct nearest nearest;
    size_t length = strcspn(text, "=");

    if (length >= sizeof word || text[length] == '\0') return false;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    nearest_init(&nearest, word);
    nearest_try(&nearest, "snap");
    nearest_try(&nearest, "size");
    return nearest.word != NULL;
}

/* snap=BYTES or size=SIZE; 1: it is a part of the name, which may have commas. */
static int parse_limit(const char *text, struct capwriter_name *name, char *why, size_t why_bytes)
{
    const char *unclear;
    uint64_t bytes;

    if (strncmp(text, "snap=", 5) == 0) {
        enum unit_kind kind = text[strlen(text) - 1] == 'B' ? UNIT_SIZE : UNIT_COUNT;
        if (unit_parse(kind, text + 5, &bytes, NULL) < 0 || bytes < CAPWRITER_SNAP_LEAST || bytes > CAPFILE_RECORD_MAX)
            return wrong(why, why_bytes, text, "bytes of a packet, 64 to 262144, are expected");
        name->snap = (uint32_t)bytes;
        return 0;
    }
    if (strncmp(text, "size=", 5) != 0)
        return mistyped(text) ? wrong(why, why_bytes, text, "snap=BYTES or size=SIZE is expected") : 1;
    if (unit_parse(UNIT_SIZE, text + 5, &name->size, &unclear) < 0) return wrong(why, why_bytes, text, unclear);
    return 0;
}

int capwriter_name_parse(const char *text, struct capwriter_name *ret, char *why, size_t why_bytes)
{
    struct capwriter_name name = {.size = CAPWRITER_SIZE};

    if (strlen(text) >= sizeof name.path) return wrong(why, why_bytes, "...", "the name is too long");
    memcpy(name.path, text, strlen(text) + 1);
    for (char *comma; (comma = strrchr(name.path, ',')) != NULL; *comma = '\0') {
        int rc = parse_limit(comma + 1, &name, why, why_bytes);
        if (rc < 0) return rc;
        if (rc > 0) break;
    }
    if (name.path[0] == '\0') return wrong(why, why_bytes, text, "there is no name of a file, as in " CAPWRITER_SYNTAX);
    *ret = name;
    return 0;
}

static void flush(struct capwriter *writer)
{
    struct quiet quiet;
    size_t at = 0;

    quiet_begin(&quiet);
    while (at < writer->used && writer->error == 0) {
        ssize_t wrote = write(writer->fd, writer->buffer + at, writer->used - at);
        if (wrote >= 0)
            at += (size_t)wrote;
        else if (errno != EINTR)
            writer->error = -errno;
    }
    quiet_end(&quiet);
    writer->used = 0;
}

static void put(struct capwriter *writer, const void *bytes, size_t count)
{
    CHECK(writer->used + count <= BUFFER_BYTES);
    memcpy(writer->buffer + writer->used, bytes, count);
    writer->used += count;
}

static int begin_file(struct capwriter *writer, const char *path)
{
    writer->fd = STDOUT_FILENO;
    if (strcmp(path, "-") == 0) return 0;
    int error = draft_open(path, &writer->draft);
    if (error == 0) writer->fd = draft_fd(writer->draft);
    return error;
}

int capwriter_open(const char *path, uint32_t link_type, struct capwriter **ret)
{
    struct capwriter *writer = calloc(1, sizeof(*writer));
    uint8_t *buffer = malloc(BUFFER_BYTES);
    int rc = -ENOMEM;
    if (!writer || !buffer) goto fail;
    *writer = (struct capwriter){.buffer = buffer};
    rc = begin_file(writer, path);
    if (rc < 0) goto fail;
    uint32_t magic = 0xa1b23c4d, header[3] = {0, 0, CAPFILE_RECORD_MAX}; /* time zone, accuracy, snap length */
    uint16_t version[2] = {2, 4};
    put(writer, &magic, sizeof(magic));
    put(writer, version, sizeof(version));
    put(writer, header, sizeof(header));
    put(writer, &link_type, sizeof(link_type));
    writer->bytes = FILE_HEADER_BYTES;
    writer->snap = CAPFILE_RECORD_MAX;
    *ret = writer;
    return 0;
fail:
    free(buffer);
    free(writer);
    return rc;
}

void capwriter_limit(struct capwriter *writer, const struct capwriter_name *name)
{
    CHECK(writer->bytes == FILE_HEADER_BYTES && writer->used == FILE_HEADER_BYTES);
    if (name->snap) writer->snap = name->snap;
    writer->size = name->size;
    memcpy(writer->buffer + SNAP_AT, &writer->snap, sizeof(writer->snap));
}

int capwriter_show(struct capwriter *writer)
{
    flush(writer);
    if (writer->error == 0 && writer->draft) {
        writer->error = draft_show(writer->draft);
        writer->fd = draft_fd(writer->draft);
    }
    return writer->error;
}

uint64_t capwriter_left_out(const struct capwriter *writer)
{
    return writer->left_out;
}

int capwriter_write(struct capwriter *writer, uint64_t time_ns, const uint8_t *data, uint32_t captured, uint32_t length)
{
    if (captured > CAPFILE_RECORD_MAX) return -EMSGSIZE;
    if (time_ns / 1000000000 > UINT32_MAX) return -ERANGE;
    if (captured > writer->snap) captured = writer->snap;
    if (writer->left_out || (writer->size && writer->bytes + RECORD_HEADER_BYTES + captured > writer->size)) {
        writer->left_out++;
        return writer->error;
    }
    if (writer->used + RECORD_HEADER_BYTES + captured > BUFFER_BYTES) flush(writer);
    if (writer->error) return writer->error;
    writer->bytes += RECORD_HEADER_BYTES + captured;
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

void capwriter_cancel(struct capwriter *writer)
{
    if (writer->error == 0) writer->error = -ECANCELED;
}

int capwriter_close(struct capwriter *writer)
{
    flush(writer);
    int rc = writer->error;
    if (rc)
        draft_drop(writer->draft);
    else if (writer->draft)
        rc = draft_commit(writer->draft);
    free(writer->buffer);
    free(writer);
    return rc;
}
