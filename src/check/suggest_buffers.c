/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headroom, pause thresholds and what goes with them.
 *
 * Headroom is what the formula of HR001 asks for; the loader computes it for every port, so a line is suggested only
 * where the file gives another.  The pause threshold at the design fan-in must leave room for the marking curve
 * (suggest_ecn.c) and for two frames; alpha is the least power of two that does, since that is what switches take.
 */
#include <string.h>

#include "base/wide.h"
#include "check/suggest_int.h"
#include "fabric/qos/headroom.h"
#include "fabric/switches.h"

#define ALPHA_USUAL_PPM 125000u
#define ALPHA_MOST_PPM 1000000u /* one port alone holds no more than half of what is shared */
#define CELLS_TEXT 128
#define ALPHA_LEAST_SHIFT 6 /* 1/64: finer steps are not looked at */

static struct suggest_row *row_of(struct suggest *suggest, enum suggest_topic topic, const struct suggest_kind *kind,
                                  unsigned tc, const char *key, const char *rules)
{
    struct suggest_row *row = suggest_row_add(suggest, topic, kind, key, rules);

    row->class_name = class_name(suggest->fabric, tc);
    row->priority = (uint8_t)tc;
    return row;
}

/* What the loader keeps: the formula, and the frame that crosses the threshold. */
static uint64_t kept(const struct fabric *fabric, uint32_t port)
{
    uint32_t mtu = settings_of(fabric, port)->mtu_bytes, cell = switch_of(fabric, port)->cell_bytes;

    if (cell == 0) cell = 1;
    return headroom_need(fabric, port) + ((uint64_t)mtu + cell - 1) / cell * cell;
}

/* The largest that every port of the switch can have, in proportion, with nine tenths of the buffer set aside. */
static uint64_t headroom_most(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_switch *sw = switch_of(fabric, port);
    uint64_t aside = sw->buffer_bytes / 10 * 9, sum = 0;
    const struct fabric_node *node = &fabric->node[fabric->port[port].node];

    if (sw->headroom_pool_bytes) return sw->headroom_pool_bytes;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (suggest_cabled(fabric, p))
            sum += (uint64_t)__builtin_popcount(settings_of(fabric, p)->lossless) * kept(fabric, p);
    if (aside <= sw->reserved_sum_bytes || sum == 0) return 0;
    return (uint64_t)((u128)kept(fabric, port) * (aside - sw->reserved_sum_bytes) / sum);
}

/* What the first factor of the general form is; "" of others. */
static const char *cells_text(uint32_t cell_bytes, const char *formula, char into[CELLS_TEXT])
{
    uint32_t num, den;
    char factor[32];

    headroom_fill(cell_bytes, &num, &den);
    snprintf(factor, sizeof factor, "H = %u/%u *", num, den);
    *into = 0;
    if (num != den && strncmp(formula, factor, strlen(factor)) == 0)
        snprintf(into, CELLS_TEXT, "; %u/%u: a frame of %u B on the line, with preamble and gap, takes %u B of cells",
                 num, den, den, num);
    return into;
}

static void headroom_row(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc)
{
    const struct fabric *fabric = suggest->fabric;
    const struct fabric_settings *settings = settings_of(fabric, kind->port);
    struct suggest_row *row = row_of(suggest, SUGGEST_HEADROOM, kind, tc, "headroom", "HR001, HR003");
    char text[384] = "", cells[CELLS_TEXT];
    FILE *to = fmemopen(text, sizeof text, "w");

    headroom_formula(fabric, kind->port, to);
    fclose(to);
    text[sizeof text - 1] = 0;
    row->unit = SUGGEST_SIZE;
    row->least = headroom_need(fabric, kind->port);
    row->most = headroom_most(fabric, kind->port);
    row->value = kept(fabric, kind->port);
    if (row->most < row->value && row->most >= row->least) row->value = row->most;
    row->today = settings->pg[settings->tc_to_pg[tc]].headroom_bytes;
    row->formula = suggest_print(suggest, "%s, and the frame that crosses the threshold%s%s", text,
                                 cells_text(switch_of(fabric, kind->port)->cell_bytes, text, cells),
                                 fabric->port[kind->port].cable_known ? "" : "; the cable's length is assumed");
    suggest_row_judge(row);
}

