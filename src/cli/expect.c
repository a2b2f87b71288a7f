/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run is to give, compared with what it gave.
 *
 * Both are lists of values: time, end and digest of the run, times of jobs, times and exit statuses of programs.  A
 * run becomes such a list, a file is one; writing a file is printing the first, and judging is looking each of the
 * second up in the first.  What a file does not name is not looked at.  YAML, so JSON too.
 */
#include "cli/expect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/wide.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/source.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"
#include "fabric/handle.h"
#include "report/table.h"
#include "up/up.h"

#define FILE_BYTES ((size_t)1 << 26)
#define ROWS_MOST 40
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define PPM 1000000

enum part { OF_RUN, OF_JOB, OF_PROGRAM };
enum kind { A_TIME, AN_EXIT, A_DIGEST, A_WORD }; /* a word: how the run or a job ended */
static const char *const kind_words[] = {"time", "exit", "digest", "end"};

struct tolerance { /* either; both 0: exactly */
    uint64_t ppm, ps;
};

struct cli_expect_value {
    enum part part;
    enum kind kind;
    const char *name; /* of the job or program */
    uint64_t number;
    const char *text; /* of a word, and the number as people read it */
    struct tolerance tolerance;
    bool tolerance_given;
};

/* --- a list of values --- */

static struct cli_expect_value *add_value(struct cli_expect *list, enum part part, enum kind kind, const char *name)
{
    struct cli_expect_value *value;

    ARENA_ROOM(&list->arena, list->value, list->values, list->room);
    value = &list->value[list->values++];
    *value = (struct cli_expect_value){.part = part, .kind = kind, .name = name};
    return value;
}

static const char *kept(struct cli_expect *list, const char *text)
{
    return arena_strndup(&list->arena, text, strlen(text));
}

/* All of it, in a unit of which there is at least one: 7.076218271ms.  unit_parse() reads the same number. */
static void time_text(ps_t time, char ret[UNIT_TEXT])
{
    static const struct {
        uint64_t ps;
        const char *name;
        int digits;
    } units[] = {{PS_S, "s", 12}, {PS_MS, "ms", 9}, {PS_US, "us", 6}, {PS_NS, "ns", 3}, {1, "ps", 0}};
    size_t u = 0;

    while (u + 1 < COUNT_OF(units) && time < units[u].ps)
        u++;
    uint64_t whole = time / units[u].ps, rest = time % units[u].ps;
    int length = snprintf(ret, UNIT_TEXT, "%" PRIu64, whole);
    if (rest) {
        length += snprintf(ret + length, UNIT_TEXT - (size_t)length, ".%0*" PRIu64, units[u].digits, rest);
        while (ret[length - 1] == '0')
            length--;
    }
    snprintf(ret + length, UNIT_TEXT - (size_t)length, "%s", time ? units[u].name : "");
}

static void add_number(struct cli_expect *list, enum part part, enum kind kind, const char *name, uint64_t number)
{
    struct cli_expect_value *value = add_value(list, part, kind, name);
    char text[UNIT_TEXT];

    value->number = number;
    if (kind == A_TIME)
        time_text(number, text);
    else
        snprintf(text, sizeof text, kind == A_DIGEST ? "%016" PRIx64 : "%" PRIu64, number);
    value->text = kept(list, text);
}

/* From the one at `*from` on, and round: files are in the order of runs. */
static const struct cli_expect_value *find_from(const struct cli_expect *list, const struct cli_expect_value *like,
                                                uint32_t *from)
{
    for (uint32_t i = 0; i < list->values; i++) {
        uint32_t at = (*from + i) % list->values;
        const struct cli_expect_value *value = &list->value[at];
        if (value->part != like->part || value->kind != like->kind || strcmp(value->name, like->name) != 0) continue;
        *from = at + 1;
        return value;
    }
    return NULL;
}

static const struct cli_expect_value *find_value(const struct cli_expect *list, const struct cli_expect_value *like)
{
    uint32_t from = 0;
    return find_from(list, like, &from);
}

/* --- of a run --- */

