/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configurations of several devices as files of a folder: all of them, or none.
 *
 * Each is written beside its place first, under a name that begins with a dot; only when all are on the disk are they
 * renamed, which cannot fail for want of room.  Folders that were made for them go again if nothing came of it.
 */
#include "cli/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

static bool path_of(char path[PATH_BYTES], const char *folder, const struct config_file *file, bool draft)
{
    int length = snprintf(path, PATH_BYTES, "%s/%s%s.%s%s", folder, draft ? "." : "", file->device,
                          file->format->suffix, draft ? ".new" : "");

    if (length < PATH_BYTES) return true;
    cli_error("%s: %s", folder, strerror(ENAMETOOLONG));
    return false;
}

static bool write_draft(const char *folder, const struct config_file *file)
{
    char path[PATH_BYTES];

    if (!path_of(path, folder, file, true)) return false;
    FILE *to = fopen(path, "w");
    if (!to) {
        cli_error("%s: %s", path, strerror(errno));
        return false;
    }
    bool good = fwrite(file->text, 1, file->length, to) == file->length;
    if (fclose(to) != 0) good = false;
    if (!good) cli_error("%s: cannot be written: %s", path, strerror(errno));
    return good;
}

static void drop_drafts(const char *folder, const struct config_file *file, uint32_t count)
{
    char path[PATH_BYTES];

    for (uint32_t f = 0; f < count; f++)
        if (path_of(path, folder, &file[f], true)) unlink(path);
}

/* What would stop a rename is asked before the first of them. */
static bool in_the_way(const char *folder, const struct config_file *file)
{
    char path[PATH_BYTES];
    struct stat about;

    if (!path_of(path, folder, file, false)) return true;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return false;
    cli_error("%s: %s", path, strerror(EISDIR));
    return true;
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
    char from[PATH_BYTES], to[PATH_BYTES], folder[PATH_BYTES];
    size_t length = strlen(out);
    bool good = true;

    while (length > 1 && out[length - 1] == '/')
        length--;
    if (snprintf(folder, sizeof(folder), "%.*s", (int)length, out) >= PATH_BYTES) {
        cli_error("--out %s: %s", out, strerror(ENAMETOOLONG));
        return false;
    }
    int made = make_folders(folder);
    if (made < 0) return false;
    for (uint32_t f = 0; f < count && good; f++)
        good = !in_the_way(folder, &file[f]) && write_draft(folder, &file[f]);
    for (uint32_t f = 0; f < count && good; f++) {
        good = path_of(from, folder, &file[f], true) && path_of(to, folder, &file[f], false) && rename(from, to) == 0;
        if (!good) cli_error("%s: %s", to, strerror(errno));
    }
    if (good) return true;
    drop_drafts(folder, file, count);
    unmake(folder, (unsigned)made);
    return false;
}
