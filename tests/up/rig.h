/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in the test's own address space, attached to a real simulation: they fill requests and the ring of posts as
 * the library would, and read what the fabric writes.  No thread of theirs runs; a test is the program.
 */
#ifndef ROCELAB_TESTS_UP_RIG_H
#define ROCELAB_TESTS_UP_RIG_H

#include "sim/sim.h"
#include "up/objects/objects.h"

#define RIG_PROGRAMS 3 /* the first on h0, the others on h1 */
#ifndef RIG_MEMORY
#define RIG_MEMORY (4u << 20)
#endif

struct program {
    struct up_process process;
    uint8_t *memory; /* RIG_MEMORY bytes */
    uint64_t taken;  /* of the segment */
    unsigned told;   /* turn_event() */
    uint32_t key;    /* of all its memory */
    int last_fd;     /* the eventfd that was taken last */
    struct attach_request request;
    bool asks, ends; /* in its host's next turn: the request to its connection manager; its end */
};

struct rig {
    struct fabric *fabric;
    struct sim *sim;
    struct up up;
    struct up_host host[3]; /* the last has no program */
    uint32_t pairs[3];      /* of jobs */
    struct program program[RIG_PROGRAMS];
};

struct cq { /* as a program has it */
    struct program *program;
    uint32_t number;
    struct attach_ring *ring;
    struct attach_cqe *entry;
    uint32_t mask;
};

/* Three hosts, a leaf; `nics` is what the file says of them.  Every program has opened its adapter, and has a key for
 * all its memory. */
void rig_open(struct rig *rig, const char *nics);
/* CHECKs that nothing is left of any program. */
void rig_close(struct rig *rig);
void rig_run(struct rig *rig); /* until nothing more happens */

/* A request with `data`, which is answered in program->request: the result. */
int ask_cm(struct rig *rig, struct program *program, uint32_t op, const void *data, size_t bytes); /* and runs */
int ask(struct program *program, uint32_t op, uint32_t object, const void *data, size_t bytes);
uint32_t make_region(struct program *program, uint32_t access);
struct cq make_cq(struct program *program, uint32_t entries, uint32_t channel);
/* Number of the queue pair. */
uint32_t make_qp(struct program *program, uint8_t transport, const struct cq *cq, uint32_t srq);
struct device_path path_to(const struct rig *rig, uint32_t host);
void connect_qp(struct program *program, uint32_t qpn, const struct device_path *path, uint32_t remote_qpn);
/* The next completion that the program has not polled; false: none. */
bool next_completion(struct cq *cq, struct nic_cqe *ret);
void expect_completion(struct cq *cq, uint64_t wr_id, enum nic_status status);
bool next_event(struct program *program, struct attach_event *ret);

/* Room for a record in the ring of posts, filled as `post` says, with its list or `data` behind it. */
struct attach_post *put_record(struct program *program, const struct attach_post *post, const void *behind,
                               size_t bytes);
void post_send(struct program *program, uint32_t qpn, struct nic_wr wr, const struct device_sge *sge, uint32_t sges);
void post_receive(struct program *program, uint32_t qpn, uint64_t wr_id, struct device_sge sge);
struct device_sge sge_of(const struct program *program, uint64_t offset, uint32_t bytes);

#endif
