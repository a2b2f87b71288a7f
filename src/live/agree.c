/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the peer one of us?  Then a gap is filled by selective repeat: what comes behind it is kept, with its payload, and
 * only what is missing is sent again.  With all others it is go-back-N, as the standard has it.
 *
 * Adapters of ours tell each other in the seven reserved bits beside the BTH's ACK request, which others send as 0 and
 * ignore (volume 1, 9.2); nic.h has the marks.  Both ends must have shown what they are before anything is kept:
 *
 * 1. A requester that does not know its peer offers: its first few requests carry MARK_OFFER, the rest nothing.
 * 2. Who sees an offer marks its responses.
 * 3. A requester that sees a marked response to something it sent knows, and from then on its requests carry the mark
 *    of their connection.  Those alone are kept ahead of their turn.
 *
 * So a peer that copies reserved bits into its answers is taken for what it is: it answers with offers.  A
 * foreign peer sees a few requests with bits that it ignores, and after them, or as soon as its first packet shows it
 * for what it is (an IP identification that none of ours would have), none at all.  Whoever means something else by
 * these bits in a later version offers and answers with other marks, and gets go-back-N.
 *
 * What is known belongs to the path: all processes of an address are of one kind, since they share its UDP port.
 *
 * Payload that waits lies in memory by the number of its descriptor.  Only packets with a low number are kept, which
 * bounds that memory, and none when descriptors run short, since sending needs them; what is not kept is asked
 * for again.  Memory is taken when the first packet waits.
 */
#include <string.h>
#include <sys/mman.h>

#include "live/live_int.h"
#include "packet/opcode.h"

#define MARK_OFFER 0x31u /* version 1 */
#define OFFERS 16u
#define KEPT_MAX 16384u
#define KEPT_BYTES 4096u                 /* the largest MTU */
#define DESCRIPTORS_LEAST (2 * LIVE_QPS) /* left free: an ACK and a NAK of each queue pair */

_Static_assert(DESCRIPTORS_LEAST < LIVE_POOL, "something can be kept");

uint8_t peer_mark_out(const struct device *live, struct path *path, const struct pkt *p)
{
    const struct opcode_info *info = opcode_info(p->opcode);

    if (live->env.nic.recovery != NIC_SELECTIVE || info->transport != OP_RC || path->peer == PEER_FOREIGN) return 0;
    if (info->flags & OP_RESPONSE) {
        if (path->peer != PEER_OURS && !path->offered) return 0;
        return p->mark ? p->mark : NIC_MARK_OURS;
    }
    if (path->peer == PEER_OURS || p->mark == 0) return p->mark;
    if (path->offers == OFFERS) return 0;
    path->offers++;
    return MARK_OFFER;
}

static bool kept_room(struct device *live, pkt_t id)
{
    if (id >= KEPT_MAX || live->pool.free_count < DESCRIPTORS_LEAST) return false;
    if (live->kept) return true;
    void *at = mmap(NULL, (size_t)KEPT_MAX * KEPT_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) live->kept = at;
    return live->kept != NULL;
}

void peer_release(struct device *live)
{
    if (live->kept) munmap(live->kept, (size_t)KEPT_MAX * KEPT_BYTES);
    live->kept = NULL;
}

static void response_in(struct path *path, const struct device_qp *qp, struct pkt *p, uint8_t mark)
{
    if (mark < NIC_MARK_OURS || mark > NIC_MARK_ALSO) return;
    if (nic_qp_awaits(qp->nic, p->psn)) path->peer = PEER_OURS;
    if (path->peer == PEER_OURS && mark != NIC_MARK_OURS) p->mark = mark;
}

void peer_mark_in(struct device *live, const struct device_qp *qp, pkt_t id, uint8_t mark)
{
    struct pkt *p = &live->pool.hot[id];
    struct path *path = &live->path[qp->path];
    bool agreed = (mark & ~NIC_MARK_REQUEST_BITS) == NIC_MARK_REQUEST;

    p->mark = 0;
    if (live->env.nic.recovery != NIC_SELECTIVE || qp->config.transport != NIC_RC) return;
    if (path->peer == PEER_UNKNOWN && qp->foreign) path->peer = PEER_FOREIGN;
    if (opcode_info(p->opcode)->flags & OP_RESPONSE) {
        response_in(path, qp, p, mark);
    } else if (mark == MARK_OFFER || agreed) {
        path->offered = true;
        if (agreed && kept_room(live, id)) p->mark = mark;
    }
}

void peer_keep(struct device *live, uint32_t qpn, const uint8_t *payload, uint32_t bytes)
{
    if (live->io.keep == PKT_NONE) return;
    if (live->kept && live->io.keep < KEPT_MAX && bytes <= KEPT_BYTES)
        memcpy(live->kept + (size_t)live->io.keep * KEPT_BYTES, payload, bytes);
    else
        nic_qp_inconsistent(live->nic, qpn, &live->io);
}

const uint8_t *peer_kept(const struct device *live)
{
    return live->kept && live->io.kept < KEPT_MAX ? live->kept + (size_t)live->io.kept * KEPT_BYTES : NULL;
}
