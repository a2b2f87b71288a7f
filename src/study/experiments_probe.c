/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a measure can ask of a run: one line of a table for each call, and how its answer is read off.
 *
 * `rocelab help calls` prints the table.  A mean, percentile or ratio of
 * nothing is not a number, and whatever is computed with it is a miss: a run in which no flow ended would else have the
 * best of completion times.  Sums of nothing are 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/histo.h"
#include "fabric/fabric.h"
#include "study/experiments.h"

#define GIGABITS(bytes, span) ((double)(bytes)*8e3 / (double)(span)) /* a span in picoseconds */
#define MICROSECONDS(span) ((double)(span) / (double)PS_US)

static const char *word_of(const struct probe *probe, enum probe_argument argument)
{
    for (int i = 0; i < PROBE_ARGUMENTS; i++)
        if (probe->kind->argument[i] == argument) return probe->word[i];
    CHECK(false);
}

static bool has(const struct probe *probe, enum probe_argument argument)
{
    for (int i = 0; i < PROBE_ARGUMENTS; i++)
        if (probe->kind->argument[i] == argument) return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The value that `percent` of them do not exceed, between neighbours on a straight line. */
static double percentile(const double *sorted, size_t count, double percent)
{
    if (count == 0) return NAN;
    double place = percent / 100 * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double percentile_of(double *value, size_t count, double percent)
{
    qsort(value, count, sizeof(*value), compare);
    return percentile(value, count, percent);
}

/* Queues. */

static double read_queue(const struct probe *probe, const struct probe_seen *seen)
{
    double total = 0;

    (void)probe;
    for (size_t i = 0; i < seen->samples; i++)
        total += seen->sample[i];
    return seen->samples ? total / (double)seen->samples : NAN;
}

static double read_queue_percentile(const struct probe *probe, const struct probe_seen *seen)
{
    return percentile_of(seen->sample, seen->samples, probe->percent);
}

/* Goodputs. */

static double read_goodput(const struct probe *probe, const struct probe_seen *seen)
{
    double total = 0;

    (void)probe;
    for (size_t i = 0; i < seen->goodputs; i++)
        total += seen->goodput[i];
    return total;
}

static double read_goodput_percentile(const struct probe *probe, const struct probe_seen *seen)
{
    return percentile_of(seen->goodput, seen->goodputs, probe->percent);
}

static double read_jain(const struct probe *probe, const struct probe_seen *seen)
{
    double total = 0, squares = 0;

    (void)probe;
    for (size_t i = 0; i < seen->goodputs; i++) {
        total += seen->goodput[i];
        squares += seen->goodput[i] * seen->goodput[i];
    }
    return squares > 0 ? total * total / ((double)seen->goodputs * squares) : NAN;
}

/* Flows. */

static bool of_job(const struct probe *probe, const struct probe_seen *seen, const struct sim_flow *flow)
{
    const char *job = word_of(probe, ARGUMENT_JOB);
    return strcmp(job, "*") == 0 || strcmp(job, seen->fabric->job[flow->job].name) == 0;
}

static bool ended(const struct sim_flow *flow)
{
    return flow->fct_ps != PS_NEVER && flow->fct_ps > 0 && !flow->failed;
}

enum of_flow { FLOW_GOODPUT, FLOW_TIME, FLOW_SLOWDOWN };

/* One that never ended has a goodput, of nothing, but no time. */
static bool has_value(const struct sim_flow *flow, enum of_flow what)
{
    if (what == FLOW_GOODPUT) return true;
    return ended(flow) && (what == FLOW_TIME || (flow->ideal_ps && flow->ideal_ps != PS_NEVER));
}

static double flow_value(const struct sim_flow *flow, enum of_flow what)
{
    switch (what) {
    case FLOW_GOODPUT:
        return ended(flow) ? GIGABITS(flow->bytes, flow->fct_ps) : 0;
    case FLOW_TIME:
        return MICROSECONDS(flow->fct_ps);
    case FLOW_SLOWDOWN:
        return (double)flow->fct_ps / (double)flow->ideal_ps;
    }
    CHECK(false);
}

/* Of all, or of those whose size is between the two that the call names. */
static bool of_size(const struct probe *probe, const struct sim_flow *flow)
{
    for (int i = 0; i + 1 < PROBE_ARGUMENTS; i++)
        if (probe->kind->argument[i] == ARGUMENT_SIZE)
            return flow->bytes >= probe->count[i] && flow->bytes <= probe->count[i + 1];
    return true;
}

static double flows_percentile(const struct probe *probe, const struct probe_seen *seen, enum of_flow what)
{
    double *value = calloc(seen->result->flows + 1u, sizeof(*value));
    size_t count = 0;

    for (uint32_t i = 0; i < seen->result->flows; i++) {
        const struct sim_flow *flow = &seen->result->flow[i];
        if (of_job(probe, seen, flow) && of_size(probe, flow) && has_value(flow, what))
            value[count++] = flow_value(flow, what);
    }
    double answer = percentile_of(value, count, probe->percent);
    free(value);
    return answer;
}

static double read_flow_goodput(const struct probe *probe, const struct probe_seen *seen)
{
    return flows_percentile(probe, seen, FLOW_GOODPUT);
}

static double read_fct(const struct probe *probe, const struct probe_seen *seen)
{
    return flows_percentile(probe, seen, FLOW_TIME);
}

static double read_fct_mean(const struct probe *probe, const struct probe_seen *seen)
{
    double sum = 0, count = 0;

    for (uint32_t i = 0; i < seen->result->flows; i++) {
        const struct sim_flow *flow = &seen->result->flow[i];
        if (!of_job(probe, seen, flow) || !has_value(flow, FLOW_TIME)) continue;
        sum += flow_value(flow, FLOW_TIME);
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static double read_slowdown(const struct probe *probe, const struct probe_seen *seen)
{
    return flows_percentile(probe, seen, FLOW_SLOWDOWN);
}

static double read_flows_done(const struct probe *probe, const struct probe_seen *seen)
{
    double count = 0;

    for (uint32_t i = 0; i < seen->result->flows; i++)
        count += of_job(probe, seen, &seen->result->flow[i]) && ended(&seen->result->flow[i]);
    return count;
}

static double read_bytes_done(const struct probe *probe, const struct probe_seen *seen)
{
    double bytes = 0;

    for (uint32_t i = 0; i < seen->result->flows; i++) {
        const struct sim_flow *flow = &seen->result->flow[i];
        if (of_job(probe, seen, flow) && ended(flow)) bytes += (double)flow->bytes;
    }
    return bytes;
}

static double read_duration(const struct probe *probe, const struct probe_seen *seen)
{
    (void)probe;
    return MICROSECONDS(seen->result->virtual_ps);
}

/* Counters of ports and adapters. */

static bool is_role(const char *word, unsigned role)
{
    static const char *const names[] = {
#define X(id, name, prefix) name,
        FABRIC_ROLE_LIST(X)
#undef X
    };
    return role < FABRIC_ROLES && strcmp(names[role], word) == 0;
}

/* `leaf0:3`, or `leaf0:3-7`. */
static bool find_ports(const char *where, const struct fabric *fabric, uint32_t *ret_first, uint32_t *ret_last)
{
    const char *colon = strchr(where, ':'), *dash = colon ? strchr(colon, '-') : NULL;
    char name[PROBE_TEXT + 1];

    if (colon == NULL) return false;
    snprintf(name, sizeof name, "%.*s", dash ? (int)(dash - where) : (int)strlen(where), where);
    uint32_t first = fabric_find_port(fabric, name), last = first;
    if (dash) {
        snprintf(name, sizeof name, "%.*s:%s", (int)(colon - where), where, dash + 1);
        last = fabric_find_port(fabric, name);
    }
    if (first == FABRIC_NONE || last == FABRIC_NONE || last < first) return false;
    *ret_first = first;
    *ret_last = last;
    return true;
}

static bool is_where(const char *where, const struct fabric *fabric, uint32_t port)
{
    const struct fabric_node *node = &fabric->node[fabric->port[port].node];

    if (strcmp(where, "*") == 0 || strcmp(where, node->name) == 0 || is_role(where, node->role)) return true;
    uint32_t first, last;
    return find_ports(where, fabric, &first, &last) && port >= first && port <= last;
}

#define OF_PORTS(name, member, scale)                                                                                  \
    static double read_##name(const struct probe *probe, const struct probe_seen *seen)                                \
    {                                                                                                                  \
        const char *where = word_of(probe, ARGUMENT_WHERE);                                                            \
        uint64_t total = 0;                                                                                            \
        for (uint32_t i = 0; i < seen->result->ports; i++)                                                             \
            if (is_where(where, seen->fabric, seen->result->port[i].port)) total += seen->result->port[i].member;      \
        return (double)total / (double)(scale);                                                                        \
    }
OF_PORTS(pauses_sent, pauses_sent, 1)
OF_PORTS(pauses_received, pauses_received, 1)
OF_PORTS(paused, paused_ps, PS_US)
OF_PORTS(marks, ecn_marked, 1)
OF_PORTS(drops, drops, 1)
OF_PORTS(lost, lost, 1)

static double read_queue_peak(const struct probe *probe, const struct probe_seen *seen)
{
    const char *where = word_of(probe, ARGUMENT_WHERE);
    uint64_t most = 0;

    for (uint32_t i = 0; i < seen->result->ports; i++) {
        const struct sim_port *port = &seen->result->port[i];
        if (is_where(where, seen->fabric, port->port) && port->queue_max_bytes > most) most = port->queue_max_bytes;
    }
    return (double)most;
}

static double read_spread(const struct probe *probe, const struct probe_seen *seen)
{
    const char *where = word_of(probe, ARGUMENT_WHERE);
    double most = 0, total = 0, ports = 0;

    for (uint32_t i = 0; i < seen->result->ports; i++) {
        const struct sim_port *port = &seen->result->port[i];
        if (!is_where(where, seen->fabric, port->port)) continue;
        if ((double)port->line_bytes > most) most = (double)port->line_bytes;
        total += (double)port->line_bytes;
        ports++;
    }
    return total > 0 ? most * ports / total : NAN;
}

static uint64_t cnps_of(const struct sim_nic *nic)
{
    return nic->counters ? nic->counters->np_cnp_sent : 0;
}

#define OF_NICS(name, value)                                                                                           \
    static double read_##name(const struct probe *probe, const struct probe_seen *seen)                                \
    {                                                                                                                  \
        const char *where = word_of(probe, ARGUMENT_WHERE);                                                            \
        uint64_t total = 0;                                                                                            \
        for (uint32_t i = 0; i < seen->result->nics; i++) {                                                            \
            const struct sim_nic *nic = &seen->result->nic[i];                                                         \
            if (is_where(where, seen->fabric, seen->fabric->endpoint[nic->endpoint].port)) total += value;             \
        }                                                                                                              \
        return (double)total;                                                                                          \
    }
OF_NICS(retransmitted, nic->common.retransmitted_packets)
OF_NICS(timeouts, nic->common.timeouts)
OF_NICS(trimmed, nic->common.trimmed)
OF_NICS(data_packets, nic->common.tx_data_packets)
OF_NICS(cnps, cnps_of(nic))

static double read_rtt(const struct probe *probe, const struct probe_seen *seen)
{
    const char *where = word_of(probe, ARGUMENT_WHERE);
    struct histo all = {0};

    for (uint32_t i = 0; i < seen->result->nics; i++) {
        const struct sim_nic *nic = &seen->result->nic[i];
        if (nic->rtt_ns && is_where(where, seen->fabric, seen->fabric->endpoint[nic->endpoint].port))
            histo_merge(&all, nic->rtt_ns);
    }
    if (all.count == 0) return NAN;
    return (double)histo_percentile(&all, (uint32_t)(probe->percent * 1e4)) / 1000;
}

/* Deadlocks and the watchdog. */

static double read_deadlocks(const struct probe *probe, const struct probe_seen *seen)
{
    (void)probe;
    return (double)seen->result->deadlocks;
}

static double read_deadlock_closed(const struct probe *probe, const struct probe_seen *seen)
{
    (void)probe;
    return seen->result->deadlocks ? MICROSECONDS(seen->result->deadlock[0].closed) : NAN;
}

static double read_deadlock_holds(const struct probe *probe, const struct probe_seen *seen)
{
    const struct sim_result *result = seen->result;

    (void)probe;
    return result->deadlocks && result->deadlock[result->deadlocks - 1].ended == PS_NEVER;
}

/* The latest time among the queues of these ports; NaN: it never happened. */
static double watchdog_time(const struct probe *probe, const struct probe_seen *seen, bool restored)
{
    const char *where = word_of(probe, ARGUMENT_WHERE);
    uint64_t count = 0, last = 0;

    for (uint32_t i = 0; i < seen->result->ports; i++) {
        const struct sim_port *port = &seen->result->port[i];
        if (port->sw == NULL || !is_where(where, seen->fabric, port->port)) continue;
        for (int q = 0; q < FABRIC_PRIOS; q++) {
            const struct sw_prio_counters *prio = &port->sw->prio[q];
            uint64_t at = restored ? prio->watchdog_restored_at_ps : prio->watchdog_acted_at_ps;
            count += restored ? prio->watchdog_restored : prio->watchdog_detected;
            if (at > last) last = at;
        }
    }
    return count ? MICROSECONDS(last) : NAN;
}

static double read_watchdog_acted(const struct probe *probe, const struct probe_seen *seen)
{
    return watchdog_time(probe, seen, false);
}

static double read_watchdog_restored(const struct probe *probe, const struct probe_seen *seen)
{
    return watchdog_time(probe, seen, true);
}

#define RUN ARGUMENT_RUN
#define WHERE ARGUMENT_WHERE
#define PAIR ARGUMENT_SRC, ARGUMENT_DST
#define RANGE ARGUMENT_FROM, ARGUMENT_TO
#define COUNT ARGUMENT_COUNT
#define SIZES ARGUMENT_SIZE, ARGUMENT_SIZE
const struct probe_kind probe_kinds[] = {
    {"queue",
     "mean of the bytes queued at a port, all its queues",
     {RUN, ARGUMENT_PORT, RANGE},
     .queue = true,
     .read = read_queue},
    {"queue_percentile",
     "percentile P (0 to 100) of the bytes queued at a port",
     {RUN, ARGUMENT_PORT, ARGUMENT_PERCENT, RANGE},
     .queue = true,
     .read = read_queue_percentile},
    {"queue_peak", "the longest any one queue has been, bytes", {RUN, WHERE}, .read = read_queue_peak},
    {"goodput", "payload acknowledged, Gb/s", {RUN, PAIR, RANGE}, .bytes = true, .read = read_goodput},
    {"goodput_percentile",
     "percentile P over connections of payload acknowledged, Gb/s",
     {RUN, PAIR, ARGUMENT_PERCENT, RANGE},
     .bytes = true,
     .read = read_goodput_percentile},
    {"jain",
     "Jain's fairness index of the goodputs of connections",
     {RUN, PAIR, RANGE},
     .bytes = true,
     .read = read_jain},
    {"flow_goodput",
     "size / completion time, Gb/s; an unfinished flow counts 0",
     {RUN, ARGUMENT_JOB, ARGUMENT_PERCENT},
     .read = read_flow_goodput},
    {"fct",
     "percentile P of completion times of flows that ended, us",
     {RUN, ARGUMENT_JOB, ARGUMENT_PERCENT},
     .read = read_fct},
    {"fct_mean", "mean of completion times of flows that ended, us", {RUN, ARGUMENT_JOB}, .read = read_fct_mean},
    {"slowdown",
     "percentile P of completion times over the time the flow would take alone",
     {RUN, ARGUMENT_JOB, ARGUMENT_PERCENT},
     .read = read_slowdown},
    {"slowdown_sized",
     "percentile P of slowdowns of flows of LEAST to MOST bytes",
     {RUN, ARGUMENT_JOB, ARGUMENT_PERCENT, SIZES},
     .read = read_slowdown},
    {"flows_done", "flows completed without an error", {RUN, ARGUMENT_JOB}, .read = read_flows_done},
    {"bytes_done", "bytes of flows completed without an error", {RUN, ARGUMENT_JOB}, .read = read_bytes_done},
    {"duration", "virtual time of the run, us", {RUN}, .read = read_duration},
    {"pauses_sent", "PFC frames sent", {RUN, WHERE}, .read = read_pauses_sent},
    {"pauses_received", "PFC frames received", {RUN, WHERE}, .read = read_pauses_received},
    {"paused", "time paused, us, summed over ports and priorities", {RUN, WHERE}, .read = read_paused},
    {"marks", "packets marked by ECN", {RUN, WHERE}, .read = read_marks},
    {"drops", "packets dropped by devices, all reasons", {RUN, WHERE}, .read = read_drops},
    {"lost", "frames lost on the wire: corruption and `drop` faults", {RUN, WHERE}, .read = read_lost},
    {"spread", "bytes sent by the busiest of the ports over their mean", {RUN, WHERE}, .read = read_spread},
    {"retransmitted", "packets sent again by adapters", {RUN, WHERE}, .read = read_retransmitted},
    {"timeouts", "retransmission timeouts", {RUN, WHERE}, .read = read_timeouts},
    {"trimmed", "packets that reached adapters without their payload", {RUN, WHERE}, .read = read_trimmed},
    {"data_packets", "packets with data that adapters sent, again or not", {RUN, WHERE}, .read = read_data_packets},
    {"cnps", "CNPs sent", {RUN, WHERE}, .read = read_cnps},
    {"rtt",
     "percentile P of round-trip times, us (docs/congestion.md)",
     {RUN, WHERE, ARGUMENT_PERCENT},
     .rtt = true,
     .read = read_rtt},
    {"deadlocks", "deadlocks found; the run goes on after one", {RUN}, .read = read_deadlocks},
    {"deadlock_closed", "when the first was closed, us", {RUN}, .read = read_deadlock_closed},
    {"deadlock_holds",
     "1: the last was there at the end; 0: it was not, or none was",
     {RUN},
     .read = read_deadlock_holds},
    {"watchdog_acted", "when the pause watchdog last cut a queue off, us", {RUN, WHERE}, .read = read_watchdog_acted},
    {"watchdog_restored",
     "when the pause watchdog last gave a queue back, us",
     {RUN, WHERE},
     .read = read_watchdog_restored},
    {"ecmp_max_mean",
     "Monte Carlo of hashing: the fullest link over the mean",
     {COUNT, COUNT, COUNT},
     .calculate = ecmp_max_mean},
    {"ecmp_slowest",
     "capacity used when all flows go at the slowest's pace",
     {COUNT, COUNT, COUNT},
     .calculate = ecmp_slowest},
    {"ecmp_max_min", "capacity used with max-min fair shares", {COUNT, COUNT, COUNT}, .calculate = ecmp_max_min},
};
const size_t probe_kind_count = sizeof probe_kinds / sizeof probe_kinds[0];

static bool known_where(const char *where, const struct fabric *fabric)
{
    if (strcmp(where, "*") == 0 || fabric_find_node(fabric, where) != FABRIC_NONE) return true;
    for (unsigned role = 0; role < FABRIC_ROLES; role++)
        if (is_role(where, role)) return true;
    uint32_t first, last;
    return find_ports(where, fabric, &first, &last);
}

static bool known_end(const char *word, const struct fabric *fabric)
{
    return strcmp(word, "*") == 0 || fabric_find_endpoint(fabric, word) != FABRIC_NONE;
}

const char *probe_bind(const struct probe *probe, const struct fabric *fabric)
{
    if (has(probe, ARGUMENT_PORT) && fabric_find_port(fabric, word_of(probe, ARGUMENT_PORT)) == FABRIC_NONE)
        return "no such port";
    if (has(probe, ARGUMENT_WHERE) && !known_where(word_of(probe, ARGUMENT_WHERE), fabric))
        return "no such port, device or role";
    if (has(probe, ARGUMENT_SRC) && !known_end(word_of(probe, ARGUMENT_SRC), fabric)) return "no such source";
    if (has(probe, ARGUMENT_DST) && !known_end(word_of(probe, ARGUMENT_DST), fabric)) return "no such destination";
    if (!has(probe, ARGUMENT_JOB) || strcmp(word_of(probe, ARGUMENT_JOB), "*") == 0) return NULL;
    for (uint32_t i = 0; i < fabric->jobs; i++)
        if (strcmp(fabric->job[i].name, word_of(probe, ARGUMENT_JOB)) == 0) return NULL;
    return "no such job";
}

uint32_t probe_port(const struct probe *probe, const struct fabric *fabric)
{
    return fabric_find_port(fabric, word_of(probe, ARGUMENT_PORT));
}

bool probe_covers(const struct probe *probe, const struct fabric *fabric, uint32_t src, uint32_t dst)
{
    const char *from = word_of(probe, ARGUMENT_SRC), *to = word_of(probe, ARGUMENT_DST);

    return (strcmp(from, "*") == 0 || fabric_find_endpoint(fabric, from) == src) &&
           (strcmp(to, "*") == 0 || fabric_find_endpoint(fabric, to) == dst);
}

void probe_kind_write(const struct probe_kind *kind, FILE *out)
{
    static const char *const names[] = {
        [ARGUMENT_RUN] = "RUN",   [ARGUMENT_PORT] = "PORT", [ARGUMENT_WHERE] = "WHERE",
        [ARGUMENT_SRC] = "SRC",   [ARGUMENT_DST] = "DST",   [ARGUMENT_JOB] = "JOB",
        [ARGUMENT_PERCENT] = "P", [ARGUMENT_FROM] = "FROM", [ARGUMENT_TO] = "TO",
    };
    static const char *const counts[] = {"FLOWS", "LINKS", "TRIALS"}, *const sizes[] = {"LEAST", "MOST"};
    unsigned count = 0, size = 0;

    fprintf(out, "%s(", kind->name);
    for (int i = 0; i < PROBE_ARGUMENTS && kind->argument[i] != ARGUMENT_END; i++) {
        uint8_t argument = kind->argument[i];
        const char *name = argument == ARGUMENT_COUNT  ? counts[count++]
                           : argument == ARGUMENT_SIZE ? sizes[size++]
                                                       : names[argument];
        fprintf(out, "%s%s", i == 0 ? "" : ", ", name);
    }
    fputc(')', out);
}
