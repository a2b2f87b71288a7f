/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kept row is a file, DIR/points/KEY: a line that says what made it, its length and a hash of its bytes, then the
 * row.  KEY is a hash of what made it, so a row is looked for under one name; the line is compared whole, so a file
 * that was cut, changed, or carried there from elsewhere is made again and never believed.  So is one that another user
 * wrote, unless that is root: a hash finds damage, not forgery.
 *
 * It is written beside and renamed (base/draft.h): whoever is killed in the middle leaves the old row, or none.
 * Several programs may use one folder at once; they write the same bytes.
 */
#include "study/cache.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/draft.h"
#include "base/hash.h"
#include "study/pool.h"

#define PATH 4096
#define HEAD 256

int cache_folder(const char *path)
{
    struct stat about;

    if (mkdir(path, 0777) == 0) return 0;
    if (errno == EEXIST && stat(path, &about) == 0) {
        if (!S_ISDIR(about.st_mode))
            errno = ENOTDIR;
        else if (access(path, W_OK | X_OK) == 0)
            return 0;
    }
    return -errno;
}

static bool make_folder(const char *path, struct study_error *error)
{
    int result = cache_folder(path);

    return result == 0 || study_fail(error, "--out '%s': %s", path, strerror(-result));
}

static bool has_files(const char *folder)
{
    DIR *list = opendir(folder);
    struct dirent *one;
    bool any = false;

    while (list && !any && (one = readdir(list)) != NULL)
        any = one->d_name[0] != '.';
    if (list) closedir(list);
    return any;
}

bool cache_open(struct cache *cache, const char *out, struct study_error *error)
{
    if (snprintf(cache->folder, sizeof cache->folder, "%s/points", out) >= (int)sizeof cache->folder - HEAD)
        return study_fail(error, "--out: the name is too long");
    cache->program = cache_program();
    if (cache->program == 0) return study_fail(error, "--out: the program's own file, /proc/self/exe, cannot be read");
    cache->used = has_files(cache->folder);
    return make_folder(out, error) && make_folder(cache->folder, error);
}

uint64_t cache_program(void)
{
    static const char version[] = ROCELAB_VERSION;
    uint64_t hash = hash_bytes(HASH_BEGIN, version, sizeof version);
    FILE *file = fopen("/proc/self/exe", "rb");
    char part[1 << 14];
    size_t got;

    while (file && (got = fread(part, 1, sizeof part, file)) > 0)
        hash = hash_bytes(hash, part, got);
    bool whole = file && !ferror(file);
    if (file) fclose(file);
    return whole ? hash : 0;
}

/* What made the row, in words. */
static void key_text(const struct cache *cache, const struct cache_key *key, char text[HEAD])
{
    snprintf(text, HEAD,
             "rocelab-row 2 program %016" PRIx64 " fabric %016" PRIx64 " options %016" PRIx64 " seed %" PRIu64,
             cache->program, key->fabric, key->options, key->seed);
}

static void head_text(const struct cache *cache, const struct cache_key *key, const char *row, size_t length,
                      char text[2 * HEAD])
{
    char made[HEAD];

    key_text(cache, key, made);
    snprintf(text, 2 * HEAD, "%s bytes %zu hash %016" PRIx64 "\n", made, length, hash_bytes(HASH_BEGIN, row, length));
}

static void name_of(const struct cache *cache, const struct cache_key *key, char name[PATH + HEAD])
{
    char made[HEAD];

    key_text(cache, key, made);
    snprintf(name, PATH + HEAD, "%s/%016" PRIx64, cache->folder, hash_bytes(HASH_BEGIN, made, strlen(made)));
}

/* A row is structs as they are: what another user wrote is not read. */
static bool is_ours(FILE *file)
{
    struct stat is;

    return fstat(fileno(file), &is) == 0 && S_ISREG(is.st_mode) && (is.st_uid == geteuid() || is.st_uid == 0);
}

/* All of a file, terminated; NULL: there is none, or no memory; "" where it is another user's. */
static char *read_file(const char *name, size_t *ret_length)
{
    FILE *file = fopen(name, "rb");
    char *bytes = file ? malloc(POOL_ROW_MAX + 2 * HEAD) : NULL;

    if (bytes && !is_ours(file)) {
        bytes[0] = '\0';
    } else if (bytes) {
        *ret_length = fread(bytes, 1, POOL_ROW_MAX + 2 * HEAD - 1, file);
        bytes[*ret_length] = '\0';
    }
    if (file) fclose(file);
    return bytes;
}

/* Copies the kept row to `to`; false: there is none, *ret_damaged: none that can be believed. */
static bool give_kept(const struct cache *cache, const struct cache_key *key, FILE *to, bool *ret_damaged)
{
    char name[PATH + HEAD], head[2 * HEAD];
    size_t length = 0;

    name_of(cache, key, name);
    char *bytes = read_file(name, &length);
    if (bytes == NULL) return false;
    size_t first = strcspn(bytes, "\n");
    const char *row = first < length ? bytes + first + 1 : bytes + length;
    size_t rest = length - (size_t)(row - bytes);
    head_text(cache, key, row, rest, head);
    bool whole = first < length && strlen(head) == first + 1 && memcmp(head, bytes, first + 1) == 0;
    if (whole) {
        fputc('0' + CACHE_FOUND, to);
        fwrite(row, 1, rest, to);
    }
    *ret_damaged = !whole;
    free(bytes);
    return whole;
}

static bool keep(const struct cache *cache, const struct cache_key *key, const char *row, size_t length)
{
    char name[PATH + HEAD], head[2 * HEAD];
    struct draft *draft;

    name_of(cache, key, name);
    if (draft_open(name, &draft) != 0) return false;
    FILE *to = draft_stream(draft);
    CHECK(to); /* as above: in a process of its own */
    head_text(cache, key, row, length, head);
    fputs(head, to);
    fwrite(row, 1, length, to);
    return draft_commit(draft) == 0;
}

void cache_row(const struct cache *cache, const struct cache_key *key, cache_make *make, const void *context, FILE *to)
{
    bool kept = cache->folder[0] != '\0', damaged = false;
    enum cache_origin origin = CACHE_MADE;
    char *row = NULL;
    size_t length = 0;

    if (kept && !cache->force && give_kept(cache, key, to, &damaged)) return;
    FILE *memory = open_memstream(&row, &length);
    CHECK(memory); /* a process of its own: its parent says what became of it */
    bool worth = make(context, memory);
    CHECK(fclose(memory) == 0);
    if (damaged) origin = CACHE_DAMAGED;
    if (kept && worth && !keep(cache, key, row, length)) origin = CACHE_NOT_KEPT;
    fputc('0' + (int)origin, to);
    fwrite(row, 1, length, to);
    free(row);
}

enum cache_origin cache_origin(const char **row, size_t *length)
{
    CHECK(*length > 0 && **row >= '0' && **row <= '0' + CACHE_NOT_KEPT);
    enum cache_origin origin = (enum cache_origin)(**row - '0');

    (*row)++;
    (*length)--;
    return origin;
}
