/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections set up through CM (InfiniBand 1.x vol. 1, chapter 12), one entry each.
 *
 * A set-up is known by its initiator's address and communication id: the REQ brings it, every later
 * message names it, as the local id when the initiator sends and as the remote id when the acceptor
 * does.  SIDR works the same way with its request id.  Once both QP numbers are known the entry is
 * also found by either direction of the data: that is how an RC connection gets its other half
 * before the first answer.
 *
 * At most CM_ENTRIES set-ups are kept; beyond that the one that began first is replaced and counted.
 */
#include "capture/capture_int.h"

#include "base/check.h"
#include "packet/mad.h"

void cap_cm_init(struct capture *capture)
{
    CHECK(capture->cm_count == 0);
    /* chains hold index + 1: zeroed memory is empty */
    memset(capture->cm_by_id, 0, sizeof capture->cm_by_id);
    memset(capture->cm_by_qp, 0, sizeof capture->cm_by_qp);
}

static uint32_t id_bucket(const struct pkt_addr *initiator, uint32_t vni, uint32_t id, bool sidr)
{
    return (uint32_t)hash_flow(initiator, initiator, vni, (uint64_t)sidr << 32 | id) % CM_BUCKETS;
}

static uint32_t qp_bucket(const struct pkt_addr *src, const struct pkt_addr *dst, uint32_t vni, uint32_t dst_qp)
{
    return (uint32_t)hash_flow(src, dst, vni, dst_qp) % CM_BUCKETS;
}

/* way 0: what the initiator sends, way 1: what the acceptor sends. */
static uint32_t entry_qp_bucket(const struct cm_entry *entry, unsigned way)
{
    const struct capture_cm *view = &entry->view;
    return way == 0 ? qp_bucket(&view->initiator, &view->acceptor, entry->vni, view->acceptor_qp)
                    : qp_bucket(&view->acceptor, &view->initiator, entry->vni, view->initiator_qp);
}

/* A link of the QP chains names an entry and a way: index * 2 + way + 1. */
static uint32_t *qp_link_next(struct capture *capture, uint32_t link)
{
    return &capture->cm[(link - 1) / 2].qp_next[(link - 1) % 2];
}

static void qp_unlink(struct capture *capture, uint32_t index)
{
    struct cm_entry *entry = &capture->cm[index];
    if (!entry->linked_qp) return;
    for (unsigned way = 0; way < 2; way++) {
        uint32_t *at = &capture->cm_by_qp[entry_qp_bucket(entry, way)];
        while (*at != index * 2 + way + 1) {
            CHECK(*at != 0);
            at = qp_link_next(capture, *at);
        }
        *at = entry->qp_next[way];
    }
    entry->linked_qp = false;
}

static void id_unlink(struct capture *capture, uint32_t index)
{
    const struct capture_cm *view = &capture->cm[index].view;
    uint32_t *at =
        &capture->cm_by_id[id_bucket(&view->initiator, capture->cm[index].vni, view->initiator_id, view->sidr)];
    while (*at != index + 1) {
        CHECK(*at != 0);
        at = &capture->cm[*at - 1].id_next;
    }
    *at = capture->cm[index].id_next;
}

static struct cm_entry *entry_find(struct capture *capture, const struct pkt_addr *initiator, uint32_t vni, uint32_t id,
                                   bool sidr)
{
    for (uint32_t at = capture->cm_by_id[id_bucket(initiator, vni, id, sidr)]; at; at = capture->cm[at - 1].id_next) {
        struct cm_entry *entry = &capture->cm[at - 1];
        if (entry->view.initiator_id == id && entry->view.sidr == sidr && entry->vni == vni &&
            memcmp(&entry->view.initiator, initiator, 16) == 0)
            return entry;
    }
    return NULL;
}

