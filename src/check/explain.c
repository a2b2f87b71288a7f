/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a rule is there, its formula with the numbers of a fabric, and how to mend what it finds.
 */
#include <string.h>

#include "base/wide.h"
#include "check/rule.h"
#include "fabric/headroom.h"

static const char *size(uint64_t bytes, char buf[UNIT_TEXT])
{
    return unit_format_short(UNIT_SIZE, bytes, 5, buf);
}

/* The first port of a switch that carries a lossless class, of each role; FABRIC_NONE. */
static uint32_t example_port(const struct fabric *fabric, enum fabric_role role, bool to_switch)
{
    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++)
        if (fabric->node[fabric->port[p].node].role == role && fabric->port[p].peer != FABRIC_NONE &&
            peer_is_switch(fabric, p) == to_switch && settings_of(fabric, p)->lossless)
            return p;
    return FABRIC_NONE;
}

static void headroom_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_port *port = &fabric->port[p];
    const struct fabric_settings *settings = settings_of(fabric, p);
    const struct fabric_switch *sw = switch_of(fabric, p);
    unsigned tc = (unsigned)__builtin_ctz(settings->lossless);
    uint32_t num, den, mtu = settings->mtu_bytes;
    uint64_t flight = (uint64_t)((u128)2 * port->cable_mm * port->rate_bps / (8000 * HEADROOM_SPEED_MPS));
    uint64_t local = (uint64_t)((u128)headroom_local_ps(port->rate_bps) * port->rate_bps / 8 / PS_S);
    char name[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT];

    headroom_fill(sw->cell_bytes, &num, &den);
    fprintf(to, "  %s: %s, %s, frames of %u B, cells of %u B\n", fabric_port_name(fabric, p, name),
            unit_format(UNIT_RATE, port->rate_bps, a), unit_format(UNIT_LENGTH, port->cable_mm, b), mtu,
            sw->cell_bytes);
    fprintf(to, "    H = %u/%u * (%u + %u + %u + %llu + 64 * %u + %llu) = %llu B; configured: %llu B\n", num, den, mtu,
            mtu, HEADROOM_PFC_BYTES, (unsigned long long)flight, headroom_quanta(port->rate_bps),
            (unsigned long long)local, (unsigned long long)headroom_need(fabric, p),
            (unsigned long long)settings->pg[settings->tc_to_pg[tc]].headroom_bytes);
}

static void each_example(const struct fabric *fabric, FILE *to, void (*print)(const struct fabric *, uint32_t, FILE *))
{
    for (int role = FABRIC_ROLE_LEAF; role < FABRIC_ROLES; role++) {
        for (int up = 0; up < 2; up++) {
            uint32_t p = example_port(fabric, (enum fabric_role)role, up);
            if (p != FABRIC_NONE) print(fabric, p, to);
        }
    }
}

static void sum_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_switch *sw = switch_of(fabric, p);
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT];

    fprintf(to, "  %s: headroom %s + reserve %s of %s; left to share: %s%s\n", node_name(fabric, p),
            size(sw->headroom_sum_bytes, a), size(sw->reserved_sum_bytes, b), size(sw->buffer_bytes, c),
            size(shared_bytes(sw), d), sw->headroom_pool_bytes ? " (headroom is a pool)" : "");
}

static void threshold_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_settings *settings = settings_of(fabric, p);
    const struct fabric_switch *sw = switch_of(fabric, p);
    unsigned tc = (unsigned)__builtin_ctz(settings->lossless);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
    const struct fabric_ecn *ecn = &settings->queue[settings->tc_to_queue[tc]].ecn;
    uint32_t n = design_fan_in(fabric, fabric->port[p].node);
    uint64_t threshold = threshold_bytes(sw, pg, n);
    char name[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT];

    if (pg->dynamic)
        fprintf(to, "  %s: T_%u = %u/%u * %s / (1 + %u * %u/%u) = %s\n", fabric_port_name(fabric, p, name), n,
                pg->alpha_num, pg->alpha_den, size(shared_bytes(sw), a), n, pg->alpha_num, pg->alpha_den,
                size(threshold, b));
    else
        fprintf(to, "  %s: T = %s, fixed\n", fabric_port_name(fabric, p, name), size(threshold, b));
    if (!ecn->on) return;
    fprintf(to, "    one ingress: %s + reserve %s against Kmax %s; %u ports into one queue: %u * T = %s\n",
            size(threshold, a), size(pg->reserved_bytes, b), size(ecn->max_bytes, c), n, n, size(threshold * n, d));
}

static void numbers(uint32_t rule, const struct fabric *fabric, FILE *to)
{
    static const struct {
        const char *id;
        void (*print)(const struct fabric *, uint32_t, FILE *);
    } with[] = {{"HR001", headroom_numbers},  {"HR002", headroom_numbers}, {"HR009", headroom_numbers},
                {"HR003", sum_numbers},       {"PFC003", sum_numbers},     {"BUF001", threshold_numbers},
                {"ECN003", threshold_numbers}};
    struct check check;
    struct check_options options = {.failures = 1, .only = check_rules[rule].id};

    for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++)
        if (strcmp(with[i].id, check_rules[rule].id) == 0) each_example(fabric, to, with[i].print);
    check_init(&check, fabric, NULL, &options);
    check_run(&check);
    uint32_t found = check.findings;
    fprintf(to, found ? "  It is violated %u time%s, first:\n" : "  It holds.\n", found, found == 1 ? "" : "s");
    if (found) fprintf(to, "    %s: %s\n", check_severity_names[check.finding[0].severity], check.finding[0].message);
    if (check.states > 1)
        fprintf(to, "  %llu states of the routes were covered, %llu of them by a search.\n",
                (unsigned long long)check.states, (unsigned long long)check.searched);
    check_release(&check);
}

void check_explain(uint32_t rule, const struct fabric *fabric, FILE *to)
{
    const struct check_rule *as = &check_rules[rule];

    fprintf(to, "%s (%s): %s.\n\n%s\n", as->id, check_severity_names[as->severity], as->title, as->why);
    if (as->needs_config) fputs("\nOnly a configuration of a real system can violate it, not a fabric file.\n", to);
    if (fabric && !as->needs_config) {
        fprintf(to, "\nIn '%s':\n", fabric->name);
        numbers(rule, fabric, to);
    }
    fprintf(to, "\nTo mend it: %s\n", as->mend);
}
