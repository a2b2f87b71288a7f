/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port of the simulation as a capture file.
 *
 * The simulation keeps no addresses and no bytes with a packet; a frame is made of its descriptor and of what the
 * fabric says about the two ends when the descriptor is written down.  Switches route: a frame has the MAC addresses
 * of the two ends of the link it is on, and the IP addresses of the two adapters.  Payload is that of programs, zeros
 * where a job sends; the ICRC is right.  Frames are padded to 60 bytes and have no FCS, as adapters hand them up.
 *
 * Time is when the last bit is at the port, in nanoseconds of virtual time (1970 is when the run begins).
 *
 * Not there: in-band telemetry, and the sizes that `model: hpcc-ns3` gives to frames; a captured packet has the
 * headers of RoCEv2 in either case.  Nor frames of hosts that are not ours which are no RoCE: a descriptor does not
 * hold them.  A frame under way when its link goes down is shown as if it had arrived.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/tap.h"
#include "fabric/fabric.h"
#include "packet/capfile/capfile.h"
#include "packet/codec.h"
#include "packet/frame.h"
#include "sim/sim_int.h"

#define LINK_ETHERNET 1
#define FRAME_LEAST 60
#define PAYLOAD_MOST PROTO_PAYLOAD_MAX
#define FRAME_MOST (PAYLOAD_MOST + 512) /* and every header there is */
#define DUE_ALL PS_NEVER
#define WRITTEN (FABRIC_SYSTEM(FABRIC_ROCEV2) | FABRIC_SYSTEM(FABRIC_ROCEV1)) /* systems whose frames can be made */

struct sim_capture {
    struct capwriter *writer;
    struct tap tap[2]; /* what the port sends, what it gets */
    int error;         /* the first, as -errno */
};

void sim_port_mac(uint32_t port, uint8_t mac[6])
{
    mac[0] = 0x02;
    mac[1] = 0x00;
    store_be32(mac + 2, port);
}

static struct frame_path path_of(const struct fabric *fabric, const struct tap *tap, const struct pkt *pkt)
{
    struct frame_path path = {.vlan_id = 0};

    sim_port_mac(tap->from, path.smac);
    sim_port_mac(tap->to, path.dmac);
    if (pkt->kind != PKT_ROCE) return path;
    CHECK(pkt->src_node < fabric->endpoints && pkt->dst_node < fabric->endpoints);
    path.src = pkt_addr_ipv4(load_be32(fabric->endpoint[pkt->src_node].address));
    path.dst = pkt_addr_ipv4(load_be32(fabric->endpoint[pkt->dst_node].address));
    return path;
}

/* NULL: zeros.  What lies at the number of a job's packet is another packet's. */
static const uint8_t *payload_of(const struct sim *sim, const struct tap_record *record)
{
    return record->payload && !sim_qp_of_jobs(sim, record->pkt.dst_node, record->pkt.dest_qp) ? record->payload : NULL;
}

static void write_record(const struct sim *sim, struct sim_capture *capture, const struct tap *tap,
                         const struct tap_record *record)
{
    struct pkt pkt = record->pkt;
    struct frame_path path = path_of(sim->fabric, tap, &pkt);
    struct pkt_cold cold = {.swap = 0}; /* the simulation keeps no operands of atomics */
    uint8_t frame[FRAME_MOST];

    if (pkt.kind == PKT_OTHER) return;
    if (!(pkt.flags & PKT_TAGGED)) pkt.pcp = 0; /* the adapter's own note of the priority: no tag carries it */
    frame_address(&path, &pkt, &cold);
    int length = codec_emit(&pkt, &cold, payload_of(sim, record), frame, sizeof(frame));
    free(record->payload);
    if (length >= 0 && length < FRAME_LEAST) {
        memset(frame + length, 0, FRAME_LEAST - (size_t)length);
        length = FRAME_LEAST;
    }
    int error = length < 0
                    ? length
                    : capwriter_write(capture->writer, record->at / PS_NS, frame, (uint32_t)length, (uint32_t)length);
    if (error && capture->error == 0) capture->error = error;
}

