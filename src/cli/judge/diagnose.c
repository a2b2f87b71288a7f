/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab diagnose INPUT...: who did it, and was it the network at all.
 *
 * Inputs become evidence (src/evidence), rules judge it (src/diagnose), src/report writes the answer down.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/judge/diagnose_baseline.h"
#include "cli/judge/diagnose_live.h"
#include "cli/judge/diagnose_page.h"
#include "cli/option.h"
#include "cli/outputs.h"
#include "cli/source.h"
#include "evidence/read/reader.h"
#include "report/diagnosis/diagnosis.h"

#define INTERVAL_USUAL (2 * PS_S)
#define LIVE "live"

struct settings {
    struct cli_common common;
    const char *fabric; /* NULL: none */
    const char *from;
    const char *baseline, *write_baseline; /* NULL: none */
    struct cli_html html;
    ps_t interval;    /* of live; 0: not said */
    uint32_t explain; /* DIAGNOSE_RULES: not asked */
    bool list, walk;
};

static const char *rule_name(const void *list, size_t index)
{
    return ((const struct diagnose_rule *)list)[index].id;
}

static const char *kind_name(const void *list, size_t index)
{
    const char *what;

    (void)list;
    return reader_kind(index, &what);
}

static bool set_explain(void *to, const char *argument)
{
    size_t rule =
        cli_one_of("explain", argument, rule_name, diagnose_rules, DIAGNOSE_RULES, "rule", "--list lists them");

    *(uint32_t *)to = (uint32_t)rule;
    return rule < DIAGNOSE_RULES;
}

static bool set_from(void *to, const char *argument)
{
    size_t count = 0;

    while (kind_name(NULL, count))
        count++;
    size_t kind = cli_one_of("from", argument, kind_name, NULL, count, "kind", "--list lists them");
    *(const char **)to = kind_name(NULL, kind);
    return kind < count;
}

static const struct cli_option options[] = {
#include "cli/judge/diagnose_options.def"
};

static void more_help(FILE *out)
{
    const struct text_style style = cli_style();

    text_wrap(out, &style, 0, 0,
              "INPUT is a document of 'sim --json' or 'up --json', a file of Prometheus' metrics, a text that "
              "switches, hosts or jobs printed, copied from a terminal as it is, a folder of such texts, "
              "DIR/TIME/DEVICE/*.txt, or an archive of one (tar, gzip, zip); '-': through a pipe; or 'live': the "
              "programs that run under 'rocelab run' on this machine (a file of that name is './live').");
    fputs("\nExamples:\n"
          "  rocelab sim fabric.yaml --json > run.json; rocelab diagnose run.json\n"
          "  rocelab diagnose dumps --fabric fabric.yaml --html dumps.html\n"
          "  rocelab diagnose session.txt; rocelab diagnose dumps.tgz\n"
          "  rocelab diagnose --explain D03\n"
          "\nExit status: 0 looked at enough, and nothing harms; 1 a cause was found; 2 wrong use, unreadable\n"
          "input, or memory ran out; 3 not enough was read for either: what would decide is printed.\n",
          out);
}

static const struct cli_command command = {
    .verb = "diagnose",
    .operands = "INPUT...",
    .about = "Reads the counters that you have, names causes, culprits and victims with the evidence for each, or says "
             "that nothing is wrong, or which output would decide it.",
    CLI_OWN(options),
    .strict = "exit 1 for findings that are only for information too",
    .more_by = more_help,
};

/* Whether a kind has one more reader, which was listed with the one before: both directions of a counter. */
static bool listed(size_t index)
{
    return index && !strcmp(kind_name(NULL, index), kind_name(NULL, index - 1));
}

static void list_json(FILE *out, uint32_t only)
{
    struct jout *jout = jout_begin(out, "diagnose-rules");
    const char *kind, *what;

    diagnose_json_rules(jout, only);
    jout_open(jout, "kinds", '[');
    for (size_t i = 0; only == DIAGNOSE_RULES && (kind = reader_kind(i, &what)); i++) {
        if (listed(i)) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "kind", kind);
        jout_text(jout, "what", what);
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}

static void list_text(FILE *out)
{
    const char *kind, *what;

    fputs("Rules, in the order in which they explain each other:\n", out);
    const struct text_style style = cli_style();
    diagnose_text_rules(out, &style);
    fputs("\nKinds of input (--from):\n", out);
    for (size_t i = 0; (kind = reader_kind(i, &what)); i++)
        if (!listed(i)) fprintf(out, "%-21s  %s\n", kind, what);
}

static bool read_inputs(const struct settings *settings, struct evidence *evidence, char **input, int inputs)
{
    char why[512];

    for (int i = 0; i < inputs; i++) {
        if (!strcmp(input[i], LIVE)) {
            if (!diagnose_live(evidence, settings->interval ? settings->interval : INTERVAL_USUAL)) return false;
            continue;
        }
        if (!evidence_read(evidence, input[i], settings->from, why, sizeof why))
            cli_error("%s: %s", input[i], why);
        else if (evidence->broken) /* the half of a document would acquit whoever stands in the other */
            cli_error("%s:%u: broken JSON: %s; is the document whole?", input[i], evidence->broken_line,
                      evidence->broken);
        else
            continue;
        return false;
    }
    bool known = evidence->values || evidence->events || evidence->lines_taken;
    const struct evidence_remark *first = evidence->remarks ? &evidence->remark[0] : NULL;
    if (known) return true;
    if (evidence->unread)
        cli_error("%s", evidence->first_unread);
    else if (first && first->line && first->file < evidence->files)
        cli_error("%s:%u: %s", evidence->file[first->file], first->line, first->text);
    else
        cli_error("%s: no known counter in it; 'rocelab diagnose --list' lists what is read", input[0]);
    return false;
}

