/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headroom and thresholds: the proofs that nothing lossless is dropped.
 *
 * Each link's headroom is held against fabric/qos/headroom.h for its model, rate, cable, frame and cell; the sum of a
 * switch's against its buffer, dedicated or as a pool.  The loader refuses a buffer that cannot be built at all; HR003
 * asks besides that something is left to share, and that a pool is not smaller than what one port needs.
 */
#include <string.h>

#include "base/units.h"
#include "check/rule.h"
#include "fabric/qos/headroom.h"
#include "fabric/qos/models.h"
#include "fabric/switches.h"

/* Cabled ports of switches with a lossless group g of a class: calls for each. */
#define EACH_GROUP(fabric, p, g)                                                                                       \
    for (uint32_t p = (fabric)->endpoints; p < (fabric)->ports; p++)                                                   \
        for (unsigned g = 0; g < FABRIC_PRIOS && port_used(check, p); g++)                                             \
            if (settings_of(fabric, p)->pg[g].lossless)

unsigned priority_of(const struct fabric_settings *settings, unsigned group)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (settings->tc_to_pg[tc] == group && settings->lossless >> tc & 1) return tc;
    return group;
}

static bool cable_outgrown(const struct fabric *fabric, uint32_t port)
{
    uint32_t chosen = settings_of(fabric, port)->headroom_cable_mm;

    return chosen && fabric->port[port].cable_known && fabric->port[port].cable_mm > chosen;
}

static bool frame_outgrown(const struct fabric_settings *settings)
{
    return settings->headroom_frame_bytes && settings->mtu_bytes > settings->headroom_frame_bytes;
}

/* Half of one frame, the pause and what the cable holds both ways: less than any table that vendors ship. */
static uint64_t least_headroom(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];
    struct headroom in = {.rate_bps = as->rate_bps,
                          .cable_mm = as->cable_mm,
                          .quanta = 1,
                          .mtu_any_bytes = settings_of(fabric, port)->mtu_bytes};

    return headroom_general(&in) / 2;
}

RULE_FUNCTION(hr_formula)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], have[UNIT_TEXT], need[UNIT_TEXT], cable[UNIT_TEXT], rate[UNIT_TEXT], path[96];

    if (fabric->behaviour == FABRIC_HPCC_NS3) return; /* that simulator has a formula of its own */
    EACH_GROUP(fabric, p, g)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint64_t wanted = headroom_need(fabric, p), has = settings->pg[g].headroom_bytes;
        /* HR002 and HR009 name the cause. */
        if (has >= wanted || cable_outgrown(fabric, p) || frame_outgrown(settings)) continue;
        /* Vendors count on larger frames and a quicker peer than the worst: only what cannot be enough is wrong. */
        bool possible = check->imported && has >= least_headroom(fabric, p);
        check_find(check, possible ? CHECK_INFO : CHECK_ERROR, fabric->port[p].node, p,
                   class_path(fabric, priority_of(settings, g), "headroom", path),
                   "%s: headroom of '%s' is %s; %s at %s with frames of %u B and cells of %u B need %s",
                   port_label(fabric, p, name), class_name(fabric, priority_of(settings, g)),
                   unit_format_short(UNIT_SIZE, has, 4, have),
                   unit_format_short(UNIT_LENGTH, fabric->port[p].cable_mm, 4, cable),
                   unit_format_short(UNIT_RATE, fabric->port[p].rate_bps, 4, rate), settings->mtu_bytes,
                   switch_of(fabric, p)->cell_bytes, unit_format_short(UNIT_SIZE, wanted, 4, need));
    }
}

static bool cable_unsaid(const struct check *check, uint32_t p)
{
    return !check->fabric->port[p].cable_known && port_known(check, p) && settings_of(check->fabric, p)->lossless;
}

/* Configurations of most systems cannot say how long a cable is: once for the whole fabric, with a place in each
 * switch. */
