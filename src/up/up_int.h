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

#include <pthread.h>
#include <sys/resource.h>

#include "attach/protocol.h"
#include "engine/engine.h"
#include "plant/plant.h"
#include "sim/programs.h"
#include "up/up.h"

struct up_host;
struct up_process;
struct device;     /* objects.h: an adapter as one process has it: queue pairs, queues, memory */
struct up_adapter; /* objects.h: of one host, with what its processes share */
struct up_posts;   /* post.c: taken out of the ring, and not due yet */
struct up_adopted; /* adopt.c */
struct up_flow;    /* objects/flow.h: a queue pair's connection */
struct up_streams; /* stream.c: sockets of one host */
struct up_cm;      /* cm.c: QP1 of one host */
struct up_caller;  /* session.c: at the socket */
struct up_pages;   /* session_memory.c */
struct control;    /* control.h */
struct up_launch;
struct foreign;
struct up_port; /* foreign.c: a port that is an interface */

enum up_thread_state {
    UP_NONE,
    UP_STARTS, /* its first turn is due */
    UP_RUNS,
    UP_ASKS, /* a request is to be answered when the fabric has come to its clock */
    UP_POLLS,
    UP_SPINS,
    UP_WAITS,
    UP_SLEEPS,
    UP_DEBUGS, /* due where it has no program */
    UP_ENDED,
};

struct up_thread {
    struct up_process *process;
    struct attach_thread *shared;
    enum up_thread_state state;
    ps_t clock;       /* the fabric's copy of shared->now, never taken back */
    ps_t due;         /* when it has its next turn; PS_NEVER */
    bool waits_event; /* UP_WAITS: completions count */
    bool spun;        /* it was in a loop on memory */
    bool news;        /* due for an event of its adapter */
    ps_t look;        /* when it looks whether the outside has changed; PS_NEVER: not */
    ps_t alone;       /* with its next turn: it may poll until then by itself */
};

enum up_watched {
    UP_WATCH_DOOR,
    UP_WATCH_CONTROL,
    UP_WATCH_CALLER,
    UP_WATCH_PROCESS,
    UP_WATCH_BELL,
    UP_WATCH_SOCKETS,
    UP_WATCH_PORT
};
struct up_watch { /* of the epoll set */
    enum up_watched kind;
    int fd;
};

struct up_cause { /* objects/message.c: something that a program has seen */
    const struct up_flow *flow;
    uint32_t number; /* of the flow's messages, or of those that arrived there; counted from 1 */
    bool arrival;
    ps_t at;
};

struct up_process {
    struct up *up;
    struct up_host *host;
    uint32_t number;
    pid_t pid;
    int socket; /* -1: none */
    struct up_watch pidfd;
    bool dead;            /* atomic: the pidfd says so */
    struct up_watch bell; /* real clock: an eventfd; -1 */
    uint32_t bell_heard;  /* the head's bell, as last seen */
    int segment_fd;
    uint8_t *segment;
    struct attach_head *head; /* its beginning */
    struct attach_costs cost; /* as its head shows */
    ps_t hop;                 /* from one thread to another that waits for it */
    uint64_t segment_used;    /* given out by segment_take() */
    struct up_pages *given;   /* session_memory.c: given back, by size */
    int adopted_fd;
    struct up_adopted *adopted;
    struct up_thread *thread[ATTACH_THREADS]; /* NULL: never was */
    uint32_t threads;                         /* the highest that was, and one */
    struct device *device[ATTACH_NICS];       /* NULL: not opened */
    uint64_t posts_at;                        /* offset of the ring of posts, ... */
    uint32_t posts_head;                      /* ... and how far it was read, in bytes: ours; the program sees copies */
    struct up_posts *posts;
    struct up_cause seen; /* the last; where messages are recorded */
    char command[256];
    ps_t start, end; /* PS_NEVER: it has not */
    int exit;        /* waitpid()'s; -1: not known */
    bool gone;       /* its objects are destroyed; the record stays for the report */
    bool late;
    bool spoilt;              /* it was told that it has spoilt its ring of posts */
    bool owned;               /* started by us, or by one that was */
    bool own_numbers;         /* its threads have other numbers here: it is in a container */
    bool child;               /* of another process: not in the report */
    struct up_launch *launch; /* the script's line that started it; NULL: none did */
    char not_virtual[160];    /* the last thing it did that has no virtual time */
    struct up_process *next;  /* of the host's */
};

