/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that is up: made, run, ended; see up.h.
 *
 * The simulation runs as it does without programs and calls the hooks here from its visits.  Between windows programs
 * come, streams are carried from host to host, and it is seen who has died.  When nothing is left to run but programs
 * that wait for something outside, the fabric sleeps in real time and has them look again.
 */
#include "up/up.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "up/objects/objects.h"
#include "up/up_int.h"

#define WINDOWS 256   /* of the simulation, before the caller is asked */
#define QPS_MAX 4096u /* of an adapter's programs */
#define MRS_MAX 16384u
#define LOOK_NS 10000000ull /* real time between looks at the outside while fabric time passes */

/* Declared: docs/virtual-time.md says where they come from. */
static const struct attach_costs usual_costs = {.post = 60 * PS_NS,
                                                .poll = 30 * PS_NS,
                                                .clock = 25 * PS_NS,
                                                .tsc = 10 * PS_NS,
                                                .yield = 200 * PS_NS,
                                                .stream = 20 * PS_US,
                                                .local = 5 * PS_US};

/* --- hooks --- */

static ps_t hook_next(void *owner, uint32_t host)
{
    const struct up *up = owner;

    return up->begun ? up->host[host].next : PS_NEVER;
}

static void hook_turn(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    struct up *up = owner;

    if (up->host[host].port)
        foreign_turn(&up->host[host], now, io);
    else if (up->options.real)
        real_run(&up->host[host], now, io);
    else
        turn_run(&up->host[host], now, io);
}

static void hook_received(void *owner, uint32_t host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                          struct node_io *io)
{
    struct up *up = owner;

    payload_received(&up->host[host], adapter, packet, now, io);
}

static bool hook_sends(void *owner, uint32_t host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io)
{
    struct up *up = owner;

    return payload_sends(&up->host[host], adapter, id, now, io);
}

/* A packet of an opcode that nobody knows, from one interface to another, may have more than there is room for. */
static const uint8_t *hook_payload(void *owner, pkt_t id, uint32_t bytes)
{
    return bytes <= UP_PAYLOAD_BYTES ? payload_at(owner, id) : NULL;
}

static void hook_link(void *owner, uint32_t host, uint32_t adapter, bool link_up, ps_t now)
{
    struct up *up = owner;

    if (up->host[host].port)
        foreign_link(&up->host[host], adapter, link_up, now);
    else
        up_device_link(&up->host[host], adapter, link_up, now);
}

static void hook_completed(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    struct up *up = owner;

    publish_all(&up->host[host], now, io);
}

bool up_all_done(struct up *up)
{
    if (up->options.script) return launch_ended(up) && !(up->options.real && real_waits(up));
    if (up->options.ports && up->options.programs == 0) return false; /* nobody knows when those outside are done */
    return up->programs > 0 && up->programs >= up->options.programs &&
           __atomic_load_n(&up->alive, __ATOMIC_RELAXED) == 0;
}

static void wake_for_deaths(struct up *up, ps_t now)
{
    if (!__atomic_exchange_n(&up->deaths, false, __ATOMIC_ACQ_REL)) return;
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        if (__atomic_load_n(&up->host[i].deaths, __ATOMIC_ACQUIRE)) turn_wake(&up->host[i], now);
}

static void look_outside(struct up *up, ps_t now)
{
    up->looked_ns = turn_real_ns();
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        if (up->host[i].processes) turn_look(&up->host[i], now);
}

void up_between(struct up *up, ps_t now)
{
    up->between = true;
    session_accept(up, now);
    stream_carry(up, now);
    start_carry(up, now);
    wake_for_deaths(up, now);
    if (!up->options.real && turn_real_ns() - up->looked_ns > LOOK_NS) look_outside(up, now);
    if (!up->options.real) alone_look(up);
    up->between = false;
}

static bool hook_coordinate(void *owner, ps_t now)
{
    struct up *up = owner;

    if (up->options.real) return up_all_done(up); /* real.c looks when it is time to */
    up_between(up, now);
    return up_all_done(up);
}

static ps_t hook_ended(void *owner)
{
    const struct up *up = owner;
    ps_t end = 0;

    for (uint32_t i = 0; i < up->launches; i++)
        if (up->launch[i].end != PS_NEVER && up->launch[i].end > end) end = up->launch[i].end;
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        for (const struct up_process *at = up->host[i].processes; at; at = at->next)
            if (at->gone && at->end > end) end = at->end;
    return end;
}

