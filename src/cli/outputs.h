/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a command writes: each whole or not at all (base/draft.h), each another one, and none that the command
 * reads, be it named on the command line or in a file (base/reads.h).
 *
 * Judged when the inputs have been read and before the run, by what is behind a name (links are followed).  Devices and
 * pipes may be named twice: nothing in them is overwritten.
 */
#ifndef ROCELAB_CLI_OUTPUTS_H
#define ROCELAB_CLI_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/simulate/pcap.h"

#define CLI_OUTPUTS_MAX (CLI_PCAPS_MAX + 8)

struct cli_file {
    char *path;
    struct draft *draft; /* NULL: not open */
    FILE *to;
};

/* What is at `path` stays until the file is closed.  `option` is for messages, NULL: the path says enough. */
bool cli_file_open(struct cli_file *file, const char *option, const char *path);
/* Everything is written; of files that go together all are finished before the first is closed.  False after a
 * message. */
bool cli_file_finish(struct cli_file *file);
/* Takes its place, or is dropped: false after a message. */
bool cli_file_close(struct cli_file *file);
void cli_file_drop(struct cli_file *file); /* one that is not open, too */
/* Why a file cannot be written, in words: of draft_open() and the like. */
const char *cli_file_why(int error);

struct cli_outputs {
    struct {
        const char *option, *path;
    } file[CLI_OUTPUTS_MAX];
    unsigned count;
    bool clash; /* said */
};

/* What `option` names is read; NULL and "-" are no file. */
void cli_outputs_read(struct cli_outputs *outputs, const char *option, const char *path);
/* What `option` names is written: a message where something before it, or what was read, is the same file. */
void cli_outputs_write(struct cli_outputs *outputs, const char *option, const char *path);
/* Likewise of a file in a folder. */
void cli_outputs_in(struct cli_outputs *outputs, const char *option, const char *folder, const char *name);
void cli_outputs_pcaps(struct cli_outputs *outputs, const struct cli_pcaps *pcaps);

#endif
