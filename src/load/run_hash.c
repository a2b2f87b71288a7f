/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run can see of a fabric, as one number: two files of the same number are simulated alike.
 *
 * A sweep asks for it, to refuse a key that makes no difference.  What is resolved (links, settings, NICs, switches) is
 * hashed as it is resolved, without what nothing looks at: the thresholds of a class that no traffic is in, parameters
 * of a way of balancing that is not used, what only operators need.  Everything else is hashed as it is written.  In
 * doubt a thing counts as seen: a sweep that was refused for nothing would be worse than one that is not.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/file/override.h"
#include "fabric/qos/settings.h"
#include "jobs/jobs.h"
#include "load/run_hash_int.h"

#define HASH(hash, value) hash_bytes(hash, &(value), sizeof(value))

static uint64_t hash_word(uint64_t hash, const char *text)
{
    return text ? hash_bytes(hash, text, strlen(text) + 1) : hash;
}

/* Bit c: traffic is in class c. */
static uint32_t classes_used(const struct fabric *fabric)
{
    uint32_t used = 0;

    for (uint32_t j = 0; j < fabric->jobs; j++) {
        if (fabric_job_trains((enum fabric_job_kind)fabric->job[j].kind)) return UINT32_MAX; /* checkpoints name more */
        used |= 1u << fabric->job[j].job_class;
    }
    for (uint32_t n = 0; n < fabric->nics; n++) {
        if (fabric->nic[n].cnp_class != FABRIC_NONE) used |= 1u << fabric->nic[n].cnp_class;
        if (fabric->nic[n].ack_class != FABRIC_NONE) used |= 1u << fabric->nic[n].ack_class;
    }
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (fabric->sw[s].raise_bounce) return UINT32_MAX;
    return fabric->faults ? UINT32_MAX : used;
}

static bool watchdog_anywhere(const struct fabric *fabric)
{
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (fabric_watchdog_runs(&fabric->sw[s].watchdog)) return true;
    return false;
}

static uint64_t hash_settings(const struct fabric *fabric, const struct fabric_settings *from, uint32_t classes)
{
    struct fabric_settings seen;
    uint32_t queues = 0, groups = 0;

    memcpy(&seen, from, sizeof(seen));
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_class *as = &fabric->classes[c];
        uint8_t tc[] = {as->priority, from->dscp_to_tc[as->dscp], from->pcp_to_tc[as->priority]};
        for (uint32_t i = 0; classes >> c & 1 && i < COUNT_OF(tc); i++) {
            queues |= 1u << tc[i] | 1u << from->tc_to_queue[tc[i]];
            groups |= 1u << tc[i] | 1u << from->tc_to_pg[tc[i]];
        }
    }
    seen.pfc_auto = false;
    seen.fec = 0;
    if (!watchdog_anywhere(fabric)) seen.watched = 0;
    seen.headroom_cable_mm = seen.headroom_frame_bytes = 0;
    for (int p = 0; p < FABRIC_PRIOS; p++) {
        struct fabric_pg *pg = &seen.pg[p];
        if (!(queues >> p & 1)) memset(&seen.queue[p], 0, sizeof(seen.queue[p]));
        pg->headroom_given = false;
        if (!pg->dynamic) pg->alpha_num = pg->alpha_den = 0;
        if (groups >> p & 1) continue;
        pg->dynamic = false; /* its reserve and headroom are taken from the others all the same */
        pg->alpha_num = pg->alpha_den = 0;
        pg->static_bytes = pg->xon_offset_bytes = 0;
    }
    return HASH(HASH_BEGIN, seen);
}

static uint64_t hash_nic(uint64_t hash, const struct fabric_nic *from, bool faults)
{
    struct fabric_nic seen;

    memcpy(&seen, from, sizeof(seen));
    seen.congestion = NULL;
    seen.congestion_at = (struct fabric_at){0, 0};
    seen.param = seen.nccl = NULL;
    seen.nccls = 0;
    memset(&seen.pcie, 0, sizeof(seen.pcie));
    seen.cable_mm = 0;
    seen.cnp_dscp = seen.dcqcn_rp = seen.dcqcn_np = seen.dcbx_willing = seen.dcbx_mode = 0;
    if (!seen.rx_rate_bps && !faults) seen.rx_buffer_bytes = seen.rx_xoff_bytes = seen.rx_xon_bytes = 0;
    seen.software.clock_ps = seen.software.hop_ps = 0; /* of programs; jobs read no clock */
    if (!seen.reorder_packets) seen.reorder_ps = 0;
    hash = hash_word(HASH(hash, seen), from->congestion);
    for (uint32_t i = 0; i < from->params; i++)
        hash = hash_word(hash_word(hash, from->param[i].name), from->param[i].value);
    return hash;
}