/* Writes what is before `due`, both directions merged. */
static void write_due(const struct sim *sim, struct sim_capture *capture, ps_t due)
{
    struct tap *tap = capture->tap;

    for (;;) {
        ps_t at[2];
        for (int i = 0; i < 2; i++)
            at[i] = tap[i].taken < tap[i].count ? tap[i].record[tap[i].taken].at : PS_NEVER;
        int first = at[1] < at[0];
        if (at[first] >= due) break;
        write_record(sim, capture, &tap[first], &tap[first].record[tap[first].taken++]);
    }
    for (int i = 0; i < 2; i++) {
        if (tap[i].taken == 0) continue;
        memmove(tap[i].record, tap[i].record + tap[i].taken, (tap[i].count - tap[i].taken) * sizeof(*tap[i].record));
        tap[i].count -= tap[i].taken;
        tap[i].taken = 0;
    }
}

static void attach(struct sim *sim, struct tap *tap)
{
    const struct fabric_port *from = &sim->fabric->port[tap->from];
    struct node *node = engine_node(sim->engine, from->node);

    node->extra[from->index].tap = tap;
    node->port[from->index].flags |= PORT_TAP;
}

int sim_capture(struct sim *sim, uint32_t port, const struct capwriter_name *file)
{
    const struct fabric_port *own = &sim->fabric->port[port];
    struct sim_capture *capture;

    CHECK(own->peer != FABRIC_NONE);
    if (fabric_systems_used(sim->fabric) & ~WRITTEN) return -EPROTONOSUPPORT;
    for (uint32_t i = 0; i < sim->fabric->nics; i++)
        if (sim->fabric->nic[i].mtu_bytes > PAYLOAD_MOST) return -EMSGSIZE;
    if (engine_node(sim->engine, own->node)->extra[own->index].tap) return -EBUSY;
    capture = realloc(sim->capture, (sim->captures + 1u) * sizeof(*capture));
    if (capture == NULL) return -ENOMEM;
    sim->capture = capture;
    capture += sim->captures;
    *capture = (struct sim_capture){0};
    int error = capwriter_open(file->path, LINK_ETHERNET, &capture->writer);
    if (error) return error;
    capwriter_limit(capture->writer, file);
    capture->tap[0] = (struct tap){.from = port, .to = own->peer};
    capture->tap[1] = (struct tap){.from = own->peer, .to = port, .receives = true, .behind = own->propagation_ps};
    for (int i = 0; i < 2 && sim->options.programs; i++) {
        capture->tap[i].payload = sim->options.programs->payload;
        capture->tap[i].payload_owner = sim->options.programs->owner;
    }
    sim->captures++;
    for (uint32_t i = 0; i < sim->captures; i++) { /* the array may have moved */
        attach(sim, &sim->capture[i].tap[0]);
        attach(sim, &sim->capture[i].tap[1]);
    }
    return 0;
}

void sim_captures_write(struct sim *sim, ps_t now)
{
    for (uint32_t i = 0; i < sim->captures; i++)
        write_due(sim, &sim->capture[i], now);
}

int sim_capture_close(struct sim *sim, uint32_t index, uint64_t *ret_left_out)
{
    struct sim_capture *capture = &sim->capture[index];

    *ret_left_out = 0;
    if (capture->writer == NULL) return 0;
    write_due(sim, capture, DUE_ALL);
    *ret_left_out = capwriter_left_out(capture->writer);
    for (int i = 0; i < 2; i++) {
        const struct fabric_port *from = &sim->fabric->port[capture->tap[i].from];
        struct node *node = engine_node(sim->engine, from->node);
        node->port[from->index].flags &= (uint16_t)~PORT_TAP;
        node->extra[from->index].tap = NULL;
        if (capture->tap[i].forgotten && capture->error == 0) capture->error = -ENOMEM;
        free(capture->tap[i].record);
        capture->tap[i].record = NULL;
    }
    if (capture->error) capwriter_cancel(capture->writer);
    int error = capwriter_close(capture->writer);
    capture->writer = NULL;
    return capture->error ? capture->error : error;
}

void sim_capture_drop(struct sim *sim, uint32_t index)
{
    uint64_t left_out;

    if (sim->capture[index].writer) capwriter_cancel(sim->capture[index].writer);
    sim_capture_close(sim, index, &left_out);
}
