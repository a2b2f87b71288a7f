/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos class of service: drop profiles, schedulers and their maps, partitions of the shared buffer.
 */
#include <stdlib.h>
#include <string.h>

#include "config/junos/junos_int.h"
#include "config/lines/lines.h"

static void add_point(struct junos *in, struct junos_profile *as, struct junos_node *fill, struct junos_node *chance)
{
    if (fill && as->fills < JUNOS_POINTS && junos_number(in, fill, 0, 100, &as->fill[as->fills])) {
        if (!as->fill_line) as->fill_line = fill->line;
        as->fill_at[as->fills++] = fill->line;
        junos_known(fill);
    }
    if (chance && as->chances < JUNOS_POINTS && junos_number(in, chance, 0, 100, &as->chance[as->chances])) {
        as->chance_at[as->chances++] = chance->line;
        junos_known(chance);
    }
}

static void judge_profile(struct junos *in, const struct junos_profile *as)
{
    const char *wrong = NULL;
    uint32_t line = as->fill_line ? as->fill_line : as->line;

    for (uint32_t i = 1; i < as->fills && !wrong; i++) {
        if (as->fill[i] > as->fill[i - 1]) continue;
        wrong = "the fill levels do not rise";
        line = as->fill_at[as->fills > 2 ? i : i - 1]; /* of two, the lower one was written too high */
    }
    for (uint32_t i = 1; i < as->chances && !wrong; i++) {
        if (as->chance[i] >= as->chance[i - 1]) continue;
        wrong = "the probabilities fall";
        line = as->chance_at[i];
    }
    if (!wrong && (as->fills < 2 || as->fills != as->chances)) {
        wrong = "two fill levels and two probabilities are expected";
        if (as->chances && as->chances < as->fills) line = as->chance_at[as->chances - 1];
    }
    if (!wrong && as->chance[as->chances - 1] == 0) {
        wrong = "it never marks";
        line = as->chance_at[as->chances - 1];
    }
    if (wrong) NOTE(in, line, "ECN002", CONFIG_NONE, "drop-profile %.60s: %s", as->name, wrong);
}

/* `interpolate { fill-level [ 55 90 ]; drop-probability [ 0 100 ]; }`, or `fill-level 55 drop-probability 10;` each.  A
 * `set` line may name each point behind the one before: `fill-level 55 fill-level 90 drop-probability 0 ...`. */
static void read_profile(struct junos *in, struct junos_node *node)
{
    if (in->profiles == in->named) return;
    struct junos_profile *as = &in->profile[in->profiles++];
    struct junos_node *curve = junos_get(&in->tree, node, "interpolate");

    *as = (struct junos_profile){.name = node->word, .line = node->line};
    junos_known(node);
    for (struct junos_node *at = NULL, *of = curve ? curve : node; (at = junos_next_below(of, at));) {
        bool fill = strcmp(at->parent->word, "fill-level") == 0;
        bool chance = strcmp(at->parent->word, "drop-probability") == 0;
        if (at->parent != of && (fill || chance)) add_point(in, as, fill ? at : NULL, chance ? at : NULL);
    }
    judge_profile(in, as);
}

static void read_rate(struct junos *in, struct junos_scheduler *as, struct junos_node *rate)
{
    struct junos_node *percent = junos_get(&in->tree, rate, "percent");

    as->rate_line = rate->line;
    if (percent && percent->last) {
        junos_known(percent->last);
        junos_number(in, percent->last, 1, 100, &as->percent);
        as->rate_line = percent->last->line;
        return;
    }
    struct junos_node *value = rate->last;
    if (!value) return;
    junos_known_all(value);
    if (strcmp(value->word, "remainder") != 0)
        NOTE(in, value->line, NULL, CONFIG_NONE,
             "scheduler %.60s: transmit-rate %.20s is no part of the line: its share is not known", as->name,
             value->word);
}

