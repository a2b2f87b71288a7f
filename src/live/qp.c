/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs of the live adapter: device/qp.c under the device's lock; how much may be under way, and which way the
 * peer's packets come.
 *
 * The window.  A UDP socket of the receiver holds about 400 KB of buffers as Linux is shipped, and what does not fit
 * is lost.  So a queue pair keeps at most ROCELAB_WINDOW bytes unacknowledged, and asks for an acknowledgement at the
 * end of each run, or four times a window where there are no runs.  Several queue pairs to one process may still
 * overrun it; then loss recovery does its work.  A ring in memory holds more and loses nothing (a sender waits for
 * room), so there the window is larger: the peer may look at its ring late without stopping us.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "live/live_int.h"
#include "wire/draw.h"

#define PACKETS_MAX 128u        /* of a window: small packets take more of a buffer than their bytes */
#define MEMORY_BYTES (1u << 20) /* the window through memory: half a ring */
#define RUN_HEADERS 32u         /* BTH, RETH or less, ICRC */
#define MTU_UD 4096u
/* Selective repeat asks for a gap again after one to two of these, as long as it is there: the NAK, or what it asked
 * for, was lost too.  It costs the peer a packet and no retry, so it may be early where processes have to be woken. */
#define ASK_AGAIN_PS (4 * PS_MS)

/* In whole runs, with an acknowledgement asked for at the end of each: the sender never waits for less than a run. */
static void window_set(const struct device_qp *qp, struct nic_qp_config *config)
{
    const struct device *live = qp->device;
    uint32_t run = live->wire->run_bytes / (config->mtu + RUN_HEADERS);
    uint64_t packets = live->env.window_bytes / config->mtu;

    config->recovery = config->transport == NIC_RC ? live->env.nic.recovery : NIC_GO_BACK_N;
    config->reorder_window = 0;
    if (qp->path && wire_memory(live->wire, &live->path[qp->path].key.remote, config->remote_qp)) {
        if (config->recovery == NIC_SELECTIVE)
            config->recovery = NIC_GO_BACK_N; /* nothing is lost, the window is wide */
        config->window_packets = MEMORY_BYTES / config->mtu;
        config->ack_request_every = (uint16_t)(config->window_packets / 8);
        config->ack_every = config->ack_request_every;
        return;
    }
    if (config->recovery == NIC_SELECTIVE)
        config->reorder_window = 1; /* a gap is asked for with the first packet behind it */
    if (run > live->wire->run_max) run = live->wire->run_max;
    if (packets > PACKETS_MAX) packets = PACKETS_MAX;
    if (run > 1 && packets >= 2 * run) packets -= packets % run;
    config->window_packets = (uint32_t)(packets < 2 ? 2 : packets);
    config->ack_request_every = (uint16_t)(run > 1 && packets >= 2 * run ? run : (config->window_packets + 3) / 4);
    config->ack_every = 64;
}

/* Which way the peer's packets come (receive.c).  Of a process of this machine the registry knows whether it is reached
 * through memory, and else the port that it sends from, which no other user can have; of others it is learned. */
static void peer_ask(struct device_qp *qp)
{
    struct device *live = qp->device;
    const struct pkt_addr *remote = &live->path[qp->path].key.remote;

    qp->peer_epoch = registry_epoch(live->registry);
    bool memory = wire_memory(live->wire, remote, qp->config.remote_qp);
    uint16_t port = registry_source_port(live->registry, remote, live->env.port, qp->config.remote_qp, qp->qpn);
    if (!memory && port == 0) return;
    qp->memory = memory;
    qp->peer_port = port;
    qp->peer_known = true;
}

static void peer_set(struct device_qp *qp)
{
    qp->memory = qp->peer_known = false;
    qp->peer_port = 0;
    if (qp->path != 0 && qp->config.transport != NIC_UD) peer_ask(qp);
}

/* The peer may have begun after its queue pair was named here: the registry is asked again when it has grown since, and
 * is believed before what was learned: a forger may have been here first. */
bool qp_from_peer(struct device_qp *qp, const struct wire_packet *packet)
{
    if (!qp->peer_known && qp->peer_epoch != registry_epoch(qp->device->registry)) peer_ask(qp);
    if (packet->memory) return true;
    return !qp->memory && (qp->peer_port == 0 || qp->peer_port == packet->sport);
}

/* Who has come through memory is a process of this user, and stays there; a peer that has shown itself to be one of us
 * sends all that a queue pair gets from one port. */
