/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence: what counters say about a fabric, whoever wrote them down.
 *
 * Every input (a simulation's document, dumps of real switches and hosts, Prometheus' text, live programs) becomes
 * objects (devices, ports, jobs, ranks) and values of them: (object, priority, counter) and what it was at the
 * first and at the last look, with the file and line that say so.  Readers fill it (read/reader.h),
 * evidence_finish() ties ports together, and src/diagnose judges.  Nothing is judged here.
 *
 * Looks are handed in by time, the oldest first.  A counter that went down was reset: what it grew by is counted from
 * there on, and the value says so.
 */
#ifndef ROCELAB_EVIDENCE_EVIDENCE_H
#define ROCELAB_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "fabric/words.h"

struct fabric;

#define EVIDENCE_NONE UINT32_MAX
#define EVIDENCE_NO_PRIORITY 0xff
#define EVIDENCE_PRIORITIES 8
#define EVIDENCE_GROUP_UNSAID "process group" /* name of a job of ranks of which nobody says the group */

enum evidence_counter {
#define COUNTER(id, name, scope, kind, unit, help) EVIDENCE_##id,
#include "evidence/counters.def"
#undef COUNTER
    EVIDENCE_COUNTERS,
};
enum evidence_scope {
    EVIDENCE_DEVICE,
    EVIDENCE_PORT,
    EVIDENCE_PRIORITY,
    EVIDENCE_JOB,
    EVIDENCE_RANK,
    EVIDENCE_SCOPES,
};
enum evidence_kind { EVIDENCE_COUNT, EVIDENCE_LEVEL, EVIDENCE_PEAK };
struct evidence_counter_info {
    const char *name;
    uint8_t scope, kind; /* enum evidence_scope, evidence_kind */
    const char *unit, *help;
};
extern const struct evidence_counter_info evidence_counters[EVIDENCE_COUNTERS];

/* A device, a port of one, a job, a rank of one.  Names of ports are those of the input until evidence_finish(). */
struct evidence_object {
    const char *name;       /* canonical: "leaf0", "leaf0:3", "allreduce", "rank 5" */
    const char *local_name; /* of a port: as its own device calls it ("Ethernet12") */
    uint32_t parent;        /* of a port: its device; of a rank: its job; else EVIDENCE_NONE */
    uint32_t peer;          /* of a port: the port at the other end of its cable; EVIDENCE_NONE: not known */
    uint32_t fabric;        /* node or port of the fabric file; EVIDENCE_NONE: none, or there is no file */
    uint32_t host;          /* of a rank: its NIC's port, or its host; of a job of one host: that; EVIDENCE_NONE */
    uint32_t next;          /* of a device: its first port; of a port: the next of its device; EVIDENCE_NONE: none */
    uint32_t last;          /* of a device: its last port */
    uint32_t neighbour[2];  /* of a port: what LLDP and its description said last, index into neighbour[] plus one */
    uint32_t version;       /* of a device: what is installed, index into version[] plus one; 0: not said */
    uint32_t follows;       /* the object of the same scope that was met next; EVIDENCE_NONE: none */
    uint32_t same_as;       /* of a port met by two names: the one that stands for both; EVIDENCE_NONE */
    uint8_t scope;          /* enum evidence_scope; a port is EVIDENCE_PORT */
    uint8_t role;           /* of a device: enum fabric_role; FABRIC_ROLES: not known */
    bool looked_at;         /* of a device: some counter of it or of its ports was read */
    double seen_s;          /* of a device: when that was, the last time */
    const char *system;     /* of a device: what its texts are of, a name of config_format_find(): "sonic"; NULL */
    const char *program;    /* of a job: what measured it: "allreduce" (nccl-tests), "ib_write_bw"; NULL: not known */
};

/* What one counter of one object said. */
struct evidence_value {
    uint32_t object;
    uint8_t priority;  /* EVIDENCE_NO_PRIORITY: not by priority */
    uint8_t counter;   /* enum evidence_counter */
    bool reset;        /* it went down between two looks */
    bool reset_before; /* at the look before the last */
    bool weak;         /* the last look was offered: another source may know it better */
    bool untimed;      /* of some look nobody says when it was: they are in order, and no time lies between them */
    uint32_t looks;
    uint32_t file, line; /* of the last look; file into evidence.file */
    double first_s, last_s, before_s;
    uint64_t first, last, before; /* before: at the look before the last */
    uint64_t grown,
        grown_before; /* COUNT: sum of what it grew by between looks (of one look: since boot); else: last */
    double real;      /* of what has fractions (BER): the last; else (double)last */
};