/* `shaping-rate 40g;` or `shaping-rate percent 10;` */
static void read_shape(struct junos *in, struct junos_scheduler *as, struct junos_node *shape)
{
    struct junos_node *percent = junos_get(&in->tree, shape, "percent");
    struct junos_node *value = percent ? percent->last : shape->last;
    uint32_t number;
    uint64_t rate;

    if (!value) return;
    if (percent) {
        if (!junos_number(in, value, 1, 100, &number)) return;
        as->shaped_percent = number;
    } else {
        size_t digits = strspn(value->word, "0123456789");
        const char *unit = value->word + digits;
        uint64_t scale = strcmp(unit, "g") == 0   ? 1000000000u
                         : strcmp(unit, "m") == 0 ? 1000000u
                         : strcmp(unit, "k") == 0 ? 1000u
                         : !*unit                 ? 1u
                                                  : 0u;
        if (!digits || digits > 12 || !scale) return;
        rate = strtoull(value->word, NULL, 10);
        if (rate > UINT64_MAX / scale) return;
        as->shaped = rate * scale;
    }
    as->shaped_line = value->line;
    junos_known_all(shape);
}

/* A class without loss that may send less than the share it is promised.  The rate of a port is not known here: those
 * called et- have 100 Gbit/s and more wherever there is none of 10 beside them. */
static void judge_shape(struct junos *in, const struct junos_scheduler *as, const struct junos_class *class)
{
    const uint64_t percent = 1000000000u; /* of 100 Gbit/s */
    uint32_t promised = as->percent ? as->percent : 25;
    bool slow = strstr(in->text->text, "xe-") || strstr(in->text->text, "ge-");

    if (!class->no_loss || !as->shaped_line) return;
    if (as->shaped_percent ? as->shaped_percent >= promised : slow || as->shaped >= promised * percent) return;
    CAUTION(in, as->shaped_line, "SCH001", CONFIG_NONE,
            "scheduler %.60s holds class %.60s, which is without loss, below the share of %u %% that it is due: what "
            "is over waits, and is paused",
            as->name, class->name, promised);
}

static void read_scheduler(struct junos *in, struct junos_node *node)
{
    if (in->schedulers == in->named) return;
    struct junos_scheduler *as = &in->scheduler[in->schedulers++];
    struct junos_node *rate = junos_get(&in->tree, node, "transmit-rate");
    struct junos_node *priority = junos_value(&in->tree, node, "priority");
    struct junos_node *ecn = junos_get(&in->tree, node, "explicit-congestion-notification");
    struct junos_node *drops = junos_get(&in->tree, node, "drop-profile-map");

    struct junos_node *threshold = junos_value(&in->tree, node, "buffer-dynamic-threshold");
    uint32_t alpha;

    *as = (struct junos_scheduler){.name = node->word, .line = node->line, .alpha = -1};
    junos_known(node);
    if (threshold && junos_number(in, threshold, 0, JUNOS_ALPHA_MOST, &alpha)) as->alpha = (int)alpha;
    if (rate) read_rate(in, as, rate);
    struct junos_node *shape = junos_get(&in->tree, node, "shaping-rate");
    if (shape) read_shape(in, as, shape);
    if (priority) {
        as->strict = strcmp(priority->word, "strict-high") == 0 || strcmp(priority->word, "strict") == 0;
        as->strict_line = priority->line;
    }
    as->ecn = ecn != NULL;
    as->ecn_line = ecn ? ecn->line : 0;
    struct junos_node *drop = drops ? junos_below(drops, "drop-profile") : NULL;
    if (!drop) return;
    junos_known_all(drops);
    as->drop_line = drop->line;
    as->drop = JUNOS_USE(in->profile, in->profiles, drop->word);
    if (!as->drop) junos_undefined(in, drop->line, "drop-profile", drop->word);
}

static void read_map(struct junos *in, struct junos_node *node)
{
    if (in->maps == in->named) return;
    struct junos_map *as = &in->map[in->maps++];

    *as = (struct junos_map){.name = node->word, .line = node->line};
    junos_known(node);
    for (struct junos_node *at = junos_first(&in->tree, node, "forwarding-class"); at; at = at->next) {
        int class = junos_class_find(in, at->word, at->line);
        struct junos_node *name = junos_value(&in->tree, at, "scheduler");
        at->known = true;
        if (!name || class < 0) continue;
        in->class[class].used = true;
        as->scheduler[class] = JUNOS_USE(in->scheduler, in->schedulers, name->word);
        if (!as->scheduler[class]) junos_undefined(in, name->line, "scheduler", name->word);
        as->at[class] = name->line;
        if (as->scheduler[class]) judge_shape(in, as->scheduler[class], &in->class[class]);
    }
}

