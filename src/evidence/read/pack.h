/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives as input: what is in them is read as a folder of the archive's name would be (places.h).
 *
 * Looks have to be read in their order, and entries stand in any: an archive is gone through once for its paths, then
 * once for each look, or once where they are in order.  Nothing is kept of it but its paths.
 */
#ifndef ROCELAB_EVIDENCE_READ_PACK_H
#define ROCELAB_EVIDENCE_READ_PACK_H

#include "evidence/read/bytes.h"
#include "evidence/read/reader.h"

struct pack_from {
    const struct text_of *of; /* the archive: a device and a time that are said hold for all that is in it */
    size_t size;              /* bytes */
    void (*again)(void *at, struct bytes_in *bytes); /* its bytes, from the beginning */
    void *at;
};
/* What is wrong with it is said. */
void pack_read(struct evidence *evidence, const struct pack_from *from);

/* walk.c: a text of a device; also a file of sysfs, which holds its value alone. */
void read_placed_text(struct evidence *evidence, const struct text_of *of, struct bytes_in *bytes);

#endif
