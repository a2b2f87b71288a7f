/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --html FILE; see html.h.
 */
#include "cli/html.h"

#include <string.h>
#include <sys/stat.h>

#include "report/page/page.h"
#include "report/page/select.h"

bool cli_html_set(void *to, const char *argument)
{
    struct cli_html *html = to;

    html->path = argument;
    if (argument[0] != '\0' && strcmp(argument, "-") != 0) return true;
    return cli_fail("--html '%s': a file to write, as in run.html", argument);
}

/* Whether another word of the command names the file too: a page written over the capture that it is to show would be
 * the end of both. */
static bool named_again(const struct cli_html *html, int argc, char **argv)
{
    struct stat page, other;

    if (stat(html->path, &page) != 0 || !S_ISREG(page.st_mode)) return false;
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
    if (named_again(html, argc, argv))
        return cli_fail("--html '%s': the command names that file twice; say another for the page, as in run.html",
                        html->path);
    if (!cli_file_open(&html->file, "--html", html->path)) return false;
    html->word[html->words++] = "rocelab";
    for (int i = 0; i < argc && html->words < CLI_HTML_WORDS; i++)
        html->word[html->words++] = argv[i];
    if (html->words == CLI_HTML_WORDS) html->word[CLI_HTML_WORDS - 1] = "...";
    return true;
}

FILE *cli_html_open(struct cli_html *html)
{
    const struct page_about about = {.word = html->word, .words = html->words, .left_out = html->left_out};

    html->document = page_open(html->file.to, &about);
    if (html->document == NULL) cli_error("not enough memory for the page");
    return html->document;
}

bool cli_html_close(struct cli_html *html)
{
    bool whole = !ferror(html->document);

    if (fclose(html->document) != 0) whole = false;
    html->document = NULL;
    if (whole || ferror(html->file.to)) return cli_file_close(&html->file);
    cli_error("not enough memory for the page");
    cli_file_drop(&html->file);
    return false;
}

bool cli_html_end(struct cli_html *html, cli_writer *write, const void *context)
{
    if (html->file.to == NULL) return true;
    FILE *document = cli_html_open(html);
    if (document == NULL) return false;
    bool good = write(context, document);
    if (good || ferror(document)) return cli_html_close(html) && good; /* which says why */
    cli_html_release(html);
    return false;
}

static bool write_run(const void *context, FILE *out)
{
    bool enough = sim_json_write(out, context);

    if (!enough && !ferror(out)) cli_error("not enough memory for the page");
    return enough;
}

bool cli_html_run(struct cli_html *html, const struct sim_report *report)
{
    struct page_selection selection = {0};
    struct sim_report chosen = *report;

    if (html->file.to == NULL) return true;
    if (page_select(report, &selection) != 0) return cli_fail("not enough memory for the page");
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
    if (html->document) fclose(html->document);
    html->document = NULL;
    cli_file_drop(&html->file);
}
