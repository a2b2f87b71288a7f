/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 3, synthetic load: what a whole permutation gets, what an incast does to its receiver and to others.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "fabric/switches.h"
#include "validate/case.h"
#include "validate/expected.h"

#define SENDERS_MOST 64u
#define RANKS_MOST 1024u
#define VICTIM_SENDERS 15u
#define VICTIMS 4u

static ps_t of_level(const struct validate_case *of, ps_t quick, ps_t usual, ps_t full)
{
    return of->plan->level == VALIDATE_QUICK ? quick : of->plan->level == VALIDATE_DEFAULT ? usual : full;
}

/* Payload over line bytes, of the first endpoint's adapter; 0 after a row that says what is wrong. */
static double payload_share(struct validate_case *of, const char *subject)
{
    struct endpoint_pair pair;
    struct variant variant = {0};
    double share = 0;

    if (validate_skip_if(of, choose_distances(of->fabric, &pair, 1) == 0, subject, "no two hosts reach each other"))
        return 0;
    const char *src = case_endpoint(of, pair.src), *dst = case_endpoint(of, pair.dst);
    const char *jobs = case_text(of, "[{flows: \"%s %s 1MB 1ms\\n%s %s 4MB 1ms\"}]", src, dst, src, dst);
    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, 1)) return 0;
    share = payload_rate(&variant.result.flow[0], &variant.result.flow[1]) /
            (double)of->fabric->port[of->fabric->endpoint[pair.src].port].rate_bps;
    variant_close(&variant);
    return share;
}

static double expect(struct validate_case *of, const struct variant *variant, double share, struct expected *ret)
{
    const struct sim_result *result = &variant->result;
    struct expected_flow *flow = ARENA_NEW(of->arena, struct expected_flow, result->flows + 1u);

    for (uint32_t i = 0; i < result->flows; i++)
        flow[i] = (struct expected_flow){result->flow[i].src, result->flow[i].dst};
    expected_rates(of->fabric, flow, result->flows, of->plan->seed, ret);
    return ret->bps * share;
}

void test_sustained(struct validate_case *of)
{
    ps_t warm = of_level(of, 500 * PS_US, 2 * PS_MS, 10 * PS_MS), span = of_level(of, PS_MS, 4 * PS_MS, 100 * PS_MS);
    uint32_t most = of->plan->level == VALIDATE_QUICK ? 64 : of->plan->level == VALIDATE_DEFAULT ? 256 : UINT32_MAX;
    uint32_t ranks;
    const char *list = choose_ranks(of, most, &ranks);
    const char *jobs = case_text(of, "[{permutation: random, size: 1TB, ranks: %s}]", list);
    const char *subject =
        case_text(of, "permutation of %u adapters for %s", ranks, case_number(of, VALIDATE_TIME, (double)span));
    struct variant variant = {0};
    struct expected expected;

    double share = payload_share(of, subject);
    bool good =
        share > 0 && variant_open(of, subject, jobs, &variant, NULL) && variant_run(of, subject, &variant, warm);
    uint64_t before = good ? variant_count(&variant).payload_bytes : 0;
    good = good && variant_run(of, subject, &variant, warm + span);
    if (!good) return;
    struct variant_counts counts = variant_count(&variant);
    double base = expect(of, &variant, share, &expected);
    const char *words = case_text(of, "%s, %s of payload in a line's rate",
                                  expected.hashed ? "fair shares of links as 95 of 100 ideal hashes give them"
                                                  : "fair shares of links with flows split evenly",
                                  case_number(of, VALIDATE_RATIO, share));
    JUDGE(of, .subject = subject, .criterion = CRITERION_SUSTAINED, .unit = VALIDATE_RATE,
          .value = (double)(counts.payload_bytes - before) * 8 * (double)PS_S / (double)span, .base = base, .of = words,
          .why = "links carry less than flows of that balance should get: hash, link, loss, or congestion control that "
                 "holds back");
    if (of->fabric->classes[choose_class(of->fabric)].lossless)
        JUDGE(of, .subject = "permutation: packets lost", .criterion = CRITERION_DROPS,
              .value = (double)(counts.drops + counts.lost), .why = "packets of a lossless class are lost");
    variant_close(&variant);
}

struct fan_ins { /* the worst of some, and which */
    double rate, spread;
    uint32_t rate_at, spread_at, spread_port;
    uint32_t first, last; /* 0: none was run */
};

struct incast {
    struct fan_ins within, beyond; /* the fan-in that the file designs for */
    double headroom;
    uint32_t headroom_at, headroom_port, lost_at;
    uint64_t lost;
};

