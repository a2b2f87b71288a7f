/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults: what happens to a link, a node or an endpoint, and when.
 *
 *     faults:
 *       - {down: leaf0:3, at: 1ms, for: 5ms}
 *       - {flap: leaf0:3, at: 1ms, every: 10ms, down: 1ms, times: 5}
 *       - {corrupt: h3, ber: 1e-9}
 *       - {reset: leaf0, at: 2ms, for: 60ms}
 *
 * The file has more words than the simulator has kinds: a flap is some downs, a reset a down of a whole switch, lost
 * lanes a slow line, a drain a withdrawal of routes and then a down.  A fault that is repeated becomes as many
 * entries, so whoever runs them knows nothing of repetition.
 */
#include "fabric/faults.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "fabric/topology/topology.h"

#define FAULTS_MAX 10000         /* what holds on a port is found by looking through them */
#define SCRATCH_BYTES (1u << 20) /* for a fault by itself */
#define AHEAD_PS PS_MS           /* of a drain: from moving the routes to going down */
#define ELSEWHERE_LOSS "loss"
#define OPTICS_LIMIT 70 /* degrees Celsius that an optic bears; hotter, its bits may be wrong */

const char *const fabric_fault_kind_name[FABRIC_FAULT_KINDS] = {
    [FABRIC_FAULT_DOWN] = "down",         [FABRIC_FAULT_CORRUPT] = "corrupt",
    [FABRIC_FAULT_DROP] = "drop",         [FABRIC_FAULT_PAUSE] = "pause",
    [FABRIC_FAULT_SLOW] = "slow",         [FABRIC_FAULT_WITHDRAW] = "withdraw",
    [FABRIC_FAULT_FLOOD] = "flood",       [FABRIC_FAULT_RECEIVE] = "receive",
    [FABRIC_FAULT_MISROUTE] = "misroute", [FABRIC_FAULT_HOT_OPTICS] = "hot-optics",
    [FABRIC_FAULT_SLOW_GPU] = "slow-gpu",
};

enum target { TARGET_ANY, TARGET_LINK, TARGET_SWITCH, TARGET_HOST, TARGET_GPU };
enum word {
    WORD_DOWN,
    WORD_CORRUPT,
    WORD_DROP,
    WORD_PAUSE,
    WORD_SLOW,
    WORD_FLAP,
    WORD_LANES,
    WORD_RESET,
    WORD_WITHDRAW,
    WORD_DRAIN,
    WORD_FLOOD,
    WORD_RECEIVE,
    WORD_MISROUTE,
    WORD_HOT_OPTICS,
    WORD_SLOW_GPU,
    WORDS
};
static const char *const fabric_fault_names[WORDS] = {"down",  "corrupt", "drop",     "pause",      "slow",
                                                      "flap",  "lanes",   "reset",    "withdraw",   "drain",
                                                      "flood", "receive", "misroute", "hot-optics", "slow-gpu"};

