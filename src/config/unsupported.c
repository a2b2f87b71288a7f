/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a switch or a host its system's configuration cannot say.
 *
 * One judge for all systems: each says in a table (struct config_can) what it has words for, and every port of the
 * fabric is held against it.  A value is judged as it is resolved, whether the file states it or a default does: on
 * the real switch something else will hold either way.  The test of round trips holds this file to its word: whatever
 * comes back otherwise than it went must have been named here.
 *
 * Not looked at, for no configuration of QoS is about it: routing, seeds of hashes, latencies, what a simulated switch
 * does.
 */
#include "config/unsupported.h"

#include <string.h>

#include "fabric/fabric.h"
#include "fabric/qos/models.h"
#include "fabric/switches.h"

#define QUANTA_USUAL 65535u
#define ALPHA_EXPONENT_MAX 7

const struct config_loss config_losses[CONFIG_UNSUPPORTED_COUNT] = {
#define UNSUPPORTED(id, what, instead) {what, instead},
#include "config/unsupported.def"
#undef UNSUPPORTED
};

struct judge {
    const struct config_can *can;
    const struct fabric *fabric;
    const struct fabric_switch *sw;
    const struct fabric_settings *settings; /* of the port that is looked at */
    uint32_t port;
    uint8_t lossless; /* of any port of the switch */
    bool alpha_one;   /* all lossless groups have one alpha, and it has a number */
    struct config_unsupported_list *losses;
    uint32_t last[CONFIG_UNSUPPORTED_COUNT]; /* port that was counted last */
};

static void lose(struct judge *judge, enum config_unsupported loss, bool lost)
{
    if (!lost || (judge->losses->ports[loss] && judge->last[loss] == judge->port)) return;
    if (!judge->losses->ports[loss]++) judge->losses->first[loss] = judge->port;
    judge->last[loss] = judge->port;
}

static void judge_pauses(struct judge *judge)
{
    const struct config_can *can = judge->can;
    const struct fabric_settings *settings = judge->settings;
    uint8_t rx = settings->pfc_rx, tx = settings->pfc_tx, paused = rx | tx;
    uint8_t lossless = can->port_lossless ? settings->lossless : judge->lossless;

    lose(judge, CONFIG_UNSUPPORTED_PORT_LOSSLESS, settings->lossless != lossless);
    lose(judge, CONFIG_UNSUPPORTED_PFC_SET, !can->pfc_any && paused != lossless && !(can->pfc_none && paused == 0));
    lose(judge, CONFIG_UNSUPPORTED_PFC_WAYS,
         rx != tx && !(can->pfc_one_way && (rx == 0 || tx == 0)) && !(can->pfc_obey_all && rx == 0xff));
    lose(judge, CONFIG_UNSUPPORTED_PFC_AUTO, settings->pfc_auto && paused && !can->pfc_auto);
    lose(judge, CONFIG_UNSUPPORTED_PAUSE_ALL, settings->pause_all && (paused || !can->pause_all));
    lose(judge, CONFIG_UNSUPPORTED_QUANTA, settings->pause_quanta != QUANTA_USUAL);
    if (!judge->sw->watchdog.on || !paused) return;
    uint8_t watched = settings->watched & paused;
    lose(judge, CONFIG_UNSUPPORTED_WATCHED, !can->watched && watched && watched != paused);
}

static bool power_of_two(uint32_t num, uint32_t den)
{
    for (int e = 0; e <= ALPHA_EXPONENT_MAX + 1; e++)
        if (((uint64_t)num << e == den) || (e <= ALPHA_EXPONENT_MAX && num == (uint64_t)den << e)) return true;
    return false;
}

