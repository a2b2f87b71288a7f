/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of what jobs write while they run: which phrase a line has, whose it is, and the ends it names.
 */
#ifndef ROCELAB_EVIDENCE_READ_GPU_JOBS_H
#define ROCELAB_EVIDENCE_READ_GPU_JOBS_H

#include "evidence/read/gpu/gpu.h"

/* What is made of a phrase (phrases.def). */
enum phrase_what {
    PHRASE_NONE,
    PHRASE_NOTHING, /* known, and follows from what stands elsewhere */
    PHRASE_STATUS,  /* a number or a name of a work completion's status is in the line */
    PHRASE_RETRY,
    PHRASE_RNR,
    PHRASE_FLUSHED,
    PHRASE_ACCESS,
    PHRASE_REQUEST,
    PHRASE_LENGTH,
    PHRASE_DISCONNECTED,
    PHRASE_UNREACHABLE,
    PHRASE_NO_RDMA,
    PHRASE_PROGRAM,
    PHRASE_MIXED,     /* InfiniBand and Ethernet adapters together */
    PHRASE_GID_TYPES, /* GIDs of two kinds */
    PHRASE_SILENT,    /* nothing came */
    PHRASE_ASYNC,     /* an event of verbs */
    PHRASE_MODIFY,    /* a queue pair did not become ready */
    PHRASE_MEMORY,    /* a region that was not registered */
    PHRASE_CREATE,    /* an object that was not made */
    PHRASE_CONNECT,   /* a socket that was not connected */
    PHRASE_CLOSED,    /* a connection that ended */
    PHRASE_WAITS,     /* for a peer, by sockets */
    PHRASE_NCCL_GID,  /* a GID that is used, no error */
    PHRASE_CM,        /* an event of rdma_cm */
    PHRASE_TIMEOUT,   /* PyTorch: a collective timed out */
    PHRASE_STUCK,     /* PyTorch: which was asked for last */
    PHRASE_STORE,     /* PyTorch: the store of the ranks' addresses */
    PHRASE_EXIT,      /* how a process ended */
    PHRASE_QP,        /* UCX: the second line of an error */
    PHRASE_PORT,      /* a port's state, of perftest */
    PHRASE_GID_CHANGED,
    PHRASE_DUMP,    /* PyTorch: who said first that a collective timed out */
    PHRASE_DIFFER,  /* PyTorch: ranks of different collectives */
    PHRASE_ABSENT,  /* PyTorch: ranks that did not come */
    PHRASE_ADDRESS, /* a program's own end, with its GID */
};

/* The first phrase of a line, and where it is. */
enum phrase_what phrase_find(const char *line, struct text_field *ret_phrase);

/* What a line says of itself. */
struct job_line {
    struct reading *in;
    const char *line;
    struct text_field phrase;         /* its first */
    uint32_t host;                    /* EVIDENCE_NONE: it does not say */
    uint32_t port;                    /* the adapter that it names; EVIDENCE_NONE */
    struct text_field from, to, peer; /* GIDs or addresses of the two ends; the address by which the peer is called */
};
void job_line_init(struct job_line *of, struct reading *in, const char *line, const struct text_field *phrase);
/* The adapter, else the host; EVIDENCE_NONE where there is none. */
static inline uint32_t job_line_object(const struct job_line *of)
{
    return of->port != EVIDENCE_NONE ? of->port : of->host;
}
/* The same; where nobody says whose a text is, a job by the file's name. */
uint32_t job_line_whose(const struct job_line *of);
void job_line_event(const struct job_line *of, enum evidence_event_kind kind, const char *detail);

/* The word behind a text in a line, without what ends sentences; empty: the text is not there. */
struct text_field word_behind(const char *line, const char *text);
/* A number behind a text. */
bool number_behind(const char *line, const char *text, uint64_t *value);

/* A line of a job's log; false: it has no phrase, or nothing is known of it. */
bool job_line_read(struct reading *in, const char *line);
/* At the end of a text. */
void job_log_end(struct reading *in);
/* Lines of PyTorch. */
bool ranks_timeout(const struct job_line *of);
bool ranks_stuck(const struct job_line *of);
bool ranks_store(const struct job_line *of);
bool ranks_exit(const struct job_line *of);
bool ranks_dump(const struct job_line *of);
bool ranks_differ(const struct job_line *of);
bool ranks_absent(const struct job_line *of);

#endif
