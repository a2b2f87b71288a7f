/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of JSON by their names, wherever they stand. */
#include "evidence/read/json_walk.h"

#include <string.h>

static bool is_one_of(const char *text, const char *const *list)
{
    for (size_t i = 0; text && list && list[i]; i++)
        if (!strcmp(text, list[i])) return true;
    return false;
}

/* "3", "TC3", "UC3", "3 [Active] PFC ...", "PFC3"; -1: none of the eight. */
static int priority_in(const char *text)
{
    const char *digits = text + strcspn(text, "0123456789");
    size_t count = strspn(digits, "0123456789");

    if (digits - text > 3 || count != 1 || digits[0] > '7' || digits[1] == '-') return -1;
    return digits[0] - '0';
}

/* What the object itself says of where it is. */
static void find_place(struct reading *in, const struct json_words *words, const struct json *object,
                       struct json_walk_at *at)
{
    for (const struct json *one = object->child; one; one = one->next) {
        if (!one->name || !one->text) continue;
        if (is_one_of(one->name, words->port_keys)) {
            struct text_field name;
            if (field_split(one->text, &name, 1) && field_is_port(&name)) at->port = reading_port(in, &name);
        } else if (is_one_of(one->name, words->priority_keys)) {
            int priority = priority_in(one->text);
            at->priority = priority < 0 ? EVIDENCE_PRIORITIES : (unsigned)priority;
        }
    }
}

void json_walk_set(struct reading *in, const struct json_walk_at *at, enum evidence_counter counter,
                   const struct json *value)
{
    unsigned priority = evidence_counters[counter].scope == EVIDENCE_PRIORITY ? at->priority : EVIDENCE_NO_PRIORITY;
    uint64_t number;

    if (at->port == EVIDENCE_NONE || !json_u64(value, &number)) return;
    if (evidence_counters[counter].scope == EVIDENCE_PRIORITY && priority == EVIDENCE_NO_PRIORITY) return;
    in->source.line = value->line;
    evidence_set(in->evidence, at->port, priority, counter, number, &in->source);
}

static void take_number(struct reading *in, const struct json_words *words, const struct json *value,
                        const struct json_walk_at *at)
{
    struct text_field name = field_of(value->name), text = field_of(value->text), word[2];
    uint64_t number;

    in->source.line = value->line;
    if (is_one_of(value->name, words->state_keys)) {
        if (field_state(&text, &number))
            evidence_set(in->evidence, at->port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, number, &in->source);
        return;
    }
    if (is_one_of(value->name, words->rate_keys)) {
        if (value->type == JSON_NUMBER ? json_u64(value, &number) : field_rate(&text, &number))
            if (number) evidence_set(in->evidence, at->port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, number, &in->source);
        return;
    }
    if (field_is(&name, "description") || field_is(&name, "desc")) {
        reading_description(in, at->port, &text);
        return;
    }
    if (field_split(text.at, word, 2) == 2 && field_is(&word[1], "Bytes")) text = word[0];
    const struct counter_name *names = words->names;
    unsigned own;
    while (names->pattern && !field_like(&name, names->pattern, &own))
        names++;
    if (!names->pattern) return;
    bool of_priority = evidence_counters[names->counter].scope == EVIDENCE_PRIORITY;
    if (of_priority && own == EVIDENCE_NO_PRIORITY && at->priority == EVIDENCE_NO_PRIORITY) return;
    reading_named(in, names, at->port, at->priority, &name, &text);
}

/* Inside of a port's object only these are other ports: a queue's "DP0" is none. */
static bool is_port_for_sure(const char *name)
{
    return !strncmp(name, "Eth", 3) || !strncmp(name, "swp", 3);
}

struct step {
    const struct json *next; /* sibling to look at next */
    struct json_walk_at at;
    bool by_priority;
};

/* Where the walk is inside of a member. */
static bool enter(struct reading *in, const struct json_words *words, const struct json *child, const struct step *from,
                  struct step *to)
{
    struct text_field name = field_of(child->name);

    *to = (struct step){child->child, from->at, false};
    if (is_one_of(child->name, words->passed_over)) return false;
    if (from->by_priority && child->name) {
        int priority = priority_in(child->name);
        if (priority < 0) return false;
        to->at.priority = (unsigned)priority;
    } else if (child->name && child->type == JSON_OBJECT && field_is_port(&name) &&
               (from->at.port == EVIDENCE_NONE || is_port_for_sure(child->name))) {
        to->at.port = reading_port(in, &name);
    }
    to->by_priority = is_one_of(child->name, words->by_priority);
    if (child->type != JSON_OBJECT) return true;
    find_place(in, words, child, &to->at);
    return !words->object || !words->object(in, child, &to->at);
}

void json_walk(struct reading *in, const struct json_words *words, const struct json *root)
{
    struct step stack[JSON_DEPTH + 1];
    size_t depth = 0;

    stack[0] = (struct step){root->child, {EVIDENCE_NONE, EVIDENCE_NO_PRIORITY}, false};
    if (root->type == JSON_OBJECT) {
        find_place(in, words, root, &stack[0].at);
        struct text_field hint = field_of(in->hint);
        if (stack[0].at.port == EVIDENCE_NONE && field_is_port(&hint) && !strncmp(in->hint, "swp", 3))
            stack[0].at.port = reading_port(in, &hint);
        if (words->object && words->object(in, root, &stack[0].at)) return;
    }
    for (;;) {
        struct step *top = &stack[depth];
        const struct json *one = top->next;
        if (!one) {
            if (!depth--) return;
            continue;
        }
        top->next = one->next;
        if (one->type == JSON_OBJECT || one->type == JSON_ARRAY) {
            if (depth < JSON_DEPTH && enter(in, words, one, top, &stack[depth + 1])) depth++;
        } else if (top->by_priority && one->name) { /* "queueCounters": {"3": "17"} */
            struct json_walk_at at = top->at;
            int priority = priority_in(one->name);
            if (priority < 0) continue;
            at.priority = (unsigned)priority;
            json_walk_set(in, &at, words->scalar, one);
        } else if (top->at.port != EVIDENCE_NONE && one->name && one->text) {
            take_number(in, words, one, &top->at);
        }
    }
}

static const struct json *body(const struct json *value, const char *const *members)
{
    for (size_t i = 0; members[i]; i++)
        if (json_get(value, members[i])) return value;
    return NULL;
}

const struct json *json_body_with(const struct json *root, const char *const *members)
{
    static const char *const wraps[] = {"result", "ins_api/outputs/output/body", "body", "result/body", NULL};

    for (size_t i = 0; wraps[i]; i++) {
        const struct json *inner = json_path(root, wraps[i]);
        if (inner && inner->type == JSON_ARRAY) {
            for (const struct json *one = inner->child; one; one = one->next)
                if (body(one, members) || body(json_get(one, "body"), members)) return root;
        } else if (body(inner, members)) {
            return root;
        }
    }
    if (root->type == JSON_ARRAY)
        for (const struct json *one = root->child; one; one = one->next)
            if (body(one, members)) return root;
    return body(root, members);
}