/* A switch port that pauses stop, other than those of the receiver's own edge. */
static double spread_of(const struct variant *variant, const ps_t *before, ps_t span, uint32_t receiver,
                        uint32_t *ret_port)
{
    const struct fabric *fabric = variant->fabric;
    uint32_t edge = fabric->edge_of[receiver], edge_node = FABRIC_NONE;
    double most = 0;

    if (edge != FABRIC_NONE) edge_node = fabric->hosts + fabric->edge_switch[edge];
    for (uint32_t i = 0; i < variant->result.ports; i++) {
        const struct sim_port *port = &variant->result.port[i];
        const struct fabric_port *as = &fabric->port[port->port];
        if (as->node == edge_node || (as->peer != FABRIC_NONE && fabric->port[as->peer].node == edge_node)) continue;
        double share = (double)(port->paused_ps - before[i]) / (double)span;
        if (share <= most) continue;
        most = share;
        *ret_port = port->port;
    }
    return most;
}

static void keep_worst(struct fan_ins *as, uint32_t senders, double rate, double spread, uint32_t port)
{
    if (as->first == 0 || rate < as->rate) as->rate = rate, as->rate_at = senders;
    if (as->first == 0 || spread > as->spread) as->spread = spread, as->spread_at = senders, as->spread_port = port;
    if (as->first == 0) as->first = senders;
    as->last = senders;
}

/* How long an incast is left alone before it is looked at. */
static ps_t settles(const struct validate_case *of)
{
    return of_level(of, 20 * PS_MS, 20 * PS_MS, 50 * PS_MS);
}

static bool run_incast(struct validate_case *of, const char *ranks, uint32_t senders, double share, bool within,
                       struct incast *ret)
{
    ps_t warm = settles(of), span = of_level(of, 2 * PS_MS, 2 * PS_MS, 10 * PS_MS);
    const char *subject = case_text(of, "incast of %u", senders);
    const char *jobs =
        case_text(of, "[{incast: %u, size: 1TB, to: \"%s\", ranks: %s}]", senders, case_endpoint(of, 0), ranks);
    struct variant variant = {0};
    uint32_t port = FABRIC_NONE;

    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, warm)) return false;
    ps_t *before = ARENA_NEW(of->arena, ps_t, variant.result.ports + 1u);
    for (uint32_t i = 0; i < variant.result.ports; i++)
        before[i] = variant.result.port[i].paused_ps;
    uint64_t payload = variant_count(&variant).payload_bytes;
    if (!variant_run(of, subject, &variant, warm + span)) return false;
    struct variant_counts counts = variant_count(&variant);
    double line = (double)of->fabric->port[of->fabric->endpoint[0].port].rate_bps * share;
    double rate = (double)(counts.payload_bytes - payload) * 8 * (double)PS_S / (double)span / line;
    double spread = spread_of(&variant, before, span, 0, &port);
    keep_worst(within ? &ret->within : &ret->beyond, senders, rate, spread, port);
    if (counts.headroom > ret->headroom)
        ret->headroom = counts.headroom, ret->headroom_at = senders, ret->headroom_port = counts.headroom_port;
    if (counts.lossless_drops + counts.lost) ret->lost_at = senders;
    ret->lost += counts.lossless_drops + counts.lost;
    variant_close(&variant);
    return true;
}

static bool has_control(const struct fabric *fabric)
{
    return strcmp(fabric->nic[fabric->endpoint[0].nic].congestion, "none") != 0;
}

static const char *senders_text(const struct validate_case *of, const struct fan_ins *as)
{
    return as->first == as->last ? case_text(of, "%u senders", as->first)
                                 : case_text(of, "%u to %u senders", as->first, as->last);
}

/* The file designs for less: what becomes of more is worth knowing, and nothing to fail by. */
static void tell_beyond(struct validate_case *of, const struct fan_ins *seen, double line)
{
    const char *paused = "no port beyond its leaf paused";

    if (seen->spread > 0)
        paused = case_text(of, "a port beyond its leaf paused for at most %s of the time (with %u)",
                           case_number(of, VALIDATE_RATIO, seen->spread), seen->spread_at);
    const char *subject = case_text(of, "%s, %s after they begin: receiver's goodput at least %s (with %u), %s",
                                    senders_text(of, seen), case_number(of, VALIDATE_TIME, (double)settles(of)),
                                    case_number(of, VALIDATE_RATE, seen->rate * line), seen->rate_at, paused);
    validate_tell(of, VALIDATE_SKIPPED, subject, "",
                  "a figure, not judged: the file designs for %u senders (check: fan-in)",
                  of->fabric->operations.fan_in);
}

