/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab suggest TOPIC FABRIC: the values that the rules ask for, by formula, and the lines for the fabric file.
 *
 * The lines are put over the file, and the rules run over the result: what is suggested and what `check` says cannot
 * disagree unseen.  With `all`, marking is computed for the buffers as they are suggested.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/cli.h"
#include "cli/source.h"
#include "cli/suggest.h"

bool cli_suggest_counts(const struct check_finding *finding)
{
    static const char *const rules[] = {"ECN", "PFC", "HR", "WD", "BUF"};

    if (finding->ignored) return false;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strncmp(check_rules[finding->rule].id, rules[i], strlen(rules[i])) == 0) return true;
    return false;
}