static const struct {
    uint8_t kind, target;
    const char *keys;    /* that mean something to it besides at, for, every and times */
    const char *needs;   /* one of these must be there; NULL: none */
    const char *example; /* of what it needs */
} words[WORDS] = {
    [WORD_DOWN] = {FABRIC_FAULT_DOWN, TARGET_ANY, "", NULL, NULL},
    [WORD_CORRUPT] = {FABRIC_FAULT_CORRUPT, TARGET_ANY, " share ber way ", " share ber ",
                      "a share, as in {corrupt: h0, share: 1%}"},
    [WORD_DROP] = {FABRIC_FAULT_DROP, TARGET_ANY, " way ", " every ", "every, as in {drop: h0, every: 256}"},
    [WORD_PAUSE] = {FABRIC_FAULT_PAUSE, TARGET_ANY, " priority ", NULL, NULL},
    [WORD_SLOW] = {FABRIC_FAULT_SLOW, TARGET_HOST, " share way ", " share ", "a share, as in {slow: h0, share: 1%}"},
    [WORD_FLAP] = {FABRIC_FAULT_DOWN, TARGET_LINK, " down ", " down ",
                   "down, as in {flap: leaf0:3, every: 10ms, down: 1ms, times: 5}"},
    [WORD_LANES] = {FABRIC_FAULT_SLOW, TARGET_LINK, " lost of way ", " lost ",
                    "lost, as in {lanes: leaf0:3, lost: 1, of: 4}"},
    [WORD_RESET] = {FABRIC_FAULT_DOWN, TARGET_SWITCH, "", " for ", "for, as in {reset: leaf0, at: 1ms, for: 60ms}"},
    [WORD_WITHDRAW] = {FABRIC_FAULT_WITHDRAW, TARGET_ANY, "", NULL, NULL},
    [WORD_DRAIN] = {FABRIC_FAULT_WITHDRAW, TARGET_SWITCH, " ahead ", " for ",
                    "for, as in {drain: leaf0, at: 1ms, for: 60ms}"},
    [WORD_FLOOD] = {FABRIC_FAULT_FLOOD, TARGET_HOST, "", NULL, NULL},
    [WORD_RECEIVE] = {FABRIC_FAULT_RECEIVE, TARGET_HOST, " rate ", " rate ", "a rate, as in {receive: h0, rate: 50G}"},
    [WORD_MISROUTE] = {FABRIC_FAULT_MISROUTE, TARGET_LINK, " to ", " to ", "to, as in {misroute: leaf0:8, to: h5}"},
    [WORD_HOT_OPTICS] = {FABRIC_FAULT_HOT_OPTICS, TARGET_LINK, " temperature pre-fec-ber ber ", " temperature ",
                         "a temperature, as in {hot-optics: leaf0:3, temperature: 78C}"},
    [WORD_SLOW_GPU] = {FABRIC_FAULT_SLOW_GPU, TARGET_GPU, " factor ", " factor ",
                       "a factor, as in {slow-gpu: h0:2, factor: 1.5}"},
};

struct raw_fault {
    struct fabric_fault as;
    enum word word;
    uint64_t share_ppm, priority, every_ps, every_count, times, lost, of, down_ps, ahead_ps, rate_bps, ber;
};

struct fault_array {
    struct fabric_fault *fault;
    uint32_t count, room;
};

static bool among(const char *list, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = list; at && (at = strstr(at, key)) != NULL; at++)
        if (at > list && at[-1] == ' ' && at[length] == ' ') return true;
    return false;
}

/* What is wrong with a name that is none. */
static void say_unknown(struct loader *loader, const struct tree *value, const char *name)
{
    const struct fabric *fabric = loader->fabric;
    const char *colon = strrchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    const char *part = arena_strndup(&loader->scratch, name, length);
    struct nearest nearest;

    if (!part) {
        loader->no_memory = true;
        return;
    }
    uint32_t node = fabric_find_node(fabric, part);
    if (node != FABRIC_NONE) {
        uint32_t ports = fabric->node[node].ports;
        if (ports == 0)
            read_error(loader, value->at, "%s: there is no cabled port '%s': %s has no ports", value->key, name, part);
        else
            read_error(loader, value->at, "%s: there is no cabled port '%s': %s has ports 0 to %u", value->key, name,
                       part, ports - 1);
        return;
    }
    nearest_init(&nearest, part);
    for (uint32_t n = 0; n < fabric->nodes && n < 8192; n++)
        nearest_try(&nearest, fabric->node[n].name);
    if (nearest.word)
        read_error(loader, value->at, "%s: nothing is named '%s'; did you mean '%s%s'?", value->key, name, nearest.word,
                   colon ? colon : "");
    else
        read_error(loader, value->at, "%s: nothing is named '%s'; write a node or a port, as in leaf0 or leaf0:3",
                   value->key, name);
}

static void check_target(struct loader *loader, const struct tree *value, const struct raw_fault *raw)
{
    const struct fabric *fabric = loader->fabric;
    const char *word = fabric_fault_names[raw->word];
    bool host = raw->as.node < fabric->hosts, whole = raw->as.port == FABRIC_NONE;

    switch (words[raw->word].target) {
    case TARGET_LINK:
        if (whole)
            read_error(loader, value->at, "%s: a link is expected, named by one of its ports, as in leaf0:3", word);
        break;
    case TARGET_SWITCH:
        if (host || !whole) read_error(loader, value->at, "%s: a switch is expected, as in leaf0", word);
        break;
    case TARGET_HOST:
        if (!host) read_error(loader, value->at, "%s: a host or a port of one is expected, as in h0 or h0:1", word);
        break;
    default:
        break;
    }
}

