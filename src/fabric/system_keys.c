/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys belong to which systems, once for all layers of a file.
 *
 * A key that a system does not have is an error where it stands, with what the system has instead: a setting that
 * nothing looks at would be believed.  One that is switched off (`pfc: false`) says what is true, and may stay.
 * Whether a value is good is the loader's to say, not decided here.
 */
#include "fabric/system_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/systems.h"

#define DATA_CLASS_TEXT 512

#define ROCE (FABRIC_SYSTEM(FABRIC_ROCEV2) | FABRIC_SYSTEM(FABRIC_ROCEV1))
#define TCPS (FABRIC_SYSTEM(FABRIC_TCP) | FABRIC_SYSTEM(FABRIC_IWARP))
#define RELIABLE_CONNECTION (ROCE | FABRIC_SYSTEM(FABRIC_INFINIBAND))
#define MARKED                                                                                                         \
    (FABRIC_SYSTEM(FABRIC_ROCEV2) | FABRIC_SYSTEM(FABRIC_UET) | FABRIC_SYSTEM(FABRIC_TCP) | FABRIC_SYSTEM(FABRIC_IWARP))

struct reason { /* why a group of keys belongs to some, and what the others have */
    uint32_t systems;
    const char *owner;
    const char *instead[FABRIC_SYSTEMS];
};
static const struct reason pauses = {.systems = ROCE,
                                     .owner = "RoCE",
                                     .instead = {[FABRIC_INFINIBAND] = "has credits",
                                                 [FABRIC_UET] = "has no pauses",
                                                 [FABRIC_TCP] = "has no pauses",
                                                 [FABRIC_IWARP] = "has no pauses"}};
static const struct reason connections = {.systems = RELIABLE_CONNECTION,
                                          .owner = "RoCE and InfiniBand",
                                          .instead = {[FABRIC_UET] = "has its own under 'uet'",
                                                      [FABRIC_TCP] = "has its own under 'tcp'",
                                                      [FABRIC_IWARP] = "has its own under 'tcp'"}};
static const struct reason notified = {.systems = FABRIC_SYSTEM(FABRIC_ROCEV2),
                                       .owner = "RoCEv2",
                                       .instead = {[FABRIC_ROCEV1] = "has no marks, so nobody is notified",
                                                   [FABRIC_INFINIBAND] = "answers FECN with BECN",
                                                   [FABRIC_UET] = "carries marks in its ACKs",
                                                   [FABRIC_TCP] = "carries marks in its ACKs",
                                                   [FABRIC_IWARP] = "carries marks in its ACKs"}};
static const struct reason marks = {
    .systems = MARKED,
    .owner = "systems over IP",
    .instead = {[FABRIC_ROCEV1] = "has no ECN field that a switch marks", [FABRIC_INFINIBAND] = "has FECN"}};

static const struct reason lanes = {.systems = FABRIC_SYSTEM(FABRIC_INFINIBAND),
                                    .owner = "InfiniBand",
                                    .instead = {[FABRIC_ROCEV2] = "has 'pfc'",
                                                [FABRIC_ROCEV1] = "has 'pfc'",
                                                [FABRIC_UET] = "has no lanes",
                                                [FABRIC_TCP] = "has no lanes",
                                                [FABRIC_IWARP] = "has no lanes"}};

static const struct reason channels = {
    .systems = ROCE | FABRIC_SYSTEM(FABRIC_UET),
    .owner = "RoCE and Ultra Ethernet",
    .instead = {
        [FABRIC_INFINIBAND] = "has 'credits'", [FABRIC_TCP] = "has no credits", [FABRIC_IWARP] = "has no credits"}};

static const struct reason routing = {.systems = ~FABRIC_SYSTEM(FABRIC_INFINIBAND),
                                      .owner = "systems over Ethernet",
                                      .instead = {[FABRIC_INFINIBAND] = "has a subnet manager: 'sm'"}};
static const struct reason headers = {.systems = ~FABRIC_SYSTEM(FABRIC_INFINIBAND),
                                      .owner = "systems over Ethernet",
                                      .instead = {[FABRIC_INFINIBAND] = "has service levels: 'sl-to-vl'"}};
static const struct reason addresses = {.systems = ~FABRIC_SYSTEM(FABRIC_INFINIBAND),
                                        .owner = "systems over Ethernet",
                                        .instead = {[FABRIC_INFINIBAND] = "routes by LID, and floods nothing"}};
