/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: the format's entry, how it is recognized, and DCQCN's parameters in both languages.
 */
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "base/units.h"
#include "config/fix.h"
#include "config/host/host_int.h"
#include "config/unsupported.h"

const struct host_param host_params[] = {
    {"RPG_TIME_RESET", "rpg_time_reset", "us", UNIT_TIME, PS_US},
    {"RPG_AI_RATE", "rpg_ai_rate", "M", UNIT_RATE, 1000000},
    {"RPG_HAI_RATE", "rpg_hai_rate", "M", UNIT_RATE, 1000000},
    {"RPG_MIN_RATE", "rpg_min_rate", "M", UNIT_RATE, 1000000},
    {"RPG_MIN_DEC_FAC", "rpg_min_dec_fac", "%", UNIT_SHARE, 10000},
    {"RPG_THRESHOLD", "rpg_threshold", "", UNIT_COUNT, 1},
    {"DCE_TCP_G", "dce_tcp_g", "", UNIT_COUNT, 1},
    {"DCE_TCP_RTT", "dce_tcp_rtt", "us", UNIT_TIME, PS_US},
    {"RATE_REDUCE_MONITOR_PERIOD", "rate_reduce_monitor_period", "us", UNIT_TIME, PS_US},
    {"INITIAL_ALPHA_VALUE", "initial_alpha", "", UNIT_COUNT, 1},
    {"MIN_TIME_BETWEEN_CNPS", "min_time_between_cnps", "us", UNIT_TIME, PS_US},
    {"RPG_BYTE_RESET", "rpg_byte_reset", "B", UNIT_SIZE, 64},
    {"RPG_MAX_RATE", "rpg_max_rate", "M", UNIT_RATE, 1000000},
    {"RPG_GD", "rpg_gd", "", UNIT_COUNT, 1},
    {"RATE_TO_SET_ON_FIRST_CNP", "rate_to_set_on_first_cnp", "M", UNIT_RATE, 1000000},
    {"CLAMP_TGT_RATE", "clamp_tgt_rate", NULL, UNIT_COUNT, 1},
    {"CLAMP_TGT_RATE_AFTER_TIME_INC", "clamp_tgt_rate_after_time_inc", NULL, UNIT_COUNT, 1},
    {NULL, NULL, NULL, 0, 0},
};

static int guess(const char *text, size_t length)
{
    static const char *const signs[] = {"mlnx_qos",          "cma_roce_tos",      "mlxconfig",    "dcb pfc",
                                        "dcb app",           "dcb ets",           "roce_np/",     "NCCL_IB_",
                                        "dscp2prio mapping", "ROCE_CC_PRIO_MASK", "DCBX_WILLING", "prio-pfc"};
    int found = 0;

    (void)length;
    for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        found += strstr(text, signs[i]) != NULL;
    enum host_companion beside = host_companion(text);
    if (beside == HOST_NETPLAN) return 92;
    if (!found) return beside == HOST_RUNS ? 60 : 0;
    return found == 1 ? 70 : 90;
}

/* A unit with commands of its own is a host's text like others. */
static bool late(const char *text, size_t length)
{
    enum host_companion beside = host_companion(text);

    return beside == HOST_NETPLAN || (beside == HOST_RUNS && guess(text, length) <= 60);
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    snprintf(buf, size, "eth%u", fabric_port_number(fabric, port));
}

static bool param(const char *name)
{
    const struct host_param *known = host_params;

    while (known->key && strcmp(known->name, name) != 0)
        known++;
    return known->key != NULL;
}

static const struct config_can can = {.strict_below = true, .param = param};

const struct config_format config_host = {
    .name = "host",
    .suffix = "sh",
    .comment = "#",
    .can = &can,
    .host = true,
    .guess = guess,
    .late = late,
    .import = host_import,
    .emit = host_emit,
    .port_name = port_name,
    .fix = fix_whole,
    .mends = MEND_SCRIPT,
    .fix_how = "as root; it sets all it speaks of",
};
