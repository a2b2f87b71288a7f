/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program and its peer on this machine, over the loopback interface: private to this folder.
 */
#ifndef ROCELAB_VALIDATE_LIVE_PAIR_H
#define ROCELAB_VALIDATE_LIVE_PAIR_H

#include "validate/live/machine.h"

enum live_figure { /* what its last row says, and where */
                   LIVE_PERFTEST_GBPS,
                   LIVE_PERFTEST_US, /* t_typical, the median: half of a round trip */
                   LIVE_UCX_MIBPS,   /* that UCX calls MB/s */
                   LIVE_UCX_US,      /* the median: half of a round trip */
};

struct live_program {
    const char *name, *package; /* of Debian */
    const char *path;
    const char *word[16];   /* without how often */
    const char *few, *many; /* how often: with a capture, and where time is measured */
    uint64_t bytes;         /* of a message */
    bool counted;           /* the bytes of all messages arrive, each once; else as many as it likes */
    enum live_figure figure;
};

struct live_pair {
    const struct live_program *program;
    const char *fault; /* on their wire; NULL: none */
    bool capture;      /* few messages, and what both ends saw of them */
    double figure;     /* bits a second, or picoseconds */
    double events;  /* retransmissions, NAKs, wrong ICRCs, marks, packets out of order, in the captures of both ends */
    double goodput; /* bytes, each once, over those sent */
    double others;  /* share of the processors that others used meanwhile */
};

static inline bool live_is_time(const struct live_program *program)
{
    return program->figure == LIVE_PERFTEST_US || program->figure == LIVE_UCX_US;
}

/* "ib_write_bw of 500 times 64 KiB" */
const char *live_pair_name(const struct validate_case *of, const struct live_program *program, const char *times);
/* Whether it is installed; false after a row. */
bool live_pair_installed(struct validate_case *of, const struct live_program *program);
/* NULL, or why it did not come to figures; `others` is known all the same. */
const char *live_pair_try(struct live_pair *pair);
/* False after a row that says what is wrong, or that it is not installed. */
bool live_pair_run(struct validate_case *of, struct live_pair *pair);

#endif
