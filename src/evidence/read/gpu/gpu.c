/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, communicators and ranks as GPUs' side names them, and sums over collectives. */
#include "evidence/read/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/evidence_int.h"

#define OBJECT_MOST (1u << 20) /* bytes of one JSON object */
#define ARENA_MOST (64u << 20)
#define TESTS_MOST 1000 /* outputs of one look: the last takes what there is beyond */

/* The first name that a text has and nobody knows is that of the folder's device; another is another host. */
static bool is_the_device(struct reading *in, const struct text_field *name)
{
    size_t length = name->length < sizeof in->called ? name->length : sizeof in->called - 1;

    if (in->device == EVIDENCE_NONE || !length) return true;
    if (in->guessed) return false; /* no folder's */
    if (!*in->called) memcpy(in->called, name->at, length);
    return !strncmp(in->called, name->at, length) && !in->called[length];
}

static uint32_t known_host(const struct evidence *evidence, const struct text_field *name)
{
    if (!name->length) return EVIDENCE_NONE;
    const char *dot = memchr(name->at, '.', name->length);
    uint32_t host = evidence_device_find(evidence, name->at, name->length);

    if (host != EVIDENCE_NONE || !dot) return host;
    return evidence_device_find(evidence, name->at, (size_t)(dot - name->at));
}

static uint32_t as_host(struct evidence *evidence, uint32_t host)
{
    if (host != EVIDENCE_NONE && evidence->object[host].role == FABRIC_ROLES)
        evidence->object[host].role = FABRIC_ROLE_HOST;
    return host;
}

uint32_t gpu_host(struct reading *in, const struct text_field *name)
{
    uint32_t host = known_host(in->evidence, name);

    if (host == EVIDENCE_NONE || host == in->device)
        if (is_the_device(in, name)) host = in->device;
    return host == EVIDENCE_NONE ? gpu_host_named(in, name) : as_host(in->evidence, host);
}

uint32_t gpu_host_named(struct reading *in, const struct text_field *name)
{
    uint32_t host = name->length ? known_host(in->evidence, name) : in->device;

    if (host == EVIDENCE_NONE && name->length) host = evidence_device(in->evidence, name->at, name->length);
    return as_host(in->evidence, host);
}

uint32_t gpu_job(struct reading *in, const struct text_field *comm)
{
    struct text_field id = *comm;
    char name[80];

    if (id.length > 2 && id.at[0] == '0' && id.at[1] == 'x') id = (struct text_field){id.at + 2, id.length - 2};
    while (id.length > 1 && *id.at == '0')
        id = (struct text_field){id.at + 1, id.length - 1};
    if (!id.length) return EVIDENCE_NONE;
    int length = snprintf(name, sizeof name, "comm %.*s", (int)(id.length < 64 ? id.length : 64), id.at);
    return length > 0 ? evidence_job(in->evidence, name, (size_t)length) : EVIDENCE_NONE;
}

uint32_t gpu_rank(struct reading *in, uint32_t job, uint64_t number, uint32_t host)
{
    uint32_t rank = number < UINT32_MAX ? evidence_rank(in->evidence, job, (uint32_t)number) : EVIDENCE_NONE;

    if (rank != EVIDENCE_NONE && host != EVIDENCE_NONE) in->evidence->object[rank].host = host;
    return rank;
}

/* Whether the job has a result of this look, or is of another program. */
static bool is_taken(const struct reading *in, uint32_t job, const char *program)
{
    const struct evidence_value *size = evidence_find(in->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_MESSAGE_BYTES);
    const char *has = in->evidence->object[job].program;

    return (size && size->last_s >= in->source.at_s) || (size && has && program && strcmp(has, program) != 0);
}

uint32_t gpu_test(struct reading *in, const char *name, const char *program)
{
    uint32_t job = EVIDENCE_NONE;
    char text[200];

    for (unsigned i = 0; i < TESTS_MOST; i++) {
        int length = snprintf(text, sizeof text, "%.100s", name);
        if (i && program) length += snprintf(text + length, sizeof text - (size_t)length, " %s", program);
        if (i > (program ? 1 : 0))
            length += snprintf(text + length, sizeof text - (size_t)length, ", %u", i + !program);
        job = evidence_job(in->evidence, text, (size_t)length);
        if (job == EVIDENCE_NONE || !is_taken(in, job, program)) break;
    }
    if (job != EVIDENCE_NONE && program) in->evidence->object[job].program = program;
    return job;
}

void gpu_set(struct reading *in, uint32_t object, enum evidence_counter counter, uint64_t value)
{
    evidence_set(in->evidence, object, EVIDENCE_NO_PRIORITY, counter, value, &in->source);
}

void gpu_set_real(struct reading *in, uint32_t object, enum evidence_counter counter, double value)
{
    evidence_set_real(in->evidence, object, EVIDENCE_NO_PRIORITY, counter, value, &in->source);
}

/* --- sums --- */

