/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of InfiniBand's links: how many virtual lanes, which classes travel in which, how they are arbitrated, how
 * much each receiver promises; and what the subnet manager does.
 *
 * Ethernet's credits (`cbfc`) are read here too: its channels are priorities.
 *
 * Lanes are the whole fabric's: a lane that one switch has and the next has not would lose what travels in it.
 * Defaults are in docs/system-infiniband.md with their sources.
 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/credit.h"
#include "fabric/fabric.h"
#include "fabric/qos/settings.h"

#define VLS_DEFAULT 2
#define BUFFER_DEFAULT 131072
#define REACTION_DEFAULT (100 * PS_NS)
#define LIFETIME_UNIT (4096 * PS_NS)
#define LIFETIME_DEFAULT (LIFETIME_UNIT << 18)
#define HOST_LIFETIME_DEFAULT (LIFETIME_UNIT << 16)
#define WEIGHT_DEFAULT 64
#define WEIGHT_MAX 255u
#define LIMIT_MAX 255
#define BUFFER_MAX ((uint64_t)CREDIT_BLOCKS_MAX * CREDIT_BLOCK_BYTES)
#define HEADERS_MAX (8 + 12 + 16 + 4 + 4 + 2) /* LRH, BTH, RETH, immediate data, ICRC, VCRC */
#define CBFC_HEADERS_MAX 128                  /* of any system over Ethernet, with FCS */
#define PROMISE_MOST 2048u                    /* blocks: half of what FCCL's 12 bits tell apart */
#define CBFC_EXTRA 1                          /* credits of 128 bytes */
#define CREDIT_EXTRA_MAX 5
#define FECN_MOST 15
#define SHIELD_DEFAULT (10 * PS_US)
#define SHIELD_STEP (2 * PS_MS)
#define TRAP PS_MS /* until the subnet manager knows */

void lanes_defaults(struct fabric *fabric)
{
    fabric->lanes = (struct fabric_lanes){.vls = VLS_DEFAULT,
                                          .switch_bytes = BUFFER_DEFAULT,
                                          .nic_bytes = BUFFER_DEFAULT,
                                          .reaction_ps = REACTION_DEFAULT,
                                          .fecn_threshold = FECN_MOST,
                                          .lifetime_ps = LIFETIME_DEFAULT,
                                          .host_lifetime_ps = HOST_LIFETIME_DEFAULT};
    fabric->sm = (struct fabric_sm){.reroute_ps = NOT_GIVEN, .shield = true, .shield_ps = SHIELD_DEFAULT};
}

void lanes_read_vls(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_lanes *lanes = &((struct fabric *)into)->lanes;

    lanes->vls_at = value->at;
    read_unit(loader, value, UNIT_COUNT, 1, SW_PRIOS, &lanes->vls);
}

void lanes_read_map(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_lanes *lanes = &((struct fabric *)into)->lanes;
    uint32_t sl = 0;

    if (!read_is_list(loader, value, "sl-to-vl")) return;
    if (value->count != SW_PRIOS) {
        read_error(loader, value->at, "sl-to-vl has %u lanes; it needs %d, one for each service level 0 to 7",
                   value->count, SW_PRIOS);
        return;
    }
    for (const struct tree *item = value->first; item; item = item->next, sl++) {
        uint64_t vl = 0;
        if (!read_unit(loader, item, UNIT_COUNT, 0, SW_PRIOS - 1, &vl)) return;
        lanes->vl_of[sl] = (uint8_t)vl;
    }
    lanes->map_at = value->at;
    lanes->mapped = true;
}

/* `VL:WEIGHT`, as subnet managers write it. */
static bool read_entry(struct loader *loader, const struct tree *item, struct sw_arb_entry *ret)
{
    const char *text = NULL;
    uint32_t vl = 0, weight = 0;
    char end;

    if (!read_text(loader, item, &text)) return false;
    if (strlen(text) > 8 || sscanf(text, "%u:%u%c", &vl, &weight, &end) != 2 || vl >= SW_PRIOS || weight > WEIGHT_MAX) {
        read_error(loader, item->at,
                   "vl-arbitration: '%.20s' is not VL:WEIGHT, as in 0:64 (VL 0 to 7, weight 0 to 255)", text);
        return false;
    }
    *ret = (struct sw_arb_entry){.vl = (uint8_t)vl, .weight = (uint8_t)weight};
    return true;
}