static void read_target(struct loader *loader, const struct tree *value, struct raw_fault *raw)
{
    const struct fabric *fabric = loader->fabric;
    const char *name = NULL;

    if (!read_text(loader, value, &name) || loader->blind) return;
    if (words[raw->word].target == TARGET_GPU) {
        raw->as.gpu = gpu_read(loader, name, value->at, &raw->as.gpus);
        if (raw->as.gpu != FABRIC_NONE) raw->as.node = fabric->gpu_host[raw->as.gpu];
        return;
    }
    raw->as.node = fabric_find_node(fabric, name);
    if (raw->as.node == FABRIC_NONE) {
        uint32_t port = fabric_find_port(fabric, name);
        if (port == FABRIC_NONE || fabric->port[port].peer == FABRIC_NONE) {
            say_unknown(loader, value, name);
            return;
        }
        raw->as.port = port;
        raw->as.node = fabric->port[port].node;
    }
    check_target(loader, value, raw);
}

/* As strtod() in C: a program that loads a file through the library may have a decimal comma. */
static double number(const char *text, char **ret_end)
{
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    double value = c ? strtod_l(text, ret_end, c) : strtod(text, ret_end);

    if (c) freelocale(c);
    return value;
}

/* `1e-9`: a share of bits, as a fraction of 2^64. */
static void read_error_rate(struct loader *loader, const struct tree *value, uint64_t *into)
{
    const char *text = NULL;
    char *end;

    if (!read_text(loader, value, &text)) return;
    double ber = number(text, &end);
    if (end == text || *end != '\0' || !(ber >= 1e-18 && ber <= 0.5)) {
        read_error(loader, value->at, "%s: '%s' is no bit error rate, as in 1e-9 (1e-18 to 0.5)", value->key, text);
        return;
    }
    *into = (uint64_t)(ber * 18446744073709551616.0);
}

static void read_ber(struct loader *loader, const struct tree *value, void *into)
{
    read_error_rate(loader, value, &((struct raw_fault *)into)->ber);
}

static void read_pre_fec_ber(struct loader *loader, const struct tree *value, void *into)
{
    read_error_rate(loader, value, &((struct raw_fault *)into)->as.pre_fec_ber);
}

/* `78C`. */
static void read_temperature(struct loader *loader, const struct tree *value, void *into)
{
    const char *text = NULL;
    unsigned celsius;
    char unit, more;

    if (!read_text(loader, value, &text)) return;
    if (sscanf(text, "%3u%c%c", &celsius, &unit, &more) != 2 || unit != 'C' || celsius == 0 || celsius > 150)
        read_error(loader, value->at, "temperature: '%s': degrees Celsius are expected, as in 78C (1C to 150C)", text);
    else
        ((struct raw_fault *)into)->as.celsius = celsius;
}

/* `1.5`: how many times as long. */
static void read_factor(struct loader *loader, const struct tree *value, void *into)
{
    const char *text = NULL;
    char *end;

    if (!read_text(loader, value, &text)) return;
    double factor = number(text, &end);
    if (end == text || *end != '\0' || !(factor >= 1 && factor <= 1000))
        read_error(loader, value->at, "factor: '%s': how many times as long compute takes, as in 1.5 (1 to 1000)",
                   text);
    else
        ((struct raw_fault *)into)->as.factor_milli = (uint32_t)(factor * 1000 + 0.5);
}

/* Of `drop` a number of packets, of all others the time from one to the next. */
static void read_every(struct loader *loader, const struct tree *value, struct raw_fault *raw)
{
    if (raw->word == WORD_DROP)
        read_unit(loader, value, UNIT_COUNT, 1, UINT32_MAX, &raw->every_count);
    else
        read_unit(loader, value, UNIT_TIME, PS_NS, 0, &raw->every_ps);
}

