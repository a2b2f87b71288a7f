/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a live row starts: this very program, found by /proc/self/exe, with its libraries beside it.  They
 * write into a folder of their own that is removed with all that is in it, and are ended when they take too long.
 *
 * Whether the machine was busy with something else meanwhile is measured, not guessed: processor time that was used in
 * all, less what programs of this process used.
 */
#include "validate/live/machine.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "study/clock.h"

#define PAUSE_NS 50000000
#define ENDING 40u /* pauses, until a program that was asked to end is ended */
#define OUTPUT_BYTES (1u << 20)

extern char **environ;

void machine_pause(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    nanosleep(&pause, NULL);
}

pid_t machine_start(const char *folder, const char *output, const char *errors, const char *const *argument)
{
    posix_spawn_file_actions_t actions;
    char path[LIVE_PATH], other[LIVE_PATH], program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1); /* libraries lie beside it */
    pid_t pid = -1;

    snprintf(path, sizeof path, "%s/%s", folder, output);
    snprintf(other, sizeof other, "%s/%s", folder, errors ? errors : "");
    if (length < 0 || posix_spawn_file_actions_init(&actions) != 0) return -1;
    program[length] = '\0';
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (errors)
        posix_spawn_file_actions_addopen(&actions, 2, other, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    else
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (posix_spawn(&pid, program, &actions, NULL, (char *const *)(uintptr_t)argument, environ) != 0) pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* A launcher ends what it has started when it is asked to. */
static void end(pid_t pid)
{
    int signals[] = {SIGTERM, SIGKILL}, status;

    for (uint32_t tried = 0; tried < 2 * ENDING; tried++) {
        if (tried % ENDING == 0) kill(pid, signals[tried / ENDING]);
        if (waitpid(pid, &status, WNOHANG) != 0) return;
        machine_pause();
    }
}

int machine_finish(pid_t pid, uint64_t until_ns)
{
    int status = 0;

    if (pid < 0) return -1;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_now_ns() < until_ns) {
            machine_pause();
            continue;
        }
        end(pid);
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *machine_output(const char *folder, const char *name, size_t *ret_length)
{
    char path[LIVE_PATH], *text = malloc(OUTPUT_BYTES);

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = text ? fopen(path, "r") : NULL;
    *ret_length = file ? fread(text, 1, OUTPUT_BYTES - 1, file) : 0;
    if (file) fclose(file);
    if (text) text[*ret_length] = '\0';
    return text;
}

bool machine_open(char folder[LIVE_PATH])
{
    const char *in = getenv("TMPDIR");

    if (!in || in[0] != '/' || strlen(in) > LIVE_PATH / 2) in = "/tmp";
    snprintf(folder, LIVE_PATH, "%s/rocelab-live-XXXXXX", in);
    return mkdtemp(folder) != NULL;
}

void machine_close(const char *folder, const char *const *files)
{
    char path[LIVE_PATH];

    for (; *files; files++) {
        snprintf(path, sizeof path, "%s/%s", folder, *files);
        unlink(path);
    }
    rmdir(folder);
}

/* "model name : ..." of the first processor; machines that do not say it there are known by their architecture. */
static void read_cpu(char cpu[MACHINE_NAME])
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(cpu, MACHINE_NAME, "%.*s", MACHINE_NAME - 1, colon);
        break;
    }
    if (file) fclose(file);
}

struct baseline_machine machine_name(struct machine_name *ret)
{
    struct utsname system;

    *ret = (struct machine_name){0};
    if (uname(&system) == 0) {
        snprintf(ret->cpu, MACHINE_NAME, "%.*s", MACHINE_NAME - 1, system.machine);
        snprintf(ret->kernel, MACHINE_NAME, "%.*s", MACHINE_NAME - 1, system.release);
    }
    read_cpu(ret->cpu);
    return (struct baseline_machine){
        .cpu = ret->cpu, .kernel = ret->kernel, .processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)};
}

/* Processor time that was used, and all there was, since the machine started. */
static bool read_busy(double *ret_used, double *ret_all)
{
    unsigned long long part[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    int got = file ? fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &part[0], &part[1], &part[2], &part[3],
                            &part[4], &part[5], &part[6], &part[7])
                   : 0;

    if (file) fclose(file);
    *ret_all = *ret_used = 0;
    for (int i = 0; i < 8; i++) {
        *ret_all += (double)part[i];
        if (i != 3 && i != 4) *ret_used += (double)part[i]; /* idle, and waiting for disks */
    }
    return got == 8;
}

static double own_ticks(void)
{
    struct rusage use;

    getrusage(RUSAGE_CHILDREN, &use);
    return ((double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
            (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6) *
           (double)sysconf(_SC_CLK_TCK);
}

void machine_watch(struct machine_watch *watch)
{
    watch->known = read_busy(&watch->used, &watch->all);
    watch->own = own_ticks();
}

double machine_others(const struct machine_watch *since)
{
    double used, all, own = own_ticks();

    if (!since->known || !read_busy(&used, &all) || all <= since->all) return 0;
    double others = used - since->used - (own - since->own);
    return others > 0 ? others / (all - since->all) : 0;
}
