/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of evidence: what each counter of each object said at its looks.
 *
 * A run of four thousand hosts has half a million of them, put once and asked for a dozen times, so that a value is
 * found by where it stands and not by a hash: each object has a page of cells for each priority that was spoken of, and
 * each counter its own cell there.  Values themselves stand in the order in which they were first said.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "evidence/evidence_int.h"

#define PAGE_PLAIN EVIDENCE_PRIORITIES        /* counters without priorities */
#define PAGE_UNSAID (EVIDENCE_PRIORITIES + 1) /* of priorities, and nobody said of which */
#define CELLS_FIRST 1024

void evidence_values_init(struct evidence_tables *tables)
{
    uint8_t columns[EVIDENCE_SCOPES] = {0};

    for (unsigned i = 0; i < EVIDENCE_COUNTERS; i++)
        tables->place[i].column = columns[evidence_counters[i].scope]++;
    for (unsigned i = 0; i < EVIDENCE_COUNTERS; i++) {
        unsigned scope = evidence_counters[i].scope;
        tables->place[i].columns = columns[scope];
        tables->place[i].by_priority = scope == EVIDENCE_PRIORITY;
        tables->place[i].counts = evidence_counters[i].kind == EVIDENCE_COUNT;
        tables->place[i].scope = (uint8_t)(scope == EVIDENCE_PRIORITY ? EVIDENCE_PORT : scope);
    }
}

/* The page of an object that has a counter: index of its first cell.  NULL: such an object has none of it. */
static inline uint32_t *page_of(const struct evidence_tables *tables, uint32_t object, unsigned priority,
                                unsigned counter)
{
    struct evidence_pages *pages = &tables->page[object];
    struct evidence_place place = tables->place[counter];

    if (pages->scope != place.scope) return NULL;
    if (place.by_priority) return &pages->first[priority < EVIDENCE_PRIORITIES ? priority : PAGE_UNSAID];
    return priority == EVIDENCE_NO_PRIORITY ? &pages->first[PAGE_PLAIN] : NULL;
}

/* The cell of a counter of an object; NULL: its page is not there. */
static inline uint32_t *cell_of(const struct evidence_tables *tables, uint32_t object, unsigned priority,
                                unsigned counter)
{
    const uint32_t *first = page_of(tables, object, priority, counter);

    return first && *first ? &tables->cell[*first + tables->place[counter].column] : NULL;
}

static inline struct evidence_value *value_find(const struct evidence *evidence, uint32_t object, unsigned priority,
                                                unsigned counter)
{
    const uint32_t *cell = cell_of(evidence->tables, object, priority, counter);

    return cell && *cell ? &evidence->value[*cell - 1] : NULL;
}

/* Cells for a page, all empty; 0: there is no room, and that was said. */
static uint32_t page_new(struct evidence *evidence, unsigned cells)
{
    struct evidence_tables *tables = evidence->tables;
    uint32_t first = tables->cells ? tables->cells : 1;

    if (evidence->full) return 0;
    if (first + cells > tables->cell_room) {
        uint32_t more = tables->cell_room ? 2 * tables->cell_room : CELLS_FIRST;
        size_t bytes = (size_t)(more - tables->cell_room) * sizeof tables->cell[0];
        uint32_t *grown = evidence_hold(evidence, bytes) ? realloc(tables->cell, more * sizeof grown[0]) : NULL;
        if (!grown) {
            evidence_too_much(evidence);
            return 0;
        }
        tables->cell = grown;
        tables->cell_room = more;
    }
    memset(&tables->cell[first], 0, cells * sizeof tables->cell[0]);
    tables->cells = first + cells;
    return first;
}

/* The next value, for the cell of its page, which is empty.  NULL: there is no room. */
static inline struct evidence_value *value_next(struct evidence *evidence, uint32_t *cell)
{
    uint32_t values = evidence->values;

    if (evidence->full || (!(values & (values - 1)) && !ROOM(evidence, evidence->value, values))) return NULL;
    *cell = ++evidence->values;
    return &evidence->value[values];
}