static void read_to(struct loader *loader, const struct tree *value, void *into)
{
    const struct fabric *fabric = loader->fabric;
    struct fabric_fault *fault = &((struct raw_fault *)into)->as;
    const char *name = NULL;

    if (!read_text(loader, value, &name) || loader->blind) return;
    uint32_t node = fabric_find_node(fabric, name), endpoint = fabric_find_endpoint(fabric, name);
    if (endpoint == FABRIC_NONE) {
        say_unknown(loader, value, name);
        return;
    }
    fault->to = endpoint;
    fault->to_count = node == FABRIC_NONE ? 1 : fabric->node[node].ports;
}

static const char *const ways[] = {"both", "in", "out", NULL};
static const struct field fault_fields[] = {
    F_VALUE("at", FIELD_TIME, struct raw_fault, as.at, 0, 0),
    F_VALUE("for", FIELD_TIME, struct raw_fault, as.lasts_ps, 1, 0),
    F_VALUE("share", FIELD_SHARE, struct raw_fault, share_ppm, 0, 1000000),
    F_CALL("ber", read_ber),
    F_CALL("temperature", read_temperature),
    F_CALL("pre-fec-ber", read_pre_fec_ber),
    F_CALL("factor", read_factor),
    F_CHOICE("way", struct raw_fault, as.way, ways),
    F_VALUE("priority", FIELD_COUNT, struct raw_fault, priority, 0, 7),
    F_VALUE("times", FIELD_COUNT, struct raw_fault, times, 1, FAULTS_MAX),
    F_VALUE("lost", FIELD_COUNT, struct raw_fault, lost, 1, 64),
    F_VALUE("of", FIELD_COUNT, struct raw_fault, of, 2, 64),
    F_VALUE("ahead", FIELD_TIME, struct raw_fault, ahead_ps, 0, 0),
    F_VALUE("rate", FIELD_RATE, struct raw_fault, rate_bps, 1000, 0),
    F_IGNORE("every"),
    F_IGNORE("down"),
    F_IGNORE("corrupt"),
    F_IGNORE("drop"),
    F_IGNORE("pause"),
    F_IGNORE("slow"),
    F_IGNORE("flap"),
    F_IGNORE("lanes"),
    F_IGNORE("reset"),
    F_IGNORE("withdraw"),
    F_IGNORE("drain"),
    F_IGNORE("flood"),
    F_IGNORE("receive"),
    F_IGNORE("misroute"),
    F_IGNORE("hot-optics"),
    F_IGNORE("slow-gpu"),
    F_CALL("to", read_to),
};

/* The keys that are there, against those that mean something to this kind. */
static void check_keys(struct loader *loader, const struct tree *item, const struct raw_fault *raw)
{
    const char *word = fabric_fault_names[raw->word], *needs = words[raw->word].needs;
    bool found = needs == NULL;

    for (const struct tree *key = item->first; key; key = key->next) {
        found |= needs && among(needs, key->key);
        if (strcmp(key->key, word) == 0 || among(" at for every times ", key->key)) continue;
        if (!among(words[raw->word].keys, key->key))
            read_error(loader, key->key_at, "%s means nothing to %s", key->key, word);
    }
    if (!found) read_error(loader, item->at, "%s needs %s", word, words[raw->word].example);
}

/* `converge` is there and was refused, or it would be on. */
static bool converge_wrong(const struct loader *loader)
{
    const struct tree *converge = tree_get(loader->root, "converge");

    return converge &&
           (converge->type != TREE_SCALAR || (strcmp(converge->text, "false") && strcmp(converge->text, "no")));
}

