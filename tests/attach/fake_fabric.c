/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_fabric.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/check.h"
#include "packet/codec.h"

#define SEGMENT (1u << 24)

struct fake fake;

static uint64_t take(uint64_t bytes)
{
    uint64_t at = fake.used;

    fake.used = (at + bytes + 63) & ~63ull;
    CHECK(fake.used <= SEGMENT);
    return at;
}

static int enter(void)
{
    if (fake.gone) return -EIO;
    fake.depth++;
    return 0;
}

static void leave(void)
{
    CHECK(fake.depth-- > 0);
}

static void make_ring(struct attach_request *request, uint32_t entries, size_t bytes, struct attach_ring **ret)
{
    struct attach_made made = {.entries = power_of_two_up(entries), .number = ++fake.objects};

    CHECK(made.number < FAKE_QUEUES);
    made.ring = take(ATTACH_RING_HEAD + made.entries * bytes);
    if (fake.ring_at) {
        made.ring = fake.ring_at;
        made.entries = fake.ring_entries;
        ret = NULL;
    }
    if (ret) ret[made.number] = attach_at(fake.head, made.ring);
    memcpy(request->data, &made, sizeof made);
}

static void answer_qp(struct attach_request *request)
{
    const struct attach_made made = {.number = 0x40 + ++fake.objects};

    memcpy(request->data, &made, sizeof made);
}

/* Another host with two addresses. */
static int answer_host(struct attach_host *host)
{
    const struct pkt_addr one = pkt_addr_ipv4(0x0a000009), two = pkt_addr_ipv4(0x0a010009);

    if (memcmp(&host->address[0], &one, sizeof one) != 0 && memcmp(&host->address[0], &two, sizeof two) != 0)
        return -ENOENT;
    host->address[0] = one;
    host->address[1] = two;
    host->addresses = 2;
    return 0;
}

static int answer(struct attach_request *request)
{
    const struct attach_cq *cq = (const struct attach_cq *)request->data;

    switch (request->op) {
    case ATTACH_OP_MR_CREATE:
    case ATTACH_OP_MW_CREATE:
        request->object = ++fake.objects << 8 | 7;
        return 0;
    case ATTACH_OP_CHANNEL_CREATE:
        make_ring(request, 64, sizeof(uint32_t), fake.channel);
        return 0;
    case ATTACH_OP_CQ_CREATE:
        fake.cq_entries[fake.objects + 1] = power_of_two_up(cq->entries);
        make_ring(request, cq->entries, sizeof(struct attach_cqe), fake.cq);
        return 0;
    case ATTACH_OP_SRQ_CREATE:
        make_ring(request, ((const struct attach_srq *)request->data)->entries, 1, NULL);
        return 0;
    case ATTACH_OP_SRQ_CHANGE:
        memcpy(request->data, &fake.srq, sizeof fake.srq);
        return 0;
    case ATTACH_OP_QP_CREATE:
        answer_qp(request);
        return 0;
    case ATTACH_OP_QP_STATE:
        memcpy(request->data, &fake.qp, sizeof fake.qp);
        return 0;
    case ATTACH_OP_PATH_GET:
    case ATTACH_OP_CM_SLOT:
        return 5;
    case ATTACH_OP_CM_ALIVE:
        return 77;
    case ATTACH_OP_HOST:
        return answer_host((struct attach_host *)(void *)request->data);
    default:
        return 0;
    }
}

static int request(struct attach_request *asked, const int *fds, unsigned count)
{
    CHECK(fake.depth > 0 && asked->op < ATTACH_OPS && count <= 1);
    if (fake.gone) return -EIO;
    fake.last[asked->op] = *asked;
    fake.asked[asked->op]++;
    if (count) fake.fd[asked->op] = fds[0];
    return answer(asked);
}

static int take_fd(void)
{
    return -ENOENT;
}

static void charge(uint64_t ps)
{
    fake.charges++;
    fake.charged += ps;
}

static uint64_t now(void)
{
    return 1000 + fake.charged;
}

