/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the swarm covered: sums over all runs.  A required line that is 0 means that a part of the product went
 * untested while all was green.
 */
#include <stdio.h>
#include <string.h>

#include "swarm.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define COVER_LIST(X)                                                                                                  \
    X(runs, 1, "runs")                                                                                                 \
    X(hops, 1, "packet-hops")                                                                                          \
    X(done, 1, "runs whose jobs all ended")                                                                            \
    X(failed, 0, "runs with failed work requests")                                                                     \
    X(threads, 1, "runs repeated with 3 threads")                                                                      \
    X(by_loop, 1, "runs repeated by the plain loop, over real bytes")                                                  \
    X(tiles, 1, "runs repeated without tiles")                                                                         \
    X(xoff, 1, "PFC: XOFF by switches")                                                                                \
    X(refresh, 1, "PFC: XOFF repeated before it expires")                                                              \
    X(xon, 1, "PFC: XON by switches")                                                                                  \
    X(nic_xoff, 1, "PFC: XOFF by adapters (slow receiver)")                                                            \
    X(nic_paused, 1, "PFC: adapters paused")                                                                           \
    X(headroom, 1, "groups that used their headroom")                                                                  \
    X(headroom_pool, 1, "groups that used a shared headroom pool")                                                     \
    X(lossless, 1, "ports with headroom for the worst case, judged for loss")                                          \
    X(watchdog, 1, "watchdog: storms detected")                                                                        \
    X(restored, 1, "watchdog: storms ended")                                                                           \
    X(drop_buffer, 1, "drops: lossy class above its threshold")                                                        \
    X(drop_headroom, 1, "drops: lossless class with too little headroom")                                              \
    X(drop_egress, 1, "drops: egress limit")                                                                           \
    X(drop_port_down, 1, "drops: port down")                                                                           \
    X(drop_watchdog, 1, "drops: watchdog")                                                                             \
    X(marks, 1, "ECN marks")                                                                                           \
    X(marks_judged, 1, "ECN marks judged by the queue's length")                                                       \
    X(cnps, 1, "CNPs")                                                                                                 \
    X(strict, 1, "schedulers: choices of a strict queue before another")                                               \
    X(fair, 1, "schedulers: weighted choices checked")                                                                 \
    X(windows, 1, "packets sent under a window in packets")                                                            \
    X(rnr, 1, "RNR NAKs")                                                                                              \
    X(naks, 1, "sequence NAKs")                                                                                        \
    X(rewinds, 1, "sequence NAKs obeyed at once (go-back-N, go-back-0)")                                               \
    X(implied, 1, "responses after a gap")                                                                             \
    X(timeouts, 1, "timeouts")                                                                                         \
    X(go_back_n, 1, "packets repeated: go-back-N")                                                                     \
    X(go_back_0, 1, "packets repeated: go-back-0")                                                                     \
    X(selective, 1, "packets repeated: selective repeat")                                                              \
    X(reordered, 1, "packets kept after a gap (selective repeat)")                                                     \
    X(duplicates, 1, "duplicate requests")                                                                             \
    X(sends, 1, "SENDs")                                                                                               \
    X(writes, 1, "WRITEs")                                                                                             \
    X(reads, 1, "READs")                                                                                               \
    X(atomics, 1, "atomics")                                                                                           \
    X(uc, 1, "packets of unreliable connections")                                                                      \
    X(ud, 1, "datagrams")                                                                                              \
    X(unreliable_lost, 1, "unreliable packets without a receive or after a gap")                                       \
    X(shared, 1, "messages that took a shared receive")                                                                \
    X(acks_apart, 1, "runs with READs and ACKs in a class of their own")                                               \
    X(slow_line, 1, "runs with a slow line")                                                                           \
    X(bare, 1, "runs of model hpcc-ns3")                                                                               \
    X(v1, 1, "runs of RoCEv1")                                                                                         \
    X(lost, 1, "packets lost on lines")                                                                                \
    X(flaps, 1, "runs with a link that went down")                                                                     \
    X(dcqcn, 1, "runs with DCQCN")                                                                                     \
    X(hpcc, 1, "runs with HPCC")                                                                                       \
    X(cut_through, 1, "runs with cut-through switches")                                                                \
    X(dequeue, 1, "runs that mark at dequeue")                                                                         \
    X(cells, 1, "runs with cells")                                                                                     \
    X(rings, 1, "runs with a collective")                                                                              \
    X(routes, 1, "large fabrics whose routes were walked")                                                             \
    X(switch_storms, 1, "runs with a storm from a switch")                                                             \
    X(after, 1, "runs with a job that waits for another")                                                              \
    X(xons, 1, "XON: judged by the group's fill")                                                                      \
    X(xoffs, 1, "XOFF: judged by the group's fill")                                                                    \
    X(renewals, 1, "XOFF: judged by the time of the last")                                                             \
    X(detected, 1, "watchdog: judged by the time a queue stood still")                                                 \
    X(ended, 1, "watchdog: ends judged")                                                                               \
    X(naks_due, 1, "sequence NAKs that were due")                                                                      \
    X(acks_due, 1, "ACKs that were due")                                                                               \
    X(cnps_due, 1, "CNPs that were due")                                                                               \
    X(timers, 1, "repeats judged by the timer")                                                                        \
    X(failures, 1, "failed requests judged by their tries")                                                            \
    X(forms, 1, "packets judged by their form")                                                                        \
    X(paced, 1, "packets judged by their queue pair's rate")                                                           \
    X(reads_limited, 1, "READs and atomics judged by their limit")                                                     \
    X(fences, 1, "requests behind a fence")                                                                            \
    X(ring_bytes, 1, "queue pairs of collectives judged by their bytes")                                               \
    X(software_waits, 1, "posts and completions that waited for software")                                             \
    X(adaptive, 1, "repeats by a timer that adapted")                                                                  \
    X(naks_again, 1, "runs with NAKs said again")                                                                      \
    X(one_way, 1, "runs with losses in one way")                                                                       \
    X(poisson_named, 1, "Poisson jobs with senders or receivers named")                                                \
    X(followers, 1, "transfers that began after another")                                                              \
    X(egress, 1, "drops judged by the queue's limit")                                                                  \
    X(bad_days, 1, "runs with a bad day")                                                                              \
    X(for_good, 1, "runs with a link that goes down for good")                                                         \
    X(resets, 1, "runs with a switch that goes down")                                                                  \
    X(lanes, 1, "runs with a slow line between switches")                                                              \
    X(bit_errors, 1, "runs with bit errors")                                                                           \
    X(withdrawn, 1, "runs with routes withdrawn")                                                                      \
    X(routes_moved, 1, "runs whose routes followed")                                                                   \
    X(loops, 1, "drops: TTL, in loops of routes that disagreed")                                                       \
    X(endless, 1, "runs with a pause without end")                                                                     \
    X(drains, 1, "runs with a receiver that became slow")                                                              \
    X(ecn_differs, 1, "runs with a switch that marks otherwise")                                                       \
    X(pfc_missing, 1, "runs with a port without PFC")                                                                  \
    X(unwatched, 1, "runs judged at their end alone")                                                                  \
    X(floods, 1, "of those, with a port forgotten")                                                                    \
    X(strays, 1, "copies of flooded frames that hosts dropped")                                                        \
    X(misrouted, 1, "with a wrong route")                                                                              \
    X(voqs, 1, "with virtual output queues")                                                                           \
    X(deep, 1, "packets that lay in deep memory with a rate")                                                          \
    X(pause_all, 1, "with pauses of all classes (802.3x)")                                                             \
    X(deadlocks, 0, "deadlocks")                                                                                       \
    X(given_up, 1, "jobs given up")                                                                                    \
    X(excused, 0, "ports excused: headroom that the plan gave")

