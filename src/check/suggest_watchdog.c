/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of the PFC watchdog.
 *
 * It must not take congestion for a storm: an honest pause ends when the buffers between here and the slow port are
 * empty, so detection takes longer than that.  It must act before programs give up (WD007) and, where that leaves room,
 * before adapters do: their timeout times their tries.  Within that the system's own range holds (WD002).
 */
#include "base/wide.h"
#include "check/suggest_int.h"
#include "fabric/switches.h"

#define POLL_PS (100 * PS_MS)
#define DETECT_PS (200 * PS_MS)
#define TIMEOUT_UNIT_PS (4096 * PS_NS)

struct limits {
    ps_t drain, patience, least, most; /* most: of detection */
};

/* Until all that switches of all tiers hold has left by the slowest port of this role. */
static ps_t longest_pause(const struct fabric *fabric, const struct suggest_kinds *kinds, uint8_t role)
{
    uint64_t held[256] = {0}, sum = 0, slowest = UINT64_MAX;

    for (uint32_t k = 0; k < kinds->kinds; k++)
        if (kinds->kind[k].role == role && fabric->port[kinds->kind[k].port].rate_bps < slowest)
            slowest = fabric->port[kinds->kind[k].port].rate_bps;
    for (uint32_t s = 0; s < fabric->switches; s++) {
        uint64_t *tier = &held[fabric->node[fabric->hosts + s].tier];
        if (fabric->sw[s].buffer_bytes > *tier) *tier = fabric->sw[s].buffer_bytes;
    }
    for (int t = 0; t < 256; t++)
        sum += held[t];
    u128 time = (u128)sum * 8 * PS_S / (slowest ? slowest : 1);
    return time > PS_S * 3600 ? PS_S * 3600 : (ps_t)time;
}

/* Until the first adapter gives up. */
static ps_t least_patience(const struct fabric *fabric)
{
    ps_t least = PS_NEVER;

    for (uint32_t n = 0; n < fabric->nics; n++) {
        const struct fabric_nic *nic = &fabric->nic[n];
        if (nic->timeout == 0 || nic->timeout > 31) continue;
        ps_t one = (TIMEOUT_UNIT_PS << nic->timeout) * (nic->retry + 1u);
        if (one < least) least = one;
    }
    return least;
}

static struct limits limits_of(const struct fabric *fabric, const struct suggest_kinds *kinds, uint8_t role, ps_t poll,
                               uint8_t nos)
{
    struct limits limits = {.drain = longest_pause(fabric, kinds, role), .patience = least_patience(fabric)};

    limits.least = nos == FABRIC_NOS_SONIC && WD_SONIC_LEAST_PS > poll ? WD_SONIC_LEAST_PS : poll;
    if (nos == FABRIC_NOS_EOS && 2 * poll > limits.least) limits.least = 2 * poll;
    if (limits.drain > limits.least) limits.least = limits.drain;
    limits.most = WD_SLOW_PS - poll;
    if (nos == FABRIC_NOS_SONIC && WD_SONIC_DETECT_PS < limits.most) limits.most = WD_SONIC_DETECT_PS;
    if (limits.patience > poll && limits.patience - poll < limits.most && limits.patience - poll > limits.least)
        limits.most = limits.patience - poll;
    return limits;
}

static struct suggest_row *row_of(struct suggest *suggest, uint32_t node, uint8_t role, uint32_t switches,
                                  const char *key, const char *rules)
{
    const struct fabric *fabric = suggest->fabric;
    struct suggest_kind kind = {.port = fabric->node[node].first_port, .ports = switches, .role = role};
    struct suggest_row *row = suggest_row_add(suggest, SUGGEST_WATCHDOG, &kind, key, rules);

    row->to = NULL;
    row->rate_bps = row->cable_mm = 0;
    row->unit = SUGGEST_TIME;
    row->example = fabric->node[node].name;
    return row;
}

