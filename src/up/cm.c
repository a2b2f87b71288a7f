/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection managers of the hosts' programs: which of them a management datagram is for.
 *
 * Each program of a host that has one has a slot, the top ten bits of its communication ids; those that listen say for
 * which service and where.  A request goes to who listens, everything else to the slot that it names
 * (packet/mad.h).  Where nobody listens the host refuses.  As a kernel does, the host says goodbye for a program that
 * ends without having done so: connections are known from the datagrams that pass.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "fabric/fabric.h"
#include "packet/codec.h"
#include "packet/mad.h"
#include "up/cm_int.h"

struct up_cm *cm_of(struct up_host *host)
{
    if (host->cm) return host->cm;
    struct up_cm *cm = calloc(1, sizeof *cm);
    if (cm) cm->qp1 = calloc(host->node->adapters, sizeof(struct cm_qp1 *));
    if (cm && cm->qp1 == NULL) {
        free(cm);
        cm = NULL;
    }
    host->cm = cm;
    return cm;
}

static uint32_t slot_of(const struct up_cm *cm, const struct up_process *process)
{
    uint32_t slot = 1;

    while (slot <= CM_SLOTS && cm->slot[slot] != process)
        slot++;
    return slot <= CM_SLOTS ? slot : 0;
}

/* The one it has, or the first that is free. */
static int slot_take(struct up_cm *cm, struct up_process *process)
{
    uint32_t slot = slot_of(cm, process);

    if (slot == 0) slot = slot_of(cm, NULL);
    if (slot == 0) return -EUSERS;
    cm->slot[slot] = process;
    return (int)slot;
}

/* --- listeners --- */

static unsigned families_of(const struct up_cm_listener *listener)
{
    return listener->any ? listener->any : pkt_addr_families(&listener->address);
}

static bool clash(const struct up_cm_listener *a, const struct up_cm_listener *b)
{
    if (a->nic != b->nic || a->service_id != b->service_id || !(families_of(a) & families_of(b))) return false;
    return a->any || b->any || memcmp(&a->address, &b->address, sizeof a->address) == 0;
}

static struct up_cm_listener as_listener(struct up_process *process, const struct attach_request *request)
{
    struct attach_service service;

    memcpy(&service, request->data, sizeof service);
    return (struct up_cm_listener){.process = process,
                                   .nic = request->nic,
                                   .service_id = service.id,
                                   .any = service.any & (PKT_FAMILY_IPV4 | PKT_FAMILY_IPV6),
                                   .address = service.address};
}

static int listen_for(struct up_cm *cm, const struct up_cm_listener *wanted)
{
    for (const struct up_cm_listener *other = cm->listeners; other; other = other->next)
        if (clash(wanted, other)) return -EADDRINUSE;
    struct up_cm_listener *listener = cm->listener_count < CM_LISTENERS_MAX ? malloc(sizeof *listener) : NULL;
    if (listener == NULL) return -ENOMEM;
    *listener = *wanted;
    listener->next = cm->listeners;
    cm->listeners = listener;
    cm->listener_count++;
    return 0;
}

static bool same(const struct up_cm_listener *a, const struct up_cm_listener *b)
{
    return a->process == b->process && a->any == b->any && clash(a, b);
}

/* NULL: all of the process's. */
static void unlisten(struct up_cm *cm, const struct up_process *process, const struct up_cm_listener *which)
{
    struct up_cm_listener **at = &cm->listeners;

    while (*at) {
        struct up_cm_listener *listener = *at;
        if (which ? same(listener, which) : listener->process == process) {
            *at = listener->next;
            free(listener);
            cm->listener_count--;
        } else {
            at = &listener->next;
        }
    }
}

/* One that named the address is preferred. */
static struct up_process *listener_of(const struct up_cm *cm, uint32_t nic, uint64_t service_id,
                                      const struct pkt_addr *address)
{
    struct up_process *found = NULL;

    for (const struct up_cm_listener *l = cm->listeners; l; l = l->next) {
        if (l->nic != nic || l->service_id != service_id) continue;
        if (!l->any && memcmp(&l->address, address, sizeof *address) == 0) return l->process;
        if (l->any & pkt_addr_families(address)) found = l->process;
    }
    return found;
}

