/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: a JSON document of a verb as one HTML file that needs nothing else, neither network nor server.
 *
 * The template (page.html, built from web/) has everything but the data; the document goes into it deflated, in
 * base64, so that nothing in it can be read as HTML.  docs/page.md says what the page shows.
 */
#ifndef ROCELAB_REPORT_PAGE_PAGE_H
#define ROCELAB_REPORT_PAGE_PAGE_H

#include <stdint.h>
#include <stdio.h>

struct page_about {
    const char *const *word; /* the command, as it was typed */
    uint32_t words;
    const char *left_out; /* a sentence: what of the run the document has not; NULL: nothing */
};

/* Begins a page in `out`, which stays the caller's; the answer takes the document, and its fclose() ends the page: 0,
 * or EOF where not all of it could be written.  NULL: not enough memory. */
FILE *page_open(FILE *out, const struct page_about *about);

/* The page without data, as a server delivers it: it asks for api/state.json and api/events beside it. */
void page_live(FILE *out);

#endif
