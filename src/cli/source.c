/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One way from what is named on the command line to a fabric: a fabric file is loaded, configurations are imported in
 * memory first.  What the loader then says of a line is told of the configuration's line.
 */
#include "cli/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/reads.h"
#include "cli/cli.h"
#include "cli/examples.h"
#include "fabric/handle.h"
#include "fabric/places.h"
#include "load/load.h"
#include "plant/plant.h"

#define FABRIC_MAX_BYTES ((size_t)1 << 30)

bool cli_readable(const char *path)
{
    struct stat found;

    if (strcmp(path, "-") == 0) return true;
    int error = stat(path, &found) == 0 ? 0 : errno;
    if (error == ENOENT && cli_is_example(path))
        cli_error("%s: %s; the example is '" EXAMPLE_PREFIX "%s'", path, strerror(error), path);
    else if (error)
        cli_error("%s: %s", path, strerror(error));
    else if (S_ISDIR(found.st_mode))
        cli_error("%s: is a directory; name a file in it", path);
    else
        return true;
    return false;
}

bool cli_read_replaceable(const char *path, size_t most, char **ret_text, size_t *ret_length)
{
    if (!cli_readable(path)) return false;
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    size_t room = 65536, length = 0, got = 1;
    char *text = in ? malloc(room) : NULL;

    if (!in) return cli_fail("%s: %s", path, strerror(errno));
    while (got > 0 && length <= most) {
        got = fread(text + length, 1, room - 1 - length, in);
        length += got;
        if (length + 1 < room) continue;
        room *= 2;
        text = realloc(text, room);
    }
    int failed = ferror(in) ? EIO : 0;
    if (in != stdin) fclose(in);
    if (failed || length > most) {
        if (failed)
            cli_error("%s: cannot be read", path);
        else
            cli_error("%s: larger than %zu MiB, the most that is read", path, most >> 20);
        free(text);
        return false;
    }
    text[length] = 0;
    *ret_text = text;
    *ret_length = length;
    return true;
}

bool cli_read_file(const char *path, size_t most, char **ret_text, size_t *ret_length)
{
    if (!cli_read_replaceable(path, most, ret_text, ret_length)) return false;
    reads_note_path(path);
    return true;
}

bool cli_is_text(const char *path, const char *text, size_t length)
{
    uint32_t line, column;

    if (!zero_byte_at(text, length, &line, &column)) return true;
    return cli_fail("%s:%u:%u: a zero byte: a text is expected", path, line, column);
}

bool cli_read_text(const char *path, size_t most, char **ret_text)
{
    size_t length;
    char *text;

    if (!cli_read_file(path, most, &text, &length)) return false;
    if (cli_is_text(path, text, length)) {
        *ret_text = text;
        return true;
    }
    free(text);
    return false;
}

bool cli_is_fabric(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "---", 3) == 0)
            text += 3;
        else if (*text != '#')
            break;
        text += strcspn(text, "\n");
    }
    return strncmp(text, "rocelab:", 8) == 0 || strncmp(text, "{rocelab:", 9) == 0;
}

/* Could this be a fabric file whose author forgot to say so?  It begins with a key, then; else the loader's complaints
 * about YAML would be about something that is none. */
static bool begins_with_key(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n\xef\xbb\xbf");
        if (*text != '#' && strncmp(text, "---", 3) != 0) break;
        text += strcspn(text, "\n");
    }
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-\"'");

    return !*text || *text == '{' || (word && text[word] == ':' && strchr(" \t\r\n", text[word + 1]));
}

static uint32_t ports_of(const struct config_set *set)
{
    uint32_t ports = 0;

    for (uint32_t d = 0; d < set->devices; d++)
        ports += set->device[d].ports;
    return ports;
}

/* --from is believed, unless the text is empty, or has no port as that format and is plainly of another. */
static bool is_from(const struct config_format *from, const struct config_format *looks, const char *path,
                    const char *text, bool ports)
{
    if (!from) return true;
    if (!text[strspn(text, " \t\r\n")])
        cli_error("%s: is empty; a configuration is expected", path);
    else if (!ports && looks && looks != from)
        cli_error("%s: nothing in it is of %s; it looks like %s", path, from->name, looks->name);
    else
        return true;
    return false;
}

