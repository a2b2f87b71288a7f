/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What importers said, as one fabric file with its source map.
 *
 * Every key stands on a line of its own, so that a line has one origin.  What all ports of a device say alike is said
 * once for the device: of the ports, the one that most others equal is taken as typical, and of its values those that
 * every port speaks of become the device's.  Values of one port go together, so that a device's layer never holds a
 * mixture that no port has (shares of more than 100 %).
 *
 * Devices whose names begin with leaf, spine or core get that role; all others are switches.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/units.h"
#include "config/config.h"
#include "config/pairs.h"
#include "fabric/qos/models.h"

#define RATE_ASSUMED "100G"

struct writer {
    struct config_set *set;
    FILE *to;
    struct origin *origin;
    uint32_t lines, room;
    const char *class_name[FABRIC_PRIOS];
    uint32_t *typical;        /* [devices] the port that most others equal; CONFIG_NONE: it has none */
    int8_t class_of_dscp[64]; /* by most devices; -1: none says */
    const char **rate;        /* [devices] that most of its ports have: taken where nothing says one; NULL: none */
};

__attribute__((format(printf, 4, 5))) static void line(struct writer *w, struct origin at, int indent,
                                                       const char *format, ...)
{
    va_list args;

    if (w->lines == w->room) {
        uint32_t room = w->room ? w->room * 2 : 256;
        struct origin *more = ARENA_NEW(&w->set->arena, struct origin, room);
        if (!more) {
            w->set->no_memory = true;
            return;
        }
        if (w->lines) memcpy(more, w->origin, w->lines * sizeof(*more));
        w->origin = more;
        w->room = room;
    }
    CHECK(w->lines < w->room);
    w->origin[w->lines++] = at;
    fprintf(w->to, "%*s", indent, "");
    va_start(args, format);
    vfprintf(w->to, format, args);
    va_end(args);
    fputc('\n', w->to);
}

static bool plain(const char *text)
{
    if (text[0] == '[') return text[strspn(text, "[]0123456789abcdefghijklmnopqrstuvwxyz, ")] == 0;
    if (!text[0] || strchr("-.", text[0])) return false;
    for (const char *c = text; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("-_./%", *c)))
            return false;
    return true;
}

/* A scalar as YAML reads it back: bytes that it would not are written by number. */
static const char *scalar(struct writer *w, const char *text)
{
    if (plain(text)) return text;
    char *quoted = arena_alloc(&w->set->arena, strlen(text) * 4 + 3, 1, 1), *to = quoted;
    if (!quoted) {
        w->set->no_memory = true;
        return "x";
    }
    *to++ = '"';
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            to += snprintf(to, 3, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            to += snprintf(to, 5, "\\x%02x", *c);
        else
            *to++ = (char)*c;
    }
    *to++ = '"';
    *to = 0;
    return quoted;
}

static bool port_counts(const struct config_set *set, uint32_t device, uint32_t port)
{
    const char *up = config_said(set, device, port, "up");

    return !(up && strcmp(up, "false") == 0) && !set->device[device].port[port].idle;
}

/* Said of a link, or (`own.`) of a port what a fabric has of a switch alone: not written there. */
static bool of_link(const char *path)
{
    return strncmp(path, "own.", 4) == 0 || strcmp(path, "rate") == 0 || strcmp(path, "cable") == 0;
}
static bool of_port(const char *path)
{
    return of_link(path) || strcmp(path, "up") == 0 || strcmp(path, "name") == 0;
}

