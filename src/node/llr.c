/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link-level retry: see llr.h.
 */
#include "node/llr.h"

#include "base/bits.h"
#include "base/check.h"

void llr_init(struct llr *llr, const struct llr_config *config, struct llr_frame *ring)
{
    CHECK(is_power_of_two(config->frames) && config->frames <= LLR_FRAMES_MAX);
    CHECK(config->buffer_bytes >= config->largest_bytes && config->timer_ps > 0);
    *llr = (struct llr){.config = *config, .frame = ring};
    llr_reset(llr, 0);
}

void llr_reset(struct llr *llr, ps_t now)
{
    CHECK(llr->acked == llr->next);
    if (llr->full_since != PS_NEVER && llr->full_since < now) llr->count.held_ps += now - llr->full_since;
    llr->next = llr->acked = llr->taken = llr->again = llr->tries = llr->expected = 0;
    llr->bytes = 0;
    llr->opening = llr->nacked = false;
    llr->since = llr->full_since = llr->tell_at = PS_NEVER;
    llr->told_at = 0;
}

/* A number of a word, as wide as `near`, from which it is less than half the range away. */
static uint32_t wide(uint32_t word, uint32_t near)
{
    return near + (uint32_t)((int32_t)((word - near) << (32 - LLR_BITS)) >> (32 - LLR_BITS));
}

static struct llr_frame *frame_at(struct llr *llr, uint32_t number)
{
    return &llr->frame[number & (llr->config.frames - 1)];
}

/* Full or not, after the buffer changed. */
static void note_full(struct llr *llr, ps_t now)
{
    bool full = llr->next - llr->acked >= llr->config.frames ||
                llr->bytes + llr->config.largest_bytes > llr->config.buffer_bytes;

    if (full == (llr->full_since != PS_NEVER)) return;
    if (!full) llr->count.held_ps += now - llr->full_since;
    llr->full_since = full ? now : PS_NEVER;
}

uint32_t llr_send(struct llr *llr, pkt_t id, uint32_t line, ps_t now)
{
    CHECK(llr_may_send(llr));
    *frame_at(llr, llr->next) = (struct llr_frame){.id = id, .line = line};
    llr->bytes += line;
    llr->count.tx_ok++;
    if (llr->since == PS_NEVER) llr->since = now;
    llr->again++;
    llr->next++;
    note_full(llr, now);
    return llr->next - 1;
}

struct llr_frame llr_send_again(struct llr *llr, uint32_t *ret_number)
{
    CHECK(llr_replays(llr));
    llr->count.tx_replayed++;
    *ret_number = llr->again;
    return *frame_at(llr, llr->again++);
}

bool llr_left(struct llr *llr, uint32_t number, bool damaged)
{
    if (damaged || number != llr->taken) return false;
    frame_at(llr, number)->id = PKT_NONE;
    llr->taken++;
    return true;
}

pkt_t llr_take_back(struct llr *llr, ps_t now)
{
    while (llr->acked != llr->next) {
        const struct llr_frame *frame = frame_at(llr, llr->acked++);
        llr->bytes -= frame->line;
        if (frame->id == PKT_NONE) continue;
        llr->count.tx_discard++;
        return frame->id;
    }
    llr->taken = llr->again = llr->next;
    note_full(llr, now);
    return PKT_NONE;
}

static void say(struct llr_out *out, enum llr_kind kind, uint32_t number)
{
    CHECK(out->words < LLR_WORDS_MAX);
    out->word[out->words++] = llr_word(kind, number);
}

static void tell(struct llr *llr, enum llr_kind kind, ps_t now, struct llr_out *out)
{
    say(out, kind, llr->expected - 1); /* the last one taken */
    if (kind == LLR_NACK)
        llr->count.tx_nack_ctl_os++;
    else
        llr->count.tx_ack_ctl_os++;
    llr->told_at = now;
    llr->tell_at = PS_NEVER;
}

