/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs of programs, on adapters of the fabric.
 *
 * A queue pair is configured as the fabric file says of the host's NIC (recovery, windows, congestion control,
 * acknowledgements), then as the program says: MTU, timeouts, retries.  Numbers are the adapter's own choice, behind
 * the jobs', so a run repeats.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "up/objects/objects.h"

#define SELECTIVE_PACKETS 4096u /* as queue pairs of jobs have */
#define MTU_LEAST 256u

struct up_qp *up_qp_find(const struct up_device *device, uint32_t qpn)
{
    struct nic_qp *nic = qpn ? nic_qp_find(device->adapter->nic, qpn) : NULL;
    struct up_qp *qp = nic ? nic_qp_app(nic) : NULL;

    return qp && qp->device == device ? qp : NULL;
}

static const struct fabric_nic *nic_of(const struct up_device *device)
{
    const struct fabric *fabric = device->process->up->fabric;

    return &fabric->nic[fabric->endpoint[device->adapter->endpoint].nic];
}

/* What a port of this NIC carries: verbs know powers of two. */
static uint32_t mtu_most(const struct up_device *device)
{
    uint32_t most = UP_PAYLOAD_BYTES;

    while (most > nic_of(device)->mtu_bytes && most > MTU_LEAST)
        most /= 2;
    return most;
}

static void release(struct up_qp *qp)
{
    free(qp->config.resource);
    free(qp->config.selective);
    records_release(&qp->records, &qp->config);
    free(qp);
}

static int configure(struct up_qp *qp, const struct attach_qp *from)
{
    struct up_device *device = qp->device;
    const struct fabric *fabric = device->process->up->fabric;
    const struct plant *plant = sim_plant(device->process->up->sim);
    struct nic_qp_config *config = &qp->config;

    *config = plant_qp_config(nic_of(device), &plant->cc[fabric->endpoint[device->adapter->endpoint].nic]);
    config->transport = from->transport;
    config->mtu = (uint16_t)mtu_most(device);
    config->access = 0;
    config->pd = qp->pd;
    config->send_cq = qp->send_cq ? &qp->send_cq->nic : NULL;
    config->recv_cq = qp->recv_cq ? &qp->recv_cq->nic : NULL;
    config->srq = qp->srq ? &qp->srq->receives.nic : NULL;
    config->born_reset = true;
    config->app = qp;
    if (from->transport != NIC_RC) {
        config->recovery = NIC_GO_BACK_N;
        config->reorder_window = 0;
        return 0;
    }
    config->resource_size = DEVICE_READS_MAX;
    config->resource = calloc(DEVICE_READS_MAX, sizeof *config->resource);
    if (config->resource == NULL) return -ENOMEM;
    if (config->recovery != NIC_SELECTIVE) return 0;
    config->selective_size = SELECTIVE_PACKETS;
    config->selective = calloc(1, nic_selective_bytes(SELECTIVE_PACKETS));
    return config->selective ? 0 : -ENOMEM;
}

static int rings(struct up_qp *qp, const struct attach_qp *from)
{
    const struct device_qp_init init = {.transport = from->transport,
                                        .pd = qp->pd,
                                        .send_entries = from->send_entries,
                                        .recv_entries = from->srq ? 0 : from->recv_entries,
                                        .send_sges = from->send_sges,
                                        .recv_sges = from->recv_sges,
                                        .inline_bytes = from->inline_bytes};

    return records_init(&qp->records, &qp->config, &init);
}

/* The objects it names; a number that is none of the device's is refused. */
static int find_queues(struct up_qp *qp, const struct attach_qp *from)
{
    struct up_device *device = qp->device;

    qp->send_cq = up_table_get(&device->cqs, from->send_cq);
    qp->recv_cq = up_table_get(&device->cqs, from->recv_cq);
    qp->srq = up_table_get(&device->srqs, from->srq);
    qp->pd = up_device_pd(device, from->pd);
    bool known = (qp->send_cq || !from->send_cq) && (qp->recv_cq || !from->recv_cq) && (qp->srq || !from->srq);
    return known && qp->pd != SIM_JOBS_PD ? 0 : -EINVAL;
}

static void count_users(const struct up_qp *qp, int by)
{
    if (qp->send_cq) qp->send_cq->users += (uint32_t)by;
    if (qp->recv_cq) qp->recv_cq->users += (uint32_t)by;
    if (qp->srq) qp->srq->users += (uint32_t)by;
}

