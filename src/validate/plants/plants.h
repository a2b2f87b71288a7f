/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes that are planted in a run of this fabric, with what must be said of each: the rules of diagnosis, the culprit,
 * the alert.  They are the labelled cases of examples/cases, as far as a fabric has what they need.  Private to
 * phase6*.c.
 */
#ifndef ROCELAB_VALIDATE_PLANTS_PLANTS_H
#define ROCELAB_VALIDATE_PLANTS_PLANTS_H

#include "validate/failures.h"

#define PLANTS_MOST 16u

/* What shows that it did something: else nobody can find it. */
enum plant_effect { PLANT_LOST, PLANT_AGAIN, PLANT_PAUSES, PLANT_DROPS, PLANT_ALWAYS };

struct plant {
    const char *name;
    const char *rules;            /* "D14 D07": any of them; "": no warning at all; NULL: `diagnose` is not asked */
    const char *alerts;           /* "PauseStorm|WatchdogActed": any of them; "": none at all; NULL: not asked */
    const char *follows;          /* critical ones that it causes, and that are right too */
    char culprit[2][FABRIC_NAME]; /* names of objects, any of them; "" */
    char fault[256];              /* "": none */
    char path[2][2 * FABRIC_NAME + 64], value[2][64]; /* of the file, replaced; "" */
    bool incast;                                      /* all send to the first; else each to the next */
    bool any_switch;                                  /* each is a culprit as good as any */
    bool needs_clean;                                 /* another cause in the file would hide it */
    bool quick;                                       /* its alert is asked for in a quick run too */
    enum plant_effect effect;
    ps_t until;
};

/* Answers how many. */
uint32_t plants_choose(const struct validate_case *of, const struct failures *failures, struct plant ret[PLANTS_MOST]);
/* Whether it did what it is planted for; else words for that. */
bool plant_works(const struct plant *plant, const struct variant *variant, const char **ret_why);
/* With its jobs, overrides and fault; false after a row.  To be closed where it is true. */
bool plant_open(struct validate_case *of, const struct failures *failures, const struct plant *plant,
                struct variant *variant);

#endif
