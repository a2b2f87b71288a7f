/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of posts: work requests by value, with their scatter entries or inline bytes, in the order of the program.
 *
 * With the virtual clock the fabric reads the ring when the thread gives its turn back; each post has the time at which
 * it was made.  A full ring is emptied by a turn.  With the real clock the fabric reads at any time: the record is
 * complete before the index says so, and several threads write one after the other.
 */
#include "attach/attach_int.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

_Static_assert(ATTACH_POSTS_BYTES % 64 == 0, "records end at lines");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* real clock: from room to done */

static uint32_t free_bytes(const struct attach_ring *ring)
{
    return ATTACH_POSTS_BYTES - (ring->tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE));
}

/* False: the fabric is gone. */
static bool wait_for_room(const struct attach_ring *ring, uint32_t bytes)
{
    for (unsigned tries = 0; free_bytes(ring) < bytes; tries++) {
        if (attached.is_virtual)
            turn_sync();
        else
            RAW(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
        if (tries % 1024 == 1023 && session_is_gone()) turn_gone();
        if (attached.gone) return false;
    }
    return true;
}

struct attach_post *post_room(uint32_t bytes)
{
    struct attach_ring *ring = &attached.head->posts;
    uint8_t *base = attach_at(attached.head, attached.head->posts_at);
    uint32_t at, left;

    bytes = (bytes + 63) & ~63u;
    if (bytes > ATTACH_POSTS_BYTES / 2) return NULL;
    if (!attached.is_virtual) REAL(pthread_mutex_lock)(&lock);
    at = ring->tail % ATTACH_POSTS_BYTES;
    left = ATTACH_POSTS_BYTES - at;
    if (!wait_for_room(ring, left < bytes ? left + bytes : bytes)) {
        if (!attached.is_virtual) REAL(pthread_mutex_unlock)(&lock);
        return NULL;
    }
    if (left < bytes) {
        struct attach_post *skip = (struct attach_post *)(void *)(base + at);

        skip->bytes = left;
        skip->kind = ATTACH_POST_SKIP;
        __atomic_store_n(&ring->tail, ring->tail + left, __ATOMIC_RELEASE);
        at = 0;
    }
    memset(base + at, 0, sizeof(struct attach_post));
    ((struct attach_post *)(void *)(base + at))->bytes = bytes;
    return (struct attach_post *)(void *)(base + at);
}

void post_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void post_done(struct attach_post *post)
{
    struct attach_head *head = attached.head;

    post->at = turn_now();
    turn_alone_no_more();
    __atomic_store_n(&head->posts.tail, head->posts.tail + post->bytes, __ATOMIC_RELEASE);
    if (attached.is_virtual) return;
    REAL(pthread_mutex_unlock)(&lock);
    turn_ring_bell();
}
