/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of a switch's ports: who may send, and what the peers are told (base/credit.h has the counting).
 *
 * A virtual lane (VL) is a queue and a priority group of the same number.  The buffer of a lane is the group's reserve,
 * and what is promised is never more, so a packet that was allowed to come finds room.  A lane with less than a whole
 * packet's blocks left is dry: its bit is set where pauses set theirs, and the scheduler passes it over.  That the
 * largest packet is asked for, whatever waits at the head, spares the look at the head; a small packet may wait for
 * blocks that it does not need.
 *
 * Congestion is marked (FECN; the descriptor's CE stands for it) when a packet leaves a queue that is still long, by a
 * lane that has credits for more: one that waits for credits itself is a victim of somebody else's queue.
 *
 * One timer a port, while there is traffic: what is untold is told, what was sent is said (loss repair).
 *
 * A packet that stays too long at the head of a dry lane is dropped; after SW_STALL_DROPS of them in a row the lane
 * stalls, and drops all it has and gets for SW_STALL_LIVES lifetimes (volume 1, 18.2.5.4 and 7.6.9.2).  Words are never
 * lost: when the caller's list is full the port is due at once.
 */
#include "base/bits.h"
#include "switch/switch_int.h"

size_t credit_bytes(const struct sw_config *config)
{
    if (!config->credit.vls) return 0;
    return lines_up(sizeof(struct sw_credits)) + lines_up(config->ports * SW_PRIOS * sizeof(struct sw_lane)) +
           lines_up(config->ports * sizeof(struct sw_lanes));
}

static bool lane_used(const struct sw_credit_config *config, uint32_t vl)
{
    return vl < config->vls && (!config->used || config->used >> vl & 1);
}

static ps_t period(const struct sw *sw, uint32_t port)
{
    ps_t own = sw->config->credit.port[port].period_ps;

    return own ? own : CREDIT_PERIOD;
}

struct sw_credits *credit_init(void *memory, const struct sw_config *config)
{
    const struct sw_credit_config *from = &config->credit;
    uint8_t *at = memory;
    struct sw_credits *credits = memory;

    if (!from->vls) return NULL;
    at += lines_up(sizeof(*credits));
    credits->lane = (struct sw_lane *)(void *)at;
    at += lines_up(config->ports * SW_PRIOS * sizeof(struct sw_lane));
    credits->lanes = (struct sw_lanes *)(void *)at;
    credits->packet_blocks = from->packet_blocks;
    credits->added_bytes = from->added_bytes;
    credits->block_extra = from->block_extra;
    credits->vls = from->vls;
    for (uint32_t port = 0; port < config->ports; port++) {
        credits->lanes[port].tick_at = PS_NEVER;
        if (from->arbitration) arbiter_init(from->arbitration, &credits->lanes[port].arbiter);
        for (uint32_t vl = 0; vl < SW_PRIOS; vl++) {
            struct sw_lane *lane = &credits->lane[port * SW_PRIOS + vl];
            const struct sw_credit_port *promised = &from->port[port];
            bool used = lane_used(from, vl);
            credit_tx_reset(&lane->tx, used ? promised->peer_blocks : 0);
            lane->rx.calm = promised->calm_blocks;
            credit_rx_reset(&lane->rx, used ? promised->own_blocks : 0, 0, used ? promised->own_blocks : 0);
            lane->waits_since = lane->head_since = PS_NEVER;
            credits->lanes[port].stalled_until[vl] = PS_NEVER;
        }
    }
    return credits;
}

void credit_start(struct sw *sw)
{
    for (uint32_t port = 0; port < sw->ports; port++)
        for (uint32_t vl = 0; vl < sw->credits->vls; vl++)
            if (credit_dry(&lane_at(sw, port, vl)->tx, sw->credits->packet_blocks))
                sw->port[port].paused |= (uint16_t)(1u << vl);
}

static const char *table_problem(const struct sw_arb_entry *entry, uint32_t count, uint32_t vls, uint32_t *lanes)
{
    for (uint32_t i = 0; i < count; i++) {
        if (entry[i].vl >= vls) return "an arbitration table names a virtual lane that does not exist";
        if (entry[i].weight) *lanes |= 1u << entry[i].vl;
    }
    return NULL;
}

static const char *tables_problem(const struct sw_credit_config *credit)
{
    const struct sw_arbitration *tables = credit->arbitration;
    uint32_t lanes = 0;
    const char *problem = table_problem(tables->high, tables->highs, credit->vls, &lanes);

    if (!problem) problem = table_problem(tables->low, tables->lows, credit->vls, &lanes);
    if (problem) return problem;
    return lanes == (1u << credit->vls) - 1 ? NULL : "a virtual lane has no weight in either arbitration table";
}

const char *credit_problem(const struct sw_config *config)
{
    const struct sw_credit_config *credit = &config->credit;

    if (!credit->vls) return NULL;
    if (credit->vls > SW_PRIOS) return "there are at most 8 virtual lanes";
    if (config->forgets_ports || config->raise || config->voq.on)
        return "credits go with neither flooding, raised classes nor virtual output queues";
    if (config->cell_bytes != CREDIT_BLOCK_BYTES << credit->block_extra) return "with credits a cell is a block";
    const char *problem = credit->arbitration ? tables_problem(credit) : NULL;
    if (problem) return problem;
    for (uint32_t port = 0; port < config->ports; port++) {
        const struct sw_credit_port *promised = &credit->port[port];
        if (promised->own_blocks > CREDIT_BLOCKS_MAX || promised->peer_blocks > CREDIT_BLOCKS_MAX)
            return "more credits are promised than their count can tell";
        if (promised->peer_blocks && promised->peer_blocks < credit->packet_blocks)
            return "a lane has less credits than its largest packet needs";
        if (promised->skew_ps >= (promised->period_ps ? promised->period_ps : CREDIT_PERIOD))
            return "words of credits overtake more than a period's packets";
        for (uint32_t tc = 0; tc < SW_PRIOS; tc++) {
            uint32_t vl = config->port[port]->tc_to_queue[tc];
            if (vl >= credit->vls || config->port[port]->tc_to_pg[tc] != vl)
                return "a class maps to a virtual lane that does not exist";
            if (lane_used(credit, vl) &&
                config->port[port]->pg[vl].reserved_bytes < (uint64_t)promised->own_blocks * config->cell_bytes)
                return "a lane promises more than its buffer has";
        }
    }
    return NULL;
}

static bool emit(struct sw *sw, uint32_t port, uint32_t word, struct sw_io *io)
{
    if (io->pauses == SW_PAUSES_MAX) return false;
    io->pause[io->pauses++] = (struct sw_pause_out){.credit = word, .port = (uint16_t)port, .cause = SW_NO_CAUSE};
    sw->counters[port].tx_credit_words++;
    return true;
}

static void arm(struct sw *sw, uint32_t port, ps_t at)
{
    struct sw_lanes *lanes = &sw->credits->lanes[port];

    lanes->armed = true;
    lanes->tick_at = at;
    sw_due(sw, port, at);
}

static void tell(struct sw *sw, uint32_t port, uint32_t vl, ps_t now, struct sw_io *io)
{
    struct credit_rx *rx = &lane_at(sw, port, vl)->rx;

    if (sw->slow[port].down) return;
    if (emit(sw, port, credit_word(CREDIT_LIMIT, vl, rx->limit), io))
        (void)credit_tell(rx);
    else
        arm(sw, port, now);
}

void lane_free_tells(struct sw *sw, uint32_t port, uint32_t vl, ps_t now, struct sw_io *io)
{
    if (credit_tells(&lane_at(sw, port, vl)->rx, sw->credits->packet_blocks)) tell(sw, port, vl, now, io);
    if (!sw->credits->lanes[port].armed) arm(sw, port, ps_add(now, period(sw, port)));
}

void lane_refused(struct sw *sw, uint32_t port, uint32_t vl, uint32_t blocks, ps_t now, struct sw_io *io)
{
    credit_arrived(&lane_at(sw, port, vl)->rx, blocks, now);
    lane_freed(sw, port, vl, blocks, now, io);
    io->deadline = sw->deadline;
}

/* When the head will be too old. */
static ps_t head_due(const struct sw *sw, uint32_t port, const struct sw_lane *lane)
{
    ps_t lifetime = sw->config->credit.port[port].lifetime_ps;

    return lifetime && lane->head_since != PS_NEVER ? ps_add(lane->head_since, lifetime) : PS_NEVER;
}

static void wait_begins(struct sw *sw, uint32_t port, struct sw_lane *lane, ps_t now)
{
    if (lane->waits_since != PS_NEVER) return;
    lane->waits_since = lane->head_since = now;
    sw_due(sw, port, head_due(sw, port, lane));
}

static void wait_ends(struct sw *sw, uint32_t port, uint32_t vl, ps_t now)
{
    struct sw_lane *lane = lane_at(sw, port, vl);

    if (lane->waits_since == PS_NEVER) return;
    sw->counters[port].prio[vl].rx_pause_ps += now - lane->waits_since;
    lane->waits_since = lane->head_since = PS_NEVER;
}

void lane_queued(struct sw *sw, uint32_t port, uint32_t vl, ps_t now)
{
    if (sw->port[port].paused >> vl & 1) wait_begins(sw, port, lane_at(sw, port, vl), now);
}

void lane_sent_dry(struct sw *sw, uint32_t port, uint32_t vl, ps_t now)
{
    struct sw_port *state = &sw->port[port];
    struct sw_lane *lane = lane_at(sw, port, vl);

    if (credit_dry(&lane->tx, sw->credits->packet_blocks)) {
        state->paused |= (uint16_t)(1u << vl);
        if (state->filled >> vl & 1) wait_begins(sw, port, lane, now);
    }
    if (!sw->credits->lanes[port].armed) arm(sw, port, ps_add(now, period(sw, port)));
}

void credit_mark(struct sw *sw, uint32_t port, uint32_t vl, struct pkt *pkt, uint32_t blocks, ps_t now)
{
    const struct sw_credit_config *config = &sw->config->credit;
    struct sw_queue *queue = sw_queue_at(sw, port, vl);
    uint8_t ecn = pkt->tos & PKT_ECN_MASK;

    if (ecn == PKT_ECN_NOT_ECT || ecn == PKT_ECN_CE || blocks < config->mark_blocks) return;
    if (sw->port[port].paused >> vl & 1) return; /* held up itself: a victim */
    if (config->mark_rate && rng_u32(&sw->rng) % (config->mark_rate + 1u)) return;
    pkt->tos |= PKT_ECN_CE;
    queue->marked++;
    sw_note(sw, RECORD_MARK, port, vl, queue->bytes, 0, now);
}

/* Dry or not, after the limit changed. */
static void judge(struct sw *sw, uint32_t port, uint32_t vl, ps_t now, struct sw_io *io)
{
    struct sw_port *state = &sw->port[port];
    uint16_t bit = (uint16_t)(1u << vl);

    if (credit_dry(&lane_at(sw, port, vl)->tx, sw->credits->packet_blocks)) {
        state->paused |= bit;
        if (state->filled & bit) wait_begins(sw, port, lane_at(sw, port, vl), now);
        return;
    }
    if (!(state->paused & bit)) return;
    state->paused &= (uint16_t)~bit;
    wait_ends(sw, port, vl, now);
    if (state->filled & bit) sw_kick(sw, port, now, io);
}

void sw_credit(struct sw *sw, uint16_t port, uint32_t word, ps_t now, struct sw_io *io)
{
    uint32_t vl = credit_word_vl(word);

    CHECK(port < sw->ports && sw->credits);
    sw->counters[port].rx_credit_words++;
    if (vl < sw->credits->vls && !sw->slow[port].down) {
        struct sw_lane *lane = lane_at(sw, port, vl);
        if (credit_word_kind(word) == CREDIT_LIMIT) {
            credit_limit(&lane->tx, word);
            judge(sw, port, vl, now, io);
        } else {
            credit_heard(&lane->rx, word, sw->config->credit.port[port].skew_ps, now);
            if (!sw->credits->lanes[port].armed) arm(sw, port, ps_add(now, period(sw, port)));
        }
    }
    io->deadline = sw->deadline;
}

static void stall(struct sw *sw, uint32_t port, uint32_t vl, ps_t now, struct sw_io *io)
{
    ps_t lifetime = sw->config->credit.port[port].lifetime_ps;

    sw->counters[port].vl_stalls++;
    sw->credits->lanes[port].drops[vl] = 0;
    sw->credits->lanes[port].stalled_until[vl] = ps_add(now, SW_STALL_LIVES * lifetime);
    sw->port[port].refuse |= (uint16_t)(1u << vl);
    sw_flush(sw, port, vl, SW_DROP_lifetime, now, io);
    wait_ends(sw, port, vl, now);
}

/* The head of a dry lane is too old. */
static void head_expires(struct sw *sw, uint32_t port, uint32_t vl, ps_t now, struct sw_io *io)
{
    struct sw_lane *lane = lane_at(sw, port, vl);

    sw_drop_head(sw, port, vl, SW_DROP_lifetime, now, io);
    lane->head_since = now;
    if (!(sw->port[port].filled >> vl & 1)) wait_ends(sw, port, vl, now);
    if (++sw->credits->lanes[port].drops[vl] >= SW_STALL_DROPS) stall(sw, port, vl, now, io);
}

/* Lifetimes and stalls; the next moment one of them may be over. */
static ps_t lifetimes(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    ps_t next = PS_NEVER;

    if (!sw->config->credit.port[port].lifetime_ps) return next;
    for (uint32_t vl = 0; vl < sw->credits->vls; vl++) {
        struct sw_lane *lane = lane_at(sw, port, vl);
        ps_t *stalled = &sw->credits->lanes[port].stalled_until[vl];
        if (*stalled <= now) {
            *stalled = PS_NEVER;
            if (!sw->slow[port].down) sw->port[port].refuse &= (uint16_t) ~(1u << vl);
        }
        if (head_due(sw, port, lane) <= now) head_expires(sw, port, vl, now, io);
        ps_t due = head_due(sw, port, lane);
        if (due < next) next = due;
        if (*stalled < next) next = *stalled;
    }
    return next;
}

/* What is untold is told, what was sent is said.  Whether there was anything. */
static bool report(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    bool busy = false;

    for (uint32_t vl = 0; vl < sw->credits->vls; vl++) {
        struct sw_lane *lane = lane_at(sw, port, vl);
        if (now > lane->rx.heard_at) credit_repair(&lane->rx);
        bool says = credit_says(&lane->tx) && !sw->config->credit.port[port].says_nothing;
        busy |= lane->rx.heard_at != PS_NEVER || credit_untold(&lane->rx) || says;
        if (credit_untold(&lane->rx)) tell(sw, port, vl, now, io);
        if (says && emit(sw, port, credit_word(CREDIT_SENT, vl, lane->tx.sent), io)) (void)credit_say(&lane->tx);
    }
    return busy;
}

ps_t credit_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_lanes *lanes = &sw->credits->lanes[port];
    ps_t next = lifetimes(sw, port, now, io);

    if (lanes->armed && lanes->tick_at <= now) {
        lanes->tick_at = PS_NEVER;
        bool busy = !sw->slow[port].down && report(sw, port, now, io);
        bool full = io->pauses == SW_PAUSES_MAX;
        lanes->armed = busy;
        lanes->tick_at = !busy ? PS_NEVER : full ? now : ps_add(now, period(sw, port));
    }
    return lanes->tick_at < next ? lanes->tick_at : next;
}

