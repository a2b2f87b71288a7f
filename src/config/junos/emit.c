/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric as a Junos configuration: interfaces, paths, class of service (emit_cos.c).
 *
 * A fabric's class is a forwarding class of its number (TC3-rdma), in its queue.  Ports that differ in a map, in queues
 * or in pauses have a classifier, a scheduler map, a congestion notification profile of their own; the first of each is
 * that of most.  What Junos cannot say is left out, and named at the head (junos.c has the table): which class is
 * without loss and in which queue it is holds for the switch; headroom is computed from the cable and the frame;
 * thresholds of marking are whole per cent of what a queue may hold (buffer.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/junos/emit.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

/* The channel of et-0/0/5:2, 2; -1: it is none. */
static int channel_of(const char *label, size_t *ret_cage)
{
    const char *colon = strchr(label, ':');

    if (!colon || colon[1] < '0' || colon[1] > '7' || colon[2]) return -1;
    *ret_cage = (size_t)(colon - label);
    return colon[1] - '0';
}

/* Into how many the cage is broken out of which this port and others of its label are channels, by the names that the
 * fabric gives them; 0: that was said already, at another. */
static unsigned named_channels(const struct junos_out *out, uint32_t port, const char *label, size_t length)
{
    unsigned most = 0;
    char other[FABRIC_NAME];

    for (uint32_t p = out->node->first_port; p < out->node->first_port + out->node->ports; p++) {
        size_t same = 0;
        config_port_label(out->print.emit, &config_junos, p, other, sizeof(other));
        int channel = channel_of(other, &same);
        if (channel < 0 || same != length || strncmp(other, label, length) != 0) continue;
        if (p < port) return 0;
        if ((unsigned)channel + 1 > most) most = (unsigned)channel + 1;
    }
    return most > 4 ? 8 : most > 2 ? 4 : most;
}

/* A cage that ports are channels of is said before the first of them, with the speed of each. */
static void emit_cage(struct junos_out *out, uint32_t port, const char *label)
{
    const struct fabric *fabric = out->print.emit->fabric;
    const char *const *names = fabric->operations.port_name;
    uint64_t gbps = fabric->port[port].rate_bps / JUNOS_RATE_STEP;
    struct config_cage cage;
    char path[JUNOS_PATH];
    size_t length = 0;
    unsigned channels;

    if (channel_of(label, &length) < 0) return;
    if ((names && names[port]) || !config_cage(fabric, port, &cage)) {
        channels = named_channels(out, port, label, length);
    } else {
        channels = cage.part == 1 ? cage.parts : 0;
        if (!gbps) gbps = cage.rate_gbps / cage.parts; /* not cabled, and still a part of it */
    }
    if (!channels) return;
    snprintf(path, sizeof(path), "interfaces|%.*s", (int)length, label);
    junos_print(&out->print, path, "number-of-sub-ports %u", channels);
    if (gbps) junos_print(&out->print, path, "speed %llug", (unsigned long long)gbps);
}

static void emit_port(struct junos_out *out, uint32_t port)
{
    static const char *const fecs[] = {NULL, "none", "fec74", "fec91"};
    const struct fabric_settings *settings = config_settings(out->print.emit->fabric, port);
    const struct fabric_port *as = &out->print.emit->fabric->port[port];
    uint32_t mtu = settings->mtu_bytes < JUNOS_MTU_MOST ? settings->mtu_bytes : JUNOS_MTU_MOST;
    char label[FABRIC_NAME], path[JUNOS_PATH], peer[CONFIG_PEER], options[JUNOS_PATH + 32];
    size_t cage;

    config_port_label(out->print.emit, &config_junos, port, label, sizeof(label));
    emit_cage(out, port, label);
    snprintf(path, sizeof(path), "interfaces|%s", label);
    if (config_peer_label(out->print.emit, &config_junos, port, peer, sizeof(peer)))
        junos_print(&out->print, path, "description \"%s\"", peer);
    if (!as->up) junos_print(&out->print, path, "disable");
    if (as->peer != FABRIC_NONE && as->rate_bps >= JUNOS_RATE_STEP && channel_of(label, &cage) < 0)
        junos_print(&out->print, path, "speed %llug", (unsigned long long)(as->rate_bps / JUNOS_RATE_STEP));
    junos_print(&out->print, path, "mtu %u", mtu < JUNOS_MTU_LEAST ? JUNOS_MTU_LEAST : mtu);
    snprintf(options, sizeof(options), "%s|gigether-options", path);
    if (fecs[settings->fec]) junos_print(&out->print, options, "fec %s", fecs[settings->fec]);
    if (settings->pause_all && !config_paused(settings)) junos_print(&out->print, options, "flow-control");
    snprintf(options, sizeof(options), "%s|unit 0", path);
    if (!out->sw->bridged) junos_print(&out->print, options, "family inet");
}

/* Equal paths: the forwarding table gets all of them, and the hash looks at the ports of UDP. */
static void emit_paths(struct junos_out *out)
{
    uint8_t kind = out->sw->balance.kind;

    junos_print_comment(&out->print, "TOP004: all equal paths are used, by flows");
    junos_print(&out->print, "forwarding-options|hash-key|family inet", "layer-3");
    if (out->sw->hash_fields & (SW_HASH_SPORT | SW_HASH_QP))
        junos_print(&out->print, "forwarding-options|hash-key|family inet", "layer-4");
    if (kind == SW_FLOWLET) junos_print(&out->print, "forwarding-options|enhanced-hash-key|ecmp-dlb", "flowlet");
    if (kind == SW_SPRAY) junos_print(&out->print, "forwarding-options|enhanced-hash-key|ecmp-dlb", "per-packet");
    junos_print(&out->print, "policy-options|policy-statement ROCELAB-BALANCE|then", "load-balance per-packet");
    junos_print(&out->print, "routing-options|forwarding-table", "export ROCELAB-BALANCE");
}

static void emit_switch(struct junos_out *out)
{
    config_head(out->print.emit, &config_junos);
    junos_print(&out->print, "system", "host-name %s", out->node->name);
    junos_print_comment(&out->print, "MTU001, TOP006: each port");
    for (uint32_t p = 0; p < out->node->ports; p++)
        emit_port(out, out->node->first_port + p);
    if (!out->sw->bridged) emit_paths(out);
    junos_emit_cos(out);
    junos_print(&out->print, "protocols|lldp", "interface all");
    junos_print_end(&out->print);
    config_tail(out->print.emit, &config_junos);
}

static int emit_all(const struct config_emit *emit, bool commands)
{
    const struct fabric *fabric = emit->fabric;
    struct junos_out out = {.print = {.emit = emit, .commands = commands}, .node = &fabric->node[emit->node]};

    out.sw = &fabric->sw[emit->node - fabric->hosts];
    if (!out.node->ports) return -EINVAL;
    arena_init_or_end(&out.arena, (size_t)1 << 24);
    junos_emit_prepare(&out);
    emit_switch(&out);
    arena_release(&out.arena);
    return ferror(emit->to) ? -EIO : 0;
}

int junos_emit_braces(const struct config_emit *emit)
{
    return emit_all(emit, false);
}
int junos_emit_commands(const struct config_emit *emit)
{
    return emit_all(emit, true);
}
