/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories among the operands: the configurations in them, and in the directories right below.
 *
 * A file that is a configuration of no known format, or a fabric file among configurations, is passed over and listed:
 * whoever names a directory has not looked at each of its files.  FACTS_FILE is read as such later (given.c).
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/given.h"
#include "cli/source.h"

#define FILES_MAX 100000
#define NAMED_MAX 6 /* files passed over that are named; the others are counted */

struct finding {
    struct cli_files configs, links, fabrics, others;
};

static bool add_file(struct cli_files *files, const char *path)
{
    if (files->paths == files->room) {
        int room = files->room ? files->room * 2 : 64;
        char **more = room <= FILES_MAX ? realloc(files->path, (size_t)room * sizeof(*more)) : NULL;
        if (!more) return cli_fail("more than %d files, or not enough memory", files->paths);
        files->path = more;
        files->room = room;
    }
    files->path[files->paths] = strdup(path);
    return files->path[files->paths] && ++files->paths;
}

void cli_files_release(struct cli_files *files)
{
    for (int i = 0; i < files->paths; i++)
        free(files->path[i]);
    free(files->path);
    *files = (struct cli_files){0};
}

static bool is_folder(const char *path)
{
    struct stat found;

    return strcmp(path, "-") != 0 && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* What kind of file it is, and into which list it goes. */
static bool sort_file(struct finding *finding, const char *path)
{
    const struct config_format *format = NULL;
    struct stat found;
    size_t length = 0;
    char *text = NULL;
    bool fabric = false;

    if (stat(path, &found) != 0) {
        if (errno == ENOENT) return add_file(&finding->others, path); /* a link to nothing */
        cli_error("%s: %s", path, strerror(errno)); /* what it is, and whether it belongs to the fabric, nobody knows */
        return false;
    }
    if (!S_ISREG(found.st_mode) || found.st_size > CONFIG_TEXT_MAX_BYTES) return add_file(&finding->others, path);
    if (!cli_read_replaceable(path, CONFIG_TEXT_MAX_BYTES, &text, &length)) return false;
    if (!memchr(text, 0, length)) {
        fabric = cli_is_fabric(text);
        format = fabric ? NULL : config_format_guess(text, length);
    }
    free(text);
    if (fabric) return add_file(&finding->fabrics, path);
    if (!format || !format->import) return add_file(&finding->others, path);
    return add_file(format == &config_clab || format == &config_lldp ? &finding->links : &finding->configs, path);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, FACTS_FILE) != 0;
}

static bool look_into(struct finding *finding, const char *folder, int depth)
{
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, not_hidden, versionsort);
    bool good = count >= 0;

    if (count < 0) cli_error("%s: %s", folder, strerror(errno));
    size_t slash = strlen(folder);
    while (slash > 1 && folder[slash - 1] == '/')
        slash--;
    for (int i = 0; i < count; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%.*s/%s", (int)slash, folder, entry[i]->d_name);
        if (good && (length < 0 || (size_t)length >= sizeof path)) {
            cli_error("%s: %s", folder, strerror(ENAMETOOLONG));
            good = false;
        }
        if (good && is_folder(path))
            good = depth > 0 ? look_into(finding, path, depth - 1) : add_file(&finding->others, path);
        else if (good)
            good = sort_file(finding, path);
        free(entry[i]);
    }
    free(entry);
    return good;
}

static void list_others(const struct cli_files *others, const char *why)
{
    const struct text_style style = cli_style();

    if (!others->paths) return;
    fprintf(stderr, "rocelab: passed over, %s: ", why);
    for (int i = 0; i < others->paths && i < NAMED_MAX; i++) {
        fputs(i ? ", " : "", stderr);
        text_outside(stderr, &style, others->path[i]);
    }
    if (others->paths > NAMED_MAX) fprintf(stderr, " and %d more", others->paths - NAMED_MAX);
    fputc('\n', stderr);
}

static bool take_files(struct cli_files *to, const struct cli_files *from)
{
    bool good = true;

    for (int i = 0; good && i < from->paths; i++)
        good = add_file(to, from->path[i]);
    return good;
}

bool cli_files_find(char *const *operand, int operands, bool quiet, struct cli_files *ret)
{
    struct finding finding = {0};
    struct cli_files files = {0};
    bool good = true, folders = false;

    for (int i = 0; good && i < operands; i++) {
        bool folder = is_folder(operand[i]);
        folders |= folder;
        good = folder ? look_into(&finding, operand[i], 1) : add_file(&files, operand[i]);
    }
    bool configs = files.paths || finding.configs.paths;
    if (good) good = take_files(&files, &finding.configs) && take_files(&files, &finding.links);
    if (good && !configs && !finding.links.paths) good = take_files(&files, &finding.fabrics);
    if (good && folders && !quiet) {
        list_others(&finding.others, "no configuration of a known format");
        if (configs) list_others(&finding.fabrics, "a fabric file among configurations");
    }
    if (good && !files.paths) {
        cli_error("%s: no configuration and no fabric file in it", operands ? operand[0] : "-");
        good = false;
    }
    cli_files_release(&finding.configs);
    cli_files_release(&finding.links);
    cli_files_release(&finding.fabrics);
    cli_files_release(&finding.others);
    if (good)
        *ret = files;
    else
        cli_files_release(&files);
    return good;
}
