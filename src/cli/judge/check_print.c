/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as JSON, SARIF 2.1.0 (OASIS) and JUnit XML, and the list of rules.  Text is check_text.c's.
 */
#include "cli/judge/check.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/ends.h"
#include "report/json_out.h"
#include "report/rows/rows.h"
#include "report/text.h"

const char *check_file(const struct check_input *input, const struct check_finding *finding)
{
    return finding->file ? finding->file : input->source.path;
}

/* The other places of a cause; for thousands of ports the first are enough. */
#define PLACES_MAX 1000u
static void places_json(struct jout *jout, const struct check_input *input, const struct check_cause *cause)
{
    jout_open(jout, "places", '[');
    for (uint32_t c = 1; c < cause->count && c <= PLACES_MAX; c++) {
        const struct check_finding *finding = &input->check.finding[cause->finding[c]];
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "device", finding->device);
        jout_text(jout, "port", finding->port);
        jout_text(jout, "file", check_file(input, finding));
        jout_u64(jout, "line", finding->line);
        jout_close(jout);
    }
    jout_close(jout);
}

static void cause_json(struct jout *jout, const struct check_input *input, const struct check_cause *cause)
{
    const struct check_finding *finding = &input->check.finding[cause->finding[0]];

    jout_open_line(jout, NULL, '{');
#include "report/rows/check_finding.def"
    jout_close(jout);
}

/* What importers did not understand, or what they assumed. */
static void lines_json(struct jout *jout, const struct check_input *input, bool assumed)
{
    for (uint32_t n = 0; check_set(input) && n < input->source.set.notes; n++) {
        const struct config_note *note = &input->source.set.note[n];
        if (note->rule || note->assumed != assumed) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "file", input->source.set.path[note->at.source]);
        jout_u64(jout, "line", note->at.line);
        jout_text(jout, "message", note->message);
        jout_close(jout);
    }
}

void check_print_json(const struct check_input *input, uint32_t count, FILE *out)
{
    struct jout *jout = jout_begin(out, "check");
    uint64_t states = 0, searched = 0;

    jout_open(jout, "findings", '[');
    for (uint32_t i = 0; i < count; i++) {
        states += input[i].check.states;
        searched += input[i].check.searched;
        for (uint32_t c = 0; c < input[i].causes; c++)
            cause_json(jout, &input[i], &input[i].cause[c]);
    }
    jout_close(jout);
    for (int assumed = 0; assumed < 2; assumed++) {
        jout_open(jout, assumed ? "assumed" : "not_understood", '[');
        for (uint32_t i = 0; i < count; i++)
            lines_json(jout, &input[i], assumed == 1);
        jout_close(jout);
    }
    JOUT_LIST(jout, "unjudged", i, count, check_unjudged_json(jout, &input[i]));
    cli_ends_json(jout, count ? check_set(&input[0]) : NULL);
    jout_open_line(jout, "deadlocks", '{');
    jout_u64(jout, "states", states);
    jout_u64(jout, "searched", searched);
    jout_close(jout);
    jout_end(jout);
}

static void sarif_text(struct jout *jout, const char *key, const char *text)
{
    jout_open_line(jout, key, '{');
    jout_text(jout, "text", text);
    jout_close(jout);
}

/* A path as a URI reference (RFC 3986): what is not allowed in one is escaped; a colon too, it would end a scheme. */
static const char *sarif_uri(const char *path, char *buf, size_t size)
{
    size_t used = 0;

    for (; *path && used + 4 < size; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c);
        used += (size_t)snprintf(buf + used, size - used, plain ? "%c" : "%%%02X", c);
    }
    buf[used] = 0;
    return buf;
}