/* A line where the file gives less than is needed: for the port with the greatest need of the role. */
static void headroom_line(struct suggest *suggest, const struct suggest_kinds *kinds, uint8_t role, unsigned tc)
{
    const struct fabric *fabric = suggest->fabric;
    uint64_t most = 0;
    bool short_of = false;
    char a[UNIT_TEXT];

    for (uint32_t k = 0; k < kinds->kinds; k++) {
        uint32_t port = kinds->kind[k].port;
        const struct fabric_settings *settings = settings_of(fabric, port);
        const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
        if (kinds->kind[k].role != role || !(settings->lossless >> tc & 1)) continue;
        if (kept(fabric, port) > most) most = kept(fabric, port);
        short_of = short_of || (pg->headroom_given && pg->headroom_bytes < headroom_need(fabric, port));
    }
    if (short_of)
        suggest_line_add(suggest, role, suggest_class_path(suggest, tc, "headroom"),
                         suggest_print(suggest, "%s", unit_format(UNIT_SIZE, most, a)));
}

/* Lengths and frames that headroom was chosen for, where they are less than what is there. */
static void chosen_for(struct suggest *suggest, const struct suggest_kinds *kinds, uint8_t role)
{
    const struct fabric *fabric = suggest->fabric;
    uint64_t cable = 0;
    uint32_t frame = 0;
    bool longer = false, larger = false;
    char a[UNIT_TEXT];

    for (uint32_t k = 0; k < kinds->kinds; k++) {
        const struct fabric_port *port = &fabric->port[kinds->kind[k].port];
        const struct fabric_settings *settings = settings_of(fabric, kinds->kind[k].port);
        if (kinds->kind[k].role != role || !settings->lossless) continue;
        if (port->cable_mm > cable) cable = port->cable_mm;
        if (settings->mtu_bytes > frame) frame = settings->mtu_bytes;
        longer = longer || (settings->headroom_cable_mm && port->cable_mm > settings->headroom_cable_mm);
        larger = larger || (settings->headroom_frame_bytes && settings->mtu_bytes > settings->headroom_frame_bytes);
    }
    if (longer)
        suggest_line_add(suggest, role, "headroom-cable",
                         suggest_print(suggest, "%s", unit_format(UNIT_LENGTH, cable, a)));
    if (larger) suggest_line_add(suggest, role, "headroom-mtu", suggest_print(suggest, "%u", frame));
}

/* What adapters are told of their cables: one row for all, of the longest. */
static void adapter_row(struct suggest *suggest)
{
    const struct fabric *fabric = suggest->fabric;
    uint64_t longest = 0, told = UINT64_MAX;
    uint32_t first = FABRIC_NONE, wrong = FABRIC_NONE;
    char a[UNIT_TEXT], name[FABRIC_NAME];

    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        uint64_t has = nic->cable_mm ? nic->cable_mm : NIC_CABLE_MM;
        if (!suggest_cabled(fabric, e) || node_unknown(fabric, fabric->endpoint[e].host)) continue;
        if (fabric->port[e].cable_mm > longest) {
            longest = fabric->port[e].cable_mm;
            first = e;
        }
        if (has < told) told = has;
        if (fabric->port[e].cable_mm > has && wrong == FABRIC_NONE) wrong = e;
    }
    if (first == FABRIC_NONE) return;
    struct suggest_kind kind = {.port = fabric->port[first].peer, .ports = fabric->endpoints, .role = FABRIC_ROLE_HOST};
    if (!is_switch_port(fabric, kind.port)) return;
    struct suggest_row *row = suggest_row_add(suggest, SUGGEST_HEADROOM, &kind, "cable-length", "HR008");
    row->to = "switches";
    row->model = NULL;
    row->unit = SUGGEST_LENGTH;
    row->example = suggest_print(suggest, "%s", port_label(fabric, first, name));
    row->least = longest;
    row->value = longest > NIC_CABLE_MM ? longest : NIC_CABLE_MM;
    row->today = told;
    row->formula = suggest_print(suggest, "the longest cable of a host; an adapter that is told nothing takes %s",
                                 unit_format(UNIT_LENGTH, NIC_CABLE_MM, a));
    suggest_row_judge(row);
    row->inside = wrong == FABRIC_NONE;
    if (wrong != FABRIC_NONE)
        suggest_line_add(suggest, FABRIC_ROLE_HOST, "cable-length",
                         suggest_print(suggest, "%s", unit_format(UNIT_LENGTH, row->value, a)));
}