static void judge_group(struct judge *judge, const struct fabric_pg *pg, const struct fabric_pg *first)
{
    const struct config_can *can = judge->can;
    bool rounded = can->alpha && pg->dynamic && !power_of_two(pg->alpha_num, pg->alpha_den);

    lose(judge, CONFIG_UNSUPPORTED_RESERVED, pg->reserved_bytes && !can->reserved);
    if (!pg->lossless) return;
    lose(judge, CONFIG_UNSUPPORTED_ALPHA, pg->dynamic && !can->alpha && !(can->alpha_one && judge->alpha_one));
    lose(judge, CONFIG_UNSUPPORTED_HEADROOM, pg->dynamic && can->alpha_one);
    lose(judge, CONFIG_UNSUPPORTED_ALPHA_ROUNDED, rounded);
    lose(judge, CONFIG_UNSUPPORTED_XOFF, !pg->dynamic && !can->xoff);
    if (can->class_xoff || !can->xoff || !first) return;
    lose(judge, CONFIG_UNSUPPORTED_XOFF_CLASSES,
         pg->dynamic != first->dynamic ||
             (!pg->dynamic && (pg->static_bytes != first->static_bytes || pg->headroom_bytes != first->headroom_bytes ||
                               pg->xon_offset_bytes != first->xon_offset_bytes)));
}

static void judge_queue(struct judge *judge, const struct fabric_queue *queue)
{
    const struct config_can *can = judge->can;
    bool limited = queue->limit_bytes != FABRIC_UNLIMITED, follows = !limited && queue->alpha_num;

    lose(judge, CONFIG_UNSUPPORTED_LIMIT, (limited || follows) && !can->limit);
    lose(judge, CONFIG_UNSUPPORTED_ALPHA_ROUNDED,
         follows && can->limit && !power_of_two(queue->alpha_num, queue->alpha_den));
    lose(judge, CONFIG_UNSUPPORTED_ECN_PERCENT, queue->ecn.on && can->ecn_percent);
    lose(judge, CONFIG_UNSUPPORTED_PROBABILITY,
         queue->ecn.on && config_percent(queue->ecn.probability_ppm) * 10000 != queue->ecn.probability_ppm);
}

static void judge_shares(struct judge *judge, uint8_t queues)
{
    const struct fabric_queue *queue = judge->settings->queue;
    unsigned percent[FABRIC_PRIOS], sharing = 0;
    uint64_t sum = 0, sum_percent = 0;

    config_percents(judge->settings, queues, judge->sw == NULL, percent);
    for (unsigned q = FABRIC_PRIOS; q-- > 0;) {
        if (!(queues >> q & 1)) continue;
        lose(judge, CONFIG_UNSUPPORTED_STRICT, queue[q].strict && sharing && !judge->can->strict_below);
        if (queue[q].strict) continue;
        sharing |= 1u << q;
        sum += queue[q].share_ppm;
        sum_percent += percent[q];
    }
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        lose(judge, CONFIG_UNSUPPORTED_SHARES,
             (sharing >> q & 1) && queue[q].share_ppm * sum_percent != (uint64_t)percent[q] * sum);
}

static void judge_classes(struct judge *judge)
{
    const struct fabric_settings *settings = judge->settings;
    const struct fabric_pg *first = NULL;

    for (unsigned p = FABRIC_PRIOS; p-- > 0;)
        if ((settings->pfc_rx | settings->pfc_tx) >> p & 1) first = &settings->pg[settings->tc_to_pg[p]];
    for (uint32_t c = 0; c < judge->fabric->class_count; c++) {
        unsigned tc = judge->fabric->classes[c].priority;
        judge_group(judge, &settings->pg[settings->tc_to_pg[tc]], first);
        judge_queue(judge, &settings->queue[settings->tc_to_queue[tc]]);
        lose(judge, CONFIG_UNSUPPORTED_QUEUE_MAP, settings->tc_to_queue[tc] != tc && !judge->can->queue_map);
        lose(judge, CONFIG_UNSUPPORTED_GROUP_MAP, settings->tc_to_pg[tc] != tc && !judge->can->group_map);
    }
    judge_shares(judge, config_queues(judge->fabric, settings));
}

