/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as SONiC's config_db.json.
 *
 * Nested tables, all values strings, as `sonic-cfggen` prints them.  Profiles and maps are made from the ports'
 * resolved settings and named by what they hold, so that ports alike share them: maps AZURE, AZURE_1, …, thresholds
 * and schedulers numbered.  Buffers are static ("traditional"): the headroom that the fabric states is written, and
 * not left to the switch's own model.
 *
 * The file is for merging into a switch that runs (`config load`), so it does not name what belongs to the unit:
 * hwsku, and the lanes, alias and index of ports.  Profiles of lossless groups are called as buffermgrd calls its own,
 * pg_lossless_SPEED_CABLE_profile: it makes one from the platform's table for each speed and cable that it meets,
 * unless there is one of that name.
 *
 * What the tables cannot hold is rounded to what they can, and named at the head (sonic.c has the table).  Not written:
 * 802.3x pause, pause quanta, the map of the field that is not trusted, receive and transmit pauses that differ
 * otherwise than `pfc_asym` does.
 *
 * The ingress pool's size is what is left for sharing: `size` of a lossless profile is its reserve and, where
 * headroom is not a pool, its headroom, and those are outside the pool.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "config/sonic/sonic_int.h"
#include "fabric/fabric.h"
#include "fabric/qos/models.h"
#include "fabric/switches.h"

struct kinds { /* distinct pieces of settings, by content */
    const uint8_t *bytes;
    size_t size;
    uint32_t count;
};

struct pg_profile {
    uint64_t size, xon, xoff, xon_offset;
    int64_t th;                  /* dynamic: the exponent; static: bytes */
    uint64_t speed_mbps, metres; /* of a lossless one's port: its name has them */
    uint8_t lossless, dynamic;
};

struct queue_profile {
    int64_t th;
    uint8_t lossless, dynamic;
};

struct wred {
    uint64_t min, max;
    uint32_t percent;
};

struct sched {
    uint32_t weight; /* 0: strict */
};

struct port_plan { /* what each port refers to, as indices of distinct contents */
    uint32_t field_map, queue_map, pg_map, pfc_map;
    uint32_t wred[FABRIC_PRIOS], sched[FABRIC_PRIOS], pg[FABRIC_PRIOS], queue[FABRIC_PRIOS]; /* CONFIG_NONE: none */
};

struct plan {
    const struct config_emit *emit;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    struct arena arena;
    struct kinds dscp, pcp, queue_map, pg_map, pfc_map, wred, sched, pg, queue;
    struct port_plan *port;
    uint64_t buffer_bytes, shared_bytes;
    bool first_table, first_row, first_field;
};

static const struct fabric_settings *settings_of(const struct plan *plan, uint32_t p)
{
    return config_settings(plan->emit->fabric, plan->node->first_port + p);
}

static uint32_t kind_of(struct plan *plan, struct kinds *kinds, const void *content, size_t size)
{
    for (uint32_t i = 0; i < kinds->count; i++)
        if (memcmp(kinds->bytes + i * size, content, size) == 0) return i;
    uint8_t *more = arena_alloc(&plan->arena, kinds->count + 1, size, 8);
    if (kinds->count) memcpy(more, kinds->bytes, kinds->count * size);
    memcpy(more + kinds->count * size, content, size);
    kinds->bytes = more;
    kinds->size = size;
    return kinds->count++;
}

/* The largest power of two that is not above the fraction, as its exponent. */
static int exponent(uint32_t num, uint32_t den)
{
    int th = SONIC_TH_MIN;

    if (num == 0 || den == 0) return SONIC_TH_MAX;
    for (; th < SONIC_TH_MAX; th++) {
        int next = th + 1;
        uint64_t left = (uint64_t)num << (next < 0 ? -next : 0), right = (uint64_t)den << (next > 0 ? next : 0);
        if (left < right) break;
    }
    return th;
}

