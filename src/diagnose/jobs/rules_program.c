/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that say that it was not the network: memory, receives and processes (D35), ranks that are not where the others
 * are (D36).
 *
 * A request that was refused came there and back.  What is said after another end had stopped answering follows from
 * that, and is no cause; without times the order is that of lines in one text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/jobs/pairs_int.h"
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"

#define LISTED 8            /* ranks that a sentence names */
#define GROUPS_ASKED 4      /* process groups of which the ranks that are not shown are asked for */
#define RANKS_COMPARED 1024 /* for what they wait in: each is looked for among all events */

/* --- D35 --- */

static const struct refused {
    uint8_t kinds[3]; /* ends with 0, which is a link's */
    const char *what;
} sorts[] = {
    {{EVIDENCE_EVENT_ACCESS_REFUSED, EVIDENCE_EVENT_REQUEST_REFUSED},
     "requests were refused for their memory or their kind, at this end or the other"},
    {{EVIDENCE_EVENT_LENGTH_WRONG}, "messages were longer than the receives that were posted for them"},
    {{EVIDENCE_EVENT_RNR_EXHAUSTED}, "the peer's program posted no receive in time: it is slow, or it hangs"},
    {{EVIDENCE_EVENT_MEMORY_LIMIT}, "memory could not be registered with the adapter"},
    {{EVIDENCE_EVENT_REJECTED}, "the peer answered, and refused the connection: nobody listens there"},
    {{EVIDENCE_EVENT_PROGRAM_FAILED}, "a program failed by itself"},
};
_Static_assert(EVIDENCE_EVENT_LINK_WENT_DOWN == 0, "ends a list of kinds");

static bool is_of(const struct refused *sort, const struct evidence_event *event)
{
    for (size_t i = 0; i < sizeof sort->kinds && sort->kinds[i]; i++)
        if (sort->kinds[i] == event->kind) return true;
    return false;
}

/* Something at the path to a peer was said before. */
static bool follows(const struct evidence *evidence, const struct evidence_event *event)
{
    static const uint8_t causes[] = {EVIDENCE_EVENT_RETRY_EXHAUSTED, EVIDENCE_EVENT_LINK_WENT_DOWN,
                                     EVIDENCE_EVENT_ADAPTER_FAILED, EVIDENCE_EVENT_UNREACHABLE,
                                     EVIDENCE_EVENT_GPU_FAILED};

    for (size_t i = 0; i < sizeof causes; i++) {
        const struct evidence_event *cause = event_first(evidence, causes[i]);
        if (cause && event_before(cause, event)) return true;
    }
    return false;
}

static void refused(struct diagnose *diagnose, const struct refused *sort)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_event *first = NULL;
    uint64_t count = 0;
    char near[PAIR_END], far[PAIR_END], detail[160] = "";

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (!is_of(sort, event)) continue;
        count += event->count;
        if (!first || event_before(event, first)) first = event;
    }
    if (!first || follows(evidence, first)) return;
    pair_ends(diagnose, first, near, far);
    if (first->detail) snprintf(detail, sizeof detail, " (%.140s)", first->detail);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D35, first->object, EVIDENCE_NO_PRIORITY,
                    "%s, %" PRIu64 " time%s%s: %s%s%s; the network is not the cause", sort->what, count,
                    count == 1 ? "" : "s", detail, near, first->to ? " to " : "", first->to ? far : "");
    for (uint32_t i = 0; i < evidence->events; i++)
        if (is_of(sort, &evidence->event[i])) finding_event(diagnose, finding, &evidence->event[i]);
    finding_weak_unless(finding, false);
}

/* Sockets instead of RDMA: no fault by itself, but what RDMA's counters say is not of this job. */
static void without_rdma(struct diagnose *diagnose)
{
    const struct evidence_event *none = event_first(diagnose->evidence, EVIDENCE_EVENT_NO_RDMA);

    if (!none) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D35, none->object, EVIDENCE_NO_PRIORITY,
                    "the program found no RDMA device: sockets carry what it sends, and no RDMA is in this log");
    finding_event(diagnose, finding, none);
    finding_weak_unless(finding, false);
    if (finding) finding->severity = DIAGNOSE_INFO;
}

void rule_D35(struct diagnose *diagnose)
{
    for (size_t i = 0; diagnose->evidence->events && i < sizeof sorts / sizeof sorts[0]; i++)
        refused(diagnose, &sorts[i]);
    without_rdma(diagnose);
}

/* --- D36 --- */

/* "1, 2, 3 and 4 more". */
static void list_ranks(const struct diagnose *diagnose, const struct numbers *ranks, double of, char *text, size_t size)
{
    uint32_t listed = 0, more = 0;

    *text = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const char *name = name_of(diagnose, ranks->object[i]), *digits = strchr(name, ' ');
        if (ranks->value[i] != of) continue;
        if (listed >= LISTED)
            more++;
        else
            text_add(text, size, "%s%s", listed++ ? ", " : "", digits ? digits + 1 : name);
    }
    if (more) text_add(text, size, " and %" PRIu32 " more", more);
}