void collectives_add(struct collective_sums *collectives, const struct collective *one)
{
    if (one->rank == EVIDENCE_NONE) return;
    if (one->rank >= collectives->sums) {
        uint32_t more = one->rank < UINT32_MAX / 2 ? 2 * one->rank + 64 : one->rank + 1;
        struct collective_sum *grown = realloc(collectives->sum, more * sizeof grown[0]);
        if (!grown) return;
        memset(grown + collectives->sums, 0, (more - collectives->sums) * sizeof grown[0]);
        collectives->sum = grown;
        collectives->sums = more;
    }
    struct collective_sum *sum = &collectives->sum[one->rank];
    sum->count++;
    if (one->seq > sum->last) sum->last = one->seq;
    if (one->waits) {
        sum->waited++;
        sum->gpu_ns += one->gpu_ns;
        sum->peer_ns += one->peer_ns;
        sum->network_ns += one->network_ns;
    }
    if (!(one->exec_ns > 0)) return;
    sum->timed++;
    sum->exec_ns += one->exec_ns;
    if (one->bytes < sum->largest) return;
    if (one->bytes > sum->largest) sum->largest_count = 0, sum->largest_ns = sum->largest_bus = 0;
    sum->largest = one->bytes;
    sum->largest_count++;
    sum->largest_ns += one->exec_ns;
    sum->largest_bus += one->bus_bytes_s;
}

static void set_mean(struct reading *in, uint32_t object, enum evidence_counter counter, double sum, uint64_t count)
{
    if (count) evidence_set_real(in->evidence, object, EVIDENCE_NO_PRIORITY, counter, sum / (double)count, &in->source);
}

void collectives_finish(struct collective_sums *collectives)
{
    struct reading *in = collectives->in;

    for (uint32_t rank = 0; rank < collectives->sums && rank < in->evidence->objects; rank++) {
        const struct collective_sum *sum = &collectives->sum[rank];
        uint32_t job = in->evidence->object[rank].parent;
        if (!sum->count) continue;
        if (sum->last) gpu_set(in, rank, EVIDENCE_RANK_LAST_OP, sum->last);
        set_mean(in, rank, EVIDENCE_RANK_COLLECTIVE_NS, sum->exec_ns, sum->timed);
        set_mean(in, rank, EVIDENCE_RANK_WAIT_GPU_NS, sum->gpu_ns, sum->waited);
        set_mean(in, rank, EVIDENCE_RANK_WAIT_PEER_NS, sum->peer_ns, sum->waited);
        set_mean(in, rank, EVIDENCE_RANK_WAIT_NET_NS, sum->network_ns, sum->waited);
        set_mean(in, job, EVIDENCE_JOB_NS, sum->largest_ns, sum->largest_count);
        if (!(sum->largest_bus > 0)) continue;
        set_mean(in, job, EVIDENCE_BUSBW, sum->largest_bus, sum->largest_count);
        gpu_set(in, job, EVIDENCE_MESSAGE_BYTES, sum->largest);
    }
    free(collectives->sum);
    *collectives = (struct collective_sums){.in = in};
}

/* --- JSON objects one after another --- */

void objects_init(struct json_objects *objects, const char *text, size_t bytes)
{
    *objects = (struct json_objects){.at = text, .end = text + bytes, .line = 1};
    arena_init(&objects->arena, ARENA_MOST);
}

void objects_release(struct json_objects *objects)
{
    arena_release(&objects->arena);
}

/*
 * To behind the object that begins here.  One that was cut off ends where another begins a line, which a part of an
 * object does not: those are indented.
 */
static const char *object_end(struct json_objects *objects, const char *at)
{
    uint32_t depth = 0;
    bool string = false;

    for (const char *begin = at; at < objects->end; at++) {
        if (*at == '\n') objects->line++;
        if (at > begin && *at == '{' && at[-1] == '\n') return at;
        if (string) {
            if (*at == '\\' && at + 1 < objects->end) at++;
            if (*at == '"' || *at == '\n') string = false;
        } else if (*at == '"') {
            string = true;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return at;
}

const struct json *objects_next(struct json_objects *objects)
{
    for (;;) {
        const char *why;
        uint32_t line;
        while (objects->at < objects->end && *objects->at != '{')
            if (*objects->at++ == '\n') objects->line++;
        if (objects->at == objects->end) return NULL;
        const char *begin = objects->at;
        uint32_t first = objects->line;
        objects->at = object_end(objects, begin);
        if (objects->at - begin > OBJECT_MOST) continue;
        arena_release(&objects->arena);
        const struct json *root = json_parse(&objects->arena, begin, (size_t)(objects->at - begin), first, &why, &line);
        if (root && root->type == JSON_OBJECT) return root;
    }
}

uint64_t member_u64(const struct json *object, const char *path)
{
    uint64_t value;

    return json_u64(json_path(object, path), &value) ? value : 0;
}

double member_real(const struct json *object, const char *path)
{
    double value;

    return json_real(json_path(object, path), &value) && value > 0 ? value : 0;
}

struct text_field member_text(const struct json *object, const char *path)
{
    return field_of(json_string(json_path(object, path)));
}
