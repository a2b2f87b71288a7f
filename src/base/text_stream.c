/* SPDX-License-Identifier: Apache-2.0 */
/* A write that is refused is an error of the stream, which stdio remembers. */
#include "base/text_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct text {
    char **ret;
    size_t *ret_length;
    size_t used, room;
};

static ssize_t text_write(void *cookie, const char *bytes, size_t length)
{
    struct text *text = cookie;

    if (text->room - text->used <= length) {
        size_t room = (text->used + length + 1) * 2;
        char *grown = realloc(*text->ret, room);
        if (grown == NULL) return 0;
        *text->ret = grown;
        text->room = room;
    }
    memcpy(*text->ret + text->used, bytes, length);
    text->used += length;
    (*text->ret)[text->used] = '\0';
    *text->ret_length = text->used;
    return (ssize_t)length;
}

/* For ftell(). */
static int text_seek(void *cookie, off64_t *offset, int from)
{
    const struct text *text = cookie;

    if (*offset != 0 || from == SEEK_SET) return -1;
    *offset = (off64_t)text->used;
    return 0;
}

static int text_close(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *text_stream(char **ret, size_t *ret_length)
{
    struct text *text = malloc(sizeof *text);
    char *empty = calloc(1, 1);
    FILE *file =
        text == NULL || empty == NULL
            ? NULL
            : fopencookie(text, "w",
                          (cookie_io_functions_t){.write = text_write, .seek = text_seek, .close = text_close});

    if (file == NULL) {
        free(text);
        free(empty);
        return NULL;
    }
    *text = (struct text){.ret = ret, .ret_length = ret_length, .room = 1};
    *ret = empty;
    *ret_length = 0;
    return file;
}
