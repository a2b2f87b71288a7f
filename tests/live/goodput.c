/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goodput FAULT [MEGABYTES [MTU [LOG2_TIMEOUT]]]: RDMA WRITEs of 1 MB, eight at a time, from one adapter to another in
 * this process over a udp wire with the fault, and what that took: MB/s and the counters of loss recovery.
 * ROCELAB_RECOVERY and ROCELAB_CC say how.  A tool to measure with; the last write is compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/check.h"
#include "live/live_int.h"
#include "torture_alone.h"

#define MESSAGE (1u << 20)
#define DEPTH 8u

struct end {
    struct device *live;
    struct device_cq *cq;
    struct device_qp *qp;
    struct device_mr *mr;
    uint8_t *memory;
};

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void end_open(struct end *end)
{
    struct device_info *list, device;
    unsigned count;
    char why[200];

    CHECK(device_list(&list, &count) == 0 && count > 0);
    device = list[0];
    free(list);
    if (live_open_alone(&device, &end->live, why, sizeof why) < 0) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    end->memory = mmap(NULL, MESSAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(end->memory != MAP_FAILED);
    CHECK(device_mr_create(end->live, 1, end->memory, MESSAGE, (uintptr_t)end->memory,
                           NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE, &end->mr) == 0);
    CHECK(device_cq_create(end->live, 64, NULL, NULL, &end->cq) == 0);
    struct device_qp_init init = {
        .transport = NIC_RC, .pd = 1, .send_entries = DEPTH, .send_sges = 1, .send_cq = end->cq, .recv_cq = end->cq};
    CHECK(device_qp_create(end->live, &init, &end->qp) == 0);
}

static void end_connect(struct end *end, const struct end *other, uint16_t mtu, uint8_t timeout)
{
    struct device_qp_attr init = {
        .mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS, .state = NIC_INIT, .access = NIC_REMOTE_ALL};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP,
                                 .state = NIC_RTR,
                                 .mtu = mtu,
                                 .path = {.remote = device_info_of(other->live)->gid[0].addr},
                                 .remote_qp = device_qp_number(other->qp)};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_TIMEOUT | DEVICE_ATTR_RETRY |
                                         DEVICE_ATTR_RNR_RETRY,
                                 .state = NIC_RTS,
                                 .timeout = timeout,
                                 .retry = 7,
                                 .rnr_retry = 7};
    CHECK(device_qp_modify(end->qp, &init) == 0 && device_qp_modify(end->qp, &rtr) == 0);
    CHECK(device_qp_modify(end->qp, &rts) == 0);
}

static bool transfer(struct end *from, const struct end *to, unsigned messages)
{
    struct device_sge sge = {.addr = (uintptr_t)from->memory, .length = MESSAGE, .key = device_mr_key(from->mr)};
    struct device_send send = {.sge = &sge, .sges = 1};
    unsigned posted = 0, done = 0;

    send.wr = (struct nic_wr){
        .verb = NIC_WRITE, .flags = NIC_SIGNALED, .remote_va = (uintptr_t)to->memory, .rkey = device_mr_key(to->mr)};
    while (done < messages) {
        struct nic_cqe cqe;
        while (posted < messages && posted - done < DEPTH && device_post_send(from->qp, &send, false) == 0)
            posted++;
        if (device_poll(from->cq, &cqe, 1) != 1) continue;
        if (cqe.status != NIC_SUCCESS) {
            printf("write %u of %u: %s\n", done, messages, nic_status_name(cqe.status));
            return false;
        }
        done++;
    }
    return true;
}

int main(int argc, char **argv)
{
    unsigned messages = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;
    uint16_t mtu = argc > 3 ? (uint16_t)strtoul(argv[3], NULL, 10) : 4096;
    uint8_t timeout = argc > 4 ? (uint8_t)strtoul(argv[4], NULL, 10) : 14;
    char folder[ALONE_FOLDER];
    struct end end[2] = {{.live = NULL}, {.live = NULL}};

    alone_begin(folder);
    if (argc > 1 && argv[1][0]) setenv("ROCELAB_FAULT", argv[1], 1);
    for (int e = 0; e < 2; e++)
        end_open(&end[e]);
    for (int e = 0; e < 2; e++)
        end_connect(&end[e], &end[!e], mtu, timeout);
    for (uint32_t i = 0; i < MESSAGE; i++)
        end[0].memory[i] = (uint8_t)(i * 2654435761u >> 13);
    double begun = seconds();
    bool right = transfer(&end[0], &end[1], messages) && memcmp(end[0].memory, end[1].memory, MESSAGE) == 0;
    double took = seconds() - begun;
    const struct nic_counters *sent = live_counters(end[0].live), *came = live_counters(end[1].live);
    printf(
        "%s: %.1f MB/s; lost %llu, sent again %llu, NAKs %llu, timeouts %llu; marked %llu, CNPs sent %llu, "
        "handled %llu, rate %.3f Gb/s\n",
        right ? "right" : "WRONG", messages * 1.048576 / took,
        (unsigned long long)(live_wire_counters(end[0].live)->fault_lost + live_wire_counters(end[1].live)->fault_lost),
        (unsigned long long)sent->retransmitted_packets, (unsigned long long)came->tx_nak_sequence,
        (unsigned long long)sent->local_ack_timeout_err, (unsigned long long)came->np_ecn_marked_roce_packets,
        (unsigned long long)came->np_cnp_sent, (unsigned long long)sent->rp_cnp_handled,
        (double)nic_qp_rate(end[0].qp->nic) * 1e-9);
    for (int e = 0; e < 2; e++) {
        device_qp_destroy(end[e].qp);
        device_cq_destroy(end[e].cq);
        device_mr_destroy(end[e].mr);
        device_close(end[e].live);
    }
    alone_end(folder);
    return right ? 0 : 1;
}
