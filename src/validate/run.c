/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tests of a plan: each in a process of its own, its rows read back and put in the order of tests.def.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/hash.h"
#include "diagnose/baseline.h"
#include "fabric/fabric.h"
#include "study/clock.h"
#include "validate/case.h"
#include "validate/measured/measured.h"

#define FIELDS 12 /* of a row as judge.c writes it */

const struct validate_test validate_tests[VALIDATE_TESTS] = {
#define TEST(id, phase, name, function, least, about) {#id, name, about, phase, VALIDATE_##least, function},
#include "validate/tests.def"
#undef TEST
};

struct plan { /* what the pool is given: the tests that are run */
    struct validate *validate;
    uint32_t test[VALIDATE_TESTS], tests;
    char *text[VALIDATE_TESTS];      /* of each test: its rows as it wrote them; NULL: it was not run */
    const char *why[VALIDATE_TESTS]; /* it did not come back */
};

static bool is_live(const struct validate *validate, uint32_t test)
{
    return validate->live && validate_tests[test].least == VALIDATE_LIVE;
}

struct making {
    const struct validate *validate;
    uint32_t test;
};

static bool make_rows(const void *context, FILE *to)
{
    const struct making *making = context;
    const struct validate_test *test = &validate_tests[making->test];
    struct validate_case of = {.plan = making->validate, .fabric = making->validate->fabric};
    uint64_t begun = clock_now_ns();
    struct arena arena;
    char *rows = NULL;
    size_t length = 0;

    arena_init_or_end(&arena, 0);
    of.arena = &arena;
    of.rows = open_memstream(&rows, &length);
    CHECK(of.rows); /* a process of its own: its parent says what became of it */
    if (making->validate->measured)
        measured_run(&of, making->test);
    else if (making->validate->level >= test->least || is_live(making->validate, making->test))
        test->run(&of);
    else if (test->least == VALIDATE_LIVE)
        validate_skip(&of, "", "--live runs it on this machine");
    else
        validate_skip(&of, "", "not in a %s run; '%s' has it", validate_level_names[making->validate->level],
                      test->least == VALIDATE_FULL ? "--full" : "without --quick");
    CHECK(fclose(of.rows) == 0);
    fprintf(to, "%" PRIu64 "\n%s", clock_now_ns() - begun, rows);
    free(rows);
    arena_release(&arena);
    /* what a machine does now, and what is in a folder now, is not kept */
    return of.count > 0 && !is_live(making->validate, making->test) && !making->validate->measured;
}

static void run_test(const void *context, uint32_t point, FILE *to)
{
    const struct plan *plan = context;
    const struct validate *validate = plan->validate;
    const struct making making = {validate, plan->test[point]};
    const char *id = validate_tests[making.test].id;
    const char *signer = validate->signer ? validate->signer : "";
    const uint64_t parts[] = {validate->level,
                              validate->soak_ps,
                              validate->approved ? validate->approved->source_hash : 0,
                              validate->baseline ? validate->baseline->content : 0,
                              hash_bytes(HASH_BEGIN, signer, strlen(signer)),
                              validate->measured != NULL};
    uint64_t options = hash_bytes(hash_bytes(HASH_BEGIN, "validate", 9), id, strlen(id) + 1);
    const struct cache_key key = {.fabric = fabric_source_hash(validate->fabric), /* criteria of the file are in it */
                                  .seed = validate->seed,
                                  .options = hash_bytes(options, parts, sizeof parts)};

    cache_row(&validate->cache, &key, make_rows, &making, to);
}

static bool take_rows(void *context, uint32_t point, const struct pool_row *got)
{
    struct plan *plan = context;
    const char *text = got->bytes;
    size_t length = got->length;
    enum cache_origin origin = got->why ? CACHE_MADE : cache_origin(&text, &length);

    plan->validate->kept.of[origin]++;
    uint32_t test = plan->test[point];
    plan->text[test] = strndup(got->why ? got->why : text, got->why ? strlen(got->why) : length);
    plan->why[test] = got->why ? plan->text[test] : NULL;
    return origin == CACHE_FOUND;
}

static struct validate_row *new_row(struct validate *validate, uint32_t test)
{
    GROW(validate->row, validate->rows, validate->room);
    struct validate_row *row = &validate->row[validate->rows++];
    *row = (struct validate_row){.test = test, .value = NAN, .limit = NAN};
    return row;
}

static bool set_texts(struct validate_row *row, const char *source, const char *job, const char *subject,
                      const char *formula, const char *why)
{
    row->source = strdup(source);
    row->job = strdup(job);
    row->subject = strdup(subject);
    row->formula = strdup(formula);
    row->why = strdup(why);
    return row->source && row->job && row->subject && row->formula && row->why;
}

