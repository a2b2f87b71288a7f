/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos class of service: forwarding classes, classifiers, congestion notification profiles, the shared buffer.
 *
 * Where nothing is said, four forwarding classes are there: best-effort in queue 0, fcoe in 3 and no-loss in 4, both
 * without loss, network-control in 7.  A class that is configured by one of these names has what is configured.
 */
#include <string.h>

#include "config/junos/junos_int.h"
#include "config/lines/lines.h"

static const struct junos_class defaults[] = {
    {.name = "best-effort", .queue = 0, .priority = -1, .tc = -1},
    {.name = "fcoe", .queue = 3, .priority = 3, .no_loss = true, .tc = -1},
    {.name = "no-loss", .queue = 4, .priority = 4, .no_loss = true, .tc = -1},
    {.name = "network-control", .queue = 7, .priority = -1, .tc = -1},
};

bool junos_number(struct junos *in, const struct junos_node *node, uint32_t low, uint32_t high, uint32_t *ret)
{
    uint64_t number;

    if (line_number(node->word, &number) && number >= low && number <= high) {
        *ret = (uint32_t)number;
        return true;
    }
    NOTE(in, node->line, "SYN001", CONFIG_NONE, "%.40s: '%.40s' is not a number from %u to %u",
         node->parent ? node->parent->word : "", node->word, low, high);
    return false;
}

static bool bits_of(const char *text, unsigned count, unsigned *ret)
{
    unsigned value = 0;

    if (strlen(text) != count || text[strspn(text, "01")]) return false;
    for (; *text; text++)
        value = value * 2 + (*text == '1');
    *ret = value;
    return true;
}

/* be, ef, af31, cs6, nc1: the system's own aliases. */
static bool named_point(const char *name, unsigned bits, unsigned *ret)
{
    static const char *const short_names[] = {"be", "be1", "ef", "ef1", "af11", "af12", "nc1", "nc2"};
    uint64_t dscp = 0;

    if (bits == 3) {
        for (unsigned i = 0; i < 8; i++)
            if (strcmp(name, short_names[i]) == 0) *ret = i;
        for (unsigned i = 0; i < 8; i++)
            if (strcmp(name, short_names[i]) == 0) return true;
        return false;
    }
    if (strcmp(name, "be") == 0 || strcmp(name, "nc1") == 0 || strcmp(name, "nc2") == 0) {
        *ret = name[0] == 'b' ? 0 : name[2] == '1' ? 48 : 56;
        return true;
    }
    if (name[0] >= '0' && name[0] <= '9') return false; /* a number is no code point here */
    if (!lines_dscps(name, &dscp) || !dscp) return false;
    *ret = (unsigned)__builtin_ctzll(dscp);
    return true;
}

bool junos_code_point(struct junos *in, const struct junos_node *node, unsigned bits, unsigned *ret)
{
    struct junos_node *aliases = junos_get(&in->tree, &in->tree.root,
                                           bits == 6 ? "class-of-service code-point-aliases dscp"
                                                     : "class-of-service code-point-aliases ieee-802.1");
    struct junos_node *alias = aliases ? junos_child(&in->tree, aliases, node->word) : NULL;

    if (alias && alias->last && bits_of(alias->last->word, bits, ret)) {
        junos_known_all(alias);
        return true;
    }
    if (bits_of(node->word, bits, ret) || named_point(node->word, bits, ret)) return true;
    NOTE(in, node->line, "SYN001", CONFIG_NONE, "'%.40s' is no code point: %u bits are expected, or an alias",
         node->word, bits);
    return false;
}

int junos_class_find(struct junos *in, const char *name, uint32_t line)
{
    static const char *const shorter[][2] = {{"be", "best-effort"}, {"nc", "network-control"}};

    for (unsigned i = 0; i < 2; i++)
        if (strcmp(name, shorter[i][0]) == 0) name = shorter[i][1];
    for (uint32_t c = 0; c < in->classes; c++)
        if (strcmp(in->class[c].name, name) == 0) return (int)c;
    if (line && strcmp(name, "mcast") != 0)
        NOTE(in, line, "MAP007", CONFIG_NONE, "forwarding class %.60s is not defined", name);
    return -1;
}

void *junos_use(void *list, uint32_t count, size_t size, const char *name)
{
    struct junos_named *named = list;

    for (; count > 0; count--, named = (struct junos_named *)((char *)named + size)) {
        if (strcmp(named->name, name) != 0) continue;
        named->used = true;
        return named;
    }
    return NULL;
}

void junos_undefined(struct junos *in, uint32_t line, const char *what, const char *name)
{
    NOTE(in, line, "MAP007", CONFIG_NONE, "%s %.60s is not defined", what, name);
}

static struct junos_class *class_add(struct junos *in, const char *name)
{
    int found = junos_class_find(in, name, 0);

