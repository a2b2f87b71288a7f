/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole terminal; see screen.h.
 *
 * The alternate screen keeps what was there.  Keys come one by one and unseen; Ctrl-C stays a signal.  Signals that end
 * the program leave the screen first: those that ask (interrupt, hangup) through cli_stopped, those of a crash in their
 * handler, which does only what a handler may.
 */
#include "cli/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t entered, has_keys, changed, stopped;

static void write_all(const char *text)
{
    ssize_t wrote = write(STDOUT_FILENO, text, strlen(text));

    (void)wrote; /* the terminal is gone: nothing can be told there */
}

void screen_leave(void)
{
    if (!entered) return;
    entered = 0;
    if (changed) tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    write_all(LEAVE);
}

static void on_crash(int number)
{
    screen_leave();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

static void on_end(int number)
{
    (void)number;
    cli_stopped = cli_stopped + 1;
}

static void on_size(int number)
{
    (void)number; /* poll() returns */
}

static void catch_all(void)
{
    static const struct {
        int number;
        void (*handler)(int);
    } caught[] = {{SIGABRT, on_crash}, {SIGSEGV, on_crash}, {SIGBUS, on_crash}, {SIGFPE, on_crash}, {SIGILL, on_crash},
                  {SIGTSTP, on_stop},  {SIGWINCH, on_size}, {SIGHUP, on_end},   {SIGQUIT, on_end}};

    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        struct sigaction action = {.sa_handler = caught[i].handler};
        sigemptyset(&action.sa_mask);
        sigaction(caught[i].number, &action, NULL);
    }
}

static void enter(void)
{
    struct termios raw;

    has_keys = changed = tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
    }
    entered = 1;
    if (has_keys) tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    write_all(ENTER);
}

bool screen_enter(void)
{
    const char *kind = getenv("TERM");

    if (!isatty(STDOUT_FILENO) || kind == NULL || strcmp(kind, "dumb") == 0) return false;
    catch_all();
    atexit(screen_leave);
    enter();
    return true;
}

void screen_size(unsigned *ret_columns, unsigned *ret_rows)
{
    struct winsize size;

    *ret_columns = 80;
    *ret_rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
    *ret_columns = size.ws_col;
    *ret_rows = size.ws_row;
}

static void stop_and_go_on(void)
{
    stopped = 0;
    screen_leave();
    signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    catch_all();
    enter();
}

char screen_key(int most_ms)
{
    struct pollfd keys = {.fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN};
    char key = 0;

    int ready = poll(&keys, 1, most_ms);
    if (stopped) { /* a key that came with it may be gone */
        stop_and_go_on();
        return 0;
    }
    if (ready == 1 && read(STDIN_FILENO, &key, 1) <= 0) {
        has_keys = 0; /* the other side is closed */
        key = 0;
    }
    return key;
}
