/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual output queues: the architecture of deep-buffer chips.
 *
 * A packet waits where it came in, in a queue of its own for each port it may leave by and each class.  The egress
 * port hands out credits to those who wait for it, in turn, `credit_bytes` at a time; who has one sends.  So a port
 * is shared evenly between the ports that feed it, whatever each has queued, where a shared-memory switch serves in
 * order of arrival and gives most to whoever sends most.  Here the packet that holds the credit is the head of the
 * egress queue and alone in it: the rest of the switch sees a queue with a head, a length and a number of cells, as
 * ever.
 *
 * The ledger of the buffer is the same as everywhere (mmu.c), with the deep memory as its size.  In addition a
 * lossless virtual output queue of xoff_bytes pauses the peer of the port it belongs to, until it is shorter by an
 * eighth.  ECN at enqueue looks at the virtual output queue's length; ECN at dequeue at all that waits for the port.
 *
 * Packets that find the on-chip memory full are counted (deep_packets): they lie in the deep memory until their turn
 * comes.  With deep_bps it is read at that rate at most, one packet after the other in the order of their turns; a
 * port waits for its next packet, whatever its class, and reading goes on while the one before is sent.  What is
 * written is not limited: deep_bps is what the memory gives out while as much goes in.  The time that memory and a
 * credit take on their way is not modelled: both are part of the device's latency.
 */
#include "base/bits.h"
#include "switch/crossing.h"
#include "switch/switch_int.h"

#define NOBODY UINT16_MAX

struct sw_voq {
    pkt_t head, tail;
    uint64_t bytes;
    int32_t credit;
    uint16_t next; /* in the ring of those who wait for the port: an ingress port, or NOBODY */
    bool over;     /* at least xoff_bytes long, and not yet shorter by an eighth */
    uint8_t pg;    /* over: the group it pauses, whose packet made it so */
};

struct sw_ring { /* of a port and queue: who waits */
    uint16_t first, last;
};

struct sw_voqs {
    struct sw_voq *voq;   /* [(port * SW_PRIOS + queue) * ports + in] */
    struct sw_ring *ring; /* [port * SW_PRIOS + queue] */
    uint16_t *over;       /* [in * SW_PRIOS + group] queues that are too long */
    uint64_t cells;       /* that wait, heads not counted */
    uint64_t on_chip_cells;
    uint64_t xoff_bytes, xon_bytes;
    int32_t credit_bytes;
    bool limited; /* the deep memory has a rate */
    struct rate deep_rate;
    ps_t read_at;   /* until then it is being read */
    ps_t *ready_at; /* [port] its next packet is there */
    bool *waits;    /* [port] it was asked before that */
};

size_t voq_bytes(const struct sw_config *config)
{
    size_t queues = (size_t)config->ports * SW_PRIOS;
    if (!config->voq.on) return 0;
    return lines_up(sizeof(struct sw_voqs)) + lines_up(queues * config->ports * sizeof(struct sw_voq)) +
           lines_up(queues * sizeof(struct sw_ring)) + lines_up(queues * sizeof(uint16_t)) +
           lines_up(config->ports * sizeof(ps_t)) + lines_up(config->ports * sizeof(bool));
}

struct sw_voqs *voq_init(void *memory, const struct sw_config *config)
{
    size_t queues = (size_t)config->ports * SW_PRIOS;
    if (!config->voq.on) return NULL;
    uint8_t *at = memory;
    struct sw_voqs *voqs = memory;
    at += lines_up(sizeof *voqs);
    voqs->voq = (struct sw_voq *)(void *)at;
    at += lines_up(queues * config->ports * sizeof(struct sw_voq));
    voqs->ring = (struct sw_ring *)(void *)at;
    at += lines_up(queues * sizeof(struct sw_ring));
    voqs->over = (uint16_t *)(void *)at;
    at += lines_up(queues * sizeof(uint16_t));
    voqs->ready_at = (ps_t *)(void *)at;
    at += lines_up(config->ports * sizeof(ps_t));
    voqs->waits = (bool *)(void *)at;
    voqs->limited = config->voq.deep_bps != 0;
    if (voqs->limited) voqs->deep_rate = rate_of(config->voq.deep_bps);
    voqs->credit_bytes = (int32_t)config->voq.credit_bytes;
    voqs->xoff_bytes = config->voq.xoff_bytes ? config->voq.xoff_bytes : UINT64_MAX;
    voqs->xon_bytes = voqs->xoff_bytes - voqs->xoff_bytes / 8;
    voqs->on_chip_cells = config->voq.on_chip_bytes ? config->voq.on_chip_bytes / config->cell_bytes : UINT64_MAX;
    for (size_t i = 0; i < queues * config->ports; i++)
        voqs->voq[i].head = PKT_NONE;
    for (size_t i = 0; i < queues; i++)
        voqs->ring[i] = (struct sw_ring){NOBODY, NOBODY};
    return voqs;
}

static struct sw_voq *voq_at(const struct sw *sw, uint32_t queue, uint32_t in)
{
    return &sw->voqs->voq[(size_t)queue * sw->ports + in];
}

