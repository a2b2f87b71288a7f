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

#include "base/audit.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/units.h"
#include "config/config.h"
#include "config/pairs.h"
#include "config/said.h"
#include "config/words.h"
#include "config/write/tree.h"
#include "fabric/qos/models.h"

#define RATE_ASSUMED "100G"

static bool port_counts(const struct config_set *set, uint32_t device, uint32_t port)
{
    return !config_is_down(set, device, port) && !set->device[device].port[port].idle;
}

/* Said of a link, or (`own.`) of a port what a fabric has of a switch alone: not written there. */
static bool of_link(const char *path)
{
    if (!strchr("orc", path[0])) return false; /* most others, at once */
    return strncmp(path, "own.", 4) == 0 || strcmp(path, "rate") == 0 || strcmp(path, "cable") == 0;
}
static bool of_port(const char *path)
{
    return of_link(path) || (strchr("un", path[0]) && (strcmp(path, "up") == 0 || strcmp(path, "name") == 0));
}

static uint64_t port_hash(const struct config_port *port)
{
    uint64_t hash = HASH_BEGIN;

    for (uint32_t i = 0; i < port->count; i++) {
        if (of_port(port->said[i].path)) continue;
        hash = (hash ^ port->order->at[i].hash) * 0x9e3779b97f4a7c15u;
        hash = hash_bytes(hash, port->said[i].value, strlen(port->said[i].value));
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

/* Adds a device's votes for the class of each DSCP, by its typical port, unless it does not look at DSCPs. */
static void vote_device(const struct writer *w, uint32_t d, uint32_t votes[64][FABRIC_PRIOS])
{
    const char *trust = said_of(w->set, d, w->typical[d], "trust");
    char path[CONFIG_PATH];

    if (trust && strcmp(trust, "pcp") == 0) return;
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        const char *got = said_of(w->set, d, w->typical[d], config_map_path(path, "dscp-map", dscp));
        if (!got || got[0] < '0' || got[0] >= '0' + FABRIC_PRIOS) continue;
        votes[dscp][got[0] - '0'] += w->set->device[d].host ? 1024 : 1025;
    }
}

/* The class of each DSCP on most devices, hosts and switches alike; where they are as many, the switches'. */
static void vote_classes(struct writer *w)
{
    uint32_t votes[64][FABRIC_PRIOS] = {0};

    for (uint32_t d = 0; d < w->set->devices; d++)
        vote_device(w, d, votes);
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        w->class_of_dscp[dscp] = -1;
        for (int c = 0; c < FABRIC_PRIOS; c++)
            if (votes[dscp][c] && (w->class_of_dscp[dscp] < 0 || votes[dscp][c] > votes[dscp][w->class_of_dscp[dscp]]))
                w->class_of_dscp[dscp] = (int8_t)c;
    }
}

/* Does the device, or one of its ports, have this key of the class true? */
static bool device_has(const struct config_set *set, uint32_t d, unsigned tc, const char *key)
{
    char path[CONFIG_PATH];

    if (!(set->classes >> tc & 1)) return false; /* nothing was said of it */
    config_class_path(path, tc, key);
    const char *got = config_said(set, d, CONFIG_NONE, path);
    if (got && strcmp(got, "true") == 0) return true;
    for (uint32_t p = 0; p < set->device[d].ports; p++) {
        got = config_said(set, d, p, path);
        if (got && strcmp(got, "true") == 0) return true;
    }
    return false;
}

