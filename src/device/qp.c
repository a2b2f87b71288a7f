/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs and shared receive queues: made, moved between states, ended; see objects.h.
 *
 * Attributes come in pieces, one transition at a time (volume 1, 10.3.1); they are collected in a configuration that
 * src/nic is given when the remote side is known (to RTR) and told of changes after that.
 */
#include <stdlib.h>

#include "base/bits.h"
#include "base/check.h"
#include "device/objects.h"

#define MTU_LEAST 256u

/* Both rings, and what a responder keeps; the size of what selective repeat keeps is the driver's setting. */
int qp_init(struct device_qp *qp, const struct device_qp_init *init)
{
    struct queue_pair *pair = queue_pair_of(qp);
    struct nic_qp_config *config = &pair->config;

    pair->pd = init->pd;
    pair->app = init->app;
    pair->signal_all = init->signal_all;
    pair->srq = init->srq;
    config->transport = init->transport;
    config->access = 0;
    config->pd = init->pd;
    config->srq = init->srq ? &init->srq->receives.nic : NULL;
    config->born_reset = true;
    config->app = qp;
    if (init->transport == NIC_RC) {
        config->resource_size = DEVICE_READS_MAX;
        config->resource = calloc(DEVICE_READS_MAX, sizeof *config->resource);
        if (config->resource == NULL) return -ENOMEM;
    } else {
        config->recovery = NIC_GO_BACK_N;
    }
    if (config->recovery == NIC_SELECTIVE) {
        config->selective = calloc(1, nic_selective_bytes(config->selective_size));
        if (config->selective == NULL) return -ENOMEM;
    } else {
        config->reorder_window = 0;
        config->selective_size = 0;
    }
    return records_init(&pair->records, config, init);
}

void qp_release(struct device_qp *qp)
{
    struct queue_pair *pair = queue_pair_of(qp);

    free(pair->config.resource);
    free(pair->config.selective);
    records_release(&pair->records, &pair->config);
    free(qp);
}

int qp_start(struct device_qp *qp, uint32_t number, struct device_qp **first, ps_t now)
{
    struct queue_pair *pair = queue_pair_of(qp);
    int error = nic_qp_create(pair->objects->nic, number, &pair->config, now, &pair->nic);

    if (error < 0) return error;
    pair->qpn = nic_qp_number(pair->nic);
    pair->next = *first;
    *first = qp;
    if (pair->srq) pair->srq->users++;
    return 0;
}

static void put_path(struct queue_pair *pair, uint32_t path)
{
    if (path) pair->objects->host->path_put(pair->device, path);
}

/* A receive that it holds of a shared queue is free again. */
static void give_back(struct queue_pair *pair)
{
    uint64_t record;

    if (pair->srq && nic_qp_held(pair->nic, &record)) receives_release(&pair->srq->receives, record);
}

void qp_end(struct device_qp *qp, struct device_qp **first, struct nic_io *io)
{
    struct queue_pair *pair = queue_pair_of(qp);

    give_back(pair);
    put_path(pair, pair->path);
    nic_qp_destroy(pair->objects->nic, pair->nic, io);
    while (*first != qp)
        first = &queue_pair_of(*first)->next;
    *first = pair->next;
    if (pair->srq) pair->srq->users--;
}

/* --- from state to state --- */

/* Forgets all that was learned, and completions that wait. */
static void reset(struct device_qp *qp)
{
    struct queue_pair *pair = queue_pair_of(qp);

    give_back(pair);
    pair->objects->host->qp_reset(qp);
    put_path(pair, pair->path);
    pair->path = 0;
    pair->config.remote = 0;
    pair->config.rnr_patience_ps = 0;
}

static bool mtu_fits(const struct queue_pair *pair, uint32_t mtu)
{
    return is_power_of_two(mtu) && mtu >= MTU_LEAST && mtu <= pair->objects->host->mtu(pair->device);
}

static int use_path(struct queue_pair *pair)
{
    struct path_end end;

    if (!pair->objects->host->path_find(pair->device, pair->path, &end)) return -EINVAL;
    pair->config.remote = end.endpoint;
    pair->config.tos = end.tos;
    pair->config.prio = end.prio;
    return 0;
}

