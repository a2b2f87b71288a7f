/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each reader against samples: NAME.txt (or .json) of tests/data/evidence/devices is what a device printed, NAME.want
 * everything that must be read of it, and nothing else.  Samples are written for these tests after what real devices
 * print; those with a dash and a word behind the layout's name are of another release, or cut, or with prompts.
 *
 * Each sample is also read as an editor or a recorded session keeps it, with the same result; and cut off, and with
 * bytes changed, which must do no harm.
 *
 *     test_readers FOLDER          compare them all
 *     test_readers --print FILE…   what is read of any file
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/reader.h"
#include "print.h"

#define PATH 1024

static char *file_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long size;

    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) ||
        !(text = calloc(1, (size_t)size + 1)) || fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    *bytes = (size_t)size;
    return text;
}

/* The same with a mark of UTF-8 and \r\n; text with colours, a title and what a pager takes back too. */
static char *recorded(char *text, size_t *bytes)
{
    char *out = NULL, *line = text, *rest;
    bool json = text[strspn(text, " \n")] == '{' || text[strspn(text, " \n")] == '[';
    FILE *to = open_memstream(&out, bytes);

    fputs("\xef\xbb\xbf", to);
    for (unsigned n = 0; (rest = strchr(line, '\n')); n++, line = rest + 1) {
        int length = (int)(rest - line), half = length / 2;
        if (json)
            fprintf(to, "%.*s\r\n", length, line);
        else if (n % 3 == 0)
            fprintf(to, "\033[1;32m%.*s\033[0m%.*s\033[K\r\n", half, line, length - half, line + half);
        else if (n % 3 == 1)
            fprintf(to, "--More--\b\b\b\b\b\b\b\b        \r\033]0;title\a%.*s\r\n", length, line);
        else
            fprintf(to, "--More--\r\033[K%.*s\n", length, line);
    }
    fputs(line, to);
    fclose(to);
    free(text);
    return out;
}

/* What is read of a file, as text. */
static char *read_of(const char *path, bool record)
{
    struct evidence evidence;
    size_t bytes, length;
    char *text = file_read(path, &bytes), *out = NULL;
    FILE *to = open_memstream(&out, &length);

    if (record) text = recorded(text, &bytes);

    evidence_init(&evidence);
    evidence_read_text(&evidence, "this", path, 0, NULL, text, bytes);
    evidence_print(&evidence, to);
    evidence_release(&evidence);
    fclose(to);
    free(text);
    return out;
}

/* The first line that differs. */
static void show_difference(const char *name, const char *is, const char *want)
{
    while (*is && *want) {
        size_t one = strcspn(is, "\n"), two = strcspn(want, "\n");
        if (one != two || memcmp(is, want, one) != 0) break;
        is += one + (is[one] != 0);
        want += two + (want[two] != 0);
    }
    printf("%s: read    %.*s\n%s: wanted  %.*s\n", name, (int)strcspn(is, "\n"), is, name, (int)strcspn(want, "\n"),
           want);
}

static void read_bytes(const char *path, const char *text, size_t bytes)
{
    struct evidence evidence;

    evidence_init(&evidence);
    evidence_read_text(&evidence, "this", path, 0, NULL, text, bytes);
    evidence_read_text(&evidence, "this", path, 1, NULL, text, bytes);
    evidence_finish(&evidence, NULL);
    evidence_audit(&evidence);
    evidence_release(&evidence);
}

/* Cut off at some places, and with a byte changed at others: by steps that a sample's length chooses. */
static void spoil(const char *path)
{
    static const char bytes_put[] = {0, '\n', ' ', '|', ':', '/', '-', '9', '"', '}', (char)0xff, '#'};
    size_t bytes;
    char *text = file_read(path, &bytes);

    for (size_t cut = 0; cut < bytes; cut += 1 + bytes / 37) {
        char *copy = malloc(cut ? cut : 1); /* of its own size: what is read behind its end is found */
        memcpy(copy, text, cut);
        read_bytes(path, copy, cut);
        free(copy);
    }
    for (size_t at = 0, n = 0; at < bytes; at += 1 + bytes / 61, n++) {
        char was = text[at];
        text[at] = bytes_put[n % sizeof bytes_put];
        read_bytes(path, text, bytes);
        text[at] = was;
    }
    free(text);
}

static bool compare(const char *folder, const char *name)
{
    char path[PATH], wanted[PATH];
    size_t bytes;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(wanted, sizeof wanted, "%s/%.*s.want", folder, (int)strcspn(name, "."), name);
    char *want = file_read(wanted, &bytes);
    bool same = true;
    for (unsigned record = 0; record < 2 && same; record++) {
        char *is = read_of(path, record);
        same = strcmp(is, want) == 0;
        if (!same) show_difference(name, is, want);
        free(is);
    }
    spoil(path);
    free(want);
    return same;
}

int main(int count, char **argument)
{
    unsigned files = 0, wrong = 0;
    struct dirent *one;

    if (count > 2 && !strcmp(argument[1], "--print")) {
        for (int i = 2; i < count; i++) {
            char *is = read_of(argument[i], false);
            fputs(is, stdout);
            free(is);
        }
        return 0;
    }
    DIR *dir = count == 2 ? opendir(argument[1]) : NULL;
    if (!dir) {
        fprintf(stderr, "usage: test_readers FOLDER | --print FILE...\n");
        return 2;
    }
    while ((one = readdir(dir))) {
        const char *suffix = strrchr(one->d_name, '.');
        if (one->d_name[0] == '.' || !suffix || (strcmp(suffix, ".txt") != 0 && strcmp(suffix, ".json") != 0)) continue;
        files++;
        wrong += !compare(argument[1], one->d_name);
    }
    closedir(dir);
    printf("%u samples, %u read wrong\n", files, wrong);
    return wrong || files < 2;
}
