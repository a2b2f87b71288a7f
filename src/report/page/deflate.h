/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of bytes into a stream of base64 of raw deflate (RFC 1951, RFC 4648), as it comes: memory does not grow with
 * it.  Compressed by ISA-L; without it, stored blocks: four thirds of the size of what was written.
 */
#ifndef ROCELAB_REPORT_PAGE_DEFLATE_H
#define ROCELAB_REPORT_PAGE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct base64 {
    FILE *to;
    uint32_t held, bits; /* what does not fill six bits yet */
    uint64_t written;
};
void base64_write(struct base64 *base64, const void *data, size_t bytes);
void base64_end(struct base64 *base64);

struct deflate;
struct deflate *deflate_new(FILE *to); /* NULL: not enough memory */
void deflate_write(struct deflate *deflate, const void *data, size_t bytes);
/* What is still held, the end of the deflate stream and of base64.  Errors are those of the stream written to. */
void deflate_end(struct deflate *deflate);
void deflate_free(struct deflate *deflate);

#endif
