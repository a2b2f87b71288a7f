/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS `qos profile` blocks and the same lines on interfaces: trust, PFC, transmit queues, ECN.
 *
 * A queue is served strictly unless it says `no priority`; then it and all below it share (round robin).  Thresholds in
 * segments are of the chip's cell: where the chip is not known, 254 bytes are taken and the line is noted.  Multicast
 * queues carry no RoCE and are passed over.
 */
#include <string.h>

#include "config/eos/eos_int.h"
#include "config/lines/statements.h"

#define CELL_ASSUMED 254u
#define PROFILES_MAX 1024u

static uint64_t bytes_of(const struct eos *eos, uint64_t number, const char *unit, bool *io_exact)
{
    uint64_t scale = strcmp(unit, "kbytes") == 0     ? EOS_KBYTE
                     : strcmp(unit, "mbytes") == 0   ? EOS_KBYTE * EOS_KBYTE
                     : strcmp(unit, "bytes") == 0    ? 1
                     : strcmp(unit, "segments") == 0 ? (eos->cell_bytes ? eos->cell_bytes : CELL_ASSUMED)
                                                     : 0;

    if (strcmp(unit, "segments") == 0 && !eos->cell_bytes) *io_exact = false;
    return scale == 0 || number > UINT32_MAX / scale ? 0 : number * scale;
}

static bool read_ecn(const struct statement_said *said)
{
    struct line *line = said->line;
    struct eos *eos = said->system;
    struct eos_queue *queue = said->object;
    uint64_t min = 0, max = 0, probability = 100, weight = 0, number;
    bool exact = true, good = true;

    line->known = true;
    for (uint32_t w = 2; w < line->words; w++) {
        const char *word = line->word[w];
        bool numbered = w + 1 < line->words && line_number(line->word[w + 1], &number);
        if (numbered && strcmp(word, "max-mark-probability") == 0) {
            probability = number;
            w++;
        } else if (numbered && strcmp(word, "weight") == 0) {
            weight = number;
            w++;
        } else if (numbered && w + 2 < line->words && strstr(word, "-threshold")) {
            uint64_t bytes = bytes_of(eos, number, line->word[w + 2], &exact);
            *(strcmp(word, "minimum-threshold") == 0 ? &min : &max) = bytes;
            good &= bytes != 0 || number == 0;
            w += 2;
        } else if (!line->taken) {
            line->taken = (uint16_t)w; /* an option that is not known; the curve stands */
        }
    }
    queue->ecn = true;
    queue->ecn_line = line->number;
    queue->probability_ppm = (uint32_t)(probability >= 1 && probability <= 100 ? probability * 10000 : 1000000);
    if (!good || max == 0) {
        NOTE(eos, line->number, "ECN007", CONFIG_NONE,
             "thresholds that are no amount of bytes: 150KB and 3MB are taken");
        min = 150 * EOS_KBYTE;
        max = 3000 * EOS_KBYTE;
    } else if (!exact) {
        NOTE(eos, line->number, "ECN007", CONFIG_NONE,
             "thresholds in segments of a chip that is not known: %u bytes each are taken", CELL_ASSUMED);
    }
    if (min > max || probability < 1 || probability > 100) {
        NOTE(eos, line->number, "ECN002", CONFIG_NONE, "the curve is wrong: %s",
             min > max ? "minimum above maximum" : "a probability is 1 to 100");
        min = min > max ? max : min;
    }
    if (weight)
        NOTE(eos, line->number, "ECN008", CONFIG_NONE, "weight %u averages the queue: bursts end before they are seen",
             (unsigned)weight);
    queue->min_bytes = min;
    queue->max_bytes = max;
    return true;
}

/* By the time a packet waits: not to be had in bytes. */
static bool read_delay(const struct statement_said *said)
{
    struct eos *eos = said->system;
    struct eos_queue *queue = said->object;

    said->line->known = true;
    queue->ecn = true;
    queue->ecn_line = said->line->number;
    queue->min_bytes = 150 * EOS_KBYTE;
    queue->max_bytes = 3000 * EOS_KBYTE;
    queue->probability_ppm = 1000000;
    NOTE(eos, said->line->number, "ECN007", CONFIG_NONE,
         "thresholds that are no amount of bytes: 150KB and 3MB are taken");
    return true;
}

static bool share(const struct statement_said *said)
{
    struct eos_queue *queue = said->object;

    if (said->match->number[0] > 100) return false;
    queue->share_ppm = (uint32_t)said->match->number[0] * 10000;
    if (!queue->sched_line) queue->sched_line = said->line->number;
    return true;
}

#define OBJECT struct eos_queue
static const struct statement queue_says[] = {
#include "config/eos/queue.def"
};
#undef OBJECT

static bool read_queue(struct eos *eos, struct eos_qos *qos, struct line *line)
{
    struct line_match match;

    if (line_is(line, "mc-tx-queue #", NULL)) {
        for (struct line *inner = line; inner < eos->lines.line + line->end; inner++)
            inner->known = true;
        return true;
    }
    if (!line_take(line, "tx-queue #", &match) && !line_take(line, "uc-tx-queue #", &match)) return false;
    if (match.number[0] >= EOS_PRIOS) {
        line->known = false;
        return true;
    }
    struct eos_queue *queue = &qos->queue[match.number[0]];
    if (!queue->line) queue->line = line->number; /* what is missing is missing where the queue was opened first */
    for (struct line *inner = line + 1; inner < eos->lines.line + line->end; inner++)
        STATEMENTS_READ(queue_says, eos, queue, inner);
    return true;
}

