/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of `lldpctl -f json` as a source of links: what one device's ports see at their other ends.
 *
 * The device that was asked is not in its own output: it is named by the file, or by who calls.  A neighbour is a
 * switch where it says that it bridges or routes.  JSON is read as the YAML that it is.
 */
#include <errno.h>
#include <string.h>

#include "config/links.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"

static const char *text_of(const struct tree *value)
{
    const struct tree *inner = tree_get(value, "value");

    if (inner) value = inner;
    return value && value->type == TREE_SCALAR && value->text[0] ? value->text : NULL;
}

/* One capability is a map, several are a list of them. */
static bool forwards(const struct tree *chassis)
{
    const struct tree *capability = tree_get(chassis, "capability");

    for (const struct tree *one = capability && capability->type == TREE_LIST ? capability->first : capability; one;
         one = capability->type == TREE_LIST ? one->next : NULL) {
        const char *type = text_of(tree_get(one, "type")), *on = text_of(tree_get(one, "enabled"));
        if (type && on && strcmp(on, "true") == 0 && (strcmp(type, "Bridge") == 0 || strcmp(type, "Router") == 0))
            return true;
    }
    return false;
}

/* The port's own name where it is one, else its description: a hardware address says nothing. */
static const char *port_of(const struct tree *port)
{
    const struct tree *id = tree_get(port, "id");
    const char *type = text_of(tree_get(id, "type")), *value = text_of(id), *about = text_of(tree_get(port, "descr"));

    if (type && strcmp(type, "mac") == 0 && about) return about;
    return value ? value : about;
}

struct asked {
    struct config_set *set;
    const struct config_text *text;
    uint32_t device;
};

static void read_interface(const struct asked *asked, const struct tree *interface)
{
    struct config_set *set = asked->set;
    struct origin at = CONFIG_AT(asked->text, interface->key_at.line);
    const struct tree *chassis = tree_get(interface, "chassis"), *port = tree_get(interface, "port");
    const struct tree *named = chassis && chassis->type == TREE_MAP ? chassis->first : NULL;
    const char *there = port_of(port);

    if (!named || named->type != TREE_MAP || strcmp(named->key, "id") == 0 || !there) {
        config_note(set, at, NULL, asked->device, CONFIG_NONE, "the neighbour of %.60s has no name", interface->key);
        return;
    }
    uint32_t other = config_device_find(set, named->key);
    if (other == CONFIG_NONE) other = config_device(set, at, named->key, NULL, !forwards(named));
    links_join(set, at, asked->device, links_port(set, at, asked->device, interface->key), other,
               links_port(set, at, other, there));
}

static int import(struct config_set *set, const struct config_text *text)
{
    struct tree *root;
    int result = tree_parse(text->text, text->length, &set->arena, &root, text->errors);

    if (result != 0) return result;
    const struct tree *list = tree_get(tree_get(root, "lldp"), "interface");
    if (!list) {
        fabric_errors_add(text->errors, root->at, "no lldp.interface: this is no output of lldpctl -f json");
        return -EINVAL;
    }
    const char *name = config_device_name(set, text);
    uint32_t device = config_device_find(set, name);
    const struct tree *first = list->first ? list->first : list;
    const char *port =
        first->type == TREE_MAP && first->first && list->type == TREE_LIST ? first->first->key : first->key;
    bool host = !port || (strncmp(port, "Ethernet", 8) != 0 && strncmp(port, "swp", 3) != 0);
    if (device == CONFIG_NONE) device = config_device(set, CONFIG_AT(text, 1), name, NULL, host);
    struct asked asked = {set, text, device};
    for (const struct tree *item = list->first; item; item = item->next) {
        if (list->type == TREE_MAP && item->type == TREE_MAP)
            read_interface(&asked, item);
        else if (item->type == TREE_MAP && item->first && item->first->type == TREE_MAP)
            read_interface(&asked, item->first);
    }
    return 0;
}

static int guess(const char *text, size_t length)
{
    bool lldp = memmem(text, length, "\"lldp\"", 6), chassis = memmem(text, length, "\"chassis\"", 9);

    return lldp && (chassis || memmem(text, length, "\"interface\"", 11)) ? 95 : 0;
}

const struct config_format config_lldp = {.name = "lldp", .suffix = "json", .guess = guess, .import = import};
