/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program without memory: a sentence, and exit status 2.
 *
 * A verb is asked for an answer, and part of one looks like another answer.  So no allocation of this program fails:
 * what the C library refuses ends it here.  The linker puts these functions before the library's (--wrap, the same list
 * in meson.build), so that no caller can forget, and the rooms stay as they are: the same object code in librocelab.so
 * and in what is preloaded into programs of others has the library's own functions, and answers -ENOMEM.
 *
 * _exit(): what stands in buffers is part of an answer.  Not malloc() itself, for every library in the process: those
 * of libmicrohttpd end a request; libfyaml's are found where it is called (fabric/file/tree.c, base/memory.h).
 */
#include "cli/memory.h"

#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/memory.h"
#include "base/text_stream.h"

static atomic_bool may_fail;

static _Noreturn void end_for(size_t bytes)
{
    char text[64] = "rocelab: out of memory\n";

    if (bytes >= 1u << 20) snprintf(text, sizeof text, "rocelab: out of memory: %zu MB were asked for\n", bytes >> 20);
    draft_drop_all();
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(MEMORY_EXIT);
    _exit(MEMORY_EXIT);
}

static void end(void)
{
    end_for(0);
}

void cli_memory_may_fail(bool may)
{
    atomic_store(&may_fail, may);
    memory_end = end;
}

/* Ends the program where `got` is nothing because there is no memory; `bytes` 0: how many is not known. */
static void *or_end(void *got, size_t bytes)
{
    if (got == NULL && errno == ENOMEM && !atomic_load(&may_fail)) end_for(bytes);
    return got;
}

/* A function that answers NULL and sets errno. */
#define WRAP(answer, name, parameters, arguments, bytes)                                                               \
    answer __real_##name parameters;                                                                                   \
    answer __wrap_##name parameters;                                                                                   \
    answer __wrap_##name parameters                                                                                    \
    {                                                                                                                  \
        return or_end(__real_##name arguments, bytes);                                                                 \
    }

WRAP(void *, malloc, (size_t size), (size), size)
WRAP(void *, calloc, (size_t count, size_t size), (count, size),
     size &&count > SIZE_MAX / size ? SIZE_MAX : count * size)
WRAP(void *, realloc, (void *old, size_t size), (old, size), size)
WRAP(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size), 0)
WRAP(void *, aligned_alloc, (size_t align, size_t size), (align, size), size)
WRAP(char *, strdup, (const char *text), (text), 0)
WRAP(char *, strndup, (const char *text, size_t most), (text, most), 0)
WRAP(DIR *, opendir, (const char *path), (path), 0)
WRAP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), 0)
WRAP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), 0)
WRAP(FILE *, fmemopen, (void *buf, size_t size, const char *mode), (buf, size, mode), 0)

/* With its buffer: without one each byte would be a write of its own, and what encodes by pieces writes other bytes. */
FILE *__real_fopencookie(void *cookie, const char *mode, cookie_io_functions_t calls);
FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t calls);

FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t calls)
{
    FILE *file = or_end(__real_fopencookie(cookie, mode, calls), 0);

    if (file != NULL && setvbuf(file, NULL, _IOFBF, BUFSIZ) != 0) or_end(NULL, 0);
    return file;
}

/* A function that answers a negative number and sets errno. */
#define WRAP_NUMBER(name, parameters, arguments)                                                                       \
    int __real_##name parameters;                                                                                      \
    int __wrap_##name parameters;                                                                                      \
    int __wrap_##name parameters                                                                                       \
    {                                                                                                                  \
        int got = __real_##name arguments;                                                                             \
        if (got < 0) or_end(NULL, 0);                                                                                  \
        return got;                                                                                                    \
    }

typedef int chooser(const struct dirent *);
typedef int order(const struct dirent **, const struct dirent **);
WRAP_NUMBER(scandir64, (const char *path, struct dirent ***ret, chooser *choose, order *in), (path, ret, choose, in))
WRAP_NUMBER(getifaddrs, (struct ifaddrs * *ret), (ret))

/* With and without checked lengths. */
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
{
    va_list list;

    (void)flag;
    va_start(list, format);
    int got = vasprintf(ret, format, list);
    va_end(list);
    if (got < 0) or_end(NULL, 0);
    return got;
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    int got = vasprintf(ret, format, list);
    va_end(list);
    if (got < 0) or_end(NULL, 0);
    return got;
}

FILE *__wrap_open_memstream(char **ret, size_t *ret_length);
FILE *__wrap_open_memstream(char **ret, size_t *ret_length)
{
    return text_stream(ret, ret_length);
}
