/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HPCC authors' simulator's inputs as a fabric file.
 *
 * Topology: `nodes switches links`, the switches' numbers, then a line a link: `a b 100Gbps 1000ns
 * errors`.  Flows: their number, then a line each: `src dst pg dport bytes start`, in seconds.  A file
 * may hold more lines than its first number says; that simulator reads as many as it says, and so does
 * this.
 *
 * What that simulator computes from the topology is computed here too: for HPCC the longest round trip of
 * the empty network (there: twice the delays plus a 1000-byte payload on each link, in whole nanoseconds,
 * over the path a breadth-first search finds first) and the units of its telemetry, which its authors scale with the
 * hosts' rate from 128 and 80 bytes at 25G; for DCQCN the increase rates, which its authors scale
 * with the hosts' rate from 20 and 200 Mb/s at 100G.
 *
 * Node numbers stay in the names (h7, sw0): addresses and hash seeds of `model: hpcc-ns3` come from
 * them.  Start times are given from the first flow's on.
 */
#include "config/foreign/foreign.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/time.h"
#include "base/units.h"
#include "config/foreign/foreign_int.h"
#include "fabric/errors.h"

#define NODES_MAX 10000000
#define PGS 8

struct hpcc_link {
    uint32_t a, b;
    uint64_t rate_bps, delay_ps, error_ppm;
};
struct hpcc_flow {
    uint32_t src, dst, pg;
    uint64_t bytes;
    ps_t start;
};
struct hpcc {
    struct arena arena;
    struct fabric_errors *errors;
    uint64_t nodes, switches, links, flows;
    uint8_t *is_switch;
    struct hpcc_link *link;
    struct hpcc_flow *flow;
};

static bool refuse(struct hpcc *in, struct fabric_at at, const char *what, const char *found)
{
    fabric_errors_add(in->errors, at, "%s: found '%s'", what, found);
    return false;
}

static bool read_link(struct hpcc *in, struct words *words, struct hpcc_link *link)
{
    uint64_t a, b;

    if (!words_number(words, "a link's first node", &a)) return false;
    if (a >= in->nodes) return refuse(in, words->at, "a node beyond the number of nodes", words->word);
    if (!words_number(words, "a link's second node", &b)) return false;
    if (b >= in->nodes || a == b) return refuse(in, words->at, "not another node", words->word);
    if (!words_take(words) || unit_parse(UNIT_RATE, words->word, &link->rate_bps, NULL) < 0 || !link->rate_bps)
        return refuse(in, words->at, "a rate, as in 100Gbps, is expected", words->word);
    if (!words_take(words) || unit_parse(UNIT_TIME, words->word, &link->delay_ps, NULL) < 0 || !link->delay_ps)
        return refuse(in, words->at, "a delay, as in 1000ns, is expected", words->word);
    if (!words_take(words) || !words_decimal(words->word, 1000000, &link->error_ppm) || link->error_ppm > 1000000)
        return refuse(in, words->at, "an error rate, as in 0.001, is expected", words->word);
    link->a = (uint32_t)a;
    link->b = (uint32_t)b;
    return true;
}

static bool read_topology(struct hpcc *in, const char *text)
{
    struct words words;
    uint64_t number;

    words_init(&words, text, in->errors);
    if (!words_number(&words, "the number of nodes", &in->nodes)) return false;
    if (in->nodes > NODES_MAX) return refuse(in, words.at, "too many nodes", words.word);
    if (!words_number(&words, "the number of switches", &in->switches)) return false;
    if (in->switches > in->nodes) return refuse(in, words.at, "more switches than nodes", words.word);
    if (!words_number(&words, "the number of links", &in->links)) return false;
    if (in->links > strlen(text)) return refuse(in, words.at, "more links than the text has", words.word);
    in->is_switch = ARENA_NEW(&in->arena, uint8_t, in->nodes);
    in->link = ARENA_NEW(&in->arena, struct hpcc_link, in->links);
    for (uint64_t s = 0; s < in->switches; s++) {
        if (!words_number(&words, "a switch", &number)) return false;
        if (number >= in->nodes || in->is_switch[number])
            return refuse(in, words.at, "not a node, or there twice", words.word);
        in->is_switch[number] = 1;
    }
    for (uint64_t l = 0; l < in->links; l++)
        if (!read_link(in, &words, &in->link[l])) return false;
    return true;
}

static bool read_flow(struct hpcc *in, struct words *words, struct hpcc_flow *flow)
{
    uint64_t src, dst, pg, dport;

    if (!words_number(words, "a flow's source", &src)) return false;
    if (src >= in->nodes || in->is_switch[src]) return refuse(in, words->at, "not a host", words->word);
    if (!words_number(words, "a flow's destination", &dst)) return false;
    if (dst >= in->nodes || in->is_switch[dst] || dst == src)
        return refuse(in, words->at, "not another host", words->word);
    if (!words_number(words, "a flow's priority group", &pg)) return false;
    if (pg >= PGS) return refuse(in, words->at, "a priority group above 7", words->word);
    if (!words_number(words, "a flow's port", &dport)) return false;
    if (!words_number(words, "a flow's bytes", &flow->bytes)) return false;
    if (flow->bytes == 0) return refuse(in, words->at, "a flow of nothing", words->word);
    if (!words_take(words) || !words_decimal(words->word, PS_S, &flow->start))
        return refuse(in, words->at, "a start in seconds is expected", words->word);
    flow->src = (uint32_t)src;
    flow->dst = (uint32_t)dst;
    flow->pg = (uint32_t)pg;
    return true;
}

static bool read_flows(struct hpcc *in, const char *text)
{
    struct words words;

    words_init(&words, text, in->errors);
    if (!words_number(&words, "the number of flows", &in->flows)) return false;
    if (in->flows > strlen(text)) return refuse(in, words.at, "more flows than the text has", words.word);
    in->flow = ARENA_NEW(&in->arena, struct hpcc_flow, in->flows);
    for (uint64_t f = 0; f < in->flows; f++)
        if (!read_flow(in, &words, &in->flow[f])) return false;
    return true;
}

static void print_names(const struct hpcc *in, FILE *to, const char *key, const char *prefix, uint8_t is_switch)
{
    uint32_t column = 0;

    fprintf(to, "    %s: [", key);
    for (uint64_t n = 0, printed = 0; n < in->nodes; n++) {
        if (in->is_switch[n] != is_switch) continue;
        if (printed++) fprintf(to, column > 90 ? ",\n      " : ", ");
        if (column > 90) column = 0;
        column += (uint32_t)fprintf(to, "%s%u", prefix, (unsigned)n) + 2;
    }
    fprintf(to, "]\n");
}

static void print_links(const struct hpcc *in, FILE *to)
{
    char rate[UNIT_TEXT], delay[UNIT_TEXT], share[UNIT_TEXT];

    fprintf(to, "    links:\n");
    for (uint64_t l = 0; l < in->links; l++) {
        const struct hpcc_link *link = &in->link[l];
        const char *a = in->is_switch[link->a] ? "sw" : "h", *b = in->is_switch[link->b] ? "sw" : "h";
        unit_format(UNIT_RATE, link->rate_bps, rate);
        unit_format(UNIT_TIME, link->delay_ps, delay);
        if (link->error_ppm)
            fprintf(to, "      - {a: %s%u, b: %s%u, rate: %s, delay: %s, errors: %s}\n", a, link->a, b, link->b, rate,
                    delay, unit_format(UNIT_SHARE, link->error_ppm, share));
        else
            fprintf(to, "      - [%s%u, %s%u, %s, %s]\n", a, link->a, b, link->b, rate, delay);
    }
}

static void print_class(FILE *to, uint32_t pg, bool alone)
{
    char name[16] = "rdma";

    if (!alone) snprintf(name, sizeof(name), "pg%u", pg);
    fprintf(to,
            "  - {name: %s, dscp: %u, priority: %u, lossless: true, ecn: {min: 400KB, max: 1600KB, probability: 20%%, "
            "per: 100G}}\n",
            name, pg * 8 + 2, pg);
}

static void print_jobs(const struct hpcc *in, FILE *to, uint8_t groups)
{
    ps_t first = PS_NEVER;
    char size[UNIT_TEXT], at[UNIT_TEXT];
    bool alone = (groups & (groups - 1)) == 0;

    for (uint64_t f = 0; f < in->flows; f++)
        if (in->flow[f].start < first) first = in->flow[f].start;
    if (in->flows == 0) return;
    fprintf(to, "# Starts count from %s of the original.\njobs:\n", unit_format(UNIT_TIME, first, at));
    for (uint32_t pg = 0; pg < PGS; pg++) {
        if (!(groups >> pg & 1)) continue;
        if (alone)
            fprintf(to, "  - name: flows\n    class: rdma\n    flows: |\n");
        else
            fprintf(to, "  - name: flows-pg%u\n    class: pg%u\n    flows: |\n", pg, pg);
        for (uint64_t f = 0; f < in->flows; f++) {
            const struct hpcc_flow *flow = &in->flow[f];
            if (flow->pg != pg) continue;
            fprintf(to, "      h%u h%u %s", flow->src, flow->dst, unit_format(UNIT_SIZE, flow->bytes, size));
            if (flow->start > first) fprintf(to, " %s", unit_format(UNIT_TIME, flow->start - first, at));
            fprintf(to, "\n");
        }
    }
}

struct walk { /* links of a node, and a search from one host */
    uint32_t *first, *other;
    uint64_t *delay_ns, *send_ns;         /* of a link end */
    uint64_t *far_delay_ns, *far_send_ns; /* of a node */
    uint32_t *queue, *seen;
};

static void walk_init(struct hpcc *in, struct walk *walk)
{
    walk->first = ARENA_NEW(&in->arena, uint32_t, in->nodes + 2);
    walk->other = ARENA_NEW(&in->arena, uint32_t, in->links * 2);
    walk->delay_ns = ARENA_NEW(&in->arena, uint64_t, in->links * 2);
    walk->send_ns = ARENA_NEW(&in->arena, uint64_t, in->links * 2);
    walk->far_delay_ns = ARENA_NEW(&in->arena, uint64_t, in->nodes);
    walk->far_send_ns = ARENA_NEW(&in->arena, uint64_t, in->nodes);
    walk->queue = ARENA_NEW(&in->arena, uint32_t, in->nodes);
    walk->seen = ARENA_NEW(&in->arena, uint32_t, in->nodes);
    for (uint64_t l = 0; l < in->links; l++) {
        walk->first[in->link[l].a + 2]++;
        walk->first[in->link[l].b + 2]++;
    }
    for (uint64_t n = 2; n < in->nodes + 2; n++)
        walk->first[n] += walk->first[n - 1];
    for (uint64_t l = 0; l < in->links; l++) {
        const struct hpcc_link *link = &in->link[l];
        for (int e = 0; e < 2; e++) {
            uint32_t slot = walk->first[(e ? link->b : link->a) + 1]++;
            walk->other[slot] = e ? link->a : link->b;
            walk->delay_ns[slot] = link->delay_ps / PS_NS;
            walk->send_ns[slot] = 8000ull * 1000000000 / link->rate_bps;
        }
    }
}

/* The longest round trip from one host; `mark` is new for each. */
static uint64_t walk_from(const struct hpcc *in, struct walk *walk, uint32_t host, uint32_t mark)
{
    uint64_t longest = 0;
    uint32_t head = 0, tail = 0;

    walk->far_delay_ns[host] = walk->far_send_ns[host] = 0;
    walk->seen[host] = mark;
    walk->queue[tail++] = host;
    while (head < tail) {
        uint32_t node = walk->queue[head++];
        if (node != host && !in->is_switch[node]) {
            uint64_t rtt = 2 * walk->far_delay_ns[node] + walk->far_send_ns[node];
            if (rtt > longest) longest = rtt;
            continue; /* a host forwards nothing */
        }
        for (uint32_t i = walk->first[node]; i < walk->first[node + 1]; i++) {
            uint32_t next = walk->other[i];
            if (walk->seen[next] == mark) continue;
            walk->seen[next] = mark;
            walk->far_delay_ns[next] = walk->far_delay_ns[node] + walk->delay_ns[i];
            walk->far_send_ns[next] = walk->far_send_ns[node] + walk->send_ns[i];
            walk->queue[tail++] = next;
        }
    }
    return longest;
}

static uint64_t longest_rtt_ns(struct hpcc *in)
{
    struct walk walk;
    uint64_t longest = 0;

    walk_init(in, &walk);
    for (uint32_t n = 0; n < in->nodes; n++) {
        uint64_t rtt = in->is_switch[n] ? 0 : walk_from(in, &walk, n, n + 1);
        if (rtt > longest) longest = rtt;
    }
    return longest;
}

static void print_hpcc(struct hpcc *in, uint64_t host_bps, FILE *to)
{
    char text[UNIT_TEXT], more[UNIT_TEXT];
    uint64_t rtt_ns = longest_rtt_ns(in), multiple = host_bps / 25000000000ull;

    fprintf(to, "nics: {mtu: 1000, congestion: {use: hpcc/hpcc-sim");
    if (rtt_ns) fprintf(to, ", hpcc_base_rtt: %s", unit_format(UNIT_TIME, rtt_ns * PS_NS, text));
    if (host_bps && multiple != 4)
        fprintf(to, ", hpcc_tx_unit: %s, hpcc_queue_unit: %s",
                unit_format(UNIT_SIZE, 128 * (multiple ? multiple : 1), text),
                unit_format(UNIT_SIZE, 80 * (multiple ? multiple : 1), more));
    fprintf(to, "}}\n");
}

static void print_congestion(struct hpcc *in, const char *congestion, FILE *to)
{
    char text[UNIT_TEXT], more[UNIT_TEXT];
    uint64_t host_bps = 0;

    for (uint64_t l = 0; l < in->links && !host_bps; l++)
        if (!in->is_switch[in->link[l].a] || !in->is_switch[in->link[l].b]) host_bps = in->link[l].rate_bps;
    if (strcmp(congestion, "hpcc") == 0) {
        print_hpcc(in, host_bps, to);
    } else if (host_bps && host_bps != 100000000000ull) {
        fprintf(to, "nics: {mtu: 1000, congestion: {use: dcqcn/hpcc-sim, rpg_ai_rate: %s, rpg_hai_rate: %s}}\n",
                unit_format(UNIT_RATE, host_bps / 5000, text), unit_format(UNIT_RATE, host_bps / 500, more));
    } else {
        fprintf(to, "nics: {mtu: 1000, congestion: dcqcn/hpcc-sim}\n");
    }
}

static void print_all(struct hpcc *in, const struct fabric_import_hpcc *from, FILE *to)
{
    uint64_t buffer = from->buffer_bytes ? from->buffer_bytes : UINT64_C(32) << 20;
    char text[UNIT_TEXT];
    uint8_t groups = 0;

    for (uint64_t f = 0; f < in->flows; f++)
        groups |= (uint8_t)(1u << in->flow[f].pg);
    if (!groups) groups = 1u << 3;
    fprintf(to, "# Imported from an HPCC ns-3 topology and flow list.\n");
    fprintf(to, "rocelab: 1\nfabric: hpcc\nmodel: hpcc-ns3\ntopology:\n  links:\n");
    print_names(in, to, "hosts", "h", 0);
    print_names(in, to, "switches", "sw", 1);
    print_links(in, to);
    fprintf(to, "switches: {buffer: %s}\nclasses:\n", unit_format(UNIT_SIZE, buffer, text));
    for (uint32_t pg = 0; pg < PGS; pg++)
        if (groups >> pg & 1) print_class(to, pg, (groups & (groups - 1)) == 0);
    print_congestion(in, from->congestion, to);
    print_jobs(in, to, groups);
}

int fabric_import_hpcc(const struct fabric_import_hpcc *from, FILE *to, struct fabric_errors *errors)
{
    struct hpcc in = {.errors = errors};
    const char *text;
    int result = -EINVAL;

    if (strcmp(from->congestion, "dcqcn") != 0 && strcmp(from->congestion, "hpcc") != 0) {
        errors->path = from->topology_path;
        fabric_errors_add(errors, (struct fabric_at){0, 0}, "congestion: '%s' is neither dcqcn nor hpcc",
                          from->congestion);
        return -EINVAL;
    }
    arena_init_or_end(&in.arena, 0);
    if ((text = import_text(from->topology_path, from->topology, &in.arena, errors)) != NULL &&
        read_topology(&in, text) && (text = import_text(from->flows_path, from->flows, &in.arena, errors)) != NULL &&
        read_flows(&in, text)) {
        print_all(&in, from, to);
        result = ferror(to) ? -EIO : 0;
    }
    arena_release(&in.arena);
    return result;
}
