/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory keys: bounds, rights and protection domain of what a peer may touch (volume 1, 10.6).
 *
 * A table by key, open addressing, at least twice as large as max_mrs.  When a key goes, those behind it in its chain
 * move up: no slot is ever marked dead, so a table that has seen a million keys is as quick as a new one.
 *
 * A window (10.6.7) is a key with bounds and rights of its own inside a region.  Not bound it has no bytes and allows
 * nothing.  A window of type 2 belongs to the QP that bound it and is invalidated by that QP or its peer; one of type 1
 * is bound anew instead.  A region is invalidated by a peer only where it was made for that (10.6.5):
 * NIC_REMOTE_INVALIDATE.
 *
 * A request of no bytes is not checked at all (its R_Key need not be valid).
 */
#include <errno.h>

#include "base/check.h"
#include "nic/nic_int.h"

static uint32_t first_slot(const struct nic *nic, uint32_t key)
{
    return key * 2654435769u >> __builtin_clz(nic->mr_mask); /* the product's upper bits depend on all of the key */
}

static struct nic_mr *find(const struct nic *nic, uint32_t key)
{
    if (nic->mr == NULL) return NULL;
    for (uint32_t i = 0, at = first_slot(nic, key); i <= nic->mr_mask; i++, at = (at + 1) & nic->mr_mask) {
        struct nic_mr *mr = &nic->mr[at];
        if (mr->live && mr->key == key) return mr;
        if (!mr->live) return NULL;
    }
    return NULL;
}

static void enter(struct nic *nic, const struct nic_mr *mr)
{
    uint32_t at = first_slot(nic, mr->key);

    CHECK(nic->mrs < nic->config.max_mrs);
    while (nic->mr[at].live)
        at = (at + 1) & nic->mr_mask;
    nic->mr[at] = *mr;
    nic->mrs++;
}

static void removed(struct nic *nic, struct nic_mr *mr)
{
    uint32_t hole = (uint32_t)(mr - nic->mr);

    for (uint32_t at = (hole + 1) & nic->mr_mask; nic->mr[at].live; at = (at + 1) & nic->mr_mask) {
        uint32_t home = first_slot(nic, nic->mr[at].key);
        /* it may move up unless its chain begins after the hole */
        if (((at - home) & nic->mr_mask) < ((at - hole) & nic->mr_mask)) continue;
        nic->mr[hole] = nic->mr[at];
        hole = at;
    }
    nic->mr[hole].live = false;
    nic->mrs--;
}

int nic_mr_set(struct nic *nic, const struct nic_mr *mr)
{
    struct nic_mr *known = find(nic, mr->key);

    if (!mr->live) {
        if (known == NULL) return -ENOENT;
        removed(nic, known);
        return 0;
    }
    if (mr->bytes == 0 ? !mr->window : mr->va + (mr->bytes - 1) < mr->va) return -EINVAL;
    if (known) {
        *known = *mr;
        return 0;
    }
    if (nic->mrs >= nic->config.max_mrs) return -ENOMEM;
    enter(nic, mr);
    return 0;
}

const struct nic_mr *nic_mr_find(const struct nic *nic, uint32_t key)
{
    return find(nic, key);
}

enum verdict mr_check(const struct nic *nic, const struct nic_qp *qp, uint32_t key, uint64_t va, uint64_t bytes,
                      uint8_t right)
{
    if (nic->config.any_key || bytes == 0) return DONE;
    const struct nic_mr *mr = find(nic, key);
    if (mr == NULL || mr->pd != qp->pd || (mr->rights & right) != right) return REFUSED_ACCESS;
    if (mr->qpn && mr->qpn != qp->qpn) return REFUSED_ACCESS;
    if (va < mr->va || bytes > mr->bytes || va - mr->va > mr->bytes - bytes) return REFUSED_ACCESS;
    return DONE;
}

bool mr_invalidate(struct nic *nic, const struct nic_qp *qp, uint32_t key, bool remote)
{
    if (nic->config.any_key) return true;
    struct nic_mr *mr = find(nic, key);
    if (mr == NULL || mr->pd != qp->pd || mr->fixed) return false;
    if (!mr->window) {
        if (remote && !(mr->rights & NIC_REMOTE_INVALIDATE)) return false;
        removed(nic, mr);
        return true;
    }
    if (!mr->type2 || mr->bytes == 0 || (mr->qpn && mr->qpn != qp->qpn)) return false;
    mr->va = mr->bytes = 0;
    mr->rights = 0;
    mr->qpn = mr->parent = 0;
    return true;
}

/* What the region allows the window to be. */
static bool region_covers(const struct nic_mr *region, const struct nic_qp *qp, const struct nic_wr *wr)
{
    if (region == NULL || region->window || region->pd != qp->pd || !(region->rights & NIC_MW_BIND)) return false;
    if (wr->imm & (NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC) && !(region->rights & NIC_LOCAL_WRITE)) return false;
    return wr->remote_va >= region->va && wr->length <= region->bytes &&
           wr->remote_va - region->va <= region->bytes - wr->length;
}

bool mr_bind(struct nic *nic, const struct nic_qp *qp, const struct nic_wr *wr)
{
    struct nic_mr *window = find(nic, wr->mw_key);

    if (window == NULL || !window->window || window->pd != qp->pd) return false;
    if (window->type2 && (window->bytes || wr->length == 0)) return false; /* it must be invalidated first */
    if (wr->length && !region_covers(find(nic, wr->rkey), qp, wr)) return false;
    if (wr->new_key != wr->mw_key && find(nic, wr->new_key)) return false;
    struct nic_mr bound = *window;
    bound.key = wr->new_key;
    bound.va = wr->length ? wr->remote_va : 0;
    bound.bytes = wr->length;
    bound.rights = (uint8_t)(wr->length ? wr->imm & NIC_REMOTE_ALL : 0);
    bound.parent = wr->length ? wr->rkey : 0;
    bound.qpn = window->type2 ? qp->qpn : 0;
    removed(nic, window);
    enter(nic, &bound);
    return true;
}
