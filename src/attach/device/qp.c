/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs: made and moved between states by the fabric; here are their numbers, and how many work requests are
 * under way (post.c asks).
 */
#include <stdlib.h>
#include <string.h>

#include "attach/device/device_int.h"
#include "base/bits.h"

struct device_qp *attached_qp_find(struct device *device, uint32_t number)
{
    return (struct device_qp *)attached_find(*attached_qp_bucket(device, number), number);
}

static uint32_t cq_number(const struct device_cq *cq)
{
    return cq ? cq->number : 0;
}

static void count_users(const struct device_qp *qp, int by)
{
    if (qp->send_cq) __atomic_fetch_add(&qp->send_cq->users, (uint32_t)by, __ATOMIC_ACQ_REL);
    if (qp->recv_cq) __atomic_fetch_add(&qp->recv_cq->users, (uint32_t)by, __ATOMIC_ACQ_REL);
    if (qp->srq) __atomic_fetch_add(&qp->srq->users, (uint32_t)by, __ATOMIC_ACQ_REL);
}

/* A record of what the fabric is about to make. */
static struct device_qp *qp_new(struct device *device, const struct device_qp_init *init)
{
    const uint32_t sends = init->send_entries ? power_of_two_up(init->send_entries) : 0;
    struct device_qp *qp = malloc(sizeof *qp);

    if (qp == NULL) return NULL;
    *qp = (struct device_qp){{.ops = device->ops, .device = device, .app = init->app},
                             .transport = init->transport,
                             .state = NIC_RESET,
                             .signal_all = init->signal_all,
                             .mtu = (uint16_t)device->head->nic[device->nic].mtu,
                             .send_size = sends,
                             .recv_size = init->recv_entries && !init->srq ? power_of_two_up(init->recv_entries) : 0,
                             .send_sges = init->send_sges,
                             .recv_sges = init->recv_sges,
                             .inline_bytes = init->inline_bytes,
                             .send_cq = init->send_cq,
                             .recv_cq = init->recv_cq,
                             .srq = init->srq,
                             .signaled = calloc(sends ? sends : 1, sizeof(uint32_t))};
    if (qp->signaled) return qp;
    free(qp);
    return NULL;
}

static void qp_free(struct device_qp *qp)
{
    free(qp->signaled);
    free(qp);
}

int attached_qp_create(struct device *device, const struct device_qp_init *init, struct device_qp **ret)
{
    const struct attach_qp asked = {.pd = init->pd,
                                    .send_entries = init->send_entries,
                                    .recv_entries = init->recv_entries,
                                    .send_sges = init->send_sges,
                                    .recv_sges = init->recv_sges,
                                    .inline_bytes = init->inline_bytes,
                                    .send_cq = cq_number(init->send_cq),
                                    .recv_cq = cq_number(init->recv_cq),
                                    .srq = init->srq ? init->srq->number : 0,
                                    .transport = init->transport,
                                    .signal_all = init->signal_all};
    struct attach_made made;

    if (!device_qp_init_valid(init)) return -EINVAL;
    struct device_qp *qp = qp_new(device, init);
    if (qp == NULL) return -ENOMEM;
    int error = attached_make(device, ATTACH_OP_QP_CREATE, &asked, sizeof asked, &made);
    if (error < 0) {
        qp_free(qp);
        return error;
    }
    attached_link((struct attached_object *)qp, attached_qp_bucket(device, made.number), made.number);
    count_users(qp, 1);
    *ret = qp;
    return 0;
}

/* Nothing is under way, and what was completed before is not told any more. */
static void begin_anew(struct device_qp *qp)
{
    if (qp->send_cq) attached_cq_forget(qp->send_cq, qp->number);
    if (qp->recv_cq && qp->recv_cq != qp->send_cq) attached_cq_forget(qp->recv_cq, qp->number);
    pthread_mutex_lock(&qp->device->lock);
    qp->room_taken = qp->posted = qp->sent = 0;
    qp->recv_posted = qp->recv_polled = qp->recv_told = 0;
    qp->signaled_head = qp->signaled_tail = 0;
    qp->failed = false;
    pthread_mutex_unlock(&qp->device->lock);
}

int attached_qp_modify(struct device_qp *qp, const struct device_qp_attr *attr)
{
    struct device_qp_attr told = *attr;
    int error = attached_enter(qp->device);

    if (error < 0) return error;
    error = attached_ask(qp->device, ATTACH_OP_QP_MODIFY, qp->number, &told, sizeof told, NULL);
    if (error >= 0) {
        if (attr->mask & DEVICE_ATTR_MTU) qp->mtu = attr->mtu;
        if (attr->mask & DEVICE_ATTR_MAX_READ) qp->max_read = attr->max_read;
        if (attr->mask & DEVICE_ATTR_STATE) {
            if (attr->state == NIC_RESET && qp->state != NIC_RESET) begin_anew(qp);
            qp->state = attr->state;
        }
    }
    attached_leave();
    return error < 0 ? error : 0;
}

