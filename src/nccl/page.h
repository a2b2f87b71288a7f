/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A communicator's counters as other processes see them: the page that the plugin keeps, and its reader.
 */
#ifndef ROCELAB_NCCL_PAGE_H
#define ROCELAB_NCCL_PAGE_H

#include <stdint.h>

#include "observe/sample.h"
#include "runtime/shared_page.h"

#define NCCL_PAGE_PREFIX "nccl-"
#define NCCL_PAGE_MAGIC 0x726f63656c616e01ull
#define NCCL_PAGE_NAME 64

struct nccl_page {
    struct shared_page_head head;
    uint32_t pid; /* in its own namespace */
    int32_t rank, ranks, nodes;
    uint64_t id;
    char name[NCCL_PAGE_NAME], program[NCCL_PAGE_NAME]; /* as the program calls them: any bytes */
    struct observe_communicator counters;
};

/* Every communicator of this user's programs now; free() the answer.  -ENOMEM */
int nccl_pages_read(struct nccl_page **ret, unsigned *ret_count);

#endif
