/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random irregular fabrics and the oracle; see irregular.h.
 */
#include "irregular.h"

#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"

void oracle_distances(const struct oracle *o, int to, int *ret)
{
    for (int n = 0; n < o->nodes; n++)
        ret[n] = n == to ? 0 : ORACLE_FAR;
    for (int round = 0; round < o->nodes; round++)
        for (int a = 0; a < o->nodes; a++)
            for (int b = 0; b < o->nodes; b++)
                if (o->links[a][b] && ret[b] + 1 < ret[a]) ret[a] = ret[b] + 1;
}

/* Up is to a later switch; what came down and goes up again goes up a level too. */
static int level_after(const struct oracle *o, int from, int at, int next, int level)
{
    bool turns = from > at && next > at;
    return turns && o->raises[at] && level + 1 < o->levels ? level + 1 : level;
}

static void follow(struct oracle *o, const int *distance, int from, int at, int level)
{
    for (int next = 0; next < o->nodes; next++) {
        if (!o->links[at][next] || distance[next] + 1 != distance[at]) continue;
        if (from >= 0) o->wait[from][at][level][next] = true;
        if (distance[next] > 0)
            follow(o, distance, at, next, from >= 0 ? level_after(o, from, at, next, level) : level);
    }
}

static void find_waits(struct oracle *o)
{
    memset(o->wait, 0, sizeof(o->wait));
    for (int to = 0; to < o->nodes; to++) {
        int distance[ORACLE_NODES];
        if (!o->host[to]) continue;
        oracle_distances(o, to, distance);
        for (int from = 0; from < o->nodes; from++)
            if (o->host[from] && from != to && distance[from] < ORACLE_FAR) follow(o, distance, -1, from, 0);
    }
}

/* A buffer that waits for no other empties, and is gone.  What remains when none goes any more waits in circles. */
bool oracle_circle(struct oracle *o)
{
    bool full[ORACLE_NODES][ORACLE_NODES][ORACLE_LEVELS], changed = true, any = true;

    find_waits(o);
    memset(full, 1, sizeof(full));
    while (changed) {
        changed = any = false;
        for (int i = 0; i < o->nodes * o->nodes * o->levels; i++) {
            int a = i / o->levels / o->nodes, b = i / o->levels % o->nodes, level = i % o->levels;
            bool waits = false;
            for (int c = 0; c < o->nodes; c++)
                waits = waits || (o->wait[a][b][level][c] && full[b][c][level_after(o, a, b, c, level)]);
            changed = changed || (full[a][b][level] && !waits);
            full[a][b][level] = full[a][b][level] && waits;
            any = any || full[a][b][level];
        }
    }
    return any;
}

const char *irregular_name(const struct oracle *o, int n, char name[32])
{
    if (n < o->leaves)
        snprintf(name, 32, "leaf%d", n);
    else if (n < o->leaves + o->spines)
        snprintf(name, 32, "spine%d", n - o->leaves);
    else
        snprintf(name, 32, "sw%d", n - o->leaves - o->spines);
    return name;
}

void irregular_fabric(struct rng *rng, int hosts, struct oracle *o, char text[IRREGULAR_TEXT])
{
    int leaves = 2 + (int)rng_below(rng, 4), spines = 1 + (int)rng_below(rng, 3), extra = (int)rng_below(rng, 3);
    int made = 0;
    char links[8192] = "", name[32], other[32];
    size_t at = 0, used;

    memset(o, 0, sizeof(*o));
    o->nodes = leaves + spines + extra;
    o->leaves = leaves;
    o->spines = spines;
    o->levels = 1;
    for (int n = 0; n < o->nodes; n++) {
        irregular_name(o, n, name);
        o->host[n] = n < leaves || rng_below(rng, 4) == 0;
        o->first_host[n] = made;
        for (int h = 0; o->host[n] && h < hosts; h++)
            at += (size_t)snprintf(links + at, sizeof(links) - at, "      - [h%d, %s]\n", made++, name);
        int must = n ? (int)rng_below(rng, (uint32_t)n) : 0; /* what keeps it in one piece */
        for (int m = 0; m < n; m++) {
            if (m != must && rng_below(rng, 100) >= 35) continue;
            irregular_name(o, m, other);
            o->links[n][m] = o->links[m][n] = rng_below(rng, 8) == 0 ? 2 : 1;
            at += (size_t)snprintf(links + at, sizeof(links) - at, "      - {a: %s, b: %s, count: %d}\n", name, other,
                                   o->links[n][m]);
        }
    }
    used = (size_t)snprintf(text, IRREGULAR_TEXT,
                            "rocelab: 1\ntopology:\n  links:\n    hosts: %d\n    leaves: %d\n    spines: %d\n", made,
                            leaves, spines);
    if (extra) used += (size_t)snprintf(text + used, IRREGULAR_TEXT - used, "    switches: %d\n", extra);
    snprintf(text + used, IRREGULAR_TEXT - used, "    links:\n%slinks: {host: {rate: 100G, cable: 3m}}\n", links);
}

void irregular_ring(struct rng *rng, struct oracle *o, char text[IRREGULAR_TEXT])
{
    int order[ORACLE_NODES], chords = 1 + (int)rng_below(rng, 4);
    size_t used;

    memset(o, 0, sizeof(*o));
    o->nodes = 7 + (int)rng_below(rng, ORACLE_NODES - 6);
    o->levels = 1;
    used = (size_t)snprintf(text, IRREGULAR_TEXT,
                            "rocelab: 1\ntopology:\n  links:\n    hosts: %d\n    switches: %d\n    links:\n", o->nodes,
                            o->nodes);
    for (int n = 0; n < o->nodes; n++) {
        int at = (int)rng_below(rng, (uint32_t)n + 1);
        order[n] = order[at];
        order[at] = n;
        o->host[n] = true;
        o->first_host[n] = n;
        used += (size_t)snprintf(text + used, IRREGULAR_TEXT - used, "      - [h%d, sw%d]\n", n, n);
    }
    for (int i = 0; i < o->nodes + chords; i++) {
        int a = order[i % o->nodes], b = order[(i + 1) % o->nodes];
        if (i >= o->nodes) b = (int)rng_below(rng, (uint32_t)o->nodes);
        if (i >= o->nodes) a = (int)rng_below(rng, (uint32_t)o->nodes);
        if (a == b || o->links[a][b]) continue;
        o->links[a][b] = o->links[b][a] = 1;
        used += (size_t)snprintf(text + used, IRREGULAR_TEXT - used, "      - [sw%d, sw%d]\n", a, b);
    }
    snprintf(text + used, IRREGULAR_TEXT - used, "links: {host: {rate: 100G, cable: 3m}}\n");
}

void oracle_fail(struct oracle *o, const struct fabric *fabric, const struct deadlock_failure *failed)
{
    int a = (int)(failed->node - fabric->hosts);

    if (failed->port == FABRIC_NONE) {
        o->host[a] = false;
        for (int n = 0; n < o->nodes; n++)
            o->links[a][n] = o->links[n][a] = 0;
    } else {
        int b = (int)(fabric->port[fabric->port[failed->port].peer].node - fabric->hosts);
        o->links[a][b]--;
        o->links[b][a]--;
    }
}