static struct cm_entry *entry_new(struct capture *capture, const struct pkt_cold *cold, uint32_t vni, uint32_t id,
                                  bool sidr)
{
    uint32_t index = capture->cm_count;
    if (index < CM_ENTRIES) {
        capture->cm_count++;
    } else {
        index = capture->cm_evict;
        capture->cm_evict = (capture->cm_evict + 1) % CM_ENTRIES;
        qp_unlink(capture, index);
        id_unlink(capture, index);
        capture->totals.cm_evicted++;
    }
    struct cm_entry *entry = &capture->cm[index];
    *entry = (struct cm_entry){
        .view = {.initiator = cold->src,
                 .acceptor = cold->dst,
                 .initiator_id = id,
                 .initiator_qp = NONE,
                 .acceptor_qp = NONE,
                 .req_packet = capture->number,
                 .sidr = sidr},
        .vni = vni,
    };
    uint32_t *head = &capture->cm_by_id[id_bucket(&cold->src, vni, id, sidr)];
    entry->id_next = *head;
    *head = index + 1;
    return entry;
}

/* The direction has sent before.  That was an earlier life of the QP number; unless it began just where this one is
 * said to, and no set-up was seen for it: then the messages are late in the file. */
static void data_begins(struct capture *capture, struct direction *direction, const struct cm_entry *entry,
                        uint32_t psn)
{
    bool late = !(direction->flags & DIR_CM) && direction->flags & DIR_BEGUN && (direction->first & 0xffffff) == psn;
    if (!late) cap_psn_forget(capture, direction);
    direction->flags |= DIR_CM;
    direction->cm_mtu = entry->mtu_bytes;
}

/* Both QPs are known: from now on data finds the entry, and data seen before is joined. */
static void entry_complete(struct capture *capture, struct cm_entry *entry)
{
    const struct capture_cm *view = &entry->view;
    uint32_t index = (uint32_t)(entry - capture->cm);
    CHECK(!entry->linked_qp && view->initiator_qp != NONE && view->acceptor_qp != NONE);
    for (unsigned way = 0; way < 2; way++) {
        uint32_t *head = &capture->cm_by_qp[entry_qp_bucket(entry, way)];
        entry->qp_next[way] = *head;
        *head = index * 2 + way + 1;
    }
    entry->linked_qp = true;
    struct flow there_flow = flow_of(&view->initiator, &view->acceptor, entry->vni, view->acceptor_qp, NONE);
    struct flow back_flow = flow_of(&view->acceptor, &view->initiator, entry->vni, view->initiator_qp, NONE);
    struct direction *there = cap_table_lookup(capture, &there_flow);
    struct direction *back = cap_table_lookup(capture, &back_flow);
    if (there) data_begins(capture, there, entry, entry->psn[0]);
    if (back) data_begins(capture, back, entry, entry->psn[1]);
    if (there && back && there != back && there->peer == NONE && back->peer == NONE)
        cap_pair_join(capture, there, back);
}

struct cm_entry *cap_cm_of(struct capture *capture, const struct pkt_addr *src, const struct pkt_addr *dst,
                           uint32_t vni, uint32_t dst_qp, uint32_t *ret_src_qp)
{
    if (capture->cm_count == 0) return NULL;
    uint32_t link = capture->cm_by_qp[qp_bucket(src, dst, vni, dst_qp)];
    for (; link; link = *qp_link_next(capture, link)) {
        struct cm_entry *entry = &capture->cm[(link - 1) / 2];
        const struct capture_cm *view = &entry->view;
        bool back = (link - 1) % 2;
        if ((back ? view->initiator_qp : view->acceptor_qp) != dst_qp || entry->vni != vni) continue;
        if (memcmp(back ? &view->acceptor : &view->initiator, src, 16) != 0) continue;
        if (memcmp(back ? &view->initiator : &view->acceptor, dst, 16) != 0) continue;
        *ret_src_qp = back ? view->acceptor_qp : view->initiator_qp;
        return entry;
    }
    return NULL;
}

/* The time of a message, and whether it had been sent before.  Time 0 means "not seen". */
static bool stamp(struct capture *capture, struct cm_entry *entry, uint64_t *time_ns)
{
    if (*time_ns) {
        entry->view.repeats++;
        return false;
    }
    *time_ns = capture->now_ns ? capture->now_ns : 1;
    return true;
}

