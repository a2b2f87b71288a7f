/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric loader: any text is loaded, or refused with errors that each have a sentence and a line of the text.
 *
 * What is loaded keeps the invariants of every fabric (tests/fabric/invariants.c), and its routes are right where it is
 * small.  The build's limit of memory is small (fuzz/run), so that no text asks for seconds of work.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "fabric/support.h"

#define ROUTES_NODES 40u /* above, routes are not walked */
#define TEXT_MAX 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 forgets some memory when a text breaks off in a certain way. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml";
}

static void check_errors(const struct fabric_errors *errors, int result)
{
    bool of_all = errors->count == 1 && errors->error[0].at.line == 0; /* another kind of file, too much memory */

    CHECK(errors->count > 0 && errors->count <= FABRIC_ERRORS_MAX);
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct fabric_error *error = &errors->error[i];
        CHECK(error->text[0] && memchr(error->text, 0, sizeof(error->text)));
        if (result == -EINVAL && !of_all) CHECK(error->at.line > 0 && error->at.column > 0);
        if (i > 0) CHECK(errors->error[i - 1].at.line <= error->at.line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    if (size > TEXT_MAX) return 0;
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    int result = fabric_load("fuzz.yaml", text, &fabric, &errors);
    if (result == 0) {
        CHECK(errors.count == 0);
        check_arrays(fabric, 0);
        if (fabric->nodes <= ROUTES_NODES && fabric->ports <= 4 * ROUTES_NODES) check_routes(fabric, 0);
    } else {
        CHECK(fabric == NULL);
        check_errors(&errors, result);
    }
    fabric_free(fabric);
    free(text);
    return 0;
}
