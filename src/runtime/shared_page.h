/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of shared memory by which a process shows its counters to others of the same user.
 */
#ifndef ROCELAB_RUNTIME_SHARED_PAGE_H
#define ROCELAB_RUNTIME_SHARED_PAGE_H

#include <stddef.h>
#include <stdint.h>

struct shared_page_head { /* a page begins with it */
    uint64_t magic, bytes;
};

struct shared_page {
    void *at; /* NULL: there is none, and no harm */
    size_t bytes;
    char *name;
    int fd; /* held for as long as the process lives */
};

/* A new one, zeroed, whose name begins with `prefix` and has the process id and `number` in it.  Nobody reads it before
 * it is published. */
void shared_page_open(struct shared_page *ret, const char *prefix, unsigned number, uint64_t magic, size_t bytes);
void shared_page_publish(struct shared_page *page, uint64_t magic);
void shared_page_close(struct shared_page *page);
/* In the child of a fork: the parent's stays the parent's. */
void shared_page_fork(struct shared_page *page);

/* What this process is called, as others see it. */
void shared_page_program(char *ret, size_t bytes);

/* Every page of this user's processes that run now: a copy, and its file for those who must look again.  Pages of
 * processes that are gone are removed.  Ends with what is not 0. */
typedef int shared_page_visit(void *context, const void *page, int fd);
int shared_page_walk(const char *prefix, uint64_t magic, size_t bytes, shared_page_visit *visit, void *context);

#endif
