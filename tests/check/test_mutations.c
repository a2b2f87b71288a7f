/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand random changes to fabrics in which nothing is wrong: how many does `check` see?
 *
 * A change replaces or adds one value of the file, at a random layer of a random device or port.  It is left out only
 * if what the file means is the same as before, field by field.  Refused by the loader, or told by any rule, it is
 * seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base.h"
#include "base/rng.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/switches.h"
#include "load/load.h"

#define MUTATIONS 1000

static const char rail[] =
    "rocelab: 1\n"
    "topology: {rail: {hosts: 4, gpus: 2, leaves: 2, spines: 2, uplinks: 4}}\n"
    "links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
    "switches: {model: tomahawk5, nos: eos, fec: rs, watchdog: {poll: 100ms, detect: 200ms, restore: 400ms, action: "
    "drop}}\n"
    "classes:\n"
    "  - {name: rdma, dscp: 24, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: "
    "60%}\n"
    "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n"
    "  - {name: bulk, dscp: 8, priority: 1, share: 20%}\n"
    "  - {name: default, priority: 0, share: 20%}\n"
    "nics: {fec: rs, cnp-dscp: 48, dcqcn: true, dcbx: {willing: false, mode: ieee}, nccl: {NCCL_IB_TC: 98, "
    "NCCL_IB_QPS_PER_CONNECTION: 4}}\n"
    "roles: {leaf: {approved: {nos: v5}}, spine: {approved: {nos: v5}}}\n";

static const char tree[] =
    "rocelab: 1\n"
    "topology: {fat-tree: {k: 4}}\n"
    "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}, core: {cable: 60m}}\n"
    "switches: {model: spectrum4, nos: sonic, fec: rs, watchdog: true}\n"
    "nics: {fec: rs, cnp-dscp: 48, dcqcn: true, dcbx: {willing: false, mode: ieee}, nccl: {NCCL_IB_TC: 106, "
    "NCCL_IB_QPS_PER_CONNECTION: 4}}\n"
    "roles: {leaf: {approved: {nos: v5, firmware: [a, b]}}, spine: {approved: {nos: v5}}, core: {approved: {nos: "
    "v5}}}\n";

static const char *const fabrics[] = {base_fabric, rail, tree};

enum level { PORT = 1, SWITCH = 2, HOST = 4, ALL = 8, NICS = 16, TOP = 32, ROLE = 64, HOST_PORT = 128 };
#define LEVELS 8

struct mutator {
    const char *path;
    unsigned levels;      /* one of them is drawn */
    const char *value[6]; /* one of them is drawn; "#N": a number below N */
};

