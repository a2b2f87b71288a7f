/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key `llr`, and what follows from it for a line.
 *
 * Defaults are those of the SAI proposal where it has some (one replay by the timer, 2,048 bytes from one ACK to the
 * next, 10 us in its example); the reaction is that of credits.  A buffer of twice what the line needs never fills.
 */
#include "fabric/llr.h"

#include "fabric/fabric.h"
#include "fabric/file/read.h"
#include "fabric/qos/settings.h"

#define REACTION_DEFAULT (100 * PS_NS)
#define TIMER_DEFAULT (10 * PS_US)
#define REPLAYS_DEFAULT 1
#define HEADERS_MAX 200u /* of any system, with all that the line adds */
#define BUFFER_MAX ((uint64_t)16 << 20)

void llr_defaults(struct fabric *fabric)
{
    fabric->llr = (struct fabric_llr){.reaction_ps = REACTION_DEFAULT, .replays = REPLAYS_DEFAULT};
}

void llr_read(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("on", FIELD_BOOL, struct fabric_llr, on, 0, 0),
        F_VALUE("buffer", FIELD_SIZE, struct fabric_llr, buffer_bytes, 1, BUFFER_MAX),
        F_VALUE("timer", FIELD_TIME, struct fabric_llr, timer_ps, PS_US, PS_S),
        F_VALUE("reaction", FIELD_TIME, struct fabric_llr, reaction_ps, 0, 10 * PS_US),
        F_VALUE("replays", FIELD_COUNT, struct fabric_llr, replays, 0, 255),
    };
    struct fabric_llr *llr = &((struct fabric *)into)->llr;
    struct field_set set = {fields, COUNT_OF(fields), llr};

    llr->at = value->at;
    if (value->type == TREE_SCALAR) {
        read_bool(loader, value, &llr->on);
        return;
    }
    llr->on = true;
    read_map(loader, value, "llr", &set, 1);
}

uint32_t fabric_line_bytes(const struct fabric *fabric)
{
    uint32_t most = 0;

    for (uint32_t n = 0; n < fabric->nics; n++)
        if (fabric->nic[n].mtu_bytes > most) most = fabric->nic[n].mtu_bytes;
    return most + HEADERS_MAX;
}

void llr_check(struct loader *loader)
{
    const struct fabric_llr *llr = &loader->fabric->llr;
    uint32_t least = fabric_line_bytes(loader->fabric);
    char has[UNIT_TEXT], needs[UNIT_TEXT];

    if (llr->buffer_bytes == 0 || llr->buffer_bytes >= least) return;
    read_error(loader, llr->at, "llr: a buffer of %s has no room for a frame of %s",
               unit_format_short(UNIT_SIZE, llr->buffer_bytes, 3, has), unit_format_short(UNIT_SIZE, least, 3, needs));
}

static ps_t loop_ps(const struct fabric *fabric, uint32_t port)
{
    return 2 * (fabric->port[port].propagation_ps + fabric->llr.reaction_ps);
}

/* The frame that is acknowledged, the one that the ACK waits for at the other end, the one that is being sent when it
 * comes; and the ACK may have to wait for its turn. */
uint64_t fabric_llr_needs(const struct fabric *fabric, uint32_t port)
{
    return rate_bytes_in(fabric->port[port].rate_bps, loop_ps(fabric, port)) + 3ull * fabric_line_bytes(fabric) +
           FABRIC_LLR_SPACING;
}

uint64_t fabric_llr_buffer(const struct fabric *fabric, uint32_t port)
{
    uint64_t twice = 2 * fabric_llr_needs(fabric, port);

    if (fabric->llr.buffer_bytes) return fabric->llr.buffer_bytes;
    return twice < BUFFER_MAX ? twice : BUFFER_MAX;
}

ps_t fabric_llr_timer(const struct fabric *fabric, uint32_t port)
{
    struct rate rate = rate_of(fabric->port[port].rate_bps);
    ps_t twice = 2 * (loop_ps(fabric, port) + rate_take(&rate, 3 * fabric_line_bytes(fabric) + FABRIC_LLR_SPACING));

    if (fabric->llr.timer_ps) return fabric->llr.timer_ps;
    return twice > TIMER_DEFAULT ? twice : TIMER_DEFAULT;
}