static uint32_t plan_pg(struct plan *plan, const struct fabric_port *port, const struct fabric_pg *pg)
{
    struct pg_profile as;

    memset(&as, 0, sizeof(as)); /* compared byte by byte */
    as.lossless = pg->lossless;
    as.size = pg->reserved_bytes;
    as.dynamic = pg->lossless && pg->dynamic;
    as.th = as.dynamic ? exponent(pg->alpha_num, pg->alpha_den) : (int64_t)plan->buffer_bytes;
    if (pg->lossless) {
        as.speed_mbps = port->rate_bps / SONIC_RATE_STEP;
        as.metres = config_metres(port->cable_mm);
        as.xon = pg->reserved_bytes;
        as.xoff = pg->headroom_bytes;
        as.xon_offset = pg->xon_offset_bytes;
        if (!plan->sw->headroom_pool_bytes) as.size += as.xoff;
        if (!pg->dynamic && pg->static_bytes != FABRIC_UNLIMITED) as.th = (int64_t)pg->static_bytes;
    }
    return kind_of(plan, &plan->pg, &as, sizeof(as));
}

static uint32_t plan_queue(struct plan *plan, const struct fabric_queue *queue, bool lossless)
{
    struct queue_profile as;

    memset(&as, 0, sizeof(as));
    as.lossless = lossless;
    as.dynamic = queue->limit_bytes == FABRIC_UNLIMITED && queue->alpha_num != 0;
    as.th = as.dynamic                               ? exponent(queue->alpha_num, queue->alpha_den)
            : queue->limit_bytes == FABRIC_UNLIMITED ? (int64_t)plan->buffer_bytes
                                                     : (int64_t)queue->limit_bytes;
    return kind_of(plan, &plan->queue, &as, sizeof(as));
}

static void plan_queues(struct plan *plan, uint32_t p, struct port_plan *port, const struct fabric_settings *settings)
{
    const struct fabric *fabric = plan->emit->fabric;
    unsigned percent[FABRIC_PRIOS];

    config_percents(settings, config_queues(fabric, settings), false, percent);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        port->wred[q] = port->sched[q] = port->pg[q] = port->queue[q] = CONFIG_NONE;
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        unsigned tc = fabric->classes[c].priority, q = settings->tc_to_queue[tc], g = settings->tc_to_pg[tc];
        const struct fabric_queue *queue = &settings->queue[q];
        struct sched sched = {percent[q]};

        if (port->pg[g] == CONFIG_NONE)
            port->pg[g] = plan_pg(plan, &fabric->port[plan->node->first_port + p], &settings->pg[g]);
        if (port->queue[q] != CONFIG_NONE) continue;
        port->queue[q] = plan_queue(plan, queue, settings->lossless >> tc & 1);
        port->sched[q] = kind_of(plan, &plan->sched, &sched, sizeof(sched));
        if (!queue->ecn.on) continue;
        struct wred wred;
        memset(&wred, 0, sizeof(wred));
        wred.min = queue->ecn.min_bytes;
        wred.max = queue->ecn.max_bytes;
        wred.percent = config_percent(queue->ecn.probability_ppm);
        port->wred[q] = kind_of(plan, &plan->wred, &wred, sizeof(wred));
    }
}

static void plan_buffer(struct plan *plan)
{
    uint64_t aside = plan->sw->headroom_pool_bytes;

    for (uint32_t p = 0; p < plan->node->ports; p++) {
        const struct fabric_settings *settings = settings_of(plan, p);
        uint8_t seen = 0;
        for (uint32_t c = 0; c < plan->emit->fabric->class_count; c++) {
            unsigned g = settings->tc_to_pg[plan->emit->fabric->classes[c].priority];
            if (seen >> g & 1) continue;
            seen |= (uint8_t)(1u << g);
            aside += settings->pg[g].reserved_bytes;
            if (settings->pg[g].lossless && !plan->sw->headroom_pool_bytes) aside += settings->pg[g].headroom_bytes;
        }
    }
    plan->buffer_bytes = plan->sw->buffer_bytes;
    plan->shared_bytes = plan->buffer_bytes > aside ? plan->buffer_bytes - aside : 0;
}