static const struct mutator mutators[] = {
    {"pfc", PORT | SWITCH | HOST, {"false", "[4]", "[0, 3]", "{rx: [3], tx: false}", "{rx: false, tx: [3]}", "[#8]"}},
    {"pfc-mode", PORT | SWITCH | ALL, {"auto"}},
    {"pause", PORT | SWITCH | ALL, {"802.3x"}},
    {"trust", PORT | SWITCH | HOST, {"pcp"}},
    {"dscp-map", SWITCH | ALL | HOST, {"{24: #8}", "{26: #8}", "{48: #8}", "{0: 3}", "{56: 3}"}},
    {"dscp-map", SWITCH, {"{10: #8}", "{#64: #8}", "{46: #8}"}},
    {"queue-map", SWITCH | ALL, {"{3: 0}", "{0: 3}", "{6: 3}", "{3: #8}"}},
    {"group-map", SWITCH | ALL, {"{3: 0}", "{3: #8}"}},
    {"classes.rdma.lossless", PORT | SWITCH, {"false"}},
    {"classes.default.lossless", PORT | SWITCH, {"true"}},
    {"classes.cnp.lossless", SWITCH | ALL, {"true"}},
    {"classes.cnp.strict", SWITCH | ALL, {"false"}},
    {"classes.default", SWITCH | ALL, {"{strict: true, share: 0%}"}},
    {"classes.rdma.ecn", PORT | SWITCH | ALL, {"false"}},
    {"classes.rdma.ecn.min", SWITCH | PORT, {"#900KB", "#90KB", "1500KB"}},
    {"classes.rdma.ecn.max", SWITCH | PORT, {"#90MB", "501KB", "80MB"}},
    {"classes.rdma.ecn.max", ALL, {"200MB", "600MB"}},
    {"classes.rdma.ecn.min", ALL, {"1KB", "2KB", "#5KB"}},
    {"classes.rdma.ecn.probability", SWITCH | PORT | ALL, {"0.01%", "0.0#9%"}},
    {"classes.rdma.headroom", PORT | SWITCH | ALL, {"#30KB", "#90KB", "0"}},
    {"classes.rdma.xon", PORT | SWITCH | ALL, {"#9KB", "0"}},
    {"classes.rdma.xoff", PORT | SWITCH | ALL, {"#90KB", "#400KB", "1MB"}},
    {"classes.rdma.limit", PORT | SWITCH | ALL, {"#9MB", "100KB"}},
    {"classes.rdma.share", SWITCH | ALL, {"1%", "5%", "20%", "#35%"}},
    {"classes.default.headroom", PORT | SWITCH | ALL, {"100KB"}},
    {"mtu", PORT | SWITCH, {"1500", "9000", "4096", "#9000"}},
    {"rate", PORT, {"25G", "50G", "200G"}},
    {"cable", PORT, {"300m", "2km"}},
    {"headroom-cable", PORT | SWITCH | ALL, {"1m", "2m"}},
    {"headroom-mtu", PORT | SWITCH | ALL, {"1500", "#9000"}},
    {"watched", PORT | SWITCH | ALL, {"false", "[4]", "[3, 4]", "[#8]"}},
    {"watchdog", SWITCH | ALL, {"false"}},
    {"watchdog.detect", SWITCH | ALL, {"10ms", "#99ms", "9s"}},
    {"watchdog.restore", SWITCH | ALL, {"10ms", "#199ms"}},
    {"watchdog.poll", SWITCH | ALL, {"10s", "#900s"}},
    {"watchdog.action", SWITCH | ALL, {"shutdown", "forward"}},
    {"buffer", SWITCH | ALL, {"1MB", "2MB", "500KB"}},
    {"headroom-pool", SWITCH | ALL, {"10KB", "100KB"}},
    {"forwarding", SWITCH | ALL, {"bridged"}},
    {"ecmp.hash", SWITCH | ALL, {"[src, dst]", "[dst]"}},
    {"cnp-dscp", HOST | NICS, {"#48", "0"}},
    {"cnp-class", HOST | NICS, {"rdma", "default"}},
    {"dcqcn", HOST, {"false", "{rp: false}", "{np: false}"}},
    {"dcqcn.rp", HOST | NICS, {"false"}},
    {"dcqcn.np", HOST | NICS, {"false"}},
    {"dcbx.willing", HOST | NICS, {"true"}},
    {"nccl.NCCL_IB_TC", HOST | NICS, {"0", "#90", "1"}},
    {"nccl.NCCL_IB_GID_INDEX", HOST | NICS, {"0", "2", "4"}},
    {"mtu", HOST, {"1024", "2048", "512"}},
    {"congestion", HOST, {"none"}},
    {"classes.0.dscp", TOP, {"[24, 0]", "[26, 56]", "10", "[26, 48]"}},
    {"classes.0.lossless", TOP, {"false"}},
    {"classes.2.lossless", TOP, {"true"}},
    {"classes.1.priority", TOP, {"3", "0"}},
    {"links.fabric.cable", TOP, {"3km", "1km"}},
    {"links.host.cable", TOP, {"20m", "100m"}},
    {"classes.rdma.alpha", SWITCH | ALL, {"1/4096", "1/9000", "1/2000"}},
};
#define MUTATORS (sizeof(mutators) / sizeof(mutators[0]))

/* Kinds of mistakes written down without the list above in sight.  Some are none in some of the fabrics: what nobody
 * approved, what only one end says, a seed for all where one tier alone has a choice. */
static const struct mutator others[] = {
    {"pfc", ROLE, {"false", "[4]", "[3, 4]", "{rx: [3], tx: false}"}},
    {"trust", ROLE | ALL, {"pcp"}},
    {"dscp-map", PORT | ROLE, {"{26: 0}", "{24: 0}", "{48: 3}", "{0: 3}"}},
    {"queue-map", PORT | ROLE, {"{3: 0}", "{6: 0}"}},
    {"group-map", PORT | ROLE, {"{3: 4}"}},
    {"classes.rdma.lossless", ROLE, {"false"}},
    {"classes.rdma.ecn", ROLE, {"false", "{min: 1500KB, max: 500KB}", "{min: 2KB, max: 900MB}"}},
    {"classes.rdma.ecn.probability", SWITCH, {"50%", "100%", "2%"}},
    {"classes.rdma.headroom", ROLE, {"20KB"}},
    {"classes.rdma.reserved", PORT | SWITCH | ROLE | ALL, {"20MB", "60MB", "120MB"}},
    {"classes.default.share", SWITCH | ROLE | ALL, {"50%", "70%"}},
    {"mtu", ROLE | ALL, {"4096", "1500", "2000"}},
    {"pause-quanta", PORT | SWITCH | ALL, {"1", "8", "2#9"}},
    {"fec", PORT | SWITCH | HOST_PORT, {"none", "fc"}},
    {"up", PORT, {"false"}},
    {"ecmp.seed", ALL, {"7", "#100"}},
    {"watchdog.detect", SWITCH, {"300ms", "150ms"}},
    {"watchdog", ROLE, {"false"}},
    {"installed.nos", SWITCH, {"v4", "\"4.0\""}},
    {"cable-length", HOST | NICS | HOST_PORT, {"1m", "2m"}},
    {"nccl.NCCL_IB_QPS_PER_CONNECTION", NICS, {"1"}},
    {"nccl.NCCL_IB_FIFO_TC", HOST | NICS, {"0", "#90"}},
    {"nccl.NCCL_GIN_IB_TC", HOST | NICS, {"0", "192"}},
    {"nccl.NCCL_IB_ROCE_VERSION_NUM", HOST | NICS, {"1"}},
    {"dcbx.mode", HOST | NICS, {"cee"}},
    {"congestion", HOST_PORT | NICS, {"none"}},
    {"pfc", HOST_PORT | NICS, {"false", "[4]", "[0]"}},
    {"dscp-map", HOST_PORT | NICS, {"{26: 0}", "{24: 0}"}},
    {"links.fabric.rate", TOP, {"10G", "25G"}},
    {"links.fabric.cable", TOP, {"0m", "5km"}},
    {"classes.0.share", TOP, {"10%", "30%"}},
    {"classes.0.ecn.max", TOP, {"90MB", "150MB"}},
    {"classes.0.alpha", TOP, {"1/2000", "1/1500"}},
    {"classes.1.strict", TOP, {"false"}},
    {"classes.1.lossless", TOP, {"true"}},
};
#define OTHERS (sizeof(others) / sizeof(others[0]))

