/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stops a run: deadlocks, requests that nobody will complete, requests that failed.
 */
#include "report/verdict/judge.h"

#include "fabric/fabric.h"

#define CIRCLE_SHOWN 8

static void deadlock(struct judge *judge, const struct sim_deadlock *found)
{
    struct verdict_finding *finding = judge_add(judge, VERDICT_DEADLOCK);
    char closed[TEXT_COUNT], ended[TEXT_COUNT], name[FABRIC_NAME];
    bool held = found->ended == PS_NEVER;

    judge_what(finding, "%u queues %s for each other in a circle from %s on", found->waits, held ? "wait" : "waited",
               text_ps(found->closed, closed));
    if (!held) judge_what(finding, ", until it was broken by %s", text_ps(found->ended, ended));
    for (uint32_t w = 0; w < found->waits; w++) {
        judge_object(finding, found->wait[w].port);
        if (w < CIRCLE_SHOWN)
            judge_what(finding, "%s%s", w ? ", " : ": ", fabric_port_name(judge->fabric, found->wait[w].port, name));
    }
    if (found->waits > CIRCLE_SHOWN) judge_what(finding, " ..");
    if (found->stuck > found->waits) judge_what(finding, "; %u with those behind them", found->stuck);
    judge_why(finding,
              held ? "Each is paused by the next switch, whose own queue is the next in the circle: none will ever send"
                   : "Each was paused by the next switch, whose own queue was the next in the circle");
    if (!held) finding->severity = VERDICT_WARNING;
    finding->weight = found->stuck;
}

/* The first job that is given up, or the first that has begun and not ended. */
static uint32_t first_job(const struct sim_result *result, bool failed)
{
    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (failed ? job->failed : job->start != PS_NEVER && job->end == PS_NEVER) return job->job;
    }
    return FABRIC_NONE;
}

static void stuck(struct judge *judge)
{
    const struct sim_stall *stall = &judge->result->stall;
    struct verdict_finding *finding = judge_add(judge, VERDICT_STUCK);
    char reason[SIM_REASON];

    sim_failure_reason(judge->report, reason);
    judge_what(finding, "%s", reason[0] ? reason : "jobs are unfinished, and no event is left");
    finding->job = first_job(judge->result, false);
    if (stall->pairs == 0) return;
    judge_object(finding, judge->fabric->endpoint[stall->src].port);
    judge_object(finding, judge->fabric->endpoint[stall->dst].port);
    judge_why(finding, stall->down     ? "Without a timer nobody notices a link that stays down"
                       : stall->paused ? "Its peer paused it and never lets it go on"
                                       : "What it waits for was lost, and no timer requests it again");
}

static void failed(struct judge *judge)
{
    const struct sim_failure *failure = &judge->result->failure;
    struct verdict_finding *finding = judge_add(judge, VERDICT_FAILED);
    char reason[SIM_REASON], count[TEXT_COUNT];

    sim_failure_reason(judge->report, reason);
    judge_what(finding, "%s work request%s; first: %s", text_count(judge->result->work_failed, count),
               text_plural(judge->result->work_failed), reason);
    judge_object(finding, judge->fabric->endpoint[failure->src].port);
    judge_object(finding, judge->fabric->endpoint[failure->dst].port);
    finding->job = first_job(judge->result, true);
    judge_why(finding, !failure->retries ? "The peer refused the request"
                       : failure->src_down || failure->dst_down || !failure->reachable
                           ? "There was no path left, and a queue pair gives up when its retries are used up"
                           : "No answer came in time for any retry: see the other findings");
}

void judge_trouble(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->result->deadlocks; i++)
        deadlock(judge, &judge->result->deadlock[i]);
    if (judge->result->state == SIM_STUCK) stuck(judge);
    if (judge->result->failure.at != PS_NEVER) failed(judge);
}
