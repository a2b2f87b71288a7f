/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What importers say, gathered: devices, ports, settings by path, links, notes, each with its place.
 *
 * Everything lives in the set's arena, under a limit, so that a hostile text ends in an error and not in the machine's
 * memory.  Lists grow by doubling; what they leave behind is at most as much again.  A device's ports and a port's
 * paths are searched one by one: a switch has hundreds of the one and of the other, and a text is read once.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "config/config.h"

#define MEMORY_MAX ((size_t)2 << 30)
#define PORTS_MAX 4096u /* of a device: as many as a fabric file can number */
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

/* Room for one more; the list's new place, or NULL. */
static void *grown(struct config_set *set, void *list, uint32_t count, uint32_t *room, size_t size)
{
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

int config_read(struct config_set *set, const struct config_format *format, const char *path, const char *text,
                size_t length, const char *device, struct fabric_errors *errors)
{
    struct fabric_at nowhere = {0, 0};

    errors->path = path;
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
    const char **list = grown(set, set->path, set->sources, &set->sources_room, sizeof(*set->path));
    if (!list) return -ENOMEM;
    set->path = list;
    set->path[set->sources++] = kept(set, path);
    struct config_text in = {path, text, length, set->sources - 1, device, errors};
    int result = format->import(set, &in);
    if (result == 0 && set->no_memory) {
        fabric_errors_add(errors, nowhere, "memory for what is imported ran out");
        return -ENOMEM;
    }
    return result;
}

uint32_t config_device(struct config_set *set, struct origin at, const char *name, const char *nos, bool host)
{
    const char *fit = fit_name(set, name);

    for (uint32_t d = 0; d < set->devices; d++) {
        if (strcmp(set->device[d].name, fit) != 0) continue;
        if (nos) {
            set->device[d].nos = nos;
            set->device[d].host = host;
            set->device[d].at = at;
        }
        return d;
    }
    struct config_device *list = grown(set, set->device, set->devices, &set->devices_room, sizeof(*list));
    if (!list) return 0;
    set->device = list;
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
    for (uint32_t p = 0; p < set->device[device].ports; p++)
        if (strcmp(set->device[device].port[p].name, name) == 0) return p;
    return CONFIG_NONE;
}

uint32_t config_port(struct config_set *set, struct origin at, uint32_t device, const char *name)
{
    uint32_t found = config_port_find(set, device, name);

    if (found != CONFIG_NONE || device >= set->devices) return found;
    struct config_device *as = &set->device[device];
    if (as->ports >= PORTS_MAX) {
        if (as->ports == PORTS_MAX) config_note(set, at, NULL, device, CONFIG_NONE, "more than %u ports", PORTS_MAX);
        return CONFIG_NONE;
    }
    struct config_port *list = grown(set, as->port, as->ports, &as->room, sizeof(*list));
    if (!list) return CONFIG_NONE;
    as->port = list;
    list[as->ports] = (struct config_port){.name = kept(set, name), .at = at};
    return as->ports++;
}

static struct config_port *layer(const struct config_set *set, uint32_t device, uint32_t port)
{
    if (device >= set->devices) return NULL;
    if (port == CONFIG_NONE) return &set->device[device].all;
    return port < set->device[device].ports ? &set->device[device].port[port] : NULL;
}

static struct config_said *find_said(const struct config_port *of, const char *path)
{
    for (uint32_t i = 0; of && i < of->count; i++)
        if (strcmp(of->said[i].path, path) == 0) return &of->said[i];
    return NULL;
}

const char *config_said(const struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    const struct config_said *said = find_said(layer(set, device, port), path);
    return said ? said->value : NULL;
}

__attribute__((format(printf, 6, 0))) static void say(struct config_set *set, struct origin at, uint32_t device,
                                                      uint32_t port, const char *path, const char *format, va_list args)
{
    struct config_port *of = layer(set, device, port);
    char value[VALUE_BYTES];

    if (!of) return;
    vsnprintf(value, sizeof(value), format, args);
    struct config_said *said = find_said(of, path);
    if (!said) {
        struct config_said *list = grown(set, of->said, of->count, &of->room, sizeof(*list));
        if (!list) return;
        of->said = list;
        said = &list[of->count++];
        *said = (struct config_said){.path = kept(set, path), .value = ""};
    }
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
    snprintf(path, sizeof(path), "classes.%u.%s", tc, key);
    va_start(args, format);
    say(set, at, device, port, path, format, args);
    va_end(args);
}

void config_say_map(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *map,
                    unsigned from, unsigned to)
{
    char path[80];

    if (to >= FABRIC_PRIOS) return;
    if (strcmp(map, "dscp-map") == 0 || strcmp(map, "pcp-map") == 0) set->classes |= (uint8_t)(1u << to);
    snprintf(path, sizeof(path), "%s.%u", map, from);
    config_say(set, at, device, port, path, "%u", to);
}

void config_say_bits(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *path,
                     unsigned bits)
{
    char list[64] = "";
    size_t n = 0;

    for (unsigned b = 0; b < 8; b++)
        if (bits >> b & 1) n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%u", n ? ", " : "[", b);
    if (n)
        config_say(set, at, device, port, path, "%s]", list);
    else
        config_say(set, at, device, port, path, "false");
}

void config_link(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
    struct config_link *list = grown(set, set->link, set->links, &set->links_room, sizeof(*list));

    if (!list || a >= set->devices || b >= set->devices || a == b) return;
    if (a_port >= set->device[a].ports || b_port >= set->device[b].ports) return;
    set->link = list;
    for (uint32_t l = 0; l < set->links; l++) { /* both ends of a link may tell of it */
        const struct config_link *as = &list[l];
        if (as->a == a && as->a_port == a_port && as->b == b && as->b_port == b_port) return;
        if (as->a == b && as->a_port == b_port && as->b == a && as->b_port == a_port) return;
    }
    list[set->links++] = (struct config_link){a, a_port, b, b_port, at};
}

void config_class_name(struct config_set *set, unsigned tc, const char *name)
{
    if (tc >= FABRIC_PRIOS || set->class_name[tc] || !name[0]) return;
    const char *fit = fit_name(set, name);
    for (unsigned other = 0; other < FABRIC_PRIOS; other++)
        if (set->class_name[other] && strcmp(set->class_name[other], fit) == 0) return;
    set->class_name[tc] = fit;
}

void config_note(struct config_set *set, struct origin at, const char *rule, uint32_t device, uint32_t port,
                 const char *format, ...)
{
    char message[VALUE_BYTES];
    va_list args;

    if (set->notes >= NOTES_MAX) return;
    struct config_note *list = grown(set, set->note, set->notes, &set->notes_room, sizeof(*list));
    if (!list) return;
    set->note = list;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct config_port *of = port == CONFIG_NONE ? NULL : layer(set, device, port);
    for (uint32_t back = 0; back < set->notes && back < NOTES_ALIKE; back++) { /* one row speaks for many ports */
        const struct config_note *as = &list[set->notes - 1 - back];
        if (as->at.source == at.source && as->at.line == at.line && (of ? of->name : NULL) == as->port &&
            strcmp(as->message, message) == 0)
            return;
    }
    list[set->notes++] = (struct config_note){
        .rule = rule,
        .at = at,
        .device = device < set->devices ? set->device[device].name : NULL,
        .port = of ? of->name : NULL,
        .message = kept(set, message),
    };
}
