/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong files, each with the exact sentence and place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include <errno.h>

#include "fabric/fabric.h"
#include "load/load.h"

#define FIRST "rocelab: 1\n"
#define LINKS "links: {host: {rate: 100G, cable: 3m}}\n"
#define GOOD FIRST "topology: {single: {hosts: 4}}\n" LINKS
#define TEN(x) x x x x x x x x x x
#define DEEP FIRST "jobs: " TEN("[[[[") TEN("]]]]") "\n"

static const struct {
    const char *name, *text, *expected;
} wrong[] = {
    {"not YAML", FIRST "topology: {single: {hosts: 4}\nlinks: [\n",
     "f.yaml:3:1: error: not YAML: missing comma in flow mapping\n"},
    {"tab", FIRST "topology:\n\t- x\n", "f.yaml:3:1: error: not YAML: tab character may not be used as indentation\n"},
    {"bad quote", FIRST "fabric: \"abc\n",
     "f.yaml:2:10: error: not YAML: double-quoted scalar without closing quote\n"},
    {"nothing", "", "f.yaml:1:1: error: the first line of a fabric file must be 'rocelab: 1'\n"},
    {"a list", "- rocelab: 1\n", "f.yaml:1:1: error: the first line of a fabric file must be 'rocelab: 1'\n"},
    {"version not first", "fabric: x\nrocelab: 1\ntopology: {single: {hosts: 4}}\n" LINKS,
     "f.yaml:1:1: error: the first line of a fabric file must be 'rocelab: 1'\n"},
    {"other version", "rocelab: 2\ntopology: {single: {hosts: 4}}\n" LINKS,
     "f.yaml:1:10: error: rocelab: version 2 of the format; this program reads version 1\n"},
    {"version not a number", "rocelab: one\ntopology: {single: {hosts: 4}}\n" LINKS,
     "f.yaml:1:10: error: rocelab 'one': no number in front: write a count as in 64\n"},
    {"unknown key", GOOD "swiches: {model: tomahawk5}\n",
     "f.yaml:4:1: error: unknown key 'swiches' in a fabric file; did you mean 'switches'?\n"},
    {"the topology mistyped", FIRST LINKS "topolgy: {single: {hosts: 2}}\n",
     "f.yaml:3:1: error: unknown key 'topolgy' in a fabric file; did you mean 'topology'?\n"},
    {"unknown key, nothing near", GOOD "zzzzzzzzzz: 1\n",
     "f.yaml:4:1: error: unknown key 'zzzzzzzzzz' in a fabric file; known are rocelab, fabric, model, system, vls, "
     "sl-to-vl, vl-arbitration, credits, fecn, sm, seed, stop, converge, topology, links, switches, classes, nics, "
     "roles, ...\n"},
    {"key twice", GOOD "seed: 1\nseed: 2\n", "f.yaml:5:1: error: 'seed' is given twice, first in line 4\n"},
    {"alias", FIRST "topology: &a {single: {hosts: 4}}\nlinks: *a\n",
     "f.yaml:2:14: error: an anchor (&): anchors and aliases are not read, write the value out\n"},
    {"alias of nothing", FIRST "topology: {single: {hosts: 4}}\nlinks: *a\n",
     "f.yaml:3:9: error: an alias: anchors and aliases are not read, write the value out\n"},
    {"no value", FIRST "topology: {single: {hosts: }}\n" LINKS,
     "f.yaml:2:21: error: hosts: found nothing where a number is expected\n"},
    {"a long key", GOOD TEN("zzzzz") ": 1\n",
     "f.yaml:4:1: error: unknown key 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...' in a fabric file; known are "
     "rocelab, fabric, model, system, vls, sl-to-vl, vl-arbitration, credits, fecn, sm, seed, stop, converge, "
     "topology, links, switches, classes, nics, roles, ...\n"},
    {"only wrong flows", GOOD "jobs:\n  - flows: |\n      h0 h1\n",
     "f.yaml:6:7: error: a flow is SRC DST SIZE [AT] [qp N] [after N], as in h0 h1 1MB 10us\n"},
    {"cell", GOOD "switches: {cell: 40KB, buffer: 1GB}\n",
     "f.yaml:4:18: error: cell: 40KB is too large, the most is 32KiB\n"},
    {"cells beyond counting", GOOD "switches: {cell: 1B, buffer: 4GB}\n",
     "f.yaml:4:11: error: 'leaf0': a buffer of 4GB has 2^31 cells of 1B or more; write a larger cell, as in cell: "
     "256B\n"},
    {"alpha", GOOD "switches: {classes: {rdma: {alpha: 2048}}}\n",
     "f.yaml:4:36: error: alpha: 2048 is too large, write less than 2048\n"},
    {"ecn without max", GOOD "switches: {classes: {default: {ecn: {min: 1KB}}}}\n",
     "f.yaml:4:37: error: ecn: no max; write the curve, as in {min: 500KB, max: 1500KB, probability: 10%}\n"},
    {"queue pairs", GOOD "jobs: [{allreduce: ring, size: 1MB, qps: 65}]\n",
     "f.yaml:4:42: error: qps: 65 is too large, the most is 64\n"},
    {"slow to nothing", GOOD "faults: [{slow: h0, share: 0%}]\n",
     "f.yaml:4:28: error: slow: a share of 0 is a line that is down: write {down: h0}\n"},
    {"a GPU's cable", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 1G}, gpu: {cable: 1m}}\n",
     "f.yaml:3:33: error: unknown key 'cable' in links.gpu; known are rate, delay, launch, nvls, use, efficiency\n"},
    {"a GPU's zero rate", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 1G}, gpu: {rate: 0}}\n",
     "f.yaml:3:39: error: rate: 0 is too small, the least is 1M\n"},
    {"a listed link's rate of almost nothing",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw0, 1bps]]}}\n" LINKS,
     "f.yaml:2:72: error: rate: 1bps is too small, the least is 1K\n"},
    {"a listed link's rate of too much",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw0, 101T]]}}\n" LINKS,
     "f.yaml:2:72: error: rate: 101T is too large, the most is 100T\n"},
    {"a listed link's cable of too much",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw0, 200000km]]}}\n" LINKS,
     "f.yaml:2:72: error: cable: 200000km is too large, the most is 100000km\n"},
    {"a listed link's delay of too much",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw0, 2s]]}}\n" LINKS,
     "f.yaml:2:72: error: delay: 2s is too large, the most is 1s\n"},
    {"a listed link's cable of nothing",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw0, 0m]]}}\n" LINKS,
     "f.yaml:2:72: error: cable: 0m is too small, the least is 1mm\n"},
    {"second document", GOOD "---\nrocelab: 1\n",
     "f.yaml:4:1: error: a second document: a fabric file is one document\n"},
    {"key that is a list", FIRST "[a, b]: 1\n", "f.yaml:2:1: error: a list or map as a key: a key is a word\n"},
    {"zero byte", FIRST "fabric: \"a\\0b\"\n", "f.yaml:2:9: error: a zero byte in a text\n"},
    {"not UTF-8", FIRST "fabric: x\xff\n", "f.yaml:2:10: error: not a text file: a byte that is not UTF-8\n"},
    {"overlong", FIRST "fabric: \xc0\x80\n", "f.yaml:2:9: error: not a text file: a byte that is not UTF-8\n"},
    {"surrogate", FIRST "fabric: \xed\xa0\x80\n", "f.yaml:2:9: error: not a text file: a byte that is not UTF-8\n"},
    {"control", FIRST "fabric: \x01\n", "f.yaml:2:9: error: not a text file: a control character\n"},
    {"an end of line in a name", FIRST "fabric: \"f\\nbanner\"\n",
     "f.yaml:2:9: error: fabric: a control character (U+000A, the end of a line) in a text: a text is one line without "
     "any\n"},
    {"a name of two lines", FIRST "fabric: |\n  f\n  banner\n",
     "f.yaml:3:3: error: fabric: a control character (U+000A, the end of a line) in a text: a text is one line without "
     "any\n"},
    {"an escape sequence in a name", GOOD "jobs: [{name: \"\\e]0;x\\a\", incast: 1, size: 1MB}]\n",
     "f.yaml:4:15: error: name: a control character (U+001B) in a text: a text is one line without any\n"},
    {"C1 in a key", GOOD "classes: {\"a\\x9bb\": {dscp: 26}}\n",
     "f.yaml:4:11: error: a control character (U+009B) in a text: a text is one line without any\n"},
    {"a separator of lines in a list", GOOD "switches: [\"a\\u2028b\"]\n",
     "f.yaml:4:12: error: switches: a control character (U+2028) in a text: a text is one line without any\n"},
    {"an end of line at the top", "\"rocelab\\n\"\n",
     "f.yaml:1:1: error: a control character (U+000A, the end of a line) in a text: a text is one line without any\n"},
    {"directive", "%YAML 1.2\n---\n" GOOD, "f.yaml:1:1: error: a YAML directive (%): not read here\n"},
    {"directive that is not UTF-8", "%\xbb\n", "f.yaml:1:1: error: a YAML directive (%): not read here\n"},
    {"deep", DEEP, "f.yaml:2:38: error: nested too deeply\n"},
    {"no topology", FIRST LINKS, "f.yaml:1:1: error: no topology; write one, as in topology: {single: {hosts: 16}}\n"},
    {"two topologies", FIRST "topology: {single: {hosts: 4}, rail: {hosts: 4}}\n" LINKS,
     "f.yaml:2:32: error: topology: exactly one of single, dumbbell, leaf-spine, rail, fat-tree, links is expected\n"},
    {"topology is a word", FIRST "topology: single\n" LINKS,
     "f.yaml:2:11: error: topology: found 'single' where a map {key: value, ...} is expected\n"},
    {"unknown topology", FIRST "topology: {leafspine: {hosts: 4}}\n" LINKS,
     "f.yaml:2:12: error: unknown key 'leafspine' in topology; did you mean 'leaf-spine'?\n"},
    {"topology nothing near", FIRST "topology: {dragonfly: {hosts: 4}}\n" LINKS,
     "f.yaml:2:12: error: unknown key 'dragonfly' in topology; known are single, dumbbell, leaf-spine, rail, fat-tree, "
     "links\n"},
    {"no hosts", FIRST "topology: {single: {}}\n" LINKS,
     "f.yaml:2:20: error: topology.single needs hosts, as in {hosts: 16}\n"},
    {"zero hosts", FIRST "topology: {single: {hosts: 0}}\n" LINKS,
     "f.yaml:2:28: error: hosts: 0 is too small, the least is 1\n"},
    {"a billion hosts", FIRST "topology: {single: {hosts: 1000000000}}\n" LINKS,
     "f.yaml:2:12: error: topology: 1000000000 hosts, 1 switches and 1000000000 links need about 292GB of memory; the "
     "limit is 2.15GB\n"},
    {"beyond counting", FIRST "topology: {leaf-spine: {leaves: 1000G, spines: 1000G, hosts: 1000G}}\n" LINKS,
     "f.yaml:2:12: error: topology: more nodes or links than can be counted; the limit is 2.15GB of memory\n"},
    {"hosts as a word", FIRST "topology: {single: {hosts: many}}\n" LINKS,
     "f.yaml:2:28: error: hosts 'many': no number in front: write a count as in 64\n"},
    {"hosts negative", FIRST "topology: {single: {hosts: -4}}\n" LINKS,
     "f.yaml:2:28: error: hosts '-4': a negative count: write one of 0 or more, as in 64\n"},
    {"odd k", FIRST "topology: {fat-tree: {k: 5}}\n" LINKS,
     "f.yaml:2:26: error: k: 5 is odd; half of a switch's ports go up, half down\n"},
    {"no k", FIRST "topology: {fat-tree: {hosts: 5}}\n" LINKS,
     "f.yaml:2:22: error: topology.fat-tree needs k, the number of ports of a switch, as in {k: 8}\n"},
    {"uneven uplinks", FIRST "topology: {leaf-spine: {leaves: 2, spines: 4, hosts: 8, uplinks: 6}}\n" LINKS,
     "f.yaml:2:24: error: topology.leaf-spine: 6 uplinks a leaf do not spread evenly over 4 spines\n"},
    {"uneven oversubscription",
     FIRST "topology: {leaf-spine: {leaves: 2, spines: 4, hosts: 18, oversubscription: 3:1}}\n" LINKS,
     "f.yaml:2:76: error: oversubscription: it takes 6 uplinks a leaf, and 4 spines share them evenly; "
     "4 would be 9/2:1, 8 would be 9/4:1\n"},
    {"an oversubscription that is no whole number of links",
     FIRST "topology: {leaf-spine: {leaves: 2, hosts: 16, oversubscription: 5:1}}\n" LINKS,
     "f.yaml:2:65: error: oversubscription: it takes 16/5 uplinks a leaf; 3 would be 16/3:1, 4 would be 4:1\n"},
    {"an oversubscription below one link",
     FIRST "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4, oversubscription: 8:1}}\n" LINKS,
     "f.yaml:2:75: error: oversubscription: it takes 1/2 uplinks a leaf, and 2 spines share them evenly; 2 would be "
     "2:1\n"},
    {"an oversubscription of more uplinks than ports",
     FIRST "topology: {leaf-spine: {leaves: 2, spines: 4, hosts: 9999999, oversubscription: 2:1}}\n" LINKS,
     "f.yaml:2:81: error: topology.leaf-spine: it takes 4999999 uplinks a leaf, and a node has 65534 ports at most\n"},
    {"an oversubscription of no spines",
     FIRST "topology: {rail: {hosts: 4, gpus: 8, spines: 0, oversubscription: 1}}\n" LINKS,
     "f.yaml:2:67: error: topology.rail: oversubscription is of uplinks, and there are no spines\n"},
    {"links that there are none of",
     FIRST "topology: {single: {hosts: 4}}\n"
           "links: {host: {rate: 1G}, core: {rate: 1G}, site: {rate: 1G}, storage: {rate: 1G}}\n",
     "f.yaml:3:27: error: links.core: this topology has no cores\n"
     "f.yaml:3:45: error: links.site: there is one site; write sites: 2\n"
     "f.yaml:3:63: error: links.storage: there is no storage network in topology\n"},
    {"the way of a fault that has none", GOOD "faults: [{down: h0, way: in}]\n",
     "f.yaml:4:21: error: way means nothing to down\n"},
    {"no way", GOOD "faults: [{drop: h0, every: 2, way: up}]\n",
     "f.yaml:4:36: error: way: unknown 'up'; write one of both, in, out\n"},
    {"senders and ranks", GOOD "jobs: [{poisson: {sizes: websearch, load: 10%, until: 1ms, from: [h0]}, ranks: 3}]\n",
     "f.yaml:4:73: error: ranks: from and to of poisson say who takes part\n"},
    {"a receiver that sends",
     GOOD "jobs: [{poisson: {sizes: websearch, load: 10%, until: 1ms, from: [h0, h1], to: [h1]}}]\n",
     "f.yaml:4:18: error: poisson: the only receiver is among the senders, and would send to itself\n"},
    {"slow software", GOOD "nics: {software: {post: 1s}}\n",
     "f.yaml:4:25: error: post: 1s is too large, the most is 1ms\n"},
    {"two thresholds", GOOD "switches: {classes: {rdma: {xoff: 1MB, alpha: 1/4}}}\n",
     "f.yaml:4:29: error: class 'rdma': give alpha or xoff, not both\n"},
    {"a share of a strict class at a layer", GOOD "switches: {classes: {cnp: {share: 10%}}}\n",
     "f.yaml:4:35: error: class 'cnp' is strict: a share means nothing to it\n"},
    {"adaptive too soon", GOOD "nics: {adaptive-retransmission: {start: 1us}}\n",
     "f.yaml:4:41: error: start: 1us is too small, the least is 4us\n"},
    {"reorder against recovery", GOOD "nics: {reorder: true, recovery: go-back-n}\n",
     "f.yaml:4:33: error: recovery: with reorder it is selective; leave it out, or write selective\n"},
    {"queue pairs of an incast", GOOD "jobs: [{incast: 2, size: 1KB, qps: 2}]\n",
     "f.yaml:4:31: error: qps means nothing to incast: each of its flows has a queue pair of its own\n"},
    {"a gap alone", GOOD "jobs: [{incast: 2, size: 1KB, gap: 1ms}]\n",
     "f.yaml:4:31: error: gap is between repetitions; write repeat, as in repeat: 10\n"},
    {"the rate of no link",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0:0], [h1, sw0:2]]}}\n" LINKS
           "devices: {sw0: {ports: {1: {rate: 10G}}}}\n",
     "f.yaml:4:28: error: port 1 of 'sw0' has no cable: rate, cable, delay, errors and llr are of a link\n"},
    {"both", FIRST "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 8, uplinks: 4, oversubscription: 2}}\n" LINKS,
     "f.yaml:2:87: error: topology.leaf-spine: give oversubscription or uplinks, not both\n"},
    {"no spines", FIRST "topology: {leaf-spine: {leaves: 2, hosts: 8}}\n" LINKS,
     "f.yaml:2:24: error: topology.leaf-spine needs spines (or oversubscription)\n"},
    {"rail leaves", FIRST "topology: {rail: {hosts: 4, gpus: 8, leaves: 6, spines: 2}}\n" LINKS,
     "f.yaml:2:18: error: topology.rail: 6 leaves for 8 rails: one must be a multiple of the other\n"},
    {"rail groups", FIRST "topology: {rail: {hosts: 2, gpus: 2, leaves: 8, spines: 2}}\n" LINKS,
     "f.yaml:2:18: error: topology.rail: 4 groups of leaves for 2 hosts\n"},
    {"rail ways", FIRST "topology: {rail: {hosts: 4, gpus: 8, ways: 3, spines: 2}}\n" LINKS,
     "f.yaml:2:44: error: ways: 8 NICs of a host do not divide into 3\n"},
    {"rail leaves of ways", FIRST "topology: {rail: {hosts: 4, gpus: 8, ways: 4, leaves: 6, spines: 2}}\n" LINKS,
     "f.yaml:2:18: error: topology.rail: 6 leaves for 4 rails: one must be a multiple of the other\n"},
    {"planes are no spines", FIRST "topology: {rail: {hosts: 4, gpus: 8, planes: 2}}\n" LINKS,
     "f.yaml:2:18: error: topology.rail needs spines (or oversubscription)\n"},
    {"site without sites", FIRST "topology: {rail: {hosts: 4, gpus: 8, spines: 2, distance: 10km}}\n" LINKS,
     "f.yaml:2:49: error: topology.rail: 'distance' is between sites; write sites: 2\n"},
    {"sites without spines", FIRST "topology: {rail: {hosts: 4, gpus: 8, spines: 0, sites: 2, distance: 10km}}\n" LINKS,
     "f.yaml:2:18: error: topology.rail: sites are joined by their spines, and there are none\n"},
    {"sites anywhere", FIRST "topology: {rail: {hosts: 4, gpus: 8, spines: 2, sites: 2}}\n" LINKS,
     "f.yaml:2:18: error: topology.rail: sites need a distance, as in {sites: 2, distance: 10km}\n"},
    {"sites twice as far",
     FIRST "topology: {rail: {hosts: 4, gpus: 8, spines: 2, sites: 2, distance: 10km}}\n"
           "links: {host: {rate: 100G}, site: {delay: 1ms}}\n",
     "f.yaml:2:59: error: give distance, or cable or delay of links.site, not both\n"},
    {"sites' links",
     FIRST "topology: {leaf-spine: {hosts: 4, leaves: 2, spines: 2, sites: 2, distance: 10km, site-links: 3}}\n" LINKS,
     "f.yaml:2:95: error: site-links: 3 do not spread evenly over 2 spines\n"},
    {"storage alone", FIRST "topology: {storage: {hosts: 4}}\n" LINKS,
     "f.yaml:2:11: error: topology: exactly one of single, dumbbell, leaf-spine, rail, fat-tree, links is expected\n"},
    {"storage of links",
     FIRST "topology: {links: {hosts: 1, switches: 1, links: [[h0, sw0]]}, storage: {hosts: 4}}\n" LINKS,
     "f.yaml:2:64: error: storage: with links written out, write those of storage too\n"},
    {"storage spines", FIRST "topology: {single: {hosts: 4}, storage: {hosts: 4, leaves: 2}}\n" LINKS,
     "f.yaml:2:41: error: topology.storage needs spines (or oversubscription)\n"},
    {"NVLink", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 1G}, gpu: h10}\n",
     "f.yaml:3:32: error: links.gpu: unknown 'h10'; did you mean 'h100'?\n"},
    {"PCIe", GOOD "nics: {pcie: agp}\n",
     "f.yaml:4:14: error: pcie: unknown 'agp'; known are gen3-x16, gen4-x8, gen4-x16, gen5-x8, gen5-x16\n"},
    {"PCIe reads", GOOD "nics: {pcie: {reads: 0, read-tim: 1us}}\n",
     "f.yaml:4:22: error: reads: 0 is too small, the least is 1\n"
     "f.yaml:4:25: error: unknown key 'read-tim' in pcie; did you mean 'read-time'?\n"},
    {"dumbbell half", FIRST "topology: {dumbbell: {left: 4}}\n" LINKS,
     "f.yaml:2:22: error: topology.dumbbell needs hosts (on each side), or left and right, as in {left: 4, right: "
     "1}\n"},
    {"port count", FIRST "topology: {single: {hosts: 300}}\n" LINKS "switches: {model: tomahawk5}\n",
     "f.yaml:4:19: error: 'leaf0' has 300 ports cabled; a tomahawk5 has 256 at most\n"},
    {"capacity", FIRST "topology: {single: {hosts: 65}}\nlinks: {host: {rate: 800G}}\nswitches: {model: tomahawk5}\n",
     "f.yaml:4:19: error: 'leaf0' has ports for 52T cabled; a tomahawk5 switches 51.2T (64 x 800G)\n"},
    {"port numbers end", FIRST "topology: {single: {hosts: 70000}}\n" LINKS,
     "f.yaml:2:12: error: topology: 'leaf0' would have 70000 ports; a node has 65534 at most\n"},
    {"no rate", FIRST "topology: {single: {hosts: 4}}\n",
     "f.yaml:2:12: error: links: no rate; write it, as in links: {host: {rate: 400G, cable: 3m}}\n"},
    {"zero rate", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 0}}\n",
     "f.yaml:3:22: error: rate: 0 is too small, the least is 1K\n"},
    {"rate without unit", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 400}}\n",
     "f.yaml:3:22: error: rate '400': a bare number: write a unit, as in 400G\n"},
    {"size for a rate", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 400GB}}\n",
     "f.yaml:3:22: error: rate '400GB': GB is not a rate: use K, M, G or T (bits a second), as in 400G\n"},
    {"cable without unit", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 400G, cable: 3}}\n",
     "f.yaml:3:35: error: cable '3': a bare number: write a unit, as in 30m\n"},
    {"cable and delay", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 400G, cable: 3m, delay: 1us}}\n",
     "f.yaml:3:15: error: give cable or delay, not both: a metre is 5 ns\n"},
    {"link kind", FIRST "topology: {single: {hosts: 4}}\nlinks: {hosts: {rate: 400G}}\n",
     "f.yaml:3:9: error: unknown key 'hosts' in links; did you mean 'host'?\n"},
    {"link value a list", FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: [400G]}}\n",
     "f.yaml:3:22: error: rate: found a list where a rate, as in 400G, is expected\n"},
    {"explicit without hosts", FIRST "topology: {links: {switches: 1, links: []}}\n",
     "f.yaml:2:19: error: topology.links needs hosts and links, as in {hosts: 2, switches: 1, links: [[h0, sw0], [h1, "
     "sw0]]}\n"},
    {"explicit unknown node", FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw1]]}}\n" LINKS,
     "f.yaml:2:67: error: no node is named 'sw1'; did you mean 'sw0'?\n"},
    {"explicit unknown, far",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, router]]}}\n" LINKS,
     "f.yaml:2:67: error: no node is named 'router'; name it under hosts, leaves, spines, cores or switches\n"},
    {"explicit itself", FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [sw0, sw0]]}}\n" LINKS,
     "f.yaml:2:62: error: a link from 'sw0' to itself\n"},
    {"explicit port twice",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, \"sw0:3\"], [h1, \"sw0:3\"]]}}\n" LINKS,
     "f.yaml:2:66: error: port sw0:3 is used twice, first by the link in line 2\n"},
    {"explicit names twice",
     FIRST "topology: {links: {hosts: [a, b, a], switches: 1, links: [[a, sw0], [b, sw0]]}}\n" LINKS,
     "f.yaml:2:34: error: two nodes are named 'a'\n"},
    {"explicit bad name", FIRST "topology: {links: {hosts: [\"a b\", b], switches: 1, links: [[b, sw0]]}}\n" LINKS,
     "f.yaml:2:28: error: 'a b' is not a name: letters, digits, - _ and . only, 64 at most, and neither - nor . "
     "first\n"},
    {"explicit dots", FIRST "topology: {links: {hosts: [\"..\", b], switches: 1, links: [[b, sw0]]}}\n" LINKS,
     "f.yaml:2:28: error: '..' is not a name: letters, digits, - _ and . only, 64 at most, and neither - nor . "
     "first\n"},
    {"explicit port word", FIRST "topology: {links: {hosts: 1, switches: 1, links: [[h0, \"sw0:x\"]]}}\n" LINKS,
     "f.yaml:2:56: error: 'sw0:x': a port is a number from 0 to 4095, as in leaf0:3\n"},
    {"explicit no rate", FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h1, sw0, 100G]]}}\n",
     "f.yaml:2:51: error: this link has no rate: write it here or under links.host\n"},
    {"explicit extra",
     FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0, 100], [h1, sw0, 0G]]}}\n" LINKS,
     "f.yaml:2:61: error: link: '100' is neither a rate (400G) nor a cable (3m) nor a delay (1us)\n"
     "f.yaml:2:77: error: rate: 0G is too small, the least is 1K\n"},
    {"explicit shape", FIRST "topology: {links: {hosts: 2, switches: 1, links: [[h0], h1]}}\n" LINKS,
     "f.yaml:2:51: error: a link is [a, b] or [a, b, rate, cable], as in [h0, leaf0:3, 400G, 3m]\n"
     "f.yaml:2:57: error: a link is [a, b] or [a, b, rate, cable], as in [h0, leaf0:3, 400G, 3m]\n"},
    {"explicit host gap", FIRST "topology: {links: {hosts: 1, switches: 1, links: [[\"h0:1\", sw0]]}}\n" LINKS,
     "f.yaml:2:12: error: topology: port h0:0 of a host is not cabled\n"},
    {"explicit nothing cabled", FIRST "topology: {links: {hosts: 1, switches: 2, links: [[sw0, sw1]]}}\n" LINKS,
     "f.yaml:2:12: error: topology: no host is cabled\n"},
    {"explicit count and port",
     FIRST "topology: {links: {hosts: 1, switches: 1, links: [{a: h0, b: \"sw0:1\", count: 2}]}}\n" LINKS,
     "f.yaml:2:51: error: count: several links cannot share one port; leave the port numbers out\n"},
    {"model unknown", GOOD "switches: {model: tomahwk5}\n",
     "f.yaml:4:19: error: unknown switch model 'tomahwk5'; did you mean 'tomahawk5'?\n"},
    {"product unknown", GOOD "switches: {model: SN5601}\n",
     "f.yaml:4:19: error: unknown switch model 'SN5601'; did you mean 'SN5600'?\n"},
    {"system of a wire", GOOD "system: ethernet\n",
     "f.yaml:4:9: error: system: unknown 'ethernet'; write one of rocev2, rocev1, infiniband, uet, tcp, iwarp\n"},
    {"model far", GOOD "switches: {model: catalyst}\n",
     "f.yaml:4:19: error: unknown switch model 'catalyst'; generic, with buffer and cell, can stand for any\n"},
    {"buffer without unit", GOOD "switches: {buffer: 32}\n",
     "f.yaml:4:20: error: buffer '32': a bare number: write a unit, as in 1500KB\n"},
    {"headroom does not fit",
     FIRST "topology: {single: {hosts: 64}}\nlinks: {host: {rate: 800G, cable: 2km}}\nswitches: {model: tomahawk5}\n",
     "f.yaml:4:19: error: 'leaf0': reserve and headroom of its 64 ports need 434MB of a buffer of 165.9MB, in cells "
     "of 254B; share it: "
     "switches: {headroom-pool: SIZE}, of 6.772MB or more (one port's)\n"},
    {"pool does not fit",
     FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 800G, cable: 2km}}\nswitches: {buffer: 1MB, "
           "headroom-pool: 2MB}\n",
     "f.yaml:4:11: error: 'leaf0': reserve and headroom of its 4 ports need 2.037MB of a buffer of 1MB, in cells of "
     "1B; give the pool "
     "less\n"},
    {"mark word", GOOD "switches: {mark: enque}\n",
     "f.yaml:4:18: error: mark: unknown 'enque'; did you mean 'enqueue'?\n"},
    {"watchdog action", GOOD "switches: {watchdog: {action: reset}}\n",
     "f.yaml:4:31: error: action: unknown 'reset'; write one of forward, drop, shutdown\n"},
    {"trust word", GOOD "switches: {trust: vlan}\n",
     "f.yaml:4:19: error: trust: unknown 'vlan'; write one of dscp, pcp\n"},
    {"hash word", GOOD "switches: {ecmp: {hash: [src, dport]}}\n",
     "f.yaml:4:31: error: hash: unknown 'dport'; did you mean 'sport'?\n"},
    {"map key", GOOD "switches: {dscp-map: {64: 3}}\n",
     "f.yaml:4:23: error: dscp-map: '64' is not a number from 0 to 63\n"},
    {"map value", GOOD "switches: {dscp-map: {26: 8}}\n", "f.yaml:4:27: error: 26: 8 is too large, the most is 7\n"},
    {"pfc priority", GOOD "switches: {pfc: [8]}\n", "f.yaml:4:18: error: pfc: 8 is too large, the most is 7\n"},
    {"frame size", GOOD "switches: {mtu: 100}\n", "f.yaml:4:17: error: mtu: 100 is too small, the least is 576\n"},
    {"mtu zero", GOOD "nics: {mtu: 0}\n", "f.yaml:4:13: error: mtu: 0 is too small, the least is 64\n"},
    {"mtu huge", GOOD "nics: {mtu: 1MB}\n", "f.yaml:4:13: error: mtu: 1MB is too large, the most is 16KiB\n"},
    {"mtu word", GOOD "nics: {mtu: jumbo}\n",
     "f.yaml:4:13: error: mtu 'jumbo': no number in front: write a size as in 1500KB\n"},
    {"congestion form", GOOD "nics: {congestion: dcqcn/}\n",
     "f.yaml:4:20: error: congestion: 'dcqcn/' is not ALGORITHM or ALGORITHM/PRESET, as in dcqcn/connectx\n"},
    {"congestion list", GOOD "nics: {congestion: [dcqcn]}\n",
     "f.yaml:4:20: error: congestion: found a list where a map {key: value, ...} is expected\n"},
    {"recovery word", GOOD "nics: {recovery: go-back-m}\n",
     "f.yaml:4:18: error: recovery: unknown 'go-back-m'; did you mean 'go-back-n'?\n"},
    {"receive thresholds", GOOD "nics: {receive: {buffer: 1MB, xoff: 2MB}}\n",
     "f.yaml:4:17: error: receive: xon <= xoff <= buffer does not hold\n"},
    {"bool word", GOOD "switches: {cut-through: maybe}\n",
     "f.yaml:4:25: error: cut-through: 'maybe' is neither true nor false\n"},
    {"lossless without priority", GOOD "classes:\n  - {name: rdma, dscp: 26, lossless: true}\n",
     "f.yaml:5:5: error: class 'rdma' is lossless and has no priority: PFC pauses a priority; write one, as in "
     "priority: 3\n"},
    {"class without priority", GOOD "classes:\n  - {name: bulk, dscp: 26}\n",
     "f.yaml:5:5: error: class 'bulk' has no priority; write one, 0 to 7\n"},
    {"class without name", GOOD "classes:\n  - {dscp: 26, priority: 3}\n", "f.yaml:5:5: error: a class needs a name\n"},
    {"two classes with one DSCP",
     GOOD "classes:\n  - {name: a, dscp: [26, 27], priority: 3}\n  - {name: b, dscp: 27, priority: 4}\n",
     "f.yaml:6:21: error: DSCP 27 is of class 'a' already\n"},
    {"two classes with one priority",
     GOOD "classes:\n  - {name: a, dscp: 26, priority: 3}\n  - {name: b, dscp: 27, priority: 3}\n",
     "f.yaml:6:35: error: priority 3 is of class 'a' already\n"},
    {"two classes with one name",
     GOOD "classes:\n  - {name: a, dscp: 26, priority: 3}\n  - {name: a, dscp: 27, priority: 4}\n",
     "f.yaml:6:5: error: two classes are named 'a', the first in line 5\n"},
    {"shares", GOOD "classes:\n  - {name: a, priority: 3, share: 60%}\n  - {name: b, priority: 4, share: 50%}\n",
     "f.yaml:5:3: error: the shares of the classes add up to 110%\n"},
    {"strict share", GOOD "classes:\n  - {name: a, priority: 3, share: 60%, strict: true}\n",
     "f.yaml:5:35: error: class 'a' is strict: a share means nothing to it\n"},
    {"dscp range", GOOD "classes:\n  - {name: a, dscp: 64, priority: 3}\n",
     "f.yaml:5:21: error: dscp: 64 is too large, the most is 63\n"},
    {"priority range", GOOD "classes:\n  - {name: a, priority: 8}\n",
     "f.yaml:5:25: error: priority: 8 is too large, the most is 7\n"},
    {"ecn order", GOOD "classes:\n  - {name: a, priority: 3, ecn: {min: 2MB, max: 1MB}}\n",
     "f.yaml:5:33: error: ecn: min 2MB is above max 1MB\n"},
    {"ecn true", GOOD "classes:\n  - {name: a, priority: 3, ecn: true}\n",
     "f.yaml:5:33: error: ecn: write the curve, as in {min: 500KB, max: 1500KB, probability: 10%}\n"},
    {"ecn key", GOOD "classes:\n  - {name: a, priority: 3, ecn: {kmin: 1MB}}\n",
     "f.yaml:5:34: error: unknown key 'kmin' in ecn; did you mean 'min'?\n"},
    {"alpha", GOOD "classes:\n  - {name: a, priority: 3, alpha: 1/0}\n",
     "f.yaml:5:35: error: alpha: '1/0' is not a positive fraction, as in 1/8, 0.5 or 2\n"},
    {"nine classes", GOOD "classes: [{}, {}, {}, {}, {}, {}, {}, {}, {}]\n",
     "f.yaml:4:10: error: classes: 9 of them; from 1 to 8 can be\n"},
    {"trimming of RoCE", GOOD "classes: [{name: a, priority: 3, trim: {dscp: 40}}]\n",
     "f.yaml:4:34: error: 'trim' belongs to Ultra Ethernet; RoCEv2 has packets that are never trimmed\n"},
    {"class of another system", GOOD "classes: [{name: a, priority: 3, system: iwarp}]\n",
     "f.yaml:4:42: error: a class of 'iwarp' in a fabric of 'rocev2': only 'tcp' beside rocev2 or rocev1 can be\n"},
    {"RDMA in a class beside TCP", GOOD "system: tcp\nclasses: [{name: a, priority: 3, system: rocev2}]\n",
     "f.yaml:5:42: error: a class of 'rocev2' in a fabric of 'tcp': only 'tcp' beside rocev2 or rocev1 can be\n"},
    {"lossless TCP", GOOD "classes: [{name: a, priority: 3, lossless: true, system: tcp}]\n",
     "f.yaml:4:34: error: 'lossless' needs pauses or credits, and TCP has neither\n"},
    {"class layer name", GOOD "switches: {classes: {rmda: {lossless: false}}}\n",
     "f.yaml:4:22: error: no class is named 'rmda'; did you mean 'rdma'?\n"},
    {"class layer share", GOOD "roles: {leaf: {classes: {default: {share: 20%}}}}\n",
     "f.yaml:4:15: error: the shares of the classes add up to 110%\n"},
    {"role word", GOOD "roles: {leef: {mtu: 9216}}\n",
     "f.yaml:4:9: error: roles: unknown 'leef'; did you mean 'leaf'?\n"},
    {"device name", GOOD "devices: {laef0: {mtu: 9216}}\n",
     "f.yaml:4:11: error: no device is named 'laef0'; did you mean 'leaf0'?\n"},
    {"device key", GOOD "devices: {leaf0: {modle: generic}}\n",
     "f.yaml:4:19: error: unknown key 'modle' in leaf0; did you mean 'model'?\n"},
    {"device port", GOOD "devices: {leaf0: {ports: {\"4\": {mtu: 9216}}}}\n",
     "f.yaml:4:27: error: 'leaf0' has no port 4; its ports are 0 to 3\n"},
    {"device port word", GOOD "devices: {leaf0: {ports: {uplink: {mtu: 9216}}}}\n",
     "f.yaml:4:27: error: ports: 'uplink' is neither a port (3) nor a range (0-7)\n"},
    {"host as a switch", GOOD "devices: {h0: {buffer: 1MB}}\n",
     "f.yaml:4:16: error: unknown key 'buffer' in h0; known are mtu, congestion, ack, timeout, retry, rnr-retry, "
     "rnr-timer, recovery, reorder, max-read, window, window-packets, latency, receive, pcie, software, ...\n"},
    {"model word", GOOD "model: hpcc\n", "f.yaml:4:8: error: model: unknown 'hpcc'; did you mean 'hpcc-ns3'?\n"},
    {"two topologies, one of them unknown",
     FIRST "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}, rial: {hosts: 4}}\n" LINKS,
     "f.yaml:2:58: error: unknown key 'rial' in topology; did you mean 'rail'?\n"},
    {"stop", GOOD "stop: 10\n", "f.yaml:4:7: error: stop '10': a bare number: write a unit, as in 2us\n"},
    {"job kind", GOOD "jobs:\n  - {allreduc: ring, size: 1MB}\n",
     "f.yaml:5:6: error: unknown job 'allreduc'; did you mean 'allreduce'?\n"},
    {"job without kind", GOOD "jobs:\n  - {size: 1MB}\n",
     "f.yaml:5:5: error: a job says what it is, as in {allreduce: ring, size: 1MB}: allreduce, reducescatter, "
     "allgather, broadcast, reduce, alltoall, gather, sendrecv, training, inference, trace, flows, permutation, "
     "incast, all-to-all, random or poisson\n"},
    {"job of two kinds", GOOD "jobs:\n  - {incast: 2, random: 3, size: 1MB}\n",
     "f.yaml:5:17: error: a job is of one kind: 'incast' or 'random'\n"},
    {"job size", GOOD "jobs:\n  - {incast: 2}\n",
     "f.yaml:5:5: error: incast needs a size, as in {incast: ..., size: 1MB}\n"},
    {"job size unit", GOOD "jobs:\n  - {incast: 2, size: 1000}\n",
     "f.yaml:5:23: error: size '1000': a bare number: write a unit, as in 1500KB\n"},
    {"job key", GOOD "jobs:\n  - {incast: 2, size: 1MB, repat: 2}\n",
     "f.yaml:5:28: error: unknown key 'repat' in incast; did you mean 'repeat'?\n"},
    {"incast too wide", GOOD "jobs:\n  - {incast: 4, size: 1MB}\n",
     "f.yaml:5:14: error: incast: 4 senders, but there are 3 other endpoints\n"},
    {"incast to nobody", GOOD "jobs:\n  - {incast: 2, size: 1MB, to: h4}\n",
     "f.yaml:5:32: error: no host is named 'h4'; hosts are 'h0' to 'h3'\n"},
    {"incast to a switch", GOOD "jobs:\n  - {incast: 2, size: 1MB, to: leaf0}\n",
     "f.yaml:5:32: error: 'leaf0' is a switch; a host or a NIC port, as in h0 or h0:2, is expected\n"},
    {"incast to a port", GOOD "jobs:\n  - {incast: 2, size: 1MB, to: \"h0:1\"}\n",
     "f.yaml:5:32: error: 'h0:1': host 'h0' has NIC ports 0 to 0\n"},
    {"a host without a cable",
     FIRST "topology: {links: {hosts: 3, switches: 1, links: [[h0, sw0], [h1, sw0]]}}\n" LINKS
           "jobs:\n  - {incast: 1, size: 1MB, to: h2}\n",
     "f.yaml:5:32: error: 'h2': host 'h2' is not cabled\n"},
    {"ranks beyond", GOOD "jobs:\n  - {allreduce: ring, size: 1MB, ranks: 5}\n",
     "f.yaml:5:41: error: ranks: 5 is too large, the most is 4\n"},
    {"ranks twice", GOOD "jobs:\n  - {allreduce: ring, size: 1MB, ranks: [h0, h1, h0]}\n",
     "f.yaml:5:50: error: ranks: 'h0' is there twice\n"},
    {"one rank", GOOD "jobs:\n  - {allreduce: ring, size: 1MB, ranks: 1}\n",
     "f.yaml:5:17: error: allreduce: 1 GPU is not enough, two are expected\n"},
    {"algorithm", GOOD "jobs:\n  - {allreduce: rnig, size: 1MB}\n",
     "f.yaml:5:17: error: allreduce: unknown algorithm 'rnig'; did you mean 'ring'? There are auto, ring, tree, nvls, "
     "nvls-tree, hierarchical\n"},
    {"algorithm of nothing", GOOD "jobs:\n  - {reduce: butterfly, size: 1MB}\n",
     "f.yaml:5:14: error: reduce: unknown algorithm 'butterfly'; write one of auto, ring, tree\n"},
    {"algorithm of another", GOOD "jobs:\n  - {broadcast: nvls, size: 1MB}\n",
     "f.yaml:5:17: error: broadcast is not done by 'nvls'; write one of auto, ring, tree\n"},
    {"algorithm of pairs", GOOD "jobs:\n  - {alltoall: ring, size: 1MB}\n",
     "f.yaml:5:16: error: alltoall is not done by 'ring'; write one of auto\n"},
    {"protocol", GOOD "jobs:\n  - {allreduce: ring, size: 1MB, protocol: ll64}\n",
     "f.yaml:5:44: error: protocol: unknown 'll64'; did you mean 'll'?\n"},
    {"protocol of nvls",
     FIRST "topology: {single: {hosts: 2, gpus: 4}}\n" LINKS
           "jobs:\n  - {allreduce: nvls-tree, size: 1MB, protocol: ll}\n",
     "f.yaml:5:49: error: allreduce: nvls-tree has the protocol simple only\n"},
    {"nvls between hosts", GOOD "jobs:\n  - {allreduce: nvls, size: 1MB}\n",
     "f.yaml:5:17: error: allreduce: nvls reduces within one host and the ranks are in 4; nvls-tree goes between\n"},
    {"nvls-tree within",
     FIRST "topology: {single: {hosts: 2, gpus: 4}}\n" LINKS
           "jobs:\n  - {allreduce: nvls-tree, size: 1MB, ranks: [h1]}\n",
     "f.yaml:5:17: error: allreduce: nvls-tree goes between hosts and all ranks are in one; there it is nvls\n"},
    {"hosts unlike",
     FIRST "topology: {single: {hosts: 3, gpus: 4}}\n" LINKS
           "jobs:\n  - {allreduce: hierarchical, size: 1MB, ranks: 10}\n",
     "f.yaml:5:17: error: allreduce: hierarchical needs as many ranks in each host; h0 has 4, h2 has 2\n"},
    {"a rank without a NIC",
     FIRST "topology: {links: {hosts: 3, gpus: 2, switches: 1, links: [[h0, sw0], [h1, sw0]]}}\n" LINKS
           "jobs:\n  - {allreduce: ring, size: 1MB}\n",
     "f.yaml:5:17: error: allreduce: rank 4 is GPU h2:0, whose host has no NIC\n"},
