/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows written out, and distributions of flow sizes.
 *
 * A long list is text, a line a flow (`h0 h5:1 4MB 10us`): a hundred thousand of them take a
 * moment, where a hundred thousand maps would take a tree of a million values.  It may be a file of its own, which is
 * what `up --record` writes, and may be run in copies, each some hosts further on.
 */
#include "jobs/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/file/override.h"
#include "fabric/routing.h"

#define FLOWS_MAX (1u << 28)

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

/* What it waits for is before it, and ends at a host where it begins: it can only begin there. */
static bool check_after(struct loader *loader, const struct fabric_flow *flow, uint32_t index, struct fabric_at at)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t after = flow[index].after;

    if (after == FABRIC_NONE) return true;
    if (after >= index) {
        read_error(loader, at, "after %u: this is flow %u, counted from 0; it can wait for one before it", after,
                   index);
        return false;
    }
    uint32_t host = fabric->endpoint[flow[index].src].host;
    if (fabric->endpoint[flow[after].src].host == host || fabric->endpoint[flow[after].dst].host == host) return true;
    read_error(loader, at, "after %u: that flow neither begins nor ends at the host where this one begins", after);
    return false;
}

static void flows_from_list(struct loader *loader, const struct tree *list, struct fabric_job *job)
{
    static const struct field fields[] = {
        F_CALL("src", read_src),
        F_CALL("dst", read_dst),
        F_VALUE("size", FIELD_SIZE, struct fabric_flow, bytes, 1, (uint64_t)1 << 50),
        F_VALUE("at", FIELD_TIME, struct fabric_flow, at, 0, 0),
        F_VALUE("qp", FIELD_COUNT, struct fabric_flow, qp, 0, FLOWS_MAX),
        F_VALUE("after", FIELD_COUNT, struct fabric_flow, after, 0, FLOWS_MAX),
    };
    struct fabric_flow *flow = KEEP_NEW(loader, struct fabric_flow, list->count);
    uint32_t count = 0;

    if (!flow) return;
    for (const struct tree *item = list->first; item; item = item->next) {
        struct fabric_flow *next = &flow[count];
        struct field_set set = {fields, COUNT_OF(fields), next};
        *next = (struct fabric_flow){.src = FABRIC_NONE, .dst = FABRIC_NONE, .qp = FABRIC_NONE, .after = FABRIC_NONE};
        if (!read_map(loader, item, "flow", &set, 1)) continue;
        if (next->src == FABRIC_NONE || next->dst == FABRIC_NONE || !next->bytes) {
            read_error(loader, item->at, "a flow needs src, dst and size, as in {src: h0, dst: h1, size: 1MB}");
            continue;
        }
        check_flow(loader, next, item->at);
        if (check_after(loader, flow, count, item->at)) count++;
    }
    job->flow = flow;
    job->flows = count;
}

#define WORDS 9 /* one more than a line may have */

/* Up to eight words of a line, each terminated; the line is changed.  Their starts within it too. */
static int split_line(char *line, char *word[WORDS], uint32_t start[WORDS])
{
    int words = 0;

    for (char *at = line; *at;) {
        at += strspn(at, " \t\r");
        if (!*at || *at == '#') break;
        if (words == WORDS) return WORDS;
        word[words] = at;
        start[words++] = (uint32_t)(at - line);
        at += strcspn(at, " \t\r");
        if (*at) *at++ = 0;
    }
    return words;
}

/* `qp N` and `after N`, behind the rest. */
static bool read_tail(struct loader *loader, char *word[WORDS], int words, int first, struct fabric_at at,
                      struct fabric_flow *flow)
{
    for (int w = first; w + 1 < words; w += 2) {
        bool qp = strcmp(word[w], "qp") == 0;
        uint64_t number;
        if ((!qp && strcmp(word[w], "after") != 0) || !read_decimal(word[w + 1], &number) || number >= FLOWS_MAX) {
            read_error(loader, at, "'%s %s': behind a flow stand 'qp NUMBER' and 'after NUMBER'", word[w], word[w + 1]);
            return false;
        }
        *(qp ? &flow->qp : &flow->after) = (uint32_t)number;
    }
    return true;
}

static bool flow_from_words(struct loader *loader, char *word[WORDS], const uint32_t start[WORDS], int words,
                            struct fabric_at at, struct fabric_flow *flow)
{
    const char *why = NULL;
    struct fabric_at where[4];
    int tail = words > 3 && strcmp(word[3], "qp") != 0 && strcmp(word[3], "after") != 0 ? 4 : 3;

    for (int w = 0; w < 4; w++)
        where[w] = (struct fabric_at){at.line, at.column + (w < words ? start[w] : 0)};
    if (words < 3 || words == WORDS || (words - tail) % 2) {
        read_error(loader, where[0], "a flow is SRC DST SIZE [AT] [qp N] [after N], as in h0 h1 1MB 10us");
        return false;
    }
    flow->src = endpoint_read(loader, word[0], where[0]);
    flow->dst = endpoint_read(loader, word[1], where[1]);
    if (flow->src == FABRIC_NONE || flow->dst == FABRIC_NONE) return false;
    if (unit_parse(UNIT_SIZE, word[2], &flow->bytes, &why) < 0 || flow->bytes == 0) {
        read_error(loader, where[2], "size '%s': %s", word[2], why ? why : "nothing to send");
        return false;
    }
    if (tail == 4 && unit_parse(UNIT_TIME, word[3], &flow->at, &why) < 0) {
        read_error(loader, where[3], "at '%s': %s", word[3], why);
        return false;
    }
    check_flow(loader, flow, where[0]);
    return read_tail(loader, word, words, tail, where[0], flow);
}

