/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a process with the fabric: it connects before anything else of the program runs.
 */
#include "attach/attach_int.h"

#include <dlfcn.h>

struct attached attached = {.socket = -1, .adopted_fd = -1};

any_function real_find(const char *name)
{
    return __extension__(any_function) dlsym(RTLD_NEXT, name);
}

int session_child(uint32_t number)
{
    (void)number;
    return -EIO;
}

void session_variables(struct session_variables *ret)
{
    ret->line[0] = NULL;
}

bool session_owns(int fd)
{
    (void)fd;
    return false;
}

void session_end(void)
{
}

void session_gone(void)
{
}

bool session_is_gone(void)
{
    return true;
}

int session_request(struct attach_request *request, const int *fds, unsigned count)
{
    (void)request, (void)fds, (void)count;
    return -EIO;
}

int session_take_fd(void)
{
    return -EIO;
}

void session_not_virtual(const char *what)
{
    (void)what;
}

extern EXPORT const struct attach_api rocelab_fabric_api;
const struct attach_api rocelab_fabric_api = {.version = ATTACH_API_VERSION};