static void judge_incast(struct validate_case *of, const struct fan_ins *seen, double share)
{
    double line = (double)of->fabric->port[of->fabric->endpoint[0].port].rate_bps * share;
    const char *port = "", *senders = senders_text(of, seen);
    const char *subject = case_text(of, "%s: receiver's goodput, least with %u", senders, seen->rate_at);

    JUDGE(of, .subject = subject, .criterion = CRITERION_INCAST_RATE, .unit = VALIDATE_RATE, .value = seen->rate * line,
          .base = line, .of = "payload rate of the receiver's line",
          .why = "senders are held back for longer than the queue lasts: congestion control cuts too deep or recovers "
                 "too slowly");
    if (validate_skip_if(of, !has_control(of->fabric), "pauses beyond the receiver's leaf",
                         "the adapters have no congestion control"))
        return;
    if (seen->spread_port != FABRIC_NONE) port = case_port(of, seen->spread_port);
    subject = case_text(of, "%s: share of time that a port beyond the receiver's leaf is paused", senders);
    if (seen->spread > 0) subject = case_text(of, "%s, most with %u", subject, seen->spread_at);
    const char *why =
        case_text(of, "%.90s stands still for that share of the time: marks come too late or act too slowly", port);
    JUDGE(of, .subject = subject, .criterion = CRITERION_PAUSE_SPREAD, .unit = VALIDATE_RATIO, .value = seen->spread,
          .why = why);
}

static void judge_lossless(struct validate_case *of, const struct incast *seen)
{
    uint32_t most = seen->beyond.last ? seen->beyond.last : seen->within.last;
    const char *port = "";

    const char *subject = case_text(of, "2 to %u senders: packets lost", most);
    const char *why = case_text(of, "with %u senders packets of a lossless class are lost", seen->lost_at);
    JUDGE(of, .subject = subject, .criterion = CRITERION_DROPS, .value = (double)seen->lost, .why = why);
    if (seen->headroom_port != FABRIC_NONE) port = case_port(of, seen->headroom_port);
    subject = case_text(of, "2 to %u senders: share of headroom used", most);
    if (port[0]) subject = case_text(of, "%s, most with %u at %.80s", subject, seen->headroom_at, port);
    JUDGE(of, .subject = subject, .criterion = CRITERION_HEADROOM, .unit = VALIDATE_RATIO, .value = seen->headroom,
          .why = "what comes in after a pause is more than the headroom");
}

/* Whether a level takes this fan-in: --full each, others powers of two, and all the design's and the largest. */
static bool takes_fan_in(const struct validate_case *of, uint32_t senders, uint32_t largest)
{
    bool always = senders == 2 || senders == of->fabric->operations.fan_in || senders == largest;

    switch (of->plan->level) {
    case VALIDATE_QUICK:
        return always || senders == 16;
    case VALIDATE_DEFAULT:
        return always || (senders & (senders - 1)) == 0;
    default:
        return true;
    }
}

/* Fan-ins up to how many there are; false after a row that says what is wrong, or that there is none. */
static bool run_fan_ins(struct validate_case *of, double share, struct incast *seen)
{
    uint32_t design = of->fabric->operations.fan_in, count;
    const char *ranks = choose_ranks(of, RANKS_MOST, &count);
    uint32_t largest = count - 1 < SENDERS_MOST ? count - 1 : SENDERS_MOST;
    bool good = true;

    for (uint32_t senders = 2; senders <= largest && good; senders++)
        if (takes_fan_in(of, senders, largest))
            good = run_incast(of, ranks, senders, share, design == 0 || senders <= design || senders == 2, seen);
    if (largest < 2) validate_skip(of, "", "fewer than three endpoints reach each other");
    return good && largest >= 2;
}

void test_incast(struct validate_case *of)
{
    struct incast seen = {.headroom_port = FABRIC_NONE};
    double share = payload_share(of, "incast");

    if (share == 0 || !run_fan_ins(of, share, &seen)) return;
    judge_incast(of, &seen.within, share);
    if (seen.beyond.last)
        tell_beyond(of, &seen.beyond, (double)of->fabric->port[of->fabric->endpoint[0].port].rate_bps * share);
    if (of->fabric->classes[choose_class(of->fabric)].lossless)
        judge_lossless(of, &seen);
    else
        validate_skip(of, "packets lost, headroom", "no class is lossless");
}

struct parties { /* an incast to endpoint 0, and flows beside it that share no link with its receiver's port */
    uint32_t sender[VICTIM_SENDERS], senders;
    uint32_t from[VICTIMS], to[VICTIMS], victims;
};

static bool is_party(const struct parties *parties, uint32_t endpoint)
{
    bool is = endpoint == 0;

    for (uint32_t i = 0; i < parties->senders; i++)
        is = is || parties->sender[i] == endpoint;
    for (uint32_t i = 0; i < parties->victims; i++)
        is = is || parties->from[i] == endpoint || parties->to[i] == endpoint;
    return is;
}

