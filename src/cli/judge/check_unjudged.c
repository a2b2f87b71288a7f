/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab check` could not judge, because a configuration does not have it or it was not read: as text, in which
 * one line speaks for all rules and ports that one cause takes away, as JSON, and as notifications of SARIF.
 *
 * Importers say it of one port after the other, in order: what belongs together stands together.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/judge/check.h"
#include "report/fold.h"
#include "report/rows/rows.h"
#include "report/text.h"

#define RULES_NAMED 8
#define CAUSES_ALIKE 4096u /* causes looked at for one that says the same of another device */

static const struct config_unjudged *unjudged_at(const struct config_set *set, uint32_t index)
{
    return set && index < set->unjudgeds ? &set->unjudged[index] : NULL;
}

/* A rule that is left out by the command line could not be judged either. */
static bool wanted(const struct check_input *input, const struct config_unjudged *as)
{
    return check_choice_has(input->choice, as->rule);
}

static bool same_cause(const struct config_unjudged *a, const struct config_unjudged *b)
{
    return a && b && a->device == b->device && a->at.source == b->at.source && strcmp(a->message, b->message) == 0;
}

static const char *port_of(const struct config_set *set, const struct config_unjudged *as)
{
    return as->port == CONFIG_NONE ? NULL : set->device[as->device].port[as->port].name;
}

struct cause { /* unjudged[from, end) say the same of one device */
    uint32_t from, end, ports, rules;
    const char *rule[RULES_NAMED]; /* the first of them */
    bool printed;
};

static void add_rule(struct cause *cause, const char *rule)
{
    for (uint32_t r = 0; r < cause->rules && r < RULES_NAMED; r++)
        if (strcmp(cause->rule[r], rule) == 0) return;
    if (cause->rules < RULES_NAMED) cause->rule[cause->rules] = rule;
    cause->rules++;
}

static struct cause cause_from(const struct check_input *input, uint32_t from)
{
    const struct config_set *set = check_set(input);
    struct cause cause = {.from = from, .end = from};
    uint32_t before = CONFIG_NONE;

    for (; same_cause(&set->unjudged[from], unjudged_at(set, cause.end)); cause.end++) {
        const struct config_unjudged *as = &set->unjudged[cause.end];
        if (!wanted(input, as)) continue;
        add_rule(&cause, as->rule);
        cause.ports += as->port != CONFIG_NONE && as->port != before;
        before = as->port;
    }
    cause.printed = cause.rules == 0;
    return cause;
}

/* Whole devices that lack the same are told together. */
static bool same_of_devices(const struct config_set *set, const struct cause *a, const struct cause *b)
{
    bool same = !b->printed && !a->ports && !b->ports && a->rules == b->rules &&
                strcmp(set->unjudged[a->from].message, set->unjudged[b->from].message) == 0;

    for (uint32_t r = 0; same && r < a->rules && r < RULES_NAMED; r++)
        same = strcmp(a->rule[r], b->rule[r]) == 0;
    return same;
}

static void print_cause(const struct config_set *set, struct cause *cause, uint32_t causes, FILE *out)
{
    const struct config_unjudged *first = &set->unjudged[cause->from];
    const struct text_style style = cli_style();
    const char **name = malloc(causes * sizeof(*name));
    uint32_t names = 0;

    for (uint32_t c = 0; name && c < causes; c++) {
        if (c && !same_of_devices(set, cause, &cause[c])) continue;
        name[names++] = set->device[set->unjudged[cause[c].from].device].name;
        cause[c].printed = c > 0;
    }
    text_outside(out, &style, set->path[first->at.source]);
    fprintf(out, ":%u: cannot be judged: ", first->at.line);
    for (uint32_t r = 0; r < cause->rules && r < RULES_NAMED; r++)
        fprintf(out, "%s%s", r ? ", " : "", cause->rule[r]);
    fprintf(out, "%s of ", cause->rules > RULES_NAMED ? " and others" : "");
    fold_names(out, &style, name, names);
    if (cause->ports == 1) {
        fputc(' ', out);
        text_outside(out, &style, port_of(set, first) ? port_of(set, first) : "");
    } else if (cause->ports) {
        fprintf(out, ", %u ports", cause->ports);
    }
    fputs(": ", out);
    text_outside(out, &style, first->message);
    fputc('\n', out);
    free(name);
}

void check_unjudged_text(const struct check_input *input, FILE *out)
{
    const struct config_set *set = check_set(input);
    struct cause *cause = set && set->unjudgeds ? calloc(set->unjudgeds, sizeof(*cause)) : NULL;
    uint32_t causes = 0;

    for (uint32_t u = 0; cause && u < set->unjudgeds; u = cause[causes - 1].end)
        cause[causes++] = cause_from(input, u);
    for (uint32_t c = 0; c < causes; c++)
        if (!cause[c].printed) print_cause(set, &cause[c], causes - c < CAUSES_ALIKE ? causes - c : CAUSES_ALIKE, out);
    free(cause);
}

void check_unjudged_json(struct jout *jout, const struct check_input *input)
{
    const struct config_set *set = check_set(input);

    for (uint32_t u = 0; set && u < set->unjudgeds; u++) {
        const struct config_unjudged *as = &set->unjudged[u];
        if (!wanted(input, as)) continue;
        jout_open_line(jout, NULL, '{');
#include "report/rows/check_unjudged.def"
        jout_close(jout);
    }
}

void check_unjudged_sarif(struct jout *jout, const struct check_input *input)
{
    const struct config_set *set = check_set(input);
    char text[800];

    for (uint32_t u = 0; set && u < set->unjudgeds; u++) {
        const struct config_unjudged *as = &set->unjudged[u];
        if (same_cause(as, u ? &set->unjudged[u - 1] : NULL) && strcmp(as->rule, set->unjudged[u - 1].rule) == 0)
            continue;
        snprintf(text, sizeof text, "%s cannot be judged for %s: %s", as->rule, set->device[as->device].name,
                 as->message);
        jout_open(jout, NULL, '{');
        jout_text(jout, "level", "note");
        jout_open_line(jout, "message", '{');
        jout_text(jout, "text", text);
        jout_close(jout);
        check_sarif_locations(jout, set->path[as->at.source], as->at.line, 1);
        jout_close(jout);
    }
}

bool check_unjudged_rule(const struct check_input *input, uint32_t rule)
{
    const struct config_set *set = check_set(input);

    for (uint32_t u = 0; set && u < set->unjudgeds; u++)
        if (strncmp(check_rules[rule].id, set->unjudged[u].rule, strlen(set->unjudged[u].rule)) == 0) return true;
    return false;
}
