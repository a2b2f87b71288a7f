/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 3, the control loop: whether queues mark as they are told, whether flows share after more have begun, and
 * whether a burst is marked before it pauses.
 */
#include <math.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/routing.h"
#include "fabric/switches.h"
#include "observe/sample.h"
#include "plant/plant.h"
#include "validate/case.h"

#define SENDERS 2u /* of the held queue */
#define SAMPLES 64u
#define ENDS 2u /* packets count when they leave, marks when they come: so many may be of one alone */
#define RANKS_MOST 1024u
#define FLOWS_MOST 16u
#define BURSTS 6u

/* The edge's port to an endpoint, and the queue there of the class that jobs have. */
static const struct sw_ecn *queue_to(const struct fabric *fabric, uint32_t endpoint, uint32_t *ret_port,
                                     uint8_t *ret_queue)
{
    uint32_t peer = fabric->port[fabric->endpoint[endpoint].port].peer;

    if (peer == FABRIC_NONE || fabric->port[peer].node < fabric->hosts) return NULL;
    const struct fabric_settings *settings = &fabric->settings[fabric->port[peer].settings];
    *ret_port = peer;
    *ret_queue = settings->tc_to_queue[fabric->classes[choose_class(fabric)].priority & 7];
    return &settings->queue[*ret_queue].ecn;
}

struct held {                  /* a queue that was held at a depth */
    double depth, least, most; /* bytes, as sampled */
    uint64_t packets, marks;
};

static void read_port(const struct variant *variant, uint32_t port, uint8_t queue, struct held *held)
{
    for (uint32_t i = 0; i < variant->result.ports; i++) {
        const struct sim_port *as = &variant->result.port[i];
        if (as->port != port || as->sw == NULL) continue;
        held->packets = as->sw->prio[queue].tx_packets;
        held->marks = as->sw->prio[queue].ecn_marked;
    }
}

/* An incast to the first endpoint. */
static const char *incast_jobs(const struct validate_case *of, uint32_t senders, const char *size)
{
    uint32_t count;

    return case_text(of, "[{incast: %u, size: %s, to: \"%s\", ranks: %s}]", senders, size, case_endpoint(of, 0),
                     choose_ranks(of, RANKS_MOST, &count));
}

/* Two senders without congestion control, each with a window: together more than the way holds, so that the rest stands
 * in the queue of the receiver's port. */
static bool hold_queue(struct validate_case *of, uint64_t window, uint32_t port, uint8_t queue, struct held *ret)
{
    static const char subject[] = "a queue held at a depth";
    ps_t warm = PS_MS, step = (of->plan->level == VALIDATE_QUICK ? 500 * PS_US : 2 * PS_MS) / SAMPLES;
    const char *bytes = case_text(of, "%lluB", (unsigned long long)window);
    struct variant variant = {0};
    struct held before = {0};

    variant.override[variant.overrides++] = (struct fabric_override){"nics.congestion", "none"};
    variant.override[variant.overrides++] = (struct fabric_override){"nics.window", bytes};
    if (!variant_open(of, subject, incast_jobs(of, SENDERS, "1TB"), &variant, NULL)) return false;
    if (!variant_run(of, subject, &variant, warm)) return false;
    read_port(&variant, port, queue, &before);
    *ret = (struct held){.least = 1e18};
    for (uint32_t i = 1; i <= SAMPLES; i++) {
        struct observe_port_prio prio[8];
        while (sim_advance(variant.sim, 1u << 16, warm + i * step) == SIM_RUNNING)
            ;
        sim_sample_queues(variant.sim, port, prio);
        double depth = (double)prio[queue].queue_bytes;
        ret->depth += depth / SAMPLES;
        if (depth < ret->least) ret->least = depth;
        if (depth > ret->most) ret->most = depth;
    }
    if (!variant_run(of, subject, &variant, warm + SAMPLES * step)) return false;
    read_port(&variant, port, queue, ret);
    ret->packets -= before.packets;
    ret->marks -= before.marks;
    variant_close(&variant);
    return true;
}

