/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --expect FILE and --write-expect FILE: what a run is to give, as the verdict of a test; docs/ci.md has the format.
 */
#ifndef ROCELAB_CLI_EXPECT_H
#define ROCELAB_CLI_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "report/sim_report.h"

struct cli_expect_value;

struct cli_expect {
    const char *path, *write_path; /* NULL: not asked for */
    struct arena arena;
    struct cli_expect_value *value; /* what the file says */
    uint32_t values, room;
};

/* Reads the file; false after a message. */
bool cli_expect_begin(struct cli_expect *expect);
/* Does the file say how the run is to end, or a program of it?  Then nobody else judges that. */
bool cli_expect_says_state(const struct cli_expect *expect);
bool cli_expect_says_exit(const struct cli_expect *expect, const struct sim_report *report, uint32_t program);
/* Compares and writes: `status`, or CLI_PROBLEMS after a table of what differs, or CLI_WRONG after a message. */
int cli_expect_end(struct cli_expect *expect, const struct sim_report *report, bool quiet, int status);
void cli_expect_release(struct cli_expect *expect);

#endif
