/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of `sim --json` and `up --json` (cli/fields/run.def), token by token: of ten thousand GPUs it has some
 * thirty megabytes.  Counters were 0 when the run began, so that each has two looks.
 *
 * What no operator could know is not read: the faults that were put in, and the simulator's own verdict.  Who paused
 * whom because of which queue is, and makes findings exact.
 */
#include "evidence/read/sim/document.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 65536 /* bytes in which the kind must stand */
#define CIRCLE 4096     /* queues of a circle that are kept */
#define FRAME_LINE 24   /* FCS, preamble and gap */

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

void *document_more(struct document_list *list, size_t size)
{
    if (!(list->count & (list->count - 1)) && (!list->count || list->count >= 16)) {
        void *grown = realloc(list->at, (list->count ? 2 * (size_t)list->count : 16) * size);
        if (!grown) return NULL;
        list->at = grown;
    }
    return (char *)list->at + size * list->count++;
}

bool document_member(struct document *document, enum json_token *token)
{
    *token = json_next(&document->json);
    document->in->source.line = document->json.line;
    return *token == JSON_VALUE || *token == JSON_BEGIN;
}

void document_pass(struct document *document, enum json_token token)
{
    if (token == JSON_BEGIN) json_skip(&document->json);
}

bool document_value(struct document *document)
{
    enum json_token token;

    while (document_member(document, &token)) {
        if (token == JSON_VALUE) return true;
        document_pass(document, token);
    }
    return false;
}

bool document_object(struct document *document)
{
    enum json_token token;

    while (document_member(document, &token)) {
        if (token == JSON_BEGIN && document->json.type == JSON_OBJECT) return true;
        document_pass(document, token);
    }
    return false;
}

bool document_u64(const struct document *document, const char *key, uint64_t *value)
{
    const struct json_in *json = &document->json;

    return json_key_is(json, key) && json->type == JSON_NUMBER && json_text_u64(json->text, json->length, value);
}

bool document_ps(const struct document *document, const char *key, uint64_t *ns)
{
    if (!document_u64(document, key, ns)) return false;
    *ns /= 1000;
    return true;
}

bool document_real(const struct document *document, const char *key, double *value)
{
    const struct json_in *json = &document->json;

    return json_key_is(json, key) && json->type == JSON_NUMBER && json_text_real(json->text, json->length, value);
}

const char *document_text(struct document *document)
{
    const struct json_in *json = &document->json;

    document->text[0] = 0;
    if (json->type == JSON_STRING) json_unescape(json->text, json->length, document->text, sizeof document->text);
    return document->text;
}

static uint32_t port_named(struct evidence *evidence, const char *name)
{
    const char *colon = strrchr(name, ':');

    if (!colon || colon == name || !colon[1]) return EVIDENCE_NONE;
    uint32_t device = evidence_device(evidence, name, (size_t)(colon - name));
    return evidence_port(evidence, device, colon + 1, strlen(colon + 1));
}

uint32_t document_port(struct document *document)
{
    return port_named(document->evidence, document_text(document));
}

const char *document_peek(struct document *document, const char *key)
{
    struct json_in here = document->json;
    enum json_token token;

    document->text[0] = 0;
    while ((token = json_next(&document->json)) == JSON_VALUE || token == JSON_BEGIN) {
        if (token == JSON_VALUE && json_key_is(&document->json, key)) {
            document_text(document);
            break;
        }
        document_pass(document, token);
    }
    document->json = here;
    return document->text;
}

uint32_t document_peek_port(struct document *document, const char *key)
{
    return port_named(document->evidence, document_peek(document, key));
}

void document_level(struct document *document, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value)
{
    evidence_set(document->evidence, object, priority, counter, value, &document->in->source);
}

static void begins_with_nothing(struct document *document, uint32_t object, unsigned priority,
                                enum evidence_counter counter)
{
    struct evidence_source begin = document->in->source;

    begin.at_s = 0;
    if (document->end_ps) evidence_set(document->evidence, object, priority, counter, 0, &begin);
}

void document_count(struct document *document, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value)
{
    if (!evidence_find(document->evidence, object, priority, counter))
        begins_with_nothing(document, object, priority, counter);
    document_level(document, object, priority, counter, value);
}

void document_count_most(struct document *document, uint32_t object, unsigned priority, enum evidence_counter counter,
                         uint64_t value)
{
    const struct evidence_value *known = evidence_find(document->evidence, object, priority, counter);

    if (!known || known->last < value) document_count(document, object, priority, counter, value);
}

/* --- the fabric --- */

