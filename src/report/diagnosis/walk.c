/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over cables as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "report/diagnosis/diagnosis.h"
#include "report/rows/rows.h"
#include "report/table.h"

#define CELL 160

static const struct evidence_object *object(const struct walk *walk, uint32_t id)
{
    return &walk->evidence->object[id];
}

/* --- text --- */

/* Cells of a table are ASCII: what came from outside is made so. */
static const char *plain(const char *text, char cell[CELL])
{
    size_t i = 0;

    for (; text[i] && i + 1 < CELL; i++)
        cell[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    cell[i] = '\0';
    return cell;
}

static const char *two(uint64_t a, uint64_t b, char cell[CELL])
{
    char one[TEXT_COUNT], other[TEXT_COUNT];

    if (!a && !b) return "-";
    snprintf(cell, CELL, "%s/%s", text_count_short(a, one), text_count_short(b, other));
    return cell;
}

static const char *rate_cell(const struct walk_link *link, char cell[CELL])
{
    uint64_t a = link->rate_bps[0], b = link->rate_bps[1];

    if (!a && !b) return "-";
    if (a == b || !b || !a)
        snprintf(cell, CELL, "%gG", (double)(a ? a : b) / 1e9);
    else
        snprintf(cell, CELL, "%gG/%gG", (double)a / 1e9, (double)b / 1e9);
    return cell;
}

/* Names of the kinds of problems of a link, each once. */
static const char *kinds_cell(const struct walk *walk, uint32_t link, uint32_t from, char cell[CELL])
{
    size_t used = 0;
    unsigned seen = 0;

    cell[0] = '\0';
    for (uint32_t i = from; i < from + walk->link[link].problems; i++) {
        unsigned bit = 1u << walk->problem[i].kind;
        if (seen & bit) continue;
        used += (size_t)snprintf(cell + used, CELL - used, "%s%s", seen ? ", " : "",
                                 walk_kind_names[walk->problem[i].kind]);
        seen |= bit;
    }
    return cell;
}

static void links_text(FILE *out, const struct walk *walk, const struct text_style *style)
{
    struct table table;
    uint32_t from = 0;

    TABLE_BEGIN(&table, LEFT("link", .min_width = 8), LEFT("", .min_width = 8), LEFT("up", .drop = 2), RIGHT("rate"),
                RIGHT("errors"), RIGHT("paused", .optional = true, .drop = 3),
                RIGHT("PortXmitWait", .optional = true, .drop = 3), RIGHT("bytes sent", .drop = 4),
                LEFT("problems", .min_width = 10));
    for (uint32_t i = 0; i < walk->links; i++) {
        const struct walk_link *link = &walk->link[i];
        char a[CELL], b[CELL], rate[CELL], errors[CELL], paused[CELL], waits[CELL], bytes[CELL], kinds[CELL];
        TABLE_ROW(&table, plain(object(walk, link->end[0])->name, a), plain(object(walk, link->end[1])->name, b),
                  link->up < 0 ? "?"
                  : link->up   ? "yes"
                               : "no",
                  rate_cell(link, rate), two(link->errors[0], link->errors[1], errors),
                  two(link->paused_frames[0], link->paused_frames[1], paused),
                  two(link->waits[0], link->waits[1], waits), two(link->bytes[0], link->bytes[1], bytes),
                  kinds_cell(walk, i, from, kinds));
        from += link->problems;
    }
    table_end(&table, out, style, 0);
}

static void place_text(FILE *out, const struct walk *walk, const struct walk_problem *problem,
                       const struct text_style *style)
{
    if (problem->file >= walk->evidence->files) return;
    fputs(" (", out);
    text_outside(out, style, walk->evidence->file[problem->file]);
    fprintf(out, ":%" PRIu32 ")", problem->line);
}

void walk_text(FILE *out, const struct walk *walk, const struct text_style *style, bool quiet)
{
    char links[TEXT_COUNT], problems[TEXT_COUNT];
    uint32_t bad = 0;

    if (!quiet && walk->links) links_text(out, walk, style);
    for (uint32_t i = 0; i < walk->links; i++)
        bad += walk->link[i].problems != 0;
    if (!quiet && walk->problems) fputc('\n', out);
    for (uint32_t i = 0; i < walk->problems; i++) {
        const struct walk_problem *problem = &walk->problem[i];
        fprintf(out, "%s: ", walk_kind_names[problem->kind]);
        text_outside(out, style, problem->what);
        place_text(out, walk, problem, style);
        fputc('\n', out);
    }
    if (quiet) return;
    fprintf(out, "%s%s link%s, %s problem%s at %u of them\n", walk->links ? "\n" : "", text_count(walk->links, links),
            text_plural(walk->links), text_count(walk->problems, problems), text_plural(walk->problems), bad);
    if (!walk->links) fputs("Cables are not known: give --fabric FILE, or dumps of LLDP\n", out);
    if (walk->full) fputs("Memory ran out: the walk is incomplete\n", out);
    if (walk->evidence->unread) fputs("Not everything could be read: the walk is incomplete\n", out);
    diagnose_text_remarks(out, walk->evidence, style);
}

/* --- JSON --- */

static void end_json(struct jout *jout, const struct walk *walk, const struct walk_link *link, unsigned e)
{
    jout_open(jout, e ? "b" : "a", '{');
#include "report/rows/walk_end.def"
    jout_close(jout);
}

static void problems_json(struct jout *jout, const struct walk *walk, uint32_t from, uint32_t count)
{
    jout_open(jout, "problems", '[');
    for (uint32_t i = from; i < from + count; i++) {
        const struct walk_problem *problem = &walk->problem[i];
        bool known = problem->file < walk->evidence->files;
        jout_open(jout, NULL, '{');
#include "report/rows/walk_problem.def"
        jout_close(jout);
    }
    jout_close(jout);
}

void walk_json(FILE *out, const struct walk *walk)
{
    struct jout *jout = jout_begin(out, "walk");
    uint32_t from = 0;

    jout_bool(jout, "whole", !walk->full && evidence_is_whole(walk->evidence));
    jout_u64(jout, "problems", walk->problems);
    jout_open(jout, "links", '[');
    for (uint32_t i = 0; i < walk->links; i++) {
        const struct walk_link *link = &walk->link[i];
        jout_open_line(jout, NULL, '{');
        end_json(jout, walk, link, 0);
        end_json(jout, walk, link, 1);
        if (link->up < 0)
            jout_null(jout, "up");
        else
            jout_bool(jout, "up", link->up);
        problems_json(jout, walk, from, link->problems);
        jout_close(jout);
        from += link->problems;
    }
    jout_close(jout);
    diagnose_json_remarks(jout, walk->evidence);
    diagnose_json_unknowns(jout, walk->evidence);
    jout_end(jout);
}
