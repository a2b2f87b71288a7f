/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS among the formats: how it is recognised and what its ports are called.
 */
#include <stdio.h>

#include "config/eos_int.h"
#include "config/lines_rest.h"

static int guess(const char *text, size_t length)
{
    static const char *const own[] = {"qos profile ",
                                      "qos map dscp ",
                                      "qos map traffic-class ",
                                      "service-profile ",
                                      "uc-tx-queue ",
                                      "tx-queue ",
                                      "priority-flow-control pause ",
                                      "priority-flow-control priority ",
                                      "priority-flow-control all off",
                                      "platform trident ",
                                      "platform sand ",
                                      "random-detect ecn minimum-threshold",
                                      "interface Management1",
                                      "transceiver qsfp",
                                      "service routing protocols model",
                                      NULL};
    static const char *const others[] = {
        "policy-map type network-qos", "class type queuing", "system qos", "set qos-group", "{", NULL};
    unsigned points = lines_begin_with(text, length, own), against = lines_begin_with(text, length, others);

    if (points == 0 || against >= points) return 0;
    return points == 1 ? 40 : points == 2 ? 60 : 90;
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    snprintf(buf, size, "Ethernet%u", fabric->port[port].index + 1u);
}

const struct config_format config_eos = {
    .name = "eos",
    .suffix = "cfg",
    .guess = guess,
    .import = eos_import,
    .emit = eos_emit,
    .port_name = port_name,
};