static void cables_unsaid(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint32_t ports = 0, switches = 0, last = FABRIC_NONE;
    uint64_t longest = 0;
    char name[FABRIC_NAME], other[FABRIC_NAME], held[UNIT_TEXT];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        if (!cable_unsaid(check, p)) continue;
        ports++;
        switches += last != fabric->port[p].node;
        last = fabric->port[p].node;
        if (fabric->port[p].cable_mm > longest) longest = fabric->port[p].cable_mm;
    }
    unit_format(UNIT_LENGTH, longest, held);
    check->whole = true;
    last = FABRIC_NONE;
    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        if (!cable_unsaid(check, p) || last == fabric->port[p].node) continue;
        last = fabric->port[p].node;
        check_find(check, CHECK_WARNING, last, p, "cable",
                   "nothing says how long the cables of %u port%s of %u switch%s are, that of %s to %s among them; "
                   "headroom was held against at most %s",
                   ports, ports == 1 ? "" : "s", switches, switches == 1 ? "" : "es", port_label(fabric, p, name),
                   port_label(fabric, fabric->port[p].peer, other), held);
    }
    check->whole = false;
}

RULE_FUNCTION(hr_cable)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], has[UNIT_TEXT], chosen[UNIT_TEXT], other[FABRIC_NAME];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        uint32_t q = fabric->port[p].peer;
        if (!port_used(check, p) || !settings_of(fabric, p)->lossless) continue;
        if (cable_outgrown(fabric, p))
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, "headroom-cable",
                       "%s: the cable is %s long, its headroom was chosen for %s", port_label(fabric, p, name),
                       unit_format(UNIT_LENGTH, fabric->port[p].cable_mm, has),
                       unit_format(UNIT_LENGTH, settings_of(fabric, p)->headroom_cable_mm, chosen));
        if (check->imported || fabric->port[p].cable_known || !port_known(check, p) ||
            (is_switch_port(fabric, q) && q < p))
            continue;
        check_find(check, CHECK_INFO, fabric->port[p].node, p, "cable",
                   "nothing says how long the cable of %s and %s is; %s is assumed", port_label(fabric, p, name),
                   port_label(fabric, q, other), unit_format(UNIT_LENGTH, fabric->port[p].cable_mm, has));
    }
    if (check->imported) cables_unsaid(check);
}

static void hr_pool(struct check *check, uint32_t s, uint64_t largest)
{
    const struct fabric_switch *sw = &check->fabric->sw[s];
    const char *name = check->fabric->node[check->fabric->hosts + s].name;
    char pool[UNIT_TEXT], sum[UNIT_TEXT];

    unit_format_short(UNIT_SIZE, sw->headroom_pool_bytes, 4, pool);
    if (sw->headroom_pool_bytes < largest)
        check_find(check, CHECK_ERROR, check->fabric->hosts + s, FABRIC_NONE, "headroom-pool",
                   "%s: the headroom pool of %s is smaller than what one port may need, %s", name, pool,
                   unit_format_short(UNIT_SIZE, largest, 4, sum));
    else if (sw->headroom_sum_bytes / POOL_MOST > sw->headroom_pool_bytes)
        check_find(
            check, CHECK_ERROR, check->fabric->hosts + s, FABRIC_NONE, "headroom-pool",
            "%s: its ports may need %s of headroom together, %llu.%llu times the pool of %s", name,
            unit_format_short(UNIT_SIZE, sw->headroom_sum_bytes, 4, sum),
            (unsigned long long)(sw->headroom_sum_bytes / sw->headroom_pool_bytes),
            (unsigned long long)(sw->headroom_sum_bytes % sw->headroom_pool_bytes * 10 / sw->headroom_pool_bytes),
            pool);
}

/* What a file or its pools take for the buffer, against what the chip has. */
static bool hr_chip(struct check *check, uint32_t s)
{
    const struct fabric_switch *sw = &check->fabric->sw[s];
    const struct switch_model *model = sw->model ? switch_model_find(sw->model) : NULL;
    char taken[UNIT_TEXT], has[UNIT_TEXT];

    if (!model || strcmp(model->name, SWITCH_MODEL_DEFAULT) == 0 || sw->buffer_bytes <= model->buffer_bytes / 100 * 101)
        return false;
    check_find(check, model->buffer_assumed ? CHECK_WARNING : CHECK_ERROR, check->fabric->hosts + s, FABRIC_NONE,
               "buffer", "%s: %s of buffer are assigned, but its chip (%s) has %s%s",
               check->fabric->node[check->fabric->hosts + s].name,
               unit_format_short(UNIT_SIZE, sw->buffer_bytes, 4, taken), model->name,
               unit_format_short(UNIT_SIZE, model->buffer_bytes, 4, has), model->buffer_assumed ? " (assumed)" : "");
    return true;
}

