/* SPDX-License-Identifier: Apache-2.0 */
/* gzip, tar and zip, as streams. */
#include "evidence/read/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK 512          /* of tar */
#define SPARED (16u << 20) /* bytes that may come out however little goes in */
#define LONG_MOST 65536    /* bytes of a pax header or a long name */
#define LOCAL 0x04034b50u  /* of zip: "PK\3\4" */
#define DESCRIPTOR 0x08074b50u

/* --- what may come out --- */

static bool spend(struct archive_budget *budget, size_t bytes)
{
    budget->unpacked += bytes;
    if (budget->unpacked > ARCHIVE_UNPACKED ||
        (budget->unpacked > SPARED && budget->unpacked / ARCHIVE_RATIO > budget->packed))
        budget->over = bytes_why(-EFBIG);
    return !budget->over;
}

static bool spend_entry(struct archive_budget *budget)
{
    if (++budget->entries > ARCHIVE_ENTRIES) budget->over = "it has more than 200,000 entries";
    return !budget->over;
}

/* --- inflating --- */

struct archive_gzip {
    z_stream stream;
    struct bytes_in *packed;
    struct archive_budget *budget;
    uint32_t crc; /* of a zip's entry, so far */
    uint64_t taken, made;
    bool ended, raw, broken;
};

static struct archive_gzip *inflate_new(struct bytes_in *packed, struct archive_budget *budget, bool raw)
{
    struct archive_gzip *gzip = calloc(1, sizeof *gzip);

    if (!gzip) return NULL;
    gzip->packed = packed;
    gzip->budget = budget;
    gzip->raw = raw;
    if (inflateInit2(&gzip->stream, raw ? -MAX_WBITS : MAX_WBITS + 16) == Z_OK) return gzip;
    free(gzip);
    return NULL;
}

void archive_gzip_end(struct archive_gzip *gzip)
{
    if (gzip) inflateEnd(&gzip->stream);
    free(gzip);
}

/* Members of a gzip file may stand behind each other; padding behind the last is passed over. */
static bool next_member(struct archive_gzip *gzip)
{
    bytes_fill(gzip->packed, 2);
    const uint8_t *at = (const uint8_t *)bytes_at(gzip->packed);

    return !gzip->raw && bytes_left(gzip->packed) >= 2 && at[0] == 0x1f && at[1] == 0x8b &&
           inflateReset(&gzip->stream) == Z_OK;
}

static ssize_t inflate_more(void *of, char *to, size_t room)
{
    struct archive_gzip *gzip = of;
    z_stream *stream = &gzip->stream;

    if (room > 1u << 20) room = 1u << 20;
    stream->next_out = (Bytef *)to;
    stream->avail_out = (uInt)room;
    while (stream->avail_out == room && !gzip->ended) {
        bytes_fill(gzip->packed, 1);
        size_t left = bytes_left(gzip->packed);
        if (gzip->packed->error) return gzip->packed->error;
        stream->next_in = (Bytef *)(uintptr_t)bytes_at(gzip->packed);
        stream->avail_in = (uInt)(left < 1u << 20 ? left : 1u << 20);
        size_t before = stream->avail_in;
        int result = inflate(stream, Z_NO_FLUSH);
        size_t taken = before - stream->avail_in;
        gzip->packed->from += taken;
        gzip->taken += taken;
        if (result == Z_STREAM_END)
            gzip->ended = !next_member(gzip);
        else if (result != Z_OK || (!taken && stream->avail_out == room))
            gzip->ended = gzip->broken = true; /* damaged, or cut */
    }
    size_t made = room - stream->avail_out;
    gzip->made += made;
    if (gzip->raw) gzip->crc = (uint32_t)crc32(gzip->crc, (const Bytef *)to, (uInt)made);
    if (!spend(gzip->budget, made)) return -EFBIG;
    return made || !gzip->broken ? (ssize_t)made : -EBADMSG;
}

struct archive_gzip *archive_gzip(struct bytes_in *packed, struct archive_budget *budget, struct bytes_in *ret)
{
    struct archive_gzip *gzip = inflate_new(packed, budget, false);

