/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running rules and keeping what they find.
 *
 * A rule may find the same thing on ten thousand ports that one line of the file configures.  Findings of one rule at
 * one place are folded into the first of them, with a count; places are asked for a bounded number of findings of each
 * rule, so that a fabric that is wrong everywhere costs no more than one that is wrong here and there.
 */
#include "check/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "check/deadlock.h"
#include "check/rule.h"
#include "fabric/places.h"

#define MESSAGE_BYTES 600
#define PLACED_MAX 4000 /* findings of a rule that are placed; the others count with the last of them */

const char *const check_severity_names[CHECK_ERROR + 1] = {"info", "warning", "error"};

const struct check_rule check_rules[] = {
#define RULE(id, severity, function, title, why, mend, sources)                                                        \
    {#id, CHECK_##severity, false, rule_##function, title, why, mend, sources},
#define NOTE(id, severity, title, why, mend, sources) {#id, CHECK_##severity, true, NULL, title, why, mend, sources},
#include "check/rules.def"
#undef RULE
#undef NOTE
};
const uint32_t check_rule_count = sizeof(check_rules) / sizeof(check_rules[0]);

uint32_t check_rule_find(const char *id)
{
    for (uint32_t r = 0; r < check_rule_count; r++)
        if (strcmp(check_rules[r].id, id) == 0) return r;
    return FABRIC_NONE;
}

void check_init(struct check *check, const struct fabric *fabric, const struct fabric_places *places,
                const struct check_options *options)
{
    for (size_t i = 1; i < options->knowns; i++) /* is_known() searches by halves */
        CHECK(options->known[i - 1] <= options->known[i]);
    *check = (struct check){.fabric = fabric, .places = places, .options = *options};
    arena_init_or_end(&check->arena, 0);
}

void check_release(struct check *check)
{
    deadlock_free(check->proof);
    check->proof = NULL;
    arena_release(&check->arena);
}

static struct check_finding *finding_new(struct check *check)
{
    ARENA_ROOM(&check->arena, check->finding, check->findings, check->room);
    return &check->finding[check->findings++];
}

static const char *keep(struct check *check, const char *text)
{
    return text ? arena_strndup(&check->arena, text, strlen(text)) : NULL;
}

/* Findings of the rule that runs stand at the end. */
static struct check_finding *placed_enough(struct check *check)
{
    if (check->findings < PLACED_MAX) return NULL;
    struct check_finding *first = &check->finding[check->findings - PLACED_MAX];
    return first->rule == check->rule ? &check->finding[check->findings - 1] : NULL;
}

/* What cannot be judged, or is on a port that nothing uses, is not found: a rule may have looked at the node alone. */
static bool left_out(const struct check *check, uint32_t node, uint32_t port)
{
    if (!check->out || node == FABRIC_NONE) return false;
    return check->out[check->fabric->ports + node] || (port != FABRIC_NONE && check->out[port]);
}

__attribute__((format(printf, 7, 0))) static void find(struct check *check, enum check_severity severity, uint32_t node,
                                                       uint32_t port, bool own, const char *path, const char *format,
                                                       va_list args)
{
    char text[MESSAGE_BYTES], name[FABRIC_NAME];
    struct fabric_at at = {0, 0};
    struct check_finding *finding = placed_enough(check);

    CHECK(check->rule < check_rule_count && severity <= CHECK_ERROR);
    CHECK(node == FABRIC_NONE || node < check->fabric->nodes);
    CHECK(port == FABRIC_NONE || (port < check->fabric->ports && check->fabric->port[port].node == node));
    if (left_out(check, node, port)) return;
    if (finding) {
        finding->also++;
        return;
    }
    vsnprintf(text, sizeof(text), format, args);
    if (check->places) at = fabric_where(check->places, node, port, path);
    finding = finding_new(check);
    if (!finding) return;
    *finding = (struct check_finding){
        .rule = check->rule,
        .severity = (uint8_t)severity,
        .line = at.line,
        .column = at.column,
        .device = node == FABRIC_NONE ? NULL : check->fabric->node[node].name,
        .port = port == FABRIC_NONE ? NULL : keep(check, fabric_port_name(check->fabric, port, name)),
        .node = node,
        .number = port == FABRIC_NONE ? FABRIC_NONE : check->fabric->port[port].index,
        .path = keep(check, path),
        .message = keep(check, text),
        .own = own,
        .apart = check->apart || own, /* each port has a line of its own */
        .whole = check->whole,
    };
}

void check_find(struct check *check, enum check_severity severity, uint32_t node, uint32_t port, const char *path,
                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    find(check, severity, node, port, false, path, format, args);
    va_end(args);
}

void check_find_own(struct check *check, enum check_severity severity, uint32_t port, const char *path,
                    const char *format, ...)
{
    va_list args;

    va_start(args, format);
    find(check, severity, check->fabric->port[port].node, port, true, path, format, args);
    va_end(args);
}

/* FABRIC_NONE: there is no such port. */
static uint32_t port_of(const struct check *check, uint32_t node, uint32_t number)
{
    const struct fabric_node *as = node == FABRIC_NONE ? NULL : &check->fabric->node[node];

    return as && number < as->ports ? as->first_port + number : FABRIC_NONE;
}

void check_unjudge(struct check *check, const char *rule, const char *device, uint32_t number)
{
    uint32_t node = fabric_find_node(check->fabric, device), port = port_of(check, node, number);

    if (node == FABRIC_NONE || (number != FABRIC_NONE && port == FABRIC_NONE)) return;
    ARENA_ROOM(&check->arena, check->unjudged, check->unjudgeds, check->unjudged_room);
    check->unjudged[check->unjudgeds++] = (struct check_unjudged){keep(check, rule), node, port};
}

void check_set_idle(struct check *check, const char *device, uint32_t number)
{
    uint32_t port = port_of(check, fabric_find_node(check->fabric, device), number);

    if (port == FABRIC_NONE) return;
    if (!check->idle) check->idle = ARENA_NEW(&check->arena, bool, check->fabric->ports);
    check->idle[port] = true;
}

void check_set_kind(struct check *check, const char *device, uint32_t number, uint64_t kind)
{
    uint32_t port = port_of(check, fabric_find_node(check->fabric, device), number);

    if (port == FABRIC_NONE) return;
    if (!check->kind) check->kind = ARENA_NEW(&check->arena, uint64_t, check->fabric->ports);
    check->kind[port] = kind;
}

/* What has neither a finding nor a vote in this rule. */
static void leave_out(struct check *check, bool *out, uint32_t rule)
{
    const struct fabric *fabric = check->fabric;

    memset(out, 0, (fabric->ports + fabric->nodes) * sizeof(*out));
    if (check->idle) memcpy(out, check->idle, fabric->ports * sizeof(*out));
    for (uint32_t u = 0; u < check->unjudgeds; u++) {
        const struct check_unjudged *as = &check->unjudged[u];
        const struct fabric_node *node = &fabric->node[as->node];
        if (strncmp(check_rules[rule].id, as->rule, strlen(as->rule)) != 0) continue;
        if (as->port != FABRIC_NONE) {
            out[as->port] = true;
            continue;
        }
        if (out[fabric->ports + as->node]) continue;
        out[fabric->ports + as->node] = true;
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
            out[p] = true;
    }
    check->out = out;
}

static bool is_known(const struct check *check, const struct check_finding *finding)
{
    uint64_t key = check_fingerprint(finding);
    size_t from = 0, end = check->options.knowns;

    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (check->options.known[middle] == key) return true;
        if (check->options.known[middle] < key)
            from = middle + 1;
        else
            end = middle;
    }
    return false;
}