static void read_table(struct loader *loader, const struct tree *value, struct sw_arb_entry *entry, uint8_t *ret_count)
{
    uint8_t count = 0;

    if (!read_is_list(loader, value, "vl-arbitration")) return;
    if (value->count > SW_ARB_MAX) {
        read_error(loader, value->at, "an arbitration table has at most %d entries", SW_ARB_MAX);
        return;
    }
    for (const struct tree *item = value->first; item; item = item->next)
        if (!read_entry(loader, item, &entry[count++])) return;
    *ret_count = count;
}

static void read_high(struct loader *loader, const struct tree *value, void *into)
{
    struct sw_arbitration *tables = into;

    read_table(loader, value, tables->high, &tables->highs);
}

static void read_low(struct loader *loader, const struct tree *value, void *into)
{
    struct sw_arbitration *tables = into;

    read_table(loader, value, tables->low, &tables->lows);
}

void lanes_read_arbitration(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_CALL("high", read_high),
        F_CALL("low", read_low),
        F_VALUE("high-limit", FIELD_COUNT, struct sw_arbitration, high_limit, 0, LIMIT_MAX),
    };
    struct fabric_lanes *lanes = &((struct fabric *)into)->lanes;
    struct field_set set = {fields, COUNT_OF(fields), &lanes->arbitration};

    lanes->arbitration_at = value->at;
    lanes->arbitrated = read_map(loader, value, "vl-arbitration", &set, 1);
}

void lanes_read_credits(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("switch", FIELD_SIZE, struct fabric_lanes, switch_bytes, 0, BUFFER_MAX),
        F_VALUE("nic", FIELD_SIZE, struct fabric_lanes, nic_bytes, 0, BUFFER_MAX),
        F_VALUE("reaction", FIELD_TIME, struct fabric_lanes, reaction_ps, 0, PS_US),
        F_VALUE("lifetime", FIELD_TIME, struct fabric_lanes, lifetime_ps, 0, 100 * PS_S),
        F_VALUE("host-lifetime", FIELD_TIME, struct fabric_lanes, host_lifetime_ps, 0, 100 * PS_S),
    };
    struct fabric_lanes *lanes = &((struct fabric *)into)->lanes;
    struct field_set set = {fields, COUNT_OF(fields), lanes};

    lanes->credits_at = value->at;
    if (value->type != TREE_SCALAR)
        read_map(loader, value, "credits", &set, 1);
    else if (read_unit(loader, value, UNIT_SIZE, 0, BUFFER_MAX, &lanes->switch_bytes))
        lanes->nic_bytes = lanes->switch_bytes;
}

static void read_credit_bytes(struct loader *loader, const struct tree *value, void *into)
{
    uint64_t bytes = 0;

    if (!read_unit(loader, value, UNIT_SIZE, CREDIT_BLOCK_BYTES, CREDIT_BLOCK_BYTES << CREDIT_EXTRA_MAX, &bytes))
        return;
    if (!is_power_of_two(bytes)) {
        read_error(loader, value->at, "credit: %llu bytes are no power of two; write 128B", (unsigned long long)bytes);
        return;
    }
    ((struct fabric_lanes *)into)->block_extra = (uint8_t)(__builtin_ctzll(bytes) - 6);
}

void lanes_read_fecn(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("threshold", FIELD_COUNT, struct fabric_lanes, fecn_threshold, 0, FECN_MOST),
        F_VALUE("marking-rate", FIELD_COUNT, struct fabric_lanes, fecn_rate, 0, UINT16_MAX - 1),
        F_VALUE("packet-size", FIELD_COUNT, struct fabric_lanes, fecn_blocks, 0, UINT16_MAX),
    };
    struct field_set set = {fields, COUNT_OF(fields), &((struct fabric *)into)->lanes};

    read_map(loader, value, "fecn", &set, 1);
}

void lanes_read_sm(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("reroute", FIELD_TIME, struct fabric_sm, reroute_ps, 0, 1000 * PS_S),
        F_VALUE("shield", FIELD_BOOL, struct fabric_sm, shield, 0, 0),
        F_VALUE("shield-time", FIELD_TIME, struct fabric_sm, shield_ps, 0, PS_S),
    };
    struct field_set set = {fields, COUNT_OF(fields), &((struct fabric *)into)->sm};

    read_map(loader, value, "sm", &set, 1);
}