static void check_values(struct loader *loader, const struct tree *item, const struct raw_fault *raw)
{
    const char *word = fabric_fault_names[raw->word];

    if (raw->word == WORD_SLOW && raw->share_ppm == 0)
        read_error(loader, tree_get(item, "share")->at, "slow: a share of 0 is a line that is down: write {down: h0}");
    if (raw->word == WORD_CORRUPT && raw->share_ppm != NOT_GIVEN && raw->ber)
        read_error(loader, tree_get(item, "ber")->key_at, "corrupt: share (of frames) or ber (of bits), not both");
    if (raw->word == WORD_LANES && raw->lost >= raw->of)
        read_error(loader, tree_get(item, "lost")->at, "lanes: all %llu are lost: write {down: leaf0:3}",
                   (unsigned long long)raw->of);
    if (raw->word == WORD_HOT_OPTICS && raw->as.celsius <= OPTICS_LIMIT && (raw->ber || raw->as.pre_fec_ber))
        read_error(loader, tree_get(item, "temperature")->at,
                   "hot-optics: an optic bears %uC: bits go wrong above %dC alone", raw->as.celsius, OPTICS_LIMIT);
    if (raw->word == WORD_MISROUTE && !loader->blind && raw->as.node < loader->fabric->hosts)
        read_error(loader, tree_get(item, word)->at, "misroute: a port of a switch is expected, as in leaf0:8");
    if ((raw->word == WORD_WITHDRAW || raw->word == WORD_DRAIN) && !loader->fabric->converge.on &&
        !converge_wrong(loader))
        read_error(loader, item->at, "%s: routes do not move without 'converge: true' at the top level", word);
}

/* How often, and how far apart. */
static void check_times(struct loader *loader, const struct tree *item, const struct raw_fault *raw)
{
    const char *word = fabric_fault_names[raw->word];
    bool again = raw->every_ps != NOT_GIVEN, flap = raw->word == WORD_FLAP;
    ps_t one = flap ? raw->down_ps : raw->as.lasts_ps;

    if (flap && tree_get(item, "for"))
        read_error(loader, tree_get(item, "for")->key_at, "for means nothing to flap: it is down for `down` each time");
    if (flap && !again) {
        read_error(loader, item->at, "flap needs every, as in {flap: leaf0:3, every: 10ms, down: 1ms, times: 5}");
        return;
    }
    if (!again && raw->times != 1) {
        read_error(loader, tree_get(item, "times")->key_at, "%s needs every, the time from one to the next, with times",
                   word);
        return;
    }
    if (!again) return;
    if (tree_get(item, "times") == NULL)
        read_error(loader, tree_get(item, "every")->key_at, "%s needs times, the number of repetitions, with every",
                   word);
    if (one == PS_NEVER)
        read_error(loader, tree_get(item, "every")->key_at, "%s needs for, how long it lasts, with every", word);
    else if (one >= raw->every_ps)
        read_error(loader, tree_get(item, "every")->at, "%s: it lasts longer than the time from one to the next", word);
}

static bool append(struct loader *loader, struct fault_array *to, const struct fabric_fault *fault)
{
    if (to->count == to->room) {
        uint32_t room = to->room ? to->room * 2 : 16;
        struct fabric_fault *grown = SCRATCH_NEW(loader, struct fabric_fault, room);
        if (!grown) return false;
        if (to->count) memcpy(grown, to->fault, to->count * sizeof(*grown));
        to->fault = grown;
        to->room = room;
    }
    to->fault[to->count++] = *fault;
    return true;
}

/* Each time it happens; a drain is two things each time. */
static void append_all(struct loader *loader, const struct tree *item, const struct raw_fault *raw,
                       struct fault_array *to)
{
    if (raw->times > FAULTS_MAX - to->count) {
        read_error(loader, item->at, "more than %d faults, repetitions counted", FAULTS_MAX);
        return;
    }
    for (uint64_t i = 0; i < raw->times; i++) {
        struct fabric_fault one = raw->as;
        if (i) one.at = raw->every_ps > (PS_NEVER - one.at) / i ? PS_NEVER : one.at + i * raw->every_ps;
        if (raw->word == WORD_FLAP) one.lasts_ps = raw->down_ps;
        if (raw->word == WORD_DRAIN) {
            struct fabric_fault down = one;
            down.kind = FABRIC_FAULT_DOWN;
            down.at = ps_add(one.at, raw->ahead_ps);
            one.lasts_ps = ps_add(one.lasts_ps, raw->ahead_ps);
            if (!append(loader, to, &down)) return;
        }
        if (!append(loader, to, &one)) return;
    }
}