static void ask_for_ranks(struct diagnose *diagnose, uint32_t job, const struct numbers *ranks)
{
    char shown[160];

    list_ranks(diagnose, ranks, ranks->value[0], shown, sizeof shown);
    missing_add(diagnose,
                "who did not come: of %s rank%s %s wait in the same collective (%.0f), and the others are not shown; "
                "the logs of all ranks, or PyTorch's flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE=2000), say it",
                name_of(diagnose, job), ranks->count == 1 ? "" : "s", shown, ranks->value[0]);
}

/* Whether an event is of this rank: lines that say the operation do not say the group, so that it is the rank of the
 * same number that waits in a collective of the same number. */
static bool is_of_rank(const struct evidence *evidence, const struct evidence_event *event, uint32_t rank)
{
    const struct evidence_object *of = event->object == EVIDENCE_NONE ? NULL : &evidence->object[event->object];

    if (event->object == rank) return true;
    if (!of || of->scope != EVIDENCE_RANK || strcmp(of->name, evidence->object[rank].name) != 0) return false;
    return !strcmp(evidence->object[of->parent].name, EVIDENCE_GROUP_UNSAID) &&
           port_get(evidence, event->object, EVIDENCE_RANK_STUCK_OP) ==
               port_get(evidence, rank, EVIDENCE_RANK_STUCK_OP);
}

/* "ALLREDUCE 1580": of that number, and with an operation. */
static bool is_of_number(const char *detail, uint64_t number)
{
    const char *digits = strrchr(detail, ' ');
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    return digits && !strcmp(digits + 1, text);
}

/* The operation in which a rank waits, or in the first that timed out; NULL: not said. */
static const char *operation_of(const struct evidence *evidence, uint32_t rank)
{
    uint64_t stuck = port_get(evidence, rank, EVIDENCE_RANK_STUCK_OP);

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (!event->detail || !is_of_rank(evidence, event, rank)) continue;
        if (event->kind == EVIDENCE_EVENT_RANK_WAITS) return event->detail;
        if (event->kind == EVIDENCE_EVENT_COLLECTIVE_TIMEOUT && is_of_number(event->detail, stuck))
            return event->detail;
    }
    return NULL;
}

/* Ranks have the same number, `counter`, and not the same operation. */
static bool operations_differ(struct diagnose *diagnose, uint32_t job, const struct numbers *ranks,
                              enum evidence_counter counter)
{
    const struct evidence *evidence = diagnose->evidence;
    const char *first = operation_of(evidence, ranks->object[0]);

    for (uint32_t i = 1; first && i < ranks->count && i < RANKS_COMPARED; i++) {
        const char *other = operation_of(evidence, ranks->object[i]);
        if (!other || !strcmp(first, other) || ranks->value[i] != ranks->value[0]) continue;
        struct diagnose_finding *finding = finding_new(
            diagnose, DIAGNOSE_D36, ranks->object[i], EVIDENCE_NO_PRIORITY,
            "of %s %s waits in %.60s and %s in %.60s: the program's ranks do not agree", name_of(diagnose, job),
            name_of(diagnose, ranks->object[0]), first, name_of(diagnose, ranks->object[i]), other);
        finding_counter(diagnose, finding, port_find(evidence, ranks->object[i], counter), ranks->value[0]);
        finding_weak_unless(finding, false);
        return true;
    }
    return false;
}

/* Ranks of a group wait in collectives of different numbers. */
static void stuck_apart(struct diagnose *diagnose, uint32_t job, uint32_t *asked)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers ranks = ranks_of(diagnose, job, EVIDENCE_RANK_STUCK_OP);

    if (!ranks.count) {
        ranks = ranks_of(diagnose, job, EVIDENCE_RANK_LAST_OP);
        if (ranks.count && event_first(evidence, EVIDENCE_EVENT_RANK_WAITS))
            operations_differ(diagnose, job, &ranks, EVIDENCE_RANK_LAST_OP);
        return;
    }
    uint32_t least = numbers_most(&ranks, true), most = numbers_most(&ranks, false);
    if (ranks.value[least] == ranks.value[most]) {
        if (operations_differ(diagnose, job, &ranks, EVIDENCE_RANK_STUCK_OP)) return;
        if ((*asked)++ < GROUPS_ASKED) ask_for_ranks(diagnose, job, &ranks);
        return;
    }
    if (network_found(diagnose)) return; /* then they stand where it stopped them */
    char behind[160], ahead[160];
    list_ranks(diagnose, &ranks, ranks.value[least], behind, sizeof behind);
    list_ranks(diagnose, &ranks, ranks.value[most], ahead, sizeof ahead);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D36, ranks.object[least], EVIDENCE_NO_PRIORITY,
                    "of %s rank %s waits in collective %.0f and rank %s in %.0f: they do not run the same operations, "
                    "or it stopped; nothing here is of the network",
                    name_of(diagnose, job), behind, ranks.value[least], ahead, ranks.value[most]);
    finding_counter(diagnose, finding, port_find(evidence, ranks.object[least], EVIDENCE_RANK_STUCK_OP),
                    ranks.value[most]);
    finding_counter(diagnose, finding, port_find(evidence, ranks.object[most], EVIDENCE_RANK_STUCK_OP),
                    ranks.value[most]);
    finding_weak_unless(finding, false);
}

