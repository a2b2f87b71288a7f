/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C and SIGTERM end the work, not the program: the verb looks at cli_stopped and reports what it has.  Caught
 * without SA_RESTART, so that a read that waits returns.  The one that ends the program takes its drafts along.
 */
#include "base/draft.h"
#include "cli/cli.h"

volatile sig_atomic_t cli_stopped;
static sig_atomic_t most;

static void on_stop(int number)
{
    if (++cli_stopped >= most) signal(number, draft_ended_by);
}

void cli_catch_stop(int times)
{
    struct sigaction stop = {.sa_handler = on_stop};

    most = times;
    sigemptyset(&stop.sa_mask);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
}