#define EACH_LOSSLESS(suggest, kinds, k, tc)                                                                           \
    for (uint32_t k = 0; k < (kinds)->kinds; k++)                                                                      \
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)                                                                 \
            if (settings_of((suggest)->fabric, (kinds)->kind[k].port)->lossless >> tc & 1)

/* The threshold that the marking curve and two frames need. */
static uint64_t threshold_wanted(const struct fabric *fabric, uint32_t port, bool least)
{
    uint64_t frames = 2ull * settings_of(fabric, port)->mtu_bytes + 1;
    uint64_t curve = least ? hop_bytes(fabric, port) + 2 : SUGGEST_CURVE * suggest_wanted_min(fabric, port) / 9 * 10;

    return frames > curve ? frames : curve;
}

/* alpha so that T_N = alpha B / (1 + N alpha) is this much: T / (B - N T), in millionths; none where that is not
 * there. */
static uint64_t alpha_for(uint64_t threshold, uint64_t shared, uint32_t fan_in)
{
    u128 taken = (u128)threshold * fan_in;

    if (taken >= shared) return SUGGEST_NO_VALUE;
    u128 ppm = ((u128)threshold * 1000000 + (shared - taken) - 1) / (shared - taken);
    return ppm > (u128)2047 * 1000000 ? SUGGEST_NO_VALUE : (uint64_t)ppm;
}

static uint64_t power_of_two(uint64_t ppm)
{
    uint64_t power = 1000000u >> ALPHA_LEAST_SHIFT;

    while (power < ppm)
        power *= 2;
    return power;
}

static uint64_t alpha_chosen(const struct fabric *fabric, const struct suggest_kind *kind)
{
    uint64_t least = alpha_for(threshold_wanted(fabric, kind->port, true), kind->shared, kind->fan_in);
    uint64_t wanted = alpha_for(threshold_wanted(fabric, kind->port, false), kind->shared, kind->fan_in);

    if (least == SUGGEST_NO_VALUE) return least;
    if (wanted > ALPHA_MOST_PPM) wanted = least > ALPHA_MOST_PPM ? least : ALPHA_MOST_PPM;
    return power_of_two(wanted > ALPHA_USUAL_PPM ? wanted : ALPHA_USUAL_PPM);
}

static void alpha_row(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc, uint64_t value)
{
    const struct fabric *fabric = suggest->fabric;
    const struct fabric_settings *settings = settings_of(fabric, kind->port);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
    struct suggest_row *row = row_of(suggest, SUGGEST_BUFFERS, kind, tc, "alpha", "BUF001, ECN003");
    uint64_t wanted = threshold_wanted(fabric, kind->port, false), least = threshold_wanted(fabric, kind->port, true);
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT];

    row->unit = SUGGEST_FRACTION;
    row->least = alpha_for(least, kind->shared, kind->fan_in);
    if (row->least != SUGGEST_NO_VALUE) row->value = value;
    row->most = value > ALPHA_MOST_PPM && value != SUGGEST_NO_VALUE ? value : ALPHA_MOST_PPM;
    row->today = (uint64_t)pg->alpha_num * 1000000 / pg->alpha_den;
    row->formula = suggest_print(
        suggest, "T / (B - N x T), T at least %s (a hop, two frames), better %s (the curve); B %s shared, N %u",
        unit_format_short(UNIT_SIZE, least, 4, a), unit_format_short(UNIT_SIZE, wanted, 4, b),
        unit_format_short(UNIT_SIZE, kind->shared, 4, c), kind->fan_in);
    suggest_row_judge(row);
    if (row->least == SUGGEST_NO_VALUE) row->inside = false;
}

static void xoff_row(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc)
{
    const struct fabric *fabric = suggest->fabric;
    const struct fabric_settings *settings = settings_of(fabric, kind->port);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
    struct suggest_row *row = row_of(suggest, SUGGEST_BUFFERS, kind, tc, "xoff", "BUF001, ECN003");
    uint64_t wanted = threshold_wanted(fabric, kind->port, false);
    char a[UNIT_TEXT];

    row->unit = SUGGEST_SIZE;
    row->least = threshold_wanted(fabric, kind->port, true);
    row->most = kind->shared / (kind->fan_in + 1);
    if (row->most >= row->least) row->value = wanted < row->most ? wanted : row->most;
    row->today = pg->static_bytes;
    row->formula = suggest_print(suggest, "a fixed threshold: a hop or two frames at least, %s / (%u + 1) at most",
                                 unit_format_short(UNIT_SIZE, kind->shared, 4, a), kind->fan_in);
    suggest_row_judge(row);
}

