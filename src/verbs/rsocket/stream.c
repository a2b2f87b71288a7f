/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected rsocket: slots, credits, messages.
 *
 * Bytes are copied into a send slot and posted at once; they are accepted only when the peer has room, so
 * whatever was accepted arrives as long as the peer's adapter lives.  A received slot goes back to the queue
 * when its last byte has been read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/rsocket/rsocket_int.h"

#define SLOT_STRIDE (RS_SLOT_BYTES + sizeof(struct rs_header))
#define ID_DATA 0u
#define ID_CONTROL 1u
#define ID_RECEIVE 4u /* and the slot */

void rs_greet(struct rs_greeting *ret)
{
    *ret = (struct rs_greeting){
        .magic = RS_MAGIC, .slots = RS_SLOTS, .slot_bytes = RS_SLOT_BYTES, .receives = RS_RECEIVES};
}

bool rs_greeting_fits(const void *data, size_t bytes)
{
    struct rs_greeting greeting, ours;

    if (data == NULL || bytes < sizeof greeting) return false;
    memcpy(&greeting, data, sizeof greeting);
    rs_greet(&ours);
    return memcmp(&greeting, &ours, sizeof ours) == 0;
}

static uint8_t *send_slot(struct rs *rs, uint32_t slot)
{
    return rs->memory + (size_t)(slot % RS_SLOTS) * SLOT_STRIDE;
}

static uint8_t *receive_slot(struct rs *rs, uint32_t slot)
{
    return rs->memory + (size_t)(RS_SLOTS + slot) * SLOT_STRIDE;
}

static int post_receive(struct rs *rs, uint32_t slot)
{
    struct ibv_sge sge = {.addr = (uintptr_t)receive_slot(rs, slot), .length = SLOT_STRIDE, .lkey = rs->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = ID_RECEIVE + slot, .sg_list = &sge, .num_sge = 1}, *bad;

    return ibv_post_recv(rs->id->qp, &wr, &bad);
}

int rs_prepare(struct rs *rs)
{
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1,
                                    .cap = {.max_send_wr = RS_SLOTS + RS_CONTROLS,
                                            .max_recv_wr = RS_RECEIVES,
                                            .max_send_sge = 2,
                                            .max_recv_sge = 1,
                                            .max_inline_data = 64}};
    size_t bytes = (size_t)(RS_SLOTS + RS_RECEIVES) * SLOT_STRIDE;

    rs->completions = ibv_create_comp_channel(rs->id->verbs);
    if (rs->completions == NULL) return -1;
    (void)fcntl(rs->completions->fd, F_SETFL, O_NONBLOCK);
    rs->cq = ibv_create_cq(rs->id->verbs, (int)(attr.cap.max_send_wr + RS_RECEIVES), rs, rs->completions, 0);
    if (rs->cq == NULL) return -1;
    attr.send_cq = attr.recv_cq = rs->cq;
    if (rdma_create_qp(rs->id, NULL, &attr) != 0) return -1;
    rs->memory = calloc(1, bytes);
    if (rs->memory == NULL) return -1;
    rs->mr = ibv_reg_mr(rs->id->pd, rs->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (rs->mr == NULL) return -1;
    for (uint32_t i = 0; i < RS_RECEIVES; i++) {
        int error = post_receive(rs, i);
        if (error) return rs_fail(error);
    }
    return 0;
}

static void fail(struct rs *rs, int error)
{
    if (rs->state == RS_ENDED || rs->state == RS_FAILED) return;
    rs->state = rs->state == RS_CONNECTING ? RS_FAILED : RS_ENDED;
    if (rs->error == 0) rs->error = error;
}

/* A receive whose bytes are used up goes back. */
static void give_back(struct rs *rs, uint32_t slot, bool data)
{
    if (rs->state == RS_CONNECTED || rs->state == RS_ACCEPTED) (void)post_receive(rs, slot);
    if (data) rs->freed++;
}

int rs_control(struct rs *rs, enum rs_kind kind, const struct rs_map *map)
{
    struct {
        struct rs_header header;
        struct rs_map map;
    } message = {.header = {.kind = (uint8_t)kind, .freed = rs->freed}};
    struct ibv_sge sge = {.addr = (uintptr_t)&message, .length = sizeof message.header};
    struct ibv_send_wr wr = {.wr_id = ID_CONTROL,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED},
                       *bad;

    if (rs->state != RS_CONNECTED || rs->controls == RS_CONTROLS) return -EAGAIN;
    if (map != NULL) {
        message.map = *map;
        sge.length = sizeof message;
    }
    if (ibv_post_send(rs->id->qp, &wr, &bad) != 0) return -EAGAIN;
    rs->controls++;
    rs->freed_told = rs->freed;
    return 0;
}