static struct {
#define X(id, required, text) uint64_t id;
    COVER_LIST(X)
#undef X
} covered;

static void add_port(const struct sim_port *port, bool pool)
{
    covered.lost += port->lost;
    if (!port->sw) return;
    const struct sw_port_counters *c = port->sw;
    covered.drop_buffer += c->drop[SW_DROP_buffer];
    covered.drop_headroom += c->drop[SW_DROP_headroom];
    covered.drop_egress += c->drop[SW_DROP_egress];
    covered.drop_port_down += c->drop[SW_DROP_port_down];
    covered.drop_watchdog += c->drop[SW_DROP_watchdog];
    covered.loops += c->drop[SW_DROP_ttl];
    covered.marks += port->ecn_marked;
    for (int p = 0; p < SW_PRIOS; p++) {
        covered.xoff += c->prio[p].tx_xoff;
        covered.refresh += c->prio[p].tx_xoff_refresh;
        covered.xon += c->prio[p].tx_xon;
        covered.headroom += c->prio[p].headroom_max_bytes > 0;
        covered.headroom_pool += pool && c->prio[p].headroom_max_bytes > 0;
        covered.watchdog += c->prio[p].watchdog_detected;
        covered.restored += c->prio[p].watchdog_restored;
    }
}

static void add_faults(const struct fabric *fabric, const struct plan *plan)
{
    bool good = false, reset = false, lanes = false, errors = false, withdrawn = false, one_way = false;

    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        bool down = fault->kind == FABRIC_FAULT_DOWN;
        good |= down && fault->lasts_ps == PS_NEVER;
        reset |= down && fault->port == FABRIC_NONE && fault->node >= fabric->hosts;
        lanes |= fault->kind == FABRIC_FAULT_SLOW && fault->node >= fabric->hosts;
        errors |= fault->ber != 0;
        withdrawn |= fault->kind == FABRIC_FAULT_WITHDRAW;
        one_way |= fault->way != FABRIC_WAY_BOTH;
    }
    covered.for_good += good;
    covered.resets += reset;
    covered.lanes += lanes;
    covered.bit_errors += errors;
    covered.withdrawn += withdrawn;
    covered.bad_days += plan->bad_day;
    covered.one_way += one_way;
    covered.endless += plan->endless;
    covered.drains += plan->drains_slowly;
    covered.ecn_differs += plan->ecn_differs;
    covered.pfc_missing += plan->pfc_missing;
}

