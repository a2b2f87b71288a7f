/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and files of the verbs that run many simulations.
 */
#include "cli/simulate/study.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"

void cli_study_error(const struct study_error *error)
{
    if (error->loader.count) fabric_errors_print(&error->loader, stderr);
    for (uint32_t i = 0; i < error->count; i++)
        cli_error("%s", error->text[i]);
}

void cli_study_rows(const struct cache_count *rows, const char *out, const char *noun)
{
    uint32_t all = 0;

    for (int i = 0; i <= CACHE_NOT_KEPT; i++)
        all += rows->of[i];
    if (rows->of[CACHE_FOUND])
        cli_error("note: %u of %u %s were kept in %s and not run again; --force runs them", rows->of[CACHE_FOUND], all,
                  noun, out);
    if (rows->of[CACHE_DAMAGED])
        cli_error("note: %u of %u %s had a damaged result in %s and were run again", rows->of[CACHE_DAMAGED], all, noun,
                  out);
    if (rows->of[CACHE_NOT_KEPT])
        cli_error("note: %u of %u %s could not be kept in %s: is the disk full?", rows->of[CACHE_NOT_KEPT], all, noun,
                  out);
}

void cli_study_kept(const struct cache *cache, const struct cache_count *rows, const char *out, const char *noun)
{
    cli_study_rows(rows, out, noun);
    if (cache->used && !cache->force && rows->of[CACHE_FOUND] == 0)
        cli_error(
            "note: what was kept in %s is of another fabric file, seed, plan or program: none of it was used, all "
            "%s were run",
            out, noun);
}

void cli_study_stopped(const struct pool_done *done, uint32_t of, const char *out, const char *noun)
{
    if (out)
        cli_error("interrupted: %u of %u %s are done and kept in %s; the same command goes on from there", done->done,
                  of, noun, out);
    else
        cli_error("interrupted: %u of %u %s are done; with --out they would have been kept", done->done, of, noun);
}

bool cli_write_in(const char *folder, const char *name, cli_writer *write, const void *context)
{
    char path[4096];
    struct cli_file file = {0};

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cli_fail("%s/%s: %s", folder, name, strerror(ENAMETOOLONG));
    if (!cli_file_open(&file, NULL, path)) return false;
    if (write(context, file.to)) return cli_file_close(&file);
    cli_error("%s: it could not be made", path);
    cli_file_drop(&file);
    return false;
}
