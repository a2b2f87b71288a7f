/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work requests that programs have posted: from the ring to the adapter, each at its time.
 *
 * A record is copied out of the ring and checked before anything of it is used; then the ring has room again.  Threads
 * of a process have clocks of their own, so records are not in order of time: what was copied waits in order of (time,
 * place in the ring).  How much may wait is bounded; beyond that records stay in the ring, and the program waits.
 *
 * The program was told that its post is good before anybody looked.  The library has refused what verbs refuse; a
 * request that is wrong all the same (a full queue, a window that is none) ends its queue pair with an event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "up/objects/objects.h"

#define LINE 64u
#define WAITING_MAX (1u << 16)

struct up_waiting {
    ps_t at;
    struct attach_post *post; /* a copy */
};

struct up_posts {
    struct up_waiting *item; /* by time; the first is at `head` */
    uint32_t head, count, room;
};

static bool grow(struct up_posts *posts)
{
    if (posts->head + posts->count < posts->room) return true;
    if (posts->head) {
        memmove(posts->item, posts->item + posts->head, posts->count * sizeof *posts->item);
        posts->head = 0;
        if (posts->count < posts->room) return true;
    }
    return GROW(posts->item, posts->count, posts->room);
}

/* Behind all that are due no later. */
static bool insert(struct up_posts *posts, struct attach_post *post)
{
    if (!grow(posts)) return false;
    struct up_waiting *first = posts->item + posts->head;
    uint32_t at = posts->count++;
    for (; at > 0 && first[at - 1].at > post->at; at--)
        first[at] = first[at - 1];
    first[at] = (struct up_waiting){.at = post->at, .post = post};
    return true;
}

/* What a record needs after its head. */
static uint64_t content(const struct attach_post *post)
{
    if (post->kind == ATTACH_POST_ARM) return 0;
    return post->copied ? post->data_bytes : (uint64_t)post->sges * sizeof(struct device_sge);
}

static bool sound(const struct attach_post *post)
{
    if (post->kind > ATTACH_POST_ARM || post->kind == ATTACH_POST_SKIP) return false;
    if (post->sges > DEVICE_SGES_MAX || (post->copied && post->data_bytes > DEVICE_INLINE_MAX)) return false;
    return sizeof *post + content(post) <= post->bytes;
}

/* A copy of the record at `from`, which has `bytes`, without what is of no use; NULL: it is none, or there is no
 * memory. */
static struct attach_post *copy_record(const uint8_t *from, uint32_t bytes)
{
    struct attach_post head;

    if (bytes < sizeof head) return NULL;
    memcpy(&head, from, sizeof head);
    head.bytes = bytes; /* the ring's may be another one by now */
    if (!sound(&head)) return NULL;
    struct attach_post *post = malloc(sizeof head + content(&head));
    if (post == NULL) return NULL;
    *post = head;
    memcpy(post + 1, from + sizeof head, content(&head));
    return post;
}

/* One record; false: the ring makes no sense from here on. */
static bool take_record(struct up_process *process, const uint8_t *ring, uint32_t available)
{
    uint32_t at = process->posts_head % ATTACH_POSTS_BYTES;
    struct { /* the beginning of every record, of one that is skipped too */
        uint32_t bytes;
        uint16_t kind;
    } head;

    memcpy(&head, ring + at, sizeof head);
    if (head.bytes < LINE || head.bytes % LINE || head.bytes > available || head.bytes > ATTACH_POSTS_BYTES - at)
        return false;
    if (head.kind != ATTACH_POST_SKIP) {
        struct attach_post *post = copy_record(ring + at, head.bytes);
        if (post == NULL) return false;
        if (!insert(process->posts, post)) {
            free(post);
            return false;
        }
    }
    process->posts_head += head.bytes;
    return true;
}
_Static_assert(offsetof(struct attach_post, bytes) == 0 && offsetof(struct attach_post, kind) == 4,
               "a head's beginning");

void post_collect(struct up_process *process, ps_t now)
{
    struct attach_head *head = process->head;
    uint32_t tail = __atomic_load_n(&head->posts.tail, __ATOMIC_ACQUIRE) / LINE * LINE; /* where records end */

    publish_heads(process);
    if (tail == process->posts_head) return;
    if (process->posts == NULL) process->posts = calloc(1, sizeof *process->posts);
    if (process->posts == NULL) return;
    bool sense = tail - process->posts_head <= ATTACH_POSTS_BYTES;
    while (sense && process->posts_head != tail && process->posts->count < WAITING_MAX)
        sense = take_record(process, process->segment + process->posts_at, tail - process->posts_head);
    if (!sense) {
        process->posts_head = tail;
        up_spoilt(process, now);
    }
    __atomic_store_n(&head->posts.head, process->posts_head, __ATOMIC_RELEASE);
}