static void add_nic(const struct nic_counters *c, uint8_t recovery)
{
    covered.cnps += c->np_cnp_sent;
    covered.rnr += c->rnr_nak_retry_err;
    covered.naks += c->packet_seq_err;
    covered.implied += c->implied_nak_seq_err;
    covered.timeouts += c->local_ack_timeout_err;
    covered.adaptive += c->roce_adp_retrans;
    covered.go_back_n += recovery == NIC_GO_BACK_N ? c->retransmitted_packets : 0;
    covered.go_back_0 += recovery == NIC_GO_BACK_0 ? c->retransmitted_packets : 0;
    covered.selective += recovery == NIC_SELECTIVE ? c->retransmitted_packets : 0;
    covered.reordered += c->reordered_packets;
    covered.duplicates += c->duplicate_request;
    covered.sends += c->rx_send_requests;
    covered.writes += c->rx_write_requests;
    covered.reads += c->rx_read_requests;
    covered.atomics += c->rx_atomic_requests;
    for (int p = 0; p < NIC_PRIOS; p++) {
        covered.nic_xoff += c->prio[p].tx_pause;
        covered.nic_paused += c->prio[p].rx_pause_transition;
    }
}

void cover_add(const struct sim *sim, const struct sim_result *result, const struct plan *plan,
               const struct watch *watch)
{
    const struct fabric *fabric = sim->fabric;

    covered.runs++;
    covered.hops += result->packet_hops;
    covered.done += result->state == SIM_DONE;
    covered.failed += result->work_failed > 0;
    for (uint32_t i = 0; i < result->ports; i++) {
        uint32_t node = fabric->port[result->port[i].port].node;
        add_port(&result->port[i], node >= fabric->hosts && fabric->sw[node - fabric->hosts].headroom_pool_bytes);
    }
    for (uint32_t i = 0; i < result->nics; i++)
        add_nic(result->nic[i].counters, fabric->nic[fabric->endpoint[i].nic].recovery);
    covered.flaps += plan->goes_down;
    covered.routes_moved += sim->routings > 0;
    for (uint32_t i = 0; i < result->jobs; i++)
        covered.given_up += result->job[i].failed_at != PS_NEVER;
    add_faults(fabric, plan);
    covered.dcqcn += strncmp(fabric->nic[0].congestion, "dcqcn", 5) == 0;
    covered.hpcc += strncmp(fabric->nic[0].congestion, "hpcc", 4) == 0;
    covered.cut_through += fabric->sw[0].cut_through;
    covered.dequeue += fabric->sw[0].mark_at_dequeue;
    covered.cells += fabric->sw[0].cell_bytes > 1;
    for (uint32_t i = 0; i < fabric->jobs; i++) {
        covered.rings += fabric->job[i].kind <= FABRIC_JOB_ALLGATHER;
        covered.poisson_named += fabric->job[i].from != NULL;
    }
    covered.rewinds += watch->rewinds_checked;
    covered.lossless += watch->lossless_checked;
    covered.uc += watch->uc_packets;
    covered.ud += watch->ud_packets;
    covered.unreliable_lost += watch->unreliable_lost;
    covered.shared += watch->shared_taken;
    covered.acks_apart += plan->verbs && plan->acks_apart;
    covered.slow_line += plan->slow_line;
    covered.bare += plan->bare;
    covered.v1 += plan->v1;
    covered.strict += watch->strict_checked;
    covered.fair += watch->fair_checked;
    covered.windows += watch->windows_checked;
    covered.marks_judged += watch->marks_checked;
    covered.switch_storms += plan->switch_storm;
    covered.after += plan->after;
    covered.xons += watch->xons;
    covered.xoffs += watch->xoffs;
    covered.renewals += watch->renewals;
    covered.detected += watch->detected;
    covered.ended += watch->restored;
    covered.naks_due += watch->naks_due;
    covered.acks_due += watch->acks_due;
    covered.cnps_due += watch->cnps_due;
    covered.timers += watch->timeouts;
    covered.failures += watch->failures;
    covered.forms += watch->forms;
    covered.paced += watch->paced;
    covered.reads_limited += watch->reads_limited;
    covered.fences += watch->fences;
    covered.ring_bytes += watch->ring_bytes;
    covered.followers += watch->followers;
    covered.software_waits += watch->software_waits;
    covered.naks_again += fabric->nic[0].nak_repeat_ps && !plan->bare;
    covered.egress += watch->egress_checked;
    covered.excused += watch->excused;
}