int attached_qp_ask(struct device_qp *qp, struct attach_qp_state *ret)
{
    *ret = (struct attach_qp_state){.qpn = qp->number};
    int error = attached_ask(qp->device, ATTACH_OP_QP_STATE, qp->number, ret, sizeof *ret, NULL);

    if (error < 0) return error;
    pthread_mutex_lock(&qp->device->lock);
    if ((int32_t)(ret->sent - qp->sent) > 0) qp->sent = ret->sent;
    qp->recv_told = ret->taken;
    pthread_mutex_unlock(&qp->device->lock);
    return 0;
}

enum nic_state attached_qp_state(struct device_qp *qp)
{
    struct attach_qp_state is;

    if (attached_enter(qp->device) < 0) return NIC_ERROR;
    int error = attached_qp_ask(qp, &is);
    attached_leave();
    return error < 0 ? NIC_ERROR : (enum nic_state)is.state;
}

void attached_qp_psns(struct device_qp *qp, uint32_t *ret_send, uint32_t *ret_expect)
{
    struct attach_qp_state is;

    if (attached_enter(qp->device) < 0) return;
    if (attached_qp_ask(qp, &is) == 0) {
        *ret_send = is.send_psn;
        *ret_expect = is.expect_psn;
    }
    attached_leave();
}

uint64_t attached_qpn_heard(struct device *device, uint32_t qpn)
{
    struct attach_qp_state is = {.qpn = qpn};

    return attached_ask_once(device, ATTACH_OP_QP_STATE, 0, &is, sizeof is) < 0 ? 0 : is.heard;
}

/* With the virtual clock nobody lacks a core: a receive that comes late is the program's fault, as with hardware. */
void attached_qpn_be_patient(struct device *device, uint32_t qpn, uint64_t patience_ns)
{
    struct attach_qp_state told = {.qpn = qpn, .heard = patience_ns};

    const char *strict = getenv("ROCELAB_STRICT_RNR");

    if (device->head->clock == ATTACH_VIRTUAL || (strict && strcmp(strict, "on") == 0)) return;
    (void)attached_ask_once(device, ATTACH_OP_QP_PATIENCE, 0, &told, sizeof told);
}

uint32_t attached_qp_number(const struct device_qp *qp)
{
    return qp->number;
}

uint32_t attached_qp_send_room(struct device_qp *qp)
{
    struct attach_qp_state is;

    if (attached_enter(qp->device) < 0) return 0;
    (void)attached_qp_ask(qp, &is);
    pthread_mutex_lock(&qp->device->lock);
    uint32_t room = qp->send_size - (qp->room_taken - qp->sent);
    pthread_mutex_unlock(&qp->device->lock);
    attached_leave();
    return room;
}

int attached_qp_destroy(struct device_qp *qp)
{
    struct device *device = qp->device;

    if (!attached_inert(device)) {
        (void)attached_ask_once(device, ATTACH_OP_QP_DESTROY, qp->number, NULL, 0);
        attached_events_forget(device, qp->app);
        attached_unlink((struct attached_object *)qp, attached_qp_bucket(device, qp->number));
        count_users(qp, -1);
    }
    qp_free(qp);
    return 0;
}

/* All sends up to one that is told of are done. */
static void sent_one(struct device_qp *qp, const struct nic_cqe *cqe)
{
    if (cqe->status != NIC_SUCCESS) qp->failed = true;
    if (qp->failed || qp->signaled_head == qp->signaled_tail) return;
    uint32_t place = qp->signaled[qp->signaled_head++ & (qp->send_size - 1)];
    if ((int32_t)(place + 1 - qp->sent) > 0) qp->sent = place + 1;
}

void attached_qp_completed(struct device *device, const struct nic_cqe *cqe)
{
    struct device_qp *qp = attached_qp_find(device, cqe->qpn);

    if (qp == NULL) return;
    if (!cqe->receive)
        sent_one(qp, cqe);
    else if (qp->srq)
        qp->srq->polled++;
    else
        qp->recv_polled++;
}

int attached_multicast(struct device_qp *qp, const struct pkt_addr *group, bool join)
{
    struct attach_group told = {.group = *group, .join = join};
    int error = attached_ask_once(qp->device, ATTACH_OP_MULTICAST, qp->number, &told, sizeof told);

    return error < 0 ? error : 0;
}

int attached_path_get(struct device *device, const struct device_path *path, uint32_t *ret)
{
    struct device_path told = *path;
    int number = attached_ask_once(device, ATTACH_OP_PATH_GET, 0, &told, sizeof told);

    if (number < 0) return number;
    *ret = (uint32_t)number;
    return 0;
}

void attached_path_put(struct device *device, uint32_t path)
{
    (void)attached_ask_once(device, ATTACH_OP_PATH_PUT, path, NULL, 0);
}
