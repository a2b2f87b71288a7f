/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in: a tree on an arena, made of json_in.c's tokens. */
#include <stdlib.h>
#include <string.h>

#include "json/json_in.h"

static char *unescaped(struct arena *arena, const char *text, size_t length)
{
    char *copy = ARENA_NEW(arena, char, length + 1); /* escapes are never shorter than what they stand for */
    if (copy) json_unescape(text, length, copy, length + 1);
    return copy;
}

/* The node that a token begins; NULL: no memory. */
static struct json *node_of(struct arena *arena, const struct json_in *in)
{
    struct json *node = ARENA_NEW(arena, struct json, 1);

    if (!node) return NULL;
    node->type = (uint8_t)in->type;
    node->line = in->line;
    if (in->key && !(node->name = unescaped(arena, in->key, in->key_length))) return NULL;
    if ((in->type == JSON_STRING || in->type == JSON_NUMBER) && !(node->text = unescaped(arena, in->text, in->length)))
        return NULL;
    return node;
}

const struct json *json_parse(struct arena *arena, const char *text, size_t bytes, uint32_t first, const char **why,
                              uint32_t *line)
{
    struct json *open[JSON_DEPTH + 1], *last[JSON_DEPTH + 1] = {0}, *root = NULL;
    struct json_in in;
    enum json_token token;

    json_in_init(&in, text, bytes);
    in.line = first;
    while ((token = json_next(&in)) == JSON_VALUE || token == JSON_BEGIN || token == JSON_CLOSE) {
        if (token == JSON_CLOSE) continue;
        uint32_t at = token == JSON_BEGIN ? in.depth - 1 : in.depth;
        struct json *node = node_of(arena, &in);
        if (!node) {
            in.why = "too large";
            break;
        }
        if (!at) {
            root = node;
        } else {
            if (last[at])
                last[at]->next = node;
            else
                open[at - 1]->child = node;
            open[at - 1]->count++;
        }
        last[at] = node;
        if (token == JSON_BEGIN) {
            open[at] = node;
            last[at + 1] = NULL;
        }
    }
    *why = in.why;
    *line = in.line;
    return in.why ? NULL : root;
}

const struct json *json_get(const struct json *object, const char *name)
{
    if (!object || object->type != JSON_OBJECT) return NULL;
    for (const struct json *member = object->child; member; member = member->next)
        if (!strcmp(member->name, name)) return member;
    return NULL;
}

/* Nodes of an arena have no order of their own: of two members of one name the one with the lower place is first. */
struct placed {
    const struct json *member;
    uint32_t place;
};

static int by_name(const void *a, const void *b)
{
    const struct placed *one = a, *two = b;
    int order = strcmp(one->member->name, two->member->name);

    return order ? order : one->place < two->place ? -1 : 1;
}

void json_index_init(struct json_index *index, const struct json *object)
{
    uint32_t count = object && object->type == JSON_OBJECT ? object->count : 0, i = 0;
    struct placed *list = count ? calloc(count, sizeof list[0]) : NULL;

    *index = (struct json_index){list ? calloc(count, sizeof index->member[0]) : NULL, 0};
    if (index->member) {
        for (const struct json *member = object->child; member; member = member->next, i++)
            list[i] = (struct placed){member, i};
        qsort(list, count, sizeof list[0], by_name);
        for (i = 0; i < count; i++)
            index->member[i] = list[i].member;
        index->count = count;
    }
    free(list);
}

void json_index_release(struct json_index *index)
{
    free(index->member);
    *index = (struct json_index){0};
}

uint32_t json_index_find(const struct json_index *index, const char *name)
{
    uint32_t low = 0, high = index->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(index->member[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->count && !strcmp(index->member[low]->name, name) ? low : index->count;
}

const struct json *json_path(const struct json *object, const char *path)
{
    char name[128];

    while (object && *path) {
        size_t length = strcspn(path, "/");
        if (length >= sizeof name) return NULL;
        memcpy(name, path, length);
        name[length] = 0;
        object = json_get(object, name);
        path += length + (path[length] == '/');
    }
    return object;
}

bool json_u64(const struct json *value, uint64_t *number)
{
    return value && value->text && json_text_u64(value->text, strlen(value->text), number);
}

bool json_real(const struct json *value, double *number)
{
    return value && value->text && json_text_real(value->text, strlen(value->text), number);
}

const char *json_string(const struct json *value)
{
    return value && value->type == JSON_STRING ? value->text : NULL;
}