/* The simulator knows why a port paused its peer: exact edges of the pause graph. */
struct evidence_pause {
    uint32_t port, paused; /* who paused whom: ports */
    uint32_t cause;        /* port of the same device whose queue was the cause; EVIDENCE_NONE: a host, or not known */
    uint8_t priority;
    uint64_t count, time_ns, passed_on_ns;
};
/* A circle of queues that wait for each other, where the input says so itself. */
struct evidence_circle {
    uint32_t count;
    const uint32_t *port;
    const uint8_t *priority;
    bool ended;
};
/* A transfer between two NICs, where the input has them: who sends to whom. */
struct evidence_flow {
    uint32_t job, from, to;            /* job object, EVIDENCE_NONE: not known; ports of hosts */
    uint64_t bytes, time_ns, ideal_ns; /* 0: not known */
    uint64_t start_ns;
};
/* What a device said of its neighbour, before it is known whether that is another device of the evidence. */
struct evidence_neighbour {
    uint32_t port; /* object */
    const char *device, *port_name;
    uint32_t file, line;
    bool described; /* by a description that somebody wrote, not by LLDP */
};
/* What is installed on a device, as it says itself. */
struct evidence_version {
    uint8_t part;      /* enum fabric_part */
    const char *where; /* "eth0", of several of a kind; "" */
    const char *text;  /* "28.39.1002" */
    uint32_t file, line;
    uint32_t next; /* of the same device, plus one; 0: none */
};
/* What a log or a state says in words; the same said again is counted. */
enum evidence_event_kind {
#define EVENT(id, name, what) EVIDENCE_EVENT_##id,
#include "evidence/events.def"
#undef EVENT
    EVIDENCE_EVENTS,
};
struct evidence_event_info {
    const char *name, *what;
};
extern const struct evidence_event_info evidence_events[EVIDENCE_EVENTS];
struct evidence_event {
    uint8_t kind;           /* enum evidence_event_kind */
    uint8_t priority;       /* EVIDENCE_NO_PRIORITY: of none */
    uint32_t object;        /* EVIDENCE_NONE: the text does not say of whom */
    const char *from, *to;  /* the ends as the text has them; NULL: not said */
    const char *detail;     /* NULL: no more */
    double first_s, last_s; /* by the clock of the text, whatever it began at; NaN: it has no times */
    uint32_t count;
    uint32_t file, line; /* where it was said first */
};
/* Something that was not understood or is missing: printed, never silently left out. */
struct evidence_remark {
    uint32_t file, line; /* file EVIDENCE_NONE: none */
    const char *text;
    uint32_t alike; /* how many more files the same was said of: evidence_finish() puts that into the text */
};

/* Lines one after another that no reader took; blank ones, prompts, rules of dashes and comments do not count. */
struct evidence_unknown {
    uint32_t file, line; /* where they begin */
    uint32_t lines;
    const char *text;   /* of the first, cut */
    const char *reader; /* kind of the reader whose layout they stand in: it knows the tool, but not them; NULL: none */
};

/* Counters of a device that no reader knows, by one name that speaks of a fault: all of its ports together. */
struct evidence_suspect {
    uint64_t key; /* private */
    uint32_t device, file, line;
    uint32_t looks;
    uint64_t now, before; /* at the last look, and at the one before it */
    double at_s;
    const char *name;
};

