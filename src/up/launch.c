/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that the script starts, each at its time: fabric time waits until the program has attached.
 *
 * They are started by `rocelab run --fabric`, as by hand.  What they write goes to files without a name: a write never
 * waits for a reader.  A program that ends without having attached (it was not found, it is no program of the fabric)
 * has its exit status like the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "up/up_int.h"

#define WORDS_MAX 512

void launch_add(struct up_launch *launch)
{
    struct up_launch **at = &launch->host->launch;

    while (*at && (*at)->command->at <= launch->command->at)
        at = &(*at)->next;
    launch->pidfd = launch->output[0] = launch->output[1] = launch->exit = -1;
    launch->start = launch->end = PS_NEVER;
    launch->next = *at;
    *at = launch;
}

int launch_create(struct up *up)
{
    const struct up_script *script = up->options.script;

    if (script == NULL || script->commands == 0) return 0;
    up->launch = calloc(script->commands, sizeof *up->launch);
    if (up->launch == NULL) return -ENOMEM;
    up->launches = script->commands;
    for (uint32_t i = 0; i < script->commands; i++) {
        const struct up_command *command = &script->command[i];
        uint32_t node = fabric_find_node(up->fabric, command->host);

        CHECK(node < up->fabric->hosts); /* up_script_fit() has told */
        up->launch[i] = (struct up_launch){.command = command, .host = &up->host[node]};
        launch_add(&up->launch[i]);
    }
    return 0;
}

static int output_file(void)
{
    int fd = memfd_create("rocelab-output", MFD_CLOEXEC);

    if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

/* In the child, which has one thread: nothing is allocated here. */
static void become(const struct up *up, const struct up_launch *launch, const char *const *word)
{
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    setpgid(0, 0);
    setrlimit(RLIMIT_NOFILE, &up->files);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* of the thread that forks: those of the engine are there until its end */
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (launch->output[0] >= 0) dup2(launch->output[0], STDOUT_FILENO);
    if (launch->output[1] >= 0) dup2(launch->output[1], STDERR_FILENO);
    execv(up->options.runner, __extension__(char *const *)(uintptr_t) word);
    _exit(127);
}

static void start(struct up_launch *launch, ps_t now)
{
    const struct up *up = launch->host->up;
    const struct up_command *command = launch->command;
    const char *word[WORDS_MAX + 10];
    unsigned words = 0;

    const char *const before[] = {"rocelab", "run", "--fabric", up->socket_path, "--host", command->host, "--"};
    for (unsigned i = 0; i < sizeof before / sizeof before[0]; i++)
        word[words++] = before[i];
    for (unsigned i = 0; command->word[i] && i < WORDS_MAX; i++)
        word[words++] = command->word[i];
    word[words] = NULL;
    launch->output[0] = output_file();
    launch->output[1] = output_file();
    launch->start = now;
    launch->pid = fork();
    if (launch->pid == 0) become(up, launch, word);
    if (launch->pid > 0) launch->pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
}

void launch_end(struct up_launch *launch, ps_t now)
{
    int status = 0;

    if (launch->end != PS_NEVER) return;
    launch->end = now;
    if (launch->pid <= 0) {
        launch->exit = 127;
        return;
    }
    if (up_stopped(launch->host->up)) kill(launch->pid, SIGKILL);
    if (waitpid(launch->pid, &status, 0) == launch->pid)
        launch->exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    launch->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (launch->pidfd >= 0) close(launch->pidfd);
    launch->pidfd = -1;
}

static void belongs(struct up_process *process, struct up_launch *launch)
{
    process->launch = launch;
    session_own(process);
}

void launch_due(struct up_host *host, ps_t now)
{
    while (host->launch && host->launch->command->at <= now) {
        struct up_launch *launch = host->launch;

        host->launch = launch->next;
        start(launch, now);
        if (host->up->options.real && launch->pid > 0) continue;
        const struct up_expected expected = {.host = host,
                                             .number = UINT32_MAX,
                                             .pid = launch->pid,
                                             .pidfd = launch->pidfd,
                                             .limit_ms = -1,
                                             .what = launch->command->text};
        if (launch->pid > 0) launch->process = session_await(&expected, now);
        if (launch->process)
            belongs(launch->process, launch);
        else
            launch_end(launch, now);
    }
}

static void join_if_its(struct up_launch *launch, struct up_process *process)
{
    if (launch->pid != process->pid || launch->process || launch->end != PS_NEVER) return;
    launch->process = process;
    belongs(process, launch);
}

void launch_joined(struct up_process *process)
{
    const struct up *up = process->up;

    for (uint32_t i = 0; i < up->launches; i++)
        join_if_its(&up->launch[i], process);
    for (struct up_launch *at = start_next(up, NULL); at; at = start_next(up, at))
        join_if_its(at, process);
}

/* True: it runs, and has not attached. */
static bool look_at(struct up_launch *launch, ps_t now)
{
    struct pollfd at = {.fd = launch->pidfd, .events = POLLIN};

    if (launch->pid <= 0 || launch->end != PS_NEVER || launch->process) return false;
    if (poll(&at, 1, 0) > 0) launch_end(launch, now);
    return launch->end == PS_NEVER;
}

bool launch_look(struct up *up, ps_t now)
{
    bool any = false;

    for (uint32_t i = 0; i < up->launches; i++)
        any |= look_at(&up->launch[i], now);
    for (struct up_launch *at = start_next(up, NULL); at; at = start_next(up, at))
        any |= look_at(at, now);
    return any;
}

bool launch_ended(const struct up *up)
{
    for (uint32_t i = 0; i < up->launches; i++)
        if (up->launch[i].end == PS_NEVER) return false;
    return true;
}

/* What still runs was started by us, and goes with us. */
void launch_stop(struct up_launch *launch)
{
    if (launch->pid > 0) kill(-launch->pid, SIGKILL); /* its group: children that it left behind too */
    if (launch->pid > 0 && launch->end == PS_NEVER) {
        kill(launch->pid, SIGKILL);
        launch_end(launch, launch->start);
    }
    for (int k = 0; k < 2; k++)
        if (launch->output[k] >= 0) close(launch->output[k]);
}

void launch_release(struct up *up)
{
    for (uint32_t i = 0; i < up->launches; i++)
        launch_stop(&up->launch[i]);
    free(up->launch);
    up->launch = NULL;
    up->launches = 0;
}
