/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chips, cables and links that a person adds to configurations.
 *
 *     models: {leaf*: tomahawk5, spine*: N9K-C9364D-GX2A}
 *     cables: {spine*: 300m, "leaf0:Ethernet1/1": 5m}      or one length, of all cables that nothing else speaks of
 *     links:
 *       - [leaf0:Ethernet1/1, spine0:Ethernet1/5]
 *       - {a: leaf0:Ethernet1/2, b: spine1:Ethernet1/5, cable: 30m}
 *
 * A pattern is one of the shell's.  It stands for devices, of cables also for `DEVICE:PORT`, and what it says holds
 * whatever a configuration says; of two patterns that match, the later one holds.
 */
#include "config/facts.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/units.h"
#include "config/ends.h"
#include "config/links.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"
#include "fabric/qos/models.h"

#define FACTS_MAX 65536u
#define ALL_NAMES 600

static bool add_fact(struct arena *arena, struct facts *facts, struct fact fact)
{
    if (facts->count >= FACTS_MAX) return false;
    ARENA_ROOM(arena, facts->fact, facts->count, facts->room);
    facts->fact[facts->count++] = fact;
    return true;
}

/* --- values --- */

static const char *wrong_model(const char *value, char buf[FACTS_WRONG])
{
    char all[ALL_NAMES] = "";
    size_t used = 0;

    if (switch_model_find(value) || switch_model_of_product(value)) return NULL;
    const char *near = switch_model_nearest(value);
    for (uint32_t m = 0; m < switch_model_count; m++)
        if (used + 40 < sizeof(all))
            used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", switch_models[m].name);
    if (near)
        snprintf(buf, FACTS_WRONG, "'%.60s' is no known chip or product; did you mean '%s'?", value, near);
    else
        snprintf(buf, FACTS_WRONG, "'%.60s' is no known chip or product; chips: %s", value, all);
    return buf;
}

static const char *wrong_length(const char *value, char buf[FACTS_WRONG])
{
    const char *why = "not a length";
    uint64_t mm = 0;

    if (unit_parse(UNIT_LENGTH, value, &mm, &why) == 0) {
        if (mm > 0) return NULL;
        why = "a cable has a length, as in 30m";
    }
    snprintf(buf, FACTS_WRONG, "'%.60s': %s", value, why);
    return buf;
}

static const char *wrong_value(enum fact_kind kind, const char *value, char buf[FACTS_WRONG])
{
    return kind == FACT_MODEL ? wrong_model(value, buf) : wrong_length(value, buf);
}

const char *facts_add(struct arena *arena, struct facts *facts, enum fact_kind kind, const char *argument,
                      char buf[FACTS_WRONG])
{
    const char *equals = strrchr(argument, '=');
    const char *pattern = equals ? arena_strndup(arena, argument, (size_t)(equals - argument)) : NULL;
    const char *value = equals ? equals + 1 : argument;

    if (equals == argument) {
        snprintf(buf, FACTS_WRONG, "no device before the '='; 'leaf*=%.40s' is of all whose names begin so", value);
        return buf;
    }
    const char *wrong = wrong_value(kind, value, buf);
    if (wrong) return wrong;
    if (add_fact(arena, facts, (struct fact){.kind = kind, .pattern = pattern, .value = value, .option = argument}))
        return NULL;
    snprintf(buf, FACTS_WRONG, "too many");
    return buf;
}

/* --- the file --- */

struct reader {
    struct arena *arena;
    struct facts *facts;
    struct fabric_errors *errors;
    bool may_miss;
};

static bool is_right(const struct reader *in, enum fact_kind kind, const struct tree *value)
{
    char buf[FACTS_WRONG], found[TREE_FOUND];

    if (value->type != TREE_SCALAR) {
        fabric_errors_add(in->errors, value->at, "a %s is expected, not %s", kind == FACT_MODEL ? "chip" : "length",
                          tree_found(value, found));
        return false;
    }
    const char *wrong = wrong_value(kind, value->text, buf);
    if (wrong) fabric_errors_add(in->errors, value->at, "%s", wrong);
    return !wrong;
}

static bool read_value(const struct reader *in, enum fact_kind kind, const char *pattern, const struct tree *value)
{
    if (!is_right(in, kind, value)) return false;
    struct fabric_at at = pattern && value->key ? value->key_at : value->at;
    return add_fact(
        in->arena, in->facts,
        (struct fact){.kind = kind, .pattern = pattern, .value = value->text, .at = at, .may_miss = in->may_miss});
}

