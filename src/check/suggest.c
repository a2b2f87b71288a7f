/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggested values: kinds of ports, rows and lines.  The topics are in suggest_ecn.c, suggest_buffers.c and
 * suggest_watchdog.c.
 */
#include "check/suggest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/wide.h"
#include "check/suggest_int.h"
#include "fabric/places.h"
#include "fabric/switches.h"

const char *const suggest_topic_words[SUGGEST_TOPICS + 1] = {
#define X(id, word, about) word,
    SUGGEST_TOPIC_LIST(X)
#undef X
        NULL};

static const char *const role_names[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

void suggest_init(struct suggest *suggest, const struct fabric *fabric, const struct fabric_places *places)
{
    *suggest = (struct suggest){.fabric = fabric, .places = places};
    arena_init_or_end(&suggest->arena, 0);
}

void suggest_release(struct suggest *suggest)
{
    free(suggest->row);
    free(suggest->line);
    arena_release(&suggest->arena);
    *suggest = (struct suggest){0};
}

bool suggest_cabled(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];

    return as->peer != FABRIC_NONE && as->up && fabric->port[as->peer].up;
}

static bool same_switch(const struct fabric_switch *a, const struct fabric_switch *b)
{
    return strcmp(a->model, b->model) == 0 && a->cell_bytes == b->cell_bytes && a->latency_ps == b->latency_ps &&
           a->nos == b->nos && a->headroom_pool_bytes == b->headroom_pool_bytes && a->buffer_bytes == b->buffer_bytes;
}

static bool same_kind(const struct fabric *fabric, const struct suggest_kind *kind, const struct suggest_kind *other)
{
    const struct fabric_port *a = &fabric->port[kind->port], *b = &fabric->port[other->port];

    return kind->role == other->role && kind->to_switch == other->to_switch && kind->fan_in == other->fan_in &&
           kind->shared == other->shared && a->rate_bps == b->rate_bps && a->cable_mm == b->cable_mm &&
           a->propagation_ps == b->propagation_ps && a->settings == b->settings &&
           same_switch(switch_of(fabric, kind->port), switch_of(fabric, other->port));
}

static void count_kind(const struct fabric *fabric, struct suggest_kinds *kinds, const struct suggest_kind *one)
{
    for (uint32_t k = 0; k < kinds->kinds; k++) {
        if (!same_kind(fabric, &kinds->kind[k], one)) continue;
        kinds->kind[k].ports++;
        return;
    }
    if (kinds->kinds == SUGGEST_KINDS)
        kinds->left_out++;
    else
        kinds->kind[kinds->kinds++] = *one;
}

void suggest_find_kinds(const struct fabric *fabric, struct suggest_kinds *ret)
{
    ret->kinds = ret->left_out = 0;
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        uint32_t fan_in = design_fan_in(fabric, n);
        uint64_t shared = shared_bytes(&fabric->sw[n - fabric->hosts]);
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            struct suggest_kind one = {.port = p, .ports = 1, .role = node->role, .fan_in = fan_in, .shared = shared};
            if (!suggest_cabled(fabric, p)) continue;
            one.to_switch = peer_is_switch(fabric, p);
            count_kind(fabric, ret, &one);
        }
    }
}

struct suggest_row *suggest_row_add(struct suggest *suggest, enum suggest_topic topic, const struct suggest_kind *kind,
                                    const char *key, const char *rules)
{
    const struct fabric *fabric = suggest->fabric;
    char name[FABRIC_NAME];

    GROW(suggest->row, suggest->rows, suggest->row_room);
    struct suggest_row *row = &suggest->row[suggest->rows++];
    *row = (struct suggest_row){.topic = (uint8_t)topic,
                                .key = key,
                                .rules = rules,
                                .role_id = kind->role,
                                .role = role_names[kind->role],
                                .to = kind->to_switch ? "switches" : "hosts",
                                .model = switch_of(fabric, kind->port)->model,
                                .rate_bps = fabric->port[kind->port].rate_bps,
                                .cable_mm = fabric->port[kind->port].cable_mm,
                                .ports = kind->ports,
                                .example = suggest_print(suggest, "%s", port_label(fabric, kind->port, name)),
                                .least = SUGGEST_NO_VALUE,
                                .most = SUGGEST_NO_VALUE,
                                .value = SUGGEST_NO_VALUE,
                                .today = SUGGEST_NO_VALUE,
                                .formula = ""};
    return row;
}

void suggest_row_judge(struct suggest_row *row)
{
    bool low = row->least != SUGGEST_NO_VALUE, high = row->most != SUGGEST_NO_VALUE;

    row->possible = row->value != SUGGEST_NO_VALUE && !(low && high && row->least > row->most);
    row->inside =
        row->today != SUGGEST_NO_VALUE && !(low && row->today < row->least) && !(high && row->today > row->most);
}

const char *suggest_print(struct suggest *suggest, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return arena_strndup(&suggest->arena, text, strlen(text));
}

static void put_line(struct suggest *suggest, const char *path, const char *value)
{
    for (uint32_t l = 0; l < suggest->lines; l++)
        if (strcmp(suggest->line[l].path, path) == 0) return;
    if (suggest->lines == SUGGEST_LINES) return;
    GROW(suggest->line, suggest->lines, suggest->line_room);
    suggest->line[suggest->lines++] = (struct suggest_line){path, value};
}

