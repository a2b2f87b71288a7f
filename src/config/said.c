/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was said of ports and devices: settings by path, each with its place.
 *
 * A switch of a thousand ports says a hundred thousand of them, and most ports say what the one before said: so the
 * order of paths, with its index, is shared (said.h), and values that are words of ours are not copied.
 */
#include "config/said.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define FEW 8 /* that are looked through as quickly as an index would be made */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* odd, and its bits are as good as drawn */
    return hash ^ hash >> 32;
}

/* Eight bytes at a time: names are short, and there are many. */
static uint64_t hash_of(const char *name)
{
    size_t left = strlen(name);
    uint64_t hash = left, word = 0;

    for (; left >= sizeof(word); left -= sizeof(word), name += sizeof(word)) {
        memcpy(&word, name, sizeof(word));
        hash = mixed(hash, word);
    }
    word = 0;
    memcpy(&word, name, left);
    return mixed(hash, word);
}

/* Names are the first member of what the list holds. */
static const char *name_at(const void *list, size_t size, uint32_t index)
{
    const char *name;

    memcpy(&name, (const char *)list + index * size, sizeof(name));
    return name;
}

uint32_t config_names_find(const struct config_names *names, const void *list, size_t size, const char *name)
{
    if (!names->slots) return CONFIG_NONE;
    for (uint64_t at = hash_of(name);; at++) {
        uint32_t found = names->slot[at & (names->slots - 1)];
        if (!found) return CONFIG_NONE;
        if (strcmp(name_at(list, size, found - 1), name) == 0) return found - 1;
    }
}

void config_names_put(struct config_names *names, uint32_t index, const char *name)
{
    uint64_t at = hash_of(name), tried = 0;

    CHECK(names->slots && (names->slots & (names->slots - 1)) == 0);
    for (; names->slot[at & (names->slots - 1)]; at++)
        CHECK(tried++ < names->slots); /* a full table would be searched for ever */
    names->slot[at & (names->slots - 1)] = index + 1;
}

/* At most half full. */
void config_names_room(struct config_set *set, struct config_names *names, const void *list, size_t size,
                       uint32_t count)
{
    if ((uint64_t)(count + 1) * 2 <= names->slots) return;
    struct config_names more = {.slots = names->slots ? names->slots * 2 : 32};
    more.slot = ARENA_NEW(&set->arena, uint32_t, more.slots);
    for (uint32_t i = 0; i < count; i++)
        config_names_put(&more, i, name_at(list, size, i));
    *names = more;
}

struct config_port *config_layer(const struct config_set *set, uint32_t device, uint32_t port)
{
    if (device >= set->devices) return NULL;
    CHECK(set->device[device].ports <= CONFIG_PORTS_MAX);
    if (port == CONFIG_NONE) return &set->device[device].all;
    return port < set->device[device].ports ? &set->device[device].port[port] : NULL;
}

static uint32_t order_find(const struct config_order *order, const char *path)
{
    if (order->names.slots) return config_names_find(&order->names, order->at, sizeof(*order->at), path);
    for (uint32_t i = 0; i < order->count; i++)
        if (strcmp(order->at[i].path, path) == 0) return i;
    return CONFIG_NONE;
}

static void order_add(struct config_set *set, struct config_order *order, const char *path)
{
    ARENA_ROOM(&set->arena, order->at, order->count, order->room);
    if (order->count >= FEW) {
        config_names_room(set, &order->names, order->at, sizeof(*order->at), order->count);
        config_names_put(&order->names, order->count, path);
    }
    order->at[order->count++] = (struct config_ordered){config_kept(set, path), hash_of(path)};
}

/* A new order that begins as another does. */
static struct config_order *order_like(struct config_set *set, const struct config_order *other, uint32_t count)
{
    struct config_order *order = ARENA_NEW(&set->arena, struct config_order, 1);

    for (uint32_t i = 0; i < count; i++)
        order_add(set, order, other->at[i].path);
    return order;
}

/* Of the port before, which has mostly said the same. */
static struct config_order *first_order(struct config_set *set, uint32_t device, uint32_t port)
{
    const struct config_port *before = port && port != CONFIG_NONE ? config_layer(set, device, port - 1) : NULL;

    return before && before->order ? before->order : order_like(set, NULL, 0);
}

/* The next of its order, "" so far. */
static struct config_said *said_next(struct config_set *set, struct config_port *of)
{
    if (!of->room && of->order->count > FEW) /* it will say all of them */
        of->said = arena_more(&set->arena, NULL, of->order->count, &of->room, sizeof(*of->said));
    ARENA_ROOM(&set->arena, of->said, of->count, of->room);
    of->said[of->count] = (struct config_said){.path = of->order->at[of->count].path, .value = ""};
    return &of->said[of->count++];
}

