/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs of programs as flows: what each has sent, to whom, from its first post to its last completion.
 *
 * A flow is one connection of a queue pair.  One that is reset and connected anew is another flow, and one that has
 * sent nothing is none.  Flows outlive their queue pairs: the report is made at the end.  They belong to the host's
 * visit, as queue pairs do.
 */
#include <stdlib.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "up/objects/flow.h"

void up_flow_begin(struct device_qp *qp)
{
    struct up_host *host = qp->device->process->host;

    if (qp->flow == NULL || qp->flow->sum.messages || qp->flow->arrived) {
        struct up_flow *made = calloc(1, sizeof *made);
        qp->flow = made; /* without memory it is missing in the report */
        if (made == NULL) return;
        made->id = host->flows ? host->flows->id + 1 : 0;
        made->next = host->flows;
        host->flows = made;
    }
    bool datagrams = qp->config.transport == NIC_UD;
    qp->flow->process = qp->device->process;
    qp->flow->sum = (struct up_flow_result){.endpoint = qp->device->adapter->endpoint,
                                            .peer = datagrams ? UINT32_MAX : qp->config.remote,
                                            .qpn = qp->qpn,
                                            .remote_qpn = datagrams ? 0 : qp->config.remote_qp,
                                            .first = PS_NEVER,
                                            .last = PS_NEVER};
}

void up_flow_posted(const struct device_qp *qp, const struct nic_wr *wr, ps_t at)
{
    struct up_flow *flow = qp->flow;

    if (flow == NULL || wr->verb >= NIC_BIND_MW) return;
    if (flow->sum.messages++ == 0) flow->sum.first = at;
    flow->sum.bytes += wr->length;
    up_message_posted(flow, qp->device->process, wr, at);
}

void up_flow_completed(struct device_cq *cq, ps_t now)
{
    for (uint32_t i = cq->published; i != cq->nic.tail; i++) {
        const struct nic_cqe *cqe = &cq->nic.slot[i & cq->nic.mask];
        const struct device_qp *qp = up_qp_find(cq->device, cqe->qpn);
        if (qp == NULL || qp->flow == NULL) continue;
        up_message_completed(cq, i, qp, cqe->receive, now);
        if (cqe->receive) continue;
        qp->flow->sum.last = now;
        qp->flow->sum.failed += cqe->status != NIC_SUCCESS;
    }
}

void up_flows_free(struct up_host *host)
{
    while (host->flows) {
        struct up_flow *flow = host->flows;
        host->flows = flow->next;
        free(flow->message);
        free(flow);
    }
}

static uint64_t goodput(const struct up_flow_result *flow)
{
    if (flow->last == PS_NEVER || flow->last <= flow->first || flow->failed) return 0;
    u128 rate = (u128)flow->bytes * 8 * PS_S / (flow->last - flow->first);
    return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

uint32_t up_flows(const struct up *up, struct up_flow_result *ret, uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t h = 0; h < up->fabric->hosts; h++) {
        uint32_t first = count;
        for (const struct up_flow *flow = up->host[h].flows; flow; flow = flow->next) {
            if (flow->sum.messages == 0) continue;
            if (count < most) {
                ret[count] = flow->sum;
                ret[count].pid = flow->process->pid;
                ret[count].command = flow->process->command;
                ret[count].goodput_bps = goodput(&flow->sum);
            }
            count++;
        }
        for (uint32_t a = first, b = count; count <= most && a + 1 < b; a++) { /* the last came first */
            struct up_flow_result moved = ret[a];
            ret[a] = ret[--b];
            ret[b] = moved;
        }
    }
    return count;
}