static void plan_ports(struct plan *plan)
{
    plan->port = ARENA_NEW(&plan->arena, struct port_plan, plan->node->ports);
    plan_buffer(plan);
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        const struct fabric_settings *settings = settings_of(plan, p);
        struct port_plan *port = &plan->port[p];
        uint8_t pfc_to_queue[FABRIC_PRIOS];

        if (settings->trust == SW_TRUST_DSCP)
            port->field_map = kind_of(plan, &plan->dscp, settings->dscp_to_tc, sizeof(settings->dscp_to_tc));
        else
            port->field_map = kind_of(plan, &plan->pcp, settings->pcp_to_tc, sizeof(settings->pcp_to_tc));
        port->queue_map = kind_of(plan, &plan->queue_map, settings->tc_to_queue, sizeof(settings->tc_to_queue));
        port->pg_map = kind_of(plan, &plan->pg_map, settings->tc_to_pg, sizeof(settings->tc_to_pg));
        memcpy(pfc_to_queue, settings->tc_to_queue, sizeof(pfc_to_queue)); /* a pause of p stops the class of p */
        port->pfc_map = kind_of(plan, &plan->pfc_map, pfc_to_queue, sizeof(pfc_to_queue));
        plan_queues(plan, p, port, settings);
    }
}

/* --- JSON --- */

static void table(struct plan *plan, const char *name, const char *why)
{
    FILE *to = plan->emit->to;

    fputs(plan->first_table ? "\n" : ",\n", to);
    config_comment_inside(plan->emit, &config_sonic, why);
    fprintf(to, "    \"%s\": {", name);
    plan->first_table = false;
    plan->first_row = true;
}
static void table_end(struct plan *plan)
{
    fputs(plan->first_row ? "}" : "\n    }", plan->emit->to);
}

__attribute__((format(printf, 2, 3))) static void row(struct plan *plan, const char *format, ...)
{
    va_list args;

    fprintf(plan->emit->to, "%s\n        \"", plan->first_row ? "" : ",");
    va_start(args, format);
    vfprintf(plan->emit->to, format, args);
    va_end(args);
    fputs("\": {", plan->emit->to);
    plan->first_row = false;
    plan->first_field = true;
}
static void row_end(struct plan *plan)
{
    fputs(plan->first_field ? "}" : "\n        }", plan->emit->to);
}

__attribute__((format(printf, 3, 4))) static void field(struct plan *plan, const char *name, const char *format, ...)
{
    va_list args;

    fprintf(plan->emit->to, "%s\n            \"%s\": \"", plan->first_field ? "" : ",", name);
    va_start(args, format);
    vfprintf(plan->emit->to, format, args);
    va_end(args);
    fputc('"', plan->emit->to);
    plan->first_field = false;
}

static void port_label(const struct plan *plan, uint32_t p, char buf[FABRIC_NAME])
{
    config_port_label(plan->emit, &config_sonic, plan->node->first_port + p, buf, FABRIC_NAME);
}

static const char *map_name(uint32_t index, char buf[32])
{
    if (index == 0) return "AZURE";
    snprintf(buf, 32, "AZURE_%u", index);
    return buf;
}

static void bits_text(unsigned bits, char buf[32])
{
    size_t n = 0;

    buf[0] = 0;
    for (unsigned b = 0; b < 8; b++)
        if (bits >> b & 1) n += (size_t)snprintf(buf + n, 32 - n, "%s%u", n ? "," : "", b);
}

static void emit_metadata(struct plan *plan)
{
    table(plan, "DEVICE_METADATA", "which device this is; buffers are static: the headroom below is what is used");
    row(plan, "localhost");
    field(plan, "hostname", "%s", plan->node->name);
    field(plan, "buffer_model", "traditional");
    row_end(plan);
    table_end(plan);
}

/* SONiC wants a speed of every port: one without a cable has the chip's own, or else that of the fastest. */
static uint64_t speed_of(const struct plan *plan, const struct fabric_port *port)
{
    const struct switch_model *model = switch_model_find(plan->sw->model);
    uint64_t most = 0;

    if (port->peer != FABRIC_NONE) return port->rate_bps;
    if (model && model->rate_gbps) return model->rate_gbps * UINT64_C(1000000000);
    for (uint32_t p = plan->node->first_port; p < plan->node->first_port + plan->node->ports; p++)
        if (plan->emit->fabric->port[p].rate_bps > most) most = plan->emit->fabric->port[p].rate_bps;
    return most > SONIC_RATE_STEP ? most : SONIC_RATE_STEP;
}

