/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rocelab capture` without the analysis: reader, parser and ICRC.  The difference between the two is
 * what the analysis costs.
 */
#include <inttypes.h>
#include <stdio.h>

#include "packet/capfile/capfile.h"
#include "packet/codec.h"
#include "packet/icrc.h"

int main(int argc, char **argv)
{
    char error[CAPFILE_ERROR] = "usage: parse FILE";
    struct capfile *file;
    if (argc != 2 || capfile_open(argv[1], &file, error) < 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    struct capfile_record record;
    uint64_t packets = 0, good = 0;
    int rc;
    while ((rc = capfile_next(file, &record, error)) == 1) {
        struct codec_frame frame = {record.data, record.captured, record.length, CODEC_ETHERNET};
        struct pkt pkt;
        struct pkt_cold cold;
        struct codec_layout layout;
        enum codec_fault fault;
        packets++;
        if (codec_parse(&frame, &pkt, &cold, &layout, &fault) == 0 && pkt.kind == PKT_ROCE)
            good += icrc_check(&frame, &pkt, &cold, &layout) == ICRC_GOOD;
    }
    printf("%" PRIu64 " %" PRIu64 "\n", packets, good);
    capfile_close(file);
    return rc < 0;
}
