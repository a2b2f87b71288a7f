/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chakra execution traces (MLCommons; schema et_def 0.0.4 and 1.x): a graph of what one rank did, as protobuf
 * messages each after its length, or as the JSON that Chakra's feeder reads.  Every rank runs the same graph, or each
 * its own.
 *
 * Of a node these are read: id, type, whose data it depends on (control dependencies are the recording's call stack,
 * and Chakra's own feeder does not heed them), its duration (microseconds), and of its attributes comm_type,
 * comm_size, comm_group or pg_name, comm_src, comm_dst, comm_tag, is_cpu_op.  The decoder skips what it does not know,
 * never reads past a message, and keeps no more than the file holds.
 *
 * Nodes are put in order: of those whose dependencies are met, the smallest id first, so that all ranks make their
 * collectives in the same order; but a send or receive that waits for nothing comes at once, since another rank may
 * need it to go on.  Compute takes its time one after the other; what a CPU does takes none; collectives, sends and
 * receives go on beside, and whoever depends on one waits for it.  Of a collective that is "all but the last so many of
 * its group", since those of a group end in their order.
 *
 * A single graph does not say who receives what it sends, so sends and receives need a graph a rank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "jobs/training_int.h"

#define NODES_MAX 4000000u
#define BYTES_MAX (1ull << 50)
#define MICROS_MAX 1000000000ull
#define NONE UINT64_MAX

enum { NODE_COMPUTE = 4, NODE_SEND = 5, NODE_RECV = 6, NODE_COLLECTIVE = 7 };

struct node {
    uint64_t id, type, micros;
    uint64_t comm_type, comm_size, src, dst, tag; /* NONE: not said; tag: 0 */
    bool cpu;
    uint8_t group;
    uint32_t first_dep, deps, left; /* into deps; left: not met */
    uint32_t first_after, afters;   /* who depends on it */
    uint32_t hands;                 /* what it is to wait for: into hand, plus 1; 0: nothing */
    uint64_t offset;                /* in the file; of JSON its line */
};

/* Something under way that nodes wait for: a collective, by how many its group had before; a send or receive, by its
 * number. */
struct hand {
    uint32_t next; /* plus 1 */
    uint32_t number;
    uint8_t group;
};

struct graph {
    struct loader *loader;
    const struct trace *trace;
    struct node *node;
    uint64_t *dep;
    uint32_t nodes, node_capacity, deps, dep_capacity;
    uint32_t *after;
    bool lines; /* offsets are lines */
    struct hand *hand;
    uint32_t hands, hand_capacity;
    uint32_t started[FABRIC_GROUPS];
    uint32_t rank;           /* whose it is */
    struct pair_list *pairs; /* NULL: every rank's */
};

static bool wrong(const struct graph *graph, uint64_t offset, const char *what)
{
    trace_error(graph->loader, graph->trace, 0, 0, "%s %llu: %s", graph->lines ? "line" : "byte",
                (unsigned long long)offset, what);
    return false;
}

static void *grow(struct graph *graph, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    uint32_t wanted = *capacity ? *capacity * 2 : 256;
    void *larger = read_alloc(graph->loader, &graph->loader->scratch, wanted, size);
    if (!larger) return NULL;
    if (count) memcpy(larger, array, count * size);
    *capacity = wanted;
    return larger;
}

static bool add_node(struct graph *graph, const struct node *node)
{
    if (graph->nodes == NODES_MAX) return wrong(graph, node->offset, "more than 4 million nodes");
    struct node *list = grow(graph, graph->node, graph->nodes, &graph->node_capacity, sizeof(*list));
    if (!list) return false;
    graph->node = list;
    list[graph->nodes++] = *node;
    return true;
}

static bool add_dep(struct graph *graph, struct node *node, uint64_t id)
{
    uint64_t *list = grow(graph, graph->dep, graph->deps, &graph->dep_capacity, sizeof(*list));

    if (!list) return false;
    graph->dep = list;
    list[graph->deps++] = id;
    node->deps++;
    return true;
}

/* Protobuf: a message is a range of bytes. */
struct range {
    const uint8_t *at, *end;
};

static bool take_varint(struct range *range, uint64_t *ret)
{
    uint64_t value = 0;

    for (uint32_t shift = 0; shift < 64 && range->at < range->end; shift += 7) {
        uint8_t byte = *range->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        *ret = value;
        return true;
    }
    return false;
}

struct field_of { /* a field of a message */
    uint32_t number, wire;
    uint64_t value;
    struct range bytes;
};

static bool take_field(struct range *range, struct field_of *ret)
{
    uint64_t tag;

    if (!take_varint(range, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return false;
    ret->number = (uint32_t)(tag >> 3);
    ret->wire = tag & 7;
    ret->bytes = (struct range){range->at, range->at};
    ret->value = 0;
    if (ret->wire == 0) return take_varint(range, &ret->value);
    uint64_t length = ret->wire == 1 ? 8 : ret->wire == 5 ? 4 : 0;
    if (ret->wire == 2 ? !take_varint(range, &length) : length == 0) return false;
    if (length > (uint64_t)(range->end - range->at)) return false;
    ret->bytes = (struct range){range->at, range->at + length};
    range->at += length;
    return true;
}

static bool is_text(struct range range, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(range.end - range.at) == length && memcmp(range.at, text, length) == 0;
}

static void note_group(struct node *node, struct range name)
{
    for (uint8_t g = 0; g < FABRIC_GROUP_P2P; g++)
        if (is_text(name, fabric_group_names[g])) node->group = g;
}

/* AttributeProto: name 1, then a value by its kind: int32 7, int64 9, uint32 11, uint64 13, bool 27, string 29. */
static bool read_attribute(struct range range, struct node *node)
{
    struct field_of field;
    struct range name = {0}, text = {0};
    uint64_t value = 0;

    while (range.at < range.end) {
        if (!take_field(&range, &field)) return false;
        if (field.number == 1) name = field.bytes;
        if (field.wire == 0) value = field.value;
        if (field.number == 29) text = field.bytes;
    }
    if (name.at == NULL) return true;
    if (is_text(name, "comm_type")) node->comm_type = value;
    if (is_text(name, "comm_size")) node->comm_size = value;
    if (is_text(name, "comm_src")) node->src = value;
    if (is_text(name, "comm_dst")) node->dst = value;
    if (is_text(name, "comm_tag")) node->tag = value;
    if (is_text(name, "is_cpu_op")) node->cpu = value != 0;
    if ((is_text(name, "comm_group") || is_text(name, "pg_name")) && text.at) note_group(node, text);
    return true;
}

/* A list of numbers, packed or one by one. */
static bool read_deps(struct graph *graph, struct node *node, const struct field_of *field)
{
    struct range list = field->bytes;
    uint64_t id;

    if (field->wire == 0) return add_dep(graph, node, field->value);
    while (list.at < list.end)
        if (!take_varint(&list, &id) || !add_dep(graph, node, id)) return false;
    return true;
}

static struct node empty_node(const struct graph *graph)
{
    return (struct node){.comm_type = NONE,
                         .comm_size = NONE,
                         .src = NONE,
                         .dst = NONE,
                         .group = FABRIC_GROUP_DP,
                         .first_dep = graph->deps};
}

static bool read_node(struct graph *graph, struct range range, uint64_t offset)
{
    struct node node = empty_node(graph);
    struct field_of field;
    bool good = true, known = false;

    node.offset = offset;
    while (range.at < range.end && good) {
        good = take_field(&range, &field);
        if (!good) break;
        if (field.number == 1 && field.wire == 0) {
            node.id = field.value;
            known = true;
        } else if (field.number == 3 && field.wire == 0) {
            node.type = field.value;
        } else if (field.number == 5 && (field.wire == 0 || field.wire == 2)) {
            good = read_deps(graph, &node, &field);
        } else if (field.number == 7 && field.wire == 0) {
            node.micros = field.value;
        } else if (field.number == 10 && field.wire == 2) {
            good = read_attribute(field.bytes, &node);
        }
    }
    if (!good) return graph->loader->no_memory ? false : wrong(graph, offset, "the node's message is broken");
    if (!known) node.id = 0; /* protobuf leaves zeros out */
    return add_node(graph, &node);
}

static bool read_messages(struct graph *graph, const char *text, size_t length)
{
    const uint8_t *start = (const uint8_t *)text;
    struct range file = {start, start + length};

    for (uint32_t count = 0; file.at < file.end; count++) {
        uint64_t size, offset = (uint64_t)(file.at - start);
        if (!take_varint(&file, &size) || size > (uint64_t)(file.end - file.at))
            return wrong(graph, offset, "a message is longer than the file");
        struct range message = {file.at, file.at + size};
        file.at += size;
        if (count && !read_node(graph, message, offset)) return false; /* the first is about the file */
    }
    return true;
}

static const struct tree *either(const struct tree *map, const char *a, const char *b)
{
    const struct tree *found = tree_get(map, a);
    return found ? found : tree_get(map, b);
}

/* False where it is there and no number. */
static bool json_number(struct graph *graph, const struct tree *value, uint64_t *ret)
{
    if (!value) return true;
    if (value->type == TREE_SCALAR && read_decimal(value->text, ret)) return true;
    trace_error(graph->loader, graph->trace, value->at.line, value->at.column, "'%s' is no number", value->key);
    return false;
}

static bool json_deps(struct graph *graph, struct node *node, const struct tree *list)
{
    uint64_t id = 0;

    for (const struct tree *item = list && list->type == TREE_LIST ? list->first : NULL; item; item = item->next)
        if (!json_number(graph, item, &id) || !add_dep(graph, node, id)) return false;
    return true;
}

static bool json_node(struct graph *graph, const struct tree *item)
{
    struct node node = empty_node(graph);
    const struct tree *cpu = tree_get(item, "is_cpu_op"), *group = either(item, "comm_group", "pg_name");

    node.offset = item->at.line;
    if (!json_number(graph, either(item, "Id", "id"), &node.id) ||
        !json_number(graph, either(item, "NodeType", "type"), &node.type) ||
        !json_number(graph, either(item, "runtime", "duration_micros"), &node.micros) ||
        !json_number(graph, tree_get(item, "comm_type"), &node.comm_type) ||
        !json_number(graph, tree_get(item, "comm_size"), &node.comm_size) ||
        !json_number(graph, tree_get(item, "comm_src"), &node.src) ||
        !json_number(graph, tree_get(item, "comm_dst"), &node.dst) ||
        !json_number(graph, tree_get(item, "comm_tag"), &node.tag) ||
        !json_deps(graph, &node, either(item, "dataDeps", "data_deps")))
        return false;
    if (cpu && cpu->type == TREE_SCALAR) node.cpu = strcmp(cpu->text, "true") == 0;
    if (group && group->type == TREE_SCALAR) {
        const uint8_t *name = (const uint8_t *)group->text;
        note_group(&node, (struct range){name, name + strlen(group->text)});
    }
    return add_node(graph, &node);
}

/* JSON is YAML. */
static bool read_json(struct graph *graph, const char *text, size_t length)
{
    struct fabric_errors *errors = SCRATCH_NEW(graph->loader, struct fabric_errors, 1);
    struct tree *root = NULL;

    graph->lines = true;
    if (!errors) return false;
    int error = tree_parse(text, length, &graph->loader->scratch, &root, errors);
    if (error && errors->count)
        trace_error(graph->loader, graph->trace, errors->error[0].at.line, errors->error[0].at.column, "%.120s",
                    errors->error[0].text);
    if (error) return false;
    const struct tree *list = tree_get(root, "workload_graph");
    if (!list || list->type != TREE_LIST) return wrong(graph, 1, "there is no list 'workload_graph'");
    for (const struct tree *item = list->first; item; item = item->next)
        if (!json_node(graph, item)) return false;
    return true;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static struct node *find(const struct graph *graph, uint64_t id)
{
    struct node key = {.id = id};
    return graph->nodes ? bsearch(&key, graph->node, graph->nodes, sizeof(key), compare_nodes) : NULL;
}

/* Who comes after whom.  What was left out of the file is met. */
static bool link_nodes(struct graph *graph)
{
    qsort(graph->node, graph->nodes, sizeof(*graph->node), compare_nodes);
    for (uint32_t i = 1; i < graph->nodes; i++)
        if (graph->node[i].id == graph->node[i - 1].id)
            return wrong(graph, graph->node[i].offset, "a node of this id is there already");
    for (uint32_t i = 0; i < graph->nodes; i++)
        for (uint32_t d = 0; d < graph->node[i].deps; d++) {
            struct node *before = find(graph, graph->dep[graph->node[i].first_dep + d]);
            if (!before) continue;
            before->afters++;
            graph->node[i].left++;
        }
    graph->after = SCRATCH_NEW(graph->loader, uint32_t, (size_t)graph->deps + 1);
    if (!graph->after) return false;
    for (uint32_t i = 0, sum = 0; i < graph->nodes; i++) {
        graph->node[i].first_after = sum;
        sum += graph->node[i].afters;
        graph->node[i].afters = 0;
    }
    for (uint32_t i = 0; i < graph->nodes; i++)
        for (uint32_t d = 0; d < graph->node[i].deps; d++) {
            struct node *before = find(graph, graph->dep[graph->node[i].first_dep + d]);
            if (before) graph->after[before->first_after + before->afters++] = i;
        }
    return true;
}

static bool is_collective(const struct node *node)
{
    return node->type == NODE_COLLECTIVE && !node->cpu && node->comm_size != NONE && node->comm_size > 0;
}

static bool is_pair(const struct node *node)
{
    return (node->type == NODE_SEND || node->type == NODE_RECV) && !node->cpu;
}

/* Whether a node takes part in the program; those that do not pass on what they depend on. */
static bool counts(const struct node *node)
{
    return is_pair(node) || is_collective(node) || (node->type == NODE_COMPUTE && !node->cpu && node->micros > 0);
}

/* To what the node waits for; of a group's collectives the last stands for those before it. */
static bool add_hand(struct graph *graph, struct node *node, uint8_t group, uint32_t number)
{
    for (uint32_t h = node->hands; h; h = graph->hand[h - 1].next) {
        struct hand *own = &graph->hand[h - 1];
        if (own->group != group || (group == FABRIC_GROUP_P2P && own->number != number)) continue;
        if (own->number < number) own->number = number;
        return true;
    }
    struct hand *list = grow(graph, graph->hand, graph->hands, &graph->hand_capacity, sizeof(*list));
    if (!list) return false;
    graph->hand = list;
    list[graph->hands++] = (struct hand){.next = node->hands, .number = number, .group = group};
    node->hands = graph->hands;
    return true;
}

static void emit_waits(struct graph *graph, const struct node *node, struct op_list *list)
{
    for (uint32_t h = node->hands; h; h = graph->hand[h - 1].next) {
        const struct hand *hand = &graph->hand[h - 1];
        struct fabric_op op = {.what = FABRIC_OP_WAIT_FOR, .group = hand->group, .number = hand->number};
        if (hand->group != FABRIC_GROUP_P2P) {
            op.what = FABRIC_OP_WAIT;
            op.left = graph->started[hand->group] - hand->number - 1;
        }
        op_add(graph->loader, list, op);
    }
}

static bool emit_pair(struct graph *graph, const struct node *node, struct op_list *list)
{
    bool receives = node->type == NODE_RECV;
    uint64_t own = receives ? node->dst : node->src, peer = receives ? node->src : node->dst;
    struct pair pair = {
        .receives = receives, .tag = node->tag, .bytes = node->comm_size, .node = node->id, .at = list->count};

    if (!graph->pairs)
        return wrong(graph, node->offset,
                     "COMM_SEND or COMM_RECV in a graph that every rank runs: who has the other end is not said; give "
                     "each rank its own, as in file: step.*.et");
    if (node->comm_size == NONE || node->comm_size > BYTES_MAX)
        return wrong(graph, node->offset, "its comm_size is not there, or too large");
    if (peer >= graph->trace->ranks)
        return wrong(graph, node->offset,
                     receives ? "its comm_src is no rank of the job" : "its comm_dst is no rank of the job");
    if (peer == graph->rank || (own != NONE && own != graph->rank))
        return wrong(graph, node->offset,
                     peer == graph->rank ? "both its ends are this rank"
                     : receives          ? "its comm_dst is another rank than the trace's"
                                         : "its comm_src is another rank than the trace's");
    pair.src = receives ? (uint32_t)peer : graph->rank;
    pair.dst = receives ? graph->rank : (uint32_t)peer;
    op_add(graph->loader, list,
           (struct fabric_op){.what = receives ? FABRIC_OP_RECV : FABRIC_OP_SEND,
                              .group = FABRIC_GROUP_P2P,
                              .peer = (uint32_t)peer,
                              .number = graph->started[FABRIC_GROUP_P2P],
                              .bytes = node->comm_size,
                              .beside = true});
    return pair_add(graph->loader, graph->pairs, &pair);
}

static bool emit(struct graph *graph, const struct node *node, struct op_list *list)
{
    static const uint8_t kinds[] = {FABRIC_JOB_ALLREDUCE, FABRIC_JOB_REDUCE,        FABRIC_JOB_ALLGATHER,
                                    FABRIC_JOB_GATHER,    FABRIC_JOB_KINDS,         FABRIC_JOB_BROADCAST,
                                    FABRIC_JOB_ALLTOALL,  FABRIC_JOB_REDUCESCATTER, FABRIC_JOB_REDUCESCATTER};

    if (!counts(node)) return true;
    emit_waits(graph, node, list);
    if (is_pair(node)) return emit_pair(graph, node, list);
    if (!is_collective(node)) {
        if (node->micros > MICROS_MAX) return wrong(graph, node->offset, "its duration is longer than 1000 s");
        op_add(graph->loader, list, (struct fabric_op){.what = FABRIC_OP_COMPUTE, .time_ps = node->micros * PS_US});
        return true;
    }
    if (node->comm_type >= COUNT_OF(kinds) || kinds[node->comm_type] == FABRIC_JOB_KINDS)
        return wrong(graph, node->offset, "its comm_type is no collective that is run here");
    if (node->comm_size > BYTES_MAX) return wrong(graph, node->offset, "its comm_size is too large");
    op_add(graph->loader, list,
           (struct fabric_op){.what = FABRIC_OP_COLLECTIVE,
                              .group = node->group,
                              .collective = kinds[node->comm_type],
                              .bytes = node->comm_size,
                              .beside = true});
    return true;
}

/* What comes after a node waits for it, or, where it does nothing, for what it would have waited for. */
static bool hand_on(struct graph *graph, const struct node *node, struct node *after)
{
    uint8_t group = is_pair(node) ? FABRIC_GROUP_P2P : node->group;

    if (is_pair(node) || is_collective(node)) return add_hand(graph, after, group, graph->started[group]);
    for (uint32_t h = counts(node) ? 0 : node->hands; h; h = graph->hand[h - 1].next)
        if (!add_hand(graph, after, graph->hand[h - 1].group, graph->hand[h - 1].number)) return false;
    return true;
}

static void ready(const struct graph *graph, struct heap *heap, uint32_t index)
{
    const struct node *node = &graph->node[index];

    heap_push(heap, is_pair(node) && !node->hands ? 0 : node->id, index);
}

static bool order_nodes(struct graph *graph, struct op_list *list)
{
    struct heap heap;
    struct heap_item *item = SCRATCH_NEW(graph->loader, struct heap_item, (size_t)graph->nodes + 1), next;
    uint32_t done = 0;

    if (!item) return false;
    heap_init(&heap, item, graph->nodes + 1);
    for (uint32_t i = 0; i < graph->nodes; i++)
        if (graph->node[i].left == 0) ready(graph, &heap, i);
    for (; heap_pop(&heap, &next); done++) {
        const struct node *node = &graph->node[next.id];
        if (!emit(graph, node, list)) return false;
        for (uint32_t a = 0; a < node->afters; a++) {
            struct node *after = &graph->node[graph->after[node->first_after + a]];
            if (!hand_on(graph, node, after)) return false;
            if (--after->left == 0) ready(graph, &heap, graph->after[node->first_after + a]);
        }
        if (is_pair(node) || is_collective(node)) graph->started[is_pair(node) ? FABRIC_GROUP_P2P : node->group]++;
    }
    if (done == graph->nodes) return true;
    for (uint32_t i = 0; i < graph->nodes; i++)
        if (graph->node[i].left) return wrong(graph, graph->node[i].offset, "this node depends on itself");
    return false;
}

/* All of the text in order, and at the end everything is waited for. */
static bool graph_ops(struct graph *graph, const char *text, size_t length, struct op_list *list)
{
    size_t blank = strspn(text, " \t\r\n");

    if (!(text[blank] == '{' ? read_json(graph, text, length) : read_messages(graph, text, length))) return false;
    if (!graph->nodes) {
        trace_error(graph->loader, graph->trace, 0, 0, "there are no nodes in it");
        return false;
    }
    if (!link_nodes(graph) || !order_nodes(graph, list)) return false;
    if (list->count == 0) {
        trace_error(graph->loader, graph->trace, 0, 0, "none of its %u nodes computes on a GPU or communicates",
                    graph->nodes);
        return false;
    }
    for (uint8_t g = 0; g < FABRIC_GROUP_P2P; g++)
        op_add(graph->loader, list, (struct fabric_op){.what = FABRIC_OP_WAIT, .group = g});
    for (uint32_t i = 0; i < graph->started[FABRIC_GROUP_P2P]; i++)
        op_add(graph->loader, list,
               (struct fabric_op){.what = FABRIC_OP_WAIT_FOR, .group = FABRIC_GROUP_P2P, .number = i});
    return !graph->loader->no_memory;
}

void trace_chakra(struct loader *loader, const struct trace *trace, const char *text, size_t length,
                  struct fabric_training *training)
{
    struct graph graph = {.loader = loader, .trace = trace};
    struct op_list list = {0};

    if (graph_ops(&graph, text, length, &list)) training->before = ops_keep(loader, &list);
}

/* The path with a rank's number in the place of its star. */
static const char *path_of(struct loader *loader, const char *path, uint32_t rank)
{
    size_t room = strlen(path) + 12;
    const char *star = strrchr(path, '*');
    char *made = SCRATCH_NEW(loader, char, room);

    if (made) snprintf(made, room, "%.*s%u%s", (int)(star - path), path, rank, star + 1);
    return made;
}

void trace_chakra_ranks(struct loader *loader, const struct trace *trace, struct fabric_training *training)
{
    struct fabric_ops *whole = KEEP_NEW(loader, struct fabric_ops, trace->ranks);
    struct op_list *list = SCRATCH_NEW(loader, struct op_list, trace->ranks);
    struct pair_list pairs = {0};
    size_t length;

    if (!whole || !list) return;
    for (uint32_t r = 0; r < trace->ranks; r++) {
        struct trace own = *trace;
        own.path = path_of(loader, trace->path, r);
        char *text = own.path ? file_read(loader, own.path, trace->at, &length) : NULL;
        struct graph graph = {.loader = loader, .trace = &own, .rank = r, .pairs = &pairs};
        if (!text || !graph_ops(&graph, text, length, &list[r])) return;
    }
    if (!pairs_match(loader, trace, &pairs, list)) return;
    for (uint32_t r = 0; r < trace->ranks; r++)
        whole[r] = ops_keep(loader, &list[r]);
    training->whole = whole;
    training->by_rank = true;
}
