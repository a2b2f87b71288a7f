/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that programs start on other hosts: what a launcher of MPI does with a remote shell.
 *
 * Who asks stays where it is; the fabric starts the command on the other host, as it starts the lines of a script, when
 * the time of a message between hosts has passed.  Its exit status goes back the same way, into a pipe that the one
 * who asked reads.  Between hosts both are carried by the coordinator: no host touches another's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "up/up_int.h"

#include "fabric/fabric.h"

#define COMMAND_BYTES (1u << 17)
#define COMMAND_WORDS 500u

struct up_start {
    struct up_launch launch; /* first: start_next() goes from one to the other */
    struct up_command command;
    struct up_start *next;
    struct up_host *from; /* who asked */
    int answer;           /* our end of the pipe; -1: told */
    char host[ATTACH_NAME];
    char *words, *text;
    char *word[COMMAND_WORDS + 1];
};

static void start_free(struct up_start *start)
{
    if (start->answer >= 0) close(start->answer);
    free(start->words);
    free(start->text);
    free(start);
}

/* The words of the file: how many, or -errno. */
static int read_words(int fd, struct up_start *start)
{
    struct stat about;
    unsigned words = 0;

    if (fstat(fd, &about) != 0) return -errno;
    if (!S_ISREG(about.st_mode) || about.st_size <= 0 || about.st_size > COMMAND_BYTES) return -E2BIG;
    size_t bytes = (size_t)about.st_size;
    start->words = calloc(1, bytes + 1);
    start->text = calloc(1, bytes + 1);
    if (start->words == NULL || start->text == NULL) return -ENOMEM;
    if (pread(fd, start->words, bytes, 0) != (ssize_t)bytes) return -EIO;
    for (size_t at = 0; at < bytes; at += strlen(start->words + at) + 1) {
        if (words == COMMAND_WORDS) return -E2BIG;
        start->word[words++] = start->words + at;
    }
    for (size_t i = 0; i + 1 < bytes; i++)
        start->text[i] = start->words[i] ? start->words[i] : ' ';
    return 0;
}

static int prepare(struct up_process *process, const struct attach_request *request, struct up_start *start)
{
    const struct attach_host *host = (const struct attach_host *)(const void *)request->data;
    const struct fabric *fabric = process->up->fabric;
    int file = session_take_fd(process), error, ends[2];

    if (file < 0) return file;
    error = read_words(file, start);
    close(file);
    if (error) return error;
    memcpy(start->host, host->name, sizeof start->host);
    start->host[sizeof start->host - 1] = '\0';
    uint32_t node = fabric_find_node(fabric, start->host);
    if (node >= fabric->hosts) return -ENOENT;
    if (process->up->host[node].port) return -EHOSTUNREACH; /* it is not ours */
    start->launch.host = &process->up->host[node];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    start->answer = ends[1];
    error = session_give_fd(process, ends[0]);
    close(ends[0]);
    return error;
}

int start_request(struct up_process *process, struct attach_request *request, ps_t now)
{
    struct up_start *start = calloc(1, sizeof *start);

    if (start == NULL) return -ENOMEM;
    start->answer = -1;
    start->from = process->host;
    int error = process->up->options.runner ? prepare(process, request, start) : -EOPNOTSUPP;
    if (error) {
        start_free(start);
        return error;
    }
    start->command = (struct up_command){
        .host = start->host, .at = now + process->up->cost.stream, .text = start->text, .word = start->word};
    start->launch.command = &start->command;
    start->next = process->host->starts;
    process->host->starts = start;
    return 0;
}

/* The list of a host, the first first, goes to the end of all. */
static void begin(struct up *up, struct up_host *host, ps_t now)
{
    struct up_start *asked = NULL, **end = &up->starts;

    while (host->starts) {
        struct up_start *start = host->starts;
        host->starts = start->next;
        start->next = asked;
        asked = start;
    }
    while (*end)
        end = &(*end)->next;
    *end = asked;
    for (; asked; asked = asked->next) {
        if (asked->command.at < now) asked->command.at = now;
        launch_add(&asked->launch);
        turn_wake(asked->launch.host, asked->command.at);
    }
}

static void tell(struct up_start *start, ps_t now)
{
    int32_t status = start->launch.exit;

    if (write(start->answer, &status, sizeof status) < 0) status = -1; /* nobody reads any more */
    close(start->answer);
    start->answer = -1;
    turn_touched(start->from, NULL, now);
}

void start_carry(struct up *up, ps_t now)
{
    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        if (up->host[i].starts) begin(up, &up->host[i], now);
    for (struct up_start *start = up->starts; start; start = start->next)
        if (start->answer >= 0 && start->launch.end != PS_NEVER) tell(start, now);
}

struct up_launch *start_next(const struct up *up, const struct up_launch *launch)
{
    struct up_start *next = launch ? ((const struct up_start *)(const void *)launch)->next : up->starts;

    return next ? &next->launch : NULL;
}

void start_release(struct up *up)
{
    while (up->starts) {
        struct up_start *start = up->starts;
        up->starts = start->next;
        launch_stop(&start->launch);
        start_free(start);
    }
}
