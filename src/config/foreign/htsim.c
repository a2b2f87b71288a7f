/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection matrix of htsim as a fabric file.
 *
 * `Nodes N`, `Connections C`, then lines `src->dst [id k] [start ps] size bytes`; a matrix says nothing
 * of the network, so a fat tree is written where N fits one, else a single switch, to be edited.
 *
 * What a flow list cannot say is named in comments of the output: connections that wait for a trigger
 * (left out: when they would start depends on others), triggers, failures, priorities.
 */
#include "config/foreign/foreign.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "config/foreign/foreign_int.h"
#include "fabric/file/read.h"

#define NODES_MAX 10000000

struct htsim {
    struct arena arena;
    struct fabric_errors *errors;
    struct words words;
    FILE *to;
    uint64_t nodes, connections, seen, written;
    uint32_t notes;
    bool header; /* jobs: is printed */
};

static bool refuse(struct htsim *in, struct fabric_at at, const char *what)
{
    fabric_errors_add(in->errors, at, "%s: found '%s'", what, in->words.word);
    return false;
}

/* A comment for what is not carried over: ahead of the jobs, or between the flows (where # is a comment too). */
static void note(struct htsim *in, uint32_t line, const char *what)
{
    if (++in->notes > 20) return;
    fprintf(in->to, "%s# line %u: %s is not carried over\n", in->header ? "      " : "", line, what);
}

static bool read_count(struct htsim *in, const char *key, uint64_t *ret, uint64_t most)
{
    if (!words_take(&in->words) || strcmp(in->words.word, key) != 0) {
        fabric_errors_add(in->errors, in->words.at, "not a connection matrix: '%s N' is expected", key);
        return false;
    }
    if (!words_number(&in->words, key, ret)) return false;
    return *ret <= most || refuse(in, in->words.at, "too many");
}

static void print_head(struct htsim *in)
{
    uint64_t k = 2;

    while (k * k * k / 4 < in->nodes)
        k += 2;
    fprintf(in->to, "# Imported from an htsim connection matrix, which says nothing of the network:\n"
                    "# topology, links and classes are to be edited.\n"
                    "rocelab: 1\nfabric: htsim\n");
    if (k * k * k / 4 == in->nodes)
        fprintf(in->to, "topology: {fat-tree: {k: %llu}}\n", (unsigned long long)k);
    else
        fprintf(in->to, "topology: {single: {hosts: %llu}}\n", (unsigned long long)in->nodes);
    fprintf(in->to, "links: {host: {rate: 100G, delay: 1us}}\n");
}

struct connection {
    uint64_t src, dst, bytes, start;
    bool waits;
};

/* `3->7`. */
static bool read_pair(struct htsim *in, struct connection *ret)
{
    char *arrow = strstr(in->words.word, "->");

    if (arrow) {
        *arrow = 0;
        bool good = read_decimal(in->words.word, &ret->src) && read_decimal(arrow + 2, &ret->dst);
        *arrow = '-';
        if (good && ret->src < in->nodes && ret->dst < in->nodes && ret->src != ret->dst) return true;
    }
    return refuse(in, in->words.at, "a connection between two nodes, as in 3->7, is expected");
}

static bool read_connection(struct htsim *in, struct connection *ret)
{
    uint32_t line = in->words.at.line;
    uint64_t ignored;
    char key[64];

    if (!read_pair(in, ret)) return false;
    while (words_take_line(&in->words)) {
        memcpy(key, in->words.word, sizeof(key));
        struct fabric_at at = in->words.at;
        if (!words_take_line(&in->words)) return refuse(in, at, "a value is expected after the key");
        if (!read_decimal(in->words.word, &ignored)) return refuse(in, in->words.at, "a number is expected");
        if (strcmp(key, "start") == 0) {
            ret->start = ignored;
        } else if (strcmp(key, "size") == 0) {
            ret->bytes = ignored;
        } else if (strcmp(key, "trigger") == 0) {
            ret->waits = true;
        } else if (strcmp(key, "send_done_trigger") == 0 || strcmp(key, "recv_done_trigger") == 0 ||
                   strcmp(key, "prio") == 0) {
            note(in, line, key);
        } else if (strcmp(key, "id") != 0) {
            memcpy(in->words.word, key, sizeof(key));
            return refuse(in, at, "id, start, size, trigger, send_done_trigger, recv_done_trigger or prio is expected");
        }
    }
    if (ret->bytes || ret->waits) return true;
    return refuse(in, in->words.at, "a connection needs a size");
}

static void print_connection(struct htsim *in, const struct connection *as, uint32_t line)
{
    char size[UNIT_TEXT], at[UNIT_TEXT];

    if (as->waits) {
        note(in, line, "a connection that waits for a trigger");
        return;
    }
    if (!in->header) fprintf(in->to, "jobs:\n  - name: connections\n    flows: |\n");
    in->header = true;
    in->written++;
    fprintf(in->to, "      h%llu h%llu %s", (unsigned long long)as->src, (unsigned long long)as->dst,
            unit_format(UNIT_SIZE, as->bytes, size));
    if (as->start) fprintf(in->to, " %s", unit_format(UNIT_TIME, as->start, at));
    fprintf(in->to, "\n");
}

static bool read_lines(struct htsim *in)
{
    do {
        if (!words_take_line(&in->words)) continue;
        uint32_t line = in->words.at.line;
        if (strcmp(in->words.word, "trigger") == 0 || strcmp(in->words.word, "failure") == 0) {
            note(in, line, in->words.word);
        } else if (in->words.word[0] != '#') {
            struct connection connection = {0};
            if (!read_connection(in, &connection)) return false;
            in->seen++;
            print_connection(in, &connection, line);
        }
    } while (words_skip_line(&in->words));
    if (in->notes > 20) fprintf(in->to, "# and %u more\n", in->notes - 20);
    if (in->seen == in->connections) return true;
    fabric_errors_add(in->errors, in->words.at, "%llu connections are announced, %llu are there",
                      (unsigned long long)in->connections, (unsigned long long)in->seen);
    return false;
}

int fabric_import_htsim(const char *path, const char *text, FILE *to, struct fabric_errors *errors)
{
    struct htsim in = {.errors = errors, .to = to};
    int result = -EINVAL;

    arena_init_or_end(&in.arena, 0);
    text = import_text(path, text, &in.arena, errors);
    if (text) {
        words_init(&in.words, text, errors);
        if (read_count(&in, "Nodes", &in.nodes, NODES_MAX) &&
            read_count(&in, "Connections", &in.connections, strlen(text))) {
            if (in.nodes == 0) {
                refuse(&in, in.words.at, "no nodes");
            } else {
                print_head(&in);
                words_skip_line(&in.words);
                if (read_lines(&in)) result = ferror(to) ? -EIO : 0;
            }
        }
    }
    arena_release(&in.arena);
    return result;
}
