/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See rig.h.  Of src/up only the objects are here; what they ask of the session and of turns is below.
 */
#include "rig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "load/load.h"
#include "packet/codec.h"
#include "packet/mad.h"

#define SEGMENT (64u << 20)

static struct program *program_of(struct up_process *process)
{
    return (struct program *)(void *)((char *)process - offsetof(struct program, process));
}

uint64_t segment_take(struct up_process *process, uint64_t bytes)
{
    struct program *program = program_of(process);
    uint64_t at = program->taken;

    if (bytes > SEGMENT - at) return 0;
    process->segment_used = program->taken = (at + bytes + 63) & ~63ULL;
    memset(process->segment + at, 0, bytes);
    return at;
}

void segment_give(struct up_process *process, uint64_t offset, uint64_t bytes)
{
    memset(process->segment + offset, 0xee, bytes); /* nobody may read it any more */
}

int session_take_fd(struct up_process *process)
{
    struct program *program = program_of(process);
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (program->last_fd >= 0) close(program->last_fd);
    program->last_fd = dup(fd);
    return fd;
}

void session_say(const struct up_host *host, const char *command, const char *format, ...)
{
    (void)host, (void)command, (void)format;
}

void turn_event(struct up_process *process, bool readable, ps_t now)
{
    (void)readable;
    (void)now;
    program_of(process)->told++;
}

/* --- the simulation's hooks --- */

static struct node_io *io_of(struct rig *rig)
{
    return &engine_worker(sim_engine(rig->sim), 0)->io;
}

static ps_t hook_next(void *owner, uint32_t host)
{
    const struct rig *rig = owner;
    ps_t next = PS_NEVER;

    for (unsigned i = 0; i < RIG_PROGRAMS; i++) {
        const struct program *program = &rig->program[i];
        if (program->process.host != &rig->host[host]) continue;
        ps_t at = program->asks || program->ends ? 0 : post_next(&program->process);
        if (at < next) next = at;
    }
    return next;
}

static void hook_turn(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    struct rig *rig = owner;

    for (unsigned i = 0; i < RIG_PROGRAMS; i++) {
        struct program *program = &rig->program[i];
        if (program->process.host != &rig->host[host]) continue;
        post_run(&program->process, now, io);
        if (program->asks) program->request.result = cm_request(&program->process, &program->request, now, io);
        if (program->ends) cm_forget(&program->process, now, io);
        program->asks = program->ends = false;
    }
}

static void hook_received(void *owner, uint32_t host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                          struct node_io *io)
{
    payload_received(&((struct rig *)owner)->host[host], adapter, packet, now, io);
}

static bool hook_sends(void *owner, uint32_t host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io)
{
    return payload_sends(&((struct rig *)owner)->host[host], adapter, id, now, io);
}

static void hook_link(void *owner, uint32_t host, uint32_t adapter, bool link_up, ps_t now)
{
    up_device_link(&((struct rig *)owner)->host[host], adapter, link_up, now);
}

static void hook_completed(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    publish_all(&((struct rig *)owner)->host[host], now, io);
}

static bool hook_coordinate(void *owner, ps_t now)
{
    (void)owner;
    (void)now;
    return false;
}

static ps_t hook_ended(void *owner)
{
    (void)owner;
    return 0;
}

