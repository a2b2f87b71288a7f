/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A baseline as a text: {"version": 1, "kind": "baseline", "fabric_digest": 16 hex digits or null, "jobs": [...]}, and
 * where `validate` wrote it "program_digest", "level", "owner" and "signed_by"; "machine" and "live" of programs that
 * it ran here, "measured" of a cluster's.
 *
 * A baseline of another fabric file is refused: its times say nothing about this one.
 */
#include "validate/baseline_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fabric/handle.h"
#include "report/json_out.h"
#include "json/json_in.h"

#define JOBS_MOST 65536
#define NUMBER_MOST 1e18 /* ns, or bytes a second: more is no measurement */

/* --- reading --- */

static bool wrong(const struct baseline_text *in, uint32_t line, const char *what)
{
    return study_fail(in->error, "%s:%u: %s; --write-baseline writes baselines", in->path, line, what);
}

static bool real_of(const struct json *object, const char *name, double most, double *number)
{
    const struct json *value = json_get(object, name);

    if (!value || value->type == JSON_NULL) return true;
    return json_real(value, number) && *number >= 0 && *number <= most;
}

static bool read_job(const struct json *from, const struct baseline_text *in, struct diagnose_baseline_job *job)
{
    const struct json *ranks = json_get(from, "ranks"), *message = json_get(from, "message_bytes");

    *job = (struct diagnose_baseline_job){.job = json_string(json_get(from, "job")), .exposed = -1};
    if (!job->job) return wrong(in, from->line, "a job without its name");
    if (ranks && ranks->type != JSON_NULL && !json_u64(ranks, &job->ranks))
        return wrong(in, ranks->line, "'ranks' is no number");
    if (message && message->type != JSON_NULL && !json_u64(message, &job->message_bytes))
        return wrong(in, message->line, "'message_bytes' is no number");
    if (!real_of(from, "exposed_share", 1, &job->exposed))
        return wrong(in, from->line, "'exposed_share' is a share of a step: a number from 0 to 1");
    if (!real_of(from, "step_ns", NUMBER_MOST, &job->step_ns) ||
        !real_of(from, "busbw_bytes_per_s", NUMBER_MOST, &job->busbw))
        return wrong(in, from->line, "'step_ns' and 'busbw_bytes_per_s' are numbers from 0 to 1e18");
    return true;
}

static bool read_jobs(const struct json *list, const struct baseline_text *in, struct diagnose_baseline *baseline)
{
    if (!list || list->type != JSON_ARRAY || list->count > JOBS_MOST)
        return wrong(in, list ? list->line : 1, "'jobs' is no list, or too long a one");
    struct diagnose_baseline_job *job =
        ARENA_NEW(in->arena, struct diagnose_baseline_job, list->count ? list->count : 1);
    if (!job) return study_fail(in->error, "%s: not enough memory", in->path);
    for (const struct json *one = list->child; one; one = one->next)
        if (!read_job(one, in, &job[baseline->jobs++])) return false;
    baseline->job = job;
    return true;
}

static bool read_program(const struct json *from, const struct baseline_text *in,
                         struct diagnose_baseline_program *program)
{
    const struct json *host = json_get(from, "host"), *message = json_get(from, "message_bytes");

    *program = (struct diagnose_baseline_program){.program = json_string(json_get(from, "program"))};
    if (!program->program) return wrong(in, from->line, "a program without its name");
    if (host && host->type != JSON_NULL && !(program->host = json_string(host)))
        return wrong(in, host->line, "'host' is no text");
    if (message && message->type != JSON_NULL && !json_u64(message, &program->message_bytes))
        return wrong(in, message->line, "'message_bytes' is no number");
    if (!real_of(from, "bits_per_s", NUMBER_MOST, &program->rate_bps) ||
        !real_of(from, "latency_ns", NUMBER_MOST, &program->latency_ns))
        return wrong(in, from->line, "'bits_per_s' and 'latency_ns' are numbers from 0 to 1e18");
    return program->rate_bps > 0 || program->latency_ns > 0 ||
           wrong(in, from->line, "a program without 'bits_per_s' and 'latency_ns': one of them is due");
}

