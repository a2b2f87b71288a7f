/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chip of a device, by the lines around its configuration that are no commands:
 *
 *     ! device: leaf0 (tomahawk5); written by rocelab ...     what we write, in any system's comment
 *     !  cisco Nexus9000 C9364D-GX2A Chassis                  NX-OS, where `show version` was put before it
 *     - header:
 *         model: SN5600                                       NVUE
 *
 * SONiC's hwsku and the first line of EOS are their importers' to read.
 */
#include "config/product.h"

#include <string.h>

#include "fabric/qos/models.h"

#define LINES_LOOKED_AT 200

/* `device: NAME (MODEL); written by rocelab`: no system's own lines say the chip as well. */
static bool written_by_us(struct config_set *set, const struct config_text *in, const char *line)
{
    const char *name = strstr(line, " device: "), *open = name ? strstr(name, " (") : NULL;
    const char *close = open ? strchr(open, ')') : NULL;
    char device[FABRIC_NAME], chip[64];

    if (!close || strncmp(close, "); written by rocelab", 21) != 0) return false;
    name += strlen(" device: ");
    snprintf(device, sizeof(device), "%.*s", (int)(open - name), name);
    snprintf(chip, sizeof(chip), "%.*s", (int)(close - open - 2), open + 2);
    uint32_t d = config_device_find(set, device);
    if (d != CONFIG_NONE && switch_model_find(chip))
        config_say(set, CONFIG_AT(in, 1), d, CONFIG_NONE, "model", "%s", chip);
    return true;
}

/* The product that this line names, NULL: none. */
static const char *product_in(const char *line)
{
    const char *first = line + strspn(line, " \t-"), *nexus;

    if (strncmp(first, "model:", 6) == 0) return first + 6 + strspn(first + 6, " \t");
    if (first[0] != '!' && first[0] != '#') return NULL;
    nexus = strstr(first, "N9K-C");
    return nexus ? nexus : strstr(first, "Nexus9000 C");
}

void product_say(struct config_set *set, const struct config_text *in)
{
    char line[256];
    uint32_t number = 1;

    for (const char *at = in->text; *at && number <= LINES_LOOKED_AT; number++) {
        size_t length = strcspn(at, "\n");
        size_t kept = length < sizeof(line) ? length : sizeof(line) - 1;
        memcpy(line, at, kept);
        line[kept] = 0;
        at += length + (at[length] == '\n');
        if (number == 1 && written_by_us(set, in, line)) return;
        const char *product = product_in(line);
        const struct switch_model *model = product ? switch_model_of_product(product) : NULL;
        if (!model) continue;
        for (uint32_t d = 0; d < set->devices; d++)
            if (set->device[d].at.source == in->source && set->device[d].nos && !set->device[d].host)
                config_say(set, CONFIG_AT(in, number), d, CONFIG_NONE, "model", "%s", model->name);
        return;
    }
}