struct accuracy {
    uint64_t below, above, above_packets, packets; /* marks below Kmin; packets above Kmax that were not marked */
    double sigma, sigma_depth;                     /* the worst between */
    uint32_t between, over, under;                 /* depths that were held in each range */
};

static void add_depth(const struct sw_ecn *ecn, const struct held *held, struct accuracy *ret)
{
    double min = (double)ecn->min_bytes, max = (double)ecn->max_bytes, n = (double)held->packets;

    if (held->packets == 0) return;
    ret->packets += held->packets;
    if (held->most < min) {
        ret->under++;
        ret->below += held->marks;
    } else if (held->least > max) {
        uint64_t missing = held->packets > held->marks ? held->packets - held->marks : 0;
        ret->over++;
        ret->above += missing <= ENDS ? held->packets : held->marks;
        ret->above_packets += held->packets;
    } else if (held->least >= min && held->most <= max && max > min) {
        double p = (held->depth - min) / (max - min) * ecn->probability_ppm / 1e6;
        double spread = (held->most - held->least) / (max - min) * ecn->probability_ppm / 1e6 * n; /* within a packet */
        double away = fabs((double)held->marks - p * n) - spread;
        double sigma = away <= 0 ? 0 : away / sqrt(n * p * (1 - p) + 1);
        ret->between++;
        if (sigma < ret->sigma) return;
        ret->sigma = sigma;
        ret->sigma_depth = held->depth;
    }
}

static void judge_accuracy(struct validate_case *of, const struct sw_ecn *ecn, const struct accuracy *seen)
{
    const char *subject =
        case_text(of, "queue below Kmin %s: packets marked", case_number(of, VALIDATE_BYTES, (double)ecn->min_bytes));
    if (seen->under)
        JUDGE(of, .subject = subject, .criterion = CRITERION_MARKS_BELOW, .value = (double)seen->below,
              .why = "the queue marks before it should");
    else
        validate_skip(of, subject, "the queue could not be held there");
    subject = case_text(of, "queue above Kmax %s: share of packets marked",
                        case_number(of, VALIDATE_BYTES, (double)ecn->max_bytes));
    if (seen->over)
        JUDGE(of, .subject = subject, .criterion = CRITERION_MARKS_ABOVE, .unit = VALIDATE_RATIO,
              .value = (double)seen->above / (double)seen->above_packets,
              .why = "packets pass unmarked: not ECT, or another queue");
    else
        validate_skip(of, subject, "the queue cannot be held there: it is paused or dropped before");
    subject = case_text(of, "queue between: marks against the line from 0 to %g %%, in standard deviations",
                        ecn->probability_ppm / 1e4);
    const char *why = case_text(of, "at a depth of %s", case_number(of, VALIDATE_BYTES, seen->sigma_depth));
    if (seen->between)
        JUDGE(of, .subject = subject, .criterion = CRITERION_MARK_SLOPE, .unit = VALIDATE_RATIO, .value = seen->sigma,
              .why = why);
    else
        validate_skip(of, subject, "Kmin and Kmax are too near to each other, or the queue is paused before");
}

