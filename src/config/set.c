/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What importers say, gathered: devices, ports, links, notes, each with its place.
 *
 * Everything lives in the set's arena, under a limit, so that a hostile text ends in an error and not in the machine's
 * memory.  Lists grow by doubling; what they leave behind is at most as much again.  Devices and ports are found by an
 * index of their names, for a text may name each of thousands thousands of times.  What is said of them is in said.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "config/config.h"
#include "config/product.h"
#include "config/said.h"
#include "fabric/errors.h"

#define MEMORY_MAX ((size_t)2 << 30)
#define NAME_BYTES 64
#define NOTES_MAX 100000u
#define NOTES_ALIKE 512u /* notes looked back at for one that says the same */

void config_set_init(struct config_set *set)
{
    *set = (struct config_set){0};
    arena_init_or_end(&set->arena, MEMORY_MAX);
}

void config_set_release(struct config_set *set)
{
    arena_release(&set->arena);
}

const char *config_kept(struct config_set *set, const char *text)
{
    return arena_strndup(&set->arena, text, strlen(text));
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
    return config_kept(set, n ? buf : "device");
}

uint32_t config_source(struct config_set *set, const char *path)
{
    ARENA_ROOM(&set->arena, set->path, set->sources, set->sources_room);
    ARENA_ROOM(&set->arena, set->change, set->sources, set->change_room);
    set->change[set->sources] = false;
    set->path[set->sources] = config_kept(set, path);
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
        fabric_errors_add(errors, nowhere, "not a text file: it has zero bytes");
        return -EINVAL;
    }
    if (!format) format = config_format_guess(text, length);
    if (!format) {
        fabric_errors_add(errors, nowhere, "unknown format; name it with --from, as in --from nxos");
        return -EINVAL;
    }
    if (!format->import) {
        fabric_errors_add(errors, nowhere, "%s can be written and not read", format->name);
        return -EINVAL;
    }
    struct config_text in = {path, text, length, config_source(set, path), device, errors};
    set->reading = in.source + 1;
    int result = format->import(set, &in);
    set->reading = 0;
    if (result == 0) product_say(set, &in);
    if (result == 0 && said_twice(set, errors)) result = -EINVAL;
    return result;
}

uint32_t config_device_find(const struct config_set *set, const char *name)
{
    return config_names_find(&set->names, set->device, sizeof(*set->device), name);
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
    ARENA_ROOM(&set->arena, set->device, set->devices, set->devices_room);
    config_names_room(set, &set->names, set->device, sizeof(*set->device), set->devices);
    CHECK((uint64_t)(set->devices + 1) * 2 <= set->names.slots);
    config_names_put(&set->names, set->devices, fit);
    set->device[set->devices] = (struct config_device){.name = fit, .nos = nos, .host = host, .at = at};
    return set->devices++;
}

void config_forget(struct config_set *set, uint32_t devices, uint32_t notes)
{
    CHECK(devices <= set->devices && notes <= set->notes);
    set->notes = notes;
    while (set->unjudgeds && set->unjudged[set->unjudgeds - 1].device >= devices)
        set->unjudgeds--;
    for (; set->devices > devices; set->devices--) /* what came last can go: nothing was put behind it */
        for (uint32_t s = 0; s < set->names.slots; s++)
            if (set->names.slot[s] == set->devices) set->names.slot[s] = 0;
}

const char *config_device_name(struct config_set *set, const struct config_text *text)
{
    if (text->device) return text->device;
    const char *slash = strrchr(text->path, '/');
    const char *base = slash ? slash + 1 : text->path;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    const char *name = arena_strndup(&set->arena, base, length);

    return name[0] ? name : "device";
}

uint32_t config_port_find(const struct config_set *set, uint32_t device, const char *name)
{
    if (device >= set->devices) return CONFIG_NONE;
    const struct config_device *as = &set->device[device];
    return config_names_find(&as->names, as->port, sizeof(*as->port), name);
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
    ARENA_ROOM(&set->arena, as->port, as->ports, as->room);
    config_names_room(set, &as->names, as->port, sizeof(*as->port), as->ports);
    config_names_put(&as->names, as->ports, name);
    as->port[as->ports] = (struct config_port){.name = config_kept(set, name), .at = at};
    return as->ports++;
}

void config_blocks_add(struct config_set *set, struct config_blocks *to, uint32_t first, uint32_t end, uint32_t index)
{
    struct config_block *block = ARENA_NEW(&set->arena, struct config_block, 1);

    *block = (struct config_block){.first = first, .end = end, .index = index};
    if (to->last)
        to->last->next = block;
    else
        to->head = block;
    to->last = block;
}

