/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows written out, and distributions of flow sizes.
 *
 * A long list is text, a line a flow (`h0 h5:1 4MB 10us`): a hundred thousand of them take a
 * moment, where a hundred thousand maps would take a tree of a million values.
 */
#include "jobs/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/file/override.h"

static void check_flow(struct loader *loader, const struct fabric_flow *flow, struct fabric_at at)
{
    const struct fabric *fabric = loader->fabric;
    char src[FABRIC_NAME], dst[FABRIC_NAME];

    fabric_port_name(fabric, fabric->endpoint[flow->src].port, src);
    fabric_port_name(fabric, fabric->endpoint[flow->dst].port, dst);
    if (flow->src == flow->dst)
        read_error(loader, at, "a flow from %s to itself", src);
    else if (!fabric_reaches(fabric, flow->src, flow->dst))
        read_error(loader, at, "no route from %s to %s", src, dst);
}

static void read_src(struct loader *loader, const struct tree *value, void *into)
{
    const char *name = NULL;
    if (read_text(loader, value, &name)) ((struct fabric_flow *)into)->src = endpoint_read(loader, name, value->at);
}
static void read_dst(struct loader *loader, const struct tree *value, void *into)
{
    const char *name = NULL;
    if (read_text(loader, value, &name)) ((struct fabric_flow *)into)->dst = endpoint_read(loader, name, value->at);
}

static void flows_from_list(struct loader *loader, const struct tree *list, struct fabric_job *job)
{
    static const struct field fields[] = {
        F_CALL("src", read_src),
        F_CALL("dst", read_dst),
        F_VALUE("size", FIELD_SIZE, struct fabric_flow, bytes, 1, (uint64_t)1 << 50),
        F_VALUE("at", FIELD_TIME, struct fabric_flow, at, 0, 0),
    };
    struct fabric_flow *flow = KEEP_NEW(loader, struct fabric_flow, list->count);
    uint32_t count = 0;

    if (!flow) return;
    for (const struct tree *item = list->first; item; item = item->next) {
        struct fabric_flow *next = &flow[count];
        struct field_set set = {fields, COUNT_OF(fields), next};
        *next = (struct fabric_flow){.src = FABRIC_NONE, .dst = FABRIC_NONE};
        if (!read_map(loader, item, "flow", &set, 1)) continue;
        if (next->src == FABRIC_NONE || next->dst == FABRIC_NONE || !next->bytes) {
            read_error(loader, item->at, "a flow needs src, dst and size, as in {src: h0, dst: h1, size: 1MB}");
            continue;
        }
        check_flow(loader, next, item->at);
        count++;
    }
    job->flow = flow;
    job->flows = count;
}

/* Up to four words of a line, each terminated; the line is changed.  Their starts within it too. */
static int split_line(char *line, char *word[5], uint32_t start[5])
{
    int words = 0;

    for (char *at = line; *at;) {
        at += strspn(at, " \t\r");
        if (!*at || *at == '#') break;
        if (words == 5) return 5;
        word[words] = at;
        start[words++] = (uint32_t)(at - line);
        at += strcspn(at, " \t\r");
        if (*at) *at++ = 0;
    }
    return words;
}

static bool flow_from_words(struct loader *loader, char *word[5], const uint32_t start[5], int words,
                            struct fabric_at at, struct fabric_flow *flow)
{
    const char *why = NULL;
    struct fabric_at where[4];

    for (int w = 0; w < 4; w++)
        where[w] = (struct fabric_at){at.line, at.column + (w < words ? start[w] : 0)};
    if (words < 3 || words > 4) {
        read_error(loader, where[0], "a flow is SRC DST SIZE [AT], as in h0 h1 1MB 10us");
        return false;
    }
    flow->src = endpoint_read(loader, word[0], where[0]);
    flow->dst = endpoint_read(loader, word[1], where[1]);
    if (flow->src == FABRIC_NONE || flow->dst == FABRIC_NONE) return false;
    if (unit_parse(UNIT_SIZE, word[2], &flow->bytes, &why) < 0 || flow->bytes == 0) {
        read_error(loader, where[2], "size '%s': %s", word[2], why ? why : "nothing to send");
        return false;
    }
    if (words == 4 && unit_parse(UNIT_TIME, word[3], &flow->at, &why) < 0) {
        read_error(loader, where[3], "at '%s': %s", word[3], why);
        return false;
    }
    check_flow(loader, flow, where[0]);
    return true;
}

