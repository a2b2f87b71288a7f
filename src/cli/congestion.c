/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --cc: another congestion control than the file's, for verbs that run it.
 *
 * A preset, or a shared object; this is how its user names it, so this is what allows it to be loaded.  It is put into
 * every fabric that the process loads, before what --vary and the like say: runs, seeds and points are many files.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/source.h"
#include "fabric/nics.h"
#include "fabric/override.h"
#include "fabric/systems.h"
#include "plugin/plugin.h"

#define PARAMS_MAX 40

static struct arena arena; /* of what is given, to the end of the process */

/* YAML: in quotes, in which a quote is two. */
static char *quoted(const char *text)
{
    char *value = arena_alloc(&arena, 2 * strlen(text) + 3, 1, 1), *to = value;

    *to++ = '\'';
    for (; *text; text++) {
        *to++ = *text;
        if (*text == '\'') *to++ = '\'';
    }
    *to++ = '\'';
    *to = '\0';
    return value;
}

static bool add_param(char *word, struct fabric_override *ret, struct fabric_param *ret_param)
{
    static const char before[] = "nics.congestion.";
    char *equals = strchr(word, '=');

    if (equals == NULL || equals == word || equals[1] == '\0')
        return cli_fail("--cc: '%s': write PARAM=VALUE, as in --cc dcqcn/connectx,rpg_ai_rate=10M", word);
    *equals = '\0';
    size_t bytes = sizeof before + strlen(word);
    char *path = arena_alloc(&arena, bytes, 1, 1);
    snprintf(path, bytes, "%s%s", before, word);
    *ret = (struct fabric_override){path, equals + 1};
    *ret_param = (struct fabric_param){.name = word, .value = equals + 1};
    return true;
}

bool cli_congestion(void *unused, const char *argument)
{
    static struct fabric_override given[1 + PARAMS_MAX];
    struct fabric_param param[PARAMS_MAX];
    char real[PATH_MAX];
    uint32_t count = 1;

    (void)unused;
    arena_release(&arena); /* the last --cc counts */
    arena_init_or_end(&arena, 0);
    char *rest = arena_strndup(&arena, argument, strlen(argument)), *name = strsep(&rest, ",");
    if (fabric_congestion_is_file(name)) {
        if (realpath(name, real) == NULL) return cli_fail("--cc '%s': %s", name, strerror(errno));
        plugin_allow(real);
        name = real;
    }
    given[0] = (struct fabric_override){"nics.congestion", quoted(name)};
    while (rest) {
        if (count == 1 + PARAMS_MAX) return cli_fail("--cc: more than %d parameters", PARAMS_MAX);
        if (!add_param(strsep(&rest, ","), &given[count], &param[count - 1])) return false;
        count++;
    }
    const struct fabric_nic nic = {.system = FABRIC_ROCEV2, .congestion = name, .param = param, .params = count - 1};
    if (!cli_congestion_right(&nic)) return false;
    fabric_override_always(given, count);
    return true;
}
