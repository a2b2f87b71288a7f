/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS among the formats: how it is recognised and what its ports are called.
 */
#include <stdio.h>

#include "config/fix.h"
#include "config/nxos/nxos_int.h"
#include "config/unsupported.h"
#include "fabric/switches.h"

/* Dell OS10 looks like NX-OS: the same policy-maps, other maps and other names of ports. */
bool nxos_is_os10(const char *text, size_t length)
{
    static const char only[] =
        "! Version 10.|qos-map traffic-class|trust dscp-map |trust dot1p-map |qos-map dot1p|qos-map dscp|"
        "trust-map |dcbx enable|pfc-shared-buffer-size|interface breakout 1/1/";
    static const char common[] = "interface ethernet1/1/|interface range ethernet1/1/|interface mgmt1/1/1|system qos|"
                                 "class-map type network-qos|policy-map type network-qos";
    unsigned own = lines_begin_with(text, length, only);

    return own > 1 || (own == 1 && lines_begin_with(text, length, common) > 0);
}

static int guess(const char *text, size_t length)
{
    static const char own[] =
        "policy-map type network-qos|policy-map type queuing|class type queuing|system qos|"
        "priority-flow-control mode|feature |interface Ethernet1/|service-policy type queuing|"
        "priority-flow-control watch-dog-interval|set qos-group|interface port-channel|vrf context |"
        "interface mgmt0|version 10.|version 9.|version 7.0(|boot nxos |vdc |ip load-sharing address |"
        "interface breakout module |system default switchport";
    static const char others[] =
        "qos profile |service-profile |uc-tx-queue |priority-flow-control pause|interface Management|"
        "service routing protocols model|vrf instance |vrf definition |interface GigabitEthernet|"
        "interface Port-Channel|{";

    if (nxos_is_os10(text, length)) return 90; /* the import refuses it by its name */
    return lines_guess(text, length, own, others);
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    struct config_cage cage;

    if (!config_cage(fabric, port, &cage))
        snprintf(buf, size, "Ethernet1/%u", fabric_port_number(fabric, port) + 1);
    else if (cage.parts == 1)
        snprintf(buf, size, "Ethernet1/%u", cage.cage);
    else
        snprintf(buf, size, "Ethernet1/%u/%u", cage.cage, cage.part);
}

static const struct config_can can = {
    .port_maps = true,
    .pfc_none = true,
    .pfc_auto = true,
    .pause_all = true,
    .xoff = true,
    .class_xoff = true,
    .restore = true,
    .poll_ms = {NXOS_POLL_LEAST_MS, NXOS_POLL_MOST_MS},
    .detect_ms = {NXOS_POLL_LEAST_MS, NXOS_POLL_MOST_MS *NXOS_SHUTDOWNS_MOST},
    .restore_ms = {NXOS_POLL_LEAST_MS, NXOS_POLL_MOST_MS *NXOS_RESTORES_MOST},
    .detect_polls = NXOS_SHUTDOWNS_MOST,
    .restore_polls = NXOS_RESTORES_MOST,
    .polls_least = 1,
    .mtu_least = NXOS_MTU_LEAST,
    .mtu_most = NXOS_MTU_MOST,
    .rate_step_bps = 1000000,
    .balances = 1u << SW_FLOWLET | 1u << SW_SPRAY,
};

static const char shows[] =
    "show policy-map system|show policy-map type network-qos|show interface priority-flow-control|"
    "show queuing interface ethernet 1/1|show queuing pfc-queue detail";

/* Nexus switches have chips of Cisco's own or of Broadcom's. */
static const char chips[] = "cloudscale g200 g300 q200 tomahawk trident jericho generic";

const struct config_format config_nxos = {
    .name = "nxos",
    .suffix = "cfg",
    .comment = "!",
    .shows = shows,
    .chips = chips,
    .can = &can,
    .guess = guess,
    .import = nxos_import,
    .emit = nxos_emit,
    .port_name = port_name,
    .fix = fix_lines,
    .mends = MEND_BLOCKS,
    .fix_how = "in `configure terminal`",
};
