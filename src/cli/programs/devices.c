/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab devices: what a program under `rocelab run` would find.
 */
#include "cli/cli.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "report/json_out.h"
#include "report/rows/rows.h"

static const struct cli_command command = {
    .verb = "devices",
    .operands = "",
    .about =
        "Lists the RDMA devices that a program under `rocelab run` finds: one for each network interface that is up "
        "and has an address; the loopback where there is no other. ROCELAB_DEVICE chooses and names them.",
};

static const char *address_text(const struct device_gid *gid, char buf[INET6_ADDRSTRLEN])
{
    struct in6_addr whole;

    memcpy(&whole, gid->addr.byte, sizeof whole);
    return IN6_IS_ADDR_V4MAPPED(&whole) ? inet_ntop(AF_INET, &gid->addr.byte[12], buf, INET6_ADDRSTRLEN)
                                        : inet_ntop(AF_INET6, &whole, buf, INET6_ADDRSTRLEN);
}

static void print_text(const struct device_info *device, unsigned count, bool quiet, FILE *out)
{
    char rate[UNIT_TEXT], address[INET6_ADDRSTRLEN];

    if (!quiet && count > 0)
        fprintf(out, "%-12s %-12s %-6s %6s %8s  %s\n", "device", "interface", "state", "MTU", "rate", "GIDs");
    for (unsigned i = 0; i < count; i++) {
        const struct device_info *d = &device[i];

        if (quiet) {
            fprintf(out, "%s\n", d->name);
            continue;
        }
        unit_format(UNIT_RATE, d->line_bps, rate);
        fprintf(out, "%-12s %-12s %-6s %6u %8s ", d->name, d->ifname, d->up ? "up" : "down", d->if_mtu, rate);
        for (unsigned g = 0; g < d->gids; g++)
            fprintf(out, " %s%s", address_text(&d->gid[g], address), d->gid[g].net == PKT_NET_V1 ? " (v1)" : "");
        fputc('\n', out);
    }
}

static void json_gid(struct jout *jout, const struct device_info *d, unsigned g)
{
    char address[INET6_ADDRSTRLEN];

    jout_open(jout, NULL, '{');
    jout_u64(jout, "index", g);
    jout_text(jout, "address", address_text(&d->gid[g], address));
    jout_text(jout, "type", d->gid[g].net == PKT_NET_V1 ? "RoCE v1" : "RoCE v2");
    jout_close(jout);
}

static void print_json(const struct device_info *device, unsigned count, FILE *out)
{
    char guid[24];
    struct jout *jout = jout_begin(out, "devices");

    jout_open(jout, "devices", '[');
    for (unsigned i = 0; i < count; i++) {
        const struct device_info *d = &device[i];

        snprintf(guid, sizeof guid, "%016llx", (unsigned long long)d->guid);
        jout_open_line(jout, NULL, '{');
#include "report/rows/device.def"
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}

int verb_devices(int argc, char **argv, FILE *out)
{
    struct device_info *device;
    struct cli_common common;
    unsigned count;
    int first, answer = cli_options(&command, argc, argv, out, &common, NULL, &first);

    if (answer != CLI_GO) return answer;
    if (first < argc) return cli_wrong("devices: takes no operands");
    answer = device_list(&device, &count);
    if (answer < 0) return cli_wrong("devices: %s", strerror(-answer));
    if (common.json)
        print_json(device, count, out);
    else
        print_text(device, count, common.quiet, out);
    if (count == 0) cli_error("devices: no interface is up and has an address (or ROCELAB_DEVICE names none)");
    free(device);
    return count > 0 ? CLI_DONE : CLI_PROBLEMS;
}
