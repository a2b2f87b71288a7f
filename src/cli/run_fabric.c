/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab run --fabric NAME --host HOST: the environment of a program that attaches to a fabric.
 *
 * The library that is preloaded before all others connects to the socket that is named here.  Addresses of memory are
 * the same in each run: what a program does may depend on them.
 */
#include "cli/run_fabric.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "attach/protocol.h"
#include "cli/cli.h"
#include "up/up.h"

static bool find_socket(const char *name, char path[UP_PATH])
{
    int error = up_find(name, path);

    if (error == 0) return true;
    if (error == -EEXIST)
        cli_error("run: several fabrics are up; say which, as in --fabric rail");
    else if (error == -ENOENT && name == NULL)
        cli_error("run: no fabric is up; start one with 'rocelab up FABRIC'");
    else if (error == -ENOENT)
        cli_error("run: no fabric named '%s' is up; start it with 'rocelab up FABRIC --name %s'", name, name);
    else
        cli_error("run: --fabric '%s': %s", name ? name : "", strerror(-error));
    return false;
}

bool run_fabric_prepare(const struct run_fabric *fabric, const char *folder)
{
    char path[UP_PATH], library[PATH_MAX + 32], *list;
    const char *others = getenv("LD_PRELOAD");

    if (fabric->host == NULL) {
        cli_error("run: --fabric needs the host that the program runs on, as in --host h0");
        return false;
    }
    snprintf(library, sizeof library, "%s/librocelab-fabric.so", folder);
    if (access(library, R_OK) != 0) {
        cli_error("run: %s: %s", library, strerror(errno));
        return false;
    }
    if (!find_socket(fabric->fabric, path)) return false;
    if (asprintf(&list, "%s%s%s", library, others && others[0] ? ":" : "", others ? others : "") < 0) return false;
    bool set = setenv("LD_PRELOAD", list, 1) == 0 && setenv(ATTACH_ENV_SOCKET, path, 1) == 0 &&
               setenv(ATTACH_ENV_HOST, fabric->host, 1) == 0;
    free(list);
    if (!set) {
        cli_error("run: not enough memory");
        return false;
    }
    int now = personality(0xffffffff);
    if (now >= 0)
        personality((unsigned long)now | ADDR_NO_RANDOMIZE); /* a container may forbid it: then it is random */
    return true;
}