/* HOST: COMMAND, and which where a script has several. */
static const char *program_name(struct cli_expect *list, const struct sim_report *report, uint32_t index)
{
    const struct up_program *own = &report->program[index];
    size_t room = strlen(own->host) + strlen(own->command) + 24;
    char *name = arena_alloc(&list->arena, room, 1, 1);
    uint32_t before = 0;

    for (uint32_t i = 0; i < index; i++)
        before +=
            strcmp(report->program[i].host, own->host) == 0 && strcmp(report->program[i].command, own->command) == 0;
    if (before)
        snprintf(name, room, "%s: %s (%u)", own->host, own->command, before + 1);
    else
        snprintf(name, room, "%s: %s", own->host, own->command);
    return name;
}

/* Repetitions of a job follow each other. */
static bool is_repeated(const struct sim_result *result, uint32_t index)
{
    const struct sim_job *job = &result->job[index];
    return job->repetition > 0 || (index + 1 < result->jobs && job[1].job == job->job);
}

static void take_job(struct cli_expect *list, const struct sim_report *report, uint32_t index)
{
    const struct sim_job *job = &report->result->job[index];
    char name[256];

    if (is_repeated(report->result, index))
        snprintf(name, sizeof name, "%s/%u", job->name, job->repetition + 1);
    else
        snprintf(name, sizeof name, "%s", job->name);
    const char *own = kept(list, name);
    if (job->end != PS_NEVER && !job->failed)
        add_number(list, OF_JOB, A_TIME, own, job->end - job->start);
    else
        add_value(list, OF_JOB, A_WORD, own)->text = job->failed ? "failed" : sim_job_state(report->result, job);
}

static void take_run(struct cli_expect *list, const struct sim_report *report)
{
    const struct sim_result *result = report->result;

    add_number(list, OF_RUN, A_TIME, "", result->virtual_ps);
    add_value(list, OF_RUN, A_WORD, "")->text = sim_state_name(result->state);
    add_number(list, OF_RUN, A_DIGEST, "", result->digest);
    for (uint32_t i = 0; i < result->jobs; i++)
        take_job(list, report, i);
    for (uint32_t i = 0; i < report->programs; i++) {
        const struct up_program *program = &report->program[i];
        const char *name = program_name(list, report, i);
        if (program->start != PS_NEVER && program->end != PS_NEVER)
            add_number(list, OF_PROGRAM, A_TIME, name, program->end - program->start);
        if (program->exit >= 0) add_number(list, OF_PROGRAM, AN_EXIT, name, (uint64_t)program->exit);
    }
}

/* --- written --- */

static void print_key(FILE *out, const char *name)
{
    putc('\'', out);
    for (; *name; name++)
        fputs(*name == '\'' ? "''" : (char[]){*name, '\0'}, out);
    putc('\'', out);
}

static void print_part(FILE *out, const struct cli_expect *list, enum part part, const char *title)
{
    const char *before = NULL;

    for (uint32_t i = 0; i < list->values; i++) {
        const struct cli_expect_value *value = &list->value[i];
        bool more = i + 1 < list->values && list->value[i + 1].part == part && list->value[i + 1].name == value->name;
        if (value->part != part) continue;
        if (before == NULL) fprintf(out, "%s:\n", title);
        if (before == NULL || strcmp(before, value->name) != 0) {
            fputs("  ", out);
            print_key(out, value->name);
            fputs(": ", out);
            if (part == OF_PROGRAM) putc('{', out);
        } else {
            fputs(", ", out);
        }
        if (part == OF_PROGRAM) fprintf(out, "%s: ", kind_words[value->kind]);
        fputs(value->text, out);
        if (!more) fputs(part == OF_PROGRAM ? "}\n" : "\n", out);
        before = value->name;
    }
}

