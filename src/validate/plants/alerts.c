/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 6: each planted cause raises its alert, and a good run none.
 *
 * Rules are Prometheus' to evaluate, so Prometheus does: its promtool is given the rules that this program was built
 * with and the run's metrics, a microsecond stretched to a second as in docs/alerts.md, and asked which alerts
 * fired.  Where it is not installed the test is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "observe/series.h"
#include "validate/plants/plants.h"
#include "validate/plants/rules_input.h"

#define SERIES_BYTES (UINT64_C(2) << 30)
#define PATH 512
#define OWN 512
#define ALERT "alertname=\""

extern char **environ;

struct alerts {
    struct validate_case *of;
    char folder[64];
    char own[OWN]; /* critical ones that faults of the file raise: "A|B" */
};

static const char *path_in(const struct alerts *alerts, const char *name, char buf[PATH])
{
    snprintf(buf, PATH, "%s/%s", alerts->folder, name);
    return buf;
}

/* promtool with these arguments, what it prints into the file; its exit status, -1: it cannot be run. */
static int promtool(const struct alerts *alerts, const char *const *argument)
{
    char path[PATH];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t signals;
    sigset_t ignored; /* by us */
    int status;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, path_in(alerts, "out.txt", path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    sigaddset(&ignored, SIGXFSZ);
    posix_spawnattr_init(&signals);
    posix_spawnattr_setsigdefault(&signals, &ignored);
    posix_spawnattr_setflags(&signals, POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawnp(&pid, "promtool", &actions, &signals, (char *const *)(uintptr_t)argument, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&signals);
    if (failed) return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

/* --- what fired --- */

/* Whether a word is one of "A|B". */
static bool is_among(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == length && strncmp(at, word, length) == 0) return true;
    return false;
}

/* Of each list of alerts one is to fire; answers how many do not. */
static uint32_t count_silent(const struct planted *plant, const char *got)
{
    uint32_t silent = 0;

    for (unsigned c = 0; c < PLANT_CAUSES && plant->alerts[c] && plant->alerts[c][0]; c++) {
        bool fires = false;
        for (const char *at = got; (at = strstr(at, ALERT)); at++)
            fires |= is_among(plant->alerts[c], at + strlen(ALERT), strcspn(at + strlen(ALERT), "\""));
        silent += !fires;
    }
    return silent;
}

static bool is_expected(const struct alerts *alerts, const struct planted *plant, const char *word, size_t length)
{
    for (unsigned c = 0; c < PLANT_CAUSES && plant->alerts[c]; c++)
        if (is_among(plant->alerts[c], word, length)) return true;
    return is_among(plant->follows, word, length) || is_among(alerts->own, word, length);
}

static void keep_own(struct alerts *alerts, const char *got)
{
    for (const char *at = got; (at = strstr(at, ALERT));) {
        at += strlen(ALERT);
        size_t used = strlen(alerts->own);
        snprintf(alerts->own + used, sizeof alerts->own - used, "%.*s|", (int)strcspn(at, "\""), at);
    }
}

/* Out of what promtool printed: `{alertname="PauseStorm", severity="critical"}`. */
static void judge_fired(const struct alerts *alerts, const struct planted *plant, const char *got)
{
    const char *name = plant->name, *subject, *why = "fired: ";
    uint32_t wrong = 0, fired = 0;

    for (const char *at = got; (at = strstr(at, ALERT)); fired++) {
        at += strlen(ALERT);
        size_t length = strcspn(at, "\"");
        const char *end = at + strcspn(at, "}"), *critical = strstr(at, "severity=\"critical\"");
        why = case_text(alerts->of, "%s%s%.*s", why, fired ? ", " : "", (int)(length < 64 ? length : 64), at);
        wrong += plant->good || ((critical && critical < end) && !is_expected(alerts, plant, at, length));
    }
    if (fired == 0) why = "nothing fired";
    if (plant->good)
        subject = case_text(alerts->of, "%s: alerts about a good run", name);
    else if (!plant->alerts[0][0])
        subject = case_text(alerts->of, "%s: critical alerts", name);
    else
        subject =
            case_text(alerts->of, "%s: raises %s%s%s; missing alerts and other critical ones", name, plant->alerts[0],
                      plant->alerts[1] ? " and " : "", plant->alerts[1] ? plant->alerts[1] : "");
    JUDGE(alerts->of, .subject = subject, .criterion = CRITERION_ALERTS, .value = wrong + count_silent(plant, got),
          .why = why);
}

static void ask_promtool(struct alerts *alerts, const struct planted *plant)
{
    char path[PATH], test[PATH], printed[8192];
    const char *const argument[] = {"promtool", "test", "rules", path_in(alerts, "test.yml", test), NULL};
    int status = promtool(alerts, argument);
    FILE *from = fopen(path_in(alerts, "out.txt", path), "r");
    size_t bytes = from ? fread(printed, 1, sizeof printed - 1, from) : 0;

    if (from) fclose(from);
    printed[bytes] = '\0';
    const char *got = strstr(printed, "got:");
    if (plant->own && got)
        keep_own(alerts, got);
    else if (!plant->own && (status == 0 || (status == 1 && got)))
        judge_fired(alerts, plant, got ? got : "");
    else if (status != 0)
        validate_tell(alerts->of, VALIDATE_FAIL, plant->name, "promtool test rules ends", "%.250s", printed);
}

static bool write_test(const struct alerts *alerts, const struct fabric *fabric, const struct series *series)
{
    char path[PATH];
    FILE *to = fopen(path_in(alerts, "test.yml", path), "w");
    bool good = to && rules_input_write(to, fabric, series);

    return to && fclose(to) == 0 && good;
}

static void judge_plant(struct alerts *alerts, const struct failures *failures, const struct planted *plant)
{
    const struct sim_series_options options = {.step = RULES_STEP_PS, .most_bytes = SERIES_BYTES};
    struct series *series = NULL;
    struct variant variant;
    const char *why;

    if (!plant_open(alerts->of, failures, plant, &variant)) return;
    bool good = sim_series_create(variant.sim, &options, &series) == 0;
    if (good) sim_watch(variant.sim, series);
    if (good && variant_run(alerts->of, plant->name, &variant,
                            plant->until < RULES_LONGEST_PS ? plant->until : RULES_LONGEST_PS)) {
        if (plant_works(plant, &variant, &why)) {
            good = sim_imbalance(variant.sim, &variant.result) == 0;
            if (good) sim_observe_tiers(&variant.result, series);
            good = good && write_test(alerts, variant.fabric, series);
            if (good) ask_promtool(alerts, plant);
        } else {
            validate_skip(alerts->of, plant->name, "%s", why);
        }
        variant_close(&variant);
    }
    if (!good)
        validate_tell(alerts->of, VALIDATE_FAIL, plant->name, "its metrics can be written",
                      "not enough memory or disk");
    series_free(series);
}

static bool write_rules(const struct alerts *alerts)
{
    char path[PATH];
    FILE *to = fopen(path_in(alerts, "rules.yml", path), "w");

    if (to == NULL) return false;
    fwrite(alert_rules, 1, alert_rules_bytes, to);
    return fclose(to) == 0;
}

static void remove_all(const struct alerts *alerts)
{
    static const char *const names[] = {"rules.yml", "test.yml", "out.txt"};
    char path[PATH];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_in(alerts, names[i], path));
    rmdir(alerts->folder);
}

void test_alerts(struct validate_case *of)
{
    static const char *const version[] = {"promtool", "--version", NULL};
    static const uint32_t most[VALIDATE_LEVELS] = {1024, 4096, UINT32_MAX};
    struct alerts alerts = {.of = of, .folder = "/tmp/rocelab-alerts-XXXXXX"};
    struct failures failures;

    if (!plants_traffic(of, &failures)) return;
    if (validate_skip_if(of, of->fabric->ports > most[of->plan->level], "",
                         "promtool takes minutes for %u ports; up to %u are looked at in a %s run", of->fabric->ports,
                         most[of->plan->level], validate_level_names[of->plan->level]))
        return;
    if (mkdtemp(alerts.folder) == NULL) {
        validate_skip(of, "", "no folder in /tmp for promtool: %s", strerror(errno));
        return;
    }
    if (promtool(&alerts, version) != 0) {
        validate_skip(of, "",
                      "promtool is not installed (Debian: prometheus): it evaluates the rules (docs/alerts.md)");
    } else if (!write_rules(&alerts)) {
        validate_skip(of, "", "the rules cannot be written to %s: %s", alerts.folder, strerror(errno));
    } else {
        uint32_t count;
        struct planted *plant = plants_choose(of, &failures, &count);
        for (uint32_t i = 0; i < count; i++)
            if (plant[i].alerts[0] && !plant[i].lacks && (of->plan->level != VALIDATE_QUICK || plant[i].quick))
                judge_plant(&alerts, &failures, &plant[i]);
    }
    remove_all(&alerts);
}