/* Where lines say the group, those that do not are the same ranks by another count. */
static bool some_group_is_said(struct diagnose *diagnose)
{
    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_JOB, job)
    {
        if (strcmp(diagnose->evidence->object[job].name, EVIDENCE_GROUP_UNSAID) != 0 &&
            ranks_of(diagnose, job, EVIDENCE_RANK_STUCK_OP).count)
            return true;
    }
    return false;
}

/* "rank 1 of comm 7f", "pod3": who an event is of. */
static void who_of(const struct diagnose *diagnose, const struct evidence_event *event, char *text, size_t size)
{
    const struct evidence_object *of =
        event->object == EVIDENCE_NONE ? NULL : &diagnose->evidence->object[event->object];

    if (of && of->scope == EVIDENCE_RANK)
        snprintf(text, size, "%s of %s", of->name, name_of(diagnose, of->parent));
    else
        snprintf(text, size, "%s", of ? of->name : "the job");
}

static void said_of_ranks(struct diagnose *diagnose, enum evidence_event_kind kind, const char *what)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_finding *finding = NULL;
    char text[360] = "", who[120];
    const struct evidence_event *first = NULL;
    uint32_t listed = 0, count = 0;

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind != kind || count++ >= LISTED / 2) continue;
        if (!first) first = event;
        who_of(diagnose, event, who, sizeof who);
        text_add(text, sizeof text, "%s%s%s%.100s%s", listed++ ? "; " : "", who, event->detail ? " (" : "",
                 event->detail ? event->detail : "", event->detail ? ")" : "");
    }
    if (!first) return;
    if (count > listed) text_add(text, sizeof text, "; and %" PRIu32 " more", count - listed);
    finding = finding_new(diagnose, DIAGNOSE_D36, first->object, EVIDENCE_NO_PRIORITY, "%s: %s", what, text);
    for (uint32_t i = 0; i < evidence->events; i++)
        if (evidence->event[i].kind == kind) finding_event(diagnose, finding, &evidence->event[i]);
    finding_weak_unless(finding, false);
    if (finding && kind == EVIDENCE_EVENT_RANK_BEHIND) {
        finding->severity = DIAGNOSE_INFO; /* one look at ranks that run */
        missing_add(diagnose, "which ranks are late: NCCL's RAS again some seconds later, or the flight recorder of "
                              "all ranks");
    }
}

/* A collective did not end, and all ranks of a communicator are known to be on one host. */
static void on_one_host(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    if (!event_first(evidence, EVIDENCE_EVENT_COLLECTIVE_TIMEOUT) &&
        !event_first(evidence, EVIDENCE_EVENT_DISCONNECTED))
        return;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        uint64_t of = port_get(evidence, job, EVIDENCE_RANKS), count = 0;
        uint32_t host = ranks_host(diagnose, job, &count);
        if (host == EVIDENCE_NONE || of < 2 || count < of) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D36, job, EVIDENCE_NO_PRIORITY,
                        "all %" PRIu64 " ranks of %s are on %s: nothing of it leaves the host, so that it is hardly "
                        "the network",
                        of, name_of(diagnose, job), name_of(diagnose, host));
        finding_counter(diagnose, finding, port_find(evidence, job, EVIDENCE_RANKS), 0);
        finding_weak_unless(finding, false);
        if (finding) finding->severity = DIAGNOSE_INFO, finding->now = true;
        return;
    }
}

void rule_D36(struct diagnose *diagnose)
{
    bool said = some_group_is_said(diagnose);
    uint32_t asked = 0;

    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_JOB, job)
    {
        if (!said || strcmp(diagnose->evidence->object[job].name, EVIDENCE_GROUP_UNSAID) != 0)
            stuck_apart(diagnose, job, &asked);
    }
    said_of_ranks(diagnose, EVIDENCE_EVENT_RANK_MISSING,
                  "a process of the job is gone or does not answer: look at its "
                  "host first, nothing here is of RDMA's network");
    said_of_ranks(diagnose, EVIDENCE_EVENT_RANKS_DIFFER, "ranks do not run the same operations");
    said_of_ranks(diagnose, EVIDENCE_EVENT_RANK_BEHIND,
                  "ranks have not begun the same operations: those behind are late, or were seen between two");
    on_one_host(diagnose);
}