bool fabric_fault_is_word(const char *text)
{
    for (int w = 0; w < WORDS; w++)
        if (strcmp(text, fabric_fault_names[w]) == 0) return true;
    return strcmp(text, ELSEWHERE_LOSS) == 0;
}

/* `rocelab run --fault` and others call it so.  Told before the keys are looked at: none of them is the mistake. */
static bool is_loss(struct loader *loader, struct fabric_at at, bool there)
{
    if (there) read_error(loader, at, "a fault 'loss' is called corrupt, as in: corrupt leaf0:0 share 1%%");
    return there;
}

static bool find_word(struct loader *loader, const struct tree *item, struct raw_fault *raw)
{
    uint32_t kinds = 0;

    for (int w = 0; w < WORDS; w++) {
        if (!tree_get(item, fabric_fault_names[w])) continue;
        if (w == WORD_DOWN && tree_get(item, "flap")) continue; /* there it is a time */
        kinds++;
        raw->word = (enum word)w;
    }
    if (kinds == 1) return true;
    read_error(loader, item->at,
               "a fault is one of down, flap, reset, drain, withdraw, misroute, corrupt, drop, lanes, slow, receive, "
               "pause, flood, hot-optics, slow-gpu, with its target");
    return false;
}

/* In one line, keys and values in turn, the word first. */
static const char *fault_text(struct loader *loader, const struct tree *item, const char *word)
{
    const struct tree *first = tree_get(item, word);
    size_t room = 1;
    char *text, *to;

    for (const struct tree *key = item->first; key; key = key->next)
        room += strlen(key->key) + strlen(key->text) + 2;
    text = to = read_alloc(loader, loader->keep, room, 1);
    if (!text) return NULL;
    to += snprintf(to, room, "%s %s", first->key, first->text);
    for (const struct tree *key = item->first; key; key = key->next)
        if (key != first) to += snprintf(to, room - (size_t)(to - text), " %s %s", key->key, key->text);
    return text;
}

/* at: where the fault does not say when. */
static void read_fault(struct loader *loader, const struct tree *item, ps_t at, struct fault_array *to)
{
    struct raw_fault raw = {
        .as = {.at = at, .lasts_ps = PS_NEVER, .node = FABRIC_NONE, .port = FABRIC_NONE, .where = item->at},
        .share_ppm = NOT_GIVEN,
        .priority = NOT_GIVEN,
        .every_ps = NOT_GIVEN,
        .times = 1,
        .of = 4,
        .down_ps = PS_NEVER,
        .ahead_ps = AHEAD_PS};
    struct field_set set = {fault_fields, COUNT_OF(fault_fields), &raw};
    const struct fabric *fabric = loader->fabric;
    uint32_t before = loader->errors->count + loader->errors->more;

    if (is_loss(loader, item->at, tree_get(item, ELSEWHERE_LOSS) != NULL)) return;
    if (!read_map(loader, item, "fault", &set, 1) || !find_word(loader, item, &raw)) return;
    read_target(loader, tree_get(item, fabric_fault_names[raw.word]), &raw);
    check_keys(loader, item, &raw);
    if (tree_get(item, "every")) read_every(loader, tree_get(item, "every"), &raw);
    if (raw.word == WORD_FLAP && tree_get(item, "down"))
        read_unit(loader, tree_get(item, "down"), UNIT_TIME, 1, 0, &raw.down_ps);
    if (loader->errors->count + loader->errors->more != before) return;
    check_values(loader, item, &raw);
    check_times(loader, item, &raw);
    raw.as.kind = words[raw.word].kind;
    raw.as.word = fabric_fault_names[raw.word];
    raw.as.ppm = raw.share_ppm == NOT_GIVEN ? 0 : (uint32_t)raw.share_ppm;
    if (raw.word == WORD_LANES) raw.as.ppm = (uint32_t)((raw.of - raw.lost) * 1000000 / raw.of);
    raw.as.every = (uint32_t)raw.every_count;
    raw.as.ber = raw.ber;
    raw.as.rate_bps = raw.rate_bps;
    if (raw.priority != NOT_GIVEN) {
        raw.as.priority = (uint8_t)raw.priority;
    } else {
        for (uint32_t c = fabric->class_count; c-- > 0;)
            if (fabric->classes[c].lossless) raw.as.priority = fabric->classes[c].priority;
    }
    if (loader->errors->count + loader->errors->more != before) return;
    raw.as.text = fault_text(loader, item, raw.as.word);
    if (raw.as.text) append_all(loader, item, &raw, to);
}

