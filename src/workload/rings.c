/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring collectives, as NCCL runs them.
 *
 * A job has channels; each is a ring through all ranks and carries an equal part of the buffer.  In each host a
 * channel enters and leaves by one adapter, the channel's number modulo the host's adapters, and visits the host's
 * other GPUs in between, over the links inside the host; so with as many channels as adapters every adapter
 * carries one ring and traffic stays on its rail.
 *
 * The part is worked off in loops of one chunk a rank; a loop is 2(n-1) steps for AllReduce, n-1 for ReduceScatter
 * and AllGather; a step moves a chunk to the next rank, in RING_SLICES slices.  A slice may leave when the slice
 * it is made of has come, and when fewer than WORKLOAD_DEPTH are under way.  A message is shared out over the
 * queue pairs of its connection.  Reduction takes no time; the receiver's buffers never run out (both:
 * docs/workload.md).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/check.h"
#include "workload/workload_int.h"

struct members { /* the ranks of a job by host, hosts in order of their first rank */
    uint32_t *host, *first, hosts;
    uint32_t *rank; /* endpoints */
    uint32_t most;  /* ranks in one host */
};

static void members_free(struct members *members)
{
    free(members->host);
    free(members->first);
    free(members->rank);
}

static int members_find(const struct fabric *fabric, const struct fabric_job *job, struct members *ret)
{
    uint32_t *place = malloc((fabric->hosts + 1u) * sizeof(*place)); /* [host] among the members */
    uint32_t *count = calloc(fabric->hosts + 1u, sizeof(*count));

    *ret = (struct members){.host = calloc(job->ranks + 1u, sizeof(uint32_t)),
                            .first = calloc(job->ranks + 2u, sizeof(uint32_t)),
                            .rank = calloc(job->ranks + 1u, sizeof(uint32_t))};
    if (!place || !count || !ret->host || !ret->first || !ret->rank) {
        free(place);
        free(count);
        members_free(ret);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        uint32_t host = fabric->endpoint[job->rank[i]].host;
        if (count[host]++ == 0) {
            place[host] = ret->hosts;
            ret->host[ret->hosts++] = host;
        }
        if (count[host] > ret->most) ret->most = count[host];
    }
    for (uint32_t i = 0; i < ret->hosts; i++) {
        ret->first[i + 1] = ret->first[i] + count[ret->host[i]];
        count[ret->host[i]] = 0;
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        uint32_t host = fabric->endpoint[job->rank[i]].host;
        ret->rank[ret->first[place[host]] + count[host]++] = job->rank[i];
    }
    free(place);
    free(count);
    return 0;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* What every ring of a channel has in common. */
struct course {
    uint64_t channel_bytes, chunk_bytes;
    uint64_t messages; /* fits: loops times ranks is about channel over chunk, and a job has 2^50 bytes at most */
    uint32_t ranks, steps;
};

static struct course course_of(const struct fabric_job *job, uint64_t channel_bytes)
{
    struct course course = {.channel_bytes = channel_bytes, .ranks = job->ranks};
    uint64_t chunk = job->chunk_bytes ? job->chunk_bytes : RING_CHUNK_BYTES;

    if (chunk > divide_up(channel_bytes, job->ranks)) chunk = divide_up(channel_bytes, job->ranks);
    course.chunk_bytes = chunk;
    course.steps = (job->kind == FABRIC_JOB_ALLREDUCE ? 2 : 1) * (job->ranks - 1);
    course.messages = divide_up(channel_bytes, chunk * job->ranks) * course.steps * RING_SLICES;
    return course;
}

static struct ring ring_of(const struct course *course, uint32_t host, uint32_t instance)
{
    return (struct ring){.host = host,
                         .instance = instance,
                         .channel_bytes = course->channel_bytes,
                         .ranks = course->ranks,
                         .messages = (uint32_t)course->messages,
                         .steps = course->steps,
                         .chunk_bytes = course->chunk_bytes};
}

/* The way from the last GPU of a host to the first of the next, through one adapter of each. */
static void connect_hosts(struct workload *workload, const struct fabric_job *job, uint32_t from_ring, uint32_t to_ring,
                          uint32_t src, uint32_t dst)
{
    uint32_t qps = job->qps ? job->qps : 1;

    for (uint32_t q = 0; q < qps; q++) {
        uint32_t made = workload_add_connection(workload, src, dst, job->job_class);
        if (workload->failed) return;
        struct workload_connection *connection = &workload->connection[made];
        connection->number = q;
        connection->notifies = true;
        connection->out_ring = from_ring;
        connection->in_ring = to_ring;
        if (q == 0) workload->ring[from_ring].first_connection = workload->ring[to_ring].first_in = made;
    }
    workload->ring[from_ring].connections = workload->ring[to_ring].ins = qps;
}

static void build_channel(struct workload *workload, const struct fabric_job *job, const struct members *members,
                          uint32_t instance, uint32_t channel, const struct course *course)
{
    uint32_t first = workload->rings;

    for (uint32_t h = 0; h < members->hosts; h++) {
        for (uint32_t i = members->first[h]; i < members->first[h + 1]; i++) {
            workload->ring = workload_grow(workload->ring, workload->rings, &workload->ring_capacity,
                                           sizeof(*workload->ring), &workload->failed);
            if (workload->failed) return;
            workload->ring[workload->rings++] = ring_of(course, members->host[h], instance);
        }
    }
    for (uint32_t h = 0; h < members->hosts; h++) {
        uint32_t next = (h + 1) % members->hosts;
        uint32_t count = members->first[h + 1] - members->first[h];
        uint32_t next_count = members->first[next + 1] - members->first[next];
        for (uint32_t i = 0; i + 1 < count; i++)
            workload->ring[first + members->first[h] + i].next_ring = first + members->first[h] + i + 1;
        uint32_t last = first + members->first[h + 1] - 1, to = first + members->first[next];
        workload->ring[last].next_ring = to;
        if (next != h)
            connect_hosts(workload, job, last, to, members->rank[members->first[h] + channel % count],
                          members->rank[members->first[next] + channel % next_count]);
        if (workload->failed) return;
    }
}

int rings_build(struct workload *workload, uint32_t instance, struct fabric_errors *errors)
{
    const struct fabric_job *job = &workload->fabric->job[workload->instance[instance].job];
    struct members members;

    if (job->ranks < 2) {
        fabric_errors_add(errors, job->where, "a collective needs two ranks or more, this one has %u", job->ranks);
        return -EINVAL;
    }
    int error = members_find(workload->fabric, job, &members);
    if (error) return error;
    uint32_t channels = job->channels ? job->channels : members.most;
    if (job->size_bytes < channels) channels = (uint32_t)job->size_bytes;
    const struct course course = course_of(job, divide_up(job->size_bytes, channels));
    if (course.messages > RING_MESSAGES_MAX) {
        fabric_errors_add(errors, job->where,
                          "a rank of '%s' would send %" PRIu64
                          " messages; more than %u are not counted: write a larger "
                          "chunk",
                          job->name, course.messages, RING_MESSAGES_MAX);
        members_free(&members);
        return -EINVAL;
    }
    for (uint32_t c = 0; c < channels && !workload->failed; c++)
        build_channel(workload, job, &members, instance, c, &course);
    members_free(&members);
    if (workload->failed) return -ENOMEM;
    workload->instance[instance].rings = workload->rings - workload->instance[instance].first_ring;
    return 0;
}

/* Bytes of message m: whole chunks, and in the last loop what is left. */
static uint64_t message_bytes(const struct ring *ring, uint32_t m)
{
    uint64_t loop = m / (ring->steps * RING_SLICES), slice = m % RING_SLICES;
    uint64_t left = ring->channel_bytes - loop * ring->ranks * ring->chunk_bytes;
    uint64_t chunk = divide_up(left, ring->ranks);

    if (chunk > ring->chunk_bytes) chunk = ring->chunk_bytes;
    uint64_t size = divide_up(chunk, RING_SLICES), from = slice * size;
    uint64_t bytes = from >= chunk ? 0 : chunk - from < size ? chunk - from : size;
    return bytes ? bytes : 1; /* a message of nothing would not be noticed */
}

void ring_start(struct workload *workload, uint32_t index, uint32_t instance)
{
    struct ring *ring = &workload->ring[index];

    ring->instance = instance;
    ring->sent = ring->completed = ring->received = 0;
    for (uint32_t i = 0; i < ring->connections; i++)
        workload->connection[ring->first_connection + i].posted =
            workload->connection[ring->first_connection + i].done = 0;
    for (uint32_t i = 0; i < ring->ins; i++)
        workload->connection[ring->first_in + i].received = 0;
}

static void post_message(struct workload *workload, const struct ring *ring, uint64_t bytes, struct workload_out *out)
{
    uint64_t part = bytes / ring->connections, rest = bytes % ring->connections;

    for (uint32_t i = 0; i < ring->connections; i++) {
        uint32_t connection = ring->first_connection + i;
        uint64_t share = part + (i < rest);
        workload->connection[connection].posted++;
        out->post[out->posts++] = (struct workload_post){.connection = connection, .bytes = share ? share : 1};
    }
}

_Static_assert(FABRIC_QPS_MAX <= WORKLOAD_POSTS, "a message's posts, one a queue pair, have room together");

bool ring_advance(struct workload *workload, uint32_t host, uint32_t index, ps_t now, struct workload_out *out)
{
    struct ring *ring = &workload->ring[index];

    while (ring->sent < ring->messages && ring->sent - ring->completed < WORKLOAD_DEPTH &&
           ring->sent < ring->received + RING_SLICES) {
        uint64_t bytes = message_bytes(ring, ring->sent);
        if (ring->connections) {
            if (out->posts + ring->connections > WORKLOAD_POSTS) return false;
            post_message(workload, ring, bytes, out);
        } else {
            struct rate rate = rate_of(workload->fabric->gpu_rate_bps);
            ring->local_free = (ring->local_free > now ? ring->local_free : now) + rate_take(&rate, bytes);
            CHECK(heap_push(&workload->host[host].local, ring->local_free + workload->fabric->gpu_latency_ps,
                            (uint64_t)index << 32 | ring->next_ring));
        }
        ring->sent++;
    }
    return true;
}

static void ring_progress(struct workload *workload, uint32_t host, uint32_t index, ps_t now, struct workload_out *out)
{
    struct ring *ring = &workload->ring[index];

    if (ring->completed == ring->messages && ring->received == ring->messages)
        instance_part_done(workload, ring->instance, now);
    else if (!ring_advance(workload, host, index, now, out))
        workload->host[host].stalled = out->more = true;
}

void ring_sent(struct workload *workload, uint32_t host, uint32_t connection, ps_t now, struct workload_out *out)
{
    uint32_t index = workload->connection[connection].out_ring;
    struct ring *ring = &workload->ring[index];
    uint32_t least = UINT32_MAX;

    workload->connection[connection].done++;
    for (uint32_t i = 0; i < ring->connections; i++) {
        uint32_t done = workload->connection[ring->first_connection + i].done;
        least = done < least ? done : least;
    }
    if (least == ring->completed) return;
    ring->completed = least;
    ring_progress(workload, host, index, now, out);
}

void ring_received(struct workload *workload, uint32_t host, uint32_t connection, ps_t now, struct workload_out *out)
{
    uint32_t index = workload->connection[connection].in_ring;
    struct ring *ring = &workload->ring[index];
    uint32_t least = UINT32_MAX;

    workload->connection[connection].received++;
    for (uint32_t i = 0; i < ring->ins; i++) {
        uint32_t received = workload->connection[ring->first_in + i].received;
        least = received < least ? received : least;
    }
    if (least == ring->received) return;
    ring->received = least;
    ring_progress(workload, host, index, now, out);
}

void ring_local(struct workload *workload, uint32_t host, uint32_t from, uint32_t to, ps_t now,
                struct workload_out *out)
{
    workload->ring[from].completed++;
    ring_progress(workload, host, from, now, out);
    workload->ring[to].received++;
    ring_progress(workload, host, to, now, out);
}