static void emit_ports(struct plan *plan)
{
    static const char *const fecs[] = {NULL, "none", "fc", "rs"};
    const struct fabric *fabric = plan->emit->fabric;
    char name[FABRIC_NAME];

    table(plan, "PORT", "MTU001, TOP006: one MTU, speed and FEC on both ends of a link; lanes are the platform's");
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        const struct fabric_port *port = &fabric->port[plan->node->first_port + p];
        const struct fabric_settings *settings = settings_of(plan, p);
        uint32_t mtu = settings->mtu_bytes > SONIC_MTU_OVER ? settings->mtu_bytes - SONIC_MTU_OVER : 0;

        port_label(plan, p, name);
        row(plan, "%s", name);
        field(plan, "speed", "%llu", (unsigned long long)(speed_of(plan, port) / SONIC_RATE_STEP));
        field(plan, "mtu", "%u", mtu < SONIC_MTU_MIN ? SONIC_MTU_MIN : mtu > SONIC_MTU_MAX ? SONIC_MTU_MAX : mtu);
        if (fecs[settings->fec]) field(plan, "fec", "%s", fecs[settings->fec]);
        if (settings->pfc_rx == 0xff && settings->pfc_tx != 0xff) field(plan, "pfc_asym", "on");
        field(plan, "admin_status", port->up && port->peer != FABRIC_NONE ? "up" : "down");
        row_end(plan);
    }
    table_end(plan);
    table(plan, "CABLE_LENGTH", "HR002: the length that each port's headroom stands for");
    row(plan, "AZURE");
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        const struct fabric_port *port = &fabric->port[plan->node->first_port + p];
        if (port->peer == FABRIC_NONE) continue;
        port_label(plan, p, name);
        field(plan, name, "%llum", (unsigned long long)config_metres(port->cable_mm));
    }
    row_end(plan);
    table_end(plan);
}

/* The other end of each cable: with it, `import` knows the links between the switches that it reads. */
static void emit_neighbours(struct plan *plan)
{
    const struct fabric *fabric = plan->emit->fabric;
    char name[FABRIC_NAME];

    table(plan, "DEVICE_NEIGHBOR", "PFC001, MTU001: both ends of a link agree; which these are");
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        uint32_t peer = fabric->port[plan->node->first_port + p].peer;
        if (peer == FABRIC_NONE || fabric_node_unknown(fabric, fabric->port[peer].node)) continue;
        bool host = fabric->port[peer].node < fabric->hosts;
        port_label(plan, p, name);
        row(plan, "%s", name);
        field(plan, "name", "%s", fabric->node[fabric->port[peer].node].name);
        config_port_label(plan->emit, host ? &config_host : &config_sonic, peer, name, sizeof(name));
        field(plan, "port", "%s", name);
        row_end(plan);
    }
    table_end(plan);
}

static void emit_map(struct plan *plan, const char *name, const char *why, const struct kinds *kinds)
{
    char buf[32], key[24];

    if (!kinds->count) return;
    table(plan, name, why);
    for (uint32_t i = 0; i < kinds->count; i++) {
        row(plan, "%s", map_name(i, buf));
        for (size_t from = 0; from < kinds->size; from++) {
            snprintf(key, sizeof(key), "%zu", from);
            field(plan, key, "%u", kinds->bytes[i * kinds->size + from]);
        }
        row_end(plan);
    }
    table_end(plan);
}

static bool spectrum(const struct plan *plan)
{
    return strncmp(plan->sw->model, "spectrum", 8) == 0;
}

static void emit_maps(struct plan *plan)
{
    emit_map(plan, "DSCP_TO_TC_MAP", "MAP001, MAP002: the same content on every hop", &plan->dscp);
    emit_map(plan, "DOT1P_TO_TC_MAP", "MAP003: trusted on every hop alike", &plan->pcp);
    emit_map(plan, "TC_TO_QUEUE_MAP", "MAP001: traffic class to queue", &plan->queue_map);
    emit_map(plan, "TC_TO_PRIORITY_GROUP_MAP", "MAP001, HR007: lossless classes have a group of their own",
             &plan->pg_map);
    emit_map(plan, "MAP_PFC_PRIORITY_TO_QUEUE", "PFC007: a pause stops the queue of its class", &plan->pfc_map);
    if (spectrum(plan))
        emit_map(plan, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PFC007: a full group pauses its own priority",
                 &plan->pg_map);
}

