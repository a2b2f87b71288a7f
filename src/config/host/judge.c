/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's adapters against each other, and each against itself: what a fabric file has no key for (the DSCP that is
 * sent, DCQCN by priority, 802.3x), and an adapter that differs from most of its host.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/host/host_int.h"

static void note(struct host *in, uint32_t p, uint32_t line, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static void note(struct host *in, uint32_t p, uint32_t line, const char *rule, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    config_note(in->set, CONFIG_AT(in->text, line), rule, in->device, p, "%s", text);
}

/* What is odd where RDMA is sent in a priority without PFC: a type of service that is a DSCP alone, a common slip (it
 * is the DSCP and two bits of ECN); else a map that is not DSCP / 8; else PFC. */
static void judge_sent(struct host *in, uint32_t p, const struct host_nic *nic, int tos, uint32_t line)
{
    unsigned dscp = (unsigned)tos >> 2;

    if (tos < 0 || !nic->pfc || !nic->trusts_dscp || (nic->pfc >> nic->dscp[dscp] & 1)) return;
    unsigned prio = nic->dscp[dscp], has = (unsigned)__builtin_ctz(nic->pfc);
    if (tos < 64 && (nic->pfc >> nic->dscp[tos] & 1))
        note(in, p, line, "HOST001", "RDMA is sent with DSCP %u, and PFC is not on for it: for DSCP %d this is %d",
             dscp, tos, tos * 4);
    else if (prio != dscp / 8)
        note(in, p, nic->dscp_line, "HOST001",
             "RDMA is sent with DSCP %u, which is priority %u here, and PFC is on for %u", dscp, prio, has);
    else
        note(in, p, dscp / 8 == 3 ? nic->pfc_line : line, "HOST001",
             "PFC is on for priority %u, and RDMA is sent with DSCP %u, which is priority %u", has, dscp, prio);
}

/* Is RDMA in a priority without PFC?  Then DCQCN that is on for it is not what is wrong. */
static bool sent_elsewhere(const struct host_nic *nic)
{
    int tos = nic->tos >= 0 ? nic->tos : nic->cm_tos;

    return tos >= 0 && nic->trusts_dscp && !(nic->pfc >> nic->dscp[tos >> 2] & 1);
}

/* An adapter trusts PCP unless told; what it sends by DSCP is then in priority 0. */
static void judge_trust(struct host *in, uint32_t p, const struct host_nic *nic)
{
    int tos = nic->tos >= 0 ? nic->tos : nic->cm_tos;

    if (nic->trusts_dscp || !nic->pfc) return;
    if (nic->flush_line) {
        note(in, p, nic->flush_line, "HOST001",
             "this takes back the DSCPs set in line %u and the trust in DSCPs: all traffic is in priority 0, without "
             "PFC",
             nic->map_line);
        return;
    }
    if (tos < 4) return;
    if (nic->trust_line)
        note(in, p, nic->trust_line, "HOST001",
             "RDMA is sent with DSCP %u, and the adapter trusts PCP: it is in no priority with PFC", tos >> 2);
    else
        note(in, p, nic->pfc_line, "HOST001",
             "RDMA is sent with DSCP %u, and nothing makes the adapter trust DSCPs (mlnx_qos --trust dscp)", tos >> 2);
}

static void judge_dcqcn(struct host *in, uint32_t p, const struct host_nic *nic)
{
    unsigned without = nic->dcqcn > 0 ? nic->pfc & ~(unsigned)nic->dcqcn : 0;

    if (without && nic->has_pfc)
        note(in, p, nic->dcqcn_line, "HOST004", "priority %u has PFC and is not among those with DCQCN (mask %d)",
             (unsigned)__builtin_ctz(without), nic->dcqcn);
    for (int half = 0; half < 2 && nic->pfc; half++) {
        const struct host_half *as = half ? &nic->np : &nic->rp;
        if (sent_elsewhere(nic)) continue;
        if (as->on && !(as->on & nic->pfc))
            note(in, p, as->line, "HOST004", "DCQCN (%s) is on for priority %u, and PFC for %u", half ? "np" : "rp",
                 (unsigned)__builtin_ctz(as->on), (unsigned)__builtin_ctz(nic->pfc));
        else if (as->said & nic->pfc & ~as->on)
            note(in, p, as->line, "HOST004", "DCQCN (%s) is off for priority %u, which has PFC", half ? "np" : "rp",
                 (unsigned)__builtin_ctz(as->said & nic->pfc & ~as->on));
    }
}

static void judge_cnp(struct host *in, uint32_t p, const struct host_nic *nic)
{
    if (nic->cnp_dscp < 0 || !nic->trusts_dscp) return;
    unsigned prio = nic->dscp[nic->cnp_dscp];
    if (nic->pfc >> prio & 1)
        note(in, p, nic->cnp_dscp_line, "MAP005", "CNPs are sent with DSCP %d, which is priority %u here, with PFC",
             nic->cnp_dscp, prio);
    else if (nic->cnp_prio >= 0 && (unsigned)nic->cnp_prio != prio)
        note(in, p, nic->cnp_prio_line, "MAP006",
             "CNPs are sent with DSCP %d, which is priority %u here, and with 802.1p priority %d", nic->cnp_dscp, prio,
             nic->cnp_prio);
}

/* --- adapters of one host --- */

struct face { /* what adapters of a host have alike, 0 where nothing is said */
    const char *name, *rule;
    uint64_t value;
    uint32_t line; /* where it is said, or where it would be needed */
};
#define FACES 4

static void faces(const struct host_nic *nic, struct face ret[FACES])
{
    ret[0] = (struct face){"PFC", "HOST001", nic->has_pfc ? nic->pfc + 1u : 0, nic->pfc_line};
    ret[1] = (struct face){"trust", "HOST001", nic->trust_line ? nic->trusts_dscp + 1u : 0, nic->trust_line};
    ret[2] = (struct face){"type of service", "HOST001", (uint64_t)nic->tos + 1, nic->tos_line};
    ret[3] = (struct face){"type of service of RDMA-CM", "HOST001", (uint64_t)nic->cm_tos + 1, nic->cm_tos_line};
    for (unsigned f = 0; f < FACES; f++)
        if (!ret[f].line) ret[f].line = nic->pfc_line ? nic->pfc_line : nic->tos_line ? nic->tos_line : nic->mtu_line;
}

bool host_nic_is_rdma(const struct host_nic *nic)
{
    return nic->has_pfc || nic->has_dscp || nic->trust_line || nic->tos >= 0 || nic->cm_tos >= 0 || nic->dcqcn >= 0 ||
           nic->rp.said || nic->np.said || nic->cnp_dscp >= 0 || nic->cnp_prio >= 0;
}

/* One that is known by a variable's name may be any of the others; one that only has a length of frames or an address
 * carries no RDMA. */
static bool counts(const struct host *in, uint32_t p)
{
    const char *name = in->set->device[in->device].port[p].name;

    return in->nic[p].met && host_nic_is_rdma(&in->nic[p]) && name[0] != '$';
}

static uint64_t usual(const struct host *in, unsigned which, uint32_t *ret_count)
{
    struct face face[FACES];
    uint64_t held = 0;
    uint32_t votes = 0;

    *ret_count = 0;
    for (uint32_t p = 0; p < in->nics; p++) {
        if (!counts(in, p)) continue;
        faces(&in->nic[p], face);
        if (!votes) held = face[which].value;
        votes = held == face[which].value ? votes + 1 : votes - 1;
    }
    for (uint32_t p = 0; p < in->nics; p++) {
        faces(&in->nic[p], face);
        *ret_count += counts(in, p) && face[which].value == held;
    }
    return held;
}

static void judge_alike(struct host *in, unsigned which)
{
    uint32_t alike = 0, met = 0;
    uint64_t due = usual(in, which, &alike);
    struct face face[FACES];

    for (uint32_t p = 0; p < in->nics; p++)
        met += counts(in, p);
    if (!due || alike == met || alike * 2 <= met) return;
    for (uint32_t p = 0; p < in->nics; p++) {
        if (!counts(in, p)) continue;
        faces(&in->nic[p], face);
        if (face[which].value == due || !face[which].line) continue;
        note(in, p, face[which].line, face[which].rule, "its %s %s, unlike that of the host's %u other adapter%s",
             face[which].name, face[which].value ? "differs" : "is not set", alike, alike == 1 ? "" : "s");
    }
}

void host_judge(struct host *in)
{
    for (uint32_t p = 0; p < in->nics; p++) {
        const struct host_nic *nic = &in->nic[p];
        if (!nic->met) continue;
        judge_sent(in, p, nic, nic->tos, nic->tos_line);
        judge_sent(in, p, nic, nic->cm_tos, nic->cm_tos_line);
        judge_trust(in, p, nic);
        judge_dcqcn(in, p, nic);
        judge_cnp(in, p, nic);
        if (nic->pause && nic->pfc)
            note(in, p, nic->pause_line, "PFC005", "802.3x pauses are on together with PFC: they exclude each other");
    }
    for (unsigned f = 0; f < FACES; f++)
        judge_alike(in, f);
}