    if (gzip) bytes_from(ret, inflate_more, gzip);
    return gzip;
}

/* --- what it is --- */

/* A number of a tar header, octal; or, where the first bit is set, binary. */
static bool tar_number(const uint8_t *at, size_t length, uint64_t *ret)
{
    uint64_t number = 0;
    size_t i = 0;

    if (*at & 0x80) {
        for (i = 1; i < length; i++) {
            if (number >> 55) return false;
            number = number << 8 | at[i];
        }
        *ret = number;
        return !(*at & 0x7f);
    }
    while (i < length && at[i] == ' ')
        i++;
    for (; i < length && at[i] >= '0' && at[i] <= '7'; i++)
        number = number << 3 | (uint64_t)(at[i] - '0');
    *ret = number;
    return i == length || at[i] == ' ' || !at[i];
}

static bool is_tar_header(const uint8_t *block)
{
    uint64_t said;
    uint32_t sum = 0;

    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : block[i];
    return block[0] && tar_number(block + 148, 8, &said) && said == sum;
}

enum archive_kind archive_kind(struct bytes_in *bytes)
{
    static const struct {
        const char *begin;
        size_t length;
        enum archive_kind kind;
    } kinds[] = {{"\x1f\x8b\x08", 3, ARCHIVE_GZIP},
                 {"PK\3\4", 4, ARCHIVE_ZIP},
                 {"PK\5\6", 4, ARCHIVE_ZIP},
                 {"\xfd"
                  "7zXZ",
                  6, ARCHIVE_OTHER},
                 {"\x28\xb5\x2f\xfd", 4, ARCHIVE_OTHER},
                 {"BZh", 3, ARCHIVE_OTHER},
                 {"7z\xbc\xaf", 4, ARCHIVE_OTHER},
                 {"Rar!", 4, ARCHIVE_OTHER}};

    bytes_fill(bytes, BLOCK);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (bytes_left(bytes) >= kinds[i].length && !memcmp(bytes_at(bytes), kinds[i].begin, kinds[i].length))
            return kinds[i].kind;
    return bytes_left(bytes) >= BLOCK && is_tar_header((const uint8_t *)bytes_at(bytes)) ? ARCHIVE_TAR : ARCHIVE_NONE;
}

/* --- entries --- */

/* A path without what leads out of the archive; NULL: it leads out, or says nothing. */
static const char *safe_path(const char *path)
{
    for (;; path++) {
        while (*path == '/')
            path++;
        if (path[0] != '.' || path[1] != '/') break;
    }
    if (!*path) return NULL;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.') return NULL;
        at += length + (at[length] == '/');
    }
    return path;
}

/* Bytes of an entry that stand as they are: they are counted where they were unpacked. */
struct stored {
    struct bytes_in *from;
    uint64_t left;
};

static ssize_t stored_more(void *of, char *to, size_t room)
{
    struct stored *stored = of;

    if (!stored->left) return 0;
    bytes_fill(stored->from, 1);
    size_t got = bytes_left(stored->from);
    if (stored->from->error) return stored->from->error;
    if (got > room) got = room;
    if (got > stored->left) got = (size_t)stored->left;
    if (!got) return -EBADMSG; /* cut */
    memcpy(to, bytes_at(stored->from), got);
    stored->from->from += got;
    stored->left -= got;
    return (ssize_t)got;
}

static bool skip(struct bytes_in *bytes, uint64_t count)
{
    while (count) {
        bytes_fill(bytes, 1);
        size_t got = bytes_left(bytes);
        if (!got) return false;
        if (got > count) got = (size_t)count;
        bytes->from += got;
        count -= got;
    }
    return true;
}

/* --- tar --- */

struct tar {
    struct bytes_in *bytes;
    struct archive_budget *budget;
    char *longer;  /* the next entry's path, of a header before it; NULL: none */
    uint64_t size; /* likewise */
    bool sized;
};

