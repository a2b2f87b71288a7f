/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of switches' commands: trees whose shape differs from release to release, but whose names do not.
 *
 * The walk goes through the whole tree and keeps which port and which priority it is inside of: by a member's name that
 * is a port's ("Ethernet1/1": {...}), by a member that names the port ("interface": "Ethernet1/1"), likewise for
 * priorities.  Numbers are then known by their members' names alone.
 */
#ifndef ROCELAB_EVIDENCE_READ_JSON_WALK_H
#define ROCELAB_EVIDENCE_READ_JSON_WALK_H

#include "evidence/read/reader.h"

struct json_walk_at {
    uint32_t port; /* EVIDENCE_NONE: none yet */
    unsigned priority;
};
struct json_words {
    const struct counter_name *names; /* of numbers */
    const char *const *port_keys;     /* members whose value names the port; end with NULL */
    const char *const *priority_keys; /* members whose value, or a number in it, is the priority */
    const char *const *by_priority;   /* objects whose members are named by priorities: "3", "TC3", "UC3" */
    uint8_t scalar;                   /* counter of such an object whose members are numbers: {"3": "17"} */
    const char *const *state_keys;    /* members that say whether the link is up */
    const char *const *rate_keys;     /* bits a second, or with a unit */
    const char *const *passed_over;   /* objects that are of something else */
    /* An object with its port and priority, before its members are looked at; true: that was all.  May be NULL. */
    bool (*object)(struct reading *in, const struct json *object, const struct json_walk_at *at);
};
void json_walk(struct reading *in, const struct json_words *words, const struct json *root);
/* Sets a counter of a port or priority, as the counter is of. */
void json_walk_set(struct reading *in, const struct json_walk_at *at, enum evidence_counter counter,
                   const struct json *value);
/* Whether an object, or one inside an eAPI or NX-API answer, has one of these members. */
const struct json *json_body_with(const struct json *root, const char *const *members);

#endif
