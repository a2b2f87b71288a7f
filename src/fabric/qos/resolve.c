/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port's settings: classes and layers met with the port's rate, cable and cell.
 *
 * Where the file says nothing: a lossless group takes a threshold of 1/8 of the free buffer (as the
 * HPCC authors' and many vendors' settings do), one frame of reserve, resumes two frames below, and
 * keeps the headroom of headroom_model() and a frame; a lossy class is limited where it is queued, to as much as is
 * free.
 */
#include "fabric/qos/settings.h"

#include <string.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/qos/headroom.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t scale(uint64_t bytes, uint64_t num, uint64_t den)
{
    u128 got = (u128)bytes * num / den;
    return got > UINT32_MAX ? UINT32_MAX : (uint64_t)got;
}

static void resolve_ecn(const struct class_raw *raw, uint64_t rate_bps, struct sw_ecn *ret)
{
    if (!raw->ecn_on) return;
    ret->on = true;
    ret->min_bytes = raw->ecn_min_bytes;
    ret->max_bytes = raw->ecn_max_bytes;
    ret->probability_ppm = raw->ecn_ppm;
    if (!raw->ecn_per_bps) return;
    ret->min_bytes = scale(raw->ecn_min_bytes, rate_bps, raw->ecn_per_bps);
    ret->max_bytes = scale(raw->ecn_max_bytes, rate_bps, raw->ecn_per_bps);
}

/* The HPCC authors': 1/8, doubled for each doubling of the rate over the hosts', to 1 at most. */
static void hpcc_alpha(const struct loader *loader, uint64_t rate_bps, struct fabric_pg *pg)
{
    uint64_t nic_bps = loader->fabric->port[0].rate_bps;
    uint32_t shift = 3;

    while (rate_bps > nic_bps && shift > 0) {
        shift--;
        rate_bps /= 2;
    }
    pg->alpha_num = 1;
    pg->alpha_den = 1u << shift;
}

static uint64_t resolve_headroom(const struct loader *loader, const struct profile *profile,
                                 const struct fabric_port *port)
{
    uint32_t cell = profile->sw.cell_bytes ? profile->sw.cell_bytes : profile->sw.model->cell_bytes;

    if (loader->fabric->behaviour == FABRIC_HPCC_NS3) {
        u128 bits = (u128)port->rate_bps * (port->propagation_ps / PS_NS);
        return least((uint64_t)(bits / 8 / 1000000000u * 3), UINT32_MAX);
    }
    /* The formula counts what arrives after XOFF; the frame that crosses the threshold is charged to headroom too. */
    uint32_t frame = profile->qos.headroom_frame_bytes ? profile->qos.headroom_frame_bytes : profile->qos.frame_bytes;
    uint64_t cable_mm = profile->qos.headroom_cable_mm ? profile->qos.headroom_cable_mm : port->cable_mm;
    uint64_t crossing = ((uint64_t)frame + cell - 1) / cell * cell;
    uint64_t after = headroom_model(profile->sw.model->name, port->rate_bps, cable_mm, frame, cell);
    return least(after > UINT32_MAX ? after : after + crossing, UINT32_MAX);
}

static void resolve_pg(const struct loader *loader, const struct profile *profile, const struct class_raw *raw,
                       const struct fabric_port *port, bool host, struct fabric_pg *pg)
{
    bool hpcc = loader->fabric->behaviour == FABRIC_HPCC_NS3;
    uint32_t frame = profile->qos.frame_bytes;

    pg->lossless = raw->lossless;
    pg->dynamic = true;
    pg->static_bytes = FABRIC_UNLIMITED;
    if (!raw->lossless) { /* limited at the queue */
        pg->dynamic = false;
        pg->headroom_given = raw->headroom_bytes != NOT_GIVEN || raw->xoff_bytes != NOT_GIVEN; /* and means nothing */
        pg->reserved_bytes = raw->reserved_bytes == NOT_GIVEN ? 0 : raw->reserved_bytes;
        return;
    }
    pg->alpha_num = raw->alpha_num ? raw->alpha_num : 1;
    pg->alpha_den = raw->alpha_num ? raw->alpha_den : 8;
    if (!raw->alpha_num && hpcc) hpcc_alpha(loader, port->rate_bps, pg);
    if (raw->xoff_bytes != NOT_GIVEN) {
        pg->dynamic = false;
        pg->static_bytes = raw->xoff_bytes;
    }
    pg->reserved_bytes = raw->reserved_bytes != NOT_GIVEN ? raw->reserved_bytes : hpcc ? 4096 : frame;
    pg->xon_offset_bytes = raw->xon_bytes != NOT_GIVEN ? raw->xon_bytes : hpcc ? 3072 : 2 * frame;
    pg->headroom_given = raw->headroom_bytes != NOT_GIVEN;
    if (pg->headroom_given)
        pg->headroom_bytes = raw->headroom_bytes;
    else if (!host && port->peer != FABRIC_NONE)
        pg->headroom_bytes = resolve_headroom(loader, profile, port);
}