struct up_host {
    struct up *up;
    uint32_t number;
    struct node_host *node;
    struct up_process *processes;
    struct up_streams *streams;
    struct up_cm *cm;
    struct up_adapter *adapters; /* [node->adapters]; NULL: no program has opened one */
    uint32_t links_down;         /* bit a: that of adapter a has failed */
    ps_t now;                    /* of the visit that runs */
    ps_t latest;                 /* clock that one of its threads has had: what the kernel shows may be of that time */
    ps_t next;                   /* when something is due; never later than that */
    ps_t alone;                  /* alone.c: nothing else happens before, in the fabric; 0: not known */
    uint32_t joined;             /* processes ever */
    bool deaths;                 /* atomic: one of its processes has died without the turn */
    bool images;                 /* real clock: one of them may have become another program */
    struct up_watch sockets;     /* real clock: of its streams; fd 0: not watched yet */
    struct up_launch *launch;    /* what is to be started here, earliest first */
    struct up_start *starts;     /* what programs of this host asked for in this window, the last first */
    struct up_flow *flows;       /* flow.c: of all queue pairs that ever were, the last first */
    struct up_port **port;       /* [node->adapters] it is not ours; NULL: it is */
};

struct up_launch { /* launch.c: a line of the script, or what a program asked for, that is to be or was started */
    const struct up_command *command;
    struct up_host *host;
    struct up_process *process; /* NULL: it never attached */
    pid_t pid;                  /* 0: not started */
    int pidfd, output[2];       /* of what it writes: standard output and error */
    ps_t start, end;
    int exit;               /* 128 and the signal where one ended it, as in a shell; -1: not known */
    int signal;             /* 0: none */
    struct up_launch *next; /* of the host's */
};

struct up_real { /* real.c: in ns of the wall clock */
    uint64_t begun_ns, busy_ns, said_ns;
    uint64_t looked_ns;         /* when sockets and processes were last looked at */
    uint64_t stalled_ns;        /* when those of which nothing is told were */
    bool sockets;               /* something was written to one */
    uint64_t over_ns;           /* when the script's programs had all ended; 0: they have not */
    bool slept;                 /* somebody may want something of the caller */
    bool unattached;            /* programs that we started have not attached yet */
    uint64_t stood_ns, told_ns; /* fabric time stood still for; of it told */
    struct up_host **host;      /* [hosts]: that have or had processes */
    uint32_t hosts;
};

struct up {
    const struct fabric *fabric;
    struct up_options options;
    struct sim *sim;
    struct sim_programs hooks;
    struct attach_costs cost; /* what each segment's head shows */
    struct up_host *host;     /* [fabric->hosts] */
    uint32_t alive;           /* atomic: processes */
    uint32_t programs;        /* of them those that began by themselves, ever: not children */
    ps_t ended;               /* the last that has */
    bool begun;               /* time passes */
    bool between;             /* windows: no host is visited */
    bool spins;               /* several processors may be used: who waits for a turn spins a little first */
    int epoll_fd;
    struct up_watch door, questions;
    pthread_mutex_t callers_lock;
    struct up_caller *callers; /* they have connected, and are no process yet */
    char socket_path[UP_PATH];
    struct control *control;  /* who asks from outside */
    struct rlimit files;      /* as we were started: the fabric itself may open more */
    struct up_launch *launch; /* [launches] in the order of the script */
    uint32_t launches;
    struct up_start *starts; /* start.c: what programs have started on other hosts, the first first */
    bool asked;              /* a question waits */
    bool deaths;             /* atomic: of some host */
    struct up_host *polled;  /* atomic: one where the last turn in a window was an empty poll; NULL: none */
    uint32_t polls_passed;   /* windows in which that is not asked */
    uint64_t looked_ns;      /* real time: when those who wait for the outside last looked */
    bool looked_idle;        /* and they have looked again meanwhile */
    uint64_t idle_ns;        /* real time since when all wait for the outside; 0: they do not */
    struct up_real real;
    uint8_t *payload;        /* payload.c: by packet */
    struct foreign *foreign; /* foreign.c; NULL: all hosts are ours */
};

/* Whoever waits for a program in real time looks at this: then the program is as good as dead. */
static inline bool up_stopped(const struct up *up)
{
    return up->options.stop && *up->options.stop;
}

