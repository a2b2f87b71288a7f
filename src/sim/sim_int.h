/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines as nodes: what the glue keeps.
 */
#ifndef ROCELAB_SIM_SIM_INT_H
#define ROCELAB_SIM_SIM_INT_H

#include "engine/engine.h"
#include "nic/nic.h"
#include "node/host.h"
#include "node/switch.h"
#include "plant/plant.h"
#include "record/event.h"
#include "sim/endpoint/endpoint.h"
#include "sim/programs.h"
#include "sim/sim.h"
#include "switch/switch.h"
#include "workload/workload.h"

struct fabric_port;

#define SIM_PACKETS_MAX (1u << 25) /* at once, where the options do not say; docs/internals/engine.md, "Limits" */

struct sim_fault { /* something that happens to one node's end of a link, or stops happening */
    ps_t at;
    struct sim *sim;
    uint32_t fault; /* into fabric.fault; FAULT_ROUTES: it has new routes */
    uint32_t node;
    uint32_t table, epoch; /* FAULT_ROUTES: which (reroute.c), and the number of the change */
    uint16_t port;
    bool begins;
};
#define FAULT_ROUTES UINT32_MAX

struct fault_list { /* a node's, in order of time */
    const struct sim_fault *fault;
    uint32_t count, next;
    ps_t storm_at; /* when the next pause frames of storms are due; PS_NEVER: no storm */
};

struct sim_switch {
    struct node_switch node; /* first: what the engine calls */
    struct sw *sw;           /* the node's */
    struct fault_list faults;
    struct plant_switch *plant; /* its configuration, and its routes of now */
    uint32_t epoch;             /* of its routes */
    struct pause_log *log;      /* pausetree.c; NULL: it has paused nobody */
};

/* software.c: what waits for a host's software. */
struct software_item {
    ps_t at;
    struct app_post post; /* to be posted; of a completion connection, tag (or imm) alone */
    bool receive, good;
};
struct software_queue { /* a ring in order of time */
    ps_t delay_ps;      /* 0: nothing waits */
    struct software_item *item;
    uint32_t head, count, room;
};
struct software { /* of an adapter */
    struct software_queue post, poll;
    ps_t since, waited; /* something has waited since then; and for so long before */
};

struct sim_host {
    struct node_host node; /* first: what the engine calls */
    struct sim *sim;
    struct fault_list faults;
    struct software *software;  /* [adapters]; NULL: software takes no time */
    const struct app_ops *jobs; /* with programs: what tells the jobs */
};
extern const struct app_ops sim_app_straight, sim_app_delayed; /* app.c; with software that takes time */

static inline ps_t software_queue_next(const struct software_queue *queue)
{
    return queue->count ? queue->item[queue->head].at : PS_NEVER;
}
int software_build(struct sim *sim, struct sim_host *host); /* 0 or -ENOMEM */
void software_release(struct sim_host *host);
/* Into and out of one of its queues; false: nothing is due. */
void software_push(struct software *of, struct software_queue *queue, struct software_item item, ps_t now);
bool software_pop(struct software *of, struct software_queue *queue, ps_t now, struct software_item *ret);
ps_t software_waited(const struct software *of, ps_t now); /* how long something waited in either */
ps_t software_next(const struct sim_host *host);
uint64_t software_most_bytes(const struct sim *sim); /* what all queues may grow to */
uint64_t software_bytes(const struct sim *sim);      /* and have */

struct sim_memory { /* machines' memory: one range */
    uint8_t *at;
    size_t used, bytes;
};

struct deadlock_watch { /* deadlock.c */
    ps_t next;          /* when to look; PS_NEVER: nobody pauses anybody */
    bool holds;         /* the last one found is still there */
    uint64_t windows;   /* run when it was looked last */
    struct sim_deadlock *found;
    uint32_t count, room;
    uint16_t *stuck; /* [ports] bit q */
    uint32_t *cells; /* [ports * 8] */
    bool *fresh;     /* [switches] cells are to be counted anew */
};

