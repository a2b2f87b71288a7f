// SPDX-License-Identifier: Apache-2.0
// usage: fork_memory
//
// Registers memory and forks.  What the child writes there, in a handler of pthread_atfork() and after that, the parent
// does not see, and the child does not see what the parent writes.  Says "fork_memory: right", or what was wrong.
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };
static volatile char *memory;

static void in_child(void)
{
    memory[5000] = 'c';
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
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
    else
        printf("fork_memory: right\n");
    return 0;
}
