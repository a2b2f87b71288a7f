/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture reader: where the bytes come from, which format they are, and the pcap format
 * (draft-ietf-opsawg-pcap; pcapng is in pcapng.c).
 *
 * Files are read() in steps of a MiB, not mapped.  A mapping reads a cached file of 4 KB packets in
 * 21 ms where this takes 37 ms (500 MB, CRC over every byte included; libpcap: 105 ms), but a file
 * that someone truncates while it is mapped kills the program with SIGBUS, and captures are often
 * still being written or rotated.  With read() the same event is a sentence with a byte offset, pipes
 * need no second path, and resident memory is the buffer, however long the file.
 *
 * The buffer has room for the largest block; memory beyond the first MiB is not touched unless such
 * a block comes.
 *
 * Not read: pcap before version 2.4 (1998), whose records swap their two lengths.  The "modified"
 * pcap of old Red Hat (magic a1b2cd34) is read, its extra fields are skipped.
 */
#include "packet/capfile/capfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/reads.h"
#include "packet/capfile/capfile_int.h"

#define READ_BYTES ((size_t)1 << 20)
#define BUFFER_BYTES (CAPFILE_BLOCK_MAX + READ_BYTES)

#define PCAP_HEADER_BYTES 24
#define MAGIC_MICROSECONDS 0xa1b2c3d4u
#define MAGIC_NANOSECONDS 0xa1b23c4du
#define MAGIC_MODIFIED 0xa1b2cd34u
#define MAGIC_PCAPNG 0x0a0d0d0au   /* reads the same in both byte orders */
#define LINK_TYPE_MASK 0x03ffffffu /* above: whether frames end in an FCS, and how long it is */

void capfile_say(char *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, CAPFILE_ERROR, format, args);
    va_end(args);
}

int capfile_cut(const struct capfile *file, const char *what, uint64_t need, char *error)
{
    capfile_say(error, "ends inside %s at byte %llu: %zu of %llu bytes", what, (unsigned long long)file->offset,
                capfile_have(file), (unsigned long long)need);
    return -EBADMSG;
}

/* read(), waiting where the descriptor was left non-blocking by whoever shares it with us. */
static ssize_t read_some(int fd, uint8_t *at, size_t bytes)
{
    for (;;) {
        ssize_t got = read(fd, at, bytes);
        if (got >= 0) return got;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return -errno;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, -1) < 0) return -errno;
    }
}

int capfile_fill(struct capfile *file, size_t need, char *error)
{
    CHECK(need <= CAPFILE_BLOCK_MAX);
    while (capfile_have(file) < need) {
        if (file->at_end) return 0;
        if (file->begin > 0) {
            memmove(file->buffer, file->buffer + file->begin, capfile_have(file));
            file->end -= file->begin;
            file->begin = 0;
        }
        ssize_t got = read_some(file->fd, file->buffer + file->end, READ_BYTES);
        if (got < 0) {
            capfile_say(error, "reading failed at byte %llu: %s", (unsigned long long)(file->offset + file->end),
                        strerror((int)-got));
            return (int)got;
        }
        if (got == 0) file->at_end = true;
        file->end += (size_t)got;
    }
    return 1;
}

static int pcap_open(struct capfile *file, uint32_t magic, char *error)
{
    int rc = capfile_fill(file, PCAP_HEADER_BYTES, error);
    if (rc < 0) return rc;
    if (rc == 0) return capfile_cut(file, "the pcap file header", PCAP_HEADER_BYTES, error);

    const uint8_t *at = capfile_at(file);
    unsigned major = capfile_u16(file, at + 4), minor = capfile_u16(file, at + 6);
    if (major != 2 || minor != 4) {
        capfile_say(error, "pcap version %u.%u at byte 4: only 2.4, in use since 1998, is read", major, minor);
        return -EBADMSG;
    }
    file->link_type = capfile_u32(file, at + 20) & LINK_TYPE_MASK;
    file->ns_per_fraction = magic == MAGIC_NANOSECONDS ? 1 : 1000;
    file->header_bytes = magic == MAGIC_MODIFIED ? 24 : 16;
    capfile_consume(file, PCAP_HEADER_BYTES);
    return 0;
}

/* Bytes of the record that begins at the window's beginning; 0 when they are impossible. */
static size_t pcap_record_bytes(const struct capfile *file)
{
    uint32_t captured = capfile_u32(file, capfile_at(file) + 8);
    return captured <= CAPFILE_RECORD_MAX ? file->header_bytes + captured : 0;
}

static __attribute__((noinline, cold)) int pcap_cut(const struct capfile *file, size_t need, char *error)
{
    char what[40];
    snprintf(what, sizeof(what), "record %llu", (unsigned long long)(file->number + 1));
    return capfile_cut(file, what, need, error);
}

