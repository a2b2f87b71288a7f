/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is added to configurations: options and small YAML files become facts (config/facts.h) of the devices that were
 * read.
 */
#include "cli/given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/source.h"

static void begin(struct cli_given *given)
{
    if (!given->begun) arena_init_or_end(&given->arena, (size_t)1 << 30);
    given->begun = true;
}

static bool add_given(struct cli_given *given, enum fact_kind kind, const char *argument)
{
    char wrong[FACTS_WRONG];

    begin(given);
    if (!facts_add(&given->arena, &given->option, kind, argument, wrong)) return true;
    return cli_fail("--%s '%s': %s", kind == FACT_MODEL ? "model" : "cable", argument, wrong);
}

bool cli_given_model(void *given, const char *argument)
{
    return add_given(given, FACT_MODEL, argument);
}

bool cli_given_cable(void *given, const char *argument)
{
    return add_given(given, FACT_CABLE, argument);
}

bool cli_given_file(void *to, const char *path)
{
    struct cli_given *given = to;

    if (given->files == GIVEN_FILES_MAX) return cli_fail("--facts: at most %d files", GIVEN_FILES_MAX);
    given->file[given->files++] = path;
    return true;
}

void cli_given_release(struct cli_given *given)
{
    if (given->begun) arena_release(&given->arena);
    *given = (struct cli_given){.begun = false};
}

struct list { /* of facts of one file */
    struct facts facts;
    const char *path;
};

struct lists {
    struct list list[2 * GIVEN_FILES_MAX];
    int count;
};

static bool complain(const struct fabric_errors *errors, const char *path, int result)
{
    if (errors->count)
        fabric_errors_print(errors, stderr);
    else
        cli_error("%s: %s", path, strerror(-result));
    return false;
}

static bool read_list(struct arena *arena, struct lists *lists, const char *path, bool may_miss)
{
    struct list *list = &lists->list[lists->count];
    struct fabric_errors errors = {.path = path};
    size_t length = 0;
    char *text = NULL;

    if (!cli_read_file(path, FACTS_MAX_BYTES, &text, &length)) return false;
    if (may_miss && cli_is_fabric(text)) { /* a fabric that is called so is none of ours */
        free(text);
        return true;
    }
    *list = (struct list){.path = path};
    int result = facts_read(arena, text, length, may_miss, &list->facts, &errors);
    free(text);
    if (result != 0) return complain(&errors, path, result);
    lists->count++;
    return true;
}

/* FACTS_FILE of the folders of the texts, each once. */
static bool read_beside(struct arena *arena, struct lists *lists, const struct config_set *set)
{
    const char *last = NULL;
    size_t folder = 0;

    for (uint32_t s = 0; s < set->sources && lists->count < GIVEN_FILES_MAX; s++) {
        const char *slash = strrchr(set->path[s], '/');
        size_t length = slash ? (size_t)(slash + 1 - set->path[s]) : 0;
        bool same = last && length == folder && strncmp(last, set->path[s], length) == 0;
        if (same || strcmp(set->path[s], "-") == 0) continue;
        last = set->path[s];
        folder = length;
        char *path = arena_alloc(arena, length + sizeof(FACTS_FILE), 1, 1);
        snprintf(path, length + sizeof(FACTS_FILE), "%.*s" FACTS_FILE, (int)length, set->path[s]);
        bool known = access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
        for (int i = 0; i < lists->count; i++)
            known |= strcmp(lists->list[i].path, path) == 0;
        if (!known && !read_list(arena, lists, path, true)) return false;
    }
    return true;
}

typedef int apply(struct config_set *set, const struct facts *facts, const char *path, struct fabric_errors *errors);

static bool apply_all(const struct lists *lists, const struct facts *option, struct config_set *set, apply *one)
{
    for (int i = 0; i < lists->count; i++) {
        struct fabric_errors errors = {0};
        int result = one(set, &lists->list[i].facts, lists->list[i].path, &errors);
        if (result != 0) return complain(&errors, lists->list[i].path, result);
    }
    struct fabric_errors errors = {0};
    if (!option || !option->count) return true;
    int result = one(set, option, "command line", &errors);
    for (uint32_t e = 0; e < errors.count; e++)
        cli_error("%s", errors.error[e].text);
    if (result != 0 && !errors.count) cli_error("%s", strerror(-result));
    return result == 0;
}

bool cli_given_apply(struct cli_given *given, struct config_set *set)
{
    struct lists lists = {.count = 0};
    struct facts *option = given ? &given->option : NULL;
    bool good = read_beside(&set->arena, &lists, set);

    for (int i = 0; good && given && i < given->files; i++)
        good = read_list(&set->arena, &lists, given->file[i], false);
    return good && apply_all(&lists, option, set, facts_links) && apply_all(&lists, option, set, facts_values);
}
