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
#include "fabric/fabric.h"
#include "up/objects/objects.h"

#define SELECTIVE_PACKETS 4096u /* as queue pairs of jobs have */

struct device_qp *up_qp_find(const struct device *device, uint32_t qpn)
{
    struct nic_qp *nic = qpn ? nic_qp_find(device->adapter->nic, qpn) : NULL;
    struct device_qp *qp = nic ? nic_qp_app(nic) : NULL;

    return qp && qp->device == device ? qp : NULL;
}

static const struct fabric_nic *nic_of(const struct device *device)
{
    const struct fabric *fabric = device->process->up->fabric;

    return &fabric->nic[fabric->endpoint[device->adapter->endpoint].nic];
}

/* What a port of this NIC carries: verbs know powers of two. */
static uint32_t mtu(const struct device *device)
{
    return device_mtu(&(struct device_info){.if_mtu = nic_of(device)->mtu_bytes + DEVICE_HEADERS});
}

static void configure(struct device_qp *qp)
{
    struct device *device = qp->device;
    const struct fabric *fabric = device->process->up->fabric;
    const struct plant *plant = sim_plant(device->process->up->sim);

    qp->config = plant_qp_config(nic_of(device), &plant->cc[fabric->endpoint[device->adapter->endpoint].nic]);
    qp->config.mtu = (uint16_t)mtu(device);
    qp->config.send_cq = qp->send_cq ? &qp->send_cq->nic : NULL;
    qp->config.recv_cq = qp->recv_cq ? &qp->recv_cq->nic : NULL;
    qp->config.selective_size = SELECTIVE_PACKETS;
}

/* The objects it names; a number that is none of the device's is refused. */
static int find_queues(struct device_qp *qp, const struct attach_qp *from, struct device_qp_init *init)
{
    struct device *device = qp->device;

    qp->send_cq = up_table_get(&device->cqs, from->send_cq);
    qp->recv_cq = up_table_get(&device->cqs, from->recv_cq);
    init->srq = up_table_get(&device->srqs, from->srq);
    init->pd = up_device_pd(device, from->pd);
    bool known = (qp->send_cq || !from->send_cq) && (qp->recv_cq || !from->recv_cq) && (init->srq || !from->srq);
    return known && init->pd != SIM_JOBS_PD && device_qp_init_valid(init) ? 0 : -EINVAL;
}

static void count_users(const struct device_qp *qp, int by)
{
    if (qp->send_cq) qp->send_cq->users += (uint32_t)by;
    if (qp->recv_cq) qp->recv_cq->users += (uint32_t)by;
}

static int make(struct device_qp *qp, const struct attach_qp *from, ps_t now)
{
    struct device_qp_init init = {.transport = from->transport,
                                  .send_entries = from->send_entries,
                                  .recv_entries = from->recv_entries,
                                  .send_sges = from->send_sges,
                                  .recv_sges = from->recv_sges,
                                  .inline_bytes = from->inline_bytes,
                                  .signal_all = from->signal_all};
    int error = find_queues(qp, from, &init);

    if (error < 0) return error;
    configure(qp);
    error = qp_init(qp, &init);
    return error < 0 ? error : qp_start(qp, 0, &qp->device->qps, now);
}

int up_qp_create(struct device *device, struct attach_request *request, ps_t now)
{
    struct device_qp *qp = calloc(1, sizeof *qp);
    struct attach_qp from;

    if (qp == NULL) return -ENOMEM;
    memcpy(&from, request->data, sizeof from);
    qp->device = device;
    qp->objects = &device->adapter->objects;
    int error = make(qp, &from, now);
    if (error < 0) {
        qp_release(qp);
        return error;
    }
    count_users(qp, 1);
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

static void forget(struct device_qp *qp)
{
    if (qp->send_cq) up_cq_forget(qp->send_cq, qp->qpn, qp->srq);
    if (qp->recv_cq && qp->recv_cq != qp->send_cq) up_cq_forget(qp->recv_cq, qp->qpn, qp->srq);
    qp->sends = qp->receives = 0;
}

/* Queue pairs of jobs take what their peer's endpoint sends: that must be their peer alone. */
static int settle(struct device_qp *qp, const struct device_qp_attr *attr)
{
    struct nic_qp_config *config = &qp->config;

    if (attr->mask & (DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_PATH))
        config->sport =
            source_port(attr->mask & DEVICE_ATTR_PATH ? attr->path.flow_label : 0, qp->qpn, config->remote_qp);
    if (qp->path && sim_qp_of_jobs(qp->device->process->up->sim, config->remote, config->remote_qp)) return -EINVAL;
    return 0;
}

const struct device_host up_objects_host = {
    .read = up_memory_read,
    .write = up_memory_write,
    .atomic = up_memory_atomic,
    .path_get = up_path_hold,
    .path_put = up_path_release,
    .path_find = up_path_find,
    .mtu = mtu,
    .qp_settle = settle,
    .qp_reset = forget,
};

int up_qp_modify(struct device *device, uint32_t qpn, const struct device_qp_attr *attr, ps_t now, struct node_io *io)
{
    struct device_qp *qp = up_qp_find(device, qpn);

    if (qp == NULL) return -EINVAL;
    int error = qp_modify(qp, attr, now, &io->nic);
    if (error == 0 && attr->mask & DEVICE_ATTR_STATE && attr->state == NIC_RTR) up_flow_begin(qp);
    if (io->nic.completed) publish_all(device->process->host, now, io);
    up_publish_events(device->adapter, now);
    return error;
}

int up_qp_state(struct device *device, struct attach_request *request)
{
    struct attach_qp_state state;

    memcpy(&state, request->data, sizeof state);
    const struct device_qp *qp = up_qp_find(device, request->object ? request->object : state.qpn);
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

int up_qp_patience(struct device *device, const struct attach_request *request, ps_t now, struct node_io *io)
{
    struct attach_qp_state state;

    memcpy(&state, request->data, sizeof state);
    struct device_qp *qp = up_qp_find(device, state.qpn);
    return qp ? qp_be_patient(qp, state.heard, now, &io->nic) : -EINVAL;
}

/* Its completions stay: a program that sees its peer leave may destroy first and poll after that. */
void up_qp_destroy(struct device_qp *qp, ps_t now, struct node_io *io)
{
    (void)now;
    if (qp->send_cq) (void)up_cq_publish(qp->send_cq);
    if (qp->recv_cq) (void)up_cq_publish(qp->recv_cq);
    qp_end(qp, &qp->device->qps, &io->nic);
    count_users(qp, -1);
    qp_release(qp);
}