static void detect_row(struct suggest *suggest, struct suggest_row *row, const struct limits *limits,
                       const struct fabric_watchdog *today)
{
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT];

    row->least = limits->least;
    row->most = limits->most;
    if (limits->least <= limits->most)
        row->value = DETECT_PS < limits->least ? limits->least : DETECT_PS > limits->most ? limits->most : DETECT_PS;
    if (today->on) row->today = today->detect_ps;
    row->assumed = today->assumed;
    row->formula = suggest_print(
        suggest, "an honest pause lasts at most all buffers / rate = %s; seen within %s (poll and detect)%s%s%s",
        unit_format_short(UNIT_TIME, limits->drain, 4, a), unit_format(UNIT_TIME, WD_SLOW_PS, b),
        limits->patience == PS_NEVER ? "" : "; an adapter gives up after ",
        limits->patience == PS_NEVER ? "" : unit_format_short(UNIT_TIME, limits->patience, 4, c),
        today->assumed ? "; the file has no watchdog, so a run has none" : "");
    suggest_row_judge(row);
    /* The range is for the poll that is suggested; what the file has is judged with its own. */
    if (today->on && today->poll_ps < POLL_PS)
        row->inside = today->detect_ps >= limits->drain && today->detect_ps >= 2 * today->poll_ps &&
                      today->detect_ps <= limits->most;
}

/* The rows of one kind of switch: a role on a system. */
static void rows_of(struct suggest *suggest, const struct suggest_kinds *kinds, uint32_t node, uint32_t switches)
{
    const struct fabric *fabric = suggest->fabric;
    const struct fabric_switch *sw = &fabric->sw[node - fabric->hosts];
    const struct fabric_watchdog *today = &sw->watchdog;
    uint8_t role = fabric->node[node].role;
    struct limits limits = limits_of(fabric, kinds, role, POLL_PS, sw->nos);
    struct suggest_row *row = row_of(suggest, node, role, switches, "watchdog.poll", "WD002");
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT];

    row->most = sw->nos == FABRIC_NOS_EOS ? limits.most / 2 : limits.most;
    row->value = POLL_PS;
    if (today->on) row->today = today->poll_ps;
    row->assumed = today->assumed;
    row->formula = sw->nos == FABRIC_NOS_EOS ? "at most half of detect and restore (EOS)" : "at most detect";
    suggest_row_judge(row);
    detect_row(suggest, row_of(suggest, node, role, switches, "watchdog.detect", "WD002, WD007"), &limits, today);
    uint64_t detect = suggest->row[suggest->rows - 1].value;
    row = row_of(suggest, node, role, switches, "watchdog.restore", "WD002, WD003");
    if (detect == SUGGEST_NO_VALUE) return;
    row->least = detect;
    if (sw->nos == FABRIC_NOS_SONIC) row->most = WD_SONIC_RESTORE_PS;
    row->value = detect;
    row->assumed = today->assumed;
    if (today->on) {
        row->today = today->restore_ps;
        row->least = today->detect_ps < detect ? today->detect_ps : detect;
    }
    row->formula = "no sooner than detection, or a stormed queue flaps";
    suggest_row_judge(row);
    suggest_line_add(suggest, role, "watchdog",
                     suggest_print(suggest, "{poll: %s, detect: %s, restore: %s, action: drop}",
                                   unit_format(UNIT_TIME, POLL_PS, a), unit_format(UNIT_TIME, detect, b),
                                   unit_format(UNIT_TIME, detect, c)));
}

static uint8_t paused_of(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_settings *settings = settings_of(fabric, port);

    return settings->pfc_tx ? settings->pfc_tx : settings->pfc_rx;
}

/* Ports with PFC that the watchdog does not look at, or not for the same priorities. */
static void watched_line(struct suggest *suggest, const struct suggest_kinds *kinds, uint8_t role)
{
    char text[32];

    for (uint32_t k = 0; k < kinds->kinds; k++) {
        const struct fabric_settings *settings = settings_of(suggest->fabric, kinds->kind[k].port);
        uint8_t paused = paused_of(suggest->fabric, kinds->kind[k].port);
        if (kinds->kind[k].role != role || !paused) continue;
        if (settings->watched == paused || settings->watched == (settings->pfc_rx | settings->pfc_tx)) continue;
        suggest_line_add(suggest, role, "watched", suggest_print(suggest, "[%s]", priorities_text(paused, text)));
        return;
    }
}

void suggest_watchdog(struct suggest *suggest, const struct suggest_kinds *kinds)
{
    const struct fabric *fabric = suggest->fabric;

    for (uint8_t role = 0; role < FABRIC_ROLES; role++) {
        for (uint8_t nos = 0; nos < FABRIC_NOSES; nos++) {
            uint32_t first = FABRIC_NONE, count = 0;
            for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
                if (fabric->node[n].role != role || fabric->sw[n - fabric->hosts].nos != nos) continue;
                if (fabric->node[n].ports == 0) continue;
                if (first == FABRIC_NONE) first = n;
                count++;
            }
            if (count) rows_of(suggest, kinds, first, count);
        }
        watched_line(suggest, kinds, role);
    }
}
