/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs posted, as flows that `rocelab sim` replays: `flows: {file: ...}` of a job.
 *
 * A line is a message.  What its program had seen last (objects/message.c) is the flow that it waits for, and its time
 * is that since then; one whose program had seen nothing is at its time after the first post of all.  A READ and an
 * atomic are two lines: a byte that asks, and the answer, which waits for it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "up/objects/flow.h"

#include "fabric/fabric.h"

#define NO_LINE UINT32_MAX

enum part { WHOLE, ASKS, ANSWERS };

struct line {
    const struct up_flow *flow;
    uint32_t message; /* of the flow */
    uint8_t part;     /* enum part */
    ps_t at;
    uint32_t src, dst, qp;
    uint64_t bytes;
};

struct record {
    const struct up *up;
    struct line *line;
    uint32_t lines, room;
};

static bool one_way(const struct up_message *message)
{
    return message->verb < NIC_READ;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_flow(const struct line *x, const struct line *y)
{
    int order = compare(x->flow->sum.endpoint, y->flow->sum.endpoint);

    return order ? order : compare(x->flow->id, y->flow->id);
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = compare(x->at, y->at);

    if (!order) order = by_flow(x, y);
    if (!order) order = compare(x->message, y->message);
    return order ? order : compare(x->part, y->part);
}

static int by_pair(const void *a, const void *b)
{
    const struct line *x = *(const struct line *const *)a, *y = *(const struct line *const *)b;
    int order = compare((uint64_t)x->src << 32 | x->dst, (uint64_t)y->src << 32 | y->dst);

    if (!order) order = by_flow(x, y);
    return order ? order : compare(x->part == ANSWERS, y->part == ANSWERS);
}

static bool add_line(struct record *record, const struct up_flow *flow, uint32_t number, enum part part)
{
    const struct up_message *message = &flow->message[number];
    bool back = part == ANSWERS;
    uint64_t bytes = part == ASKS ? 1 : message->bytes;

    if (!GROW(record->line, record->lines, record->room)) return false;
    record->line[record->lines++] = (struct line){.flow = flow,
                                                  .message = number,
                                                  .part = (uint8_t)part,
                                                  .at = message->at,
                                                  .src = back ? message->peer : flow->sum.endpoint,
                                                  .dst = back ? flow->sum.endpoint : message->peer,
                                                  .bytes = bytes ? bytes : 1};
    return true;
}

/* To itself no flow can be. */
static bool add_flow(struct record *record, const struct up_flow *flow)
{
    for (uint32_t i = 0; i < flow->noted; i++) {
        const struct up_message *message = &flow->message[i];
        if (message->peer == flow->sum.endpoint || message->peer >= record->up->fabric->endpoints) continue;
        if (one_way(message) ? !add_line(record, flow, i, WHOLE)
                             : !add_line(record, flow, i, ASKS) || !add_line(record, flow, i, ANSWERS))
            return false;
    }
    return true;
}

/* Between two endpoints each flow has its own queue pair, and what is answered on it another. */
static bool number_qps(struct record *record)
{
    struct line **order = calloc(record->lines + 1u, sizeof(struct line *));

    if (order == NULL) return false;
    for (uint32_t i = 0; i < record->lines; i++)
        order[i] = &record->line[i];
    qsort(order, record->lines, sizeof(struct line *), by_pair);
    for (uint32_t i = 1; i < record->lines; i++) {
        const struct line *before = order[i - 1];
        if (before->src != order[i]->src || before->dst != order[i]->dst) continue;
        order[i]->qp = before->qp + (by_pair(&order[i - 1], &order[i]) != 0);
    }
    free(order);
    return true;
}

/* Where in the list each message is done, and as which it arrives at the peer. */
static void number_messages(struct record *record)
{
    for (uint32_t h = 0; h < record->up->fabric->hosts; h++)
        for (struct up_flow *flow = record->up->host[h].flows; flow; flow = flow->next) {
            uint32_t arrives = 0;
            for (uint32_t i = 0; i < flow->noted; i++) {
                flow->message[i].line = NO_LINE;
                if (one_way(&flow->message[i])) flow->message[arrives++].arrives = i;
            }
            flow->one_way = arrives;
        }
    for (uint32_t i = 0; i < record->lines; i++) {
        struct line *line = &record->line[i];
        if (line->part != ASKS) line->flow->message[line->message].line = i;
    }
}

static const struct up_flow *other_end(const struct up *up, const struct up_flow *flow)
{
    if (flow->sum.peer >= up->fabric->endpoints) return NULL;
    const struct up_flow *at = up->host[up->fabric->endpoint[flow->sum.peer].host].flows;
    while (at && (at->sum.endpoint != flow->sum.peer || at->sum.qpn != flow->sum.remote_qpn ||
                  at->sum.peer != flow->sum.endpoint || at->sum.remote_qpn != flow->sum.qpn))
        at = at->next;
    return at;
}

/* The message that was seen; NULL: it is not known. */
static const struct up_message *seen(const struct up *up, const struct up_cause *cause)
{
    const struct up_flow *of = cause->arrival ? other_end(up, cause->flow) : cause->flow;

    if (of == NULL || cause->number > (cause->arrival ? of->one_way : of->noted)) return NULL;
    const struct up_message *message = &of->message[cause->number - 1];
    return cause->arrival ? &of->message[message->arrives] : message;
}

/* The line that this one waits for, and how long after it; itself, and the time since the first post: for none.  A
 * message that has no line (a host's to itself) stands for what it waited for. */
static uint32_t waits_for(const struct record *record, uint32_t index, ps_t *ret_after)
{
    const struct line *line = &record->line[index];
    const struct up_message *at = &line->flow->message[line->message];

    *ret_after = 0;
    if (line->part == ANSWERS) return index - 1;
    while (at->cause.flow) {
        const struct up_message *before = seen(record->up, &at->cause);
        if (before == NULL || before->at > at->at) break;
        *ret_after = line->at - at->cause.at;
        if (before->line < index) return before->line;
        if (before->line != NO_LINE || before == at) break;
        at = before;
    }
    *ret_after = line->at - record->line[0].at;
    return index;
}

static void print(const struct record *record, FILE *to)
{
    const struct fabric *fabric = record->up->fabric;
    char src[FABRIC_NAME], dst[FABRIC_NAME];

    fprintf(to,
            "# What programs posted on fabric %s, for a job: flows: {file: THIS, copies: 1}.  The first post was at "
            "%" PRIu64 "ps.\n# SRC DST SIZE AT qp N [after N]\n",
            fabric->name, record->lines ? record->line[0].at : 0);
    for (uint32_t i = 0; i < record->lines; i++) {
        const struct line *line = &record->line[i];
        ps_t at;
        uint32_t before = waits_for(record, i, &at);
        fprintf(to, "%s %s %" PRIu64 "B %" PRIu64 "ps qp %u",
                fabric_port_name(fabric, fabric->endpoint[line->src].port, src),
                fabric_port_name(fabric, fabric->endpoint[line->dst].port, dst), line->bytes, at, line->qp);
        if (before != i) fprintf(to, " after %u", before);
        fputc('\n', to);
    }
}

bool up_record(const struct up *up, FILE *to)
{
    struct record record = {.up = up};
    bool good = true;

    for (uint32_t h = 0; h < up->fabric->hosts; h++)
        for (const struct up_flow *flow = up->host[h].flows; flow && good; flow = flow->next)
            good = add_flow(&record, flow);
    if (good && record.lines) qsort(record.line, record.lines, sizeof *record.line, by_time);
    good = good && number_qps(&record);
    if (good) {
        number_messages(&record);
        print(&record, to);
    }
    free(record.line);
    return good;
}
