/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of real programs: read, held to the fabric, and what is wrong told.
 */
#include "cli/programs/up_script.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/source.h"

#define SCRIPT_BYTES ((size_t)1 << 20)

bool cli_script_read(const char *path, struct fabric *fabric, struct up_script *ret)
{
    struct fabric_errors errors = {0};
    char *text = NULL;

    if (!cli_read_text(path, SCRIPT_BYTES, &text)) return false;
    int error = up_script_parse(path, text, ret, &errors);
    free(text);
    if (error != -ENOMEM && fabric) error = up_script_fit(ret, fabric, &errors);
    if (errors.count) fabric_errors_print(&errors, stderr);
    if (error == -ENOMEM) cli_error("not enough memory");
    return error == 0;
}