static void read_node(struct document *document)
{
    uint32_t device = EVIDENCE_NONE;
    uint64_t bytes;
    const char *name = document_peek(document, "node");

    if (*name) device = evidence_device(document->evidence, name, strlen(name));
    while (document_value(document)) {
        if (device == EVIDENCE_NONE) continue;
        if (document_u64(document, "buffer_bytes", &bytes)) {
            struct document_buffer *buffer = document_more(&document->buffers, sizeof *buffer);
            if (buffer) *buffer = (struct document_buffer){device, bytes};
        }
        if (!json_key_is(&document->json, "role")) continue;
        for (unsigned r = 0; r < FABRIC_ROLES; r++)
            if (!strcmp(document_text(document), role_name[r])) document->evidence->object[device].role = (uint8_t)r;
    }
}

static void read_link(struct document *document)
{
    uint32_t a = document_peek_port(document, "a"), b = document_peek_port(document, "b");

    json_skip(&document->json);
    if (a == EVIDENCE_NONE || b == EVIDENCE_NONE) return;
    evidence_tie(document->evidence, a, b);
    document->evidence->tied = true;
}

static void read_class(struct document *document)
{
    uint64_t priority = EVIDENCE_PRIORITIES, number;
    bool lossless = false;

    while (document_value(document)) {
        if (document_u64(document, "priority", &number)) priority = number;
        if (json_key_is(&document->json, "lossless")) lossless = document->json.type == JSON_TRUE;
    }
    if (lossless && priority < EVIDENCE_PRIORITIES) document->lossless |= (uint8_t)(1u << priority);
}

/* --- pauses, circles, the watchdog --- */

/* Of a host the document has here alone for how long it paused its switch. */
static void host_pauses(struct document *document, const struct evidence_pause *pause)
{
    document_count_most(document, pause->port, pause->priority, EVIDENCE_TX_PAUSE_NS, pause->time_ns);
    document_count_most(document, pause->port, pause->priority, EVIDENCE_TX_PAUSE_EVENTS, pause->count);
    document_count_most(document, pause->port, pause->priority, EVIDENCE_TX_PAUSE_FRAMES, pause->count);
}

static void read_pause(struct document *document)
{
    struct evidence_pause pause = {.port = EVIDENCE_NONE, .paused = EVIDENCE_NONE, .cause = EVIDENCE_NONE};
    uint64_t priority = EVIDENCE_PRIORITIES;

    while (document_value(document)) {
        if (json_key_is(&document->json, "port")) pause.port = document_port(document);
        if (json_key_is(&document->json, "paused")) pause.paused = document_port(document);
        if (json_key_is(&document->json, "cause")) pause.cause = document_port(document);
        document_u64(document, "priority", &priority);
        document_u64(document, "count", &pause.count);
        document_ps(document, "time_ps", &pause.time_ns);
        document_ps(document, "passed_on_ps", &pause.passed_on_ns);
    }
    if (pause.port == EVIDENCE_NONE || pause.paused == EVIDENCE_NONE || priority >= EVIDENCE_PRIORITIES) return;
    const struct evidence_object *object = document->evidence->object;
    if (pause.cause != EVIDENCE_NONE && object[pause.cause].parent != object[pause.port].parent) return; /* cannot be */
    pause.priority = (uint8_t)priority;
    evidence_add_pause(document->evidence, &pause);
    if (pause.cause == EVIDENCE_NONE) host_pauses(document, &pause);
}

/* Behind "cycle": its queues. */
static uint32_t read_circle(struct document *document, uint32_t *port, uint8_t *priorities)
{
    uint32_t count = 0;

    while (document_object(document)) {
        uint32_t at = EVIDENCE_NONE;
        uint64_t priority = EVIDENCE_PRIORITIES;
        while (document_value(document)) {
            if (json_key_is(&document->json, "port")) at = document_port(document);
            document_u64(document, "priority", &priority);
        }
        if (at == EVIDENCE_NONE || priority >= EVIDENCE_PRIORITIES || count == CIRCLE) continue;
        port[count] = at;
        priorities[count++] = (uint8_t)priority;
    }
    return count;
}

static void read_deadlock(struct document *document)
{
    uint32_t *port = calloc(CIRCLE, sizeof port[0]), count = 0;
    uint8_t *priority = calloc(CIRCLE, 1);
    enum json_token token;
    bool ended = false;

    while (document_member(document, &token)) {
        if (port && priority && token == JSON_BEGIN && json_key_is(&document->json, "cycle"))
            count = read_circle(document, port, priority);
        else
            document_pass(document, token);
        if (token == JSON_VALUE && json_key_is(&document->json, "ended_ps")) ended = document->json.type == JSON_NUMBER;
    }
    if (count) evidence_add_circle(document->evidence, port, priority, count, ended);
    free(port);
    free(priority);
}