bool rs_control_fits(const struct rs *rs)
{
    return (rs->state == RS_CONNECTED && rs->controls < RS_CONTROLS) || rs->state == RS_ENDED || rs->state == RS_FAILED;
}

static void take_map(struct rs *rs, enum rs_kind kind, const uint8_t *data)
{
    struct rs_map map;
    unsigned i;

    memcpy(&map, data, sizeof map);
    for (i = 0; i < rs->peer_maps && rs->peer_map[i].offset != map.offset; i++)
        ;
    if (kind == RS_MAP && i < RS_MAPS_MAX) {
        rs->peer_map[i] = map;
        if (i == rs->peer_maps) rs->peer_maps++;
    } else if (kind == RS_UNMAP && i < rs->peer_maps) {
        rs->peer_map[i] = rs->peer_map[--rs->peer_maps];
    }
}

static void received(struct rs *rs, uint32_t slot, uint32_t bytes)
{
    const uint8_t *data = receive_slot(rs, slot);
    struct rs_header header;
    bool keep = false;

    if (rs->state == RS_ACCEPTED) rs->state = RS_CONNECTED; /* data is as good as the RTU */
    if (bytes < sizeof header) {
        fail(rs, EPROTO);
        return;
    }
    memcpy(&header, data, sizeof header);
    if ((int32_t)(header.freed - rs->peer_freed) > 0 && header.freed - rs->peer_freed <= RS_SLOTS)
        rs->peer_freed = header.freed;
    bytes -= (uint32_t)sizeof header;
    switch (header.kind) {
    case RS_DATA:
        keep = bytes > 0 && rs->filled_count < RS_RECEIVES;
        if (keep) {
            uint32_t at = (rs->filled_first + rs->filled_count++) % RS_RECEIVES;
            rs->filled[at].slot = slot;
            rs->filled[at].offset = sizeof header;
            rs->filled[at].bytes = bytes;
        }
        break;
    case RS_SHUT:
        rs->peer_shut = true;
        break;
    case RS_MAP:
    case RS_UNMAP:
        if (bytes >= sizeof(struct rs_map)) take_map(rs, (enum rs_kind)header.kind, data + sizeof header);
        break;
    default:
        break;
    }
    if (!keep) give_back(rs, slot, header.kind == RS_DATA);
}

static void completed(struct rs *rs, const struct ibv_wc *wc)
{
    if (wc->wr_id == ID_DATA) rs->sent_done++;
    if (wc->wr_id == ID_CONTROL && rs->controls > 0) rs->controls--;
    if (wc->status != IBV_WC_SUCCESS) {
        fail(rs, wc->status == IBV_WC_WR_FLUSH_ERR ? 0 : wc->status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : EIO);
        return;
    }
    if (wc->wr_id >= ID_RECEIVE) received(rs, (uint32_t)(wc->wr_id - ID_RECEIVE), wc->byte_len);
}

static void connection_event(struct rs *rs, const struct rdma_cm_event *event)
{
    switch (event->event) {
    case RDMA_CM_EVENT_ESTABLISHED:
        if (rs->state == RS_CONNECTING &&
            !rs_greeting_fits(event->param.conn.private_data, event->param.conn.private_data_len))
            fail(rs, ECONNREFUSED);
        else if (rs->state == RS_CONNECTING || rs->state == RS_ACCEPTED)
            rs->state = RS_CONNECTED;
        return;
    case RDMA_CM_EVENT_REJECTED:
        fail(rs, ECONNREFUSED);
        return;
    case RDMA_CM_EVENT_UNREACHABLE:
        fail(rs, ETIMEDOUT);
        return;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
        fail(rs, event->status < 0 ? -event->status : EHOSTUNREACH);
        return;
    case RDMA_CM_EVENT_DISCONNECTED:
        rs->peer_shut = true;
        fail(rs, 0);
        return;
    default:
        return;
    }
}

