/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node: all its adapters, and its part of the workload.
 *
 * Port p of the node is adapter p.  Completions are drained as they come, the workload is told, and what it
 * answers is posted at once, unless the file says what software takes (software.c, docs/model.md).
 */
#include "engine/visit.h"
#include "packet/opcode.h"
#include "sim/sim_int.h"

static inline struct sim_scratch *scratch_of(const struct worker *worker)
{
    return worker->scratch;
}

void sim_host_schedule(struct sim_host *host, struct node *node, ps_t now)
{
    ps_t at = faults_next(&host->faults);

    if (host->work_at < at) at = host->work_at;
    for (uint32_t i = 0; i < host->adapters; i++)
        if (host->adapter[i].deadline < at) at = host->adapter[i].deadline;
    if (host->software && software_next(host) < at) at = software_next(host);
    node_deadline(node, at, now);
}

static void ask_port(struct node *node, uint32_t port, ps_t now)
{
    node->port[port].queued = 1;
    node_kick(node, port, now);
}

static void post_one(struct worker *worker, struct node *node, struct sim_host *host, const struct app_post *post,
                     ps_t now)
{
    struct nic_io *io = &scratch_of(worker)->nic_io;
    struct sim *sim = host->sim;
    const struct sim_connection *connection = &sim->connection[post->connection];
    bool notifies = workload_connection(sim->workload, post->connection)->notifies;
    struct nic_wr wr = {.wr_id = (uint64_t)post->connection << 32 | post->tag,
                        .length = post->bytes,
                        .imm = post->imm,
                        .verb = notifies ? NIC_WRITE_IMM : NIC_WRITE,
                        .flags = NIC_SIGNALED};
    struct sim_adapter *adapter = &host->adapter[connection->adapter];

    io->kick = false;
    CHECK(nic_post_send(adapter->nic, connection->qp, &wr, now, io) == 0);
    adapter->deadline = nic_deadline(adapter->nic);
    ask_port(node, connection->adapter, now);
}

/* Posts what the workload answered, until it has nothing more. */
static void post_all(struct worker *worker, struct node *node, struct sim_host *host, ps_t now)
{
    struct app_out *out = &scratch_of(worker)->out;
    struct sim *sim = host->sim;

    for (;;) {
        for (uint32_t i = 0; i < out->posts; i++) {
            const struct app_post *post = &out->post[i];
            uint16_t adapter = sim->connection[post->connection].adapter;
            if (host->software && host->software[adapter].post.delay_ps)
                software_push(&host->software[adapter].post, (struct software_item){.post = *post}, now);
            else
                post_one(worker, node, host, post, now);
        }
        out->posts = 0;
        if (!out->more) return;
        out->more = false;
        workload_timer(sim->workload, host->host, now, out);
    }
}

/* The workload sees a completion: of a receive `word` is what came with it, of a send its tag. */
static void tell(struct worker *worker, struct node *node, struct sim_host *host, uint32_t connection, uint32_t word,
                 bool receive, bool good, ps_t now)
{
    struct workload *workload = host->sim->workload;
    struct app_out *out = &scratch_of(worker)->out;

    if (receive)
        workload_received(workload, host->host, connection, word, now, out);
    else
        workload_sent(workload, host->host, connection, word, good, now, out);
    post_all(worker, node, host, now);
}

/* One adapter's completions, to the workload.  Receives are posted again: the peer never finds none. */
static void drain_adapter(struct worker *worker, struct node *node, struct sim_host *host, uint32_t port, ps_t now)
{
    struct sim_scratch *scratch = scratch_of(worker);
    struct sim_adapter *adapter = &host->adapter[port];
    struct sim *sim = host->sim;
    const struct nic_cqe *cqe;

    while ((cqe = nic_cq_poll(&adapter->cq)) != NULL) {
        uint32_t index = (uint32_t)(cqe->wr_id >> 32);
        bool good = cqe->status == NIC_SUCCESS;
        host->failed += !good;
        if (!good && !cqe->receive && host->failure.at == PS_NEVER)
            host->failure = (struct sim_failure){.at = now,
                                                 .src = workload_connection(sim->workload, index)->src,
                                                 .dst = workload_connection(sim->workload, index)->dst,
                                                 .qpn = sim->connection[index].qpn,
                                                 .retries = cqe->status == NIC_RETRY_EXC_ERR,
                                                 .acked_bytes = nic_qp_acked_bytes(sim->connection[index].qp)};
        if (cqe->receive) {
            struct nic_recv recv = {.wr_id = cqe->wr_id};
            if (!good) continue;
            CHECK(nic_post_recv(adapter->nic, sim->connection[index].peer_qp, &recv, now, &scratch->nic_io) == 0);
        }
        uint32_t word = cqe->receive ? cqe->imm : (uint32_t)cqe->wr_id;
        if (host->software && host->software[port].poll.delay_ps)
            software_push(&host->software[port].poll,
                          (struct software_item){
                              .post = {.connection = index, .tag = word}, .receive = cqe->receive, .good = good},
                          now);
        else
            tell(worker, node, host, index, word, cqe->receive, good, now);
    }
    CHECK(!adapter->cq.overrun);
    adapter->cq.head = adapter->cq.tail = 0; /* empty: its first line serves again, and stays near */
    adapter->deadline = nic_deadline(adapter->nic);
}

