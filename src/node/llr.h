/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link-level retry (LLR) of one end of a line: frames that the line damages are sent again by the port, and nobody
 * above it hears of it (Ultra Ethernet 1.0, 5.1; names and defaults as the SAI proposal for LLR has them).
 *
 * Each frame has a sequence number, in its preamble: it takes no bytes.  The sender keeps what is not acknowledged in a
 * replay buffer, and sends nothing new while that is full.  The receiver takes a frame with the number it expects, and
 * acknowledges what it has (ACK, cumulative, spaced).  A damaged frame, or one with a later number, is answered by one
 * NACK, and all is dropped until the expected one comes: the sender goes back to it.  Where an answer is lost too, a
 * timer starts the replay; when that has not helped `replays` times, the buffer is given up (flush), and both ends
 * begin again (INIT, answered by an echo; nothing is sent in between).
 *
 * ACK, NACK, INIT and the echo are words in control ordered sets of LLR_SET_BYTES.  GOOD and BAD are no words of the
 * line: with them the driver tells the receiver of a frame that has just arrived, at the time its last bit is there,
 * while the frame itself is still in the forwarding pipeline.
 *
 * Which frames the other end takes follows from what the line did to them, so the sender's half works it out (`taken`),
 * and keeps only the others: one packet has one owner.  A frame that was taken and is sent again takes its time on the
 * line and is not delivered twice.
 *
 * One implementation for the ports of switches and adapters.  No clock, no allocation: the ring is the caller's.
 */
#ifndef ROCELAB_NODE_LLR_H
#define ROCELAB_NODE_LLR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/pktpool.h"

#define LLR_SET_BYTES 8u
#define LLR_BITS 20
#define LLR_MASK ((1u << LLR_BITS) - 1)
#define LLR_FRAMES_MAX (1u << (LLR_BITS - 2)) /* outstanding: numbers stay comparable */

enum llr_kind { LLR_GOOD, LLR_BAD, LLR_ACK, LLR_NACK, LLR_INIT, LLR_ECHO };
#define LLR_WORD (1u << 30) /* with the bit above it, which is credits', clear */
static inline uint32_t llr_word(enum llr_kind kind, uint32_t number)
{
    return LLR_WORD | (uint32_t)kind << 27 | (number & LLR_MASK);
}
static inline bool llr_is_word(uint32_t word)
{
    return word >> 30 == 1;
}
static inline enum llr_kind llr_word_kind(uint32_t word)
{
    return (enum llr_kind)(word >> 27 & 7);
}

#define LLR_COUNTER_LIST(X)                                                                                            \
    X(tx_ok, "frames sent for the first time")                                                                         \
    X(tx_replayed, "frames sent again")                                                                                \
    X(tx_replay, "replays begun")                                                                                      \
    X(tx_discard, "frames given up: a flush, or the link went down")                                                   \
    X(tx_ack_ctl_os, "ACKs sent")                                                                                      \
    X(tx_nack_ctl_os, "NACKs sent")                                                                                    \
    X(tx_init_ctl_os, "INITs sent")                                                                                    \
    X(rx_ack_ctl_os, "ACKs received")                                                                                  \
    X(rx_nack_ctl_os, "NACKs received")                                                                                \
    X(rx_ack_nack_seq_error, "ACKs and NACKs received with a number that is not outstanding")                          \
    X(rx_expected_seq_good, "frames taken")                                                                            \
    X(rx_bad, "damaged frames received")                                                                               \
    X(rx_missing_seq, "frames received after a gap, and dropped")                                                      \
    X(rx_duplicate_seq, "frames received again, and dropped")                                                          \
    X(timeouts, "replay timers that ran out")                                                                          \
    X(held_ps, "time with the replay buffer full")
struct llr_counters {
#define X(name, help) uint64_t name;
    LLR_COUNTER_LIST(X)
#undef X
};

struct llr_config {
    uint32_t buffer_bytes;  /* of line, sent and not acknowledged; 0: the line has no LLR */
    uint32_t largest_bytes; /* of line: the buffer has room for this before a frame is begun */
    uint32_t frames;        /* of the ring; a power of two, at most LLR_FRAMES_MAX */
    uint32_t replays;       /* by the timer, without a sign of life */
    ps_t timer_ps;
    ps_t spacing_ps; /* from one ACK to the next */
};

struct llr_frame { /* in the replay buffer */
    pkt_t id;      /* PKT_NONE: the other end has it */
    uint32_t line; /* bytes */
};

struct llr {
    struct llr_config config;
    struct llr_frame *frame; /* [config.frames] by number */
    /* the sending half; numbers are wider here than in words */
    uint32_t next;   /* of a new frame */
    uint32_t acked;  /* all before it are known to be taken */
    uint32_t taken;  /* all before it are */
    uint32_t again;  /* the next to be sent again; `next`: no replay is under way */
    uint32_t tries;  /* replays by the timer since the last sign of life */
    uint64_t bytes;  /* in the buffer */
    ps_t since;      /* the last sign of life, or the first frame after all was acknowledged; PS_NEVER: none awaited */
    ps_t full_since; /* PS_NEVER: it is not */
    bool opening;    /* INIT was sent, its echo is not here */
    /* the receiving half */
    bool nacked;       /* waits for `expected`, and has said so */
    uint32_t expected; /* the next it takes */
    ps_t told_at;      /* when an ACK or NACK was sent last */
    ps_t tell_at;      /* when the next ACK is due; PS_NEVER: all is told */
    struct llr_counters count;
};

#define LLR_WORDS_MAX 2
struct llr_out { /* what a call asks of the driver */
    uint32_t word[LLR_WORDS_MAX];
    uint32_t words;
    bool flush; /* the buffer is given up: llr_take_back() */
};

void llr_init(struct llr *llr, const struct llr_config *config, struct llr_frame *ring);
/* The line failed or came back: both halves begin again.  The buffer was emptied (llr_take_back). */
void llr_reset(struct llr *llr, ps_t now);

/* Whether a new frame may be sent: there is room, and no replay. */
static inline bool llr_may_send(const struct llr *llr)
{
    return llr->again == llr->next && !llr->opening && llr->next - llr->acked < llr->config.frames &&
           llr->bytes + llr->config.largest_bytes <= llr->config.buffer_bytes;
}
static inline bool llr_replays(const struct llr *llr)
{
    return llr->again != llr->next;
}

/* A new frame goes out: its number. */
uint32_t llr_send(struct llr *llr, pkt_t id, uint32_t line, ps_t now);
/* The next frame of the replay goes out; *ret_number is its. */
struct llr_frame llr_send_again(struct llr *llr, uint32_t *ret_number);
/* What the line did to it.  True: the other end takes it, and the packet is not the buffer's any more. */
bool llr_left(struct llr *llr, uint32_t number, bool damaged);
/* A frame of the buffer that the other end has not: the caller's, lost; PKT_NONE: the buffer is empty. */
pkt_t llr_take_back(struct llr *llr, ps_t now);

/* A word of the other end, or GOOD or BAD of a frame that is here. */
void llr_heard(struct llr *llr, uint32_t word, ps_t now, struct llr_out *out);
void llr_tick(struct llr *llr, ps_t now, struct llr_out *out);
ps_t llr_deadline(const struct llr *llr);

#endif