static void take_completions(struct rs *rs)
{
    struct ibv_wc wc[16];

    for (int rounds = 0; rs->cq != NULL && rounds < 64; rounds++) {
        int count = ibv_poll_cq(rs->cq, 16, wc);
        for (int i = 0; i < count; i++)
            completed(rs, &wc[i]);
        if (count < 16) break;
    }
}

void rs_progress(struct rs *rs)
{
    struct rdma_cm_event *event;

    if (rs->state == RS_LISTENING || rs->channel == NULL) return;
    take_completions(rs);
    for (int i = 0; i < 8 && rs->state != RS_ENDED && rdma_get_cm_event(rs->channel, &event) == 0; i++) {
        connection_event(rs, event);
        (void)rdma_ack_cm_event(event);
        /* What came before the end of the connection may have come after the look above. */
        if (rs->state == RS_ENDED) take_completions(rs);
    }
    if (rs->shut_write && !rs->shut_told) rs->shut_told = rs_control(rs, RS_SHUT, NULL) == 0;
    if (rs->freed - rs->freed_told >= RS_SLOTS / 2) (void)rs_control(rs, RS_CREDIT, NULL);
}

bool rs_readable(const struct rs *rs)
{
    return rs->filled_count > 0 || rs->peer_shut || rs->shut_read || rs->state == RS_ENDED || rs->state == RS_FAILED;
}

bool rs_writable(const struct rs *rs)
{
    if (rs->state == RS_ENDED || rs->state == RS_FAILED || rs->shut_write) return true; /* to be told so */
    return rs->state == RS_CONNECTED && rs->sent - rs->sent_done < RS_SLOTS && rs->messages - rs->peer_freed < RS_SLOTS;
}

size_t rs_push(struct rs *rs, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    size_t done = 0;

    while (done < bytes && rs->state == RS_CONNECTED && rs_writable(rs)) {
        uint32_t now = bytes - done < RS_SLOT_BYTES ? (uint32_t)(bytes - done) : RS_SLOT_BYTES;
        struct rs_header header = {.kind = RS_DATA, .freed = rs->freed};
        uint8_t *slot = send_slot(rs, rs->sent);
        struct ibv_sge sge = {.addr = (uintptr_t)slot, .length = now + (uint32_t)sizeof header, .lkey = rs->mr->lkey};
        struct ibv_send_wr wr = {.wr_id = ID_DATA,
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED},
                           *bad;

        memcpy(slot, &header, sizeof header);
        memcpy(slot + sizeof header, from + done, now);
        if (ibv_post_send(rs->id->qp, &wr, &bad) != 0) break;
        rs->freed_told = rs->freed;
        rs->sent++;
        rs->messages++;
        done += now;
    }
    return done;
}

size_t rs_pull(struct rs *rs, void *data, size_t bytes, bool peek)
{
    uint32_t at = 0;
    size_t done = 0;

    while (done < bytes && at < rs->filled_count) {
        uint32_t index = (rs->filled_first + at) % RS_RECEIVES;
        size_t now = rs->filled[index].bytes < bytes - done ? rs->filled[index].bytes : bytes - done;

        memcpy((uint8_t *)data + done, receive_slot(rs, rs->filled[index].slot) + rs->filled[index].offset, now);
        done += now;
        if (peek) {
            at++;
            continue;
        }
        rs->filled[index].offset += (uint32_t)now;
        rs->filled[index].bytes -= (uint32_t)now;
        if (rs->filled[index].bytes > 0) break;
        rs->filled_first = (rs->filled_first + 1) % RS_RECEIVES;
        rs->filled_count--;
        give_back(rs, rs->filled[index].slot, true);
    }
    return done;
}

int rs_write(struct rs *rs, const void *data, uint32_t bytes, uint64_t address, uint32_t key)
{
    uint32_t slot = rs->sent; /* a send slot is borrowed */
    struct ibv_sge sge = {.addr = (uintptr_t)send_slot(rs, slot), .length = bytes, .lkey = rs->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = ID_DATA,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {.remote_addr = address, .rkey = key}},
                       *bad;

    if (rs->state != RS_CONNECTED || rs->sent - rs->sent_done >= RS_SLOTS) return -EAGAIN;
    memcpy(send_slot(rs, slot), data, bytes);
    if (ibv_post_send(rs->id->qp, &wr, &bad) != 0) return -EIO;
    rs->sent++;
    return 0;
}
