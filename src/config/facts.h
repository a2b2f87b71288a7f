/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no configuration says: chips, lengths of cables, links; from options, or from a small YAML file.
 */
#ifndef ROCELAB_CONFIG_FACTS_H
#define ROCELAB_CONFIG_FACTS_H

#include "config/config.h"

enum fact_kind { FACT_MODEL, FACT_CABLE, FACT_LINK };

struct fact {
    enum fact_kind kind;
    const char
        *pattern;      /* of devices, or of `DEVICE:PORT`; NULL: of all of which nothing else says it; a link: an end */
    const char *value; /* a model, a length; a link: the other end */
    const char *cable; /* of a link: its length; NULL: not said */
    const char *option; /* as it was given, for messages; NULL: at `at` of the file */
    struct fabric_at at;
    bool may_miss; /* nothing is wrong where it matches nothing */
};

struct facts {
    struct fact *fact;
    uint32_t count, room;
};

#define FACTS_FILE "rocelab.yaml" /* looked for beside configurations */
#define FACTS_MAX_BYTES (1u << 20)

/* Reads `models`, `cables` and `links` of a text into the list; all of it lives in the arena.  may_miss as of a fact.
 * 0; -EINVAL with errors. */
int facts_read(struct arena *arena, const char *text, size_t length, bool may_miss, struct facts *facts,
               struct fabric_errors *errors);
/* One more, `PATTERN=VALUE` or VALUE; the value is judged at once.  NULL, or what is wrong with it, in buf. */
#define FACTS_WRONG 1024
const char *facts_add(struct arena *arena, struct facts *facts, enum fact_kind kind, const char *argument,
                      char buf[FACTS_WRONG]);
/* After all texts, before config_write(), as from a text called `path`: links of all lists first, then their models and
 * cables.  What matches nothing is an error.  0; -EINVAL with errors. */
int facts_links(struct config_set *set, const struct facts *facts, const char *path, struct fabric_errors *errors);
int facts_values(struct config_set *set, const struct facts *facts, const char *path, struct fabric_errors *errors);

#endif
