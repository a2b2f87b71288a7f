/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path value (entropy) the next packet has.  Switches hash it; what path it means nobody knows.
 *
 * Oblivious: all values in turn, a round in another order each time (a counter, exclusive-ored with a random number
 * that is drawn anew for each round).  Bitmap: the same, but a value with a penalty is passed over and its penalty
 * lowered; only while less than half of the values have one.  REPS: values that came back unmarked are used once each,
 * oldest first, others at random; after a timeout only those are used for a while.  Mixed: what came back unmarked,
 * else bitmap.  ROD has one value, and takes another after trouble, at most each ten round trips.
 */
#include "uet/uet_int.h"

#define PENALTY_MAX 15u
#define FROZEN_PS (10 * PS_MS)
#define EXPLORE 16u

void paths_init(const struct uet *uet, struct paths *paths, uint32_t stream, uint16_t first)
{
    uint32_t mask = uet->config.paths - 1u;

    rng_init(&paths->rng, uet->config.seed, (uint64_t)uet->config.endpoint << 32 | stream);
    paths->fixed = first & (uint16_t)~mask;
    paths->mix = rng_u32(&paths->rng) & mask;
}

static void step(const struct uet *uet, struct paths *paths)
{
    uint32_t mask = uet->config.paths - 1u;

    if (++paths->index <= mask) return;
    paths->index = 0;
    paths->mix = rng_u32(&paths->rng) & mask;
}

static uint16_t oblivious(const struct uet *uet, struct paths *paths)
{
    uint32_t value = (paths->index ^ paths->mix) & (uet->config.paths - 1u);

    step(uet, paths);
    return (uint16_t)(value | paths->fixed);
}

/* Only the first that is passed over is forgiven a point; so as many packets must leave before a value is tried. */
static uint16_t bitmap(struct uet *uet, struct paths *paths)
{
    uint32_t mask = uet->config.paths - 1u;
    bool forgiven = false, skips = uet->config.model == UET_HTSIM || paths->marked * 2u < uet->config.paths;

    for (uint32_t tried = 0; skips && tried <= mask; tried++) {
        uint8_t *penalty = &paths->penalty[(paths->index ^ paths->mix) & mask];
        if (*penalty == 0) break;
        if (!forgiven && --*penalty == 0) paths->marked--;
        forgiven = true;
        uet->counters.paths_skipped++;
        step(uet, paths);
    }
    return oblivious(uet, paths);
}

static uint16_t random_value(const struct uet *uet, struct paths *paths)
{
    return (uint16_t)(rng_below(&paths->rng, uet->config.paths) | paths->fixed);
}

static uint32_t ring_size(const struct uet *uet)
{
    return uet->config.policy == UET_REPS ? UET_RECENT : uet->config.paths;
}

static uint16_t recycled(struct uet *uet, struct paths *paths)
{
    uint32_t size = ring_size(uet);
    uint32_t at = (paths->recycle_head + size - paths->recycle_count) % size;

    paths->recycle_count--;
    uet->counters.paths_recycled++;
    return paths->recycle[at];
}

static uint16_t reps(struct uet *uet, struct paths *paths)
{
    if (paths->explore > 0) {
        paths->explore--;
        return random_value(uet, paths);
    }
    if (paths->frozen && paths->frozen_next > 0) { /* over and over, in turn */
        uint16_t value = paths->recycle[paths->index++ % paths->frozen_next];
        return value;
    }
    return paths->recycle_count ? recycled(uet, paths) : random_value(uet, paths);
}

uint16_t paths_next(struct uet *uet, struct paths *paths)
{
    if (uet->config.ordered) return (uint16_t)((paths->index & (uet->config.paths - 1u)) | paths->fixed);
    switch (uet->config.policy) {
    case UET_OBLIVIOUS:
        return oblivious(uet, paths);
    case UET_BITMAP:
        return bitmap(uet, paths);
    case UET_REPS:
        return reps(uet, paths);
    default:
        return paths->recycle_count ? recycled(uet, paths) : bitmap(uet, paths);
    }
}

static void recycle(const struct uet *uet, struct paths *paths, uint16_t value)
{
    uint32_t size = ring_size(uet);

    paths->recycle[paths->recycle_head] = value;
    paths->recycle_head = (paths->recycle_head + 1) % size;
    if (paths->recycle_count < size) paths->recycle_count++;
    if (paths->frozen_next < size) paths->frozen_next++;
}

static void penalise(const struct uet *uet, struct paths *paths, uint16_t value, enum path_said said)
{
    static const uint8_t points[] = {[PATH_MARKED] = 1, [PATH_TRIMMED] = 4, [PATH_TIMEOUT] = PENALTY_MAX};
    uint8_t *penalty = &paths->penalty[value & (uet->config.paths - 1u)];

    if (*penalty == 0) paths->marked++;
    *penalty = (uint8_t)(*penalty + points[said] < PENALTY_MAX ? *penalty + points[said] : PENALTY_MAX);
}

static void reps_freeze(struct paths *paths, enum path_said said, ps_t now)
{
    if (said == PATH_TIMEOUT && !paths->frozen && paths->explore == 0) {
        paths->frozen = true;
        paths->frozen_until = now + FROZEN_PS;
    }
    if (!paths->frozen || now <= paths->frozen_until) return;
    paths->frozen = false;
    paths->recycle_count = paths->recycle_head = paths->frozen_next = 0;
    paths->explore = EXPLORE;
}

static void ordered_said(const struct uet *uet, struct paths *paths, enum path_said said, ps_t now)
{
    if (said == PATH_GOOD || now < paths->changed_at + 10 * uet->config.base_rtt_ps) return;
    paths->changed_at = now;
    paths->index = rng_u32(&paths->rng) & (uet->config.paths - 1u);
}

void paths_said(struct uet *uet, struct paths *paths, uint16_t value, enum path_said said, ps_t now)
{
    enum uet_policy policy = uet->config.policy;

    if (uet->config.ordered) {
        ordered_said(uet, paths, said, now);
        return;
    }
    if (policy == UET_REPS) reps_freeze(paths, said, now);
    if ((policy == UET_REPS || policy == UET_MIXED) && said == PATH_GOOD) recycle(uet, paths, value);
    if ((policy == UET_BITMAP || policy == UET_MIXED) && said != PATH_GOOD) penalise(uet, paths, value, said);
}
