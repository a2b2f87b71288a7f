/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netplan's YAML: MTUs and addresses of a host's interfaces, and its bonds.
 *
 * Of a host whose script was read, only what it says of the script's interfaces matters; a script that sets an MTU
 * runs later and has the last word.  Without one it is a host of its own, of the interfaces that have an MTU and an
 * address.
 */
#include <errno.h>
#include <string.h>

#include "config/host/host_int.h"
#include "fabric/file/tree.h"

struct netplan {
    struct config_set *set;
    const struct config_text *text;
    uint32_t device;
    bool script;  /* of this host a script was read */
    bool any_mtu; /* an interface says its MTU */
};

static struct origin at_key(const struct netplan *in, const struct tree *tree)
{
    return CONFIG_AT(in->text, tree->key_at.line);
}

static const char *scalar(const struct tree *map, const char *key)
{
    const struct tree *value = tree_get(map, key);

    return value && value->type == TREE_SCALAR && value->text[0] ? value->text : NULL;
}

/* `set-name`, else what it matches by name, else what it is called in the file. */
static const char *name_of(const struct tree *interface)
{
    const char *name = scalar(interface, "set-name");

    if (!name) name = scalar(tree_get(interface, "match"), "name");
    return name && !name[strcspn(name, "*?[")] ? name : interface->key;
}

/* Without a script the first interface makes the host: one that has none is none. */
static uint32_t add_port(struct netplan *in, struct origin at, const char *name)
{
    if (in->script) return config_port_find(in->set, in->device, name);
    if (in->device == CONFIG_NONE)
        in->device =
            config_device(in->set, CONFIG_AT(in->text, 1), config_device_name(in->set, in->text), "host", true);
    return config_port(in->set, at, in->device, name);
}

static uint32_t port_of(struct netplan *in, const struct tree *interface, const char *name)
{
    const struct tree *addresses = tree_get(interface, "addresses");
    bool bare = !scalar(interface, "mtu") || !addresses || !addresses->count; /* management, by its looks */

    return bare && !in->script ? CONFIG_NONE : add_port(in, at_key(in, interface), name);
}

static void say_mtu(const struct netplan *in, const struct tree *interface, uint32_t port)
{
    const struct tree *mtu = tree_get(interface, "mtu");
    int64_t bytes;

    if (!mtu || mtu->type != TREE_SCALAR || config_said(in->set, in->device, port, "mtu")) return;
    if (host_number(mtu->text, 68, 65535, &bytes))
        host_say_mtu(in->set, at_key(in, mtu), in->device, port, bytes);
    else
        NOTE(in, mtu->key_at.line, NULL, port, "mtu '%.40s' is not understood", mtu->text);
}

#define MTU_DEFAULT 1500 /* of Linux */

/* Where others say theirs, one that has an address and no MTU has the default. */
static void say_default(const struct netplan *in, const struct tree *interface, uint32_t port)
{
    if (in->any_mtu && !tree_get(interface, "mtu") && !config_said(in->set, in->device, port, "mtu"))
        host_say_mtu(in->set, at_key(in, interface), in->device, port, MTU_DEFAULT);
}

static void read_interface(struct netplan *in, const struct tree *interface)
{
    uint32_t port = port_of(in, interface, name_of(interface));
    const struct tree *addresses = tree_get(interface, "addresses");

    if (port == CONFIG_NONE) return;
    say_mtu(in, interface, port);
    if (!addresses || addresses->type != TREE_LIST || !addresses->count) return;
    say_default(in, interface, port);
    for (const struct tree *one = addresses->first; one; one = one->next) {
        const char *text = one->type == TREE_MAP && one->first ? one->first->key : one->text; /* it may have a label */
        if (text) config_address(in->set, CONFIG_AT(in->text, one->at.line), in->device, port, text);
    }
}

/* An interface's own name, by what the file calls it. */
static const char *member_name(const struct tree *ethernets, const char *called)
{
    const struct tree *interface = tree_get(ethernets, called);

    return interface ? name_of(interface) : called;
}

/* A bond sets the MTU of its members. */
static void read_bond(struct netplan *in, const struct tree *bond, const struct tree *ethernets)
{
    const struct tree *members = tree_get(bond, "interfaces");

    if (!members || members->type != TREE_LIST) return;
    for (const struct tree *one = members->first; one; one = one->next) {
        if (one->type != TREE_SCALAR) continue;
        const char *name = member_name(ethernets, one->text);
        uint32_t port = add_port(in, CONFIG_AT(in->text, one->at.line), name);
        if (port == CONFIG_NONE) continue;
        config_lag(in->set, at_key(in, bond), in->device, port, bond->key);
        say_mtu(in, bond, port);
    }
}

static const struct tree *first_of(const struct tree *map)
{
    return map && map->type == TREE_MAP ? map->first : NULL;
}

/* Names that differ in their numbers alone. */
static bool same_letters(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (!*a || *a != *b) return *a == *b;
        a++, b++;
    }
}

#define ALIKE_LEAST 2u /* interfaces that the script sets up, for one like them that it leaves out */

/* An interface with the frames and the name of those that the script sets up, of which the script does not speak. */
static void judge_left_out(const struct netplan *in, const struct tree *ethernets)
{
    for (const struct tree *one = first_of(ethernets); one && in->script; one = one->next) {
        const char *mtu = scalar(one, "mtu"), *name = name_of(one);
        uint32_t alike = 0;
        if (!mtu || !tree_get(one, "addresses") || config_port_find(in->set, in->device, name) != CONFIG_NONE) continue;
        for (const struct tree *other = first_of(ethernets); other; other = other->next) {
            uint32_t port = config_port_find(in->set, in->device, name_of(other));
            const char *its = scalar(other, "mtu");
            alike += port != CONFIG_NONE && its && strcmp(its, mtu) == 0 && tree_get(other, "addresses") &&
                     same_letters(name, name_of(other)) && config_said(in->set, in->device, port, "pfc");
        }
        if (alike >= ALIKE_LEAST)
            CAUTION(in, one->key_at.line, "HOST001", CONFIG_NONE,
                    "%.60s has the frames of %u others that the script sets up for RDMA, and the script leaves it out",
                    name, alike);
    }
}

int host_netplan(struct config_set *set, const struct config_text *text)
{
    struct netplan in = {.set = set, .text = text, .device = host_companion_of(set, text)};
    struct arena arena;
    struct tree *root = NULL;

    arena_init_or_end(&arena, (size_t)1 << 30);
    int result = tree_parse_foreign(text->text, text->length, &arena, &root, text->errors);
    in.script = in.device != CONFIG_NONE;
    const struct tree *network = result == 0 ? tree_get(root, "network") : NULL;
    const struct tree *ethernets = tree_get(network, "ethernets");
    for (const struct tree *one = first_of(ethernets); one; one = one->next)
        in.any_mtu = in.any_mtu || scalar(one, "mtu");
    for (const struct tree *one = first_of(ethernets); one; one = one->next)
        read_interface(&in, one);
    for (const struct tree *one = first_of(tree_get(network, "bonds")); one; one = one->next)
        read_bond(&in, one, ethernets);
    if (result == 0) judge_left_out(&in, ethernets);
    arena_release(&arena);
    return result;
}