#include "wrong_jobs.def"
    {"several",
     FIRST "topology: {single: {host: 4}}\nlinks: {host: {rate: 400}}\nswitches: {buffer: 1}\nnics: {mtu: 0}\njobs:\n  "
           "- {incast: 2}\n",
     "f.yaml:2:21: error: unknown key 'host' in topology.single; did you mean 'hosts'?\n"
     "f.yaml:3:22: error: rate '400': a bare number: write a unit, as in 400G\n"
     "f.yaml:4:20: error: buffer '1': a bare number: write a unit, as in 1500KB\n"
     "f.yaml:5:13: error: mtu: 0 is too small, the least is 64\n"
     "f.yaml:7:5: error: incast needs a size, as in {incast: ..., size: 1MB}\n"},
    {"every stage in one round",
     FIRST "fabrik: pod\n"
           "topology: {rail: {hosts: 64, gpus: 8, leafs: 8}}\n"
           "links: {host: {rate: 400}}\n"
           "classes: [{name: rdma, lossless: true}]\n"
           "roles: {leaf: {buffr: 1MB}}\n"
           "jobs: [{allreduce: rng, size: 64MB}, {incast: 8, size: 1M}]\n"
           "faults: [{corrupt: nobody, share: 2}]\n",
     "f.yaml:2:1: error: unknown key 'fabrik' in a fabric file; did you mean 'fabric'?\n"
     "f.yaml:3:18: error: topology.rail needs spines (or oversubscription)\n"
     "f.yaml:3:39: error: unknown key 'leafs' in topology.rail; did you mean 'leaves'?\n"
     "f.yaml:4:22: error: rate '400': a bare number: write a unit, as in 400G\n"
     "f.yaml:5:11: error: class 'rdma' is lossless and has no priority: PFC pauses a priority; write one, as in "
     "priority: 3\n"
     "f.yaml:6:16: error: unknown key 'buffr' in role; did you mean 'buffer'?\n"
     "f.yaml:7:20: error: allreduce: unknown algorithm 'rng'; did you mean 'ring'? There are auto, ring, tree, nvls, "
     "nvls-tree, hierarchical\n"
     "f.yaml:7:56: error: size '1M': M is not a size: use B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB "
     "(of 1024), as in 1500KB\n"
     "f.yaml:8:35: error: share '2': a bare number: write a unit, as in 10%\n"},
    {"what follows from an error is not told",
     FIRST "topology: {leaf-spine: {leaves: 2, hosts: 4, spines: 3, oversubscription: 2}}\n"
           "links: {host: {rate: 400}}\n"
           "classes: [{name: rdma, priority: 9}]\n"
           "switches: {classes: {rdma: {alpha: 1}}}\n"
           "converge: {detect: 1}\n"
           "jobs: [{incast: 8, size: 1, name: a}, {incast: 8, size: 1MB, after: a, to: h9, class: rdma}]\n"
           "faults: [{withdraw: spine7}]\n",
     "f.yaml:3:22: error: rate '400': a bare number: write a unit, as in 400G\n"
     "f.yaml:4:34: error: priority: 9 is too large, the most is 7\n"
     "f.yaml:6:20: error: detect '1': a bare number: write a unit, as in 2us\n"
     "f.yaml:7:26: error: size '1': a bare number: write a unit, as in 1500KB\n"},
    {"names are known though a rate is not",
     FIRST "topology: {single: {hosts: 4}}\nlinks: {host: {rate: 400}}\ndevices: {leaf1: {buffer: 1MB}}\n"
           "jobs: [{incast: 8, size: 1MB, to: h9}]\nfaults: [{down: h9}]\n",
     "f.yaml:3:22: error: rate '400': a bare number: write a unit, as in 400G\n"
     "f.yaml:4:11: error: no device is named 'leaf1'; did you mean 'leaf0'?\n"
     "f.yaml:5:35: error: no host is named 'h9'; hosts are 'h0' to 'h3'\n"
     "f.yaml:6:17: error: down: nothing is named 'h9'; did you mean 'h0'?\n"},
};