static int pcap_next(struct capfile *file, struct capfile_record *ret, char *error)
{
    int rc = capfile_fill(file, file->header_bytes, error);
    if (rc < 0) return rc;
    if (rc == 0) return capfile_have(file) == 0 ? 0 : pcap_cut(file, file->header_bytes, error);

    size_t bytes = pcap_record_bytes(file);
    if (bytes == 0) {
        capfile_say(error, "damaged: record %llu at byte %llu claims %u captured bytes, the most there can be is %u",
                    (unsigned long long)(file->number + 1), (unsigned long long)file->offset,
                    capfile_u32(file, capfile_at(file) + 8), CAPFILE_RECORD_MAX);
        return -EBADMSG;
    }
    rc = capfile_fill(file, bytes, error);
    if (rc < 0) return rc;
    if (rc == 0) return pcap_cut(file, bytes, error);

    const uint8_t *at = capfile_at(file);
    ret->data = at + file->header_bytes;
    ret->captured = (uint32_t)bytes - file->header_bytes;
    ret->length = capfile_u32(file, at + 12);
    ret->number = ++file->number;
    ret->time_ns = capfile_u32(file, at) * 1000000000ull + capfile_u32(file, at + 4) * file->ns_per_fraction;
    ret->interface = 0;
    ret->link_type = file->link_type;
    ret->if_speed_bps = 0;
    capfile_consume(file, bytes);
    return 1;
}

int capfile_next(struct capfile *file, struct capfile_record *ret, char error[CAPFILE_ERROR])
{
    return file->pcapng ? capfile_pcapng_next(file, ret, error) : pcap_next(file, ret, error);
}

bool capfile_ready(const struct capfile *file)
{
    if (file->regular || file->at_end) return true;
    if (file->pcapng) return capfile_pcapng_ready(file);
    if (capfile_have(file) < file->header_bytes) return false;
    size_t bytes = pcap_record_bytes(file);
    return bytes == 0 || capfile_have(file) >= bytes;
}

/* Reads the first bytes and decides the format. */
static int begin(struct capfile *file, char *error)
{
    int rc = capfile_fill(file, 4, error);
    if (rc < 0) return rc;
    if (rc == 0) {
        if (capfile_have(file) == 0)
            capfile_say(error,
                        "empty: 0 bytes, a capture begins with a 24-byte pcap header or a pcapng section header");
        else
            capfile_say(error,
                        "only %zu %s long: a capture begins with a 24-byte pcap header or a pcapng section header",
                        capfile_have(file), capfile_have(file) == 1 ? "byte" : "bytes");
        return -EBADMSG;
    }
    uint32_t magic = capfile_u32(file, capfile_at(file));
    if (magic == MAGIC_PCAPNG) {
        file->pcapng = true;
        return capfile_pcapng_open(file, error);
    }
    for (int order = 0; order < 2; order++) {
        if (magic == MAGIC_MICROSECONDS || magic == MAGIC_NANOSECONDS || magic == MAGIC_MODIFIED)
            return pcap_open(file, magic, error);
        file->swapped = true;
        magic = __builtin_bswap32(magic);
    }
    capfile_say_not_a_capture(file, error);
    return -EBADMSG;
}

static int open_source(struct capfile *file, const char *path, char *error)
{
    file->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file->fd < 0 || fstat(file->fd, &status) < 0) {
        int rc = -errno;
        capfile_say(error, "%s", strerror(-rc));
        return rc;
    }
    if (S_ISDIR(status.st_mode)) {
        capfile_say(error, "is a directory, not a capture file");
        return -EISDIR;
    }
    if (isatty(file->fd)) {
        capfile_say(error, "is a terminal: pipe a capture into it, such as `tcpdump -U -w - | rocelab capture -`");
        return -EINVAL;
    }
    file->regular = S_ISREG(status.st_mode);
    reads_note(file->fd, path);
    if (file->regular) {
        file->size = (uint64_t)status.st_size;
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    file->buffer = malloc(BUFFER_BYTES);
    if (!file->buffer) {
        capfile_say(error, "not enough memory");
        return -ENOMEM;
    }
    file->window = file->buffer;
    return begin(file, error);
}

int capfile_open(const char *path, struct capfile **ret, char error[CAPFILE_ERROR])
{
    struct capfile *file = calloc(1, sizeof(*file));
    if (!file) {
        capfile_say(error, "not enough memory");
        return -ENOMEM;
    }
    int rc = open_source(file, path, error);
    if (rc < 0) {
        capfile_close(file);
        return rc;
    }
    *ret = file;
    return 0;
}

int capfile_open_memory(const uint8_t *data, size_t length, struct capfile **ret, char error[CAPFILE_ERROR])
{
    struct capfile *file = calloc(1, sizeof(*file));
    if (!file) {
        capfile_say(error, "not enough memory");
        return -ENOMEM;
    }
    file->fd = -1;
    file->window = data;
    file->end = length;
    file->size = length;
    file->at_end = true;
    file->regular = true;
    int rc = begin(file, error);
    if (rc < 0) {
        capfile_close(file);
        return rc;
    }
    *ret = file;
    return 0;
}

void capfile_progress(const struct capfile *file, uint64_t *ret_done, uint64_t *ret_size)
{
    *ret_done = file->offset;
    *ret_size = file->size;
}

void capfile_close(struct capfile *file)
{
    if (!file) return;
    if (file->fd > STDERR_FILENO) close(file->fd);
    free(file->interfaces);
    free(file->buffer);
    free(file);
}
