/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric with programs: what its files share.
 *
 * Who may touch what: a host and its processes belong to the thread that visits the host; between windows all belongs
 * to the coordinator (up.c).  Nothing here is locked.  What goes from one host to another (streams) waits in a box of
 * the sending host until the coordinator carries it.
 */
#ifndef ROCELAB_UP_UP_INT_H
#define ROCELAB_UP_UP_INT_H

#include "attach/protocol.h"
#include "engine/engine.h"
#include "plant/plant.h"
#include "sim/programs.h"
#include "up/up.h"

struct up_host;
struct up_process;
struct up_device;  /* objects.h: an adapter as one process has it: queue pairs, queues, memory */
struct up_streams; /* stream.c: sockets of one host */
struct up_cm;      /* cm.c: QP1 of one host */

enum up_thread_state {
    UP_NONE,
    UP_STARTS, /* its first turn is due */
    UP_RUNS,
    UP_POLLS,
    UP_SPINS,
    UP_WAITS,
    UP_SLEEPS,
    UP_ENDED,
};

struct up_thread {
    struct up_process *process;
    struct attach_thread *shared;
    enum up_thread_state state;
    ps_t clock;       /* the fabric's copy of shared->now, never taken back */
    ps_t due;         /* when it has its next turn; PS_NEVER */
    bool waits_event; /* UP_WAITS: completions count */
};

struct up_process {
    struct up *up;
    struct up_host *host;
    uint32_t number;
    pid_t pid;
    int socket, pidfd; /* -1: none */
    uint8_t *segment;
    struct attach_head *head; /* its beginning */
    uint64_t segment_used;    /* given out by segment_take() */
    int adopted_fd;
    struct up_thread *thread[ATTACH_THREADS]; /* NULL: never was */
    uint32_t threads;                         /* the highest that was, and one */
    struct up_device *device[ATTACH_NICS];    /* NULL: not opened */
    uint32_t posts_head;                      /* the ring of posts, in bytes: ours; the program sees a copy */
    char command[256];
    ps_t start, end; /* PS_NEVER: it has not */
    int exit;        /* waitpid()'s; -1: not known */
    bool gone;       /* its objects are destroyed; the record stays for the report */
    bool late, scripted;
    struct up_process *next; /* of the host's */
};

struct up_host {
    struct up *up;
    uint32_t number;
    struct node_host *node;
    struct up_process *processes;
    struct up_streams *streams;
    struct up_cm *cm;
    ps_t now; /* of the visit that runs */
};

struct up {
    const struct fabric *fabric;
    struct up_options options;
    struct sim *sim;
    struct sim_programs hooks;
    struct attach_costs cost; /* what each segment's head shows */
    struct up_host *host;     /* [fabric->hosts] */
    uint32_t processes;       /* numbers given */
    uint32_t alive;           /* atomic */
    int listen_fd, epoll_fd;
    char *socket_path;
    uint8_t *payload; /* payload.c: by packet */
};

/* session.c: programs come and go; between windows, or while one program waits for another to attach */
int session_listen(struct up *up); /* -errno */
void session_close(struct up *up);
/* Takes whoever waits at the socket.  now: what a program's clock begins with. */
void session_accept(struct up *up, ps_t now);
/* Waits (real time) for the child or new image of a process that has the turn; false: it is dead, or unmanaged. */
bool session_await(struct up_process *process, ps_t now);
void session_end(struct up_process *process, ps_t now, struct node_io *io); /* it has ended, or was killed */
/* Memory of the segment, zeroed, aligned to lines; its offset, or 0: none left.  Given back by size. */
uint64_t segment_take(struct up_process *process, uint64_t bytes);
void segment_give(struct up_process *process, uint64_t offset, uint64_t bytes);
/* Descriptors that came on the socket ahead of a request.  -errno */
int session_take_fd(struct up_process *process);
int session_give_fd(struct up_process *process, int fd);

/* turn.c */
ps_t turn_next(const struct up_host *host);
void turn_run(struct up_host *host, ps_t now, struct node_io *io);
/* Something was completed or arrived in a process's memory at `now`: who polls or spins in it is due, and who waits
 * for descriptors that it may have made readable. */
void turn_event(struct up_process *process, ps_t now);
/* What somebody may wait for has changed: on the host, or of the process alone. */
void turn_touched(struct up_host *host, const struct up_process *process, ps_t now);

/* request.c: one request of a thread that has the turn; the answer is in place */
void request_run(struct up_thread *thread, ps_t now, struct node_io *io);

/* device.c and others: an adapter's objects of one process.  Each answers request->result. */
int device_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io);
void device_close_all(struct up_process *process, ps_t now, struct node_io *io);
/* post.c */
ps_t post_next(const struct up_process *process);
void post_run(struct up_process *process, ps_t now, struct node_io *io); /* all that are due */
/* publish.c: completions and events go to their programs */
void publish_all(struct up_host *host, ps_t now, struct node_io *io);
/* payload.c */
int payload_init(struct up *up);
void payload_free(struct up *up);
void payload_received(struct up_host *host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                      struct node_io *io);
bool payload_sends(struct up_host *host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io);
/* adopt.c: a process's memory, as the fabric reaches it; false: not there */
bool memory_read(struct up_process *process, uint64_t addr, void *to, uint64_t bytes);
bool memory_write(struct up_process *process, uint64_t addr, const void *from, uint64_t bytes);
int adopt_request(struct up_process *process, struct attach_request *request);
void adopt_release(struct up_process *process);

/* stream.c: sockets between programs */
int stream_request(struct up_process *process, struct attach_request *request, ps_t now);
/* After each turn on the host: what was written or closed is stamped with `now`, the clock of who had the turn. */
void stream_collect(struct up_host *host, ps_t now);
ps_t stream_next(const struct up_host *host); /* a delivery within the host is due */
void stream_deliver(struct up_host *host, ps_t now);
void stream_carry(struct up *up, ps_t now);               /* between windows: from host to host */
void stream_forget(struct up_process *process, ps_t now); /* it is dead: the kernel has closed what it had */
void stream_release(struct up_host *host);                /* all of the host's; idempotent */

/* cm.c: management datagrams through QP1 of the fabric */
int cm_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io);
void cm_forget(struct up_process *process);

#endif