/* Where a flow from there goes: to an edge that is neither its own nor the receiver's where there is such. */
static uint32_t choose_target(const struct fabric *fabric, const struct parties *parties, uint32_t from)
{
    for (int same = 0; same < 2; same++)
        for (uint32_t e = fabric->endpoints - 1; e > 0; e--) {
            uint32_t edge = fabric->edge_of[e];
            if (e == from || is_party(parties, e) || !fabric_reaches(fabric, from, e)) continue;
            if (fabric->endpoint[e].host == fabric->endpoint[from].host) continue;
            if (same || (edge != fabric->edge_of[0] && edge != fabric->edge_of[from])) return e;
        }
    return FABRIC_NONE;
}

/* Of the endpoints of other edges every second one sends to the first, the others send elsewhere. */
static bool choose_parties(const struct fabric *fabric, struct parties *ret)
{
    uint32_t own = fabric->edge_of[0], turn = 0;

    *ret = (struct parties){0};
    for (uint32_t e = 1; e < fabric->endpoints; e++) {
        bool other = fabric->edge_of[e] != own || fabric->edges == 1;
        if (!fabric_reaches(fabric, e, 0) || fabric->endpoint[e].host == fabric->endpoint[0].host) continue;
        if (is_party(ret, e)) continue;
        uint32_t to = other && turn++ % 2 == 0 && ret->victims < VICTIMS ? choose_target(fabric, ret, e) : FABRIC_NONE;
        if (to != FABRIC_NONE) {
            ret->from[ret->victims] = e;
            ret->to[ret->victims++] = to;
        } else if (ret->senders < VICTIM_SENDERS) {
            ret->sender[ret->senders++] = e;
        }
    }
    return ret->victims && ret->senders > 1;
}

/* What each of the last flows of a run gets, once settled. */
static bool victim_rates(struct validate_case *of, const char *jobs, uint32_t victims, double *ret)
{
    ps_t warm = of_level(of, PS_MS, 2 * PS_MS, 10 * PS_MS), span = of_level(of, PS_MS, 4 * PS_MS, 20 * PS_MS);
    static const char subject[] = "flows that share no congested link";
    struct variant variant = {0};

    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, warm)) return false;
    for (uint32_t i = 0; i < victims; i++)
        ret[i] = -(double)variant.result.flow[variant.result.flows - victims + i].acked_bytes;
    if (!variant_run(of, subject, &variant, warm + span)) return false;
    for (uint32_t i = 0; i < victims; i++) {
        ret[i] += (double)variant.result.flow[variant.result.flows - victims + i].acked_bytes;
        ret[i] *= 8 * (double)PS_S / (double)span;
    }
    variant_close(&variant);
    return true;
}

/* The incast, or without it, and the flows beside. */
static const char *write_parties(struct validate_case *of, const struct parties *parties, bool incast)
{
    FILE *to = case_open(of);

    fputs("[{flows: \"", to);
    for (uint32_t i = 0; incast && i < parties->senders; i++)
        fprintf(to, "%s %s 1TB\\n", case_endpoint(of, parties->sender[i]), case_endpoint(of, 0));
    for (uint32_t i = 0; i < parties->victims; i++)
        fprintf(to, "%s %s 1TB\\n", case_endpoint(of, parties->from[i]), case_endpoint(of, parties->to[i]));
    fputs("\"}]", to);
    return case_close(of);
}

void test_victim(struct validate_case *of)
{
    double before[VICTIMS], beside[VICTIMS], most = -1;
    struct parties parties;
    uint32_t worst = 0;

    if (validate_skip_if(of, !choose_parties(of->fabric, &parties), "",
                         "too few hosts for an incast and a flow beside it"))
        return;
    if (!victim_rates(of, write_parties(of, &parties, false), parties.victims, before) ||
        !victim_rates(of, write_parties(of, &parties, true), parties.victims, beside))
        return;
    for (uint32_t i = 0; i < parties.victims; i++) {
        double loss = before[i] > 0 && beside[i] < before[i] ? 1 - beside[i] / before[i] : 0;
        if (loss <= most) continue;
        most = loss;
        worst = i;
    }
    const char *subject = case_text(of, "goodput lost beside an incast of %u, the worst of %u flows to others",
                                    parties.senders, parties.victims);
    const char *why =
        case_text(of, "%.80s to %.80s has %s without the incast and %s with it: pauses spread to it",
                  case_endpoint(of, parties.from[worst]), case_endpoint(of, parties.to[worst]),
                  case_number(of, VALIDATE_RATE, before[worst]), case_number(of, VALIDATE_RATE, beside[worst]));
    JUDGE(of, .subject = subject, .criterion = CRITERION_VICTIM, .unit = VALIDATE_RATIO, .value = most, .why = why);
}