static char *errors_text(const struct fabric_errors *errors)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    fabric_errors_print(errors, to);
    fclose(to);
    return text;
}

static void test_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = (void *)&errors; /* to see that it stays as it was */

        assert_int_equal(fabric_load("f.yaml", wrong[i].text, &fabric, &errors), -EINVAL);
        assert_ptr_equal(fabric, &errors);
        char *text = errors_text(&errors);
        if (strcmp(text, wrong[i].expected) != 0)
            fail_msg("%s:\n%sbut due is\n%s", wrong[i].name, text, wrong[i].expected);
        free(text);
    }
}

static void test_twenty_at_most(void **state)
{
    static const char head[] = GOOD "jobs:\n", job[] = "  - {incast: 2, size: 1}\n";
    struct fabric_errors errors = {0};
    struct fabric *fabric;
    char text[sizeof(head) + 30 * sizeof(job)];
    size_t used = sizeof(head) - 1;

    (void)state;
    memcpy(text, head, sizeof(head));
    for (int i = 0; i < 25; i++) {
        memcpy(text + used, job, sizeof(job));
        used += sizeof(job) - 1;
    }
    assert_int_equal(fabric_load("f.yaml", text, &fabric, &errors), -EINVAL);
    assert_int_equal(errors.count, FABRIC_ERRORS_MAX);
    assert_int_equal(errors.more, 5);
    char *said = errors_text(&errors);
    assert_non_null(strstr(said, "f.yaml: and 5 more\n"));
    free(said);
}