static bool anything_has(const struct config_set *set, unsigned tc, const char *key)
{
    for (uint32_t d = 0; d < set->devices; d++)
        if (device_has(set, d, tc, key)) return true;
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
    char path[CONFIG_PATH];

    for (uint32_t d = 0; d < set->devices; d++) {
        uint32_t pausing = pausing_ports(set, d);
        bool any = false;
        for (unsigned c = 0; c < FABRIC_PRIOS; c++) {
            bool has =
                (set->classes >> c & 1) && device_has_lossless(set, d, config_class_path(path, c, "lossless"), pausing);
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

    if (!w->set->classes) w->set->classes = 1;
    vote_classes(w);
    vote_lossless(w->set, lossless);
    for (unsigned c = 0; c < FABRIC_PRIOS; c++)
        strict[c] = anything_has(w->set, c, "strict");
    name_classes(w, lossless, strict);
    write_line(w, none, 0, "classes:");
    for (int c = 0; c < FABRIC_PRIOS; c++) {
        if (!(w->set->classes >> c & 1)) continue;
        int dscp = lossless[c] || strcmp(w->class_name[c], "cnp") == 0 ? sent_dscp(w, c) : -1;
        write_line(w, none, 2, "- name: %s", write_scalar(w, w->class_name[c]));
        write_line(w, none, 4, "priority: %d", c);
        if (dscp >= 0) write_line(w, none, 4, "dscp: %d", dscp);
        if (lossless[c]) write_line(w, none, 4, "lossless: true");
    }
}

/* The value of a path at a port; its index there is near `hint`, for ports speak in the same order. */
static const struct config_said *at_port(const struct config_port *port, const char *path, uint32_t hint)
{
    if (hint < port->count && port->said[hint].path == path) return &port->said[hint]; /* their order is one */
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
    static const char not_borrowed[] = "model buffer cell headroom-pool";
    const struct config_device *other = model_switch(w->set);
    uint32_t borrowed = 0, count = *io_count;
    struct config_said *from = other ? device_layer(w, other, &borrowed) : NULL;

    if (!from) return own;
    struct config_said *list = ARENA_NEW(&w->set->arena, struct config_said, count + borrowed);
    if (count) memcpy(list, own, count * sizeof(*list));
    for (uint32_t i = 0; i < borrowed; i++)
        if (!words_have(not_borrowed, from[i].path))
            list[count++] = (struct config_said){from[i].path, from[i].value, device->at};
    *io_count = count;
    return list;
}

struct layer { /* of a device, under its ports */
    struct config_said *said;
    uint32_t count;
    struct config_names names;
};

static void index_layer(struct config_set *set, struct layer *layer)
{
    for (uint32_t i = 0; i < layer->count; i++) {
        config_names_room(set, &layer->names, layer->said, sizeof(*layer->said), i);
        config_names_put(&layer->names, i, layer->said[i].path);
    }
}

/* What the layer says on the path.  `io_hint` goes along with the ports, which say most in its own order. */
static const struct config_said *in_layer(const struct layer *layer, const char *path, uint32_t *io_hint)
{
    uint32_t found = *io_hint;

    if (found >= layer->count || layer->said[found].path != path)
        found = config_names_find(&layer->names, layer->said, sizeof(*layer->said), path);
    if (found == CONFIG_NONE) return NULL;
    *io_hint = found + 1;
    return &layer->said[found];
}

/* What a port says otherwise than the layer: into `own`, which has room.  Returns how much. */
static uint32_t own_said(const struct config_port *port, const struct layer *layer, struct config_said *own)
{
    uint32_t count = 0, hint = 0;

    if (port->name[0]) own[count++] = (struct config_said){"name", port->name, port->at};
    for (uint32_t i = 0; i < port->count; i++) {
        const struct config_said *said = &port->said[i];
        if (of_link(said->path)) continue;
        const struct config_said *below = in_layer(layer, said->path, &hint);
        if (!below || strcmp(below->value, said->value) != 0) own[count++] = *said;
    }
    return count;
}

static void write_device(struct writer *w, const struct config_device *device)
{
    struct layer layer = {0};
    uint32_t most = 0;
    bool opened = false;

    layer.said = device_layer(w, device, &layer.count);
    if (!device->nos && !device->host) layer.said = borrowed_layer(w, device, layer.said, &layer.count);
    for (uint32_t p = 0; p < device->ports; p++)
        most = device->port[p].count > most ? device->port[p].count : most;
    struct config_said *sorted = ARENA_NEW(&w->set->arena, struct config_said, layer.count);
    struct config_said *own = ARENA_NEW(&w->set->arena, struct config_said, most + 1);
    index_layer(w->set, &layer);
    write_line(w, device->at, 2, "%s:", write_scalar(w, device->name));
    if (device->nos && !device->host) write_line(w, device->at, 4, "nos: %s", device->nos);
    if (layer.count) memcpy(sorted, layer.said, layer.count * sizeof(*sorted));
    write_said(w, sorted, layer.count, 4);
    for (uint32_t p = 0; p < device->ports; p++) {
        const struct config_port *port = &device->port[p];
        uint32_t count = own_said(port, &layer, own);
        if (!count) continue;
        if (!opened) write_line(w, device->at, 4, "ports:");
        opened = true;
        write_line(w, port->at, 6, "%u:", p);
        write_said(w, own, count, 8);
    }
}

static void write_link(struct writer *w, struct origin at, const char *a, uint32_t a_port, const char *b,
                       uint32_t b_port, const char *rate, const char *cable)
{
    write_line(w, at, 6, "- {a: \"%s:%u\", b: \"%s:%u\", rate: %s%s%s}", a, a_port, b, b_port, rate,
               cable ? ", cable: " : "", cable ? cable : "");
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
        if (!opened) write_line(w, none, 4, "%s:", key);
        opened = true;
        write_line(w, device->at, 6, "- %s", write_scalar(w, device->name));
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

    write_line(w, none, 0, "topology:");
    write_line(w, none, 2, "links:");
    for (uint32_t d = 0; d < set->devices; d++)
        any = any || set->device[d].host || has_unlinked(set, d);
    write_line(w, none, 4, any ? "hosts:" : "hosts: []");
    for (uint32_t d = 0; d < set->devices; d++)
        if (set->device[d].host) write_line(w, set->device[d].at, 6, "- %s", write_scalar(w, set->device[d].name));
    for (uint32_t d = 0; d < set->devices; d++)
        if (has_unlinked(set, d)) write_line(w, set->device[d].at, 6, "- " FABRIC_UNKNOWN "%.55s", set->device[d].name);
    write_nodes(w, "leaves", "leaf");
    write_nodes(w, "spines", "spine");
    write_nodes(w, "cores", "core");
    write_nodes(w, "switches", NULL);
    write_line(w, none, 4, "links:");
    write_links(w);
}

/* A class is lossless where it is lossless anywhere: ports of switches that do not say so are not. */
static void complete_lossless(struct config_set *set)
{
    char path[CONFIG_PATH];

    for (unsigned c = 0; c < FABRIC_PRIOS; c++) {
        if (!anything_has(set, c, "lossless")) continue;
        config_class_path(path, c, "lossless");
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
        if (port->said[i].path[0] == 'c' && strncmp(port->said[i].path, "classes.", 8) == 0 &&
            strcmp(port->said[i].path + 9, key) == 0)
            return true;
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
    const struct config_device *device = &set->device[d];

    config_say(set, device->at, d, CONFIG_NONE, "buffer", "16GB");
    config_say(set, device->at, d, CONFIG_NONE, "cell", "64B");
    if (device->nos)
        config_unjudged(set, device->at, says_xoff(device) ? "HR003" : "HR003 BUF001 ECN003", d, CONFIG_NONE,
                        "the chip is not said, and so its buffer is not known; --model names it");
}

/* A chip whose buffer is assumed: what would follow from its size is no finding. */
static void unjudge_assumed(struct config_set *set, uint32_t d)
{
    const struct config_device *device = &set->device[d];
    const struct config_said *said = config_said_of(&device->all, "model");
    const struct switch_model *model = said ? switch_model_find(said->value) : NULL;

    if (!model || !model->buffer_assumed || config_said(set, d, CONFIG_NONE, "buffer")) return;
    if (device->nos && !says_xoff(device))
        config_unjudged(set, said->at, "BUF001 ECN003", d, CONFIG_NONE, "the buffer of %s is only assumed",
                        model->name);
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
            if (says_of_class(&device->port[p], ".headroom"))
                config_unjudged(set, device->port[p].at, "HR001 HR004", d, p, "its rate is not said");
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

static uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;

    while ((text = strchr(text, '\n')) != NULL)
        text++, lines++;
    return lines;
}

void config_write(struct config_set *set, const char *name, const char **ret_text, struct origin_map *ret_map)
{
    struct origin none = {CONFIG_NONE, 0};
    char *text = NULL;
    size_t length = 0;
    struct writer w = {.set = set, .to = open_memstream(&text, &length)};

    complete(set);
    complete_lossless(set);
    config_judge(set);
    complete_host(set);
    AUDIT(config_audit(set));
    w.typical = ARENA_NEW(&set->arena, uint32_t, set->devices + 1);
    w.rate = ARENA_NEW(&set->arena, const char *, set->devices + 1);
    complete_rates(&w);
    for (uint32_t d = 0; d < set->devices; d++)
        w.typical[d] = set->device[d].ports ? typical_port(&w, d) : CONFIG_NONE;
    write_line(&w, none, 0, "rocelab: 1");
    write_line(&w, none, 0, "fabric: %s", write_scalar(&w, name));
    write_topology(&w);
    write_classes(&w);
    if (set->devices) write_line(&w, none, 0, "devices:");
    for (uint32_t d = 0; d < set->devices; d++)
        write_device(&w, &set->device[d]);
    CHECK(fclose(w.to) == 0 && lines_of(text) == w.lines); /* or every place that is told is of another line */
    *ret_text = arena_strndup(&set->arena, text, length);
    *ret_map = (struct origin_map){w.origin, w.lines, set->path, set->sources};
    free(text);
}