/* What was known before does not count; before findings are folded, so that each is known by itself. */
static void leave_out_known(struct check *check, struct check_finding *finding)
{
    if (finding->ignored || !is_known(check, finding)) return;
    finding->ignored = "in the baseline";
    finding->known = true;
}

bool check_note(struct check *check, const char *rule, const char *file, uint32_t line, uint32_t column,
                const char *device, const char *port, uint32_t number, enum check_severity most, const char *message)
{
    uint32_t index = check_rule_find(rule);

    if (index == FABRIC_NONE) return false;
    uint32_t node = device ? fabric_find_node(check->fabric, device) : FABRIC_NONE;
    struct check_finding *finding = finding_new(check);
    if (!finding) return true;
    *finding = (struct check_finding){
        .rule = index,
        .severity = most < check_rules[index].severity ? (uint8_t)most : check_rules[index].severity,
        .file = keep(check, file),
        .line = line,
        .column = column,
        .node = node,
        .number = number,
        .device = keep(check, device),
        .port = keep(check, port),
        .message = keep(check, message),
        .noted = true,
    };
    leave_out_known(check, finding);
    return true;
}

static bool ignored(const struct fabric_ignore *ignore, const struct check_finding *finding)
{
    if (strcmp(ignore->rule, check_rules[finding->rule].id) != 0) return false;
    if (ignore->device && (!finding->device || strcmp(ignore->device, finding->device) != 0)) return false;
    return !ignore->port || (finding->port && strcmp(ignore->port, finding->port) == 0);
}

