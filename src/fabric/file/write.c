/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric file with values replaced, as a text again: for whoever found better ones.
 *
 * Keys of the top level are on lines of their own, and so are elements of their lists; all below is in one line.
 * Comments and layout are lost; what the file says is the same, so it has the same source_hash.  Names of files that it
 * looks for beside itself are written with `folder`, where the text goes elsewhere.
 */
#include "fabric/file/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/file/override.h"
#include "fabric/nics.h"

static bool safe(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%+-:";

    size_t length = strlen(text);
    return length > 0 && strspn(text, letters) == length && text[0] != '-' && text[0] != '%' && text[0] != ':' &&
           text[length - 1] != ':';
}

static void quoted(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", to);
        else if (c < 0x20 || c == 0x7f)
            fprintf(to, "\\x%02x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void scalar(FILE *to, const struct tree *tree, const char *folder)
{
    bool control = tree->key && (strcmp(tree->key, "congestion") == 0 || strcmp(tree->key, "use") == 0);
    bool file = tree->key && (strcmp(tree->key, "file") == 0 || (control && fabric_congestion_is_file(tree->text)));
    bool name = folder && file && tree->text[0] != '/';

    if (name) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", folder, tree->text) < 0) return;
        quoted(to, path);
        free(path);
    } else if (tree->plain && (safe(tree->text) || tree->text[0] == '\0')) {
        fputs(tree->text, to);
    } else {
        quoted(to, tree->text);
    }
}

static void key_of(FILE *to, const struct tree *tree)
{
    if (safe(tree->key))
        fputs(tree->key, to);
    else
        quoted(to, tree->key);
    fputc(':', to);
}

static void flow(FILE *to, const struct tree *tree, const char *folder)
{
    if (tree->type == TREE_SCALAR) {
        scalar(to, tree, folder);
        return;
    }
    fputc(tree->type == TREE_MAP ? '{' : '[', to);
    for (const struct tree *child = tree->first; child; child = child->next) {
        if (child != tree->first) fputs(", ", to);
        if (tree->type == TREE_MAP) {
            key_of(to, child);
            fputc(' ', to);
        }
        flow(to, child, folder);
    }
    fputc(tree->type == TREE_MAP ? '}' : ']', to);
}

static void top(FILE *to, const struct tree *root, const char *folder)
{
    for (const struct tree *child = root->first; child; child = child->next) {
        key_of(to, child);
        if (child->type == TREE_LIST && child->first) {
            for (const struct tree *item = child->first; item; item = item->next) {
                fputs("\n  - ", to);
                flow(to, item, folder);
            }
        } else {
            fputc(' ', to);
            flow(to, child, folder);
        }
        fputc('\n', to);
    }
}

int fabric_write_with(const char *text, const struct fabric_override *override, uint32_t overrides, const char *folder,
                      FILE *to, struct fabric_errors *errors)
{
    struct tree *root = NULL;
    struct arena arena;

    arena_init(&arena, (size_t)1 << 32);
    int result = tree_parse(text, strlen(text), &arena, &root, errors);
    if (result == 0) result = tree_override(root, override, overrides, &arena, errors);
    if (result == 0 && root->type != TREE_MAP) result = -EINVAL;
    if (result == 0) top(to, root, folder);
    arena_release(&arena);
    return result;
}