/* --- connections --- */

static bool same_peer(const struct cm_link *link, uint32_t remote_id, const struct device_path *path)
{
    return link->remote_id == remote_id && memcmp(&link->path.remote, &path->remote, sizeof path->remote) == 0;
}

/* By our own id or, while there is none, by who asked. */
static struct cm_link **link_at(struct up_cm *cm, uint32_t slot, uint32_t local_id, uint32_t remote_id,
                                const struct device_path *path)
{
    struct cm_link **at = &cm->links[slot];

    while (*at && !(local_id && (*at)->local_id == local_id) &&
           !((*at)->local_id == 0 && same_peer(*at, remote_id, path)))
        at = &(*at)->next;
    return at;
}

static void link_end(struct up_cm *cm, uint32_t slot, struct cm_link **at)
{
    struct cm_link *ended = *at;

    if (ended == NULL) return;
    *at = ended->next;
    free(ended);
    cm->link_count[slot]--;
}

/* One that is there, or a new one; NULL: no memory, or the program has more than it can have; nobody will say goodbye
 * for it. */
static struct cm_link *link_begin(struct up_cm *cm, uint32_t slot, struct cm_link **at)
{
    if (*at || cm->link_count[slot] == CM_LINKS_MAX) return *at;
    *at = calloc(1, sizeof **at);
    if (*at) cm->link_count[slot]++;
    return *at;
}

/* A datagram of the slot's program has passed.  A request and its reply each name their sender's queue pair. */
static void learn(struct up_cm *cm, uint32_t slot, uint32_t nic, const struct cm_msg *msg, bool sent,
                  const struct device_path *path)
{
    const uint32_t ours = sent ? msg->local_id : msg->remote_id, theirs = sent ? msg->remote_id : msg->local_id;
    struct cm_link **at = link_at(cm, slot, ours, theirs, path), *link;

    switch (msg->mad.attribute) {
    case CM_REQ:
    case CM_REP:
        if (msg->mad.attribute == CM_REQ && sent) return;
        link = link_begin(cm, slot, at);
        if (link == NULL) return;
        link->nic = nic;
        link->local_id = ours;
        link->remote_id = theirs;
        link->path = *path;
        if (!sent) link->remote_qp = msg->qpn;
        return;
    case CM_REJ:
    case CM_DREQ:
    case CM_DREP:
        link_end(cm, slot, at);
        return;
    default:
        return;
    }
}

/* A goodbye for whom there is nobody left to say it. */
static void say_goodbye(struct up_host *host, const struct cm_link *link, ps_t now, struct node_io *io)
{
    const struct cm_msg msg = {.mad = {.base_version = 1,
                                       .mgmt_class = MAD_CLASS_CM,
                                       .class_version = 2,
                                       .method = 3,
                                       .tid = link->local_id,
                                       .attribute = CM_DREQ},
                               .local_id = link->local_id,
                               .remote_id = link->remote_id,
                               .qpn = link->remote_qp};
    uint8_t mad[DEVICE_MAD_BYTES];

    if (link->local_id && cm_emit(&msg, mad) == 0) (void)cm_qp1_send(host, link->nic, &link->path, mad, now, io);
}

/* --- requests, arrivals --- */

static int send_mad(struct up_process *process, const struct attach_request *request, ps_t now, struct node_io *io)
{
    struct up_cm *cm = process->host->cm;
    struct attach_mad mad;
    struct cm_msg msg;

    memcpy(&mad, request->data, sizeof mad);
    uint32_t slot = slot_of(cm, process);
    int error = cm_qp1_send(process->host, request->nic, &mad.path, mad.data, now, io);
    if (error == 0 && slot && cm_parse(mad.data, sizeof mad.data, &msg) == 0)
        learn(cm, slot, request->nic, &msg, true, &mad.path);
    return error;
}

