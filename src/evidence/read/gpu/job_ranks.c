/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch, torchrun, MPI and Slurm say of ranks: in which collective they waited until it timed out, who did not
 * come to the store, how a process ended.
 *
 * A number of a collective means something inside of one process group alone.  Where a line does not say its group the
 * ranks are those of EVIDENCE_GROUP_UNSAID.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/jobs.h"

/* "[rank4]:" is the number in the whole job, "[Rank 4]" that in the group. */
static bool rank_in(const char *line, uint64_t *rank)
{
    return number_behind(line, "[rank", rank) || number_behind(line, "Rank ", rank);
}

/* "[PG ID 0 PG GUID 0(default_pg) Rank 1]", "[PG 3 Rank 4]": the group's description, or its number. */
static uint32_t group_in(struct reading *in, const char *line)
{
    const char *guid = strstr(line, "PG GUID "), *open = guid ? strpbrk(guid, "(]") : NULL;
    uint64_t number;
    char name[80] = EVIDENCE_GROUP_UNSAID;

    if (open && *open == '(' && open[1] != ')')
        snprintf(name, sizeof name, "%.*s", (int)(strcspn(open + 1, ")") % 64), open + 1);
    else if (number_behind(line, "PG GUID ", &number) || number_behind(line, "[PG ", &number))
        snprintf(name, sizeof name, "PG %u", (unsigned)(number & 0xffffffff));
    return evidence_job(in->evidence, name, strlen(name));
}

/* A rank may wait in several: the first of them is where it stands. */
static bool stands_at(const struct job_line *of, uint64_t sequence, const struct text_field *operation)
{
    struct reading *in = of->in;
    uint64_t number;
    char detail[80];

    if (!rank_in(of->line, &number)) return false;
    uint32_t rank = gpu_rank(in, group_in(in, of->line), number, EVIDENCE_NONE);
    if (rank == EVIDENCE_NONE) return true;
    const struct evidence_value *before =
        evidence_find(in->evidence, rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_STUCK_OP);
    if (!before || before->last > sequence) gpu_set(in, rank, EVIDENCE_RANK_STUCK_OP, sequence);
    snprintf(detail, sizeof detail, "%.*s%s%llu", operation->length < 48 ? (int)operation->length : 48, operation->at,
             operation->length ? " " : "", (unsigned long long)sequence);
    const struct text_field text = field_of(detail);
    reading_event(in, EVIDENCE_EVENT_COLLECTIVE_TIMEOUT, rank, EVIDENCE_NO_PRIORITY, NULL, NULL, &text);
    return true;
}

/* "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, ...) ran for ..." */
bool ranks_timeout(const struct job_line *of)
{
    struct text_field operation = word_behind(of->line, "OpType=");
    uint64_t sequence;

    return !number_behind(of->line, "SeqNum=", &sequence) || stands_at(of, sequence, &operation);
}

/* "... detected by watchdog at work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579." */
bool ranks_stuck(const struct job_line *of)
{
    const struct text_field none = field_of("");
    uint64_t sequence;

    return (!number_behind(of->line, "at work: ", &sequence) && !number_behind(of->line, "at NCCL work: ", &sequence) &&
            !number_behind(of->line, "sequence id: ", &sequence)) ||
           stands_at(of, sequence, &none);
}

/* "... has timed out after 900000ms while trying to connect to (10.0.0.1, 29500)", "1/2 clients joined" */
bool ranks_store(const struct job_line *of)
{
    struct job_line store = *of;
    const char *joined = strstr(of->line, " clients joined");

    if (joined) {
        const char *from = joined;
        char detail[64];
        while (from > of->line && (isdigit((unsigned char)from[-1]) || from[-1] == '/'))
            from--;
        snprintf(detail, sizeof detail, "%.*s clients joined", (int)(joined - from < 32 ? joined - from : 32), from);
        job_line_event(of, EVIDENCE_EVENT_RANK_MISSING, detail);
        return true;
    }
    store.peer = word_behind(of->line, "connect to (");
    if (!store.peer.length) store.peer = word_behind(of->line, "connect to [");
    if (!store.peer.length) store.peer = word_behind(of->line, "connect to ");
    if (strstr(of->line, "refused"))
        job_line_event(&store, EVIDENCE_EVENT_REJECTED, "the store of the ranks' addresses: nobody listens");
    else
        job_line_event(&store, EVIDENCE_EVENT_UNREACHABLE, "the store of the ranks' addresses, a socket");
    return true;
}