static void apply_ignores(struct check *check)
{
    const struct fabric_operations *operations = &check->fabric->operations;

    for (uint32_t f = 0; f < check->findings; f++)
        for (uint32_t i = 0; i < operations->ignores && !check->finding[f].ignored; i++)
            if (ignored(&operations->ignore[i], &check->finding[f]))
                check->finding[f].ignored = operations->ignore[i].reason;
    for (uint32_t f = 0; f < check->findings; f++)
        leave_out_known(check, &check->finding[f]);
}

/* Importers' notes of what cannot be judged, or of a port that nothing uses. */
static void drop_notes(struct check *check, uint32_t rule)
{
    uint32_t kept = 0;

    for (uint32_t f = 0; f < check->findings; f++) {
        const struct check_finding *as = &check->finding[f];
        if (as->noted && as->rule == rule && left_out(check, as->node, port_of(check, as->node, as->number))) continue;
        check->finding[kept++] = *as;
    }
    check->findings = kept;
}

void check_run(struct check *check)
{
    bool *out = NULL;

    if (check->unjudgeds || check->idle)
        out = ARENA_NEW(&check->arena, bool, check->fabric->ports + check->fabric->nodes);
    for (uint32_t r = 0; r < check_rule_count; r++) {
        if (out) {
            leave_out(check, out, r);
            drop_notes(check, r);
        }
        if (check_rules[r].needs_config || !rule_applies(check->fabric, r)) continue;
        CHECK(check_rules[r].run != NULL);
        if (check->options.tell) check->options.tell("rules", r, check_rule_count);
        check->rule = r;
        check->apart = check->whole = false;
        check_rules[r].run(check);
    }
    check_fold_consequences(check);
    apply_ignores(check);
    check_sort(check);
}

void check_leave_out_known(struct check *check)
{
    for (uint32_t f = 0; f < check->findings; f++)
        leave_out_known(check, &check->finding[f]);
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_place(const struct check_finding *a, const struct check_finding *b)
{
    int file = compare_text(a->file, b->file);

    if (file) return file;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    if (a->rule != b->rule) return a->rule < b->rule ? -1 : 1;
    if (a->severity != b->severity) return a->severity > b->severity ? -1 : 1;
    return (a->ignored != NULL) - (b->ignored != NULL);
}

static int compare(const void *x, const void *y)
{
    const struct check_finding *a = x, *b = y;
    int place = compare_place(a, b);

    if (place) return place;
    int device = compare_text(a->device, b->device);
    if (device) return device;
    int port = compare_text(a->port, b->port);
    return port ? port : compare_text(a->message, b->message);
}

/* Findings, folded ones too. */
static uint64_t found_in_all(const struct check *check)
{
    uint64_t all = 0;

    for (uint32_t f = 0; f < check->findings; f++)
        all += 1 + (uint64_t)check->finding[f].also;
    return all;
}

void check_sort(struct check *check)
{
    uint32_t kept = 0;
    uint64_t all = found_in_all(check);

    if (!check->findings) return;
    qsort(check->finding, check->findings, sizeof(check->finding[0]), compare);
    for (uint32_t f = 0; f < check->findings; f++) {
        struct check_finding *last = kept ? &check->finding[kept - 1] : NULL;
        /* What has no place of its own is never the same as another; nor are importers' notes. */
        if (last && last->line && !last->noted && !check->finding[f].noted && !check->finding[f].apart &&
            !check->options.every && compare_place(last, &check->finding[f]) == 0)
            last->also += 1 + check->finding[f].also;
        else
            check->finding[kept++] = check->finding[f];
    }
    check->findings = kept;
    CHECK(found_in_all(check) == all); /* folding loses none */
}

uint32_t check_count(const struct check *check, enum check_severity severity)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < check->findings; f++)
        count += check->finding[f].severity == severity && !check->finding[f].ignored;
    return count;
}

uint64_t check_fingerprint(const struct check_finding *finding)
{
    const char *part[4] = {check_rules[finding->rule].id, finding->device, finding->port, finding->message};
    uint64_t hash = HASH_BEGIN;

    for (int i = 0; i < 4; i++) {
        for (const char *c = part[i] ? part[i] : ""; *c; c++)
            if (i < 3 || *c < '0' || *c > '9') hash = hash_bytes(hash, c, 1);
        hash = hash_text(hash, "\xff");
    }
    return hash;
}