void junos_schedules(struct junos *in, struct junos_node *cos)
{
    for (struct junos_node *at = junos_first(&in->tree, cos, "drop-profiles"); at; at = at->next)
        read_profile(in, at);
    for (struct junos_node *at = junos_first(&in->tree, cos, "schedulers"); at; at = at->next)
        read_scheduler(in, at);
    for (struct junos_node *at = junos_first(&in->tree, cos, "scheduler-maps"); at; at = at->next)
        read_map(in, at);
}

/* The per cent of a partition, and their line; 0: not said. */
static uint32_t percent_of(struct junos *in, struct junos_node *way, const char *part, uint32_t *ret_line)
{
    struct junos_node *partition = junos_get(&in->tree, way, "buffer-partition");
    struct junos_node *node = partition ? junos_get(&in->tree, partition, part) : NULL;
    struct junos_node *value = junos_value(&in->tree, node, "percent");
    uint32_t percent = 0;

    *ret_line = value && junos_number(in, value, 0, 100, &percent) ? value->line : 0;
    return percent;
}

/* The partitions of one way through the switch.  Those that come in are all of it, by the vendor's page; of those that
 * go out the vendor's own configurations leave a part to nobody. */
static void judge_partitions(struct junos *in, struct junos_node *way, const char *const parts[3], bool whole)
{
    uint32_t sum = 0, most = 0, line = way->line, at;
    bool all = true;

    for (unsigned i = 0; i < 3; i++) {
        uint32_t percent = percent_of(in, way, parts[i], &at);
        sum += percent;
        all = all && at;
        if (at && percent > most) most = percent, line = at;
        if (at && !percent && strncmp(parts[i], "lossless", 8) == 0)
            NOTE(in, at, "HR001", CONFIG_NONE,
                 strcmp(parts[i], "lossless") == 0
                     ? "shared-buffer %s: the lossless partition has 0 %%: queues without loss have no buffer"
                     : "shared-buffer %s: lossless-headroom has 0 %%: what still arrives after a pause is lost",
                 way->word);
    }
    if (sum <= 100) line = way->line; /* something is missing */
    if (sum > 100 || (whole && all && sum < 100))
        NOTE(in, line, "SYN001", CONFIG_NONE,
             "shared-buffer %s: the partitions add up to %u %%, and 100 %% is what there is", way->word, sum);
}

void junos_buffers(struct junos *in, struct junos_node *cos)
{
    static const char *const ingress[3] = {"lossless", "lossless-headroom", "lossy"};
    static const char *const egress[3] = {"lossless", "lossy", "multicast"};
    struct junos_node *shared = junos_get(&in->tree, cos, "shared-buffer");
    struct junos_node *ways[2] = {junos_get(&in->tree, shared, "ingress"), junos_get(&in->tree, shared, "egress")};
    static const char *const names[2] = {"buffer-partition lossy dynamic-threshold",
                                         "buffer-partition lossless dynamic-threshold"};
    uint32_t alpha, line;

    in->alpha = in->egress_alpha[0] = in->egress_alpha[1] = -1;
    if (ways[0]) judge_partitions(in, ways[0], ingress, true);
    if (ways[1]) judge_partitions(in, ways[1], egress, false);
    for (int lossless = 0; lossless < 2 && ways[1]; lossless++) {
        struct junos_node *out = junos_value(&in->tree, ways[1], names[lossless]);
        if (out && junos_number(in, out, 0, JUNOS_ALPHA_MOST, &alpha)) in->egress_alpha[lossless] = (int)alpha;
        in->egress_percent[lossless] = percent_of(in, ways[1], lossless ? "lossless" : "lossy", &line);
        in->egress_said[lossless] = line != 0;
    }
    struct junos_node *threshold = ways[0] ? junos_value(&in->tree, ways[0], names[1]) : NULL;
    if (threshold && junos_number(in, threshold, 0, JUNOS_ALPHA_MOST, &alpha)) {
        in->alpha = (int)alpha;
        in->alpha_line = threshold->line;
    }
}
