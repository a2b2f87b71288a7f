/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A moment of a run: what machines have counted, as their systems would show it.
 *
 * Every counter begins at an offset that is a hash of the seed, the device, the port, the priority and the counter's
 * name, so that whoever reads two moments must subtract.  Offsets of bytes are whole blocks of 4096 and those of times
 * whole microseconds: what a system counts in words or in microseconds is rounded the same with and without them.
 * High-water marks, states and what is there now have none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/wide.h"
#include "dump/dump_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define NO_PRIO DUMP_PRIOS
#define NAME_MOST 48 /* letters of a port's name: with a queue behind it a key in JSON */
_Static_assert(NAME_MOST < FABRIC_NAME, "it is cut to this");

static uint64_t mixed(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static uint64_t offset(const struct moment *m, uint32_t port, unsigned prio, const char *name)
{
    const struct fabric_port *at = &m->fabric->port[port];
    const char *device = m->fabric->node[at->node].name;
    uint64_t hash = hash_bytes(HASH_BEGIN, &m->seed, sizeof m->seed);

    if (strcmp(name, "watchdog_restored") == 0) name = "watchdog_detected"; /* no storm holds from before */
    hash = hash_bytes(hash, device, strlen(device) + 1);
    hash = hash_bytes(hash, &at->index, sizeof at->index);
    hash = hash_bytes(hash, &prio, sizeof prio);
    hash = mixed(hash_bytes(hash, name, strlen(name)));
    if (has(name, "_bytes")) return hash % (1u << 28) * 4096;
    if (has(name, "_ps")) return hash % 1000000 * PS_US;
    if (has(name, "xo") || has(name, "pfc") || has(name, "pause") || has(name, "resume") || has(name, "marked") ||
        has(name, "cnp"))
        return hash % 4096;
    if (has(name, "packets") || has(name, "requests")) return hash % (1u << 30);
    return hash % 64; /* of what should not happen */
}

static void add_offset(const struct moment *m, uint32_t port, unsigned prio, const char *name, void *object, size_t at)
{
    uint64_t value;

    memcpy(&value, (char *)object + at, sizeof value);
    value += offset(m, port, prio, name);
    memcpy((char *)object + at, &value, sizeof value);
}

/* What a total grew by since the moment before. */
static uint64_t more(uint64_t *seen, uint64_t now)
{
    uint64_t grown = now - *seen;

    *seen = now;
    return grown;
}

/*
 * A packet that is dropped counts at one port and priority.  Of which reason is known of the port: what is not of the
 * queue, nor of a packet that could not be forwarded, found no buffer.  Where several priorities had some it is a
 * guess, which is made of what came since the moment before, so that no counter ever goes down.
 */
static void split_drops(const struct sw_port_counters *raw, struct moment_drops *drops)
{
    uint64_t watchdog = more(&drops->seen_watchdog, raw->drop[SW_DROP_watchdog]);
    uint64_t out = watchdog + more(&drops->seen_out, raw->drop[SW_DROP_egress] + raw->drop[SW_DROP_port_down]);
    uint64_t astray = more(&drops->seen_astray, raw->drop[SW_DROP_ttl] + raw->drop[SW_DROP_mtu] +
                                                    raw->drop[SW_DROP_no_route] + raw->drop[SW_DROP_not_mine]);
    uint64_t bytes = more(&drops->seen_bytes, raw->dropped_bytes), grown[DUMP_PRIOS], all = 0;

    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        grown[p] = more(&drops->seen[p], raw->prio[p].drops);
        all += grown[p];
    }
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        uint64_t queue = grown[p] < out ? grown[p] : out, left = grown[p] - queue;
        uint64_t lost = left < astray ? left : astray, cut = queue < watchdog ? queue : watchdog;
        if (raw->prio[p].watchdog_detected == 0) cut = 0;
        out -= queue;
        astray -= lost;
        watchdog -= cut;
        drops->queue[p] += queue;
        drops->watchdog[p] += cut;
        drops->pg[p] += left - lost;
        if (queue) drops->queue_bytes[p] += (uint64_t)((u128)bytes * queue / all);
    }
}

