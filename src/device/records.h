/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind an adapter's rings for a program: the gather lists of its work requests, receives that several
 * queue pairs share, memory keys, attributes on their way into a configuration, completions that wait.
 *
 * src/nic knows a work request's memory as one word, here the address of a record.  An adapter in the program's own
 * process has these records, and so has one in another process: whose memory the lists name, and how it is reached, is
 * not known here.  Nothing is locked.
 */
#ifndef ROCELAB_DEVICE_RECORDS_H
#define ROCELAB_DEVICE_RECORDS_H

#include <errno.h>

#include "device/device.h"

/* --- work requests --- */

struct work { /* the SGE list of a work request: what nic_wr.local and nic_recv.local point to */
    struct device_sge *sge;
    uint64_t wr_id; /* SRQ */
    uint32_t sges, pd;
    uint32_t next; /* SRQ: link in the list of free ones */
    bool copied;   /* inline: sge[0] is our own memory, its key is not looked at */
};

/* Takes the list over; answers its bytes. */
uint64_t work_fill(struct work *work, const struct device_sge *sge, uint32_t sges);

struct work_walk { /* through the bytes [offset, offset + bytes) of a list */
    const struct work *work;
    uint64_t offset;
    uint32_t bytes; /* left to go: not 0 after the last part, the list was too short */
    uint32_t next;
};
struct work_part {
    const struct device_sge *sge;
    uint64_t offset; /* of the SGE */
    uint32_t bytes;
};
static inline bool work_next(struct work_walk *walk, struct work_part *ret)
{
    while (walk->next < walk->work->sges && walk->bytes) {
        const struct device_sge *sge = &walk->work->sge[walk->next++];
        if (walk->offset >= sge->length) {
            walk->offset -= sge->length;
            continue;
        }
        uint64_t left = sge->length - walk->offset;
        *ret = (struct work_part){
            .sge = sge, .offset = walk->offset, .bytes = left < walk->bytes ? (uint32_t)left : walk->bytes};
        walk->bytes -= ret->bytes;
        walk->offset = 0;
        return true;
    }
    return false;
}

struct records { /* of a queue pair, beside the adapter's rings */
    struct work *send, *recv;
    struct device_sge *send_sge, *recv_sge;
    uint8_t *copies; /* inline data, inline_bytes for each of send[] */
    uint32_t send_next, send_sges, recv_next, recv_mask, recv_sges, inline_bytes;
};
/* Both rings as `init` asks, the adapter's in `config`.  -ENOMEM; records_release() follows in any case. */
int records_init(struct records *records, struct nic_qp_config *config, const struct device_qp_init *init);
void records_release(struct records *records, struct nic_qp_config *config);
static inline uint8_t *records_copy(const struct records *records, const struct work *work)
{
    return records->copies + (size_t)(work - records->send) * records->inline_bytes;
}

/* --- receives that queue pairs share --- */

/* They complete in any order, so each has a record with a number of its own, the nic_recv's wr_id, which it keeps until
 * its completion is handed out.  Full: there is no free record. */
struct receives {
    struct nic_srq nic;
    struct work *work; /* [entries] */
    struct device_sge *sge;
    uint32_t entries, sges, pd, free;
};
int receives_init(struct receives *receives, uint32_t pd, uint32_t entries, uint32_t sges); /* -EINVAL, -ENOMEM */
/* More room; what there is stays, but records move: no queue pair may hold one.  -ENOMEM */
int receives_grow(struct receives *receives, uint32_t entries);
void receives_free(struct receives *receives);
int receives_post(struct receives *receives, const struct device_recv *recv); /* -EINVAL, -ENOMEM: full */
void receives_release(struct receives *receives, uint64_t index);

/* --- completions --- */

/* A receive from a shared queue gets the id it was posted with, and its record is free.  NULL: it is none. */
void completion_own_id(struct nic_cqe *cqe, struct receives *receives);
/* Which completion of a queue makes an event: the first that comes after it was armed, or the first of them that is
 * solicited or failed (volume 1, 11.4.2.2). */
struct notice {
    bool armed; /* where several threads look: atomic */
    bool solicited_only;
    uint32_t from; /* the completions that may make it; each is looked at once however long the queue stays armed */
};
/* For those from here on.  One that is armed stays so, but for any completion where it was for some. */
void notice_arm(struct notice *notice, uint32_t from, bool solicited_only);
bool notice_due(struct notice *notice, const struct nic_cq *ring); /* it is there; it stays armed */
void notice_cut(struct notice *notice, const struct nic_cq *ring); /* completions were taken away from its end */
/* Those of a queue pair that begins anew go. */
void completions_forget(struct nic_cq *ring, uint32_t qpn, struct receives *receives);
/* The ring in other memory; what it holds stays.  -EINVAL: that is more than fits; -ENOMEM. */
int completions_move(struct nic_cq *ring, uint32_t size);

/* --- keys --- */

/* A key is a slot number and, in its low byte, a tag that changes each time the slot is used again, so that an old key
 * is not mistaken for a new one.  Slot 0 is never given: no key is 0. */
struct key_state {
    uint8_t tag;
    bool used;
};
struct keys {
    struct key_state *slot; /* the owner's, zeroed at first */
    uint32_t slots;         /* 0: not made yet */
    uint32_t next;
    uint8_t salt; /* added to every tag */
};
void keys_init(struct keys *keys, struct key_state *slot, uint32_t slots, uint32_t first, uint8_t salt);
int keys_take(struct keys *keys, uint32_t *ret);      /* -ENOMEM: all are used */
uint32_t keys_renew(struct keys *keys, uint32_t key); /* the slot's next */
void keys_give(struct keys *keys, uint32_t key);
/* What keys_renew() will answer. */
static inline uint32_t keys_after(uint32_t key)
{
    return (key & ~255u) | (uint8_t)(key + 1);
}

/* What a work request says of a binding, once its objects are found.  -EINVAL */
static inline int device_bind_request(const struct device_send *send, int type, uint32_t mw_key, uint32_t mr_key,
                                      struct nic_wr *wr)
{
    if (type == 2 && send->mw_key >> 8 != mw_key >> 8) return -EINVAL;
    wr->mw_key = mw_key;
    wr->new_key = type == 2 ? send->mw_key : keys_after(mw_key);
    wr->remote_va = send->mw_addr;
    wr->length = send->mw_bytes;
    wr->rkey = mr_key;
    wr->imm = send->mw_access;
    return 0;
}

/* [addr, addr + bytes) lies within [base, base + size). */
static inline bool range_within(uint64_t addr, uint64_t bytes, uint64_t base, uint64_t size)
{
    return addr >= base && bytes <= size && addr - base <= size - bytes;
}

/* --- attributes and events --- */

/* What the mask names goes into the configuration; answers what src/nic has to be told, as NIC_SET_*. */
uint32_t attributes_collect(struct nic_qp_config *config, const struct device_qp_attr *attr);
enum device_event_kind device_event_kind_of(enum nic_event_kind kind);

#endif
