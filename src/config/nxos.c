/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS among the formats: how it is recognised and what its ports are called.
 */
#include <stdio.h>

#include "config/lines_rest.h"
#include "config/nxos_int.h"

static int guess(const char *text, size_t length)
{
    static const char *const own[] = {"policy-map type network-qos",
                                      "policy-map type queuing",
                                      "class type queuing",
                                      "system qos",
                                      "priority-flow-control mode",
                                      "feature ",
                                      "interface Ethernet1/",
                                      "service-policy type queuing",
                                      "priority-flow-control watch-dog-interval",
                                      "set qos-group",
                                      NULL};
    static const char *const others[] = {
        "qos profile ", "service-profile ", "uc-tx-queue ", "priority-flow-control pause", "{", NULL};
    unsigned points = lines_begin_with(text, length, own), against = lines_begin_with(text, length, others);

    if (points == 0 || against >= points) return 0;
    return points == 1 ? 40 : points == 2 ? 60 : 90;
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    snprintf(buf, size, "Ethernet1/%u", fabric->port[port].index + 1u);
}

const struct config_format config_nxos = {
    .name = "nxos",
    .suffix = "cfg",
    .guess = guess,
    .import = nxos_import,
    .emit = nxos_emit,
    .port_name = port_name,
};