static void read_link(const struct moment *m, struct sim *sim, const struct sim_port *from, struct moment_port *ret)
{
    struct sim_sample now;

    sim_sample_port(sim, from->port, &now);
    ret->up = from->up;
    ret->paused_now = (uint8_t)now.paused;
    ret->rate_bps = from->rate_bps;
    ret->downs = from->downs + offset(m, from->port, NO_PRIO, "downs");
    ret->crc_errors = from->crc_errors + offset(m, from->port, NO_PRIO, "crc_errors");
    ret->pre_fec_ber = from->pre_fec_ber;
}

static void read_switch_port(const struct moment *m, uint32_t port, struct moment_port *ret)
{
    struct moment_drops *drops = &m->drops[port];

    ret->sw = *ret->raw;
    split_drops(ret->raw, drops);
    for (const struct sw_counter *c = sw_port_counter_list; c->name; c++)
        if (c->kind == SW_COUNTER_COUNT) add_offset(m, port, NO_PRIO, c->name, &ret->sw, c->offset);
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        const struct sw_prio_counters *raw = &ret->raw->prio[p];
        for (const struct sw_counter *c = sw_prio_counter_list; c->name; c++)
            if (c->kind == SW_COUNTER_COUNT) add_offset(m, port, p, c->name, &ret->sw.prio[p], c->offset);
        ret->queue_drops[p] = drops->queue[p] + offset(m, port, p, "queue_drops");
        ret->queue_drop_bytes[p] = drops->queue_bytes[p] + offset(m, port, p, "queue_drop_bytes");
        ret->watchdog_drops[p] = drops->watchdog[p] + offset(m, port, p, "watchdog_drops");
        ret->pg_drops[p] = drops->pg[p] + offset(m, port, p, "pg_drops");
        /* A pause begins with the first XOFF and with each that follows an XON. */
        ret->paused[p] = (raw->rx_xoff < raw->rx_xon + 1 ? raw->rx_xoff : raw->rx_xon + 1) +
                         offset(m, port, p, "rx_pause_transition");
    }
}

static void read_nic(const struct moment *m, uint32_t endpoint, struct moment_nic *ret)
{
    static const struct nic_counters nothing; /* of an adapter that has no such counters */
    uint32_t port = m->fabric->endpoint[endpoint].port;

    ret->raw = m->result->nic[endpoint].counters ? m->result->nic[endpoint].counters : &nothing;
    ret->counters = *ret->raw;
    for (const struct nic_counter *c = nic_counter_list; c->name; c++)
        if (strcmp(c->name, "rx_buffer_max_bytes") != 0)
            add_offset(m, port, NO_PRIO, c->name, &ret->counters, c->offset);
    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        for (const struct nic_counter *c = nic_prio_counter_list; c->name; c++)
            add_offset(m, port, p, c->name, &ret->counters.prio[p], c->offset);
}

static void count_hosts(struct moment *m, const struct fabric *fabric, uint32_t *ret)
{
    uint32_t *last =
        ARENA_NEW(&m->arena, uint32_t, fabric->hosts + 1u); /* the job that a host was last seen in, and 1 */

    for (uint32_t j = 0; j < fabric->jobs; j++) {
        const struct fabric_job *job = &fabric->job[j];
        if (fabric_job_form((enum fabric_job_kind)job->kind) == FABRIC_FORM_TRANSFERS) continue;
        for (uint32_t i = 0; i < job->ranks; i++) {
            uint32_t host = fabric->gpu_host[job->rank[i]];
            ret[j] += last[host] != j + 1;
            last[host] = j + 1;
        }
    }
}