static const struct reason queues = {
    .systems = ~FABRIC_SYSTEM(FABRIC_INFINIBAND),
    .owner = "systems over Ethernet",
    .instead = {[FABRIC_INFINIBAND] = "keeps a packet on its lane, in a shared buffer"}};
static const struct reason of_tcp = {.systems = FABRIC_SYSTEM(FABRIC_TCP) | FABRIC_SYSTEM(FABRIC_IWARP),
                                     .owner = "TCP and iWARP",
                                     .instead = {[FABRIC_ROCEV2] = "has 'congestion', 'recovery' and 'timeout'",
                                                 [FABRIC_ROCEV1] = "has 'congestion', 'recovery' and 'timeout'",
                                                 [FABRIC_INFINIBAND] = "has 'congestion', 'recovery' and 'timeout'",
                                                 [FABRIC_UET] = "has its own under 'uet'"}};

static const struct reason of_ethernet = {
    .systems = ~FABRIC_SYSTEM(FABRIC_INFINIBAND),
    .owner = "systems over Ethernet",
    .instead = {[FABRIC_INFINIBAND] = "has retries of its own, which are not modelled"}};

static const struct reason kernel = {.systems = FABRIC_SYSTEM(FABRIC_TCP),
                                     .owner = "TCP",
                                     .instead = {[FABRIC_IWARP] = "keeps no core busy: its adapter does the work"}};
static const struct reason adapter = {.systems = FABRIC_SYSTEM(FABRIC_IWARP),
                                      .owner = "iWARP",
                                      .instead = {[FABRIC_TCP] = "has streams without frames in them"}};

#define OWN_TRANSPORT "has 'congestion', 'recovery' and 'timeout' under 'nics'"
static const struct reason of_uet = {.systems = FABRIC_SYSTEM(FABRIC_UET),
                                     .owner = "Ultra Ethernet",
                                     .instead = {[FABRIC_ROCEV2] = OWN_TRANSPORT,
                                                 [FABRIC_ROCEV1] = OWN_TRANSPORT,
                                                 [FABRIC_INFINIBAND] = OWN_TRANSPORT,
                                                 [FABRIC_TCP] = "has its own under 'tcp'",
                                                 [FABRIC_IWARP] = "has its own under 'tcp'"}};

#define WHOLE "has packets that are never trimmed"
static const struct reason trimmed = {.systems = FABRIC_SYSTEM(FABRIC_UET),
                                      .owner = "Ultra Ethernet",
                                      .instead = {[FABRIC_ROCEV2] = WHOLE,
                                                  [FABRIC_ROCEV1] = WHOLE,
                                                  [FABRIC_INFINIBAND] = WHOLE,
                                                  [FABRIC_TCP] = WHOLE,
                                                  [FABRIC_IWARP] = WHOLE}};

struct key { /* of a layer (switches, nics, roles, devices, ports), or of a class */
    const char *name;
    const struct reason *reason;
    bool of_class;
};
static const struct key keys[] = {
    {"pfc", &pauses, false},
    {"pfc-mode", &pauses, false},
    {"pause", &pauses, false},
    {"pause-quanta", &pauses, false},
    {"pause-reaction", &pauses, false},
    {"headroom-cable", &pauses, false},
    {"headroom-mtu", &pauses, false},
    {"headroom-pool", &pauses, false},
    {"refresh-pauses", &pauses, false},
    {"watchdog", &pauses, false},
    {"watched", &pauses, false},
    {"drop-unknown-lossless", &pauses, false},
    {"congestion", &connections, false},
    {"timeout", &connections, false},
    {"retry", &connections, false},
    {"rnr-retry", &connections, false},
    {"rnr-timer", &connections, false},
    {"recovery", &connections, false},
    {"reorder", &connections, false},
    {"max-read", &connections, false},
    {"window", &connections, false},
    {"window-packets", &connections, false},
    {"nak-repeat", &connections, false},
    {"adaptive-retransmission", &connections, false},
    {"ack", &connections, false},
    {"cnp-class", &notified, false},
    {"cnp-dscp", &notified, false},
    {"dcqcn", &notified, false},
    {"vls", &lanes, false},
    {"sl-to-vl", &lanes, false},
    {"vl-arbitration", &lanes, false},
    {"credits", &lanes, false},
    {"fecn", &lanes, false},
    {"sm", &lanes, false},
    {"converge", &routing, false},
    {"trust", &headers, false},
    {"dscp-map", &headers, false},
    {"pcp-map", &headers, false},
    {"raise", &queues, false},
    {"flood", &addresses, false},
    {"misroute", &routing, false},
    {"tcp", &of_tcp, false},
    {"uet", &of_uet, false},
    {"cpu-rate", &kernel, false}, /* these are under `tcp` */
    {"cores", &kernel, false},
    {"markers", &adapter, false},
    {"placement", &adapter, false},
    {"reassembly", &adapter, false},
    {"llr", &of_ethernet, false},
    {"cbfc", &channels, false},
    {"xoff", &pauses, true},
    {"xon", &pauses, true},
    {"headroom", &pauses, true},
    {"ecn", &marks, true},
    {"trim", &trimmed, true},
};

