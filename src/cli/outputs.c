/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a command writes; see outputs.h.  What is not there yet is known by its folder and name.
 */
#include "cli/outputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/draft.h"
#include "base/reads.h"
#include "cli/cli.h"

const char *cli_file_why(int error)
{
    return error == -ENOTUNIQ ? "the command reads that file; say another" : strerror(-error);
}

bool cli_file_open(struct cli_file *file, const char *option, const char *path)
{
    int error = draft_open(path, &file->draft);

    if (error == 0) file->to = draft_stream(file->draft);
    file->path = strdup(path);
    if (error == 0 && (file->to == NULL || file->path == NULL)) error = -ENOMEM;
    if (error == 0) return true;
    if (option)
        cli_error("%s '%s': %s", option, path, cli_file_why(error));
    else
        cli_error("%s: %s", path, cli_file_why(error));
    cli_file_drop(file);
    return false;
}

static bool is_written(const struct cli_file *file, int error)
{
    if (error) cli_error("%s: not all of it could be written: %s", file->path, cli_file_why(error));
    return error == 0;
}

bool cli_file_finish(struct cli_file *file)
{
    file->to = NULL;
    return is_written(file, draft_finish(file->draft));
}

bool cli_file_close(struct cli_file *file)
{
    bool written = is_written(file, draft_commit(file->draft));

    file->draft = NULL;
    cli_file_drop(file);
    return written;
}

void cli_file_drop(struct cli_file *file)
{
    draft_drop(file->draft);
    free(file->path);
    *file = (struct cli_file){0};
}

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

static bool was_read(struct cli_outputs *outputs, const char *option, const char *path)
{
    struct stat about;
    const char *as = stat(path, &about) == 0 ? reads_find(&about) : NULL;

    if (as == NULL) return false;
    cli_error("%s '%s': the command reads that file ('%s'); say another", option, path, as);
    return outputs->clash = true;
}

static bool is_named(struct cli_outputs *outputs, const char *option, const char *path)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        if (!same(outputs->file[i].path, path)) continue;
        cli_error("%s '%s': the command names that file twice, for %s ('%s') too; say another", option, path,
                  outputs->file[i].option, outputs->file[i].path);
        return outputs->clash = true;
    }
    return false;
}

void cli_outputs_write(struct cli_outputs *outputs, const char *option, const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0 || outputs->clash) return;
    if (!is_named(outputs, option, path) && !was_read(outputs, option, path)) cli_outputs_read(outputs, option, path);
}

void cli_outputs_in(struct cli_outputs *outputs, const char *option, const char *folder, const char *name)
{
    char path[PATH_MAX];

    if (folder == NULL || outputs->clash || snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MAX) return;
    if (!is_named(outputs, option, path)) was_read(outputs, option, path);
}

void cli_outputs_pcaps(struct cli_outputs *outputs, const struct cli_pcaps *pcaps)
{
    for (unsigned i = 0; i < pcaps->count; i++)
        cli_outputs_write(outputs, "--pcap", pcaps->pcap[i].file.path);
}
