/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A drawing as SVG.  Lengths are CSS pixels; a row's boxes are spread evenly over the width, so that what hangs below a
 * switch stands below it.  Names are the file's: they are escaped, and bytes that XML does not take become '?'.
 */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "config/drawing/drawing.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define LEFT 150 /* for the names of tiers */
#define TOP 64
#define BOX_HEIGHT 36
#define BOX_MOST 150
#define BOX_LEAST 54
#define LETTER 7 /* pixels, about */
#define GAP 10
#define WIDTH_LEAST 700
#define RAILS 8 /* colours */
#define NAME 80

static const char style[] =
    "<style>\n"
    "svg{--ground:#fff;--ink:#1b1f24;--soft:#57606a;--edge:#8c959f;--t0:#f6f8fa;--t1:#ddf4ff;--t2:#fff1d6;--t3:#fbe4f0;"
    "--line:#6e7781;--r0:#0072b2;--r1:#b35900;--r2:#00795a;--r3:#a8447f;--r4:#2f80c4;--r5:#8a6d00;--r6:#5b4ea3;--r7:#"
    "444}\n"
    "@media(prefers-color-scheme:dark){svg{--ground:#0d1117;--ink:#e6edf3;--soft:#9ba6b2;--edge:#656c76;--t0:#161b22;"
    "--t1:#0c2d48;--t2:#3a2a08;--t3:#3b1530;--line:#8b949e;--r0:#56b4e9;--r1:#e69f00;--r2:#2fc69b;--r3:#e08bbd;--r4:#"
    "8cc8ff;"
    "--r5:#e6d45c;--r6:#b3a6f5;--r7:#ccc}}\n"
    "text{font:12px system-ui,sans-serif;fill:var(--ink)}\n"
    ".name{text-anchor:middle}.small{font-size:10px;fill:var(--soft)}.head{font-size:18px;font-weight:600}\n"
    "rect.box{stroke:var(--edge);rx:5}path,line{fill:none;stroke:var(--line);stroke-opacity:.75}\n"
    "g:hover>line,g:hover>path{stroke-opacity:1;stroke:var(--ink)}.down{stroke-dasharray:5 4}\n"
    "</style>\n";

/* Where things are. */
struct place {
    const struct drawing *drawing;
    uint32_t width, row_height, box_width[DRAWING_TIERS];
};

static void escape(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '&')
            fputs("&amp;", out);
        else if (*at == '<')
            fputs("&lt;", out);
        else if (*at == '>')
            fputs("&gt;", out);
        else if (*at == '"')
            fputs("&quot;", out);
        else
            fputc(*at < ' ' || *at == 0x7f ? '?' : *at, out);
    }
}

/* Cut to what a box has room for. */
static void escape_cut(FILE *out, const char *text, size_t most)
{
    char cut[2 * NAME];
    size_t length = strlen(text);

    if (length <= most || most < 2 || most >= sizeof(cut)) {
        escape(out, text);
        return;
    }
    while (most > 1 && ((unsigned char)text[most - 1] & 0xc0) == 0x80) /* not within a character */
        most--;
    snprintf(cut, sizeof(cut), "%.*s", (int)(most - 1), text);
    escape(out, cut);
    fputs("\u2026", out);
}

static void box_name(const struct drawing *drawing, const struct drawing_box *box, char buf[2 * NAME])
{
    const struct fabric_node *node = drawing->fabric->node;

    if (box->rest)
        snprintf(buf, 2 * NAME, "%u more", box->nodes);
    else if (box->nodes == 1)
        snprintf(buf, 2 * NAME, "%.*s", NAME, node[box->first].name);
    else
        snprintf(buf, 2 * NAME, "%.*s \u2013 %.*s", NAME / 2, node[box->first].name, NAME / 2, node[box->last].name);
}

/* What stands below the name: how many, and what they are. */
static void box_note(const struct drawing *drawing, const struct drawing_box *box, char buf[2 * NAME])
{
    const struct fabric *fabric = drawing->fabric;
    const struct fabric_node *node = &fabric->node[box->first];
    size_t used = 0;

    buf[0] = '\0';
    if (box->nodes > 1) used = (size_t)snprintf(buf, 2 * NAME, "%u %s", box->nodes, box->tier ? "switches" : "hosts");
    if (box->rest) return;
    if (box->tier == 0 && node->gpus)
        snprintf(buf + used, 2 * NAME - used, "%s%u GPU%s", used ? " \u00d7 " : "", node->gpus,
                 node->gpus == 1 ? "" : "s");
    else if (box->tier && box->nodes == 1 && node->rail != FABRIC_NO_RAIL)
        snprintf(buf, 2 * NAME, "rail %u", node->rail);
    else if (box->tier && box->nodes == 1 && fabric->sw[box->first - fabric->hosts].model)
        snprintf(buf, 2 * NAME, "%.*s", NAME, fabric->sw[box->first - fabric->hosts].model);
}

