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
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/series.h"
#include "report/sim_report.h"
#include "validate/plants/plants.h"

#define STEP_PS (20 * PS_US)   /* between looks; a rule's least window is a minute: three of them */
#define STEP_S 20              /* the same, stretched */
#define STRETCH 1e6            /* a microsecond becomes a second */
#define LONGEST (1600 * PS_US) /* what rules need to see it, and no more */
#define SERIES_BYTES (UINT64_C(2) << 30)
#define EPOCH 1767225600 /* 2026-01-01, where sim_openmetrics() begins */
#define PATH 512
#define FIRED "ALERTS{alertstate=\\\"firing\\\", severity!=\\\"info\\\"}"

extern const char alert_rules[]; /* monitoring/prometheus/rocelab.rules.yml */
extern const unsigned long alert_rules_bytes;
extern char **environ;

struct alerts {
    struct validate_case *of;
    char folder[64];
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
    int status;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, path_in(alerts, "out.txt", path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed = posix_spawnp(&pid, "promtool", &actions, NULL, (char *const *)(uintptr_t)argument, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

/* --- the run's metrics as promtool reads them --- */

/* A metric that some rule asks for. */
static bool is_wanted(const char *name, size_t length)
{
    for (const char *at = alert_rules; (at = strstr(at, name)); at += length)
        if (!strchr("_abcdefghijklmnopqrstuvwxyz", at[length])) return true;
    return false;
}

struct writing {
    FILE *to;
    char *name; /* of the series at hand, with its labels; NULL: none yet */
    char *values;
    size_t room, used;
    long step, last; /* of the series at hand; of all */
    bool wanted, first;
    bool zero, one; /* so far each value was */
};

static bool is_named(const char *series, const char *name)
{
    size_t length = strlen(name);

    return strncmp(series, name, length) == 0 && series[length] == '{';
}

/* What no alert that is judged depends on is left out: promtool takes its time for every series.  Counters that stayed
 * 0 say no more than none, but for sent bytes, where 0 is what a rule looks for; nor do links that are up and at their
 * rate; and some are for dashboards and what is for information alone. */
static bool is_mute(const struct writing *writing)
{
    static const char *const others[] = {"rocelab_link_busy_seconds_total", "rocelab_link_tx_line_bytes_total",
                                         "rocelab_switch_tx_packets_total"};
    const char *name = writing->name;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_named(name, others[i])) return true;
    if (writing->one && (is_named(name, "rocelab_link_up") || is_named(name, "rocelab_link_speed_ratio"))) return true;
    if (!writing->zero || strncmp(name, "rocelab_", 8) != 0) return false;
    return is_named(name, "rocelab_switch_headroom_max_bytes") ||
           (strstr(name, "_total{") && !is_named(name, "rocelab_switch_tx_bytes_total"));
}

static void end_series(struct writing *writing)
{
    if (writing->name && writing->wanted && !is_mute(writing)) {
        fprintf(writing->to, "%s{\"series\": \"", writing->first ? "" : ",\n");
        for (const char *at = writing->name; *at; at++)
            fprintf(writing->to, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        fprintf(writing->to, "\", \"values\": \"%s\"}", writing->values);
        writing->first = false;
    }
    writing->used = 0;
    writing->step = 0;
    writing->zero = writing->one = true;
}

static bool add_value(struct writing *writing, const char *value, long step)
{
    size_t need = writing->used + strlen(value) + 2 + (step > writing->step ? 2 * (size_t)(step - writing->step) : 0);

    if (step < 0 || step > (long)(LONGEST / STEP_PS) + 2) return true;
    if (need + 1 > writing->room) {
        char *grown = realloc(writing->values, 2 * need);
        if (grown == NULL) return false;
        writing->values = grown;
        writing->room = 2 * need;
    }
    for (; writing->step < step; writing->step++)
        writing->used += (size_t)snprintf(writing->values + writing->used, writing->room - writing->used, "_ ");
    writing->used += (size_t)snprintf(writing->values + writing->used, writing->room - writing->used, "%s ", value);
    writing->step = step + 1;
    if (writing->last < step) writing->last = step;
    writing->zero = writing->zero && strcmp(value, "0") == 0;
    writing->one = writing->one && strcmp(value, "1") == 0;
    return true;
}

/* `name{labels} value time` */
static bool add_sample(struct writing *writing, char *line)
{
    char *time = strrchr(line, ' ');

    if (line[0] == '#' || time == NULL) return true;
    *time++ = '\0';
    char *value = strrchr(line, ' ');
    if (value == NULL) return true;
    *value++ = '\0';
    if (writing->name == NULL || strcmp(writing->name, line) != 0) {
        end_series(writing);
        free(writing->name);
        writing->name = strdup(line);
        if (writing->name == NULL) return false;
        size_t length = strcspn(line, "{");
        line[length] = '\0';
        writing->wanted = is_wanted(line, length);
    }
    return !writing->wanted || add_value(writing, value, (long)((strtod(time, NULL) - EPOCH) / STEP_S + 0.5));
}

static bool write_series(struct writing *writing, const struct fabric *fabric, const struct series *series)
{
    char *text = NULL, *rest = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    bool good = to && sim_openmetrics(to, fabric, series, STRETCH);

    if (to && fclose(to) != 0) good = false;
    for (char *line = good ? strtok_r(text, "\n", &rest) : NULL; line && good; line = strtok_r(NULL, "\n", &rest))
        good = add_sample(writing, line);
    end_series(writing);
    free(writing->name);
    free(writing->values);
    free(text);
    return good;
}

/* A file for `promtool test rules`, which expects that nothing fires, and says what did. */
static bool write_test(const struct alerts *alerts, const struct fabric *fabric, const struct series *series)
{
    char path[PATH];
    FILE *to = fopen(path_in(alerts, "test.yml", path), "w");
    struct writing writing = {.to = to, .first = true, .zero = true, .one = true};

    if (to == NULL) return false;
    fprintf(to,
            "{\"rule_files\": [\"rules.yml\"], \"evaluation_interval\": \"%ds\", \"tests\": [{\"interval\": \"%ds\", "
            "\"input_series\": [\n",
            STEP_S, STEP_S);
    bool good = write_series(&writing, fabric, series);
    fprintf(to,
            "],\n\"promql_expr_test\": [{\"expr\": \"group by (alertname, severity) (max_over_time(" FIRED
            "[1d]))\", \"eval_time\": \"%lds\", \"exp_samples\": []}]}]}\n",
            writing.last * STEP_S);
    return fclose(to) == 0 && good;
}

/* --- what fired --- */

/* Whether a word is one of "A|B". */
static bool is_among(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == length && strncmp(at, word, length) == 0) return true;
    return false;
}

/* Out of what promtool printed: `{alertname="PauseStorm", severity="critical"}`. */
static void judge_fired(struct validate_case *of, const struct plant *plant, const char *printed)
{
    char subject[VALIDATE_TEXT], why[VALIDATE_TEXT] = "fired: ";
    const char *got = strstr(printed, "got:");
    bool expected = plant->alerts[0] == '\0';
    uint32_t wrong = 0, fired = 0;

    for (const char *at = got ? got : ""; (at = strstr(at, "alertname=\"")); fired++) {
        at += strlen("alertname=\"");
        size_t length = strcspn(at, "\""), used = strlen(why);
        const char *end = at + strcspn(at, "}"), *critical = strstr(at, "severity=\"critical\"");
        snprintf(why + used, sizeof why - used, "%s%.*s", fired ? ", " : "", (int)(length < 64 ? length : 64), at);
        if (is_among(plant->alerts, at, length))
            expected = true;
        else if (!is_among(plant->follows, at, length))
            wrong += plant->alerts[0] == '\0' || (critical && critical < end);
    }
    if (fired == 0) snprintf(why, sizeof why, "nothing fired");
    if (plant->alerts[0])
        snprintf(subject, sizeof subject, "%s: %s does not fire, or another critical alert does", plant->name,
                 plant->alerts);
    else
        snprintf(subject, sizeof subject, "%s: alerts about a good run", plant->name);
    validate_judge(of, &(struct validate_finding){
                           .subject = subject, .criterion = CRITERION_ALERTS, .value = wrong + !expected, .why = why});
}

static void ask_promtool(const struct alerts *alerts, const struct plant *plant)
{
    char path[PATH], test[PATH], printed[8192];
    const char *const argument[] = {"promtool", "test", "rules", path_in(alerts, "test.yml", test), NULL};
    int status = promtool(alerts, argument);
    FILE *from = fopen(path_in(alerts, "out.txt", path), "r");
    size_t bytes = from ? fread(printed, 1, sizeof printed - 1, from) : 0;

    if (from) fclose(from);
    printed[bytes] = '\0';
    if (status == 0 || (status == 1 && strstr(printed, "got:")))
        judge_fired(alerts->of, plant, printed);
    else
        validate_tell(alerts->of, VALIDATE_FAIL, plant->name, "promtool test rules ends", "%.250s", printed);
}

static void judge_plant(const struct alerts *alerts, const struct failures *failures, const struct plant *plant)
{
    const struct sim_series_options options = {.step = STEP_PS, .most_bytes = SERIES_BYTES};
    struct series *series = NULL;
    struct variant variant;
    const char *why;

    if (!plant_open(alerts->of, failures, plant, &variant)) return;
    bool good = sim_series_create(variant.sim, &options, &series) == 0;
    if (good) sim_watch(variant.sim, series);
    if (good && variant_run(alerts->of, plant->name, &variant, plant->until < LONGEST ? plant->until : LONGEST)) {
        if (!plant_works(plant, &variant, &why)) {
            validate_skip(alerts->of, plant->name, "%s", why);
        } else if (sim_imbalance(variant.sim, &variant.result) == 0) {
            sim_observe_tiers(&variant.result, series);
            good = write_test(alerts, variant.fabric, series);
            if (good) ask_promtool(alerts, plant);
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
    struct plant plant[PLANTS_MOST];
    struct failures failures;

    if (!failures_choose(of, PS_MS, &failures)) return;
    if (of->fabric->ports > most[of->plan->level]) {
        validate_skip(of, "", "promtool takes minutes for %u ports; up to %u are looked at in a %s run",
                      of->fabric->ports, most[of->plan->level], validate_level_names[of->plan->level]);
        return;
    }
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
        uint32_t count = plants_choose(of, &failures, plant);
        for (uint32_t i = 0; i < count; i++)
            if (plant[i].alerts && (of->plan->level != VALIDATE_QUICK || plant[i].quick))
                judge_plant(&alerts, &failures, &plant[i]);
    }
    remove_all(&alerts);
}