void qp_learn(struct device_qp *qp, const struct wire_packet *packet)
{
    if (packet->memory)
        qp->memory = true;
    else if (qp->device->path[qp->path].peer == PEER_OURS)
        qp->peer_port = packet->sport;
}

static int fill(struct device_qp *qp, struct device *live, const struct device_qp_init *init)
{
    qp->ops = live->ops;
    qp->device = live;
    qp->objects = &live->objects;
    qp->config = plant_qp_config(&live->env.nic, &live->env.cc);
    qp->config.mtu = init->transport == NIC_UD ? MTU_UD : 1024;
    qp->config.selective_size = PACKETS_MAX;
    int error = qp_init(qp, init);
    if (qp->config.recovery == NIC_SELECTIVE) qp->config.reorder_ps = ASK_AGAIN_PS;
    if (error == 0) window_set(qp, &qp->config);
    return error;
}

/* What its shard puts into its completion queues. */
static int attach(struct device_qp *qp, const struct device_qp_init *init)
{
    int error = 0;

    if (init->send_cq) error = cq_part_get(init->send_cq, qp->device, &qp->send_cq);
    if (error == 0 && init->recv_cq) error = cq_part_get(init->recv_cq, qp->device, &qp->recv_cq);
    qp->config.send_cq = qp->send_cq ? &qp->send_cq->nic : NULL;
    qp->config.recv_cq = qp->recv_cq ? &qp->recv_cq->nic : NULL;
    return error;
}

static void count_user(const struct cq_part *part, int by)
{
    if (part) __atomic_fetch_add(&part->cq->users, (uint32_t)by, __ATOMIC_ACQ_REL);
}

/* Numbers that were never used count from one that was drawn; 0: there is none left, and the adapter takes the one that
 * has been free longest. */
static uint32_t number_fresh(struct device *live)
{
    if (live->qpns_given == 0) live->qpn_first = draw_below(LIVE_QPS);
    if (live->qpns_given == LIVE_QPS) return 0;
    uint32_t index = (live->qpn_first + live->qpns_given++) % LIVE_QPS;
    return registry_slot(live->registry) << REGISTRY_QPN_BITS | index;
}

int adapter_qp_create(struct device *first, const struct device_qp_init *init, struct device_qp **ret)
{
    struct device *live;

    if (!device_qp_init_valid(init)) return -EINVAL;
    int error = shard_choose(first, init, &live);
    if (error < 0) return error;
    struct device_qp *qp = calloc(1, sizeof *qp);
    error = qp ? fill(qp, live, init) : -ENOMEM;
    if (error == 0) error = live_enter(first);
    if (error < 0) {
        if (qp) qp_release(qp);
        return error;
    }
    if (live != first) shard_lock(live);
    error = attach(qp, init);
    if (error == 0) error = qp_start(qp, number_fresh(live), &live->qps, live_now());
    if (error == 0) {
        count_user(qp->send_cq, 1);
        count_user(qp->recv_cq, 1);
    }
    if (live != first) live_leave(live);
    live_leave(first);
    if (error < 0)
        qp_release(qp);
    else
        *ret = qp;
    return error;
}

static void forget(struct device_qp *qp)
{
    if (qp->send_cq) cq_forget(qp->send_cq, qp->qpn);
    if (qp->recv_cq && qp->recv_cq != qp->send_cq) cq_forget(qp->recv_cq, qp->qpn);
    qp->exact = 0;
    qp->foreign = qp->memory = qp->peer_known = false;
    qp->peer_port = 0;
}

static int settle(struct device_qp *qp, const struct device_qp_attr *attr)
{
    window_set(qp, &qp->config);
    if (attr->mask & (DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP)) peer_set(qp);
    qp->config.sport = wire_source_port(qp->device->wire, qp->qpn, qp->config.remote_qp);
    return 0;
}

static uint32_t mtu(const struct device *live)
{
    return device_mtu(&live->device);
}

const struct device_host live_host = {
    .read = memory_read,
    .write = memory_write,
    .atomic = memory_atomic,
    .path_get = path_enter,
    .path_put = path_leave,
    .path_find = path_find,
    .mtu = mtu,
    .qp_settle = settle,
    .qp_reset = forget,
};