static void emit_port_maps(struct plan *plan)
{
    char name[FABRIC_NAME], buf[32];

    table(plan, "PORT_QOS_MAP", "PFC001, WD004: the priorities that pause, and that the watchdog looks at");
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        const struct fabric_settings *settings = settings_of(plan, p);
        const struct port_plan *port = &plan->port[p];

        port_label(plan, p, name);
        row(plan, "%s", name);
        if (settings->trust == SW_TRUST_DSCP)
            field(plan, "dscp_to_tc_map", "%s", map_name(port->field_map, buf));
        else
            field(plan, "dot1p_to_tc_map", "%s", map_name(port->field_map, buf));
        field(plan, "tc_to_queue_map", "%s", map_name(port->queue_map, buf));
        field(plan, "tc_to_pg_map", "%s", map_name(port->pg_map, buf));
        field(plan, "pfc_to_queue_map", "%s", map_name(port->pfc_map, buf));
        if (spectrum(plan)) field(plan, "pfc_to_pg_map", "%s", map_name(port->pg_map, buf));
        bits_text(settings->pfc_tx, buf);
        field(plan, "pfc_enable", "%s", buf);
        if (plan->sw->watchdog.on) {
            bits_text(config_paused(settings) & settings->watched, buf);
            field(plan, "pfcwd_sw_enable", "%s", buf);
        }
        row_end(plan);
    }
    table_end(plan);
}

/* The last of the numbers from `first` on that have the same, in `one` and in `two`. */
static unsigned last_alike(const uint32_t *one, const uint32_t *two, unsigned first)
{
    while (first + 1 < FABRIC_PRIOS && one[first + 1] == one[first] && two[first + 1] == two[first])
        first++;
    return first;
}

static void numbers_row(struct plan *plan, const char *port, unsigned first, unsigned last)
{
    if (first == last)
        row(plan, "%s|%u", port, first);
    else
        row(plan, "%s|%u-%u", port, first, last);
}

static void emit_queues(struct plan *plan)
{
    char name[FABRIC_NAME];

    table(plan, "SCHEDULER", "SCH001, MAP005: weights are percents; CNPs are strict");
    for (uint32_t i = 0; i < plan->sched.count; i++) {
        uint32_t weight = ((const struct sched *)(const void *)plan->sched.bytes)[i].weight;
        row(plan, "scheduler.%u", i);
        field(plan, "type", weight ? "DWRR" : "STRICT");
        if (weight) field(plan, "weight", "%u", weight);
        row_end(plan);
    }
    table_end(plan);
    table(plan, "WRED_PROFILE", "ECN002, ECN006: marks and never drops; every colour alike");
    for (uint32_t i = 0; i < plan->wred.count; i++) {
        static const char *const colours[] = {"green", "yellow", "red"};
        const struct wred *wred = &((const struct wred *)(const void *)plan->wred.bytes)[i];
        char key[48];
        row(plan, "ROCE_%u", i);
        field(plan, "ecn", "ecn_all");
        for (int c = 0; c < 3; c++) {
            snprintf(key, sizeof(key), "wred_%s_enable", colours[c]);
            field(plan, key, "true");
            snprintf(key, sizeof(key), "%s_min_threshold", colours[c]);
            field(plan, key, "%llu", (unsigned long long)wred->min);
            snprintf(key, sizeof(key), "%s_max_threshold", colours[c]);
            field(plan, key, "%llu", (unsigned long long)wred->max);
            snprintf(key, sizeof(key), "%s_drop_probability", colours[c]);
            field(plan, key, "%u", wred->percent);
        }
        row_end(plan);
    }
    table_end(plan);
    table(plan, "QUEUE", "ECN001: marking on every queue that carries the class");
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        port_label(plan, p, name);
        for (unsigned q = 0, last; q < FABRIC_PRIOS; q = last + 1) {
            const struct port_plan *port = &plan->port[p];
            last = last_alike(port->sched, port->wred, q);
            if (port->sched[q] == CONFIG_NONE) continue;
            numbers_row(plan, name, q, last);
            field(plan, "scheduler", "scheduler.%u", port->sched[q]);
            if (port->wred[q] != CONFIG_NONE) field(plan, "wred_profile", "ROCE_%u", port->wred[q]);
            row_end(plan);
        }
    }
    table_end(plan);
}

