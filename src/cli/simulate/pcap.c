/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of ports of a simulation, as options name them; see pcap.h.
 */
#include "cli/simulate/pcap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "fabric/fabric.h"

static bool to_stdout(const struct cli_pcap *pcap)
{
    return strcmp(pcap->file.path, "-") == 0;
}

bool cli_pcap_add(void *to, const char *argument)
{
    struct cli_pcaps *pcaps = to;
    const char *equals = strchr(argument, '=');
    struct cli_pcap *pcap = &pcaps->pcap[pcaps->count];
    char why[200];

    /* A comma before it: the first `=` is that of a limit, and no port was said. */
    if (equals == NULL || equals == argument || equals[1] == '\0' || equals - argument >= FABRIC_NAME ||
        memchr(argument, ',', (size_t)(equals - argument))) {
        return cli_fail("--pcap '%s': a port and a file, as in leaf0:3=leaf0.pcap", argument);
    }
    if (pcaps->count == CLI_PCAPS_MAX) return cli_fail("--pcap: at most %d ports", CLI_PCAPS_MAX);
    if (capwriter_name_parse(equals + 1, &pcap->file, why, sizeof why) < 0)
        return cli_fail("--pcap '%s': %s", argument, why);
    for (unsigned i = 0; i < pcaps->count; i++) {
        if (strcmp(pcaps->pcap[i].file.path, pcap->file.path) != 0) continue;
        return cli_fail("--pcap: '%s' is named for two ports; each has a file of its own", pcap->file.path);
    }
    snprintf(pcap->port, sizeof pcap->port, "%.*s", (int)(equals - argument), argument);
    if (to_stdout(pcap)) pcaps->to_stdout = true;
    pcaps->count++;
    return true;
}

/* The system whose frames are in the way: the file's, or that of a class. */
static const char *not_written(const struct fabric *fabric)
{
    uint32_t others = fabric_systems_used(fabric) & ~(FABRIC_SYSTEM(FABRIC_ROCEV2) | FABRIC_SYSTEM(FABRIC_ROCEV1));

    for (uint8_t s = 0; s < FABRIC_SYSTEMS; s++)
        if (others & FABRIC_SYSTEM(s)) return fabric_systems[s].name;
    return fabric_system(fabric)->name;
}

bool cli_pcaps_begin(const struct cli_pcaps *pcaps, const struct fabric *fabric, struct sim *sim)
{
    for (unsigned i = 0; i < pcaps->count; i++) {
        const struct cli_pcap *pcap = &pcaps->pcap[i];
        uint32_t port = fabric_find_port(fabric, pcap->port);

        if (port == FABRIC_NONE)
            return cli_fail("--pcap: there is no port '%s'; ports are named as in leaf0:3, adapters as in h0:2",
                            pcap->port);
        if (fabric->port[port].peer == FABRIC_NONE)
            return cli_fail("--pcap: nothing is plugged into port '%s'", pcap->port);
        int error = sim_capture(sim, port, &pcap->file);
        if (error == -EBUSY)
            cli_error("--pcap: the link of port '%s' is captured already", pcap->port);
        else if (error == -EMSGSIZE)
            cli_error("--pcap: packets of more than 4096 bytes of payload (mtu under nics) cannot be captured");
        else if (error == -EPROTONOSUPPORT)
            cli_error("--pcap: frames of system '%s' cannot be captured; those of rocev2 and rocev1 can",
                      not_written(fabric));
        else if (error)
            cli_error("%s: %s", pcap->file.path, strerror(-error));
        if (error) return false;
    }
    return true;
}

static void tell_left_out(const struct cli_pcap *pcap, uint64_t packets)
{
    char text[UNIT_TEXT];

    if (packets == 0) return;
    cli_error("%s: %s are reached, and %" PRIu64 " later packets are not in it; --pcap %s=FILE,size=SIZE sets another "
              "limit, size=0 none, snap=BYTES cuts packets",
              pcap->file.path, unit_format(UNIT_SIZE, pcap->file.size, text), packets, pcap->port);
}

bool cli_pcaps_end(const struct cli_pcaps *pcaps, struct sim *sim)
{
    bool good = true;

    for (unsigned i = 0; i < pcaps->count; i++) {
        uint64_t left_out;
        int error = sim_capture_close(sim, i, &left_out);
        const struct cli_pcap *pcap = &pcaps->pcap[i];
        tell_left_out(pcap, left_out);
        bool left = error == -EPIPE && to_stdout(pcap); /* whoever read it has what they wanted */
        if (error && !left)
            cli_error("%s: %s", to_stdout(pcap) ? "standard output" : pcap->file.path, strerror(-error));
        if (error) good = false;
    }
    return good;
}
