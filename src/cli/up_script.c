/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of real programs: read, and their faults given to the fabric, which knows the words.
 */
#include "cli/up_script.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/source.h"

#define SCRIPT_BYTES ((size_t)1 << 20)

bool cli_script_read(const char *path, struct up_script *ret)
{
    struct fabric_errors errors = {0};
    char *text = NULL;
    size_t length;

    if (!cli_read_file(path, SCRIPT_BYTES, &text, &length)) return false;
    int error = up_script_parse(path, text, ret, &errors);
    free(text);
    if (error) {
        fabric_errors_print(&errors, stderr);
        up_script_free(ret);
    }
    if (error == -ENOMEM) cli_error("not enough memory");
    return error == 0;
}

bool cli_script_faults(const char *path, const struct up_script *script, struct fabric *fabric)
{
    for (uint32_t i = 0; i < script->faults; i++) {
        const struct up_fault *fault = &script->fault[i];
        struct fabric_errors errors = {.path = path};
        int error = fabric_faults_add(fabric, fault->text, fault->at, &errors);
        if (error == 0) continue;
        for (uint32_t k = 0; k < errors.count; k++)
            errors.error[k].at = (struct fabric_at){fault->line, 1};
        fabric_errors_print(&errors, stderr);
        if (errors.count == 0) cli_error("not enough memory");
        return false;
    }
    return true;
}
