/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a SONiC switch says of how it is set: lossless priorities, ECN profiles, buffers; and its CONFIG_DB.
 *
 * `show ecn` and `show buffer configuration` list profiles, and not who uses them: that is in CONFIG_DB, which is
 * src/config's to write.  Profiles have the names that it gives them.
 */
#include <inttypes.h>
#include <string.h>

#include "config/unsupported.h"
#include "dump/dump_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define PROFILES_MOST 64 /* different ones of a switch; more are in CONFIG_DB alone */

static uint32_t port_end(const struct fabric_node *node)
{
    return node->first_port + node->ports;
}

static void lossless_priorities(struct out *out, const struct moment *m, const struct fabric_node *node)
{
    static const char *const title[] = {"Interface", "Lossless priorities"};
    char name[FABRIC_NAME], text[32];

    if (!out_begin(out, "txt", "show pfc priority")) return;
    fputc('\n', out->file);
    grid_begin(out, title, 2, 3);
    for (uint32_t port = node->first_port; port < port_end(node); port++) {
        uint8_t bits = moment_settings(m, port)->pfc_tx;
        size_t used = 0;
        if (!m->port[port].cabled || bits == 0) continue;
        for (unsigned p = 0; p < DUMP_PRIOS; p++)
            if (bits >> p & 1) used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used ? "," : "", p);
        grid_cell(out, "%s", moment_port_name(m, port, name));
        grid_cell(out, "%s", text);
    }
    grid_end(out);
    fputc('\n', out->file);
    out_end(out);
}

static void pair(struct out *out, const char *name, uint64_t value)
{
    grid_cell(out, "%s", name);
    grid_cell(out, "%" PRIu64, value);
}

static void ecn_profile(struct out *out, unsigned number, const struct sw_ecn *ecn)
{
    static const char *const colours[] = {"green", "yellow", "red"};
    char name[48];

    fprintf(out->file, "Profile: ROCE_%u\n", number);
    grid_begin(out, NULL, 2, 3);
    grid_cell(out, "ecn");
    grid_cell(out, "ecn_all");
    for (int c = 0; c < 3; c++) {
        snprintf(name, sizeof name, "wred_%s_enable", colours[c]);
        grid_cell(out, "%s", name);
        grid_cell(out, "true");
        snprintf(name, sizeof name, "%s_min_threshold", colours[c]);
        pair(out, name, ecn->min_bytes);
        snprintf(name, sizeof name, "%s_max_threshold", colours[c]);
        pair(out, name, ecn->max_bytes);
        snprintf(name, sizeof name, "%s_drop_probability", colours[c]);
        pair(out, name, config_percent(ecn->probability_ppm));
    }
    grid_end(out);
    fputc('\n', out->file);
}

/* In the order in which ports and classes come, as src/config numbers them. */
static void ecn_profiles(struct out *out, const struct moment *m, const struct fabric_node *node)
{
    struct sw_ecn seen[PROFILES_MOST];
    unsigned count = 0;

    if (!out_begin(out, "txt", "show ecn")) return;
    for (uint32_t port = node->first_port; port < port_end(node); port++) {
        const struct fabric_settings *settings = moment_settings(m, port);
        for (uint32_t c = 0; c < m->fabric->class_count; c++) {
            const struct sw_ecn *ecn = &settings->queue[settings->tc_to_queue[m->fabric->classes[c].priority]].ecn;
            unsigned i = 0;
            while (i < count && (seen[i].min_bytes != ecn->min_bytes || seen[i].max_bytes != ecn->max_bytes ||
                                 config_percent(seen[i].probability_ppm) != config_percent(ecn->probability_ppm)))
                i++;
            if (!ecn->on || i < count || count == PROFILES_MOST) continue;
            ecn_profile(out, count, ecn);
            seen[count++] = *ecn;
        }
    }
    out_end(out);
}

struct lossless { /* what a profile of a lossless group is made of */
    uint64_t mbps, metres, reserved, headroom, xon_offset;
};

static void lossless_profile(struct out *out, const struct lossless *as, unsigned before, bool pool)
{
    fprintf(out->file, "Profile: pg_lossless_%" PRIu64 "_%" PRIu64 "m", as->mbps, as->metres);
    if (before) fprintf(out->file, "_%u", before);
    fputs("_profile\n", out->file);
    grid_begin(out, NULL, 2, 3);
    grid_cell(out, "pool");
    grid_cell(out, "ingress_lossless_pool");
    pair(out, "xon", as->reserved);
    pair(out, "xoff", as->headroom);
    pair(out, "xon_offset", as->xon_offset);
    pair(out, "size", as->reserved + (pool ? 0 : as->headroom));
    grid_end(out);
    fputc('\n', out->file);
}

static void lossless_profiles(struct out *out, const struct moment *m, const struct fabric_node *node, bool pool)
{
    struct lossless seen[PROFILES_MOST];
    unsigned count = 0;

    for (uint32_t port = node->first_port; port < port_end(node); port++) {
        const struct fabric_settings *settings = moment_settings(m, port);
        for (uint32_t c = 0; c < m->fabric->class_count; c++) {
            const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[m->fabric->classes[c].priority]];
            struct lossless as = {.mbps = m->fabric->port[port].rate_bps / 1000000,
                                  .metres = config_metres(m->fabric->port[port].cable_mm),
                                  .reserved = pg->reserved_bytes,
                                  .headroom = pg->headroom_bytes,
                                  .xon_offset = pg->xon_offset_bytes};
            unsigned i = 0, before = 0;
            for (; i < count && memcmp(&seen[i], &as, sizeof as) != 0; i++)
                before += seen[i].mbps == as.mbps && seen[i].metres == as.metres;
            if (!pg->lossless || i < count || count == PROFILES_MOST) continue;
            lossless_profile(out, &as, before, pool);
            seen[count++] = as;
        }
    }
}

static void buffers(struct out *out, const struct moment *m, uint32_t number)
{
    const struct fabric_switch *sw = &m->fabric->sw[number - m->fabric->hosts];
    uint64_t aside =
        sw->reserved_sum_bytes + (sw->headroom_pool_bytes ? sw->headroom_pool_bytes : sw->headroom_sum_bytes);

    if (!out_begin(out, "txt", "show buffer configuration")) return;
    fputs("Pool: ingress_lossless_pool\n", out->file);
    grid_begin(out, NULL, 2, 3);
    grid_cell(out, "mode");
    grid_cell(out, "dynamic");
    pair(out, "size", sw->buffer_bytes > aside ? sw->buffer_bytes - aside : 0);
    grid_cell(out, "type");
    grid_cell(out, "ingress");
    if (sw->headroom_pool_bytes) pair(out, "xoff", sw->headroom_pool_bytes);
    grid_end(out);
    fputc('\n', out->file);
    lossless_profiles(out, m, &m->fabric->node[number], sw->headroom_pool_bytes > 0);
    out_end(out);
}

unsigned dump_sonic_mtu(uint32_t frame_bytes)
{
    const struct config_can *can = config_sonic.can;

    if (frame_bytes == 0 || frame_bytes > can->mtu_most) frame_bytes = can->mtu_most;
    return (frame_bytes < can->mtu_least ? can->mtu_least : frame_bytes) - config_sonic.mtu_over;
}

void dump_sonic_config(struct out *out, const struct moment *m, uint32_t node)
{
    lossless_priorities(out, m, &m->fabric->node[node]);
    ecn_profiles(out, m, &m->fabric->node[node]);
    buffers(out, m, node);
    out_config(out, m, node, "json", "config_db");
}
