/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a text, which come piece by piece: of a file, a pipe, an entry of an archive.  What was read of lines is
 * let go, so that a text may be larger than the memory; who needs all of it at once asks for it.
 */
#ifndef ROCELAB_EVIDENCE_READ_BYTES_H
#define ROCELAB_EVIDENCE_READ_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BYTES_LOOK 65536 /* of the beginning, by which a text is known */

struct bytes_in {
    ssize_t (*more)(void *of, char *to, size_t room); /* 0: no more; -errno; NULL: all is held */
    void *of;
    char *held;
    size_t from, used, room; /* held[from .. used) is there */
    size_t expected;         /* bytes of all of it, where that is known */
    bool ended, wide, big;   /* wide: UTF-16, `big` end first */
    bool borrowed;           /* held is somebody else's */
    bool begun;              /* whether it has a mark of UTF-16 is known */
    int error;               /* -errno */
    char *line;              /* a line that was cut; NULL: none was */
    uint8_t odd[4];          /* of UTF-16: bytes of a character whose rest has not come */
    unsigned odds;
};
void bytes_of(struct bytes_in *bytes, const char *text, size_t length); /* all of it, borrowed */
void bytes_from(struct bytes_in *bytes, ssize_t (*more)(void *of, char *to, size_t room), void *of);
void bytes_release(struct bytes_in *bytes);
/* Until that many are there, or all.  False: there is no memory, or reading failed, and `error` says it. */
bool bytes_fill(struct bytes_in *bytes, size_t want);
/* What is wrong, for a person. */
const char *bytes_why(int error);
static inline const char *bytes_at(const struct bytes_in *bytes)
{
    return bytes->held + bytes->from;
}
static inline size_t bytes_left(const struct bytes_in *bytes)
{
    return bytes->used - bytes->from;
}
/* The next line without its end, cut at `most` bytes; NULL: there is none.  It holds until the next call. */
const char *bytes_line(struct bytes_in *bytes, size_t most, size_t *ret_length);

#endif
