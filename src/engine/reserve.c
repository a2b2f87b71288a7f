/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that moves between workers: link blocks and packet descriptors.
 *
 * A worker takes from and gives to a store of its own.  Packets flow from the threads that send to the threads that
 * receive, so stores run dry and overflow; then a batch moves under the reserve's lock.  Which index or block a
 * worker gets depends on timing, and must not matter: nothing in a result is derived from either.
 *
 * The descriptors are one range of addresses, as large as the run may ever need, of which only what was used is
 * backed by memory; so an index never moves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "base/memory.h"
#include "engine/engine_int.h"

#define BLOCK_BATCH 64
#define BLOCK_CHUNK_BYTES ((size_t)1 << 20)
#define HUGE_BYTES ((size_t)2 << 20)

struct chunk_header {
    struct chunk_header *next;
    size_t bytes;
};

void *pages_map(size_t bytes)
{
    size_t room = bytes < HUGE_BYTES ? bytes : bytes + HUGE_BYTES;
    uint8_t *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        memory_ran_out();
        return NULL;
    }
    if (room == bytes) return at;
    /* Aligned by hand: the kernel backs only aligned ranges with huge pages. */
    uint8_t *aligned = (uint8_t *)(((uintptr_t)at + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
    if (aligned > at) munmap(at, (size_t)(aligned - at));
    size_t after = (size_t)(at + room - (aligned + bytes)) & ~(size_t)4095;
    if (after) munmap(at + room - after, after);
    madvise(aligned, bytes, MADV_HUGEPAGE);
    return aligned;
}

void pages_unmap(void *at, size_t bytes)
{
    if (at) munmap(at, bytes);
}

int reserve_init(struct reserve *reserve, uint32_t packets_max)
{
    *reserve = (struct reserve){.packets_max = packets_max};
    reserve->packet = pages_map((size_t)packets_max * sizeof(uint32_t));
    if (reserve->packet == NULL) return -ENOMEM;
    pthread_mutex_init(&reserve->lock, NULL);
    return 0;
}

void reserve_release(struct reserve *reserve)
{
    for (struct chunk_header *chunk = reserve->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        pages_unmap(chunk, chunk->bytes);
    }
    if (reserve->packet) {
        pages_unmap(reserve->packet, (size_t)reserve->packets_max * sizeof(uint32_t));
        pthread_mutex_destroy(&reserve->lock);
    }
    *reserve = (struct reserve){0};
}

static struct link_block *block_new(struct reserve *reserve)
{
    struct link_block *block = reserve->blocks;

    if (block) {
        reserve->blocks = block->next;
        reserve->block_count--;
        return block;
    }
    if (reserve->chunk_left < sizeof(*block)) {
        struct chunk_header *chunk = pages_map(BLOCK_CHUNK_BYTES);
        CHECK(chunk != NULL);
        *chunk = (struct chunk_header){.next = reserve->chunks, .bytes = BLOCK_CHUNK_BYTES};
        reserve->chunks = chunk;
        reserve->chunk = (uint8_t *)chunk + sizeof(*block);
        reserve->chunk_left = BLOCK_CHUNK_BYTES - sizeof(*block);
        reserve->memory_bytes += BLOCK_CHUNK_BYTES;
    }
    block = (struct link_block *)(void *)reserve->chunk;
    CHECK((uintptr_t)block % LINK_BLOCK_BYTES == 0);
    reserve->chunk += sizeof(*block);
    reserve->chunk_left -= sizeof(*block);
    return block;
}

struct link_block *link_block_get(struct link_store *store)
{
    if (store->free == NULL) {
        pthread_mutex_lock(&store->reserve->lock);
        for (int i = 0; i < BLOCK_BATCH; i++) {
            struct link_block *block = block_new(store->reserve);
            block->next = store->free;
            store->free = block;
        }
        store->count += BLOCK_BATCH;
        pthread_mutex_unlock(&store->reserve->lock);
    }
    struct link_block *block = store->free;
    store->free = block->next;
    store->count--;
    block->next = NULL;
    return block;
}

void link_block_put(struct link_store *store, struct link_block *block)
{
    block->next = store->free;
    store->free = block;
    if (++store->count < 4 * BLOCK_BATCH) return;
    pthread_mutex_lock(&store->reserve->lock);
    for (int i = 0; i < 2 * BLOCK_BATCH; i++) {
        struct link_block *moved = store->free;
        store->free = moved->next;
        moved->next = store->reserve->blocks;
        store->reserve->blocks = moved;
    }
    store->reserve->block_count += 2 * BLOCK_BATCH;
    store->count -= 2 * BLOCK_BATCH;
    pthread_mutex_unlock(&store->reserve->lock);
}

static struct link_block *block_of(struct link_entry *end)
{
    return (struct link_block *)(void *)((uint8_t *)end - sizeof(struct link_block));
}

struct link_entry *fifo_extend(struct fifo *fifo, struct link_store *store)
{
    struct link_block *block = link_block_get(store);

    if (fifo->write == NULL)
        /* The reader relies on it only after it saw the first `write`; before, it may guess (node_bring_near()). */
        __atomic_store_n(&fifo->read, block->entry, __ATOMIC_RELAXED);
    else
        block_of(fifo->write)->next = block;
    return block->entry;
}

struct link_entry *fifo_next_block(struct link_entry *end, struct link_store *store)
{
    struct link_block *empty = block_of(end);
    struct link_entry *entry = empty->next->entry;

    link_block_put(store, empty);
    return entry;
}

uint64_t fifo_count(const struct fifo *fifo)
{
    uint64_t count = 0;

    for (struct link_entry *at = fifo->read; at != fifo->write; count++) {
        if (link_block_end(at)) at = block_of(at)->next->entry;
        at++;
    }
    return count;
}

void reserve_packets(struct reserve *reserve, struct pktpool *pool, uint32_t least)
{
    if (pool->free_count >= least) return;
    /* Half as much again, so that the lock is not taken at every visit. */
    uint32_t wanted = least + least / 2 - pool->free_count;
    pthread_mutex_lock(&reserve->lock);
    uint32_t moved = wanted < reserve->packets ? wanted : reserve->packets;
    reserve->packets -= moved;
    memcpy(pool->free + pool->free_count, reserve->packet + reserve->packets, moved * sizeof(uint32_t));
    pool->free_count += moved;
    /* The lowest new index ends up on top of the stack: memory is touched in order. */
    uint32_t fresh = wanted - moved;
    if (fresh > reserve->packets_max - reserve->packet_fresh) fresh = reserve->packets_max - reserve->packet_fresh;
    for (uint32_t i = 0; i < fresh; i++)
        pool->free[pool->free_count + i] = reserve->packet_fresh + fresh - 1 - i;
    pool->free_count += fresh;
    reserve->packet_fresh += fresh;
    pthread_mutex_unlock(&reserve->lock);
    CHECK(pool->free_count >= least);
}

void reserve_give_back(struct reserve *reserve, struct pktpool *pool, uint32_t most)
{
    if (pool->free_count <= most) return;
    uint32_t moved = pool->free_count - most / 2;
    pthread_mutex_lock(&reserve->lock);
    /* The coldest ones, at the bottom of the stack, go; the top was used last. */
    memcpy(reserve->packet + reserve->packets, pool->free, moved * sizeof(uint32_t));
    reserve->packets += moved;
    pthread_mutex_unlock(&reserve->lock);
    pool->free_count -= moved;
    memmove(pool->free, pool->free + moved, pool->free_count * sizeof(uint32_t));
}