static int make(struct up_device *device, const struct attach_qp *from, ps_t now, struct up_qp **ret)
{
    struct up_qp *qp = calloc(1, sizeof *qp);

    if (qp == NULL) return -ENOMEM;
    qp->device = device;
    qp->signal_all = from->signal_all;
    int error = find_queues(qp, from);
    if (error == 0) error = configure(qp, from);
    if (error == 0) error = rings(qp, from);
    if (error == 0) error = nic_qp_create(device->adapter->nic, 0, &qp->config, now, &qp->nic);
    if (error < 0) {
        release(qp);
        return error;
    }
    qp->qpn = nic_qp_number(qp->nic);
    qp->next = device->qps;
    device->qps = qp;
    count_users(qp, 1);
    *ret = qp;
    return 0;
}

int up_qp_create(struct up_device *device, struct attach_request *request, ps_t now)
{
    struct attach_qp from;
    struct up_qp *qp;

    memcpy(&from, request->data, sizeof from);
    if (from.transport > NIC_UD || from.send_entries > DEVICE_ENTRIES_MAX || from.recv_entries > DEVICE_ENTRIES_MAX ||
        from.send_sges > DEVICE_SGES_MAX || from.recv_sges > DEVICE_SGES_MAX || from.inline_bytes > DEVICE_INLINE_MAX)
        return -EINVAL;
    int error = make(device, &from, now, &qp);
    if (error < 0) return error;
    const struct attach_made made = {.number = qp->qpn, .entries = qp->config.sq_size};
    memcpy(request->data, &made, sizeof made);
    request->object = qp->qpn;
    return 0;
}

/* Packets of a flow go one way; flows differ in their port. */
static uint16_t source_port(uint32_t flow_label, uint32_t qpn, uint32_t remote_qp)
{
    uint64_t mixed = flow_label ? flow_label : ((uint64_t)qpn << 24 | remote_qp);

    mixed *= 0x9e3779b97f4a7c15ULL;
    return (uint16_t)(0xc000 | (mixed >> 40 & 0x3fff));
}

/* RESET forgets all that was learned, and completions that wait. */
static void reset(struct up_qp *qp)
{
    uint64_t record;

    if (qp->srq && nic_qp_held(qp->nic, &record)) receives_release(&qp->srq->receives, record);
    if (qp->send_cq) up_cq_forget(qp->send_cq, qp->qpn, qp->srq);
    if (qp->recv_cq && qp->recv_cq != qp->send_cq) up_cq_forget(qp->recv_cq, qp->qpn, qp->srq);
    qp->connected = false;
    qp->sends = qp->receives = 0;
    qp->config.remote = 0;
    qp->config.rnr_patience_ps = 0;
}

static bool mtu_fits(const struct up_device *device, uint32_t mtu)
{
    return is_power_of_two(mtu) && mtu >= MTU_LEAST && mtu <= mtu_most(device);
}

static int take_path(struct up_qp *qp, const struct device_path *key)
{
    struct up_path path;
    int error = up_path_resolve(qp->device->process->up->fabric, key, &path);

    if (error < 0) return error;
    qp->connected = true;
    qp->config.remote = path.endpoint;
    qp->config.tos = path.tos;
    qp->config.prio = path.prio;
    return 0;
}

/* Queue pairs of jobs take what their peer's endpoint sends: that must be their peer alone. */
static bool jobs_own(const struct up_qp *qp)
{
    return qp->connected && sim_qp_of_jobs(qp->device->process->up->sim, qp->config.remote, qp->config.remote_qp);
}