static void judge_link(struct judge *judge)
{
    const struct config_can *can = judge->can;
    const struct fabric_port *port = &judge->fabric->port[judge->port];
    uint32_t mtu = judge->settings->mtu_bytes;

    lose(judge, CONFIG_UNSUPPORTED_MTU,
         mtu < can->mtu_least || mtu > can->mtu_most || (mtu >= can->mtu_hole[0] && mtu < can->mtu_hole[1]));
    if (port->peer == FABRIC_NONE) return;
    lose(judge, CONFIG_UNSUPPORTED_RATE, port->rate_bps % can->rate_step_bps != 0);
    lose(judge, CONFIG_UNSUPPORTED_CABLE_ROUNDED, port->cable_mm % 1000 != 0);
}

static bool sayable(ps_t time, uint64_t step_ms, const uint32_t range_ms[2])
{
    uint64_t ms = time / PS_MS;
    return time % (step_ms * PS_MS) == 0 && ms >= range_ms[0] && ms <= range_ms[1];
}

/* Of a port that pauses: each of them counts. */
static void judge_watchdog(struct judge *judge)
{
    const struct config_can *can = judge->can;
    const struct fabric_watchdog *watchdog = &judge->sw->watchdog;

    if (!watchdog->on || !(judge->settings->pfc_rx | judge->settings->pfc_tx)) return;
    lose(judge, CONFIG_UNSUPPORTED_RESTORE, !can->restore);
    lose(judge, CONFIG_UNSUPPORTED_ACTION,
         can->action ? watchdog->shutdown && !can->shutdown : !watchdog->drop || watchdog->shutdown);
    uint64_t step_ms = can->step_ms;
    if (!step_ms) step_ms = watchdog->poll_ps < PS_MS ? 1 : watchdog->poll_ps / PS_MS;
    lose(judge, CONFIG_UNSUPPORTED_TIMES_ROUNDED,
         !sayable(watchdog->poll_ps, 1, can->poll_ms) || !sayable(watchdog->detect_ps, step_ms, can->detect_ms));
    lose(judge, CONFIG_UNSUPPORTED_TIMES_ROUNDED,
         can->detect_polls && watchdog->detect_ps > watchdog->poll_ps * can->detect_polls);
    if (!can->restore) return;
    lose(judge, CONFIG_UNSUPPORTED_TIMES_ROUNDED,
         can->restore_polls && watchdog->restore_ps > watchdog->poll_ps * can->restore_polls);
    lose(judge, CONFIG_UNSUPPORTED_TIMES_ROUNDED, !sayable(watchdog->restore_ps, step_ms, can->restore_ms));
    ps_t least = watchdog->detect_ps < watchdog->restore_ps ? watchdog->detect_ps : watchdog->restore_ps;
    lose(judge, CONFIG_UNSUPPORTED_TIMES_ROUNDED, watchdog->poll_ps * can->polls_least > least);
}

/* How flows are spread: as the system has a word for it, or not. */
static bool balance_said(const struct config_can *can, const struct fabric_switch *sw)
{
    const struct fabric_balance *balance = &sw->balance;

    if (balance->kind == SW_ECMP) return true;
    if (!(can->balances >> balance->kind & 1)) return false;
    if (balance->kind == SW_SPRAY) return !balance->round_robin;
    if (balance->kind == SW_ADAPTIVE) return !balance->by_flowlet; /* how loads are weighed is the chip's own */
    return balance->kind != SW_FLOWLET || (balance->gap_ps >= PS_US && balance->gap_ps % PS_US == 0);
}

/* What holds for the switch: that of most ports. */
static void judge_alike(struct judge *judge, uint32_t node, config_same *same, enum config_unsupported loss)
{
    const struct config_emit emit = {.fabric = judge->fabric, .node = node};
    struct config_alike alike;
    struct arena arena;

    arena_init_or_end(&arena, (size_t)1 << 24);
    config_alike(&emit, &arena, same, &alike);
    for (uint32_t p = 0; p < judge->fabric->node[node].ports; p++) {
        judge->port = judge->fabric->node[node].first_port + p;
        lose(judge, loss, alike.of[p] != 0);
    }
    arena_release(&arena);
}