void moment_read(struct moment *m, struct sim *sim)
{
    const struct fabric *fabric = m->fabric;

    m->at = m->result->virtual_ps;
    m->ranks = sim_ranks(sim);
    arena_init_or_end(&m->arena, 0);
    m->port = ARENA_NEW(&m->arena, struct moment_port, fabric->ports + 1u);
    m->nic = ARENA_NEW(&m->arena, struct moment_nic, fabric->endpoints + 1u);
    m->rank = ARENA_NEW(&m->arena, struct observe_rank, m->ranks + 1u);
    m->job_hosts = ARENA_NEW(&m->arena, uint32_t, fabric->jobs + 1u);
    count_hosts(m, fabric, m->job_hosts);
    for (uint32_t i = 0; i < m->result->ports; i++) {
        uint32_t index = m->result->port[i].port;
        struct moment_port *port = &m->port[index];
        port->cabled = true;
        port->raw = m->result->port[i].sw;
        read_link(m, sim, &m->result->port[i], port);
        if (port->raw == NULL) continue;
        sim_sample_queues(sim, index, port->queue);
        read_switch_port(m, index, port);
    }
    for (uint32_t i = 0; i < fabric->endpoints; i++)
        read_nic(m, i, &m->nic[i]);
    for (uint32_t i = 0; i < m->ranks; i++)
        sim_sample_rank(sim, i, &m->rank[i]);
}

void moment_release(struct moment *m)
{
    arena_release(&m->arena);
}

const char *moment_port_name(const struct moment *m, uint32_t port, char buf[FABRIC_NAME])
{
    uint32_t node = m->fabric->port[port].node;
    const struct config_emit emit = {.fabric = m->fabric, .node = node};

    config_port_label(&emit, node < m->fabric->hosts ? &config_host : m->format, port, buf, FABRIC_NAME);
    buf[NAME_MOST] = '\0';
    for (char *at = buf; *at; at++)
        if (*at <= ' ' || *at >= 127 || *at == '"' || *at == '\\') *at = '_';
    return buf;
}

const char *moment_peer(const struct moment *m, uint32_t port, char buf[2 * FABRIC_NAME])
{
    uint32_t peer = m->fabric->port[port].peer;
    char name[FABRIC_NAME];

    snprintf(buf, 2 * FABRIC_NAME, "%s:%s", m->fabric->node[m->fabric->port[peer].node].name,
             moment_port_name(m, peer, name));
    return buf;
}

uint64_t moment_speed_mbps(const struct moment *m, uint32_t port)
{
    return m->port[port].rate_bps / 1000000;
}

bool moment_up(const struct moment *m, uint32_t port)
{
    return m->port[port].cabled && m->port[port].up;
}

const struct fabric_settings *moment_settings(const struct moment *m, uint32_t port)
{
    return &m->fabric->settings[m->fabric->port[port].settings];
}

uint8_t moment_watched(const struct moment *m, uint32_t port)
{
    const struct fabric_settings *settings = moment_settings(m, port);
    const struct fabric_switch *sw = &m->fabric->sw[m->fabric->port[port].node - m->fabric->hosts];

    return fabric_watchdog_runs(&sw->watchdog) ? (settings->pfc_rx | settings->pfc_tx) & settings->watched : 0;
}

void moment_mac(const struct moment *m, uint32_t port, char buf[18])
{
    uint32_t node = m->fabric->port[port].node;

    snprintf(buf, 18, "02:%02x:%02x:%02x:00:%02x", node >> 16 & 0xff, node >> 8 & 0xff, node & 0xff,
             m->fabric->port[port].index & 0xffu);
}

uint64_t moment_in_discards(const struct moment_port *port)
{
    const uint64_t *drop = port->sw.drop;

    return drop[SW_DROP_ttl] + drop[SW_DROP_no_route] + drop[SW_DROP_buffer] + drop[SW_DROP_headroom] +
           drop[SW_DROP_unknown] + drop[SW_DROP_flood] + drop[SW_DROP_not_mine];
}

uint64_t moment_out_discards(const struct moment_port *port)
{
    const uint64_t *drop = port->sw.drop;

    return drop[SW_DROP_egress] + drop[SW_DROP_port_down] + drop[SW_DROP_watchdog];
}
