/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab run --fabric NAME --host HOST: the environment of a program that attaches to a fabric.
 *
 * The library that is preloaded before all others connects to the socket that is named here.  Addresses of memory are
 * the same in each run: what a program does may depend on them.
 *
 * Called by a program of a fabric it is what a remote shell is elsewhere: the fabric starts the command on the other
 * host, and we end when that does, with its exit status.
 */
#include "cli/programs/run_fabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "attach/session.h"
#include "cli/cli.h"
#include "up/up.h"

/* --- from a program of a fabric: on another host --- */

/* The words in a file without a name; -1. */
static int words_file(char **argv)
{
    int file = memfd_create("rocelab-command", MFD_CLOEXEC);

    for (; file >= 0 && *argv; argv++) {
        size_t bytes = strlen(*argv) + 1;
        if (write(file, *argv, bytes) == (ssize_t)bytes) continue;
        close(file);
        return -1;
    }
    return file;
}

static int start_there(const struct attach_api *api, const char *host, char **argv)
{
    struct attach_request request = {.op = ATTACH_OP_START};
    struct attach_host *where = (struct attach_host *)(void *)request.data;
    int file = words_file(argv), answer = -1, error = -EIO;
    int32_t status;

    if (file < 0) return cli_wrong("run: %s", strerror(errno));
    snprintf(where->name, sizeof where->name, "%s", host);
    if (api->enter() == 0) {
        error = api->request(&request, &file, 1);
        if (error == 0) answer = api->take_fd();
        api->leave();
    }
    close(file);
    if (error || answer < 0)
        return cli_wrong("run: --host %s: %s", host,
                         error == -ENOENT ? "the fabric has no such host" : strerror(-error));
    ssize_t got = read(answer, &status, sizeof status);
    close(answer);
    if (got == sizeof status) return status;
    return cli_wrong("run: the fabric ended before the program on %s", host);
}

bool run_fabric_elsewhere(const struct run_fabric *fabric, char **argv, int *ret)
{
    const struct attach_api *api = dlsym(RTLD_DEFAULT, ATTACH_API_SYMBOL);

    if (!fabric->on || fabric->host == NULL || api == NULL || api->head == NULL) return false;
    if (strcmp(fabric->host, api->head->host_name) == 0) return false;
    *ret = start_there(api, fabric->host, argv);
    return true;
}

/* --- the environment --- */

static bool find_socket(const char *name, char path[UP_PATH])
{
    const char *ours = getenv(ATTACH_ENV_SOCKET);
    int error = up_find(name == NULL ? ours : name, path); /* a program of a fabric stays in it */

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

/* Launchers of MPI start their daemons on other hosts through us.  What the user has set stays. */
static bool set_remote_shell(const char *folder)
{
    char shell[PATH_MAX + 16], program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length < 0) return true;
    program[length] = 0;
    snprintf(shell, sizeof shell, "%s/rocelab-rsh", folder);
    if (access(shell, X_OK) != 0) return true;
    return setenv("ROCELAB_PROGRAM", program, 1) == 0 && setenv("OMPI_MCA_plm_rsh_agent", shell, 0) == 0 &&
           setenv("PRTE_MCA_plm_ssh_agent", shell, 0) == 0 && setenv("HYDRA_LAUNCHER", "ssh", 0) == 0 &&
           setenv("HYDRA_LAUNCHER_EXEC", shell, 0) == 0;
}

bool run_fabric_prepare(const struct run_fabric *fabric, const char *folder)
{
    char path[UP_PATH], library[PATH_MAX + 32], *list;
    const char *others = getenv("LD_PRELOAD");

    if (fabric->host == NULL) return cli_fail("run: --fabric needs the host that the program runs on, as in --host h0");
    snprintf(library, sizeof library, "%s/librocelab-fabric.so", folder);
    if (access(library, R_OK) != 0) return cli_fail("run: %s: %s", library, strerror(errno));
    if (!find_socket(fabric->fabric, path)) return false;
    if (asprintf(&list, "%s%s%s", library, others && others[0] ? ":" : "", others ? others : "") < 0) return false;
    bool set = setenv("LD_PRELOAD", list, 1) == 0 && setenv(ATTACH_ENV_SOCKET, path, 1) == 0 &&
               setenv(ATTACH_ENV_HOST, fabric->host, 1) == 0 && set_remote_shell(folder);
    free(list);
    if (!set) return cli_fail("run: not enough memory");
    int now = personality(0xffffffff);
    if (now >= 0)
        personality((unsigned long)now | ADDR_NO_RANDOMIZE); /* a container may forbid it: then it is random */
    return true;
}
