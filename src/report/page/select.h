/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a large run a page has: samples of the ports that matter, and flows enough for their distribution.
 *
 * Counters of every port stay: they are small beside samples.  A port matters where it paused, was paused or was the
 * cause of it, is in a circle of waiting queues, has a fault, or is among the worst; and one of each tier is there to
 * compare with.  Flows are taken at even steps of their order by slowdown, so that percentiles hold.
 */
#ifndef ROCELAB_REPORT_PAGE_SELECT_H
#define ROCELAB_REPORT_PAGE_SELECT_H

#include "report/sim_report.h"

#define PAGE_PORTS_ALL 1024  /* up to so many ports all are sampled in the page */
#define PAGE_PORTS_WORST 200 /* else those that trouble names, so many others, and one of each tier */
#define PAGE_FLOWS_ALL 20000

struct page_selection {
    bool *port;      /* [the fabric's ports]; NULL: all */
    bool *flow;      /* [the result's flows]; NULL: all */
    char words[256]; /* a sentence: what is left out; "": nothing */
};

int page_select(const struct sim_report *report, struct page_selection *ret); /* 0 or -ENOMEM */
void page_selection_release(struct page_selection *selection);

#endif