/* The parameters that this way of balancing has. */
static struct fabric_balance balance_seen(const struct fabric_balance *from)
{
    struct fabric_balance seen = {.kind = from->kind};

    if (from->kind == SW_FLOWLET || from->kind == SW_ADAPTIVE) {
        seen.gap_ps = from->gap_ps;
        seen.table = from->table;
    }
    if (from->kind == SW_ADAPTIVE) {
        seen.by_flowlet = from->by_flowlet;
        seen.hysteresis = from->hysteresis;
        seen.quantum_bytes = from->quantum_bytes;
    }
    if (from->kind == SW_SPRAY) seen.round_robin = from->round_robin;
    if (from->kind == SW_PIN) seen.pin_by = from->pin_by;
    return seen;
}

static uint64_t hash_switch(uint64_t hash, const struct fabric_switch *from)
{
    struct fabric_switch seen;

    memcpy(&seen, from, sizeof(seen));
    seen.model = NULL;
    seen.nos = 0;
    seen.bridged = false;
    seen.balance = balance_seen(&from->balance);
    if (!seen.voq.on) memset(&seen.voq, 0, sizeof(seen.voq));
    if (!fabric_watchdog_runs(&seen.watchdog)) memset(&seen.watchdog, 0, sizeof(seen.watchdog));
    hash = hash_word(HASH(hash, seen), from->model);
    for (uint32_t i = 0; from->balance.kind == SW_PIN && i < from->balance.pins; i++) {
        const struct sw_pin *pin = &from->balance.pin[i];
        hash = HASH(HASH(HASH(HASH(hash, pin->src), pin->dst), pin->qp), pin->port);
    }
    return hash;
}

/* What is not resolved into arrays, as it is written. */
static uint64_t hash_written(uint64_t hash, const struct loader *loader)
{
    static const char *const seen[] = {"model",  "system", "vls",  "sl-to-vl", "vl-arbitration", "credits",
                                       "fecn",   "sm",     "seed", "stop",     "topology",       "jobs",
                                       "faults", "llr",    "cbfc", "uet"};

    for (uint32_t i = 0; i < COUNT_OF(seen); i++) {
        const struct tree *value = tree_get(loader->root, seen[i]);
        if (value) hash = tree_hash(hash, value);
    }
    const struct tree *converge = tree_get(loader->root, "converge");
    return converge && loader->fabric->faults ? tree_hash(hash, converge) : hash;
}

static bool gpus_used(const struct fabric *fabric)
{
    for (uint32_t j = 0; j < fabric->jobs; j++)
        if (job_on_gpus(&fabric->job[j])) return true;
    return false;
}

uint64_t run_hash(struct loader *loader)
{
    const struct fabric *fabric = loader->fabric;
    uint64_t *settings = SCRATCH_NEW(loader, uint64_t, fabric->settings_count);
    uint64_t hash = hash_written(HASH_BEGIN, loader);
    uint32_t classes = classes_used(fabric);

    if (!settings) return 0;
    for (uint32_t i = 0; i < fabric->settings_count; i++)
        settings[i] = hash_settings(fabric, &fabric->settings[i], classes);
    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        uint64_t seen[] = {port->rate_bps,
                           port->propagation_ps,
                           port->pause_reaction_ps,
                           port->error_ppm,
                           port->up,
                           settings[port->settings],
                           port->llr};
        hash = HASH(hash, seen);
    }
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (classes >> c & 1)
            hash =
                HASH(HASH(HASH(hash, fabric->classes[c].dscp), fabric->classes[c].priority), fabric->classes[c].system);
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        hash = HASH(hash, fabric->endpoint[e].nic);
    for (uint32_t n = 0; n < fabric->nics; n++)
        hash = hash_nic(hash, &fabric->nic[n], fabric->faults != 0);
    for (uint32_t s = 0; s < fabric->switches; s++)
        hash = hash_switch(hash, &fabric->sw[s]);
    if (!gpus_used(fabric)) return hash;
    hash = HASH(HASH(hash, fabric->gpu_line_bps), fabric->gpu_rate_bps);
    return HASH(HASH(HASH(hash, fabric->gpu_latency_ps), fabric->gpu_launch_ps), fabric->gpu_nvls_ppm);
}
