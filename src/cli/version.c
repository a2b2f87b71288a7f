/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab version: what this program is, for bug reports and scripts.
 */
#include "cli/cli.h"

#include "report/json_out.h"

static const struct cli_command command = {
    .verb = "version",
    .operands = "",
    .about = "Prints the version.",
};

int verb_version(int argc, char **argv, FILE *out)
{
    struct cli_common common;
    int first, answer = cli_options(&command, argc, argv, out, &common, NULL, &first);

    if (answer != CLI_GO) return answer;
    if (first < argc) return cli_wrong("version: takes no operands");
    if (common.json) {
        struct jout *jout = jout_begin(out, "version");

        jout_text(jout, "rocelab", ROCELAB_VERSION);
        jout_end(jout);
    } else {
        fputs(common.quiet ? ROCELAB_VERSION "\n" : "rocelab " ROCELAB_VERSION "\n", out);
    }
    return CLI_DONE;
}
