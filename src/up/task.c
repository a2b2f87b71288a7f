/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a program as the fabric's kernel numbers them.
 *
 * A program tells the number that its own kernel call answers.  In a container with processes of its own that is
 * another one than ours: then /proc tells which of its threads is meant.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "up/up_int.h"

/* The last number of a line such as `NSpid: 4711 12 1`; 0: not known. */
static int last_number(const char *path, const char *name)
{
    char line[256];
    int number = 0;

    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file)) {
        const char *last = strrchr(line, '\t');
        if (strncmp(line, name, strlen(name)) != 0 || last == NULL) continue;
        number = (int)strtoul(last + 1, NULL, 10);
        break;
    }
    fclose(file);
    return number;
}

/* As the innermost namespace has it. */
static int innermost(int pid, const char *task)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%.16s/status", pid, task);
    return last_number(path, "NSpid:");
}

static int task_of(int pid, int tid)
{
    char path[32];
    const struct dirent *entry;
    int found = 0;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *all = opendir(path);
    while (all && found == 0 && (entry = readdir(all)) != NULL)
        if (entry->d_name[0] != '.' && innermost(pid, entry->d_name) == tid)
            found = (int)strtoul(entry->d_name, NULL, 10);
    if (all) closedir(all);
    return found;
}

bool task_signal(struct up_process *process, int tid, int number)
{
    if (!process->own_numbers && syscall(SYS_tgkill, process->pid, tid, number) == 0) return true;
    if (!process->own_numbers && errno != ESRCH) return true;
    int task = task_of(process->pid, tid);
    process->own_numbers = task != 0 && task != tid;
    return task != 0 && (syscall(SYS_tgkill, process->pid, task, number) == 0 || errno != ESRCH);
}

static int of_process(pid_t pid, const char *name)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    return last_number(path, name);
}

int task_tracer(pid_t pid)
{
    return of_process(pid, "TracerPid:");
}

bool task_is_below(pid_t pid, pid_t debugger)
{
    return task_tracer(pid) == debugger || of_process(pid, "PPid:") == debugger;
}
