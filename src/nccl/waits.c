/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits of a proxy operation; see waits.h.
 */
#include "nccl/waits.h"

#define ENDED 255 /* of a step that stopped before an older one */

/* Fields that waits_peek() reads are written whole.  The turn is odd from before the first change until after the last:
 * nothing is written before the one, nor read after the other. */
#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

static void change_begin(struct waits *waits)
{
    __atomic_fetch_add(&waits->turn, 1, __ATOMIC_ACQUIRE);
}

static void change_end(struct waits *waits)
{
    __atomic_fetch_add(&waits->turn, 1, __ATOMIC_RELEASE);
}

void waits_init(struct waits *waits, bool send)
{
    change_begin(waits);
    PUT(waits->send, send);
    PUT(waits->first, 0);
    PUT(waits->next, 0);
    PUT(waits->mark_ns, 0);
    PUT(waits->steps, 0);
    PUT(waits->bytes, 0);
    for (unsigned i = 0; i < WAITS; i++)
        PUT(waits->wait_ns[i], 0);
    change_end(waits);
}

static enum wait_for oldest(const struct waits *waits)
{
    uint32_t first = GET(waits->first);

    return first == GET(waits->next) ? WAIT_OTHER : (enum wait_for)GET(waits->state[first % NCCL_STEPS_OPEN]);
}

/* Time since the mark goes to what the oldest step waits for. */
static void count(struct waits *waits, uint64_t now)
{
    uint64_t past = waits->mark_ns && now > waits->mark_ns ? now - waits->mark_ns : 0;
    enum wait_for state = oldest(waits);

    PUT(waits->wait_ns[state], waits->wait_ns[state] + past);
    PUT(waits->mark_ns, now);
}

void waits_begin(struct waits *waits, uint64_t now)
{
    change_begin(waits);
    if (waits->mark_ns == 0) PUT(waits->mark_ns, now);
    change_end(waits);
}

bool waits_step(struct waits *waits, uint32_t step, uint64_t now, uint32_t *ret_slot)
{
    *ret_slot = step % NCCL_STEPS_OPEN;
    if (waits->first == waits->next) {
        change_begin(waits);
        count(waits, now);
        PUT(waits->first, step);
        PUT(waits->next, step);
        change_end(waits);
    }
    if (step - waits->first >= NCCL_STEPS_OPEN) return false;
    if (step - waits->first < waits->next - waits->first) return waits->state[*ret_slot] != ENDED;
    change_begin(waits);
    count(waits, now);
    for (; waits->next != step; PUT(waits->next, waits->next + 1)) /* none is left out by NCCL */
        PUT(waits->state[waits->next % NCCL_STEPS_OPEN], ENDED);
    PUT(waits->state[*ret_slot], WAIT_OTHER);
    PUT(waits->next, step + 1);
    change_end(waits);
    return true;
}

static enum wait_for wait_of(int state)
{
    switch (state) {
    case NCCL_SEND_GPU_WAIT:
    case NCCL_RECV_GPU_WAIT:
        return WAIT_GPU;
    case NCCL_SEND_PEER_WAIT:
        return WAIT_PEER;
    case NCCL_SEND_WAIT:
        return WAIT_NETWORK;
    case NCCL_RECV_WAIT:
        return WAIT_DATA;
    case NCCL_RECV_FLUSH_WAIT:
        return WAIT_FLUSH;
    default:
        return WAIT_OTHER;
    }
}

static bool is_open(const struct waits *waits, uint32_t slot)
{
    uint32_t behind = (slot - waits->first) % NCCL_STEPS_OPEN;

    return behind < waits->next - waits->first && waits->state[slot] != ENDED;
}

void waits_state(struct waits *waits, uint32_t slot, int state, uint64_t bytes, uint64_t now)
{
    if (!is_open(waits, slot) || waits->state[slot] == wait_of(state)) return;
    change_begin(waits);
    count(waits, now);
    PUT(waits->state[slot], (uint8_t)wait_of(state));
    if (state == NCCL_SEND_WAIT || state == NCCL_RECV_FLUSH_WAIT) PUT(waits->bytes, waits->bytes + bytes);
    change_end(waits);
}

void waits_stop(struct waits *waits, uint32_t slot, uint64_t now)
{
    if (!is_open(waits, slot)) return;
    change_begin(waits);
    count(waits, now);
    PUT(waits->state[slot], ENDED);
    while (waits->first != waits->next && waits->state[waits->first % NCCL_STEPS_OPEN] == ENDED)
        PUT(waits->first, waits->first + 1);
    PUT(waits->steps, waits->steps + 1);
    change_end(waits);
}

void waits_sum(const struct waits *waits, struct wait_times *into)
{
    into->ops++;
    into->steps += GET(waits->steps);
    into->bytes += GET(waits->bytes);
    for (unsigned i = 0; i < WAITS; i++) {
        into->wait_ns[i] += GET(waits->wait_ns[i]);
        into->time_ns += GET(waits->wait_ns[i]);
    }
}

bool waits_peek(const struct waits *waits, uint64_t now, struct wait_times into[2])
{
    struct wait_times seen = {0};
    uint32_t turn = GET(waits->turn);

    if (turn & 1) return false;
    waits_sum(waits, &seen);
    uint64_t mark = GET(waits->mark_ns);
    bool send = GET(waits->send), stands = mark && GET(waits->first) != GET(waits->next) && now > mark;
    enum wait_for state = oldest(waits);
    if (GET(waits->turn) != turn) return false;
    if (mark == 0) return true;
    if (stands) {
        seen.wait_ns[state] += now - mark;
        seen.time_ns += now - mark;
    }
    wait_times_add(&into[send], &seen);
    return true;
}

void wait_times_add(struct wait_times *to, const struct wait_times *from)
{
    uint64_t *sum = (uint64_t *)to;
    const uint64_t *value = (const uint64_t *)from;

    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++)
        __atomic_fetch_add(&sum[i], value[i], __ATOMIC_RELAXED);
}
