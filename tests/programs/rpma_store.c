/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: rpma_store serve PORT | rpma_store fill PORT
 *
 * Two peers made with librpma, on 127.0.0.1.  One offers memory; the other writes a piece, flushes, and asks by a
 * message whether the piece is there; the first compares and answers.  At the end all is read back.  librpma's users
 * take the completion of a SEND to come before that of the answer's RECV: both peers hold us to it, waiting for events
 * and polling in turn.  Each prints "rpma_store: ROUNDS rounds: right".
 */
#include <librpma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HERE "127.0.0.1"

enum { ROUNDS = 400, PIECE = 5000, STORE = ROUNDS * PIECE, MESSAGE = 64 };

struct side {
    struct rpma_peer *peer;
    struct rpma_conn *conn;
    struct rpma_cq *cq;
    struct rpma_mr_local *store_mr, *message_mr;
    unsigned char *store;
    uint32_t *message; /* what is sent, and MESSAGE bytes behind it what is received */
};

static void need(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "rpma_store: %s failed\n", what);
    exit(1);
}

static unsigned char byte(size_t place)
{
    return (unsigned char)(place * place >> 7 ^ place);
}

static void open_side(struct side *side, int usage)
{
    struct ibv_context *context;

    need(rpma_utils_get_ibv_context(HERE, RPMA_UTIL_IBV_CONTEXT_LOCAL, &context) == 0, "rpma_utils_get_ibv_context");
    need(rpma_peer_new(context, &side->peer) == 0, "rpma_peer_new");
    side->store = aligned_alloc(4096, (STORE + 4095) / 4096 * 4096);
    side->message = aligned_alloc(4096, 4096);
    need(side->store != NULL && side->message != NULL, "memory");
    memset(side->store, 0, STORE);
    need(rpma_mr_reg(side->peer, side->store, STORE, usage, &side->store_mr) == 0, "rpma_mr_reg");
    need(rpma_mr_reg(side->peer, side->message, 2 * MESSAGE, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
                     &side->message_mr) == 0,
         "rpma_mr_reg of messages");
}

static void established(struct side *side)
{
    enum rpma_conn_event event;

    need(rpma_conn_next_event(side->conn, &event) == 0 && event == RPMA_CONN_ESTABLISHED, "the connection");
    need(rpma_conn_get_cq(side->conn, &side->cq) == 0, "rpma_conn_get_cq");
}

/* The next completion has to be this one. */
static void next(struct side *side, enum ibv_wc_opcode opcode, int round, const char *what)
{
    struct ibv_wc wc;
    int got = 0, answer;

    while ((answer = rpma_cq_get_wc(side->cq, 1, &wc, &got)) == RPMA_E_NO_COMPLETION)
        if (round % 2 == 0) {
            answer = rpma_cq_wait(side->cq);
            need(answer == 0 || answer == RPMA_E_NO_COMPLETION, "rpma_cq_wait");
        }
    need(answer == 0 && got == 1 && wc.status == IBV_WC_SUCCESS, what);
    if (wc.opcode == opcode) return;
    fprintf(stderr, "rpma_store: round %d: %s was due, and opcode %d came\n", round, what, (int)wc.opcode);
    exit(1);
}

static void receive(struct side *side)
{
    need(rpma_recv(side->conn, side->message_mr, MESSAGE, MESSAGE, NULL) == 0, "rpma_recv");
}

static void say(struct side *side, uint32_t word)
{
    side->message[0] = word;
    need(rpma_send(side->conn, side->message_mr, 0, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL) == 0, "rpma_send");
}

static uint32_t heard(const struct side *side)
{
    return side->message[MESSAGE / sizeof(uint32_t)];
}