/* A list that older baselines do not have. */
static bool read_programs(const struct json *root, const char *name, const struct baseline_text *in,
                          const struct diagnose_baseline_program **ret, uint32_t *ret_count)
{
    const struct json *list = json_get(root, name);
    char what[64];

    if (!list || list->type == JSON_NULL) return true;
    snprintf(what, sizeof what, "'%s' is no list, or too long a one", name);
    if (list->type != JSON_ARRAY || list->count > JOBS_MOST) return wrong(in, list->line, what);
    struct diagnose_baseline_program *program =
        ARENA_NEW(in->arena, struct diagnose_baseline_program, list->count ? list->count : 1);
    if (!program) return study_fail(in->error, "%s: not enough memory", in->path);
    for (const struct json *one = list->child; one; one = one->next)
        if (!read_program(one, in, &program[(*ret_count)++])) return false;
    *ret = program;
    return true;
}

/* The machine of live programs: known in whole, or figures of any machine would be taken for this one's. */
static bool read_machine(const struct json *root, const struct baseline_text *in, struct diagnose_baseline *baseline)
{
    const struct json *machine = json_get(root, "machine"), *live = json_get(root, "live");
    struct baseline_machine *ret = &baseline->machine;

    *ret = (struct baseline_machine){.cpu = json_string(json_get(machine, "cpu")),
                                     .kernel = json_string(json_get(machine, "kernel"))};
    bool whole = ret->cpu && ret->kernel && json_u64(json_get(machine, "processors"), &ret->processors);
    if (whole || baseline->lives == 0) return true;
    return wrong(in, machine ? machine->line : live->line,
                 "'machine' does not say 'cpu', 'processors' and 'kernel' of what is in 'live'");
}

/* 16 hex digits, or nothing; false: something else. */
static bool hex_of(const struct json *value, uint64_t *number)
{
    const char *text = json_string(value);

    if (!value || value->type == JSON_NULL) return true;
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16) return false;
    *number = strtoull(text, NULL, 16);
    return true;
}

static bool read_digest(const struct json *from, const struct baseline_text *in, const struct fabric *fabric,
                        struct diagnose_baseline *baseline)
{
    const struct json *value = json_get(from, "fabric_digest"), *program = json_get(from, "program_digest");

    if (!hex_of(value, &baseline->digest)) return wrong(in, value->line, "'fabric_digest' has no 16 hex digits");
    if (!hex_of(program, &baseline->program)) return wrong(in, program->line, "'program_digest' has no 16 hex digits");
    if (!fabric || !value || value->type == JSON_NULL || baseline->digest == fabric_source_hash(fabric)) return true;
    return study_fail(in->error,
                      "%s:%u: the baseline is of another fabric file: digest %016" PRIx64 ", and %s has %016" PRIx64
                      "; measure a good run of this one and use --write-baseline",
                      in->path, value->line, baseline->digest, fabric_path(fabric), fabric_source_hash(fabric));
}

/* Who signed it and the like: false where it is there and no such text. */
static bool read_word(const struct json *from, const struct baseline_text *in, const char *name, const char **word)
{
    const struct json *value = json_get(from, name);
    char what[64];

    if (!value || value->type == JSON_NULL) return true;
    *word = json_string(value);
    if (*word && **word && strlen(*word) <= BASELINE_NAME) return true;
    snprintf(what, sizeof what, "'%s' is no text of 1 to %d bytes", name, BASELINE_NAME);
    return wrong(in, value->line, what);
}

static bool read_signature(const struct json *from, const struct baseline_text *in, struct diagnose_baseline *baseline)
{
    return read_word(from, in, "signed_by", &baseline->by) && read_word(from, in, "level", &baseline->level);
}

