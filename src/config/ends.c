/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links from what configurations say of the other ends of their ports, once all texts are read.
 *
 * Three sources, the surer first: a neighbour that is named with its port; a description in which a device that was
 * read and one of its ports stand together; an address in a subnet that has room for two ends only (/31, /30, /127,
 * /126).  A port keeps the first link it gets.  A subnet of more than two ports, or of two that are cabled elsewhere,
 * is a note of TOP007 and no link.
 *
 * Of a device without a configuration nothing is known but its name, and a rule that held it to a default would be
 * wrong about it: such a port stays without a peer.
 */
#include "config/ends.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "config/links.h"

#define DESCRIPTION_BYTES 256
#define WORDS_MAX 24 /* of a description that are looked at */

static const struct config_port *port_of(const struct config_set *set, uint32_t device, uint32_t port)
{
    return device < set->devices && port < set->device[device].ports ? &set->device[device].port[port] : NULL;
}

/* --- what importers say --- */

void config_address(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *text)
{
    struct config_address as = {.device = device, .port = port, .at = at};
    const char *slash = strchr(text, '/');
    char address[INET6_ADDRSTRLEN];
    uint64_t prefix = 0;

    if (!slash || (size_t)(slash - text) >= sizeof(address) || !port_of(set, device, port)) return;
    snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
    if (unit_parse(UNIT_COUNT, slash + 1, &prefix, NULL) != 0) return;
    if (inet_pton(AF_INET, address, as.bytes + 12) == 1)
        as.prefix = prefix <= 32 ? (uint8_t)(prefix + 96) : 0;
    else if (inet_pton(AF_INET6, address, as.bytes) == 1 && prefix <= 128)
        as.prefix = (uint8_t)prefix;
    if (as.prefix < 126) return; /* room for more than two ends */
    ARENA_ROOM(&set->arena, set->address, set->addresses, set->addresses_room);
    set->address[set->addresses++] = as;
}

/* `rack12:u4`: a place in a rack, not a port of a device. */
static bool rack_place(const char *name, const char *unit, size_t length)
{
    return strncasecmp(name, "rack", 4) == 0 ||
           (length > 1 && (unit[0] == 'u' || unit[0] == 'U') && strspn(unit + 1, "0123456789") == length - 1);
}

/* `leaf0:swp3` or `leaf0:swp3,30m`: as `config` writes it. */
static bool described_plainly(struct config_set *set, struct origin at, uint32_t device, uint32_t port,
                              const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/:";
    const char *colon = strchr(text, ':'), *comma = text + strcspn(text, ",");
    char name[FABRIC_NAME], there[FABRIC_NAME];
    uint64_t length;

    if (!colon || colon == text || colon + 1 >= comma || text[strspn(text, letters)] != *comma) return false;
    if ((size_t)(colon - text) >= sizeof(name) || (size_t)(comma - colon) > sizeof(there)) return false;
    if (*comma && (unit_parse(UNIT_LENGTH, comma + 1, &length, NULL) != 0 || length == 0)) return false;
    if (rack_place(text, colon + 1, (size_t)(comma - colon - 1))) return false;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    snprintf(there, sizeof(there), "%.*s", (int)(comma - colon - 1), colon + 1);
    config_neighbour(set, at, device, port, name, there);
    if (*comma) config_say(set, at, device, port, "cable", "%s", comma + 1);
    return true;
}

void config_described(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *text)
{
    if (!port_of(set, device, port) || described_plainly(set, at, device, port, text)) return;
    const char *copy = arena_strndup(&set->arena, text, strnlen(text, DESCRIPTION_BYTES));
    ARENA_ROOM(&set->arena, set->description, set->descriptions, set->descriptions_room);
    set->description[set->descriptions++] = (struct config_description){device, port, copy, at};
}

/* --- neighbours --- */

static void join_neighbours(struct config_set *set)
{
    for (uint32_t n = 0; n < set->neighbours; n++) {
        const struct config_neighbour *as = &set->neighbour[n];
        uint32_t other = config_device_find(set, as->name);
        if (other == CONFIG_NONE || !set->device[other].nos) continue;
        uint32_t port = links_port_known(set, other, as->port_name);
        if (port == CONFIG_NONE) {
            config_note(set, as->at, NULL, as->device, as->port, "%.60s has no port %.60s to be a neighbour", as->name,
                        as->port_name);
            continue;
        }
        links_join(set, as->at, as->device, as->port, other, port);
    }
    set->neighbours = 0;
}

/* --- descriptions --- */

