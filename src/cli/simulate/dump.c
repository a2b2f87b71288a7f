/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as dumps of a real fabric; see dump.h.
 *
 * The folder must be empty: files of another run beside this one's would be read with them.  The moments are written
 * into a hidden folder in it, which nobody reads, and move up when the last is whole: two of three moments look like a
 * run in which less happened.
 */
#include "cli/simulate/dump.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "cli/cli.h"

static bool add_time(struct cli_dump *dump, const char *text)
{
    unsigned at = 0;
    ps_t time;

    if (!cli_quantity(UNIT_TIME, "dump-at", text, &time)) return false;
    while (at < dump->times && dump->at[at] < time)
        at++;
    if (at < dump->times && dump->at[at] == time) return true;
    if (dump->times == CLI_DUMP_TIMES) return cli_fail("--dump-at: %d times at most", CLI_DUMP_TIMES);
    memmove(&dump->at[at + 1], &dump->at[at], (dump->times - at) * sizeof dump->at[0]);
    dump->at[at] = time;
    dump->times++;
    return true;
}

bool cli_dump_at(void *to, const char *argument)
{
    struct cli_dump *dump = to;
    char text[64];

    for (const char *at = argument;; at++) {
        size_t length = strcspn(at, ",");
        if (length >= sizeof text) return cli_fail("--dump-at '%s': times, as in 100us,2ms", argument);
        memcpy(text, at, length);
        text[length] = '\0';
        if (!add_time(dump, text)) return false;
        at += length;
        if (*at == '\0') return true;
    }
}

bool cli_dump_fits(const struct cli_dump *dump)
{
    if (dump->folder || dump->times == 0) return true;
    return cli_fail("sim: --dump-at says when more is dumped; say where: --dump DIR");
}

static bool empty_folder(const char *path)
{
    if (mkdir(path, 0777) == 0) {
        if (draft_tree_add(path, true)) return true;
        rmdir(path);
        return cli_fail("--dump %s: %s", path, strerror(ENOMEM));
    }
    int error = errno;
    DIR *folder = error == EEXIST ? opendir(path) : NULL;
    if (folder == NULL) return cli_fail("--dump %s: %s", path, strerror(error == EEXIST ? errno : error));
    bool empty = true;
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) empty = false;
    error = errno;
    closedir(folder);
    if (error != 0) cli_error("--dump %s: %s", path, strerror(error));
    if (error != 0) return false;
    if (!empty) cli_error("--dump %s: there is something in it; give a folder that is empty or not there", path);
    return empty;
}

static bool make_draft(struct cli_dump *dump)
{
    int length = snprintf(dump->draft, sizeof dump->draft, "%s/.dump-%d", dump->folder, (int)getpid());
    int error = length >= (int)sizeof dump->draft    ? ENAMETOOLONG
                : mkdir(dump->draft, 0777) != 0      ? errno
                : !draft_tree_add(dump->draft, true) ? ENOMEM
                                                     : 0;

    if (error) cli_error("--dump %s: %s", dump->folder, strerror(error));
    return error == 0;
}

static int not_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* The moments, the first one first, to where they are looked for. */
static bool move_up(const struct cli_dump *dump)
{
    char from[2 * DUMP_PATH], to[2 * DUMP_PATH];
    struct dirent **moment = NULL;
    int moments = scandir(dump->draft, &moment, not_dots, versionsort);
    bool good = moments >= 0;

    for (int i = 0; i < moments; i++) {
        snprintf(from, sizeof from, "%s/%s", dump->draft, moment[i]->d_name);
        snprintf(to, sizeof to, "%s/%s", dump->folder, moment[i]->d_name);
        good = good && rename(from, to) == 0;
        free(moment[i]);
    }
    if (!good) cli_error("--dump %s: %s", dump->folder, strerror(errno));
    free(moment);
    return good && rmdir(dump->draft) == 0;
}

static void write_now(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim)
{
    struct dump_failure failure;

    if (dump->failed || dump_write(&dump->dump, fabric, sim, &failure) == 0) return;
    dump->failed = true;
    size_t draft = strlen(dump->draft);
    bool below = strncmp(failure.path, dump->draft, draft) == 0; /* said as it would be called in the end */
    cli_error("--dump: %s%s: %s", dump->folder, below ? failure.path + draft : "", strerror(failure.error));
}

bool cli_dump_begin(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim, uint64_t seed)
{
    if (dump->folder == NULL) return true;
    if (!empty_folder(dump->folder)) return false;
    if (!make_draft(dump)) return false;
    dump->dump.folder = dump->draft;
    dump->dump.seed = seed;
    write_now(dump, fabric, sim);
    while (dump->next < dump->times && dump->at[dump->next] == 0)
        dump->next++;
    return !dump->failed;
}

ps_t cli_dump_next(const struct cli_dump *dump)
{
    return dump->next < dump->times ? dump->at[dump->next] : PS_NEVER;
}

void cli_dump_look(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim)
{
    write_now(dump, fabric, sim);
    dump->next++;
}

bool cli_dump_end(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim)
{
    if (dump->folder == NULL) return true;
    if (dump->next < dump->times)
        cli_error("note: --dump-at: the run ended before %u of the times", dump->times - dump->next);
    write_now(dump, fabric, sim);
    if (dump->failed || !move_up(dump)) return false;
    draft_tree_keep(dump->folder);
    return true;
}

void cli_dump_release(struct cli_dump *dump)
{
    if (dump->folder) draft_tree_drop(dump->folder);
    dump_release(&dump->dump);
}