/* "27 path=some/where\n" of a pax header: path and size. */
static void pax_record(struct tar *tar, char *record, size_t length)
{
    static const char path[] = "path=", size[] = "size=";
    char *key = memchr(record, ' ', length);

    if (!key || record[length - 1] != '\n') return;
    key++;
    record[length - 1] = 0;
    if (!strncmp(key, path, strlen(path))) {
        free(tar->longer);
        tar->longer = strdup(key + strlen(path));
    } else if (!strncmp(key, size, strlen(size))) {
        tar->size = strtoull(key + strlen(size), NULL, 10);
        tar->sized = true;
    }
}

static void take_pax(struct tar *tar, char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        char *end;
        unsigned long record = strtoul(text + at, &end, 10);
        if (end == text + at || *end != ' ' || record < 5 || record > length - at) return;
        pax_record(tar, text + at, record);
        at += record;
    }
}

/* A header of a header: the next entry's long name, or pax records.  False: it is cut, or too long. */
static bool take_extra(struct tar *tar, char type, uint64_t size)
{
    uint64_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;

    if (size > LONG_MOST) return false;
    bytes_fill(tar->bytes, (size_t)padded);
    if (bytes_left(tar->bytes) < padded) return false;
    char *text = malloc((size_t)size + 1);
    if (!text) return false;
    memcpy(text, bytes_at(tar->bytes), (size_t)size);
    text[size] = 0;
    tar->bytes->from += (size_t)padded;
    if (type == 'L') {
        free(tar->longer);
        tar->longer = text;
        return true;
    }
    if (type == 'x') take_pax(tar, text, (size_t)size);
    free(text);
    return true;
}

static void tar_path(const struct tar *tar, const uint8_t *block, char path[ARCHIVE_PATH])
{
    bool prefixed = !memcmp(block + 257, "ustar\0", 6) && block[345];
    size_t used = 0;

    if (tar->longer) {
        used = strnlen(tar->longer, ARCHIVE_PATH - 1);
        memcpy(path, tar->longer, used);
    } else {
        if (prefixed) {
            used = strnlen((const char *)block + 345, 155);
            memcpy(path, block + 345, used);
            path[used++] = '/';
        }
        size_t name = strnlen((const char *)block, 100);
        memcpy(path + used, block, name);
        used += name;
    }
    path[used] = 0;
}

/* One entry.  Ends with *ret_why, or at the archive's end with none. */
static bool tar_entry(struct tar *tar, const uint8_t *block, archive_visit visit, void *with, const char **ret_why)
{
    char path[ARCHIVE_PATH], type = (char)block[156];
    uint64_t size;

    if (!is_tar_header(block) || !tar_number(block + 124, 12, &size)) {
        *ret_why = "it is damaged";
        return false;
    }
    tar_path(tar, block, path);
    tar->bytes->from += BLOCK;
    if (type == 'L' || type == 'K' || type == 'x' || type == 'g') {
        if (!take_extra(tar, type, size)) *ret_why = "it is damaged";
        return !*ret_why;
    }
    if (tar->sized) size = tar->size;
    free(tar->longer);
    tar->longer = NULL;
    tar->sized = false;
    bool link = type == '1' || type == '2', file = !type || type == '0' || type == '7';
    if (type >= '1' && type <= '6') size = 0;
    struct stored stored = {tar->bytes, size};
    struct archive_entry entry = {safe_path(path), file ? NULL : link ? "a link in an archive" : "not a file"};
    bool more = true;
    if (!entry.path && file) entry = (struct archive_entry){path, "its path leads out of the archive"};
    if (!spend_entry(tar->budget)) more = false;
    if (more && type != '5' && entry.path) {
        struct bytes_in bytes;
        bytes_from(&bytes, stored_more, &stored);
        bytes.expected = size < ARCHIVE_UNPACKED ? (size_t)size : 0;
        more = visit(with, &entry, &bytes);
        bytes_release(&bytes);
    }
    if (tar->budget->over || !more) return false;
    if (stored.left > ARCHIVE_UNPACKED || !skip(tar->bytes, stored.left + (BLOCK - size % BLOCK) % BLOCK))
        *ret_why = "it is cut";
    return !*ret_why;
}