static bool read_patterns(const struct reader *in, enum fact_kind kind, const struct tree *map)
{
    bool good = true;

    if (map->type == TREE_SCALAR) return read_value(in, kind, NULL, map);
    if (map->type == TREE_LIST) {
        fabric_errors_add(in->errors, map->at, "a map of patterns, as in {leaf*: %s}, or one for all",
                          kind == FACT_MODEL ? "tomahawk5" : "30m");
        return false;
    }
    for (const struct tree *one = map->first; one; one = one->next)
        good = read_value(in, kind, one->key, one) && good;
    return good;
}

static bool read_link(const struct reader *in, const struct tree *link)
{
    const struct tree *a = tree_get(link, "a"), *b = tree_get(link, "b"), *cable = tree_get(link, "cable");

    if (link->type == TREE_LIST && link->count == 2) {
        a = link->first;
        b = link->first->next;
    }
    if (!a || !b || a->type != TREE_SCALAR || b->type != TREE_SCALAR || !strchr(a->text, ':') ||
        !strchr(b->text, ':')) {
        fabric_errors_add(in->errors, link->at,
                          "a link is two ends DEVICE:PORT, as in [leaf0:Ethernet1/1, spine0:Ethernet1/5]");
        return false;
    }
    struct fact fact = {.kind = FACT_LINK, .pattern = a->text, .value = b->text, .at = a->at, .may_miss = in->may_miss};
    if (cable && !is_right(in, FACT_CABLE, cable)) return false;
    fact.cable = cable ? cable->text : NULL;
    return add_fact(in->arena, in->facts, fact);
}

int facts_read(struct arena *arena, const char *text, size_t length, bool may_miss, struct facts *facts,
               struct fabric_errors *errors)
{
    struct reader in = {arena, facts, errors, may_miss};
    struct tree *root;
    int result = tree_parse(text, length, arena, &root, errors);
    bool good = true;

    if (result != 0) return result;
    if (root->type == TREE_SCALAR && !root->text[0]) return 0;
    if (root->type != TREE_MAP) {
        fabric_errors_add(errors, root->at, "a map of models, cables and links");
        return -EINVAL;
    }
    for (const struct tree *key = root->first; key; key = key->next) {
        if (strcmp(key->key, "models") == 0) {
            good = read_patterns(&in, FACT_MODEL, key) && good;
        } else if (strcmp(key->key, "cables") == 0) {
            good = read_patterns(&in, FACT_CABLE, key) && good;
        } else if (strcmp(key->key, "links") == 0 && key->type == TREE_LIST) {
            for (const struct tree *link = key->first; link; link = link->next)
                good = read_link(&in, link) && good;
        } else {
            fabric_errors_add(errors, key->key_at, "'%.60s': models, cables or links (a list of links)", key->key);
            good = false;
        }
    }
    return good ? 0 : -EINVAL;
}

/* --- said of devices --- */

struct applying {
    struct config_set *set;
    uint32_t source;
    struct fabric_errors *errors;
};

static void complain(const struct applying *as, const struct fact *fact, const char *what)
{
    char names[ALL_NAMES] = "";
    size_t used = 0;

    if (fact->may_miss) return;
    for (uint32_t d = 0; d < as->set->devices && used + FABRIC_NAME < sizeof(names); d++)
        used +=
            (size_t)snprintf(names + used, sizeof(names) - used, "%s%.60s", used ? ", " : "", as->set->device[d].name);
    if (fact->option)
        fabric_errors_add(as->errors, fact->at, "--%s '%s': %s; devices: %s",
                          fact->kind == FACT_MODEL ? "model" : "cable", fact->option, what, names[0] ? names : "none");
    else
        fabric_errors_add(as->errors, fact->at, "'%.60s': %s; devices: %s", fact->pattern ? fact->pattern : fact->value,
                          what, names[0] ? names : "none");
}

static void apply_model(const struct applying *as, const struct fact *fact)
{
    const struct switch_model *model = switch_model_find(fact->value);
    struct origin at = {as->source, fact->at.line};
    bool any = false;

    if (!model) model = switch_model_of_product(fact->value);
    for (uint32_t d = 0; d < as->set->devices; d++) {
        const struct config_device *device = &as->set->device[d];
        if (device->host || (fact->pattern && fnmatch(fact->pattern, device->name, 0) != 0)) continue;
        any = true;
        if (!fact->pattern && config_said(as->set, d, CONFIG_NONE, "model")) continue;
        config_say(as->set, at, d, CONFIG_NONE, "model", "%s", model->name);
    }
    if (!any) complain(as, fact, "no switch is called so");
}

static bool cable_matches(const struct config_device *device, uint32_t port, const char *pattern)
{
    char name[2 * FABRIC_NAME];

    if (!pattern || fnmatch(pattern, device->name, 0) == 0) return true;
    snprintf(name, sizeof(name), "%.64s:%.64s", device->name, device->port[port].name);
    return fnmatch(pattern, name, 0) == 0;
}

