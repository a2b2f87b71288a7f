/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What importers say, gathered: devices, ports, settings by path, links, notes, each with its place.
 *
 * Everything lives in the set's arena, under a limit, so that a hostile text ends in an error and not in the machine's
 * memory.  Lists grow by doubling; what they leave behind is at most as much again.  Devices and ports are found by an
 * index of their names, for a text may name each of thousands thousands of times; a port's paths, a hundred or two, are
 * searched one by one.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "config/config.h"
#include "config/product.h"

#define MEMORY_MAX ((size_t)2 << 30)
#define NAME_BYTES 64
#define VALUE_BYTES 512
#define NOTES_MAX 100000u
#define NOTES_ALIKE 512u /* notes looked back at for one that says the same */

void config_set_init(struct config_set *set)
{
    *set = (struct config_set){0};
    arena_init(&set->arena, MEMORY_MAX);
}

void config_set_release(struct config_set *set)
{
    arena_release(&set->arena);
}

void *config_grown(struct config_set *set, void *list, uint32_t count, uint32_t *room, size_t size)
{
    CHECK(count <= *room && *room <= UINT32_MAX / 2);
    if (count < *room) return list;
    uint32_t wanted = *room ? *room * 2 : 8;
    void *more = arena_alloc(&set->arena, wanted, size, 16);
    if (!more) {
        set->no_memory = true;
        return NULL;
    }
    if (count) memcpy(more, list, count * size);
    *room = wanted;
    return more;
}

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037ull;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211ull;
    return hash ^ hash >> 29;
}

/* Names are the first member of what the list holds. */
static const char *name_at(const void *list, size_t size, uint32_t index)
{
    const char *name;

    memcpy(&name, (const char *)list + index * size, sizeof(name));
    return name;
}

static uint32_t names_find(const struct config_names *names, const void *list, size_t size, const char *name)
{
    if (!names->slots) return CONFIG_NONE;
    for (uint64_t at = hash_of(name);; at++) {
        uint32_t found = names->slot[at & (names->slots - 1)];
        if (!found) return CONFIG_NONE;
        if (strcmp(name_at(list, size, found - 1), name) == 0) return found - 1;
    }
}

static void names_put(struct config_names *names, uint32_t index, const char *name)
{
    uint64_t at = hash_of(name), tried = 0;

    CHECK(names->slots && (names->slots & (names->slots - 1)) == 0);
    for (; names->slot[at & (names->slots - 1)]; at++)
        CHECK(tried++ < names->slots); /* a full table would be searched for ever */
    names->slot[at & (names->slots - 1)] = index + 1;
}