static const char *tar_each(struct bytes_in *bytes, struct archive_budget *budget, archive_visit visit, void *with)
{
    struct tar tar = {.bytes = bytes, .budget = budget};
    const char *why = NULL;

    for (bool more = true; more;) {
        bytes_fill(bytes, BLOCK);
        if (bytes_left(bytes) < BLOCK) {
            if (bytes->error) why = budget->over ? budget->over : "it is damaged";
            break; /* some end without the blocks of zeros */
        }
        const uint8_t *block = (const uint8_t *)bytes_at(bytes);
        if (!block[0]) break;
        more = tar_entry(&tar, block, visit, with, &why);
    }
    free(tar.longer);
    return budget->over ? budget->over : why;
}

/* --- zip --- */

struct zip_entry {
    uint32_t crc;
    uint64_t packed, unpacked;
    unsigned flags, method;
    bool large; /* zip64 */
    char path[ARCHIVE_PATH];
};

static uint32_t little(const uint8_t *at, unsigned bytes)
{
    uint32_t number = 0;

    while (bytes--)
        number = number << 8 | at[bytes];
    return number;
}

static uint64_t little8(const uint8_t *at)
{
    return (uint64_t)little(at + 4, 4) << 32 | little(at, 4);
}

/* Sizes that do not fit: zip64's extra field has them. */
static void zip_large(struct zip_entry *entry, const uint8_t *at, size_t length)
{
    while (length >= 4) {
        size_t size = little(at + 2, 2);
        if (size > length - 4) return;
        if (little(at, 2) == 1) {
            const uint8_t *field = at + 4, *end = field + size;
            entry->large = true;
            if (entry->unpacked == UINT32_MAX && end - field >= 8) entry->unpacked = little8(field), field += 8;
            if (entry->packed == UINT32_MAX && end - field >= 8) entry->packed = little8(field);
        }
        at += 4 + size;
        length -= 4 + size;
    }
}

/* The header of the next entry.  False: there is none, or `why`. */
static bool zip_header(struct bytes_in *bytes, struct zip_entry *entry, const char **why)
{
    bytes_fill(bytes, 30);
    const uint8_t *at = (const uint8_t *)bytes_at(bytes);
    if (bytes_left(bytes) < 4 || little(at, 4) != LOCAL) return false; /* the directory follows */
    size_t name = bytes_left(bytes) >= 30 ? little(at + 26, 2) : 0, extra = name ? little(at + 28, 2) : 0;
    bytes_fill(bytes, 30 + name + extra);
    at = (const uint8_t *)bytes_at(bytes);
    if (!name || bytes_left(bytes) < 30 + name + extra) {
        *why = "it is cut";
        return false;
    }
    *entry = (struct zip_entry){.flags = little(at + 6, 2),
                                .method = little(at + 8, 2),
                                .crc = little(at + 14, 4),
                                .packed = little(at + 18, 4),
                                .unpacked = little(at + 22, 4)};
    size_t used = name < ARCHIVE_PATH ? name : ARCHIVE_PATH - 1;
    memcpy(entry->path, at + 30, used);
    for (char *slash = entry->path; (slash = strchr(slash, '\\'));)
        *slash = '/';
    zip_large(entry, at + 30 + name, extra);
    bytes->from += 30 + name + extra;
    return true;
}

/* Behind an entry whose sizes were not known when it began. */
static bool zip_descriptor(struct bytes_in *bytes, struct zip_entry *entry)
{
    size_t length = entry->large ? 20 : 12;

    bytes_fill(bytes, 4 + length);
    const uint8_t *at = (const uint8_t *)bytes_at(bytes);
    bool marked = bytes_left(bytes) >= 4 && little(at, 4) == DESCRIPTOR;
    length += marked ? 4 : 0;
    if (bytes_left(bytes) < length) return false;
    entry->crc = little(at + (marked ? 4 : 0), 4);
    bytes->from += length;
    return true;
}

