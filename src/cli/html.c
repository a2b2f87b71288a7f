/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --html FILE; see html.h.
 */
#include "cli/html.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/page/page.h"
#include "report/page/select.h"

bool cli_html_set(struct cli_html *html, const char *argument)
{
    html->path = argument;
    if (argument[0] != '\0' && strcmp(argument, "-") != 0) return true;
    cli_error("--html '%s': a file to write, as in run.html", argument);
    return false;
}

/* Whether another word of the command names the file too: a page written over the capture that it is to show would be
 * the end of both. */
static bool named_again(const struct cli_html *html, int argc, char **argv)
{
    struct stat page, other;

    if (html->made || fstat(fileno(html->file), &page) != 0 || !S_ISREG(page.st_mode)) return false;
    for (int i = 0; i < argc; i++) {
        bool own = argv[i] + strlen(argv[i]) == html->path + strlen(html->path); /* FILE, or --html=FILE */
        if (own || stat(argv[i], &other) != 0) continue;
        if (page.st_dev == other.st_dev && page.st_ino == other.st_ino) return true;
    }
    return false;
}

bool cli_html_begin(struct cli_html *html, int argc, char **argv)
{
    if (html->path == NULL) return true;
    int fd = open(html->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    html->made = fd >= 0;
    if (fd < 0 && errno == EEXIST) fd = open(html->path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) html->file = fdopen(fd, "w");
    if (html->file == NULL) {
        cli_error("--html '%s': %s", html->path, strerror(errno));
        return false;
    }
    if (named_again(html, argc, argv)) {
        cli_error("--html '%s': the command names that file twice; say another for the page, as in run.html",
                  html->path);
        cli_html_release(html);
        return false;
    }
    html->word[html->words++] = "rocelab";
    for (int i = 0; i < argc && html->words < CLI_HTML_WORDS; i++)
        html->word[html->words++] = argv[i];
    if (html->words == CLI_HTML_WORDS) html->word[CLI_HTML_WORDS - 1] = "...";
    return true;
}

FILE *cli_html_open(struct cli_html *html)
{
    const struct page_about about = {.word = html->word, .words = html->words, .left_out = html->left_out};

    if (ftruncate(fileno(html->file), 0) != 0 && errno != EINVAL) { /* EINVAL: a pipe or a device */
        cli_error("--html '%s': %s", html->path, strerror(errno));
        return NULL;
    }
    html->document = page_open(html->file, &about);
    if (html->document == NULL) cli_error("not enough memory for the page");
    return html->document;
}

bool cli_html_close(struct cli_html *html)
{
    bool whole = fclose(html->document) == 0;

    if (fclose(html->file) != 0) whole = false;
    html->file = html->document = NULL;
    if (!whole) cli_error("%s: not all of it could be written", html->path);
    return whole;
}

bool cli_html_end(struct cli_html *html, cli_writer *write, const void *context)
{
    if (html->file == NULL) return true;
    FILE *document = cli_html_open(html);
    if (document == NULL) return false;
    bool good = write(context, document);
    return cli_html_close(html) && good;
}

static bool write_run(const void *context, FILE *out)
{
    bool enough = sim_json_write(out, context);

    if (!enough) cli_error("not enough memory for the page");
    return enough;
}

bool cli_html_run(struct cli_html *html, const struct sim_report *report)
{
    struct page_selection selection = {0};
    struct sim_report chosen = *report;

    if (html->file == NULL) return true;
    if (page_select(report, &selection) != 0) {
        cli_error("not enough memory for the page");
        return false;
    }
    chosen.series_port = selection.port;
    chosen.flow_chosen = selection.flow;
    html->left_out = selection.words[0] ? selection.words : NULL;
    bool good = cli_html_end(html, write_run, &chosen);
    html->left_out = NULL;
    page_selection_release(&selection);
    return good;
}

void cli_html_release(struct cli_html *html)
{
    if (html->file == NULL) return;
    if (html->document) fclose(html->document);
    fclose(html->file);
    if (html->made && html->document == NULL) unlink(html->path);
    html->file = html->document = NULL;
}