static void resolve_queue(const struct class_raw *raw, uint64_t rate_bps, struct fabric_queue *queue)
{
    resolve_ecn(raw, rate_bps, &queue->ecn);
    queue->strict = raw->strict;
    queue->share_ppm = raw->strict ? 0 : raw->share_ppm;
    queue->limit_bytes = raw->limit_bytes == NOT_GIVEN ? FABRIC_UNLIMITED : raw->limit_bytes;
    if (raw->lossless) return;
    queue->trim = raw->trim;
    if (raw->trim.bytes && raw->limit_bytes == NOT_GIVEN && queue->ecn.on) /* as marks end at 0.8 of a round trip */
        queue->limit_bytes = queue->ecn.max_bytes / 4 * 5;
    queue->alpha_num = raw->alpha_num ? raw->alpha_num : 1;
    queue->alpha_den = raw->alpha_num ? raw->alpha_den : 1;
}

/* Weights in proportion to shares, the smallest one frame; classes without a share divide what is left. */
static void resolve_weights(struct fabric_settings *settings, uint8_t used)
{
    uint32_t given = 0, without = 0, smallest = 1000000;

    for (int q = 0; q < FABRIC_PRIOS; q++) {
        if (!(used >> q & 1) || settings->queue[q].strict) continue;
        given += settings->queue[q].share_ppm;
        without += settings->queue[q].share_ppm == 0;
    }
    uint32_t rest = without && given < 1000000 ? (1000000 - given) / without : 0;
    for (int q = 0; q < FABRIC_PRIOS; q++) {
        struct fabric_queue *queue = &settings->queue[q];
        if (!(used >> q & 1) || queue->strict) continue;
        if (queue->share_ppm == 0) queue->share_ppm = rest ? rest : 10000;
        if (queue->share_ppm < smallest) smallest = queue->share_ppm;
    }
    for (int q = 0; q < FABRIC_PRIOS; q++) {
        struct fabric_queue *queue = &settings->queue[q];
        uint64_t weight = (uint64_t)settings->mtu_bytes * (queue->share_ppm ? queue->share_ppm : smallest) / smallest;
        queue->weight_bytes = (uint32_t)least(weight, (uint64_t)1 << 30);
    }
}

void settings_resolve(const struct loader *loader, const struct profile *profile, const struct fabric_port *port,
                      bool host, struct fabric_settings *ret)
{
    const struct fabric *fabric = loader->fabric;
    const struct qos *qos = &profile->qos;
    uint8_t used = 0, grouped = 0;

    memset(ret, 0, sizeof(*ret)); /* settings are compared byte by byte */
    ret->trust = qos->trust;
    memcpy(ret->dscp_to_tc, qos->dscp_to_tc, sizeof(ret->dscp_to_tc));
    memcpy(ret->pcp_to_tc, qos->pcp_to_tc, sizeof(ret->pcp_to_tc));
    memcpy(ret->tc_to_queue, qos->tc_to_queue, sizeof(ret->tc_to_queue));
    memcpy(ret->tc_to_pg, qos->tc_to_pg, sizeof(ret->tc_to_pg));
    ret->mtu_bytes = qos->frame_bytes;
    ret->pause_quanta = (uint16_t)qos->pause_quanta;
    for (int q = 0; q < FABRIC_PRIOS; q++) {
        ret->queue[q].limit_bytes = FABRIC_UNLIMITED;
        ret->queue[q].alpha_num = ret->queue[q].alpha_den = 1;
        ret->pg[q].static_bytes = FABRIC_UNLIMITED;
    }
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct class_raw *raw = &qos->class_of[c];
        uint8_t priority = fabric->classes[c].priority;
        uint8_t queue = qos->tc_to_queue[priority], pg = qos->tc_to_pg[priority];

        if (raw->lossless) ret->lossless |= (uint8_t)(1u << priority);
        if (!(used >> queue & 1)) {
            ret->queue[queue].alpha_num = ret->queue[queue].alpha_den = 0;
            resolve_queue(raw, port->rate_bps, &ret->queue[queue]);
        }
        if (!(grouped >> pg & 1)) resolve_pg(loader, profile, raw, port, host, &ret->pg[pg]);
        used |= (uint8_t)(1u << queue);
        grouped |= (uint8_t)(1u << pg);
    }
    resolve_weights(ret, used);
    ret->pause_all = qos->pause_all;
    uint8_t paused = fabric_system(fabric)->link == FABRIC_LINK_PFC && !fabric->lanes.cbfc ? ret->lossless : 0;
    ret->pfc_rx = qos->pfc_rx == NOT_GIVEN ? paused : (uint8_t)qos->pfc_rx;
    ret->pfc_tx = qos->pfc_tx == NOT_GIVEN ? paused : (uint8_t)qos->pfc_tx;
    ret->pfc_auto = qos->pfc_auto;
    ret->fec = qos->fec;
    ret->watched = qos->watched == NOT_GIVEN ? ret->pfc_rx | ret->pfc_tx : (uint8_t)qos->watched;
    ret->headroom_cable_mm = qos->headroom_cable_mm;
    ret->headroom_frame_bytes = qos->headroom_frame_bytes;
}
