/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that read the simulator's document (cli/fields/run.def): where it is read, and what must wait for
 * its end because keys may come in any order.
 */
#ifndef ROCELAB_EVIDENCE_READ_SIM_DOCUMENT_H
#define ROCELAB_EVIDENCE_READ_SIM_DOCUMENT_H

#include "evidence/read/reader.h"

/* A list that grows. */
struct document_list {
    void *at;
    uint32_t count;
};
struct document_threshold {
    uint32_t set, place; /* place: in the list, of which the last of a set and priority holds */
    uint64_t priority, ecn_min, ecn_max, pause, headroom;
    double alpha; /* of what is free of the buffer; 0: pause has bytes, or it does not pause */
};
struct document_use { /* a port, and which set it has */
    uint32_t port, set;
};
struct document_buffer { /* of a switch */
    uint32_t device;
    uint64_t bytes;
};

struct document {
    struct reading *in;
    struct evidence *evidence;
    struct json_in json;
    double end_s;      /* of virtual time */
    uint64_t end_ps;   /* the same */
    uint8_t lossless;  /* bit p: a class of this priority is */
    unsigned overhead; /* of a frame on the line, beside what counters of bytes have */
    char text[256];    /* of the value at hand */
    struct document_list thresholds, uses, buffers;
};

/* Room for one more; NULL: no memory. */
void *document_more(struct document_list *list, size_t size);

/* In an object: the next member, false at its end.  A member that begins an array or object must be read or skipped by
 * the caller. */
bool document_member(struct document *document, enum json_token *token);
/* The next one that is no array or object: those are passed over. */
bool document_value(struct document *document);
/* In an array: the next element that is an object; others are passed over. */
bool document_object(struct document *document);
/* Passes over what the token began. */
void document_pass(struct document *document, enum json_token token);

bool document_u64(const struct document *document, const char *key, uint64_t *value);
bool document_ps(const struct document *document, const char *key, uint64_t *ns);
bool document_real(const struct document *document, const char *key, double *value);
/* The string at hand; "" where it is none.  Valid until the next. */
const char *document_text(struct document *document);
/* The port that the string at hand names ("leaf0:3"); EVIDENCE_NONE: it names none. */
uint32_t document_port(struct document *document);
/* The text of a member of the object that was just begun, wherever it stands in it; "" where there is none. */
const char *document_peek(struct document *document, const char *key);
uint32_t document_peek_port(struct document *document, const char *key);

/* At the end of the run; of a counter that was 0 at its beginning. */
void document_level(struct document *document, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value);
void document_count(struct document *document, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value);
/* Likewise, where two parts of the document may say it: the larger holds. */
void document_count_most(struct document *document, uint32_t object, unsigned priority, enum evidence_counter counter,
                         uint64_t value);

/* ports.c: behind the key of the list */
void document_ports(struct document *document);
void document_nics(struct document *document);
void document_thresholds(struct document *document);
/* ... and what ports have of thresholds and classes, once all is read */
void document_limits(struct document *document);

/* jobs.c */
void document_jobs(struct document *document);
void document_training(struct document *document);
void document_flows(struct document *document);
void document_queue_pairs(struct document *document);

#endif
