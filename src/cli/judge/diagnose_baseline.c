/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a baseline; what is in it is validate/baseline_file.c's.
 */
#include "cli/judge/diagnose_baseline.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/simulate/study.h"
#include "cli/source.h"
#include "fabric/handle.h"
#include "validate/baseline_file.h"

#define FILE_MOST (16u << 20)

const struct diagnose_baseline *diagnose_baseline_read(struct arena *arena, const char *path,
                                                       const struct fabric *fabric)
{
    struct diagnose_baseline *baseline = ARENA_NEW(arena, struct diagnose_baseline, 1);
    struct study_error error = {0};
    char *text;
    size_t length;

    if (!baseline || !cli_read_replaceable(path, FILE_MOST, &text, &length)) return NULL;
    const struct baseline_text in = {.path = path, .text = text, .length = length, .arena = arena, .error = &error};
    bool good = baseline_parse(&in, fabric, baseline);
    cli_study_error(&error);
    free(text);
    return good ? baseline : NULL;
}

bool diagnose_baseline_save(const struct diagnose_baseline *baseline, const char *path)
{
    struct cli_file file = {0};

    if (!cli_file_open(&file, "--write-baseline", path)) return false;
    if (baseline_print(file.to, baseline)) return cli_file_close(&file);
    cli_error("--write-baseline '%s': not written: the input has no time of a job or program", path);
    cli_file_drop(&file);
    return false;
}

bool diagnose_baseline_write(const struct diagnose *diagnose, const char *path)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_baseline baseline = {.digest = evidence->fabric ? fabric_source_hash(evidence->fabric) : 0};
    struct diagnose_baseline_job *job;
    uint32_t count = 0;

    if (diagnose_worst(diagnose) > DIAGNOSE_INFO)
        return cli_fail("--write-baseline '%s': not written, because something was found: a baseline is of a good run",
                        path);
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, id) count++;
    job = calloc(count ? count : 1, sizeof *job);
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, id) baseline.jobs += baseline_of(evidence, id, &job[baseline.jobs]);
    baseline.job = job;
    bool good = diagnose_baseline_save(&baseline, path);
    free(job);
    return good;
}