static void serve(const char *port)
{
    struct side side = {0};
    struct rpma_ep *ep;
    struct rpma_conn_req *request;
    struct rpma_conn_private_data said;
    unsigned char descriptor[255];
    size_t size;
    enum rpma_conn_event event;

    open_side(&side, RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
    need(rpma_mr_get_descriptor_size(side.store_mr, &size) == 0 && size <= sizeof descriptor, "the descriptor's size");
    need(rpma_mr_get_descriptor(side.store_mr, descriptor) == 0, "rpma_mr_get_descriptor");
    said = (struct rpma_conn_private_data){.ptr = descriptor, .len = (uint8_t)size};
    need(rpma_ep_listen(side.peer, HERE, port, &ep) == 0, "rpma_ep_listen");
    need(rpma_ep_next_conn_req(ep, NULL, &request) == 0, "rpma_ep_next_conn_req");
    need(rpma_conn_req_recv(request, side.message_mr, MESSAGE, MESSAGE, NULL) == 0, "rpma_conn_req_recv");
    need(rpma_conn_req_connect(&request, &said, &side.conn) == 0, "rpma_conn_req_connect");
    established(&side);
    for (int round = 0; round < ROUNDS; round++) {
        next(&side, IBV_WC_RECV, round, "a question's RECV");
        need(heard(&side) == (uint32_t)round, "a question");
        for (size_t i = (size_t)round * PIECE; i < (size_t)(round + 1) * PIECE; i++)
            need(side.store[i] == byte(i), "the comparison of a piece");
        receive(&side);
        say(&side, (uint32_t)round + 1);
        next(&side, IBV_WC_SEND, round, "an answer's SEND");
    }
    need(rpma_conn_next_event(side.conn, &event) == 0 && event == RPMA_CONN_CLOSED, "the end of the connection");
    need(rpma_conn_disconnect(side.conn) == 0 && rpma_conn_delete(&side.conn) == 0, "rpma_conn_delete");
    need(rpma_ep_shutdown(&ep) == 0, "rpma_ep_shutdown");
}

static void fill(const char *port)
{
    struct side side = {0};
    struct rpma_conn_req *request;
    struct rpma_conn_private_data heard_of;
    struct rpma_mr_remote *there;
    enum rpma_conn_event event;

    open_side(&side, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST);
    need(rpma_conn_req_new(side.peer, HERE, port, NULL, &request) == 0, "rpma_conn_req_new");
    need(rpma_conn_req_connect(&request, NULL, &side.conn) == 0, "rpma_conn_req_connect");
    established(&side);
    need(rpma_conn_get_private_data(side.conn, &heard_of) == 0 && heard_of.ptr != NULL, "rpma_conn_get_private_data");
    need(rpma_mr_remote_from_descriptor(heard_of.ptr, heard_of.len, &there) == 0, "rpma_mr_remote_from_descriptor");
    for (size_t i = 0; i < STORE; i++)
        side.store[i] = byte(i);
    for (int round = 0; round < ROUNDS; round++) {
        size_t place = (size_t)round * PIECE;
        need(rpma_write(side.conn, there, place, side.store_mr, place, PIECE, RPMA_F_COMPLETION_ON_ERROR, NULL) == 0,
             "rpma_write");
        need(rpma_flush(side.conn, there, place, PIECE, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS, NULL) ==
                 0,
             "rpma_flush");
        next(&side, IBV_WC_RDMA_READ, round, "the flush");
        receive(&side);
        say(&side, (uint32_t)round);
        next(&side, IBV_WC_SEND, round, "a question's SEND");
        next(&side, IBV_WC_RECV, round, "an answer's RECV");
        need(heard(&side) == (uint32_t)round + 1, "an answer");
    }
    memset(side.store, 0, STORE);
    need(rpma_read(side.conn, side.store_mr, 0, there, 0, STORE, RPMA_F_COMPLETION_ALWAYS, NULL) == 0, "rpma_read");
    next(&side, IBV_WC_RDMA_READ, 0, "the READ");
    for (size_t i = 0; i < STORE; i++)
        need(side.store[i] == byte(i), "the comparison of the READ");
    need(rpma_conn_disconnect(side.conn) == 0, "rpma_conn_disconnect");
    need(rpma_conn_next_event(side.conn, &event) == 0 && event == RPMA_CONN_CLOSED, "the end of the connection");
    need(rpma_mr_remote_delete(&there) == 0 && rpma_conn_delete(&side.conn) == 0, "rpma_conn_delete");
}

int main(int argc, char **argv)
{
    need(argc == 3, "usage: rpma_store serve|fill PORT; this");
    if (strcmp(argv[1], "serve") == 0)
        serve(argv[2]);
    else
        fill(argv[2]);
    printf("rpma_store: %d rounds: right\n", ROUNDS);
    return 0;
}