struct evidence {
    struct arena arena;
    struct evidence_object *object;
    uint32_t objects;
    uint32_t first[EVIDENCE_SCOPES], latest[EVIDENCE_SCOPES]; /* objects of a scope; EVIDENCE_NONE: none */
    struct evidence_value *value;
    uint32_t values;
    const char **file;
    uint32_t files;
    struct evidence_pause *pause;
    uint32_t pauses;
    struct evidence_circle *circle;
    uint32_t circles;
    struct evidence_flow *flow;
    uint32_t flows;
    struct evidence_neighbour *neighbour;
    uint32_t neighbours;
    struct evidence_version *version;
    uint32_t versions;
    struct evidence_event *event;
    uint32_t events;
    uint64_t events_left_out; /* a log that says more kinds of things than anybody reads */
    struct evidence_remark *remark;
    uint32_t remarks, remarks_left_out;
    struct evidence_unknown *unknown; /* bounded: more are counted */
    uint32_t unknowns, unknowns_left_out;
    struct evidence_suspect *suspect; /* bounded: those of the names met first */
    uint32_t suspects;
    uint64_t lines_taken, lines_unknown; /* of all texts that are lines: those a reader took, those none did */
    const struct fabric *fabric;         /* NULL: none was given */
    double first_s, last_s;              /* of all looks */
    bool untimed;                        /* of some look nobody says when it was */
    bool in_order;  /* nobody says when the look is that is read now: it comes after the ones before it, and its at_s
                     * says no more */
    double clock_s; /* the first date that a text has, from where their times count; NaN: none has one */
    uint32_t looks; /* times at which somebody looked: 1: since boot */
    bool exact;     /* a simulation's own document: pause[] has the causes */
    bool follows;   /* its routes change after a failure */
    bool tied;      /* ports are tied to each other: by the fabric, the document or neighbours */
    const char *broken; /* what is wrong with a simulation's own document; NULL: it is whole */
    uint32_t broken_line;
    size_t memory;                  /* bytes: evidence_bound() */
    bool full;                      /* too much to keep: later values are missing, and a remark says so */
    uint32_t unread;                /* files and folders that could not be read: evidence_unread() */
    const char *first_unread;       /* "PATH: why" */
    struct evidence_tables *tables; /* private */
};

bool evidence_init(struct evidence *evidence); /* false: no memory, and nothing but evidence_release() */
void evidence_release(struct evidence *evidence);
/* Bytes for all of it together, before anything is in it: 1.5 GB where nobody says it.  What does not fit is not read,
 * `full` is set, and a remark says so. */
void evidence_bound(struct evidence *evidence, size_t bytes);

/* Filling: each finds or makes; EVIDENCE_NONE where there is no room.  Names are copied. */
uint32_t evidence_file(struct evidence *evidence, const char *name);
uint32_t evidence_device(struct evidence *evidence, const char *name, size_t length);
uint32_t evidence_port(struct evidence *evidence, uint32_t device, const char *name, size_t length);
/* Another name of the same port ("mlx5_0" of "eth0").  evidence_finish() puts together two that were met already. */
void evidence_alias(struct evidence *evidence, uint32_t port, const char *name, size_t length);
uint32_t evidence_job(struct evidence *evidence, const char *name, size_t length);
uint32_t evidence_rank(struct evidence *evidence, uint32_t job, uint32_t rank);

/* Where a look comes from. */
struct evidence_source {
    uint32_t file, line;
    double at_s;
};
/* Add or overwrite: at the same time the same counter of the same object is set (the last wins, of a PEAK the largest);
 * at a later time it is another look.  evidence_sum() adds to what this look has already (queues of a port, lanes). */
void evidence_set(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t value, const struct evidence_source *source);
/* A counter that was 0 at the first look and is `value` at the last: two looks at once. */
void evidence_grew(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                   uint64_t value, const struct evidence_source *first, const struct evidence_source *last);
/* Several of one object and priority, all of one scope, and each once: counts as evidence_grew() has them, what is no
 * count as it is at the last look. */
struct evidence_said {
    enum evidence_counter counter;
    uint64_t value;
};
void evidence_say(struct evidence *evidence, uint32_t object, unsigned priority, const struct evidence_said *said,
                  uint32_t count, const struct evidence_source *first, const struct evidence_source *last);
void evidence_sum(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t value, const struct evidence_source *source);
/* Sets it only where this look has not said it: a source that knows it less well. */
void evidence_offer(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value, const struct evidence_source *source);
void evidence_set_real(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                       double value, const struct evidence_source *source);
void evidence_add_pause(struct evidence *evidence, const struct evidence_pause *pause);
void evidence_add_circle(struct evidence *evidence, const uint32_t *port, const uint8_t *priority, uint32_t count,
                         bool ended);
void evidence_add_flow(struct evidence *evidence, const struct evidence_flow *flow);
void evidence_add_neighbour(struct evidence *evidence, uint32_t port, const char *device, const char *port_name,
                            const struct evidence_source *source);
/* The same from what somebody wrote into the port's description. */
void evidence_add_description(struct evidence *evidence, uint32_t port, const char *device, const char *port_name,
                              const struct evidence_source *source);