/* Answers an enum cli_exit. */
static int answer(struct settings *settings, const struct diagnose_report *report, FILE *out)
{
    const struct diagnose *diagnose = report->diagnose;
    const struct text_style style = cli_style();

    if (settings->common.json) {
        diagnose_json(out, report, NULL);
    } else {
        diagnose_text(out, report, &style, settings->common.quiet);
    }
    if (!diagnose_page(&settings->html, report)) return CLI_WRONG;
    if (diagnose->answer == DIAGNOSE_CAUSE || (settings->common.strict && diagnose->findings)) return CLI_PROBLEMS;
    /* Who writes a baseline says that the run was good: what is asked for is done. */
    return diagnose->answer == DIAGNOSE_CLEAR || settings->write_baseline ? CLI_DONE : CLI_NOT_ENOUGH;
}

/* Half of the evidence, or of the findings, acquits nobody. */
static bool is_whole(bool full, const struct evidence *evidence)
{
    if (full || evidence->full)
        cli_error("diagnose: memory ran out: the answer is not whole; give fewer inputs at a time, or more memory");
    if (evidence->unread == 1)
        cli_error("%s: the answer is not whole", evidence->first_unread);
    else if (evidence->unread)
        cli_error("%s, and %u more could not be read: the answer is not whole", evidence->first_unread,
                  evidence->unread - 1);
    return !full && evidence_is_whole(evidence);
}

/* Judges evidence that is read, and answers. */
static int judge(struct settings *settings, struct evidence *evidence, const struct diagnose_baseline *baseline,
                 struct diagnose_report *report, FILE *out)
{
    struct diagnose diagnose;

    diagnose_run(&diagnose, evidence, baseline);
    report->diagnose = &diagnose;
    int status = answer(settings, report, out);
    if (!is_whole(diagnose.full, evidence)) status = CLI_WRONG;
    if (settings->write_baseline && status != CLI_WRONG &&
        !diagnose_baseline_write(&diagnose, settings->write_baseline) && status == CLI_DONE)
        status = CLI_WRONG;
    diagnose_release(&diagnose);
    return status;
}

/* --walk: cables instead of findings. */
static int walk_links(const struct settings *settings, const struct evidence *evidence, FILE *out)
{
    const struct text_style style = cli_style();
    struct walk walk;

    walk_run(&walk, evidence);
    if (settings->common.json) {
        walk_json(out, &walk);
    } else {
        walk_text(out, &walk, &style, settings->common.quiet);
    }
    int status = !is_whole(walk.full, evidence) ? CLI_WRONG : walk.problems ? CLI_PROBLEMS : CLI_DONE;
    walk_release(&walk);
    return status;
}

static int run(struct settings *settings, char **input, int inputs, FILE *out)
{
    struct cli_source source = {0};
    struct evidence evidence;
    const struct diagnose_baseline *baseline = NULL;
    int status = CLI_WRONG;

    char *path = strdup(settings->fabric ? settings->fabric : "");
    struct cli_inputs file = {.path = &path, .paths = 1};
    if (!path || (settings->fabric && !cli_source_load(&source, &file))) {
        free(path);
        return CLI_WRONG;
    }
    evidence_init(&evidence);
    if (settings->baseline) baseline = diagnose_baseline_read(&evidence.arena, settings->baseline, source.fabric);
    if ((baseline || !settings->baseline) && read_inputs(settings, &evidence, input, inputs)) {
        struct diagnose_report report = {.input = input, .inputs = inputs};
        evidence_finish(&evidence, source.fabric);
        status =
            settings->walk ? walk_links(settings, &evidence, out) : judge(settings, &evidence, baseline, &report, out);
    }
    evidence_release(&evidence);
    cli_source_release(&source);
    free(path);
    return status;
}

/* Whether --write-baseline leaves what is read as it is; an old baseline may be written over. */
static bool spares_inputs(const struct settings *settings, char **input, int inputs)
{
    for (int i = -1; i < inputs; i++) {
        struct cli_outputs outputs = {.count = 0};
        cli_outputs_read(&outputs, i < 0 ? "the fabric" : "the input", i < 0 ? settings->fabric : input[i]);
        cli_outputs_write(&outputs, "--write-baseline", settings->write_baseline);
        if (outputs.clash) return false;
    }
    return true;
}

static bool asks_live(char **input, int inputs)
{
    for (int i = 0; i < inputs; i++)
        if (!strcmp(input[i], LIVE)) return true;
    return false;
}

int verb_diagnose(int argc, char **argv, FILE *out)
{
    struct settings settings = {.explain = DIAGNOSE_RULES};
    const struct text_style style = cli_style();
    int first;
    int status = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (status != CLI_GO) return status;
    if (settings.list || settings.explain != DIAGNOSE_RULES) {
        if (settings.common.json)
            list_json(out, settings.explain);
        else if (settings.list)
            list_text(out);
        else
            diagnose_text_rule(out, &style, settings.explain);
        return CLI_DONE;
    }
    if (first == argc) return cli_wrong("diagnose: which input? see 'rocelab help diagnose'");
    if (settings.walk && (settings.html.path || settings.baseline || settings.write_baseline))
        return cli_wrong(
            "diagnose: --walk judges no job and writes no page: leave out --html, --baseline, --write-baseline");
    if (settings.interval && !asks_live(argv + first, argc - first))
        return cli_wrong(
            "diagnose: --interval is the time between two looks at live programs: give the input 'live' too, or "
            "leave it out");
    if (!spares_inputs(&settings, argv + first, argc - first)) return CLI_WRONG;
    if (!cli_html_begin(&settings.html, argc, argv)) return CLI_WRONG;
    status = run(&settings, argv + first, argc - first, out);
    cli_html_release(&settings.html);
    return status;
}
