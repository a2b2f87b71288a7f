/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SONiC's buffers: profiles of groups and of queues, and the pool they share.
 *
 * Which part of a lossless profile's `size` is reserve depends on the pool: with a headroom pool (`xoff` of the ingress
 * pool) it is all of it, without one it is what is left beside the profile's own xoff.
 */
#include <string.h>

#include "base/units.h"
#include "config/sonic/sonic_int.h"

#define WRED_LEAST 3u /* ports whose queue has a profile, before one without is odd */
#include "fabric/qos/models.h"

#define BYTES_MAX ((int64_t)1 << 45)
#define POOL_LEAST 65536 /* less than this is no pool for frames to share */

/* The ingress pool that lossless groups use: of those with headroom of their own the first, else the first with
 * "lossless" in its name, else the first. */
static const struct sonic_row *ingress_pool(const struct sonic *in)
{
    const struct sonic_row *best = NULL;
    int most = 0;

    for (uint32_t r = 0; r < in->rows.count; r++) {
        const struct sonic_row *row = &in->rows.row[r];
        const char *type = sonic_field(row, "type", NULL);
        if (strcmp(row->table, "BUFFER_POOL") != 0 || !type || strcmp(type, "egress") == 0) continue;
        int fit = 1 + (strstr(row->key, "lossless") ? 2 : 0) + (sonic_field(row, "xoff", NULL) ? 4 : 0) -
                  (strstr(row->key, "zero") ? 8 : 0);
        if (fit <= most) continue;
        most = fit;
        best = row;
    }
    return best;
}

static int64_t pool_xoff(struct sonic *in)
{
    const struct sonic_row *pool = ingress_pool(in);
    int64_t xoff = 0;

    if (pool) sonic_read(in, pool, "xoff", 0, BYTES_MAX, &xoff);
    return xoff;
}

static void say_alpha(struct sonic *in, uint32_t at, uint32_t p, unsigned tc, int64_t th)
{
    if (th >= 0)
        SAY_CLASS(in, at, p, tc, "alpha", "%u", 1u << th);
    else
        SAY_CLASS(in, at, p, tc, "alpha", "1/%u", 1u << -th);
}

/* pg_lossless_100000_40m_profile, as SONiC itself names them: made for 100G and a cable of 40 m. */
static void say_named(struct sonic *in, const struct sonic_row *profile, uint32_t p, uint32_t at)
{
    const char *speed = strncmp(profile->key, "pg_lossless_", 12) == 0 ? profile->key + 12 : NULL;
    const char *cable = speed ? strchr(speed, '_') : NULL;
    char text[UNIT_TEXT], has[UNIT_TEXT];
    uint64_t mm;
    int64_t mbps;

    if (!cable) return;
    size_t length = strcspn(cable + 1, "_");
    if (length == 0 || length >= sizeof(text) || (size_t)(cable - speed) >= sizeof(text)) return;
    snprintf(text, sizeof(text), "%.*s", (int)(cable - speed), speed);
    if (sonic_number(text, 1, 10000000, &mbps) && (uint64_t)mbps < in->port[p].rate_mbps && !in->port[p].down)
        NOTE(in, at, "HR001", p, "runs at %s, and the headroom of BUFFER_PROFILE %.60s was chosen for %s",
             unit_format(UNIT_RATE, in->port[p].rate_mbps * 1000000, has), profile->key,
             unit_format(UNIT_RATE, (uint64_t)mbps * 1000000, text));
    snprintf(text, sizeof(text), "%.*s", (int)length, cable + 1);
    if (unit_parse(UNIT_LENGTH, text, &mm, NULL) == 0 && mm > 0 && mm < UINT32_MAX)
        SAY(in, at, p, "headroom-cable", "%s", text);
}

