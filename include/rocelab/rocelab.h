/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocelab: a fabric file, run in virtual time by a program of your own.
 *
 * Open a file, advance it, look at ports between two steps, pull a cable, read the results.  What runs is what
 * `rocelab sim` runs: the same file, seed and version give the same digest, for any number of threads and however
 * often it was stopped to look.  docs/library.md has an example; docs/python.md is the same for Python.
 *
 * Functions answer 0 or -errno, and touch what `ret_*` points to only as documented.  Times are picoseconds of virtual
 * time.  Each `struct rocelab` stands alone: several may run at once in threads of their own, but one is used by one
 * thread at a time.  The library reads no clock, starts no program, opens no file but the fabric's (and traces that it
 * names), and prints nothing.  A state that cannot be, a bug, ends the process with a message on standard error.
 *
 * docs/compatibility.md says what later versions keep.
 */
#ifndef ROCELAB_ROCELAB_H
#define ROCELAB_ROCELAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROCELAB_NEVER UINT64_MAX /* a time that is not reached */
#define ROCELAB_NONE UINT64_MAX  /* a count, time or flag of a table that there is not */
#define ROCELAB_NAME 96          /* bytes that any name of a port takes, its zero included */
#define ROCELAB_ABI 2            /* of this header; see rocelab_abi() */

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
/* What the library has, one more with each that has more.  A program that was built with this header runs with a
 * library that says ROCELAB_ABI or more, and finds each function in its stanza (lib/rocelab.map), which do not change.
 * Structs grow at their end and say their size; tables get columns, which are found by name. */
uint32_t rocelab_abi(void);

/*
 * Reads the fabric file `path`, or `text` under that name where it is not NULL, with some values replaced, and builds
 * its machines for that many threads (0: one).  On failure *ret_message is what is wrong, a line an error,
 * `file:line:column: error: ...` (NULL where memory ran out); free it with rocelab_text_free().  ret_message may be
 * NULL.
 */
int rocelab_open(const char *path, const char *text, const struct rocelab_setting *settings, size_t count,
                 uint32_t threads, struct rocelab **ret, char **ret_message);
/*
 * The same with more to say.  Zero what is not needed: `struct rocelab_options options = {.size = sizeof options}`.
 * Refused with -EINVAL where the struct is longer than this library's and says something there.
 */
#define ROCELAB_SEEDED 1 /* `seed` is the run's, as of `sim --seed`; else it has the file's */
struct rocelab_options {
    size_t size;
    const char *text; /* NULL: the file's */
    const struct rocelab_setting *settings;
    size_t settings_count;
    uint32_t threads, flags;
    uint64_t seed;
    uint64_t memory_max_bytes;  /* a run that needs more is refused with a message; 0: none is */
    uint64_t sample_ps;         /* ports are looked at so often: table "port_steps", "series" of the JSON; 0: not */
    uint64_t samples_max_bytes; /* then no more samples are kept; 0: 1 GiB */
    uint64_t sample_qps;        /* rate and window of the jobs' first so many queue pairs, too: table "qp_steps" */
};
int rocelab_open_with(const char *path, const struct rocelab_options *options, struct rocelab **ret,
                      char **ret_message);
void rocelab_close(struct rocelab *lab); /* NULL: nothing is done */
/* A congestion control of one's own (rocelab/cc.h) may be loaded from now on where a fabric or a setting names it as
 * `nics.congestion`.  Loaded code can do what the program can: none is because a file says so.  It is loaded once, and
 * what it does wrong ends the process.  By one thread at a time. */
void rocelab_allow_plugin(const char *path);
void rocelab_text_free(char *text);

/* Runs every event before `until_ps`; ROCELAB_NEVER: to the end, or to the `stop` of the file.  What ROCELAB_UNTIL
 * stopped goes on with the next call. */
enum rocelab_state rocelab_advance(struct rocelab *lab, uint64_t until_ps);
/* The same for a while: `windows` of the least latency of a link at most, then ROCELAB_RUNNING: to show progress, or to
 * stop.  What is not looked at in between costs nothing. */
enum rocelab_state rocelab_step(struct rocelab *lab, uint64_t windows, uint64_t until_ps);
/* How far it is.  Set `size` before; 0, -EINVAL. */
struct rocelab_progress {
    size_t size;
    uint64_t now_ps, packet_hops;
    uint32_t jobs, jobs_done; /* repetitions counted */
    uint32_t samples;
    uint32_t samples_full; /* 1: later ones were left out */
};
int rocelab_progress(struct rocelab *lab, struct rocelab_progress *ret);
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

/*
 * Tables: what the run came to so far, in columns.  rocelab_table_name() has their names, from 0; NULL behind the last:
 * "run" (one row), "jobs", "flows", "ports", "priorities", "nics", "port_steps", "qp_steps", "measures", "findings".  A
 * table is a copy; the run may go on or be closed.  Columns are numbered from 0 and are found by name: later versions
 * have more, in any place.  Their names and units are those of the JSON's members.
 */
struct rocelab_table;
enum rocelab_kind {
    ROCELAB_COUNT, /* uint64_t, in the unit that its name ends in; ROCELAB_NONE: there is none */
    ROCELAB_REAL,  /* double; NAN: there is none */
    ROCELAB_TEXT,  /* const char *; NULL: there is none */
    ROCELAB_FLAG,  /* uint64_t: 0, 1, ROCELAB_NONE */
    ROCELAB_NAMES, /* const char *: names, a line each; NULL: there are none */
};
const char *rocelab_table_name(size_t index);
const char *rocelab_table_help(size_t index);
/* 0, -ENOENT: there is no such table, -ENOMEM. */
int rocelab_table(struct rocelab *lab, const char *name, struct rocelab_table **ret);
void rocelab_table_free(struct rocelab_table *table); /* NULL: nothing is done */
size_t rocelab_table_rows(const struct rocelab_table *table);
/* NULL behind the last column. */
const char *rocelab_column_name(const struct rocelab_table *table, size_t column);
const char *rocelab_column_help(const struct rocelab_table *table, size_t column);
enum rocelab_kind rocelab_column_kind(const struct rocelab_table *table, size_t column);
/* 0, -ENOENT. */
int rocelab_column_find(const struct rocelab_table *table, const char *name, size_t *ret);
/* [rows] of counts or flags, of numbers, of texts or names.  They are the table's; NULL: another kind of column. */
const uint64_t *rocelab_column_counts(const struct rocelab_table *table, size_t column);
const double *rocelab_column_reals(const struct rocelab_table *table, size_t column);
const char *const *rocelab_column_texts(const struct rocelab_table *table, size_t column);

/* The document of `rocelab sim --json` (docs/json.md), but for the clock's figures, which are 0. */
int rocelab_json(struct rocelab *lab, char **ret);

#ifdef __cplusplus
}
#endif

#endif
