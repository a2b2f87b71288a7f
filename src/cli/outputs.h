/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that options of one command write: each is another one, and none is what the command reads.
 *
 * Judged before the run, by what is behind a name (links are followed), so that nothing is half written or lost.
 * Devices and pipes may be named twice: nothing in them is overwritten.
 */
#ifndef ROCELAB_CLI_OUTPUTS_H
#define ROCELAB_CLI_OUTPUTS_H

#include <stdbool.h>

#include "cli/pcap.h"

#define CLI_OUTPUTS_MAX (CLI_PCAPS_MAX + 8)

struct cli_outputs {
    struct {
        const char *option, *path;
    } file[CLI_OUTPUTS_MAX];
    unsigned count;
    bool clash; /* said */
};

/* What `option` names is read; NULL and "-" are no file. */
void cli_outputs_read(struct cli_outputs *outputs, const char *option, const char *path);
/* What `option` names is written: a message where something before it is the same file. */
void cli_outputs_write(struct cli_outputs *outputs, const char *option, const char *path);
void cli_outputs_pcaps(struct cli_outputs *outputs, const struct cli_pcaps *pcaps);

#endif