bool config_blocks_have(const struct config_blocks *blocks, uint32_t line)
{
    for (const struct config_block *block = blocks->head; block; block = block->next)
        if (line >= block->first && line <= block->end) return true;
    return false;
}

void config_block(struct config_set *set, struct origin by, const struct config_blocks *blocks, uint32_t device,
                  uint32_t port)
{
    struct config_port *of = port == CONFIG_NONE ? NULL : config_layer(set, device, port);

    if (!of) return;
    of->block = by;
    of->blocks = *blocks;
}

bool config_owns(const struct config_port *port, struct origin at)
{
    return at.source == port->block.source && config_blocks_have(&port->blocks, at.line);
}

struct origin config_own(const struct config_port *port, struct origin said)
{
    return !port->block.line || config_owns(port, said) ? said : port->block;
}

void config_link(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
    struct config_port *x = a < set->devices ? config_layer(set, a, a_port) : NULL;
    struct config_port *y = b < set->devices ? config_layer(set, b, b_port) : NULL;

    if (!x || !y || a == b || a_port == CONFIG_NONE || b_port == CONFIG_NONE || x->link || y->link) return;
    ARENA_ROOM(&set->arena, set->link, set->links, set->links_room);
    set->link[set->links++] = (struct config_link){a, a_port, b, b_port, at};
    x->link = y->link = set->links;
    CHECK(config_layer(set, a, a_port) == x && config_layer(set, b, b_port) == y && x != y);
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
    if (!config_layer(set, device, port) || port == CONFIG_NONE) return;
    ARENA_ROOM(&set->arena, set->neighbour, set->neighbours, set->neighbours_room);
    set->neighbour[set->neighbours++] =
        (struct config_neighbour){device, port, fit_name(set, name), config_kept(set, port_name), at};
}

__attribute__((format(printf, 5, 0))) static struct config_note *
note(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *format, va_list args)
{
    char message[CONFIG_VALUE_BYTES];

    if (set->notes >= NOTES_MAX) return NULL;
    ARENA_ROOM(&set->arena, set->note, set->notes, set->notes_room);
    vsnprintf(message, sizeof(message), format, args);
    const struct config_port *of = port == CONFIG_NONE ? NULL : config_layer(set, device, port);
    const char *name = device < set->devices ? set->device[device].name : NULL;
    for (uint32_t back = 0; back < set->notes && back < NOTES_ALIKE; back++) { /* one row speaks for many ports */
        const struct config_note *as = &set->note[set->notes - 1 - back];
        if (as->at.source == at.source && as->at.line == at.line && as->device == name &&
            (of ? of->name : NULL) == as->port && strcmp(as->message, message) == 0)
            return NULL;
    }
    set->note[set->notes++] = (struct config_note){
        .at = at,
        .device = name,
        .port = of ? of->name : NULL,
        .number = of ? port : CONFIG_NONE,
        .message = config_kept(set, message),
    };
    return &set->note[set->notes - 1];
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

void config_finding(struct config_set *set, struct origin at, const char *rule, enum config_most most, uint32_t device,
                    uint32_t port, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note_of_rule(set, at, rule, most, device, port, format, args);
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

void config_unjudged(struct config_set *set, struct origin at, const char *rules, uint32_t device, uint32_t port,
                     const char *format, ...)
{
    char message[CONFIG_VALUE_BYTES];
    va_list args;

    if (!config_layer(set, device, port)) return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    for (size_t length; *rules && set->unjudgeds < NOTES_MAX; rules += length + (rules[length] == ' ')) {
        length = strcspn(rules, " ");
        ARENA_ROOM(&set->arena, set->unjudged, set->unjudgeds, set->unjudged_room);
        const struct config_unjudged *last = set->unjudgeds ? &set->unjudged[set->unjudgeds - 1] : NULL;
        bool again = last && strcmp(last->message, message) == 0; /* of many ports the same is said */
        set->unjudged[set->unjudgeds++] = (struct config_unjudged){
            .rule = arena_strndup(&set->arena, rules, length),
            .device = device,
            .port = port,
            .at = at,
            .message = again ? last->message : config_kept(set, message),
        };
    }
}

void config_idle(struct config_set *set, uint32_t device, uint32_t port)
{
    struct config_port *of = port == CONFIG_NONE ? NULL : config_layer(set, device, port);

    if (of) of->idle = true;
}

void config_lag(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *name)
{
    struct config_port *of = port == CONFIG_NONE ? NULL : config_layer(set, device, port);

    if (!of || !name[0]) return;
    of->lag = config_kept(set, name);
    of->lag_at = at;
}

void config_paths(struct config_set *set, struct origin at, uint32_t device, uint32_t paths, uint32_t routers)
{
    if (device >= set->devices) return;
    set->device[device].paths = paths;
    set->device[device].routers = routers;
    set->device[device].paths_at = at;
}