static void say_lossless(struct sonic *in, uint32_t p, unsigned tc, const struct sonic_row *profile, uint32_t at)
{
    int64_t size = 0, xon = 0, xoff = 0, offset = 0, th = 0;
    bool pool = pool_xoff(in) > 0;

    sonic_read(in, profile, "size", 0, UINT32_MAX, &size);
    sonic_read(in, profile, "xon", 0, UINT32_MAX, &xon);
    sonic_read(in, profile, "xoff", 0, UINT32_MAX, &xoff);
    in->port[p].lossless |= 1u << tc;
    in->port[p].set_aside |= 1u << tc;
    SAY_CLASS(in, sonic_line(profile, "xoff"), p, tc, "lossless", "true");
    SAY_CLASS(in, sonic_line(profile, "xoff"), p, tc, "headroom", "%lldB", (long long)xoff);
    int64_t reserved = pool ? size : size > xoff ? size - xoff : 0;
    SAY_CLASS(in, sonic_line(profile, "size"), p, tc, "reserved", "%lldB", (long long)reserved);
    if (!pool && size < xon + xoff)
        NOTE(in, sonic_line(profile, "size"), "HR005", CONFIG_NONE,
             "BUFFER_PROFILE %.60s: size %lld is less than xon %lld and xoff %lld together", profile->key,
             (long long)size, (long long)xon, (long long)xoff);
    /* Without an offset frames flow again at xon: for a threshold that moves, the distance is at least the reserve. */
    if (sonic_field(profile, "xon_offset", NULL) && sonic_read(in, profile, "xon_offset", 0, UINT32_MAX, &offset))
        SAY_CLASS(in, sonic_line(profile, "xon_offset"), p, tc, "xon", "%lldB", (long long)offset);
    if (sonic_field(profile, "static_th", NULL)) {
        if (sonic_read(in, profile, "static_th", 0, BYTES_MAX, &th))
            SAY_CLASS(in, sonic_line(profile, "static_th"), p, tc, "xoff", "%lldB", (long long)th);
    } else if (sonic_read(in, profile, "dynamic_th", SONIC_TH_MIN, SONIC_TH_MAX, &th)) {
        say_alpha(in, sonic_line(profile, "dynamic_th"), p, tc, th);
    }
    say_named(in, profile, p, at);
}

static void say_lossy(struct sonic *in, uint32_t p, unsigned tc, const struct sonic_row *profile)
{
    int64_t size = 0;

    sonic_read(in, profile, "size", 0, UINT32_MAX, &size);
    SAY_CLASS(in, profile->line, p, tc, "lossless", "false");
    SAY_CLASS(in, sonic_line(profile, "size"), p, tc, "reserved", "%lldB", (long long)size);
}

/* Left to the switch: it computes headroom by its own model, rocelab by its formula. */
static void say_dynamic(struct sonic *in, uint32_t p, unsigned tc, uint32_t at)
{
    const struct sonic_row *usual = sonic_row_find(&in->rows, "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE");
    int64_t th;

    in->port[p].lossless |= 1u << tc;
    SAY_CLASS(in, at, p, tc, "lossless", "true");
    if (usual && sonic_read(in, usual, "default_dynamic_th", SONIC_TH_MIN, SONIC_TH_MAX, &th))
        say_alpha(in, sonic_line(usual, "default_dynamic_th"), p, tc, th);
}

void sonic_say_group(struct sonic *in, uint32_t p, unsigned tc, unsigned group)
{
    const struct sonic_port *port = &in->port[p];
    const struct sonic_row *row = port->pg[group];
    bool pauses = port->pfc >> tc & 1;
    uint32_t at = row ? row->line : port->qos ? port->qos->line : 1;
    const char *name = sonic_field(row, "profile", NULL);

    if (!row) {
        /* No group here.  The switch adds one itself for a priority that pauses, by its table for the rate and the
         * cable; without a cable it does not, and then the group is lossy where the file has buffers at all. */
        if (pauses && (!in->has_buffers || port->cable)) {
            say_dynamic(in, p, tc, at);
            in->port[p].no_group |= 1u << tc;
        } else {
            SAY_CLASS(in, at, p, tc, "lossless", "false");
        }
        return;
    }
    if (name && strcmp(name, "NULL") == 0) {
        say_dynamic(in, p, tc, at);
        return;
    }
    const struct sonic_row *profile = sonic_follow(in, row, "profile", "BUFFER_PROFILE");
    if (!profile) {
        if (pauses)
            say_dynamic(in, p, tc, at);
        else
            SAY_CLASS(in, at, p, tc, "lossless", "false");
        return;
    }
    sonic_follow(in, profile, "pool", "BUFFER_POOL");
    const char *type = sonic_field(profile, "headroom_type", NULL);
    if (sonic_field(profile, "xoff", NULL))
        say_lossless(in, p, tc, profile, sonic_line(row, "profile"));
    else if (type && strcmp(type, "dynamic") == 0)
        say_dynamic(in, p, tc, profile->line);
    else
        say_lossy(in, p, tc, profile);
}

/* A port without its row where most that pause have one.  Whether the switch makes it depends on tables that are not
 * in the text. */
