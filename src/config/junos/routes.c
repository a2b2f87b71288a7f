/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a Junos switch uses its equal paths, and what its hash looks at.
 *
 * BGP keeps several paths with `multipath`; the forwarding table gets all of them only where it exports a policy that
 * says `load-balance per-packet` (or per-flow, the same by its right name).  Without, one path carries everything.
 */
#include <string.h>

#include "config/junos/junos_int.h"

#define PATHS_MOST 128u /* of a destination, on these switches */

/* Does the policy of this name, or any term of it, balance? */
static bool balances(struct junos *in, const char *name)
{
    struct junos_node *policies = junos_get(&in->tree, &in->tree.root, "policy-options policy-statement");
    struct junos_node *policy = policies ? junos_child(&in->tree, policies, name) : NULL;

    return policy && junos_below(policy, "load-balance");
}

/* A policy that balances, whether or not anything uses it; NULL: none. */
static const struct junos_node *balancing(struct junos *in)
{
    for (struct junos_node *at = junos_first(&in->tree, &in->tree.root, "policy-options policy-statement"); at;
         at = at->next)
        if (junos_below(at, "load-balance")) return at;
    return NULL;
}

/* The hash of a family without the ports of UDP sees one flow between two adapters. */
static void say_hash(struct junos *in)
{
    struct junos_node *options = junos_get(&in->tree, &in->tree.root, "forwarding-options");
    struct junos_node *key = junos_get(&in->tree, options, "hash-key family inet");
    struct junos_node *enhanced = junos_get(&in->tree, options, "enhanced-hash-key family inet");
    struct junos_node *port = junos_get(&in->tree, enhanced, "no-l4-source-port");

    if (key) junos_known_all(key);
    if (enhanced) junos_known_all(enhanced);
    struct junos_node *layer3 = key ? junos_child(&in->tree, key, "layer-3") : NULL;
    bool blind = port || (layer3 && !junos_child(&in->tree, key, "layer-4"));
    if (!blind) return;
    SAY(in, port ? port->line : layer3->line, CONFIG_NONE, "ecmp.hash", "[src, dst]");
}

/* `ecmp-dlb`: paths are chosen by load. */
static void say_balance(struct junos *in)
{
    static const char *const places[] = {"forwarding-options enhanced-hash-key ecmp-dlb",
                                         "forwarding-options load-balance ecmp-dlb"};

    for (unsigned i = 0; i < 2; i++) {
        struct junos_node *dlb = junos_get(&in->tree, &in->tree.root, places[i]);
        if (!dlb) continue;
        struct junos_node *spray = junos_child(&in->tree, dlb, "per-packet");
        struct junos_node *flowlet = junos_child(&in->tree, dlb, "flowlet");
        const struct junos_node *at = spray ? spray : flowlet ? flowlet : dlb;
        junos_known_all(dlb);
        if (!junos_child(&in->tree, dlb, "assigned-flow"))
            SAY(in, at->line, CONFIG_NONE, "balance", spray ? "spray" : "flowlet");
    }
}

struct peering { /* of the underlay: groups of BGP that reach neighbours over a link */
    uint32_t neighbours;
    const struct junos_node *single; /* a group that keeps one path; NULL: none */
};

static void read_group(struct junos *in, struct junos_node *bgp, struct junos_node *group, struct peering *as)
{
    struct junos_node *neighbours = junos_child(&in->tree, group, "neighbor");
    struct junos_node *family = junos_child(&in->tree, group, "family");
    bool overlay = junos_child(&in->tree, group, "multihop") || (family && junos_child(&in->tree, family, "evpn"));
    uint32_t count = 0;

    for (struct junos_node *at = neighbours ? neighbours->first : NULL; at; at = at->next)
        count++;
    if (overlay || !count) return;
    as->neighbours += count;
    if (!junos_get(&in->tree, group, "multipath") && !junos_get(&in->tree, bgp, "multipath") && count > 1)
        as->single = group;
}

/* All equal paths are used where every group keeps them and the forwarding table gets them. */
static void say_paths(struct junos *in)
{
    struct junos_node *bgp = junos_get(&in->tree, &in->tree.root, "protocols bgp");
    struct junos_node *options = junos_get(&in->tree, &in->tree.root, "routing-options");
    struct junos_node *table = junos_get(&in->tree, options, "forwarding-table");
    struct peering peering = {0};
    bool all = false;

    for (struct junos_node *at = junos_first(&in->tree, bgp, "group"); at; at = at->next)
        read_group(in, bgp, at, &peering);
    for (struct junos_node *at = junos_first(&in->tree, table, "export"); at && !all; at = at->next)
        all = balances(in, at->word);
    if (!peering.neighbours) return;
    const struct junos_node *where = peering.single ? peering.single : table ? table : options ? options : bgp;
    const struct junos_node *unused = all ? NULL : balancing(in);
    if (!peering.single && unused && peering.neighbours > 1)
        NOTE(in, unused->line, "TOP008", CONFIG_NONE,
             "policy %.60s balances, and routing-options forwarding-table does not export it: of %u equal paths one is "
             "used",
             unused->word, peering.neighbours);
    else if (!peering.single && !all && peering.neighbours > 1) /* releases differ in what they then install */
        HINT(in, where->line, "TOP008", CONFIG_NONE,
             "BGP keeps %u equal paths, and the forwarding table exports no policy with load-balance: it may get one "
             "of them",
             peering.neighbours);
    config_paths(in->set, CONFIG_AT(in->text, where->line), in->device, peering.single ? 1 : PATHS_MOST,
                 peering.neighbours);
}

void junos_routes(struct junos *in)
{
    say_paths(in);
    say_hash(in);
    say_balance(in);
}