struct walk {
    struct tree *root;
    uint8_t system;    /* the file's */
    uint32_t together; /* its and those of its classes */
    bool leave_out;
    bool cbfc; /* links have credits */
    struct arena *arena;
    struct fabric_errors *errors;
};

static uint8_t system_named(const struct tree *map, uint8_t otherwise)
{
    const struct tree *value = tree_get(map, "system");

    enum fabric_system named = value && value->type == TREE_SCALAR ? fabric_system_find(value->text) : FABRIC_SYSTEMS;
    return named == FABRIC_SYSTEMS ? otherwise : (uint8_t)named;
}

bool system_read(struct loader *loader, const struct tree *value, uint8_t *ret)
{
    enum fabric_system named = value->type == TREE_SCALAR ? fabric_system_find(value->text) : FABRIC_SYSTEMS;
    uint32_t choice = named;

    if (named == FABRIC_SYSTEMS && !read_choice(loader, value, fabric_system_names, &choice)) return false;
    *ret = (uint8_t)choice;
    return true;
}

uint8_t tree_system(const struct tree *root)
{
    return system_named(root, FABRIC_ROCEV2);
}

static bool is_off(const struct tree *value)
{
    return value->type == TREE_SCALAR && (strcmp(value->text, "false") == 0 || strcmp(value->text, "no") == 0);
}

static const struct key *find_key(const char *name, bool of_class)
{
    for (uint32_t i = 0; i < COUNT_OF(keys); i++)
        if (keys[i].of_class == of_class && strcmp(keys[i].name, name) == 0) return &keys[i];
    return NULL;
}

/* A class that is lossless needs a line that holds senders back. */
static bool lossless_in_vain(const struct walk *walk, const struct tree *item, bool of_class, uint8_t system)
{
    return of_class && !walk->cbfc && fabric_systems[system].link == FABRIC_LINK_NONE &&
           strcmp(item->key, "lossless") == 0;
}

/* DCQCN would be run on marks that RoCEv1 has not, and in the place of InfiniBand's own. */
static bool others_congestion(const struct tree *item, uint8_t system)
{
    const struct tree *use = item->type == TREE_MAP ? tree_get(item, "use") : item;

    return (system == FABRIC_ROCEV1 || system == FABRIC_INFINIBAND) && strcmp(item->key, "congestion") == 0 && use &&
           use->type == TREE_SCALAR && strncmp(use->text, "dcqcn", 5) == 0;
}

/* Virtual output queues are lossless by pauses. */
static bool is_voq(const struct tree *item, uint8_t system)
{
    return system == FABRIC_INFINIBAND && strcmp(item->key, "architecture") == 0 && item->type == TREE_SCALAR &&
           strcmp(item->text, "voq") == 0;
}

/* What credits replace, and what a lane that is known by a packet's DSCP, and keeps its buffer, does not allow. */
static bool beside_credits(const struct tree *item, const struct key *key)
{
    if (key && (key->reason == &pauses || key->reason == &queues || key->reason == &addresses)) return true;
    if (item->type != TREE_SCALAR) return strcmp(item->key, "architecture") == 0;
    return (strcmp(item->key, "trust") == 0 && strcmp(item->text, "pcp") == 0) ||
           (strcmp(item->key, "architecture") == 0 && strcmp(item->text, "voq") == 0);
}