/* What is said on a path, "" where nothing was; NULL: there is no such port. */
static struct config_said *said_on(struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    struct config_port *of = config_layer(set, device, port);

    if (!of) return NULL;
    if (!of->order) of->order = first_order(set, device, port);
    if (of->count < of->order->count && strcmp(of->order->at[of->count].path, path) == 0) return said_next(set, of);
    uint32_t found = order_find(of->order, path);
    if (found < of->count) return &of->said[found];
    if (of->count < of->order->count) of->order = order_like(set, of->order, of->count); /* it goes its own way */
    order_add(set, of->order, path);
    return said_next(set, of);
}

struct config_said *config_said_of(const struct config_port *of, const char *path)
{
    uint32_t found = of && of->order ? order_find(of->order, path) : CONFIG_NONE;

    return found != CONFIG_NONE && found < of->count ? &of->said[found] : NULL;
}

void config_unsay(struct config_set *set, struct config_port *of, const char *path)
{
    struct config_said *said = config_said_of(of, path);

    if (!said) return;
    uint32_t at = (uint32_t)(said - of->said);
    struct config_order *own = order_like(set, of->order, at);
    for (uint32_t i = at + 1; i < of->count; i++)
        order_add(set, own, of->order->at[i].path);
    memmove(said, said + 1, (of->count - at - 1) * sizeof(*said));
    of->count--;
    of->order = own;
}

const char *config_said(const struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    const struct config_said *said = config_said_of(config_layer(set, device, port), path);
    return said ? said->value : NULL;
}

bool config_is_down(const struct config_set *set, uint32_t device, uint32_t port)
{
    const char *up = config_said(set, device, port, "up");

    return up && strcmp(up, "false") == 0;
}

struct origin config_said_at(const struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    const struct config_said *said = config_said_of(config_layer(set, device, port), path);
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
        const struct config_port *of = config_layer(set, d, port);
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
    const struct config_port *of = d == CONFIG_NONE ? NULL : config_layer(set, d, port);
    const struct config_said *said = of ? at_or_below(of, path, strlen(path)) : NULL;

    if (said && said->at.line) return config_own(of, said->at);
    return of && of->at.line ? of->at : config_where(set, device, port, path);
}

/* Before `said` is said again.  Parts of a host may repeat what they agree in. */
static void notice_twice(struct config_set *set, struct origin at, uint32_t device, uint32_t port,
                         const struct config_said *said, const char *value)
{
    if (!said->at.line || said->at.source == at.source || said->at.source >= set->sources) return;
    if (port == CONFIG_NONE || at.source + 1 != set->reading || set->twice.what) return;
    if (strcmp(said->path, "mtu") != 0 && strcmp(said->path, "rate") != 0) return;
    if (set->change[at.source] || set->change[said->at.source]) return;
    if (set->device[device].host && strcmp(said->value, value) == 0) return;
    set->twice = (struct config_twice){said->path, device, port, said->at, at};
}

/* Most values are a word of ours, or one of the text. */
__attribute__((format(printf, 6, 0))) static void say(struct config_set *set, struct origin at, uint32_t device,
                                                      uint32_t port, const char *path, const char *format, va_list args)
{
    struct config_said *said = said_on(set, device, port, path);
    char printed[CONFIG_VALUE_BYTES];
    const char *value = strchr(format, '%') ? printed : format;

    if (!said) return;
    if (value == printed) vsnprintf(printed, sizeof(printed), format, args);
    notice_twice(set, at, device, port, said, value);
    if (strcmp(said->value, value) != 0) said->value = value == printed ? config_kept(set, value) : value;
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

const char *config_class_path(char buf[CONFIG_PATH], unsigned tc, const char *key)
{
    size_t length = strlen(key);

    CHECK(tc < FABRIC_PRIOS && length < CONFIG_PATH - 10); /* keys are our own words */
    memcpy(buf, "classes.N.", 10);
    buf[8] = (char)('0' + tc);
    memcpy(buf + 10, key, length + 1);
    return buf;
}

void config_say_class(struct config_set *set, struct origin at, uint32_t device, uint32_t port, unsigned tc,
                      const char *key, const char *format, ...)
{
    char path[CONFIG_PATH];
    va_list args;

    if (tc >= FABRIC_PRIOS) return;
    set->classes |= (uint8_t)(1u << tc);
    config_class_path(path, tc, key);
    va_start(args, format);
    say(set, at, device, port, path, format, args);
    va_end(args);
}

const char *config_map_path(char buf[CONFIG_PATH], const char *map, unsigned from)
{
    size_t length = strlen(map);

    CHECK(from < 100 && length < CONFIG_PATH - 4);
    memcpy(buf, map, length); /* by hand: every port says 64 of them and more */
    char *end = buf + length;
    *end++ = '.';
    if (from >= 10) *end++ = (char)('0' + from / 10);
    *end++ = (char)('0' + from % 10);
    *end = 0;
    return buf;
}

void config_say_map(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *map,
                    unsigned from, unsigned to)
{
    static const char *const classes[FABRIC_PRIOS] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    char path[CONFIG_PATH];

    if (to >= FABRIC_PRIOS) return;
    if (strcmp(map, "dscp-map") == 0 || strcmp(map, "pcp-map") == 0) set->classes |= (uint8_t)(1u << to);
    struct config_said *said = said_on(set, device, port, config_map_path(path, map, from));
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
