/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time stamp counter of the thread's clock: rdtsc and rdtscp trap (PR_SET_TSC), and are answered here.
 *
 * A trapped instruction is a SIGSEGV of the kernel's own making; no other fault is taken.  Threads inherit the setting.
 * The counter begins with the machine, as the monotonic clock does, and has the frequency that the fabric declares.
 */
#include "attach/attach_int.h"

#if defined(__x86_64__)

#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "base/wide.h"

#define UPTIME_PS (1000ULL * 1000000000000ULL)

enum instruction { OTHER, RDTSC, RDTSCP };

void tsc_start(void)
{
    if (debugger_traces()) { /* it would stop at each */
        tsc_stop();
        return;
    }
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
        session_not_virtual("the time stamp counter cannot be trapped here: rdtsc shows real time");
}

void tsc_stop(void)
{
    RAW(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0, 0);
}

/* The instruction at `at`, and how long it is.  Bytes are read only as far as those before them need them. */
static enum instruction decode(const uint8_t *at, unsigned *ret_bytes)
{
    unsigned used = 0;

    while (used < 4 && (at[used] == 0x66 || at[used] == 0xf2 || at[used] == 0xf3 || (at[used] & 0xf0) == 0x40))
        used++;
    if (at[used] != 0x0f) return OTHER;
    if (at[used + 1] == 0x31) {
        *ret_bytes = used + 2;
        return RDTSC;
    }
    *ret_bytes = used + 3;
    return at[used + 1] == 0x01 && at[used + 2] == 0xf9 ? RDTSCP : OTHER;
}

static uint64_t counter(void)
{
    bool program = self->in_library == 0;
    uint64_t now = program ? clock_read(attached.head->cost.tsc, true) : self->now;

    if (program) attached.head->counters.tscs++;
    return (uint64_t)((u128)(UPTIME_PS + now) * attached.head->tsc_khz / 1000000000u);
}

bool tsc_fault(const void *fault, void *context)
{
    const siginfo_t *info = fault;
    greg_t *at = ((ucontext_t *)context)->uc_mcontext.gregs;
    enum instruction what;
    unsigned bytes = 0;
    uint64_t value;

    if (info->si_code != SI_KERNEL) return false;
    what = decode((const uint8_t *)at[REG_RIP], &bytes);
    if (what == OTHER) return false;
    if (!attached.is_virtual || !self) { /* the instruction is done again, for real */
        if (attached.is_virtual) attached.head->counters.real_clock++;
        tsc_stop();
        return true;
    }
    value = counter();
    at[REG_RAX] = (greg_t)(uint32_t)value;
    at[REG_RDX] = (greg_t)(value >> 32);
    if (what == RDTSCP) at[REG_RCX] = 0;
    at[REG_RIP] += (greg_t)bytes;
    return true;
}

#else

void tsc_start(void)
{
}

void tsc_stop(void)
{
}

bool tsc_fault(const void *fault, void *context)
{
    (void)fault, (void)context;
    return false;
}

#endif