void sonic_note_no_group(struct sonic *in)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS && !sonic_partial(in, "BUFFER_PG"); tc++) {
        uint32_t with = 0, without = 0;
        for (uint32_t p = 0; p < in->ports; p++) {
            const struct sonic_port *port = &in->port[p];
            if (port->down || !((port->pfc & port->lossless) >> tc & 1)) continue;
            *(port->no_group >> tc & 1 ? &without : &with) += 1;
        }
        for (uint32_t p = 0; p < in->ports && with > without; p++) {
            const struct sonic_port *port = &in->port[p];
            if (port->down || !((port->pfc & port->lossless & port->no_group) >> tc & 1)) continue;
            if (port->set_aside & ~port->pfc) continue; /* it has one for another priority: that is told */
            const struct sonic_row *beside =
                NULL; /* its group for another priority that pauses: this one is missing there */
            for (unsigned other = 0; other < FABRIC_PRIOS; other++)
                if (port->pg[other] && port->pfc >> other & 1) beside = port->pg[other];
            NOTE(in, beside ? (beside->line) : sonic_line(port->qos, "pfc_enable"), "SIB001", p,
                 "pauses priority %u and has no BUFFER_PG for it, as %u other ports have: its headroom is what the "
                 "switch makes of it",
                 tc, with);
        }
    }
}

/* Is it, or its pool, called lossy? */
static bool lossy_name(const struct sonic_row *profile)
{
    const char *pool = sonic_field(profile, "pool", NULL);

    return strcasestr(profile->key, "lossy") || (pool && strcasestr(pool, "lossy"));
}

/* The profile that most queues of lossless classes have. */
static const struct sonic_row *usual_leaving(const struct sonic *in)
{
    const struct sonic_row *held = NULL;
    uint32_t votes = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        for (unsigned q = 0; q < FABRIC_PRIOS && !in->port[p].down; q++) {
            const struct sonic_row *row = in->port[p].leaving[q];
            if (!row) continue;
            if (!votes) held = row;
            votes = held == row ? votes + 1 : votes - 1;
        }
    }
    return held;
}

/* What ingress let in as lossless is dropped where it leaves: told once where it is so on most ports. */
void sonic_note_leaving(struct sonic *in)
{
    const struct sonic_row *usual = usual_leaving(in);

    for (uint32_t p = 0; p < in->ports; p++) {
        for (unsigned q = 0; q < FABRIC_PRIOS && !in->port[p].down; q++) {
            const struct sonic_row *profile = in->port[p].leaving[q];
            if (!profile || !lossy_name(profile)) continue;
            NOTE(in, sonic_line(in->port[p].buffer_queue[q], "profile"), "BUF002", p,
                 "BUFFER_PROFILE %.60s of lossy traffic limits the lossless queue %u%s", profile->key, q,
                 profile == usual ? ", as on most ports" : "");
            if (profile == usual) return;
        }
    }
}

void sonic_say_queue_limit(struct sonic *in, uint32_t p, unsigned tc, unsigned queue)
{
    const struct sonic_row *row = in->port[p].buffer_queue[queue];
    const struct sonic_row *profile = row ? sonic_follow(in, row, "profile", "BUFFER_PROFILE") : NULL;
    const struct sonic_row *pool = profile ? sonic_follow(in, profile, "pool", "BUFFER_POOL") : NULL;
    bool lossless = in->port[p].lossless >> tc & 1;
    int64_t th = 0, size = BYTES_MAX;

    if (!profile) return;
    if (lossless) in->port[p].leaving[queue] = profile;
    if (sonic_field(profile, "static_th", NULL)) {
        if (!sonic_read(in, profile, "static_th", 0, BYTES_MAX, &th)) return;
        if (pool && sonic_field(pool, "size", NULL)) sonic_read(in, pool, "size", 0, BYTES_MAX, &size);
        if (th < size) SAY_CLASS(in, sonic_line(profile, "static_th"), p, tc, "limit", "%lldB", (long long)th);
        return;
    }
    if (!sonic_read(in, profile, "dynamic_th", SONIC_TH_MIN, SONIC_TH_MAX, &th)) return;
    if (!lossless)
        say_alpha(in, sonic_line(profile, "dynamic_th"), p, tc, th);
    else if (th <= 0 && !lossy_name(profile))
        NOTE(in, sonic_line(profile, "dynamic_th"), "BUF002", CONFIG_NONE,
             "BUFFER_PROFILE %.60s limits a lossless queue to 2^%lld of what is free: it drops before PFC holds",
             profile->key, (long long)th);
}

/* What the groups of all ports set aside; false: some of it is not known. */
static bool sum_aside(struct sonic *in, uint64_t *ret)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        for (unsigned g = 0; g < FABRIC_PRIOS; g++) {
            const struct sonic_row *row = in->port[p].pg[g];
            int64_t size = 0;
            if (!row) continue;
            const char *name = sonic_field(row, "profile", NULL);
            const struct sonic_row *profile =
                name ? sonic_row_find(&in->rows, "BUFFER_PROFILE", sonic_reference(in->arena, name)) : NULL;
            if (!profile || !sonic_number(sonic_field(profile, "size", NULL), 0, UINT32_MAX, &size)) return false;
            sum += (uint64_t)size;
        }
    }
    *ret = sum;
    return true;
}