struct sim {
    const struct fabric *fabric;
    const struct sim_endpoint_ops *endpoint; /* of all hosts */
    struct sim_options options;
    struct plant plant;
    struct engine *engine;
    struct workload *workload;
    struct sim_switch *sw;
    struct sim_host *host;
    struct node_adapter *adapter;
    struct node_connection *connection;
    struct sim_fault *fault;
    uint32_t faults, fault_room;
    struct fabric_routing **routing; /* of sets of links that are avoided at some time */
    uint32_t routings;
    struct deadlock_watch watch;
    uint32_t *pairs_at; /* [endpoint] queue pairs */
    struct sim_memory memory;
    uint64_t memory_most_bytes; /* with every buffer full; an estimate */
    struct histo *rtt_ns;       /* [endpoint] round-trip times; NULL: nobody asked */
    ps_t sync_latency;
    ps_t base_rtt_ps; /* of the longest way without load, where the endpoint needs it; else 0 */
    ps_t until;
    bool storm_ends; /* `until` is where a pause without end is given up */
    enum sim_state state;
    bool idle; /* nobody has anything to do any more */
    uint32_t *wake;
    struct series *series; /* NULL: nobody watches */
    ps_t series_at;        /* when its next step ends; PS_NEVER: there is none */
    struct sim_capture *capture;
    uint32_t captures;
    struct sim_events *events; /* events.c; NULL: nobody wants any */
};

/* visit_switch.c, visit_host.c: the visit functions; of a switch by its sw_form() */
void sim_visit_ib(struct worker *worker, struct node *node, ps_t end); /* endpoint/ib.c */
void sim_visit_switch_simple(struct worker *worker, struct node *node, ps_t end);
void sim_visit_switch_forwards(struct worker *worker, struct node *node, ps_t end);
void sim_visit_switch_credits(struct worker *worker, struct node *node, ps_t end);
void sim_visit_switch_whole(struct worker *worker, struct node *node, ps_t end);
void sim_visit_host(struct worker *worker, struct node *node, ps_t end);
void sim_visit_uet(struct worker *worker, struct node *node, ps_t end);
void sim_visit_tcp(struct worker *worker, struct node *node, ps_t end);
/* visit_programs.c: of hosts that have programs; and what runs on such a host */
void sim_visit_programs(struct worker *worker, struct node *node, ps_t end);
extern const struct app_ops sim_app_programs;
/* visit_foreign.c: of hosts that are not ours */
bool sim_is_foreign(const struct sim *sim, uint32_t host);
void sim_visit_foreign(struct worker *worker, struct node *node, ps_t end);
/* Between visits: the node's next deadline; of a host the application has something new to wait for. */
void sim_switch_wake(struct sim_switch *sw, struct node *node, ps_t now);
void sim_host_wake(struct sim_host *host, struct node *node, ps_t now);
/* For faults, in the node's own visit: a link fails or comes back, an adapter's receive side slows down. */
void sim_switch_link(struct worker *worker, struct node *node, uint16_t port, bool up, ps_t now);
void sim_host_link(struct worker *worker, struct node *node, uint16_t port, bool up, ps_t now);
void sim_host_receive_rate(struct worker *worker, struct node *node, uint16_t port, uint64_t bps, ps_t now);

/* events.c: before the machines are made; the ring of a node, NULL without events; when nothing runs and everything
 * before `now` has been: what happened goes to the log, with `last` what happens now, too */
int sim_events_create(struct sim *sim);
void sim_events_free(struct sim *sim);
struct record_ring *sim_events_of(const struct sim *sim, uint32_t node);
/* From the node's own visit, or when nothing runs. */
static inline void sim_events_note(const struct sim *sim, uint32_t node, enum record_event_kind kind, uint16_t port,
                                   uint64_t a, ps_t now)
{
    record_note(
        sim_events_of(sim, node),
        (struct record_event){.at = now, .a = a, .port = port, .priority = RECORD_NO_PRIORITY, .kind = (uint8_t)kind});
}
void sim_events_take(struct sim *sim, ps_t now, bool last);

/* faults.c */
int sim_faults_build(struct sim *sim);
void sim_wake_all(struct sim *sim, ps_t now);                      /* sim.c: each node waits for what it has next */
int sim_fault_add(struct sim *sim, const struct sim_fault *event); /* -ENOMEM */
/* reroute.c: adds the changes of routes to the faults; what one of them means for its switch */
int sim_reroute_build(struct sim *sim);
void sim_reroute_free(struct sim *sim);
void sim_reroute_apply(const struct sim_fault *event, struct sim_switch *sw, ps_t now);
/* Whether the routes of now lead from one endpoint to the other, over ports that are up. */
bool sim_reaches(const struct sim *sim, uint32_t src, uint32_t dst);

/* pausetree.c: who paused whom, and because of whom; called where a switch sends a pause, or loses a link */
void pauses_note(struct sim_switch *sw, const struct node_control *control, ps_t now);
void pauses_forget(struct sim_switch *sw, uint16_t port, ps_t now);
int sim_pauses_read(struct sim *sim, struct sim_result *ret); /* -ENOMEM */
void pauses_free(struct sim_switch *sw);

