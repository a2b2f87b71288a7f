/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of this process: regions and windows (device/objects.h) under the locks of the shards, and copying that
 * survives what the application has unmapped.
 *
 * The table of keys is the first shard's; it is read with one shard locked and changed with all of them locked.
 *
 * A copy runs under a guard: a thread-local jump buffer that the SIGSEGV and SIGBUS handler returns to.  Without a
 * guard the handler hands the signal to whoever had it before us.  Programs and libraries install handlers when they
 * like, so ours is put back each time memory is registered.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/check.h"
#include "live/live_int.h"
#include "wire/draw.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEMORY_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(MEMORY_TSAN)
#define MEMORY_TSAN 1
#endif

/* initial-exec: the handler must not allocate */
static __thread sigjmp_buf *guard __attribute__((tls_model("initial-exec")));
static __thread bool passing_on __attribute__((tls_model("initial-exec")));
static struct sigaction before_segv, before_bus;

static void on_fault(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = number == SIGBUS ? &before_bus : &before_segv;

    if (guard) { /* the mask as it was: jumping out of a handler does not restore it */
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(*guard, 1);
    }
    if (passing_on ||
        (!(before->sa_flags & SA_SIGINFO) && (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN))) {
        signal(number, SIG_DFL); /* the access is tried again and ends the program as it would have */
        return;
    }
    passing_on = true; /* a handler that hands it on to whom it replaced, us, must not go in circles */
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else
        before->sa_handler(number);
    passing_on = false;
}

static void install(int number, struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    struct sigaction now;

    if (sigaction(number, NULL, &now) < 0 || (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)) return;
    *before = now;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void memory_guard_install(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    install(SIGSEGV, &before_segv);
    install(SIGBUS, &before_bus);
    pthread_mutex_unlock(&lock);
}

/* The application may write the same bytes at this moment: that is what one-sided operations are. */
static inline void copy_bytes(void *to, const void *from, size_t bytes)
{
#if defined(MEMORY_TSAN) && defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    memcpy(to, from, bytes);
#endif
}

static bool memory_copy(void *to, const void *from, size_t bytes)
{
    sigjmp_buf here;

    if (sigsetjmp(here, 0)) {
        guard = NULL;
        return false;
    }
    guard = &here;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    copy_bytes(to, from, bytes);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    guard = NULL;
    return true;
}

bool memory_atomic(struct device *live, uint64_t addr, uint8_t verb, uint64_t compare, uint64_t swap,
                   uint64_t *ret_original)
{
    uint64_t *at = (uint64_t *)(uintptr_t)addr;
    uint64_t original = compare;
    sigjmp_buf here;

    (void)live;
    if (sigsetjmp(here, 0)) {
        guard = NULL;
        return false;
    }
    guard = &here;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#if defined(MEMORY_TSAN) && defined(__x86_64__)
    /* not through the sanitizer's own functions: a fault inside them would leave them half done */
    if (verb == NIC_CAS)
        __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(original), "+m"(*at) : "r"(swap) : "memory", "cc");
    else
        __asm__ volatile("lock xaddq %0, %1" : "=r"(original), "+m"(*at) : "0"(swap) : "memory", "cc");
#else
    if (verb == NIC_CAS)
        __atomic_compare_exchange_n(at, &original, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    else
        original = __atomic_fetch_add(at, swap, __ATOMIC_SEQ_CST);
#endif
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    guard = NULL;
    *ret_original = original;
    return true;
}

bool memory_read(struct device *live, uint64_t addr, void *to, uint64_t bytes)
{
    (void)live;
    return memory_copy(to, (const void *)(uintptr_t)addr, bytes);
}

bool memory_write(struct device *live, uint64_t addr, const void *from, uint64_t bytes)
{
    (void)live;
    return memory_copy((void *)(uintptr_t)addr, from, bytes);
}

/* The table of keys; the first is drawn, and the table is none of the program's heap. */
static int table_make(struct device *live)
{
    if (live->regions.slot) return 0;
    return regions_init(&live->regions, LIVE_MRS, draw_below(LIVE_MRS - 1), (uint8_t)draw_below(256));
}

int adapter_mr_create(struct device *live, uint32_t pd, void *addr, uint64_t bytes, uint64_t iova, uint32_t access,
                      struct device_mr **ret)
{
    struct device_mr *mr = malloc(sizeof *mr);

    if (mr == NULL) return -ENOMEM;
    memory_guard_install();
    int error = shard_enter_all(live);
    if (error == 0) {
        *mr = (struct device_mr){.ops = live->ops, .device = live, .pd = pd, .access = access};
        error = table_make(live);
        if (error == 0) error = region_enter(&live->regions, mr, (uintptr_t)addr, bytes, iova);
        shard_leave_all(live);
    }
    if (error < 0)
        free(mr);
    else
        *ret = mr;
    return error;
}

int adapter_mr_change(struct device_mr *mr, const uint32_t *pd, void *const *addr, uint64_t bytes,
                      const uint32_t *access)
{
    int error = shard_enter_all(mr->device);

    if (error < 0) return error;
    error = region_change(&mr->device->regions, mr, pd, addr, bytes, access);
    shard_leave_all(mr->device);
    return error;
}

int adapter_mr_destroy(struct device_mr *mr)
{
    int error = 0;

    if (shard_enter_all(mr->device) == 0) {
        error = region_remove(&mr->device->regions, mr);
        shard_leave_all(mr->device);
    }
    if (error == 0) free(mr);
    return error;
}

uint32_t adapter_mr_key(const struct device_mr *mr)
{
    return mr->key;
}

int adapter_mw_create(struct device *live, uint32_t pd, int type, struct device_mw **ret)
{
    struct device_mw *mw = malloc(sizeof *mw);

    if (mw == NULL) return -ENOMEM;
    int error = shard_enter_all(live);
    if (error == 0) {
        *mw = (struct device_mw){.ops = live->ops, .device = live, .home = live->nic, .pd = pd, .type = type};
        error = table_make(live);
        if (error == 0) error = window_enter(&live->regions, mw);
        shard_leave_all(live);
    }
    if (error < 0)
        free(mw);
    else
        *ret = mw;
    return error;
}

int adapter_mw_destroy(struct device_mw *mw)
{
    if (shard_enter_all(mw->device) == 0) {
        window_remove(&mw->device->regions, mw);
        shard_leave_all(mw->device);
    }
    free(mw);
    return 0;
}

uint32_t adapter_mw_key(const struct device_mw *mw)
{
    return mw->key;
}

int memory_bring_home(struct device_mw *mw, struct device *shard)
{
    int error = mw->type == 1 ? 0 : shard_enter_all(mw->device);

    if (mw->type == 1 || error < 0) return error;
    error = window_bring(mw, shard->nic);
    shard_leave_all(mw->device);
    return error;
}

void memory_bind_tell(struct device_qp *qp, const struct device_send *send)
{
    if (shard_enter_all(send->mw->device) < 0) return;
    window_tell(&send->mw->device->regions, send, qp->pd, qp->device->nic);
    shard_leave_all(send->mw->device);
}
