/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's text, whole: of the fabric file and of the files it names.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "base/reads.h"
#include "fabric/file/override.h"
#include "fabric/file/read.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

char *file_read(struct loader *loader, const char *path, struct fabric_at at, size_t *ret_length)
{
    bool in = at.line == 0 && strcmp(path, FILE_STDIN) == 0;
    FILE *file = in ? stdin : fopen(path, "rb");
    size_t size = 1 << 16, used = 0;
    bool large = false;

    if (!file) {
        read_error(loader, at, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    reads_note(fileno(file), path);
    char *text = SCRATCH_NEW(loader, char, size);
    while (text) {
        size_t got = fread(text + used, 1, size - 1 - used, file);
        used += got;
        if (got == 0) break;
        if (used < size - 1) continue;
        large = size >= FILE_BYTES_MAX;
        if (large) break;
        char *grown = SCRATCH_NEW(loader, char, size * 2);
        if (grown) memcpy(grown, text, used);
        text = grown;
        size *= 2;
    }
    bool failed = ferror(file) || large;
    if (text && failed)
        read_error(loader, at, "cannot read '%s': %s", path, ferror(file) ? strerror(errno) : "too large");
    if (!in) fclose(file);
    if (!text || failed) return NULL;
    text[used] = 0;
    loader->files_hash = hash_bytes(loader->files_hash, text, used);
    *ret_length = used;
    return text;
}

char *file_read_lines(struct loader *loader, const char *path, struct fabric_at at, size_t *ret_length)
{
    char *text = file_read(loader, path, at, ret_length);
    struct fabric_at zero = {0};

    if (!text || !zero_byte_at(text, *ret_length, &zero.line, &zero.column)) return text;
    if (at.line == 0)
        read_error(loader, zero, "a zero byte: a text is expected");
    else
        read_error(loader, at, "%s:%u:%u: a zero byte: a text is expected", path, zero.line, zero.column);
    return NULL;
}
