/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PFC watchdog: on, possible, and not worse than what it cures.
 *
 * The ranges are those of SONiC's YANG model and of the EOS manual; for other systems only what holds for any of them
 * is asked.
 */
#include "check/rule.h"

#include "fabric/switches.h"

static uint8_t pfc_bits(const struct fabric_settings *settings)
{
    return settings->pfc_rx | settings->pfc_tx;
}

/* Switches with a port on which the watchdog has something to do. */
static bool has_pfc(const struct check *check, uint32_t s)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_node *node = &fabric->node[fabric->hosts + s];

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (port_used(check, p) && pfc_bits(settings_of(fabric, p))) return true;
    return false;
}

RULE_FUNCTION(wd_on)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME];

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        if (!has_pfc(check, s)) continue;
        if (!fabric->sw[s].watchdog.on) {
            check_find(check, CHECK_ERROR, fabric->hosts + s, FABRIC_NONE, "watchdog",
                       "%s has PFC and no watchdog: one adapter that pauses without end stops the fabric", node->name);
            continue;
        }
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            const struct fabric_settings *settings = settings_of(fabric, p);
            if (!port_used(check, p) || !pfc_bits(settings) || settings->watched) continue;
            check_find(check, CHECK_ERROR, fabric->hosts + s, p, "watched", "%s has PFC and is not watched",
                       port_label(fabric, p, name));
        }
    }
}

static void wd_system(struct check *check, uint32_t node, const struct fabric_switch *sw)
{
    const struct fabric_watchdog *wd = &sw->watchdog;
    const char *name = check->fabric->node[node].name;
    ps_t shorter = wd->detect_ps < wd->restore_ps ? wd->detect_ps : wd->restore_ps;
    char a[UNIT_TEXT], b[UNIT_TEXT];

    if (sw->nos == FABRIC_NOS_SONIC && (wd->detect_ps < WD_SONIC_LEAST_PS || wd->detect_ps > WD_SONIC_DETECT_PS))
        check_find(check, CHECK_ERROR, node, FABRIC_NONE, "watchdog.detect",
                   "%s: SONiC takes a detection time of 100 to 5000 ms, not %s", name,
                   unit_format(UNIT_TIME, wd->detect_ps, a));
    if (sw->nos == FABRIC_NOS_SONIC && (wd->restore_ps < WD_SONIC_LEAST_PS || wd->restore_ps > WD_SONIC_RESTORE_PS))
        check_find(check, CHECK_ERROR, node, FABRIC_NONE, "watchdog.restore",
                   "%s: SONiC takes a restoration time of 100 to 60000 ms, not %s", name,
                   unit_format(UNIT_TIME, wd->restore_ps, a));
    if (sw->nos == FABRIC_NOS_EOS && wd->poll_ps > shorter / 2)
        check_find(check, CHECK_ERROR, node, FABRIC_NONE,
                   wd->poll_ps <= wd->restore_ps / 2  ? "watchdog.detect" /* the odd one of three */
                   : wd->poll_ps <= wd->detect_ps / 2 ? "watchdog.restore"
                                                      : "watchdog.poll",
                   "%s: EOS looks every %s, which must be at most half of the shorter of its times, %s", name,
                   unit_format(UNIT_TIME, wd->poll_ps, a), unit_format(UNIT_TIME, shorter, b));
}

RULE_FUNCTION(wd_times)
{
    const struct fabric *fabric = check->fabric;
    char a[UNIT_TEXT], b[UNIT_TEXT];

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_watchdog *wd = &fabric->sw[s].watchdog;
        if (!wd->on) continue;
        if (wd->detect_ps < wd->poll_ps)
            check_find(check, CHECK_ERROR, fabric->hosts + s, FABRIC_NONE,
                       wd->restore_ps < wd->poll_ps ? "watchdog.poll" : "watchdog.detect", /* the odd one of three */
                       "%s: the watchdog looks every %s and cannot detect within %s",
                       fabric->node[fabric->hosts + s].name, unit_format(UNIT_TIME, wd->poll_ps, a),
                       unit_format(UNIT_TIME, wd->detect_ps, b));
        else
            wd_system(check, fabric->hosts + s, &fabric->sw[s]);
    }
}

static bool same_watchdog(const struct fabric_watchdog *a, const struct fabric_watchdog *b)
{
    return a->restore_ps == b->restore_ps && a->detect_ps == b->detect_ps && a->poll_ps == b->poll_ps &&
           a->drop == b->drop;
}