static void frames_rows(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(suggest->fabric, kind->port);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
    struct suggest_row *row = row_of(suggest, SUGGEST_BUFFERS, kind, tc, "xon", "HR006");

    row->unit = SUGGEST_SIZE;
    row->least = settings->mtu_bytes;
    row->value = 2ull * settings->mtu_bytes;
    row->today = pg->xon_offset_bytes;
    row->formula = suggest_print(suggest, "one frame of %u B at least, two are usual", settings->mtu_bytes);
    suggest_row_judge(row);
    row = row_of(suggest, SUGGEST_BUFFERS, kind, tc, "reserved", "BUF001");
    row->unit = SUGGEST_SIZE;
    row->least = 0;
    row->most = kind->shared;
    row->value = settings->mtu_bytes;
    row->today = pg->reserved_bytes;
    row->formula = suggest_print(suggest, "one frame of %u B; never more than what all share", settings->mtu_bytes);
    suggest_row_judge(row);
    row = suggest_row_add(suggest, SUGGEST_BUFFERS, kind, "pause-quanta", "HR006");
    row->unit = SUGGEST_COUNT;
    row->least = quanta_least(settings->mtu_bytes);
    row->most = row->value = 65535;
    row->today = settings->pause_quanta;
    row->formula = suggest_print(suggest, "2 x (%u + %u) x 8 / 512, so that a pause lasts until it is repeated",
                                 settings->mtu_bytes, HEADROOM_PFC_BYTES);
    suggest_row_judge(row);
}

/* The switch does not hold what it has to set aside: its pool is then a matter of headroom. */
static bool overfull(const struct fabric *fabric, const struct suggest_kind *kind)
{
    return shared_bytes(switch_of(fabric, kind->port)) == 0;
}

/* The most that one port of the switch needs: all of it may have to come out of the pool. */
static uint64_t largest_of(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_node *node = &fabric->node[fabric->port[port].node];
    uint64_t most = 0;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (suggest_cabled(fabric, p) && settings_of(fabric, p)->lossless && kept(fabric, p) > most)
            most = kept(fabric, p);
    return most;
}

/* Of switches: dedicated headroom that takes nine tenths of the buffer, or a pool. */
static void pool_row(struct suggest *suggest, enum suggest_topic topic, const struct suggest_kind *kind)
{
    const struct fabric_switch *sw = switch_of(suggest->fabric, kind->port);
    bool fits = sw->headroom_sum_bytes + sw->reserved_sum_bytes < sw->buffer_bytes / 10 * 9;
    uint64_t need = largest_of(suggest->fabric, kind->port), shared_out = sw->headroom_sum_bytes / POOL_MOST + 1;
    char a[UNIT_TEXT], b[UNIT_TEXT];

    if (fits && !sw->headroom_pool_bytes) return;
    struct suggest_row *row = suggest_row_add(suggest, topic, kind, "headroom-pool", "HR003");
    row->unit = SUGGEST_SIZE;
    row->least = need > shared_out ? need : shared_out;
    row->most = sw->buffer_bytes / 10 * 9;
    row->value = sw->headroom_sum_bytes / 2 > row->least ? sw->headroom_sum_bytes / 2 : row->least;
    if (row->value > row->most) row->value = row->most;
    row->today = sw->headroom_pool_bytes ? sw->headroom_pool_bytes : 0;
    row->formula = suggest_print(
        suggest, "the ports may need %s together: at least a quarter of it, and %s, the most of one port",
        unit_format_short(UNIT_SIZE, sw->headroom_sum_bytes, 4, a), unit_format_short(UNIT_SIZE, need, 4, b));
    suggest_row_judge(row);
}

/* Of a role and class: one alpha for all, the largest that a kind of port needs. */
static uint64_t role_alpha(const struct fabric *fabric, const struct suggest_kinds *kinds, uint8_t role, unsigned tc)
{
    uint64_t most = 0;

    for (uint32_t k = 0; k < kinds->kinds; k++) {
        const struct suggest_kind *kind = &kinds->kind[k];
        const struct fabric_settings *settings = settings_of(fabric, kind->port);
        if (kind->role != role || !(settings->lossless >> tc & 1) || !settings->pg[settings->tc_to_pg[tc]].dynamic)
            continue;
        uint64_t one = alpha_chosen(fabric, kind);
        if (one != SUGGEST_NO_VALUE && one > most) most = one;
    }
    return most;
}

