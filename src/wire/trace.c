/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace wire: a line of text for each packet that passes, for people who look over its shoulder.
 *
 *   12.000345 > 127.0.0.1.49152 127.0.0.1 RC SEND Only qp 0x004011 psn 17 ack? 64 B
 *
 * Seconds since the wire was opened, direction, addresses and source port, opcode, destination QP, PSN, what the
 * extended headers say, payload.  A malformed packet is told with its fault, a pause with its quanta.  Lines are
 * written one by one, unbuffered: a trace is for the moments before something dies.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/quiet.h"
#include "packet/codec.h"
#include "packet/opcode.h"
#include "wire/wire_int.h"

struct trace_wire {
    struct wrap wrap;
    uint64_t opened_ns;
    int fd;
};

/* A stamp says when it was: it is read for each packet, and nothing goes by it. */
static uint64_t stamp_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct trace_wire *trace_of(struct wire *wire)
{
    return (struct trace_wire *)wire;
}

struct line {
    char text[400];
    size_t used;
};

static __attribute__((format(printf, 2, 3))) void say(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int added = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, args);
    va_end(args);
    if (added > 0) line->used += (size_t)added;
    if (line->used >= sizeof line->text) line->used = sizeof line->text - 1;
}

static void say_headers(struct line *line, const struct pkt *pkt, const struct pkt_cold *cold)
{
    const struct opcode_info *info = opcode_info(pkt->opcode);
    if (info->flags & OP_RETH)
        say(line, " va 0x%" PRIx64 " key 0x%x len %u", pkt->rdma.va, pkt->rdma.rkey, pkt->rdma.dma_bytes);
    if (info->flags & OP_ATOMICETH)
        say(line, " va 0x%" PRIx64 " key 0x%x swap 0x%" PRIx64 " compare 0x%" PRIx64, pkt->rdma.va, pkt->rdma.rkey,
            cold->swap, cold->compare);
    if (info->flags & OP_DETH) say(line, " from 0x%06x qkey 0x%x", pkt->src_qp, pkt->ud.qkey);
    if (info->flags & OP_AETH) {
        static const char *const kinds[] = {"ack", "rnr", "reserved", "nak"};
        enum aeth_kind kind = aeth_kind(pkt->ack.syndrome);
        say(line, " %s", kinds[kind]);
        if (kind == AETH_NAK) say(line, " (%s)", nak_name(pkt->ack.syndrome & 0x1f));
        say(line, " msn %u", pkt->ack.msn);
    }
    if (info->flags & OP_IMMDT) say(line, " imm 0x%x", pkt->imm);
    if (info->flags & OP_IETH) say(line, " invalidate 0x%x", pkt->imm);
    if (pkt->flags & PKT_SOLICITED) say(line, " solicited");
    if (pkt->flags & PKT_ACK_REQUEST) say(line, " ack?");
    if (pkt->payload_bytes) say(line, " %u B", pkt->payload_bytes);
}

static void say_pause(struct line *line, const struct wire_pause *pause)
{
    say(line, "pause");
    for (unsigned priority = 0; priority < 8; priority++)
        if (pause->enable >> priority & 1) say(line, " %u:%u", priority, pause->quanta[priority]);
}

static void say_packet(struct line *line, const struct wire_packet *packet)
{
    struct pkt pkt;
    struct pkt_cold cold;
    uint32_t payload_at;
    enum codec_fault fault;
    char src[PKT_ADDR_TEXT], dst[PKT_ADDR_TEXT];
    say(line, "%s.%u %s ", pkt_addr_format(&packet->src, src), packet->sport, pkt_addr_format(&packet->dst, dst));
    if (codec_parse_bth(packet->data, packet->bytes, &pkt, &cold, &payload_at, &fault) < 0) {
        say(line, "malformed: %s (%u bytes)", codec_fault_text(fault), packet->bytes);
    } else {
        const char *name = opcode_info(pkt.opcode)->name;
        if (name)
            say(line, "%s", name);
        else
            say(line, "opcode 0x%02x", pkt.opcode);
        say(line, " qp 0x%06x psn %u", pkt.dest_qp, pkt.psn);
        say_headers(line, &pkt, &cold);
    }
    if ((packet->tos & PKT_ECN_MASK) == PKT_ECN_CE) say(line, " CE");
}

static void trace(struct trace_wire *wire, const struct wire_packet *packet, char direction)
{
    struct line line = {.used = 0};
    uint64_t time_ns = stamp_ns() - wire->opened_ns;
    say(&line, "%" PRIu64 ".%06" PRIu64 " %c ", time_ns / 1000000000, time_ns / 1000 % 1000000, direction);
    if (packet->pause)
        say_pause(&line, packet->pause);
    else
        say_packet(&line, packet);
    line.text[line.used] = '\n';
    struct quiet quiet;
    quiet_begin(&quiet);
    ssize_t wrote = write(wire->fd, line.text, line.used + 1);
    quiet_end(&quiet);
    if (wrote < 0) return; /* nobody reads: not our trouble */
}

static int trace_rx(struct wire *base, struct wire_packet *ret, unsigned max, ps_t now)
{
    struct trace_wire *wire = trace_of(base);
    int count = wire_rx(wire->wrap.inner, ret, max, now);
    for (int i = 0; i < count; i++)
        trace(wire, &ret[i], '<');
    return wrap_count(&wire->wrap, count);
}

static int trace_tx(struct wire *base, const struct wire_packet *packet, unsigned count, ps_t now)
{
    struct trace_wire *wire = trace_of(base);
    int taken = wire_tx(wire->wrap.inner, packet, count, now);
    for (int i = 0; i < taken; i++)
        trace(wire, &packet[i], '>');
    return wrap_count(&wire->wrap, taken);
}

static void trace_close(struct wire *base)
{
    wire_close(trace_of(base)->wrap.inner);
    close(trace_of(base)->fd);
    free(base);
}

static const struct wire_ops trace_ops = {
    .rx = trace_rx,
    .tx = trace_tx,
    .fd = wrap_fd,
    .deadline = wrap_deadline,
    .memory = wrap_memory,
    .add_address = wrap_add_address,
    .remove_address = wrap_remove_address,
    .close = trace_close,
};

int wire_trace_open(struct wire *inner, int fd, struct wire **ret)
{
    struct trace_wire *wire = calloc(1, sizeof *wire);
    if (!wire) return -ENOMEM;
    wrap_init(&wire->wrap, &trace_ops, inner);
    wire->fd = fd;
    wire->opened_ns = stamp_ns();
    *ret = &wire->wrap.wire;
    return 0;
}
