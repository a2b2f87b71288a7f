/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tiers: leaf-spine, and rail, which differs in where the NICs of a host hang.
 *
 * Both may be built several times over.  Planes (as in Alibaba's HPN): each NIC has a port on each of them, and they
 * meet nowhere else.  Sites: each spine has long links to the spine of its number in every other site, so that a
 * path between sites goes up, across and down.  Switches are numbered site by site, within a site plane by plane; the
 * ports of a host NIC by NIC, within a NIC plane by plane.
 *
 * A rail's `ways` is the number of leaves a host hangs on: as many as NICs, each rail has a leaf; with fewer,
 * neighbouring rails share one (4-way rail-aligned: eight NICs on four leaves).
 */
#include "fabric/topology/builders.h"

#include <stdio.h>

#include "base/check.h"
#include "base/wide.h"

#define PLANES_MAX 8
#define SITES_MAX 16

/* `3`, `2.5` or `3:1`. */
void read_oversubscription(struct loader *loader, const struct tree *value, void *into)
{
    struct shape *shape = into;
    struct tree copy = *value;
    size_t length = 0;

    if (value->type == TREE_SCALAR)
        while (value->text[length])
            length++;
    if (length > 2 && value->text[length - 2] == ':' && value->text[length - 1] == '1') {
        copy.text = arena_strndup(&loader->scratch, value->text, length - 2);
        if (!copy.text) {
            loader->no_memory = true;
            return;
        }
    }
    shape->over_at = value->at;
    read_fraction(loader, &copy, &shape->over_num, &shape->over_den);
}

/* A fraction in its lowest terms: 4, or 16/3. */
#define FRACTION_TEXT 48
static const char *fraction_text(u128 num, u128 den, char into[FRACTION_TEXT])
{
    u128 a = num, b = den;

    while (b) {
        u128 rest = a % b;
        a = b;
        b = rest;
    }
    if (den == a)
        snprintf(into, FRACTION_TEXT, "%llu", (unsigned long long)(num / a));
    else
        snprintf(into, FRACTION_TEXT, "%llu/%llu", (unsigned long long)(num / a), (unsigned long long)(den / a));
    return into;
}

/* Says which ratios near the wanted one can be built: a leaf has whole uplinks, as many to each spine. */
static void refuse_ratio(struct loader *loader, const struct shape *shape, u128 down_bps, uint64_t up_bps)
{
    u128 bits = down_bps * shape->over_den, unit = (u128)up_bps * shape->over_num;
    uint64_t each = shape->spines == NOT_GIVEN || shape->spines == 0 ? 1 : shape->spines;
    uint64_t less = (uint64_t)(bits / unit / each * each), more = less + each;
    char need[FRACTION_TEXT], low[FRACTION_TEXT], high[FRACTION_TEXT], spines[64] = "", below[96] = "";

    if (each > 1) snprintf(spines, sizeof(spines), ", and %llu spines share them evenly", (unsigned long long)each);
    if (less)
        snprintf(below, sizeof(below), "%llu would be %s:1, ", (unsigned long long)less,
                 fraction_text(down_bps, (u128)up_bps * less, low));
    read_error(loader, shape->over_at, "oversubscription: it takes %s uplinks a leaf%s; %s%llu would be %s:1",
               fraction_text(bits, unit, need), spines, below, (unsigned long long)more,
               fraction_text(down_bps, (u128)up_bps * more, high));
}

/* Uplinks for the wanted ratio, which is built exactly or not at all. */
static bool over_uplinks(struct loader *loader, const char *what, struct shape *shape, u128 down_bps, uint64_t up_bps,
                         bool rates_known)
{
    u128 bits = down_bps * shape->over_den, unit = (u128)up_bps * shape->over_num;
    uint64_t uplinks = bits / unit > COUNT_MAX ? COUNT_MAX : (uint64_t)(bits / unit);

    if (shape->uplinks != NOT_GIVEN) {
        read_error(loader, shape->over_at, "%s: give oversubscription or uplinks, not both", what);
        return false;
    }
    if (shape->spines == 0) {
        read_error(loader, shape->over_at, "%s: oversubscription is of uplinks, and there are no spines", what);
        return false;
    }
    if (!rates_known) return false;
    if (bits / unit > NODE_PORTS_MAX) {
        read_error(loader, shape->over_at, "%s: it takes %llu uplinks a leaf, and a node has %u ports at most", what,
                   (unsigned long long)uplinks, NODE_PORTS_MAX);
        return false;
    }
    if (bits % unit || (shape->spines != NOT_GIVEN && uplinks % shape->spines)) {
        refuse_ratio(loader, shape, down_bps, up_bps);
        return false;
    }
    if (shape->spines == NOT_GIVEN) shape->spines = uplinks;
    shape->uplinks = uplinks;
    return true;
}

static bool shape_needs_spines(struct loader *loader, const struct tree *map, const char *what,
                               const struct shape *shape)
{
    if (tree_get(map, "oversubscription")) return true;
    return shape_needs(loader, map, what, shape->spines, "spines", " (or oversubscription)");
}

bool shape_uplinks(struct loader *loader, const struct tree *map, const char *what, struct shape *shape,
                   const struct plan *plan, const struct link_class *host, uint64_t down)
{
    if (shape->over_num &&
        !over_uplinks(loader, what, shape, (u128)down * host->rate_bps, plan->fabric.rate_bps, plan->rates_known))
        return false;
    if (!shape_needs_spines(loader, map, what, shape)) return false;
    if (shape->uplinks == NOT_GIVEN) shape->uplinks = shape->spines;
    if (shape->spines == 0 ? shape->uplinks != 0 : shape->uplinks % shape->spines != 0) {
        read_error(loader, map->at, "%s: %llu uplinks a leaf do not spread evenly over %llu spines", what,
                   (unsigned long long)shape->uplinks, (unsigned long long)shape->spines);
        return false;
    }
    return true;
}

/* Long links: how many, and of which length. */
static bool shape_sites(struct loader *loader, const struct tree *map, const char *what, struct shape *shape,
                        struct plan *plan)
{
    const struct tree *links = tree_get(map, "site-links"), *distance = tree_get(map, "distance");

    if (shape->sites == 1) {
        if (!links && !distance) return true;
        read_error(loader, links ? links->key_at : distance->key_at, "%s: '%s' is between sites; write sites: 2", what,
                   links ? links->key : distance->key);
        return false;
    }
    if (shape->spines == 0) {
        read_error(loader, map->at, "%s: sites are joined by their spines, and there are none", what);
        return false;
    }
    if (distance && plan->site_length_given) {
        read_error(loader, distance->key_at, "give distance, or cable or delay of links.site, not both");
        return false;
    }
    if (distance) {
        plan->site.cable_mm = shape->distance_mm;
        plan->site.delay_ps = NOT_GIVEN;
        plan->site.said = true;
    } else if (!plan->site_length_given) {
        read_error(loader, map->at, "%s: sites need a distance, as in {sites: 2, distance: 10km}", what);
        return false;
    }
    if (shape->site_links == NOT_GIVEN) shape->site_links = shape->spines;
    if (shape->site_links % shape->spines == 0) return true;
    read_error(loader, links->at, "site-links: %llu do not spread evenly over %llu spines",
               (unsigned long long)shape->site_links, (unsigned long long)shape->spines);
    return false;
}

/* Switches and links of all sites and planes; `hosts` of one site. */
static bool allocate(struct loader *loader, struct plan *plan, const struct shape *shape, uint64_t hosts)
{
    uint64_t copies = times(shape->sites, shape->planes), pairs = shape->sites * (shape->sites - 1) / 2;

    plan->count[FABRIC_ROLE_HOST] = times(shape->sites, hosts);
    plan->count[FABRIC_ROLE_LEAF] = times(copies, shape->leaves);
    plan->count[FABRIC_ROLE_SPINE] = times(copies, shape->spines);
    plan->links = plus(times(plan->count[FABRIC_ROLE_HOST], times(shape->nics, shape->planes)),
                       times(plan->count[FABRIC_ROLE_LEAF], shape->uplinks));
    plan->planes = (uint32_t)shape->planes;
    if (pairs) plan->links = plus(plan->links, times(pairs * shape->planes, shape->site_links));
    return plan_allocate(loader, plan);
}

static uint64_t copy_of(const struct shape *shape, uint64_t site, uint64_t plane)
{
    return site * shape->planes + plane;
}

/* A host's ports: the first `rails` NICs on the first leaf, the next on the next, on each plane of its site. */
static void link_host(struct plan *plan, const struct shape *shape, uint64_t host, uint64_t site, uint64_t first_leaf,
                      uint64_t rails)
{
    plan->node[host].gpus = (uint16_t)shape->gpus;
    for (uint64_t n = 0; n < shape->nics; n++)
        for (uint64_t p = 0; p < shape->planes; p++)
            plan_link(
                plan, (uint32_t)host,
                plan_node(plan, FABRIC_ROLE_LEAF, copy_of(shape, site, p) * shape->leaves + first_leaf + n / rails),
                &plan->host);
}

static void link_switches(struct plan *plan, const struct shape *shape)
{
    uint64_t each = shape->spines ? shape->uplinks / shape->spines : 0;

    for (uint64_t l = 0; l < shape->sites * shape->planes * shape->leaves; l++)
        for (uint64_t s = 0; s < shape->spines; s++)
            for (uint64_t i = 0; i < each; i++)
                plan_link(plan, plan_node(plan, FABRIC_ROLE_LEAF, l),
                          plan_node(plan, FABRIC_ROLE_SPINE, l / shape->leaves * shape->spines + s), &plan->fabric);
    for (uint64_t a = 0; a < shape->sites; a++)
        for (uint64_t b = a + 1; b < shape->sites; b++)
            for (uint64_t i = 0; i < shape->planes * shape->site_links; i++) {
                uint64_t plane = i / shape->site_links, spine = i % shape->site_links % shape->spines;
                plan_link(plan, plan_node(plan, FABRIC_ROLE_SPINE, copy_of(shape, a, plane) * shape->spines + spine),
                          plan_node(plan, FABRIC_ROLE_SPINE, copy_of(shape, b, plane) * shape->spines + spine),
                          &plan->site);
            }
}

#define CLOS_FIELDS                                                                                                    \
    HOST_FIELDS, SHAPE("leaves", leaves, 1, COUNT_MAX), SHAPE("spines", spines, 0, COUNT_MAX),                         \
        SHAPE("uplinks", uplinks, 0, 65534), F_CALL("oversubscription", read_oversubscription),                        \
        SHAPE("planes", planes, 1, PLANES_MAX), SHAPE("sites", sites, 1, SITES_MAX),                                   \
        SHAPE("site-links", site_links, 1, 65534),                                                                     \
        F_VALUE("distance", FIELD_LENGTH, struct shape, distance_mm, 1, 100000000000ull)

bool build_leaf_spine(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {CLOS_FIELDS};
    static const char what[] = "topology.leaf-spine";
    struct shape shape;

    bool good = shape_read(loader, map, what, fields, COUNT_OF(fields), &shape);
    good = shape_needs(loader, map, what, shape.leaves, "leaves", "") && good;
    good = shape_needs(loader, map, what, shape.hosts, "hosts", " (on each leaf)") && good;
    good = shape_needs_spines(loader, map, what, &shape) && good;
    if (!good) return false;
    if (!shape_uplinks(loader, map, what, &shape, plan, &plan->host, times(shape.hosts, shape.nics))) return false;
    if (!shape_sites(loader, map, what, &shape, plan)) return false;
    if (!allocate(loader, plan, &shape, times(shape.leaves, shape.hosts))) return false;
    for (uint64_t site = 0; site < shape.sites; site++) {
        for (uint64_t l = 0; l < shape.leaves; l++) {
            uint32_t pod = (uint32_t)(site * shape.leaves + l);
            for (uint64_t p = 0; p < shape.planes; p++)
                plan->node[plan_node(plan, FABRIC_ROLE_LEAF, copy_of(&shape, site, p) * shape.leaves + l)].pod = pod;
            for (uint64_t h = 0; h < shape.hosts; h++) {
                plan->node[pod * shape.hosts + h].pod = pod;
                link_host(plan, &shape, pod * shape.hosts + h, site, l, shape.nics);
            }
        }
    }
    link_switches(plan, &shape);
    return true;
}

/* How rails lie on leaves: hosts hang on `ways` leaves each, in groups with leaves of their own. */
static bool rail_groups(struct loader *loader, const struct tree *map, struct shape *shape, uint64_t *ret_groups)
{
    const struct tree *ways = tree_get(map, "ways");

    if (!ways) shape->ways = shape->leaves < shape->nics ? shape->leaves : shape->nics;
    if (shape->leaves == NOT_GIVEN) shape->leaves = shape->ways;
    if (ways && shape->nics % shape->ways) {
        read_error(loader, ways->at, "ways: %llu NICs of a host do not divide into %llu",
                   (unsigned long long)shape->nics, (unsigned long long)shape->ways);
        return false;
    }
    if (shape->nics % shape->ways || shape->leaves % shape->ways) {
        read_error(loader, map->at, "topology.rail: %llu leaves for %llu rails: one must be a multiple of the other",
                   (unsigned long long)shape->leaves, (unsigned long long)(ways ? shape->ways : shape->nics));
        return false;
    }
    *ret_groups = shape->leaves / shape->ways;
    if (*ret_groups <= shape->hosts) return true;
    read_error(loader, map->at, "topology.rail: %llu groups of leaves for %llu hosts", (unsigned long long)*ret_groups,
               (unsigned long long)shape->hosts);
    return false;
}

static void link_rails(struct plan *plan, const struct shape *shape, uint64_t groups)
{
    for (uint64_t l = 0; l < shape->sites * shape->planes * shape->leaves; l++) {
        uint64_t site = l / shape->leaves / shape->planes, group = l % shape->leaves / shape->ways;
        plan->node[plan_node(plan, FABRIC_ROLE_LEAF, l)].pod = (uint32_t)(site * groups + group);
    }
    for (uint64_t i = 0; i < shape->sites * shape->hosts; i++) {
        uint64_t site = i / shape->hosts, group = i % shape->hosts * groups / shape->hosts;
        plan->node[i].pod = (uint32_t)(site * groups + group);
        link_host(plan, shape, i, site, group * shape->ways, shape->nics / shape->ways);
    }
}

bool build_rail(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {CLOS_FIELDS, SHAPE("ways", ways, 1, NICS_MAX)};
    static const char what[] = "topology.rail";
    struct shape shape;
    uint64_t groups;

    bool good = shape_read(loader, map, what, fields, COUNT_OF(fields), &shape);
    good = shape_needs(loader, map, what, shape.hosts, "hosts", " (in all)") && good;
    good = shape_needs_spines(loader, map, what, &shape) && good;
    if (!good) return false;
    if (!rail_groups(loader, map, &shape, &groups)) return false;
    if (!shape_uplinks(loader, map, what, &shape, plan, &plan->host,
                       times((shape.hosts + groups - 1) / groups, shape.nics / shape.ways)))
        return false;
    if (!shape_sites(loader, map, what, &shape, plan)) return false;
    if (!allocate(loader, plan, &shape, shape.hosts)) return false;
    link_rails(plan, &shape, groups);
    link_switches(plan, &shape);
    return true;
}