/* Makes room for one more than `count`, at most half full. */
static bool names_room(struct config_set *set, struct config_names *names, const void *list, size_t size,
                       uint32_t count)
{
    if ((uint64_t)(count + 1) * 2 <= names->slots) return true;
    struct config_names more = {.slots = names->slots ? names->slots * 2 : 32};
    more.slot = ARENA_NEW(&set->arena, uint32_t, more.slots);
    if (!more.slot) {
        set->no_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        names_put(&more, i, name_at(list, size, i));
    *names = more;
    return true;
}

static const char *kept(struct config_set *set, const char *text)
{
    const char *copy = arena_strndup(&set->arena, text, strlen(text));
    if (!copy) set->no_memory = true;
    return copy ? copy : "";
}

static const char *fit_name(struct config_set *set, const char *name)
{
    char buf[NAME_BYTES + 1];
    size_t n = 0;

    for (; name[n] && n < NAME_BYTES; n++) {
        char c = name[n];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-_.", c);
        buf[n] = good ? c : '-';
    }
    buf[n] = 0;
    return kept(set, n ? buf : "device");
}

uint32_t config_source(struct config_set *set, const char *path)
{
    const char **list = config_grown(set, set->path, set->sources, &set->sources_room, sizeof(*set->path));

    if (!list) return 0;
    set->path = list;
    bool *change = config_grown(set, set->change, set->sources, &set->change_room, sizeof(*set->change));
    if (!change) return 0;
    set->change = change;
    set->change[set->sources] = false;
    set->path[set->sources] = kept(set, path);
    return set->sources++;
}

void config_change(struct config_set *set)
{
    if (set->reading) set->change[set->reading - 1] = true;
}

/* Two files of one device that both have a port: which of them is the device's is not known. */
static bool said_twice(struct config_set *set, struct fabric_errors *errors)
{
    const struct config_twice told = set->twice, *twice = &told;

    if (!twice->what) return false;
    set->twice = (struct config_twice){0}; /* another file may be read after this one */
    const struct config_device *device = &set->device[twice->device];
    fabric_errors_add(errors, (struct fabric_at){twice->again.line, 1},
                      "%.60s is a device of %s too, and both say the %s of %.60s (line %u there): leave one of the two "
                      "files out, or give the devices different names",
                      device->name, set->path[twice->first.source], twice->what, device->port[twice->port].name,
                      twice->first.line);
    return true;
}

int config_read(struct config_set *set, const struct config_format *format, const char *path, const char *text,
                size_t length, const char *device, struct fabric_errors *errors)
{
    struct fabric_at nowhere = {0, 0};

    errors->path = path;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        text += 3;
        length -= 3;
    }
    if (length > CONFIG_TEXT_MAX_BYTES) {
        fabric_errors_add(errors, nowhere, "%zu bytes: a configuration of more than %u MiB is not read", length,
                          CONFIG_TEXT_MAX_BYTES >> 20);
        return -EINVAL;
    }
    if (memchr(text, 0, length)) {
        fabric_errors_add(errors, nowhere, "not a text: it has zero bytes");
        return -EINVAL;
    }
    if (!format) format = config_format_guess(text, length);
    if (!format) {
        fabric_errors_add(errors, nowhere, "what kind of configuration this is, is not plain; say it with --from");
        return -EINVAL;
    }
    if (!format->import) {
        fabric_errors_add(errors, nowhere, "%s can be written and not read", format->name);
        return -EINVAL;
    }
    struct config_text in = {path, text, length, config_source(set, path), device, errors};
    if (set->no_memory) return -ENOMEM;
    set->reading = in.source + 1;
    int result = format->import(set, &in);
    set->reading = 0;
    if (result == 0) product_say(set, &in);
    if (result == 0 && said_twice(set, errors)) result = -EINVAL;
    if (result == 0 && set->no_memory) {
        fabric_errors_add(errors, nowhere, "memory for what is imported ran out");
        return -ENOMEM;
    }
    return result;
}

uint32_t config_device_find(const struct config_set *set, const char *name)
{
    return names_find(&set->names, set->device, sizeof(*set->device), name);
}

uint32_t config_device(struct config_set *set, struct origin at, const char *name, const char *nos, bool host)
{
    const char *fit = fit_name(set, name);
    uint32_t found = config_device_find(set, fit);

    if (found != CONFIG_NONE) {
        if (nos) {
            set->device[found].nos = nos;
            set->device[found].host = host;
            set->device[found].at = at;
        }
        return found;
    }
    struct config_device *list = config_grown(set, set->device, set->devices, &set->devices_room, sizeof(*list));
    if (!list || !names_room(set, &set->names, list, sizeof(*list), set->devices)) return 0;
    set->device = list;
    CHECK((uint64_t)(set->devices + 1) * 2 <= set->names.slots);
    names_put(&set->names, set->devices, fit);
    list[set->devices] = (struct config_device){.name = fit, .nos = nos, .host = host, .at = at};
    return set->devices++;
}

const char *config_device_name(struct config_set *set, const struct config_text *text)
{
    if (text->device) return text->device;
    const char *slash = strrchr(text->path, '/');
    const char *base = slash ? slash + 1 : text->path;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    const char *name = arena_strndup(&set->arena, base, length);

    if (!name) set->no_memory = true;
    return name && name[0] ? name : "device";
}

uint32_t config_port_find(const struct config_set *set, uint32_t device, const char *name)
{
    if (device >= set->devices) return CONFIG_NONE;
    const struct config_device *as = &set->device[device];
    return names_find(&as->names, as->port, sizeof(*as->port), name);
}

uint32_t config_port(struct config_set *set, struct origin at, uint32_t device, const char *name)
{
    uint32_t found = config_port_find(set, device, name);

    if (found != CONFIG_NONE || device >= set->devices) return found;
    struct config_device *as = &set->device[device];
    if (as->ports >= CONFIG_PORTS_MAX) {
        config_note(set, at, NULL, device, CONFIG_NONE, "more than %u ports: the rest is left out", CONFIG_PORTS_MAX);
        return CONFIG_NONE;
    }
    struct config_port *list = config_grown(set, as->port, as->ports, &as->room, sizeof(*list));
    if (!list || !names_room(set, &as->names, list, sizeof(*list), as->ports)) return CONFIG_NONE;
    as->port = list;
    names_put(&as->names, as->ports, name);
    list[as->ports] = (struct config_port){.name = kept(set, name), .at = at};
    return as->ports++;
}

