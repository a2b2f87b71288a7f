/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What parts cost and draw, and what counts when systems are compared.  Part of fabric.h.
 */
#ifndef ROCELAB_FABRIC_PRICES_H
#define ROCELAB_FABRIC_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/words.h"

enum price_unit { PRICE_USD, PRICE_W, PRICE_X }; /* dollars, watts, times; each in thousandths */
enum price_kind {
    PRICE_KIND_SWITCH_PORT,
    PRICE_KIND_NIC,
    PRICE_KIND_OPTIC,
    PRICE_KIND_COPPER, /* a cable with both its ends */
    PRICE_KIND_FIBRE,
    PRICE_KIND_FIBRE_METRE,
    PRICE_KIND_BREAKOUT,
    PRICE_KIND_SWITCH_PORT_WATT,
    PRICE_KIND_NIC_WATT,
    PRICE_KIND_OPTIC_WATT,
    PRICE_KIND_WATT_YEAR, /* a watt, day and night */
    PRICE_KIND_CORE_WATT, /* a busy core of a processor */
    PRICE_KIND_IB_PORT_WATT,
    PRICE_KIND_IB_LEAST, /* InfiniBand over Ethernet, all in */
    PRICE_KIND_IB,
    PRICE_KIND_IB_MOST,
    PRICE_KINDS
};

struct price_item { /* a row of prices.def */
    enum price_kind kind;
    const char *name;
    uint32_t rate_gbps; /* 0: of any rate */
    uint64_t milli;
    enum price_unit unit;
    const char *source;
    uint32_t year;
};
extern const struct price_item price_items[];
extern const uint32_t price_item_count;
#define PRICE_ITEMS_MAX 64
#define PRICE_NAME 40
const char *price_name(const struct price_item *item, char buf[PRICE_NAME]); /* `nic-400G` */

struct fabric_price { /* of an item; line 0: the file does not say it */
    uint64_t milli;
    struct fabric_at at;
};

/* What a decision between systems weighs. */
#define DECISION_LIST(X)                                                                                               \
    X(TIME, "time")                                                                                                    \
    X(STEP, "step")                                                                                                    \
    X(P99, "p99")                                                                                                      \
    X(SMALL, "small")                                                                                                  \
    X(COST, "cost")                                                                                                    \
    X(WATTS, "watts")
enum decision {
#define X(id, name) DECISION_##id,
    DECISION_LIST(X)
#undef X
        DECISIONS,
};
extern const char *const decision_names[DECISIONS + 1];

struct fabric_decision {
    bool said;                  /* by the file; else it is the time alone */
    uint32_t weight[DECISIONS]; /* thousandths */
};

struct fabric;
struct price { /* as it holds for a fabric */
    uint32_t item;
    uint64_t milli;
    uint32_t times; /* of a rate above the highest of the table: so many of that */
};
/* Of parts of a rate between two of the table the higher one's. */
struct price price_find(const struct fabric *fabric, enum price_kind kind, uint64_t rate_bps);

struct loader;
void prices_load(struct loader *loader); /* `prices:` and `decision:` */

#endif