static void ring_append(const struct sw *sw, uint32_t queue, uint32_t in)
{
    struct sw_ring *ring = &sw->voqs->ring[queue];
    voq_at(sw, queue, in)->next = NOBODY;
    if (ring->first == NOBODY)
        ring->first = (uint16_t)in;
    else
        voq_at(sw, queue, ring->last)->next = (uint16_t)in;
    ring->last = (uint16_t)in;
}

bool voq_over(const struct sw *sw, const struct sw_pg *pg)
{
    return sw->voqs->over[pg - sw->pg] != 0;
}

void voq_push(struct sw *sw, const struct sw_crossing *crossing, pkt_t id, ps_t now, struct sw_io *io)
{
    struct sw_voqs *voqs = sw->voqs;
    uint32_t index = crossing->out * SW_PRIOS + crossing->queue_index;
    struct sw_queue *queue = &sw->queue[index];
    struct sw_voq *voq = voq_at(sw, index, crossing->in);
    struct pkt *hot = io->pool->hot;

    if (voq->head == PKT_NONE) {
        voq->head = id;
        voq->credit = voqs->credit_bytes;
        ring_append(sw, index, crossing->in);
    } else {
        hot[voq->tail].next = id;
    }
    voq->tail = id;
    voq->bytes += crossing->bytes;
    hot[queue->head].next = SW_MORE;
    voqs->cells += crossing->cells;
    bool deep = voqs->cells > voqs->on_chip_cells;
    hot[id].deep = deep;
    sw->counters[crossing->out].deep_packets += deep;
    if (voq->over || voq->bytes < voqs->xoff_bytes || !crossing->from->pg[crossing->pg_index].lossless) return;
    voq->over = true;
    voq->pg = (uint8_t)crossing->pg_index;
    voqs->over[crossing->in * SW_PRIOS + voq->pg]++;
    if (sw->port[crossing->in].xoff >> crossing->pg_index & 1) return;
    sw->blamed = (uint16_t)crossing->out;
    sw->blamed_paused = crossing->to->paused >> crossing->queue_index & 1;
    pfc_xoff(sw, crossing->in, crossing->pg_index, now, io);
    sw->blamed = SW_NO_CAUSE;
}

uint64_t voq_length(const struct sw *sw, uint32_t out, uint32_t queue, uint32_t in)
{
    return voq_at(sw, out * SW_PRIOS + queue, in)->bytes;
}

/* The packet whose turn it is comes out of the deep memory, after those that were asked for before it. */
static void read_deep(struct sw_voqs *voqs, uint32_t port, uint32_t bytes, ps_t now)
{
    ps_t start = voqs->read_at > now ? voqs->read_at : now;

    voqs->read_at = voqs->ready_at[port] = start + rate_take(&voqs->deep_rate, bytes);
}

bool voq_reading(struct sw *sw, uint32_t port, ps_t now)
{
    struct sw_voqs *voqs = sw->voqs;

    if (voqs->ready_at[port] <= now) return false;
    voqs->waits[port] = true;
    sw_due(sw, port, voqs->ready_at[port]);
    return true;
}

ps_t voq_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_voqs *voqs = sw->voqs;

    if (!voqs->waits[port]) return PS_NEVER;
    if (voqs->ready_at[port] > now) return voqs->ready_at[port];
    voqs->waits[port] = false;
    sw_kick(sw, port, now, io);
    return PS_NEVER;
}

void voq_refill(struct sw *sw, struct sw_queue *queue, struct pkt *hot, ps_t now)
{
    struct sw_voqs *voqs = sw->voqs;
    uint32_t index = (uint32_t)(queue - sw->queue);
    struct sw_ring *ring = &voqs->ring[index];
    uint32_t in = ring->first;
    struct sw_voq *voq = voq_at(sw, index, in);
    pkt_t id = voq->head;
    uint32_t bytes = hot[id].frame_bytes;

    CHECK(in != NOBODY && id != PKT_NONE);
    voq->head = hot[id].next;
    voq->bytes -= bytes;
    voq->credit -= (int32_t)bytes;
    voqs->cells -= sw_cells(sw, bytes);
    if (voq->over && voq->bytes < voqs->xon_bytes) {
        voq->over = false;
        voqs->over[in * SW_PRIOS + voq->pg]--;
    }
    if (voq->head == PKT_NONE || voq->credit <= 0) {
        ring->first = voq->next;
        if (ring->first == NOBODY) ring->last = NOBODY;
        if (voq->head != PKT_NONE) {
            voq->credit += voqs->credit_bytes;
            ring_append(sw, index, in);
        }
    }
    hot[id].next = ring->first == NOBODY ? PKT_NONE : SW_MORE;
    queue->head = id;
    if (voqs->limited && hot[id].deep && now != PS_NEVER) read_deep(voqs, index / SW_PRIOS, bytes, now);
}

pkt_t sw_queued_next(const struct sw *sw, const struct pkt *hot, uint32_t port, uint32_t queue, pkt_t id)
{
    uint32_t index = port * SW_PRIOS + queue, in = 0;

    if (!sw->voqs) return hot[id].next;
    if (id != sw->queue[index].head) {
        if (hot[id].next != PKT_NONE) return hot[id].next;
        in = hot[id].in_port + 1u;
    }
    for (; in < sw->ports; in++)
        if (voq_at(sw, index, in)->head != PKT_NONE) return voq_at(sw, index, in)->head;
    return PKT_NONE;
}