static struct config_port *layer(const struct config_set *set, uint32_t device, uint32_t port)
{
    if (device >= set->devices) return NULL;
    CHECK(set->device[device].ports <= CONFIG_PORTS_MAX);
    if (port == CONFIG_NONE) return &set->device[device].all;
    return port < set->device[device].ports ? &set->device[device].port[port] : NULL;
}

#define FEW 8 /* that are looked through as quickly as an index would be made */

struct config_said *config_said_of(const struct config_port *of, const char *path)
{
    if (of && of->paths.slots) {
        uint32_t found = names_find(&of->paths, of->said, sizeof(*of->said), path);
        return found == CONFIG_NONE ? NULL : &of->said[found];
    }
    for (uint32_t i = 0; of && i < of->count; i++)
        if (strcmp(of->said[i].path, path) == 0) return &of->said[i];
    return NULL;
}

const char *config_said(const struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    const struct config_said *said = config_said_of(layer(set, device, port), path);
    return said ? said->value : NULL;
}

struct origin config_said_at(const struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    const struct config_said *said = config_said_of(layer(set, device, port), path);
    return said ? said->at : (struct origin){CONFIG_NONE, 0};
}

/* The path itself, else the first that is below it. */
static const struct config_said *at_or_below(const struct config_port *of, const char *path, size_t length)
{
    const struct config_said *below = NULL;

    for (uint32_t i = 0; i < of->count; i++) {
        const struct config_said *said = &of->said[i];
        if (strncmp(said->path, path, length) != 0) continue;
        if (!said->path[length]) return said;
        if (said->path[length] == '.' && !below) below = said;
    }
    return below;
}

struct origin config_where(const struct config_set *set, const char *device, uint32_t port, const char *path)
{
    uint32_t d = config_device_find(set, device);

    for (size_t length = strlen(path); length > 0 && d != CONFIG_NONE;) {
        const struct config_port *of = layer(set, d, port);
        const struct config_said *said = of ? at_or_below(of, path, length) : NULL;
        if (!said) said = at_or_below(&set->device[d].all, path, length);
        if (said && said->at.line) return said->at;
        while (length > 0 && path[--length] != '.') {
        }
    }
    return (struct origin){CONFIG_NONE, 0};
}

struct origin config_where_own(const struct config_set *set, const char *device, uint32_t port, const char *path)
{
    uint32_t d = config_device_find(set, device);
    const struct config_port *of = d == CONFIG_NONE ? NULL : layer(set, d, port);
    const struct config_said *said = of ? at_or_below(of, path, strlen(path)) : NULL;

    if (said && said->at.line) return config_own(of, said->at);
    return of && of->at.line ? of->at : config_where(set, device, port, path);
}

void config_block(struct config_set *set, struct origin by, uint32_t first, uint32_t end, uint32_t device,
                  uint32_t port)
{
    struct config_port *of = port == CONFIG_NONE ? NULL : layer(set, device, port);

    if (!of) return;
    of->block = by;
    of->block_first = first;
    of->block_end = end;
}

struct origin config_own(const struct config_port *port, struct origin said)
{
    bool inside = said.source == port->block.source && said.line >= port->block_first && said.line <= port->block_end;

    return !port->block.line || inside ? said : port->block;
}

/* What is said on a path, "" where nothing was; NULL: there is no memory. */
static struct config_said *said_on(struct config_set *set, struct config_port *of, const char *path)
{
    struct config_said *said = config_said_of(of, path);

    if (said) return said;
    struct config_said *list = config_grown(set, of->said, of->count, &of->room, sizeof(*list));
    if (!list) return NULL;
    of->said = list;
    if (of->count >= FEW && !names_room(set, &of->paths, list, sizeof(*list), of->count)) return NULL;
    if (of->count >= FEW) names_put(&of->paths, of->count, path);
    said = &list[of->count++];
    *said = (struct config_said){.path = kept(set, path), .value = ""};
    return said;
}

