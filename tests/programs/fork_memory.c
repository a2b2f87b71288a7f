// SPDX-License-Identifier: Apache-2.0
// usage: fork_memory
//
// Registers memory and forks.  What the child writes there, in a handler of pthread_atfork() and after that, the parent
// does not see, and the child does not see what the parent writes.  Then the same with memory whose address was that of
// registered memory.  Says "fork_memory: right", or what was wrong.
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };
static volatile char *memory;

static void in_child(void)
{
    memory[5000] = 'c';
}

static char *mapped(char with)
{
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) exit(2);
    memset(at, with, BYTES);
    return at;
}

static int holds(const char *at, char what, int from, int to)
{
    while (from < to && at[from] == what)
        from++;
    return from == to;
}

// Memory that was registered and is gone: what is at its address now is the program's alone.
static const char *with_reused_address(struct ibv_pd *pd)
{
    char *before = mapped('o');
    struct ibv_mr *mr = ibv_reg_mr(pd, before, BYTES, IBV_ACCESS_LOCAL_WRITE);
    int status = -1;

    if (mr == NULL || ibv_dereg_mr(mr) != 0 || munmap(before, BYTES) != 0) exit(2);
    char *now = mapped('n');
    if (now != before) return "the kernel has chosen another address: nothing was tried";
    pid_t child = fork();
    if (child == 0) _exit(!holds(now, 'n', 0, BYTES));
    if (waitpid(child, &status, 0) != child || status != 0) return "the child has what was there before";
    if (madvise(now + 8192, 4096, MADV_DONTNEED) != 0) return "madvise() fails";
    if (!holds(now, 'n', 0, 8192) || !holds(now, 'n', 12288, BYTES)) return "madvise() brought back what was before";
    mr = ibv_reg_mr(pd, now, BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (mr == NULL || madvise(now + 16384, 4096, MADV_DONTNEED) != 0) return "madvise() of what is registered fails";
    return holds(now, 0, 16384, 20480) && holds(now, 'n', 20480, BYTES) ? NULL : "madvise() has left what was there";
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
    const char *wrong;
    int status = -1;

    pthread_atfork(NULL, NULL, in_child);
    memory = aligned_alloc(4096, BYTES);
    if (pd == NULL || memory == NULL) return 2;
    memset((char *)memory, 'p', BYTES);
    if (ibv_reg_mr(pd, (char *)memory, BYTES, IBV_ACCESS_LOCAL_WRITE) == NULL) return 2;
    pid_t child = fork();
    if (child == 0) {
        memory[9000] = 'c';
        _exit(memory[5000] == 'c' && memory[0] == 'p' ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        printf("the child has other memory\n");
    else if (memory[5000] != 'p')
        printf("the parent sees what a handler wrote in the child\n");
    else if (memory[9000] != 'p')
        printf("the parent sees what the child wrote\n");
    else if ((wrong = with_reused_address(pd)) != NULL)
        printf("%s\n", wrong);
    else
        printf("fork_memory: right\n");
    return 0;
}
