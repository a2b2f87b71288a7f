/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a fabric that is up, and asking it; see up_ask.h.
 */
#include "cli/programs/up_ask.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "up/control.h"

int up_ask(const char *verb, const char *name, const char *words, char ret_path[UP_PATH], FILE *out)
{
    char why[CONTROL_TEXT];
    int error = up_find(name, ret_path);
    char found[UP_PATH];

    if (error == -ENOENT && name)
        cli_error("%s: no fabric '%s' is up; start it with 'rocelab up'", verb, name);
    else if (error == -ENOENT)
        cli_error("%s: no fabric is up; start one with 'rocelab up'", verb);
    else if (error == -EEXIST)
        cli_error("%s: several fabrics are up: name one; 'rocelab up --list' names them", verb);
    else if (error)
        cli_error("%s: %s: %s", verb, name ? name : "the fabric", strerror(-error));
    if (error) return CLI_WRONG;
    int answer = control_ask(ret_path, words, CONTROL_PATIENCE_MS, out);
    if (answer >= 0) return answer ? CLI_PROBLEMS : CLI_DONE;
    up_name(ret_path, found);
    return cli_wrong("%s: fabric '%s': %s", verb, found, control_error(ret_path, answer, why));
}