static int alive(const struct up_process *process, const struct attach_request *request)
{
    const struct fabric *fabric = process->up->fabric;
    const struct up_host *host = process->host;
    struct attach_service asked;

    memcpy(&asked, request->data, sizeof asked);
    const struct up_process *found = asked.slot && asked.slot <= CM_SLOTS ? host->cm->slot[asked.slot] : NULL;
    for (uint32_t e = fabric->first_endpoint[host->number]; found && e < fabric->first_endpoint[host->number + 1]; e++)
        if (pkt_addr_is_ipv4(&asked.address) && memcmp(fabric->endpoint[e].address, asked.address.byte + 12, 4) == 0)
            return (int)found->number + 1;
    return 0; /* of other hosts nothing is known */
}

int cm_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io)
{
    struct up_cm *cm = cm_of(process->host);
    const struct up_cm_listener listener = as_listener(process, request);

    if (cm == NULL) return -ENOMEM;
    if (request->nic >= ATTACH_NICS || process->device[request->nic] == NULL) return -ENODEV;
    int error = cm_qp1_open(process->host, request->nic, now, io);
    if (error < 0) return error;
    switch (request->op) {
    case ATTACH_OP_MAD_SEND:
        return send_mad(process, request, now, io);
    case ATTACH_OP_CM_SLOT:
        return slot_take(cm, process);
    case ATTACH_OP_CM_LISTEN:
        return listen_for(cm, &listener);
    case ATTACH_OP_CM_UNLISTEN:
        unlisten(cm, process, &listener);
        return 0;
    case ATTACH_OP_CM_ALIVE:
        return alive(process, request);
    default:
        return -EOPNOTSUPP;
    }
}

/* Into the ring that its manager reads; lost where that is full, or nobody reads. */
static void hand_over(struct up_process *process, uint32_t nic, const struct device_mad *mad, ps_t now)
{
    struct device *device = nic < ATTACH_NICS ? process->device[nic] : NULL;

    if (device == NULL || device->mads_fd < 0) return;
    if (!up_ring_put(process, device->mads, ATTACH_MADS, sizeof *mad, &device->mads_tail, mad)) return;
    (void)eventfd_write(device->mads_fd, 1);
    turn_event(process, true, now);
}

void cm_deliver(struct up_host *host, uint32_t nic, const struct device_mad *mad, const struct device_path *back,
                ps_t now, struct node_io *io)
{
    const struct cm_owner owner = cm_owner(mad->data);
    struct up_cm *cm = host->cm;
    struct up_process *process = NULL;
    uint8_t answer[DEVICE_MAD_BYTES];
    struct cm_msg msg;

    if (cm && owner.listens)
        process = listener_of(cm, nic, owner.service_id, &mad->dst);
    else if (cm && owner.slot <= CM_SLOTS)
        process = cm->slot[owner.slot];
    if (process == NULL) {
        if (cm_refusal(mad->data, answer)) (void)cm_qp1_send(host, nic, back, answer, now, io);
        return;
    }
    uint32_t slot = slot_of(cm, process);
    if (slot && cm_parse(mad->data, DEVICE_MAD_BYTES, &msg) == 0) learn(cm, slot, nic, &msg, false, back);
    hand_over(process, nic, mad, now);
}

void cm_forget(struct up_process *process, ps_t now, struct node_io *io)
{
    struct up_cm *cm = process->host->cm;
    uint32_t slot = cm ? slot_of(cm, process) : 0;

    if (cm == NULL) return;
    unlisten(cm, process, NULL);
    if (slot == 0) return;
    cm->slot[slot] = NULL;
    while (cm->links[slot]) {
        if (io) say_goodbye(process->host, cm->links[slot], now, io);
        link_end(cm, slot, &cm->links[slot]);
    }
}

void cm_release(struct up_host *host)
{
    if (host->cm == NULL) return;
    for (uint32_t slot = 1; slot <= CM_SLOTS; slot++)
        while (host->cm->links[slot])
            link_end(host->cm, slot, &host->cm->links[slot]);
    while (host->cm->listeners) {
        struct up_cm_listener *next = host->cm->listeners->next;
        free(host->cm->listeners);
        host->cm->listeners = next;
    }
    cm_qp1_free(host);
    free(host->cm);
    host->cm = NULL;
}