/* --- beginning and end --- */

/* Each socket of a program is a descriptor of ours too. */
static void more_files(struct up *up)
{
    if (getrlimit(RLIMIT_NOFILE, &up->files) != 0) return;
    struct rlimit most = {.rlim_cur = up->files.rlim_max, .rlim_max = up->files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
}

static int make_hosts(struct up *up)
{
    up->host = calloc(up->fabric->hosts + 1u, sizeof *up->host);
    if (up->host == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        up->host[i] = (struct up_host){.up = up, .number = i, .next = PS_NEVER};
    return launch_create(up);
}

static int begin_listening(struct up *up, struct fabric_errors *errors)
{
    int error = session_listen(up);

    if (error == -EADDRINUSE)
        fabric_errors_add(errors, (struct fabric_at){0}, "a fabric named '%s' is up already; say --name",
                          up->options.name);
    else if (error == -EPERM)
        fabric_errors_add(errors, (struct fabric_at){0},
                          "the folder of sockets is open to others: close it (chmod 700), or set XDG_RUNTIME_DIR");
    else if (error == -EACCES)
        fabric_errors_add(errors, (struct fabric_at){0},
                          "no folder for the socket: each in /dev/shm and /tmp is another user's, or cannot be made; "
                          "set XDG_RUNTIME_DIR to a folder of your own");
    else if (error)
        fabric_errors_add(errors, (struct fabric_at){0}, "no socket for fabric '%s': %s", up->options.name,
                          strerror(-error));
    return error;
}

int up_create(const struct fabric *fabric, const struct up_options *options, struct up **ret,
              struct fabric_errors *errors)
{
    struct up *up = calloc(1, sizeof *up);
    cpu_set_t allowed;

    if (up == NULL) return -ENOMEM;
    up->fabric = fabric;
    up->options = *options;
    up->cost = usual_costs;
    up->epoll_fd = up->door.fd = -1;
    more_files(up);
    up->spins = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
    pthread_mutex_init(&up->callers_lock, NULL);
    up->hooks = (struct sim_programs){.owner = up,
                                      .qps = QPS_MAX,
                                      .mrs = MRS_MAX,
                                      .next = hook_next,
                                      .turn = hook_turn,
                                      .received = hook_received,
                                      .sends = hook_sends,
                                      .payload = hook_payload,
                                      .link = hook_link,
                                      .completed = hook_completed,
                                      .coordinate = hook_coordinate,
                                      .ended = hook_ended,
                                      .foreign = options->ports ? &foreign_calls : NULL};
    up->options.sim.programs = &up->hooks;
    int error = make_hosts(up);
    if (!error && options->ports) error = foreign_create(up, errors);
    if (!error) error = control_create(options->answer, options->answer_context, &up->control);
    if (!error) error = begin_listening(up, errors);
    if (!error) error = sim_create(fabric, &up->options.sim, &up->sim, errors);
    if (!error) error = payload_init(up);
    if (!error && options->ports) error = foreign_begin(up, errors);
    if (error) {
        up_free(up);
        return error;
    }
    for (uint32_t i = 0; i < fabric->hosts; i++)
        up->host[i].node = sim_host_node(up->sim, i);
    *ret = up;
    return 0;
}

static void free_host(struct up_host *host)
{
    stream_release(host);
    up_device_free(host);
    cm_release(host);
    while (host->processes) {
        struct up_process *process = host->processes;
        host->processes = process->next;
        adopt_release(process);
        for (uint32_t i = 0; i < process->threads; i++) {
            if (process->thread[i])
                __atomic_store_n(&process->thread[i]->shared->turn, ATTACH_TURN_GONE, __ATOMIC_RELEASE);
            free(process->thread[i]);
        }
        segment_release(process);
        if (process->socket >= 0) close(process->socket);
        if (process->pidfd.fd >= 0) close(process->pidfd.fd);
        free(process);
    }
}

void up_free(struct up *up)
{
    if (up == NULL) return;
    session_close(up);
    for (uint32_t i = 0; up->host && i < up->fabric->hosts; i++)
        free_host(&up->host[i]);
    launch_release(up);
    start_release(up);
    real_release(up);
    foreign_release(up);
    control_free(up->control);
    payload_free(up);
    sim_free(up->sim);
    free(up->host);
    pthread_mutex_destroy(&up->callers_lock);
    free(up);
}

/* --- running --- */

/* Time begins with the script, or when so many programs are there as were asked for; where hosts are outside, at
 * once. */
static bool begins(struct up *up, int patience_ms)
{
    up->between = true;
    session_accept(up, 0);
    up->between = false;
    uint32_t wanted = up->options.programs || up->options.ports ? up->options.programs : 1;
    if (up->options.script == NULL && up->programs < wanted) {
        session_sleep(up, patience_ms);
        return false;
    }
    up->begun = true;
    for (uint32_t i = 0; i < up->fabric->hosts; i++) {
        up->host[i].next = turn_next(&up->host[i]);
        if (up->host[i].next != PS_NEVER) sim_programs_wake(up->sim, i, up->host[i].next);
    }
    return true;
}

/* Nothing that could come from outside would help: all wait for each other.  What the library does not know of may
 * be outside; a script's programs have so long to prove it. */
static bool all_stuck(const struct up *up)
{
    bool outside = false;
    uint64_t waited = turn_real_ns() - up->idle_ns;

    if (__atomic_load_n(&up->alive, __ATOMIC_RELAXED) == 0) return false;
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        outside |= turn_waits_outside(&up->host[i]);
    if (!outside) return up->options.script || up->options.programs;
    return up->options.script && up->options.turn_limit_s && waited > 2000000000ull * up->options.turn_limit_s;
}

static void answer_questions(struct up *up)
{
    if (!up->asked) return;
    up->asked = false;
    if (!up->options.real) alone_forget(up);
    up->between = true;
    control_run(up->control);
    up->between = false;
}

enum sim_state up_advance(struct up *up, int patience_ms)
{
    answer_questions(up);
    if (!up->begun && !begins(up, patience_ms)) return SIM_RUNNING;
    if (up->options.real) return real_advance(up);
    enum sim_state state = sim_advance(up->sim, WINDOWS, PS_NEVER);
    if (state != SIM_RUNNING || !sim_progress(up->sim).idle) {
        up->idle_ns = 0;
        up->looked_idle = false;
        return state;
    }
    /* All wait for something outside. */
    if (up->idle_ns == 0) up->idle_ns = turn_real_ns();
    if (up->looked_idle && all_stuck(up)) {
        for (uint32_t i = 0; i < up->fabric->hosts; i++)
            turn_say_waits(&up->host[i]);
        return SIM_STUCK;
    }
    session_sleep(up, 1);
    up->looked_idle = true;
    up->between = true;
    look_outside(up, sim_progress(up->sim).now);
    up->between = false;
    return SIM_RUNNING;
}

struct sim *up_sim(struct up *up)
{
    return up->sim;
}

static void add(struct up_program *ret, uint32_t most, uint32_t *count, const struct up_program *one)
{
    if (*count < most) ret[*count] = *one;
    ++*count;
}

static void add_launch(struct up_program *ret, uint32_t most, uint32_t *count, const struct up_launch *launch)
{
    const struct up_program one = {.host = launch->command->host,
                                   .command = launch->command->text,
                                   .word = launch->command->word,
                                   .pid = launch->pid,
                                   .start = launch->start,
                                   .end = launch->end,
                                   .exit = launch->exit,
                                   .signal = launch->signal,
                                   .output = {launch->output[0], launch->output[1]},
                                   .attached = launch->process != NULL};

    add(ret, most, count, &one);
}

uint32_t up_programs(const struct up *up, struct up_program *ret, uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < up->launches; i++)
        add_launch(ret, most, &count, &up->launch[i]);
    for (const struct up_launch *at = start_next(up, NULL); at; at = start_next(up, at))
        add_launch(ret, most, &count, at);
    for (uint32_t i = 0; i < up->fabric->hosts; i++) {
        for (const struct up_process *at = up->host[i].processes; at; at = at->next) {
            const struct up_program one = {.host = up->fabric->node[i].name,
                                           .command = at->command,
                                           .pid = at->pid,
                                           .start = at->start,
                                           .end = at->end,
                                           .exit = at->exit,
                                           .output = {-1, -1},
                                           .attached = true,
                                           .late = at->late};
            if (!at->child && at->launch == NULL) add(ret, most, &count, &one);
        }
    }
    return count;
}
