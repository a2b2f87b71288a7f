/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of an adapter's port: who may send, and what the other end is told (credit.h has the counting).
 *
 * A virtual lane without a whole packet's blocks left is dry: its bit is in `dry`, and the owner holds back what
 * travels in it until the bit is gone.  What arrives lies in the lane's receive buffer until the host has taken it: at
 * once, or at the receive rate, the lowest lane first; then its blocks are given back.  So a slow host stops its peer
 * without a packet lost.
 *
 * One timer, while there is traffic: what is untold is told, what was sent is said.  Words to send are appended to the
 * caller's list; none is lost when that is full: the port is due at once.
 *
 * One implementation for all transports' adapters.  No clock, no allocation.
 */
#ifndef ROCELAB_BASE_CREDIT_PORT_H
#define ROCELAB_BASE_CREDIT_PORT_H

#include "base/credit.h"

#define CREDIT_LANES 8u
#define CREDIT_PORT_WORDS 32u /* a period's of all lanes, and those of a call */

struct credit_port_config {
    uint8_t vls;  /* virtual lanes; 0: no credits */
    uint8_t used; /* bit v: lane v has any; 0: all of them */
    uint8_t vl_of_prio[CREDIT_LANES];
    uint8_t vl_of_dscp[64]; /* of packets that come and go */
    uint8_t block_extra;    /* blocks of CREDIT_BLOCK_BYTES << this */
    bool says_nothing;      /* of what was sent: the line loses nothing */
    uint16_t packet_blocks; /* of the largest packet */
    uint16_t added_bytes;   /* of the line that count with a packet */
    uint32_t own_blocks;    /* of the receive buffer of each lane: what this end promises */
    uint32_t peer_blocks;   /* what the other end promises; 0: nothing is plugged in */
    uint32_t calm_blocks;   /* credit_rx.calm */
    ps_t skew_ps;           /* a word overtakes packets that were sent so much earlier */
    ps_t period_ps;         /* of the timer; 0: CREDIT_PERIOD */
};

struct credit_lane {
    struct credit_tx tx;
    struct credit_rx rx;
    uint32_t waiting; /* blocks that the host has not taken */
};

struct credit_port {
    struct credit_port_config config;
    struct credit_lane lane[CREDIT_LANES];
    uint16_t dry; /* bit v */
    bool down;
    uint64_t rx_bps; /* what the host takes; 0: all at once */
    ps_t timer_at;   /* PS_NEVER: it rests */
    ps_t report_at;  /* not before: words of the timer */
    ps_t taken_at;   /* up to when the host's taking is counted */
};

struct credit_words { /* to be sent, in this order */
    uint32_t count;
    uint32_t word[CREDIT_PORT_WORDS];
};

/* The next one; false: none. */
static inline bool credit_words_take(struct credit_words *words, uint32_t *ret)
{
    if (words->count == 0) return false;
    *ret = words->word[0];
    words->count--;
    for (uint32_t i = 0; i < words->count; i++)
        words->word[i] = words->word[i + 1];
    return true;
}

void credit_port_init(struct credit_port *port, const struct credit_port_config *config, uint64_t rx_bps);
/* A packet came, or went: its frame's bytes and its type of service. */
void credit_port_rx(struct credit_port *port, uint32_t bytes, uint8_t tos, ps_t now, struct credit_words *out);
void credit_port_tx(struct credit_port *port, uint32_t bytes, uint8_t tos, ps_t now);
void credit_port_word(struct credit_port *port, uint32_t word, ps_t now);
void credit_port_tick(struct credit_port *port, ps_t now, struct credit_words *out);
void credit_port_rate(struct credit_port *port, uint64_t bps, ps_t now, struct credit_words *out);
void credit_port_link(struct credit_port *port, bool up, ps_t now, struct credit_words *out);

/* Bit p: priority p travels in one of these lanes. */
static inline uint8_t credit_port_prios(const struct credit_port *port, uint16_t lanes)
{
    uint8_t prios = 0;

    for (uint32_t p = 0; p < CREDIT_LANES; p++)
        if (lanes >> port->config.vl_of_prio[p] & 1) prios |= (uint8_t)(1u << p);
    return prios;
}

#endif
