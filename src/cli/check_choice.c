/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rules `rocelab check` tells: --select and --ignore, with ids or what they begin with.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"

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
        cli_error("--%s: a rule is due, as in PFC001, or what ids begin with, as in PFC", option);
    else if (near)
        cli_error("--%s '%s': no rule is called so or begins so; did you mean '%s'?", option, wrong, near);
    else
        cli_error("--%s '%s': no rule is called so or begins so; 'rocelab check --list' lists them", option, wrong);
    return false;
}

/* One option: the rules that it names are told only, or left out. */
bool check_choice_read(struct check_choice *choice, const char *argument, bool only)
{
    bool *named = calloc(check_rule_count, sizeof(*named));

    if (!choice->left_out) choice->left_out = calloc(check_rule_count, sizeof(*choice->left_out));
    if (!named || !choice->left_out) {
        cli_error("not enough memory");
        free(named);
        return false;
    }
    for (const char *word = argument;; word++) {
        size_t length = strcspn(word, ",");
        if (!length || !known(word, length)) {
            free(named);
            return complain(only ? "select" : "ignore", word, length);
        }
        for (uint32_t r = 0; r < check_rule_count; r++)
            named[r] = named[r] || strncmp(check_rules[r].id, word, length) == 0;
        word += length;
        if (!*word) break;
    }
    for (uint32_t r = 0; r < check_rule_count; r++)
        choice->left_out[r] = choice->left_out[r] || named[r] != only;
    free(named);
    return true;
}

bool check_choice_has(const struct check_choice *choice, const char *id)
{
    if (!choice || !choice->left_out) return true;
    for (uint32_t r = 0; r < check_rule_count; r++)
        if (!choice->left_out[r] && strncmp(check_rules[r].id, id, strlen(id)) == 0) return true;
    return false;
}
