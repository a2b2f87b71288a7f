/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings that no run is paid for: the loader refuses them, or `check` finds an error of ECN, PFC, headroom or buffers
 * that the file itself does not have.
 */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "fabric/handle.h"
#include "tune/tune_int.h"

static bool judged(uint32_t rule)
{
    static const char *const groups[] = {"ECN", "PFC", "HR", "BUF"};

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strncmp(check_rules[rule].id, groups[i], strlen(groups[i])) == 0) return true;
    return false;
}

/* Errors of each rule; the message of the first that `own` (NULL: nothing) has fewer of. */
static void count(const struct fabric *fabric, uint32_t *errors, const uint32_t *own, char *why, size_t room)
{
    const struct check_options options = {.every = true};
    struct check check;

    check_init(&check, fabric, NULL, &options);
    check_run(&check);
    for (uint32_t i = 0; i < check.findings; i++) {
        const struct check_finding *finding = &check.finding[i];
        if (finding->severity != CHECK_ERROR || finding->ignored || !judged(finding->rule)) continue;
        if (++errors[finding->rule] > (own ? own[finding->rule] : UINT32_MAX) && why[0] == '\0')
            snprintf(why, room, "%s: %s", check_rules[finding->rule].id, finding->message);
    }
    check_release(&check);
}

void refuse_open(struct tune *tune)
{
    char why[1] = "";

    tune->errors_own = ARENA_NEW(&tune->arena, uint32_t, check_rule_count + 1u);
    count(tune->fabric, tune->errors_own, NULL, why, sizeof why);
}

void refuse_judge(struct tune *tune, struct tune_point *point)
{
    uint32_t *errors = calloc(check_rule_count + 1u, sizeof *errors);
    struct fabric_errors wrong = {0};
    struct fabric *fabric = NULL;

    point->why[0] = '\0';
    if (tune_load(tune, point, &fabric, &wrong) != 0)
        snprintf(point->why, sizeof point->why, "%.200s", wrong.count ? wrong.error[0].text : "it cannot be loaded");
    else
        count(fabric, errors, tune->errors_own, point->why, sizeof point->why);
    point->refused = point->why[0] != '\0';
    fabric_free(fabric);
    free(errors);
}
