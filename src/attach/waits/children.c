/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of the program and other processes: waiting for them, signals to them, their pids and groups.
 *
 * A child that ends does so in its turn and the fabric waits for its death, so a parent that looks finds it or does
 * not find it whatever the machine does.  Nobody waits in the kernel.
 *
 * Pids that programs see are the fabric's.  Those of children are known here, the fabric is asked for others; a pid
 * of neither kind is the kernel's (a process that is not attached).
 */
#include "attach/waits/children.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "attach/waits/waits.h"

struct child {
    pid_t kernel, seen;
    struct child *next;
};
static struct child *children;

void children_add(pid_t kernel, pid_t seen)
{
    struct child *child = calloc(1, sizeof *child);

    if (child == NULL) return;
    *child = (struct child){kernel, seen, children};
    children = child;
}

void children_forget_all(void)
{
    children = NULL;
}

static void forget(pid_t kernel)
{
    for (struct child **at = &children; *at != NULL; at = &(*at)->next) {
        struct child *child = *at;

        if (child->kernel != kernel) continue;
        *at = child->next;
        free(child);
        return;
    }
}

static pid_t kernel_self(void)
{
    return (pid_t)RAW(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

pid_t children_seen(pid_t kernel)
{
    if (!attached.is_virtual || kernel <= 0) return kernel;
    if (kernel == kernel_self()) return identity_pid();
    for (struct child *child = children; child != NULL; child = child->next)
        if (child->kernel == kernel) return child->seen;
    return kernel;
}

static pid_t ask_kernel_pid(uint32_t number)
{
    struct attach_request request = {.op = ATTACH_OP_PID, .object = number};
    int before = errno, result = turn_enter();

    if (result < 0) return -1;
    result = session_request(&request, NULL, 0);
    turn_leave();
    errno = before;
    return result;
}

pid_t children_kernel(pid_t seen)
{
    pid_t asked;

    if (!attached.is_virtual || seen <= 0) return seen;
    if (seen == identity_pid()) return kernel_self();
    for (struct child *child = children; child != NULL; child = child->next)
        if (child->seen == seen) return child->kernel;
    if (seen < CHILDREN_PID(0)) return seen;
    asked = ask_kernel_pid((uint32_t)(seen - CHILDREN_PID(0)));
    return asked > 0 ? asked : seen;
}

/* A group has the pid of who made it. */
static pid_t kernel_target(pid_t seen)
{
    return seen < -1 ? -children_kernel(-seen) : children_kernel(seen);
}

/* --- waiting --- */

/* What a look at the children found: a result or -errno; 0: nothing yet. */
typedef long (*child_look)(void *wanted);

static long wait_children(child_look look, void *wanted, bool waits)
{
    enum wait_end end = WAIT_AGAIN;
    long found;

    wait_sync(); /* who ends before our time has ended */
    while ((found = look(wanted)) == 0 && waits && end != WAIT_GONE) {
        if (threads_cancelled()) pthread_testcancel();
        if (end == WAIT_INTERRUPTED && !turn_restarts()) return -EINTR;
        end = wait_turn(UINT64_MAX, "the end of a child");
    }
    if (found == 0) turn_charge(attached.head->cost.yield);
    return found;
}

struct wanted_pid {
    pid_t pid;
    int *status;
    int options;
    struct rusage *usage;
};

static long look_pid(void *argument)
{
    struct wanted_pid *wanted = argument;

    return RAW(SYS_wait4, wanted->pid, wanted->status, wanted->options | WNOHANG, wanted->usage, 0, 0);
}

EXPORT pid_t wait4(pid_t pid, int *ret, int options, struct rusage *usage)
{
    int status = 0;
    struct wanted_pid wanted = {pid, &status, options, usage};
    pid_t kernel, seen;

    if (!managed()) return REAL(wait4)(pid, ret, options, usage);
    wanted.pid = kernel_target(pid);
    kernel = (pid_t)as_libc(wait_children(look_pid, &wanted, !(options & WNOHANG)));
    if (kernel <= 0) return kernel;
    seen = children_seen(kernel);
    if (WIFEXITED(status) || WIFSIGNALED(status)) forget(kernel);
    if (ret != NULL) *ret = status;
    return seen;
}

EXPORT pid_t waitpid(pid_t pid, int *ret, int options)
{
    return managed() ? wait4(pid, ret, options, NULL) : REAL(waitpid)(pid, ret, options);
}

EXPORT pid_t wait(int *ret)
{
    return managed() ? wait4(-1, ret, 0, NULL) : REAL(wait)(ret);
}

EXPORT pid_t wait3(int *ret, int options, struct rusage *usage)
{
    return managed() ? wait4(-1, ret, options, usage) : REAL(wait3)(ret, options, usage);
}

struct wanted_id {
    idtype_t type;
    id_t id;
    siginfo_t *info;
    int options;
};

static long look_id(void *argument)
{
    struct wanted_id *wanted = argument;
    long error;

    wanted->info->si_pid = 0;
    error = RAW(SYS_waitid, wanted->type, wanted->id, wanted->info, wanted->options | WNOHANG, NULL, 0);
    return error < 0 ? error : wanted->info->si_pid != 0;
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    siginfo_t own;
    struct wanted_id wanted = {type, id, info != NULL ? info : &own, options};
    long found;

    if (!managed()) return REAL(waitid)(type, id, info, options);
    if (type == P_PID || type == P_PGID) wanted.id = (id_t)children_kernel((pid_t)id);
    found = as_libc(wait_children(look_id, &wanted, !(options & WNOHANG)));
    if (found > 0) {
        pid_t kernel = wanted.info->si_pid;

        wanted.info->si_pid = children_seen(kernel);
        if (options & WEXITED && !(options & WNOWAIT) && wanted.info->si_code != CLD_STOPPED &&
            wanted.info->si_code != CLD_CONTINUED)
            forget(kernel);
    }
    return found < 0 ? -1 : 0;
}

/* --- signals, groups, and calls that name a process --- */

EXPORT int kill(pid_t pid, int number)
{
    int result;

    if (!managed()) return REAL(kill)(pid, number);
    result = REAL(kill)(kernel_target(pid), number);
    if (result == 0 && number != 0) turn_touched(ATTACH_TOUCHED_PROCESS | ATTACH_TOUCHED_HOST);
    return result;
}

EXPORT int killpg(pid_t group, int number)
{
    return managed() ? kill(group == 0 ? 0 : -group, number) : REAL(killpg)(group, number);
}

EXPORT int sigqueue(pid_t pid, int number, const union sigval value)
{
    int result;

    if (!managed()) return REAL(sigqueue)(pid, number, value);
    result = REAL(sigqueue)(children_kernel(pid), number, value);
    if (result == 0 && number != 0) turn_touched(ATTACH_TOUCHED_PROCESS | ATTACH_TOUCHED_HOST);
    return result;
}

EXPORT int setpgid(pid_t pid, pid_t group)
{
    return managed() ? REAL(setpgid)(children_kernel(pid), children_kernel(group)) : REAL(setpgid)(pid, group);
}

EXPORT pid_t getpgid(pid_t pid)
{
    return managed() ? children_seen(REAL(getpgid)(children_kernel(pid))) : REAL(getpgid)(pid);
}

EXPORT pid_t getpgrp(void)
{
    return managed() ? children_seen(REAL(getpgrp)()) : REAL(getpgrp)();
}

EXPORT pid_t getsid(pid_t pid)
{
    return managed() ? children_seen(REAL(getsid)(children_kernel(pid))) : REAL(getsid)(pid);
}

EXPORT pid_t setsid(void)
{
    return managed() ? children_seen(REAL(setsid)()) : REAL(setsid)();
}

EXPORT int pidfd_open(pid_t pid, unsigned flags)
{
    return managed() ? REAL(pidfd_open)(children_kernel(pid), flags) : REAL(pidfd_open)(pid, flags);
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long parts, const struct iovec *from,
                                unsigned long from_parts, unsigned long flags)
{
    return REAL(process_vm_readv)(managed() ? children_kernel(pid) : pid, to, parts, from, from_parts, flags);
}

EXPORT ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long parts, const struct iovec *to,
                                 unsigned long to_parts, unsigned long flags)
{
    ssize_t result;

    result = REAL(process_vm_writev)(managed() ? children_kernel(pid) : pid, from, parts, to, to_parts, flags);
    if (result > 0 && managed()) turn_touched(ATTACH_TOUCHED_HOST);
    return result;
}