/* The largest pool of those that leave: what a switch has at most for all of them. */
static int64_t egress_most(const struct sonic *in)
{
    int64_t most = 0, size = 0;

    for (uint32_t r = 0; r < in->rows.count; r++) {
        const struct sonic_row *row = &in->rows.row[r];
        const char *type = sonic_field(row, "type", NULL);
        if (strcmp(row->table, "BUFFER_POOL") != 0 || !type || strcmp(type, "egress") != 0) continue;
        if (sonic_number(sonic_field(row, "size", NULL), 0, BYTES_MAX, &size) && size > most) most = size;
    }
    return most;
}

/* A pool that the chip has no room for; told, and then the chip's own buffer holds. */
static bool too_large(struct sonic *in, const struct sonic_row *pool, const struct switch_model *model, uint64_t bytes)
{
    char has[UNIT_TEXT], wants[UNIT_TEXT];

    if (!model || model->buffer_assumed || bytes <= model->buffer_bytes + model->buffer_bytes / 50) return false;
    NOTE(in, sonic_line(pool, "size"), "HR003", CONFIG_NONE, "BUFFER_POOL %.60s takes %s, and %s has a buffer of %s",
         pool->key, unit_format(UNIT_SIZE, bytes, wants), model->name,
         unit_format(UNIT_SIZE, model->buffer_bytes, has));
    return true;
}

void sonic_say_buffer(struct sonic *in, const struct switch_model *model)
{
    const struct sonic_row *pool = ingress_pool(in);
    uint64_t aside = 0;
    int64_t size = 0;
    char buf[UNIT_TEXT];

    if (!pool || !sonic_field(pool, "size", NULL) || !sonic_read(in, pool, "size", 0, BYTES_MAX, &size)) return;
    int64_t xoff = pool_xoff(in), all = egress_most(in);
    if (size < POOL_LEAST) {
        NOTE(in, sonic_line(pool, "size"), "BUF001", CONFIG_NONE, "BUFFER_POOL %.60s has %lld bytes for sharing",
             pool->key, (long long)size);
        return;
    }
    /* Some tables count the headroom within the pool: where it would not fit beside it. */
    bool within = xoff < size && size + xoff > all && size <= all;
    if (model && !model->buffer_assumed && !within)
        within = xoff < size && (uint64_t)(size + xoff) > model->buffer_bytes && (uint64_t)size <= model->buffer_bytes;
    uint64_t taken = (uint64_t)size + (within ? 0 : (uint64_t)xoff);
    if (xoff > 0) SAY(in, sonic_line(pool, "xoff"), CONFIG_NONE, "headroom-pool", "%lldB", (long long)xoff);
    if (too_large(in, pool, model, taken) || !sum_aside(in, &aside)) return;
    uint64_t buffer = taken + aside;
    SAY(in, sonic_line(pool, "size"), CONFIG_NONE, "buffer", "%s", unit_format(UNIT_SIZE, buffer, buf));
    /* A switch counts its cells in 31 bits: a deep buffer has cells of its own. */
    if (buffer >= (uint64_t)1 << 30) SAY(in, sonic_line(pool, "size"), CONFIG_NONE, "cell", "256B");
}

/* A queue of a class that pauses without a WRED profile, where the same queue of most other ports has one. */
void sonic_note_no_wred(struct sonic *in)
{
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        uint32_t with = 0, without = 0;
        for (uint32_t p = 0; p < in->ports; p++) {
            const struct sonic_port *port = &in->port[p];
            if (port->down || !port->queue[q] || !((port->pfc & port->lossless) >> q & 1)) continue;
            *(sonic_field(port->queue[q], "wred_profile", NULL) ? &with : &without) += 1;
        }
        for (uint32_t p = 0; p < in->ports && with >= WRED_LEAST && with > 2 * without; p++) {
            const struct sonic_port *port = &in->port[p];
            if (port->down || !port->queue[q] || !((port->pfc & port->lossless) >> q & 1)) continue;
            if (sonic_field(port->queue[q], "wred_profile", NULL)) continue;
            NOTE(in, sonic_line(port->queue[q], "wred_profile"), "ECN001", p,
                 "queue %u has no wred_profile, as those of %u other ports have: it does not mark", q, with);
        }
    }
}