RULE_FUNCTION(hr_sum)
{
    const struct fabric *fabric = check->fabric;
    char sum[UNIT_TEXT], have[UNIT_TEXT];

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_switch *sw = &fabric->sw[s];
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        uint64_t largest = 0;

        if (hr_chip(check, s)) continue;
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
            for (int g = 0; g < FABRIC_PRIOS && port_used(check, p); g++)
                if (settings_of(fabric, p)->pg[g].headroom_bytes > largest)
                    largest = settings_of(fabric, p)->pg[g].headroom_bytes;
        if (sw->headroom_pool_bytes) {
            hr_pool(check, s, largest);
            continue;
        }
        /* Nine tenths set aside leave less to share than any threshold was meant for. */
        if (sw->headroom_sum_bytes + sw->reserved_sum_bytes < sw->buffer_bytes / 10 * 9) continue;
        check_find(check, CHECK_ERROR, fabric->hosts + s, FABRIC_NONE, "buffer",
                   "%s: headroom and reserve of its ports take %s of a buffer of %s", node->name,
                   unit_format_short(UNIT_SIZE, sw->headroom_sum_bytes + sw->reserved_sum_bytes, 4, sum),
                   unit_format_short(UNIT_SIZE, sw->buffer_bytes, 4, have));
    }
}

/* The port of this switch before p, with headroom that is given, that p should have more than. */
static uint32_t outdone_by(const struct check *check, const struct fabric_node *node, uint32_t p, unsigned g)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_pg *pg = &settings_of(fabric, p)->pg[g];
    const struct fabric_port *as = &fabric->port[p];

    for (uint32_t q = node->first_port; q < node->first_port + node->ports; q++) {
        const struct fabric_pg *other = &settings_of(fabric, q)->pg[g];
        const struct fabric_port *at = &fabric->port[q];
        if (q == p || !port_used(check, q) || !other->lossless || !other->headroom_given) continue;
        if (settings_of(fabric, p)->mtu_bytes != settings_of(fabric, q)->mtu_bytes) continue; /* that explains it */
        bool needs_more = as->rate_bps >= at->rate_bps && as->cable_mm >= at->cable_mm &&
                          headroom_need(fabric, p) > headroom_need(fabric, q) + headroom_need(fabric, q) / 8;
        if (needs_more && pg->headroom_bytes < other->headroom_bytes) return q;
    }
    return FABRIC_NONE;
}

RULE_FUNCTION(hr_monotone)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], other[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT], path[96];

    EACH_GROUP(fabric, p, g)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        const struct fabric_node *node = &fabric->node[fabric->port[p].node];
        if (!settings->pg[g].headroom_given || settings->pg[g].headroom_bytes < headroom_need(fabric, p)) continue;
        uint32_t q = outdone_by(check, node, p, g);
        if (q == FABRIC_NONE) continue;
        check_find(check, CHECK_WARNING, fabric->port[p].node, p,
                   class_path(fabric, priority_of(settings, g), "headroom", path),
                   "%s has headroom of %s, less than %s, which is slower or has a shorter cable and has %s",
                   port_label(fabric, p, name), unit_format_short(UNIT_SIZE, settings->pg[g].headroom_bytes, 4, a),
                   port_label(fabric, q, other),
                   unit_format_short(UNIT_SIZE, settings_of(fabric, q)->pg[g].headroom_bytes, 4, b));
    }
}

RULE_FUNCTION(hr_hysteresis)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT];

    if (fabric->behaviour == FABRIC_HPCC_NS3) return;
    EACH_GROUP(fabric, p, g)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (settings->pause_quanta < quanta_least(settings->mtu_bytes) && switch_of(fabric, p)->refresh_pauses)
            check_find(check, CHECK_WARNING, fabric->port[p].node, p, "pause-quanta",
                       "%s pauses for %u quanta, which end before the next pause can follow a frame of %u B: use %u or "
                       "more",
                       port_label(fabric, p, name), settings->pause_quanta, settings->mtu_bytes,
                       quanta_least(settings->mtu_bytes));
        if (settings->pg[g].xon_offset_bytes >= settings->mtu_bytes) continue;
        check_find(check, CHECK_INFO, fabric->port[p].node, p,
                   class_path(fabric, priority_of(settings, g), "xon", path),
                   "%s resumes %s below its threshold, less than a frame of %u B", port_label(fabric, p, name),
                   unit_format(UNIT_SIZE, settings->pg[g].xon_offset_bytes, a), settings->mtu_bytes);
    }
}

