/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocelab-fabric.so: what its files share.
 *
 * The library stands before libc in a program that knows nothing of it.  Three rules follow.  It goes straight to the
 * kernel or to libc's own function (REAL) for what it needs itself.  A thread yields only where the program called
 * (managed()), never while libc holds a lock of its own (stdio, malloc).  errno and the mask of signals are the
 * program's: who changes them puts them back.
 *
 * With the real clock nothing is virtual: managed() is false everywhere, and only the session, posts and requests work.
 */
#ifndef ROCELAB_ATTACH_ATTACH_INT_H
#define ROCELAB_ATTACH_ATTACH_INT_H

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/protocol.h"
#include "attach/session.h"

#define PATH_LENGTH 4096
#define EXPORT __attribute__((visibility("default")))
/* Thread-local without a call: also in signal handlers, which must not allocate. */
#define PER_THREAD __thread __attribute__((tls_model("initial-exec")))

/* libc's function of this name, behind ours. */
typedef void (*any_function)(void);
any_function real_find(const char *name);
#define REAL(name)                                                                                                     \
    __extension__({                                                                                                    \
        static __typeof__(&name) real_;                                                                                \
        if (!real_) real_ = (__typeof__(&name))real_find(#name);                                                       \
        real_;                                                                                                         \
    })

/* The kernel itself: a result, or -errno; errno is left alone. */
long raw_call(long number, long a, long b, long c, long d, long e, long f);
#define RAW(number, a, b, c, d, e, f) raw_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* A question that does not wait: a signal of ours interrupts even that, and then it is asked again. */
#define RAW_LOOK(number, a, b, c, d, e, f)                                                                             \
    __extension__({                                                                                                    \
        long look_;                                                                                                    \
        do                                                                                                             \
            look_ = RAW(number, a, b, c, d, e, f);                                                                     \
        while (look_ == -EINTR);                                                                                       \
        look_;                                                                                                         \
    })
/* A result as libc gives it: -1 and errno. */
static inline long as_libc(long result)
{
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

/* --- the process --- */

struct attached {
    struct attach_head *head; /* NULL: not attached, or before the constructor */
    int socket, adopted_fd;   /* -1: none; numbers that programs do not use */
    int bell_fd;              /* real clock: wakes the fabric; -1 */
    bool is_virtual;          /* attached, the clock is virtual, the fabric is there */
    bool gone;                /* the fabric is no more: EIO, and real clocks */
    bool watched;             /* real clock: a thread of ours waits for its end */
};
extern struct attached attached;
extern EXPORT struct attach_api rocelab_fabric_api;

/* The calling thread's place in the segment.  NULL: it has none (not attached, or a thread that nobody saw begin). */
extern PER_THREAD struct attach_thread *self;

/* Whether a call of the program is to follow the virtual clock.  False inside our own code. */
static inline bool managed(void)
{
    return attached.is_virtual && self != NULL && self->in_library == 0;
}

/* session.c */
/* In the child of fork(): a session of its own under the number that ATTACH_OP_FORK gave; returns with the first turn.
 * -errno: it is not attached. */
int session_child(uint32_t number);
/* What the environment of a new program must have, as NAME=value, a NULL last.  The process's number; a child's that
 * is spawned, not forked. */
#define SESSION_VARIABLES 5u
struct session_variables {
    const char *line[SESSION_VARIABLES + 1];
    char image[80];
};
void session_variables(uint32_t number, bool child, struct session_variables *ret);
/* Descriptors of ours: the program cannot close them or put others there. */
bool session_owns(int fd);
/* The process is about to end, from wherever that is known: once. */
void session_end(void);
bool session_gone(void);    /* it is; true: this is the first time that it is said */
bool session_is_gone(void); /* asks the kernel */
void session_watch(void);   /* real clock: from now on its end is noticed by itself */
int session_request(struct attach_request *request, const int *fds, unsigned count);
int session_take_fd(void);
/* Something that has no virtual time: said once for each `what`, and counted. */
void session_not_virtual(const char *what);

/* turn.c: the caller has the turn */
int turn_enter(void); /* -EIO: the fabric is gone */
void turn_leave(void);
void turn_charge(uint64_t ps);
uint64_t turn_now(void);
/* Gives the turn back and has it again when it returns.  True: a signal handler of the program has run meanwhile, a
 * call that can be interrupted answers EINTR.  Timers of the program may end it before `until`. */
bool turn_yield(enum attach_why why, uint64_t until);
/* Others may wait for what was done: ATTACH_TOUCHED_*.  They look again after this turn. */
void turn_touched(uint32_t what);
void turn_sync(void); /* the fabric comes to our clock: before what others see */
/* A place for a new thread, with our clock; NULL: none is left.  Then, in the thread: its first turn; and its end. */
struct attach_thread *turn_place(void);
void turn_begin(struct attach_thread *place);
void turn_first(struct attach_thread *place); /* the same, and our own code still runs (in_library 1) */
void turn_end(void);
void turn_hand_over(void); /* the same, but `self->why` says how it goes on */
/* Whether the handlers that ran during the last turn_yield() all wanted the call to go on (SA_RESTART). */
bool turn_restarts(void);
void turn_process_ends(void);
void turn_gone(void);      /* the fabric is; whoever wants to know is told when our own code is left */
void turn_ring_bell(void); /* real clock: the fabric is told of a post or a request */
/* Signals that the program holds and waits for; a bit each, from 1.  One from outside asks for a turn then. */
void turn_poll_empty(void);
void turn_alone_no_more(void); /* what the thread has done may make something happen */
void turn_poll_found(void);

/* post.c */
struct attach_post *post_room(uint32_t bytes);
void post_done(struct attach_post *post);
void post_forked(void); /* in the child: nobody else posts */

/* clock.c: times of the program as times of the fabric, in ps; saturating */
uint64_t clock_after(const struct timespec *span);                   /* from now; NULL: never */
uint64_t clock_until(clockid_t clock, const struct timespec *at);    /* a time of that clock */
bool clock_tell(clockid_t clock, uint64_t ps, struct timespec *ret); /* false: no clock of ours */
/* A clock is read: it costs, more in a row.  may_yield: the caller holds no lock of libc.  The time. */
uint64_t clock_read(uint64_t cost, bool may_yield);
int clock_virtual_get(clockid_t clock, struct timespec *ret, bool may_yield);
int clock_sleep(uint64_t until); /* 0, or EINTR; waits/wait.c */
void clock_synced(void);         /* the fabric has come to our clock */
void clock_start(void);          /* the vDSO's functions become ours */

/* tsc.c */
void tsc_start(void);
void tsc_stop(void); /* of the calling thread: the fabric is gone */

/* signals.c: handlers of the program run with the turn, and as if our own code did not run */
void signals_start(void);
void signals_hold_spin(bool hold);     /* around exec: a new program has no handler at first */
uint32_t signals_handled(void);        /* handlers of the program that this thread has run, ever */
uint32_t signals_not_restarting(void); /* those of them without SA_RESTART */
bool signals_has_handler(int number);
bool signals_handling(void);              /* below this handler is one of ours, not the program */
bool signals_program_handles(int number); /* a function of the program's own */
/* Handlers of ours, in front of the program's; true: it was for us. */
bool tsc_fault(const void *info, void *context);
bool spin_signal(const void *info, void *context);
bool spin_trap(const void *info, void *context);
void spin_turn_begins(void);
bool spin_fault(void); /* does not return where our own look at the program's memory has faulted */

/* debugger.c */
bool debugger_is(void);       /* this program traces others */
bool debugger_wants_it(void); /* one has started this program, and not for its own ends */
void debugger_leaves(void);   /* it does, and takes no turns from now on */
bool debugger_traces(void);   /* asks the kernel: this process is traced */

/* identity.c */
void identity_start(void);
void identity_bytes(void *ret, size_t bytes);
pid_t identity_pid(void);
pid_t identity_tid(void);
pid_t identity_parent(void); /* 1: none in the fabric */
void identity_set_parent(pid_t pid);

/* adopt.c */
void adopt_memory(void *addr, uint64_t bytes);
void adopt_forked(void);

/* threads.c, conditions.c, timers.c; what they share is in waits/waits.h */
void threads_start(void);  /* attached */
void threads_forked(void); /* in the child: it is the only thread */
/* syscall(SYS_futex, ...): a result or -errno */
long locks_futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout, uint32_t *word2,
                 uint32_t value3);
/* The earliest time at which a timer of the program is due; and what is due by our clock is delivered. */
uint64_t timers_next(void);
void timers_run(void);

/* socket.c, names.c */
void socket_start(void);
void socket_forked(void);

#endif