static int modify(struct up_qp *qp, const struct device_qp_attr *attr, ps_t now, struct node_io *io)
{
    struct nic *nic = qp->device->adapter->nic;
    bool moves = attr->mask & DEVICE_ATTR_STATE && attr->state != nic_qp_state(qp->nic);
    bool connects = moves && (attr->state == NIC_RTR || attr->state == NIC_RTS);
    bool resets = moves && attr->state == NIC_RESET, talks = nic_qp_state(qp->nic) > NIC_INIT;
    uint32_t remote_qp = qp->config.remote_qp;
    int error = 0;

    if (attr->mask & DEVICE_ATTR_MTU && !mtu_fits(qp->device, attr->mtu)) return -EINVAL;
    if (attr->mask & DEVICE_ATTR_PATH) error = take_path(qp, &attr->path);
    if (error < 0) return error;
    if (connects && qp->config.transport != NIC_UD && !qp->connected) return -EINVAL; /* nobody to talk to */
    uint32_t told = attributes_collect(&qp->config, attr) | (attr->mask & DEVICE_ATTR_PATH ? NIC_SET_PATH : 0u);
    if (talks) qp->config.remote_qp = remote_qp; /* the adapter was told; the way to it may still change */
    if (attr->mask & DEVICE_ATTR_REMOTE_QP || attr->mask & DEVICE_ATTR_PATH)
        qp->config.sport =
            source_port(attr->mask & DEVICE_ATTR_PATH ? attr->path.flow_label : 0, qp->qpn, qp->config.remote_qp);
    if ((connects || talks) && jobs_own(qp)) return -EINVAL;
    if (resets) reset(qp);
    if (nic_qp_state(qp->nic) <= NIC_INIT && !resets) {
        error = nic_qp_connect(nic, qp->nic, &qp->config, now);
    } else if (told && nic_qp_state(qp->nic) != NIC_ERROR) {
        error = nic_qp_update(nic, qp->nic, &qp->config, told, now, &io->nic);
    }
    if (error == 0 && moves) error = nic_qp_modify(nic, qp->nic, attr->state, now, &io->nic);
    return error;
}

int up_qp_modify(struct up_device *device, uint32_t qpn, const struct device_qp_attr *attr, ps_t now,
                 struct node_io *io)
{
    struct up_qp *qp = up_qp_find(device, qpn);

    if (qp == NULL) return -EINVAL;
    struct nic_qp_config before = qp->config;
    bool connected = qp->connected;
    int error = modify(qp, attr, now, io);
    if (error < 0) { /* what was refused is not remembered */
        qp->config = before;
        qp->connected = connected;
    }
    if (error == 0 && attr->mask & DEVICE_ATTR_STATE && attr->state == NIC_RTR) up_flow_begin(qp);
    if (io->nic.completed) publish_all(device->process->host, now, io);
    up_publish_events(device->adapter, now);
    return error;
}

int up_qp_state(struct up_device *device, struct attach_request *request)
{
    struct attach_qp_state state;

    memcpy(&state, request->data, sizeof state);
    const struct up_qp *qp = up_qp_find(device, request->object ? request->object : state.qpn);
    if (qp == NULL) return -EINVAL;
    state.qpn = qp->qpn;
    state.state = nic_qp_state(qp->nic);
    state.sent = qp->sends - nic_qp_queued(qp->nic);
    state.taken = qp->receives - nic_qp_receives(qp->nic);
    state.heard = nic_qp_heard(qp->nic);
    nic_qp_psns(qp->nic, &state.send_psn, &state.expect_psn);
    memcpy(request->data, &state, sizeof state);
    return 0;
}

int up_qp_patience(struct up_device *device, const struct attach_request *request, ps_t now, struct node_io *io)
{
    struct attach_qp_state state;

    memcpy(&state, request->data, sizeof state);
    struct up_qp *qp = up_qp_find(device, state.qpn);
    if (qp == NULL || state.heard > PS_NEVER / PS_NS) return -EINVAL;
    qp->config.rnr_patience_ps = state.heard * PS_NS;
    return nic_qp_update(device->adapter->nic, qp->nic, &qp->config, NIC_SET_RNR_PATIENCE, now, &io->nic);
}

/* Its completions stay: a program that sees its peer leave may destroy first and poll after that. */
void up_qp_destroy(struct up_qp *qp, ps_t now, struct node_io *io)
{
    struct up_device *device = qp->device;
    struct up_qp **at = &device->qps;
    uint64_t record;

    (void)now;
    if (qp->send_cq) (void)up_cq_publish(qp->send_cq);
    if (qp->recv_cq) (void)up_cq_publish(qp->recv_cq);
    if (qp->srq && nic_qp_held(qp->nic, &record)) receives_release(&qp->srq->receives, record);
    nic_qp_destroy(device->adapter->nic, qp->nic, &io->nic);
    while (*at != qp)
        at = &(*at)->next;
    *at = qp->next;
    count_users(qp, -1);
    release(qp);
}
