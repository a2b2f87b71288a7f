/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a rule is there, its formula with the numbers of a fabric, and how to mend what it finds.
 */
#include <string.h>

#include "base/wide.h"
#include "check/rule.h"
#include "fabric/qos/headroom.h"
#include "fabric/switches.h"

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

/* By SONiC's model for Spectrum. */
static void spectrum_numbers(const struct headroom_sonic *in, FILE *to)
{
    uint64_t flight = (uint64_t)((u128)2 * in->cable_mm * in->rate_bps / ((u128)8000 * HEADROOM_SONIC_SPEED_MPS));
    uint64_t tiles = in->tiles ? in->rate_bps * 120 / 8000000000ull : 0;

    fprintf(to, "H = %u + %llu * (%u + %llu + %u + %llu + %llu)", in->mtu_ll_bytes,
            (unsigned long long)headroom_sonic_fill(in->cell_bytes), in->port_mtu_bytes, (unsigned long long)flight,
            HEADROOM_SONIC_MAC_BYTES, (unsigned long long)headroom_sonic_peer_bytes(in), (unsigned long long)tiles);
    fputs(", up to whole KiB (lossless packet; cells for small frames; MTU, cable, MAC, peer's response, tiles)", to);
}

static void general_numbers(const struct fabric_port *port, uint32_t mtu, uint32_t cell, FILE *to)
{
    uint64_t flight = (uint64_t)((u128)2 * port->cable_mm * port->rate_bps / (8000 * HEADROOM_SPEED_MPS));
    uint64_t local = (uint64_t)((u128)headroom_local_ps(port->rate_bps) * port->rate_bps / 8 / PS_S);
    uint32_t num, den;

    headroom_fill(cell, &num, &den);
    fprintf(to, "H = %u/%u * (%u + %u + %u + %llu + 64 * %u + %llu)", num, den, mtu, mtu, HEADROOM_PFC_BYTES,
            (unsigned long long)flight, headroom_quanta(port->rate_bps), (unsigned long long)local);
}

void headroom_formula(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_port *port = &fabric->port[p];
    const struct fabric_switch *sw = switch_of(fabric, p);
    uint32_t mtu = settings_of(fabric, p)->mtu_bytes;
    struct headroom_sonic spectrum;

    if (headroom_spectrum(sw->model, port->rate_bps, port->cable_mm, mtu, sw->cell_bytes, &spectrum))
        spectrum_numbers(&spectrum, to);
    else
        general_numbers(port, mtu, sw->cell_bytes, to);
    fprintf(to, " = %llu B", (unsigned long long)headroom_need(fabric, p));
}

static void headroom_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_port *port = &fabric->port[p];
    const struct fabric_settings *settings = settings_of(fabric, p);
    const struct fabric_switch *sw = switch_of(fabric, p);
    unsigned tc = (unsigned)__builtin_ctz(settings->lossless);
    char name[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT];

    fprintf(to, "  %s: %s, %s, frames of %u B, cells of %u B\n", port_label(fabric, p, name),
            unit_format(UNIT_RATE, port->rate_bps, a), unit_format(UNIT_LENGTH, port->cable_mm, b), settings->mtu_bytes,
            sw->cell_bytes);
    fputs("    ", to);
    headroom_formula(fabric, p, to);
    fprintf(to, "; configured: %llu B\n", (unsigned long long)settings->pg[settings->tc_to_pg[tc]].headroom_bytes);
}