static struct attach_post *post(uint32_t bytes)
{
    CHECK(fake.depth > 0 && bytes % 64 == 0 && bytes <= FAKE_RECORD && fake.posts < FAKE_POSTS);
    return (struct attach_post *)fake.post[fake.posts];
}

static void posted(struct attach_post *record)
{
    CHECK((uint8_t *)record == fake.post[fake.posts]);
    fake.posts++;
}

static void poll_empty(void)
{
    fake.empty++;
    if (fake.on_empty) fake.on_empty();
}

static void poll_found(void)
{
    fake.found++;
}

static void adopt(void *addr, uint64_t bytes)
{
    (void)addr, (void)bytes;
    CHECK(fake.asked[ATTACH_OP_MR_CREATE] == fake.adopted); /* before it is registered */
    fake.adopted++;
}

__attribute__((visibility("default"))) struct attach_api rocelab_fabric_api = {
    .version = ATTACH_API_VERSION,
    .enter = enter,
    .leave = leave,
    .request = request,
    .take_fd = take_fd,
    .charge = charge,
    .now = now,
    .post = post,
    .posted = posted,
    .poll_empty = poll_empty,
    .poll_found = poll_found,
    .adopt = adopt,
};

static void make_nic(uint32_t number)
{
    struct attach_nic *nic = &fake.head->nic[number];

    *nic = (struct attach_nic){.mtu = 4096,
                               .up = 1,
                               .gids = 1,
                               .mac = {2, 0, 0, 0, 0, (uint8_t)number},
                               .guid = 0x200 + number,
                               .line_bps = 400000000000u};
    snprintf(nic->name, sizeof nic->name, "rocelab%u", number);
    snprintf(nic->ifname, sizeof nic->ifname, "eth%u", number);
    nic->gid[0] =
        (struct device_gid){.addr = pkt_addr_ipv4(0x0a000001u + (number << 16)), .net = PKT_NET_IPV4, .usable = true};
    nic->events = take(ATTACH_RING_HEAD + ATTACH_EVENTS * sizeof(struct attach_event));
    nic->mads = take(ATTACH_RING_HEAD + ATTACH_MADS * sizeof(struct device_mad));
}

void fake_begin(void)
{
    fake = (struct fake){.head = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    CHECK(fake.head != MAP_FAILED);
    fake.used = (sizeof *fake.head + 63) & ~63ull;
    fake.head->version = ATTACH_VERSION;
    fake.head->nics = 2;
    fake.head->cost = (struct attach_costs){.post = 60000, .poll = 30000};
    make_nic(0);
    make_nic(1);
    rocelab_fabric_api.head = fake.head;
}

void fake_end(void)
{
    munmap(fake.head, SEGMENT);
    rocelab_fabric_api.head = NULL;
}

const struct attach_post *fake_post(unsigned number)
{
    CHECK(number < fake.posts);
    return (const struct attach_post *)fake.post[number];
}

void fake_complete(uint32_t cq, const struct nic_cqe *cqe)
{
    struct attach_ring *ring = fake.cq[cq];
    struct attach_cqe *slot = (struct attach_cqe *)((uint8_t *)ring + ATTACH_RING_HEAD);

    CHECK(ring && ring->tail - ring->head < fake.cq_entries[cq]);
    slot[ring->tail & (fake.cq_entries[cq] - 1)].cqe = *cqe;
    ring->tail++;
}

void fake_event(uint32_t nic, const struct attach_event *event)
{
    struct attach_ring *ring = attach_at(fake.head, fake.head->nic[nic].events);

    ((struct attach_event *)((uint8_t *)ring + ATTACH_RING_HEAD))[ring->tail++ % ATTACH_EVENTS] = *event;
    (void)eventfd_write(fake.fd[ATTACH_OP_WATCH], 1);
}

void fake_channel_event(uint32_t channel, uint32_t cq)
{
    struct attach_ring *ring = fake.channel[channel];

    ((uint32_t *)((uint8_t *)ring + ATTACH_RING_HEAD))[ring->tail++ % 64] = cq;
    (void)eventfd_write(fake.fd[ATTACH_OP_CHANNEL_CREATE], 1);
}
