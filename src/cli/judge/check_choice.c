/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rules `rocelab check` tells: --select and --ignore, with ids or what they begin with.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/judge/check.h"

static bool known(const char *word, size_t length)
{
    for (uint32_t r = 0; r < check_rule_count; r++)
        if (strncmp(check_rules[r].id, word, length) == 0) return true;
    return false;
}

static const char *rule_name(const void *list, size_t index)
{
    return ((const struct check_rule *)list)[index].id;
}

static bool complain(const char *option, const char *word, size_t length)
{
    char wrong[64];

    snprintf(wrong, sizeof wrong, "%.*s", length < 60 ? (int)length : 60, word);
    const char *near = length ? cli_nearest(wrong, rule_name, check_rules, check_rule_count) : NULL;
    if (!length)
        cli_error("--%s: a rule is expected, as in PFC001, or what ids begin with, as in PFC", option);
    else if (near)
        cli_error("--%s '%s': no rule is called so or begins so; did you mean '%s'?", option, wrong, near);
    else
        cli_error("--%s '%s': no rule is called so or begins so; 'rocelab check --list' lists them", option, wrong);
    return false;
}

static bool name_rules(const char *option, const char *argument, bool **named)
{
    if (!*named) *named = calloc(check_rule_count, sizeof(**named));
    for (const char *word = argument;; word++) {
        size_t length = strcspn(word, ",");
        if (!length || !known(word, length)) return complain(option, word, length);
        for (uint32_t r = 0; r < check_rule_count; r++)
            (*named)[r] = (*named)[r] || strncmp(check_rules[r].id, word, length) == 0;
        word += length;
        if (!*word) return true;
    }
}

bool check_choice_select(void *choice, const char *argument)
{
    return name_rules("select", argument, &((struct check_choice *)choice)->selected);
}

bool check_choice_ignore(void *choice, const char *argument)
{
    return name_rules("ignore", argument, &((struct check_choice *)choice)->ignored);
}

static bool told(const struct check_choice *choice, uint32_t rule)
{
    return (!choice->selected || choice->selected[rule]) && !(choice->ignored && choice->ignored[rule]);
}

bool check_choice_any(const struct check_choice *choice)
{
    for (uint32_t r = 0; r < check_rule_count; r++)
        if (told(choice, r)) return true;
    if (choice->selected)
        cli_error("check: --ignore leaves out every rule that --select names; give other rules to one of the two");
    else
        cli_error("check: --ignore leaves out every rule; name those that are not to be told");
    return false;
}

bool check_choice_has(const struct check_choice *choice, const char *id)
{
    if (!choice) return true;
    for (uint32_t r = 0; r < check_rule_count; r++)
        if (told(choice, r) && strncmp(check_rules[r].id, id, strlen(id)) == 0) return true;
    return false;
}

void check_choice_release(struct check_choice *choice)
{
    free(choice->selected);
    free(choice->ignored);
}