/* A port to hosts and one to switches of each role; `once`: either, for what is the whole switch's. */
static void each_example(const struct fabric *fabric, bool once, FILE *to,
                         void (*print)(const struct fabric *, uint32_t, FILE *))
{
    for (int role = FABRIC_ROLE_LEAF; role < FABRIC_ROLES; role++) {
        bool printed = false;
        for (int up = 0; up < 2 && !(once && printed); up++) {
            uint32_t p = example_port(fabric, (enum fabric_role)role, up);
            if (p == FABRIC_NONE) continue;
            print(fabric, p, to);
            printed = true;
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
    const struct sw_ecn *ecn = &settings->queue[settings->tc_to_queue[tc]].ecn;
    uint32_t n = design_fan_in(fabric, fabric->port[p].node);
    uint64_t threshold = threshold_bytes(sw, pg, n);
    char name[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT];

    if (pg->dynamic)
        fprintf(to, "  %s: T_%u = %u/%u * %s / (1 + %u * %u/%u) = %s\n", port_label(fabric, p, name), n, pg->alpha_num,
                pg->alpha_den, size(shared_bytes(sw), a), n, pg->alpha_num, pg->alpha_den, size(threshold, b));
    else
        fprintf(to, "  %s: T = %s, fixed\n", port_label(fabric, p, name), size(threshold, b));
    if (!ecn->on) return;
    fprintf(to, "    one ingress: %s + reserve %s against Kmax %s; %u ports into one queue: %u * T = %s\n",
            size(threshold, a), size(pg->reserved_bytes, b), size(ecn->max_bytes, c), n, n, size(threshold * n, d));
}

/* The queue of the lossless class. */
static const struct sw_ecn *marks_of(const struct fabric *fabric, uint32_t p)
{
    const struct fabric_settings *settings = settings_of(fabric, p);
    return &settings->queue[settings->tc_to_queue[__builtin_ctz(settings->lossless)]].ecn;
}

static void curve_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct sw_ecn *ecn = marks_of(fabric, p);
    const struct fabric_port *port = &fabric->port[p];
    uint64_t product = hop_bytes(fabric, p);
    char name[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT], e[UNIT_TEXT];

    fprintf(to, "  %s (%s): ", port_label(fabric, p, name), unit_format(UNIT_RATE, port->rate_bps, a));
    if (ecn->on)
        fprintf(to, "Kmin %s, Kmax %s, P %s; one hop holds rate * 2 (cable + switch) = %s\n", size(ecn->min_bytes, b),
                size(ecn->max_bytes, c), unit_format(UNIT_SHARE, ecn->probability_ppm, d), size(product, e));
    else
        fputs("no marking\n", to);
}

static void resume_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_settings *settings = settings_of(fabric, p);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[__builtin_ctz(settings->lossless)]];
    char name[FABRIC_NAME], a[UNIT_TEXT];

    fprintf(to,
            "  %s: resumes %s below its threshold, frames of %u B; pauses of %u quanta, 2 * (%u + %u) * 8 / 512 = %u\n",
            port_label(fabric, p, name), size(pg->xon_offset_bytes, a), settings->mtu_bytes, settings->pause_quanta,
            settings->mtu_bytes, HEADROOM_PFC_BYTES, 2 * (settings->mtu_bytes + HEADROOM_PFC_BYTES) * 8 / 512);
}

static void frame_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    uint32_t q = fabric->port[p].peer;
    char name[FABRIC_NAME], other[FABRIC_NAME];

    port_label(fabric, p, name);
    port_label(fabric, q, other);
    if (is_switch_port(fabric, q))
        fprintf(to, "  %s: frames of %u B, its peer %s %u B\n", name, settings_of(fabric, p)->mtu_bytes, other,
                settings_of(fabric, q)->mtu_bytes);
    else
        fprintf(to, "  %s: frames of %u B; %s sends %u + %u = %u B\n", name, settings_of(fabric, p)->mtu_bytes, other,
                fabric->nic[fabric->endpoint[q].nic].mtu_bytes, packet_overhead_bytes(fabric),
                fabric->nic[fabric->endpoint[q].nic].mtu_bytes + packet_overhead_bytes(fabric));
}

static void share_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_settings *settings = settings_of(fabric, p);
    char name[FABRIC_NAME], a[UNIT_TEXT];

    fprintf(to, "  %s:", port_label(fabric, p, name));
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_queue *queue = &settings->queue[settings->tc_to_queue[fabric->classes[c].priority]];
        fprintf(to, "%s %s %s", c ? "," : "", fabric->classes[c].name,
                queue->strict ? "strict" : unit_format(UNIT_SHARE, queue->share_ppm, a));
    }
    fputc('\n', to);
}

static void watchdog_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_watchdog *wd = &switch_of(fabric, p)->watchdog;
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT];

    if (wd->on)
        fprintf(to, "  %s: looks every %s, detects after %s, restores after %s; a storm is seen within %s\n",
                node_name(fabric, p), unit_format(UNIT_TIME, wd->poll_ps, a), unit_format(UNIT_TIME, wd->detect_ps, b),
                unit_format(UNIT_TIME, wd->restore_ps, c), unit_format(UNIT_TIME, wd->poll_ps + wd->detect_ps, d));
    else
        fprintf(to, "  %s: no watchdog\n", node_name(fabric, p));
}

