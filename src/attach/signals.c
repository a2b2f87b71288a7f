/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals: handlers of the program run with the turn, and ours stand in front of them.
 *
 * The kernel calls one function of ours for every signal that the program handles.  It makes the program's handler run
 * as if none of our own code were below it, so that the clocks it reads are virtual, and counts it, so that a wait
 * that it interrupted can say so.  Signals come only while the thread has the turn: turn.c holds them otherwise.
 *
 * SIGSEGV (a trapped time stamp counter), SIGTRAP and ATTACH_SPIN_SIGNAL (spin.c) are ours first.  What is not meant
 * for us goes on to the program's handler, or does what the kernel would have done.  They are never blocked: a blocked
 * fault ends the program.  The program sees its own settings throughout.
 */
#include "attach/attach_int.h"

#include <signal.h>
#include <string.h>

#define SIGNALS 65

static struct sigaction program[SIGNALS]; /* as the program set them; of signals in front of which we stand */
static PER_THREAD uint32_t handled, not_restarting;
static PER_THREAD bool handling; /* a fault or a step of ours: our own code runs, and no loop of the program */

static bool is_ours(int number)
{
    return number == SIGSEGV || number == SIGTRAP || number == ATTACH_SPIN_SIGNAL;
}

static bool has_function(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

bool signals_has_handler(int number)
{
    return number > 0 && number < SIGNALS && (is_ours(number) || has_function(&program[number]));
}

bool signals_program_handles(int number)
{
    return has_function(&program[number]);
}

uint32_t signals_handled(void)
{
    return handled;
}

uint32_t signals_not_restarting(void)
{
    return not_restarting;
}

static void block(int how, const sigset_t *set, sigset_t *before)
{
    RAW(SYS_rt_sigprocmask, how, set, before, 8, 0, 0);
}

bool signals_handling(void)
{
    return handling;
}

static void run_program(int number, siginfo_t *info, void *context)
{
    struct sigaction action = program[number];
    struct attach_thread *me = self;
    uint32_t depth = me ? me->in_library : 0;
    bool was_handling = handling;

    handled++;
    if (!(action.sa_flags & SA_RESTART)) not_restarting++;
    if (action.sa_flags & (int)SA_RESETHAND) program[number] = (struct sigaction){.sa_handler = SIG_DFL};
    if (me) me->in_library = 0;
    handling = false;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
    if (me && self == me) me->in_library = depth;
    handling = was_handling;
}

static void without_ours(sigset_t *set)
{
    sigdelset(set, SIGSEGV);
    sigdelset(set, SIGTRAP);
    sigdelset(set, ATTACH_SPIN_SIGNAL);
}

/* One of ours that was not meant for us. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *action = &program[number];
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    bool sent = info->si_code <= 0; /* by kill() and its like, not by an instruction */

    if (has_function(action)) {
        sigset_t mask = action->sa_mask, before;

        without_ours(&mask); /* the handler may read the counter, too */
        block(SIG_BLOCK, &mask, &before);
        run_program(number, info, context);
        block(SIG_SETMASK, &before, NULL);
    } else if (!(sent && action->sa_handler == SIG_IGN)) {
        REAL(sigaction)(number, &by_default, NULL);
        /* an instruction faults again and ends the program as it would have */
        if (sent)
            RAW(SYS_tgkill, RAW(SYS_getpid, 0, 0, 0, 0, 0, 0), RAW(SYS_gettid, 0, 0, 0, 0, 0, 0), number, 0, 0, 0);
    }
}

/* Whether it was meant for us. */
static bool is_for_us(int number, siginfo_t *info, void *context)
{
    bool was_handling = handling, taken;

    if (number == ATTACH_SPIN_SIGNAL) return spin_signal(info, context);
    if (number == SIGSEGV && spin_fault()) return true;
    if (number != SIGSEGV && number != SIGTRAP) return false;
    handling = true;
    taken = number == SIGSEGV ? tsc_fault(info, context) : spin_trap(info, context);
    handling = was_handling;
    return taken;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int before = errno;

    if (!is_for_us(number, info, context)) {
        if (is_ours(number))
            pass_on(number, info, context);
        else if (has_function(&program[number]))
            run_program(number, info, context);
    }
    errno = before;
}

/* A fault may come in a handler for a fault.  The spin signal may come again and again: each would be a frame on the
 * stack of the one before, so it is held while it is handled. */
static int install_ours(int number)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

    sigemptyset(&action.sa_mask);
    if (number != ATTACH_SPIN_SIGNAL) action.sa_flags |= SA_NODEFER;
    return REAL(sigaction)(number, &action, NULL);
}

static void unblock_ours(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, ATTACH_SPIN_SIGNAL);
    block(SIG_UNBLOCK, &set, NULL);
}

void signals_hold_spin(bool hold)
{
    const uint64_t set = 1ULL << (ATTACH_SPIN_SIGNAL - 1);

    RAW(SYS_rt_sigprocmask, hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL, sizeof set, 0, 0);
}

void signals_start(void)
{
    for (int number = 1; number < SIGNALS; number++)
        REAL(sigaction)(number, NULL, &program[number]);
    install_ours(SIGSEGV);
    install_ours(SIGTRAP);
    install_ours(ATTACH_SPIN_SIGNAL);
    unblock_ours();
}

/* --- before libc --- */

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *ret_before)
{
    struct sigaction before, changed;

    if (!attached.is_virtual || number <= 0 || number >= SIGNALS) return REAL(sigaction)(number, action, ret_before);
    before = program[number];
    if (action) {
        int error = 0;

        changed = *action;
        without_ours(&changed.sa_mask);
        program[number] = *action;
        if (has_function(action)) {
            changed.sa_sigaction = on_signal;
            changed.sa_flags |= SA_SIGINFO;
        }
        if (!is_ours(number)) error = REAL(sigaction)(number, &changed, NULL);
        if (error < 0) {
            program[number] = before;
            return error;
        }
    }
    if (ret_before) *ret_before = before;
    return 0;
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;

    sigemptyset(&action.sa_mask);
    if (!(flags & SA_NODEFER)) sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &before) < 0 ? SIG_ERR : before.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, SA_RESTART);
}

extern EXPORT sighandler_t bsd_signal(int number, sighandler_t handler);
EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, SA_RESTART);
}

EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return set_handler(number, handler, SA_RESTART);
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

extern EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler);
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

EXPORT int siginterrupt(int number, int interrupts)
{
    struct sigaction action;

    if (sigaction(number, NULL, &action) < 0) return -1;
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(number, &action, NULL);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
    sigset_t changed;

    if (attached.is_virtual && set && how != SIG_UNBLOCK) {
        changed = *set;
        without_ours(&changed);
        set = &changed;
    }
    return REAL(pthread_sigmask)(how, set, ret_before);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *ret_before)
{
    int error = pthread_sigmask(how, set, ret_before);

    if (error == 0) return 0;
    errno = error;
    return -1;
}