static void open_program(struct rig *rig, unsigned number)
{
    struct program *program = &rig->program[number];
    struct up_process *process = &program->process;

    *program = (struct program){.last_fd = -1};
    *process = (struct up_process){.up = &rig->up,
                                   .host = &rig->host[number ? 1 : 0],
                                   .number = number,
                                   .pid = getpid(),
                                   .socket = -1,
                                   .adopted_fd = -1};
    process->segment = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    program->memory = mmap(NULL, RIG_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    process->next = process->host->processes;
    process->host->processes = process;
    assert_true(process->segment != MAP_FAILED && program->memory != MAP_FAILED);
    process->head = (struct attach_head *)(void *)process->segment;
    program->taken = (sizeof(struct attach_head) + 4095) & ~4095ULL;
    process->head->posts_at = process->posts_at = segment_take(process, ATTACH_POSTS_BYTES);
    for (uint32_t i = 0; i < RIG_MEMORY; i++)
        program->memory[i] = (uint8_t)(i * 31 + (i >> 8) + number * 7);
    assert_int_equal(ask(program, ATTACH_OP_OPEN, 0, NULL, 0), 0);
    assert_int_equal(ask(program, ATTACH_OP_WATCH, 0, NULL, 0), 0);
    program->key = make_region(program, NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE | DEVICE_MW_BIND);
}

void rig_open(struct rig *rig, const char *nics)
{
    struct fabric_errors errors = {0};
    char text[2000];

    snprintf(text, sizeof text,
             "rocelab: 1\nfabric: three\ntopology: {single: {hosts: 3}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
             "switches: {model: tomahawk5}\nclasses:\n"
             "  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 90%%}\n"
             "  - {name: bulk, dscp: 10, priority: 1, share: 5%%}\n  - {name: default, priority: 0, share: 5%%}\n%s",
             nics);
    *rig = (struct rig){0};
    if (fabric_load("test.yaml", text, &rig->fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the fabric does not load");
    }
    rig->up.fabric = rig->fabric;
    rig->up.hooks = (struct sim_programs){.owner = rig,
                                          .qps = 64,
                                          .mrs = 63,
                                          .next = hook_next,
                                          .turn = hook_turn,
                                          .received = hook_received,
                                          .sends = hook_sends,
                                          .link = hook_link,
                                          .completed = hook_completed,
                                          .coordinate = hook_coordinate,
                                          .ended = hook_ended};
    rig->up.options.sim = (struct sim_options){
        .seed = 1, .threads = 1, .until = PS_NEVER, .packets_max = 1u << 16, .programs = &rig->up.hooks};
    assert_int_equal(sim_create(rig->fabric, &rig->up.options.sim, &rig->sim, &errors), 0);
    rig->up.sim = rig->sim;
    assert_int_equal(payload_init(&rig->up), 0);
    for (uint32_t h = 0; h < rig->fabric->hosts; h++) {
        rig->host[h] = (struct up_host){.up = &rig->up, .number = h, .node = sim_host_node(rig->sim, h)};
        rig->pairs[h] = nic_qp_count(rig->host[h].node->adapter[0].nic);
    }
    for (unsigned i = 0; i < RIG_PROGRAMS; i++)
        open_program(rig, i);
}

void rig_close(struct rig *rig)
{
    for (unsigned i = 0; i < RIG_PROGRAMS; i++) {
        struct program *program = &rig->program[i];
        up_device_close_all(&program->process, engine_now(sim_engine(rig->sim)), io_of(rig));
        adopt_release(&program->process);
        munmap(program->process.segment, SEGMENT);
        munmap(program->memory, RIG_MEMORY);
        close(program->last_fd);
    }
    for (uint32_t h = 0; h < 2; h++) {
        const struct up_adapter *adapter = &rig->host[h].adapters[0];
        assert_int_equal(nic_qp_count(adapter->nic), rig->pairs[h] + (nic_qp_find(adapter->nic, MAD_QPN) != NULL));
        cm_release(&rig->host[h]);
        assert_null(adapter->cqs);
        assert_int_equal(adapter->slot_used[0], 1);
        for (uint32_t i = 0; i < adapter->regions.keys.slots; i++)
            assert_false(adapter->regions.keys.slot[i].used);
        up_device_free(&rig->host[h]);
    }
    cm_release(&rig->host[2]); /* it may have had to refuse */
    sim_audit(rig->sim);
    payload_free(&rig->up);
    sim_free(rig->sim);
    fabric_free(rig->fabric);
}

void rig_run(struct rig *rig)
{
    for (unsigned i = 0; i < RIG_PROGRAMS; i++) {
        struct up_process *process = &rig->program[i].process;
        up_audit(process);
        post_collect(process, engine_now(sim_engine(rig->sim)));
        ps_t at = rig->program[i].asks || rig->program[i].ends ? 0 : post_next(process);
        if (at != PS_NEVER) sim_programs_wake(rig->sim, process->host->number, at);
    }
    do
        assert_int_equal(sim_advance(rig->sim, 100000, PS_NEVER), SIM_RUNNING);
    while (!sim_progress(rig->sim).idle);
    for (unsigned i = 0; i < RIG_PROGRAMS; i++)
        up_audit(&rig->program[i].process);
}

/* --- what a program does --- */

int ask(struct program *program, uint32_t op, uint32_t object, const void *data, size_t bytes)
{
    struct rig *rig = (struct rig *)program->process.up->hooks.owner;

    program->request = (struct attach_request){.op = op, .object = object};
    if (bytes) memcpy(program->request.data, data, bytes);
    ps_t now = rig->sim ? engine_now(sim_engine(rig->sim)) : 0;
    if (op == ATTACH_OP_ADOPT || op == ATTACH_OP_RELEASE) return adopt_request(&program->process, &program->request);
    return up_device_request(&program->process, &program->request, now, io_of(rig));
}

int ask_cm(struct rig *rig, struct program *program, uint32_t op, const void *data, size_t bytes)
{
    program->request = (struct attach_request){.op = op};
    if (bytes) memcpy(program->request.data, data, bytes);
    program->asks = true;
    rig_run(rig);
    return program->request.result;
}

uint32_t make_region(struct program *program, uint32_t access)
{
    const struct attach_mr mr = {.addr = (uintptr_t)program->memory,
                                 .iova = (uintptr_t)program->memory,
                                 .bytes = RIG_MEMORY,
                                 .pd = 1,
                                 .access = access};

    assert_int_equal(ask(program, ATTACH_OP_MR_CREATE, 0, &mr, sizeof mr), 0);
    return program->request.object;
}

struct cq make_cq(struct program *program, uint32_t entries, uint32_t channel)
{
    const struct attach_cq from = {.entries = entries, .channel = channel};
    struct attach_made made;

    assert_int_equal(ask(program, ATTACH_OP_CQ_CREATE, 0, &from, sizeof from), 0);
    memcpy(&made, program->request.data, sizeof made);
    return (struct cq){.program = program,
                       .number = made.number,
                       .ring = up_ring(&program->process, made.ring),
                       .entry = up_ring_entries(&program->process, made.ring),
                       .mask = made.entries - 1};
}

uint32_t make_qp(struct program *program, uint8_t transport, const struct cq *cq, uint32_t srq)
{
    const struct attach_qp from = {.pd = 1,
                                   .send_entries = 16,
                                   .recv_entries = 16,
                                   .send_sges = 4,
                                   .recv_sges = 4,
                                   .inline_bytes = 128,
                                   .send_cq = cq->number,
                                   .recv_cq = cq->number,
                                   .srq = srq,
                                   .transport = transport,
                                   .signal_all = 1};

    assert_int_equal(ask(program, ATTACH_OP_QP_CREATE, 0, &from, sizeof from), 0);
    return program->request.object;
}

struct device_path path_to(const struct rig *rig, uint32_t host)
{
    return (struct device_path){.remote = pkt_addr_ipv4(load_be32(rig->fabric->endpoint[host].address))};
}

void connect_qp(struct program *program, uint32_t qpn, const struct device_path *path, uint32_t remote_qpn)
{
    struct device_qp_attr attr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS | DEVICE_ATTR_QKEY,
                                  .state = NIC_INIT,
                                  .access = NIC_REMOTE_ALL,
                                  .qkey = 0x1111};

    assert_int_equal(ask(program, ATTACH_OP_QP_MODIFY, qpn, &attr, sizeof attr), 0);
    attr =
        (struct device_qp_attr){.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN |
                                        DEVICE_ATTR_MAX_READ_ACCEPT | (path ? DEVICE_ATTR_PATH | DEVICE_ATTR_MTU : 0u),
                                .state = NIC_RTR,
                                .mtu = 1024,
                                .remote_qp = remote_qpn,
                                .expect_psn = 77,
                                .max_read_accept = 16};
    if (path) attr.path = *path;
    assert_int_equal(ask(program, ATTACH_OP_QP_MODIFY, qpn, &attr, sizeof attr), 0);
    attr = (struct device_qp_attr){.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN | DEVICE_ATTR_TIMEOUT |
                                           DEVICE_ATTR_RETRY | DEVICE_ATTR_RNR_RETRY | DEVICE_ATTR_MAX_READ,
                                   .state = NIC_RTS,
                                   .send_psn = 77,
                                   .timeout = 14,
                                   .retry = 7,
                                   .rnr_retry = 7,
                                   .max_read = 16};
    assert_int_equal(ask(program, ATTACH_OP_QP_MODIFY, qpn, &attr, sizeof attr), 0);
}

bool next_completion(struct cq *cq, struct nic_cqe *ret)
{
    if (cq->ring->head == cq->ring->tail) return false;
    *ret = cq->entry[cq->ring->head++ & cq->mask].cqe;
    return true;
}

void expect_completion(struct cq *cq, uint64_t wr_id, enum nic_status status)
{
    struct nic_cqe cqe;

    assert_true(next_completion(cq, &cqe));
    assert_int_equal(cqe.wr_id, wr_id);
    assert_string_equal(nic_status_name(cqe.status), nic_status_name(status));
}

bool next_event(struct program *program, struct attach_event *ret)
{
    uint64_t at = program->process.head->nic[0].events;
    struct attach_ring *ring = up_ring(&program->process, at);
    const struct attach_event *event = up_ring_entries(&program->process, at);

    if (ring->head == ring->tail) return false;
    *ret = event[ring->head++ % ATTACH_EVENTS];
    return true;
}

struct attach_post *put_record(struct program *program, const struct attach_post *post, const void *behind,
                               size_t bytes)
{
    struct attach_head *head = program->process.head;
    uint8_t *ring = program->process.segment + program->process.posts_at;
    uint32_t room = (uint32_t)(sizeof *post + bytes + 63) / 64 * 64, at = head->posts.tail % ATTACH_POSTS_BYTES;

    if (room > ATTACH_POSTS_BYTES - at) { /* the rest of the ring is skipped */
        const struct attach_post skip = {.bytes = ATTACH_POSTS_BYTES - at, .kind = ATTACH_POST_SKIP};
        memcpy(ring + at, &skip, 8);
        head->posts.tail += skip.bytes;
        at = 0;
    }
    struct attach_post *put = (struct attach_post *)(void *)(ring + at);
    *put = *post;
    put->bytes = room;
    if (bytes) memcpy(put + 1, behind, bytes);
    head->posts.tail += room;
    return put;
}

void post_send(struct program *program, uint32_t qpn, struct nic_wr wr, const struct device_sge *sge, uint32_t sges)
{
    const struct attach_post post = {.kind = ATTACH_POST_SEND, .object = qpn, .sges = sges, .wr = wr};

    put_record(program, &post, sge, sges * sizeof *sge);
}

void post_receive(struct program *program, uint32_t qpn, uint64_t wr_id, struct device_sge sge)
{
    const struct attach_post post = {.kind = ATTACH_POST_RECV, .object = qpn, .sges = 1, .wr = {.wr_id = wr_id}};

    put_record(program, &post, &sge, sizeof sge);
}

struct device_sge sge_of(const struct program *program, uint64_t offset, uint32_t bytes)
{
    return (struct device_sge){.addr = (uintptr_t)program->memory + offset, .length = bytes, .key = program->key};
}