/* Ports, of hosts too, that do not pause just the lossless classes, both ways. */
static void pfc_rows(struct suggest *suggest)
{
    const struct fabric *fabric = suggest->fabric;
    uint8_t wanted = lossless_anywhere(fabric);
    char text[32], name[FABRIC_NAME];

    for (uint32_t p = 0; p < fabric->ports && wanted; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint32_t at = is_switch_port(fabric, p) ? p : fabric->port[p].peer;
        if (!suggest_cabled(fabric, p) || settings->pause_all || !is_switch_port(fabric, at)) continue;
        if (settings->pfc_rx == wanted && settings->pfc_tx == wanted) continue;
        struct suggest_kind kind = {.port = at, .ports = 1, .role = fabric->node[fabric->port[p].node].role};
        kind.to_switch = peer_is_switch(fabric, p);
        struct suggest_row *row = suggest_row_add(suggest, SUGGEST_BUFFERS, &kind, "pfc", "PFC001, PFC002, PFC009");
        if (at != p) row->model = NULL;
        row->example = suggest_print(suggest, "%s", port_label(fabric, p, name));
        row->unit = SUGGEST_PRIORITIES;
        row->value = wanted;
        row->today = settings->pfc_rx & settings->pfc_tx;
        row->formula = "the priorities of the lossless classes, obeyed and sent, at both ends of a link";
        suggest_row_judge(row);
        row->inside = false;
        suggest_line_add(suggest, kind.role, "pfc", suggest_print(suggest, "[%s]", priorities_text(wanted, text)));
        if (suggest->rows > SUGGEST_KINDS * 8) return;
    }
}

/* A line of a key for a role and class where a kind of port is outside the range, or is to have more alpha; the largest
 * value of its kinds. */
static void line_of(struct suggest *suggest, const struct suggest_row *row)
{
    bool class_key = row->class_name, wanted = false;
    uint64_t value = 0;
    char text[UNIT_TEXT];

    for (uint32_t r = 0; r < suggest->rows; r++) {
        const struct suggest_row *other = &suggest->row[r];
        if (other->key != row->key || other->role != row->role || other->class_name != row->class_name) continue;
        if (!other->possible) continue;
        if (other->value > value) value = other->value;
        wanted = wanted || !other->inside || (other->unit == SUGGEST_FRACTION && other->today < other->value);
    }
    if (!wanted) return;
    const char *path = class_key ? suggest_class_path(suggest, row->priority, row->key) : row->key;
    suggest_line_add(suggest, row->role_id, path, suggest_print(suggest, "%s", suggest_text(row, value, text)));
}

void suggest_buffers(struct suggest *suggest, const struct suggest_kinds *kinds)
{
    uint32_t first = suggest->rows;

    EACH_LOSSLESS(suggest, kinds, k, tc)
    {
        const struct suggest_kind *kind = &kinds->kind[k];
        const struct fabric_settings *settings = settings_of(suggest->fabric, kind->port);
        if (settings->pg[settings->tc_to_pg[tc]].dynamic)
            alpha_row(suggest, kind, tc, role_alpha(suggest->fabric, kinds, kind->role, tc));
        else
            xoff_row(suggest, kind, tc);
        frames_rows(suggest, kind, tc);
    }
    for (uint32_t k = 0; k < kinds->kinds; k++)
        if (!overfull(suggest->fabric, &kinds->kind[k])) pool_row(suggest, SUGGEST_BUFFERS, &kinds->kind[k]);
    uint32_t rest = suggest->rows;
    pfc_rows(suggest);
    for (uint32_t r = first; r < rest; r++)
        line_of(suggest, &suggest->row[r]);
}

void suggest_headroom(struct suggest *suggest, const struct suggest_kinds *kinds)
{
    EACH_LOSSLESS(suggest, kinds, k, tc) headroom_row(suggest, &kinds->kind[k], tc);
    uint32_t first = suggest->rows;
    for (uint32_t k = 0; k < kinds->kinds; k++)
        if (overfull(suggest->fabric, &kinds->kind[k])) pool_row(suggest, SUGGEST_HEADROOM, &kinds->kind[k]);
    for (uint32_t r = first; r < suggest->rows; r++)
        line_of(suggest, &suggest->row[r]);
    adapter_row(suggest);
    for (uint8_t role = 0; role < FABRIC_ROLES; role++) {
        chosen_for(suggest, kinds, role);
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
            headroom_line(suggest, kinds, role, tc);
    }
}