static uint32_t boxes_in(const struct drawing *drawing, uint32_t tier)
{
    return drawing->first[tier + 1] - drawing->first[tier];
}

/* Letters, not bytes. */
static uint32_t letters(const char *text)
{
    uint32_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static struct place place_all(const struct drawing *drawing)
{
    struct place place = {.drawing = drawing, .width = WIDTH_LEAST};

    for (uint32_t tier = 0; tier < drawing->tiers; tier++) {
        uint32_t longest = 0;
        for (uint32_t b = drawing->first[tier]; b < drawing->first[tier + 1]; b++) {
            char name[2 * NAME], note[2 * NAME];
            box_name(drawing, &drawing->box[b], name);
            box_note(drawing, &drawing->box[b], note);
            if (letters(name) > longest) longest = letters(name);
            if (letters(note) > longest) longest = letters(note);
        }
        uint32_t wide = longest * LETTER + 12;
        place.box_width[tier] = wide < BOX_LEAST ? BOX_LEAST : wide > BOX_MOST ? BOX_MOST : wide;
        uint32_t row = boxes_in(drawing, tier) * (place.box_width[tier] + GAP);
        if (row > place.width) place.width = row;
    }
    place.row_height = place.width / 6;
    if (place.row_height < 140) place.row_height = 140;
    if (place.row_height > 280) place.row_height = 280;
    return place;
}

static uint32_t centre(const struct place *place, uint32_t b)
{
    uint32_t tier = place->drawing->box[b].tier, count = boxes_in(place->drawing, tier);

    return LEFT + (2 * (b - place->drawing->first[tier]) + 1) * place->width / (2 * count);
}

static uint32_t top(const struct place *place, uint32_t tier)
{
    return TOP + (place->drawing->tiers - 1 - tier) * place->row_height;
}

/* Tenths of a pixel: a step for each doubling. */
static uint32_t thickness(uint64_t rate_bps)
{
    uint32_t tenths = 6;

    for (uint64_t rate = 50000000000; rate <= rate_bps && tenths < 60; rate *= 2)
        tenths += 3;
    return tenths;
}

static void rate_text(const struct drawing_line *line, char buf[2 * NAME])
{
    char least[UNIT_TEXT], most[UNIT_TEXT];

    unit_format_short(UNIT_RATE, line->least_bps, 3, least);
    unit_format_short(UNIT_RATE, line->most_bps, 3, most);
    if (line->least_bps == line->most_bps)
        snprintf(buf, 2 * NAME, "%u \u00d7 %s", line->cables, most);
    else
        snprintf(buf, 2 * NAME, "%u cables of %s to %s", line->cables, least, most);
}

static void print_line(const struct place *place, const struct drawing_line *line, FILE *out)
{
    const struct drawing *drawing = place->drawing;
    const struct drawing_box *a = &drawing->box[line->a], *b = &drawing->box[line->b];
    uint32_t xa = centre(place, line->a), xb = centre(place, line->b), ya = top(place, a->tier);
    uint32_t wide = thickness(line->rate_bps);
    char from[2 * NAME], to[2 * NAME], rate[2 * NAME];

    box_name(drawing, a, from);
    box_name(drawing, b, to);
    rate_text(line, rate);
    fputs("<g><title>", out);
    escape(out, from);
    fputs(" to ", out);
    escape(out, to);
    fprintf(out, ": %s", rate);
    if (line->rail != FABRIC_NO_RAIL) fprintf(out, ", rail %u", line->rail);
    if (line->down) fprintf(out, ", %u down", line->down);
    fputs("</title>", out);
    if (a->tier == b->tier) /* beside each other: over the boxes between */
        fprintf(out, "<path d=\"M%u %uQ%u %u %u %u\"", xa, ya, (xa + xb) / 2, ya - 50, xb, ya);
    else
        fprintf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"", xa, ya, xb, top(place, b->tier) + BOX_HEIGHT);
    fprintf(out, " stroke-width=\"%u.%u\"", wide / 10, wide % 10);
    if (line->rail != FABRIC_NO_RAIL) fprintf(out, " style=\"stroke:var(--r%u)\"", line->rail % RAILS);
    if (line->down == line->cables) fputs(" class=\"down\"", out);
    fputs("/></g>\n", out);
}

