/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --pcap PORT=FILE[,snap=BYTES][,size=SIZE] of verbs that run a simulation.
 */
#ifndef ROCELAB_CLI_PCAP_H
#define ROCELAB_CLI_PCAP_H

#include <stdbool.h>

#include "fabric/names.h"
#include "packet/capfile/capfile.h"
#include "sim/sim.h"

struct fabric;

#define CLI_PCAPS_MAX 64
struct cli_pcap {
    char port[FABRIC_NAME];
    struct capwriter_name file;
};
struct cli_pcaps {
    struct cli_pcap pcap[CLI_PCAPS_MAX];
    unsigned count;
    bool to_stdout; /* one of them goes to standard output, instead of the report */
};

/* Each is false after a message. */
bool cli_pcap_add(void *pcaps, const char *argument);
bool cli_pcaps_begin(const struct cli_pcaps *pcaps, const struct fabric *fabric, struct sim *sim);
bool cli_pcaps_end(const struct cli_pcaps *pcaps, struct sim *sim);

#endif