/* Credits on Ethernet's links: a switch, a size, or both ends' and more. */
void lanes_read_cbfc(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("switch", FIELD_SIZE, struct fabric_lanes, switch_bytes, 1, BUFFER_MAX),
        F_VALUE("nic", FIELD_SIZE, struct fabric_lanes, nic_bytes, 1, BUFFER_MAX),
        F_VALUE("reaction", FIELD_TIME, struct fabric_lanes, reaction_ps, 0, PS_US),
        F_CALL("credit", read_credit_bytes),
    };
    struct fabric_lanes *lanes = &((struct fabric *)into)->lanes;
    struct field_set set = {fields, COUNT_OF(fields), lanes};

    *lanes = (struct fabric_lanes){
        .cbfc = true, .block_extra = CBFC_EXTRA, .reaction_ps = REACTION_DEFAULT, .credits_at = value->at};
    if (value->type != TREE_SCALAR)
        read_map(loader, value, "cbfc", &set, 1);
    else if (strcmp(value->text, "true") == 0 || strcmp(value->text, "false") == 0)
        read_bool(loader, value, &lanes->cbfc);
    else if (read_unit(loader, value, UNIT_SIZE, 1, BUFFER_MAX, &lanes->switch_bytes))
        lanes->nic_bytes = lanes->switch_bytes;
}

static void no_such_lane(struct loader *loader, struct fabric_at at, uint32_t vl)
{
    const struct fabric_lanes *lanes = &loader->fabric->lanes;

    read_error(loader, at, "VL %u does not exist: with 'vls: %u' there are VL 0 to %u", vl, (uint32_t)lanes->vls,
               (uint32_t)lanes->vls - 1);
}

static bool check_tables(struct loader *loader)
{
    const struct fabric_lanes *lanes = &loader->fabric->lanes;
    const struct sw_arbitration *tables = &lanes->arbitration;
    uint32_t served = 0;

    for (uint32_t i = 0; i < (uint32_t)tables->highs + tables->lows; i++) {
        const struct sw_arb_entry *entry = i < tables->highs ? &tables->high[i] : &tables->low[i - tables->highs];
        if (entry->vl >= lanes->vls) {
            no_such_lane(loader, lanes->arbitration_at, entry->vl);
            return false;
        }
        if (entry->weight) served |= 1u << entry->vl;
    }
    for (uint32_t vl = 0; vl < lanes->vls; vl++) {
        if (served >> vl & 1) continue;
        read_error(loader, lanes->arbitration_at,
                   "vl-arbitration: VL %u has no weight in either table, so nothing of it would be sent: add '%u:64'",
                   vl, vl);
        return false;
    }
    return true;
}

void lanes_finish(struct loader *loader)
{
    struct fabric_lanes *lanes = &loader->fabric->lanes;

    if (fabric_system(loader->fabric)->link != FABRIC_LINK_CREDITS) {
        lanes->vls = lanes->cbfc ? SW_PRIOS : 0;
        for (uint32_t p = 0; p < SW_PRIOS; p++)
            lanes->vl_of[p] = (uint8_t)p;
        return;
    }
    if (lanes->cbfc) return; /* refused already: such links have credits of their own */
    lanes->used = (uint8_t)((1u << lanes->vls) - 1);
    for (uint32_t sl = 0; sl < SW_PRIOS; sl++) {
        if (!lanes->mapped) lanes->vl_of[sl] = (uint8_t)(sl % lanes->vls);
        if (lanes->vl_of[sl] >= lanes->vls) {
            no_such_lane(loader, lanes->map_at, lanes->vl_of[sl]);
            return;
        }
    }
    if (lanes->arbitrated) {
        check_tables(loader);
        return;
    }
    lanes->arbitration = (struct sw_arbitration){.lows = (uint8_t)lanes->vls};
    for (uint32_t vl = 0; vl < lanes->vls; vl++)
        lanes->arbitration.low[vl] = (struct sw_arb_entry){.vl = (uint8_t)vl, .weight = WEIGHT_DEFAULT};
}

uint32_t fabric_packet_blocks(const struct fabric *fabric)
{
    uint64_t mtu = 0;

    for (uint32_t i = 0; i < fabric->nics; i++)
        if (fabric->nic[i].mtu_bytes > mtu) mtu = fabric->nic[i].mtu_bytes;
    return credit_blocks_of((uint32_t)mtu + (fabric->lanes.cbfc ? CBFC_HEADERS_MAX : HEADERS_MAX),
                            fabric->lanes.block_extra);
}