/* Before `said` is said again.  Parts of a host may repeat what they agree in. */
static void notice_twice(struct config_set *set, struct origin at, uint32_t device, uint32_t port,
                         const struct config_said *said, const char *value)
{
    bool counts = strcmp(said->path, "mtu") == 0 || strcmp(said->path, "rate") == 0;

    if (!counts || port == CONFIG_NONE || at.source + 1 != set->reading || set->twice.what) return;
    if (!said->at.line || said->at.source == at.source || said->at.source >= set->sources) return;
    if (set->change[at.source] || set->change[said->at.source]) return;
    if (set->device[device].host && strcmp(said->value, value) == 0) return;
    set->twice = (struct config_twice){said->path, device, port, said->at, at};
}

__attribute__((format(printf, 6, 0))) static void say(struct config_set *set, struct origin at, uint32_t device,
                                                      uint32_t port, const char *path, const char *format, va_list args)
{
    struct config_port *of = layer(set, device, port);
    struct config_said *said = of ? said_on(set, of, path) : NULL;
    char value[VALUE_BYTES];

    if (!said) return;
    vsnprintf(value, sizeof(value), format, args);
    notice_twice(set, at, device, port, said, value);
    if (strcmp(said->value, value) != 0) said->value = kept(set, value);
    said->at = at;
}

void config_say(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *path,
                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(set, at, device, port, path, format, args);
    va_end(args);
}

void config_say_class(struct config_set *set, struct origin at, uint32_t device, uint32_t port, unsigned tc,
                      const char *key, const char *format, ...)
{
    char path[80];
    va_list args;

    if (tc >= FABRIC_PRIOS) return;
    set->classes |= (uint8_t)(1u << tc);
    CHECK(snprintf(path, sizeof(path), "classes.%u.%s", tc, key) < (int)sizeof(path)); /* keys are our own words */
    va_start(args, format);
    say(set, at, device, port, path, format, args);
    va_end(args);
}

void config_say_map(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *map,
                    unsigned from, unsigned to)
{
    static const char *const classes[FABRIC_PRIOS] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    struct config_port *of = layer(set, device, port);
    char path[80];

    if (to >= FABRIC_PRIOS) return;
    if (strcmp(map, "dscp-map") == 0 || strcmp(map, "pcp-map") == 0) set->classes |= (uint8_t)(1u << to);
    CHECK(from < 100 && strlen(map) < sizeof(path) - 4);
    char *end = stpcpy(path, map); /* by hand: every port says 64 of them and more */
    *end++ = '.';
    if (from >= 10) *end++ = (char)('0' + from / 10);
    *end++ = (char)('0' + from % 10);
    *end = 0;
    struct config_said *said = of ? said_on(set, of, path) : NULL;
    if (!said) return;
    said->value = classes[to];
    said->at = at;
}

