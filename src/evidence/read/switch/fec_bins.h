/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code words by how many of their symbols were wrong ("FEC bins").
 *
 * FEC of PAM4 puts 15 symbols of a code word right.  Wrong bits that come alone leave nearly all code words in the
 * first bins: one above the middle says that errors come in bursts, or that the link is near its end, though nothing
 * was lost.  Private to read/switch.
 */
#ifndef ROCELAB_EVIDENCE_READ_SWITCH_FEC_BINS_H
#define ROCELAB_EVIDENCE_READ_SWITCH_FEC_BINS_H

#include "evidence/read/reader.h"

struct fec_bins {
    uint64_t many; /* code words with more wrong symbols than is usual */
    uint64_t corrected;
    unsigned most; /* the highest of their bins */
    struct evidence_source source;
};

/* A bin of a text; what is no number is passed over. */
void fec_bins_take(struct reading *in, struct fec_bins *bins, unsigned bin, const struct text_field *count);
/* Says what they are of a port, and begins anew. */
void fec_bins_end(struct reading *in, struct fec_bins *bins, uint32_t port);

#endif