static void read_watchdog(struct document *document)
{
    uint64_t queue = EVIDENCE_PRIORITIES, acted = 0, restored = 0;
    uint32_t port = document_peek_port(document, "port");

    while (document_value(document)) {
        document_u64(document, "queue", &queue);
        document_u64(document, "acted", &acted);
        document_u64(document, "restored", &restored);
    }
    if (queue >= EVIDENCE_PRIORITIES) return;
    document_count(document, port, (unsigned)queue, EVIDENCE_WATCHDOG_DETECTED, acted);
    document_count(document, port, (unsigned)queue, EVIDENCE_WATCHDOG_RESTORED, restored);
    document_level(document, port, (unsigned)queue, EVIDENCE_WATCHDOG_ON, acted > restored);
}

/* --- the whole --- */

static void read_each(struct document *document, void (*read)(struct document *document))
{
    while (document_object(document))
        read(document);
}

static const struct {
    const char *key;
    void (*list)(struct document *document);    /* reads the list */
    void (*element)(struct document *document); /* or one object of it */
} lists[] = {
    {"jobs", document_jobs, NULL},
    {"training", document_training, NULL},
    {"deadlocks", NULL, read_deadlock},
    {"watchdog", NULL, read_watchdog},
    {"pauses", NULL, read_pause},
    {"nodes", NULL, read_node},
    {"links", NULL, read_link},
    {"classes", NULL, read_class},
    {"flows", document_flows, NULL},
    {"queue_pairs", document_queue_pairs, NULL},
    {"ports", document_ports, NULL},
    {"nics", document_nics, NULL},
    {"thresholds", document_thresholds, NULL},
};

/* What of the model the run had. */
static void read_modelled(struct document *document)
{
    enum json_token token;

    while (document_member(document, &token)) {
        if (token == JSON_VALUE && json_key_is(&document->json, "routes_converge"))
            document->evidence->follows = document->json.type == JSON_TRUE;
        document_pass(document, token);
    }
}

static void read_list(struct document *document)
{
    if (document->json.type == JSON_OBJECT && json_key_is(&document->json, "modelled")) {
        read_modelled(document);
        return;
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (document->json.type != JSON_ARRAY || !json_key_is(&document->json, lists[i].key)) continue;
        if (lists[i].list)
            lists[i].list(document);
        else
            read_each(document, lists[i].element);
        return;
    }
    json_skip(&document->json);
}

/* When the run ended; it stands near the beginning, whoever wrote the document. */
static void find_end(struct document *document)
{
    struct json_in *json = &document->json;
    enum json_token token;

    if (json_next(json) != JSON_BEGIN || json->type != JSON_OBJECT) return;
    while (document_member(document, &token)) {
        if (document_u64(document, "virtual_ps", &document->end_ps)) break;
        document_pass(document, token);
    }
    document->end_s = (double)document->end_ps / 1e12;
}

static void read_document(struct reading *in, const char *text, size_t bytes)
{
    struct document document = {.in = in, .evidence = in->evidence, .overhead = FRAME_LINE};
    struct json_in *json = &document.json;
    enum json_token token;

    json_in_init(json, text, bytes);
    find_end(&document);
    in->source.at_s = document.end_s;
    in->evidence->exact = true;
    json_in_init(json, text, bytes);
    if (json_next(json) == JSON_BEGIN && json->type == JSON_OBJECT)
        while (document_member(&document, &token) && !in->evidence->full)
            if (token == JSON_BEGIN) read_list(&document);
    document_limits(&document);
    if (json->why) {
        evidence_remark(in->evidence, in->source.file, json->line,
                        "broken JSON: %s: what stands behind it was not read", json->why);
        in->evidence->broken = json->why;
        in->evidence->broken_line = json->line;
    }
    free(document.thresholds.at);
    free(document.uses.at);
    free(document.buffers.at);
}

static bool is_document(const char *text, size_t bytes)
{
    struct json_in json;
    enum json_token token;

    if (!bytes || *text != '{') return false;
    json_in_init(&json, text, bytes < LOOKED_AT ? bytes : LOOKED_AT);
    if (json_next(&json) != JSON_BEGIN) return false;
    while ((token = json_next(&json)) == JSON_VALUE || token == JSON_BEGIN) {
        if (token == JSON_VALUE && json_key_is(&json, "kind"))
            return json.type == JSON_STRING && (!strncmp(json.text, "sim\"", 4) || !strncmp(json.text, "up\"", 3));
        if (token == JSON_BEGIN && !json_skip(&json)) return false;
    }
    return false;
}

const struct whole_reader reader_sim_document = {"sim", "rocelab: sim --json, up --json", is_document, read_document};