/* The page of a counter, made where it is not there; 0: there is no room.  A reader that says a counter of something
 * that has none of it is wrong, whatever it reads. */
static uint32_t page_made(struct evidence *evidence, uint32_t object, unsigned priority, unsigned counter)
{
    struct evidence_tables *tables = evidence->tables;
    uint32_t *first = page_of(tables, object, priority, counter);

    CHECK(first);
    if (!*first) *first = page_new(evidence, tables->place[counter].columns);
    return *first;
}

static struct evidence_value *value_new(struct evidence *evidence, uint32_t object, unsigned priority, unsigned counter)
{
    uint32_t first = page_made(evidence, object, priority, counter);
    struct evidence_tables *tables = evidence->tables;

    struct evidence_value *value =
        first ? value_next(evidence, &tables->cell[first + tables->place[counter].column]) : NULL;
    if (value)
        *value = (struct evidence_value){.object = object, .priority = (uint8_t)priority, .counter = (uint8_t)counter};
    return value;
}

void evidence_noticed(struct evidence *evidence, uint32_t object, double at_s)
{
    struct evidence_object *of = &evidence->object[object];

    if (of->scope == EVIDENCE_PORT) of = &evidence->object[of->parent];
    if (of->looked_at && at_s == of->seen_s) return;
    of->looked_at = true;
    if (at_s > of->seen_s) of->seen_s = at_s;
    if (evidence->looks && at_s >= evidence->first_s && at_s <= evidence->last_s) return;
    if (!evidence->looks || at_s < evidence->first_s) evidence->first_s = at_s;
    if (!evidence->looks || at_s > evidence->last_s) evidence->last_s = at_s;
    evidence->looks++;
}

/* What a counter says now, when it said `before` at the look before. */
static void grow(struct evidence_value *value, uint64_t before, uint64_t now)
{
    if (evidence_counters[value->counter].kind != EVIDENCE_COUNT) {
        value->grown = now;
    } else if (now >= before) {
        value->grown += now - before;
    } else {
        value->reset = true;
        value->grown += now;
    }
}

void evidence_put(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t number, double real, const struct evidence_source *source, bool add)
{
    struct evidence_value *value;

    if (object == EVIDENCE_NONE || object >= evidence->objects) return;
    if (priority != EVIDENCE_NO_PRIORITY && priority >= EVIDENCE_PRIORITIES) return;
    value = value_find(evidence, object, priority, counter);
    if (!value && !(value = value_new(evidence, object, priority, counter))) return;
    if (evidence->tables->puts++ < EVIDENCE_PUTS) evidence->tables->put[evidence->tables->puts - 1] = number;
    evidence_noticed(evidence, object, source->at_s);
    if (!value->looks) {
        value->looks = 1;
        value->first = number;
        value->first_s = source->at_s;
        value->grown = number;
    } else if (source->at_s > value->last_s) {
        value->untimed |= evidence->in_order;
        evidence->untimed |= evidence->in_order;
        if (value->looks == 1 && evidence_counters[counter].kind == EVIDENCE_COUNT) value->grown = 0;
        value->looks++;
        value->before = value->last;
        value->before_s = value->last_s;
        value->grown_before = value->grown;
        value->reset_before = value->reset;
        grow(value, value->before, number);
    } else {
        if (add && __builtin_add_overflow(number, value->last, &number)) number = UINT64_MAX;
        if (!add && evidence_counters[counter].kind == EVIDENCE_PEAK && number < value->last) return;
        if (value->looks == 1) {
            value->first = value->grown = number;
        } else {
            value->grown = value->grown_before;
            value->reset = value->reset_before;
            grow(value, value->before, number);
        }
    }
    value->last = number;
    value->weak = false;
    value->real = real >= 0 || real < 0 ? real : (double)number;
    value->last_s = source->at_s > value->last_s || value->looks == 1 ? source->at_s : value->last_s;
    value->file = source->file;
    value->line = source->line;
}