static void req_packet(struct capture *capture, const struct cm_msg *msg, const struct pkt_cold *cold, uint32_t vni)
{
    bool sidr = msg->mad.attribute == CM_SIDR_REQ;
    struct cm_entry *entry = entry_find(capture, &cold->src, vni, msg->local_id, sidr);
    bool over = entry && (entry->view.rej_ns || entry->view.dreq_ns || entry->view.drep_ns ||
                          entry->view.service_id != msg->service_id);
    if (entry && !sidr) over = over || entry->view.initiator_qp != msg->qpn || entry->psn[0] != msg->starting_psn;
    if (!entry || over) {
        entry = entry_new(capture, cold, vni, msg->local_id, sidr);
        entry->view.service_id = msg->service_id;
        if (!sidr) {
            entry->view.initiator_qp = msg->qpn;
            entry->psn[0] = msg->starting_psn;
            entry->view.mtu = msg->mtu;
            entry->view.retry_count = msg->retry_count;
            entry->view.rnr_retry_count = msg->rnr_retry_count;
            entry->view.transport = msg->transport;
            if (msg->mtu >= 1 && msg->mtu <= 5) entry->mtu_bytes = 128u << msg->mtu;
        }
    }
    stamp(capture, entry, &entry->view.req_ns);
}

static void rep_packet(struct capture *capture, struct cm_entry *entry, const struct cm_msg *msg)
{
    if (!stamp(capture, entry, &entry->view.rep_ns)) return;
    entry->view.acceptor_id = msg->local_id;
    entry->psn[1] = msg->starting_psn;
    entry->view.acceptor_qp = msg->qpn;
    entry_complete(capture, entry);
}

static void sidr_rep_packet(struct capture *capture, struct cm_entry *entry, const struct cm_msg *msg)
{
    if (!stamp(capture, entry, &entry->view.rep_ns)) return;
    entry->view.acceptor_qp = msg->qpn;
    entry->view.reject_reason = msg->status;
    if (msg->status) entry->view.rej_packet = capture->number;
}

static void rej_packet(struct capture *capture, struct cm_entry *entry, const struct cm_msg *msg)
{
    if (!stamp(capture, entry, &entry->view.rej_ns)) return;
    entry->view.reject_reason = msg->reason;
    entry->view.rej_packet = capture->number;
}

/* A message that belongs to a set-up begun earlier: the initiator's local id, or the acceptor's remote one. */
static struct cm_entry *entry_of(struct capture *capture, const struct cm_msg *msg, const struct pkt_cold *cold,
                                 uint32_t vni)
{
    bool sidr = msg->mad.attribute == CM_SIDR_REP;
    if (sidr) return entry_find(capture, &cold->dst, vni, msg->local_id, true);
    struct cm_entry *entry = entry_find(capture, &cold->dst, vni, msg->remote_id, false);
    if (entry && memcmp(&entry->view.acceptor, &cold->src, 16) == 0) return entry;
    entry = entry_find(capture, &cold->src, vni, msg->local_id, false);
    return entry && memcmp(&entry->view.acceptor, &cold->dst, 16) == 0 ? entry : NULL;
}

void cap_cm_packet(struct capture *capture, const struct pkt *pkt, const struct pkt_cold *cold, const uint8_t *payload,
                   size_t length)
{
    struct cm_msg msg;
    if (cm_parse(payload, length, &msg) < 0) return;
    uint32_t vni = flow_vni(pkt->flags & PKT_TUNNEL, cold->outer.vni);
    if (msg.mad.attribute == CM_REQ || msg.mad.attribute == CM_SIDR_REQ) {
        req_packet(capture, &msg, cold, vni);
        return;
    }
    struct cm_entry *entry = entry_of(capture, &msg, cold, vni);
    if (!entry) return; /* its REQ was sent before the capture began */
    switch (msg.mad.attribute) {
    case CM_REP:
        rep_packet(capture, entry, &msg);
        break;
    case CM_SIDR_REP:
        sidr_rep_packet(capture, entry, &msg);
        break;
    case CM_REJ:
        rej_packet(capture, entry, &msg);
        break;
    case CM_MRA:
        entry->view.mras++;
        break;
    case CM_RTU:
        stamp(capture, entry, &entry->view.rtu_ns);
        break;
    case CM_DREQ:
        stamp(capture, entry, &entry->view.dreq_ns);
        break;
    case CM_DREP:
        stamp(capture, entry, &entry->view.drep_ns);
        break;
    default:
        break;
    }
}