void test_ecn(struct validate_case *of)
{
    uint32_t port = FABRIC_NONE;
    uint8_t queue = 0;
    const struct sw_ecn *ecn = queue_to(of->fabric, 0, &port, &queue);
    struct accuracy seen = {0};
    struct held held;
    uint32_t reached;

    choose_ranks(of, SENDERS + 1, &reached);
    if (validate_skip_if(of, reached <= SENDERS, "", "fewer than three endpoints reach each other")) return;
    if (validate_skip_if(of, !is_roce(of->fabric), "", "the queue is held by adapters of RoCE; this is %s",
                         fabric_system(of->fabric)->title))
        return;
    if (validate_skip_if(of, ecn == NULL || !ecn->on, "", "the queue to the first endpoint does not mark")) return;
    double min = (double)ecn->min_bytes, between = (double)ecn->max_bytes - min;
    const double depth[] = {0.5 * min,
                            min + 0.25 * between,
                            min + 0.5 * between,
                            min + 0.75 * between,
                            1.1 * (min + between),
                            1.5 * (min + between)};
    if (!hold_queue(of, (uint64_t)min, port, queue, &held)) return;
    double way = SENDERS * min - held.depth; /* what is not in the queue but on the way */
    for (uint32_t i = 0; i < sizeof depth / sizeof depth[0]; i++) {
        if (!hold_queue(of, (uint64_t)((depth[i] + way) / SENDERS), port, queue, &held)) return;
        add_depth(ecn, &held, &seen);
    }
    judge_accuracy(of, ecn, &seen);
}

struct rates { /* of all connections, over a step */
    uint64_t before[FLOWS_MOST];
    double bps[FLOWS_MOST];
};

static void take_rates(const struct variant *variant, uint32_t flows, ps_t step, struct rates *rates)
{
    for (uint32_t i = 0; i < flows; i++) {
        struct sim_connection_sample sample;
        sim_sample_connection(variant->sim, i, &sample);
        rates->bps[i] = (double)(sample.acked_bytes - rates->before[i]) * 8 * (double)PS_S / (double)step;
        rates->before[i] = sample.acked_bytes;
    }
}

/* How far the mean of the older half, or of the newer, is from the fair share. */
static double unfairness(const struct rates *rates, uint32_t flows)
{
    double old = 0, all = 0;

    for (uint32_t i = 0; i < flows; i++) {
        all += rates->bps[i];
        if (i < flows / 2) old += rates->bps[i];
    }
    return all > 0 ? fabs(old - all / 2) / (all / 2) : 1;
}

static double jain(const double *bps, uint32_t flows)
{
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < flows; i++) {
        sum += bps[i];
        squares += bps[i] * bps[i];
    }
    return squares > 0 ? sum * sum / (flows * squares) : 0;
}

/* The time of the preset: that in which its additive increase alone makes a fair share; of algorithms that have none,
 * a thousand round trips. */
static double preset_time(const struct validate_case *of, double share_bps, double idle_ps, const char **ret_words)
{
    const struct fabric_nic *nic = &of->fabric->nic[of->fabric->endpoint[0].nic];
    struct fabric_errors errors = {0};
    struct cc_config config;

    if (plant_congestion(nic, &config, &errors) && config.kind == CC_DCQCN && config.rpg_ai_rate) {
        double step = (double)config.rpg_time_reset, increase = (double)config.rpg_ai_rate;
        *ret_words = case_text(of, "fair share/rpg_ai_rate x rpg_time_reset, %s/%s x %s",
                               case_number(of, VALIDATE_RATE, share_bps), case_number(of, VALIDATE_RATE, increase),
                               case_number(of, VALIDATE_TIME, step));
        return share_bps / increase * step;
    }
    *ret_words = case_text(of, "a thousand round trips of %s", case_number(of, VALIDATE_TIME, idle_ps));
    return 1000 * idle_ps;
}

struct shares {   /* what came of flows that share */
    ps_t fair_ps; /* PS_NEVER: not within the time */
    double away, jain;
};

/* Step by step until both halves are near the fair share, and a few steps more; or to the limit. */
static struct shares watch_shares(struct variant *variant, uint32_t flows, ps_t begin, ps_t limit, double allowed)
{
    ps_t step = limit / 100 > PS_MS ? limit / 100 : PS_MS, at = begin;
    struct shares shares = {.fair_ps = PS_NEVER, .away = 1};
    double mean[FLOWS_MOST] = {0};
    struct rates rates = {{0}, {0}};
    uint32_t steps = 0;

