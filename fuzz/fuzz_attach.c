/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric under hostile programs: each may ask for anything, post anything, and write anything into its own segment.
 *
 * Three programs on two hosts share adapters with each other.  The script makes objects, connects queue pairs, posts
 * records with any field wrong, spoils rings and their indices, asks for objects that are not theirs, and lets time
 * pass.  The fabric refuses or does it; nothing of another program changes, and when all have gone nothing of theirs is
 * left (rig_close).  Only the addresses of memory are kept within the program's own: they are all in one process here.
 */
#include <string.h>

#include "../tests/up/rig.h"
#include "base/check.h"

#define STEPS_MAX 200u
#define WINDOWS 400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct script {
    const uint8_t *at, *end;
} script;

static uint32_t take(void)
{
    return script.at < script.end ? *script.at++ : 0;
}

static uint32_t take32(void)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++)
        value = value << 8 | take();
    return value;
}

/* A number that may be an object's: small ones are. */
static uint32_t take_number(void)
{
    uint32_t byte = take();

    return byte == 255 ? take32() : byte % 24;
}

static void fill(void *to, size_t bytes)
{
    uint8_t *at = to;

    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)take();
}

/* Within its memory, and at times a byte beyond what fits. */
static struct device_sge take_sge(const struct program *program)
{
    uint32_t offset = take() * 64u, bytes = take() * 32u;

    return (struct device_sge){.addr = (uintptr_t)program->memory + offset % RIG_MEMORY,
                               .length = bytes,
                               .key = take() % 8 ? program->key : take32()};
}

static void ask_region(struct program *program)
{
    struct attach_mr mr = {.addr = (uintptr_t)program->memory + take() * 64u, .bytes = take() * 64u};

    mr.iova = take() % 2 ? mr.addr : take32();
    mr.pd = take_number();
    mr.access = take();
    mr.mask = take() % 8;
    (void)ask(program, take() % 2 ? ATTACH_OP_MR_CREATE : ATTACH_OP_MR_CHANGE, take() % 2 ? 0 : program->key + take(),
              &mr, sizeof mr);
}

static void ask_qp(struct program *program)
{
    struct attach_qp qp = {
        .pd = take_number(), .send_entries = take(), .recv_entries = take(), .send_sges = take() % 40};

    qp.recv_sges = take() % 40;
    qp.inline_bytes = take() * 32;
    qp.send_cq = take_number();
    qp.recv_cq = take_number();
    qp.srq = take() % 4 ? 0 : take_number();
    qp.transport = (uint8_t)(take() % 5);
    qp.signal_all = (uint8_t)(take() % 2);
    (void)ask(program, ATTACH_OP_QP_CREATE, 0, &qp, sizeof qp);
}

static void ask_modify(const struct rig *rig, struct program *program, uint32_t object)
{
    struct device_qp_attr attr = {0};

    if (take() % 4 == 0) fill(&attr, sizeof attr);
    attr.mask = take() % 4 ? (1u << 14) - 1 : take32();
    attr.state = (uint8_t)(take() % 9);
    attr.path = path_to(rig, take() % 2);
    if (take() % 8 == 0) fill(&attr.path, sizeof attr.path);
    attr.mtu = (uint16_t)(take() % 4 ? 1024 : take() * 64);
    attr.remote_qp = take_number() + take() % 32;
    attr.access = (uint8_t)take();
    attr.timeout = (uint8_t)(take() % 32);
    attr.retry = (uint8_t)(take() % 8);
    attr.rnr_retry = (uint8_t)(take() % 8);
    attr.max_read = attr.max_read_accept = (uint8_t)take();
    (void)ask(program, ATTACH_OP_QP_MODIFY, object, &attr, sizeof attr);
}

/* Requests that change memory's addresses are made by ask_region() alone. */
static bool is_wild(uint32_t op)
{
    return op == ATTACH_OP_MR_CREATE || op == ATTACH_OP_MR_CHANGE || op == ATTACH_OP_ADOPT || op == ATTACH_OP_RELEASE ||
           op == ATTACH_OP_CQ_CREATE || op == ATTACH_OP_SRQ_CREATE || op == ATTACH_OP_CQ_RESIZE;
}

