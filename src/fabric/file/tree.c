/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML events into a tree: the only file that knows libfyaml.
 *
 * Events and not libfyaml's documents: an event carries the position of lists and maps too, the
 * tree takes 80 bytes a value, and what may be dangerous in a foreign file is refused here, where
 * it is met: aliases (which can unfold a small file into gigabytes), deep nesting, a second
 * document, directives, keys that are not plain words, bytes that are no text.
 *
 * Duplicate keys are refused with the line of the first, but not in foreign texts, whose programs take the last.
 */
#include "fabric/file/tree.h"

#include <errno.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "fabric/errors.h"

#define DEPTH_MAX 32
#define SPARE_BYTES 4096 /* more than struct fy_input and its name */
#define HASHED_MAP 16    /* maps with more children look keys up in a table */

struct frame {
    struct tree *node;
    const char *key; /* of the value that comes next, in a map */
    struct fabric_at key_at;
};

struct builder {
    struct arena *arena;
    struct fabric_errors *errors;
    const char *text;
    size_t length;
    struct tree *root;
    struct frame stack[DEPTH_MAX];
    int depth;
    int result;
    bool ended;   /* the first document is complete */
    bool foreign; /* keys may be given twice */
};

static struct fabric_at at_mark(const struct fy_mark *mark)
{
    if (!mark) return (struct fabric_at){1, 1};
    return (struct fabric_at){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

/* Where a scalar begins: libfyaml marks what is inside of quotes, and the first line of a block without its
 * indentation. */
static struct fabric_at at_scalar(const struct builder *builder, struct fy_event *event, enum fy_scalar_style style)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    struct fabric_at at = at_mark(mark);

    /* Nothing has no place of its own: the key, or the list, it should stand behind. */
    if (!mark && builder->depth > 0) {
        const struct frame *frame = &builder->stack[builder->depth - 1];
        return frame->key ? frame->key_at : frame->node->at;
    }
    if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && at.column > 1) at.column--;
    if ((style != FYSS_LITERAL && style != FYSS_FOLDED) || !mark) return at;
    size_t start = mark->input_pos, indent = 0;
    while (start > 0 && start <= builder->length && builder->text[start - 1] != '\n')
        start--;
    while (start + indent < builder->length && builder->text[start + indent] == ' ')
        indent++;
    at.column = (uint32_t)indent + 1;
    return at;
}

static void refuse(struct builder *builder, struct fabric_at at, const char *why)
{
    fabric_errors_add(builder->errors, at, "%s", why);
    builder->result = -EINVAL;
}

void tree_relocate(struct tree *tree, struct fabric_at at)
{
    for (struct tree *child = tree->first; child; child = child->next) {
        child->at = child->key_at = at;
        if (tree->type == TREE_LIST) child->key = tree->key;
        tree_relocate(child, at);
    }
}

void tree_append(struct tree *to, struct tree *child)
{
    if (to->last)
        to->last->next = child;
    else
        to->first = child;
    to->last = child;
    to->count++;
}