/* An ACK, now or when the spacing allows it. */
static void tell_soon(struct llr *llr, ps_t now, struct llr_out *out)
{
    ps_t due = ps_add(llr->told_at, llr->config.spacing_ps);

    if (due <= now)
        tell(llr, LLR_ACK, now, out);
    else
        llr->tell_at = due;
}

static void frame_arrived(struct llr *llr, uint32_t word, bool good, ps_t now, struct llr_out *out)
{
    uint32_t number = wide(word, llr->expected);
    int32_t ahead = (int32_t)(number - llr->expected);

    if (!good) llr->count.rx_bad++;
    if (good && ahead == 0) {
        llr->expected++;
        llr->nacked = false;
        llr->count.rx_expected_seq_good++;
        tell_soon(llr, now, out);
        return;
    }
    if (ahead < 0) { /* the sender does not know that it is here */
        llr->count.rx_duplicate_seq++;
        if (!llr->nacked) tell_soon(llr, now, out);
        return;
    }
    if (ahead > 0) llr->count.rx_missing_seq++;
    if (llr->nacked && ahead > 0) return;
    llr->nacked = true;
    tell(llr, LLR_NACK, now, out);
}

/* All before `number` are at the other end. */
static bool acknowledged(struct llr *llr, uint32_t number, ps_t now)
{
    if (number - llr->acked > llr->taken - llr->acked || llr->opening) {
        llr->count.rx_ack_nack_seq_error++;
        return false;
    }
    for (; llr->acked != number; llr->acked++) {
        llr->bytes -= frame_at(llr, llr->acked)->line;
        if (llr->again == llr->acked) llr->again++;
    }
    llr->tries = 0;
    llr->since = llr->acked == llr->next ? PS_NEVER : now;
    note_full(llr, now);
    return true;
}

static void replay(struct llr *llr)
{
    if (llr->acked == llr->next) return;
    llr->again = llr->acked;
    llr->count.tx_replay++;
}

static void open(struct llr *llr, ps_t now, struct llr_out *out)
{
    llr->opening = true;
    llr->since = now;
    llr->count.tx_init_ctl_os++;
    say(out, LLR_INIT, llr->next);
}

void llr_heard(struct llr *llr, uint32_t word, ps_t now, struct llr_out *out)
{
    enum llr_kind kind = llr_word_kind(word);

    switch (kind) {
    case LLR_GOOD:
    case LLR_BAD:
        frame_arrived(llr, word, kind == LLR_GOOD, now, out);
        break;
    case LLR_ACK:
        llr->count.rx_ack_ctl_os++;
        (void)acknowledged(llr, wide(word + 1, llr->acked), now);
        break;
    case LLR_NACK:
        llr->count.rx_nack_ctl_os++;
        if (acknowledged(llr, wide(word + 1, llr->acked), now)) replay(llr);
        break;
    case LLR_INIT:
        llr->expected = wide(word, llr->expected);
        llr->nacked = false;
        llr->tell_at = PS_NEVER;
        say(out, LLR_ECHO, llr->expected);
        break;
    case LLR_ECHO:
        if (!llr->opening || wide(word, llr->next) != llr->next) break;
        llr->opening = false;
        llr->tries = 0;
        llr->since = PS_NEVER;
        break;
    }
}

void llr_tick(struct llr *llr, ps_t now, struct llr_out *out)
{
    if (llr->tell_at <= now) tell(llr, LLR_ACK, now, out);
    if (llr->since == PS_NEVER || ps_add(llr->since, llr->config.timer_ps) > now) return;
    llr->count.timeouts++;
    if (llr->opening) {
        open(llr, now, out);
    } else if (llr->tries++ < llr->config.replays) {
        llr->since = now;
        replay(llr);
    } else {
        out->flush = true;
        open(llr, now, out);
    }
}

ps_t llr_deadline(const struct llr *llr)
{
    ps_t timer = llr->since == PS_NEVER ? PS_NEVER : ps_add(llr->since, llr->config.timer_ps);

    return timer < llr->tell_at ? timer : llr->tell_at;
}