/* `at`: of the first line, or (beside) of all of them. */
static void flows_from_lines(struct loader *loader, char *text, struct fabric_at at, bool beside,
                             struct fabric_job *job)
{
    uint32_t lines = 1, count = 0, before = loader->errors->count;
    char *word[WORDS] = {NULL};
    uint32_t start[WORDS] = {0};

    for (const char *line = text; (line = strchr(line, '\n')) != NULL; line++)
        lines++;
    struct fabric_flow *flow = KEEP_NEW(loader, struct fabric_flow, lines);
    if (!flow) return;
    for (char *line = text; line;) {
        char *next = strchr(line, '\n');
        if (next) *next++ = 0;
        int words = split_line(line, word, start);
        flow[count] = (struct fabric_flow){.qp = FABRIC_NONE, .after = FABRIC_NONE};
        if (words && flow_from_words(loader, word, start, words, at, &flow[count]) &&
            check_after(loader, flow, count, at))
            count++;
        else if (words && beside)
            return; /* one is enough: all have the same place */
        if (!beside) at.line++;
        line = next;
    }
    job->flow = flow;
    job->flows = count;
    if (count == 0 && loader->errors->count == before) read_error(loader, at, "flows: no flow");
}

static void flows_from_text(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    char *text = arena_strndup(&loader->scratch, value->text, strlen(value->text));

    if (!text)
        loader->no_memory = true;
    else
        flows_from_lines(loader, text, value->at, false, job);
}

struct flows_file {
    const char *file;
    uint32_t copies, shift;
};

static bool shift_endpoint(struct loader *loader, uint32_t *endpoint, uint64_t by, struct fabric_at at)
{
    const struct fabric *fabric = loader->fabric;
    uint64_t host = fabric->endpoint[*endpoint].host + by;
    uint32_t index = fabric->endpoint[*endpoint].index;

    if (host < fabric->hosts && fabric->first_endpoint[host] + index < fabric->first_endpoint[host + 1]) {
        *endpoint = fabric->first_endpoint[host] + index;
        return true;
    }
    read_error(loader, at, "flows: a copy needs NIC %u of host number %llu; the fabric has %u hosts", index,
               (unsigned long long)host, fabric->hosts);
    return false;
}

/* The same again on other hosts: copy k of all flows is k times `shift` hosts further on. */
static void copy_flows(struct loader *loader, const struct flows_file *from, struct fabric_at at,
                       struct fabric_job *job)
{
    uint64_t all = (uint64_t)job->flows * from->copies;
    struct fabric_flow *flow = all < FLOWS_MAX ? KEEP_NEW(loader, struct fabric_flow, all) : NULL;

    if (all >= FLOWS_MAX) read_error(loader, at, "flows: more than %u of them", FLOWS_MAX);
    for (uint64_t i = 0; flow && i < all; i++) {
        uint64_t copy = i / job->flows;
        flow[i] = job->flow[i % job->flows];
        if (flow[i].after != FABRIC_NONE) flow[i].after += (uint32_t)(copy * job->flows);
        if (!shift_endpoint(loader, &flow[i].src, copy * from->shift, at) ||
            !shift_endpoint(loader, &flow[i].dst, copy * from->shift, at))
            return;
        check_flow(loader, &flow[i], at);
    }
    if (flow == NULL) return;
    job->flow = flow;
    job->flows = (uint32_t)all;
}

static void flows_from_file(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    static const struct field fields[] = {
        F_VALUE("file", FIELD_TEXT, struct flows_file, file, 0, 0),
        F_VALUE("copies", FIELD_COUNT, struct flows_file, copies, 1, 1000000),
        F_VALUE("shift", FIELD_COUNT, struct flows_file, shift, 1, 1000000),
    };
    struct flows_file from = {.copies = 1, .shift = 1};
    struct field_set set = {fields, COUNT_OF(fields), &from};
    const char *base = loader->fabric->path, *slash = strrchr(base, '/');
    char path[4096];
    size_t length;

    if (!read_map(loader, value, "flows", &set, 1)) return;
    if (!from.file) {
        read_error(loader, value->at, "flows: a map is {file: PATH, copies: N, shift: N}");
        return;
    }
    bool beside = from.file[0] != '/' && slash;
    snprintf(path, sizeof path, "%.*s%s", beside ? (int)(slash - base + 1) : 0, base, from.file);
    char *text = file_read_lines(loader, path, value->at, &length);
    if (text) flows_from_lines(loader, text, value->at, true, job);
    if (job->flows && from.copies > 1) copy_flows(loader, &from, value->at, job);
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
    else if (value->type == TREE_MAP)
        flows_from_file(loader, value, job);
    else
        read_error(loader, value->at,
                   "flows: found %s where a list of {src, dst, size, at} or lines of text are expected",
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
        read_error(loader, at, "sizes: at least two points are expected, the last at 100%%");
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
    char *word[WORDS];
    uint32_t start[WORDS];

    if (!read_text(loader, value, &name)) return;
    bool beside = name[0] != '/' && slash;
    snprintf(path, sizeof(path), "%.*s%s", beside ? (int)(slash - base + 1) : 0, base, name);
    char *text = file_read_lines(loader, path, value->at, &length);
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
