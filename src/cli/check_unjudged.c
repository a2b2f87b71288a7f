/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab check` could not judge, because a configuration does not have it or it was not read: as text, in which
 * one line speaks for all rules and ports that one cause takes away, as JSON, and as notifications of SARIF.
 *
 * Importers say it of one port after the other, in order: what belongs together stands together.
 */
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "report/text.h"

#define RULES_NAMED 8

static const struct config_unjudged *unjudged_at(const struct config_set *set, uint32_t index)
{
    return set && index < set->unjudgeds ? &set->unjudged[index] : NULL;
}

static bool same_cause(const struct config_unjudged *a, const struct config_unjudged *b)
{
    return a && b && a->device == b->device && a->at.source == b->at.source && strcmp(a->message, b->message) == 0;
}

static const char *port_of(const struct config_set *set, const struct config_unjudged *as)
{
    return as->port == CONFIG_NONE ? NULL : set->device[as->device].port[as->port].name;
}

/* The rules of one cause, and the number of ports it is said of. */
struct cause {
    const char *rule[RULES_NAMED];
    uint32_t rules, more, ports;
};

static void count(struct cause *cause, const struct config_unjudged *as, uint32_t before)
{
    bool named = false;

    for (uint32_t r = 0; r < cause->rules; r++)
        named = named || strcmp(cause->rule[r], as->rule) == 0;
    if (!named && cause->rules < RULES_NAMED)
        cause->rule[cause->rules++] = as->rule;
    else if (!named)
        cause->more++;
    cause->ports += as->port != CONFIG_NONE && as->port != before;
}

void check_unjudged_text(const struct check_input *input, FILE *out)
{
    const struct config_set *set = check_set(input);
    const struct text_style style = cli_style();

    for (uint32_t u = 0; set && u < set->unjudgeds;) {
        const struct config_unjudged *first = &set->unjudged[u];
        struct cause cause = {0};
        uint32_t before = CONFIG_NONE;
        for (; same_cause(first, unjudged_at(set, u)); u++) {
            count(&cause, &set->unjudged[u], before);
            before = set->unjudged[u].port;
        }
        fprintf(out, "%s:%u: cannot be judged: ", set->path[first->at.source], first->at.line);
        for (uint32_t r = 0; r < cause.rules; r++)
            fprintf(out, "%s%s", r ? ", " : "", cause.rule[r]);
        fprintf(out, "%s of ", cause.more ? " and others" : "");
        text_outside(out, &style, set->device[first->device].name);
        if (cause.ports == 1) {
            fputc(' ', out);
            text_outside(out, &style, port_of(set, first) ? port_of(set, first) : "");
        } else if (cause.ports) {
            fprintf(out, ", %u ports", cause.ports);
        }
        fputs(": ", out);
        text_outside(out, &style, first->message);
        fputc('\n', out);
    }
}

void check_unjudged_json(struct jout *jout, const struct check_input *input)
{
    const struct config_set *set = check_set(input);

    for (uint32_t u = 0; set && u < set->unjudgeds; u++) {
        const struct config_unjudged *as = &set->unjudged[u];
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "rule", as->rule);
        jout_text(jout, "device", set->device[as->device].name);
        jout_text(jout, "port", port_of(set, as));
        jout_text(jout, "file", set->path[as->at.source]);
        jout_u64(jout, "line", as->at.line);
        jout_text(jout, "message", as->message);
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
