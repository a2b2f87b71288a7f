/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cumulus Linux with NVUE: the two formats (a YAML of what is set, a list of commands) and how they are recognized.
 */
#include <stdio.h>
#include <string.h>

#include "config/nvue/nvue_int.h"
#include "config/unsupported.h"
#include "fabric/switches.h"

static bool line_begins(const char *text, const char *with)
{
    size_t length = strlen(with);

    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, with, length) == 0) return true;
        if (!*at) break;
    }
    return false;
}

bool nvue_is_commands(const char *text, size_t length)
{
    (void)length;
    return line_begins(text, "nv set ") || line_begins(text, "nv unset ") || line_begins(text, "$ nv set ");
}

static int guess(const char *text, size_t length)
{
    if (nvue_is_commands(text, length)) return 95;
    if (line_begins(text, "- set:")) return 95;
    bool ports = strstr(text, "swp") != NULL;
    if (line_begins(text, "set:") && ports) return 80;
    return line_begins(text, "interface:") && line_begins(text, "qos:") && ports ? 60 : 0;
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    struct config_cage cage;

    if (!config_cage(fabric, port, &cage))
        snprintf(buf, size, "swp%u", fabric_port_number(fabric, port) + 1);
    else if (cage.parts > 1)
        snprintf(buf, size, "swp%us%u", cage.cage, cage.part - 1);
    else
        snprintf(buf, size, "swp%u", cage.cage);
}

static const struct config_can can = {
    .port_maps = true,
    .queue_map = true,
    .one_queue_map = true,
    .port_lossless = true,
    .pfc_one_way = true,
    .xoff = true,
    .alpha_one = true,
    .strict_below = true,
    .mtu_least = NVUE_MTU_MIN + NVUE_MTU_OVER,
    .mtu_most = NVUE_MTU_MAX + NVUE_MTU_OVER,
    .poll_ms = {NVUE_POLL_MIN_MS, NVUE_POLL_MAX_MS},
    .detect_ms = {NVUE_POLL_MIN_MS, NVUE_POLL_MAX_MS *NVUE_ROBUSTNESS_MAX},
    .polls_least = 1,
    .rate_step_bps = NVUE_RATE_STEP,
    .balances = 1u << SW_ADAPTIVE,
};

static const char shows[] = "nv config diff|nv show interface swp1 qos pfc|nv show interface swp1 qos mapping|"
                            "nv show interface swp1 qos egress-scheduler|nv show interface swp1 qos congestion-control|"
                            "nv show interface swp1 counters qos|nv show interface swp1 qos pfc-watchdog";

static const char chips[] = "spectrum generic";

const struct config_format config_nvue = {
    .name = "nvue",
    .suffix = "yaml",
    .comment = "#",
    .shows = shows,
    .chips = chips,
    .can = &can,
    .guess = guess,
    .import = nvue_import,
    .emit = nvue_emit_yaml,
    .port_name = port_name,
    .commands = &config_nvue_set,
    .mtu_over = NVUE_MTU_OVER,
    .fix = nvue_fix,
    .mends = MEND_NV,
    .fix_how = "then `nv config apply`",
};

/* The same as commands; reading tells them apart by itself. */
const struct config_format config_nvue_set = {
    .name = "nvue-set",
    .suffix = "txt",
    .comment = "#",
    .shows = shows,
    .chips = chips,
    .can = &can,
    .import = nvue_import,
    .emit = nvue_emit_commands,
    .port_name = port_name,
};