static void ask_any(struct program *program)
{
    uint8_t bytes[64];
    uint32_t op = take() % (ATTACH_OPS + 2);

    fill(bytes, sizeof bytes);
    if (is_wild(op)) {
        uint32_t entries[4] = {take_number() * 8, take_number(), take_number(), take_number()};
        memcpy(bytes, entries, sizeof entries);
        if (op < ATTACH_OP_CQ_CREATE) return;
    }
    if (op == ATTACH_OP_ADOPT || op == ATTACH_OP_RELEASE) return;
    (void)ask(program, op, take_number(), bytes, sizeof bytes);
}

static void post(struct program *program)
{
    struct device_sge sge[4];
    struct attach_post record = {.kind = (uint16_t)(take() % 6), .object = take_number(), .sges = take() % 6};

    record.nic = take() % 16 ? 0 : take();
    record.copied = take() % 4 == 0;
    record.data_bytes = record.copied ? take() : 0;
    record.flags = (uint8_t)take();
    record.at = take() % 8 ? 0 : take32();
    record.wr = (struct nic_wr){.wr_id = take(),
                                .verb = (uint8_t)(take() % (NIC_VERBS + 1)),
                                .flags = (uint8_t)take(),
                                .remote_va = (uintptr_t)program->memory + take() * 256,
                                .rkey = take() % 4 ? program->key : take32(),
                                .dest = take_number(),
                                .dest_qp = take_number(),
                                .qkey = 0x1111};
    for (unsigned i = 0; i < 4; i++)
        sge[i] = take_sge(program);
    struct attach_head *head = program->process.head;
    head->posts.tail = (head->posts.tail + 63) & ~63u;
    struct attach_post *there = put_record(program, &record, sge, sizeof sge);
    if (take() % 8 == 0) there->bytes = take32();
    if (take() % 8 == 0) there->sges = take32();
}

static void spoil(struct program *program)
{
    struct attach_head *head = program->process.head;

    switch (take() % 4) {
    case 0:
        head->posts.tail += take32();
        break;
    case 1:
        head->posts_at = (uint64_t)take32() << (take() % 33);
        break;
    case 2: /* the rings of completions, and whatever else is there */
        fill(program->process.segment + program->taken - take() % 64 * 64 - 64, 64);
        break;
    default:
        fill(&head->nic[0], sizeof head->nic[0]);
        break;
    }
}

static void step(struct rig *rig, struct program *program)
{
    switch (take() % 12) {
    case 0:
        ask_region(program);
        break;
    case 1:
        ask_qp(program);
        break;
    case 2:
    case 3:
        ask_modify(rig, program, take_number());
        break;
    case 4:
    case 5:
        ask_any(program);
        break;
    case 6:
    case 7:
    case 8:
        post(program);
        break;
    case 9:
        spoil(program);
        break;
    default:
        post_collect(&program->process, 0);
        up_audit(&program->process);
        sim_programs_wake(rig->sim, program->process.host->number, 0);
        (void)sim_advance(rig->sim, WINDOWS, PS_NEVER);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rig rig;

    script = (struct script){data, data + size};
    rig_open(&rig, take() % 2 ? "nics: {recovery: selective}\n" : "");
    for (unsigned i = 0; i < RIG_PROGRAMS; i++) { /* something to begin with */
        struct cq cq = make_cq(&rig.program[i], 16, 0);
        struct device_path to = path_to(&rig, i ? 0 : 1);
        uint32_t qpn = make_qp(&rig.program[i], (uint8_t)(take() % 3), &cq, 0);
        if (take() % 4) connect_qp(&rig.program[i], qpn, &to, take_number() + 16);
    }
    for (unsigned i = 0; i < STEPS_MAX && script.at < script.end; i++)
        step(&rig, &rig.program[take() % RIG_PROGRAMS]);
    rig_close(&rig);
    return 0;
}