/* The switch of this role whose watchdog most others have; the first of as many. */
#define WATCHDOGS 8 /* different ones that are counted */
static uint32_t usual_watchdog(const struct fabric *fabric, uint8_t role)
{
    uint32_t kind[WATCHDOGS], votes[WATCHDOGS] = {0}, kinds = 0, best = 0;

    for (uint32_t s = 0; s < fabric->switches; s++) {
        uint32_t k = 0;
        if (fabric->node[fabric->hosts + s].role != role || !fabric->sw[s].watchdog.on) continue;
        while (k < kinds && !same_watchdog(&fabric->sw[s].watchdog, &fabric->sw[kind[k]].watchdog))
            k++;
        if (k == WATCHDOGS) continue;
        if (k == kinds) kind[kinds++] = s;
        votes[k]++;
    }
    for (uint32_t k = 1; k < kinds; k++)
        if (votes[k] > votes[best]) best = k;
    return kinds ? kind[best] : 0;
}

RULE_FUNCTION(wd_restore)
{
    const struct fabric *fabric = check->fabric;
    uint32_t usual[FABRIC_ROLES];
    char a[UNIT_TEXT], b[UNIT_TEXT];

    for (int role = 0; role < FABRIC_ROLES; role++)
        usual[role] = usual_watchdog(fabric, (uint8_t)role);
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_watchdog *wd = &fabric->sw[s].watchdog;
        uint32_t node = fabric->hosts + s, most = usual[fabric->node[node].role];
        if (!wd->on) continue;
        if (wd->restore_ps < wd->detect_ps)
            check_find(check, CHECK_WARNING, node, FABRIC_NONE, "watchdog.restore",
                       "%s: the watchdog restores after %s, sooner than it detects (%s)", fabric->node[node].name,
                       unit_format(UNIT_TIME, wd->restore_ps, a), unit_format(UNIT_TIME, wd->detect_ps, b));
        if (!same_watchdog(wd, &fabric->sw[most].watchdog))
            check_find(check, CHECK_WARNING, node, FABRIC_NONE, "watchdog",
                       "%s: the watchdog differs from that of most switches of its role, such as %s",
                       fabric->node[node].name, fabric->node[fabric->hosts + most].name);
    }
}

RULE_FUNCTION(wd_set)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], a[32], b[32];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (!port_used(check, p) || !switch_of(fabric, p)->watchdog.on) continue;
        /* A port that obeys more than it sends is PFC009's: asymmetric PFC obeys all. */
        uint8_t sent = settings->pfc_tx ? settings->pfc_tx : settings->pfc_rx;
        if (settings->watched == sent || settings->watched == pfc_bits(settings) || (!settings->watched && sent))
            continue;
        bool left_out = pfc_bits(settings) & ~settings->watched;
        check_find(check, left_out ? CHECK_WARNING : CHECK_INFO, fabric->port[p].node, p, "watched",
                   "%s has PFC for priority %s and the watchdog looks at %s", port_label(fabric, p, name),
                   priorities_text(pfc_bits(settings), a), priorities_text(settings->watched, b));
    }
}

RULE_FUNCTION(wd_action)
{
    const struct fabric *fabric = check->fabric;

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_watchdog *wd = &fabric->sw[s].watchdog;
        if (!wd->on || (wd->drop && !wd->shutdown)) continue;
        bool usual = wd->shutdown && fabric->sw[s].nos == FABRIC_NOS_EOS; /* what it does unless told */
        check_find(check, usual ? CHECK_INFO : CHECK_WARNING, fabric->hosts + s, FABRIC_NONE, "watchdog.action",
                   wd->shutdown ? "%s: the watchdog shuts a whole port down for one stuck queue"
                                : "%s: the watchdog sends against the pause, into a receiver that is stuck",
                   fabric->node[fabric->hosts + s].name);
    }
}

RULE_FUNCTION(wd_slow)
{
    const struct fabric *fabric = check->fabric;
    char a[UNIT_TEXT];

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_watchdog *wd = &fabric->sw[s].watchdog;
        if (!wd->on || wd->detect_ps + wd->poll_ps <= WD_SLOW_PS) continue;
        check_find(check, CHECK_INFO, fabric->hosts + s, FABRIC_NONE, "watchdog.detect",
                   "%s: a storm is seen after up to %s (poll and detect)", fabric->node[fabric->hosts + s].name,
                   unit_format(UNIT_TIME, wd->detect_ps + wd->poll_ps, a));
    }
}