static void flows_from_text(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    char *text = arena_strndup(&loader->scratch, value->text, strlen(value->text));
    uint32_t lines = 1, line = value->at.line, count = 0, before = loader->errors->count;
    char *word[5] = {NULL};
    uint32_t start[5] = {0};

    if (!text) {
        loader->no_memory = true;
        return;
    }
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    struct fabric_flow *flow = KEEP_NEW(loader, struct fabric_flow, lines);
    if (!flow) return;
    for (char *at = text; at; line++) {
        char *next = strchr(at, '\n');
        if (next) *next++ = 0;
        int words = split_line(at, word, start);
        struct fabric_at where = {line, value->at.column};
        flow[count] = (struct fabric_flow){0};
        if (words && flow_from_words(loader, word, start, words, where, &flow[count])) count++;
        at = next;
    }
    job->flow = flow;
    job->flows = count;
    if (count == 0 && loader->errors->count == before) read_error(loader, value->at, "flows: no flow");
}

void flows_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    char found[TREE_FOUND];

    if (value->type == TREE_LIST && value->count == 0)
        read_error(loader, value->at, "flows: no flow");
    else if (value->type == TREE_LIST)
        flows_from_list(loader, value, job);
    else if (value->type == TREE_SCALAR && value->text[0])
        flows_from_text(loader, value, job);
    else
        read_error(loader, value->at, "flows: found %s where a list of {src, dst, size, at} or lines of text are due",
                   tree_found(value, found));
}

/* Flow sizes as published: bytes, and the percentage of flows of at most so many (times 100). */
struct point {
    uint32_t bytes, percent100;
};
static const struct point websearch[] = {{0, 0},          {10000, 1500},   {20000, 2000},    {30000, 3000},
                                         {50000, 4000},   {80000, 5300},   {200000, 6000},   {1000000, 7000},
                                         {2000000, 8000}, {5000000, 9000}, {10000000, 9700}, {30000000, 10000}};
static const struct point hadoop[] = {
    {0, 0},        {100, 100},     {200, 200},     {300, 500},      {350, 1500},     {400, 2000},      {500, 3000},
    {600, 4000},   {700, 5000},    {1000, 6000},   {2000, 6700},    {7000, 7000},    {30000, 7200},    {50000, 8200},
    {80000, 8700}, {120000, 9000}, {300000, 9500}, {1000000, 9750}, {2000000, 9900}, {10000000, 10000}};
static const struct point storage[] = {{0, 0},        {4000, 2293},   {8000, 6921},   {16000, 8061},   {32000, 9047},
                                       {64000, 9353}, {128000, 9677}, {256000, 9753}, {2000000, 10000}};

/* Ascending in both, ending at all flows. */
static void finish_cdf(struct loader *loader, struct fabric_at at, struct fabric_cdf *cdf, uint32_t points,
                       struct fabric_job *job)
{
    for (uint32_t i = 1; i < points; i++) {
        if (cdf[i].bytes >= cdf[i - 1].bytes && cdf[i].ppb >= cdf[i - 1].ppb) continue;
        read_error(loader, at, "sizes: point %u is not above the one before it", i + 1);
        return;
    }
    if (points < 2 || cdf[points - 1].ppb != 1000000000 || cdf[points - 1].bytes == 0) {
        read_error(loader, at, "sizes: at least two points are due, the last at 100%%");
        return;
    }
    job->cdf = cdf;
    job->cdf_points = points;
}