/* Why a text is none of a configuration's; NULL: it may be one. */
static const char *unlike_any(const char *text, size_t length)
{
    if (memchr(text, 0, length)) return "not a text file: it has zero bytes";
    if (!config_format_guess(text, length)) return "unknown format; name it with --from, as in --from nxos";
    return NULL;
}

/* Beside texts that are read, one of no known kind, or with nothing in it, is listed. */
static bool pass_over(struct cli_source *source, const char *path, const char *why)
{
    const struct origin nowhere = {config_source(&source->set, path), 0};

    config_note(&source->set, nowhere, NULL, CONFIG_NONE, CONFIG_NONE, "%s", why);
    source->passed_over++;
    return true;
}

enum when { FIRST, LATER }; /* is a text read: some add to others, and come after them */

static bool read_one(struct cli_source *source, const struct cli_inputs *inputs, const char *path, enum when *when)
{
    const struct config_format *from = inputs->from;
    struct fabric_errors errors = {.path = path};
    size_t length;
    char *text;

    if (!cli_read_file(path, CONFIG_TEXT_MAX_BYTES, &text, &length)) return false;
    if (cli_is_fabric(text)) {
        cli_error("%s: is a fabric file; a configuration is expected", path);
        free(text);
        return false;
    }
    const struct config_format *looks = config_format_guess(text, length), *as = from ? from : looks;
    const char *unlike = !from && inputs->paths > 1 ? unlike_any(text, length) : NULL;
    if (unlike || (*when == FIRST && as && as->late && strcmp(path, "-") != 0 && as->late(text, length))) {
        free(text);
        if (!unlike) *when = LATER;
        return !unlike || pass_over(source, path, unlike);
    }
    uint32_t before = ports_of(&source->set);
    int result = config_read(&source->set, as, path, text, length, NULL, &errors);
    bool good = result != 0 || is_from(from, from ? looks : NULL, path, text, ports_of(&source->set) > before);
    free(text);
    if (result == 0) return good;
    if (result == -ENODATA && !from && inputs->paths > 1) return pass_over(source, path, errors.error[0].text);
    if (errors.count)
        fabric_errors_print(&errors, stderr);
    else
        cli_error("%s: %s", path, strerror(-result));
    return false;
}

/* Those that add to others come last.  False after a message. */
static bool read_all(struct cli_source *source, const struct cli_inputs *inputs)
{
    enum when *when = calloc((size_t)inputs->paths + 1, sizeof(*when));
    bool good = true;

    for (int i = 0; good && i < inputs->paths; i++)
        good = read_one(source, inputs, inputs->path[i], &when[i]);
    for (int i = 0; good && i < inputs->paths; i++)
        if (when[i] == LATER) good = read_one(source, inputs, inputs->path[i], &when[i]);
    free(when);
    if (!good || source->set.devices) return good;
    for (uint32_t n = 0; n < source->set.notes; n++)
        cli_error("%s: %s", source->set.path[source->set.note[n].at.source], source->set.note[n].message);
    if (source->passed_over < inputs->paths)
        cli_error("%s: it says nothing of a switch or an adapter; the configuration that it is about is expected",
                  source->path);
    return false;
}

bool cli_from(void *to, const char *argument)
{
    const struct config_format **ret = to;
    const struct config_format *format = config_format_find(argument);
    char names[CONFIG_NAMES];

    *ret = format;
    if (format == NULL) cli_error("--from '%s': %s", argument, config_format_names(CONFIG_READ, "or", names));
    return format != NULL;
}

bool cli_written(void *to, const char *argument)
{
    const struct config_format *format = config_format_find(argument), **ret = to;
    char names[CONFIG_NAMES];

    *ret = format;
    if (format != NULL && format->emit != NULL) return true;
    return cli_fail("--nos '%s': %s", argument, config_format_names(CONFIG_WRITTEN, "or", names));
}

bool cli_links_add(void *to, const char *path)
{
    struct cli_links *links = to;

    if (links->count == CLI_LINKS_MAX) return cli_fail("--links: at most %d files", CLI_LINKS_MAX);
    links->path[links->count++] = path;
    return true;
}