void evidence_set(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t value, const struct evidence_source *source)
{
    evidence_put(evidence, object, priority, counter, value, (double)value, source, false);
}

static bool is_place(const struct evidence *evidence, uint32_t object, unsigned priority)
{
    return object < evidence->objects && (priority < EVIDENCE_PRIORITIES || priority == EVIDENCE_NO_PRIORITY);
}

void evidence_grew(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                   uint64_t value, const struct evidence_source *first, const struct evidence_source *last)
{
    evidence_say(evidence, object, priority, &(struct evidence_said){counter, value}, 1, first, last);
}

/* Something was said of it already, of this look or of one before. */
__attribute__((noinline)) static void say_again(struct evidence *evidence, const struct evidence_value *form,
                                                const struct evidence_said *said, const struct evidence_source *first,
                                                const struct evidence_source *last)
{
    if (form->looks == 2) evidence_set(evidence, form->object, form->priority, said->counter, 0, first);
    evidence_set(evidence, form->object, form->priority, said->counter, said->value, last);
}

/* What nobody has said yet is a copy of one of two forms: a count, 0 at the first look, and what is no count. */
void evidence_say(struct evidence *evidence, uint32_t object, unsigned priority, const struct evidence_said *said,
                  uint32_t count, const struct evidence_source *first, const struct evidence_source *last)
{
    const struct evidence_tables *tables = evidence->tables;
    struct evidence_value form[2] = {{.object = object, .priority = (uint8_t)priority}};
    bool grows = first->at_s < last->at_s, counted = false;

    if (!count || !is_place(evidence, object, priority)) return;
    uint32_t page = page_made(evidence, object, priority, said->counter);
    uint8_t scope = evidence_counters[said->counter].scope;
    form[0].file = last->file;
    form[0].line = last->line;
    form[0].last_s = last->at_s;
    form[1] = form[0];
    form[0].looks = 1;
    form[0].first_s = last->at_s;
    form[1].looks = 2;
    form[1].first_s = form[1].before_s = first->at_s;
    for (uint32_t i = 0; page && i < count && !evidence->full; i++) {
        enum evidence_counter counter = said[i].counter;
        uint32_t *cell = &tables->cell[page + tables->place[counter].column];
        bool grown = grows && tables->place[counter].counts;
        CHECK(evidence_counters[counter].scope == scope); /* of the same page */
        struct evidence_value *new = *cell ? NULL : value_next(evidence, cell);
        if (new) {
            *new = form[grown];
            new->counter = (uint8_t)counter;
            new->first = grown ? 0 : said[i].value;
            new->last = new->grown = said[i].value;
            new->real = (double)said[i].value;
        } else {
            say_again(evidence, &form[grown], &said[i], first, last);
        }
        counted |= grown;
    }
    if (counted) evidence_noticed(evidence, object, first->at_s);
    if (page) evidence_noticed(evidence, object, last->at_s);
}

void evidence_sum(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t value, const struct evidence_source *source)
{
    evidence_put(evidence, object, priority, counter, value, (double)value, source, true);
}

void evidence_offer(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value, const struct evidence_source *source)
{
    struct evidence_value *has;

    if (object >= evidence->objects) return;
    has = value_find(evidence, object, priority, counter);
    if (has && source->at_s <= has->last_s) return;
    evidence_set(evidence, object, priority, counter, value, source);
    has = value_find(evidence, object, priority, counter);
    if (has) has->weak = true;
}

void evidence_set_real(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                       double value, const struct evidence_source *source)
{
    if (!(value >= 0 && value < 1.8e19)) return; /* no counter is below 0, or larger; NaN is none */
    evidence_put(evidence, object, priority, counter, (uint64_t)value, value, source, false);
}

const struct evidence_value *evidence_find(const struct evidence *evidence, uint32_t object, unsigned priority,
                                           enum evidence_counter counter)
{
    return object < evidence->objects ? value_find(evidence, object, priority, counter) : NULL;
}