const struct tree *tree_get(const struct tree *map, const char *key)
{
    if (!map || map->type != TREE_MAP) return NULL;
    for (const struct tree *child = map->first; child; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return NULL;
}

static bool refuse_controls(const char *key, const char *text, struct fabric_at at, const char *allowed,
                            struct fabric_errors *errors)
{
    const char *found = utf8_find_control(text, allowed);

    if (!found) return true;
    unsigned code = (unsigned char)*found, bytes = utf8_control(found);
    if (bytes == 2) code = (unsigned char)found[1];
    if (bytes == 3) code = 0x2000 | (unsigned char)(found[2] & 0x3f);
    fabric_errors_add(errors, at, "%s%sa control character (U+%04X%s) in a text: a text is one line without any", key,
                      *key ? ": " : "", code, code == '\n' ? ", the end of a line" : "");
    return false;
}

bool tree_refuse_controls(const struct tree *tree, struct fabric_errors *errors)
{
    bool good = true;

    if (tree->type == TREE_SCALAR) {
        const char *key = tree->key && !utf8_find_control(tree->key, "") ? tree->key : "";
        return refuse_controls(key, tree->text, tree->at, tree->lines ? "\t\n\r" : "", errors);
    }
    for (const struct tree *child = tree->first; child; child = child->next) {
        if (tree->type == TREE_MAP) good &= refuse_controls("", child->key, child->key_at, "", errors);
        good &= tree_refuse_controls(child, errors);
    }
    return good;
}

const char *tree_found(const struct tree *tree, char buf[TREE_FOUND])
{
    if (!tree) return "nothing";
    if (tree->type == TREE_MAP) return "a map";
    if (tree->type == TREE_LIST) return "a list";
    if (!tree->text[0]) return "nothing";
    size_t length = strcspn(tree->text, "\n");
    if (length > 40)
        snprintf(buf, TREE_FOUND, "'%.40s...'", tree->text);
    else
        snprintf(buf, TREE_FOUND, "'%.*s'", (int)length, tree->text);
    return buf;
}

/* Every byte of a scalar, or NULL with the error. */
static const char *scalar_text(struct builder *builder, struct fy_token *token, struct fabric_at at)
{
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : "";

    /* What it has no memory for it makes an empty text. */
    if (!text || (!length && token && fy_token_get_text_length(token))) {
        builder->result = memory_ran_out();
        return NULL;
    }
    if (memchr(text, 0, length)) {
        refuse(builder, at, "a zero byte in a text");
        return NULL;
    }
    const char *copy = arena_strndup(builder->arena, text, length);
    if (!copy) builder->result = -ENOMEM;
    return copy;
}

static void add_child(struct builder *builder, struct tree *node)
{
    if (builder->depth == 0) {
        builder->root = node;
        return;
    }
    struct frame *frame = &builder->stack[builder->depth - 1];
    struct tree *parent = frame->node;
    if (parent->type == TREE_MAP) {
        node->key = frame->key;
        node->key_at = frame->key_at;
        frame->key = NULL;
    } else {
        node->key = parent->key; /* for messages */
    }
    tree_append(parent, node);
}

static struct tree *new_node(struct builder *builder, enum tree_type type, struct fabric_at at)
{
    struct tree *node = ARENA_NEW(builder->arena, struct tree, 1);
    if (!node) {
        builder->result = -ENOMEM;
        return NULL;
    }
    node->type = (uint8_t)type;
    node->at = at;
    node->text = "";
    return node;
}

/* True when the event is a map's key, which is then taken. */
static bool expects_key(const struct builder *builder)
{
    if (builder->depth == 0) return false;
    const struct frame *frame = &builder->stack[builder->depth - 1];
    return frame->node->type == TREE_MAP && !frame->key;
}

static void on_scalar(struct builder *builder, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    struct fabric_at at = at_scalar(builder, event, style);
    const char *text = scalar_text(builder, token, at);

    if (!text) return;
    if (expects_key(builder)) {
        struct frame *frame = &builder->stack[builder->depth - 1];
        if (!text[0]) refuse(builder, at, "an empty key");
        frame->key = text;
        frame->key_at = at;
        return;
    }
    struct tree *node = new_node(builder, TREE_SCALAR, at);
    if (!node) return;
    node->text = text;
    node->plain = style == FYSS_PLAIN;
    node->block = style == FYSS_LITERAL || style == FYSS_FOLDED;
    add_child(builder, node);
}

static void on_start(struct builder *builder, enum tree_type type, struct fabric_at at)
{
    if (expects_key(builder)) {
        refuse(builder, at, "a list or map as a key: a key is a word");
        return;
    }
    if (builder->depth == DEPTH_MAX) {
        refuse(builder, at, "nested too deeply");
        return;
    }
    struct tree *node = new_node(builder, type, at);
    if (!node) return;
    add_child(builder, node);
    builder->stack[builder->depth++] = (struct frame){.node = node};
}

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static void duplicate(struct builder *builder, const struct tree *child, const struct tree *earlier)
{
    fabric_errors_add(builder->errors, child->key_at, "'%s' is given twice, first in line %u", child->key,
                      earlier->key_at.line);
    builder->result = -EINVAL;
}

/* Refuses a key that is in the map twice. */
static void check_duplicates(struct builder *builder, const struct tree *map)
{
    if (map->count <= HASHED_MAP) {
        for (const struct tree *child = map->first; child; child = child->next) {
            const struct tree *earlier = tree_get(map, child->key);
            if (earlier != child) duplicate(builder, child, earlier);
        }
        return;
    }
    uint32_t size = 32;
    while (size < map->count * 2)
        size *= 2;
    const struct tree **slot = ARENA_NEW(builder->arena, const struct tree *, size);
    if (!slot) {
        builder->result = -ENOMEM;
        return;
    }
    for (const struct tree *child = map->first; child; child = child->next) {
        uint32_t at = hash_text(child->key) & (size - 1);
        while (slot[at] && strcmp(slot[at]->key, child->key) != 0)
            at = (at + 1) & (size - 1);
        if (slot[at])
            duplicate(builder, child, slot[at]);
        else
            slot[at] = child;
    }
}

static const struct fy_token *anchor_of(const struct fy_event *event)
{
    if (event->type == FYET_SCALAR) return event->scalar.anchor;
    if (event->type == FYET_SEQUENCE_START) return event->sequence_start.anchor;
    return event->type == FYET_MAPPING_START ? event->mapping_start.anchor : NULL;
}

static void on_event(struct builder *builder, struct fy_event *event)
{
    struct fabric_at at = at_mark(fy_event_start_mark(event));

    if (anchor_of(event)) {
        refuse(builder, at, "an anchor (&): anchors and aliases are not read, write the value out");
        return;
    }
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (builder->ended) refuse(builder, at, "a second document: a fabric file is one document");
        break;
    case FYET_DOCUMENT_END:
        builder->ended = true;
        break;
    case FYET_SCALAR:
        on_scalar(builder, event);
        break;
    case FYET_ALIAS:
        refuse(builder, at, "an alias: anchors and aliases are not read, write the value out");
        break;
    case FYET_SEQUENCE_START:
        on_start(builder, TREE_LIST, at);
        break;
    case FYET_MAPPING_START:
        on_start(builder, TREE_MAP, at);
        break;
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        builder->depth--;
        if (event->type == FYET_MAPPING_END && !builder->foreign)
            check_duplicates(builder, builder->stack[builder->depth].node);
        break;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
        break;
    }
}