static bool judge(const struct walk *walk, const struct tree *item, bool of_class, uint8_t system, uint32_t systems)
{
    const struct key *key = find_key(item->key, of_class);
    const char *title = fabric_systems[system].title;

    if (is_off(item)) return true;
    if (walk->cbfc && beside_credits(item, key)) {
        fabric_errors_add(walk->errors, item->key_at, "'%s' cannot be had on links with 'cbfc', which have credits",
                          item->key);
        return false;
    }
    if (lossless_in_vain(walk, item, of_class, system)) {
        fabric_errors_add(walk->errors, item->key_at, "'lossless' needs pauses or credits, and %s has neither", title);
        return false;
    }
    if (others_congestion(item, system)) {
        fabric_errors_add(walk->errors, item->key_at,
                          "'congestion: dcqcn' belongs to RoCEv2; %s has its own default: %s", title,
                          system == FABRIC_INFINIBAND ? "none, or ibcc/default" : "none, for nothing is marked");
        return false;
    }
    if (is_voq(item, system)) {
        fabric_errors_add(walk->errors, item->key_at, "'architecture: voq' belongs to %s; %s %s", queues.owner, title,
                          queues.instead[system]);
        return false;
    }
    if (key == NULL || key->reason->systems & systems || key->reason->instead[system] == NULL) return true;
    fabric_errors_add(walk->errors, item->key_at, "'%s' belongs to %s; %s %s", item->key, key->reason->owner, title,
                      key->reason->instead[system]);
    return false;
}

/* Takes what stands after `before` (NULL: the first) out of a map or list. */
static void leave_out(struct tree *from, struct tree *before, struct tree *item)
{
    if (before)
        before->next = item->next;
    else
        from->first = item->next;
    if (from->last == item) from->last = before;
    from->count--;
}

/* The keys of one map. */
static void judge_map(const struct walk *walk, struct tree *map, bool of_class, uint8_t system, uint32_t systems)
{
    struct tree *before = NULL;

    if (map->type != TREE_MAP) return;
    for (struct tree *item = map->first, *next; item; item = next) {
        next = item->next;
        if (judge(walk, item, of_class, system, systems) || !walk->leave_out) {
            before = item;
            continue;
        }
        leave_out(map, before, item);
    }
}

/* A fault is left out whole: without its word it would be none. */
static void judge_faults(const struct walk *walk, struct tree *faults)
{
    struct tree *before = NULL;

    for (struct tree *fault = faults->type == TREE_LIST ? faults->first : NULL, *next; fault; fault = next) {
        const struct tree *word = fault->type == TREE_MAP ? fault->first : NULL;
        next = fault->next;
        while (word && strcmp(word->key, "pause") != 0 && strcmp(word->key, "flood") != 0 &&
               strcmp(word->key, "misroute") != 0)
            word = word->next;
        if (word == NULL || judge(walk, word, false, walk->system, walk->together) || !walk->leave_out)
            before = fault;
        else
            leave_out(faults, before, fault);
    }
}

/* The system of the class of this name: its own, or the file's. */
static uint8_t class_system(const struct walk *walk, const char *name)
{
    const struct tree *classes = tree_get(walk->root, "classes");

    for (const struct tree *item = classes && classes->type == TREE_LIST ? classes->first : NULL; item;
         item = item->next) {
        const struct tree *named = tree_get(item, "name");
        if (named && named->type == TREE_SCALAR && strcmp(named->text, name) == 0)
            return system_named(item, walk->system);
    }
    return walk->system;
}

static void judge_layer(const struct walk *walk, struct tree *layer)
{
    struct walk within = *walk; /* what is said here of `tcp` is not said again by its reader */

    within.leave_out = true;
    judge_map(walk, layer, false, walk->system, walk->together);
    if (layer->type != TREE_MAP) return;
    for (struct tree *item = layer->first; item; item = item->next) {
        if (strcmp(item->key, "tcp") == 0 && walk->together & TCPS)
            judge_map(&within, item, false, walk->together & FABRIC_SYSTEM(FABRIC_IWARP) ? FABRIC_IWARP : FABRIC_TCP,
                      walk->together);
        for (struct tree *one = item->type == TREE_MAP ? item->first : NULL; one; one = one->next) {
            uint8_t system = class_system(walk, one->key);
            if (strcmp(item->key, "classes") == 0) judge_map(walk, one, true, system, FABRIC_SYSTEM(system));
            if (strcmp(item->key, "ports") == 0) judge_layer(walk, one);
        }
    }
}

/* Where a file of one system is run on others: a class of another system than the file's that this one cannot have
 * beside it is of the file's. */