static bool write_list(const struct cli_expect *expect, const struct cli_expect *run, const struct sim_report *report)
{
    struct cli_file file = {0};

    if (!cli_file_open(&file, "--write-expect", expect->write_path)) return false;
    fprintf(file.to,
            "# What a run of %s is to give: rocelab --expect.  What is not named here is not looked at; to allow more\n"
            "# than nothing, say tolerance: 1%% (or 5us), or {time: ..., tolerance: 1%%} of one, and take the digest "
            "out.\nrocelab-expect: 1\ntolerance: 0%%\n",
            fabric_name(report->fabric));
    for (uint32_t i = 0; i < run->values && run->value[i].part == OF_RUN; i++)
        fprintf(file.to, run->value[i].kind == A_DIGEST ? "%s: '%s'\n" : "%s: %s\n", kind_words[run->value[i].kind],
                run->value[i].text);
    print_part(file.to, run, OF_JOB, "jobs");
    print_part(file.to, run, OF_PROGRAM, "programs");
    return cli_file_close(&file);
}

/* --- read --- */

struct reading {
    struct cli_expect *list;
    struct fabric_errors *errors;
    struct tolerance usual;
};

static bool read_number(struct reading *in, const struct tree *value, enum unit_kind unit, const char *key,
                        uint64_t *ret)
{
    const char *why = "not understood";

    if (value->type == TREE_SCALAR && unit_parse(unit, value->text, ret, &why) == 0) return true;
    if (value->type != TREE_SCALAR) why = unit == UNIT_TIME ? "a time, as in 7.08ms" : "a number";
    fabric_errors_add(in->errors, value->at, "%s: %s", key, why);
    return false;
}

static void read_tolerance(struct reading *in, const struct tree *value, struct tolerance *ret)
{
    struct tolerance read = {0};
    bool share = value->type == TREE_SCALAR && strchr(value->text, '%');

    if (read_number(in, value, share ? UNIT_SHARE : UNIT_TIME, "tolerance", share ? &read.ppm : &read.ps)) *ret = read;
}

static void read_time(struct reading *in, const struct tree *value, enum part part, const char *name)
{
    uint64_t time;

    if (read_number(in, value, UNIT_TIME, part == OF_RUN ? "time" : name, &time))
        add_number(in->list, part, A_TIME, name, time);
}

static void read_exit(struct reading *in, const struct tree *value, const char *name)
{
    uint64_t status;

    if (read_number(in, value, UNIT_COUNT, "exit", &status)) add_number(in->list, OF_PROGRAM, AN_EXIT, name, status);
}

static void unknown_key(struct reading *in, const struct tree *item, const char *const *known)
{
    struct nearest nearest;

    nearest_init(&nearest, item->key);
    for (; *known; known++)
        nearest_try(&nearest, *known);
    fabric_errors_add(in->errors, item->key_at, "unknown key '%s'%s%s%s", item->key,
                      nearest.word ? "; did you mean '" : "", nearest.word ? nearest.word : "",
                      nearest.word ? "'?" : "");
}

/* {time: 7.08ms, exit: 0, tolerance: 1%} */
static void read_map_of(struct reading *in, const struct tree *map, enum part part, const char *name)
{
    static const char *const known[] = {"time", "tolerance", "exit", NULL};
    uint32_t first = in->list->values;
    struct tolerance own = {0};
    bool given = false;

    for (const struct tree *item = map->first; item; item = item->next) {
        if (strcmp(item->key, "time") == 0) {
            read_time(in, item, part, name);
        } else if (strcmp(item->key, "exit") == 0 && part == OF_PROGRAM) {
            read_exit(in, item, name);
        } else if (strcmp(item->key, "tolerance") == 0) {
            read_tolerance(in, item, &own);
            given = true;
        } else {
            unknown_key(in, item, known);
        }
    }
    for (uint32_t i = first; given && i < in->list->values; i++) {
        in->list->value[i].tolerance = own;
        in->list->value[i].tolerance_given = true;
    }
}

static void read_one(struct reading *in, const struct tree *item, enum part part, const char *name)
{
    static const char *const ends[] = {"running", "waiting", "failed", "stuck"};

    if (item->type == TREE_MAP) {
        read_map_of(in, item, part, name);
        return;
    }
    for (size_t i = 0; part == OF_JOB && item->type == TREE_SCALAR && i < COUNT_OF(ends); i++) {
        if (strcmp(item->text, ends[i]) != 0) continue;
        add_value(in->list, part, A_WORD, name)->text = ends[i];
        return;
    }
    read_time(in, item, part, name);
}

