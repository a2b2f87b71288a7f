/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of settings: a key belongs to the owner of one of its words, else of the family that a word of it is of.
 *
 * `owners` names who answers (a person, a team, an address), `teams` who is in a team.  The owner of a threshold is who
 * may change it.  `baseline` is owned too: the figures that others are held against.
 */
#include "fabric/owners.h"

#include <string.h>

#include "fabric/fabric.h"
#include "fabric/file/read.h"

#define PEOPLE_MOST 10000u

const char *const fabric_owned[] = {"ecn", "pfc",      "headroom", "buffer",  "maps",     "scheduling",
                                    "mtu", "watchdog", "nics",     "cabling", "baseline", NULL};

static const struct {
    const char *word, *family;
} families[] = {{"xoff", "headroom"}, {"xon", "headroom"},     {"headroom", "buffer"},  {"headroom-pool", "buffer"},
                {"alpha", "buffer"},  {"reserved", "buffer"},  {"limit", "buffer"},     {"dscp-map", "maps"},
                {"pcp-map", "maps"},  {"trust", "maps"},       {"queue-map", "maps"},   {"group-map", "maps"},
                {"lossless", "pfc"},  {"pause", "pfc"},        {"pfc-priority", "pfc"}, {"pfc-queue", "pfc"},
                {"class-mtu", "mtu"}, {"watched", "watchdog"}, {"share", "scheduling"}, {"strict", "scheduling"},
                {"peer", "cabling"},  {"rate", "cabling"},     {"cable", "cabling"},    {"headroom-cable", "buffer"},
                {"pfc-mode", "pfc"},  {"ports", "cabling"},    {"devices", "cabling"},  {"cnp-dscp", "nics"},
                {"dcqcn", "nics"},    {"dcbx", "nics"},        {"nccl", "nics"},        {"congestion", "nics"},
                {"dscp", "maps"},     {"priority", "maps"},    {"reorder", "nics"},     {"recovery", "nics"},
                {NULL, NULL}};

/* The key has this as one of its words. */
static bool has_word(const char *key, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(key, word); at && length; at = strstr(at + 1, word))
        if ((at == key || at[-1] == '.') && (at[length] == 0 || at[length] == '.')) return true;
    return false;
}

const char *fabric_owner(const struct fabric *fabric, const char *key)
{
    const struct fabric_operations *operations = &fabric->operations;

    for (uint32_t o = 0; o < operations->owners; o++)
        if (has_word(key, operations->owner[o].name)) return operations->owner[o].value;
    for (int f = 0; families[f].word; f++) {
        if (!has_word(key, families[f].word)) continue;
        for (uint32_t o = 0; o < operations->owners; o++)
            if (strcmp(operations->owner[o].name, families[f].family) == 0) return operations->owner[o].value;
    }
    return NULL;
}

static bool in_team(const struct fabric *fabric, const char *team, const char *name)
{
    const struct fabric_operations *operations = &fabric->operations;

    for (uint32_t p = 0; p < operations->people; p++)
        if (strcmp(operations->person[p].name, team) == 0 && strcmp(operations->person[p].value, name) == 0)
            return true;
    return false;
}

bool fabric_may_change(const struct fabric *fabric, const char *key, const char *name)
{
    const char *owner = fabric_owner(fabric, key);

    return owner && (strcmp(owner, name) == 0 || in_team(fabric, owner, name));
}

bool fabric_may_sign(const struct fabric *fabric, const char *name)
{
    const struct fabric_operations *operations = &fabric->operations;

    if (fabric_owner(fabric, "baseline")) return fabric_may_change(fabric, "baseline", name);
    for (uint32_t o = 0; o < operations->owners; o++)
        if (strcmp(operations->owner[o].value, name) == 0) return true;
    for (uint32_t p = 0; p < operations->people; p++)
        if (strcmp(operations->person[p].value, name) == 0) return true;
    return operations->owners == 0 && operations->people == 0;
}

static void read_team(struct loader *loader, const struct tree *team, struct fabric_operations *operations,
                      struct fabric_param *person)
{
    const char *name = arena_strndup(loader->keep, team->key, strlen(team->key));

    if (!name) loader->no_memory = true;
    if (!name || !read_is_list(loader, team, "a team")) return;
    for (const struct tree *one = team->first; one; one = one->next) {
        struct fabric_param *as = &person[operations->people];
        if (!read_text(loader, one, &as->value)) return;
        as->name = name;
        as->at = one->at;
        operations->people++;
    }
}

static void read_teams(struct loader *loader, const struct tree *map)
{
    struct fabric_operations *operations = &loader->fabric->operations;
    uint32_t people = 0;

    if (!read_is_map(loader, map, "teams")) return;
    for (const struct tree *team = map->first; team; team = team->next)
        people += team->type == TREE_LIST && people < PEOPLE_MOST ? team->count : 0;
    if (people > PEOPLE_MOST) {
        read_error(loader, map->at, "teams: %u people at most", PEOPLE_MOST);
        return;
    }
    struct fabric_param *person = KEEP_NEW(loader, struct fabric_param, people ? people : 1);
    if (!person) return;
    operations->person = person;
    for (const struct tree *team = map->first; team; team = team->next)
        read_team(loader, team, operations, person);
}

void owners_load(struct loader *loader)
{
    const struct tree *owners = loader->part[PART_OWNERS], *teams = loader->part[PART_TEAMS];
    struct fabric_operations *operations = &loader->fabric->operations;

    if (owners && read_is_map(loader, owners, "owners"))
        read_params(loader, owners, NULL, &operations->owners, &operations->owner);
    if (teams) read_teams(loader, teams);
}
