/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right files made wrong at random: the loader answers, with errors that have a place in the file, and
 * what it still accepts keeps its invariants.  The sanitizers watch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/rng.h"
#include "config/foreign/foreign.h"
#include "load/load.h"
#include "support.h"

static const char *const seeds[] = {
    "rocelab: 1\nfabric: pod\ntopology: {rail: {hosts: 4, gpus: 2, leaves: 2, spines: 2}}\n"
    "links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\nswitches: {model: tomahawk5}\n"
    "classes:\n  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: "
    "10%},"
    " share: 90%}\n  - {name: cnp, dscp: 48, priority: 6, strict: true}\n  - {name: default, priority: 0, share: 10%}\n"
    "nics: {mtu: 4096, congestion: dcqcn/connectx}\njobs:\n  - {allreduce: ring, size: 256MB}\n"
    "  - {incast: 3, size: 1MB, at: 1ms, repeat: 10}\n",
    "rocelab: 1\ntopology:\n  links:\n    hosts: [a, b]\n    switches: 2\n    links:\n      - [a, sw0:3, 100G, 3m]\n"
    "      - [b, sw1, 25G, 1us]\n      - {a: sw0, b: sw1, count: 2, rate: 400G}\nswitches: {ecmp: {weighted: true, "
    "hash: "
    "[src, dst]}}\ndevices:\n  sw0:\n    trust: pcp\n    pfc: {rx: [3], tx: false}\n    ports:\n      \"3\": {mtu: "
    "9000, up: "
    "true}\n      0-1: {classes: {rdma: {lossless: false, alpha: 1/4}}}\njobs:\n  - flows: |\n      a b 1MB 3us\n      "
    "b a "
    "2KB\n  - {poisson: {sizes: [[1KB, 50%], [1MB, 100%]], load: 50%, until: 1ms}}\nfaults:\n  - {down: sw0:3, at: "
    "1ms}\n"
    "  - {corrupt: a, share: 1%}\n",
    "rocelab: 1\nmodel: hpcc-ns3\ntopology: {fat-tree: {k: 4}}\nlinks: {host: {rate: 100G, delay: 1us}}\n"
    "roles: {leaf: {buffer: 16MB, watchdog: {poll: 1ms, action: drop}}, host: {ack: {every: 1}, receive: {rate: "
    "50G}}}\n"
    "nics: {congestion: {use: hpcc/paper, eta: 95%}, timeout: 14}\nstop: 1ms\nseed: 42\n",
};

static const char *const pieces[] = {
    "{", "}",  "[",   "]",    ":",    ": ",          ",",  "\n",    "\n  ",  "- ",   "\"",    "'",    "&a",  "*a",
    "|", ">",  "#",   "!!",   "---",  "\t",          "0",  "-1",    "%",     "G",    "KB",    "true", "1/0", "1e9",
    "?", "<<", "...", "\xff", "\xc3", "99999999999", "h0", "leaf0", "sw0:9", "ring", "1000G", " "};

/* One to six changes: a piece put in, a run left out, a byte changed, two spans exchanged. */
static char *mutate(struct rng *rng, const char *from)
{
    size_t length = strlen(from), room = length + 256;
    char *text = calloc(room, 1);

    assert_non_null(text);
    memcpy(text, from, length);
    for (uint64_t changes = 1 + rng_below(rng, 6); changes > 0; changes--) {
        size_t at = (size_t)rng_below(rng, length + 1);
        const char *piece = pieces[rng_below(rng, sizeof(pieces) / sizeof(pieces[0]))];
        size_t size = strlen(piece), cut = (size_t)rng_below(rng, 12);
        switch (rng_below(rng, 4)) {
        case 0:
        case 1:
            if (length + size + 1 > room) break;
            memmove(text + at + size, text + at, length - at);
            memcpy(text + at, piece, size);
            length += size;
            break;
        case 2:
            if (cut > length - at) cut = length - at;
            memmove(text + at, text + at + cut, length - at - cut);
            length -= cut;
            break;
        default:
            if (at < length) text[at] = (char)(1 + rng_below(rng, 255));
        }
        text[length] = 0;
    }
    return text;
}

static void test_mutations(void **state)
{
    struct rng rng;
    uint64_t loaded = 0, refused = 0;

    (void)state;
    rng_init(&rng, test_seed(), 1);
    for (uint64_t step = 0; step < 12000; step++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        char *text = mutate(&rng, seeds[step % (sizeof(seeds) / sizeof(seeds[0]))]);
        int result = fabric_load("m.yaml", text, &fabric, &errors);
        if (result == 0) {
            EXPECT(errors.count == 0, step);
            check_arrays(fabric, step);
            loaded++;
        } else {
            EXPECT(result == -EINVAL && errors.count > 0, step);
            for (uint32_t i = 0; i < errors.count; i++)
                EXPECT(errors.error[i].at.line > 0 && errors.error[i].at.column > 0 && errors.error[i].text[0], step);
            refused++;
        }
        fabric_free(fabric);
        free(text);
    }
    assert_true(loaded > 100 && refused > 1000);
}

/* Every beginning of a right file. */
static void test_cut_short(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
        for (size_t length = 0; length <= strlen(seeds[s]); length++) {
            struct fabric_errors errors = {0};
            struct fabric *fabric = NULL;
            char *text = strndup(seeds[s], length);
            int result = fabric_load("m.yaml", text, &fabric, &errors);
            EXPECT(result == 0 ? errors.count == 0 : errors.count > 0, length);
            fabric_free(fabric);
            free(text);
        }
    }
}

static void test_imports(void **state)
{
    static const char topology[] = "5 2 4\n3 4\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 0.001ms 0.0\n2 4 100Gbps 1us 0.01\n"
                                   "3 4 400Gbps 2us 0\n";
    static const char flows[] = "2\n0 2 3 100 1000000 2.000000000\n1 2 3 100 2500 2.0000015\n";
    static const char matrix[] =
        "Nodes 16\nConnections 2\n0->15 id 1 start 0 size 2000\n3->4 size 5 prio 1\ntrigger id 1\n";
    struct rng rng;
    FILE *to = fopen("/dev/null", "w");

    (void)state;
    assert_non_null(to);
    rng_init(&rng, test_seed(), 2);
    for (uint64_t step = 0; step < 6000; step++) {
        struct fabric_errors errors = {0};
        char *a = mutate(&rng, topology), *b = mutate(&rng, flows), *c = mutate(&rng, matrix);
        struct fabric_import_hpcc from = {.topology_path = "t",
                                          .flows_path = "f",
                                          .topology = step & 1 ? a : topology,
                                          .flows = step & 1 ? flows : b,
                                          .congestion = "hpcc"};
        EXPECT((fabric_import_hpcc(&from, to, &errors) == 0) == (errors.count == 0), step);
        errors = (struct fabric_errors){0};
        EXPECT((fabric_import_htsim("m", c, to, &errors) == 0) == (errors.count == 0), step);
        free(a);
        free(b);
        free(c);
    }
    fclose(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_imports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
