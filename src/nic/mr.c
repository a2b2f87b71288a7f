/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory keys: bounds, rights and protection domain of what a peer may touch (volume 1, 10.6).
 *
 * A table by key, open addressing, twice as large as max_mrs.  A removed key leaves its slot marked
 * with its key, so that chains through it stay whole; entering the key again reuses it, and a new key may take
 * over the slot of a dead one on its way.
 *
 * A request of no bytes is not checked at all (its R_Key need not be valid).
 */
#include <errno.h>

#include "base/check.h"
#include "nic/nic_int.h"

static uint32_t first_slot(const struct nic *nic, uint32_t key)
{
    return key * 2654435769u >> 7 & nic->mr_mask;
}

static struct nic_mr *find(const struct nic *nic, uint32_t key)
{
    if (nic->mr == NULL) return NULL;
    for (uint32_t i = 0, at = first_slot(nic, key); i <= nic->mr_mask; i++, at = (at + 1) & nic->mr_mask) {
        struct nic_mr *mr = &nic->mr[at];
        if (mr->live && mr->key == key) return mr;
        if (!mr->live && mr->bytes == 0) return NULL; /* never used */
    }
    return NULL;
}

int nic_mr_set(struct nic *nic, const struct nic_mr *mr)
{
    struct nic_mr *known = find(nic, mr->key);

    if (!mr->live) {
        if (known == NULL) return -ENOENT;
        known->live = false;
        nic->mrs--;
        return 0;
    }
    if (mr->bytes == 0 || mr->va + (mr->bytes - 1) < mr->va) return -EINVAL;
    if (known == NULL) {
        if (nic->mrs >= nic->config.max_mrs) return -ENOMEM;
        uint32_t at = first_slot(nic, mr->key);
        while (nic->mr[at].live)
            at = (at + 1) & nic->mr_mask;
        known = &nic->mr[at];
        nic->mrs++;
    }
    *known = *mr;
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
    if (va < mr->va || bytes > mr->bytes || va - mr->va > mr->bytes - bytes) return REFUSED_ACCESS;
    return DONE;
}

bool mr_invalidate(struct nic *nic, const struct nic_qp *qp, uint32_t key)
{
    if (nic->config.any_key) return true;
    struct nic_mr *mr = find(nic, key);
    if (mr == NULL || mr->pd != qp->pd) return false;
    mr->live = false;
    nic->mrs--;
    return true;
}