/* Both ends of a link have one cable. */
static bool cable_said(const struct config_set *set, uint32_t d, uint32_t p)
{
    const struct config_link *link = set->device[d].port[p].link ? &set->link[set->device[d].port[p].link - 1] : NULL;

    return config_said(set, d, p, "cable") || (link && (config_said(set, link->a, link->a_port, "cable") ||
                                                        config_said(set, link->b, link->b_port, "cable")));
}

/* The port and, of a link, both ends. */
static void say_cable(const struct applying *as, const struct fact *fact, uint32_t d, uint32_t p, const char *length)
{
    struct origin at = {as->source, fact->at.line};
    uint32_t number = as->set->device[d].port[p].link;

    config_say(as->set, at, d, p, "cable", "%s", length);
    if (!number) return;
    const struct config_link *link = &as->set->link[number - 1];
    config_say(as->set, at, link->a, link->a_port, "cable", "%s", length);
    config_say(as->set, at, link->b, link->b_port, "cable", "%s", length);
}

static void apply_cable(const struct applying *as, const struct fact *fact)
{
    struct config_set *set = as->set;
    bool any = false;

    for (uint32_t d = 0; d < set->devices; d++) {
        for (uint32_t p = 0; p < set->device[d].ports; p++) {
            if (!cable_matches(&set->device[d], p, fact->pattern)) continue;
            any = true;
            if (!fact->pattern && cable_said(set, d, p)) continue;
            say_cable(as, fact, d, p, fact->value);
        }
    }
    if (!any) complain(as, fact, "no device and no DEVICE:PORT is called so");
}

/* A port by `DEVICE:PORT`, by its name or another that it is known by; false: there is none. */
static bool known_end(const struct applying *as, const char *text, uint32_t *ret_device, uint32_t *ret_port)
{
    const char *colon = strchr(text, ':');
    char name[FABRIC_NAME];

    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    *ret_device = config_device_find(as->set, name);
    *ret_port = *ret_device == CONFIG_NONE ? CONFIG_NONE : links_port_known(as->set, *ret_device, colon + 1);
    return *ret_port != CONFIG_NONE;
}

/* False after an error. */
static bool find_end(const struct applying *as, const struct fact *fact, const char *text, uint32_t *ret_device,
                     uint32_t *ret_port)
{
    const char *colon = strchr(text, ':');
    char name[FABRIC_NAME], what[300];

    if (known_end(as, text, ret_device, ret_port)) return true;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    if (*ret_device == CONFIG_NONE) {
        snprintf(what, sizeof(what), "no device is called '%.60s'", name);
        complain(as, fact, what);
    } else if (!fact->may_miss) {
        const struct config_device *device = &as->set->device[*ret_device];
        fabric_errors_add(as->errors, fact->at, "%.60s has no port '%.60s'; its ports are called %.60s ... %.60s", name,
                          colon + 1, device->ports ? device->port[0].name : "-",
                          device->ports ? device->port[device->ports - 1].name : "-");
    }
    return false;
}

static void apply_link(const struct applying *as, const struct fact *fact)
{
    uint32_t a, b, a_port, b_port;

    if (find_end(as, fact, fact->pattern, &a, &a_port) && find_end(as, fact, fact->value, &b, &b_port))
        links_join(as->set, (struct origin){as->source, fact->at.line}, a, a_port, b, b_port);
}

static void apply_link_cable(const struct applying *as, const struct fact *fact)
{
    uint32_t device, port; /* an end that is unknown was told when links were joined */

    if (fact->cable && known_end(as, fact->pattern, &device, &port)) say_cable(as, fact, device, port, fact->cable);
}

int facts_links(struct config_set *set, const struct facts *facts, const char *path, struct fabric_errors *errors)
{
    struct applying as = {set, config_source(set, path), errors};

    errors->path = path;
    for (uint32_t f = 0; f < facts->count; f++)
        if (facts->fact[f].kind == FACT_LINK) apply_link(&as, &facts->fact[f]);
    return errors->count ? -EINVAL : 0;
}

int facts_values(struct config_set *set, const struct facts *facts, const char *path, struct fabric_errors *errors)
{
    struct applying as = {set, config_source(set, path), errors};

    errors->path = path;
    ends_join(set); /* what a cable's other end is must be known for its length */
    for (uint32_t f = 0; f < facts->count; f++) {
        if (facts->fact[f].kind == FACT_MODEL) apply_model(&as, &facts->fact[f]);
        if (facts->fact[f].kind == FACT_CABLE) apply_cable(&as, &facts->fact[f]);
        if (facts->fact[f].kind == FACT_LINK) apply_link_cable(&as, &facts->fact[f]);
    }
    return errors->count ? -EINVAL : 0;
}