static void emit_pools(struct plan *plan)
{
    unsigned long long shared = plan->shared_bytes, all = plan->buffer_bytes;

    table(plan, "BUFFER_POOL", "HR003: what is left for sharing; the headroom pool, where there is one, is xoff");
    row(plan, "ingress_lossless_pool");
    field(plan, "type", "ingress");
    field(plan, "mode", "dynamic");
    field(plan, "size", "%llu", shared);
    if (plan->sw->headroom_pool_bytes) field(plan, "xoff", "%llu", (unsigned long long)plan->sw->headroom_pool_bytes);
    row_end(plan);
    row(plan, "egress_lossless_pool");
    field(plan, "type", "egress");
    field(plan, "mode", "static");
    field(plan, "size", "%llu", all);
    row_end(plan);
    row(plan, "egress_lossy_pool");
    field(plan, "type", "egress");
    field(plan, "mode", "dynamic");
    field(plan, "size", "%llu", shared);
    row_end(plan);
    table_end(plan);
}

static const struct pg_profile *pg_at(const struct plan *plan, uint32_t i)
{
    return &((const struct pg_profile *)(const void *)plan->pg.bytes)[i];
}
static const struct queue_profile *queue_at(const struct plan *plan, uint32_t i)
{
    return &((const struct queue_profile *)(const void *)plan->queue.bytes)[i];
}

/* The first of a speed and cable has the name that buffermgrd looks for; others of them a number more. */
static const char *pg_name(const struct plan *plan, uint32_t i, char buf[80])
{
    const struct pg_profile *as = pg_at(plan, i);
    unsigned before = 0;

    if (!as->lossless) {
        snprintf(buf, 80, "ingress_lossy_%u_profile", i);
        return buf;
    }
    for (uint32_t j = 0; j < i; j++) {
        const struct pg_profile *other = pg_at(plan, j);
        before += other->lossless && other->speed_mbps == as->speed_mbps && other->metres == as->metres;
    }
    int length =
        snprintf(buf, 80, "pg_lossless_%llu_%llum", (unsigned long long)as->speed_mbps, (unsigned long long)as->metres);
    if (before)
        snprintf(buf + length, 80 - (size_t)length, "_%u_profile", before);
    else
        snprintf(buf + length, 80 - (size_t)length, "_profile");
    return buf;
}

static const char *queue_name(const struct plan *plan, uint32_t i, char buf[80])
{
    snprintf(buf, 80, queue_at(plan, i)->lossless ? "egress_lossless_%u_profile" : "egress_lossy_%u_profile", i);
    return buf;
}

static void emit_profiles(struct plan *plan)
{
    char name[80];

    table(plan, "BUFFER_PROFILE", "HR001, HR005, HR006, BUF002: headroom by the formula, lossless queues not limited");
    for (uint32_t i = 0; i < plan->pg.count; i++) {
        const struct pg_profile *as = pg_at(plan, i);
        row(plan, "%s", pg_name(plan, i, name));
        field(plan, "pool", "ingress_lossless_pool");
        field(plan, "size", "%llu", (unsigned long long)as->size);
        if (as->lossless) {
            field(plan, "xon", "%llu", (unsigned long long)as->xon);
            field(plan, "xoff", "%llu", (unsigned long long)as->xoff);
            field(plan, "xon_offset", "%llu", (unsigned long long)as->xon_offset);
        }
        field(plan, as->dynamic ? "dynamic_th" : "static_th", "%lld", (long long)as->th);
        row_end(plan);
    }
    for (uint32_t i = 0; i < plan->queue.count; i++) {
        const struct queue_profile *as = queue_at(plan, i);
        row(plan, "%s", queue_name(plan, i, name));
        field(plan, "pool", as->dynamic ? "egress_lossy_pool" : "egress_lossless_pool");
        field(plan, "size", "0");
        field(plan, as->dynamic ? "dynamic_th" : "static_th", "%lld", (long long)as->th);
        row_end(plan);
    }
    table_end(plan);
}

/* What groups or queues of each port refer to. */
static void emit_references(struct plan *plan, bool groups)
{
    char name[FABRIC_NAME], profile[80];

    for (uint32_t p = 0; p < plan->node->ports; p++) {
        const uint32_t *of = groups ? plan->port[p].pg : plan->port[p].queue;
        port_label(plan, p, name);
        for (unsigned n = 0, last; n < FABRIC_PRIOS; n = last + 1) {
            last = last_alike(of, of, n);
            if (of[n] == CONFIG_NONE) continue;
            numbers_row(plan, name, n, last);
            field(plan, "profile", "%s", groups ? pg_name(plan, of[n], profile) : queue_name(plan, of[n], profile));
            row_end(plan);
        }
    }
}

