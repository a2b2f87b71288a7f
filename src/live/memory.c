/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: keys, regions, windows, and copying that survives what the application has unmapped.
 *
 * Keys are numbered in records.h; L_Key and R_Key are the same (volume 1, 10.6.3).  Remote requests are judged by
 * src/nic, which holds the same keys; here they are looked at once more when bytes move, since a region may go away
 * between the first packet of a message and its last.  The table is the first shard's; it is read with one shard
 * locked and changed with all of them locked.
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

bool memory_copy(void *to, const void *from, size_t bytes)
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

bool memory_atomic(uint64_t *at, uint8_t verb, uint64_t compare, uint64_t swap, uint64_t *ret_original)
{
    sigjmp_buf here;
    uint64_t original = compare;

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

static struct key_slot *slot_of(const struct device *live, uint32_t key)
{
    const struct device *first = live->first;
    return key >> 8 < first->keys.slots ? &first->key[key >> 8] : NULL;
}

static struct device_mr *region_of(const struct device *live, uint32_t key)
{
    const struct key_slot *slot = slot_of(live, key);
    return slot && slot->mr && slot->mr->key == key ? slot->mr : NULL;
}

static void *local_address(const struct device *live, const struct device_sge *sge, uint32_t pd, uint32_t right)
{
    const struct device_mr *mr = region_of(live, sge->key);

    if (mr == NULL || mr->pd != pd || (mr->access & right) != right) return NULL;
    if (!range_within(sge->addr, sge->length, mr->iova, mr->bytes)) return NULL;
    return (void *)(uintptr_t)(sge->addr + mr->delta);
}

static bool move(struct device *live, const struct work *work, uint64_t offset, uint32_t bytes, uint8_t *own, bool out)
{
    struct work_walk walk = {.work = work, .offset = offset, .bytes = bytes};
    struct work_part part;
    bool moved = true;

    while (moved && work_next(&walk, &part)) {
        uint8_t *base = work->copied ? (uint8_t *)(uintptr_t)part.sge->addr
                                     : local_address(live, part.sge, work->pd, out ? 0 : DEVICE_LOCAL_WRITE);
        moved = base != NULL && (out ? memory_copy(own, base + part.offset, part.bytes)
                                     : memory_copy(base + part.offset, own, part.bytes));
        own += part.bytes;
    }
    moved &= walk.bytes == 0;
    live->own.faults_local += !moved;
    return moved;
}

bool memory_gather(struct device *live, const struct work *work, uint64_t offset, uint32_t bytes, uint8_t *to)
{
    return move(live, work, offset, bytes, to, true);
}

bool memory_scatter(struct device *live, const struct work *work, uint64_t offset, uint32_t bytes, const uint8_t *from)
{
    return move(live, work, offset, bytes, (uint8_t *)(uintptr_t)from, false);
}

void *memory_remote(struct device *live, uint32_t key, uint64_t va, uint64_t bytes)
{
    const struct nic_mr *known = nic_mr_find(live->nic, key);

    if (known == NULL || !range_within(va, bytes, known->va, known->bytes)) return NULL;
    const struct device_mr *mr = region_of(live, known->window ? known->parent : key);
    if (mr == NULL || !range_within(va, bytes, mr->iova, mr->bytes)) return NULL;
    return (void *)(uintptr_t)(va + mr->delta);
}

/* The first slot is drawn.  The table is there in whole, with the states of keys behind it: memory that is not used
 * costs nothing, and one large block is none of the program's heap. */
static int key_take(struct device *live, uint32_t *ret_key)
{
    if (live->key == NULL) {
        live->key = calloc(LIVE_MRS, sizeof *live->key + sizeof(struct key_state));
        if (live->key == NULL) return -ENOMEM;
        keys_init(&live->keys, (struct key_state *)(live->key + LIVE_MRS), LIVE_MRS, draw_below(LIVE_MRS - 1),
                  (uint8_t)draw_below(256));
    }
    return keys_take(&live->keys, ret_key);
}

static int region_tell_one(const struct device_mr *mr, struct device *shard, bool alive)
{
    struct nic_mr told = {.va = mr->iova,
                          .bytes = mr->bytes,
                          .key = mr->key,
                          .pd = mr->pd,
                          .rights = (uint8_t)mr->access,
                          .fixed = true,
                          .live = alive};
    return mr->bytes ? nic_mr_set(shard->nic, &told) : 0;
}

/* All shards, or none. */
static int region_tell(const struct device_mr *mr, bool alive)
{
    int error = 0;

    for (unsigned i = 0; i < mr->live->shards && error == 0; i++)
        if (mr->live->shard[i]) error = region_tell_one(mr, mr->live->shard[i], alive);
    for (unsigned i = 0; i < mr->live->shards && error < 0 && alive; i++)
        if (mr->live->shard[i]) (void)region_tell_one(mr, mr->live->shard[i], false);
    return error;
}

int memory_tell(struct device *shard)
{
    const struct device *first = shard->first;
    int error = 0;

    for (uint32_t i = 0; i < first->keys.slots && error == 0; i++) {
        const struct key_slot *slot = &first->key[i];
        if (slot->mr) error = region_tell_one(slot->mr, shard, true);
        if (slot->mw && slot->mw->type == 1) error = nic_mr_set(shard->nic, &slot->mw->told);
    }
    return error;
}

static bool window_on(const struct device_mw *mw, const struct device_mr *mr)
{
    for (unsigned i = 0; i < mw->live->shards; i++) {
        const struct device *shard = mw->live->shard[i];
        const struct nic_mr *known = shard ? nic_mr_find(shard->nic, mw->key) : NULL;
        if (known && known->bytes && known->parent == mr->key) return true;
    }
    return false;
}

static bool region_has_window(const struct device_mr *mr)
{
    const struct device *first = mr->live;

    for (uint32_t i = 0; i < first->keys.slots && first->windows; i++)
        if (first->key[i].mw && window_on(first->key[i].mw, mr)) return true;
    return false;
}

int adapter_mr_create(struct device *live, uint32_t pd, void *addr, uint64_t bytes, uint64_t iova, uint32_t access,
                      struct device_mr **ret)
{
    uint64_t base = access & DEVICE_ZERO_BASED ? 0 : iova;
    struct device_mr *mr = malloc(sizeof *mr);

    if (mr == NULL) return -ENOMEM;
    memory_guard_install();
    int error = shard_enter_all(live);
    if (error < 0) {
        free(mr);
        return error;
    }
    *mr = (struct device_mr){.ops = live->ops,
                             .live = live,
                             .iova = base,
                             .bytes = bytes,
                             .delta = (uintptr_t)addr - base,
                             .pd = pd,
                             .access = access};
    error = key_take(live, &mr->key);
    if (error == 0) {
        error = region_tell(mr, true);
        if (error < 0) keys_give(&live->keys, mr->key);
    }
    if (error == 0) live->key[mr->key >> 8].mr = mr;
    shard_leave_all(live);
    if (error < 0)
        free(mr);
    else
        *ret = mr;
    return error;
}

int adapter_mr_change(struct device_mr *mr, const uint32_t *pd, void *const *addr, uint64_t bytes,
                      const uint32_t *access)
{
    int error = shard_enter_all(mr->live);

    if (error < 0) return error;
    region_tell(mr, false);
    if (pd) mr->pd = *pd;
    if (access) mr->access = *access;
    if (addr) {
        mr->iova = (uintptr_t)*addr;
        mr->delta = 0;
        mr->bytes = bytes;
    }
    /* Other memory has a new key, so that whoever was told the old one is refused; the slot is the same.  New rights
     * on the same memory keep it, as adapters do: peers know it already. */
    if (pd || addr) mr->key = keys_renew(&mr->live->keys, mr->key);
    error = region_tell(mr, true);
    shard_leave_all(mr->live);
    return error;
}

int adapter_mr_destroy(struct device_mr *mr)
{
    if (shard_enter_all(mr->live) == 0) {
        if (region_has_window(mr)) {
            shard_leave_all(mr->live);
            return -EBUSY;
        }
        region_tell(mr, false);
        mr->live->key[mr->key >> 8].mr = NULL;
        keys_give(&mr->live->keys, mr->key);
        shard_leave_all(mr->live);
    }
    free(mr);
    return 0;
}

uint32_t adapter_mr_key(const struct device_mr *mr)
{
    return mr->key;
}

/* A window of type 1 is everybody's, one of type 2 its queue pair's.  `except` learns it from its own queue pair. */
static int window_tell(const struct device_mw *mw, const struct nic_mr *told, const struct device *except)
{
    int error = 0;

    if (mw->type == 2) return nic_mr_set(mw->home->nic, told);
    for (unsigned i = 0; i < mw->live->shards && error == 0; i++)
        if (mw->live->shard[i] && mw->live->shard[i] != except) error = nic_mr_set(mw->live->shard[i]->nic, told);
    return error;
}

static void window_forget(const struct device_mw *mw, const struct device *except)
{
    const uint32_t keys[] = {mw->key, mw->told.key};

    for (unsigned i = 0; i < mw->live->shards; i++)
        for (unsigned k = 0; k < 2 && mw->live->shard[i] && mw->live->shard[i] != except; k++)
            (void)nic_mr_set(mw->live->shard[i]->nic, &(struct nic_mr){.key = keys[k], .window = true});
}

int adapter_mw_create(struct device *live, uint32_t pd, int type, struct device_mw **ret)
{
    struct device_mw *mw = malloc(sizeof *mw);

    if (mw == NULL) return -ENOMEM;
    int error = shard_enter_all(live);
    if (error < 0) {
        free(mw);
        return error;
    }
    *mw = (struct device_mw){.ops = live->ops, .live = live, .home = live, .pd = pd, .type = type};
    error = key_take(live, &mw->key);
    if (error == 0) {
        mw->told = (struct nic_mr){.key = mw->key, .pd = pd, .live = true, .window = true, .type2 = type == 2};
        error = window_tell(mw, &mw->told, NULL);
        if (error < 0) {
            window_forget(mw, NULL);
            keys_give(&live->keys, mw->key);
        }
    }
    if (error == 0) live->key[mw->key >> 8].mw = mw;
    live->windows += error == 0;
    shard_leave_all(live);
    if (error < 0)
        free(mw);
    else
        *ret = mw;
    return error;
}

int adapter_mw_destroy(struct device_mw *mw)
{
    if (shard_enter_all(mw->live) == 0) {
        window_forget(mw, NULL);
        mw->live->key[mw->key >> 8].mw = NULL;
        keys_give(&mw->live->keys, mw->key);
        mw->live->windows--;
        shard_leave_all(mw->live);
    }
    free(mw);
    return 0;
}

uint32_t adapter_mw_key(const struct device_mw *mw)
{
    return mw->key;
}

/* A window of type 2 is known to one shard: it is moved to that of the queue pair that is to bind it. */
int memory_bring_home(struct device_mw *mw, struct device *shard)
{
    if (mw->type == 1) return 0;
    int error = shard_enter_all(mw->live);

    if (error < 0) return error;
    const struct nic_mr *known = mw->home == shard ? NULL : nic_mr_find(mw->home->nic, mw->key);
    if (known) {
        struct nic_mr window = *known;
        error = nic_mr_set(shard->nic, &window);
        window.live = false;
        if (error == 0) (void)nic_mr_set(mw->home->nic, &window);
        if (error == 0) mw->home = shard;
    }
    shard_leave_all(mw->live);
    return error;
}

int memory_post_bind(struct device_qp *qp, const struct device_send *send, struct nic_wr *wr)
{
    struct device_mw *mw = send->mw;
    struct key_slot *slot = mw ? slot_of(qp->live, mw->key) : NULL;

    if (slot == NULL || slot->mw != mw || (send->mr == NULL && send->mw_bytes)) return -EINVAL;
    wr->mw_key = mw->key;
    wr->remote_va = send->mw_addr;
    wr->length = send->mw_bytes;
    wr->rkey = send->mr ? send->mr->key : 0;
    wr->imm = send->mw_access;
    if (mw->type == 2) {
        if (send->mw_key >> 8 != mw->key >> 8) return -EINVAL;
        wr->new_key = send->mw_key;
    } else {
        wr->new_key = keys_after(mw->key);
    }
    return 0;
}

void memory_bind_posted(struct device_qp *qp, const struct device_send *send, uint32_t key)
{
    send->mw->key = key;
    if (send->mw->type == 1) (void)keys_renew(&qp->live->first->keys, key);
}

/* What the region allows the window to be, as src/nic sees it when the queue pair comes to the request. */
static bool window_fits(const struct device_qp *qp, const struct device_send *send)
{
    const struct device_mr *mr = send->mr;

    if (send->mw_bytes == 0) return true;
    if (mr->pd != qp->pd || !(mr->access & DEVICE_MW_BIND)) return false;
    if (send->mw_access & (NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC) && !(mr->access & DEVICE_LOCAL_WRITE)) return false;
    return range_within(send->mw_addr, send->mw_bytes, mr->iova, mr->bytes);
}

/* The shard of the queue pair that binds a window of type 1 knows it when that is executed.  The others are told when
 * it was posted: before the key is known to anybody who could use it. */
void memory_bind_tell(struct device_qp *qp, const struct device_send *send)
{
    struct device_mw *mw = send->mw;

    if (mw->type != 1 || !window_fits(qp, send) || shard_enter_all(mw->live) < 0) return;
    window_forget(mw, qp->live);
    mw->told.key = mw->key;
    mw->told.va = send->mw_bytes ? send->mw_addr : 0;
    mw->told.bytes = send->mw_bytes;
    mw->told.rights = (uint8_t)(send->mw_bytes ? send->mw_access & NIC_REMOTE_ALL : 0);
    mw->told.parent = send->mw_bytes ? send->mr->key : 0;
    (void)window_tell(mw, &mw->told, qp->live); /* in the place of what was forgotten */
    shard_leave_all(mw->live);
}
