/* SPDX-License-Identifier: Apache-2.0 */
/* lldpctl -f json and -f json0: neighbours of hosts and of Cumulus. */
#include <string.h>

#include "evidence/read/reader.h"

/* json0 puts everything into arrays of one: {"name": [{"value": "leaf0"}]}. */
static const struct json *first(const struct json *value)
{
    return value && value->type == JSON_ARRAY ? value->child : value;
}

static struct text_field text_of(const struct json *value)
{
    value = first(value);
    return field_of(json_string(value && value->type == JSON_OBJECT ? json_get(value, "value") : value));
}

static void one_interface(struct reading *in, const struct json *interface, const char *name)
{
    const struct json *chassis = first(json_get(interface, "chassis")), *port = first(json_get(interface, "port"));
    struct text_field local = field_of(name), device = text_of(json_get(chassis, "name"));
    struct text_field id = text_of(json_get(port, "id")), description = text_of(json_get(port, "descr"));

    if (!device.length && chassis && chassis->child) device = field_of(chassis->child->name);
    in->source.line = interface->line;
    if (field_is_port(&local)) reading_neighbour(in, reading_port(in, &local), &device, &id, &description);
}

/* "interface" is an object by name, or an array of such objects, or (json0) of objects with "name". */
static void interfaces(struct reading *in, const struct json *list)
{
    for (const struct json *one = list->child; one; one = one->next) {
        const char *name = json_string(json_get(one, "name"));
        if (list->type == JSON_OBJECT)
            one_interface(in, one, one->name);
        else if (name)
            one_interface(in, one, name);
        else if (one->type == JSON_OBJECT && one->child)
            one_interface(in, one->child, one->child->name);
    }
}

static const struct json *list_of(const struct json *root)
{
    return json_get(first(json_get(root, "lldp")), "interface");
}

static bool lldp_is(const struct json *root)
{
    return list_of(root) != NULL;
}

static void lldp_read(struct reading *in, const struct json *root)
{
    interfaces(in, list_of(root));
}
const struct json_reader reader_lldp_json = {"lldpctl-json", "hosts and Cumulus: lldpctl -f json", lldp_is, lldp_read};