static int alpha_number(const struct fabric_pg *pg)
{
    for (int n = 0; n <= CONFIG_ALPHA_MOST; n++)
        if (pg->dynamic && ((uint64_t)pg->alpha_num << CONFIG_ALPHA_ONE) == (uint64_t)pg->alpha_den << n) return n;
    return -1;
}

int config_one_alpha(const struct fabric *fabric, const struct fabric_node *node)
{
    int all = -1;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        const struct fabric_settings *as = config_settings(fabric, p);
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
            const struct fabric_pg *pg = &as->pg[as->tc_to_pg[tc]];
            if (!(as->lossless >> tc & 1) || !pg->lossless) continue;
            int own = alpha_number(pg);
            if (own < 0 || (all >= 0 && own != all)) return -1;
            all = own;
        }
    }
    return all;
}

/* An adapter's: what is more than its tools set. */
static void judge_adapter(struct judge *judge)
{
    const struct fabric_nic *nic = &judge->fabric->nic[judge->fabric->endpoint[judge->port].nic];

    lose(judge, CONFIG_UNSUPPORTED_PFC_WAYS, judge->settings->pfc_rx != judge->settings->pfc_tx);
    lose(judge, CONFIG_UNSUPPORTED_CABLE_ROUNDED, nic->cable_mm % 1000 != 0);
    lose(judge, CONFIG_UNSUPPORTED_CONGESTION, strncmp(nic->congestion, "dcqcn", 5) != 0);
    judge_shares(judge, config_queues(judge->fabric, judge->settings));
    for (uint32_t i = 0; i < nic->params; i++)
        lose(judge, CONFIG_UNSUPPORTED_PARAMS, !judge->can->param || !judge->can->param(nic->param[i].name));
}

void config_unsupported_list(const struct config_format *format, const struct fabric *fabric, uint32_t node,
                             struct config_unsupported_list *ret)
{
    struct judge judge = {.can = format->can, .fabric = fabric, .losses = ret};
    const struct fabric_node *as = &fabric->node[node];

    memset(ret, 0, sizeof(*ret));
    if (!format->can) return;
    for (uint32_t p = as->first_port; node < fabric->hosts && p < as->first_port + as->ports; p++) {
        judge.port = p;
        judge.settings = config_settings(fabric, p);
        judge_adapter(&judge);
    }
    if (node < fabric->hosts) return;
    judge.sw = &fabric->sw[node - fabric->hosts];
    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
        judge.lossless |= config_settings(fabric, p)->lossless;
    judge.alpha_one = config_one_alpha(fabric, as) >= 0;
    if (!format->can->port_maps) judge_alike(&judge, node, config_same_maps, CONFIG_UNSUPPORTED_PORT_MAPS);
    if (format->can->one_queue_map) judge_alike(&judge, node, config_same_queue_map, CONFIG_UNSUPPORTED_PORT_QUEUES);
    const struct switch_model *model = switch_model_find(judge.sw->model);
    bool own_buffer = model && judge.sw->buffer_bytes != model->buffer_bytes;
    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++) {
        judge.port = p;
        judge.settings = config_settings(fabric, p);
        judge_pauses(&judge);
        judge_classes(&judge);
        judge_link(&judge);
        judge_watchdog(&judge);
        lose(&judge, CONFIG_UNSUPPORTED_HASH, format->can->hash && !format->can->hash(judge.sw));
        lose(&judge, CONFIG_UNSUPPORTED_BALANCE, !balance_said(format->can, judge.sw));
        lose(&judge, CONFIG_UNSUPPORTED_BUFFER, own_buffer && !format->can->buffer);
        lose(&judge, CONFIG_UNSUPPORTED_POOL, judge.sw->headroom_pool_bytes && !format->can->pool);
    }
}