    take_rates(variant, flows, step, &rates);
    while (steps < 4 && (at < begin + limit || shares.fair_ps != PS_NEVER)) {
        at += step;
        while (sim_advance(variant->sim, 1u << 16, at) == SIM_RUNNING)
            ;
        take_rates(variant, flows, step, &rates);
        shares.away = unfairness(&rates, flows);
        if (shares.away <= allowed && shares.fair_ps == PS_NEVER) shares.fair_ps = at - begin;
        for (uint32_t i = 0; i < flows; i++)
            mean[i] = shares.fair_ps == PS_NEVER ? rates.bps[i] : mean[i] + rates.bps[i];
        if (shares.fair_ps != PS_NEVER) steps++;
    }
    shares.jain = jain(mean, flows);
    return shares;
}

static void judge_convergence(struct validate_case *of, struct variant *variant, uint32_t flows, ps_t begin)
{
    static const ps_t longest[VALIDATE_LEVELS] = {200 * PS_MS, 400 * PS_MS, 10 * PS_S};
    const struct fabric_criteria *criteria = &of->fabric->operations.criteria;
    double line = (double)of->fabric->port[of->fabric->endpoint[0].port].rate_bps;
    double allowed = (double)criteria->value[CRITERION_FAIR_SHARE] / 1e6, times;
    const char *words;
    double base = preset_time(of, line / flows, (double)variant->result.flow[flows].ideal_ps, &words);

    times = (double)criteria->value[CRITERION_CONVERGENCE] / 1e6;
    const char *subject = case_text(of, "%u flows, then %u: until both halves are within %g %% of the fair share",
                                    flows / 2, flows, allowed * 100);
    if (validate_skip_if(of, base * times > (double)longest[of->plan->level], subject,
                         "the preset takes about %s (%.200s): longer than a %s run looks",
                         case_number(of, VALIDATE_TIME, base * times), words, validate_level_names[of->plan->level]))
        return;
    struct shares shares = watch_shares(variant, flows, begin, (ps_t)(base * times), allowed);
    const char *why = case_text(of, "the halves are %.0f %% from their fair share at the end", shares.away * 100);
    JUDGE(of, .subject = subject, .criterion = CRITERION_CONVERGENCE, .unit = VALIDATE_TIME,
          .value = shares.fair_ps == PS_NEVER ? INFINITY : (double)shares.fair_ps, .base = base, .of = words,
          .why = why);
    subject = case_text(of, "Jain's index of %u flows from then on", flows);
    JUDGE(of, .subject = subject, .criterion = CRITERION_FAIRNESS, .unit = VALIDATE_RATIO, .value = shares.jain,
          .why = "some flows keep more than others");
}

void test_convergence(struct validate_case *of)
{
    static const char subject[] = "flows that share a receiver";
    const struct fabric *fabric = of->fabric;
    uint32_t half = 4, flows = 0;
    ps_t begin = 10 * PS_MS;
    struct variant variant = {0};
    const char *name = "", *jobs = "[{flows: \"";

    if (validate_skip_if(of, strcmp(fabric->nic[fabric->endpoint[0].nic].congestion, "none") == 0, subject,
                         "the adapters have no congestion control"))
        return;
    const char *to = case_endpoint(of, 0);
    for (uint32_t e = fabric->endpoints; e-- > 1 && flows < 2 * half;) {
        if (fabric->endpoint[e].host == fabric->endpoint[0].host || !fabric_reaches(fabric, e, 0)) continue;
        name = case_endpoint(of, e);
        jobs = case_text(of, "%s%s %s 1TB%s\\n", jobs, name, to, flows++ < half ? "" : " 10ms");
    }
    if (validate_skip_if(of, flows < 2 * half, subject, "fewer than %u other adapters can send to the first", 2 * half))
        return;
    /* a message for its closed form alone: it never begins */
    jobs = case_text(of, "%s%s %s 64B 1000s\"}]", jobs, name, to);
    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, begin)) return;
    judge_convergence(of, &variant, flows, begin);
    variant_close(&variant);
}