void up_posts_free(struct up_process *process)
{
    struct up_posts *posts = process->posts;

    if (posts == NULL) return;
    for (uint32_t i = 0; i < posts->count; i++)
        free(posts->item[posts->head + i].post);
    free(posts->item);
    free(posts);
    process->posts = NULL;
}

ps_t post_next(const struct up_process *process)
{
    const struct up_posts *posts = process->posts;

    return posts && posts->count ? posts->item[posts->head].at : PS_NEVER;
}

static const struct device_sge *sges_of(const struct attach_post *post)
{
    return (const struct device_sge *)(const void *)(post + 1);
}
_Static_assert(sizeof(struct attach_post) % _Alignof(struct device_sge) == 0, "a list lies behind its head");

/* Of a binding the objects are named by their keys. */
static void name_objects(const struct device_qp *qp, const struct nic_wr *wr, struct device_send *send)
{
    send->mw = up_mw_find(qp->device, wr->mw_key);
    send->mr = wr->length ? up_mr_find(qp->device, wr->rkey) : NULL;
    send->mw_addr = wr->remote_va;
    send->mw_bytes = wr->length;
    send->mw_access = wr->imm;
    send->mw_key = wr->new_key;
}

/* Inline data lies in the copy of the record. */
static int post_send(struct device_qp *qp, const struct attach_post *post, ps_t now, struct node_io *io)
{
    const struct device_sge whole = {.length = post->data_bytes};
    struct device_send send = {.wr = post->wr, .sge = sges_of(post), .sges = post->sges, .copy = post->copied};
    struct nic_wr wr;

    if (post->copied) {
        send.sge = &whole;
        send.sges = 1;
        send.taken = post + 1;
    }
    if (post->wr.verb == NIC_BIND_MW) name_objects(qp, &post->wr, &send);
    int error = qp_post_send(qp, &send, &wr, now, &io->nic);
    if (error == 0) up_flow_posted(qp, &wr, now);
    return error;
}

static int post_recv(struct device_qp *qp, const struct attach_post *post, ps_t now, struct node_io *io)
{
    const struct device_recv recv = {.wr_id = post->wr.wr_id, .sge = sges_of(post), .sges = post->sges};

    return post->copied ? -EINVAL : qp_post_recv(qp, &recv, now, &io->nic);
}

/* In a state that allows no post nothing was promised; else the queue pair ends. */
static void refused(struct device_qp *qp, bool send, ps_t now, struct node_io *io)
{
    enum nic_state state = nic_qp_state(qp->nic);

    if (state == NIC_RESET || (send && state < NIC_RTS)) return;
    (void)nic_qp_modify(qp->device->adapter->nic, qp->nic, NIC_ERROR, now, &io->nic);
    up_event_push(qp->device, DEVICE_EVENT_QP_FATAL, ATTACH_QP, qp->qpn);
    turn_event(qp->device->process, true, now);
}

static void post_shared(struct device_srq *srq, const struct attach_post *post)
{
    const struct device_recv recv = {.wr_id = post->wr.wr_id, .sge = sges_of(post), .sges = post->sges};

    if (srq && !post->copied) (void)receives_post(&srq->receives, &recv);
}

static void perform(struct up_process *process, const struct attach_post *post, ps_t now, struct node_io *io)
{
    struct device *device = post->nic < ATTACH_NICS ? process->device[post->nic] : NULL;
    struct device_qp *qp = device ? up_qp_find(device, post->object) : NULL;
    struct device_cq *cq = device ? up_table_get(&device->cqs, post->object) : NULL;

    if (device == NULL) return;
    switch (post->kind) {
    case ATTACH_POST_SEND:
        if (qp) qp->sends++;
        if (qp && post_send(qp, post, now, io) < 0) refused(qp, true, now, io);
        break;
    case ATTACH_POST_RECV:
        if (qp) qp->receives++;
        if (qp && post_recv(qp, post, now, io) < 0) refused(qp, false, now, io);
        break;
    case ATTACH_POST_SRQ:
        post_shared(up_table_get(&device->srqs, post->object), post);
        break;
    default:
        if (cq) up_cq_arm(cq, post->flags & 1, post->data_bytes);
        break;
    }
}

void post_run(struct up_process *process, ps_t now, struct node_io *io)
{
    post_collect(process, now);
    while (post_next(process) <= now) {
        struct up_posts *posts = process->posts;
        struct attach_post *post = posts->item[posts->head++].post;
        if (--posts->count == 0) posts->head = 0;
        perform(process, post, now, io);
        free(post);
    }
    if (io->nic.completed) publish_all(process->host, now, io);
    for (uint32_t i = 0; i < ATTACH_NICS; i++)
        if (process->device[i]) up_publish_events(process->device[i]->adapter, now);
}