int adapter_qp_modify(struct device_qp *qp, const struct device_qp_attr *attr)
{
    struct device *live = qp->device;
    int error = live_enter(live);

    if (error < 0) return error;
    ps_t now = live_now();
    error = qp_modify(qp, attr, now, &live->io);
    if (error < 0 && attr->mask & (DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP)) peer_set(qp); /* as it was */
    progress_settle(live);
    if (live->tx_wanted) progress_tx(live, now);
    progress_wake(live);
    live_leave(live);
    return error;
}

enum nic_state adapter_qp_state(struct device_qp *qp)
{
    if (live_enter(qp->device) < 0) return NIC_ERROR;
    enum nic_state state = nic_qp_state(qp->nic);
    live_leave(qp->device);
    return state;
}

void adapter_qp_psns(struct device_qp *qp, uint32_t *ret_send, uint32_t *ret_expect)
{
    if (live_enter(qp->device) < 0) return;
    nic_qp_psns(qp->nic, ret_send, ret_expect);
    live_leave(qp->device);
}

uint64_t adapter_qpn_heard(struct device *live, uint32_t qpn)
{
    uint64_t heard = 0;

    if (shard_enter_all(live) < 0) return 0;
    for (unsigned i = 0; i < live->shards; i++) {
        const struct nic_qp *qp = live->shard[i] ? nic_qp_find(live->shard[i]->nic, qpn) : NULL;
        if (qp != NULL) heard = nic_qp_heard(qp);
    }
    shard_leave_all(live);
    return heard;
}

void adapter_qpn_be_patient(struct device *live, uint32_t qpn, uint64_t patience_ns)
{
    if (live->env.strict_rnr || shard_enter_all(live) < 0) return;
    for (unsigned i = 0; i < live->shards; i++) {
        struct device *shard = live->shard[i];
        struct nic_qp *nic = shard ? nic_qp_find(shard->nic, qpn) : NULL;
        if (nic == NULL) continue;
        (void)qp_be_patient(nic_qp_app(nic), patience_ns, live_now(), &shard->io);
    }
    shard_leave_all(live);
}

uint32_t adapter_qp_number(const struct device_qp *qp)
{
    return qp->qpn;
}

uint32_t adapter_qp_send_room(struct device_qp *qp)
{
    uint32_t room;

    if (shard_enter_post(qp->device) < 0) return 0;
    room = qp->config.sq_size - nic_qp_queued(qp->nic);
    live_leave(qp->device);
    return room;
}

/* The n-th member goes; with the last of a group the address goes too. */
static void group_leave(struct device *live, uint32_t n)
{
    struct pkt_addr group = live->member[n].group;

    live->member[n] = live->member[--live->members];
    for (uint32_t i = 0; i < live->members; i++)
        if (memcmp(&live->member[i].group, &group, sizeof group) == 0) return;
    wire_remove_address(live->wire, &group);
}

int adapter_qp_destroy(struct device_qp *qp)
{
    struct device *live = qp->device;

    if (live_enter(live) == 0) {
        /* What it has to say last (a NAK, an ACK) is said before it goes. */
        if (live->tx_wanted) progress_tx(live, live_now());
        if (qp->send_cq) cq_keep(qp->send_cq, qp->qpn);
        if (qp->recv_cq && qp->recv_cq != qp->send_cq) cq_keep(qp->recv_cq, qp->qpn);
        for (uint32_t i = live->members; i-- > 0;)
            if (live->member[i].qp == qp) group_leave(live, i);
        qp_end(qp, &live->qps, &live->io);
        progress_settle(live);
        events_forget(live, qp->app);
        count_user(qp->send_cq, -1);
        count_user(qp->recv_cq, -1);
        live_leave(live);
    }
    qp_release(qp);
    return 0;
}

int adapter_multicast(struct device_qp *qp, const struct pkt_addr *group, bool join)
{
    struct device *live = qp->device;
    uint32_t at = 0;
    int error = live_enter(live);

    if (error < 0) return error;
    while (at < live->members &&
           (live->member[at].qp != qp || memcmp(&live->member[at].group, group, sizeof *group) != 0))
        at++;
    bool member = at < live->members;
    if (join && !member) {
        struct member *grown = realloc(live->member, (live->members + 1) * sizeof *grown);
        error = grown ? live->wire->ops->add_address(live->wire, group) : -ENOMEM;
        if (grown) live->member = grown;
        if (error == 0) live->member[live->members++] = (struct member){.qp = qp, .group = *group};
    } else if (!join && member) {
        group_leave(live, at);
    } else if (!join) {
        error = -EINVAL;
    }
    live_leave(live);
    return error;
}
