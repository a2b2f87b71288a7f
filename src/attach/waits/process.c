/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of the program: fork, spawn and exec, and the end.
 *
 * A child is a process of the fabric with a number of its own, which the parent asks for before it forks; the parent
 * keeps its turn until the child is attached, so who of them goes on first is the fabric's to say.  A new program in
 * the same process finds our library and the process's number in its environment, whatever environment it was given.
 *
 * A process that is not attached (a static program) runs in real time; its parent waits for it and time stands still.
 *
 * Waiting for children and sending signals to them is children.c's.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "attach/waits/children.h"
#include "attach/waits/waits.h"

extern char **environ;

static bool has_session(void)
{
    return attached.head != NULL && !attached.gone && self != NULL && self->in_library == 0;
}

/* --- fork --- */

/* A number for a child, or -errno. */
static int ask_number(void)
{
    struct attach_request request = {.op = ATTACH_OP_FORK};
    int number = turn_enter();

    if (number < 0) return number;
    number = session_request(&request, NULL, 0);
    turn_leave();
    return number;
}

/* The child is there, or (0) there is none.  Its pid as programs know it. */
static pid_t say_forked(int number, pid_t kernel)
{
    struct attach_request request = {.op = ATTACH_OP_FORKED, .object = (uint32_t)number};
    struct attach_fork *fork = (struct attach_fork *)request.data;
    int before = errno, error = turn_enter();

    if (error == 0) {
        fork->pid = kernel;
        error = session_request(&request, NULL, 0);
        turn_leave();
    }
    errno = before;
    if (kernel <= 0 || error < 0 || !attached.is_virtual) return kernel; /* real clock: pids are the kernel's */
    children_add(kernel, CHILDREN_PID((uint32_t)number));
    return children_seen(kernel);
}

EXPORT pid_t fork(void)
{
    struct attach_thread *place = self;
    int number, before = errno;
    pid_t kernel;

    if (!has_session()) return REAL(fork)();
    number = ask_number();
    if (number < 0) {
        errno = EAGAIN;
        return -1;
    }
    /* Handlers of pthread_atfork() run in both, and the child's must not use the parent's place. */
    self = NULL;
    kernel = REAL(fork)();
    self = place;
    if (kernel == 0) {
        session_child((uint32_t)number);
        errno = before;
        return 0;
    }
    return say_forked(number, kernel < 0 ? 0 : kernel) == 0 ? -1 : children_seen(kernel);
}

/* Our part of it needs memory of its own: what vfork() saves is not worth the trap. */
EXPORT pid_t vfork(void)
{
    return fork();
}

EXPORT pid_t _Fork(void)
{
    return has_session() ? fork() : REAL(_Fork)();
}

EXPORT int clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
    if (!attached.is_virtual) { /* what follows is looked at as the flags say; passing it on does no harm */
        va_list list;

        va_start(list, argument);
        void *more[3] = {va_arg(list, void *), va_arg(list, void *), va_arg(list, void *)};
        va_end(list);
        return REAL(clone)(run, stack, flags, argument, more[0], more[1], more[2]);
    }
    session_not_virtual("clone(): use fork() or pthread_create(), or --clock real");
    errno = ENOSYS;
    return -1;
}

EXPORT int daemon(int keep_folder, int keep_output)
{
    pid_t child;
    int null;

    if (!has_session()) return REAL(daemon)(keep_folder, keep_output);
    child = fork();
    if (child < 0) return -1;
    if (child > 0) _exit(0);
    if (setsid() < 0) return -1;
    if (!keep_folder && chdir("/") < 0) return -1;
    if (keep_output) return 0;
    null = open("/dev/null", O_RDWR);
    if (null < 0) return -1;
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    if (null > 2) close(null);
    return 0;
}

/* --- the environment of a new program --- */

static size_t name_length(const char *line)
{
    return strcspn(line, "=");
}

static bool same_name(const char *one, const char *other)
{
    size_t length = name_length(one);

    return length == name_length(other) && strncmp(one, other, length) == 0;
}

static bool is_list(const char *line)
{
    return strncmp(line, "LD_", 3) == 0;
}

/* LD_PRELOAD and the like are lists: ours in front of the program's, unless that has it already. */
static const char *merge(const char *ours, const char *theirs)
{
    const char *value = theirs + name_length(theirs);
    char *line;

    if (!is_list(ours) || value[0] == 0 || value[1] == 0) return ours;
    if (strstr(value + 1, ours + name_length(ours) + 1) != NULL) return theirs;
    return asprintf(&line, "%s:%s", ours, value + 1) < 0 ? ours : line;
}