static void test_sorted_and_once(void **state)
{
    struct fabric_errors errors = {0};

    (void)state;
    fabric_errors_add(&errors, (struct fabric_at){3, 1}, "c");
    fabric_errors_add(&errors, (struct fabric_at){1, 9}, "b");
    fabric_errors_add(&errors, (struct fabric_at){1, 2}, "a");
    fabric_errors_add(&errors, (struct fabric_at){1, 9}, "b");
    fabric_errors_add(&errors, (struct fabric_at){1, 9}, "line\nfeed");
    char *text = errors_text(&errors);
    assert_string_equal(text, "-:1:2: error: a\n-:1:9: error: b\n-:1:9: error: line?feed\n-:3:1: error: c\n");
    free(text);
}

static void test_no_file(void **state)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric;

    (void)state;
    assert_int_equal(fabric_load("/nonexistent/f.yaml", NULL, &fabric, &errors), -ENOENT);
    char *text = errors_text(&errors);
    assert_string_equal(text, "/nonexistent/f.yaml: error: cannot open '/nonexistent/f.yaml': No such file or "
                              "directory\n");
    free(text);
}

/* A file over the limit is refused by what it says, not by what it takes: this test would not end otherwise. */
static void test_refused_before_memory(void **state)
{
    static const char *const text[] = {
        FIRST "topology: {single: {hosts: 1G}}\n" LINKS,
        FIRST "topology: {rail: {hosts: 1G, gpus: 8, spines: 4}}\n" LINKS,
        FIRST "topology: {dumbbell: {hosts: 1G}}\n" LINKS,
        FIRST "topology: {leaf-spine: {leaves: 1G, hosts: 1, spines: 1}}\n" LINKS,
        FIRST "topology: {leaf-spine: {leaves: 60K, hosts: 1, spines: 60K}}\n" LINKS,
        FIRST "topology: {fat-tree: {k: 1M}}\n" LINKS,
        FIRST "topology: {links: {hosts: 1G, switches: 1, links: []}}\n" LINKS,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric;
        assert_int_equal(fabric_load("f.yaml", text[i], &fabric, &errors), -EINVAL);
        assert_int_equal(errors.count, 1);
        assert_non_null(strstr(errors.error[0].text, "of memory; the limit is 2.15GB"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_twenty_at_most),
        cmocka_unit_test(test_sorted_and_once),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_refused_before_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
