/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other verbs than the workload knows.
 *
 * The workload posts WRITEs.  Between it and the adapter, where the plan says so, a WRITE becomes a SEND, READ or
 * atomic, queue pairs get rings for them, PSNs begin just before they wrap, and receives are posted again
 * late, so that senders meet a receiver that is not ready.  Connections whose receiver need not be told become UC or
 * UD (a datagram is at most a packet), or take their receives from a queue shared by all such of an adapter.  All
 * choices follow from the seed, the connection and its count of requests, and the state touched belongs to one host:
 * any number of threads gives the same run.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "packet/opcode.h"
#include "swarm.h"
#include "verbs.h"

#define RESOURCES 16
#define RECEIVES 2
#define FIRST_QPN 0x11
#define QKEY 0x5eed
#define SHARED 4 /* receives of an adapter, all its queue pairs together */
#define SHARED_RING 8

int __real_nic_qp_create(struct nic *nic, uint32_t qpn, const struct nic_qp_config *config, ps_t now,
                         struct nic_qp **ret);
int __wrap_nic_qp_create(struct nic *nic, uint32_t qpn, const struct nic_qp_config *config, ps_t now,
                         struct nic_qp **ret);
int __real_nic_post_recv(struct nic *nic, struct nic_qp *qp, const struct nic_recv *recv, ps_t now, struct nic_io *io);
int __wrap_nic_post_recv(struct nic *nic, struct nic_qp *qp, const struct nic_recv *recv, ps_t now, struct nic_io *io);

struct late {
    struct nic_qp *qp;
    struct nic_recv recv;
    ps_t at;
};
struct late_list {
    struct late *item;
    uint32_t count, room;
};

struct verbs_link { /* a connection */
    uint8_t transport, prio, tos;
    uint16_t mtu;
    uint32_t remote, remote_qp;
};

static const struct plan *plan;
static uint32_t created, endpoints;
static uint32_t *ordinal; /* [connection] requests so far */
static struct late_list *late;
static struct verbs_link *links;
static uint32_t link_room;
static struct nic_srq *shared; /* [endpoint] */
static struct {                /* the sending end of the connection being made */
    struct nic *nic;
    struct nic_qp *qp;
    struct nic_qp_config config;
    uint32_t qpn;
} sender;
static void **memory;
static uint32_t memories, memory_room;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ h >> 31) * 0x94d049bb133111ebULL;
    return h ^ h >> 29;
}

static void *bring(size_t bytes)
{
    if (memories == memory_room) {
        memory_room = memory_room ? 2 * memory_room : 64;
        memory = realloc(memory, memory_room * sizeof(*memory));
    }
    CHECK(memory);
    void *block = calloc(1, bytes);
    CHECK(block);
    memory[memories++] = block;
    return block;
}

void verbs_begin(const struct plan *of, const struct fabric *fabric)
{
    plan = of;
    created = 0;
    endpoints = fabric->endpoints;
    late = calloc(endpoints, sizeof(*late));
    shared = calloc(endpoints, sizeof(*shared));
    CHECK(late && shared);
}

void verbs_made(void)
{
    ordinal = bring((created / 2 + 1) * sizeof(*ordinal));
}

void verbs_end(void)
{
    for (uint32_t i = 0; i < endpoints; i++)
        free(late[i].item);
    free(late);
    free(shared);
    late = NULL;
    for (uint32_t i = 0; i < memories; i++)
        free(memory[i]);
    memories = 0;
    plan = NULL;
}

uint64_t verbs_base(uint32_t endpoint, uint32_t qpn)
{
    if (!plan->psn_wraps) return 0;
    uint64_t h = mix(plan->seed, (uint64_t)endpoint << 32 | qpn);
    return h & 1 ? (0xffffffu - h / 2 % 40) & PSN_MASK : h & PSN_MASK;
}

uint8_t verbs_transport(uint32_t connection)
{
    return links[connection].transport;
}

static void link_set(uint32_t connection, const struct verbs_link *link)
{
    if (connection >= link_room) {
        link_room = 2 * connection + 64;
        links = realloc(links, link_room * sizeof(*links));
        CHECK(links);
    }
    links[connection] = *link;
}

static int post_now(struct nic *nic, struct nic_qp *qp, const struct nic_recv *recv, ps_t now, struct nic_io *io)
{
    return qp->srq ? nic_srq_post(qp->srq, recv) : __real_nic_post_recv(nic, qp, recv, now, io);
}

static void make_unreliable(struct nic_qp_config *config, uint8_t transport)
{
    config->transport = transport;
    config->recovery = NIC_GO_BACK_N;
    config->selective = NULL;
    config->selective_size = 0;
    config->reorder_window = 0;
    config->qkey = QKEY;
}

/* The sending end was made before it was known what the receiving one is: made again. */
static void sender_again(uint8_t transport, ps_t now)
{
    struct nic_io io = {0};
    struct nic_qp *qp;

    nic_qp_destroy(sender.nic, sender.qp, &io);
    make_unreliable(&sender.config, transport);
    CHECK(__real_nic_qp_create(sender.nic, sender.qpn, &sender.config, now, &qp) == 0 && qp == sender.qp);
}

