/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chip a Junos configuration is of.  No statement says it: the name of the product in the file's name or in a
 * comment of the first lines does, and what `rocelab config` writes there.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "config/junos/junos_int.h"
#include "fabric/qos/models.h"

#define HEAD_LINES 20u
#define RATE_ASSUMED 100u
#define FAMILY "QFX" /* what names of these switches begin with */

/* The product of the vendor that this text names: the rest of a line, or of a file's name, may have any words. */
static const struct switch_model *named(const char *text, size_t length)
{
    char word[32];

    for (size_t at = 0; at + strlen(FAMILY) <= length; at++) {
        if (strncasecmp(text + at, FAMILY, strlen(FAMILY)) != 0) continue;
        size_t end = at;
        while (end < length && end - at < sizeof(word) - 1 && isalnum((unsigned char)text[end]))
            end++;
        snprintf(word, sizeof(word), "%.*s", (int)(end - at), text + at);
        const struct switch_model *model = switch_model_of_product(word);
        if (model) return model;
    }
    return NULL;
}

/* `## device: leaf0 (tomahawk5); written by ...` */
static const struct switch_model *written(const char *line, size_t length)
{
    const char *head = memmem(line, length, "device: ", 8),
               *open = head ? memchr(head, '(', length - (size_t)(head - line)) : NULL;
    const char *close = open ? memchr(open, ')', length - (size_t)(open - line)) : NULL;
    char name[32];

    if (!close || (size_t)(close - open) > sizeof(name)) return NULL;
    memcpy(name, open + 1, (size_t)(close - open - 1));
    name[close - open - 1] = 0;
    return switch_model_find(name);
}

/* A chip that the ports do not fit into is not the one. */
static bool fits(const struct junos *in, const struct switch_model *model)
{
    uint64_t ports = 0, gbps = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        if (in->port[p].channels || strncmp(in->port[p].name, "ae", 2) == 0) continue;
        ports++;
        gbps += in->port[p].rate_gbps ? in->port[p].rate_gbps : RATE_ASSUMED;
    }
    return !model->ports || (ports <= model->ports_most && gbps <= (uint64_t)model->ports * model->rate_gbps);
}

void junos_chip(struct junos *in)
{
    const char *slash = strrchr(in->text->path, '/'), *file = slash ? slash + 1 : in->text->path;
    const struct switch_model *model = NULL;
    uint32_t number = 1, line = 1;

    for (const char *at = in->text->text; *at && number <= HEAD_LINES && !model; number++) {
        size_t length = strcspn(at, "\n"), space = strspn(at, " \t");
        if (at[space] == '#' || at[space] == '/' || at[space] == '*') {
            model = written(at, length);
            if (!model) model = named(at, length);
            line = number;
        }
        at += length + (at[length] == '\n');
    }
    if (!model) {
        model = named(file, strlen(file));
        line = 1;
    }
    if (model && fits(in, model)) SAY(in, line, CONFIG_NONE, "model", "%s", model->name);
}
