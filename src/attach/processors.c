/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processors that a program sees: two, on every machine.
 *
 * Libraries choose algorithms, threads and sizes by how many processors there are and on which they may run (UCX does).
 * In virtual time all that takes none, so nothing is lost by it; and a run is the same on a laptop and on a server.
 * Where a program binds itself to some of them is remembered, and bound to nothing.
 */
#include "attach/attach_int.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PROCESSORS 2

static uint64_t allowed = (1u << PROCESSORS) - 1;

static int get(size_t bytes, cpu_set_t *ret)
{
    if (bytes < sizeof allowed || bytes % sizeof allowed) return EINVAL;
    memset(ret, 0, bytes);
    memcpy(ret, &allowed, sizeof allowed);
    return 0;
}

static int set(size_t bytes, const cpu_set_t *to)
{
    uint64_t wanted = 0;

    memcpy(&wanted, to, bytes < sizeof wanted ? bytes : sizeof wanted);
    wanted &= (1u << PROCESSORS) - 1;
    if (wanted == 0) return EINVAL;
    allowed = wanted;
    return 0;
}

static int as_errno(int error)
{
    if (error) errno = error;
    return error ? -1 : 0;
}

EXPORT int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *ret)
{
    if (!managed()) return REAL(sched_getaffinity)(pid, bytes, ret);
    return as_errno(get(bytes, ret));
}

EXPORT int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *to)
{
    if (!managed()) return REAL(sched_setaffinity)(pid, bytes, to);
    return as_errno(set(bytes, to));
}

EXPORT int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *ret)
{
    if (!managed()) return REAL(pthread_getaffinity_np)(thread, bytes, ret);
    return get(bytes, ret);
}

EXPORT int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *to)
{
    if (!managed()) return REAL(pthread_setaffinity_np)(thread, bytes, to);
    return set(bytes, to);
}

EXPORT long sysconf(int name)
{
    if (managed() && (name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN)) return PROCESSORS;
    return REAL(sysconf)(name);
}

EXPORT int get_nprocs(void)
{
    return managed() ? PROCESSORS : REAL(get_nprocs)();
}

EXPORT int get_nprocs_conf(void)
{
    return managed() ? PROCESSORS : REAL(get_nprocs_conf)();
}