bool baseline_parse(const struct baseline_text *in, const struct fabric *fabric, struct diagnose_baseline *ret)
{
    const char *why, *kind;
    uint32_t line;

    *ret = (struct diagnose_baseline){.content = hash_bytes(HASH_BEGIN, in->text, in->length)};
    const struct json *root = json_parse(in->arena, in->text, in->length, 1, &why, &line);
    if (!root) return wrong(in, line, why);
    kind = json_string(json_get(root, "kind"));
    if (!kind || strcmp(kind, "baseline") != 0) return wrong(in, 1, "not a baseline: 'kind' is not \"baseline\"");
    return read_digest(root, in, fabric, ret) && read_signature(root, in, ret) &&
           read_jobs(json_get(root, "jobs"), in, ret) && read_programs(root, "live", in, &ret->live, &ret->lives) &&
           read_programs(root, "measured", in, &ret->measured, &ret->measureds) && read_machine(root, in, ret);
}

/* --- writing --- */

static uint32_t write_jobs(struct jout *jout, const struct diagnose_baseline *baseline)
{
    uint32_t count = 0;

    jout_open(jout, "jobs", '[');
    for (uint32_t i = 0; i < baseline->jobs; i++) {
        const struct diagnose_baseline_job *job = &baseline->job[i];
        if (job->step_ns > NUMBER_MOST || job->busbw > NUMBER_MOST) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "job", job->job);
        jout_u64(jout, "ranks", job->ranks);
        if (job->step_ns > 0) jout_u64(jout, "step_ns", (uint64_t)job->step_ns);
        if (job->exposed >= 0) jout_real(jout, "exposed_share", job->exposed);
        if (job->busbw > 0) jout_u64(jout, "busbw_bytes_per_s", (uint64_t)job->busbw);
        if (job->message_bytes) jout_u64(jout, "message_bytes", job->message_bytes);
        jout_close(jout);
        count++;
    }
    jout_close(jout);
    return count;
}

static void write_programs(struct jout *jout, const char *name, const struct diagnose_baseline_program *program,
                           uint32_t programs)
{
    if (programs == 0) return;
    jout_open(jout, name, '[');
    for (uint32_t i = 0; i < programs; i++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "program", program[i].program);
        if (program[i].host) jout_text(jout, "host", program[i].host);
        if (program[i].message_bytes) jout_u64(jout, "message_bytes", program[i].message_bytes);
        if (program[i].rate_bps > 0) jout_u64(jout, "bits_per_s", (uint64_t)program[i].rate_bps);
        if (program[i].latency_ns > 0) jout_fixed(jout, "latency_ns", (uint64_t)(program[i].latency_ns * 1e3 + 0.5), 3);
        jout_close(jout);
    }
    jout_close(jout);
}

static void write_machine(struct jout *jout, const struct baseline_machine *machine)
{
    jout_open_line(jout, "machine", '{');
    jout_text(jout, "cpu", machine->cpu);
    jout_u64(jout, "processors", machine->processors);
    jout_text(jout, "kernel", machine->kernel);
    jout_close(jout);
}

static void write_hex(struct jout *jout, const char *name, uint64_t number)
{
    char digits[17];

    snprintf(digits, sizeof digits, "%016" PRIx64, number);
    jout_text(jout, name, digits);
}

uint32_t baseline_print(FILE *out, const struct diagnose_baseline *baseline)
{
    struct jout *jout = jout_begin(out, "baseline");

    if (baseline->digest)
        write_hex(jout, "fabric_digest", baseline->digest);
    else
        jout_null(jout, "fabric_digest");
    if (baseline->program) write_hex(jout, "program_digest", baseline->program);
    if (baseline->level) jout_text(jout, "level", baseline->level);
    if (baseline->owner) jout_text(jout, "owner", baseline->owner);
    if (baseline->by) jout_text(jout, "signed_by", baseline->by);
    uint32_t count = write_jobs(jout, baseline);
    if (baseline->lives) write_machine(jout, &baseline->machine);
    write_programs(jout, "live", baseline->live, baseline->lives);
    write_programs(jout, "measured", baseline->measured, baseline->measureds);
    jout_end(jout);
    return count + baseline->lives + baseline->measureds;
}
