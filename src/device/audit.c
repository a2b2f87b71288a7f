/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What always holds between objects, adapters and records: where it does not, the program ends.  For tests, and for
 * who lets programs of others make objects.
 */
#include "base/bits.h"
#include "base/check.h"
#include "device/objects.h"

void regions_audit(const struct regions *regions)
{
    uint32_t windows = 0;

    for (uint32_t i = 0; i < regions->keys.slots; i++) {
        const struct region_slot *slot = &regions->slot[i];
        CHECK(regions->keys.slot[i].used == (slot->mr != NULL || slot->mw != NULL));
        CHECK(slot->mr == NULL || (slot->mw == NULL && slot->mr->key >> 8 == i));
        CHECK(slot->mw == NULL || slot->mw->key >> 8 == i);
        windows += slot->mw != NULL;
        for (unsigned n = 0; slot->mr && slot->mr->bytes && n < REGIONS_NICS; n++) {
            const struct nic_mr *known = regions->nic[n] ? nic_mr_find(regions->nic[n], slot->mr->key) : NULL;
            CHECK(regions->nic[n] == NULL || (known && !known->window && known->va == slot->mr->iova &&
                                              known->bytes == slot->mr->bytes && known->pd == slot->mr->pd));
        }
    }
    CHECK(windows == regions->windows);
}

/* Each record is free, or posted, or with an adapter or a completion. */
void srq_audit(const struct device_srq *srq)
{
    const struct receives *receives = &srq->receives;
    uint32_t posted = receives->nic.tail - receives->nic.head, spare = 0;

    CHECK(is_power_of_two(receives->entries) && receives->nic.mask == receives->entries - 1);
    for (uint32_t at = receives->free; at != UINT32_MAX; at = receives->work[at].next)
        CHECK(at < receives->entries && spare++ < receives->entries);
    CHECK(posted + spare <= receives->entries);
    for (uint32_t i = receives->nic.head; i != receives->nic.tail; i++)
        CHECK(receives->nic.slot[i & receives->nic.mask].wr_id < receives->entries);
}

void qp_audit(struct device_qp *qp)
{
    const struct queue_pair *pair = queue_pair_of(qp);
    struct path_end end;

    CHECK(nic_qp_find(pair->objects->nic, pair->qpn) == pair->nic && nic_qp_app(pair->nic) == qp);
    CHECK(nic_qp_queued(pair->nic) <= pair->config.sq_size && nic_qp_receives(pair->nic) <= pair->config.rq_size);
    CHECK(pair->srq == NULL || (pair->srq->users > 0 && pair->config.srq == &pair->srq->receives.nic));
    CHECK(pair->path == 0 ||
          (pair->objects->host->path_find(pair->device, pair->path, &end) && end.endpoint == pair->config.remote));
}