void credit_link(struct sw *sw, uint32_t port, bool up, ps_t now, struct sw_io *io)
{
    for (uint32_t vl = 0; vl < sw->credits->vls; vl++) {
        struct sw_lane *lane = lane_at(sw, port, vl);
        wait_ends(sw, port, vl, now);
        credit_tx_reset(&lane->tx, 0);
        credit_rx_reset(&lane->rx, lane->rx.size, credit_held(&lane->rx), 0);
        sw->credits->lanes[port].drops[vl] = 0;
        sw->credits->lanes[port].stalled_until[vl] = PS_NEVER;
        sw->port[port].paused |= (uint16_t)(1u << vl);
        if (up && lane->rx.size) tell(sw, port, vl, now, io);
    }
}

void credit_settle(struct sw *sw, uint32_t port, ps_t now)
{
    for (uint32_t vl = 0; vl < sw->credits->vls; vl++) {
        struct sw_lane *lane = lane_at(sw, port, vl);
        if (lane->waits_since == PS_NEVER || lane->waits_since >= now) continue;
        sw->counters[port].prio[vl].rx_pause_ps += now - lane->waits_since;
        lane->waits_since = now;
    }
}

int32_t sw_credit_left(const struct sw *sw, uint16_t port, uint8_t vl)
{
    return credit_left(&lane_at(sw, port, vl)->tx);
}

uint32_t sw_credit_held(const struct sw *sw, uint16_t port, uint8_t vl)
{
    return credit_held(&lane_at(sw, port, vl)->rx);
}

void credit_audit(const struct sw *sw, uint32_t port)
{
    for (uint32_t vl = 0; vl < sw->credits->vls; vl++) {
        const struct sw_lane *lane = lane_at(sw, port, vl);
        bool dry = credit_dry(&lane->tx, sw->credits->packet_blocks);
        CHECK(dry == (sw->port[port].paused >> vl & 1));
        CHECK(credit_held(&lane->rx) <= lane->rx.size);
        CHECK(credit_held(&lane->rx) >= sw_pg_at(sw, port, vl)->held);
        CHECK((lane->waits_since != PS_NEVER) == (dry && sw->port[port].filled >> vl & 1));
    }
}
