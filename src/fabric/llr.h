/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link-level retry of a fabric: `llr`.  Part of fabric.h.  Which links have it is theirs (fabric_port.llr).
 */
#ifndef ROCELAB_FABRIC_LLR_H
#define ROCELAB_FABRIC_LLR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/words.h"

#define FABRIC_LLR_SPACING 2048u /* bytes of line from one ACK to the next */

struct fabric_llr {
    bool on;               /* links have it that do not say otherwise */
    uint64_t buffer_bytes; /* of each port, for what is not acknowledged; 0: by the line */
    ps_t timer_ps;         /* until all of it is sent again; 0: by the line */
    ps_t reaction_ps;      /* of either end to a frame and to a word: PHY and FEC */
    uint64_t replays;      /* by the timer, before the port gives up */
    struct fabric_at at;
};

struct fabric;
/* What the line of this port carries until it hears that the first of it is there. */
uint64_t fabric_llr_needs(const struct fabric *fabric, uint32_t port);
/* The port's own: as the file says, or by the line. */
uint64_t fabric_llr_buffer(const struct fabric *fabric, uint32_t port);
ps_t fabric_llr_timer(const struct fabric *fabric, uint32_t port);
/* Of the largest frame that any NIC sends, on the line. */
uint32_t fabric_line_bytes(const struct fabric *fabric);

#endif
