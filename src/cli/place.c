/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the program's own files are.  All are found from where the program itself is: nothing that was installed or
 * unpacked holds the path it was built at, and all of it may be moved.
 */
#include "cli/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

bool cli_place_program(char ret[PATH_MAX])
{
    const char *name = (const char *)getauxval(AT_EXECFN); /* the kernel's word: needs no /proc, as in a bare chroot */

    if (name == NULL || realpath(name, ret) == NULL) return false;
    *strrchr(ret, '/') = 0;
    return true;
}

bool cli_share(const char *name, char ret[PATH_MAX])
{
    static const char *const beside[] = {"../share/rocelab", ".."}; /* installed; a build folder of the tree */
    char self[PATH_MAX], path[2 * PATH_MAX];

    if (!cli_place_program(self)) self[0] = 0;
    for (unsigned i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", self, beside[i], name);
        if (realpath(path, ret) != NULL) return true;
    }
    snprintf(ret, PATH_MAX, "%s/%s/%s", self, beside[0], name);
    return false;
}