void config_say_bits(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *path,
                     unsigned bits)
{
    char list[64] = "";
    size_t n = 0;

    for (unsigned b = 0; b < 8; b++)
        if (bits >> b & 1) n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%u", n ? ", " : "[", b);
    CHECK(n < sizeof(list));
    if (n)
        config_say(set, at, device, port, path, "%s]", list);
    else
        config_say(set, at, device, port, path, "false");
}

void config_link(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
    struct config_link *list = config_grown(set, set->link, set->links, &set->links_room, sizeof(*list));
    struct config_port *x = a < set->devices ? layer(set, a, a_port) : NULL;
    struct config_port *y = b < set->devices ? layer(set, b, b_port) : NULL;

    if (!list || !x || !y || a == b || a_port == CONFIG_NONE || b_port == CONFIG_NONE || x->link || y->link) return;
    set->link = list;
    list[set->links++] = (struct config_link){a, a_port, b, b_port, at};
    x->link = y->link = set->links;
    CHECK(layer(set, a, a_port) == x && layer(set, b, b_port) == y && x != y);
}

void config_class_name(struct config_set *set, unsigned tc, const char *name)
{
    if (tc >= FABRIC_PRIOS || set->class_name[tc] || !name[0]) return;
    const char *fit = fit_name(set, name);
    for (unsigned other = 0; other < FABRIC_PRIOS; other++)
        if (set->class_name[other] && strcmp(set->class_name[other], fit) == 0) return;
    set->class_name[tc] = fit;
}

void config_class_dscps(struct config_set *set, uint32_t device, const char *name, uint64_t dscps)
{
    const uint64_t usual = UINT64_C(1) << CONFIG_CNP_DSCP;

    if (device >= set->devices || !(dscps & ~UINT64_C(1)) || !strcasestr(name, "cnp")) return;
    set->device[device].cnp_dscp =
        dscps & usual ? CONFIG_CNP_DSCP : (uint8_t)__builtin_ctzll(dscps & ~UINT64_C(1)); /* DSCP 0 is all else */
}

void config_neighbour(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *name,
                      const char *port_name)
{
    struct config_neighbour *list =
        config_grown(set, set->neighbour, set->neighbours, &set->neighbours_room, sizeof(*list));

    if (!list || !layer(set, device, port) || port == CONFIG_NONE) return;
    set->neighbour = list;
    list[set->neighbours++] = (struct config_neighbour){device, port, fit_name(set, name), kept(set, port_name), at};
}

__attribute__((format(printf, 5, 0))) static struct config_note *
note(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *format, va_list args)
{
    char message[VALUE_BYTES];

    if (set->notes >= NOTES_MAX) return NULL;
    struct config_note *list = config_grown(set, set->note, set->notes, &set->notes_room, sizeof(*list));
    if (!list) return NULL;
    set->note = list;
    vsnprintf(message, sizeof(message), format, args);
    const struct config_port *of = port == CONFIG_NONE ? NULL : layer(set, device, port);
    const char *name = device < set->devices ? set->device[device].name : NULL;
    for (uint32_t back = 0; back < set->notes && back < NOTES_ALIKE; back++) { /* one row speaks for many ports */
        const struct config_note *as = &list[set->notes - 1 - back];
        if (as->at.source == at.source && as->at.line == at.line && as->device == name &&
            (of ? of->name : NULL) == as->port && strcmp(as->message, message) == 0)
            return NULL;
    }
    list[set->notes++] = (struct config_note){
        .at = at,
        .device = name,
        .port = of ? of->name : NULL,
        .number = of ? port : CONFIG_NONE,
        .message = kept(set, message),
    };
    return &list[set->notes - 1];
}

/* Of a rule, of this severity at most. */
__attribute__((format(printf, 7, 0))) static void note_of_rule(struct config_set *set, struct origin at,
                                                               const char *rule, enum config_most most, uint32_t device,
                                                               uint32_t port, const char *format, va_list args)
{
    struct config_note *as = note(set, at, device, port, format, args);

    if (!as) return;
    as->rule = rule;
    as->most = (uint8_t)most;
}

void config_note(struct config_set *set, struct origin at, const char *rule, uint32_t device, uint32_t port,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note_of_rule(set, at, rule, CONFIG_ERROR, device, port, format, args);
    va_end(args);
}

void config_hint(struct config_set *set, struct origin at, const char *rule, uint32_t device, uint32_t port,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note_of_rule(set, at, rule, CONFIG_INFO, device, port, format, args);
    va_end(args);
}

void config_caution(struct config_set *set, struct origin at, const char *rule, uint32_t device, uint32_t port,
                    const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note_of_rule(set, at, rule, CONFIG_WARNING, device, port, format, args);
    va_end(args);
}

void config_assume(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct config_note *as = note(set, at, device, port, format, args);
    va_end(args);
    if (as) as->assumed = true;
}

void config_unjudged(struct config_set *set, struct origin at, const char *rule, uint32_t device, uint32_t port,
                     const char *format, ...)
{
    char message[VALUE_BYTES];
    va_list args;

    if (!layer(set, device, port) || set->unjudgeds >= NOTES_MAX) return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    struct config_unjudged *list =
        config_grown(set, set->unjudged, set->unjudgeds, &set->unjudged_room, sizeof(*set->unjudged));
    if (!list) return;
    set->unjudged = list;
    const struct config_unjudged *last = set->unjudgeds ? &list[set->unjudgeds - 1] : NULL;
    bool again = last && strcmp(last->message, message) == 0; /* of many ports the same is said */
    list[set->unjudgeds++] = (struct config_unjudged){
        .rule = kept(set, rule),
        .device = device,
        .port = port,
        .at = at,
        .message = again ? last->message : kept(set, message),
    };
}

void config_idle(struct config_set *set, uint32_t device, uint32_t port)
{
    struct config_port *of = port == CONFIG_NONE ? NULL : layer(set, device, port);

    if (of) of->idle = true;
}

void config_lag(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *name)
{
    struct config_port *of = port == CONFIG_NONE ? NULL : layer(set, device, port);

    if (!of || !name[0]) return;
    of->lag = kept(set, name);
    of->lag_at = at;
}

void config_paths(struct config_set *set, struct origin at, uint32_t device, uint32_t paths, uint32_t routers)
{
    if (device >= set->devices) return;
    set->device[device].paths = paths;
    set->device[device].routers = routers;
    set->device[device].paths_at = at;
}