/* N < B/Kmax - 1/alpha, where the receiver's queue marks and its groups' thresholds are dynamic. */
static const char *burst_formula(const struct validate_case *of)
{
    const struct fabric *fabric = of->fabric;
    uint32_t port = FABRIC_NONE;
    uint8_t queue = 0;
    const struct sw_ecn *ecn = queue_to(fabric, 0, &port, &queue);

    if (ecn == NULL || !ecn->on || ecn->max_bytes == 0) return "";
    const struct fabric_switch *sw = &fabric->sw[fabric->port[port].node - fabric->hosts];
    const struct sw_pg_config *pg = &fabric->settings[fabric->port[port].settings].pg[queue].sw;
    if (!pg->dynamic || pg->alpha_num == 0) return "";
    double taken = (double)(sw->reserved_sum_bytes + sw->headroom_sum_bytes), all = (double)sw->buffer_bytes;
    double shared = all > taken ? all - taken : 0, alpha = (double)pg->alpha_num / pg->alpha_den;
    return case_text(of, "; N < B/Kmax - 1/alpha: %s/%s - 1/%g = %.1f", case_number(of, VALIDATE_BYTES, shared),
                     case_number(of, VALIDATE_BYTES, (double)ecn->max_bytes), alpha,
                     shared / (double)ecn->max_bytes - 1 / alpha);
}

void test_microbursts(struct validate_case *of)
{
    static const char *const sizes[BURSTS] = {"16KB", "64KB", "256KB", "1MB", "4MB", "16MB"};
    static const double bytes[BURSTS] = {16e3, 64e3, 256e3, 1e6, 4e6, 16e6};
    uint32_t count, senders = of->fabric->operations.fan_in, pause = BURSTS, mark = BURSTS;
    const char *subject, *words;

    choose_ranks(of, RANKS_MOST, &count);
    if (senders == 0) senders = 8;
    if (senders > count - 1) senders = count - 1;
    if (validate_skip_if(of, !of->fabric->classes[choose_class(of->fabric)].lossless || senders < 2, "", "%s",
                         senders < 2 ? "fewer than three endpoints reach each other" : "no class is lossless"))
        return;
    for (uint32_t i = 0; i < BURSTS && (pause == BURSTS || mark == BURSTS); i++) {
        struct variant variant = {0};
        if (!variant_open(of, "a burst", incast_jobs(of, senders, sizes[i]), &variant, NULL)) return;
        if (!variant_run(of, "a burst", &variant, PS_S)) return;
        struct variant_counts counts = variant_count(&variant);
        bool arrived = variant.result.state == SIM_DONE && !variant.result.work_failed;
        if (counts.marks && mark == BURSTS) mark = i;
        if (counts.pauses && pause == BURSTS) pause = i;
        variant_close(&variant);
        if (!arrived) {
            subject = case_text(of, "bursts of %u senders", senders);
            validate_tell(of, VALIDATE_FAIL, subject, "a burst arrives", "one of %s each does not", sizes[i]);
            return;
        }
    }
    subject = case_text(of, "bursts of %u senders: the smallest that is marked", senders);
    const char *formula = burst_formula(of);
    if (pause == BURSTS) {
        words = case_text(of, "a burst is marked before one pauses%.200s", formula);
        validate_tell(of, VALIDATE_PASS, subject, words, "none of 16KB to 16MB pauses; %s",
                      mark < BURSTS ? "marks come" : "none is marked either");
        return;
    }
    words = case_text(of, "the smallest that pauses, %s each%.200s", sizes[pause], formula);
    JUDGE(of, .subject = subject, .criterion = CRITERION_FIRST_MARK, .unit = VALIDATE_BYTES,
          .value = mark < BURSTS ? bytes[mark] : INFINITY, .base = bytes[pause], .of = words,
          .why = "pauses come before any mark: senders are stopped, not slowed");
}
