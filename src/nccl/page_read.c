/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the pages that the plugin keeps in programs; see page.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "nccl/page.h"

struct reading {
    struct nccl_page *list;
    unsigned count;
};

static int read_one(void *context, const void *page, int fd)
{
    struct reading *reading = context;
    struct nccl_page *grown = realloc(reading->list, (reading->count + 1) * sizeof *grown);

    (void)fd;
    if (grown == NULL) return -ENOMEM;
    reading->list = grown;
    grown[reading->count] = *(const struct nccl_page *)page;
    grown[reading->count].name[NCCL_PAGE_NAME - 1] = grown[reading->count].program[NCCL_PAGE_NAME - 1] = 0;
    reading->count++;
    return 0;
}

int nccl_pages_read(struct nccl_page **ret, unsigned *ret_count)
{
    struct reading reading = {.list = NULL};
    int error = shared_page_walk(NCCL_PAGE_PREFIX, NCCL_PAGE_MAGIC, sizeof(struct nccl_page), read_one, &reading);

    if (error < 0) {
        free(reading.list);
        return error;
    }
    *ret = reading.list;
    *ret_count = reading.count;
    return 0;
}
