/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device shared out: its queue pairs over several adapters of one interface, each with a thread.
 *
 * A shard is a whole `struct device`: lock, adapter, wire, slot of the registry and so QPNs of its own, thread.  Peers
 * and other shards see it as they would see another process of this address, so nothing between two shards of a process
 * has to be agreed on.  The first is what callers hold; it keeps what a device has once: QP1, listeners, interface and
 * addresses, keys.  Others are opened when a queue pair is made for them.  Queue pairs go to the shards in turn; to the
 * first go datagrams (address handles are its) and what uses a shared receive queue.
 *
 * Keys are the same in all shards, but for windows of type 2, which belong to one queue pair.  They change while all
 * are locked, and bytes move while one is: a region that was deregistered is in nobody's hands.
 *
 * Who works.  A program that polls and posts little does the work of a shard itself, as it does where there is one: no
 * thread has to be woken.  As soon as a burst comes in, or more is to be sent than one, the shard is `taken`: its
 * thread does everything, polls only look into the completion queue and posts only put requests into their queue,
 * until the thread has found nothing to do for a while.  The thread holds the lock for long then.  A post must not wait
 * for a burst, so the thread lets others in every few packets; those who post at any time, all others only when
 * no received packet is in its hands, since what they do may end the life of its bytes.
 *
 * One shard, and nothing of this: where there are few cores, without threads, and where one adapter is meant: a line
 * rate that was asked for, a capture with one order, the packet wire, on which each would see every frame.
 */
#include <errno.h>
#include <sched.h>
#include <sys/eventfd.h>

#include "base/bits.h"
#include "base/check.h"
#include "live/live_int.h"

#define CORES_A_SHARD 4
#define LOCK_SPINS 4000 /* tries for a lock that is let go of every few microseconds, before sleeping for it */
#define YIELD_EVERY 64
#define LET_IN_SPINS 400 /* looks for those let in to have the lock */

unsigned shard_count(const struct live_environment *env)
{
    cpu_set_t cores;

    if (!env->thread || env->rate_bps || env->receive_bps || env->pcap[0] || env->wire == LIVE_WIRE_PACKET) return 1;
    if (env->shards) return env->shards;
    if (sched_getaffinity(0, sizeof cores, &cores) < 0) return 1;
    int count = CPU_COUNT(&cores) / CORES_A_SHARD;
    return count < 1 ? 1 : count > (int)LIVE_SHARDS_MAX ? LIVE_SHARDS_MAX : (unsigned)count;
}

/* The other has it for microseconds: sleeping and being woken cost both more.  If it has no core it gets this one. */
static void lock_soon(struct device *live)
{
    for (int i = 1; i <= LOCK_SPINS; i++) {
        if (pthread_mutex_trylock(&live->lock) == 0) return;
        cpu_relax();
        if (i % YIELD_EVERY == 0) sched_yield();
    }
    pthread_mutex_lock(&live->lock);
}

static void lock(struct device *live, unsigned *wait)
{
    if (pthread_mutex_trylock(&live->lock) == 0) return;
    __atomic_fetch_add(wait, 1, __ATOMIC_SEQ_CST);
    lock_soon(live);
    __atomic_fetch_sub(wait, 1, __ATOMIC_SEQ_CST);
}

void shard_lock(struct device *live)
{
    for (;;) {
        lock(live, &live->others_wait);
        if (live->holder != HOLDER_GUEST) return;
        pthread_mutex_unlock(&live->lock);
        sched_yield();
    }
}

bool shard_try(struct device *live)
{
    if (pthread_mutex_trylock(&live->lock) != 0) return false;
    if (live->holder != HOLDER_GUEST) return true;
    pthread_mutex_unlock(&live->lock);
    return false;
}

void shard_lock_post(struct device *live)
{
    lock(live, &live->posts_wait);
}

static bool somebody_waits(const struct device *live, bool bursting)
{
    return __atomic_load_n(&live->posts_wait, __ATOMIC_SEQ_CST) != 0 ||
           (!bursting && __atomic_load_n(&live->others_wait, __ATOMIC_SEQ_CST) != 0);
}

void shard_let_in(struct device *live, bool bursting)
{
    if (!somebody_waits(live, bursting)) return;
    CHECK(live->holder == HOLDER_SHARD);
    live->holder = bursting ? HOLDER_GUEST : HOLDER_ANYONE;
    pthread_mutex_unlock(&live->lock);
    for (int i = 0; i < LET_IN_SPINS && somebody_waits(live, bursting); i++)
        cpu_relax();
    if (somebody_waits(live, bursting)) sched_yield(); /* it has no core */
    lock_soon(live);
    live->holder = HOLDER_SHARD;
}

void shard_give(struct device *live)
{
    if (__atomic_load_n(&live->taken, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&live->taken, true, __ATOMIC_RELAXED);
    live->sleep_until = 0;
    eventfd_write(live->wake_fd, 1);
}

int shard_choose(struct device *first, const struct device_qp_init *init, struct device **ret)
{
    unsigned number = 0;

    if (!shard_many(first)) {
        *ret = first;
        return 0;
    }
    int error = live_enter(first);
    if (error < 0) return error;
    if (init->transport != NIC_UD && init->srq == NULL) number = first->shard_next++ % first->shards;
    /* one that cannot be had (slots and descriptors are limited) is done without */
    if (first->shard[number] == NULL && live_open_shard(first, number) < 0) number = 0;
    *ret = first->shard[number];
    live_leave(first);
    return 0;
}

int shard_enter_all(struct device *first)
{
    int error = live_enter(first);

    if (error < 0) return error;
    for (unsigned i = 1; i < first->shards; i++)
        if (first->shard[i]) shard_lock(first->shard[i]);
    return 0;
}

void shard_leave_all(struct device *first)
{
    for (unsigned i = first->shards; i-- > 1;)
        if (first->shard[i]) live_leave(first->shard[i]);
    live_leave(first);
}