static void read_names(struct reading *in, const struct tree *value, enum part part)
{
    if (value->type != TREE_MAP) {
        fabric_errors_add(in->errors, value->at, "%s: a map of names and times, as in incast0: 7.08ms", value->key);
        return;
    }
    for (const struct tree *item = value->first; item; item = item->next)
        read_one(in, item, part, kept(in->list, item->key));
}

static void read_digest(struct reading *in, const struct tree *value)
{
    char *end = NULL;
    uint64_t digest = value->type == TREE_SCALAR ? strtoull(value->text, &end, 16) : 0;

    if (end == NULL || *end || strlen(value->text) != 16)
        fabric_errors_add(in->errors, value->at, "digest: 16 hexadecimal digits, as a report has them");
    else
        add_number(in->list, OF_RUN, A_DIGEST, "", digest);
}

static void read_top(struct reading *in, const struct tree *root)
{
    static const char *const known[] = {"rocelab-expect", "tolerance", "time",     "end",
                                        "digest",         "jobs",      "programs", NULL};

    for (const struct tree *item = root->first; item; item = item->next) {
        if (strcmp(item->key, "rocelab-expect") == 0) {
            if (strcmp(item->text, "1") != 0)
                fabric_errors_add(in->errors, item->at, "rocelab-expect: this program reads version 1");
        } else if (strcmp(item->key, "tolerance") == 0) {
            read_tolerance(in, item, &in->usual);
        } else if (strcmp(item->key, "time") == 0) {
            read_one(in, item, OF_RUN, "");
        } else if (strcmp(item->key, "end") == 0) {
            add_value(in->list, OF_RUN, A_WORD, "")->text = kept(in->list, item->text);
        } else if (strcmp(item->key, "digest") == 0) {
            read_digest(in, item);
        } else if (strcmp(item->key, "jobs") == 0) {
            read_names(in, item, OF_JOB);
        } else if (strcmp(item->key, "programs") == 0) {
            read_names(in, item, OF_PROGRAM);
        } else {
            unknown_key(in, item, known);
        }
    }
}

bool cli_expect_begin(struct cli_expect *expect)
{
    struct fabric_errors errors = {.path = expect->path};
    struct reading in = {expect, &errors, {0}};
    struct tree *root = NULL;
    char *text = NULL;

    arena_init_or_end(&expect->arena, 0);
    if (expect->path == NULL) return true;
    if (!cli_read_text(expect->path, FILE_BYTES, &text)) return false;
    if (tree_parse(text, strlen(text), &expect->arena, &root, &errors) == 0) {
        if (root->type != TREE_MAP || tree_get(root, "rocelab-expect") == NULL)
            fabric_errors_add(&errors, root->at, "no file of --write-expect: it says 'rocelab-expect: 1'");
        else
            read_top(&in, root);
    }
    free(text);
    for (uint32_t i = 0; i < expect->values; i++)
        if (!expect->value[i].tolerance_given) expect->value[i].tolerance = in.usual;
    if (errors.count == 0 && expect->values > 0) return true;
    if (errors.count == 0)
        cli_error("%s: nothing is expected in it: name a time, a job, a program or the digest", expect->path);
    fabric_errors_print(&errors, stderr);
    return false;
}

/* --- judged --- */

bool cli_expect_says_state(const struct cli_expect *expect)
{
    return find_value(expect, &(struct cli_expect_value){.part = OF_RUN, .kind = A_WORD, .name = ""}) != NULL;
}

bool cli_expect_says_exit(const struct cli_expect *expect, const struct sim_report *report, uint32_t program)
{
    struct cli_expect scratch = {0};

    arena_init_or_end(&scratch.arena, 0);
    const struct cli_expect_value like = {
        .part = OF_PROGRAM, .kind = AN_EXIT, .name = program_name(&scratch, report, program)};
    bool says = find_value(expect, &like) != NULL;
    arena_release(&scratch.arena);
    return says;
}