/* port timer timeout T polling-interval P|auto recovery-time R [forced] */
static bool read_timer(const struct statement_said *said)
{
    struct line *line = said->line;
    struct eos_qos *qos = said->object;

    for (uint32_t w = 5; w + 1 < line->words; w++) {
        uint64_t ns;
        if (!line_decimal(line->word[w + 1], &ns)) continue;
        if (strcmp(line->word[w], "timeout") == 0) qos->timeout_ns = ns;
        if (strcmp(line->word[w], "recovery-time") == 0) qos->recovery_ns = ns;
        if (strcmp(line->word[w], "polling-interval") == 0) qos->poll_ns = ns;
    }
    qos->watch_on = true;
    qos->watch_line = qos->timer_line = line->number;
    return true;
}

static bool classify(const struct statement_said *said)
{
    ((struct eos_qos *)said->object)->policy = eos_policy(said->system, said->match->word[0], said->line->number);
    return true;
}

static bool no_drop(const struct statement_said *said)
{
    struct eos_qos *qos = said->object;

    if (said->match->number[0] >= EOS_PRIOS) return false;
    qos->no_drop |= (uint8_t)(1u << said->match->number[0]);
    qos->no_drop_line[said->match->number[0]] = said->line->number;
    return true;
}

static bool take_back(const struct statement_said *said)
{
    struct eos_qos *qos = said->object;

    if (said->match->number[0] >= EOS_PRIOS) return false;
    qos->no_drop &= (uint8_t) ~(1u << said->match->number[0]);
    if (qos->no_drop_line[said->match->number[0]]) qos->pfc_line = said->line->number;
    return true;
}

/* There by default, where all is shown; and without a time it does nothing. */
static bool watch(const struct statement_said *said)
{
    struct eos_qos *qos = said->object;

    if (!((struct eos *)said->system)->all) qos->watch_on = true;
    qos->watch_off = false;
    return true;
}

static bool act(const struct statement_said *said)
{
    struct eos *eos = said->system;

    if (strcmp(said->match->word[0], "drop") != 0)
        HINT(eos, said->line->number, "WD005", CONFIG_NONE,
             "action %.20s of a port: only drop contains a storm and keeps the link", said->match->word[0]);
    return true;
}

#define OBJECT struct eos_qos
static const struct statement qos_says[] = {
#include "config/eos/qos.def"
};
#undef OBJECT

bool eos_qos_line(struct eos *eos, struct eos_qos *qos, struct line *line)
{
    return STATEMENTS_READ(qos_says, eos, qos, line) || read_queue(eos, qos, line);
}

void eos_profiles(struct eos *eos)
{
    for (uint32_t i = 0, profiles = 0; i < eos->lines.count && profiles < PROFILES_MAX; i++) {
        struct line *line = &eos->lines.line[i];
        if (line->parent != LINES_NONE || !line_take(line, "qos profile *", NULL)) continue;
        profiles++;
        struct eos_profile *profile = lines_find(eos->profiles, 0, line->word[2]);
        if (!profile) /* one that is there already is added to */
            profile = eos->profiles =
                lines_define(&eos->lines_in, eos->profiles, 0, line->word[2], line->number, sizeof(*profile));
        for (uint32_t j = i + 1; j < line->end; j++)
            if (eos->lines.line[j].parent == i) eos_qos_line(eos, &profile->qos, &eos->lines.line[j]);
    }
}

const struct eos_profile *eos_profile(struct eos *eos, const char *name, uint32_t line)
{
    struct eos_profile *profile = lines_find(eos->profiles, 0, name);

    if (profile) {
        profile->used = true;
        return profile;
    }
    if (!eos->whole && !eos->profiles)
        UNJUDGED(eos, line, "MAP007", CONFIG_NONE,
                 "qos profile %.60s is not in the text, which is a part of a configuration", name);
    else
        NOTE(eos, line, "MAP007", CONFIG_NONE, "qos profile %.60s is not defined", name);
    return NULL;
}

bool eos_watchdog_on(const struct eos *eos, const struct eos_qos *qos)
{
    return !qos->watch_off && (eos->watchdog.timeout_ns || qos->watch_on);
}

void eos_judge(struct eos *eos, const struct eos_qos *qos)
{
    for (unsigned q = 0; q < EOS_PRIOS; q++) {
        const struct eos_queue *queue = &qos->queue[q];
        uint8_t lossless = 0;
        uint32_t line = queue->line;

        for (unsigned tc = 0; tc < EOS_PRIOS; tc++) {
            if (eos->tc_to_queue[tc] != q || !(qos->no_drop >> tc & 1)) continue;
            lossless |= (uint8_t)(1u << tc);
            if (!line) line = qos->no_drop_line[tc];
        }
        if (qos->pfc && lossless && eos_watchdog_on(eos, qos) && !queue->guaranteed && !eos->unguaranteed) {
            eos->unguaranteed = true; /* once for the switch */
            NOTE(eos, line, "WD006", CONFIG_NONE,
                 "queue %u has no `bandwidth guaranteed`: the watchdog does not look at it", q);
        }
        if (queue->ecn && !queue->counted)
            NOTE(eos, queue->ecn_line, "ECN009", CONFIG_NONE,
                 "queue %u marks and does not count: `random-detect ecn count` is missing", q);
        if (qos->pfc && lossless && queue->drop)
            NOTE(eos, queue->ecn_line, "ECN006", CONFIG_NONE, "random-detect drop on queue %u, which is lossless", q);
    }
}