static void sizes_named(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    static const char *const names[] = {"websearch", "hadoop", "storage", NULL};
    static const struct {
        const struct point *point;
        uint32_t points;
    } known[] = {{websearch, COUNT_OF(websearch)}, {hadoop, COUNT_OF(hadoop)}, {storage, COUNT_OF(storage)}};
    uint32_t choice;

    if (!read_choice(loader, value, names, &choice)) return;
    struct fabric_cdf *cdf = KEEP_NEW(loader, struct fabric_cdf, known[choice].points);
    if (!cdf) return;
    for (uint32_t i = 0; i < known[choice].points; i++)
        cdf[i] = (struct fabric_cdf){known[choice].point[i].bytes, known[choice].point[i].percent100 * 100000};
    finish_cdf(loader, value->at, cdf, known[choice].points, job);
}

static void sizes_listed(struct loader *loader, const struct tree *list, struct fabric_job *job)
{
    struct fabric_cdf *cdf = KEEP_NEW(loader, struct fabric_cdf, list->count);
    uint32_t points = 0;

    if (!cdf) return;
    for (const struct tree *item = list->first; item; item = item->next) {
        uint64_t bytes, ppm;
        if (item->type != TREE_LIST || item->count != 2) {
            read_error(loader, item->at, "sizes: a point is [SIZE, SHARE], as in [10KB, 15%%]");
            return;
        }
        if (!read_unit(loader, item->first, UNIT_SIZE, 0, (uint64_t)1 << 50, &bytes) ||
            !read_unit(loader, item->last, UNIT_SHARE, 0, 1000000, &ppm))
            return;
        cdf[points++] = (struct fabric_cdf){bytes, (uint32_t)ppm * 1000};
    }
    finish_cdf(loader, list->at, cdf, points, job);
}

/* `99.9995` percent as parts per billion. */
static bool percent_ppb(const char *text, uint32_t *ret)
{
    char buf[32];
    uint64_t ppm;
    size_t length = strlen(text);
    const char *dot = strchr(text, '.');
    uint64_t whole = 0, part = 0, scale = 10000000;

    if (length == 0 || length >= sizeof(buf)) return false;
    memcpy(buf, text, length + 1);
    if (dot) {
        buf[dot - text] = 0;
        size_t digits = strlen(dot + 1);
        if (digits == 0 || !read_decimal(dot + 1, &part)) return false;
        for (; digits > 7; digits--)
            part /= 10;
        for (size_t d = 0; d < digits; d++)
            scale /= 10;
        part *= scale;
    }
    if (!read_decimal(buf, &whole) || whole > 100) return false;
    ppm = whole * 10000000 + part;
    if (ppm > 1000000000) return false;
    *ret = (uint32_t)ppm;
    return true;
}

/* Lines `BYTES PERCENT`, as the HPCC authors' traffic generator reads them. */
static void sizes_from_file(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    char path[4096];
    const char *name = NULL, *base = loader->fabric->path, *slash = strrchr(base, '/');
    size_t length;
    uint32_t points = 0, line = 0;
    char *word[5];
    uint32_t start[5];

    if (!read_text(loader, value, &name)) return;
    bool beside = name[0] != '/' && slash;
    snprintf(path, sizeof(path), "%.*s%s", beside ? (int)(slash - base + 1) : 0, base, name);
    char *text = file_read(loader, path, value->at, &length);
    if (!text) return;
    struct fabric_cdf *cdf = KEEP_NEW(loader, struct fabric_cdf, length / 4 + 1);
    if (!cdf) return;
    for (char *at = text; at;) {
        char *next = strchr(at, '\n');
        uint64_t bytes;
        if (next) *next++ = 0;
        line++;
        int words = split_line(at, word, start);
        at = next;
        if (words == 0) continue;
        if (words != 2 || !read_decimal(word[0], &bytes) || !percent_ppb(word[1], &cdf[points].ppb)) {
            read_error(loader, value->at, "sizes: line %u of '%s' is not BYTES PERCENT", line, path);
            return;
        }
        cdf[points++].bytes = bytes;
    }
    finish_cdf(loader, value->at, cdf, points, job);
}

void sizes_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    if (value->type == TREE_LIST) {
        sizes_listed(loader, value, job);
    } else if (value->type == TREE_MAP) {
        const struct tree *file = tree_get(value, "file");
        if (file && value->count == 1)
            sizes_from_file(loader, file, job);
        else
            read_error(loader, value->at, "sizes: a map is {file: PATH}");
    } else {
        sizes_named(loader, value, job);
    }
}
