/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocelab: a fabric file, run in virtual time by a program of your own.
 *
 * Open a file, advance it, look at ports between two steps, pull a cable, read the results.  What runs is what
 * `rocelab sim` runs: the same file, seed and version give the same digest, for any number of threads and however
 * often it was stopped to look.  docs/library.md has an example in C and one in Python.
 *
 * Functions answer 0 or -errno, and touch what `ret_*` points to only as documented.  Times are picoseconds of virtual
 * time.  Each `struct rocelab` stands alone: several may run at once in threads of their own, but one is used by one
 * thread at a time.  The library reads no clock, starts no program, opens no file but the fabric's (and traces that it
 * names), and prints nothing.  A state that cannot be, a bug, ends the process with a message on standard error.
 *
 * Until version 1.0 these functions may change between minor versions.
 */
#ifndef ROCELAB_ROCELAB_H
#define ROCELAB_ROCELAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROCELAB_NEVER UINT64_MAX /* a time that is not reached */
#define ROCELAB_NAME 96          /* bytes that any name of a port takes, its zero included */

struct rocelab;

/* A value of the file replaced, as `rocelab sweep --vary` names it: {"classes.rdma.ecn.min", "200KB"}, {"seed", "7"}
 * (the file's seed, which placement and the switches' hashes follow too; `sim --seed` leaves these as they are). */
struct rocelab_setting {
    const char *path, *value;
};

enum rocelab_state {
    ROCELAB_RUNNING,
    ROCELAB_DONE,     /* every job has ended */
    ROCELAB_UNTIL,    /* the time asked for was reached */
    ROCELAB_STUCK,    /* jobs are unfinished, and nothing will ever happen */
    ROCELAB_DEADLOCK, /* queues wait for each other in a circle that nothing will break */
    ROCELAB_FAILED,   /* some jobs were given up; every other one has ended */
};

/* What a port holds and has sent by now. */
struct rocelab_port {
    uint64_t queue_bytes; /* waiting to leave, all priorities together */
    uint64_t line_bytes;  /* sent since the start, preambles and gaps included */
    uint64_t paused_ps;   /* the sum over priorities of the time that the peer had paused it */
    uint32_t paused;      /* bit p: priority p is paused now */
};

const char *rocelab_version(void);

/*
 * Reads the fabric file `path`, or `text` under that name where it is not NULL, with some values replaced, and builds
 * its machines for that many threads (0: one).  On failure *ret_message is what is wrong, a line an error,
 * `file:line:column: error: ...` (NULL where memory ran out); free it with rocelab_text_free().  ret_message may be
 * NULL.
 */
int rocelab_open(const char *path, const char *text, const struct rocelab_setting *settings, size_t count,
                 uint32_t threads, struct rocelab **ret, char **ret_message);
void rocelab_close(struct rocelab *lab); /* NULL: nothing is done */
void rocelab_text_free(char *text);

/* Runs every event before `until_ps`; ROCELAB_NEVER: to the end, or to the `stop` of the file.  What ROCELAB_UNTIL
 * stopped goes on with the next call. */
enum rocelab_state rocelab_advance(struct rocelab *lab, uint64_t until_ps);
/* A fault in the words of the file, now or at the time that it says: "down leaf0:3 for 5ms".  0, -EINVAL with a
 * message as above; after -ENOMEM nothing but rocelab_close() is left to do. */
int rocelab_fault(struct rocelab *lab, const char *fault, char **ret_message);

/* Over every delivery on every link so far. */
uint64_t rocelab_digest(struct rocelab *lab);
uint64_t rocelab_now_ps(const struct rocelab *lab);
uint64_t rocelab_packet_hops(const struct rocelab *lab);

/* Ports of hosts and switches are numbered from 0. */
uint32_t rocelab_ports(const struct rocelab *lab);
/* "leaf0:3".  0, -EINVAL: no such port. */
int rocelab_port_name(const struct rocelab *lab, uint32_t port, char ret[ROCELAB_NAME]);
/* 0, -ENOENT: no port has this name. */
int rocelab_port_find(const struct rocelab *lab, const char *name, uint32_t *ret);
/* 0, -EINVAL: no such port. */
int rocelab_port_sample(struct rocelab *lab, uint32_t port, struct rocelab_port *ret);

/* The names that rocelab_measure() knows, from 0; NULL behind the last.  They are those of `sweep --show`. */
const char *rocelab_measure_name(size_t index);
const char *rocelab_measure_help(size_t index);
/* One figure of the run so far: seconds, bytes, bytes a second, shares and ratios as numbers, counts.  0, -ENOENT: no
 * such measure, -ENODATA: this run has none, -ENOMEM. */
int rocelab_measure(struct rocelab *lab, const char *name, double *ret);
/* The document of `rocelab sim --json` (docs/json.md), but for the clock's figures, which are 0. */
int rocelab_json(struct rocelab *lab, char **ret);

#ifdef __cplusplus
}
#endif

#endif