static int move(struct device_qp *qp, const struct device_qp_attr *attr, ps_t now, struct nic_io *io)
{
    struct queue_pair *pair = queue_pair_of(qp);
    struct nic *nic = pair->objects->nic;
    const enum nic_state state = nic_qp_state(pair->nic);
    const bool moves = attr->mask & DEVICE_ATTR_STATE && attr->state != state;
    const bool resets = moves && attr->state == NIC_RESET;
    const bool connects = moves && (attr->state == NIC_RTR || attr->state == NIC_RTS);
    const uint32_t remote_qp = pair->config.remote_qp;
    int error = attr->mask & DEVICE_ATTR_PATH ? use_path(pair) : 0;

    if (error == 0 && attr->mask & DEVICE_ATTR_MTU && !mtu_fits(pair, attr->mtu)) error = -EINVAL;
    if (error == 0 && connects && pair->config.transport != NIC_UD && pair->path == 0) error = -EINVAL;
    if (error < 0) return error;
    uint32_t told = attributes_collect(&pair->config, attr) | (attr->mask & DEVICE_ATTR_PATH ? NIC_SET_PATH : 0u);
    if (state > NIC_INIT) pair->config.remote_qp = remote_qp; /* the adapter was told; the way to it may still change */
    error = pair->objects->host->qp_settle(qp, attr);
    if (error < 0) return error;
    if (state <= NIC_INIT && !resets)
        error = nic_qp_connect(nic, pair->nic, &pair->config, now);
    else if (told && state != NIC_ERROR)
        error = nic_qp_update(nic, pair->nic, &pair->config, told, now, io);
    if (error < 0 || !moves) return error;
    if (resets) reset(qp);
    error = nic_qp_modify(nic, pair->nic, attr->state, now, io);
    CHECK(error == 0 || !resets); /* that way is always open, and the path has been given back */
    return error;
}

int qp_modify(struct device_qp *qp, const struct device_qp_attr *attr, ps_t now, struct nic_io *io)
{
    struct queue_pair *pair = queue_pair_of(qp);
    const struct nic_qp_config config = pair->config;
    uint32_t path = pair->path;
    const bool other = attr->mask & DEVICE_ATTR_PATH;
    int error = other ? pair->objects->host->path_get(pair->device, &attr->path, &pair->path) : 0;

    if (error < 0) return error;
    error = move(qp, attr, now, io);
    if (error < 0) {
        uint32_t refused = pair->path;
        pair->config = config;
        pair->path = path;
        path = refused;
    }
    if (other) put_path(pair, path);
    return error;
}

int qp_be_patient(struct device_qp *qp, uint64_t patience_ns, ps_t now, struct nic_io *io)
{
    struct queue_pair *pair = queue_pair_of(qp);

    if (patience_ns > PS_NEVER / PS_NS) return -EINVAL;
    pair->config.rnr_patience_ps = patience_ns * PS_NS;
    return nic_qp_update(pair->objects->nic, pair->nic, &pair->config, NIC_SET_RNR_PATIENCE, now, io);
}

/* --- shared receive queues --- */

/* A receive that a queue pair holds knows its record's address: then the records cannot move. */
static bool held(const struct device_srq *srq, struct device_qp *first)
{
    uint64_t record;

    for (struct device_qp *qp = first; qp; qp = queue_pair_of(qp)->next)
        if (queue_pair_of(qp)->srq == srq && nic_qp_held(queue_pair_of(qp)->nic, &record)) return true;
    return false;
}

int srq_change(struct device_srq *srq, struct device_qp *first, uint32_t entries, uint32_t limit)
{
    struct receives *receives = &srq->receives;
    const bool grows = entries != DEVICE_SRQ_KEEP && entries > receives->entries;
    int error = 0;

    if (entries != DEVICE_SRQ_KEEP && entries > DEVICE_SRQ_MAX) return -EINVAL;
    if (limit != DEVICE_SRQ_KEEP && limit > (grows ? entries : receives->entries)) return -EINVAL;
    if (grows) error = held(srq, first) ? -EBUSY : receives_grow(receives, power_of_two_up(entries));
    if (error == 0 && limit != DEVICE_SRQ_KEEP) receives->nic.limit = limit;
    return error;
}