/* The lines of `given` with ours; NULL: no memory.  Lines that were made stay: the program of this process ends. */
static char **environment(char *const *given, struct session_variables *ours)
{
    size_t count = 0, used = 0;
    char **lines;

    while (given != NULL && given[count] != NULL)
        count++;
    lines = calloc(count + SESSION_VARIABLES + 1, sizeof *lines);
    if (lines == NULL) return NULL;
    for (size_t i = 0; i < count; i++) {
        unsigned k = 0;

        while (ours->line[k] != NULL && !same_name(ours->line[k], given[i]))
            k++;
        if (ours->line[k] != NULL)
            ours->line[k] = merge(ours->line[k], given[i]);
        else
            lines[used++] = given[i];
    }
    for (unsigned k = 0; ours->line[k] != NULL; k++)
        lines[used++] = (char *)(uintptr_t)ours->line[k];
    return lines;
}

/* --- exec --- */

struct program {
    const char *path; /* or NULL: `fd` */
    int fd, flags;
    bool searched; /* in PATH */
    char *const *argv, *const *envp;
};

static int exec_raw(const struct program *program, char *const *envp)
{
    if (program->path == NULL) return REAL(fexecve)(program->fd, program->argv, envp);
    if (program->searched) return REAL(execvpe)(program->path, program->argv, envp);
    if (program->flags != 0 || program->fd != AT_FDCWD)
        return REAL(execveat)(program->fd, program->path, program->argv, envp, program->flags);
    return REAL(execve)(program->path, program->argv, envp);
}

/* Returns only when it could not be done. */
static int exec(const struct program *program)
{
    struct session_variables ours;
    char **lines;
    int error;

    if (!has_session() || turn_enter() < 0) return exec_raw(program, program->envp);
    session_variables(attached.head->process, false, &ours);
    lines = environment(program->envp, &ours);
    tsc_stop();              /* the new program would end at its first rdtsc ... */
    signals_hold_spin(true); /* ... and by a signal that comes before it has a handler */
    exec_raw(program, lines != NULL ? lines : program->envp);
    error = errno;
    signals_hold_spin(false);
    if (attached.is_virtual) tsc_start();
    free(lines);
    turn_leave();
    errno = error;
    return -1;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return exec(&(struct program){.path = path, .fd = AT_FDCWD, .argv = argv, .envp = envp});
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return exec(&(struct program){.path = file, .fd = AT_FDCWD, .searched = true, .argv = argv, .envp = envp});
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    return exec(&(struct program){.fd = fd, .argv = argv, .envp = envp});
}

EXPORT int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags)
{
    return exec(&(struct program){.path = path, .fd = folder, .flags = flags, .argv = argv, .envp = envp});
}

/* The words of a list of arguments, on the caller's stack: a NULL ends them.  execle()'s environment is behind it. */
#define EXEC_WORDS 1024
static int exec_list(const char *path, bool searched, bool own_environment, const char *first, va_list *list)
{
    char *argv[EXEC_WORDS];
    size_t count = 0;

    argv[count++] = (char *)(uintptr_t)first;
    while (count < EXEC_WORDS && argv[count - 1] != NULL)
        argv[count++] = va_arg(*list, char *);
    if (argv[count - 1] != NULL) {
        errno = E2BIG;
        return -1;
    }
    return exec(&(struct program){.path = path,
                                  .fd = AT_FDCWD,
                                  .searched = searched,
                                  .argv = argv,
                                  .envp = own_environment ? va_arg(*list, char *const *) : environ});
}

EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    int result;

    va_start(list, first);
    result = exec_list(path, false, false, first, &list);
    va_end(list);
    return result;
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    int result;

    va_start(list, first);
    result = exec_list(file, true, false, first, &list);
    va_end(list);
    return result;
}

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    int result;

    va_start(list, first);
    result = exec_list(path, false, true, first, &list);
    va_end(list);
    return result;
}

/* --- spawn --- */

typedef int (*spawn_function)(pid_t *restrict, const char *restrict, const posix_spawn_file_actions_t *,
                              const posix_spawnattr_t *restrict, char *const[], char *const[]);

