/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline of a plan: read before it runs, written after it where nothing failed.
 *
 * The file is diagnose_baseline.c's; what is in it, compared and kept is src/validate's.
 */
#include "cli/judge/validate_baseline.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/judge/diagnose_baseline.h"
#include "fabric/handle.h"
#include "fabric/owners.h"
#include "validate/baseline_file.h"

/* A name that a person can read again. */
static bool is_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) return false;
    return *name && strlen(name) <= BASELINE_NAME;
}

bool validate_baseline_sensible(const struct validate_files *files, const struct validate *plan, bool measured)
{
    if (files->by && !files->write)
        cli_error("validate: --by is who signs the baseline that --write-baseline FILE writes");
    else if (files->write && !files->by)
        cli_error("validate: --write-baseline: who signs it? --by NAME");
    else if (files->by && !is_name(files->by))
        cli_error("validate: --by is a name of 1 to %d bytes without control characters", BASELINE_NAME);
    else if ((files->write || files->read) && !plan->phase[4] && !(plan->phase[2] && (plan->live || measured)))
        cli_error(
            "validate: a baseline has the figures of phase 4, and with --live or --measured of phase 2: let --phase "
            "name one of them");
    else
        return true;
    return false;
}

static bool may_sign(const struct fabric *fabric, const char *name)
{
    const char *owner = fabric_owner(fabric, "baseline");

    if (fabric_may_sign(fabric, name)) return true;
    if (owner)
        cli_error("--by '%s': baselines are %s's to sign by the owners of %s: that name, or one of that team", name,
                  owner, fabric_path(fabric));
    else
        cli_error("--by '%s': neither an owner nor in a team of %s", name, fabric_path(fabric));
    return false;
}

bool validate_baseline_load(const struct validate_files *files, struct arena *arena, struct validate *plan)
{
    if (files->by && !may_sign(plan->fabric, files->by)) return false;
    plan->signer = files->by;
    if (!files->read) return true;
    plan->baseline = diagnose_baseline_read(arena, files->read, plan->fabric);
    if (plan->baseline && plan->baseline->digest) return true;
    if (plan->baseline)
        cli_error("%s: the baseline does not say which fabric file it is of; write one with validate --write-baseline",
                  files->read);
    return false;
}

bool validate_baseline_write(const struct validate_files *files, struct arena *arena, const struct validate *plan)
{
    uint32_t failed = validate_count(plan, VALIDATE_FAIL);
    struct diagnose_baseline baseline = {0};

    if (failed)
        return cli_fail(
            "--write-baseline '%s': not written, because %u row%s failed: a baseline is of a fabric that passes",
            files->write, failed, failed == 1 ? "" : "s");
    validate_baseline(plan, arena, &baseline);
    if (!diagnose_baseline_save(&baseline, files->write)) return false;
    if (plan->live && baseline.lives == 0)
        cli_error("--write-baseline '%s': written without a figure of this machine; the rows of --live say why",
                  files->write);
    return true;
}