/* session.c: programs come and go; between windows, or while one program waits for another to attach */
int session_listen(struct up *up); /* -errno */
void session_close(struct up *up);
/* Into the set that session_sleep() waits for: each change wakes once. */
bool session_watch(struct up *up, struct up_watch *of);
/* It ends with the fabric, however that ends. */
void session_own(struct up_process *process);
/* Takes whoever waits at the socket.  now: what a program's clock begins with. */
void session_accept(struct up *up, ps_t now);
/* Sleeps until somebody is at the socket, or a process has died, or so many milliseconds of real time. */
void session_sleep(struct up *up, int ms);
void session_sleep_ns(struct up *up, uint64_t ns);
/* Somebody who is to say hello, with this number (a child) or from this process. */
struct up_expected {
    struct up_host *host;
    uint32_t number; /* UINT32_MAX: any */
    pid_t pid;       /* 0: ... */
    pid_t tracer;    /* ... who has this debugger */
    int pidfd;       /* -1: none */
    int limit_ms;    /* of real time; -1: until it is dead */
    bool child;
    const char *what; /* for who reads that it takes long */
};
/* Waits (real time) for it and takes it in; NULL: it is dead, or the time is over. */
struct up_process *session_await(const struct up_expected *expected, ps_t now);
/* The process has replaced its program, and the new one has said hello: true, its threads are no more, and it goes on
 * with that or has ended.  clock: of who did it. */
bool session_replaced(struct up_process *process, ps_t clock, ps_t now, struct node_io *io);
/* One line for people: this host's program, and what about it. */
__attribute__((format(printf, 3, 4))) void session_say(const struct up_host *host, const char *command,
                                                       const char *format, ...);
uint32_t session_number(struct up_host *host);                                /* for the next process of the host */
void session_end(struct up_process *process, ps_t now, struct node_io *io);   /* it has ended, or was killed */
struct up_process *session_find(const struct up_host *host, uint32_t number); /* NULL: none lives */
/* Descriptors that came on the socket ahead of a request.  -errno */
int session_take_fd(struct up_process *process);
int session_give_fd(struct up_process *process, int fd);

/* session_memory.c: the segment */
int segment_create(struct up_process *process); /* -errno */
void segment_release(struct up_process *process);
/* Memory of the segment, zeroed, aligned to lines; its offset, or 0: none left.  Given back by size. */
uint64_t segment_take(struct up_process *process, uint64_t bytes);
void segment_give(struct up_process *process, uint64_t offset, uint64_t bytes);

/* launch.c: programs that the script starts */
int launch_create(struct up *up); /* -errno */
void launch_release(struct up *up);
/* It is to be started on its host, at its time. */
void launch_add(struct up_launch *launch);
void launch_due(struct up_host *host, ps_t now);
/* It goes with us, if it still runs. */
void launch_stop(struct up_launch *launch);
bool launch_ended(const struct up *up); /* all have */
/* Real clock: nobody waits for a program to attach.  It has, or it has ended without. */
void launch_joined(struct up_process *process);
bool launch_look(struct up *up, ps_t now); /* true: some have done neither yet */
/* A program of the script has ended: its exit status is asked for. */
void launch_end(struct up_launch *launch, ps_t now);

/* start.c: programs that programs start on other hosts */
int start_request(struct up_process *process, struct attach_request *request, ps_t now);
void start_carry(struct up *up, ps_t now); /* between windows */
/* The one after `start`, or (NULL) the first; NULL: none. */
struct up_launch *start_next(const struct up *up, const struct up_launch *launch);
void start_release(struct up *up);

/* turn.c */
/* When the host is to be asked next, worked out anew. */
ps_t turn_next(const struct up_host *host);
/* Something of the host is due at `at`: from a visit, or between windows. */
void turn_wake(struct up_host *host, ps_t at);
/* Between windows: who waits for something outside looks again. */
void turn_look(struct up_host *host, ps_t now);
bool turn_waits_outside(const struct up_host *host);                                 /* one of its threads may */
void turn_say_waits(const struct up_host *host);                                     /* who waits for what */
struct up_thread *turn_thread(struct up_process *process, uint32_t number, ps_t at); /* NULL: no memory */
uint64_t turn_real_ns(void);
void turn_run(struct up_host *host, ps_t now, struct node_io *io);
/* Something was completed or arrived in a process's memory at `now`: who polls or spins in it is due; and, where a
 * descriptor has become readable by it, who waits for descriptors. */
void turn_event(struct up_process *process, bool readable, ps_t now);
/* What somebody may wait for has changed: on the host, or of the process alone. */
void turn_touched(struct up_host *host, const struct up_process *process, ps_t now);
/* A process has ended: its debugger may have none now. */
void turn_debuggers(struct up_host *host, ps_t now);

void turn_deaths(struct up_host *host, ps_t now, struct node_io *io); /* processes that died without the turn */

/* alone.c: who polls, and nobody else has anything to do */
void alone_polled(struct up_thread *thread);
void alone_look(struct up *up); /* between windows, when all else was seen to */
/* Between windows, before something comes from outside: nobody has been alone, and time is where they have been. */
void alone_forget(struct up *up);
/* With the host's next turn, which is this thread's. */
ps_t alone_take(const struct up_thread *thread);