bool cli_source_import(struct cli_source *source, const struct cli_inputs *inputs)
{
    config_set_init(&source->set);
    source->imported = true;
    source->path = inputs->path[0];
    if (!read_all(source, inputs)) return false;
    const struct cli_inputs links = {.paths = 1};
    for (int i = 0; inputs->links && i < inputs->links->count; i++) {
        enum when when = LATER;
        if (!read_one(source, &links, inputs->links->path[i], &when)) return false;
    }
    if (!cli_given_apply(inputs->given, &source->set)) return false;
    config_write(&source->set, "imported", &source->text, &source->map);
    return true;
}

struct cli_place cli_source_place(const struct cli_source *source, struct fabric_at at)
{
    struct cli_place place = {source->path, at.line, at.column};

    if (!source->imported) return place;
    place.column = 0;
    if (!origin_find(&source->map, at.line, &place.path, &place.line)) place.line = 0; /* of our own text */
    return place;
}

int cli_fabric_load(const char *path, const char *text, const struct fabric_override *override, uint32_t overrides,
                    struct fabric **ret, struct fabric_errors *errors)
{
    const struct fabric_with with = {.override = override, .overrides = overrides, .judge = plant_judge_nic};

    return fabric_load_with(path, text, &with, ret, errors);
}

static bool load(struct cli_source *source)
{
    struct fabric_errors errors = {.path = source->path, .takes_overfull = source->takes_overfull};
    int result = cli_fabric_load(source->path, source->text, NULL, 0, &source->fabric, &errors);

    source->overfull = errors.overfull > 0;
    if (result != 0) {
        for (uint32_t e = 0; e < errors.count && source->imported; e++) {
            struct cli_place place = cli_source_place(source, errors.error[e].at);
            const struct text_style style = cli_style();
            text_outside(stderr, &style, place.path);
            if (place.line) fprintf(stderr, ":%u", place.line);
            fprintf(stderr, ": error: %s\n", errors.error[e].text);
        }
        if (!source->imported) fabric_errors_print(&errors, stderr);
        if (!errors.count) cli_error("%s: %s", source->path, strerror(-result));
        return false;
    }
    if (fabric_places_open(source->fabric, source->text, &source->places) == 0) return true;
    return cli_fail("not enough memory");
}

bool cli_source_load(struct cli_source *source, const struct cli_inputs *inputs)
{
    size_t length;

    source->takes_overfull = inputs->takes_overfull;
    if (inputs->paths == 1 && !inputs->from && !(inputs->links && inputs->links->count)) {
        if (!cli_read_file(inputs->path[0], FABRIC_MAX_BYTES, &source->read, &length)) return false;
        source->path = inputs->path[0];
        bool fabric = cli_is_fabric(source->read);
        if (!fabric && !config_format_guess(source->read, length) && !begins_with_key(source->read))
            return cli_fail(
                "%s: neither a fabric file, whose first line is `rocelab: 1`, nor a configuration of a known format; "
                "name it with --from, as in --from nxos",
                source->path);
        if (fabric || !config_format_guess(source->read, length)) {
            if (!cli_is_text(source->path, source->read, length)) return false;
            if (cli_given_any(inputs->given))
                return cli_fail(
                    "%s: --model, --cable and --facts belong to configurations; a fabric file says it itself",
                    source->path);
            source->text = source->read;
            return load(source);
        }
        if (strcmp(inputs->path[0], "-") == 0) { /* it can be read once */
            struct fabric_errors errors = {.path = "-"};
            config_set_init(&source->set);
            source->imported = true;
            if (config_read(&source->set, NULL, "-", source->read, length, NULL, &errors) != 0 ||
                !cli_given_apply(inputs->given, &source->set)) {
                fabric_errors_print(&errors, stderr);
                return false;
            }
            config_write(&source->set, "imported", &source->text, &source->map);
            return load(source);
        }
    }
    return cli_source_import(source, inputs) && load(source);
}

void cli_source_release(struct cli_source *source)
{
    if (source->places) fabric_places_free(source->places);
    if (source->fabric) fabric_free(source->fabric);
    if (source->imported) config_set_release(&source->set);
    free(source->read);
    *source = (struct cli_source){0};
}

bool cli_congestion_right(const struct fabric_nic *nic)
{
    struct fabric_errors errors = {0};

    plant_judge_nic(nic, &errors);
    for (uint32_t i = 0; i < errors.count; i++)
        cli_error("--cc: %s", errors.error[i].text);
    return errors.count == 0;
}