RULE_FUNCTION(hr_groups)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (!port_used(check, p)) continue;
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
            const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
            if (settings->pfc_tx >> tc & 1 && !pg->lossless)
                check_find(check, CHECK_ERROR, fabric->port[p].node, p, "pfc",
                           "%s sends pauses for priority %u, whose buffer is lossy", port_label(fabric, p, name), tc);
            if (pg->headroom_given && !pg->lossless && settings->tc_to_pg[tc] == tc)
                check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "headroom", path),
                           "%s: '%s' is lossy and has headroom or xoff, which nobody uses", port_label(fabric, p, name),
                           class_name(fabric, tc));
        }
    }
}

RULE_FUNCTION(hr_nic_cable)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], has[UNIT_TEXT], told[UNIT_TEXT];

    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        uint64_t assumed = nic->cable_mm ? nic->cable_mm : NIC_CABLE_MM;
        if (node_unknown(fabric, fabric->endpoint[e].host) || fabric->port[e].cable_mm <= assumed) continue;
        check_find(check, CHECK_WARNING, fabric->endpoint[e].host, e, "cable-length",
                   "%s has a cable of %s; the adapter %s %s", port_label(fabric, e, name),
                   unit_format(UNIT_LENGTH, fabric->port[e].cable_mm, has), nic->cable_mm ? "was told" : "assumes",
                   unit_format(UNIT_LENGTH, assumed, told));
    }
}

RULE_FUNCTION(hr_mtu)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (!port_used(check, p) || !settings->lossless || !frame_outgrown(settings)) continue;
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, "headroom-mtu",
                   "%s takes frames of %u B; its headroom was chosen for %u B", port_label(fabric, p, name),
                   settings->mtu_bytes, settings->headroom_frame_bytes);
    }
}

/* A group whose own reserve is more than what all others share. */
static void buf_reserved(struct check *check, uint32_t p, unsigned g)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_settings *settings = settings_of(fabric, p);
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT], b[UNIT_TEXT];

    if (settings->pg[g].reserved_bytes <= shared_bytes(switch_of(fabric, p))) return;
    check_find(check, CHECK_WARNING, fabric->port[p].node, p,
               class_path(fabric, priority_of(settings, g), "reserved", path),
               "%s keeps %s for '%s' alone, all ports share %s", port_label(fabric, p, name),
               unit_format_short(UNIT_SIZE, settings->pg[g].reserved_bytes, 4, a),
               class_name(fabric, priority_of(settings, g)),
               unit_format_short(UNIT_SIZE, shared_bytes(switch_of(fabric, p)), 4, b));
}

RULE_FUNCTION(buf_starved)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT];

    EACH_GROUP(fabric, p, g)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint32_t fan_in = design_fan_in(fabric, fabric->port[p].node);
        uint64_t threshold = threshold_bytes(switch_of(fabric, p), &settings->pg[g], fan_in);
        if (threshold > 2ull * settings->mtu_bytes) {
            buf_reserved(check, p, g);
            continue;
        }
        check_find(check, CHECK_WARNING, fabric->port[p].node, p,
                   class_path(fabric, priority_of(settings, g), settings->pg[g].dynamic ? "alpha" : "xoff", path),
                   "%s: with %u ports congested '%s' may hold %s a port, not more than two frames of %u B",
                   port_label(fabric, p, name), fan_in, class_name(fabric, priority_of(settings, g)),
                   unit_format_short(UNIT_SIZE, threshold, 4, a), settings->mtu_bytes);
    }
}

RULE_FUNCTION(buf_egress)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        for (unsigned tc = 0; tc < FABRIC_PRIOS && port_used(check, p); tc++) {
            const struct fabric_queue *queue = &settings->queue[settings->tc_to_queue[tc]];
            if (!(settings->lossless >> tc & 1) || queue->limit_bytes >= switch_of(fabric, p)->buffer_bytes) continue;
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "limit", path),
                       "%s drops '%s' beyond %s in its queue, after ingress admitted it as lossless",
                       port_label(fabric, p, name), class_name(fabric, tc),
                       unit_format_short(UNIT_SIZE, queue->limit_bytes, 4, a));
        }
    }
}