static void dscp_numbers(const struct fabric *fabric, uint32_t p, FILE *to)
{
    const struct fabric_settings *settings = settings_of(fabric, p);
    char name[FABRIC_NAME];

    fprintf(to, "  %s:", port_label(fabric, p, name));
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_class *as = &fabric->classes[c];
        uint8_t tc = settings->dscp_to_tc[as->dscp];
        if (!as->dscps) continue;
        fprintf(to, " %s DSCP %u > traffic class %u > queue %u, group %u%s;", as->name, as->dscp, tc,
                settings->tc_to_queue[tc], settings->tc_to_pg[tc], settings->lossless >> tc & 1 ? ", paused" : "");
        if (as->lossless) fprintf(to, " as a traffic class of NCCL: %u << 2 | 2 = %u;", as->dscp, as->dscp << 2 | 2);
    }
    fputc('\n', to);
}

static void numbers(uint32_t rule, const struct fabric *fabric, FILE *to)
{
    static const struct {
        const char *id;
        void (*print)(const struct fabric *, uint32_t, FILE *);
    } with[] = {{"HR001", headroom_numbers}, {"HR002", headroom_numbers},   {"HR004", headroom_numbers},
                {"HR009", headroom_numbers}, {"HR003", sum_numbers},        {"PFC003", sum_numbers},
                {"HR006", resume_numbers},   {"BUF001", threshold_numbers}, {"ECN003", threshold_numbers},
                {"ECN001", curve_numbers},   {"ECN002", curve_numbers},     {"ECN004", curve_numbers},
                {"ECN005", curve_numbers},   {"MTU001", frame_numbers},     {"SCH001", share_numbers},
                {"MAP005", share_numbers},   {"MAP008", share_numbers},     {"WD001", watchdog_numbers},
                {"WD002", watchdog_numbers}, {"WD003", watchdog_numbers},   {"WD007", watchdog_numbers},
                {"MAP001", dscp_numbers},    {"MAP006", dscp_numbers},      {"PFC007", dscp_numbers},
                {"HOST001", dscp_numbers},   {"HOST002", dscp_numbers}};
    for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++)
        if (strcmp(with[i].id, check_rules[rule].id) == 0)
            each_example(fabric, with[i].print == sum_numbers || with[i].print == watchdog_numbers, to, with[i].print);
}

/* What of all that was found is of this rule. */
static void verdict(uint32_t rule, const struct check *check, FILE *to)
{
    const struct check_finding *first = NULL;
    uint32_t found = 0, unjudged = 0;

    for (uint32_t f = 0; f < check->findings; f++) {
        const struct check_finding *finding = &check->finding[f];
        if (finding->rule != rule || finding->ignored) continue;
        if (!first) first = finding;
        found += 1 + finding->also;
    }
    for (uint32_t u = 0; u < check->unjudgeds; u++)
        unjudged += strncmp(check_rules[rule].id, check->unjudged[u].rule, strlen(check->unjudged[u].rule)) == 0;
    if (first) {
        fprintf(to, "  It is violated %u time%s, first:\n    %s: %s\n", found, found == 1 ? "" : "s",
                check_severity_names[first->severity], first->message);
    }
    if (unjudged)
        fprintf(to, "  %s cannot be judged everywhere: `rocelab check` says where, and why.\n",
                first ? "Otherwise it" : "No violation was found; it");
    else if (!rule_applies(check->fabric, rule))
        fprintf(to, "  It does not apply to %s.\n", fabric_system(check->fabric)->title);
    else if (!first)
        fputs("  It holds.\n", to);
    if (check->states > 1 && strcmp(check_rules[rule].id, "TOP002") == 0)
        fprintf(to, "  %llu routing states (intact and after failures) were proved, %llu of them by a search.\n",
                (unsigned long long)check->states, (unsigned long long)check->searched);
}

void check_explain(uint32_t rule, const struct check *check, FILE *to)
{
    const struct check_rule *as = &check_rules[rule];

    fprintf(to, "%s (%s): %s.\n\n%s\n", as->id, check_severity_names[as->severity], as->title, as->why);
    if (as->needs_config)
        fputs("\nOnly a configuration of a real system can violate it, not a fabric file: it is found while one is "
              "read.\n",
              to);
    if (check && (check->imported || !as->needs_config)) {
        fprintf(to, "\nIn '%s':\n", check->fabric->name);
        if (!as->needs_config) numbers(rule, check->fabric, to);
        verdict(rule, check, to);
    }
    fprintf(to, "\nFix: %s\n\nSource: %s\n", as->mend, as->sources);
}
