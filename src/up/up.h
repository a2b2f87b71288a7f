/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that is up: a simulation whose hosts have programs.
 *
 * One process runs the engine with all switches, links, faults and adapters; programs attach through shared memory
 * (attach/protocol.h) and are part of their host's node.  With the virtual clock they live in fabric time and the
 * result is exact; with the real clock fabric time follows the wall clock and stands still when it cannot.
 */
#ifndef ROCELAB_UP_UP_H
#define ROCELAB_UP_UP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"
#include "fabric/fabric.h"
#include "sim/sim.h"

struct up_options {
    struct sim_options sim;
    const char *name;      /* of the fabric; its socket is named so */
    bool real;             /* the real clock ... */
    uint32_t dilation;     /* ... this many times slower; 1: as it is */
    uint32_t programs;     /* time begins when so many have attached; 0: with the first, or with the script */
    bool spin_proof;       /* off for debuggers */
    uint32_t turn_limit_s; /* a program that keeps its turn so long (real time) is named; 0: never */
};

struct up_program { /* of the report */
    const char *host, *command;
    pid_t pid;
    ps_t start, end;     /* PS_NEVER: it has not ended */
    int exit;            /* as waitpid() says where we started it, else -1 */
    bool attached, late; /* late: fabric time had begun, and no script asked for it */
};

struct up;

int up_create(const struct fabric *fabric, const struct up_options *options, struct up **ret,
              struct fabric_errors *errors);
void up_free(struct up *up);
/* Where programs attach. */
const char *up_socket(const struct up *up);
/* Runs for a while; SIM_RUNNING: there is more to do.  Sleeps (at most `patience_ms` of real time) when all that is
 * waited for is outside. */
enum sim_state up_advance(struct up *up, int patience_ms);
struct sim *up_sim(struct up *up);
uint32_t up_programs(const struct up *up, struct up_program *ret, uint32_t most);

#endif