/* Rings or a share of the shared one, for a queue pair that the workload expects no message on. */
static uint32_t bring_receives(struct nic_qp_config *config, uint32_t endpoint)
{
    if (!plan->shared) {
        config->rq = bring(RECEIVES * sizeof(*config->rq));
        config->rq_size = RECEIVES;
        return RECEIVES;
    }
    struct nic_srq *srq = config->srq = &shared[endpoint];
    if (srq->slot) return 0;
    nic_srq_init(srq, bring(SHARED_RING * sizeof(*srq->slot)), SHARED_RING);
    return SHARED;
}

int __wrap_nic_qp_create(struct nic *nic, uint32_t qpn, const struct nic_qp_config *from, ps_t now, struct nic_qp **ret)
{
    struct nic_qp_config config = *from;
    bool receives = config.sq_size == 0, rings = plan->verbs && receives && config.rq_size == 0;
    uint32_t connection = created++ / 2, count = 0;
    uint64_t h = mix(plan->seed, ~(uint64_t)connection);
    uint8_t transport = rings && plan->unreliable && h % 3 ? (h % 3 == 1 ? NIC_UC : NIC_UD) : NIC_RC;

    config.send_psn = (uint32_t)verbs_base(nic->config.endpoint, qpn);
    config.expect_psn = (uint32_t)verbs_base(config.remote, config.remote_qp);
    if (transport != NIC_RC) make_unreliable(&config, transport);
    if (receives)
        link_set(connection, &(struct verbs_link){.transport = transport,
                                                  .prio = config.prio,
                                                  .tos = config.tos,
                                                  .mtu = config.mtu,
                                                  .remote = nic->config.endpoint,
                                                  .remote_qp = qpn});
    if (plan->verbs && receives && transport == NIC_RC) {
        config.resource = bring(RESOURCES * sizeof(*config.resource));
        config.resource_size = RESOURCES;
    }
    if (rings) count = bring_receives(&config, nic->config.endpoint);
    int error = __real_nic_qp_create(nic, qpn, &config, now, ret);
    for (uint32_t i = 0; !error && i < count; i++) {
        struct nic_io io = {0};
        struct nic_recv recv = {.wr_id = (uint64_t)connection << 32, .length = NIC_LENGTH_MAX};
        error = post_now(nic, *ret, &recv, now, &io);
    }
    if (error) return error;
    if (!receives) {
        sender.nic = nic;
        sender.qp = *ret;
        sender.config = config;
        sender.qpn = qpn;
    } else if (transport != NIC_RC) {
        sender_again(transport, now);
    }
    return 0;
}

void verbs_rewrite(struct nic_wr *wr)
{
    static const uint8_t plain[] = {NIC_WRITE,    NIC_WRITE, NIC_WRITE, NIC_WRITE_IMM, NIC_SEND, NIC_SEND,
                                    NIC_SEND_IMM, NIC_READ,  NIC_READ,  NIC_READ,      NIC_CAS,  NIC_FETCH_ADD};
    static const uint8_t told[] = {NIC_WRITE_IMM, NIC_SEND_IMM, NIC_SEND_IMM}; /* a collective's: who it is for */
    static const uint8_t uc[] = {NIC_WRITE, NIC_WRITE, NIC_WRITE_IMM, NIC_SEND, NIC_SEND_IMM};

    uint32_t connection = (uint32_t)(wr->wr_id >> 32);
    if (!plan->verbs) return;
    uint64_t h = mix(plan->seed ^ connection, ordinal[connection]++);
    bool names = wr->verb == NIC_WRITE_IMM;
    wr->verb = names ? told[h % 3] : plain[h % sizeof(plain)];
    const struct verbs_link *link = &links[connection];
    if (link->transport == NIC_UC) wr->verb = uc[h % sizeof(uc)];
    if (link->transport == NIC_UD) {
        wr->verb = h & 1 ? NIC_SEND : NIC_SEND_IMM;
        if (wr->length > link->mtu) wr->length = link->mtu;
        wr->dest = link->remote;
        wr->dest_qp = link->remote_qp;
        wr->qkey = QKEY;
        wr->prio = link->prio;
        wr->tos = link->tos;
    }
    if (wr->verb >= NIC_CAS) wr->length = 8;
    if (!names) wr->imm = (uint32_t)h;
    if ((h >> 20 & 7) == 0) wr->flags |= NIC_FENCE;
    if (h >> 23 & 1) wr->flags |= NIC_SOLICITED;
}

int __wrap_nic_post_recv(struct nic *nic, struct nic_qp *qp, const struct nic_recv *from, ps_t now, struct nic_io *io)
{
    struct nic_recv recv = *from;

    recv.length = NIC_LENGTH_MAX;
    uint64_t h = mix(plan->seed ^ nic->config.endpoint, now ^ qp->qpn);
    if (!plan->late_receives || now == 0 || qp->state == NIC_ERROR || (h & 7) == 0)
        return post_now(nic, qp, &recv, now, io);
    struct late_list *list = &late[nic->config.endpoint];
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->item = realloc(list->item, list->room * sizeof(*list->item));
        CHECK(list->item);
    }
    list->item[list->count++] = (struct late){qp, recv, now + h % (30 * PS_US)};
    return 0;
}

void verbs_release(struct nic *nic, ps_t now, struct nic_io *io)
{
    struct late_list *list = &late[nic->config.endpoint];

    for (uint32_t i = 0; i < list->count;) {
        if (list->item[i].at > now) {
            i++;
            continue;
        }
        CHECK(post_now(nic, list->item[i].qp, &list->item[i].recv, now, io) == 0);
        list->item[i] = list->item[--list->count];
    }
}
