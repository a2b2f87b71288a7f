/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab-dumps: the program, and `--as SYSTEM` besides, which says what the switches of `sim --dump` are.
 *
 * Readers of the outputs of a system are held against a run whose every number is known.  Users need one system for
 * that; here are those that have a reader of their own.  The program's main() is called without --as, and
 * dump_switches() stands before the library's.
 */
#include <string.h>

#include "systems.h"

static const struct as {
    const char *name;
    struct dump_switches is;
} systems[] = {
    {"sonic", {dump_sonic, &config_sonic}},
    {"nxos", {dump_nxos, &config_nxos}},
    {"eos", {dump_eos, &config_eos}},
    {"cumulus", {dump_cumulus, &config_nvue}},
};
static const struct as *chosen = &systems[0];

const struct dump_switches *dump_switches(void)
{
    return &chosen->is;
}

static bool choose(const char *name)
{
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (strcmp(name, systems[i].name) != 0) continue;
        chosen = &systems[i];
        return true;
    }
    fprintf(stderr, "rocelab-dumps: --as %s: there is no such system\n", name);
    return false;
}

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

int __wrap_main(int argc, char **argv)
{
    int kept = 0;

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--as") != 0 || i + 1 == argc)
            argv[kept++] = argv[i];
        else if (!choose(argv[++i]))
            return 2;
    }
    argv[kept] = NULL;
    return __real_main(kept, argv);
}