static bool visit_one(const struct archive_entry *entry, struct bytes_in *bytes,
                      ssize_t (*more)(void *, char *, size_t), void *of, archive_visit visit, void *with)
{
    bytes_from(bytes, more, of);
    bool go = visit(with, entry, bytes);
    char rest[8192];
    ssize_t got = 1;
    while (go && !bytes->error && !bytes->ended && got > 0) /* what nobody asked for */
        got = more(of, rest, sizeof rest);
    if (got < 0) bytes->error = (int)got;
    return go;
}

static bool zip_deflated(struct bytes_in *from, struct zip_entry *entry, const struct archive_entry *as,
                         struct archive_budget *budget, archive_visit visit, void *with, const char **why)
{
    struct archive_gzip *gzip = inflate_new(from, budget, true);
    struct bytes_in bytes;

    if (!gzip) {
        *why = strerror(ENOMEM);
        return false;
    }
    bool go = visit_one(as, &bytes, inflate_more, gzip, visit, with);
    if (bytes.error && !budget->over) *why = "it is damaged";
    bytes_release(&bytes);
    bool described = !(entry->flags & 8) || *why || zip_descriptor(from, entry);
    if (go && !*why && !budget->over && (!described || gzip->crc != entry->crc)) *why = "it is damaged";
    archive_gzip_end(gzip);
    return go && !*why && !budget->over;
}

static bool zip_stored(struct bytes_in *from, struct zip_entry *entry, const struct archive_entry *as,
                       struct archive_budget *budget, archive_visit visit, void *with, const char **why)
{
    struct stored stored = {from, entry->packed};
    struct bytes_in bytes;

    if (entry->flags & 8 && !entry->packed && entry->path[strlen(entry->path) - 1] != '/') {
        *why = "an entry of it is stored without its size";
        return false;
    }
    bool go = visit_one(as, &bytes, stored_more, &stored, visit, with);
    if (bytes.error && !budget->over) *why = "it is cut";
    bytes_release(&bytes);
    if (entry->flags & 8 && !*why && !zip_descriptor(from, entry)) *why = "it is cut";
    return go && !*why && !budget->over;
}

static bool pass_over(void *with, const struct archive_entry *entry, struct bytes_in *bytes)
{
    (void)with, (void)entry, (void)bytes;
    return true;
}

static const char *zip_each(struct bytes_in *bytes, struct archive_budget *budget, archive_visit visit, void *with)
{
    struct zip_entry *entry = calloc(1, sizeof *entry);
    const char *why = entry ? NULL : strerror(ENOMEM);

    for (bool more = entry != NULL; more && !why && zip_header(bytes, entry, &why);) {
        struct archive_entry as = {safe_path(entry->path), NULL};
        bool known = entry->method == 0 || entry->method == 8, locked = entry->flags & 1;
        bool folder = entry->path[0] && entry->path[strlen(entry->path) - 1] == '/';
        if (!spend_entry(budget)) break;
        if (!as.path) as = (struct archive_entry){entry->path, "its path leads out of the archive"};
        if (locked) as.why = "it is encrypted";
        if (!known) as.why = "its compression is not known here";
        if (as.why && !visit(with, &as, NULL)) break;
        if ((locked || !known) && entry->flags & 8) {
            why = as.why;
        } else if (locked || !known) {
            if (entry->packed > ARCHIVE_UNPACKED || !skip(bytes, entry->packed)) why = "it is cut";
        } else {
            more = (entry->method ? zip_deflated : zip_stored)(bytes, entry, &as, budget,
                                                               folder || as.why ? pass_over : visit, with, &why);
        }
    }
    free(entry);
    return budget->over ? budget->over : why;
}

const char *archive_each(struct bytes_in *bytes, enum archive_kind kind, struct archive_budget *budget,
                         archive_visit visit, void *with)
{
    return kind == ARCHIVE_TAR ? tar_each(bytes, budget, visit, with) : zip_each(bytes, budget, visit, with);
}
