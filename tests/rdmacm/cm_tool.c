/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that do nothing, for tests that disturb them.
 *
 *   cm_tool serve PORT BACKLOG   accepts whoever asks, for ever; says "listening", and each event with its connection
 *   cm_tool connect ADDRESS PORT connects, says "connected", and stays until its input ends or the connection does
 *   cm_tool send ADDRESS PORT    connects, sends one message, for which there is no receive, and says what became of it
 *                                and after how many milliseconds
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static int fail(const char *what)
{
    fprintf(stderr, "cm_tool: %s: %s\n", what, strerror(errno));
    return 1;
}

static int make_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

    return rdma_create_qp(id, NULL, &attr);
}

static void let_go(struct rdma_cm_id *id)
{
    rdma_destroy_qp(id);
    (void)rdma_destroy_id(id);
}

static void served(struct rdma_cm_event *event)
{
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
    struct rdma_cm_id *id = event->id;
    enum rdma_cm_event_type kind = event->event;

    printf("%s %p\n", rdma_event_str(kind), (void *)id);
    (void)rdma_ack_cm_event(event);
    switch (kind) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        if (make_qp(id) == 0 && rdma_accept(id, &param) == 0) return;
        break;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_UNREACHABLE:
        break;
    default:
        return;
    }
    let_go(id);
}

static int serve(const char *port, int backlog)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htobe16((uint16_t)strtoul(port, NULL, 10))};
    struct rdma_cm_id *listener;
    struct rdma_cm_event *event;

    if (channel == NULL || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) != 0) return fail("creating an id");
    if (rdma_bind_addr(listener, (struct sockaddr *)&address) != 0) return fail("binding");
    if (rdma_listen(listener, backlog) != 0) return fail("listening");
    puts("listening");
    while (rdma_get_cm_event(channel, &event) == 0)
        served(event);
    return fail("waiting for an event");
}

/* 0: as expected; -1: another. */
static int take(struct rdma_event_channel *channel, enum rdma_cm_event_type expected)
{
    struct rdma_cm_event *event;
    enum rdma_cm_event_type kind;

    if (rdma_get_cm_event(channel, &event) != 0) return fail("waiting for an event");
    kind = event->event;
    (void)rdma_ack_cm_event(event);
    if (kind == expected) return 0;
    printf("%s\n", rdma_event_str(kind));
    return -1;
}

static int resolve(struct rdma_cm_id *id, const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;

    if (getaddrinfo(host, port, &hints, &found) != 0) return -1;
    if (rdma_resolve_addr(id, NULL, found->ai_addr, 2000) != 0) return -1;
    freeaddrinfo(found);
    return 0;
}

/* NULL: said why. */
static struct rdma_cm_id *connected(const char *host, const char *port)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    const char *failed = NULL;
    struct rdma_cm_id *id;

    if (channel == NULL || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0)
        failed = "creating an id";
    else if (resolve(id, host, port) != 0 || take(channel, RDMA_CM_EVENT_ADDR_RESOLVED) != 0)
        failed = "resolving";
    else if (rdma_resolve_route(id, 2000) != 0 || take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED) != 0)
        failed = "routing";
    else if (make_qp(id) != 0)
        failed = "creating a queue pair";
    else if (rdma_connect(id, &param) != 0 || take(channel, RDMA_CM_EVENT_ESTABLISHED) != 0)
        failed = "connecting";
    if (failed == NULL) return id;
    (void)fail(failed);
    return NULL;
}

static double milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int send_to(const char *host, const char *port)
{
    struct rdma_cm_id *id = connected(host, port);
    static char text[64] = "no receive is there for this";
    struct ibv_wc wc;

    if (id == NULL) return 1;
    struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof text);
    double begin = milliseconds();
    if (mr == NULL || rdma_post_send(id, NULL, text, sizeof text, mr, IBV_SEND_SIGNALED) != 0) return fail("sending");
    if (rdma_get_send_comp(id, &wc) != 1) return fail("waiting for a completion");
    printf("%s after %.3f ms\n", ibv_wc_status_str(wc.status), milliseconds() - begin);
    return wc.status == IBV_WC_RNR_RETRY_EXC_ERR ? 0 : 3;
}

static int connect_to(const char *host, const char *port)
{
    struct rdma_cm_id *id = connected(host, port);
    char byte;

    if (id == NULL) return 1;
    struct rdma_event_channel *channel = id->channel;
    puts("connected");
    for (;;) {
        struct pollfd fds[2] = {{.fd = channel->fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}};

        if (poll(fds, 2, -1) < 0) return fail("waiting");
        if (fds[0].revents) { /* the other side was first */
            int error = take(channel, RDMA_CM_EVENT_DISCONNECTED);
            if (error == 0) puts("RDMA_CM_EVENT_DISCONNECTED");
            let_go(id);
            rdma_destroy_event_channel(channel);
            return error == 0 ? 3 : 1;
        }
        if (fds[1].revents && read(0, &byte, 1) <= 0) break;
    }
    if (rdma_disconnect(id) != 0 || take(channel, RDMA_CM_EVENT_DISCONNECTED) != 0) return fail("disconnecting");
    let_go(id);
    rdma_destroy_event_channel(channel);
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 4 && strcmp(argv[1], "serve") == 0) return serve(argv[2], (int)strtoul(argv[3], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "connect") == 0) return connect_to(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "send") == 0) return send_to(argv[2], argv[3]);
    fputs("usage: cm_tool serve PORT BACKLOG | connect ADDRESS PORT | send ADDRESS PORT\n", stderr);
    return 2;
}