    if (found >= 0) return &in->class[found];
    if (in->classes == JUNOS_CLASSES) return NULL;
    in->class[in->classes] = (struct junos_class){.name = name, .queue = 0, .priority = -1, .tc = -1};
    return &in->class[in->classes++];
}

static void read_class(struct junos *in, struct junos_node *node)
{
    struct junos_class *class = class_add(in, node->word);
    uint32_t number;

    if (!class) return;
    *class = (struct junos_class){
        .name = class->name, .queue = 0, .priority = -1, .tc = -1, .line = node->line, .configured = true};
    junos_known(node);
    struct junos_node *queue = junos_below(node, "queue-num"), *priority = junos_below(node, "pfc-priority");
    if (queue && junos_number(in, queue, 0, 11, &number)) {
        class->queue = (int)number;
        class->queue_line = queue->line;
    }
    if (priority && junos_number(in, priority, 0, JUNOS_PRIOS - 1, &number)) {
        class->priority = (int)number;
        class->priority_line = priority->line;
    }
    class->no_loss = junos_below(node, "no-loss") != NULL;
}

/* `class NAME queue-num N`, and the older `queue N NAME`. */
static void read_classes(struct junos *in, struct junos_node *cos)
{
    uint32_t number;

    for (unsigned i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        in->class[in->classes++] = defaults[i];
    for (struct junos_node *at = junos_first(&in->tree, cos, "forwarding-classes class"); at; at = at->next)
        read_class(in, at);
    for (struct junos_node *at = junos_first(&in->tree, cos, "forwarding-classes queue"); at; at = at->next) {
        struct junos_class *class = at->last ? class_add(in, at->last->word) : NULL;
        if (!class || !junos_number(in, at, 0, 11, &number)) continue;
        junos_known(at->last);
        class->queue = (int)number;
        class->line = class->queue_line = at->line;
        class->configured = true;
    }
}

static void classify(struct junos *in, struct junos_classifier *as, struct junos_node *points, int class)
{
    for (struct junos_node *point = points->first; point; point = point->next) {
        unsigned value;
        point->known = true;
        if (!junos_code_point(in, point, as->ieee ? 3 : 6, &value)) continue;
        if (as->at[value] && as->class[value] != class && class >= 0 && as->class[value] >= 0) {
            bool first = in->class[class].no_loss; /* the one with loss is the odd one */
            NOTE(in, first ? as->at[value] : point->line, "MAP001", CONFIG_NONE,
                 "classifier %.60s puts code point %u into %.60s and into %.60s", as->name, value,
                 in->class[as->class[value]].name, in->class[class].name);
            /* it was meant for another */
            UNJUDGED(in, point->line, "MAP006 MAP005", CONFIG_NONE,
                     "a code point is in two classes: which it was meant for is not known");
            if (!first) continue;
        }
        as->class[value] = (int8_t) class;
        as->at[value] = point->line;
    }
}

static void read_classifier(struct junos *in, struct junos_node *node, bool ieee)
{
    if (in->classifiers == in->named) return;
    struct junos_classifier *as = &in->classifier[in->classifiers++];
    struct junos_node *import = junos_value(&in->tree, node, "import");

    *as = (struct junos_classifier){.name = node->word, .line = node->line, .ieee = ieee};
    junos_known(node);
    memset(as->class, -1, sizeof(as->class));
    int control = junos_class_find(in, "network-control", 0);
    if (import && strcmp(import->word, "default") == 0 && !ieee && control >= 0) {
        as->class[48] = as->class[56] = (int8_t)control;
        in->class[control].used = true;
    }
    for (struct junos_node *at = junos_first(&in->tree, node, "forwarding-class"); at; at = at->next) {
        int class = junos_class_find(in, at->word, at->line);
        if (class >= 0) in->class[class].used = true;
        at->known = true;
        for (struct junos_node *loss = junos_first(&in->tree, at, "loss-priority"); loss; loss = loss->next) {
            struct junos_node *points = junos_get(&in->tree, loss, "code-points");
            if (points) classify(in, as, points, class);
        }
    }
    for (uint32_t c = 0; c < in->classes && !ieee; c++) {
        uint64_t dscps = 0;
        for (unsigned d = 0; d < 64; d++)
            if (as->class[d] == (int)c) dscps |= UINT64_C(1) << d;
        config_class_dscps(in->set, in->device, in->class[c].name, dscps);
    }
}

static void read_classifiers(struct junos *in, struct junos_node *cos)
{
    for (struct junos_node *at = junos_first(&in->tree, cos, "classifiers dscp"); at; at = at->next)
        read_classifier(in, at, false);
    for (struct junos_node *at = junos_first(&in->tree, cos, "classifiers ieee-802.1"); at; at = at->next)
        read_classifier(in, at, true);
}

static void read_input(struct junos *in, struct junos_pauses *as, struct junos_node *input)
{
    struct junos_node *points[2] = {junos_get(&in->tree, input, "dscp code-point"),
                                    junos_get(&in->tree, input, "ieee-802.1 code-point")};
    struct junos_node *cable = junos_value(&in->tree, input, "cable-length");

    as->input_line = input->line;
    if (cable && junos_number(in, cable, 1, 100000, &as->cable_m)) as->cable_line = cable->line;
    if (points[0] && points[1])
        NOTE(in, points[1]->line, "SYN001", CONFIG_NONE,
             "congestion-notification-profile %.60s has code points of DSCP and of 802.1p: only one kind is allowed",
             as->name);
    for (unsigned kind = 0; kind < 2; kind++) {
        for (struct junos_node *at = points[kind] ? points[kind]->first : NULL; at; at = at->next) {
            unsigned value;
            struct junos_node *pfc = junos_get(&in->tree, at, "pfc");
            struct junos_node *mru = junos_value(&in->tree, pfc, "mru");
            if (!junos_code_point(in, at, kind ? 3 : 6, &value) || !pfc) continue;
            if (kind)
                as->prios |= (uint8_t)(1u << value);
            else
                as->dscps |= UINT64_C(1) << value;
            *(kind ? &as->prio_line[value] : &as->dscp_line[value]) = at->line;
            if (mru && junos_number(in, mru, 64, 65535, &as->mru)) as->mru_line = mru->line;
        }
    }
}

static void read_output(struct junos *in, struct junos_pauses *as, struct junos_node *output)
{
    as->output = true;
    as->output_line = output->line;
    for (struct junos_node *at = junos_first(&in->tree, output, "ieee-802.1 code-point"); at; at = at->next) {
        struct junos_node *queues = junos_first(&in->tree, at, "flow-control-queue");
        unsigned value;
        uint32_t queue;
        if (!junos_code_point(in, at, 3, &value)) continue;
        for (struct junos_node *q = queues; q; q = q->next) {
            q->known = true;
            if (!junos_number(in, q, 0, JUNOS_PRIOS - 1, &queue)) continue;
            as->queues[value] |= (uint8_t)(1u << queue);
            as->queue_line[value] = q->line;
            as->point_line[value] = at->line;
        }
    }
}

static void read_time(struct junos *in, struct junos_node *watch, const char *word, const uint32_t range[2],
                      uint32_t *ret, uint32_t *ret_line)
{
    struct junos_node *value = junos_value(&in->tree, watch, word);
    uint64_t number;

    if (!value) return;
    *ret_line = value->line;
    if (!line_number(value->word, &number) || number < range[0] || number > range[1])
        NOTE(in, value->line, "WD002", CONFIG_NONE, "pfc-watchdog: %s %.20s is out of range: %u to %u", word,
             value->word, range[0], range[1]);
    if (line_number(value->word, &number) && number > 0 && number <= 1000000) *ret = (uint32_t)number;
}

static void read_watchdog(struct junos *in, struct junos_pauses *as, struct junos_node *watch)
{
    static const uint32_t polls[2] = {JUNOS_POLL_LEAST_MS, JUNOS_POLL_MOST_MS};
    static const uint32_t detection[2] = {JUNOS_POLLS_LEAST, JUNOS_POLLS_MOST};
    static const uint32_t recovery[2] = {JUNOS_RECOVERY_LEAST_MS, JUNOS_RECOVERY_MOST_MS};
    struct junos_node *action = junos_value(&in->tree, watch, "watchdog-action");

    as->watch = true;
    as->watch_line = watch->line;
    read_time(in, watch, "poll-interval", polls, &as->poll_ms, &as->poll_line);
    read_time(in, watch, "detection", detection, &as->polls, &as->polls_line);
    read_time(in, watch, "recovery", recovery, &as->recovery_ms, &as->recovery_line);
    if (!action) return;
    as->action_line = action->line;
    as->forward = strcmp(action->word, "forward") == 0;
}

static void read_pauses(struct junos *in, struct junos_node *cos)
{
    for (struct junos_node *at = junos_first(&in->tree, cos, "congestion-notification-profile");
         at && in->pauseses < in->named; at = at->next) {
        struct junos_pauses *as = &in->pauses[in->pauseses++];
        *as = (struct junos_pauses){.name = at->word,
                                    .line = at->line,
                                    .poll_ms = JUNOS_POLL_DEFAULT_MS,
                                    .polls = JUNOS_POLLS_DEFAULT,
                                    .recovery_ms = JUNOS_RECOVERY_DEFAULT_MS};
        struct junos_node *input = junos_get(&in->tree, at, "input"), *output = junos_get(&in->tree, at, "output");
        struct junos_node *watch = junos_get(&in->tree, at, "pfc-watchdog");
        junos_known(at);
        if (input) read_input(in, as, input);
        if (output) read_output(in, as, output);
        if (watch) read_watchdog(in, as, watch);
    }
}

void junos_cos(struct junos *in, struct junos_node *cos)
{
    read_classes(in, cos);
    read_classifiers(in, cos);
    read_pauses(in, cos);
    junos_schedules(in, cos);
    junos_buffers(in, cos);
}
