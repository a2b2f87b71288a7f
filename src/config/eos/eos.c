/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS among the formats: how it is recognised and what its ports are called.
 */
#include <stdio.h>
#include <string.h>

#include "config/eos/eos_int.h"
#include "config/fix.h"
#include "config/unsupported.h"
#include "fabric/switches.h"

#define HEAD_BYTES 4096u

/* Every running configuration of EOS begins with its device, in brackets the model and the version. */
static bool has_head(const char *text, size_t length)
{
    static const char head[] = "! device: ";
    const char *device = memmem(text, length < HEAD_BYTES ? length : HEAD_BYTES, head, strlen(head));

    if (device) {
        size_t line = strcspn(device, "\n");
        return memmem(device, line, "EOS-", 4) || memmem(device, line, "(DCS-", 5);
    }
    return lines_begin_with(text, length < HEAD_BYTES ? length : HEAD_BYTES,
                            "! boot system flash:/EOS|!RANCID-CONTENT-TYPE: arista") > 0;
}

static int guess(const char *text, size_t length)
{
    static const char own[] =
        "qos profile |qos map dscp |qos map traffic-class |service-profile |uc-tx-queue |tx-queue |"
        "priority-flow-control pause |priority-flow-control priority |priority-flow-control all off|"
        "platform trident |platform sand |random-detect ecn minimum-threshold|interface Management1|"
        "transceiver qsfp|service routing protocols model|vrf instance |interface Port-Channel|daemon TerminAttr|"
        "management api http-commands|ip load-sharing trident |hardware counter feature |"
        "error-correction encoding ";
    static const char others[] = "policy-map type network-qos|class type queuing|system qos|set qos-group|{";

    return has_head(text, length) ? 95 : lines_guess(text, length, own, others);
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    struct config_cage cage;

    if (!config_cage(fabric, port, &cage)) {
        snprintf(buf, size, "Ethernet%u", fabric_port_number(fabric, port) + 1);
        return;
    }
    /* the first of its lanes */
    snprintf(buf, size, "Ethernet%u/%u", cage.cage, (cage.part - 1) * (cage.lanes / cage.parts) + 1);
}

/* Chips of the Jericho line have other words for it, which no document that was read has. */
bool eos_hashes(const struct fabric_switch *sw)
{
    return strncmp(sw->model, "jericho", 7) != 0;
}

static bool hash_said(const struct fabric_switch *sw)
{
    return eos_hashes(sw) || sw->hash_fields == (SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT);
}

static const struct config_can can = {
    .hash = hash_said,
    .queue_map = true,
    .port_lossless = true,
    .pfc_none = true,
    .pause_all = true,
    .restore = true,
    .action = true,
    .shutdown = true,
    .mtu_least = EOS_MTU_LEAST,
    .mtu_most = EOS_FRAME_MOST,
    .mtu_hole = {EOS_MTU_MOST, EOS_FRAME_MOST},
    .step_ms = 10,
    .poll_ms = {EOS_POLL_LEAST_MS, EOS_POLL_MOST_MS},
    .detect_ms = {EOS_TIMER_LEAST_MS, EOS_TIMER_MOST_MS},
    .restore_ms = {EOS_TIMER_LEAST_MS, EOS_TIMER_MOST_MS},
    .polls_least = 2,
    .rate_step_bps = EOS_RATE_STEP,
};

static const char shows[] =
    "show qos maps|show qos profile summary|show qos interfaces ecn|show priority-flow-control status|"
    "show priority-flow-control counters|show priority-flow-control counters watchdog";

static const char chips[] = "tomahawk trident jericho generic";

const struct config_format config_eos = {
    .name = "eos",
    .suffix = "cfg",
    .comment = "!",
    .shows = shows,
    .chips = chips,
    .can = &can,
    .guess = guess,
    .import = eos_import,
    .emit = eos_emit,
    .port_name = port_name,
    .fix = fix_lines,
    .mends = MEND_BLOCKS,
    .fix_how = "in `configure session`",
};