/* deadlock.c: looks at all switches at one moment, when nothing runs; true: one was found that nothing breaks */
int sim_deadlock_init(struct sim *sim);
bool sim_deadlock_look(struct sim *sim, ps_t now, ps_t held);
ps_t sim_deadlock_next(struct sim *sim, ps_t now); /* when to look again */
int sim_deadlock_read(const struct sim *sim, struct sim_result *ret);
void sim_deadlock_free(struct sim *sim);
#define DEADLOCK_HELD (100 * PS_US) /* pauses shorter than that are not looked at while a run goes on */

static inline ps_t faults_next(const struct fault_list *list)
{
    ps_t next = list->next < list->count ? list->fault[list->next].at : PS_NEVER;
    return next < list->storm_at ? next : list->storm_at;
}
/* Applies what is due. */
void faults_run(struct fault_list *list, struct worker *worker, struct node *node, ps_t now);

/* Payload of a connection that is known to have arrived. */
static inline uint64_t sim_acked_bytes(const struct sim *sim, uint32_t connection)
{
    return sim->endpoint->acked_bytes(&sim->connection[connection].from);
}

/* sim.c */
void *sim_take(struct sim *sim, size_t bytes); /* of the machines' memory, zeroed */

/* memory.c: 0, or -ENOMEM with what is needed; the first before the jobs' arrays are made */
int sim_check_jobs(const struct sim *sim, struct fabric_errors *errors);
int sim_check_memory(struct sim *sim, size_t machines, struct fabric_errors *errors);

/* build_switch.c, build_host.c, endpoint/: first what they need, then the things */
int sim_plan_switches(struct sim *sim, size_t *ret_bytes); /* 0 or -ENOMEM */
void sim_make_switch(struct sim *sim, uint32_t index);
int sim_plan_hosts(struct sim *sim, size_t *ret_bytes, struct fabric_errors *errors);
int sim_make_host(struct sim *sim, uint32_t index); /* 0 or -ENOMEM */
int sim_make_pairs(struct sim *sim, struct fabric_errors *errors);
/* UDP, of both ends; 0 where packets have none */
uint16_t sim_source_port(const struct sim *sim, const struct workload_connection *connection);

/* observe.c: the end of a step of the series is here */
void sim_series_look(struct sim *sim);
/* What a fault says of the optic at a port: of those that hold the last to begin.  Untouched: none does. */
/* infiniband.c: what a port of a fabric of InfiniBand counts */
void sim_infiniband(const struct sim *sim, uint32_t index, struct observe_infiniband *ret);
void sim_optic(const struct fabric *fabric, uint32_t port, ps_t now, uint64_t *ret_celsius, uint64_t *ret_ber);

/* capture.c: writes down what crossed captured ports before `now` */
void sim_capture_drop(struct sim *sim, uint32_t index);
void sim_captures_write(struct sim *sim, ps_t now);

/* build_engine.c */
struct line_model sim_line_model(const struct fabric *fabric);
int sim_build_engine(struct sim *sim, struct fabric_errors *errors);
/* Whether what arrives by this port may be sent on while it still arrives. */
bool sim_cuts_through(const struct fabric *fabric, const struct fabric_port *in);

/* thresholds.c: those of all ports of switches; after the ports.  0 or -ENOMEM */
int sim_thresholds_read(const struct sim *sim, struct sim_result *ret);
void sim_thresholds_of(const struct sw_config *sw, const struct sw_port_config *port, struct sim_thresholds *ret);

/* happened.c: faults and changes of routes until now.  0 or -ENOMEM */
int sim_happened_read(const struct sim *sim, struct sim_result *ret);

/* ends.c: who takes part in jobs, and the ways of flows; after both.  0 or -ENOMEM */
int sim_ends_read(const struct sim *sim, struct sim_result *ret);

/* programs.c: when the last program ended; 0: there are none */
ps_t sim_programs_end(const struct sim *sim);

/* expected/ideal.c: completion of a message alone in the fabric, with its last acknowledgement */
ps_t sim_ideal(const struct sim *sim, uint32_t src, uint32_t dst, uint64_t bytes);
/* When it is whole at dst; how long src's packets of it take on a line of that rate. */
ps_t sim_ideal_arrival(const struct sim *sim, uint32_t src, uint32_t dst, uint64_t bytes);
ps_t sim_ideal_line(const struct sim *sim, uint32_t src, uint64_t rate_bps, uint64_t bytes);

/* expected/roofline.c: sim_job.ideal_ps of every job; its flows and trainings are read already.  0 or -ENOMEM */
int sim_roofline(const struct sim *sim, struct sim_result *ret);

#endif
