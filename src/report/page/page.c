/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page around a document; see page.h.
 *
 * The template has three places, each a word of its own between two at signs: ABOUT (base64 of a small JSON object: the
 * command, the version), DATA (base64 of the deflated document) and CONNECT (what the page may connect to: nothing, or
 * the server it came from).
 */
#include "report/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "report/json_out.h"
#include "report/page/deflate.h"

extern const char page_html[];
extern const unsigned long page_html_bytes;

struct page {
    FILE *out;
    const char *rest; /* of the template */
    struct deflate *deflate;
};

/* The template up to a place; answers what is behind it. */
static const char *copy_to(FILE *out, const char *from, const char *place)
{
    const char *at = strstr(from, place);

    CHECK(at != NULL);
    fwrite(from, 1, (size_t)(at - from), out);
    return at + strlen(place);
}

static void copy_rest(FILE *out, const char *from)
{
    fwrite(from, 1, (size_t)(page_html + page_html_bytes - from), out);
}

static ssize_t about_write(void *cookie, const char *data, size_t bytes)
{
    base64_write(cookie, data, bytes);
    return (ssize_t)bytes;
}

static bool write_about(FILE *out, const struct page_about *about)
{
    struct base64 base64 = {.to = out};
    FILE *encoded = fopencookie(&base64, "w", (cookie_io_functions_t){.write = about_write});
    bool enough = encoded != NULL;

    if (enough) {
        struct jout *jout = jout_begin(encoded, NULL);
        jout_text(jout, "rocelab", ROCELAB_VERSION);
        JOUT_LIST(jout, "command", i, about->words, jout_text(jout, NULL, about->word[i]));
        jout_text(jout, "left_out", about->left_out);
        jout_end(jout);
    }
    if (encoded && fclose(encoded) != 0) enough = false;
    base64_end(&base64);
    return enough;
}

static ssize_t document_write(void *cookie, const char *data, size_t bytes)
{
    struct page *page = cookie;

    deflate_write(page->deflate, data, bytes);
    return ferror(page->out) ? 0 : (ssize_t)bytes;
}

static int document_close(void *cookie)
{
    struct page *page = cookie;

    deflate_end(page->deflate);
    copy_rest(page->out, page->rest);
    int failed = fflush(page->out) != 0 || ferror(page->out);
    deflate_free(page->deflate);
    free(page);
    return failed ? -1 : 0;
}

FILE *page_open(FILE *out, const struct page_about *about)
{
    struct page *page = calloc(1, sizeof *page);
    FILE *document = NULL;

    if (page) *page = (struct page){.out = out, .deflate = deflate_new(out)};
    if (page && page->deflate) {
        page->rest = copy_to(out, page_html, "@CONNECT@");
        page->rest = copy_to(out, page->rest, "@ABOUT@");
        if (write_about(out, about)) {
            page->rest = copy_to(out, page->rest, "@DATA@");
            document =
                fopencookie(page, "w", (cookie_io_functions_t){.write = document_write, .close = document_close});
        }
    }
    if (document) return document;
    if (page) deflate_free(page->deflate);
    free(page);
    return NULL;
}

void page_live(FILE *out)
{
    const char *rest = copy_to(out, page_html, "@CONNECT@");

    fputs("; connect-src 'self'", out);
    rest = copy_to(out, rest, "@ABOUT@");
    copy_rest(out, copy_to(out, rest, "@DATA@"));
}
