/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the examples are, what they are called, and what each is about: its own first comment says it.
 *
 * Only what lies in the folder has a name: `example:` opens no other file.
 */
#include "cli/examples.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/place.h"
#include "cli/source.h"

#define FOLDER "examples"
#define SUFFIX ".yaml"
#define SCHEMA "fabric.schema.json"
#define SCHEMA_MAX_BYTES ((size_t)4 << 20)
#define NAMES_MAX 256
#define LINE 400 /* of a first comment */
#define WIDEST 36

struct names {
    char *name[NAMES_MAX];
    size_t count;
};

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Regular files of a folder and of those right below it, by their names from `root` on. */
static void look_into(const char *root, const char *below, struct names *names)
{
    struct dirent **entry = NULL;
    char path[PATH_MAX], name[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", root, below) >= (int)sizeof path) return;
    int count = scandir(path, &entry, not_hidden, versionsort);
    for (int i = 0; i < count; i++) {
        struct stat about;
        int wrote = snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "", entry[i]->d_name);
        bool fits = wrote < (int)sizeof name && snprintf(path, sizeof path, "%s/%s", root, name) < (int)sizeof path;
        if (fits && stat(path, &about) == 0) {
            if (S_ISDIR(about.st_mode) && !*below) look_into(root, name, names);
            if (S_ISREG(about.st_mode) && names->count < NAMES_MAX) names->name[names->count++] = strdup(name);
        }
        free(entry[i]);
    }
    free(entry);
}

/* Its length without SUFFIX. */
static size_t stem(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);

    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0 ? length - suffix : length;
}

/* Those of the folder itself first. */
static int compare_names(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    int depth = (strchr(*x, '/') != NULL) - (strchr(*y, '/') != NULL);
    size_t shorter = stem(*x) < stem(*y) ? stem(*x) : stem(*y);
    int order = depth ? depth : strncmp(*x, *y, shorter);

    return order ? order : (stem(*x) > stem(*y)) - (stem(*x) < stem(*y));
}

static void release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
}

static bool find_folder(char folder[PATH_MAX], struct names *names)
{
    *names = (struct names){.count = 0};
    if (cli_share(FOLDER, folder)) look_into(folder, "", names);
    qsort(names->name, names->count, sizeof names->name[0], compare_names);
    if (names->count) return true;
    return cli_fail("no examples are installed: neither share/rocelab/" FOLDER
                    " beside the program's bin, nor its sources");
}

static bool is_called(const char *name, const char *wanted)
{
    return strcmp(name, wanted) == 0 || (strlen(wanted) == stem(name) && strncmp(name, wanted, stem(name)) == 0);
}

static const char *name_at(const void *list, size_t index)
{
    return ((const struct names *)list)->name[index];
}

/* The one below another folder, or the one that is spelt nearly so. */
static void refuse(const char *wanted, struct names *names)
{
    const char *near = NULL;

    for (size_t i = 0; i < names->count; i++) {
        names->name[i][stem(names->name[i])] = '\0';
        const char *slash = strrchr(names->name[i], '/');
        if (slash && strcmp(slash + 1, wanted) == 0) near = names->name[i];
    }
    if (!near) near = cli_nearest(wanted, name_at, names, names->count);
    if (near)
        cli_error("no example '%s': did you mean '" EXAMPLE_PREFIX "%s'?", wanted, near);
    else
        cli_error("no example '%s'; 'rocelab help examples' lists them", wanted);
}

bool cli_example(char **name)
{
    const size_t prefix = strlen(EXAMPLE_PREFIX);
    const char *wanted = *name + prefix;
    struct names names;
    char folder[PATH_MAX], *path = NULL;

    if (strncmp(*name, EXAMPLE_PREFIX, prefix) != 0) return true;
    if (!find_folder(folder, &names)) return false;
    for (size_t i = 0; i < names.count && !path; i++)
        if (is_called(names.name[i], wanted) && asprintf(&path, "%s/%s", folder, names.name[i]) < 0) path = NULL;
    if (path)
        *name = path;
    else
        refuse(wanted, &names);
    release(&names);
    return path != NULL;
}

bool cli_is_example(const char *name)
{
    char folder[PATH_MAX];
    struct names names = {.count = 0};
    bool found = false;

    if (cli_share(FOLDER, folder)) look_into(folder, "", &names);
    for (size_t i = 0; i < names.count; i++)
        found |= is_called(names.name[i], name);
    release(&names);
    return found;
}

/* The first sentence of the comment that the file begins with. */
static void first_sentence(const char *path, char ret[LINE])
{
    FILE *in = fopen(path, "r");
    size_t used = 0;
    char line[LINE];

    ret[0] = '\0';
    while (in && used + 2 < LINE && fgets(line, sizeof line, in) && line[0] == '#') {
        line[strcspn(line, "\n")] = '\0';
        int wrote = snprintf(ret + used, LINE - used, "%s%s", used ? " " : "", line + 1 + (line[1] == ' '));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    if (in) fclose(in);
    char *end = strstr(ret, ". ");
    if (end) end[1] = '\0';
}

bool cli_list_examples(const char *none, bool json, FILE *out)
{
    (void)none, (void)json;
    const struct text_style style = cli_style();
    char folder[PATH_MAX], path[PATH_MAX * 2], about[LINE];
    struct names names;

    if (!find_folder(folder, &names)) return false;
    fputs("Examples: fabric files that every verb takes by these names, as in 'rocelab sim " EXAMPLE_PREFIX
          "pod64'.\n\n",
          out);
    for (size_t i = 0; i < names.count; i++) {
        size_t length = stem(names.name[i]);
        if (!names.name[i][length]) continue;
        snprintf(path, sizeof path, "%s/%s", folder, names.name[i]);
        first_sentence(path, about);
        int width = fprintf(out, "  " EXAMPLE_PREFIX "%.*s", (int)length, names.name[i]);
        fprintf(out, "%*s", width < WIDEST ? WIDEST + 2 - width : 2, "");
        text_wrap(out, &style, width < WIDEST ? WIDEST + 2 : (unsigned)width + 2, WIDEST + 2, about);
    }
    fprintf(out, "\nThey are in %s: copy one and change it, or let 'rocelab init' ask for your own.\n", folder);
    release(&names);
    return true;
}

bool cli_print_schema(const char *none, bool json, FILE *out)
{
    char path[PATH_MAX], *text;

    (void)none;
    (void)json; /* it is a document either way */
    cli_share(SCHEMA, path);
    if (!cli_read_text(path, SCHEMA_MAX_BYTES, &text)) return false;
    fputs(text, out);
    free(text);
    return true;
}
