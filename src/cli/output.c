/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output as a stream that remembers its first error.
 *
 * stdio forgets errno when a buffer is flushed in the middle of a report, and then a full disk
 * and a closed pipe look alike.  The first deserves a message, the second (`rocelab ... | head`)
 * does not; both end with status 2, because not everything was written.  And folders that options name.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "study/cache.h"

#define BUFFER_BYTES (256 * 1024)
#define LEAST_WIDTH 40

static int first_error;

static ssize_t write_out(void *cookie, const char *data, size_t length)
{
    size_t done = 0;

    (void)cookie;
    while (done < length) {
        ssize_t wrote = write(STDOUT_FILENO, data + done, length - done);

        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) {
            if (first_error == 0) first_error = errno;
            return 0;
        }
        done += (size_t)wrote;
    }
    return (ssize_t)length;
}

FILE *cli_output_open(void)
{
    FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_out});

    if (out != NULL) setvbuf(out, NULL, _IOFBF, BUFFER_BYTES);
    return out;
}

bool cli_output_failed(FILE *out)
{
    return first_error != 0 || ferror(out);
}

int cli_output_close(FILE *out)
{
    /* Closing the descriptor asks file systems that write late (NFS) for their errors. */
    if (fclose(out) != 0 && first_error == 0) first_error = errno;
    if (close(STDOUT_FILENO) != 0 && first_error == 0 && errno != EBADF) first_error = errno;
    if (first_error == 0) return CLI_DONE;
    if (first_error != EPIPE) cli_error("standard output: %s", strerror(first_error));
    return CLI_WRONG;
}

static unsigned width(bool terminal)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    unsigned long asked = columns == NULL ? 0 : strtoul(columns, NULL, 10);

    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) asked = size.ws_col;
    if (asked == 0 || asked > 10000) return TEXT_WIDTH;
    return asked < LEAST_WIDTH ? LEAST_WIDTH : (unsigned)asked;
}

/* As the locale is named: "C.UTF-8", "de_DE.utf8@euro".  The first of these that says something is the one. */
static bool utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *name = getenv(variables[i]);
        if (name == NULL || name[0] == '\0') continue;
        return strcasestr(name, ".UTF-8") != NULL || strcasestr(name, ".utf8") != NULL;
    }
    return false;
}

struct text_style cli_style(void)
{
    bool terminal = isatty(STDOUT_FILENO) != 0;
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");

    return (struct text_style){
        .width = width(terminal),
        .utf8 = utf8(),
        .colour =
            terminal && (no_colour == NULL || no_colour[0] == '\0') && (kind == NULL || strcmp(kind, "dumb") != 0),
    };
}

bool cli_folder(const char *option, const char *path)
{
    int result = cache_folder(path);

    if (result != 0) cli_error("--%s '%s': %s", option, path, strerror(-result));
    return result == 0;
}