/* What libfyaml 0.7 would loop over for ever (a directive that is not UTF-8) or nobody means: bytes that are
 * no text, directives. */
static int screen(const char *text, size_t length, struct fabric_errors *errors)
{
    struct fabric_at at = {1, 1};
    size_t step;

    for (size_t i = 0; i < length; i += step) {
        unsigned char byte = (unsigned char)text[i];
        const char *why = NULL;

        step = utf8_length(text + i, length - i);
        if (step == 0)
            why = "not a text file: a byte that is not UTF-8";
        else if ((byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') || byte == 0x7f)
            why = "not a text file: a control character";
        else if (byte == '%' && at.column == 1)
            why = "a YAML directive (%): not read here";
        if (why) {
            fabric_errors_add(errors, at, "%s", why);
            return -EINVAL;
        }
        at.column++;
        if (byte == '\n') at = (struct fabric_at){at.line + 1, 1};
    }
    return 0;
}

/* Why there are no more events.  libfyaml says nothing of memory: a parser that gives up without a place in the text
 * had none. */
static int gave_up(struct fy_diag *diag, struct fabric_errors *errors)
{
    void *iterator = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(diag, &iterator);

    if (!error || !error->msg || error->line <= 0) return memory_ran_out();
    /* The first names the cause; what follows it is the parser giving up. */
    fabric_errors_add(errors,
                      (struct fabric_at){(uint32_t)error->line, error->column > 0 ? (uint32_t)error->column : 1},
                      "not YAML: %s", error->msg);
    return -EINVAL;
}

static int parse_events(struct fy_parser *parser, struct fy_diag *diag, struct builder *builder)
{
    struct fy_event *event;

    while (builder->result == 0 && (event = fy_parser_parse(parser)) != NULL) {
        bool last = event->type == FYET_STREAM_END;
        on_event(builder, event);
        fy_parser_event_free(parser, event);
        if (last) return builder->result;
    }
    return builder->result == 0 ? gave_up(diag, builder->errors) : builder->result;
}

/* libfyaml 0.7 takes two small pieces for a text and looks at neither: without memory it would write to address 0. */
static bool has_spare(void)
{
    void *spare = malloc(SPARE_BYTES);
    bool has = spare != NULL;

    free(spare);
    return has;
}

static int parse(const char *text, size_t length, bool foreign, struct arena *arena, struct tree **ret,
                 struct fabric_errors *errors)
{
    struct fy_diag_cfg diag_config;
    struct builder builder = {.arena = arena, .errors = errors, .text = text, .length = length, .foreign = foreign};
    int result = screen(text, length, errors);

    if (result < 0) return result;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    diag_config.level = FYET_ERROR;
    struct fy_diag *diag = fy_diag_create(&diag_config);
    if (!diag) return memory_ran_out();
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 |
                                           FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION,
                                  .diag = diag};
    struct fy_parser *parser = fy_parser_create(&config);
    if (parser && has_spare() && fy_parser_set_string(parser, text, length) == 0)
        result = parse_events(parser, diag, &builder);
    else
        result = memory_ran_out();
    if (result == 0 && !builder.root) {
        builder.root = new_node(&builder, TREE_SCALAR, (struct fabric_at){1, 1});
        result = builder.result;
    }
    if (parser) fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    if (result == 0) *ret = builder.root;
    return result;
}

int tree_parse(const char *text, size_t length, struct arena *arena, struct tree **ret, struct fabric_errors *errors)
{
    return parse(text, length, false, arena, ret, errors);
}

int tree_parse_foreign(const char *text, size_t length, struct arena *arena, struct tree **ret,
                       struct fabric_errors *errors)
{
    return parse(text, length, true, arena, ret, errors);
}
