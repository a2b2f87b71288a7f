/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is packed: gzip (RFC 1952), tar (POSIX.1-2001's pax and ustar, GNU's long names), zip (APPNOTE 6.3; stored and
 * deflated).  Entries are handed out one by one as they stand in the archive, and nothing is written anywhere.
 *
 * Archives are hostile: what comes out is bounded (struct archive_budget), inside of archives of archives too; entries
 * with ".." in their paths are left out; links and devices are no files.  Not read: what is encrypted, zip files with
 * something before their first entry, other compressions.
 */
#ifndef ROCELAB_EVIDENCE_READ_ARCHIVE_H
#define ROCELAB_EVIDENCE_READ_ARCHIVE_H

#include "evidence/read/bytes.h"

#define ARCHIVE_UNPACKED (1u << 30) /* bytes */
#define ARCHIVE_RATIO 100           /* times what is packed */
#define ARCHIVE_ENTRIES 200000
#define ARCHIVE_DEPTH 2 /* archives inside each other */
#define ARCHIVE_PATH 1024

enum archive_kind { ARCHIVE_NONE, ARCHIVE_GZIP, ARCHIVE_TAR, ARCHIVE_ZIP, ARCHIVE_OTHER /* that is not read */ };
/* By what a file begins with: 512 bytes of it are looked at. */
enum archive_kind archive_kind(struct bytes_in *bytes);

/* What may still come out. */
struct archive_budget {
    uint64_t packed, unpacked; /* bytes that went in (of the file alone), came out */
    uint32_t entries;
    const char *over; /* what there was too much of; NULL: nothing */
};
/* What an archive says besides its files. */
struct archive_entry {
    const char *path;
    const char *why; /* it is left out: "a link"; NULL: it is a file, and bytes are its own */
};
/* Visits each entry.  False ends. */
typedef bool (*archive_visit)(void *with, const struct archive_entry *entry, struct bytes_in *bytes);
/* NULL: to its end; else what is wrong with it, or too much. */
const char *archive_each(struct bytes_in *bytes, enum archive_kind kind, struct archive_budget *budget,
                         archive_visit visit, void *with);
/* The bytes of a gzip file, unpacked: hold them until bytes_release() and archive_gzip_end(). */
struct archive_gzip;
struct archive_gzip *archive_gzip(struct bytes_in *packed, struct archive_budget *budget, struct bytes_in *ret);
void archive_gzip_end(struct archive_gzip *gzip);

#endif
