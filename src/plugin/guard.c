/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plug-in does wrong is told as its doing.
 *
 * Each thread notes which call it is in.  A signal that comes meanwhile (SIGSEGV, SIGFPE, abort() ...), an exit(),
 * and a call that does not come back for half a second of the thread's processor time end the process with a sentence
 * and the status PLUGIN_EXIT: by _exit(), so that nothing of a run that cannot be believed is printed, and drafts are
 * dropped.  There is no way back into the run: memory may have been written over, and locks of the C library may be
 * held.
 *
 * Global variables would make a result depend on how nodes are spread over threads.  So the pages of the shared object
 * that can be written to are made read-only when it has been loaded, and a write is such a signal.  They are given back
 * before the C library runs its destructors.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/units.h"
#include "plugin/plugin_int.h"

#define STACK_BYTES ((size_t)1 << 16)
#define LOOK_NS 250000000 /* a call that is still the same at the third look has lasted half a second */
#define LOOKS 3
#define LOOK_SIGNAL SIGVTALRM
#define GUARDED_MAX 16

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
#define CAUGHT (sizeof caught / sizeof caught[0])

static struct sigaction before[CAUGHT];
static struct plugin *guarded[GUARDED_MAX];
static unsigned guarded_count;
static atomic_flag ending = ATOMIC_FLAG_INIT;

static _Thread_local struct {
    const struct plugin *volatile plugin; /* NULL: in none */
    const char *volatile call;
    volatile ps_t now;
    volatile uint64_t turn; /* calls so far */
    uint64_t seen;          /* the call of the last look, and how many looks it was the same at */
    int looks;
    bool ready;
} at;

static _Noreturn void end_in(const struct plugin *plugin, const char *call, ps_t now, const char *what)
{
    char text[1024], time[UNIT_TEXT];

    while (atomic_flag_test_and_set(&ending))
        pause(); /* another thread is telling */
    int length =
        snprintf(text, sizeof text, "rocelab: congestion control %s: %s at %s %s; nothing of this run is kept\n",
                 plugin->path, call, unit_format(UNIT_TIME, now, time), what);
    draft_drop_all();
    if (length > 0 && write(STDERR_FILENO, text, strnlen(text, sizeof text)) < 0) _exit(PLUGIN_EXIT);
    _exit(PLUGIN_EXIT);
}

void guard_end(const char *what)
{
    end_in(at.plugin, at.call, at.now, what);
}

static bool is_global(const struct plugin *plugin, const void *address)
{
    for (unsigned i = 0; i < plugin->parts; i++)
        if ((const char *)address >= plugin->part[i].at &&
            (const char *)address < plugin->part[i].at + plugin->part[i].bytes)
            return true;
    return false;
}

/* Not ours: as if this handler were not there.  It is taken when the handler returns. */
static void pass_on(int number)
{
    static const char text[] = "rocelab: a congestion control of yours is loaded: has it written where it must not?\n";

    for (size_t i = 0; i < CAUGHT; i++)
        if (caught[i] == number) sigaction(number, &before[i], NULL);
    if (number == SIGSEGV && write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(PLUGIN_EXIT);
    raise(number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const struct plugin *plugin = at.plugin;
    char what[256];

    (void)context;
    if (plugin == NULL) {
        pass_on(number);
        return;
    }
    if (number == SIGSEGV && is_global(plugin, info->si_addr))
        snprintf(
            what, sizeof what,
            "wrote to a global or static variable (SIGSEGV): what it keeps of a queue pair belongs into qp->state");
    else if (number == SIGABRT)
        snprintf(what, sizeof what, "called abort() (SIGABRT)");
    else
        snprintf(what, sizeof what, "ended with SIG%s (%s) at address %p", sigabbrev_np(number), sigdescr_np(number),
                 info->si_addr);
    guard_end(what);
}

static void on_look(int number)
{
    (void)number;
    if (at.plugin == NULL || at.turn != at.seen) {
        at.seen = at.turn;
        at.looks = 1;
        return;
    }
    if (++at.looks >= LOOKS) guard_end("has not come back for half a second of processor time: is it an endless loop?");
}

static void unguard(void)
{
    for (unsigned i = 0; i < guarded_count; i++)
        for (unsigned p = 0; p < guarded[i]->parts; p++)
            mprotect(guarded[i]->part[p].at, guarded[i]->part[p].bytes, PROT_READ | PROT_WRITE);
}

static void on_exit_of_process(void)
{
    if (at.plugin) guard_end("called exit()");
    unguard();
}

static void forked(void)
{
    at.ready = false; /* a timer is its process's */
}

void guard_install(void)
{
    static bool installed;
    struct sigaction handler = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction look = {.sa_handler = on_look, .sa_flags = SA_RESTART | SA_ONSTACK};

    if (installed) return;
    installed = true;
    sigemptyset(&handler.sa_mask);
    sigemptyset(&look.sa_mask);
    for (size_t i = 0; i < CAUGHT; i++)
        sigaction(caught[i], &handler, &before[i]);
    sigaction(LOOK_SIGNAL, &look, NULL);
    pthread_atfork(NULL, NULL, forked);
    atexit(on_exit_of_process);
}

/* A stack of its own for the handler, for an endless recursion is a SIGSEGV too; and the looks. */
static void guard_thread(void)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LOOK_SIGNAL};
    struct itimerspec each = {.it_interval.tv_nsec = LOOK_NS, .it_value.tv_nsec = LOOK_NS};
    sigset_t set;
    timer_t timer;

    at.ready = true;
    sigaltstack(NULL, &stack);
    if (stack.ss_flags & SS_DISABLE || stack.ss_size < STACK_BYTES / 2) {
        void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stack = (stack_t){.ss_sp = memory, .ss_size = STACK_BYTES};
        if (memory != MAP_FAILED) sigaltstack(&stack, NULL);
    }
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT; i++)
        sigaddset(&set, caught[i]);
    sigaddset(&set, LOOK_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0) timer_settime(timer, 0, &each, NULL);
}

void guard_enter(const struct plugin *plugin, const char *call, ps_t now)
{
    if (__builtin_expect(!at.ready, 0)) guard_thread();
    at.call = call;
    at.now = now;
    at.turn++;
    at.plugin = plugin;
    atomic_signal_fence(memory_order_seq_cst);
}

void guard_leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    at.plugin = NULL;
}

struct looked_for {
    struct plugin *plugin;
    uintptr_t inside;
};

/* Its parts that can be written to, as whole pages; the linker's own are read-only already (-z relro). */
static int find_parts(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct looked_for *looked = context;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    bool here = false;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        here |= part->p_type == PT_LOAD && looked->inside - (info->dlpi_addr + part->p_vaddr) < part->p_memsz;
    }
    for (int i = 0; here && i < info->dlpi_phnum && looked->plugin->parts < PLUGIN_PARTS; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t to = (info->dlpi_addr + part->p_vaddr + part->p_memsz + page - 1) & ~(page - 1);
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        looked->plugin->part[looked->plugin->parts].at = (char *)from;
        looked->plugin->part[looked->plugin->parts++].bytes = to - from;
    }
    return here;
}

void guard_globals(struct plugin *plugin, const void *inside)
{
    struct looked_for looked = {plugin, (uintptr_t)inside};

    if (guarded_count == GUARDED_MAX) return;
    dl_iterate_phdr(find_parts, &looked);
    for (unsigned i = 0; i < plugin->parts; i++)
        mprotect(plugin->part[i].at, plugin->part[i].bytes, PROT_READ);
    guarded[guarded_count++] = plugin;
}