/* Behind those that the fabric has. */
static bool keep(struct loader *loader, const struct fault_array *found)
{
    struct fabric *fabric = loader->fabric;
    struct fabric_fault *fault = KEEP_NEW(loader, struct fabric_fault, fabric->faults + found->count);

    if (!fault) return false;
    if (fabric->faults) memcpy(fault, fabric->fault, fabric->faults * sizeof(*fault));
    if (found->count) memcpy(fault + fabric->faults, found->fault, found->count * sizeof(*fault));
    fabric->fault = fault;
    fabric->faults += found->count;
    for (uint32_t i = 0; i < found->count; i++) {
        fabric->slow_gpus += found->fault[i].kind == FABRIC_FAULT_SLOW_GPU;
        fabric->hot_optics += found->fault[i].kind == FABRIC_FAULT_HOT_OPTICS;
    }
    return true;
}

bool faults_load(struct loader *loader)
{
    const struct tree *list = loader->part[PART_FAULTS];
    uint32_t before = loader->errors->count + loader->errors->more;
    struct fault_array found = {0};

    if (!list) return true;
    if (!read_is_list(loader, list, "faults")) return false;
    for (const struct tree *item = list->first; item; item = item->next)
        read_fault(loader, item, 0, &found);
    return keep(loader, &found) && loader->errors->count + loader->errors->more == before && !loader->no_memory;
}

/* `down leaf0:3 for 5ms` as a map: its words are keys and values in turn. */
static bool words_to_map(struct loader *loader, const char *text, char *map, size_t room)
{
    static const char usual[] = "a fault is written as in: down leaf0:3 for 5ms";
    size_t used = (size_t)snprintf(map, room, "{");
    unsigned count = 0;
    size_t first = strcspn(text += strspn(text, " \t"), " \t");

    if (is_loss(loader, (struct fabric_at){0}, first == strlen(ELSEWHERE_LOSS) && !memcmp(text, ELSEWHERE_LOSS, first)))
        return false;
    while (*(text += strspn(text, " \t"))) {
        int length = (int)strcspn(text, " \t");
        if (memchr(text, '\'', (size_t)length)) break;
        used += (size_t)snprintf(map + used, room - used, count % 2 ? "'%.*s', " : "%.*s: ", length, text);
        if (used + 2 >= room) break;
        text += length;
        count++;
    }
    if (*text || count == 0 || count % 2) {
        read_error(loader, (struct fabric_at){0}, "%s", usual);
        return false;
    }
    memcpy(map + used, "}", 2);
    return true;
}

int fabric_faults_add(struct fabric *fabric, const char *text, ps_t at, struct fabric_errors *errors)
{
    struct loader loader = {.fabric = fabric, .keep = &fabric->arena, .errors = errors};
    struct fault_array found = {0};
    struct tree *root;
    char map[1000];

    arena_init(&loader.scratch, SCRATCH_BYTES);
    int error = words_to_map(&loader, text, map, sizeof map) ? 0 : -EINVAL;
    if (error == 0) error = tree_parse(map, strlen(map), &loader.scratch, &root, errors);
    if (error == 0 && !tree_refuse_controls(root, errors)) error = -EINVAL;
    if (error == 0) {
        tree_relocate(root, (struct fabric_at){0});
        loader.root = root;
        read_fault(&loader, root, at, &found);
        for (uint32_t i = 0; i < found.count; i++)
            if (found.fault[i].at < at) {
                read_error(&loader, (struct fabric_at){0}, "at: that time is over");
                break;
            }
        error = errors->count ? -EINVAL : loader.no_memory || !keep(&loader, &found) ? -ENOMEM : 0;
    }
    arena_release(&loader.scratch);
    return error;
}