static void emit_buffers(struct plan *plan)
{
    emit_pools(plan);
    emit_profiles(plan);
    table(plan, "BUFFER_PG", "HR007: every priority that pauses has a lossless profile");
    emit_references(plan, true);
    table_end(plan);
    table(plan, "BUFFER_QUEUE", "BUF002: a lossless queue is held back by PFC alone");
    emit_references(plan, false);
    table_end(plan);
}

static void emit_watchdog(struct plan *plan)
{
    const struct fabric_watchdog *as = &plan->sw->watchdog;
    char name[FABRIC_NAME];

    if (!as->on) return;
    unsigned detect = config_within_ms(as->detect_ps, SONIC_DETECT_MIN_MS, SONIC_DETECT_MAX_MS);
    unsigned restore = config_within_ms(as->restore_ps, SONIC_RESTORE_MIN_MS, SONIC_RESTORE_MAX_MS);
    unsigned poll = config_within_ms(as->poll_ps, SONIC_POLL_MIN_MS, SONIC_POLL_MAX_MS);
    unsigned least = detect < restore ? detect : restore; /* the model refuses polls that are longer */
    table(plan, "PFC_WD", "WD001, WD002, WD003: on every port that pauses; times in ms, polls no longer than them");
    row(plan, "GLOBAL");
    field(plan, "POLL_INTERVAL", "%u", poll < least ? poll : least);
    row_end(plan);
    for (uint32_t p = 0; p < plan->node->ports; p++) {
        if (!settings_of(plan, p)->pfc_tx) continue;
        port_label(plan, p, name);
        row(plan, "%s", name);
        field(plan, "action", as->drop ? "drop" : "forward");
        field(plan, "detection_time", "%u", detect);
        field(plan, "restoration_time", "%u", restore);
        row_end(plan);
    }
    table_end(plan);
}

/* A queue pair is seen in the source port that its adapter chooses. */
static void emit_hash(struct plan *plan)
{
    static const struct {
        uint8_t fields;
        const char *name;
    } each[] = {{SW_HASH_SRC, "SRC_IP"},
                {SW_HASH_DST, "DST_IP"},
                {SW_HASH_SPORT | SW_HASH_QP, "L4_SRC_PORT"},
                {SW_HASH_SPORT | SW_HASH_QP, "L4_DST_PORT"}};
    bool any = false;

    if (!plan->sw->hash_fields) return;
    table(plan, "SWITCH_HASH", "TOP004: the UDP source port tells flows apart");
    row(plan, "GLOBAL");
    fputs("\n            \"ecmp_hash\": [", plan->emit->to);
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        if (!(plan->sw->hash_fields & each[i].fields)) continue;
        fprintf(plan->emit->to, "%s\"%s\"", any ? ", " : "", each[i].name);
        any = true;
    }
    fputc(']', plan->emit->to);
    plan->first_field = false;
    row_end(plan);
    table_end(plan);
}

static void emit_lldp(struct plan *plan)
{
    table(plan, "LLDP", "LLDP tells the cabling");
    row(plan, "GLOBAL");
    field(plan, "enabled", "true");
    row_end(plan);
    table_end(plan);
}

int sonic_emit(const struct config_emit *emit)
{
    const struct fabric *fabric = emit->fabric;
    struct plan plan = {.emit = emit,
                        .node = &fabric->node[emit->node],
                        .sw = &fabric->sw[emit->node - fabric->hosts],
                        .first_table = true};

    arena_init_or_end(&plan.arena, (size_t)1 << 30);
    plan_ports(&plan);
    config_head(emit, &config_sonic);
    fputc('{', emit->to);
    emit_metadata(&plan);
    emit_ports(&plan);
    emit_neighbours(&plan);
    emit_maps(&plan);
    emit_port_maps(&plan);
    emit_queues(&plan);
    emit_buffers(&plan);
    emit_watchdog(&plan);
    emit_hash(&plan);
    emit_lldp(&plan);
    fputs("\n}\n", emit->to);
    config_tail(emit, &config_sonic);
    arena_release(&plan.arena);
    return ferror(emit->to) ? -EIO : 0;
}