/* All adapters': what one of them completed may be posted on another, and fail there at once. */
static void drain_completions(struct worker *worker, struct node *node, struct sim_host *host, ps_t now)
{
    struct nic_io *io = &scratch_of(worker)->nic_io;

    while (io->completed) {
        io->completed = false;
        for (uint32_t i = 0; i < host->adapters; i++)
            if (host->adapter[i].cq.head != host->adapter[i].cq.tail) drain_adapter(worker, node, host, i, now);
    }
    io->kick = false; /* whoever posted asked the port already */
    host->work_at = workload_next(host->sim->workload, host->host);
}

/* What was delayed and is due. */
static void software_run(struct worker *worker, struct node *node, struct sim_host *host, ps_t now)
{
    struct software_item item;

    scratch_of(worker)->out.posts = 0;
    for (uint32_t i = 0; i < host->adapters; i++) {
        while (software_pop(&host->software[i].poll, now, &item))
            tell(worker, node, host, item.post.connection, item.post.tag, item.receive, item.good, now);
        while (software_pop(&host->software[i].post, now, &item))
            post_one(worker, node, host, &item.post, now);
    }
    drain_completions(worker, node, host, now);
}

static __attribute__((noinline)) void host_answers(struct worker *worker, struct node *node, struct sim_host *host,
                                                   uint32_t port, ps_t now)
{
    struct nic_io *io = &scratch_of(worker)->nic_io;

    if (io->pauses) node_send_pause(worker, node, port, io->pause_enable, io->pause_quanta, now);
    io->pauses = 0;
    if (io->completed) {
        drain_completions(worker, node, host, now);
        sim_host_schedule(host, node, now);
    }
}

static inline __attribute__((always_inline)) void host_after(struct worker *worker, struct node *node,
                                                             struct sim_host *host, uint32_t port, ps_t now)
{
    struct nic_io *io = &scratch_of(worker)->nic_io;
    struct sim_adapter *adapter = &host->adapter[port];

    if (io->kick) {
        io->kick = false;
        ask_port(node, port, now);
    }
    if (io->deadline != adapter->deadline) {
        adapter->deadline = io->deadline;
        sim_host_schedule(host, node, now);
    }
    if (__builtin_expect(io->completed | (io->pauses != 0), 0)) host_answers(worker, node, host, port, now);
}

static inline uint32_t host_rx(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now,
                               uint64_t next)
{
    struct sim_host *host = node->machine;
    struct nic_io *io = &scratch_of(worker)->nic_io;

    (void)next;
    nic_rx(host->adapter[port].nic, id, now, io);
    bool kick = io->kick;
    io->kick = false;
    host_after(worker, node, host, port, now);
    if (!kick) return PORT_NONE;
    node->port[port].queued = 1;
    return port;
}

static inline pkt_t host_tx(struct worker *worker, struct node *node, uint32_t port, ps_t now)
{
    struct sim_host *host = node->machine;

    pkt_t id = nic_tx(host->adapter[port].nic, now, &scratch_of(worker)->nic_io);
    scratch_of(worker)->nic_io.kick = false; /* it is being asked */
    if (id == PKT_NONE) node->port[port].queued = 0;
    host_after(worker, node, host, port, now);
    return id;
}

static void host_pause(struct worker *worker, struct node *node, uint32_t port, uint8_t enable, uint16_t quanta,
                       ps_t now)
{
    struct sim_host *host = node->machine;
    uint16_t each[NIC_PRIOS];

    for (int i = 0; i < NIC_PRIOS; i++)
        each[i] = quanta;
    nic_pause(host->adapter[port].nic, enable, each, now, &scratch_of(worker)->nic_io);
    host_after(worker, node, host, port, now);
}

static void host_tick(struct worker *worker, struct node *node, ps_t now)
{
    struct sim_host *host = node->machine;
    struct sim_scratch *scratch = scratch_of(worker);

    if (faults_next(&host->faults) <= now) faults_run(&host->faults, worker, node, now);
    for (uint32_t i = 0; i < host->adapters; i++) {
        if (host->adapter[i].deadline > now) continue;
        nic_tick(host->adapter[i].nic, now, &scratch->nic_io);
        host_after(worker, node, host, i, now);
    }
    if (host->work_at <= now) {
        scratch->out.posts = 0;
        workload_timer(host->sim->workload, host->host, now, &scratch->out);
        post_all(worker, node, host, now);
        drain_completions(worker, node, host, now);
    }
    if (host->software && software_next(host) <= now) software_run(worker, node, host, now);
    sim_host_schedule(host, node, now);
}

/* In a large fabric a queue pair is in far memory whenever it is looked at.  Here what a visit needs is fetched at
 * once, instead of one after the other. */
static inline void host_expect(struct worker *worker, struct node *node, const struct event *event, uint32_t count)
{
    const struct sim_host *host = node->machine;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = (uint32_t)event[i].key & (ENGINE_PORTS_MAX - 1);
        if (!(event[i].key & (uint64_t)EVENT_ARRIVAL << EVENT_PORT_BITS)) continue;
        const struct pkt *p = &worker->pool.hot[event[i].what];
        nic_expect(host->adapter[port].nic, p);
        if (p->opcode != OPCODE_RC_WRITE_ONLY_IMM) continue;
        uint32_t connection = workload_expect(host->sim->workload, p->imm);
        if (connection != WORKLOAD_NONE) nic_expect_post(host->sim->connection[connection].qp);
    }
}

void sim_visit_host(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {host_rx, host_tx, host_pause, host_tick, host_expect};

    scratch_of(worker)->nic_io.pool = &worker->pool;
    node_visit(worker, node, end, &calls);
}
