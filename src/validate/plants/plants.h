/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes that are planted in a run of this fabric, with what must be said of each: the rules of diagnosis, the culprit,
 * the alert.  They are the labelled cases of examples/cases, as far as a fabric has what they need, and the faults of
 * phase 5.  Private to phase6*.c.
 */
#ifndef ROCELAB_VALIDATE_PLANTS_PLANTS_H
#define ROCELAB_VALIDATE_PLANTS_PLANTS_H

#include "validate/failures.h"

#define PLANT_CAUSES 2u
#define PLANT_CULPRITS 4u
#define PLANT_OVERRIDES 3u
#define PLANT_FLOWS 32u
#define PLANT_WAYS 64u

/* What shows that it did something: else nobody can find it. */
enum plant_effect {
    PLANT_LOST,
    PLANT_AGAIN,
    PLANT_TIMEOUTS,
    PLANT_PAUSES,
    PLANT_DROPS,
    PLANT_MARKS,
    PLANT_CNPS_SENT,
    PLANT_CNPS_LOST,
    PLANT_CIRCLE,
    PLANT_EMPTY_LINKS,
    PLANT_UNEVEN_LINKS,
    PLANT_ALWAYS
};

enum plant_traffic { PLANT_ROUND, PLANT_FLOWS_OF_ITS_OWN, PLANT_ALL_TO_ALL, PLANT_TRAINING };

struct plant_cause {
    const char *rules;                         /* "D14 D07": any of them; NULL: there is none */
    char culprit[PLANT_CULPRITS][FABRIC_NAME]; /* names of objects, any of them; "": no more */
    bool both_ends;                            /* the other end of a culprit's cable is as good */
    bool any_switch;                           /* each is a culprit as good as any */
};

struct plant_pair {
    uint32_t from, to;
};

struct planted {
    const char *name;
    const char *lacks;                      /* why it cannot be planted in this fabric; NULL: it can */
    struct plant_cause cause[PLANT_CAUSES]; /* in the order in which they must be named */
    bool good;                              /* nothing is wrong: no warning, no alert */
    bool own;                         /* faults of the file and nothing planted: what fires is expected with others */
    bool chance;                      /* the cause is told of and is no fault: no warning */
    bool acquits;                     /* the cause is not the network, and nothing else may be said of that */
    const char *beside;               /* rules of what its traffic is by itself, and may be named before it; NULL */
    const char *alerts[PLANT_CAUSES]; /* of each "PauseStorm|WatchdogActed" one fires; NULL: no more */
    const char *follows;              /* critical ones that it causes, and that are right too */
    char fault[256];                  /* "": none */
    char path[PLANT_OVERRIDES][2 * FABRIC_NAME + 64], value[PLANT_OVERRIDES][64]; /* of the file, replaced; "" */
    enum plant_traffic traffic;
    struct plant_pair flow[PLANT_FLOWS]; /* endpoints; of PLANT_FLOWS_OF_ITS_OWN */
    struct plant_pair way[PLANT_WAYS];   /* wrong static routes: a switch's port, for an endpoint */
    uint32_t flows, ways;
    uint32_t times;   /* as long as failures' messages are its flows; 0: once */
    bool needs_clean; /* another cause in the file would hide it */
    bool quick;       /* its alert is asked for in a quick run too */
    enum plant_effect effect;
    ps_t until;
};

/* The traffic of failures among hosts of one line rate: who sends to a slower one fills a queue, and that is no fault.
 * False, after a row that is skipped: there are no two hosts. */
bool plants_traffic(struct validate_case *of, struct failures *ret);
/* All of them, *ret_count. */
struct planted *plants_choose(const struct validate_case *of, const struct failures *failures, uint32_t *ret_count);
/* effects.c: whether it did what it is planted for; else words for that. */
bool plant_works(const struct planted *plant, const struct variant *variant, const char **ret_why);
/* With its jobs, overrides and faults; false after a row.  To be closed where it is true. */
bool plant_open(struct validate_case *of, const struct failures *failures, const struct planted *plant,
                struct variant *variant);

#endif