static uint64_t most_apart(const struct cli_expect_value *value)
{
    return value->tolerance.ppm ? (uint64_t)((u128)value->number * value->tolerance.ppm / PPM) : value->tolerance.ps;
}

static bool fits(const struct cli_expect_value *value, const struct cli_expect_value *seen)
{
    if (seen == NULL) return false;
    if (value->kind == A_WORD) return strcmp(value->text, seen->text) == 0;
    if (value->kind != A_TIME) return value->number == seen->number;
    uint64_t apart = value->number > seen->number ? value->number - seen->number : seen->number - value->number;
    return apart <= most_apart(value);
}

/* What the run has in place of a value that it lacks: a job that did not end has no time. */
static const struct cli_expect_value *instead_of(const struct cli_expect *run, const struct cli_expect_value *value)
{
    struct cli_expect_value other = *value;

    other.kind = value->kind == A_WORD ? A_TIME : A_WORD;
    return value->part == OF_JOB ? find_value(run, &other) : NULL;
}

static void add_row(struct table *table, const struct cli_expect_value *value, const struct cli_expect_value *seen,
                    const char *instead)
{
    char what[160], apart[32] = "", tolerance[UNIT_TEXT] = "";
    const char *of = value->part == OF_RUN ? "the run" : value->name;

    snprintf(what, sizeof what, "%s: %s", of, kind_words[value->kind]);
    if (value->kind == A_TIME && value->tolerance.ppm)
        unit_format(UNIT_SHARE, value->tolerance.ppm, tolerance);
    else if (value->kind == A_TIME)
        unit_format(UNIT_TIME, value->tolerance.ps, tolerance);
    if (value->kind == A_TIME && seen && value->number)
        snprintf(apart, sizeof apart, "%+.2f%%", 100 * ((double)seen->number / (double)value->number - 1));
    table_row(table, (const char *const[]){what, value->text, seen ? seen->text : instead, apart, tolerance});
}

/* How many differ; a table of them on standard error, since standard output may be a document. */
static uint32_t compare(const struct cli_expect *expect, const struct cli_expect *run)
{
    const struct text_style style = cli_style();
    struct table table;
    uint32_t differ = 0, from = 0;

    TABLE_BEGIN(&table, LEFT("value", .min_width = 20), RIGHT("expected"), RIGHT("seen"),
                RIGHT("apart", .optional = true), RIGHT("tolerance", .optional = true));
    for (uint32_t i = 0; i < expect->values; i++) {
        const struct cli_expect_value *value = &expect->value[i], *seen = find_from(run, value, &from);
        if (fits(value, seen) || ++differ > ROWS_MOST) continue;
        const struct cli_expect_value *other = seen ? NULL : instead_of(run, value);
        add_row(&table, value, seen, other ? other->text : "not there");
    }
    if (differ) {
        cli_error("not as %s expects: %u of %u values differ", expect->path, differ, expect->values);
        table_print(&table, stderr, &style, 2);
        if (differ > ROWS_MOST) fprintf(stderr, "  and %u more\n", differ - ROWS_MOST);
    }
    table_release(&table);
    return differ;
}

int cli_expect_end(struct cli_expect *expect, const struct sim_report *report, bool quiet, int status)
{
    struct cli_expect run = {0};

    if (status == CLI_WRONG || (expect->path == NULL && expect->write_path == NULL)) return status;
    arena_init_or_end(&run.arena, 0);
    take_run(&run, report);
    if (expect->path && compare(expect, &run))
        status = CLI_PROBLEMS;
    else if (expect->path && !quiet)
        cli_error("as %s expects: %u value%s", expect->path, expect->values, text_plural(expect->values));
    if (expect->write_path && !write_list(expect, &run, report)) status = CLI_WRONG;
    arena_release(&run.arena);
    return status;
}

void cli_expect_release(struct cli_expect *expect)
{
    if (expect->arena.chunks) arena_release(&expect->arena);
}