static void print_box(const struct place *place, uint32_t b, FILE *out)
{
    const struct drawing *drawing = place->drawing;
    const struct drawing_box *box = &drawing->box[b];
    uint32_t wide = place->box_width[box->tier], x = centre(place, b), y = top(place, box->tier);
    char name[2 * NAME], note[2 * NAME];

    box_name(drawing, box, name);
    box_note(drawing, box, note);
    fputs("<g><title>", out);
    escape(out, name);
    if (note[0]) {
        fputs(": ", out);
        escape(out, note);
    }
    fprintf(out, "</title><rect class=\"box\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"var(--t%u)\"/>",
            x - wide / 2, y, wide, BOX_HEIGHT, box->tier < 3 ? box->tier : 3);
    fprintf(out, "<text class=\"name\" x=\"%u\" y=\"%u\">", x, y + (note[0] ? 15 : 22));
    escape_cut(out, name, wide / LETTER + (strchr(name, ' ') ? 2 : 0));
    fputs("</text>", out);
    if (note[0]) {
        fprintf(out, "<text class=\"name small\" x=\"%u\" y=\"%u\">", x, y + 29);
        escape_cut(out, note, wide / 5);
        fputs("</text>", out);
    }
    fputs("</g>\n", out);
}

static const char *tier_name(const struct drawing *drawing, uint32_t tier)
{
    switch (drawing->fabric->node[drawing->box[drawing->first[tier]].first].role) {
    case FABRIC_ROLE_HOST:
        return "hosts";
    case FABRIC_ROLE_LEAF:
        return "leaves";
    case FABRIC_ROLE_SPINE:
        return "spines";
    case FABRIC_ROLE_CORE:
        return "cores";
    default:
        return "switches";
    }
}

/* Of the cables from a tier to the next one up, in words; "" where there are none. */
static void cables_text(const struct drawing *drawing, uint32_t tier, char buf[2 * NAME])
{
    struct drawing_line sum = {.least_bps = UINT64_MAX};

    buf[0] = '\0';
    for (uint32_t i = 0; i < drawing->lines; i++) {
        const struct drawing_line *line = &drawing->line[i];
        if (drawing->box[line->a].tier != tier || drawing->box[line->b].tier <= tier) continue;
        sum.cables += line->cables;
        if (line->least_bps < sum.least_bps) sum.least_bps = line->least_bps;
        if (line->most_bps > sum.most_bps) sum.most_bps = line->most_bps;
    }
    if (sum.cables) rate_text(&sum, buf);
}

static void print_tier(const struct place *place, uint32_t tier, FILE *out)
{
    char cables[2 * NAME];
    uint32_t y = top(place, tier);

    cables_text(place->drawing, tier, cables);
    fprintf(out, "<text x=\"12\" y=\"%u\">%u %s</text>\n", y + 22, place->drawing->nodes[tier],
            tier_name(place->drawing, tier));
    if (cables[0])
        fprintf(out, "<text class=\"small\" x=\"12\" y=\"%u\">%s</text>\n", y - (place->row_height - BOX_HEIGHT) / 2,
                cables);
    for (uint32_t b = place->drawing->first[tier]; b < place->drawing->first[tier + 1]; b++)
        print_box(place, b, out);
}

void drawing_svg(const struct drawing *drawing, FILE *out)
{
    struct place place = place_all(drawing);
    uint32_t width = LEFT + place.width + 12, height = TOP + (drawing->tiers - 1) * place.row_height + BOX_HEIGHT + 16;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\" role=\"img\" "
            "aria-labelledby=\"t d\">\n<title id=\"t\">",
            width, height, width, height);
    escape(out, drawing->fabric->name);
    fputs("</title>\n<desc id=\"d\">", out);
    for (uint32_t tier = drawing->tiers; tier-- > 0;) {
        char cables[2 * NAME];
        cables_text(drawing, tier, cables);
        fprintf(out, "%u %s%s%s%s", drawing->nodes[tier], drawing->nodes[tier] ? tier_name(drawing, tier) : "nodes",
                cables[0] ? ", joined to those above by " : "", cables, tier ? "; " : "");
    }
    fprintf(out,
            "</desc>\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"var(--ground)\"/>\n<text class=\"head\" x=\"12\" "
            "y=\"28\">",
            style);
    escape(out, drawing->fabric->name);
    fputs("</text>\n", out);
    for (uint32_t i = 0; i < drawing->lines; i++)
        print_line(&place, &drawing->line[i], out);
    for (uint32_t tier = 0; tier < drawing->tiers; tier++)
        print_tier(&place, tier, out);
    fputs("</svg>\n", out);
}
