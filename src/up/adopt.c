/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's memory, as the fabric reaches it.
 */
#include "up/up_int.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

bool memory_read(struct up_process *process, uint64_t addr, void *to, uint64_t bytes)
{
    (void)process, (void)addr, (void)to, (void)bytes;
    return false;
}

bool memory_write(struct up_process *process, uint64_t addr, const void *from, uint64_t bytes)
{
    (void)process, (void)addr, (void)from, (void)bytes;
    return false;
}

int adopt_init(struct up_process *process)
{
    process->adopted_fd = memfd_create("rocelab-adopted", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return process->adopted_fd < 0 ? -errno : 0;
}

int adopt_request(struct up_process *process, struct attach_request *request)
{
    (void)process, (void)request;
    return -EOPNOTSUPP;
}

void adopt_release(struct up_process *process)
{
    if (process->adopted_fd >= 0) close(process->adopted_fd);
    process->adopted_fd = -1;
}
