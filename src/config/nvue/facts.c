/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVUE's two spellings read into one: rows of words.
 *
 * `nv set qos pfc p switch-priority 3` and the YAML path qos.pfc.p.switch-priority.'3' are the same object, so both
 * become the words behind `nv set`.  Templates that are filled in by programs (`{{ … }}`) are read as far as they go:
 * a line that is only such a mark is left out, and a mark inside a line stands for a word.
 */
#include <errno.h>
#include <string.h>

#include "config/nvue/nvue_int.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"

static void add_fact(struct nvue_facts *facts, const struct nvue_fact *fact)
{
    ARENA_ROOM(facts->arena, facts->fact, facts->count, facts->room);
    struct nvue_fact *as = &facts->fact[facts->count++];
    *as = *fact;
    for (uint32_t w = as->words; w < NVUE_WORDS; w++)
        as->word[w] = "";
}

bool nvue_says(const struct nvue_fact *fact, const char *path)
{
    for (uint32_t w = 0; *path; w++) {
        size_t length = strcspn(path, " ");
        bool any = *path == '*';
        if (w >= fact->words || (!any && (strncmp(fact->word[w], path, length) != 0 || fact->word[w][length])))
            return false;
        path += length + (path[length] == ' ');
    }
    return true;
}

/* Each leaf, and each map without anything in it, is a fact. */
static void walk(struct nvue_facts *facts, const struct tree *map, const struct nvue_fact *so_far)
{
    for (const struct tree *item = map->first; item; item = item->next) {
        struct nvue_fact fact = *so_far;
        if (fact.words + 2 > NVUE_WORDS) continue; /* nothing that is read lies so deep */
        if (map->type == TREE_MAP) {
            fact.word[fact.words++] = item->key;
            fact.line = item->key_at.line;
            if (fact.words <= 2) fact.head = fact.line;
        }
        if (item->type != TREE_SCALAR && item->count) {
            walk(facts, item, &fact);
            continue;
        }
        if (item->type == TREE_SCALAR && item->text[0]) fact.word[fact.words++] = item->text;
        if (map->type == TREE_LIST) fact.line = item->at.line;
        add_fact(facts, &fact);
    }
}

/* Template marks out of the way, in place; the length of the text stays. */
static bool blank_marks(char *text)
{
    bool any = false;

    for (char *at = text; *at;) {
        char *end = strchrnul(at, '\n'), *first = at + strspn(at, " \t-");
        char *open = memmem(at, (size_t)(end - at), "{{", 2), *last = end;
        while (last > at && strchr(" \t\r", last[-1]))
            last--;
        /* Nothing but marks, or a key that is one: the line goes. */
        if (open && open == first && (last[-1] == '}' || memmem(at, (size_t)(end - at), "}}:", 3))) {
            bool key = memmem(at, (size_t)(end - at), "}}:", 3) != NULL;
            bool empty = last - first > 12 && strncmp(last - 2, "{}", 2) == 0;
            any = true;
            memset(at, ' ', (size_t)(end - at));
            if (key) { /* what is below hangs on it: it keeps a name, which a short line has room for too */
                const char *name = end - first >= 9 ? "template:" : "t:";
                memcpy(first, name, strlen(name));
                if (empty) memcpy(first + 9, " {}", 3);
            }
        } else {
            for (; open; open = memmem(open, (size_t)(end - open), "{{", 2)) {
                char *close = memmem(open, (size_t)(end - open), "}}", 2);
                if (!close) break;
                any = true;
                memset(open, 'x', (size_t)(close + 2 - open));
            }
        }
        at = *end ? end + 1 : end;
    }
    return any;
}

static int read_yaml(struct config_set *set, const struct config_text *text, struct nvue_facts *facts)
{
    char *copy = arena_strndup(facts->arena, text->text, text->length);
    struct tree *root = NULL;
    struct nvue_fact none = {.words = 0};

    if (blank_marks(copy))
        config_note(set, CONFIG_AT(text, 1), NULL, CONFIG_NONE, CONFIG_NONE,
                    "a template: what stands in {{ }} is not known");
    int result = tree_parse_foreign(copy, text->length, facts->arena, &root, text->errors);
    if (result < 0) return result;
    const struct tree *direct = tree_get(root, "set");
    if (direct || root->type == TREE_MAP) walk(facts, direct ? direct : root, &none);
    for (const struct tree *item = !direct && root->type == TREE_LIST ? root->first : NULL; item; item = item->next) {
        const struct tree *body = tree_get(item, "set");
        if (body) walk(facts, body, &none);
    }
    return 0;
}

/* As the shell has it: what stands in quotation marks is one word. */
static char *next_word(char *line, char **save)
{
    char *word = line ? line : *save, *end;

    word += strspn(word, " \t\r");
    if (!*word) return NULL;
    if ((*word == '\'' || *word == '"') && (end = strchr(word + 1, *word)) != NULL)
        word++;
    else
        end = word + strcspn(word, " \t\r");
    *save = *end ? end + 1 : end;
    *end = 0;
    return word;
}

static void read_commands(struct config_set *set, const struct config_text *text, struct nvue_facts *facts)
{
    uint32_t line = 0;

    for (const char *at = text->text; *at;) {
        size_t length = strcspn(at, "\n");
        char *copy = arena_strndup(facts->arena, at, length), *save = NULL;
        line++;
        struct nvue_fact fact = {.line = line, .head = line};
        uint32_t index = 0;
        bool set_command = false;

        at += length + (at[length] == '\n');
        for (char *word = next_word(copy, &save); word; word = next_word(NULL, &save), index++) {
            if (word[0] == '#') break;
            if (index == 0 && strcmp(word, "$") == 0) { /* a transcript */
                index--;
                continue;
            }
            if (index == 0 && strcmp(word, "nv") != 0) break;
            if (index == 1) set_command = strcmp(word, "set") == 0;
            if (index == 1 && !set_command && strcmp(word, "unset") == 0)
                config_note(set, CONFIG_AT(text, line), NULL, CONFIG_NONE, CONFIG_NONE,
                            "nv unset: what it undoes is not known");
            if (index >= 2 && set_command && fact.words < NVUE_WORDS) fact.word[fact.words++] = word;
        }
        if (fact.words) add_fact(facts, &fact);
    }
}

int nvue_facts_read(struct config_set *set, const struct config_text *text, struct arena *arena, struct nvue_facts *ret)
{
    struct nvue_facts facts = {.arena = arena};
    int result = 0;

    if (nvue_is_commands(text->text, text->length))
        read_commands(set, text, &facts);
    else
        result = read_yaml(set, text, &facts);
    if (result < 0) return result;
    if (!facts.count) {
        fabric_errors_add(text->errors, (struct fabric_at){1, 1},
                          "not NVUE: `- set:` and a tree below it, or lines of `nv set`, are expected");
        return -EINVAL;
    }
    *ret = facts;
    return 0;
}