uint64_t fabric_credit_loop(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *at = &fabric->port[port];
    ps_t latency = at->node < fabric->hosts
                       ? fabric->nic[fabric->endpoint[fabric->first_endpoint[at->node] + at->index].nic].latency_ps
                       : fabric->sw[at->node - fabric->hosts].latency_ps;
    uint32_t packet = fabric_packet_blocks(fabric) * (CREDIT_BLOCK_BYTES << fabric->lanes.block_extra);

    return rate_bytes_in(at->rate_bps, 2 * at->propagation_ps + latency + at->pause_reaction_ps) + packet;
}

uint64_t fabric_credit_needs(const struct fabric *fabric, uint32_t port)
{
    uint32_t packet = fabric_packet_blocks(fabric) * (CREDIT_BLOCK_BYTES << fabric->lanes.block_extra);

    return (fabric_credit_loop(fabric, port) + packet) * CREDIT_SHARE / (CREDIT_SHARE - 1);
}

/* Channels are the priorities that anything is classified into; what a port promises where the file does not say is
 * what the longest line needs. */
static void channels(struct fabric *fabric)
{
    struct fabric_lanes *lanes = &fabric->lanes;
    uint32_t packet = fabric_packet_blocks(fabric) * (CREDIT_BLOCK_BYTES << lanes->block_extra);
    uint64_t most[2] = {packet, packet};

    for (uint32_t c = 0; c < fabric->class_count; c++)
        lanes->used |= (uint8_t)(1u << fabric->classes[c].priority);
    for (uint32_t s = 0; s < fabric->settings_count; s++)
        for (uint32_t d = 0; d < 64; d++)
            lanes->used |= (uint8_t)(1u << fabric->settings[s].dscp_to_tc[d]);
    for (uint32_t p = 0; p < fabric->ports; p++) {
        bool host = fabric->port[p].node < fabric->hosts;
        if (fabric->port[p].peer == FABRIC_NONE) continue;
        uint64_t needs = fabric_credit_needs(fabric, p) + packet; /* an update waits for the frame on its line */
        if (needs > most[host]) most[host] = needs;
    }
    if (!lanes->switch_bytes) lanes->switch_bytes = most[0];
    if (!lanes->nic_bytes) lanes->nic_bytes = most[1];
}

/* From new tables where a link failed to new tables everywhere: 5 s up to 1,000 ports, 15 s at 10,000. */
static ps_t reroute_usual(uint32_t ports)
{
    return 5 * PS_S + (ports > 1000 ? (ports - 1000) * (10 * PS_S / 9000) : 0);
}

/* Who finds another way: the switch beside the failure, which tells its neighbours where it has none; or the subnet
 * manager, which writes the tables of all. */
static void reactions(struct fabric *fabric)
{
    if (fabric->sm.reroute_ps == NOT_GIVEN) fabric->sm.reroute_ps = reroute_usual(fabric->ports);
    if (fabric->sm.shield)
        fabric->converge =
            (struct fabric_converge){.on = true, .detect_ps = fabric->sm.shield_ps, .step_ps = SHIELD_STEP};
    else
        fabric->converge = (struct fabric_converge){.on = true, .detect_ps = TRAP + fabric->sm.reroute_ps};
}

void lanes_check(struct loader *loader)
{
    const struct fabric_lanes *lanes = &loader->fabric->lanes;
    uint32_t needed = fabric_packet_blocks(loader->fabric), block = CREDIT_BLOCK_BYTES << lanes->block_extra;

    if (!lanes->vls) return;
    if (lanes->cbfc)
        channels(loader->fabric);
    else
        reactions(loader->fabric);
    if (lanes->cbfc && fabric_systems_used(loader->fabric) & FABRIC_SYSTEM(FABRIC_TCP))
        read_error(loader, lanes->credits_at, "cbfc: a class of TCP has no credits");
    uint64_t least = lanes->switch_bytes < lanes->nic_bytes ? lanes->switch_bytes : lanes->nic_bytes;
    uint64_t most = lanes->switch_bytes > lanes->nic_bytes ? lanes->switch_bytes : lanes->nic_bytes;
    if (!lanes->cbfc && most / block > PROMISE_MOST)
        read_error(loader, lanes->credits_at,
                   "credits: %llu bytes are %llu blocks of %u, and a lane can promise %u: give at most %u bytes",
                   (unsigned long long)most, (unsigned long long)(most / block), block, PROMISE_MOST,
                   PROMISE_MOST * block);
    if (least / block >= needed) return;
    read_error(loader, lanes->credits_at,
               "%s: %llu bytes are %llu blocks of %u, and the largest packet needs %u: give at least %u bytes",
               lanes->cbfc ? "cbfc" : "credits", (unsigned long long)least, (unsigned long long)(least / block), block,
               needed, needed * block);
}