/* The last look counts.  Nothing where there is no device, or no text. */
void evidence_set_version(struct evidence *evidence, uint32_t device, enum fabric_part part, const char *where,
                          const char *text, size_t length, const struct evidence_source *source);
/* Says an event: `count` 0 is once; texts are copied.  One that differs from an earlier one only in its times, file and
 * line is counted there. */
void evidence_add_event(struct evidence *evidence, const struct evidence_event *event);
__attribute__((format(printf, 4, 5))) void evidence_remark(struct evidence *evidence, uint32_t file, uint32_t line,
                                                           const char *format, ...);
/* A line that no reader took.  `more`: it belongs to the one before it, which was of the same reader. */
void evidence_unknown(struct evidence *evidence, const struct evidence_source *source, const char *reader,
                      const char *text, bool more);
/* A number above 0 of a counter that no reader knows. */
void evidence_suspect(struct evidence *evidence, uint32_t device, const char *name, size_t length, uint64_t number,
                      const struct evidence_source *source);
/* A file or folder of the input that could not be read: a remark says why, and what is judged is not whole. */
void evidence_unread(struct evidence *evidence, const char *path, const char *why);
static inline bool evidence_is_whole(const struct evidence *evidence)
{
    return !evidence->full && !evidence->unread;
}
/* A port's peer, where the input itself says it. */
void evidence_tie(struct evidence *evidence, uint32_t a, uint32_t b);

/* Ties ports by the fabric file (may be NULL), then by neighbours; gives canonical names and roles; says in remarks
 * which devices of the fabric were not looked at, and where names cannot be tied. */
void evidence_finish(struct evidence *evidence, const struct fabric *fabric);

/* CHECKs what must hold of all tables after evidence_finish(), which calls it in builds that are not optimized. */
void evidence_audit(const struct evidence *evidence);

/* The port that a neighbour's words mean; EVIDENCE_NONE: no such device or port is known. */
uint32_t evidence_neighbour_port(const struct evidence *evidence, const struct evidence_neighbour *said);

/* Reading.  NULL: nobody said it. */
const struct evidence_value *evidence_find(const struct evidence *evidence, uint32_t object, unsigned priority,
                                           enum evidence_counter counter);
/* Devices and jobs, in the order they were met: from EVIDENCE_NONE on, EVIDENCE_NONE at the end. */
static inline uint32_t evidence_next(const struct evidence *evidence, enum evidence_scope scope, uint32_t after)
{
    return after == EVIDENCE_NONE ? evidence->first[scope] : evidence->object[after].follows;
}
#define EVIDENCE_EACH(evidence, scope, id)                                                                             \
    for (uint32_t id = evidence_next(evidence, scope, EVIDENCE_NONE); id != EVIDENCE_NONE;                             \
         id = evidence_next(evidence, scope, id))
#define EVIDENCE_EACH_PORT(evidence, device, id)                                                                       \
    for (uint32_t id = (evidence)->object[device].next; id != EVIDENCE_NONE; id = (evidence)->object[id].next)
/* Seconds between the first and the last look of a value; 0: there was one, so that it counts since boot, or nobody
 * says when they were. */
static inline double evidence_span_s(const struct evidence_value *value)
{
    return value->untimed ? 0 : value->last_s - value->first_s;
}
/* Between the last two looks of a value, of all looks: likewise. */
static inline double evidence_lately_s(const struct evidence_value *value)
{
    return value->untimed || value->looks < 2 ? 0 : value->last_s - value->before_s;
}
static inline double evidence_seconds(const struct evidence *evidence)
{
    return evidence->untimed ? 0 : evidence->last_s - evidence->first_s;
}
/* What a counter grew by, a level is; 0 where nobody said it. */
static inline uint64_t evidence_get(const struct evidence *evidence, uint32_t object, unsigned priority,
                                    enum evidence_counter counter)
{
    const struct evidence_value *value = evidence_find(evidence, object, priority, counter);
    return value ? value->grown : 0;
}
static inline bool evidence_is_host(const struct evidence *evidence, uint32_t device)
{
    return evidence->object[device].role == FABRIC_ROLE_HOST;
}
/* The device of a port; of a device itself. */
static inline uint32_t evidence_device_of(const struct evidence *evidence, uint32_t object)
{
    return evidence->object[object].scope == EVIDENCE_DEVICE ? object : evidence->object[object].parent;
}

#endif
