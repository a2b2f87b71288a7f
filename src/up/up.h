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

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/time.h"
#include "fabric/names.h"
#include "sim/sim.h"
#include "up/control.h"

struct fabric;
struct fabric_errors;

struct up_options {
    struct sim_options sim;
    const char *name;               /* of the fabric; its socket is named so */
    bool real;                      /* the real clock ... */
    uint32_t dilation;              /* ... this many times slower; 1: as it is */
    uint32_t programs;              /* time begins when so many have attached; 0: with the first, or with the script */
    bool record;                    /* keep every message that programs post, for up_record() */
    bool spin_proof;                /* off: loops on memory are not looked at */
    bool audit;                     /* what a program did is told when it ends */
    uint32_t turn_limit_s;          /* a program that keeps its turn so long (real time) is named; 0: never */
    const struct up_script *script; /* that fits; NULL: programs come by themselves */
    control_answer *answer;         /* to who asks from outside */
    void *answer_context;
    const struct up_port_option *port; /* real clock alone */
    uint32_t ports;
    const char *runner;                /* path of `rocelab`: its `run --fabric` starts the script's programs */
    const volatile sig_atomic_t *stop; /* not 0: nobody is waited for any more; NULL: never */
    void (*say)(const char *text);     /* a line for people, at once */
};

struct up_program { /* of the report */
    const char *host, *command;
    char *const *word; /* of it, where the script has it; NULL */
    pid_t pid;
    ps_t start, end;     /* PS_NEVER: it has not ended */
    int exit;            /* where we started it: its status, 128 and the signal that ended it; else -1 */
    int signal;          /* that signal; 0: none */
    int output[2];       /* what it wrote, where we started it: descriptors of files; -1 */
    bool attached, late; /* late: fabric time had begun, and no script asked for it */
};

/* A port of the fabric that is an interface of this machine: the host is then whatever is behind it. */
struct up_port_option {
    char port[FABRIC_NAME]; /* h7, or h7:1 where the host has several adapters */
    const char *interface;
};
struct up_port_counts {
    uint64_t in_frames, in_bytes;   /* have come from the interface, and wait for the port or have entered the fabric */
    uint64_t out_frames, out_bytes; /* have left by it */
    uint64_t in_pauses, out_pauses;
    /* lost */
    uint64_t late;    /* in the kernel: this machine read too late */
    uint64_t full;    /* came faster than the port sends, or while it was paused or down */
    uint64_t refused; /* the interface did not take them */
    uint64_t unknown; /* for the interface, where nobody has shown a MAC address yet */
    uint64_t wrong;   /* malformed; RoCE for a host of ours with a wrong ICRC or P_Key, or for a job's queue pair */
    uint64_t
        not_carried; /* broadcasts, IPv6, addresses that nobody in the fabric has, sources that are not the host's */
};
struct up_port_result { /* of the report */
    uint32_t endpoint;
    const char *interface;
    struct up_port_counts counts;
};

struct up_flow_result {      /* of the report: a queue pair of a program, from one connection to the next */
    uint32_t endpoint, peer; /* peer UINT32_MAX: datagrams, to several */
    uint32_t qpn, remote_qpn;
    pid_t pid; /* of its program */
    const char *command;
    uint64_t messages, bytes; /* posted */
    uint64_t failed;          /* completed with an error */
    ps_t first, last;         /* first post, last completion; PS_NEVER */
    uint64_t goodput_bps;     /* bytes over the time between them; 0: not known */
};

/* script.c: lines `HOST [after TIME]: COMMAND` and `at TIME: FAULT`. */
struct up_command {
    const char *host;
    ps_t at;
    const char *text; /* as written */
    char **word;      /* of it; NULL last */
    char *copy;       /* private */
    uint32_t line;
};
struct up_fault { /* fabric_faults_add() takes both */
    const char *text;
    ps_t at;
    uint32_t line;
    uint32_t first; /* of the fabric's faults; set by up_script_fit() */
};
struct up_script {
    struct up_command *command;
    uint32_t commands;
    struct up_fault *fault;
    uint32_t faults;
    char *text; /* private */
};
/* 0; -EINVAL with errors (their path is the script's; the lines that are right are there), -ENOMEM.  The fabric is not
 * looked at. */
int up_script_parse(const char *path, const char *text, struct up_script *ret, struct fabric_errors *errors);
/* Its hosts are looked for in the fabric, and its faults become the fabric's: before up_create().  Errors are added to
 * those that are there; 0, -EINVAL, -ENOMEM. */
int up_script_fit(struct up_script *script, struct fabric *fabric, struct fabric_errors *errors);
void up_script_free(struct up_script *script);

/* folder.c: where fabrics that are up have their sockets. */
#define UP_PATH 108 /* of a socket's name */
/* In the n-th folder, which is made if it is not there.  -ENOENT: there are fewer; -EACCES: it cannot be ours; -EPERM:
 * it is open to others; -ENAMETOOLONG; -EINVAL: a name with a slash. */
int up_path_make(const char *name, unsigned n, char ret[UP_PATH]);
void up_folder_clean(void); /* sockets of fabrics that were killed */
/* The socket of every fabric that is up.  Ends with what is not 0. */
typedef int up_visit(void *context, const char *path);
int up_each(up_visit *visit, void *context);
/* The socket of the fabric of this name, or of the only one that is up; a name with a slash is the path itself.
 * -ENOENT: none (of that name) is up; -EEXIST: several are. */
int up_find(const char *name, char ret[UP_PATH]);
void up_name(const char *path, char ret[UP_PATH]); /* of the fabric whose socket it is */

struct up;

int up_create(const struct fabric *fabric, const struct up_options *options, struct up **ret,
              struct fabric_errors *errors);
void up_free(struct up *up);
/* Where programs attach. */
/* Runs for a while; SIM_RUNNING: there is more to do.  Sleeps (at most `patience_ms` of real time) when all that is
 * waited for is outside. */
enum sim_state up_advance(struct up *up, int patience_ms);
struct sim *up_sim(struct up *up);
/* Real clock: how long fabric time has stood still, of how long the fabric has been up, in ns. */
void up_stood_still(const struct up *up, uint64_t *ret_stood_ns, uint64_t *ret_ns);
uint32_t up_programs(const struct up *up, struct up_program *ret, uint32_t most);
/* Those that have sent something, by host and in the order they were made. */
uint32_t up_flows(const struct up *up, struct up_flow_result *ret, uint32_t most);
uint32_t up_ports(const struct up *up, struct up_port_result *ret, uint32_t most);
/* What programs posted, as lines of `flows:`; false: not enough memory. */
bool up_record(const struct up *up, FILE *to);

#endif
