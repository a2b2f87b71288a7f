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
    struct host_nic *nic = &in->nic[p];
    nic->told[nic->tolds++ % HOST_TOLD] = line;
    NOTE(in, line, rule, p, "%s", text);
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
        note(in, p, nic->dscp_lines[dscp] ? nic->dscp_lines[dscp] : nic->dscp_line, "HOST001",
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

    if (nic->trusts_dscp && nic->pfc && nic->trust_said == 0 && nic->map_line)
        note(in, p, nic->trust_said_line, "HOST001",
             "asks for trust in PCP, and line %u sets a map of DSCPs: RDMA over routers has no tag to trust",
             nic->map_line);
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

/* One half of DCQCN is turned on here, and the other only on another adapter of the host: it was forgotten. */
static void judge_halves(struct host *in, uint32_t p, const struct host_nic *nic)
{
    if (sent_elsewhere(nic)) return;
    for (int half = 0; half < 2; half++) {
        const struct host_half *has = half ? &nic->rp : &nic->np, *lacks = half ? &nic->np : &nic->rp;
        bool others = false;
        for (uint32_t o = 0; o < in->nics; o++)
            others = others || (in->nic[o].met && (half ? in->nic[o].np : in->nic[o].rp).on);
        if (has->on & nic->pfc && !lacks->said && others)
            note(in, p, has->line, "HOST004",
                 "DCQCN is turned on for the %s point alone; another adapter of the host has the %s point too",
                 half ? "reaction" : "notification", half ? "notification" : "reaction");
    }
}

/* Of DCQCN that is on for two priorities, where none is known to have PFC, one half is elsewhere. */
static void judge_points(struct host *in, uint32_t p, const struct host_nic *nic)
{
    if (nic->has_pfc || !nic->rp.on || !nic->np.on || nic->rp.on & nic->np.on) return;
    note(in, p, nic->rp.line, "HOST004",
         "the reaction point is on for priority %u, and the notification point for %u: RDMA is in one of them",
         (unsigned)__builtin_ctz(nic->rp.on), (unsigned)__builtin_ctz(nic->np.on));
}

/* A priority with PFC is in a buffer of its own kind, and that has some bytes: what shares it with others is paused for
 * them, and lost with them. */
static void judge_buffers(struct host *in, uint32_t p, const struct host_nic *nic)
{
    for (unsigned prio = 0; prio < FABRIC_PRIOS && nic->buffer_line; prio++) {
        int64_t buffer = nic->buffer_of[prio];
        if (!(nic->pfc >> prio & 1)) continue;
        if (nic->bytes_line && buffer < FABRIC_PRIOS && !nic->buffer_bytes[buffer])
            note(in, p, nic->buffer_line, "HOST001", "priority %u has PFC and is in buffer %lld, which has no bytes",
                 prio, (long long)buffer);
        for (unsigned other = 0; other < FABRIC_PRIOS; other++) {
            if (nic->pfc >> other & 1 || nic->buffer_of[other] != buffer) continue;
            note(in, p, nic->buffer_line, "HOST001",
                 "priority %u has PFC and is in buffer %lld together with priority %u, which has none", prio,
                 (long long)buffer, other);
            return;
        }
    }
}

static void judge_cnp(struct host *in, uint32_t p, const struct host_nic *nic)
{
    if (nic->cnp_prio >= 0 && nic->pfc >> nic->cnp_prio & 1) {
        note(in, p, nic->cnp_prio_line, "MAP005", "CNPs are sent with 802.1p priority %d, which has PFC",
             nic->cnp_prio);
        return;
    }
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
#define FACES 9

static void faces(const struct host_nic *nic, struct face ret[FACES])
{
    ret[0] = (struct face){"PFC", "HOST001", nic->has_pfc ? nic->pfc + 1u : 0, nic->pfc_line};
    ret[1] = (struct face){"trust", "HOST001", nic->trust_line ? nic->trusts_dscp + 1u : 0, nic->trust_line};
    if (nic->trust_said >= 0)
        ret[1] = (struct face){"trust", "HOST001", (uint64_t)nic->trust_said + 1, nic->trust_said_line};
    ret[2] = (struct face){"type of service", "HOST001", (uint64_t)nic->tos + 1, nic->tos_line};
    ret[3] = (struct face){"type of service of RDMA-CM", "HOST001", (uint64_t)nic->cm_tos + 1, nic->cm_tos_line};
    ret[4] = (struct face){"DSCP of CNPs", "MAP006", (uint64_t)nic->cnp_dscp + 1, nic->cnp_dscp_line};
    ret[5] = (struct face){"DCQCN (np)", "HOST004", nic->np.said ? nic->np.on + 1u : 0, nic->np.line};
    ret[6] = (struct face){"DCQCN (rp)", "HOST004", nic->rp.said ? nic->rp.on + 1u : 0, nic->rp.line};
    ret[7] = (struct face){"802.3x pause", "PFC005", nic->pause_line ? nic->pause + 1u : 0, nic->pause_line};
    ret[8] = (struct face){"map of priorities to traffic classes", "HOST001", 0, nic->prio_tc_line};
    for (unsigned i = 0; i < FABRIC_PRIOS && nic->prio_tc_line; i++)
        ret[8].value = ret[8].value << 3 | nic->prio_tc[i] | 1u << 24;
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

    return in->nic[p].met && host_nic_is_rdma(&in->nic[p]) && name[0] != '$' && name[0] != '{';
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

static bool is_told(const struct host_nic *nic, uint32_t line)
{
    for (uint32_t i = 0; i < nic->tolds && i < HOST_TOLD; i++)
        if (nic->told[i] == line) return true;
    return false;
}

/* The one loop that sets PFC on all adapters that have it: an adapter without is one that it does not go over. */
static uint32_t loop_of_pfc(const struct host *in)
{
    uint32_t loop = 0;

    for (uint32_t p = 0; p < in->nics; p++) {
        if (!counts(in, p) || !in->nic[p].has_pfc) continue;
        if (!in->nic[p].pfc_loop || (loop && loop != in->nic[p].pfc_loop)) return 0;
        loop = in->nic[p].pfc_loop;
    }
    return loop;
}

static void judge_alike(struct host *in, unsigned which)
{
    uint32_t alike = 0, met = 0;
    uint64_t due = usual(in, which, &alike);
    uint32_t loop = loop_of_pfc(in);
    struct face face[FACES];

    for (uint32_t p = 0; p < in->nics; p++)
        met += counts(in, p);
    if (!due || alike == met || alike * 2 <= met) return;
    for (uint32_t p = 0; p < in->nics; p++) {
        if (!counts(in, p)) continue;
        faces(&in->nic[p], face);
        bool left_out = loop && !in->nic[p].has_pfc && !face[which].value;
        if (left_out) face[which].line = loop;
        if (face[which].value == due || !face[which].line || is_told(&in->nic[p], face[which].line)) continue;
        if (which == 7 && (in->nic[p].pause || !face[which].value)) continue; /* off is right, said or not */
        if (which == 8 && !face[which].value) continue;                       /* the firmware's may be the same */
        note(in, p, face[which].line, face[which].rule, "its %s %s, unlike that of the host's %u other adapter%s%s",
             face[which].name, face[which].value ? "differs" : "is not set", alike, alike == 1 ? "" : "s",
             left_out ? ", which this loop goes over" : "");
    }
}

#define SMALL_SHARE 20 /* percent; with less than this, and a third of another class, RDMA is the one that waits */

/* Shares that the tool refuses, and those that leave RDMA next to nothing. */
static void judge_turns(struct host *in, uint32_t p, const struct host_nic *nic)
{
    int64_t sum = 0, most = 0, least = 100;

    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (nic->strict[q]) continue;
        sum += nic->weight[q];
        if (nic->weight[q] > most) most = nic->weight[q];
    }
    if (!nic->turns || nic->shown || !sum) return;
    uint32_t at = nic->weight_line ? nic->weight_line : nic->turns_line;
    if (sum != 100) {
        CAUTION(in, at, "SCH001", p, "the shares add up to %lld %%, and mlnx_qos takes 100 only", (long long)sum);
        return;
    }
    for (unsigned prio = 0; prio < FABRIC_PRIOS; prio++)
        if (nic->pfc >> prio & 1 && !nic->strict[nic->prio_tc[prio]] && nic->weight[nic->prio_tc[prio]] < least)
            least = nic->weight[nic->prio_tc[prio]];
    if (least < SMALL_SHARE && least * 3 <= most)
        CAUTION(in, at, "SCH001", p, "the class with PFC has %lld %% of the line, another %lld %%", (long long)least,
                (long long)most);
}

/* Adapters with PFC and no shares at all: what RDMA gets beside TCP is left to the firmware. */
static void judge_shares(struct host *in)
{
    uint32_t first = CONFIG_NONE;

    for (uint32_t p = 0; p < in->nics; p++) {
        if (in->nic[p].met && in->nic[p].turns) return;
        if (in->nic[p].met && in->nic[p].pfc && !in->nic[p].shown && first == CONFIG_NONE) first = p;
    }
    if (first == CONFIG_NONE) return;
    HINT(in, in->nic[first].pfc_line, "SCH001", CONFIG_NONE,
         "no shares of the classes are set (mlnx_qos --tsa --tcbw): what RDMA gets beside other traffic is the "
         "firmware's default");
}

/* Whether what a script sets is there after a reboot, and whether somebody sees that it failed. */
static void judge_script(struct host *in)
{
    static const char *const lasting[] = {"systemd",   ".service", "systemctl",    "udev",    "rc.local",
                                          "crontab",   "cron.d",   "if-up.d",      "@reboot", "dispatcher",
                                          "[Service]", "post-up",  "/etc/network", "netplan", "cloud-init"};
    const char *text = in->text->text;

    if (in->hidden_line)
        HINT(in, in->hidden_line, "HOST007", CONFIG_NONE,
             "a failure of this command is passed over: an adapter without it is not noticed");
    if (strncmp(text, "#!", 2) != 0) return;
    for (unsigned i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
        if (strstr(text, lasting[i])) return;
    uint32_t line = 0, at = 1;
    for (const char *from = text; *from && line < 20; from += *from == '\n') {
        size_t length = strcspn(from, "\n");
        line++;
        if (from[0] == '#' && (memmem(from, length, "reboot", 6) || memmem(from, length, "by hand", 7))) {
            at = line;
            break;
        }
        from += length;
    }
    HINT(in, at, "HOST007", CONFIG_NONE, HOST_NOT_LASTING);
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
        judge_halves(in, p, nic);
        judge_points(in, p, nic);
        judge_buffers(in, p, nic);
        judge_cnp(in, p, nic);
        if (nic->reset_line)
            note(in, p, nic->reset_line, "HOST001",
                 "this makes the interface anew: PFC of line %u, and what else was set before it, is gone",
                 nic->pfc_line);
        if (nic->pause && nic->pfc)
            note(in, p, nic->pause_line, "PFC005", "802.3x pauses are on together with PFC: they exclude each other");
    }
    for (unsigned f = 0; f < FACES; f++)
        judge_alike(in, f);
    for (uint32_t p = 0; p < in->nics; p++)
        if (in->nic[p].met && !in->nic[p].tolds) judge_turns(in, p, &in->nic[p]); /* PFC elsewhere is one thing */
    judge_shares(in);
    judge_script(in);
}