void cover_unwatched(const struct sim *sim, const struct sim_result *result, const struct plan *plan)
{
    const struct fabric *fabric = sim->fabric;

    if (sim->options.threads > 1) return;
    covered.unwatched++;
    covered.floods += plan->floods;
    covered.misrouted += plan->misrouted;
    covered.voqs += fabric->sw[0].voq.on;
    covered.pause_all += strstr(plan->text, "802.3x") != NULL;
    covered.deadlocks += result->deadlocks;
    for (uint32_t i = 0; i < result->nics; i++)
        covered.strays += result->nic[i].counters->drop[NIC_DROP_no_qp];
    for (uint32_t i = 0; i < result->ports && fabric->sw[0].voq.deep_bps; i++)
        covered.deep += result->port[i].sw ? result->port[i].sw->deep_packets : 0;
}

void cover_routes(void)
{
    covered.routes++;
}

void cover_run(bool threads, bool tiles)
{
    covered.threads += threads;
    covered.tiles += tiles;
}

void cover_loop(void)
{
    covered.by_loop++;
}

unsigned cover_print(void)
{
    unsigned missing = 0;

#define X(id, required, text)                                                                                          \
    printf("%12lu  %s%s\n", (unsigned long)covered.id, text, required && !covered.id ? "  <- not covered" : "");       \
    missing += required && !covered.id;
    COVER_LIST(X)
#undef X
    return missing;
}