/* A line of judge.c's; false: it is none. */
static bool read_row(char *line, struct validate_row *row)
{
    char *field[FIELDS] = {line};
    unsigned fields = 1;

    for (char *at = line; *at; at++)
        if (*at == '\t' && fields < FIELDS) {
            *at = '\0';
            field[fields++] = at + 1;
        }
    if (fields < FIELDS) return false;
    unsigned long verdict = strtoul(field[0], NULL, 10), criterion = strtoul(field[1], NULL, 10);
    unsigned long unit = strtoul(field[2], NULL, 10);
    if (verdict >= VALIDATE_VERDICTS || criterion >= CRITERIA || unit >= VALIDATE_UNITS) return false;
    row->verdict = (enum validate_verdict)verdict;
    row->criterion = (enum criterion)criterion;
    row->unit = (enum validate_unit)unit;
    row->value = strtod(field[3], NULL);
    row->limit = strtod(field[4], NULL);
    row->ranks = strtoull(field[5], NULL, 10);
    row->bytes = strtoull(field[6], NULL, 10);
    return set_texts(row, field[7], field[8], field[9], field[10], field[11]);
}

/* A test that did not come back is a row that fails; false: no memory. */
static bool read_test(struct validate *validate, uint32_t test, char *text, const char *why)
{
    char *next = NULL, *line = why ? NULL : text;
    uint64_t ns = line ? strtoull(line, &next, 10) : 0;
    uint32_t before = validate->rows;

    for (line = line && next && *next == '\n' ? next + 1 : NULL; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = '\0';
        struct validate_row *row = new_row(validate, test);
        if (row == NULL) return false;
        if (read_row(line, row)) continue;
        validate->rows--;
        break;
    }
    if (validate->rows > before) {
        validate->row[before].ns = ns;
        return true;
    }
    struct validate_row *row = new_row(validate, test);
    if (row == NULL) return false;
    row->verdict = VALIDATE_FAIL;
    return set_texts(row, "", "", "", "the test ends", why ? why : "the test said nothing");
}

static bool read_all(struct plan *plan)
{
    bool good = true;

    for (uint32_t t = 0; t < VALIDATE_TESTS && good; t++)
        if (plan->validate->phase[validate_tests[t].phase])
            good = plan->text[t] && read_test(plan->validate, t, plan->text[t], plan->why[t]);
    return good || study_fail(plan->validate->error, "not enough memory");
}

/* Those of this machine, or the others; false as validate_run(). */
static bool run_some(struct plan *plan, bool live)
{
    struct validate *validate = plan->validate;
    struct pool_work work = {.at_once = live ? 1 : validate->jobs,
                             .noun = "tests",
                             .quiet = validate->quiet,
                             .stopped = validate->stopped,
                             .context = plan,
                             .run = run_test,
                             .take = take_rows,
                             .error = validate->error};
    struct pool_done done = {0};

    plan->tests = 0;
    for (uint32_t t = 0; t < VALIDATE_TESTS; t++)
        if (validate->phase[validate_tests[t].phase] && is_live(validate, t) == live) plan->test[plan->tests++] = t;
    work.points = plan->tests;
    validate->asked += plan->tests;
    bool good = plan->tests == 0 || pool_run(&work, &done);
    validate->done.done += done.done;
    validate->done.reused += done.reused;
    return good;
}

bool validate_run(struct validate *validate)
{
    struct plan plan = {.validate = validate};
    bool good = run_some(&plan, false) && run_some(&plan, true) && read_all(&plan);

    for (uint32_t t = 0; t < VALIDATE_TESTS; t++)
        free(plan.text[t]);
    return good;
}

void validate_release(struct validate *validate)
{
    for (uint32_t i = 0; i < validate->rows; i++) {
        free(validate->row[i].source);
        free(validate->row[i].job);
        free(validate->row[i].subject);
        free(validate->row[i].formula);
        free(validate->row[i].why);
    }
    free(validate->row);
    validate->row = NULL;
    validate->rows = validate->room = 0;
}

uint32_t validate_count(const struct validate *validate, enum validate_verdict verdict)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < validate->rows; i++)
        count += validate->row[i].verdict == verdict;
    return count;
}

uint64_t validate_digest(const struct validate *validate)
{
    uint64_t hash = HASH_BEGIN;

    for (uint32_t i = 0; i < validate->rows; i++) {
        const struct validate_row *row = &validate->row[i];
        char text[128];
        if (validate_tests[row->test].least == VALIDATE_LIVE) continue; /* no two runs are alike */
        int length = snprintf(text, sizeof text, "%s %d %a %a ", validate_tests[row->test].id, row->verdict, row->value,
                              row->limit);
        hash = hash_bytes(hash, text, (size_t)length);
        hash = hash_bytes(hash, row->subject, strlen(row->subject) + 1);
    }
    return hash;
}