static void judge_own_system(const struct walk *walk, struct tree *class)
{
    struct tree *before = NULL;
    uint8_t own = system_named(class, walk->system);
    bool beside = own == FABRIC_TCP && ROCE >> walk->system & 1;

    if (!walk->leave_out || class->type != TREE_MAP || own == walk->system || beside) return;
    for (struct tree *item = class->first; item; before = item, item = item->next) {
        if (strcmp(item->key, "system") != 0) continue;
        fabric_errors_add(walk->errors, item->key_at,
                          "'system: %s' of a class: not beside %s, so the class is of it too", fabric_system_names[own],
                          fabric_systems[walk->system].title);
        leave_out(class, before, item);
        return;
    }
}

/* What is left of packets travels in the class of CNPs where the file has one: behind data it would come too late. */
static void trim_into_control(const struct walk *walk, struct tree *trim)
{
    const struct tree *classes = tree_get(walk->root, "classes"), *dscp = NULL;

    for (const struct tree *one = classes->first; one; one = one->next) {
        const struct tree *name = tree_get(one, "name");
        bool control =
            name && name->type == TREE_SCALAR && (strcmp(name->text, "cnp") == 0 || strcmp(name->text, "control") == 0);
        if (control) dscp = tree_get(one, "dscp");
    }
    for (struct tree *item = trim->first; dscp && dscp->type == TREE_SCALAR && item; item = item->next)
        if (strstr(item->key, "dscp")) item->text = dscp->text;
}

/* Where a lossless class of RoCE is run on Ultra Ethernet it is that one's own class of data: without trimming late
 * packets would be taken for lost, and nobody runs it so who need not. */
static bool give_trimming(struct walk *walk, struct tree *class)
{
    const struct tree *lossless = class->type == TREE_MAP ? tree_get(class, "lossless") : NULL;
    struct fabric_errors none = {0};
    struct tree *own = NULL, *before = NULL;
    char text[DATA_CLASS_TEXT];

    if (!walk->leave_out || walk->system != FABRIC_UET || !lossless || is_off(lossless) || tree_get(class, "trim"))
        return true;
    fabric_errors_add(walk->errors, lossless->key_at,
                      "'lossless' needs pauses or credits, and Ultra Ethernet has neither: this class marks and trims");
    int length = snprintf(text, sizeof(text), "{%s}", fabric_systems[FABRIC_UET].data_class);
    CHECK(length > 0 && (size_t)length < sizeof(text));
    if (tree_parse(text, (size_t)length, walk->arena, &own, &none) != 0) return false; /* no memory */
    tree_relocate(own, lossless->at);
    for (struct tree *item = class->first, *next; item; item = next) {
        next = item->next;
        if (item == lossless || tree_get(own, item->key))
            leave_out(class, before, item);
        else
            before = item;
    }
    for (struct tree *item = own->first, *next; item; item = next) {
        next = item->next;
        item->next = NULL;
        if (strcmp(item->key, "trim") == 0) trim_into_control(walk, item);
        tree_append(class, item);
    }
    return true;
}

static bool judge_classes(struct walk *walk, struct tree *classes)
{
    for (struct tree *one = classes->type == TREE_LIST ? classes->first : NULL; one; one = one->next) {
        judge_own_system(walk, one);
        if (!give_trimming(walk, one)) return false;
        uint8_t system = system_named(one, walk->system);
        judge_map(walk, one, true, system, FABRIC_SYSTEM(system));
        walk->together |= FABRIC_SYSTEM(system);
    }
    return true;
}

bool system_keys(struct tree *root, bool leave_out, struct arena *arena, struct fabric_errors *errors)
{
    struct walk walk = {
        .root = root, .system = tree_system(root), .leave_out = leave_out, .arena = arena, .errors = errors};

    if (root->type != TREE_MAP) return true;
    walk.together = FABRIC_SYSTEM(walk.system);
    walk.cbfc = tree_get(root, "cbfc") && !is_off(tree_get(root, "cbfc")) && channels.systems & walk.together;
    judge_map(&walk, root, false, walk.system, walk.together);
    for (struct tree *item = root->first; item; item = item->next)
        if (strcmp(item->key, "classes") == 0 && !judge_classes(&walk, item)) return false;
    for (struct tree *item = root->first; item; item = item->next) {
        if (strcmp(item->key, "switches") == 0 || strcmp(item->key, "nics") == 0) judge_layer(&walk, item);
        if (strcmp(item->key, "faults") == 0) judge_faults(&walk, item);
        bool named = strcmp(item->key, "roles") == 0 || strcmp(item->key, "devices") == 0;
        named |= strcmp(item->key, "links") == 0;
        for (struct tree *one = named && item->type == TREE_MAP ? item->first : NULL; one; one = one->next)
            judge_layer(&walk, one);
    }
    return true;
}
