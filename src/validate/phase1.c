/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 1, laboratory: the inputs are known and right, and a run of them can be had again.
 */
#include <inttypes.h>
#include <string.h>

#include "check/check.h"
#include "config/diff.h"
#include "fabric/fabric.h"
#include "fabric/places.h"
#include "validate/case.h"

#define FAN_IN_MOST 32u
#define RANKS_MOST 1024u

static void judge_check(struct validate_case *of)
{
    const struct check_options options = {.failures = 0};
    struct fabric_places *places = NULL;
    const char *why = "";
    struct check check;

    fabric_places_open(of->fabric, of->plan->text, &places);
    check_init(&check, of->fabric, places, &options);
    check_run(&check);
    uint32_t f = 0;
    while (f < check.findings && (check.finding[f].severity != CHECK_ERROR || check.finding[f].ignored))
        f++;
    if (f < check.findings)
        why = case_text(of, "line %u: %s: %s", check.finding[f].line, check_rules[check.finding[f].rule].id,
                        check.finding[f].message);
    JUDGE(of, .subject = "rocelab check: errors", .criterion = CRITERION_CHECK_ERRORS,
          .value = check_count(&check, CHECK_ERROR), .why = why);
    check_release(&check);
    fabric_places_free(places);
}

static void keep_first(void *to, const struct drift *drift)
{
    char *why = to;

    if (why[0] == '\0')
        snprintf(why, VALIDATE_TEXT, "%s%s%s: %s: approved %s, here %s; owner: %s", drift->device,
                 drift->port ? " " : "", drift->port ? drift->port : "", drift->key, drift->approved, drift->running,
                 drift->owner ? drift->owner : "nobody");
}

static void judge_diff(struct validate_case *of)
{
    static const char subject[] = "rocelab diff against the approved fabric";
    const struct validate *plan = of->plan;
    struct fabric_places *here = NULL, *there = NULL;
    char why[VALIDATE_TEXT] = "";

    if (validate_skip_if(of, plan->approved == NULL, subject, "no approved file is named: --approved FABRIC")) return;
    bool enough = fabric_places_open(of->fabric, plan->text, &here) == 0 &&
                  fabric_places_open(plan->approved, plan->approved_text, &there) == 0;
    struct diff diff = {.approved = {.fabric = plan->approved, .places = there},
                        .running = {.fabric = of->fabric, .places = here},
                        .each = keep_first,
                        .to = why};
    if (enough) diff_run(&diff);
    if (enough)
        JUDGE(of, .subject = subject, .criterion = CRITERION_DIFFERENCES, .value = (double)diff.drifts, .why = why);
    else
        validate_tell(of, VALIDATE_FAIL, subject, "it can be compared", "its text cannot be read again");
    fabric_places_free(here);
    fabric_places_free(there);
}

bool version_is_approved(const struct fabric_approved *approved, uint32_t part, const char *version)
{
    for (uint32_t v = 0; v < approved->versions[part]; v++)
        if (version && strcmp(approved->version[part][v], version) == 0) return true;
    return false;
}

void versions_judge(struct validate_case *of)
{
    const struct fabric_operations *operations = &of->fabric->operations;
    uint32_t asked = 0, wrong = 0;
    const char *why = "";

    for (uint32_t n = 0; n < of->fabric->nodes; n++) {
        const struct fabric_node *node = &of->fabric->node[n];
        const struct fabric_approved *approved = &operations->approved[node->role];
        const struct fabric_device *device = operations->device ? operations->device[n] : NULL;
        for (uint32_t part = 0; part < FABRIC_PARTS; part++) {
            if (approved->versions[part] == 0) continue;
            const char *version = device ? device->installed[part] : NULL;
            asked++;
            if (version_is_approved(approved, part, version)) continue;
            if (wrong++ == 0)
                why = case_text(of, "%s: %s %s, approved is %s", node->name, fabric_part_names[part],
                                version ? version : "is not said", approved->version[part][0]);
        }
    }
    if (validate_skip_if(of, asked == 0, "versions installed and approved",
                         "no version is approved; say roles: {leaf: {approved: {nos: ...}}}"))
        return;
    JUDGE(of, .subject = "parts without an approved version", .criterion = CRITERION_UNAPPROVED, .value = wrong,
          .why = why);
}

void inputs_judge_file(struct validate_case *of)
{
    validate_tell(of, VALIDATE_PASS, case_text(of, "fabric %016" PRIx64, of->fabric->source_hash),
                  "digest of what the file says", "%s", "");
    judge_check(of);
    judge_diff(of);
}

void test_inputs(struct validate_case *of)
{
    inputs_judge_file(of);
    versions_judge(of);
}

/* Three digests of one simulation; false after a row that says what is wrong. */
static bool run_thrice(struct validate_case *of, const char *subject, const char *jobs, uint64_t digest[3])
{
    static const uint32_t threads[] = {1, 1, 2};

    for (int i = 0; i < 3; i++) {
        const struct sim_options options = {.threads = threads[i]};
        struct variant variant = {0};
        if (!variant_open(of, subject, jobs, &variant, &options)) return false;
        if (!variant_run(of, subject, &variant, PS_S)) return false;
        digest[i] = variant.result.digest;
        variant_close(&variant);
    }
    return true;
}

void test_reproducible(struct validate_case *of)
{
    static const char subject[] = "digests of three runs: one thread, one thread, two threads";
    uint64_t digest[3];
    uint32_t different = 1, count;
    const char *ranks = choose_ranks(of, RANKS_MOST, &count);
    const char *jobs =
        case_text(of, "[{permutation: random, size: 64KB, ranks: %s}, {incast: %u, size: 64KB, at: 2us, ranks: %s}]",
                  ranks, count - 1 < FAN_IN_MOST ? count - 1 : FAN_IN_MOST, ranks);

    if (count < 2) {
        validate_skip(of, subject, "no two endpoints reach each other");
    } else if (run_thrice(of, subject, jobs, digest)) {
        different += digest[1] != digest[0];
        different += digest[2] != digest[0] && digest[2] != digest[1];
        JUDGE(of, .subject = subject, .criterion = CRITERION_DIGESTS, .value = different,
              .why = "the simulator is not deterministic here: report it");
    }
}

void test_deadlock(struct validate_case *of)
{
    const struct check_options options = {.failures = 1};
    const char *why = "", *stopped = NULL;
    uint32_t circles = 0;
    struct check check;

    check_init(&check, of->fabric, NULL, &options);
    check_run(&check);
    for (uint32_t f = 0; f < check.findings; f++) {
        const struct check_finding *finding = &check.finding[f];
        const char *id = check_rules[finding->rule].id;
        if (finding->ignored || (strcmp(id, "TOP001") != 0 && strcmp(id, "TOP002") != 0)) continue;
        if (finding->severity != CHECK_ERROR) { /* it gave up before it had seen all */
            stopped = finding->message;
            continue;
        }
        if (circles++ == 0) why = case_text(of, "%s: %s", id, finding->message);
    }
    const char *subject = case_text(of, "circles of buffers that wait for each other, in %s states of the routes",
                                    case_number(of, VALIDATE_COUNT, (double)check.states));
    if (check.states == 0 && circles == 0)
        validate_skip(of, "", "nothing pauses, or there are no two switches: no circle is possible");
    else if (stopped && circles == 0)
        validate_tell(of, VALIDATE_WARN, subject, "none in any of them", "none so far; %s", stopped);
    else
        JUDGE(of, .subject = subject, .criterion = CRITERION_CIRCLES, .value = circles, .why = why);
    check_release(&check);
}