static uint64_t port_hash(const struct config_port *port)
{
    uint64_t hash = 14695981039346656037ull;

    for (uint32_t i = 0; i < port->count; i++) {
        if (of_port(port->said[i].path)) continue;
        for (const char *c = port->said[i].path; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
        for (const char *c = port->said[i].value; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
    }
    return hash;
}

static bool pauses(const struct config_port *port)
{
    for (uint32_t i = 0; i < port->count; i++)
        if (strncmp(port->said[i].path, "pfc", 3) == 0 && port->said[i].value[0] == '[') return true;
    return false;
}

/* Ports that nobody set up may be more than those in use: where any pause, one of these is typical; one that is down is
 * only where all are. */
static uint32_t typical_port(struct writer *w, uint32_t d)
{
    const struct config_device *device = &w->set->device[d];
    uint64_t *hash = ARENA_NEW(&w->set->arena, uint64_t, device->ports);
    uint8_t *rank = ARENA_NEW(&w->set->arena, uint8_t, device->ports), highest = 0;
    uint32_t best = 0, most = 0;

    if (!hash || !rank) return 0;
    for (uint32_t p = 0; p < device->ports; p++) {
        hash[p] = port_hash(&device->port[p]);
        rank[p] = port_counts(w->set, d, p) ? 1 + pauses(&device->port[p]) : 0;
        if (rank[p] > highest) highest = rank[p];
    }
    for (uint32_t p = 0; p < device->ports; p++) {
        uint32_t equal = 0;
        if ((p && hash[p] == hash[p - 1] && rank[p] == rank[p - 1]) || rank[p] < highest) continue;
        for (uint32_t q = 0; q < device->ports; q++)
            equal += hash[q] == hash[p] && rank[q] == highest;
        if (equal > most) {
            most = equal;
            best = p;
        }
    }
    CHECK(best < device->ports || device->ports == 0);
    return best;
}

static const char *said_of(const struct config_set *set, uint32_t device, uint32_t port, const char *path)
{
    const char *got = config_said(set, device, port, path);

    return got ? got : config_said(set, device, CONFIG_NONE, path);
}

/* The class that a device has this DSCP in, by its typical port; -1: it does not say, or does not look at DSCPs. */
static int device_class(const struct writer *w, uint32_t d, const char *path)
{
    const char *got = said_of(w->set, d, w->typical[d], path), *trust = said_of(w->set, d, w->typical[d], "trust");

    if (!got || got[0] < '0' || got[0] >= '0' + FABRIC_PRIOS || (trust && strcmp(trust, "pcp") == 0)) return -1;
    return got[0] - '0';
}

/* The class of each DSCP on most devices, hosts and switches alike; where they are as many, the switches'. */
static void vote_classes(struct writer *w)
{
    char path[24];

    for (unsigned dscp = 0; dscp < 64; dscp++) {
        uint32_t votes[FABRIC_PRIOS] = {0};
        snprintf(path, sizeof(path), "dscp-map.%u", dscp);
        for (uint32_t d = 0; d < w->set->devices; d++) {
            int class = device_class(w, d, path);
            if (class >= 0) votes[class] += w->set->device[d].host ? 1024 : 1025;
        }
        w->class_of_dscp[dscp] = -1;
        for (int c = 0; c < FABRIC_PRIOS; c++)
            if (votes[c] && (w->class_of_dscp[dscp] < 0 || votes[c] > votes[w->class_of_dscp[dscp]]))
                w->class_of_dscp[dscp] = (int8_t)c;
    }
}

static bool device_says(const struct config_set *set, uint32_t d, const char *path, const char *value)
{
    const char *got = config_said(set, d, CONFIG_NONE, path);

    if (got && strcmp(got, value) == 0) return true;
    for (uint32_t p = 0; p < set->device[d].ports; p++) {
        got = config_said(set, d, p, path);
        if (got && strcmp(got, value) == 0) return true;
    }
    return false;
}

static bool said_anywhere(const struct config_set *set, const char *path, const char *value)
{
    for (uint32_t d = 0; d < set->devices; d++)
        if (device_says(set, d, path, value)) return true;
    return false;
}

/* Has this device the class without loss?  A port or two that pause for another priority than all others do not make a
 * class of it. */
static bool device_has_lossless(const struct config_set *set, uint32_t d, const char *path, uint32_t pausing)
{
    const char *got = config_said(set, d, CONFIG_NONE, path);
    uint32_t has = 0;

    if (got && strcmp(got, "true") == 0) return true;
    for (uint32_t p = 0; p < set->device[d].ports; p++) {
        got = config_said(set, d, p, path);
        has += got && strcmp(got, "true") == 0;
    }
    return has && has * 4 >= pausing && (has > 1 || pausing < 3);
}

static uint32_t pausing_ports(const struct config_set *set, uint32_t d)
{
    uint32_t pausing = 0;

    for (uint32_t p = 0; p < set->device[d].ports; p++)
        pausing += pauses(&set->device[d].port[p]) && port_counts(set, d, p);
    return pausing;
}

/* A class is lossless by definition where at least half of the devices that have any lossless class have this one: one
 * host that pauses another priority makes no class of it. */
static void vote_lossless(const struct config_set *set, bool ret[FABRIC_PRIOS])
{
    uint32_t votes[FABRIC_PRIOS] = {0}, voters = 0;
    char path[32];

    for (uint32_t d = 0; d < set->devices; d++) {
        uint32_t pausing = pausing_ports(set, d);
        bool any = false;
        for (int c = 0; c < FABRIC_PRIOS; c++) {
            snprintf(path, sizeof(path), "classes.%d.lossless", c);
            bool has = device_has_lossless(set, d, path, pausing);
            votes[c] += has;
            any = any || has;
        }
        voters += any;
    }
    for (int c = 0; c < FABRIC_PRIOS; c++)
        ret[c] = votes[c] && votes[c] * 2 >= voters;
}

static void name_classes(struct writer *w, const bool lossless[FABRIC_PRIOS], const bool strict[FABRIC_PRIOS])
{
    static const char *const plain_names[FABRIC_PRIOS] = {"tc0", "tc1", "tc2", "tc3", "tc4", "tc5", "tc6", "tc7"};
    static const char *const lossless_names[FABRIC_PRIOS] = {"lossless0", "lossless1", "lossless2", "lossless3",
                                                             "lossless4", "lossless5", "lossless6", "lossless7"};
    bool rdma = false, usual = false;
    int cnp = w->class_of_dscp[w->set->cnp_dscp ? w->set->cnp_dscp : CONFIG_CNP_DSCP];

    for (int c = 0; c < FABRIC_PRIOS; c++) {
        const char *name = w->set->class_name[c];
        if (name && (strcmp(name, "rdma") == 0)) rdma = true;
        if (name && (strcmp(name, "default") == 0)) usual = true;
        if (name && strcmp(name, "cnp") == 0) cnp = -1;
    }
    for (int c = 0; c < FABRIC_PRIOS; c++) {
        bool first_lossless = lossless[c] && !rdma, first_lossy = !lossless[c] && !strict[c] && !usual;
        w->class_name[c] = w->set->class_name[c];
        /* CNPs that have a class of their own: adapters look for it by this name */
        if (c == cnp && !lossless[c] && c != w->class_of_dscp[0]) w->class_name[c] = "cnp";
        if (w->class_name[c] || !(w->set->classes >> c & 1)) continue;
        w->class_name[c] = lossless[c] ? lossless_names[c] : plain_names[c];
        if (first_lossless)
            w->class_name[c] = "rdma";
        else if (first_lossy)
            w->class_name[c] = "default";
        if (first_lossless) rdma = true;
        if (first_lossy) usual = true;
    }
}

/* The DSCP that adapters send for a class: the usual one where it leads there, else the lowest; -1: none. */
static int sent_dscp(const struct writer *w, int c)
{
    static const unsigned usual[] = {26, 24, 48};

    for (unsigned i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (w->class_of_dscp[usual[i]] == c) return (int)usual[i];
    for (unsigned d = 1; d < 64; d++)
        if (w->class_of_dscp[d] == c) return (int)d;
    return -1;
}

static void write_classes(struct writer *w)
{
    struct origin none = {CONFIG_NONE, 0};
    bool lossless[FABRIC_PRIOS], strict[FABRIC_PRIOS];
    char path[32];

    if (!w->set->classes) w->set->classes = 1;
    vote_classes(w);
    vote_lossless(w->set, lossless);
    for (int c = 0; c < FABRIC_PRIOS; c++) {
        snprintf(path, sizeof(path), "classes.%d.strict", c);
        strict[c] = said_anywhere(w->set, path, "true");
    }
    name_classes(w, lossless, strict);
    line(w, none, 0, "classes:");
    for (int c = 0; c < FABRIC_PRIOS; c++) {
        if (!(w->set->classes >> c & 1)) continue;
        int dscp = lossless[c] || strcmp(w->class_name[c], "cnp") == 0 ? sent_dscp(w, c) : -1;
        line(w, none, 2, "- name: %s", scalar(w, w->class_name[c]));
        line(w, none, 4, "priority: %d", c);
        if (dscp >= 0) line(w, none, 4, "dscp: %d", dscp);
        if (lossless[c]) line(w, none, 4, "lossless: true");
    }
}

static uint32_t lines_of(const char *text, size_t length)
{
    uint32_t lines = 0;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

static int by_path(const void *a, const void *b)
{
    return strverscmp(((const struct config_said *)a)->path, ((const struct config_said *)b)->path);
}

/* A path's next segment; its length. */
static size_t segment(const char *path)
{
    return strcspn(path, ".");
}

static const char *key_text(struct writer *w, const char *path, size_t from, size_t length)
{
    bool of_classes = from == 8 && strncmp(path, "classes.", 8) == 0 && length == 1 && path[8] >= '0' && path[8] <= '7';
    if (of_classes && w->class_name[path[8] - '0']) return scalar(w, w->class_name[path[8] - '0']);
    const char *key = arena_strndup(&w->set->arena, path + from, length);
    if (!key) w->set->no_memory = true;
    return key ? scalar(w, key) : "x";
}

static void write_value(struct writer *w, struct origin at, int indent, const char *key, const char *value)
{
    if (value[0] == '@' && value[1] >= '0' && value[1] <= '7' && w->class_name[value[1] - '0'])
        value = w->class_name[value[1] - '0'];
    line(w, at, indent, "%s: %s", key, scalar(w, value));
}

/* Sorted settings as a tree of keys. */
static void write_said(struct writer *w, struct config_said *said, uint32_t count, int indent)
{
    const char *before = "";

    if (count) qsort(said, count, sizeof(*said), by_path);
    for (uint32_t i = 0; i < count; i++) {
        const char *path = said[i].path;
        size_t length = strlen(path), at = 0;
        int depth = 0;

        if (i + 1 < count && strncmp(said[i + 1].path, path, length) == 0 && said[i + 1].path[length] == '.') continue;
        bool same = true;
        for (;; depth++) { /* keys that the line before has opened already */
            size_t part = segment(path + at);
            if (path[at + part] != '.') break;
            same = same && strncmp(before, path, at + part + 1) == 0;
            if (!same) line(w, said[i].at, indent + 2 * depth, "%s:", key_text(w, path, at, part));
            at += part + 1;
        }
        write_value(w, said[i].at, indent + 2 * depth, key_text(w, path, at, length - at), said[i].value);
        before = path;
    }
}

/* The value of a path at a port; its index there is near `hint`, for ports speak in the same order. */
static const struct config_said *at_port(const struct config_port *port, const char *path, uint32_t hint)
{
    if (hint < port->count && strcmp(port->said[hint].path, path) == 0) return &port->said[hint];
    return config_said_of(port, path);
}

/* The first switch whose configuration was read; NULL: none. */
static const struct config_device *model_switch(const struct config_set *set)
{
    for (uint32_t d = 0; d < set->devices; d++)
        if (set->device[d].nos && !set->device[d].host) return &set->device[d];
    return NULL;
}

/* The device's layer: what it says itself, and what is typical of its ports. */
static struct config_said *device_layer(struct writer *w, const struct config_device *device, uint32_t *ret_count)
{
    const struct config_port *typical =
        device->ports ? &device->port[w->typical[device - w->set->device]] : &device->all;
    struct config_said *list = ARENA_NEW(&w->set->arena, struct config_said, device->all.count + typical->count);
    uint32_t count = 0;

    *ret_count = 0;
    if (!list) {
        w->set->no_memory = true;
        return NULL;
    }
    for (uint32_t i = 0; i < device->all.count; i++)
        list[count++] = device->all.said[i];
    for (uint32_t i = 0; device->ports && i < typical->count; i++) {
        const char *path = typical->said[i].path;
        bool all = !of_port(path) && !at_port(&device->all, path, 0);
        for (uint32_t p = 0; all && p < device->ports; p++)
            all = !device->port[p].name[0] || at_port(&device->port[p], path, i) != NULL;
        if (all) list[count++] = typical->said[i];
    }
    *ret_count = count;
    return list;
}

/* A switch that only a link speaks of: it is set as the first whose configuration was read, so that nothing is found in
 * either that is only due to a default of ours.  Its chip stays its own. */
static struct config_said *borrowed_layer(struct writer *w, const struct config_device *device, struct config_said *own,
                                          uint32_t *io_count)
{
    static const char *const not_borrowed[] = {"model", "buffer", "cell", "headroom-pool"};
    const struct config_device *other = model_switch(w->set);
    uint32_t borrowed = 0, count = *io_count;
    struct config_said *from = other ? device_layer(w, other, &borrowed) : NULL;
    struct config_said *list = from ? ARENA_NEW(&w->set->arena, struct config_said, count + borrowed) : NULL;

    if (!list) return own;
    if (count) memcpy(list, own, count * sizeof(*list));
    for (uint32_t i = 0; i < borrowed; i++) {
        bool take = true;
        for (unsigned k = 0; k < sizeof(not_borrowed) / sizeof(not_borrowed[0]); k++)
            take = take && strcmp(from[i].path, not_borrowed[k]) != 0;
        if (take) list[count++] = (struct config_said){from[i].path, from[i].value, device->at};
    }
    *io_count = count;
    return list;
}

static void write_device(struct writer *w, const struct config_device *device)
{
    uint32_t layer_count, count;
    struct config_said *layer = device_layer(w, device, &layer_count);
    bool opened = false;

    if (layer && !device->nos && !device->host) layer = borrowed_layer(w, device, layer, &layer_count);
    if (!layer) return;
    line(w, device->at, 2, "%s:", scalar(w, device->name));
    if (device->nos && !device->host) line(w, device->at, 4, "nos: %s", device->nos);
    write_said(w, layer, layer_count, 4);
    for (uint32_t p = 0; p < device->ports; p++) {
        const struct config_port *port = &device->port[p];
        struct config_said *own = ARENA_NEW(&w->set->arena, struct config_said, port->count + 1);
        if (!own) {
            w->set->no_memory = true;
            return;
        }
        count = 0;
        if (port->name[0]) own[count++] = (struct config_said){"name", port->name, port->at};
        for (uint32_t i = 0; i < port->count; i++) {
            const struct config_said *below = /* write_said() has sorted it */
                layer_count ? bsearch(&port->said[i], layer, layer_count, sizeof(*layer), by_path) : NULL;
            if (of_link(port->said[i].path) || (below && strcmp(below->value, port->said[i].value) == 0)) continue;
            own[count++] = port->said[i];
        }
        if (!count) continue;
        if (!opened) line(w, device->at, 4, "ports:");
        opened = true;
        line(w, port->at, 6, "%u:", p);
        write_said(w, own, count, 8);
    }
}

static void write_link(struct writer *w, struct origin at, const char *a, uint32_t a_port, const char *b,
                       uint32_t b_port, const char *rate, const char *cable)
{
    line(w, at, 6, "- {a: \"%s:%u\", b: \"%s:%u\", rate: %s%s%s}", a, a_port, b, b_port, rate, cable ? ", cable: " : "",
         cable ? cable : "");
}

/* What the port, or else the other end of its link, says of its rate; NULL: neither does. */
static const char *port_rate(const struct config_set *set, uint32_t d, uint32_t p)
{
    const struct config_port *port = &set->device[d].port[p];
    const struct config_link *link = port->link ? &set->link[port->link - 1] : NULL;
    const char *rate = config_said(set, d, p, "rate");

    if (rate || !link) return rate;
    return link->a == d ? config_said(set, link->b, link->b_port, "rate")
                        : config_said(set, link->a, link->a_port, "rate");
}

/* The rate that more than half of a switch's ports have, of those that have one said; of a host's, where a rail that
 * nothing is said of is none that is odd, one of them.  NULL: there is none. */
static const char *usual_rate(const struct config_set *set, uint32_t d)
{
    const struct config_device *device = &set->device[d];
    const char *held = NULL;
    uint32_t votes = 0, said = 0, same = 0;

    for (uint32_t p = 0; p < device->ports; p++) {
        const char *rate = device->port[p].idle ? NULL : port_rate(set, d, p);
        if (!rate) continue;
        if (!votes) held = rate;
        votes = strcmp(held, rate) == 0 ? votes + 1 : votes - 1;
    }
    for (uint32_t p = 0; p < device->ports; p++) {
        const char *rate = device->port[p].idle ? NULL : port_rate(set, d, p);
        said += rate != NULL;
        same += rate && strcmp(held, rate) == 0;
    }
    return same * 2 > said || device->host ? held : NULL;
}

/* Ends that differ: the rate of the end that is not told of, the longer cable, which headroom must stand. */
static const char *link_value(const struct config_set *set, const struct config_link *link, const char *path)
{
    const char *a = config_said(set, link->a, link->a_port, path), *b = config_said(set, link->b, link->b_port, path);
    uint64_t x = 0, y = 0;
    bool a_is_odd = false;

    if (!a || !b) return a ? a : b;
    if (strcmp(path, "rate") == 0) return pairs_rates_differ(set, link, &a_is_odd) && a_is_odd ? b : a;
    unit_parse(UNIT_LENGTH, a, &x, NULL);
    unit_parse(UNIT_LENGTH, b, &y, NULL);
    return x > y ? a : b;
}

static void write_links(struct writer *w)
{
    struct config_set *set = w->set;

    for (uint32_t l = 0; l < set->links; l++) {
        const struct config_link *as = &set->link[l];
        const char *rate = link_value(set, as, "rate");
        if (!rate) rate = w->rate[as->a] ? w->rate[as->a] : w->rate[as->b];
        write_link(w, as->at, set->device[as->a].name, as->a_port, set->device[as->b].name, as->b_port,
                   rate ? rate : RATE_ASSUMED, link_value(set, as, "cable"));
    }
    for (uint32_t d = 0; d < set->devices; d++) {
        const struct config_device *device = &set->device[d];
        uint32_t next = 0;
        char unknown[96];

        snprintf(unknown, sizeof(unknown), FABRIC_UNKNOWN "%.55s", device->name);
        for (uint32_t p = 0; p < device->ports; p++) {
            if (device->port[p].link) continue;
            const char *rate = config_said(set, d, p, "rate");
            if (!rate) rate = w->rate[d];
            write_link(w, device->port[p].at, device->name, p, unknown, next++, rate ? rate : RATE_ASSUMED,
                       config_said(set, d, p, "cable"));
        }
    }
}

static bool is_role(const char *name, const char *prefix)
{
    return strncasecmp(name, prefix, strlen(prefix)) == 0;
}

static void write_nodes(struct writer *w, const char *key, const char *prefix)
{
    struct origin none = {CONFIG_NONE, 0};
    bool opened = false;

    for (uint32_t d = 0; d < w->set->devices; d++) {
        const struct config_device *device = &w->set->device[d];
        bool of_any = is_role(device->name, "leaf") || is_role(device->name, "spine") || is_role(device->name, "core");
        if (device->host || (prefix ? !is_role(device->name, prefix) : of_any)) continue;
        if (!opened) line(w, none, 4, "%s:", key);
        opened = true;
        line(w, device->at, 6, "- %s", scalar(w, device->name));
    }
}

static bool has_unlinked(const struct config_set *set, uint32_t device)
{
    for (uint32_t p = 0; p < set->device[device].ports; p++)
        if (!set->device[device].port[p].link) return true;
    return false;
}

static void write_topology(struct writer *w)
{
    struct origin none = {CONFIG_NONE, 0};
    const struct config_set *set = w->set;
    bool any = false;

    line(w, none, 0, "topology:");
    line(w, none, 2, "links:");
    for (uint32_t d = 0; d < set->devices; d++)
        any = any || set->device[d].host || has_unlinked(set, d);
    line(w, none, 4, any ? "hosts:" : "hosts: []");
    for (uint32_t d = 0; d < set->devices; d++)
        if (set->device[d].host) line(w, set->device[d].at, 6, "- %s", scalar(w, set->device[d].name));
    for (uint32_t d = 0; d < set->devices; d++)
        if (has_unlinked(set, d)) line(w, set->device[d].at, 6, "- " FABRIC_UNKNOWN "%.55s", set->device[d].name);
    write_nodes(w, "leaves", "leaf");
    write_nodes(w, "spines", "spine");
    write_nodes(w, "cores", "core");
    write_nodes(w, "switches", NULL);
    line(w, none, 4, "links:");
    write_links(w);
}

/* A class is lossless where it is lossless anywhere: ports of switches that do not say so are not. */
static void complete_lossless(struct config_set *set)
{
    char path[32];

    for (unsigned c = 0; c < FABRIC_PRIOS; c++) {
        snprintf(path, sizeof(path), "classes.%u.lossless", c);
        if (!said_anywhere(set, path, "true")) continue;
        for (uint32_t d = 0; d < set->devices; d++) {
            const struct config_device *device = &set->device[d];
            if (device->host || !device->nos || config_said(set, d, CONFIG_NONE, path)) continue;
            for (uint32_t p = 0; p < device->ports; p++)
                if (!config_said(set, d, p, path))
                    config_say_class(set, device->port[p].at, d, p, c, "lossless", "false");
        }
    }
}

/* A fabric file that says nothing of a watchdog is taken to want one; a configuration that says nothing has none. */
static void complete_watchdog(struct config_set *set, uint32_t d)
{
    static const char *const paths[] = {"watchdog", "watchdog.action", "watchdog.detect", "watchdog.restore",
                                        "watchdog.poll"};

    if (set->device[d].host || !set->device[d].nos) return;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (config_said(set, d, CONFIG_NONE, paths[i])) return;
    config_say(set, set->device[d].at, d, CONFIG_NONE, "watchdog", "false");
}

/* Does the port say this of any class? */
static bool says_of_class(const struct config_port *port, const char *key)
{
    for (uint32_t i = 0; i < port->count; i++)
        if (strncmp(port->said[i].path, "classes.", 8) == 0 && strcmp(port->said[i].path + 9, key) == 0) return true;
    return false;
}

/* Thresholds in bytes need no chip to be compared with marking; those that follow the free buffer do. */
static bool says_xoff(const struct config_device *device)
{
    for (uint32_t p = 0; p < device->ports; p++)
        if (says_of_class(&device->port[p], ".xoff")) return true;
    return false;
}

/* A chip that nothing names: its buffer is written so large that nothing is refused, and rules that need it say so. */
static void complete_buffer(struct config_set *set, uint32_t d)
{
    static const char *const rules[] = {"HR003", "BUF001", "ECN003"};
    const struct config_device *device = &set->device[d];

    config_say(set, device->at, d, CONFIG_NONE, "buffer", "16GB");
    config_say(set, device->at, d, CONFIG_NONE, "cell", "64B");
    for (unsigned r = 0; device->nos && r < (says_xoff(device) ? 1 : sizeof(rules) / sizeof(rules[0])); r++)
        config_unjudged(set, device->at, rules[r], d, CONFIG_NONE,
                        "the chip is not said, and so its buffer is not known; --model names it");
}

/* A chip whose buffer is assumed: what would follow from its size is no finding. */
static void unjudge_assumed(struct config_set *set, uint32_t d)
{
    static const char *const rules[] = {"BUF001", "ECN003"};
    const struct config_device *device = &set->device[d];
    const struct config_said *said = config_said_of(&device->all, "model");
    const struct switch_model *model = said ? switch_model_find(said->value) : NULL;

    if (!model || !model->buffer_assumed || config_said(set, d, CONFIG_NONE, "buffer")) return;
    for (unsigned r = 0; device->nos && !says_xoff(device) && r < sizeof(rules) / sizeof(rules[0]); r++)
        config_unjudged(set, said->at, rules[r], d, CONFIG_NONE, "the buffer of %s is only assumed", model->name);
}

/* What must be known before anything is written. */
static void complete(struct config_set *set)
{
    for (uint32_t d = 0; d < set->devices; d++) {
        struct config_device *device = &set->device[d];

        const struct config_device *other = device->nos || device->host ? NULL : model_switch(set);
        if (other)
            config_assume(set, device->at, d, CONFIG_NONE, "no configuration of it was read: taken to be set as %.60s",
                          other->name);
        if (!device->ports) config_port(set, device->at, d, "");
        complete_watchdog(set, d);
        unjudge_assumed(set, d);
        if (device->host || config_said(set, d, CONFIG_NONE, "buffer") || config_said(set, d, CONFIG_NONE, "model"))
            continue;
        complete_buffer(set, d);
    }
}

/* Rates that neither end of a link says, once links are known: what compares them finds nothing. */
static void complete_rates(struct writer *w)
{
    struct config_set *set = w->set;

    for (uint32_t d = 0; d < set->devices; d++) {
        const struct config_device *device = &set->device[d];
        bool linked = false, said = false;
        w->rate[d] = usual_rate(set, d);
        for (uint32_t p = 0; p < device->ports; p++) {
            said = said || port_rate(set, d, p);
            if (port_rate(set, d, p)) continue;
            linked = linked || device->port[p].link;
            for (unsigned r = 0; r < 2 && says_of_class(&device->port[p], ".headroom"); r++)
                config_unjudged(set, device->port[p].at, r ? "HR004" : "HR001", d, p, "its rate is not said");
        }
        if (linked && device->nos && !device->host)
            config_unjudged(set, device->at, "TOP005", d, CONFIG_NONE, "rates of its links are not said");
        if (!said)
            config_assume(set, device->at, d, CONFIG_NONE,
                          "the rate of its ports is not said; " RATE_ASSUMED " is taken where a link says nothing");
    }
}

/* A fabric has a host.  Where all ports of all switches are linked to each other, one is made up on a port of its own,
 * which nothing is found on. */
static void complete_host(struct config_set *set)
{
    for (uint32_t d = 0; d < set->devices; d++)
        if (set->device[d].host || has_unlinked(set, d)) return;
    if (!set->devices) return;
    uint32_t port = config_port(set, set->device[0].at, 0, "");
    if (port != CONFIG_NONE) config_idle(set, 0, port);
}

int config_write(struct config_set *set, const char *name, const char **ret_text, struct origin_map *ret_map)
{
    struct origin none = {CONFIG_NONE, 0};
    char *text = NULL;
    size_t length = 0;
    struct writer w = {.set = set, .to = open_memstream(&text, &length)};

    if (!w.to) return -ENOMEM;
    complete(set);
    complete_lossless(set);
    config_judge(set);
    complete_host(set);
    w.typical = ARENA_NEW(&set->arena, uint32_t, set->devices + 1);
    w.rate = ARENA_NEW(&set->arena, const char *, set->devices + 1);
    if (w.rate) complete_rates(&w);
    for (uint32_t d = 0; w.typical && d < set->devices; d++)
        w.typical[d] = set->device[d].ports ? typical_port(&w, d) : CONFIG_NONE;
    if (!w.typical || !w.rate) {
        fclose(w.to);
        free(text);
        return -ENOMEM;
    }
    line(&w, none, 0, "rocelab: 1");
    line(&w, none, 0, "fabric: %s", scalar(&w, name));
    write_topology(&w);
    write_classes(&w);
    if (set->devices) line(&w, none, 0, "devices:");
    for (uint32_t d = 0; d < set->devices; d++)
        write_device(&w, &set->device[d]);
    bool failed = fclose(w.to) != 0 || set->no_memory;
    CHECK(failed || lines_of(text, length) == w.lines); /* or every place that is told is of another line */
    const char *copy = failed ? NULL : arena_strndup(&set->arena, text, length);
    free(text);
    if (!copy) return -ENOMEM;
    *ret_text = copy;
    *ret_map = (struct origin_map){w.origin, w.lines, set->path, set->sources};
    return 0;
}
