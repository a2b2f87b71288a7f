/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configurations of several devices as files of a folder: all of them, or none.
 *
 * They are drafts until the last is written (base/draft.h), and then take their places, which cannot fail for want of
 * room.  Folders that were made for them go again if nothing came of it.
 */
#include "cli/plan/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/outputs.h"

#define PATH_BYTES 4096

static bool path_of(char path[PATH_BYTES], const char *folder, const struct config_file *file)
{
    if (snprintf(path, PATH_BYTES, "%s/%s.%s", folder, file->device, file->format->suffix) < PATH_BYTES) return true;
    return cli_fail("%s: %s", folder, strerror(ENAMETOOLONG));
}

static bool write_one(struct cli_file *to, const char *folder, const struct config_file *file)
{
    char path[PATH_BYTES];

    if (!path_of(path, folder, file) || !cli_file_open(to, NULL, path)) return false;
    fwrite(file->text, 1, file->length, to->to);
    return cli_file_finish(to);
}

/* Takes the last `made` folders of the path away again. */
static void unmake(const char *folder, unsigned made)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "%s", folder);
    for (; made > 0 && rmdir(path) == 0; made--) {
        char *slash = strrchr(path, '/');
        if (slash) *slash = 0;
    }
}

/* The folder and those above it; the number of those that were made, or -1 after a message. */
static int make_folders(char *folder)
{
    struct stat about;
    int made = 0;

    for (char *at = folder;; at++) {
        char kept = *at;
        if ((kept != '/' && kept) || at == folder) continue;
        *at = 0;
        if (mkdir(folder, 0777) == 0) {
            made++;
        } else if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode)) {
            cli_error("--out %s: %s", folder, strerror(errno == EEXIST || errno == 0 ? ENOTDIR : errno));
            char *slash = strrchr(folder, '/');
            if (slash) *slash = 0;
            unmake(folder, (unsigned)made);
            return -1;
        }
        *at = kept;
        if (!kept) return made;
    }
}

bool config_save(const char *out, const struct config_file *file, uint32_t count)
{
    char folder[PATH_BYTES];
    size_t length = strlen(out);
    bool good = true;

    while (length > 1 && out[length - 1] == '/')
        length--;
    if (snprintf(folder, sizeof(folder), "%.*s", (int)length, out) >= PATH_BYTES)
        return cli_fail("--out %s: %s", out, strerror(ENAMETOOLONG));
    struct cli_file *to = calloc(count + 1u, sizeof *to);
    int made = make_folders(folder);
    for (uint32_t f = 0; f < count && made >= 0 && good; f++)
        good = write_one(&to[f], folder, &file[f]);
    for (uint32_t f = 0; f < count && made >= 0 && good; f++)
        good = cli_file_close(&to[f]);
    for (uint32_t f = 0; f < count; f++)
        cli_file_drop(&to[f]);
    free(to);
    if (made >= 0 && !good) unmake(folder, (unsigned)made);
    return made >= 0 && good;
}