struct mutation {
    char path[128], value[64];
    uint32_t mutator;
};

static const char *const roles[FABRIC_ROLES] = {"host", "leaf", "spine", "core", "switch"};

struct catalogue {
    const struct mutator *mutator;
    uint32_t mutators;
};

static void draw(struct rng *rng, const struct fabric *fabric, const struct catalogue *from_list, struct mutation *ret)
{
    const struct mutator *as = &from_list->mutator[ret->mutator = (uint32_t)rng_below(rng, from_list->mutators)];
    unsigned level, values = 0;
    char value[64];

    do
        level = 1u << rng_below(rng, LEVELS);
    while (!(as->levels & level));
    bool host = level == HOST || level == HOST_PORT;
    uint32_t node = (uint32_t)rng_below(rng, host ? fabric->hosts : fabric->switches);
    if (!host) node += fabric->hosts;
    const struct fabric_node *at = &fabric->node[node];
    if (level == ROLE)
        snprintf(ret->path, sizeof(ret->path), "roles.%s.%s", roles[at->role], as->path);
    else if (level == PORT || level == HOST_PORT)
        snprintf(ret->path, sizeof(ret->path), "devices.%s.ports.%u.%s", at->name, (unsigned)rng_below(rng, at->ports),
                 as->path);
    else if (level == SWITCH || level == HOST)
        snprintf(ret->path, sizeof(ret->path), "devices.%s.%s", at->name, as->path);
    else
        snprintf(ret->path, sizeof(ret->path), "%s%s",
                 level == ALL    ? "switches."
                 : level == NICS ? "nics."
                                 : "",
                 as->path);
    while (values < 6 && as->value[values])
        values++;
    const char *from = as->value[rng_below(rng, values)];
    size_t used = 0;
    while (*from && used + 12 < sizeof(value)) {
        if (*from != '#') {
            value[used++] = *from++;
            continue;
        }
        unsigned bound = 0;
        for (from++; *from >= '0' && *from <= '9'; from++)
            bound = bound * 10 + (unsigned)(*from - '0');
        used += (size_t)snprintf(value + used, sizeof(value) - used, "%u", (unsigned)rng_below(rng, bound));
    }
    value[used] = 0;
    snprintf(ret->value, sizeof(ret->value), "%s", value);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = mix(hash, (unsigned char)*text);
    return mix(hash, 7);
}

static uint64_t nic_meaning(uint64_t hash, const struct fabric_nic *nic)
{
    hash = mix_text(mix(mix(hash, nic->mtu_bytes), nic->cnp_class), nic->congestion);
    hash = mix(mix(mix(mix(hash, nic->cnp_dscp), nic->dcqcn_np), nic->dcqcn_rp), nic->dcbx_willing);
    hash = mix(mix(hash, nic->dcbx_mode), nic->cable_mm);
    for (uint32_t i = 0; i < nic->nccls; i++)
        hash = mix_text(mix_text(hash, nic->nccl[i].name), nic->nccl[i].value);
    return hash;
}