static int spawn(spawn_function real, pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    struct session_variables ours;
    pid_t kernel = 0, seen;
    char **lines;
    int error, number;

    if (!has_session()) return real(ret, path, actions, attributes, argv, envp);
    number = ask_number();
    if (number < 0 || turn_enter() < 0) return EAGAIN;
    session_variables((uint32_t)number, true, &ours);
    lines = environment(envp, &ours);
    tsc_stop();
    error = lines == NULL ? ENOMEM : real(&kernel, path, actions, attributes, argv, lines);
    if (attached.is_virtual) tsc_start();
    free(lines);
    turn_leave();
    seen = say_forked(number, error != 0 ? 0 : kernel);
    if (error == 0 && ret != NULL) *ret = seen;
    return error;
}

EXPORT int posix_spawn(pid_t *restrict ret, const char *restrict path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                       char *const envp[restrict])
{
    return spawn(REAL(posix_spawn), ret, path, actions, attributes, argv, envp);
}

EXPORT int posix_spawnp(pid_t *restrict ret, const char *restrict file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                        char *const envp[restrict])
{
    return spawn(REAL(posix_spawnp), ret, file, actions, attributes, argv, envp);
}

static pid_t spawn_shell(const char *command, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes)
{
    char shell[] = "sh", option[] = "-c", end[] = "--";
    char *argv[] = {shell, option, end, (char *)(uintptr_t)command, NULL};
    pid_t child;
    int error = posix_spawn(&child, "/bin/sh", actions, attributes, argv, environ);

    if (error == 0) return child;
    errno = error;
    return -1;
}

EXPORT int system(const char *command)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    posix_spawnattr_t attributes;
    sigset_t child_ends, mask, defaults;
    int status = -1;
    pid_t child;

    if (!has_session()) return REAL(system)(command);
    if (command == NULL) return 1;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ends, &mask);
    sigemptyset(&defaults);
    if (interrupt.sa_handler != SIG_IGN) sigaddset(&defaults, SIGINT);
    if (quit.sa_handler != SIG_IGN) sigaddset(&defaults, SIGQUIT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    child = spawn_shell(command, NULL, &attributes);
    posix_spawnattr_destroy(&attributes);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return status;
}

/* --- popen --- */

struct piped {
    FILE *file;
    pid_t child;
    struct piped *next;
};
static struct piped *piped;

/* ends[0] is ours, ends[1] the command's, there descriptor `as`. */
static pid_t spawn_piped(const char *command, const int ends[2], int as)
{
    posix_spawn_file_actions_t actions;
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], as);
    for (struct piped *other = piped; other != NULL; other = other->next)
        if (fileno(other->file) != as) posix_spawn_file_actions_addclose(&actions, fileno(other->file));
    child = spawn_shell(command, &actions, NULL);
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

EXPORT FILE *popen(const char *command, const char *mode)
{
    bool reads = mode[0] == 'r', closes = strchr(mode, 'e') != NULL;
    struct piped *entry;
    int ends[2], ours, theirs;

    if (!has_session()) return REAL(popen)(command, mode);
    if ((mode[0] != 'r' && mode[0] != 'w') || (entry = calloc(1, sizeof *entry)) == NULL) {
        errno = EINVAL;
        return NULL;
    }
    if (pipe2(ends, O_CLOEXEC) < 0) {
        free(entry);
        return NULL;
    }
    ours = ends[reads ? 0 : 1];
    theirs = ends[reads ? 1 : 0];
    entry->child = spawn_piped(command, (int[]){ours, theirs}, reads ? 1 : 0);
    close(theirs);
    if (entry->child > 0) entry->file = fdopen(ours, reads ? "r" : "w");
    if (entry->file == NULL) {
        close(ours);
        free(entry);
        return NULL;
    }
    if (!closes) fcntl(ours, F_SETFD, 0);
    entry->next = piped;
    piped = entry;
    return entry->file;
}

EXPORT int pclose(FILE *file)
{
    struct piped **at = &piped, *entry;
    int status = -1;

    while (*at != NULL && (*at)->file != file)
        at = &(*at)->next;
    entry = *at;
    if (entry == NULL) return REAL(pclose)(file);
    *at = entry->next;
    fclose(file);
    turn_touched(ATTACH_TOUCHED_HOST);
    while (waitpid(entry->child, &status, 0) < 0 && errno == EINTR)
        continue;
    free(entry);
    return status;
}

/* --- the end --- */

EXPORT void _exit(int status)
{
    session_end();
    RAW(SYS_exit_group, status, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    _exit(status);
}

static void ends_quickly(void)
{
    session_end();
}

void process_start(void)
{
    at_quick_exit(ends_quickly);
}

void process_forked(void)
{
    children_forget_all();
    piped = NULL;
}
