/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from streams of the program (stdio) that lead to pipes and sockets.
 *
 * libc reads for a stream inside itself, with the stream locked: there nobody may wait.  So whoever would read from an
 * empty stream waits for its descriptor first.  What takes more than one byte takes them one by one, since libc would
 * wait for the last of them.
 *
 * Formatted input (fscanf) waits for its first byte only.  Writing does not wait.
 */
/* The header has bodies for some of these when it is optimised; here they are ours. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/waits/waits.h"

/* The stream may keep us waiting. */
static bool waits(FILE *file)
{
    return managed() && fileno(file) >= 0 && wait_is_waitable(fileno(file)) && wait_would_block(fileno(file));
}

/* Until libc finds something, the end or an error. */
static void await(FILE *file)
{
    if (file->_IO_read_ptr < file->_IO_read_end || feof_unlocked(file) || ferror_unlocked(file)) return;
    while (wait_ready(fileno(file), POLLIN, UINT64_MAX) == -EINTR && turn_restarts())
        continue;
}

static int get(FILE *file)
{
    int byte;

    await(file);
    byte = REAL(fgetc)(file);
    return byte;
}

EXPORT int fgetc(FILE *file)
{
    return waits(file) ? get(file) : REAL(fgetc)(file);
}

EXPORT int getc(FILE *file)
{
    return fgetc(file);
}

EXPORT int getchar(void)
{
    return fgetc(stdin);
}

EXPORT char *fgets(char *restrict to, int room, FILE *restrict file)
{
    int used = 0, byte = 0;

    if (room <= 1 || !waits(file)) return REAL(fgets)(to, room, file);
    while (used < room - 1 && byte != '\n' && (byte = get(file)) != EOF)
        to[used++] = (char)byte;
    if (used == 0 || (byte == EOF && ferror(file))) return NULL;
    to[used] = 0;
    return to;
}

EXPORT size_t fread(void *restrict to, size_t size, size_t count, FILE *restrict file)
{
    size_t used = 0, bytes;
    int byte;

    if (size == 0 || __builtin_mul_overflow(size, count, &bytes) || !waits(file))
        return REAL(fread)(to, size, count, file);
    while (used < bytes && (byte = get(file)) != EOF)
        ((uint8_t *)to)[used++] = (uint8_t)byte;
    return used / size;
}

EXPORT ssize_t getdelim(char **restrict line, size_t *restrict room, int end, FILE *restrict file)
{
    size_t used = 0;
    int byte = 0;

    if (line == NULL || room == NULL || !waits(file)) return REAL(getdelim)(line, room, end, file);
    do {
        byte = get(file);
        if (byte == EOF) break;
        if (*line == NULL || used + 2 > *room) {
            size_t wanted = *room < 60 || *line == NULL ? 120 : 2 * *room;
            char *bigger = realloc(*line, wanted);

            if (bigger == NULL) return -1;
            *line = bigger;
            *room = wanted;
        }
        (*line)[used++] = (char)byte;
    } while (byte != end);
    if (used == 0) return -1;
    (*line)[used] = 0;
    return (ssize_t)used;
}

EXPORT ssize_t getline(char **restrict line, size_t *restrict room, FILE *restrict file)
{
    return getdelim(line, room, '\n', file);
}

extern EXPORT ssize_t __getdelim(char **line, size_t *room, int end, FILE *file);
ssize_t __getdelim(char **line, size_t *room, int end, FILE *file)
{
    return getdelim(line, room, end, file);
}

extern EXPORT char *__fgets_chk(char *to, size_t size, int room, FILE *file);
char *__fgets_chk(char *to, size_t size, int room, FILE *file)
{
    if (room > 0 && (size_t)room > size) abort();
    return fgets(to, room, file);
}

extern EXPORT size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file)
{
    size_t bytes;

    if (__builtin_mul_overflow(size, count, &bytes) || bytes > room) abort();
    return fread(to, size, count, file);
}

/* What getc_unlocked() calls when there is nothing left. */
extern EXPORT int __uflow(FILE *file);
int __uflow(FILE *file)
{
    if (waits(file)) await(file);
    return REAL(__uflow)(file);
}