/* What a signal or an exit status says of the end; NULL: the program ended itself, or was told to. */
static const char *end_of(int64_t status)
{
    switch (status > 128 ? 128 - status : status) {
    case -9:
        return "signal 9: killed, often for want of memory";
    case -11:
        return "signal 11: a wrong access to memory";
    case -7:
        return "signal 7: a bus error";
    default:
        return NULL;
    }
}

/* "exitcode  : -9 (pid: 812)", "Signal 9 (SIGKILL) received by PID 812", "exited on signal 9 (Killed)" */
bool ranks_exit(const struct job_line *of)
{
    const char *at = of->phrase.at + of->phrase.length, *end = NULL;
    uint64_t number;

    if (strstr(of->line, "Out Of Memory") || strstr(of->line, "oom-kill"))
        end = "out of memory";
    else if (strstr(of->line, "TIME LIMIT"))
        end = "the job's time was over";
    else if (strstr(of->line, "is killed by signal: Killed"))
        end = end_of(-9);
    else if (number_behind(of->line, "ignal ", &number))
        end = end_of(-(int64_t)(number & 0xff));
    else {
        at += strspn(at, " :=");
        bool minus = *at == '-';
        if (number_behind(at + minus, "", &number))
            end = end_of(minus ? -(int64_t)(number & 0xff) : (int64_t)(number & 0xff));
    }
    bool memory = end && !strcmp(end, "out of memory"); /* a signal may be what follows from another's end */
    if (end) job_line_event(of, memory ? EVIDENCE_EVENT_KILLED : EVIDENCE_EVENT_PROGRAM_FAILED, end);
    return true;
}

/* "Received a dump signal due to a collective timeout from  rank 34": who said it first. */
bool ranks_dump(const struct job_line *of)
{
    uint64_t number;

    const char *from = strstr(of->line, "timeout from");
    if (!from || !number_behind(from, "rank ", &number)) return true;
    uint32_t rank = gpu_rank(of->in, group_in(of->in, of->line), number, EVIDENCE_NONE);
    const struct text_field detail = field_of("the first of which others heard");
    if (rank != EVIDENCE_NONE)
        reading_event(of->in, EVIDENCE_EVENT_COLLECTIVE_TIMEOUT, rank, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
    return true;
}

/* The analyzer's "Culprit rank 22; Error type: SIZE_OR_SYNTAX_MISMATCH, ...", the debug mode's "Detected mismatch
 * between collectives on ranks. Rank 0 is running collective: ...": that a state differs is none. */
bool ranks_differ(const struct job_line *of)
{
    uint64_t number;
    bool analyzed = number_behind(of->line, "Culprit rank ", &number);
    char detail[160];

    if (analyzed && !strstr(of->line, "SIZE_OR") && !strstr(of->line, "TYPE_MISMATCH")) return true;
    const struct job_line whole = {.in = of->in, .line = of->line, .host = of->host, .port = EVIDENCE_NONE};
    const char *type = strstr(of->line, "Error type: ");
    if (analyzed)
        snprintf(detail, sizeof detail, "rank %u: %.*s", (unsigned)(number & 0xffffff),
                 type ? (int)strcspn(type + 12, ",;") % 64 : 0, type ? type + 12 : "");
    else
        snprintf(detail, sizeof detail, "%.150s", of->phrase.at);
    job_line_event(&whole, EVIDENCE_EVENT_RANKS_DIFFER, detail);
    return true;
}

/* The analyzer's "missing ranks: {2}", "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 10000 ms". */
bool ranks_absent(const struct job_line *of)
{
    const struct job_line whole = {.in = of->in, .line = of->line, .host = of->host, .port = EVIDENCE_NONE};
    const char *list = strstr(of->line, "missing ranks"), *barrier = strstr(of->line, "Ranks ");
    char detail[128];

    if (list) {
        list += strcspn(list, "{[0123456789");
        if (!*list || strspn(list, "{[0123456789") == 0 || !strncmp(list, "{}", 2)) return true;
    }
    snprintf(detail, sizeof detail, "ranks %.*s",
             list      ? (int)(strcspn(list, "]}") % 100 + 1)
             : barrier ? (int)(strcspn(barrier + 6, "f") % 100)
                       : 0,
             list      ? list
             : barrier ? barrier + 6
                       : "");
    job_line_event(&whole, EVIDENCE_EVENT_RANK_MISSING, detail);
    return true;
}