/* up.c: between windows: who comes, goes and asks; and whether all have gone */
void up_between(struct up *up, ps_t now);
bool up_all_done(struct up *up);

/* real.c: the real clock, in place of turns */
void real_run(struct up_host *host, ps_t now, struct node_io *io);
enum sim_state real_advance(struct up *up);
void real_joined(struct up_host *host); /* it has its first process */
ps_t real_time(const struct up *up);    /* what fabric time would be now if it were not behind */
void real_release(struct up *up);
/* The script's programs have ended: whether those that they started elsewhere are waited for. */
bool real_waits(struct up *up);

/* foreign.c: hosts that are not ours: what is behind interfaces of this machine */
extern const struct sim_foreign foreign_calls;
int foreign_create(struct up *up, struct fabric_errors *errors); /* -errno; before the simulation is made */
int foreign_begin(struct up *up, struct fabric_errors *errors);  /* the same; after it */
void foreign_release(struct up *up);
/* Between windows: frames go out and come in.  True: some came. */
bool foreign_look(struct up *up, uint64_t real_ns, ps_t now);
void foreign_turn(struct up_host *host, ps_t now, struct node_io *io);
void foreign_link(struct up_host *host, uint32_t adapter, bool up, ps_t now);

/* task.c: a signal to a thread by the number that it has told; false: there is no such thread */
bool task_signal(struct up_process *process, int tid, int number);
int task_tracer(pid_t pid);                    /* the process that debugs this one; 0: none */
bool task_is_below(pid_t pid, pid_t debugger); /* which traces it, or has started it */

/* request.c: one request of a thread that has the turn; the answer is in place */
void request_run(struct up_thread *thread, ps_t now, struct node_io *io);

/* device.c and others: an adapter's objects of one process.  Each answers request->result. */
int up_device_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io);
void up_device_close_all(struct up_process *process, ps_t now, struct node_io *io);
void up_device_free(struct up_host *host);
/* The link of an adapter has failed, or come back: programs see it, and are told. */
void up_device_link(struct up_host *host, uint32_t adapter, bool up, ps_t now);
/* post.c */
ps_t post_next(const struct up_process *process);
void post_run(struct up_process *process, ps_t now, struct node_io *io); /* all that are due */
/* After a turn: what the program has posted is taken out of its ring, and what it has polled is known. */
void post_collect(struct up_process *process, ps_t now);
/* audit.c: what always holds of its objects, or the fabric ends */
void up_audit(const struct up_process *process);
/* publish.c: completions and events go to their programs */
void publish_all(struct up_host *host, ps_t now, struct node_io *io);
void publish_heads(struct up_process *process); /* after a turn: what the program has polled */
/* payload.c */
int payload_init(struct up *up);
void payload_free(struct up *up);
void payload_received(struct up_host *host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                      struct node_io *io);
bool payload_sends(struct up_host *host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io);
uint8_t *payload_at(const struct up *up, pkt_t id); /* of a packet that has payload */
/* adopt.c: a process's memory, as the fabric reaches it; false: not there */
int adopt_init(struct up_process *process); /* makes and maps process->adopted_fd; -errno */
int adopt_request(struct up_process *process, struct attach_request *request);
void adopt_release(struct up_process *process);

/* stream.c: sockets between programs */
int stream_request(struct up_process *process, struct attach_request *request, ps_t now);
/* After each turn on the host: what was written or closed is stamped with `now`, the clock of who had the turn. */
void stream_collect(struct up_host *host, ps_t now);
ps_t stream_next(const struct up_host *host); /* a delivery within the host is due */
bool stream_any(const struct up_host *host);  /* programs of the host have sockets */
void stream_deliver(struct up_host *host, ps_t now);
void stream_carry(struct up *up, ps_t now);               /* between windows: from host to host */
void stream_forget(struct up_process *process, ps_t now); /* it is dead: the kernel has closed what it had */
void stream_release(struct up_host *host);                /* all of the host's; idempotent */

/* cm.c: management datagrams through QP1 of the fabric */
int cm_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io);
void cm_forget(struct up_process *process, ps_t now, struct node_io *io); /* it has ended; io NULL: without a word */
void cm_release(struct up_host *host);
/* cm_qp1.c: packets of QP1, as payload.c's */
bool cm_sends(struct up_host *host, pkt_t id, const struct node_io *io);
void cm_received(struct up_host *host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                 struct node_io *io);

#endif