struct named { /* a device by its name in small letters */
    const char *name;
    uint32_t device;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static char *small_letters(struct arena *arena, const char *text)
{
    char *copy = arena_strndup(arena, text, strlen(text));

    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

static struct named *devices_by_name(struct config_set *set)
{
    struct named *list = ARENA_NEW(&set->arena, struct named, set->devices);

    for (uint32_t d = 0; d < set->devices; d++)
        list[d] = (struct named){small_letters(&set->arena, set->device[d].name), d};
    if (set->devices) qsort(list, set->devices, sizeof(*list), by_name);
    return list;
}

/* The first port of this device among the words of `text`; words are cut at `apart`. */
static uint32_t port_within(const struct config_set *set, uint32_t device, const char *text, const char *apart)
{
    char word[FABRIC_NAME];
    unsigned words = 0;

    for (text += strspn(text, apart); *text && words < WORDS_MAX; text += strspn(text, apart), words++) {
        size_t length = strcspn(text, apart);
        if (length < sizeof(word)) {
            snprintf(word, sizeof(word), "%.*s", (int)length, text);
            uint32_t port = links_port_known(set, device, word);
            if (port != CONFIG_NONE) return port;
        }
        text += length;
    }
    return CONFIG_NONE;
}

/* Behind the name, else before it.  A port's name may have a dash in it, or one before it. */
static uint32_t port_beside(const struct config_set *set, uint32_t device, const char *text, size_t from, size_t end)
{
    static const char *const apart[] = {" \t,;:|()[]<>=_\"'", " \t,;:|()[]<>=_\"'-", " \t,;|()[]<>=\"'"};
    char before[DESCRIPTION_BYTES + 1];

    for (unsigned i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        uint32_t port = port_within(set, device, text + end, apart[i]);
        if (port != CONFIG_NONE) return port;
    }
    snprintf(before, sizeof(before), "%.*s", (int)from, text);
    return port_within(set, device, before, apart[0]);
}

/* Where words of the text may begin or end. */
static unsigned edges_of(const char *text, size_t edge[WORDS_MAX * 2])
{
    unsigned count = 0;

    for (size_t i = 0; count < WORDS_MAX * 2; i++) {
        bool inside = i > 0 && isalnum((unsigned char)text[i - 1]), next = isalnum((unsigned char)text[i]);
        if (inside != next) edge[count++] = i;
        if (!text[i]) break;
    }
    return count;
}

/* A host's name may be that of its file, `gpu05-roce-setup`: the only one that begins with this word, which has a
 * number.  NULL: none, or several. */
static const struct named *begins_so(const struct config_set *set, const struct named *names, const char *word)
{
    size_t length = strlen(word);
    uint32_t low = 0, high = set->devices;

    if (!isalpha((unsigned char)word[0]) || !word[strcspn(word, "0123456789")]) return NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(names[middle].name, word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct named *found = NULL;
    for (uint32_t n = low; n < set->devices && strncmp(names[n].name, word, length) == 0; n++) {
        if (!strchr("-_.", names[n].name[length])) continue;
        if (found || !set->device[names[n].device].host) return NULL;
        found = &names[n];
    }
    return found;
}

/* The longest name of a device that stands in the description, and a port of it beside.  False: none, or several. */
static bool find_end(const struct config_set *set, const struct named *names, const struct config_description *as,
                     uint32_t *ret_device, uint32_t *ret_port)
{
    char text[DESCRIPTION_BYTES + 1], word[DESCRIPTION_BYTES + 1];
    size_t edge[WORDS_MAX * 2], longest = 0;
    uint32_t device = CONFIG_NONE, port = CONFIG_NONE;

    snprintf(text, sizeof(text), "%s", as->text);
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    unsigned edges = edges_of(text, edge);
    for (unsigned a = 0; a < edges; a++) {
        for (unsigned b = a + 1; b < edges; b++) {
            size_t length = edge[b] - edge[a];
            snprintf(word, sizeof(word), "%.*s", (int)length, text + edge[a]);
            const struct named wanted = {word, 0};
            const struct named *found = bsearch(&wanted, names, set->devices, sizeof(*names), by_name);
            if (!found) found = begins_so(set, names, word);
            if (!found || found->device == as->device || !set->device[found->device].nos || length < longest) continue;
            uint32_t there = port_beside(set, found->device, as->text, edge[a], edge[b]);
            if (there == CONFIG_NONE) continue;
            if (length == longest && (device != found->device || port != there)) return false;
            longest = length;
            device = found->device;
            port = there;
        }
    }
    *ret_device = device;
    *ret_port = port;
    return device != CONFIG_NONE;
}

/* Words of people: an end that goes elsewhere already is no reason for a note, the description may be old. */
static void join_descriptions(struct config_set *set)
{
    const struct named *names = set->descriptions && set->devices > 1 ? devices_by_name(set) : NULL;
    uint32_t other, there;

    for (uint32_t i = 0; names && i < set->descriptions; i++) {
        const struct config_description *as = &set->description[i];
        if (port_of(set, as->device, as->port)->link || !find_end(set, names, as, &other, &there)) continue;
        if (!port_of(set, other, there)->link) config_link(set, as->at, as->device, as->port, other, there);
    }
    set->descriptions = 0;
}

/* --- addresses --- */

static int by_subnet(const void *x, const void *y)
{
    const struct config_address *a = x, *b = y;
    uint8_t hosts = (uint8_t)(0xff << (128 - (a->prefix < b->prefix ? a->prefix : b->prefix)));
    int order = memcmp(a->bytes, b->bytes, 15);

    if (!order) order = (a->bytes[15] & hosts) - (b->bytes[15] & hosts);
    if (!order) order = a->prefix - b->prefix;
    if (!order) order = a->device < b->device ? -1 : a->device > b->device;
    return order ? order : a->port < b->port ? -1 : a->port > b->port;
}

static bool same_subnet(const struct config_address *a, const struct config_address *b)
{
    uint8_t hosts = (uint8_t)(0xff << (128 - a->prefix));

    return a->prefix == b->prefix && memcmp(a->bytes, b->bytes, 15) == 0 &&
           (a->bytes[15] & hosts) == (b->bytes[15] & hosts);
}

static const char *subnet_text(const struct config_address *as, char buf[INET6_ADDRSTRLEN + 8])
{
    static const uint8_t none[12];
    uint8_t bytes[16];
    bool old = memcmp(as->bytes, none, sizeof(none)) == 0;

    memcpy(bytes, as->bytes, sizeof(bytes));
    bytes[15] &= (uint8_t)(0xff << (128 - as->prefix));
    inet_ntop(old ? AF_INET : AF_INET6, old ? bytes + 12 : bytes, buf, INET6_ADDRSTRLEN);
    snprintf(buf + strlen(buf), 8, "/%d", old ? as->prefix - 96 : as->prefix);
    return buf;
}

static const char *end_text(const struct config_set *set, const struct config_address *as, char buf[160])
{
    snprintf(buf, 160, "%.60s %.80s", set->device[as->device].name, port_of(set, as->device, as->port)->name);
    return buf;
}

/* Both ends are known to each other already, or none is to anybody; else something is not as it says. */
static void join_two(struct config_set *set, const struct config_address *a, const struct config_address *b)
{
    uint32_t of_a = port_of(set, a->device, a->port)->link, of_b = port_of(set, b->device, b->port)->link;
    char subnet[INET6_ADDRSTRLEN + 8], other[160];

    if (a->device == b->device || (of_a && of_a == of_b)) return;
    if (memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0) {
        config_note(set, b->at, "TOP007", b->device, b->port, "has the same address of %s as %s",
                    subnet_text(b, subnet), end_text(set, a, other));
        return;
    }
    if (!of_a && !of_b) {
        config_link(set, b->at, a->device, a->port, b->device, b->port);
        return;
    }
    const struct config_address *told = of_a ? a : b, *peer = of_a ? b : a;
    const struct config_link *link = &set->link[(of_a ? of_a : of_b) - 1];
    bool first = link->a == told->device && link->a_port == told->port;
    uint32_t device = first ? link->b : link->a, port = first ? link->b_port : link->a_port;
    config_note(set, told->at, "TOP007", told->device, told->port,
                "goes to %.60s %.60s by what is said of links, and shares %s with %s", set->device[device].name,
                port_of(set, device, port)->name, subnet_text(told, subnet), end_text(set, peer, other));
}

static void join_subnet(struct config_set *set, const struct config_address *list, uint32_t count)
{
    const struct config_address *end[2] = {NULL, NULL}, *last = NULL;
    char subnet[INET6_ADDRSTRLEN + 8], one[160], two[160];
    uint32_t up = 0;

    if (count == 2) {
        join_two(set, &list[0], &list[1]);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (config_is_down(set, list[i].device, list[i].port)) continue;
        if (up < 2) end[up] = &list[i];
        last = &list[i];
        up++;
    }
    if (up == 2) join_two(set, end[0], end[1]);
    if (up < 3) return;
    config_note(set, last->at, "TOP007", last->device, last->port,
                "is in %s with %u other ports, %s and %s among them, and a link has two ends",
                subnet_text(last, subnet), up - 1, end_text(set, end[0], one), end_text(set, end[1], two));
}

static void join_addresses(struct config_set *set)
{
    uint32_t count = set->addresses;

    if (count) qsort(set->address, count, sizeof(*set->address), by_subnet);
    for (uint32_t from = 0, end; from < count; from = end) {
        for (end = from + 1; end < count && same_subnet(&set->address[from], &set->address[end]); end++) {
        }
        if (end - from > 1) join_subnet(set, &set->address[from], end - from);
    }
    set->addresses = 0;
}

void ends_join(struct config_set *set)
{
    join_neighbours(set);
    join_descriptions(set);
    join_addresses(set);
}

bool ends_unknown(const struct config_set *set, uint32_t device, uint32_t port)
{
    const struct config_port *as = port_of(set, device, port);

    return as && set->device[device].nos && as->name[0] && !as->link && !as->idle && !config_is_down(set, device, port);
}
