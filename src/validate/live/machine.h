/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of this machine, for the rows of --live, and which machine it is.
 */
#ifndef ROCELAB_VALIDATE_LIVE_MACHINE_H
#define ROCELAB_VALIDATE_LIVE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "diagnose/baseline.h"
#include "validate/case.h"

#define LIVE_PATH 256
#define LIVE_PATIENCE_NS (UINT64_C(30) * 1000000000)
#define LIVE_BUSY_MOST 0.1 /* of the processors, that others may use where time is measured */
#define LIVE_UNSTEADY 0.05 /* deviation of the yardstick over its mean, from which slow figures say nothing */

/* A folder in /tmp; false: there is none.  It is removed with these files of it; NULL ends the list. */
bool machine_open(char folder[LIVE_PATH]);
void machine_close(const char *folder, const char *const *files);
/* This program with these words; output into a file of the folder, errors there too where `errors` is NULL.  -1: it
 * cannot be started. */
pid_t machine_start(const char *folder, const char *output, const char *errors, const char *const *argument);
/* Its exit status; -1: it was ended, by a signal or because the time was over. */
int machine_finish(pid_t pid, uint64_t until_ns);
/* What it wrote, to be freed; NULL: no memory. */
char *machine_output(const char *folder, const char *name, size_t *ret_length);
void machine_pause(void);

/* Which machine it is, as a baseline keeps it; the texts are in `ret`. */
#define MACHINE_NAME 128
struct machine_name {
    char cpu[MACHINE_NAME], kernel[MACHINE_NAME];
};
struct baseline_machine machine_name(struct machine_name *ret);

struct machine_watch {
    double used, all, own; /* processor time in ticks: of everybody, that there was, of programs started here */
    bool known;
};
void machine_watch(struct machine_watch *watch);
/* Share of the processors that others used since; of programs started here those count that have ended. */
double machine_others(const struct machine_watch *since);

/* steady.c: copies in memory on two processors for a moment, a yardstick between runs of programs; zeroed at first. */
struct machine_steady {
    double sum, squares;
    uint32_t looks;
};
void machine_steady_look(struct machine_steady *steady);
double machine_deviation(const struct machine_steady *steady); /* over the mean; 0 before the second look */

/* perftest's last row of output: bytes, iterations, then figures; the one asked for, from 0.  0: there is none. */
double machine_figure(const char *folder, const char *output, int which);

#endif