static void sarif_location(struct jout *jout, const char *path, uint32_t line, uint32_t column)
{
    char uri[4096];

    jout_open(jout, NULL, '{');
    jout_open(jout, "physicalLocation", '{');
    jout_open_line(jout, "artifactLocation", '{');
    jout_text(jout, "uri", sarif_uri(path, uri, sizeof uri));
    jout_close(jout);
    jout_open_line(jout, "region", '{');
    jout_u64(jout, "startLine", line ? line : 1);
    jout_u64(jout, "startColumn", column ? column : 1);
    jout_close(jout);
    jout_close(jout);
    jout_close(jout);
}

void check_sarif_locations(struct jout *jout, const char *path, uint32_t line, uint32_t column)
{
    jout_open(jout, "locations", '[');
    sarif_location(jout, path, line, column);
    jout_close(jout);
}

static void sarif_result(struct jout *jout, const struct check_input *input, const struct check_cause *cause)
{
    const struct check_finding *finding = &input->check.finding[cause->finding[0]];
    static const char *const levels[] = {"note", "warning", "error"};

    jout_open(jout, NULL, '{');
    jout_text(jout, "ruleId", check_rules[finding->rule].id);
    jout_u64(jout, "ruleIndex", finding->rule);
    jout_text(jout, "level", levels[finding->severity]);
    sarif_text(jout, "message", finding->message);
    check_sarif_locations(jout, check_file(input, finding), finding->line, finding->column);
    if (cause->count > 1) {
        jout_open(jout, "relatedLocations", '[');
        for (uint32_t c = 1; c < cause->count && c <= PLACES_MAX; c++) {
            const struct check_finding *other = &input->check.finding[cause->finding[c]];
            sarif_location(jout, check_file(input, other), other->line, other->column);
        }
        jout_close(jout);
    }
    if (finding->ignored) {
        jout_open(jout, "suppressions", '[');
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "kind", finding->known ? "external" : "inSource");
        jout_text(jout, "justification", finding->ignored);
        jout_close(jout);
        jout_close(jout);
    }
    jout_close(jout);
}

void check_print_sarif(const struct check_input *input, uint32_t count, FILE *out)
{
    struct jout *jout = jout_begin(out, NULL);

    jout_text(jout, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    jout_text(jout, "version", "2.1.0");
    jout_open(jout, "runs", '[');
    jout_open(jout, NULL, '{');
    jout_open(jout, "tool", '{');
    jout_open(jout, "driver", '{');
    jout_text(jout, "name", "rocelab");
    jout_text(jout, "version", ROCELAB_VERSION);
    jout_open(jout, "rules", '[');
    for (uint32_t r = 0; r < check_rule_count; r++) {
        jout_open(jout, NULL, '{');
        jout_text(jout, "id", check_rules[r].id);
        sarif_text(jout, "shortDescription", check_rules[r].title);
        sarif_text(jout, "fullDescription", check_rules[r].why);
        sarif_text(jout, "help", check_rules[r].mend);
        jout_close(jout);
    }
    jout_close(jout);
    jout_close(jout);
    jout_close(jout);
    jout_open(jout, "invocations", '[');
    jout_open(jout, NULL, '{');
    jout_bool(jout, "executionSuccessful", true);
    JOUT_LIST(jout, "toolExecutionNotifications", i, count, check_unjudged_sarif(jout, &input[i]));
    jout_close(jout);
    jout_close(jout);
    jout_open(jout, "results", '[');
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < input[i].causes; c++)
            sarif_result(jout, &input[i], &input[i].cause[c]);
    jout_close(jout);
    jout_close(jout);
    jout_close(jout);
    jout_end(jout);
}

/* Why the rule says nothing; NULL: it was judged. */
static const char *junit_skip(const struct check_input *input, uint32_t rule)
{
    if (check_rules[rule].needs_config && !check_set(input)) return "needs a configuration";
    if (!check_unjudged_rule(input, rule)) return NULL;
    for (uint32_t f = 0; f < input->check.findings; f++) {
        const struct check_finding *finding = &input->check.finding[f];
        if (finding->rule == rule && !finding->ignored && finding->severity != CHECK_INFO) return NULL;
    }
    return "cannot be judged everywhere: what it rests on was not read";
}

