/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are kept: found by exactly what made them; made again after any other program, file, seed or option, and
 * after any damage, byte by byte; whole or not there when whoever writes is killed in the middle.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "study/cache.h"

static char folder[64];
static unsigned made; /* how often a row was */

static bool make(const void *context, FILE *row)
{
    made++;
    fprintf(row, "value %s\nend\n", (const char *)context);
    return strcmp(context, "refused") != 0;
}

static enum cache_origin row_of(const struct cache *cache, const struct cache_key *key, const char *value)
{
    char *text = NULL, due[64];
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    cache_row(cache, key, make, value, to);
    fclose(to);
    const char *row = text;
    enum cache_origin origin = cache_origin(&row, &length);
    snprintf(due, sizeof due, "value %s\nend\n", value);
    assert_int_equal(length, strlen(due));
    assert_memory_equal(row, due, length);
    free(text);
    return origin;
}

static struct cache opened(void)
{
    struct study_error error = {0};
    struct cache cache = {0};

    assert_true(cache_open(&cache, folder, &error));
    return cache;
}

/* The files of the folder: how many, and the name of one. */
static unsigned files(const struct cache *cache, char name[4400])
{
    DIR *dir = opendir(cache->folder);
    unsigned count = 0;

    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(name, 4400, "%s/%s", cache->folder, entry->d_name);
        count++;
    }
    closedir(dir);
    return count;
}

static int empty(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rocelab-cache-XXXXXX");
    made = 0;
    return mkdtemp(folder) ? 0 : -1;
}

static int removed(void **state)
{
    struct cache cache = opened();
    char name[4400];

    (void)state;
    while (files(&cache, name))
        unlink(name);
    rmdir(cache.folder);
    return rmdir(folder);
}

static void found_again(void **state)
{
    struct cache cache = opened();
    const struct cache_key key = {1, 2, 3};

    (void)state;
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_MADE);
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_FOUND);
    assert_int_equal(made, 1);
    cache.force = true;
    assert_int_equal(row_of(&cache, &key, "b"), CACHE_MADE);
    cache.force = false;
    assert_int_equal(row_of(&cache, &key, "b"), CACHE_FOUND); /* the new one was kept */
}

static void nothing_is_kept_without_a_folder(void **state)
{
    const struct cache cache = {0};
    const struct cache_key key = {1, 2, 3};

    (void)state;
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_MADE);
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_MADE);
}

static void whatever_made_it_counts(void **state)
{
    struct cache cache = opened(), rebuilt = cache;
    const struct cache_key key = {1, 2, 3}, file = {9, 2, 3}, seed = {1, 9, 3}, options = {1, 2, 9};

    (void)state;
    rebuilt.program++;
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_MADE);
    assert_int_equal(row_of(&cache, &file, "b"), CACHE_MADE);
    assert_int_equal(row_of(&cache, &seed, "c"), CACHE_MADE);
    assert_int_equal(row_of(&cache, &options, "d"), CACHE_MADE);
    assert_int_equal(row_of(&rebuilt, &key, "e"), CACHE_MADE);
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_FOUND);
    assert_int_equal(row_of(&rebuilt, &key, "e"), CACHE_FOUND);
    assert_int_equal(row_of(&cache, &options, "d"), CACHE_FOUND);
}

static void a_row_not_worth_keeping(void **state)
{
    struct cache cache = opened();
    const struct cache_key key = {1, 2, 3};
    char name[4400];

    (void)state;
    assert_int_equal(row_of(&cache, &key, "refused"), CACHE_MADE);
    assert_int_equal(files(&cache, name), 0);
}

static void put(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(name, "wb");

    fwrite(bytes, 1, length, file);
    fclose(file);
}

static void any_damage_is_seen(void **state)
{
    struct cache cache = opened();
    const struct cache_key key = {1, 2, 3};
    char name[4400], whole[1024];

    (void)state;
    row_of(&cache, &key, "a");
    assert_int_equal(files(&cache, name), 1);
    FILE *file = fopen(name, "rb");
    size_t length = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (size_t at = 0; at < length; at++) {
        char changed[1024];
        memcpy(changed, whole, length);
        changed[at] ^= 1;
        put(name, changed, length);
        assert_int_equal(row_of(&cache, &key, "a"), CACHE_DAMAGED);
        put(name, whole, at); /* cut off here */
        assert_int_equal(row_of(&cache, &key, "a"), CACHE_DAMAGED);
    }
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_FOUND);
    memcpy(whole + length, "more", 4);
    put(name, whole, length + 4);
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_DAMAGED);
}

static void a_row_carried_there_from_elsewhere(void **state)
{
    struct cache cache = opened();
    const struct cache_key key = {1, 2, 3}, other = {1, 4, 3};
    char first[4400], second[4400], aside[80];

    (void)state;
    row_of(&cache, &key, "a");
    assert_int_equal(files(&cache, first), 1);
    snprintf(aside, sizeof aside, "%s/aside", folder);
    assert_int_equal(rename(first, aside), 0);
    row_of(&cache, &other, "b");
    assert_int_equal(files(&cache, second), 1);
    assert_int_equal(rename(aside, second), 0); /* whole, and not of this key */
    assert_int_equal(row_of(&cache, &other, "b"), CACHE_DAMAGED);
}

static bool make_and_die(const void *context, FILE *row)
{
    fputs(context, row);
    raise(SIGKILL);
    return true;
}

static void killed_in_the_middle(void **state)
{
    struct cache cache = opened();
    const struct cache_key key = {1, 2, 3};
    char name[4400];
    int status;

    (void)state;
    pid_t child = fork();
    if (child == 0) {
        cache_row(&cache, &key, make_and_die, "half", stdout);
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    assert_int_equal(files(&cache, name), 0);
    row_of(&cache, &key, "a");
    assert_int_equal(files(&cache, name), 1);
    snprintf(name + strlen(name), 16, ".123"); /* what a writer that was killed leaves beside it */
    put(name, "rocelab-row", 11);
    assert_int_equal(row_of(&cache, &key, "a"), CACHE_FOUND);
}

static void folders_that_cannot_be(void **state)
{
    struct study_error error = {0};
    struct cache cache = {0};
    char name[80], longest[5000];

    (void)state;
    snprintf(name, sizeof name, "%s/file", folder);
    put(name, "", 0);
    assert_false(cache_open(&cache, name, &error));
    assert_non_null(strstr(error.text[0], "Not a directory"));
    unlink(name);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    error = (struct study_error){0};
    assert_false(cache_open(&cache, longest, &error));
    assert_string_equal(error.text[0], "--out: the name is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(found_again, empty, removed),
        cmocka_unit_test_setup_teardown(nothing_is_kept_without_a_folder, empty, removed),
        cmocka_unit_test_setup_teardown(whatever_made_it_counts, empty, removed),
        cmocka_unit_test_setup_teardown(a_row_not_worth_keeping, empty, removed),
        cmocka_unit_test_setup_teardown(any_damage_is_seen, empty, removed),
        cmocka_unit_test_setup_teardown(a_row_carried_there_from_elsewhere, empty, removed),
        cmocka_unit_test_setup_teardown(killed_in_the_middle, empty, removed),
        cmocka_unit_test_setup_teardown(folders_that_cannot_be, empty, removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
