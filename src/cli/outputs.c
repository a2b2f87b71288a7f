/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the files of a command are apart; see outputs.h.  What is not there yet is known by its folder and name.
 */
#include "cli/outputs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

struct place {
    bool known, there;
    dev_t device;
    ino_t inode; /* of the file, or of its folder */
    const char *name;
};

static struct place find(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    struct stat found;

    if (stat(path, &found) == 0) return (struct place){S_ISREG(found.st_mode), true, found.st_dev, found.st_ino, ""};
    int length = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    if (length >= (int)sizeof folder) return (struct place){.known = false};
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
    if (stat(folder, &found) != 0) return (struct place){.known = false};
    return (struct place){true, false, found.st_dev, found.st_ino, slash ? slash + 1 : path};
}

static bool same(const char *a, const char *b)
{
    struct place one = find(a), other = find(b);

    return one.known && other.known && one.there == other.there && one.device == other.device &&
           one.inode == other.inode && strcmp(one.name, other.name) == 0;
}

void cli_outputs_read(struct cli_outputs *outputs, const char *option, const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0 || outputs->count == CLI_OUTPUTS_MAX) return;
    outputs->file[outputs->count].option = option;
    outputs->file[outputs->count++].path = path;
}

void cli_outputs_write(struct cli_outputs *outputs, const char *option, const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0 || outputs->clash) return;
    for (unsigned i = 0; i < outputs->count; i++) {
        if (!same(outputs->file[i].path, path)) continue;
        cli_error("%s '%s': the command names that file twice, for %s ('%s') too; say another", option, path,
                  outputs->file[i].option, outputs->file[i].path);
        outputs->clash = true;
        return;
    }
    cli_outputs_read(outputs, option, path);
}

void cli_outputs_pcaps(struct cli_outputs *outputs, const struct cli_pcaps *pcaps)
{
    for (unsigned i = 0; i < pcaps->count; i++)
        cli_outputs_write(outputs, "--pcap", pcaps->pcap[i].file.path);
}