/* One test case a rule; every finding that counts is a failure of it. */
static void junit_rule(const struct check_input *input, uint32_t rule, FILE *out)
{
    fprintf(out, "    <testcase classname=\"rocelab.check\" name=\"%s\">\n", check_rules[rule].id);
    if (junit_skip(input, rule)) fprintf(out, "      <skipped message=\"%s\"/>\n", junit_skip(input, rule));
    for (uint32_t c = 0; c < input->causes; c++) {
        const struct check_finding *finding = &input->check.finding[input->cause[c].finding[0]];
        if (finding->rule != rule || finding->ignored || finding->severity == CHECK_INFO) continue;
        fprintf(out, "      <failure type=\"%s\" message=\"", check_severity_names[finding->severity]);
        text_xml(out, check_file(input, finding));
        fprintf(out, ":%u:%u: ", finding->line, finding->column);
        text_xml(out, finding->message);
        fputs("\"/>\n", out);
    }
    fputs("    </testcase>\n", out);
}

void check_print_junit(const struct check_input *input, uint32_t count, FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    for (uint32_t i = 0; i < count; i++) {
        bool failed[256] = {false};
        uint32_t failures = 0, skipped = 0;
        for (uint32_t f = 0; f < input[i].check.findings; f++) {
            const struct check_finding *finding = &input[i].check.finding[f];
            if (finding->ignored || finding->severity == CHECK_INFO || failed[finding->rule]) continue;
            failed[finding->rule] = true;
            failures++;
        }
        for (uint32_t r = 0; r < check_rule_count; r++)
            skipped += junit_skip(&input[i], r) != NULL;
        char subject[CHECK_SUBJECT];
        fputs("  <testsuite name=\"rocelab check: ", out);
        text_xml(out, check_subject(&input[i], subject));
        fprintf(out, "\" tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n", check_rule_count, failures, skipped);
        for (uint32_t r = 0; r < check_rule_count; r++)
            junit_rule(&input[i], r, out);
        fputs("  </testsuite>\n", out);
    }
    fputs("</testsuites>\n", out);
}

static void paragraph(FILE *out, const char *first, const char *text)
{
    const struct text_style style = {.width = TEXT_WIDTH};

    fprintf(out, "\n%s", first);
    text_wrap(out, &style, (unsigned)strlen(first), 0, text);
}

static void rule_markdown(const struct check_rule *rule, FILE *out)
{
    fprintf(out, "\n## %s: %s\n\n*%s%s*\n", rule->id, rule->title, check_severity_names[rule->severity],
            rule->needs_config ? ", configuration" : "");
    paragraph(out, "", rule->why);
    paragraph(out, "Fix: ", rule->mend);
    paragraph(out, "Source: ", rule->sources);
}

void check_print_rules(bool markdown, FILE *out)
{
    if (markdown) {
        fputs("# The rules of `rocelab check`\n", out);
        paragraph(
            out, "",
            "Made by `rocelab check --list --markdown`. A rule marked *configuration* can "
            "be violated only by the configuration of a real system, not by a fabric file. Each says what it rests "
            "on: a standard, a paper, a vendor's document (not all chapters of manuals could be read), or our own "
            "reasoning. Guo et al., SIGCOMM 2016, is RDMA over Commodity Ethernet at Scale; Zhu et al., SIGCOMM "
            "2015, Congestion Control for Large-Scale RDMA Deployments.");
    }
    for (uint32_t r = 0; r < check_rule_count; r++) {
        const struct check_rule *rule = &check_rules[r];
        if (markdown)
            rule_markdown(rule, out);
        else
            fprintf(out, "%-8s %-8s %s%s\n", rule->id, check_severity_names[rule->severity], rule->title,
                    rule->needs_config ? " (configurations only)" : "");
    }
}