/* The file's layers of the device and of its ports, where they say it themselves: the inner one would win. */
static void put_inner(struct suggest *suggest, uint32_t node, const char *path, const char *value)
{
    const struct fabric_node *as = &suggest->fabric->node[node];
    bool own = fabric_says(suggest->places, node, FABRIC_NONE, path);

    if (own) put_line(suggest, suggest_print(suggest, "devices.%s.%s", as->name, path), value);
    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
        if (!own && suggest_cabled(suggest->fabric, p) && fabric_says(suggest->places, node, p, path))
            put_line(suggest, suggest_print(suggest, "devices.%s.ports.%u.%s", as->name, p - as->first_port, path),
                     value);
}

void suggest_line_add(struct suggest *suggest, uint8_t role, const char *path, const char *value)
{
    const struct fabric *fabric = suggest->fabric;

    put_line(suggest, suggest_print(suggest, "roles.%s.%s", role_names[role], path), value);
    for (uint32_t n = 0; suggest->places && n < fabric->nodes; n++)
        if (fabric->node[n].role == role) put_inner(suggest, n, path, value);
}

const char *suggest_class_path(struct suggest *suggest, unsigned tc, const char *key)
{
    char path[96];

    return suggest_print(suggest, "%s", class_path(suggest->fabric, tc, key, path));
}

/* The longest cable between this tier and the next above, as a time. */
static ps_t longest(const struct fabric *fabric, uint8_t tier)
{
    ps_t most = 0;

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        if (!suggest_cabled(fabric, p) || fabric->node[port->node].tier != tier) continue;
        if (fabric->node[fabric->port[port->peer].node].tier > tier && port->propagation_ps > most)
            most = port->propagation_ps;
    }
    return most;
}

ps_t suggest_round_trip(const struct fabric *fabric, uint64_t rate_bps)
{
    uint8_t tiers = 0;
    uint32_t mtu = 0;
    ps_t latency = 0, adapter = 0, round = 0;

    for (uint32_t s = 0; s < fabric->switches; s++) {
        if (fabric->node[fabric->hosts + s].tier > tiers) tiers = fabric->node[fabric->hosts + s].tier;
        if (fabric->sw[s].latency_ps > latency) latency = fabric->sw[s].latency_ps;
    }
    for (uint32_t n = 0; n < fabric->nics; n++) {
        if (fabric->nic[n].latency_ps > adapter) adapter = fabric->nic[n].latency_ps;
        if (fabric->nic[n].mtu_bytes > mtu) mtu = fabric->nic[n].mtu_bytes;
    }
    if (tiers == 0) tiers = 1;
    for (uint8_t t = 0; t < tiers; t++)
        round += 4 * longest(fabric, t); /* up and down, there and back */
    round += 2 * (2u * tiers - 1) * latency + 2 * adapter;
    return round + (ps_t)((u128)2 * tiers * (mtu + packet_overhead_bytes(fabric)) * 8 * PS_S / rate_bps);
}

uint64_t suggest_wanted_min(const struct fabric *fabric, uint32_t port)
{
    uint64_t rate = fabric->port[port].rate_bps, hop = hop_bytes(fabric, port);
    uint64_t path = (uint64_t)((u128)rate * suggest_round_trip(fabric, rate) / PS_S / 8);

    return hop > path ? hop : path;
}

static const char *words(const struct suggest_row *row, uint64_t value, bool exact, char buf[UNIT_TEXT])
{
    static const uint8_t kinds[] = {[SUGGEST_SIZE] = UNIT_SIZE,
                                    [SUGGEST_TIME] = UNIT_TIME,
                                    [SUGGEST_SHARE] = UNIT_SHARE,
                                    [SUGGEST_LENGTH] = UNIT_LENGTH,
                                    [SUGGEST_COUNT] = UNIT_COUNT};

    if (value == SUGGEST_NO_VALUE) return "-";
    if (row->unit == SUGGEST_PRIORITIES) return priorities_text((uint8_t)value, buf);
    if (row->unit != SUGGEST_FRACTION)
        return exact || row->unit == SUGGEST_COUNT ? unit_format((enum unit_kind)kinds[row->unit], value, buf)
                                                   : unit_format_short((enum unit_kind)kinds[row->unit], value, 4, buf);
    if (value && value < 1000000 && 1000000 % value == 0)
        snprintf(buf, UNIT_TEXT, "1/%llu", (unsigned long long)(1000000 / value));
    else if (value < 1000000)
        snprintf(buf, UNIT_TEXT, "0.%06llu", (unsigned long long)value);
    else
        snprintf(buf, UNIT_TEXT, "%llu", (unsigned long long)(value / 1000000));
    return buf;
}

const char *suggest_text(const struct suggest_row *row, uint64_t value, char buf[UNIT_TEXT])
{
    return words(row, value, true, buf);
}

const char *suggest_short(const struct suggest_row *row, uint64_t value, char buf[UNIT_TEXT])
{
    return words(row, value, false, buf);
}

int suggest_add(struct suggest *suggest, enum suggest_topic topic)
{
    static const struct {
        const char *rule;
        void (*make)(struct suggest *, const struct suggest_kinds *);
    } topics[SUGGEST_TOPICS] = {[SUGGEST_ECN] = {"ECN001", suggest_ecn},
                                [SUGGEST_HEADROOM] = {"HR001", suggest_headroom},
                                [SUGGEST_BUFFERS] = {"BUF001", suggest_buffers},
                                [SUGGEST_WATCHDOG] = {"WD001", suggest_watchdog}};

    if (!rule_applies(suggest->fabric, check_rule_find(topics[topic].rule))) return -EOPNOTSUPP;
    if (!lossless_anywhere(suggest->fabric)) return -ENODATA;
    struct suggest_kinds *kinds = calloc(1, sizeof *kinds);
    suggest_find_kinds(suggest->fabric, kinds);
    suggest->left_out = kinds->left_out;
    topics[topic].make(suggest, kinds);
    free(kinds);
    return 0;
}