/* Of everything a mutator can change. */
static uint64_t meaning(const struct fabric *fabric)
{
    uint64_t hash = 1;

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        const unsigned char *bytes = (const unsigned char *)&fabric->settings[port->settings];
        hash = mix(mix(mix(hash, port->rate_bps), port->cable_mm), port->up);
        for (size_t i = 0; i < sizeof(struct fabric_settings); i++)
            hash = mix(hash, bytes[i]);
    }
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_switch *sw = &fabric->sw[s];
        hash = mix(mix(mix(hash, sw->buffer_bytes), sw->headroom_pool_bytes), sw->hash_fields);
        hash = mix(hash, sw->hash_seed);
        hash = mix(mix(mix(hash, sw->bridged), sw->watchdog.on), sw->watchdog.poll_ps);
        hash = mix(mix(hash, sw->watchdog.detect_ps), sw->watchdog.restore_ps);
        hash = mix(mix(hash, sw->watchdog.drop), sw->watchdog.shutdown);
    }
    for (uint32_t n = 0; n < fabric->nodes && fabric->operations.device; n++)
        for (int part = 0; fabric->operations.device[n] && part < FABRIC_PARTS; part++)
            hash = mix_text(hash, fabric->operations.device[n]->installed[part]);
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        hash = nic_meaning(hash, &fabric->nic[fabric->endpoint[e].nic]);
    for (uint32_t c = 0; c < fabric->class_count; c++)
        hash = mix(mix(mix(hash, fabric->classes[c].dscps), fabric->classes[c].priority), fabric->classes[c].lossless);
    return hash;
}

enum outcome { SAME, REFUSED, FOUND, MISSED };

static enum outcome try_mutation(const char *text, uint64_t before, const struct mutation *mutation)
{
    struct fabric_override override = {mutation->path, mutation->value};
    struct fabric_errors errors = {0};
    struct check_options options = {.failures = 0};
    struct fabric *fabric = NULL;
    struct check check;

    if (fabric_load_with("mutated.yaml", text, &(struct fabric_with){.override = &override, .overrides = 1}, &fabric,
                         &errors) < 0)
        return REFUSED;
    enum outcome outcome = SAME;
    if (meaning(fabric) != before) {
        check_init(&check, fabric, NULL, &options);
        check_run(&check);
        outcome = check.findings ? FOUND : MISSED;
        check_release(&check);
    }
    fabric_free(fabric);
    return outcome;
}

/* At most so many of a hundred may be missed. */
static void try_catalogue(const struct catalogue *list, uint64_t seed, uint32_t most)
{
    uint32_t count[MISSED + 1] = {0}, missed[MUTATORS > OTHERS ? MUTATORS : OTHERS] = {0}, tried = 0;
    struct rng rng;

    rng_init(&rng, seed, 2);
    while (count[REFUSED] + count[FOUND] + count[MISSED] < MUTATIONS) {
        const char *text = fabrics[rng_below(&rng, 3)];
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        struct mutation mutation;
        if (fabric_load("whole.yaml", text, &fabric, &errors) < 0) fail_msg("%s", errors.error[0].text);
        draw(&rng, fabric, list, &mutation);
        enum outcome outcome = try_mutation(text, meaning(fabric), &mutation);
        count[outcome]++;
        if (outcome == MISSED && !missed[mutation.mutator]++)
            print_message("missed: %s: %s\n", mutation.path, mutation.value);
        fabric_free(fabric);
        assert_true(++tried < 4 * MUTATIONS);
    }
    for (uint32_t m = 0; m < list->mutators; m++)
        if (missed[m]) print_message("missed class: %s, %u times\n", list->mutator[m].path, missed[m]);
    print_message("seed %llu: of %u changes %u were refused, %u found, %u missed; %u changed nothing\n",
                  (unsigned long long)seed, MUTATIONS, count[REFUSED], count[FOUND], count[MISSED], count[SAME]);
    assert_true(count[MISSED] * 100 <= MUTATIONS * most);
    assert_true(count[FOUND] > count[REFUSED]);
}

static void test_mutations_are_seen(void **state)
{
    (void)state;
    try_catalogue(&(struct catalogue){mutators, MUTATORS}, test_seed_or(61), 5);
}

static void test_other_mutations_are_seen(void **state)
{
    (void)state;
    try_catalogue(&(struct catalogue){others, OTHERS}, test_seed_or(62), 10);
}

static void test_nothing_is_wrong_with_them(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct checked checked;
        char why[300] = "";
        snprintf(checked.text, sizeof(checked.text), "%s", fabrics[i]);
        if (!base_check(&checked, 1, why, sizeof(why))) fail_msg("%s", why);
        for (uint32_t f = 0; f < checked.check.findings; f++)
            print_message("%d: %u %s %s\n", i, checked.check.finding[f].line,
                          check_rules[checked.check.finding[f].rule].id, checked.check.finding[f].message);
        assert_int_equal(checked.check.findings, 0);
        base_release(&checked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_wrong_with_them),
        cmocka_unit_test(test_mutations_are_seen),
        cmocka_unit_test(test_other_mutations_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
