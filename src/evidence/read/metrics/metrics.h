/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that read Prometheus' text and OpenMetrics: a sample, and what is kept until the end of a file.
 */
#ifndef ROCELAB_EVIDENCE_READ_METRICS_METRICS_H
#define ROCELAB_EVIDENCE_READ_METRICS_METRICS_H

#include "evidence/drops.h"
#include "evidence/read/reader.h"

#define METRICS_LABELS 48
#define METRICS_TEXT 4096 /* of all labels of a sample, without escapes */

/* How labels name the object. */
enum metric_object {
    METRIC_SWITCH, /* switch, port ("leaf0:3"), priority */
    METRIC_LINK,   /* port ("leaf0:3", "h0:1") */
    METRIC_NIC,    /* device ("h0:1", or "mlx5_0" of a host), port ("1"), priority */
    METRIC_NETDEV, /* device ("eth0") of a host */
    METRIC_SONIC,  /* device ("Ethernet0"), queue */
    METRIC_GNMI,   /* source ("leaf0:57400"), interface_name */
    METRIC_JOB,    /* job_name */
    METRIC_RANK,   /* job_name, rank, gpu ("h0:3") */
    METRIC_GPU,    /* Hostname, gpu ("3") */
    METRIC_OBJECTS,
};
struct metric_name {
    const char *name;
    uint8_t object;  /* enum metric_object */
    uint8_t counter; /* enum evidence_counter */
    double scale;
    const char *label, *is; /* of series with this label alone; NULL: of all */
};
extern const struct metric_name metric_names[]; /* ends with name NULL */

/* One line of the text. */
struct sample {
    struct text_field name;
    uint32_t labels;
    struct {
        const char *key, *value; /* terminated, into text */
    } label[METRICS_LABELS];
    char text[METRICS_TEXT];
    bool whole; /* value is `number`, else `real` */
    uint64_t number;
    double real;
    bool timed;
    double at_s;
};
/* False: the line is no sample, or a broken one. */
bool sample_parse(struct sample *sample, const char *line, const char *end);
/* "" where there is none. */
const char *sample_label(const struct sample *sample, const char *key);

/* Of a port, what is put together at the end. */
struct metrics_port {
    bool drops;
    uint64_t line_bytes;
    double busy_s, speed;
    double first_s, last_s;
    struct {
        uint64_t by[DROPS_REASONS], of[EVIDENCE_PRIORITIES];
    } first, last;
};

struct metrics {
    struct reading *in;
    struct evidence *evidence;
    struct metrics_port *port; /* by object */
    uint32_t ports;
    uint8_t lossless;
    bool since_begin;                                     /* counters were 0 at time 0 */
    const char *owner[METRIC_OBJECTS][EVIDENCE_COUNTERS]; /* the name that a counter is read from */
};
/* objects.c: the object that a sample is of; EVIDENCE_NONE: its labels do not say. */
uint32_t metrics_object(struct metrics *metrics, const struct sample *sample, enum metric_object kind,
                        unsigned *priority);
/* A port by its whole name ("leaf0:3"). */
uint32_t metrics_port_named(struct metrics *metrics, const char *name);
/* The host that a sample is of: its own labels, the folder's name, else "host". */
uint32_t metrics_host(struct metrics *metrics, const struct sample *sample);
/* At the time of the reading's source, after the 0 at time 0 where counters began with that. */
void metrics_put(struct metrics *metrics, uint32_t object, unsigned priority, enum evidence_counter counter,
                 const struct sample *sample, double scale);

/* special.c: metrics that are more than a value of an object.  False: it is none of them. */
bool metrics_special(struct metrics *metrics, const struct sample *sample);
void metrics_finish(struct metrics *metrics);
/* nccl.c: the same of NCCL's */
bool metrics_nccl(struct metrics *metrics, const struct sample *sample);

#endif
